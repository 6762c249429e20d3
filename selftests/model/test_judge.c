// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where in the log a decoder began, where a loop was executed: at several places the same fits. And
 * that it has to begin.
 */
#include <stdio.h>
#include <unistd.h>

#include "history.h"
#include "judge.h"
#include "log.h"
#include "pe.h"
#include "support/kselftest_harness.h"

#define CODE	0x40000
#define LENGTH	3	/* instructions of the loop, the last of which branches to the first */
#define BEFORE	4	/* times it was executed before the A-sync, of which one is undecided there */
#define AFTER	150
#define SECOND	40	/* where in the stream the A-sync after the loop is */

FIXTURE(loop)
{
	char directory[32];
	char prefix[40];
	struct history history;
	struct judge judge;
};

static void execute(struct log *log, uint32_t code, unsigned int n, bool ends)
{
	struct pe_block block = { .address = CODE, .n = LENGTH, .branch = PE_DIRECT, .taken = true,
				  .conditional = true, .next = CODE, .code = code };

	for (unsigned int i = 0; i < n; i++) {
		block.taken = !ends || i + 1 < n;
		log_block(log, &block);
	}
}

FIXTURE_SETUP(loop)
{
	/* NOP, NOP, B.NE to the first; NOP, NOP, B to itself */
	static const uint32_t opcodes[2 * LENGTH] = { 0xd503201f, 0xd503201f, 0x54ffffc1,
						      0xd503201f, 0xd503201f, 0x14000000 };
	static const struct flowtap_ete_config config;
	struct log_set *set;
	struct log log;
	uint32_t code;

	memset(self, 0, sizeof(*self));
	strcpy(self->directory, "/tmp/test_judge.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->directory));
	snprintf(self->prefix, sizeof(self->prefix), "%s/log", self->directory);
	set = log_open(self->prefix);
	ASSERT_NE(NULL, set);
	code = log_code(set, CODE, opcodes, 2 * LENGTH);
	ASSERT_EQ(0, log_init(&log, set, 0));
	LOG(&log, LOG_TRACING, LOG_TRACED, 1, 0);
	execute(&log, code, BEFORE, false);
	LOG(&log, LOG_SYNC, 0);
	execute(&log, code, AFTER, true);
	LOG(&log, LOG_SYNC, SECOND);
	log_block(&log, &(struct pe_block){ .address = CODE + 4 * LENGTH, .n = LENGTH, .code = code,
					    .branch = PE_DIRECT, .taken = true, .first = LENGTH,
					    .next = CODE + 4 * LENGTH });
	LOG(&log, LOG_TRACING, LOG_DISABLED, 0, 0);
	log_finish(&log);
	ASSERT_EQ(0, log_close(set));
	ASSERT_EQ(0, history_read(&self->history, self->prefix, 0, &config));
	ASSERT_EQ(2, self->history.nsyncs);
	judge_init(&self->judge, &self->history, "a test");
	judge_break(&self->judge, true);
	judge_hint(&self->judge, 0);
	judge_context(&self->judge, &(struct judge_context){ .nonsecure = true, .aarch64 = true });
}

FIXTURE_TEARDOWN(loop)
{
	static const char *const suffixes[] = { "code", "report", "0" };
	char path[64];

	history_free(&self->history);
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s.%s", self->prefix, suffixes[i]);
		unlink(path);
	}
	rmdir(self->directory);
}

/* A decoder says that the loop was executed n times, and what follows it. */
static void decode(struct judge *judge, unsigned int n)
{
	for (unsigned int i = 1; i <= n; i++)
		judge_instructions(judge, CODE, LENGTH, i < n ? JUDGE_TAKEN : JUDGE_NOT_TAKEN, CODE);
	judge_instructions(judge, CODE + 4 * LENGTH, LENGTH, JUDGE_TAKEN, CODE + 4 * LENGTH);
}

TEST_F(loop, a_decoder_that_begins_at_the_sync_is_right)
{
	decode(&self->judge, AFTER);
	judge_end(&self->judge, true);
	EXPECT_FALSE(self->judge.failed) {
		TH_LOG("%s", self->judge.message);
	}
	EXPECT_EQ(LENGTH * (AFTER + 1), self->judge.counts.instructions);
}

/* The element before the A-sync's may have its address after it. */
TEST_F(loop, so_is_one_that_begins_an_element_before)
{
	decode(&self->judge, AFTER + 1);
	judge_end(&self->judge, true);
	EXPECT_FALSE(self->judge.failed);
}

TEST_F(loop, one_that_goes_round_too_often_is_wrong)
{
	decode(&self->judge, AFTER + BEFORE + 1);
	judge_end(&self->judge, true);
	EXPECT_NE(NULL, strstr(self->judge.message, "is decoded as taken")) {
		TH_LOG("%s", self->judge.message);
	}
}

TEST_F(loop, one_that_leaves_it_for_elsewhere_is_wrong)
{
	for (unsigned int i = 0; i < AFTER; i++)
		judge_instructions(&self->judge, CODE, LENGTH, JUDGE_TAKEN, CODE);
	judge_instructions(&self->judge, CODE, LENGTH, JUDGE_TAKEN, CODE + 4);
	judge_end(&self->judge, true);
	EXPECT_NE(NULL, strstr(self->judge.message, "is decoded as taken")) {
		TH_LOG("%s", self->judge.message);
	}
}

/* The loss before the A-sync is no reason for that. */
TEST_F(loop, one_that_says_nothing_until_the_end_is_wrong)
{
	judge_end(&self->judge, true);
	EXPECT_NE(NULL, strstr(self->judge.message, "nothing is decoded after the A-sync at 0")) {
		TH_LOG("%s", self->judge.message);
	}
}

TEST_F(loop, so_is_one_that_says_nothing_until_bytes_are_missing_again)
{
	judge_hint(&self->judge, 1);
	judge_break(&self->judge, true);
	EXPECT_NE(NULL, strstr(self->judge.message, "nothing is decoded after the A-sync at 0")) {
		TH_LOG("%s", self->judge.message);
	}
}

/* Where no other A-sync came all that was executed may have been what is missing. */
TEST_F(loop, one_may_say_nothing_where_all_may_be_lost)
{
	judge_break(&self->judge, true);
	judge_hint(&self->judge, 1);
	judge_end(&self->judge, true);
	EXPECT_FALSE(self->judge.failed) {
		TH_LOG("%s", self->judge.message);
	}
}

TEST_HARNESS_MAIN
