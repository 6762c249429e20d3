// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Reads /proc/kallsyms, /proc/modules and /sys/module for the ranges and names of the kernel's
 * code.
 */
#include "capture/kernel_ranges.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash_table.h"
#include "base/vector.h"
#include "code/label.h"

#define PAGE 4096U
#define MODULES_MAX 4096U
#define LINES_MAX (64U << 20)

/* Sections that are code; what is not begins on a page of its own. */
static bool is_code(const char *section)
{
	return strstr(section, "text") || strstr(section, "plt");
}

static uint64_t address_in(int directory, const char *name)
{
	char text[32] = "";
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	return n > 0 ? strtoull(text, NULL, 16) : 0;
}

/* The module's memory is cut where the first section after its text begins. */
static void cut(struct flowtap_kernel_range *range)
{
	char path[64 + FLOWTAP_MODULE_NAME];
	struct dirent *entry;
	DIR *directory;

	snprintf(path, sizeof(path), "/sys/module/%s/sections", range->name);
	directory = opendir(path);
	if (!directory)
		return;
	while ((entry = readdir(directory))) {
		uint64_t address;

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
		    is_code(entry->d_name))
			continue;
		address = address_in(dirfd(directory), entry->d_name) & ~(uint64_t)(PAGE - 1);
		if (address > range->start && address < range->end)
			range->end = address;
	}
	closedir(directory);
}

/* "name size users by state address": false for one that is not whole. */
static bool parse_module(const char *line, struct flowtap_kernel_range *range)
{
	uint64_t size;
	char state[16];

	if (sscanf(line, "%63s %" SCNu64 " %*s %*s %15s %" SCNx64, range->name, &size, state,
		   &range->start) != 4 || strcmp(state, "Live") || strchr(range->name, '/'))
		return false;
	range->end = range->start + ((size + PAGE - 1) & ~(uint64_t)(PAGE - 1));
	return range->end > range->start;
}

static int by_start(const void *a, const void *b)
{
	const struct flowtap_kernel_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* 0, what visit returned, or -errno; a kernel without modules has no such file. */
static int each_module(int (*visit)(void *argument, const struct flowtap_kernel_range *range),
		       void *argument)
{
	FILE *file = fopen("/proc/modules", "re");
	struct flowtap_kernel_range range;
	size_t length = 0;
	char *line = NULL;
	int err = 0;

	if (!file)
		return errno == ENOENT ? 0 : -errno;
	while (!err && getline(&line, &length, file) > 0)
		if (parse_module(line, &range))
			err = range.start ? visit(argument, &range) : -EPERM;
	free(line);
	fclose(file);
	return err;
}

struct list {
	struct flowtap_kernel_range *ranges;
	size_t n;
};

static int append(void *argument, const struct flowtap_kernel_range *range)
{
	struct list *list = argument;

	if (list->n == MODULES_MAX)
		return 0;
	if (FLOWTAP_GROW(list->ranges, list->n))
		return -ENOMEM;
	list->ranges[list->n++] = *range;
	return 0;
}

int flowtap_kernel_modules(struct flowtap_kernel_range **ranges, size_t *n)
{
	struct list list = { 0 };
	int saved = errno, err = each_module(append, &list);

	*ranges = NULL;
	*n = 0;
	if (err) {
		free(list.ranges);
		errno = saved;
		return err;
	}
	if (list.n)
		qsort(list.ranges, list.n, sizeof(list.ranges[0]), by_start);
	for (size_t i = 0; i < list.n; i++) {
		struct flowtap_kernel_range *range = &list.ranges[i];

		if (i + 1 < list.n && range->end > range[1].start)
			range->end = range[1].start;
		cut(range);
	}
	errno = saved;
	*ranges = list.ranges;
	*n = list.n;
	return 0;
}

static int add_to_state(void *argument, const struct flowtap_kernel_range *range)
{
	uint64_t *state = argument;

	*state = flowtap_hash(*state + range->start + range->end, range->name,
			      strlen(range->name));
	return 0;
}

int flowtap_kernel_modules_state(uint64_t *state)
{
	int saved = errno, err;

	*state = 0;
	err = each_module(add_to_state, state);
	errno = saved;
	return err;
}

/* Symbols. */

struct lines {
	bool (*wanted)(const char *module, const void *argument);
	const void *argument;
	struct flowtap_kernel_range *kernel;
	bool hidden;			/* all addresses are 0 */
	char *text;
	size_t size;
	size_t capacity;
};

static int keep(struct lines *lines, const char *line, size_t size)
{
	if (lines->size + size > lines->capacity) {
		size_t capacity = lines->capacity ? 2 * lines->capacity : 1U << 20;
		char *text;

		if (capacity > LINES_MAX)
			return -EFBIG;
		text = realloc(lines->text, capacity);
		if (!text)
			return -ENOMEM;
		lines->text = text;
		lines->capacity = capacity;
	}
	memcpy(lines->text + lines->size, line, size);
	lines->size += size;
	return 0;
}

/* "address type name", and "\t[module]". */
static int parse_line(struct lines *lines, char *line, size_t size)
{
	char *at, *name, *end, *module, text[FLOWTAP_MODULE_NAME] = "";
	uint64_t address = strtoull(line, &at, 16);

	if (at == line || at[0] != ' ' || !at[1] || at[2] != ' ')
		return 0;
	name = at + 3;
	end = name + strcspn(name, "\t\n ");
	module = strchr(end, '[');
	if (module)
		snprintf(text, sizeof(text), "%.*s", (int)strcspn(module + 1, "]\n"), module + 1);
	if (address)
		lines->hidden = false;
	if (lines->kernel && !module && end - name == 6 && !memcmp(name, "_stext", 6))
		lines->kernel->start = address;
	if (lines->kernel && !module && end - name == 6 && !memcmp(name, "_etext", 6))
		lines->kernel->end = address;
	/* Labels are more than half of it. */
	if (!strchr("tTwW", at[1]) || is_label(name) ||
	    (lines->wanted && !lines->wanted(text, lines->argument)))
		return 0;
	return keep(lines, line, size);
}

int flowtap_kernel_symbol_lines(bool (*wanted)(const char *module, const void *argument),
				const void *argument, struct flowtap_kernel_range *kernel,
				char **text, size_t *size)
{
	struct lines lines = {
		.wanted = wanted,
		.argument = argument,
		.kernel = kernel,
		.hidden = true,
	};
	int saved = errno, err = 0;
	FILE *file = fopen("/proc/kallsyms", "re");
	size_t length = 0;
	char *line = NULL;
	ssize_t n;

	if (!file)
		err = -errno;
	while (!err && (n = getline(&line, &length, file)) > 0)
		err = parse_line(&lines, line, (size_t)n);
	if (!err && lines.hidden)
		err = -EPERM;
	free(line);
	if (file)
		fclose(file);
	errno = saved;
	if (err) {
		free(lines.text);
		return err;
	}
	*text = lines.text;
	*size = lines.size;
	return 0;
}
