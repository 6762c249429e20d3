// SPDX-License-Identifier: GPL-2.0-only
/* Shows what the CTR decoder says of single records: the spec's examples, losses, and contradictions. */
#include <flowtap/ctr.h>
#include <flowtap/riscv.h>

#include "kselftest_harness.h"

#include "flowlog.h"
#include "rv64.h"

/* sctrctl */
#define U	(1ULL << 0)
#define S	(1ULL << 1)
#define M	(1ULL << 2)
#define RASEMU	(1ULL << 7)
#define STE	(1ULL << 8)
#define BPFRZ	(1ULL << 11)
#define LCOFIFRZ (1ULL << 12)
#define NTBREN	(1ULL << 36)

enum type { EXC = 1, INT, XRET, NOT_TAKEN, TAKEN, ICALL = 8, DCALL, IJUMP, DJUMP, SWAP, RET, ILINK, DLINK };

/*
 * main:	nop			0x10000
 *		beq a0, a1, join	0x10002
 *		nop			0x10006
 *		c.bnez s0, join		0x10008
 *		jal ra, function	0x1000a
 *		nop			0x1000e
 * join:	nop			0x10010
 *		ecall			0x10012
 *		nop			0x10016
 *		c.jr ra			0x10018
 * function:	nop			0x1001a
 *		nop			0x1001c (32 bits)
 *		ret (jalr x0, ra)	0x10020
 *		c.jr a0			0x10024
 *		ebreak (c.)		0x10026
 *		unknown			0x10028
 *		c.jr a0			0x1002a
 */
enum {
	MAIN = 0x10000, BEQ = 0x10002, AFTER_BEQ = 0x10006, BNEZ = 0x10008, CALL = 0x1000a,
	AFTER_CALL = 0x1000e, JOIN = 0x10010, ECALL = 0x10012, AFTER_ECALL = 0x10016,
	JR_RA = 0x10018, FUNCTION = 0x1001a, FUNCTION_2 = 0x1001c, RETURN = 0x10020,
	JR_A0 = 0x10024, EBREAK = 0x10026, UNKNOWN = 0x10028, LAST = 0x1002a,
};

static const uint32_t insns[] = {
	RV_C_NOP, 0 /* beq */, RV_C_NOP, 0 /* c.bnez */, 0 /* jal */, RV_C_NOP, RV_C_NOP, RV_ECALL,
	RV_C_NOP, 0x8082 /* c.jr ra */, RV_C_NOP, RV_NOP, 0x00008067 /* ret */,
	0x8502 /* c.jr a0 */, RV_C_EBREAK, 0x0000, 0x8502,
};

FIXTURE(ctr) {
	uint8_t bytes[128];
	struct flowtap_map *map;
	struct flowtap_blocks *blocks;
	struct flowtap_ctr *ctr;
	struct flowlog log;
	uint64_t sequence, time;
	struct {
		struct flowtap_record_sample head;
		struct flowtap_entry entries[256];
	} s;
};

static void map_bytes(struct flowtap_map *map, uint64_t time, uint64_t start, const char *path,
		      const void *bytes, size_t size)
{
	struct flowtap_mapping mapping = {
		.time = time, .start = start, .size = size, .pid = 1, .executable = true,
		.path = path,
	};

	if (flowtap_map_add_bytes(map, &mapping, bytes))
		abort();
}

FIXTURE_SETUP(ctr)
{
	struct rv_code code = { .bytes = self->bytes, .room = sizeof(self->bytes) };

	for (size_t i = 0; i < ARRAY_SIZE(insns); i++) {
		if (MAIN + code.size == BEQ)
			rv_put(&code, rv_b(RV_BEQ, 10, 11, JOIN - BEQ));
		else if (MAIN + code.size == BNEZ)
			rv_put(&code, rv_c_b(1, 8, JOIN - BNEZ));
		else if (MAIN + code.size == CALL)
			rv_put(&code, rv_jal(1, FUNCTION - CALL));
		else
			rv_put(&code, insns[i]);
	}
	ASSERT_EQ(MAIN + code.size, (size_t)LAST + 2);
	self->map = flowtap_map_new(NULL);
	map_bytes(self->map, 0, MAIN, "[text]", self->bytes, code.size);
	self->blocks = flowtap_blocks_new(flowtap_riscv_block, FLOWTAP_ISA_RV64, 0);
	flowlog_init(&self->log);
	self->ctr = flowtap_ctr_new(self->map, self->blocks, &self->log.sink);
	self->time = 1000;
}

FIXTURE_TEARDOWN(ctr)
{
	flowtap_ctr_free(self->ctr);
	flowtap_blocks_free(self->blocks);
	flowtap_map_free(self->map);
	free(self->log.items.list);
}

/* The next sample of task 2 of process 1, contiguous, by an overflow; entries follow. */
static struct flowtap_record_sample *begin(FIXTURE_DATA(ctr) *self)
{
	self->s.head = (struct flowtap_record_sample){
		.header = { .type = FLOWTAP_RECORD_SAMPLE },
		.time = self->time += 10,
		.sequence = ++self->sequence,
		.control = U | STE | LCOFIFRZ,
		.pid = 1,
		.tid = 2,
		.cpu = 3,
		.trigger = FLOWTAP_TRIGGER_OVERFLOW,
		.depth = 16,
	};
	return &self->s.head;
}

static struct flowtap_entry *entry(FIXTURE_DATA(ctr) *self, uint64_t source, uint64_t target,
				   unsigned int type)
{
	struct flowtap_entry *new = &self->s.entries[self->s.head.nr++];

	*new = (struct flowtap_entry){ source | 1, target, type };
	return new;
}

static void at_ip(FIXTURE_DATA(ctr) *self, uint64_t ip)
{
	self->s.head.header.misc = FLOWTAP_MISC_USER;
	self->s.head.ip = ip;
}

static int decode(FIXTURE_DATA(ctr) *self)
{
	struct flowtap_record *record = &self->s.head.header;

	record->size = sizeof(self->s.head) + self->s.head.nr * sizeof(self->s.entries[0]);
	self->log.items.n = 0;
	return flowtap_ctr_decode(self->ctr, record, record->size);
}

#define INSN(address)		{ ITEM_INSN, address, 0, 0 }
#define END(taken, target)	{ ITEM_END, taken, target, 0 }
#define GAP(reason)		{ ITEM_GAP, FLOWTAP_GAP_##reason, 0, 0 }
#define EXCEPTION(at, number)	{ ITEM_EXCEPTION, at, (uint64_t)(number), 0 }
#define INTERRUPT(at)		{ ITEM_EXCEPTION, at, (uint64_t)-1, 1 }
#define TRANSFER(from, to, t)	{ ITEM_TRANSFER, from, to, t }

/* What was said after the context and the time. */
#define EXPECT_FLOW(...) do {								\
	struct item expected_[] = { __VA_ARGS__ };					\
	EXPECT_EQ(decode(self), 0);							\
	EXPECT_TRUE(is_flow(&self->log.items, expected_, ARRAY_SIZE(expected_)));	\
} while (0)

static bool is_flow(const struct items *seen, struct item *list, size_t n)
{
	const struct items expected = { .list = list, .n = n };
	struct items rest = *seen;

	while (rest.n && (rest.list[0].kind == ITEM_CONTEXT || rest.list[0].kind == ITEM_TIME)) {
		rest.list++;
		rest.n--;
	}
	return same_items(&expected, &rest);
}

/* So that the next sample has a contiguous predecessor. */
static void first(FIXTURE_DATA(ctr) *self)
{
	begin(self)->loss = 1U << FLOWTAP_CAUSE_START;
	decode(self);
}

/* --- What is proven. --- */

TEST_F(ctr, straight_lines_are_told_with_the_branches_that_were_not_taken)
{
	first(self);
	begin(self);
	entry(self, JR_RA, MAIN, RET);
	entry(self, CALL, FUNCTION, DCALL);
	entry(self, RETURN, AFTER_CALL, RET);
	at_ip(self, ECALL);
	EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, MAIN),
		    INSN(MAIN), INSN(BEQ), END(0, AFTER_BEQ), INSN(AFTER_BEQ), INSN(BNEZ),
		    END(0, CALL), INSN(CALL), END(1, FUNCTION),
		    INSN(FUNCTION), INSN(FUNCTION_2), INSN(RETURN), END(1, AFTER_CALL),
		    INSN(AFTER_CALL), INSN(JOIN));
	EXPECT_EQ(flowtap_ctr_counts(self->ctr)->transfers[RET], 2U);
	EXPECT_EQ(flowtap_ctr_counts(self->ctr)->transfers[DCALL], 1U);
	EXPECT_EQ(flowtap_ctr_counts(self->ctr)->instructions, 11U);
	EXPECT_EQ(flowtap_ctr_counts(self->ctr)->blocks, 6U);
}

TEST_F(ctr, table_7_an_external_trap_ends_what_is_known)
{
	first(self);
	begin(self);
	entry(self, BEQ, JOIN, TAKEN);
	entry(self, ECALL, 0, EXC);
	entry(self, JR_RA, MAIN, RET);
	entry(self, AFTER_BEQ, 0, INT);
	entry(self, CALL, 0, EXC);
	at_ip(self, CALL);
	EXPECT_FLOW(GAP(TRAP), INSN(BEQ), END(1, JOIN),
		    INSN(JOIN), INSN(ECALL), END(1, 0), EXCEPTION(ECALL, 8),
		    GAP(TRAP), INSN(JR_RA), END(1, MAIN),
		    INSN(MAIN), INSN(BEQ), END(0, AFTER_BEQ), INTERRUPT(AFTER_BEQ),
		    GAP(TRAP), EXCEPTION(CALL, -1));
}

TEST_F(ctr, table_7_records_of_kernel_mode_are_transfers)
{
	first(self);
	begin(self)->control |= S;
	entry(self, 0, JOIN, EXC);		/* trap from a mode that is not enabled */
	entry(self, JR_RA, 0, XRET);		/* trap return to one */
	at_ip(self, MAIN);
	EXPECT_FLOW(GAP(TRAP), GAP(FILTERED), TRANSFER(0, JOIN, EXC), TRANSFER(JR_RA, 0, XRET));
	EXPECT_EQ(flowtap_ctr_counts(self->ctr)->transfers[XRET], 1U);
	begin(self)->control |= M;
	EXPECT_FLOW(GAP(TRAP), GAP(FILTERED));
}

TEST_F(ctr, table_8_without_ste_only_the_transfers_themselves_are_certain)
{
	first(self);
	begin(self)->control &= ~STE;
	entry(self, JR_RA, MAIN, RET);
	entry(self, CALL, FUNCTION, DCALL);
	at_ip(self, FUNCTION_2);
	EXPECT_FLOW(GAP(TRAP), TRANSFER(JR_RA, MAIN, RET), INSN(JR_RA), END(1, MAIN),
		    TRANSFER(CALL, FUNCTION, DCALL), GAP(TRAP), INSN(CALL), END(1, FUNCTION));
	begin(self)->control |= BPFRZ;		/* breakpoints are not recorded then (6.5) */
	entry(self, JR_RA, MAIN, RET);
	entry(self, CALL, FUNCTION, DCALL);
	EXPECT_FLOW(GAP(TRAP), TRANSFER(JR_RA, MAIN, RET), INSN(JR_RA), END(1, MAIN),
		    TRANSFER(CALL, FUNCTION, DCALL), GAP(TRAP), INSN(CALL), END(1, FUNCTION));
}

TEST_F(ctr, each_taken_transfer_inhibit_makes_transfers_and_no_other_bit)
{
	first(self);
	for (int bit = 0; bit < 64; bit++) {
		bool none = bit == 1 || bit == 2 || bit == 37 || (bit >= 40 && bit < 48) || bit >= 60;

		if (bit == 7 || bit == 8 || bit == 11)
			continue;
		begin(self)->control |= 1ULL << bit;
		entry(self, JR_RA, FUNCTION, RET)->target |= 1;
		entry(self, RETURN, AFTER_CALL, RET);
		if (none)
			EXPECT_FLOW(GAP(TRAP), GAP(FILTERED), TRANSFER(JR_RA, FUNCTION, RET | 256),
				    TRANSFER(RETURN, AFTER_CALL, RET));
		else
			EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, FUNCTION), INSN(FUNCTION),
				    INSN(FUNCTION_2), INSN(RETURN), END(1, AFTER_CALL));
	}
}

TEST_F(ctr, ras_emulation_makes_a_call_stack)
{
	first(self);
	begin(self)->control |= RASEMU;
	entry(self, CALL, FUNCTION, DCALL);
	entry(self, JR_A0, MAIN, ICALL)->source &= ~1ULL;
	entry(self, JR_RA, MAIN, ICALL);
	at_ip(self, BNEZ);
	EXPECT_FLOW(GAP(TRAP), { ITEM_FRAME, BNEZ, 0, 3 }, { ITEM_FRAME, JR_RA, 1, 3 },
		    { ITEM_FRAME, CALL, 2, 3 });
}

TEST_F(ctr, an_ecall_is_told_only_where_its_fetch_cannot_have_failed)
{
	/* A page that begins with an ecall, after one that ends with a nop; a jump over it. */
	uint8_t page[8192] = { 0 };
	struct rv_code code = { .bytes = page + 4090, .room = 100 };

	rv_put(&code, rv_c_jr(10));		/* 0x20ffa */
	rv_put(&code, RV_NOP);			/* 0x20ffc */
	rv_put(&code, RV_ECALL);		/* 0x21000 */
	rv_put(&code, rv_c_jr(10));		/* 0x21004 */
	rv_put(&code, RV_C_EBREAK);		/* 0x21006 */
	map_bytes(self->map, 0, 0x20000, "[page]", page, sizeof(page));
	first(self);
	begin(self);
	entry(self, JR_A0, 0x20ffc, IJUMP);
	entry(self, 0x21000, 0, EXC);
	EXPECT_FLOW(GAP(TRAP), INSN(JR_A0), END(1, 0x20ffc), INSN(0x20ffc), EXCEPTION(0x21000, -1));
	begin(self);
	entry(self, 0x20ffa, 0x21000, IJUMP);
	entry(self, 0x21000, 0, EXC);
	EXPECT_FLOW(GAP(TRAP), INSN(0x20ffa), END(1, 0x21000), EXCEPTION(0x21000, -1));
	begin(self);
	entry(self, 0x21004, 0x21000, IJUMP);
	entry(self, 0x21000, 0, EXC);
	EXPECT_FLOW(GAP(TRAP), INSN(0x21004), END(1, 0x21000), INSN(0x21000), END(1, 0),
		    EXCEPTION(0x21000, 8));
	begin(self);
	entry(self, 0x21004, 0x21006, IJUMP);
	entry(self, 0x21006, 0, EXC);
	EXPECT_FLOW(GAP(TRAP), INSN(0x21004), END(1, 0x21006), INSN(0x21006), END(1, 0),
		    EXCEPTION(0x21006, 3));
	begin(self);				/* an interrupt before it is none of it */
	entry(self, 0x21004, 0x21000, IJUMP);
	entry(self, 0x21000, 0, INT);
	EXPECT_FLOW(GAP(TRAP), INSN(0x21004), END(1, 0x21000), INTERRUPT(0x21000));
}

TEST_F(ctr, without_types_the_code_says_what_they_are)
{
	first(self);
	begin(self);
	entry(self, JR_RA, MAIN, 0);
	entry(self, BEQ, JOIN, 0);
	entry(self, ECALL, 0, 0);
	EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, MAIN), INSN(MAIN), INSN(BEQ), END(1, JOIN),
		    INSN(JOIN), EXCEPTION(ECALL, -1));
	EXPECT_EQ(flowtap_ctr_counts(self->ctr)->transfers[RET], 1U);
	EXPECT_EQ(flowtap_ctr_counts(self->ctr)->transfers[TAKEN], 1U);
	EXPECT_EQ(flowtap_ctr_counts(self->ctr)->transfers[0], 1U);
	begin(self)->control |= NTBREN;
	entry(self, JR_RA, MAIN, 0);
	entry(self, BEQ, AFTER_BEQ, 0);
	EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, MAIN), INSN(MAIN), INSN(BEQ), END(0, AFTER_BEQ));
	begin(self);
	entry(self, JR_RA, MAIN, 0);
	entry(self, BEQ, AFTER_BEQ, 0);
	EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, MAIN), GAP(IMPOSSIBLE));
}

/* --- What is not possible. --- */

/* From `target` to `source`, which leads on to MAIN; then one more that is fine. */
#define EXPECT_IMPOSSIBLE(target, source, type, where, words, ...) do {			\
	first(self);									\
	begin(self);									\
	entry(self, JR_A0, target, IJUMP);						\
	entry(self, source, MAIN, type);						\
	EXPECT_FLOW(GAP(TRAP), INSN(JR_A0), END(1, target), GAP(IMPOSSIBLE) __VA_ARGS__); \
	EXPECT_EQ(self->log.gap.address, (uint64_t)(where));				\
	EXPECT_NE(strstr(self->log.detail, words), NULL)				\
		TH_LOG("%s", self->log.detail);						\
} while (0)

TEST_F(ctr, an_unconditional_transfer_in_between_is_impossible)
{
	EXPECT_IMPOSSIBLE(AFTER_BEQ, RETURN, RET, CALL, "direct call at 0x1000a lies before 0x10020",
			  , INSN(RETURN), END(1, MAIN));
}

TEST_F(ctr, an_ecall_in_between_is_impossible)
{
	EXPECT_IMPOSSIBLE(JOIN, JR_RA, RET, JOIN, "exception at 0x10012 lies before 0x10018",
			  , INSN(JR_RA), END(1, MAIN));
}

TEST_F(ctr, a_source_behind_is_impossible)
{
	EXPECT_IMPOSSIBLE(FUNCTION, JR_RA, RET, FUNCTION, "0x10018 lies before 0x1001a",
			  , INSN(JR_RA), END(1, MAIN));
}

TEST_F(ctr, a_source_that_is_no_transfer_is_impossible)
{
	EXPECT_IMPOSSIBLE(FUNCTION, FUNCTION_2, RET, FUNCTION_2, "no transfer instruction at 0x1001c");
	EXPECT_IMPOSSIBLE(FUNCTION, FUNCTION_2 + 2, RET, FUNCTION_2 + 2, "0x1001e");
}

TEST_F(ctr, another_type_than_recorded_is_impossible)
{
	EXPECT_IMPOSSIBLE(FUNCTION, RETURN, IJUMP, RETURN,
			  "recorded indirect jump at 0x10020, the code has function return there");
	EXPECT_IMPOSSIBLE(JOIN, ECALL, RET, ECALL, "the code has exception");
}

TEST_F(ctr, another_target_than_the_code_has_is_impossible)
{
	EXPECT_IMPOSSIBLE(AFTER_BEQ, CALL, DCALL, CALL,
			  "recorded target 0x10000 of the direct call at 0x1000a, the code says 0x1001a");
	EXPECT_IMPOSSIBLE(MAIN, BEQ, TAKEN, BEQ, "the code says 0x10010");
	EXPECT_IMPOSSIBLE(MAIN, BEQ, NOT_TAKEN, BEQ, "the code says 0x10006");
}

TEST_F(ctr, unknown_instructions_in_between_are_impossible)
{
	EXPECT_IMPOSSIBLE(UNKNOWN, LAST, IJUMP, UNKNOWN, "no known instructions from 0x10028",
			  , INSN(LAST), END(1, MAIN));
}

TEST_F(ctr, a_branch_without_its_record_is_impossible_where_each_has_one)
{
	first(self);
	begin(self)->control |= NTBREN;
	entry(self, JR_RA, MAIN, RET);
	entry(self, BEQ, AFTER_BEQ, NOT_TAKEN);
	entry(self, CALL, FUNCTION, DCALL);
	EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, MAIN), INSN(MAIN), INSN(BEQ), END(0, AFTER_BEQ),
		    GAP(IMPOSSIBLE), INSN(CALL), END(1, FUNCTION));
	EXPECT_NE(strstr(self->log.detail, "branch at 0x10008"), NULL);
}

TEST_F(ctr, after_a_contradiction_the_record_is_not_believed_either)
{
	first(self);
	begin(self);
	entry(self, RETURN, MAIN, IJUMP);	/* it is a return: whose code is this? */
	entry(self, BEQ, JOIN, TAKEN);
	EXPECT_FLOW(GAP(TRAP), GAP(IMPOSSIBLE), INSN(BEQ), END(1, JOIN));
	begin(self);
	entry(self, JR_RA, JOIN, RET);
	entry(self, JR_RA, FUNCTION, RET);	/* the way is impossible, the source is not */
	entry(self, RETURN, MAIN, RET);
	EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, JOIN), GAP(IMPOSSIBLE), INSN(JR_RA),
		    END(1, FUNCTION), INSN(FUNCTION), INSN(FUNCTION_2), INSN(RETURN), END(1, MAIN));
}

TEST_F(ctr, a_way_to_a_trap_or_to_ip_must_be_possible_too)
{
	first(self);
	begin(self);
	entry(self, JR_RA, AFTER_BEQ, RET);
	entry(self, JOIN, 0, INT);
	EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, AFTER_BEQ), GAP(IMPOSSIBLE), INTERRUPT(JOIN));
	begin(self);
	entry(self, JR_RA, FUNCTION, RET);
	at_ip(self, FUNCTION_2 + 2);
	EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, FUNCTION), GAP(IMPOSSIBLE));
	begin(self);
	entry(self, JR_RA, FUNCTION, RET);
	at_ip(self, JOIN);
	EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, FUNCTION), GAP(IMPOSSIBLE));
	begin(self);
	entry(self, JR_RA, FUNCTION, RET);
	at_ip(self, JR_A0);			/* the return in between returned */
	EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, FUNCTION), GAP(IMPOSSIBLE));
	begin(self);
	entry(self, JR_RA, FUNCTION, RET);
	at_ip(self, FUNCTION_2 + 1);
	EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, FUNCTION), GAP(BAD_RECORD));
}

TEST_F(ctr, the_way_to_ip_is_not_proven_where_recording_had_ended)
{
	first(self);
	begin(self)->trigger = FLOWTAP_TRIGGER_SNAPSHOT;
	entry(self, JR_RA, FUNCTION, RET);
	at_ip(self, FUNCTION_2);
	EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, FUNCTION), GAP(FROZEN));
	begin(self)->control &= ~LCOFIFRZ;
	entry(self, JR_RA, FUNCTION, RET);
	at_ip(self, FUNCTION_2);
	EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, FUNCTION), GAP(FROZEN));
	begin(self)->trigger = FLOWTAP_TRIGGER_SNAPSHOT;
	entry(self, JR_RA, FUNCTION, RET);
	entry(self, FUNCTION_2, 0, INT);
	at_ip(self, FUNCTION_2);
	EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, FUNCTION), INSN(FUNCTION), INTERRUPT(FUNCTION_2));
	begin(self);				/* not from user mode: ip says nothing */
	entry(self, JR_RA, FUNCTION, RET);
	self->s.head.ip = FUNCTION_2;
	EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, FUNCTION));
}

TEST_F(ctr, straight_lines_have_a_limit)
{
	size_t n = 65537;
	struct rv_code code = { .room = 2 * (n + 1) };

	code.bytes = calloc(1, code.room);
	for (size_t i = 0; i < n; i++)
		rv_put(&code, rv_c_b(0, 8, 4));
	rv_put(&code, rv_c_jr(10));
	map_bytes(self->map, 0, 0x100000, "[long]", code.bytes, code.size);
	first(self);
	begin(self);
	entry(self, JR_A0, 0x100002, IJUMP);
	entry(self, 0x100000 + 2 * n, MAIN, IJUMP);
	ASSERT_EQ(decode(self), 0);
	EXPECT_EQ(self->log.blocks, 1 + 65536 + 1U);
	begin(self);
	entry(self, JR_A0, 0x100000, IJUMP);
	entry(self, 0x100000 + 2 * n, MAIN, IJUMP);
	EXPECT_FLOW(GAP(TRAP), INSN(JR_A0), END(1, 0x100000), GAP(IMPOSSIBLE),
		    INSN(0x100000 + 2 * n), END(1, MAIN));
	free(code.bytes);
}

/* --- Where there is no code. --- */

TEST_F(ctr, what_is_not_mapped_is_no_image_and_its_record_is_believed)
{
	first(self);
	begin(self);
	entry(self, JR_A0, 0x90000, IJUMP);
	entry(self, 0x90010, FUNCTION, IJUMP);
	entry(self, RETURN, AFTER_CALL, RET);
	EXPECT_FLOW(GAP(TRAP), INSN(JR_A0), END(1, 0x90000), GAP(NO_IMAGE), INSN(FUNCTION),
		    INSN(FUNCTION_2), INSN(RETURN), END(1, AFTER_CALL));
	EXPECT_EQ(self->log.gap.address, 0x90000U);
	EXPECT_NE(strstr(self->log.detail, "0x90000"), NULL);
	begin(self);
	entry(self, 0x90010, FUNCTION, IJUMP);
	entry(self, RETURN, AFTER_CALL, RET);
	EXPECT_FLOW(GAP(TRAP), GAP(NO_IMAGE), INSN(FUNCTION), INSN(FUNCTION_2), INSN(RETURN),
		    END(1, AFTER_CALL));
}

TEST_F(ctr, a_missing_file_is_no_code_and_says_why)
{
	struct flowtap_mapping mapping = {
		.start = 0x80000, .size = 0x1000, .pid = 1, .executable = true,
		.path = "/nowhere/at/all",
	};

	ASSERT_EQ(flowtap_map_add(self->map, &mapping), 0);
	first(self);
	begin(self);
	entry(self, 0x80010, MAIN, IJUMP);
	EXPECT_FLOW(GAP(TRAP), GAP(NO_CODE));
	EXPECT_NE(strstr(self->log.detail, "/nowhere/at/all"), NULL);
	EXPECT_EQ(self->log.gap.address, 0x80010U);
}

TEST_F(ctr, a_straight_line_goes_on_in_the_next_mapping)
{
	/* The end of MAIN's text is unknown code and a jump; behind it: */
	uint8_t nops[8] = { 0x01, 0, 0x01, 0, 0x01, 0, 0x13, 0 };
	uint8_t rest[8] = { 0x01, 0, 0x02, 0x85 };

	map_bytes(self->map, 0, 0x40000, "[a]", nops, 6);
	map_bytes(self->map, 0, 0x40006, "[b]", rest, 4);
	map_bytes(self->map, 0, 0x50000, "[c]", nops, 8);
	first(self);
	begin(self);
	entry(self, JR_A0, 0x40002, IJUMP);
	entry(self, 0x40008, MAIN, IJUMP);
	EXPECT_FLOW(GAP(TRAP), INSN(JR_A0), END(1, 0x40002), INSN(0x40002), INSN(0x40004),
		    INSN(0x40006), INSN(0x40008), END(1, MAIN));
	begin(self);				/* nothing follows this one, and the last is cut */
	entry(self, JR_A0, 0x50002, IJUMP);
	entry(self, 0x50010, MAIN, IJUMP);
	EXPECT_FLOW(GAP(TRAP), INSN(JR_A0), END(1, 0x50002), GAP(NO_CODE));
}

TEST_F(ctr, code_that_was_replaced_since_the_last_sample_proves_nothing)
{
	uint8_t other[4] = { 0x01, 0, 0x02, 0x85 };	/* nop, c.jr a0 */

	first(self);					/* at 1010 */
	map_bytes(self->map, 1015, MAIN, "[other]", other, 4);
	map_bytes(self->map, 1015, 0x40000, "[new]", other, 4);
	begin(self);					/* 1020: may be from before 1015 */
	entry(self, 0x10002, 0x40000, IJUMP);
	entry(self, 0x40002, MAIN, IJUMP);
	EXPECT_FLOW(GAP(TRAP), GAP(NO_CODE), INSN(0x40000), INSN(0x40002), END(1, MAIN));
	EXPECT_NE(strstr(self->log.detail, "mapped anew"), NULL);
	begin(self);
	entry(self, 0x10002, 0x40000, IJUMP);
	EXPECT_FLOW(GAP(TRAP), INSN(0x10002), END(1, 0x40000));
	/* The same thing at the same place is the same. */
	map_bytes(self->map, 1035, MAIN, "[other]", other, 4);
	begin(self);
	entry(self, 0x10002, 0x40000, IJUMP);
	EXPECT_FLOW(GAP(TRAP), INSN(0x10002), END(1, 0x40000));
}

/* --- Losses. --- */

TEST_F(ctr, a_loss_is_a_gap_of_its_lowest_cause_that_names_the_others)
{
	first(self);
	for (unsigned int cause = 0; cause < FLOWTAP_CAUSE_MAX; cause++) {
		begin(self)->loss = 1U << cause;
		EXPECT_FLOW({ ITEM_GAP, cause, 0, 0 });
		EXPECT_STREQ(self->log.detail, "");
		EXPECT_EQ(self->log.gap.since, self->time - 10);
		EXPECT_EQ(self->log.gap.until, self->time);
		EXPECT_EQ(self->log.gap.size, UINT64_MAX);
	}
	begin(self)->loss = 1U << FLOWTAP_CAUSE_WRAPPED | 1U << FLOWTAP_CAUSE_RING_FULL |
			    1U << FLOWTAP_CAUSE_HARDWARE;
	EXPECT_FLOW(GAP(WRAPPED));
	EXPECT_STREQ(self->log.detail, "also ring_full, hardware");
	begin(self)->loss = 1U << 31;
	EXPECT_FLOW(GAP(HARDWARE));
	EXPECT_NE(strstr(self->log.detail, "0x80000000"), NULL);
}

TEST_F(ctr, only_the_next_number_is_contiguous)
{
	begin(self);
	EXPECT_FLOW(GAP(START));
	begin(self);
	EXPECT_FLOW(GAP(TRAP));
	self->sequence += 5;
	begin(self);
	EXPECT_FLOW(GAP(RING_FULL));
	EXPECT_STREQ(self->log.detail, "sequence 8 follows 2");
	self->sequence -= 2;
	begin(self);
	EXPECT_FLOW(GAP(BAD_RECORD));
	begin(self)->depth = 1;
	entry(self, JR_RA, MAIN, RET);
	EXPECT_FLOW(GAP(WRAPPED), INSN(JR_RA), END(1, MAIN));
	begin(self)->tid = 0;			/* some task that is not visible */
	EXPECT_FLOW(GAP(START));
	begin(self)->tid = 0;
	EXPECT_FLOW(GAP(START));
}

TEST_F(ctr, as_many_tasks_are_known_as_there_is_room_for)
{
	unsigned int contiguous = 0;

	for (uint32_t tid = 1; tid <= 100000; tid++) {
		begin(self)->tid = tid;
		self->s.head.sequence = 1;
		decode(self);
	}
	for (uint32_t tid = 100000; tid; tid--) {
		begin(self)->tid = tid;
		self->s.head.sequence = 2;
		decode(self);
		contiguous += self->log.gap.reason == FLOWTAP_GAP_TRAP;
		if (tid > 99000)		/* the newest are */
			EXPECT_EQ(self->log.gap.reason, FLOWTAP_GAP_TRAP);
	}
	EXPECT_GT(contiguous, 4 * 4096U * 3 / 4);
	EXPECT_LE(contiguous, 4 * 4096U);
}

TEST_F(ctr, gap_and_lost_records_are_gaps)
{
	struct flowtap_record_gap gap = {
		.header = { FLOWTAP_RECORD_GAP, FLOWTAP_MISC_ESTIMATE, sizeof(gap) },
		.time = 500, .since = 400, .size = 77, .pid = 4, .tid = 5, .cpu = 6,
	};
	struct flowtap_record_lost lost = {
		.header = { FLOWTAP_RECORD_LOST, 0, sizeof(lost) },
		.time = 700, .since = 600, .records = 3, .bytes = 999,
	};

	for (gap.cause = 0; gap.cause < FLOWTAP_CAUSE_MAX; gap.cause++) {
		ASSERT_EQ(flowtap_ctr_decode(self->ctr, &gap.header, sizeof(gap)), 0);
		EXPECT_EQ((uint32_t)self->log.gap.reason, gap.cause);
		EXPECT_EQ(self->log.gap.since, 400U);
		EXPECT_EQ(self->log.gap.until, 500U);
		EXPECT_EQ(self->log.gap.size, 77U);
		EXPECT_EQ(flowtap_ctr_counts(self->ctr)->gaps[gap.cause], 1U);
		EXPECT_STREQ(self->log.detail, "an estimate");
	}
	EXPECT_EQ(self->log.items.list[0].kind, ITEM_CONTEXT);
	EXPECT_EQ(self->log.items.list[0].b, 5U);
	ASSERT_EQ(flowtap_ctr_decode(self->ctr, &gap.header, sizeof(gap)), 0);
	EXPECT_EQ(self->log.gap.reason, FLOWTAP_GAP_BAD_RECORD);
	ASSERT_EQ(flowtap_ctr_decode(self->ctr, &lost.header, sizeof(lost)), 0);
	EXPECT_EQ(self->log.gap.reason, FLOWTAP_GAP_RING_FULL);
	EXPECT_EQ(self->log.gap.since, 600U);
	EXPECT_EQ(self->log.gap.until, 700U);
	EXPECT_EQ(self->log.gap.size, 999U);
	EXPECT_NE(strstr(self->log.detail, "3 records"), NULL);
}

/* --- Records that are not well formed. --- */

TEST_F(ctr, records_cut_anywhere_are_bad_and_nothing_beyond_is_read)
{
	begin(self);
	entry(self, JR_RA, MAIN, RET);
	decode(self);
	for (size_t size = 0; size < self->s.head.header.size; size++) {
		size_t room = (size + 7) & ~7UL;
		uint8_t *copy = malloc(room + 1);
		struct flowtap_record *record = (void *)(copy + room - size);

		/* Up against the end, so that the sanitizer sees what is read beyond. */
		memcpy(record, &self->s, size);
		if (room == size || size >= sizeof(*record)) {
			record = (void *)copy;
			memmove(record, &self->s, size);
		}
		self->log.items.n = 0;
		EXPECT_EQ(flowtap_ctr_decode(self->ctr, record, size), 0);
		ASSERT_EQ(self->log.items.n, 1U);
		EXPECT_EQ(self->log.items.list[0].kind, ITEM_GAP);
		EXPECT_EQ(self->log.gap.reason, FLOWTAP_GAP_BAD_RECORD);
		if (size >= sizeof(*record)) {
			record->size = size;
			EXPECT_EQ(flowtap_ctr_decode(self->ctr, record, size), 0);
			EXPECT_EQ(self->log.gap.reason, FLOWTAP_GAP_BAD_RECORD);
		}
		free(copy);
	}
}

TEST_F(ctr, numbers_that_contradict_each_other_are_bad)
{
	first(self);
	begin(self);
	for (int i = 0; i < 17; i++)
		entry(self, JR_RA, MAIN, RET);
	EXPECT_FLOW(GAP(BAD_RECORD));			/* 17 of 16 */
	EXPECT_STREQ(self->log.detail, "17 entries from a buffer of 16");
	begin(self)->depth = 1000;
	for (int i = 0; i < 256; i++)
		entry(self, JR_RA, MAIN, RET);
	ASSERT_EQ(decode(self), 0);
	EXPECT_EQ(self->log.gap.reason, FLOWTAP_GAP_IMPOSSIBLE);
	self->s.head.nr = 257;
	EXPECT_FLOW(GAP(BAD_RECORD));			/* more than any CTR has */
	begin(self);
	entry(self, JR_RA, MAIN, RET);
	self->s.head.header.size = sizeof(self->s.head);
	self->log.items.n = 0;
	EXPECT_EQ(flowtap_ctr_decode(self->ctr, &self->s.head.header, sizeof(self->s)), 0);
	EXPECT_EQ(self->log.gap.reason, FLOWTAP_GAP_BAD_RECORD);
	EXPECT_EQ(self->log.items.n, 1U);
	EXPECT_EQ(flowtap_ctr_counts(self->ctr)->bad_records, 3U);
	EXPECT_EQ(flowtap_ctr_counts(self->ctr)->samples, 2U);
}

TEST_F(ctr, bad_entries_are_told_and_what_follows_begins_anew)
{
	static const unsigned int types[] = { 6, 7, RET };

	first(self);
	for (int i = 0; i < 3; i++) {
		begin(self);
		entry(self, JR_RA, FUNCTION, RET);
		entry(self, RETURN, MAIN, types[i])->source ^= i == 2;
		entry(self, BEQ, JOIN, TAKEN);
		EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, FUNCTION), GAP(BAD_RECORD), INSN(BEQ),
			    END(1, JOIN));
	}
	EXPECT_EQ(flowtap_ctr_counts(self->ctr)->bad_records, 3U);
}

TEST_F(ctr, other_records_are_passed_over)
{
	static const uint32_t types[] = { 0, FLOWTAP_RECORD_SWITCH, FLOWTAP_RECORD_CLOCK,
					  FLOWTAP_RECORD_AUX, FLOWTAP_RECORD_ITRACE_START, 99 };

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		struct flowtap_record_aux record = { .header = { types[i], 0, sizeof(record) } };

		EXPECT_EQ(flowtap_ctr_decode(self->ctr, &record.header, sizeof(record)), 0);
	}
	EXPECT_EQ(self->log.items.n, 0U);
}

/* --- The rest. --- */

TEST_F(ctr, the_context_is_told_when_it_changes_and_the_time_always)
{
	static const struct {
		uint32_t pid, tid, cpu;
		bool told;
	} samples[] = {
		{ 1, 2, 3, true }, { 1, 2, 3, false }, { 1, 2, 4, true }, { 1, 5, 4, true },
		{ 6, 5, 4, true }, { 6, 5, 4, false }, { 0, 0, 0, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		struct flowtap_record_sample *head = begin(self);
		const struct item *item = self->log.items.list;

		head->pid = samples[i].pid;
		head->tid = samples[i].tid;
		head->cpu = samples[i].cpu;
		ASSERT_EQ(decode(self), 0);
		item = self->log.items.list;
		if (samples[i].told) {
			EXPECT_EQ(item->kind, ITEM_CONTEXT);
			EXPECT_EQ(item->a, samples[i].pid);
			EXPECT_EQ(item->b, samples[i].tid);
			EXPECT_EQ(item->c, samples[i].cpu);
			item++;
		}
		EXPECT_EQ(item->kind, ITEM_TIME);
		EXPECT_EQ(item->a, self->time);
		EXPECT_EQ(self->log.items.n, 2U + samples[i].told);
	}
}

TEST_F(ctr, table_11_cycles_and_their_saturation)
{
	static const struct {
		unsigned int cce_bits;
		uint64_t max;
	} lines[] = { { 0, 4095 }, { 1, 8191 }, { 2, 32764 }, { 3, 524224 }, { 4, 134201344 } };

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		uint64_t bits = 0x0fff0000 | (((1ULL << lines[i].cce_bits) - 1) << 28);

		EXPECT_EQ(flowtap_ctr_cycles(bits), lines[i].max);
		EXPECT_TRUE(flowtap_ctr_cycles_saturated(bits, bits | 0x800f));
		EXPECT_FALSE(flowtap_ctr_cycles_saturated(bits - 0x10000, bits | 0x800f));
		EXPECT_EQ(flowtap_ctr_cycles_saturated(bits, UINT64_MAX), lines[i].cce_bits == 4);
	}
	EXPECT_EQ(flowtap_ctr_cycles(0x00008000), 0U);
	EXPECT_EQ(flowtap_ctr_cycles(0x10008000), 4096U);
	EXPECT_EQ(flowtap_ctr_cycles(0x20018000), 8194U);
	EXPECT_EQ(flowtap_ctr_cycles(0xffffffff00008000), 0U);
	EXPECT_FALSE(flowtap_ctr_cycles_saturated(UINT64_MAX, 0xf));
}

TEST_F(ctr, cycles_are_told_where_they_are_valid_and_as_the_cpu_counts_them)
{
	first(self);
	flowtap_ctr_set_data_bits(self->ctr, 3, 0x1fff800f);
	flowtap_ctr_set_data_bits(self->ctr, UINT32_MAX, 0);
	begin(self);
	entry(self, JR_RA, FUNCTION, RET)->data |= 0x1fff8000;
	entry(self, RETURN, MAIN, RET)->data |= 0x10000000;
	entry(self, BEQ, 0, INT)->data |= 0x00058000;
	EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, FUNCTION), { ITEM_CYCLES, 8191, true, 0 },
		    INSN(FUNCTION), INSN(FUNCTION_2), INSN(RETURN), END(1, MAIN),
		    INSN(MAIN), INTERRUPT(BEQ), { ITEM_CYCLES, 5, false, 0 });
	begin(self)->cpu = 4;
	entry(self, JR_RA, FUNCTION, RET)->data |= 0x1fff8000;
	EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, FUNCTION), { ITEM_CYCLES, 8191, false, 0 });
	begin(self)->cpu = UINT32_MAX;
	entry(self, JR_RA, FUNCTION, RET)->data |= 0xffff8000;
	EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, FUNCTION), { ITEM_CYCLES, 134201344, true, 0 });
}

TEST_F(ctr, whatever_the_sink_refuses_stops_the_decoder)
{
	struct flowtap_record_gap gap = {
		.header = { FLOWTAP_RECORD_GAP, 0, sizeof(gap) }, .cause = 1, .tid = 9,
	};
	int calls = 0, status;

	for (int after = 0;; after++) {
		begin(self);
		entry(self, JR_RA, MAIN, RET);
		entry(self, CALL, FUNCTION, DCALL)->data |= 0x00018000;
		entry(self, FUNCTION, 0, INT);
		entry(self, RETURN, FUNCTION, RET);
		at_ip(self, RETURN);
		self->log.fail_after = after;
		status = decode(self);
		self->log.fail_after = -1;
		if (!status)
			break;
		EXPECT_EQ(status, -5);
		calls++;
	}
	/* The context at first; then time, gap, 1 + 3 blocks, cycles, exception, gap, 2 blocks. */
	EXPECT_EQ(calls, 11);
	self->log.fail_after = 0;
	EXPECT_EQ(flowtap_ctr_decode(self->ctr, &gap.header, sizeof(gap)), -5);
	EXPECT_EQ(flowtap_ctr_decode(self->ctr, &gap.header, 3), -5);
}

TEST(gap_reasons_have_the_names_of_the_grammar)
{
	EXPECT_STREQ(flowtap_gap_name(FLOWTAP_GAP_START), "start");
	EXPECT_STREQ(flowtap_gap_name(FLOWTAP_GAP_HARDWARE), "hardware");
	EXPECT_STREQ(flowtap_gap_name(FLOWTAP_GAP_NO_IMAGE), "no_image");
	EXPECT_STREQ(flowtap_gap_name(FLOWTAP_GAP_FILTERED), "filtered");
	EXPECT_STREQ(flowtap_gap_name(FLOWTAP_GAP_REASONS), "unknown");
	for (int reason = 0; reason < FLOWTAP_GAP_REASONS; reason++)
		EXPECT_NE(flowtap_gap_name(reason), NULL);
}

TEST_HARNESS_MAIN
