/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How far something long has come, on standard error: on a terminal one line that is drawn again
 * and again, elsewhere one line a minute.
 */
#ifndef FLOWTAP_TOOLS_COMMON_PROGRESS_H
#define FLOWTAP_TOOLS_COMMON_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	const char *doing;	/* "decoding", borrowed; NULL: nothing is shown */
	uint64_t shown;		/* when it was last, or began, ns; 0: not begun */
	bool drawn;		/* it is on the terminal */
};

/*
 * Whether it can be shown while text goes to standard output: into a regular file, and another one than
 * standard error. A terminal shows the text itself; a pipe may be a pager's, on whose screen a line
 * would be drawn.
 */
bool progress_beside_text(void);

/* It begins now: what is shown comes a while after this, otherwise after the first progress_show. */
void progress_begin(struct progress *progress);
/* As often as one likes. size: of `done`, 0 where that is not known: then it is how many `unit`. */
void progress_show(struct progress *progress, uint64_t done, uint64_t size, const char *unit);
/* Takes the line away, before something else is printed; it comes again when it is due. */
void progress_hide(struct progress *progress);
/* The same at the end: what is shown next begins anew. */
void progress_end(struct progress *progress);

#endif /* FLOWTAP_TOOLS_COMMON_PROGRESS_H */
