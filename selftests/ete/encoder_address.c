// SPDX-License-Identifier: GPL-2.0-or-later
/* Packets with addresses and contexts (K10.5.2.11 to .14): what is legal, and the bytes. */
#include "encoder_internal.h"

static bool same(struct encoder_address a, struct encoder_address b)
{
	return a.address == b.address && a.is1 == b.is1;
}

static void remember(struct encoder *encoder, struct encoder_address address)
{
	encoder->history[2] = encoder->history[1];
	encoder->history[1] = encoder->history[0];
	encoder->history[0] = address;
	encoder->addresses++;
}

static unsigned int legal_forms(const struct encoder *encoder, struct encoder_address address)
{
	uint64_t changed = address.address ^ encoder->history[0].address;
	unsigned int shift = address.is1 ? 1 : 2;
	/* The M profile's addresses have 32 bits. */
	unsigned int forms = encoder->options.m_profile ? 0 : FORM(FORM_LONG64);

	for (unsigned int i = 0; i < 3; i++)
		if (same(address, encoder->history[i]))
			forms |= FORM(FORM_EXACT_0 + i);
	if (!(changed >> 32))
		forms |= FORM(FORM_LONG32);
	if (!(changed >> (15 + shift)))
		forms |= FORM(FORM_SHORT_LONGER);
	if (!(changed >> (7 + shift)))
		forms |= FORM(FORM_SHORT);
	return forms;
}

/* One of `forms`, which are in the order of their length. */
static enum address_form choose(struct encoder *encoder, struct encoder_address address,
				unsigned int allowed)
{
	unsigned int forms = legal_forms(encoder, address) & allowed;
	unsigned int form = __builtin_ctz(forms);

	if (encoder->options.shortest)
		return form;
	/* Shorter ones more often, as else nothing but long ones would be seen. */
	while (forms >> (form + 1) && rng_one_in(&encoder->rng, 4)) {
		form++;
		while (!(forms >> form & 1))
			form++;
	}
	return form;
}

static void put(struct encoder *encoder, uint64_t value, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes; i++)
		packet_byte(encoder, value >> 8 * i);
}

/* The bytes of the form after the header, and the history. source: K10.5.2.12's have 2 x 7 bits */
/* in IS0 as well. */
static void address_bytes(struct encoder *encoder, struct encoder_address address,
			  enum address_form form)
{
	unsigned int shift = address.is1 ? 1 : 2;
	uint64_t a = address.address >> shift;

	switch (form) {
	case FORM_SHORT:
		packet_byte(encoder, a & 0x7f);
		break;
	case FORM_SHORT_LONGER:
		packet_byte(encoder, 0x80 | (a & 0x7f));
		packet_byte(encoder, a >> 7);
		break;
	case FORM_LONG32:
	case FORM_LONG64:
		packet_byte(encoder, a & 0x7f);
		if (!address.is1)
			packet_byte(encoder, a >> 7 & 0x7f);
		put(encoder, address.address >> (address.is1 ? 8 : 16),
		    (form == FORM_LONG64 ? 8 : 4) - (address.is1 ? 1 : 2));
		break;
	default:
		break;
	}
	remember(encoder, address);
}

static uint8_t target_header(enum address_form form, bool is1)
{
	switch (form) {
	case FORM_SHORT:
	case FORM_SHORT_LONGER:
		return 0x95 + is1;
	case FORM_LONG32:
		return 0x9a + is1;
	case FORM_LONG64:
		return 0x9d + is1;
	default:
		return 0x90 + form;
	}
}

/* Of the first of a group as in enum encoder_packet: exact 0 to 2, short, long 32, long 64. */
static enum encoder_packet counted(enum encoder_packet first, enum address_form form, bool is1)
{
	switch (form) {
	case FORM_SHORT:
	case FORM_SHORT_LONGER:
		return first + 3 + is1;
	case FORM_LONG32:
		return first + 5 + is1;
	case FORM_LONG64:
		return first + 7 + is1;
	default:
		return first + form;
	}
}

void packet_address(struct encoder *encoder, struct encoder_address address)
{
	enum address_form form = choose(encoder, address, EXACTS | SHORTS | LONGS);

	packet_begin(encoder, counted(PACKET_EXACT_0, form, address.is1),
		     target_header(form, address.is1));
	address_bytes(encoder, address, form);
}

/* K10.5.2.14.9; NSE, bit 3, is of FEAT_RME: NSE:NS 0b10 is Root, 0b11 Realm. */
static void context_bytes(struct encoder *encoder)
{
	const struct trace_context *context = &encoder->context;
	bool any = (!encoder->options.shortest && rng_one_in(&encoder->rng, 4)) ||
		   (encoder->options.classic && !encoder->told_ids);
	bool v = encoder->options.vmid && (any || context->vmid != encoder->told.vmid);
	bool c = encoder->options.contextid &&
		 (any || context->contextid != encoder->told.contextid);
	bool ns = context->security == FLOWTAP_NONSECURE || context->security == FLOWTAP_REALM;
	bool nse = context->security == FLOWTAP_ROOT || context->security == FLOWTAP_REALM;

	packet_byte(encoder, context->el | nse << 3 | context->sf << 4 | ns << 5 | v << 6 | c << 7);
	if (v)
		put(encoder, context->vmid, encoder->options.etm4 ? encoder->options.vmid_size : 4);
	if (c)
		put(encoder, context->contextid, 4);
	encoder->counts[v && c ? PACKET_CONTEXT_BOTH : v ? PACKET_CONTEXT_VMID :
			c ? PACKET_CONTEXT_ID : PACKET_CONTEXT]++;
	encoder->told = *context;
	encoder->told_ids = true;
}

static bool context_same(const struct encoder *encoder)
{
	const struct trace_context *a = &encoder->context, *b = &encoder->told;

	return a->el == b->el && a->security == b->security && a->sf == b->sf &&
	       (!encoder->options.vmid || a->vmid == b->vmid) &&
	       (!encoder->options.contextid || a->contextid == b->contextid);
}

void packet_context(struct encoder *encoder)
{
	if (context_same(encoder) &&
	    (encoder->options.shortest || rng_one_in(&encoder->rng, 2))) {
		packet_begin(encoder, PACKET_CONTEXT_SAME, 0x80);
		return;
	}
	packet_begin(encoder, PACKET_CONTEXT, 0x81);
	encoder->counts[PACKET_CONTEXT]--;
	context_bytes(encoder);
}

void packet_address_context(struct encoder *encoder, struct encoder_address address)
{
	enum address_form form = choose(encoder, address, LONGS);
	bool wide = form == FORM_LONG64;

	packet_begin(encoder, PACKET_LONG32_0_CONTEXT + 2 * wide + address.is1,
		     (wide ? 0x85 : 0x82) + address.is1);
	address_bytes(encoder, address, form);
	context_bytes(encoder);
}

/* K10.5.2.12; short IS1 is 0b10110101, as K10.5.2.2.1 has it (its own text says otherwise). */
void packet_source(struct encoder *encoder, struct encoder_address address)
{
	enum address_form form = choose(encoder, address, EXACTS | SHORTS | LONGS);
	uint8_t header;

	switch (form) {
	case FORM_SHORT:
	case FORM_SHORT_LONGER:
		header = 0xb4 + address.is1;
		break;
	case FORM_LONG32:
		header = 0xb6 + address.is1;
		break;
	case FORM_LONG64:
		header = 0xb8 + address.is1;
		break;
	default:
		header = 0xb0 + form;
	}
	packet_begin(encoder, counted(PACKET_SOURCE_EXACT_0, form, address.is1), header);
	address_bytes(encoder, address, form);
}

bool packet_q(struct encoder *encoder, uint32_t count, struct encoder_address address)
{
	unsigned int forms = legal_forms(encoder, address) & ~FORM(FORM_LONG64);
	enum address_form form;

	if (!forms || rng_one_in(&encoder->rng, 4)) {
		if (rng_one_in(&encoder->rng, 2)) {
			packet_begin(encoder, PACKET_Q_F, 0xaf);
		} else {
			packet_begin(encoder, PACKET_Q_C, 0xac);
			packet_uleb(encoder, count);
		}
		return false;
	}
	form = choose(encoder, address, forms);
	if (FORM(form) & SHORTS)
		packet_begin(encoder, PACKET_Q_5 + address.is1, 0xa5 + address.is1);
	else if (form == FORM_LONG32)
		packet_begin(encoder, PACKET_Q_A + address.is1, 0xaa + address.is1);
	else
		packet_begin(encoder, PACKET_Q_0 + form, 0xa0 + form);
	address_bytes(encoder, address, form);
	packet_uleb(encoder, count);
	return true;
}

/*
 * K10.5.2.13: E 0b01 or, with `own`, 0b10 in bits 6 and 0 of the second byte. An ETMv4's may have
 * one more, for bits 9:5 of the type, and of the M profile for a fault that is pending.
 */
void packet_exception(struct encoder *encoder, unsigned int number, bool own, bool context,
		      struct encoder_address address)
{
	enum address_form form = choose(encoder, address, context ? LONGS :
					EXACTS | SHORTS | LONGS);
	bool longer = number >> 5 || (encoder->options.etm4 && !encoder->options.shortest &&
				      rng_one_in(&encoder->rng, 4));
	bool pending = longer && encoder->options.m_profile && rng_one_in(&encoder->rng, 4);

	packet_begin(encoder, own ? PACKET_EXCEPTION_ADDRESS : PACKET_EXCEPTION, 0x06);
	packet_byte(encoder, (number & 0x1f) << 1 | (own ? 0x40 : 0x01) | longer << 7);
	if (longer)
		packet_byte(encoder, number >> 5 | pending << 5);
	encoder->counts[PACKET_EXCEPTION_PENDING] += pending;
	encoder->counts[PACKET_EXCEPTION_LONGER] += longer;
	if (context) {
		packet_byte(encoder, (form == FORM_LONG64 ? 0x85 : 0x82) + address.is1);
		encoder->counts[PACKET_EXCEPTION_CONTEXT]++;
	} else {
		packet_byte(encoder, target_header(form, address.is1));
	}
	encoder->counts[form == FORM_LONG64 ? PACKET_EXCEPTION_LONG64 :
			form == FORM_LONG32 ? PACKET_EXCEPTION_LONG32 :
			FORM(form) & SHORTS ? PACKET_EXCEPTION_SHORT : PACKET_EXCEPTION_EXACT]++;
	address_bytes(encoder, address, form);
	if (context)
		context_bytes(encoder);
	encoder->exceptions |= 1ULL << (number < 32 ? number : 32);
}

/* PE reset, transaction failure: 0x70 stands for the unknown address (K10.5.2.13.1). */
void packet_unknown_exception(struct encoder *encoder, enum encoder_packet packet,
			      unsigned int number)
{
	packet_begin(encoder, packet, 0x06);
	packet_byte(encoder, number << 1 | 0x01);
	packet_byte(encoder, 0x70);
	remember(encoder, (struct encoder_address){ 0 });
	encoder->exceptions |= 1ULL << number;
}
