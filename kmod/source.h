/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A source is hardware (or its imitation) that records control transfers on one CPU. The core
 * calls the operations on that CPU with interrupts off, except configure. A source writes no record:
 * sample.h and piece.h do, of what it has drained or collected (see layers).
 */
#ifndef FLOWTAP_KMOD_SOURCE_H
#define FLOWTAP_KMOD_SOURCE_H

#ifdef __KERNEL__
#include <linux/cpumask.h>
#include <linux/ptrace.h>
#endif
#include <linux/flowtap.h>

#define FLOWTAP_DEPTH_MAX	256

struct flowtap_aux;

/**
 * struct flowtap_recording - what a source is to record for a stream, and what it keeps for that
 *
 * Complete from the source's configure() on.
 */
struct flowtap_recording {
	/** @id: never used again. */
	u64 id;
	/** @modes: FLOWTAP_MODE_. */
	u32 modes;
	/** @depth: entries. */
	u32 depth;
	/** @control: sctrctl while it records. */
	u64 control;
	/** @written: what sctrctl held when recording had begun. */
	u64 written;
	/** @data: the bits of ctrdata that this CPU has. */
	u64 data;
	/** @stopping: the trigger that stops it by itself, FLOWTAP_TRIGGER_OVERFLOW or 0. */
	u32 stopping;
	/** @stale: an overflow of somebody else's has stopped it, until resume(). */
	bool stale;
	/** @breakpoints: they stop it, too, some time before the trigger. */
	bool breakpoints;
	/** @stacks: what is recorded are call stacks, which samples leave there. */
	bool stacks;
	/** @ete: what an ETE is asked for, complete. */
	struct flowtap_ete_configure ete;
	/** @aux: where a collector stores. */
	struct flowtap_aux *aux;
	/** @points: CTR has sctrstatus.WRPTR, which says how many came. */
	bool points;
	/** @cycles: CTR counts them in its data, from one record to the next. */
	bool cycles;
	/** @begin: sctrstatus where the entries begin that are there: of it WRPTR, modulo depth. */
	u32 begin;
	/** @produced: transfers of the soft source. */
	u64 produced;
	/** @drained: how often the soft source was drained. */
	u64 drained;
};

/**
 * struct flowtap_collected - what a collector found
 */
struct flowtap_collected {
	/** @skipped: bytes from the area's head to the first one. */
	u64 skipped;
	/** @size: bytes; of a spare opening: that came, and are lost. */
	u64 size;
	/** @full: some more was dropped: there was no space. */
	bool full;
	/** @fault: it had stopped by itself; what came then is lost. */
	bool fault;
	/** @collision: a fault: somebody else has changed the hardware's state. */
	bool collision;
	/** @wrapped: the first bytes gave way: size or more came. */
	bool wrapped;
};

/**
 * struct flowtap_collector - operations of a source that stores bytes in the AUX area by itself
 *
 * Context: the recording's CPU, interrupts off, recording is paused. The source's resume() does
 * nothing while the collector is closed.
 */
struct flowtap_collector {
	/**
	 * @open: prepares for bytes after the area's head. spare: nothing is kept, there always is
	 * space; close() says how much came. Returns 0; -ENOSPC: no space; -EBUSY: somebody else
	 * uses the hardware; -EIO: it does not answer.
	 */
	int (*open)(struct flowtap_recording *recording, bool spare);
	/**
	 * @close: ends that; all bytes are in memory. stop: what comes after the next open() begins
	 * anew. collected is zeroed before.
	 */
	void (*close)(struct flowtap_recording *recording, bool stop,
		      struct flowtap_collected *collected);
	/** @reset: what comes after the next open() begins anew; of what is closed. */
	void (*reset)(struct flowtap_recording *recording);
	/** @counter: the counter of the time stamps in what is collected, now. */
	u64 (*counter)(void);
};

/* What count() returns: a number, FLOWTAP_DEPTH_MAX at most, and what is said beside it. */
#define SOURCE_ENTRIES		GENMASK(8, 0)
#define SOURCE_FOREIGN		BIT(30)
#define SOURCE_STOPPED		BIT(31)	/* as sctrstatus.FROZEN */

/**
 * struct flowtap_source - hardware that records control transfers, and how to operate it
 *
 * Context: but for init(), exit(), query(), configure() and stopping_irq() all are called on the
 * CPU in question with interrupts off.
 */
struct flowtap_source {
	/** @name: for people. */
	const char *name;
	/** @id: FLOWTAP_SOURCE_. */
	u32 id;
	/** @modes: FLOWTAP_MODE_ that may be asked for. */
	u32 modes;
	/** @triggers: FLOWTAP_TRIGGER_ that may be asked for. */
	u32 triggers;
	/** @restores: start() takes entries. */
	bool restores;
	/** @collector: in place of start(), stop(), count(), drain(); NULL: entries. */
	const struct flowtap_collector *collector;

	/**
	 * @init: once, before any other; may sleep. It cannot fail: online() says what is missing.
	 * May be NULL.
	 */
	void (*init)(void);
	/** @exit: once, after all others; may sleep. May be NULL. */
	void (*exit)(void);

	/** @online: looks what this CPU has. Returns FLOWTAP_REASON_NONE: usable; or why not. */
	u32 (*online)(void);
	/** @offline: leaves this CPU as it was found. */
	void (*offline)(void);
	/** @recover: the CPU was in a state where it may have lost what its registers held. */
	void (*recover)(void);
	/** @query: fills the source's part of a query; any CPU may ask. */
	void (*query)(u32 cpu, struct flowtap_query *query);
	/**
	 * @configure: checks the source's part and completes the recording: depth, control and what
	 * the source keeps there. Process context, on any CPU. Returns 0; -EINVAL: nonsense;
	 * -EOPNOTSUPP: not on this CPU; -EACCES: not for this caller.
	 */
	int (*configure)(struct flowtap_recording *recording,
			 const struct flowtap_configure *configure);

	/**
	 * @start: an empty buffer, or nr entries in it (oldest first). Recording begins with
	 * resume(). While it is paused the buffer can be read and what the kernel does leaves no
	 * trace in it.
	 */
	void (*start)(struct flowtap_recording *recording, const struct flowtap_entry *entries,
		      u32 nr);
	/**
	 * @stop: recording, which is paused, ends; the buffer is empty. Returns true: it was not
	 * before.
	 */
	bool (*stop)(struct flowtap_recording *recording);
	/**
	 * @pause: pauses. Returns true: recording had been stopped before, by an overflow or a
	 * breakpoint, or is somebody else's.
	 */
	bool (*pause)(struct flowtap_recording *recording);
	/** @resume: recording goes on. */
	void (*resume)(struct flowtap_recording *recording);
	/**
	 * @count: pauses. Returns how many entries there are, at most depth, with SOURCE_STOPPED
	 * where recording had been stopped; or SOURCE_FOREIGN: somebody else has set up the hardware
	 * since start(), and what is there is not the recording's.
	 */
	u32 (*count)(struct flowtap_recording *recording);
	/**
	 * @drain: after count(): takes the newest nr of them, oldest first, and empties the buffer
	 * (but call stacks are kept). entries may be shared with user space: what is not to be seen
	 * is never written there.
	 */
	void (*drain)(struct flowtap_recording *recording, struct flowtap_entry *entries, int nr);
	/**
	 * @thaw: an interrupt handler is done. If recording had been stopped (by an overflow of
	 * somebody else's counter) it goes on now, or recording->stale is set. NULL: that cannot
	 * happen.
	 */
	void (*thaw)(struct flowtap_recording *recording);
	/** @stopping_irq: with thaw(). Returns the interrupt whose handler that is; 0: any. */
	int (*stopping_irq)(void);
};

/**
 * struct flowtap_source_user - whom the sources call when something happens to a CPU
 *
 * Context: the CPU in question, interrupts off.
 */
struct flowtap_source_user {
	/** @cpu_online: it comes online with these sources: bits 1 << FLOWTAP_SOURCE_. */
	void (*cpu_online)(u64 sources);
	/** @cpu_offline: it goes offline. */
	void (*cpu_offline)(void);
	/** @pm_enter: it goes into a state that may lose registers. */
	void (*pm_enter)(void);
	/** @pm_exit: it is back, or did not go. */
	void (*pm_exit)(void);
	/** @full: a collector's hardware has interrupted. */
	void (*full)(void);
};

extern const struct flowtap_source soft_source;
#ifdef CONFIG_RISCV
extern const struct flowtap_source ctr_source;
#endif
#ifdef CONFIG_ARM64
extern const struct flowtap_source ete_source;
#endif

/**
 * source_find() - find a source of a CPU
 * @id: FLOWTAP_SOURCE_; FLOWTAP_SOURCE_NONE: any, hardware first.
 * @cpu: any that is possible.
 * @reason: set to FLOWTAP_REASON_NONE, or to why there is none.
 *
 * Context: any.
 * Return: the source; NULL: the CPU has none that can be used.
 */
const struct flowtap_source *source_find(u32 id, u32 cpu, u32 *reason);

/**
 * source_mask() - which sources of a CPU can be used
 * @cpu: any that is possible.
 *
 * Context: any.
 * Return: bits 1 << FLOWTAP_SOURCE_.
 */
u64 source_mask(u32 cpu);

/**
 * source_full() - a source says that its collector's hardware has interrupted
 *
 * Context: the source's CPU, interrupts off.
 */
void source_full(void);

/**
 * source_thaws() - whether an interrupt can stop a source, which goes on when that is done
 * @irq: set to the interrupt; 0: any.
 *
 * Context: any.
 * Return: a source of this architecture can be stopped so; @irq is set then.
 */
bool source_thaws(int *irq);

/**
 * source_init() - look what there is, on every CPU and on each that comes online later
 * @user: called from here on.
 *
 * Context: the module's load; may sleep.
 * Return: 0; -ENODEV, -EBUSY: no CPU has a source that can be used; another -errno.
 */
int source_init(const struct flowtap_source_user *user);

/**
 * source_exit() - leave every CPU as it was found
 *
 * Context: the module's unload: no stream is left. May sleep.
 */
void source_exit(void);

#endif /* FLOWTAP_KMOD_SOURCE_H */
