// SPDX-License-Identifier: GPL-2.0-only
#include "stat/census.h"

#include "common/isa.h"

#include <errno.h>
#include <flowtap/disasm.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

/*
 * What a block adds each time it is executed, kept with it where a format keeps its bytes: kinds of
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
	const struct census_mnemonic *a = one, *b = other;

	return strcmp(a->name, b->name);
}

/* The first word. The last place is for all that find none. */
static uint16_t mnemonic_of(struct census *census, const char *text)
{
	struct census_mnemonic *made = &census->mnemonics[census->n_mnemonics];
	struct census_mnemonic **found;
	size_t size = strcspn(text, " \t");

	*made = (struct census_mnemonic){ .n = 0 };
	memcpy(made->name, text, size < sizeof(made->name) ? size : sizeof(made->name) - 1);
	found = census->n_mnemonics == CENSUS_MNEMONICS ? tfind(made, &census->names, compare_names) :
							  tsearch(made, &census->names, compare_names);
	if (!found) {
		made->name[0] = 0;
		strcpy(census->mnemonics[CENSUS_MNEMONICS].name, "(others)");
		return CENSUS_MNEMONICS;
	}
	if (*found == made)
		census->n_mnemonics++;
	return (uint16_t)(*found - census->mnemonics);
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

static void share_mnemonics(struct census *census, const struct flowtap_block *block,
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
		flowtap_disasm_text(census->disasm, isa, it, block->address + at,
				    block->bytes + at, size, text, sizeof(text));
		add_share(shares, n, mnemonic_of(census, text));
		it = isa_it_behind(isa, it, block->address + at, block->bytes + at, size);
	}
}

/* Made once for each block. NULL: no memory. */
static const struct shares *make_shares(struct census *census, struct flowtap_block *block)
{
	struct flowtap_render *render = &block->render[FLOWTAP_RENDER_FLOW];
	enum flowtap_isa isa = (enum flowtap_isa)block->isa;
	size_t room = MIX_KINDS + (census->disasm ? block->instructions : 0), size;
	struct shares *shares = malloc(sizeof(*shares) + room * sizeof(shares->shares[0]));

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
	if (census->disasm)
		share_mnemonics(census, block, shares->shares + shares->n_mix,
				&shares->n_mnemonics);
	render->bytes = shares;
	render->size = (uint32_t)(sizeof(*shares) + room * sizeof(shares->shares[0]));
	flowtap_blocks_charge(census->blocks, render->size);
	census->distinct++;
	census->bytes += block->size;
	return shares;
}

/* --- Who runs. --- */

static int compare_threads(const void *one, const void *other)
{
	const struct census_thread *a = one, *b = other;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return a->tid < b->tid ? -1 : a->tid > b->tid;
}

static struct census_thread *thread_of(struct census *census, uint32_t pid, uint32_t tid)
{
	struct census_thread wanted = { .pid = pid, .tid = tid }, *made;
	struct census_thread **found = tfind(&wanted, &census->threads, compare_threads);

	if (found)
		return *found;
	if (census->n_threads == CENSUS_THREADS)
		return pid == UINT32_MAX ? NULL : thread_of(census, UINT32_MAX, UINT32_MAX);
	/* The last one is for the others. */
	if (census->n_threads == CENSUS_THREADS - 1)
		wanted.pid = wanted.tid = UINT32_MAX;
	made = malloc(sizeof(*made));
	if (!made)
		return NULL;
	*made = wanted;
	if (!tsearch(made, &census->threads, compare_threads)) {
		free(made);
		return NULL;
	}
	census->n_threads++;
	return made;
}

static int take_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
		      uint64_t target)
{
	struct census *census = (struct census *)sink;
	const struct shares *shares = block->render[FLOWTAP_RENDER_FLOW].bytes;
	const struct share *share;

	(void)target;
	if (!shares)
		shares = make_shares(census, (struct flowtap_block *)block);
	if (!census->thread) {
		census->thread = thread_of(census, census->context.pid, census->context.tid);
		if (census->thread)
			census->thread->turns++;
	}
	if (!shares || !census->thread)
		return -ENOMEM;
	share = shares->shares;
	for (uint32_t i = 0; i < shares->n_mix; i++, share++)
		census->mix[share->what] += share->n;
	for (uint32_t i = 0; i < shares->n_mnemonics; i++, share++)
		census->mnemonics[share->what].n += share->n;
	census->mix[mix_of_end(block, taken)]++;
	census->instructions += block->instructions;
	census->executed++;
	census->isas[block->isa] += block->instructions;
	census->thread->instructions += block->instructions;
	*census->cpu += block->instructions;
	if (census->has_context && !(census->mode_unknown && *census->mode_unknown))
		census->modes[census->context.mode] += block->instructions;
	else
		census->no_mode += block->instructions;
	return 0;
}

/* --- Elements. --- */

static void take_context(struct census *census, const struct flowtap_context *context)
{
	if (context->pid != census->context.pid || context->tid != census->context.tid)
		census->thread = NULL;
	census->cpu = context->cpu < CENSUS_CPUS ? &census->cpus[context->cpu] : &census->other_cpus;
	census->context = *context;
	census->context.mode %= ISA_MODES;
	census->has_context = true;
}

static void take_gap(struct census *census, const struct flowtap_gap *element)
{
	struct census_gap *gap = &census->gaps[element->reason];

	gap->n++;
	if (element->since && element->since < element->until)
		gap->ns += element->until - element->since;
	if (element->size && element->size != UINT64_MAX) {
		gap->size += element->size;
		gap->sized++;
	}
}

static void take_exception(struct census *census, const struct flowtap_exception *exception)
{
	if (exception->interrupt)
		census->interrupts++;
	else if (exception->number >= 0 && exception->number < CENSUS_EXCEPTIONS)
		census->exceptions[exception->number]++;
	else
		census->other_exceptions++;
}

static int take_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	struct census *census = (struct census *)sink;

	switch (element->kind) {
	case FLOWTAP_ELEMENT_CONTEXT:
		take_context(census, &element->context);
		break;
	case FLOWTAP_ELEMENT_GAP:
		take_gap(census, &element->gap);
		break;
	case FLOWTAP_ELEMENT_EXCEPTION:
		take_exception(census, &element->exception);
		break;
	case FLOWTAP_ELEMENT_TIME:
		if (!census->first_time)
			census->first_time = element->time;
		census->last_time = element->time;
		break;
	case FLOWTAP_ELEMENT_TRACE_ON:
		census->trace_on++;
		break;
	case FLOWTAP_ELEMENT_TRANSFER:
		census->transfers++;
		break;
	default:
		break;
	}
	return 0;
}

/* --- The whole. --- */

int census_init(struct census *census, struct flowtap_blocks *blocks,
		struct flowtap_disasm *disasm)
{
	*census = (struct census){
		.sink = { .block = take_block, .element = take_element },
		.blocks = blocks,
		.disasm = disasm,
	};
	census->cpu = &census->cpus[0];
	if (disasm)
		census->mnemonics = calloc(CENSUS_MNEMONICS + 1, sizeof(census->mnemonics[0]));
	return disasm && !census->mnemonics ? -ENOMEM : 0;
}

/* They are in an array. */
static void keep(void *mnemonic)
{
	(void)mnemonic;
}

void census_free(struct census *census)
{
	tdestroy(census->names, keep);
	tdestroy(census->threads, free);
	free(census->mnemonics);
}

struct collection {
	const struct census_thread **list;
	size_t n;
};

static void collect(const void *node, VISIT visit, void *closure)
{
	const struct census_thread *thread = *(struct census_thread *const *)node;
	struct collection *all = closure;

	if ((visit == postorder || visit == leaf) && thread->instructions)
		all->list[all->n++] = thread;
}

static int busier(const void *one, const void *other)
{
	const struct census_thread *a = *(struct census_thread *const *)one;
	const struct census_thread *b = *(struct census_thread *const *)other;

	if (a->instructions != b->instructions)
		return a->instructions > b->instructions ? -1 : 1;
	return compare_threads(a, b);
}

const struct census_thread **census_threads(const struct census *census, size_t *n)
{
	struct collection all = { .list = calloc(census->n_threads + 1, sizeof(all.list[0])) };

	if (all.list) {
		twalk_r(census->threads, collect, &all);
		qsort(all.list, all.n, sizeof(all.list[0]), busier);
	}
	*n = all.n;
	return all.list;
}

static int more_often(const void *one, const void *other)
{
	const struct census_mnemonic *a = one, *b = other;

	if (a->n != b->n)
		return a->n > b->n ? -1 : 1;
	return strcmp(a->name, b->name);
}

void census_sort_mnemonics(struct census *census)
{
	/* The tree is of no use any more. */
	tdestroy(census->names, keep);
	census->names = NULL;
	if (census->mnemonics)
		qsort(census->mnemonics, CENSUS_MNEMONICS + 1, sizeof(census->mnemonics[0]),
		      more_often);
}
