# SPDX-License-Identifier: GPL-2.0-only
#
# The oracle: the plugin (for the lab's QEMU) that logs what was executed, the comparator, and
# the comparator's own test. The STF checker's objects are named in stfcheck.mk.

ORACLE := reader opcode hardware history machine machine_run machine_entries flow samples \
	prove_blocks prove_blocks_flow check

$(B)/host/oracle/plugin.so: $(addprefix selftests/oracle/,plugin.c plugin_log.c plugin.h log.h \
		qemu_plugin.h) $(B)/host/with selftests/oracle/oracle.mk
	@mkdir -p $(@D)
	$(call say,CC,$@)gcc $(FLAGS) -O2 -g -fPIC -shared -fvisibility=hidden \
		$$(pkg-config --cflags glib-2.0) -o $@ $(filter %.c,$^) $$(pkg-config --libs glib-2.0)

$(B)/host/oracle/compare: $(patsubst %,$(B)/host/selftests/oracle/%.o,compare stf $(ORACLE)) \
		$(B)/host/libflowtap.a
	@mkdir -p $(@D)
	$(call say,LD,$@)gcc -o $@ $^ $(LIBS)

$(B)/asan/oracle/mutations: \
		$(patsubst %,$(B)/asan/selftests/oracle/%.o,mutations modes synthetic_log $(ORACLE)) \
		$(B)/asan/libflowtap.a
	@mkdir -p $(@D)
	$(call say,LD,$@)gcc $(SANITIZE) -o $@ $^ $(LIBS)

EXTRA += $(B)/host/oracle/plugin.so $(B)/host/oracle/compare $(B)/asan/oracle/mutations
-include $(patsubst %,$(B)/host/selftests/oracle/%.d,compare stf $(ORACLE))
-include $(patsubst %,$(B)/asan/selftests/oracle/%.d,mutations modes synthetic_log $(ORACLE))
