/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Files of [section] and key=value, as those of snapshots and flowtapd.conf(5) are: comments from #
 * or ; to the line's end, any line ends, blanks around names and values, quotes around a value.
 */
#ifndef FLOWTAP_INI_H
#define FLOWTAP_INI_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct flowtap_ini_line {
	unsigned int number;	/* from 1 */
	const char *section;	/* "" before the first */
	const char *key;	/* NULL: a section begins here; "": the line is neither */
	const char *value;	/* key is not NULL; of a line that is neither: the line */
};

/*
 * Calls take for each line that says something; text is changed and needs space for a 0 at
 * text[size]. Strings are valid until text is freed. 0, or what take returned other than 0.
 */
int flowtap_ini_read(char *text, size_t size,
		     int (*take)(void *argument, const struct flowtap_ini_line *line),
		     void *argument);

/*
 * The next of a list with commas, blanks around it taken away; empty ones are left out. *list is
 * changed and moves on; NULL: no more.
 */
char *flowtap_ini_next(char **list);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_INI_H */
