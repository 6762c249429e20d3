/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the opcodes of an STF can do, for its check. */
#ifndef FLOWTAP_LIBUAPI_CHECK_STF_OPCODE_H
#define FLOWTAP_LIBUAPI_CHECK_STF_OPCODE_H

#include <flowtap/flow.h>

/* What the trace has said of the opcodes to come. */
struct stf_encoding {
	uint16_t isa;		/* of the ISA record */
	uint16_t iem;		/* of INST_IEM */
	enum flowtap_isa arm;	/* Arm, by the last comment that named it; RV64: none did */
};

struct stf_ability {
	bool known;
	bool branches;		/* it may have a target ... */
	bool must;		/* ... and has one, unless it traps */
	bool direct;		/* ... which is this one */
	uint64_t target;
	bool returns;		/* from a trap */
	bool nowhere;		/* without a target nobody knows where it goes */
};

/* opcode: the `size` (2 or 4) bytes of its record. */
struct stf_ability flowtap_stf_ability(const struct stf_encoding *encoding, uint64_t pc,
				       const uint8_t *opcode, size_t size);
/* Whether an opcode of this size begins like that; where it is not known, yes. */
bool flowtap_stf_right_length(const struct stf_encoding *encoding, const uint8_t *opcode,
			      size_t size);

#endif /* FLOWTAP_LIBUAPI_CHECK_STF_OPCODE_H */
