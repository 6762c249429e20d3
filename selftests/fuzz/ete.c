// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any stream, against any code: the decoder survives, its work is bounded, what it says hangs
 * together, is taken by the STF writer, and is the same however the stream is cut.
 *
 * Input: 6 registers (configr, devarch, idr0, idr1, idr2, idr8; 4 bytes each), options, how many
 * pieces of code (bit 7: of the M profile), each 8 bytes of address, 2 of size and the bytes; then the stream.
 */
#include <flowtap/stf.h>
#include <fcntl.h>
#include <unistd.h>

#include "support/corpus.h"
#include "support/golden.h"

#define HEAD (6 * 4 + 2)
#define REGIONS 32
/* Blocks for each byte: 24 atoms, and what an exception or a Q walks over. */
#define WORK 100000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t flowtap_fuzz_seed(uint8_t *buffer, size_t capacity, unsigned int n);

struct input {
	struct flowtap_ete_config config;
	struct flowtap_ete_options options;
	struct flowtap_code code[REGIONS];
	size_t regions;
	const uint8_t *stream;
	size_t size;
	size_t piece;
};

struct checker {
	struct flowtap_sink sink;
	struct flowtap_sink *stf;
	uint64_t blocks;
	uint64_t instructions;
	uint64_t gaps;
	uint64_t hash;
};

static void check(bool condition)
{
	if (!condition)
		abort();
}

static void mix(struct checker *checker, uint64_t value)
{
	checker->hash = (checker->hash ^ value) * 0x9e3779b97f4a7c15;
	checker->hash ^= checker->hash >> 29;
}

static int check_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
		       uint64_t target)
{
	struct checker *checker = (struct checker *)sink;
	uint64_t step = block->isa == FLOWTAP_ISA_T32 ? 2 : 4;

	check(block->size && block->instructions && block->last < block->size);
	check(!(block->address % step) && !(block->size % step));
	check(block->instructions <= block->size / step);
	/* Read all of it: it is what was given. */
	for (uint32_t i = 0; i < block->size; i++)
		mix(checker, block->bytes[i]);
	if (taken && block->direct)
		check(target == block->target);
	checker->blocks++;
	checker->instructions += block->instructions;
	mix(checker, block->address);
	mix(checker, target + taken);
	check(checker->stf->block(checker->stf, block, taken, target) == 0);
	return 0;
}

static int check_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	struct checker *checker = (struct checker *)sink;

	mix(checker, element->kind);
	switch (element->kind) {
	case FLOWTAP_ELEMENT_GAP:
		check(element->gap.reason < FLOWTAP_GAP_REASONS);
		check(!element->gap.detail || strlen(element->gap.detail) < 400);
		mix(checker, element->gap.reason);
		mix(checker, element->gap.address);
		checker->gaps++;
		break;
	case FLOWTAP_ELEMENT_EXCEPTION:
		mix(checker, (uint64_t)element->exception.number);
		mix(checker, element->exception.address);
		break;
	case FLOWTAP_ELEMENT_CONTEXT:
		check(element->context.mode <= 3 && element->context.security <= FLOWTAP_ROOT);
		check(element->context.isa != FLOWTAP_ISA_RV64);
		break;
	default:
		break;
	}
	check(checker->stf->element(checker->stf, element) == 0);
	return 0;
}

static const struct flowtap_code *find(void *argument, const struct flowtap_context *context,
				       uint64_t address)
{
	struct input *input = argument;

	(void)context;
	for (size_t i = 0; i < input->regions; i++)
		if (address >= input->code[i].start && address < input->code[i].end)
			return &input->code[i];
	return NULL;
}

static void decode(struct input *input, size_t piece, struct checker *checker)
{
	struct flowtap_ete_images images = { .find = find, .argument = input };
	struct flowtap_stf_options stf_options = { .generator = 0xff };
	struct flowtap_blocks *blocks;
	struct flowtap_stf *stf;
	struct flowtap_ete *ete;
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	uint8_t *copy;
	size_t n;

	*checker = (struct checker) { .sink = { check_block, check_element } };
	blocks = flowtap_blocks_new(flowtap_ete_wfx_is_p0(&input->config) ? flowtap_arm_block_wfx :
				    flowtap_arm_block, 1 << 20);
	check(fd >= 0 && blocks);
	check(!flowtap_stf_new(fd, &stf_options, &stf));
	checker->stf = flowtap_stf_sink(stf);
	if (flowtap_ete_new(&input->config, &input->options, &images, blocks, &checker->sink, &ete))
		goto out;
	for (size_t at = 0; at < input->size; at += n) {
		n = piece < input->size - at ? piece : input->size - at;
		copy = malloc(n);
		memcpy(copy, input->stream + at, n);
		check(flowtap_ete_decode(ete, copy, n) == 0);
		free(copy);
	}
	check(flowtap_ete_finish(ete) == 0);
	check(flowtap_ete_counts(ete)->bytes == input->size);
	check(flowtap_ete_counts(ete)->instructions == checker->instructions);
	check(checker->blocks <= (input->size + 1) * WORK);
	flowtap_ete_free(ete);
out:
	flowtap_stf_free(stf);
	flowtap_blocks_free(blocks);
	close(fd);
}

static uint32_t word(const uint8_t *bytes)
{
	return bytes[0] | bytes[1] << 8 | bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static bool take(struct input *input, const uint8_t *data, size_t size)
{
	size_t regions, at = HEAD, n;
	uint64_t start;

	if (size < HEAD)
		return false;
	input->config = (struct flowtap_ete_config) {
		.configr = word(data), .devarch = word(data + 4), .idr0 = word(data + 8),
		.idr1 = word(data + 12), .idr2 = word(data + 16), .idr8 = word(data + 20),
		.traceidr = 1,
	};
	input->options.keep_failed_transactions = data[24] & 1;
	input->options.transaction_capacity = data[24] & 2 ? 5 : 0;
	input->piece = 1 + (data[24] >> 2);
	input->config.m_profile = data[25] & 0x80;
	regions = (data[25] & 0x7f) % (REGIONS + 1);
	for (; input->regions < regions && size - at >= 10; at += 10 + n) {
		start = (word(data + at) | (uint64_t)word(data + at + 4) << 32) & ~3ULL;
		n = data[at + 8] | (size_t)data[at + 9] << 8;
		if (n > size - at - 10 || !n || start + n < start)
			break;
		input->code[input->regions] = (struct flowtap_code) {
			.start = start, .end = start + n, .until = UINT64_MAX,
			.bytes = data + at + 10, .key = (uint32_t)input->regions,
			.file = UINT32_MAX,
		};
		input->regions++;
	}
	input->stream = data + at;
	input->size = size - at;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = { 0 };
	struct checker whole, pieces;

	if (!take(&input, data, size))
		return 0;
	decode(&input, input.size, &whole);
	decode(&input, input.piece, &pieces);
	check(whole.hash == pieces.hash && whole.instructions == pieces.instructions &&
	      whole.gaps == pieces.gaps);
	return 0;
}

/* --- Seeds: golden files. --- */

static size_t put(uint8_t *buffer, uint64_t value, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buffer[i] = (uint8_t)(value >> (8 * i));
	return n;
}

size_t flowtap_fuzz_seed(uint8_t *buffer, size_t capacity, unsigned int n)
{
	static const char *const names[] = {
		"cancel-2", "cancel-3", "compare-and-branch", "cycle-counts-commit", "discard",
		"exact-match", "exception-context", "instrumentation", "mispredict", "overflow",
		"pauth-lr", "q", "q-t32", "return-stack-overflow", "source-address-64",
		"source-address-t32", "start-speculative", "sync-with-return-pending", "t32-blx",
		"table-k10-10", "table-k10-11", "table-k10-15", "table-k10-16", "table-k10-18",
		"table-k10-19", "timestamps", "transaction-fail-event", "wfx-p0", "wrapped-start",
		"etm4-branch-future", "etm4-exception-return", "etm4-loops", "etm4-m-profile",
		"etm4-m-returns", "etm4-return-stack", "etm4-speculative-returns",
	};
	char name[64];
	struct golden *golden;
	size_t at = 0, size;

	if (n >= sizeof(names) / sizeof(names[0]))
		return 0;
	snprintf(name, sizeof(name), "%s.golden", names[n]);
	golden = golden_load(name);
	/* 0 would be the end of them: those behind one that is gone would be, too. */
	check(golden && capacity >= sizeof(golden->bytes) + sizeof(golden->stream));
	at += put(buffer + at, golden->config.configr, 4);
	at += put(buffer + at, golden->config.devarch, 4);
	at += put(buffer + at, golden->config.idr0, 4);
	at += put(buffer + at, golden->config.idr1, 4);
	at += put(buffer + at, golden->config.idr2, 4);
	at += put(buffer + at, golden->config.idr8, 4);
	at += put(buffer + at, n << 3, 1);
	at += put(buffer + at, golden->regions | (golden->config.m_profile ? 0x80 : 0), 1);
	for (size_t i = 0; i < golden->regions; i++) {
		size = golden->code[i].end - golden->code[i].start;
		at += put(buffer + at, golden->code[i].start, 8);
		at += put(buffer + at, size, 2);
		memcpy(buffer + at, golden->code[i].bytes, size);
		at += size;
	}
	memcpy(buffer + at, golden->stream, golden->size);
	at += golden->size;
	free(golden);
	return at;
}
