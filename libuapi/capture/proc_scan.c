// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Compares each look at /proc with a table of the processes and mappings of the look before. */
#include "capture/proc_scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/hash_table.h"
#include "base/vector.h"
#include "capture/clock.h"
#include "capture/mounts.h"
#include "capture/procfs.h"
#include "capture/sideband_write.h"

#define BYTES_MAX (64U << 20)		/* of nameless code, of all processes */
#define BYTES_BLOCK (FLOWTAP_ARCHIVE_BLOCK_MAX - 8192U)	/* of one mapping */
#define PAUSE_MIN 10000000ULL		/* ns between two looks */
#define PAUSE_MAX 10000000000ULL
#define MILLION 1000000U
#define SHARE (MILLION / 20)		/* of the time, for looking */

/* A mapping by what it is, so that a changed one is another. */
typedef uint64_t identity;

/* One that was written. */
struct known {
	identity what;
	uint64_t start;
	uint64_t end;
	uint64_t bytes;			/* hash of its code as it was saved last, 0: it was not */
};

struct process {
	uint32_t pid;
	uint32_t parent;
	uint64_t started;
	uint64_t program;
	uint64_t look;			/* number of the look that saw it last */
	struct known *mappings;		/* at that look, sorted: it may have many thousands */
	size_t n_mappings;
	bool saved;			/* the code of one of them */
	bool fresh;			/* none of its mappings was seen yet */
	uint32_t *threads;		/* sorted */
	size_t n_threads;
};

/* One that is to be looked at, with what it forks. */
struct root {
	uint32_t pid;
	uint64_t started;		/* 0: it was not seen yet */
};

struct flowtap_proc_scan {
	struct root *roots;		/* none: all processes */
	size_t n_roots;
	bool inherit;
	struct process *processes;
	size_t n;
	struct flowtap_hash_table by_pid;	/* rebuilt when processes end */
	uint64_t look;
	uint64_t since;			/* time that what is new in this look is given */
	uint64_t looked;		/* when the last look began */
	uint64_t pause;			/* from its begin to the next */
	uint32_t share;			/* of the time, for looking: millionths */
	size_t saved;			/* bytes of nameless code */
};

/* What one look at one process is about. */
struct look {
	struct flowtap_proc_scan *scan;
	const struct flowtap_sideband_sink *out;
	bool quiet;
	struct process *process;
	identity *seen;			/* mappings, sorted */
	size_t n;
	size_t known;			/* of them, those that were there at the last look */
	struct known *written;		/* what process->mappings is to be */
	size_t n_written;
	uint32_t *threads;		/* that are there now */
	size_t n_threads;
};

struct flowtap_proc_scan *flowtap_proc_scan_new(const pid_t *pids, size_t n, bool inherit)
{
	struct flowtap_proc_scan *scan = calloc(1, sizeof(*scan));

	if (!scan)
		return NULL;
	scan->roots = calloc(n ? n : 1, sizeof(scan->roots[0]));
	if (!scan->roots) {
		free(scan);
		return NULL;
	}
	for (size_t i = 0; i < n; i++)
		scan->roots[i].pid = (uint32_t)pids[i];
	scan->n_roots = n;
	scan->inherit = inherit;
	scan->share = SHARE;
	return scan;
}

void flowtap_proc_scan_limit(struct flowtap_proc_scan *scan, uint32_t share)
{
	scan->share = share ? share : SHARE;
}

/* From the begin of a look that took so long to the begin of the next one. */
static uint64_t pause_after(const struct flowtap_proc_scan *scan, uint64_t took)
{
	uint64_t pause;

	if (took >= PAUSE_MAX / MILLION * scan->share)
		return PAUSE_MAX > took ? PAUSE_MAX : 2 * took;
	pause = took * MILLION / scan->share;
	return pause > PAUSE_MIN ? pause : PAUSE_MIN;
}

static void free_process(struct process *process)
{
	free(process->mappings);
	free(process->threads);
}

void flowtap_proc_scan_free(struct flowtap_proc_scan *scan)
{
	if (!scan)
		return;
	for (size_t i = 0; i < scan->n; i++)
		free_process(&scan->processes[i]);
	free(scan->processes);
	free(scan->roots);
	flowtap_hash_table_free(&scan->by_pid);
	free(scan);
}

static int find_vdso(void *argument, const struct flowtap_proc_mapping *mapping)
{
	struct flowtap_mapping *vdso = argument;

	if (strcmp(mapping->path, "[vdso]"))
		return 0;
	vdso->start = mapping->start;
	vdso->size = mapping->end - mapping->start;
	return 1;
}

int flowtap_proc_scan_vdso(const struct flowtap_sideband_sink *out)
{
	struct flowtap_mapping vdso = { .executable = true, .path = "[vdso]" };
	const void *bytes;

	/* What the kernel reported and what it lists must agree before we read there. */
	if (flowtap_proc_each_mapping((uint32_t)getpid(), &vdso, find_vdso) != 1 ||
	    vdso.start != getauxval(AT_SYSINFO_EHDR) || vdso.size > BYTES_BLOCK)
		return 0;
	bytes = (const void *)(uintptr_t)vdso.start;
	vdso.start = 0;
	return flowtap_sideband_write_bytes(out, &vdso, bytes);
}

/* Processes that are known. */

static int index_process(struct flowtap_proc_scan *scan, size_t i)
{
	return flowtap_hash_table_add(&scan->by_pid,
				      flowtap_hash_words(&(uint64_t) { scan->processes[i].pid }, 1),
				      (uint32_t)i);
}

static struct process *find_process(struct flowtap_proc_scan *scan, uint32_t pid)
{
	struct flowtap_hash_table_walk walk =
		flowtap_hash_table_walk(&scan->by_pid, flowtap_hash_words(&(uint64_t) { pid }, 1));
	uint32_t index;

	while (flowtap_hash_table_next(&walk, &index))
		if (scan->processes[index].pid == pid)
			return &scan->processes[index];
	return NULL;
}

static struct process *new_process(struct flowtap_proc_scan *scan, uint32_t pid)
{
	if (FLOWTAP_GROW(scan->processes, scan->n))
		return NULL;
	scan->processes[scan->n] = (struct process) { .pid = pid, .fresh = true };
	if (index_process(scan, scan->n))
		return NULL;
	return &scan->processes[scan->n++];
}

/* Forgets those that the last look did not see. */
static int remove_ended(struct flowtap_proc_scan *scan)
{
	size_t kept = 0, n = scan->n;
	int err = 0;

	for (size_t i = 0; i < n; i++) {
		if (scan->processes[i].look == scan->look)
			scan->processes[kept++] = scan->processes[i];
		else
			free_process(&scan->processes[i]);
	}
	scan->n = kept;
	if (kept == n)
		return 0;
	flowtap_hash_table_free(&scan->by_pid);
	for (size_t i = 0; i < kept && !err; i++)
		err = index_process(scan, i);
	return err;
}

/* One look at one process. */

static int by_tid(const void *one, const void *other)
{
	const uint32_t *a = one, *b = other;

	return (*a > *b) - (*a < *b);
}

static int by_identity(const void *one, const void *other)
{
	const identity *a = one, *b = other;

	return (*a > *b) - (*a < *b);
}

static int write_thread(void *argument, uint32_t tid)
{
	struct look *look = argument;
	struct process *process = look->process;
	struct flowtap_proc_status status;
	struct flowtap_archive_task task = {
		.time = look->scan->since,
		.event = FLOWTAP_TASK_COMM,
		.pid = process->pid,
		.tid = tid,
	};
	const bool known = process->n_threads &&
			   bsearch(&tid, process->threads, process->n_threads, sizeof(tid), by_tid);

	if (!known && !flowtap_proc_status(process->pid, tid, &status))
		return 0;
	if (FLOWTAP_GROW(look->threads, look->n_threads))
		return -ENOMEM;
	look->threads[look->n_threads++] = tid;
	return known ? 0 : flowtap_sideband_write_task(look->out, &task, status.comm, 0);
}

static identity identify(const struct flowtap_proc_mapping *mapping)
{
	uint64_t words[] = {
		mapping->start, mapping->end, mapping->file_offset, mapping->file.inode,
		mapping->file.major, mapping->file.minor, mapping->writable, mapping->shared,
	};

	return flowtap_hash(flowtap_hash_words(words, 8), mapping->path, strlen(mapping->path));
}

/* `what` comes first: it is compared as an identity. */
static const struct known *find_known(const struct process *process, identity what)
{
	return process->n_mappings ? bsearch(&what, process->mappings, process->n_mappings,
					     sizeof(process->mappings[0]), by_identity) : NULL;
}

static int add_mapping(void *argument, const struct flowtap_proc_mapping *mapping)
{
	struct look *look = argument;

	/* A page of x86 that is at the same place in every process, and nobody's code. */
	if (!strcmp(mapping->path, "[vsyscall]"))
		return 0;
	if (FLOWTAP_GROW(look->seen, look->n))
		return -ENOMEM;
	look->seen[look->n] = identify(mapping);
	look->known += find_known(look->process, look->seen[look->n]) != NULL;
	look->n++;
	return 0;
}

/*
 * Code that a decoder will not find: a JIT compiler's pages, deleted files, memfd. Only where it
 * cannot be written at this moment: other code may be another a moment later. What is shared may
 * be mapped elsewhere for writing. A page that is not in memory is read from where it comes.
 */
static bool is_to_be_saved(const struct flowtap_proc_mapping *from, struct flowtap_mounts *mounts)
{
	const struct flowtap_proc_file *file = &from->file;

	return flowtap_proc_is_nameless(from->path) && !from->writable && !from->shared &&
	       from->end - from->start <= BYTES_BLOCK &&
	       (!file->inode || flowtap_mounts_answer(mounts, file->major, file->minor));
}

/* It was written between two looks: what was there meanwhile nobody knows. */
static int end_bytes(struct look *look, struct flowtap_mapping *mapping)
{
	mapping->time = look->scan->since;
	mapping->build_id_size = 0;
	return flowtap_sideband_write_mapping(look->out, mapping, 0, 0);
}

static int write_bytes(struct look *look, const struct flowtap_mapping *mapping,
		       const void *bytes, struct known *note)
{
	struct flowtap_proc_scan *scan = look->scan;

	if (mapping->size > BYTES_MAX - scan->saved) {
		note->bytes = 0;
		return 0;
	}
	scan->saved += mapping->size;
	return flowtap_sideband_write_bytes(look->out, mapping, bytes);
}

/* before: what was saved of it, or NULL. No right to read it, or it is gone: it has no bytes. */
static int save_bytes(struct look *look, struct flowtap_mapping *mapping,
		      const struct known *before, struct known *note)
{
	void *bytes;
	int err = 0;

	if (!before && mapping->size > BYTES_MAX - look->scan->saved)
		return 0;
	bytes = malloc(mapping->size);
	if (!bytes)
		return -ENOMEM;
	if (!flowtap_proc_memory(mapping->pid, mapping->start, bytes, mapping->size))
		note->bytes = flowtap_hash(0, bytes, mapping->size) | 1;
	if (before && before->bytes != note->bytes) {
		err = end_bytes(look, mapping);
		mapping->time = look->scan->looked;
	}
	if (!err && note->bytes && (!before || before->bytes != note->bytes))
		err = write_bytes(look, mapping, bytes, note);
	free(bytes);
	return err;
}

static int note_mapping(struct look *look, const struct known *note)
{
	if (FLOWTAP_GROW(look->written, look->n_written))
		return -ENOMEM;
	look->written[look->n_written++] = *note;
	return 0;
}

static int write_mapping(void *argument, const struct flowtap_proc_mapping *from)
{
	struct look *look = argument;
	struct known note = { .what = identify(from), .start = from->start, .end = from->end };
	const struct known *before = find_known(look->process, note.what);
	struct flowtap_mapping mapping = {
		.time = look->scan->since,
		.start = from->start,
		.size = from->end - from->start,
		.file_offset = from->file_offset,
		.pid = look->process->pid,
		.executable = true,
		.path = from->path,
	};
	struct flowtap_build_id id;
	int err = 0;

	if (!strcmp(from->path, "[vsyscall]"))
		return 0;
	if (!before) {
		id = flowtap_proc_build_id(mapping.pid, from, look->out->mounts);
		mapping.build_id_size = id.size;
		memcpy(mapping.build_id, id.bytes, sizeof(id.bytes));
		err = flowtap_sideband_write_mapping(look->out, &mapping, 0, 0);
	}
	if (!err && is_to_be_saved(from, look->out->mounts) && (!before || before->bytes))
		err = save_bytes(look, &mapping, before, &note);
	return err ? err : note_mapping(look, &note);
}

/* Saved code that now is not there, or can be written: it may be another when it is back. */
static int end_saved(struct look *look)
{
	const struct process *process = look->process;
	int err = 0;

	for (size_t i = 0; i < process->n_mappings && process->saved && !err; i++) {
		const struct known *known = &process->mappings[i];
		struct flowtap_mapping mapping = {
			.time = look->scan->since,
			.start = known->start,
			.size = known->end - known->start,
			.pid = process->pid,
			.path = "//anon",
		};

		if (known->bytes && !bsearch(&known->what, look->seen, look->n,
					     sizeof(look->seen[0]), by_identity))
			err = flowtap_sideband_write_mapping(look->out, &mapping, 0, 0);
	}
	return err;
}

/* Of what was known nothing is left. */
static int write_exec(struct look *look)
{
	struct flowtap_proc_status status;
	struct flowtap_archive_task task = {
		.time = look->scan->since,
		.event = FLOWTAP_TASK_EXEC,
		.pid = look->process->pid,
		.tid = look->process->pid,
	};

	look->process->n_mappings = 0;
	if (!flowtap_proc_status(task.pid, task.pid, &status))
		return 0;
	return flowtap_sideband_write_task(look->out, &task, status.comm, 0);
}

/* Errors that only mean that the process is gone, or not ours to look at. */
static int pardon(int err)
{
	return err == -ESRCH || err == -EACCES || err == -EPERM ? 0 : err;
}

/*
 * Another program, or another place for all of it. (The same program again, where addresses are not
 * randomised, looks the same and has the same code.)
 */
static bool has_executed(const struct look *look, uint64_t program)
{
	const struct process *process = look->process;
	bool other = program && process->program && program != process->program;

	/* Of what had not executed yet only the program was noted. */
	return other || (process->n_mappings && !look->known);
}

static void take_written(struct look *look)
{
	struct process *process = look->process;

	free(process->mappings);
	process->mappings = look->written;
	process->n_mappings = look->n_written;
	look->written = NULL;
	qsort(process->mappings, process->n_mappings, sizeof(process->mappings[0]), by_identity);
	process->saved = false;
	for (size_t i = 0; i < process->n_mappings; i++)
		process->saved |= process->mappings[i].bytes != 0;
}

/*
 * What is not as it was at the last look, and whether saved code is. The list may be another by
 * now: known is what was written.
 */
static int write_mappings(struct look *look)
{
	const struct process *process = look->process;
	int err;

	if (!look->n ||
	    (look->known == look->n && look->n == process->n_mappings && !process->saved))
		return 0;
	qsort(look->seen, look->n, sizeof(look->seen[0]), by_identity);
	err = end_saved(look);
	if (!err)
		err = flowtap_proc_each_mapping(process->pid, look, write_mapping);
	if (!err && look->n_written)
		take_written(look);
	return pardon(err);
}

static int look_at(struct look *look)
{
	struct process *process = look->process;
	bool started = !look->scan->since;	/* the first look of all */
	bool executed;
	uint64_t program;
	int err;

	/* Kernel threads, and processes that are gone or not ours to see, have nothing here. */
	if (flowtap_proc_each_mapping(process->pid, look, add_mapping) == -ENOMEM)
		return -ENOMEM;
	program = flowtap_proc_program(process->pid);
	executed = look->n && !started && (process->fresh || has_executed(look, program));
	/* In the middle of an exec the program is there already, and nothing of it is mapped. */
	if (look->n) {
		process->program = program;
		process->fresh = false;
	}
	err = executed ? write_exec(look) : 0;
	if (!err)
		err = pardon(flowtap_proc_each_thread(process->pid, write_thread, look));
	if (!err && !look->quiet)
		err = write_mappings(look);
	free(process->threads);
	process->threads = look->threads;
	process->n_threads = look->n_threads;
	look->threads = NULL;
	if (process->n_threads)
		qsort(process->threads, process->n_threads, sizeof(process->threads[0]), by_tid);
	return err;
}

static int visit(void *argument, uint32_t pid)
{
	const struct look *common = argument;
	struct flowtap_proc_scan *scan = common->scan;
	struct look look = *common;
	struct flowtap_proc_status status;
	struct process *process = find_process(scan, pid);
	int err;

	if (!flowtap_proc_status(pid, pid, &status))
		return 0;
	if (!process)
		process = new_process(scan, pid);
	if (!process)
		return -ENOMEM;
	if (process->started != status.started) {
		process->started = status.started;
		process->fresh = true;
		process->n_mappings = 0;
		process->n_threads = 0;
	}
	process->parent = status.parent;
	process->look = scan->look;
	look.process = process;
	err = look_at(&look);
	free(look.seen);
	free(look.written);
	free(look.threads);
	return err;
}

/* The followed processes and their descendants: a list of those to look at. */
struct family {
	struct look *look;
	uint32_t *pids;
	size_t n;
};

static int join(void *argument, uint32_t pid)
{
	struct family *family = argument;

	for (size_t i = 0; i < family->n; i++)
		if (family->pids[i] == pid)
			return 0;
	if (FLOWTAP_GROW(family->pids, family->n))
		return -ENOMEM;
	family->pids[family->n++] = pid;
	return 0;
}

/* Without a list of children in /proc (CONFIG_PROC_CHILDREN): whose parent is one of the family. */
static int join_if_child(void *argument, uint32_t pid)
{
	struct family *family = argument;
	struct flowtap_proc_status status;

	if (!flowtap_proc_status(pid, pid, &status))
		return 0;
	for (size_t i = 0; i < family->n; i++)
		if (family->pids[i] == status.parent)
			return join(family, pid);
	return 0;
}

/* Until none is found: a child may be listed before its parent. */
static int join_all_descendants(struct family *family)
{
	size_t before;
	int err;

	do {
		before = family->n;
		err = pardon(flowtap_proc_each_process(join_if_child, family));
	} while (!err && family->n != before);
	return err;
}

static int find_descendants(struct family *family)
{
	int err = 0;

	for (size_t i = 0; i < family->n && !err; i++) {
		err = flowtap_proc_each_child(family->pids[i], join, family);
		if (err == -ENOENT)
			return join_all_descendants(family);
		err = pardon(err);
	}
	return err;
}

/* *started: when the process of this pid began that is meant; 0: whichever it is. */
static bool is_still_there(uint32_t pid, uint64_t *started)
{
	struct flowtap_proc_status status;

	if (!flowtap_proc_status(pid, pid, &status))
		return false;
	if (!*started)
		*started = status.started;
	return *started == status.started;
}

/* One that was a descendant stays one when its parent has ended. */
static int look_at_family(struct look *look)
{
	struct flowtap_proc_scan *scan = look->scan;
	struct family family = { .look = look };
	int err = 0;

	for (size_t i = 0; i < scan->n_roots && !err; i++)
		if (is_still_there(scan->roots[i].pid, &scan->roots[i].started))
			err = join(&family, scan->roots[i].pid);
	for (size_t i = 0; i < scan->n && !err; i++)
		if (is_still_there(scan->processes[i].pid, &scan->processes[i].started))
			err = join(&family, scan->processes[i].pid);
	if (!err)
		err = find_descendants(&family);
	for (size_t i = 0; i < family.n && !err; i++)
		err = visit(look, family.pids[i]);
	free(family.pids);
	return err;
}

static int look_at_all(struct flowtap_proc_scan *scan, const struct flowtap_sideband_sink *out,
		       bool quiet)
{
	struct look look = { .scan = scan, .out = out, .quiet = quiet };
	int err = 0;

	scan->look++;
	if (!scan->n_roots)
		err = pardon(flowtap_proc_each_process(visit, &look));
	else if (scan->inherit)
		err = look_at_family(&look);
	for (size_t i = 0; i < scan->n_roots && !scan->inherit && !err; i++)
		if (is_still_there(scan->roots[i].pid, &scan->roots[i].started))
			err = visit(&look, scan->roots[i].pid);
	return err ? err : remove_ended(scan);
}

int flowtap_proc_scan_start(struct flowtap_proc_scan *scan, const struct flowtap_sideband_sink *out,
			    bool quiet)
{
	scan->since = 0;
	scan->looked = clock_now();
	return look_at_all(scan, out, quiet);
}

int flowtap_proc_scan_again(struct flowtap_proc_scan *scan, const struct flowtap_sideband_sink *out,
			    bool at_once)
{
	uint64_t begin = clock_now();
	int err;

	if (!at_once && begin - scan->looked < scan->pause)
		return 0;
	scan->since = scan->looked;
	scan->looked = begin;
	err = look_at_all(scan, out, false);
	scan->pause = pause_after(scan, clock_now() - begin);
	return err;
}
