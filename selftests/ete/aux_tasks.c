// SPDX-License-Identifier: GPL-2.0-only
/* Tasks that execute random programs on CPUs, and execute others. */
#include <flowtap/arm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aux.h"

/* --- Programs and executions. --- */

static void add_kernel(struct recording *recording)
{
	const struct program *program = recording->program;

	for (uint32_t i = 0; i < program->nregions; i++) {
		const struct flowtap_code *code = &program->regions[i].code;
		struct flowtap_kernel_text text = {
			.time = 1, .until = 2, .start = code->start,
			.size = code->end - code->start, .part_size = code->end - code->start,
			.name = "kernel",
		};

		if (program->regions[i].group != PROGRAM_KERNEL)
			continue;
		if (flowtap_address_map_add_kernel(recording->map, &text, code->bytes))
			abort();
		text.time = UINT64_MAX / 2;
		text.until = text.time + 1;
		text.part_size = 0;
		if (flowtap_address_map_add_kernel(recording->map, &text, NULL))
			abort();
	}
}

static void add_program(struct recording *recording, uint32_t pid, uint8_t group, uint64_t time)
{
	const struct program *program = recording->program;
	char path[32];

	for (uint32_t i = 0; i < program->nregions; i++) {
		const struct flowtap_code *code = &program->regions[i].code;
		const struct flowtap_mapping mapping = {
			.time = time, .start = code->start, .size = code->end - code->start,
			.pid = pid, .executable = true, .path = path,
		};

		if (program->regions[i].group != group)
			continue;
		snprintf(path, sizeof(path), "%u.%u", group, i);
		if (flowtap_address_map_add_bytes(recording->map, &mapping, code->bytes))
			abort();
	}
}

/* The piece ends with the task's execution of another program, if it is alone in its process. */
static void executes(struct recording *recording, struct piece *piece)
{
	struct task *task = &recording->tasks[piece->task];

	if (piece->task || !rng_one_in(&recording->rng, 3))
		return;
	task->group = (task->group + 1) % PROGRAM_KERNEL;
	piece->time += 100;
	if (flowtap_address_map_exec(recording->map, task->pid, piece->time - 50))
		abort();
	add_program(recording, task->pid, task->group, piece->time - 40);
}

static void execute(struct recording *recording, struct piece *piece, uint64_t seed)
{
	struct execute_options options = recording->scenario.execute;
	struct execute execute;

	options.instructions = rng_one_in(&recording->rng, 4) ? 10 :
			       100 + rng_below(&recording->rng, 1500);
	options.as_linux = true;
	options.group = recording->tasks[piece->task].group;
	options.ticks = piece->since / TICK + 1;
	oracle_init(&piece->oracle);
	encoder_init(&piece->encoder, &recording->scenario.encoder, seed, &piece->oracle);
	execute_run(&execute, &options, recording->program, &piece->encoder, seed);
	piece->time = execute.ticks * TICK + 1 + rng_below(&recording->rng, 2000000);
}

static enum what what_becomes(struct recording *recording, const struct task *task, bool losses)
{
	enum what what = losses ? rng_below(&recording->rng, 10) : INTACT;

	/* What a record says that vanishes is another loss: not here. */
	if (what == VANISHED && (task->loss || task->told || task->missing || !task->ended))
		return INTACT;
	return what > VANISHED ? INTACT : what;
}

void recording_make(struct recording *recording, uint64_t seed, bool losses)
{
	for (unsigned int i = 0; i < PIECES; i++) {
		struct piece *piece = &recording->pieces[i];
		struct task *task;

		piece->task = rng_below(&recording->rng, TASKS);
		piece->cpu = rng_below(&recording->rng, CPUS);
		task = &recording->tasks[piece->task];
		if (losses)
			recording_pass_time(recording, task, piece->cpu);
		else if (task->clock < recording->clocks[piece->cpu])
			task->clock = recording->clocks[piece->cpu];
		piece->since = task->clock + 1 + rng_below(&recording->rng, 5000);
		execute(recording, piece, seed * PIECES + i);
		executes(recording, piece);
		piece->what = what_becomes(recording, task, losses);
		recording_put(recording, piece);
		task->clock = recording->clocks[piece->cpu] = piece->time + 2;
	}
	/* No record comes any more to tell of it: the flag does. */
	for (int i = 0; i < TASKS; i++)
		if (recording->tasks[i].cut)
			recording_expect(&recording->tasks[i], FLOWTAP_GAP_TRUNCATED, ANY, ANY);
}

/* --- */

void recording_set_up(struct recording *recording, uint64_t seed, unsigned int has)
{
	struct flowtap_ete_config config;

	memset(recording, 0, sizeof(*recording));
	recording->sink = (struct flowtap_sink){
		.block = recording_take_block,
		.element = recording_take_element,
	};
	recording->rng.state = seed * 7919;
	scenario_random(&recording->scenario, seed, has);
	recording->scenario.encoder.sync_delay = false;
	recording->scenario.encoder.vmid = recording->scenario.encoder.contextid = false;
	recording->scenario.program.spaces = 3;
	recording->scenario.program.kernel32 = false;
	recording->kernel = recording->scenario.execute.exception;
	recording->program = program_new(&recording->scenario.program, seed);
	recording->map = flowtap_address_map_new(NULL);
	recording->blocks = flowtap_blocks_new(recording->scenario.encoder.wfx ?
					       flowtap_arm_block_wfx : flowtap_arm_block, 1 << 20);
	if (!recording->map || !recording->blocks)
		abort();
	add_kernel(recording);
	add_program(recording, 101, 0, 0);
	add_program(recording, 102, 1, 0);
	encoder_config(&recording->scenario.encoder, &config);
	for (int i = 0; i < PIECES; i++)
		if (decoded_new(&recording->pieces[i].got, &config, NULL, recording->program, 0))
			abort();
	for (int i = 0; i < TASKS; i++)
		recording->tasks[i] = (struct task){
			.pid = i ? 102 : 101,
			.tid = 101 + i,
			.loss = 1U << FLOWTAP_CAUSE_START,
			.since = { [FLOWTAP_CAUSE_START] = ANY },
			.group = i ? 1 : 0,
		};
	for (int i = 0; i < CPUS; i++)
		recording->clocks[i] = 1000000000;
}

void recording_tear_down(struct recording *recording)
{
	for (int i = 0; i < PIECES; i++) {
		decoded_free(&recording->pieces[i].got);
		encoder_free(&recording->pieces[i].encoder);
		oracle_free(&recording->pieces[i].oracle);
	}
	flowtap_blocks_free(recording->blocks);
	flowtap_address_map_free(recording->map);
	program_free(recording->program);
}
