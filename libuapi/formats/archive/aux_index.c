// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Keeps the offsets of AUX blocks by CPU in the order of the file, and finds a position by binary
 * search.
 */
#include "formats/archive/aux_index.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cpus.h"
#include "base/vector.h"

struct block {
	uint64_t offset;
	uint64_t position;
	uint32_t size;
};

/* Blocks of one stream: their offsets grow. */
struct run {
	uint64_t position;
	uint64_t first;		/* block */
};

struct flowtap_aux_cpu {
	uint32_t cpu;
	bool fresh;		/* the next block begins a run */
	struct block *blocks;	/* in the order of the file */
	size_t n;
	struct run *runs;
	size_t n_runs;
};

static struct flowtap_aux_cpu *find_cpu(const struct flowtap_aux_index *index, uint32_t cpu)
{
	uint64_t hash = flowtap_hash_words(&(uint64_t) { cpu }, 1);
	struct flowtap_hash_table_walk walk = flowtap_hash_table_walk(&index->by_cpu, hash);
	uint32_t at;

	while (flowtap_hash_table_next(&walk, &at))
		if (index->cpus[at].cpu == cpu)
			return &index->cpus[at];
	return NULL;
}

static int make_cpu(struct flowtap_aux_index *index, uint32_t cpu, struct flowtap_aux_cpu **made)
{
	*made = find_cpu(index, cpu);
	if (*made)
		return 0;
	if (index->n == FLOWTAP_CPUS_MAX)
		return -E2BIG;
	if (FLOWTAP_GROW(index->cpus, index->n))
		return -ENOMEM;
	if (flowtap_hash_table_add(&index->by_cpu, flowtap_hash_words(&(uint64_t) { cpu }, 1),
				   index->n))
		return -ENOMEM;
	*made = &index->cpus[index->n++];
	**made = (struct flowtap_aux_cpu) { .cpu = cpu };
	return 0;
}

static int begin_run(struct flowtap_aux_cpu *cpu, uint64_t position)
{
	if (FLOWTAP_GROW(cpu->runs, cpu->n_runs))
		return -ENOMEM;
	cpu->runs[cpu->n_runs++] = (struct run) { position, cpu->n };
	cpu->fresh = false;
	return 0;
}

int flowtap_aux_index_add(struct flowtap_aux_index *index, uint32_t number, uint64_t offset,
			  uint64_t size, uint64_t position)
{
	const struct block *last;
	struct flowtap_aux_cpu *cpu;
	int err;

	if (size > UINT32_MAX || offset > UINT64_MAX - size)
		return -EBADMSG;
	err = make_cpu(index, number, &cpu);
	if (err || !size)
		return err;
	if (FLOWTAP_GROW(cpu->blocks, cpu->n))
		return -ENOMEM;
	last = cpu->n ? &cpu->blocks[cpu->n - 1] : NULL;
	if (!last || cpu->fresh || offset < last->offset + last->size)
		err = begin_run(cpu, position);
	if (!err)
		cpu->blocks[cpu->n++] = (struct block) { offset, position, (uint32_t)size };
	return err;
}

void flowtap_aux_index_restart(struct flowtap_aux_index *index, uint32_t number)
{
	struct flowtap_aux_cpu *cpu = find_cpu(index, number);

	if (cpu)
		cpu->fresh = true;
}

/* The last run that begins before `position`. */
static const struct run *find_run(const struct flowtap_aux_cpu *cpu, uint64_t position)
{
	size_t low = 0, high = cpu->n_runs;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (cpu->runs[middle].position < position)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &cpu->runs[low - 1] : NULL;
}

bool flowtap_aux_index_find(const struct flowtap_aux_index *index, uint32_t number,
			    uint64_t position, uint64_t offset, struct flowtap_aux_piece *piece)
{
	const struct flowtap_aux_cpu *cpu = find_cpu(index, number);
	const struct run *run = cpu ? find_run(cpu, position) : NULL;
	uint64_t low, high, skip;

	if (!run)
		return false;
	low = run->first;
	high = run + 1 < cpu->runs + cpu->n_runs ? run[1].first : cpu->n;
	/* The first one that ends after the offset. */
	for (uint64_t end = high; low < end;) {
		uint64_t middle = low + (end - low) / 2;

		if (cpu->blocks[middle].offset + cpu->blocks[middle].size > offset)
			end = middle;
		else
			low = middle + 1;
	}
	if (low == high)
		return false;
	skip = offset > cpu->blocks[low].offset ? offset - cpu->blocks[low].offset : 0;
	*piece = (struct flowtap_aux_piece) {
		.offset = cpu->blocks[low].offset + skip,
		.size = cpu->blocks[low].size - skip,
		.position = cpu->blocks[low].position + skip,
	};
	return true;
}

uint64_t flowtap_aux_index_count(const struct flowtap_aux_index *index, uint32_t cpu,
				 uint64_t position, uint64_t offset, uint64_t size)
{
	struct flowtap_aux_piece piece;
	uint64_t done = 0;

	while (done < size && offset + done >= offset &&
	       flowtap_aux_index_find(index, cpu, position, offset + done, &piece) &&
	       piece.offset == offset + done)
		done += piece.size < size - done ? piece.size : size - done;
	return done;
}

void flowtap_aux_index_free(struct flowtap_aux_index *index)
{
	for (uint32_t i = 0; i < index->n; i++) {
		free(index->cpus[i].blocks);
		free(index->cpus[i].runs);
	}
	free(index->cpus);
	flowtap_hash_table_free(&index->by_cpu);
}
