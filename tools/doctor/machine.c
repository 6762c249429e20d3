// SPDX-License-Identifier: GPL-2.0-only
/* Reads the kernel's configuration and log, the CPUs' ISA strings, /sys/module and modules.dep. */
#include "doctor/machine.h"

#include "common/grow.h"
#include "common/tool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <unistd.h>

/* The longest are kernel configurations, some 300 KiB. */
#define TEXT_MAX (4U << 20)

/* The whole of a stream, 0-terminated, malloc'ed; NULL if there is nothing. */
static char *read_stream(FILE *file, size_t *size)
{
	char *text = NULL;
	size_t capacity = 0, used = 0;

	while (used < TEXT_MAX) {
		size_t n;

		if (GROW_BYTES(text, capacity, used + 4096))
			break;
		n = fread(text + used, 1, capacity - used - 1, file);
		used += n;
		if (!n)
			break;
	}
	if (!used) {
		free(text);
		return NULL;
	}
	text[used] = 0;
	if (size)
		*size = used;
	return text;
}

static char *read_text(const char *path, size_t *size)
{
	FILE *file = fopen(path, "re");
	char *text;

	if (!file)
		return NULL;
	text = read_stream(file, size);
	fclose(file);
	return text;
}

static long read_long(const char *path)
{
	char *text = read_text(path, NULL), *end;
	long value = LONG_MIN;

	if (text) {
		value = strtol(text, &end, 10);
		if (end == text)
			value = LONG_MIN;
	}
	free(text);
	return value;
}

static void read_config(struct machine *machine)
{
	static const char *const paths[] = { "/boot/config-%s", "/lib/modules/%s/config",
					      "/usr/lib/modules/%s/config",
					      "/lib/modules/%s/build/.config" };
	char path[PATH_MAX];
	FILE *pipe;

	if (!access("/proc/config.gz", R_OK)) {
		pipe = popen("gzip -dc /proc/config.gz 2>/dev/null", "re");
		if (pipe) {
			machine->config = read_stream(pipe, NULL);
			pclose(pipe);
		}
	}
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]) && !machine->config; i++) {
		snprintf(path, sizeof(path), paths[i], machine->name.release);
		machine->config = read_text(path, NULL);
	}
}

char machine_config(const struct machine *machine, const char *name)
{
	char line[96];
	const char *at;

	if (!machine->config)
		return 0;
	snprintf(line, sizeof(line), "\nCONFIG_%s=", name);
	at = strstr(machine->config, line);
	if (!at)
		return 'n';
	return at[strlen(line)] == 'm' ? 'm' : 'y';
}

/* "rv64imafdc_zicsr_..." (riscv,isa; /proc/cpuinfo): words between _, the base apart. */
static char *split_isa(const char *text, size_t size)
{
	char *isa = calloc(1, 2 * size + 2), *out = isa;

	if (!isa)
		return NULL;
	if (size > 4 && !strncmp(text, "rv", 2)) {
		text += 4;
		size -= 4;
	}
	/* Single letters up to the first _ or multi-letter one. */
	for (bool single = true; size && *text && *text != '\n'; text++, size--) {
		if (*text == '_') {
			single = false;
			*out++ = ' ';
			continue;
		}
		if (strchr("zsx", *text))
			single = false;
		*out++ = *text;
		if (single)
			*out++ = ' ';
	}
	return isa;
}

static char *isa_of_cpu(const char *cpu)
{
	char path[PATH_MAX], *text, *isa = NULL;
	size_t size;

	snprintf(path, sizeof(path), "/proc/device-tree/cpus/%s/riscv,isa-extensions", cpu);
	text = read_text(path, &size);
	if (text) {
		/* Strings one after the other. */
		for (size_t i = 0; i < size; i++)
			if (!text[i])
				text[i] = ' ';
		return text;
	}
	snprintf(path, sizeof(path), "/proc/device-tree/cpus/%s/riscv,isa", cpu);
	text = read_text(path, &size);
	if (text)
		isa = split_isa(text, size);
	free(text);
	return isa;
}

static void read_isa(struct machine *machine)
{
	DIR *cpus = opendir("/proc/device-tree/cpus");
	struct dirent *entry;
	const char *at;
	char *text;

	while (cpus && !machine->isa && (entry = readdir(cpus)))
		if (!strncmp(entry->d_name, "cpu@", 4))
			machine->isa = isa_of_cpu(entry->d_name);
	if (cpus)
		closedir(cpus);
	if (machine->isa || !machine_is_riscv(machine))
		return;
	text = read_text("/proc/cpuinfo", NULL);
	at = text ? strstr(text, "\nisa") : NULL;
	at = at ? strchr(at, ':') : NULL;
	if (at) {
		at += 1 + strspn(at + 1, " \t");
		machine->isa = split_isa(at, strcspn(at, "\n"));
	}
	free(text);
}

bool machine_is_riscv(const struct machine *machine)
{
	return !strncmp(machine->name.machine, "riscv", 5);
}

bool machine_has_extension(const struct machine *machine, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = machine->isa; at && *at;) {
		size_t word = strcspn(at, " ");

		if (word == length && !strncmp(at, name, length))
			return true;
		at += word;
		at += strspn(at, " ");
	}
	return false;
}

/* The kernel log says which firmware it found: "SBI implementation ID=0x1 Version=0x10009". */
static void read_firmware(struct machine *machine)
{
	static const char mark[] = "SBI implementation ID=0x1 Version=0x";
	int size = klogctl(10 /* SYSLOG_ACTION_SIZE_BUFFER */, NULL, 0);
	const char *at;
	char *log;

	if (!machine_is_riscv(machine) || size <= 0)
		return;
	log = malloc((size_t)size + 1);
	if (!log)
		return;
	size = klogctl(3 /* SYSLOG_ACTION_READ_ALL */, log, size);
	if (size > 0) {
		log[size] = 0;
		at = strstr(log, mark);
		if (at)
			machine->opensbi = (uint32_t)strtoul(at + strlen(mark), NULL, 16);
	}
	free(log);
}

static void read_module(struct machine *machine)
{
	char path[PATH_MAX], *text;

	machine->module_loaded = !access("/sys/module/flowtap", F_OK);
	text = read_text("/sys/module/flowtap/version", NULL);
	if (text)
		snprintf(machine->module_version, sizeof(machine->module_version), "%.*s",
			 (int)strcspn(text, "\n"), text);
	free(text);
	snprintf(path, sizeof(path), "/lib/modules/%s/modules.dep", machine->name.release);
	text = read_text(path, NULL);
	machine->module_installed = text && strstr(text, "/flowtap.ko");
	free(text);
}

void machine_read(struct machine *machine)
{
	memset(machine, 0, sizeof(*machine));
	uname(&machine->name);
	read_config(machine);
	read_isa(machine);
	read_firmware(machine);
	read_module(machine);
	user_privileges_read(&machine->privileges);
	machine->uring_disabled = read_long("/proc/sys/kernel/io_uring_disabled");
}

void machine_free(struct machine *machine)
{
	free(machine->config);
	free(machine->isa);
}
