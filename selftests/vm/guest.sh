# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# What the guests' scripts of the command share; to be sourced. TAP without numbers: relay.sh counts.

run() {
	# It may record again, in the same second.
	rm -f /tmp/text.of
	"$@" >/tmp/stdout 2>/tmp/stderr
	status=$?
}

ok() { # NAME TEST...
	name=$1
	shift
	if "$@"; then
		echo "ok - $name"
		return
	fi
	echo "not ok - $name"
	echo "# wanted: $*; status $status"
	head -n 20 /tmp/stdout | sed 's/^/#   /'
	head -n 20 /tmp/stderr | sed 's/^/# ! /'
}

has() { # PATTERN: in what was printed on either
	grep -qE -- "${1:?}" /tmp/stdout /tmp/stderr
}

ended() { # STATUS PATTERN
	[ "$status" = "$1" ] && has "$2"
}

figure() { # NAME: the first of it in the JSON
	grep -oE "\"$1\": [0-9]+" /tmp/stdout | head -n 1 | grep -oE '[0-9]+$'
}

finalised() { # FILE
	flowtap dump -b "$1" 2>/dev/null | tail -n 1 | grep -q ' end '
}

as_user() {
	su -s /bin/sh nobody -c "$*"
}

# Waits until COMMAND succeeds: a minute at the most, which is only against hanging.
wait_for() { # COMMAND...
	for _ in $(seq 600); do
		"$@" 2>/dev/null && return
		sleep 0.1
	done
	return 1
}

has_more() { # FILE SIZE
	[ "$(stat -c %s "$1" || echo 0)" -gt "$2" ]
}

# Waits until FILE has more than SIZE bytes.
grown() { # FILE SIZE
	wait_for has_more "$1" "$2"
}

# What a process has executed, in hundredths of a second.
cpu_time() { # PID
	sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }'
}

has_executed() { # PID HUNDREDTHS, or it has ended, whether anybody waited for it or not
	[ ! -e "/proc/$1" ] || grep -q ') Z ' "/proc/$1/stat" || [ "$(cpu_time "$1")" -ge "$2" ]
}

# Waits until a process has executed for so much longer, or has ended.
executes() { # PID HUNDREDTHS
	wait_for has_executed "$1" $(($(cpu_time "$1" 2>/dev/null) + $2))
}

# A process that was forked executes this by now.
runs() { # PID TEXT
	tr '\0' ' ' <"/proc/$1/cmdline" | grep -qF -- "$2"
}

# Dumps an archive once; an emulated machine takes its time. Of whom the text is is kept in a file: who
# asks is a subshell. One that is not there has no text.
text() { # FILE
	now=$(stat -c '%n %i %s %Y' "$1" 2>/dev/null)
	[ -z "$now" ] || [ "$now" != "$(cat /tmp/text.of 2>/dev/null)" ] || return 0
	: >/tmp/text
	[ -z "$now" ] || flowtap dump "$1" >/tmp/text 2>/dev/null
	echo "$now" >/tmp/text.of
}

# How many lines of samples the archive has that match.
samples() { # FILE PATTERN
	text "$1"
	grep '^  SAMPLE ' /tmp/text | grep -cE -- "${2:?}"
}

# Its entries: SOURCE -> TARGET TYPE.
entries() { # FILE PATTERN
	text "$1"
	grep '^    0x' /tmp/text | grep -cE -- "${2:?}"
}

# A figure of its samples that match, one a line.
of_samples() { # FILE KEY PATTERN
	text "$1"
	grep '^  SAMPLE ' /tmp/text | grep -E -- "${3:?}" | sed "s/.* $2=\([0-9.]*\).*/\1/"
}
