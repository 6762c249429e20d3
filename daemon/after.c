// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs one child at a time for the oldest segment that is left to mend, decode or pack, watches the
 * disk meanwhile, and writes into `result` why a segment was not decoded.
 */
#include "after.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../tools/common/tool.h"
#include "child.h"
#include "decoded.h"
#include "log.h"
#include "store_internal.h"

#define SECOND 1000000000ULL
#define RETRY (60 * SECOND)
#define SEGMENT_RETRY (10 * RETRY)	/* others come before it meanwhile */
#define SKIPS_MAX 16		/* at once: each makes a directory */
#define LOOK_SHARE 200		/* looks at what a child has written: of the time, one part in */

extern char **environ;

void after_init(struct after *after, struct store *store, const struct after_options *options)
{
	*after = (struct after){ .store = store, .options = *options };
}

void after_change(struct after *after, const struct after_options *options)
{
	after->options = *options;
	after->no_decoder = false;
	after->retry = after->again = 0;
	store_resume(after->store);
}

static const char *const works[] = {
	[STORE_PACKING] = "pack", [STORE_DECODING] = "decode", [STORE_MENDING] = "mend",
};

/* --- The child. --- */

/* Without what this process has blocked and ignored. */
static int spawn(pid_t *child, char *const *words)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int error;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	error = posix_spawn(child, "/proc/self/exe", &actions, &attributes, words, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return -error;
}

/* Nothing of it is of use. */
static void drop_work(struct after *after, enum store_work work)
{
	struct store_left none;

	if (work == STORE_MENDING)
		store_mended(after->store, -ECANCELED, &none);
	else
		store_work_end(after->store, false);
}

static int begin(struct after *after, enum store_work work, const char *segment)
{
	char parent[24];
	char *words[] = {
		"flowtapd", CHILD_OPTION, parent, (char *)works[work],
		(char *)after->options.directory, (char *)segment,
		work == STORE_DECODING ? (char *)after->options.format : NULL, NULL,
	};
	int error = store_work_begin(after->store, work, segment);

	if (error)
		return error;
	snprintf(parent, sizeof(parent), "%d", (int)getpid());
	error = spawn(&after->child, words);
	if (error) {
		after->child = 0;
		drop_work(after, work);
		return error;
	}
	after->work = work;
	after->format = after->options.format;
	after->bytes = after->look = 0;
	snprintf(after->segment, sizeof(after->segment), "%s", segment);
	return 0;
}

/* Whether it has ended; its status. */
static bool ended(struct after *after, int flags, int *status)
{
	struct rusage usage = { 0 };
	const pid_t child = wait4(after->child, status, flags, &usage);

	/* Somebody else has waited for it: what it did is not known. */
	if (child < 0 && errno == ECHILD)
		*status = W_EXITCODE(CHILD_FAILED, 0);
	else if (child != after->child)
		return false;
	after->child = 0;
	after->cpu += (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * SECOND +
		      (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
	return true;
}

static void end_child(struct after *after)
{
	int status;

	kill(after->child, SIGKILL);
	ended(after, 0, &status);
}

/* --- What was not decoded says so. --- */

static int write_result(struct after *after, const char *segment, const char *format,
			const char *why)
{
	char text[160];

	snprintf(text, sizeof(text), "format=%s\nstatus=%s\n", format, why);
	return store_undecoded(after->store, segment, text);
}

static void report_skipped(const struct after *after, uint64_t skipped)
{
	struct log_line line;

	log_begin(&line, LEVEL_WARNING, "decode-skipped");
	log_number(&line, "count", skipped);
	log_number(&line, "so_far", after->skipped);
	log_number(&line, "waiting", after->waiting);
	log_text(&line, "why", "decoding cannot keep up");
	log_end(&line);
}

static void skip(struct after *after, uint64_t surplus)
{
	const struct store_segment *segments;
	uint64_t skipped = 0;
	size_t n;

	segments = store_segments(after->store, &n);
	for (size_t i = 0; i < n && skipped < surplus && skipped < SKIPS_MAX; i++) {
		if (segments[i].decoded || (after->child && !strcmp(segments[i].name, after->segment)))
			continue;
		/* Where it cannot be noted it will be tried again. */
		if (write_result(after, segments[i].name, after->options.format,
				 "skipped: decoding could not keep up"))
			break;
		skipped++;
	}
	after->skipped += skipped;
	after->waiting -= skipped;
	if (skipped)
		report_skipped(after, skipped);
}

/* --- What was done. --- */

/*
 * What is not the segment's fault can be otherwise later; what is, keeps no other from its turn,
 * however many there are of which it is. One that somebody removed is no more.
 */
static void postpone(struct after *after, enum store_work work, const char *segment, const char *why)
{
	const bool again = work == STORE_MENDING || store_postponed(after->store, segment);
	struct log_line line;

	if (work != STORE_MENDING && store_drop_removed(after->store, segment))
		return;
	if (again)
		after->again = after->now + RETRY;
	else
		after->retry = after->now + RETRY;
	store_postpone(after->store, segment, after->now + SEGMENT_RETRY);
	log_begin(&line, LEVEL_ERROR, "put-off");
	log_text(&line, "work", works[work]);
	log_text(&line, "name", segment);
	log_text(&line, "why", why);
	log_time(&line, "retry", SEGMENT_RETRY);
	log_end(&line);
}

/* How the child ended, in words: its own are on standard error. */
static void describe(char text[64], int status)
{
	if (WIFSIGNALED(status))
		snprintf(text, 64, "ended by signal %d", WTERMSIG(status));
	else if (WEXITSTATUS(status) == CHILD_KILLED)
		snprintf(text, 64, "flowtap was ended by a signal");
	else if (WEXITSTATUS(status) == STATUS_DAMAGED)
		snprintf(text, 64, "damaged: decoded as far as it can be read");
	else
		snprintf(text, 64, "ended with status %d", WEXITSTATUS(status));
}

static void handle_packed(struct after *after, int status)
{
	const bool good = WIFEXITED(status) && !WEXITSTATUS(status);
	int error = store_work_end(after->store, good);
	char why[64];

	if (good && !error) {
		after->packed++;
		return;
	}
	/* It is no smaller, or was deleted meanwhile: nothing is left to be done. */
	if (error == -EFBIG || error == -ENOENT)
		return;
	describe(why, status);
	postpone(after, STORE_PACKING, after->segment, error ? strerror(-error) : why);
}

static void no_decoder(struct after *after)
{
	struct log_line line;

	after->no_decoder = true;
	log_begin(&line, LEVEL_ERROR, "no-decoder");
	log_text(&line, "why", "there is no flowtap beside flowtapd or in $PATH");
	log_text(&line, "fix", "install it, then reload (SIGHUP): until then nothing is decoded");
	log_end(&line);
}

/* see: whether there is a directory of it that says more. */
static void decode_failed(struct after *after, const char *why, bool see)
{
	char name[STORE_NAME], directory[sizeof(DECODED) + STORE_NAME];
	struct log_line line;

	after->failed++;
	store_decoded_name(name, after->segment);
	snprintf(directory, sizeof(directory), DECODED "/%s", name);
	log_begin(&line, LEVEL_ERROR, "decode-failed");
	log_text(&line, "name", after->segment);
	log_text(&line, "why", why);
	log_text(&line, "see", see ? directory : NULL);
	log_end(&line);
}

static void handle_decoded(struct after *after, int status)
{
	const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	const bool good = code >= 0 && code != CHILD_FAILED && code != CHILD_NO_DECODER;
	int error = store_work_end(after->store, good);
	char why[64];

	if (error == -ENOENT)
		return;
	describe(why, status);
	if (code == CHILD_NO_DECODER) {
		no_decoder(after);
	} else if (error || code == CHILD_FAILED || child_was_asked(status)) {
		postpone(after, STORE_DECODING, after->segment, error ? strerror(-error) : why);
	} else if (!code || code == STATUS_NOTHING) {
		after->decoded++;
	} else {
		decode_failed(after, why, good);
		if (!good)
			write_result(after, after->segment, after->format, "ended: killed");
	}
}

static void handle_mended(struct after *after, int status)
{
	const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	const bool good = !code || code == CHILD_EMPTY;
	struct store_left left;
	int error = store_mended(after->store, good ? code == CHILD_EMPTY : -ECANCELED, &left);
	char why[64];

	/* It was deleted meanwhile. */
	if (error == -ENOENT)
		return;
	after->left.finished += left.finished;
	after->left.bad += left.bad;
	after->left.cut += left.cut;
	if (good && !error)
		return;
	describe(why, status);
	postpone(after, STORE_MENDING, after->segment, error ? strerror(-error) : why);
}

static void take(struct after *after, int status)
{
	if (after->work == STORE_MENDING)
		handle_mended(after, status);
	else if (after->work == STORE_PACKING)
		handle_packed(after, status);
	else
		handle_decoded(after, status);
	after->work = STORE_IDLE;
}

/* --- While it works. --- */

static uint64_t cpu_now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

/* Traces of many thousand processes are as many files: a look takes of recording's budget. */
static void look(struct after *after, uint64_t now)
{
	const uint64_t before = cpu_now();
	uint64_t took;

	if (now < after->look)
		return;
	after->bytes = store_work_look(after->store);
	took = cpu_now() - before;
	after->look = took > SECOND / LOOK_SHARE ? now + LOOK_SHARE * took : 0;
}

/* Why it cannot go on; NULL: it can. */
static const char *trouble(struct after *after, uint64_t now)
{
	unsigned int deleted;
	int error;

	/* It takes no more space than it has, and makes none. */
	if (after->work == STORE_MENDING)
		return store_waits(after->store, after->segment) ? NULL : "deleted";
	look(after, now);
	if (after->work == STORE_DECODING && after->options.most &&
	    after->bytes > after->options.most)
		return "ended: more than a segment may be decoded to";
	/* What it writes counts: the oldest segments make space for it. */
	error = store_make_space(after->store, 0, &deleted);
	after->deleted += deleted;
	return !store_find(after->store, after->segment) ? "deleted" : error ? "ended: no room" : NULL;
}

static void watch(struct after *after, uint64_t now)
{
	const char *why = trouble(after, now);

	if (!why)
		return;
	end_child(after);
	drop_work(after, after->work);
	if (after->work == STORE_MENDING) {
		after->work = STORE_IDLE;
		return;
	}
	if (after->work == STORE_PACKING) {
		after->retry = now + RETRY;
	} else {
		decode_failed(after, why, false);
		write_result(after, after->segment, after->format, why);
	}
	after->work = STORE_IDLE;
}

/* --- What is next. --- */

static bool wants_decoding(const struct after *after, const struct store_segment *segment)
{
	return after->options.format && !after->no_decoder && !segment->decoded;
}

/* A wall clock may be set: by it only what ended before this flowtapd began. */
static uint64_t age(const struct store_segment *segment, uint64_t now, uint64_t wall)
{
	if (segment->ended_at)
		return now > segment->ended_at ? now - segment->ended_at : 0;
	return wall > segment->ended ? (wall - segment->ended) * SECOND : 0;
}

static void count_waiting(struct after *after, uint64_t wall)
{
	const struct store_segment *segments, *oldest = NULL;
	size_t n;

	after->waiting = 0;
	segments = store_segments(after->store, &n);
	for (size_t i = 0; i < n; i++) {
		if (!wants_decoding(after, &segments[i]))
			continue;
		after->waiting++;
		if (!oldest)
			oldest = &segments[i];
	}
	after->lag = oldest ? age(oldest, after->now, wall) : 0;
}

/*
 * That needs space for both for a while: no other segment goes for it. least: of those that there
 * is no space for, which a larger one need not ask the disk about.
 */
static bool wants_packing(const struct after *after, const struct store_segment *segment,
			  uint64_t *least)
{
	if (!after->options.pack || segment->packed || segment->loose || segment->bytes >= *least)
		return false;
	if (store_fits(after->store, segment->bytes / 2))
		return true;
	*least = segment->bytes;
	return false;
}

/* What there is to do with the segment, if anything. */
static enum store_work work_on(const struct after *after, const struct store_segment *segment,
			       uint64_t *least)
{
	if (wants_decoding(after, segment))
		return STORE_DECODING;
	return wants_packing(after, segment, least) ? STORE_PACKING : STORE_IDLE;
}

/* The oldest on which no work has failed; NULL: none. */
static const struct store_segment *next_new(const struct after *after, enum store_work *work)
{
	const struct store_segment *segments;
	uint64_t least = UINT64_MAX;
	size_t n;

	segments = store_segments(after->store, &n);
	for (size_t i = 0; i < n; i++) {
		*work = segments[i].retry ? STORE_IDLE : work_on(after, &segments[i], &least);
		if (*work)
			return &segments[i];
	}
	return NULL;
}

/* Of those on which some has failed, the one that may be tried again for longest; NULL: none. */
static const struct store_segment *next_again(const struct after *after, enum store_work *work)
{
	const struct store_segment *segments, *next = NULL;
	uint64_t least = UINT64_MAX;
	size_t n;

	segments = store_segments(after->store, &n);
	for (size_t i = 0; i < n; i++) {
		const struct store_segment *segment = &segments[i];
		enum store_work wanted;

		if (!segment->retry || segment->retry > (next ? next->retry - 1 : after->now))
			continue;
		wanted = work_on(after, segment, &least);
		if (!wanted)
			continue;
		*work = wanted;
		next = segment;
	}
	return next;
}

/* STORE_IDLE: nothing. */
static enum store_work choose(const struct after *after, char name[STORE_NAME])
{
	const bool again = after->now >= after->again;
	const char *left = again ? store_waiting(after->store, after->now) : NULL;
	enum store_work work = STORE_IDLE;
	const struct store_segment *segment = again ? next_again(after, &work) : NULL;

	if (left && (!segment || store_postponed(after->store, left) <= segment->retry)) {
		snprintf(name, STORE_NAME, "%s", left);
		return STORE_MENDING;
	}
	if (!segment)
		segment = next_new(after, &work);
	if (segment)
		snprintf(name, STORE_NAME, "%s", segment->name);
	return work;
}

static void begin_next(struct after *after)
{
	enum store_work work;
	char name[STORE_NAME];
	int error;

	if (after->now < after->retry)
		return;
	work = choose(after, name);
	if (!work)
		return;
	error = begin(after, work, name);
	if (error)
		postpone(after, work, name, strerror(-error));
}

void after_step(struct after *after, uint64_t now, uint64_t wall)
{
	int status;

	after->now = now;
	if (after->child && ended(after, WNOHANG, &status))
		take(after, status);
	if (after->child)
		watch(after, now);
	count_waiting(after, wall);
	if (after->waiting > after->options.waiting)
		skip(after, after->waiting - after->options.waiting);
	if (!after->child)
		begin_next(after);
}

void after_close(struct after *after)
{
	if (!after->child)
		return;
	end_child(after);
	drop_work(after, after->work);
	after->work = STORE_IDLE;
}
