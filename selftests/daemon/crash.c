// SPDX-License-Identifier: GPL-2.0-only
/* Shows what is taken for a crash of all that a socket may bring. vm/daemon.test has real ones. */
#include "../../daemon/crash.h"

#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "support/kselftest_harness.h"

struct datagram {
	struct nlmsghdr head;
	struct cn_msg message;
	struct proc_event event;
} __attribute__((packed));

static struct datagram told(void)
{
	struct datagram datagram = {
		.head = { .nlmsg_len = sizeof(datagram), .nlmsg_type = NLMSG_DONE },
		.message = { .id = { CN_IDX_PROC, CN_VAL_PROC }, .len = sizeof(datagram.event) },
		.event = { .what = PROC_EVENT_COREDUMP, .timestamp_ns = 5000000007 },
	};

	datagram.event.event_data.coredump.process_tgid = 41;
	datagram.event.event_data.coredump.process_pid = 43;
	return datagram;
}

TEST(a_crash_is_told)
{
	struct datagram datagram = told();
	struct crash crash;

	ASSERT_TRUE(crash_parse(&datagram, sizeof(datagram), &crash));
	EXPECT_EQ(5000000007, crash.time);
	EXPECT_EQ(41, crash.pid);
	EXPECT_EQ(43, crash.tid);
	EXPECT_EQ(0, crash.address);
}

TEST(nothing_else_is_one)
{
	struct datagram datagram = told();
	struct crash crash;
	uint8_t *bytes;

	/* Cut anywhere, in memory of just that size. */
	for (size_t size = 0; size < sizeof(datagram); size++) {
		bytes = malloc(size + 1);
		memcpy(bytes + 1, &datagram, size);
		EXPECT_FALSE(crash_parse(bytes + 1, size, &crash));
		free(bytes);
	}
	datagram.event.what = PROC_EVENT_EXIT;
	EXPECT_FALSE(crash_parse(&datagram, sizeof(datagram), &crash));
	datagram = told();
	datagram.head.nlmsg_type = NLMSG_ERROR;
	EXPECT_FALSE(crash_parse(&datagram, sizeof(datagram), &crash));
	datagram = told();
	datagram.message.id.idx++;
	EXPECT_FALSE(crash_parse(&datagram, sizeof(datagram), &crash));
	datagram = told();
	datagram.message.len = 4;
	EXPECT_FALSE(crash_parse(&datagram, sizeof(datagram), &crash));
}

/* Before Linux 6.6 each fork, exec and exit of the machine would come. */
TEST(the_kernel_passes_on_nothing_else)
{
	const unsigned int others[] = { PROC_EVENT_NONE, PROC_EVENT_FORK, PROC_EVENT_EXEC,
					PROC_EVENT_COMM, PROC_EVENT_EXIT };
	struct datagram datagram = told();
	int fds[2];

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, fds));
	ASSERT_EQ(0, crash_filter(fds[0]));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		datagram.event.what = others[i];
		send(fds[1], &datagram, sizeof(datagram), 0);
		EXPECT_GT(0, recv(fds[0], &datagram, sizeof(datagram), 0));
	}
	send(fds[1], "short", 5, 0);
	EXPECT_GT(0, recv(fds[0], &datagram, sizeof(datagram), 0));
	datagram = told();
	ASSERT_EQ(sizeof(datagram), send(fds[1], &datagram, sizeof(datagram), 0));
	memset(&datagram, 0, sizeof(datagram));
	EXPECT_EQ(sizeof(datagram), recv(fds[0], &datagram, sizeof(datagram), 0));
	EXPECT_EQ(PROC_EVENT_COREDUMP, datagram.event.what);
	close(fds[0]);
	close(fds[1]);
}

/* Each field is its number in proc_pid_stat(5), where kstkeip is 30. */
TEST(where_it_was_is_the_30th_field)
{
	char line[512] = "1 (a) b) 7 (c";

	EXPECT_EQ(0, crash_address(""));
	EXPECT_EQ(0, crash_address("1 (a) S"));
	strcat(line, ") S");
	for (int i = 4; i <= 52; i++) {
		snprintf(line + strlen(line), sizeof(line) - strlen(line), " %d", i);
		EXPECT_EQ(i < 30 ? 0 : 30, crash_address(line));
	}
	EXPECT_EQ(UINT64_MAX, crash_address("1 (a) S 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 "
					    "24 25 26 27 28 29 18446744073709551615 31"));
}

/*
 * A socket whose address, read as that of netlink, has this as its nl_pid: after the family come
 * two bytes, then nl_pid. An address in the abstract name space is any bytes after a 0.
 */
static int open_sender(uint32_t pid)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	const pid_t own = getpid();

	memcpy(address.sun_path + 2, &pid, sizeof(pid));
	/* So that each test has its own. */
	memcpy(address.sun_path + 6, &own, sizeof(own));
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, offsetof(struct sockaddr_un, sun_path) + 10))
		abort();
	return fd;
}

static uint64_t clock_of(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

TEST(the_kernel_alone_is_believed_and_its_time_is_that_of_records)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	socklen_t size = sizeof(to);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	int others = open_sender(7), kernel = open_sender(0);
	const uint64_t begun = clock_of(CLOCK_MONOTONIC_RAW), now = clock_of(CLOCK_MONOTONIC);
	struct datagram datagram = told();
	struct crash crash;
	uint64_t ended;

	/* Any name: it is given one. */
	ASSERT_EQ(0, bind(fd, (struct sockaddr *)&to, sizeof(to.sun_family)));
	ASSERT_EQ(0, getsockname(fd, (struct sockaddr *)&to, &size));
	EXPECT_EQ(0, crash_next(fd, &crash));
	datagram.event.timestamp_ns = now / 2;
	datagram.event.event_data.coredump.process_tgid = getpid();
	datagram.event.event_data.coredump.process_pid = getpid();
	ASSERT_EQ(sizeof(datagram), sendto(others, &datagram, sizeof(datagram), 0,
					   (struct sockaddr *)&to, size));
	EXPECT_EQ(0, crash_next(fd, &crash));
	/* What is none, or another's, in between. */
	ASSERT_EQ(3, sendto(kernel, "abc", 3, 0, (struct sockaddr *)&to, size));
	ASSERT_EQ(sizeof(datagram), sendto(others, &datagram, sizeof(datagram), 0,
					   (struct sockaddr *)&to, size));
	ASSERT_EQ(sizeof(datagram), sendto(kernel, &datagram, sizeof(datagram), 0,
					   (struct sockaddr *)&to, size));
	ASSERT_EQ(1, crash_next(fd, &crash));
	ended = clock_of(CLOCK_MONOTONIC_RAW);
	EXPECT_EQ(getpid(), crash.pid);
	/* It lives. */
	EXPECT_EQ(0, crash.address);
	/* As long ago by either clock, but for the time that this test took. */
	EXPECT_LE(begun, crash.time + (now - now / 2) + (ended - begun));
	EXPECT_GE(ended + (ended - begun), crash.time + (now - now / 2));
	EXPECT_EQ(0, crash_next(fd, &crash));
	close(fd);
	EXPECT_EQ(-EBADF, crash_next(fd, &crash));
	close(others);
	close(kernel);
}

TEST_HARNESS_MAIN
