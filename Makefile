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

prefix ?= $(or $(PREFIX),/usr/local)
sysconfdir ?= /etc
unitdir ?= /usr/lib/systemd/system
sysusersdir ?= /usr/lib/sysusers.d
udevdir ?= /usr/lib/udev/rules.d
DESTDIR ?=
KDIR ?= /lib/modules/$(shell uname -r)/build

LAB := tools/lab/lab
KSELFTEST ?= /opt/flowtap/kselftest

# A program is the same whatever directory it is built in: a guest's time counts its instructions.
COMMON := -Wall -Wextra -Werror -ffile-prefix-map=$(CURDIR)=.
CFLAGS ?= -O2 -g
# Which of the builds below is made for this machine, and installed.
FROM ?= native
FLAGS := -std=gnu17 $(COMMON) -Ilibuapi/include -Ilibuapi -Itools -D_GNU_SOURCE \
	 -DFLOWTAP_VERSION='"$(VERSION)"' -isystem $(B)/bpf
LIBS := -lelf -lzstd -luring -lz
DAEMON_LIBS := -lcap -lbpf
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer

# The harness's macros compare and take what they are given.
TESTFLAGS := -Iselftests -Idaemon -isystem $(KSELFTEST) -Wno-unused-parameter -Wno-sign-compare

LIB_SRC := $(sort $(shell find libuapi -name '*.c'))
TOOL_SRC := $(sort $(shell find tools -name '*.c'))
# Programs for the kernel are built for it, and become headers (below).
DAEMON_SRC := $(filter-out %.bpf.c,$(wildcard daemon/*.c))
UNIT := $(patsubst selftests/unit/%.c,%,$(sort $(shell find selftests/unit -name '*.c')))
FUZZ := $(filter-out driver,$(patsubst selftests/fuzz/%.c,%,$(wildcard selftests/fuzz/*.c)))
BENCH := $(patsubst selftests/bench/%.c,%,$(wildcard selftests/bench/*.c))
KERNEL := $(patsubst selftests/kernel/%.c,%,$(filter-out %.bpf.c,$(wildcard selftests/kernel/*.c)))

.PHONY: all help FORCE run check check-unit check-riscv check-arm check-layers model check-debug debug-kernels soak bench fuzz \
	lab shell clean kmod native kmod-if-headers install install-tools install-user install-dkms uninstall deb deb-here
.DELETE_ON_ERROR:

all: native kmod-if-headers

help:
	@printf '%s\n' \
	'make            build the library, tools and flowtapd for this machine, and the module' \
	'                where the headers of its kernel are (or of KDIR=)' \
	'make install    install them (as root; PREFIX=/usr/local, DESTDIR=); make uninstall' \
	'make install-tools  the command, library and man pages only: to decode, nothing of a service' \
	'make install-dkms  instead of the module its source, for dkms to build' \
	'make deb        Debian packages in build/deb/ARCH, of this machine; DEB_ARCH=riscv64|arm64: of' \
	'                another one, made in the lab' \
	'make run        see it work: boots an emulated RISC-V machine with CTR and traces a program;' \
	'                ARCH=arm64: an Arm one with ETE and TRBE, and checks every instruction' \
	"make check      every test but make soak's; ends with 'N passed, N failed, N skipped'" \
	"make check T='unit/stf vm/*'  those whose names match, built for as far as they need" \
	'make check-unit check-riscv check-arm  those without guests, with such, with such of Arm' \
	'make check-layers  that each folder uses only those it may (libuapi/layers, tools/layers, kmod/layers)' \
	'make soak       what is random, parallel or long, for SOAK minutes (60), with random seeds;' \
	'                builds the debug kernels first where they are not there yet' \
	'make check-debug  the kernel tests in guests with KASAN and with lockdep, each with 10' \
	'                minutes of stress; builds the two kernels where they are not there yet' \
	'make model      the model of Arm ETE and TRBE: a plugin for QEMU, to boot other kernels with' \
	'make bench      figures, side by side with what others use' \
	'make fuzz       each fuzzer with libFuzzer for FUZZ_SECONDS (60) each' \
	'make lab        make the lab (a Debian root in a cache directory) that run, check, bench use' \
	'make shell      a shell inside the lab' \
	'make clean      remove build/ (tools/lab/lab clean removes the lab)' \
	'V=1 shows commands; MIRROR=URL chooses the Debian mirror of the lab, LAB_SUITES=NAME a further' \
	'name of the release there'

# What it is built with: written when it changes, and what is built with it is built again. What that
# needs is looked for first. A rule that compiles by itself, for the same machine, depends on it too,
# and on the file where its own flags stand.
FORCE:
define built_with
$(1): FORCE
	@mkdir -p $$(@D)
	@printf '%s\n' '$(subst ','\'',$(2))' | cmp -s - $$@ || { tools/packaging/required $(3) && \
		printf '%s\n' '$(subst ','\'',$(2))' >$$@; }
endef

# --- Programs for the kernel: X.bpf.c becomes build/bpf/X.skel.h, with the program in it. ---
CLANG ?= clang
BPFTOOL ?= $(or $(shell command -v bpftool),/usr/sbin/bpftool)
BPF_FLAGS = -std=gnu17 $(COMMON) -Wno-unused-parameter -g -O2 -target bpfel -mcpu=v3 -Ilibuapi/include -I. \
	     -idirafter /usr/include/$(shell gcc -print-multiarch 2>/dev/null)

$(eval $(call built_with,$(B)/bpf/with,$(CLANG) $(BPF_FLAGS),flowtapd $(CROSS_COMPILE)gcc $(CLANG) $(BPFTOOL)))
.PRECIOUS: $(B)/bpf/%.bpf.o
$(B)/bpf/%.bpf.o: %.bpf.c $(B)/bpf/with
	@mkdir -p $(@D)
	$(call say,BPF,$@)$(CLANG) $(BPF_FLAGS) -MMD -MP -c -o $@ $<
$(B)/bpf/%.skel.h: $(B)/bpf/%.bpf.o
	$(call say,SKEL,$@)$(BPFTOOL) gen skeleton $< name $(notdir $*) >$@
-include $(patsubst %.c,$(B)/bpf/%.d,$(wildcard daemon/*.bpf.c selftests/kernel/*.bpf.c))

# --- The functions and tables that the library's headers declare; comments in them do not count. ---
$(B)/libflowtap.names: $(wildcard libuapi/include/flowtap/*.h)
	@mkdir -p $(@D)
	$(call say,NAMES,$@)cat $^ | gcc -fpreprocessed -E -P -x c - | \
		grep -oE '\<flowtap_\w+[[(]' | tr -d '[(' | sort -u >$@

# --- One userland build: name, compiler prefix, flags, another compiler. Objects go to build/NAME/. ---
define userland
$(call built_with,$(B)/$(1)/with,$(or $(4),$(2)gcc) $(FLAGS) $(TESTFLAGS) $(3),flowtap $(or $(4),$(2)gcc))
$(B)/$(1)/%.o: %.c $(B)/$(1)/with
	@mkdir -p $$(@D)
	$$(call say,CC,$$@)$(or $(4),$(2)gcc) $(FLAGS) $(3) -MMD -MP -c -o $$@ $$<
$(B)/$(1)/selftests/%.o: selftests/%.c $(B)/$(1)/with
	@mkdir -p $$(@D)
	$$(call say,CC,$$@)$(or $(4),$(2)gcc) $(FLAGS) $(TESTFLAGS) $(3) -MMD -MP -c -o $$@ $$<
$(B)/$(1)/libuapi.a: $(LIB_SRC:%.c=$(B)/$(1)/%.o)
	$$(call say,AR,$$@)rm -f $$@ && $(2)ar qcs $$@ $$^
# The same with no more names than its headers have.
$(B)/$(1)/libflowtap.a: $(LIB_SRC:%.c=$(B)/$(1)/%.o) $(B)/libflowtap.names
	$$(call say,AR,$$@)rm -f $$@ && $(2)ld -r -o $$(@:.a=.o) $$(filter %.o,$$^) && \
	$(2)objcopy --keep-global-symbols=$(B)/libflowtap.names $$(@:.a=.o) && \
	$(2)ar qcs $$@ $$(@:.a=.o)
$(B)/$(1)/flowtap: $(TOOL_SRC:%.c=$(B)/$(1)/%.o) $(B)/$(1)/libflowtap.a
	$$(call say,LD,$$@)$(or $(4),$(2)gcc) $(3) -o $$@ $$^ $(LIBS)
$(B)/$(1)/libtools.a: $(patsubst %.c,$(B)/$(1)/%.o,$(filter-out tools/main.c,$(TOOL_SRC)))
	$$(call say,AR,$$@)rm -f $$@ && $(2)ar qcs $$@ $$^
$(DAEMON_SRC:%.c=$(B)/$(1)/%.o): $(B)/bpf/with
$(B)/$(1)/daemon/programs.o: $(B)/bpf/daemon/choice_kernel.skel.h
$(B)/$(1)/daemon/probes.o: $(B)/bpf/daemon/probes_kernel.skel.h
$(B)/$(1)/libflowtapd.a: $(patsubst %.c,$(B)/$(1)/%.o,$(filter-out daemon/main.c,$(DAEMON_SRC)))
	$$(call say,AR,$$@)rm -f $$@ && $(2)ar qcs $$@ $$^
$(B)/$(1)/flowtapd: $(B)/$(1)/daemon/main.o $(B)/$(1)/libflowtapd.a $(B)/$(1)/libtools.a $(B)/$(1)/libflowtap.a
	$$(call say,LD,$$@)$(or $(4),$(2)gcc) $(3) -o $$@ $$^ $(LIBS) $(DAEMON_LIBS)
-include $(LIB_SRC:%.c=$(B)/$(1)/%.d) $(TOOL_SRC:%.c=$(B)/$(1)/%.d) $(DAEMON_SRC:%.c=$(B)/$(1)/%.d)
endef

# One program of one source file: build, directory, name, compiler prefix, flags, further objects.
define program
$(B)/$(1)/$(2)/$(3): $(B)/$(1)/selftests/$(2)/$(3).o $(6) \
		$(B)/$(1)/$(if $(filter unit/% fuzz/% bench/inputs kernel/text daemon/collect,$(2)/$(3)),libuapi,libflowtap).a
	@mkdir -p $$(@D)
	$$(call say,LD,$$@)$(4)gcc $(5) -o $$@ $$^ $$(LIBS) \
		$(if $(filter %/libflowtapd.a,$(6)),$$(DAEMON_LIBS)) \
		$(if $(filter kernel/choice,$(2)/$(3)),-lbpf) -lpthread
-include $(B)/$(1)/selftests/$(2)/$(3).d
endef

$(eval $(call userland,native,$(CROSS_COMPILE),$(CFLAGS)))
$(eval $(call userland,host,,-O2 -g -march=x86-64-v2))
$(eval $(call userland,asan,,-O1 -g $(SANITIZE)))
$(eval $(call userland,riscv64,riscv64-linux-gnu-,-O2 -g))
$(eval $(call userland,arm64,aarch64-linux-gnu-,-O2 -g))

$(foreach t,$(UNIT),$(eval $(call program,asan,unit,$(t),,$(SANITIZE))))
# With a clock of its own.
$(B)/asan/unit/tools/progress: $(B)/asan/tools/common/progress.o
$(B)/asan/unit/tools/number: $(B)/asan/tools/common/number.o $(B)/asan/tools/common/event.o
$(B)/asan/unit/tools/checks_kernel: $(patsubst %,$(B)/asan/tools/%.o,doctor/checks_kernel doctor/machine \
	common/user_privileges common/grow)
$(B)/asan/unit/tools/grow: $(B)/asan/tools/common/grow.o
$(B)/asan/unit/tools/input_file: $(patsubst %,$(B)/asan/tools/common/%.o,message number progress)
$(B)/asan/unit/tools/output_file: $(patsubst %,$(B)/asan/tools/common/%.o,output_file message number)
$(B)/asan/unit/tools/parse_options: $(patsubst %,$(B)/asan/tools/common/%.o,parse_options message number)
$(foreach t,$(FUZZ),$(eval $(call program,asan,fuzz,$(t),,$(SANITIZE),$(B)/asan/selftests/fuzz/driver.o)))
$(foreach t,$(BENCH),$(eval $(call program,host,bench,$(t),,)))
$(foreach t,$(KERNEL),$(eval $(call program,riscv64,kernel,$(t),riscv64-linux-gnu-,)))
$(foreach t,$(KERNEL),$(eval $(call program,arm64,kernel,$(t),aarch64-linux-gnu-,)))

$(B)/riscv64/selftests/kernel/choice.o $(B)/arm64/selftests/kernel/choice.o: $(B)/bpf/selftests/kernel/choice.skel.h

native: $(B)/$(FROM)/flowtap $(B)/$(FROM)/flowtapd

# --- The module, for the running kernel or KDIR. ---
# Those of a kernel that the module is for (kmod/compat.h).
KERNEL_VERSION = $(MAKE) -s --no-print-directory -C $(KDIR) kernelversion 2>/dev/null
HEADERS_THERE = { test -e $(KDIR)/Makefile && $(KERNEL_VERSION) | grep -qE '$(KERNELS)'; }
KERNELS = ^(6\.(1[2-9]|[2-9][0-9])|7\.[0-2])([^0-9]|$$)
NO_HEADERS = $$(v=$$($(KERNEL_VERSION)) && \
	echo "$(KDIR) is of Linux $$v, the module for 6.12 to 7.2 (make KERNELS=. tries it)" || \
	echo "no kernel headers in $(KDIR): install linux-headers-$$(uname -r) (Fedora: kernel-devel)")
kmod:
	@$(HEADERS_THERE) || { echo "$(NO_HEADERS)" >&2; exit 1; }
	$(Q)$(MAKE) -C $(KDIR) M=$(CURDIR)/kmod modules

# Who only decodes has none: all but the module is built and installed.
kmod-if-headers:
	@if $(HEADERS_THERE); then $(MAKE) --no-print-directory kmod; else \
		printf '%s\n' "note: the module is left out: $(NO_HEADERS)" \
			'      and make again for it; decoding does without' >&2; fi

# --- Everything below runs inside the lab. The folders add to EXTRA what their tests need, and to
# --- MORE_TESTS programs of their own that are tests.
EXTRA :=
MORE_TESTS :=
# The machine of run: not ARCH, which would go on to where modules are built.
RUN_ARCH ?= riscv64
-include selftests/*/*.mk

lab:
	$(Q)$(LAB) up

shell: lab
	$(Q)$(LAB) shell

run: lab
check: lab
model: lab
bench: lab
fuzz: lab
soak: lab
debug-kernels: lab
	$(Q)$(LAB) debug-kernels
check-debug: debug-kernels
soak: debug-kernels
check-unit: lab
check-riscv: lab
check-arm: lab
check-layers: lab
IN_LAB = $(Q)$(LAB) run -- $(MAKE) --no-print-directory -j2 V=$(V) FUZZ_SECONDS=$(FUZZ_SECONDS)
run model bench fuzz check-debug soak:
	$(IN_LAB) SOAK=$(SOAK) $(if $(filter run,$@),RUN_ARCH=$(or $(ARCH),riscv64)) $@-in-lab
# T is the names of tests: globs, and !globs that leave out.
T_arm := vm/*arm64* vm/demo vm/ete*
T_check-unit := * !vm/* !model/*
T_check-riscv := vm/* $(T_arm:%=!%)
T_check-arm := $(T_arm) model/*
T_check-layers := lab/layers kernel/layers
check check-unit check-riscv check-arm check-layers:
	$(IN_LAB) T='$(or $(T),$(T_$@))' check-in-lab

# Each kernel the lab has, or of one architecture: build/kmod/ARCH-VERSION/flowtap.ko
.PHONY: modules modules-riscv64 modules-arm64
modules:
	$(Q)selftests/kernel/modules $(B)/kmod
modules-riscv64 modules-arm64: modules-%:
	$(Q)selftests/kernel/modules $(B)/kmod '$*-[0-9]*'

# Not of make check: its kernels are to be built first, and are slow; it takes hours.
DEBUG_TESTS := selftests/vm/debug.test
SOAK_TESTS := $(patsubst %,selftests/vm/%.test,soak daemon_arm64 daemon_adverse)
HOST_TESTS := $(UNIT:%=$(B)/asan/unit/%) $(FUZZ:%=$(B)/asan/fuzz/%) $(MORE_TESTS)
GUEST := $(B)/riscv64/flowtap $(B)/arm64/flowtap $(KERNEL:%=$(B)/riscv64/kernel/%) $(KERNEL:%=$(B)/arm64/kernel/%)
TESTS := $(HOST_TESTS) $(filter-out $(DEBUG_TESTS) $(SOAK_TESTS),$(sort $(wildcard selftests/*/*.test)))

# What T names is built: programs themselves; for scripts what they say that they need, "# Needs: FILE
# below build/, DIR/ for all that is made there, modules or modules-ARCH", else what their folder's use.
matching = $(if $(strip $(T)),$(shell B=$(B) selftests/run --match '$(T)' $(TESTS)),$(TESTS))
NEEDS_SCRIPT := $(B)/asan/flowtap $(B)/host/flowtap
NEEDS_cli := $(NEEDS_SCRIPT) $(B)/asan/libuapi.a $(filter $(B)/asan/% $(B)/host/%,$(EXTRA))
NEEDS_oracle := $(filter %/oracle/mutations,$(EXTRA))
NEEDS_kernel :=
NEEDS_lab :=
NEEDS_all := $(NEEDS_SCRIPT) $(EXTRA) $(GUEST) modules
said = $(if $(strip $(1)),$(shell sed -n 's/^. Needs: //p' $(1)))
silent = $(if $(strip $(1)),$(shell grep -L '^. Needs: ' $(1)))
built = $(foreach n,$(1),$(if $(filter modules%,$(n)),$(n),$(if $(filter %/,$(n)),\
	$(filter $(B)/$(n)%,$(GUEST) $(EXTRA)),$(B)/$(n))))
needs = $(filter $(B)/%,$(1)) $(call built,$(call said,$(filter selftests/%,$(1)))) \
	$(foreach d,$(sort $(patsubst selftests/%/,%,$(dir $(call silent,$(filter selftests/%,$(1)))))),\
	$(if $(filter undefined,$(origin NEEDS_$(d))),$(NEEDS_all),$(NEEDS_$(d))))
# All of them are those of each architecture, too.
without_parts = $(if $(filter modules everything,$(1)),$(filter-out modules-%,$(1)),$(1))

.PHONY: run-in-lab check-in-lab check-debug-in-lab soak-in-lab bench-in-lab everything
everything: $(HOST_TESTS) $(B)/asan/flowtap $(B)/host/flowtap $(GUEST) $(EXTRA) modules

run-in-lab: $(B)/host/flowtap $(B)/$(RUN_ARCH)/flowtap
	$(Q)selftests/kernel/modules $(B)/kmod '$(RUN_ARCH)-6.12*'
	$(Q)B=$(B) selftests/vm/demo $(RUN_ARCH)

.SECONDEXPANSION:
check-in-lab: $$(call without_parts,$$(if $$(strip $$(T)),,everything) $$(call needs,$$(matching)))
	$(Q)set -- $(matching); [ $$# -gt 0 ] || { echo "no test matches T='$(T)'; names are:" >&2; \
		B=$(B) selftests/run --names $(TESTS) >&2; exit 2; }; \
	B=$(B) selftests/run "$$@"

check-debug-in-lab: $$(call needs,$$(DEBUG_TESTS))
	$(Q)selftests/kernel/modules $(B)/kmod '*64-[a-z]*'
	$(Q)B=$(B) LIMIT=36000 selftests/run $(DEBUG_TESTS)

soak-in-lab: everything $(FUZZ:%=$(B)/fuzz/%)
	$(Q)selftests/kernel/modules $(B)/kmod '*64-[a-z]*'
	$(Q)B=$(B) selftests/soak $(SOAK)

bench-in-lab: $(BENCH:%=$(B)/host/bench/%)
	$(Q)for b in $(BENCH:%=$(B)/host/bench/%); do echo "== $${b##*/}"; $$b || exit 1; done

# --- Installation, of what was built in FROM. ---
MAN := $(wildcard tools/man/*.[1-8])
DAEMON_MAN := $(wildcard tools/man/flowtapd.*)
HEADERS := linux/flowtap.h $(patsubst libuapi/include/%,%,$(wildcard libuapi/include/flowtap/*.h))
# What is installed where: with prefix, and elsewhere. Whatever is not copied as it is stands below.
INSTALLED := bin/flowtap sbin/flowtapd lib/libflowtap.a lib/pkgconfig/flowtap.pc $(HEADERS:%=include/%) \
	$(foreach m,$(notdir $(MAN)),share/man/man$(subst .,,$(suffix $(m)))/$(m)) \
	share/bash-completion/completions/flowtap
INSTALLED_SYSTEM := $(udevdir)/60-flowtap.rules $(sysusersdir)/flowtap.conf \
	$(sysusersdir)/flowtapd.conf $(unitdir)/flowtapd.service
DKMS_DIR := /usr/src/flowtap-$(VERSION)

install: native kmod-if-headers install-user
	! $(HEADERS_THERE) || $(MAKE) -C $(KDIR) M=$(CURDIR)/kmod INSTALL_MOD_PATH=$(abspath $(DESTDIR)) modules_install
	@# The device's group and the service's user.
	test -n "$(DESTDIR)" || { depmod -a; systemd-sysusers flowtap.conf flowtapd.conf || \
		{ groupadd -f -r perf; useradd -r -M -G perf -d /var/lib/flowtap flowtap || :; }; }

# flowtapd's pages come with it.
INSTALL_MAN = for m in $(1); do s=$${m\#\#*.}; \
	install -D -m 644 $$m $(DESTDIR)$(prefix)/share/man/man$$s/$${m\#\#*/} || exit 1; done

install-tools: $(B)/$(FROM)/flowtap $(B)/$(FROM)/libflowtap.a
	install -D -m 755 $(B)/$(FROM)/flowtap $(DESTDIR)$(prefix)/bin/flowtap
	install -D -m 644 $(B)/$(FROM)/libflowtap.a $(DESTDIR)$(prefix)/lib/libflowtap.a
	install -d $(DESTDIR)$(prefix)/lib/pkgconfig
	sed 's#@prefix@#$(prefix)#;s#@VERSION@#$(VERSION)#;s#@LIBS@#$(LIBS)#' libuapi/flowtap.pc.in \
		>$(DESTDIR)$(prefix)/lib/pkgconfig/flowtap.pc
	chmod 644 $(DESTDIR)$(prefix)/lib/pkgconfig/flowtap.pc
	for h in $(HEADERS); do \
		install -D -m 644 libuapi/include/$$h $(DESTDIR)$(prefix)/include/$$h || exit 1; done
	$(call INSTALL_MAN,$(filter-out $(DAEMON_MAN),$(MAN)))
	install -D -m 644 tools/completion/flowtap.bash \
		$(DESTDIR)$(prefix)/share/bash-completion/completions/flowtap

install-user: install-tools $(B)/$(FROM)/flowtapd
	install -D -m 755 $(B)/$(FROM)/flowtapd $(DESTDIR)$(prefix)/sbin/flowtapd
	$(call INSTALL_MAN,$(DAEMON_MAN))
	install -D -m 644 tools/udev/60-flowtap.rules $(DESTDIR)$(udevdir)/60-flowtap.rules
	install -D -m 644 tools/udev/flowtap.sysusers $(DESTDIR)$(sysusersdir)/flowtap.conf
	install -D -m 644 daemon/system/flowtapd.sysusers $(DESTDIR)$(sysusersdir)/flowtapd.conf
	install -d $(DESTDIR)$(unitdir)
	sed 's#@sbindir@#$(prefix)/sbin#' daemon/system/flowtapd.service.in \
		>$(DESTDIR)$(unitdir)/flowtapd.service
	chmod 644 $(DESTDIR)$(unitdir)/flowtapd.service
	@# One's own configuration stays as it is.
	test -e $(DESTDIR)$(sysconfdir)/flowtap/flowtapd.conf || install -D -m 644 \
		daemon/system/flowtapd.conf $(DESTDIR)$(sysconfdir)/flowtap/flowtapd.conf

# The module's source; then: dkms install flowtap/$(VERSION)
install-dkms:
	install -d $(DESTDIR)$(DKMS_DIR)/kmod $(DESTDIR)$(DKMS_DIR)/libuapi/include/linux
	install -m 644 $(filter-out %.mod.c,$(wildcard kmod/*.[ch])) kmod/Kbuild $(DESTDIR)$(DKMS_DIR)/kmod/
	install -m 644 libuapi/include/linux/flowtap.h $(DESTDIR)$(DKMS_DIR)/libuapi/include/linux/
	sed 's/@VERSION@/$(VERSION)/' tools/packaging/dkms.conf.in >$(DESTDIR)$(DKMS_DIR)/dkms.conf
	chmod 644 $(DESTDIR)$(DKMS_DIR)/dkms.conf

# The user, his segments and a configuration that was changed stay. What uses the files ends before
# they go: the service, and what dkms built of the source.
END_USERS = { ! test -d /run/systemd/system || systemctl stop --quiet flowtapd.service 2>/dev/null || :; \
	! test -e $(unitdir)/flowtapd.service || systemctl disable --quiet flowtapd.service || :; \
	! dkms status flowtap/$(VERSION) 2>/dev/null | grep -q . || dkms remove flowtap/$(VERSION) --all; }
uninstall:
	test -n "$(DESTDIR)" || $(END_USERS)
	rm -f $(INSTALLED:%=$(DESTDIR)$(prefix)/%) $(INSTALLED_SYSTEM:%=$(DESTDIR)%)
	rm -rf $(DESTDIR)$(prefix)/include/flowtap $(DESTDIR)$(DKMS_DIR)
	rm -f $(DESTDIR)/lib/modules/*/updates/flowtap.ko*
	! cmp -s daemon/system/flowtapd.conf $(DESTDIR)$(sysconfdir)/flowtap/flowtapd.conf || \
		rm $(DESTDIR)$(sysconfdir)/flowtap/flowtapd.conf
	! test -d $(DESTDIR)$(sysconfdir)/flowtap || \
		rmdir --ignore-fail-on-non-empty $(DESTDIR)$(sysconfdir)/flowtap
	test -n "$(DESTDIR)" || depmod -a 2>/dev/null || :

# Debian packages; the time in them is that of the last commit. Those of other architectures are
# built with the cross compilers of build/riscv64 and build/arm64, which the lab has.
NATIVE_ARCH = $(shell dpkg --print-architecture)
DEB_ARCH ?= $(NATIVE_ARCH)
DEB_FROM ?= $(if $(filter $(DEB_ARCH),$(NATIVE_ARCH)),native,$(DEB_ARCH))
DEB_STRIP = $(if $(filter riscv64,$(DEB_FROM)),riscv64-linux-gnu-)$(if \
	$(filter arm64,$(DEB_FROM)),aarch64-linux-gnu-)strip
DEB_OUT = $(B)/deb/$(DEB_ARCH)
EPOCH = $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct 2>/dev/null || stat -c %Y README.md))

deb:
	$(Q)case $${FLOWTAP_LAB-}$(DEB_FROM) in \
	riscv64|arm64) $(LAB) up && SOURCE_DATE_EPOCH=$(EPOCH) $(LAB) run -- \
		$(MAKE) --no-print-directory -j2 V=$(V) DEB_ARCH=$(DEB_ARCH) deb-here ;; \
	*) $(MAKE) --no-print-directory deb-here ;; \
	esac

# Nothing that an earlier version left is among them.
deb-here: $(addprefix $(B)/$(DEB_FROM)/,flowtap flowtapd libflowtap.a)
	$(Q)rm -rf $(DEB_OUT)
	$(Q)$(MAKE) -s --no-print-directory install-user install-dkms FROM=$(DEB_FROM) prefix=/usr \
		DESTDIR=$(CURDIR)/$(DEB_OUT)/tree
	$(Q)SOURCE_DATE_EPOCH=$(EPOCH) tools/packaging/deb $(DEB_OUT)/tree $(DEB_OUT) $(DEB_ARCH) $(VERSION) \
		$(DEB_STRIP)

clean:
	rm -rf $(B)
	rm -f kmod/*.o kmod/*.ko kmod/*.mod kmod/*.mod.c kmod/.*.cmd kmod/modules.order kmod/Module.symvers
