// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that a service manager's socket hears what flowtapd tells, by a path and by an abstract
 * name.
 */
#include "notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "support/kselftest_harness.h"

FIXTURE(notify)
{
	struct notify notify;
	int manager;
	char path[64];
};

FIXTURE_VARIANT(notify)
{
	bool abstract;
};

FIXTURE_VARIANT_ADD(notify, path)
{
	.abstract = false,
};

FIXTURE_VARIANT_ADD(notify, abstract)
{
	.abstract = true,
};

FIXTURE_SETUP(notify)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t size;

	snprintf(self->path, sizeof(self->path), "%sflowtap-notify-%d",
		 variant->abstract ? "@" : "/tmp/", getpid());
	strcpy(address.sun_path, self->path);
	size = offsetof(struct sockaddr_un, sun_path) + strlen(self->path) + !variant->abstract;
	if (variant->abstract)
		address.sun_path[0] = 0;
	self->manager = socket(AF_UNIX, SOCK_DGRAM, 0);
	ASSERT_EQ(0, bind(self->manager, (struct sockaddr *)&address, size));
	setenv("NOTIFY_SOCKET", self->path, 1);
	setenv("WATCHDOG_USEC", "30000000", 1);
	unsetenv("WATCHDOG_PID");
}

FIXTURE_TEARDOWN(notify)
{
	notify_close(&self->notify);
	close(self->manager);
	if (!variant->abstract)
		unlink(self->path);
}

TEST_F(notify, it_hears_whole_messages)
{
	char heard[4096];
	ssize_t n;

	ASSERT_EQ(0, notify_open(&self->notify));
	EXPECT_EQ(30000000000ULL, self->notify.watchdog);
	EXPECT_EQ(0, notify_send(&self->notify, "READY=1\nSTATUS=records %s", "cpu 0"));
	n = recv(self->manager, heard, sizeof(heard) - 1, MSG_DONTWAIT);
	ASSERT_LT(0, n);
	heard[n] = 0;
	EXPECT_STREQ("READY=1\nSTATUS=records cpu 0", heard);
	EXPECT_EQ(-EMSGSIZE, notify_send(&self->notify, "STATUS=%4000d", 1));
	EXPECT_EQ(-1, recv(self->manager, heard, sizeof(heard), MSG_DONTWAIT));
}

/* A manager that is busy does not hear it now; it would end who never says so. */
TEST_F(notify, that_it_is_ready_is_to_be_said_until_it_is_heard)
{
	char heard[4096];
	int error;

	ASSERT_EQ(0, notify_open(&self->notify));
	while (!(error = notify_send(&self->notify, "STATUS=1")))
		;
	EXPECT_EQ(-EAGAIN, error);
	EXPECT_FALSE(self->notify.unready);
	EXPECT_EQ(-EAGAIN, notify_send(&self->notify, "READY=1\nSTATUS=records"));
	EXPECT_TRUE(self->notify.unready);
	while (recv(self->manager, heard, sizeof(heard), MSG_DONTWAIT) > 0)
		;
	EXPECT_EQ(0, notify_send(&self->notify, "WATCHDOG=1"));
	EXPECT_TRUE(self->notify.unready);
	EXPECT_EQ(0, notify_send(&self->notify, "READY=1"));
	EXPECT_FALSE(self->notify.unready);
}

/* Within the reload the manager's clock is the one that the message names. */
TEST_F(notify, a_reload_has_its_time)
{
	struct timespec before, after;
	unsigned long long usec;
	char heard[4096];
	ssize_t n;

	ASSERT_EQ(0, notify_open(&self->notify));
	clock_gettime(CLOCK_MONOTONIC, &before);
	EXPECT_EQ(0, notify_reloading(&self->notify));
	clock_gettime(CLOCK_MONOTONIC, &after);
	n = recv(self->manager, heard, sizeof(heard) - 1, MSG_DONTWAIT);
	ASSERT_LT(0, n);
	heard[n] = 0;
	ASSERT_EQ(1, sscanf(heard, "RELOADING=1\nMONOTONIC_USEC=%llu", &usec));
	EXPECT_LE(before.tv_sec * 1000000ULL + before.tv_nsec / 1000, usec);
	EXPECT_GE(after.tv_sec * 1000000ULL + after.tv_nsec / 1000, usec);
}

TEST_F(notify, children_have_none_of_it)
{
	ASSERT_EQ(0, notify_open(&self->notify));
	EXPECT_EQ(NULL, getenv("NOTIFY_SOCKET"));
	EXPECT_EQ(NULL, getenv("WATCHDOG_USEC"));
}

TEST_F(notify, another_process_watchdog_is_not_ours)
{
	setenv("WATCHDOG_PID", "1", 1);
	ASSERT_EQ(0, notify_open(&self->notify));
	EXPECT_EQ(0, self->notify.watchdog);
}

/* It must not wait for a manager that does not read. */
TEST_F(notify, a_manager_that_hangs_is_no_reason_to_wait)
{
	int error = 0;

	ASSERT_EQ(0, notify_open(&self->notify));
	for (int i = 0; i < 100000 && !error; i++)
		error = notify_send(&self->notify, "WATCHDOG=1");
	EXPECT_EQ(-EAGAIN, error);
}

TEST(without_a_manager_nothing_is_told)
{
	struct notify notify;

	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	ASSERT_EQ(0, notify_open(&notify));
	EXPECT_EQ(0, notify_send(&notify, "READY=1"));
	EXPECT_EQ(0, notify.watchdog);
}

TEST(nonsense_in_the_environment_is_told)
{
	static const char *const names[] = { "relative", "@", "/" };
	static const char *const times[] = { "-1", "10s", "99999999999999999999", "18446744073709551615" };
	char path[200] = "/";
	struct notify notify;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		setenv("NOTIFY_SOCKET", names[i], 1);
		EXPECT_EQ(-EINVAL, notify_open(&notify));
	}
	memset(path + 1, 'x', 150);
	setenv("NOTIFY_SOCKET", path, 1);
	EXPECT_EQ(-EINVAL, notify_open(&notify));
	setenv("NOTIFY_SOCKET", "/nonexistent/socket", 1);
	EXPECT_EQ(-ENOENT, notify_open(&notify));
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		setenv("WATCHDOG_USEC", times[i], 1);
		EXPECT_EQ(0, notify_open(&notify));
		EXPECT_EQ(0, notify.watchdog);
	}
}

TEST_HARNESS_MAIN
