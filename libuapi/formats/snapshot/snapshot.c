// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* What belongs together in a snapshot: buffers, trace units, processors and memory. */
#include "formats/snapshot/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <flowtap/ini.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/vector.h"
#include "code/locate.h"

#define TRACE_ID_LAST 0x6f	/* of trace units in frames (IHI 0029, D4) */

void flowtap_snapshot_add_note(const struct flowtap_snapshot *snapshot, const char *format, ...)
{
	char text[512];
	va_list list;

	if (!snapshot->options.note)
		return;
	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	snapshot->options.note(snapshot->options.argument, text);
}

/* compared: as many more names were. */
static const struct snapshot_device *device_of(const struct flowtap_snapshot *snapshot,
					       const char *name, uint64_t *compared)
{
	for (size_t i = 0; i < snapshot->n_devices; i++) {
		++*compared;
		if (!strcmp(snapshot->devices[i].name, name))
			return &snapshot->devices[i];
	}
	return NULL;
}

/* The processor that a trace unit traces, "" if nobody says it. */
static const char *core_of(const struct flowtap_snapshot *snapshot, const char *source)
{
	for (size_t i = 0; i < snapshot->core_sources.n; i++)
		if (!strcmp(snapshot->core_sources.list[i].value, source))
			return snapshot->core_sources.list[i].key;
	return "";
}

static enum flowtap_snapshot_format format_of(const struct flowtap_snapshot *snapshot,
					      const struct snapshot_section *section)
{
	if (!strcasecmp(section->format, "source_data"))
		return FLOWTAP_SNAPSHOT_RAW;
	if (!strcasecmp(section->format, "dstream_coresight"))
		return FLOWTAP_SNAPSHOT_DSTREAM;
	/* As the reference decoder takes whatever it does not know. */
	if (*section->format && strcasecmp(section->format, "coresight"))
		flowtap_snapshot_add_note(snapshot,
					  "%s: [%s] format '%.40s' is taken for coresight",
					  snapshot->metadata, section->name, section->format);
	return FLOWTAP_SNAPSHOT_FRAMES;
}

/* Buffers come in the order of their sections. */
static int make_buffers(struct flowtap_snapshot *snapshot)
{
	size_t n = 0, names = 0;
	bool *listed = calloc(snapshot->n_sections + 1, sizeof(listed[0]));

	if (!listed)
		return -ENOMEM;
	for (char *list = snapshot->buffer_list, *name; (name = flowtap_ini_next(&list));) {
		if (names++ == FLOWTAP_SNAPSHOT_PARTS) {
			flowtap_snapshot_add_note(snapshot, "%s: too many buffers",
						  snapshot->metadata);
			free(listed);
			return -E2BIG;
		}
		for (n = 0; n < snapshot->n_sections; n++)
			if (!strcmp(snapshot->sections[n].name, name))
				break;
		listed[n] = true;
		if (n == snapshot->n_sections)
			flowtap_snapshot_add_note(snapshot, "%s: there is no section [%.60s]",
						  snapshot->metadata, name);
	}
	snapshot->buffers = calloc(names + 1, sizeof(snapshot->buffers[0]));
	for (n = 0; n < snapshot->n_sections && snapshot->buffers; n++) {
		const struct snapshot_section *section = &snapshot->sections[n];

		if (!listed[n])
			continue;
		if (!*section->file) {
			flowtap_snapshot_add_note(snapshot,
						  "%s: [%.60s] has no file=", snapshot->metadata,
						  section->name);
			continue;
		}
		snapshot->buffers[snapshot->n_buffers++] = (struct flowtap_snapshot_buffer){
			.name = section->buffer,
			.file = section->file,
			.format = format_of(snapshot, section),
		};
	}
	free(listed);
	return snapshot->buffers ? 0 : -ENOMEM;
}

/* Types may have a version after them: ETM4.4. */
static bool has_type(const struct snapshot_device *device, const char *type)
{
	size_t size = strcspn(device->type, ".");

	return size == strlen(type) && !strncasecmp(device->type, type, size);
}

/* Whether the trace unit can be decoded; reported if not. */
static bool usable(const struct flowtap_snapshot *snapshot, const struct snapshot_device *device)
{
	static const enum snapshot_register needed[] = {
		REGISTER_CONFIGR, REGISTER_TRACEIDR, REGISTER_IDR0, REGISTER_IDR2,
	};

	if (!has_type(device, "ETE") && !has_type(device, "ETM4")) {
		flowtap_snapshot_add_note(snapshot,
					  "%s: '%.60s' is of type '%.40s', no ETE or ETM4: left out",
					  device->file, device->name, device->type);
		return false;
	}
	if (device->bad) {
		flowtap_snapshot_add_note(snapshot, "%s: %s is no number of 32 bits: left out",
					  device->file, device->bad);
		return false;
	}
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		if (device->has[needed[i]])
			continue;
		flowtap_snapshot_add_note(snapshot, "%s: [regs] has no %s: left out", device->file,
					  flowtap_snapshot_registers[needed[i]]);
		return false;
	}
	return true;
}

/*
 * Which architecture the trace unit is of: its own register says it, where it is there. Else the
 * type, and 0 is an ETE.
 */
static uint32_t devarch_of(const struct flowtap_snapshot *snapshot,
			   const struct snapshot_device *device)
{
	const struct flowtap_ete_config config = {
		.devarch = (uint32_t)device->registers[REGISTER_DEVARCH],
	};
	const bool etm4 = has_type(device, "ETM4");

	if (!config.devarch)
		return etm4 ? FLOWTAP_ETM4_DEVARCH : 0;
	if (flowtap_ete_is_etm4(&config) != etm4)
		flowtap_snapshot_add_note(snapshot,
					  "%s: '%.60s' is of type '%.40s', but TRCDEVARCH 0x%x is "
					  "not: it is decoded as that says", device->file,
					  device->name, device->type, config.devarch);
	return config.devarch;
}

/* Processors of the M profile, by the names that snapshots have for them. */
static bool is_m_profile(const char *core_type)
{
	static const char *const names[] = { "Cortex-M", "STAR-MC", "ARMv6-M", "ARMv7-M", "ARMv8-M",
					     "ARMv8.1-M" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncasecmp(core_type, names[i], strlen(names[i])))
			return true;
	return false;
}

static int add_source(struct flowtap_snapshot *snapshot, const struct snapshot_device *device,
		      const struct flowtap_snapshot_buffer *buffer)
{
	struct flowtap_snapshot_source *source;
	const struct snapshot_device *core;
	const uint64_t *registers = device->registers;

	if (snapshot->n_sources == FLOWTAP_SNAPSHOT_PARTS)
		return -E2BIG;
	if (!device->has[REGISTER_IDR8])
		flowtap_snapshot_add_note(snapshot,
					  "%s: [regs] has no TRCIDR8: as if it were 0, nothing is "
					  "speculative", device->file);
	if (FLOWTAP_GROW(snapshot->sources, snapshot->n_sources))
		return -ENOMEM;
	source = &snapshot->sources[snapshot->n_sources++];
	*source = (struct flowtap_snapshot_source){
		.name = device->name,
		.type = device->type,
		.core = core_of(snapshot, device->name),
		.core_type = "",
		.buffer = buffer,
		.config = {
			.configr = (uint32_t)registers[REGISTER_CONFIGR],
			.traceidr = (uint32_t)registers[REGISTER_TRACEIDR],
			.devarch = devarch_of(snapshot, device),
			.idr0 = (uint32_t)registers[REGISTER_IDR0],
			.idr1 = (uint32_t)registers[REGISTER_IDR1],
			.idr2 = (uint32_t)registers[REGISTER_IDR2],
			.idr8 = (uint32_t)registers[REGISTER_IDR8],
		},
	};
	/* A trace unit of which nobody says whose it is stands for a processor of its name. */
	if (!*source->core)
		source->core = device->name;
	core = device_of(snapshot, source->core, &snapshot->compared);
	if (core) {
		source->core_type = core->type;
		source->core_number = core->number;
		source->config.m_profile = is_m_profile(core->type);
	}
	return 0;
}

/*
 * Of two trace units with one ID in the same frames nobody knows whose bytes they are: they are not
 * taken twice. before: the first source of the buffer. There is a note if it is so.
 */
static bool shares_id(const struct flowtap_snapshot *snapshot, size_t before,
		      const struct snapshot_device *device)
{
	const uint64_t id = device->registers[REGISTER_TRACEIDR] & 0x7f;

	if (!id || id > TRACE_ID_LAST)
		return false;
	for (size_t i = before; i < snapshot->n_sources; i++) {
		const struct flowtap_snapshot_source *source = &snapshot->sources[i];

		if ((source->config.traceidr & 0x7f) != id)
			continue;
		flowtap_snapshot_add_note(snapshot,
					  "%s: '%.60s' has the trace ID 0x%x of '%.60s' in the "
					  "same buffer: left out", device->file, device->name,
					  (unsigned int)id, source->name);
		return true;
	}
	return false;
}

/* Whether a list has this name. */
static bool lists(const char *list, const char *name)
{
	size_t size = strlen(name);

	while (*list) {
		const char *end;

		list += strspn(list, " \t,");
		end = list + strcspn(list, ",");
		while (end > list && (end[-1] == ' ' || end[-1] == '\t'))
			end--;
		if ((size_t)(end - list) == size && !strncmp(list, name, size))
			return true;
		list += strcspn(list, ",");
	}
	return false;
}

static bool is_first_of_core(const struct flowtap_snapshot *snapshot, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (!strcmp(snapshot->sources[i].core, snapshot->sources[index].core))
			return false;
	return true;
}

/* Those of a processor are together, where its first one was. */
static int group_sources(struct flowtap_snapshot *snapshot)
{
	struct flowtap_snapshot_source *grouped = calloc(snapshot->n_sources, sizeof(*grouped));
	size_t n = 0;

	if (!grouped)
		return -ENOMEM;
	for (size_t first = 0; first < snapshot->n_sources; first++) {
		if (!is_first_of_core(snapshot, first))
			continue;
		for (size_t i = first; i < snapshot->n_sources; i++)
			if (!strcmp(snapshot->sources[i].core, snapshot->sources[first].core))
				grouped[n++] = snapshot->sources[i];
	}
	free(snapshot->sources);
	snapshot->sources = grouped;
	snapshot->cores = calloc(n, sizeof(*snapshot->cores));
	for (size_t i = 0; i < n && snapshot->cores; i++)
		snapshot->cores[i] = device_of(snapshot, grouped[i].core, &snapshot->compared);
	return snapshot->cores ? 0 : -ENOMEM;
}

/*
 * Adds what a pair of [source_buffers] says of a buffer that it lists. device: of the pair, or NULL;
 * before: the first source of the buffer.
 */
static int take_pair(struct flowtap_snapshot *snapshot, const struct snapshot_pair *pair,
		     const struct snapshot_device *device,
		     const struct flowtap_snapshot_buffer *buffer, size_t before)
{
	const bool raw = buffer->format == FLOWTAP_SNAPSHOT_RAW;

	if (!device) {
		flowtap_snapshot_add_note(snapshot, "%s: there is no device '%.60s'",
					  snapshot->metadata, pair->key);
		return 0;
	}
	/* Bytes without frames are one trace unit's. */
	if (raw && snapshot->n_sources > before) {
		flowtap_snapshot_add_note(snapshot, "%s: no frames: no '%.60s' in it",
					  snapshot->metadata, pair->key);
		return 0;
	}
	if (!usable(snapshot, device) || (!raw && shares_id(snapshot, before, device)))
		return 0;
	return add_source(snapshot, device, buffer);
}

static int take_pairs(struct flowtap_snapshot *snapshot,
		      const struct snapshot_device *const *devices,
		      const struct flowtap_snapshot_buffer *buffer)
{
	size_t before = snapshot->n_sources;
	int error = 0;

	for (size_t j = 0; j < snapshot->source_buffers.n && !error; j++) {
		const struct snapshot_pair *pair = &snapshot->source_buffers.list[j];

		if (lists(pair->value, buffer->name))
			error = take_pair(snapshot, pair, devices[j], buffer, before);
	}
	if (!error && snapshot->n_sources == before)
		flowtap_snapshot_add_note(snapshot, "%s: nothing in '%.60s' can be decoded",
					  snapshot->metadata, buffer->name);
	return error;
}

/* Each device is looked for once, not once for each buffer. */
static int make_sources(struct flowtap_snapshot *snapshot)
{
	const size_t pairs = snapshot->source_buffers.n;
	const struct snapshot_device **devices = calloc(pairs + 1, sizeof(*devices));
	int error = devices ? 0 : -ENOMEM;

	for (size_t i = 0; i < pairs && !error; i++)
		devices[i] = device_of(snapshot, snapshot->source_buffers.list[i].key,
				       &snapshot->compared);
	for (size_t i = 0; i < snapshot->n_buffers && !error; i++)
		error = take_pairs(snapshot, devices, &snapshot->buffers[i]);
	free(devices);
	if (error)
		return error;
	if (snapshot->n_sources)
		return group_sources(snapshot);
	flowtap_snapshot_add_note(snapshot, "there is no trace of an ETE or ETM4 in it");
	return -ENODATA;
}

int flowtap_snapshot_open(const char *directory, const struct flowtap_snapshot_options *options,
			  struct flowtap_snapshot **out)
{
	struct flowtap_snapshot *snapshot = calloc(1, sizeof(*snapshot));
	int saved = errno, error;

	*out = NULL;
	if (!snapshot)
		return -ENOMEM;
	if (options)
		snapshot->options = *options;
	snapshot->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	error = snapshot->directory < 0 ? -errno : 0;
	if (error)
		flowtap_snapshot_add_note(snapshot, "%s", strerrordesc_np(-error));
	else
		error = flowtap_snapshot_read(snapshot);
	if (!error)
		error = make_buffers(snapshot);
	if (!error)
		error = make_sources(snapshot);
	errno = saved;
	if (error) {
		flowtap_snapshot_close(snapshot);
		return error;
	}
	*out = snapshot;
	return 0;
}

void flowtap_snapshot_close(struct flowtap_snapshot *snapshot)
{
	if (!snapshot)
		return;
	for (size_t i = 0; i < snapshot->n_texts; i++)
		free(snapshot->texts[i]);
	free(snapshot->texts);
	free(snapshot->device_files.list);
	free(snapshot->devices);
	free(snapshot->dumps);
	free(snapshot->sections);
	free(snapshot->source_buffers.list);
	free(snapshot->core_sources.list);
	free(snapshot->buffers);
	free(snapshot->sources);
	free(snapshot->cores);
	if (snapshot->directory >= 0)
		close(snapshot->directory);
	free(snapshot);
}

const struct flowtap_snapshot_source *flowtap_snapshot_sources(
	const struct flowtap_snapshot *snapshot, size_t *n)
{
	*n = snapshot->n_sources;
	return snapshot->sources;
}

int flowtap_snapshot_open_buffer(const struct flowtap_snapshot *snapshot,
				 const struct flowtap_snapshot_buffer *buffer)
{
	return flowtap_locate_in(snapshot->directory, buffer->file);
}

/* --- Memory --- */

static int add_dump(const struct flowtap_snapshot *snapshot, const struct snapshot_device *device,
		    const struct snapshot_dump *dump, struct flowtap_memory *memory)
{
	const struct flowtap_memory_file file = {
		.directory = snapshot->directory,
		.path = dump->file,
		.address = dump->address,
		.offset = dump->offset,
		.size = dump->length,
		.filter = { .spaces = dump->spaces },
	};
	const char *why = NULL;
	int error = 0;

	if (dump->bad)
		why = "has a value that is no number";
	else if (!*dump->file || !dump->has_address)
		why = "has no file or no address";
	else
		error = flowtap_memory_add(memory, &file);
	if (error == -ENOMEM || error == -E2BIG)
		return error;
	if (error == -ENOEXEC)
		why = "is no regular file";
	else if (error == -ERANGE)
		why = "has nothing at that offset and address";
	else if (error < 0)
		why = strerrordesc_np(-error);
	if (error > 0)
		flowtap_snapshot_add_note(snapshot,
					  "%s: [%.60s] %.200s: is shorter than length says",
					  device->file, dump->section, dump->file);
	if (why)
		flowtap_snapshot_add_note(snapshot, "%s: [%.60s] %.200s: %s: left out",
					  device->file, dump->section, dump->file, why);
	return 0;
}

/* device: NULL: nothing. */
static int add_dumps(const struct flowtap_snapshot *snapshot, const struct snapshot_device *device,
		     struct flowtap_memory *memory)
{
	int error = 0;

	for (size_t i = 0; device && i < device->n_dumps && !error; i++)
		error = add_dump(snapshot, device, &snapshot->dumps[device->first_dump + i],
				 memory);
	return error;
}

/*
 * The processor of the source of that index, if it is another one than `core`, and that source is
 * its first one in the buffer; else NULL. Sources are grouped by processor, and in a group come in
 * the order of the buffers.
 */
static const struct snapshot_device *other_core(const struct flowtap_snapshot *snapshot,
						const struct flowtap_snapshot_buffer *buffer,
						const struct snapshot_device *core, size_t index)
{
	const struct flowtap_snapshot_source *sources = snapshot->sources;
	const struct snapshot_device *other = snapshot->cores[index];

	if (sources[index].buffer != buffer || other == core)
		return NULL;
	if (index && sources[index - 1].buffer == buffer && snapshot->cores[index - 1] == other)
		return NULL;
	return other;
}

int flowtap_snapshot_memory(const struct flowtap_snapshot *snapshot,
			    const struct flowtap_snapshot_source *source,
			    struct flowtap_memory **memory)
{
	uint64_t compared = 0;
	const struct snapshot_device *core = device_of(snapshot, source->core, &compared);
	int error;

	*memory = flowtap_memory_new();
	if (!*memory)
		return -ENOMEM;
	error = add_dumps(snapshot, core, *memory);
	for (size_t i = 0; i < snapshot->n_sources && !error; i++)
		error = add_dumps(snapshot, other_core(snapshot, source->buffer, core, i), *memory);
	if (error) {
		flowtap_memory_free(*memory);
		*memory = NULL;
	}
	return error;
}
