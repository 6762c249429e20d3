# SPDX-License-Identifier: GPL-2.0-only
# What the drain costs is counted in a guest, where instructions are counted exactly.
$(eval $(call program,riscv64,bench,drain,riscv64-linux-gnu-,))

.PHONY: bench-drain
bench-in-lab: bench-drain
bench-drain: $(B)/riscv64/bench/drain
	$(Q)selftests/kernel/modules $(B)/kmod 'riscv64-6.12*'
	$(Q)B=$(B) selftests/bench/drain.guest
