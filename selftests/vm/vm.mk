# SPDX-License-Identifier: GPL-2.0-only
# What make run traces: zlib in it, with its symbols, and the C library beside it.
$(B)/riscv64/vm/pack: selftests/vm/pack.c
	@mkdir -p $(@D)
	$(call say,LD,$@)riscv64-linux-gnu-gcc -std=gnu17 $(WARN) -O2 -g -o $@ $< -l:libz.a

run-in-lab: $(B)/riscv64/vm/pack
EXTRA += $(B)/riscv64/vm/pack

# The kernel's text in an archive beside the file that it was booted from.
$(B)/host/vm/imagediff: $(B)/host/selftests/vm/imagediff.o $(B)/host/libflowtap.a
	@mkdir -p $(@D)
	$(call say,LD,$@)gcc -o $@ $^ $(LIBS)

EXTRA += $(B)/host/vm/imagediff
-include $(B)/host/selftests/vm/imagediff.d
