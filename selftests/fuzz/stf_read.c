// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any bytes as a file into the reader of STF, as they are, as a chunk of a .zstf, or as two of one
 * whose head or index is wrong: what it makes of them the writer takes without a complaint, and is
 * read back as just as many instructions, but for jumps that went nobody knows where. Of a part no
 * more comes than was asked for.
 */
#include <flowtap/learned.h>
#include <flowtap/stf.h>
#include <flowtap/zstf.h>

#include "stfcheck/sample.h"
#include "support/madestf.h"

#include <errno.h>
#include <zstd.h>

static void look(struct flowtap_read *read, uint64_t offset, uint64_t line, const char *reason)
{
	(void)offset;
	if (!reason[0] || line || !read->problems)
		abort();
}

/* What is wrong with a block is not for the reader to hand on. */
struct judge {
	struct flowtap_sink sink;
	struct flowtap_sink *next;
	uint64_t instructions;
	uint64_t lost;			/* those of them that no STF can have */
};

/* An opcode that always jumps, and no record says where to. */
static bool is_lost(const struct flowtap_block *block, bool taken)
{
	return block->isa == FLOWTAP_ISA_RV64 && !taken && !block->conditional &&
	       block->end >= FLOWTAP_TRANSFER_INDIRECT_CALL &&
	       block->end <= FLOWTAP_TRANSFER_DIRECT_LINK;
}

static int judge_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
		       uint64_t target)
{
	struct judge *judge = (struct judge *)sink;
	int error = judge->next->block(judge->next, block, taken, target);

	if (error || !block->instructions || (!taken && target != block->address + block->size))
		abort();
	judge->instructions += block->instructions;
	judge->lost += is_lost(block, taken);
	return 0;
}

static int judge_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	struct judge *judge = (struct judge *)sink;

	if (judge->next->element(judge->next, element))
		abort();
	return 0;
}

/* Reads the file and writes it again. Returns the instructions that were written. */
static uint64_t read_and_write(int from, int to)
{
	const struct flowtap_stf_options options = { .generator = 0xff };
	struct judge judge = { .sink = { judge_block, judge_element } };
	struct flowtap_read read = { .sink = &judge.sink, .problem = look };
	struct flowtap_stf *stf;
	int error;

	read.learned = flowtap_learned_new(1U << 20);
	if (!read.learned || flowtap_stf_new(to, &options, &stf))
		abort();
	judge.next = flowtap_stf_sink(stf);
	lseek(from, 0, SEEK_SET);
	error = flowtap_stf_read(&read, from);
	if (error && error != -EBADMSG && error != -EPROTONOSUPPORT)
		abort();
	if (judge.instructions > read.instructions)
		abort();
	error = flowtap_stf_finish(stf);
	if (error && (error != -ENODATA || judge.instructions > judge.lost))
		abort();
	flowtap_stf_free(stf);
	flowtap_learned_free(read.learned);
	return judge.instructions - judge.lost;
}

static void read_part(int fd, uint64_t skip, uint64_t count)
{
	struct judge judge = {
		.sink = { judge_block, judge_element }, .next = flowtap_sink_nowhere(),
	};
	struct flowtap_read read = { .sink = &judge.sink, .skip = skip, .count = count };
	int error;

	read.learned = flowtap_learned_new(1U << 20);
	if (!read.learned)
		abort();
	lseek(fd, 0, SEEK_SET);
	error = flowtap_stf_read(&read, fd);
	if (error && error != -EBADMSG && error != -EPROTONOSUPPORT)
		abort();
	if (judge.instructions > count)
		abort();
	flowtap_learned_free(read.learned);
}

static void try_file(int fd)
{
	struct output once = output_new(), twice = output_new();
	uint64_t instructions = read_and_write(fd, once.fd);

	read_part(fd, instructions / 2, 3);
	read_part(fd, instructions, 1);

	if (instructions && read_and_write(once.fd, twice.fd) != instructions)
		abort();
	output_free(&once);
	output_free(&twice);
}

/* Writes the chunks in `bytes` between the head and the index, whose numbers follow on those of the head. */
static void write_zstf(int fd, const uint64_t *numbers, size_t n, const uint8_t *bytes, size_t size)
{
	if (write(fd, "ZSTF", 4) != 4 || write(fd, numbers, 16) != 16 ||
	    write(fd, bytes, size) != (ssize_t)size ||
	    write(fd, numbers + 2, (n - 2) * 8) != (ssize_t)((n - 2) * 8))
		abort();
}

/* As the only chunk, so that all of it gets after the checksum. */
static void make_zstf(int fd, const uint8_t *data, size_t size)
{
	size_t capacity = ZSTD_compressBound(size), packed;
	uint64_t numbers[6] = { 1U << 20, 0, 1, 20, 0, size };
	uint8_t *bytes = malloc(capacity);

	packed = ZSTD_compress(bytes, capacity, data, size, 1);
	numbers[1] = 20 + packed;
	write_zstf(fd, numbers, 6, bytes, packed);
	free(bytes);
}

/* One of the numbers becomes another. */
static void damage(uint64_t *numbers, size_t n, uint8_t which, uint8_t how)
{
	uint64_t *number = &numbers[which % n];

	if (how < 64)
		*number ^= 1ULL << how;
	else if (how < 128)
		*number += how - 63;
	else if (how < 192)
		*number -= how - 127;
	else
		*number = how & 1 ? UINT64_MAX >> (how - 192) : 0;
}

/* As two chunks, with a head or an index that is wrong in one place: the last bytes say where. */
static void make_damaged(int fd, const uint8_t *data, size_t size)
{
	size_t capacity = ZSTD_compressBound(size), half = size / 2, first, second;
	uint64_t numbers[9] = { 1 + data[size - 3] % 8, 0, 2, 20, 0, half, 0, 0, size - half };
	uint8_t *bytes = malloc(2 * capacity);

	first = ZSTD_compress(bytes, capacity, data, half, 1);
	second = ZSTD_compress(bytes + first, capacity, data + half, size - half, 1);
	numbers[1] = 20 + first + second;
	numbers[6] = 20 + first;
	damage(numbers, 9, data[size - 1], data[size - 2]);
	write_zstf(fd, numbers, 9, bytes, first + second);
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("stf", MFD_CLOEXEC);

	if (size % 8 == 7)
		make_damaged(fd, data, size);
	else if (size % 8 == 3)
		make_zstf(fd, data, size);
	else if (write(fd, data, size) != (ssize_t)size)
		abort();
	try_file(fd);
	close(fd);
	return 0;
}

/* Traces of random flows, plain and compressed. */
static size_t make_seed(uint8_t *buffer, size_t capacity, unsigned int n)
{
	const struct flowtap_zstf_options zstf = { .markers = 20, .level = 1 };
	struct output output = made_stf(n, n & 1, 40, n & 2 ? &zstf : NULL);
	size_t size = output.size < capacity ? output.size : capacity;

	memcpy(buffer, output.bytes, size);
	output_free(&output);
	return size;
}

size_t flowtap_fuzz_seed(uint8_t *buffer, size_t capacity, unsigned int n)
{
	if (n >= 12)
		return 0;
	if (n >= SAMPLES) {
		static uint8_t made[12][8192];
		static size_t sizes[12];

		if (!sizes[n])
			sizes[n] = make_seed(made[n], sizeof(made[n]), n);
		memcpy(buffer, made[n], sizes[n] < capacity ? sizes[n] : capacity);
		return sizes[n];
	}
	memcpy(buffer, samples[n].bytes, samples[n].size < capacity ? samples[n].size : capacity);
	return samples[n].size;
}
