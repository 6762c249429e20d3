/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A sink that counts calls by the function that they lead to, and prints them as text. Lines that
 * do not begin with # are a count, a function and the file it is of; the most frequent come first:
 *
 *	# calls function object
 *	1284 memcpy /usr/lib/riscv64-linux-gnu/libc.so.6
 *	3 0x2aab10c6 -
 *	1 (unknown) -
 *
 * Counted is each instruction that leaves a return address and was executed: RISC-V's calls of
 * ctrdata.TYPE 8 and 9, Arm's BL and BLR and their like. What is called is the function around the
 * address that the call led to, or, where there is no name, that address. `(unknown)`: nothing says
 * where it led. `(others)`: no more functions could be told apart. A `-` stands for a file that is
 * not known. What was in a gap nobody counts.
 */
#ifndef FLOWTAP_CALLS_H
#define FLOWTAP_CALLS_H

#include <flowtap/flow.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Addresses of functions that are told apart: 40 MiB of memory. */
#define FLOWTAP_CALLS_MAX (1U << 19)

struct flowtap_blocks;
struct flowtap_calls;

struct flowtap_calls_options {
	struct flowtap_blocks *blocks;	/* charged for what is kept with them; may be NULL */
	/*
	 * The function at `address`, in the process and at the time that the flow is at, and
	 * *offset from its start; and the file that it is of; NULL: not known. Either may be NULL.
	 * What they return has to stay until flowtap_calls_finish returns.
	 */
	const char *(*symbol)(void *argument, uint64_t address, uint64_t *offset);
	const char *(*object)(void *argument, uint64_t address);
	void *argument;
};

/* Writes to fd (borrowed, not seeked), all of it at the end. 0 and *calls; -ENOMEM. */
int flowtap_calls_new(int fd, const struct flowtap_calls_options *options,
		      struct flowtap_calls **calls);
/* Owned by calls. Its calls return 0 or -ENOMEM. */
struct flowtap_sink *flowtap_calls_sink(struct flowtap_calls *calls);
/*
 * Sorts and writes; to be called once. 0; -ENODATA: no block came, nothing is written; -errno of
 * write.
 */
int flowtap_calls_finish(struct flowtap_calls *calls);
/* Does not write. */
void flowtap_calls_free(struct flowtap_calls *calls);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_CALLS_H */
