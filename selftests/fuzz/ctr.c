// SPDX-License-Identifier: GPL-2.0-only
/*
 * CTR records that were changed after a simulated machine made them: the decoder survives, reads
 * nothing beyond them, and what it says hangs together, also as an STF.
 *
 * Input: 8 bytes of options (the first: size of the block cache), then records one after the other.
 */
#include <errno.h>
#include <flowtap/ctr.h>
#include <flowtap/riscv.h>
#include <flowtap/stf.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stfcheck/stfcheck.h"
#include "support/machine.h"
#include "support/program.h"

#define PID 100
#define SEEDS 24
#define SAMPLES 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t flowtap_fuzz_seed(uint8_t *buffer, size_t capacity, unsigned int n);

static struct program program, kernel;
static struct flowtap_address_map *map;

static void add_mapping(uint64_t time, uint64_t start, const char *path, const void *bytes,
			size_t size)
{
	struct flowtap_mapping mapping = {
		.time = time, .start = start, .size = size, .pid = PID, .executable = true,
		.path = path,
	};

	if (bytes ? flowtap_address_map_add_bytes(map, &mapping, bytes)
		  : flowtap_address_map_add(map, &mapping))
		abort();
}

static void add_kernel(uint64_t time, const void *bytes, size_t size)
{
	struct flowtap_kernel_text text = {
		.time = time, .until = time, .start = kernel.base, .size = kernel.size,
		.part_size = size, .name = "kernel",
	};

	if (flowtap_address_map_add_kernel(map, &text, bytes))
		abort();
}

/*
 * The program, noise right after it, a file that is not there, and the program replaced late. A
 * kernel of which the first page is patched late.
 */
static void set_up(void)
{
	uint8_t noise[4096];
	uint64_t state = 0x2545f4914f6cdd1d;

	if (map)
		return;
	map = flowtap_address_map_new(NULL);
	program_make(&program, 0x2aaaaaa000, 4711, program_dense);
	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = program_random(&state);
	add_mapping(0, program.base, "[program]", program.text, program.size);
	add_mapping(0, program.base + program.size, "[noise]", noise, sizeof(noise));
	add_mapping(0, program.base + 0x100000, "/not/there", NULL, 0x1000);
	add_mapping(100000, program.base, "[other]", noise, sizeof(noise));
	program_make(&kernel, 0xffffffff80000000, 815, program_kernel);
	add_kernel(0, kernel.text, kernel.size);
	add_kernel(100000, noise, sizeof(noise));
}

/* --- The sink: what it is told must make sense by itself. --- */

struct checker {
	struct flowtap_sink sink;
	struct flowtap_sink *stf;
	uint64_t blocks;
	uint64_t instructions;
	uint64_t gaps;
	uint8_t mode;
	bool follows;		/* the next block must begin at `next` */
	uint64_t next;
};

static void check(bool condition)
{
	if (!condition)
		abort();
}

static int check_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
		       uint64_t target)
{
	struct checker *checker = (struct checker *)sink;
	struct flowtap_riscv_insn insn;
	uint32_t at = 0, n = 0;

	check(!checker->follows || block->address == checker->next);
	for (; at < block->size; at += insn.length, n++) {
		check(!flowtap_riscv_classify(block->bytes + at, block->size - at, &insn));
		check(at == block->last || insn.transfer == FLOWTAP_TRANSFER_NONE);
	}
	check(at == block->size && n == block->instructions && n);
	check(insn.transfer == block->end && insn.conditional == block->conditional);
	check(block->address >> 63 ? checker->mode != FLOWTAP_PRIVILEGE_U :
				     checker->mode == FLOWTAP_PRIVILEGE_U);
	check(block->end != FLOWTAP_TRANSFER_TRAP_RETURN || block->address >> 63);
	check(block->end != FLOWTAP_TRANSFER_RECORDING);
	if (!taken)
		check((block->conditional || !block->end ||
		       (insn.cause == 8 && block->address >> 63)) &&
		      target == block->address + block->size);
	else
		check(block->end && (!block->direct || target == block->target));
	check(block->executed);
	checker->blocks++;
	checker->instructions += n;
	checker->follows = true;
	checker->next = target;
	check(checker->stf->block(checker->stf, block, taken, target) == 0);
	return 0;
}

static int check_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	struct checker *checker = (struct checker *)sink;
	const uint64_t *frames = element->callstack.frames;

	switch (element->kind) {
	case FLOWTAP_ELEMENT_GAP:
		check(element->gap.reason < FLOWTAP_GAP_REASONS);
		check(!element->gap.detail || strlen(element->gap.detail) < 200);
		checker->gaps++;
		checker->follows = false;
		break;
	case FLOWTAP_ELEMENT_EXCEPTION:
		check(element->exception.number == -1 || element->exception.number == 3 ||
		      element->exception.number == 8 || element->exception.number == 9);
		checker->follows = element->exception.target >> 63;
		checker->next = element->exception.target;
		break;
	case FLOWTAP_ELEMENT_CALLSTACK:
		for (size_t i = 0; i < element->callstack.n; i++)
			check(!(frames[i] & 1) || !i);
		checker->follows = false;
		break;
	case FLOWTAP_ELEMENT_CONTEXT:
		check(element->context.mode <= FLOWTAP_PRIVILEGE_S);
		checker->mode = element->context.mode;
		break;
	case FLOWTAP_ELEMENT_EXCEPTION_RETURN:
	case FLOWTAP_ELEMENT_MISPREDICTED:
	case FLOWTAP_ELEMENT_TIME:
	case FLOWTAP_ELEMENT_CYCLES:
	case FLOWTAP_ELEMENT_TRANSFER:
		break;
	default:
		abort();
	}
	check(checker->stf->element(checker->stf, element) == 0);
	return 0;
}

/* What was written keeps the rules. */
static void check_stf(struct flowtap_stf *stf, int fd, uint64_t instructions)
{
	struct stfcheck check_of = { .strict = true };
	int status = flowtap_stf_finish(stf);
	size_t size = flowtap_stf_counts(stf)->bytes;
	uint8_t *bytes;

	check(status == (instructions ? 0 : -ENODATA));
	if (status)
		return;
	bytes = malloc(size);
	check(pread(fd, bytes, size, 0) == (ssize_t)size);
	if (stfcheck_run(&check_of, bytes, size)) {
		fprintf(stderr, "%s at %llu\n", check_of.reason,
			(unsigned long long)check_of.offset);
		abort();
	}
	check(check_of.counts.instructions == instructions);
	free(bytes);
}

/* --- Inputs. --- */

struct seed {
	uint8_t bytes[8 + SAMPLES * (sizeof(struct flowtap_record_sample) +
				     256 * sizeof(struct flowtap_entry)) + 256];
	size_t size;
};

static struct seed seeds[SEEDS];

static void put_bytes(struct seed *seed, const void *bytes, size_t size)
{
	memcpy(seed->bytes + seed->size, bytes, size);
	seed->size += size;
}

static void put_sample(struct seed *seed, struct machine *m, uint64_t sequence)
{
	struct flowtap_record_sample sample = {
		.header = { FLOWTAP_RECORD_SAMPLE, m->mode == MODE_KERNEL ? FLOWTAP_MISC_KERNEL :
							   FLOWTAP_MISC_USER, 0 },
		.time = 1000 * sequence,
		.sequence = sequence,
		.ip = m->pc,
		.control = m->control,
		.pid = PID,
		.tid = PID,
		.trigger = FLOWTAP_TRIGGER_OVERFLOW,
		.depth = m->depth,
	};
	struct made made[256];

	sample.nr = machine_drain(m, made);
	sample.loss = sample.nr == sample.depth ? 1U << FLOWTAP_CAUSE_WRAPPED : 0;
	sample.header.size = sizeof(sample) + sample.nr * sizeof(made[0].entry);
	put_bytes(seed, &sample, sizeof(sample));
	for (uint32_t i = 0; i < sample.nr; i++)
		put_bytes(seed, &made[i].entry, sizeof(made[i].entry));
	m->n = 0;
}

static void make_seed(struct seed *seed, unsigned int n)
{
	static const uint64_t controls[] = { 0, 0, CTL_NTBREN, CTL_RASEMU, CTL_INHIBIT(8) };
	bool both = n >= SEEDS / 2;		/* the second half: the kernel too, or only it */
	struct flowtap_record_gap gap = {
		.header = { FLOWTAP_RECORD_GAP, 0, sizeof(gap) }, .time = 5, .pid = PID,
		.cause = FLOWTAP_CAUSE_SWITCH,
	};
	struct flowtap_record_lost lost = { .header = { FLOWTAP_RECORD_LOST, 0, sizeof(lost) } };
	struct machine *m = calloc(1, sizeof(*m));
	uint64_t options = n % 2 ? 1 : 0;

	*m = (struct machine){
		.text = program.text, .base = program.base, .size = program.size,
		.labels = program.labels, .n_labels = program.n, .pc = program.base,
		.random = 99 + n, .depth = 16U << n % 5, .typeless = n % 4 == 3,
		.control = CTL_U | CTL_LCOFIFRZ | controls[n % 5] | (n == 7 ? 0 : CTL_STE),
		.log = calloc(MACHINE_LOG, sizeof(struct step)),
	};
	if (both) {
		m->kernel.text = kernel.text;
		m->kernel.base = kernel.base;
		m->kernel.size = kernel.size;
		m->kernel.labels = kernel.labels;
		m->kernel.n_labels = kernel.n;
		m->kernel.resume = kernel.resume;
		m->control ^= CTL_S | (n % 3 == 2 ? CTL_U : 0);
	}
	put_bytes(seed, &options, sizeof(options));
	for (int s = 1; s <= SAMPLES; s++) {
		for (int i = 0; i < 200 * s; i++)
			if (both && machine_chance(m, 30))
				machine_trap(m, CAUSE_INTERRUPT);
			else if (machine_step(m) && !both)
				machine_kernel(m);
		put_sample(seed, m, s);
		if (s == 1)
			put_bytes(seed, &gap, sizeof(gap));
		if (s == 2)
			put_bytes(seed, &lost, sizeof(lost));
	}
	free(m->log);
	free(m);
}

size_t flowtap_fuzz_seed(uint8_t *buffer, size_t capacity, unsigned int n)
{
	set_up();
	if (n >= SEEDS)
		return 0;
	if (!seeds[n].size)
		make_seed(&seeds[n], n);
	if (seeds[n].size > capacity)
		return 0;
	memcpy(buffer, seeds[n].bytes, seeds[n].size);
	return seeds[n].size;
}

/* One record in memory of its own, so that the sanitizer sees what is read beyond. */
static size_t decode_one(struct flowtap_ctr *ctr, const uint8_t *data, size_t size)
{
	struct flowtap_record head = { .size = 8 };
	size_t step, copied;
	void *copy;

	memcpy(&head, data, size < sizeof(head) ? size : sizeof(head));
	step = head.size < sizeof(head) ? sizeof(head) : head.size;
	copied = step < size ? step : size;
	copy = malloc(copied);
	memcpy(copy, data, copied);
	check(flowtap_ctr_decode(ctr, copy, copied) == 0);
	free(copy);
	return copied;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct checker checker = { .sink = { check_block, check_element } };
	static const struct flowtap_stf_options options = { .generator = 0xff };
	static int fd = -1;
	struct flowtap_stf *stf;
	const struct flowtap_ctr_counts *counts;
	struct flowtap_blocks *blocks;
	struct flowtap_ctr *ctr;
	uint64_t gaps = 0;

	set_up();
	if (size < 8)
		return 0;
	if (fd < 0)
		fd = memfd_create("stf", MFD_CLOEXEC);
	check(ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0);
	check(flowtap_stf_new(fd, &options, &stf) == 0);
	checker.stf = flowtap_stf_sink(stf);
	blocks = flowtap_blocks_new(flowtap_riscv_block, data[0]);
	ctr = flowtap_ctr_new(map, blocks, &checker.sink);
	for (size_t at = 8; at < size;)
		at += decode_one(ctr, data + at, size - at);
	counts = flowtap_ctr_counts(ctr);
	for (int reason = 0; reason < FLOWTAP_GAP_REASONS; reason++)
		gaps += counts->gaps[reason];
	check(counts->blocks == checker.blocks && counts->instructions == checker.instructions &&
	      gaps == checker.gaps);
	check_stf(stf, fd, checker.instructions);
	flowtap_stf_free(stf);
	flowtap_ctr_free(ctr);
	flowtap_blocks_free(blocks);
	return 0;
}
