// SPDX-License-Identifier: GPL-2.0-only
/* What flowtap doctor looks at. */
#include "common/arm_machine.h"
#include "common/device_report.h"
#include "common/event.h"
#include "common/names.h"
#include "common/tool.h"
#include "doctor/report.h"
#include "doctor/selftest.h"
#include "recording/options.h"

#include <errno.h>
#include <flowtap/session.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define QEMU_CPU \
	"-cpu rv64,smctr=on,ssctr=on,smcsrind=on,sscsrind=on,smstateen=on,sscofpmf=on,smcntrpmf=on"

bool has_source(const struct flowtap_query *query)
{
	return query->source != FLOWTAP_SOURCE_NONE && query->source != FLOWTAP_SOURCE_SOFT;
}

static bool is_ete(const struct flowtap_query *query)
{
	return query->source == FLOWTAP_SOURCE_ETE;
}

static bool has_ete(const struct report *report)
{
	for (size_t cpu = 0; cpu < report->cpus; cpu++)
		if (is_ete(&report->queries[cpu]))
			return true;
	return false;
}

static bool has_ctr(const struct machine *machine)
{
	return machine_has_extension(machine, "smctr") || machine_has_extension(machine, "ssctr");
}

static void check_riscv(struct report *report)
{
	const struct machine *machine = &report->machine;

	if (!machine->isa) {
		report_add(report, GRADE_NOTE, "cpu", NULL,
			   "neither the device tree nor /proc/cpuinfo tells its extensions");
		return;
	}
	if (!has_ctr(machine)) {
		report_add(report, report->source ? GRADE_NOTE : GRADE_FAIL, "cpu",
			   "a CPU with CTR; in QEMU 11.1 or later " QEMU_CPU " (or -cpu max) and "
			   "OpenSBI 1.9 or later as -bios",
			   "it has neither Smctr nor Ssctr (control transfer records)");
		return;
	}
	if (!machine_has_extension(machine, "sscsrind") &&
	    !machine_has_extension(machine, "smcsrind"))
		report_add(report, GRADE_WARN, "cpu", NULL,
			   "Sscsrind is not listed, by which CTR's entries are read");
	if (!machine_has_extension(machine, "sscofpmf"))
		report_add(report, GRADE_WARN, "cpu", "in QEMU: " QEMU_CPU,
			   "no Sscofpmf: hardware events cannot interrupt, so they trigger "
			   "nothing");
	report_add(report, GRADE_OK, "cpu", NULL, "it has %s",
		   machine_has_extension(machine, "ssctr") ? "Ssctr" : "Smctr");
}

static void check_cpu(struct report *report)
{
	const char *name = report->machine.name.machine;

	if (machine_is_riscv(&report->machine)) {
		check_riscv(report);
		return;
	}
	if (is_arm_machine()) {
		checks_arm(report);
		return;
	}
	if (report->source)
		report_add(report, GRADE_OK, "cpu", NULL, "%s", name);
	else
		report_add(report, GRADE_FAIL, "cpu",
			   "record on a RISC-V machine with CTR or on an Arm one with ETE; for "
			   "tests of the module here: "
			   "modprobe flowtap soft=1 and record --source soft (synthetic transfers)",
			   "this version knows no trace hardware of %s", name);
}

static void check_firmware(struct report *report)
{
	static const char fix[] = "OpenSBI 1.9 or later (QEMU: -bios .../generic/fw_dynamic.bin)";
	const struct machine *machine = &report->machine;
	uint32_t version = machine->opensbi;

	if (!machine_is_riscv(machine))
		return;
	if (!version) {
		if (has_ctr(machine) && !report->source)
			report_add(report, GRADE_WARN, "firmware", fix,
				   "if it is OpenSBI before 1.9 it keeps CTR from the kernel");
		return;
	}
	if (version < (1 << 16 | 9) && !report->source && has_ctr(machine))
		report_add(report, GRADE_FAIL, "firmware", fix,
			   "OpenSBI %u.%u leaves mstateen0.CTR clear: the kernel cannot reach CTR",
			   version >> 16, version & 0xffff);
	else
		report_add(report, GRADE_OK, "firmware", NULL, "OpenSBI %u.%u", version >> 16,
			   version & 0xffff);
}

static void check_module(struct report *report)
{
	const struct machine *machine = &report->machine;
	const char *version = machine->module_version;

	if (machine->module_loaded) {
		if (*version && strcmp(version, FLOWTAP_VERSION))
			report_add(report, GRADE_WARN, "module",
				   "install module and command of the same version",
				   "version %s is loaded, this command is " FLOWTAP_VERSION,
				   version);
		else
			report_add(report, GRADE_OK, "module", NULL, "loaded");
	} else if (machine_is_riscv(machine) && machine->isa && !has_ctr(machine)) {
		report_add(report, GRADE_FAIL, "module", "first a CPU with CTR",
			   "not loaded; on this CPU it refuses: No such device (ENODEV)");
	} else if (machine->module_installed) {
		report_add(report, GRADE_FAIL, "module",
			   "as root: modprobe flowtap (`dmesg` says why it fails, if it does)",
			   "not loaded");
	} else {
		report_add(report, GRADE_FAIL, "module",
			   "as root: make install && modprobe flowtap, in flowtap's sources; or "
			   "insmod flowtap.ko", "not loaded, and not installed for this kernel");
	}
}

static void check_device(struct report *report)
{
	const char *problem;
	char fix[256];

	if (!report->device) {
		report_add(report, GRADE_OK, "device", NULL, FLOWTAP_DEVICE " can be opened");
		return;
	}
	/* Without module there is none: said already. */
	if (!report->machine.module_loaded)
		return;
	problem = device_open_problem(report->device, fix, sizeof(fix));
	if (report->device == -ENOENT)
		report_add(report, GRADE_FAIL, "device",
			   "mount devtmpfs on /dev, or mknod it as /sys/class/misc/flowtap/dev "
			   "says",
			   "the module is loaded but there is no " FLOWTAP_DEVICE);
	else
		report_add(report, GRADE_FAIL, "device", fix, "%s", problem);
}

/* Of which one line says the same. */
static bool is_alike(const struct flowtap_query *query, const struct flowtap_query *like)
{
	if (query->source != like->source)
		return false;
	if (!has_source(query))
		return query->reason == like->reason;
	if (is_ete(query))
		return query->ete.trcdevarch == like->ete.trcdevarch &&
		       query->ete.exception_level == like->ete.exception_level;
	return query->ctr.depth_max == like->ctr.depth_max;
}

static void report_source(struct report *report, const struct flowtap_query *query, const char *list)
{
	if (is_ete(query))
		report_add(report, GRADE_OK, "source", NULL,
			   "ete on CPU %s, version 1.%u, the kernel at EL%u", list,
			   query->ete.trcdevarch >> 16 & 15, query->ete.exception_level);
	else
		report_add(report, GRADE_OK, "source", NULL, "%s on CPU %s, %u transfers deep",
			   name_of(source_names, query->source), list, query->ctr.depth_max);
}

static const char *source_fix(const struct flowtap_query *query)
{
	switch (query->reason) {
	case FLOWTAP_REASON_OWNED:
		return is_arm_machine() ? "as root: rmmod coresight_trbe coresight_etm4x" :
					  "as root: rmmod flowtap; modprobe flowtap takeover=1";
	case FLOWTAP_REASON_OFFLINE:
		return "as root: echo 1 >/sys/devices/system/cpu/cpuN/online";
	case FLOWTAP_REASON_UNUSABLE:
		return "the kernel log (`dmesg`) says what is wrong";
	default:
		return "what the CPU and the firmware must have is said above";
	}
}

static void check_sources(struct report *report)
{
	const struct flowtap_query *queries = report->queries;
	char list[128];

	if (report->device)
		return;
	for (size_t cpu = 0; cpu < report->cpus; cpu++) {
		const struct flowtap_query *query = &queries[cpu];
		size_t first = 0;

		while (!is_alike(&queries[first], query))
			first++;
		if (first < cpu)
			continue;
		device_cpus(queries, report->cpus, is_alike, query, list);
		if (has_source(query))
			report_source(report, query, list);
		else
			report_add(report, report->source ? GRADE_WARN : GRADE_FAIL, "source",
				   source_fix(query), "none on CPU %s: %s", list,
				   query->source == FLOWTAP_SOURCE_SOFT ?
				   "there is only soft, which makes transfers up, for tests" :
				   device_reason(query));
	}
}

static void check_event(struct report *report)
{
	static const char riscv[] =
		"a CPU with Sscofpmf, a pmu node in the device tree (in QEMU: sscofpmf=on) and "
		"CONFIG_RISCV_PMU_SBI; until then -e cpu-clock";
	static const char other[] =
		"a machine whose PMU the kernel drives; in a virtual one let it have a PMU";
	struct event event;
	int error;

	/* Nothing triggers a trace, which is what Arm has. */
	if (is_arm_machine())
		return;
	event_parse("instructions", &event);
	error = event_probe(&event, event.period);
	if (!error)
		report_add(report, GRADE_OK, "event", NULL, "perf can sample instructions");
	else if (error == -EACCES || error == -EPERM)
		report_add(report, GRADE_NOTE, "event", NULL,
			   "perf_event_paranoid keeps perf events from you; the module's are not "
			   "bound by it");
	else
		report_add(report, GRADE_FAIL, "event",
			   machine_is_riscv(&report->machine) ? riscv : other,
			   "perf cannot sample instructions here: %s", strerror(-error));
}

static void check_selftest(struct report *report)
{
	struct selftest selftest;
	char name[64];
	int error;

	if (!report->source)
		return;
	error = selftest_run(report->queries, report->cpus, &selftest);
	if (!error && selftest.bytes)
		report_add(report, GRADE_OK, "trial", NULL,
			   "recorded itself on CPU %u: %llu record%s of trace, %llu byte%s",
			   selftest.cpu, (unsigned long long)selftest.samples,
			   plural(selftest.samples),
			   (unsigned long long)selftest.bytes, plural(selftest.bytes));
	else if (!error)
		report_add(report, GRADE_OK, "trial", NULL,
			   "recorded itself on CPU %u: %llu sample%s, %llu transfer%s",
			   selftest.cpu,
			   (unsigned long long)selftest.samples, plural(selftest.samples),
			   (unsigned long long)selftest.entries, plural(selftest.entries));
	else if (error == -ENODATA && has_ete(report))
		report_add(report, GRADE_FAIL, "trial", "the kernel log (`dmesg`) may say more",
			   "recorded itself on CPU %u, no trace came", selftest.cpu);
	else if (error == -ENODATA)
		report_add(report, GRADE_FAIL, "trial",
			   "let nobody else use the counter (perf); QEMU 10.0.13 is broken, "
			   "11.1 works",
			   "recorded itself on CPU %u, no sample came: the counter does not "
			   "interrupt",
			   selftest.cpu);
	else if (error == -EBUSY)
		report_add(report, GRADE_FAIL, "trial", "end that recording first",
			   "CPU %u is held by %s, who records all that runs there", selftest.cpu,
			   selftest_holder(selftest.cpu, name));
	else
		report_add(report, GRADE_FAIL, "trial", "the kernel log (`dmesg`) may say more",
			   "recording itself failed in %s: %s", selftest.step, strerror(-error));
}

static void check_sideband(struct report *report)
{
	const struct machine *machine = &report->machine;

	if (machine->privileges.paranoid == LONG_MIN)
		report_add(report, GRADE_WARN, "sideband", "boot a kernel with CONFIG_PERF_EVENTS",
			   "no perf: mappings and tasks are polled from /proc");
	else if (machine->privileges.administrator || machine->privileges.paranoid <= 2)
		report_add(report, GRADE_OK, "sideband", NULL,
			   "perf tells mappings and tasks (perf_event_paranoid is %ld)",
			   machine->privileges.paranoid);
	else
		report_add(report, GRADE_WARN, "sideband",
			   "as root: sysctl kernel.perf_event_paranoid=2, or record as root",
			   "perf_event_paranoid is %ld: mappings and tasks are polled from /proc, "
			   "what lives for a moment only can be missed",
			   machine->privileges.paranoid);
}

static void check_memory(struct report *report)
{
	size_t ring = (OPTIONS_PAGES + 1) * (size_t)sysconf(_SC_PAGESIZE);
	struct rlimit limit;
	char each[32], area[64] = "", locked[32];
	struct ete_request request;

	ete_options_init(&request);
	number_bytes(ring, each);
	if (has_ete(report))
		snprintf(area, sizeof(area), " and an AUX area at most %s",
			 number_bytes((uint64_t)request.aux_pages * (uint64_t)sysconf(_SC_PAGESIZE),
				      locked));
	if (getrlimit(RLIMIT_MEMLOCK, &limit))
		return;
	if (limit.rlim_cur == RLIM_INFINITY)
		snprintf(locked, sizeof(locked), "without limit");
	else
		number_bytes(limit.rlim_cur, locked);
	report_add(report, GRADE_NOTE, "memory", NULL,
		   "a ring is %s%s for each CPU; beyond the module's mlock_kb you may lock %s",
		   each, area, locked);
}

/* With less, record says what it could not open. Side band: an event for each thread and CPU. */
static void check_files(struct report *report)
{
	size_t least = 2 * report->cpus + 32;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	/* record raises its own up to the hard limit. */
	if (limit.rlim_max >= least)
		report_add(report, GRADE_OK, "files", NULL, "%llu files may be open",
			   (unsigned long long)limit.rlim_max);
	else
		report_add(report, GRADE_WARN, "files", "ulimit -Hn 4096, or more",
			   "only %llu files may be open: recording on all CPUs needs %zu",
			   (unsigned long long)limit.rlim_max, least);
}

/* Whether /proc/kallsyms has addresses for us (kptr_restrict) and not only zeros. */
static bool sees_symbols(void)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	unsigned long long address = 0;
	char line[512];

	for (int i = 0; file && i < 64 && !address && fgets(line, sizeof(line), file); i++)
		address = strtoull(line, NULL, 16);
	if (file)
		fclose(file);
	return address;
}

static void check_text(struct report *report)
{
	bool memory = !access("/proc/kcore", R_OK), symbols = sees_symbols();
	bool there = !access("/proc/kcore", F_OK);
	int fd = memory ? open("/proc/kcore", O_RDONLY | O_CLOEXEC) : -1;

	if (fd >= 0)
		close(fd);
	if (fd >= 0 && symbols)
		report_add(report, GRADE_OK, "text", NULL,
			   "the kernel's code (/proc/kcore) and symbols can be read");
	else if (fd < 0)
		report_add(report, GRADE_NOTE, "text",
			   there ? "record --kernel as root, or with CAP_SYS_RAWIO"
				 : "boot a kernel with CONFIG_PROC_KCORE",
			   "the kernel's code (/proc/kcore) cannot be read: what it executed is "
			   "not reconstructed");
	else
		report_add(report, GRADE_NOTE, "text",
			   "as root: sysctl kernel.kptr_restrict=1, and CAP_SYSLOG",
			   "the kernel's symbols (/proc/kallsyms) have no addresses for you");
}

static void check_cgroup(struct report *report)
{
	char *mount = flowtap_cgroup_mount();

	if (mount)
		report_add(report, GRADE_OK, "cgroup", NULL, "cgroup2 is mounted on %s", mount);
	else
		report_add(report, GRADE_NOTE, "cgroup",
			   "as root: mount -t cgroup2 none /sys/fs/cgroup",
			   "cgroup2 is not mounted: no record --cgroup");
	free(mount);
}

static const struct flowtap_query *first_source(const struct report *report)
{
	for (size_t cpu = 0; cpu < report->cpus; cpu++)
		if (has_source(&report->queries[cpu]))
			return &report->queries[cpu];
	return NULL;
}

static void check_uring(struct report *report)
{
	const struct flowtap_query *query = first_source(report);
	enum flowtap_drain_method method;
	long fd = syscall(SYS_io_uring_setup, 0, NULL);

	if (fd < 0 && (errno == ENOSYS || errno == EPERM)) {
		report_add(report, GRADE_NOTE, "io_uring",
			   errno == ENOSYS ? "a kernel with CONFIG_IO_URING" :
			   report->machine.uring_disabled > 0 ?
				   "as root: sysctl kernel.io_uring_disabled=0" :
				   "let the container or service make the call io_uring_setup",
			   "%s: rings are emptied by poll and write",
			   errno == EPERM ? "denied" : "not in this kernel");
		return;
	}
	if (!query || selftest_drain(query, OPTIONS_PAGES, &method))
		report_add(report, GRADE_NOTE, "io_uring", NULL, "available");
	else
		report_add(report, method == FLOWTAP_DRAIN_POLL ? GRADE_NOTE : GRADE_OK, "io_uring",
			   NULL, "rings of %d pages are emptied by %s", OPTIONS_PAGES,
			   flowtap_drain_method_name(method));
}

void checks_run(struct report *report)
{
	static void (*const checks[])(struct report *report) = {
		checks_kernel, check_cpu, check_firmware, check_module, check_device, check_sources,
		check_event, check_selftest, capabilities_check, check_sideband, check_text,
		check_cgroup, check_memory, check_files, check_uring,
	};

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		checks[i](report);
}
