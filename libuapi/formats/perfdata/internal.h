/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the parts of the perf.data reader share. */
#ifndef FLOWTAP_LIBUAPI_FORMATS_PERFDATA_INTERNAL_H
#define FLOWTAP_LIBUAPI_FORMATS_PERFDATA_INTERNAL_H

#include <flowtap/perfdata.h>

#include <linux/perf_event.h>

#include "base/hash_table.h"
#include "base/vector.h"
#include "code/elf_file.h"

/* perf's own records (tools/lib/perf/include/perf/event.h). */
enum {
	PERFDATA_HEADER_ATTR = 64,
	PERFDATA_HEADER_TRACING_DATA = 66,
	PERFDATA_HEADER_BUILD_ID = 67,
	PERFDATA_AUXTRACE_INFO = 70,
	PERFDATA_AUXTRACE = 71,
	PERFDATA_TIME_CONV = 79,
	PERFDATA_HEADER_FEATURE = 80,
	PERFDATA_COMPRESSED = 81,
	PERFDATA_COMPRESSED2 = 83,
	PERFDATA_SIMPLEPERF = 32768,	/* simpleperf's own, from there on */
};

/* Newer than some perf_event.h. */
#define PERFDATA_AUX_OUTPUT_HW_ID 21

/* Feature sections (perf.data-file-format.txt). */
enum {
	PERFDATA_FEATURE_BUILD_ID = 2,
	PERFDATA_FEATURE_HOSTNAME = 3,
	PERFDATA_FEATURE_OSRELEASE = 4,
	PERFDATA_FEATURE_VERSION = 5,
	PERFDATA_FEATURE_ARCH = 6,
	PERFDATA_FEATURE_COMMAND = 11,
	PERFDATA_FEATURE_DIR_FORMAT = 24,	/* perf record --threads: records in files beside it */
	PERFDATA_FEATURES = 256,
};

#define PERFDATA_MISC_BUILD_ID_SIZE 0x8000
#define PERFDATA_MISC_LOST_BY_BPF 0x8000	/* of LOST_SAMPLES */

/* A list that grows: all of them are dynamic arrays of one kind. */
#define PERFDATA_LIST(type) struct { type *list; size_t n; }

/* The attributes of an event that say what its sample ids have. */
struct perfdata_attr {
	uint64_t sample_type;
	bool sample_id_all;
};

struct perfdata_id {
	uint64_t id;
	uint32_t attr;
};

struct perfdata_build_id {
	char *path;
	struct flowtap_build_id id;
	bool ambiguous;		/* another file had the same path: in a container, or later */
};

/* An AUX record. */
struct perfdata_aux {
	uint64_t record;	/* its offset in the file */
	uint64_t order;		/* in the file */
	uint64_t time;
	uint64_t offset;	/* in the AUX area, counted since it was made */
	uint64_t size;
	uint32_t flags;
	uint32_t cpu;		/* whose buffer, as in an extent */
	uint32_t tid;
	uint32_t on;		/* the CPU that collected it */
};

/* An AUXTRACE record. cpu NONE: the buffer is a thread's. */
struct perfdata_extent {
	uint64_t file;		/* where its bytes are */
	uint64_t offset;	/* in the AUX area */
	uint64_t size;
	uint32_t cpu;
	uint32_t tid;
};

/* A record that the map wants. */
struct perfdata_event {
	uint64_t time;
	uint64_t offset;
	uint64_t order;		/* in the file */
	uint8_t *bytes;		/* of one that was packed, a copy; else NULL */
};

struct perfdata_thread {
	uint64_t time;
	uint32_t tid;
	uint32_t pid;
};

struct perfdata_switch {
	uint64_t time;
	uint64_t order;
	uint32_t cpu;
	uint32_t tid;
};

struct perfdata_hw_id {
	uint32_t cpu;
	uint32_t sink;
	uint8_t trace_id;
};

struct flowtap_perfdata {
	int fd;
	uint64_t file_size;
	uint64_t data;		/* the records: [data, data_end) */
	uint64_t data_end;
	flowtap_perfdata_damage damage;
	void *argument;
	const char *reason;	/* why it cannot be used */
	struct flowtap_perfdata_info info;
	char *strings[5];	/* hostname, release, arch, version, command */
	PERFDATA_LIST(struct perfdata_attr) attrs;
	PERFDATA_LIST(struct perfdata_id) ids;
	size_t ids_read;		/* also those that were known */
	struct flowtap_hash_table by_id;
	bool mixed;		/* attributes differ in it: each record's is to be looked up */
	PERFDATA_LIST(struct perfdata_build_id) build_ids;
	struct flowtap_hash_table by_path;
	struct flowtap_build_id kernel_id;
	uint64_t kernel_symbol_at;	/* where the kernel's first symbol was; 0 unknown */
	char kernel_symbol[64];		/* "_text" ... */
	PERFDATA_LIST(struct flowtap_perfdata_cpu) cpus;
	PERFDATA_LIST(struct perfdata_hw_id) hw_ids;
	struct flowtap_hash_table hw_by_cpu;
	PERFDATA_LIST(struct perfdata_aux) aux;
	PERFDATA_LIST(struct perfdata_extent) extents;
	PERFDATA_LIST(struct perfdata_event) events;
	PERFDATA_LIST(struct perfdata_thread) threads;
	struct flowtap_hash_table by_tid;	/* the last entry of each, while reading */
	PERFDATA_LIST(struct perfdata_switch) switches;
	PERFDATA_LIST(struct flowtap_perfdata_range) ranges;
	bool on_exec;		/* the trace begins with an exec: of what perf record ran */
	uint64_t first_exec;	/* when the earliest one was; 0 none */
	bool has_times;		/* some events say when they happened */
	bool incomplete;	/* records are missing: mappings and tasks may be among them */
	uint64_t budget;	/* bytes that may still be kept of records that were packed */
	bool full;		/* there was none for some of them */
	bool has_trace;		/* an AUXTRACE_INFO of cs_etm */
	bool newer;		/* one of a version that is not known */
	bool has_time_conv;
	bool has_time_mask;
	uint64_t time_shift;
	uint64_t time_mult;
	uint64_t time_zero;
	uint64_t time_cycles;
	uint64_t time_mask;
};

#define PERFDATA_ADD(where, ...) \
	(FLOWTAP_GROW((where)->list, (where)->n) ? -ENOMEM : \
	 ((where)->list[(where)->n++] = (__VA_ARGS__), 0))

void flowtap_perfdata_damaged(const struct flowtap_perfdata *perfdata, uint64_t offset,
			      const char *reason);
/* size bytes at offset, or -ENODATA where the file ends before. 0 or -errno. */
int flowtap_perfdata_pread(const struct flowtap_perfdata *perfdata, uint64_t offset, void *buffer,
			   size_t size);

static inline uint64_t perfdata_u64(const uint8_t *bytes)
{
	uint64_t value;

	__builtin_memcpy(&value, bytes, sizeof(value));
	return value;
}

static inline uint32_t perfdata_u32(const uint8_t *bytes)
{
	uint32_t value;

	__builtin_memcpy(&value, bytes, sizeof(value));
	return value;
}

/* header.c: the file's head, attributes, features. 0 or -errno, then `reason` is set. */
int flowtap_perfdata_header(struct flowtap_perfdata *perfdata);
/* An attribute of which `size` bytes are there. 0, -EINVAL, -ENOMEM. */
int flowtap_perfdata_add_attr(struct flowtap_perfdata *perfdata, const uint8_t *bytes, size_t size);
/* Of the attribute that was added last; one that another had first stays its own. */
int flowtap_perfdata_add_id(struct flowtap_perfdata *perfdata, uint64_t id);
/* NULL: no attribute has it. */
const struct perfdata_attr *flowtap_perfdata_attr(const struct flowtap_perfdata *perfdata,
						  uint64_t id);
int flowtap_perfdata_feature(struct flowtap_perfdata *perfdata, unsigned int feature,
			     const uint8_t *bytes, size_t size);
/* A build_id_event. */
int flowtap_perfdata_add_build_id(struct flowtap_perfdata *perfdata, const uint8_t *bytes,
				  size_t size);
/* What the list has of a path; NULL: nothing. */
struct perfdata_build_id *flowtap_perfdata_build_id(const struct flowtap_perfdata *perfdata,
						    const char *path);
/* auxtrace_info.c: the private part of AUXTRACE_INFO. 0, -EINVAL, -ENOMEM. */
int flowtap_perfdata_metadata(struct flowtap_perfdata *perfdata, const uint8_t *bytes, size_t size);
int flowtap_perfdata_hw_id(struct flowtap_perfdata *perfdata, uint64_t hw_id, uint32_t cpu);
/* The trace ids of HW_ID records go into the CPUs. */
void flowtap_perfdata_assign(struct flowtap_perfdata *perfdata);
/* The CPU that had a trace ID in what `collector` collected; NULL: none. */
const struct flowtap_perfdata_cpu *
flowtap_perfdata_by_trace_id(const struct flowtap_perfdata *perfdata, uint32_t collector,
			     uint8_t trace_id);
const struct flowtap_perfdata_cpu *
flowtap_perfdata_find_cpu(const struct flowtap_perfdata *perfdata, uint32_t cpu);
/* index.c: the first reading. */
int flowtap_perfdata_index(struct flowtap_perfdata *perfdata);
/* begin.c: after it; on_exec is cleared where the earliest exec is no begin. 0 or -ENOMEM. */
int flowtap_perfdata_check_exec(struct flowtap_perfdata *perfdata);
/* aux_data.c: ranges from AUX and AUXTRACE records. 0 or -ENOMEM. */
int flowtap_perfdata_join(struct flowtap_perfdata *perfdata);

/* unpack.c: COMPRESSED records. */
struct perfdata_unpack;

/* NULL: no memory. */
struct perfdata_unpack *flowtap_perfdata_unpack_new(void);
void flowtap_perfdata_unpack_free(struct perfdata_unpack *unpack);
/* A whole record, with its header; valid during the call. What is not 0 ends it. */
typedef int (*perfdata_unpacked)(void *argument, const uint8_t *bytes, size_t size);
/*
 * The records that end in this COMPRESSED one, the next of the file. 0, or what each returned.
 * *reason: a line where this one, and all after it, cannot be unpacked; else NULL.
 */
int flowtap_perfdata_unpack(struct perfdata_unpack *unpack,
			    const struct flowtap_perfdata_record *record, perfdata_unpacked each,
			    void *argument, const char **reason);
/* Whether a record has not ended. */
bool flowtap_perfdata_unpack_waits(const struct perfdata_unpack *unpack);

/* threads.c */
int flowtap_perfdata_thread(struct flowtap_perfdata *perfdata, uint32_t tid, uint32_t pid,
			    uint64_t time);
void flowtap_perfdata_sort_tasks(struct flowtap_perfdata *perfdata);

#endif /* FLOWTAP_LIBUAPI_FORMATS_PERFDATA_INTERNAL_H */
