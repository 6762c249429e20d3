# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# To be sourced after tap.sh. guest_arch, guest_options: the machine to boot, and words for boot.
guest_arch=${guest_arch:-riscv64} guest_options=${guest_options-}

# What the guest said becomes ours: its lines have no numbers yet.
relay() {
	local line
	while IFS= read -r line; do
		case $line in
		'ok - '*) test_count=$((test_count + 1)); echo "ok $test_count ${line#ok }" ;;
		'not ok - '*)
			test_count=$((test_count + 1)) test_failed=$((test_failed + 1))
			echo "not ok $test_count ${line#not ok }" ;;
		*) echo "# $line" ;;
		esac
	done < <(printf '%s\n' "$out")
}

# Boots a machine with two CPUs and the command, runs the script there, and counts what it says.
# What the script leaves in /out is in $test_dir/out then.
guest() { # PREFIX of the kernel's release, SCRIPT, ARGUMENT of it...
	local root=$test_dir/root booted machine
	release=$(awk -v a="$guest_arch" -v r="$1" '$1 == a && index($2, r) == 1 { print $2; exit }' \
		/opt/flowtap/kernels)
	mkdir -p "$root/test" "$root/usr/bin"
	cp "$B/$guest_arch/flowtap" "$root/usr/bin/"
	cp "$B/kmod/$guest_arch-$release/flowtap.ko" "$here/guest.sh" "$root/test/"
	case $2 in
	/*) cp "$2" "$root/test/script" ;;
	*) cp "$here/$2" "$root/test/script" ;;
	esac
	case $guest_arch in riscv64) machine=--imsic ;; *) machine='' ;; esac
	# shellcheck disable=SC2086
	run "$here/boot" --arch "$guest_arch" --kernel "$release" --smp 2 $machine $guest_options \
		--root-dir "$root" --out "$test_dir/out" -- sh /test/script "${@:3}"
	booted=$status
	relay
	ok "$1: the guest ended well and its kernel reported nothing" is 0 $booted
	test "$booted" = 0 || sed 's/^/# /' <<<"$err"
}

# Decodes NAME.ftap of $test_dir/out with the guest's own files, as JSON into $out.
decode() { # NAME FORMAT
	local sysroot=$test_dir/sysroot
	if [ ! -d "$sysroot" ]; then
		mkdir "$sysroot"
		cpio --quiet -id -D "$sysroot" <"$("$here/initramfs" base "$guest_arch" "$release")"
		cp -r "$test_dir/root/." "$sysroot/"
	fi
	run "$B/asan/flowtap" decode --force "$test_dir/out/$1.ftap" --to "$2" -o "$test_dir/$1.$2" \
		--sysroot "$sysroot" --json
}

figure() { # NAME: in the JSON
	sed -n "s/^	\"$1\": \([0-9]*\),*$/\1/p" <<<"$out"
}

# NAME.ftap is what the code there can have done.
sound() { # NAME
	decode "$1" stf
	ok "$1.ftap decodes here" [ "$status" = 0 ]
	ok "$1.ftap: instructions are reconstructed" [ "$(figure instructions)" -gt 10000 ]
	ok "$1.ftap: no step that the code cannot make" [ "${out/\"impossible\"/}" = "$out" ]
}

# Tasks that executed the instruction at an address: of an archive with samples, whose transfers tell; of
# one with a trace, of the flow that it decodes to.
executed() { # ADDRESS FILE FLOW
	{
		"$B/asan/flowtap" dump "$2" | awk -v address="0x$(printf '%016x' "0x$1")" '
			/^  [A-Z]/ { tid = $0; sub(/.* tid=/, "", tid); sub(/ .*/, "", tid) }
			$1 == address && $2 == "->" { print tid }'
		awk -v address="$1" '
			$1 == "context" { tid = ""; for (i = 2; i <= NF; i++) if ($i ~ /^tid=/) tid = substr($i, 5) }
			$1 == "range" && $2 == address { print tid }' "$3"
	} | sort -u
}
