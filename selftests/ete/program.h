/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random programs of A64, A32 and T32 code: functions with loops, calls, recursion, jump tables and
 * handlers, laid out in memory with gaps, in up to three user address spaces and a kernel.
 *
 * The opcodes are made here, from the encodings of DDI 0487 C4 and F3 to F4, so that what an
 * instruction does is known without taking it apart.
 */
#ifndef FLOWTAP_SELFTESTS_ETE_PROGRAM_H
#define FLOWTAP_SELFTESTS_ETE_PROGRAM_H

#include <flowtap/flow.h>
#include <flowtap/address_map.h>

#include "rng.h"

enum insn_what {
	INSN_PLAIN,
	INSN_DIRECT,
	INSN_INDIRECT,		/* somewhere */
	INSN_RETURN,
	INSN_TABLE,		/* within the function, forward */
	INSN_ERET,
	INSN_ISB,
	INSN_WFX,
	INSN_TSTART,
	INSN_TCOMMIT,
	INSN_SVC,
};

struct program_insn {
	uint64_t address;
	uint32_t opcode;	/* T32 of 4 bytes: the first halfword above */
	uint32_t to;		/* INSN_DIRECT: index of the target */
	uint32_t bits;		/* random ones for registers and the like */
	uint32_t function;
	uint8_t isa;
	uint8_t size;
	uint8_t what;
	uint8_t form;
	bool conditional;
	bool link;
	bool interworks;	/* goes to A32 and T32 as the target says */
	bool in_it;		/* nothing branches here */
};

struct program_function {
	uint32_t first;
	uint32_t count;
	uint8_t isa;
	uint8_t group;
	bool handler;
};

#define PROGRAM_KERNEL	3
#define PROGRAM_GROUPS	4

struct program_options {
	bool aarch32;		/* user code is A32 and T32 */
	bool kernel32;		/* the kernel as well */
	bool m_profile;		/* all is T32, of Armv8.1-M; the kernel is what handlers are of */
	bool transactions;	/* TSTART and TCOMMIT in A64 */
	bool classic;		/* nothing that old decoders do not know */
	bool plain;		/* like compiled code: about five instructions per branch */
	bool chain;		/* each function calls the next one and returns */
	unsigned int functions;	/* per group */
	unsigned int spaces;	/* 1 to 3 user address spaces at the same addresses */
};

struct program_region {
	struct flowtap_code code;
	uint8_t group;
};

struct program {
	struct program_options options;
	struct rng rng;
	struct program_insn *insns;
	uint32_t ninsns;
	uint32_t capacity;
	struct program_function *functions;
	uint32_t nfunctions;
	uint32_t first[PROGRAM_GROUPS + 1];	/* functions of a group are together */
	struct program_region *regions;
	uint32_t nregions;
};

struct program *program_new(const struct program_options *options, uint64_t seed);
void program_free(struct program *program);
/* The code at the address, of the kernel or this user group; NULL. */
const struct flowtap_code *program_find(const struct program *program, unsigned int group,
					uint64_t address);

/*
 * One instruction of an ISA. `choose` picks one that may stand there and sets what, form,
 * conditional, link, interworks, size. `encode` gives the opcode, with the distance to the target.
 */
enum insn_role {
	ROLE_PLAIN,
	ROLE_IT,		/* plain, in an IT block */
	ROLE_TRANSFER,		/* any that may be in the middle */
	ROLE_END,		/* never falls through: goes somewhere or returns */
	ROLE_ERET,		/* the end of a handler */
};

void program_a64_choose(struct program_insn *insn, enum insn_role role, struct rng *rng,
			const struct program_options *options);
uint32_t program_a64_encode(const struct program_insn *insn, int64_t distance);
void program_a32_choose(struct program_insn *insn, enum insn_role role, struct rng *rng);
uint32_t program_a32_encode(const struct program_insn *insn, int64_t distance);
void program_t32_choose(struct program_insn *insn, enum insn_role role, struct rng *rng,
			const struct program_options *options);
uint32_t program_t32_encode(const struct program_insn *insn, int64_t distance);
/* How far (in instructions) a direct branch of this form may go, forward only or both ways. */
unsigned int program_t32_reach(const struct program_insn *insn, bool *forward);
/* It cannot go to what is right after it. */
bool program_t32_skips(const struct program_insn *insn);
/* It goes back only, or to itself: the end of a low-overhead loop. */
bool program_t32_loops(const struct program_insn *insn);
/* It can lead to Non-secure state. */
bool program_t32_leaves_secure(const struct program_insn *insn);
/* It is no MOV: what it puts in the PC may be EXC_RETURN or FNC_RETURN. */
bool program_t32_returns(const struct program_insn *insn);
/* Whether the direct branch goes to the other of A32 and T32. */
bool program_t32_exchanges(const struct program_insn *insn);
bool program_a32_exchanges(const struct program_insn *insn);
/* IT, for n instructions, the last of which follows the condition. */
void program_t32_it(struct program_insn *insn, unsigned int n, struct rng *rng);
/* The branch that may end an IT block. */
void program_t32_it_branch(struct program_insn *insn, struct rng *rng);

#endif
