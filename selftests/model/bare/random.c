// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Random programs that end: functions that call one another, loops, branches that depend on data. A
 * budget of calls in x28 and the depth of calls in x27 bound it. x19 is what decides (an LCG), x20
 * to x22 count loops, x9 to x15 are data, x23 the scratch on the stack, x24 and x25 the LCG's
 * constants, x26 pages that may fault (0: none).
 */
#include "bare.h"

#define FUNCTIONS 128

/* The assembler says what each is; 0 where a register or a distance is to be put in. */
#define WORDS(X) \
	X(ADD, "add x0, x0, x0") X(SUB, "sub x0, x0, x0") X(EOR, "eor x0, x0, x0") \
	X(AND, "and x0, x0, x0") X(ORR, "orr x0, x0, x0") X(MUL, "mul x0, x0, x0") \
	X(ADD_SHIFTED, "add x0, x0, x0, lsl #3") X(EOR_SHIFTED, "eor x0, x0, x0, lsr #5") \
	X(STEP, "madd x19, x19, x24, x25") \
	X(COMPARE, "cmp x19, x9") X(B_COND, "b.eq .") X(TEST, "tst x19, #0x70000000") \
	X(SOME_BITS, "and x16, x19, x24") X(CBZ_W, "cbz w16, .") \
	X(TWO_BITS, "ubfx x16, x19, #40, #2") X(CBZ, "cbz x16, .") X(TBZ, "tbz x19, #0, .") \
	X(B, "b .") X(BL, "bl .") X(ADR, "adr x16, .") X(BLR, "blr x16") X(BR, "br x16") \
	X(SIGN, "paciza x16") X(BLR_SIGNED, "blraaz x16") X(BR_SIGNED, "braaz x16") \
	X(COUNT, "movz x0, #0") X(LESS, "sub x0, x0, #1") X(LESS_FLAGS, "subs x0, x0, #1") \
	X(CBNZ, "cbnz x0, .") X(B_NE, "b.ne .") \
	X(WAY, "ubfx x17, x19, #37, #3") X(TO_WAY, "add x16, x16, x17, lsl #4") \
	X(SVC, "svc #2") X(ISB, "isb") X(YIELD, "yield") X(DSB, "dsb ish") X(UDF, "udf #9") \
	X(BRK, "brk #1") X(CBZ_LAZY, "cbz x26, .") X(PAGE, "ubfx x16, x19, #32, #4") \
	X(PAGE_OFFSET, "lsl x16, x16, #12") X(LAZY, "ldr x16, [x26, x16]") \
	X(STORE, "str x0, [x23]") X(LOAD, "ldr x0, [x23]") \
	X(KEY, "paciasp") X(PUSH, "stp x20, x21, [sp, #-48]!") X(PUSH_2, "stp x22, x30, [sp, #16]") \
	X(BUDGET, "subs x28, x28, #1") X(B_LE, "b.le .") X(DEEPER, "add x27, x27, #1") \
	X(DEEP, "cmp x27, #40") X(B_HI, "b.hi .") X(HIGHER, "sub x27, x27, #1") \
	X(POP_2, "ldp x22, x30, [sp, #16]") X(POP, "ldp x20, x21, [sp], #48") \
	X(RET, "ret") X(RET_SIGNED, "retaa") \
	X(S1, "stp x29, x30, [sp, #-128]!") X(S2, "stp x19, x20, [sp, #16]") \
	X(S3, "stp x21, x22, [sp, #32]") X(S4, "stp x23, x24, [sp, #48]") \
	X(S5, "stp x25, x26, [sp, #64]") X(S6, "stp x27, x28, [sp, #80]") \
	X(S7, "sub sp, sp, #256") X(S8, "mov x23, sp") X(S9, "mov x19, x0") \
	X(S10, "movz x24, #0xe2d5") X(S11, "movk x24, #0x4da7, lsl #16") \
	X(S12, "movk x24, #0x7857, lsl #32") X(S13, "movz x25, #0x7aff") X(S14, "mov x27, #0") \
	X(S15, "mov x28, #1000") X(L0, "cmp x28, #0") X(B_GT, "b.gt .") \
	X(L1, "add sp, sp, #256") X(L2, "ldp x19, x20, [sp, #16]") X(L3, "ldp x21, x22, [sp, #32]") \
	X(L4, "ldp x23, x24, [sp, #48]") X(L5, "ldp x25, x26, [sp, #64]") \
	X(L6, "ldp x27, x28, [sp, #80]") X(L7, "ldp x29, x30, [sp], #128") X(L8, "ret")

enum word {
#define X(name, text) name,
	WORDS(X)
#undef X
	NWORDS
};

extern const u32 words[NWORDS];
#define X(name, text) text "\n"
__asm__(".pushsection .rodata\n.balign 8\n.arch armv8.5-a\nwords:\n" WORDS(X) ".popsection");
#undef X


struct generator {
	u32 *code;
	size_t n, capacity;
	u64 state;
	unsigned int functions;
	u32 starts[FUNCTIONS];	/* where each function is; calls are filled in at the end */
	struct { u32 at; u16 function; u8 kind; } calls[8192];
	unsigned int ncalls;
};

enum { CALL_BL, CALL_ADR };

static struct generator generators[CPUS];

static u32 rnd(struct generator *g, u32 n)
{
	g->state = g->state * 6364136223846793005 + 1442695040888963407;
	return (g->state >> 33) % n;
}

static u32 emit(struct generator *g, u32 insn)
{
	if (g->n == g->capacity)
		panic("no room for a random program");
	g->code[g->n] = insn;
	return g->n++;
}

static u32 word(struct generator *g, enum word word)
{
	return emit(g, words[word]);
}

/* Destination and sources: x9 to x15. */
static void straight(struct generator *g, u32 n)
{
	while (n--)
		emit(g, words[ADD + rnd(g, EOR_SHIFTED + 1 - ADD)] | (9 + rnd(g, 7)) |
		     (9 + rnd(g, 7)) << 5 | (9 + rnd(g, 7)) << 16);
}

/* A conditional branch over what follows; returns where to put the distance in. */
static u32 branch(struct generator *g)
{
	u32 bit = 16 + rnd(g, 48), not = rnd(g, 2) << 24;

	switch (rnd(g, 6)) {
	case 0:
		word(g, COMPARE);
		return emit(g, words[B_COND] | rnd(g, 14));
	case 1:
		word(g, TEST);
		return emit(g, words[B_COND] | rnd(g, 2));
	case 2:
		word(g, SOME_BITS);
		return emit(g, words[CBZ_W] | not);
	case 3:
		word(g, TWO_BITS);
		return emit(g, words[CBZ] | not);
	default:
		return emit(g, words[TBZ] | not | (bit & 31) << 19 | (bit >> 5) << 31);
	}
}

static void patch(struct generator *g, u32 at)
{
	u32 distance = g->n - at, insn = g->code[at];

	if (distance >= 1 << 13)
		panic("a branch of a random program goes too far");
	if ((insn & 0x7e000000) == 0x36000000)
		g->code[at] = insn | (distance & 0x3fff) << 5;
	else if ((insn & 0x7c000000) == 0x14000000)
		g->code[at] = insn | (distance & 0x3ffffff);
	else
		g->code[at] = insn | (distance & 0x7ffff) << 5;
}

static void call(struct generator *g)
{
	u32 kind = rnd(g, 5);

	if (g->ncalls == ARRAY_SIZE(g->calls))
		return;
	g->calls[g->ncalls].at = g->n;
	g->calls[g->ncalls].kind = kind < 3 ? CALL_BL : CALL_ADR;
	g->calls[g->ncalls++].function = rnd(g, g->functions);
	word(g, kind < 3 ? BL : ADR);
	if (kind == 4)
		word(g, SIGN);
	if (kind >= 3)
		word(g, kind == 4 ? BLR_SIGNED : BLR);
}

static void block(struct generator *g, u32 nesting);

/* Forward, over a block; often with another on the other way. */
static void choice(struct generator *g, u32 nesting)
{
	u32 at = branch(g), other;

	block(g, nesting + 1);
	if (rnd(g, 2)) {
		patch(g, at);
		return;
	}
	other = word(g, B);
	patch(g, at);
	block(g, nesting + 1);
	patch(g, other);
}

static void loop(struct generator *g, u32 nesting)
{
	u32 counter = 20 + nesting;
	bool flags = rnd(g, 2);
	u32 top;

	emit(g, words[COUNT] | counter | (2 + rnd(g, 40)) << 5);
	top = g->n;
	straight(g, rnd(g, 4));
	if (rnd(g, 2))
		word(g, STEP);
	if (nesting < 2 && !rnd(g, 3))
		choice(g, nesting + 1);
	emit(g, words[flags ? LESS_FLAGS : LESS] | counter | counter << 5);
	emit(g, (flags ? words[B_NE] : words[CBNZ] | counter) | ((top - g->n) & 0x7ffff) << 5);
}

/* Eight ways of four instructions. */
static void table(struct generator *g)
{
	bool key = !rnd(g, 3);
	u32 ends[8];

	emit(g, words[ADR] | (key ? 5 : 4) << 5);
	word(g, WAY);
	word(g, TO_WAY);
	if (key)
		word(g, SIGN);
	word(g, key ? BR_SIGNED : BR);
	for (u32 i = 0; i < 8; i++) {
		straight(g, 3);
		ends[i] = word(g, B);
	}
	for (u32 i = 0; i < 8; i++)
		patch(g, ends[i]);
}

static void oddity(struct generator *g)
{
	u32 at;

	switch (rnd(g, 8)) {
	case 0:
		word(g, SVC + rnd(g, BRK + 1 - SVC));
		break;
	case 1:
		at = word(g, CBZ_LAZY);
		word(g, PAGE);
		word(g, PAGE_OFFSET);
		word(g, LAZY);
		patch(g, at);
		break;
	default:
		emit(g, words[STORE] | (9 + rnd(g, 7)) | rnd(g, 16) << 10);
		emit(g, words[LOAD] | (9 + rnd(g, 7)) | rnd(g, 16) << 10);
	}
}

static void block(struct generator *g, u32 nesting)
{
	for (u32 i = 1 + rnd(g, 3); i; i--) {
		straight(g, 1 + rnd(g, 6));
		word(g, STEP);
		switch (nesting > 2 ? 9 : rnd(g, 9)) {
		case 0:
		case 1:
		case 2: choice(g, nesting); break;
		case 3: loop(g, nesting > 2 ? 2 : nesting); break;
		case 4:
		case 5: call(g); break;
		case 6: table(g); break;
		case 7: oddity(g); break;
		}
	}
}

/* The counters of loops are the caller's as well, so each function keeps them. */
static void function(struct generator *g)
{
	bool key = !rnd(g, 3);
	u32 over, deep;

	if (key)
		word(g, KEY);
	word(g, PUSH);
	word(g, PUSH_2);
	word(g, BUDGET);
	over = word(g, B_LE);
	word(g, DEEPER);
	word(g, DEEP);
	deep = word(g, B_HI);
	for (u32 i = 1 + rnd(g, 3); i; i--)
		block(g, 0);
	patch(g, deep);
	word(g, HIGHER);
	patch(g, over);
	word(g, POP_2);
	word(g, POP);
	word(g, key ? RET_SIGNED : RET);
}

/* f(x): the registers saved, set up, function 0 called until the budget is over. */
static void enter(struct generator *g)
{
	for (enum word w = S1; w <= S15; w++)
		word(g, w);
	g->calls[g->ncalls].at = word(g, BL);
	g->calls[g->ncalls].kind = CALL_BL;
	g->calls[g->ncalls++].function = 0;
	word(g, STEP);
	word(g, L0);
	emit(g, words[B_GT] | (-3 & 0x7ffff) << 5);
	for (enum word w = L1; w <= L8; w++)
		word(g, w);
}

void random_program(u32 *code, size_t capacity, u64 seed, unsigned int functions)
{
	struct generator *g = &generators[this_cpu()->index];

	memset(g, 0, sizeof(*g));
	g->code = code;
	g->capacity = capacity / 4;
	g->state = seed * 0x9e3779b97f4a7c15 + 1;
	g->functions = functions < FUNCTIONS ? functions : FUNCTIONS;
	enter(g);
	for (unsigned int i = 0; i < g->functions; i++) {
		g->starts[i] = g->n;
		function(g);
	}
	for (unsigned int i = 0; i < g->ncalls; i++) {
		u32 at = g->calls[i].at;
		u32 distance = g->starts[g->calls[i].function] - at;

		if (g->calls[i].kind == CALL_BL)
			code[at] |= distance & 0x3ffffff;
		else
			code[at] |= (distance & 0x7ffff) << 5;
	}
	__asm__ volatile("dsb ish" : : : "memory");
	for (u64 line = (u64)code; line < (u64)(code + g->n); line += 16)
		__asm__ volatile("dc cvau, %0; dsb ish; ic ivau, %0" : : "r"(line) : "memory");
	__asm__ volatile("dsb ish; isb" : : : "memory");
}
