/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A socket on which others ask and are answered: a request, an answer, the end; or, where the
 * answer says so, a connection that stays. Never waits for anybody: what cannot be read or written
 * now waits, for SERVER_SECONDS at most.
 */
#ifndef FLOWTAP_DAEMON_SERVER_H
#define FLOWTAP_DAEMON_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define SERVER_CLIENTS 32		/* at a time; who comes then waits to be accepted */
#define SERVER_REQUEST 4096		/* bytes */
#define SERVER_ANSWER (1U << 20)
#define SERVER_SECONDS 5

/* Who asks. */
struct server_peer {
	bool known;			/* the socket says who it is: a unix socket's does */
	bool owner;			/* root, or the user that we are */
	bool member;			/* in the group of the options, or the owner */
	pid_t pid;			/* 0: it is in another PID namespace, or not known */
	uid_t uid;
};

struct server_options {
	/*
	 * A path (beginning with /), of which a stale socket is replaced, or ADDRESS:PORT, of the
	 * loopback: 127.0.0.1:9464, [::1]:9464.
	 */
	const char *address;
	/* Who besides the owner may connect at all, of a path; NULL: nobody. */
	const char *group;
	/* Bytes of the first request in the text; 0: it is not whole yet. */
	size_t (*whole)(const char *text, size_t size);
	/*
	 * request ends with a 0 and may be changed. True: the connection stays until the other end
	 * closes it (which a process that is killed does), or the server; then `closed` is called,
	 * once, also where the reply never arrived. What is said meanwhile is not heard.
	 */
	bool (*answer)(void *argument, const struct server_peer *peer, char *request, FILE *reply);
	void (*closed)(void *argument, const struct server_peer *peer);
	void *argument;
	/* Connections that are accepted in a second; the next ones wait for their turn. 0: any. */
	unsigned int rate;
};

struct server;

/*
 * 0; -EINVAL: an address that cannot be; -ESRCH: no such group; -EADDRINUSE: somebody answers
 * there; -EEXIST: the path is no socket; -errno; -ENOMEM. The options are copied, and the strings
 * read once.
 */
int server_open(const struct server_options *options, struct server **server);
/* Readable when server_serve has something to do. */
int server_fd(const struct server *server);
/*
 * Does what can be done now. To be called when the fd is readable, and every second: whoever cannot
 * be accepted now does not wake it. now: ns of any clock that goes on.
 */
void server_serve(struct server *server, uint64_t now);
/* Somebody is connected. */
bool server_busy(const struct server *server);
/* The path is removed. */
void server_close(struct server *server);

#endif /* FLOWTAP_DAEMON_SERVER_H */
