// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that each source of a snapshot is decoded out of its buffer, with the memory that its
 * processor saw, and that it is said at what a session failed.
 */
#include "unit/pipeline/made_snapshot.h"

FIXTURE(snapshot)
{
	char path[32];
	int directory;
	struct flow flow;
	struct flowtap_snapshot_sessions sessions;
	const struct flowtap_snapshot_source *sources;
	size_t n;
	unsigned int images;		/* how often they were asked for */
	int refused;			/* what images returns */
};

static int on_images(struct flowtap_snapshot_sessions *sessions, struct flowtap_memory *memory)
{
	FIXTURE_DATA(snapshot) *self = sessions->session.argument;

	(void)memory;
	self->images++;
	return self->refused;
}

FIXTURE_SETUP(snapshot)
{
	flow_open(&self->flow, NULL);
	strcpy(self->path, "/tmp/snapshot.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->path));
	self->directory = open(self->path, O_RDONLY | O_DIRECTORY);
	made_devices(self->directory);
	self->images = 0;
	self->refused = 0;
	self->sessions = (struct flowtap_snapshot_sessions){
		.session = {
			.blocks = flowtap_trace_session_blocks(&config, 0),
			.sink = flowtap_text_sink(self->flow.text),
			.has_cpu = true,
			.argument = self,
		},
		.images = on_images,
	};
}

FIXTURE_TEARDOWN(snapshot)
{
	char command[64];

	flowtap_snapshot_sessions_end(&self->sessions);
	flowtap_snapshot_close(self->sessions.snapshot);
	flowtap_blocks_free(self->sessions.session.blocks);
	flow_close(&self->flow);
	close(self->directory);
	snprintf(command, sizeof(command), "rm -rf %s", self->path);
	if (system(command))
		abort();
}

static void open_it(FIXTURE_DATA(snapshot) *self)
{
	if (flowtap_snapshot_open(self->path, NULL, &self->sessions.snapshot))
		abort();
	self->sources = flowtap_snapshot_sources(self->sessions.snapshot, &self->n);
}

static const char *flow_of(FIXTURE_DATA(snapshot) *self, size_t source)
{
	if (flowtap_snapshot_session(&self->sessions, &self->sources[source]))
		abort();
	return flow_lines(&self->flow);
}

static void open_framed(FIXTURE_DATA(snapshot) *self, const char *format)
{
	made_framed(self->directory, format);
	open_it(self);
}

static void open_raw(FIXTURE_DATA(snapshot) *self)
{
	made_raw(self->directory);
	open_it(self);
}

TEST_F(snapshot, each_source_of_a_buffer_is_a_flow_with_its_own_code)
{
	open_framed(self, "coresight");
	ASSERT_EQ(2, self->n);
	EXPECT_STREQ("session\ntrace_on\ncontext A64 EL0 nonsecure 64 cpu=0\n" TWO TWO,
		     flow_of(self, 0));
	EXPECT_EQ(4, self->sessions.session.counts.instructions);
	EXPECT_STREQ("session\ntrace_on\ncontext A64 EL0 nonsecure 64 cpu=1\n" THREE,
		     flow_of(self, 1));
	EXPECT_EQ(3, self->sessions.session.counts.instructions);
	EXPECT_EQ(FLOWTAP_SNAPSHOT_SESSION, self->sessions.step);
	/* And back again: blocks that were made of the memory before are not used. */
	EXPECT_STREQ("session\ntrace_on\ncontext A64 EL0 nonsecure 64 cpu=0\n" TWO TWO,
		     flow_of(self, 0));
	EXPECT_EQ(3, self->images);
}

TEST_F(snapshot, a_buffer_of_a_dstream_is_read)
{
	open_framed(self, "dstream_coresight");
	EXPECT_STREQ("session\ntrace_on\ncontext A64 EL0 nonsecure 64 cpu=0\n" TWO TWO,
		     flow_of(self, 0));
	EXPECT_STREQ("session\ntrace_on\ncontext A64 EL0 nonsecure 64 cpu=1\n" THREE,
		     flow_of(self, 1));
}

TEST_F(snapshot, buffers_of_one_processor_share_its_memory)
{
	open_raw(self);
	ASSERT_EQ(3, self->n);
	EXPECT_STREQ("session\ntrace_on\ncontext A64 EL0 nonsecure 64 cpu=0\n" TWO,
		     flow_of(self, 0));
	EXPECT_STREQ("session\ntrace_on\ncontext A64 EL0 nonsecure 64 cpu=0\n" TWO TWO,
		     flow_of(self, 1));
	EXPECT_EQ(1, self->images);
	EXPECT_STREQ("session\ntrace_on\ncontext A64 EL0 nonsecure 64 cpu=1\n" THREE,
		     flow_of(self, 2));
	EXPECT_EQ(2, self->images);
	flowtap_snapshot_sessions_end(&self->sessions);
	EXPECT_EQ(sizeof(two) + sizeof(three), self->sessions.code_bytes);
}

TEST_F(snapshot, a_buffer_that_is_not_there_is_named_as_such)
{
	open_raw(self);
	if (unlinkat(self->directory, "a.bin", 0))
		abort();
	EXPECT_EQ(-ENOENT, flowtap_snapshot_session(&self->sessions, &self->sources[0]));
	EXPECT_EQ(FLOWTAP_SNAPSHOT_BUFFER, self->sessions.step);
	EXPECT_EQ(0, flowtap_snapshot_session(&self->sessions, &self->sources[1]));
	EXPECT_EQ(FLOWTAP_SNAPSHOT_SESSION, self->sessions.step);
}

TEST_F(snapshot, images_that_are_refused_stop_it)
{
	open_raw(self);
	self->refused = -EDOM;
	EXPECT_EQ(-EDOM, flowtap_snapshot_session(&self->sessions, &self->sources[0]));
	EXPECT_EQ(FLOWTAP_SNAPSHOT_IMAGES, self->sessions.step);
	EXPECT_EQ(-EDOM, flowtap_snapshot_session(&self->sessions, &self->sources[1]));
	EXPECT_EQ(2, self->images);
	EXPECT_STREQ("", flow_lines(&self->flow));
}

TEST_F(snapshot, a_trace_unit_of_another_wfxmode_needs_other_blocks)
{
	open_raw(self);
	self->sessions.session.wfx = true;
	EXPECT_EQ(-EPROTOTYPE, flowtap_snapshot_session(&self->sessions, &self->sources[0]));
	EXPECT_EQ(FLOWTAP_SNAPSHOT_SESSION, self->sessions.step);
}

TEST_HARNESS_MAIN
