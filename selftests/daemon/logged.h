/* SPDX-License-Identifier: GPL-2.0-only */
/* The events that a test's own process logs. */
#ifndef FLOWTAP_SELFTESTS_DAEMON_LOGGED_H
#define FLOWTAP_SELFTESTS_DAEMON_LOGGED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

struct logged {
	FILE *file;
	char text[16384];
};

/* From now on they are taken. */
static inline void logged_open(struct logged *logged)
{
	logged->file = tmpfile();
	if (!logged->file)
		abort();
	unsetenv("JOURNAL_STREAM");
	log_open(fileno(logged->file));
}

/* Lines since the last time, each from its level on. */
static inline const char *logged_since(struct logged *logged)
{
	char line[LOG_LINE + 1];
	size_t used = 0;

	logged->text[0] = 0;
	rewind(logged->file);
	while (fgets(line, sizeof(line), logged->file)) {
		const char *at = strstr(line, "level=");
		int n = snprintf(logged->text + used, sizeof(logged->text) - used, "%s", at ? at : line);

		if (n < 0 || (size_t)n >= sizeof(logged->text) - used)
			abort();
		used += (size_t)n;
	}
	rewind(logged->file);
	if (ftruncate(fileno(logged->file), 0))
		abort();
	lseek(fileno(logged->file), 0, SEEK_SET);
	return logged->text;
}

static inline void logged_close(struct logged *logged)
{
	log_open(STDERR_FILENO);
	fclose(logged->file);
}

#endif /* FLOWTAP_SELFTESTS_DAEMON_LOGGED_H */
