# SPDX-License-Identifier: GPL-2.0-or-later
#
# A guest without a kernel that drives the model of ETE and TRBE.

BARE := start.S vectors.S hypervisor.S boot.c mmu.c options.c console.c semihost.c gic.c cpu.c \
	task.c trace.c trace_registers.c setup.c user.S work.c special.c random.c main.c
BARE_FLAGS := -march=armv8.5-a -mgeneral-regs-only -mstrict-align -ffreestanding -fno-builtin \
	-fno-pic -fno-stack-protector -fno-asynchronous-unwind-tables -mno-outline-atomics \
	-mbranch-protection=none

BARE_WITH := $(B)/arm64/with selftests/model/bare.mk

$(B)/bare/%.c.o: selftests/model/bare/%.c $(BARE_WITH)
	@mkdir -p $(@D)
	$(call say,CC,$@)aarch64-linux-gnu-gcc -std=gnu17 $(COMMON) -Wno-unused-parameter -O2 -g $(BARE_FLAGS) -MMD -MP -c -o $@ $<
$(B)/bare/%.S.o: selftests/model/bare/%.S $(BARE_WITH)
	@mkdir -p $(@D)
	$(call say,AS,$@)aarch64-linux-gnu-gcc $(COMMON) -march=armv8.5-a -g -MMD -MP -c -o $@ $<

$(B)/bare/bare: $(BARE:%=$(B)/bare/%.o) selftests/model/bare/bare.lds
	$(call say,LD,$@)aarch64-linux-gnu-gcc -nostdlib -static -no-pie -Wl,--build-id=none -Wl,-z,noexecstack \
		-Wl,--no-warn-rwx-segments -T selftests/model/bare/bare.lds -o $@ $(BARE:%=$(B)/bare/%.o)

EXTRA += $(B)/bare/bare
-include $(BARE:%=$(B)/bare/%.d)
