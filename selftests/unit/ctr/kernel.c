// SPDX-License-Identifier: GPL-2.0-only
/* Shows what the CTR decoder makes of samples of kernel mode: Smctr 6.1, line by line. */
#include "unit/ctr/fixture.h"

#define K 0xffffffff80000000

/*
 * ENTRY:	nop			K
 *		beq a0, a1, OUT		K + 2
 *		ecall			K + 6
 *		nop			K + a
 * OUT:		sret			K + c
 * OTHER:	jal ra, WARN		K + 10
 *		nop			K + 14
 * RECORDER:	csrw sctrctl, a0	K + 16
 *		c.jr ra			K + 1a
 * WARN:	ebreak (c.)		K + 1c
 *		c.jr a0			K + 1e
 * BACK:	sret			K + 20
 */
#define ENTRY	K
#define KBEQ	(K + 2)
#define SBI	(K + 6)
#define AFTER_SBI (K + 0xa)
#define OUT	(K + 0xc)
#define OTHER	(K + 0x10)
#define AFTER_OTHER (K + 0x14)
#define RECORDER (K + 0x16)
#define KRET	(K + 0x1a)
#define WARN	(K + 0x1c)
#define JUMP	(K + 0x1e)
#define BACK	(K + 0x20)

static void add_kernel(FIXTURE_DATA(ctr) *self)
{
	uint8_t bytes[64];
	struct rv_code code = { .bytes = bytes, .capacity = sizeof(bytes) };

	rv_put(&code, RV_C_NOP);
	rv_put(&code, rv_b(RV_BEQ, 10, 11, OUT - KBEQ));
	rv_put(&code, RV_ECALL);
	rv_put(&code, RV_C_NOP);
	rv_put(&code, RV_SRET);
	rv_put(&code, rv_jal(1, WARN - OTHER));
	rv_put(&code, RV_C_NOP);
	rv_put(&code, RV_CSRW_SCTRCTL_A0);
	rv_put(&code, 0x8082);
	rv_put(&code, RV_C_EBREAK);
	rv_put(&code, 0x8502);
	rv_put(&code, RV_SRET);
	map_kernel(self->map, K, bytes, code.size);
}

/* A contiguous sample of these modes, the task in user mode before. */
static struct flowtap_record_sample *begin_in(FIXTURE_DATA(ctr) *self, uint64_t modes)
{
	if (!self->sequence) {
		add_kernel(self);
		first(self);
	}
	begin(self)->control = modes | STE | LCOFIFRZ;
	return &self->s.head;
}

static void at_kernel(FIXTURE_DATA(ctr) *self, uint64_t ip)
{
	self->s.head.header.misc = FLOWTAP_MISC_KERNEL;
	self->s.head.ip = ip;
}

/* --- Both modes. --- */

TEST_F(ctr, a_system_call_goes_on_in_the_kernel_and_back_in_the_program)
{
	begin_in(self, U | S);
	entry(self, BEQ, JOIN, TAKEN);
	entry(self, ECALL, ENTRY, EXC)->data |= 0x00058000;
	entry(self, KBEQ, OUT, TAKEN);
	entry(self, OUT, AFTER_ECALL, XRET)->data |= 0x00068000;
	entry(self, JR_RA, MAIN, RET);
	at_ip(self, BEQ);
	EXPECT_FLOW(GAP(RECORDER), INSN(BEQ), END(1, JOIN), INSN(JOIN), INSN(ECALL), END(1, 0),
		    TRAPPED(ECALL, 8, ENTRY), CONTEXT(S), { ITEM_CYCLES, 5, 0, 0 },
		    INSN(ENTRY), INSN(KBEQ), END(1, OUT),
		    INSN(OUT), END(1, AFTER_ECALL), ERET, CONTEXT(U), { ITEM_CYCLES, 6, 0, 0 },
		    INSN(AFTER_ECALL), INSN(JR_RA), END(1, MAIN), INSN(MAIN));
}

TEST_F(ctr, interrupts_nest_and_each_returns_to_where_it_came_from)
{
	begin_in(self, U | S);
	entry(self, JR_RA, MAIN, RET);
	entry(self, BEQ, ENTRY, INT);
	entry(self, SBI, ENTRY, INT);
	entry(self, KBEQ, OUT, TAKEN);
	entry(self, OUT, SBI, XRET);
	entry(self, OUT, BEQ, XRET);
	entry(self, CALL, FUNCTION, DCALL);
	EXPECT_FLOW(GAP(RECORDER), INSN(JR_RA), END(1, MAIN), INSN(MAIN),
		    TRAPPED(BEQ, -1, ENTRY | 1), CONTEXT(S),
		    INSN(ENTRY), INSN(KBEQ), END(0, SBI), TRAPPED(SBI, -1, ENTRY | 1),
		    INSN(ENTRY), INSN(KBEQ), END(1, OUT), INSN(OUT), END(1, SBI), ERET,
		    INSN(SBI), END(0, AFTER_SBI), INSN(AFTER_SBI), INSN(OUT), END(1, BEQ), ERET,
		    CONTEXT(U), INSN(BEQ), END(0, AFTER_BEQ), INSN(AFTER_BEQ), INSN(BNEZ),
		    END(0, CALL), INSN(CALL), END(1, FUNCTION));
}

TEST_F(ctr, a_signal_is_where_the_trap_return_says)
{
	begin_in(self, U | S);
	entry(self, OUT, FUNCTION, XRET);
	entry(self, FUNCTION_2, ENTRY, INT);
	entry(self, OUT, MAIN, XRET);
	entry(self, BEQ, JOIN, TAKEN);
	EXPECT_FLOW(GAP(RECORDER), CONTEXT(S), INSN(OUT), END(1, FUNCTION), ERET, CONTEXT(U),
		    INSN(FUNCTION), TRAPPED(FUNCTION_2, -1, ENTRY | 1), CONTEXT(S),
		    INSN(ENTRY), INSN(KBEQ), END(0, SBI), INSN(SBI), END(0, AFTER_SBI),
		    INSN(AFTER_SBI), INSN(OUT), END(1, MAIN), ERET, CONTEXT(U),
		    INSN(MAIN), INSN(BEQ), END(1, JOIN));
}

TEST_F(ctr, traps_need_no_ste_where_the_kernel_is_recorded)
{
	begin_in(self, U | S)->control &= ~STE;
	entry(self, JR_RA, MAIN, RET);
	entry(self, BEQ, ENTRY, INT);
	entry(self, KBEQ, OUT, TAKEN);
	EXPECT_FLOW(GAP(RECORDER), INSN(JR_RA), END(1, MAIN), INSN(MAIN),
		    TRAPPED(BEQ, -1, ENTRY | 1), CONTEXT(S), INSN(ENTRY), INSN(KBEQ), END(1, OUT));
	begin_in(self, U | S)->control |= BPFRZ;	/* breakpoints are not recorded (6.5) */
	entry(self, BEQ, ENTRY, INT);
	entry(self, OUT, MAIN, XRET);
	EXPECT_FLOW(GAP(RECORDER), TRANSFER(BEQ, ENTRY, INT), CONTEXT(U),
		    TRAPPED(BEQ, -1, ENTRY | 1), CONTEXT(S),
		    TRANSFER(OUT, MAIN, XRET), GAP(TRAP), INSN(OUT), END(1, MAIN), ERET,
		    CONTEXT(U));
}

TEST_F(ctr, firmware_goes_on_after_a_call_and_a_breakpoint_has_a_record)
{
	begin_in(self, U | S);
	entry(self, JUMP, SBI, IJUMP);
	entry(self, OUT, OTHER, XRET);
	entry(self, OTHER, WARN, DCALL);
	entry(self, WARN, ENTRY, EXC);
	EXPECT_FLOW(GAP(RECORDER), CONTEXT(S), INSN(JUMP), END(1, SBI), INSN(SBI),
		    END(0, AFTER_SBI), INSN(AFTER_SBI), INSN(OUT), END(1, OTHER), ERET,
		    INSN(OTHER), END(1, WARN), INSN(WARN), END(1, 0), TRAPPED(WARN, 3, ENTRY));
	begin_in(self, U | S);				/* not passed without one */
	entry(self, OTHER, WARN, DCALL);
	entry(self, JUMP, ENTRY, IJUMP);
	EXPECT_FLOW(GAP(RECORDER), INSN(OTHER), END(1, WARN), GAP(IMPOSSIBLE), INSN(JUMP),
		    END(1, ENTRY));
	EXPECT_NE(strstr(self->log.detail, "exception at 0xffffffff8000001c"), NULL);
	begin_in(self, U | S);				/* and the program's ecall never is */
	entry(self, JR_A0, JOIN, IJUMP);
	entry(self, JR_RA, MAIN, RET);
	EXPECT_FLOW(GAP(RECORDER), CONTEXT(U), INSN(JR_A0), END(1, JOIN), GAP(IMPOSSIBLE),
		    INSN(JR_RA), END(1, MAIN));
}

TEST_F(ctr, an_ecall_of_the_kernel_that_does_trap_has_its_own_cause)
{
	begin_in(self, U | S);
	entry(self, JUMP, KBEQ, IJUMP);
	entry(self, SBI, 0, EXC);			/* MTE: recorded, with target 0 */
	entry(self, JUMP, SBI, IJUMP);
	EXPECT_FLOW(GAP(RECORDER), CONTEXT(S), INSN(JUMP), END(1, KBEQ), INSN(KBEQ), END(0, SBI),
		    INSN(SBI), END(1, 0), TRAPPED(SBI, 9, 0), GAP(TRAP), INSN(JUMP), END(1, SBI));
	EXPECT_STREQ(self->log.detail, "M mode handled an exception");
}

TEST_F(ctr, where_the_kernel_was_entered_without_a_record_is_told)
{
	begin_in(self, U | S);
	entry(self, JR_RA, UNKNOWN, RET);		/* firmware hands on what is illegal */
	entry(self, KBEQ, OUT, TAKEN);
	entry(self, OUT, MAIN, XRET);
	entry(self, SBI, ENTRY, INT);
	at_ip(self, MAIN);
	EXPECT_FLOW(GAP(RECORDER), INSN(JR_RA), END(1, UNKNOWN), GAP(TRAP), CONTEXT(S),
		    INSN(KBEQ), END(1, OUT), INSN(OUT), END(1, MAIN), ERET, CONTEXT(U),
		    GAP(TRAP), CONTEXT(S), TRAPPED(SBI, -1, ENTRY | 1), GAP(TRAP));
	EXPECT_EQ(self->log.gap.address, ENTRY);
	EXPECT_STREQ(self->log.detail, "the way out of the kernel was not recorded");
}

TEST_F(ctr, a_guest_runs_between_a_return_to_0_and_a_trap_from_0)
{
	begin_in(self, U | S);
	entry(self, JUMP, AFTER_SBI, IJUMP);
	entry(self, OUT, 0, XRET);
	entry(self, 0, ENTRY, EXC);
	entry(self, KBEQ, OUT, TAKEN);
	entry(self, 0, ENTRY, INT);			/* how it went there is not recorded */
	EXPECT_FLOW(GAP(RECORDER), CONTEXT(S), INSN(JUMP), END(1, AFTER_SBI), INSN(AFTER_SBI),
		    INSN(OUT), END(1, 0), ERET, GAP(GUEST), TRAPPED(0, -1, ENTRY),
		    INSN(ENTRY), INSN(KBEQ), END(1, OUT), GAP(GUEST), TRAPPED(0, -1, ENTRY | 1));
	EXPECT_EQ(self->log.items.list[0].c >> 32, 0U);
	begin_in(self, U | S);				/* there at the beginning */
	entry(self, 0, ENTRY, INT);
	entry(self, KBEQ, OUT, TAKEN);
	EXPECT_FLOW(GAP(RECORDER), TRAPPED(0, -1, ENTRY | 1), INSN(ENTRY), INSN(KBEQ), END(1, OUT));
}

TEST_F(ctr, a_call_of_null_fails_in_the_kernel)
{
	begin_in(self, U | S);
	entry(self, JUMP, 0, IJUMP);
	entry(self, 0, ENTRY, EXC);
	entry(self, KBEQ, OUT, TAKEN);
	entry(self, OUT, JUMP, XRET);
	entry(self, JUMP, 0x5000, IJUMP);
	entry(self, 0x5000, ENTRY, EXC);
	entry(self, KBEQ, OUT, TAKEN);
	EXPECT_FLOW(GAP(RECORDER), CONTEXT(S), INSN(JUMP), END(1, 0), TRAPPED(0, -1, ENTRY),
		    INSN(ENTRY), INSN(KBEQ), END(1, OUT), INSN(OUT), END(1, JUMP), ERET,
		    INSN(JUMP), END(1, 0x5000), TRAPPED(0x5000, -1, ENTRY),
		    INSN(ENTRY), INSN(KBEQ), END(1, OUT));
	begin_in(self, U | S);				/* nothing can be executed there */
	entry(self, JUMP, MAIN, IJUMP);
	entry(self, BEQ, JOIN, TAKEN);
	EXPECT_FLOW(GAP(RECORDER), INSN(JUMP), END(1, MAIN), GAP(TRAP), CONTEXT(U), INSN(BEQ),
		    END(1, JOIN));
}

TEST_F(ctr, where_a_wild_jump_was_interrupted_at_once_nothing_is_missing)
{
	begin_in(self, U | S);
	entry(self, JUMP, JOIN, IJUMP);
	at_ip(self, JOIN);
	self->s.head.header.misc = FLOWTAP_MISC_KERNEL;
	EXPECT_FLOW(GAP(RECORDER), CONTEXT(S), INSN(JUMP), END(1, JOIN));
	begin_in(self, U | S);				/* nothing is executed there */
	entry(self, JUMP, JOIN, IJUMP);
	at_ip(self, MAIN);
	EXPECT_FLOW(GAP(RECORDER), INSN(JUMP), END(1, JOIN), GAP(TRAP));
}

TEST_F(ctr, a_trap_into_user_mode_is_impossible)
{
	begin_in(self, U | S);
	entry(self, JR_RA, MAIN, RET);
	entry(self, BEQ, JOIN, INT);
	entry(self, JR_RA, MAIN, RET);
	EXPECT_FLOW(GAP(RECORDER), INSN(JR_RA), END(1, MAIN), INSN(MAIN),
		    TRAPPED(BEQ, -1, 0 | 1), GAP(IMPOSSIBLE), INSN(JR_RA), END(1, MAIN));
	EXPECT_STREQ(self->log.detail, "a trap into user mode");
	begin_in(self, U | S);				/* nor has it a handler there */
	entry(self, JUMP, KBEQ, IJUMP);
	entry(self, SBI, MAIN, EXC);
	EXPECT_FLOW(GAP(RECORDER), CONTEXT(S), INSN(JUMP), END(1, KBEQ), INSN(KBEQ), END(0, SBI),
		    INSN(SBI), END(1, 0), TRAPPED(SBI, 9, 0));
}

/* --- The kernel only. --- */

TEST_F(ctr, table_7_of_user_mode_that_is_not_recorded_the_kernel_sees_neither_end)
{
	begin_in(self, S);
	entry(self, 0, ENTRY, EXC);
	entry(self, KBEQ, OUT, TAKEN);
	entry(self, OUT, 0, XRET);
	entry(self, 0, ENTRY, INT);
	entry(self, KBEQ, ENTRY, INT);
	at_kernel(self, KBEQ);
	EXPECT_FLOW(GAP(RECORDER), TRAPPED(0, -1, ENTRY), INSN(ENTRY), INSN(KBEQ), END(1, OUT),
		    INSN(OUT), END(1, 0), ERET, GAP(USER), TRAPPED(0, -1, ENTRY | 1),
		    INSN(ENTRY), TRAPPED(KBEQ, -1, ENTRY | 1), INSN(ENTRY));
	EXPECT_EQ(self->log.items.list[0].kind, ITEM_CONTEXT);
	EXPECT_EQ(self->log.items.list[0].c >> 32, (uint64_t)FLOWTAP_PRIVILEGE_S);
	begin_in(self, S);				/* the trigger came in user mode */
	entry(self, OUT, 0, XRET);
	at_ip(self, MAIN);
	EXPECT_FLOW(GAP(RECORDER), INSN(OUT), END(1, 0), ERET);
}

TEST_F(ctr, addresses_of_user_mode_have_no_place_in_a_record_of_the_kernel)
{
	begin_in(self, S);
	entry(self, JR_RA, MAIN, RET);
	entry(self, KBEQ, OUT, TAKEN);
	EXPECT_FLOW(GAP(RECORDER), GAP(IMPOSSIBLE), INSN(KBEQ), END(1, OUT));
}

/* --- The recorder. --- */

TEST_F(ctr, each_sample_begins_anew_somewhere_in_the_recorder)
{
	begin_in(self, U | S);
	entry(self, KRET, AFTER_SBI, RET);
	at_kernel(self, OUT);
	EXPECT_FLOW(GAP(RECORDER), CONTEXT(S), INSN(KRET), END(1, AFTER_SBI), INSN(AFTER_SBI));
	begin_in(self, U | S)->loss = 1U << FLOWTAP_CAUSE_WRAPPED;
	entry(self, KRET, AFTER_SBI, RET);
	EXPECT_FLOW(GAP(WRAPPED), INSN(KRET), END(1, AFTER_SBI));
	begin_in(self, U | S)->trigger = FLOWTAP_TRIGGER_SNAPSHOT;	/* no way to ip */
	entry(self, KRET, AFTER_SBI, RET);
	at_kernel(self, OUT);
	EXPECT_FLOW(GAP(RECORDER), INSN(KRET), END(1, AFTER_SBI));
	begin_in(self, U | S)->control &= ~LCOFIFRZ;
	entry(self, KRET, AFTER_SBI, RET);
	at_kernel(self, OUT);
	EXPECT_FLOW(GAP(RECORDER), INSN(KRET), END(1, AFTER_SBI));
	begin_in(self, U)->header.misc = FLOWTAP_MISC_KERNEL;	/* it came late */
	entry(self, JR_RA, MAIN, RET);
	self->s.head.ip = KBEQ;
	EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, MAIN));
}

TEST_F(ctr, a_write_to_sctrctl_ends_what_is_known)
{
	begin_in(self, U | S);
	entry(self, JUMP, AFTER_OTHER, IJUMP);
	entry(self, KRET, OTHER, RET);			/* ahead, */
	entry(self, OTHER, WARN, DCALL);
	entry(self, WARN, ENTRY, EXC);
	EXPECT_FLOW(GAP(RECORDER), CONTEXT(S), INSN(JUMP), END(1, AFTER_OTHER), GAP(RECORDER),
		    INSN(KRET), END(1, OTHER), INSN(OTHER), END(1, WARN), INSN(WARN), END(1, 0),
		    TRAPPED(WARN, 3, ENTRY));
	begin_in(self, U | S);
	entry(self, JUMP, AFTER_OTHER, IJUMP);
	entry(self, KBEQ, OUT, TAKEN);			/* after, */
	entry(self, OUT, AFTER_OTHER, XRET);
	entry(self, KRET, ENTRY, INT);			/* a trap, */
	entry(self, KBEQ, OUT, TAKEN);
	entry(self, OUT, RECORDER, XRET);
	at_kernel(self, KRET);				/* and the end. */
	EXPECT_FLOW(GAP(RECORDER), INSN(JUMP), END(1, AFTER_OTHER), GAP(RECORDER), INSN(KBEQ),
		    END(1, OUT), INSN(OUT), END(1, AFTER_OTHER), ERET, GAP(RECORDER),
		    TRAPPED(KRET, -1, ENTRY | 1), INSN(ENTRY), INSN(KBEQ), END(1, OUT),
		    INSN(OUT), END(1, RECORDER), ERET, GAP(RECORDER));
	EXPECT_EQ(self->log.gap.address, RECORDER);
}

TEST_F(ctr, an_interrupt_that_the_recorder_put_in_leads_nowhere)
{
	begin_in(self, U | S);
	entry(self, JR_RA, MAIN, RET);
	entry(self, BEQ, 0, INT);
	entry(self, KRET, AFTER_SBI, RET);
	entry(self, OUT, BEQ, XRET);
	EXPECT_FLOW(GAP(RECORDER), INSN(JR_RA), END(1, MAIN), INSN(MAIN), TRAPPED(BEQ, -1, 1),
		    GAP(FROZEN), CONTEXT(S), INSN(KRET), END(1, AFTER_SBI), INSN(AFTER_SBI),
		    INSN(OUT), END(1, BEQ), ERET, CONTEXT(U));
}

/* --- What cannot be blocks. --- */

TEST_F(ctr, inhibited_traps_are_holes_where_the_kernel_is_recorded)
{
	for (int type = EXC; type <= XRET; type++) {
		for (int modes = 1; modes < 4; modes++) {
			begin_in(self, modes)->control |= 1ULL << (32 + type);
			entry(self, JR_RA, MAIN, RET);
			if (modes == 1)
				EXPECT_FLOW(GAP(TRAP), INSN(JR_RA), END(1, MAIN));
			else
				EXPECT_FLOW(GAP(RECORDER), GAP(FILTERED),
					    TRANSFER(JR_RA, MAIN, RET));
		}
	}
	EXPECT_STREQ(self->log.detail, "transfer types were inhibited");
	begin_in(self, S | M);
	EXPECT_FLOW(GAP(RECORDER), GAP(FILTERED));
}

TEST_F(ctr, without_types_traps_of_the_kernel_look_like_jumps)
{
	begin_in(self, U | S);
	entry(self, JR_RA, MAIN, 0);
	entry(self, BEQ, ENTRY, 0);
	EXPECT_FLOW(GAP(RECORDER), GAP(FILTERED), TRANSFER(JR_RA, MAIN, 0),
		    TRANSFER(BEQ, ENTRY, 0));
	EXPECT_STREQ(self->log.detail, "the hardware does not tell traps from jumps");
}

TEST_F(ctr, each_branch_of_the_kernel_has_a_record_with_ntbren)
{
	begin_in(self, U | S)->control |= NTBREN;
	entry(self, JUMP, ENTRY, IJUMP);
	entry(self, KBEQ, SBI, NOT_TAKEN);
	entry(self, OUT, MAIN, XRET);
	EXPECT_FLOW(GAP(RECORDER), CONTEXT(S), INSN(JUMP), END(1, ENTRY), INSN(ENTRY), INSN(KBEQ),
		    END(0, SBI), INSN(SBI), END(0, AFTER_SBI), INSN(AFTER_SBI), INSN(OUT),
		    END(1, MAIN), ERET, CONTEXT(U));
	begin_in(self, U | S)->control |= NTBREN;
	entry(self, JUMP, ENTRY, IJUMP);
	entry(self, OUT, MAIN, XRET);
	EXPECT_FLOW(GAP(RECORDER), CONTEXT(S), INSN(JUMP), END(1, ENTRY), GAP(IMPOSSIBLE),
		    INSN(OUT), END(1, MAIN), ERET, CONTEXT(U));
}

TEST_F(ctr, a_call_stack_of_the_kernel_begins_with_ip_as_well)
{
	begin_in(self, S)->control |= RASEMU;
	entry(self, OTHER, WARN, DCALL);
	at_kernel(self, JUMP);
	EXPECT_FLOW(GAP(FILTERED), { ITEM_FRAME, JUMP, 0, 2 }, { ITEM_FRAME, OTHER, 1, 2 });
}

TEST_F(ctr, without_the_kernels_code_its_records_are_believed)
{
	first(self);
	begin(self)->control = U | S | STE | LCOFIFRZ;
	entry(self, JR_RA, MAIN, RET);
	entry(self, BEQ, ENTRY, INT);
	entry(self, OUT, BEQ, XRET);
	entry(self, BEQ, JOIN, TAKEN);
	EXPECT_FLOW(GAP(RECORDER), INSN(JR_RA), END(1, MAIN), INSN(MAIN),
		    TRAPPED(BEQ, -1, ENTRY | 1), CONTEXT(S), GAP(NO_IMAGE), ERET, CONTEXT(U),
		    INSN(BEQ), END(1, JOIN));
}

TEST_HARNESS_MAIN
