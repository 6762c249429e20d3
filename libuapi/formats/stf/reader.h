/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the parts of the STF reader share: records (reader.c), instructions (reader_group.c). */
#ifndef FLOWTAP_LIBUAPI_FORMATS_STF_READER_H
#define FLOWTAP_LIBUAPI_FORMATS_STF_READER_H

#include <flowtap/read.h>

#include "flow/flow_line.h"
#include "formats/stf/comments.h"
#include "formats/stf/source.h"
#include "formats/stf/layout.h"
#include "isa/learned_internal.h"

#define STF_MODE_UNKNOWN 0xff

/* What was read since the last opcode. */
struct stf_group {
	bool any;		/* a record that needs an opcode after it */
	bool forces, has_target, traps, interrupt, has_handler;
	bool explained;		/* somebody said why a PC is forced */
	bool taken;		/* the COMMENT that says it of a branch without target */
	uint64_t force_pc, target, handler;
	uint64_t cause;
	uint8_t before;		/* modes: what the instruction is executed in ... */
	uint8_t between;	/* ... and the second one that was said without a trap */
	uint8_t after;		/* ... after the trap */
};

struct stf_reader {
	struct flowtap_read *read;
	struct flowtap_learned *learned;
	struct flowtap_slot slot;	/* what known blocks are as records */
	struct flowtap_sink *sink;
	struct stf_source input;
	struct stf_widths widths;
	uint64_t record;		/* offset of the one that is looked at */
	uint64_t skip;			/* bytes of a long record that are still to be passed over */
	uint64_t progress;		/* bytes of the file at the last one */
	bool body;
	bool headless;			/* the header is lost: what comes after it cannot be read */
	bool another;			/* another trace begins here, of which nothing is read */
	bool has_mode;			/* the file says in which mode something is executed */
	bool identified;
	uint16_t isa_record, iem;
	const char *unsupported;	/* why no instruction of this trace can be read, or NULL */
	bool reported_unsupported;
	uint64_t first_unsupported;	/* offset of the first instruction of it */
	uint8_t isa;			/* enum flowtap_isa of the next opcode */
	uint64_t pc;
	bool pc_known;
	bool pc_lost;			/* that it is not was reported */
	bool call_held;			/* an ecall or ebreak that a comment may say more of */
	struct stf_group group;
	struct flowtap_context context;
	struct flowtap_context emitted;	/* the last one, if any_emitted */
	bool any_emitted;
	bool context_due;		/* `context` may not be `emitted` */
	uint8_t returned;		/* the mode that an xRET of Arm's led to, not in `context` yet */
	struct flowtap_line_parts parts;
	/* A part of a .zstf that begins later. */
	uint64_t before;		/* so many chunks before it reading begins; 0: at the beginning */
	bool silent;			/* no problem is reported: of what is before it, or again */
	uint64_t chunk;			/* that is read there */
	bool doubtful;			/* it is not as the index says: numbers may be others */
	bool again;			/* what was read does not say who executes it, and how; or is doubtful */
	bool process_known, mode_known;	/* by what was read since the header */
	bool holds; /* comments up to the next opcode are of what comes after it */
	struct stf_comments held; /* these comments' payloads */
};

/* Reports a problem at an offset. */
void flowtap_stf_problem(struct stf_reader *reader, uint64_t offset, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* These return 0, -ENOMEM or what the sink returned. */
int flowtap_stf_flush(struct stf_reader *reader);
/* Hands an element to the sink, after all that was executed before it. */
int flowtap_stf_emit(struct stf_reader *reader, const struct flowtap_element *element);
int flowtap_stf_gap(struct stf_reader *reader, enum flowtap_gap_reason reason, uint64_t address,
		    const char *detail);
/* An opcode ends the group. */
int flowtap_stf_opcode(struct stf_reader *reader, const uint8_t *opcode, size_t size);
/* As many known blocks as follow each other from input->at on. */
int flowtap_stf_run(struct stf_reader *reader);

static inline void stf_new_group(struct stf_group *group)
{
	*group = (struct stf_group){ .before = STF_MODE_UNKNOWN, .between = STF_MODE_UNKNOWN,
				     .after = STF_MODE_UNKNOWN };
}

/* Only FORCE_PC can say where the trace goes on; to go on without is reported once. */
static inline void stf_invalidate_pc(struct stf_reader *reader)
{
	reader->pc_known = false;
	reader->pc_lost = false;
}

#endif /* FLOWTAP_LIBUAPI_FORMATS_STF_READER_H */
