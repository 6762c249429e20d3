// SPDX-License-Identifier: GPL-2.0-only
/* Begins and ends segments, and waits where there is no space for one. */
#include "run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../tools/common/tool.h"
#include "events.h"
#include "rotation.h"

#define SECOND 1000000000ULL
#define RETRY (10 * SECOND)
#define LAST_REWRITING (10 * SECOND)	/* a service manager waits much longer for the end */

uint64_t run_wall_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec;
}

void run_count_deleted(struct run *run, unsigned int deleted)
{
	const char *name;
	int error = store_undeleted(run->store, &name);

	run->figures.segments_deleted += deleted;
	event_deleted(run, deleted);
	if (error)
		event_undeleted(name, error);
}

static void count_segment(struct run *run, const struct store_facts *facts)
{
	unsigned int deleted;
	int error;

	run->figures.segments++;
	/* Of rings that overwrite there is no other. */
	run->figures.snapshots += run->conf.overwrite;
	event_ended(run, facts);
	/* It may have become larger than it was to be. */
	store_make_space(run->store, 0, &deleted);
	run_count_deleted(run, deleted);
	error = store_index_error(run->store);
	if (error)
		complain("cannot write the index in '%s': %s", run->conf.directory, strerror(-error));
}

static void complain_of_part(const struct run *run, int error)
{
	complain("cannot finish a segment in '%s': %s", run->conf.directory, strerror(-error));
	advise("it stays a .part until that is tried again with the next one, or flowtapd starts again");
}

static void finish_segment(struct run *run, const struct store_facts *facts)
{
	int error = store_finish(run->store, facts);

	if (!error)
		count_segment(run, facts);
	/* The disk takes it while the next one is written: run_rewrite_unfinished sees to that. */
	if (error < 0 && error != -EINPROGRESS)
		complain_of_part(run, error);
}

/* Of rings that overwrite, a segment in which nothing was saved is nothing. */
static void keep_or_discard(struct run *run, const struct store_facts *facts)
{
	if (run->conf.overwrite && !run->save)
		store_discard(run->store);
	else
		finish_segment(run, facts);
	run->save = false;
}

static struct store_facts begin_facts(const struct run *run, const char *why)
{
	return (struct store_facts){
		.began = run->segment_began,
		.ended = run_wall_seconds(),
		.ended_at = number_now(),
		.seconds = (number_now() - run->collect.began) / SECOND,
		.why = why,
	};
}

/*
 * By its free space the disk takes more, and it does not: a quota of its user, or there are no
 * inodes. The oldest segment makes space.
 */
static void make_space(struct run *run, int error)
{
	if (error != -ENOSPC && error != -EDQUOT)
		return;
	store_refused(run->store);
	if (store_fits(run->store, 0))
		run_count_deleted(run, store_delete_oldest(run->store));
}

/* Segments that were not finished when they ended, or a piece of one. As store_retry. */
static int retry_unfinished(struct run *run)
{
	struct store_facts facts;
	int error, later;

	while ((error = store_retry(run->store, &facts)) > 0)
		count_segment(run, &facts);
	later = store_sync_error(run->store);
	if (later)
		complain_of_part(run, later);
	return error;
}

/* A new file, ready to be written. 0; -errno: nothing has changed. */
static int begin_file(struct run *run, uint64_t time)
{
	int fd = store_begin(run->store, time), error;

	if (fd < 0)
		return fd;
	error = collect_prepare(&run->collect, fd);
	if (error)
		store_drop(run->store);
	return error;
}

/*
 * The next segment, or the first. 0; -ENOSPC: there is no space, nothing has changed; -errno. What
 * rests at times does so while the one before goes to the disk, which takes as long as it likes.
 */
static int next_segment(struct run *run, const char *why)
{
	struct store_facts facts = begin_facts(run, why);
	bool first = !store_current(run->store);
	unsigned int deleted;
	int error = retry_unfinished(run);

	run->unfinished = error;
	if (error)
		return error;
	/* The one before may be larger than it was to be: a quota of two has space for both. */
	error = store_make_space(run->store, first ? run->conf.size : run->conf.size / 4 * 3, &deleted);
	run_count_deleted(run, deleted);
	if (error)
		return error;
	error = begin_file(run, facts.ended);
	if (error)
		return error;
	if (run->images)
		images_segment(run->images, store_number(run->store));
	error = collect_begin(&run->collect);
	facts.broken = error && !first;
	facts.records = run->collect.records;
	facts.lost = run->collect.lost;
	run->segment_began = facts.ended;
	run->rotate = false;
	if (!first && !error && run->state == RUN_RECORDING && run_is_whole(run))
		run_switch_on(run, true);
	if (!first)
		keep_or_discard(run, &facts);
	event_begun(run);
	return error;
}

/* It was ended with this error. */
static void end_segment(struct run *run, const char *why, int error)
{
	struct store_facts facts = begin_facts(run, why);

	facts.records = run->collect.records;
	facts.lost = run->collect.lost;
	facts.broken = error;
	if (store_current(run->store))
		keep_or_discard(run, &facts);
}

void run_end_segment(struct run *run, const char *why)
{
	int error;

	disk_begin(&run->disk);
	error = collect_end(&run->collect);
	if (error) {
		complain("the last segment is not whole: %s", strerror(-error));
		run->failed = true;
	}
	end_segment(run, why, error);
	disk_end(&run->disk);
	event_unsaved(collect_waiting(&run->collect));
}

int run_begin_segment(struct run *run)
{
	int error = next_segment(run, "");

	/* Who tries again finds it. */
	make_space(run, error);
	if (error)
		return error;
	event_drain(run);
	event_choice(run);
	error = collect_watch(&run->collect, run->signals);
	if (!error)
		error = collect_watch(&run->collect, server_fd(run->control));
	if (!error && run->metrics)
		error = collect_watch(&run->collect, server_fd(run->metrics));
	if (!error)
		error = run_watch_triggers(run);
	if (!error && choice_fd(run->choice) >= 0)
		error = collect_watch(&run->collect, choice_fd(run->choice));
	return error;
}

void run_wait_for_space(struct run *run, int error)
{
	const uint64_t now = number_now();

	/* The space made is full already, or was none: not all that is there goes for that. */
	const bool soon = run->space_made && now - run->space_made < RETRY;

	if (run->full_error != error)
		event_full(run, error);
	run->full_error = error;
	/* At first at once: older segments may be deleted. */
	run->retry = run->full_since || soon ? now + RETRY : now;
	if (!run->full_since)
		run->full_since = now;
	if (run->state == RUN_RECORDING)
		run->state = RUN_FULL;
	/* What came before that was yet to be written. */
	if (run->state == RUN_STOPPED && !run->full_stopped)
		run->full_stopped = now;
	if (!soon) {
		make_space(run, error);
		run->space_made = now;
	}
	if (!run->collect.paused)
		end_segment(run, "full", collect_pause(&run->collect));
}

uint64_t run_full_time(const struct run *run)
{
	const uint64_t until = run->full_stopped ? run->full_stopped : number_now();

	return run->full_since ? until - run->full_since : 0;
}

/* The next archive says what is missing before it. */
static void report_gap(struct run *run)
{
	const uint64_t ns = run_full_time(run);

	snprintf(run->collect.gap, sizeof(run->collect.gap), "full=%llu.%03llu s: %s\n",
		 (unsigned long long)(ns / SECOND), (unsigned long long)(ns / 1000000 % 1000),
		 disk_error(run->full_error));
}

static void turn_segment(struct run *run, const char *why)
{
	int error = next_segment(run, why);

	if (error)
		run_wait_for_space(run, error);
}

void run_full_over(struct run *run)
{
	run->full += run_full_time(run);
	run->full_since = run->full_stopped = 0;
	run->full_error = 0;
	if (run->state == RUN_FULL)
		run->state = RUN_RECORDING;
	event_space(run);
}

/* There was no space, or nobody wanted one. */
static void retry_segment(struct run *run)
{
	int error;

	if (run->full_since)
		report_gap(run);
	error = next_segment(run, "full");
	if (error)
		run_wait_for_space(run, error);
	else if (run->full_since)
		run_full_over(run);
}

static const char *due(const struct run *run, uint64_t now)
{
	const struct rotation rotation = {
		.save = run->save,
		.asked = run->rotate,
		.size = collect_size(&run->collect),
		.size_limit = run->conf.size,
		.first = run->collect.first,
		.age = now - run->collect.began,
		.age_limit = run->conf.time,
	};

	return rotation_due(&rotation);
}

void run_keep_segments(struct run *run, uint64_t now)
{
	const char *why;

	if (run->collect.paused) {
		if (run->state == RUN_RECORDING || (run->state == RUN_FULL && now >= run->retry))
			retry_segment(run);
		return;
	}
	why = due(run, now);
	if (why && run->state == RUN_STOPPED) {
		/* Another one would have nothing in it, and take space from what is recorded. */
		run->rotate = false;
		end_segment(run, why, collect_pause(&run->collect));
	} else if (why) {
		turn_segment(run, why);
	}
}

void run_rewrite_unfinished(struct run *run)
{
	if ((!store_rewrites(run->store) && !store_synced(run->store)) || retry_unfinished(run) ||
	    !run->unfinished)
		return;
	run->unfinished = false;
	run->retry = 0;
}

static void wait_for_disk(struct run *run, uint64_t until)
{
	const uint64_t now = number_now();

	if (run->syncer && now < until)
		syncer_wait(run->syncer, (unsigned int)((until - now) / 1000000));
}

void run_end_unfinished(struct run *run)
{
	const uint64_t until = number_now() + LAST_REWRITING;
	unsigned int n;

	wait_for_disk(run, until);
	do
		retry_unfinished(run);
	while (store_rewrites(run->store) && number_now() < until);
	n = store_unsynced(run->store) + store_unfinished(run->store, true);
	if (!n)
		return;
	complain("the disk did not take all of %u segments in '%s'", n, run->conf.directory);
	advise("look what the kernel says of it (dmesg); when flowtapd has started again, flowtap "
	       "check says what of them is whole");
}
