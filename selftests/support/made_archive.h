/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An archive that a program makes by hand, a block after the other, and DIR/root/bin/made, the small
 * ELF file (tinyelf.h) that the processes in it ran. What fails ends the program.
 */
#ifndef FLOWTAP_SELFTESTS_SUPPORT_MADE_ARCHIVE_H
#define FLOWTAP_SELFTESTS_SUPPORT_MADE_ARCHIVE_H

#include <errno.h>
#include <fcntl.h>
#include <flowtap/archive.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/tinyelf.h"

#define SECOND 1000000000ULL

static struct flowtap_archive_writer *writer;

static inline void check(int error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(-error));
	exit(1);
}

static inline void block(uint32_t type, uint32_t cpu, const void *bytes, size_t size)
{
	check(flowtap_archive_write(writer, type, cpu, SECOND, bytes, size, NULL, 0), "write");
}

/* Returns what close_archive takes. */
static inline int open_archive(const char *dir, const char *name)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	check(fd < 0 ? -errno : 0, path);
	check(flowtap_archive_create(fd, &writer), "create");
	return fd;
}

static inline void close_archive(int fd)
{
	block(FLOWTAP_ARCHIVE_END, 0, NULL, 0);
	check(flowtap_archive_flush(writer), "flush");
	flowtap_archive_writer_free(writer);
	close(fd);
}

static inline void save_program(const char *dir, const void *bytes, size_t size)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/root", dir);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/root/bin", dir);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/root/bin/made", dir);
	file = fopen(path, "wb");
	if (!file || fwrite(bytes, 1, size, file) != size || fclose(file))
		check(-errno, path);
}

static inline void put_task(uint32_t pid, const char *comm)
{
	struct flowtap_archive_task task = {
		.event = FLOWTAP_TASK_COMM,
		.pid = pid,
		.tid = pid,
		.comm_size = (uint32_t)strlen(comm),
	};

	memcpy(task.comm, comm, strlen(comm));
	block(FLOWTAP_ARCHIVE_TASK, 0, &task, sizeof(task));
}

/* The program's code, of tiny_make with seed 1. */
static inline void put_mapping(uint32_t pid, uint64_t start)
{
	static const char path[] = "/bin/made";
	struct {
		struct flowtap_archive_mapping mapping;
		char path[16];
	} whole = {
		.mapping = {
			.start = start,
			.size = 0x1000,
			.file_offset = TINY_CODE_OFFSET,
			.pid = pid,
			.tid = pid,
			.executable = 1,
			.build_id_size = 20,
			.path_size = sizeof(path) - 1,
		},
	};

	tiny_build_id(whole.mapping.build_id, 1);
	memcpy(whole.path, path, sizeof(path) - 1);
	block(FLOWTAP_ARCHIVE_MAPPING, 0, &whole, sizeof(whole.mapping) + sizeof(path) - 1);
}

#endif /* FLOWTAP_SELFTESTS_SUPPORT_MADE_ARCHIVE_H */
