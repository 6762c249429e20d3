// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes the log and the samples of each run side by side from pieces of the program, and writes
 * them.
 */
#include "modes.h"

#include <fcntl.h>
#include <flowtap/archive.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

const char *const modes_names[MODES] = {
	[KERNEL_MISSING] = "a missing transfer of the kernel",
	[KERNEL_TARGET] = "a wrong target in the kernel",
	[TRAP_TARGET] = "a wrong target of a trap",
	[RETURN_SOURCE] = "a wrong source of a trap return",
	[FILTERED_TYPE] = "an entry of a type that is filtered out",
	[FILTERED_OTHER] = "a missing entry of a type that is not filtered out",
	[FRAME_WRONG] = "a wrong frame in a call stack",
	[FRAME_MISSING] = "a call stack without a frame",
	[FRAME_STALE] = "a frame of a function that has returned",
	[HISTORY_SHORT] = "a sample without what was put back",
	[KERNEL_LOG_MORE] = "a transfer of the kernel that was not recorded",
	[KERNEL_LOG_OPCODE] = "another instruction in the kernel",
	[KERNEL_LOG_PAUSED] = "a pause of the kernel's recording that is not told",
	[FILTER_LOG_CONTROL] = "a filter that was not set",
	[THAW_LOG_ELSEWHERE] = "a trap put in that was elsewhere",
	[HISTORY_LOG_ALTERED] = "other entries put back than were taken",
	[HISTORY_LOG_NOT_BACK] = "a history that was not put back, without a loss told",
	[HISTORY_LOG_OTHER] = "a history put back for another task",
};

#define TASK_1 0xff60000001000000
#define TASK_2 0xff60000002000000
#define K 0xffffffff80001000UL
#define RETINH (1UL << 45)
#define FROZEN (1UL << 31)

static const uint8_t user_code[] = {
	0x01, 0x00,
	0x13, 0x05, 0x15, 0x00,
	0xef, 0x00, 0xe0, 0x00,
	0x01, 0x00,
	0xe3, 0x1b, 0x05, 0xfe,
	0x73, 0x00, 0x00, 0x00,
	0x01, 0x00,
	0x82, 0x80,
};

static const uint8_t kernel_code[] = {
	0x01, 0x00,
	0xef, 0x00, 0x80, 0x00,
	0x73, 0x00, 0x20, 0x10,
	0x01, 0x00,
	0x82, 0x80,
	0x73, 0x00, 0x20, 0x10,
};

enum { START, WORK, CONDITION, ECALL, HANDLER, LEAF, RETURN, RESUME, PIECES };

static const struct {
	uint64_t at;
	uint32_t n;
	uint32_t opcodes[3];
} pieces[PIECES] = {
	[START] = { A, 3, { 0x0001, 0x00150513, 0x00e000ef } },
	[WORK] = { A + 0x14, 2, { 0x0001, 0x8082 } },
	[CONDITION] = { A + 0x0a, 2, { 0x0001, 0xfe051be3 } },
	[ECALL] = { A + 0x10, 1, { 0x00000073 } },
	[HANDLER] = { K, 2, { 0x0001, 0x008000ef } },
	[LEAF] = { K + 0x0a, 2, { 0x0001, 0x8082 } },
	[RETURN] = { K + 0x06, 1, { 0x10200073 } },
	[RESUME] = { K + 0x0e, 1, { 0x10200073 } },
};

#define event(synthetic, kind, ...) synthetic_log_event(synthetic, kind, \
							(const uint64_t[5]){ __VA_ARGS__ })

static void run(struct synthetic_log *synthetic, unsigned int piece, unsigned int n)
{
	event(synthetic, ORACLE_RUN, piece, 0, n, 1);
}

static void freeze(struct synthetic_log *synthetic, bool frozen)
{
	event(synthetic, ORACLE_WRITE, ORACLE_SCTRSTATUS, frozen ? ~0UL : ~FROZEN,
	      frozen ? FROZEN : 0);
}

static void begin(struct synthetic_log *synthetic, uint64_t control)
{
	event(synthetic, ORACLE_TASK, TASK_1);
	event(synthetic, ORACLE_CLEAR, 1, 1, 0);
	freeze(synthetic, true);
	event(synthetic, ORACLE_WRITE, ORACLE_SCTRCTL, 0, control);
	synthetic->control = control;
}

static void go_on(struct synthetic_log *synthetic)
{
	freeze(synthetic, false);
	if (synthetic->control & ORACLE_CONTROL_S)
		run(synthetic, RESUME, 1);
	event(synthetic, ORACLE_RETURN, TASK_1, 9, 9, 0);
}

static void trap(struct synthetic_log *synthetic, bool interrupt, uint64_t pc, unsigned int cause)
{
	event(synthetic, ORACLE_TRAP, ORACLE_TRAP_USER | interrupt, A + pc, K, cause, TASK_1);
}

static void drain(struct synthetic_log *synthetic, unsigned int nr)
{
	freeze(synthetic, true);
	for (unsigned int i = 0; i <= nr; i++) {
		event(synthetic, ORACLE_WRITE, ORACLE_SISELECT, 0, 0x200 + i);
		event(synthetic, ORACLE_READ, ORACLE_SIREG, 1, 1, 0);
		if (i < nr)
			event(synthetic, ORACLE_READ, ORACLE_SIREG2, 1, 1, 0);
	}
	event(synthetic, ORACLE_WRITE, ORACLE_SISELECT, 0, 0);
	if (!(synthetic->control & ORACLE_CONTROL_RASEMU))
		event(synthetic, ORACLE_CLEAR, 1, 1, 0);
}

/* The LCOFI at pc and the sample; whose entries follow. */
static struct record *sample(struct synthetic_log *synthetic, uint64_t pc,
			     const struct flowtap_entry *entries, unsigned int nr)
{
	struct record *record = &synthetic->records[synthetic->n];

	trap(synthetic, true, pc, ORACLE_CAUSE_LCOFI);
	drain(synthetic, nr);
	record->sample = (struct flowtap_record_sample){
		.header = { FLOWTAP_RECORD_SAMPLE, FLOWTAP_MISC_USER, 0 },
		.time = 1000 * (synthetic->n + 1),
		.sequence = synthetic->n,
		.ip = A + pc,
		.control = synthetic->control,
		.pid = 7,
		.tid = 7,
		.trigger = FLOWTAP_TRIGGER_OVERFLOW,
		.loss = synthetic->n ? 0 : 1U << FLOWTAP_CAUSE_START,
		.depth = DEPTH,
		.nr = nr,
	};
	memcpy(record->entries, entries, nr * sizeof(*entries));
	synthetic->n++;
	return record;
}

static void drop(struct record *record, unsigned int at)
{
	memmove(&record->entries[at], &record->entries[at + 1],
		(--record->sample.nr - at) * sizeof(record->entries[0]));
}

#define ENTRY(source, target, type) { (source) | 1, target, type }

static void make_both(struct synthetic_log *synthetic, enum modes modes)
{
	static const struct flowtap_entry entries[] = {
		ENTRY(K + 0x0e, A, 3),
		ENTRY(A + 0x06, A + 0x14, 9),
		ENTRY(A + 0x16, A + 0x0a, 13),
		ENTRY(A + 0x10, K, 1),
		ENTRY(K + 0x02, K + 0x0a, 9),
		ENTRY(K + 0x0c, K + 0x06, 13),
		ENTRY(K + 0x06, A + 0x14, 3),
		ENTRY(A + 0x16, A + 0x0a, 13),
	};
	struct record *record;

	begin(synthetic, 0x1003);
	go_on(synthetic);
	run(synthetic, START, 3);
	run(synthetic, WORK, 2);
	run(synthetic, CONDITION, 2);
	run(synthetic, ECALL, 1);
	trap(synthetic, false, 0x10, 8);
	for (int i = 0; i <= (modes == KERNEL_LOG_MORE); i++) {
		run(synthetic, HANDLER, 2);
		if (modes == KERNEL_LOG_PAUSED && !i) {
			freeze(synthetic, true);
			freeze(synthetic, false);
		}
		run(synthetic, LEAF, 2);
	}
	run(synthetic, RETURN, 1);
	event(synthetic, ORACLE_RETURN, TASK_1, 9, 9, 0);
	run(synthetic, WORK, 2);
	record = sample(synthetic, 0x0a, entries, 8);
	switch (modes) {
	case KERNEL_MISSING:
		drop(record, 4);
		break;
	case KERNEL_TARGET:
		record->entries[5].target += 2;
		break;
	case TRAP_TARGET:
		record->entries[3].target = 0;
		break;
	case RETURN_SOURCE:
		record->entries[6].source = 1;
		break;
	default:
		break;
	}
}

static void make_filtered(struct synthetic_log *synthetic, enum modes modes)
{
	static const struct flowtap_entry entries[] = {
		ENTRY(A + 0x06, A + 0x14, 9),
		ENTRY(A + 0x10, 0, 1),
	};
	struct record *record;

	begin(synthetic, modes == FILTER_LOG_CONTROL ? 0x1101 : 0x1101 | RETINH);
	synthetic->control = 0x1101 | RETINH;
	go_on(synthetic);
	run(synthetic, START, 3);
	run(synthetic, WORK, 2);
	run(synthetic, CONDITION, 2);
	run(synthetic, ECALL, 1);
	trap(synthetic, false, 0x10, 8);
	event(synthetic, ORACLE_RETURN, TASK_1, 9, 9, 0);
	run(synthetic, WORK, 1);
	record = sample(synthetic, 0x16, entries, 2);
	if (modes == FILTERED_OTHER)
		drop(record, 0);
	if (modes != FILTERED_TYPE)
		return;
	record->entries[2] = record->entries[1];
	record->entries[1] = (struct flowtap_entry)ENTRY(A + 0x16, A + 0x0a, 13);
	record->sample.nr++;
}

static void make_stack(struct synthetic_log *synthetic, enum modes modes)
{
	static const struct flowtap_entry entries[] = { ENTRY(A + 0x06, A + 0x14, 9) };
	struct record *record;

	begin(synthetic, 0x1081);
	go_on(synthetic);
	/* A call that returns and one that has not. */
	run(synthetic, START, 3);
	run(synthetic, WORK, 2);
	run(synthetic, CONDITION, 2);
	run(synthetic, ECALL, 1);
	trap(synthetic, false, 0x10, 8);
	event(synthetic, ORACLE_RETURN, TASK_1, 9, 9, 0);
	run(synthetic, START, 3);
	run(synthetic, WORK, 1);
	record = sample(synthetic, 0x16, entries, 1);
	if (modes == FRAME_WRONG)
		record->entries[0].source += 4;
	if (modes == FRAME_MISSING)
		record->sample.nr = 0;
	if (modes != FRAME_STALE)
		return;
	record->entries[1] = record->entries[0];
	record->sample.nr++;
}

static void put_back(struct synthetic_log *synthetic, const struct flowtap_entry *entries,
		     unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		const struct flowtap_entry *entry = &entries[nr - 1 - i];

		event(synthetic, ORACLE_WRITE, ORACLE_SISELECT, 0, 0x200 + i);
		event(synthetic, ORACLE_COUNTS, 10 + 90 * !i, 10 + 90 * !i, 0);
		event(synthetic, ORACLE_WRITE, ORACLE_SIREG, 0, entry->source);
		event(synthetic, ORACLE_WRITE, ORACLE_SIREG2, 0, entry->target);
		event(synthetic, ORACLE_WRITE, ORACLE_SIREG3, 0, entry->data);
	}
	event(synthetic, ORACLE_WRITE, ORACLE_SISELECT, 0, 0);
}

static void make_history(struct synthetic_log *synthetic, enum modes modes)
{
	static const struct flowtap_entry first[] = { ENTRY(A + 0x06, A + 0x14, 9) };
	static const struct flowtap_entry entries[] = {
		ENTRY(A + 0x16, A + 0x0a, 13),
		ENTRY(A + 0x10, 0, 1),
		ENTRY(A + 0x16, A + 0x0a, 13),
	};
	struct flowtap_entry back[2] = { entries[0], entries[1] };
	bool nothing = modes == HISTORY_LOG_NOT_BACK;
	struct record *record;

	begin(synthetic, 0x1101);
	go_on(synthetic);
	run(synthetic, START, 3);
	run(synthetic, WORK, 1);
	sample(synthetic, 0x16, first, 1);
	go_on(synthetic);
	event(synthetic, ORACLE_RUN, WORK, 0, 0, 1);
	/* The rest of WORK: the interrupted ret. */
	run(synthetic, PIECES, 1);
	run(synthetic, CONDITION, 2);
	run(synthetic, ECALL, 1);
	trap(synthetic, false, 0x10, 8);
	drain(synthetic, 2);
	event(synthetic, ORACLE_WRITE, ORACLE_SCTRCTL, 0, 0);
	event(synthetic, ORACLE_TASK, TASK_2);
	begin(synthetic, 0x1101);
	if (modes == HISTORY_LOG_ALTERED)
		back[0].source -= 2;
	if (!nothing)
		put_back(synthetic, back, 2);
	freeze(synthetic, false);
	event(synthetic, ORACLE_RETURN, modes == HISTORY_LOG_OTHER ? TASK_2 : TASK_1, 9, 9, 0);
	run(synthetic, WORK, 2);
	record = sample(synthetic, 0x0a, nothing ? entries + 2 : entries, nothing ? 1 : 3);
	if (modes == HISTORY_LOG_ALTERED)
		record->entries[0] = back[0];
	if (modes == HISTORY_SHORT) {
		drop(record, 0);
		drop(record, 0);
	}
}

static void make_thawed(struct synthetic_log *synthetic, enum modes modes)
{
	struct flowtap_entry entries[] = {
		ENTRY(K + 0x0e, A, 3),
		ENTRY(A + 0x06, A + 0x14, 9),
		ENTRY(A + 0x16, A + 0x0a, 13),
		ENTRY(A + 0x0a, 0, 2),
		ENTRY(K + 0x0e, A + 0x0a, 3),
	};

	if (modes == THAW_LOG_ELSEWHERE)
		entries[3].source += 2;
	begin(synthetic, 0x1003);
	go_on(synthetic);
	run(synthetic, START, 3);
	run(synthetic, WORK, 2);
	trap(synthetic, true, 0x0a, ORACLE_CAUSE_LCOFI);
	/* Three entries are in it, and the next one is made room for. */
	event(synthetic, ORACLE_WRITE, ORACLE_SCTRSTATUS, 0, FROZEN | 4);
	put_back(synthetic, &entries[3], 1);
	go_on(synthetic);
	run(synthetic, CONDITION, 2);
	sample(synthetic, 0x10, entries, 5);
}

static void write_code(const struct synthetic_log *synthetic, enum modes modes)
{
	static const uint32_t rest = 0x8082, one = 1;
	static const uint64_t at = A + 0x16;
	FILE *file = synthetic_log_create(synthetic, "log.code", ORACLE_CODE_MAGIC);

	for (int i = 0; i < PIECES; i++) {
		uint32_t opcodes[3];

		memcpy(opcodes, pieces[i].opcodes, sizeof(opcodes));
		if (i == LEAF && modes == KERNEL_LOG_OPCODE)
			opcodes[0] = 0x0505;
		fwrite(&pieces[i].at, 8, 1, file);
		fwrite(&pieces[i].n, 4, 1, file);
		fwrite(opcodes, 4, pieces[i].n, file);
	}
	fwrite(&at, 8, 1, file);
	fwrite(&one, 4, 1, file);
	fwrite(&rest, 4, 1, file);
	fclose(file);
}

static void write_kernel(struct flowtap_archive_writer *writer)
{
	static const char name[8] = "kernel";
	struct flowtap_archive_kernel kernel = {
		.start = K,
		.size = sizeof(kernel_code),
		.part_size = sizeof(kernel_code),
		.stored_size = sizeof(kernel_code),
		.name_size = strlen(name),
	};
	uint8_t payload[sizeof(kernel) + sizeof(name)];

	memcpy(payload, &kernel, sizeof(kernel));
	memcpy(payload + sizeof(kernel), name, sizeof(name));
	synthetic_log_block(writer, FLOWTAP_ARCHIVE_KERNEL, payload, sizeof(payload), kernel_code,
			    sizeof(kernel_code));
}

static void write_archive(struct synthetic_log *synthetic)
{
	struct flowtap_stats stats = { .samples = synthetic->n };
	struct flowtap_archive_writer *writer = synthetic_log_archive(synthetic);

	synthetic_log_image(writer, user_code, sizeof(user_code));
	write_kernel(writer);
	for (unsigned int i = 0; i < synthetic->n; i++) {
		struct record *record = &synthetic->records[i];

		record->sample.header.size = sizeof(record->sample) +
					     record->sample.nr * sizeof(record->entries[0]);
		synthetic_log_block(writer, FLOWTAP_ARCHIVE_RING, record,
				    record->sample.header.size, NULL, 0);
	}
	synthetic_log_block(writer, FLOWTAP_ARCHIVE_STATS, &stats, sizeof(stats), NULL, 0);
	synthetic_log_block(writer, FLOWTAP_ARCHIVE_END, NULL, 0, NULL, 0);
	synthetic_log_archive_end(synthetic, writer);
}

static void make(struct synthetic_log *synthetic, enum modes modes)
{
	switch (modes) {
	case FILTERED:
	case FILTERED_TYPE:
	case FILTERED_OTHER:
	case FILTER_LOG_CONTROL:
		make_filtered(synthetic, modes);
		break;
	case STACK:
	case FRAME_WRONG:
	case FRAME_MISSING:
	case FRAME_STALE:
		make_stack(synthetic, modes);
		break;
	case THAWED:
	case THAW_LOG_ELSEWHERE:
		make_thawed(synthetic, modes);
		break;
	case HISTORY:
	case HISTORY_SHORT:
	case HISTORY_LOG_ALTERED:
	case HISTORY_LOG_NOT_BACK:
	case HISTORY_LOG_OTHER:
		make_history(synthetic, modes);
		break;
	default:
		make_both(synthetic, modes);
		break;
	}
}

void modes_make(struct synthetic_log *synthetic, enum modes modes)
{
	memset(synthetic, 0, sizeof(*synthetic));
	synthetic_log_directory(synthetic);
	write_code(synthetic, modes);
	synthetic->log = synthetic_log_create(synthetic, "log.0", ORACLE_HART_MAGIC);
	make(synthetic, modes);
	putc(ORACLE_END, synthetic->log);
	fclose(synthetic->log);
	write_archive(synthetic);
}
