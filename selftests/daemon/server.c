// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that whoever asks is answered, by a path and by a port of the loopback; that nobody who is
 * slow, greedy or rude keeps others from it; and that the socket says who it is that asks.
 */
#include "server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/kselftest_harness.h"

#define SECOND 1000000000ULL

FIXTURE(server)
{
	char directory[64];
	char path[80];
	struct server *server;
	struct server_peer peer;
	char asked[SERVER_REQUEST + 1];
	size_t repeat;			/* of the answer */
	unsigned int rate;
	unsigned int answers;
	unsigned int closed;		/* of those that stayed */
	uint64_t now;
};

static size_t whole_line(const char *text, size_t size)
{
	const char *end = memchr(text, '\n', size);

	return end ? (size_t)(end - text) : 0;
}

static bool answer(void *argument, const struct server_peer *peer, char *request, FILE *reply)
{
	FIXTURE_DATA(server) *self = argument;

	self->peer = *peer;
	self->answers++;
	snprintf(self->asked, sizeof(self->asked), "%s", request);
	for (size_t i = 0; i < self->repeat; i++)
		fprintf(reply, "you said %s\n", request);
	return !strcmp(request, "stay");
}

static void closed(void *argument, const struct server_peer *peer)
{
	FIXTURE_DATA(server) *self = argument;

	self->closed++;
	self->peer = *peer;
}

FIXTURE_SETUP(server)
{
	strcpy(self->directory, "/tmp/flowtap-server-XXXXXX");
	ASSERT_TRUE(mkdtemp(self->directory));
	snprintf(self->path, sizeof(self->path), "%s/socket", self->directory);
	self->server = NULL;
	self->repeat = 1;
	self->rate = self->answers = 0;
	self->closed = 0;
	self->now = SECOND;
}

FIXTURE_TEARDOWN(server)
{
	server_close(self->server);
	unlink(self->path);
	rmdir(self->directory);
}

static int open_server(FIXTURE_DATA(server) *self, const char *address, const char *group)
{
	const struct server_options options = {
		.address = address, .group = group, .whole = whole_line, .answer = answer,
		.closed = closed, .argument = self, .rate = self->rate,
	};

	return server_open(&options, &self->server);
}

static int connect_path(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(address.sun_path, path);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		close(fd);
		return -errno;
	}
	return fd;
}

/* Until it has nothing to do, or a while. */
static void serve(FIXTURE_DATA(server) *self)
{
	struct pollfd wait = { .fd = server_fd(self->server), .events = POLLIN };

	while (poll(&wait, 1, 50) == 1)
		server_serve(self->server, self->now);
}

static ssize_t hear_all(int fd, char *text, size_t capacity)
{
	size_t n = 0;
	ssize_t got;

	while (n < capacity && (got = recv(fd, text + n, capacity - n, MSG_DONTWAIT)) > 0)
		n += (size_t)got;
	return (ssize_t)n;
}

TEST_F(server, one_asks_and_is_answered)
{
	char heard[100] = "";
	struct stat stat_of;
	int fd;

	ASSERT_EQ(0, open_server(self, self->path, NULL));
	ASSERT_EQ(0, stat(self->path, &stat_of));
	EXPECT_EQ(0600, stat_of.st_mode & 0777);
	fd = connect_path(self->path);
	ASSERT_LE(0, fd);
	/* In two pieces. */
	ASSERT_EQ(3, write(fd, "sta", 3));
	serve(self);
	EXPECT_TRUE(server_busy(self->server));
	EXPECT_EQ(0, hear_all(fd, heard, sizeof(heard)));
	ASSERT_EQ(10, write(fd, "tus\nmore\n\n", 10));
	serve(self);
	EXPECT_STREQ("status", self->asked);
	hear_all(fd, heard, sizeof(heard) - 1);
	EXPECT_STREQ("you said status\n", heard);
	EXPECT_FALSE(server_busy(self->server));
	EXPECT_TRUE(self->peer.known && self->peer.owner && self->peer.member);
	EXPECT_EQ(getpid(), self->peer.pid);
	close(fd);
}

TEST_F(server, the_loopback_is_a_place_as_well)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	char name[32], heard[100] = "";
	int fd = -1;

	/* Whatever port is free. */
	for (unsigned int port = 40000 + getpid() % 20000; port < 65535; port++) {
		snprintf(name, sizeof(name), "127.0.0.1:%u", port);
		if (open_server(self, name, NULL))
			continue;
		address.sin_port = htons(port);
		fd = socket(AF_INET, SOCK_STREAM, 0);
		ASSERT_EQ(0, connect(fd, (struct sockaddr *)&address, sizeof(address)));
		break;
	}
	ASSERT_LE(0, fd);
	ASSERT_EQ(6, write(fd, "hello\n", 6));
	serve(self);
	hear_all(fd, heard, sizeof(heard) - 1);
	EXPECT_STREQ("you said hello\n", heard);
	EXPECT_FALSE(self->peer.known || self->peer.owner || self->peer.member);
	close(fd);
}

TEST_F(server, addresses_that_cannot_be_are_refused)
{
	static const char *const names[] = {
		"", "relative", "0.0.0.0:9464", "10.0.0.1:9464", "127.0.0.1", "127.0.0.1:",
		"127.0.0.1:99999", "127.0.0.1:94x", ":9464", "[::]:9464", "localhost:9464",
	};
	char path[200] = "/";

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		EXPECT_EQ(-EINVAL, open_server(self, names[i], NULL))
			TH_LOG("%s", names[i]);
	}
	memset(path + 1, 'x', 150);
	EXPECT_EQ(-EINVAL, open_server(self, path, NULL));
	EXPECT_EQ(-ENOENT, open_server(self, "/nonexistent/socket", NULL));
	EXPECT_EQ(-ESRCH, open_server(self, self->path, "no-such-group"));
}

TEST_F(server, a_stale_socket_is_replaced_and_nothing_else)
{
	struct server *first;
	int fd;

	ASSERT_EQ(0, open_server(self, self->path, NULL));
	first = self->server;
	EXPECT_EQ(-EADDRINUSE, open_server(self, self->path, NULL));
	server_close(first);
	EXPECT_NE(0, access(self->path, F_OK));
	/* As a daemon that was killed leaves it. */
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	strcpy(address.sun_path, self->path);
	ASSERT_EQ(0, bind(fd, (struct sockaddr *)&address, sizeof(address)));
	close(fd);
	ASSERT_EQ(0, open_server(self, self->path, NULL));
	server_close(self->server);
	self->server = NULL;
	close(open(self->path, O_CREAT | O_WRONLY, 0600));
	EXPECT_EQ(-EEXIST, open_server(self, self->path, NULL));
	EXPECT_EQ(0, access(self->path, F_OK));
}

TEST_F(server, long_answers_arrive_whole_and_too_long_ones_not_at_all)
{
	const size_t size = 900000;
	char *heard = malloc(2 * SERVER_ANSWER);
	size_t n = 0;
	int fd;

	ASSERT_TRUE(heard);
	ASSERT_EQ(0, open_server(self, self->path, NULL));
	self->repeat = size / 11;
	fd = connect_path(self->path);
	ASSERT_EQ(2, write(fd, "x\n", 2));
	for (int i = 0; i < 1000 && (i == 0 || server_busy(self->server)); i++) {
		serve(self);
		n += hear_all(fd, heard + n, 2 * SERVER_ANSWER - n);
	}
	n += hear_all(fd, heard + n, 2 * SERVER_ANSWER - n);
	EXPECT_EQ(self->repeat * 11, n);
	close(fd);
	self->repeat = 2 * SERVER_ANSWER / 11;
	fd = connect_path(self->path);
	ASSERT_EQ(2, write(fd, "x\n", 2));
	serve(self);
	EXPECT_EQ(0, hear_all(fd, heard, SERVER_ANSWER));
	EXPECT_FALSE(server_busy(self->server));
	close(fd);
	free(heard);
}

TEST_F(server, who_asks_too_much_is_shown_out)
{
	static char text[SERVER_REQUEST + 10];
	char heard[10];
	int fd;

	ASSERT_EQ(0, open_server(self, self->path, NULL));
	fd = connect_path(self->path);
	memset(text, 'x', sizeof(text));
	ASSERT_EQ((ssize_t)sizeof(text), write(fd, text, sizeof(text)));
	serve(self);
	EXPECT_FALSE(server_busy(self->server));
	EXPECT_EQ(0, recv(fd, heard, sizeof(heard), MSG_DONTWAIT));
	EXPECT_STREQ("", self->asked);
	close(fd);
	/* And who says nothing and goes. */
	fd = connect_path(self->path);
	close(fd);
	serve(self);
	EXPECT_FALSE(server_busy(self->server));
}

/*
 * All places are taken by some who say nothing: the next one waits, no longer than they may stay.
 */
TEST_F(server, who_says_nothing_has_to_go)
{
	int idle[SERVER_CLIENTS], fd;
	char heard[100] = "";

	ASSERT_EQ(0, open_server(self, self->path, NULL));
	for (int i = 0; i < SERVER_CLIENTS; i++) {
		idle[i] = connect_path(self->path);
		ASSERT_LE(0, idle[i]);
	}
	serve(self);
	fd = connect_path(self->path);
	ASSERT_EQ(6, write(fd, "hello\n", 6));
	serve(self);
	EXPECT_EQ(0, hear_all(fd, heard, sizeof(heard) - 1));
	self->now += (SERVER_SECONDS + 1) * SECOND;
	server_serve(self->server, self->now);
	serve(self);
	hear_all(fd, heard, sizeof(heard) - 1);
	EXPECT_STREQ("you said hello\n", heard);
	for (int i = 0; i < SERVER_CLIENTS; i++)
		close(idle[i]);
	close(fd);
}

/* Whoever connects again and again takes no more time than that. */
TEST_F(server, no_more_are_accepted_in_a_second_than_its_rate)
{
	struct pollfd wait;
	char heard[100] = "";
	int fds[8];

	self->rate = 3;
	ASSERT_EQ(0, open_server(self, self->path, NULL));
	for (int i = 0; i < 8; i++) {
		fds[i] = connect_path(self->path);
		ASSERT_LE(0, fds[i]);
		ASSERT_EQ(3, write(fds[i], "hi\n", 3));
	}
	serve(self);
	EXPECT_EQ(3, self->answers);
	/* Who waits does not wake it. */
	self->now += SECOND - 1;
	server_serve(self->server, self->now);
	wait = (struct pollfd){ .fd = server_fd(self->server), .events = POLLIN };
	EXPECT_EQ(0, poll(&wait, 1, 0));
	EXPECT_EQ(3, self->answers);
	for (unsigned int expected = 6; expected <= 9; expected += 3) {
		self->now += SECOND;
		server_serve(self->server, self->now);
		serve(self);
		EXPECT_EQ(expected < 8 ? expected : 8, self->answers);
	}
	hear_all(fds[7], heard, sizeof(heard) - 1);
	EXPECT_STREQ("you said hi\n", heard);
	for (int i = 0; i < 8; i++)
		close(fds[i]);
}

/* Nor does who cannot be accepted, as there are no more files. */
TEST_F(server, who_finds_no_file_left_waits_and_wakes_nobody)
{
	struct pollfd wait;
	struct rlimit limit, least;
	char heard[100] = "";
	int fd, next;

	ASSERT_EQ(0, open_server(self, self->path, NULL));
	fd = connect_path(self->path);
	ASSERT_LE(0, fd);
	ASSERT_EQ(3, write(fd, "hi\n", 3));
	next = dup(fd);
	close(next);
	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &limit));
	least = (struct rlimit){ (rlim_t)next, limit.rlim_max };
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &least));
	server_serve(self->server, self->now);
	wait = (struct pollfd){ .fd = server_fd(self->server), .events = POLLIN };
	EXPECT_EQ(0, poll(&wait, 1, 0));
	server_serve(self->server, self->now + SECOND - 1);
	EXPECT_EQ(0, poll(&wait, 1, 0));
	EXPECT_EQ(0, self->answers);
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
	self->now += SECOND;
	server_serve(self->server, self->now);
	serve(self);
	hear_all(fd, heard, sizeof(heard) - 1);
	EXPECT_STREQ("you said hi\n", heard);
	close(fd);
}

/* Who does not read what it asked for. */
TEST_F(server, who_does_not_listen_has_to_go)
{
	int fd;

	ASSERT_EQ(0, open_server(self, self->path, NULL));
	self->repeat = SERVER_ANSWER / 12;
	fd = connect_path(self->path);
	ASSERT_EQ(2, write(fd, "x\n", 2));
	serve(self);
	EXPECT_TRUE(server_busy(self->server));
	self->now += (SERVER_SECONDS + 1) * SECOND;
	server_serve(self->server, self->now);
	EXPECT_FALSE(server_busy(self->server));
	close(fd);
}

/* After its answer it may stay, for as long as it likes, and when it goes that is told. */
TEST_F(server, one_that_stays_is_missed_when_it_goes)
{
	char heard[100] = "", more[5000];
	int fd, status;
	pid_t pid;

	ASSERT_EQ(0, open_server(self, self->path, NULL));
	fd = connect_path(self->path);
	ASSERT_EQ(5, write(fd, "stay\n", 5));
	serve(self);
	hear_all(fd, heard, sizeof(heard) - 1);
	EXPECT_STREQ("you said stay\n", heard);
	self->now += 1000 * SERVER_SECONDS * SECOND;
	/* What it says is not heard, however much it is. */
	memset(more, '\n', sizeof(more));
	ASSERT_EQ((ssize_t)sizeof(more), write(fd, more, sizeof(more)));
	serve(self);
	server_serve(self->server, self->now);
	EXPECT_TRUE(server_busy(self->server));
	EXPECT_EQ(0, self->closed);
	self->peer.pid = 0;
	close(fd);
	serve(self);
	EXPECT_EQ(1, self->closed);
	EXPECT_EQ(getpid(), self->peer.pid);
	EXPECT_FALSE(server_busy(self->server));
	/* One that is killed goes as well. */
	self->asked[0] = 0;
	pid = fork();
	if (!pid) {
		fd = connect_path(self->path);
		if (fd < 0 || write(fd, "stay\n", 5) != 5)
			_exit(1);
		for (;;)
			pause();
	}
	do {
		serve(self);
	} while (strcmp(self->asked, "stay"));
	EXPECT_EQ(1, self->closed);
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	serve(self);
	EXPECT_EQ(2, self->closed);
	EXPECT_EQ(pid, self->peer.pid);
}

/* Nor is one forgotten that goes before it has its answer, or that the server leaves. */
TEST_F(server, one_that_stays_is_missed_however_it_goes)
{
	int fd;

	ASSERT_EQ(0, open_server(self, self->path, NULL));
	self->repeat = SERVER_ANSWER / 20;
	fd = connect_path(self->path);
	ASSERT_EQ(5, write(fd, "stay\n", 5));
	serve(self);
	EXPECT_TRUE(server_busy(self->server));
	close(fd);
	serve(self);
	EXPECT_EQ(1, self->closed);
	/* It does not take its answer. */
	fd = connect_path(self->path);
	ASSERT_EQ(5, write(fd, "stay\n", 5));
	serve(self);
	self->now += (SERVER_SECONDS + 1) * SECOND;
	server_serve(self->server, self->now);
	EXPECT_EQ(2, self->closed);
	close(fd);
	/* The answer is longer than one may be. */
	self->repeat = SERVER_ANSWER;
	fd = connect_path(self->path);
	ASSERT_EQ(5, write(fd, "stay\n", 5));
	serve(self);
	EXPECT_EQ(3, self->closed);
	close(fd);
	self->repeat = 1;
	fd = connect_path(self->path);
	ASSERT_EQ(5, write(fd, "stay\n", 5));
	serve(self);
	EXPECT_EQ(3, self->closed);
	server_close(self->server);
	self->server = NULL;
	EXPECT_EQ(4, self->closed);
	close(fd);
}

/* Another user: without the group it does not come in, with it it is a member. */
TEST_F(server, groups_are_looked_at)
{
	const gid_t group = 3;		/* sys, on every Debian */
	struct group *found = getgrgid(group);
	char name[64];
	int status;
	pid_t pid;

	if (getuid() || !found || chmod(self->directory, 0755))
		SKIP(return, "only root can be another user");
	snprintf(name, sizeof(name), "%s", found->gr_name);
	ASSERT_EQ(0, open_server(self, self->path, name));
	for (int member = 0; member < 2; member++) {
		pid = fork();
		if (!pid) {
			int fd;

			if (setgroups(member, &group) || setgid(60000) || setuid(60000))
				_exit(77);
			fd = connect_path(self->path);
			_exit(fd == -EACCES ? 1 : fd < 0 || write(fd, "hi\n", 3) != 3 ? 2 : 0);
		}
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		if (WEXITSTATUS(status) == 77)
			SKIP(return, "only root can be another user");
		EXPECT_EQ(!member, WEXITSTATUS(status));
	}
	serve(self);
	EXPECT_STREQ("hi", self->asked);
	EXPECT_TRUE(self->peer.known && self->peer.member);
	EXPECT_FALSE(self->peer.owner);
	EXPECT_EQ(60000, self->peer.uid);
}

TEST_HARNESS_MAIN
