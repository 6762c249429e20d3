# SPDX-License-Identifier: GPL-2.0-only
# What make run traces: zlib in it, with its symbols, and the C library beside it.
$(B)/riscv64/vm/pack: selftests/vm/pack.c
	@mkdir -p $(@D)
	$(call say,LD,$@)riscv64-linux-gnu-gcc -std=gnu17 $(WARN) -O2 -g -o $@ $< -l:libz.a

run-in-lab: $(B)/riscv64/vm/pack
EXTRA += $(B)/riscv64/vm/pack
