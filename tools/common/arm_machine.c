// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads the device tree, the kernel's log and /sys for the trace unit, the trace buffer and the
 * drivers that use them.
 */
#include "common/arm_machine.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/utsname.h>
#include <unistd.h>

#define TREE "/sys/firmware/devicetree/base"

/* nftw gives its function no argument. */
static struct arm_machine *found;

/* A property's strings follow one another. */
static bool names(const char *property, size_t size, const char *wanted)
{
	for (size_t at = 0; at < size; at += strnlen(property + at, size - at) + 1)
		if (size - at > strlen(wanted) && !strcmp(property + at, wanted))
			return true;
	return false;
}

static int visit(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	char property[256];
	ssize_t size;
	int fd;

	(void)status;
	if (type != FTW_F || strcmp(path + walk->base, "compatible"))
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	size = read(fd, property, sizeof(property) - 1);
	close(fd);
	if (size <= 0)
		return 0;
	property[size] = 0;
	found->unit |= names(property, (size_t)size, "arm,embedded-trace-extension");
	found->buffer |= names(property, (size_t)size, "arm,trace-buffer-extension");
	return 0;
}

/*
 * sysfs says "Not affected" where it was forced on, by the command line or by KASLR; the log names
 * it whatever the cause. Whoever may not read the log does not learn of it.
 */
static bool log_has(const char *text)
{
	int size = klogctl(10 /* SYSLOG_ACTION_SIZE_BUFFER */, NULL, 0);
	char *log = size > 0 ? malloc((size_t)size + 1) : NULL;
	bool has = false;

	if (!log)
		return false;
	size = klogctl(3 /* SYSLOG_ACTION_READ_ALL */, log, size);
	if (size > 0) {
		log[size] = 0;
		has = strstr(log, text);
	}
	free(log);
	return has;
}

void arm_machine_read(struct arm_machine *machine)
{
	*machine = (struct arm_machine){ .tree = !access(TREE "/compatible", F_OK) };
	found = machine;
	if (machine->tree)
		nftw(TREE, visit, 16, FTW_PHYS);
	machine->kpti = log_has("detected: Kernel page table isolation");
}

bool is_arm_machine(void)
{
	struct utsname name;

	return !uname(&name) && !strcmp(name.machine, "aarch64");
}

static bool loaded(const char *module)
{
	FILE *file = fopen("/proc/modules", "re");
	char line[512];
	bool is = false;

	while (file && !is && fgets(line, sizeof(line), file)) {
		size_t length = strcspn(line, " ");

		is = length == strlen(module) && !strncmp(line, module, length);
	}
	if (file)
		fclose(file);
	return is;
}

static bool there(const char *driver)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/bus/platform/drivers/%s", driver);
	return !access(path, F_OK);
}

static int which(bool buffer, bool unit)
{
	return (buffer ? 1 : 0) + (unit ? 2 : 0);
}

const char *arm_machine_drivers(bool *built_in)
{
	static const char *const words[] = { NULL, "coresight_trbe", "coresight_etm4x",
					     "coresight_trbe coresight_etm4x" };
	int modules = which(loaded("coresight_trbe"), loaded("coresight_etm4x"));
	int drivers = which(there("arm_trbe"), there("coresight-etm4x"));

	*built_in = !modules && drivers;
	return words[modules ? modules : drivers];
}
