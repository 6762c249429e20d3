# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# To be sourced. Where several tests run at once FLOWTAP_SLOTS is a folder with a file for each CPU,
# and no more machines than that are emulated at a time.

# Waits for a slot, which is ours until we and what we start have ended.
take_slot() {
	local file slot
	[ -n "${FLOWTAP_SLOTS-}" ] || return 0
	while :; do
		for file in "$FLOWTAP_SLOTS"/*; do
			exec {slot}>"$file"
			if flock -n "$slot"; then return 0; fi
			exec {slot}>&-
		done
		sleep 0.1
	done
}
