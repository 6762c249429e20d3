// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that sinks which share the blocks of a cache, at a time or one after the other, each write
 * what they write alone, whatever options each has.
 */
#include "support/kselftest_harness.h"
#include "support/madeflow.h"
#include "support/sink.h"

#include <flowtap/qemu4v.h>
#include <flowtap/stf.h>
#include <flowtap/tarmac.h>
#include <flowtap/text.h>

enum { TARMACS = FLOWTAP_RENDERINGS + 2, QEMU4V = TARMACS, STF, TEXT, SINKS };

/* One of any format. */
struct any {
	struct output output;
	struct flowtap_sink *sink;
	struct flowtap_tarmac *tarmac;
	struct flowtap_qemu4v *qemu4v;
	struct flowtap_stf *stf;
	struct flowtap_text *text;
	char name[16];			/* stands in each of its lines */
	unsigned long disassembled;
};

static size_t disassemble(void *argument, enum flowtap_isa isa, uint8_t it, uint64_t address,
			  const uint8_t *bytes, size_t size, char *text, size_t capacity)
{
	struct any *any = argument;

	any->disassembled++;
	return (size_t)snprintf(text, capacity, "%s%u", any->name, it);
}

static void any_open(struct any *any, int which, struct flowtap_blocks *blocks)
{
	const struct flowtap_lines_options lines = {
		.disassemble = disassemble, .argument = any, .blocks = blocks,
		.synthetic_sp = which == 3,
	};
	const struct flowtap_tarmac_options tarmac = {
		.lines = lines, .dialect = (enum flowtap_tarmac_dialect)(which % 3),
	};
	const struct flowtap_qemu4v_options qemu4v = { .lines = lines, .modes = true };
	const struct flowtap_stf_options stf = { .blocks = blocks };
	int error;

	*any = (struct any){ .output = output_new() };
	snprintf(any->name, sizeof(any->name), "sink%d_", which);
	error = which < TARMACS ? flowtap_tarmac_new(any->output.fd, &tarmac, &any->tarmac) :
		which == QEMU4V ? flowtap_qemu4v_new(any->output.fd, &qemu4v, &any->qemu4v) :
		which == STF ? flowtap_stf_new(any->output.fd, &stf, &any->stf) :
			       flowtap_text_new(any->output.fd, blocks, &any->text);
	if (error)
		abort();
	any->sink = which < TARMACS ? flowtap_tarmac_sink(any->tarmac) :
		    which == QEMU4V ? flowtap_qemu4v_sink(any->qemu4v) :
		    which == STF ? flowtap_stf_sink(any->stf) : flowtap_text_sink(any->text);
}

/* It is gone then, but for what it wrote. */
static void any_end(struct any *any)
{
	if ((any->tarmac && flowtap_tarmac_finish(any->tarmac)) ||
	    (any->qemu4v && flowtap_qemu4v_finish(any->qemu4v)) ||
	    (any->stf && flowtap_stf_finish(any->stf)) ||
	    (any->text && flowtap_text_finish(any->text)))
		abort();
	flowtap_tarmac_free(any->tarmac);
	flowtap_qemu4v_free(any->qemu4v);
	flowtap_stf_free(any->stf);
	flowtap_text_free(any->text);
	output_read(&any->output);
}

/* All of them after one. */
struct all {
	struct flowtap_sink sink;
	struct any any[SINKS];
	bool takes[SINKS];
};

static int all_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
		     uint64_t target)
{
	struct all *all = (struct all *)sink;
	int error = 0;

	for (int i = 0; i < SINKS && !error; i++)
		if (all->takes[i])
			error = sink_block(all->any[i].sink, block, taken, target);
	return error;
}

static int all_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	struct all *all = (struct all *)sink;
	int error = 0;

	for (int i = 0; i < SINKS && !error; i++)
		if (all->takes[i])
			error = all->any[i].sink->element(all->any[i].sink, element);
	return error;
}

/* What each writes alone, from a cache of its own. */
FIXTURE(sinks)
{
	struct madeflow made;
	struct any alone[SINKS];
	struct all all;
};

#define BLOCKS 1000

FIXTURE_SETUP(sinks)
{
	for (int i = 0; i < SINKS; i++) {
		made_begin(&self->made, 7, true, NULL);
		any_open(&self->alone[i], i, self->made.blocks);
		self->made.sink = self->alone[i].sink;
		ASSERT_EQ(0, made_run(&self->made, BLOCKS));
		any_end(&self->alone[i]);
		ASSERT_LT(BLOCKS, self->alone[i].output.size);
		made_end(&self->made);
	}
	self->all.sink = (struct flowtap_sink){ all_block, all_element };
	made_begin(&self->made, 7, true, &self->all.sink);
}

FIXTURE_TEARDOWN(sinks)
{
	for (int i = 0; i < SINKS; i++)
		output_free(&self->alone[i].output);
	made_end(&self->made);
}

#define EXPECT_AS_ALONE(i, any) do {								\
	EXPECT_EQ(-1, output_differs(&(any)->output, self->alone[i].output.bytes,		\
				     self->alone[i].output.size)) {				\
		TH_LOG("sink %d", i);								\
	}											\
} while (0)

/* Those that take part, in turns; returns how often an instruction was disassembled. */
static unsigned long run(struct __test_metadata *_metadata, FIXTURE_DATA(sinks) *self)
{
	unsigned long disassembled = 0;

	for (int i = 0; i < SINKS; i++)
		if (self->all.takes[i])
			any_open(&self->all.any[i], i, self->made.blocks);
	ASSERT_EQ(0, made_run(&self->made, BLOCKS));
	for (int i = 0; i < SINKS; i++) {
		if (!self->all.takes[i])
			continue;
		any_end(&self->all.any[i]);
		EXPECT_AS_ALONE(i, &self->all.any[i]);
		disassembled += self->all.any[i].disassembled;
		output_free(&self->all.any[i].output);
	}
	return disassembled;
}

/* Same dialect, other texts; and as there is room for them, nothing is rendered twice. */
TEST_F(sinks, of_one_format_with_other_options_do_not_mix)
{
	self->all.takes[0] = self->all.takes[3] = true;
	EXPECT_EQ(self->alone[0].disassembled + self->alone[3].disassembled,
		  run(_metadata, self));
}

TEST_F(sinks, of_each_format_do_not_mix)
{
	self->all.takes[0] = self->all.takes[QEMU4V] = true;
	self->all.takes[STF] = self->all.takes[TEXT] = true;
	EXPECT_EQ(self->alone[0].disassembled + self->alone[QEMU4V].disassembled,
		  run(_metadata, self));
}

/* It takes more work then. */
TEST_F(sinks, more_than_a_block_has_room_for_write_what_they_should)
{
	unsigned long alone = 0;

	for (int i = 0; i < SINKS; i++) {
		self->all.takes[i] = true;
		alone += self->alone[i].disassembled;
	}
	EXPECT_LT(alone, run(_metadata, self));
}

/* Often enough that what was left has to make room. */
TEST_F(sinks, those_that_come_later_see_nothing_of_those_that_are_gone)
{
	const struct madeflow begin = self->made;

	for (int i = 0; i < 3 * SINKS; i++) {
		struct any any;

		self->made = begin;
		any_open(&any, i % SINKS, self->made.blocks);
		self->made.sink = any.sink;
		ASSERT_EQ(0, made_run(&self->made, BLOCKS));
		any_end(&any);
		EXPECT_AS_ALONE(i % SINKS, &any);
		EXPECT_EQ(self->alone[i % SINKS].disassembled, any.disassembled);
		output_free(&any.output);
	}
}

TEST_HARNESS_MAIN
