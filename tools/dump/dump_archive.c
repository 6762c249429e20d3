// SPDX-License-Identifier: GPL-2.0-only
/* The blocks of an archive as text. */
#include "common/names.h"
#include "common/tool.h"
#include "dump/dump.h"

#include <errno.h>
#include <flowtap/archive.h>
#include <flowtap/ring.h>
#include <inttypes.h>
#include <string.h>

/* What a block of a type contains; each returns NULL or what contradicts itself in it. */
typedef const char *(*contents_printer)(const struct flowtap_archive_block *block);

static const char short_block[] = "it is shorter than its type";

static const char *print_info(const struct flowtap_archive_block *block)
{
	const char *at = block->payload, *end = at + block->size;

	while (at < end) {
		const char *line = memchr(at, '\n', (size_t)(end - at));
		size_t length = line ? (size_t)(line - at) : (size_t)(end - at);

		printf("  ");
		print_plain(stdout, at, length);
		putchar('\n');
		at += length + 1;
	}
	return NULL;
}

static void print_ete_caps(const struct flowtap_ete_caps *caps)
{
	for (size_t i = 0; i < sizeof(caps->trcidr) / sizeof(caps->trcidr[0]); i++)
		if (caps->trcidr[i])
			printf(" trcidr%zu=0x%x", i, caps->trcidr[i]);
	printf(" trcdevarch=0x%x trcauthstatus=0x%x trbidr=0x%" PRIx64 " counter_frequency=%" PRIu64
	       " settable=", caps->trcdevarch, caps->trcauthstatus, (uint64_t)caps->trbidr,
	       (uint64_t)caps->counter_frequency);
	print_bits(stdout, config_bits, caps->settable, ",");
	printf(" address_ranges=%u exception_level=%u\n", caps->address_ranges,
	       caps->exception_level);
}

static const char *print_query(const struct flowtap_archive_block *block)
{
	struct flowtap_query query = { .cpu = 0 };

	/* An older recorder's is shorter, a newer one's longer: the new part is at the end. */
	memcpy(&query, block->payload, block->size < sizeof(query) ? block->size : sizeof(query));
	printf("  source=%s reason=%s abi=%u modes=", name_of(source_names, query.source),
	       name_of(reason_names, query.reason), query.abi);
	print_bits(stdout, mode_bits, query.modes, ",");
	printf(" triggers=");
	print_bits(stdout, trigger_bits, query.triggers, ",");
	printf(" flags=");
	print_bits(stdout, flag_bits, query.flags, ",");
	if (query.source == FLOWTAP_SOURCE_ETE) {
		print_ete_caps(&query.ete);
		return NULL;
	}
	printf(" period_min=%" PRIu64 " depth_max=%u sctrctl=", (uint64_t)query.period_min,
	       query.ctr.depth_max);
	print_bits(stdout, control_bits, query.ctr.control, ",");
	printf(" ctrdata=");
	print_bits(stdout, data_bits, query.ctr.data, ",");
	printf(" ctrtarget=");
	print_bits(stdout, target_bits, query.ctr.target, ",");
	putchar('\n');
	return NULL;
}

static void print_ete_configure(const struct flowtap_configure *configure)
{
	const struct flowtap_ete_configure *ete = &configure->ete;

	printf(" aux_pages=%u config=", configure->aux_pages);
	print_bits(stdout, config_bits, ete->config, ",");
	printf(" sync_period=%u", ete->sync_period);
	if (ete->cycle_threshold)
		printf(" cycle_threshold=%u", ete->cycle_threshold);
	for (uint32_t i = 0; i < ete->address_ranges && i < 4; i++)
		printf(" range=0x%" PRIx64 "-0x%" PRIx64, (uint64_t)ete->address_start[i],
		       (uint64_t)ete->address_end[i]);
	if (ete->strobe_on_ns || ete->strobe_off_ns)
		printf(" strobe_on_ns=%" PRIu64 " strobe_off_ns=%" PRIu64,
		       (uint64_t)ete->strobe_on_ns, (uint64_t)ete->strobe_off_ns);
	putchar('\n');
}

static const char *print_configure(const struct flowtap_archive_block *block)
{
	struct flowtap_configure configure = { .cpu = 0 };

	memcpy(&configure, block->payload,
	       block->size < sizeof(configure) ? block->size : sizeof(configure));
	printf("  source=%s flags=", name_of(source_names, configure.source));
	print_bits(stdout, flag_bits, configure.flags, ",");
	printf(" modes=");
	print_bits(stdout, mode_bits, configure.modes, ",");
	printf(" triggers=");
	print_bits(stdout, trigger_bits, configure.triggers, ",");
	printf(" ring_pages=%u", configure.ring_pages);
	if (configure.source == FLOWTAP_SOURCE_ETE) {
		print_ete_configure(&configure);
		return NULL;
	}
	if (configure.triggers & FLOWTAP_TRIGGER_OVERFLOW)
		printf(" event=%s:0x%" PRIx64 " period=%" PRIu64,
		       name_of(event_type_names, configure.event_type),
		       (uint64_t)configure.event_config, (uint64_t)configure.period);
	if (configure.triggers & FLOWTAP_TRIGGER_TIMER)
		printf(" timer_ns=%" PRIu64, (uint64_t)configure.timer_ns);
	printf(" depth=%u control=", configure.ctr.depth);
	print_bits(stdout, control_bits, configure.ctr.control, ",");
	putchar('\n');
	return NULL;
}

static const char *print_ring(const struct flowtap_archive_block *block)
{
	const struct flowtap_record *record;
	const char *problem = NULL;
	size_t offset = 0;
	int error;

	while (!(error = flowtap_record_at(block->payload, block->size, offset, &record))) {
		const char *one = dump_record(record, record->size);

		problem = problem ? problem : one;
		offset += record->size;
	}
	return error == -ENODATA ? problem : "a record in it is not whole";
}

static const char *print_aux(const struct flowtap_archive_block *block)
{
	uint64_t offset;

	if (block->size < sizeof(offset))
		return short_block;
	memcpy(&offset, block->payload, sizeof(offset));
	printf("  offset=0x%" PRIx64 " bytes=%zu\n", offset, block->size - sizeof(offset));
	return NULL;
}

static void print_build_id(const uint8_t id[24], uint32_t size)
{
	if (!size || size > 24)
		return;
	printf(" build_id=");
	for (uint32_t i = 0; i < size; i++)
		printf("%02x", id[i]);
}

static const char *print_mapping(const struct flowtap_archive_block *block)
{
	struct flowtap_archive_mapping mapping;
	size_t after = sizeof(mapping);

	if (block->size < sizeof(mapping))
		return short_block;
	memcpy(&mapping, block->payload, sizeof(mapping));
	printf(" ");
	dump_time("time", mapping.time);
	printf(" pid=%u tid=%u 0x%" PRIx64 "-0x%" PRIx64 " offset=0x%" PRIx64 " %s", mapping.pid,
	       mapping.tid, mapping.start, mapping.start + mapping.size, mapping.file_offset,
	       mapping.executable ? "x" : "-");
	print_build_id(mapping.build_id, mapping.build_id_size);
	if (mapping.path_size > block->size - after) {
		putchar('\n');
		return "its path is longer than the block";
	}
	putchar(' ');
	print_plain(stdout, (const char *)block->payload + after, mapping.path_size);
	after = (after + mapping.path_size + 1 + 7) & ~(size_t)7;
	if (block->type == FLOWTAP_ARCHIVE_BYTES)
		printf(" bytes=%zu", block->size > after ? block->size - after : 0);
	putchar('\n');
	return NULL;
}

static const char *print_task(const struct flowtap_archive_block *block)
{
	struct flowtap_archive_task task;

	if (block->size < sizeof(task))
		return short_block;
	memcpy(&task, block->payload, sizeof(task));
	printf("  %s", name_of(task_names, task.event));
	dump_time("time", task.time);
	printf(" pid=%u tid=%u parent_pid=%u parent_tid=%u comm=", task.pid, task.tid,
	       task.parent_pid, task.parent_tid);
	print_plain(stdout, (const char *)task.comm,
		    strnlen((const char *)task.comm, task.comm_size < sizeof(task.comm)
							     ? task.comm_size
							     : sizeof(task.comm)));
	putchar('\n');
	return NULL;
}

static const char *print_lost(const struct flowtap_archive_block *block)
{
	uint64_t count;

	if (block->size < sizeof(count))
		return short_block;
	memcpy(&count, block->payload, sizeof(count));
	printf("  events=%" PRIu64 "\n", count);
	return NULL;
}

#define FIGURE(member) { #member, offsetof(struct flowtap_stats, member) }

static const char *print_stats(const struct flowtap_archive_block *block)
{
	static const struct {
		const char *name;
		size_t offset;
	} figures[] = {
		FIGURE(samples),      FIGURE(entries),	    FIGURE(records),
		FIGURE(bytes),	      FIGURE(lost_samples), FIGURE(lost_entries),
		FIGURE(lost_records), FIGURE(lost_bytes),   FIGURE(triggers),
		FIGURE(switches),     FIGURE(wakeups),	    FIGURE(high_water),
		FIGURE(tasks),	      FIGURE(enabled_ns),   FIGURE(aux_bytes),
		FIGURE(interrupts),
	};
	struct flowtap_stats stats = { .samples = 0 };
	uint64_t value;

	memcpy(&stats, block->payload, block->size < sizeof(stats) ? block->size : sizeof(stats));
	putchar(' ');
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
		memcpy(&value, (const uint8_t *)&stats + figures[i].offset, sizeof(value));
		printf(" %s=%" PRIu64, figures[i].name, value);
	}
	for (uint32_t cause = 0; cause < sizeof(stats.losses) / sizeof(stats.losses[0]); cause++)
		if (stats.losses[cause])
			printf(" gaps.%s=%" PRIu64, cause_name(cause),
			       (uint64_t)stats.losses[cause]);
	putchar('\n');
	return NULL;
}

/* The name that follows a structure of `head` bytes. NULL, or what is wrong with it. */
static const char *print_name(const struct flowtap_archive_block *block, size_t head,
			      uint32_t size, uint32_t stored)
{
	size_t after = (head + (size_t)size + 8) & ~(size_t)7;

	if (after > block->size) {
		putchar('\n');
		return "its name is longer than the block";
	}
	putchar(' ');
	print_plain(stdout, (const char *)block->payload + head, size);
	putchar('\n');
	return block->size - after == stored ? NULL : "it does not hold what it says";
}

static const char *print_kernel(const struct flowtap_archive_block *block)
{
	struct flowtap_archive_kernel kernel;

	if (block->size < sizeof(kernel))
		return short_block;
	memcpy(&kernel, block->payload, sizeof(kernel));
	printf(" ");
	dump_time("time", kernel.time);
	dump_time("until", kernel.until);
	printf(" 0x%" PRIx64 "-0x%" PRIx64 " offset=0x%" PRIx64 " bytes=%u stored=%u %s flags=",
	       kernel.start, kernel.start + kernel.size, kernel.offset, kernel.part_size,
	       kernel.stored_size, name_of(compression_names, kernel.compression));
	print_bits(stdout, kernel_bits, kernel.flags, ",");
	return print_name(block, sizeof(kernel), kernel.name_size, kernel.stored_size);
}

static const char *print_symbols(const struct flowtap_archive_block *block)
{
	struct flowtap_archive_symbols symbols;

	if (block->size < sizeof(symbols))
		return short_block;
	memcpy(&symbols, block->payload, sizeof(symbols));
	printf(" ");
	dump_time("time", symbols.time);
	printf(" bytes=%u stored=%zu %s\n", symbols.size, block->size - sizeof(symbols),
	       name_of(compression_names, symbols.compression));
	return NULL;
}

static const char *print_file(const struct flowtap_archive_block *block)
{
	struct flowtap_archive_file file;

	if (block->size < sizeof(file))
		return short_block;
	memcpy(&file, block->payload, sizeof(file));
	printf("  size=%" PRIu64 " offset=0x%" PRIx64 " bytes=%" PRIu64 " stored=%u %s", file.size,
	       file.offset, file.part_size, file.stored_size,
	       name_of(compression_names, file.compression));
	print_build_id(file.build_id, file.build_id_size);
	return print_name(block, sizeof(file), file.path_size, file.stored_size);
}

static const char *print_trigger(const struct flowtap_archive_block *block)
{
	struct flowtap_archive_trigger trigger;

	if (block->size < sizeof(trigger))
		return short_block;
	memcpy(&trigger, block->payload, sizeof(trigger));
	if (trigger.text_size > block->size - sizeof(trigger))
		return "it does not hold what it says";
	printf(" ");
	dump_time("time", trigger.time);
	printf(" address=0x%" PRIx64 " pid=%u tid=%u %s%s", trigger.address, trigger.pid,
	       trigger.tid, name_of(trigger_cause_names, trigger.cause),
	       trigger.text_size ? " " : "");
	print_plain(stdout, (const char *)block->payload + sizeof(trigger), trigger.text_size);
	putchar('\n');
	return NULL;
}

static const struct {
	uint32_t type;
	contents_printer print;
} printers[] = {
	{ FLOWTAP_ARCHIVE_INFO, print_info },	    { FLOWTAP_ARCHIVE_QUERY, print_query },
	{ FLOWTAP_ARCHIVE_CONFIGURE, print_configure }, { FLOWTAP_ARCHIVE_RING, print_ring },
	{ FLOWTAP_ARCHIVE_AUX, print_aux },	    { FLOWTAP_ARCHIVE_MAPPING, print_mapping },
	{ FLOWTAP_ARCHIVE_TASK, print_task },	    { FLOWTAP_ARCHIVE_BYTES, print_mapping },
	{ FLOWTAP_ARCHIVE_LOST, print_lost },	    { FLOWTAP_ARCHIVE_STATS, print_stats },
	{ FLOWTAP_ARCHIVE_BEGUN, print_stats },
	{ FLOWTAP_ARCHIVE_KERNEL, print_kernel },   { FLOWTAP_ARCHIVE_SYMBOLS, print_symbols },
	{ FLOWTAP_ARCHIVE_FILE, print_file },	    { FLOWTAP_ARCHIVE_TRIGGER, print_trigger },
};

static bool print_block(const struct flowtap_archive_block *block, const char *path, bool contents,
			struct dump_progress *progress)
{
	const char *problem = NULL;

	printf("0x%08" PRIx64 " %s", block->offset, name_of(block_names, block->type));
	if (!strcmp(name_of(block_names, block->type), "reserved"))
		printf(" type=%u", block->type);
	printf(" cpu=%u", block->cpu);
	dump_time("time", block->time);
	printf(" size=%zu\n", block->size);
	for (size_t i = 0; contents && i < sizeof(printers) / sizeof(printers[0]); i++)
		if (printers[i].type == block->type)
			problem = printers[i].print(block);
	if (!problem)
		return true;
	dump_progress_hide(progress);
	complain("'%s': offset %" PRIu64 ": %s block: %s", path, block->offset,
		 name_of(block_names, block->type), problem);
	return false;
}

int dump_archive(int fd, const char *path, bool contents, struct dump_progress *progress)
{
	struct flowtap_archive_reader *reader;
	struct flowtap_archive_block block;
	int result, status = STATUS_OK;
	bool ended = false;

	result = flowtap_archive_open(fd, &reader);
	if (result) {
		complain("'%s': %s", path,
			 result == -EBADMSG ? "this is no flowtap archive" :
			 result == -EPROTONOSUPPORT ? "an archive of another version of flowtap" :
			 strerror(-result));
		return STATUS_ERROR;
	}
	while (!ferror(stdout) && (result = flowtap_archive_next(reader, &block))) {
		if (result > 0) {
			dump_progress_show(progress, block.offset);
			if (!print_block(&block, path, contents, progress))
				status = STATUS_DAMAGED;
			ended |= block.type == FLOWTAP_ARCHIVE_END;
			continue;
		}
		status = STATUS_DAMAGED;
		dump_progress_hide(progress);
		complain("'%s': %s", path, flowtap_archive_error(reader, NULL));
		if (result != -EBADMSG)
			break;
	}
	dump_progress_end(progress);
	/* Also where it was cut within a block: a complaint said so. */
	if (!ended && (!result || result == -ENODATA)) {
		status = STATUS_DAMAGED;
		complain("'%s': the recording was not finalised: it was cut off, or the recorder was "
			 "killed", path);
	}
	flowtap_archive_reader_free(reader);
	return status;
}
