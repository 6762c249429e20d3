/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packets as bytes: what the encoder's two files share. */
#ifndef FLOWTAP_SELFTESTS_ETE_ENCODER_INTERNAL_H
#define FLOWTAP_SELFTESTS_ETE_ENCODER_INTERNAL_H

#include "encoder.h"

/* Forms of an address: which of them are legal for it depends on the history. */
enum address_form {
	FORM_EXACT_0,
	FORM_EXACT_1,
	FORM_EXACT_2,
	FORM_SHORT,
	FORM_SHORT_LONGER,	/* both bytes, where one would do */
	FORM_LONG32,
	FORM_LONG64,
	FORMS
};

/* Sets of forms. */
#define FORM(f)		(1U << (f))
#define EXACTS		(FORM(FORM_EXACT_0) | FORM(FORM_EXACT_1) | FORM(FORM_EXACT_2))
#define SHORTS		(FORM(FORM_SHORT) | FORM(FORM_SHORT_LONGER))
#define LONGS		(FORM(FORM_LONG32) | FORM(FORM_LONG64))

void packet_byte(struct encoder *encoder, uint8_t byte);
/* Begins a packet that is not of atoms: those that wait come first. */
void packet_begin(struct encoder *encoder, enum encoder_packet packet, uint8_t header);
void packet_uleb(struct encoder *encoder, uint64_t value);
/* All atoms that wait but the last `but`. */
void packet_atoms(struct encoder *encoder, unsigned int but);
/* Adds one, written later. */
void packet_atom(struct encoder *encoder, bool taken);
void packet_sync(struct encoder *encoder, uint64_t depth);
void packet_timestamp(struct encoder *encoder, uint64_t ticks, bool with_cycles);
/* Target address, with context or not, or a context alone. */
void packet_address(struct encoder *encoder, struct encoder_address address);
void packet_address_context(struct encoder *encoder, struct encoder_address address);
void packet_context(struct encoder *encoder);
void packet_source(struct encoder *encoder, struct encoder_address address);
/* The address bytes after a Q header; true where the packet tells the address. */
bool packet_q(struct encoder *encoder, uint32_t count, struct encoder_address address);
/* own: E 0b10, the address is a target as well, perhaps with the context. */
void packet_exception(struct encoder *encoder, unsigned int number, bool own, bool context,
		      struct encoder_address address);
void packet_unknown_exception(struct encoder *encoder, enum encoder_packet packet,
			      unsigned int number);
void packet_commit(struct encoder *encoder, uint64_t count);
/* count 0: no commit in it. */
void packet_cycles(struct encoder *encoder, uint64_t commit);
void packet_cancel(struct encoder *encoder, uint64_t count, bool mispredict);
void packet_mispredict(struct encoder *encoder);

/* Elements. Trace On, context and address, as far as the analyzer does not have them. */
void encode_tell(struct encoder *encoder);
void encode_tell_trace_on(struct encoder *encoder);
bool encode_context_due(const struct encoder *encoder);
/* The target is on top of the trace unit's return stack: no need to tell it. */
bool encode_may_follow_stack(const struct encoder *encoder);
struct encoder_address encode_here(const struct encoder *encoder);
/* The first n instructions of the run are told; the last of them is the P0 instruction. */
void encode_cover(struct encoder *encoder, size_t n);
/* A P0 element was told. */
void encode_element(struct encoder *encoder);
/* Branches that were not taken and have no atom yet get it. */
void encode_flush_held(struct encoder *encoder);
/* Now and then commits, counts cycles; after a P0 element. */
void encode_resolve(struct encoder *encoder);
/* What the PE is in from here on: a copy, as the trace unit can tell it. */
void encode_set_context(struct encoder *encoder, const struct trace_context *context);

#endif
