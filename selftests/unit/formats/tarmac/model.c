// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that the log of Arm's model and the ETE trace of the same run (the public corpus has both)
 * tell the same: what one reader makes of the log is what the decoder makes of the trace.
 */
#include "support/kselftest_harness.h"
#include "support/read_text.h"

#define NAME "002-ack_test_scr"
#define DIRECTORY "../shared/corpus/ete/" NAME

/* One executed instruction, or an exception by its return address. */
struct step {
	uint64_t address;
	bool exception;
	bool begins;		/* the first one after trace_on */
};

struct steps {
	struct step *at;
	size_t n, capacity;
	bool begins;
};

static void append(struct steps *steps, uint64_t address, bool exception)
{
	if (steps->n == steps->capacity) {
		steps->capacity = steps->capacity ? 2 * steps->capacity : 4096;
		steps->at = realloc(steps->at, steps->capacity * sizeof(steps->at[0]));
		if (!steps->at)
			abort();
	}
	steps->at[steps->n++] = (struct step){ address, exception, steps->begins };
	steps->begins = false;
}

/* Lines of the flow, of one CPU; a gap ends it. */
static void take_lines(struct steps *steps, char *lines, size_t *gaps)
{
	unsigned long long start, end;
	bool ours = true;
	char *save, *cpu;

	for (char *line = strtok_r(lines, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		cpu = strstr(line, "cpu=");
		if (!strncmp(line, "context", 7))
			ours = !cpu || cpu[4] == '0';
		if (!ours)
			continue;
		if (sscanf(line, "range %llx %llx", &start, &end) == 2)
			for (; start < end; start += 4)
				append(steps, start, false);
		else if (sscanf(line, "exception %*d %llx", &start) == 1)
			append(steps, start, true);
		steps->begins |= !strcmp(line, "trace_on");
		*gaps += !strncmp(line, "gap", 3);
	}
}

static char *whole_file(const char *path)
{
	FILE *file = fopen(path, "r");
	char *bytes = calloc(1, 4U << 20);

	if (!file || !bytes || !fread(bytes, 1, (4U << 20) - 1, file))
		abort();
	fclose(file);
	return bytes;
}

/* How many steps of the trace from `from` on are in the log from `at` on. */
static size_t common(const struct steps *log, size_t at, const struct steps *trace, size_t from)
{
	size_t n = 0;

	while (from + n < trace->n && at + n < log->n && (!n || !trace->at[from + n].begins) &&
	       log->at[at + n].address == trace->at[from + n].address &&
	       log->at[at + n].exception == trace->at[from + n].exception)
		n++;
	return n;
}

static size_t region(const struct steps *trace, size_t from)
{
	size_t n = 1;

	while (from + n < trace->n && !trace->at[from + n].begins)
		n++;
	return n;
}

TEST(the_log_of_a_model_and_its_ete_trace_tell_the_same)
{
	size_t log_gaps = 0, trace_gaps = 0, at = 0, exceptions = 0, regions = 0;
	struct steps log = { 0 }, trace = { 0 };
	struct text_read text;
	char *expected;
	int fd = open(DIRECTORY "/test_TARMAC.gz", O_RDONLY);

	if (fd < 0)
		SKIP(return, "no " DIRECTORY);
	text_read_fd(&text, flowtap_tarmac_read, fd);
	close(fd);
	EXPECT_EQ(0, text.status);
	EXPECT_STREQ("", text.problems);
	/* IT and IS lines, by zgrep -c. */
	EXPECT_EQ(28008, text.read.instructions);
	take_lines(&log, (char *)text.output.bytes, &log_gaps);
	EXPECT_EQ(0, log_gaps);
	/* That is what the decoder makes of the trace: unit/ete/corpus. */
	expected = whole_file(DIRECTORY "/expected.txt");
	take_lines(&trace, expected, &trace_gaps);
	EXPECT_EQ(0, trace_gaps);
	ASSERT_GT(trace.n, 5000);
	/* Some levels were not traced: region by region, each whole and after the one before. */
	for (size_t from = 0; from < trace.n; regions++) {
		size_t n = region(&trace, from);

		while (at < log.n && common(&log, at, &trace, from) < n)
			at++;
		ASSERT_LT(at, log.n) {
			TH_LOG("step %zu of the trace, %zu steps, is not in the log", from, n);
		}
		at += n;
		from += n;
	}
	for (size_t i = 0; i < trace.n; i++)
		exceptions += trace.at[i].exception;
	ksft_print_msg("%zu instructions and exceptions (%zu), in %zu regions, are in the log\n",
		       trace.n, exceptions, regions);
	EXPECT_EQ(7, exceptions);
	EXPECT_EQ(3, regions);
	free(expected);
	free(log.at);
	free(trace.at);
	text_read_done(&text);
}

TEST_HARNESS_MAIN
