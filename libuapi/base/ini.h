/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Files of [section] and key=value, as snapshots have them: comments from # or ; to the line's end,
 * any line ends, blanks around names and values, quotes around a value.
 */
#ifndef FLOWTAP_INI_H
#define FLOWTAP_INI_H

#include <stdbool.h>
#include <stddef.h>

/* A longer file is none that people or tools write. */
#define FLOWTAP_INI_MAX (16U << 20)

struct flowtap_ini_line {
	unsigned int number;	/* from 1 */
	const char *section;	/* "" before the first */
	const char *key;	/* NULL: a section begins here; "": the line is neither */
	const char *value;	/* key is not NULL; of a line that is neither: the line */
};

/*
 * Calls take for each line that says something; text is changed and needs room for a 0 at
 * text[size]. Strings are valid until text is freed. 0, or what take returned below 0.
 */
int flowtap_ini_read(char *text, size_t size,
		     int (*take)(void *argument, const struct flowtap_ini_line *line),
		     void *argument);

/* Without regard to case, up to a '(' in the key: TRCIDR0(0x3FD8) is TRCIDR0. */
bool flowtap_ini_is(const char *key, const char *name);

/*
 * The next of a list with commas, blanks around it taken away; empty ones are left out. *list is
 * changed and moves on; NULL: no more.
 */
char *flowtap_ini_next(char **list);

#endif /* FLOWTAP_INI_H */
