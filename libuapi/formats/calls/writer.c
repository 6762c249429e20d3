// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Counts calls by where they lead. The block that comes next says which code is there: its counter
 * is kept with it, and found by key and address the first time.
 */
#include <flowtap/block.h>
#include <flowtap/calls.h>

#include "base/control.h"
#include "base/hash_table.h"
#include "base/vector.h"
#include "base/write_buffer.h"
#include "isa/block_end.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Beyond the keys of blocks: the flow did not go on there; and now it is another process's. */
#define NO_KEY		(1ULL << 32)
#define NO_PROCESS	(2ULL << 32)

struct callee {
	uint64_t key;
	uint64_t address;
	uint64_t calls;
	const char *function;		/* NULL: not known */
	const char *object;
};

struct flowtap_calls {
	struct flowtap_sink sink;
	struct flowtap_slot slot;	/* of what is called: its index */
	struct flowtap_calls_options options;
	struct flowtap_write_buffer out;
	struct callee *callees;
	uint32_t n;
	struct flowtap_hash_table table;
	uint64_t unknown;
	uint64_t others;
	uint32_t pid;			/* of the context */
	uint64_t target;		/* of the call before, that was not counted yet; */
	bool called;			/* there is one */
	bool ran;			/* a block came */
};

static uint64_t hash_of(uint64_t key, uint64_t address)
{
	return flowtap_hash_words((const uint64_t[]){ key, address }, 2);
}

/* *index: FLOWTAP_CALLS_MAX where there are too many. 0 or -ENOMEM. */
static int add_callee(struct flowtap_calls *calls, uint64_t key, uint64_t address, uint32_t *index)
{
	const struct flowtap_calls_options *options = &calls->options;
	struct callee *callee;
	uint64_t offset;

	*index = FLOWTAP_CALLS_MAX;
	if (calls->n == FLOWTAP_CALLS_MAX)
		return 0;
	if (FLOWTAP_GROW(calls->callees, calls->n) ||
	    flowtap_hash_table_add(&calls->table, hash_of(key, address), calls->n))
		return -ENOMEM;
	callee = &calls->callees[calls->n];
	*callee = (struct callee){ .key = key, .address = address };
	if (options->symbol && key != NO_PROCESS)
		callee->function = options->symbol(options->argument, address, &offset);
	if (options->object && key != NO_PROCESS)
		callee->object = options->object(options->argument, address);
	*index = calls->n++;
	return 0;
}

static int find_callee(struct flowtap_calls *calls, uint64_t key, uint64_t address, uint32_t *index)
{
	struct flowtap_hash_table_walk walk =
		flowtap_hash_table_walk(&calls->table, hash_of(key, address));

	while (flowtap_hash_table_next(&walk, index))
		if (calls->callees[*index].key == key && calls->callees[*index].address == address)
			return 0;
	return add_callee(calls, key, address, index);
}

static void count(struct flowtap_calls *calls, uint32_t index)
{
	calls->called = false;
	if (index == FLOWTAP_CALLS_MAX)
		calls->others++;
	else
		calls->callees[index].calls++;
}

/* No block shows what is there. key: one of those above. */
static int count_address(struct flowtap_calls *calls, uint64_t key)
{
	uint32_t index;
	int error;

	calls->called = false;
	if (!calls->target) {
		calls->unknown++;
		return 0;
	}
	error = find_callee(calls, key, calls->target, &index);
	if (!error)
		count(calls, index);
	return error;
}

static int count_block(struct flowtap_calls *calls, const struct flowtap_block *block)
{
	const struct flowtap_render *kept = flowtap_slot_find(&calls->slot, block);
	struct flowtap_render made = { .size = 0 };
	uint32_t index;
	int error;

	if (block->address != calls->target)
		return count_address(calls, NO_KEY);
	if (kept) {
		count(calls, kept->mark);
		return 0;
	}
	error = find_callee(calls, block->key, block->address, &index);
	if (error)
		return error;
	made.mark = index;
	flowtap_slot_keep(&calls->slot, block, &made, 0);
	count(calls, index);
	return 0;
}

static bool is_call(const struct flowtap_block *block)
{
	if (isa_is_arm(block->isa))
		return block->link;
	return block->end == FLOWTAP_TRANSFER_INDIRECT_CALL ||
	       block->end == FLOWTAP_TRANSFER_DIRECT_CALL;
}

static int handle_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
			uint64_t target)
{
	struct flowtap_calls *calls = (struct flowtap_calls *)sink;
	int error = calls->called ? count_block(calls, block) : 0;

	calls->ran = true;
	if (!error && taken && is_call(block)) {
		calls->called = true;
		calls->target = target;
	}
	return error;
}

/* What says more of the call, or is only noted, does not part it from what is called. */
static int handle_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	struct flowtap_calls *calls = (struct flowtap_calls *)sink;
	const uint32_t before = calls->pid;

	switch (element->kind) {
	case FLOWTAP_ELEMENT_TIME:
	case FLOWTAP_ELEMENT_CYCLES:
	case FLOWTAP_ELEMENT_MISPREDICTED:
	case FLOWTAP_ELEMENT_TIMESTAMP:
	case FLOWTAP_ELEMENT_MARKER:
	case FLOWTAP_ELEMENT_EVENT:
	case FLOWTAP_ELEMENT_INSTRUMENTATION:
	case FLOWTAP_ELEMENT_SOURCE:
		return 0;
	case FLOWTAP_ELEMENT_CONTEXT:
		calls->pid = element->context.pid;
		break;
	default:
		break;
	}
	if (!calls->called)
		return 0;
	return count_address(calls, calls->pid == before ? NO_KEY : NO_PROCESS);
}

/* --- What is printed. --- */

static int compare_text(const char *one, const char *other)
{
	if (!one || !other)
		return !one - !other;
	return strcmp(one, other);
}

/* A function is at other addresses in other processes; without a name only its address names it. */
static int same(const void *one, const void *other)
{
	const struct callee *a = one, *b = other;
	int order = compare_text(a->function, b->function);

	if (!order)
		order = compare_text(a->object, b->object);
	if (!order && !a->function)
		order = (a->address > b->address) - (a->address < b->address);
	return order;
}

static int more(const void *one, const void *other)
{
	const struct callee *a = one, *b = other;

	return a->calls != b->calls ? (a->calls < b->calls) - (a->calls > b->calls) : same(a, b);
}

static uint32_t merge(struct callee *list, uint32_t n)
{
	uint32_t merged = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (merged && !same(&list[merged - 1], &list[i]))
			list[merged - 1].calls += list[i].calls;
		else
			list[merged++] = list[i];
	}
	return merged;
}

/* Names come from files that anybody may have made: one that breaks the line is cut there. */
static void write_text(struct flowtap_calls *calls, const char *text)
{
	size_t size = 0;

	while (text[size] && !flowtap_control_size(text + size))
		size++;
	flowtap_write_buffer_add(&calls->out, text, size);
}

static void write_line(struct flowtap_calls *calls, uint64_t n, const char *function,
		       const char *object)
{
	char number[32];

	snprintf(number, sizeof(number), "%" PRIu64 " ", n);
	write_text(calls, number);
	write_text(calls, function);
	write_text(calls, " ");
	write_text(calls, object ? object : "-");
	flowtap_write_buffer_add(&calls->out, "\n", 1);
}

static void write_callee(struct flowtap_calls *calls, const struct callee *callee)
{
	char address[32];

	snprintf(address, sizeof(address), "0x%" PRIx64, callee->address);
	write_line(calls, callee->calls, callee->function ? callee->function : address,
		   callee->object);
}

int flowtap_calls_finish(struct flowtap_calls *calls)
{
	static const char head[] = "# calls function object\n";
	int error = calls->called ? count_address(calls, NO_KEY) : 0;

	if (error)
		return error;
	if (!calls->ran)
		return -ENODATA;
	if (calls->n)
		qsort(calls->callees, calls->n, sizeof(calls->callees[0]), same);
	calls->n = merge(calls->callees, calls->n);
	if (calls->n)
		qsort(calls->callees, calls->n, sizeof(calls->callees[0]), more);
	flowtap_write_buffer_add(&calls->out, head, sizeof(head) - 1);
	for (uint32_t i = 0; i < calls->n; i++)
		write_callee(calls, &calls->callees[i]);
	if (calls->others)
		write_line(calls, calls->others, "(others)", NULL);
	if (calls->unknown)
		write_line(calls, calls->unknown, "(unknown)", NULL);
	return flowtap_write_buffer_flush(&calls->out);
}

/* --- The sink. --- */

int flowtap_calls_new(int fd, const struct flowtap_calls_options *options,
		      struct flowtap_calls **calls)
{
	struct flowtap_calls *new = calloc(1, sizeof(*new));

	*calls = NULL;
	if (!new)
		return -ENOMEM;
	if (flowtap_write_buffer_init(&new->out, fd)) {
		free(new);
		return -ENOMEM;
	}
	new->sink.block = handle_block;
	new->sink.element = handle_element;
	new->slot = flowtap_blocks_slot(options->blocks, NULL);
	new->options = *options;
	*calls = new;
	return 0;
}

struct flowtap_sink *flowtap_calls_sink(struct flowtap_calls *calls)
{
	return &calls->sink;
}

void flowtap_calls_free(struct flowtap_calls *calls)
{
	if (!calls)
		return;
	flowtap_hash_table_free(&calls->table);
	flowtap_write_buffer_free(&calls->out);
	free(calls->callees);
	free(calls);
}
