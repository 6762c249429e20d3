// SPDX-License-Identifier: GPL-2.0-only
/* One ETE packet as a line, in the words of K10.5.2. */
#include "dump/packets.h"

#include "common/tool.h"

#include <inttypes.h>
#include <stdio.h>

#define BYTES_IN_COLUMN 9	/* of the longest packet that is frequent */
#define BYTES_SHOWN 32

/* The names of the four long forms of an address, by bits 2:0 of a Target Address's header. */
static const char *long_form(unsigned int kind)
{
	static const char *const forms[8] = {
		[2] = "32-bit IS0", [3] = "32-bit IS1", [5] = "64-bit IS0", [6] = "64-bit IS1",
	};

	return forms[kind] ? forms[kind] : "";
}

/* How the header of an address packet encodes it. */
static void print_form(uint8_t header)
{
	if (header >= 0xb6 && header <= 0xb9)
		printf(" %s", long_form("\2\3\5\6"[header - 0xb6]));
	else if (header == 0xb4 || header == 0xb5)
		printf(" IS%d", header == 0xb5);
	else if (header == 0x95 || header == 0x96)
		printf(" IS%d", header == 0x96);
	else
		printf(" %s", long_form(header & 7));
}

static void print_address(const struct flowtap_ete_packet *packet)
{
	if (packet->address_unknown)
		printf(" address unknown");
	if (packet->has_address)
		printf(" address=0x%" PRIx64, packet->address.address);
}

static void print_exact(const struct flowtap_ete_packet *packet)
{
	printf(" entry=%u IS%u", packet->exact, packet->address.sub_isa);
}

static void print_context(const struct flowtap_ete_packet *packet)
{
	static const char *const security[] = {
		[FLOWTAP_NONSECURE] = "Non-secure", [FLOWTAP_SECURE] = "Secure",
		[FLOWTAP_REALM] = "Realm", [FLOWTAP_ROOT] = "Root",
	};
	const struct flowtap_ete_context *context = &packet->context;

	if (!packet->has_context)
		return;
	if (!packet->context_updated)
		printf(" no change:");
	printf(" EL%u %s AArch%d", context->exception_level, security[context->security],
	       context->sixty_four_bit ? 64 : 32);
	if (packet->has_vmid)
		printf(" VMID=0x%" PRIx32, context->vmid);
	if (packet->has_contextid)
		printf(" CONTEXTID=0x%" PRIx32, context->contextid);
}

/* bytes: of the packet; an ETMv4's may have two information bytes. */
static void print_exception(const uint8_t *bytes, const struct flowtap_ete_packet *packet,
			    bool m_profile)
{
	const uint8_t header = bytes[1] & 0x80 ? bytes[3] : bytes[2];

	printf(" TYPE=%u (%s) E=%u%u", packet->exception_type,
	       flowtap_ete_exception_name(m_profile, packet->exception_type),
	       packet->exception_e >> 1, packet->exception_e & 1);
	if (packet->fault_pending)
		printf(" fault_pending");
	if (packet->address_unknown)
		return;
	if (header <= 0x92 && header >= 0x90) {
		print_exact(packet);
		return;
	}
	if (header == 0x95 || header == 0x96)
		printf(" Short");
	print_form(header);
}

static void print_q(const uint8_t *bytes, const struct flowtap_ete_packet *packet)
{
	printf(" TYPE=0x%x", packet->q_type);
	if (packet->q_type <= 2)
		print_exact(packet);
	else if (packet->q_type == 5 || packet->q_type == 6)
		printf(" Short IS%d", packet->q_type == 6);
	else if (packet->has_address)
		printf(" %s", long_form(bytes[0] & 7));
	if (packet->q_type == 0xf)
		printf(" no count");
	else
		printf(" COUNT=%" PRIu32, packet->q_count);
}

static void print_trace_info(const struct flowtap_ete_packet *packet)
{
	printf(" PLCTL=0x%02x", packet->plctl);
	if (packet->plctl & 1)
		printf(" INFO=0x%02x", packet->info);
	if (packet->cc_enabled)
		printf(" cc_enabled cc_threshold=%" PRIu32, packet->cc_threshold);
	if (packet->in_transaction)
		printf(" in_transaction");
	if (packet->plctl & 4)
		printf(" SPEC=%" PRIu32, packet->spec);
}

static void print_cycles(const struct flowtap_ete_packet *packet)
{
	if (packet->has_cycles)
		printf(" cycles=%" PRIu64, packet->cycles);
	else if (packet->type != FLOWTAP_ETE_TIMESTAMP)
		printf(" cycles unknown");
}

static void print_speculation(const struct flowtap_ete_packet *packet)
{
	if (packet->commit)
		printf(" commit=%" PRIu32, packet->commit);
	if (packet->atom_count)
		putchar(' ');
	for (unsigned int i = 0; i < packet->atom_count; i++)
		putchar(packet->atoms >> i & 1 ? 'E' : 'N');
	if (packet->cancel)
		printf(" cancel=%" PRIu32, packet->cancel);
	if (packet->mispredict && packet->type != FLOWTAP_ETE_MISPREDICT)
		printf(" mispredict");
}

static void print_fields(const uint8_t *bytes, const struct flowtap_ete_packet *packet,
			 bool m_profile)
{
	print_speculation(packet);
	switch (packet->type) {
	case FLOWTAP_ETE_TRACE_INFO:
		print_trace_info(packet);
		break;
	case FLOWTAP_ETE_TIMESTAMP:
		printf(" timestamp=0x%" PRIx64, packet->timestamp);
		print_cycles(packet);
		break;
	case FLOWTAP_ETE_CYCLE_COUNT_1:
	case FLOWTAP_ETE_CYCLE_COUNT_2:
	case FLOWTAP_ETE_CYCLE_COUNT_3:
		print_cycles(packet);
		break;
	case FLOWTAP_ETE_EXCEPTION:
		print_exception(bytes, packet, m_profile);
		break;
	case FLOWTAP_ETE_INSTRUMENTATION:
		printf(" EL%u value=0x%" PRIx64, packet->instrumentation_el,
		       packet->instrumentation);
		break;
	case FLOWTAP_ETE_EVENT:
		for (unsigned int i = 0; i < 4; i++)
			if (packet->events >> i & 1)
				printf(" %u", i);
		break;
	case FLOWTAP_ETE_Q:
		print_q(bytes, packet);
		break;
	case FLOWTAP_ETE_TARGET_EXACT:
	case FLOWTAP_ETE_SOURCE_EXACT:
		print_exact(packet);
		break;
	case FLOWTAP_ETE_ADDRESS_CONTEXT:
	case FLOWTAP_ETE_TARGET_SHORT:
	case FLOWTAP_ETE_TARGET_LONG:
	case FLOWTAP_ETE_SOURCE_SHORT:
	case FLOWTAP_ETE_SOURCE_LONG:
		print_form(bytes[0]);
		break;
	case FLOWTAP_ETE_RESERVED:
		printf(": %s", packet->reason);
		return;
	default:
		break;
	}
	print_address(packet);
	print_context(packet);
}

static void print_begin(uint64_t offset, const uint8_t *bytes, size_t size, uint64_t length)
{
	size_t i, shown = size < BYTES_SHOWN ? size : BYTES_SHOWN;

	printf("0x%08" PRIx64 " ", offset);
	for (i = 0; i < shown; i++)
		printf(" %02x", bytes[i]);
	if (length > shown)
		printf(" ...");
	for (; i < BYTES_IN_COLUMN; i++)
		printf("   ");
	printf("  ");
}

void packet_print(uint64_t offset, const uint8_t *bytes, size_t size,
		  const struct flowtap_ete_packet *packet, bool m_profile)
{
	print_begin(offset, bytes, size, packet->size);
	fputs(flowtap_ete_packet_name(packet->type), stdout);
	print_fields(bytes, packet, m_profile);
	putchar('\n');
}

void packet_print_plain(uint64_t offset, const uint8_t *bytes, size_t size, uint64_t length,
			const char *name)
{
	print_begin(offset, bytes, size, length);
	printf("%s: %" PRIu64 " byte%s\n", name, length, plural(length));
}
