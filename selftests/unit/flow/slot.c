// SPDX-License-Identifier: GPL-2.0-only
/* Shows whose rendering a sink finds with a block, and that it is never another's. */
#include <flowtap/block.h>

#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <stdlib.h>
#include <string.h>

#include "support/kselftest_harness.h"

enum { SINKS = FLOWTAP_RENDERINGS + 3 };

/* A block as programs make them, too: no cache knows of it. */
FIXTURE(slot)
{
	struct flowtap_block block;
	struct flowtap_slot slots[SINKS];
};

FIXTURE_SETUP(slot)
{
	for (int i = 0; i < SINKS; i++)
		self->slots[i] = flowtap_blocks_slot(NULL, NULL);
}

FIXTURE_TEARDOWN(slot)
{
	for (int i = 0; i < FLOWTAP_RENDERINGS; i++)
		free(self->block.render[i].bytes);
}

static const char *keep(struct flowtap_slot *slot, struct flowtap_block *block, const char *text)
{
	const struct flowtap_render made = {
		.bytes = strdup(text), .size = strlen(text), .mark = text[0],
	};

	return flowtap_slot_keep(slot, block, &made, strlen(text) + 1)->bytes;
}

/* "": there is none. */
static const char *find(struct flowtap_slot *slot, struct flowtap_block *block)
{
	const struct flowtap_render *render = flowtap_slot_find(slot, block);

	if (!render)
		return "";
	if (render->size != strlen(render->bytes) || render->mark != *(char *)render->bytes)
		return "broken";
	return render->bytes;
}

TEST_F(slot, each_finds_its_own)
{
	char text[] = "0";

	for (int i = 0; i < FLOWTAP_RENDERINGS; i++, text[0]++) {
		EXPECT_STREQ("", find(&self->slots[i], &self->block));
		keep(&self->slots[i], &self->block, text);
		EXPECT_STREQ(text, find(&self->slots[i], &self->block));
		EXPECT_EQ(flowtap_slot_guess(&self->slots[i], &self->block),
			  flowtap_slot_find(&self->slots[i], &self->block));
	}
	text[0] = '0';
	for (int i = 0; i < FLOWTAP_RENDERINGS; i++, text[0]++)
		EXPECT_STREQ(text, find(&self->slots[i], &self->block));
}

TEST_F(slot, a_second_one_takes_the_place_of_the_first)
{
	const char *first = keep(&self->slots[0], &self->block, "first");

	keep(&self->slots[1], &self->block, "other");
	keep(&self->slots[0], &self->block, "second");
	EXPECT_TRUE(__asan_address_is_poisoned(first));
	EXPECT_STREQ("second", find(&self->slots[0], &self->block));
	EXPECT_STREQ("other", find(&self->slots[1], &self->block));
	EXPECT_EQ(0, self->block.render[2].owner);
}

/* In turn each displaces another, and has to render again; nobody finds what is not his. */
TEST_F(slot, more_than_there_is_room_for_displace_each_other)
{
	char text[] = "0";
	int found = 0;

	for (int turn = 0; turn < 10 * SINKS; turn++) {
		struct flowtap_slot *slot = &self->slots[turn % SINKS];
		const char *own;

		text[0] = '0' + turn % SINKS;
		own = find(slot, &self->block);
		found += *own != '\0';
		if (*own)
			EXPECT_STREQ(text, own);
		keep(slot, &self->block, text);
		EXPECT_STREQ(text, find(slot, &self->block));
	}
	EXPECT_GT(10 * SINKS, found);
}

/* However many have been there before; from the second time on nothing is rendered again. */
TEST_F(slot, what_those_before_have_left_is_nobodys_and_in_nobodys_way)
{
	for (int i = 0; i < 100; i++) {
		struct flowtap_slot one = flowtap_blocks_slot(NULL, NULL);
		struct flowtap_slot other = flowtap_blocks_slot(NULL, NULL);

		EXPECT_STREQ("", find(&one, &self->block));
		EXPECT_STREQ("", find(&other, &self->block));
		keep(&one, &self->block, "one");
		keep(&other, &self->block, "other");
		EXPECT_STREQ("one", find(&one, &self->block));
		EXPECT_STREQ("other", find(&other, &self->block));
	}
}

/*
 * The one that came first, too, that all others would displace: it wins back a place of the dead.
 */
TEST_F(slot, the_oldest_displaces_those_that_are_gone)
{
	keep(&self->slots[0], &self->block, "oldest");
	for (int i = 1; i < SINKS; i++)
		keep(&self->slots[i], &self->block, "gone");
	EXPECT_STREQ("", find(&self->slots[0], &self->block));
	keep(&self->slots[0], &self->block, "oldest");
	EXPECT_STREQ("oldest", find(&self->slots[0], &self->block));
	EXPECT_STREQ("gone", find(&self->slots[SINKS - 1], &self->block));
}

TEST_F(slot, those_of_one_kind_share_theirs)
{
	static uint64_t kind, other_kind;
	struct flowtap_slot one = flowtap_blocks_slot(NULL, &kind);
	struct flowtap_slot same = flowtap_blocks_slot(NULL, &kind);
	struct flowtap_slot other = flowtap_blocks_slot(NULL, &other_kind);

	keep(&self->slots[0], &self->block, "none");
	keep(&one, &self->block, "one");
	EXPECT_STREQ("one", find(&same, &self->block));
	EXPECT_STREQ("", find(&other, &self->block));
	EXPECT_STREQ("none", find(&self->slots[0], &self->block));
}

/* A slot looks where it found its own last: two that share a cache come to lie apart. */
TEST_F(slot, those_that_meet_keep_to_their_places)
{
	struct flowtap_block blocks[8] = { 0 };

	for (int i = 0; i < 8; i++) {
		keep(&self->slots[0], &blocks[i], "first");
		keep(&self->slots[1], &blocks[i], "second");
		EXPECT_EQ(self->slots[0].owner, blocks[i].render[0].owner);
		EXPECT_EQ(self->slots[1].owner, blocks[i].render[1].owner);
	}
	/* Also where the second one comes first. */
	free(blocks[0].render[0].bytes);
	free(blocks[0].render[1].bytes);
	memset(blocks[0].render, 0, sizeof(blocks[0].render));
	keep(&self->slots[1], &blocks[0], "second");
	keep(&self->slots[0], &blocks[0], "first");
	EXPECT_EQ(self->slots[0].owner, blocks[0].render[0].owner);
	EXPECT_EQ(self->slots[1].owner, blocks[0].render[1].owner);
	for (int i = 0; i < 8; i++) {
		free(blocks[i].render[0].bytes);
		free(blocks[i].render[1].bytes);
	}
}

enum { THREADS = 4, EACH = 10000 };

static uint64_t shared_kind;

static void *take_many(void *argument)
{
	uint64_t *owners = argument;

	for (int i = 0; i < EACH; i++)
		owners[i] = flowtap_blocks_slot(NULL, NULL).owner;
	owners[EACH] = flowtap_blocks_slot(NULL, &shared_kind).owner;
	return NULL;
}

static int compare(const void *one, const void *other)
{
	const uint64_t *a = one, *b = other;

	return *a < *b ? -1 : *a > *b;
}

TEST(no_two_threads_get_the_same)
{
	uint64_t *owners = calloc(THREADS, (EACH + 1) * sizeof(*owners));
	pthread_t threads[THREADS];
	int twice = 0;

	for (int i = 0; i < THREADS; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, take_many,
					    owners + i * (EACH + 1)));
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < THREADS; i++) {
		EXPECT_EQ(shared_kind, owners[i * (EACH + 1) + EACH]);
		owners[i * (EACH + 1) + EACH] = UINT64_MAX - i;
	}
	qsort(owners, THREADS * (EACH + 1), sizeof(*owners), compare);
	for (int i = 1; i < THREADS * (EACH + 1); i++)
		twice += owners[i] == owners[i - 1];
	EXPECT_EQ(0, twice);
	EXPECT_NE(0, owners[0]);
	free(owners);
}

TEST_HARNESS_MAIN
