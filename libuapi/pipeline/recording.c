// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Takes an archive's blocks and records from the replay, and chooses the decoder by what was
 * configured, else by the first record.
 */
#include <flowtap/recording.h>

#include <errno.h>
#include <flowtap/riscv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cpus.h"
#include "base/hash_table.h"
#include "base/vector.h"
#include "ete/unit_blocks.h"

/* --- What was recorded. --- */

static uint64_t hash_of(uint32_t cpu)
{
	return flowtap_hash_words(&(uint64_t) { cpu }, 1);
}

const struct flowtap_recording_cpu *
flowtap_recording_cpu(const struct flowtap_recording *recording, uint32_t cpu)
{
	struct flowtap_hash_table_walk walk;
	uint32_t at;

	if (!recording->by_cpu)
		return NULL;
	walk = flowtap_hash_table_walk(recording->by_cpu, hash_of(cpu));
	while (flowtap_hash_table_next(&walk, &at))
		if (recording->cpus[at].cpu == cpu)
			return &recording->cpus[at];
	return NULL;
}

/* 0; -E2BIG: more than any machine has; -ENOMEM. */
static int find_cpu(struct flowtap_recording *recording, uint32_t cpu,
		    struct flowtap_recording_cpu **out)
{
	const struct flowtap_recording_cpu *known = flowtap_recording_cpu(recording, cpu);

	if (known) {
		*out = &recording->cpus[known - recording->cpus];
		return 0;
	}
	if (recording->n_cpus == FLOWTAP_CPUS_MAX)
		return -E2BIG;
	if (!recording->by_cpu)
		recording->by_cpu = calloc(1, sizeof(*recording->by_cpu));
	if (!recording->by_cpu || FLOWTAP_GROW(recording->cpus, recording->n_cpus) ||
	    flowtap_hash_table_add(recording->by_cpu, hash_of(cpu), (uint32_t)recording->n_cpus))
		return -ENOMEM;
	*out = &recording->cpus[recording->n_cpus++];
	**out = (struct flowtap_recording_cpu){ .cpu = cpu };
	return 0;
}

static int handle_query(struct flowtap_recording *recording,
			const struct flowtap_archive_block *block)
{
	struct flowtap_recording_cpu *cpu;
	int err = find_cpu(recording, block->cpu, &cpu);
	size_t size = sizeof(cpu->query);

	if (err)
		return err;
	memcpy(&cpu->query, block->payload, block->size < size ? block->size : size);
	cpu->queried = true;
	return 0;
}

static int handle_configure(struct flowtap_recording *recording,
			    const struct flowtap_archive_block *block)
{
	struct flowtap_recording_cpu *cpu;
	int err = find_cpu(recording, block->cpu, &cpu);
	size_t size = sizeof(cpu->configure);

	if (err)
		return err;
	memcpy(&cpu->configure, block->payload, block->size < size ? block->size : size);
	cpu->configured = true;
	return 0;
}

static void on_damage(struct flowtap_replay *replay, uint64_t offset, const char *reason,
		      uint64_t bytes)
{
	struct flowtap_recording *recording = replay->argument;

	if (recording->damage)
		recording->damage(recording, offset, reason, bytes);
}

/* Such a block is left out, as the replay leaves out records and AUX areas of too many CPUs. */
static void report_too_many(struct flowtap_replay *replay,
			    const struct flowtap_archive_block *block)
{
	replay->counts.damages++;
	replay->counts.bad_bytes += block->size;
	on_damage(replay, block->offset, "descriptions of more CPUs than there can be", block->size);
}

static int on_block(struct flowtap_replay *replay, const struct flowtap_archive_block *block)
{
	struct flowtap_recording *recording = replay->argument;
	int err = 0;

	if (block->type == FLOWTAP_ARCHIVE_QUERY)
		err = handle_query(recording, block);
	else if (block->type == FLOWTAP_ARCHIVE_CONFIGURE)
		err = handle_configure(recording, block);
	if (err == -E2BIG) {
		report_too_many(replay, block);
		return 0;
	}
	return err || !recording->block ? err : recording->block(recording, block);
}

/* --- The decoder. --- */

static int open_ctr(struct flowtap_recording *recording)
{
	recording->ctr = flowtap_ctr_new(recording->map, recording->blocks, recording->sink);
	if (!recording->ctr)
		return -ENOMEM;
	for (size_t i = 0; i < recording->n_cpus; i++)
		if (recording->cpus[i].query.source == FLOWTAP_SOURCE_CTR)
			flowtap_ctr_set_data_bits(recording->ctr, recording->cpus[i].cpu,
						  recording->cpus[i].query.ctr.data);
	return 0;
}

static long read_aux(void *argument, uint32_t cpu, uint64_t offset, void *buffer, size_t size)
{
	struct flowtap_recording *recording = argument;

	return flowtap_replay_aux(&recording->replay, cpu, offset, buffer, size);
}

static uint64_t next_aux(void *argument, uint32_t cpu, uint64_t offset)
{
	struct flowtap_recording *recording = argument;

	return flowtap_replay_aux_next(&recording->replay, cpu, offset);
}

static void come_to(void *argument, uint64_t time)
{
	struct flowtap_recording *recording = argument;

	if (recording->time)
		recording->time(recording, time);
}

static bool wfx_of(const struct flowtap_recording *recording)
{
	for (size_t i = 0; i < recording->n_cpus; i++)
		if (recording->cpus[i].configured && recording->cpus[i].queried)
			return flowtap_aux_wfx(&recording->cpus[i].query);
	return false;
}

/* -EINVAL of a CPU: its records become gaps. */
static int describe_cpus(struct flowtap_recording *recording)
{
	int err = 0;

	for (size_t i = 0; i < recording->n_cpus && err != -ENOMEM; i++) {
		const struct flowtap_recording_cpu *cpu = &recording->cpus[i];

		if (!cpu->configured)
			continue;
		if (cpu->queried)
			err = flowtap_aux_query(recording->aux, cpu->cpu, &cpu->query,
						sizeof(cpu->query));
		if (err != -ENOMEM)
			err = flowtap_aux_configure(recording->aux, cpu->cpu, &cpu->configure,
						    sizeof(cpu->configure));
	}
	return err == -ENOMEM ? err : 0;
}

static int open_aux(struct flowtap_recording *recording)
{
	const struct flowtap_aux_options options = {
		.map = recording->map,
		.blocks = recording->blocks,
		.sink = recording->sink,
		.ete = recording->ete,
		.read = read_aux,
		.next = next_aux,
		.time = come_to,
		.argument = recording,
	};
	int err = flowtap_aux_new(&options, &recording->aux);

	return err ? err : describe_cpus(recording);
}

/* From which source: what CONFIGURE says, else what the first record is of. */
static int choose(const struct flowtap_recording *recording, const struct flowtap_record *record)
{
	bool aux = false, other = false;

	for (size_t i = 0; i < recording->n_cpus; i++) {
		const struct flowtap_recording_cpu *cpu = &recording->cpus[i];

		aux |= cpu->configured && cpu->configure.source == FLOWTAP_SOURCE_ETE;
		other |= cpu->configured && cpu->configure.source != FLOWTAP_SOURCE_ETE;
	}
	if (aux && other)
		return -EPROTOTYPE;
	return aux || (!other && record && record->type == FLOWTAP_RECORD_AUX);
}

static flowtap_block_decode block_decode(const struct flowtap_recording *recording)
{
	if (!recording->ete_trace)
		return flowtap_riscv_block;
	return flowtap_ete_block_decode(wfx_of(recording));
}

/* Not before all that the header says is known: with the first record. */
static int open_decoder(struct flowtap_recording *recording, const struct flowtap_record *record)
{
	int err = choose(recording, record);

	if (err < 0)
		return err;
	recording->ete_trace = err;
	flowtap_address_map_set_machine(recording->map,
					err ? FLOWTAP_MACHINE_ARM : FLOWTAP_MACHINE_RISCV);
	recording->blocks = flowtap_blocks_new(block_decode(recording), recording->block_memory);
	if (!recording->blocks)
		return -ENOMEM;
	err = recording->begin ? recording->begin(recording) : 0;
	if (err < 0)
		return err;
	return recording->ete_trace ? open_aux(recording) : open_ctr(recording);
}

int flowtap_recording_record(struct flowtap_recording *recording, uint32_t cpu,
			     const struct flowtap_record *record, size_t size)
{
	return recording->aux ? flowtap_aux_decode(recording->aux, cpu, record, size) :
				flowtap_ctr_decode(recording->ctr, record, size);
}

static int on_record(struct flowtap_replay *replay, uint32_t cpu,
		     const struct flowtap_record *record, size_t size)
{
	struct flowtap_recording *recording = replay->argument;
	int err = recording->blocks ? 0 : open_decoder(recording, record);

	if (err)
		return err;
	return recording->record ? recording->record(recording, cpu, record, size) :
				   flowtap_recording_record(recording, cpu, record, size);
}

int flowtap_recording_decode(struct flowtap_recording *recording, int fd)
{
	int err;

	recording->replay = (struct flowtap_replay){
		.block = on_block,
		.damage = on_damage,
		.record = on_record,
		.argument = recording,
	};
	err = flowtap_replay(&recording->replay, fd, recording->map);
	if (!err && !recording->blocks)
		err = open_decoder(recording, NULL);
	return err || !recording->aux ? err : flowtap_aux_finish(recording->aux);
}

void flowtap_recording_free(struct flowtap_recording *recording)
{
	flowtap_aux_free(recording->aux);
	flowtap_ctr_free(recording->ctr);
	flowtap_blocks_free(recording->blocks);
	free(recording->cpus);
	if (recording->by_cpu)
		flowtap_hash_table_free(recording->by_cpu);
	free(recording->by_cpu);
	recording->by_cpu = NULL;
	recording->aux = NULL;
	recording->ctr = NULL;
	recording->blocks = NULL;
	recording->cpus = NULL;
	recording->n_cpus = 0;
}

int flowtap_recording_images(struct flowtap_address_map *map, const char *path)
{
	const char *slash = strrchr(path, '/');
	int saved = errno, err = 0;
	struct stat status;
	char *images;

	if (asprintf(&images, "%.*simages", slash ? (int)(slash - path + 1) : 0, path) < 0)
		return -ENOMEM;
	if (!stat(images, &status) && S_ISDIR(status.st_mode))
		err = flowtap_address_map_images(map, images);
	free(images);
	errno = saved;
	return err;
}
