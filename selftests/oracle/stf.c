// SPDX-License-Identifier: GPL-2.0-only
/*
 * Follows the flow's blocks with each instruction that stfcheck reports, and stops at the first
 * difference.
 */
#include "stf.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"
#include "stfcheck/stfcheck.h"

/* Where in the flow the next instruction is. */
struct cursor {
	const struct flow *flow;
	size_t item;
	uint32_t offset;
	char *why;
	size_t size;
};

static const struct flow_item *next_block(struct cursor *cursor)
{
	while (cursor->item < cursor->flow->n) {
		const struct flow_item *item = &cursor->flow->items[cursor->item];

		if (item->kind == FLOW_BLOCK && cursor->offset < item->size)
			return item;
		cursor->item++;
		cursor->offset = 0;
	}
	return NULL;
}

static int on_insn(void *argument, const struct stfcheck_insn *insn)
{
	struct cursor *cursor = argument;
	const struct flow_item *item = next_block(cursor);
	uint32_t opcode = 0, length;

	if (!item) {
		snprintf(cursor->why, cursor->size, "the flow ends before instruction %" PRIu64,
			 insn->index);
		return -EBADMSG;
	}
	length = oracle_length(item->bytes[cursor->offset]);
	memcpy(&opcode, item->bytes + cursor->offset, length);
	if (insn->pc != item->address + cursor->offset || insn->opcode != opcode ||
	    insn->size != length || insn->mode != item->mode || insn->pid != item->pid ||
	    insn->tid != item->tid) {
		snprintf(cursor->why, cursor->size, "instruction %" PRIu64 " is 0x%" PRIx64
			 " (%08x) of tid %u in mode %u, the flow has 0x%" PRIx64 " (%08x) of tid %u",
			 insn->index, insn->pc, insn->opcode, insn->tid, insn->mode,
			 item->address + cursor->offset, opcode, item->tid);
		return -EBADMSG;
	}
	cursor->offset += length;
	if (insn->taken && (cursor->offset != item->size || !item->taken ||
			    insn->target != item->target)) {
		snprintf(cursor->why, cursor->size, "instruction %" PRIu64 " at 0x%" PRIx64
			 " goes to 0x%" PRIx64 ", not so in the flow", insn->index, insn->pc,
			 insn->target);
		return -EBADMSG;
	}
	return 0;
}

int stf_compare(const char *path, const struct flow *flow, uint64_t *instructions, char *why,
		size_t size)
{
	struct cursor cursor = { .flow = flow, .why = why, .size = size };
	struct stfcheck check = { .strict = true, .insn = on_insn, .argument = &cursor };
	uint8_t *bytes;
	size_t n;
	int err = stfcheck_load(path, &bytes, &n);

	*why = 0;
	if (err)
		return err;
	err = stfcheck_run(&check, bytes, n);
	free(bytes);
	*instructions = check.counts.instructions;
	if (err && !*why)
		snprintf(why, size, "at %" PRIu64 ": %s", check.offset, check.reason);
	if (err)
		return -EBADMSG;
	if (next_block(&cursor)) {
		snprintf(why, size, "it ends after instruction %" PRIu64 ", the flow does not",
			 check.counts.instructions);
		return -EBADMSG;
	}
	return 0;
}
