// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes the log's events and the buffer's entries side by side from pieces of the program,
 * applies the one mutation, and writes log and archive.
 */
#include "world.h"

#include <fcntl.h>
#include <flowtap/archive.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

const char *const world_names[MUTATIONS] = {
	[LOG_OPCODE] = "another instruction at the same address",
	[LOG_MORE] = "transfers that were not recorded",
	[LOG_EXTRA_DRAIN] = "a drain without a sample",
	[LOG_SWITCH] = "a buffer that was not cleared when the task changed",
	[LOG_STRAY] = "recording that goes on into another task",
	[LOG_NOT_CLEARED] = "a buffer that was not cleared after a drain",
	[LOG_NOT_ORDERED] = "entries read out of order",
	[LOG_UNRECORDED] = "a sample that hides that recording was off",
	[LOG_CONTROL] = "another sctrctl than the sample says",
	[LOG_TRUNCATED] = "a log that is cut off",
	[LOG_TORN] = "a log that contradicts itself",
	[CODE] = "other code in the image",
	[SAMPLE_MISSING] = "a sample that is missing",
	[SAMPLE_TWICE] = "a sample that is there twice",
	[SAMPLES_SWAPPED] = "samples in the wrong order",
	[SAMPLE_SHORT] = "a sample without its oldest entry",
	[SAMPLE_CUT] = "a sample without its newest entry",
	[ENTRY_FOREIGN] = "a transfer of another task",
	[ENTRY_SOURCE] = "a wrong source",
	[ENTRY_TARGET] = "a wrong target",
	[ENTRY_TYPE] = "a wrong type",
	[ENTRY_INVALID] = "an entry that is not valid",
	[ENTRIES_SWAPPED] = "entries in the wrong order",
	[SAMPLE_IP] = "a wrong ip",
	[SAMPLE_NOT_USER] = "a sample not marked as from user mode",
	[SAMPLE_TID] = "a sample of the wrong thread",
	[SAMPLE_PID] = "a sample of the wrong process",
	[SAMPLE_CPU] = "a sample of the wrong CPU",
	[SAMPLE_DEPTH] = "a wrong depth",
	[SAMPLE_CONTIGUOUS] = "a loss that is not told",
	[SWITCH_CONTIGUOUS] = "a loss by a switch that is not told",
	[LOSS_CLAIMED] = "a loss that there was not",
	[STATISTICS] = "statistics that do not add up",
	[NOT_FINALISED] = "an archive that was not finalised",
};

#define TASK_A 0xff60000001000000
#define TASK_B 0xff60000002000000
#define SATP_A 0x8000000000081000
#define SATP_B 0x8000000000082000
#define CONTROL 0x1101UL	/* U, STE, LCOFIFRZ */
#define KERNEL 0xffffffff80001000

static const uint8_t code[] = {
	0x01, 0x00,
	0x13, 0x05, 0x15, 0x00,
	0xef, 0x00, 0xe0, 0x00,
	0x01, 0x00,
	0xe3, 0x1b, 0x05, 0xfe,
	0x73, 0x00, 0x00, 0x00,
	0x01, 0x00,
	0x82, 0x80,
};

/* As QEMU would translate it; twice, first for A then for B. */
enum { START, AGAIN, WORK, CONDITION, ECALL, REST, PIECES };

static const struct {
	uint32_t at;
	uint32_t n;
	uint32_t opcodes[3];
} pieces[PIECES] = {
	[START] = { 0x00, 3, { 0x0001, 0x00150513, 0x00e000ef } },
	[AGAIN] = { 0x02, 2, { 0x00150513, 0x00e000ef } },
	[WORK] = { 0x14, 2, { 0x0001, 0x8082 } },
	[CONDITION] = { 0x0a, 2, { 0x0001, 0xfe051be3 } },
	[ECALL] = { 0x10, 1, { 0x00000073 } },
	[REST] = { 0x0c, 1, { 0xfe051be3 } },
};

static void put(struct world *world, uint64_t number)
{
	for (; number >= 0x80; number >>= 7)
		putc(0x80 | (number & 0x7f), world->log);
	putc(number, world->log);
}

void world_event(struct world *world, enum truth_kind kind, const uint64_t *fields)
{
	bool stamped = kind != TRUTH_RUN;

	putc(kind, world->log);
	if (stamped)
		put(world, 1);
	for (int i = 0; i < truth_fields[kind] - stamped; i++)
		put(world, fields[i]);
}

#define log_event(world, kind, ...) world_event(world, kind, (const uint64_t[5]){ __VA_ARGS__ })

static void return_to_user(struct world *world)
{
	log_event(world, TRUTH_RETURN, world->base ? TASK_B : TASK_A, 100, 0, 0);
}

static void record(struct world *world, uint64_t source, uint64_t target, unsigned int type)
{
	world->made[world->n_made++] = (struct flowtap_entry){
		world->program + (source | 1), target ? world->program + target : 0, type,
	};
}

static void run_piece(struct world *world, unsigned int piece)
{
	log_event(world, TRUTH_RUN, world->base + piece, 0, pieces[piece].n, 1);
}

/* A turn of the loop from `again` back to there. */
static void turn(struct world *world, unsigned int first)
{
	run_piece(world, first);
	record(world, 0x06, 0x14, 9);
	run_piece(world, WORK);
	record(world, 0x16, 0x0a, 13);
	run_piece(world, CONDITION);
	record(world, 0x0c, 0x02, 5);
}

static void trap(struct world *world, bool interrupt, uint64_t pc, unsigned int cause)
{
	log_event(world, TRUTH_TRAP, TRUTH_TRAP_USER | interrupt, world->program + pc, KERNEL,
		  cause, world->base ? TASK_B : TASK_A);
	if (!interrupt || cause != TRUTH_CAUSE_LCOFI)
		record(world, pc, 0, interrupt ? 2 : 1);
}

/* What the driver does, from the LCOFI at `pc` to the return. */
static void drain(struct world *world, uint64_t pc)
{
	unsigned int nr = world->n_made < DEPTH ? world->n_made : DEPTH;

	trap(world, true, pc, TRUTH_CAUSE_LCOFI);
	log_event(world, TRUTH_READ, TRUTH_SCTRSTATUS, 100, 20, 0);
	for (unsigned int i = 0; i < nr + (nr < DEPTH); i++) {
		unsigned int index = world->mutation == LOG_NOT_ORDERED ? i ^ 1 : i;

		log_event(world, TRUTH_WRITE, TRUTH_SISELECT, 0, 0x200 + index);
		log_event(world, TRUTH_READ, TRUTH_SIREG, 12, 12, 0);
		if (i < nr)
			log_event(world, TRUTH_READ, TRUTH_SIREG2, 2, 2, 0);
	}
	if (world->mutation != LOG_NOT_CLEARED)
		log_event(world, TRUTH_CLEAR, 5, 5, 0);
	log_event(world, TRUTH_WRITE, TRUTH_SCTRSTATUS, ~(1ULL << 31), 0);
	return_to_user(world);
}

static void sample(struct world *world, uint64_t pc)
{
	struct record *made = &world->records[world->n];
	unsigned int nr = world->n_made < DEPTH ? world->n_made : DEPTH;

	drain(world, pc);
	made->sample = (struct flowtap_record_sample){
		.header = { FLOWTAP_RECORD_SAMPLE, FLOWTAP_MISC_USER, 0 },
		.time = 1000 * (world->n + 1),
		.sequence = world->n,
		.ip = world->program + pc,
		.control = CONTROL,
		.pid = 7,
		.tid = 7,
		.trigger = FLOWTAP_TRIGGER_OVERFLOW,
		.loss = !world->n ? 1U << FLOWTAP_CAUSE_START :
			nr == DEPTH ? 1U << FLOWTAP_CAUSE_WRAPPED : 0,
		.depth = DEPTH,
		.nr = nr,
	};
	memcpy(made->entries, world->made + world->n_made - nr, nr * sizeof(made->entries[0]));
	world->n_made = 0;
	world->n++;
}

FILE *world_create(const struct world *world, const char *name, const char *magic)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", world->directory, name);
	file = fopen(path, "wb");
	if (!file)
		abort();
	fwrite(magic, 1, strlen(magic), file);
	return file;
}

static void write_code(const struct world *world)
{
	FILE *file = world_create(world, "log.code", TRUTH_CODE_MAGIC);

	for (int i = 0; i < 2 * PIECES; i++) {
		uint64_t address = (i < PIECES ? A : B) + pieces[i % PIECES].at;
		uint32_t opcodes[3];

		memcpy(opcodes, pieces[i % PIECES].opcodes, sizeof(opcodes));
		if (world->mutation == LOG_OPCODE && i == WORK)
			opcodes[0] = 0x0505;
		fwrite(&address, 8, 1, file);
		fwrite(&pieces[i % PIECES].n, 4, 1, file);
		fwrite(opcodes, 4, pieces[i % PIECES].n, file);
	}
	fclose(file);
}

static void switch_to(struct world *world, bool other)
{
	if (world->mutation != LOG_STRAY)
		log_event(world, TRUTH_WRITE, TRUTH_SCTRCTL, 0, 0);
	log_event(world, TRUTH_WRITE, TRUTH_SATP, 0, other ? SATP_B : SATP_A);
	world->base = other ? PIECES : 0;
	world->program = other ? B : A;
}

/* Task B for a moment, which is not recorded; A's recording begins anew. */
static void interlude(struct world *world)
{
	trap(world, true, 0x02, 5);
	switch_to(world, true);
	return_to_user(world);
	run_piece(world, AGAIN);
	trap(world, true, 0x14, 5);
	switch_to(world, false);
	log_event(world, TRUTH_CLEAR, 5, 5, 0);
	log_event(world, TRUTH_WRITE, TRUTH_SCTRCTL, 0, CONTROL);
	return_to_user(world);
	world->n_made = 0;
}

static void window_with_traps(struct world *world)
{
	turn(world, AGAIN);
	/* A page fault in the middle of a piece, after which it is entered anew. */
	log_event(world, TRUTH_RUN, AGAIN, 0, 1, 1);
	trap(world, false, 0x02, 13);
	if (world->mutation == LOG_UNRECORDED) {
		log_event(world, TRUTH_WRITE, TRUTH_SCTRCTL, 0, 0);
		return_to_user(world);
		run_piece(world, AGAIN);
		trap(world, true, 0x14, 5);
		log_event(world, TRUTH_WRITE, TRUTH_SCTRCTL, 0, CONTROL);
		return_to_user(world);
		run_piece(world, WORK);
		run_piece(world, CONDITION);
		world->n_made--;
		record(world, 0x16, 0x0a, 13);
		record(world, 0x0c, 0x02, 5);
	} else {
		return_to_user(world);
		turn(world, AGAIN);
	}
	/* A system call; the program goes on at `work`, which is next to it. */
	run_piece(world, AGAIN);
	record(world, 0x06, 0x14, 9);
	run_piece(world, WORK);
	record(world, 0x16, 0x0a, 13);
	run_piece(world, CONDITION);
	run_piece(world, ECALL);
	trap(world, false, 0x10, 8);
	return_to_user(world);
	run_piece(world, WORK);
	record(world, 0x16, 0x0a, 13);
	log_event(world, TRUTH_RUN, CONDITION, 0, 1, 1);
	sample(world, 0x0c);
	/* The interrupted branch and the rest of the turn. */
	run_piece(world, REST);
	record(world, 0x0c, 0x02, 5);
}

static void write_log(struct world *world)
{
	world->log = world_create(world, "log.0", TRUTH_HART_MAGIC);
	world->program = A;
	log_event(world, TRUTH_WRITE, TRUTH_SATP, 0, SATP_A);
	log_event(world, TRUTH_WRITE, TRUTH_SCTRCTL, 0, world->mutation == LOG_CONTROL ?
		  CONTROL | 1UL << 45 : CONTROL);
	return_to_user(world);
	turn(world, START);
	turn(world, AGAIN);
	if (world->mutation == LOG_SWITCH) {
		trap(world, true, 0x02, 5);
		world->base = PIECES;
		return_to_user(world);
		turn(world, AGAIN);
	}
	sample(world, 0x02);
	world->base = 0;
	for (int i = 0; i < 8; i++)
		turn(world, AGAIN);
	sample(world, 0x02);
	if (world->mutation == LOG_EXTRA_DRAIN) {
		turn(world, AGAIN);
		drain(world, 0x02);
		world->n_made = 0;
	}
	window_with_traps(world);
	if (world->mutation == LOG_MORE) {
		turn(world, AGAIN);
		world->n_made -= 3;
	}
	sample(world, 0x02);
	interlude(world);
	turn(world, AGAIN);
	trap(world, true, 0x02, 5);
	return_to_user(world);
	if (world->mutation == RESUMED_ELSEWHERE) {
		run_piece(world, START);
	} else {
		run_piece(world, AGAIN);
	}
	record(world, 0x06, 0x14, 9);
	run_piece(world, world->mutation == LOG_TORN ? CONDITION : WORK);
	record(world, 0x16, 0x0a, 13);
	sample(world, 0x0a);
	world->records[world->n - 1].sample.loss = world->mutation == SWITCH_CONTIGUOUS ? 0 :
		1U << FLOWTAP_CAUSE_SWITCH;
	if (world->mutation != LOG_TRUNCATED)
		putc(TRUTH_END, world->log);
	fclose(world->log);
}

static void swap(void *a, void *b, size_t size)
{
	uint8_t c[sizeof(struct record)];

	memcpy(c, a, size);
	memcpy(a, b, size);
	memcpy(b, c, size);
}

static void drop_entry(struct record *record, unsigned int at)
{
	memmove(&record->entries[at], &record->entries[at + 1],
		(--record->sample.nr - at) * sizeof(record->entries[0]));
}

/* Mutations of the samples, which the log is right about. */
static void mutate(struct world *world)
{
	struct record *one = &world->records[0], *full = &world->records[1];
	uint64_t time = one->sample.time, sequence = one->sample.sequence;

	switch (world->mutation) {
	case SAMPLE_MISSING:
		memmove(full, full + 1, --world->n * sizeof(*full) - sizeof(*full));
		break;
	case SAMPLE_TWICE:
		world->records[world->n++] = *one;
		world->records[world->n - 1].sample.time = 9000;
		break;
	case SAMPLES_SWAPPED:
		swap(one, &world->records[3], sizeof(*one));
		world->records[3].sample.time = one->sample.time;
		world->records[3].sample.sequence = one->sample.sequence;
		one->sample.time = time;
		one->sample.sequence = sequence;
		break;
	case SAMPLE_SHORT:
		drop_entry(one, 0);
		break;
	case SAMPLE_CUT:
		drop_entry(one, one->sample.nr - 1);
		break;
	case ENTRY_FOREIGN:
		one->entries[0].source += B - A;
		one->entries[0].target += B - A;
		break;
	case ENTRY_SOURCE:
		full->entries[3].source += 2;
		break;
	case ENTRY_TARGET:
		full->entries[3].target += 2;
		break;
	case ENTRY_TYPE:
		full->entries[3].data ^= 1;
		break;
	case ENTRY_INVALID:
		full->entries[0].source &= ~1ULL;
		break;
	case ENTRIES_SWAPPED:
		swap(&full->entries[4], &full->entries[5], sizeof(full->entries[0]));
		break;
	case SAMPLE_IP:
		one->sample.ip += 4;
		break;
	case SAMPLE_NOT_USER:
		one->sample.header.misc = 0;
		break;
	case SAMPLE_TID:
		world->records[3].sample.tid = 8;
		break;
	case SAMPLE_PID:
		world->records[2].sample.pid = 8;
		break;
	case SAMPLE_CPU:
		one->sample.cpu = 1;
		break;
	case SAMPLE_DEPTH:
		full->sample.depth = 32;
		break;
	case SAMPLE_CONTIGUOUS:
		full->sample.loss = 0;
		break;
	default:
		break;
	}
}

void world_block(struct flowtap_archive_writer *writer, unsigned int type, const void *first,
		 size_t first_size, const void *second, size_t second_size)
{
	if (flowtap_archive_write(writer, type, 0, 1, first, first_size, second, second_size))
		abort();
}

void world_image(struct flowtap_archive_writer *writer, const uint8_t *code, size_t size)
{
	static const char path[8] = "[code]";
	uint8_t payload[sizeof(struct flowtap_archive_mapping) + sizeof(path)];
	struct flowtap_archive_mapping mapping = {
		.start = A, .size = 0x1000, .pid = 7, .tid = 7, .executable = 1, .path_size = 6,
	};
	uint8_t bytes[0x1000] = { 0 };

	memcpy(bytes, code, size);
	for (mapping.pid = 7; mapping.pid <= 8; mapping.pid++) {
		memcpy(payload, &mapping, sizeof(mapping));
		memcpy(payload + sizeof(mapping), path, sizeof(path));
		world_block(writer, FLOWTAP_ARCHIVE_BYTES, payload, sizeof(payload), bytes,
			    sizeof(bytes));
	}
}

struct flowtap_archive_writer *world_archive(struct world *world)
{
	struct flowtap_archive_writer *writer;
	char path[64];

	snprintf(path, sizeof(path), "%s/archive", world->directory);
	world->fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (world->fd < 0 || flowtap_archive_create(world->fd, &writer))
		abort();
	return writer;
}

void world_archive_end(struct world *world, struct flowtap_archive_writer *writer)
{
	flowtap_archive_flush(writer);
	flowtap_archive_writer_free(writer);
	close(world->fd);
}

static void write_archive(struct world *world)
{
	struct flowtap_stats stats = { .samples = world->n };
	struct flowtap_archive_writer *writer = world_archive(world);
	uint8_t bytes[sizeof(code)];

	memcpy(bytes, code, sizeof(code));
	if (world->mutation == CODE)
		bytes[0x04] = 0x25;	/* addi a0, a0, 2 */
	world_image(writer, bytes, sizeof(bytes));
	for (unsigned int i = 0; i < world->n; i++) {
		struct record *record = &world->records[i];

		record->sample.header.size = sizeof(record->sample) +
					     record->sample.nr * sizeof(record->entries[0]);
		world_block(writer, FLOWTAP_ARCHIVE_RING, record, record->sample.header.size, NULL,
			    0);
	}
	stats.samples += world->mutation == STATISTICS;
	stats.lost_samples = world->mutation == LOSS_CLAIMED;
	world_block(writer, FLOWTAP_ARCHIVE_STATS, &stats, sizeof(stats), NULL, 0);
	if (world->mutation != NOT_FINALISED)
		world_block(writer, FLOWTAP_ARCHIVE_END, NULL, 0, NULL, 0);
	world_archive_end(world, writer);
}

void world_directory(struct world *world)
{
	strcpy(world->directory, "/tmp/truth.XXXXXX");
	if (!mkdtemp(world->directory))
		abort();
}

void world_make(struct world *world, enum mutation mutation)
{
	memset(world, 0, sizeof(*world));
	world->mutation = mutation;
	world_directory(world);
	write_code(world);
	write_log(world);
	mutate(world);
	write_archive(world);
}

void world_remove(const struct world *world)
{
	static const char *const files[] = { "log.code", "log.0", "archive" };
	char path[64];

	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", world->directory, files[i]);
		unlink(path);
	}
	rmdir(world->directory);
}
