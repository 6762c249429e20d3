# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# To be sourced after tap.sh.

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
guest() { # PREFIX of the kernel's release, SCRIPT
	local root=$test_dir/root booted
	release=$(awk -v r="$1" '$1 == "riscv64" && index($2, r) == 1 { print $2; exit }' \
		/opt/flowtap/kernels)
	mkdir -p "$root/test" "$root/usr/bin"
	cp "$B/riscv64/flowtap" "$root/usr/bin/"
	cp "$B/kmod/riscv64-$release/flowtap.ko" "$here/guest.sh" "$root/test/"
	case $2 in
	/*) cp "$2" "$root/test/script" ;;
	*) cp "$here/$2" "$root/test/script" ;;
	esac
	run "$here/boot" --arch riscv64 --kernel "$release" --smp 2 --imsic --root-dir "$root" \
		--out "$test_dir/out" -- sh /test/script
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
		cpio --quiet -id -D "$sysroot" <"$("$here/initramfs" base riscv64 "$release")"
	fi
	run "$B/asan/flowtap" decode "$test_dir/out/$1.ftap" --to "$2" -o "$test_dir/$1.$2" \
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
