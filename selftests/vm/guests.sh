# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs the programs of selftests/kernel in guests, as TAP; to be sourced. A test says which
# machines it wants, boots them all and judges each. Arguments of the test, or FLOWTAP_MACHINES,
# are labels: then it is these machines only.
#
#   machine LABEL ARCH KERNEL CPUS BOOT-OPTIONS BEFORE PROGRAM...
#                       BEFORE is what the guest's shell does first: insmod, or more
#   soak_machine ...    one for make soak (FLOWTAP_SOAK is set), or for who asks for it by its label
#   boot_machines       two guests at a time, for there may be no more than two CPUs to run them on
#   judge LABEL         what its programs said; then that the module went at the end, and that the
#                       kernel's log holds no report
#   asked LABEL         succeeds where the machine is among those to be run
#   ran LABEL           ... and was run
#   said LABEL TEXT     succeeds where the guest printed a line that begins so
#   check STATUS WHAT   a result of one's own; fails where STATUS is not 0
#   done_testing        the plan, and the exit status
#
# guest_limit is the hard limit of a guest in seconds of its clock; guest_after is what its shell does after
# the programs. The environment's FLOWTAP_* are the programs' too; FLOWTAP_SEED is 1 if unset;
# FLOWTAP_REAL_TIME is set where the host says which of a guest's CPUs runs when.
set -u
B=${B:-build}
# shellcheck source=selftests/vm/seeds.sh
. "$(dirname "${BASH_SOURCE[0]}")/seeds.sh"
n=0 failed=0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
guest_limit=3600 guest_after=''
# shellcheck disable=SC2034,SC2016
{
	# All but those that want the model of ETE: ete.test has them.
	programs=$(for source in selftests/kernel/*.c; do
		[[ $source == */ete* || $source == *.bpf.c ]] || basename "$source" .c
	done)
	insmod='insmod /test/flowtap.ko soft=1'
	# Everybody at random, as long as it takes to see that they all come to act; make soak has hours.
	short='export FLOWTAP_STRESS_SECONDS=${FLOWTAP_STRESS_SECONDS:-8}; '
}
labels=() known='' wanted=" ${*:-${FLOWTAP_MACHINES-}} "
export FLOWTAP_SEED=${FLOWTAP_SEED:-1}
declare -A machines run_by

asked() {
	[[ " $known " == *" $1 "* ]] || known+=" $1"
	[[ $wanted == '  ' || $wanted == *" $1 "* ]]
}

ran() {
	[[ " ${labels[*]} " == *" $1 "* ]]
}

machine() {
	local label=$1
	shift
	asked "$label" || return 0
	labels+=("$label")
	machines[$label]=$(printf '%q ' "${@:1:5}")
	shift 5
	run_by[$label]=$*
}

soak_machine() {
	known+=" $1"
	[ -n "${FLOWTAP_SOAK-}" ] || [[ $wanted == *" $1 "* ]] || return 0
	machine "$@"
}

# The results of one program in a guest, under numbers of our own.
renumber() { # LABEL
	while IFS= read -r line; do
		case $line in
		'ok '*|'not ok '*)
			n=$((n + 1))
			[ "${line#not }" = "$line" ] || failed=1
			printf '%s\n' "$line" | sed -E "s|^(not ok\|ok) [0-9]+ |\1 $n $1: |"
			;;
		'TAP version'*|[0-9]*..*) ;;
		'# '*RUN*|'# '*' OK '*) ;;
		*) printf '# %s\n' "${line#\# }" ;;
		esac
	done
}

# What the guest has to run: a directory that is unpacked at its root.
fill() { # DIR ARCH KERNEL PROGRAM...
	local dir=$1/test arch=$2 kernel=$3 program
	shift 3
	mkdir -p "$dir"
	cp "$B/kmod/$arch-$kernel"*/*.ko "$dir/" || return
	for program; do
		cp "$B/$arch/kernel/$program" "$dir/" || return
	done
}

# The programs' environment, for the guest's shell.
environment() { # BOOT-OPTIONS
	local name
	printf 'export FLOWTAP_MODULE=/test/flowtap.ko; '
	[[ $1 != *--real-time* ]] || printf 'export FLOWTAP_REAL_TIME=1; '
	for name in $(compgen -e FLOWTAP_); do
		case $name in
		FLOWTAP_LAB|FLOWTAP_MODULE|FLOWTAP_SLOTS|FLOWTAP_MACHINES|FLOWTAP_SOAK) ;;
		*) printf 'export %s=%q; ' "$name" "${!name}" ;;
		esac
	done
}

# Each program ends with a line that says how, whatever became of it.
# shellcheck disable=SC2016
guest_script='for program in $list; do
	read -r began rest </proc/uptime
	echo "BEGIN $program"
	/test/$program $arguments
	echo "END $program $?"
	read -r now rest </proc/uptime
	echo "TOOK $program $((${now%.*} - ${began%.*}))"
done
rmmod flowtap && echo UNLOADED'

boot() { # LABEL ARCH KERNEL CPUS BOOT-OPTIONS BEFORE
	local label=$1 arch=$2 kernel=$3 cpus=$4 options=$5 before=$6 dir=$tmp/$1
	local began=$SECONDS
	# shellcheck disable=SC2086
	fill "$dir" "$arch" "$kernel" ${run_by[$label]} || {
		echo "the guest's programs are not built" >"$dir.log"
		echo 125 >"$dir.status"
		return
	}
	# shellcheck disable=SC2086
	selftests/vm/boot --arch "$arch" --kernel "$kernel" --smp "$cpus" --limit "$guest_limit" \
		$options --root-dir "$dir" --log "$dir.log" --dmesg "$dir.dmesg" -- \
		"list='${run_by[$label]}'; $(environment "$options") $before; $guest_script; $guest_after" \
		2>"$dir.errors"
	echo $? >"$dir.status"
	echo $((SECONDS - began)) >"$dir.seconds"
}

boot_machines() {
	local label
	for label in "${labels[@]}"; do
		[ "$(jobs -rp | wc -l)" -lt 2 ] || wait -n
		eval "boot $label ${machines[$label]}" &
	done
	wait
}

check() { # STATUS WHAT
	n=$((n + 1))
	if [ "$1" != 0 ]; then
		failed=1
		echo "not ok $n $2"
		return 1
	fi
	echo "ok $n $2"
}

said() { # LABEL TEXT
	grep -aq "^$2" "$tmp/$1.log"
}

# What the guest's programs and its kernel said last.
last_words() { # LABEL LINES
	grep -av '^# *\(RUN\|OK\)' "$tmp/$1.log" | tail -n "$2" | sed 's/^/# guest: /'
	[ ! -e "$tmp/$1.dmesg" ] || tail -n "$2" "$tmp/$1.dmesg" | sed 's/^/# kernel: /'
}

# A program has run its tests: it says how many it has, and has a result of each unless one failed.
# A harness that refuses its arguments has the status of one that failed.
ran_tests() { # STATUS, of what is in $tmp/part
	local results plan
	results=$(grep -acE '^(not )?ok ' "$tmp/part")
	plan=$(grep -aoE '^1\.\.[0-9]+$' "$tmp/part")
	case $1 in
	0|4) [ "$results" -gt 0 ] && [ "$plan" = "1..$results" ] ;;
	1) grep -aq '^not ok ' "$tmp/part" ;;
	*) false ;;
	esac || {
		echo "# status ${1:-none}, plan ${plan:-none}, results: $results"
		return 1
	}
}

judge() { # LABEL
	local label=$1 log=$tmp/$1.log program ended
	for program in ${run_by[$label]}; do
		sed -n "/^BEGIN $program\$/,/^END $program /p" "$log" | grep -av '^BEGIN\|^END' |
			tr -d '\r' >"$tmp/part"
		renumber "$label $program" <"$tmp/part"
		# 0, or 4 where all of it was skipped; what failed has said so itself.
		ended=$(grep -aoE "^END $program [0-9]+\$" "$log")
		ran_tests "${ended##* }"
		check $? "$label $program ran to its end" || last_words "$label" 12
		! grep -aq "^END $program 1\$" "$log" || last_words "$label" 6
	done
	said "$label" UNLOADED
	check $? "$label: the module goes at the end"
	echo "# $label: seconds, where more than 5:$(awk '$1 == "TOOK" && $3 + 0 > 5 {
		printf " %s %d", $2, $3 }' "$log"); the guest $(cat "$tmp/$label.seconds")"
	sed 's/^/# /' "$tmp/$label.errors"
	[ "$(cat "$tmp/$label.status")" = 0 ]
	check $? "$label: the kernel has nothing to report"
}

# Each seed of the model's adversaries that did something has done nothing that the model complains of.
judge_seeds() { # WANTED REPORT...
	local wanted=$1 did wrong
	shift
	did=$(seeds_of 'done [1-9].*' "$@")
	wrong=$(seeds_of 'violations [1-9].*' "$@")
	echo "# seeds: $(seeds_told <<<"$did")"
	[ "$(wc -l <<<"$did")" -ge "$wanted" ]
	check $? "$(wc -l <<<"$did") seeds of adversaries, of $wanted that are wanted"
	[ -z "$wrong" ]
	check $? "and with none of them a violation $wrong"
}

done_testing() {
	[ "$n" != 0 ] || check 1 "no machine of this test is called${wanted% }, they are:$known"
	echo "1..$n"
	exit $failed
}

echo 'TAP version 13'
echo "# FLOWTAP_SEED=$FLOWTAP_SEED"
