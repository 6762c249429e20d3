// SPDX-License-Identifier: GPL-2.0-only
/* Shows that a profile counts what its flow has, and hands everything on as it came. */
#include <errno.h>
#include <fcntl.h>
#include <flowtap/profile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/kselftest_harness.h"
#include "support/sink.h"
#include "support/tinyelf.h"

#define AT	0x40000000ULL		/* where process 7 has the file's code */
#define OTHER	0x50000000ULL		/* and where process 8 has it */

FIXTURE(profile)
{
	char root[64];
	struct flowtap_address_map *map;
	struct flowtap_blocks *blocks;
	struct flowtap_profile profile;
	struct flowtap_sink next;	/* what the flow goes to */
};

static uint64_t blocks_passed, elements_passed;

static int pass_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
		      uint64_t target)
{
	(void)sink;
	(void)block;
	blocks_passed++;
	return taken && target == 99 ? -EPIPE : 0;
}

static int pass_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	(void)sink;
	(void)element;
	elements_passed++;
	return 0;
}

/* Two instructions of 4 bytes each, whatever they are. */
static int two_instructions(struct flowtap_block *block, const uint8_t *bytes, size_t available)
{
	(void)bytes;
	block->size = 8;
	block->last = 4;
	block->instructions = 2;
	return available < 8 ? -ENODATA : 0;
}

static void write_file(const char *root)
{
	uint8_t bytes[TINY_ROOM];
	size_t size = tiny_make(bytes, 1);
	char name[80];
	int fd;

	snprintf(name, sizeof(name), "%s/a", root);
	fd = open(name, O_WRONLY | O_CREAT, 0644);
	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	close(fd);
}

static int map_file(FIXTURE_DATA(profile) *self, uint32_t pid, uint64_t start, const char *path)
{
	const struct flowtap_mapping mapping = {
		.start = start,
		.size = TINY_CODE_SIZE,
		.file_offset = TINY_CODE_OFFSET,
		.pid = pid,
		.executable = true,
		.path = path,
	};

	return flowtap_address_map_add(self->map, &mapping);
}

FIXTURE_SETUP(profile)
{
	blocks_passed = elements_passed = 0;
	strcpy(self->root, "/tmp/flowtap-profile-XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->root));
	write_file(self->root);
	self->map = flowtap_address_map_new(self->root);
	ASSERT_NE(NULL, self->map);
	self->blocks = flowtap_blocks_new(two_instructions, 0);
	ASSERT_NE(NULL, self->blocks);
	self->next = (struct flowtap_sink){ pass_block, pass_element };
	flowtap_profile_init(&self->profile, self->map);
	self->profile.next = &self->next;
	ASSERT_EQ(0, map_file(self, 7, AT, "/a"));
	ASSERT_EQ(0, map_file(self, 8, OTHER, "/a"));
}

FIXTURE_TEARDOWN(profile)
{
	char name[80];

	flowtap_profile_free(&self->profile);
	flowtap_blocks_free(self->blocks);
	flowtap_address_map_free(self->map);
	snprintf(name, sizeof(name), "%s/a", self->root);
	unlink(name);
	rmdir(self->root);
}

static void enter(FIXTURE_DATA(profile) *self, uint32_t pid)
{
	if (sink_context(&self->profile.sink, pid, pid, 0, 0))
		abort();
}

/* Two instructions at `offset` of the file in the process, where it has its code. */
static int execute(FIXTURE_DATA(profile) *self, uint32_t pid, uint64_t start, uint64_t offset)
{
	const struct flowtap_code *code =
		flowtap_address_map_find(self->map, pid, 0, start + offset);
	struct flowtap_block *block;

	if (!code || flowtap_blocks_get(self->blocks, code, FLOWTAP_ISA_RV64, start + offset, 0, &block))
		abort();
	block->executed++;
	return self->profile.sink.block(&self->profile.sink, block, false, 0);
}

TEST_F(profile, processes_come_by_what_they_executed)
{
	const struct flowtap_profile_process **list;
	size_t n;

	EXPECT_EQ(0, flowtap_profile_set_name(&self->profile, 8, "a name that is too long", 23));
	EXPECT_EQ(0, flowtap_profile_set_name(&self->profile, 9, "idle", 4));
	enter(self, 7);
	execute(self, 7, AT, 0);
	enter(self, 8);
	execute(self, 8, OTHER, 0);
	execute(self, 8, OTHER, 8);
	enter(self, 7);
	list = flowtap_profile_processes(&self->profile, &n);
	ASSERT_EQ(2, n);
	EXPECT_EQ(8, list[0]->pid);
	EXPECT_EQ(4, list[0]->instructions);
	EXPECT_STREQ("a name that is t", list[0]->comm);
	EXPECT_EQ(7, list[1]->pid);
	EXPECT_EQ(2, list[1]->instructions);
	EXPECT_STREQ("", list[1]->comm);
	EXPECT_EQ(6, self->profile.instructions);
	EXPECT_EQ(3, self->profile.blocks);
	free(list);
}

TEST_F(profile, a_function_is_one_wherever_processes_have_it)
{
	struct flowtap_function *list;
	size_t n;

	enter(self, 7);
	execute(self, 7, AT, 0x80);
	execute(self, 7, AT, 0x300);
	enter(self, 8);
	execute(self, 8, OTHER, 0x80);
	list = flowtap_profile_functions(&self->profile, self->blocks, &n);
	ASSERT_EQ(2, n);
	EXPECT_STREQ("first", list[0].name);
	EXPECT_STREQ("/a", list[0].path);
	EXPECT_EQ(4, list[0].instructions);
	EXPECT_EQ(0, list[0].hits);
	EXPECT_EQ(2, list[1].instructions);
	free(list);
}

TEST_F(profile, samples_count_more_than_instructions)
{
	struct flowtap_function *list;
	size_t n;

	enter(self, 7);
	execute(self, 7, AT, 0x80);
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(0, flowtap_profile_add_hit(&self->profile, 7, 0, AT + 0x204));
	EXPECT_EQ(0, flowtap_profile_add_hit(&self->profile, 7, 0, 0x1234));
	EXPECT_EQ(4, self->profile.n_hits);
	list = flowtap_profile_functions(&self->profile, self->blocks, &n);
	ASSERT_EQ(3, n);
	EXPECT_STREQ("sizeless", list[0].name);
	EXPECT_EQ(3, list[0].hits);
	EXPECT_EQ(NULL, list[1].path);
	EXPECT_EQ(1, list[1].hits);
	EXPECT_STREQ("first", list[2].name);
	EXPECT_EQ(2, list[2].instructions);
	free(list);
}

TEST_F(profile, pieces_end_at_gaps)
{
	enter(self, 7);
	for (int i = 0; i < 5; i++)
		execute(self, 7, AT, 0);
	sink_gap(&self->profile.sink, FLOWTAP_GAP_OVERFLOW);
	sink_gap(&self->profile.sink, FLOWTAP_GAP_OVERFLOW);
	execute(self, 7, AT, 0);
	sink_gap(&self->profile.sink, FLOWTAP_GAP_RING_FULL);
	execute(self, 7, AT, 0);
	flowtap_profile_end(&self->profile);
	EXPECT_EQ(3, self->profile.pieces.n);
	EXPECT_EQ(10, self->profile.pieces.longest);
	EXPECT_EQ(2, flowtap_profile_median(&self->profile.pieces));
	EXPECT_EQ(2, self->profile.gaps[FLOWTAP_GAP_OVERFLOW]);
	EXPECT_EQ(1, self->profile.gaps[FLOWTAP_GAP_RING_FULL]);
}

TEST_F(profile, the_time_of_gaps_is_added_up)
{
	struct flowtap_element element = {
		.kind = FLOWTAP_ELEMENT_GAP,
		.gap = { .reason = FLOWTAP_GAP_RING_FULL, .since = 100, .until = 130 },
	};

	sink_element(&self->profile.sink, element);
	element.gap.until = 101;
	sink_element(&self->profile.sink, element);
	element.gap.since = 0;
	sink_element(&self->profile.sink, element);
	EXPECT_EQ(31, self->profile.gap_ns[FLOWTAP_GAP_RING_FULL]);
	EXPECT_EQ(3, self->profile.gaps[FLOWTAP_GAP_RING_FULL]);
}

TEST_F(profile, files_of_which_there_is_no_code_are_named)
{
	struct flowtap_element element = {
		.kind = FLOWTAP_ELEMENT_GAP,
		.gap = { .reason = FLOWTAP_GAP_NO_CODE, .address = 0x60000010 },
	};

	ASSERT_EQ(0, map_file(self, 7, 0x60000000, "/nowhere"));
	enter(self, 7);
	sink_element(&self->profile.sink, element);
	sink_element(&self->profile.sink, element);
	ASSERT_EQ(1, self->profile.n_missing);
	EXPECT_STREQ("/nowhere", self->profile.missing[0].path);
	EXPECT_EQ(2, self->profile.missing[0].gaps);
	EXPECT_NE(NULL, self->profile.missing[0].reason);
}

TEST_F(profile, a_symbol_is_that_of_the_process_the_flow_is_at)
{
	uint64_t offset = 0;

	enter(self, 8);
	EXPECT_STREQ("first", flowtap_profile_symbol(&self->profile, OTHER + 4, &offset));
	EXPECT_EQ(4, offset);
	EXPECT_EQ(NULL, flowtap_profile_symbol(&self->profile, AT + 4, &offset));
}

TEST_F(profile, everything_is_handed_on)
{
	struct flowtap_block block = { .address = AT, .size = 8, .instructions = 2 };

	enter(self, 7);
	sink_gap(&self->profile.sink, FLOWTAP_GAP_OVERFLOW);
	EXPECT_EQ(2, elements_passed);
	EXPECT_EQ(0, self->profile.sink.block(&self->profile.sink, &block, true, 0));
	EXPECT_EQ(1, blocks_passed);
	/* What the next sink returns is returned. */
	EXPECT_EQ(-EPIPE, self->profile.sink.block(&self->profile.sink, &block, true, 99));
}

TEST_HARNESS_MAIN
