/* SPDX-License-Identifier: GPL-2.0-only */
/* A store in a folder of its own, segments that are put into it, and looks at what is there. */
#ifndef FLOWTAP_SELFTESTS_DAEMON_STORE_FIXTURE_H
#define FLOWTAP_SELFTESTS_DAEMON_STORE_FIXTURE_H

#include "store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <flowtap/archive.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"
#include "support/kselftest_harness.h"

#define BLOCKS 4
#define PAYLOAD 1000
#define BLOCK (sizeof(struct flowtap_archive_block_header) + PAYLOAD)
#define TIME 1795348800		/* 2026-11-22 12:00:00 UTC */
#define FIRST "0000000001-20261122T120000Z"
#define SECOND "0000000002-20261122T120000Z"

FIXTURE(store)
{
	char directory[64];
	struct store *store;
	struct store_left left;
};

static const struct store_limits any = { 0 };

FIXTURE_SETUP(store)
{
	strcpy(self->directory, "/tmp/flowtap-store-XXXXXX");
	ASSERT_TRUE(mkdtemp(self->directory));
	ASSERT_EQ(0, store_open(self->directory, &any, &self->left, &self->store));
}

FIXTURE_TEARDOWN(store)
{
	store_close(self->store);
	folder_remove(self->directory);
}

static inline int write_blocks(int fd, unsigned int n)
{
	static const uint8_t payload[PAYLOAD] = { 1, 2, 3 };
	struct flowtap_archive_writer *writer;
	int error = flowtap_archive_create(fd, &writer);

	for (unsigned int i = 0; i < n && !error; i++)
		error = flowtap_archive_write(writer, FLOWTAP_ARCHIVE_INFO, 0, i, payload, PAYLOAD,
					      NULL, 0);
	if (!error)
		error = flowtap_archive_flush(writer);
	flowtap_archive_writer_free(writer);
	return error;
}

static inline int reopen(FIXTURE_DATA(store) *self, const struct store_limits *limits)
{
	store_close(self->store);
	self->store = NULL;
	return store_open(self->directory, limits, &self->left, &self->store);
}

static inline int add_segment(struct store *store, const char *why)
{
	const struct store_facts facts = { .began = TIME, .ended = TIME + 60, .records = 1000, .lost = 7,
					   .why = why };
	int fd = store_begin(store, TIME);
	int error = fd < 0 ? fd : write_blocks(fd, BLOCKS);

	return error ? error : store_finish(store, &facts);
}

static inline bool exists(const FIXTURE_DATA(store) *self, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", self->directory, name);
	return !access(path, F_OK);
}

static inline void put_file(const FIXTURE_DATA(store) *self, const char *name, const void *bytes,
		     size_t size)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", self->directory, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	close(fd);
}

static inline char *index_text(const FIXTURE_DATA(store) *self)
{
	static char text[65536];
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/index", self->directory);
	file = fopen(path, "r");
	text[file ? fread(text, 1, sizeof(text) - 1, file) : 0] = 0;
	if (file)
		fclose(file);
	return text;
}

/* Blocks of a file; -1: it is no archive, or damaged. */
static inline int count_blocks(const FIXTURE_DATA(store) *self, const char *name)
{
	struct flowtap_archive_reader *reader;
	struct flowtap_archive_block block;
	char path[512];
	int fd, n = 0, result;

	snprintf(path, sizeof(path), "%s/%s", self->directory, name);
	fd = open(path, O_RDONLY);
	if (flowtap_archive_open(fd, &reader))
		return -1;
	while ((result = flowtap_archive_next(reader, &block)) > 0)
		n++;
	flowtap_archive_reader_free(reader);
	close(fd);
	return result ? -1 : n;
}

/* What the folder has, as `ls` shows it, without the index. */
static inline const char *list(const FIXTURE_DATA(store) *self)
{
	static char text[4096];
	struct dirent **names;
	int n = scandir(self->directory, &names, NULL, alphasort);

	text[0] = 0;
	for (int i = 0; i < n; i++) {
		if (names[i]->d_name[0] == '0')
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s ",
				 names[i]->d_name);
		free(names[i]);
	}
	free(names);
	return text;
}

#endif /* FLOWTAP_SELFTESTS_DAEMON_STORE_FIXTURE_H */
