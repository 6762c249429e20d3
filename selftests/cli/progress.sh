# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# For tests of what a command says of how far it is; to be sourced after tap.sh.
#
#	shares DOING	the shares that $err has in lines of DOING; other lines as they are
#	rises TEXT	succeeds where it has shares only, at least four different ones, and none is less
#			than the one before

shares() {
	sed "s/^flowtap: $1 *\([0-9]*\)%\$/\1/" <<<"$err"
}

rises() {
	awk '!/^[0-9]+$/ || $1 > 100 || $1 + 0 < last + 0 { exit bad = 1 }
		NR == 1 || $1 != last { different++ }
		{ last = $1 }
		END { exit bad || different < 4 }' <<<"$1"
}
