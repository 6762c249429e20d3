// SPDX-License-Identifier: GPL-2.0-only
/* Shows what the decoder makes of AUX records: whose the bytes are, and one gap for each loss. */
#include "ete/aux_internal.h"

#include "unit/ete/aux_fixture.h"

/* --- What a record becomes. --- */

TEST_F(aux, a_record_is_a_session_of_its_task)
{
	struct stream stream = rounds("EE");
	struct flowtap_record_aux *record = next(self, 0, PID, &stream);
	const struct flowtap_aux_counts *counts;

	record->loss = 1U << FLOWTAP_CAUSE_START;
	EXPECT_EQ(0, put(self, record));
	EXPECT_FLOW(USER
		    "gap start until=10.000000000 size=unknown\n"
		    "session\n"
		    "time 10.000000000\n"
		    "trace_on\n"
		    USER ROUND ROUND);
	EXPECT_EQ(0, flowtap_aux_finish(self->aux));
	EXPECT_FLOW("");
	counts = flowtap_aux_counts(self->aux);
	EXPECT_EQ(1, counts->records);
	EXPECT_EQ(stream.size, counts->bytes);
	EXPECT_EQ(0, counts->missing);
	EXPECT_EQ(0, counts->bad_records);
	EXPECT_EQ(1, counts->gaps[FLOWTAP_GAP_START]);
	EXPECT_EQ(4, counts->ete.instructions);
}

TEST_F(aux, what_is_contiguous_has_no_gap)
{
	struct stream stream = rounds("E");

	begin(self, 0, PID);
	EXPECT_EQ(0, put(self, next(self, 0, PID, &stream)));
	EXPECT_FLOW("session\ntime 11.000000000\ntrace_on\n" USER ROUND);
}

TEST_F(aux, a_stream_goes_on_where_the_record_says_so)
{
	struct stream stream = { .size = 0 };

	begin(self, 0, PID);
	atoms(&stream, "EE");
	next(self, 0, PID, &stream)->flags = FLOWTAP_AUX_CONTINUES;
	EXPECT_EQ(0, put(self, &self->last));
	EXPECT_FLOW("time 11.000000000\n" USER ROUND ROUND);
	/* Another one's record on another CPU in between. */
	begin(self, 1, 7);
	self->sequence--;
	next(self, 0, PID, &stream)->flags = FLOWTAP_AUX_CONTINUES;
	EXPECT_EQ(0, put(self, &self->last));
	EXPECT_FLOW(USER "time 13.000000000\n" USER ROUND ROUND);
}

TEST_F(aux, what_does_not_continue_anything_is_not_decoded)
{
	struct stream stream = { .size = 0 }, whole = rounds("E");

	begin(self, 0, PID);
	begin(self, 1, PID);
	atoms(&stream, "EE");
	/* The task has been elsewhere meanwhile. */
	next(self, 0, PID, &stream)->flags = FLOWTAP_AUX_CONTINUES;
	EXPECT_EQ(0, put(self, &self->last));
	EXPECT_EQ(0, put(self, next(self, 0, PID, &whole)));
	EXPECT_FLOW(USER "session\ntime 12.000000000\n"
		    "gap unsynced size=2\nsession\ntime 13.000000000\ntrace_on\n" USER ROUND);
}

TEST_F(aux, a_task_that_moves_is_one_flow)
{
	struct stream stream = rounds("E");
	int i;

	begin(self, 0, PID);
	for (i = 1; i < 4; i++)
		EXPECT_EQ(0, put(self, next(self, i & 1, PID, &stream)));
	flow(self);
	EXPECT_NE(NULL, strstr(self->out.lines, "cpu=1"));
	EXPECT_EQ(NULL, strstr(self->out.lines, "gap"));
	EXPECT_EQ(4 * 2, flowtap_aux_counts(self->aux)->ete.instructions);
}

/* A cache that is emptied at each look-up that may do so. */
static void take_small_cache(FIXTURE_DATA(aux) *self)
{
	flow_close(&self->out);
	flowtap_blocks_free(self->blocks);
	self->blocks = flowtap_blocks_new(flowtap_arm_block, 1);
	if (!self->blocks)
		abort();
	flow_open(&self->out, self->blocks);
	make(self, true);
	describe(self, 0);
	describe(self, 1);
}

/* After each timestamp its block is looked up: often enough that the cache is emptied. */
static void empty_cache(FIXTURE_DATA(aux) *self, uint32_t cpu, uint32_t tid)
{
	struct stream stream = rounds("E");

	for (int i = 0; i < 300; i++) {
		timestamp(&stream, self->clock);
		atoms(&stream, "E");
	}
	next(self, cpu, tid, &stream)->loss = 1U << FLOWTAP_CAUSE_START;
	if (put(self, &self->last))
		abort();
	flow(self);
}

TEST_F(aux, a_call_returns_though_another_cpu_emptied_the_cache_meanwhile)
{
	/* bl 410010; b -0 */
	static const uint32_t calls[] = { 0x94000004, 0x14000000 };
	static const uint32_t ret[] = { 0xd65f03c0 };
	struct stream stream = { .size = 0 };

	self->configure.ete.config |= RS;
	take_small_cache(self);
	map_code(self, 0, CODE + 0x10000, calls, sizeof(calls), "calls");
	map_code(self, 0, CODE + 0x10010, ret, sizeof(ret), "ret");
	start(&stream);
	at(&stream, CODE + 0x10000, 0, 0, 0, 0);
	atoms(&stream, "E");
	next(self, 1, 20, &stream)->loss = 1U << FLOWTAP_CAUSE_START;
	EXPECT_EQ(0, put(self, &self->last));
	flow(self);
	EXPECT_NE(NULL, strstr(self->out.lines, "range 410000 410004 1 A64 E\n"));
	empty_cache(self, 0, PID);
	self->sequence = 1;
	stream.size = 0;
	atoms(&stream, "EE");
	next(self, 1, 20, &stream)->flags = FLOWTAP_AUX_CONTINUES;
	EXPECT_EQ(0, put(self, &self->last));
	flow(self);
	EXPECT_NE(NULL, strstr(self->out.lines, "range 410010 410014 1 A64 E\n"
			       "range 410004 410008 1 A64 E\n"));
	EXPECT_EQ(NULL, strstr(self->out.lines, "session"));
}

TEST_F(aux, only_the_kernel_of_its_exception_level_has_code)
{
	struct stream stream = { .size = 0 };

	map_kernel(self);
	begin(self, 0, PID);
	start(&stream);
	at(&stream, KERNEL, 1, 0, 0, 0);
	atoms(&stream, "E");
	EXPECT_EQ(0, put(self, next(self, 0, PID, &stream)));
	flow(self);
	EXPECT_NE(NULL, strstr(self->out.lines, "range ffff800080010000 ffff800080010008 2 A64 E\n"));
	/* A guest's; and what is no address of the level. */
	stream.size = 0;
	start(&stream);
	at(&stream, KERNEL, 2, 0, 0, 0);
	atoms(&stream, "E");
	EXPECT_EQ(0, put(self, next(self, 0, PID, &stream)));
	flow(self);
	EXPECT_NE(NULL, strstr(self->out.lines, "no_image ffff800080010000\n"));
	stream.size = 0;
	start(&stream);
	at(&stream, CODE, 1, 0, 0, 0);
	atoms(&stream, "E");
	EXPECT_EQ(0, put(self, next(self, 0, PID, &stream)));
	flow(self);
	EXPECT_NE(NULL, strstr(self->out.lines, "no_image 400000\n"));
}

TEST_F(aux, the_module_itself_is_a_gap_in_the_kernel_flow)
{
	struct stream stream = rounds("E");

	self->configure.modes |= FLOWTAP_MODE_KERNEL;
	make(self, true);
	describe(self, 0);
	begin(self, 0, PID);
	EXPECT_EQ(0, put(self, next(self, 0, PID, &stream)));
	EXPECT_FLOW("gap recorder size=unknown\nsession\ntime 11.000000000\ntrace_on\n" USER
		    ROUND);
	/* A loss is the cause that is told then. */
	lost(self, next(self, 0, PID, &stream), 1U << FLOWTAP_CAUSE_DISABLED);
	EXPECT_EQ(0, put(self, &self->last));
	flow(self);
	EXPECT_EQ(NULL, strstr(self->out.lines, "recorder"));
}

TEST_F(aux, wfi_ends_a_block_where_the_trace_unit_says_so)
{
	struct stream stream = rounds("E");

	map_code(self, 0, CODE, wfi, sizeof(wfi), "wfi");
	begin(self, 0, PID);
	EXPECT_EQ(0, put(self, next(self, 0, PID, &stream)));
	flow(self);
	EXPECT_NE(NULL, strstr(self->out.lines, ROUND));
	self->query.ete.trcidr[2] |= 1U << 31;
	EXPECT_TRUE(flowtap_aux_wfx(&self->query));
	make(self, true);
	describe(self, 1);
	begin(self, 1, PID);
	self->sequence = 1;
	EXPECT_EQ(0, put(self, next(self, 1, PID, &stream)));
	flow(self);
	EXPECT_NE(NULL, strstr(self->out.lines, "range 400000 400004 1 A64 E\n"));
}

/* --- One gap for each loss. --- */

TEST_F(aux, a_loss_without_a_gap_record_is_a_gap_between_two_records)
{
	struct stream stream = rounds("E");

	begin(self, 0, PID);
	self->clock += 3 * SECOND;
	lost(self, next(self, 0, PID, &stream), 1U << FLOWTAP_CAUSE_STROBE);
	EXPECT_EQ(0, put(self, &self->last));
	EXPECT_FLOW("gap strobe since=10.500000000 until=14.000000000 size=unknown\n"
		    "session\ntime 14.000000000\ntrace_on\n" USER ROUND);
	lost(self, next(self, 0, PID, &stream), 1U << FLOWTAP_CAUSE_DISABLED | 1U << 31);
	EXPECT_EQ(0, put(self, &self->last));
	flow(self);
	EXPECT_NE(NULL, strstr(self->out.lines, "gap disabled since="));
	EXPECT_NE(NULL, strstr(self->out.lines, "gap hardware until="));
	EXPECT_NE(NULL, strstr(self->out.lines, "detail=cause 0x80000000 is not known here\n"));
}

TEST_F(aux, what_gap_and_record_both_say_is_one_gap)
{
	struct stream stream = rounds("E");

	begin(self, 0, PID);
	EXPECT_EQ(0, gap(self, 0, PID, FLOWTAP_CAUSE_DISPLACED));
	lost(self, next(self, 0, PID, &stream), 1U << FLOWTAP_CAUSE_DISPLACED);
	EXPECT_EQ(0, put(self, &self->last));
	EXPECT_FLOW("gap displaced since=11.000000000 until=11.500000000 size=unknown\n"
		    "session\ntime 12.000000000\ntrace_on\n" USER ROUND);
	/* Told once is not told for ever. */
	lost(self, next(self, 0, PID, &stream), 1U << FLOWTAP_CAUSE_DISPLACED);
	EXPECT_EQ(0, put(self, &self->last));
	flow(self);
	EXPECT_NE(NULL, strstr(self->out.lines, "gap displaced"));
}

static uint32_t set_of(struct aux_tasks *tasks, uint32_t tid)
{
	struct aux_task gone;

	return (uint32_t)((aux_tasks_get(tasks, tid, &gone) - tasks->sets[0]) / AUX_TASK_WAYS);
}

/* Tasks that share a set of the table: one more than it has room for. */
static void find_set(uint32_t tids[AUX_TASK_WAYS + 1])
{
	struct aux_tasks *tasks = calloc(1, sizeof(*tasks));
	uint32_t tid = PID;

	if (!tasks)
		abort();
	for (int i = 0; i <= AUX_TASK_WAYS; i++) {
		while (set_of(tasks, tid) != set_of(tasks, PID))
			tid++;
		tids[i] = tid++;
	}
	free(tasks);
}

/* The task that has a gap is the last that was heard of: not the one that gives way. */
TEST_F(aux, what_gap_and_record_both_say_is_one_gap_also_where_no_record_was_before)
{
	struct stream stream = rounds("E");
	uint32_t tids[AUX_TASK_WAYS + 1], tid;

	find_set(tids);
	tid = tids[AUX_TASK_WAYS - 1];
	/* First no record was there, then one was, but long ago. */
	for (unsigned int n = 1; n <= 2; n++) {
		for (int i = 0; i < AUX_TASK_WAYS - 1; i++)
			begin(self, 0, tids[i]);
		EXPECT_EQ(0, gap(self, 0, tid, FLOWTAP_CAUSE_DISPLACED));
		begin(self, 0, tids[AUX_TASK_WAYS]);
		lost(self, next(self, 0, tid, &stream), 1U << FLOWTAP_CAUSE_DISPLACED);
		EXPECT_EQ(0, put(self, &self->last));
		EXPECT_EQ(n, flowtap_aux_counts(self->aux)->gaps[FLOWTAP_GAP_DISPLACED]);
	}
}

TEST_F(aux, what_they_say_differently_is_two)
{
	struct stream stream = rounds("E");

	begin(self, 0, PID);
	EXPECT_EQ(0, gap(self, 0, PID, FLOWTAP_CAUSE_DISPLACED));
	flow(self);
	lost(self, next(self, 0, PID, &stream), 1U << FLOWTAP_CAUSE_OFFLINE);
	EXPECT_EQ(0, put(self, &self->last));
	/* Since the record before, not since the gap. */
	flow(self);
	EXPECT_NE(NULL, strstr(self->out.lines, "gap offline since=10.500000000 "));
	EXPECT_EQ(1, flowtap_aux_counts(self->aux)->gaps[FLOWTAP_GAP_DISPLACED]);
	EXPECT_EQ(1, flowtap_aux_counts(self->aux)->gaps[FLOWTAP_GAP_OFFLINE]);
}

TEST_F(aux, a_gap_of_another_task_is_not_this_ones)
{
	struct stream stream = rounds("E");

	begin(self, 0, PID);
	EXPECT_EQ(0, gap(self, 0, 7, FLOWTAP_CAUSE_DISPLACED));
	EXPECT_FLOW("context A64 EL0 nonsecure 64 pid=100 tid=7 cpu=0\n"
		    "gap displaced since=11.000000000 until=11.500000000 size=unknown\n");
	lost(self, next(self, 0, PID, &stream), 1U << FLOWTAP_CAUSE_DISPLACED);
	EXPECT_EQ(0, put(self, &self->last));
	EXPECT_EQ(2, flowtap_aux_counts(self->aux)->gaps[FLOWTAP_GAP_DISPLACED]);
}

TEST_F(aux, the_sequence_of_a_cpu_is_not_that_of_its_tasks)
{
	struct stream stream = rounds("E");

	next(self, 0, PID, &stream)->header.misc = FLOWTAP_MISC_CPU_WIDE;
	self->last.loss = 1U << FLOWTAP_CAUSE_START;
	EXPECT_EQ(0, put(self, &self->last));
	next(self, 0, 7, &stream)->header.misc = FLOWTAP_MISC_CPU_WIDE;
	EXPECT_EQ(0, put(self, &self->last));
	next(self, 0, 0, &stream)->header.misc = FLOWTAP_MISC_CPU_WIDE;
	EXPECT_EQ(0, put(self, &self->last));
	flow(self);
	EXPECT_EQ(1, flowtap_aux_counts(self->aux)->gaps[FLOWTAP_GAP_START]);
	EXPECT_NE(NULL, strstr(self->out.lines, "tid=7 cpu=0\nsession\n"));
}

TEST_F(aux, a_packet_that_was_cut_is_the_loss_that_the_gap_tells)
{
	struct stream stream = rounds("EE");

	byte(&stream, 0x85);			/* an address of which the rest is lost */
	begin(self, 0, PID);
	next(self, 0, PID, &stream)->flags = FLOWTAP_AUX_TRUNCATED;
	EXPECT_EQ(0, put(self, &self->last));
	EXPECT_EQ(0, gap(self, 0, PID, FLOWTAP_CAUSE_HARDWARE));
	stream = rounds("E");
	lost(self, next(self, 0, PID, &stream), 1U << FLOWTAP_CAUSE_HARDWARE);
	EXPECT_EQ(0, put(self, &self->last));
	EXPECT_FLOW("session\ntime 11.000000000\ntrace_on\n" USER ROUND ROUND
		    "gap hardware since=12.000000000 until=12.500000000 size=unknown\n"
		    "session\ntime 13.000000000\ntrace_on\n" USER ROUND);
}

TEST_F(aux, it_is_told_by_the_next_record_where_no_gap_record_is)
{
	struct stream stream = rounds("EE");

	byte(&stream, 0x85);
	begin(self, 0, PID);
	next(self, 0, PID, &stream)->flags = FLOWTAP_AUX_TRUNCATED;
	EXPECT_EQ(0, put(self, &self->last));
	/* On another CPU even. */
	stream = rounds("E");
	lost(self, next(self, 1, PID, &stream), 1U << FLOWTAP_CAUSE_HARDWARE);
	EXPECT_EQ(0, put(self, &self->last));
	EXPECT_EQ(0, flowtap_aux_finish(self->aux));
	flow(self);
	EXPECT_NE(NULL, strstr(self->out.lines, "gap hardware since=11.500000000 until=12.000000000 "));
	EXPECT_EQ(1, flowtap_aux_counts(self->aux)->gaps[FLOWTAP_GAP_HARDWARE]);
	EXPECT_EQ(0, flowtap_aux_counts(self->aux)->gaps[FLOWTAP_GAP_TRUNCATED]);
}

TEST_F(aux, a_cut_that_nothing_tells_is_a_gap)
{
	struct stream stream = rounds("EE");

	byte(&stream, 0x85);
	begin(self, 0, PID);
	next(self, 0, PID, &stream)->flags = FLOWTAP_AUX_PARTIAL;
	EXPECT_EQ(0, put(self, &self->last));
	EXPECT_EQ(0, flowtap_aux_finish(self->aux));
	EXPECT_FLOW("session\ntime 11.000000000\ntrace_on\n" USER ROUND ROUND
		    "gap truncated since=11.000000000 size=unknown "
		    "detail=the record says so, and no other says since when\n");
	/* Without the flag the packet has no excuse either. */
	begin(self, 1, 7);
	self->sequence = 2;
	EXPECT_EQ(0, put(self, next(self, 0, PID, &stream)));
	EXPECT_EQ(0, flowtap_aux_finish(self->aux));
	flow(self);
	EXPECT_NE(NULL, strstr(self->out.lines, "gap truncated size=1 detail=the trace ends within a"));
}

TEST_F(aux, lost_records_are_the_gap_of_the_task_that_tells_of_them_next)
{
	struct stream stream = rounds("E");

	begin(self, 0, PID);
	EXPECT_EQ(0, lost_records(self, 0, 3));
	EXPECT_EQ(0, gap(self, 0, PID, FLOWTAP_CAUSE_RING_FULL));
	lost(self, next(self, 0, PID, &stream), 1U << FLOWTAP_CAUSE_RING_FULL);
	EXPECT_EQ(0, put(self, &self->last));
	EXPECT_FLOW("gap ring_full since=11.000000000 until=11.500000000 size=unknown "
		    "detail=3 records did not fit into the ring\n"
		    "session\ntime 12.000000000\ntrace_on\n" USER ROUND);
	EXPECT_EQ(0, lost_records(self, 0, 4));
	lost(self, next(self, 0, PID, &stream), 1U << FLOWTAP_CAUSE_RING_FULL);
	EXPECT_EQ(0, put(self, &self->last));
	EXPECT_EQ(2, flowtap_aux_counts(self->aux)->gaps[FLOWTAP_GAP_RING_FULL]);
	/* No trace was lost with these, of anybody. */
	EXPECT_EQ(0, lost_records(self, 0, 5));
	EXPECT_EQ(0, put(self, next(self, 0, PID, &stream)));
	EXPECT_EQ(0, lost_records(self, 1, 6));
	flow(self);
	EXPECT_EQ(0, flowtap_aux_finish(self->aux));
	EXPECT_FLOW("context A64 EL0 nonsecure 64 cpu=1\n"
		    "gap ring_full since=15.000000000 until=15.250000000 size=unknown "
		    "detail=6 records did not fit into the ring\n");
	EXPECT_EQ(4, flowtap_aux_counts(self->aux)->gaps[FLOWTAP_GAP_RING_FULL]);
}

TEST_F(aux, records_that_are_missing_show_in_the_sequence)
{
	struct stream stream = rounds("E");

	begin(self, 0, PID);
	self->sequence += 4;
	EXPECT_EQ(0, put(self, next(self, 0, PID, &stream)));
	flow(self);
	EXPECT_NE(NULL, strstr(self->out.lines, "gap ring_full since=10.500000000 until=11.000000000 "
			       "size=unknown detail=sequence 6 follows 1\n"));
	self->sequence -= 3;
	EXPECT_EQ(0, put(self, next(self, 0, PID, &stream)));
	flow(self);
	EXPECT_NE(NULL, strstr(self->out.lines, "gap bad_record"));
	/* Beside what the record itself says. */
	self->sequence += 4;
	lost(self, next(self, 0, PID, &stream), 1U << FLOWTAP_CAUSE_DISABLED);
	EXPECT_EQ(0, put(self, &self->last));
	EXPECT_EQ(2, flowtap_aux_counts(self->aux)->gaps[FLOWTAP_GAP_RING_FULL]);
	EXPECT_EQ(1, flowtap_aux_counts(self->aux)->gaps[FLOWTAP_GAP_DISABLED]);
	/* A task whose begin is not here. */
	EXPECT_EQ(0, put(self, next(self, 0, 7, &stream)));
	flow(self);
	EXPECT_NE(NULL, strstr(self->out.lines, "gap start until="));
	EXPECT_NE(NULL, strstr(self->out.lines, "detail=the record before is not here\n"));
}

TEST_HARNESS_MAIN
