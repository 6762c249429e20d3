/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Arm's snapshot directories: trace buffers, the devices they are of, and what was in memory.
 *
 *	snapshot.ini	[device_list] device0=cpu_0.ini ... [trace] metadata=trace.ini
 *	trace.ini	[trace_buffers] buffers=a,b  [a] name, file, format
 *			[source_buffers] SOURCE=BUFFER  [core_trace_sources] CORE=SOURCE
 *	a device's	[device] name, class, type  [regs] TRCCONFIGR=0x1 ...
 *			[dump1] file, address [length, offset, space]
 *
 * Names of files are relative to the directory; links and .. in them do not lead out of it. What
 * cannot be used but is not needed (a dump whose file is not there, a source that is no ETE or ETM4
 * or has the trace ID of one before it in the same frames) is told and left out. A processor whose
 * type is one of the M profile ("Cortex-M55", "ARMv8-M") makes its ETMv4 one of that.
 */
#ifndef FLOWTAP_SNAPSHOT_H
#define FLOWTAP_SNAPSHOT_H

#include <flowtap/ete_config.h>
#include <flowtap/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

enum flowtap_snapshot_format {
	FLOWTAP_SNAPSHOT_RAW,		/* source_data: the bytes of one trace unit */
	FLOWTAP_SNAPSHOT_FRAMES,	/* coresight: frames (frame.h), from the file's begin on */
	/*
	 * dstream_coresight: a DSTREAM probe's file, blocks of 512 bytes; the last 8 are a footer, the
	 * others frames, with frame syncs or without.
	 */
	FLOWTAP_SNAPSHOT_DSTREAM,
};

/* Strings are owned by the snapshot. */
struct flowtap_snapshot_buffer {
	const char *name;
	const char *file;
	enum flowtap_snapshot_format format;
};

/* One trace unit's part of one buffer: a capture session of it. */
struct flowtap_snapshot_source {
	const char *name;
	const char *type;		/* "ETE", "ETM4.4" ... */
	const char *core;		/* the name of the processor that it traces */
	const char *core_type;		/* "Cortex-A53" ... or "" */
	uint32_t core_number;		/* its name ends with it; else, or if two do, its index */
	const struct flowtap_snapshot_buffer *buffer;
	struct flowtap_ete_config config;
};

struct flowtap_snapshot_options {
	/* May be NULL. A line for people: what was left out, last of all why there is an error. */
	void (*note)(void *argument, const char *text);
	void *argument;
};

struct flowtap_snapshot;

/*
 * Reads the .ini files of a directory; dumps and buffers are not opened. At most 16 MiB of a
 * device's file, 1 MiB of the others, 1024 devices, buffers and sources, 65536 dumps. options may
 * be NULL. 0 and *snapshot; -EINVAL: not a snapshot, or one that contradicts itself; -ENODATA: it
 * has no trace of an ETE or ETM4; -E2BIG; -errno of opening what is needed; -ENOMEM.
 */
int flowtap_snapshot_open(const char *directory, const struct flowtap_snapshot_options *options,
			  struct flowtap_snapshot **snapshot);
void flowtap_snapshot_close(struct flowtap_snapshot *snapshot);

/*
 * In the order of the buffers in trace.ini, then of [source_buffers], but those of a processor one
 * after the other: at least one.
 */
const struct flowtap_snapshot_source *flowtap_snapshot_sources(
	const struct flowtap_snapshot *snapshot, size_t *n);

/* Opens a buffer for reading: the fd, or -errno; -ENOEXEC: not a regular file. */
int flowtap_snapshot_open_buffer(const struct flowtap_snapshot *snapshot,
				 const struct flowtap_snapshot_buffer *buffer);

/*
 * The memory that the source's processor saw: the dumps of its own, and after them those of the
 * other processors in the same buffer. Those that cannot be had are reported. 0 and *memory, to be
 * freed by the caller; -ENOMEM; -E2BIG.
 */
int flowtap_snapshot_memory(const struct flowtap_snapshot *snapshot,
			    const struct flowtap_snapshot_source *source,
			    struct flowtap_memory **memory);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_SNAPSHOT_H */
