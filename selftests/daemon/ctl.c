// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows what `flowtap ctl` makes of answers: of a daemon's, and of what nobody should say; and that
 * it tells why there is none, and what to do.
 */
#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../tools/common/control.h"
#include "../../tools/common/tool.h"
#include "support/kselftest_harness.h"

static const char status[] =
	"{\"ok\": true, \"state\": \"recording\", \"version\": \"0.1\", \"pid\": 42, "
	"\"source\": \"ctr\", \"modes\": [\"user\", \"kernel\"], "
	"\"configuration\": \"/etc/x\\u001b[31m.conf\", \"directory\": \"/seg\", "
	"\"segment\": \"7-a.ftap\", \"segment_bytes\": 1500000, \"share\": 0.5, \"duty\": 0.005, \"own_cpu\": 0.0123, "
	"\"cpu_budget\": 0.01, \"loss\": 0, \"loss_budget\": 0.001, \"resident_bytes\": 2000, "
	"\"memory_budget_bytes\": 64000000, \"seconds\": 11530.2, \"segments\": 1234, \"segments_deleted\": 5, "
	"\"segments_bytes\": 7, \"snapshots\": 0, \"decode_waiting\": 2, "
	"\"decode_lag_seconds\": 61.5, \"sideband_lost\": 0}\n";

static const char stats[] =
	"{\"ok\": true, \"segments\": 1, \"cpus\": [{\"cpu\": 0, \"bytes\": 1000, \"records\": 1234, "
	"\"lost_bytes\": 0, \"gap_count\": 0, \"ring_bytes\": 8192, \"high_water_bytes\": 2048, "
	"\"gaps\": {}, \"gap_bytes\": {}},"
	"{\"cpu\": 31, \"bytes\": 2, \"records\": 3, \"lost_bytes\": 4096, \"gap_count\": 4, "
	"\"ring_bytes\": 0, \"high_water_bytes\": 0, \"gaps\": {\"ring_full\": 3, \"offline\": 1}, "
	"\"gap_bytes\": {\"ring_full\": 4096}}]}\n";

FIXTURE(ctl)
{
	char directory[64];
	char path[80];
	char out[65536], err[65536];
	pid_t server;
	int listener;
};

FIXTURE_SETUP(ctl)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	strcpy(self->directory, "/tmp/flowtap-ctl-XXXXXX");
	ASSERT_TRUE(mkdtemp(self->directory));
	snprintf(self->path, sizeof(self->path), "%s/socket", self->directory);
	strcpy(address.sun_path, self->path);
	self->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ASSERT_EQ(0, bind(self->listener, (struct sockaddr *)&address, sizeof(address)));
	ASSERT_EQ(0, listen(self->listener, 4));
	self->server = 0;
	signal(SIGPIPE, SIG_IGN);
}

static void end_server(FIXTURE_DATA(ctl) *self)
{
	if (self->server <= 0)
		return;
	kill(self->server, SIGKILL);
	waitpid(self->server, NULL, 0);
	self->server = 0;
}

FIXTURE_TEARDOWN(ctl)
{
	end_server(self);
	close(self->listener);
	unlink(self->path);
	rmdir(self->directory);
}

/* One that answers each line with this text, so many times, and then stays or closes. */
static void serve(FIXTURE_DATA(ctl) *self, const char *text, size_t size, unsigned int times,
		  bool stays)
{
	char request[100];

	end_server(self);
	self->server = fork();
	if (self->server)
		return;
	for (;;) {
		int fd = accept(self->listener, NULL, NULL);

		if (read(fd, request, sizeof(request)) <= 0)
			_exit(1);
		for (unsigned int i = 0; i < times && write(fd, text, size) > 0; i++)
			;
		while (stays && read(fd, request, sizeof(request)) > 0)
			;
		close(fd);
	}
}

static void read_back(FILE *file, char *text, size_t capacity)
{
	size_t n;

	rewind(file);
	n = fread(text, 1, capacity - 1, file);
	text[n] = 0;
	fclose(file);
}

/* As the command line would. Its exit status. */
static int ctl(FIXTURE_DATA(ctl) *self, const char *command, const char *option)
{
	char *arguments[] = { "flowtap ctl", (char *)command, "--socket", self->path, (char *)option,
			      NULL };
	FILE *out = tmpfile(), *err = tmpfile();
	int result = -1;
	pid_t pid;

	fflush(stdout);
	fflush(stderr);
	pid = fork();
	if (!pid) {
		dup2(fileno(out), STDOUT_FILENO);
		dup2(fileno(err), STDERR_FILENO);
		result = ctl_command(option ? 5 : 4, arguments);
		fflush(stdout);
		_exit(result);
	}
	waitpid(pid, &result, 0);
	read_back(out, self->out, sizeof(self->out));
	read_back(err, self->err, sizeof(self->err));
	return WIFEXITED(result) ? WEXITSTATUS(result) : -1;
}

static int answer(FIXTURE_DATA(ctl) *self, const char *command, const char *option,
		  const char *text)
{
	serve(self, text, strlen(text), 1, false);
	return ctl(self, command, option);
}

TEST_F(ctl, status_is_for_people)
{
	static const char *const lines[] = {
		"flowtapd 0.1 (PID 42): recording\n",
		"  records       user,kernel mode by ctr, for 3 h 12 min\n",
		"  into          7-a.ftap (1.5 MB) in /seg\n",
		"  share         50.00 % of what is configured\n",
		"  duty          0.50 % of the time\n",
		"  own CPU       1.23 % of one CPU (budget 1.00 %)\n",
		"  loss          0.00 % of what came in the last second (budget 0.10 %)\n",
		"  memory        2.0 kB (budget 64.0 MB)\n",
		"  segments      1,234 finished, 5 deleted, 7 bytes on the disk\n",
		"  decode        2 wait, the oldest for 1 min 1 s\n",
		"  configuration /etc/x\\x1b[31m.conf\n",
	};

	EXPECT_EQ(STATUS_OK, answer(self, "status", NULL, status));
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		EXPECT_TRUE(strstr(self->out, lines[i]))
			TH_LOG("%s in %s", lines[i], self->out);
	}
	EXPECT_STREQ("", self->err);
	EXPECT_FALSE(strstr(self->out, "lent"));
	EXPECT_EQ(STATUS_OK, answer(self, "status", NULL, "{\"ok\": true, \"state\": \"lent\", "
				    "\"lent_pid\": 7, \"lent_seconds\": 2.5, \"segment\": null}\n"));
	EXPECT_TRUE(strstr(self->out, "  lent          to PID 7 for 2.5 s\n"));
	EXPECT_TRUE(strstr(self->out, "no segment now"));
}

TEST_F(ctl, stats_are_a_table)
{
	static const char *const lines[] = {
		"   CPU         records        bytes         lost       gaps most in the ring\n",
		"     0           1,234       1.0 kB      0 bytes          0     2.0 kB of 8.2 kB (25 %)\n",
		"    31               3      2 bytes       4.1 kB          4    0 bytes of 0 bytes (0 %)\n",
		"  gaps by CPU and cause\n",
		"    31 ring_full: 3 times, 4.1 kB\n",
		"    31 offline: 1 time, of unknown size\n",
	};

	EXPECT_EQ(STATUS_OK, answer(self, "stats", NULL, stats));
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		EXPECT_TRUE(strstr(self->out, lines[i]))
			TH_LOG("%s in %s", lines[i], self->out);
	}
}

TEST_F(ctl, json_is_what_the_daemon_said)
{
	EXPECT_EQ(STATUS_OK, answer(self, "status", "--json", status));
	EXPECT_STREQ(status, self->out);
	EXPECT_EQ(STATUS_OK, answer(self, "stats", "--json", stats));
	EXPECT_STREQ(stats, self->out);
	/* But for what a terminal would obey. */
	EXPECT_EQ(STATUS_OK, answer(self, "status", "--json",
				    "{\"ok\": true, \"x\": \"\302\233m\177\303\251\"}\n"));
	EXPECT_STREQ("{\"ok\": true, \"x\": \"\\u009bm\\u007f\303\251\"}\n", self->out);
}

TEST_F(ctl, a_rotation_names_the_segment_that_ends)
{
	EXPECT_EQ(STATUS_OK, answer(self, "rotate", NULL, "{\"ok\": true, \"segment\": \"7.ftap\"}\n"));
	EXPECT_STREQ("another segment begins after 7.ftap\n", self->out);
	/* The disk is full, or it was stopped and rotated. */
	EXPECT_EQ(STATUS_OK, answer(self, "rotate", NULL, "{\"ok\": true, \"segment\": null}\n"));
	EXPECT_STREQ("no segment is being written: none ends\n", self->out);
}

TEST_F(ctl, a_refusal_is_told_with_its_fix)
{
	static const char refusal[] = "{\"ok\": false, \"error\": \"permission \\u001b[31mdenied\", "
				      "\"fix\": \"ask\\nas root\"}\n";

	EXPECT_EQ(STATUS_ERROR, answer(self, "stop", NULL, refusal));
	EXPECT_STREQ("flowtap: flowtapd refuses: permission \\x1b[31mdenied\n  ask\\x0aas root\n",
		     self->err);
	EXPECT_STREQ("", self->out);
	EXPECT_EQ(STATUS_ERROR, answer(self, "stop", "--json", refusal));
	EXPECT_STREQ(refusal, self->out);
	EXPECT_EQ(STATUS_ERROR, answer(self, "stop", NULL, "{}\n"));
	EXPECT_STREQ("flowtap: flowtapd refuses: it does not say why\n", self->err);
}

/* Whatever is said, it is told as an error or shown with holes, and nothing worse. */
TEST_F(ctl, nonsense_is_told)
{
	static const char *const others[] = {
		"\n", "hello\n", "{\"ok\": true}", "", "[true]\n", "\"ok\"\n", "{\"ok\": true} x\n",
		"{\"ok\": true, \"x\": \"\033[31m\"}\n", "HTTP/1.1 400 Bad Request\r\n\r\n",
	};
	static const char *const thin[] = {
		"{\"ok\": true}\n",
		"{\"ok\": true, \"state\": 5, \"cpus\": {}, \"segment\": [], \"share\": \"x\"}\n",
		"{\"ok\": true, \"cpus\": [1, null, {}, {\"gaps\": 1}, {\"gap_count\": 1, \"gaps\": [{}]}, "
		"{\"gap_count\": 1, \"gaps\": {\"ring_full\": \"1\"}, \"gap_bytes\": {\"exec\": 1e9}}]}\n",
		"{\"ok\": true, \"seconds\": -1e308, \"decode_waiting\": 1, \"decode_lag_seconds\": 1e308, "
		"\"own_cpu\": 1e400, \"pid\": -1, \"segments\": 1.5}\n",
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		EXPECT_EQ(STATUS_ERROR, answer(self, "status", i % 2 ? "--json" : NULL, others[i]));
		EXPECT_TRUE(strstr(self->err, "is no flowtapd, or of another version\n  is this"))
			TH_LOG("%zu: %s", i, self->err);
		EXPECT_STREQ("", self->out);
	}
	for (size_t i = 0; i < sizeof(thin) / sizeof(thin[0]); i++) {
		EXPECT_EQ(STATUS_OK, answer(self, "status", NULL, thin[i]));
		EXPECT_EQ(STATUS_OK, answer(self, "stats", NULL, thin[i]));
		EXPECT_EQ(STATUS_OK, answer(self, "stop", NULL, thin[i]));
	}
}

TEST_F(ctl, an_answer_without_end_is_given_up)
{
	char text[4096];

	memset(text, ' ', sizeof(text));
	serve(self, text, sizeof(text), 1000000, false);
	EXPECT_EQ(STATUS_ERROR, ctl(self, "status", NULL));
	EXPECT_TRUE(strstr(self->err, "is longer than 1048576 bytes"));
}

TEST_F(ctl, who_never_answers_is_given_up)
{
	struct control control;

	serve(self, "{", 1, 1, true);
	ASSERT_EQ(0, control_open(&control, self->path));
	EXPECT_EQ(-ETIMEDOUT, control_ask(&control, "status", 1, false));
	control_close(&control);
}

/* Each byte would be an answer in time. */
TEST_F(ctl, who_never_ends_his_answer_is_given_up)
{
	struct control control;

	self->server = fork();
	if (!self->server) {
		int fd = accept(self->listener, NULL, NULL);

		while (write(fd, " ", 1) == 1)
			usleep(20000);
		_exit(0);
	}
	ASSERT_EQ(0, control_open(&control, self->path));
	EXPECT_EQ(-ETIMEDOUT, control_ask(&control, "status", 1, false));
	control_close(&control);
}

TEST_F(ctl, each_request_has_its_own_answer)
{
	struct control control;
	uint64_t n;

	self->server = fork();
	if (!self->server) {
		int fd = accept(self->listener, NULL, NULL);
		char request[100];

		for (int i = 0; read(fd, request, sizeof(request)) > 0; i++)
			dprintf(fd, "{\"ok\": true, \"n\": %d}\n", i);
		_exit(0);
	}
	ASSERT_EQ(0, control_open(&control, self->path));
	for (uint64_t i = 0; i < 3; i++) {
		EXPECT_EQ(0, control_ask(&control, "status", 60, false));
		EXPECT_TRUE(json_is_count(json_member(control.answer, "n"), &n));
		EXPECT_EQ(i, n);
	}
	control_close(&control);
}

static char advice[512];

static void keep_advice(bool is_advice, const char *text)
{
	if (is_advice)
		snprintf(advice, sizeof(advice), "%s", text);
}

/* Of a group that could not, being in it is no help. */
TEST_F(ctl, a_group_is_named_if_it_may_ask)
{
	static const struct {
		gid_t group;
		mode_t mode;
		bool named;
	} cases[] = {
		{ 1, 0660, true }, { 1, 0640, false }, { 1, 0620, false }, { 1, 0606, false },
		{ 0, 0660, false }, { 54321, 0660, false },
	};
	const struct control control = { .fd = -1, .path = self->path };
	const struct group *group = getgrgid(1);
	char wanted[128];

	if (!group || chown(self->path, (uid_t)-1, 54321))
		SKIP(return, "only root can give a file to any group");
	snprintf(wanted, sizeof(wanted), "usermod -aG %s USER", group->gr_name);
	message_divert(keep_advice);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		ASSERT_EQ(0, chown(self->path, (uid_t)-1, cases[i].group));
		ASSERT_EQ(0, chmod(self->path, cases[i].mode));
		control_complain(&control, -EACCES);
		EXPECT_EQ(cases[i].named, !!strstr(advice, wanted))
			TH_LOG("%zu: %s", i, advice);
		EXPECT_EQ(!cases[i].named, !!strstr(advice, "let a group ask: group in [control]"));
	}
	message_divert(NULL);
}

/* What was granted is none any more where the connection is closed after the answer. */
TEST_F(ctl, what_is_lent_wants_a_connection)
{
	static const char lent[] = "{\"ok\": true, \"state\": \"lent\"}\n";
	struct control control;

	serve(self, lent, sizeof(lent) - 1, 1, true);
	ASSERT_EQ(0, control_open(&control, self->path));
	EXPECT_EQ(0, control_ask(&control, "borrow", 10, true));
	control_close(&control);
	/* Its end stands after the answer before that is read. */
	end_server(self);
	for (int stays = 0; stays < 2; stays++) {
		int fd;

		ASSERT_EQ(0, control_open(&control, self->path));
		fd = accept(self->listener, NULL, NULL);
		ASSERT_EQ(sizeof(lent) - 1, write(fd, lent, sizeof(lent) - 1));
		ASSERT_EQ(0, shutdown(fd, SHUT_WR));
		EXPECT_EQ(stays ? -EPROTO : 0, control_ask(&control, "borrow", 10, stays));
		control_close(&control);
		close(fd);
	}
}

TEST_F(ctl, it_is_told_where_nobody_listens)
{
	close(self->listener);
	EXPECT_EQ(STATUS_ERROR, ctl(self, "status", NULL));
	EXPECT_TRUE(strstr(self->err, "flowtap: no flowtapd listens at '/tmp/flowtap-ctl-"));
	EXPECT_TRUE(strstr(self->err, "  start it (systemctl start flowtapd)"));
	unlink(self->path);
	EXPECT_EQ(STATUS_ERROR, ctl(self, "status", "--json"));
	EXPECT_TRUE(strstr(self->err, "no flowtapd listens at"));
	EXPECT_STREQ("", self->out);
}

TEST_F(ctl, it_is_told_to_whom_it_does_not_listen)
{
	struct control control;
	int result;
	pid_t pid;

	if (getuid() || chmod(self->directory, 0755) || chmod(self->path, 0600))
		SKIP(return, "only root can be another user");
	pid = fork();
	if (!pid) {
		if (setgid(60000) || setuid(60000))
			_exit(77);
		result = control_open(&control, self->path);
		control_complain(&control, result);
		_exit(result == -EACCES ? 0 : 1);
	}
	waitpid(pid, &result, 0);
	if (WEXITSTATUS(result) == 77)
		SKIP(return, "only root can be another user");
	EXPECT_EQ(0, WEXITSTATUS(result));
}

TEST_HARNESS_MAIN
