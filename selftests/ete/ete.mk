# SPDX-License-Identifier: GPL-2.0-only
#
# A trace unit in software, random programs, and what is tested with them.

ETE_MADE := encoder encoder_packets encoder_address encoder_atoms encoder_speculation program \
	program_a64 program_a32 program_t32 execute execute_m oracle scenario snapshot
ETE_TESTS := roundtrip losses next_header stf aux

$(B)/host/ete/make_stream: $(patsubst %,$(B)/host/selftests/ete/%.o,make_stream $(ETE_MADE)) \
		$(B)/host/libflowtap.a
	@mkdir -p $(@D)
	$(call say,LD,$@)gcc -o $@ $^ $(LIBS)

$(patsubst %,$(B)/asan/ete/%,$(ETE_TESTS) make_stream): $(B)/asan/ete/%: \
		$(B)/asan/selftests/ete/%.o \
		$(patsubst %,$(B)/asan/selftests/ete/%.o,$(ETE_MADE) decoded) \
		$(B)/asan/libflowtap.a
	@mkdir -p $(@D)
	$(call say,LD,$@)gcc $(SANITIZE) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LIBS)

$(B)/asan/ete/aux: $(patsubst %,$(B)/asan/selftests/ete/%.o,aux_tasks aux_records aux_flow)

MORE_TESTS += $(patsubst %,$(B)/asan/ete/%,$(ETE_TESTS))
EXTRA += $(B)/host/ete/make_stream $(patsubst %,$(B)/asan/ete/%,$(ETE_TESTS))
-include $(patsubst %,$(B)/host/selftests/ete/%.d,make_stream $(ETE_MADE))
-include $(patsubst %,$(B)/asan/selftests/ete/%.d,make_stream decoded aux_tasks aux_records aux_flow $(ETE_TESTS) $(ETE_MADE))
