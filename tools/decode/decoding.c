// SPDX-License-Identifier: GPL-2.0-only
/*
 * Has a recording decoded: opens the output when its decoder is known, and takes from its blocks
 * and records what summaries and --tid need.
 */
#include "decode/decoding.h"

#include "common/damage.h"
#include "common/input_file.h"
#include "common/tool.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#define INFO_MAX (1U << 20)

/* --- The output. --- */

static int check_options(const struct decoding *decoding)
{
	const struct decode_options *options = decoding->options;
	const char *name = options->cpu ? "--cpu" : "--keep-failed-transactions";

	if (decoding->recording.ete_trace || (!options->cpu && !options->keep_failed))
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
	if (decoding->request.symbols)
		decoding->request.symbols->profile = &decoding->profile;
	/* All files of one recording count from its first record. */
	decoding->request.since = decoding->recording.replay.counts.first_time;
	if (options->split) {
		split_init(&decoding->split, options, &decoding->request,
			   decoding->recording.blocks, comment);
		decoding->profile.next = &decoding->split.sink;
		return 0;
	}
	error = format_open(&decoding->format, &decoding->output, &decoding->request,
			    decoding->recording.blocks, comment);
	decoding->profile.next = decoding->format.sink;
	return error;
}

static int begin(struct flowtap_recording *recording)
{
	struct decoding *decoding = recording->argument;
	int error = check_options(decoding);

	recording->sink = pick_some(&decoding->pick) ? &decoding->pick.sink :
						       &decoding->profile.sink;
	return error ? error : open_output(decoding);
}

static int finish(struct decoding *decoding)
{
	if (pick_some(&decoding->pick) && !decoding->pick.found)
		return -ENOENT;
	return decoding->options->split ? split_finish(&decoding->split) :
					  format_finish(&decoding->format);
}

/* --- The archive's blocks. --- */

static int handle_info(struct decoding *decoding, const struct flowtap_archive_block *block)
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

static void handle_configure(struct decoding *decoding, const struct flowtap_archive_block *block)
{
	decoding->period =
		flowtap_recording_cpu(&decoding->recording, block->cpu)->configure.period;
	decoding->cpus++;
}

static int handle_task(struct decoding *decoding, const struct flowtap_archive_block *block)
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
	return flowtap_profile_set_name(&decoding->profile, task.pid, comm,
					strnlen(comm, sizeof(task.comm)));
}

static int handle_block(struct flowtap_recording *recording,
			const struct flowtap_archive_block *block)
{
	struct decoding *decoding = recording->argument;
	struct flowtap_stats stats = { .records = 0 };

	switch (block->type) {
	case FLOWTAP_ARCHIVE_INFO:
		return handle_info(decoding, block);
	case FLOWTAP_ARCHIVE_CONFIGURE:
		handle_configure(decoding, block);
		return 0;
	case FLOWTAP_ARCHIVE_TASK:
		return handle_task(decoding, block);
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

static void handle_damage(struct flowtap_recording *recording, uint64_t offset, const char *reason,
			  uint64_t bytes)
{
	struct decoding *decoding = recording->argument;

	progress_hide(&decoding->progress);
	damage_complain(decoding->options->input, &(struct damage){
		.nth = recording->replay.counts.damages, .offset = offset, .reason = reason,
		.bytes = bytes,
	});
}

static void show_progress(struct decoding *decoding)
{
	uint64_t records = decoding->recording.replay.counts.records;

	progress_show(&decoding->progress, records,
		      decoding->expected >= records ? decoding->expected : 0, "records");
}

/* Whether it is a sample or a gap, and whose: of a task that the recorder does not see tid is 0. */
static bool is_of(const struct flowtap_record *record, size_t size, uint32_t *tid)
{
	const struct flowtap_record_sample *sample = (const void *)record;
	const struct flowtap_record_gap *gap = (const void *)record;

	if (record->type == FLOWTAP_RECORD_SAMPLE && size >= sizeof(*sample))
		*tid = sample->tid;
	else if (record->type == FLOWTAP_RECORD_GAP && size >= sizeof(*gap))
		*tid = gap->tid;
	else
		return false;
	return true;
}

/* What triggered the sample; whether that comes at equal distances of something. */
static bool count_trigger(struct flowtap_profile_samples *samples, uint32_t trigger)
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

/* Where the event, or the timer, was when it triggered. */
static int handle_hit(struct decoding *decoding, const struct flowtap_record *record, size_t size)
{
	const struct flowtap_record_sample *sample = (const void *)record;

	if (record->type != FLOWTAP_RECORD_SAMPLE || size < sizeof(*sample) ||
	    !count_trigger(&decoding->profile.samples, sample->trigger))
		return 0;
	if (!(record->misc & (FLOWTAP_MISC_USER | FLOWTAP_MISC_KERNEL))) {
		decoding->profile.samples.nowhere++;
		return 0;
	}
	return flowtap_profile_add_hit(&decoding->profile, sample->pid, sample->time, sample->ip);
}

/* What was counted since `before`, of n 64-bit counters. */
static void add_since(void *sum, const void *before, const void *now, size_t n)
{
	const uint64_t *from = before, *until = now;
	uint64_t *to = sum;

	for (size_t i = 0; i < n; i++)
		to[i] += until[i] - from[i];
}

#define ADD_SINCE(sum, before, now) \
	add_since(sum, before, now, sizeof(*(sum)) / sizeof(uint64_t))

/*
 * Whose samples the ring had no room for nobody knows: that is handed on. A CPU numbers the samples
 * of all that it runs: the decoder gets also those that are not handed on, else it would take them
 * for lost.
 */
static int decode_ctr(struct decoding *decoding, uint32_t cpu, const struct flowtap_record *record,
		      size_t size)
{
	struct flowtap_recording *recording = &decoding->recording;
	struct flowtap_ctr_counts before;
	bool picked = true;
	uint32_t tid;
	int error;

	if (pick_some(&decoding->pick) && is_of(record, size, &tid))
		picked = pick_meet(&decoding->pick, tid, cpu);
	error = picked ? handle_hit(decoding, record, size) : 0;
	if (error || !pick_some(&decoding->pick))
		return error ? error : flowtap_recording_record(recording, cpu, record, size);
	if (!picked && !(record->misc & FLOWTAP_MISC_CPU_WIDE))
		return 0;
	pick_begin(&decoding->pick, picked);
	before = *flowtap_ctr_counts(recording->ctr);
	error = flowtap_recording_record(recording, cpu, record, size);
	if (picked)
		ADD_SINCE(&decoding->picked_ctr, &before, flowtap_ctr_counts(recording->ctr));
	return error;
}

/* Each record's bytes are of one thread on one CPU. */
static int decode_aux(struct decoding *decoding, uint32_t cpu, const struct flowtap_record *record,
		      size_t size)
{
	const struct flowtap_record_aux *aux = (const void *)record;
	struct flowtap_recording *recording = &decoding->recording;
	struct flowtap_aux_counts before;
	int error;

	if (!pick_some(&decoding->pick) || record->type != FLOWTAP_RECORD_AUX ||
	    size < sizeof(*aux) || !pick_meet(&decoding->pick, aux->tid, cpu))
		return flowtap_recording_record(recording, cpu, record, size);
	before = *flowtap_aux_counts(recording->aux);
	error = flowtap_recording_record(recording, cpu, record, size);
	ADD_SINCE(&decoding->picked, &before, flowtap_aux_counts(recording->aux));
	return error;
}

static int handle_record(struct flowtap_recording *recording, uint32_t cpu,
			 const struct flowtap_record *record, size_t size)
{
	struct decoding *decoding = recording->argument;

	if (recording->replay.counts.records % 64 == 0)
		show_progress(decoding);
	return recording->ete_trace ? decode_aux(decoding, cpu, record, size) :
				      decode_ctr(decoding, cpu, record, size);
}

static void come_to(struct flowtap_recording *recording, uint64_t time)
{
	struct decoding *decoding = recording->argument;

	decoding->profile.time = time;
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
static int use_images(struct flowtap_address_map *map, const char *input)
{
	return strcmp(input, "-") ? flowtap_recording_images(map, input) : 0;
}

int decoding_init(struct decoding *decoding, const struct decode_options *options)
{
	uint32_t cpu = 0;

	*decoding = (struct decoding){ .options = options, .output = { .fd = -1 } };
	if (options->cpu && pick_cpu(decoding, &cpu))
		return -EINVAL;
	decoding->map = flowtap_address_map_new(options->sysroot);
	flowtap_profile_init(&decoding->profile, decoding->map);
	pick_init(&decoding->pick, &decoding->profile.sink, options->tid,
		  options->cpu ? &cpu : NULL);
	if (!decoding->map || use_images(decoding->map, options->input)) {
		complain("no memory");
		return -ENOMEM;
	}
	decoding->ete.keep_failed_transactions = options->keep_failed;
	decoding->recording = (struct flowtap_recording){
		.map = decoding->map,
		.ete = &decoding->ete,
		.block_memory = options->block_memory,
		.begin = begin,
		.block = handle_block,
		.record = handle_record,
		.damage = handle_damage,
		.time = come_to,
		.argument = decoding,
	};
	return 0;
}

int decoding_run(struct decoding *decoding, int input)
{
	const struct decode_options *options = decoding->options;
	int error;

	decoding->progress.doing = format_progress(options->format.kind, options->output,
						   options->quiet, "decoding");
	progress_begin(&decoding->progress);
	error = flowtap_recording_decode(&decoding->recording, input);
	progress_end(&decoding->progress);
	return error ? error : finish(decoding);
}

const struct flowtap_aux_counts *decoding_aux_counts(struct decoding *decoding)
{
	struct flowtap_aux *aux = decoding->recording.aux;
	struct flowtap_aux_counts *picked = &decoding->picked;

	if (!aux || !pick_some(&decoding->pick))
		return aux ? flowtap_aux_counts(aux) : NULL;
	/* As they came out. */
	picked->ete.instructions = decoding->profile.instructions;
	picked->ete.blocks = decoding->profile.blocks;
	memcpy(picked->gaps, decoding->profile.gaps, sizeof(picked->gaps));
	return picked;
}

const struct flowtap_ctr_counts *decoding_ctr_counts(const struct decoding *decoding)
{
	if (!decoding->recording.ctr || pick_some(&decoding->pick))
		return decoding->recording.ctr ? &decoding->picked_ctr : NULL;
	return flowtap_ctr_counts(decoding->recording.ctr);
}

uint64_t decoding_executed(const struct decoding *decoding)
{
	uint64_t samples = decoding->profile.samples.event, period = 0;
	bool lost = !pick_some(&decoding->pick);

	for (size_t i = 0; i < decoding->recording.n_cpus; i++) {
		const struct flowtap_recording_cpu *cpu = &decoding->recording.cpus[i];
		const struct flowtap_configure *configure = &cpu->configure;

		if (!cpu->configured)
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
	struct flowtap_aux *aux = decoding->recording.aux;
	const struct flowtap_ctr *ctr = decoding->recording.ctr;

	if (aux)
		return flowtap_aux_counts(aux)->bad_records +
		       flowtap_aux_counts(aux)->ete.bad_packets;
	return ctr ? flowtap_ctr_counts(ctr)->bad_records : 0;
}

void decoding_free(struct decoding *decoding)
{
	split_free(&decoding->split);
	format_free(&decoding->format);
	flowtap_profile_free(&decoding->profile);
	flowtap_recording_free(&decoding->recording);
	flowtap_address_map_free(decoding->map);
	free(decoding->info);
}
