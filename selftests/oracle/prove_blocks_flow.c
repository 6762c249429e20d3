// SPDX-License-Identifier: GPL-2.0-only
/* What the library made of a sample: blocks, transfers or a call stack. */
#include <inttypes.h>
#include <string.h>

#include "prove_blocks.h"

static void tell_steps(struct run *run, size_t step)
{
	const struct window *window = run->drain->window;

	for (size_t i = step > 2 ? step - 2 : 0; i < window->n && i < step + 4; i++)
		tell(run->check, "  %c step %zu: %s 0x%" PRIx64 " %08x", i == step ? '>' : ' ', i,
		     window->steps[i].kind == STEP_INSN ? "executed" :
		     window->steps[i].kind == STEP_TRAP ? "trap at" : "break",
		     window->steps[i].pc, window->steps[i].opcode);
}

/* The `transfer` elements are the entries; true: there are such. */
static bool compare_transfers(struct run *run)
{
	const struct sample *sample = run->sample;
	const struct flowtap_entry *entries = sample_entries(sample);
	uint32_t n = 0;

	for (size_t i = 0; i < sample->n; i++) {
		const struct flow_item *item = &sample->archive->flow.items[sample->first + i];

		if (item->kind != FLOW_TRANSFER)
			continue;
		if (n == sample->record->nr || item->address != (entries[n].source & ~1ULL) ||
		    item->target != (entries[n].target & ~1ULL) ||
		    item->type != (entries[n].data & 15)) {
			wrong(run, "transfer %u of the flow is not the entry", n);
			return true;
		}
		n++;
	}
	if (n && n != sample->record->nr)
		wrong(run, "%u transfers in the flow, %u entries", n, sample->record->nr);
	return n;
}

static bool is_frame(const struct entry *entry, const struct frame *frame)
{
	return entry->source == frame->source && entry->target == frame->target &&
	       entry->data == frame->type;
}

/* ip, then the calls from the innermost on: the top of what has not returned. */
static void compare_callstack(struct run *run, const uint64_t *frames, size_t n)
{
	const struct drain *drain = run->drain;
	const struct task *task = &run->machine.tasks[drain->task];
	bool has_ip = run->sample->record->header.misc & (FLOWTAP_MISC_USER | FLOWTAP_MISC_KERNEL);

	run->check->counts.callstacks++;
	if (has_ip && (!n || *frames++ != run->sample->record->ip || !n--)) {
		wrong(run, "the call stack does not begin with ip");
		return;
	}
	if (n != drain->nr || n > task->frames) {
		wrong(run, "%zu frames in the call stack, %u in the registers, %zu in truth", n,
		      drain->nr, task->frames);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		const struct frame *frame = &task->stack[task->frames - 1 - i];

		if (frames[i] != frame->source || !is_frame(&drain->entries[n - 1 - i], frame)) {
			wrong(run, "frame %zu is 0x%" PRIx64 ", true is 0x%" PRIx64, i, frames[i],
			      frame->source);
			return;
		}
		run->check->counts.frames++;
	}
}

/* What a sample with RASEMU becomes. */
static void compare_callstacks(struct run *run)
{
	const struct sample *sample = run->sample;
	const struct flow *flow = &sample->archive->flow;
	unsigned int n = 0;

	if (run->drain->task == NO_TASK)
		return;
	for (size_t i = 0; i < sample->n; i++) {
		const struct flow_item *item = &flow->items[sample->first + i];

		if (item->kind == FLOW_CALLSTACK) {
			compare_callstack(run, flow->frames + item->frames, item->n);
			n++;
		} else if (item->kind == FLOW_BLOCK) {
			wrong(run, "a call stack has a block at 0x%" PRIx64, item->address);
		}
	}
	if (n != 1)
		wrong(run, "%u call stacks in a sample", n);
}

void prove_flow(struct run *run, struct flow_match *match)
{
	const struct sample *sample = run->sample;
	const struct flow_item *items = sample->archive->flow.items + sample->first;
	bool blocks = false, transfers;

	memset(match, 0, sizeof(*match));
	if (sample->record->nr != run->drain->nr)
		return;
	if (run->drain->control & ORACLE_CONTROL_RASEMU) {
		compare_callstacks(run);
		return;
	}
	transfers = compare_transfers(run);
	for (size_t i = 0; i < sample->n; i++)
		blocks |= items[i].kind == FLOW_BLOCK || items[i].kind == FLOW_EXCEPTION;
	if (transfers && !blocks)
		return;
	match->whole = flow_match(match, items, sample->n, run->drain);
	if (!match->whole && mismatch(run)) {
		tell(run->check, "  %s", match->problem);
		tell_steps(run, match->step);
	}
	run->check->counts.reconstructed += match->instructions;
	run->check->counts.user += match->user;
	sample->archive->reconstructed += match->instructions;
	run->check->counts.skipped += match->skipped;
	run->check->counts.hidden += match->hidden;
}
