# SPDX-License-Identifier: GPL-2.0-only
# What tracing with ETE costs, counted in guests.
$(B)/arm64/vm/ete_cost: selftests/vm/ete_cost.c $(B)/arm64/with
	@mkdir -p $(@D)
	$(call say,LD,$@)aarch64-linux-gnu-gcc $(FLAGS) $(TESTFLAGS) -O2 -g -MMD -MP -MF $@.d -o $@ $<
-include $(B)/arm64/vm/ete_cost.d

.PHONY: bench-ete
bench-in-lab: bench-ete
bench-ete: $(B)/arm64/vm/ete_cost $(B)/host/model/flowtap-model.so
	$(Q)selftests/kernel/modules $(B)/kmod 'arm64-6.12*'
	$(Q)B=$(B) selftests/vm/ete_figures
