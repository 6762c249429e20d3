// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* What each packet stands for: elements in their order, and commits and cancels (K10.5.2). */
#include "ete/internal.h"

#define IDR0_COMMTRANS (1U << 30)

void flowtap_ete_elements_init(struct ete_elements *elements,
			       const struct flowtap_ete_config *config)
{
	*elements = (struct ete_elements){ .start_is_p0 = !(config->idr0 & IDR0_COMMTRANS) };
}

static int push_kind(struct flowtap_ete *ete, enum ete_kind kind)
{
	const struct ete_entry entry = { .kind = kind };

	if (kind == ETE_TRANSACTION_COMMIT || kind == ETE_TRANSACTION_FAIL)
		ete_set_decoded_in_transaction(&ete->transaction, false);
	return flowtap_ete_push(ete, &entry);
}

/*
 * A Context element has all values, those that its packet leaves out as they were decoded before
 * (K10.5.2.14.10): of a VMID or Context ID from the first packet after a Trace Info that has it.
 */
static int push_context(struct flowtap_ete *ete, const struct flowtap_ete_packet *packet)
{
	struct ete_entry entry = {
		.kind = ETE_CONTEXT,
		.repeated = !packet->context_updated,
	};

	if (!packet->has_context)
		return 0;
	ete->elements.seen_vmid |= packet->has_vmid;
	ete->elements.seen_contextid |= packet->has_contextid;
	entry.context.packet = packet->context;
	entry.context.has_vmid = ete->elements.seen_vmid;
	entry.context.has_contextid = ete->elements.seen_contextid;
	return flowtap_ete_push(ete, &entry);
}

static int push_address(struct flowtap_ete *ete, const struct flowtap_ete_packet *packet)
{
	const struct ete_entry entry = {
		.kind = ETE_ADDRESS,
		.sub_isa = packet->address.sub_isa,
		.value = packet->address.address,
	};

	return packet->has_address ? flowtap_ete_push(ete, &entry) : 0;
}

/* The address first: the context's ISA follows from it. */
static int push_address_context(struct flowtap_ete *ete, const struct flowtap_ete_packet *packet)
{
	int status = push_address(ete, packet);

	return status ? status : push_context(ete, packet);
}

static int target(struct flowtap_ete *ete, const struct flowtap_ete_packet *packet)
{
	/* A value that returns is no target of what is held: speculation.c passes it over. */
	if (!ete_is_direct(&ete->held) || ete_is_return_value(ete, packet->address.address))
		return push_address(ete, packet);
	ete_set_next_address(&ete->held, packet->address.address, packet->address.sub_isa);
	return 0;
}

/* The return address of the exception is one, and says up to where instructions were executed. */
static bool has_return_address(const struct flowtap_ete *ete,
			       const struct flowtap_ete_packet *packet)
{
	return packet->has_address && !packet->address_unknown && !ete_is_reset(ete, packet->exception_type) &&
	       !ete_is_return_value(ete, packet->address.address);
}

/* What only an ETE's exceptions say of transactions; *done: it is no exception besides. */
static int fail_transaction(struct flowtap_ete *ete, const struct flowtap_ete_packet *packet,
			    bool *done)
{
	*done = false;
	if (flowtap_ete_is_etm4(&ete->config))
		return 0;
	*done = packet->exception_type == FLOWTAP_ETE_TRANSACTION_FAILURE;
	if (*done || (packet->exception_type == FLOWTAP_ETE_PE_RESET && packet->exception_e == 2))
		return push_kind(ete, ETE_TRANSACTION_FAIL);
	return 0;
}

/*
 * K10.5.2.13.2. E 0b10: the address is also that of the instruction that would have been executed
 * next, where the exception came before any other. A context is pushed in either case: the
 * pseudocode leaves it out for 0b01, and then no element would ever have it.
 */
static int exception(struct flowtap_ete *ete, const struct flowtap_ete_packet *packet)
{
	const struct ete_entry entry = {
		.kind = ETE_EXCEPTION,
		.count = 1,
		.number = packet->exception_type,
		.known = has_return_address(ete, packet),
		.repeated = packet->exception_e == 2 && !packet->address_unknown &&
			    !packet->has_context,
		.value = packet->address.address,
	};
	bool done = false;
	int status;

	if (packet->exception_e == 2 && !packet->address_unknown)
		status = push_address_context(ete, packet);
	else
		status = push_context(ete, packet);
	if (!status)
		status = fail_transaction(ete, packet, &done);
	return status || done ? status : flowtap_ete_push(ete, &entry);
}

/*
 * An exception return, or a return from a function that another security state called. The one is a
 * P0 element on Armv6-M and Armv7-M, the other on Armv8-M, of which trace units are of 4.2 and later.
 * That counts where elements are speculative.
 */
static int push_return(struct flowtap_ete *ete, enum ete_kind kind)
{
	const bool armv8 = ete->stream.parser.etm4 >= 0x42;
	const struct ete_entry entry = {
		.kind = kind,
		.count = ete->config.m_profile && armv8 == (kind == ETE_FUNCTION_RETURN) &&
			 ete_speculates(&ete->speculation),
	};

	return flowtap_ete_push(ete, &entry);
}

static int source(struct flowtap_ete *ete, const struct flowtap_ete_packet *packet)
{
	const struct ete_entry entry = {
		.kind = ETE_SOURCE,
		.count = 1,
		.taken = true,
		.sub_isa = packet->address.sub_isa,
		.value = packet->address.address,
	};

	return flowtap_ete_push(ete, &entry);
}

static int q(struct flowtap_ete *ete, const struct flowtap_ete_packet *packet)
{
	const struct ete_entry entry = { .kind = ETE_Q, .count = 1, .value = packet->q_count };
	int status = flowtap_ete_push(ete, &entry);

	return status ? status : push_address(ete, packet);
}

struct ete_entry flowtap_ete_time_or_event(const struct flowtap_ete_packet *packet)
{
	struct ete_entry entry = { .kind = ETE_CYCLES };
	uint64_t cycles = packet->has_cycles ? packet->cycles : 0;

	if (packet->type == FLOWTAP_ETE_EVENT) {
		entry.kind = ETE_EVENT;
		entry.number = packet->events;
		return entry;
	}
	entry.known = packet->has_cycles;
	entry.value = cycles;
	if (packet->type == FLOWTAP_ETE_TIMESTAMP) {
		entry.kind = ETE_TIMESTAMP;
		entry.value = packet->timestamp;
		entry.cycles = cycles;
	}
	return entry;
}

static int push_time_or_event(struct flowtap_ete *ete, const struct flowtap_ete_packet *packet)
{
	const struct ete_entry entry = flowtap_ete_time_or_event(packet);

	return flowtap_ete_push(ete, &entry);
}

static int instrumentation(struct flowtap_ete *ete, const struct flowtap_ete_packet *packet)
{
	const struct ete_entry entry = {
		.kind = ETE_INSTRUMENTATION,
		.number = packet->instrumentation_el,
		.value = packet->instrumentation,
	};

	return flowtap_ete_push(ete, &entry);
}

/* A transaction began or ended where the trace is damaged. */
static int align_transaction(struct flowtap_ete *ete, const struct flowtap_ete_packet *packet)
{
	int status = flowtap_ete_cancel_all(ete);

	flowtap_ete_transaction_drop(ete);
	ete_set_unseen(&ete->speculation, packet->spec);
	if (!status)
		status = flowtap_ete_emit_gap(ete, FLOWTAP_GAP_UNRESOLVED, 0,
					      "the %s of a transaction before a Trace Info was "
					      "lost",
					      packet->in_transaction ? "begin" : "end");
	return status;
}

/*
 * K10.5.3.2.1: the first one says how many P0 elements wait that were before it, and whether a
 * transaction is on. For a later one both are known, unless the trace is damaged.
 */
static int trace_info(struct flowtap_ete *ete, const struct flowtap_ete_packet *packet)
{
	bool decoded = ete_decoded_in_transaction(&ete->transaction);
	int status = 0;

	ete->elements.seen_vmid = false;
	ete->elements.seen_contextid = false;
	if (!ete->elements.initialized) {
		ete->elements.initialized = true;
		ete_discard_committed(&ete->held);
		ete_set_unseen(&ete->speculation, packet->spec);
	} else if (packet->in_transaction != decoded) {
		status = align_transaction(ete, packet);
	} else {
		status = flowtap_ete_set_depth(ete, packet->spec);
	}
	if (!status && packet->in_transaction && !ete_decoded_in_transaction(&ete->transaction))
		status = flowtap_ete_transaction_begin(ete);
	ete_set_decoded_in_transaction(&ete->transaction, packet->in_transaction);
	return status ? status : push_kind(ete, ETE_TRACE_INFO);
}

static int start(struct flowtap_ete *ete)
{
	const struct ete_entry entry = {
		.kind = ETE_TRANSACTION_START,
		.count = ete->elements.start_is_p0,
	};

	ete_set_decoded_in_transaction(&ete->transaction, true);
	return flowtap_ete_push(ete, &entry);
}

int flowtap_ete_emit_overflow(struct flowtap_ete *ete)
{
	const struct flowtap_element element = {
		.kind = FLOWTAP_ELEMENT_GAP,
		.gap = { .reason = FLOWTAP_GAP_OVERFLOW, .size = UINT64_MAX },
	};

	flowtap_ete_set_unknown_address(&ete->position, ETE_ADDRESS_LOST, NULL);
	flowtap_ete_invalidate_code(ete);
	ete->counts.gaps[FLOWTAP_GAP_OVERFLOW]++;
	return ete_emit(ete, &element);
}

/*
 * K10.5.2.4, 5: what is speculative is cancelled, a transaction has failed. Tracing resumes after
 * an Alignment Sync and a Trace Info.
 */
static int discard(struct flowtap_ete *ete, bool overflow)
{
	int status = flowtap_ete_cancel_all(ete);

	if (!status)
		status = flowtap_ete_transaction_fail(ete);
	ete_set_decoded_in_transaction(&ete->transaction, false);
	if (status)
		return status;
	ete_restart_elements(&ete->elements);
	ete_set_sync(&ete->stream, ETE_DISCARDED);
	ete_invalidate_context(&ete->position);
	ete_clear_returns(&ete->returns);
	flowtap_ete_set_unknown_address(&ete->position, ETE_ADDRESS_MISSING,
					"no address after Discard");
	return overflow ? flowtap_ete_emit_overflow(ete) : 0;
}

static int push(struct flowtap_ete *ete, const struct flowtap_ete_packet *packet)
{
	if (ete_is_time_or_event(packet->type))
		return push_time_or_event(ete, packet);
	switch (packet->type) {
	case FLOWTAP_ETE_DISCARD:
	case FLOWTAP_ETE_OVERFLOW:
		return discard(ete, packet->type == FLOWTAP_ETE_OVERFLOW);
	case FLOWTAP_ETE_TRACE_INFO:
		return trace_info(ete, packet);
	case FLOWTAP_ETE_TRACE_ON:
		return push_kind(ete, ETE_TRACE_ON);
	case FLOWTAP_ETE_TIMESTAMP_MARKER:
		return push_kind(ete, ETE_MARKER);
	case FLOWTAP_ETE_EXCEPTION:
		return exception(ete, packet);
	case FLOWTAP_ETE_EXCEPTION_RETURN:
		return push_return(ete, ETE_EXCEPTION_RETURN);
	case FLOWTAP_ETE_FUNCTION_RETURN:
		return push_return(ete, ETE_FUNCTION_RETURN);
	case FLOWTAP_ETE_INSTRUMENTATION:
		return instrumentation(ete, packet);
	case FLOWTAP_ETE_TRANSACTION_START:
		return start(ete);
	case FLOWTAP_ETE_TRANSACTION_COMMIT:
		return push_kind(ete, ETE_TRANSACTION_COMMIT);
	case FLOWTAP_ETE_CONTEXT:
		return push_context(ete, packet);
	case FLOWTAP_ETE_ADDRESS_CONTEXT:
		return push_address_context(ete, packet);
	case FLOWTAP_ETE_TARGET_EXACT:
	case FLOWTAP_ETE_TARGET_SHORT:
	case FLOWTAP_ETE_TARGET_LONG:
		return target(ete, packet);
	case FLOWTAP_ETE_Q:
		return q(ete, packet);
	case FLOWTAP_ETE_SOURCE_EXACT:
	case FLOWTAP_ETE_SOURCE_SHORT:
	case FLOWTAP_ETE_SOURCE_LONG:
		return source(ete, packet);
	default:
		return 0;
	}
}

static int commit_above(struct flowtap_ete *ete)
{
	uint64_t above = ete_speculation_above(&ete->speculation);

	return above ? flowtap_ete_commit(ete, above) : 0;
}

int flowtap_ete_element(struct flowtap_ete *ete, const struct flowtap_ete_packet *packet)
{
	int status = packet->commit ? flowtap_ete_commit(ete, packet->commit) : 0;

	if (!status)
		status = push(ete, packet);
	if (!status && packet->atom_count) {
		ete->counts.atoms += packet->atom_count;
		status = flowtap_ete_push_atoms(ete, packet->atoms, packet->atom_count);
	}
	if (!status)
		status = commit_above(ete);
	if (!status && packet->cancel)
		status = flowtap_ete_cancel(ete, packet->cancel);
	if (!status && packet->mispredict)
		status = flowtap_ete_mispredict(ete);
	return status;
}
