// SPDX-License-Identifier: GPL-2.0-only
/* Serves the clients of one socket from one thread with epoll; none of its calls blocks. */
#include "server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define NS 1000000000ULL
#define GROUPS 65536

union address {
	struct sockaddr any;
	struct sockaddr_un path;
	struct sockaddr_in four;
	struct sockaddr_in6 six;
};

struct client {
	int fd;				/* -1: free */
	uint64_t since;
	struct server_peer peer;
	char request[SERVER_REQUEST + 1];
	size_t asked;
	char *answer;			/* NULL: the request is not whole yet */
	size_t size;
	size_t sent;
	bool keep_open;			/* after its answer */
};

struct server {
	struct server_options options;
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];	/* "": a port */
	bool has_group;
	gid_t group;
	int listener;
	int epoll;
	bool accepting;			/* the listener is waited for */
	uint64_t now;			/* as it was given last */
	uint64_t window;		/* when the present second of the rate began */
	unsigned int accepted;		/* in it */
	uint64_t again;			/* nobody can be accepted before: there are no more files */
	unsigned int n;
	struct client clients[SERVER_CLIENTS];
};

/* --- Addresses. --- */

static int path_address(const char *text, union address *address, socklen_t *size)
{
	if (strlen(text) >= sizeof(address->path.sun_path))
		return -EINVAL;
	address->path.sun_family = AF_UNIX;
	strcpy(address->path.sun_path, text);
	*size = sizeof(address->path);
	return 0;
}

/* Of this machine only: who may ask is not looked at. */
static int port_address(const char *text, union address *address, socklen_t *size)
{
	const char *colon = strrchr(text, ':');
	char host[64], *end;
	unsigned long port;

	if (!colon || colon == text || colon - text >= (int)sizeof(host) || colon[1] < '0' ||
	    colon[1] > '9')
		return -EINVAL;
	port = strtoul(colon + 1, &end, 10);
	if (*end || port > 65535)
		return -EINVAL;
	snprintf(host, sizeof(host), "%.*s", (int)(colon - text), text);
	if (!strcmp(host, "[::1]")) {
		address->six = (struct sockaddr_in6){
			.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port),
			.sin6_addr = in6addr_loopback,
		};
		*size = sizeof(address->six);
		return 0;
	}
	address->four = (struct sockaddr_in){ .sin_family = AF_INET,
					      .sin_port = htons((uint16_t)port) };
	*size = sizeof(address->four);
	return inet_pton(AF_INET, host, &address->four.sin_addr) == 1 &&
	       ntohl(address->four.sin_addr.s_addr) >> 24 == 127 ? 0 : -EINVAL;
}

/* A socket that nobody listens on any more goes; what else is there stays. */
static int remove_stale(const char *path, const union address *address, socklen_t size)
{
	struct stat stat;
	int fd, error;

	if (lstat(path, &stat))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(stat.st_mode))
		return -EEXIST;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	error = connect(fd, &address->any, size) ? errno : 0;
	close(fd);
	if (error != ECONNREFUSED)
		return -EADDRINUSE;
	return unlink(path) ? -errno : 0;
}

/* Nobody can connect before the socket has its mode. */
static int bind_path(struct server *server, const union address *address, socklen_t size)
{
	const mode_t mode = server->has_group ? 0660 : 0600;
	mode_t mask;
	int error = remove_stale(address->path.sun_path, address, size);

	if (error)
		return error;
	mask = umask(0177);
	error = bind(server->listener, &address->any, size) ? -errno : 0;
	umask(mask);
	if (error)
		return error;
	strcpy(server->path, address->path.sun_path);
	if (server->has_group && chown(server->path, (uid_t)-1, server->group))
		return -errno;
	return chmod(server->path, mode) ? -errno : 0;
}

static int bind_port(struct server *server, const union address *address, socklen_t size)
{
	const int yes = 1;

	if (setsockopt(server->listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) ||
	    bind(server->listener, &address->any, size))
		return -errno;
	return 0;
}

/* --- Opening. --- */

static int find_group(struct server *server)
{
	const char *name = server->options.group;
	char buffer[16384];
	struct group group, *found;

	if (!name || !*name)
		return 0;
	if (getgrnam_r(name, &group, buffer, sizeof(buffer), &found) || !found)
		return -ESRCH;
	server->has_group = true;
	server->group = found->gr_gid;
	return 0;
}

static int watch(const struct server *server, int fd, uint32_t events, uint32_t which)
{
	struct epoll_event event = { .events = events, .data.u32 = which };

	return epoll_ctl(server->epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int open_sockets(struct server *server)
{
	const char *text = server->options.address;
	bool is_path = text[0] == '/';
	union address address = { 0 };
	socklen_t size;
	int error = is_path ? path_address(text, &address, &size) :
			      port_address(text, &address, &size);

	if (!error)
		error = find_group(server);
	if (error)
		return error;
	server->epoll = epoll_create1(EPOLL_CLOEXEC);
	server->listener = socket(address.any.sa_family,
				  SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (server->epoll < 0 || server->listener < 0)
		return -errno;
	error = is_path ? bind_path(server, &address, size) : bind_port(server, &address, size);
	if (!error && listen(server->listener, SERVER_CLIENTS))
		error = -errno;
	if (!error)
		error = watch(server, server->listener, EPOLLIN, SERVER_CLIENTS);
	server->accepting = !error;
	return error;
}

int server_open(const struct server_options *options, struct server **result)
{
	struct server *server = calloc(1, sizeof(*server));
	int error;

	if (!server)
		return -ENOMEM;
	server->options = *options;
	server->listener = server->epoll = -1;
	for (unsigned int i = 0; i < SERVER_CLIENTS; i++)
		server->clients[i].fd = -1;
	error = open_sockets(server);
	server->options.address = server->options.group = NULL;
	if (error) {
		server_close(server);
		return error;
	}
	*result = server;
	return 0;
}

/* --- Clients. --- */

static bool in_group(int fd, gid_t group, gid_t primary)
{
	static gid_t groups[GROUPS];
	socklen_t size = sizeof(groups);

	if (primary == group)
		return true;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size))
		return false;
	for (size_t i = 0; i < size / sizeof(groups[0]); i++)
		if (groups[i] == group)
			return true;
	return false;
}

static struct server_peer peer_of(const struct server *server, int fd)
{
	struct server_peer peer = { 0 };
	struct ucred credentials;
	socklen_t size = sizeof(credentials);

	if (!server->path[0] || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size))
		return peer;
	peer.known = true;
	peer.pid = credentials.pid;
	peer.uid = credentials.uid;
	peer.owner = !credentials.uid || credentials.uid == geteuid();
	peer.member = peer.owner ||
		      (server->has_group && in_group(fd, server->group, credentials.gid));
	return peer;
}

static bool may_accept(struct server *server)
{
	if (server->n == SERVER_CLIENTS || server->now < server->again)
		return false;
	if (server->now - server->window >= NS) {
		server->window = server->now;
		server->accepted = 0;
	}
	return !server->options.rate || server->accepted < server->options.rate;
}

/* Again, where it was not. */
static void listen_again(struct server *server)
{
	if (!server->accepting && may_accept(server) &&
	    !watch(server, server->listener, EPOLLIN, SERVER_CLIENTS))
		server->accepting = true;
}

/* What it sent and nobody read would be an error to it, before it has read all of the answer. */
static void end(struct server *server, struct client *client)
{
	char rest[4096];

	for (int i = 0; i < 16 && recv(client->fd, rest, sizeof(rest), MSG_DONTWAIT) > 0; i++)
		;
	close(client->fd);
	free(client->answer);
	client->fd = -1;
	client->answer = NULL;
	server->n--;
	if (client->keep_open)
		server->options.closed(server->options.argument, &client->peer);
	client->keep_open = false;
	listen_again(server);
}

static void accept_one(struct server *server, int fd)
{
	unsigned int i = 0;

	while (server->clients[i].fd >= 0)
		i++;
	server->clients[i].fd = fd;
	server->clients[i].since = server->now;
	server->clients[i].asked = server->clients[i].size = server->clients[i].sent = 0;
	server->clients[i].peer = peer_of(server, fd);
	server->n++;
	server->accepted++;
	if (watch(server, fd, EPOLLIN | EPOLLRDHUP, i))
		end(server, &server->clients[i]);
}

static void accept_all(struct server *server)
{
	int fd;

	while (may_accept(server)) {
		fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		/* Who cannot be accepted stays, and would wake us again and again. */
		if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM))
			server->again = server->now + NS;
		else if (fd < 0)
			return;
		else
			accept_one(server, fd);
	}
	epoll_ctl(server->epoll, EPOLL_CTL_DEL, server->listener, NULL);
	server->accepting = false;
}

static void wait_for(struct server *server, struct client *client, uint32_t what)
{
	struct epoll_event event = { .events = what,
				     .data.u32 = (uint32_t)(client - server->clients) };

	if (epoll_ctl(server->epoll, EPOLL_CTL_MOD, client->fd, &event))
		end(server, client);
}

static bool is_answered(const struct client *client)
{
	return client->answer && client->sent == client->size;
}

static void send_answer(struct server *server, struct client *client)
{
	while (client->sent < client->size) {
		ssize_t n = send(client->fd, client->answer + client->sent,
				 client->size - client->sent, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0)
			break;
		client->sent += (size_t)n;
	}
	if (client->keep_open && is_answered(client))
		wait_for(server, client, EPOLLIN | EPOLLRDHUP);
	else
		end(server, client);
}

static void answer(struct server *server, struct client *client, size_t size)
{
	FILE *file = open_memstream(&client->answer, &client->size);

	if (!file) {
		end(server, client);
		return;
	}
	client->request[size] = 0;
	client->keep_open = server->options.answer(server->options.argument, &client->peer,
						   client->request, file);
	if (fclose(file) || client->size > SERVER_ANSWER) {
		end(server, client);
		return;
	}
	wait_for(server, client, EPOLLOUT);
	if (client->fd >= 0)
		send_answer(server, client);
}

/* One that is kept open: whether it is still there. */
static void listen_on(struct server *server, struct client *client)
{
	char rest[4096];
	ssize_t n = recv(client->fd, rest, sizeof(rest), MSG_DONTWAIT);

	if (!n || (n < 0 && errno != EAGAIN && errno != EINTR))
		end(server, client);
}

static void hear(struct server *server, struct client *client)
{
	ssize_t n = recv(client->fd, client->request + client->asked,
			 SERVER_REQUEST - client->asked, MSG_DONTWAIT);
	size_t size;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		client->asked += (size_t)n;
	size = server->options.whole(client->request, client->asked);
	if (size)
		answer(server, client, size);
	else if (n <= 0 || client->asked == SERVER_REQUEST)
		end(server, client);
}

void server_serve(struct server *server, uint64_t now)
{
	struct epoll_event events[SERVER_CLIENTS + 1];
	int n;

	server->now = now;
	listen_again(server);
	n = epoll_wait(server->epoll, events, SERVER_CLIENTS + 1, 0);
	for (int i = 0; i < n; i++) {
		struct client *client = &server->clients[events[i].data.u32];

		if (events[i].data.u32 == SERVER_CLIENTS)
			accept_all(server);
		else if (client->fd >= 0 && is_answered(client))
			listen_on(server, client);
		else if (client->fd >= 0 && client->answer)
			send_answer(server, client);
		else if (client->fd >= 0)
			hear(server, client);
	}
	for (unsigned int i = 0; i < SERVER_CLIENTS; i++)
		if (server->clients[i].fd >= 0 && !is_answered(&server->clients[i]) &&
		    now - server->clients[i].since > SERVER_SECONDS * NS)
			end(server, &server->clients[i]);
}

int server_fd(const struct server *server)
{
	return server->epoll;
}

bool server_busy(const struct server *server)
{
	return server->n;
}

void server_close(struct server *server)
{
	if (!server)
		return;
	for (unsigned int i = 0; i < SERVER_CLIENTS; i++)
		if (server->clients[i].fd >= 0)
			end(server, &server->clients[i]);
	if (server->path[0])
		unlink(server->path);
	if (server->listener >= 0)
		close(server->listener);
	if (server->epoll >= 0)
		close(server->epoll);
	free(server);
}
