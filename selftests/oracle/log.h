/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The oracle log: what the harts of a riscv64 guest executed, in user mode from when a task is
 * first recorded, in the kernel while CTR recorded it, and what the kernel did to the CTR
 * registers, in the order in which it happened. Written by the QEMU plugin (plugin.c), read by
 * reader.c. It begins on all harts with the first write of a non-zero sctrctl on any.
 *
 * PREFIX.code has the code: ORACLE_CODE_MAGIC, then pieces, numbered from 0 in the order of the
 * file: u64 address, u32 n, u32 opcode[n] (16-bit ones zero-extended). A piece is what QEMU
 * translated at once, with the opcodes that it had then; the same code can be in many. QEMU
 * translates by physical address: a piece of user code also executes elsewhere than at `address`,
 * where another process has mapped the same page.
 *
 * PREFIX.H has hart H: ORACLE_HART_MAGIC, then events: u8 kind and as many numbers as
 * oracle_fields says, each LEB128. ORACLE_END is the last one of a whole file. All but RUN and END
 * begin with a stamp: how much greater it is than the hart's stamp before. Stamps are counted for
 * all harts together, so what happened on one hart can be put in order with what did on another.
 *
 * A run tells what began to execute. An instruction that raises an exception is therefore the
 * last one of a run (without having completed) when a ORACLE_TRAP with its address follows.
 */
#ifndef FLOWTAP_SELFTESTS_ORACLE_LOG_H
#define FLOWTAP_SELFTESTS_ORACLE_LOG_H

#include <stdint.h>

#define ORACLE_CODE_MAGIC "FTCODE2\n"
#define ORACLE_HART_MAGIC "FTHART3\n"
#define ORACLE_MAGIC_SIZE 8

enum oracle_kind {
	ORACLE_END,
	ORACLE_RUN,	/* code, elsewhere, n, times: its first n instructions, so often in a row */
	ORACLE_TRAP,	/* stamp, flags, from, to, cause, task */
	ORACLE_RETURN,	/* stamp, task, counts; runs in user mode follow */
	ORACLE_READ,	/* stamp, csr, counts */
	ORACLE_WRITE,	/* stamp, csr, keep, set: new = (old & keep) | set */
	ORACLE_CLEAR,	/* stamp, counts; SCTRCLR */
	ORACLE_TASK,	/* stamp, task: whom the kernel runs for, before an access, if new */
	ORACLE_TAKEN,	/* stamp; the last instruction, a branch to the next one, takes it */
	ORACLE_COUNTS,	/* stamp, counts; a write of ctrsource follows */
	ORACLE_KINDS
};

/*
 * Traps: all out of user mode, all while the kernel is recorded, and those that can freeze CTR.
 * elsewhere is where the code was executed minus its `address`, as a signed number: zigzag.
 * counts are three numbers, each since the counts before: kernel instructions, those of them in
 * modules, and machine-mode (firmware) instructions.
 * task is the kernel's pointer to the task that was interrupted, or that goes on.
 */
static const uint8_t oracle_fields[ORACLE_KINDS] = {
	[ORACLE_RUN] = 4,
	[ORACLE_TRAP] = 6,
	[ORACLE_RETURN] = 5,
	[ORACLE_READ] = 5,
	[ORACLE_WRITE] = 4,
	[ORACLE_CLEAR] = 4,
	[ORACLE_TASK] = 2,
	[ORACLE_TAKEN] = 1,
	[ORACLE_COUNTS] = 4,
};

#define ORACLE_FIELDS_MAX 6

enum oracle_csr {
	ORACLE_SCTRCTL = 0x14e,
	ORACLE_SCTRSTATUS = 0x14f,
	ORACLE_SISELECT = 0x150,
	ORACLE_SIREG = 0x151,		/* ctrsource */
	ORACLE_SIREG2 = 0x152,		/* ctrtarget */
	ORACLE_SIREG3 = 0x153,		/* ctrdata */
	ORACLE_SCTRDEPTH = 0x15f,
	ORACLE_SATP = 0x180,
};

#define ORACLE_TRAP_INTERRUPT 1	/* else an exception */
#define ORACLE_TRAP_USER 2	/* out of user mode, else out of the kernel */
#define ORACLE_TRAP_MACHINE 4	/* into firmware, else into the kernel */
#define ORACLE_TRAP_EXIT 8 /* the system call that ends a thread: `task` may be another's later */

#define ORACLE_CAUSE_BREAKPOINT 3
#define ORACLE_CAUSE_ECALL 8	/* out of user mode */
#define ORACLE_CAUSE_LCOFI 13	/* scause of the counter-overflow interrupt */

/* Bits of sctrctl and sctrstatus (Smctr 2.1, 2.5). */
#define ORACLE_CONTROL_U (1ULL << 0)
#define ORACLE_CONTROL_S (1ULL << 1)
#define ORACLE_CONTROL_RASEMU (1ULL << 7)
#define ORACLE_CONTROL_STE (1ULL << 8)
#define ORACLE_CONTROL_BPFRZ (1ULL << 11)
#define ORACLE_CONTROL_LCOFIFRZ (1ULL << 12)
#define ORACLE_STATUS_FROZEN (1ULL << 31)

/* Whether a trap into the kernel sets FROZEN (6.5). */
static inline int oracle_freezes(uint64_t control, uint64_t flags, uint64_t cause)
{
	if (flags & ORACLE_TRAP_MACHINE)
		return 0;
	if (flags & ORACLE_TRAP_INTERRUPT)
		return cause == ORACLE_CAUSE_LCOFI && control & ORACLE_CONTROL_LCOFIFRZ;
	return cause == ORACLE_CAUSE_BREAKPOINT && control & ORACLE_CONTROL_BPFRZ;
}

/*
 * Privilege by address: in a Linux guest on QEMU's virt machine the kernel runs at negative
 * addresses and firmware in the first 2 MiB of memory, where our programs map nothing. The plugin
 * holds it against sstatus.SPP at each trap into the kernel.
 */
static inline int oracle_is_kernel(uint64_t address)
{
	return address >> 63;
}

static inline int oracle_is_firmware(uint64_t address)
{
	return address >= 0x80000000 && address < 0x80200000;
}

static inline int oracle_is_user(uint64_t address)
{
	return !oracle_is_kernel(address) && !oracle_is_firmware(address);
}

static inline uint64_t oracle_zigzag(uint64_t difference)
{
	return difference << 1 ^ -(difference >> 63);
}

static inline uint64_t oracle_unzigzag(uint64_t number)
{
	return number >> 1 ^ -(number & 1);
}

#endif /* FLOWTAP_SELFTESTS_ORACLE_LOG_H */
