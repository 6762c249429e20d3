// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes the log's events and the buffer's entries side by side from pieces of the program,
 * applies the one mutation, and writes log and archive.
 */
#include "synthetic_log.h"

#include <fcntl.h>
#include <flowtap/archive.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

const char *const synthetic_log_names[MUTATIONS] = {
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

static void put(struct synthetic_log *synthetic, uint64_t number)
{
	for (; number >= 0x80; number >>= 7)
		putc(0x80 | (number & 0x7f), synthetic->log);
	putc(number, synthetic->log);
}

void synthetic_log_event(struct synthetic_log *synthetic, enum oracle_kind kind,
			 const uint64_t *fields)
{
	bool stamped = kind != ORACLE_RUN;

	putc(kind, synthetic->log);
	if (stamped)
		put(synthetic, 1);
	for (int i = 0; i < oracle_fields[kind] - stamped; i++)
		put(synthetic, fields[i]);
}

#define log_event(synthetic, kind, ...) synthetic_log_event(synthetic, kind, \
							    (const uint64_t[5]){ __VA_ARGS__ })

static void return_to_user(struct synthetic_log *synthetic)
{
	log_event(synthetic, ORACLE_RETURN, synthetic->base ? TASK_B : TASK_A, 100, 0, 0);
}

static void record(struct synthetic_log *synthetic, uint64_t source, uint64_t target,
		   unsigned int type)
{
	synthetic->made[synthetic->n_made++] = (struct flowtap_entry){
		synthetic->program + (source | 1), target ? synthetic->program + target : 0, type,
	};
}

static void run_piece(struct synthetic_log *synthetic, unsigned int piece)
{
	log_event(synthetic, ORACLE_RUN, synthetic->base + piece, 0, pieces[piece].n, 1);
}

/* A turn of the loop from `again` back to there. */
static void turn(struct synthetic_log *synthetic, unsigned int first)
{
	run_piece(synthetic, first);
	record(synthetic, 0x06, 0x14, 9);
	run_piece(synthetic, WORK);
	record(synthetic, 0x16, 0x0a, 13);
	run_piece(synthetic, CONDITION);
	record(synthetic, 0x0c, 0x02, 5);
}

static void trap(struct synthetic_log *synthetic, bool interrupt, uint64_t pc, unsigned int cause)
{
	log_event(synthetic, ORACLE_TRAP, ORACLE_TRAP_USER | interrupt, synthetic->program + pc,
		  KERNEL, cause, synthetic->base ? TASK_B : TASK_A);
	if (!interrupt || cause != ORACLE_CAUSE_LCOFI)
		record(synthetic, pc, 0, interrupt ? 2 : 1);
}

/* What the driver does, from the LCOFI at `pc` to the return. */
static void drain(struct synthetic_log *synthetic, uint64_t pc)
{
	unsigned int nr = synthetic->n_made < DEPTH ? synthetic->n_made : DEPTH;

	trap(synthetic, true, pc, ORACLE_CAUSE_LCOFI);
	log_event(synthetic, ORACLE_READ, ORACLE_SCTRSTATUS, 100, 20, 0);
	for (unsigned int i = 0; i < nr + (nr < DEPTH); i++) {
		unsigned int index = synthetic->mutation == LOG_NOT_ORDERED ? i ^ 1 : i;

		log_event(synthetic, ORACLE_WRITE, ORACLE_SISELECT, 0, 0x200 + index);
		log_event(synthetic, ORACLE_READ, ORACLE_SIREG, 12, 12, 0);
		if (i < nr)
			log_event(synthetic, ORACLE_READ, ORACLE_SIREG2, 2, 2, 0);
	}
	if (synthetic->mutation != LOG_NOT_CLEARED)
		log_event(synthetic, ORACLE_CLEAR, 5, 5, 0);
	log_event(synthetic, ORACLE_WRITE, ORACLE_SCTRSTATUS, ~(1ULL << 31), 0);
	return_to_user(synthetic);
}

static void sample(struct synthetic_log *synthetic, uint64_t pc)
{
	struct record *made = &synthetic->records[synthetic->n];
	unsigned int nr = synthetic->n_made < DEPTH ? synthetic->n_made : DEPTH;

	drain(synthetic, pc);
	made->sample = (struct flowtap_record_sample){
		.header = { FLOWTAP_RECORD_SAMPLE, FLOWTAP_MISC_USER, 0 },
		.time = 1000 * (synthetic->n + 1),
		.sequence = synthetic->n,
		.ip = synthetic->program + pc,
		.control = CONTROL,
		.pid = 7,
		.tid = 7,
		.trigger = FLOWTAP_TRIGGER_OVERFLOW,
		.loss = !synthetic->n ? 1U << FLOWTAP_CAUSE_START :
			nr == DEPTH ? 1U << FLOWTAP_CAUSE_WRAPPED : 0,
		.depth = DEPTH,
		.nr = nr,
	};
	memcpy(made->entries, synthetic->made + synthetic->n_made - nr,
	       nr * sizeof(made->entries[0]));
	synthetic->n_made = 0;
	synthetic->n++;
}

FILE *synthetic_log_create(const struct synthetic_log *synthetic, const char *name,
			   const char *magic)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", synthetic->directory, name);
	file = fopen(path, "wb");
	if (!file)
		abort();
	fwrite(magic, 1, strlen(magic), file);
	return file;
}

static void write_code(const struct synthetic_log *synthetic)
{
	FILE *file = synthetic_log_create(synthetic, "log.code", ORACLE_CODE_MAGIC);

	for (int i = 0; i < 2 * PIECES; i++) {
		uint64_t address = (i < PIECES ? A : B) + pieces[i % PIECES].at;
		uint32_t opcodes[3];

		memcpy(opcodes, pieces[i % PIECES].opcodes, sizeof(opcodes));
		if (synthetic->mutation == LOG_OPCODE && i == WORK)
			opcodes[0] = 0x0505;
		fwrite(&address, 8, 1, file);
		fwrite(&pieces[i % PIECES].n, 4, 1, file);
		fwrite(opcodes, 4, pieces[i % PIECES].n, file);
	}
	fclose(file);
}

static void switch_to(struct synthetic_log *synthetic, bool other)
{
	if (synthetic->mutation != LOG_STRAY)
		log_event(synthetic, ORACLE_WRITE, ORACLE_SCTRCTL, 0, 0);
	log_event(synthetic, ORACLE_WRITE, ORACLE_SATP, 0, other ? SATP_B : SATP_A);
	synthetic->base = other ? PIECES : 0;
	synthetic->program = other ? B : A;
}

/* Task B for a moment, which is not recorded; A's recording begins anew. */
static void interlude(struct synthetic_log *synthetic)
{
	trap(synthetic, true, 0x02, 5);
	switch_to(synthetic, true);
	return_to_user(synthetic);
	run_piece(synthetic, AGAIN);
	trap(synthetic, true, 0x14, 5);
	switch_to(synthetic, false);
	log_event(synthetic, ORACLE_CLEAR, 5, 5, 0);
	log_event(synthetic, ORACLE_WRITE, ORACLE_SCTRCTL, 0, CONTROL);
	return_to_user(synthetic);
	synthetic->n_made = 0;
}

static void window_with_traps(struct synthetic_log *synthetic)
{
	turn(synthetic, AGAIN);
	/* A page fault in the middle of a piece, after which it is entered anew. */
	log_event(synthetic, ORACLE_RUN, AGAIN, 0, 1, 1);
	trap(synthetic, false, 0x02, 13);
	if (synthetic->mutation == LOG_UNRECORDED) {
		log_event(synthetic, ORACLE_WRITE, ORACLE_SCTRCTL, 0, 0);
		return_to_user(synthetic);
		run_piece(synthetic, AGAIN);
		trap(synthetic, true, 0x14, 5);
		log_event(synthetic, ORACLE_WRITE, ORACLE_SCTRCTL, 0, CONTROL);
		return_to_user(synthetic);
		run_piece(synthetic, WORK);
		run_piece(synthetic, CONDITION);
		synthetic->n_made--;
		record(synthetic, 0x16, 0x0a, 13);
		record(synthetic, 0x0c, 0x02, 5);
	} else {
		return_to_user(synthetic);
		turn(synthetic, AGAIN);
	}
	/* A system call; the program goes on at `work`, which is next to it. */
	run_piece(synthetic, AGAIN);
	record(synthetic, 0x06, 0x14, 9);
	run_piece(synthetic, WORK);
	record(synthetic, 0x16, 0x0a, 13);
	run_piece(synthetic, CONDITION);
	run_piece(synthetic, ECALL);
	trap(synthetic, false, 0x10, 8);
	return_to_user(synthetic);
	run_piece(synthetic, WORK);
	record(synthetic, 0x16, 0x0a, 13);
	log_event(synthetic, ORACLE_RUN, CONDITION, 0, 1, 1);
	sample(synthetic, 0x0c);
	/* The interrupted branch and the rest of the turn. */
	run_piece(synthetic, REST);
	record(synthetic, 0x0c, 0x02, 5);
}

/* The driver looks at B, which is left at once, and A leaves before it has made a transfer. */
static void empty_first(struct synthetic_log *synthetic)
{
	struct flowtap_record_sample *made = &synthetic->records[synthetic->n].sample;

	switch_to(synthetic, true);
	log_event(synthetic, ORACLE_WRITE, ORACLE_SCTRCTL, 0, CONTROL);
	return_to_user(synthetic);
	drain(synthetic, 0x02);
	trap(synthetic, true, 0x02, 5);
	switch_to(synthetic, false);
	log_event(synthetic, ORACLE_CLEAR, 5, 5, 0);
	log_event(synthetic, ORACLE_WRITE, ORACLE_SCTRCTL, 0, CONTROL);
	synthetic->n_made = 0;
	return_to_user(synthetic);
	sample(synthetic, 0x00);
	made->trigger = FLOWTAP_TRIGGER_SWITCH;
	made->ip = 0;
	made->header.misc = 0;
}

static void write_log(struct synthetic_log *synthetic)
{
	synthetic->log = synthetic_log_create(synthetic, "log.0", ORACLE_HART_MAGIC);
	synthetic->program = A;
	log_event(synthetic, ORACLE_WRITE, ORACLE_SATP, 0, SATP_A);
	log_event(synthetic, ORACLE_WRITE, ORACLE_SCTRCTL, 0, synthetic->mutation == LOG_CONTROL ?
		  CONTROL | 1UL << 45 : CONTROL);
	if (synthetic->mutation == EMPTY_FIRST)
		empty_first(synthetic);
	return_to_user(synthetic);
	turn(synthetic, START);
	turn(synthetic, AGAIN);
	if (synthetic->mutation == LOG_SWITCH) {
		trap(synthetic, true, 0x02, 5);
		synthetic->base = PIECES;
		return_to_user(synthetic);
		turn(synthetic, AGAIN);
	}
	sample(synthetic, 0x02);
	synthetic->base = 0;
	for (int i = 0; i < 8; i++)
		turn(synthetic, AGAIN);
	sample(synthetic, 0x02);
	if (synthetic->mutation == LOG_EXTRA_DRAIN) {
		turn(synthetic, AGAIN);
		drain(synthetic, 0x02);
		synthetic->n_made = 0;
	}
	window_with_traps(synthetic);
	if (synthetic->mutation == LOG_MORE) {
		turn(synthetic, AGAIN);
		synthetic->n_made -= 3;
	}
	sample(synthetic, 0x02);
	interlude(synthetic);
	turn(synthetic, AGAIN);
	trap(synthetic, true, 0x02, 5);
	if (synthetic->mutation == LOOKED)
		log_event(synthetic, ORACLE_READ, ORACLE_SCTRSTATUS, 100, 20, 0);
	return_to_user(synthetic);
	if (synthetic->mutation == RESUMED_ELSEWHERE) {
		run_piece(synthetic, START);
	} else {
		run_piece(synthetic, AGAIN);
	}
	record(synthetic, 0x06, 0x14, 9);
	run_piece(synthetic, synthetic->mutation == LOG_TORN ? CONDITION : WORK);
	record(synthetic, 0x16, 0x0a, 13);
	sample(synthetic, 0x0a);
	synthetic->records[synthetic->n - 1].sample.loss =
		synthetic->mutation == SWITCH_CONTIGUOUS ? 0 :
		1U << FLOWTAP_CAUSE_SWITCH;
	if (synthetic->mutation != LOG_TRUNCATED)
		putc(ORACLE_END, synthetic->log);
	fclose(synthetic->log);
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
static void mutate(struct synthetic_log *synthetic)
{
	struct record *one = &synthetic->records[0], *full = &synthetic->records[1];
	uint64_t time = one->sample.time, sequence = one->sample.sequence;

	switch (synthetic->mutation) {
	case SAMPLE_MISSING:
		memmove(full, full + 1, --synthetic->n * sizeof(*full) - sizeof(*full));
		break;
	case SAMPLE_TWICE:
		synthetic->records[synthetic->n++] = *one;
		synthetic->records[synthetic->n - 1].sample.time = 9000;
		break;
	case SAMPLES_SWAPPED:
		swap(one, &synthetic->records[3], sizeof(*one));
		synthetic->records[3].sample.time = one->sample.time;
		synthetic->records[3].sample.sequence = one->sample.sequence;
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
		synthetic->records[3].sample.tid = 8;
		break;
	case SAMPLE_PID:
		synthetic->records[2].sample.pid = 8;
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

void synthetic_log_block(struct flowtap_archive_writer *writer, unsigned int type,
			 const void *first,
			 size_t first_size, const void *second, size_t second_size)
{
	if (flowtap_archive_write(writer, type, 0, 1, first, first_size, second, second_size))
		abort();
}

void synthetic_log_image(struct flowtap_archive_writer *writer, const uint8_t *code, size_t size)
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
		synthetic_log_block(writer, FLOWTAP_ARCHIVE_BYTES, payload, sizeof(payload), bytes,
				    sizeof(bytes));
	}
}

struct flowtap_archive_writer *synthetic_log_archive(struct synthetic_log *synthetic)
{
	struct flowtap_archive_writer *writer;
	char path[64];

	snprintf(path, sizeof(path), "%s/archive", synthetic->directory);
	synthetic->fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (synthetic->fd < 0 || flowtap_archive_create(synthetic->fd, &writer))
		abort();
	return writer;
}

void synthetic_log_archive_end(struct synthetic_log *synthetic,
			       struct flowtap_archive_writer *writer)
{
	flowtap_archive_flush(writer);
	flowtap_archive_writer_free(writer);
	close(synthetic->fd);
}

static void write_archive(struct synthetic_log *synthetic)
{
	struct flowtap_stats stats = { .samples = synthetic->n };
	struct flowtap_archive_writer *writer = synthetic_log_archive(synthetic);
	uint8_t bytes[sizeof(code)];

	memcpy(bytes, code, sizeof(code));
	if (synthetic->mutation == CODE)
		bytes[0x04] = 0x25;	/* addi a0, a0, 2 */
	synthetic_log_image(writer, bytes, sizeof(bytes));
	for (unsigned int i = 0; i < synthetic->n; i++) {
		struct record *record = &synthetic->records[i];

		record->sample.header.size = sizeof(record->sample) +
					     record->sample.nr * sizeof(record->entries[0]);
		synthetic_log_block(writer, FLOWTAP_ARCHIVE_RING, record,
				    record->sample.header.size, NULL, 0);
	}
	stats.samples += synthetic->mutation == STATISTICS;
	stats.lost_samples = synthetic->mutation == LOSS_CLAIMED;
	synthetic_log_block(writer, FLOWTAP_ARCHIVE_STATS, &stats, sizeof(stats), NULL, 0);
	if (synthetic->mutation != NOT_FINALISED)
		synthetic_log_block(writer, FLOWTAP_ARCHIVE_END, NULL, 0, NULL, 0);
	synthetic_log_archive_end(synthetic, writer);
}

void synthetic_log_directory(struct synthetic_log *synthetic)
{
	strcpy(synthetic->directory, "/tmp/truth.XXXXXX");
	if (!mkdtemp(synthetic->directory))
		abort();
}

void synthetic_log_make(struct synthetic_log *synthetic, enum mutation mutation)
{
	memset(synthetic, 0, sizeof(*synthetic));
	synthetic->mutation = mutation;
	synthetic_log_directory(synthetic);
	write_code(synthetic);
	write_log(synthetic);
	mutate(synthetic);
	write_archive(synthetic);
}

void synthetic_log_remove(const struct synthetic_log *synthetic)
{
	static const char *const files[] = { "log.code", "log.0", "archive" };
	char path[64];

	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", synthetic->directory, files[i]);
		unlink(path);
	}
	rmdir(synthetic->directory);
}
