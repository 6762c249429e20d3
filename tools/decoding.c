// SPDX-License-Identifier: GPL-2.0-only
#include "decoding.h"

#include "input.h"
#include "tool.h"

#include <errno.h>
#include <flowtap/riscv.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DAMAGES_SHOWN 10
#define INFO_MAX (1U << 20)
/* Inputs above this size take long enough for a progress line. */
#define PROGRESS_BYTES (32 << 20)

/* Not before all that the header says is known: with the first record. */
static int open_sink(struct decoding *decoding)
{
	int error;

	if (decoding->tap.next)
		return 0;
	/* The whole INFO: who recorded what, where and when. */
	error = format_open(&decoding->format, &decoding->output, decoding->options,
			    decoding->blocks, decoding->info ? decoding->info : "");
	decoding->tap.next = decoding->format.sink;
	return error;
}

static int finish_sink(struct decoding *decoding)
{
	int error = open_sink(decoding);

	return error ? error : format_finish(&decoding->format);
}

static int take_info(struct decoding *decoding, const struct flowtap_archive_block *block)
{
	size_t size = block->size < INFO_MAX ? block->size : INFO_MAX;

	if (decoding->info)
		return 0;
	decoding->info = malloc(size + 1);
	if (!decoding->info)
		return -ENOMEM;
	memcpy(decoding->info, block->payload, size);
	decoding->info[size] = 0;
	return 0;
}

static void take_query(struct decoding *decoding, const struct flowtap_archive_block *block)
{
	struct flowtap_query query = { .cpu = 0 };

	memcpy(&query, block->payload, block->size < sizeof(query) ? block->size : sizeof(query));
	if (query.source == FLOWTAP_SOURCE_CTR)
		flowtap_ctr_set_data_bits(decoding->ctr, block->cpu, query.ctr.data);
}

static void take_configure(struct decoding *decoding, const struct flowtap_archive_block *block)
{
	struct flowtap_configure configure = { .cpu = 0 };

	memcpy(&configure, block->payload,
	       block->size < sizeof(configure) ? block->size : sizeof(configure));
	decoding->period = configure.period;
	decoding->cpus++;
}

static int take_task(struct decoding *decoding, const struct flowtap_archive_block *block)
{
	struct flowtap_archive_task task;
	const char *comm = (const char *)task.comm;

	if (block->size < sizeof(task))
		return 0;
	memcpy(&task, block->payload, sizeof(task));
	/* A process is called as its first thread is. */
	if ((task.event != FLOWTAP_TASK_COMM && task.event != FLOWTAP_TASK_EXEC) ||
	    task.pid != task.tid)
		return 0;
	return tap_name(&decoding->tap, task.pid, comm, strnlen(comm, sizeof(task.comm)));
}

static int take_block(struct flowtap_replay *replay, const struct flowtap_archive_block *block)
{
	struct decoding *decoding = replay->argument;
	struct flowtap_stats stats = { .records = 0 };

	switch (block->type) {
	case FLOWTAP_ARCHIVE_INFO:
		return take_info(decoding, block);
	case FLOWTAP_ARCHIVE_QUERY:
		take_query(decoding, block);
		return 0;
	case FLOWTAP_ARCHIVE_CONFIGURE:
		take_configure(decoding, block);
		return 0;
	case FLOWTAP_ARCHIVE_TASK:
		return take_task(decoding, block);
	case FLOWTAP_ARCHIVE_STATS:
		memcpy(&stats, block->payload,
		       block->size < sizeof(stats) ? block->size : sizeof(stats));
		decoding->expected += stats.records;
		return 0;
	default:
		return 0;
	}
}

static void take_damage(struct flowtap_replay *replay, uint64_t offset, const char *reason,
			uint64_t bytes)
{
	const struct decoding *decoding = replay->argument;

	if (replay->counts.damages > DAMAGES_SHOWN)
		return;
	complain("'%s': offset %" PRIu64 ": %s (%" PRIu64 " bytes)",
		 input_name(decoding->options->input), offset, reason, bytes);
	if (replay->counts.damages == DAMAGES_SHOWN)
		advise("and so on: further damage is only counted");
}

static void show_progress(struct decoding *decoding)
{
	uint64_t now = number_now(), records = decoding->replay.counts.records;

	if (now - decoding->shown < 200000000)
		return;
	decoding->shown = now;
	if (decoding->expected >= records)
		fprintf(stderr, "\rdecoding %3.0f%% ",
			100.0 * (double)records / (double)decoding->expected);
	else
		fprintf(stderr, "\rdecoding, %" PRIu64 " records ", records);
}

/* Whose a sample or gap is; 0 for other records. */
static uint32_t tid_of(const struct flowtap_record *record, size_t size)
{
	if (record->type == FLOWTAP_RECORD_SAMPLE && size >= sizeof(struct flowtap_record_sample))
		return ((const struct flowtap_record_sample *)record)->tid;
	if (record->type == FLOWTAP_RECORD_GAP && size >= sizeof(struct flowtap_record_gap))
		return ((const struct flowtap_record_gap *)record)->tid;
	return 0;
}

/* What the event stood at when it triggered. */
static int take_hit(struct decoding *decoding, const struct flowtap_record *record, size_t size)
{
	const struct flowtap_record_sample *sample = (const void *)record;

	if (record->type != FLOWTAP_RECORD_SAMPLE || size < sizeof(*sample) ||
	    !(sample->trigger & FLOWTAP_TRIGGER_OVERFLOW) ||
	    !(record->misc & (FLOWTAP_MISC_USER | FLOWTAP_MISC_KERNEL)))
		return 0;
	return tap_hit(&decoding->tap, sample->pid, sample->time, sample->ip);
}

static int take_record(struct flowtap_replay *replay, uint32_t cpu,
		       const struct flowtap_record *record, size_t size)
{
	struct decoding *decoding = replay->argument;
	uint32_t wanted = decoding->options->tid, tid = wanted ? tid_of(record, size) : 0;
	int error;

	(void)cpu;
	if (tid && tid != wanted)
		return 0;
	error = open_sink(decoding);
	if (!error)
		error = take_hit(decoding, record, size);
	if (error)
		return error;
	if (decoding->progress && replay->counts.records % 64 == 0)
		show_progress(decoding);
	return flowtap_ctr_decode(decoding->ctr, record, size);
}

int decoding_init(struct decoding *decoding, const struct decode_options *options)
{
	*decoding = (struct decoding){ .options = options, .output = { .fd = -1 } };
	decoding->map = flowtap_map_new(options->sysroot);
	decoding->blocks = flowtap_blocks_new(flowtap_riscv_block, options->block_memory);
	tap_init(&decoding->tap, decoding->map);
	if (decoding->map && decoding->blocks)
		decoding->ctr =
			flowtap_ctr_new(decoding->map, decoding->blocks, &decoding->tap.sink);
	if (!decoding->ctr) {
		complain("no memory");
		return -ENOMEM;
	}
	decoding->replay = (struct flowtap_replay){
		.block = take_block,
		.damage = take_damage,
		.record = take_record,
		.argument = decoding,
	};
	return 0;
}

int decoding_run(struct decoding *decoding, int input)
{
	int error;

	decoding->progress = !decoding->options->quiet && isatty(STDERR_FILENO) &&
			     input_size(input) > PROGRESS_BYTES;
	error = flowtap_replay(&decoding->replay, input, decoding->map);
	if (decoding->shown)
		fprintf(stderr, "\r%30s\r", "");
	return error ? error : finish_sink(decoding);
}

void decoding_free(struct decoding *decoding)
{
	format_free(&decoding->format);
	flowtap_ctr_free(decoding->ctr);
	tap_free(&decoding->tap);
	flowtap_blocks_free(decoding->blocks);
	flowtap_map_free(decoding->map);
	free(decoding->info);
}
