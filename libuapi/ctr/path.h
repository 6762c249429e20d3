/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Walks: the blocks between where execution is known to have been and where the next record was
 * made, if the code allows just that. A path is found whole before any of it is said.
 *
 * An ecall of the kernel is no obstacle: M mode executes it, which is not recorded, and goes on
 * after it. A write to the registers that decide what is recorded is one.
 *
 * Functions return 0: proven, path holds the blocks; CTR_UNPROVEN: `failure` says why; -ENOMEM.
 */
#ifndef FLOWTAP_LIBUAPI_CTR_PATH_H
#define FLOWTAP_LIBUAPI_CTR_PATH_H

#include <flowtap/block.h>
#include <flowtap/flow.h>
#include <flowtap/address_map.h>

#define CTR_UNPROVEN 1

/*
 * Blocks of one path at most, and bytes of code that are passed in them: a longer straight line is
 * taken for impossible. A block can have 20 KiB, and sinks keep their text of each instruction.
 */
#define CTR_PATH_LIMIT 65536
#define CTR_PATH_BYTES (1U << 20)

#define CTR_RECENT 4

/* Of what Linux executes in S mode addresses have the sign bit set, of U mode they never have. */
static inline enum flowtap_privilege flowtap_path_mode(uint64_t address)
{
	return address >> 63 ? FLOWTAP_PRIVILEGE_S : FLOWTAP_PRIVILEGE_U;
}

struct ctr_failure {
	enum flowtap_gap_reason reason;
	uint64_t address;
	char detail[200];
};

struct ctr_path {
	struct flowtap_address_map *map;
	struct flowtap_blocks *blocks;
	/* of the sample */
	uint32_t pid;
	uint64_t time;
	uint64_t since;			/* the task's sample before it, 0 unknown */
	unsigned int modes;		/* that are recorded: 1 << FLOWTAP_PRIVILEGE_ */
	bool all_branches;		/* NTBREN: not-taken branches have records as well */
	const struct flowtap_code *recent[CTR_RECENT];
	unsigned int oldest;
	/* The direct transfer that led to where a path may begin, or NULL: saves a look-up. */
	struct flowtap_block *jump;
	/* the answer */
	struct flowtap_block **steps;
	size_t n;
	size_t capacity;		/* of steps, in bytes */
	uint32_t bytes;			/* of code that was passed */
	struct ctr_failure failure;
};

void flowtap_path_begin(struct ctr_path *path, uint32_t pid, uint64_t time, uint64_t since,
			unsigned int modes, bool all_branches);
void flowtap_path_release(struct ctr_path *path);

/*
 * From `from` to the transfer, which is the last instruction of the path and does what was
 * recorded: its class is the type, its target the target. Where the hardware gives no types
 * (NONE) transfer->type becomes what the code says.
 */
int flowtap_path_transfer(struct ctr_path *path, uint64_t from, struct flowtap_transfer *transfer);

/* The transfer alone: its own instruction. */
int flowtap_path_single(struct ctr_path *path, struct flowtap_transfer *transfer);

/* From `from` up to `stop`, exclusive. */
int flowtap_path_stop(struct ctr_path *path, uint64_t from, uint64_t stop);

/*
 * From `from` to an exception whose epc is `epc`. If it is certain that an ecall or ebreak there
 * was executed, that is the end of the path and *cause its cause; else the path ends before epc
 * and *cause is -1. before: the instruction executed before `from`.
 */
int flowtap_path_exception(struct ctr_path *path, uint64_t before, uint64_t from, uint64_t epc,
			   int *cause);

#endif /* FLOWTAP_LIBUAPI_CTR_PATH_H */
