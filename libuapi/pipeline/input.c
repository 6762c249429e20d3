// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Opens an input, whatever it is, and decodes all of it to one sink. */
#include <flowtap/input.h>

#include <errno.h>
#include <fcntl.h>
#include <flowtap/archive.h>
#include <flowtap/packed.h>
#include <flowtap/perfdata.h>
#include <flowtap/recording.h>
#include <flowtap/trace_session.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ete/unit_blocks.h"

/* An input while it is decoded: what goes to its sink is counted here. */
struct reading {
	struct flowtap_sink sink;	/* first */
	struct flowtap_input *input;
	struct flowtap_blocks *blocks[2];	/* for Arm's sessions, by whether WFx is P0 */
};

static int handle_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
			uint64_t target)
{
	struct flowtap_input *input = ((struct reading *)sink)->input;

	input->instructions += block->instructions;
	input->blocks++;
	return input->sink->block(input->sink, block, taken, target);
}

static int handle_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	struct flowtap_input *input = ((struct reading *)sink)->input;

	if (element->kind == FLOWTAP_ELEMENT_GAP) {
		input->gaps[element->gap.reason]++;
		input->damages += element->gap.reason == FLOWTAP_GAP_BAD_RECORD ||
				  element->gap.reason == FLOWTAP_GAP_BAD_PACKET;
	}
	return input->sink->element(input->sink, element);
}

static void __attribute__((format(printf, 2, 3)))
note(struct flowtap_input *input, const char *format, ...)
{
	char text[512];
	va_list list;

	if (!input->note)
		return;
	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	input->note(input, text);
}

static void damaged(struct flowtap_input *input, uint64_t offset, const char *reason)
{
	input->damages++;
	note(input, "offset %" PRIu64 ": %s", offset, reason);
}

/* --- Recordings of flowtap. --- */

static void on_damage(struct flowtap_recording *recording, uint64_t offset, const char *reason,
		      uint64_t bytes)
{
	struct reading *reading = recording->argument;

	(void)bytes;
	damaged(reading->input, offset, reason);
}

static int decode_archive(struct reading *reading, int fd)
{
	struct flowtap_input *input = reading->input;
	struct flowtap_recording recording = {
		.map = flowtap_address_map_new(input->sysroot),
		.sink = &reading->sink,
		.ete = input->ete,
		.block_memory = input->block_memory,
		.damage = on_damage,
		.argument = reading,
	};
	int err = recording.map ? flowtap_recording_images(recording.map, input->path) : -ENOMEM;

	if (!err)
		err = flowtap_recording_decode(&recording, fd);
	if (!err && !recording.replay.counts.finalised)
		note(input, "the recording was not finalised");
	flowtap_recording_free(&recording);
	flowtap_address_map_free(recording.map);
	return err;
}

/* What a packed archive has in it. */
static int decode_packed(struct reading *reading, int fd)
{
	struct flowtap_input *input = reading->input;
	struct flowtap_unpacked unpacked;
	int archive = flowtap_input_temporary(), err;

	if (archive < 0)
		return archive;
	err = flowtap_unpack(fd, archive, FLOWTAP_PACKED_LIMIT, &unpacked);
	if (!err && lseek(archive, 0, SEEK_SET) < 0)
		err = -errno;
	if (!err && unpacked.damages)
		damaged(input, unpacked.offset, unpacked.reason);
	if (!err)
		err = decode_archive(reading, archive);
	close(archive);
	return err;
}

/* --- perf.data --- */

static void on_perf_damage(void *argument, uint64_t offset, const char *reason)
{
	struct reading *reading = argument;

	damaged(reading->input, offset, reason);
}

static int load(struct flowtap_input *input, const struct flowtap_perfdata *perfdata,
		struct flowtap_address_map *map)
{
	const char *kernel;
	int err;

	if (!map)
		return -ENOMEM;
	err = flowtap_perfdata_load(perfdata, input->path, input->sysroot, map, &kernel);
	if (!err && kernel)
		note(input, "no code of the kernel: %s", kernel);
	return err;
}

static int decode_ranges(struct reading *reading, const struct flowtap_perfdata *perfdata,
			 struct flowtap_address_map *map)
{
	struct flowtap_input *input = reading->input;
	bool wfx = flowtap_perfdata_wfx(perfdata);
	struct flowtap_perfdata_options options = {
		.map = map,
		.sink = &reading->sink,
		.blocks = flowtap_blocks_new(flowtap_ete_block_decode(wfx), input->block_memory),
		.cpu = FLOWTAP_PERFDATA_NONE,
		.ete = input->ete,
	};
	struct flowtap_perfdata_decoder *decoder;
	int err = options.blocks ? flowtap_perfdata_decoder_new(perfdata, &options, &decoder) :
				   -ENOMEM;

	if (!err) {
		err = flowtap_perfdata_decode(decoder);
		flowtap_perfdata_decoder_free(decoder);
	}
	flowtap_blocks_free(options.blocks);
	return err;
}

static int decode_perfdata(struct reading *reading, int fd)
{
	struct flowtap_input *input = reading->input;
	struct flowtap_perfdata *perfdata;
	struct flowtap_address_map *map;
	const char *reason = NULL;
	int err = flowtap_perfdata_open(fd, on_perf_damage, reading, &perfdata, &reason);

	if (err) {
		note(input, "%s", reason ? reason : strerrordesc_np(-err));
		return err;
	}
	map = flowtap_address_map_new(input->sysroot);
	err = load(input, perfdata, map);
	if (!err)
		err = decode_ranges(reading, perfdata, map);
	flowtap_address_map_free(map);
	flowtap_perfdata_close(perfdata);
	return err;
}

/* --- Sessions of trace units. --- */

static int prepare(struct reading *reading, struct flowtap_trace_session *session,
		   const struct flowtap_ete_config *config)
{
	bool wfx = flowtap_ete_wfx_is_p0(config);

	if (!reading->blocks[wfx])
		reading->blocks[wfx] = flowtap_trace_session_blocks(config,
								    reading->input->block_memory);
	session->blocks = reading->blocks[wfx];
	session->wfx = wfx;
	session->sink = &reading->sink;
	session->ete = reading->input->ete;
	return session->blocks ? 0 : -ENOMEM;
}

static void report_empty(struct flowtap_input *input, const struct flowtap_trace_session *session)
{
	if (flowtap_trace_session_is_empty(session))
		note(input, "its frames have nothing of trace ID 0x%x", session->id);
}

static int decode_raw(struct reading *reading, int fd)
{
	struct flowtap_input *input = reading->input;
	struct flowtap_trace_session session = {
		.fd = fd,
		.framed = input->framed,
		.dstream = input->dstream,
	};
	int err;

	if (!input->config)
		return -ENOEXEC;
	session.config = *input->config;
	session.id = session.config.traceidr & 0x7f;
	session.memory = flowtap_memory_new();
	err = session.memory ? prepare(reading, &session, input->config) : -ENOMEM;
	if (!err && input->images)
		err = input->images(input, session.memory);
	if (err >= 0)
		err = flowtap_trace_session(&session);
	if (!err)
		report_empty(input, &session);
	flowtap_memory_free(session.memory);
	return err;
}

/* --- Snapshots. --- */

static void on_note(void *argument, const char *text)
{
	struct reading *reading = argument;

	note(reading->input, "%s", text);
}

static int on_images(struct flowtap_snapshot_sessions *sessions, struct flowtap_memory *memory)
{
	struct reading *reading = sessions->session.argument;
	int err = reading->input->images(reading->input, memory);

	return err < 0 ? err : 0;
}

static int decode_source(struct reading *reading, struct flowtap_snapshot_sessions *sessions,
			 const struct flowtap_snapshot_source *source)
{
	int err = prepare(reading, &sessions->session, &source->config);

	if (!err)
		err = flowtap_snapshot_session(sessions, source);
	if (err)
		note(reading->input, "%s of %s: %s", source->name, source->buffer->file,
		     strerrordesc_np(-err));
	else
		report_empty(reading->input, &sessions->session);
	return err;
}

static int decode_snapshot(struct reading *reading, const char *directory)
{
	const struct flowtap_snapshot_options options = { .note = on_note, .argument = reading };
	struct flowtap_snapshot_sessions sessions = {
		.session.argument = reading,
		.images = reading->input->images ? on_images : NULL,
	};
	const struct flowtap_snapshot_source *sources;
	size_t n;
	int err = flowtap_snapshot_open(directory, &options, &sessions.snapshot);

	if (err)
		return err;
	sources = flowtap_snapshot_sources(sessions.snapshot, &n);
	sessions.session.has_cpu = strcmp(sources[0].core, sources[n - 1].core) != 0;
	for (size_t i = 0; i < n && !err; i++)
		err = decode_source(reading, &sessions, &sources[i]);
	flowtap_snapshot_sessions_end(&sessions);
	flowtap_snapshot_close(sessions.snapshot);
	return err;
}

/* --- Which of them. --- */

/* What comes by a pipe is read twice, too. */
static int keep(struct flowtap_input *input, int pipe)
{
	struct flowtap_input_copy copy = { .progress = NULL };
	int fd = flowtap_input_keep(pipe, &copy);

	if (fd >= 0 && copy.failed)
		damaged(input, copy.bytes, strerrordesc_np(-copy.failed));
	return fd;
}

static int open_file(struct flowtap_input *input)
{
	struct stat status;
	int fd, kept;

	if (flowtap_input_is_perf_directory(input->path))
		return flowtap_input_open_perf(input->path);
	fd = open(input->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &status))
		kept = -errno;
	else if (S_ISREG(status.st_mode))
		return fd;
	else
		kept = keep(input, fd);
	close(fd);
	return kept;
}

static int decode_file(struct reading *reading, int fd)
{
	struct flowtap_input *input = reading->input;

	if (flowtap_packed_is(fd)) {
		input->kind = FLOWTAP_INPUT_ARCHIVE;
		return decode_packed(reading, fd);
	}
	input->kind = flowtap_input_look(fd);
	switch (input->kind) {
	case FLOWTAP_INPUT_ARCHIVE:
		return decode_archive(reading, fd);
	case FLOWTAP_INPUT_PERFDATA:
		return decode_perfdata(reading, fd);
	default:
		return decode_raw(reading, fd);
	}
}

int flowtap_input(struct flowtap_input *input)
{
	struct reading reading = {.sink = { handle_block, handle_element }, .input = input};
	char *directory = flowtap_input_snapshot(input->path);
	int saved = errno, fd, err;

	input->instructions = input->blocks = input->damages = 0;
	memset(input->gaps, 0, sizeof(input->gaps));
	if (directory) {
		input->kind = FLOWTAP_INPUT_SNAPSHOT;
		err = decode_snapshot(&reading, directory);
	} else {
		fd = open_file(input);
		err = fd < 0 ? fd : decode_file(&reading, fd);
		if (fd >= 0)
			close(fd);
	}
	free(directory);
	flowtap_blocks_free(reading.blocks[0]);
	flowtap_blocks_free(reading.blocks[1]);
	errno = saved;
	return err;
}
