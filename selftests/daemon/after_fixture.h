/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finished segments, what is done with them by children (which are this program again), and a
 * script that stands in for `flowtap decode` and does what a test wants.
 */
#ifndef FLOWTAP_SELFTESTS_DAEMON_AFTER_FIXTURE_H
#define FLOWTAP_SELFTESTS_DAEMON_AFTER_FIXTURE_H

#include "after.h"

#include <fcntl.h>
#include <flowtap/archive.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../tools/common/tool.h"
#include "child.h"
#include "folder.h"
#include "support/kselftest_harness.h"
#include "idle.h"
#include "logged.h"

#define TIME 1795348800		/* 2026-11-22 12:00:00 UTC */
#define STEP_US 5000
#define PATIENCE (PATIENCE_US / STEP_US)

FIXTURE(after)
{
	char directory[64];
	char path[4096];		/* $PATH of before */
	struct store *store;
	struct store_left left;
	struct after_options options;
	struct after after;
	struct logged logged;
};

static const struct store_limits any = { 0 };

FIXTURE_SETUP(after)
{
	strcpy(self->directory, "/tmp/flowtap-after-XXXXXX");
	ASSERT_TRUE(mkdtemp(self->directory));
	ASSERT_EQ(0, store_open(self->directory, &any, &self->left, &self->store));
	self->options = (struct after_options){ .directory = self->directory, .waiting = 100 };
	snprintf(self->path, sizeof(self->path), "%s", getenv("PATH"));
	setenv("WHERE", self->directory, 1);
	logged_open(&self->logged);
}

FIXTURE_TEARDOWN(after)
{
	after_close(&self->after);
	logged_close(&self->logged);
	store_close(self->store);
	folder_remove(self->directory);
}

/* seed: of what nobody can pack; 0: of zeros. */
static inline int add_segment_of(FIXTURE_DATA(after) *self, uint32_t seed)
{
	const struct store_facts facts = { .began = TIME, .ended = TIME + 60, .records = 1000, .why = "size" };
	static uint8_t payload[100000];
	struct flowtap_archive_writer *writer;
	int fd = store_begin(self->store, TIME);
	int error = fd < 0 ? fd : flowtap_archive_create(fd, &writer);

	if (error)
		return error;
	for (size_t i = 0; i < sizeof(payload); i++) {
		seed = seed * 1664525 + (seed ? 1013904223 : 0);
		payload[i] = (uint8_t)(seed >> 24);
	}
	for (unsigned int i = 0; i < (seed ? 1 : 10) && !error; i++)
		error = flowtap_archive_write(writer, FLOWTAP_ARCHIVE_INFO, 0, i, payload,
					      sizeof(payload), NULL, 0);
	if (!error)
		error = flowtap_archive_flush(writer);
	flowtap_archive_writer_free(writer);
	return error ? error : store_finish(self->store, &facts);
}

static inline int add_segment(FIXTURE_DATA(after) *self)
{
	return add_segment_of(self, 0);
}

/* What `flowtap` is from now on; $out is what -o says, $in the segment. */
static inline void make_decoder(FIXTURE_DATA(after) *self, const char *text)
{
	char path[256], where[8192];
	FILE *file;

	snprintf(path, sizeof(path), "%s/bin", self->directory);
	mkdir(path, 0700);
	snprintf(where, sizeof(where), "%s:%s", path, self->path);
	setenv("PATH", where, 1);
	strcat(path, "/flowtap");
	file = fopen(path, "w");
	fprintf(file, "#!/bin/sh\nin=$2\nwhile [ \"$1\" != -o ]; do shift; done\nout=$2\n%s\n", text);
	fclose(file);
	chmod(path, 0700);
}

static inline bool exists(const FIXTURE_DATA(after) *self, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", self->directory, name);
	return !access(path, F_OK);
}

static inline const char *text_of(const FIXTURE_DATA(after) *self, const char *name)
{
	static char text[4096];
	char path[512];
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", self->directory, name);
	file = fopen(path, "r");
	n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	text[n] = 0;
	if (file)
		fclose(file);
	return text;
}

/*
 * Whether another step can bring anything, after a moment: where no child runs after one there was
 * nothing more to begin, and there will not be before a retry, for which no test waits.
 */
static inline bool works(const FIXTURE_DATA(after) *self)
{
	if (!self->after.child)
		return false;
	usleep(STEP_US);
	return true;
}

/* Steps until a count is as large as is wanted, or nothing is left to be done. */
static inline bool until(FIXTURE_DATA(after) *self, const uint64_t *count, uint64_t wanted)
{
	do {
		after_step(&self->after, number_now(), TIME + 100);
		if (*count >= wanted)
			return true;
	} while (works(self));
	return false;
}

/* Steps until a file is there, or not, or nothing is left to be done. */
static inline bool until_file(FIXTURE_DATA(after) *self, const char *name, bool there)
{
	do {
		after_step(&self->after, number_now(), TIME + 100);
		if (exists(self, name) == there)
			return true;
	} while (works(self));
	return false;
}

#define MINUTE 60000000000ULL
/* Each is tried again after ten minutes, and one in a minute: there is always one. */
#define MANY 12

/* All that is begun at this time ends. */
static inline bool until_idle(FIXTURE_DATA(after) *self, uint64_t now)
{
	for (int i = 0; i < PATIENCE; i++) {
		after_step(&self->after, now, TIME);
		if (!self->after.child)
			return true;
		usleep(STEP_US);
	}
	return false;
}

/* How often work on the segment of this number was put off, by the log. */
static inline unsigned int put_off(const char *text, unsigned int number)
{
	char name[32];
	unsigned int n = 0;

	snprintf(name, sizeof(name), " name=%010u-", number);
	while ((text = strstr(text, "event=put-off"))) {
		const char *end = strchr(text, '\n'), *at = strstr(text, name);

		n += at && end && at < end;
		text += strlen("event=put-off");
	}
	return n;
}

#define FIRST "0000000001-20261122T120000Z"
#define SECOND "0000000002-20261122T120000Z"
#define THIRD "0000000003-20261122T120000Z"

/* What it holds while $WHERE/go is not there. */
#define HOLD "echo begun >$WHERE/begun; while [ ! -e $WHERE/go ]; do sleep 0.02; done\n"

static inline void let_go(const FIXTURE_DATA(after) *self)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/go", self->directory);
	close(open(path, O_CREAT | O_WRONLY, 0600));
}

/* As flowtapd's. */
static inline int after_main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], CHILD_OPTION))
		return child_main(argc - 1, argv + 1);
	return test_harness_run(argc, argv);
}

#endif /* FLOWTAP_SELFTESTS_DAEMON_AFTER_FIXTURE_H */
