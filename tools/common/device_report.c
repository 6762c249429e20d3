// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finds a reason and a fix for each error of /dev/flowtap: rights, module, holder.
 */
#include "common/device_report.h"

#include "common/arm_machine.h"
#include "common/tool.h"

#include <errno.h>
#include <flowtap/session.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* systemd.unit(5) */
#define UNIT_NAME "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:-_.\\@"

int device_query(uint32_t want, struct flowtap_query **queries, size_t *n)
{
	return flowtap_device_query(want, queries, n);
}

static const char *access_problem(char *fix, size_t capacity)
{
	const char *user = getenv("USER");
	struct group *group;
	struct stat node;

	if (stat(FLOWTAP_DEVICE, &node)) {
		snprintf(fix, capacity, "look at the rights of /dev");
		return "you may not open " FLOWTAP_DEVICE;
	}
	group = getgrgid(node.st_gid);
	if (node.st_gid && (node.st_mode & 060) == 060 && group)
		snprintf(fix, capacity, "usermod -aG %s %s (as root), then log in again",
			 group->gr_name, user ? user : "USER");
	else
		snprintf(fix, capacity,
			 "run as root, or let a group in: groupadd -f --system perf, install "
			 "60-flowtap.rules, udevadm trigger " FLOWTAP_DEVICE);
	return "you may not open " FLOWTAP_DEVICE;
}

/* The module is not there; on Arm others may have kept it from coming. */
static const char *absence_problem(char *fix, size_t capacity)
{
	bool built_in;
	const char *drivers = is_arm_machine() ? arm_machine_drivers(&built_in) : NULL;

	if (drivers && built_in)
		snprintf(fix, capacity, "perf record -e cs_etm//u, and flowtap decode perf.data");
	else if (drivers)
		snprintf(fix, capacity,
			 "as root: rmmod %s; modprobe flowtap (or insmod flowtap.ko)", drivers);
	else
		snprintf(fix, capacity,
			 "load the module: modprobe flowtap (or insmod flowtap.ko), as "
			 "root; `flowtap doctor` says what is missing");
	return drivers ? "the module is not loaded: the kernel's coresight drivers have the trace "
			 "hardware" : "there is no " FLOWTAP_DEVICE ": the module is not loaded";
}

const char *device_open_problem(int error, char *fix, size_t capacity)
{
	switch (-error) {
	case ENOENT:
		return absence_problem(fix, capacity);
	case ENXIO:
	case ENODEV:
		snprintf(fix, capacity, "load the module: modprobe flowtap, as root");
		return FLOWTAP_DEVICE " is there but its module is not";
	case EACCES:
	case EPERM:
		return access_problem(fix, capacity);
	case ENOTTY:
		snprintf(fix, capacity, "install the module and the command of the same version");
		return FLOWTAP_DEVICE " is not flowtap's, or of another version";
	case EPROTO:
		snprintf(fix, capacity, "install the module and the command of the same version");
		return FLOWTAP_DEVICE " answers nonsense";
	default:
		snprintf(fix, capacity, "`flowtap doctor` says what is missing");
		return strerror(-error);
	}
}

const char *device_reason(const struct flowtap_query *query)
{
	switch (query->reason) {
	case FLOWTAP_REASON_ABSENT:
		return "it has no trace hardware, or the firmware hides it";
	case FLOWTAP_REASON_OWNED:
		return is_arm_machine() ?
			       "someone else has it: a debugger, or the kernel's coresight drivers "
			       "(rmmod coresight_trbe coresight_etm4x)" :
			       "someone else has it configured (the module's takeover=1 takes it)";
	case FLOWTAP_REASON_OFFLINE:
		return "it is offline";
	case FLOWTAP_REASON_UNUSABLE:
		return "its hardware is not usable (the kernel log says why)";
	default:
		return "for a reason this version does not know";
	}
}

const char *device_holder(const struct flowtap_query *query, char *buffer)
{
	char name[sizeof(query->holder_comm) + 1];
	size_t size = strnlen((const char *)query->holder_comm, sizeof(query->holder_comm));

	if (!size)
		return NULL;
	/* Whoever holds it chose it: it must not write on the terminal what it likes. */
	for (size_t i = 0; i < size; i++)
		name[i] = query->holder_comm[i] >= 0x20 && query->holder_comm[i] < 0x7f ?
			  (char)query->holder_comm[i] : '?';
	name[size] = 0;
	snprintf(buffer, 64, "'%s' (PID %u)", name, query->holder_pid);
	return buffer;
}

/* Of lines as 0::/system.slice/flowtapd.service the last name. */
static void unit_of(uint32_t pid, char *unit, size_t capacity)
{
	char path[64], line[4096];
	FILE *file;

	unit[0] = 0;
	snprintf(path, sizeof(path), "/proc/%u/cgroup", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		const char *name = strrchr(line, '/');
		size_t size = name ? strcspn(++name, "\n") : 0;

		if (size > 8 && size < capacity && !memcmp(name + size - 8, ".service", 8) &&
		    strspn(name, UNIT_NAME) >= size) {
			memcpy(unit, name, size);
			unit[size] = 0;
		}
	}
	if (file)
		fclose(file);
}

const char *device_daemon(const struct flowtap_query *query, char *buffer)
{
	if (strncmp((const char *)query->holder_comm, "flowtapd", sizeof(query->holder_comm)))
		return NULL;
	unit_of(query->holder_pid, buffer, 64);
	return buffer;
}

const char *device_cpus(const struct flowtap_query *queries, size_t n,
			bool (*wanted)(const struct flowtap_query *query,
				       const struct flowtap_query *like),
			const struct flowtap_query *like, char *buffer)
{
	const size_t capacity = 128;
	size_t used = 0;

	buffer[0] = 0;
	for (size_t cpu = 0; cpu < n; cpu++) {
		size_t last = cpu;

		if (!wanted(&queries[cpu], like))
			continue;
		while (last + 1 < n && wanted(&queries[last + 1], like))
			last++;
		if (used + 24 > capacity) {
			snprintf(buffer + used, capacity - used, ",...");
			break;
		}
		used += (size_t)snprintf(buffer + used, capacity - used,
					 last > cpu ? "%s%zu-%zu" : "%s%zu", used ? "," : "", cpu,
					 last);
		cpu = last;
	}
	return buffer;
}
