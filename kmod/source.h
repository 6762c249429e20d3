/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A source is hardware (or its imitation) that records control transfers on one CPU. The core
 * calls the operations on that CPU with interrupts off, except configure.
 */
#ifndef FLOWTAP_SOURCE_H
#define FLOWTAP_SOURCE_H

#include <linux/cpumask.h>
#include <linux/ptrace.h>
#include <linux/flowtap.h>

#define FLOWTAP_DEPTH_MAX	256

struct stream;

struct source {
	const char *name;
	u32 id;				/* FLOWTAP_SOURCE_ */
	u32 modes;			/* what the core may be asked for */
	u32 triggers;
	bool restores;			/* start takes entries */

	/* Looks what this CPU has. 0: usable; else a FLOWTAP_REASON_. */
	u32 (*online)(void);
	/* Leaves this CPU as it was found. */
	void (*offline)(void);
	/* The CPU was in a state where it may have lost what its registers held. */
	void (*recover)(void);
	/* Fills the source's part of a query; any CPU may ask. */
	void (*query)(u32 cpu, struct flowtap_query *query);
	/* Checks the source's part and sets stream->depth and stream->control. */
	int (*configure)(struct stream *stream, const struct flowtap_configure *configure);

	/*
	 * start: an empty buffer, or these entries in it (oldest first). Recording begins with
	 * resume. While it is paused the buffer can be read and what the kernel does leaves no
	 * trace in it. stop: recording ends, the buffer is empty; true: it was not before. Called
	 * while paused.
	 */
	void (*start)(struct stream *stream, const struct flowtap_entry *entries, u32 nr);
	bool (*stop)(struct stream *stream);
	/* True: recording had been stopped before, by an overflow or a breakpoint. */
	bool (*pause)(struct stream *stream);
	void (*resume)(struct stream *stream);
	/*
	 * Takes all entries, oldest first, so that the newest is in entries[depth - 1], and empties
	 * the buffer (but call stacks stay). How many. Called while paused.
	 */
	u32 (*drain)(struct stream *stream, struct flowtap_entry *entries);
	/*
	 * An interrupt handler is done. If recording had been stopped (by an overflow of somebody
	 * else's counter) it goes on now; ip: what the interrupt interrupted, 0 if that was not
	 * recorded. NULL: cannot happen.
	 */
	void (*thaw)(struct stream *stream, u64 ip);
};

extern const struct source soft_source;
#ifdef CONFIG_RISCV
extern const struct source ctr_source;
#endif

/* The source that `cpu` has of this id (0: hardware first), or NULL and *reason. */
const struct source *source_find(u32 id, u32 cpu, u32 *reason);
u64 source_mask(u32 cpu);
int source_init(void);
void source_exit(void);

#endif /* FLOWTAP_SOURCE_H */
