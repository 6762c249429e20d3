/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Simple Trace Format: a sink that writes it, spelled as its real readers accept it
 * (flowtap-stf(5)).
 *
 * It is version 1.5, and ends with the last record: no RESERVE_END, which the 1.3 text wants and
 * every reader fails on. There is no option for the text's own spelling, as nothing reads it.
 * That record is an opcode: comments after the last instruction are before its opcode, between it
 * and the COMMENT "after the next instruction", as stf_recompress leaves out a chunk that ends
 * otherwise.
 *
 * Blocks become instruction records; a taken branch carries its target. RISC-V's jump to nobody
 * knows where (it ends a block and is not taken) is left out, as no reader takes one without a
 * target: the COMMENT `gap no_address ...` stands for it. What an STF cannot say in
 * records becomes a COMMENT in the grammar of flowtap/text.h: gaps, traps whose handler was not
 * recorded, transfers and call stacks without blocks, sessions. A context that comes before such
 * an element, so that its records would come too late, is a COMMENT before it, and the records as
 * well. Where the flow is not continuous a FORCE_PC follows, and never without a COMMENT ("gap
 * unexplained" if nobody said why) or a PROCESS_ID_EXT of another thread. PROCESS_ID_EXT is
 * {cpu, pid, tid}. Times and cycles are not written.
 *
 * A trap of which the flow has cause and handler, and that is an ecall or ebreak just written, is
 * an EVENT with its EVENT_PC_TARGET in the group of that instruction; any other is a COMMENT, and
 * a FORCE_PC leads to the handler, as an EVENT must have a cause and nothing is invented. A change
 * of mode is an EVENT in the group of the xRET, ecall or ebreak that made it; else it is
 * beside the next FORCE_PC. But to RISC-V's user mode only an xRET may change, or the beginning:
 * stf_check rejects any other (SWITCH_USR). After a gap the COMMENT `context ... mode=U` says it,
 * and who does not read that goes on in the mode from before, up to the next trap or xRET.
 *
 * A trace is RISC-V's (ISA 1, INST_IEM 2: RV64) or Arm's (ISA 2, INST_IEM 0: none is assigned),
 * not both. In an Arm trace:
 *
 * - An opcode is the instruction's encoding as DDI 0487 has it: INST_32 for A64, A32 and the
 *   longer T32 instructions, whose first halfword is the upper one; INST_16 for the others.
 * - What executes A64, A32 or T32, the security state, VMID and CONTEXTIDR have no record: the
 *   line `context ...` of flowtap/text.h in a COMMENT holds for what follows it. There is one
 *   before the first instruction and at each change.
 * - EVENTs are only changes of mode, with the exception level as mode: in the group of the
 *   exception return that lowers it, else beside a FORCE_PC. Arm's exceptions are no causes that
 *   EVENT has: `exception NUMBER RETURN` is a COMMENT and a FORCE_PC leads to the handler.
 * - INST_PC_TARGET is given for branches and exception returns, not for ISB, WFI and others that
 *   go on after themselves. A branch by a register whose target was lost has none, then what was
 *   lost is recorded and a FORCE_PC follows. In its group is the COMMENT "taken" where its opcode
 *   does not say that: it is conditional, or T32's.
 * - trace_on, q_range and gaps are COMMENTs before a FORCE_PC; transaction, event and ite are
 *   COMMENTs only. The instructions of a q_range are not there, as nobody knows them.
 * - Another process is PROCESS_ID_EXT without FORCE_PC: the trace is a CPU's and goes on. Ids that
 *   the trace does not have are 0.
 */
#ifndef FLOWTAP_STF_H
#define FLOWTAP_STF_H

#include <flowtap/flow.h>
#include <flowtap/read.h>
#include <flowtap/zstf.h>

#ifdef __cplusplus
extern "C" {
#endif

struct flowtap_blocks;
struct flowtap_stf;

struct flowtap_stf_options {
	const char *comment;		/* goes into the header; NULL: "flowtap" */
	uint8_t generator;		/* TRACE_INFO; 0xFF: none of those that are assigned */
	uint8_t version[3];		/* of the generator */
	const char *generator_comment;	/* up to 65535 bytes, or NULL */
	struct flowtap_blocks *blocks;	/* charged for renderings; may be NULL */
	const struct flowtap_zstf_options *zstf;	/* makes a .zstf; NULL: a plain .stf */
};

struct flowtap_stf_counts {
	uint64_t instructions;
	uint64_t bytes;			/* handed to write so far (a .zstf's: uncompressed); all after finish */
	uint64_t gaps;			/* gap elements and jumps left out, each with a COMMENT */
	uint64_t forced;		/* FORCE_PC after the first: gaps, traps, other tasks */
	uint64_t traps;			/* exceptions written as COMMENT */
	uint64_t events;		/* exceptions written as EVENT */
	uint64_t skipped;		/* transfers and call stacks: no instructions known */
	uint64_t jumps;			/* RV64's that were left out, for nobody knows their targets */
};

/*
 * Writes to fd (borrowed, not seeked), buffered. The header is finished with the first block,
 * whose address its FORCE_PC is. Strings are copied; options->blocks is borrowed. Comments after an
 * instruction are kept, up to 64 MiB, until the next one comes: the trace ends with an opcode.
 * 0 and *stf; -ENOMEM; -EINVAL: generator_comment is too long.
 *
 * With options->zstf fd is a regular file, emptied and written from its beginning whatever
 * its offset, by a thread. Then also: -EINVAL: markers or level out of range, or fd appends;
 * -ESPIPE: fd is no regular file; -EAGAIN: no thread; -errno of writing its head.
 */
int flowtap_stf_new(int fd, const struct flowtap_stf_options *options, struct flowtap_stf **stf);

/*
 * Owned by stf. Its calls return 0;
 * -errno of write, and then always that;
 * -EOPNOTSUPP: a context or a block of Arm's in a trace that began with RISC-V's, or the reverse;
 * -EINVAL: an address where no instruction can be (odd; of A64 and A32 no multiple of 4), or a
 *  block whose bytes are not the instructions it claims: nothing of it was written, and the sink
 *  may be used further;
 * -ENOMEM, likewise.
 * Targets: a taken jump or branch carries the one that it was given, 0 too (a call of NULL is
 * one). A taken ecall or ebreak carries none, an xRET none if it is 0 (not recorded); nor does a
 * branch of Arm's by a register if it is 0 and the next block is elsewhere. Of a block of RISC-V's
 * that ends with a jump which is not conditional and not taken all but the jump is written.
 */
struct flowtap_sink *flowtap_stf_sink(struct flowtap_stf *stf);

/* Owned by stf, current. */
const struct flowtap_stf_counts *flowtap_stf_counts(const struct flowtap_stf *stf);
/*
 * Writes what is buffered. 0; -errno of write; -ENODATA: a trace without any instruction, no STF
 * can say that. What was written is then no STF. A .zstf is finished with it: nothing can be
 * written any more (-EPIPE).
 */
int flowtap_stf_finish(struct flowtap_stf *stf);
/*
 * Does not write. A .zstf that was not finished has whole chunks: those that were in the file by
 * then, maybe not the last of them.
 */
void flowtap_stf_free(struct flowtap_stf *stf);

/*
 * Reads an STF: plain, .zstf, or packed by gzip, as its first bytes say; of version 1.2 to 1.x,
 * both widths of EVENT, from fd (borrowed, at the file's beginning; may be a pipe, but for a
 * .zstf). read->sink gets (flow.h):
 *
 * - blocks of the opcodes; one that was not left as its opcode can be is a gap, as is a FORCE_PC
 *   that nobody explains, and what cannot be read;
 * - context: PROCESS_ID_EXT, changes of mode, and the lines `context` of COMMENTs; written when it
 *   changes what is executed next, but not where that is only A32 instead of T32 or the reverse
 *   (blocks say that, and no STF whether the flow had a context there);
 * - exception: an EVENT that is no change of mode. The instruction of its group was executed if it
 *   is the ecall or ebreak that has this cause; else it is not (it is in the trace again where
 *   it is). eret after each xRET of RISC-V and A64;
 * - the other elements of which flowtap's writer makes COMMENTs: gap (each reason, since, until,
 *   size, address, detail), exception, session, trace_on, transfer, callstack, q, transaction,
 *   event, instrumentation.
 *
 * It has no time, timestamp, cycles, mispredicted, marker, source, and no context that repeats the
 * one before. What an STF holds besides is counted (read->extra). RV32, x86 and Power: instructions
 * are counted, none is written, and a gap says so.
 *
 * read->instructions counts opcode records, also of instructions that did not complete. Offsets of
 * problems are the file's for what cannot be unpacked, else those in the unpacked records. After
 * damage a .zstf is read on from its next chunk, in the context that was the last one known.
 *
 * Memory: what `learned` takes, 0.5 MiB, for a .zstf up to 8 MiB and zstd's window, and up to 64 MiB
 * of comments that are before the last instruction and are of what comes after it.
 * 0: it was read as far as can be, see read->problems; -EBADMSG: it is none of these files;
 * -EPROTONOSUPPORT: packed by xz, as read->problem says; -ENOMEM; -errno of read; what the sink
 * returned.
 */
int flowtap_stf_read(struct flowtap_read *read, int fd);
/*
 * Whether a file that begins so is for flowtap_stf_read. gzip is looked into; what is packed by xz,
 * or in gzip so damaged that nothing shows, may be one.
 */
bool flowtap_stf_is(const void *begin, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_STF_H */
