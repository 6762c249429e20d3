// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Resolved elements against the code (K10.5.5). */
#include "ete/internal.h"

/* The order of table K10-2; ITE and markers are of the kind of events. */
bool flowtap_ete_survives_cancel(const struct ete_entry *entry)
{
	switch (entry->kind) {
	case ETE_TRACE_INFO:
	case ETE_TIMESTAMP:
	case ETE_MARKER:
	case ETE_CYCLES:
	case ETE_EVENT:
	case ETE_INSTRUMENTATION:
		return true;
	default:
		return false;
	}
}

static bool same(const struct flowtap_context *a, const struct flowtap_context *b)
{
	return a->mode == b->mode && a->security == b->security && a->width == b->width &&
	       a->has_vmid == b->has_vmid && a->vmid == b->vmid &&
	       a->has_contextid == b->has_contextid && a->contextid == b->contextid;
}

/* By itself: for its sake analyze would save a register more for all the others. */
static __attribute__((noinline)) int context(struct flowtap_ete *ete,
					     const struct ete_entry *entry)
{
	const struct flowtap_ete_context *packet = &entry->context.packet;
	struct flowtap_element element = {
		.kind = FLOWTAP_ELEMENT_CONTEXT,
		.context = ete->views.context,
	};
	struct flowtap_context *now = &element.context;

	now->mode = packet->exception_level;
	now->security = packet->security;
	now->width = packet->sixty_four_bit ? 64 : 32;
	now->has_vmid = entry->context.has_vmid;
	now->has_contextid = entry->context.has_contextid;
	now->vmid = packet->vmid;
	now->contextid = packet->contextid;
	/* A packet without a payload repeats what was decoded last, be it cancelled or not. */
	if (entry->repeated && ete->position.context != ETE_CONTEXT_UNKNOWN &&
	    same(now, &ete->views.context)) {
		ete->position.context = ETE_CONTEXT_KNOWN;
		return 0;
	}
	/* The blocks that were followed may have changed it since the last address. */
	ete_sync_address(&ete->position);
	now->isa = ete_isa_of(now->width, ete->position.sub_isa);
	if (ete->images.identify)
		ete->images.identify(ete->images.argument, now);
	flowtap_ete_set_context(ete, now);
	return ete_emit(ete, &element);
}

/* Others may run now, and change what code there is. */
static void execution_ended(struct flowtap_ete *ete, const struct flowtap_exception *exception)
{
	ete->after_q = 0;
	if (!ete->images.left)
		return;
	ete->images.left(ete->images.argument, exception);
	flowtap_ete_invalidate_code(ete);
}

/* RVDRPP: all instructions up to the return address were executed. */
static int walk_to_exception(struct flowtap_ete *ete, uint64_t address)
{
	const struct flowtap_element source = {
		.kind = FLOWTAP_ELEMENT_SOURCE,
		.source = address,
	};
	int status = flowtap_ete_prove_path(ete, address);

	if (!status)
		status = ete_emit(ete, &source);
	return status ? status : flowtap_ete_walk_to(ete, address);
}

/* An exception return: nothing is executed before an address or an exception comes. */
static void go_nowhere(struct flowtap_ete *ete)
{
	flowtap_ete_set_unknown_address(&ete->position, ETE_ADDRESS_NOWHERE,
					"an exception return has no address in the trace");
}

static bool is_m_exception(const struct flowtap_ete *ete, const struct ete_entry *entry,
			   enum flowtap_ete_exception number)
{
	return ete->config.m_profile && flowtap_ete_is_etm4(&ete->config) &&
	       entry->number == number;
}

/*
 * The address that comes next is the handler's, or where tracing goes on. Lockup has none: the PE
 * executes nothing before the next exception.
 */
static void await_handler(struct flowtap_ete *ete, const struct ete_entry *entry)
{
	if (is_m_exception(ete, entry, FLOWTAP_ETM4_M_LOCKUP))
		flowtap_ete_set_unknown_address(&ete->position, ETE_ADDRESS_NOWHERE,
						"no address after a lockup");
	else if (ete->position.state != ETE_ADDRESS_LOST)
		flowtap_ete_set_unknown_address(&ete->position, ETE_ADDRESS_MISSING,
						"no address after an exception");
}

/*
 * Nothing was executed of which the trace has to say where: after an exception return, or before a
 * reset, of which it says nothing.
 */
static bool comes_first(const struct flowtap_ete *ete, const struct ete_entry *entry)
{
	const struct ete_position *position = &ete->position;

	return position->state == ETE_ADDRESS_NOWHERE || ete_is_return_value(ete, entry->value) ||
	       (ete_is_reset(ete, entry->number) &&
		(position->state == ETE_ADDRESS_MISSING || position->state == ETE_ADDRESS_KNOWN));
}

static int exception(struct flowtap_ete *ete, const struct ete_entry *entry)
{
	const struct flowtap_element element = {
		.kind = FLOWTAP_ELEMENT_EXCEPTION,
		.exception = {
			.number = entry->number,
			.address = entry->known ? entry->value : 0,
			.m_profile = ete->config.m_profile,
		},
	};
	int status = 0;

	if (entry->repeated && ete->position.late)
		ete_drop_repeated_return(&ete->returns, entry->value, ete->position.sub_isa);
	if (comes_first(ete, entry)) {
		ete_returns_at_p0(&ete->returns);
	} else {
		status = flowtap_ete_require_address(ete);
		if (!status && entry->known)
			status = walk_to_exception(ete, entry->value);
	}
	if (status < 0)
		return status;
	/* It has no handler: the floating-point instruction that waited for it comes next. */
	if (is_m_exception(ete, entry, FLOWTAP_ETM4_M_LAZY_FP_PUSH) && entry->known) {
		ete_set_address(&ete->position, entry->value, 1);
	} else {
		execution_ended(ete, &element.exception);
		await_handler(ete, entry);
	}
	ete->counts.exceptions++;
	return ete_emit(ete, &element);
}

static int timestamp(struct flowtap_ete *ete, const struct ete_entry *entry)
{
	const struct flowtap_element element = {
		.kind = FLOWTAP_ELEMENT_TIMESTAMP,
		.timestamp = {
			.ticks = entry->value,
			.cycles = entry->cycles,
			.has_cycles = entry->known,
		},
	};

	ete->counts.timestamps++;
	if (ete->images.time) {
		ete->images.time(ete->images.argument, &element.timestamp);
		flowtap_ete_invalidate_code(ete);
	}
	return ete_emit(ete, &element);
}

static int cycles(struct flowtap_ete *ete, const struct ete_entry *entry)
{
	const struct flowtap_element element = {
		.kind = FLOWTAP_ELEMENT_CYCLES,
		.cycles = { .count = entry->value, .unknown = !entry->known },
	};

	if (entry->known)
		ete->counts.cycles += entry->value;
	return ete_emit(ete, &element);
}

static int trace_on(struct flowtap_ete *ete)
{
	const struct flowtap_element element = { .kind = FLOWTAP_ELEMENT_TRACE_ON };

	ete_clear_returns(&ete->returns);
	execution_ended(ete, NULL);
	/* K10.5.5.10.1: the address and the context of before are not those of what comes. */
	ete_await_context(&ete->position);
	if (ete->position.state != ETE_ADDRESS_LOST)
		flowtap_ete_set_unknown_address(&ete->position, ETE_ADDRESS_MISSING,
						"no address after Trace On");
	return ete_emit(ete, &element);
}

/* An ETMv4's: the element of an ETE comes with the instruction (atoms.c). */
static int exception_return(struct flowtap_ete *ete)
{
	const struct flowtap_element element = { .kind = FLOWTAP_ELEMENT_EXCEPTION_RETURN };

	if (ete->config.m_profile && ete_awaits_target(&ete->position))
		go_nowhere(ete);
	return ete_emit(ete, &element);
}

static int instrumentation(struct flowtap_ete *ete, const struct ete_entry *entry)
{
	const struct flowtap_element element = {
		.kind = FLOWTAP_ELEMENT_INSTRUMENTATION,
		.instrumentation = { .value = entry->value, .mode = entry->number },
	};

	return ete_emit(ete, &element);
}

static int event(struct flowtap_ete *ete, const struct ete_entry *entry)
{
	const struct flowtap_element element = {
		.kind = FLOWTAP_ELEMENT_EVENT,
		.event = entry->number,
	};

	return ete_emit(ete, &element);
}

static int trace_info(struct flowtap_ete *ete)
{
	ete_sync_address(&ete->position);
	ete_clear_returns_at_p0(&ete->returns);
	return 0;
}

static int marker(struct flowtap_ete *ete)
{
	const struct flowtap_element element = { .kind = FLOWTAP_ELEMENT_MARKER };

	return ete_emit(ete, &element);
}

static int address(struct flowtap_ete *ete, const struct ete_entry *entry)
{
	ete_set_next(&ete->position, entry->value, entry->sub_isa);
	if (ete_is_return_value(ete, entry->value))
		go_nowhere(ete);
	return 0;
}

static int analyze(struct flowtap_ete *ete, const struct ete_entry *entry,
		   const struct ete_follow *follow)
{
	switch (entry->kind) {
	case ETE_ATOMS:
		return flowtap_ete_walk(ete, entry->atoms.taken, entry->atoms.initial,
					entry->count, follow);
	case ETE_EXCEPTION:
		return exception(ete, entry);
	case ETE_EXCEPTION_RETURN:
		return exception_return(ete);
	case ETE_SOURCE:
		return flowtap_ete_source(ete, entry, follow);
	case ETE_Q:
		return flowtap_ete_q(ete, entry, follow);
	case ETE_ADDRESS:
		return address(ete, entry);
	case ETE_CONTEXT:
		return context(ete, entry);
	case ETE_TRACE_INFO:
		return trace_info(ete);
	case ETE_TRACE_ON:
		return trace_on(ete);
	case ETE_TIMESTAMP:
		return timestamp(ete, entry);
	case ETE_MARKER:
		return marker(ete);
	case ETE_CYCLES:
		return cycles(ete, entry);
	case ETE_EVENT:
		return event(ete, entry);
	case ETE_INSTRUMENTATION:
		return instrumentation(ete, entry);
	default:
		return 0;
	}
}

/* What cannot be analyzed has become a gap. */
int flowtap_ete_analyze(struct flowtap_ete *ete, const struct ete_entry *entry,
			const struct ete_follow *follow)
{
	int status = analyze(ete, entry, follow);

	return status == ETE_DROP ? 0 : status;
}
