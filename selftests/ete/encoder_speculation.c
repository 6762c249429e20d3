// SPDX-License-Identifier: GPL-2.0-or-later
/* The trace unit where the flow is broken: exceptions, Q, wrong paths, transactions, losses. */
#include "encoder_internal.h"

#define ENDS	(sizeof(((struct encoder *)0)->ends) / sizeof(size_t))

static bool is1(uint8_t isa)
{
	return isa == FLOWTAP_ISA_T32;
}

/* The next instruction is there and the analyzer is to be told so. */
static void go_to(struct encoder *encoder, uint64_t address, uint8_t isa)
{
	encoder->view.start = address;
	encoder->view.isa = isa;
	encoder->view.need_address = true;
	encoder->view.may_pop = false;
}

/* What is after n steps was not executed. */
static void cut(struct encoder *encoder, size_t n, size_t resolved)
{
	oracle_cut(encoder->oracle, n, resolved);
	for (size_t i = encoder->nsyncs; i-- && encoder->syncs[i].told > n;)
		encoder->syncs[i].told = n;
}

/* The M profile's PE executes nothing where the view is, and some units do not tell where. */
static bool passes_over(struct encoder *encoder)
{
	const struct encoder_view *view = &encoder->view;

	return encoder->options.m_profile && view->start >= ENCODER_LOCKED_UP &&
	       view->need_address && !encode_context_due(encoder) && rng_one_in(&encoder->rng, 3);
}

void encoder_exception(struct encoder *encoder, unsigned int number, uint64_t return_address,
		       uint64_t handler, uint8_t handler_isa, const struct trace_context *context)
{
	struct encoder_view *view = &encoder->view;
	struct encoder_address address = { return_address, is1(view->isa) };
	struct oracle_step *step;
	bool context_due, own;

	if (!encoder->tracing)
		return;
	if (rng_one_in(&encoder->rng, 2))
		encode_flush_held(encoder);
	encode_tell_trace_on(encoder);
	context_due = encode_context_due(encoder);
	own = !encoder->nrun && view->start == return_address &&
	      !(encoder->options.classic && encoder->options.return_stack && view->need_address) &&
	      (context_due || view->need_address || rng_one_in(&encoder->rng, 4)) &&
	      (encoder->options.shortest || rng_one_in(&encoder->rng, 2)) &&
	      (context_due || !encode_may_follow_stack(encoder) || rng_one_in(&encoder->rng, 2));
	if (own) {
		/* A unit with erratum 1185472: it has found the address and tells it nevertheless. */
		if (!context_due && encode_may_follow_stack(encoder))
			view->nstack--;
		packet_exception(encoder, number, true, context_due, address);
		view->has_context = true;
		view->context = encoder->context;
	} else {
		if (!passes_over(encoder))
			encode_tell(encoder);
		packet_exception(encoder, number, false, false, address);
	}
	encode_cover(encoder, encoder->nrun);
	encoder->held = 0;
	if (encoder->oracle) {
		step = oracle_step(encoder->oracle, ORACLE_EXCEPTION);
		step->address = return_address == ENCODER_TAIL_CHAINED ? 0 : return_address;
		step->value = number;
	}
	encode_element(encoder);
	go_to(encoder, handler, handler_isa);
	/* Nothing else than a lazy push's return address and lockup can come after these. */
	if (encoder->options.m_profile && view->has_context &&
	    (number == ENCODER_LAZY_FP_PUSH || number == ENCODER_LOCKUP))
		view->need_address = rng_one_in(&encoder->rng, 2);
	encode_set_context(encoder, context);
	encode_resolve(encoder);
}

void encoder_reset(struct encoder *encoder, uint64_t address, uint8_t isa,
		   const struct trace_context *context)
{
	if (!encoder->tracing)
		return;
	encode_flush_held(encoder);
	encoder->nrun = 0;
	encode_tell(encoder);
	/* An ETMv4's has an address, of which nobody says what it is. */
	if (encoder->options.etm4)
		packet_exception(encoder, encoder->options.m_profile, false, false,
				 encode_here(encoder));
	else
		packet_unknown_exception(encoder, PACKET_PE_RESET, 0);
	if (encoder->oracle)
		oracle_step(encoder->oracle, ORACLE_EXCEPTION)->value = encoder->options.m_profile;
	encode_element(encoder);
	encoder->view.nstack = 0;
	go_to(encoder, address, isa);
	encode_set_context(encoder, context);
	encode_resolve(encoder);
}

bool encoder_can_q(const struct encoder *encoder)
{
	return encoder->options.q && encoder->tracing && !encoder->nrun && !encoder->nmarks;
}

void encoder_q(struct encoder *encoder, uint64_t address, uint8_t isa)
{
	struct encoder_view *view = &encoder->view;
	uint64_t without_count = encoder->counts[PACKET_Q_F];
	struct oracle *oracle = encoder->oracle;
	uint64_t start = view->start;
	bool told;

	encode_tell(encoder);
	told = packet_q(encoder, encoder->nrun, (struct encoder_address){ address, is1(isa) });
	if (oracle) {
		struct oracle_step *step = oracle_step(oracle, ORACLE_Q);
		size_t first = oracle->n;

		step->address = start;
		step->next = address;
		step->value = encoder->counts[PACKET_Q_F] == without_count ? encoder->nrun : 0;
		encode_cover(encoder, encoder->nrun);
		while (first < oracle->n)
			oracle->steps[first++].inside = true;
	}
	encoder->nrun = 0;
	go_to(encoder, address, isa);
	view->need_address = !told;
	encode_element(encoder);
	encode_resolve(encoder);
}

bool encoder_in_transaction(const struct encoder *encoder)
{
	return encoder->view.in_transaction;
}

static void transaction_step(struct encoder *encoder, enum flowtap_transaction what)
{
	if (encoder->oracle)
		oracle_step(encoder->oracle, ORACLE_TRANSACTION)->value = what;
}

void encoder_transaction_start(struct encoder *encoder)
{
	if (!encoder->tracing)
		return;
	packet_begin(encoder, PACKET_TRANSACTION_START, 0x0a);
	encoder->view.in_transaction = true;
	encoder->view.transaction = encoder->oracle ? encoder->oracle->n : 0;
	transaction_step(encoder, FLOWTAP_TRANSACTION_START);
	if (!encoder->options.commtrans)
		encode_element(encoder);
}

void encoder_transaction_commit(struct encoder *encoder)
{
	if (!encoder->tracing || !encoder->view.in_transaction)
		return;
	encode_flush_held(encoder);
	encoder_commit(encoder);
	packet_begin(encoder, PACKET_TRANSACTION_COMMIT, 0x0b);
	encoder->view.in_transaction = false;
	transaction_step(encoder, FLOWTAP_TRANSACTION_COMMIT);
	if (encoder->oracle)
		encoder->ends[encoder->emitted % ENDS] = encoder->oracle->n;
}

/* The elements of the transaction are dropped with the run that no element covers. */
void encoder_transaction_fail(struct encoder *encoder, uint64_t address, uint8_t isa)
{
	struct encoder_view *view = &encoder->view;

	if (!encoder->tracing || !view->in_transaction)
		return;
	encoder->held = 0;
	encoder->nrun = 0;
	encoder_commit(encoder);
	packet_unknown_exception(encoder, PACKET_TRANSACTION_FAILURE, 24);
	if (encoder->oracle) {
		if (!encoder->keep_failed)
			cut(encoder, view->transaction + 1, view->transaction);
		transaction_step(encoder, FLOWTAP_TRANSACTION_FAIL);
		encoder->ends[encoder->emitted % ENDS] = encoder->oracle->n;
	}
	view->in_transaction = false;
	view->nstack = 0;
	view->has_context = false;
	view->delay = 0;
	go_to(encoder, address, isa);
}

/* Elements on the wrong path after the branch, so many that the branch stays speculative. */
static unsigned int elements_left(const struct encoder *encoder)
{
	uint64_t used = encoder->emitted - (encoder->marks[0].emitted - 1) + encoder->held;

	return used < encoder->options.maxspec ? encoder->options.maxspec - used : 0;
}

bool encoder_mark(struct encoder *encoder)
{
	struct encoder_mark *mark = &encoder->marks[encoder->nmarks];

	if (encoder->options.maxspec < 2 || !encoder->tracing || encoder->nrun ||
	    encoder->nmarks == ENCODER_MARKS || encoder->view.trace_on_due ||
	    encoder->emitted == encoder->resolved)
		return false;
	mark->view = encoder->view;
	mark->emitted = encoder->emitted;
	mark->syncs = encoder->nsyncs;
	mark->addresses = encoder->addresses;
	mark->steps = encoder->oracle ? encoder->oracle->n : 0;
	encoder->nmarks++;
	return true;
}

bool encoder_go_on(const struct encoder *encoder)
{
	return !encoder->nmarks || elements_left(encoder) >= 2 ||
	       (elements_left(encoder) == 1 && !encoder->held);
}

void encoder_cancel(struct encoder *encoder, bool mispredict, uint64_t address, uint8_t isa,
		    bool need_address)
{
	struct encoder_mark *mark = &encoder->marks[--encoder->nmarks];
	uint64_t count = encoder->emitted - mark->emitted;
	struct encoder_view *view = &encoder->view;
	struct oracle *oracle = encoder->oracle;

	encoder->held = 0;
	encoder->nrun = 0;
	if (count)
		packet_cancel(encoder, count, mispredict);
	else if (mispredict)
		packet_mispredict(encoder);
	*view = mark->view;
	encoder->emitted = mark->emitted;
	if (oracle) {
		cut(encoder, mark->steps, encoder->ends[encoder->resolved % ENDS]);
		if (mispredict && oracle->steps[oracle->n - 1].branch)
			oracle->steps[oracle->n - 1].taken ^= 1;
	}
	view->start = address;
	view->isa = isa;
	/* What was told as the target before the first cancelled element stays told. */
	if (need_address || encoder->addresses != mark->addresses) {
		view->need_address = true;
		view->may_pop = false;
	}
	if (encoder->nsyncs != mark->syncs) {
		view->need_address = true;
		view->may_pop = false;
		view->has_context = false;
		view->nstack = 0;
		view->clear_pending = true;
		view->delay = 0;
	}
}

static void lose(struct encoder *encoder)
{
	struct encoder_view *view = &encoder->view;
	struct oracle *oracle = encoder->oracle;

	if (oracle) {
		size_t end = encoder->ends[encoder->resolved % ENDS];

		if (view->in_transaction && end > view->transaction) {
			if (!encoder->keep_failed)
				end = view->transaction + 1;
			cut(encoder, end, view->transaction);
			transaction_step(encoder, FLOWTAP_TRANSACTION_FAIL);
		} else {
			cut(encoder, end, end);
		}
	}
	encoder->resolved = encoder->emitted;
	encoder->committed = encoder->emitted;
	encoder->nmarks = 0;
	encoder->held = 0;
	encoder->nrun = 0;
	encoder->tracing = false;
	encoder->restart = true;
	view->in_transaction = false;
	view->nstack = 0;
	view->delay = 0;
}

void encoder_overflow(struct encoder *encoder)
{
	if (!encoder->tracing)
		return;
	/* Atoms that were not yet written are lost as well. */
	if (rng_one_in(&encoder->rng, 2)) {
		encoder->emitted -= encoder->natoms;
		encoder->natoms = 0;
		encoder->resolved = encoder->committed;
		if (encoder->emitted > encoder->resolved + encoder->options.maxspec)
			encoder->resolved = encoder->emitted - encoder->options.maxspec;
	}
	packet_begin(encoder, PACKET_OVERFLOW, 0x00);
	packet_byte(encoder, 0x05);
	if (encoder->seen)
		encoder->seen(encoder->opaque, ENCODER_SEEN_OVERFLOW, 0);
	lose(encoder);
	encoder->cycles = 0;
	encoder->cycles_unknown = encoder->options.cycles;
	if (encoder->oracle) {
		oracle_step(encoder->oracle, ORACLE_GAP)->value = FLOWTAP_GAP_OVERFLOW;
		encoder->ends[encoder->emitted % ENDS] = encoder->oracle->n;
	}
}

void encoder_discard(struct encoder *encoder)
{
	if (!encoder->tracing)
		return;
	packet_begin(encoder, PACKET_DISCARD, 0x00);
	packet_byte(encoder, 0x03);
	lose(encoder);
	if (encoder->oracle)
		encoder->ends[encoder->emitted % ENDS] = encoder->oracle->n;
}

void encoder_finish(struct encoder *encoder)
{
	if (encoder->tracing)
		encode_flush_held(encoder);
	encoder->nmarks = 0;
	encoder_commit(encoder);
	packet_atoms(encoder, 0);
}
