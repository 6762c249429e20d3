// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that what one context sees is not taken for what another one sees, that a context that
 * comes back finds again what was known of it, and that all of it can be forgotten.
 */
#include "ete/view.h"

#include "support/kselftest_harness.h"

static const uint8_t bytes[4];

/* Each context has other code everywhere: that of its pid. */
static struct flowtap_code codes[20];
static unsigned int asked;

static const struct flowtap_code *find(void *argument, const struct flowtap_context *context,
				       uint64_t address)
{
	struct flowtap_code *code = &codes[context->pid];

	asked++;
	return address < code->end ? code : NULL;
}

FIXTURE(view)
{
	struct flowtap_ete_images images;
	struct ete_views *views;
};

FIXTURE_SETUP(view)
{
	for (int i = 0; i < 20; i++)
		codes[i] = (struct flowtap_code){ .start = 0, .end = 0x10000, .bytes = bytes };
	asked = 0;
	self->images.find = find;
	self->views = calloc(1, sizeof(*self->views));
	flowtap_ete_views_invalidate(self->views);
}

FIXTURE_TEARDOWN(view)
{
	free(self->views);
}

static void select_pid(struct ete_views *views, uint32_t pid)
{
	const struct flowtap_context context = { .pid = pid, .width = 64 };

	flowtap_ete_views_select(views, &context);
}

static const struct flowtap_code *look(FIXTURE_DATA(view) *self, uint64_t address)
{
	return ete_views_find(self->views, &self->images, FLOWTAP_ISA_A64, address);
}

TEST_F(view, code_is_asked_for_once_in_each_context)
{
	for (uint32_t pid = 0; pid < 3; pid++) {
		select_pid(self->views, pid);
		EXPECT_EQ(&codes[pid], look(self, 0x1000));
		EXPECT_EQ(&codes[pid], look(self, 0x1ffc));
		EXPECT_EQ(pid + 1, asked);
	}
	for (uint32_t pid = 0; pid < 3; pid++) {
		select_pid(self->views, pid);
		EXPECT_EQ(&codes[pid], look(self, 0x1000));
	}
	EXPECT_EQ(3, asked);
}

TEST_F(view, each_context_has_its_own_epoch_until_it_is_displaced)
{
	uint32_t first, epoch;

	select_pid(self->views, 1);
	first = self->views->current->epoch;
	select_pid(self->views, 2);
	EXPECT_NE(first, self->views->current->epoch);
	select_pid(self->views, 1);
	EXPECT_EQ(first, self->views->current->epoch);
	for (uint32_t pid = 3; pid < 3 + ETE_VIEWS; pid++)
		select_pid(self->views, pid);
	select_pid(self->views, 1);
	epoch = self->views->current->epoch;
	EXPECT_GT(epoch, first);
	EXPECT_EQ(&codes[1], look(self, 0));
}

TEST_F(view, only_the_isa_makes_no_other_view)
{
	struct flowtap_context context = { .width = 32, .isa = FLOWTAP_ISA_A32 };
	const struct ete_view *view;

	flowtap_ete_views_select(self->views, &context);
	view = self->views->current;
	context.isa = FLOWTAP_ISA_T32;
	flowtap_ete_views_select(self->views, &context);
	EXPECT_EQ(view, self->views->current);
	context.security = FLOWTAP_SECURE;
	context.has_vmid = true;
	flowtap_ete_views_select(self->views, &context);
	EXPECT_NE(view, self->views->current);
}

TEST_F(view, find_is_told_the_isa)
{
	select_pid(self->views, 1);
	ete_views_find(self->views, &self->images, FLOWTAP_ISA_T32, 0);
	EXPECT_EQ(FLOWTAP_ISA_T32, self->views->context.isa);
}

TEST_F(view, what_is_forgotten_is_asked_for_again)
{
	uint32_t epoch;

	select_pid(self->views, 1);
	look(self, 0);
	epoch = self->views->current->epoch;
	flowtap_ete_views_invalidate(self->views);
	EXPECT_EQ(1, self->views->current->context.pid);
	EXPECT_NE(epoch, self->views->current->epoch);
	EXPECT_EQ(&codes[1], look(self, 0));
	EXPECT_EQ(2, asked);
}

TEST_F(view, what_has_no_bytes_or_is_not_there_is_asked_for_each_time)
{
	codes[1].bytes = NULL;
	select_pid(self->views, 1);
	EXPECT_EQ(&codes[1], look(self, 0));
	EXPECT_EQ(&codes[1], look(self, 0));
	EXPECT_EQ(NULL, look(self, 0x10000));
	EXPECT_EQ(3, asked);
}

TEST_F(view, jumps_lead_nowhere_when_blocks_are_freed)
{
	struct flowtap_block block = { .address = 0x1234 };

	ete_jump_at(self->views, 0x1234)->block = &block;
	EXPECT_EQ(&block, ete_jump_at(self->views, 0x1234)->block);
	flowtap_ete_views_invalidate_blocks(self->views);
	EXPECT_EQ(NULL, ete_jump_at(self->views, 0x1234)->block);
}

TEST_HARNESS_MAIN
