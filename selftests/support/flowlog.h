/* SPDX-License-Identifier: GPL-2.0-only */
/* A sink that takes blocks apart into instructions and keeps what it is told; lists to compare. */
#ifndef FLOWTAP_SELFTESTS_SUPPORT_FLOWLOG_H
#define FLOWTAP_SELFTESTS_SUPPORT_FLOWLOG_H

#include <flowtap/block.h>
#include <flowtap/flow.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum item_kind {
	ITEM_INSN,		/* address */
	ITEM_END,		/* of a block: taken, target */
	ITEM_CONTEXT,		/* pid, tid, cpu and mode << 32 */
	ITEM_TIME,
	ITEM_GAP,		/* reason */
	ITEM_EXCEPTION,		/* address, number, target and interrupt in bit 0 */
	ITEM_ERET,
	ITEM_MISPREDICTED,
	ITEM_CYCLES,		/* count, at_least */
	ITEM_TRANSFER,		/* source, target, type and mispredicted << 8 */
	ITEM_FRAME,
	ITEM_BROKEN,		/* a block that contradicts itself */
};

struct item {
	enum item_kind kind;
	uint64_t a, b, c;
};

struct items {
	struct item *list;
	size_t n;
	size_t capacity;
};

static inline void add_item(struct items *items, enum item_kind kind, uint64_t a, uint64_t b,
			    uint64_t c)
{
	if (items->n == items->capacity) {
		items->capacity = items->capacity ? 2 * items->capacity : 1024;
		items->list = realloc(items->list, items->capacity * sizeof(*items->list));
		if (!items->list)
			abort();
	}
	items->list[items->n++] = (struct item){ kind, a, b, c };
}

struct flowlog {
	struct flowtap_sink sink;
	struct items items;
	uint64_t instructions;
	uint64_t blocks;
	struct flowtap_gap gap;		/* the last one, detail in `detail` */
	char detail[256];
	int fail_after;			/* elements and blocks, then -EIO; -1 never */
};

static inline int flowlog_block(struct flowtap_sink *sink, const struct flowtap_block *block,
				bool taken, uint64_t target)
{
	struct flowlog *log = (struct flowlog *)sink;
	uint32_t n = 0, last = 0, at;

	if (!log->fail_after)
		return -5;
	log->fail_after -= log->fail_after > 0;
	for (at = 0; at < block->size; n++) {
		add_item(&log->items, ITEM_INSN, block->address + at, 0, 0);
		last = at;
		at += (block->bytes[at] & 3) == 3 ? 4 : 2;
	}
	if (at != block->size || n != block->instructions || last != block->last || !n)
		add_item(&log->items, ITEM_BROKEN, block->address, block->size, n);
	if (block->end)
		add_item(&log->items, ITEM_END, taken, target, 0);
	else if (taken || target != block->address + block->size)
		add_item(&log->items, ITEM_BROKEN, block->address, target, taken);
	log->instructions += n;
	log->blocks++;
	return 0;
}

static inline int flowlog_element(struct flowtap_sink *sink, const struct flowtap_element *e)
{
	struct flowlog *log = (struct flowlog *)sink;
	struct items *items = &log->items;

	if (!log->fail_after)
		return -5;
	log->fail_after -= log->fail_after > 0;
	switch (e->kind) {
	case FLOWTAP_ELEMENT_CONTEXT:
		add_item(items, ITEM_CONTEXT, e->context.pid, e->context.tid,
			 e->context.cpu | (uint64_t)e->context.mode << 32);
		break;
	case FLOWTAP_ELEMENT_TIME:
		add_item(items, ITEM_TIME, e->time, 0, 0);
		break;
	case FLOWTAP_ELEMENT_GAP:
		add_item(items, ITEM_GAP, e->gap.reason, 0, 0);
		log->gap = e->gap;
		snprintf(log->detail, sizeof(log->detail), "%s",
			 e->gap.detail ? e->gap.detail : "");
		break;
	case FLOWTAP_ELEMENT_EXCEPTION:
		add_item(items, ITEM_EXCEPTION, e->exception.address, e->exception.number,
			 e->exception.target | e->exception.interrupt);
		break;
	case FLOWTAP_ELEMENT_EXCEPTION_RETURN:
		add_item(items, ITEM_ERET, 0, 0, 0);
		break;
	case FLOWTAP_ELEMENT_MISPREDICTED:
		add_item(items, ITEM_MISPREDICTED, 0, 0, 0);
		break;
	case FLOWTAP_ELEMENT_CYCLES:
		add_item(items, ITEM_CYCLES, e->cycles.count, e->cycles.at_least, 0);
		break;
	case FLOWTAP_ELEMENT_TRANSFER:
		add_item(items, ITEM_TRANSFER, e->transfer.source, e->transfer.target,
			 e->transfer.type | e->transfer.mispredicted << 8);
		break;
	case FLOWTAP_ELEMENT_CALLSTACK:
		for (size_t i = 0; i < e->callstack.n; i++)
			add_item(items, ITEM_FRAME, e->callstack.frames[i], i, e->callstack.n);
		break;
	default:
		add_item(items, ITEM_BROKEN, e->kind, 0, 0);
		break;
	}
	return 0;
}

static inline void flowlog_init(struct flowlog *log)
{
	*log = (struct flowlog){
		.sink = { .block = flowlog_block, .element = flowlog_element },
		.fail_after = -1,
	};
}

static inline void print_item(const char *who, const struct item *item)
{
	static const char *const names[] = {
		"insn", "end", "context", "time", "gap", "exception", "eret", "mispredicted",
		"cycles", "transfer", "frame", "BROKEN",
	};

	if (item)
		printf("# %s %s %#" PRIx64 " %#" PRIx64 " %#" PRIx64 " %s\n", who,
		       names[item->kind], item->a, item->b, item->c,
		       item->kind == ITEM_GAP ? flowtap_gap_name(item->a) : "");
	else
		printf("# %s nothing\n", who);
}

/* Whether both are the same; says where they part if they are not. */
static inline bool same_items(const struct items *expected, const struct items *seen)
{
	size_t i = 0;

	while (i < expected->n && i < seen->n &&
	       !memcmp(&expected->list[i].a, &seen->list[i].a, 3 * sizeof(uint64_t)) &&
	       expected->list[i].kind == seen->list[i].kind)
		i++;
	if (i == expected->n && i == seen->n)
		return true;
	for (size_t k = i > 8 ? i - 8 : 0; k < i; k++)
		print_item("both    ", &expected->list[k]);
	print_item("expected", i < expected->n ? &expected->list[i] : NULL);
	print_item("seen    ", i < seen->n ? &seen->list[i] : NULL);
	fflush(stdout);
	return false;
}

#endif /* FLOWTAP_SELFTESTS_SUPPORT_FLOWLOG_H */
