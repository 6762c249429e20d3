/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the parts of the STF writer share: blocks (writer.c), elements (writer_elements.c). */
#ifndef FLOWTAP_LIBUAPI_FORMATS_STF_WRITER_H
#define FLOWTAP_LIBUAPI_FORMATS_STF_WRITER_H

#include <flowtap/block.h>
#include <flowtap/stf.h>

#include "flow/flow_line.h"
#include "formats/stf/block_render.h"
#include "formats/stf/output.h"

#define STF_MODE_EVENT 0xff	/* written.mode: an EVENT has it, no COMMENT */

/* What has to come before the next block. */
enum {
	PENDING_HEADER = 1 << 0,
	PENDING_PROCESS = 1 << 1,
	PENDING_FORCE = 1 << 2,
	PENDING_MODE = 1 << 3,
	PENDING_LAST = 1 << 4,	    /* `last` is not written yet */
	PENDING_CONTEXT = 1 << 5,   /* `context` may not be `written` */
	PENDING_COMMENTS = 1 << 6,  /* the output may hold some back */
	PENDING_EXPLAINED = 1 << 7, /* why there will be a FORCE_PC is in the trace */
};

struct flowtap_stf {
	struct flowtap_sink sink;
	uint32_t pending;		/* PENDING_, and above STF_MARK_ISA the last block's ISA */
	bool decided;			/* whose ISA it is: RISC-V's or Arm's */
	uint8_t mode;			/* that a reader believes in */
	struct flowtap_slot slot;
	struct stf_output out;
	struct flowtap_stf_counts counts;
	struct flowtap_context context;
	struct flowtap_context written;	/* the last one that is in the trace */
	struct stf_last last;		/* what is said next may belong to it */
	uint8_t generator[4];
	char *generator_comment;
	char line[FLOWTAP_LINE_CAPACITY];
};

static inline uint8_t stf_isa(const struct flowtap_stf *stf)
{
	return stf->pending >> STF_MARK_ISA;
}

static inline void stf_set_isa(struct flowtap_stf *stf, uint8_t isa)
{
	stf->pending = (stf->pending & STF_MARK_TARGET) | (uint32_t)isa << STF_MARK_ISA;
	stf->decided = true;
}

/* Whether a trace can have this: all of it is RISC-V's, or Arm's. */
static inline bool stf_may_have(const struct flowtap_stf *stf, unsigned int isa)
{
	return isa <= FLOWTAP_ISA_T32 &&
	       (!stf->decided || isa_is_arm(isa) == isa_is_arm(stf_isa(stf)));
}

/* The instruction that was held back, with what was said of it meanwhile. */
void flowtap_stf_write_last(struct flowtap_stf *stf);
/*
 * Whether all is the same that no record of an Arm trace can say. Whether there is a CPU shows
 * where there is no pid.
 */
bool flowtap_stf_same_context(const struct flowtap_context *a, const struct flowtap_context *b);
/* `context` as a COMMENT in `line`: its size. It is what was said, then. */
size_t flowtap_stf_context_line(struct flowtap_stf *stf);
/* The sink's element(). */
int flowtap_stf_element(struct flowtap_sink *sink, const struct flowtap_element *element);

#endif /* FLOWTAP_LIBUAPI_FORMATS_STF_WRITER_H */
