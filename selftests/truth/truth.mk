# SPDX-License-Identifier: GPL-2.0-only
#
# The truth plugin (for the lab's QEMU), the comparator, and the comparator's own test. The STF
# checker's objects are named in stfcheck.mk.

TRUTH := reader opcode hardware history machine machine_run machine_entries flow samples \
	proof proof_flow check

$(B)/host/truth/plugin.so: $(addprefix selftests/truth/,plugin.c plugin_log.c plugin.h log.h \
		qemu_plugin.h)
	@mkdir -p $(@D)
	$(call say,CC,$@)gcc $(FLAGS) -O2 -g -fPIC -shared -fvisibility=hidden \
		$$(pkg-config --cflags glib-2.0) -o $@ $(filter %.c,$^) $$(pkg-config --libs glib-2.0)

$(B)/host/truth/compare: $(patsubst %,$(B)/host/selftests/truth/%.o,compare stf $(TRUTH)) \
		$(STFCHECK:%=$(B)/host/%) $(B)/host/libflowtap.a
	@mkdir -p $(@D)
	$(call say,LD,$@)gcc -o $@ $^ $(LIBS)

$(B)/asan/truth/mutations: \
		$(patsubst %,$(B)/asan/selftests/truth/%.o,mutations modes world $(TRUTH)) \
		$(B)/asan/libflowtap.a
	@mkdir -p $(@D)
	$(call say,LD,$@)gcc $(SANITIZE) -o $@ $^ $(LIBS)

EXTRA += $(B)/host/truth/plugin.so $(B)/host/truth/compare $(B)/asan/truth/mutations
-include $(patsubst %,$(B)/host/selftests/truth/%.d,compare stf $(TRUTH))
-include $(patsubst %,$(B)/asan/selftests/truth/%.d,mutations modes world $(TRUTH))
