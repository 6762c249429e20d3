// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Separates the trace sources of formatted frames (IHI 0029 D4), byte by byte, and finds frame
 * synchronization again after a loss.
 */
#include <flowtap/frame.h>

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

static int add_byte(struct flowtap_frames *frames, uint8_t byte)
{
	int error = frames->pending ? report_loss(frames) : 0;

	if (error)
		return error;
	if (frames->out_size &&
	    (frames->out_id != frames->id || frames->out_size == sizeof(frames->out)))
		error = flush(frames);
	if (!frames->out_size) {
		frames->out_id = frames->id;
		frames->out_offset = frames->begin;
	}
	frames->out[frames->out_size++] = byte;
	return error;
}

/* A byte of the current ID; *unknown counts those of which there is none. */
static int add_data_byte(struct flowtap_frames *frames, uint8_t byte, uint8_t *unknown)
{
	if (!frames->id_known) {
		++*unknown;
		return 0;
	}
	if (frames->id >= FLOWTAP_FRAME_FIRST && frames->id <= FLOWTAP_FRAME_LAST)
		return add_byte(frames, byte);
	if (frames->id == FLOWTAP_FRAME_TRIGGER)
		frames->triggers++;
	else
		frames->padding++;
	return 0;
}

static bool bad(const uint8_t *frame)
{
	for (int i = 0; i < FLOWTAP_FRAME_SIZE; i += 2)
		if (frame[i] == (FLOWTAP_FRAME_RESERVED << 1 | 1))
			return true;
	return false;
}

static int add_unknown_loss(struct flowtap_frames *frames, uint8_t *unknown)
{
	uint8_t size = *unknown;

	*unknown = 0;
	return size ? add_loss(frames, FLOWTAP_FRAME_UNKNOWN_ID, frames->begin, size) : 0;
}

static int unpack(struct flowtap_frames *frames)
{
	const uint8_t *frame = frames->frame;
	uint8_t unknown = 0;
	int error = 0;

	for (int i = 0; i < FLOWTAP_FRAME_SIZE && !error; i += 2) {
		bool flag = frame[FLOWTAP_FRAME_SIZE - 1] >> (i / 2) & 1;
		/* The last one has no data byte after it, but the auxiliary byte. */
		bool pair = i + 2 < FLOWTAP_FRAME_SIZE;

		if (!(frame[i] & 1)) {
			error = add_data_byte(frames, frame[i] | flag, &unknown);
			if (!error && pair)
				error = add_data_byte(frames, frame[i + 1], &unknown);
			continue;
		}
		if (pair && flag)
			error = add_data_byte(frames, frame[i + 1], &unknown);
		frames->id = frame[i] >> 1;
		frames->id_known = true;
		if (!error)
			error = add_unknown_loss(frames, &unknown);
		if (!error && pair && !flag)
			error = add_data_byte(frames, frame[i + 1], &unknown);
	}
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
static int look_again(struct flowtap_frames *frames)
{
	uint8_t bytes[FLOWTAP_FRAME_SIZE];
	int error = 0;

	memcpy(bytes, frames->frame, sizeof(bytes));
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
static int end_frame(struct flowtap_frames *frames)
{
	frames->fill = 0;
	if (is_barrier(frames->frame))
		return barrier(frames);
	if (bad(frames->frame)) {
		frames->id_known = false;
		if (frames->synced)
			return look_again(frames);
		return add_loss(frames, FLOWTAP_FRAME_BAD_ID, frames->begin, FLOWTAP_FRAME_SIZE);
	}
	return unpack(frames);
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
	return fill == FLOWTAP_FRAME_SIZE ? end_frame(frames) : 0;
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

/* Without syncs: frames lie end to end. */
static int parse_frames(struct flowtap_frames *frames, const uint8_t *bytes, size_t size)
{
	int error = 0;

	while (size && !error) {
		size_t capacity = FLOWTAP_FRAME_SIZE - frames->fill;
		size_t piece = size < capacity ? size : capacity;

		if (!frames->fill)
			frames->begin = frames->bytes;
		memcpy(frames->frame + frames->fill, bytes, piece);
		frames->fill += (uint8_t)piece;
		frames->bytes += piece;
		bytes += piece;
		size -= piece;
		if (frames->fill == FLOWTAP_FRAME_SIZE)
			error = end_frame(frames);
	}
	return error;
}

int flowtap_frames_decode(struct flowtap_frames *frames, const uint8_t *bytes, size_t size)
{
	int error = 0;

	if (!frames->synced)
		return parse_frames(frames, bytes, size);
	for (size_t i = 0; i < size && !error; i++)
		error = parse_byte(frames, bytes[i]);
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
