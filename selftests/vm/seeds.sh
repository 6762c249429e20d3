# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What the model's reports say of the seeds of its adversaries, one after the other (the model's
# option reseed=); to be sourced.
#
#   seeds_of PATTERN REPORT...   seeds with a line that ends so, each once, in order
#   seeds_told                   numbers of standard input, a line each, as ranges on one line

seeds_of() { # PATTERN REPORT...
	cat "${@:2}" | sed -n "s/^cpu[0-9]*\.seed\.\([0-9]*\)\.$1\$/\1/p" | sort -un
}

seeds_told() {
	awk 'NR == 1 || $1 != last + 1 {
			if (NR > 1)
				printf "%s ", from == last ? "" : "-" last
			printf "%s", from = $1
		}
		{ last = $1 }
		END { print from == last ? "" : "-" last }'
}
