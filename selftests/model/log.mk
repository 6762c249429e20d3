# SPDX-License-Identifier: GPL-2.0-or-later
#
# The execution log's tools: what reads it, and what holds a trace against it.

MODEL_COMPARE := log_read history history_code judge judge_gaps align decoders decoder_flowtap \
	decoder_opencsd
MODEL_OPENCSD := -lopencsd_c_api -lopencsd -lstdc++

$(B)/host/model/logdump: $(patsubst %,$(B)/host/selftests/model/%.o,log_dump log_read)
	@mkdir -p $(@D)
	$(call say,LD,$@)gcc -o $@ $^

$(B)/host/model/compare: $(patsubst %,$(B)/host/selftests/model/%.o,compare input $(MODEL_COMPARE)) \
		$(B)/host/libflowtap.a
	@mkdir -p $(@D)
	$(call say,LD,$@)gcc -o $@ $^ $(LIBS) $(MODEL_OPENCSD)

MODEL_SIMULATION := $(patsubst %.c,$(B)/asan/%.o,$(wildcard selftests/model/trace_unit*.c \
	selftests/model/trace_buffer*.c selftests/ete/encoder*.c)) \
	$(patsubst %,$(B)/asan/selftests/model/%.o,simulation simulation_driver changes log pe adversary translate \
	$(MODEL_COMPARE)) \
	$(patsubst %,$(B)/asan/selftests/ete/%.o,oracle program program_a64 program_a32 program_t32)
MODEL_SIMULATION_TESTS := test_model test_lost compare_test

$(MODEL_SIMULATION_TESTS:%=$(B)/asan/model/%): $(B)/asan/model/%: $(B)/asan/selftests/model/%.o \
		$(MODEL_SIMULATION) $(B)/asan/libflowtap.a
	@mkdir -p $(@D)
	$(call say,LD,$@)gcc $(SANITIZE) -o $@ $^ $(LIBS) $(MODEL_OPENCSD)

MORE_TESTS += $(MODEL_SIMULATION_TESTS:%=$(B)/asan/model/%)
EXTRA += $(B)/host/model/logdump $(B)/host/model/compare
-include $(patsubst %,$(B)/host/selftests/model/%.d,log_dump compare input $(MODEL_COMPARE))
-include $(MODEL_SIMULATION:%.o=%.d) $(MODEL_SIMULATION_TESTS:%=$(B)/asan/selftests/model/%.d)

HISTORY_CODE := $(patsubst %,$(B)/asan/selftests/model/%.o,test_history_code history_code)

$(B)/asan/model/test_history_code: $(HISTORY_CODE)
	@mkdir -p $(@D)
	$(call say,LD,$@)gcc $(SANITIZE) -o $@ $^

MORE_TESTS += $(B)/asan/model/test_history_code
-include $(HISTORY_CODE:%.o=%.d)

JUDGE := $(patsubst %,$(B)/asan/selftests/model/%.o,test_judge log log_read history history_code judge \
	judge_gaps)

$(B)/asan/model/test_judge: $(JUDGE) $(B)/asan/libflowtap.a
	@mkdir -p $(@D)
	$(call say,LD,$@)gcc $(SANITIZE) -o $@ $^ $(LIBS)

MORE_TESTS += $(B)/asan/model/test_judge
-include $(JUDGE:%.o=%.d)
