// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The .ini files of a snapshot, one after the other, into tables. */
#include "formats/snapshot/internal.h"

#include <errno.h>
#include <flowtap/ini.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/read_at.h"
#include "base/vector.h"
#include "code/locate.h"

#define LIST_MAX (1U << 20)	/* bytes of a file that says what belongs together */
#define FILE_MAX (16U << 20)	/* of any other; people and tools write no longer ones */
#define TEXTS_MAX (256U << 20)	/* of all files */

const char *const flowtap_snapshot_registers[REGISTERS] = {
	[REGISTER_CONFIGR] = "TRCCONFIGR",
	[REGISTER_TRACEIDR] = "TRCTRACEIDR",
	[REGISTER_DEVARCH] = "TRCDEVARCH",
	[REGISTER_IDR0] = "TRCIDR0",
	[REGISTER_IDR1] = "TRCIDR1",
	[REGISTER_IDR2] = "TRCIDR2",
	[REGISTER_IDR8] = "TRCIDR8",
};

/* A file that is being read. */
struct reading {
	struct flowtap_snapshot *snapshot;
	const char *file;
	struct snapshot_device *device;
	struct snapshot_dump *dump;
	struct snapshot_section *section;
};

static bool parse(const char *text, uint64_t *value)
{
	char *end;
	int saved = errno;
	bool good;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*value = strtoull(text, &end, 0);
	good = !errno && !*end;
	errno = saved;
	return good;
}

/* Without regard to case, up to a '(': TRCIDR0(0x3FD8) is TRCIDR0. */
static bool is(const char *key, const char *name)
{
	size_t size = strcspn(key, "(");

	while (size && strchr(" \t\r\f\v", key[size - 1]))
		size--;
	return size == strlen(name) && !strncasecmp(key, name, size);
}

static int too_many(const struct reading *reading, const char *what)
{
	flowtap_snapshot_add_note(reading->snapshot, "%s: too many %s", reading->file, what);
	return -E2BIG;
}

static int malformed(const struct reading *reading, const struct flowtap_ini_line *line)
{
	flowtap_snapshot_add_note(reading->snapshot,
				  "%s: line %u: '%.60s' is neither [section] nor key=value",
				  reading->file, line->number, line->value);
	return -EINVAL;
}

static int add_pair(const struct reading *reading, struct snapshot_pairs *pairs,
		    const struct flowtap_ini_line *line)
{
	if (pairs->n == FLOWTAP_SNAPSHOT_PARTS)
		return too_many(reading, line->section);
	if (FLOWTAP_GROW(pairs->list, pairs->n))
		return -ENOMEM;
	pairs->list[pairs->n++] = (struct snapshot_pair){ .key = line->key, .value = line->value };
	return 0;
}

/* --- snapshot.ini --- */

static int parse_top(void *argument, const struct flowtap_ini_line *line)
{
	struct reading *reading = argument;
	struct flowtap_snapshot *snapshot = reading->snapshot;
	bool devices = !strcasecmp(line->section, "device_list");
	bool trace = !strcasecmp(line->section, "trace");

	if (!line->key || (!devices && !trace))
		return 0;
	if (!*line->key)
		return malformed(reading, line);
	if (devices)
		return add_pair(reading, &snapshot->device_files, line);
	if (is(line->key, "metadata"))
		snapshot->metadata = line->value;
	return 0;
}

/* --- A device --- */

static int begin_dump(struct reading *reading, const char *section)
{
	struct flowtap_snapshot *snapshot = reading->snapshot;

	if (snapshot->n_dumps == FLOWTAP_SNAPSHOT_DUMPS)
		return too_many(reading, "dumps");
	if (FLOWTAP_GROW(snapshot->dumps, snapshot->n_dumps))
		return -ENOMEM;
	reading->dump = &snapshot->dumps[snapshot->n_dumps++];
	*reading->dump = (struct snapshot_dump){ .section = section, .file = "" };
	reading->device->n_dumps++;
	return 0;
}

static void parse_dump(struct snapshot_dump *dump, const struct flowtap_ini_line *line)
{
	uint64_t *number = NULL;

	if (is(line->key, "file")) {
		dump->file = line->value;
	} else if (is(line->key, "space")) {
		dump->spaces = flowtap_memory_space(line->value);
		/* What the reference decoder does not know it takes for any space, too. */
	} else if (is(line->key, "address")) {
		number = &dump->address;
		dump->has_address = true;
	} else if (is(line->key, "length")) {
		number = &dump->length;
	} else if (is(line->key, "offset")) {
		number = &dump->offset;
	}
	if (number && !parse(line->value, number))
		dump->bad = line->value;
}

static void parse_register(struct snapshot_device *device, const struct flowtap_ini_line *line)
{
	for (size_t i = 0; i < REGISTERS; i++) {
		if (!is(line->key, flowtap_snapshot_registers[i]))
			continue;
		device->has[i] = true;
		if (!parse(line->value, &device->registers[i]) ||
		    device->registers[i] > UINT32_MAX)
			device->bad = flowtap_snapshot_registers[i];
	}
}

static int parse_device(void *argument, const struct flowtap_ini_line *line)
{
	struct reading *reading = argument;
	struct snapshot_device *device = reading->device;
	bool is_device = !strcasecmp(line->section, "device");
	bool is_dump = !strncasecmp(line->section, "dump", 4);

	if (!line->key) {
		reading->dump = NULL;
		return is_dump ? begin_dump(reading, line->section) : 0;
	}
	if (is_dump || is_device || !strcasecmp(line->section, "regs")) {
		if (!*line->key)
			return malformed(reading, line);
	}
	if (is_dump)
		parse_dump(reading->dump, line);
	else if (!strcasecmp(line->section, "regs"))
		parse_register(device, line);
	else if (is_device && is(line->key, "name"))
		device->name = line->value;
	else if (is_device && is(line->key, "class"))
		device->class = line->value;
	else if (is_device && is(line->key, "type"))
		device->type = line->value;
	return 0;
}

/* --- trace.ini --- */

static int begin_section(struct reading *reading, const char *name)
{
	struct flowtap_snapshot *snapshot = reading->snapshot;

	if (snapshot->n_sections == FLOWTAP_SNAPSHOT_PARTS)
		return too_many(reading, "sections");
	if (FLOWTAP_GROW(snapshot->sections, snapshot->n_sections))
		return -ENOMEM;
	reading->section = &snapshot->sections[snapshot->n_sections++];
	*reading->section = (struct snapshot_section){
		.name = name, .buffer = name, .file = "", .format = "",
	};
	return 0;
}

static int parse_section(struct reading *reading, const struct flowtap_ini_line *line)
{
	/*
	 * Sections that no buffer has may hold anything: reported when one is needed. One whose first
	 * line is damaged was not begun, and is not the one before it.
	 */
	if (!reading->section || reading->section->name != line->section || !*line->key)
		return 0;
	if (is(line->key, "name"))
		reading->section->buffer = line->value;
	else if (is(line->key, "file"))
		reading->section->file = line->value;
	else if (is(line->key, "format"))
		reading->section->format = line->value;
	return 0;
}

static int parse_trace(void *argument, const struct flowtap_ini_line *line)
{
	static const char *const names[] = {
		"trace_buffers", "source_buffers", "core_trace_sources",
	};
	struct reading *reading = argument;
	struct flowtap_snapshot *snapshot = reading->snapshot;
	size_t which = 0;

	while (which < 3 && strcasecmp(line->section, names[which]))
		which++;
	if (!line->key) {
		reading->section = NULL;
		return which == 3 ? begin_section(reading, line->section) : 0;
	}
	if (which == 3)
		return parse_section(reading, line);
	if (!*line->key)
		return malformed(reading, line);
	if (which == 1)
		return add_pair(reading, &snapshot->source_buffers, line);
	if (which == 2)
		return add_pair(reading, &snapshot->core_sources, line);
	if (is(line->key, "buffers"))
		snapshot->buffer_list = (char *)(uintptr_t)line->value;
	return 0;
}

/* --- All --- */

static int load(struct flowtap_snapshot *snapshot, int fd, off_t most, char **text, size_t *size)
{
	struct stat status;
	int error;

	if (FLOWTAP_GROW(snapshot->texts, snapshot->n_texts))
		return -ENOMEM;
	if (fstat(fd, &status))
		return -errno;
	if (status.st_size > most ||
	    (size_t)status.st_size > TEXTS_MAX - snapshot->text_bytes)
		return -EFBIG;
	*text = malloc((size_t)status.st_size + 1);
	if (!*text)
		return -ENOMEM;
	snapshot->texts[snapshot->n_texts++] = *text;
	snapshot->text_bytes += (size_t)status.st_size;
	*size = flowtap_read_at(fd, *text, (size_t)status.st_size, 0, &error);
	return error;
}

static int read_file(struct reading *reading,
		     int (*take)(void *argument, const struct flowtap_ini_line *line))
{
	struct flowtap_snapshot *snapshot = reading->snapshot;
	int fd = flowtap_locate_in(snapshot->directory, reading->file), error = fd;
	char *text = NULL;
	size_t size = 0;

	if (fd >= 0) {
		error = load(snapshot, fd, reading->device ? FILE_MAX : LIST_MAX, &text,
			     &size);
		close(fd);
	}
	if (error < 0) {
		flowtap_snapshot_add_note(snapshot, "%s: %s", reading->file,
					  error == -ENOEXEC ? "not a regular file"
							    : strerrordesc_np(-error));
		return error;
	}
	if (size >= 2 && (!memcmp(text, "\xff\xfe", 2) || !memcmp(text, "\xfe\xff", 2))) {
		flowtap_snapshot_add_note(snapshot, "%s: it is UTF-16: save it as UTF-8",
					  reading->file);
		return -EINVAL;
	}
	return flowtap_ini_read(text, size, take, reading);
}

/* The number at the end of a name, else the one that is given. */
static uint32_t number_of(const char *name, uint32_t other)
{
	size_t size = strlen(name), digits = 0;
	uint64_t number;

	while (digits < size && digits < 9 && name[size - 1 - digits] >= '0' &&
	       name[size - 1 - digits] <= '9')
		digits++;
	if (!digits)
		return other;
	number = strtoull(name + size - digits, NULL, 10);
	return (uint32_t)number;
}

static bool is_core(const struct snapshot_device *device)
{
	return !strcasecmp(device->class, "core");
}

static bool have_same_number(const struct flowtap_snapshot *snapshot)
{
	const struct snapshot_device *devices = snapshot->devices;

	for (size_t i = 0; i < snapshot->n_devices; i++)
		for (size_t j = 0; j < i; j++)
			if (is_core(&devices[i]) && is_core(&devices[j]) &&
			    devices[i].number == devices[j].number)
				return true;
	return false;
}

/* Cortex-A53_0 and Cortex-A72_0 are two processors: then the order in the list says which is which. */
static void tell_cores_apart(struct flowtap_snapshot *snapshot)
{
	uint32_t number = 0;

	if (!have_same_number(snapshot))
		return;
	for (size_t i = 0; i < snapshot->n_devices; i++)
		if (is_core(&snapshot->devices[i]))
			snapshot->devices[i].number = number++;
}

/* Nothing is known of what is in such a file, as of one that is not there. */
static bool cannot_be_had(int error)
{
	return error == -ENOENT || error == -ENOEXEC || error == -EACCES || error == -ELOOP ||
	       error == -ENOTDIR || error == -ENAMETOOLONG;
}

static int read_devices(struct flowtap_snapshot *snapshot)
{
	uint32_t cores = 0;

	snapshot->devices = calloc(snapshot->device_files.n + 1, sizeof(snapshot->devices[0]));
	if (!snapshot->devices)
		return -ENOMEM;
	for (size_t i = 0; i < snapshot->device_files.n; i++) {
		struct snapshot_device *device = &snapshot->devices[snapshot->n_devices];
		struct reading reading = {
			.snapshot = snapshot,
			.file = snapshot->device_files.list[i].value,
			.device = device,
		};
		int error;

		*device = (struct snapshot_device){
			.file = reading.file, .name = "", .class = "", .type = "",
			.first_dump = snapshot->n_dumps,
		};
		error = read_file(&reading, parse_device);
		/* It may be one that nobody needs: there is a note of it. */
		if (cannot_be_had(error))
			continue;
		if (error)
			return error;
		if (is_core(device))
			device->number = number_of(device->name, cores++);
		snapshot->n_devices++;
	}
	tell_cores_apart(snapshot);
	return 0;
}

int flowtap_snapshot_read(struct flowtap_snapshot *snapshot)
{
	struct reading top = { .snapshot = snapshot, .file = "snapshot.ini" };
	struct reading trace = { .snapshot = snapshot };
	int error = read_file(&top, parse_top);

	if (error)
		return error;
	if (!snapshot->device_files.n) {
		flowtap_snapshot_add_note(snapshot, "snapshot.ini: [device_list] names no device");
		return -EINVAL;
	}
	if (!snapshot->metadata) {
		flowtap_snapshot_add_note(snapshot, "snapshot.ini: [trace] has no metadata=FILE");
		return -EINVAL;
	}
	trace.file = snapshot->metadata;
	error = read_file(&trace, parse_trace);
	return error ? error : read_devices(snapshot);
}
