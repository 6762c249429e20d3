// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parses the bytes of a snapshot, or raw bytes, packet by packet, and prints parts of one packet
 * on one line.
 */
#include "dump/packets.h"

#include "common/format.h"
#include "common/grow.h"
#include "common/input_file.h"
#include "common/raw_options.h"
#include "common/tool.h"
#include "dump/dump_progress.h"

#include <errno.h>
#include <flowtap/input.h>
#include <flowtap/trace_session.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One trace unit's bytes in the parser. */
struct printing {
	struct flowtap_trace_feed feed;
	struct flowtap_ete_parser parser;
	struct flowtap_ete_config config;
	uint8_t *bytes;			/* what the parser has not used yet */
	size_t held, capacity;
	uint64_t offset;		/* of bytes[0] in the trace unit's trace */
	/* Packets that may come in parts are one line. */
	enum flowtap_ete_packet_type part;
	uint64_t part_offset, part_length;
	uint8_t part_bytes[FLOWTAP_ETE_PACKET_MAX];
	size_t part_size;
	bool damaged;
	struct dump_progress progress;
	bool synced;			/* there was an Alignment Sync */
};

static void print_parts(struct printing *printing)
{
	if (printing->part_length)
		packet_print_plain(printing->part_offset, printing->part_bytes, printing->part_size,
				   printing->part_length, flowtap_ete_packet_name(printing->part));
	printing->part_length = 0;
	printing->part_size = 0;
}

static void add_part(struct printing *printing, const uint8_t *bytes,
		     const struct flowtap_ete_packet *packet)
{
	size_t capacity = sizeof(printing->part_bytes) - printing->part_size;
	size_t taken = packet->size < capacity ? packet->size : capacity;

	if (!printing->part_length) {
		printing->part = packet->type;
		printing->part_offset = printing->offset;
	}
	memcpy(printing->part_bytes + printing->part_size, bytes, taken);
	printing->part_size += taken;
	printing->part_length += packet->size;
}

static void handle_packet(struct printing *printing, const uint8_t *bytes,
			  const struct flowtap_ete_packet *packet)
{
	bool part = packet->type == FLOWTAP_ETE_NOT_SYNCED ||
		    packet->type == FLOWTAP_ETE_ALIGNMENT_ZEROS;

	if (!part || packet->type != printing->part)
		print_parts(printing);
	if (part) {
		add_part(printing, bytes, packet);
		return;
	}
	packet_print(printing->offset, bytes, packet->size, packet, printing->config.m_profile);
	printing->synced |= packet->type == FLOWTAP_ETE_ALIGNMENT_SYNC;
	if (packet->type == FLOWTAP_ETE_RESERVED) {
		printing->damaged = true;
		dump_progress_hide(&printing->progress);
		complain("offset 0x%" PRIx64 ": %s", printing->offset, packet->reason);
	}
}

static void parse(struct printing *printing)
{
	struct flowtap_ete_packet packet;
	size_t at = 0, used;

	while (at < printing->held) {
		used = flowtap_ete_parse(&printing->parser, printing->bytes + at,
					 printing->held - at, &packet);
		if (!used)
			break;
		handle_packet(printing, printing->bytes + at, &packet);
		at += used;
		printing->offset += used;
	}
	printing->held -= at;
	memmove(printing->bytes, printing->bytes + at, printing->held);
}

static int handle_bytes(struct flowtap_trace_feed *feed, const uint8_t *bytes, size_t size)
{
	struct printing *printing = feed->argument;
	int error = GROW_BYTES(printing->bytes, printing->capacity, printing->held + size);

	if (error)
		return error;
	memcpy(printing->bytes + printing->held, bytes, size);
	printing->held += size;
	parse(printing);
	return ferror(stdout) ? -EIO : 0;
}

/* Nothing follows what is held. */
static void end(struct printing *printing)
{
	print_parts(printing);
	if (printing->held)
		packet_print_plain(printing->offset, printing->bytes, printing->held,
				   printing->held, "incomplete");
	printing->offset += printing->held;
	printing->held = 0;
}

static int handle_loss(struct flowtap_trace_feed *feed, const struct flowtap_gap *gap)
{
	struct printing *printing = feed->argument;

	end(printing);
	printf("0x%08" PRIx64 "  -- frames: %s\n", printing->offset, gap->detail);
	flowtap_ete_parser_init(&printing->parser, &printing->config);
	return 0;
}

static void handle_progress(struct flowtap_trace_feed *feed, size_t bytes)
{
	struct printing *printing = feed->argument;

	(void)bytes;
	dump_progress_show(&printing->progress, feed->read);
}

/* main complains about standard output that cannot be written. */
static int print_trace(struct printing *printing, const char *name, bool quiet)
{
	const struct flowtap_trace_feed *feed = &printing->feed;
	int error;

	printing->feed.argument = printing;
	printing->feed.bytes = handle_bytes;
	printing->feed.lost = handle_loss;
	printing->feed.progress = handle_progress;
	dump_progress_begin(&printing->progress, printing->feed.fd, quiet);
	flowtap_ete_parser_init(&printing->parser, &printing->config);
	error = flowtap_trace_feed(&printing->feed);
	end(printing);
	dump_progress_end(&printing->progress);
	free(printing->bytes);
	if (error == -EIO && ferror(stdout))
		return STATUS_ERROR;
	if (error) {
		complain("'%s': %s", name, strerror(-error));
		return STATUS_ERROR;
	}
	/* Frames may have nothing of a trace unit that did nothing. */
	if (!printing->synced && (!feed->framed || feed->ids[feed->id])) {
		complain("'%s': there is no Alignment Sync in it", name);
		advise("%s is no trace of an ETE or ETMv4%s",
		       feed->framed ? "what has that trace ID" : "it",
		       feed->framed ? "" : ", or it is in CoreSight's frames (--framed)");
		return STATUS_DAMAGED;
	}
	if (printing->feed.damages)
		complain("'%s': %" PRIu64 " frame%s damaged", name, printing->feed.damages,
			 printing->feed.damages == 1 ? " is" : "s are");
	return printing->damaged || printing->feed.damages ? STATUS_DAMAGED : STATUS_OK;
}

/* --- Snapshots --- */

static void note(void *argument, const char *text)
{
	const char *path = argument;

	complain("%s: %s", path, text);
}

static bool wanted(const struct packets_options *options,
		   const struct flowtap_snapshot_source *source)
{
	return cpu_is_asked_for(options->cpu, source->core, source->name, source->core_number);
}

static void print_source(const struct flowtap_snapshot_source *source)
{
	const struct flowtap_ete_config *config = &source->config;

	printf("# ");
	print_plain(stdout, source->name, strlen(source->name));
	printf(" of ");
	print_plain(stdout, source->core, strlen(source->core));
	printf(" in ");
	print_plain(stdout, source->buffer->file, strlen(source->buffer->file));
	printf(": configr=0x%" PRIx32 ",traceidr=0x%" PRIx32 ",devarch=0x%" PRIx32 ",idr0=0x%"
	       PRIx32 ",idr1=0x%" PRIx32 ",idr2=0x%" PRIx32 ",idr8=0x%" PRIx32 "%s\n",
	       config->configr, config->traceidr, config->devarch, config->idr0, config->idr1,
	       config->idr2, config->idr8, config->m_profile ? ",profile=m" : "");
}

static int dump_source(const struct flowtap_snapshot *snapshot,
		       const struct flowtap_snapshot_source *source, bool quiet)
{
	struct printing printing = {
		.config = source->config,
		.feed.framed = source->buffer->format != FLOWTAP_SNAPSHOT_RAW,
		.feed.dstream = source->buffer->format == FLOWTAP_SNAPSHOT_DSTREAM,
		.feed.id = source->config.traceidr & 0x7f,
	};
	int status;

	printing.feed.fd = flowtap_snapshot_open_buffer(snapshot, source->buffer);
	if (printing.feed.fd < 0) {
		complain("cannot open '%s' of the snapshot: %s", source->buffer->file,
			 printing.feed.fd == -ENOEXEC ? "not a regular file" :
							strerror(-printing.feed.fd));
		return STATUS_ERROR;
	}
	print_source(source);
	status = print_trace(&printing, source->buffer->file, quiet);
	close(printing.feed.fd);
	return status;
}

static int dump_snapshot(const struct packets_options *options)
{
	char *path = (char *)options->path;
	const struct flowtap_snapshot_options request = { .note = note, .argument = path };
	const struct flowtap_snapshot_source *sources;
	struct flowtap_snapshot *snapshot;
	int status = STATUS_OK, one;
	bool any = false;
	size_t n;

	if (options->config || options->framing.framed || options->framing.dstream ||
	    options->id >= 0)
		return misused("flowtap dump", "a snapshot says by itself what its traces are");
	if (flowtap_snapshot_open(options->path, &request, &snapshot)) {
		complain("'%s' cannot be read as a snapshot", options->path);
		return STATUS_ERROR;
	}
	sources = flowtap_snapshot_sources(snapshot, &n);
	for (size_t i = 0; i < n && status != STATUS_ERROR; i++) {
		if (!wanted(options, &sources[i]))
			continue;
		any = true;
		one = dump_source(snapshot, &sources[i], options->quiet);
		if (one)
			status = one;
	}
	if (!any) {
		complain("'%s' has no CPU '%s'", options->path, options->cpu);
		status = STATUS_ERROR;
	}
	flowtap_snapshot_close(snapshot);
	return status;
}

/* --- Raw bytes --- */

/* "a perf.data" ...; NULL: it may be a trace unit's bytes. */
static const char *other_kind(int fd)
{
	enum flowtap_input_kind kind = flowtap_input_look(fd);
	const struct format_kind *format;
	char begin[4096];
	ssize_t n;

	if (kind != FLOWTAP_INPUT_RAW)
		return kind == FLOWTAP_INPUT_PERFDATA ? "perf.data" : "flowtap archive";
	n = pread(fd, begin, sizeof(begin), 0);
	format = n > 0 ? format_of_bytes(begin, (size_t)n) : NULL;
	return format ? format->title : NULL;
}

/* What has traces in it, or is made of them, but is none: it would be all `not synchronized`. */
static bool is_other(int fd, const char *name)
{
	const char *kind = other_kind(fd);

	if (!kind)
		return false;
	complain("'%s' is no trace unit's bytes, but a %s", name, kind);
	advise("without --packets its records are shown");
	return true;
}

static int dump_raw(const struct packets_options *options)
{
	struct printing printing = {
		.feed.framed = options->framing.framed,
		.feed.dstream = options->framing.dstream,
	};
	uint8_t id;
	int status;

	if (options->cpu)
		return misused("flowtap dump", "--cpu is for snapshots: raw bytes are of one CPU");
	if (options->id >= 0 && !options->framing.framed)
		return misused("flowtap dump", "--id is for --framed: other bytes are of one trace unit");
	if (options->config && ete_config_parse(options->config, &printing.config))
		return STATUS_USAGE;
	id = options->id >= 0 ? (uint8_t)options->id : printing.config.traceidr & 0x7f;
	if (options->framing.framed && (id < FLOWTAP_FRAME_FIRST || id > FLOWTAP_FRAME_LAST)) {
		complain("which trace ID of the frames is it?");
		advise("--id N says it, or traceidr=N in --config");
		return STATUS_USAGE;
	}
	printing.feed.id = id;
	printing.feed.fd = input_open(options->path, options->quiet);
	if (printing.feed.fd < 0)
		return STATUS_ERROR;
	if (is_other(printing.feed.fd, input_name(options->path)))
		status = STATUS_ERROR;
	else
		status = print_trace(&printing, input_name(options->path), options->quiet);
	if (status != STATUS_ERROR && options->framing.framed && !printing.feed.ids[id]) {
		complain_no_source(input_name(options->path), id, printing.feed.ids);
		status = STATUS_ERROR;
	}
	close(printing.feed.fd);
	return status;
}

int packets_dump(const struct packets_options *options)
{
	char *directory = strcmp(options->path, "-") ? flowtap_input_snapshot(options->path) : NULL;
	struct packets_options snapshot = *options;
	int status;

	if (!directory)
		return dump_raw(options);
	snapshot.path = directory;
	status = dump_snapshot(&snapshot);
	free(directory);
	return status;
}
