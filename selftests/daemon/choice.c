// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows how often /proc is looked at for who is to be recorded, where nothing but that helps. Each look
 * takes ten milliseconds here: the clock is this program's.
 */
#include "choice.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "support/kselftest_harness.h"

#define MS 1000000ULL
#define SECOND 1000000000ULL

static uint64_t now = SECOND;
static unsigned int looks;

int clock_gettime(clockid_t clock, struct timespec *time)
{
	if (clock != CLOCK_MONOTONIC_RAW)
		return (int)syscall(SYS_clock_gettime, clock, time);
	*time = (struct timespec){ (time_t)(now / SECOND), (long)(now % SECOND) };
	return 0;
}

DIR *opendir(const char *path)
{
	if (!strcmp(path, "/proc")) {
		looks++;
		now += 10 * MS;
	}
	return ((__typeof__(&opendir))dlsym(RTLD_NEXT, "opendir"))(path);
}

TEST(looks_take_a_quarter_of_the_budget)
{
	static const struct {
		const char *budget;
		uint64_t pause;		/* after a look */
	} cases[] = {
		{ "1%", 4 * SECOND },
		{ "10%", 400 * MS },
		{ "100%", 100 * MS },	/* the least */
		{ "0.01%", 10 * SECOND },	/* the most */
	};
	struct flowtap_session_stream stream = { .fd = -1 };
	struct streams streams = { .session = { .streams = &stream, .n = 1 } };

	setenv("FLOWTAP_CHOICE", "poll", 1);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char path[] = "/tmp/flowtap-choice-XXXXXX", *error;
		FILE *file = fdopen(mkstemp(path), "w");
		struct choice *choice;
		struct conf conf;
		uint64_t looked;

		ASSERT_TRUE(file);
		fprintf(file, "[tasks]\ncommand = nobody-is-so\n[budget]\ncpu = %s\n", cases[i].budget);
		fclose(file);
		ASSERT_EQ(0, conf_load(path, &conf, &error));
		unlink(path);
		ASSERT_EQ(0, choice_open(&conf, &choice));
		ASSERT_EQ(0, choice_begin(choice, &streams));
		choice_serve(choice, now);
		looked = now;
		looks = 0;
		now = looked + cases[i].pause - 1;
		choice_serve(choice, now);
		EXPECT_EQ(0, looks) TH_LOG("%s", cases[i].budget);
		now = looked + cases[i].pause;
		choice_serve(choice, now);
		EXPECT_EQ(1, looks) TH_LOG("%s", cases[i].budget);
		choice_close(choice);
		conf_free(&conf);
	}
}

TEST_HARNESS_MAIN
