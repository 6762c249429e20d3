// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that bytes that are missing are a gap, that code is looked for as it was mapped when it was
 * executed, and that records that cannot be are a gap and no more.
 */
#include "unit/ete/aux_fixture.h"

/* --- Bytes that are not there. --- */

TEST_F(aux, missing_bytes_are_a_gap_of_their_size)
{
	struct stream stream = rounds("E");
	uint64_t from;

	begin(self, 0, PID);
	from = self->head[0] + stream.size + 3;
	for (int i = 0; i < 3; i++) {
		const struct stream more = rounds("EE");

		memcpy(stream.bytes + stream.size, more.bytes, more.size);
		stream.size += more.size;
	}
	next(self, 0, PID, &stream);
	self->hole[0][0] = from;
	self->hole[0][1] = from + 5;
	EXPECT_EQ(0, put(self, &self->last));
	EXPECT_FLOW("session\ntime 11.000000000\ntrace_on\n" USER ROUND
		    "gap bad_record since=11.000000000 until=11.500000000 size=5 "
		    "detail=5 bytes of the trace are not in the recording\n"
		    "trace_on\n" USER ROUND ROUND "trace_on\n" USER ROUND ROUND);
	EXPECT_EQ(5, flowtap_aux_counts(self->aux)->missing);
	EXPECT_EQ(1, flowtap_aux_counts(self->aux)->bad_records);
}

TEST_F(aux, without_a_search_the_rest_of_the_record_is_missing)
{
	struct stream stream = rounds("EEEE");

	make(self, false);
	describe(self, 0);
	begin(self, 0, PID);
	next(self, 0, PID, &stream);
	self->head[0] -= 2;
	EXPECT_EQ(0, put(self, &self->last));
	flow(self);
	EXPECT_NE(NULL, strstr(self->out.lines, ROUND ROUND "gap bad_record"));
	EXPECT_NE(NULL, strstr(self->out.lines, "size=2 "));
}

TEST_F(aux, a_flight_recorder_forgets_what_is_old)
{
	struct stream stream = rounds("E"), cut = { .size = 40 };

	self->configure.flags |= FLOWTAP_OVERWRITE;
	make(self, true);
	describe(self, 0);
	/* The bytes of the first are gone, the second begins in the middle of something. */
	next(self, 0, PID, &cut)->loss = 1U << FLOWTAP_CAUSE_START;
	self->hole[0][1] = self->head[0] + 7;
	EXPECT_EQ(0, put(self, &self->last));
	EXPECT_FLOW(USER "gap start until=10.000000000 size=unknown\nsession\ntime 10.000000000\n"
		    "gap wrapped since=10.000000000 until=10.500000000 size=40 "
		    "detail=40 bytes of the trace are not in the recording\n");
	memset(cut.bytes, 0xf7, 40);
	memcpy(cut.bytes + 40, stream.bytes, stream.size);
	cut.size = 40 + stream.size;
	next(self, 0, PID, &cut)->flags = FLOWTAP_AUX_OVERWRITE;
	EXPECT_EQ(0, put(self, &self->last));
	EXPECT_FLOW("session\ntime 11.000000000\n"
		    "gap wrapped since=11.000000000 until=11.500000000 size=unknown "
		    "detail=the newest bytes replaced the oldest\ntrace_on\n" USER ROUND);
	EXPECT_EQ(47, flowtap_aux_counts(self->aux)->missing);
	EXPECT_EQ(0, flowtap_aux_counts(self->aux)->bad_records);
}

/* --- Which code. --- */

/* One record of a second: begins with `which`, then ticks (ns here), then more. */
static const char *timed(FIXTURE_DATA(aux) *self, const char *which, uint64_t ticks,
			 const char *more)
{
	struct stream stream = rounds(which);
	struct flowtap_record_aux *record;

	if (ticks)
		timestamp(&stream, ticks);
	trace_on(&stream);
	at(&stream, CODE, 0, 0, 0, 0);
	atoms(&stream, more);
	record = next(self, 0, PID, &stream);
	record->time = record->counter = record->since + 900 * MS;
	if (put(self, record))
		abort();
	return flow(self);
}

#define NEW "range 400000 40000c 3 A64 E\n"
#define UNSURE "gap no_code address=400000 detail=it was mapped anew meanwhile, and no timestamp " \
	       "says when\n"

TEST_F(aux, code_that_changed_meanwhile_is_told_by_a_timestamp_or_not_at_all)
{
	begin(self, 0, PID);
	map_code(self, self->clock + 100 * MS, CODE, three, sizeof(three), "three");
	timed(self, "E", self->clock + 102 * MS, "E");
	EXPECT_NE(NULL, strstr(self->out.lines, UNSURE "timestamp "));
	EXPECT_NE(NULL, strstr(self->out.lines, NEW));
	EXPECT_EQ(NULL, strstr(self->out.lines, ROUND));
	/* The next timestamp comes before it. */
	map_code(self, self->clock + 100 * MS, CODE, two, sizeof(two), "two");
	timed(self, "EE", self->clock + 98 * MS, "E");
	EXPECT_NE(NULL, strstr(self->out.lines, NEW NEW "timestamp "));
	EXPECT_NE(NULL, strstr(self->out.lines, UNSURE));
	EXPECT_EQ(NULL, strstr(self->out.lines, ROUND));
	map_code(self, self->clock, CODE, three, sizeof(three), "three");
	/* Counter and clock were not read quite at once. */
	map_code(self, self->clock + 100 * MS, CODE, two, sizeof(two), "two");
	timed(self, "E", self->clock + 100 * MS + MS / 2, "E");
	EXPECT_EQ(NULL, strstr(self->out.lines, "range"));
	/* Before and after the record it says nothing. */
	map_code(self, self->clock + 950 * MS, CODE, three, sizeof(three), "three");
	timed(self, "E", 0, "E");
	EXPECT_NE(NULL, strstr(self->out.lines, ROUND));
	EXPECT_EQ(NULL, strstr(self->out.lines, "gap"));
	timed(self, "E", 0, "E");
	EXPECT_NE(NULL, strstr(self->out.lines, NEW));
	EXPECT_EQ(NULL, strstr(self->out.lines, "gap"));
}

TEST_F(aux, the_same_code_again_is_the_same)
{
	begin(self, 0, PID);
	map_code(self, self->clock + 100 * MS, CODE, two, sizeof(two), "two");
	timed(self, "E", 0, "E");
	EXPECT_EQ(NULL, strstr(self->out.lines, "gap"));
	EXPECT_NE(NULL, strstr(self->out.lines, ROUND));
}

TEST_F(aux, code_that_came_meanwhile_is_what_was_executed)
{
	struct stream stream = { .size = 0 };

	begin(self, 0, PID);
	map_code(self, self->clock + 100 * MS, CODE + 0x10000, three, sizeof(three), "three");
	start(&stream);
	at(&stream, CODE + 0x10000, 0, 0, 0, 0);
	atoms(&stream, "E");
	EXPECT_EQ(0, put(self, next(self, 0, PID, &stream)));
	flow(self);
	EXPECT_NE(NULL, strstr(self->out.lines, "range 410000 41000c 3 A64 E\n"));
	EXPECT_EQ(self->last.since + 100 * MS, self->reached);
	/* Not what comes later. */
	map_code(self, self->clock + 700 * MS, CODE + 0x20000, three, sizeof(three), "four");
	stream.size = 0;
	start(&stream);
	at(&stream, CODE + 0x20000, 0, 0, 0, 0);
	atoms(&stream, "E");
	EXPECT_EQ(0, put(self, next(self, 0, PID, &stream)));
	flow(self);
	EXPECT_NE(NULL, strstr(self->out.lines, "no_image 420000\n"));
}

TEST_F(aux, a_record_in_which_the_task_executed_is_of_the_program_before)
{
	begin(self, 0, PID);
	ASSERT_EQ(0, flowtap_address_map_exec(self->map, PID, self->clock + 400 * MS));
	map_code(self, self->clock + 401 * MS, CODE, three, sizeof(three), "three");
	timed(self, "E", 0, "E");
	EXPECT_NE(NULL, strstr(self->out.lines, ROUND));
	EXPECT_EQ(NULL, strstr(self->out.lines, "gap"));
	timed(self, "E", 0, "E");
	EXPECT_NE(NULL, strstr(self->out.lines, NEW));
	EXPECT_EQ(NULL, strstr(self->out.lines, ROUND));
}

TEST_F(aux, a_return_to_whom_missing_code_called_is_nobodys)
{
	/*
	 * bl 410000; nop; b -4. There is nothing at 410000, which calls something that goes to
	 * 420000.
	 */
	static const uint32_t calls[] = { 0x94004000, 0xd503201f, 0x17ffffff };
	static const uint32_t ret[] = { 0xd65f03c0 };
	struct stream stream = { .size = 0 };

	self->configure.ete.config |= RS;
	make(self, true);
	describe(self, 0);
	map_code(self, 0, CODE, calls, sizeof(calls), "calls");
	map_code(self, 0, CODE + 0x20000, ret, sizeof(ret), "ret");
	start(&stream);
	at(&stream, CODE, 0, 0, 0, 0);
	atoms(&stream, "EEE");
	to(&stream, CODE + 0x20000);
	atoms(&stream, "EEE");
	EXPECT_EQ(0, put(self, next(self, 0, PID, &stream)));
	flow(self);
	EXPECT_NE(NULL, strstr(self->out.lines, "range 400000 400004 1 A64 E\nno_image 410000\n"));
	EXPECT_NE(NULL, strstr(self->out.lines, "range 420000 420004 1 A64 E\ngap no_address"));
	EXPECT_EQ(NULL, strstr(self->out.lines, "range 400004"));
}

/* --- On which side of a change. --- */

#define EXCEPTION_CALL 2
#define EXCEPTION_IRQ 10

/* An exception, with where it is to go on; then somebody else, and back there. */
static void leave(struct stream *stream, unsigned int type, uint64_t address)
{
	byte(stream, 0x06);
	byte(stream, (uint8_t)(0x01 | type << 1));
	to(stream, address);
}

static void come_back(struct stream *stream, uint64_t address)
{
	trace_on(stream);
	at(stream, address, 0, 0, 0, 0);
}

/*
 * A round, a timestamp at +50 ms, a round; an exception; a round, a timestamp at +150 ms, a round.
 * What is at CODE changes at +100 ms.
 */
static const char *around(FIXTURE_DATA(aux) *self, unsigned int type)
{
	struct stream stream = rounds("E");
	struct flowtap_record_aux *record;

	map_code(self, self->clock + 100 * MS, CODE, three, sizeof(three), "three");
	timestamp(&stream, self->clock + 50 * MS);
	atoms(&stream, "E");
	leave(&stream, type, CODE);
	come_back(&stream, CODE);
	atoms(&stream, "E");
	timestamp(&stream, self->clock + 150 * MS);
	atoms(&stream, "E");
	record = next(self, 0, PID, &stream);
	record->time = record->counter = record->since + 900 * MS;
	if (put(self, record))
		abort();
	return flow(self);
}

static int times(const char *text, const char *what)
{
	int n = 0;

	while ((text = strstr(text, what))) {
		text += strlen(what);
		n++;
	}
	return n;
}

TEST_F(aux, a_threads_own_call_is_where_its_code_changed)
{
	begin(self, 0, PID);
	around(self, EXCEPTION_CALL);
	EXPECT_EQ(2, times(self->out.lines, ROUND));
	EXPECT_EQ(2, times(self->out.lines, NEW));
	EXPECT_EQ(0, times(self->out.lines, "gap"));
}

TEST_F(aux, others_may_change_it_at_any_time)
{
	begin(self, 0, PID);
	ASSERT_EQ(0, flowtap_address_map_thread(self->map, PID, PID + 1, self->clock));
	around(self, EXCEPTION_CALL);
	EXPECT_EQ(1, times(self->out.lines, ROUND));
	EXPECT_EQ(0, times(self->out.lines, NEW));
	EXPECT_LT(0, times(self->out.lines, UNSURE));
}

TEST_F(aux, what_is_not_all_told_decides_nothing)
{
	begin(self, 0, PID);
	flowtap_address_map_set_lossy(self->map);
	around(self, EXCEPTION_CALL);
	EXPECT_EQ(1, times(self->out.lines, ROUND));
	EXPECT_EQ(0, times(self->out.lines, NEW));
	EXPECT_LT(0, times(self->out.lines, UNSURE));
}

TEST_F(aux, times_are_interpolated_between_two_pairs)
{
	struct flowtap_record_clock clock = {
		.header = { .type = FLOWTAP_RECORD_CLOCK, .size = sizeof(clock) },
	};
	struct stream stream = rounds("E");

	/* A counter that runs 4 times slower than it says. */
	begin(self, 0, PID);
	clock.time = self->clock;
	clock.counter = 1000;
	EXPECT_EQ(0, decode(self, 0, &clock, sizeof(clock)));
	timestamp(&stream, 1000 + 100 * MS);
	next(self, 0, PID, &stream)->counter = 1000 + 125 * MS;
	EXPECT_EQ(0, put(self, &self->last));
	EXPECT_EQ(clock.time + 400 * MS - MS, self->reached);
	/* After the last pair by the frequency, but never after the record. */
	stream = rounds("E");
	timestamp(&stream, UINT64_MAX >> 1);
	next(self, 0, PID, &stream)->counter = 0;
	EXPECT_EQ(0, put(self, &self->last));
	EXPECT_EQ(self->last.time, self->reached);
}

/* --- Records that cannot be. --- */

static bool is_bad(FIXTURE_DATA(aux) *self, const char *detail)
{
	flow(self);
	if (strstr(self->out.lines, "gap bad_record") && strstr(self->out.lines, detail) &&
	    !strstr(self->out.lines, "range"))
		return true;
	printf("# %s", self->out.lines);
	return false;
}

TEST_F(aux, a_record_that_contradicts_itself_is_a_gap)
{
	struct stream stream = rounds("E");
	struct flowtap_record_aux record;

	begin(self, 0, PID);
#define BAD(detail, change) do {						\
	record = *next(self, 0, PID, &stream);					\
	change;									\
	EXPECT_EQ(0, decode(self, 0, &record, sizeof(record)));			\
	EXPECT_TRUE(is_bad(self, detail)) TH_LOG(detail);			\
} while (0)
	BAD("CPU 1 in the ring of CPU 0", record.cpu = 1);
	BAD("ends before it begins", record.since = record.time + 1);
	BAD("an AUX record of 0xffffffffffffff", record.size = UINT64_MAX - 5);
	BAD("are of another record", record.offset = 3);
	BAD("an AUX record of 72 bytes", record.header.size = 72);
	BAD("a record of 7 bytes in 80", record.header.size = 7);
	BAD("a record of 96 bytes in 80", record.header.size = 96);
#undef BAD
	EXPECT_EQ(0, decode(self, 0, &record, 7));
	EXPECT_TRUE(is_bad(self, "a record of 7 bytes"));
	EXPECT_EQ(8, flowtap_aux_counts(self->aux)->bad_records);
	/* Good ones are as ever. */
	EXPECT_EQ(0, put(self, next(self, 0, PID, &stream)));
	flow(self);
	EXPECT_NE(NULL, strstr(self->out.lines, ROUND));
}

TEST_F(aux, one_that_is_far_beyond_the_bytes_hides_none_after_it)
{
	struct stream stream = rounds("E");

	begin(self, 0, PID);
	next(self, 0, PID, &stream)->offset = 1ULL << 62;
	EXPECT_EQ(0, put(self, &self->last));
	EXPECT_TRUE(is_bad(self, "bytes of the trace are not in the recording"));
	EXPECT_EQ(0, put(self, next(self, 0, PID, &stream)));
	EXPECT_FLOW("session\ntime 12.000000000\ntrace_on\n" USER ROUND);
	EXPECT_EQ(1, flowtap_aux_counts(self->aux)->bad_records);
}

/* Which task's a record is that contradicts itself nobody knows. */
TEST_F(aux, one_that_is_refused_is_none_of_its_tasks)
{
	struct stream stream = { .size = 0 };
	struct flowtap_record_aux record;

	begin(self, 0, PID);
	atoms(&stream, "EE");
	record = *next(self, 0, PID, &stream);
	record.cpu = 1;
	record.sequence = 77;
	EXPECT_EQ(0, decode(self, 0, &record, sizeof(record)));
	EXPECT_TRUE(is_bad(self, "CPU 1 in the ring of CPU 0"));
	self->sequence--;
	next(self, 0, PID, &stream)->flags = FLOWTAP_AUX_CONTINUES;
	EXPECT_EQ(0, put(self, &self->last));
	EXPECT_FLOW(USER "time 12.000000000\n" USER ROUND ROUND);
	/* If it was one of them its bytes are missing to the next. */
	record = *next(self, 0, PID, &stream);
	record.cpu = 1;
	EXPECT_EQ(0, decode(self, 0, &record, sizeof(record)));
	flow(self);
	next(self, 0, PID, &stream)->flags = FLOWTAP_AUX_CONTINUES;
	EXPECT_EQ(0, put(self, &self->last));
	flow(self);
	EXPECT_NE(NULL, strstr(self->out.lines, "detail=sequence 4 follows 2\nsession\n"));
	EXPECT_EQ(NULL, strstr(self->out.lines, "range"));
}

TEST_F(aux, so_is_one_of_another_type)
{
	struct flowtap_record_gap record = {
		.header = { .type = FLOWTAP_RECORD_GAP, .size = sizeof(record) },
		.time = 5, .since = 6,
	};

	EXPECT_EQ(0, decode(self, 0, &record, sizeof(record)));
	EXPECT_TRUE(is_bad(self, "ends before it begins"));
	record.cause = FLOWTAP_CAUSE_MAX;
	EXPECT_EQ(0, decode(self, 0, &record, sizeof(record)));
	EXPECT_TRUE(is_bad(self, "unknown cause"));
	for (uint32_t type = FLOWTAP_RECORD_GAP; type <= FLOWTAP_RECORD_AUX; type++) {
		record.header.type = type;
		record.header.size = 16;
		EXPECT_EQ(0, decode(self, 0, &record, 16));
		EXPECT_EQ(type != FLOWTAP_RECORD_SWITCH, is_bad(self, "16 bytes"));
	}
	/* Nobody knows this one: no word. */
	record.header.type = 99;
	EXPECT_EQ(0, decode(self, 0, &record, 16));
	EXPECT_FLOW("");
}

TEST_F(aux, a_cpu_that_is_not_described_has_gaps)
{
	struct stream stream = rounds("E");

	make(self, true);
	EXPECT_EQ(0, put(self, next(self, 0, PID, &stream)));
	EXPECT_TRUE(is_bad(self, "nothing says what the trace unit of CPU 0 is"));
	self->query.ete.trcdevarch = 0x47700a63;	/* an STM */
	EXPECT_EQ(0, flowtap_aux_query(self->aux, 0, &self->query, sizeof(self->query)));
	EXPECT_EQ(-EINVAL, flowtap_aux_configure(self->aux, 0, &self->configure,
						 sizeof(self->configure)));
	EXPECT_EQ(0, put(self, next(self, 0, PID, &stream)));
	EXPECT_TRUE(is_bad(self, "no trace unit that can be decoded"));
	self->configure.source = FLOWTAP_SOURCE_CTR;
	EXPECT_EQ(-EINVAL, flowtap_aux_configure(self->aux, 0, &self->configure,
						 sizeof(self->configure)));
	EXPECT_EQ(-EINVAL, flowtap_aux_query(self->aux, FLOWTAP_AUX_CPUS, &self->query,
					     sizeof(self->query)));
	self->last.cpu = FLOWTAP_AUX_CPUS;
	EXPECT_EQ(0, put(self, &self->last));
	EXPECT_TRUE(is_bad(self, "there is room for 1024"));
	EXPECT_EQ(0, flowtap_aux_finish(self->aux));
}

TEST_F(aux, an_older_recorders_structures_are_shorter)
{
	struct stream stream = rounds("E");

	make(self, true);
	EXPECT_EQ(0, flowtap_aux_query(self->aux, 0, &self->query,
				       offsetof(struct flowtap_query, reserved)));
	EXPECT_EQ(0, flowtap_aux_configure(self->aux, 0, &self->configure,
					   offsetof(struct flowtap_configure, reserved)));
	EXPECT_EQ(0, put(self, next(self, 0, PID, &stream)));
	flow(self);
	EXPECT_NE(NULL, strstr(self->out.lines, ROUND));
}

TEST_F(aux, errors_of_reading_and_writing_come_back)
{
	struct stream stream = rounds("E");
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	self->error = -EIO;
	EXPECT_EQ(-EIO, put(self, next(self, 0, PID, &stream)));
	self->error = 0;
	flow(self);
	dup2(full, self->out.fd);
	close(full);
	for (int i = 0; i < 100000; i++)
		if (gap(self, 0, PID, FLOWTAP_CAUSE_DISABLED) == -ENOSPC)
			return;
	EXPECT_TRUE(false);
}

TEST_HARNESS_MAIN
