// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Contexts that the same filters let through see the same memory: a view. Its images become pieces
 * that do not overlap (memory_layout.c), adjacent pieces a stretch of code. Views share the
 * stretches that they have in common.
 */
#include <flowtap/memory.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf_file.h"
#include "locate.h"
#include "memory_layout.h"
#include "table.h"

#define IMAGES_MAX	65536
#define FILTERS_MAX	64	/* bits of a mask */
#define VIEWS_MAX	1024
#define SEGMENTS_MAX	1024
#define STRETCH_MAX	(512ULL << 20)
#define HELD_MAX	(4ULL << 30)
#define CUTS_MAX	4096	/* a file of holes can be as long as it likes */

struct file {
	char *path;
	int directory;		/* index into directories, -1 none */
};

struct directory {
	dev_t device;
	ino_t inode;
	int fd;
};

struct stretch {
	struct flowtap_code code;
	struct flowtap_memory_image *pieces;
	size_t n;
	bool looked;		/* its bytes were read, or cannot be */
	uint8_t *bytes;
	char missing[FLOWTAP_WHY];
};

struct view {
	uint64_t mask;		/* of the filters */
	struct stretch **stretches;	/* by address */
	size_t n;
};

struct flowtap_memory {
	struct directory *directories;
	size_t n_directories;
	struct file *files;
	size_t n_files;
	struct flowtap_table by_path;
	struct flowtap_memory_image *images;	/* room for IMAGES_MAX grows by doubling */
	size_t n_images;
	size_t room;
	struct flowtap_memory_filter filters[FILTERS_MAX];
	size_t n_filters;
	/* From the first look on. */
	struct view *views[VIEWS_MAX];
	size_t n_views;
	struct stretch **stretches;		/* by key */
	size_t n_stretches;
	uint32_t first_key;
	struct flowtap_table by_pieces;
	uint64_t held;
	struct flowtap_context context;		/* the last one, and its view */
	struct view *view;
};

struct flowtap_memory *flowtap_memory_new(void)
{
	return calloc(1, sizeof(struct flowtap_memory));
}

static void free_stretch(struct stretch *stretch)
{
	free(stretch->pieces);
	free(stretch->bytes);
	free(stretch);
}

void flowtap_memory_free(struct flowtap_memory *memory)
{
	if (!memory)
		return;
	for (size_t i = 0; i < memory->n_stretches; i++)
		free_stretch(memory->stretches[i]);
	for (size_t i = 0; i < memory->n_views; i++) {
		free(memory->views[i]->stretches);
		free(memory->views[i]);
	}
	for (size_t i = 0; i < memory->n_files; i++)
		free(memory->files[i].path);
	for (size_t i = 0; i < memory->n_directories; i++)
		close(memory->directories[i].fd);
	flowtap_table_free(&memory->by_path);
	flowtap_table_free(&memory->by_pieces);
	free(memory->stretches);
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

/* The spaces that code of this context is in. */
static uint8_t spaces_of(const struct flowtap_context *context)
{
	static const uint8_t el1[] = {
		[FLOWTAP_NONSECURE] = FLOWTAP_SPACE_EL1N,
		[FLOWTAP_SECURE] = FLOWTAP_SPACE_EL1S,
		[FLOWTAP_REALM] = FLOWTAP_SPACE_EL1R,
		[FLOWTAP_ROOT] = FLOWTAP_SPACE_ROOT,
	}, el2[] = {
		[FLOWTAP_NONSECURE] = FLOWTAP_SPACE_EL2N,
		[FLOWTAP_SECURE] = FLOWTAP_SPACE_EL2S,
		[FLOWTAP_REALM] = FLOWTAP_SPACE_EL2R,
		[FLOWTAP_ROOT] = FLOWTAP_SPACE_ROOT,
	};
	unsigned int security = context->security & 3;

	if (context->mode >= FLOWTAP_MODE_M)
		return FLOWTAP_SPACE_EL3 | (security == FLOWTAP_ROOT ? FLOWTAP_SPACE_ROOT : 0);
	return context->mode == FLOWTAP_MODE_H ? el2[security] : el1[security];
}

static bool passes(const struct flowtap_memory_filter *filter,
		   const struct flowtap_context *context)
{
	if (filter->spaces && !(filter->spaces & spaces_of(context)))
		return false;
	if (filter->has_contextid &&
	    (!context->has_contextid || context->contextid != filter->contextid))
		return false;
	return !filter->has_vmid || (context->has_vmid && context->vmid == filter->vmid);
}

/* --- What there is --- */

static int add_directory(struct flowtap_memory *memory, int fd, int *index)
{
	struct directory *directories;
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
	directories = realloc(memory->directories,
			      (memory->n_directories + 1) * sizeof(directories[0]));
	if (!directories)
		return -ENOMEM;
	memory->directories = directories;
	fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return -errno;
	*index = (int)memory->n_directories;
	directories[memory->n_directories++] = (struct directory){
		.device = status.st_dev, .inode = status.st_ino, .fd = fd,
	};
	return 0;
}

static int add_path(struct flowtap_memory *memory, int directory, const char *path, uint32_t *index)
{
	uint64_t hash = flowtap_hash((uint64_t)directory, path, strlen(path));
	struct flowtap_table_walk walk = flowtap_table_walk(&memory->by_path, hash);
	struct file *files;
	char *copy;

	while (flowtap_table_next(&walk, index))
		if (memory->files[*index].directory == directory &&
		    !strcmp(memory->files[*index].path, path))
			return 0;
	files = realloc(memory->files, (memory->n_files + 1) * sizeof(files[0]));
	if (!files)
		return -ENOMEM;
	memory->files = files;
	copy = strdup(path);
	*index = (uint32_t)memory->n_files;
	if (!copy || flowtap_table_add(&memory->by_path, hash, *index)) {
		free(copy);
		return -ENOMEM;
	}
	files[memory->n_files++] = (struct file){ .path = copy, .directory = directory };
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
	if (memory->n_filters == FILTERS_MAX)
		return -E2BIG;
	memory->filters[memory->n_filters++] = *filter;
	return 0;
}

static int open_file(const struct flowtap_memory *memory, const struct file *file)
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

/* Bytes [offset, offset + size) of a file at address, cut at the file's end. */
static int add_image(struct flowtap_memory *memory, const struct flowtap_memory_image *template,
		     uint64_t size, uint64_t file_size)
{
	struct flowtap_memory_image image = *template;

	if (image.offset >= file_size)
		return -ERANGE;
	if (!size || size > file_size - image.offset)
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
	if (memory->n_images == memory->room) {
		size_t room = memory->room ? 2 * memory->room : 64;
		struct flowtap_memory_image *images = realloc(memory->images,
							      room * sizeof(images[0]));

		if (!images)
			return -ENOMEM;
		memory->images = images;
		memory->room = room;
	}
	memory->images[memory->n_images++] = image;
	return 0;
}

static int add_segments(struct flowtap_memory *memory, const struct flowtap_memory_image *template,
			int fd, uint64_t file_size)
{
	struct flowtap_segment *segments;
	struct flowtap_elf *elf;
	size_t n, before = memory->n_images;
	int error = flowtap_elf_open(fd, &elf);

	if (error)
		return error == -ENOEXEC ? -EBADMSG : error;
	segments = calloc(SEGMENTS_MAX, sizeof(segments[0]));
	if (!segments) {
		flowtap_elf_close(elf);
		return -ENOMEM;
	}
	n = flowtap_elf_segments(elf, segments, SEGMENTS_MAX);
	flowtap_elf_close(elf);
	for (size_t i = 0; i < n && !error; i++) {
		struct flowtap_memory_image image = *template;

		if (!segments[i].size)
			continue;
		/* A load offset may lead downwards: modulo 2^64. */
		image.address += segments[i].address;
		image.offset = segments[i].offset;
		error = add_image(memory, &image, segments[i].size, file_size);
	}
	free(segments);
	if (!error && memory->n_images == before)
		error = -ENODATA;
	if (error)
		memory->n_images = before;
	return error;
}

static int add(struct flowtap_memory *memory, const struct flowtap_memory_file *file, bool elf)
{
	struct flowtap_memory_image image = { .address = file->address };
	struct stat status;
	int directory = -1, fd, error;

	if (memory->n_views)
		return -EBUSY;
	error = add_directory(memory, file->directory, &directory);
	if (!error)
		error = add_path(memory, directory, file->path, &image.file);
	if (!error)
		error = add_filter(memory, &file->filter, &image.filter);
	if (error)
		return error;
	fd = open_file(memory, &memory->files[image.file]);
	if (fd < 0)
		return fd;
	if (fstat(fd, &status)) {
		error = -errno;
	} else if (elf) {
		error = add_segments(memory, &image, fd, (uint64_t)status.st_size);
	} else {
		image.offset = file->offset;
		error = add_image(memory, &image, file->size, (uint64_t)status.st_size);
	}
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
	return memory->first_key + (uint32_t)memory->n_stretches;
}

size_t flowtap_memory_images(const struct flowtap_memory *memory)
{
	return memory->n_images;
}

uint64_t flowtap_memory_held(const struct flowtap_memory *memory)
{
	return memory->held;
}

/* --- Looking --- */

static bool same_pieces(const struct stretch *stretch, const struct flowtap_memory_image *pieces,
			size_t n)
{
	return stretch->n == n && !memcmp(stretch->pieces, pieces, n * sizeof(pieces[0]));
}

/* The stretch of these pieces, which lie end to end; made where there is none yet. */
static struct stretch *stretch_of(struct flowtap_memory *memory,
				  const struct flowtap_memory_image *pieces, size_t n)
{
	uint64_t hash = flowtap_hash(0, pieces, n * sizeof(pieces[0]));
	struct flowtap_table_walk walk = flowtap_table_walk(&memory->by_pieces, hash);
	struct stretch **list, *made;
	uint32_t index;

	while (flowtap_table_next(&walk, &index))
		if (same_pieces(memory->stretches[index], pieces, n))
			return memory->stretches[index];
	if (!(memory->n_stretches & (memory->n_stretches - 1))) {
		size_t room = memory->n_stretches ? 2 * memory->n_stretches : 1;

		list = realloc(memory->stretches, room * sizeof(list[0]));
		if (!list)
			return NULL;
		memory->stretches = list;
	}
	made = calloc(1, sizeof(*made));
	if (!made)
		return NULL;
	made->pieces = malloc(n * sizeof(pieces[0]));
	index = (uint32_t)memory->n_stretches;
	if (!made->pieces || flowtap_table_add(&memory->by_pieces, hash, index)) {
		free_stretch(made);
		return NULL;
	}
	memcpy(made->pieces, pieces, n * sizeof(pieces[0]));
	made->n = n;
	made->code = (struct flowtap_code){
		.start = pieces[0].address,
		.end = pieces[n - 1].end,
		.until = UINT64_MAX,
		.file_offset = pieces[0].offset,
		.path = memory->files[pieces[0].file].path,
		.key = memory->first_key + index,
		.file = UINT32_MAX,
	};
	memory->stretches[memory->n_stretches++] = made;
	return made;
}

/*
 * No piece is longer than a stretch may be: where one is, it is cut, and what is left after so many
 * cuts is not there. malloc'ed.
 */
static struct flowtap_memory_image *cut(struct flowtap_memory_image *pieces, size_t *n)
{
	struct flowtap_memory_image *all;
	uint64_t more = 0;
	size_t used = 0, cuts = 0;

	for (size_t i = 0; i < *n && more < CUTS_MAX; i++)
		more += (pieces[i].end - pieces[i].address - 1) / STRETCH_MAX;
	more = more < CUTS_MAX ? more : CUTS_MAX;
	all = calloc(*n + (size_t)more + 1, sizeof(all[0]));
	for (size_t i = 0; i < *n && all; i++) {
		struct flowtap_memory_image rest = pieces[i];

		while (rest.end - rest.address > STRETCH_MAX) {
			if (cuts++ >= CUTS_MAX) {
				rest.end = rest.address + STRETCH_MAX;
				break;
			}
			all[used] = rest;
			all[used++].end = rest.address + STRETCH_MAX;
			rest.address += STRETCH_MAX;
			rest.offset += STRETCH_MAX;
		}
		all[used++] = rest;
	}
	free(pieces);
	*n = used;
	return all;
}

static int join(struct flowtap_memory *memory, struct view *view,
		const struct flowtap_memory_image *pieces, size_t n)
{
	size_t first = 0;

	view->stretches = calloc(n + 1, sizeof(view->stretches[0]));
	if (!view->stretches)
		return -ENOMEM;
	for (size_t i = 1; i <= n; i++) {
		if (i < n && pieces[i].address == pieces[i - 1].end &&
		    pieces[i].end - pieces[first].address <= STRETCH_MAX)
			continue;
		view->stretches[view->n] = stretch_of(memory, &pieces[first], i - first);
		if (!view->stretches[view->n++])
			return -ENOMEM;
		first = i;
	}
	return 0;
}

static int lay_out(struct flowtap_memory *memory, struct view *view)
{
	struct flowtap_memory_image *pieces = NULL;
	uint32_t *chosen = calloc(memory->n_images + 1, sizeof(chosen[0]));
	size_t n = 0;
	int error;

	if (!chosen)
		return -ENOMEM;
	for (size_t i = 0; i < memory->n_images; i++)
		if (view->mask >> memory->images[i].filter & 1)
			chosen[n++] = (uint32_t)i;
	error = flowtap_memory_layout(memory->images, chosen, n, &pieces, &n);
	free(chosen);
	if (error)
		return error;
	pieces = cut(pieces, &n);
	error = pieces ? join(memory, view, pieces, n) : -ENOMEM;
	free(pieces);
	return error;
}

/* What this context sees; NULL: no memory, or more different views than anybody has. */
static struct view *view_of(struct flowtap_memory *memory, const struct flowtap_context *context)
{
	struct view *view;
	uint64_t mask = 0;

	for (size_t i = 0; i < memory->n_filters; i++)
		if (passes(&memory->filters[i], context))
			mask |= 1ULL << i;
	for (size_t i = 0; i < memory->n_views; i++)
		if (memory->views[i]->mask == mask)
			return memory->views[i];
	if (memory->n_views == VIEWS_MAX)
		return NULL;
	view = calloc(1, sizeof(*view));
	if (!view)
		return NULL;
	view->mask = mask;
	if (lay_out(memory, view)) {
		free(view->stretches);
		free(view);
		return NULL;
	}
	memory->views[memory->n_views++] = view;
	return view;
}

static int read_piece(int fd, const struct flowtap_memory_image *piece, uint8_t *to)
{
	uint64_t left = piece->end - piece->address, offset = piece->offset;

	while (left) {
		ssize_t got = pread(fd, to, left, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -ENODATA;
		to += got;
		offset += (uint64_t)got;
		left -= (uint64_t)got;
	}
	return 0;
}

static int read_pieces(const struct flowtap_memory *memory, struct stretch *stretch, uint8_t *bytes)
{
	for (size_t i = 0; i < stretch->n; i++) {
		const struct flowtap_memory_image *piece = &stretch->pieces[i];
		const struct file *file = &memory->files[piece->file];
		int fd = open_file(memory, file), error = fd;

		if (fd >= 0) {
			error = read_piece(fd, piece, bytes + (piece->address - stretch->code.start));
			close(fd);
		}
		if (error) {
			snprintf(stretch->missing, sizeof(stretch->missing), "%.300s: %s", file->path,
				 error == -ENODATA ? "has become shorter" : strerrordesc_np(-error));
			return error;
		}
	}
	return 0;
}

/* At the first look. */
static void load(struct flowtap_memory *memory, struct stretch *stretch)
{
	uint64_t size = stretch->code.end - stretch->code.start;

	stretch->looked = true;
	stretch->code.missing = stretch->missing;
	if (size > HELD_MAX - memory->held) {
		snprintf(stretch->missing, sizeof(stretch->missing),
			 "%.300s: more than 4 GiB of code", stretch->code.path);
		return;
	}
	stretch->bytes = malloc(size);
	if (!stretch->bytes) {
		snprintf(stretch->missing, sizeof(stretch->missing), "%.300s: no memory",
			 stretch->code.path);
		return;
	}
	if (read_pieces(memory, stretch, stretch->bytes)) {
		free(stretch->bytes);
		stretch->bytes = NULL;
		return;
	}
	memory->held += size;
	stretch->code.bytes = stretch->bytes;
	stretch->code.missing = NULL;
}

static bool same_context(const struct flowtap_context *one, const struct flowtap_context *other)
{
	return one->mode == other->mode && one->security == other->security &&
	       one->has_vmid == other->has_vmid && one->vmid == other->vmid &&
	       one->has_contextid == other->has_contextid && one->contextid == other->contextid;
}

const struct flowtap_code *flowtap_memory_find(void *argument,
					       const struct flowtap_context *context,
					       uint64_t address)
{
	struct flowtap_memory *memory = argument;
	struct view *view = memory->view;
	size_t low = 0, high;
	int saved = errno;

	if (!view || !same_context(context, &memory->context)) {
		view = view_of(memory, context);
		if (!view)
			return NULL;
		memory->view = view;
		memory->context = *context;
	}
	for (high = view->n; low < high;) {
		size_t middle = low + (high - low) / 2;

		if (view->stretches[middle]->code.end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == view->n || view->stretches[low]->code.start > address)
		return NULL;
	if (!view->stretches[low]->looked)
		load(memory, view->stretches[low]);
	errno = saved;
	return &view->stretches[low]->code;
}
