# SPDX-License-Identifier: GPL-2.0-or-later
#
# The trace unit by itself: a machine, a trace buffer and a log that are the tests' own.

UNIT_RIG := unit_rig adversary \
	$(patsubst selftests/model/%.c,%,$(wildcard selftests/model/trace_unit*.c))
UNIT_ETE := encoder encoder_packets encoder_address encoder_atoms encoder_speculation oracle
UNIT_TESTS := test_unit test_unit_registers test_unit_filters test_unit_resources test_unit_state \
	test_unit_options test_unit_status

$(UNIT_TESTS:%=$(B)/asan/model/%): $(B)/asan/model/%: $(B)/asan/selftests/model/%.o \
		$(UNIT_RIG:%=$(B)/asan/selftests/model/%.o) \
		$(UNIT_ETE:%=$(B)/asan/selftests/ete/%.o) $(B)/asan/libflowtap.a
	@mkdir -p $(@D)
	$(call say,LD,$@)gcc $(SANITIZE) -o $@ $^ $(LIBS)

MORE_TESTS += $(UNIT_TESTS:%=$(B)/asan/model/%)
EXTRA += $(UNIT_TESTS:%=$(B)/asan/model/%)
-include $(patsubst %,$(B)/asan/selftests/model/%.d,$(UNIT_TESTS) $(UNIT_RIG))
