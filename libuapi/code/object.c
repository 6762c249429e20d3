// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Reads chunks of objects on demand, up to a limit of bytes, and keeps them until the objects are
 * freed.
 */
#include "code/object.h"

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

/* A region of an object that was looked at. available < size: the file ends there. */
struct chunk {
	uint64_t offset;
	uint64_t size;
	uint64_t available;
	uint8_t *bytes;
	char *missing;
};

struct object {
	char *path;
	struct flowtap_build_id id;
	uint64_t hash;			/* of recorded bytes: of path and content */
	uint8_t *content;		/* recorded bytes; NULL: a file */
	uint64_t content_size;
	char *beyond;			/* why there is nothing after the recorded bytes */
	uint64_t held;
	struct chunk *chunks;
	size_t n_chunks;
	bool settled;			/* it is known whether the file is in the bundle */
	bool borrowed;			/* content is the bundle's */
	/* The file as it was first opened: later looks must find the same. */
	bool opened;
	struct stat status;
	bool symbols_looked;
	struct flowtap_symbols *symbols;
	struct flowtap_segment segments[SEGMENTS_MAX];
	size_t n_segments;
};

struct flowtap_objects {
	char *sysroot;
	char *images;			/* NULL: none */
	struct object **list;
	uint32_t n;
	uint64_t held;
	struct flowtap_hash_table table;	/* by path and build-id, or path and content */
	struct flowtap_bundled_files *bundle;
};

struct flowtap_objects *flowtap_objects_new(const char *sysroot)
{
	struct flowtap_objects *objects = calloc(1, sizeof(*objects));

	if (!objects)
		return NULL;
	objects->bundle = flowtap_bundled_new();
	if (sysroot)
		objects->sysroot = strdup(sysroot);
	if (!objects->bundle || (sysroot && !objects->sysroot)) {
		flowtap_objects_free(objects);
		return NULL;
	}
	return objects;
}

int flowtap_objects_images(struct flowtap_objects *objects, const char *directory)
{
	char *copy = strdup(directory);

	if (!copy)
		return -ENOMEM;
	free(objects->images);
	objects->images = copy;
	return 0;
}

static void free_object(struct object *object)
{
	for (size_t i = 0; i < object->n_chunks; i++) {
		free(object->chunks[i].bytes);
		free(object->chunks[i].missing);
	}
	free(object->chunks);
	if (!object->borrowed)
		free(object->content);
	free(object->beyond);
	free(object->path);
	flowtap_symbols_free(object->symbols);
	free(object);
}

void flowtap_objects_free(struct flowtap_objects *objects)
{
	if (!objects)
		return;
	for (uint32_t i = 0; i < objects->n; i++)
		free_object(objects->list[i]);
	free(objects->list);
	flowtap_hash_table_free(&objects->table);
	flowtap_bundled_free(objects->bundle);
	free(objects->sysroot);
	free(objects->images);
	free(objects);
}

static int append(struct flowtap_objects *objects, const char *path, uint64_t hash, uint32_t *index)
{
	struct object *object = calloc(1, sizeof(*object));
	int err = -ENOMEM;

	if (!object)
		return err;
	object->path = strdup(path);
	if (!object->path)
		goto err_free;
	object->hash = hash;
	if (FLOWTAP_GROW(objects->list, objects->n))
		goto err_free;
	err = flowtap_hash_table_add(&objects->table, hash, objects->n);
	if (err)
		goto err_free;
	objects->list[objects->n] = object;
	*index = objects->n++;
	return 0;

err_free:
	free_object(object);
	return err;
}

int flowtap_objects_file(struct flowtap_objects *objects, const char *path,
			 const struct flowtap_build_id *id, uint32_t *index)
{
	uint64_t hash = flowtap_hash(flowtap_hash(1, path, strlen(path)), id->bytes, id->size);
	struct flowtap_hash_table_walk walk = flowtap_hash_table_walk(&objects->table, hash);
	int err;

	while (flowtap_hash_table_next(&walk, index)) {
		const struct object *object = objects->list[*index];

		if (object->hash == hash && !strcmp(object->path, path) &&
		    object->id.size == id->size && !memcmp(object->id.bytes, id->bytes, id->size))
			return 0;
	}
	err = append(objects, path, hash, index);
	if (!err)
		objects->list[*index]->id = *id;
	return err;
}

static int set_content(struct flowtap_objects *objects, struct object *object, const void *bytes,
		       uint64_t size)
{
	uint8_t *copy;

	if (size > FILE_MAX_HELD || objects->held + size > TOTAL_MAX_HELD)
		return -EFBIG;
	copy = malloc(size);
	if (!copy)
		return -ENOMEM;
	if (asprintf(&object->beyond, "%.300s: only %" PRIu64 " bytes were recorded", object->path,
		     size) < 0) {
		object->beyond = NULL;
		free(copy);
		return -ENOMEM;
	}
	memcpy(copy, bytes, size);
	object->content = copy;
	object->content_size = size;
	objects->held += size;
	return 0;
}

int flowtap_objects_bytes(struct flowtap_objects *objects, const char *path, const void *bytes,
			  uint64_t size, uint32_t *index)
{
	uint64_t hash = flowtap_hash(flowtap_hash(2, path, strlen(path)), bytes, size);
	struct flowtap_hash_table_walk walk = flowtap_hash_table_walk(&objects->table, hash);
	int err;

	while (flowtap_hash_table_next(&walk, index)) {
		const struct object *object = objects->list[*index];

		if (object->hash == hash && !strcmp(object->path, path) &&
		    object->content_size == size && !memcmp(object->content, bytes, size))
			return 0;
	}
	if (size > FILE_MAX_HELD || objects->held + size > TOTAL_MAX_HELD)
		return -EFBIG;
	err = append(objects, path, hash, index);
	/* Without its content it stays in the list as a file that is not looked for by anyone. */
	return err ? err : set_content(objects, objects->list[*index], bytes, size);
}

int flowtap_objects_share(struct flowtap_objects *objects, const char *path, const void *bytes,
			  uint64_t size)
{
	static const struct flowtap_build_id none;
	uint32_t index;
	int err = flowtap_objects_file(objects, path, &none, &index);

	/* What was given first stays: pointers into it may be out. */
	if (err || objects->list[index]->content)
		return err;
	return set_content(objects, objects->list[index], bytes, size);
}

int flowtap_objects_bundle(struct flowtap_objects *objects, const struct flowtap_bundled *part,
			   const void *bytes)
{
	return flowtap_bundled_add(objects->bundle, part, bytes, TOTAL_MAX_HELD - objects->held,
				   &objects->held);
}

/* A file that the archive brought with it is taken before any of this machine. */
static void settle(const struct flowtap_objects *objects, struct object *object)
{
	uint64_t size;
	uint8_t *content;

	if (object->settled)
		return;
	object->settled = true;
	if (object->content || object->n_chunks)
		return;
	content = flowtap_bundled_find(objects->bundle, object->path, &object->id, &size);
	if (!content || asprintf(&object->beyond, "%.300s ends before this", object->path) < 0)
		return;
	object->content = content;
	object->content_size = size;
	object->borrowed = true;
}

const char *flowtap_object_path(const struct flowtap_objects *objects, uint32_t index)
{
	return objects->list[index]->path;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* The fd, or -errno and why. */
static int open_object(const struct flowtap_objects *objects, struct object *object,
		       char why[FLOWTAP_WHY])
{
	int fd = flowtap_locate_code(objects->sysroot, objects->images, object->path, &object->id, why);
	struct stat status;

	if (fd < 0)
		return fd;
	if (fstat(fd, &status) || (object->opened && !same_file(&status, &object->status))) {
		snprintf(why, FLOWTAP_WHY, "%.300s changed while it was read", object->path);
		close(fd);
		return -ESTALE;
	}
	object->opened = true;
	object->status = status;
	return fd;
}

/* Copies what the chunk covers of the file; or says why not. */
static void copy_file(struct flowtap_objects *objects, struct object *object, int fd,
		      struct chunk *chunk, char why[FLOWTAP_WHY])
{
	uint64_t content = (uint64_t)object->status.st_size, end, size, there, done;
	int error;

	/* A mapping shows zeros from the end of the file to the end of the page. */
	end = (content + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	if (chunk->offset >= end) {
		snprintf(why, FLOWTAP_WHY, "%.300s ends before offset 0x%" PRIx64, object->path,
			 chunk->offset);
		return;
	}
	size = end - chunk->offset < chunk->size ? end - chunk->offset : chunk->size;
	if (size > FILE_MAX_HELD - object->held || size > TOTAL_MAX_HELD - objects->held) {
		snprintf(why, FLOWTAP_WHY, "%.300s: too much code to hold", object->path);
		return;
	}
	chunk->bytes = malloc(size);
	if (!chunk->bytes) {
		snprintf(why, FLOWTAP_WHY, "%.300s: no memory for its code", object->path);
		return;
	}
	there = content > chunk->offset ? content - chunk->offset : 0;
	done = flowtap_read_at(fd, chunk->bytes, size, chunk->offset, &error);
	if (done < size && done < there) {
		snprintf(why, FLOWTAP_WHY, "%.300s cannot be read, or was cut, at 0x%" PRIx64,
			 object->path, chunk->offset + done);
		free(chunk->bytes);
		chunk->bytes = NULL;
		return;
	}
	memset(chunk->bytes + done, 0, size - done);
	chunk->available = size;
	object->held += size;
	objects->held += size;
}

static const struct chunk *find_chunk(const struct object *object, uint64_t offset, uint64_t size)
{
	for (size_t i = 0; i < object->n_chunks; i++) {
		const struct chunk *chunk = &object->chunks[i];

		if (offset >= chunk->offset && offset - chunk->offset < chunk->size &&
		    size <= chunk->size - (offset - chunk->offset))
			return chunk;
	}
	return NULL;
}

/* Looks into the file. NULL: no memory, or too many chunks. */
static const struct chunk *load_chunk(struct flowtap_objects *objects, struct object *object,
				      uint64_t offset, uint64_t size)
{
	struct chunk *chunk;
	char why[FLOWTAP_WHY] = "";
	int saved = errno, fd;

	if (object->n_chunks == CHUNKS_MAX)
		return NULL;
	if (FLOWTAP_GROW(object->chunks, object->n_chunks))
		return NULL;
	chunk = &object->chunks[object->n_chunks];
	*chunk = (struct chunk) { .offset = offset, .size = size };
	fd = open_object(objects, object, why);
	if (fd >= 0) {
		copy_file(objects, object, fd, chunk, why);
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
	object->n_chunks++;
	return chunk;
}

static void read_content(const struct object *object, uint64_t offset, const uint8_t **bytes,
			 uint64_t *available, const char **missing)
{
	*available = offset < object->content_size ? object->content_size - offset : 0;
	*bytes = *available ? object->content + offset : NULL;
	*missing = *available ? NULL : object->beyond;
}

void flowtap_object_read(struct flowtap_objects *objects, uint32_t index, uint64_t offset,
			 uint64_t size, const uint8_t **bytes, uint64_t *available,
			 const char **missing)
{
	struct object *object = objects->list[index];
	const struct chunk *chunk;

	settle(objects, object);
	if (object->content) {
		read_content(object, offset, bytes, available, missing);
		if (*available > size)
			*available = size;
		return;
	}
	chunk = find_chunk(object, offset, size);
	if (!chunk)
		chunk = load_chunk(objects, object, offset, size);
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

static int open_elf(const struct flowtap_objects *objects, struct object *object, int *fd,
		    struct flowtap_elf **elf)
{
	char why[FLOWTAP_WHY];

	*fd = -1;
	if (object->content)
		return flowtap_elf_open_memory(object->content, object->content_size, elf);
	*fd = open_object(objects, object, why);
	return *fd < 0 ? *fd : flowtap_elf_open(*fd, elf);
}

static void load_debug(const struct flowtap_objects *objects, struct object *object,
		       const struct flowtap_build_id *id)
{
	int fd = flowtap_locate_debug(objects->sysroot, id);
	struct flowtap_elf *elf;

	if (fd < 0)
		return;
	if (!flowtap_elf_open(fd, &elf)) {
		flowtap_elf_symbols(elf, false, &object->symbols);
		flowtap_elf_close(elf);
	}
	close(fd);
}

/* The full table of the file, or of its debug file, or else what the dynamic linker needs. */
static void load_symbols(struct flowtap_objects *objects, struct object *object)
{
	struct flowtap_elf *elf;
	int saved = errno, fd;

	object->symbols_looked = true;
	if (!open_elf(objects, object, &fd, &elf)) {
		struct flowtap_build_id id = flowtap_elf_build_id(elf);

		object->n_segments = flowtap_elf_segments(elf, object->segments, SEGMENTS_MAX);
		if (flowtap_elf_symbols(elf, false, &object->symbols))
			load_debug(objects, object, &id);
		if (!object->symbols)
			flowtap_elf_symbols(elf, true, &object->symbols);
		flowtap_elf_close(elf);
	}
	if (fd >= 0)
		close(fd);
	errno = saved;
}

const char *flowtap_object_symbol(struct flowtap_objects *objects, uint32_t index,
				  uint64_t file_offset, uint64_t *offset)
{
	struct object *object = objects->list[index];

	settle(objects, object);
	if (!object->symbols_looked)
		load_symbols(objects, object);
	if (!object->symbols)
		return NULL;
	for (size_t i = 0; i < object->n_segments; i++) {
		const struct flowtap_segment *segment = &object->segments[i];

		if (file_offset >= segment->offset && file_offset - segment->offset < segment->size)
			return flowtap_symbols_find(object->symbols, segment->address +
						    (file_offset - segment->offset), offset);
	}
	return NULL;
}
