/* SPDX-License-Identifier: GPL-2.0-only */
/* flowtapd's control socket, from the side that asks: a line, and an answer of JSON. */
#ifndef FLOWTAP_TOOLS_COMMON_CONTROL_H
#define FLOWTAP_TOOLS_COMMON_CONTROL_H

#include "common/json_reader.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define CONTROL_SOCKET "/run/flowtap/control"	/* as in flowtapd.conf(5) */
#define CONTROL_ANSWER (1U << 20)	/* bytes; a longer one is refused */
#define CONTROL_SECONDS 10		/* within which an answer is to come */
/* It ends a segment first, and that is on the disk then. */
#define CONTROL_BORROW_SECONDS 60

struct control {
	int fd;				/* -1: not connected */
	const char *path;		/* borrowed */
	char *text;			/* the answer, as it came */
	size_t size;
	struct json_value answer;	/* an object */
};

/* 0; -ENOENT, -ECONNREFUSED: no daemon is there; -EACCES; -ENAMETOOLONG; -errno. */
int control_open(struct control *control, const char *path);
/* Complains about what control_open returned, with the fix. */
void control_complain(const struct control *control, int error);
/*
 * Asks, and waits for the answer, which is an object, until the next question. 0; or -errno after
 * a complaint: -ETIMEDOUT, -EPROTO (no JSON) ..., -EPERM: it refuses, and the answer says why.
 * keep_open: the connection has to be open after the answer, too.
 */
int control_ask(struct control *control, const char *command, unsigned int seconds, bool keep_open);
/* Also of one that is not open. */
void control_close(struct control *control);

#endif /* FLOWTAP_TOOLS_COMMON_CONTROL_H */
