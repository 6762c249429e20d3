// SPDX-License-Identifier: GPL-2.0-only
/*
 * Takes an archive's blocks and records from the replay, chooses the decoder by the first record,
 * and opens the output then.
 */
#include "decode/decoding.h"

#include "common/input_file.h"
#include "common/tool.h"

#include <errno.h>
#include <flowtap/arm.h>
#include <flowtap/riscv.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DAMAGES_SHOWN 10
#define INFO_MAX (1U << 20)
#define CPUS_MAX 8192

/* --- What was recorded, and what it is decoded with. --- */

/* NULL: no memory, or more than any machine has. */
static struct decoding_cpu *cpu_of(struct decoding *decoding, uint32_t cpu)
{
	struct decoding_cpu *bigger;

	for (size_t i = 0; i < decoding->n_cpu; i++)
		if (decoding->cpu[i].cpu == cpu)
			return &decoding->cpu[i];
	if (decoding->n_cpu == CPUS_MAX)
		return NULL;
	bigger = realloc(decoding->cpu, (decoding->n_cpu + 1) * sizeof(bigger[0]));
	if (!bigger)
		return NULL;
	decoding->cpu = bigger;
	bigger[decoding->n_cpu] = (struct decoding_cpu){ .cpu = cpu };
	return &bigger[decoding->n_cpu++];
}

static int open_ctr(struct decoding *decoding)
{
	decoding->blocks = flowtap_blocks_new(flowtap_riscv_block, decoding->options->block_memory);
	if (decoding->blocks)
		decoding->ctr = flowtap_ctr_new(decoding->map, decoding->blocks,
						&decoding->profile.sink);
	if (!decoding->ctr)
		return -ENOMEM;
	for (size_t i = 0; i < decoding->n_cpu; i++)
		if (decoding->cpu[i].query.source == FLOWTAP_SOURCE_CTR)
			flowtap_ctr_set_data_bits(decoding->ctr, decoding->cpu[i].cpu,
						  decoding->cpu[i].query.ctr.data);
	return 0;
}

static long read_aux(void *argument, uint32_t cpu, uint64_t offset, void *buffer, size_t size)
{
	struct decoding *decoding = argument;

	return flowtap_replay_aux(&decoding->replay, cpu, offset, buffer, size);
}

static uint64_t next_aux(void *argument, uint32_t cpu, uint64_t offset)
{
	struct decoding *decoding = argument;

	return flowtap_replay_aux_next(&decoding->replay, cpu, offset);
}

static void come_to(void *argument, uint64_t time)
{
	struct decoding *decoding = argument;

	decoding->profile.time = time;
}

static bool wfx_of(const struct decoding *decoding)
{
	for (size_t i = 0; i < decoding->n_cpu; i++)
		if (decoding->cpu[i].configured && decoding->cpu[i].queried)
			return flowtap_aux_wfx(&decoding->cpu[i].query);
	return false;
}

/* -EINVAL of a CPU: its records become gaps. */
static int describe_cpus(struct decoding *decoding)
{
	int error = 0;

	for (size_t i = 0; i < decoding->n_cpu && error != -ENOMEM; i++) {
		const struct decoding_cpu *cpu = &decoding->cpu[i];

		if (!cpu->configured)
			continue;
		if (cpu->queried)
			error = flowtap_aux_query(decoding->aux, cpu->cpu, &cpu->query,
						  sizeof(cpu->query));
		if (error != -ENOMEM)
			error = flowtap_aux_configure(decoding->aux, cpu->cpu, &cpu->configure,
						      sizeof(cpu->configure));
	}
	return error == -ENOMEM ? error : 0;
}

static int open_aux(struct decoding *decoding)
{
	const struct decode_options *options = decoding->options;
	const struct flowtap_ete_options ete = { .keep_failed_transactions = options->keep_failed };
	struct flowtap_aux_options request = {
		.map = decoding->map,
		.wfx = wfx_of(decoding),
		.sink = &decoding->pick.sink,
		.ete = &ete,
		.read = read_aux,
		.next = next_aux,
		.time = come_to,
		.argument = decoding,
	};

	decoding->blocks = flowtap_blocks_new(request.wfx ? flowtap_arm_block_wfx
							  : flowtap_arm_block,
					      options->block_memory);
	request.blocks = decoding->blocks;
	if (!request.blocks || flowtap_aux_new(&request, &decoding->aux))
		return -ENOMEM;
	return describe_cpus(decoding);
}

/* From which source: what CONFIGURE says, else what the first record is of. */
static int choose(const struct decoding *decoding, const struct flowtap_record *record)
{
	bool aux = false, other = false;

	for (size_t i = 0; i < decoding->n_cpu; i++) {
		const struct decoding_cpu *cpu = &decoding->cpu[i];

		aux |= cpu->configured && cpu->configure.source == FLOWTAP_SOURCE_ETE;
		other |= cpu->configured && cpu->configure.source != FLOWTAP_SOURCE_ETE;
	}
	if (aux && other)
		return -EPROTOTYPE;
	return aux || (!other && record && record->type == FLOWTAP_RECORD_AUX);
}

static int check_options(const struct decoding *decoding, bool aux)
{
	const struct decode_options *options = decoding->options;
	const char *name = options->cpu ? "--cpu" : "--keep-failed-transactions";

	if (aux || (!options->cpu && !options->keep_failed))
		return 0;
	complain("%s is for Arm's traces: '%s' is none", name, input_name(options->input));
	return -ECANCELED;
}

static int open_output(struct decoding *decoding)
{
	const struct decode_options *options = decoding->options;
	/* The whole INFO: who recorded what, where and when. */
	const char *comment = decoding->info ? decoding->info : "";
	int error;

	decoding->request = options->format;
	if (decoding->request.symbols) {
		decoding->request.symbols->find = profile_symbol;
		decoding->request.symbols->argument = &decoding->profile;
	}
	/* All files of one recording count from its first record. */
	decoding->request.since = decoding->replay.counts.first_time;
	if (options->split) {
		split_init(&decoding->split, options, &decoding->request, decoding->blocks,
			   comment);
		decoding->profile.next = &decoding->split.sink;
		return 0;
	}
	error = format_open(&decoding->format, &decoding->output, &decoding->request,
			    decoding->blocks, comment);
	decoding->profile.next = decoding->format.sink;
	return error;
}

/* Not before all that the header says is known: with the first record. */
static int open_decoder(struct decoding *decoding, const struct flowtap_record *record)
{
	int aux, error;

	if (decoding->profile.next)
		return 0;
	aux = choose(decoding, record);
	if (aux < 0)
		return aux;
	error = check_options(decoding, aux);
	if (!error)
		error = aux ? open_aux(decoding) : open_ctr(decoding);
	return error ? error : open_output(decoding);
}

static int finish(struct decoding *decoding)
{
	int error = open_decoder(decoding, NULL);

	if (!error && decoding->aux)
		error = flowtap_aux_finish(decoding->aux);
	if (!error && pick_some(&decoding->pick) && !decoding->pick.found)
		error = -ENOENT;
	if (error)
		return error;
	return decoding->options->split ? split_finish(&decoding->split) :
					  format_finish(&decoding->format);
}

/* --- The archive's blocks. --- */

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

static int take_query(struct decoding *decoding, const struct flowtap_archive_block *block)
{
	struct decoding_cpu *cpu = cpu_of(decoding, block->cpu);
	size_t size = sizeof(cpu->query);

	if (!cpu)
		return -ENOMEM;
	memcpy(&cpu->query, block->payload, block->size < size ? block->size : size);
	cpu->queried = true;
	return 0;
}

static int take_configure(struct decoding *decoding, const struct flowtap_archive_block *block)
{
	struct decoding_cpu *cpu = cpu_of(decoding, block->cpu);
	size_t size = sizeof(cpu->configure);

	if (!cpu)
		return -ENOMEM;
	memcpy(&cpu->configure, block->payload, block->size < size ? block->size : size);
	cpu->configured = true;
	decoding->period = cpu->configure.period;
	decoding->cpus++;
	return 0;
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
	return profile_set_name(&decoding->profile, task.pid, comm, strnlen(comm, sizeof(task.comm)));
}

static int take_block(struct flowtap_replay *replay, const struct flowtap_archive_block *block)
{
	struct decoding *decoding = replay->argument;
	struct flowtap_stats stats = { .records = 0 };

	switch (block->type) {
	case FLOWTAP_ARCHIVE_INFO:
		return take_info(decoding, block);
	case FLOWTAP_ARCHIVE_QUERY:
		return take_query(decoding, block);
	case FLOWTAP_ARCHIVE_CONFIGURE:
		return take_configure(decoding, block);
	case FLOWTAP_ARCHIVE_TASK:
		return take_task(decoding, block);
	case FLOWTAP_ARCHIVE_TRIGGER:
		triggers_take(&decoding->triggers, block);
		return 0;
	case FLOWTAP_ARCHIVE_STATS:
	case FLOWTAP_ARCHIVE_BEGUN:
		memcpy(&stats, block->payload,
		       block->size < sizeof(stats) ? block->size : sizeof(stats));
		decoding->lost_samples += block->type == FLOWTAP_ARCHIVE_STATS ?
						  stats.lost_samples : -stats.lost_samples;
		decoding->expected += block->type == FLOWTAP_ARCHIVE_STATS ? stats.records :
									     -stats.records;
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
	complain("'%s': offset %" PRIu64 ": %s (%" PRIu64 " byte%s)",
		 input_name(decoding->options->input), offset, reason, bytes, plural(bytes));
	if (replay->counts.damages == DAMAGES_SHOWN)
		advise("and so on: further damage is only counted");
}

static void show_progress(struct decoding *decoding)
{
	uint64_t records = decoding->replay.counts.records;

	progress_show(&decoding->progress, records,
		      decoding->expected >= records ? decoding->expected : 0, "records");
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

/* What triggered the sample; whether that comes at equal distances of something. */
static bool count_trigger(struct profile_samples *samples, uint32_t trigger)
{
	if (trigger & FLOWTAP_TRIGGER_OVERFLOW)
		samples->event++;
	else if (trigger & FLOWTAP_TRIGGER_TIMER)
		samples->timer++;
	else if (trigger & FLOWTAP_TRIGGER_SWITCH)
		samples->switches++;
	else
		samples->asked++;
	return trigger & (FLOWTAP_TRIGGER_OVERFLOW | FLOWTAP_TRIGGER_TIMER);
}

/* Where the event, or the timer, stood when it triggered. */
static int take_hit(struct decoding *decoding, const struct flowtap_record *record, size_t size)
{
	const struct flowtap_record_sample *sample = (const void *)record;

	if (record->type != FLOWTAP_RECORD_SAMPLE || size < sizeof(*sample) ||
	    !count_trigger(&decoding->profile.samples, sample->trigger))
		return 0;
	if (!(record->misc & (FLOWTAP_MISC_USER | FLOWTAP_MISC_KERNEL))) {
		decoding->profile.samples.nowhere++;
		return 0;
	}
	return profile_add_hit(&decoding->profile, sample->pid, sample->time, sample->ip);
}

static int decode_ctr(struct decoding *decoding, uint32_t cpu, const struct flowtap_record *record,
		      size_t size)
{
	uint32_t tid = pick_some(&decoding->pick) ? tid_of(record, size) : 0;
	int error;

	if (tid && !pick_meet(&decoding->pick, tid, cpu))
		return 0;
	error = take_hit(decoding, record, size);
	return error ? error : flowtap_ctr_decode(decoding->ctr, record, size);
}

/* What was counted since `before`. */
static void add_since(struct flowtap_aux_counts *sum, const struct flowtap_aux_counts *before,
		      const struct flowtap_aux_counts *now)
{
	/* All of them are 64-bit counters. */
	uint64_t *to = (uint64_t *)sum;
	const uint64_t *from = (const uint64_t *)before, *until = (const uint64_t *)now;

	for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++)
		to[i] += until[i] - from[i];
}

/* Each record's bytes are of one thread on one CPU. */
static int decode_aux(struct decoding *decoding, uint32_t cpu, const struct flowtap_record *record,
		      size_t size)
{
	const struct flowtap_record_aux *aux = (const void *)record;
	struct flowtap_aux_counts before;
	int error;

	if (!pick_some(&decoding->pick) || record->type != FLOWTAP_RECORD_AUX ||
	    size < sizeof(*aux) || !pick_meet(&decoding->pick, aux->tid, cpu))
		return flowtap_aux_decode(decoding->aux, cpu, record, size);
	before = *flowtap_aux_counts(decoding->aux);
	error = flowtap_aux_decode(decoding->aux, cpu, record, size);
	add_since(&decoding->picked, &before, flowtap_aux_counts(decoding->aux));
	return error;
}

static int take_record(struct flowtap_replay *replay, uint32_t cpu,
		       const struct flowtap_record *record, size_t size)
{
	struct decoding *decoding = replay->argument;
	int error = open_decoder(decoding, record);

	if (error)
		return error;
	if (replay->counts.records % 64 == 0)
		show_progress(decoding);
	return decoding->aux ? decode_aux(decoding, cpu, record, size) :
			       decode_ctr(decoding, cpu, record, size);
}

/* "3" or "cpu3". */
static int pick_cpu(struct decoding *decoding, uint32_t *cpu)
{
	const char *wanted = decoding->options->cpu;
	uint64_t value;

	if (!strncmp(wanted, "cpu", 3))
		wanted += 3;
	if (!number_parse(wanted, 0, UINT32_MAX, &value)) {
		complain("--cpu '%s' is no number of a CPU", decoding->options->cpu);
		return -EINVAL;
	}
	*cpu = (uint32_t)value;
	return 0;
}

/* What flowtapd saved beside its segments. 0 or -ENOMEM. */
static int use_images(struct flowtap_map *map, const char *input)
{
	const char *slash = strrchr(input, '/');
	struct stat status;
	char *path;
	int error = 0;

	if (!strcmp(input, "-"))
		return 0;
	if (asprintf(&path, "%.*simages", slash ? (int)(slash - input + 1) : 0, input) < 0)
		return -ENOMEM;
	if (!stat(path, &status) && S_ISDIR(status.st_mode))
		error = flowtap_map_images(map, path);
	free(path);
	return error;
}

int decoding_init(struct decoding *decoding, const struct decode_options *options)
{
	uint32_t cpu = 0;

	*decoding = (struct decoding){ .options = options, .output = { .fd = -1 } };
	if (options->cpu && pick_cpu(decoding, &cpu))
		return -EINVAL;
	decoding->map = flowtap_map_new(options->sysroot);
	profile_init(&decoding->profile, decoding->map);
	pick_init(&decoding->pick, &decoding->profile.sink, options->tid,
		  options->cpu ? &cpu : NULL);
	if (!decoding->map || use_images(decoding->map, options->input)) {
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

	decoding->progress.doing = decoding->options->quiet ? NULL : "decoding";
	error = flowtap_replay(&decoding->replay, input, decoding->map);
	progress_end(&decoding->progress);
	return error ? error : finish(decoding);
}

const struct flowtap_aux_counts *decoding_aux_counts(struct decoding *decoding)
{
	struct flowtap_aux_counts *picked = &decoding->picked;

	if (!decoding->aux || !pick_some(&decoding->pick))
		return decoding->aux ? flowtap_aux_counts(decoding->aux) : NULL;
	/* As they came out. */
	picked->ete.instructions = decoding->profile.instructions;
	picked->ete.blocks = decoding->profile.blocks;
	memcpy(picked->gaps, decoding->profile.gaps, sizeof(picked->gaps));
	return picked;
}

uint64_t decoding_executed(const struct decoding *decoding)
{
	uint64_t samples = decoding->profile.samples.event, period = 0;
	bool lost = !pick_some(&decoding->pick);

	for (size_t i = 0; i < decoding->n_cpu; i++) {
		const struct flowtap_configure *configure = &decoding->cpu[i].configure;

		if (!decoding->cpu[i].configured)
			continue;
		if (!(configure->triggers & FLOWTAP_TRIGGER_OVERFLOW) ||
		    configure->event_type != PERF_TYPE_HARDWARE ||
		    configure->event_config != PERF_COUNT_HW_INSTRUCTIONS ||
		    (period && configure->period != period))
			return 0;
		period = configure->period;
		/* What triggered those that were lost nobody counts. */
		lost &= configure->triggers == FLOWTAP_TRIGGER_OVERFLOW;
	}
	if (lost)
		samples += decoding->lost_samples;
	return __builtin_mul_overflow(samples, period, &samples) ? 0 : samples;
}

uint64_t decoding_bad_records(const struct decoding *decoding)
{
	if (decoding->aux)
		return flowtap_aux_counts(decoding->aux)->bad_records +
		       flowtap_aux_counts(decoding->aux)->ete.bad_packets;
	return decoding->ctr ? flowtap_ctr_counts(decoding->ctr)->bad_records : 0;
}

void decoding_free(struct decoding *decoding)
{
	split_free(&decoding->split);
	format_free(&decoding->format);
	flowtap_aux_free(decoding->aux);
	flowtap_ctr_free(decoding->ctr);
	profile_free(&decoding->profile);
	flowtap_blocks_free(decoding->blocks);
	flowtap_map_free(decoding->map);
	free(decoding->cpu);
	free(decoding->info);
}
