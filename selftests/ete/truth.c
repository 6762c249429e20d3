// SPDX-License-Identifier: GPL-2.0-only
/* The truth of a stream: kept, cut, compared. */
#include "truth.h"

#include <flowtap/flow.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {
	"insn", "exception", "eret", "trace_on", "q", "transaction", "gap", "event", "timestamp",
	"cycles", "ite", "marker",
};

void truth_init(struct truth *truth)
{
	memset(truth, 0, sizeof(*truth));
}

void truth_free(struct truth *truth)
{
	free(truth->steps);
	free(truth->sides);
	free(truth->contexts);
	truth_init(truth);
}

void truth_reset(struct truth *truth)
{
	truth->n = 0;
	truth->nsides = 0;
	truth->ncontexts = 0;
}

static void *grown(void *array, size_t n, size_t *room, size_t size)
{
	if (n < *room)
		return array;
	*room = *room ? 2 * *room : 256;
	array = realloc(array, *room * size);
	if (!array)
		abort();
	return array;
}

static bool same(const struct trace_context *a, const struct trace_context *b)
{
	return a->el == b->el && a->security == b->security && a->sf == b->sf &&
	       a->vmid == b->vmid && a->contextid == b->contextid;
}

uint32_t truth_context(struct truth *truth, const struct trace_context *context)
{
	if (truth->ncontexts && same(&truth->contexts[truth->ncontexts - 1], context))
		return truth->ncontexts - 1;
	if (!(truth->ncontexts & (truth->ncontexts - 1))) {
		size_t room = truth->ncontexts ? 2 * truth->ncontexts : 1;

		truth->contexts = realloc(truth->contexts, room * sizeof(*context));
		if (!truth->contexts)
			abort();
	}
	truth->contexts[truth->ncontexts] = *context;
	return truth->ncontexts++;
}

struct truth_step *truth_step(struct truth *truth, enum truth_kind kind)
{
	struct truth_step *step;

	truth->steps = grown(truth->steps, truth->n, &truth->room, sizeof(*step));
	step = &truth->steps[truth->n++];
	memset(step, 0, sizeof(*step));
	step->kind = kind;
	step->context = UINT32_MAX;
	return step;
}

void truth_side(struct truth *truth, enum truth_kind kind, uint64_t value, uint64_t more,
		bool has_more)
{
	truth->sides = grown(truth->sides, truth->nsides, &truth->sides_room,
			     sizeof(*truth->sides));
	truth->sides[truth->nsides++] = (struct truth_side){ value, more, truth->n, truth->n, kind,
							     has_more };
}

void truth_cut(struct truth *truth, size_t n, size_t resolved)
{
	if (n >= truth->n)
		return;
	truth->n = n;
	for (size_t i = truth->nsides; i-- && truth->sides[i].high > n;) {
		truth->sides[i].high = n;
		if (truth->sides[i].low > resolved)
			truth->sides[i].low = resolved;
	}
}

const char *truth_line(const struct truth *truth, const struct truth_step *step, char *line,
		       size_t size)
{
	static const char *const isas[] = { "RV64", "A64", "A32", "T32" };
	const struct trace_context *context = step->context == UINT32_MAX ? NULL :
					      &truth->contexts[step->context];

	if (step->kind == TRUTH_INSN && context)
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

void truth_print(const struct truth *truth, size_t around)
{
	char line[160];

	for (size_t i = around < 8 ? 0 : around - 8; i < truth->n && i < around + 4; i++)
		printf("# %c %zu %s\n", i == around ? '>' : ' ', i,
		       truth_line(truth, &truth->steps[i], line, sizeof(line)));
}

/*
 * Steps that count. Exception returns of AArch32 are said to be such or not (OpenCSD does not). A
 * Trace On behind which nothing is traced may be told or not: it goes with what was discarded.
 */
static bool counts(const struct truth *truth, size_t i, bool ignore_transactions)
{
	const struct truth_step *step = &truth->steps[i];

	if (step->kind == TRUTH_TRANSACTION)
		return !ignore_transactions;
	if (step->kind == TRUTH_ERET)
		return i && step[-1].isa == FLOWTAP_ISA_A64;
	if (step->kind != TRUTH_TRACE_ON)
		return true;
	while (++i < truth->n)
		if (truth->steps[i].kind != TRUTH_TRANSACTION)
			break;
	return i < truth->n && truth->steps[i].kind != TRUTH_TRACE_ON &&
	       truth->steps[i].kind != TRUTH_GAP;
}

/* Nothing follows in the trace: the address behind a Q went with what was lost there. */
static bool cut_off(const struct truth *got, const struct truth_step *q)
{
	const struct truth_step *end = got->steps + got->n;

	if (q->kind != TRUTH_Q || q->next)
		return false;
	while (++q < end && q->kind == TRUTH_TRANSACTION)
		;
	return q == end || q->kind == TRUTH_GAP || q->kind == TRUTH_TRACE_ON;
}

static bool equal_steps(const struct truth *truth, const struct truth_step *a,
			const struct truth *got, const struct truth_step *b)
{
	if (a->kind != b->kind || a->address != b->address || a->value != b->value)
		return false;
	if (a->next != b->next && !cut_off(got, b))
		return false;
	if (a->kind != TRUTH_INSN)
		return true;
	/* Of a Q nobody can know it where the branch goes to what is behind it. */
	if (a->branch && a->taken != b->taken && !a->inside)
		return false;
	if (a->isa != b->isa || a->size != b->size || b->context == UINT32_MAX)
		return false;
	return same(&truth->contexts[a->context], &got->contexts[b->context]);
}

static bool differ(const struct truth *truth, size_t i, const struct truth *got, size_t j)
{
	printf("# expected\n");
	truth_print(truth, i);
	printf("# got\n");
	truth_print(got, j);
	return false;
}

size_t truth_begin(const struct truth *truth, const struct truth *got, size_t *reached)
{
	size_t i = 0, j = 0;

	for (;; i++, j++) {
		while (i < truth->n && !counts(truth, i, true))
			i++;
		while (j < got->n && !counts(got, j, true))
			j++;
		*reached = i;
		if (i == truth->n || j == got->n ||
		    !equal_steps(truth, &truth->steps[i], got, &got->steps[j]))
			return j;
	}
}

size_t truth_end(const struct truth *truth, size_t from, const struct truth *got, size_t least)
{
	size_t i = truth->n, j = got->n;

	for (;;) {
		while (i > from && !counts(truth, i - 1, true))
			i--;
		if (i == from)
			return j;
		while (j > least && !counts(got, j - 1, true))
			j--;
		if (j == least ||
		    !equal_steps(truth, &truth->steps[i - 1], got, &got->steps[j - 1]))
			break;
		i--;
		j--;
	}
	printf("# the end differs\n");
	differ(truth, i - 1, got, j - 1);
	return SIZE_MAX;
}

static size_t behind_q(const struct truth *truth, size_t i)
{
	while (++i < truth->n && truth->steps[i].inside)
		;
	return i;
}

static bool main_equal(const struct truth *truth, struct truth *got, bool ignore)
{
	size_t i = 0, j = 0;

	for (;; i++, j++) {
		while (i < truth->n && !counts(truth, i, ignore))
			i++;
		while (j < got->n && !counts(got, j, ignore))
			j++;
		if (i < truth->n && truth->steps[i].inside && truth->steps[i - 1].kind == TRUTH_Q) {
			/* The Q was told as such. */
			i = behind_q(truth, i) - 1;
			j--;
			continue;
		}
		if (i < truth->n && j < got->n && truth->steps[i].kind == TRUTH_Q &&
		    truth->steps[i].value && got->steps[j].kind == TRUTH_INSN)
			i++;
		if (i == truth->n && j == got->n)
			return true;
		if (i == truth->n || j == got->n ||
		    !equal_steps(truth, &truth->steps[i], got, &got->steps[j]))
			return differ(truth, i, got, j);
		got->steps[j].inside = truth->steps[i].inside;
	}
}

/* Instructions and exceptions before each step: what places are counted in. */
static size_t *places(const struct truth *truth)
{
	size_t *place = malloc((truth->n + 1) * sizeof(*place));

	if (!place)
		abort();
	place[0] = 0;
	for (size_t i = 0; i < truth->n; i++)
		place[i + 1] = place[i] + ((truth->steps[i].kind == TRUTH_INSN &&
					    !truth->steps[i].inside) ||
					   truth->steps[i].kind == TRUTH_EXCEPTION);
	return place;
}

static size_t next_side(const struct truth *truth, size_t i, unsigned int kind)
{
	while (i < truth->nsides && truth->sides[i].kind != kind)
		i++;
	return i;
}

static bool kind_equal(const struct truth *truth, const struct truth *got, unsigned int kind,
		       const size_t *place, const size_t *got_place)
{
	size_t i = 0, j = 0;

	for (;; i++, j++) {
		const struct truth_side *a, *b;
		size_t at;

		i = next_side(truth, i, kind);
		j = next_side(got, j, kind);
		if (i == truth->nsides && j == got->nsides)
			return true;
		a = &truth->sides[i];
		b = &got->sides[j];
		if (i == truth->nsides || j == got->nsides || a->value != b->value ||
		    a->more != b->more || a->has_more != b->has_more)
			break;
		at = got_place[b->low];
		if (at < place[a->low] || at > place[a->high])
			break;
	}
	printf("# %s number %zu of %zu, got %zu of %zu\n", kinds[kind], i, truth->nsides, j,
	       got->nsides);
	if (i < truth->nsides && j < got->nsides)
		differ(truth, truth->sides[i].low, got, got->sides[j].low);
	if (i < truth->nsides)
		printf("# expected %llx %llx behind %zu to %zu instructions\n",
		       (unsigned long long)truth->sides[i].value,
		       (unsigned long long)truth->sides[i].more, place[truth->sides[i].low],
		       place[truth->sides[i].high]);
	if (j < got->nsides)
		printf("# got %llx %llx behind %zu\n", (unsigned long long)got->sides[j].value,
		       (unsigned long long)got->sides[j].more, got_place[got->sides[j].low]);
	return false;
}

bool truth_equal(const struct truth *truth, struct truth *got, bool ignore_transactions)
{
	bool equal = main_equal(truth, got, ignore_transactions);
	size_t *place = places(truth), *got_place = places(got);

	for (unsigned int kind = TRUTH_EVENT; equal && kind <= TRUTH_MARKER; kind++)
		equal = kind_equal(truth, got, kind, place, got_place);
	free(place);
	free(got_place);
	return equal;
}
