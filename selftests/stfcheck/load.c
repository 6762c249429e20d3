// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files. A .zstf is "ZSTF", u64 opcode records in a chunk, u64 offset of the index, then chunks,
 * each one zstd frame, up to the index: u64 n, n x {u64 offset, u64 PC, u64 bytes unpacked}, which
 * ends the file. Whoever is killed while he writes leaves bytes before and after the index.
 */
#include "stfcheck.h"

#include "records.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#define LIMIT		(1ULL << 30)
#define ZSTF_HEAD	20
#define ZSTF_ENTRY	24

static int read_all(int fd, uint8_t **bytes, size_t *size)
{
	struct stat stat;
	ssize_t n = 1;
	size_t at = 0;

	if (fstat(fd, &stat))
		return -errno;
	if ((uint64_t)stat.st_size > LIMIT)
		return -EFBIG;
	*bytes = malloc(stat.st_size + 1);
	if (!*bytes)
		return -ENOMEM;
	for (; at < (size_t)stat.st_size && n > 0; at += n) {
		n = pread(fd, *bytes + at, stat.st_size - at, at);
		if (n < 0) {
			n = -errno;
			free(*bytes);
			return n;
		}
	}
	*size = at;
	return 0;
}

static int bad(struct stfcheck_file *file, const char *reason, uint64_t chunk)
{
	snprintf(file->reason, sizeof(file->reason), "%s, chunk %llu", reason,
		 (unsigned long long)chunk);
	return -EBADMSG;
}

/* Where the chunks are, and that they lie one after the other. */
static int read_index(struct stfcheck_file *file, const uint8_t *packed, size_t size)
{
	uint64_t at = get(packed + 12, 8), end = at;

	file->markers = get(packed + 4, 8);
	if (!file->markers || at <= ZSTF_HEAD || at > size || size - at < 8)
		return bad(file, "no markers or no index", 0);
	file->chunks = get(packed + at, 8);
	if (!file->chunks || file->chunks > (size - at - 8) / ZSTF_ENTRY)
		return bad(file, "the index is longer than the file", file->chunks);
	file->slack = size - (at + 8 + file->chunks * ZSTF_ENTRY);
	file->chunk = calloc(file->chunks + 1, sizeof(*file->chunk));
	if (!file->chunk)
		return -ENOMEM;
	for (uint64_t i = 0; i < file->chunks; i++) {
		const uint8_t *entry = packed + at + 8 + i * ZSTF_ENTRY;
		struct stfcheck_chunk *chunk = &file->chunk[i];

		*chunk = (struct stfcheck_chunk){ .offset = get(entry, 8),
						  .start_pc = get(entry + 8, 8),
						  .size = get(entry + 16, 8) };
		if (i ? chunk->offset <= chunk[-1].offset : chunk->offset != ZSTF_HEAD)
			return bad(file, "its offset is wrong", i);
		if (chunk->offset >= end || chunk->size > LIMIT)
			return bad(file, "it lies in the index or is too long", i);
	}
	file->chunk[file->chunks].offset = end;
	return 0;
}

/* One frame that ends where the next one begins; after the last one something may be left. */
static int unpack_chunk(struct stfcheck_file *file, uint64_t i, const uint8_t *packed)
{
	struct stfcheck_chunk *chunk = &file->chunk[i];
	size_t capacity = chunk[1].offset - chunk->offset, got, frame;
	uint8_t *grown;

	if (file->size + chunk->size > LIMIT)
		return -EFBIG;
	grown = realloc(file->bytes, file->size + chunk->size + 1);
	if (!grown)
		return -ENOMEM;
	file->bytes = grown;
	frame = ZSTD_findFrameCompressedSize(packed + chunk->offset, capacity);
	if (ZSTD_isError(frame) || get(packed + chunk->offset, 4) != ZSTD_MAGICNUMBER)
		return bad(file, "it is no zstd frame", i);
	if (frame != capacity && i + 1 < file->chunks)
		return bad(file, "it is more than one frame", i);
	file->slack += capacity - frame;
	/* One byte more than there should be. */
	got = ZSTD_decompress(file->bytes + file->size, chunk->size + 1, packed + chunk->offset,
			      frame);
	if (ZSTD_isError(got))
		return bad(file, "it cannot be unpacked", i);
	if (got != chunk->size)
		return bad(file, "its size is not the index's", i);
	chunk->at = file->size;
	file->size += got;
	return 0;
}

static int unpack(struct stfcheck_file *file, const uint8_t *packed, size_t size)
{
	int error = read_index(file, packed, size);

	for (uint64_t i = 0; i < file->chunks && !error; i++)
		error = unpack_chunk(file, i, packed);
	if (!error)
		file->chunk[file->chunks].at = file->size;
	return error;
}

int stfcheck_open(int fd, struct stfcheck_file *file)
{
	uint8_t *packed;
	size_t size;
	int error;

	memset(file, 0, sizeof(*file));
	error = read_all(fd, &file->bytes, &file->size);
	if (error || file->size < ZSTF_HEAD || memcmp(file->bytes, "ZSTF", 4))
		return error;
	packed = file->bytes;
	size = file->size;
	file->bytes = NULL;
	file->size = 0;
	error = unpack(file, packed, size);
	free(packed);
	if (error)
		stfcheck_close(file);
	return error;
}

void stfcheck_close(struct stfcheck_file *file)
{
	free(file->bytes);
	free(file->chunk);
	file->bytes = NULL;
	file->chunk = NULL;
}

int stfcheck_load(const char *path, uint8_t **bytes, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), error;
	struct stfcheck_file file;

	if (fd < 0)
		return -errno;
	error = stfcheck_open(fd, &file);
	close(fd);
	if (error)
		return error;
	free(file.chunk);
	*bytes = file.bytes;
	*size = file.size;
	return 0;
}

/* The caller's callback, after which chunks are compared. */
struct walk {
	struct stfcheck_file *file;
	struct stfcheck *check;
	int (*insn)(void *argument, const struct stfcheck_insn *insn);
	void *argument;
	uint64_t begun;		/* chunks */
};

static int compare(void *argument, const struct stfcheck_insn *insn)
{
	struct walk *walk = argument;
	struct stfcheck_file *file = walk->file;
	const struct stfcheck_chunk *next = &file->chunk[walk->begun];
	uint64_t end = insn->offset + 1 + insn->size;

	/* The last one may end anywhere up to there, or have nothing but comments after it. */
	if ((insn->index + 1) % file->markers == 0 && walk->begun < file->chunks) {
		if (next->at != end)
			return bad(file, "it does not begin after a full one", walk->begun);
		if (next->start_pc != insn->next)
			return bad(file, "its start PC is wrong", walk->begun);
		walk->begun++;
	} else if (walk->begun < file->chunks && next->at < end) {
		return bad(file, "it begins too early", walk->begun);
	}
	return walk->insn ? walk->insn(walk->argument, insn) : 0;
}

int stfcheck_run_file(struct stfcheck *check, struct stfcheck_file *file)
{
	struct walk walk = { .file = file, .check = check, .insn = check->insn,
			     .argument = check->argument, .begun = 1 };
	struct stfcheck inner = *check;
	int error;

	if (!file->chunks)
		return stfcheck_run(check, file->bytes, file->size);
	if (file->chunk[0].start_pc)
		return bad(file, "its start PC is not 0", 0);
	inner.insn = compare;
	inner.argument = &walk;
	inner.record = NULL;
	error = stfcheck_run(&inner, file->bytes, file->size);
	inner.insn = check->insn;
	inner.argument = check->argument;
	inner.record = check->record;
	*check = inner;
	if (!error && walk.begun < file->chunks)
		return bad(file, "there are no instructions for it", walk.begun);
	if (!error && check->counts.instructions >= walk.begun * file->markers &&
	    check->counts.instructions != walk.begun * file->markers)
		return bad(file, "it is too long", walk.begun - 1);
	return error;
}
