# SPDX-License-Identifier: GPL-2.0-only
# Parts of flowtapd, each tested on the host: a program for each source file here.
DAEMON_UNIT := $(patsubst selftests/daemon/%.c,%,$(wildcard selftests/daemon/*.c))

$(foreach t,$(DAEMON_UNIT),$(eval $(call program,asan,daemon,$(t),,$(SANITIZE),$(B)/asan/libflowtapd.a $(B)/asan/libtools.a)))

EXTRA += $(B)/riscv64/flowtapd $(B)/asan/flowtapd
MORE_TESTS += $(DAEMON_UNIT:%=$(B)/asan/daemon/%)
EXTRA += $(B)/host/flowtapd
