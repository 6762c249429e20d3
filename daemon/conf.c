// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads the file by one table of keys, each with its type, default and limits; printing it uses
 * the same table.
 */
#include "conf.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <flowtap/ini.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../tools/common/ete_options.h"
#include "../tools/common/grow.h"
#include "probe_event.h"

#define FILE_MAX (1U << 20)
#define KIB 1024ULL
#define MIB (KIB << 10)
#define GIB (MIB << 10)
#define MS 1000000ULL
#define S (1000 * MS)

enum kind { WORD, FLAG, NUMBER, SIZE, TIME, SHARE, TEXT, LIST };

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit sizes[] = {
	{ "", 1 }, { "k", KIB }, { "K", KIB }, { "M", MIB }, { "G", GIB }, { "T", GIB << 10 }, { 0 },
};

static const struct unit times[] = {
	{ "ns", 1 }, { "us", 1000 }, { "ms", MS }, { "s", S }, { "min", 60 * S }, { "h", 3600 * S },
	{ "d", 86400 * S }, { 0 },
};

static const struct unit shares[] = { { "%", 10000 }, { 0 } };
static const struct unit none[] = { { "", 1 }, { 0 } };

static const char *const sources[] = { "auto", "ctr", "ete", "soft", NULL };
static const char *const modes[] = { "user", "kernel", "user,kernel", NULL };
static const char *const formats[] = { "none", "stf", "zstf", "tarmac", "qemu4v", NULL };
static const char *const flags[] = { "no", "yes", NULL };

struct key {
	const char *section;
	const char *name;
	enum kind kind;
	size_t offset;
	const char *initial;
	uint64_t least, most;
	const char *const *words;
	bool reload;			/* takes effect while it runs */
};

#define AT(member) offsetof(struct conf, member)

static const struct key keys[] = {
	{ "record", "source", WORD, AT(source), "auto", 0, 0, sources, false },
	{ "record", "modes", WORD, AT(modes), "user", 0, 0, modes, false },
	{ "record", "period", NUMBER, AT(period), "100000", 1000, UINT32_MAX, NULL, false },
	{ "record", "on_time", TIME, AT(on_time), "1ms", 10000, 3600 * S, NULL, true },
	{ "record", "on_period", TIME, AT(on_period), "100ms", 10000, 3600 * S, NULL, true },
	{ "record", "ring_size", SIZE, AT(ring_size), "512k", 4 * KIB, 16 * MIB, NULL, false },
	{ "record", "aux_size", SIZE, AT(aux_size), "4M", 8 * KIB, 256 * MIB, NULL, false },
	{ "record", "strobe_on", TIME, AT(strobe_on), "0ns", 0, STROBE_NS_MAX, NULL, false },
	{ "record", "strobe_off", TIME, AT(strobe_off), "0ns", 0, STROBE_NS_MAX, NULL, false },
	{ "record", "overwrite", FLAG, AT(overwrite), "no", 0, 0, flags, false },
	{ "record", "kernel_text", FLAG, AT(kernel_text), "yes", 0, 0, flags, false },
	{ "tasks", "pid", LIST, AT(pids), "", 0, 0, NULL, false },
	{ "tasks", "cgroup", LIST, AT(cgroups), "", 0, 0, NULL, true },
	{ "tasks", "command", LIST, AT(commands), "", 0, 0, NULL, true },
	{ "tasks", "exclude_cgroup", LIST, AT(not_cgroups), "", 0, 0, NULL, true },
	{ "tasks", "exclude_command", LIST, AT(not_commands), "", 0, 0, NULL, true },
	{ "budget", "cpu", SHARE, AT(cpu), "1%", 100, 1000000, NULL, true },
	{ "budget", "loss", SHARE, AT(loss), "0.1%", 0, 1000000, NULL, true },
	{ "budget", "least", SHARE, AT(least), "0.1%", 1, 1000000, NULL, true },
	{ "budget", "memory", SIZE, AT(memory), "64M", 16 * MIB, 1024 * GIB, NULL, false },
	{ "segments", "directory", TEXT, AT(directory), "/var/lib/flowtap", 1, 0, NULL, false },
	{ "segments", "size", SIZE, AT(size), "64M", MIB, 1024 * GIB, NULL, true },
	{ "segments", "time", TIME, AT(time), "10min", S, 30 * 86400 * S, NULL, true },
	{ "segments", "quota", SIZE, AT(quota), "2G", 0, UINT64_MAX >> 1, NULL, true },
	{ "segments", "free", SIZE, AT(free), "1G", 0, UINT64_MAX >> 1, NULL, true },
	{ "segments", "compress", FLAG, AT(compress), "yes", 0, 0, flags, true },
	{ "segments", "images", FLAG, AT(images), "yes", 0, 0, flags, false },
	{ "snapshot", "size", SIZE, AT(snapshot_size), "8M", 4 * KIB, GIB, NULL, false },
	{ "snapshot", "crash", FLAG, AT(crash), "no", 0, 0, flags, false },
	{ "snapshot", "uprobe", LIST, AT(uprobes), "", 0, 0, NULL, false },
	{ "snapshot", "tracepoint", LIST, AT(tracepoints), "", 0, 0, NULL, false },
	{ "snapshot", "latency", LIST, AT(latencies), "", 0, 0, NULL, false },
	{ "snapshot", "pause", TIME, AT(pause), "1s", 0, 3600 * S, NULL, false },
	{ "decode", "format", WORD, AT(format), "none", 0, 0, formats, true },
	{ "decode", "waiting", NUMBER, AT(waiting), "8", 1, 1000000, NULL, true },
	{ "control", "socket", TEXT, AT(socket), "/run/flowtap/control", 1, 0, NULL, false },
	{ "control", "group", TEXT, AT(group), "", 0, 0, NULL, false },
	{ "control", "metrics", TEXT, AT(metrics), "/run/flowtap/metrics", 0, 0, NULL, false },
	{ "service", "user", TEXT, AT(user), "", 0, 0, NULL, false },
};

#define KEYS (sizeof(keys) / sizeof(keys[0]))

/* What went wrong; the text is the caller's. */
struct complaint {
	const char *path;
	unsigned int line;
	char **text;
	int error;
};

static int __attribute__((format(printf, 3, 4)))
wrong(struct complaint *complaint, int error, const char *format, ...)
{
	char *what = NULL;
	va_list ap;

	if (complaint->error)
		return complaint->error;
	complaint->error = error;
	va_start(ap, format);
	if (vasprintf(&what, format, ap) < 0)
		what = NULL;
	va_end(ap);
	*complaint->text = NULL;
	if (what && (complaint->line ?
		     asprintf(complaint->text, "%s:%u: %s", complaint->path, complaint->line, what) :
		     asprintf(complaint->text, "%s: %s", complaint->path, what)) < 0)
		*complaint->text = NULL;
	free(what);
	return error;
}

/* --- Values. --- */

static void *member(struct conf *conf, const struct key *key)
{
	return (char *)conf + key->offset;
}

static const struct unit *units_of(enum kind kind)
{
	return kind == SIZE ? sizes : kind == TIME ? times : kind == SHARE ? shares : none;
}

/* Digits, maybe with a point, and a unit. False: it is none, or too great. */
static bool parse_amount(const char *text, const struct unit *units, uint64_t *value)
{
	uint64_t whole = 0, part = 0, scale = 1;
	unsigned __int128 fraction;
	const char *at = text;

	for (; isdigit((unsigned char)*at); at++)
		if (__builtin_mul_overflow(whole, 10, &whole) ||
		    __builtin_add_overflow(whole, *at - '0', &whole))
			return false;
	if (at == text)
		return false;
	if (*at == '.') {
		if (!isdigit((unsigned char)*++at))
			return false;
		for (; isdigit((unsigned char)*at); at++) {
			if (scale == 1000000)
				return false;
			part = 10 * part + (*at - '0');
			scale *= 10;
		}
	}
	while (*at == ' ')
		at++;
	for (; units->name; units++) {
		if (strcmp(at, units->name))
			continue;
		/* A part of a day has more ns, times a million, than 64 bits. */
		fraction = (unsigned __int128)part * units->factor;
		/* Half a byte is nothing. */
		if (fraction % scale)
			return false;
		return !__builtin_mul_overflow(whole, units->factor, value) &&
		       !__builtin_add_overflow(*value, (uint64_t)(fraction / scale), value);
	}
	return false;
}

/* So that parse_amount reads it again: the greatest unit that is whole. */
static void print_amount(char text[32], const struct unit *units, uint64_t value)
{
	const struct unit *best = NULL;

	for (const struct unit *unit = units; unit->name; unit++)
		if ((!best || unit->factor > best->factor) && value % unit->factor == 0 &&
		    (value || !best))
			best = unit;
	if (best)
		snprintf(text, 32, "%" PRIu64 "%s", value / best->factor, best->name);
	else
		snprintf(text, 32, "%" PRIu64 ".%04" PRIu64 "%s", value / units->factor,
			 value % units->factor, units->name);
}

static int set_word(struct conf *conf, const struct key *key, const char *value,
		    struct complaint *complaint)
{
	char list[128] = "";

	for (uint32_t i = 0; key->words[i]; i++) {
		if (!strcmp(value, key->words[i])) {
			if (key->kind == FLAG)
				*(bool *)member(conf, key) = i;
			else
				*(uint32_t *)member(conf, key) = i;
			return 0;
		}
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? " | " : "",
			 key->words[i]);
	}
	return wrong(complaint, -EINVAL, "%s = %.80s: it is one of %s", key->name, value, list);
}

static int set_amount(struct conf *conf, const struct key *key, const char *value,
		      struct complaint *complaint)
{
	const struct unit *units = units_of(key->kind);
	char least[32], most[32];
	uint64_t amount;

	if (parse_amount(value, units, &amount) && amount >= key->least && amount <= key->most) {
		if (key->kind == SHARE)
			*(uint32_t *)member(conf, key) = (uint32_t)amount;
		else
			*(uint64_t *)member(conf, key) = amount;
		return 0;
	}
	print_amount(least, units, key->least);
	print_amount(most, units, key->most);
	return wrong(complaint, -EINVAL, "%s = %.80s: it is %s from %s to %s", key->name, value,
		     key->kind == SIZE ? "a size (bytes, or with k, M, G, T)" :
		     key->kind == TIME ? "a time (with ns, us, ms, s, min, h, d)" :
		     key->kind == SHARE ? "a share (with %)" : "a number", least, most);
}

static int set_text(struct conf *conf, const struct key *key, const char *value,
		    struct complaint *complaint)
{
	char **text = member(conf, key), *copy;

	if (key->least && value[0] != '/')
		return wrong(complaint, -EINVAL, "%s = %.80s: it is a path that begins with /",
			     key->name, value);
	copy = strdup(value);
	if (!copy)
		return wrong(complaint, -ENOMEM, "no memory");
	free(*text);
	*text = copy;
	return 0;
}

size_t conf_probes(const struct conf *conf)
{
	return conf->uprobes.n + conf->tracepoints.n + conf->latencies.n;
}

bool conf_function(const char *item, bool timed, struct conf_function *function)
{
	const char *blank = timed ? strrchr(item, ' ') : NULL, *colon;
	const char *end = blank ? blank : item + strlen(item);

	function->limit = 0;
	if (timed && (!blank || !parse_amount(blank + 1, times, &function->limit) || !function->limit))
		return false;
	while (end > item && end[-1] == ' ')
		end--;
	colon = memrchr(item, ':', (size_t)(end - item));
	if (item[0] != '/' || !colon || colon + 1 == end || end - item > CONF_TEXT_MAX)
		return false;
	snprintf(function->path, sizeof(function->path), "%.*s", (int)(colon - item), item);
	snprintf(function->name, sizeof(function->name), "%.*s", (int)(end - colon - 1), colon + 1);
	return true;
}

/* What is wrong with an item of a list: what it is to be; NULL: nothing. */
static const char *bad_item(const struct conf *conf, const struct conf_list *list, const char *item)
{
	struct conf_function function;
	uint64_t number;

	if (list == &conf->pids && (!parse_amount(item, none, &number) || !number || number > INT32_MAX))
		return "the number of a process";
	if (list == &conf->uprobes && !conf_function(item, false, &function))
		return "/FILE:FUNCTION";
	if (list == &conf->latencies && !conf_function(item, true, &function))
		return "/FILE:FUNCTION and a time (with ns, us, ms, s)";
	if (list == &conf->tracepoints && item[strspn(item, "abcdefghijklmnopqrstuvwxyz"
						      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")])
		return "the name of a tracepoint, without its group";
	return NULL;
}

static int add_item(struct conf_list *list, const char *item)
{
	int error = GROW_BY_ONE(list->items, list->n);

	if (error)
		return error;
	list->items[list->n] = strdup(item);
	return list->items[list->n] ? (list->n++, 0) : -ENOMEM;
}

/* A comma separates; the key may come again. */
static int add_list(struct conf *conf, const struct key *key, const char *value,
		    struct complaint *complaint)
{
	struct conf_list *list = member(conf, key);
	char *copy = strdup(value), *rest = copy, *item;
	const char *right;
	int error = copy ? 0 : wrong(complaint, -ENOMEM, "no memory");

	while (!error && (item = flowtap_ini_next(&rest))) {
		if (list->n == CONF_LIST_MAX)
			error = wrong(complaint, -E2BIG, "more than %d of %s", CONF_LIST_MAX,
				      key->name);
		else if ((right = bad_item(conf, list, item)))
			error = wrong(complaint, -EINVAL, "%s = %.80s: it is %s", key->name, item, right);
		else if ((list == &conf->cgroups || list == &conf->not_cgroups) &&
			 strlen(item) > CONF_CGROUP_MAX)
			error = wrong(complaint, -EINVAL, "%s = %.80s...: it is a path of up to %d bytes",
				      key->name, item, CONF_CGROUP_MAX);
		else if (add_item(list, item))
			error = wrong(complaint, -ENOMEM, "no memory");
	}
	free(copy);
	return error;
}

static int set(struct conf *conf, const struct key *key, const char *value,
	       struct complaint *complaint)
{
	switch (key->kind) {
	case WORD:
	case FLAG:
		return set_word(conf, key, value, complaint);
	case TEXT:
		return set_text(conf, key, value, complaint);
	case LIST:
		return add_list(conf, key, value, complaint);
	default:
		return set_amount(conf, key, value, complaint);
	}
}

/* --- The file. --- */

struct reading {
	struct conf *conf;
	struct complaint *complaint;
};

static bool is_section(const char *name)
{
	for (size_t i = 0; i < KEYS; i++)
		if (!strcmp(keys[i].section, name))
			return true;
	return false;
}

static int take(void *argument, const struct flowtap_ini_line *line)
{
	struct reading *reading = argument;
	struct complaint *complaint = reading->complaint;
	const char *elsewhere = NULL;

	complaint->line = line->number;
	if (!line->key) {
		if (is_section(line->section))
			return 0;
		return wrong(complaint, -EINVAL, "there is no section [%.80s]: record, tasks, budget, "
			     "segments, snapshot, decode, control, service are there", line->section);
	}
	if (!*line->key)
		return wrong(complaint, -EINVAL, "'%.80s' is neither [section] nor key = value",
			     line->value);
	if (strlen(line->value) > CONF_TEXT_MAX)
		return wrong(complaint, -E2BIG, "%.80s: the value is longer than %d bytes", line->key,
			     CONF_TEXT_MAX);
	for (size_t i = 0; i < KEYS; i++) {
		if (strcmp(keys[i].name, line->key))
			continue;
		if (!strcmp(keys[i].section, line->section))
			return set(reading->conf, &keys[i], line->value, complaint);
		elsewhere = keys[i].section;
	}
	if (elsewhere)
		return wrong(complaint, -EINVAL, "%s stands in section [%s], not in [%.80s]", line->key,
			     elsewhere, line->section);
	return wrong(complaint, -EINVAL, "there is no key %.80s", line->key);
}

/* What each value allows and all together do not. */
static int check(const struct conf *conf, struct complaint *complaint)
{
	complaint->line = 0;
	if (conf->on_time > conf->on_period)
		return wrong(complaint, -EINVAL, "[record] on_time is longer than on_period: lower it, "
			     "or make both equal to record all the time");
	if ((conf->ring_size & (conf->ring_size - 1)) || (conf->aux_size & (conf->aux_size - 1)))
		return wrong(complaint, -EINVAL, "[record] ring_size and aux_size are powers of two: 512k, "
			     "1M, 2M ...");
	if ((conf->strobe_on || conf->strobe_off) &&
	    (conf->strobe_on < STROBE_NS_MIN || conf->strobe_off < STROBE_NS_MIN))
		return wrong(complaint, -EINVAL, "[record] strobe_on and strobe_off are both at least "
			     "100us, or both 0ns for none");
	if (conf_probes(conf) > PROBE_MAX)
		return wrong(complaint, -E2BIG, "[snapshot] more than %d of uprobe, tracepoint and latency "
			     "together", PROBE_MAX);
	/* While one is being written the one before it stays. */
	if (conf->quota && conf->quota / 2 < conf->size)
		return wrong(complaint, -EINVAL, "[segments] quota is less than two segments of that "
			     "size: raise quota or lower size");
	return 0;
}

static int read_file(const char *path, char **text, size_t *size, struct complaint *complaint)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat stat;
	ssize_t n = 0;
	int error = 0;

	*size = 0;
	*text = fd < 0 ? NULL : malloc(FILE_MAX + 2);
	if (fd < 0 || fstat(fd, &stat))
		error = wrong(complaint, -errno, "%s", strerror(errno));
	else if (!*text)
		error = wrong(complaint, -ENOMEM, "no memory");
	else if (S_ISDIR(stat.st_mode))
		error = wrong(complaint, -EISDIR, "%s", strerror(EISDIR));
	while (!error && *size <= FILE_MAX && (n = read(fd, *text + *size, FILE_MAX + 1 - *size)) > 0)
		*size += (size_t)n;
	if (!error && n < 0)
		error = wrong(complaint, -errno, "%s", strerror(errno));
	if (!error && *size > FILE_MAX)
		error = wrong(complaint, -E2BIG, "longer than %u bytes", FILE_MAX);
	if (fd >= 0)
		close(fd);
	return error;
}

int conf_default(struct conf *conf)
{
	char *text = NULL;
	struct complaint complaint = { .path = "", .text = &text };
	int error = 0;

	*conf = (struct conf){ 0 };
	for (size_t i = 0; i < KEYS && !error; i++)
		error = set(conf, &keys[i], keys[i].initial, &complaint);
	free(text);
	if (error)
		conf_free(conf);
	return error;
}

int conf_load(const char *path, struct conf *conf, char **error)
{
	struct complaint complaint = { .path = path, .text = error };
	struct reading reading = { .conf = conf, .complaint = &complaint };
	char *text = NULL;
	size_t size;

	*error = NULL;
	if (conf_default(conf))
		return wrong(&complaint, -ENOMEM, "no memory");
	if (!read_file(path, &text, &size, &complaint) &&
	    !flowtap_ini_read(text, size, take, &reading))
		check(conf, &complaint);
	free(text);
	if (complaint.error)
		conf_free(conf);
	return complaint.error;
}

/* --- What takes effect when it is started again. --- */

static bool same_lists(const struct conf_list *one, const struct conf_list *other)
{
	if (one->n != other->n)
		return false;
	for (size_t i = 0; i < one->n; i++)
		if (strcmp(one->items[i], other->items[i]))
			return false;
	return true;
}

static bool same(const struct key *key, const struct conf *one, const struct conf *other)
{
	const void *a = (const char *)one + key->offset, *b = (const char *)other + key->offset;

	switch (key->kind) {
	case WORD:
	case SHARE:
		return *(const uint32_t *)a == *(const uint32_t *)b;
	case FLAG:
		return *(const bool *)a == *(const bool *)b;
	case TEXT:
		return !strcmp(*(char *const *)a, *(char *const *)b);
	case LIST:
		return same_lists(a, b);
	default:
		return *(const uint64_t *)a == *(const uint64_t *)b;
	}
}

void conf_unapplied(const struct conf *holds, const struct conf *read, char text[CONF_UNAPPLIED])
{
	const char *section = "";
	size_t n = 0;

	text[0] = 0;
	for (size_t i = 0; i < KEYS; i++) {
		const struct key *key = &keys[i];

		if (key->reload || same(key, holds, read) || n >= CONF_UNAPPLIED)
			continue;
		if (strcmp(section, key->section))
			n += (size_t)snprintf(text + n, CONF_UNAPPLIED - n, "%s[%s] %s", n ? ", " : "",
					      key->section, key->name);
		else
			n += (size_t)snprintf(text + n, CONF_UNAPPLIED - n, ", %s", key->name);
		section = key->section;
	}
}

/* --- Back to text. --- */

static void print_key(FILE *file, const struct conf *conf, const struct key *key)
{
	const void *value = (const char *)conf + key->offset;
	const struct conf_list *list = value;
	char text[32];

	switch (key->kind) {
	case WORD:
		fprintf(file, "%s = %s\n", key->name, key->words[*(const uint32_t *)value]);
		break;
	case FLAG:
		fprintf(file, "%s = %s\n", key->name, key->words[*(const bool *)value]);
		break;
	case TEXT:
		fprintf(file, "%s = \"%s\"\n", key->name, *(char *const *)value);
		break;
	case LIST:
		for (size_t i = 0; i < list->n; i++)
			fprintf(file, "%s = %s\n", key->name, list->items[i]);
		break;
	default:
		print_amount(text, units_of(key->kind),
			     key->kind == SHARE ? *(const uint32_t *)value :
						  *(const uint64_t *)value);
		fprintf(file, "%s = %s\n", key->name, text);
	}
}

int conf_print(const struct conf *conf, int fd)
{
	int copy = dup(fd), error = copy < 0 ? -errno : 0;
	FILE *file = copy < 0 ? NULL : fdopen(copy, "w");

	for (size_t i = 0; i < KEYS && file; i++) {
		if (!i || strcmp(keys[i].section, keys[i - 1].section))
			fprintf(file, "%s[%s]\n", i ? "\n" : "", keys[i].section);
		print_key(file, conf, &keys[i]);
	}
	if (file && ferror(file))
		error = -EIO;
	if (file && fclose(file) && !error)
		error = -errno;
	return error;
}

void conf_free(struct conf *conf)
{
	for (size_t i = 0; i < KEYS; i++) {
		struct conf_list *list = member(conf, &keys[i]);

		if (keys[i].kind == TEXT)
			free(*(char **)member(conf, &keys[i]));
		for (size_t k = 0; keys[i].kind == LIST && k < list->n; k++)
			free(list->items[k]);
		if (keys[i].kind == LIST)
			free(list->items);
	}
	*conf = (struct conf){ 0 };
}
