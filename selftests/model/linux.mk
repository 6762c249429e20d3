# SPDX-License-Identifier: GPL-2.0-only
#
# What the model's Linux guests run: the workloads of selftests/workloads that are not of RISC-V
# alone, for arm64. build/arm64/workloads/

MODEL_WORKLOADS := migrate compute calls signals syscalls threads forks exec dlopen remap faults shadow
MW := $(B)/arm64/workloads
MW_WITH := selftests/workloads/workload.h $(B)/arm64/with selftests/model/linux.mk
MW_CC = $(call say,CC,$@)aarch64-linux-gnu-gcc -std=gnu17 $(COMMON) -D_GNU_SOURCE -O2 -g

$(MODEL_WORKLOADS:%=$(MW)/%): $(MW)/%: selftests/workloads/%.c $(MW_WITH)
	@mkdir -p $(@D)
	$(MW_CC) -o $@ $< -pthread

$(MW)/exec_other: selftests/workloads/exec.c $(MW_WITH)
	@mkdir -p $(@D)
	$(MW_CC) -DOTHER -O1 -fno-pie -no-pie -o $@ $<

$(MW)/exec_static $(MW)/exec_static_other: selftests/workloads/exec.c $(MW_WITH)
	@mkdir -p $(@D)
	$(MW_CC) -DNAME='"exec_static"' $(if $(filter %_other,$@),-DOTHER -O1) -static -no-pie -o $@ $<

$(MW)/library_a.so $(MW)/library_b.so: $(MW)/library_%.so: selftests/workloads/library.c $(MW_WITH)
	@mkdir -p $(@D)
	$(MW_CC) -shared -fPIC $(if $(filter b,$*),-DLIBRARY_B) -o $@ $<

$(MW)/pair_a: MW_BASE := 0x10000000
$(MW)/pair_b: MW_BASE := 0x20000000
$(MW)/pair_a $(MW)/pair_b: selftests/workloads/pair.c $(MW_WITH)
	@mkdir -p $(@D)
	$(MW_CC) -static -no-pie -Wl,-Ttext-segment=$(MW_BASE) -o $@ $<

EXTRA += $(MODEL_WORKLOADS:%=$(MW)/%) \
	$(addprefix $(MW)/,exec_other exec_static exec_static_other library_a.so library_b.so pair_a pair_b)

# What flowtap decode makes of a perf.data, against the log.
$(B)/host/model/compareflow: $(patsubst %,$(B)/host/selftests/model/%.o,compare_flow log_read history \
		history_code judge judge_gaps) $(B)/host/libflowtap.a
	@mkdir -p $(@D)
	$(call say,LD,$@)gcc -o $@ $^ $(LIBS)

EXTRA += $(B)/host/model/compareflow
-include $(B)/host/selftests/model/compare_flow.d

.PHONY: bench-model
bench-model: $(B)/host/model/flowtap-model.so $(MW)/compute $(MW)/syscalls
	$(Q)echo '== model'; B=$(B) selftests/model/bench
bench-in-lab: bench-model
