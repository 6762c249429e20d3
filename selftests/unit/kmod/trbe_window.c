// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that the driver never gives the trace buffer a byte that the reader still has, whatever
 * the alignment, the errata and the reader's tail; that it always goes on; and how it reads the
 * status. kmod/trbe_window.c is compiled into this program.
 */
#include "support/kselftest_harness.h"

#include "../../../kmod/trbe_window.c"

#define PAGE 4096ULL
#define SPARE 2		/* AUX_SPARE_PAGES of kmod/aux.h */

static const u64 watermarks[] = { 1, 63, 64, 65, 1024, PAGE, PAGE + 1, 3 * PAGE, 16 * PAGE };
static const u64 offsets[] = { 0, 1, 63, 64, 255, 256, 257, 2047, 2048, 2049, PAGE - 64, PAGE - 63,
			       PAGE - 1 };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Whether n bytes from `at` on are free: after the head, not after the tail. */
static bool is_free(const struct trbe_area *area, u64 at, u64 n)
{
	const u64 space = area->size - (area->head - area->tail);
	const u64 from = (at - area->head) & (area->size - 1);

	return area->overwrite || from + n <= space;
}

static const char *judge(const struct trbe_area *area, const struct trbe_window *window)
{
	const u64 least = area->align > TRBE_LEAST ? area->align : TRBE_LEAST;
	u64 stray = window->limit;

	if (window->base % area->page || window->limit % area->page)
		return "base or limit is not aligned";
	if (window->start % area->align)
		return "the pointer is not aligned";
	if (window->base > window->start || window->start >= window->limit ||
	    window->limit > area->size)
		return "out of order";
	if (((area->head + window->pad) & (area->size - 1)) != window->start)
		return "the pad does not lead to the start";
	if (area->overwrite && window->trigger)
		return "a flight recorder interrupts";
	if (area->overwrite && !(area->errata & TRBE_PASSES_LIMIT))
		return window->circular && !window->base && window->limit == area->size ?
			       NULL : "not all of a flight recorder";
	if (window->circular || window->limit - window->start < least)
		return "too little";
	/* A page before it may be the reader's. */
	if (window->base != window->start - window->start % area->page)
		return "the base is not that of the pointer's page";
	if (window->overwrites != !!(area->errata & TRBE_OVERWRITES_BASE))
		return "the erratum is not told";
	if (!is_free(area, window->start, window->limit - window->start))
		return "the reader's bytes";
	if (!area->overwrite && window->pad > area->size - (area->head - area->tail))
		return "a pad over the reader's bytes";
	if (area->errata & TRBE_OVERWRITES_BASE &&
	    (window->start < window->base + TRBE_SKIP || !is_free(area, window->base, TRBE_SKIP)))
		return "bytes at the base";
	if (area->errata & TRBE_PASSES_LIMIT && stray < area->size && !area->overwrite &&
	    area->head != area->tail && !is_free(area, stray, 64))
		return "bytes past the limit";
	if (!area->overwrite && window->limit < area->size &&
	    window->limit - window->start < area->page && window->trigger)
		return "an interrupt for less than the reader's page";
	if (area->by_limit ? window->trigger != 0 :
	    window->trigger > (area->watermark > PAGE ? area->watermark : PAGE) || window->trigger > (window->limit - window->start) / 2 ||
	    window->trigger % area->align)
		return "the trigger";
	if (area->by_limit && !area->overwrite && window->limit - window->start >=
		(area->watermark > least ? area->watermark : least) + area->page)
		return "a limit after the watermark";
	return NULL;
}

/* Where nothing is kept. past: bytes that an erratum writes after the limit. */
static const char *judge_spare(const struct trbe_area *area, const struct trbe_window *window)
{
	const u64 past = area->errata & TRBE_PASSES_LIMIT ? TRBE_PAST : 0;

	if (window->base % area->page || window->limit % area->page)
		return "base or limit is not aligned";
	if (window->start % area->align)
		return "the pointer is not aligned";
	if (window->start < window->base || window->start >= window->limit)
		return "out of order";
	if (window->base < area->size || window->limit + past > area->size + SPARE * area->page)
		return "not in the spare pages";
	/* Fill mode would stop, and overwrite what the pointer does not tell. */
	if (!window->circular || window->overwrites)
		return "it stops when it is full";
	if (window->trigger || window->pad)
		return "an interrupt, or bytes of the area";
	return NULL;
}

/* Calls for all there is to be combined; the area's head and tail are set by the callback. */
static void combine(void (*each)(struct trbe_area *area, void *context), void *context)
{
	struct trbe_area area = { .page = PAGE };
	unsigned int pages, align, errata, watermark, how;

	for (pages = 2; pages <= 16; pages *= 2)
		for (align = 1; align <= 2048; align *= align == 1 ? 64 : 2)
			for (errata = 0; errata < 4; errata++)
				for (watermark = 0; watermark < COUNT(watermarks); watermark++)
					for (how = 0; how < 3; how++) {
						area.size = pages * PAGE;
						area.align = align;
						area.errata = errata;
						area.watermark = watermarks[watermark];
						area.by_limit = how == 1;
						area.overwrite = how == 2;
						each(&area, context);
					}
}

struct verdict {
	const char *wrong;
	struct trbe_area area;
	struct trbe_window window;
	u64 windows;
	u64 refused;
};

static void note(struct verdict *verdict, const char *wrong, const struct trbe_area *area,
		 const struct trbe_window *window)
{
	if (!wrong || verdict->wrong)
		return;
	verdict->wrong = wrong;
	verdict->area = *area;
	verdict->window = *window;
}

static void each_place(struct trbe_area *area, void *context)
{
	struct verdict *verdict = context;
	struct trbe_window window;
	u64 page, lap;
	unsigned int i, j;

	/* Heads at each corner of a page, also where the count overflows; tails likewise. */
	for (lap = 0; lap < 2; lap++)
		for (page = 0; page < area->size; page += PAGE)
			for (i = 0; i < COUNT(offsets); i++)
				for (j = 0; j <= COUNT(offsets); j++) {
					area->head = (lap ? -area->size : 3 * area->size) + page + offsets[i];
					area->tail = area->head - (j == COUNT(offsets) ? 0 :
						     (page * 3 + offsets[j]) % (area->size + 1));
					if (!trbe_window(area, &window)) {
						verdict->refused++;
						/* Where all is free there is always a window. */
						if (area->tail == area->head || area->overwrite)
							note(verdict, "refused", area, &window);
						continue;
					}
					verdict->windows++;
					note(verdict, judge(area, &window), area, &window);
				}
}

TEST(no_window_has_a_byte_of_the_readers)
{
	struct verdict verdict = { 0 };

	combine(each_place, &verdict);
	EXPECT_EQ(NULL, verdict.wrong)
		TH_LOG("%s: size %#llx head %#llx tail %#llx align %u errata %u watermark %llu%s: pad %llu base %#llx start %#llx limit %#llx trigger %llu",
		       verdict.wrong, (unsigned long long)verdict.area.size,
		       (unsigned long long)verdict.area.head, (unsigned long long)verdict.area.tail,
		       verdict.area.align, verdict.area.errata,
		       (unsigned long long)verdict.area.watermark,
		       verdict.area.by_limit ? " by limit" : "",
		       (unsigned long long)verdict.window.pad, (unsigned long long)verdict.window.base,
		       (unsigned long long)verdict.window.start, (unsigned long long)verdict.window.limit,
		       (unsigned long long)verdict.window.trigger);
	EXPECT_LT(1000000, verdict.windows);
	EXPECT_NE(0, verdict.refused);
}

static void each_spare(struct trbe_area *area, void *context)
{
	struct verdict *verdict = context;
	struct trbe_window window;

	memset(&window, 0xff, sizeof(window));
	trbe_spare(area, &window);
	note(verdict, judge_spare(area, &window), area, &window);
	verdict->windows++;
}

TEST(what_has_no_room_goes_to_pages_that_nobody_reads)
{
	struct verdict verdict = { 0 };

	combine(each_spare, &verdict);
	EXPECT_EQ(NULL, verdict.wrong)
		TH_LOG("%s: size %#llx align %u errata %u: base %#llx start %#llx limit %#llx",
		       verdict.wrong, (unsigned long long)verdict.area.size, verdict.area.align,
		       verdict.area.errata, (unsigned long long)verdict.window.base,
		       (unsigned long long)verdict.window.start,
		       (unsigned long long)verdict.window.limit);
	EXPECT_NE(0, verdict.windows);
}

/* Nothing came, so many bytes came, or more than can be counted: never less than what did. */
TEST(what_came_to_the_spare_pages_is_counted)
{
	const struct trbe_area area = { .size = 4 * PAGE, .page = PAGE, .align = 1 };
	struct trbe_window window;
	u64 came, bytes;
	bool wrapped;

	trbe_spare(&area, &window);
	for (came = 0; came <= 3 * PAGE; came++) {
		const u64 status = came >= PAGE ? 1ULL << 20 : 0;

		ASSERT_EQ(TRBE_GOING, trbe_outcome(&window, status, 4 * PAGE + came % PAGE, &bytes,
						   &wrapped));
		ASSERT_EQ(came >= PAGE, wrapped);
		ASSERT_EQ(came < 2 * PAGE ? came : PAGE + came % PAGE, bytes);
	}
}

/* Round and round with a reader that always keeps up: each byte's place comes again and again. */
static void go_round(struct trbe_area *area, void *context)
{
	struct verdict *verdict = context;
	struct trbe_window window;
	unsigned int i;
	u64 laps;

	if (area->overwrite && !(area->errata & TRBE_PASSES_LIMIT))
		return;
	area->head = area->tail = 0;
	for (i = 0; i < 400; i++) {
		if (!trbe_window(area, &window)) {
			note(verdict, "it does not go on", area, &window);
			return;
		}
		note(verdict, judge(area, &window), area, &window);
		area->head += window.pad + (i % 3 ? window.limit - window.start : area->align);
		area->tail = area->head;
		verdict->windows++;
	}
	laps = area->head / area->size;
	if (laps < 2)
		note(verdict, "it does not go round", area, &window);
}

TEST(a_reader_that_keeps_up_never_sees_it_stop)
{
	struct verdict verdict = { 0 };

	combine(go_round, &verdict);
	EXPECT_EQ(NULL, verdict.wrong) TH_LOG("%s", verdict.wrong);
	EXPECT_NE(0, verdict.windows);
}

TEST(a_tail_that_makes_no_sense_is_a_full_area)
{
	static const u64 tails[] = { 1, 64, PAGE, 8 * PAGE, 1ULL << 62, 1ULL << 63 };
	struct trbe_area area = { .size = 4 * PAGE, .page = PAGE, .align = 64, .watermark = PAGE };
	struct trbe_window window;
	unsigned int i;

	for (i = 0; i < COUNT(tails); i++) {
		area.head = 10 * PAGE;
		area.tail = area.head + tails[i];
		EXPECT_FALSE(trbe_window(&area, &window));
		area.tail = area.head - area.size - tails[i];
		EXPECT_FALSE(trbe_window(&area, &window));
	}
	area.tail = area.head - area.size;
	EXPECT_FALSE(trbe_window(&area, &window));
	area.tail = area.head;
	EXPECT_TRUE(trbe_window(&area, &window));
}

TEST(the_end_of_the_area_is_left_for_its_beginning)
{
	struct trbe_area area = { .size = 4 * PAGE, .page = PAGE, .align = 64, .watermark = 4 * PAGE };
	struct trbe_window window;

	area.head = area.tail = 4 * PAGE - 512;
	EXPECT_TRUE(trbe_window(&area, &window));
	EXPECT_EQ(0, window.start);
	EXPECT_EQ(512, window.pad);
	/* All else is the reader's: the end is taken. */
	area.tail = area.head - (4 * PAGE - 512);
	EXPECT_TRUE(trbe_window(&area, &window));
	EXPECT_EQ(4 * PAGE - 512, window.start);
	EXPECT_EQ(4 * PAGE, window.limit);
	EXPECT_EQ(256, window.trigger);
	/* A page that the reader leaves before his own bytes: full is the only interrupt. */
	area.head = 512;
	area.tail = area.head - 3 * PAGE;
	EXPECT_TRUE(trbe_window(&area, &window));
	EXPECT_EQ(PAGE, window.limit);
	EXPECT_EQ(0, window.trigger);
	/* All of it is free. */
	area.head = 4 * PAGE;
	area.tail = area.head - 3 * PAGE;
	EXPECT_TRUE(trbe_window(&area, &window));
	EXPECT_EQ(PAGE, window.limit);
	EXPECT_EQ(PAGE / 2, window.trigger);
	/* After the area's end nothing is the reader's, though his bytes begin there. */
	area.errata = TRBE_PASSES_LIMIT;
	area.head = 5 * PAGE;
	area.tail = 4 * PAGE;
	EXPECT_TRUE(trbe_window(&area, &window));
	EXPECT_EQ(4 * PAGE, window.limit);
	/* The bytes past the limit are free, or one of them is not. */
	area.tail = area.head - 2 * PAGE - (PAGE - TRBE_PAST);
	EXPECT_TRUE(trbe_window(&area, &window));
	EXPECT_EQ(2 * PAGE, window.limit);
	area.tail--;
	EXPECT_FALSE(trbe_window(&area, &window));
	/* A quarter of the watermark, and at most a page, is little. */
	area = (struct trbe_area){ .size = 16 * PAGE, .page = PAGE, .align = 64 };
	for (unsigned int i = 0; i < 4; i++) {
		const u64 little = i < 2 ? 1024 : PAGE;

		area.watermark = i < 2 ? PAGE : 64 * PAGE;
		area.head = area.tail = 16 * PAGE - (little - (i & 1 ? 64 : 0));
		EXPECT_TRUE(trbe_window(&area, &window));
		EXPECT_EQ(i & 1, !window.start);
	}
}

TEST(the_watermark_is_the_trigger)
{
	struct trbe_area area = { .size = 16 * PAGE, .page = PAGE, .align = 64 };
	struct trbe_window window;

	area.watermark = 3 * PAGE;
	EXPECT_TRUE(trbe_window(&area, &window));
	EXPECT_EQ(3 * PAGE, window.trigger);
	/* No less than a page, no more than half of what there is, nor than the register holds. */
	area.watermark = 64;
	EXPECT_TRUE(trbe_window(&area, &window));
	EXPECT_EQ(PAGE, window.trigger);
	area.watermark = 15 * PAGE;
	EXPECT_TRUE(trbe_window(&area, &window));
	EXPECT_EQ(8 * PAGE, window.trigger);
	area.size = area.watermark = 1ULL << 36;
	area.align = 2048;
	EXPECT_TRUE(trbe_window(&area, &window));
	EXPECT_EQ(0xfffff800, window.trigger);
}

#define S (1ULL << 17)
#define EA (1ULL << 18)
#define WRAP (1ULL << 20)
#define TRG (1ULL << 21)
#define IRQ (1ULL << 22)
#define EC(n) ((u64)(n) << 26)

TEST(what_the_status_says)
{
	const struct trbe_window fill = { .base = PAGE, .start = PAGE + 64, .limit = 3 * PAGE,
					  .trigger = 512 };
	const struct trbe_window skip = { .base = PAGE, .start = PAGE + 256, .limit = 3 * PAGE,
					  .overwrites = true };
	const struct trbe_window circular = { .start = PAGE, .limit = 4 * PAGE, .circular = true };
	static const u64 none = -1ULL;
	const struct {
		const struct trbe_window *window;
		u64 status, pointer;
		enum trbe_end end;
		u64 bytes;
		bool wrapped;
	} cases[] = {
		{ &fill, 0, PAGE + 64, TRBE_GOING, 0, false },
		{ &fill, 0, 2 * PAGE, TRBE_GOING, PAGE - 64, false },
		{ &fill, 0, 3 * PAGE, TRBE_GOING, 2 * PAGE - 64, false },
		{ &fill, TRG, 2 * PAGE, TRBE_GOING, PAGE - 64, false },
		{ &fill, TRG | IRQ, 2 * PAGE, TRBE_WATERMARK, PAGE - 64, false },
		/* Spurious. */
		{ &fill, IRQ, 2 * PAGE, TRBE_GOING, PAGE - 64, false },
		{ &fill, IRQ | S | WRAP | 1, PAGE, TRBE_FULL, 2 * PAGE - 64, false },
		{ &fill, IRQ | S | WRAP | TRG | 1, PAGE, TRBE_FULL, 2 * PAGE - 64, false },
		{ &fill, IRQ | S | WRAP | 1, PAGE + 64, TRBE_WRONG, 0, false },
		{ &fill, IRQ | S | WRAP | 1, 3 * PAGE, TRBE_WRONG, 0, false },
		{ &skip, IRQ | S | WRAP | 1, PAGE, TRBE_FULL, 2 * PAGE - 256, false },
		{ &skip, IRQ | S | WRAP | 1, PAGE + 256, TRBE_FULL, 2 * PAGE - 256, false },
		{ &skip, IRQ | S | WRAP | 1, PAGE + 257, TRBE_WRONG, 0, false },
		{ &fill, 0, PAGE + 63, TRBE_WRONG, 0, false },
		{ &fill, 0, 3 * PAGE + 1, TRBE_WRONG, 0, false },
		{ &fill, 0, none, TRBE_WRONG, 0, false },
		/* An external abort, whatever else. */
		{ &fill, EA, 2 * PAGE, TRBE_ABORT, 0, false },
		{ &fill, EA | S | IRQ | WRAP | 1, PAGE, TRBE_ABORT, 0, false },
		/* Faults of stage 1, stage 2, granule protection, IMPLEMENTATION DEFINED. */
		{ &fill, IRQ | S | EC(0x24) | 7, 2 * PAGE, TRBE_FAULT, PAGE - 64, false },
		{ &fill, IRQ | S | EC(0x25) | 7, 2 * PAGE, TRBE_FAULT, PAGE - 64, false },
		{ &fill, IRQ | S | EC(0x1e), 2 * PAGE, TRBE_FAULT, PAGE - 64, false },
		{ &fill, IRQ | S | EC(0x1f), 2 * PAGE, TRBE_FAULT, PAGE - 64, false },
		{ &fill, IRQ | S | EC(0x24) | 7, none, TRBE_WRONG, 0, false },
		/* A stop that was not asked for. */
		{ &fill, IRQ | S, 2 * PAGE, TRBE_FAULT, PAGE - 64, false },
		{ &fill, IRQ | S | 2, 2 * PAGE, TRBE_FAULT, PAGE - 64, false },
		{ &fill, IRQ | S | 1, 2 * PAGE, TRBE_FAULT, PAGE - 64, false },
		{ &fill, IRQ | S | WRAP, PAGE, TRBE_FAULT, 2 * PAGE - 64, false },
		{ &circular, 0, 2 * PAGE, TRBE_GOING, PAGE, false },
		{ &circular, WRAP, 0, TRBE_GOING, 3 * PAGE, true },
		{ &circular, WRAP, PAGE, TRBE_GOING, 4 * PAGE, true },
		{ &circular, WRAP, 2 * PAGE, TRBE_GOING, 5 * PAGE, true },
		{ &circular, WRAP, 4 * PAGE, TRBE_WRONG, 0, false },
		{ &circular, WRAP | S | IRQ | EC(0x24), 2 * PAGE, TRBE_FAULT, 5 * PAGE, true },
	};
	unsigned int i;

	for (i = 0; i < COUNT(cases); i++) {
		bool wrapped = !cases[i].wrapped;
		u64 bytes = 12345;

		EXPECT_EQ(cases[i].end, trbe_outcome(cases[i].window, cases[i].status,
						     cases[i].pointer, &bytes, &wrapped))
			TH_LOG("case %u", i);
		EXPECT_EQ(cases[i].bytes, bytes) TH_LOG("case %u", i);
		EXPECT_EQ(cases[i].wrapped, wrapped) TH_LOG("case %u", i);
	}
}

/* Any status with any pointer: what is believed lies in the window, once or twice round. */
TEST(no_status_makes_bytes_that_are_not_there)
{
	const struct trbe_window windows[] = {
		{ .base = PAGE, .start = PAGE + 64, .limit = 3 * PAGE, .trigger = 512 },
		{ .base = PAGE, .start = PAGE + 256, .limit = 3 * PAGE, .overwrites = true },
		{ .start = PAGE, .limit = 4 * PAGE, .circular = true },
		{ .base = 4 * PAGE, .start = 4 * PAGE, .limit = 5 * PAGE, .circular = true },
	};
	u64 status, pointer, bytes;
	unsigned int i, high;
	bool wrapped;

	for (i = 0; i < COUNT(windows); i++)
		for (high = 0; high < 128; high++)
			for (pointer = -64ULL; pointer != 5 * PAGE; pointer += 64) {
				/*
				 * Each of S, EA, WRAP, TRG, IRQ, with and without an EC and a BSC.
				 */
				status = (u64)(high & 31) << 17 | (high & 32 ? EC(0x24) : 0) |
					 (high & 64 ? 1 : 0);
				trbe_outcome(&windows[i], status, pointer, &bytes, &wrapped);
				ASSERT_LE(bytes, (windows[i].circular ? 2 : 1) *
					  (windows[i].limit - windows[i].base));
			}
}

TEST_HARNESS_MAIN
