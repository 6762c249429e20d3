// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Reads chunks of files on demand, up to a limit of bytes, and keeps them until the files are
 * freed.
 */
#include "code/backing_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash_table.h"
#include "base/read_at.h"
#include "base/vector.h"
#include "code/bundled_files.h"
#include "code/locate.h"

#define PAGE 4096U
#define FILE_MAX_HELD (512ULL << 20)	/* bytes of code held of one file */
#define TOTAL_MAX_HELD (4ULL << 30)
#define CHUNKS_MAX 4096			/* regions of one file */
#define SEGMENTS_MAX 32

/* A region of a file that was looked at. available < size: the file ends there. */
struct chunk {
	uint64_t offset;
	uint64_t size;
	uint64_t available;
	uint8_t *bytes;
	char *missing;
};

struct backing_file {
	char *path;
	struct flowtap_build_id id;
	uint64_t hash;			/* of recorded bytes: of path and content */
	uint8_t *content;		/* recorded bytes; NULL: a file */
	uint64_t content_size;
	char *beyond;			/* why there is nothing after the recorded bytes */
	uint64_t held;
	struct chunk *chunks;
	size_t n_chunks;
	bool asked;			/* it is known whether the file is in the bundle */
	bool borrowed;			/* content is the bundle's */
	/* The file as it was first opened: later looks must find the same. */
	bool opened;
	struct stat status;
	bool symbols_looked;
	struct flowtap_symbols *symbols;
	struct flowtap_segment segments[SEGMENTS_MAX];
	size_t n_segments;
};

struct flowtap_backing_files {
	char *sysroot;
	char *images;			/* NULL: none */
	enum flowtap_machine machine;
	struct backing_file **list;
	uint32_t n;
	uint64_t held;
	uint64_t unverified;
	struct flowtap_hash_table table;	/* by path and build-id, or path and content */
	struct flowtap_bundled_files *bundle;
};

struct flowtap_backing_files *flowtap_backing_files_new(const char *sysroot)
{
	struct flowtap_backing_files *files = calloc(1, sizeof(*files));

	if (!files)
		return NULL;
	files->bundle = flowtap_bundled_new();
	if (sysroot)
		files->sysroot = strdup(sysroot);
	if (!files->bundle || (sysroot && !files->sysroot)) {
		flowtap_backing_files_free(files);
		return NULL;
	}
	return files;
}

int flowtap_backing_files_images(struct flowtap_backing_files *files, const char *directory)
{
	char *copy = strdup(directory);

	if (!copy)
		return -ENOMEM;
	free(files->images);
	files->images = copy;
	return 0;
}

static void free_file(struct backing_file *file)
{
	for (size_t i = 0; i < file->n_chunks; i++) {
		free(file->chunks[i].bytes);
		free(file->chunks[i].missing);
	}
	free(file->chunks);
	if (!file->borrowed)
		free(file->content);
	free(file->beyond);
	free(file->path);
	flowtap_symbols_free(file->symbols);
	free(file);
}

void flowtap_backing_files_free(struct flowtap_backing_files *files)
{
	if (!files)
		return;
	for (uint32_t i = 0; i < files->n; i++)
		free_file(files->list[i]);
	free(files->list);
	flowtap_hash_table_free(&files->table);
	flowtap_bundled_free(files->bundle);
	free(files->sysroot);
	free(files->images);
	free(files);
}

static int append(struct flowtap_backing_files *files, const char *path, uint64_t hash,
		  uint32_t *index)
{
	struct backing_file *file = calloc(1, sizeof(*file));
	int err = -ENOMEM;

	if (!file)
		return err;
	file->path = strdup(path);
	if (!file->path)
		goto err_free;
	file->hash = hash;
	if (FLOWTAP_GROW(files->list, files->n))
		goto err_free;
	err = flowtap_hash_table_add(&files->table, hash, files->n);
	if (err)
		goto err_free;
	files->list[files->n] = file;
	*index = files->n++;
	return 0;

err_free:
	free_file(file);
	return err;
}

int flowtap_backing_files_add_file(struct flowtap_backing_files *files, const char *path,
				   const struct flowtap_build_id *id, uint32_t *index)
{
	uint64_t hash = flowtap_hash(flowtap_hash(1, path, strlen(path)), id->bytes, id->size);
	struct flowtap_hash_table_walk walk = flowtap_hash_table_walk(&files->table, hash);
	int err;

	while (flowtap_hash_table_next(&walk, index)) {
		const struct backing_file *file = files->list[*index];

		if (file->hash == hash && !strcmp(file->path, path) && file->id.size == id->size &&
		    !memcmp(file->id.bytes, id->bytes, id->size))
			return 0;
	}
	err = append(files, path, hash, index);
	if (!err)
		files->list[*index]->id = *id;
	return err;
}

static int set_content(struct flowtap_backing_files *files, struct backing_file *file,
		       const void *bytes, uint64_t size)
{
	uint8_t *copy;

	if (size > FILE_MAX_HELD || files->held + size > TOTAL_MAX_HELD)
		return -EFBIG;
	copy = malloc(size);
	if (!copy)
		return -ENOMEM;
	if (asprintf(&file->beyond, "%.300s: only %" PRIu64 " bytes were recorded", file->path,
		     size) < 0) {
		file->beyond = NULL;
		free(copy);
		return -ENOMEM;
	}
	memcpy(copy, bytes, size);
	file->content = copy;
	file->content_size = size;
	files->held += size;
	return 0;
}

int flowtap_backing_files_add_bytes(struct flowtap_backing_files *files, const char *path,
				    const void *bytes, uint64_t size, uint32_t *index)
{
	uint64_t hash = flowtap_hash(flowtap_hash(2, path, strlen(path)), bytes, size);
	struct flowtap_hash_table_walk walk = flowtap_hash_table_walk(&files->table, hash);
	int err;

	while (flowtap_hash_table_next(&walk, index)) {
		const struct backing_file *file = files->list[*index];

		if (file->hash == hash && !strcmp(file->path, path) && file->content_size == size &&
		    !memcmp(file->content, bytes, size))
			return 0;
	}
	if (size > FILE_MAX_HELD || files->held + size > TOTAL_MAX_HELD)
		return -EFBIG;
	err = append(files, path, hash, index);
	/* Without its content it stays in the list as a file that is not looked for by anyone. */
	return err ? err : set_content(files, files->list[*index], bytes, size);
}

int flowtap_backing_files_share(struct flowtap_backing_files *files, const char *path,
				const void *bytes, uint64_t size)
{
	static const struct flowtap_build_id none;
	uint32_t index;
	int err = flowtap_backing_files_add_file(files, path, &none, &index);

	/* What was given first stays: pointers into it may be out. */
	if (err || files->list[index]->content)
		return err;
	return set_content(files, files->list[index], bytes, size);
}

int flowtap_backing_files_bundle(struct flowtap_backing_files *files,
				 const struct flowtap_bundled *part, const void *bytes)
{
	return flowtap_bundled_add(files->bundle, part, bytes, TOTAL_MAX_HELD - files->held,
				   &files->held);
}

/* A file that the archive brought with it is taken before any of this machine. */
static void use_bundled(const struct flowtap_backing_files *files, struct backing_file *file)
{
	uint64_t size;
	uint8_t *content;

	if (file->asked)
		return;
	file->asked = true;
	if (file->content || file->n_chunks)
		return;
	content = flowtap_bundled_find(files->bundle, file->path, &file->id, &size);
	if (!content || asprintf(&file->beyond, "%.300s ends before this", file->path) < 0)
		return;
	file->content = content;
	file->content_size = size;
	file->borrowed = true;
}

void flowtap_backing_files_set_machine(struct flowtap_backing_files *files,
				       enum flowtap_machine machine)
{
	files->machine = machine;
}

void flowtap_backing_files_add_unverified(struct flowtap_backing_files *files)
{
	files->unverified++;
}

uint64_t flowtap_backing_files_unverified(const struct flowtap_backing_files *files)
{
	return files->unverified;
}

uint64_t flowtap_backing_files_held(const struct flowtap_backing_files *files)
{
	return files->held;
}

const char *flowtap_backing_file_path(const struct flowtap_backing_files *files, uint32_t index)
{
	return files->list[index]->path;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* The fd, or -errno and why. */
static int open_file(struct flowtap_backing_files *files, struct backing_file *file,
		     char why[FLOWTAP_WHY])
{
	int fd = flowtap_locate_code(files->sysroot, files->images, file->path, &file->id,
				     files->machine, why);
	struct stat status;

	if (fd < 0)
		return fd;
	if (fstat(fd, &status) || (file->opened && !same_file(&status, &file->status))) {
		snprintf(why, FLOWTAP_WHY, "%.300s changed while it was read", file->path);
		close(fd);
		return -ESTALE;
	}
	files->unverified += !file->opened && !file->id.size;
	file->opened = true;
	file->status = status;
	return fd;
}

/* Copies what the chunk covers of the file; or says why not. */
static void copy_file(struct flowtap_backing_files *files, struct backing_file *file, int fd,
		      struct chunk *chunk, char why[FLOWTAP_WHY])
{
	uint64_t content = (uint64_t)file->status.st_size, end, size, there, done;
	int error;

	/* A mapping shows zeros from the end of the file to the end of the page. */
	end = (content + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	if (chunk->offset >= end) {
		snprintf(why, FLOWTAP_WHY, "%.300s ends before offset 0x%" PRIx64, file->path,
			 chunk->offset);
		return;
	}
	size = end - chunk->offset < chunk->size ? end - chunk->offset : chunk->size;
	if (size > FILE_MAX_HELD - file->held || size > TOTAL_MAX_HELD - files->held) {
		snprintf(why, FLOWTAP_WHY, "%.300s: too much code to hold", file->path);
		return;
	}
	chunk->bytes = malloc(size);
	if (!chunk->bytes) {
		snprintf(why, FLOWTAP_WHY, "%.300s: no memory for its code", file->path);
		return;
	}
	there = content > chunk->offset ? content - chunk->offset : 0;
	done = flowtap_read_at(fd, chunk->bytes, size, chunk->offset, &error);
	if (done < size && done < there) {
		snprintf(why, FLOWTAP_WHY, "%.300s cannot be read, or was cut, at 0x%" PRIx64,
			 file->path, chunk->offset + done);
		free(chunk->bytes);
		chunk->bytes = NULL;
		return;
	}
	memset(chunk->bytes + done, 0, size - done);
	chunk->available = size;
	file->held += size;
	files->held += size;
}

static const struct chunk *find_chunk(const struct backing_file *file, uint64_t offset,
				      uint64_t size)
{
	for (size_t i = 0; i < file->n_chunks; i++) {
		const struct chunk *chunk = &file->chunks[i];

		if (offset >= chunk->offset && offset - chunk->offset < chunk->size &&
		    size <= chunk->size - (offset - chunk->offset))
			return chunk;
	}
	return NULL;
}

/* Looks into the file. NULL: no memory, or too many chunks. */
static const struct chunk *load_chunk(struct flowtap_backing_files *files,
				      struct backing_file *file, uint64_t offset, uint64_t size)
{
	struct chunk *chunk;
	char why[FLOWTAP_WHY] = "";
	int saved = errno, fd;

	if (file->n_chunks == CHUNKS_MAX)
		return NULL;
	if (FLOWTAP_GROW(file->chunks, file->n_chunks))
		return NULL;
	chunk = &file->chunks[file->n_chunks];
	*chunk = (struct chunk) { .offset = offset, .size = size };
	fd = open_file(files, file, why);
	if (fd >= 0) {
		copy_file(files, file, fd, chunk, why);
		close(fd);
	} else {
		/* It holds for every part of the file. */
		chunk->offset = 0;
		chunk->size = UINT64_MAX;
	}
	errno = saved;
	if (!chunk->bytes) {
		chunk->missing = strdup(why);
		if (!chunk->missing)
			return NULL;
	}
	file->n_chunks++;
	return chunk;
}

static void read_content(const struct backing_file *file, uint64_t offset, const uint8_t **bytes,
			 uint64_t *available, const char **missing)
{
	*available = offset < file->content_size ? file->content_size - offset : 0;
	*bytes = *available ? file->content + offset : NULL;
	*missing = *available ? NULL : file->beyond;
}

void flowtap_backing_file_read(struct flowtap_backing_files *files, uint32_t index, uint64_t offset,
			       uint64_t size, const uint8_t **bytes, uint64_t *available,
			       const char **missing)
{
	struct backing_file *file = files->list[index];
	const struct chunk *chunk;

	use_bundled(files, file);
	if (file->content) {
		read_content(file, offset, bytes, available, missing);
		if (*available > size)
			*available = size;
		return;
	}
	chunk = find_chunk(file, offset, size);
	if (!chunk)
		chunk = load_chunk(files, file, offset, size);
	*bytes = NULL;
	*available = 0;
	*missing = chunk ? chunk->missing : "no memory, or too many pieces of one file";
	if (!chunk || !chunk->bytes)
		return;
	offset -= chunk->offset;
	if (offset >= chunk->available) {
		*missing = "the file ends before this";
		return;
	}
	*bytes = chunk->bytes + offset;
	*available = chunk->available - offset < size ? chunk->available - offset : size;
}

/* Symbols. */

static int open_elf(struct flowtap_backing_files *files, struct backing_file *file, int *fd,
		    struct flowtap_elf **elf)
{
	char why[FLOWTAP_WHY];

	*fd = -1;
	if (file->content)
		return flowtap_elf_open_memory(file->content, file->content_size, elf);
	*fd = open_file(files, file, why);
	return *fd < 0 ? *fd : flowtap_elf_open(*fd, elf);
}

static void load_debug(const struct flowtap_backing_files *files, struct backing_file *file,
		       const struct flowtap_build_id *id)
{
	int fd = flowtap_locate_debug(files->sysroot, id);
	struct flowtap_elf *elf;

	if (fd < 0)
		return;
	if (!flowtap_elf_open(fd, &elf)) {
		flowtap_elf_symbols(elf, false, &file->symbols);
		flowtap_elf_close(elf);
	}
	close(fd);
}

/* The full table of the file, or of its debug file, or else what the dynamic linker needs. */
static void load_symbols(struct flowtap_backing_files *files, struct backing_file *file)
{
	struct flowtap_elf *elf;
	int saved = errno, fd;

	file->symbols_looked = true;
	if (!open_elf(files, file, &fd, &elf)) {
		struct flowtap_build_id id = flowtap_elf_build_id(elf);

		file->n_segments = flowtap_elf_segments(elf, file->segments, SEGMENTS_MAX);
		if (flowtap_elf_symbols(elf, false, &file->symbols))
			load_debug(files, file, &id);
		if (!file->symbols)
			flowtap_elf_symbols(elf, true, &file->symbols);
		flowtap_elf_close(elf);
	}
	if (fd >= 0)
		close(fd);
	errno = saved;
}

const char *flowtap_backing_file_symbol(struct flowtap_backing_files *files, uint32_t index,
					uint64_t file_offset, uint64_t *offset)
{
	struct backing_file *file = files->list[index];

	use_bundled(files, file);
	if (!file->symbols_looked)
		load_symbols(files, file);
	if (!file->symbols)
		return NULL;
	for (size_t i = 0; i < file->n_segments; i++) {
		const struct flowtap_segment *segment = &file->segments[i];

		if (file_offset >= segment->offset && file_offset - segment->offset < segment->size)
			return flowtap_symbols_find(
				file->symbols, segment->address + (file_offset - segment->offset),
				offset);
	}
	return NULL;
}
