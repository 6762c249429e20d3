// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the execution log: every number is checked before it is used. */
#include "log_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pe.h"

#define NO_SLOT		UINT32_MAX
#define BLOCK_MAX	(1U << 20)	/* instructions; a translation has a few hundred */

static const struct {
	const char *name;
	const char *fields;
} kinds[LOG_KINDS] = {
	[LOG_NONE] = { "?", "" },
#define X(kind, name, fields) [LOG_##kind] = { name, fields },
	LOG_TABLE(X)
#undef X
};

const char *log_kind_name(enum log_kind kind)
{
	return kind < LOG_KINDS ? kinds[kind].name : "?";
}

const char *log_kind_fields(enum log_kind kind)
{
	return kind < LOG_KINDS ? kinds[kind].fields : "";
}

unsigned int log_kind_nfields(enum log_kind kind)
{
	const char *fields = log_kind_fields(kind);
	unsigned int n = *fields != 0;

	for (; *fields; fields++)
		n += *fields == ' ';
	return n;
}

int log_map(const char *path, struct log_bytes *file)
{
	struct stat stat;
	int fd, error = 0;
	void *bytes;

	*file = (struct log_bytes){ 0 };
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &stat)) {
		error = -errno;
	} else if (!S_ISREG(stat.st_mode)) {
		error = -EINVAL;
	} else if (stat.st_size) {
		bytes = mmap(NULL, stat.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (bytes == MAP_FAILED)
			error = -errno;
		else
			*file = (struct log_bytes){ bytes, stat.st_size };
	}
	close(fd);
	return error;
}

void log_unmap(struct log_bytes *file)
{
	if (file->bytes)
		munmap((void *)file->bytes, file->size);
	*file = (struct log_bytes){ 0 };
}

/* --- PREFIX.code --- */

int log_pieces_read(struct log_pieces *pieces, struct log_bytes file, char error[160])
{
	size_t at = 8, capacity = 0;

	*pieces = (struct log_pieces){ .file = file };
	if (file.size < 8 || memcmp(file.bytes, LOG_CODE_MAGIC, 8)) {
		snprintf(error, 160, "code: it does not begin with " LOG_CODE_MAGIC);
		return -EBADMSG;
	}
	while (at < file.size) {
		uint32_t n = 0;

		if (file.size - at >= 12)
			memcpy(&n, file.bytes + at + 8, sizeof(n));
		if (!n || n > BLOCK_MAX || (file.size - at - 12) / 4 < n) {
			snprintf(error, 160, "code: offset %zu: a piece of %u instructions%s", at,
				 n, n ? ", of which the file ends before" : "");
			log_pieces_free(pieces);
			return -EBADMSG;
		}
		if (pieces->n == capacity) {
			size_t *more;

			capacity = capacity ? 2 * capacity : 4096;
			more = realloc(pieces->at, capacity * sizeof(*more));
			if (!more) {
				log_pieces_free(pieces);
				return -ENOMEM;
			}
			pieces->at = more;
		}
		pieces->at[pieces->n++] = at;
		at += 12 + 4 * (size_t)n;
	}
	return 0;
}

void log_pieces_free(struct log_pieces *pieces)
{
	free(pieces->at);
	pieces->at = NULL;
	pieces->n = 0;
}

/* NULL: there is no such piece, or it is not as long. The file is 4-aligned throughout. */
static const uint32_t *opcodes(const struct log_pieces *pieces, uint64_t number, uint64_t first,
			       uint64_t n)
{
	const uint8_t *piece;
	uint32_t count;

	if (number - 1 >= pieces->n)
		return NULL;
	piece = pieces->file.bytes + pieces->at[number - 1];
	memcpy(&count, piece + 8, sizeof(count));
	if (first > count || n > count - first)
		return NULL;
	return (const uint32_t *)(piece + 12) + first;
}

/* --- PREFIX.N --- */

static int __attribute__((format(printf, 3, 4)))
bad(struct log_reader *reader, size_t offset, const char *format, ...)
{
	va_list ap;
	int n = snprintf(reader->error, sizeof(reader->error), "offset %zu: ", offset);

	va_start(ap, format);
	vsnprintf(reader->error + n, sizeof(reader->error) - n, format, ap);
	va_end(ap);
	reader->ended = true;
	reader->run = 0;
	return -EBADMSG;
}

int log_reader_init(struct log_reader *reader, struct log_bytes file,
		    const struct log_pieces *pieces)
{
	memset(reader, 0, sizeof(*reader));
	reader->file = file;
	reader->pieces = pieces;
	reader->last = NO_SLOT;
	for (unsigned int i = 0; i < LOG_SLOTS; i++)
		reader->slots[i].next = NO_SLOT;
	if (file.size < 8 || memcmp(file.bytes, LOG_PE_MAGIC, 8))
		return bad(reader, 0, "the log does not begin with " LOG_PE_MAGIC);
	reader->at = 8;
	return 0;
}

/* False: the file ends, or it is no number of 64 bits. */
static bool number(struct log_reader *reader, uint64_t *value)
{
	*value = 0;
	for (unsigned int shift = 0; shift < 70 && reader->at < reader->file.size; shift += 7) {
		uint8_t byte = reader->file.bytes[reader->at++];

		if (shift == 63 && byte > 1)
			return false;
		*value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return true;
	}
	return false;
}

static uint64_t zigzag(uint64_t n)
{
	return n >> 1 ^ -(n & 1);
}

static int executed(struct log_reader *reader, struct log_item *item, uint32_t slot)
{
	item->kind = LOG_BLOCK;
	item->slot = slot;
	item->block = reader->slots[slot].block;
	item->nfields = 0;
	reader->last = slot;
	reader->pc = item->block.next;
	return 1;
}

static void follow(struct log_reader *reader, uint32_t slot)
{
	if (reader->last != NO_SLOT)
		reader->slots[reader->last].next = slot;
}

static int again(struct log_reader *reader, struct log_item *item)
{
	uint32_t slot = reader->slots[reader->last].next;

	if (slot == NO_SLOT)
		return bad(reader, item->offset, "a repetition with no known successor");
	reader->run--;
	return executed(reader, item, slot);
}

static int read_slot(struct log_reader *reader, struct log_item *item, uint8_t high)
{
	uint32_t slot;

	if (reader->at == reader->file.size)
		return bad(reader, item->offset, "the file ends within a slot's number");
	slot = (high & 0x7f) << 8 | reader->file.bytes[reader->at++];
	if (slot >= LOG_SLOTS || !reader->slots[slot].block.n)
		return bad(reader, item->offset, "slot %u is empty", slot);
	follow(reader, slot);
	return executed(reader, item, slot);
}

static int read_block(struct log_reader *reader, struct log_item *item)
{
	uint64_t slot, code, first, n, pc, flags, next = 0;
	struct log_block block;

	if (!number(reader, &slot) || !number(reader, &code) || !number(reader, &first) ||
	    !number(reader, &n) || !number(reader, &pc) || !number(reader, &flags) ||
	    ((flags & 8) && !number(reader, &next)))
		return bad(reader, item->offset, "a block that does not end");
	if (slot >= LOG_SLOTS || !n || n > BLOCK_MAX || flags > 0x3f || (flags & 7) > PE_WFX)
		return bad(reader, item->offset, "a block with slot %llu, n %llu, flags 0x%llx",
			   (unsigned long long)slot, (unsigned long long)n,
			   (unsigned long long)flags);
	block = (struct log_block){
		.address = reader->pc + zigzag(pc), .n = n, .branch = flags & 7,
		.taken = flags >> 3 & 1, .link = flags >> 4 & 1, .eret = flags >> 5 & 1,
		.opcodes = opcodes(reader->pieces, code, first, n),
	};
	if (!block.opcodes)
		return bad(reader, item->offset,
			   "a block of instructions %llu to %llu of piece %llu, which is not there",
			   (unsigned long long)first, (unsigned long long)(first + n - 1),
			   (unsigned long long)code);
	if (block.address & 3)
		return bad(reader, item->offset, "a block at 0x%llx, which is not aligned",
			   (unsigned long long)block.address);
	block.next = block.address + 4 * n + (block.taken ? zigzag(next) : 0);
	reader->slots[slot].block = block;
	follow(reader, slot);
	item->fresh = true;
	return executed(reader, item, slot);
}

static int read_other(struct log_reader *reader, struct log_item *item)
{
	item->nfields = log_kind_nfields(item->kind);
	for (unsigned int i = 0; i < item->nfields; i++)
		if (!number(reader, &item->fields[i]))
			return bad(reader, item->offset, "%s: field %u is no number",
				   kinds[item->kind].name, i);
	if (item->kind != LOG_STORED)
		return 1;
	if (item->fields[0] > reader->file.size - reader->at)
		return bad(reader, item->offset, "stored: the file ends before %llu bytes",
			   (unsigned long long)item->fields[0]);
	item->bytes = reader->file.bytes + reader->at;
	reader->at += item->fields[0];
	return 1;
}

int log_read(struct log_reader *reader, struct log_item *item)
{
	uint8_t kind;

	item->offset = reader->at;
	item->fresh = false;
	if (reader->run)
		return again(reader, item);
	if (reader->ended)
		return 0;
	if (reader->at >= reader->file.size) {
		bad(reader, reader->at, "the log ends without its end: the machine was killed?");
		return -ENODATA;
	}
	kind = reader->file.bytes[reader->at++];
	if (kind & 0x80)
		return read_slot(reader, item, kind);
	item->kind = kind;
	switch (kind) {
	case LOG_BLOCK:
		return read_block(reader, item);
	case LOG_REPEAT:
		if (!number(reader, &reader->run) || !reader->run || reader->last == NO_SLOT) {
			reader->run = 0;
			return bad(reader, item->offset, "a repetition of nothing");
		}
		return again(reader, item);
	case LOG_END:
		reader->ended = true;
		if (reader->at != reader->file.size)
			return bad(reader, reader->at, "bytes after the end");
		return 0;
	case LOG_NONE:
		return bad(reader, item->offset, "kind 0");
	default:
		if (kind >= LOG_KINDS)
			return bad(reader, item->offset, "kind %u", kind);
		return read_other(reader, item);
	}
}
