// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connects to the daemon's socket, sends one line, and waits with a limit of time for the answer.
 */
#include "common/control.h"

#include "common/tool.h"

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define SECOND 1000000000ULL

int control_open(struct control *control, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	*control = (struct control){ .fd = -1, .path = path };
	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	strcpy(address.sun_path, path);
	control->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (control->fd < 0)
		return -errno;
	return connect(control->fd, (struct sockaddr *)&address, sizeof(address)) ? -errno : 0;
}

static void advise_group(const char *path)
{
	struct group *group = NULL;
	struct stat stat_of;

	if (!stat(path, &stat_of) && stat_of.st_gid && (stat_of.st_mode & 0060) == 0060)
		group = getgrgid(stat_of.st_gid);
	if (group)
		advise("ask as root, or as a member of the group: usermod -aG %s USER, then log in "
		       "again", group->gr_name);
	else
		advise("ask as root, or let a group ask: group in [control] of flowtapd.conf");
}

void control_complain(const struct control *control, int error)
{
	switch (-error) {
	case ENOENT:
	case ECONNREFUSED:
		complain("no flowtapd listens at '%s'", control->path);
		advise("start it (systemctl start flowtapd), or name the socket of its configuration "
		       "(--socket)");
		break;
	case EACCES:
	case EPERM:
		complain("you may not ask the flowtapd at '%s'", control->path);
		advise_group(control->path);
		break;
	case EAGAIN:
		complain("the flowtapd at '%s' has too many who ask it", control->path);
		advise("ask again in a while; does it still run?");
		break;
	case ENAMETOOLONG:
		complain("'%s' is longer than a socket's path can be", control->path);
		break;
	default:
		complain("cannot ask the flowtapd at '%s': %s", control->path, strerror(-error));
		advise("is this the socket of its configuration?");
	}
}

/* 0 or -errno, -ETIMEDOUT. */
static int wait_for(const struct control *control, short events, uint64_t deadline)
{
	struct pollfd wait = { .fd = control->fd, .events = events };
	uint64_t now;
	int n;

	do {
		now = number_now();
		if (now >= deadline)
			return -ETIMEDOUT;
		n = poll(&wait, 1, (int)((deadline - now + 999999) / 1000000));
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n ? 0 : -ETIMEDOUT;
}

static int send_all(const struct control *control, const char *text, size_t size, uint64_t deadline)
{
	ssize_t n;
	int error;

	while (size) {
		n = send(control->fd, text, size, MSG_NOSIGNAL);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (n > 0) {
			text += n;
			size -= (size_t)n;
			continue;
		}
		error = wait_for(control, POLLOUT, deadline);
		if (error)
			return error;
	}
	return 0;
}

/* Up to the end of the line. 0; -EPROTO: there is none; -EMSGSIZE; -errno. */
static int hear(struct control *control, uint64_t deadline)
{
	ssize_t n;
	int error;

	for (;;) {
		n = recv(control->fd, control->text + control->size,
			 CONTROL_ANSWER - control->size, 0);
		if (!n)
			return -EPROTO;
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (n > 0) {
			control->size += (size_t)n;
			if (memchr(control->text + control->size - n, '\n', (size_t)n))
				return 0;
			if (control->size == CONTROL_ANSWER)
				return -EMSGSIZE;
			continue;
		}
		error = wait_for(control, POLLIN, deadline);
		if (error)
			return error;
	}
}

static int talk(struct control *control, const char *command, unsigned int seconds)
{
	const uint64_t deadline = number_now() + seconds * SECOND;
	char line[64];
	int n = snprintf(line, sizeof(line), "%s\n", command), error;

	if (n >= (int)sizeof(line))
		return -EINVAL;
	error = send_all(control, line, (size_t)n, deadline);
	return error ? error : hear(control, deadline);
}

static void complain_answer(const struct control *control, int error, unsigned int seconds)
{
	switch (-error) {
	case ETIMEDOUT:
		complain("the flowtapd at '%s' did not answer within %u s", control->path, seconds);
		advise("does it hang? its log says what it did last (journalctl -u flowtapd)");
		break;
	case EPROTO:
		complain("what answers at '%s' is no flowtapd, or of another version", control->path);
		advise("is this the socket of its configuration? are flowtap and flowtapd of one "
		       "version?");
		break;
	case EMSGSIZE:
		complain("the answer from '%s' is longer than %u bytes: that is no flowtapd",
			 control->path, CONTROL_ANSWER);
		break;
	default:
		complain("no answer from the flowtapd at '%s': %s", control->path, strerror(-error));
		advise("did it end? its log says why (journalctl -u flowtapd)");
	}
}

/* Strings of whoever answers. */
static void report_refusal(const struct control *control)
{
	char error[256] = "it does not say why", fix[512] = "", text[1024];
	FILE *file = fmemopen(text, sizeof(text), "w");

	json_is_string(json_member(control->answer, "error"), error, sizeof(error));
	json_is_string(json_member(control->answer, "fix"), fix, sizeof(fix));
	if (!file)
		return;
	print_plain(file, error, strlen(error));
	fputc(0, file);
	fclose(file);
	text[sizeof(text) - 1] = 0;
	complain("flowtapd refuses: %s", text);
	file = *fix ? fmemopen(text, sizeof(text), "w") : NULL;
	if (!file)
		return;
	print_plain(file, fix, strlen(fix));
	fputc(0, file);
	fclose(file);
	text[sizeof(text) - 1] = 0;
	advise("%s", text);
}

int control_ask(struct control *control, const char *command, unsigned int seconds, bool keep_open)
{
	char end;
	int error;

	if (!control->text)
		control->text = malloc(CONTROL_ANSWER);
	if (!control->text) {
		complain("no memory");
		return -ENOMEM;
	}
	control->size = 0;
	error = talk(control, command, seconds);
	if (!error && (!json_reader_open(control->text, control->size, &control->answer) ||
		       *control->answer.text != '{'))
		error = -EPROTO;
	if (error) {
		complain_answer(control, error, seconds);
		return error;
	}
	if (!json_is_true(json_member(control->answer, "ok"))) {
		report_refusal(control);
		return -EPERM;
	}
	/* What was granted holds as long as the connection. */
	if (keep_open && !recv(control->fd, &end, 1, MSG_PEEK)) {
		complain_answer(control, -EPROTO, seconds);
		return -EPROTO;
	}
	return 0;
}

void control_close(struct control *control)
{
	if (control->fd >= 0)
		close(control->fd);
	free(control->text);
	control->fd = -1;
	control->text = NULL;
}
