// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* perf.data: the records one after the other, and what the first reading keeps of them. */
#include "formats/perfdata/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW (1U << 18)
#define AUXTRACE_SIZE 48
/* What of sample_type is in sample ids, 8 bytes each. */
#define SAMPLE_ID (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | \
		   PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)
#define TYPE_CS_ETM 3		/* PERF_AUXTRACE_CS_ETM */
/*
 * zstd makes some kilobytes of millions of records that are alike. What is kept of them may take
 * this much, and so many times more as they are packed, which is more than real ones need.
 */
#define BUDGET (256U << 20)
#define BUDGET_RATIO 16
#define ALLOCATION 16		/* what malloc needs besides */

/* A window of the file. */
struct window {
	const struct flowtap_perfdata *perfdata;
	uint8_t *bytes;
	uint64_t start;
	size_t size;
	bool cut;		/* the file ends within the trace bytes of the last record */
};

/* size bytes at offset, size <= WINDOW; NULL and *err. */
static const uint8_t *look(struct window *window, uint64_t offset, size_t size, int *err)
{
	uint64_t left = window->perfdata->data_end - offset;

	*err = 0;
	if (offset < window->start || offset - window->start > window->size ||
	    window->size - (offset - window->start) < size) {
		window->start = offset;
		window->size = left < WINDOW ? (size_t)left : WINDOW;
		*err = flowtap_perfdata_pread(window->perfdata, offset, window->bytes,
					      window->size);
		if (*err) {
			window->size = 0;
			return NULL;
		}
	}
	return window->bytes + (offset - window->start);
}

/* Synthesised records have no id: they are laid out as the first event's. */
static const struct perfdata_attr *attr_of(const struct flowtap_perfdata *perfdata, uint64_t id)
{
	const struct perfdata_attr *attr = id ? flowtap_perfdata_attr(perfdata, id) : NULL;

	return attr ? attr : &perfdata->attrs.list[0];
}

/* The sample id is at the record's end (perf_event_open(2), sample_id_all): from there back. */
static void parse_sample_id(const struct flowtap_perfdata *perfdata,
			    struct flowtap_perfdata_record *record)
{
	const struct perfdata_attr *attr;
	const uint8_t *end = record->bytes + record->size;
	size_t size;

	if (record->type >= PERFDATA_HEADER_ATTR || record->type == PERF_RECORD_SAMPLE ||
	    !perfdata->attrs.n || record->size < 16)
		return;
	attr = perfdata->mixed ? attr_of(perfdata, perfdata_u64(end - 8)) : perfdata->attrs.list;
	if (!attr->sample_id_all)
		return;
	size = 8 * (size_t)__builtin_popcountll(attr->sample_type & SAMPLE_ID);
	if (size > record->size - 8)
		return;
	record->size -= size;
	end = record->bytes + record->size;
	if (attr->sample_type & PERF_SAMPLE_TID) {
		record->pid = perfdata_u32(end);
		record->tid = perfdata_u32(end + 4);
		end += 8;
	}
	if (attr->sample_type & PERF_SAMPLE_TIME) {
		record->time = perfdata_u64(end);
		end += 8;
	}
	end += attr->sample_type & PERF_SAMPLE_ID ? 8 : 0;
	end += attr->sample_type & PERF_SAMPLE_STREAM_ID ? 8 : 0;
	if (attr->sample_type & PERF_SAMPLE_CPU)
		record->cpu = perfdata_u32(end);
}

/* How many bytes follow a record that are not in its size; they end where the file does. */
static uint64_t payload_of(const struct flowtap_perfdata *perfdata,
			   const struct flowtap_perfdata_record *record, bool *cut)
{
	uint64_t size = 0, left = perfdata->data_end - record->offset - record->size;

	*cut = false;
	if (record->type == PERFDATA_AUXTRACE && record->size >= AUXTRACE_SIZE)
		size = perfdata_u64(record->bytes + 8);
	else if (record->type == PERFDATA_HEADER_TRACING_DATA && perfdata->info.pipe &&
		 record->size >= 12)
		size = (perfdata_u32(record->bytes + 8) + 7ULL) & ~7ULL;
	*cut = size > left;
	return *cut ? left : size;
}

/* simpleperf has the upper half of its own records' sizes in misc. */
static uint32_t size_of(const struct perf_event_header *header)
{
	return header->type >= PERFDATA_SIMPLEPERF ? (uint32_t)header->misc << 16 | header->size :
						     header->size;
}

/* 0: a record; 1: the end; -errno. Damage ends it as well, reported where `damage` says so. */
static int next_record(struct window *window, uint64_t at, bool damage,
		       struct flowtap_perfdata_record *record)
{
	const struct flowtap_perfdata *perfdata = window->perfdata;
	struct perf_event_header header;
	const uint8_t *bytes;
	uint32_t size;
	bool cut;
	int err;

	window->cut = false;
	if (at >= perfdata->data_end)
		return 1;
	if (perfdata->data_end - at < sizeof(header)) {
		if (damage)
			flowtap_perfdata_damaged(perfdata, at, "the file ends within a record");
		return 1;
	}
	bytes = look(window, at, sizeof(header), &err);
	if (!bytes)
		return err;
	memcpy(&header, bytes, sizeof(header));
	size = size_of(&header);
	if (size < sizeof(header) || size > perfdata->data_end - at) {
		if (damage)
			flowtap_perfdata_damaged(perfdata, at, size < sizeof(header) ?
				"a record of no size: what is after it cannot be found" :
				"the file ends within a record");
		return 1;
	}
	/* One of simpleperf's own is only stepped over, and may be larger than the window. */
	bytes = header.type < PERFDATA_SIMPLEPERF ? look(window, at, size, &err) : NULL;
	if (err)
		return err;
	*record = (struct flowtap_perfdata_record) {
		.offset = at,
		.type = header.type,
		.misc = header.misc,
		.bytes = bytes,
		.size = size,
		.pid = FLOWTAP_PERFDATA_NONE,
		.tid = FLOWTAP_PERFDATA_NONE,
		.cpu = FLOWTAP_PERFDATA_NONE,
	};
	if (!bytes)
		return 0;
	record->payload = payload_of(perfdata, record, &cut);
	window->cut = cut;
	if (cut && damage)
		flowtap_perfdata_damaged(perfdata, at, "the file ends within trace bytes");
	parse_sample_id(perfdata, record);
	return 0;
}

/* One reading of the file. */
struct walk {
	struct window window;
	struct perfdata_unpack *unpack;	/* since a COMPRESSED record came */
	const struct flowtap_perfdata_record *packed;
	bool damage;
	bool incomplete;		/* there were records that cannot be found */
	bool ended;			/* by visit */
	flowtap_perfdata_visit visit;
	void *argument;
};

static int call(struct walk *walk, const struct flowtap_perfdata_record *record)
{
	int result = walk->visit(walk->argument, record);

	walk->ended = result != 0;
	return result;
}

/* A record out of a packed one. Trace bytes do not follow it. */
static int visit_unpacked(void *argument, const uint8_t *bytes, size_t size)
{
	struct walk *walk = argument;
	struct flowtap_perfdata_record record = {
		.offset = walk->packed->offset,
		.packed = true,
		.bytes = bytes,
		.size = size,
		.pid = FLOWTAP_PERFDATA_NONE,
		.tid = FLOWTAP_PERFDATA_NONE,
		.cpu = FLOWTAP_PERFDATA_NONE,
	};
	struct perf_event_header header;

	memcpy(&header, bytes, sizeof(header));
	record.type = header.type;
	record.misc = header.misc;
	if (header.type >= PERFDATA_HEADER_ATTR) {
		if (walk->damage)
			flowtap_perfdata_damaged(walk->window.perfdata, record.offset,
						 "a record of perf itself among packed ones");
		return 0;
	}
	parse_sample_id(walk->window.perfdata, &record);
	return call(walk, &record);
}

static int unpack(struct walk *walk, const struct flowtap_perfdata_record *record)
{
	const char *reason;
	int err;

	if (!walk->unpack)
		walk->unpack = flowtap_perfdata_unpack_new();
	if (!walk->unpack)
		return -ENOMEM;
	walk->packed = record;
	err = flowtap_perfdata_unpack(walk->unpack, record, visit_unpacked, walk, &reason);
	walk->incomplete |= reason != NULL;
	if (reason && walk->damage)
		flowtap_perfdata_damaged(walk->window.perfdata, record->offset, reason);
	return err;
}

/* One record and those that are packed in it; *at: where the next one is. 1: the end. */
static int step(struct walk *walk, uint64_t *at)
{
	struct flowtap_perfdata_record record;
	uint16_t whole;
	int err = next_record(&walk->window, *at, walk->damage, &record);

	walk->incomplete |= err == -ENODATA ||
			    (err == 1 && *at < walk->window.perfdata->data_end);
	if (err)
		return err;
	walk->incomplete |= walk->window.cut;
	if (record.type >= PERFDATA_SIMPLEPERF) {
		*at += record.size;
		return 0;
	}
	memcpy(&whole, record.bytes + 6, sizeof(whole));
	*at += whole + record.payload;
	err = call(walk, &record);
	if (!err && (record.type == PERFDATA_COMPRESSED || record.type == PERFDATA_COMPRESSED2))
		err = unpack(walk, &record);
	return err;
}

/* incomplete: damage is reported, and here whether records were lost by it; NULL: it is not. */
static int walk(const struct flowtap_perfdata *perfdata, bool *incomplete,
		flowtap_perfdata_visit visit, void *argument)
{
	struct walk walk = {
		.window = { .perfdata = perfdata, .bytes = malloc(WINDOW) },
		.damage = incomplete,
		.visit = visit,
		.argument = argument,
	};
	uint64_t at = perfdata->data;
	int err = walk.window.bytes ? 0 : -ENOMEM;

	while (!err)
		err = step(&walk, &at);
	if (walk.unpack && flowtap_perfdata_unpack_waits(walk.unpack)) {
		walk.incomplete = true;
		if (walk.damage)
			flowtap_perfdata_damaged(perfdata, at, "the packed records end within one");
	}
	if (incomplete)
		*incomplete |= walk.incomplete;
	flowtap_perfdata_unpack_free(walk.unpack);
	free(walk.window.bytes);
	/* A file that became shorter ends there. */
	return !walk.ended && (err == 1 || err == -ENODATA) ? 0 : err;
}

int flowtap_perfdata_walk(const struct flowtap_perfdata *perfdata, flowtap_perfdata_visit visit,
			  void *argument)
{
	return walk(perfdata, NULL, visit, argument);
}

/* Whether `size` bytes of a record can be kept; of one that is not packed they always can. */
static bool can_keep(struct flowtap_perfdata *perfdata,
		     const struct flowtap_perfdata_record *record, size_t size)
{
	if (!record->packed)
		return true;
	if (size <= perfdata->budget) {
		perfdata->budget -= size;
		return true;
	}
	if (!perfdata->full)
		flowtap_perfdata_damaged(perfdata, record->offset,
					 "packed records that take too much memory: some are left out");
	perfdata->full = true;
	perfdata->incomplete = true;
	return false;
}

static int parse_attr(struct flowtap_perfdata *perfdata,
		      const struct flowtap_perfdata_record *record)
{
	const uint8_t *attr = record->bytes + 8;
	size_t left = record->size - 8, size = left >= 8 ? perfdata_u32(attr + 4) : 0;
	int err;

	/* Its own size, then ids up to the record's end. */
	size = size ? size : 64;
	if (size > left)
		return -EINVAL;
	err = flowtap_perfdata_add_attr(perfdata, attr, size);
	for (size_t at = size; !err && left - at >= 8; at += 8)
		err = flowtap_perfdata_add_id(perfdata, perfdata_u64(attr + at));
	return err;
}

static int parse_aux(struct flowtap_perfdata *perfdata,
		     const struct flowtap_perfdata_record *record)
{
	if (record->size < 32)
		return -EINVAL;
	if (!can_keep(perfdata, record, sizeof(perfdata->aux.list[0])))
		return 0;
	return PERFDATA_ADD(&perfdata->aux, (struct perfdata_aux) {
		.record = record->offset,
		.order = perfdata->info.records,
		.time = record->time,
		.offset = perfdata_u64(record->bytes + 8),
		.size = perfdata_u64(record->bytes + 16),
		.flags = (uint32_t)perfdata_u64(record->bytes + 24),
		.cpu = record->cpu,
		.on = record->cpu,
		.tid = record->tid,
	});
}

static int parse_auxtrace(struct flowtap_perfdata *perfdata,
			  const struct flowtap_perfdata_record *record)
{
	uint64_t offset;

	if (record->size < AUXTRACE_SIZE)
		return -EINVAL;
	offset = perfdata_u64(record->bytes + 16);
	if (offset > UINT64_MAX - record->payload)
		return -EINVAL;
	perfdata->info.aux_bytes += record->payload;
	return PERFDATA_ADD(&perfdata->extents, (struct perfdata_extent) {
		.file = record->offset + record->size,
		.offset = offset,
		.size = record->payload,
		.tid = perfdata_u32(record->bytes + 36),
		.cpu = perfdata_u32(record->bytes + 40),
	});
}

static int parse_time_conv(struct flowtap_perfdata *perfdata,
			   const struct flowtap_perfdata_record *record)
{
	const uint8_t *bytes = record->bytes;

	if (record->size < 32 || perfdata_u64(bytes + 8) >= 64)
		return -EINVAL;
	perfdata->time_shift = perfdata_u64(bytes + 8);
	perfdata->time_mult = perfdata_u64(bytes + 16);
	perfdata->time_zero = perfdata_u64(bytes + 24);
	perfdata->has_time_conv = true;
	/* Longer since Linux 5.12: and then it may say that it means nothing. */
	if (record->size >= 56) {
		perfdata->has_time_conv = bytes[48];
		perfdata->has_time_mask = bytes[49];
		perfdata->time_cycles = perfdata_u64(bytes + 32);
		perfdata->time_mask = perfdata_u64(bytes + 40);
	}
	return 0;
}

static int parse_switch(struct flowtap_perfdata *perfdata,
			const struct flowtap_perfdata_record *record)
{
	struct perfdata_switch one = {
		.time = record->time,
		.order = perfdata->info.records,
		.cpu = record->cpu,
		.tid = record->tid,
	};

	if (record->cpu == FLOWTAP_PERFDATA_NONE)
		return 0;
	if (record->misc & PERF_RECORD_MISC_SWITCH_OUT) {
		/* Only the CPU-wide one says who comes. */
		one.tid = FLOWTAP_PERFDATA_NONE;
		if (record->type == PERF_RECORD_SWITCH_CPU_WIDE && record->size >= 16) {
			int err = flowtap_perfdata_thread(perfdata,
							  perfdata_u32(record->bytes + 12),
							  perfdata_u32(record->bytes + 8),
							  record->time);

			if (err)
				return err;
			one.tid = perfdata_u32(record->bytes + 12);
		}
	}
	if (!can_keep(perfdata, record, sizeof(one)))
		return 0;
	return PERFDATA_ADD(&perfdata->switches, one);
}

/* The kernel's own mapping: "[kernel.kallsyms]_text", of which pgoff is that symbol's address. */
static void parse_kernel(struct flowtap_perfdata *perfdata,
			 const struct flowtap_perfdata_record *record)
{
	size_t fixed = record->type == PERF_RECORD_MMAP ? 40 : 72;
	const char *path = (const char *)record->bytes + fixed, *symbol;

	if (perfdata->kernel_symbol_at || record->size <= fixed ||
	    !memchr(path, 0, record->size - fixed) || strncmp(path, "[kernel.kallsyms]", 17))
		return;
	symbol = path + 17;
	if (!*symbol || strlen(symbol) >= sizeof(perfdata->kernel_symbol))
		return;
	strcpy(perfdata->kernel_symbol, symbol);
	perfdata->kernel_symbol_at = perfdata_u64(record->bytes + 32);
	if (record->type == PERF_RECORD_MMAP2 && (record->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) &&
	    record->bytes[40] <= FLOWTAP_BUILD_ID_MAX && !perfdata->kernel_id.size) {
		perfdata->kernel_id.size = record->bytes[40];
		memcpy(perfdata->kernel_id.bytes, record->bytes + 44, record->bytes[40]);
	}
}

/* It is read again for the map, or is kept: what was packed is not in the file as it is. */
static int add_event(struct flowtap_perfdata *perfdata,
		     const struct flowtap_perfdata_record *record)
{
	/*
	 * Where nothing has a time (perf record --per-thread without -T) they follow one another all
	 * the same: a mapping does not replace one that was there before it since ever.
	 */
	struct perfdata_event event = {
		.time = perfdata->has_times ? record->time : perfdata->info.records,
		.offset = record->offset,
		.order = perfdata->info.records,
	};
	uint16_t whole;
	int err;

	memcpy(&whole, record->bytes + 6, sizeof(whole));
	if (!can_keep(perfdata, record, sizeof(event) + whole + ALLOCATION))
		return 0;
	if (record->packed) {
		event.bytes = malloc(whole);
		if (!event.bytes)
			return -ENOMEM;
		memcpy(event.bytes, record->bytes, whole);
	}
	err = PERFDATA_ADD(&perfdata->events, event);
	if (err)
		free(event.bytes);
	return err;
}

static int parse_mapping(struct flowtap_perfdata *perfdata,
			 const struct flowtap_perfdata_record *record)
{
	uint16_t mode = record->misc & PERF_RECORD_MISC_CPUMODE_MASK;
	int err;

	if (record->size < 16)
		return -EINVAL;
	if (mode == PERF_RECORD_MISC_KERNEL) {
		parse_kernel(perfdata, record);
		return 0;
	}
	if (mode == PERF_RECORD_MISC_GUEST_KERNEL || mode == PERF_RECORD_MISC_GUEST_USER)
		return 0;
	err = flowtap_perfdata_thread(perfdata, perfdata_u32(record->bytes + 12),
				      perfdata_u32(record->bytes + 8), record->time);
	if (err)
		return err;
	return add_event(perfdata, record);
}

static int parse_task(struct flowtap_perfdata *perfdata,
		      const struct flowtap_perfdata_record *record)
{
	bool comm = record->type == PERF_RECORD_COMM;
	uint32_t pid, tid;
	int err;

	if (record->size < (comm ? 16U : 32U))
		return -EINVAL;
	pid = perfdata_u32(record->bytes + 8);
	tid = perfdata_u32(record->bytes + (comm ? 12 : 16));
	err = flowtap_perfdata_thread(perfdata, tid, pid, record->time);
	/* perf writes one CPU's records after another's. */
	if (comm && record->misc & PERF_RECORD_MISC_COMM_EXEC &&
	    (!perfdata->first_exec || record->time < perfdata->first_exec))
		perfdata->first_exec = record->time;
	/*
	 * A fork that perf record made up for what was there has that bit (FORK_EXEC): the child's
	 * mappings are reported one by one.
	 */
	if (err || (comm && !(record->misc & PERF_RECORD_MISC_COMM_EXEC)) ||
	    (!comm && (record->misc & PERF_RECORD_MISC_FORK_EXEC)))
		return err;
	return add_event(perfdata, record);
}

static int parse_start(struct flowtap_perfdata *perfdata,
		       const struct flowtap_perfdata_record *record)
{
	uint32_t pid, tid;
	int err;

	if (record->size < 16)
		return -EINVAL;
	pid = perfdata_u32(record->bytes + 8);
	tid = perfdata_u32(record->bytes + 12);
	err = flowtap_perfdata_thread(perfdata, tid, pid, record->time);
	if (err || record->cpu == FLOWTAP_PERFDATA_NONE ||
	    !can_keep(perfdata, record, sizeof(perfdata->switches.list[0])))
		return err;
	return PERFDATA_ADD(&perfdata->switches, (struct perfdata_switch) {
		.time = record->time,
		.order = perfdata->info.records,
		.cpu = record->cpu,
		.tid = tid,
	});
}

static int parse_lost(struct flowtap_perfdata *perfdata,
		      const struct flowtap_perfdata_record *record)
{
	if (record->size < 24)
		return -EINVAL;
	perfdata->info.lost += perfdata_u64(record->bytes + 16);
	return 0;
}

/*
 * perf adds up what each ring dropped, mappings and tasks too, which PERF_RECORD_LOST may have counted
 * already. Samples that a BPF program left out are no loss.
 */
static int parse_lost_samples(struct flowtap_perfdata *perfdata,
			      const struct flowtap_perfdata_record *record)
{
	if (record->size < 16)
		return -EINVAL;
	if (!(record->misc & PERFDATA_MISC_LOST_BY_BPF) && perfdata_u64(record->bytes + 8))
		perfdata->incomplete = true;
	return 0;
}

static int parse_info(struct flowtap_perfdata *perfdata,
		      const struct flowtap_perfdata_record *record)
{
	if (record->size < 16)
		return -EINVAL;
	if (perfdata_u32(record->bytes + 8) != TYPE_CS_ETM)
		return 0;
	return flowtap_perfdata_metadata(perfdata, record->bytes + 16, record->size - 16);
}

static int parse_record(struct flowtap_perfdata *perfdata,
			const struct flowtap_perfdata_record *record)
{
	const uint8_t *bytes = record->bytes;

	switch (record->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return parse_mapping(perfdata, record);
	case PERF_RECORD_COMM:
	case PERF_RECORD_FORK:
		return parse_task(perfdata, record);
	case PERF_RECORD_LOST:
		return parse_lost(perfdata, record);
	case PERF_RECORD_LOST_SAMPLES:
		return parse_lost_samples(perfdata, record);
	case PERF_RECORD_THROTTLE:
		perfdata->info.throttled++;
		return 0;
	case PERF_RECORD_AUX:
		return parse_aux(perfdata, record);
	case PERF_RECORD_ITRACE_START:
		return parse_start(perfdata, record);
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		return parse_switch(perfdata, record);
	case PERFDATA_AUX_OUTPUT_HW_ID:
		return record->size < 16 ? -EINVAL :
		       flowtap_perfdata_hw_id(perfdata, perfdata_u64(bytes + 8), record->cpu);
	case PERFDATA_HEADER_ATTR:
		return perfdata->info.pipe ? parse_attr(perfdata, record) : 0;
	case PERFDATA_HEADER_BUILD_ID:
		return flowtap_perfdata_add_build_id(perfdata, bytes, record->size);
	case PERFDATA_HEADER_FEATURE:
		return record->size < 16 ? -EINVAL :
		       flowtap_perfdata_feature(perfdata, (unsigned int)perfdata_u64(bytes + 8),
						bytes + 16, record->size - 16);
	case PERFDATA_AUXTRACE_INFO:
		return parse_info(perfdata, record);
	case PERFDATA_AUXTRACE:
		return parse_auxtrace(perfdata, record);
	case PERFDATA_TIME_CONV:
		return parse_time_conv(perfdata, record);
	case PERFDATA_COMPRESSED:
	case PERFDATA_COMPRESSED2:
		perfdata->budget += BUDGET_RATIO * record->size;
		return 0;
	default:
		return 0;
	}
}

static int visit(void *argument, const struct flowtap_perfdata_record *record)
{
	struct flowtap_perfdata *perfdata = argument;
	int err;

	perfdata->info.records++;
	err = parse_record(perfdata, record);
	if (err == -EINVAL) {
		perfdata->incomplete = true;
		flowtap_perfdata_damaged(perfdata, record->offset,
					 "a record that contradicts itself");
		err = 0;
	}
	return err;
}

int flowtap_perfdata_index(struct flowtap_perfdata *perfdata)
{
	int err;

	perfdata->budget = BUDGET;
	err = walk(perfdata, &perfdata->incomplete, visit, perfdata);
	if (!err)
		err = flowtap_perfdata_check_exec(perfdata);
	flowtap_perfdata_assign(perfdata);
	flowtap_perfdata_sort_tasks(perfdata);
	flowtap_hash_table_free(&perfdata->by_tid);
	return err;
}
