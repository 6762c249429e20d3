/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * flowtap: the interface of /dev/flowtap
 *
 * One open file is one stream: the control transfers that one source recorded on one CPU,
 * optionally only while certain tasks ran. The life of a stream:
 *
 *	fd = open("/dev/flowtap", O_RDWR | O_CLOEXEC);
 *	ioctl(fd, FLOWTAP_IOC_QUERY, &query);		what this CPU has
 *	ioctl(fd, FLOWTAP_IOC_CONFIGURE, &configure);	once; makes the ring
 *	ring = mmap(NULL, page + data, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
 *	ioctl(fd, FLOWTAP_IOC_ADD_TASK, &task);		who is traced
 *	ioctl(fd, FLOWTAP_IOC_ENABLE, &enable);
 *	poll(fd) and take records, as with perf's ring
 *	close(fd)
 *
 * System-wide tracing is one stream per CPU. A process is one stream per CPU as well, all with
 * the same set of tasks: the first stream (the leader) owns the set, the others name it in
 * group_fd. Tasks are added to and removed from the set through any member; event, period, modes
 * and triggers are the leader's and must be the same in all of them.
 *
 * The ring. The mapping begins with one page that is struct flowtap_ring, data_offset bytes from
 * its start come data_size bytes (a power of two) of records. data_head and data_tail count bytes
 * for ever and are never reduced; the offset of a byte is its count modulo data_size. The kernel
 * stores records, then data_head with release order. The reader loads data_head with acquire
 * order, takes what is between data_tail and data_head, then stores data_tail with release order.
 * The mapping must be writable then. The kernel believes data_tail only within range: a tail that
 * is ahead of data_head or more than data_size behind it counts as a full ring. Records are
 * multiples of 8 bytes, do not stop at the end of the data area, and have the form of perf's:
 * {type, misc, size} and size bytes in all. A reader passes over types that it does not know.
 * When the ring is full the new record is dropped and counted; the next one that fits is preceded
 * by FLOWTAP_RECORD_LOST. With FLOWTAP_OVERWRITE the oldest records give way instead; data_oldest
 * is then where the oldest whole record begins, and the mapping must not be writable. The kernel
 * stores data_oldest before it overwrites what is older: a reader loads data_head (acquire), then
 * data_oldest, copies what is between, after a read barrier loads data_oldest again and throws
 * away what it copied from before that. Nothing is LOST then, data_tail means nothing, and there
 * is POLLIN only once the stream is disabled or its last task gone.
 *
 * poll gives POLLIN when watermark bytes wait, or anything waits for flush_ms; POLLHUP when the
 * last task of the set has ended or was removed (what is in the ring stays readable); POLLERR
 * before CONFIGURE. With FLOWTAP_ENDLESS a set may be empty and get tasks later: no POLLHUP.
 *
 * Samples. On a trigger the kernel takes the entries out of the hardware and writes one
 * FLOWTAP_RECORD_SAMPLE. It is raw: source, target and data are the registers' contents, oldest
 * first, except that addresses of the kernel are 0 where the caller may not see them. Nothing of
 * another task is ever in it: the hardware buffer is emptied when a task comes onto the CPU. What
 * a task had in it when it left is put back when it returns, on whatever CPU, so its history goes
 * on; with FLOWTAP_TRIGGER_SWITCH it has become a sample instead.
 *
 * A stream with FLOWTAP_CPU_WIDE takes no tasks (nor INHERIT, ENABLE_ON_EXEC and ENDLESS: EINVAL),
 * but with FLOWTAP_EXCLUDE. It writes a sample whenever the CPU goes from one task to another (if
 * anything was recorded), so that each sample is of one task: the one that pid and tid name. There
 * is at most one such stream on a CPU: CONFIGURE of a second one gives EBUSY, and QUERY names the
 * holder. While it is enabled it holds the source, and the streams of tasks have gaps
 * (FLOWTAP_CAUSE_DISPLACED).
 *
 * With FLOWTAP_EXCLUDE a CPU-wide stream has a task set, which its group shares, of those that it
 * does not record: the source is off while one of them runs, or is the stream's of somebody who
 * traces that task. What comes after it has FLOWTAP_CAUSE_EXCLUDED in `loss`. Tasks are added and
 * removed as to any set; with FLOWTAP_INHERIT children of excluded ones are excluded, too; threads
 * always are. One that cannot be, for lack of memory, is recorded, and there is
 * a GAP (FLOWTAP_CAUSE_MEMORY).
 *
 * Programs in the kernel. FLOWTAP_IOC_KEY gives the key of a task set, by which BPF programs
 * attached to the tracepoints sched_process_exec, sched_process_fork and cgroup_attach_task
 * (tp_btf) change it, if kernel and module have BTF:
 *
 *	int flowtap_add_task(struct task_struct *task, u64 key) __ksym;
 *	int flowtap_remove_task(struct task_struct *task, u64 key) __ksym;
 *
 * For the current task (at exec) and for one that it has just forked (but as its parent's, by
 * CLONE_PARENT) it holds from that moment on, so that nothing of the new program is missed. Of any
 * other it is the whole process, and a worker does it a moment later; where it then cannot be added
 * there is a GAP (FLOWTAP_CAUSE_MEMORY). 0: done, or will be; -ESRCH: no set has the key; -EINVAL:
 * a kernel thread; -ENOMEM, -ENOSPC: too many. A key is for who may trace everybody (CAP_SYS_PTRACE, when
 * the set was made and when the key is asked for, else EPERM), so that no program is asked who it
 * acts for. EOPNOTSUPP: there is no BTF. Perf events of a task that is added so are made by the
 * worker, too: its first samples by FLOWTAP_TRIGGER_OVERFLOW come when it has. Those of a task that
 * is removed so go a moment later.
 *
 * With FLOWTAP_MODE_KERNEL the kernel is recorded, but not what this module does between the
 * moment when it stops recording to take entries and the moment when it goes on: after each sample
 * the first entry's source is somewhere in the module, with no path there from the entry before. A
 * trap's entry whose target is 0 (of type interrupt) was put in by the module: an overflow of
 * somebody else's counter froze recording at its source, and what follows comes after that
 * interrupt. RASEMU cannot be combined with FLOWTAP_MODE_KERNEL (EINVAL): the module's own returns
 * would take calls off the stack that are not theirs; nor with BPFRZ. With the kernel alone an
 * overflow that freezes user mode leaves no entry: what follows a return to user mode is unknown.
 *
 * The AUX area. With FLOWTAP_SOURCE_ETE the hardware stores the bytes of its trace in an area of
 * its own, aux_pages long, which is mapped by a second mmap at aux_offset (writable, or with
 * FLOWTAP_OVERWRITE not). aux_head and aux_tail count bytes as data_head and data_tail do, and are
 * loaded and stored in the same order; the reader stores aux_tail only up to the end of bytes that
 * an AUX record has named. Each FLOWTAP_RECORD_AUX names a range of bytes that one task (with
 * FLOWTAP_CPU_WIDE: whichever ran) left there from `since` to `time`; bytes in no record are Ignore
 * packets. A range never goes round the end of the area, but with FLOWTAP_OVERWRITE. The trace unit
 * begins anew in each (A-sync, Trace Info), but where FLOWTAP_AUX_CONTINUES is set. Bytes come into
 * the area when the task leaves the CPU, at the watermark, after flush_ms and at SNAPSHOT. What the
 * hardware dropped since the area was full, or for a fault, is reported by one GAP record
 * (FLOWTAP_CAUSE_HARDWARE, or RING_FULL where the reader was too slow) over the time in which it
 * can have been; the next AUX record has the cause in `loss`. Its size is unknown, but where the
 * area had no space from the beginning and few bytes came: those are counted. Whoever leaves
 * nothing while the area is full has lost nothing, and there is no record of it. With
 * FLOWTAP_OVERWRITE the newest bytes replace the oldest: the reader waits until the stream is
 * disabled and believes of each record what lies at or after aux_head - aux_size. A piece that went
 * round may have done so more than once: aux_head is then beyond all that was there before. On CPUs
 * with erratum 2253138 or 2224489 the hardware stops at the area's end instead, which is a loss
 * (HARDWARE) each time. ETE's samples are these records; CLOCK and ITRACE_START come when the
 * recording of a task begins, SWITCH with FLOWTAP_CPU_WIDE.
 *
 * Contiguity. Each task of a set has a sequence number; with FLOWTAP_CPU_WIDE the CPU has one for
 * whatever runs there (FLOWTAP_MISC_CPU_WIDE). A sample whose sequence is that of the
 * task's sample before it plus one begins where that one ended: no transfer lies between them.
 * Any other is preceded by a loss; `loss` in it has a bit for each cause. A sample that filled
 * the hardware buffer (nr == depth) may have pushed transfers out and is never contiguous with its
 * predecessor. What happened without a sample to follow is reported by FLOWTAP_RECORD_GAP. Where
 * only the stream of a CPU could write it on which that task may not run, that CPU is asked 100 times
 * in a second at most, whoever asks: other such records are counted as lost.
 *
 * Time is CLOCK_MONOTONIC_RAW in nanoseconds everywhere. pid (process) and tid (thread) are as
 * in the PID namespace of whoever configured the stream, 0 where the task is not visible there.
 *
 * Rights. To trace a process: all of its uids and gids equal to the caller's effective ones, no
 * capability that the caller lacks, the same user namespace and a dumpable process; or
 * CAP_SYS_PTRACE over it. This is stricter than ptrace and does not ask Yama. Tracing of a task
 * ends when it executes a set-uid program, or one that its user may not read, unless who made the
 * set had CAP_SYS_PTRACE. FLOWTAP_CPU_WIDE
 * needs CAP_PERFMON (else EACCES). FLOWTAP_MODE_KERNEL needs what perf asks for to see kernel
 * addresses (perf_event_paranoid, CAP_PERFMON). The ring is charged to RLIMIT_MEMLOCK, after
 * mlock_kb (a module parameter) KiB for each user and CPU. A user without CAP_PERFMON has at most
 * 64 streams on each CPU, and 64 sets of tasks (else EMFILE) with 131072 tasks in all (else
 * ENOSPC); a set has at most 32768.
 *
 * Compatibility. Structures have only integers of fixed size and arrays of bytes, no holes, the same
 * layout on every architecture and for 32-bit callers. They grow at the end: the size is in the
 * command number, a shorter one of an older caller is filled with zeros, a longer one of a newer
 * caller is taken if what is beyond is zero (else E2BIG). Unknown flags and reserved fields that
 * are not zero give EINVAL; what is laid out here but not supported by this module or this CPU
 * (see flowtap_query: modes, flags, triggers, ctr.settable, ctr.depths) gives EOPNOTSUPP; a CPU
 * without the source ENODEV, or EBUSY where someone else owns it; unknown commands ENOTTY.
 */
#ifndef _UAPI_LINUX_FLOWTAP_H
#define _UAPI_LINUX_FLOWTAP_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define FLOWTAP_ABI		1		/* flowtap_query.abi, flowtap_ring.abi */
#define FLOWTAP_UNKNOWN		(~0ULL)		/* a size that nobody can count */

/* Sources: flowtap_query.source, flowtap_configure.source. */
#define FLOWTAP_SOURCE_NONE	0		/* query only: see reason */
#define FLOWTAP_SOURCE_SOFT	1		/* synthetic transfers, module parameter soft=1 */
#define FLOWTAP_SOURCE_CTR	2		/* RISC-V control transfer records */
#define FLOWTAP_SOURCE_ETE	3		/* Arm ETE through TRBE */

/* Why a CPU has no source: flowtap_query.reason. */
#define FLOWTAP_REASON_NONE	0
#define FLOWTAP_REASON_ABSENT	1		/* the CPU has no such hardware, or firmware hides it */
#define FLOWTAP_REASON_OWNED	2		/* someone else has it configured */
#define FLOWTAP_REASON_OFFLINE	3		/* the CPU is offline */
#define FLOWTAP_REASON_UNUSABLE	4		/* present but not usable, the kernel log says why */

/* flowtap_configure.modes, flowtap_query.modes */
#define FLOWTAP_MODE_USER	(1U << 0)	/* U-mode, EL0 */
#define FLOWTAP_MODE_KERNEL	(1U << 1)	/* S-mode, EL1 and EL2 of the host */

/* flowtap_configure.flags, flowtap_query.flags */
#define FLOWTAP_GROUP		(1U << 0)	/* share the task set of the stream group_fd */
#define FLOWTAP_INHERIT		(1U << 1)	/* processes forked by traced ones are traced too */
#define FLOWTAP_ENABLE_ON_EXEC	(1U << 2)	/* the next exec of a traced task enables the group */
#define FLOWTAP_OVERWRITE	(1U << 3)	/* flight recorder: the newest records are kept */
#define FLOWTAP_CPU_WIDE	(1U << 4)	/* whatever runs on the CPU; takes no tasks to trace */
#define FLOWTAP_EXCLUDE_GUEST	(1U << 5)	/* accepted: virtual machines never are traced */
#define FLOWTAP_ENDLESS		(1U << 6)	/* the task set does not end: no POLLHUP */
#define FLOWTAP_EXCLUDE		(1U << 7)	/* with CPU_WIDE: but for the tasks of the set */

/* flowtap_configure.triggers, flowtap_query.triggers, flowtap_record_sample.trigger */
#define FLOWTAP_TRIGGER_SNAPSHOT (1U << 0)	/* FLOWTAP_IOC_SNAPSHOT; always possible */
#define FLOWTAP_TRIGGER_OVERFLOW (1U << 1)	/* a perf event counted `period` */
#define FLOWTAP_TRIGGER_TIMER	(1U << 2)	/* every timer_ns while a traced task runs */
#define FLOWTAP_TRIGGER_SWITCH	(1U << 3)	/* a traced task leaves the CPU */

/* Causes: flowtap_record_sample.loss has bit (1U << cause); flowtap_record_gap.cause. */
#define FLOWTAP_CAUSE_START	0		/* nothing was recorded before */
#define FLOWTAP_CAUSE_WRAPPED	1		/* the hardware buffer was full: older entries went */
#define FLOWTAP_CAUSE_SWITCH	2		/* dropped when the task left the CPU */
#define FLOWTAP_CAUSE_FROZEN	3		/* another's overflow or breakpoint froze recording */
#define FLOWTAP_CAUSE_DISPLACED	4		/* another stream held the hardware */
#define FLOWTAP_CAUSE_RING_FULL	5		/* the reader was too slow */
#define FLOWTAP_CAUSE_DISABLED	6		/* the stream was disabled in between */
#define FLOWTAP_CAUSE_NO_STREAM	7		/* ran on a CPU without a stream of the group */
#define FLOWTAP_CAUSE_THROTTLED	8		/* perf stopped the event: an estimate */
#define FLOWTAP_CAUSE_OFFLINE	9		/* the CPU went offline or lost its state */
#define FLOWTAP_CAUSE_SKID	10		/* the trigger came late, in a mode not recorded */
#define FLOWTAP_CAUSE_EXEC	11		/* set-uid exec: the task is no longer traced */
#define FLOWTAP_CAUSE_HARDWARE	12		/* the source reported it (TRBE wrap, collision, fault), or another owner took it */
#define FLOWTAP_CAUSE_MEMORY	13		/* a new task could not be followed */
#define FLOWTAP_CAUSE_STROBE	14		/* between the strobe's on times: as asked, no GAP */
#define FLOWTAP_CAUSE_EXCLUDED	15		/* an excluded task ran: as asked, no GAP */
#define FLOWTAP_CAUSE_MAX	16

/* What a CPU's CTR can do (Smctr 2, 3); all masks in the registers' own layout. */
struct flowtap_ctr_caps {
	__u64 control;		/* writable sctrctl bits, of those that the standard defines */
	__u64 settable;		/* those of them that flowtap_ctr_configure.control may hold */
	__u64 data;		/* writable ctrdata bits: TYPE 3:0, CCV 15, CC 31:16 */
	__u64 target;		/* bit 0: MISP is reported */
	__u32 depths;		/* bit n: a depth of 16 << n is supported */
	__u32 depth_max;	/* entries */
};

/* What a CPU's trace unit and trace buffer can do. */
struct flowtap_ete_caps {
	__u32 trcidr[14];	/* TRCIDR0 to TRCIDR13 */
	__u32 trcdevarch;
	__u32 trcauthstatus;
	__u64 trbidr;		/* TRBIDR_EL1 */
	__u64 counter_frequency; /* Hz of the generic counter */
	__u64 settable;		/* bits that flowtap_ete_configure.config may hold */
	__u32 address_ranges;	/* how many there may be */
	__u32 exception_level;	/* the kernel's, 1 or 2: at 2 its PIDs are in CONTEXTIDR_EL2 */
	__u64 reserved[2];
};

struct flowtap_query {
	__u32 cpu;		/* in */
	__u32 want;		/* in: a FLOWTAP_SOURCE_ to ask about, 0 the hardware's */
	__u32 abi;		/* out, like all that follows: 0 when it is asked */
	__u32 cpus;		/* CPU numbers are below this */
	__u32 source;
	__u32 reason;
	__u32 modes;		/* supported FLOWTAP_MODE_ */
	__u32 flags;		/* supported flags of CONFIGURE */
	__u32 triggers;		/* supported FLOWTAP_TRIGGER_ */
	__u32 holder_pid;	/* who holds this CPU's source, 0 nobody or not visible */
	__u8 holder_comm[16];
	__u64 sources;		/* bit FLOWTAP_SOURCE_x: this CPU has it */
	__u64 period_min;	/* least flowtap_configure.period */
	struct flowtap_ctr_caps ctr;
	struct flowtap_ete_caps ete;
	__u64 onlines;		/* times that the CPU has come online; low-power states do not count */
	__u64 reserved[7];
};

struct flowtap_ctr_configure {
	__u64 control;		/* sctrctl: filter bits 47:32, RASEMU, BPFRZ; never M, S, U */
	__u32 depth;		/* 16 to 256; 0: the greatest */
	__u32 flags;		/* FLOWTAP_CTR_ */
};

#define FLOWTAP_CTR_NO_TRAPS	(1U << 0)	/* do not record traps out of recorded modes (STE) */
#define FLOWTAP_CTR_SHALLOW	(1U << 1)	/* take a smaller depth where `depth` is not supported */

/* sctrctl (Smctr 2.1). All filters inhibit but NTBREN, which enables. */
#define FLOWTAP_SCTRCTL_U		(1ULL << 0)
#define FLOWTAP_SCTRCTL_S		(1ULL << 1)
#define FLOWTAP_SCTRCTL_M		(1ULL << 2)	/* never set */
#define FLOWTAP_SCTRCTL_RASEMU		(1ULL << 7)
#define FLOWTAP_SCTRCTL_STE		(1ULL << 8)
#define FLOWTAP_SCTRCTL_BPFRZ		(1ULL << 11)
#define FLOWTAP_SCTRCTL_LCOFIFRZ	(1ULL << 12)
#define FLOWTAP_SCTRCTL_EXCINH		(1ULL << 33)
#define FLOWTAP_SCTRCTL_INTRINH		(1ULL << 34)
#define FLOWTAP_SCTRCTL_TRETINH		(1ULL << 35)
#define FLOWTAP_SCTRCTL_NTBREN		(1ULL << 36)
#define FLOWTAP_SCTRCTL_TKBRINH		(1ULL << 37)
#define FLOWTAP_SCTRCTL_INDCALLINH	(1ULL << 40)
#define FLOWTAP_SCTRCTL_DIRCALLINH	(1ULL << 41)
#define FLOWTAP_SCTRCTL_INDJMPINH	(1ULL << 42)
#define FLOWTAP_SCTRCTL_DIRJMPINH	(1ULL << 43)
#define FLOWTAP_SCTRCTL_CORSWAPINH	(1ULL << 44)
#define FLOWTAP_SCTRCTL_RETINH		(1ULL << 45)
#define FLOWTAP_SCTRCTL_INDLJMPINH	(1ULL << 46)
#define FLOWTAP_SCTRCTL_DIRLJMPINH	(1ULL << 47)

/*
 * CID and VMID in config name tasks by numbers of the initial PID namespace: EACCES for a caller in
 * another one. With FLOWTAP_MODE_KERNEL the kernel's path to a task is traced from where the
 * scheduler has chosen it: until it has switched they name the task that leaves.
 */
struct flowtap_ete_configure {
	__u64 config;		/* TRCCONFIGR: BB, CCI, CID, VMID, TS, RS, VMIDOPT */
	__u64 reserved;		/* 0 */
	__u64 address_start[4];	/* ranges to trace, none: everything */
	__u64 address_end[4];	/* the first address after each */
	__u64 strobe_on_ns;	/* 100 us to 60 s each, by CLOCK_MONOTONIC; both 0: always on */
	__u64 strobe_off_ns;
	__u32 sync_period;	/* TRCSYNCPR: log2 of bytes, 8 to 20; 0: 12 */
	__u32 cycle_threshold;	/* TRCCCCTLR, with CCI: at most 4095, raised to CCITMIN; 0: 256 */
	__u32 address_ranges;
	__u32 flags;		/* 0: there are none */
};

/* TRCCONFIGR (DDI 0487), what config may have of it. */
#define FLOWTAP_TRCCONFIGR_BB		(1ULL << 3)
#define FLOWTAP_TRCCONFIGR_CCI		(1ULL << 4)
#define FLOWTAP_TRCCONFIGR_CID		(1ULL << 6)
#define FLOWTAP_TRCCONFIGR_VMID		(1ULL << 7)
#define FLOWTAP_TRCCONFIGR_TS		(1ULL << 11)
#define FLOWTAP_TRCCONFIGR_RS		(1ULL << 12)
#define FLOWTAP_TRCCONFIGR_VMIDOPT	(1ULL << 15)	/* CONTEXTIDR_EL2 in place of the VMID */

struct flowtap_configure {
	__u32 source;
	__u32 cpu;
	__u32 flags;
	__u32 group_fd;		/* with FLOWTAP_GROUP */
	__u32 modes;
	__u32 triggers;
	__u32 ring_pages;	/* data pages, a power of two */
	__u32 aux_pages;	/* ETE only, else 0: a power of two, at least 2 */
	__u32 watermark;	/* bytes that wake poll; 0: a quarter of the ring */
	__u32 flush_ms;		/* oldest unread byte's age that wakes poll; 0: 100, ~0U: never */
	__u32 event_type;	/* PERF_TYPE_HARDWARE, SOFTWARE, HW_CACHE or RAW */
	__u32 aux_watermark;	/* ETE only: bytes that wake poll, looked at each page; 0: a quarter of the AUX area */
	__u64 event_config;	/* as in perf_event_attr */
	__u64 event_config1;
	__u64 event_config2;
	__u64 period;		/* events per sample, at least flowtap_query.period_min */
	__u64 timer_ns;
	struct flowtap_ctr_configure ctr;
	struct flowtap_ete_configure ete;
	__u64 reserved[8];
};

/* Of a process an error ends adding: the threads that came before it are in the set. */
struct flowtap_task {
	__u32 pid;		/* in the caller's PID namespace */
	__u32 flags;		/* FLOWTAP_TASK_ */
	__u32 threads;		/* out: threads added or removed */
	__u32 reserved;
};

/* pid is a thread's: ADD is of it and of those that it creates then, REMOVE of it alone. */
#define FLOWTAP_TASK_THREAD	(1U << 0)

struct flowtap_key {
	__u64 key;		/* out: of the stream's task set, never 0 */
	__u32 flags;		/* 0 */
	__u32 reserved;
};

/*
 * DISABLE writes a LOST record of what was lost last, if there is space for it. Where the ring was
 * full, DISABLE again after the last read.
 */
struct flowtap_enable {
	__u32 flags;		/* FLOWTAP_ENABLE_; of ENABLE and DISABLE */
	__u32 reserved;
};

#define FLOWTAP_ENABLE_GROUP	(1U << 0)	/* every stream of the group */

/*
 * Writes a sample of what the hardware holds now; with an AUX area an AUX record, and entries is
 * its bytes. entries is 0 and no sample is written when no
 * traced task runs on the stream's CPU at this moment; also 0, with a sample that has none, when it
 * has only just come there. To take its own history a task must be
 * in the set and be on the stream's CPU.
 */
struct flowtap_snapshot {
	__u32 flags;
	__u32 entries;		/* out */
	__u64 reserved;
};

/* Counted since CONFIGURE; a task set's figures are each stream's own. */
struct flowtap_stats {
	__u64 samples;		/* in the ring */
	__u64 entries;		/* in the ring, in samples */
	__u64 records;		/* in the ring, of any type */
	__u64 bytes;		/* in the ring */
	__u64 lost_samples;	/* or AUX records, dropped because the ring was full */
	__u64 lost_entries;
	__u64 lost_records;	/* of any type */
	__u64 lost_bytes;	/* of these, and of trace without space, as far as counted */
	__u64 losses[16];	/* by FLOWTAP_CAUSE_: how often it came; of EXEC and NO_STREAM in `loss` */
	__u64 triggers;		/* overflow, timer, switch, snapshot together; of ETE snapshots */
	__u64 switches;		/* a traced task came onto the CPU */
	__u64 wakeups;
	__u64 high_water;	/* most bytes that ever waited */
	__u64 tasks;		/* of the set, alive now; with FLOWTAP_EXCLUDE excluded */
	__u64 enabled_ns;
	__u64 aux_bytes;	/* in the AUX area, in records */
	__u64 interrupts;	/* of the source: watermarks, full buffers, faults */
	__u64 reserved[6];
};

#define FLOWTAP_IOC_MAGIC	0xF7
#define FLOWTAP_IOC_QUERY	_IOWR(FLOWTAP_IOC_MAGIC, 0, struct flowtap_query)
#define FLOWTAP_IOC_CONFIGURE	_IOW(FLOWTAP_IOC_MAGIC, 1, struct flowtap_configure)
#define FLOWTAP_IOC_ADD_TASK	_IOWR(FLOWTAP_IOC_MAGIC, 2, struct flowtap_task)
#define FLOWTAP_IOC_REMOVE_TASK	_IOWR(FLOWTAP_IOC_MAGIC, 3, struct flowtap_task)
#define FLOWTAP_IOC_ENABLE	_IOW(FLOWTAP_IOC_MAGIC, 4, struct flowtap_enable)
#define FLOWTAP_IOC_DISABLE	_IOW(FLOWTAP_IOC_MAGIC, 5, struct flowtap_enable)
#define FLOWTAP_IOC_SNAPSHOT	_IOWR(FLOWTAP_IOC_MAGIC, 6, struct flowtap_snapshot)
#define FLOWTAP_IOC_STATS	_IOR(FLOWTAP_IOC_MAGIC, 7, struct flowtap_stats)
#define FLOWTAP_IOC_KEY		_IOWR(FLOWTAP_IOC_MAGIC, 8, struct flowtap_key)

/*
 * The first page of the mapping. The kernel never reads back what it wrote here, except data_tail
 * and aux_tail. Head and tail have cache lines of their own.
 */
struct flowtap_ring {
	__u32 abi;
	__u32 cpu;
	__u32 source;
	__u32 flags;		/* of CONFIGURE */
	__u64 data_offset;
	__u64 data_size;
	__u64 aux_offset;	/* 0 without AUX area */
	__u64 aux_size;
	__u64 reserved0[10];
	__u64 data_head;	/* offset 128; kernel writes */
	__u64 data_oldest;	/* kernel writes, with FLOWTAP_OVERWRITE */
	__u64 aux_head;
	/* As in LOST records: as in STATS, but without trace that found no space. */
	__u64 lost_records;
	__u64 lost_bytes;
	__u64 reserved1[11];
	__u64 data_tail;	/* offset 256; reader writes */
	__u64 aux_tail;
	__u64 reserved2[14];
};

/* Record types. */
#define FLOWTAP_RECORD_SAMPLE	1
#define FLOWTAP_RECORD_GAP	2
#define FLOWTAP_RECORD_LOST	3
#define FLOWTAP_RECORD_SWITCH	4
#define FLOWTAP_RECORD_CLOCK	5
#define FLOWTAP_RECORD_AUX	6
#define FLOWTAP_RECORD_ITRACE_START 7

struct flowtap_record {
	__u32 type;
	__u16 misc;		/* FLOWTAP_MISC_ */
	__u16 size;		/* whole record, with this header */
};

#define FLOWTAP_MISC_USER	(1U << 0)	/* SAMPLE: the trigger came in user mode, ip is valid */
#define FLOWTAP_MISC_OUT	(1U << 1)	/* SWITCH: the task leaves the CPU */
#define FLOWTAP_MISC_ESTIMATE	(1U << 2)	/* GAP: inferred, not observed */
#define FLOWTAP_MISC_KERNEL	(1U << 3)	/* SAMPLE: the trigger came in the kernel, ip is valid */
#define FLOWTAP_MISC_CPU_WIDE	(1U << 4)	/* SAMPLE, GAP: sequence is the CPU's, not a task's */

struct flowtap_entry {
	__u64 source;		/* ctrsource: address, bit 0 V */
	__u64 target;		/* ctrtarget: address, bit 0 MISP */
	__u64 data;		/* ctrdata: TYPE, CCV, CC */
};

struct flowtap_record_sample {
	struct flowtap_record header;
	__u64 time;
	__u64 sequence;		/* of the task */
	__u64 ip;		/* next instruction of the interrupted program */
	__u64 control;		/* sctrctl while it was recorded */
	__u32 pid;
	__u32 tid;
	__u32 cpu;
	__u32 trigger;
	__u32 loss;		/* 0: contiguous with sequence - 1 */
	__u32 depth;
	__u32 nr;
	__u32 reserved;
	/* struct flowtap_entry[nr], the oldest first */
};

struct flowtap_record_gap {
	struct flowtap_record header;
	__u64 time;		/* when it ended */
	__u64 since;		/* when it began; 0 unknown */
	__u64 size;		/* transfers or bytes, FLOWTAP_UNKNOWN */
	__u32 pid;
	__u32 tid;
	__u32 cpu;
	__u32 cause;
};

struct flowtap_record_lost {
	struct flowtap_record header;
	__u64 time;
	__u64 since;		/* time of the first lost record */
	__u64 records;		/* since the LOST record before */
	__u64 bytes;
	__u64 total_records;	/* since CONFIGURE */
	__u64 total_bytes;
};

struct flowtap_record_switch {
	struct flowtap_record header;
	__u64 time;
	__u32 pid;
	__u32 tid;
};

struct flowtap_record_clock {
	struct flowtap_record header;
	__u64 time;
	__u64 counter;		/* of the trace's own time stamps, read together with time */
};

struct flowtap_record_aux {
	struct flowtap_record header;
	__u64 time;		/* when it was taken out of the hardware */
	__u64 counter;		/* of the trace's own time stamps, read together with time */
	__u64 offset;		/* counts as aux_head does; in the area: modulo aux_size */
	__u64 size;
	__u32 flags;		/* FLOWTAP_AUX_ */
	__u32 pid;
	__u32 tid;
	__u32 cpu;
	__u64 since;		/* when its recording began */
	__u64 sequence;		/* as flowtap_record_sample's */
	__u32 loss;
	__u32 reserved;
};

#define FLOWTAP_AUX_TRUNCATED	(1U << 0)	/* what came after it found no space: with a GAP */
#define FLOWTAP_AUX_OVERWRITE	(1U << 1)	/* older bytes gave way: begins anywhere in a stream */
#define FLOWTAP_AUX_PARTIAL	(1U << 2)	/* a fault ended it: with a GAP */
#define FLOWTAP_AUX_COLLISION	(1U << 3)	/* somebody else changed the hardware's registers: PARTIAL */
#define FLOWTAP_AUX_CONTINUES	(1U << 4)	/* its stream is that of the stream's AUX record before */

struct flowtap_record_itrace_start {
	struct flowtap_record header;
	__u64 time;
	__u32 pid;
	__u32 tid;
};

#endif /* _UAPI_LINUX_FLOWTAP_H */
