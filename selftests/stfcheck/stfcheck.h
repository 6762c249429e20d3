/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A reader of STF that checks every rule we know its real readers to enforce. Written from the
 * format's description; shares no code with the writer. It allocates nothing and reads only what
 * it is given.
 */
#ifndef FLOWTAP_SELFTESTS_STFCHECK_STFCHECK_H
#define FLOWTAP_SELFTESTS_STFCHECK_STFCHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One executed instruction, as a reader of the trace sees it. */
struct stfcheck_insn {
	uint64_t index;		/* from 0 */
	uint64_t offset;	/* of its opcode record */
	uint64_t pc;
	uint64_t target;	/* of INST_PC_TARGET, or else of EVENT_PC_TARGET, or else 0 */
	uint64_t next;		/* where the next one is, unless a FORCE_PC says otherwise */
	uint32_t opcode;
	uint8_t size;		/* 2 or 4 */
	uint8_t mode;		/* 0 U, 1 S, 2 H, 3 M; 0xff before anything says so. Of ours after a */
				/* gap by a comment, where readers see no EVENT */
	uint8_t arm;		/* 64 A64, 32 A32, 16 T32 by the last comment `context`; else 0 */
	bool taken;		/* has an INST_PC_TARGET */
	bool trapped;		/* an exception or interrupt is attached to it */
	bool forced;		/* a FORCE_PC after the header says where it is */
	uint32_t hw, pid, tid;	/* of the PROCESS_ID_EXT that holds */
};

struct stfcheck_counts {
	uint64_t instructions;
	uint64_t modes[4];	/* instructions by mode */
	uint64_t taken;
	uint64_t not_taken;	/* conditional branches without a target (RISC-V, A64) */
	uint64_t forced;	/* FORCE_PC after the header */
	uint64_t traps;		/* EVENTs that are exceptions, and ... */
	uint64_t interrupts;
	uint64_t mode_changes;
	uint64_t records[256];	/* by descriptor, header included */
};

struct stfcheck {
	/* In. strict: also what only our own writer promises (stfcheck.c lists it). */
	bool strict;
	/* Each instruction, in order; not 0 stops, and is returned. May be NULL. */
	int (*insn)(void *argument, const struct stfcheck_insn *insn);
	/* Each record before it is checked; payload is what follows the descriptor. May be NULL. */
	void (*record)(void *argument, uint64_t offset, uint8_t descriptor, const uint8_t *payload,
		       size_t size);
	void *argument;

	/* Out, valid up to the error if there is one. */
	struct stfcheck_counts counts;
	uint16_t isa;		/* 1 RISC-V, 2 ARM */
	uint16_t iem;
	uint32_t version[2];
	uint64_t features;
	uint64_t offset;	/* of the record that breaks a rule, or where the bytes end */
	char reason[160];	/* empty: none */
};

/* 0; -EBADMSG: a rule is broken; -ENODATA: it ends too early; what insn returned. */
int stfcheck_run(struct stfcheck *check, const uint8_t *bytes, size_t size);

/* "INST_32" ...; NULL: no such descriptor. */
const char *stfcheck_name(uint8_t descriptor);

/*
 * The whole file, .zstf unpacked (at most 1 GiB), malloc'ed. 0; -errno of the file; -ENOMEM;
 * -EBADMSG: not what its first bytes say; -EFBIG.
 */
int stfcheck_load(const char *path, uint8_t **bytes, size_t *size);

struct stfcheck_chunk {
	uint64_t offset;	/* of its frame in the file */
	uint64_t start_pc;
	uint64_t size;
	uint64_t at;		/* where it begins in the unpacked bytes */
};

struct stfcheck_file {
	uint8_t *bytes;		/* unpacked */
	size_t size;
	uint64_t markers;	/* opcode records in a chunk */
	uint64_t chunks;	/* 0: no .zstf */
	struct stfcheck_chunk *chunk;	/* and one more, where the last one ends */
	uint64_t slack;		/* bytes that are neither: left by who was killed */
	char reason[80];	/* of -EBADMSG, unless it is the check's */
};

/* The same with its chunks: each is one frame, lies where the index says and is as long. */
int stfcheck_open(int fd, struct stfcheck_file *file);
void stfcheck_close(struct stfcheck_file *file);
/* stfcheck_run without `record`, and that each chunk begins where and at the PC where it must. */
int stfcheck_run_file(struct stfcheck *check, struct stfcheck_file *file);

#endif /* FLOWTAP_SELFTESTS_STFCHECK_STFCHECK_H */
