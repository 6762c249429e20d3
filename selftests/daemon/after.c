// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that finished segments are decoded and packed, the oldest first; and that what cannot keep
 * up, fails, is killed or grows too large is told and leaves nothing half done.
 */
#include "after_fixture.h"

#include <dirent.h>
#include <dlfcn.h>
#include <flowtap/packed.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>

/* Directories that were read. */
static unsigned int directories;

/* Questions how much is free. */
static unsigned int asked;

int fstatvfs(int fd, struct statvfs *disk)
{
	asked++;
	return ((__typeof__(&fstatvfs))dlsym(RTLD_NEXT, "fstatvfs"))(fd, disk);
}

/* Of this thread, ns: what reading directories took. */
static uint64_t cpu, each_costs;

int clock_gettime(clockid_t clock, struct timespec *time)
{
	if (clock != CLOCK_THREAD_CPUTIME_ID)
		return (int)syscall(SYS_clock_gettime, clock, time);
	*time = (struct timespec){ (time_t)(cpu / 1000000000), (long)(cpu % 1000000000) };
	return 0;
}

DIR *fdopendir(int fd)
{
	directories++;
	cpu += each_costs;
	return ((__typeof__(&fdopendir))dlsym(RTLD_NEXT, "fdopendir"))(fd);
}

TEST_F(after, segments_are_packed_one_after_the_other)
{
	struct flowtap_unpacked told;
	struct rusage usage;
	uint64_t all;
	char path[256];
	int fd, out;

	self->options.pack = true;
	for (int i = 0; i < 3; i++)
		ASSERT_EQ(0, add_segment(self));
	after_init(&self->after, self->store, &self->options);
	ASSERT_TRUE(until(self, &self->after.packed, 1));
	EXPECT_TRUE(exists(self, FIRST ".ftap.zst"));
	EXPECT_FALSE(exists(self, FIRST ".ftap"));
	EXPECT_TRUE(exists(self, THIRD ".ftap"));
	ASSERT_TRUE(until(self, &self->after.packed, 3));
	EXPECT_FALSE(exists(self, THIRD ".ftap"));
	EXPECT_FALSE(exists(self, THIRD ".ftap.zst.part"));
	EXPECT_GT(100000, store_bytes(self->store));
	EXPECT_EQ(0, self->after.waiting);
	/* All that the three took, of which each needs some milliseconds. */
	getrusage(RUSAGE_CHILDREN, &usage);
	all = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000 +
	      (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
	EXPECT_LT(0, self->after.cpu);
	EXPECT_GE(all + 1000000, self->after.cpu);
	EXPECT_LE(all, self->after.cpu + 1000000);
	snprintf(path, sizeof(path), "%s/" THIRD ".ftap.zst", self->directory);
	fd = open(path, O_RDONLY);
	EXPECT_TRUE(flowtap_packed_is(fd));
	out = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	EXPECT_EQ(0, flowtap_unpack(fd, out, FLOWTAP_PACKED_LIMIT, &told));
	EXPECT_EQ(0, told.damages);
	EXPECT_EQ(16 + 10 * (24 + 100000), told.bytes);
	close(fd);
	close(out);
	/* Nothing is left to be done, and nothing to be told. */
	after_step(&self->after, number_now(), TIME);
	EXPECT_EQ(0, self->after.child);
	EXPECT_STREQ("", logged_since(&self->logged));
}

TEST_F(after, what_packing_makes_no_smaller_stays_and_does_not_hold_up_the_next)
{
	self->options.pack = true;
	ASSERT_EQ(0, add_segment_of(self, 1));
	ASSERT_EQ(0, add_segment(self));
	after_init(&self->after, self->store, &self->options);
	ASSERT_TRUE(until(self, &self->after.packed, 1));
	EXPECT_TRUE(exists(self, FIRST ".ftap"));
	EXPECT_FALSE(exists(self, FIRST ".ftap.zst"));
	EXPECT_TRUE(exists(self, SECOND ".ftap.zst"));
	after_step(&self->after, number_now(), TIME);
	EXPECT_EQ(0, self->after.child);
	EXPECT_EQ(0, self->after.retry);
	EXPECT_STREQ("", logged_since(&self->logged));
}

TEST_F(after, packing_waits_for_room_and_deletes_nothing_for_it)
{
	struct store_limits limits = { 0 };

	self->options.pack = true;
	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, add_segment(self));
	limits.quota = store_bytes(self->store) + 1000;
	store_limit(self->store, &limits);
	after_init(&self->after, self->store, &self->options);
	for (int i = 0; i < 3; i++)
		after_step(&self->after, number_now(), TIME);
	EXPECT_EQ(0, self->after.child);
	EXPECT_EQ(0, self->after.deleted);
	store_limit(self->store, &any);
	ASSERT_TRUE(until(self, &self->after.packed, 2));
	EXPECT_STREQ("", logged_since(&self->logged));
}

/* Each of 100,000 would be a question a second. */
TEST_F(after, where_one_has_no_room_those_that_are_no_smaller_are_not_tried)
{
	struct store_limits limits = { .free = UINT64_MAX / 2 };

	self->options.pack = true;
	for (int i = 0; i < 5; i++)
		ASSERT_EQ(0, add_segment(self));
	store_limit(self->store, &limits);
	after_init(&self->after, self->store, &self->options);
	asked = 0;
	after_step(&self->after, number_now(), TIME);
	EXPECT_EQ(0, self->after.child);
	EXPECT_EQ(1, asked);
}

TEST_F(after, segments_are_decoded_from_the_raw_one_and_then_packed)
{
	struct stat stat_of;
	char path[512];

	self->options.pack = true;
	self->options.format = "stf";
	make_decoder(self, "echo \"$in\" >$WHERE/in; echo \"$out\" >$WHERE/out\n"
		     "f=${out%.stf}.pid7.stf; echo trace >$f; chmod 600 $f; echo '{}'; echo one >&2; echo two >&2");
	ASSERT_EQ(0, add_segment(self));
	after_init(&self->after, self->store, &self->options);
	umask(027);
	ASSERT_TRUE(until(self, &self->after.packed, 1));
	EXPECT_EQ(1, self->after.decoded);
	snprintf(path, sizeof(path), "%s/decoded/" FIRST "/trace.pid7.stf", self->directory);
	ASSERT_EQ(0, stat(path, &stat_of));
	/* Of the group, as segments are, whatever it was made with. */
	EXPECT_EQ(0640, stat_of.st_mode & 07777);
	EXPECT_TRUE(strstr(text_of(self, "in"), "/" FIRST ".ftap\n"));
	EXPECT_TRUE(strstr(text_of(self, "out"), "/decoded/" FIRST ".part/trace.stf\n"));
	EXPECT_STREQ("trace\n", text_of(self, "decoded/" FIRST "/trace.pid7.stf"));
	EXPECT_STREQ("{}\n", text_of(self, "decoded/" FIRST "/summary.json"));
	EXPECT_STREQ("one\ntwo\n", text_of(self, "decoded/" FIRST "/messages"));
	EXPECT_TRUE(strstr(text_of(self, "decoded/" FIRST "/result"), "format=stf\nstatus=0\n"));
	EXPECT_TRUE(strstr(text_of(self, "decoded/" FIRST "/result"), "\nmessages=2\n"));
	EXPECT_FALSE(exists(self, "decoded/" FIRST ".part"));
	/* One that was packed before is decoded as well, and none twice. */
	folder_empty(self->directory);
	store_close(self->store);
	ASSERT_EQ(0, store_open(self->directory, &any, &self->left, &self->store));
	self->options.format = NULL;
	after_init(&self->after, self->store, &self->options);
	ASSERT_EQ(0, add_segment(self));
	ASSERT_TRUE(until(self, &self->after.packed, 1));
	EXPECT_EQ(0, self->after.decoded);
	make_decoder(self, "echo \"$in\" >>$WHERE/in");
	self->options.format = "zstf";
	after_change(&self->after, &self->options);
	ASSERT_TRUE(until(self, &self->after.decoded, 1));
	EXPECT_TRUE(strstr(text_of(self, "in"), ".ftap.zst\n"));
	for (int i = 0; i < 3; i++)
		after_step(&self->after, number_now(), TIME);
	EXPECT_EQ(0, self->after.child);
}

TEST_F(after, a_segment_of_no_instruction_is_no_failure)
{
	self->options.format = "stf";
	make_decoder(self, "exit 4");
	ASSERT_EQ(0, add_segment(self));
	after_init(&self->after, self->store, &self->options);
	ASSERT_TRUE(until(self, &self->after.decoded, 1));
	EXPECT_EQ(0, self->after.failed);
	EXPECT_STREQ("", logged_since(&self->logged));
	EXPECT_TRUE(strstr(text_of(self, "decoded/" FIRST "/result"), "\nstatus=4\n"));
}

TEST_F(after, how_decoding_ended_is_told_and_it_is_not_tried_again)
{
	self->options.format = "stf";
	make_decoder(self, "echo x >$out.part; echo x >$out; case $in in *1-*) exit 1;; *2-*) exit 3;;\n"
		     "*) kill -9 $$;; esac");
	for (int i = 0; i < 3; i++)
		ASSERT_EQ(0, add_segment(self));
	after_init(&self->after, self->store, &self->options);
	ASSERT_TRUE(until(self, &self->after.failed, 3));
	EXPECT_STREQ("level=error event=decode-failed name=" FIRST ".ftap why=\"ended with status 1\" "
		     "see=decoded/" FIRST "\n"
		     "level=error event=decode-failed name=" SECOND ".ftap why=\"damaged: decoded as far as it can be "
		     "read\" "
		     "see=decoded/" SECOND "\n"
		     "level=error event=decode-failed name=" THIRD ".ftap why=\"flowtap was ended by a "
		     "signal\" see=decoded/" THIRD "\n", logged_since(&self->logged));
	EXPECT_TRUE(strstr(text_of(self, "decoded/" FIRST "/result"), "\nstatus=1\n"));
	EXPECT_TRUE(strstr(text_of(self, "decoded/" SECOND "/result"), "\nstatus=3\n"));
	EXPECT_TRUE(strstr(text_of(self, "decoded/" THIRD "/result"), "\nstatus=signal 9\n"));
	EXPECT_TRUE(exists(self, "decoded/" THIRD "/trace.stf"));
	EXPECT_FALSE(exists(self, "decoded/" THIRD "/trace.stf.part"));
	EXPECT_EQ(0, self->after.decoded);
	after_step(&self->after, number_now(), TIME);
	EXPECT_EQ(0, self->after.child);
	EXPECT_EQ(0, self->after.waiting);
}

TEST_F(after, without_a_decoder_the_rest_goes_on)
{
	self->options.format = "stf";
	self->options.pack = true;
	setenv("PATH", "/nonexistent", 1);
	ASSERT_EQ(0, add_segment(self));
	after_init(&self->after, self->store, &self->options);
	ASSERT_TRUE(until(self, &self->after.packed, 1));
	EXPECT_TRUE(self->after.no_decoder);
	EXPECT_STREQ("level=error event=no-decoder why=\"there is no flowtap beside flowtapd or in "
		     "$PATH\" fix=\"install it, then reload (SIGHUP): until then nothing is decoded\"\n",
		     logged_since(&self->logged));
	EXPECT_FALSE(exists(self, "decoded/" FIRST));
	EXPECT_FALSE(exists(self, "decoded/" FIRST ".part"));
	/* It is installed, and that is told by a reload. */
	make_decoder(self, "");
	after_change(&self->after, &self->options);
	ASSERT_TRUE(until(self, &self->after.decoded, 1));
}

TEST_F(after, what_cannot_keep_up_leaves_out_the_oldest)
{
	self->options.format = "stf";
	self->options.waiting = 2;
	make_decoder(self, HOLD);
	ASSERT_EQ(0, add_segment(self));
	after_init(&self->after, self->store, &self->options);
	ASSERT_TRUE(until_file(self, "begun", true));
	EXPECT_EQ(1, self->after.waiting);
	EXPECT_EQ(40 * 1000000000ULL, self->after.lag);
	for (int i = 0; i < 4; i++)
		ASSERT_EQ(0, add_segment(self));
	after_step(&self->after, number_now(), TIME + 160);
	/* The first one is being decoded, the last one waits. */
	EXPECT_EQ(3, self->after.skipped);
	EXPECT_EQ(2, self->after.waiting);
	EXPECT_STREQ("level=warning event=decode-skipped count=3 so_far=3 waiting=2 why=\"decoding "
		     "cannot keep up\"\n", logged_since(&self->logged));
	EXPECT_EQ(100 * 1000000000ULL, self->after.lag);
	EXPECT_TRUE(strstr(text_of(self, "decoded/" SECOND "/result"), "\nstatus=skipped: "));
	EXPECT_TRUE(exists(self, "decoded/" THIRD "/result"));
	EXPECT_FALSE(exists(self, "decoded/" FIRST));
	let_go(self);
	ASSERT_TRUE(until(self, &self->after.decoded, 2));
	EXPECT_EQ(3, self->after.skipped);
	after_step(&self->after, number_now(), TIME + 160);
	EXPECT_EQ(0, self->after.waiting);
	EXPECT_EQ(0, self->after.lag);
}

/* A board without a clock has a time of its own until it asks others. */
TEST_F(after, a_clock_that_is_set_makes_no_lag)
{
	const struct store_facts facts = { .began = TIME, .ended = TIME + 60, .ended_at = number_now(),
					   .why = "size" };
	struct flowtap_archive_writer *writer;
	int fd = store_begin(self->store, TIME);

	self->options.format = "stf";
	make_decoder(self, HOLD);
	ASSERT_EQ(0, flowtap_archive_create(fd, &writer));
	ASSERT_EQ(0, flowtap_archive_flush(writer));
	flowtap_archive_writer_free(writer);
	ASSERT_EQ(0, store_finish(self->store, &facts));
	after_init(&self->after, self->store, &self->options);
	after_step(&self->after, facts.ended_at + 5000000000, TIME + 1000000000ULL);
	EXPECT_EQ(5000000000, self->after.lag);
	after_step(&self->after, facts.ended_at + 6000000000, 0);
	EXPECT_EQ(6000000000, self->after.lag);
	let_go(self);
	ASSERT_TRUE(until(self, &self->after.decoded, 1));
}

TEST_F(after, what_grows_too_large_is_ended)
{
	self->options.format = "stf";
	self->options.most = 1 << 20;
	make_decoder(self, "head -c 1500000 /dev/zero >$out\n" HOLD);
	ASSERT_EQ(0, add_segment(self));
	after_init(&self->after, self->store, &self->options);
	ASSERT_TRUE(until(self, &self->after.failed, 1));
	EXPECT_TRUE(strstr(text_of(self, "decoded/" FIRST "/result"), "\nstatus=ended: more than "));
	EXPECT_STREQ("level=error event=decode-failed name=" FIRST ".ftap why=\"ended: more than a "
		     "segment may be decoded to\"\n", logged_since(&self->logged));
	EXPECT_FALSE(exists(self, "decoded/" FIRST "/trace.stf"));
	EXPECT_FALSE(exists(self, "decoded/" FIRST ".part"));
	EXPECT_EQ(0, self->after.child);
	EXPECT_GT(2 << 20, store_bytes(self->store));
}

/* The child goes on with what it began. */
TEST_F(after, what_was_decoded_to_is_said_where_another_format_is_wanted_now)
{
	self->options.format = "stf";
	make_decoder(self, "head -c 1500000 /dev/zero >$out\n" HOLD);
	ASSERT_EQ(0, add_segment(self));
	after_init(&self->after, self->store, &self->options);
	ASSERT_TRUE(until_file(self, "begun", true));
	self->options.format = NULL;
	self->options.most = 1 << 20;
	after_change(&self->after, &self->options);
	ASSERT_TRUE(until(self, &self->after.failed, 1));
	EXPECT_TRUE(strstr(text_of(self, "decoded/" FIRST "/result"),
			   "format=stf\nstatus=ended: more than "));
}

/* Each look at a decoding costs what its processes are many. */
TEST_F(after, what_is_decoded_is_looked_at_once_a_step)
{
	struct store_limits limits = { .quota = 1 << 30 };

	self->options.format = "stf";
	self->options.most = 1 << 30;
	store_limit(self->store, &limits);
	make_decoder(self, "echo x >$out\n" HOLD);
	ASSERT_EQ(0, add_segment(self));
	after_init(&self->after, self->store, &self->options);
	ASSERT_TRUE(until_file(self, "begun", true));
	directories = 0;
	after_step(&self->after, number_now(), TIME);
	EXPECT_EQ(1, directories);
	let_go(self);
	ASSERT_TRUE(until(self, &self->after.decoded, 1));
}

/* Each of many thousand traces is a file that is asked for its size. */
TEST_F(after, looks_that_take_long_are_rare)
{
	uint64_t now;

	self->options.format = "stf";
	make_decoder(self, "echo x >$out\n" HOLD);
	ASSERT_EQ(0, add_segment(self));
	after_init(&self->after, self->store, &self->options);
	ASSERT_TRUE(until_file(self, "begun", true));
	directories = 0;
	each_costs = 20000000;
	now = number_now();
	for (uint64_t i = 0; i < 12; i++)
		after_step(&self->after, now + i * 1000000000, TIME);
	/* 20 ms every 4 s. */
	EXPECT_EQ(3, directories);
	each_costs = 0;
	let_go(self);
	ASSERT_TRUE(until(self, &self->after.decoded, 1));
}

TEST_F(after, a_segment_that_goes_takes_its_child_along)
{
	struct store_limits limits = { .quota = 1 };

	self->options.format = "stf";
	make_decoder(self, "echo x >$out\n" HOLD);
	ASSERT_EQ(0, add_segment(self));
	after_init(&self->after, self->store, &self->options);
	ASSERT_TRUE(until_file(self, "begun", true));
	EXPECT_TRUE(exists(self, "decoded/" FIRST ".part/trace.stf"));
	store_limit(self->store, &limits);
	after_step(&self->after, number_now(), TIME);
	EXPECT_EQ(1, self->after.deleted);
	EXPECT_EQ(0, self->after.child);
	EXPECT_FALSE(exists(self, FIRST ".ftap"));
	EXPECT_FALSE(exists(self, "decoded/" FIRST));
	EXPECT_FALSE(exists(self, "decoded/" FIRST ".part"));
	EXPECT_STREQ("level=error event=decode-failed name=" FIRST ".ftap why=deleted\n",
		     logged_since(&self->logged));
}

/* Begins to pack, and kills who does; false: it was faster. */
static bool kill_packing(FIXTURE_DATA(after) *self)
{
	siginfo_t info = { 0 };

	after_step(&self->after, number_now(), TIME);
	if (self->after.child <= 0)
		return false;
	kill(self->after.child, SIGKILL);
	/* It is waited for, but not taken. */
	waitid(P_PID, self->after.child, &info, WEXITED | WNOWAIT);
	return info.si_code == CLD_KILLED;
}

TEST_F(after, a_killed_child_leaves_the_raw_segment)
{
	char name[STORE_NAME], part[2 * STORE_NAME], told[256];
	int status, tries = 0;

	self->options.pack = true;
	after_init(&self->after, self->store, &self->options);
	do {
		ASSERT_EQ(0, add_segment(self));
	} while (!kill_packing(self) && ++tries < 100);
	ASSERT_GT(100, tries);
	snprintf(name, sizeof(name), "%s", self->after.segment);
	snprintf(part, sizeof(part), "%s.zst.part", name);
	after_step(&self->after, number_now(), TIME);
	EXPECT_EQ(tries, self->after.packed);
	EXPECT_EQ(0, self->after.child);
	EXPECT_TRUE(exists(self, name));
	EXPECT_FALSE(exists(self, part));
	snprintf(told, sizeof(told), "level=error event=put-off work=pack name=%s why=\"ended by signal "
		 "9\" retry=600.000s\n", name);
	EXPECT_STREQ(told, logged_since(&self->logged));
	/* Not at once again, but later. */
	after_step(&self->after, number_now(), TIME);
	EXPECT_EQ(0, self->after.child);
	after_step(&self->after, number_now() + 61000000000ULL, TIME);
	EXPECT_EQ(0, self->after.child);
	after_step(&self->after, number_now() + 601000000000ULL, TIME);
	EXPECT_LT(0, self->after.child);
	EXPECT_LT(number_now(), self->after.retry);
	after_change(&self->after, &self->options);
	EXPECT_GT(number_now(), self->after.retry);
	/* So does the end. */
	after_close(&self->after);
	EXPECT_EQ(0, self->after.child);
	EXPECT_EQ(-1, waitpid(-1, &status, WNOHANG));
	EXPECT_FALSE(exists(self, part));
	EXPECT_TRUE(exists(self, name));
}

/* Two that are to be packed, of which somebody removed the first. path: of its file. */
static void lose_first(FIXTURE_DATA(after) *self, char path[256])
{
	const struct store_segment *segments;
	size_t n;

	self->options.pack = true;
	if (add_segment(self) || add_segment(self))
		abort();
	segments = store_segments(self->store, &n);
	snprintf(path, 256, "%s/%s", self->directory, segments[0].name);
	if (unlink(path))
		abort();
}

/* A directory in the place of its file: no child can pack that. */
TEST_F(after, a_segment_that_cannot_be_packed_keeps_no_other_from_it)
{
	char path[256];
	size_t n;

	lose_first(self, path);
	ASSERT_EQ(0, mkdir(path, 0700));
	after_init(&self->after, self->store, &self->options);
	after_step(&self->after, number_now(), TIME);
	EXPECT_LT(0, self->after.child);
	while (self->after.child) {
		usleep(STEP_US);
		after_step(&self->after, number_now(), TIME);
	}
	EXPECT_TRUE(strstr(logged_since(&self->logged), "event=put-off work=pack "));
	EXPECT_EQ(0, self->after.packed);
	after_step(&self->after, number_now() + 61000000000ULL, TIME);
	EXPECT_LT(0, self->after.child);
	while (self->after.child) {
		usleep(STEP_US);
		after_step(&self->after, number_now() + 61000000000ULL, TIME);
	}
	EXPECT_EQ(1, self->after.packed);
	EXPECT_TRUE(store_segments(self->store, &n)[1].packed);
}

/* Whichever of them is tried again: it takes its turn, and the next minute. */
TEST_F(after, many_that_cannot_be_packed_keep_no_other_from_it_and_take_turns)
{
	const uint64_t now = number_now();
	const struct store_segment *segments;
	const char *log;
	char path[256];
	size_t n;

	self->options.pack = true;
	for (int i = 0; i < MANY; i++)
		ASSERT_EQ(0, add_segment(self));
	segments = store_segments(self->store, &n);
	for (size_t i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", self->directory, segments[i].name);
		ASSERT_EQ(0, unlink(path));
		ASSERT_EQ(0, mkdir(path, 0700));
	}
	after_init(&self->after, self->store, &self->options);
	for (uint64_t i = 0; i < MANY; i++)
		ASSERT_TRUE(until_idle(self, now + i * MINUTE));
	ASSERT_EQ(0, add_segment(self));
	ASSERT_TRUE(until_idle(self, now + MANY * MINUTE));
	EXPECT_EQ(1, self->after.packed);
	for (uint64_t i = MANY + 1; i < 2 * MANY; i++)
		ASSERT_TRUE(until_idle(self, now + i * MINUTE));
	log = logged_since(&self->logged);
	for (unsigned int i = 1; i <= MANY; i++)
		EXPECT_LE(2, put_off(log, i));
}

TEST_F(after, a_segment_that_somebody_removed_is_no_more)
{
	char path[256];
	size_t n;

	lose_first(self, path);
	after_init(&self->after, self->store, &self->options);
	ASSERT_TRUE(until(self, &self->after.packed, 1));
	EXPECT_STREQ("", logged_since(&self->logged));
	store_segments(self->store, &n);
	EXPECT_EQ(1, n);
}

/* Of who ignores it the kernel waits for children itself: how they ended nobody knows. */
TEST_F(after, a_child_that_cannot_be_waited_for_has_failed)
{
	self->options.pack = true;
	ASSERT_EQ(0, add_segment(self));
	after_init(&self->after, self->store, &self->options);
	signal(SIGCHLD, SIG_IGN);
	after_step(&self->after, number_now(), TIME);
	ASSERT_LT(0, self->after.child);
	/* Returns when there are none left. */
	while (wait(NULL) >= 0)
		;
	after_step(&self->after, number_now(), TIME);
	signal(SIGCHLD, SIG_DFL);
	EXPECT_EQ(0, self->after.child);
	EXPECT_EQ(0, self->after.packed);
	EXPECT_TRUE(strstr(logged_since(&self->logged), "event=put-off work=pack name=" FIRST ".ftap "));
	EXPECT_FALSE(exists(self, FIRST ".ftap.zst"));
	EXPECT_FALSE(exists(self, FIRST ".ftap.zst.part"));
	EXPECT_TRUE(exists(self, FIRST ".ftap"));
}

/* Ctrl-C, and a service manager, end all of a group. */
TEST_F(after, decoding_whose_child_is_asked_to_end_is_put_off)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP };
	const uint64_t never = 0;

	self->options.format = "stf";
	make_decoder(self, "echo x >$out\n" HOLD);
	ASSERT_EQ(0, add_segment(self));
	after_init(&self->after, self->store, &self->options);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		char wanted[160];

		snprintf(wanted, sizeof(wanted), "%s/begun", self->directory);
		ASSERT_EQ(i ? 0 : -1, unlink(wanted));
		self->after.again = self->after.retry = 0;
		store_postpone(self->store, FIRST ".ftap", 0);
		ASSERT_TRUE(until_file(self, "begun", true));
		kill(self->after.child, signals[i]);
		ASSERT_FALSE(until(self, &never, 1));
		EXPECT_EQ(0, self->after.failed);
		EXPECT_FALSE(exists(self, "decoded/" FIRST "/result"));
		snprintf(wanted, sizeof(wanted), "event=put-off work=decode name=" FIRST
			 ".ftap why=\"ended by signal %d\"", signals[i]);
		EXPECT_TRUE(strstr(logged_since(&self->logged), wanted));
	}
	/* What decodes may be the first to end. */
	make_decoder(self, "kill -TERM $$\n");
	self->after.again = self->after.retry = 0;
	store_postpone(self->store, FIRST ".ftap", 0);
	EXPECT_FALSE(until(self, &never, 1));
	EXPECT_EQ(0, self->after.failed);
	EXPECT_TRUE(strstr(logged_since(&self->logged), "event=put-off work=decode name=" FIRST ".ftap "));
}

TEST_F(after, decoding_whose_child_is_killed_is_not_tried_again)
{
	self->options.format = "stf";
	make_decoder(self, "echo x >$out\n" HOLD);
	ASSERT_EQ(0, add_segment(self));
	after_init(&self->after, self->store, &self->options);
	ASSERT_TRUE(until_file(self, "begun", true));
	kill(self->after.child, SIGKILL);
	ASSERT_TRUE(until(self, &self->after.failed, 1));
	EXPECT_STREQ("format=stf\nstatus=ended: killed\n", text_of(self, "decoded/" FIRST "/result"));
	EXPECT_FALSE(exists(self, "decoded/" FIRST "/trace.stf"));
	EXPECT_STREQ("level=error event=decode-failed name=" FIRST ".ftap why=\"ended by signal 9\"\n",
		     logged_since(&self->logged));
	after_step(&self->after, number_now(), TIME);
	EXPECT_EQ(0, self->after.child);
}

int main(int argc, char **argv)
{
	return after_main(argc, argv);
}
