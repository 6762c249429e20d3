// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sends states as datagrams to the service manager's socket, which may be abstract
 * (sd_notify(3)).
 */
#include "notify.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define MESSAGE 2048

static int address_of(const char *name, struct sockaddr_un *address, socklen_t *size)
{
	const size_t length = strlen(name);

	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if ((name[0] != '/' && name[0] != '@') || length < 2 || length >= sizeof(address->sun_path))
		return -EINVAL;
	memcpy(address->sun_path, name, length);
	/* An abstract one's name begins with a 0, and has none at its end. */
	if (name[0] == '@')
		address->sun_path[0] = 0;
	*size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (name[0] != '@'));
	return 0;
}

/* Ours, if it names a process at all. */
static uint64_t watchdog(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	unsigned long long value;
	char *end;

	if (!usec || usec[0] < '0' || usec[0] > '9' ||
	    (pid && strtoll(pid, NULL, 10) != (long long)getpid()))
		return 0;
	errno = 0;
	value = strtoull(usec, &end, 10);
	return errno || *end || value > UINT64_MAX / 1000 ? 0 : 1000 * value;
}

int notify_open(struct notify *notify)
{
	const char *name = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address;
	socklen_t size;
	int error = 0;

	*notify = (struct notify){ .fd = -1, .watchdog = watchdog() };
	if (name && *name) {
		error = address_of(name, &address, &size);
		if (!error)
			notify->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (!error && (notify->fd < 0 ||
			       connect(notify->fd, (struct sockaddr *)&address, size)))
			error = -errno;
	}
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	if (error)
		notify_close(notify);
	return error;
}

int notify_send(struct notify *notify, const char *format, ...)
{
	static const char ready[] = "READY=1";
	char message[MESSAGE];
	int n, error;
	va_list ap;

	if (notify->fd < 0)
		return 0;
	va_start(ap, format);
	n = vsnprintf(message, sizeof(message), format, ap);
	va_end(ap);
	if (n < 0 || n >= MESSAGE)
		return -EMSGSIZE;
	error = send(notify->fd, message, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT) == n ? 0 : -errno;
	/* Whoever waits for that would end us; all else is said again, or is not waited for. */
	if (!strncmp(message, ready, sizeof(ready) - 1))
		notify->unready = error == -EAGAIN || error == -ENOBUFS;
	return error;
}

int notify_reloading(struct notify *notify)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return notify_send(notify, "RELOADING=1\nMONOTONIC_USEC=%llu",
			   1000000ULL * (unsigned long long)now.tv_sec +
			   (unsigned long long)now.tv_nsec / 1000);
}

void notify_close(struct notify *notify)
{
	if (notify->fd >= 0)
		close(notify->fd);
	notify->fd = -1;
	notify->watchdog = 0;
}
