// SPDX-License-Identifier: GPL-2.0-only
/*
 * Receives the core dump events of the kernel's process connector (netlink), and finds the
 * address of the crash in /proc.
 */
#include "crash.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../tools/common/tool.h"

/* Of /proc/PID/stat, after the name: the instruction pointer of who ends (proc_pid_stat(5), 30). */
#define BEFORE_POINTER 27

static int subscribe(int fd)
{
	struct {
		_Alignas(NLMSG_ALIGNTO) struct nlmsghdr head;
		struct cn_msg message;
		uint32_t operation, events;	/* struct proc_input, from Linux 6.6 on */
	} request = {
		.head = { .nlmsg_len = sizeof(request), .nlmsg_type = NLMSG_DONE },
		.message = { .id = { CN_IDX_PROC, CN_VAL_PROC }, .len = 2 * sizeof(uint32_t) },
		.operation = PROC_CN_MCAST_LISTEN,
		.events = PROC_EVENT_COREDUMP,
	};

	return send(fd, &request, sizeof(request), 0) == sizeof(request) ? 0 : -errno;
}

int crash_filter(int fd)
{
	/* A load takes big-endian words; event.what is one of this machine's. */
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, sizeof(struct nlmsghdr) + sizeof(struct cn_msg) +
			 offsetof(struct proc_event, what)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(PROC_EVENT_COREDUMP), 0, 1),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) ? -errno : 0;
}

int crash_open(void)
{
	const struct sockaddr_nl group = { .nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC };
	int fd = socket(PF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_CONNECTOR);
	int error;

	if (fd < 0)
		return -errno;
	/* Without it nothing is missing but time. */
	crash_filter(fd);
	error = bind(fd, (const struct sockaddr *)&group, sizeof(group)) ? -errno : subscribe(fd);
	if (!error)
		return fd;
	close(fd);
	return error;
}

bool crash_parse(const void *bytes, size_t size, struct crash *crash)
{
	struct nlmsghdr head;
	struct cn_msg message;
	struct proc_event event;

	if (size < sizeof(head) + sizeof(message) + sizeof(event))
		return false;
	memcpy(&head, bytes, sizeof(head));
	memcpy(&message, (const char *)bytes + sizeof(head), sizeof(message));
	memcpy(&event, (const char *)bytes + sizeof(head) + sizeof(message), sizeof(event));
	if (head.nlmsg_type != NLMSG_DONE || message.id.idx != CN_IDX_PROC ||
	    message.id.val != CN_VAL_PROC || message.len < sizeof(event) ||
	    event.what != PROC_EVENT_COREDUMP)
		return false;
	*crash = (struct crash){
		.time = event.timestamp_ns,
		.pid = (uint32_t)event.event_data.coredump.process_tgid,
		.tid = (uint32_t)event.event_data.coredump.process_pid,
	};
	return true;
}

uint64_t crash_address(const char *stat)
{
	const char *at = strrchr(stat, ')');
	uint64_t address = 0;

	for (int i = 0; at && i <= BEFORE_POINTER; i++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	return at && sscanf(at, "%" SCNu64, &address) == 1 ? address : 0;
}

/* While it dumps core, or has not been waited for. */
static uint64_t find_address(const struct crash *crash)
{
	char path[64], line[1024];
	FILE *file;
	size_t size;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/stat", crash->pid, crash->tid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	size = fread(line, 1, sizeof(line) - 1, file);
	fclose(file);
	line[size] = 0;
	return crash_address(line);
}

int crash_next(int fd, struct crash *crash)
{
	_Alignas(NLMSG_ALIGNTO) char bytes[1024];

	while (1) {
		struct sockaddr_nl from = { .nl_pid = 1 };
		socklen_t from_size = sizeof(from);
		ssize_t size = recvfrom(fd, bytes, sizeof(bytes), 0, (struct sockaddr *)&from,
					&from_size);

		if (size < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		/* The kernel alone is to be believed. */
		if (from.nl_pid || !crash_parse(bytes, (size_t)size, crash))
			continue;
		crash->time = number_raw(crash->time);
		crash->address = find_address(crash);
		return 1;
	}
}
