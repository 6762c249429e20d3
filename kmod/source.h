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

struct aux;

/* What a source is to record for somebody, from `configure` on, and what it keeps for that. */
struct recording {
	u64 id;				/* never used again */
	u32 modes;			/* FLOWTAP_MODE_ */
	u32 depth;			/* entries */
	u64 control;			/* sctrctl while it records */
	bool breakpoints;		/* they stop it, too, some time before the trigger */
	bool stacks;			/* what is recorded are call stacks, which samples leave there */
	struct flowtap_ete_configure ete; /* complete */
	struct aux *aux;		/* where a collector stores */
	bool points;			/* CTR has sctrstatus.WRPTR */
	bool cycles;			/* and counts them in its data */
	u32 begin;			/* sctrstatus.WRPTR where the entries begin that are there */
	u64 produced;			/* the soft source's own counters */
	u64 drained;
};

/* What a collector found. */
struct collected {
	u64 skipped;			/* from the area's head to the first byte */
	u64 size;			/* bytes; of a spare opening: that came, and are lost */
	bool full;			/* some more was dropped: there was no room */
	bool fault;			/* it had stopped by itself; what came then is lost */
	bool collision;			/* a fault: somebody else has changed the hardware's state */
	bool wrapped;			/* the first bytes gave way: size or more came */
};

/*
 * Operations of a source that stores bytes in the AUX area by itself. Called while paused. `resume`
 * does nothing while it is closed.
 */
struct collector {
	/*
	 * Prepares for bytes behind the area's head. 0; -ENOSPC: no room; -EBUSY: somebody else uses
	 * the hardware; -EIO: it does not answer. spare: nothing is kept, there always is room; close
	 * tells how much came.
	 */
	int (*open)(struct recording *recording, bool spare);
	/* Ends that, all bytes are in memory. stop: what comes after the next open begins anew. */
	void (*close)(struct recording *recording, bool stop, struct collected *collected);
	/* The same for what is closed. */
	void (*reset)(struct recording *recording);
	/* Of the time stamps in what is collected. */
	u64 (*counter)(void);
};

struct source {
	const char *name;
	u32 id;				/* FLOWTAP_SOURCE_ */
	u32 modes;			/* what the core may be asked for */
	u32 triggers;
	bool restores;			/* start takes entries */
	const struct collector *collector; /* in place of start, stop, drain; NULL: entries */

	/* Once, before any other; may sleep. What is missing `online` tells. Both may be NULL. */
	void (*init)(void);
	void (*exit)(void);

	/* Looks what this CPU has. 0: usable; else a FLOWTAP_REASON_. */
	u32 (*online)(void);
	/* Leaves this CPU as it was found. */
	void (*offline)(void);
	/* The CPU was in a state where it may have lost what its registers held. */
	void (*recover)(void);
	/* Fills the source's part of a query; any CPU may ask. */
	void (*query)(u32 cpu, struct flowtap_query *query);
	/* Checks the source's part and sets recording->depth and recording->control. */
	int (*configure)(struct recording *recording, const struct flowtap_configure *configure);

	/*
	 * start: an empty buffer, or these entries in it (oldest first). Recording begins with
	 * resume. While it is paused the buffer can be read and what the kernel does leaves no
	 * trace in it. stop: recording ends, the buffer is empty; true: it was not before. Called
	 * while paused.
	 */
	void (*start)(struct recording *recording, const struct flowtap_entry *entries, u32 nr);
	bool (*stop)(struct recording *recording);
	/* True: recording had been stopped before, by an overflow or a breakpoint. */
	bool (*pause)(struct recording *recording);
	void (*resume)(struct recording *recording);
	/*
	 * Pauses (*stopped: as pause says) and returns how many entries there are, at most depth; then,
	 * maybe: takes the newest nr of them, oldest first, and empties the buffer (but call stacks stay).
	 * `entries` may be shared with user space: what is not to be seen is never written there.
	 */
	u32 (*count)(struct recording *recording, bool *stopped);
	void (*drain)(struct recording *recording, struct flowtap_entry *entries, u32 nr);
	/*
	 * An interrupt handler is done. If recording had been stopped (by an overflow of somebody
	 * else's counter) it goes on now. NULL: cannot happen.
	 */
	void (*thaw)(struct recording *recording);
	/* The interrupt whose handler that is; 0: it is not known, any. With thaw. */
	int (*stopping_irq)(void);
};

/* What happens to a CPU with its sources: called there, interrupts off. */
struct source_user {
	/* It comes online with these (bit FLOWTAP_SOURCE_x), or goes offline. */
	void (*cpu_online)(u64 sources);
	void (*cpu_offline)(void);
	/* It goes into a state that may lose registers, and is back. */
	void (*pm_enter)(void);
	void (*pm_exit)(void);
	/* A collector's hardware has interrupted. */
	void (*full)(void);
};

extern const struct source soft_source;
#ifdef CONFIG_RISCV
extern const struct source ctr_source;
#endif
#ifdef CONFIG_ARM64
extern const struct source ete_source;
#endif

/* The source that `cpu` has of this id (0: hardware first), or NULL and *reason. */
const struct source *source_find(u32 id, u32 cpu, u32 *reason);
u64 source_mask(u32 cpu);
/* A source says so, on its CPU with interrupts off: its hardware has interrupted. */
void source_full(void);
/*
 * A source of this architecture can be stopped by an interrupt, and goes on when that is done. *irq: by
 * which, 0: any.
 */
bool source_thaws(int *irq);
/*
 * Loads what there is, on every CPU and on each that comes later. -ENODEV, -EBUSY: no CPU has a source;
 * another -errno.
 */
int source_init(const struct source_user *user);
void source_exit(void);

#endif /* FLOWTAP_SOURCE_H */
