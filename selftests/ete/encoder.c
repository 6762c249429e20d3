// SPDX-License-Identifier: GPL-2.0-or-later
/* The trace unit: which elements there are for what the PE executes, and when they are told. */
#include <stdlib.h>
#include <string.h>

#include "encoder_internal.h"

#define ENDS	(sizeof(((struct encoder *)0)->ends) / sizeof(size_t))

void encoder_init(struct encoder *encoder, const struct encoder_options *options, uint64_t seed,
		  struct oracle *oracle)
{
	memset(encoder, 0, sizeof(*encoder));
	encoder->options = *options;
	encoder->rng.state = seed;
	encoder->oracle = oracle;
	if (oracle)
		oracle->erets = options->m_profile;
}

void encoder_free(struct encoder *encoder)
{
	free(encoder->bytes);
	free(encoder->syncs);
	free(encoder->points);
	free(encoder->run);
}

/* IHI 0064: COMMOPT, RETSTACK, 64-bit timestamps, a CCSIZE of 20 bits; a marker from 4.6 on. */
static void etm4_config(const struct encoder_options *options, struct flowtap_ete_config *config)
{
	uint32_t minor = options->etm4 & 0xf;

	config->devarch = 0x47704a13 | minor << 16;
	config->idr0 = 0x08000ca1 | 1 << 9 | (options->q ? 3 << 15 : 0) |
		       (uint32_t)(minor >= 6) << 23 | options->commopt << 29;
	config->idr1 = 0x4100f400 | minor << 4;
	config->idr2 = 0x10000088 | options->vmid_size << 10 | (uint32_t)options->wfx << 31;
	config->m_profile = options->m_profile;
	/* 32-bit addresses, no Context ID. */
	if (options->m_profile)
		config->idr2 = 0x10000004 | (uint32_t)options->wfx << 31;
}

/* TRCIDR and TRCCONFIGR as DDI 0487 lays them out; ETE 1.3, CCSIZE 20 bits, 64-bit timestamps. */
void encoder_config(const struct encoder_options *options, struct flowtap_ete_config *config)
{
	memset(config, 0, sizeof(*config));
	config->configr = 1 | options->broadcast << 3 | options->cycles << 4 |
			  options->contextid << 6 | options->vmid << 7 |
			  options->timestamps << 11 | (options->return_stack != 0) << 12 |
			  (options->q ? 3 << 13 : 0);
	config->traceidr = 1;
	config->devarch = 0x47735a13;
	config->idr0 = 0x08c00ea1 | 1 << 9 | (options->q ? 3 << 15 : 0) | options->commopt << 29 |
		       options->commtrans << 30;
	config->idr1 = 0x4100fff3;
	config->idr2 = 0x10001088 | (uint32_t)options->wfx << 31;
	config->idr8 = options->maxspec;
	if (options->etm4)
		etm4_config(options, config);
}

/* The PE's context, with as much of a VMID as the trace unit has. */
void encode_set_context(struct encoder *encoder, const struct trace_context *context)
{
	encoder->context = *context;
	if (encoder->options.etm4 && encoder->options.vmid_size < 4)
		encoder->context.vmid &= (1u << 8 * encoder->options.vmid_size) - 1;
}

bool encode_may_follow_stack(const struct encoder *encoder)
{
	const struct encoder_view *view = &encoder->view;
	const struct encoder_address *top;

	if (!view->need_address || !view->may_pop || !view->nstack)
		return false;
	top = &view->stack[view->nstack - 1];
	return top->address == view->start && top->is1 == (view->isa == FLOWTAP_ISA_T32);
}

static bool same_context(const struct encoder *encoder, const struct trace_context *a,
			 const struct trace_context *b)
{
	return a->el == b->el && a->security == b->security && a->sf == b->sf &&
	       (!encoder->options.vmid || a->vmid == b->vmid) &&
	       (!encoder->options.contextid || a->contextid == b->contextid);
}

bool encode_context_due(const struct encoder *encoder)
{
	return !encoder->view.has_context ||
	       !same_context(encoder, &encoder->view.context, &encoder->context);
}

struct encoder_address encode_here(const struct encoder *encoder)
{
	return (struct encoder_address){ encoder->view.start,
					 encoder->view.isa == FLOWTAP_ISA_T32 };
}

void encode_tell_trace_on(struct encoder *encoder)
{
	struct encoder_view *view = &encoder->view;

	if (!view->trace_on_due)
		return;
	packet_begin(encoder, PACKET_TRACE_ON, 0x04);
	view->trace_on_due = false;
	view->has_context = false;
	view->need_address = true;
	view->may_pop = false;
	view->nstack = 0;
	view->clear_pending = true;
	if (encoder->oracle)
		oracle_step(encoder->oracle, ORACLE_TRACE_ON);
}

/* What the analyzer has to know before the next P0 element: where, and in which context. */
void encode_tell(struct encoder *encoder)
{
	struct encoder_view *view = &encoder->view;
	bool context;

	encode_tell_trace_on(encoder);
	context = encode_context_due(encoder);
	if (!context && encode_may_follow_stack(encoder)) {
		view->nstack--;
		view->need_address = false;
	}
	if (context && view->need_address) {
		if (encoder->options.shortest || rng_one_in(&encoder->rng, 2)) {
			packet_address_context(encoder, encode_here(encoder));
		} else if (rng_one_in(&encoder->rng, 2)) {
			packet_context(encoder);
			packet_address(encoder, encode_here(encoder));
		} else {
			packet_address(encoder, encode_here(encoder));
			packet_context(encoder);
		}
	} else if (context) {
		packet_context(encoder);
	} else if (view->need_address) {
		packet_address(encoder, encode_here(encoder));
	}
	view->need_address = false;
	view->has_context = true;
	view->context = encoder->context;
}

/* The first n instructions of the run are told; the last of them is the P0 instruction. */
void encode_cover(struct encoder *encoder, size_t n)
{
	struct oracle *oracle = encoder->oracle;
	struct trace_context told = encoder->view.context;
	uint32_t context;

	if (oracle && n) {
		if (!encoder->options.vmid)
			told.vmid = 0;
		if (!encoder->options.contextid)
			told.contextid = 0;
		context = oracle_context(oracle, &told);
		for (size_t i = 0; i < n; i++) {
			const struct encoder_insn *insn = &encoder->run[i];
			struct oracle_step *step = oracle_step(oracle, ORACLE_INSN);

			step->address = insn->address;
			step->isa = insn->isa;
			step->size = insn->size;
			step->context = context;
			step->branch = insn->kind == ENCODER_DIRECT ||
				       insn->kind == ENCODER_INDIRECT;
			step->taken = step->branch && insn->taken;
			if (insn->eret && insn->taken && !encoder->options.m_profile)
				oracle_step(oracle, ORACLE_ERET);
		}
	}
	if (n)
		memmove(encoder->run, encoder->run + n,
			(encoder->nrun - n) * sizeof(*encoder->run));
	encoder->nrun -= n;
}

/* A P0 element was told. */
void encode_element(struct encoder *encoder)
{
	struct encoder_view *view = &encoder->view;

	if (view->clear_pending) {
		view->nstack = 0;
		view->clear_pending = false;
	}
	encoder->emitted++;
	if (encoder->oracle)
		encoder->ends[encoder->emitted % ENDS] = encoder->oracle->n;
	if (encoder->emitted - encoder->resolved > encoder->options.maxspec)
		encoder->resolved = encoder->emitted - encoder->options.maxspec;
	if (view->delay && !--view->delay) {
		view->has_context = false;
		view->need_address = true;
		view->may_pop = false;
	}
}

static void saw(struct encoder *encoder, enum encoder_seen what, uint64_t value)
{
	if (encoder->seen)
		encoder->seen(encoder->opaque, what, value);
}

static void cycles_with(struct encoder *encoder, uint64_t commit)
{
	packet_cycles(encoder, commit);
	saw(encoder, ENCODER_SEEN_CYCLES,
	    encoder->cycles_unknown ? UINT64_MAX : encoder->cycles);
	if (encoder->oracle)
		oracle_side(encoder->oracle, ORACLE_CYCLES,
			    encoder->cycles_unknown ? 0 : encoder->cycles, 0,
			    encoder->cycles_unknown);
	encoder->cycles = 0;
	encoder->cycles_unknown = false;
}

/* The oldest elements that may be committed: not the branch that a wrong path follows. */
static uint64_t committable(const struct encoder *encoder)
{
	uint64_t limit = encoder->nmarks ? encoder->marks[0].emitted - 1 : encoder->emitted;

	return limit > encoder->resolved ? limit - encoder->resolved : 0;
}

static bool cycles_due(const struct encoder *encoder)
{
	return encoder->options.cycles && encoder->cycles >= encoder->options.threshold;
}

static void commit(struct encoder *encoder, uint64_t count)
{
	bool cycles = cycles_due(encoder) &&
		      (encoder->options.prompt || rng_one_in(&encoder->rng, 2));

	if (cycles && !encoder->options.commopt && !encoder->options.classic) {
		cycles_with(encoder, count);
	} else {
		packet_commit(encoder, count);
		if (cycles)
			cycles_with(encoder, 0);
	}
	encoder->resolved += count;
	encoder->committed = encoder->resolved;
}

void encoder_commit(struct encoder *encoder)
{
	uint64_t count = committable(encoder);

	if (count)
		commit(encoder, count);
}

/* Now and then, after a P0 element. */
void encode_resolve(struct encoder *encoder)
{
	uint64_t count = committable(encoder);

	if (!encoder->options.maxspec) {
		if (cycles_due(encoder) &&
		    (encoder->options.prompt || rng_one_in(&encoder->rng, 4)))
			cycles_with(encoder, 0);
	} else if (count && rng_one_in(&encoder->rng, 6)) {
		if (!rng_one_in(&encoder->rng, 3))
			count = 1 + rng_below(&encoder->rng, count < 20 ? count : 20) % count;
		commit(encoder, count);
	}
}

static void synchronise(struct encoder *encoder)
{
	struct encoder_view *view = &encoder->view;
	bool deep = encoder->emitted - encoder->resolved;

	packet_atoms(encoder, 0);
	if (deep && (view->in_transaction || encoder->options.classic))
		encoder_commit(encoder);
	packet_sync(encoder, encoder->emitted - encoder->resolved);
	view->nstack = 0;
	view->clear_pending = true;
	view->may_pop = false;
	if (encoder->options.sync_delay && rng_one_in(&encoder->rng, 2) && view->has_context) {
		view->delay = 1 + rng_below(&encoder->rng, 8);
	} else {
		view->delay = 0;
		view->has_context = false;
		view->need_address = true;
	}
}

static void push_link(struct encoder *encoder, const struct encoder_insn *insn)
{
	struct encoder_view *view = &encoder->view;
	unsigned int depth = encoder->options.return_stack;

	if (!depth)
		return;
	if (view->nstack == depth) {
		memmove(view->stack, view->stack + 1, (depth - 1) * sizeof(*view->stack));
		view->nstack--;
	}
	view->stack[view->nstack++] = (struct encoder_address){
		insn->address + insn->size, insn->isa == FLOWTAP_ISA_T32
	};
}

/* Execution goes on after this P0 instruction. */
static void leave(struct encoder *encoder, const struct encoder_insn *insn, bool first_taken)
{
	struct encoder_view *view = &encoder->view;
	bool branch = insn->kind == ENCODER_DIRECT || insn->kind == ENCODER_INDIRECT;
	bool went = branch && insn->taken;

	/* On E atoms, whatever Mispredict elements make of them (K10.5.5.3). */
	if (insn->link && first_taken)
		push_link(encoder, insn);
	view->start = went ? insn->target : insn->address + insn->size;
	view->isa = went ? insn->target_isa : insn->isa;
	if (went && insn->kind == ENCODER_INDIRECT) {
		view->need_address = true;
		view->may_pop = !insn->eret && !insn->function_return &&
				!encoder->options.broadcast;
	} else if (went && encoder->options.broadcast) {
		view->need_address = true;
		view->may_pop = false;
	}
	/* An analyzer may be left without an address where what was indirect was none. */
	if (insn->kind == ENCODER_INDIRECT && insn->flips) {
		view->need_address = true;
		view->may_pop = false;
	}
}

/*
 * The packet after the atom of an ETMv4's return. Of the M profile nothing else says that the branch
 * returned from an exception. It is a P0 element of Armv7-M, and Armv8-M's function return is.
 */
static void return_element(struct encoder *encoder, const struct encoder_insn *insn)
{
	if (insn->function_return)
		packet_begin(encoder, PACKET_FUNCTION_RETURN, 0x05);
	else
		packet_begin(encoder, PACKET_EXCEPTION_RETURN, 0x07);
	if (!encoder->options.m_profile)
		return;
	if (insn->eret && encoder->oracle)
		oracle_step(encoder->oracle, ORACLE_ERET);
	if (insn->function_return == (encoder->options.etm4 >= 0x42))
		encode_element(encoder);
	else if (encoder->oracle)
		/* It is there if the branch is. */
		encoder->ends[encoder->emitted % ENDS] = encoder->oracle->n;
}

static void atom_element(struct encoder *encoder, const struct encoder_insn *insn, size_t covered)
{
	bool branch = insn->kind == ENCODER_DIRECT || insn->kind == ENCODER_INDIRECT;
	bool taken = !branch || insn->taken;
	bool first = taken ^ (insn->flips & 1);
	struct encoder_insn copy = *insn;

	encode_tell(encoder);
	packet_atom(encoder, first);
	encode_cover(encoder, covered);
	leave(encoder, &copy, first);
	encode_element(encoder);
	for (unsigned int i = 0; i < copy.flips; i++)
		packet_mispredict(encoder);
	if (encoder->options.etm4 && taken && (copy.eret || copy.function_return))
		return_element(encoder, &copy);
}

/* Branches that were not taken and have no atom yet get it. */
void encode_flush_held(struct encoder *encoder)
{
	while (encoder->held) {
		size_t n = 0;

		while (encoder->run[n].kind == ENCODER_OTHER)
			n++;
		encoder->held--;
		atom_element(encoder, &encoder->run[n], n + 1);
	}
}

static void source_element(struct encoder *encoder, const struct encoder_insn *insn)
{
	struct encoder_insn copy = *insn;

	encode_tell(encoder);
	packet_source(encoder, (struct encoder_address){ insn->address,
							 insn->isa == FLOWTAP_ISA_T32 });
	encoder->held = 0;
	encode_cover(encoder, encoder->nrun);
	leave(encoder, &copy, true);
	encode_element(encoder);
}

static void add_to_run(struct encoder *encoder, const struct encoder_insn *insn)
{
	if (encoder->nrun == encoder->run_room) {
		encoder->run_room = encoder->run_room ? 2 * encoder->run_room : 64;
		encoder->run = realloc(encoder->run, encoder->run_room * sizeof(*encoder->run));
		if (!encoder->run)
			abort();
	}
	encoder->run[encoder->nrun++] = *insn;
}

void encoder_quiet(struct encoder *encoder, const struct encoder_insn *insn)
{
	add_to_run(encoder, insn);
}

static bool sync_due(struct encoder *encoder)
{
	const struct encoder_options *options = &encoder->options;

	return options->sync && encoder->size - encoder->synced >= options->sync &&
	       (!encoder->nmarks || !options->return_stack) && !encoder->view.trace_on_due &&
	       !(options->classic && (encoder->view.need_address || encoder->nmarks));
}

void encoder_insn(struct encoder *encoder, const struct encoder_insn *insn)
{
	const struct encoder_options *options = &encoder->options;
	bool branch = insn->kind == ENCODER_DIRECT || insn->kind == ENCODER_INDIRECT;
	bool sure = !insn->flips && !insn->wrong;

	if (!encoder->tracing)
		return;
	if (sync_due(encoder) && (options->shortest || rng_one_in(&encoder->rng, 4)))
		synchronise(encoder);
	if (!encoder->nrun)
		encode_tell(encoder);
	add_to_run(encoder, insn);
	if (insn->kind == ENCODER_OTHER)
		return;
	insn = &encoder->run[encoder->nrun - 1];
	if (options->source && branch && !insn->taken && sure && encoder->held < 8 &&
	    (options->shortest || encoder->held || rng_one_in(&encoder->rng, 2))) {
		encoder->held++;
		return;
	}
	if (options->source && branch && insn->taken && sure &&
	    (encoder->held || (!options->shortest && rng_one_in(&encoder->rng, 3)))) {
		source_element(encoder, insn);
	} else {
		encode_flush_held(encoder);
		atom_element(encoder, &encoder->run[encoder->nrun - 1], encoder->nrun);
	}
	if (sure)
		encode_resolve(encoder);
}

void encoder_begin(struct encoder *encoder)
{
	if (!encoder->nsyncs || encoder->restart)
		packet_sync(encoder, encoder->emitted - encoder->resolved);
	encoder->restart = false;
}

void encoder_on(struct encoder *encoder, uint64_t address, uint8_t isa,
		const struct trace_context *context)
{
	struct encoder_view *view = &encoder->view;

	encode_set_context(encoder, context);
	encoder->tracing = true;
	encoder_begin(encoder);
	view->delay = 0;
	view->trace_on_due = true;
	view->start = address;
	view->isa = isa;
}

void encoder_off(struct encoder *encoder)
{
	encode_flush_held(encoder);
	encoder->nrun = 0;
	encoder->tracing = false;
}

void encoder_context(struct encoder *encoder, const struct trace_context *context)
{
	encode_flush_held(encoder);
	encode_set_context(encoder, context);
}

void encoder_event(struct encoder *encoder, unsigned int mask)
{
	packet_begin(encoder, PACKET_EVENT, 0x70 | mask);
	saw(encoder, ENCODER_SEEN_EVENT, mask);
	for (unsigned int i = 0; encoder->oracle && i < 4; i++)
		if (mask >> i & 1)
			oracle_side(encoder->oracle, ORACLE_EVENT, i, 0, false);
}

void encoder_timestamp(struct encoder *encoder, uint64_t ticks)
{
	bool cycles = encoder->options.cycles;

	packet_timestamp(encoder, ticks, cycles);
	saw(encoder, ENCODER_SEEN_TIMESTAMP, ticks);
	if (encoder->oracle)
		oracle_side(encoder->oracle, ORACLE_TIMESTAMP, ticks, cycles ? encoder->cycles : 0,
			    cycles);
}

/* ETE 1.1 (FEAT_ETEv1p1) Timestamp Marker, 0b10001000. */
void encoder_marker(struct encoder *encoder)
{
	packet_begin(encoder, PACKET_MARKER, 0x88);
	if (encoder->oracle)
		oracle_side(encoder->oracle, ORACLE_MARKER, 0, 0, false);
}

/* FEAT_ITE: 0b00001001, the exception level in bits 1:0, then 64 bits. */
void encoder_ite(struct encoder *encoder, uint8_t el, uint64_t value)
{
	packet_begin(encoder, PACKET_ITE, 0x09);
	packet_byte(encoder, el);
	for (unsigned int i = 0; i < 8; i++)
		packet_byte(encoder, value >> 8 * i);
	if (encoder->oracle)
		oracle_side(encoder->oracle, ORACLE_ITE, value, el, true);
}

void encoder_cycles(struct encoder *encoder, uint32_t n)
{
	if (encoder->options.cycles && encoder->cycles + n < 0xfffff)
		encoder->cycles += n;
	else
		encoder_cycles_lost(encoder);
}

void encoder_cycles_lost(struct encoder *encoder)
{
	encoder->cycles_unknown = encoder->options.cycles;
}

void encoder_broadcast(struct encoder *encoder, bool on)
{
	/* The unit's own return stack is emptied where a region begins; the analyzer's is not. */
	if (on && !encoder->options.broadcast) {
		encoder->view.nstack = 0;
		encoder->view.may_pop = false;
	}
	encoder->options.broadcast = on;
}

void encoder_flush(struct encoder *encoder)
{
	encoder_commit(encoder);
	packet_atoms(encoder, 0);
}

const uint8_t *encoder_take(struct encoder *encoder, size_t *n)
{
	*n = encoder->size;
	encoder->synced -= encoder->size;
	encoder->taken += encoder->size;
	encoder->size = 0;
	return encoder->bytes;
}
