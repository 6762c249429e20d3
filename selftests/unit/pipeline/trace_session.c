// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that a session of raw bytes and of frames is the same flow, that losses are gaps in it, and
 * that what went wrong comes back as data.
 */
#include "unit/pipeline/trace_session_fixture.h"

#define PIECE (1U << 20)	/* what is read at once */

FIXTURE(session)
{
	int code;			/* the file that memory is read of */
	struct flow flow;
	struct flowtap_trace_session session;
	uint64_t progress;		/* bytes that were told of */
	uint64_t missing;		/* the last address without code */
	unsigned int misses;
};

static void on_progress(struct flowtap_trace_session *session, size_t bytes)
{
	FIXTURE_DATA(session) *self = session->argument;

	self->progress += bytes;
	if (self->progress != session->read)
		abort();
}

static void on_missing(struct flowtap_trace_session *session, uint64_t address)
{
	FIXTURE_DATA(session) *self = session->argument;

	self->missing = address;
	self->misses++;
}

FIXTURE_SETUP(session)
{
	char path[32];
	const struct flowtap_memory_file file = { .directory = -1, .path = path, .address = CODE };

	flow_open(&self->flow, NULL);
	self->session = (struct flowtap_trace_session){
		.config = config,
		.memory = flowtap_memory_new(),
		.blocks = flowtap_trace_session_blocks(&config, 0),
		.sink = flowtap_text_sink(self->flow.text),
		.fd = -1,
		.id = 0x10,
		.progress = on_progress,
		.missing = on_missing,
		.argument = self,
	};
	self->progress = self->missing = self->misses = 0;
	self->code = file_of(two, sizeof(two));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", self->code);
	ASSERT_EQ(0, flowtap_memory_add(self->session.memory, &file));
}

FIXTURE_TEARDOWN(session)
{
	flow_close(&self->flow);
	flowtap_blocks_free(self->session.blocks);
	flowtap_memory_free(self->session.memory);
	close(self->session.fd);
	close(self->code);
}

static int run(FIXTURE_DATA(session) *self, const void *bytes, size_t size)
{
	int error;

	if (self->session.fd >= 0)
		close(self->session.fd);
	self->session.fd = file_of(bytes, size);
	self->progress = 0;
	error = flowtap_trace_session(&self->session);
	flow_lines(&self->flow);
	return error;
}

static int run_frames(FIXTURE_DATA(session) *self)
{
	struct stream one = rounds("EE"), other = rounds("E");
	uint8_t bytes[16384];

	self->session.framed = true;
	return run(self, bytes, frame_both(bytes, &one, 0x10, &other, 0x11));
}

TEST_F(session, raw_bytes_are_a_flow)
{
	struct stream stream = rounds("EE");

	EXPECT_EQ(0, run(self, stream.bytes, stream.size));
	EXPECT_STREQ("session\ntrace_on\n" USER TWO TWO, self->flow.lines);
	EXPECT_EQ(4, self->session.counts.instructions);
	EXPECT_EQ(stream.size, self->session.counts.bytes);
	EXPECT_EQ(stream.size, self->session.read);
	EXPECT_EQ(stream.size, self->progress);
	EXPECT_EQ(0, self->misses);
	EXPECT_FALSE(flowtap_trace_session_is_empty(&self->session));
}

TEST_F(session, frames_are_the_same_flow)
{
	EXPECT_EQ(0, run_frames(self));
	EXPECT_STREQ("session\ntrace_on\n" USER TWO TWO, self->flow.lines);
	/* What is left of a frame can be a byte of the last source. */
	EXPECT_LE(rounds("EE").size, self->session.ids[0x10]);
	EXPECT_LE(rounds("E").size, self->session.ids[0x11]);
	EXPECT_EQ(self->session.read, self->progress);
	EXPECT_EQ(0, self->session.damages);
	self->session.id = 0x11;
	EXPECT_EQ(0, run_frames(self));
	EXPECT_STREQ("session\ntrace_on\n" USER TWO, self->flow.lines);
}

TEST_F(session, a_source_that_is_not_in_the_frames_is_told)
{
	/* 0x7f is no source's at all. */
	static const uint8_t ids[] = { 0x12, 0x7f };

	for (size_t i = 0; i < sizeof(ids); i++) {
		self->session.id = ids[i];
		EXPECT_EQ(0, run_frames(self));
		EXPECT_STREQ("session\n", self->flow.lines);
		EXPECT_TRUE(flowtap_trace_session_is_empty(&self->session));
		EXPECT_LE(rounds("EE").size, self->session.ids[0x10]);
	}
}

TEST_F(session, syncs_between_frames_are_seen)
{
	static const uint8_t sync[] = { 0xff, 0xff, 0xff, 0x7f };
	struct stream one = rounds("EE"), other = rounds("E");
	uint8_t plain[16384], bytes[16384];
	size_t size = frame_both(plain, &one, 0x10, &other, 0x11), used = 0;

	for (size_t at = 0; at < size; at += 16) {
		memcpy(bytes + used, sync, sizeof(sync));
		memcpy(bytes + used + 4, plain + at, 16);
		used += 20;
	}
	self->session.framed = true;
	EXPECT_EQ(0, run(self, bytes, used));
	EXPECT_STREQ("session\ntrace_on\n" USER TWO TWO, self->flow.lines);
	/* 11 bytes before a sync, and what is after it of a source that nobody knows. */
	EXPECT_EQ(0, run(self, bytes + 9, used - 9));
	EXPECT_STREQ("session\ngap unsynced size=25 detail=offset 0x0: bytes before a frame sync\n",
		     self->flow.lines);
	EXPECT_EQ(0, self->session.damages);
}

/* What a port sends that has nothing to send: half syncs, and now and then a full one. */
TEST_F(session, the_first_full_sync_may_come_late)
{
	static const uint8_t sync[] = { 0xff, 0xff, 0xff, 0x7f }, half[] = { 0xff, 0x7f };
	struct stream one = rounds("EE"), other = rounds("E");
	const size_t idle = 2 * PIECE + 6;
	uint8_t *bytes = malloc(idle + sizeof(sync) + 16384);
	size_t size = frame_both(bytes + idle + sizeof(sync), &one, 0x10, &other, 0x11);
	char wanted[256];

	for (size_t at = 0; at < idle; at += sizeof(half))
		memcpy(bytes + at, half, sizeof(half));
	memcpy(bytes + idle, sync, sizeof(sync));
	self->session.framed = true;
	EXPECT_EQ(0, run(self, bytes, idle + sizeof(sync) + size));
	snprintf(wanted, sizeof(wanted), "session\ngap unsynced size=%zu detail=offset 0x0: bytes before a "
		 "frame sync\ntrace_on\n" USER TWO TWO, idle);
	EXPECT_STREQ(wanted, self->flow.lines);
	EXPECT_EQ(0, self->session.damages);
	/* None at all: frames lie end to end, and those are none. */
	EXPECT_EQ(0, run(self, bytes, idle));
	EXPECT_EQ(1, self->session.damages);
	/* A frame that is damaged is no half sync: what comes before the full one is not given up. */
	memcpy(bytes, bytes + idle + sizeof(sync), size);
	memset(bytes + size, 0xff, 16);
	for (size_t at = size + 16; at + size <= 2 * PIECE; at += size)
		memcpy(bytes + at, bytes, size);
	EXPECT_EQ(0, run(self, bytes, idle + sizeof(sync) + size));
	EXPECT_LE(4 * (PIECE / size), self->session.counts.instructions);
	free(bytes);
}

TEST_F(session, a_damaged_frame_is_a_gap_and_counted)
{
	struct stream one = rounds("E"), other = rounds("E");
	uint8_t bytes[16384];
	size_t size = frame_both(bytes, &one, 0x10, &other, 0x11);

	memcpy(bytes + size + 16, bytes, size);
	memset(bytes + size, 0xff, 16);
	self->session.framed = true;
	EXPECT_EQ(0, run(self, bytes, 2 * size + 16));
	EXPECT_EQ(1, self->session.damages);
	EXPECT_STREQ("session\ntrace_on\n" USER TWO
		     "gap bad_packet size=16 detail=offset 0x40: a frame with an ID that is reserved\n"
		     "trace_on\n" USER TWO, self->flow.lines);
	EXPECT_EQ(1, self->session.counts.gaps[FLOWTAP_GAP_BAD_PACKET]);
}

/* With and without syncs, and with a footer in the middle of a frame. */
TEST_F(session, of_a_dstreams_file_the_footers_are_dropped)
{
	static const uint8_t sync[] = { 0xff, 0xff, 0xff, 0x7f };
	struct stream one = rounds("EE"), other = rounds("E");
	uint8_t once[16384], bytes[16384], blocks[20000];
	size_t size = frame_both(once, &one, 0x10, &other, 0x11);
	char *plain;

	self->session.framed = true;
	for (int synced = 0; synced < 2; synced++) {
		size_t used = 0;

		for (size_t at = 0; at < 20 * size; at += 16) {
			if (synced)
				memcpy(bytes + used, sync, sizeof(sync));
			used += synced ? sizeof(sync) : 0;
			memcpy(bytes + used, once + at % size, 16);
			used += 16;
		}
		self->session.dstream = false;
		EXPECT_EQ(0, run(self, bytes, used));
		EXPECT_EQ(80, self->session.counts.instructions);
		plain = strdup(self->flow.lines);
		self->session.dstream = true;
		EXPECT_EQ(0, run(self, blocks, add_footers(blocks, bytes, used)));
		EXPECT_STREQ(plain, self->flow.lines);
		EXPECT_EQ(0, self->session.damages);
		free(plain);
	}
}

/* With the formatter bypassed the blocks have the trace unit's bytes as they are. */
TEST_F(session, of_a_dstreams_file_without_frames_the_footers_are_dropped)
{
	struct stream stream = rounds("E");
	uint8_t bytes[16384], blocks[20000];
	size_t used = 0;

	while (used < 3 * 504) {
		memcpy(bytes + used, stream.bytes, stream.size);
		used += stream.size;
	}
	/* No block ends where a round does. */
	ASSERT_NE(0, 504 % stream.size);
	self->session.dstream = true;
	EXPECT_EQ(0, run(self, blocks, add_footers(blocks, bytes, used)));
	EXPECT_EQ(used, self->session.counts.bytes);
	EXPECT_EQ(2 * used / stream.size, self->session.counts.instructions);
	EXPECT_FALSE(strstr(self->flow.lines, "gap "));
	EXPECT_FALSE(flowtap_trace_session_is_empty(&self->session));
}

TEST_F(session, what_is_damaged_in_a_dstreams_file_has_its_offset_there)
{
	struct stream one = rounds("EE"), other = rounds("E");
	uint8_t bytes[16384], blocks[16384];
	size_t size = frame_both(bytes, &one, 0x10, &other, 0x11), used;

	for (used = size; used < 1024; used += size)
		memcpy(bytes + used, bytes, size);
	memset(bytes + 512, 0xff, 16);
	self->session.framed = self->session.dstream = true;
	EXPECT_EQ(0, run(self, blocks, add_footers(blocks, bytes, used)));
	EXPECT_EQ(1, self->session.damages);
	EXPECT_TRUE(strstr(self->flow.lines, "detail=offset 0x208: a frame with an ID that is reserved"))
		TH_LOG("%s", self->flow.lines);
}

TEST_F(session, a_file_longer_than_a_piece_is_read_whole)
{
	struct stream stream = rounds("E");
	size_t n = PIECE / stream.size + 2;
	uint8_t *bytes = malloc(n * stream.size);

	for (size_t i = 0; i < n; i++)
		memcpy(bytes + i * stream.size, stream.bytes, stream.size);
	EXPECT_EQ(0, run(self, bytes, n * stream.size));
	EXPECT_EQ(2 * n, self->session.counts.instructions);
	EXPECT_EQ(n * stream.size, self->progress);
	free(bytes);
}

TEST_F(session, code_that_is_missing_is_told)
{
	struct stream stream = { .size = 0 };

	start(&stream);
	at(&stream, 0x5000, 0, 0, 0, 0);
	atoms(&stream, "E");
	EXPECT_EQ(0, run(self, stream.bytes, stream.size));
	EXPECT_STREQ("session\ntrace_on\n" USER "no_image 5000\n", self->flow.lines);
	EXPECT_EQ(0x5000, self->missing);
	EXPECT_EQ(1, self->misses);
}

TEST_F(session, contexts_have_the_cpu_that_is_given)
{
	struct stream stream = rounds("E");

	self->session.has_cpu = true;
	self->session.cpu = 7;
	EXPECT_EQ(0, run(self, stream.bytes, stream.size));
	EXPECT_STREQ("session\ntrace_on\ncontext A64 EL0 nonsecure 64 cpu=7\n" TWO,
		     self->flow.lines);
}

TEST_F(session, blocks_are_those_of_the_trace_unit)
{
	struct stream stream = rounds("E");

	self->session.config.idr2 |= WFXMODE;
	EXPECT_EQ(-EPROTOTYPE, run(self, stream.bytes, stream.size));
	EXPECT_STREQ("", self->flow.lines);
	flowtap_blocks_free(self->session.blocks);
	self->session.blocks = flowtap_trace_session_blocks(&self->session.config, 0);
	self->session.wfx = true;
	EXPECT_EQ(0, run(self, stream.bytes, stream.size));
}

TEST_F(session, what_is_no_ete_is_refused)
{
	struct stream stream = rounds("E");

	self->session.config.idr8 = FLOWTAP_ETE_SPECULATION_MAX + 1;
	EXPECT_EQ(-ENODEV, run(self, stream.bytes, stream.size));
	EXPECT_EQ(0, self->session.read);
	EXPECT_EQ(0, self->session.counts.bytes);
}

static int refuse_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
			uint64_t target)
{
	return -ENOSPC;
}

static int take_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	return 0;
}

TEST_F(session, what_the_sink_returns_comes_back)
{
	struct flowtap_sink sink = { refuse_block, take_element };
	struct stream stream = rounds("E");

	self->session.sink = &sink;
	EXPECT_EQ(-ENOSPC, run(self, stream.bytes, stream.size));
}

TEST_F(session, a_file_that_cannot_be_read_is_an_error)
{
	self->session.fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	errno = EDOM;
	EXPECT_EQ(-EISDIR, flowtap_trace_session(&self->session));
	EXPECT_EQ(EDOM, errno);
}

TEST_HARNESS_MAIN
