# SPDX-License-Identifier: GPL-2.0-only
#
# What holds traces against how they were configured (selftests/vm/ete_config.test).

$(B)/host/model/configured: $(patsubst %,$(B)/host/selftests/model/%.o,configured configured_input \
		log_read) $(B)/host/libflowtap.a
	@mkdir -p $(@D)
	$(call say,LD,$@)gcc -o $@ $^ $(LIBS)

EXTRA += $(B)/host/model/configured
-include $(patsubst %,$(B)/host/selftests/model/%.d,configured configured_input)
