// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Lists the mapped files by build-id or path, and writes each of them to the archive if it is
 * still the file that was mapped.
 */
#include <flowtap/bundle.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/hash_table.h"
#include "base/read_at.h"
#include "base/vector.h"
#include "capture/procfs.h"
#include "formats/archive/compression.h"

#define PART (1U << 20)

struct file {
	char *path;
	struct flowtap_build_id id;
	uint32_t pid;			/* of one that mapped it: paths are its own */
	/* Of one without a build-id: */
	struct flowtap_proc_file file;	/* inode 0: it is not known which */
	bool ambiguous;			/* others had another file of that path */
};

struct flowtap_bundle {
	struct file *files;
	uint32_t n;
	struct flowtap_hash_table table;
	struct timespec began;
	uint8_t *buffer;
	struct flowtap_payload_codec stored;
};

struct flowtap_bundle *flowtap_bundle_new(void)
{
	struct flowtap_bundle *bundle = calloc(1, sizeof(*bundle));

	if (!bundle)
		return NULL;
	/* The clock that the kernel stamps files with. */
	clock_gettime(CLOCK_REALTIME_COARSE, &bundle->began);
	bundle->buffer = malloc(PART);
	if (!bundle->buffer) {
		free(bundle);
		return NULL;
	}
	return bundle;
}

void flowtap_bundle_free(struct flowtap_bundle *bundle)
{
	if (!bundle)
		return;
	for (uint32_t i = 0; i < bundle->n; i++)
		free(bundle->files[i].path);
	free(bundle->files);
	flowtap_hash_table_free(&bundle->table);
	free(bundle->buffer);
	free(bundle->stored.buffer);
	free(bundle);
}

/* By build-id, or else by path. */
static bool is_same(const struct file *file, const struct flowtap_mapping *mapping)
{
	if (file->id.size != mapping->build_id_size)
		return false;
	return file->id.size ? !memcmp(file->id.bytes, mapping->build_id, file->id.size) :
			       !strcmp(file->path, mapping->path);
}

static bool is_another(const struct flowtap_proc_file *a, const struct flowtap_proc_file *b)
{
	return a->inode && b->inode &&
	       (a->inode != b->inode || a->major != b->major || a->minor != b->minor);
}

/* Nothing but its path says which file it is: every process that has it must mean the same one. */
static void identify(struct file *file, const struct flowtap_mapping *mapping)
{
	struct flowtap_proc_file found;

	if (mapping->build_id_size || !flowtap_proc_file_at(mapping->pid, mapping->path, &found))
		return;
	file->ambiguous |= is_another(&file->file, &found);
	file->file = found;
}

int flowtap_bundle_add(struct flowtap_bundle *bundle, const struct flowtap_mapping *mapping)
{
	struct flowtap_hash_table_walk walk;
	struct file *file;
	uint32_t index;
	uint64_t hash;

	if (!mapping->executable || mapping->path[0] != '/' || mapping->path[1] == '/' ||
	    mapping->build_id_size > FLOWTAP_BUILD_ID_MAX ||
	    (!mapping->build_id_size && flowtap_proc_is_nameless(mapping->path)))
		return 0;
	hash = mapping->build_id_size ?
		flowtap_hash(1, mapping->build_id, mapping->build_id_size) :
		flowtap_hash(2, mapping->path, strlen(mapping->path));
	walk = flowtap_hash_table_walk(&bundle->table, hash);
	while (flowtap_hash_table_next(&walk, &index))
		if (is_same(&bundle->files[index], mapping)) {
			identify(&bundle->files[index], mapping);
			return 0;
		}
	if (FLOWTAP_GROW(bundle->files, bundle->n))
		return -ENOMEM;
	file = &bundle->files[bundle->n];
	*file = (struct file) { .pid = mapping->pid, .path = strdup(mapping->path) };
	if (!file->path || flowtap_hash_table_add(&bundle->table, hash, bundle->n)) {
		free(file->path);
		return -ENOMEM;
	}
	file->id.size = mapping->build_id_size;
	memcpy(file->id.bytes, mapping->build_id, file->id.size);
	identify(file, mapping);
	bundle->n++;
	return 0;
}

static int open_file(const struct file *file, char why[FLOWTAP_WHY])
{
	struct flowtap_mapping mapping = {
		.pid = file->pid,
		.path = file->path,
		.build_id_size = file->id.size,
	};

	memcpy(mapping.build_id, file->id.bytes, sizeof(mapping.build_id));
	return flowtap_mapping_open(&mapping, why);
}

static bool is_later(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec >= b->tv_nsec;
}

/* Whether it may be stored; if not, why. */
static bool check(const struct flowtap_bundle *bundle, const struct file *file, int fd,
		  uint64_t held, uint64_t *size, char why[FLOWTAP_WHY])
{
	struct flowtap_proc_file found;
	struct stat status;

	if (fstat(fd, &status)) {
		snprintf(why, FLOWTAP_WHY, "%.300s: %s", file->path, strerrordesc_np(errno));
		return false;
	}
	*size = (uint64_t)status.st_size;
	found = (struct flowtap_proc_file){ major(status.st_dev), minor(status.st_dev),
					    status.st_ino };
	if (file->ambiguous || is_another(&file->file, &found)) {
		snprintf(why, FLOWTAP_WHY, "%.300s has no build-id, and more than one file had "
			 "that path", file->path);
		return false;
	}
	if (!file->id.size && is_later(&status.st_ctim, &bundle->began)) {
		snprintf(why, FLOWTAP_WHY, "%.300s has no build-id and was changed since",
			 file->path);
		return false;
	}
	if (!*size || *size > FLOWTAP_BUNDLE_FILE_MAX) {
		snprintf(why, FLOWTAP_WHY, "%.300s: %s", file->path,
			 *size ? "more than 512 MiB" : "it is empty now");
		return false;
	}
	if (*size > FLOWTAP_BUNDLE_MAX - held) {
		snprintf(why, FLOWTAP_WHY, "%.300s: 3 GiB are stored already", file->path);
		return false;
	}
	return true;
}

static int write_part(struct flowtap_bundle *bundle, struct flowtap_archive_writer *writer,
		      const struct file *file, uint64_t size, uint64_t offset, uint32_t n)
{
	struct {
		struct flowtap_archive_file block;
		char path[PATH_MAX + 8];
	} head = {
		.block = {
			.size = size,
			.offset = offset,
			.part_size = n,
			.path_size = (uint32_t)strnlen(file->path, PATH_MAX - 1),
			.build_id_size = file->id.size,
		},
	};
	int err = flowtap_payload_pack(&bundle->stored, bundle->buffer, n);

	if (err)
		return err;
	head.block.compression = bundle->stored.compression;
	head.block.stored_size = bundle->stored.size;
	memcpy(head.block.build_id, file->id.bytes, file->id.size);
	memcpy(head.path, file->path, head.block.path_size);
	return flowtap_archive_write(writer, FLOWTAP_ARCHIVE_FILE, 0, 0, &head,
				     (sizeof(head.block) + head.block.path_size + 8) & ~(size_t)7,
				     bundle->stored.bytes, bundle->stored.size);
}

/* 1: the file shrank, or cannot be read: who reads the archive sees that parts are missing. */
static int write_file(struct flowtap_bundle *bundle, struct flowtap_archive_writer *writer,
		      const struct file *file, int fd, uint64_t size)
{
	for (uint64_t offset = 0; offset < size;) {
		uint32_t want = size - offset < PART ? (uint32_t)(size - offset) : PART;
		int err;

		if (flowtap_read_all_at(fd, bundle->buffer, want, offset, -EIO))
			return 1;
		err = write_part(bundle, writer, file, size, offset, want);
		if (err)
			return err;
		offset += want;
	}
	return 0;
}

int flowtap_bundle_write(struct flowtap_bundle *bundle, struct flowtap_archive_writer *writer,
			 void (*left_out)(void *argument, const char *why), void *argument,
			 struct flowtap_bundle_figures *figures)
{
	int saved = errno, err = 0;

	*figures = (struct flowtap_bundle_figures) { 0 };
	for (uint32_t i = 0; i < bundle->n && err >= 0; i++) {
		const struct file *file = &bundle->files[i];
		char why[FLOWTAP_WHY] = "";
		uint64_t size = 0;
		int fd = open_file(file, why);

		err = 1;
		if (fd >= 0 && check(bundle, file, fd, figures->bytes, &size, why)) {
			err = write_file(bundle, writer, file, fd, size);
			if (err > 0)
				snprintf(why, sizeof(why), "%.300s cannot be read, or was cut",
					 file->path);
		}
		if (fd >= 0)
			close(fd);
		if (!err) {
			figures->files++;
			figures->bytes += size;
		} else if (err > 0) {
			figures->left_out++;
			if (left_out)
				left_out(argument, why);
		}
	}
	errno = saved;
	return err < 0 ? err : 0;
}
