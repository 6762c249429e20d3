// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Reads an archive block by block, and searches for the next block with a good checksum after a
 * damage.
 */
#include <flowtap/archive.h>

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/crc32c.h"

#define HEADER sizeof(struct flowtap_archive_block_header)
#define CAPACITY_MIN (1U << 18)
#define CAPACITY_STEP (1U << 16)
/*
 * Bytes that may be checksummed in vain, on top of 4 for each one that was searched for the next good
 * block and 1 for each of a good one: whatever a file has, the work is in proportion to it.
 */
#define CREDIT (64U << 20)

struct flowtap_archive_reader {
	int fd;
	int failed;		/* reading is over: -errno */
	int due;		/* it will be, when the damage before it was told: -errno */
	bool eof;
	uint8_t *buffer;	/* start and offset are the same modulo 8 */
	size_t capacity;
	size_t start;		/* of what is not consumed yet */
	size_t end;
	size_t taken;		/* of it, the block that the caller holds */
	uint64_t offset;	/* in the file, of start */
	uint64_t bad_bytes;
	uint64_t credit;
	struct flowtap_archive_damage damage;
	char reason[96];
	char line[160];
};

static size_t padded(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

static size_t available(const struct flowtap_archive_reader *reader)
{
	return reader->end - reader->start;
}

static void consume(struct flowtap_archive_reader *reader, size_t n)
{
	if (n > available(reader))
		n = available(reader);
	reader->start += n;
	reader->offset += n;
}

/* Space for `want` unconsumed bytes. The offset in the file stays the buffer's modulo 8. */
static int reserve_capacity(struct flowtap_archive_reader *reader, size_t want)
{
	uint8_t *bigger;
	size_t capacity;

	if (reader->start + want <= reader->capacity)
		return 0;
	memmove(reader->buffer, reader->buffer + reader->start, available(reader));
	reader->end -= reader->start;
	reader->start = 0;
	if (want <= reader->capacity)
		return 0;
	capacity = (want + CAPACITY_STEP - 1) & ~(size_t)(CAPACITY_STEP - 1);
	bigger = realloc(reader->buffer, capacity);
	if (!bigger)
		return -ENOMEM;
	reader->buffer = bigger;
	reader->capacity = capacity;
	return 0;
}

/* Sees to it that `want` unconsumed bytes are in the buffer, or all there are. 0 or -errno. */
static int fill(struct flowtap_archive_reader *reader, size_t want)
{
	int err;

	if (available(reader) >= want || reader->eof)
		return 0;
	err = reserve_capacity(reader, want);
	if (err)
		return err;
	while (available(reader) < want) {
		ssize_t n = read(reader->fd, reader->buffer + reader->end,
				 reader->capacity - reader->end);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0) {
			reader->eof = true;
			return 0;
		}
		reader->end += (size_t)n;
	}
	return 0;
}

__attribute__((format(printf, 2, 3)))
static void say(struct flowtap_archive_reader *reader, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(reader->reason, sizeof(reader->reason), format, args);
	va_end(args);
}

static void report_damage(struct flowtap_archive_reader *reader, uint64_t offset)
{
	reader->damage.offset = offset;
	reader->damage.bytes = reader->offset - offset;
	reader->damage.reason = reader->reason;
	reader->bad_bytes += reader->damage.bytes;
	snprintf(reader->line, sizeof(reader->line), "offset %" PRIu64 ": %s (%" PRIu64 " bytes)",
		 offset, reader->reason, reader->damage.bytes);
}

/* Reading cannot go on: an error of read, or of memory. */
static int fail(struct flowtap_archive_reader *reader, int err)
{
	reader->failed = err;
	say(reader, "cannot read: %s", strerrordesc_np(-err));
	report_damage(reader, reader->offset);
	return err;
}

int flowtap_archive_open(int fd, struct flowtap_archive_reader **out)
{
	struct flowtap_archive_reader *reader = calloc(1, sizeof(*reader));
	struct flowtap_archive_header header;
	int saved = errno, err = -ENOMEM;

	if (!reader)
		return err;
	reader->fd = fd;
	reader->capacity = CAPACITY_MIN;
	reader->credit = CREDIT;
	reader->buffer = malloc(reader->capacity);
	if (!reader->buffer)
		goto err_free;
	err = fill(reader, sizeof(header));
	errno = saved;
	if (err)
		goto err_free;
	err = -EBADMSG;
	if (available(reader) < sizeof(header))
		goto err_free;
	memcpy(&header, reader->buffer, sizeof(header));
	if (memcmp(header.magic, FLOWTAP_ARCHIVE_MAGIC, sizeof(header.magic)) ||
	    header.crc != flowtap_crc32c(0, &header, offsetof(struct flowtap_archive_header, crc)))
		goto err_free;
	err = -EPROTONOSUPPORT;
	if (header.version != FLOWTAP_ARCHIVE_VERSION)
		goto err_free;
	consume(reader, sizeof(header));
	*out = reader;
	return 0;

err_free:
	flowtap_archive_reader_free(reader);
	return err;
}

static struct flowtap_archive_block_header
next_header(const struct flowtap_archive_reader *reader)
{
	struct flowtap_archive_block_header header;

	memcpy(&header, reader->buffer + reader->start, sizeof(header));
	return header;
}

static bool plausible(const struct flowtap_archive_block_header *header)
{
	return header->mark == FLOWTAP_ARCHIVE_MARK && header->size <= FLOWTAP_ARCHIVE_BLOCK_MAX;
}

static bool checksum_matches(const struct flowtap_archive_reader *reader)
{
	struct flowtap_archive_block_header header = next_header(reader);
	uint32_t crc = header.crc;

	header.crc = 0;
	header.crc = flowtap_crc32c(0, &header, sizeof(header));
	return crc == flowtap_crc32c(header.crc, reader->buffer + reader->start + HEADER,
				     header.size);
}

/* Whether a good block begins here: 1 or 0; below 0 as fill. */
static int good_block(struct flowtap_archive_reader *reader)
{
	struct flowtap_archive_block_header header;
	int err;

	err = fill(reader, HEADER);
	if (err || available(reader) < HEADER)
		return err;
	header = next_header(reader);
	if (!plausible(&header) || header.size > reader->credit)
		return 0;
	err = fill(reader, HEADER + header.size);
	if (err || available(reader) < HEADER + header.size)
		return err;
	reader->credit -= header.size;
	return checksum_matches(reader);
}

/*
 * Goes from a bad block to the next good one, or to the end of the file. The bad one's length is
 * not believed, even if a good block begins where it points to: others may lie before that.
 */
static int resynchronise(struct flowtap_archive_reader *reader)
{
	int found;

	do {
		consume(reader, 8);
		reader->credit += 32;
		found = good_block(reader);
		if (found < 0)
			return found;
	} while (!found && available(reader) >= HEADER);
	if (!found)
		consume(reader, available(reader));
	return 0;
}

/* The block at the head of the buffer is bad, as reader->reason says. */
static int pass_over(struct flowtap_archive_reader *reader, bool cut)
{
	uint64_t offset = reader->offset;

	reader->due = resynchronise(reader);
	report_damage(reader, offset);
	return cut && !reader->due && !available(reader) ? -ENODATA : -EBADMSG;
}

static int next(struct flowtap_archive_reader *reader, struct flowtap_archive_block *block)
{
	struct flowtap_archive_block_header header;
	uint64_t offset;
	int err;

	if (reader->failed)
		return reader->failed;
	if (reader->due)
		return fail(reader, reader->due);
	consume(reader, reader->taken);
	reader->taken = 0;
	offset = reader->offset;
	err = fill(reader, HEADER);
	if (err)
		return fail(reader, err);
	if (!available(reader))
		return 0;
	if (available(reader) < HEADER) {
		say(reader, "the file ends within the header of a block");
		consume(reader, available(reader));
		report_damage(reader, offset);
		return -ENODATA;
	}
	header = next_header(reader);
	if (!plausible(&header)) {
		say(reader, "no block begins here");
		return pass_over(reader, false);
	}
	err = fill(reader, HEADER + padded(header.size));
	if (err)
		return fail(reader, err);
	if (available(reader) < HEADER + header.size) {
		say(reader, "the file ends within a block of type %u, %u bytes", header.type,
		    header.size);
		return pass_over(reader, true);
	}
	if (header.size > reader->credit) {
		say(reader, "after so much damage a block of %u bytes is not looked at", header.size);
		return pass_over(reader, false);
	}
	if (!checksum_matches(reader)) {
		reader->credit -= header.size;
		say(reader, "the checksum of a block of type %u, %u bytes, does not match",
		    header.type, header.size);
		return pass_over(reader, false);
	}
	block->type = header.type;
	block->cpu = header.cpu;
	block->time = header.time;
	block->offset = offset;
	block->payload = reader->buffer + reader->start + HEADER;
	block->size = header.size;
	reader->taken = HEADER + padded(header.size);
	reader->credit += reader->taken;
	return 1;
}

int flowtap_archive_next(struct flowtap_archive_reader *reader, struct flowtap_archive_block *block)
{
	int saved = errno, result = next(reader, block);

	errno = saved;
	return result;
}

const struct flowtap_archive_damage *
flowtap_archive_damage(const struct flowtap_archive_reader *reader)
{
	return reader->damage.reason ? &reader->damage : NULL;
}

const char *flowtap_archive_error(const struct flowtap_archive_reader *reader, uint64_t *bad_bytes)
{
	if (bad_bytes)
		*bad_bytes = reader->bad_bytes;
	return reader->line;
}

void flowtap_archive_reader_free(struct flowtap_archive_reader *reader)
{
	if (!reader)
		return;
	free(reader->buffer);
	free(reader);
}
