// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows which sources each CPU has, why where it has none, and in which order sources and their user
 * hear of CPUs that come, go, sleep and are started anew. kmod/source.c is compiled into this program.
 */
#include "support/kselftest_harness.h"

#include "kernel.h"

#include <stdarg.h>

/* As where the module is built. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

/* --- What it takes from the kernel: some CPUs. --- */

#define CPUS			2
#undef DEFINE_PER_CPU
#undef this_cpu_ptr
#undef per_cpu
#define DEFINE_PER_CPU(type, name)	type name[CPUS]
#define per_cpu(name, cpu)		((name)[cpu])
#define per_cpu_ptr(pointer, cpu)	(&(*(pointer))[cpu])
#define this_cpu_ptr(pointer)		per_cpu_ptr(pointer, this_cpu)
#define for_each_possible_cpu(cpu)	for ((cpu) = 0; (cpu) < CPUS; (cpu)++)
#define for_each_online_cpu(cpu)	for_each_possible_cpu(cpu)
#define READ_ONCE(value)		(value)
#define WRITE_ONCE(value, to)		((value) = (to))
#define local_irq_save(flags)		((void)((flags) = irqs_off++))
#define local_irq_restore(flags)	(irqs_off = (flags))

static unsigned int this_cpu;
static unsigned long irqs_off;
static char calls[512];		/* what was called, in its order */

static void __attribute__((format(printf, 1, 2))) note(const char *format, ...)
{
	size_t used = strlen(calls);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(calls + used, sizeof(calls) - used, format, arguments);
	va_end(arguments);
}

static bool called(const char *what)
{
	bool same = !strcmp(calls, what);

	if (!same)
		printf("# called:%s\n", calls);
	calls[0] = 0;
	return same;
}

struct notifier_block {
	int (*notifier_call)(struct notifier_block *block, unsigned long action, void *unused);
};

enum { NOTIFY_OK = 1, CPU_PM_ENTER, CPU_PM_ENTER_FAILED, CPU_PM_EXIT, CPUHP_AP_ONLINE_DYN };

static int hotplug_error, pm_error, reboot_error;
static int (*go_online)(unsigned int cpu), (*go_offline)(unsigned int cpu);
static struct notifier_block *pm, *at_reboot;

static int cpuhp_setup_state(int state, const char *name, int (*online)(unsigned int cpu),
			     int (*offline)(unsigned int cpu))
{
	note(" hotplug");
	if (hotplug_error)
		return hotplug_error;
	go_online = online;
	go_offline = offline;
	for (this_cpu = 0; this_cpu < CPUS; this_cpu++)
		online(this_cpu);
	this_cpu = 0;
	return 77;
}

static void cpuhp_remove_state(int state)
{
	note(" -hotplug%d", state);
	go_online = go_offline = NULL;
}

static int cpu_pm_register_notifier(struct notifier_block *block)
{
	note(" pm");
	pm = pm_error ? NULL : block;
	return pm_error;
}

static void cpu_pm_unregister_notifier(struct notifier_block *block)
{
	note(" -pm");
	pm = NULL;
}

static int register_reboot_notifier(struct notifier_block *block)
{
	note(" reboot");
	at_reboot = reboot_error ? NULL : block;
	return reboot_error;
}

static void unregister_reboot_notifier(struct notifier_block *block)
{
	note(" -reboot");
	at_reboot = NULL;
}

static void on_each_cpu(void (*function)(void *argument), void *argument, int wait)
{
	for (this_cpu = 0; this_cpu < CPUS; this_cpu++)
		function(argument);
	this_cpu = 0;
}

#define CONFIG_RISCV
#define CONFIG_ARM64
#include "../../../kmod/source.c"

/* --- Its sources, and who uses it. --- */

static u32 ctr_reason[CPUS], ete_reason[CPUS];	/* of the next time that each comes online */

/* On a CPU with interrupts off, or somebody could begin to record meanwhile. */
static void note_there(const char *what)
{
	note(" %s%u%s", what, this_cpu, irqs_off ? "" : "!");
}

static void ctr_init(void) { note(" ctr+"); }
static void ctr_exit(void) { note(" ctr-"); }
static u32 ctr_online(void) { note_there("ctr on "); return ctr_reason[this_cpu]; }
static void ctr_offline(void) { note_there("ctr off "); }
static void ctr_recover(void) { note(" ctr recover%u", this_cpu); }
static u32 ete_online(void) { return ete_reason[this_cpu]; }
static void ete_offline(void) { note_there("ete off "); }
static void ete_recover(void) { note(" ete recover%u", this_cpu); }
static u32 soft_online(void) { note_there("soft on "); return FLOWTAP_REASON_NONE; }
static void soft_offline(void) { note_there("soft off "); }
static void soft_recover(void) { }
static void ctr_thaw(struct flowtap_recording *recording) { }
static int ctr_irq(void) { return 13; }

const struct flowtap_source ctr_source = {
	.id = FLOWTAP_SOURCE_CTR, .init = ctr_init, .exit = ctr_exit, .online = ctr_online,
	.offline = ctr_offline, .recover = ctr_recover, .thaw = ctr_thaw, .stopping_irq = ctr_irq,
};
const struct flowtap_source ete_source = {
	.id = FLOWTAP_SOURCE_ETE, .online = ete_online, .offline = ete_offline,
	.recover = ete_recover,
};
const struct flowtap_source soft_source = {
	.id = FLOWTAP_SOURCE_SOFT, .online = soft_online, .offline = soft_offline,
	.recover = soft_recover,
};

static void user_online(u64 mask) { note_there("user on "); note(":%llu", (unsigned long long)mask); }
static void user_offline(void) { note_there("user off "); }
static void user_enter(void) { note(" enter%u", this_cpu); }
static void user_exit(void) { note(" exit%u", this_cpu); }
static void user_full(void) { note(" full"); }

static const struct flowtap_source_user its_user = {
	.cpu_online = user_online, .cpu_offline = user_offline, .pm_enter = user_enter,
	.pm_exit = user_exit, .full = user_full,
};

#define CTR	(1U << FLOWTAP_SOURCE_CTR)
#define ETE	(1U << FLOWTAP_SOURCE_ETE)
#define SOFT	(1U << FLOWTAP_SOURCE_SOFT)

FIXTURE(source)
{
	u32 reason;
};

FIXTURE_SETUP(source)
{
	soft = false;
	hotplug_error = pm_error = reboot_error = 0;
	ctr_reason[0] = ctr_reason[1] = FLOWTAP_REASON_NONE;
	ete_reason[0] = ete_reason[1] = FLOWTAP_REASON_ABSENT;
	calls[0] = 0;
}

FIXTURE_TEARDOWN(source)
{
	EXPECT_EQ(0, irqs_off);
}

TEST_F(source, what_was_registered_is_unregistered_in_turn)
{
	ASSERT_EQ(0, source_init(&its_user));
	EXPECT_TRUE(called(" ctr+ hotplug ctr on 0 user on 0:4 ctr on 1 user on 1:4 pm reboot"));
	source_exit();
	EXPECT_TRUE(called(" -reboot -pm -hotplug77 ctr-"));
}

TEST_F(source, an_error_leaves_nothing_registered)
{
	hotplug_error = -ENOMEM;
	EXPECT_EQ(-ENOMEM, source_init(&its_user));
	EXPECT_TRUE(called(" ctr+ hotplug ctr-"));
	hotplug_error = 0;
	pm_error = -EEXIST;
	EXPECT_EQ(-EEXIST, source_init(&its_user));
	EXPECT_TRUE(called(" ctr+ hotplug ctr on 0 user on 0:4 ctr on 1 user on 1:4 pm "
			   "-hotplug77 ctr-"));
	pm_error = 0;
	reboot_error = -EBUSY;
	EXPECT_EQ(-EBUSY, source_init(&its_user));
	EXPECT_TRUE(called(" ctr+ hotplug ctr on 0 user on 0:4 ctr on 1 user on 1:4 pm reboot "
			   "-pm -hotplug77 ctr-"));
}

/* Whoever loads the module hears whether another has the hardware, or whether there is none. */
TEST_F(source, without_any_source_the_module_does_not_load)
{
	static const struct {
		u32 ctr[CPUS], ete[CPUS];
		int error;
	} machines[] = {
		{ { FLOWTAP_REASON_ABSENT, FLOWTAP_REASON_ABSENT },
		  { FLOWTAP_REASON_ABSENT, FLOWTAP_REASON_ABSENT }, -ENODEV },
		{ { FLOWTAP_REASON_UNUSABLE, FLOWTAP_REASON_ABSENT },
		  { FLOWTAP_REASON_ABSENT, FLOWTAP_REASON_UNUSABLE }, -ENODEV },
		{ { FLOWTAP_REASON_OWNED, FLOWTAP_REASON_ABSENT },
		  { FLOWTAP_REASON_ABSENT, FLOWTAP_REASON_ABSENT }, -EBUSY },
		{ { FLOWTAP_REASON_ABSENT, FLOWTAP_REASON_ABSENT },
		  { FLOWTAP_REASON_ABSENT, FLOWTAP_REASON_OWNED }, -EBUSY },
		{ { FLOWTAP_REASON_ABSENT, FLOWTAP_REASON_NONE },
		  { FLOWTAP_REASON_OWNED, FLOWTAP_REASON_ABSENT }, 0 },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(machines); i++) {
		memcpy(ctr_reason, machines[i].ctr, sizeof(ctr_reason));
		memcpy(ete_reason, machines[i].ete, sizeof(ete_reason));
		said[0] = 0;
		EXPECT_EQ(machines[i].error, source_init(&its_user)) TH_LOG("machine %u", i);
		EXPECT_EQ(machines[i].error == -ENODEV, !!strstr(said, "soft=1")) TH_LOG("machine %u", i);
		EXPECT_EQ(!machines[i].error, !!pm);
		if (!machines[i].error)
			source_exit();
	}
}

TEST_F(source, hardware_comes_first_and_the_imitation_only_if_asked_for)
{
	ete_reason[1] = FLOWTAP_REASON_NONE;
	ctr_reason[1] = FLOWTAP_REASON_UNUSABLE;
	ASSERT_EQ(0, source_init(&its_user));
	EXPECT_EQ(CTR, source_mask(0));
	EXPECT_EQ(ETE, source_mask(1));
	EXPECT_EQ(&ctr_source, source_find(FLOWTAP_SOURCE_NONE, 0, &self->reason));
	EXPECT_EQ(FLOWTAP_REASON_NONE, self->reason);
	EXPECT_EQ(&ete_source, source_find(FLOWTAP_SOURCE_NONE, 1, &self->reason));
	EXPECT_EQ(FLOWTAP_REASON_NONE, self->reason);
	EXPECT_EQ(NULL, source_find(FLOWTAP_SOURCE_CTR, 1, &self->reason));
	EXPECT_EQ(FLOWTAP_REASON_UNUSABLE, self->reason);
	EXPECT_EQ(NULL, source_find(FLOWTAP_SOURCE_ETE, 0, &self->reason));
	EXPECT_EQ(FLOWTAP_REASON_ABSENT, self->reason);
	EXPECT_EQ(NULL, source_find(FLOWTAP_SOURCE_SOFT, 0, &self->reason));
	EXPECT_EQ(FLOWTAP_REASON_ABSENT, self->reason);
	EXPECT_EQ(NULL, source_find(99, 0, &self->reason));
	EXPECT_EQ(FLOWTAP_REASON_ABSENT, self->reason);
	source_exit();

	soft = true;
	ASSERT_EQ(0, source_init(&its_user));
	EXPECT_EQ(CTR | SOFT, source_mask(0));
	EXPECT_EQ(ETE | SOFT, source_mask(1));
	EXPECT_EQ(&ctr_source, source_find(FLOWTAP_SOURCE_NONE, 0, &self->reason));
	EXPECT_EQ(&soft_source, source_find(FLOWTAP_SOURCE_SOFT, 1, &self->reason));
	source_exit();
}

/* Of several that cannot be used the reason is one that says more than that it is not there. */
TEST_F(source, a_cpu_without_any_says_why)
{
	ctr_reason[1] = FLOWTAP_REASON_OWNED;
	ASSERT_EQ(0, source_init(&its_user));
	EXPECT_EQ(NULL, source_find(FLOWTAP_SOURCE_NONE, 1, &self->reason));
	EXPECT_EQ(FLOWTAP_REASON_OWNED, self->reason);
	EXPECT_EQ(0, source_mask(1));
	source_exit();
}

/* Nothing records any more when the sources are left as they were found. */
TEST_F(source, a_cpu_that_goes_has_no_sources_until_it_comes_back)
{
	soft = true;
	ASSERT_EQ(0, source_init(&its_user));
	called("");
	this_cpu = 1;
	EXPECT_EQ(0, go_offline(1));
	EXPECT_TRUE(called(" user off 1 ctr off 1 soft off 1"));
	EXPECT_EQ(0, source_mask(1));
	EXPECT_EQ(CTR | SOFT, source_mask(0));
	EXPECT_EQ(NULL, source_find(FLOWTAP_SOURCE_CTR, 1, &self->reason));
	EXPECT_EQ(FLOWTAP_REASON_OFFLINE, self->reason);
	/* What is off is not left once more. */
	EXPECT_EQ(0, go_offline(1));
	EXPECT_TRUE(called(" user off 1"));
	/* It may come back with something else. */
	ctr_reason[1] = FLOWTAP_REASON_OWNED;
	EXPECT_EQ(0, go_online(1));
	EXPECT_TRUE(called(" ctr on 1 soft on 1 user on 1:2"));
	EXPECT_EQ(NULL, source_find(FLOWTAP_SOURCE_CTR, 1, &self->reason));
	EXPECT_EQ(FLOWTAP_REASON_OWNED, self->reason);
	source_exit();
}

/* kexec resets nothing. */
TEST_F(source, a_kernel_that_is_started_next_finds_them_off)
{
	ASSERT_EQ(0, source_init(&its_user));
	called("");
	EXPECT_EQ(NOTIFY_OK, at_reboot->notifier_call(at_reboot, 1, NULL));
	EXPECT_TRUE(called(" user off 0 ctr off 0 user off 1 ctr off 1"));
	EXPECT_EQ(0, source_mask(0) | source_mask(1));
	source_exit();
}

TEST_F(source, registers_are_there_again_before_their_user_goes_on)
{
	ete_reason[1] = FLOWTAP_REASON_NONE;
	ctr_reason[1] = FLOWTAP_REASON_ABSENT;
	ASSERT_EQ(0, source_init(&its_user));
	called("");
	EXPECT_EQ(NOTIFY_OK, pm->notifier_call(pm, CPU_PM_ENTER, NULL));
	EXPECT_TRUE(called(" enter0"));
	EXPECT_EQ(NOTIFY_OK, pm->notifier_call(pm, CPU_PM_EXIT, NULL));
	EXPECT_TRUE(called(" ctr recover0 exit0"));
	this_cpu = 1;
	EXPECT_EQ(NOTIFY_OK, pm->notifier_call(pm, CPU_PM_ENTER, NULL));
	EXPECT_EQ(NOTIFY_OK, pm->notifier_call(pm, CPU_PM_ENTER_FAILED, NULL));
	EXPECT_TRUE(called(" enter1 ete recover1 exit1"));
	/* Of clusters, say. */
	EXPECT_EQ(NOTIFY_OK, pm->notifier_call(pm, 99, NULL));
	EXPECT_TRUE(called(""));
	this_cpu = 0;
	source_exit();
}

TEST_F(source, what_a_source_has_is_passed_on)
{
	int irq = 0;

	ASSERT_EQ(0, source_init(&its_user));
	called("");
	EXPECT_TRUE(source_thaws(&irq));
	EXPECT_EQ(13, irq);
	source_full();
	EXPECT_TRUE(called(" full"));
	source_exit();
}

TEST_HARNESS_MAIN
