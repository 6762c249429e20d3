// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows whose CPU is interrupted to write a GAP record: that of a group's stream where the task may
 * run as often as there is one, any other so often in a second only; and that what is not written
 * there is counted and told. kmod/gap.c, output.c and ring.c are compiled into this program.
 */
#include "support/kselftest_harness.h"

#include "kernel_output.h"

/* --- What they take from the kernel: several CPUs. --- */

#define CPUS		3

#undef DEFINE_PER_CPU
#undef per_cpu
#define DEFINE_PER_CPU(type, name)	type name[CPUS]
#define per_cpu(name, cpu)		(name)[cpu]
#define DEFINE_RAW_SPINLOCK(name)	int name

static bool locked;

#define raw_spin_lock_irqsave(lock, flags)	((void)(flags = ++*(lock)), locked = true)
#define raw_spin_unlock_irqrestore(lock, flags)	((void)(flags = --*(lock)), locked = false)

/* --- In place of kmod/compat.h, timer.h and aux.h. --- */

#define FLOWTAP_KMOD_COMPAT_H
#define FLOWTAP_KMOD_TIMER_H
#define FLOWTAP_KMOD_AUX_H
#define AUX_SPARE_PAGES	2

#include <linux/flowtap.h>

struct flowtap_ring_writer;

struct flowtap_aux {
	u8 *bytes;
	u32 watermark;
};

static int aux_init(struct flowtap_aux *aux, struct flowtap_ring_writer *ring,
		    const struct flowtap_configure *configure)
{
	return 0;
}

static void aux_free(struct flowtap_aux *aux)
{
}

static u64 aux_waiting(const struct flowtap_aux *aux)
{
	return 0;
}

#include "../../../kmod/ring.c"
#include "../../../kmod/output.c"

/* --- In place of kmod/stream.h: streams of a group, one on each CPU. --- */

#define FLOWTAP_KMOD_STREAM_H

#define list_for_each_entry_rcu(entry, head, member)	list_for_each_entry(entry, head, member)

struct flowtap_group {
	struct list_head streams;
};

struct flowtap_stream {
	struct list_head group_link;
	u32 cpu;
	bool enabled;
	struct flowtap_output output;
};

/* Who may run where: a bit for each CPU; flags are its number. */
#define cpus_mask			flags
#define cpumask_test_cpu(cpu, mask)	(*(mask) >> (cpu) & 1)

static unsigned int offline;		/* a bit for each CPU */
static u32 here;			/* the CPU that this runs on */
static u32 writer;			/* that on which a function is called */
static unsigned int asked_there[CPUS];	/* how often a CPU was asked, by another one */
static unsigned int wrong;

#define cpu_online(cpu)			(!(offline >> (cpu) & 1))
#define raw_smp_processor_id()		here

static int smp_call_function_single(u32 cpu, void (*function)(void *), void *argument, int wait)
{
	wrong += locked || !wait;
	if (!cpu_online(cpu))
		return -ENXIO;
	asked_there[cpu] += cpu != here;
	writer = cpu;
	function(argument);
	return 0;
}

static void stream_write_gap(struct flowtap_stream *stream, struct task_struct *task, u64 since,
			     u32 cause)
{
	wrong += stream->cpu != writer;
	output_write_gap(&stream->output, output_thread(&stream->output, task), since, cause,
			 FLOWTAP_UNKNOWN);
}

#include "../../../kmod/gap.c"

FIXTURE(gap)
{
	struct flowtap_group group;
	struct flowtap_stream streams[CPUS];
	struct task_struct task;
};

static void open_streams(FIXTURE_DATA(gap) *self, u32 flags)
{
	struct flowtap_configure configure = { .ring_pages = 64, .flags = flags };
	struct flowtap_stream *stream;
	u32 cpu;

	list_init(&self->group.streams);
	for (cpu = 0; cpu < CPUS; cpu++) {
		stream = &self->streams[cpu];
		configure.cpu = cpu;
		memset(stream, 0, sizeof(*stream));
		stream->cpu = cpu;
		output_init(&stream->output, &configure);
		wrong += output_allocate(&stream->output, &configure);
		list_add_tail(&stream->group_link, &self->group.streams);
	}
}

FIXTURE_SETUP(gap)
{
	clock_ns = 1234567890123;
	open_streams(self, 0);
}

static void close_streams(FIXTURE_DATA(gap) *self)
{
	u32 cpu;

	for (cpu = 0; cpu < CPUS; cpu++)
		output_free(&self->streams[cpu].output);
}

FIXTURE_TEARDOWN(gap)
{
	close_streams(self);
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(0, asked_lock);
}

struct found {
	unsigned int gaps, losts;
	u64 lost, since;	/* of the last LOST record */
};

/* What a reader finds. */
static struct found read_all(struct flowtap_output *output)
{
	struct flowtap_ring_writer *ring = &output->ring;
	struct found found = { 0 };
	const struct flowtap_record_lost *lost;
	const struct flowtap_record *record;

	while (ring->control->data_tail < ring->control->data_head) {
		record = (const void *)(ring->data + (ring->control->data_tail & (ring->size - 1)));
		found.gaps += record->type == FLOWTAP_RECORD_GAP;
		if (record->type == FLOWTAP_RECORD_LOST) {
			lost = (const void *)record;
			found.losts++;
			found.lost += lost->records;
			found.since = lost->since;
			wrong += lost->bytes != lost->records * sizeof(struct flowtap_record_gap);
		}
		ring->control->data_tail += record->size;
	}
	return found;
}

static unsigned int gaps_of(FIXTURE_DATA(gap) *self, u32 cpu)
{
	return read_all(&self->streams[cpu].output).gaps;
}

static bool write_gap(FIXTURE_DATA(gap) *self)
{
	return gap_write(&self->group, &self->task, clock_ns, FLOWTAP_CAUSE_NO_STREAM);
}

static u64 lost_records(const struct flowtap_output *output)
{
	struct flowtap_stats stats;

	output_stats(output, &stats);
	return stats.lost_records;
}

TEST_F(gap, this_cpu_writes_it_or_one_where_the_task_may_run_or_any)
{
	u32 cpu;

	/* It may run on the last one. */
	self->task.cpus_mask = 1 << 2;
	EXPECT_FALSE(write_gap(self));
	for (cpu = 0; cpu < CPUS; cpu++)
		self->streams[cpu].enabled = true;
	here = 1;
	EXPECT_TRUE(write_gap(self));
	EXPECT_EQ(1, gaps_of(self, 1));
	self->streams[1].enabled = false;
	EXPECT_TRUE(write_gap(self));
	EXPECT_EQ(1, gaps_of(self, 2));
	offline = 1 << 2;
	EXPECT_TRUE(write_gap(self));
	EXPECT_EQ(1, gaps_of(self, 0));
	offline = 1 << 2 | 1 << 0;
	EXPECT_FALSE(write_gap(self));
	for (cpu = 0; cpu < CPUS; cpu++) {
		EXPECT_EQ(0, gaps_of(self, cpu));
		EXPECT_EQ(0, lost_records(&self->streams[cpu].output));
	}
}

TEST_F(gap, who_could_not_be_added_is_counted)
{
	struct flowtap_stats stats;

	self->streams[1].enabled = true;
	here = 1;
	EXPECT_TRUE(gap_write(&self->group, &self->task, 5, FLOWTAP_CAUSE_MEMORY));
	EXPECT_TRUE(write_gap(self));
	output_stats(&self->streams[1].output, &stats);
	EXPECT_EQ(1, stats.losses[FLOWTAP_CAUSE_MEMORY]);
	/* Those the samples count. */
	EXPECT_EQ(0, stats.losses[FLOWTAP_CAUSE_NO_STREAM]);
}

TEST_F(gap, a_cpu_where_the_task_may_run_is_asked_for_each)
{
	unsigned int n;

	self->task.cpus_mask = 1 << 1;
	self->streams[1].enabled = true;
	for (n = 0; n < 10 * ASKED_PER_SECOND; n++)
		ASSERT_TRUE(write_gap(self));
	EXPECT_EQ(n, asked_there[1]);
	EXPECT_EQ(n, gaps_of(self, 1));
}

TEST_F(gap, another_one_is_asked_so_often_in_a_second_and_the_rest_is_counted)
{
	struct flowtap_output *output = &self->streams[1].output;
	unsigned int n, second, all = 0;
	u64 since = 0;
	struct found found;

	self->task.cpus_mask = 1 << 0;
	self->streams[1].enabled = true;
	for (second = 1; second < 4; second++) {
		for (n = 0; n < 20 * ASKED_PER_SECOND; n++) {
			ASSERT_TRUE(write_gap(self));
			if (n == ASKED_PER_SECOND)
				since = clock_ns;
		}
		all += n;
		EXPECT_EQ(second * ASKED_PER_SECOND, asked_there[1]);
		EXPECT_EQ(all - asked_there[1], lost_records(output));
		/* The last ones of the second before are told ahead of this one's. */
		found = read_all(output);
		EXPECT_EQ(ASKED_PER_SECOND, found.gaps);
		EXPECT_EQ(second > 1, found.losts);
		EXPECT_EQ(second > 1 ? n - ASKED_PER_SECOND : 0, found.lost);
		EXPECT_EQ(0, asked_there[0] + asked_there[2]);
		clock_ns += NSEC_PER_SEC;
	}
	/* DISABLE writes what is left. */
	EXPECT_FALSE(output_lost_fits(output, false));
	EXPECT_TRUE(output_lost_fits(output, true));
	output_write_lost(output);
	EXPECT_FALSE(output_lost_fits(output, true));
	found = read_all(output);
	EXPECT_EQ(0, found.gaps);
	EXPECT_EQ(1, found.losts);
	EXPECT_EQ(n - ASKED_PER_SECOND, found.lost);
	EXPECT_GE(since, found.since);
	EXPECT_LT(since - 10, found.since);
	EXPECT_EQ(all - asked_there[1], lost_records(output));
	output_write_lost(output);
	EXPECT_EQ(0, read_all(output).losts);
}

TEST_F(gap, each_cpu_is_counted_by_itself_and_a_last_record_has_more)
{
	unsigned int n;

	for (n = 0; n < ASKED_PER_SECOND; n++)
		EXPECT_TRUE(gap_may_ask(1, false));
	EXPECT_FALSE(gap_may_ask(1, false));
	EXPECT_TRUE(gap_may_ask(2, false));
	for (n = 0; n < ASKED_PER_SECOND; n++)
		EXPECT_TRUE(gap_may_ask(1, true));
	EXPECT_FALSE(gap_may_ask(1, true));
	/* A CPU whose clock is a little behind does not begin a second. */
	clock_ns -= 1000;
	EXPECT_FALSE(gap_may_ask(1, true));
	clock_ns += NSEC_PER_SEC + 1000;
	EXPECT_TRUE(gap_may_ask(1, false));
}

TEST_F(gap, a_flight_recorder_has_it_in_its_stats_alone)
{
	struct flowtap_output *output = &self->streams[1].output;
	unsigned int n;

	close_streams(self);
	open_streams(self, FLOWTAP_OVERWRITE);
	self->task.cpus_mask = 1 << 0;
	self->streams[1].enabled = true;
	for (n = 0; n < 20 * ASKED_PER_SECOND; n++)
		ASSERT_TRUE(write_gap(self));
	EXPECT_EQ(n - ASKED_PER_SECOND, lost_records(output));
	EXPECT_FALSE(output_lost_fits(output, true));
	output_write_lost(output);
	clock_ns += NSEC_PER_SEC;
	EXPECT_TRUE(write_gap(self));
	EXPECT_EQ(ASKED_PER_SECOND + 1, output->ring.records);
	EXPECT_EQ(0, read_all(output).losts);
	EXPECT_EQ(n - ASKED_PER_SECOND, lost_records(output));
}

TEST_HARNESS_MAIN
