// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows which events CONFIGURE takes, and that each task of a set has one event which counts while
 * the set does: made, inherited, made anew where perf cannot turn it, released, or missed and told.
 */
#include "event_driver.h"

/* --- Which events there may be. --- */

static const struct flowtap_configure good = {
	.triggers = FLOWTAP_TRIGGER_OVERFLOW, .event_type = PERF_TYPE_HARDWARE, .period = 1000,
	.modes = FLOWTAP_MODE_USER,
};

TEST(types_and_periods)
{
	struct flowtap_configure configure = good;
	static const u64 periods[] = { 0, 1, 999, 1000, 1ULL << 62, (1ULL << 63) - 1, 1ULL << 63, -1ULL };

	for (u32 type = 0; type < 8; type++) {
		configure.event_type = type;
		EXPECT_EQ(type == PERF_TYPE_TRACEPOINT || type > PERF_TYPE_RAW ? -EINVAL : 0,
			  event_check(&configure)) TH_LOG("type %u", type);
	}
	configure = good;
	for (unsigned int i = 0; i < COUNT(periods); i++) {
		configure.period = periods[i];
		EXPECT_EQ(i >= 3 && i <= 5 ? 0 : -EINVAL, event_check(&configure));
	}
}

TEST(what_is_said_of_an_event_that_nobody_asks_for)
{
	struct flowtap_configure configure = { .triggers = ~FLOWTAP_TRIGGER_OVERFLOW };
	u64 *const wide[] = { &configure.period, &configure.event_config, &configure.event_config1,
			      &configure.event_config2 };

	EXPECT_EQ(0, event_check(&configure));
	for (unsigned int i = 0; i < COUNT(wide); i++) {
		*wide[i] = 1;
		EXPECT_EQ(-EINVAL, event_check(&configure));
		*wide[i] = 0;
	}
	configure.event_type = 1;
	EXPECT_EQ(-EINVAL, event_check(&configure));
}

/* What is wrong anywhere is EINVAL, whatever the machine has. */
TEST(what_only_some_machines_have)
{
	struct flowtap_configure configure = good;

	for (unsigned int which = 0; which < 2; which++) {
		configure.event_config1 = !which;
		configure.event_config2 = which;
		harmless = true;
		EXPECT_EQ(0, event_check(&configure));
		harmless = false;
		EXPECT_EQ(-EOPNOTSUPP, event_check(&configure));
		configure.period = 1;
		EXPECT_EQ(-EINVAL, event_check(&configure));
		configure.period = 1000;
	}
	configure = good;
	by_nmi = true;
	for (u32 type = 0; type <= PERF_TYPE_RAW; type++) {
		configure.event_type = type;
		EXPECT_EQ(type == PERF_TYPE_TRACEPOINT ? -EINVAL :
			  type == PERF_TYPE_SOFTWARE ? 0 : -EOPNOTSUPP, event_check(&configure));
	}
	configure = good;
	configure.period = 1;
	EXPECT_EQ(-EINVAL, event_check(&configure));
	by_nmi = false;
}

/* --- Events of tasks. --- */

FIXTURE(event)
{
	struct flowtap_group group;
	struct perf_event_context contexts[TASKS];
	struct seen_task tasks[TASKS];
};

FIXTURE_SETUP(event)
{
	memset(&core, 0, sizeof(core));
	memset(&perf_host, 0, sizeof(perf_host));
	warned = irqs_off = allocated = 0;
	nmi = no_memory = without_rcu = false;
	self->group = (struct flowtap_group){ .configure = good, .open = true };
	list_init(&self->group.events);
	for (unsigned int i = 0; i < TASKS; i++) {
		self->contexts[i].lock = 0;
		list_init(&self->contexts[i].event_list);
		self->tasks[i].perf_event_ctxp = &self->contexts[i];
		self->group.set.members[i] = (struct flowtap_member){
			.task = i < TASKS - 1 ? &self->tasks[i] : NULL,
		};
	}
}

FIXTURE_TEARDOWN(event)
{
	event_release(&self->group);
	EXPECT_EQ(0, perf_host.alive);
	EXPECT_EQ(0, allocated);
	EXPECT_EQ(0, self->group.set.lock | rcu_held | without_rcu);
	EXPECT_EQ(0, core.irqs_on);
}

/* That of a member. */
static struct perf_event *perf_of(FIXTURE_DATA(event) *self, unsigned int i)
{
	struct flowtap_event *event = self->group.set.members[i].event;

	return event ? event->perf : NULL;
}

TEST_F(event, each_member_has_one_that_counts_as_the_group_does)
{
	struct perf_event *first;

	event_sync(&self->group);
	EXPECT_EQ(TASKS - 1, perf_host.made);
	for (unsigned int i = 0; i < TASKS - 1; i++) {
		ASSERT_NE(NULL, perf_of(self, i));
		EXPECT_EQ(&self->tasks[i], (void *)perf_of(self, i)->task);
		EXPECT_EQ(-1, perf_of(self, i)->cpu);
		EXPECT_EQ(1, +perf_of(self, i)->attr.disabled);
		EXPECT_EQ(0, +perf_of(self, i)->attr.enable_on_exec);
	}
	first = perf_of(self, 0);
	self->group.enabled = true;
	event_sync(&self->group);
	EXPECT_EQ(TASKS - 1, perf_host.turned);
	EXPECT_EQ(0, +perf_of(self, 2)->attr.disabled);
	/* Nothing is to be done. */
	event_sync(&self->group);
	EXPECT_EQ(TASKS - 1, perf_host.turned);
	self->group.enabled = false;
	event_sync(&self->group);
	EXPECT_EQ(1, +perf_of(self, 0)->attr.disabled);
	EXPECT_EQ(first, perf_of(self, 0));
	EXPECT_EQ(TASKS - 1, perf_host.made);
	/* Nobody reads it. */
	self->group.open = false;
	event_sync(&self->group);
	EXPECT_EQ(0, perf_host.alive);
	EXPECT_EQ(NULL, perf_of(self, 0));
	/* Without an event to count. */
	self->group.open = true;
	self->group.configure.triggers = 0;
	event_sync(&self->group);
	EXPECT_EQ(0, perf_host.alive);
}

TEST_F(event, it_counts_where_and_for_whom_it_was_asked)
{
	struct flowtap_configure *configure = &self->group.configure;
	const struct perf_event_attr *attr;

	for (unsigned int set = 0; set < 16; set++) {
		configure->modes = (set & 1 ? FLOWTAP_MODE_USER : 0) |
				   (set & 2 ? FLOWTAP_MODE_KERNEL : 0);
		configure->flags = set & 4 ? FLOWTAP_INHERIT : 0;
		configure->event_type = set & 8 ? PERF_TYPE_SOFTWARE : PERF_TYPE_RAW;
		configure->event_config = 11;
		configure->event_config1 = 12;
		configure->event_config2 = 13;
		configure->period = 4567;
		self->group.enabled = true;
		event_sync(&self->group);
		attr = &perf_of(self, 1)->attr;
		EXPECT_EQ(configure->event_type, attr->type);
		EXPECT_EQ(11, attr->config);
		EXPECT_EQ(12, attr->config1);
		EXPECT_EQ(13, attr->config2);
		EXPECT_EQ(4567, attr->sample_period);
		EXPECT_EQ(sizeof(*attr), attr->size);
		EXPECT_EQ(!(set & 1), +attr->exclude_user);
		EXPECT_EQ(!(set & 2), +attr->exclude_kernel);
		EXPECT_EQ(1, +attr->exclude_hv);
		EXPECT_EQ(1, +attr->exclude_guest);
		EXPECT_EQ(!!(set & 8), +attr->exclude_idle);
		EXPECT_EQ(1, +attr->inherit);
		EXPECT_EQ(!(set & 4), +attr->inherit_thread);
		EXPECT_EQ(0, +attr->disabled);
		event_release(&self->group);
	}
}

TEST_F(event, from_the_next_exec_on)
{
	struct flowtap_event *event;

	self->group.exec_pending = true;
	event_sync(&self->group);
	EXPECT_EQ(1, +perf_of(self, 0)->attr.disabled);
	EXPECT_EQ(1, +perf_of(self, 0)->attr.enable_on_exec);
	/* perf has let it count. */
	event = self->group.set.members[0].event;
	event_executed(event);
	EXPECT_TRUE(event->on);
	self->group.exec_pending = false;
	self->group.enabled = true;
	event_sync(&self->group);
	EXPECT_EQ(event, self->group.set.members[0].event);
	EXPECT_EQ(TASKS - 2, perf_host.turned);
	/* What was armed for an exec cannot be turned back: it is made anew. */
	self->group.enabled = false;
	event_sync(&self->group);
	EXPECT_EQ(2 * (TASKS - 1), perf_host.made);
	EXPECT_EQ(TASKS - 1, perf_host.alive);
	EXPECT_EQ(0, +perf_of(self, 0)->attr.enable_on_exec);
	/* One that was not armed counts on no exec. */
	event = self->group.set.members[0].event;
	event_executed(event);
	EXPECT_FALSE(event->on);
	self->group.exec_pending = true;
	event_sync(&self->group);
	EXPECT_EQ(3 * (TASKS - 1), perf_host.made);
	EXPECT_EQ(1, +perf_of(self, 0)->attr.enable_on_exec);
}

/* perf does not turn those that were inherited. */
TEST_F(event, a_family_is_made_anew)
{
	struct perf_event child = { 0 };
	struct flowtap_event *event;

	event_sync(&self->group);
	event = self->group.set.members[0].event;
	event->armed = true;
	list_add_tail(&child.child_list, &event->perf->child_list);
	/* Another one of the family has executed. */
	event_executed(event);
	EXPECT_FALSE(event->on);
	event->armed = false;
	event_sync(&self->group);
	EXPECT_EQ(TASKS - 1, perf_host.made);
	self->group.set.members[TASKS - 1] = (struct flowtap_member){
		.task = &self->tasks[TASKS - 1], .event = event,
	};
	self->group.enabled = true;
	event_sync(&self->group);
	/* That of the family is two now. */
	EXPECT_EQ(TASKS - 1 + 2, perf_host.made);
	EXPECT_EQ(TASKS, perf_host.alive);
	EXPECT_NE(self->group.set.members[0].event, self->group.set.members[TASKS - 1].event);
	/* Its task has ended, heirs go on. */
	event = self->group.set.members[1].event;
	event->perf->state = PERF_EVENT_STATE_EXIT;
	list_add_tail(&child.child_list, &event->perf->child_list);
	event_sync(&self->group);
	EXPECT_EQ(event, self->group.set.members[1].event);
	list_del_rcu(&child.child_list);
}

TEST_F(event, who_left_or_ended_has_none)
{
	event_sync(&self->group);
	event_left(self->group.set.members[0].event);
	perf_of(self, 1)->state = PERF_EVENT_STATE_EXIT;
	perf_of(self, 2)->state = PERF_EVENT_STATE_EXIT + 1;
	self->group.set.members[0].task = NULL;
	self->group.set.members[1].task = NULL;
	event_sync(&self->group);
	EXPECT_EQ(1, perf_host.alive);
	EXPECT_EQ(TASKS - 1, perf_host.made);
	EXPECT_NE(NULL, perf_of(self, 2));
	/* One that goes while it is made: nobody has it, the next look releases it. */
	EXPECT_EQ(0, event_add(&self->group, &self->tasks[0]));
	EXPECT_EQ(2, perf_host.alive);
	event_sync(&self->group);
	EXPECT_EQ(1, perf_host.alive);
}

/* Whoever adds tasks that end, and does nothing else, has no memory for each of them. */
TEST_F(event, adding_releases_those_that_ended)
{
	struct flowtap_member *member = &self->group.set.members[0];
	struct perf_event child = {};
	unsigned int most = 0;

	event_sync(&self->group);
	/* Its children have one still. */
	list_add_tail(&child.child_list, &perf_of(self, 0)->child_list);
	for (unsigned int i = 0; i < 1000; i++) {
		perf_of(self, 0)->state = PERF_EVENT_STATE_EXIT;
		member->event = NULL;
		ASSERT_EQ(0, event_add(&self->group, &self->tasks[0]));
		most = perf_host.alive > most ? perf_host.alive : most;
	}
	EXPECT_EQ(1000 + TASKS - 1, perf_host.made);
	EXPECT_GE(TASKS + 2 * EVENTS_LOOK, most);
	/* That one, those of tasks that live, and what has ended since the last look. */
	event_sync(&self->group);
	EXPECT_EQ(TASKS, perf_host.alive);
	list_del_rcu(&child.child_list);
	event_sync(&self->group);
	EXPECT_EQ(TASKS - 1, perf_host.alive);
}

/* A look costs what there are many: of those that live there is one each time their number has doubled. */
TEST_F(event, adding_looks_seldom_where_none_has_ended)
{
	unsigned int looks = 0, last = 0;

	event_sync(&self->group);
	for (unsigned int i = 0; i < 3000; i++) {
		self->group.set.members[0].event = NULL;
		ASSERT_EQ(0, event_add(&self->group, &self->tasks[0]));
		looks += self->group.look_at_events != last;
		last = self->group.look_at_events;
	}
	EXPECT_GE(8, looks);
	EXPECT_LT(3000, self->group.look_at_events);
	EXPECT_EQ(3000 + TASKS - 1, perf_host.alive);
}

TEST_F(event, a_task_without_one_is_told_once)
{
	self->group.enabled = true;
	perf_host.error = -ESRCH;
	event_sync(&self->group);
	EXPECT_EQ(0, core.gaps);
	EXPECT_FALSE(self->group.set.members[0].uncounted);
	perf_host.error = -ENOMEM;
	core.no_stream = true;
	event_sync(&self->group);
	EXPECT_FALSE(self->group.set.members[0].uncounted);
	core.no_stream = false;
	event_sync(&self->group);
	EXPECT_EQ(TASKS - 1, core.gaps);
	EXPECT_EQ(FLOWTAP_CAUSE_MEMORY, core.cause);
	EXPECT_EQ(0, allocated);
	perf_host.error = 0;
	event_sync(&self->group);
	EXPECT_EQ(TASKS - 1, core.gaps);
	EXPECT_EQ(0, perf_host.made);
	/* Of ours there is no memory either. */
	self->group.set.members[0].uncounted = false;
	no_memory = true;
	event_sync(&self->group);
	EXPECT_EQ(TASKS, core.gaps);
	EXPECT_EQ(-ENOMEM, event_add(&self->group, &self->tasks[1]));
	no_memory = false;
	perf_host.error = -EACCES;
	EXPECT_EQ(-EACCES, event_add(&self->group, &self->tasks[1]));
}

TEST_F(event, a_task_has_that_of_the_group)
{
	struct flowtap_group other = { .configure = good, .open = true };
	struct flowtap_event *event;

	list_init(&other.events);
	other.set.members[0].task = &self->tasks[0];
	event_sync(&self->group);
	event_sync(&other);
	event = self->group.set.members[0].event;
	EXPECT_EQ(event, event_of(&self->group, &self->tasks[0]));
	EXPECT_EQ(other.set.members[0].event, event_of(&other, &self->tasks[0]));
	EXPECT_EQ(NULL, event_of(&other, &self->tasks[1]));
	self->tasks[2].perf_event_ctxp = NULL;
	EXPECT_EQ(NULL, event_of(&self->group, &self->tasks[2]));
	self->tasks[2].perf_event_ctxp = &self->contexts[2];
	/* Somebody else's, whose context is no event of ours. */
	perf_of(self, 1)->overflow_handler = NULL;
	EXPECT_EQ(NULL, event_of(&self->group, &self->tasks[1]));
	event->dead = true;
	EXPECT_EQ(NULL, event_of(&self->group, &self->tasks[0]));
	event->dead = false;
	EXPECT_EQ(0, self->contexts[0].lock);
	event_release(&other);
}

/* --- Overflows. --- */

TEST_F(event, an_overflow_triggers_with_interrupts_off)
{
	struct flowtap_configure *configure = &self->group.configure;
	struct perf_event *perf;
	struct pt_regs regs = { 0 };

	for (u32 type = 0; type <= PERF_TYPE_RAW; type++) {
		const bool soft = type == PERF_TYPE_SOFTWARE;

		if (type == PERF_TYPE_TRACEPOINT)
			continue;
		configure->event_type = type;
		event_sync(&self->group);
		perf = perf_of(self, 0);
		memset(&core, 0, sizeof(core));
		for (unsigned int how = 0; how < 3; how++) {
			/* A counter's interrupt; perf stops a software event until the next tick. */
			irqs_off = !soft;
			perf->hw.interrupts = how == 1 ? ~0ULL : 5;
			nmi = how == 2;
			perf->overflow_handler(perf, NULL, &regs);
			EXPECT_EQ(!soft, irqs_off);
			EXPECT_EQ(soft && how, core.throttled);
		}
		EXPECT_EQ(2, core.samples);
		EXPECT_EQ(FLOWTAP_TRIGGER_OVERFLOW, core.trigger);
		EXPECT_EQ(1, warned);
		warned = irqs_off = 0;
		nmi = false;
		event_release(&self->group);
	}
}

TEST_F(event, a_cpu_has_one_for_all_tasks)
{
	struct flowtap_stream stream = { .group = &self->group, .cpu = 3 };
	struct pt_regs regs = { 0 };
	unsigned int alive;

	self->group.configure.event_type = PERF_TYPE_SOFTWARE;
	for (unsigned int enabled = 0; enabled < 2; enabled++) {
		stream.enabled = enabled;
		EXPECT_EQ(0, event_open_cpu(&stream));
		EXPECT_EQ(1, perf_host.alive);
		EXPECT_EQ(3, stream.event->cpu);
		EXPECT_EQ(NULL, stream.event->task);
		EXPECT_EQ(!enabled, +stream.event->attr.disabled);
		EXPECT_EQ(0, +stream.event->attr.inherit);
	}
	stream.event->overflow_handler(stream.event, NULL, &regs);
	EXPECT_EQ(1, core.samples);
	event_close_cpu(&stream);
	alive = perf_host.alive;
	EXPECT_EQ(0, alive);
	EXPECT_EQ(NULL, stream.event);
	event_close_cpu(&stream);
	perf_host.error = -ENODEV;
	EXPECT_EQ(-ENODEV, event_open_cpu(&stream));
	EXPECT_EQ(NULL, stream.event);
}

TEST_HARNESS_MAIN
