# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# TAP for tests in shell; to be sourced. A failure shows what `run` had last.
#
#   run COMMAND...        sets $status, $out and $err (what it printed on 1 and 2)
#   ok NAME TEST...       "ok" if the command TEST (usually [ or [[ as `has`, `is`) succeeds
#   every NAME ITEM TEST...
#                         of things of which there may be more or fewer: one result for all items of
#                         the same NAME, told by done_testing; "ok" if there are some and TEST
#                         succeeds for each
#   is WANT GOT           equal; else shows both
#   has TEXT PATTERN      TEXT matches the extended regular expression
#   stop_writing FILE N COMMAND...
#                         COMMAND in the background, stopped (kill -CONT $writer) while it writes
#                         FILE.part, which has N bytes or more, and there is no FILE. One that fails
#                         before, or is done before at each try, is a test that failed
#   skip NAME WHY         a test that cannot run here
#   done_testing          the plan, and the exit status
set -u

test_count=0 test_failed=0
status=0 out='' err=''
test_dir=$(mktemp -d)
trap 'rm -rf "$test_dir"' EXIT

run() {
	"$@" >"$test_dir/.out" 2>"$test_dir/.err" </dev/null
	status=$?
	out=$(tr -d '\0' <"$test_dir/.out")
	err=$(tr -d '\0' <"$test_dir/.err")
}

ok() { # NAME TEST...
	local name=$1
	shift
	test_count=$((test_count + 1))
	if "$@"; then
		echo "ok $test_count - $name"
		return
	fi
	test_failed=$((test_failed + 1))
	echo "not ok $test_count - $name"
	show_failure "$name" "$@"
}

show_failure() { # WHAT TEST...
	local what=$1
	shift
	printf '# %s: wanted: %s\n# status %s, out:\n' "$what" "${*@Q}" "$status"
	printf '%s\n' "$out" | head -n 30 | sed 's/^/#   /'
	printf '# err:\n'
	printf '%s\n' "$err" | head -n 30 | sed 's/^/#   /'
}

declare -A every_count=() every_failed=()
every_names=()

every() { # NAME ITEM TEST...
	local name=$1 item=$2
	shift 2
	[ -n "${every_count[$name]-}" ] || every_names+=("$name")
	every_count[$name]=$((${every_count[$name]-0} + 1))
	"$@" && return
	every_failed[$name]+=" $item"
	show_failure "$item" "$@"
}

is() {
	[ "$1" = "$2" ] && return
	printf '# wanted "%s"\n# got    "%s"\n' "$1" "$2"
	return 1
}

has() {
	[[ $1 =~ $2 ]]
}

stop_writing() { # FILE N COMMAND...
	local file=$1 bytes=$2 state='' ended=0
	shift 2
	# If it was done before it could be stopped, once more.
	for _ in {1..20}; do
		rm -f "$file" "$file.part"
		"$@" &
		writer=$!
		until [ "$(stat -c %s "$file.part" 2>/dev/null || echo -1)" -ge "$bytes" ] ||
			! kill -0 $writer 2>/dev/null; do
			:
		done
		kill -STOP $writer 2>/dev/null
		state=R
		until [[ $state = [TZ] ]]; do
			read -r _ _ state _ 2>/dev/null </proc/$writer/stat || state=Z
		done
		[ "$state" = T ] && [ -e "$file.part" ] && return
		kill -KILL $writer 2>/dev/null
		wait $writer 2>/dev/null
		ended=$?
		# One that was stopped behind its last byte did not end by itself.
		[ "$state" = T ] && ended=0
		if [ "$ended" != 0 ] || [ ! -e "$file" ]; then break; fi
	done
	# Whom the caller is to send signals to.
	: &
	writer=$!
	status=$ended out='' err=''
	ok "$file is stopped while it is written" false
	return 1
}

skip() {
	test_count=$((test_count + 1))
	echo "ok $test_count - $1 # SKIP $2"
}

done_testing() {
	local name
	for name in "${every_names[@]}"; do
		ok "$name (${every_count[$name]})" is '' "${every_failed[$name]-}"
	done
	echo "1..$test_count"
	exit $((test_failed > 0))
}
