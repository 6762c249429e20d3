/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The truth log: what a riscv64 guest's harts executed in user mode, and what its kernel did to
 * the CTR registers, in the order in which it happened. Written by the QEMU plugin (plugin.c),
 * read by log.c. It begins on all harts with the first write of a non-zero sctrctl on any.
 *
 * PREFIX.code has the code: TRUTH_CODE_MAGIC, then pieces, numbered from 0 in the order of the
 * file: u64 address, u32 n, u32 opcode[n] (16-bit ones zero-extended). A piece is what QEMU
 * translated at once; the same code can be in many. QEMU translates by physical address: a piece
 * also executes elsewhere than at `address`, where another process has mapped the same page.
 *
 * PREFIX.H has hart H: TRUTH_HART_MAGIC, then events: u8 kind and as many numbers as
 * truth_fields says, each LEB128. TRUTH_END is the last one of a whole file.
 *
 * A run tells what began to execute. An instruction that raises an exception is therefore the
 * last one of a run (without having completed) when a TRUTH_TRAP with its address follows.
 */
#ifndef TRUTH_LOG_H
#define TRUTH_LOG_H

#include <stdint.h>

#define TRUTH_CODE_MAGIC "FTCODE1\n"
#define TRUTH_HART_MAGIC "FTHART1\n"
#define TRUTH_MAGIC_SIZE 8

enum truth_kind {
	TRUTH_END,
	TRUTH_RUN,	/* code, elsewhere, n, times: its first n instructions, so often in a row */
	TRUTH_TRAP,	/* flags, from, to, cause, task: out of user mode, or an LCOFI */
	TRUTH_RETURN,	/* counts; runs follow */
	TRUTH_READ,	/* csr, counts */
	TRUTH_WRITE,	/* csr, keep, set: new = (old & keep) | set */
	TRUTH_CLEAR,	/* counts; SCTRCLR */
	TRUTH_KINDS
};

/*
 * elsewhere is where the code was executed minus its `address`, as a signed number: zigzag.
 * counts are three numbers, each since the counts before: kernel instructions, those of them in
 * modules, and machine-mode (firmware) instructions.
 * task is the kernel's pointer to the task that was interrupted.
 */
static const uint8_t truth_fields[TRUTH_KINDS] = {
	[TRUTH_RUN] = 4,
	[TRUTH_TRAP] = 5,
	[TRUTH_RETURN] = 3,
	[TRUTH_READ] = 4,
	[TRUTH_WRITE] = 3,
	[TRUTH_CLEAR] = 3,
};

#define TRUTH_FIELDS_MAX 5

enum truth_csr {
	TRUTH_SCTRCTL = 0x14e,
	TRUTH_SCTRSTATUS = 0x14f,
	TRUTH_SISELECT = 0x150,
	TRUTH_SIREG = 0x151,
	TRUTH_SCTRDEPTH = 0x15f,
	TRUTH_SATP = 0x180,
};

#define TRUTH_TRAP_INTERRUPT 1	/* else an exception */
#define TRUTH_TRAP_USER 2	/* out of user mode */

#define TRUTH_CAUSE_LCOFI 13	/* scause of the counter-overflow interrupt */

/*
 * Privilege by address: in a Linux guest on QEMU's virt machine the kernel runs at negative
 * addresses and firmware in the first 2 MiB of memory, where our programs map nothing. The plugin
 * holds it against sstatus.SPP at each trap into the kernel.
 */
static inline int truth_is_kernel(uint64_t address)
{
	return address >> 63;
}

static inline int truth_is_firmware(uint64_t address)
{
	return address >= 0x80000000 && address < 0x80200000;
}

static inline int truth_is_user(uint64_t address)
{
	return !truth_is_kernel(address) && !truth_is_firmware(address);
}

static inline uint64_t truth_zigzag(uint64_t difference)
{
	return difference << 1 ^ -(difference >> 63);
}

static inline uint64_t truth_unzigzag(uint64_t number)
{
	return number >> 1 ^ -(number & 1);
}

#endif /* TRUTH_LOG_H */
