// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that a .zstf holds the same records as the plain STF of the same flow, in chunks of exactly
 * as many instructions as asked for, that begin at the PC the index says; wherever a boundary
 * falls; and that who is killed leaves all finished chunks behind.
 */
#include <flowtap/stf.h>

#include "stfcheck/sample.h"
#include "stfcheck/stfcheck.h"
#include "support/random.h"
#include "support/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "support/kselftest_harness.h"

/*
 * Death at the n-th write: of that one only a part arrives, of all later ones nothing. These stand
 * in for the functions of libc.
 */
static long writes_left = -1;	/* -1: no end */
static bool half;
static off_t kill_at;			/* in the file, if not 0 */

static bool is_dead(void)
{
	return !writes_left;
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
	size_t arrives = size;

	if (is_dead())
		return (ssize_t)size;
	if (kill_at && offset + (off_t)size > kill_at) {
		if (offset < kill_at)
			syscall(SYS_pwrite64, fd, bytes, kill_at - offset, offset);
		kill(getpid(), SIGKILL);
	}
	if (writes_left > 0 && !--writes_left)
		arrives = half ? size / 2 : 0;
	if (!arrives || writes_left >= 0)
		return syscall(SYS_pwrite64, fd, bytes, arrives, offset) < 0 ? -1 : (ssize_t)size;
	return syscall(SYS_pwrite64, fd, bytes, arrives, offset);
}

int ftruncate(int fd, off_t size)
{
	if (is_dead() || (writes_left > 0 && !--writes_left))
		return 0;
	return (int)syscall(SYS_ftruncate, fd, size);
}

/* The last one is the kernel's. */
enum { LOOP, ECALL, LI, RET, CNOP, JUMP, WIDE, SRET, BLOCKS };

static const struct flowtap_block templates[BLOCKS] = {
	SAMPLE_BLOCKS,
	[CNOP] = { .address = 0x1000e, .size = 2, .instructions = 1, .last = 0,
		   .bytes = (const uint8_t[]){ U16(0x0001) } },
	[SRET] = { .address = 0xffffffff8000000e, .size = 6, .instructions = 2, .last = 2,
		   .bytes = (const uint8_t[]){ U16(0x0001), U32(0x10200073) },
		   .end = FLOWTAP_TRANSFER_TRAP_RETURN },
};

static struct flowtap_block blocks[BLOCKS];
static uint64_t state;

static uint32_t below(uint32_t limit)
{
	return random_below(&state, limit);
}

static int find(uint64_t address)
{
	for (int n = 0; n < BLOCKS; n++)
		if (blocks[n].address == address)
			return n;
	return below(SRET);
}

/* By an ecall with its handler, which is part of its group; and back by an xRET, likewise. */
static int visit_kernel(struct flowtap_sink *sink, bool traced)
{
	struct flowtap_element trap = {
		.kind = FLOWTAP_ELEMENT_EXCEPTION,
		.exception = { .number = 8, .address = blocks[ECALL].address,
			       .target = blocks[SRET].address },
	};
	int error = traced ? sink->element(sink, &trap) : 0;

	if (!error)
		error = sink_context(sink, 1, 1, 0, 1);
	if (!error)
		error = sink_block(sink, &blocks[SRET], true, 0x10000);
	return error ? error : sink_context(sink, 1, 1, 0, 0);
}

/* One block, and now and then what stands between blocks. *n: the block, then the next one. */
static int step(struct flowtap_sink *sink, int *n)
{
	const struct flowtap_block *block = &blocks[*n];
	bool taken = block->end && (!block->conditional || below(2));
	uint64_t target = block->address + block->size;
	int next = below(SRET), was = *n, error;

	if (taken)
		target = block->direct ? block->target : blocks[next].address;
	if (*n == ECALL)
		target = 0;
	error = sink_block(sink, block, taken, target);
	*n = find(target);
	if (!error && (was == ECALL || !below(10))) {
		error = visit_kernel(sink, was == ECALL && below(2));
		*n = LOOP;
	}
	if (!error && !below(12))
		error = sink_exception(sink, 8, target);
	if (!error && !below(10))
		error = sink_gap(sink, below(FLOWTAP_GAP_REASONS));
	if (!error && !below(10))
		error = sink_context(sink, 1, 1 + below(2), below(2), 0);
	return error;
}

/* The same flow for the same seed, whatever takes it. */
static int feed(struct flowtap_stf *stf, uint64_t seed, uint64_t instructions)
{
	struct flowtap_sink *sink = flowtap_stf_sink(stf);
	int n = LOOP, error;

	state = seed * 0x9e3779b97f4a7c15 | 1;
	error = sink_context(sink, 1, 1, 0, 0);
	while (!error && flowtap_stf_counts(stf)->instructions < instructions)
		error = step(sink, &n);
	return error;
}

static int make(int fd, const struct flowtap_zstf_options *zstf, uint64_t seed,
		uint64_t instructions)
{
	const struct flowtap_stf_options options = { .generator = 0xff, .zstf = zstf };
	struct flowtap_stf *stf;
	int error = flowtap_stf_new(fd, &options, &stf);

	if (error)
		return error;
	error = feed(stf, seed, instructions);
	if (!error)
		error = flowtap_stf_finish(stf);
	flowtap_stf_free(stf);
	return error;
}

FIXTURE(zstf)
{
	struct output plain;
	struct output packed;
};

FIXTURE_SETUP(zstf)
{
	memcpy(blocks, templates, sizeof(blocks));
	self->plain = output_new();
	self->packed = output_new();
}

FIXTURE_TEARDOWN(zstf)
{
	blocks_unrender(blocks, BLOCKS);
	output_free(&self->plain);
	output_free(&self->packed);
}

/* Strictly right, and the same records. */
#define EXPECT_SAME(plain, packed, want_markers, slack_is) do {					\
	struct stfcheck check = { .strict = true };						\
	struct stfcheck_file file;								\
												\
	ASSERT_EQ(0, stfcheck_open((packed).fd, &file)) TH_LOG("%s", file.reason);		\
	EXPECT_EQ(want_markers, file.markers);							\
	EXPECT_EQ(slack_is, file.slack);							\
	EXPECT_EQ(0, stfcheck_run_file(&check, &file))						\
		TH_LOG("%s%s", check.reason, file.reason);					\
	EXPECT_EQ((plain).size, file.size);							\
	EXPECT_EQ(-1, output_differs(&(plain), file.bytes, file.size));				\
	stfcheck_close(&file);									\
} while (0)

/* Chunks that are smaller than blocks, and every length of trace: boundaries fall everywhere. */
TEST_F(zstf, has_the_records_of_the_plain_trace_wherever_boundaries_fall)
{
	for (uint64_t markers = 1; markers <= 9; markers++) {
		const struct flowtap_zstf_options options = { .markers = markers };

		for (uint64_t instructions = 1; instructions <= 25; instructions++) {
			uint64_t seed = markers * 1000 + instructions;

			ASSERT_EQ(0, ftruncate(self->plain.fd, 0));
			ASSERT_EQ(0, lseek(self->plain.fd, 0, SEEK_SET));
			ASSERT_EQ(0, make(self->plain.fd, NULL, seed, instructions));
			ASSERT_EQ(0, make(self->packed.fd, &options, seed, instructions));
			output_read(&self->plain);
			EXPECT_SAME(self->plain, self->packed, markers, 0);
		}
	}
}

/* As the tool writes them: more than ten chunks; and more than a thousand, which are not each
 * committed at once.
 */
TEST_F(zstf, has_the_records_of_a_long_trace)
{
	static const uint64_t markers[] = { 0, 1000 };

	ASSERT_EQ(0, make(self->plain.fd, NULL, 7, 1200000));
	output_read(&self->plain);
	for (int i = 0; i < 2; i++) {
		const struct flowtap_zstf_options options = { .markers = markers[i],
							      .level = i ? 1 : 0 };

		ASSERT_EQ(0, make(self->packed.fd, &options, 7, 1200000));
		EXPECT_SAME(self->plain, self->packed, i ? 1000 : 100000, 0);
		output_read(&self->packed);
		EXPECT_LT(self->packed.size, self->plain.size / 4);
	}
}

TEST_F(zstf, a_trace_that_ends_with_a_chunk_has_no_empty_one_after_it)
{
	const struct flowtap_zstf_options zstf = { .markers = 2 };
	const struct flowtap_stf_options options = { .generator = 0xff, .zstf = &zstf };
	struct flowtap_stf *stf;
	struct stfcheck_file file;
	struct stfcheck check = { .strict = true };

	for (int comment = 0; comment < 2; comment++) {
		ASSERT_EQ(0, flowtap_stf_new(self->packed.fd, &options, &stf));
		EXPECT_EQ(0, sink_block(flowtap_stf_sink(stf), &blocks[LOOP], true, 0x10000));
		EXPECT_EQ(0, sink_block(flowtap_stf_sink(stf), &blocks[LOOP], true, 0x10000));
		if (comment)
			EXPECT_EQ(0, sink_gap(flowtap_stf_sink(stf), FLOWTAP_GAP_SKID));
		EXPECT_EQ(0, flowtap_stf_finish(stf));
		flowtap_stf_free(stf);
		ASSERT_EQ(0, stfcheck_open(self->packed.fd, &file));
		/* A comment is no marker: it stands before the last one. */
		EXPECT_EQ(2, file.chunks);
		EXPECT_EQ(0x10000, file.chunk[1].start_pc);
		EXPECT_EQ(0, stfcheck_run_file(&check, &file));
		stfcheck_close(&file);
	}
}

TEST_F(zstf, a_trace_without_instructions_is_an_error_and_no_zstf)
{
	const struct flowtap_zstf_options zstf = { .markers = 2 };
	const struct flowtap_stf_options options = { .generator = 0xff, .zstf = &zstf };
	struct stfcheck_file file;
	struct flowtap_stf *stf;

	ASSERT_EQ(0, flowtap_stf_new(self->packed.fd, &options, &stf));
	EXPECT_EQ(0, sink_gap(flowtap_stf_sink(stf), FLOWTAP_GAP_START));
	EXPECT_EQ(-ENODATA, flowtap_stf_finish(stf));
	flowtap_stf_free(stf);
	EXPECT_EQ(-EBADMSG, stfcheck_open(self->packed.fd, &file));
}

TEST_F(zstf, what_is_freed_unfinished_has_its_whole_chunks)
{
	const struct flowtap_zstf_options zstf = { .markers = 1000 };
	const struct flowtap_stf_options options = { .generator = 0xff, .zstf = &zstf };
	struct stfcheck check = { .strict = true };
	struct stfcheck_file file;
	struct flowtap_stf *stf;

	ASSERT_EQ(0, flowtap_stf_new(self->packed.fd, &options, &stf));
	EXPECT_EQ(0, feed(stf, 3, 500000));
	flowtap_stf_free(stf);
	ASSERT_EQ(0, stfcheck_open(self->packed.fd, &file));
	EXPECT_EQ(0, stfcheck_run_file(&check, &file));
	EXPECT_EQ(0, check.counts.instructions % 1000);
	EXPECT_LT(100000, check.counts.instructions);
	stfcheck_close(&file);
}

TEST_F(zstf, refuses_options_and_files_it_cannot_use)
{
	struct flowtap_zstf_options zstf = { .markers = FLOWTAP_ZSTF_MARKERS_MAX + 1 };
	int pipes[2], appends;

	EXPECT_EQ(-EINVAL, make(self->packed.fd, &zstf, 1, 10));
	zstf = (struct flowtap_zstf_options){ .level = 20 };
	EXPECT_EQ(-EINVAL, make(self->packed.fd, &zstf, 1, 10));
	zstf.level = -1;
	EXPECT_EQ(-EINVAL, make(self->packed.fd, &zstf, 1, 10));
	zstf.level = 19;
	EXPECT_EQ(0, make(self->packed.fd, &zstf, 1, 10));
	ASSERT_EQ(0, pipe(pipes));
	EXPECT_EQ(-ESPIPE, make(pipes[1], &zstf, 1, 10));
	close(pipes[0]);
	close(pipes[1]);
	appends = fcntl(self->packed.fd, F_SETFL, O_APPEND);
	ASSERT_EQ(0, appends);
	EXPECT_EQ(-EINVAL, make(self->packed.fd, &zstf, 1, 10));
}

TEST_F(zstf, an_error_of_write_stays_and_what_was_written_can_be_read)
{
	const struct flowtap_zstf_options zstf = { .markers = 10000 };
	const struct flowtap_stf_options options = { .generator = 0xff, .zstf = &zstf };
	struct rlimit was, limit;
	struct stfcheck check = { .strict = true };
	struct stfcheck_file file;
	struct flowtap_stf *stf;
	FILE *disk = tmpfile();
	int error;

	ASSERT_NE(NULL, disk);
	getrlimit(RLIMIT_FSIZE, &was);
	limit = was;
	limit.rlim_cur = 64 << 10;
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	ASSERT_EQ(0, flowtap_stf_new(fileno(disk), &options, &stf));
	error = feed(stf, 3, 10000000);
	EXPECT_EQ(-EFBIG, error ? error : flowtap_stf_finish(stf));
	EXPECT_EQ(-EFBIG, flowtap_stf_finish(stf));
	EXPECT_EQ(-EFBIG, sink_gap(flowtap_stf_sink(stf), FLOWTAP_GAP_SKID));
	flowtap_stf_free(stf);
	setrlimit(RLIMIT_FSIZE, &was);
	ASSERT_EQ(0, stfcheck_open(fileno(disk), &file));
	EXPECT_EQ(0, stfcheck_run_file(&check, &file));
	EXPECT_LE(10000, check.counts.instructions);
	EXPECT_EQ(0, check.counts.instructions % 10000);
	stfcheck_close(&file);
	fclose(disk);
}

TEST_F(zstf, nothing_can_be_written_after_the_end)
{
	const struct flowtap_zstf_options zstf = { .markers = 3 };
	const struct flowtap_stf_options options = { .generator = 0xff, .zstf = &zstf };
	struct flowtap_stf *stf;
	int error = 0;

	ASSERT_EQ(0, make(self->plain.fd, NULL, 5, 100));
	output_read(&self->plain);
	ASSERT_EQ(0, flowtap_stf_new(self->packed.fd, &options, &stf));
	EXPECT_EQ(0, feed(stf, 5, 100));
	EXPECT_EQ(0, flowtap_stf_finish(stf));
	EXPECT_EQ(0, flowtap_stf_finish(stf));
	for (int i = 0; i < 4 && !error; i++)
		error = sink_block(flowtap_stf_sink(stf), &blocks[LOOP], true, 0x10000);
	EXPECT_EQ(-EPIPE, error);
	flowtap_stf_free(stf);
	EXPECT_SAME(self->plain, self->packed, 3, 0);
}

/* Opens what is left of a trace and compares it with the beginning of the whole. -1: no .zstf. */
static long check_rest(const struct output *packed, const struct output *plain,
		       struct __test_metadata *_metadata)
{
	struct stfcheck check = { .strict = true };
	struct stfcheck_file file;
	long chunks;

	/* Before the first chunk there is no .zstf, not even a wrong one. */
	if (stfcheck_open(packed->fd, &file))
		return -1;
	chunks = (long)file.chunks;
	if (chunks) {
		EXPECT_EQ(0, stfcheck_run_file(&check, &file))
			TH_LOG("%s%s", check.reason, file.reason);
		EXPECT_LE(file.size, plain->size);
		EXPECT_EQ(0, memcmp(file.bytes, plain->bytes, file.size));
	}
	stfcheck_close(&file);
	return chunks;
}

TEST_F(zstf, a_writer_that_dies_at_any_write_leaves_finished_chunks)
{
	const struct flowtap_zstf_options zstf = { .markers = 50 };
	long before = -1, chunks = 0, whole = 0, file_chunks, n;

	ASSERT_EQ(0, make(self->plain.fd, NULL, 11, 1000));
	output_read(&self->plain);
	ASSERT_EQ(0, make(self->packed.fd, &zstf, 11, 1000));
	file_chunks = check_rest(&self->packed, &self->plain, _metadata);
	ASSERT_LE(20, file_chunks);
	for (n = 3; n < 1000 && chunks < file_chunks; n++) {
		for (int part = 0; part < 2; part++) {
			half = part;
			writes_left = n;
			ASSERT_EQ(0, make(self->packed.fd, &zstf, 11, 1000));
			writes_left = -1;
			chunks = check_rest(&self->packed, &self->plain, _metadata);
			EXPECT_GE(chunks, before) TH_LOG("after %ld writes", n);
		}
		whole += chunks != before;
		before = chunks;
	}
	/* One more each time, and none skipped. */
	EXPECT_EQ(file_chunks, chunks);
	EXPECT_EQ(file_chunks, whole);
	EXPECT_LT(80, n);
}

/* In the middle of a write. */
TEST_F(zstf, a_writer_that_is_killed_leaves_finished_chunks)
{
	const struct flowtap_zstf_options zstf = { .markers = 500, .level = 1 };

	ASSERT_EQ(0, make(self->plain.fd, NULL, 11, 400000));
	output_read(&self->plain);
	for (int round = 0; round < 15; round++) {
		pid_t child;
		int status;

		ASSERT_EQ(0, ftruncate(self->packed.fd, 0));
		child = fork();
		if (!child) {
			/* From its first chunks on. */
			kill_at = 20000 + 2003 * round;
			_exit(-make(self->packed.fd, &zstf, 11, 400000));
		}
		ASSERT_EQ(child, waitpid(child, &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status));
		EXPECT_LT(0, check_rest(&self->packed, &self->plain, _metadata));
	}
}

TEST_HARNESS_MAIN
