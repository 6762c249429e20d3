// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that a recording of either source is decoded by what was configured, else by its first
 * record, that it begins once, and that its caller can look at each block and record.
 */
#include "unit/pipeline/made_recording.h"

#include <flowtap/recording.h>

#include "base/cpus.h"

FIXTURE(recording)
{
	struct flow flow;
	int fd;
	struct flowtap_archive_writer *writer;
	struct flowtap_recording recording;
	unsigned int begun;
	unsigned int blocks;
	unsigned int damages;
	int refuse;			/* what begin returns */
	bool leave_out;			/* records are not decoded */
	uint64_t time;
};

static int on_begin(struct flowtap_recording *recording)
{
	FIXTURE_DATA(recording) *self = recording->argument;

	if (!recording->blocks || recording->ctr || recording->aux)
		abort();
	self->begun++;
	recording->sink = flowtap_text_sink(self->flow.text);
	return self->refuse;
}

static int on_block(struct flowtap_recording *recording, const struct flowtap_archive_block *block)
{
	FIXTURE_DATA(recording) *self = recording->argument;

	(void)block;
	self->blocks++;
	return 0;
}

static int on_record(struct flowtap_recording *recording, uint32_t cpu,
		     const struct flowtap_record *record, size_t size)
{
	FIXTURE_DATA(recording) *self = recording->argument;

	return self->leave_out ? 0 : flowtap_recording_record(recording, cpu, record, size);
}

static void on_damage(struct flowtap_recording *recording, uint64_t offset, const char *reason,
		      uint64_t bytes)
{
	FIXTURE_DATA(recording) *self = recording->argument;

	(void)offset;
	(void)reason;
	(void)bytes;
	self->damages++;
}

static void on_time(struct flowtap_recording *recording, uint64_t time)
{
	FIXTURE_DATA(recording) *self = recording->argument;

	self->time = time;
}

FIXTURE_SETUP(recording)
{
	flow_open(&self->flow, NULL);
	self->fd = memfd_create("made.ftap", MFD_CLOEXEC);
	ASSERT_EQ(0, flowtap_archive_create(self->fd, &self->writer));
	self->recording = (struct flowtap_recording){
		.map = flowtap_address_map_new("/nowhere"),
		.begin = on_begin,
		.block = on_block,
		.record = on_record,
		.damage = on_damage,
		.time = on_time,
		.argument = self,
	};
	self->begun = self->blocks = self->damages = 0;
	self->refuse = 0;
	self->leave_out = false;
	self->time = 0;
}

FIXTURE_TEARDOWN(recording)
{
	flowtap_recording_free(&self->recording);
	flowtap_address_map_free(self->recording.map);
	flowtap_archive_writer_free(self->writer);
	flow_close(&self->flow);
	close(self->fd);
}

static int decode(FIXTURE_DATA(recording) *self)
{
	int error;

	if (flowtap_archive_flush(self->writer) || lseek(self->fd, 0, SEEK_SET))
		abort();
	error = flowtap_recording_decode(&self->recording, self->fd);
	flow_lines(&self->flow);
	return error;
}

static void record_ete(FIXTURE_DATA(recording) *self)
{
	struct stream stream = rounds("EE");

	put_code(self->writer, two, sizeof(two));
	put_aux(self->writer, &stream);
	put_block(self->writer, FLOWTAP_ARCHIVE_END, NULL, 0);
}

static void record_ctr(FIXTURE_DATA(recording) *self)
{
	put_code(self->writer, around, sizeof(around));
	put_sample(self->writer, 2);
	put_block(self->writer, FLOWTAP_ARCHIVE_END, NULL, 0);
}

#define TASK "context A64 EL0 nonsecure 64 pid=100 tid=100 cpu=0\n"
#define ETE_FLOW TASK "gap start until=1.000000000 size=unknown\nsession\ntime 1.000000000\n" \
	"trace_on\n" TASK TWO TWO

TEST_F(recording, of_an_ete)
{
	put_cpu(self->writer, FLOWTAP_SOURCE_ETE);
	record_ete(self);
	EXPECT_EQ(0, decode(self));
	EXPECT_STREQ(ETE_FLOW, self->flow.lines);
	EXPECT_TRUE(self->recording.ete_trace);
	EXPECT_NE(NULL, self->recording.aux);
	EXPECT_EQ(NULL, self->recording.ctr);
	EXPECT_EQ(1, self->begun);
	EXPECT_EQ(5, self->blocks);	/* all but RING */
	EXPECT_EQ(1, self->recording.replay.counts.records);
	EXPECT_TRUE(self->recording.replay.counts.finalised);
	EXPECT_EQ(SECOND, self->time);
	ASSERT_NE(NULL, flowtap_recording_cpu(&self->recording, 0));
	EXPECT_TRUE(flowtap_recording_cpu(&self->recording, 0)->queried);
	EXPECT_EQ(NULL, flowtap_recording_cpu(&self->recording, 1));
}

TEST_F(recording, of_ctr)
{
	put_cpu(self->writer, FLOWTAP_SOURCE_CTR);
	record_ctr(self);
	EXPECT_EQ(0, decode(self));
	EXPECT_FALSE(self->recording.ete_trace);
	EXPECT_NE(NULL, self->recording.ctr);
	EXPECT_NE(NULL, strstr(self->flow.lines, "range 1000 1004 2 RV64 E\nrange 1000 1004 2 RV64 E\n"))
		TH_LOG("%s", self->flow.lines);
	EXPECT_EQ(1, self->begun);
}

TEST_F(recording, without_a_configuration_the_first_record_says_what_it_is)
{
	record_ctr(self);
	EXPECT_EQ(0, decode(self));
	EXPECT_FALSE(self->recording.ete_trace);
	EXPECT_EQ(1, flowtap_ctr_counts(self->recording.ctr)->samples);
}

TEST_F(recording, an_ete_that_nothing_is_known_of_is_a_gap)
{
	record_ete(self);
	EXPECT_EQ(0, decode(self));
	EXPECT_TRUE(self->recording.ete_trace);
	EXPECT_NE(NULL, strstr(self->flow.lines, "gap bad_record"));
}

TEST_F(recording, without_a_record_it_begins_at_the_end)
{
	put_cpu(self->writer, FLOWTAP_SOURCE_ETE);
	EXPECT_EQ(0, decode(self));
	EXPECT_EQ(1, self->begun);
	EXPECT_TRUE(self->recording.ete_trace);
	EXPECT_STREQ("", self->flow.lines);
	EXPECT_FALSE(self->recording.replay.counts.finalised);
}

TEST_F(recording, of_both_sources_is_none)
{
	put_cpu(self->writer, FLOWTAP_SOURCE_ETE);
	if (flowtap_archive_write(self->writer, FLOWTAP_ARCHIVE_CONFIGURE, 1, SECOND,
				  &(struct flowtap_configure){ .source = FLOWTAP_SOURCE_CTR },
				  sizeof(struct flowtap_configure), NULL, 0))
		abort();
	record_ete(self);
	EXPECT_EQ(-EPROTOTYPE, decode(self));
	EXPECT_EQ(0, self->begun);
}

TEST_F(recording, what_begin_returns_comes_back)
{
	self->refuse = -EDOM;
	record_ete(self);
	EXPECT_EQ(-EDOM, decode(self));
	EXPECT_EQ(1, self->begun);
	EXPECT_EQ(NULL, self->recording.aux);
}

TEST_F(recording, records_that_are_left_out_are_not_decoded)
{
	put_cpu(self->writer, FLOWTAP_SOURCE_ETE);
	record_ete(self);
	self->leave_out = true;
	EXPECT_EQ(0, decode(self));
	EXPECT_STREQ("", self->flow.lines);
	EXPECT_EQ(1, self->recording.replay.counts.records);
}

TEST_F(recording, nothing_has_to_be_asked_for)
{
	self->recording.begin = NULL;
	self->recording.block = NULL;
	self->recording.record = NULL;
	self->recording.damage = NULL;
	self->recording.time = NULL;
	self->recording.sink = flowtap_text_sink(self->flow.text);
	put_cpu(self->writer, FLOWTAP_SOURCE_ETE);
	record_ete(self);
	EXPECT_EQ(0, decode(self));
	EXPECT_STREQ(ETE_FLOW, self->flow.lines);
}

TEST_F(recording, damage_is_told_and_no_error)
{
	off_t size;

	put_cpu(self->writer, FLOWTAP_SOURCE_ETE);
	record_ete(self);
	if (flowtap_archive_flush(self->writer))
		abort();
	size = lseek(self->fd, 0, SEEK_END);
	/* Within the END block. */
	if (ftruncate(self->fd, size - 4))
		abort();
	EXPECT_EQ(0, decode(self));
	EXPECT_EQ(1, self->damages);
	EXPECT_EQ(1, self->recording.replay.counts.damages);
	EXPECT_STREQ(ETE_FLOW, self->flow.lines);
}

/* No machine has so many: what says so is damaged, and what else there is is not. */
TEST_F(recording, descriptions_of_too_many_cpus_are_damage)
{
	const struct flowtap_query query = { .abi = FLOWTAP_ABI, .cpus = 1 };
	const struct flowtap_configure configure = { .source = FLOWTAP_SOURCE_ETE };

	put_cpu(self->writer, FLOWTAP_SOURCE_ETE);
	for (uint32_t cpu = 1; cpu <= FLOWTAP_CPUS_MAX; cpu++)
		if (flowtap_archive_write(self->writer, FLOWTAP_ARCHIVE_QUERY, cpu, SECOND, &query,
					  sizeof(query), NULL, 0))
			abort();
	if (flowtap_archive_write(self->writer, FLOWTAP_ARCHIVE_CONFIGURE, UINT32_MAX, SECOND,
				  &configure, sizeof(configure), NULL, 0))
		abort();
	record_ete(self);
	EXPECT_EQ(0, decode(self));
	EXPECT_EQ(2, self->damages);
	EXPECT_EQ(2, self->recording.replay.counts.damages);
	EXPECT_EQ(sizeof(query) + sizeof(configure), self->recording.replay.counts.bad_bytes);
	EXPECT_EQ(FLOWTAP_CPUS_MAX, self->recording.n_cpus);
	EXPECT_STREQ(ETE_FLOW, self->flow.lines);
}

TEST_F(recording, what_is_no_archive_is_refused)
{
	if (ftruncate(self->fd, 0) || pwrite(self->fd, "none of ours", 12, 0) != 12 ||
	    lseek(self->fd, 0, SEEK_SET))
		abort();
	EXPECT_EQ(-EBADMSG, flowtap_recording_decode(&self->recording, self->fd));
}

TEST_HARNESS_MAIN
