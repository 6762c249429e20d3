/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A session: one stream on each CPU that can record what is asked for, all with the same tasks or
 * each with whatever runs there, drained into an archive.
 *
 *	flowtap_session_query(&session, want, &problem);	what each CPU has
 *	flowtap_session_open(&session, &request, &problem);	a stream on each that can
 *	flowtap_session_add_task(&session, pid, 0);		whom to record
 *	flowtap_session_inform(writer, "");			what an archive begins with
 *	flowtap_session_describe(&session, writer);
 *	flowtap_session_begin(&session, FLOWTAP_DRAIN_URING, writer);
 *	flowtap_session_enable(&session);
 *	while (flowtap_drain_wait(session.drain, -1) >= 0 && !flowtap_session_ended(&session))
 *		flowtap_session_drain(&session);
 *	flowtap_session_disable(&session);
 *	flowtap_session_flush(&session, &problem);
 *	flowtap_session_conclude(&session, writer);		what it ends with
 *	flowtap_session_close(&session);			also after a failure
 *
 * Side band, kernel text and files are recorded beside it into the same archive:
 * flowtap/sideband.h, kernel.h and bundle.h.
 *
 * Functions return 0 or -errno, print nothing and leave errno alone. Where more than one thing can
 * fail a struct flowtap_session_problem says which, why, and with that what fixes it. What comes
 * after flowtap_session_open takes a session that is open; what takes from the rings or waits, one
 * that has begun to drain. No function is to be called while another runs for the same session.
 */
#ifndef FLOWTAP_SESSION_H
#define FLOWTAP_SESSION_H

#include <flowtap/archive.h>
#include <flowtap/drain.h>
#include <flowtap/ring.h>
#include <flowtap/sideband.h>
#include <linux/flowtap.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FLOWTAP_DEVICE "/dev/flowtap"

/*
 * A descriptor, the caller's to close; or -errno of open: -ENOENT, -ENXIO or -ENODEV: the module is
 * not loaded; -EACCES or -EPERM: one may not.
 */
int flowtap_device_open(void);

/*
 * What each CPU has of the source `want` (a FLOWTAP_SOURCE_), 0: of what its hardware has. *queries
 * has *n, by CPU number, and is the caller's to free. A number that is no CPU has no source, for
 * FLOWTAP_REASON_OFFLINE. 0; what flowtap_device_open returns; -errno of the first query, -ENOTTY:
 * the device is another's; -EPROTO: it gives no number of CPUs, or one above 8192; -ENOMEM.
 */
int flowtap_device_query(uint32_t want, struct flowtap_query **queries, size_t *n);

/*
 * FLOWTAP_IOC_CONFIGURE: 0 or -errno of it. Where the CPU is held by a process that has ended, or
 * that cannot be seen, it is tried again for up to 5 s: the kernel may take a moment to close what
 * was that one's.
 */
int flowtap_device_configure(int fd, struct flowtap_configure *configure);

/* --- What a CPU lacks. --- */

enum flowtap_session_lack {
	FLOWTAP_SESSION_LACK_NONE,
	FLOWTAP_SESSION_LACK_MODE,	/* bits: FLOWTAP_MODE_ that it cannot record */
	FLOWTAP_SESSION_LACK_FLAG,	/* bits: flags of CONFIGURE */
	FLOWTAP_SESSION_LACK_TRIGGER,	/* bits: FLOWTAP_TRIGGER_ */
	FLOWTAP_SESSION_LACK_CONTROL,	/* bits: of sctrctl */
	FLOWTAP_SESSION_LACK_DEPTH,	/* bits: the depth, in entries */
	FLOWTAP_SESSION_LACK_TRACE,	/* bits: of TRCCONFIGR */
	FLOWTAP_SESSION_LACK_RANGES,	/* bits: how many ranges of addresses there are at most */
	FLOWTAP_SESSION_LACK_CYCLES,	/* bits: the least cycle_threshold */
};

/*
 * The first thing in that order that a CPU with a source lacks of what is asked for, and in *bits
 * what, 0 with LACK_NONE.
 */
enum flowtap_session_lack flowtap_session_lack(const struct flowtap_query *query,
					       const struct flowtap_configure *configure,
					       uint64_t *bits);
/* TRCIDR3.CCITMIN: the least threshold of cycle counts. */
uint32_t flowtap_session_cycles_least(const struct flowtap_ete_caps *caps);

/* --- The session. --- */

/* Why a CPU has no stream. */
enum flowtap_session_skip {
	FLOWTAP_SESSION_HAS_STREAM,
	FLOWTAP_SESSION_NOT_ASKED,	/* request.cpus leaves it out */
	FLOWTAP_SESSION_NO_SOURCE,	/* its query has the reason */
	FLOWTAP_SESSION_OTHER_SOURCE,	/* another one than session.source */
	FLOWTAP_SESSION_UNABLE,		/* flowtap_session_lack says what it lacks of session.request */
	FLOWTAP_SESSION_WENT_OFFLINE,	/* since it was queried */
};

struct flowtap_session_stream {
	int fd;
	bool ended;			/* its last task is gone (flowtap_session_ended) */
	struct flowtap_query query;	/* as flowtap_session_query found it */
	struct flowtap_configure configure;	/* as it was configured */
	struct flowtap_reader reader;
	int number;			/* of the drain, after flowtap_session_begin */
};

/* All zeros before flowtap_session_query and after flowtap_session_close. Callers only read it. */
struct flowtap_session {
	struct flowtap_session_stream *streams;
	size_t n;
	struct flowtap_query *queries;	/* of each CPU, also of those without a stream */
	enum flowtap_session_skip *skips;	/* of each CPU */
	size_t cpus;			/* numbers are below */
	uint32_t source;		/* of all streams */
	struct flowtap_configure request;	/* what all were asked for */
	bool wide;			/* whatever runs there, or all but the tasks; each by itself */
	bool grouped;			/* they share a set of tasks */
	struct flowtap_drain *drain;	/* NULL before flowtap_session_begin */
};

/* What failed, and in the comments what fixes it. */
enum flowtap_session_cause {
	FLOWTAP_SESSION_NO_PROBLEM,
	FLOWTAP_SESSION_NO_MEMORY,	/* of this process */
	FLOWTAP_SESSION_DEVICE,		/* it cannot be opened or queried: rights, or the module */
	/* No CPU has the source; query: of the first one, with the reason. */
	FLOWTAP_SESSION_NO_SOURCES,
	FLOWTAP_SESSION_NO_SUCH_CPU,	/* those that were asked for are none */
	FLOWTAP_SESSION_NONE_ABLE,	/* `cpu`, the first that was asked for: its skip */
	/* CONFIGURE refused `configure` on `cpu`, whose source is that of `query`: */
	FLOWTAP_SESSION_RING_SMALL,	/* for its samples: more ring_pages, or a smaller depth */
	FLOWTAP_SESSION_HELD,		/* by a CPU-wide stream; query: now, with the holder */
	FLOWTAP_SESSION_DENIED,		/* rights: to record that */
	FLOWTAP_SESSION_DENIED_CONTEXT,	/* CID and VMID outside of the initial PID namespace */
	FLOWTAP_SESSION_LOCKED_MEMORY,	/* fewer pages; RLIMIT_MEMLOCK or the module's mlock_kb */
	FLOWTAP_SESSION_KERNEL_MEMORY,	/* fewer pages */
	FLOWTAP_SESSION_NO_EVENT,	/* the event does not exist here: another one */
	FLOWTAP_SESSION_REFUSED,	/* by the trace unit: module and caller of one version? */
	FLOWTAP_SESSION_CONFIGURE,	/* anything else; see error */
	FLOWTAP_SESSION_MAP,		/* the ring of `cpu` cannot be mapped */
	/* Later: */
	FLOWTAP_SESSION_ENABLE,		/* recording cannot be started */
	FLOWTAP_SESSION_DISABLE,	/* or not be stopped */
	FLOWTAP_SESSION_ARCHIVE,	/* it cannot be written */
};

struct flowtap_session_problem {
	enum flowtap_session_cause cause;
	int error;			/* -errno */
	uint32_t cpu;
	struct flowtap_query query;
	struct flowtap_configure configure;
};

struct flowtap_session_request {
	/* For all: cpu, source, group_fd and FLOWTAP_GROUP are filled in for each. */
	struct flowtap_configure configure;
	const uint64_t *cpus;		/* bit for each CPU number below cpus_max; NULL: all */
	size_t cpus_max;
	/* Where memory is short these are not halved, as they are otherwise, down to 8 pages. */
	bool ring_fixed;
	bool aux_fixed;
};

/*
 * Begins a session: queries each CPU for the source `want`, 0: its hardware's. session->source is
 * that of the first CPU that has another than FLOWTAP_SOURCE_SOFT, or else SOFT. 0; -errno and
 * problem: DEVICE, NO_SOURCES (-ENODEV); session is to be closed in any case.
 */
int flowtap_session_query(struct flowtap_session *session, uint32_t want,
			  struct flowtap_session_problem *problem);
/*
 * Opens, configures and maps a stream on each CPU that was asked for, has the session's source and
 * can do what is asked for; skips says of the others why they have none. All have rings of one
 * size. Takes a descriptor for each CPU: see RLIMIT_NOFILE. 0: there is one at least; -errno and
 * problem: any of those from NO_MEMORY to MAP. request->cpus is borrowed for the call.
 */
int flowtap_session_open(struct flowtap_session *session, const struct flowtap_session_request *request,
			 struct flowtap_session_problem *problem);

/*
 * A process, or with FLOWTAP_TASK_THREAD in flags a thread, into the set of tasks or out of it; pid
 * of the caller's namespace. 0; -ESRCH: there is none; -EPERM or -EACCES: it may not be traced by
 * the caller; -EINVAL: a kernel thread; -ENOSPC: more tasks than the module follows; -ENOENT,
 * -ENODEV or -EOPNOTSUPP: the event cannot be counted for a task; -EBUSY: its counters are taken;
 * another -errno.
 */
int flowtap_session_add_task(struct flowtap_session *session, pid_t pid, uint32_t flags);
int flowtap_session_remove_task(struct flowtap_session *session, pid_t pid, uint32_t flags);
/*
 * The processes of a cgroup (v2) and of those below it, looked at again and again: who has come is
 * added to the session's tasks, who has gone is removed. What they fork is there at once with
 * FLOWTAP_INHERIT. A process that moves in and ends between two looks is missed; one that is forked
 * and moves out between two looks is still recorded. All zeros: none is followed. Callers only read
 * it.
 */
struct flowtap_session_cgroup {
	char *path;			/* in the file system */
	uint64_t *members;		/* at the last look */
	size_t n;
	uint64_t *missing;		/* those of the look before that the last one did not find */
	size_t n_missing;
	size_t denied;			/* of these, that may not be traced (-EPERM) */
	bool crowded;			/* more than the module follows: not all are recorded */
	pid_t failed;			/* the one that could not be added, where following failed */
	uint64_t next;			/* when to look again, ns of CLOCK_MONOTONIC_RAW */
};

/* Where cgroup2 is mounted, the caller's to free; NULL: it is not, or there is no memory. */
char *flowtap_cgroup_mount(void);
/*
 * name: a path below the mount of cgroup2, or in the file system. 0; -ENODEV: cgroup2 is not
 * mounted; -ENOENT: there is no such cgroup; -ENOMEM.
 */
int flowtap_session_cgroup_open(struct flowtap_session_cgroup *cgroup, const char *name);
/*
 * Looks, if it is time to: each 100 ms to 1 s, for about a twentieth of this thread's CPU time. Who
 * was not found twice is let go: who moves from one cgroup to another below it can be missed once. Who
 * has ended, is the kernel's or may not be traced is passed over. 0; -errno of
 * flowtap_session_add_task for cgroup->failed, after which others were not added.
 */
int flowtap_session_cgroup_follow(struct flowtap_session_cgroup *cgroup,
				  struct flowtap_session *session);
void flowtap_session_cgroup_close(struct flowtap_session_cgroup *cgroup);
/* Recording starts and stops, on all CPUs. 0 or -errno of the first that failed. */
int flowtap_session_enable(struct flowtap_session *session);
int flowtap_session_disable(struct flowtap_session *session);
/*
 * What the hardware has of running tasks goes into the rings. 0 or -errno of the first that failed.
 */
int flowtap_session_snapshot(const struct flowtap_session *session);
/*
 * What a CPU has at this moment, of its hardware's source, and who holds that; cpu: any number. 0
 * or -errno; *query is all zeros but for the CPU then.
 */
int flowtap_session_query_cpu(const struct flowtap_session *session, uint32_t cpu,
			      struct flowtap_query *query);
/* The key of the set of tasks, for programs in the kernel (FLOWTAP_IOC_KEY). 0 or -errno. */
int flowtap_session_key(const struct flowtap_session *session, uint64_t *key);
/* What a stream counted since it was configured. 0 or -errno. */
int flowtap_session_stats(const struct flowtap_session_stream *stream, struct flowtap_stats *stats);
/* Takes poll's events of the streams from the drain. True: the last task is gone, on each CPU. */
bool flowtap_session_ended(struct flowtap_session *session);
/* The sum over the streams; high_water is the greatest; tasks and enabled_ns are 0. */
void flowtap_session_sum(const struct flowtap_session *session, struct flowtap_stats *sum);

/*
 * INFO: this library's version, the machine's name, kernel, architecture and page size and the time
 * of day, in lines of KEY=VALUE, then `more`, whole lines of that form, or ""; cut at 1 MiB. 0 or
 * -errno of the archive.
 */
int flowtap_session_inform(struct flowtap_archive_writer *writer, const char *more);
/* What each CPU can do and how its stream is configured, as blocks. 0 or -errno of the archive. */
int flowtap_session_describe(const struct flowtap_session *session,
			     struct flowtap_archive_writer *writer);
/*
 * Makes the drain, with this method as the first to try; borrows writer. 0 or -errno of the drain.
 */
int flowtap_session_begin(struct flowtap_session *session, enum flowtap_drain_method method,
			  struct flowtap_archive_writer *writer);
/* The drain waits for the side band's descriptors, too; they are borrowed. 0 or -ENOMEM. */
int flowtap_session_watch_sideband(struct flowtap_session *session,
				   const struct flowtap_sideband *sideband);
/*
 * Takes what waits in the rings and starts to write it into the archive, after what is in the
 * archive's buffer. 0 or -errno of the archive. A ring that contradicts itself is not read any
 * more: flowtap_session_contradicting.
 */
int flowtap_session_drain(struct flowtap_session *session);
/*
 * The same when they are off, with the losses that the kernel had no space to record until now, and
 * waits until all is in the file. 0; -errno and problem: DISABLE, ARCHIVE.
 */
int flowtap_session_flush(struct flowtap_session *session, struct flowtap_session_problem *problem);
/*
 * What rings that overwrite hold now and did not the last time, into the archive's buffer; they may
 * be written to meanwhile. Streams with an AUX area are disabled for that time if `running`. unread
 * is called with a stream whose ring could not be read, and -EPROTO: it contradicts itself, or
 * -EAGAIN: it is overwritten faster than it is copied; others are read. 0; -errno and problem:
 * ENABLE (-EIO, problem->error has the errno), DISABLE, ARCHIVE (also -ENOMEM for the copy).
 */
int flowtap_session_copy(struct flowtap_session *session, bool running,
			 void (*unread)(void *argument, const struct flowtap_session_stream *stream,
					int error),
			 void *argument, struct flowtap_session_problem *problem);
/*
 * The first stream that the drain does not read any more, as its ring contradicts itself; NULL:
 * none.
 */
const struct flowtap_session_stream *
flowtap_session_contradicting(const struct flowtap_session *session);
/*
 * Ends the archive: each stream's statistics as a block, then END, that nothing is missing; and
 * flushes it. 0 or -errno of the archive.
 */
int flowtap_session_conclude(const struct flowtap_session *session,
			     struct flowtap_archive_writer *writer);
/* Waits for what is on its way into the archive; all zeros then. The writer is freed after this. */
void flowtap_session_close(struct flowtap_session *session);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_SESSION_H */
