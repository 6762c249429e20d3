/* SPDX-License-Identifier: GPL-2.0-only */
/* ETE packets as lines of text, whole and in pieces. */
#ifndef FLOWTAP_SELFTESTS_SUPPORT_ETE_PACKET_H
#define FLOWTAP_SELFTESTS_SUPPORT_ETE_PACKET_H

#include <flowtap/ete_packet.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/hex.h"

/* In hexadecimal: an Alignment Sync, a Trace Info that says nothing. */
#define SYNC "0000000000000000000000 80"
#define INFO "0100"
/* ... as they are printed. */
#define SYNCED "12 Alignment Sync\n"
#define INFORMED "2 Trace Info PLCTL 0 INFO 0 cc 0 transaction 0 spec 0 threshold 0\n"

/* Text that grows. What may come in parts is added up until the next packet. */
struct packet_text {
	char *text;
	size_t size, capacity;
	size_t parts;
	enum flowtap_ete_packet_type type;	/* of the parts */
};

static void packet_text_add(struct packet_text *to, const char *format, ...)
{
	va_list arguments;

	if (to->capacity - to->size < 256) {
		to->capacity = to->capacity * 2 + 1024;
		to->text = realloc(to->text, to->capacity);
		if (!to->text)
			abort();
	}
	va_start(arguments, format);
	to->size += (size_t)vsnprintf(to->text + to->size, 256, format, arguments);
	va_end(arguments);
}

static void packet_text_parts(struct packet_text *to)
{
	if (to->parts)
		packet_text_add(to, "%zu %s\n", to->parts, flowtap_ete_packet_name(to->type));
	to->parts = 0;
}

static void packet_text_context(struct packet_text *to, const struct flowtap_ete_packet *packet)
{
	static const char *const security[] = { "NS", "S", "Realm", "Root" };
	const struct flowtap_ete_context *context = &packet->context;

	packet_text_add(to, " %s EL%u %s %s", packet->context_updated ? "context" : "same",
			context->exception_level, security[context->security],
			context->sixty_four_bit ? "64" : "32");
	packet_text_add(to, " %svmid %x %scontextid %x", packet->has_vmid ? "new " : "",
			context->vmid, packet->has_contextid ? "new " : "", context->contextid);
}

static void packet_text_type(struct packet_text *to, const struct flowtap_ete_packet *packet)
{
	switch (packet->type) {
	case FLOWTAP_ETE_EXCEPTION:
		packet_text_add(to, " type %u E %u", packet->exception_type, packet->exception_e);
		break;
	case FLOWTAP_ETE_TIMESTAMP:
		packet_text_add(to, " time %" PRIx64, packet->timestamp);
		break;
	case FLOWTAP_ETE_TRACE_INFO:
		packet_text_add(to, " PLCTL %x INFO %x cc %d transaction %d spec %u threshold %u",
				packet->plctl, packet->info, packet->cc_enabled,
				packet->in_transaction, packet->spec, packet->cc_threshold);
		break;
	case FLOWTAP_ETE_Q:
		packet_text_add(to, " TYPE %x count %u", packet->q_type, packet->q_count);
		break;
	case FLOWTAP_ETE_EVENT:
		packet_text_add(to, " events %x", packet->events);
		break;
	case FLOWTAP_ETE_INSTRUMENTATION:
		packet_text_add(to, " EL%u %" PRIx64, packet->instrumentation_el,
				packet->instrumentation);
		break;
	case FLOWTAP_ETE_RESERVED:
		packet_text_add(to, " (%s)", packet->reason);
		break;
	default:
		break;
	}
}

/* "SIZE NAME FIELDS...\n" */
static void packet_text_packet(struct packet_text *to, const struct flowtap_ete_packet *packet)
{
	if (to->type != packet->type)
		packet_text_parts(to);
	to->type = packet->type;
	if (packet->type == FLOWTAP_ETE_NOT_SYNCED || packet->type == FLOWTAP_ETE_ALIGNMENT_ZEROS) {
		to->parts += packet->size;
		return;
	}
	packet_text_add(to, "%u %s", packet->size, flowtap_ete_packet_name(packet->type));
	packet_text_type(to, packet);
	if (packet->commit)
		packet_text_add(to, " commit %u", packet->commit);
	if (packet->atom_count)
		packet_text_add(to, " ");
	for (unsigned int i = 0; i < packet->atom_count; i++)
		packet_text_add(to, "%c", packet->atoms >> i & 1 ? 'E' : 'N');
	if (packet->cancel)
		packet_text_add(to, " cancel %u", packet->cancel);
	if (packet->mispredict)
		packet_text_add(to, " mispredict");
	if (packet->has_address)
		packet_text_add(to, " %" PRIx64 " IS%u", packet->address.address,
				packet->address.sub_isa);
	if (packet->address_unknown)
		packet_text_add(to, " unknown");
	if (packet->has_context)
		packet_text_context(to, packet);
	if (packet->has_cycles)
		packet_text_add(to, " cycles %" PRIu64, packet->cycles);
	packet_text_add(to, "\n");
}

/*
 * All packets of bytes[*at..size). Stops where the rest is INCOMPLETE or nothing; false if the
 * parser does what its header says that it does not.
 */
static bool packet_text_parse(struct packet_text *to, struct flowtap_ete_parser *parser,
			      const uint8_t *bytes, size_t size, size_t *at)
{
	while (*at < size) {
		const struct flowtap_ete_parser before = *parser;
		struct flowtap_ete_packet packet;
		size_t used;

		/* What is not set is not read: a value that nobody expects. */
		memset(&packet, 0xa5, sizeof(packet));
		used = flowtap_ete_parse(parser, bytes + *at, size - *at, &packet);
		if (used > size - *at || used != packet.size)
			return false;
		if (packet.type == FLOWTAP_ETE_INCOMPLETE)
			return !used && size - *at < FLOWTAP_ETE_PACKET_MAX &&
			       !memcmp(&before, parser, sizeof(before));
		if (!used)
			return false;
		packet_text_packet(to, &packet);
		*at += used;
	}
	return true;
}

/* The packets of bytes written down, in one piece, in a buffer that ends where they do. To be freed. */
__attribute__((unused))
static char *packet_text_of(const struct flowtap_ete_config *config, const char *text)
{
	struct packet_text out = { .text = NULL };
	struct flowtap_ete_parser parser;
	struct hex hex = { .size = 0 };
	uint8_t *bytes;
	size_t at = 0;

	hex_add(&hex, text);
	bytes = malloc(hex.size);
	memcpy(bytes, hex.bytes, hex.size);
	flowtap_ete_parser_init(&parser, config);
	if (!packet_text_parse(&out, &parser, bytes, hex.size, &at))
		packet_text_add(&out, "the parser breaks its contract\n");
	packet_text_parts(&out);
	if (at < hex.size)
		packet_text_add(&out, "%zu incomplete\n", hex.size - at);
	free(bytes);
	return out.text;
}

#endif /* FLOWTAP_SELFTESTS_SUPPORT_ETE_PACKET_H */
