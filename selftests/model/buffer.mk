# SPDX-License-Identifier: GPL-2.0-only
#
# The hub, the trace buffer and the adversary, and their test with a machine of its own.

MODEL_BUFFER := pe adversary trace_buffer trace_buffer_store trace_buffer_check \
	trace_buffer_errata translate
BUFFER_TESTS := test_buffer test_protocol test_translate test_adversary test_errata test_pe
BUFFER_OBJ := $(patsubst %,$(B)/asan/selftests/model/%.o,$(MODEL_BUFFER) fake fake_driver)

$(BUFFER_TESTS:%=$(B)/asan/model/%): $(B)/asan/model/%: $(B)/asan/selftests/model/%.o $(BUFFER_OBJ)
	@mkdir -p $(@D)
	$(call say,LD,$@)gcc $(SANITIZE) -o $@ $^

MORE_TESTS += $(BUFFER_TESTS:%=$(B)/asan/model/%)
-include $(BUFFER_OBJ:%.o=%.d) $(BUFFER_TESTS:%=$(B)/asan/selftests/model/%.d)
