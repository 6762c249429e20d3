/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random flows, as decoders tell them: walks through random code of one architecture, with traps,
 * returns, gaps and what else there is between. And flows as lines of text, to be compared.
 */
#ifndef FLOWTAP_SELFTESTS_SUPPORT_MADEFLOW_H
#define FLOWTAP_SELFTESTS_SUPPORT_MADEFLOW_H

#include <flowtap/arm.h>
#include <flowtap/block.h>
#include <flowtap/flow.h>
#include <flowtap/riscv.h>
#include <flowtap/text.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/random.h"
#include "support/rv64.h"
#include "support/sink.h"

#define MADE_CODE	(16U << 10)
#define MADE_BASE	0x10000ULL

struct madeflow {
	uint64_t random;
	enum flowtap_isa isas[3];
	unsigned int n_isas;
	struct flowtap_code code;
	uint8_t bytes[MADE_CODE];
	struct flowtap_blocks *blocks;
	struct flowtap_sink *sink;
	struct flowtap_context context;
	uint64_t instructions;
	/*
	 * From A32 to T32 or back by a branch: told as a context, or (silent) by the next block
	 * only.
	 */
	bool silent;
	bool exchanged;
};

static inline uint32_t made_below(struct madeflow *made, uint32_t limit)
{
	return (uint32_t)(random_next(&made->random) >> 20) % limit;
}

static inline size_t made_length(enum flowtap_isa isa, const uint8_t *bytes)
{
	struct flowtap_riscv_insn riscv;
	struct flowtap_arm_insn arm;

	if (isa != FLOWTAP_ISA_RV64)
		return flowtap_arm_classify(isa, 0, 0, bytes, 4, &arm) ? 0 : arm.length;
	return flowtap_riscv_classify(bytes, 4, &riscv) ? 0 : riscv.length;
}

/* Of each transfer there are some. */
static inline uint32_t made_word(struct madeflow *made)
{
	static const uint32_t riscv[] = {
		RV_ECALL, RV_EBREAK, RV_SRET, RV_MRET, RV_C_EBREAK, 0x8082, 0x9502, RV_NOP,
		RV_C_NOP, RV_CSRW_SCTRCTL_A0,
	};
	static const uint32_t arm[] = {
		0xd65f03c0 /* RET */, 0xd69f03e0 /* ERET */, 0xd61f0000 /* BR */,
		0xd5033fdf /* ISB */, 0xd4000001 /* SVC */, 0xd503207f /* WFI */,
		0xe12fff1e /* BX LR */, 0xe1b0f00e /* MOVS PC, LR */, 0x4770bf00 /* NOP; BX LR */,
	};
	uint32_t any = made_below(made, 1 << 16) | made_below(made, 1 << 16) << 16;

	if (made_below(made, 3))
		return any;
	if (made->isas[0] == FLOWTAP_ISA_RV64)
		return riscv[made_below(made, sizeof(riscv) / sizeof(riscv[0]))];
	return arm[made_below(made, sizeof(arm) / sizeof(arm[0]))];
}

static inline void made_begin(struct madeflow *made, uint64_t seed, bool arm,
			      struct flowtap_sink *sink)
{
	static const enum flowtap_isa arms[] = {
		FLOWTAP_ISA_A64, FLOWTAP_ISA_A32, FLOWTAP_ISA_T32
	};

	memset(made, 0, sizeof(*made));
	made->random = seed * 0x9e3779b97f4a7c15 + 0x2545f4914f6cdd1d;
	made->sink = sink;
	made->n_isas = 1;
	made->isas[0] = FLOWTAP_ISA_RV64;
	if (arm) {
		memcpy(made->isas, arms, sizeof(arms));
		made->n_isas = made_below(made, 3) ? 1 : 3;
	}
	for (size_t at = 0; at + 4 <= MADE_CODE;) {
		uint32_t word = made_word(made);
		size_t n;

		memcpy(made->bytes + at, &word, 4);
		n = made_length(made->isas[0], made->bytes + at);
		at += n;
	}
	made->code = (struct flowtap_code){
		.start = MADE_BASE, .end = MADE_BASE + MADE_CODE, .bytes = made->bytes,
	};
	made->blocks = flowtap_blocks_new(arm ? flowtap_arm_block : flowtap_riscv_block, 0);
	if (!made->blocks)
		abort();
	made->context = (struct flowtap_context){
		.pid = made_below(made, 3), .tid = 5, .cpu = made_below(made, 2),
		.isa = made->isas[0], .width = 64, .mode = made_below(made, 2),
	};
}

static inline void made_end(struct madeflow *made)
{
	flowtap_blocks_free(made->blocks);
}

static inline int made_tell(struct madeflow *made, struct flowtap_element element)
{
	return made->sink->element(made->sink, &element);
}

static inline bool made_is_arm(const struct madeflow *made)
{
	return made->isas[0] != FLOWTAP_ISA_RV64;
}

/* Where a block can be. */
static inline struct flowtap_block *made_block(struct madeflow *made, uint64_t address)
{
	struct flowtap_block *block, *cut;
	enum flowtap_isa isa = (enum flowtap_isa)made->context.isa;

	if (address < made->code.start || address >= made->code.end ||
	    ((isa == FLOWTAP_ISA_A64 || isa == FLOWTAP_ISA_A32) && address & 3) ||
	    flowtap_blocks_get(made->blocks, &made->code, isa, address, 0, &block))
		return NULL;
	if (!made_below(made, 12) && block->last &&
	    !flowtap_blocks_get(made->blocks, &made->code, isa, address, address + block->last,
				&cut))
		return cut;
	return block;
}

static inline uint64_t made_anywhere(struct madeflow *made)
{
	uint64_t address;

	do
		address = MADE_BASE + 2ULL * made_below(made, MADE_CODE / 2);
	while (!made_block(made, address));
	return address;
}

static inline int made_context(struct madeflow *made)
{
	return made_tell(made, (struct flowtap_element){
		.kind = FLOWTAP_ELEMENT_CONTEXT, .context = made->context,
	});
}

/* Another context than before; what the PC is forced to may be in any mode and ISA. */
static inline int made_another_context(struct madeflow *made, bool process)
{
	struct flowtap_context before = made->context, *context = &made->context;

	if (process) {
		context->pid = 1 + made_below(made, 3);
		context->tid = context->pid + made_below(made, 2);
		context->cpu = made_below(made, 3);
	}
	context->mode = made_below(made, 4);
	context->isa = made->isas[made_below(made, made->n_isas)];
	if (made_is_arm(made)) {
		context->width = context->isa == FLOWTAP_ISA_A64 ? 64 : 32;
		context->security = made_below(made, 4);
		context->has_vmid = made_below(made, 2);
		context->vmid = context->has_vmid ? made_below(made, 3) : 0;
		context->has_contextid = made_below(made, 2);
		context->contextid = context->has_contextid ? made_below(made, 1000) : 0;
		if (process && !made_below(made, 4))
			context->pid = context->tid = 0;
		context->has_cpu = !context->pid && made_below(made, 2);
	}
	return memcmp(&before, context, sizeof(before)) ? made_context(made) : 0;
}

static inline int made_gap(struct madeflow *made)
{
	static const char *const details[] = { NULL, NULL, "a word", "detail=x size=1 \xff" };
	const struct flowtap_element gap = {
		.kind = FLOWTAP_ELEMENT_GAP,
		.gap = {
			.reason = (enum flowtap_gap_reason)made_below(made, FLOWTAP_GAP_REASONS),
			.since = made_below(made, 2) ? made_below(made, 100000) : 0,
			.until = made_below(made, 2) ? made_below(made, 100000) : 0,
			.size = made_below(made, 2) ? UINT64_MAX : made_below(made, 3),
			.address = made_below(made, 2) ? 0xffffffff80000000 : 0,
			.detail = details[made_below(made, 4)],
		},
	};

	return made_tell(made, gap);
}

/* What breaks the flow: it goes on anywhere. */
static inline int made_break(struct madeflow *made)
{
	static const uint64_t frames[] = { 0x1000, 0xffffffff80001234, 0 };
	int error = 0;

	if (!made_below(made, 3))
		error = made_another_context(made, true);
	switch (made_below(made, 6)) {
	case 0:
		error = error ? error : made_tell(made, (struct flowtap_element){
			.kind = FLOWTAP_ELEMENT_TRANSFER,
			.transfer = { .source = 0x10, .target = made_below(made, 9999),
				      .type = 8 + made_below(made, 8),
				      .mispredicted = made_below(made, 2) } });
		break;
	case 1:
		error = error ? error : made_tell(made, (struct flowtap_element){
			.kind = FLOWTAP_ELEMENT_CALLSTACK,
			.callstack = { .frames = frames, .n = made_below(made, 4) } });
		break;
	case 2:
		error = error ? error : made_tell(made, (struct flowtap_element){
			.kind = made_below(made, 2) ? FLOWTAP_ELEMENT_SESSION :
						      FLOWTAP_ELEMENT_TRACE_ON });
		break;
	case 3:
		if (made_is_arm(made)) {
			error = error ? error : made_tell(made, (struct flowtap_element){
				.kind = FLOWTAP_ELEMENT_Q,
				.q = { .start = made_below(made, 2) * 0x400,
				       .next = made_below(made, 2) * 0x400,
				       .instructions = made_below(made, 9) } });
			break;
		}
		/* fallthrough */
	default:
		error = error ? error : made_gap(made);
		break;
	}
	return error || made_below(made, 2) ? error : made_another_context(made, false);
}

/* What is only noted. */
static inline int made_note(struct madeflow *made)
{
	if (!made_is_arm(made))
		return 0;
	switch (made_below(made, 3)) {
	case 0:
		return made_tell(made, (struct flowtap_element){
			.kind = FLOWTAP_ELEMENT_EVENT, .event = made_below(made, 16) });
	case 1:
		return made_tell(made, (struct flowtap_element){
			.kind = FLOWTAP_ELEMENT_INSTRUMENTATION,
			.instrumentation = { made->random, made_below(made, 4) } });
	default:
		return made_tell(made, (struct flowtap_element){
			.kind = FLOWTAP_ELEMENT_TRANSACTION,
			.transaction = (enum flowtap_transaction)made_below(made, 2) });
	}
}

/* A trap in front of `next`, or of the call that ended the block before. */
static inline int made_exception(struct madeflow *made, uint64_t at, bool known, uint64_t *next)
{
	bool told = made_below(made, 2);
	struct flowtap_element exception = {
		.kind = FLOWTAP_ELEMENT_EXCEPTION,
		.exception = {
			.number = known ? 8 : (int)made_below(made, 20) - 1,
			.interrupt = !known && made_below(made, 2),
			.address = at,
			.target = told ? *next = made_anywhere(made) : 0,
		},
	};
	int error = made_tell(made, exception);

	if (!error && !told) {
		error = made_gap(made);
		*next = made_anywhere(made);
	}
	return error;
}

static inline bool made_transfers(const struct flowtap_block *block)
{
	if (block->isa == FLOWTAP_ISA_RV64)
		return block->end && block->end != FLOWTAP_TRANSFER_RECORDING;
	return block->end >= FLOWTAP_ARM_BRANCH && block->end <= FLOWTAP_ARM_EXCEPTION_RETURN;
}

/* One block, and what comes after it. *address: of the next one. */
static inline int made_step(struct madeflow *made, struct flowtap_block *block, uint64_t *address)
{
	bool arm = made_is_arm(made), taken = made_transfers(block), lost;
	bool call = !arm && block->end == FLOWTAP_TRANSFER_EXCEPTION;
	bool returns = block->end == (arm ? (int)FLOWTAP_ARM_EXCEPTION_RETURN :
					    (int)FLOWTAP_TRANSFER_TRAP_RETURN);
	uint64_t next = block->address + block->size, last = block->address + block->last;
	int error;

	if ((block->conditional || call) && made_below(made, 2))
		taken = false;
	/* Who says that a jump to what is after it was taken? */
	lost = taken && !block->direct && !call && (arm || returns) && !made_below(made, 8);
	if (taken)
		next = block->direct ? block->target : lost || call ? 0 : made_anywhere(made);
	if (!taken && block->end && arm && !made_transfers(block))
		taken = true;
	made->instructions += block->instructions;
	error = made->sink->block(made->sink, block, taken, next);
	if (!error && taken && returns && (!arm || block->isa == FLOWTAP_ISA_A64))
		error = made_tell(made, (struct flowtap_element){
			.kind = FLOWTAP_ELEMENT_EXCEPTION_RETURN });
	if (!error && taken && call) {
		error = made_exception(made, last, made_below(made, 2), &next);
		if (!error && made_below(made, 2) && made->context.mode < FLOWTAP_PRIVILEGE_M) {
			made->context.mode++;
			error = made_context(made);
		}
		*address = next;
		return error;
	}
	if (!error && taken && returns && !lost && made->context.mode && made_below(made, 2)) {
		made->context.mode--;
		error = made_context(made);
	}
	if (!error && lost) {
		error = made_tell(made, (struct flowtap_element){ .kind = FLOWTAP_ELEMENT_GAP,
			.gap = { .reason = FLOWTAP_GAP_NO_ADDRESS, .size = UINT64_MAX } });
		next = made_anywhere(made);
	}
	if (!error && block->target_isa != made->context.isa && taken && block->direct) {
		made->context.isa = block->target_isa;
		made->context.width = 32;
		made->exchanged = made->silent;
		if (!made->silent)
			error = made_context(made);
	}
	*address = next;
	return error;
}

/* So many blocks, the last one after all else. 0 or what the sink returned. */
static inline int made_run(struct madeflow *made, unsigned int blocks)
{
	uint64_t address = 0;
	int error = 0;

	if (made_below(made, 2))
		error = made_context(made);
	if (!error && made_below(made, 2))
		error = made_gap(made);
	if (!error)
		error = made_context(made);
	while (blocks-- && !error) {
		struct flowtap_block *block = made_block(made, address);

		bool exchanged = made->exchanged;

		made->exchanged = false;
		if (!block || (!exchanged && !made_below(made, 40))) {
			if (exchanged)
				error = made_context(made);
			if (address && !error)
				error = made_break(made);
			address = made_anywhere(made);
			while (!(block = made_block(made, address)))
				address = made_anywhere(made);
		} else if (!exchanged && !made_below(made, 30)) {
			error = made_exception(made, address, false, &address);
			while (!(block = made_block(made, address)))
				address = made_anywhere(made);
		} else if (!exchanged && !made_below(made, 20)) {
			error = made_note(made);
		}
		if (!error)
			error = made_step(made, block, &address);
	}
	return error;
}

/* --- Lines. --- */

#define MADE_LINE	256		/* a context */

static inline char *made_copy(char *to, const char *line, size_t size)
{
	memcpy(to, line, size);
	return to + size;
}

/* From A32 to T32 or back each range says: an AArch32 context is the same with either. */
static inline void made_put_context(char told[MADE_LINE], const char *line, size_t size)
{
	if (size >= MADE_LINE)
		abort();
	*made_copy(told, line, size) = '\0';
	if (!strncmp(told, "context T32 ", 12))
		memcpy(told, "context A32 ", 12);
}

/*
 * The flow as text without what `leave_out` begins with, and without contexts that change nothing
 * or in which nothing happened.
 */
static inline char *made_lines(const char *text, const char *const *leave_out)
{
	char told[MADE_LINE] = "", context[MADE_LINE] = "";
	char *lines = malloc(strlen(text) + 1), *to = lines;

	for (const char *line = text, *end; *line; line = end) {
		const char *const *out = leave_out;

		end = strchr(line, '\n');
		end = end ? end + 1 : line + strlen(line);
		while (out && *out && strncmp(line, *out, strlen(*out)))
			out++;
		if (out && *out)
			continue;
		if (!strncmp(line, "context ", 8)) {
			made_put_context(context, line, (size_t)(end - line));
			continue;
		}
		if (strcmp(context, told))
			to = made_copy(to, context, strlen(context));
		strcpy(told, context);
		to = made_copy(to, line, (size_t)(end - line));
	}
	*to = '\0';
	return lines;
}

/* The first line that differs, as text for people; NULL: none. To be freed. */
static inline char *made_differs(const char *a, const char *b)
{
	unsigned int line = 1;
	const char *from_a = a, *from_b = b;
	char *text;

	while (*a && *a == *b) {
		if (*a == '\n') {
			line++;
			from_a = a + 1;
			from_b = b + 1;
		}
		a++;
		b++;
	}
	if (*a == *b)
		return NULL;
	if (asprintf(&text, "line %u: '%.*s', wanted '%.*s'", line, (int)strcspn(from_b, "\n"),
		     from_b, (int)strcspn(from_a, "\n"), from_a) < 0)
		abort();
	return text;
}

#endif /* FLOWTAP_SELFTESTS_SUPPORT_MADEFLOW_H */
