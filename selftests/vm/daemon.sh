# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# What the guests' scripts of flowtapd share; to be sourced: the module is loaded, with the parameters of
# $module, its user and a service manager are there.
. /test/guest.sh
# shellcheck disable=SC2086
cd /tmp && insmod /test/flowtap.ko ${module-} || exit 1
ifconfig lo 127.0.0.1 up 2>/dev/null || ip link set lo up
echo 0 >/proc/sys/kernel/perf_cpu_time_max_percent
mkdir -p /segments /out/segments
# As sysusers makes them; a member of the device's group; and nobody is who has no rights.
printf '%s\n' flowtap:x:990:990::/:/bin/sh member:x:1001:1001::/:/bin/sh >>/etc/passwd
printf '%s\n' flowtap:x:990: member:x:1001: perf:x:991:flowtap,member >>/etc/group
chown flowtap:flowtap /segments
chmod 750 /segments
NOTIFY_SOCKET=/tmp/manager
WATCHDOG_USEC=60000000
export NOTIFY_SOCKET WATCHDOG_USEC
peer hear /tmp/manager >/tmp/heard &

configure() { # LINE...
	{
		echo '[segments]'
		echo "directory = ${directory:-/segments}"
		echo 'compress = no'
		printf '%s\n' "$@"
		echo '[control]'
		echo 'metrics = 127.0.0.1:9464'
		echo "group = ${group-}"
	} >/tmp/conf
}

record() { # LINE...: of [segments]; everything is recorded all the time
	configure "$@" '[record]' "source = ${from:-auto}" 'modes = user' 'on_time = 1s' 'on_period = 1s' \
		"period = ${period:-10000}" "ring_size = ${ring:-512k}" "aux_size = ${aux:-4M}" '[budget]' \
		'cpu = 100%' 'loss = 100%'
}

# The manager has heard it so often, in the end.
heard() { # TIMES PATTERN
	for _ in $(seq 600); do
		[ "$(grep -c -- "$2" /tmp/heard)" -ge "$1" ] && return
		kill -0 $daemon 2>/dev/null || return
		sleep 0.5
	done
	return 1
}

# Starts it; a service manager's words before it are given. It is ready then, and has dropped rights.
start() { # [WORD...]
	ready=$(grep -c READY=1 /tmp/heard)
	"$@" flowtapd -c /tmp/conf >/tmp/log 2>&1 &
	daemon=$!
	heard $((ready + 1)) READY=1 && return
	echo "not ok - flowtapd starts"
	sed 's/^/# /' /tmp/log
	return 1
}

state_of() { # NAME: a line of its status
	sed -n "s/^$1:[[:space:]]*//p" /proc/$daemon/status
}

# Somebody who has no right to it.
denied() { # USER COMMAND
	run su -s /bin/sh "$1" -c "$2"
	[ "$status" != 0 ] && has 'Permission denied|Operation not permitted|may not'
}

# The segment is packed, and the raw one is gone.
packed() { # NAME of the raw one
	[ -e "/segments/$1.zst" ] && [ ! -e "/segments/$1" ]
}

# Waits, for a long time, until each of these is.
all_packed() { # NAME...
	rounds=0
	for segment in "$@"; do
		while ! packed "$segment" && [ $rounds -lt 600 ]; do
			sleep 1
			rounds=$((rounds + 1))
		done
	done
	[ $rounds -lt 600 ]
}

# In so little of the time there may be no transfer at all: 4. What was on its way when a flowtapd was
# killed is a place that is passed over: 3.
all_decoded() {
	for result in /segments/decoded/*Z/result; do
		grep -q '^status=[034]$' "$result" && continue
		cat "$result" "${result%/result}/messages" | sed "s#^#\# $result: #"
		return 1
	done
}

# Everybody works for some seconds.
work() { # SECONDS
	end=$(($(date +%s) + $1))
	while [ "$(date +%s)" -lt "$end" ]; do
		head -c 300000 /usr/bin/flowtap | gzip >/dev/null
		ls -lR /etc >/dev/null
	done
}

# ... until so many segments are finished, or for a long time.
work_until() { # SEGMENTS
	rounds=0
	while [ "$(finished)" -lt "$1" ] && [ $rounds -lt 100 ]; do
		work 1
		rounds=$((rounds + 1))
	done
}

busy_until() { # TIMES PATTERN: works until it is logged
	keep_busy has_logged "$1" "$2"
}

has_logged() { # TIMES PATTERN
	[ "$(grep -cE -- "$2" /tmp/log)" -ge "$1" ]
}

keep_busy() { # COMMAND...: works until it succeeds
	read -r now rest </proc/uptime
	until=$((${now%.*} + 900))
	while [ "${now%.*}" -lt $until ]; do
		"$@" && return
		read -r now rest </proc/uptime
		head -c 300000 /usr/bin/flowtap | gzip >/dev/null
		ls -lR /etc >/dev/null
	done
	return 1
}

stop() { # SIGNAL
	kill "-$1" $daemon
	wait $daemon
	status=$?
	cp /tmp/log /tmp/stderr
	: >/tmp/stdout
}

# Into /tmp/metrics; nothing old is left there.
ask_metrics() {
	rm -f /tmp/metrics
	wget -q -O /tmp/metrics http://127.0.0.1:9464/metrics
}

metric() { # NAME: of all CPUs together
	awk -v n="$1" 'index($1, n) == 1 { s += $2 } END { printf "%d\n", s }' /tmp/metrics
}

finished() {
	ls /segments | grep -c '\.ftap$'
}

logged() { # TIMES PATTERN: in the log, or soon
	for _ in $(seq 1200); do
		[ "$(grep -cE -- "$2" /tmp/log)" -ge "$1" ] && return
		sleep 0.1
	done
	return 1
}

state_is() { # STATE
	for _ in $(seq 600); do
		has_state "$1" && return
		sleep 0.1
	done
	return 1
}

has_state() { # STATE: at this moment
	flowtap ctl status --json >/tmp/stdout 2>/tmp/stderr
	grep -q "\"state\": \"$1\"" /tmp/stdout
}

# What was recorded is in segments, and counted: /tmp/metrics, and /tmp/log has a line for each segment.
# Not where the disk is full: then none is being written, and what waits in the rings is in none.
count_all() {
	rm -f /tmp/metrics
	flowtap ctl stop >/tmp/stdout && flowtap ctl status --json >/tmp/stdout 2>/tmp/stderr || return
	segment=$(sed -n 's/.*"segment": "\([^"]*\)".*/\1/p' /tmp/stdout)
	if [ -n "$segment" ]; then
		flowtap ctl rotate >/tmp/stdout || return
	else
		# The last that the rings had has ended it.
		has '"state": "stopped"' || return
		segment=$(sed -n 's/.*event=segment-begun name=//p' /tmp/log | tail -n 1)
	fi
	logged 1 "event=segment-ended name=$segment " && ask_metrics
}

# The sum of a number of events: what a log says of all segments, also of those that are gone.
told() { # EVENT KEY
	awk -v e="event=$1" -v k="$2=" 'index($0, e) { for (i = 1; i <= NF; i++) if (index($i, k) == 1)
		s += substr($i, length(k) + 1) } END { printf "%d\n", s }' /tmp/log
}

# What count_all has counted, and the segments that are there, for the host.
keep() { # NAME FOLDER
	mkdir -p "/out/$1"
	cp "$2"/*.ftap /tmp/metrics "/out/$1/"
	grep 'event=segment-ended' /tmp/log >"/out/$1/ended"
	agrees=$(metric flowtap_records_total)
	ok "$1: segments have as many records as metrics, $agrees" \
		[ "$(told segment-ended records)" = "$agrees" -a "$agrees" -gt 0 ]
}

records() { # so far
	flowtap ctl stats --json | grep -o '"records": [0-9]*' | awk '{ s += $2 } END { print s }'
}
