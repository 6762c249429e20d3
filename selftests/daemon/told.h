/* SPDX-License-Identifier: GPL-2.0-only */
/* The events that a test's own process logs. */
#ifndef FLOWTAP_TEST_TOLD_H
#define FLOWTAP_TEST_TOLD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

struct told {
	FILE *file;
	char text[16384];
};

/* From now on they are taken. */
static inline void told_open(struct told *told)
{
	told->file = tmpfile();
	if (!told->file)
		abort();
	unsetenv("JOURNAL_STREAM");
	log_open(fileno(told->file));
}

/* Lines since the last time, each from its level on. */
static inline const char *told_since(struct told *told)
{
	char line[LOG_LINE + 1];
	size_t used = 0;

	told->text[0] = 0;
	rewind(told->file);
	while (fgets(line, sizeof(line), told->file)) {
		const char *at = strstr(line, "level=");
		int n = snprintf(told->text + used, sizeof(told->text) - used, "%s", at ? at : line);

		if (n < 0 || (size_t)n >= sizeof(told->text) - used)
			abort();
		used += (size_t)n;
	}
	rewind(told->file);
	if (ftruncate(fileno(told->file), 0))
		abort();
	lseek(fileno(told->file), 0, SEEK_SET);
	return told->text;
}

static inline void told_close(struct told *told)
{
	log_open(STDERR_FILENO);
	fclose(told->file);
}

#endif /* FLOWTAP_TEST_TOLD_H */
