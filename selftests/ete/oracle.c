// SPDX-License-Identifier: GPL-2.0-only
/* The oracle of a stream: kept, cut, compared. */
#include "oracle.h"

#include <flowtap/flow.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {
	"insn", "exception", "eret", "trace_on", "q", "transaction", "gap", "event", "timestamp",
	"cycles", "ite", "marker",
};

void oracle_init(struct oracle *oracle)
{
	memset(oracle, 0, sizeof(*oracle));
}

void oracle_free(struct oracle *oracle)
{
	free(oracle->steps);
	free(oracle->sides);
	free(oracle->contexts);
	oracle_init(oracle);
}

void oracle_reset(struct oracle *oracle)
{
	oracle->n = 0;
	oracle->nsides = 0;
	oracle->ncontexts = 0;
}

static void *grown(void *array, size_t n, size_t *capacity, size_t size)
{
	if (n < *capacity)
		return array;
	*capacity = *capacity ? 2 * *capacity : 256;
	array = realloc(array, *capacity * size);
	if (!array)
		abort();
	return array;
}

static bool same(const struct trace_context *a, const struct trace_context *b)
{
	return a->el == b->el && a->security == b->security && a->sf == b->sf &&
	       a->vmid == b->vmid && a->contextid == b->contextid;
}

uint32_t oracle_context(struct oracle *oracle, const struct trace_context *context)
{
	if (oracle->ncontexts && same(&oracle->contexts[oracle->ncontexts - 1], context))
		return oracle->ncontexts - 1;
	if (!(oracle->ncontexts & (oracle->ncontexts - 1))) {
		size_t capacity = oracle->ncontexts ? 2 * oracle->ncontexts : 1;

		oracle->contexts = realloc(oracle->contexts, capacity * sizeof(*context));
		if (!oracle->contexts)
			abort();
	}
	oracle->contexts[oracle->ncontexts] = *context;
	return oracle->ncontexts++;
}

struct oracle_step *oracle_step(struct oracle *oracle, enum oracle_kind kind)
{
	struct oracle_step *step;

	oracle->steps = grown(oracle->steps, oracle->n, &oracle->capacity, sizeof(*step));
	step = &oracle->steps[oracle->n++];
	memset(step, 0, sizeof(*step));
	step->kind = kind;
	step->context = UINT32_MAX;
	return step;
}

void oracle_side(struct oracle *oracle, enum oracle_kind kind, uint64_t value, uint64_t more,
		 bool has_more)
{
	oracle->sides = grown(oracle->sides, oracle->nsides, &oracle->sides_capacity,
			      sizeof(*oracle->sides));
	oracle->sides[oracle->nsides++] = (struct oracle_side){ value, more, oracle->n, oracle->n,
	  kind,
							     has_more };
}

void oracle_cut(struct oracle *oracle, size_t n, size_t resolved)
{
	if (n >= oracle->n)
		return;
	oracle->n = n;
	for (size_t i = oracle->nsides; i-- && oracle->sides[i].high > n;) {
		oracle->sides[i].high = n;
		if (oracle->sides[i].low > resolved)
			oracle->sides[i].low = resolved;
	}
}

const char *oracle_line(const struct oracle *oracle, const struct oracle_step *step, char *line,
			size_t size)
{
	static const char *const isas[] = { "RV64", "A64", "A32", "T32" };
	const struct trace_context *context = step->context == UINT32_MAX ? NULL :
					      &oracle->contexts[step->context];

	if (step->kind == ORACLE_INSN && context)
		snprintf(line, size, "%s %llx %u%s EL%u security %u %s vmid %x contextid %x",
			 isas[step->isa & 3], (unsigned long long)step->address, step->size,
			 !step->branch ? "" : step->taken ? " taken" : " not taken", context->el,
			 context->security, context->sf ? "64" : "32", context->vmid,
			 context->contextid);
	else
		snprintf(line, size, "%s %llx value %lld next %llx", kinds[step->kind],
			 (unsigned long long)step->address, (long long)step->value,
			 (unsigned long long)step->next);
	return line;
}

void oracle_print(const struct oracle *oracle, size_t around)
{
	char line[160];

	for (size_t i = around < 8 ? 0 : around - 8; i < oracle->n && i < around + 4; i++)
		printf("# %c %zu %s\n", i == around ? '>' : ' ', i,
		       oracle_line(oracle, &oracle->steps[i], line, sizeof(line)));
}

/*
 * Steps that count. Exception returns of AArch32 are said to be such or not (OpenCSD does not), but
 * for the M profile's. A Trace On after which nothing is traced may be told or not: it goes with
 * what was discarded.
 */
static bool counts(const struct oracle *oracle, size_t i, bool ignore_transactions)
{
	const struct oracle_step *step = &oracle->steps[i];

	if (step->kind == ORACLE_TRANSACTION)
		return !ignore_transactions;
	if (step->kind == ORACLE_ERET)
		return oracle->erets || (i && step[-1].isa == FLOWTAP_ISA_A64);
	if (step->kind != ORACLE_TRACE_ON)
		return true;
	while (++i < oracle->n)
		if (oracle->steps[i].kind != ORACLE_TRANSACTION)
			break;
	return i < oracle->n && oracle->steps[i].kind != ORACLE_TRACE_ON &&
	       oracle->steps[i].kind != ORACLE_GAP;
}

/* Nothing follows in the trace: the address after a Q went with what was lost there. */
static bool cut_off(const struct oracle *got, const struct oracle_step *q)
{
	const struct oracle_step *end = got->steps + got->n;

	if (q->kind != ORACLE_Q || q->next)
		return false;
	while (++q < end && q->kind == ORACLE_TRANSACTION)
		;
	return q == end || q->kind == ORACLE_GAP || q->kind == ORACLE_TRACE_ON;
}

static bool equal_steps(const struct oracle *oracle, const struct oracle_step *a,
			const struct oracle *got, const struct oracle_step *b)
{
	if (a->kind != b->kind || a->address != b->address || a->value != b->value)
		return false;
	if (a->next != b->next && !cut_off(got, b))
		return false;
	if (a->kind != ORACLE_INSN)
		return true;
	/* Of a Q nobody can know it where the branch goes to what is after it. */
	if (a->branch && a->taken != b->taken && !a->inside)
		return false;
	if (a->isa != b->isa || a->size != b->size || b->context == UINT32_MAX)
		return false;
	return same(&oracle->contexts[a->context], &got->contexts[b->context]);
}

static bool differ(const struct oracle *oracle, size_t i, const struct oracle *got, size_t j)
{
	printf("# expected\n");
	oracle_print(oracle, i);
	printf("# got\n");
	oracle_print(got, j);
	return false;
}

size_t oracle_begin(const struct oracle *oracle, const struct oracle *got, size_t *reached)
{
	size_t i = 0, j = 0;

	for (;; i++, j++) {
		while (i < oracle->n && !counts(oracle, i, true))
			i++;
		while (j < got->n && !counts(got, j, true))
			j++;
		*reached = i;
		if (i == oracle->n || j == got->n ||
		    !equal_steps(oracle, &oracle->steps[i], got, &got->steps[j]))
			return j;
	}
}

size_t oracle_end(const struct oracle *oracle, size_t from, const struct oracle *got, size_t least)
{
	size_t i = oracle->n, j = got->n;

	for (;;) {
		while (i > from && !counts(oracle, i - 1, true))
			i--;
		if (i == from)
			return j;
		while (j > least && !counts(got, j - 1, true))
			j--;
		if (j == least ||
		    !equal_steps(oracle, &oracle->steps[i - 1], got, &got->steps[j - 1]))
			break;
		i--;
		j--;
	}
	printf("# the end differs\n");
	differ(oracle, i - 1, got, j - 1);
	return SIZE_MAX;
}

static size_t after_q(const struct oracle *oracle, size_t i)
{
	while (++i < oracle->n && oracle->steps[i].inside)
		;
	return i;
}

static bool main_equal(const struct oracle *oracle, struct oracle *got, bool ignore)
{
	size_t i = 0, j = 0;

	for (;; i++, j++) {
		while (i < oracle->n && !counts(oracle, i, ignore))
			i++;
		while (j < got->n && !counts(got, j, ignore))
			j++;
		if (i < oracle->n && oracle->steps[i].inside &&
		    oracle->steps[i - 1].kind == ORACLE_Q) {
			/* The Q was told as such. */
			i = after_q(oracle, i) - 1;
			j--;
			continue;
		}
		if (i < oracle->n && j < got->n && oracle->steps[i].kind == ORACLE_Q &&
		    oracle->steps[i].value && got->steps[j].kind == ORACLE_INSN)
			i++;
		if (i == oracle->n && j == got->n)
			return true;
		if (i == oracle->n || j == got->n ||
		    !equal_steps(oracle, &oracle->steps[i], got, &got->steps[j]))
			return differ(oracle, i, got, j);
		got->steps[j].inside = oracle->steps[i].inside;
	}
}

/* Instructions and exceptions before each step: what places are counted in. */
static size_t *places(const struct oracle *oracle)
{
	size_t *place = malloc((oracle->n + 1) * sizeof(*place));

	if (!place)
		abort();
	place[0] = 0;
	for (size_t i = 0; i < oracle->n; i++)
		place[i + 1] = place[i] + ((oracle->steps[i].kind == ORACLE_INSN &&
					    !oracle->steps[i].inside) ||
					   oracle->steps[i].kind == ORACLE_EXCEPTION);
	return place;
}

static size_t next_side(const struct oracle *oracle, size_t i, unsigned int kind)
{
	while (i < oracle->nsides && oracle->sides[i].kind != kind)
		i++;
	return i;
}

static bool kind_equal(const struct oracle *oracle, const struct oracle *got, unsigned int kind,
		       const size_t *place, const size_t *got_place)
{
	size_t i = 0, j = 0;

	for (;; i++, j++) {
		const struct oracle_side *a, *b;
		size_t at;

		i = next_side(oracle, i, kind);
		j = next_side(got, j, kind);
		if (i == oracle->nsides && j == got->nsides)
			return true;
		a = &oracle->sides[i];
		b = &got->sides[j];
		if (i == oracle->nsides || j == got->nsides || a->value != b->value ||
		    a->more != b->more || a->has_more != b->has_more)
			break;
		at = got_place[b->low];
		if (at < place[a->low] || at > place[a->high])
			break;
	}
	printf("# %s number %zu of %zu, got %zu of %zu\n", kinds[kind], i, oracle->nsides, j,
	       got->nsides);
	if (i < oracle->nsides && j < got->nsides)
		differ(oracle, oracle->sides[i].low, got, got->sides[j].low);
	if (i < oracle->nsides)
		printf("# expected %llx %llx after %zu to %zu instructions\n",
		       (unsigned long long)oracle->sides[i].value,
		       (unsigned long long)oracle->sides[i].more, place[oracle->sides[i].low],
		       place[oracle->sides[i].high]);
	if (j < got->nsides)
		printf("# got %llx %llx after %zu\n", (unsigned long long)got->sides[j].value,
		       (unsigned long long)got->sides[j].more, got_place[got->sides[j].low]);
	return false;
}

bool oracle_equal(const struct oracle *oracle, struct oracle *got, bool ignore_transactions)
{
	bool equal = main_equal(oracle, got, ignore_transactions);
	size_t *place = places(oracle), *got_place = places(got);

	for (unsigned int kind = ORACLE_EVENT; equal && kind <= ORACLE_MARKER; kind++)
		equal = kind_equal(oracle, got, kind, place, got_place);
	free(place);
	free(got_place);
	return equal;
}
