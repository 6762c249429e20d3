// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that what a tracepoint or a BPF program has the module do is done on one CPU from its
 * beginning to its end, also in kernels that call both with preemption on: a task that lost the CPU
 * after it was taken out of a set, and before its last record, would have a loss that never was.
 * kmod/hooks.c and kmod/bpf.c are compiled into this program.
 */
#include "support/kselftest_harness.h"

#include "kernel.h"

/* As where the module is built. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

/* --- What they take from the kernel. --- */

#define HZ			250
#define DEFINE_MUTEX(name)	int name
#define mutex_lock(mutex)	((void)++*(mutex))
#define mutex_unlock(mutex)	((void)--*(mutex))

/* What is off, and how often it was. */
struct scope {
	int *depth;
};

static int preemption_off, rcu_held;

static struct scope scope_begin(int *depth)
{
	++*depth;
	return (struct scope){ depth };
}

static void scope_end(struct scope *scope)
{
	--*scope->depth;
}

static struct scope begin_preempt(void)
{
	return scope_begin(&preemption_off);
}

static struct scope begin_rcu(void)
{
	return scope_begin(&rcu_held);
}

#define PASTE(a, b)		a##b
#define NAME(a, b)		PASTE(a, b)
#define guard(kind)								\
	struct scope NAME(scope, __LINE__) __attribute__((cleanup(scope_end), unused)) = begin_##kind

struct work_struct {
	int none;
};

#define DECLARE_DELAYED_WORK(name, function)	void (*const name)(struct work_struct *) = function

static unsigned long delay;	/* of the work; 0: it is not queued */

static void schedule_delayed_work(void (*const *work)(struct work_struct *), unsigned long jiffies)
{
	delay = jiffies;
}

static void cancel_delayed_work_sync(void (*const *work)(struct work_struct *))
{
	delay = 0;
}

struct linux_binprm {
	bool secureexec;
};

struct irqaction;

/* Whoever is called when it is passed; NULL: nobody. */
struct tracepoint {
	const char *name;
	void *function;
	void *data;
	int priority;
	int error;		/* of who tries to be called */
};

#define TRACEPOINT_DEFAULT_PRIO	10

enum { SWITCH, FORK, PREPARE_EXEC, EXEC, EXIT, INTERRUPT, OTHER, TRACEPOINTS };

static const struct tracepoint all[] = {
	[SWITCH] = { "sched_switch" },
	[FORK] = { "sched_process_fork" },
	[PREPARE_EXEC] = { "sched_prepare_exec" },
	[EXEC] = { "sched_process_exec" },
	[EXIT] = { "sched_process_exit" },
	[INTERRUPT] = { "irq_handler_exit" },
	[OTHER] = { "sched_wakeup" },
};

static struct tracepoint tracepoints[TRACEPOINTS];

static void for_each_kernel_tracepoint(void (*function)(struct tracepoint *tracepoint, void *data),
				       void *data)
{
	int i;

	for (i = 0; i < TRACEPOINTS; i++)
		function(&tracepoints[i], data);
}

static int tracepoint_probe_register_prio(struct tracepoint *tracepoint, void *function, void *data,
					  int priority)
{
	if (tracepoint->error)
		return tracepoint->error;
	tracepoint->function = function;
	tracepoint->data = data;
	tracepoint->priority = priority;
	return 0;
}

static int tracepoint_probe_unregister(struct tracepoint *tracepoint, void *function, void *data)
{
	if (tracepoint->function != function || tracepoint->data != data)
		return -ENOENT;
	tracepoint->function = NULL;
	return 0;
}

static bool synchronized;

static void tracepoint_synchronize_unregister(void)
{
	synchronized = true;
}

/* Those of Linux 7.2. */
#define FLOWTAP_EXIT_MORE , bool group_dead

typedef void on_switch_type(void *data, bool preempt, struct task_struct *previous,
			    struct task_struct *next, unsigned int state);
typedef void on_fork_type(void *data, struct task_struct *parent, struct task_struct *child);
typedef void on_prepare_exec_type(void *data, struct task_struct *task, struct linux_binprm *bprm);
typedef void on_exec_type(void *data, struct task_struct *task, pid_t old_pid,
			  struct linux_binprm *bprm);
typedef void on_exit_type(void *data, struct task_struct *task, bool group_dead);

#define check_trace_callback_type_sched_switch(function)	((void)(on_switch_type *){ function })
#define check_trace_callback_type_sched_process_fork(function)	((void)(on_fork_type *){ function })
#define check_trace_callback_type_sched_prepare_exec(function)	((void)(on_prepare_exec_type *){ function })
#define check_trace_callback_type_sched_process_exec(function)	((void)(on_exec_type *){ function })
#define check_trace_callback_type_sched_process_exit(function)	((void)(on_exit_type *){ function })
#define check_trace_callback_type_irq_handler_exit(function)	((void)(function))

#define __bpf_kfunc
#define __bpf_kfunc_start_defs()	struct no_definition
#define __bpf_kfunc_end_defs()		struct no_definition
#define BTF_KFUNCS_START(name)		static const struct { int cnt; } name = { 2 };
#define BTF_ID_FLAGS(kind, name, flags)	extern int name(struct task_struct *task, u64 key);
#define BTF_KFUNCS_END(name)
#define THIS_MODULE			NULL
#define BPF_PROG_TYPE_TRACING		26
#define BPF_TRACE_RAW_TP		23

struct bpf_prog {
	int type;
	int expected_attach_type;
	struct { const char *attach_func_name; } *aux;
};

struct btf_kfunc_id_set {
	void *owner;
	const void *set;
	int (*filter)(const struct bpf_prog *program, u32 id);
};

static int register_btf_kfunc_id_set(int type, const struct btf_kfunc_id_set *kfuncs)
{
	return kfuncs->filter ? 0 : -EINVAL;
}

/* --- In place of kmod/compat.h, group.h, holder.h and source.h: who was called, and how. --- */

#define FLOWTAP_KMOD_COMPAT_H
#define FLOWTAP_KMOD_GROUP_H
#define FLOWTAP_KMOD_HOLDER_H
#define FLOWTAP_KMOD_SOURCE_H

static const char *called;		/* what the last one was; NULL: nobody */
static struct task_struct *about;
static bool secure;
static int moved;			/* might have been on another CPU at its end */

/*
 * Whoever changes what belongs to the CPU on which the task runs: with preemption on it may be
 * another one the next moment.
 */
static void act(const char *name, struct task_struct *task)
{
	called = name;
	about = task;
	moved += !preemption_off;
}

static void group_forked(struct task_struct *parent, struct task_struct *child)
{
	act("forked", child);
}

static void group_executes(struct task_struct *task)
{
	act("executes", task);
}

static void group_executed(struct task_struct *task, bool conceals)
{
	act("executed", task);
	secure = conceals;
}

static void group_exited(struct task_struct *task)
{
	act("exited", task);
}

static void holder_switch(struct task_struct *previous, struct task_struct *next)
{
	called = "switch";
	about = next;
}

static void holder_interrupt_done(void *data, int irq, struct irqaction *action, int result)
{
}

static bool thaws;

static bool source_thaws(int *irq)
{
	*irq = 7;
	return thaws;
}

struct flowtap_group {
	u64 key;
};

static struct flowtap_group the_group = { .key = 1234 };

static struct flowtap_group *group_by_key(u64 key)
{
	moved += !rcu_held;
	return key == the_group.key ? &the_group : NULL;
}

static int group_change(struct flowtap_group *group, struct task_struct *task, bool add)
{
	act(add ? "add" : "remove", task);
	moved += !rcu_held;
	return 0;
}

/* The C library has a function of that name. */
#define on_exit probe_exit
#include "../../../kmod/hooks.c"
#include "../../../kmod/bpf.c"

FIXTURE(hooks)
{
	struct task_struct task, child;
};

FIXTURE_SETUP(hooks)
{
	memcpy(tracepoints, all, sizeof(tracepoints));
	thaws = true;
	called = NULL;
	ASSERT_EQ(0, hooks_init());
	ASSERT_EQ(0, hooks_get());
}

FIXTURE_TEARDOWN(hooks)
{
	EXPECT_EQ(0, preemption_off);
	EXPECT_EQ(0, rcu_held);
}

#define PASS(n, type, ...) ((type *)tracepoints[n].function)(tracepoints[n].data, __VA_ARGS__)

/* As kernels after 6.12 pass them: with preemption on. */
TEST_F(hooks, a_task_stays_on_its_cpu_until_the_module_is_done_with_it)
{
	struct linux_binprm program = { .secureexec = true };

	PASS(FORK, on_fork_type, &self->task, &self->child);
	EXPECT_STREQ("forked", called);
	EXPECT_EQ(&self->child, about);
	EXPECT_EQ(0, preemption_off);
	PASS(PREPARE_EXEC, on_prepare_exec_type, &self->task, &program);
	EXPECT_STREQ("executes", called);
	EXPECT_EQ(0, preemption_off);
	PASS(EXEC, on_exec_type, &self->task, 1, &program);
	EXPECT_STREQ("executed", called);
	EXPECT_TRUE(secure);
	EXPECT_EQ(0, preemption_off);
	PASS(EXIT, on_exit_type, &self->task, true);
	EXPECT_STREQ("exited", called);
	EXPECT_EQ(&self->task, about);
	EXPECT_EQ(0, preemption_off);
	EXPECT_EQ(0, moved);
	PASS(SWITCH, on_switch_type, false, &self->task, &self->child, 0);
	EXPECT_STREQ("switch", called);
	EXPECT_EQ(&self->child, about);
}

TEST_F(hooks, so_it_does_while_a_bpf_program_changes_a_set)
{
	EXPECT_EQ(0, flowtap_add_task(&self->task, the_group.key));
	EXPECT_STREQ("add", called);
	EXPECT_EQ(&self->task, about);
	EXPECT_EQ(0, flowtap_remove_task(&self->task, the_group.key));
	EXPECT_STREQ("remove", called);
	EXPECT_EQ(0, moved);
	called = NULL;
	EXPECT_EQ(-ESRCH, flowtap_add_task(&self->task, the_group.key + 1));
	EXPECT_EQ(NULL, called);
}

/* BPF programs come after the module's own hooks. */
TEST_F(hooks, they_are_in_place_for_a_while_after_the_last_stream)
{
	int i;

	for (i = 0; i < OTHER; i++) {
		EXPECT_NE(NULL, tracepoints[i].function) TH_LOG("%s", tracepoints[i].name);
		EXPECT_LT(TRACEPOINT_DEFAULT_PRIO, tracepoints[i].priority);
	}
	EXPECT_EQ(NULL, tracepoints[OTHER].function);
	EXPECT_EQ((void *)7, tracepoints[INTERRUPT].data);
	ASSERT_EQ(0, hooks_get());
	hooks_put();
	EXPECT_EQ(0, delay);
	hooks_put();
	EXPECT_EQ(IDLE_SECONDS * HZ, delay);
	/* There is one again when that time is over: they stay. */
	ASSERT_EQ(0, hooks_get());
	idle(NULL);
	EXPECT_NE(NULL, tracepoints[SWITCH].function);
	hooks_put();
	synchronized = false;
	idle(NULL);
	for (i = 0; i < TRACEPOINTS; i++)
		EXPECT_EQ(NULL, tracepoints[i].function);
	EXPECT_TRUE(synchronized);
}

TEST_F(hooks, where_one_has_no_place_none_has)
{
	int i, n;

	hooks_put();
	hooks_exit();
	for (n = 0; n < OTHER; n++) {
		tracepoints[n].error = -ENOMEM;
		synchronized = false;
		EXPECT_EQ(-ENOMEM, hooks_get());
		EXPECT_TRUE(synchronized);
		for (i = 0; i < TRACEPOINTS; i++)
			EXPECT_EQ(NULL, tracepoints[i].function);
		tracepoints[n].error = 0;
	}
	EXPECT_EQ(0, hooks_get());
}

TEST_HARNESS_MAIN
