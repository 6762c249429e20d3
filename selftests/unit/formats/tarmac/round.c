// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that Tarmac, of each dialect, that the writer made of a flow is read back as this flow, as
 * far as the format can hold it; and that QEMU4V's instructions come back.
 *
 * FLOWTAP_SEED and TARMAC_ROUNDS set what is tried.
 */
#include "support/kselftest_harness.h"
#include "support/madeflow.h"
#include "support/read_text.h"

#include <ctype.h>
#include <errno.h>

#define ROUNDS 30

/* Two sinks after one. */
struct both {
	struct flowtap_sink sink;
	struct flowtap_sink *first, *second;
};

static int both_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
		      uint64_t target)
{
	struct both *both = (struct both *)sink;
	int error;

	/* Nor is it said whether such a branch of RISC-V's was taken, where a gap is next. */
	if (block->isa == FLOWTAP_ISA_RV64 && block->conditional && block->direct &&
	    block->target == block->address + block->size)
		taken = false;
	error = both->first->block(both->first, block, taken, target);
	return error ? error : both->second->block(both->second, block, taken, target);
}

static int both_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	struct both *both = (struct both *)sink;
	struct flowtap_element copy = *element;
	int error;

	/* Calls are after one only, and faults are not: the made flow does not heed that. */
	if (copy.kind == FLOWTAP_ELEMENT_EXCEPTION &&
	    (copy.exception.number == 2 || copy.exception.number == 11))
		copy.exception.number++;
	error = both->first->element(both->first, &copy);
	return error ? error : both->second->element(both->second, &copy);
}

/* Not said: a branch that leads to what is after it; not always one of Arm's into a gap. */
static void forget_branch(const char *lines, char *to, const char *next)
{
	unsigned long long start, end;
	char *line = to;

	if (to - lines < 8 || memcmp(to - 3, " N\n", 3))
		return;
	do
		line--;
	while (line > lines && line[-1] != '\n');
	if (sscanf(next, "range %llx", &start) != 1 ? memcmp(to - 7, "RV64", 4) != 0 :
	    sscanf(line, "range %*x %llx", &end) == 1 && start == end)
		to[-2] = 'E';
}

/* Without what is after this word. */
static char *cut(char *line, char *end, const char *word)
{
	char *at = memmem(line, end - line, word, strlen(word));

	if (!at)
		return end;
	*at = '\n';
	return at + 1;
}

/* Number and address, at "exception "; its end. */
static bool has_dashes;

static char *normal_exception(char *line, char *end)
{
	char *address = memchr(line + 10, ' ', end - line - 10);

	if (has_dashes && !strncmp(line, "exception 11 ", 13))
		memcpy(line + 10, "-1", 2);
	return address ? cut(address + 1, end, " ") : end;
}

/*
 * As much as Tarmac holds: contexts stand before instructions, without the CPU, which is the
 * file's, and A32 and T32 are told by instructions only; there are no sessions; exceptions are a
 * number and an address, and with a line of dashes no number is as good as 11, an instruction's fault.
 * That of A32 and T32 is its vector's, and the made flow's handlers stand at any.
 */
static char *normal(const char *text)
{
	char *lines = malloc(2 * strlen(text) + 1), *to = lines, *end;
	char context[300] = "", told[300] = "";

	for (size_t size; *text; text += size) {
		size = strcspn(text, "\n") + 1;
		if (!strncmp(text, "session", 7)) {
			forget_branch(lines, to, "");
			continue;
		}
		if (!strncmp(text, "context", 7)) {
			snprintf(context, sizeof(context), "%.*s", (int)size, text);
			if (!strncmp(context + 8, "T32", 3))
				memcpy(context + 8, "A32", 3);
			end = cut(context, context + size, " cpu=");
			*end = '\0';
			continue;
		}
		forget_branch(lines, to, text);
		if (!strncmp(text, "range", 5) && strcmp(context, told)) {
			strcpy(told, context);
			to = stpcpy(to, context);
		}
		memcpy(to, text, size);
		to[size] = '\0';
		if (!strncmp(to, "exception ", 10) && !strncmp(context, "context A32", 11))
			to = stpcpy(to, "exception\n");
		else if (!strncmp(to, "exception ", 10))
			to = normal_exception(to, to + size);
		else
			to += size;
	}
	forget_branch(lines, to, "");
	*to = '\0';
	return lines;
}

/* Ranges that go on where the one before ended are one. */
static char *instructions(const char *text)
{
	unsigned long long start, end, last_start = 1, last_end = 0;
	char *lines = malloc(2 * strlen(text) + 64), *to = lines;

	for (*to = '\0'; *text; text += strcspn(text, "\n") + 1) {
		if (sscanf(text, "range %llx %llx", &start, &end) != 2)
			continue;
		if (start == last_end) {
			last_end = end;
			continue;
		}
		if (last_end)
			to += sprintf(to, "%llx %llx\n", last_start, last_end);
		last_start = start;
		last_end = end;
	}
	sprintf(to, "%llx %llx\n", last_start, last_end);
	return lines;
}

static uint64_t number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

FIXTURE(round)
{
	uint64_t seed;
	unsigned int rounds;
};

FIXTURE_VARIANT(round)
{
	int dialect;
	bool arm;
};

FIXTURE_VARIANT_ADD(round, es_arm) { FLOWTAP_TARMAC_ES, true };
FIXTURE_VARIANT_ADD(round, es_riscv) { FLOWTAP_TARMAC_ES, false };
FIXTURE_VARIANT_ADD(round, fvp_arm) { FLOWTAP_TARMAC_FVP, true };
FIXTURE_VARIANT_ADD(round, fvp_riscv) { FLOWTAP_TARMAC_FVP, false };
FIXTURE_VARIANT_ADD(round, strict_arm) { FLOWTAP_TARMAC_STRICT, true };
FIXTURE_VARIANT_ADD(round, strict_riscv) { FLOWTAP_TARMAC_STRICT, false };

FIXTURE_SETUP(round)
{
	self->seed = number("FLOWTAP_SEED", 1);
	self->rounds = (unsigned int)number("TARMAC_ROUNDS", ROUNDS);
	TH_LOG("FLOWTAP_SEED=%llu", (unsigned long long)self->seed);
	has_dashes = variant->dialect != FLOWTAP_TARMAC_FVP;
}

FIXTURE_TEARDOWN(round)
{
}

/* A format that has been written, or is to be: one of the two. */
struct trip {
	struct output output;
	struct flowtap_tarmac *tarmac;
	struct flowtap_qemu4v *qemu4v;
};

static int trip_finish(const struct trip *trip)
{
	int error = trip->tarmac ? flowtap_tarmac_finish(trip->tarmac) :
				   flowtap_qemu4v_finish(trip->qemu4v);

	flowtap_tarmac_free(trip->tarmac);
	flowtap_qemu4v_free(trip->qemu4v);
	lseek(trip->output.fd, 0, SEEK_SET);
	return error;
}

/* Writes the flow of that seed, reads it, and compares what comes back. */
static void go(struct __test_metadata *_metadata, struct trip *trip, uint64_t seed, bool arm)
{
	struct flowtap_sink *sink = trip->tarmac ? flowtap_tarmac_sink(trip->tarmac) :
						   flowtap_qemu4v_sink(trip->qemu4v);
	char *(*const held)(const char *) = trip->tarmac ? normal : instructions;
	int (*const reader)(struct flowtap_read *, int) = trip->tarmac ? flowtap_tarmac_read :
									 flowtap_qemu4v_read;
	struct madeflow *made = malloc(sizeof(*made));
	struct output text = output_new();
	struct flowtap_text *lines;
	struct text_read read;
	struct both both;
	char *want, *got, *differs;

	ASSERT_EQ(0, flowtap_text_new(text.fd, NULL, &lines));
	both = (struct both){ { both_block, both_element }, sink, flowtap_text_sink(lines) };
	made_begin(made, seed, arm, &both.sink);
	ASSERT_EQ(0, made_run(made, 300));
	ASSERT_EQ(0, trip_finish(trip));
	ASSERT_EQ(0, flowtap_text_finish(lines));
	output_read(&text);
	flowtap_text_free(lines);
	text_read_fd(&read, reader, trip->output.fd);
	EXPECT_EQ(0, read.status);
	EXPECT_STREQ("", read.problems);
	EXPECT_EQ(made->instructions, read.read.instructions);
	want = held((char *)text.bytes);
	got = held((char *)read.output.bytes);
	differs = made_differs(want, got);
	EXPECT_EQ(NULL, differs) {
		TH_LOG("seed %llu: %s", (unsigned long long)seed, differs);
	}
	free(differs);
	free(want);
	free(got);
	text_read_done(&read);
	made_end(made);
	free(made);
	output_free(&trip->output);
	output_free(&text);
}

TEST_F(round, a_flow_comes_back_as_it_was)
{
	const struct flowtap_tarmac_options options = {
		.dialect = variant->dialect, .riscv = !variant->arm,
	};

	for (unsigned int i = 0; i < self->rounds; i++) {
		struct trip trip = { .output = output_new() };

		ASSERT_EQ(0, flowtap_tarmac_new(trip.output.fd, &options, &trip.tarmac));
		go(_metadata, &trip, self->seed * 1000003 + i, variant->arm);
	}
}

TEST(qemu4v_s_instructions_come_back)
{
	uint64_t seed = number("FLOWTAP_SEED", 1) * 1000003;

	for (unsigned int i = 0; i < number("TARMAC_ROUNDS", ROUNDS); i++) {
		const struct flowtap_qemu4v_options options = {
			.cpu_names = i & 2, .modes = (seed + i) & 1,
		};
		struct trip trip = { .output = output_new() };

		ASSERT_EQ(0, flowtap_qemu4v_new(trip.output.fd, &options, &trip.qemu4v));
		go(_metadata, &trip, seed + i, i & 1);
	}
}

TEST_HARNESS_MAIN
