# SPDX-License-Identifier: GPL-2.0-only
# Each is for the machine in whose folder it is.
VM_OWN := $(foreach n,pack peer tiny probed,$(B)/riscv64/vm/$(n) $(B)/arm64/vm/$(n)) $(B)/arm64/vm/vcpu
$(filter $(B)/riscv64/%,$(VM_OWN)): $(B)/riscv64/with
$(filter $(B)/arm64/%,$(VM_OWN)): $(B)/arm64/with
$(VM_OWN): selftests/vm/vm.mk

# What make run traces: zlib in it, with its symbols, and the C library beside it.
$(B)/riscv64/vm/pack: PACK_CC := riscv64-linux-gnu-gcc
$(B)/arm64/vm/pack: PACK_CC := aarch64-linux-gnu-gcc
$(B)/riscv64/vm/pack $(B)/arm64/vm/pack: selftests/vm/pack.c
	@mkdir -p $(@D)
	$(call say,LD,$@)$(PACK_CC) -std=gnu17 $(COMMON) -O2 -g -o $@ $< -l:libz.a

run-in-lab: $(B)/$(RUN_ARCH)/vm/pack
ifeq ($(RUN_ARCH),arm64)
run-in-lab: $(B)/host/model/flowtap-model.so $(B)/host/model/comparerecord
endif
EXTRA += $(B)/riscv64/vm/pack $(B)/arm64/vm/pack

# The kernel's text in an archive beside the file that it was booted from.
$(B)/host/vm/imagediff: $(B)/host/selftests/vm/imagediff.o $(B)/host/libflowtap.a
	@mkdir -p $(@D)
	$(call say,LD,$@)gcc -o $@ $^ $(LIBS)

EXTRA += $(B)/host/vm/imagediff
-include $(B)/host/selftests/vm/imagediff.d

# Who deals with flowtapd in daemon.guest.
$(B)/riscv64/vm/peer: PEER_CC := riscv64-linux-gnu-gcc
$(B)/arm64/vm/peer: PEER_CC := aarch64-linux-gnu-gcc
$(B)/riscv64/vm/peer $(B)/arm64/vm/peer: selftests/vm/peer.c
	@mkdir -p $(@D)
	$(call say,LD,$@)$(PEER_CC) -std=gnu17 $(COMMON) -D_GNU_SOURCE -O2 -static -o $@ $<

EXTRA += $(B)/riscv64/vm/peer $(B)/arm64/vm/peer

# Whom daemon_choice.guest has chosen.
$(B)/riscv64/vm/tiny: TINY_CC := riscv64-linux-gnu-gcc
$(B)/arm64/vm/tiny: TINY_CC := aarch64-linux-gnu-gcc
$(B)/riscv64/vm/tiny $(B)/arm64/vm/tiny: selftests/vm/tiny.c
	@mkdir -p $(@D)
	$(call say,LD,$@)$(TINY_CC) $(COMMON) -O2 -static -nostdlib -o $@ $<

EXTRA += $(B)/riscv64/vm/tiny $(B)/arm64/vm/tiny $(B)/arm64/flowtapd

# Whose functions daemon_probes.guest has probed.
$(B)/riscv64/vm/probed: PROBED_CC := riscv64-linux-gnu-gcc
$(B)/arm64/vm/probed: PROBED_CC := aarch64-linux-gnu-gcc
$(B)/riscv64/vm/probed $(B)/arm64/vm/probed: selftests/vm/probed.c
	@mkdir -p $(@D)
	$(call say,LD,$@)$(PROBED_CC) -std=gnu17 $(COMMON) -D_GNU_SOURCE -O2 -static -no-pie -o $@ $<

EXTRA += $(B)/riscv64/vm/probed $(B)/arm64/vm/probed

# A guest's guest: KVM is arm64's here.
$(B)/arm64/vm/vcpu: selftests/vm/vcpu.c
	@mkdir -p $(@D)
	$(call say,LD,$@)aarch64-linux-gnu-gcc -std=gnu17 $(COMMON) -D_GNU_SOURCE -O2 -static -o $@ $<

EXTRA += $(B)/arm64/vm/vcpu
