/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A board's perf.data, and files as they are below its root: what the programs that make them for the
 * tests of the command have in common.
 */
#ifndef FLOWTAP_SELFTESTS_SUPPORT_PERFFILE_BOARD_H
#define FLOWTAP_SELFTESTS_SUPPORT_PERFFILE_BOARD_H

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/perffile.h"

/* Writes ROOT/PATH and the directories that it needs; the program ends where it cannot. */
static inline void perffile_write_under(const char *root, const char *path, const void *bytes,
					size_t size)
{
	char name[4096];
	int fd;

	snprintf(name, sizeof(name), "%s/%s", root, path);
	for (char *slash = strchr(name + strlen(root) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(name, 0755);
		*slash = '/';
	}
	fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size) {
		perror(name);
		exit(1);
	}
	close(fd);
}

/* A file of `n` trace units, whose metadata has `version`. */
static inline void perffile_board(struct perffile *file, int version, int n,
				  const struct perffile_unit *units)
{
	perffile_start(file, false, PERFFILE_ANY | PERF_SAMPLE_IP, PERFFILE_ANY);
	perffile_info(file, version, false, n, units);
	/* A tick is a nanosecond. */
	perffile_values(file, 79, 0, 3, (uint64_t[]) { 0, 1, 0 });
}

/* Says which machine it is of, writes it to ROOT/PATH and frees it. */
static inline void perffile_board_write(struct perffile *file, const char *root, const char *path)
{
	perffile_string(file, 3, "board");
	perffile_string(file, 4, "6.12.1-board");
	perffile_string(file, 5, "6.12.1");
	perffile_string(file, 6, "aarch64");
	perffile_finish(file);
	perffile_write_under(root, path, file->bytes, file->size);
	free(file->bytes);
}

#endif /* FLOWTAP_SELFTESTS_SUPPORT_PERFFILE_BOARD_H */
