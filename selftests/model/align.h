/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which bytes of a dump are which of the trace unit's stream: by what the log says was stored. */
#ifndef FLOWTAP_SELFTESTS_MODEL_ALIGN_H
#define FLOWTAP_SELFTESTS_MODEL_ALIGN_H

#include "history.h"

/* Bytes that software says belong together, in the order of collection; none: it only is lossy. */
struct align_piece {
	const uint8_t *bytes;
	size_t n;
	bool lossy;		/* software says that some are missing before, in or after it */
};

/* Bytes that follow each other in the unit's stream. */
struct align_run {
	const uint8_t *bytes;
	size_t n;
	uint64_t offset;	/* of the unit's stream */
	bool joined;		/* it goes on where the one before ended */
	bool lost;		/* else: the log says that bytes before it were lost */
	bool missing;		/* else: bytes that were stored are not in the dump */
	bool excused;		/* ... and software says so of a piece beside them */
};

struct alignment {
	struct align_run *runs;
	size_t n;
	uint64_t bytes;
	uint64_t padding;	/* Ignore bytes that software put between */
	uint64_t missing;	/* stored and not in the dump */
	uint64_t unexcused;	/* ... of them, with no piece beside them that is lossy */
	bool whole;		/* the dump has the stream to its end */
	char error[200];
};

/* 0; -ENOMEM; -EBADMSG: a dump has bytes that were not stored (line in error). To be freed. */
int align(struct alignment *alignment, const struct history *history,
	  const struct align_piece *pieces, size_t n);
void align_free(struct alignment *alignment);

#endif
