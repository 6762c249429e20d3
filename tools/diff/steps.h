/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A trace step by step: a thread reads the file and fills a queue, whoever asks takes the next
 * step. At most STEPS_BATCHES times STEPS_BATCH of them wait.
 */
#ifndef FLOWTAP_TOOLS_DIFF_STEPS_H
#define FLOWTAP_TOOLS_DIFF_STEPS_H

#include "common/tracefile.h"

#include <flowtap/flow.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STEPS_BATCH 4096U
#define STEPS_BATCHES 4U

enum step_kind {
	STEP_INSTRUCTION,
	STEP_CONTEXT,		/* from here on, other than before */
	STEP_GAP,
	STEP_EXCEPTION,
};

struct step {
	uint8_t kind;
	uint8_t isa;			/* of an instruction */
	uint8_t size;
	bool damaged;			/* damage of the file is here, or just before it */
	uint32_t opcode;		/* its bytes, little endian */
	union {
		uint64_t address;
		struct flowtap_context context;
		struct {
			enum flowtap_gap_reason reason;
		} gap;
		struct flowtap_exception exception;
	};
};

struct steps {
	struct flowtap_sink sink;	/* first: the reader's */
	struct tracefile *file;
	uint64_t holds;			/* FORMAT_HOLDS: other elements are not handed on, and zeros in */
					/* contexts stand for what is not compared */
	struct flowtap_context context;	/* the newest one */
	struct flowtap_context pending;
	bool has_pending;

	pthread_t thread;
	bool started;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct step *batches[STEPS_BATCHES];
	size_t sizes[STEPS_BATCHES];
	uint64_t filled;		/* batches, ever */
	uint64_t emptied;
	bool ended;			/* nothing comes any more */
	bool stopped;			/* nobody asks any more */
	int error;			/* of the reader */
	/* The reader's thread. */
	size_t at_fill;
	bool damaged;			/* since the last step */
	uint64_t problems;		/* of which there was a gap already */
	/* Whoever asks. */
	size_t at;
};

/* Whether they say the same of what is compared. */
bool step_same_context(const struct flowtap_context *a, const struct flowtap_context *b);

/* file: open, borrowed. 0 or -errno; in any case steps_end is to be called. */
int steps_begin(struct steps *steps, struct tracefile *file, uint64_t holds);
/* The next one, valid until the next call; NULL: the end, or steps->error. */
const struct step *steps_next(struct steps *steps);
/*
 * Whether the file is damaged at `step`, the last one of steps_next, or, where that is NULL, at its
 * end.
 */
bool steps_damaged(const struct steps *steps, const struct step *step);
/* Stops the thread, wherever it is. */
void steps_end(struct steps *steps);

#endif /* FLOWTAP_TOOLS_DIFF_STEPS_H */
