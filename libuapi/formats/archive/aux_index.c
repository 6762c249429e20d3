// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Keeps the offsets of AUX blocks by CPU in the order of the file, and finds a position by binary
 * search. How many bytes follow each other without a hole is kept as well: records may name any
 * number of them, again and again.
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
	uint32_t stretch;	/* that it is part of */
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
	uint64_t *ends;		/* of stretches: of a run's blocks that begin where one ended */
	size_t n_ends;
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

/* The block that comes next begins a stretch. */
static int begin_stretch(struct flowtap_aux_cpu *cpu)
{
	if (cpu->n_ends > UINT32_MAX || FLOWTAP_GROW(cpu->ends, cpu->n_ends))
		return -ENOMEM;
	cpu->n_ends++;
	return 0;
}

int flowtap_aux_index_add(struct flowtap_aux_index *index, uint32_t number, uint64_t offset,
			  uint64_t size, uint64_t position)
{
	struct flowtap_aux_cpu *cpu;
	uint64_t last = 0;
	bool first;
	int err;

	if (size > UINT32_MAX || offset > UINT64_MAX - size)
		return -EBADMSG;
	err = make_cpu(index, number, &cpu);
	if (err || !size)
		return err;
	if (FLOWTAP_GROW(cpu->blocks, cpu->n))
		return -ENOMEM;
	if (cpu->n_ends)
		last = cpu->ends[cpu->n_ends - 1];
	first = !cpu->n || cpu->fresh || offset < last;
	if (first)
		err = begin_run(cpu, position);
	if (!err && (first || offset != last))
		err = begin_stretch(cpu);
	if (err)
		return err;
	cpu->ends[cpu->n_ends - 1] = offset + size;
	cpu->blocks[cpu->n++] = (struct block) {
		.offset = offset,
		.position = position,
		.size = (uint32_t)size,
		.stretch = (uint32_t)(cpu->n_ends - 1),
	};
	return 0;
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

/* Of the CPU's run there: the first block that ends after the offset, or NULL. */
static const struct block *find_block(const struct flowtap_aux_cpu *cpu, uint64_t position,
				      uint64_t offset)
{
	const struct run *run = cpu ? find_run(cpu, position) : NULL;
	uint64_t low, high;

	if (!run)
		return NULL;
	low = run->first;
	high = run + 1 < cpu->runs + cpu->n_runs ? run[1].first : cpu->n;
	for (uint64_t end = high; low < end;) {
		uint64_t middle = low + (end - low) / 2;

		if (cpu->blocks[middle].offset + cpu->blocks[middle].size > offset)
			end = middle;
		else
			low = middle + 1;
	}
	return low < high ? &cpu->blocks[low] : NULL;
}

bool flowtap_aux_index_find(const struct flowtap_aux_index *index, uint32_t number,
			    uint64_t position, uint64_t offset, struct flowtap_aux_piece *piece)
{
	const struct block *block = find_block(find_cpu(index, number), position, offset);
	uint64_t skip;

	if (!block)
		return false;
	skip = offset > block->offset ? offset - block->offset : 0;
	*piece = (struct flowtap_aux_piece) {
		.offset = block->offset + skip,
		.size = block->size - skip,
		.position = block->position + skip,
	};
	return true;
}

uint64_t flowtap_aux_index_count(const struct flowtap_aux_index *index, uint32_t number,
				 uint64_t position, uint64_t offset, uint64_t size)
{
	const struct flowtap_aux_cpu *cpu = find_cpu(index, number);
	const struct block *block = find_block(cpu, position, offset);
	uint64_t there;

	if (!block || block->offset > offset)
		return 0;
	there = cpu->ends[block->stretch] - offset;
	return there < size ? there : size;
}

void flowtap_aux_index_free(struct flowtap_aux_index *index)
{
	for (uint32_t i = 0; i < index->n; i++) {
		free(index->cpus[i].blocks);
		free(index->cpus[i].runs);
		free(index->cpus[i].ends);
	}
	free(index->cpus);
	flowtap_hash_table_free(&index->by_cpu);
}
