# SPDX-License-Identifier: GPL-2.0-only
# The STF checker: build/host/stfcheck for scripts and VM tests; its objects are linked into each
# test, fuzzer and benchmark that includes stfcheck/stfcheck.h.
STFCHECK := $(patsubst %,selftests/stfcheck/%.o,\
		stfcheck header group instruction records opcode opcode_arm load)
STFCHECK_USERS := $(shell grep -rls --include='*.c' stfcheck/stfcheck.h selftests/unit selftests/fuzz)

$(B)/asan/ete/stf: $(STFCHECK:%=$(B)/asan/%)
$(B)/host/oracle/compare: $(STFCHECK:%=$(B)/host/%)
$(foreach u,$(STFCHECK_USERS:selftests/%.c=%),$(eval $(B)/asan/$(u): $(STFCHECK:%=$(B)/asan/%)))

EXTRA += $(B)/host/stfcheck
$(B)/host/stfcheck: $(STFCHECK:%=$(B)/host/%) $(B)/host/selftests/stfcheck/main.o
	$(call say,LD,$@)gcc -o $@ $^ $(LIBS)

-include $(STFCHECK:%.o=$(B)/host/%.d) $(STFCHECK:%.o=$(B)/asan/%.d)
-include $(B)/host/selftests/stfcheck/main.d
