# SPDX-License-Identifier: GPL-2.0-only
#
# Guest programs, each from one source file: build/riscv64/workloads/

WORKLOADS := compute calls signals syscalls threads forks exec dlopen remap faults rseq ptrace \
	types breaks
W := $(B)/riscv64/workloads
W_WITH := selftests/workloads/workload.h $(B)/riscv64/with selftests/workloads/workloads.mk
W_BUILD = @mkdir -p $(@D)
W_CC = $(call say,CC,$@)riscv64-linux-gnu-gcc -std=gnu17 $(COMMON) -D_GNU_SOURCE -O2 -g

$(WORKLOADS:%=$(W)/%): $(W)/%: selftests/workloads/%.c $(W_WITH)
	$(W_BUILD)
	$(W_CC) -o $@ $< -pthread

# The same without compressed instructions.
$(W)/calls_g: selftests/workloads/calls.c $(W_WITH)
	$(W_BUILD)
	$(W_CC) -march=rv64g -o $@ $<

$(W)/exec_other: selftests/workloads/exec.c $(W_WITH)
	$(W_BUILD)
	$(W_CC) -DOTHER -O1 -fno-pie -no-pie -o $@ $<

$(W)/library_a.so $(W)/library_b.so: $(W)/library_%.so: selftests/workloads/library.c $(W_WITH)
	$(W_BUILD)
	$(W_CC) -shared -fPIC $(if $(filter b,$*),-DLIBRARY_B) -o $@ $<

$(W)/turns $(W)/yields: $(W)/%: selftests/workloads/%.c $(W_WITH)
	$(W_BUILD)
	$(W_CC) -static -no-pie -nostdlib -ffreestanding -fno-stack-protector -o $@ $<

$(W)/pair_a: W_BASE := 0x10000000
$(W)/pair_b: W_BASE := 0x20000000
$(W)/pair_a $(W)/pair_b: selftests/workloads/pair.c $(W_WITH)
	$(W_BUILD)
	$(W_CC) -static -no-pie -Wl,-Ttext-segment=$(W_BASE) -o $@ $<

EXTRA += $(WORKLOADS:%=$(W)/%) \
	$(addprefix $(W)/,calls_g exec_other library_a.so library_b.so pair_a pair_b turns yields)
