# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Completion of flowtap(1) for bash.

_flowtap_events() {
	flowtap list 2>/dev/null | sed -n '/^Events/,$s/^  \([a-z][a-z-]*\)  *[0-9].*/\1/p'
}

# The last type of a comma list, with ^ before it or not.
_flowtap_types() {
	local before=${cur%"${cur##*[,^]}"} types='all call return swap jump branch taken not_taken
		trap exception interrupt trap_return not_taken_branch taken_branch indirect_call
		direct_call indirect_jump direct_jump co_routine_swap function_return
		other_indirect_jump other_direct_jump'

	mapfile -t COMPREPLY < <(compgen -P "$before" -W "$types" -- "${cur##*[,^]}")
}

# Names only here: of any other word that is a folder's name as well bash would make that folder.
_flowtap_files() { # -f or -d
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen "$1" -- "$cur")
}

_flowtap_cgroups() {
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(cd /sys/fs/cgroup 2>/dev/null && compgen -d -- "$cur")
}

# The value of the option that it is one of; fails if that takes none.
_flowtap_value() { # COMMAND OPTION
	case $1:$2 in
	record:-p | record:--pid)
		mapfile -t COMPREPLY < <(compgen -W "$(cd /proc && echo [0-9]*)" -- "$cur") ;;
	record:-e | record:--event)
		mapfile -t COMPREPLY < <(compgen -W "$(_flowtap_events)" -- "$cur") ;;
	record:--filter)
		_flowtap_types ;;
	record:--cgroup)
		_flowtap_cgroups ;;
	record:--depth)
		mapfile -t COMPREPLY < <(compgen -W '16 32 64 128 256' -- "$cur") ;;
	record:--source)
		mapfile -t COMPREPLY < <(compgen -W 'ctr ete soft' -- "$cur") ;;
	record:--aux-pages)
		mapfile -t COMPREPLY < <(compgen -W '64K 256K 1M 4M 16M' -- "$cur") ;;
	record:--sync-period)
		mapfile -t COMPREPLY < <(compgen -W '8 10 12 14 16 18 20' -- "$cur") ;;
	record:--strobe)
		mapfile -t COMPREPLY < <(compgen -W '1ms/9ms 10ms/90ms' -- "$cur") ;;
	record:--address | record:-c | record:--count | record:-F | record:--freq | record:-C | record:--cpu | record:--duration | record:--ring-pages | decode:--tid | decode:--level | decode:--frequency | convert:--level | convert:--frequency | diff:-U | diff:--context | *:--skip | convert:--count | stat:--count | dump:--count | decode:--cpu | decode:--id | dump:--cpu | dump:--id)
		COMPREPLY=() ;;
	decode:-t | decode:--to | convert:-t | convert:--to)
		mapfile -t COMPREPLY < <(compgen -W 'stf zstf tarmac qemu4v flow calls' -- "$cur") ;;
	convert:-f | convert:--from)
		mapfile -t COMPREPLY < <(compgen -W 'stf zstf tarmac qemu4v' -- "$cur") ;;
	decode:--dialect | convert:--dialect)
		mapfile -t COMPREPLY < <(compgen -W 'es fvp strict' -- "$cur") ;;
	decode:--times | convert:--times)
		mapfile -t COMPREPLY < <(compgen -W 'index cycles time' -- "$cur") ;;
	stat:--disassembler)
		mapfile -t COMPREPLY < <(compgen -W 'auto llvm capstone' -- "$cur") ;;
	*:--disassembler)
		mapfile -t COMPREPLY < <(compgen -W 'auto llvm capstone none' -- "$cur") ;;
	diff:--ignore)
		mapfile -t COMPREPLY < <(compgen -P "${cur%"${cur##*,}"}" -W \
			'gaps contexts exceptions all' -- "${cur##*,}") ;;
	decode:--split)
		mapfile -t COMPREPLY < <(compgen -W 'thread process cpu' -- "$cur") ;;
	decode:--block-memory)
		mapfile -t COMPREPLY < <(compgen -W '64M 256M 1G' -- "$cur") ;;
	decode:--config | dump:--config)
		compopt -o nospace 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -P "${cur%"${cur##*,}"}" -W \
			'configr= traceidr= devarch= idr0= idr1= idr2= idr8=' -- "${cur##*,}") ;;
	decode:--memory | decode:--elf)
		_flowtap_files -f ;;
	ctl:--socket)
		_flowtap_files -f ;;
	decode:--sysroot)
		_flowtap_files -d ;;
	record:-o | record:--output | decode:-o | decode:--output)
		_flowtap_files -f ;;
	*)
		return 1 ;;
	esac
}

# What $cur may become after $words; $option: it is the value of that, which stands before a =.
_flowtap_complete() {
	local command=${words[1]-} word options i
	local -A all=(
		[record]='--pid --cgroup --all-cpus --cpu --no-inherit --user --kernel --filter --ras
			--depth --freeze-on-breakpoint --source --event --count --freq --switch
			--duration --borrow --output --force --bundle --overwrite --ring-pages --quiet
			--timestamps --no-timestamps --cycles --branch-broadcast --return-stack
			--no-return-stack --context --vmid --sync-period --address --strobe
			--aux-pages --json --help'
		[decode]='--to --output --force --sysroot --tid --cpu --split --config --memory --elf --framed --dstream --id
			--keep-failed-transactions --block-memory --level --times --frequency
			--disassembler --symbols --no-symbols --synthetic-sp --untaken-as-skipped
			--dialect --rv64 --modes --cpu-names --quiet --json --help'
		[convert]='--from --to --force --rewrite --skip --count --level --times --frequency --disassembler
			--symbols --no-symbols --synthetic-sp --untaken-as-skipped --dialect --rv64 --modes
			--cpu-names --quiet --json --help'
		[diff]='--context --ignore --disassembler --quiet --json --help'
		[stat]='--mnemonics --disassembler --all --skip --count --quiet --json --help'
		[dump]='--blocks --hex --instructions --disassembler --symbols --skip --count --json --packets --config
			--framed --dstream --id --cpu --quiet --help'
		[check]='--all --quiet --json --help'
		[doctor]='--json --help'
		[list]='--json --help'
		[ctl]='--socket --json --help'
	)

	if ((${#words[@]} == 1)); then
		mapfile -t COMPREPLY < <(compgen -W "${!all[*]} help version --help --version" -- "$cur")
		return
	fi
	if [[ $command == help ]]; then
		mapfile -t COMPREPLY < <(compgen -W "${!all[*]}" -- "$cur")
		return
	fi
	options=${all[$command]-}
	[[ $options ]] || return
	if [[ $command == record ]]; then
		# After -- everything is the command's.
		for ((i = 2; i < COMP_CWORD; i++)); do
			word=${COMP_WORDS[i]}
			if [[ $word == -- ]] && declare -F _command_offset >/dev/null; then
				_command_offset $((i + 1))
				return
			fi
		done
	fi
	if [[ $option ]]; then
		_flowtap_value "$command" "$option"
		return
	fi
	_flowtap_value "$command" "${words[-1]}" && return
	if [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
	elif [[ $command == ctl ]]; then
		mapfile -t COMPREPLY < <(compgen -W 'status stats stop start rotate snapshot reload' -- "$cur")
	elif [[ $command == record ]]; then
		[[ $cur == */* ]] && compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -c -- "$cur")
	elif [[ $command != doctor && $command != list ]]; then
		_flowtap_files -f
	fi
}

# bash takes words apart at =, and puts what comes back behind the last one.
_flowtap() {
	local words=() cur='' option='' whole='' i

	for ((i = 0; i <= COMP_CWORD; i++)); do
		if ((i > 1)) && [[ ${COMP_WORDS[i]} == = || ${COMP_WORDS[i - 1]} == = ]]; then
			words[-1]+=${COMP_WORDS[i]}
		else
			words+=("${COMP_WORDS[i]}")
		fi
	done
	cur=${words[-1]}
	unset 'words[-1]'
	if [[ $cur == --*=* ]]; then
		option=${cur%%=*}
		cur=${cur#*=}
		[[ ${COMP_WORDBREAKS-} == *=* ]] || whole=$option=
	fi
	COMPREPLY=()
	_flowtap_complete
	if [[ $whole ]]; then
		COMPREPLY=("${COMPREPLY[@]/#/"$whole"}")
	elif [[ $cur == *=* && ${COMP_WORDBREAKS-} == *=* ]]; then
		COMPREPLY=("${COMPREPLY[@]#"${cur%"${cur##*=}"}"}")
	fi
}

complete -F _flowtap flowtap
