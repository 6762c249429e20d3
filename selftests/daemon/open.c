// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows what of whoever starts flowtapd does not become its own, and who may read its metrics
 * where they are as flowtapd.conf(5) says: at a socket its group, at a port everybody; and that
 * segments which go at the start are told.
 */
#include "run.h"
#include "store_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../tools/common/tool.h"
#include "folder.h"
#include "logged.h"
#include "support/kselftest_harness.h"

/* A shell's `trap '' CHLD` goes through exec: wait then knows of no child. */
TEST(who_ignored_children_does_not_make_it_ignore_its_own)
{
	static const char text[] = "[service]\nuser = no-such-user-of-flowtap\n";
	char path[] = "/tmp/flowtap-open-XXXXXX";
	static struct run run;
	struct sigaction action;
	int fd = mkstemp(path);

	ASSERT_LE(0, fd);
	ASSERT_EQ((ssize_t)sizeof(text) - 1, write(fd, text, sizeof(text) - 1));
	close(fd);
	signal(SIGCHLD, SIG_IGN);
	/* It comes no further than to that. */
	EXPECT_EQ(STATUS_ERROR, run_open(&run, path));
	run_close(&run);
	ASSERT_EQ(0, sigaction(SIGCHLD, NULL, &action));
	EXPECT_EQ(SIG_DFL, action.sa_handler);
	unlink(path);
}

/* --- Metrics, asked for by another user. --- */

#define GROUP 3			/* sys, on every Debian */
#define OTHER 60000		/* nobody's number */

enum { HEARD, REFUSED, SILENT, CANNOT };

/* Who asks is another user before flowtapd is: later nobody here may become one. */
struct asker {
	pid_t pid;
	int go;
};

static int ask(const struct sockaddr *address, socklen_t size)
{
	static const char request[] = "GET /metrics HTTP/1.0\r\n\r\n";
	char text[65536];
	size_t used = 0;
	ssize_t n;
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(fd, address, size))
		return errno == EACCES ? REFUSED : CANNOT;
	if (write(fd, request, sizeof(request) - 1) != sizeof(request) - 1)
		return SILENT;
	while ((n = read(fd, text + used, sizeof(text) - 1 - used)) > 0)
		used += (size_t)n;
	text[used] = 0;
	return !strncmp(text, "HTTP/1.", 7) && strstr(text, " 200 ") && strstr(text, "\n# EOF\n") ?
		HEARD : SILENT;
}

static struct asker start_asker(bool member, const struct sockaddr *address, socklen_t size)
{
	const gid_t group = GROUP;
	struct asker asker;
	int ends[2];
	char go;

	if (pipe2(ends, O_CLOEXEC))
		abort();
	asker.go = ends[1];
	asker.pid = fork();
	if (!asker.pid) {
		close(ends[1]);
		if (read(ends[0], &go, 1) != 1 || setgroups(member, &group) || setgid(OTHER) ||
		    setuid(OTHER))
			_exit(CANNOT);
		_exit(ask(address, size));
	}
	close(ends[0]);
	return asker;
}

/* Its answer, and flowtapd serves meanwhile. */
static int let_ask(struct run *run, struct asker *asker)
{
	struct pollfd wait = { .fd = server_fd(run->metrics), .events = POLLIN };
	int status;

	if (write(asker->go, "", 1) != 1)
		abort();
	close(asker->go);
	while (!waitpid(asker->pid, &status, WNOHANG)) {
		poll(&wait, 1, 1);
		server_serve(run->metrics, number_now());
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : CANNOT;
}

FIXTURE(metrics)
{
	struct run run;
	char directory[64];
	char path[80];
	struct sockaddr_un address;
	struct asker other, member;
	unsigned long long free;	/* bytes that others are to find so */
};

FIXTURE_SETUP(metrics)
{
	strcpy(self->directory, "/tmp/flowtap-open-XXXXXX");
	ASSERT_TRUE(mkdtemp(self->directory));
	ASSERT_EQ(0, chmod(self->directory, 0755));
	snprintf(self->path, sizeof(self->path), "%s/conf", self->directory);
	self->address.sun_family = AF_UNIX;
	snprintf(self->address.sun_path, sizeof(self->address.sun_path), "%s/metrics", self->directory);
}

FIXTURE_TEARDOWN(metrics)
{
	folder_remove(self->directory);
}

/* As far as it comes where there may be no device: sockets are there before. */
static bool start(FIXTURE_DATA(metrics) *self, const char *metrics, const char *group)
{
	FILE *file = fopen(self->path, "w");

	if (!file)
		return false;
	fprintf(file, "[segments]\ndirectory = %s\nquota = 0\nfree = %llu\nimages = no\n"
		"[control]\nsocket = %s/control\nmetrics = %s\ngroup = %s\n[service]\nuser = root\n",
		self->directory, self->free, self->directory, metrics, group);
	fclose(file);
	run_open(&self->run, self->path);
	return self->run.metrics;
}

static void ask_at_socket(struct __test_metadata *_metadata, FIXTURE_DATA(metrics) *self,
			  const char *group, int expected)
{
	self->other = start_asker(false, (struct sockaddr *)&self->address, sizeof(self->address));
	self->member = start_asker(true, (struct sockaddr *)&self->address, sizeof(self->address));
	ASSERT_TRUE(start(self, self->address.sun_path, group));
	EXPECT_EQ(REFUSED, let_ask(&self->run, &self->other));
	EXPECT_EQ(expected, let_ask(&self->run, &self->member));
	run_close(&self->run);
}

TEST_F(metrics, a_socket_is_for_its_group)
{
	const struct group *group = getgrgid(GROUP);
	char name[64];

	if (getuid() || !group)
		SKIP(return, "only root can be another user, and there has to be a group %d", GROUP);
	snprintf(name, sizeof(name), "%s", group->gr_name);
	ask_at_socket(_metadata, self, name, HEARD);
}

/* Else the end of each segment would hold up all the others. */
TEST_F(metrics, the_disk_is_waited_for_by_a_thread)
{
	ASSERT_TRUE(start(self, self->address.sun_path, ""));
	EXPECT_NE(NULL, self->run.syncer);
	EXPECT_EQ(self->run.syncer, self->run.store->syncer);
	run_close(&self->run);
}

/* The disk has less than is to stay free. */
TEST_F(metrics, a_segment_that_goes_at_the_start_is_told_and_counted)
{
	struct logged logged;
	char path[128];

	snprintf(path, sizeof(path), "%s/0000000001-20261122T120000Z.ftap", self->directory);
	ASSERT_EQ(0, close(open(path, O_WRONLY | O_CREAT, 0600)));
	self->free = INT64_MAX;
	logged_open(&logged);
	ASSERT_TRUE(start(self, self->address.sun_path, ""));
	EXPECT_TRUE(strstr(logged_since(&logged),
			   "level=info event=segments-deleted count=1 bytes_left=0\n"));
	logged_close(&logged);
	EXPECT_EQ(1, self->run.figures.segments_deleted);
	run_close(&self->run);
}

TEST_F(metrics, a_socket_of_no_group_is_for_nobody_else)
{
	if (getuid())
		SKIP(return, "only root can be another user");
	ask_at_socket(_metadata, self, "", REFUSED);
}

TEST_F(metrics, a_port_is_for_everybody)
{
	/* An address of the loopback that no other test has. */
	const uint32_t address = 0x7f400000 | (uint32_t)getpid() % 0x400000;
	const struct sockaddr_in port = {
		.sin_family = AF_INET, .sin_port = htons(9464), .sin_addr.s_addr = htonl(address),
	};
	char text[32], host[INET_ADDRSTRLEN];

	if (getuid())
		SKIP(return, "only root can be another user");
	ASSERT_TRUE(inet_ntop(AF_INET, &port.sin_addr, host, sizeof(host)));
	snprintf(text, sizeof(text), "%s:9464", host);
	self->other = start_asker(false, (const struct sockaddr *)&port, sizeof(port));
	ASSERT_TRUE(start(self, text, ""));
	EXPECT_EQ(HEARD, let_ask(&self->run, &self->other));
	run_close(&self->run);
}

TEST_HARNESS_MAIN
