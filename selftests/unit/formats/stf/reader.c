// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that an STF that the writer made of a flow is read back as this flow, plain, compressed
 * and packed; and how damage is told and passed over.
 *
 * FLOWTAP_SEED and STF_READ_ROUNDS set what is tried.
 */
#include <errno.h>
#include <fcntl.h>
#include <flowtap/check.h>
#include <flowtap/learned.h>
#include <flowtap/stf.h>
#include <zlib.h>

#include "formats/stf/comments.h"
#include "support/madestf.h"

#include "support/kselftest_harness.h"

#define ROUNDS 60

/* What reading a file gave. */
struct reading {
	struct flowtap_read read;
	int status;
	struct output text;
	char reasons[2048];
	uint64_t first_offset;
};

static void note_problem(struct flowtap_read *read, uint64_t offset, uint64_t line,
			 const char *reason)
{
	struct reading *reading = read->argument;
	size_t used = strlen(reading->reasons);

	if (read->problems == 1)
		reading->first_offset = offset;
	snprintf(reading->reasons + used, sizeof(reading->reasons) - used, "%llu: %s\n",
		 (unsigned long long)offset, reason);
	if (line)
		abort();
}

/* again: where it is written again, or NULL. */
static void read_part(struct reading *reading, int fd, struct flowtap_sink *again, uint64_t skip,
		      uint64_t count)
{
	struct flowtap_learned *learned = flowtap_learned_new(0);
	struct flowtap_text *text;
	struct sink_pair both;

	memset(reading, 0, sizeof(*reading));
	reading->text = output_new();
	if (!learned || flowtap_text_new(reading->text.fd, flowtap_learned_blocks(learned), &text))
		abort();
	both = sink_pair_of(flowtap_text_sink(text), again);
	reading->read = (struct flowtap_read){
		.sink = again ? &both.sink : flowtap_text_sink(text),
		.learned = learned,
		.problem = note_problem,
		.argument = reading,
		.skip = skip,
		.count = count,
	};
	lseek(fd, 0, SEEK_SET);
	reading->status = flowtap_stf_read(&reading->read, fd);
	if (flowtap_text_finish(text))
		abort();
	output_read(&reading->text);
	flowtap_text_free(text);
	flowtap_learned_free(learned);
}

static void read_file(struct reading *reading, int fd, struct flowtap_sink *again)
{
	read_part(reading, fd, again, 0, 0);
}

static void reading_free(struct reading *reading)
{
	output_free(&reading->text);
}

static void read_bytes(struct reading *reading, const void *bytes, size_t size)
{
	int fd = memfd_create("stf", MFD_CLOEXEC);

	if (write(fd, bytes, size) != (ssize_t)size)
		abort();
	read_file(reading, fd, NULL);
	close(fd);
}

static uint64_t number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

/* gzip, in members of this size. */
static int pack(int fd, size_t piece)
{
	int packed = memfd_create("gz", MFD_CLOEXEC);
	struct output all = { .fd = fd };

	output_read(&all);
	for (size_t at = 0; at < all.size; at += piece) {
		size_t n = all.size - at < piece ? all.size - at : piece;
		uint8_t *out = malloc(n + 1024);
		z_stream stream = { .next_in = all.bytes + at, .avail_in = (uInt)n,
				    .next_out = out, .avail_out = (uInt)n + 1024 };

		if (deflateInit2(&stream, 1, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY) != Z_OK ||
		    deflate(&stream, Z_FINISH) != Z_STREAM_END ||
		    write(packed, out, stream.total_out) != (ssize_t)stream.total_out)
			abort();
		deflateEnd(&stream);
		free(out);
	}
	free(all.bytes);
	return packed;
}

FIXTURE(flow) {
	uint64_t seed;
	unsigned int rounds;
};

FIXTURE_VARIANT(flow) {
	bool arm;
};

FIXTURE_VARIANT_ADD(flow, riscv) { .arm = false };
FIXTURE_VARIANT_ADD(flow, arm) { .arm = true };

FIXTURE_SETUP(flow)
{
	self->seed = number("FLOWTAP_SEED", 1);
	self->rounds = (unsigned int)number("STF_READ_ROUNDS", ROUNDS);
	TH_LOG("FLOWTAP_SEED=%llu", (unsigned long long)self->seed);
}

FIXTURE_TEARDOWN(flow)
{
}

/* Times are not written; this walk has none. */
static void expect_same(struct __test_metadata *_metadata, const struct output *want,
			const struct reading *reading, uint64_t seed)
{
	char *a = made_lines((const char *)want->bytes, NULL);
	char *b = made_lines((const char *)reading->text.bytes, NULL);
	char *differs = made_differs(a, b);

	EXPECT_EQ(0, reading->status);
	EXPECT_EQ(0, reading->read.problems);
	EXPECT_STREQ("", reading->reasons);
	EXPECT_EQ(NULL, differs)
		TH_LOG("seed %llu: %s", (unsigned long long)seed, differs);
	free(differs);
	free(a);
	free(b);
}

static void log_problem(struct flowtap_check *check, const struct flowtap_check_problem *problem)
{
	if (check->problems < 5)
		printf("# offset %llu: %s\n", (unsigned long long)problem->offset,
		       problem->reason);
}

static void round_trip(struct __test_metadata *_metadata, uint64_t seed, bool arm, bool zstf)
{
	const struct flowtap_zstf_options chunks = { .markers = 100, .level = 1 };
	const struct flowtap_stf_options options = {
		.generator = 0xff, .zstf = zstf ? &chunks : NULL,
	};
	struct madeflow *made = malloc(sizeof(*made));
	struct output stf = output_new(), again = output_new(), text = output_new();
	struct flowtap_text *lines;
	struct flowtap_stf *writer;
	struct flowtap_check check = { .problem = log_problem };
	struct reading reading;
	struct sink_pair both;
	int packed;

	ASSERT_EQ(0, flowtap_stf_new(stf.fd, &options, &writer));
	ASSERT_EQ(0, flowtap_text_new(text.fd, NULL, &lines));
	both = sink_pair_of(flowtap_stf_sink(writer), flowtap_text_sink(lines));
	made_begin(made, seed, arm, &both.sink);
	made->silent = seed % 2;
	ASSERT_EQ(0, made_run(made, 400));
	ASSERT_EQ(0, flowtap_stf_finish(writer));
	ASSERT_EQ(0, flowtap_text_finish(lines));
	output_read(&text);
	flowtap_stf_free(writer);
	flowtap_text_free(lines);

	/* It is read, and can be written again. */
	ASSERT_EQ(0, flowtap_stf_new(again.fd, &options, &writer));
	read_file(&reading, stf.fd, flowtap_stf_sink(writer));
	expect_same(_metadata, &text, &reading, seed);
	EXPECT_EQ(made->instructions, reading.read.instructions);
	EXPECT_EQ(0, flowtap_stf_finish(writer));
	flowtap_stf_free(writer);
	reading_free(&reading);
	read_file(&reading, again.fd, NULL);
	expect_same(_metadata, &text, &reading, seed);
	reading_free(&reading);

	EXPECT_EQ(0, flowtap_check_file(&check, stf.fd));
	EXPECT_EQ(0, check.problems);
	EXPECT_EQ(0, flowtap_check_file(&check, again.fd));
	EXPECT_EQ(0, check.problems);
	if (!zstf) {
		packed = pack(stf.fd, 1000 + seed % 5000);
		read_file(&reading, packed, NULL);
		expect_same(_metadata, &text, &reading, seed);
		reading_free(&reading);
		close(packed);
	}
	made_end(made);
	free(made);
	output_free(&stf);
	output_free(&again);
	output_free(&text);
}

TEST_F(flow, a_flow_comes_back_as_it_was)
{
	for (unsigned int i = 0; i < self->rounds; i++)
		round_trip(_metadata, self->seed * 1000003 + i, variant->arm, i % 4 == 3);
}

/* Made flows that once did not come back. */
TEST(flows_that_did_not_come_back_do)
{
	static const struct {
		uint64_t seed;
		bool arm;
	} flows[] = {
		/* A branch of A32 or T32 to nobody knows where was read as one not taken. */
		{ 7000060, true }, { 31337094067, true },
		/* After an xRET a change of mode back, with a gap before any instruction. */
		{ 4242012747, false },
	};

	for (size_t i = 0; i < sizeof(flows) / sizeof(flows[0]); i++)
		round_trip(_metadata, flows[i].seed, flows[i].arm, false);
}

/* --- Flows by hand. --- */

#define CODE(...) .bytes = (const uint8_t[]){ __VA_ARGS__ }
#define WORD(word) \
	(word) & 0xff, (word) >> 8 & 0xff, (word) >> 16 & 0xff, (word) >> 24 & 0xff

static const struct flowtap_block eret = {
	.address = 0x1000, .size = 4, .instructions = 1, .isa = FLOWTAP_ISA_A64,
	CODE(WORD(0xd69f03e0)), .end = FLOWTAP_ARM_EXCEPTION_RETURN,
};
static const struct flowtap_block a64 = {
	.address = 0x2000, .size = 4, .instructions = 1, .isa = FLOWTAP_ISA_A64,
	CODE(WORD(0xd65f03c0)), .end = FLOWTAP_ARM_RETURN,
};
static const struct flowtap_block nop = {
	.address = 0x3000, .size = 4, .instructions = 1, .isa = FLOWTAP_ISA_A64,
	CODE(WORD(0xd503201f)),
};
static const struct flowtap_block bxeq = {
	.address = 0x1000, .size = 4, .instructions = 1, .isa = FLOWTAP_ISA_A32,
	CODE(WORD(0x012fff1eU)), .end = FLOWTAP_ARM_RETURN, .conditional = true,
};
static const struct flowtap_block bx = {
	.address = 0x2000, .size = 2, .instructions = 1, .isa = FLOWTAP_ISA_T32,
	CODE(0x70, 0x47), .end = FLOWTAP_ARM_RETURN,
};

/* One step of a flow: a block, or an element. */
struct told {
	const struct flowtap_block *block;
	bool taken;
	uint64_t target;
	struct flowtap_element element;
};

#define IS(which, is_taken, to) { .block = &(which), .taken = is_taken, .target = to }
#define TELL(which, ...) { .element = { .kind = FLOWTAP_ELEMENT_ ## which, ## __VA_ARGS__ } }
#define MODE(which, level) \
	TELL(CONTEXT, .context = { .isa = FLOWTAP_ISA_ ## which, .mode = level, \
				   .width = FLOWTAP_ISA_ ## which == FLOWTAP_ISA_A64 ? 64 : 32 })
#define GAP(why) TELL(GAP, .gap = { .reason = FLOWTAP_GAP_ ## why, .size = UINT64_MAX })

/* All of it, to its end. */
static int feed(struct flowtap_stf *writer, const struct told *told, size_t n)
{
	struct flowtap_sink *sink = flowtap_stf_sink(writer);
	int error = 0;

	for (size_t i = 0; i < n && !error; i++) {
		struct flowtap_block block;

		if (!told[i].block) {
			error = sink->element(sink, &told[i].element);
			continue;
		}
		block = *told[i].block;
		error = sink->block(sink, &block, told[i].taken, told[i].target);
		blocks_unrender(&block, 1);
	}
	return error ? error : flowtap_stf_finish(writer);
}

/* What is read of the flow's STF, as text. */
static void expect_read(struct __test_metadata *_metadata, const struct told *told, size_t n,
			const char *want)
{
	const struct flowtap_stf_options options = { .generator = 0xff };
	struct output stf = output_new();
	struct flowtap_stf *writer;
	struct reading reading;

	ASSERT_EQ(0, flowtap_stf_new(stf.fd, &options, &writer));
	EXPECT_EQ(0, feed(writer, told, n));
	flowtap_stf_free(writer);
	read_file(&reading, stf.fd, NULL);
	EXPECT_EQ(0, reading.status);
	EXPECT_STREQ("", reading.reasons);
	EXPECT_STREQ(want, (const char *)reading.text.bytes);
	reading_free(&reading);
	output_free(&stf);
}

#define EXPECT_READ(told, want) \
	expect_read(_metadata, told, sizeof(told) / sizeof((told)[0]), want)

TEST(an_arm_branch_to_nobody_knows_where_was_taken_whatever_comes_after_it)
{
	static const struct told told[] = {
		MODE(A32, 0), IS(bxeq, false, 0x1004), GAP(OVERFLOW),
		IS(bxeq, true, 0), GAP(OVERFLOW),
		IS(bx, true, 0), TELL(TRACE_ON),
		IS(bxeq, true, 0), GAP(NO_ADDRESS),
		IS(bxeq, false, 0x1004), GAP(OVERFLOW),
		IS(bxeq, true, 0),
	};

	EXPECT_READ(told,
		    "context A32 EL0 nonsecure 32\n"
		    "range 1000 1004 1 A32 N\ngap overflow size=unknown\n"
		    "range 1000 1004 1 A32 E\ngap overflow size=unknown\n"
		    "range 2000 2002 1 T32 E\ntrace_on\n"
		    "range 1000 1004 1 A32 E\ngap no_address size=unknown\n"
		    "range 1000 1004 1 A32 N\ngap overflow size=unknown\n"
		    "range 1000 1004 1 A32 E\n");
}

TEST(what_is_noted_before_an_arm_context_is_read_before_it)
{
	static const struct told told[] = {
		MODE(A64, 2), IS(eret, true, 0x2000), TELL(EXCEPTION_RETURN),
		TELL(EVENT, .event = 5), MODE(A64, 1), IS(a64, true, 0x1000),
	};

	EXPECT_READ(told,
		    "context A64 EL2 nonsecure 64\n"
		    "range 1000 1004 1 A64 E\neret\nevent 5\n"
		    "context A64 EL1 nonsecure 64\n"
		    "range 2000 2004 1 A64 E\n");
}

/* Be it by a branch, or by an exception at the same level. */
TEST(of_t32_instead_of_a32_no_context_is_read)
{
	static const struct told told[] = {
		MODE(A32, 1), IS(bxeq, true, 0x2000), IS(bx, true, 0x1000),
		TELL(EXCEPTION, .exception = { .number = 10, .address = 0x1000 }),
		IS(bx, true, 0x1000), IS(bxeq, true, 0x2000), GAP(OVERFLOW), MODE(A32, 1),
		IS(bxeq, true, 0x2000), TELL(EVENT, .event = 5), MODE(T32, 1), GAP(OVERFLOW),
		IS(bx, true, 0x1000),
	};

	EXPECT_READ(told,
		    "context A32 EL1 nonsecure 32\n"
		    "range 1000 1004 1 A32 E\nrange 2000 2002 1 T32 E\n"
		    "exception 10 1000\n"
		    "range 2000 2002 1 T32 E\nrange 1000 1004 1 A32 E\ngap overflow size=unknown\n"
		    "range 1000 1004 1 A32 E\nevent 5\ngap overflow size=unknown\n"
		    "range 2000 2002 1 T32 E\n");
}

TEST(what_comes_after_the_last_instruction_is_read_after_it)
{
	static const struct told told[] = {
		MODE(A64, 1),
		IS(a64, true, 0x1000),
		IS(eret, true, 0x2000),
		TELL(EVENT, .event = 5),
		GAP(OVERFLOW),
		MODE(A64, 2),
		GAP(START),
	};

	EXPECT_READ(told, "context A64 EL1 nonsecure 64\n"
			  "range 2000 2004 1 A64 E\nrange 1000 1004 1 A64 E\neret\n"
			  "event 5\ngap overflow size=unknown\n"
			  "context A64 EL2 nonsecure 64\ngap start size=unknown\n");
}

/* More than the writer holds, or the reader: they stand where they come, and nothing is lost. */
TEST(no_number_of_gaps_after_the_last_instruction_is_too_many)
{
	enum { GAPS = 20000 };
	static struct told told[GAPS + 2] = { MODE(A64, 1), IS(a64, true, 0x1000) };
	static const char begin[] = "context A64 EL1 nonsecure 64\nrange 2000 2004 1 A64 E\n",
			  line[] = "gap overflow size=unknown\n";
	char *want = malloc(sizeof(begin) + GAPS * sizeof(line)), *to = want;

	ASSERT_NE(NULL, want);
	to = stpcpy(to, begin);
	for (int i = 0; i < GAPS; i++) {
		told[i + 2] = (struct told)GAP(OVERFLOW);
		to = stpcpy(to, line);
	}
	EXPECT_READ(told, want);
	free(want);
}

/* As by a writer that holds more, or by somebody malicious. */
TEST(comments_of_what_comes_later_may_be_of_any_size)
{
	struct output made = made_stf(7, false, 200, NULL), longer = output_new();
	static const char after[] = "\x03\x1a\0\0\0after the next instruction",
			  line[] = "\x03\x09\0\0\0gap start";
	static char text[1 << 16] = "\x03\xfb\xff";
	struct reading reading;
	size_t gaps = 0;

	ASSERT_EQ((ssize_t)made.size, write(longer.fd, made.bytes, made.size));
	ASSERT_EQ(31, write(longer.fd, after, sizeof(after) - 1));
	for (size_t i = 0; i < (STF_COMMENTS_MOST >> 16) + 100; i++) {
		ASSERT_EQ(14, write(longer.fd, line, sizeof(line) - 1));
		ASSERT_EQ((ssize_t)sizeof(text), write(longer.fd, text, sizeof(text)));
	}
	read_file(&reading, longer.fd, NULL);
	EXPECT_EQ(0, reading.status);
	for (const char *at = (const char *)reading.text.bytes; (at = strstr(at, "\ngap start\n"));
	     at++)
		gaps++;
	EXPECT_LE((STF_COMMENTS_MOST >> 16) + 100, gaps);
	reading_free(&reading);
	output_free(&longer);
	output_free(&made);
}

/*
 * Said twice, it is of the same instruction: else each opcode would take one away and hold all the
 * others again, which are 64 MiB where somebody malicious writes them.
 */
TEST(comments_of_what_comes_later_are_held_once)
{
	struct output made = made_stf(7, false, 200, NULL), longer = output_new();
	static const char records[] = "\x03\x1a\0\0\0after the next instruction"
				      "\x03\x09\0\0\0gap start"
				      "\x03\x1a\0\0\0after the next instruction"
				      "\x03\x0c\0\0\0gap overflow"
				      "\xf0\x13\0\0\0\xf0\x13\0\0\0";
	struct reading reading;

	ASSERT_EQ((ssize_t)made.size, write(longer.fd, made.bytes, made.size));
	ASSERT_EQ((ssize_t)sizeof(records) - 1, write(longer.fd, records, sizeof(records) - 1));
	read_file(&reading, longer.fd, NULL);
	EXPECT_EQ(0, reading.status);
	EXPECT_NE(NULL, strstr((const char *)reading.text.bytes,
			       "\ngap start\ngap overflow\nrange "));
	reading_free(&reading);
	output_free(&longer);
	output_free(&made);
}

TEST(what_is_something_else_is_said_to_be)
{
	struct reading reading;

	read_bytes(&reading, "", 0);
	EXPECT_EQ(-EBADMSG, reading.status);
	reading_free(&reading);
	read_bytes(&reading, "perf.data", 9);
	EXPECT_EQ(-EBADMSG, reading.status);
	reading_free(&reading);
	read_bytes(&reading, "\xfd""7zXZ\0 and more", 15);
	EXPECT_EQ(-EPROTONOSUPPORT, reading.status);
	EXPECT_STREQ("0: it is packed by xz, which cannot be read: unpack it (xz -d)\n",
		     reading.reasons);
	reading_free(&reading);
}

#define SAMPLES "../shared/corpus/stf/"

/* As its layout says: the interrupted instruction is not executed until its second time. */
static const char minimal20[] =
	"context RV64 EL1 nonsecure 64 pid=100 tid=100 cpu=0 mode=S\n"
	"range 80000000 80000014 6 RV64 E\n"
	"eret\n"
	"context RV64 EL0 nonsecure 64 pid=100 tid=100 cpu=0 mode=U\n"
	"range 80000020 8000002e 4 RV64 E\n"
	"range 80000026 8000002e 2 RV64 N\n"
	"range 8000002e 80000036 2 RV64 E\n"
	"exception 5 80000040 interrupt target=80001000\n"
	"context RV64 EL1 nonsecure 64 pid=100 tid=100 cpu=0 mode=S\n"
	"range 80001000 80001008 2 RV64 E\n"
	"eret\n"
	"context RV64 EL0 nonsecure 64 pid=100 tid=100 cpu=0 mode=U\n"
	"range 80000040 80000048 3 RV64 E\n";

/* Public samples by others' writers. Instructions: as flowtap check counts them, which is older. */
TEST(samples_of_others_are_read_whole)
{
	static const char *const names[] = {
		"bmi_pmp.bare.stf", "dhrystone.zstf", "dhrystone_opt1.zstf", "minimal20.stf",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct flowtap_check check = { .problems = 0 };
		struct reading reading;
		char path[64];
		int fd;

		snprintf(path, sizeof(path), SAMPLES "%s", names[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			SKIP(return, "no " SAMPLES);
		ASSERT_EQ(0, flowtap_check_file(&check, fd));
		read_file(&reading, fd, NULL);
		EXPECT_EQ(0, reading.status);
		EXPECT_STREQ("", reading.reasons);
		EXPECT_EQ(check.instructions, reading.read.instructions);
		EXPECT_EQ(check.records, reading.read.records);
		EXPECT_EQ(NULL, strstr((const char *)reading.text.bytes, "gap"))
			TH_LOG("%s", names[i]);
		TH_LOG("%s: %llu instructions", names[i],
		       (unsigned long long)reading.read.instructions);
		if (i == 3)
			EXPECT_EQ(20, reading.read.instructions);
		if (i == 3)
			EXPECT_STREQ(minimal20, (const char *)reading.text.bytes);
		reading_free(&reading);
		close(fd);
	}
}

/* A little trace of each architecture, as the writer makes it. */
static struct output make_trace(bool arm, unsigned int blocks,
				const struct flowtap_zstf_options *zstf)
{
	return made_stf(7, arm, blocks, zstf);
}

TEST(a_trace_that_was_cut_is_told_wherever_that_was)
{
	for (int arm = 0; arm < 2; arm++) {
		struct output whole = make_trace(arm, 12, NULL);

		for (size_t cut = 6; cut < whole.size; cut++) {
			struct flowtap_check check = { .problems = 0 };
			struct reading reading;
			int fd = memfd_create("cut", MFD_CLOEXEC);

			ASSERT_EQ((ssize_t)cut, write(fd, whole.bytes, cut));
			ASSERT_EQ(0, flowtap_check_file(&check, fd));
			read_file(&reading, fd, NULL);
			EXPECT_EQ(0, reading.status);
			/* It may be where an instruction ends: that nobody can know. */
			EXPECT_EQ(check.problems != 0, reading.read.problems != 0)
				TH_LOG("cut at %zu: %s", cut, reading.reasons);
			EXPECT_EQ(reading.read.problems != 0, reading.read.truncated);
			EXPECT_EQ(check.instructions, reading.read.instructions);
			reading_free(&reading);
			close(fd);
		}
		output_free(&whole);
	}
}

/* Its opcode stood after comments: one that is lost as a whole is told, too. */
TEST(a_trace_without_its_last_opcode_is_told)
{
	static const struct told told[] = {
		MODE(A64, 1), IS(a64, true, 0x3000), IS(nop, false, 0), GAP(OVERFLOW), GAP(START),
	};
	const struct flowtap_stf_options options = { .generator = 0xff };
	struct flowtap_check check = { .problems = 0 };
	struct output stf = output_new();
	struct flowtap_stf *writer;
	struct reading reading;

	ASSERT_EQ(0, flowtap_stf_new(stf.fd, &options, &writer));
	ASSERT_EQ(0, feed(writer, told, sizeof(told) / sizeof(told[0])));
	flowtap_stf_free(writer);
	output_read(&stf);
	ASSERT_EQ(0, ftruncate(stf.fd, (off_t)stf.size - 5));
	ASSERT_EQ(0, flowtap_check_file(&check, stf.fd));
	EXPECT_EQ(1, check.problems);
	read_file(&reading, stf.fd, NULL);
	EXPECT_EQ(1, reading.read.problems);
	EXPECT_TRUE(reading.read.truncated);
	EXPECT_TRUE(strstr((const char *)reading.text.bytes, "gap start"));
	reading_free(&reading);
	output_free(&stf);
}

/* What a comment claims, and zeros without end. */
TEST(sparse_files_take_no_memory_and_end_where_there_is_no_record)
{
	const uint8_t comment[] = { 0x03, 0, 0, 0, 0x08 };
	struct output whole = make_trace(false, 12, NULL);
	struct reading reading;

	ASSERT_EQ(0, ftruncate(whole.fd, 10LL << 30));
	read_file(&reading, whole.fd, NULL);
	EXPECT_EQ(0, reading.status);
	EXPECT_EQ(1, reading.read.problems);
	EXPECT_EQ(whole.size, reading.first_offset);
	EXPECT_NE(NULL, strstr(reading.reasons, "descriptor 0 is reserved"));
	EXPECT_NE(NULL, strstr((const char *)reading.text.bytes, "gap bad_record"));
	reading_free(&reading);
	ASSERT_EQ(sizeof(comment), pwrite(whole.fd, comment, sizeof(comment), whole.size));
	read_file(&reading, whole.fd, NULL);
	EXPECT_EQ(0, reading.status);
	EXPECT_EQ(whole.size + sizeof(comment) + (8U << 24), reading.first_offset);
	reading_free(&reading);
	output_free(&whole);
}

TEST(a_damaged_chunk_is_a_gap_and_the_others_are_read)
{
	const struct flowtap_zstf_options options = { .markers = 100, .level = 1 };

	for (int arm = 0; arm < 2; arm++) {
		struct output whole = make_trace(arm, 800, &options);
		struct reading before, reading;
		uint8_t *damaged = malloc(whole.size);

		read_file(&before, whole.fd, NULL);
		EXPECT_EQ(0, before.read.problems);
		for (unsigned int i = 1; i < 20; i++) {
			size_t at = 20 + (whole.size * 3 / 4 - 20) * i / 20;

			memcpy(damaged, whole.bytes, whole.size);
			damaged[at] ^= 0x55;
			read_bytes(&reading, damaged, whole.size);
			EXPECT_EQ(0, reading.status);
			EXPECT_LT(0, reading.read.problems);
			EXPECT_LE(reading.first_offset, whole.size);
			/* The header may be lost, and then all is. */
			if (i == 1) {
				reading_free(&reading);
				continue;
			}
			EXPECT_LT(reading.read.instructions, before.read.instructions);
			EXPECT_LE(before.read.instructions, reading.read.instructions + 200)
				TH_LOG("damaged at %zu: %s", at, reading.reasons);
			EXPECT_NE(NULL, strstr((const char *)reading.text.bytes, "gap bad_record"));
			reading_free(&reading);
		}
		free(damaged);
		reading_free(&before);
		output_free(&whole);
	}
}

TEST(a_cut_gzip_stream_is_read_as_far_as_it_goes)
{
	struct output whole = make_trace(false, 400, NULL), packed;
	struct reading reading, before;

	read_file(&before, whole.fd, NULL);
	packed = (struct output){ .fd = pack(whole.fd, 1U << 20) };
	output_read(&packed);
	read_bytes(&reading, packed.bytes, packed.size / 2);
	EXPECT_EQ(0, reading.status);
	EXPECT_TRUE(reading.read.truncated);
	EXPECT_NE(NULL, strstr(reading.reasons, "ends within its gzip stream"));
	EXPECT_EQ(packed.size / 2, reading.first_offset);
	EXPECT_LT(100, reading.read.instructions);
	EXPECT_LT(reading.read.instructions, before.read.instructions);
	reading_free(&reading);
	reading_free(&before);
	output_free(&packed);
	output_free(&whole);
}

/* By the index, with as much before it as says who executes it; Arm's from the beginning. */
TEST(a_part_is_the_same_however_it_is_packed)
{
	static const uint64_t counts[] = { 0, 1, 6 };
	unsigned int parts = 0;

	for (unsigned int round = 0; round < 12; round++) {
		const struct flowtap_zstf_options zstf = { .markers = 3 + 2 * round };
		struct output plain = made_stf(round, round % 4 == 3, 80, NULL);
		struct output packed = made_stf(round, round % 4 == 3, 80, &zstf);
		struct reading whole, one, other;

		read_file(&whole, plain.fd, NULL);
		ASSERT_LT(100, whole.read.instructions);
		for (uint64_t skip = 1; skip < whole.read.instructions + 9; skip++) {
			uint64_t count = counts[skip % 3];

			read_part(&one, plain.fd, NULL, skip, count);
			read_part(&other, packed.fd, NULL, skip, count);
			EXPECT_EQ(0, one.status);
			EXPECT_EQ(0, other.status);
			EXPECT_EQ(0, other.read.problems) TH_LOG("%s", other.reasons);
			EXPECT_EQ(one.read.instructions, other.read.instructions);
			EXPECT_EQ(one.text.size, other.text.size);
			EXPECT_EQ(-1, output_differs(&one.text, other.text.bytes, other.text.size))
				TH_LOG("round %u, %llu passed over:\n%.*s\n%.*s", round,
				       (unsigned long long)skip, (int)one.text.size, one.text.bytes,
				       (int)other.text.size, other.text.bytes);
			parts += one.text.size > 0;
			reading_free(&one);
			reading_free(&other);
		}
		reading_free(&whole);
		output_free(&packed);
		output_free(&plain);
	}
	EXPECT_LT(1000, parts);
}

TEST_HARNESS_MAIN
