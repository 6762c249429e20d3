// SPDX-License-Identifier: GPL-2.0-only
/* Shows that the STF checker reads traces of others and by hand, whole, cut, damaged and packed. */
#include "stfcheck/sample.h"
#include "stfcheck/stfcheck.h"
#include "support/words.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "support/kselftest_harness.h"

#define CORPUS "../shared/corpus/stf/"

static bool there(const char *path)
{
	return !access(path, R_OK);
}

/* minimal20.layout.txt in numbers. */
struct layout {
	struct {
		unsigned long offset;
		unsigned int size;
		char name[32];
	} records[64];
	struct {
		unsigned long pc;
		unsigned int opcode;
	} insns[32];
	unsigned int n_records, n_insns, read_records, read_insns, wrong;
};

static void read_layout(struct layout *layout, const char *path)
{
	FILE *file = fopen(path, "r");
	char line[256], *at;
	unsigned int n;

	memset(layout, 0, sizeof(*layout));
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx +%u", &layout->records[layout->n_records].offset,
			   &layout->records[layout->n_records].size) == 2)
			continue;
		sscanf(line, " STF_%31s", layout->records[layout->n_records++].name);
		at = strchr(line, '@');
		if (at && strchr(line, '#')) {
			sscanf(at, "@%lx", &layout->insns[layout->n_insns].pc);
			sscanf(line, " STF_INST_%u %x", &n,
			       &layout->insns[layout->n_insns++].opcode);
		}
	}
	if (file)
		fclose(file);
}

static void compare_record(void *argument, uint64_t offset, uint8_t descriptor,
			   const uint8_t *payload, size_t size)
{
	struct layout *layout = argument;
	unsigned int n = layout->read_records++;

	(void)payload;
	if (n >= layout->n_records || layout->records[n].offset != offset ||
	    layout->records[n].size != size + 1 ||
	    strcmp(layout->records[n].name, stfcheck_name(descriptor)))
		layout->wrong++;
}

static int compare_insn(void *argument, const struct stfcheck_insn *insn)
{
	struct layout *layout = argument;
	unsigned int n = layout->read_insns++;

	if (n >= layout->n_insns || layout->insns[n].pc != insn->pc ||
	    layout->insns[n].opcode != insn->opcode)
		layout->wrong++;
	return 0;
}

TEST(reads_minimal20_as_its_layout_says)
{
	static struct layout layout;
	struct stfcheck check = { .insn = compare_insn, .record = compare_record,
				  .argument = &layout };
	uint8_t *bytes;
	size_t size;

	if (!there(CORPUS "minimal20.stf"))
		SKIP(return, CORPUS " is not there");
	read_layout(&layout, CORPUS "minimal20.layout.txt");
	ASSERT_EQ(20, layout.n_insns);
	ASSERT_EQ(0, stfcheck_load(CORPUS "minimal20.stf", &bytes, &size));
	EXPECT_EQ(0, stfcheck_run(&check, bytes, size));
	EXPECT_STREQ("", check.reason);
	EXPECT_EQ(size, check.offset);
	EXPECT_EQ(layout.n_records, layout.read_records);
	EXPECT_EQ(20, layout.read_insns);
	EXPECT_EQ(0, layout.wrong);
	EXPECT_EQ(20, check.counts.instructions);
	EXPECT_EQ(12, check.counts.modes[0]);
	EXPECT_EQ(8, check.counts.modes[1]);
	EXPECT_EQ(4, check.counts.taken);
	EXPECT_EQ(1, check.counts.not_taken);
	EXPECT_EQ(1, check.counts.interrupts);
	EXPECT_EQ(0, check.counts.traps);
	EXPECT_EQ(4, check.counts.mode_changes);
	EXPECT_EQ(0, check.counts.forced);
	free(bytes);
}

TEST(reads_a_bare_metal_trace_of_another_tool)
{
	struct stfcheck check = { 0 };
	uint8_t *bytes;
	size_t size;

	if (!there(CORPUS "bmi_pmp.bare.stf"))
		SKIP(return, CORPUS " is not there");
	ASSERT_EQ(0, stfcheck_load(CORPUS "bmi_pmp.bare.stf", &bytes, &size));
	EXPECT_EQ(0, stfcheck_run(&check, bytes, size));
	EXPECT_STREQ("", check.reason);
	EXPECT_EQ(size, check.offset);
	EXPECT_EQ(36, check.counts.instructions);
	EXPECT_EQ(36, check.counts.records[0x3c]);
	EXPECT_EQ(2, check.counts.taken);
	free(bytes);
}

/* FNV-1a over what was executed. */
static int add_insn(void *argument, const struct stfcheck_insn *insn)
{
	uint64_t *hash = argument;

	*hash = (*hash ^ insn->pc) * 0x100000001b3;
	*hash = (*hash ^ insn->opcode) * 0x100000001b3;
	return 0;
}

/* The same program was traced twice, with and without its memory accesses. */
TEST(reads_the_same_instructions_in_two_compressed_traces_of_one_program)
{
	static const char *const paths[] = { CORPUS "dhrystone.zstf",
					     CORPUS "dhrystone_opt1.zstf" };
	uint64_t hash[2] = { 0 };

	if (!there(paths[0]))
		SKIP(return, CORPUS " is not there");
	for (int i = 0; i < 2; i++) {
		struct stfcheck check = { .insn = add_insn, .argument = &hash[i] };
		int fd = open(paths[i], O_RDONLY | O_CLOEXEC);
		struct stfcheck_file file;

		ASSERT_EQ(0, stfcheck_open(fd, &file));
		close(fd);
		EXPECT_EQ(3, file.chunks);
		EXPECT_EQ(100000, file.markers);
		EXPECT_EQ(0, stfcheck_run_file(&check, &file));
		EXPECT_STREQ("", check.reason);
		EXPECT_STREQ("", file.reason);
		EXPECT_EQ(287020, check.counts.instructions);
		stfcheck_close(&file);
	}
	EXPECT_EQ(hash[0], hash[1]);
}

TEST(reads_every_record_there_is)
{
	struct stfcheck check = { 0 };

	EXPECT_EQ(0, stfcheck_run(&check, sample_all, sizeof(sample_all)));
	EXPECT_STREQ("", check.reason);
	for (int i = 0; i < 256; i++)
		EXPECT_EQ(!!stfcheck_name(i), !!check.counts.records[i]);
	EXPECT_EQ(9, check.counts.instructions);
	EXPECT_EQ(7, check.counts.modes[0]);
	EXPECT_EQ(2, check.counts.modes[1]);
	EXPECT_EQ(3, check.counts.taken);
	EXPECT_EQ(1, check.counts.not_taken);
	EXPECT_EQ(1, check.counts.traps);
	EXPECT_EQ(1, check.counts.interrupts);
	EXPECT_EQ(1, check.counts.forced);
}

TEST(reads_traces_of_arm)
{
	struct stfcheck check = { 0 };

	EXPECT_EQ(0, stfcheck_run(&check, sample_arm, sizeof(sample_arm)));
	EXPECT_STREQ("", check.reason);
	EXPECT_EQ(2, check.isa);
	EXPECT_EQ(3, check.counts.instructions);
}

struct step {
	uint64_t pc;
	uint64_t target;
	uint32_t opcode;
	uint32_t tid;
	bool taken, forced;
};

static const struct step user_steps[] = {
	{ 0x10000, 0, 0x00500513, 100, false, false },
	{ 0x10004, 0x10000, 0xfeb51ee3, 100, true, false },
	{ 0x10000, 0, 0x00500513, 100, false, false },
	{ 0x10004, 0, 0xfeb51ee3, 100, false, false },
	{ 0x10008, 0, 0x00000073, 100, false, false },
	{ 0x1000c, 0, 0x4585, 100, false, true },
	{ 0x20000, 0x1000c, 0x8082, 101, true, true },
	{ 0x1000c, 0, 0x0001, 101, false, false },
};

static int compare_step(void *argument, const struct stfcheck_insn *insn)
{
	const struct step *step = &user_steps[insn->index];
	unsigned int *wrong = argument;

	*wrong += insn->index >= sizeof(user_steps) / sizeof(user_steps[0]) ||
		  insn->pc != step->pc || insn->opcode != step->opcode ||
		  insn->target != step->target || insn->taken != step->taken ||
		  insn->forced != step->forced || insn->tid != step->tid || insn->mode != 0 ||
		  insn->pid != 100;
	return 0;
}

TEST(tells_each_instruction_with_its_place_target_and_thread)
{
	unsigned int wrong = 0;
	struct stfcheck check = { .strict = true, .insn = compare_step, .argument = &wrong };

	EXPECT_EQ(0, stfcheck_run(&check, sample_user, sizeof(sample_user)));
	EXPECT_STREQ("", check.reason);
	EXPECT_EQ(8, check.counts.instructions);
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(2, check.counts.forced);
}

static int stop_at_third(void *argument, const struct stfcheck_insn *insn)
{
	(void)argument;
	return insn->index == 2 ? 7 : 0;
}

TEST(stops_where_its_caller_wants)
{
	struct stfcheck check = { .insn = stop_at_third };

	EXPECT_EQ(7, stfcheck_run(&check, sample_user, sizeof(sample_user)));
	EXPECT_EQ(3, check.counts.instructions);
}

/* In memory of exactly that size, so that a byte read beyond is found. */
static int run_exactly(struct stfcheck *check, const uint8_t *bytes, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);
	int error;

	memcpy(copy, bytes, size);
	error = stfcheck_run(check, size ? copy : copy + 1, size);
	free(copy);
	return error;
}

static void note_boundary(void *argument, uint64_t offset, uint8_t descriptor,
			  const uint8_t *payload, size_t size)
{
	bool *boundaries = argument;
	uint64_t end = offset + 1 + size;

	(void)payload;
	/* A comment is to come before the last one. */
	boundaries[end] = descriptor == 0xf0 || descriptor == 0xf1;
}

TEST(reports_a_trace_cut_anywhere_but_between_instructions)
{
	static bool boundaries[sizeof(sample_user) + 1];
	struct stfcheck whole = { .strict = true, .record = note_boundary,
				  .argument = boundaries };
	unsigned int legal = 0;

	ASSERT_EQ(0, stfcheck_run(&whole, sample_user, sizeof(sample_user)));
	for (size_t size = 0; size < sizeof(sample_user); size++) {
		struct stfcheck check = { .strict = true };
		int error = run_exactly(&check, sample_user, size);

		legal += boundaries[size];
		EXPECT_EQ(boundaries[size] ? 0 : -ENODATA, error)
			TH_LOG("cut at %zu: %s", size, check.reason);
		EXPECT_LE(check.offset, size);
	}
	EXPECT_EQ(7, legal);
}

TEST(survives_every_cut_of_every_record)
{
	unsigned int cut = 0;

	for (size_t size = 0; size < sizeof(sample_all); size++) {
		struct stfcheck check = { 0 };

		cut += run_exactly(&check, sample_all, size) == -ENODATA;
	}
	EXPECT_LT(600, cut);
}

TEST(survives_every_flipped_bit)
{
	uint8_t bytes[sizeof(sample_all)];
	unsigned int found = 0;

	for (size_t bit = 0; bit < 8 * sizeof(bytes); bit++) {
		struct stfcheck check = { .strict = bit & 1 };
		int error;

		memcpy(bytes, sample_all, sizeof(bytes));
		bytes[bit / 8] ^= 1 << bit % 8;
		error = run_exactly(&check, bytes, sizeof(bytes));
		found += error < 0;
		EXPECT_EQ(error < 0, check.reason[0] != '\0');
	}
	EXPECT_LT(1000, found);
}

#define MARKERS 4	/* sample_user has twice as many */
#define ZSTF_SIZE 1024

static int find_half(void *argument, const struct stfcheck_insn *insn)
{
	if (insn->index + 1 == MARKERS)
		memcpy(argument, &insn->offset, sizeof(insn->offset));
	return 0;
}

/* sample_user in two chunks, the second one from 0x10008 on. */
static size_t make_zstf(uint8_t *file)
{
	size_t half, size = 20, first, packed;
	uint64_t offset = 0;
	struct stfcheck check = { .insn = find_half, .argument = &offset };

	stfcheck_run(&check, sample_user, sizeof(sample_user));
	half = offset + 5;
	memcpy(file, "ZSTF", 4);
	packed = ZSTD_compress(file + size, ZSTF_SIZE - size, sample_user, half, 1);
	first = size;
	size += packed;
	packed = ZSTD_compress(file + size, ZSTF_SIZE - size, sample_user + half,
			       sizeof(sample_user) - half, 1);
	put_words(file + 4, (uint64_t[]){ MARKERS, size + packed }, 2);
	put_words(file + size + packed,
		  (uint64_t[]){ 2, first, 0, half, size, 0x10008, sizeof(sample_user) - half }, 7);
	return size + packed + 56;
}

static int open_bytes(const uint8_t *bytes, size_t size, struct stfcheck_file *file)
{
	int fd = memfd_create("zstf", MFD_CLOEXEC), error;

	error = write(fd, bytes, size) == (ssize_t)size ? stfcheck_open(fd, file) : -EIO;
	close(fd);
	return error;
}

/* What comes of a file: 0 or the first error. */
static int check_zstf(const uint8_t *bytes, size_t size)
{
	struct stfcheck check = { .strict = true };
	struct stfcheck_file file;
	int error = open_bytes(bytes, size, &file);

	if (error)
		return error;
	error = stfcheck_run_file(&check, &file);
	if (!error && file.slack)
		error = -EXFULL;
	stfcheck_close(&file);
	return error;
}

TEST(unpacks_chunks)
{
	uint8_t bytes[ZSTF_SIZE];
	size_t size = make_zstf(bytes);
	struct stfcheck check = { .strict = true };
	struct stfcheck_file file;

	ASSERT_EQ(0, open_bytes(bytes, size, &file));
	ASSERT_EQ(sizeof(sample_user), file.size);
	EXPECT_EQ(0, memcmp(file.bytes, sample_user, file.size));
	EXPECT_EQ(2, file.chunks);
	EXPECT_EQ(0, file.slack);
	EXPECT_EQ(0, stfcheck_run_file(&check, &file));
	EXPECT_EQ(8, check.counts.instructions);
	EXPECT_STREQ("", file.reason);
	stfcheck_close(&file);
	ASSERT_EQ(0, open_bytes(bytes, 19, &file));	/* no ZSTF: whatever it is */
	EXPECT_EQ(19, file.size);
	stfcheck_close(&file);
}

TEST(refuses_chunks_that_are_damaged_cut_or_elsewhere)
{
	uint8_t bytes[ZSTF_SIZE], damaged[ZSTF_SIZE];
	size_t size = make_zstf(bytes), silent = 0;

	for (size_t cut = 20; cut < size; cut++)
		EXPECT_EQ(-EBADMSG, check_zstf(bytes, cut));
	for (size_t bit = 8 * 4; bit < 8 * size; bit++) {
		memcpy(damaged, bytes, size);
		damaged[bit / 8] ^= 1 << bit % 8;
		silent += !check_zstf(damaged, size);
	}
	/* These frames have no checksum: data bits can change that no rule is about. */
	EXPECT_LT(silent, 8 * size / 4);
	for (size_t at = size - 56; at < size; at++) {
		memcpy(damaged, bytes, size);
		damaged[at] ^= 1;
		EXPECT_GT(0, check_zstf(damaged, size)) TH_LOG("byte %zu of the index", at);
	}
	for (size_t at = 4; at < 20; at++) {
		memcpy(damaged, bytes, size);
		damaged[at] ^= 1;
		EXPECT_GT(0, check_zstf(damaged, size)) TH_LOG("byte %zu", at);
	}
}

TEST_HARNESS_MAIN
