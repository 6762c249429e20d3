// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts the kinds and mnemonics of a block once, keeps these counts with it, and adds them each
 * time it is executed.
 */
#include "stat/statistics.h"

#include "common/isa.h"

#include <errno.h>
#include <flowtap/disasm.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

/*
 * What a block adds each time it is executed, kept with it as a format keeps its bytes: kinds of
 * its instructions but the last, then mnemonics of all.
 */
struct share {
	uint16_t what;
	uint16_t n;
};

struct shares {
	uint32_t n_mix;
	uint32_t n_mnemonics;
	struct share shares[];
};

/* --- Mnemonics. --- */

static int compare_names(const void *one, const void *other)
{
	const struct statistics_mnemonic *a = one, *b = other;

	return strcmp(a->name, b->name);
}

/* The first word. The last slot is for all that find none. */
static uint16_t mnemonic_of(struct statistics *stats, const char *text)
{
	struct statistics_mnemonic *made = &stats->mnemonics[stats->n_mnemonics];
	struct statistics_mnemonic wanted = { .n = 0 }, **found;
	size_t size = strcspn(text, " \t");

	memcpy(wanted.name, text, size < sizeof(wanted.name) ? size : sizeof(wanted.name) - 1);
	found = tfind(&wanted, &stats->names, compare_names);
	if (found)
		return (uint16_t)(*found - stats->mnemonics);
	if (stats->n_mnemonics < STATISTICS_MNEMONICS) {
		*made = wanted;
		if (tsearch(made, &stats->names, compare_names))
			return (uint16_t)stats->n_mnemonics++;
		made->name[0] = 0;
	}
	strcpy(stats->mnemonics[STATISTICS_MNEMONICS].name, "(others)");
	return STATISTICS_MNEMONICS;
}

/* --- Blocks. --- */

static void add_share(struct share *shares, uint32_t *n, uint16_t what)
{
	for (uint32_t i = 0; i < *n; i++) {
		if (shares[i].what != what)
			continue;
		shares[i].n++;
		return;
	}
	shares[(*n)++] = (struct share){ .what = what, .n = 1 };
}

static void share_mnemonics(struct statistics *stats, const struct flowtap_block *block,
			    struct share *shares, uint32_t *n)
{
	enum flowtap_isa isa = (enum flowtap_isa)block->isa;
	char text[FLOWTAP_DISASM_CAPACITY];
	uint8_t it = 0;
	size_t size;

	for (uint32_t at = 0; at < block->size; at += (uint32_t)size) {
		size = isa_length(isa, block->bytes + at, block->size - at);
		if (!size)
			return;
		flowtap_disasm_text(stats->disasm, isa, it, block->address + at,
				    block->bytes + at, size, text, sizeof(text));
		add_share(shares, n, mnemonic_of(stats, text));
		it = isa_it_after(isa, it, block->address + at, block->bytes + at, size);
	}
}

/* Made once for each block. NULL: no memory. */
static const struct shares *make_shares(struct statistics *stats,
					const struct flowtap_block *block)
{
	enum flowtap_isa isa = (enum flowtap_isa)block->isa;
	size_t capacity = MIX_KINDS + (stats->disasm ? block->instructions : 0), size;
	struct flowtap_render made = {
		.size = (uint32_t)(sizeof(struct shares) + capacity * sizeof(struct share)),
	};
	struct shares *shares = made.bytes = malloc(made.size);

	if (!shares)
		return NULL;
	*shares = (struct shares){ .n_mix = 0 };
	for (uint32_t at = 0; at < block->last; at += (uint32_t)size) {
		size = isa_length(isa, block->bytes + at, block->last - at);
		if (!size)
			break;
		add_share(shares->shares, &shares->n_mix,
			  (uint16_t)mix_of(isa, block->bytes + at, size));
	}
	if (stats->disasm)
		share_mnemonics(stats, block, shares->shares + shares->n_mix,
				&shares->n_mnemonics);
	stats->distinct++;
	stats->bytes += block->size;
	return flowtap_slot_keep(&stats->slot, block, &made, made.size)->bytes;
}

/* --- Who runs. --- */

static int compare_threads(const void *one, const void *other)
{
	const struct statistics_thread *a = one, *b = other;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return a->tid < b->tid ? -1 : a->tid > b->tid;
}

static struct statistics_thread *thread_of(struct statistics *stats, uint32_t pid, uint32_t tid)
{
	struct statistics_thread wanted = { .pid = pid, .tid = tid }, *made;
	struct statistics_thread **found = tfind(&wanted, &stats->threads, compare_threads);

	if (found)
		return *found;
	if (stats->n_threads == STATISTICS_THREADS)
		return pid == UINT32_MAX ? NULL : thread_of(stats, UINT32_MAX, UINT32_MAX);
	/* The last one is for the others. */
	if (stats->n_threads == STATISTICS_THREADS - 1)
		wanted.pid = wanted.tid = UINT32_MAX;
	made = malloc(sizeof(*made));
	if (!made)
		return NULL;
	*made = wanted;
	if (!tsearch(made, &stats->threads, compare_threads)) {
		free(made);
		return NULL;
	}
	stats->n_threads++;
	return made;
}

static int handle_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
			uint64_t target)
{
	struct statistics *stats = (struct statistics *)sink;
	const struct flowtap_render *render = flowtap_slot_find(&stats->slot, block);
	const struct shares *shares = render ? render->bytes : make_shares(stats, block);
	const struct share *share;

	(void)target;
	if (!stats->thread) {
		stats->thread = thread_of(stats, stats->context.pid, stats->context.tid);
		if (stats->thread)
			stats->thread->turns++;
	}
	if (!shares || !stats->thread)
		return -ENOMEM;
	share = shares->shares;
	for (uint32_t i = 0; i < shares->n_mix; i++, share++)
		stats->mix[share->what] += share->n;
	for (uint32_t i = 0; i < shares->n_mnemonics; i++, share++)
		stats->mnemonics[share->what].n += share->n;
	stats->mix[mix_of_end(block, taken)]++;
	stats->instructions += block->instructions;
	stats->executed++;
	stats->isas[block->isa] += block->instructions;
	stats->thread->instructions += block->instructions;
	*stats->cpu += block->instructions;
	if (stats->has_context && !(stats->mode_unknown && *stats->mode_unknown))
		stats->modes[stats->context.mode] += block->instructions;
	else
		stats->no_mode += block->instructions;
	return 0;
}

/* --- Elements. --- */

static void handle_context(struct statistics *stats, const struct flowtap_context *context)
{
	if (context->pid != stats->context.pid || context->tid != stats->context.tid)
		stats->thread = NULL;
	stats->cpu = context->cpu < STATISTICS_CPUS ? &stats->cpus[context->cpu]
						    : &stats->other_cpus;
	stats->context = *context;
	stats->context.mode %= ISA_MODES;
	stats->has_context = true;
}

static void handle_gap(struct statistics *stats, const struct flowtap_gap *element)
{
	struct statistics_gap *gap = &stats->gaps[element->reason];

	gap->n++;
	if (element->since && element->since < element->until)
		gap->ns += element->until - element->since;
	if (element->size && element->size != UINT64_MAX) {
		gap->size += element->size;
		gap->sized++;
	}
}

static void handle_exception(struct statistics *stats, const struct flowtap_exception *exception)
{
	if (exception->interrupt)
		stats->interrupts++;
	else if (exception->number >= 0 && exception->number < STATISTICS_EXCEPTIONS)
		stats->exceptions[exception->number]++;
	else
		stats->other_exceptions++;
}

static int handle_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	struct statistics *stats = (struct statistics *)sink;

	switch (element->kind) {
	case FLOWTAP_ELEMENT_CONTEXT:
		handle_context(stats, &element->context);
		break;
	case FLOWTAP_ELEMENT_GAP:
		handle_gap(stats, &element->gap);
		break;
	case FLOWTAP_ELEMENT_EXCEPTION:
		handle_exception(stats, &element->exception);
		break;
	case FLOWTAP_ELEMENT_TIME:
		if (!stats->first_time)
			stats->first_time = element->time;
		stats->last_time = element->time;
		break;
	case FLOWTAP_ELEMENT_TRACE_ON:
		stats->trace_on++;
		break;
	case FLOWTAP_ELEMENT_TRANSFER:
		stats->transfers++;
		break;
	default:
		break;
	}
	return 0;
}

/* --- The whole. --- */

int statistics_init(struct statistics *stats, struct flowtap_blocks *blocks,
		    struct flowtap_disasm *disasm)
{
	*stats = (struct statistics){
		.sink = { .block = handle_block, .element = handle_element },
		.slot = flowtap_blocks_slot(blocks, NULL),
		.disasm = disasm,
	};
	stats->cpu = &stats->cpus[0];
	if (disasm)
		stats->mnemonics = calloc(STATISTICS_MNEMONICS + 1, sizeof(stats->mnemonics[0]));
	return disasm && !stats->mnemonics ? -ENOMEM : 0;
}

/* They are in an array. */
static void keep(void *mnemonic)
{
	(void)mnemonic;
}

void statistics_free(struct statistics *stats)
{
	tdestroy(stats->names, keep);
	tdestroy(stats->threads, free);
	free(stats->mnemonics);
}

struct collection {
	const struct statistics_thread **list;
	size_t n;
};

static void collect(const void *node, VISIT visit, void *closure)
{
	const struct statistics_thread *thread = *(struct statistics_thread *const *)node;
	struct collection *all = closure;

	if ((visit == postorder || visit == leaf) && thread->instructions)
		all->list[all->n++] = thread;
}

static int busier(const void *one, const void *other)
{
	const struct statistics_thread *a = *(struct statistics_thread *const *)one;
	const struct statistics_thread *b = *(struct statistics_thread *const *)other;

	if (a->instructions != b->instructions)
		return a->instructions > b->instructions ? -1 : 1;
	return compare_threads(a, b);
}

const struct statistics_thread **statistics_threads(const struct statistics *stats, size_t *n)
{
	struct collection all = { .list = calloc(stats->n_threads + 1, sizeof(all.list[0])) };

	if (all.list) {
		twalk_r(stats->threads, collect, &all);
		qsort(all.list, all.n, sizeof(all.list[0]), busier);
	}
	*n = all.n;
	return all.list;
}

static int more_often(const void *one, const void *other)
{
	const struct statistics_mnemonic *a = one, *b = other;

	if (a->n != b->n)
		return a->n > b->n ? -1 : 1;
	return strcmp(a->name, b->name);
}

void statistics_sort_mnemonics(struct statistics *stats)
{
	/* The tree is of no use any more. */
	tdestroy(stats->names, keep);
	stats->names = NULL;
	if (stats->mnemonics)
		qsort(stats->mnemonics, STATISTICS_MNEMONICS + 1, sizeof(stats->mnemonics[0]),
		      more_often);
}
