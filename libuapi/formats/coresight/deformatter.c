// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Separates the trace sources of formatted frames (IHI 0029 D4), frame by frame, or byte by byte
 * where syncs are, and finds frame synchronization again after a loss.
 */
#include <flowtap/frame.h>

#include <endian.h>
#include <string.h>

static const uint8_t full_sync[4] = { 0xff, 0xff, 0xff, 0x7f };

static int flush(struct flowtap_frames *frames)
{
	size_t size = frames->out_size;

	frames->out_size = 0;
	return size ? frames->data(frames, frames->out_id, frames->out, size, frames->out_offset) :
		      0;
}

/* Reports the loss that is not reported yet. */
static int report_loss(struct flowtap_frames *frames)
{
	bool pending = frames->pending;

	frames->pending = false;
	if (!pending || !frames->lost)
		return 0;
	return frames->lost(frames, frames->loss, frames->lost_offset, frames->lost_size);
}

/*
 * Losses of one kind with nothing between them are one. That there is no ID after a loss comes of
 * it, and is no other.
 */
static int add_loss(struct flowtap_frames *frames, enum flowtap_frame_loss loss, uint64_t offset,
		    uint64_t size)
{
	/* What came before it comes first. */
	int error = flush(frames);

	if (error)
		return error;
	if (frames->pending && (frames->loss == loss || loss == FLOWTAP_FRAME_UNKNOWN_ID)) {
		frames->lost_size = offset + size - frames->lost_offset;
		return 0;
	}
	error = report_loss(frames);
	frames->pending = true;
	frames->loss = loss;
	frames->lost_offset = offset;
	frames->lost_size = size;
	frames->losses[loss]++;
	return error;
}

/* Of one source: up to FRAME_SIZE bytes, and as many can be read. */
static int add_data(struct flowtap_frames *frames, const uint8_t *bytes, size_t size)
{
	int error = frames->pending ? report_loss(frames) : 0;

	if (error || (frames->only && frames->id != frames->only))
		return error;
	if (frames->out_size && (frames->out_id != frames->id ||
				 frames->out_size + FLOWTAP_FRAME_SIZE > sizeof(frames->out)))
		error = flush(frames);
	if (!frames->out_size) {
		frames->out_id = frames->id;
		frames->out_offset = frames->begin;
	}
	/* One of a size that is always the same takes no call. */
	memcpy(frames->out + frames->out_size, bytes, FLOWTAP_FRAME_SIZE);
	frames->out_size += size;
	return error;
}

/* Bytes of the current ID, as add_data; *unknown counts those of which there is none. */
static int add_bytes(struct flowtap_frames *frames, const uint8_t *bytes, size_t size,
		     uint8_t *unknown)
{
	if (!frames->id_known) {
		*unknown += (uint8_t)size;
		return 0;
	}
	if (frames->id >= FLOWTAP_FRAME_FIRST && frames->id <= FLOWTAP_FRAME_LAST)
		return add_data(frames, bytes, size);
	if (frames->id == FLOWTAP_FRAME_TRIGGER)
		frames->triggers += size;
	else
		frames->padding += size;
	return 0;
}

/* --- Half a frame is a word: its even bytes are four lanes of 16 bits. --- */

#define LANES		0x0001000100010001ULL	/* bit 0 of each */

static uint64_t half_frame(const uint8_t *frame)
{
	uint64_t word;

	memcpy(&word, frame, sizeof(word));
	return le64toh(word);
}

/* Bit 0 of each lane, side by side: 4 bits. */
static unsigned int gather(uint64_t word)
{
	return (word & LANES) * 0x0001000200040008ULL >> 48 & 0xf;
}

/* The reverse. */
static uint64_t spread(unsigned int bits)
{
	return (bits & 0xf) * 0x0000200040008001ULL & LANES;
}

/* An even byte is ff: nothing is left of its lane, which then takes from the one above. */
static bool has_reserved(uint64_t word)
{
	return (((~word & 0xff * LANES) - LANES) & 0x8000 * LANES) != 0;
}

static bool is_bad(const uint8_t *frame)
{
	return has_reserved(half_frame(frame)) || has_reserved(half_frame(frame + 8));
}

static int add_unknown_loss(struct flowtap_frames *frames, uint8_t *unknown)
{
	uint8_t size = *unknown;

	*unknown = 0;
	return size ? add_loss(frames, FLOWTAP_FRAME_UNKNOWN_ID, frames->begin, size) : 0;
}

/* A frame that is not bad. */
static int unpack(struct flowtap_frames *frames, const uint8_t *frame)
{
	const uint64_t words[2] = { half_frame(frame), half_frame(frame + 8) };
	const unsigned int flags = frame[FLOWTAP_FRAME_SIZE - 1];
	unsigned int ids = gather(words[0]) | gather(words[1]) << 4;
	/* add_data reads as much from any of the first. */
	uint8_t data[2 * FLOWTAP_FRAME_SIZE] = { 0 }, unknown = 0;
	size_t from = 0;
	int error = 0;

	for (size_t i = 0; i < 2; i++) {
		const uint64_t word = htole64(words[i] | spread(flags >> 4 * i));

		memcpy(data + sizeof(word) * i, &word, sizeof(word));
	}
	for (; ids && !error; ids &= ids - 1) {
		const size_t pair = (size_t)__builtin_ctz(ids), at = 2 * pair;
		/* The last one has no data byte after it, but the auxiliary byte. */
		const bool late = at + 2 < FLOWTAP_FRAME_SIZE && flags >> pair & 1;

		if (at != from)
			error = add_bytes(frames, data + from, at - from, &unknown);
		if (!error && late)
			error = add_bytes(frames, data + at + 1, 1, &unknown);
		frames->id = frame[at] >> 1;
		frames->id_known = true;
		if (!error)
			error = add_unknown_loss(frames, &unknown);
		from = at + 1 + late;
	}
	if (!error && from < FLOWTAP_FRAME_SIZE - 1)
		error = add_bytes(frames, data + from, FLOWTAP_FRAME_SIZE - 1 - from, &unknown);
	return error ? error : add_unknown_loss(frames, &unknown);
}

/* Four full syncs in the place of a frame. */
static bool is_barrier(const uint8_t *frame)
{
	return !memcmp(frame, full_sync, 4) && !memcmp(frame, frame + 4, FLOWTAP_FRAME_SIZE - 4);
}

static int barrier(struct flowtap_frames *frames)
{
	/* At the very begin there is nothing that it could divide from what follows. */
	bool first = !frames->begin;

	frames->id_known = false;
	return first ? 0 : add_loss(frames, FLOWTAP_FRAME_BARRIER, frames->begin, 0);
}

static int parse_byte(struct flowtap_frames *frames, uint8_t byte);

/* Where syncs are, nothing says any more where the next frame begins: one may be in this. */
static int look_again(struct flowtap_frames *frames, const uint8_t *frame)
{
	uint8_t bytes[FLOWTAP_FRAME_SIZE];
	int error = 0;

	memcpy(bytes, frame, sizeof(bytes));
	frames->aligned = false;
	frames->skipping = FLOWTAP_FRAME_BAD_ID;
	frames->begin = frames->bytes - sizeof(bytes);
	frames->bytes = frames->begin;
	/* At most one frame's bytes: this is not reached again from here. */
	for (size_t i = 0; i < sizeof(bytes) && !error; i++)
		error = parse_byte(frames, bytes[i]);
	return error;
}

/* All 16 bytes of a frame are there. */
static int end_frame(struct flowtap_frames *frames, const uint8_t *frame)
{
	frames->fill = 0;
	if (!is_bad(frame))
		return unpack(frames, frame);
	if (is_barrier(frame))
		return barrier(frames);
	frames->id_known = false;
	if (frames->synced)
		return look_again(frames, frame);
	return add_loss(frames, FLOWTAP_FRAME_BAD_ID, frames->begin, FLOWTAP_FRAME_SIZE);
}

/* With syncs: one byte within frames. */
static int parse_synced_byte(struct flowtap_frames *frames, uint8_t byte)
{
	uint8_t fill, before;

	if (!frames->fill)
		frames->begin = frames->bytes - 1;
	frames->frame[frames->fill++] = byte;
	fill = frames->fill;
	if (fill & 1)
		return 0;
	/* Either sync ends with 7f after ff at an even offset, where no ID can be. */
	if (byte == 0x7f && frames->frame[fill - 2] == 0xff) {
		frames->fill -= 2;
		if (fill < 4 || memcmp(frames->frame + fill - 4, full_sync, 4))
			return 0;
		frames->fill = 0;
		before = fill - 4;
		if (!before)
			return 0;
		frames->id_known = false;
		return add_loss(frames, FLOWTAP_FRAME_MISALIGNED, frames->begin, before);
	}
	return fill == FLOWTAP_FRAME_SIZE ? end_frame(frames, frames->frame) : 0;
}

/* Looks for a full sync: fill is how many bytes of it are there. */
static int search(struct flowtap_frames *frames, uint8_t byte)
{
	uint64_t before;

	if (byte == full_sync[frames->fill])
		frames->fill++;
	else if (byte != 0xff)
		frames->fill = 0;
	if (frames->fill < sizeof(full_sync))
		return 0;
	before = frames->bytes - sizeof(full_sync) - frames->begin;
	frames->aligned = true;
	frames->fill = 0;
	return before ? add_loss(frames, frames->skipping, frames->begin, before) : 0;
}

static int parse_byte(struct flowtap_frames *frames, uint8_t byte)
{
	frames->bytes++;
	return frames->aligned ? parse_synced_byte(frames, byte) : search(frames, byte);
}

/* Bytes of a frame that is in several pieces, or all of one. How many are taken. */
static size_t take_frame(struct flowtap_frames *frames, const uint8_t *bytes, size_t size,
			 int *error)
{
	const size_t capacity = FLOWTAP_FRAME_SIZE - frames->fill;
	const size_t piece = size < capacity ? size : capacity;

	if (!frames->fill)
		frames->begin = frames->bytes;
	frames->bytes += piece;
	if (piece == FLOWTAP_FRAME_SIZE) {
		*error = end_frame(frames, bytes);
		return piece;
	}
	memcpy(frames->frame + frames->fill, bytes, piece);
	frames->fill += (uint8_t)piece;
	if (frames->fill == FLOWTAP_FRAME_SIZE)
		*error = end_frame(frames, frames->frame);
	return piece;
}

/* Without syncs frames lie end to end. With them this one does, where no sync can be in it. */
static bool is_next(const struct flowtap_frames *frames, const uint8_t *bytes, size_t size)
{
	if (!frames->synced)
		return true;
	return frames->aligned && !frames->fill && size >= FLOWTAP_FRAME_SIZE && !is_bad(bytes);
}

int flowtap_frames_decode(struct flowtap_frames *frames, const uint8_t *bytes, size_t size)
{
	size_t at = 0;
	int error = 0;

	while (at < size && !error)
		if (is_next(frames, bytes + at, size - at))
			at += take_frame(frames, bytes + at, size - at, &error);
		else
			error = parse_byte(frames, bytes[at++]);
	return error;
}

int flowtap_frames_finish(struct flowtap_frames *frames)
{
	uint64_t size = frames->fill;
	enum flowtap_frame_loss loss = FLOWTAP_FRAME_CUT;
	int error = 0;

	if (frames->synced && !frames->aligned) {
		size = frames->bytes - frames->begin;
		loss = frames->skipping;
	}
	frames->fill = 0;
	if (size)
		error = add_loss(frames, loss, frames->begin, size);
	if (!error)
		error = flush(frames);
	return error ? error : report_loss(frames);
}

const char *flowtap_frame_loss_text(enum flowtap_frame_loss loss)
{
	static const char *const texts[] = {
		[FLOWTAP_FRAME_UNSYNCED] = "bytes before a frame sync",
		[FLOWTAP_FRAME_BARRIER] = "a mark in the frames: the trace is not continuous",
		[FLOWTAP_FRAME_MISALIGNED] = "a frame sync within a frame",
		[FLOWTAP_FRAME_BAD_ID] = "a frame with an ID that is reserved",
		[FLOWTAP_FRAME_UNKNOWN_ID] = "data in frames before the first ID",
		[FLOWTAP_FRAME_CUT] = "the input ends within a frame",
	};

	return (unsigned int)loss < FLOWTAP_FRAME_LOSSES ? texts[loss] : "unknown";
}
