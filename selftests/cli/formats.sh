# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# For tests in which something is decoded; to be sourced, with $flowtap and $runs (the file of that
# name beside this one) set.
#
#	formats DIR INPUT OPTION...	decodes INPUT with OPTIONS to each format, checks it, reads it back
#					and compares that with the flow that was decoded. Prints what is
#					wrong, and `tried N` with the number of files. DIR is emptied.
#	through INPUT OPTION...		a test of that (tap.sh)

one_format() { # FILE FLOW: checks it and compares it with the flow
	local dir=${1%/*} format=${1##*.}
	"$flowtap" check -q "$1" >"$dir/told" 2>&1 || {
		echo "$format: check"
		head -n 5 "$dir/told"
	}
	"$flowtap" convert --force -q "$1" "$dir/back" --to flow 2>"$dir/told" || {
		echo "$format: convert"
		head -n 5 "$dir/told"
	}
	awk -v "format=$format" -f "$runs" "$2" >"$dir/decoded"
	awk -v "format=$format" -f "$runs" "$dir/back" >"$dir/read"
	cmp -s "$dir/decoded" "$dir/read" || {
		echo "$format: another flow"
		diff "$dir/decoded" "$dir/read" | head -n 10
	}
	rm -f "$1" "$dir/back" "$dir/decoded" "$dir/read"
}

decode_to() { # FORMAT OPTION...: to "$dir/x.FORMAT"; a trace needs an instruction
	local format=$1
	shift
	"$flowtap" decode --force "$@" --to "$format" -q -o "$dir/x.$format" >"$dir/told" 2>&1 && return
	# Tarmac has no RISC-V of its own.
	if [[ " $* " != *' --rv64 '* ]] && grep -q -- --rv64 "$dir/told"; then
		decode_to "$format" "$@" --rv64
	elif ! grep -q 'no instruction' "$dir/told" || grep -q '^range ' "$dir"/x*.flow; then
		echo "$format: decode"
		head -n 5 "$dir/told"
	fi
}

formats() { # DIR INPUT OPTION...
	local dir=$1 input=$2 format file tried=0
	shift
	rm -rf "$dir"
	mkdir "$dir"
	"$flowtap" decode --force "$@" --to flow -q -o "$dir/x.flow" 2>"$dir/told"
	for format in stf zstf tarmac qemu4v; do
		# The CPUs in a QEMU4V are read each by itself.
		if [[ $format.$input == qemu4v.*.ftap ]]; then
			set -- "$@" --split cpu
			"$flowtap" decode --force "$@" --to flow -q -o "$dir/x.flow" 2>"$dir/told"
		fi
		decode_to $format "$@"
		for file in "$dir"/x*.$format; do
			[ -e "$file" ] || continue
			tried=$((tried + 1))
			one_format "$file" "${file%.*}.flow"
		done
	done
	echo "tried $tried"
	rm -rf "$dir"
}

through() { # INPUT OPTION...
	# shellcheck disable=SC2034
	status=0 out='' err=$(formats "$test_dir/through" "$@" 2>&1)
	ok "${1##*/} ${*:2}: each of ${err##*tried } files has what was decoded" \
		has "$err" '^tried [1-9][0-9]*$'
}
