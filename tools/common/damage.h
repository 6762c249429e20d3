/* SPDX-License-Identifier: GPL-2.0-only */
/* The damages of an input in words: the first ten, so that a file of noise does not fill a screen. */
#ifndef FLOWTAP_TOOLS_COMMON_DAMAGE_H
#define FLOWTAP_TOOLS_COMMON_DAMAGE_H

#include <stdbool.h>
#include <stdint.h>

struct damage {
	uint64_t nth;		/* of this input, from 1 */
	uint64_t line;		/* of a text; 0: offset is used */
	uint64_t offset;	/* in bytes */
	const char *reason;
	uint64_t bytes;		/* that are not usable; 0: not known */
	const char *others;	/* how to see those that are not shown; NULL: no way */
};

/* Whether the nth, from 1, is among those. */
bool damage_is_shown(uint64_t nth);
/* Complains of one of `input` (a path or "-"), unless ten were shown; says so after the tenth. */
void damage_complain(const char *input, const struct damage *damage);

#endif /* FLOWTAP_TOOLS_COMMON_DAMAGE_H */
