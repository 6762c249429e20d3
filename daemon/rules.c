// SPDX-License-Identifier: GPL-2.0-only
/* Compiles the lists of [tasks] to patterns, and reads from /proc what they are matched with. */
#include "rules.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PF_KTHREAD 0x200000

bool rules_any(const struct conf *conf)
{
	return !rules_wide(conf) || conf->not_cgroups.n || conf->not_commands.n;
}

bool rules_wide(const struct conf *conf)
{
	return !(conf->pids.n || conf->cgroups.n || conf->commands.n);
}

/* --- Patterns. --- */

/* After a bracket expression; NULL: there is no end of it, and the bracket stands for itself. */
static const char *skip_bracket(const char *at)
{
	at++;
	if (*at == '!' || *at == '^')
		at++;
	for (bool first = true; *at && (*at != ']' || first); first = false) {
		if (*at == '[' && at[1] && strchr(":.=", at[1])) {
			const char end[] = { at[1], ']', 0 }, *next = strstr(at + 2, end);

			if (next) {
				at = next + 2;
				continue;
			}
		}
		if (*at == '\\' && at[1])
			at++;
		at++;
	}
	return *at ? at + 1 : NULL;
}

/* After what one character is matched by. */
static const char *skip_item(const char *at)
{
	const char *next = *at == '[' ? skip_bracket(at) : NULL;

	if (next)
		return next;
	return *at == '\\' && at[1] ? at + 2 : at + 1;
}

void rules_compile_pattern(const char *text, struct choice_pattern *pattern)
{
	char item[CONF_TEXT_MAX + 1];
	unsigned int n = 0;

	memset(pattern, 0, sizeof(*pattern));
	while (*text) {
		const char *next = skip_item(text);
		const size_t size = (size_t)(next - text);

		if (*text == '*') {
			pattern->loops |= (__u16)(1U << n);
			text = next;
			continue;
		}
		/* Longer than a name can be. */
		if (n == CHOICE_COMM - 1 || size >= sizeof(item))
			return;
		memcpy(item, text, size);
		item[size] = 0;
		for (int byte = 1; byte < 256; byte++) {
			const char name[] = { (char)byte, 0 };

			if (!fnmatch(item, name, 0))
				pattern->takes[byte] |= (__u16)(1U << n);
		}
		n++;
		text = next;
	}
	pattern->ends = (__u16)(1U << n);
}

static void compile(const struct conf_list *list, enum choice_kind kind, struct choice_rules *rules)
{
	rules->n[kind] = (__u32)list->n;
	for (size_t i = 0; i < list->n; i++)
		rules_compile_pattern(list->items[i], &rules->patterns[kind][i]);
}

void rules_compile(const struct conf *conf, struct choice_rules *rules)
{
	compile(&conf->commands, CHOICE_COMMANDS, rules);
	compile(&conf->not_commands, CHOICE_NOT_COMMANDS, rules);
	rules->some = !rules_wide(conf);
}

static bool any_matches(const struct choice_rules *rules, enum choice_kind kind, const char *comm)
{
	for (__u32 i = 0; i < rules->n[kind]; i++)
		if (choice_matches(&rules->patterns[kind][i], comm))
			return true;
	return false;
}

/* --- Cgroups. --- */

void rules_path(const char *text, const char *mount, char path[CHOICE_PATH])
{
	const size_t size = mount ? strlen(mount) : 0;
	int n;

	if (size > 1 && !strncmp(text, mount, size) && (!text[size] || text[size] == '/'))
		text += size;
	while (*text == '/')
		text++;
	n = snprintf(path, CHOICE_PATH, "/%s", text);
	while (n > 1 && n < CHOICE_PATH && path[n - 1] == '/')
		path[--n] = 0;
}

static bool is_below(const char *path, const char *above)
{
	const size_t size = strlen(above);

	return !strcmp(above, "/") ||
	       (!strncmp(path, above, size) && (!path[size] || path[size] == '/'));
}

static bool any_above(const struct conf_list *list, const char *mount, const char *path)
{
	char above[CHOICE_PATH];

	for (size_t i = 0; i < list->n && *path; i++) {
		rules_path(list->items[i], mount, above);
		if (is_below(path, above))
			return true;
	}
	return false;
}

uint32_t rules_cgroup(const struct conf *conf, const char *mount, const char *path)
{
	return (any_above(&conf->cgroups, mount, path) ? CHOICE_WANTED : 0) |
	       (any_above(&conf->not_cgroups, mount, path) ? CHOICE_UNWANTED : 0);
}

bool rules_want(const struct conf *conf, const struct choice_rules *rules, const char *mount,
		const struct rules_process *process, uint32_t flags)
{
	uint32_t of_cgroup = rules_cgroup(conf, mount, process->cgroup);

	if (flags & CHOICE_OWN || of_cgroup & CHOICE_UNWANTED ||
	    any_matches(rules, CHOICE_NOT_COMMANDS, process->comm))
		return false;
	return !rules->some || (flags | of_cgroup) & CHOICE_WANTED ||
	       any_matches(rules, CHOICE_COMMANDS, process->comm);
}

/* --- /proc. --- */

bool rules_parse(const char *stat, const char *cgroup, struct rules_process *process)
{
	const char *name = strchr(stat, '('), *end = strrchr(stat, ')'), *line;
	unsigned int flags;
	int n;

	memset(process, 0, sizeof(*process));
	if (!name || !end || end < name || sscanf(stat, "%" SCNu32, &process->pid) != 1 ||
	    sscanf(end + 1, " %*c %" SCNu32 " %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d "
		   "%*d %*d %*d %*d %" SCNu64, &process->parent, &flags, &process->started) != 3)
		return false;
	n = (int)(end - name - 1);
	snprintf(process->comm, sizeof(process->comm), "%.*s", n, name + 1);
	process->kernel = flags & PF_KTHREAD;
	for (line = cgroup; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		if (!strncmp(line, "0::", 3))
			snprintf(process->cgroup, sizeof(process->cgroup), "%.*s",
				 (int)strcspn(line + 3, "\n"), line + 3);
	return true;
}

static bool read_text(uint32_t pid, const char *name, char *text, size_t size)
{
	char path[64];
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/%s", pid, name);
	file = fopen(path, "re");
	if (!file)
		return false;
	n = fread(text, 1, size - 1, file);
	text[n] = 0;
	fclose(file);
	return n;
}

bool rules_look(uint32_t pid, struct rules_process *process)
{
	static char stat[1024], cgroup[8192];

	if (!read_text(pid, "stat", stat, sizeof(stat)))
		return false;
	if (!read_text(pid, "cgroup", cgroup, sizeof(cgroup)))
		cgroup[0] = 0;
	return rules_parse(stat, cgroup, process) && process->pid == pid;
}
