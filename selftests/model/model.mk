# SPDX-License-Identifier: GPL-2.0-only
#
# The model of ETE and TRBE as a plugin for the lab's QEMU.

MODEL_SRC := $(sort $(wildcard selftests/model/plugin*.c selftests/model/trace_unit*.c \
	selftests/model/trace_buffer*.c) $(addprefix selftests/model/,pe.c translate.c adversary.c \
	log.c) $(wildcard selftests/ete/encoder*.c) selftests/ete/oracle.c)
MODEL_OBJ := $(MODEL_SRC:selftests/%.c=$(B)/host/pic/%.o)

$(B)/host/pic/%.o: selftests/%.c $(B)/host/with selftests/model/model.mk
	@mkdir -p $(@D)
	$(call say,CC,$@)gcc $(FLAGS) -Iselftests $$(pkg-config --cflags glib-2.0) -O2 -g \
		-march=x86-64-v2 -fPIC -fvisibility=hidden -MMD -MP -c -o $@ $<

$(B)/host/model/flowtap-model.so: $(MODEL_OBJ)
	@mkdir -p $(@D)
	$(call say,LD,$@)gcc -shared -o $@ $^ $$(pkg-config --libs glib-2.0)

# What holds the execution log against QEMU's own.
$(B)/host/model/exec_check: $(patsubst %,$(B)/host/selftests/model/%.o,exec_check log_read)
	@mkdir -p $(@D)
	$(call say,LD,$@)gcc -o $@ $^

$(B)/bare/exec: selftests/model/exec/guest.S $(B)/arm64/with selftests/model/model.mk
	@mkdir -p $(@D)
	$(call say,LD,$@)aarch64-linux-gnu-gcc -nostdlib -static -no-pie -march=armv8.5-a -Wl,--build-id=none \
		-Wl,-z,noexecstack -Wl,--no-warn-rwx-segments -Wl,-n -Wl,-Ttext=0x40200000 -o $@ $<

MODEL_CODE := $(patsubst %,$(B)/asan/selftests/model/%.o,test_code plugin_code)
$(MODEL_CODE): $(B)/asan/selftests/%.o: selftests/%.c $(B)/asan/with
	@mkdir -p $(@D)
	$(call say,CC,$@)gcc $(FLAGS) $(TESTFLAGS) $$(pkg-config --cflags glib-2.0) -O1 -g $(SANITIZE) \
		-MMD -MP -c -o $@ $<
$(B)/asan/model/test_code: $(MODEL_CODE) $(B)/asan/libflowtap.a
	@mkdir -p $(@D)
	$(call say,LD,$@)gcc $(SANITIZE) -o $@ $^ $$(pkg-config --libs glib-2.0) $(LIBS)

MORE_TESTS += $(B)/asan/model/test_code
-include $(MODEL_CODE:%.o=%.d)

EXTRA += $(B)/host/model/flowtap-model.so $(B)/host/model/exec_check $(B)/bare/exec
-include $(B)/host/selftests/model/exec_check.d
-include $(MODEL_OBJ:%.o=%.d)

.PHONY: model-in-lab
model-in-lab: $(B)/host/model/flowtap-model.so
	@printf '%s\n' \
	'The model: $(B)/host/model/flowtap-model.so, for qemu-system-aarch64 11.1. How to use it:' \
	'  selftests/model/devicetree -o model.dtb -- -M virt,gic-version=3 -cpu max -smp 2 -m 1G' \
	'  qemu-system-aarch64 -M virt,gic-version=3 -cpu max -smp 2 -m 1G -dtb model.dtb ... \' \
	'    -plugin $(B)/host/model/flowtap-model.so,out=PREFIX  (its option help lists the others)'
