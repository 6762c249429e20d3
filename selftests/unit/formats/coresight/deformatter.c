// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that what a formatter puts into frames comes out again for each source, in pieces of any
 * size, with and without syncs between; and that damage loses one region and is told.
 */
#include <flowtap/frame.h>

#include <stdlib.h>
#include <string.h>

#include "support/kselftest_harness.h"
#include "support/seed.h"

#define CAPACITY (1U << 13)

/* --- A formatter, as IHI 0029 D4 describes one --- */

struct formatter {
	uint8_t out[4 * CAPACITY];
	size_t size;
	uint8_t frame[16];
	unsigned int at;
	int id;			/* of the byte before, -1 none */
};

static void format_end(struct formatter *to)
{
	memcpy(to->out + to->size, to->frame, 16);
	to->size += 16;
	to->at = 0;
	memset(to->frame, 0, 16);
}

static void format_sync(struct formatter *to, const char *sync, size_t size)
{
	memcpy(to->out + to->size, sync, size);
	to->size += size;
}

/* Bytes first, then second, of which second may have another ID: in the pair at an even place. */
static void format_byte(struct formatter *to, int id, uint8_t byte)
{
	if (to->at & 1) {
		if (id == to->id) {
			to->frame[to->at++] = byte;
			return;
		}
		/* The byte before is taken back: it stands after the ID, which counts later. */
		uint8_t before = to->frame[to->at - 1];
		bool low = to->frame[15] >> (to->at / 2) & 1;

		to->frame[to->at - 1] = (uint8_t)(id << 1 | 1);
		to->frame[to->at] = before | low;
		to->frame[15] |= (uint8_t)(1 << to->at / 2);
		to->at++;
		to->id = id;
		if (to->at == 15)
			format_end(to);
		format_byte(to, id, byte);
		return;
	}
	if (id != to->id) {
		to->frame[to->at++] = (uint8_t)(id << 1 | 1);
		to->id = id;
		if (to->at == 15) {
			format_end(to);
			format_byte(to, id, byte);
			return;
		}
		to->frame[to->at++] = byte;
	} else {
		to->frame[to->at] = byte & 0xfe;
		to->frame[15] |= (uint8_t)((byte & 1) << to->at / 2);
		to->at++;
	}
	if (to->at == 15)
		format_end(to);
}

/* Fills what is left of the frame with the null source. */
static void format_flush(struct formatter *to)
{
	while (to->at)
		format_byte(to, 0, 0);
}

/* --- What comes out --- */

struct found {
	uint8_t bytes[128][CAPACITY];
	size_t size[128];
	unsigned int n_lost;
	struct {
		enum flowtap_frame_loss loss;
		uint64_t offset;
		uint64_t size;
		size_t before;		/* bytes of source 0x10 that came before it */
	} lost[64];
	uint64_t last_offset;
	bool backwards;
	int result;
};

static int take(struct flowtap_frames *frames, uint8_t id, const uint8_t *bytes, size_t size,
		uint64_t offset)
{
	struct found *found = frames->argument;

	if (!size || found->size[id] + size > CAPACITY)
		abort();
	found->backwards |= offset < found->last_offset || offset >= frames->bytes;
	found->last_offset = offset;
	memcpy(found->bytes[id] + found->size[id], bytes, size);
	found->size[id] += size;
	return found->result;
}

static int take_loss(struct flowtap_frames *frames, enum flowtap_frame_loss loss, uint64_t offset,
		     uint64_t size)
{
	struct found *found = frames->argument;

	if (found->n_lost == 64)
		return 0;
	found->lost[found->n_lost].loss = loss;
	found->lost[found->n_lost].offset = offset;
	found->lost[found->n_lost].size = size;
	found->lost[found->n_lost++].before = found->size[0x10];
	return 0;
}

FIXTURE(frame)
{
	struct formatter *to;
	struct found *found;
	struct flowtap_frames frames;
	uint8_t (*sent)[CAPACITY];
	size_t sent_size[128];
};

static void begin(FIXTURE_DATA(frame) *self);

FIXTURE_SETUP(frame)
{
	self->to = calloc(1, sizeof(*self->to));
	self->found = calloc(1, sizeof(*self->found));
	self->sent = calloc(128, CAPACITY);
	ASSERT_TRUE(self->to && self->found && self->sent);
	begin(self);
}

static void begin(FIXTURE_DATA(frame) *self)
{
	memset(self->found, 0, sizeof(*self->found));
	memset(self->to, 0, sizeof(*self->to));
	memset(&self->frames, 0, sizeof(self->frames));
	memset(self->sent_size, 0, sizeof(self->sent_size));
	self->to->id = -1;
}

FIXTURE_TEARDOWN(frame)
{
	free(self->sent);
	free(self->to);
	free(self->found);
}

static int run(struct flowtap_frames *frames, struct found *found, const uint8_t *bytes,
	       size_t size, size_t most)
{
	int error = 0;

	frames->data = take;
	frames->lost = take_loss;
	frames->argument = found;
	while (size && !error) {
		size_t piece = most ? 1 + (size_t)rand() % most : size;

		piece = piece < size ? piece : size;
		error = flowtap_frames_decode(frames, bytes, piece);
		bytes += piece;
		size -= piece;
	}
	return error ? error : flowtap_frames_finish(frames);
}

enum sync { NONE, FULL, HALF };

/* Random runs of random sources. */
static void send(FIXTURE_DATA(frame) *self, unsigned int runs, enum sync sync)
{
	static const uint8_t ids[] = { 0x10, 0x11, 0x01, 0x6f };

	for (unsigned int i = 0; i < runs; i++) {
		uint8_t id = ids[rand() % 4];
		unsigned int length = rand() % 4 ? rand() % 5 + 1 : rand() % 40;

		for (unsigned int j = 0; j < length; j++) {
			/* Also bytes that look like syncs. */
			uint8_t byte = rand() % 3 ? (uint8_t)rand() : rand() % 2 ? 0xff : 0x7f;

			format_byte(self->to, id, byte);
			self->sent[id][self->sent_size[id]++] = byte;
			if (sync != NONE && !self->to->at && rand() % 3 == 0)
				format_sync(self->to, "\xff\xff\xff\x7f", 4);
		}
	}
	format_flush(self->to);
}

static bool all_there(FIXTURE_DATA(frame) *self)
{
	for (int id = 1; id < 0x70; id++)
		if (self->found->size[id] != self->sent_size[id] ||
		    memcmp(self->found->bytes[id], self->sent[id], self->sent_size[id]))
			return false;
	return true;
}

TEST_F(frame, what_was_framed_comes_out_for_each_source)
{
	for (unsigned int round = 0; round < 200; round++) {
		srand((unsigned int)seeded(round));
		begin(self);
		send(self, 100, NONE);
		ASSERT_EQ(0, run(&self->frames, self->found, self->to->out, self->to->size,
				 round % 40));
		ASSERT_TRUE(all_there(self));
		ASSERT_EQ(0, self->found->n_lost);
		ASSERT_FALSE(self->found->backwards);
		ASSERT_EQ(self->to->size, self->frames.bytes);
	}
}

/* Half syncs come between two bytes at an even place, full ones between frames. */
static size_t add_syncs(const uint8_t *from, size_t size, uint8_t *to)
{
	size_t n = 0;

	memcpy(to, "\xff\xff\xff\x7f", 4);
	n = 4;
	for (size_t i = 0; i < size; i += 2) {
		if (i % 16 == 0 && rand() % 4 == 0)
			for (int more = rand() % 5; more >= 0; more--, n += 4)
				memcpy(to + n, "\xff\xff\xff\x7f", 4);
		if (rand() % 8 == 0)
			for (int more = rand() % 3; more >= 0; more--, n += 2)
				memcpy(to + n, "\xff\x7f", 2);
		memcpy(to + n, from + i, 2);
		n += 2;
	}
	return n;
}

TEST_F(frame, syncs_between_are_skipped)
{
	static uint8_t synced[8 * CAPACITY];

	for (unsigned int round = 0; round < 200; round++) {
		size_t size, before = round % 3 ? 0 : 1 + round % 29;

		srand((unsigned int)seeded(round));
		begin(self);
		send(self, 100, NONE);
		/* What stands before the first one is lost, whatever it is. */
		for (size_t i = 0; i < before; i++)
			synced[i] = rand() % 3 ? 0xff : (uint8_t)(rand() & 0x7e);
		size = before + add_syncs(self->to->out, self->to->size, synced + before);
		self->frames.synced = true;
		ASSERT_EQ(0, run(&self->frames, self->found, synced, size, round % 40));
		ASSERT_TRUE(all_there(self));
		ASSERT_EQ(before ? 1 : 0, self->found->n_lost);
		if (before) {
			ASSERT_EQ(FLOWTAP_FRAME_UNSYNCED, self->found->lost[0].loss);
			ASSERT_EQ(0, self->found->lost[0].offset);
			ASSERT_EQ(before, self->found->lost[0].size);
		}
		ASSERT_FALSE(self->found->backwards);
	}
}

/* A run of one source, with an ID in each frame as formatters repeat it. */
static void send_counted(FIXTURE_DATA(frame) *self, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		if (!self->to->at)
			self->to->id = -1;
		format_byte(self->to, 0x10, (uint8_t)(i * 5));
	}
	self->to->id = 0x10;
	format_flush(self->to);
}

TEST_F(frame, bytes_of_the_example_frame)
{
	/*
	 * Written by hand: ID 0x10, then 0x20 at once and a byte later, data with either low bit,
	 * an ID in the last place that counts from the next frame on.
	 */
	static const uint8_t bytes[] = {
		0x21, 0x11, 0x22, 0x33, 0x44, 0x55, 0x41, 0x66,
		0x21, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0x41, 0x2a,
		0xcc, 0xdd, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	};
	/* aux 0x2a: bits 1 (byte 2), 3 (ID 0x20 takes effect later), 5 (byte 10). */
	static const uint8_t first[] = { 0x11, 0x23, 0x33, 0x44, 0x55, 0x66, 0x77, 0x89, 0x99, 0xaa,
					 0xbb };
	static const uint8_t second[] = { 0xcc, 0xdd };

	ASSERT_EQ(0, run(&self->frames, self->found, bytes, sizeof(bytes), 0));
	ASSERT_EQ(sizeof(first), self->found->size[0x10]);
	ASSERT_EQ(0, memcmp(first, self->found->bytes[0x10], sizeof(first)));
	ASSERT_EQ(sizeof(second), self->found->size[0x20]);
	ASSERT_EQ(0, memcmp(second, self->found->bytes[0x20], sizeof(second)));
	ASSERT_EQ(12, self->frames.padding);
}

TEST_F(frame, triggers_and_padding_are_nobodys_data)
{
	static const uint8_t bytes[] = {
		0x7d << 1 | 1, 0x01, 0x10 << 1 | 1, 0xa0, 0x7c << 1 | 1, 1, 0x7e << 1 | 1, 2,
		0x01, 0, 0, 0, 0, 0, 0, 0,
	};

	ASSERT_EQ(0, run(&self->frames, self->found, bytes, sizeof(bytes), 0));
	ASSERT_EQ(1, self->frames.triggers);
	ASSERT_EQ(1, self->found->size[0x10]);
	ASSERT_EQ(0xa0, self->found->bytes[0x10][0]);
	for (int id = 0; id < 128; id++)
		if (id != 0x10)
			ASSERT_EQ(0, self->found->size[id]);
	ASSERT_EQ(0, self->found->n_lost);
}

TEST_F(frame, a_wrapped_start_is_lost_up_to_the_first_id)
{
	send_counted(self, 200);
	/* The first frames without their IDs: as if those stood before the begin. */
	self->to->out[0] = 0x00;
	self->to->out[16] = 0x00;
	ASSERT_EQ(0, run(&self->frames, self->found, self->to->out, self->to->size, 7));
	ASSERT_EQ(1, self->found->n_lost);
	ASSERT_EQ(FLOWTAP_FRAME_UNKNOWN_ID, self->found->lost[0].loss);
	ASSERT_EQ(0, self->found->lost[0].offset);
	ASSERT_EQ(16 + 15, self->found->lost[0].size);
	ASSERT_EQ(0, self->found->lost[0].before);
	/* Fourteen data bytes of each frame with an ID. */
	ASSERT_EQ(200 - 2 * 14, self->found->size[0x10]);
}

/* A sync before every fourth frame. */
static size_t sync_regularly(const struct formatter *from, uint8_t *to)
{
	size_t n = 0;

	for (size_t i = 0; i < from->size; i += 16) {
		if (i % 64 == 0) {
			memcpy(to + n, "\xff\xff\xff\x7f", 4);
			n += 4;
		}
		memcpy(to + n, from->out + i, 16);
		n += 16;
	}
	return n;
}

/* As a DSTREAM's buffer that wrapped: within a frame, and the next ones have no ID. */
TEST_F(frame, a_wrapped_start_with_syncs_is_one_loss)
{
	static uint8_t synced[8 * CAPACITY];
	size_t size;

	send_counted(self, 14 * 20);
	self->to->out[0] = 0x00;
	self->to->out[16] = 0x00;
	for (int i = 4; i < 8; i++)
		self->to->out[i * 16] = 0x00;
	size = sync_regularly(self->to, synced);
	self->frames.synced = true;
	ASSERT_EQ(0, run(&self->frames, self->found, synced + 9, size - 9, 11));
	ASSERT_EQ(1, self->found->n_lost);
	ASSERT_EQ(FLOWTAP_FRAME_UNSYNCED, self->found->lost[0].loss);
	ASSERT_EQ(0, self->found->lost[0].offset);
	/* To the sync, after it, and four frames but for the last byte. */
	ASSERT_EQ(59 + 4 + 4 * 16 - 1, self->found->lost[0].size);
	ASSERT_EQ(12 * 14, self->found->size[0x10]);
}

TEST_F(frame, a_barrier_divides_and_forgets_the_id)
{
	unsigned int half;

	send_counted(self, 140);
	half = (unsigned int)self->to->size;
	for (int i = 0; i < 4; i++)
		format_sync(self->to, "\xff\xff\xff\x7f", 4);
	send_counted(self, 140);
	self->to->out[half + 16] = 0;	/* the first ID after it */
	ASSERT_EQ(0, run(&self->frames, self->found, self->to->out, self->to->size, 5));
	/* One loss: that the first frame after it has no ID comes of it. */
	ASSERT_EQ(1, self->found->n_lost);
	ASSERT_EQ(FLOWTAP_FRAME_BARRIER, self->found->lost[0].loss);
	ASSERT_EQ(half, self->found->lost[0].offset);
	ASSERT_EQ(16 + 15, self->found->lost[0].size);
	ASSERT_EQ(140, self->found->lost[0].before);
	ASSERT_EQ(280 - 14, self->found->size[0x10]);
}

TEST_F(frame, a_barrier_at_the_begin_is_no_loss)
{
	for (int i = 0; i < 4; i++)
		format_sync(self->to, "\xff\xff\xff\x7f", 4);
	send_counted(self, 100);
	ASSERT_EQ(0, run(&self->frames, self->found, self->to->out, self->to->size, 5));
	ASSERT_EQ(0, self->found->n_lost);
	ASSERT_EQ(100, self->found->size[0x10]);
}

/* After an ID in the last place stands the auxiliary byte, whatever its bit 7 says: no data. */
TEST_F(frame, an_id_in_the_last_place_has_no_data_after_it)
{
	static const uint8_t bytes[32] = {
		[0] = 0x10 << 1 | 1, [14] = 0x11 << 1 | 1, [15] = 0x80,
		[17] = 0x55,
	};

	ASSERT_EQ(0, run(&self->frames, self->found, bytes, sizeof(bytes), 3));
	ASSERT_EQ(13, self->found->size[0x10]);
	ASSERT_EQ(15, self->found->size[0x11]);
	ASSERT_EQ(0x55, self->found->bytes[0x11][1]);
	ASSERT_EQ(0, self->found->n_lost);
}

TEST_F(frame, a_reserved_id_loses_its_frame_only)
{
	send_counted(self, 140);
	self->to->out[3 * 16 + 4] = 0xff;
	ASSERT_EQ(0, run(&self->frames, self->found, self->to->out, self->to->size, 3));
	ASSERT_EQ(1, self->found->n_lost);
	ASSERT_EQ(FLOWTAP_FRAME_BAD_ID, self->found->lost[0].loss);
	ASSERT_EQ(48, self->found->lost[0].offset);
	ASSERT_EQ(16, self->found->lost[0].size);
	ASSERT_EQ(42, self->found->lost[0].before);
	ASSERT_EQ(140 - 14, self->found->size[0x10]);
	ASSERT_EQ(1, self->frames.losses[FLOWTAP_FRAME_BAD_ID]);
}

/* Bytes cut out anywhere: what is after the next sync is whole, and the loss is told. */
TEST_F(frame, it_goes_on_at_the_next_sync_after_a_cut)
{
	static uint8_t synced[8 * CAPACITY], cut[8 * CAPACITY];
	size_t size;

	send_counted(self, 14 * 40);
	size = sync_regularly(self->to, synced);
	for (size_t at = 5; at < 400; at++) {
		for (size_t missing = 1; missing < 24; missing++) {
			/* Data of the frames after the second sync after the cut. */
			size_t next = ((at + missing) / 68 + 2) * 68;
			size_t whole = (next / 68) * 64 / 16 * 14;

			memcpy(cut, synced, at);
			memcpy(cut + at, synced + at + missing, size - at - missing);
			memset(&self->frames, 0, sizeof(self->frames));
			memset(self->found->size, 0, sizeof(self->found->size));
			self->found->n_lost = 0;
			self->frames.synced = true;
			ASSERT_EQ(0, run(&self->frames, self->found, cut, size - missing, 9));
			ASSERT_GE(self->found->size[0x10], 14 * 40 - whole);
			for (size_t i = whole; i < 14 * 40; i++)
				ASSERT_EQ((uint8_t)(i * 5),
					  self->found->bytes[0x10][self->found->size[0x10] -
								   14 * 40 + i]);
			/* Nothing can tell that whole frames are missing, or they and a sync. */
			if (missing % 16 && at % 68 > 3 && at % 68 + missing <= 68)
				ASSERT_GE(self->found->n_lost, 1);
		}
	}
}

TEST_F(frame, without_any_sync_all_is_unsynced)
{
	send_counted(self, 140);
	self->frames.synced = true;
	ASSERT_EQ(0, run(&self->frames, self->found, self->to->out, self->to->size, 3));
	ASSERT_EQ(0, self->found->size[0x10]);
	ASSERT_EQ(1, self->found->n_lost);
	ASSERT_EQ(FLOWTAP_FRAME_UNSYNCED, self->found->lost[0].loss);
	ASSERT_EQ(self->to->size, self->found->lost[0].size);
}

TEST_F(frame, the_end_within_a_frame_is_told)
{
	send_counted(self, 140);
	ASSERT_EQ(0, run(&self->frames, self->found, self->to->out, self->to->size - 5, 3));
	ASSERT_EQ(1, self->found->n_lost);
	ASSERT_EQ(FLOWTAP_FRAME_CUT, self->found->lost[0].loss);
	ASSERT_EQ(self->to->size - 16, self->found->lost[0].offset);
	ASSERT_EQ(11, self->found->lost[0].size);
}

TEST_F(frame, what_the_callback_returns_stops_it)
{
	send_counted(self, 5000);
	self->found->result = -7;
	ASSERT_EQ(-7, run(&self->frames, self->found, self->to->out, self->to->size, 0));
}

TEST_F(frame, any_bytes_are_taken)
{
	for (unsigned int round = 0; round < 2000; round++) {
		size_t size;

		srand((unsigned int)seeded(round));
		begin(self);
		size = (size_t)rand() % 600;
		for (size_t i = 0; i < size; i++)
			self->to->out[i] = rand() % 4 ? (uint8_t)rand() : rand() % 3 ? 0xff : 0x7f;
		self->frames.synced = round & 1;
		ASSERT_EQ(0, run(&self->frames, self->found, self->to->out, size, 40));
		ASSERT_EQ(size, self->frames.bytes);
		ASSERT_FALSE(self->found->backwards);
		for (unsigned int i = 0; i < self->found->n_lost; i++)
			ASSERT_LE(self->found->lost[i].offset + self->found->lost[i].size, size);
	}
}

/* Of one source alone, with the losses of all: as what is given byte by byte. */
TEST_F(frame, one_source_alone_is_as_among_others)
{
	struct found *all = calloc(1, sizeof(*all));

	ASSERT_TRUE(all);
	for (unsigned int round = 0; round < 400; round++) {
		const uint8_t id = round & 2 ? 0x10 : 0x6f;

		srand((unsigned int)seeded(round));
		begin(self);
		send(self, 60, round & 1 ? FULL : NONE);
		for (unsigned int i = 0; i < round % 5; i++)
			self->to->out[(size_t)rand() % self->to->size] = (uint8_t)rand();
		memset(all, 0, sizeof(*all));
		self->frames.synced = round & 1;
		ASSERT_EQ(0, run(&self->frames, all, self->to->out, self->to->size, 1));
		self->frames = (struct flowtap_frames){ .synced = round & 1, .only = id };
		ASSERT_EQ(0, run(&self->frames, self->found, self->to->out, self->to->size, 0));
		ASSERT_EQ(all->size[id], self->found->size[id]);
		ASSERT_EQ(0, memcmp(all->bytes[id], self->found->bytes[id], all->size[id]));
		ASSERT_EQ(all->n_lost, self->found->n_lost);
		for (unsigned int i = 0; i < all->n_lost; i++)
			ASSERT_TRUE(all->lost[i].loss == self->found->lost[i].loss &&
				    all->lost[i].offset == self->found->lost[i].offset &&
				    all->lost[i].size == self->found->lost[i].size);
		for (int other = 0; other < 128; other++)
			ASSERT_TRUE(other == id || !self->found->size[other]);
	}
	free(all);
}

TEST_HARNESS_MAIN
