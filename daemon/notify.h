/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages to a service manager, as sd_notify(3) describes them: datagrams to the socket that
 * NOTIFY_SOCKET names. Without one none is sent, and that is no error.
 */
#ifndef FLOWTAP_DAEMON_NOTIFY_H
#define FLOWTAP_DAEMON_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

struct notify {
	int fd;			/* -1: nobody listens */
	bool unready;		/* READY=1 was not taken: it is to be said again */
	uint64_t watchdog;	/* ns within which a sign of life is to come; 0: none is wanted */
};

/*
 * Takes NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID out of the environment, so that no child has
 * them. 0; -EINVAL: a socket's name that cannot be; -errno of the socket.
 */
int notify_open(struct notify *notify);
/*
 * Lines "KEY=VALUE", READY=1 first. 0, also where nobody listens; -EMSGSIZE; -errno of the sending:
 * -EAGAIN where the manager has too much to hear, which is not waited for.
 */
int notify_send(struct notify *notify, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Anew what was said at the start: RELOADING=1 with the time, until READY=1. As notify_send. */
int notify_reloading(struct notify *notify);
void notify_close(struct notify *notify);

#endif /* FLOWTAP_DAEMON_NOTIFY_H */
