// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows which gap each loss of CoreSight frames is, and that a perf.data has the same gaps as any
 * other file with these frames.
 */
#include "unit/pipeline/trace_session_fixture.h"

#include <flowtap/arm.h>
#include <flowtap/perfdata.h>

#include "support/perffile.h"

#define FRAME FLOWTAP_FRAME_SIZE
#define FORMAT_RAW 0x100	/* PERF_AUX_FLAG_CORESIGHT_FORMAT_RAW */

TEST(each_loss_is_one_gap)
{
	static const struct {
		enum flowtap_frame_loss loss;
		const char *reason;
		uint64_t size;
	} table[] = {
		{ FLOWTAP_FRAME_UNSYNCED, "unsynced", 7 },
		{ FLOWTAP_FRAME_BARRIER, "truncated", UINT64_MAX },
		{ FLOWTAP_FRAME_MISALIGNED, "bad_packet", 7 },
		{ FLOWTAP_FRAME_BAD_ID, "bad_packet", 7 },
		{ FLOWTAP_FRAME_UNKNOWN_ID, "unsynced", 7 },
		{ FLOWTAP_FRAME_CUT, "truncated", 7 },
	};

	ASSERT_EQ(FLOWTAP_FRAME_LOSSES, sizeof(table) / sizeof(table[0]));
	for (size_t i = 0; i < FLOWTAP_FRAME_LOSSES; i++) {
		struct flowtap_gap gap = flowtap_frame_gap(table[i].loss, 7);

		EXPECT_STREQ(table[i].reason, flowtap_gap_name(gap.reason));
		EXPECT_EQ(table[i].size, gap.size);
		EXPECT_STREQ(flowtap_frame_loss_text(table[i].loss), gap.detail);
		EXPECT_EQ(0, gap.since | gap.until | gap.address);
	}
}

/* Which gap comes first in a flow. */
struct first {
	struct flowtap_sink sink;
	const char *gap;
};

static int take_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
		      uint64_t target)
{
	return 0;
}

static int take_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	struct first *first = (struct first *)sink;

	if (element->kind == FLOWTAP_ELEMENT_GAP && !first->gap)
		first->gap = flowtap_gap_name(element->gap.reason);
	return 0;
}

FIXTURE(frame_gap)
{
	uint8_t bytes[4096];
	size_t size;
	bool raw;	/* perf: the bytes are no frames */
	bool shrinks;	/* perf: the file, when its records were read */
	uint64_t damages;	/* perf: of frames, in the last one */
	struct first first;
};

/* A trace of several frames, in which the source is named anew now and then. */
FIXTURE_SETUP(frame_gap)
{
	struct stream stream = { .size = 0 };
	struct source source = { .id = 0x10 };

	start(&stream);
	for (int i = 0; i < 20; i++)
		timestamp(&stream, (uint64_t)i);
	source.bytes = stream.bytes;
	source.size = stream.size;
	self->size = frames(self->bytes, &source, 1);
	self->first = (struct first){ .sink = { take_block, take_element } };
}

FIXTURE_TEARDOWN(frame_gap)
{
}

/* The bytes as what an ETR collected of CPU 0; as a survey has seen it, or without one. */
static const char *first_of_perf(FIXTURE_DATA(frame_gap) *self, bool surveyed)
{
	static const struct perffile_unit unit = {
		.magic = PERFFILE_ETE, .configr = 1, .traceidr = 0x10, .idr0 = 0x28000ea1,
		.idr1 = 0x4100fff3, .idr2 = 0x20001088, .devarch = 0x47705a13,
	};
	struct flowtap_perfdata_options options = {
		.sink = &self->first.sink,
		.cpu = FLOWTAP_PERFDATA_NONE,
		.map = flowtap_address_map_new(NULL),
		.blocks = flowtap_blocks_new(flowtap_arm_block, 0),
	};
	int fd = memfd_create("perf.data", MFD_CLOEXEC);
	struct flowtap_perfdata_decoder *decoder, *survey = NULL;
	struct flowtap_perfdata *perfdata;
	struct perffile file;

	self->first.gap = NULL;
	perffile_start(&file, false, PERFFILE_ANY, PERFFILE_ANY);
	perffile_info(&file, 1, false, 1, &unit);
	perffile_aux(&file, 0, self->size, self->raw ? FORMAT_RAW : 0);
	perffile_auxtrace(&file, 0, 0, FLOWTAP_PERFDATA_NONE, 0, self->bytes, self->size);
	perffile_finish(&file);
	if (write(fd, file.bytes, file.size) != (ssize_t)file.size ||
	    flowtap_perfdata_open(fd, NULL, NULL, &perfdata, NULL) ||
	    (surveyed && (flowtap_perfdata_decoder_new(perfdata, &options, &survey) ||
			  flowtap_perfdata_survey(survey))))
		abort();
	options.survey = survey;
	if (flowtap_perfdata_decoder_new(perfdata, &options, &decoder) ||
	    (self->shrinks && ftruncate(fd, (off_t)file.data)) ||
	    flowtap_perfdata_decode(decoder))
		abort();
	self->damages = flowtap_perfdata_bad_frames(decoder);
	flowtap_perfdata_decoder_free(decoder);
	flowtap_perfdata_decoder_free(survey);
	flowtap_perfdata_close(perfdata);
	flowtap_blocks_free(options.blocks);
	flowtap_address_map_free(options.map);
	free(file.bytes);
	close(fd);
	return self->first.gap;
}

/* The bytes as a file of frames. */
static const char *first_of_file(FIXTURE_DATA(frame_gap) *self)
{
	struct flowtap_trace_session session = {
		.config = config,
		.memory = flowtap_memory_new(),
		.blocks = flowtap_trace_session_blocks(&config, 0),
		.sink = &self->first.sink,
		.fd = file_of(self->bytes, self->size),
		.framed = true,
		.id = 0x10,
	};

	self->first.gap = NULL;
	if (flowtap_trace_session(&session))
		abort();
	flowtap_blocks_free(session.blocks);
	flowtap_memory_free(session.memory);
	close(session.fd);
	return self->first.gap;
}

#define EXPECT_FIRST(name) do { \
	EXPECT_STREQ(name, first_of_perf(self, false)); \
	EXPECT_STREQ(name, first_of_perf(self, true)); \
	EXPECT_STREQ(name, first_of_file(self)); \
} while (0)

TEST_F(frame_gap, whole_ones_have_none)
{
	EXPECT_EQ(NULL, first_of_perf(self, false));
	EXPECT_EQ(NULL, first_of_perf(self, true));
	EXPECT_EQ(NULL, first_of_file(self));
}

TEST_F(frame_gap, a_reserved_id_is_damage)
{
	self->bytes[3 * FRAME + 2] = 0xff;
	EXPECT_FIRST("bad_packet");
	first_of_perf(self, false);
	EXPECT_EQ(1, self->damages);
	first_of_perf(self, true);
	EXPECT_EQ(1, self->damages);
}

TEST_F(frame_gap, bytes_before_the_first_id_are_unsynced)
{
	self->size -= FRAME;
	memmove(self->bytes, self->bytes + FRAME, self->size);
	self->bytes[0] &= 0xfe;
	EXPECT_FIRST("unsynced");
}

TEST_F(frame_gap, half_a_frame_at_the_end_is_truncated)
{
	self->size -= FRAME / 2;
	EXPECT_FIRST("truncated");
}

TEST_F(frame_gap, a_barrier_is_truncated)
{
	for (int i = 0; i < FRAME; i++)
		self->bytes[3 * FRAME + i] = i % 4 < 3 ? 0xff : 0x7f;
	EXPECT_FIRST("truncated");
}

/* The flow has no unit to which the loss could belong. */
TEST_F(frame_gap, without_any_source_the_loss_is_told)
{
	memset(self->bytes, 0, self->size);
	EXPECT_FIRST("unsynced");
	memset(self->bytes, 0xff, self->size);
	EXPECT_FIRST("bad_packet");
}

TEST_F(frame_gap, a_perf_data_that_shrinks_is_truncated)
{
	self->shrinks = true;
	EXPECT_STREQ("truncated", first_of_perf(self, false));
	EXPECT_STREQ("truncated", first_of_perf(self, true));
	self->raw = true;
	EXPECT_STREQ("truncated", first_of_perf(self, false));
	EXPECT_STREQ("truncated", first_of_perf(self, true));
}

TEST_HARNESS_MAIN
