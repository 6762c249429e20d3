// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replays an archive, keeps each sample with the part of the flow that the decoder made of it,
 * and sorts the samples of all archives.
 */
#include "samples.h"

#include <errno.h>
#include <fcntl.h>
#include <flowtap/block.h>
#include <flowtap/ctr.h>
#include <flowtap/replay.h>
#include <flowtap/riscv.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the callbacks of one archive's replay share. */
struct load {
	struct samples *samples;
	struct archive *archive;
	struct flowtap_ctr *ctr;
	size_t number;
	uint64_t told;
	const char *why;
};

static int keep(struct load *load, uint32_t cpu, const struct flowtap_record_sample *record,
		size_t size, size_t first)
{
	struct samples *samples = load->samples;
	struct sample sample = {
		.archive = load->archive,
		.number = load->number++,
		.cpu = cpu,
		.first = first,
		.n = load->archive->flow.n - first,
		.context = load->archive->flow.context,
	};

	if (size < sizeof(*record) ||
	    size != sizeof(*record) + record->nr * sizeof(struct flowtap_entry)) {
		load->why = "a sample record's size does not fit its number of entries";
		return -EBADMSG;
	}
	if (samples->n == samples->capacity) {
		size_t capacity = samples->capacity ? 2 * samples->capacity : 4096;
		struct sample *more = reallocarray(samples->list, capacity, sizeof(*more));

		if (!more)
			return -ENOMEM;
		samples->list = more;
		samples->capacity = capacity;
	}
	sample.record = malloc(size);
	if (!sample.record)
		return -ENOMEM;
	memcpy(sample.record, record, size);
	samples->list[samples->n++] = sample;
	samples->bytes += size;
	samples->depths[record->depth ? __builtin_ctz(record->depth) & 15 : 0]++;
	samples->triggers[record->trigger ? __builtin_ctz(record->trigger) & 3 : 0]++;
	return 0;
}

static int on_record(struct flowtap_replay *replay, uint32_t cpu,
		     const struct flowtap_record *record, size_t size)
{
	struct load *load = replay->argument;
	size_t first = load->archive->flow.n;
	int err = flowtap_ctr_decode(load->ctr, record, size);

	if (err < 0 || record->type != FLOWTAP_RECORD_SAMPLE)
		return err;
	return keep(load, cpu, (const struct flowtap_record_sample *)record, size, first);
}

static int on_block(struct flowtap_replay *replay, const struct flowtap_archive_block *block)
{
	struct load *load = replay->argument;
	struct flowtap_stats stats;

	if (block->type != FLOWTAP_ARCHIVE_STATS || block->size < sizeof(stats))
		return 0;
	memcpy(&stats, block->payload, sizeof(stats));
	load->told += stats.samples;
	load->samples->lost += stats.lost_samples;
	return 0;
}

static int replay(struct load *load, int fd)
{
	struct flowtap_replay replay = {
		.block = on_block,
		.record = on_record,
		.argument = load,
	};
	const struct flowtap_ctr_counts *counts = flowtap_ctr_counts(load->ctr);
	int err = flowtap_replay(&replay, fd, load->archive->map);

	if (err < 0)
		return err;
	for (int i = 0; i < FLOWTAP_GAP_REASONS; i++)
		load->samples->gaps[i] += counts->gaps[i];
	load->samples->told += load->told;
	if (replay.counts.damages)
		load->why = "the archive is damaged";
	else if (!replay.counts.finalised)
		load->why = "the archive was not finalised";
	else if (load->told != load->number)
		load->why = "the archive's statistics tell another number of samples than it has";
	return load->why ? -EBADMSG : 0;
}

static int decode(struct load *load, int fd, const char *sysroot)
{
	struct archive *archive = load->archive;
	int err = -ENOMEM;

	archive->map = flowtap_address_map_new(sysroot);
	archive->blocks = flowtap_blocks_new(flowtap_riscv_block, 0);
	if (archive->map && archive->blocks)
		load->ctr = flowtap_ctr_new(archive->map, archive->blocks, &archive->flow.sink);
	if (load->ctr)
		err = replay(load, fd);
	flowtap_ctr_free(load->ctr);
	return err;
}

int samples_add(struct samples *samples, const char *path, const char *sysroot, const char **why)
{
	struct load load = { .samples = samples };
	int fd, err;

	*why = NULL;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	load.archive = calloc(1, sizeof(*load.archive));
	if (load.archive) {
		load.archive->path = path;
		load.archive->next = samples->archives;
		samples->archives = load.archive;
		flow_init(&load.archive->flow);
		err = decode(&load, fd, sysroot);
	} else {
		err = -ENOMEM;
	}
	close(fd);
	*why = load.why;
	return err;
}

static int order(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	if (x->record->time != y->record->time)
		return x->record->time < y->record->time ? -1 : 1;
	if (x->archive != y->archive)
		return strcmp(x->archive->path, y->archive->path);
	return x->number < y->number ? -1 : x->number > y->number;
}

void samples_sort(struct samples *samples)
{
	if (samples->n)
		qsort(samples->list, samples->n, sizeof(samples->list[0]), order);
}

void samples_free(struct samples *samples)
{
	struct archive *archive;

	for (size_t i = 0; i < samples->n; i++)
		free(samples->list[i].record);
	free(samples->list);
	while ((archive = samples->archives)) {
		samples->archives = archive->next;
		flow_free(&archive->flow);
		flowtap_blocks_free(archive->blocks);
		flowtap_address_map_free(archive->map);
		free(archive);
	}
}
