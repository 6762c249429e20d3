# SPDX-License-Identifier: GPL-2.0-only
#
# make fuzz: each fuzzer as libFuzzer drives it, for FUZZ_SECONDS. It begins with the seeds and with
# selftests/corpus/fuzz/NAME, keeps what it finds in build/fuzz/NAME.corpus, and each input that
# makes it fail as build/fuzz/NAME.crash-...
FUZZ_SECONDS ?= 60

comma := ,
FUZZ_FLAGS := -O1 -g -fsanitize=fuzzer-no-link$(comma)address$(comma)undefined \
	-fno-sanitize-recover=all -fno-omit-frame-pointer
$(eval $(call userland,clang,,$(FUZZ_FLAGS),clang))

$(FUZZ:%=$(B)/fuzz/%): $(B)/fuzz/%: $(B)/clang/selftests/fuzz/%.o $(B)/clang/libuapi.a
	@mkdir -p $(@D)
	$(call say,LD,$@)clang -fsanitize=fuzzer,address,undefined -o $@ $^ $(LIBS) -lpthread

# The STF checker, where it is used.
FUZZ_STFCHECK := $(filter-out %/main.o,$(patsubst %.c,$(B)/clang/%.o,$(wildcard selftests/stfcheck/*.c)))
$(foreach f,$(shell grep -ls stfcheck/stfcheck.h selftests/fuzz/*.c), \
	$(eval $(B)/fuzz/$(notdir $(f:%.c=%)): $(FUZZ_STFCHECK)))

-include $(FUZZ:%=$(B)/clang/selftests/fuzz/%.d) $(patsubst %.o,%.d,$(FUZZ_STFCHECK))

.PHONY: fuzz-in-lab
fuzz-in-lab: $(FUZZ:%=$(B)/fuzz/%) $(FUZZ:%=$(B)/asan/fuzz/%)
	$(Q)B=$(B) FUZZ_SECONDS=$(FUZZ_SECONDS) selftests/fuzz/run $(FUZZ)
