// SPDX-License-Identifier: GPL-2.0-only
/*
 * How fast CTR samples become flow: instructions and entries per CPU second into a sink that does
 * nothing, for the samples of a simulated machine that runs programs of some 100 KiB.
 */
#include <flowtap/ctr.h>
#include <flowtap/riscv.h>
#include <stdio.h>
#include <time.h>

#define PROGRAM_STATEMENTS 40000
#include "support/machine.h"
#include "support/program.h"

#define PID 100
#define SAMPLES 2000
#define SECONDS 1.0

/* Blocks of about six instructions, few system calls. */
static const unsigned int ordinary[ST_KINDS] = {
	[ST_ALU] = 430, [ST_ALU_SHORT] = 430, [ST_BRANCH] = 60, [ST_BRANCH_SHORT] = 40,
	[ST_JUMP] = 5, [ST_JUMP_SHORT] = 15, [ST_CALL] = 20, [ST_INDIRECT] = 6,
	[ST_INDIRECT_SHORT] = 2, [ST_RETURN] = 20, [ST_ECALL] = 1,
};

struct sample {
	struct flowtap_record_sample head;
	struct flowtap_entry entries[256];
};

static double cpu_seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

/* A sample as soon as the buffer is full, as a program that runs for long gives them. */
static void take(struct machine *m, struct sample *sample, uint64_t sequence)
{
	struct made made[256];
	uint64_t steps;

	for (steps = 0; m->n + 1 < MACHINE_LOG && steps < 16 * m->depth; steps++)
		if ((machine_chance(m, 2000) && (machine_interrupt(m, true), true)) ||
		    machine_step(m))
			machine_kernel(m);
	sample->head = (struct flowtap_record_sample){
		.header = { FLOWTAP_RECORD_SAMPLE, FLOWTAP_MISC_USER, 0 },
		.sequence = sequence,
		.ip = m->pc,
		.control = m->control,
		.pid = PID,
		.tid = PID,
		.trigger = FLOWTAP_TRIGGER_OVERFLOW,
		.loss = 1U << FLOWTAP_CAUSE_WRAPPED,
		.depth = m->depth,
	};
	sample->head.nr = machine_drain(m, made);
	sample->head.header.size = sizeof(sample->head) +
				   sample->head.nr * sizeof(sample->entries[0]);
	for (uint32_t i = 0; i < sample->head.nr; i++)
		sample->entries[i] = made[i].entry;
	m->n = 0;
}

static void count(const struct flowtap_block *block, void *argument)
{
	(void)block;
	++*(uint64_t *)argument;
}

static void measure(struct flowtap_address_map *map, struct sample *samples, uint32_t depth)
{
	struct flowtap_blocks *blocks = flowtap_blocks_new(flowtap_riscv_block, 0);
	struct flowtap_ctr *ctr = flowtap_ctr_new(map, blocks, flowtap_sink_nowhere());
	const struct flowtap_ctr_counts *counts = flowtap_ctr_counts(ctr);
	double began = cpu_seconds(), took;
	uint64_t time = 0, distinct = 0;

	do {
		for (size_t i = 0; i < SAMPLES; i++) {
			samples[i].head.time = ++time;
			samples[i].head.sequence += SAMPLES;
			flowtap_ctr_decode(ctr, &samples[i].head.header,
					   samples[i].head.header.size);
		}
		took = cpu_seconds() - began;
	} while (took < SECONDS);
	flowtap_blocks_visit(blocks, count, &distinct);
	printf("depth %3u: %6.1f M instructions, %5.1f M entries, %5.1f M blocks per CPU second "
	       "into a null sink (%.1f instructions a block, %llu distinct blocks)\n",
	       depth, counts->instructions / took / 1e6, counts->entries / took / 1e6,
	       counts->blocks / took / 1e6, (double)counts->instructions / counts->blocks,
	       (unsigned long long)distinct);
	flowtap_ctr_free(ctr);
	flowtap_blocks_free(blocks);
}

int main(void)
{
	struct sample *samples = calloc(SAMPLES, sizeof(*samples));
	struct program *program = calloc(1, sizeof(*program));
	struct machine *m = calloc(1, sizeof(*m));
	struct flowtap_address_map *map = flowtap_address_map_new(NULL);
	struct flowtap_mapping mapping = { .pid = PID, .executable = true, .path = "[program]" };

	program_make(program, 0x2aaaaaa000, 4711, ordinary);
	mapping.start = program->base;
	mapping.size = program->size;
	if (flowtap_address_map_add_bytes(map, &mapping, program->text))
		return 1;
	for (uint32_t depth = 16; depth <= 256; depth *= 4) {
		*m = (struct machine){
			.text = program->text, .base = program->base, .size = program->size,
			.labels = program->labels, .n_labels = program->n, .pc = program->base,
			.random = 99, .depth = depth, .control = CTL_U | CTL_STE | CTL_LCOFIFRZ,
			.log = m->log ? m->log : calloc(MACHINE_LOG, sizeof(struct step)),
		};
		for (size_t i = 0; i < SAMPLES; i++)
			take(m, &samples[i], i);
		measure(map, samples, depth);
	}
	flowtap_address_map_free(map);
	free(program->text);
	free(program);
	free(m->log);
	free(m);
	free(samples);
	return 0;
}
