// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that an STF that the writer made of a flow is read back as this flow, plain, compressed
 * and packed; and so are a part and what others wrote.
 *
 * FLOWTAP_SEED and STF_READ_ROUNDS set what is tried.
 */
#include <errno.h>
#include <fcntl.h>
#include <flowtap/check.h>

#include "support/stf_reading.h"
#include "support/stf_steps.h"

#include "support/kselftest_harness.h"

#define ROUNDS 60

static uint64_t number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
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
		packed = gzip_pack(stf.fd, 1000 + seed % 5000);
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

static const struct flowtap_block eret = {
	.address = 0x1000, .size = 4, .instructions = 1, .isa = FLOWTAP_ISA_A64,
	CODE(WORD(0xd69f03e0)), .end = FLOWTAP_ARM_EXCEPTION_RETURN,
};
static const struct flowtap_block a64 = {
	.address = 0x2000, .size = 4, .instructions = 1, .isa = FLOWTAP_ISA_A64,
	CODE(WORD(0xd65f03c0)), .end = FLOWTAP_ARM_RETURN,
};
static const struct flowtap_block bxeq = {
	.address = 0x1000, .size = 4, .instructions = 1, .isa = FLOWTAP_ISA_A32,
	CODE(WORD(0x012fff1eU)), .end = FLOWTAP_ARM_RETURN, .conditional = true,
};
static const struct flowtap_block bx = {
	.address = 0x2000, .size = 2, .instructions = 1, .isa = FLOWTAP_ISA_T32,
	CODE(0x70, 0x47), .end = FLOWTAP_ARM_RETURN,
};

/* What is read of the flow's STF, as text. */
static void expect_read(struct __test_metadata *_metadata, const struct step *steps, size_t n,
			const char *want)
{
	const struct flowtap_stf_options options = { .generator = 0xff };
	struct output stf = output_new();
	struct flowtap_stf *writer;
	struct reading reading;

	ASSERT_EQ(0, flowtap_stf_new(stf.fd, &options, &writer));
	EXPECT_EQ(0, feed(writer, steps, n));
	flowtap_stf_free(writer);
	read_file(&reading, stf.fd, NULL);
	EXPECT_EQ(0, reading.status);
	EXPECT_STREQ("", reading.reasons);
	EXPECT_STREQ(want, (const char *)reading.text.bytes);
	reading_free(&reading);
	output_free(&stf);
}

#define EXPECT_READ(steps, want) \
	expect_read(_metadata, steps, sizeof(steps) / sizeof((steps)[0]), want)

TEST(an_arm_branch_to_nobody_knows_where_was_taken_whatever_comes_after_it)
{
	static const struct step steps[] = {
		MODE(A32, 0), IS(bxeq, false, 0x1004), GAP(OVERFLOW),
		IS(bxeq, true, 0), GAP(OVERFLOW),
		IS(bx, true, 0), ELEMENT(TRACE_ON),
		IS(bxeq, true, 0), GAP(NO_ADDRESS),
		IS(bxeq, false, 0x1004), GAP(OVERFLOW),
		IS(bxeq, true, 0),
	};

	EXPECT_READ(steps,
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
	static const struct step steps[] = {
		MODE(A64, 2), IS(eret, true, 0x2000), ELEMENT(EXCEPTION_RETURN),
		ELEMENT(EVENT, .event = 5), MODE(A64, 1), IS(a64, true, 0x1000),
	};

	EXPECT_READ(steps,
		    "context A64 EL2 nonsecure 64\n"
		    "range 1000 1004 1 A64 E\neret\nevent 5\n"
		    "context A64 EL1 nonsecure 64\n"
		    "range 2000 2004 1 A64 E\n");
}

/* Be it by a branch, or by an exception at the same level. */
TEST(of_t32_instead_of_a32_no_context_is_read)
{
	static const struct step steps[] = {
		MODE(A32, 1), IS(bxeq, true, 0x2000), IS(bx, true, 0x1000),
		ELEMENT(EXCEPTION, .exception = { .number = 10, .address = 0x1000 }),
		IS(bx, true, 0x1000), IS(bxeq, true, 0x2000), GAP(OVERFLOW), MODE(A32, 1),
		IS(bxeq, true, 0x2000), ELEMENT(EVENT, .event = 5), MODE(T32, 1), GAP(OVERFLOW),
		IS(bx, true, 0x1000),
	};

	EXPECT_READ(steps,
		    "context A32 EL1 nonsecure 32\n"
		    "range 1000 1004 1 A32 E\nrange 2000 2002 1 T32 E\n"
		    "exception 10 1000\n"
		    "range 2000 2002 1 T32 E\nrange 1000 1004 1 A32 E\ngap overflow size=unknown\n"
		    "range 1000 1004 1 A32 E\nevent 5\ngap overflow size=unknown\n"
		    "range 2000 2002 1 T32 E\n");
}

TEST(what_comes_after_the_last_instruction_is_read_after_it)
{
	static const struct step steps[] = {
		MODE(A64, 1),
		IS(a64, true, 0x1000),
		IS(eret, true, 0x2000),
		ELEMENT(EVENT, .event = 5),
		GAP(OVERFLOW),
		MODE(A64, 2),
		GAP(START),
	};

	EXPECT_READ(steps, "context A64 EL1 nonsecure 64\n"
			  "range 2000 2004 1 A64 E\nrange 1000 1004 1 A64 E\neret\n"
			  "event 5\ngap overflow size=unknown\n"
			  "context A64 EL2 nonsecure 64\ngap start size=unknown\n");
}

/* More than the writer holds, or the reader: they stand where they come, and nothing is lost. */
TEST(no_number_of_gaps_after_the_last_instruction_is_too_many)
{
	enum { GAPS = 20000 };
	static struct step steps[GAPS + 2] = { MODE(A64, 1), IS(a64, true, 0x1000) };
	static const char begin[] = "context A64 EL1 nonsecure 64\nrange 2000 2004 1 A64 E\n",
			  line[] = "gap overflow size=unknown\n";
	char *want = malloc(sizeof(begin) + GAPS * sizeof(line)), *to = want;

	ASSERT_NE(NULL, want);
	to = stpcpy(to, begin);
	for (int i = 0; i < GAPS; i++) {
		steps[i + 2] = (struct step)GAP(OVERFLOW);
		to = stpcpy(to, line);
	}
	EXPECT_READ(steps, want);
	free(want);
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
