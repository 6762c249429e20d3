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
 * left out the branches. -i: its INFO has all that there can be.
 */
#include <flowtap/riscv.h>
#include <linux/flowtap.h>
#include <linux/perf_event.h>
#include <stdbool.h>

#include "support/made_archive.h"
#include "support/rv64.h"
#include "support/tinyelf.h"

#define BASE TINY_CODE_ADDRESS
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
static bool whole_info;
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

/* One sample of so many rounds of the loop. */
static size_t sample(uint8_t *out, uint32_t pid, uint64_t sequence, uint64_t time, uint32_t rounds,
		     uint32_t loss)
{
	static const struct flowtap_entry round[] = {
		{ (BASE + 0x04) | 1, BASE + LAST, FLOWTAP_TRANSFER_DIRECT_CALL },
		{ (BASE + LAST + 4) | 1, BASE + 0x08, FLOWTAP_TRANSFER_RETURN },
		{ (BASE + 0x0c) | 1, BASE + 0x04, FLOWTAP_TRANSFER_TAKEN },
	};
	struct flowtap_record_sample head = {
		.header = {
			.type = FLOWTAP_RECORD_SAMPLE,
			.misc = FLOWTAP_MISC_USER,
			.size = (uint16_t)(sizeof(head) + rounds * sizeof(round)),
		},
		.time = time,
		.sequence = sequence,
		.ip = BASE + 0x04,
		.control = 1 | 1 << 8 | 1 << 12 | control,
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
	const struct flowtap_record_lost lost = {
		.header = { .type = FLOWTAP_RECORD_LOST, .size = sizeof(lost) },
		.time = 7 * SECOND,
		.since = 6 * SECOND,
		.records = 3,
		.bytes = 1000,
		.total_records = 3,
		.total_bytes = 1000,
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
	memcpy(ring + used, &lost, sizeof(lost));
	used += sizeof(lost);
	memcpy(ring + used, &strange, sizeof(strange));
	used += sizeof(strange);
	stats.lost_records = lost.records;
	stats.lost_bytes = lost.bytes;
	ring_block(ring, used, 7);
}

static void put_more(uint32_t rounds, uint32_t more)
{
	static uint8_t ring[8192] __attribute__((aligned(8)));

	for (uint32_t i = 0; i < more; i++)
		ring_block(ring, sample(ring, 300, 2 * i + 2, 9 * SECOND + i, rounds,
					1U << FLOWTAP_CAUSE_WRAPPED), 1);
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

	while ((option = getopt(argc, argv, "+Fsrfi")) != -1) {
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
		.ctr = { .data = 0xf, .depths = 0x1f, .depth_max = 256 },
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
		fprintf(stderr, "usage: mkarchive [-Fsrfi] DIR ROUNDS [MORE [TRIGGERS [CUT]]]\n");
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
	put_ring(rounds);
	put_mapping(300, BASE);
	put_more(rounds, argc > 3 ? (uint32_t)atoi(argv[3]) : 0);
	put_triggers(argc > 4 ? (uint32_t)atoi(argv[4]) : 0, cut);
	block(FLOWTAP_ARCHIVE_STATS, 0, &stats, sizeof(stats));
	close_archive(fd);
	return 0;
}
