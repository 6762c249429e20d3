# SPDX-License-Identifier: GPL-2.0-only
#
# make help lists what there is. `make` builds for this machine; `make run` and `make check` do
# all their work inside the lab, a Debian root that tools/lab makes in a cache directory.

VERSION := 0.1
B := build
V ?= 0
T ?=
SOAK ?=
Q := $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@printf '  %-7s %s\n' '$(1)' '$(2)';)

prefix ?= /usr/local
DESTDIR ?=
KDIR ?= /lib/modules/$(shell uname -r)/build

LAB := tools/lab/lab
KSELFTEST ?= /opt/flowtap/kselftest

WARN := -Wall -Wextra -Werror
CFLAGS ?= -O2 -g
FLAGS := -std=gnu17 $(WARN) -Ilibuapi/include -Ilibuapi -D_GNU_SOURCE \
	 -DFLOWTAP_VERSION='"$(VERSION)"'
LIBS := -lelf -lzstd -luring
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer

# The harness's macros compare and take what they are given.
TESTFLAGS := -Iselftests -isystem $(KSELFTEST) -Wno-unused-parameter -Wno-sign-compare

LIB_SRC := $(wildcard libuapi/*.c)
TOOL_SRC := $(wildcard tools/*.c)
UNIT := $(patsubst selftests/unit/%.c,%,$(wildcard selftests/unit/*.c))
FUZZ := $(filter-out driver,$(patsubst selftests/fuzz/%.c,%,$(wildcard selftests/fuzz/*.c)))
BENCH := $(patsubst selftests/bench/%.c,%,$(wildcard selftests/bench/*.c))
KERNEL := $(patsubst selftests/kernel/%.c,%,$(wildcard selftests/kernel/*.c))

.PHONY: all help run check check-unit check-riscv check-arm check-debug soak debug-kernels bench fuzz lab shell install uninstall clean kmod native
.DELETE_ON_ERROR:

all: native kmod

help:
	@printf '%s\n' \
	'make            build the module, library and tools for this machine' \
	'make install    install them (as root; prefix=/usr/local, DESTDIR=)' \
	'make run        see it work: boots an emulated RISC-V machine with CTR and traces a program' \
	'make check      every test; ends with "N passed, N failed, N skipped"; the same each time' \
	"make check T='unit/stf vm/*'  those whose names match, built for as far as they need" \
	'make check-unit check-riscv check-arm  those without guests, with such, with such of Arm' \
	'make soak       what is random, parallel or long, for SOAK minutes (60), with random seeds;' \
	'                builds the debug kernels first where they are not there yet' \
	'make check-debug  the kernel tests in guests with KASAN and with lockdep, each with 10' \
	'                minutes of stress; builds the two kernels where they are not there yet' \
	'make bench      figures, side by side with what others use' \
	'make fuzz       each fuzzer with libFuzzer for FUZZ_SECONDS (60) each' \
	'make lab        make the lab (a Debian root in a cache directory) that run, check, bench use' \
	'make shell      a shell inside the lab' \
	'make clean      remove build/ (tools/lab/lab clean removes the lab)' \
	'V=1 shows commands; MIRROR=URL chooses the Debian mirror of the lab, LAB_SUITES=NAME a further' \
	'name of the release there'

# --- One userland build: name, compiler prefix, flags, another compiler. Objects go to build/NAME/. ---
define userland
$(B)/$(1)/%.o: %.c
	@mkdir -p $$(@D)
	$$(call say,CC,$$@)$(or $(4),$(2)gcc) $(FLAGS) $(3) -MMD -MP -c -o $$@ $$<
$(B)/$(1)/selftests/%.o: selftests/%.c
	@mkdir -p $$(@D)
	$$(call say,CC,$$@)$(or $(4),$(2)gcc) $(FLAGS) $(TESTFLAGS) $(3) -MMD -MP -c -o $$@ $$<
$(B)/$(1)/libflowtap.a: $(LIB_SRC:%.c=$(B)/$(1)/%.o)
	$$(call say,AR,$$@)rm -f $$@ && $(2)ar rcs $$@ $$^
$(B)/$(1)/flowtap: $(TOOL_SRC:%.c=$(B)/$(1)/%.o) $(B)/$(1)/libflowtap.a
	$$(call say,LD,$$@)$(or $(4),$(2)gcc) $(3) -o $$@ $$^ $(LIBS)
-include $(LIB_SRC:%.c=$(B)/$(1)/%.d) $(TOOL_SRC:%.c=$(B)/$(1)/%.d)
endef

# One program of one source file: build, directory, name, compiler prefix, flags, further objects.
define program
$(B)/$(1)/$(2)/$(3): $(B)/$(1)/selftests/$(2)/$(3).o $(6) $(B)/$(1)/libflowtap.a
	@mkdir -p $$(@D)
	$$(call say,LD,$$@)$(4)gcc $(5) -o $$@ $$^ $$(LIBS) -lpthread
-include $(B)/$(1)/selftests/$(2)/$(3).d
endef

$(eval $(call userland,native,$(CROSS_COMPILE),$(CFLAGS)))
$(eval $(call userland,host,,-O2 -g -march=x86-64-v2))
$(eval $(call userland,asan,,-O1 -g $(SANITIZE)))
$(eval $(call userland,riscv64,riscv64-linux-gnu-,-O2 -g))
$(eval $(call userland,arm64,aarch64-linux-gnu-,-O2 -g))

$(foreach t,$(UNIT),$(eval $(call program,asan,unit,$(t),,$(SANITIZE))))
$(foreach t,$(FUZZ),$(eval $(call program,asan,fuzz,$(t),,$(SANITIZE),$(B)/asan/selftests/fuzz/driver.o)))
$(foreach t,$(BENCH),$(eval $(call program,host,bench,$(t),,)))
$(foreach t,$(KERNEL),$(eval $(call program,riscv64,kernel,$(t),riscv64-linux-gnu-,)))
$(foreach t,$(KERNEL),$(eval $(call program,arm64,kernel,$(t),aarch64-linux-gnu-,)))

native: $(B)/native/flowtap

# --- The module, for the running kernel or KDIR. ---
kmod:
	@test -e $(KDIR)/Makefile || { echo "no kernel headers in $(KDIR): install linux-headers-$$(uname -r)" >&2; exit 1; }
	$(Q)$(MAKE) -C $(KDIR) M=$(CURDIR)/kmod modules

# --- Everything below runs inside the lab. The folders add to EXTRA what their tests need, and to
# --- MORE_TESTS programs of their own that are tests.
EXTRA :=
MORE_TESTS :=
-include selftests/*/*.mk

lab:
	$(Q)$(LAB) up

shell: lab
	$(Q)$(LAB) shell

run: lab
check: lab
bench: lab
fuzz: lab
debug-kernels: lab
	$(Q)$(LAB) debug-kernels
check-debug: debug-kernels
soak: debug-kernels
check-unit: lab
check-riscv: lab
check-arm: lab
IN_LAB = $(Q)$(LAB) run -- $(MAKE) --no-print-directory -j2 V=$(V) FUZZ_SECONDS=$(FUZZ_SECONDS)
run bench fuzz check-debug soak:
	$(IN_LAB) SOAK=$(SOAK) $@-in-lab
# T is the names of tests: globs, and !globs that leave out.
T_check-unit := * !vm/*
T_check-riscv := vm/* !vm/*arm64*
T_check-arm := vm/*arm64*
check check-unit check-riscv check-arm:
	$(IN_LAB) T='$(or $(T),$(T_$@))' check-in-lab

# Each kernel the lab has: build/kmod/ARCH-VERSION/flowtap.ko
.PHONY: modules
modules:
	$(Q)selftests/kernel/modules $(B)/kmod

# Not of make check: its kernels are to be built first, and are slow.
DEBUG_TESTS := selftests/vm/debug.test
HOST_TESTS := $(UNIT:%=$(B)/asan/unit/%) $(FUZZ:%=$(B)/asan/fuzz/%) $(MORE_TESTS)
GUEST := $(B)/riscv64/flowtap $(KERNEL:%=$(B)/riscv64/kernel/%) $(KERNEL:%=$(B)/arm64/kernel/%)
TESTS := $(HOST_TESTS) $(filter-out $(DEBUG_TESTS),$(sort $(wildcard selftests/*/*.test)))

# What T names is built: programs themselves, for scripts what their folder's scripts use.
matching = $(if $(strip $(T)),$(shell B=$(B) selftests/run --match '$(T)' $(TESTS)),$(TESTS))
NEEDS_SCRIPT := $(B)/asan/flowtap $(B)/host/flowtap
NEEDS_cli := $(NEEDS_SCRIPT) $(filter $(B)/asan/% $(B)/host/%,$(EXTRA))
NEEDS_truth := $(filter %/truth/mutations,$(EXTRA))
NEEDS_kernel :=
NEEDS_lab :=
NEEDS_vm := $(NEEDS_SCRIPT) $(EXTRA) $(GUEST) modules
needs = $(filter $(B)/%,$(1)) $(foreach d,$(sort $(patsubst selftests/%/,%,$(dir $(filter selftests/%,$(1))))),\
	$(if $(filter undefined,$(origin NEEDS_$(d))),$(NEEDS_vm),$(NEEDS_$(d))))

.PHONY: run-in-lab check-in-lab check-debug-in-lab soak-in-lab bench-in-lab everything
everything: $(HOST_TESTS) $(B)/asan/flowtap $(B)/host/flowtap $(GUEST) $(EXTRA) modules

run-in-lab: $(B)/host/flowtap $(B)/riscv64/flowtap
	$(Q)selftests/kernel/modules $(B)/kmod 'riscv64-6.12*'
	$(Q)selftests/vm/demo

.SECONDEXPANSION:
check-in-lab: $$(call needs,$$(matching))
	$(Q)set -- $(matching); [ $$# -gt 0 ] || { echo "no test matches T='$(T)'; names are:" >&2; \
		B=$(B) selftests/run --names $(TESTS) >&2; exit 2; }; \
	B=$(B) selftests/run "$$@"

check-debug-in-lab: $(KERNEL:%=$(B)/riscv64/kernel/%)
	$(Q)selftests/kernel/modules $(B)/kmod 'riscv64-[a-z]*'
	$(Q)B=$(B) LIMIT=36000 selftests/run $(DEBUG_TESTS)

soak-in-lab: everything $(KERNEL:%=$(B)/riscv64/kernel/%) $(FUZZ:%=$(B)/fuzz/%)
	$(Q)selftests/kernel/modules $(B)/kmod 'riscv64-[a-z]*'
	$(Q)B=$(B) selftests/soak $(SOAK)

bench-in-lab: $(BENCH:%=$(B)/host/bench/%)
	$(Q)for b in $(BENCH:%=$(B)/host/bench/%); do echo "== $${b##*/}"; $$b || exit 1; done

# --- Installation. ---
MAN := $(wildcard tools/man/*.[1-8])

install: native kmod
	install -D -m 755 $(B)/native/flowtap $(DESTDIR)$(prefix)/bin/flowtap
	install -D -m 644 libuapi/include/linux/flowtap.h $(DESTDIR)$(prefix)/include/linux/flowtap.h
	for h in libuapi/include/flowtap/*.h; do \
		install -D -m 644 $$h $(DESTDIR)$(prefix)/include/flowtap/$${h##*/} || exit 1; done
	install -D -m 644 $(B)/native/libflowtap.a $(DESTDIR)$(prefix)/lib/libflowtap.a
	for m in $(MAN); do s=$${m##*.}; \
		install -D -m 644 $$m $(DESTDIR)$(prefix)/share/man/man$$s/$${m##*/} || exit 1; done
	install -D -m 644 tools/completion/flowtap.bash \
		$(DESTDIR)$(prefix)/share/bash-completion/completions/flowtap
	install -D -m 644 tools/udev/60-flowtap.rules $(DESTDIR)/lib/udev/rules.d/60-flowtap.rules
	$(MAKE) -C $(KDIR) M=$(CURDIR)/kmod INSTALL_MOD_PATH=$(DESTDIR) modules_install
	@# The rule gives the device to a group that Debian does not have by itself.
	test -n "$(DESTDIR)" || { depmod -a; groupadd -f -r perf; }

uninstall:
	rm -f $(DESTDIR)$(prefix)/bin/flowtap $(DESTDIR)$(prefix)/include/linux/flowtap.h \
		$(DESTDIR)$(prefix)/lib/libflowtap.a $(DESTDIR)/lib/udev/rules.d/60-flowtap.rules \
		$(DESTDIR)$(prefix)/share/bash-completion/completions/flowtap \
		$(foreach m,$(notdir $(MAN)),$(DESTDIR)$(prefix)/share/man/man$(subst .,,$(suffix $(m)))/$(m))
	rm -rf $(DESTDIR)$(prefix)/include/flowtap

clean:
	rm -rf $(B)
	rm -f kmod/*.o kmod/*.ko kmod/*.mod kmod/*.mod.c kmod/.*.cmd kmod/modules.order kmod/Module.symvers
