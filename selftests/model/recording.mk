# SPDX-License-Identifier: GPL-2.0-only
#
# What flowtap record and flowtap decode made, against the log.

MODEL_RECORDING := recording recording_flow recording_losses log_read history \
	history_code judge judge_gaps

$(B)/host/model/comparerecord: $(patsubst %,$(B)/host/selftests/model/%.o,compare_record \
		$(MODEL_RECORDING)) $(B)/host/libflowtap.a
	@mkdir -p $(@D)
	$(call say,LD,$@)gcc -o $@ $^ $(LIBS)

EXTRA += $(B)/host/model/comparerecord
-include $(patsubst %,$(B)/host/selftests/model/%.d,compare_record recording recording_flow \
	recording_losses)

$(B)/asan/model/recording_test: $(patsubst %,$(B)/asan/selftests/model/%.o,recording_test \
		recording_scene log $(MODEL_RECORDING)) $(B)/asan/libflowtap.a
	@mkdir -p $(@D)
	$(call say,LD,$@)gcc $(SANITIZE) -o $@ $^ $(LIBS)

MORE_TESTS += $(B)/asan/model/recording_test
-include $(B)/asan/selftests/model/recording_test.d $(patsubst %,$(B)/asan/selftests/model/%.d, \
	recording recording_flow recording_losses recording_scene)
