// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Which images there are. */
#include "base/vector.h"
#include "code/memory_internal.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "code/elf_file.h"

#define IMAGES_MAX	65536
#define SEGMENTS_MAX	1024

struct flowtap_memory *flowtap_memory_new(void)
{
	return calloc(1, sizeof(struct flowtap_memory));
}

void flowtap_memory_free_region(struct memory_region *region)
{
	free(region->pieces);
	free(region->bytes);
	free(region);
}

void flowtap_memory_free(struct flowtap_memory *memory)
{
	if (!memory)
		return;
	for (size_t i = 0; i < memory->n_regions; i++)
		flowtap_memory_free_region(memory->regions[i]);
	for (size_t i = 0; i < memory->n_views; i++) {
		free(memory->views[i]->regions);
		free(memory->views[i]);
	}
	for (size_t i = 0; i < memory->n_files; i++)
		free(memory->files[i].path);
	for (size_t i = 0; i < memory->n_directories; i++)
		close(memory->directories[i].fd);
	flowtap_hash_table_free(&memory->by_path);
	flowtap_hash_table_free(&memory->by_pieces);
	free(memory->regions);
	free(memory->directories);
	free(memory->files);
	free(memory->images);
	free(memory);
}

uint8_t flowtap_memory_space(const char *name)
{
	static const struct {
		const char *name;
		uint8_t spaces;
	} names[] = {
		{ "EL1S", FLOWTAP_SPACE_EL1S },
		{ "EL1N", FLOWTAP_SPACE_EL1N },
		{ "EL1R", FLOWTAP_SPACE_EL1R },
		{ "EL2S", FLOWTAP_SPACE_EL2S },
		{ "EL2N", FLOWTAP_SPACE_EL2N },
		{ "EL2R", FLOWTAP_SPACE_EL2R },
		{ "EL3", FLOWTAP_SPACE_EL3 },
		{ "ROOT", FLOWTAP_SPACE_ROOT },
		{ "S", FLOWTAP_SPACE_EL1S | FLOWTAP_SPACE_EL2S | FLOWTAP_SPACE_EL3 },
		{ "N", FLOWTAP_SPACE_EL1N | FLOWTAP_SPACE_EL2N },
		{ "R", FLOWTAP_SPACE_EL1R | FLOWTAP_SPACE_EL2R },
		{ "ANY", 0xff },
		{ "EL2", FLOWTAP_SPACE_EL2N },
		{ "H", FLOWTAP_SPACE_EL2N },
		{ "P", FLOWTAP_SPACE_EL1N },
		{ "NP", FLOWTAP_SPACE_EL1N },
		{ "SP", FLOWTAP_SPACE_EL1S },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcasecmp(name, names[i].name))
			return names[i].spaces;
	return 0;
}

/* --- What there is --- */

static int add_directory(struct flowtap_memory *memory, int fd, int *index)
{
	struct stat status;

	if (fd < 0) {
		*index = -1;
		return 0;
	}
	if (fstat(fd, &status))
		return -errno;
	for (size_t i = 0; i < memory->n_directories; i++)
		if (memory->directories[i].device == status.st_dev &&
		    memory->directories[i].inode == status.st_ino) {
			*index = (int)i;
			return 0;
		}
	if (FLOWTAP_GROW(memory->directories, memory->n_directories))
		return -ENOMEM;
	fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return -errno;
	*index = (int)memory->n_directories;
	memory->directories[memory->n_directories++] = (struct memory_directory){
		.device = status.st_dev, .inode = status.st_ino, .fd = fd,
	};
	return 0;
}

static int add_path(struct flowtap_memory *memory, int directory, const char *path, uint32_t *index)
{
	uint64_t hash = flowtap_hash((uint64_t)directory, path, strlen(path));
	struct flowtap_hash_table_walk walk = flowtap_hash_table_walk(&memory->by_path, hash);
	char *copy;

	while (flowtap_hash_table_next(&walk, index))
		if (memory->files[*index].directory == directory &&
		    !strcmp(memory->files[*index].path, path))
			return 0;
	if (FLOWTAP_GROW(memory->files, memory->n_files))
		return -ENOMEM;
	copy = strdup(path);
	*index = (uint32_t)memory->n_files;
	if (!copy || flowtap_hash_table_add(&memory->by_path, hash, *index)) {
		free(copy);
		return -ENOMEM;
	}
	memory->files[memory->n_files++] = (struct memory_file){ .path = copy, .directory = directory };
	return 0;
}

static bool same(const struct flowtap_memory_filter *one, const struct flowtap_memory_filter *other)
{
	return one->spaces == other->spaces && one->has_contextid == other->has_contextid &&
	       one->has_vmid == other->has_vmid && one->vmid == other->vmid &&
	       one->contextid == other->contextid;
}

static int add_filter(struct flowtap_memory *memory, const struct flowtap_memory_filter *filter,
		      uint32_t *index)
{
	for (*index = 0; *index < memory->n_filters; ++*index)
		if (same(&memory->filters[*index], filter))
			return 0;
	if (memory->n_filters == FLOWTAP_MEMORY_FILTERS)
		return -E2BIG;
	memory->filters[memory->n_filters++] = *filter;
	return 0;
}

int flowtap_memory_open(const struct flowtap_memory *memory, const struct memory_file *file)
{
	struct stat status;
	int fd;

	if (file->directory >= 0)
		return flowtap_locate_in(memory->directories[file->directory].fd, file->path);
	fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) || !S_ISREG(status.st_mode)) {
		close(fd);
		return -ENOEXEC;
	}
	return fd;
}

/* Bytes [offset, offset + size) of a file at address, cut at the file's end: 1 where they are. */
static int add_image(struct flowtap_memory *memory, const struct flowtap_memory_image *template,
		     uint64_t size, uint64_t file_size)
{
	struct flowtap_memory_image image = *template;
	bool cut;

	if (image.offset >= file_size)
		return -ERANGE;
	cut = size > file_size - image.offset;
	if (!size || cut)
		size = file_size - image.offset;
	/* The last byte of all memory has no end. */
	if (size - 1 > UINT64_MAX - image.address)
		return -ERANGE;
	image.end = image.address + size;
	if (!image.end && !--size)
		return -ERANGE;
	image.end = image.address + size;
	if (memory->n_images == IMAGES_MAX)
		return -E2BIG;
	if (FLOWTAP_GROW(memory->images, memory->n_images))
		return -ENOMEM;
	memory->images[memory->n_images++] = image;
	return cut;
}

static int add_segments(struct flowtap_memory *memory, const struct flowtap_memory_image *template,
			int fd, uint64_t file_size)
{
	struct flowtap_segment *segments;
	struct flowtap_elf *elf;
	size_t n, before = memory->n_images;
	uint16_t machine;
	int error = flowtap_elf_open(fd, &elf);

	if (error)
		return error == -ENOEXEC ? -EBADMSG : error;
	machine = flowtap_elf_machine(elf);
	if (machine != EM_AARCH64 && machine != EM_ARM) {
		flowtap_elf_close(elf);
		return -ENOTSUP;
	}
	segments = calloc(SEGMENTS_MAX, sizeof(segments[0]));
	if (!segments) {
		flowtap_elf_close(elf);
		return -ENOMEM;
	}
	n = flowtap_elf_segments(elf, segments, SEGMENTS_MAX);
	flowtap_elf_close(elf);
	for (size_t i = 0; i < n && error >= 0; i++) {
		struct flowtap_memory_image image = *template;
		int result;

		if (!segments[i].size)
			continue;
		/* A load offset may lead downwards: modulo 2^64. */
		image.address += segments[i].address;
		image.offset = segments[i].offset;
		result = add_image(memory, &image, segments[i].size, file_size);
		error = result ? result : error;
	}
	free(segments);
	if (error >= 0 && memory->n_images == before)
		error = -ENODATA;
	if (error < 0)
		memory->n_images = before;
	return error;
}

/* The open file, or -errno. How long it is, is looked at once: it may have many parts. */
static int look(const struct flowtap_memory *memory, struct memory_file *file)
{
	int fd = flowtap_memory_open(memory, file), error = 0;
	struct stat status;

	if (fd < 0)
		return fd;
	if (fstat(fd, &status)) {
		error = -errno;
		close(fd);
		return error;
	}
	file->size = (uint64_t)status.st_size;
	file->sized = true;
	return fd;
}

static int add(struct flowtap_memory *memory, const struct flowtap_memory_file *file, bool elf)
{
	struct flowtap_memory_image image = { .address = file->address };
	struct memory_file *kept;
	int directory = -1, fd = -1, error;

	if (memory->n_views)
		return -EBUSY;
	error = add_directory(memory, file->directory, &directory);
	if (!error)
		error = add_path(memory, directory, file->path, &image.file);
	if (!error)
		error = add_filter(memory, &file->filter, &image.filter);
	if (error)
		return error;
	kept = &memory->files[image.file];
	if (elf || !kept->sized) {
		fd = look(memory, kept);
		if (fd < 0)
			return fd;
	}
	if (elf) {
		error = add_segments(memory, &image, fd, kept->size);
	} else {
		image.offset = file->offset;
		error = add_image(memory, &image, file->size, kept->size);
	}
	if (fd >= 0)
		close(fd);
	return error;
}

int flowtap_memory_add(struct flowtap_memory *memory, const struct flowtap_memory_file *file)
{
	int saved = errno, error = add(memory, file, false);

	errno = saved;
	return error;
}

int flowtap_memory_add_elf(struct flowtap_memory *memory, const struct flowtap_memory_file *file)
{
	int saved = errno, error = add(memory, file, true);

	errno = saved;
	return error;
}

void flowtap_memory_set_first_key(struct flowtap_memory *memory, uint32_t first)
{
	memory->first_key = first;
}

uint32_t flowtap_memory_next_key(const struct flowtap_memory *memory)
{
	return memory->first_key + (uint32_t)memory->n_regions;
}

size_t flowtap_memory_images(const struct flowtap_memory *memory)
{
	return memory->n_images;
}

uint64_t flowtap_memory_held(const struct flowtap_memory *memory)
{
	return memory->held;
}
