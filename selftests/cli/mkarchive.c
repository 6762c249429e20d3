// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes what the tests of the command read: DIR/made.ftap, a recording of two processes that ran a
 * small program, and DIR/root/bin/made, the program. All that is in it is known to the tests:
 *
 *	0x11000 first:	addi a0, zero, 5	0x11300 last:	addi a1, a1, 1
 *	0x11004		jal  ra, last		0x11304		ret
 *	0x11008		addi a0, a0, -1
 *	0x1100c		bne  a0, zero, 0x11004
 *
 * A round of the loop is three transfers and five instructions. PID 100 has two samples that are
 * contiguous, of 2 and 1 rounds; PID 200 one of ROUNDS, another that was lost in between, and one
 * of 1 round; then come a gap, a lost record and a record of a type that nobody knows. MORE further
 * samples of PID 300, of ROUNDS each, make the archive as long as one likes. Of TRIGGERS, which had
 * it saved, the first is a crash of PID 100 at 0x11008, the others were asked for; CUT bytes of
 * each of these are missing.
 *
 * Before DIR: -F: recorded by time, not by an event. -s: the samples of PID 200 are those at task
 * switches. -r: with record --ras, whose samples are call stacks. -f: with record --filter, which
 * left out the branches. -i: its INFO has all that there can be. -m: of the first four samples one is
 * by the event, one by time, one was asked for, and one by the event in a mode that is not recorded.
 * -k: with record --kernel: the program is the kernel's, its functions are made_work and made_leaf.
 * -w: with record -a: instead of all that, samples of ROUNDS of PIDs 100, 200, 0, 100 and 200, in this
 * order, then a lost record.
 */
#include <flowtap/riscv.h>
#include <linux/flowtap.h>
#include <linux/perf_event.h>
#include <stdbool.h>

#include "support/made_archive.h"
#include "support/rv64.h"
#include "support/tinyelf.h"

#define BASE TINY_CODE_ADDRESS
#define KERNEL_BASE 0xffffffff80001000UL
#define LAST 0x300U
#define ROUNDS_MAX 80
#define TRIGGER_TEXT "ctl \x1b[2J"

struct trigger {
	struct flowtap_archive_trigger head;
	char text[sizeof(TRIGGER_TEXT) - 1];
};

static struct flowtap_stats stats;	/* of what is put into rings */
static uint8_t program[TINY_ROOM];
static uint32_t trigger = FLOWTAP_TRIGGER_OVERFLOW;
static bool at_switches;
static bool mixed;
static bool wide;
static bool whole_info;
static uint64_t base = BASE;			/* where the program runs */
static uint64_t control;			/* what is set of sctrctl beyond U, STE and LCOFIFRZ */

static void put(uint32_t at, uint32_t opcode)
{
	memcpy(program + TINY_CODE_OFFSET + at, &opcode, sizeof(opcode));
}

static void make_program(const char *dir)
{
	size_t size = tiny_make(program, 1);

	put(0x00, rv_addi(10, 0, 5));
	put(0x04, rv_jal(1, (int32_t)LAST - 4));
	put(0x08, rv_addi(10, 10, -1));
	put(0x0c, rv_b(RV_BNE, 10, 0, -8));
	put(LAST, rv_addi(11, 11, 1));
	put(LAST + 4, rv_jalr(0, 1, 0));
	save_program(dir, program, size);
}

/* As what the record's sample came, the how manieth it is. */
static void mix(struct flowtap_record_sample *head, uint64_t nth)
{
	static const uint32_t triggers[] = {
		FLOWTAP_TRIGGER_OVERFLOW, FLOWTAP_TRIGGER_TIMER, FLOWTAP_TRIGGER_SNAPSHOT,
		FLOWTAP_TRIGGER_OVERFLOW,
	};

	if (nth >= sizeof(triggers) / sizeof(triggers[0]))
		return;
	head->trigger = triggers[nth];
	if (nth < 2)
		return;
	head->header.misc = 0;
	head->ip = 0;
}

/* One sample of so many rounds of the loop. */
static size_t sample(uint8_t *out, uint32_t pid, uint64_t sequence, uint64_t time, uint32_t rounds,
		     uint32_t loss)
{
	const bool kernel = base == KERNEL_BASE;
	const struct flowtap_entry round[] = {
		{ (base + 0x04) | 1, base + LAST, FLOWTAP_TRANSFER_DIRECT_CALL },
		{ (base + LAST + 4) | 1, base + 0x08, FLOWTAP_TRANSFER_RETURN },
		{ (base + 0x0c) | 1, base + 0x04, FLOWTAP_TRANSFER_TAKEN },
	};
	struct flowtap_record_sample head = {
		.header = {
			.type = FLOWTAP_RECORD_SAMPLE,
			.misc = (kernel ? FLOWTAP_MISC_KERNEL : FLOWTAP_MISC_USER) |
				(wide ? FLOWTAP_MISC_CPU_WIDE : 0),
			.size = (uint16_t)(sizeof(head) + rounds * sizeof(round)),
		},
		.time = time,
		.sequence = sequence,
		.ip = base + 0x04,
		/* S, or U and STE; LCOFIFRZ. */
		.control = (kernel ? 1 << 1 : 1 | 1 << 8) | 1 << 12 | control,
		.pid = pid,
		.tid = pid,
		.trigger = trigger,
		.loss = loss,
		.depth = 256,
		.nr = rounds * 3,
	};

	if (at_switches && pid == 200) {
		head.trigger = FLOWTAP_TRIGGER_SWITCH;
		head.header.misc = 0;
		head.ip = 0;
	}
	if (mixed)
		mix(&head, stats.samples);
	stats.samples++;
	stats.entries += head.nr;
	memcpy(out, &head, sizeof(head));
	for (uint32_t i = 0; i < rounds; i++)
		memcpy(out + sizeof(head) + i * sizeof(round), round, sizeof(round));
	return head.header.size;
}

/* `records` records of `size` bytes together. */
static void ring_block(const uint8_t *ring, size_t size, uint32_t records)
{
	stats.records += records;
	stats.bytes += size;
	block(FLOWTAP_ARCHIVE_RING, 0, ring, size);
}

static size_t put_lost(uint8_t *out)
{
	const struct flowtap_record_lost lost = {
		.header = { .type = FLOWTAP_RECORD_LOST, .size = sizeof(lost) },
		.time = 7 * SECOND,
		.since = 6 * SECOND,
		.records = 3,
		.bytes = 1000,
		.total_records = 3,
		.total_bytes = 1000,
	};

	memcpy(out, &lost, sizeof(lost));
	stats.lost_records = lost.records;
	stats.lost_bytes = lost.bytes;
	return sizeof(lost);
}

static void put_ring(uint32_t rounds)
{
	static uint8_t ring[65536] __attribute__((aligned(8)));
	const struct flowtap_record_gap gap = {
		.header = { .type = FLOWTAP_RECORD_GAP, .size = sizeof(gap) },
		.time = 6 * SECOND,
		.since = 5 * SECOND,
		.size = FLOWTAP_UNKNOWN,
		.pid = 200,
		.tid = 200,
		.cause = FLOWTAP_CAUSE_DISPLACED,
	};
	const struct {
		struct flowtap_record header;
		uint64_t time;
	} strange = { { .type = 99, .size = sizeof(strange) }, 8 * SECOND };
	size_t used = 0;

	used += sample(ring + used, 100, 1, 1 * SECOND, 2, 1U << FLOWTAP_CAUSE_START);
	used += sample(ring + used, 100, 2, 2 * SECOND, 1, 0);
	used += sample(ring + used, 200, 1, 3 * SECOND, rounds, 1U << FLOWTAP_CAUSE_START);
	used += sample(ring + used, 200, 3, 4 * SECOND, 1, 1U << FLOWTAP_CAUSE_RING_FULL);
	memcpy(ring + used, &gap, sizeof(gap));
	used += sizeof(gap);
	used += put_lost(ring + used);
	memcpy(ring + used, &strange, sizeof(strange));
	used += sizeof(strange);
	ring_block(ring, used, 7);
}

/* Of all that one CPU ran, of the idle task as well, whose tid is 0. */
static void put_wide(uint32_t rounds)
{
	static const uint32_t tids[] = { 100, 200, 0, 100, 200 };
	static uint8_t ring[65536] __attribute__((aligned(8)));
	const uint32_t n = sizeof(tids) / sizeof(tids[0]);
	size_t used = 0;

	for (uint32_t i = 0; i < n; i++)
		used += sample(ring + used, tids[i], i + 1, (i + 1) * SECOND, rounds,
			       i ? 0 : 1U << FLOWTAP_CAUSE_START);
	used += put_lost(ring + used);
	ring_block(ring, used, n + 1);
}

static void put_more(uint32_t rounds, uint32_t more)
{
	static uint8_t ring[8192] __attribute__((aligned(8)));

	for (uint32_t i = 0; i < more; i++)
		ring_block(ring, sample(ring, 300, 2 * i + 2, 9 * SECOND + i, rounds,
					1U << FLOWTAP_CAUSE_WRAPPED), 1);
}

/* The program as the kernel's text, and its functions' names. */
static void put_kernel(void)
{
	static const char names[] = "ffffffff80001000 t made_work\nffffffff80001300 T made_leaf\n";
	struct {
		struct flowtap_archive_kernel head;
		char name[8];
		uint8_t text[FLOWTAP_KERNEL_PAGE];
	} kernel = {
		.head = {
			.start = KERNEL_BASE,
			.size = sizeof(kernel.text),
			.part_size = sizeof(kernel.text),
			.stored_size = sizeof(kernel.text),
			.name_size = 6,
		},
		.name = "kernel",
	};
	struct {
		struct flowtap_archive_symbols head;
		char text[sizeof(names) - 1];
	} symbols = { .head = { .size = sizeof(symbols.text) } };

	memcpy(kernel.text, program + TINY_CODE_OFFSET, sizeof(kernel.text));
	memcpy(symbols.text, names, sizeof(symbols.text));
	block(FLOWTAP_ARCHIVE_SYMBOLS, 0, &symbols, sizeof(symbols.head) + sizeof(symbols.text));
	block(FLOWTAP_ARCHIVE_KERNEL, 0, &kernel, sizeof(kernel));
}

static void put_triggers(uint32_t n, uint32_t cut)
{
	struct trigger trigger = {
		.head = {
			.time = SECOND / 2, .address = BASE + 0x08, .pid = 100, .tid = 101,
			.cause = FLOWTAP_ARCHIVE_CAUSE_CRASH,
		},
	};

	for (uint32_t i = 0; i < n; i++) {
		block(FLOWTAP_ARCHIVE_TRIGGER, 0, &trigger,
		      i ? sizeof(trigger) - cut : sizeof(trigger.head));
		trigger.head = (struct flowtap_archive_trigger){
			.time = SECOND, .cause = FLOWTAP_ARCHIVE_CAUSE_ASKED,
			.text_size = sizeof(trigger.text),
		};
		memcpy(trigger.text, TRIGGER_TEXT, sizeof(trigger.text));
	}
}

static void put_info(void)
{
	static const char more[] =
		"page=4096\nbegan=1700000000.000000005\nfilter=call\nall=1\ncgroup=/made\n"
		"pid=100,200\n";
	char info[512];
	int size = snprintf(info, sizeof(info),
			    "flowtap=0.1\nhost=maker\nkernel=6.12-made\narch=riscv64\n%s\n"
			    "command=made \x1b[31m\"quoted\"\\ \xff\n%s",
			    trigger == FLOWTAP_TRIGGER_TIMER ? "frequency=100" :
							       "event=instructions",
			    whole_info ? more : "");

	block(FLOWTAP_ARCHIVE_INFO, 0, info, (size_t)size);
}

/* The options before DIR; how many there are. */
static int take_options(int argc, char **argv, struct flowtap_configure *configure)
{
	int option;

	while ((option = getopt(argc, argv, "+Fsrfimkw")) != -1) {
		if (option == 'F') {
			trigger = configure->triggers = FLOWTAP_TRIGGER_TIMER;
			configure->event_type = 0;
			configure->event_config = configure->period = 0;
			configure->timer_ns = SECOND / 100;
		} else if (option == 's') {
			configure->triggers |= FLOWTAP_TRIGGER_SWITCH;
			at_switches = true;
		} else if (option == 'r') {
			configure->ctr.control = control = 1ULL << 7;
		} else if (option == 'f') {
			configure->ctr.control = control = 1ULL << 37;
		} else if (option == 'i') {
			whole_info = true;
		} else if (option == 'm') {
			configure->triggers |= FLOWTAP_TRIGGER_TIMER | FLOWTAP_TRIGGER_SNAPSHOT;
			configure->timer_ns = SECOND / 100;
			mixed = true;
		} else if (option == 'k') {
			configure->modes = FLOWTAP_MODE_KERNEL;
			base = KERNEL_BASE;
		} else if (option == 'w') {
			wide = true;
		} else {
			exit(2);
		}
	}
	return optind - 1;
}

int main(int argc, char **argv)
{
	struct flowtap_query query = {
		.abi = FLOWTAP_ABI,
		.cpus = 1,
		.source = FLOWTAP_SOURCE_CTR,
		.ctr = { .data = 0xf, .target = 1, .depths = 0x1f, .depth_max = 256 },
	};
	struct flowtap_configure configure = {
		.source = FLOWTAP_SOURCE_CTR,
		.modes = FLOWTAP_MODE_USER,
		.triggers = FLOWTAP_TRIGGER_OVERFLOW,
		.event_type = PERF_TYPE_HARDWARE,
		.event_config = PERF_COUNT_HW_INSTRUCTIONS,
		.period = 1234567,
	};
	int options = take_options(argc, argv, &configure), fd;
	uint32_t rounds, cut;

	argc -= options;
	argv += options;
	rounds = argc > 2 ? (uint32_t)atoi(argv[2]) : 0;
	cut = argc > 5 ? (uint32_t)atoi(argv[5]) : 0;
	if (argc < 3 || !rounds || rounds > ROUNDS_MAX || cut > sizeof(struct trigger)) {
		fprintf(stderr, "usage: mkarchive [-Fsrfimkw] DIR ROUNDS [MORE [TRIGGERS [CUT]]]\n");
		return 2;
	}
	make_program(argv[1]);
	fd = open_archive(argv[1], "made.ftap");
	put_info();
	block(FLOWTAP_ARCHIVE_QUERY, 0, &query, sizeof(query));
	block(FLOWTAP_ARCHIVE_CONFIGURE, 0, &configure, sizeof(configure));
	put_task(100, "made");
	put_mapping(100, BASE);
	put_task(200, "ma\033[2Jde");
	put_mapping(200, BASE);
	if (base == KERNEL_BASE)
		put_kernel();
	if (wide)
		put_wide(rounds);
	else
		put_ring(rounds);
	put_mapping(300, BASE);
	put_more(rounds, argc > 3 ? (uint32_t)atoi(argv[3]) : 0);
	put_triggers(argc > 4 ? (uint32_t)atoi(argv[4]) : 0, cut);
	block(FLOWTAP_ARCHIVE_STATS, 0, &stats, sizeof(stats));
	close_archive(fd);
	return 0;
}
