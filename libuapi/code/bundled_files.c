// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Puts the parts of bundled files together; where a build-id is recorded, the file's own has to
 * be the same.
 */
#include "code/bundled_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_table.h"
#include "base/vector.h"

#define PAGE 4096U

struct file {
	char *path;
	struct flowtap_build_id id;
	uint64_t size;
	uint64_t filled;
	uint64_t capacity;
	uint8_t *bytes;
	bool refused;			/* complete, but not what it claims to be */
};

struct flowtap_bundled_files {
	struct file *list;
	uint32_t n;
	struct flowtap_hash_table table;	/* by build-id, or by path */
};

struct flowtap_bundled_files *flowtap_bundled_new(void)
{
	return calloc(1, sizeof(struct flowtap_bundled_files));
}

void flowtap_bundled_free(struct flowtap_bundled_files *files)
{
	if (!files)
		return;
	for (uint32_t i = 0; i < files->n; i++) {
		free(files->list[i].path);
		free(files->list[i].bytes);
	}
	free(files->list);
	flowtap_hash_table_free(&files->table);
	free(files);
}

static struct file *find(const struct flowtap_bundled_files *files, const char *path,
			 const struct flowtap_build_id *id, uint64_t *hash)
{
	struct flowtap_hash_table_walk walk;
	uint32_t index;

	*hash = id->size ? flowtap_hash(1, id->bytes, id->size) :
			   flowtap_hash(2, path, strlen(path));
	walk = flowtap_hash_table_walk(&files->table, *hash);
	while (flowtap_hash_table_next(&walk, &index)) {
		struct file *file = &files->list[index];

		if (file->id.size == id->size && !memcmp(file->id.bytes, id->bytes, id->size) &&
		    (id->size || !strcmp(file->path, path)))
			return file;
	}
	return NULL;
}

static struct file *append(struct flowtap_bundled_files *files, const struct flowtap_bundled *part,
			   const struct flowtap_build_id *id, uint64_t hash)
{
	struct file *file;

	if (FLOWTAP_GROW(files->list, files->n))
		return NULL;
	file = &files->list[files->n];
	*file = (struct file) { .path = strdup(part->path), .id = *id, .size = part->size };
	if (!file->path || flowtap_hash_table_add(&files->table, hash, files->n)) {
		free(file->path);
		return NULL;
	}
	files->n++;
	return file;
}

static int grow(struct file *file, uint64_t want, uint64_t capacity, uint64_t *held)
{
	uint64_t most = (file->size + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	uint64_t bigger = 2 * file->capacity;
	uint8_t *bytes;

	if (want <= file->capacity)
		return 0;
	bigger = bigger < want ? want : bigger;
	bigger = bigger > most || want == file->size ? most : bigger;
	if (bigger - file->capacity > capacity)
		return -EFBIG;
	bytes = realloc(file->bytes, bigger);
	if (!bytes)
		return -ENOMEM;
	memset(bytes + file->capacity, 0, bigger - file->capacity);
	*held += bigger - file->capacity;
	file->bytes = bytes;
	file->capacity = bigger;
	return 0;
}

/* Whoever made the archive may claim any build-id: the file's own is what counts. */
static bool is_itself(const struct file *file)
{
	struct flowtap_build_id id = { 0 };
	struct flowtap_elf *elf;

	if (!file->id.size)
		return true;
	if (flowtap_elf_open_memory(file->bytes, file->size, &elf))
		return false;
	id = flowtap_elf_build_id(elf);
	flowtap_elf_close(elf);
	return id.size == file->id.size && !memcmp(id.bytes, file->id.bytes, id.size);
}

int flowtap_bundled_add(struct flowtap_bundled_files *files, const struct flowtap_bundled *part,
			const void *bytes, uint64_t capacity, uint64_t *held)
{
	struct flowtap_build_id id = { .size = part->build_id_size };
	struct file *file;
	uint64_t hash;
	int err;

	if (id.size > FLOWTAP_BUILD_ID_MAX || !part->size || !part->part_size ||
	    part->offset > part->size || part->part_size > part->size - part->offset)
		return -EINVAL;
	if (part->size > FLOWTAP_BUNDLE_FILE_MAX)
		return -EFBIG;
	memcpy(id.bytes, part->build_id, id.size);
	file = find(files, part->path, &id, &hash);
	if (!file && !part->offset)
		file = append(files, part, &id, hash);
	else if (!file)
		return -EINVAL;
	if (!file)
		return -ENOMEM;
	if (file->size != part->size || file->filled != part->offset)
		return -EINVAL;
	err = grow(file, part->offset + part->part_size, capacity, held);
	if (err)
		return err;
	memcpy(file->bytes + part->offset, bytes, part->part_size);
	file->filled += part->part_size;
	if (file->filled == file->size)
		file->refused = !is_itself(file);
	return file->refused ? -EINVAL : 0;
}

uint8_t *flowtap_bundled_find(const struct flowtap_bundled_files *files, const char *path,
			      const struct flowtap_build_id *id, uint64_t *size)
{
	uint64_t hash;
	const struct file *file = find(files, path, id, &hash);

	if (!file || file->filled != file->size || file->refused)
		return NULL;
	*size = file->capacity;
	return file->bytes;
}
