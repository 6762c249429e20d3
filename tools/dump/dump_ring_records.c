// SPDX-License-Identifier: GPL-2.0-only
/* The records of a ring as text, from a table of their fields. */
#include "common/names.h"
#include "dump/dump.h"

#include <flowtap/ctr.h>
#include <flowtap/riscv.h>
#include <inttypes.h>
#include <string.h>

enum kind {
	DECIMAL,
	HEX,
	TIME,
	COUNT,		/* FLOWTAP_UNKNOWN is "unknown" */
	CAUSE,
	CAUSES,
	TRIGGER,
	CONTROL,
	AUX_FLAGS,
};

struct field {
	const char *name;
	uint16_t offset;
	uint8_t size;
	uint8_t kind;
};

#define FIELD(record, member, kind) \
	{ #member, offsetof(struct flowtap_record_##record, member), \
	  sizeof(((struct flowtap_record_##record *)0)->member), kind }

static const struct field sample[] = {
	FIELD(sample, time, TIME),	   FIELD(sample, pid, DECIMAL),
	FIELD(sample, tid, DECIMAL),	   FIELD(sample, cpu, DECIMAL),
	FIELD(sample, sequence, DECIMAL),  FIELD(sample, ip, HEX),
	FIELD(sample, trigger, TRIGGER),   FIELD(sample, loss, CAUSES),
	FIELD(sample, depth, DECIMAL),	   FIELD(sample, nr, DECIMAL),
	FIELD(sample, control, CONTROL),   { NULL, 0, 0, 0 }
};

static const struct field gap[] = {
	FIELD(gap, time, TIME),	  FIELD(gap, since, TIME),  FIELD(gap, pid, DECIMAL),
	FIELD(gap, tid, DECIMAL), FIELD(gap, cpu, DECIMAL), FIELD(gap, cause, CAUSE),
	FIELD(gap, size, COUNT),  { NULL, 0, 0, 0 }
};

static const struct field lost[] = {
	FIELD(lost, time, TIME),	   FIELD(lost, since, TIME),
	FIELD(lost, records, DECIMAL),	   FIELD(lost, bytes, DECIMAL),
	FIELD(lost, total_records, DECIMAL), FIELD(lost, total_bytes, DECIMAL), { NULL, 0, 0, 0 }
};

static const struct field switched[] = {
	FIELD(switch, time, TIME), FIELD(switch, pid, DECIMAL), FIELD(switch, tid, DECIMAL),
	{ NULL, 0, 0, 0 }
};

static const struct field clocked[] = {
	FIELD(clock, time, TIME), FIELD(clock, counter, DECIMAL), { NULL, 0, 0, 0 }
};

static const struct field aux[] = {
	FIELD(aux, time, TIME),	  FIELD(aux, counter, DECIMAL), FIELD(aux, offset, HEX),
	FIELD(aux, size, DECIMAL), FIELD(aux, flags, AUX_FLAGS), FIELD(aux, pid, DECIMAL),
	FIELD(aux, tid, DECIMAL),  FIELD(aux, cpu, DECIMAL),	FIELD(aux, since, TIME),
	FIELD(aux, sequence, DECIMAL), FIELD(aux, loss, CAUSES),	{ NULL, 0, 0, 0 }
};

static const struct field itrace_start[] = {
	FIELD(itrace_start, time, TIME), FIELD(itrace_start, pid, DECIMAL),
	FIELD(itrace_start, tid, DECIMAL), { NULL, 0, 0, 0 }
};

static const struct {
	const struct field *fields;
	size_t size;
} layouts[] = {
	[FLOWTAP_RECORD_SAMPLE] = { sample, sizeof(struct flowtap_record_sample) },
	[FLOWTAP_RECORD_GAP] = { gap, sizeof(struct flowtap_record_gap) },
	[FLOWTAP_RECORD_LOST] = { lost, sizeof(struct flowtap_record_lost) },
	[FLOWTAP_RECORD_SWITCH] = { switched, sizeof(struct flowtap_record_switch) },
	[FLOWTAP_RECORD_CLOCK] = { clocked, sizeof(struct flowtap_record_clock) },
	[FLOWTAP_RECORD_AUX] = { aux, sizeof(struct flowtap_record_aux) },
	[FLOWTAP_RECORD_ITRACE_START] = { itrace_start,
					  sizeof(struct flowtap_record_itrace_start) },
};

void dump_time(const char *name, uint64_t time)
{
	printf(" %s=%" PRIu64 ".%09" PRIu64, name, time / 1000000000, time % 1000000000);
}

static void print_causes(uint64_t causes)
{
	const char *before = "";

	if (!causes)
		printf("none");
	for (uint32_t cause = 0; cause < 64; cause++) {
		if (!(causes & 1ULL << cause))
			continue;
		printf("%s%s", before, cause_name(cause));
		before = ",";
	}
}

static void print_field(const struct field *field, const uint8_t *bytes)
{
	static const struct name aux_bits[] = {
		{ FLOWTAP_AUX_TRUNCATED, "truncated" },
		{ FLOWTAP_AUX_OVERWRITE, "overwrite" },
		{ FLOWTAP_AUX_PARTIAL, "partial" },
		{ FLOWTAP_AUX_COLLISION, "collision" },
		{ FLOWTAP_AUX_CONTINUES, "continues" },
		{ 0, NULL }
	};
	uint64_t value = 0;

	/* Archives and this machine are little-endian (libuapi/formats/archive/writer.c). */
	memcpy(&value, bytes + field->offset, field->size);
	if (field->kind == TIME) {
		dump_time(field->name, value);
		return;
	}
	printf(" %s=", field->name);
	switch (field->kind) {
	case HEX:
		printf("0x%" PRIx64, value);
		break;
	case COUNT:
		if (value == FLOWTAP_UNKNOWN) {
			printf("unknown");
			break;
		}
		/* fall through */
	case DECIMAL:
		printf("%" PRIu64, value);
		break;
	case CAUSE:
		printf("%s", cause_name((uint32_t)value));
		break;
	case CAUSES:
		print_causes(value);
		break;
	case TRIGGER:
		print_bits(stdout, trigger_bits, value, ",");
		break;
	case CONTROL:
		print_bits(stdout, control_bits, value, ",");
		break;
	case AUX_FLAGS:
		print_bits(stdout, aux_bits, value, ",");
		break;
	}
}

static void print_misc(uint16_t misc)
{
	static const struct name bits[] = {
		{ FLOWTAP_MISC_USER, "user" },
		{ FLOWTAP_MISC_OUT, "out" },
		{ FLOWTAP_MISC_ESTIMATE, "estimate" },
		{ FLOWTAP_MISC_KERNEL, "kernel" },
		{ FLOWTAP_MISC_CPU_WIDE, "cpu_wide" },
		{ 0, NULL }
	};

	if (misc) {
		printf(" misc=");
		print_bits(stdout, bits, misc, ",");
	}
}

static void print_entry(const struct flowtap_entry *entry)
{
	uint64_t source = entry->source & ~1ULL, target = entry->target & ~1ULL;

	printf("    0x%016" PRIx64 " -> 0x%016" PRIx64 " %s", source, target,
	       flowtap_transfer_name(entry->data & 0xf));
	if (!(entry->source & 1))
		printf(" invalid");
	if (entry->target & 1)
		printf(" mispredicted");
	if (entry->data & 1 << 15)
		printf(" cycles=%" PRIu64, flowtap_ctr_cycles(entry->data));
	putchar('\n');
}

static const char *print_entries(const struct flowtap_record *record, size_t size)
{
	const struct flowtap_record_sample *head = (const void *)record;
	const struct flowtap_entry *entries = (const void *)(head + 1);
	size_t capacity = (size - sizeof(*head)) / sizeof(*entries), nr = head->nr;

	for (size_t i = 0; i < nr && i < capacity; i++)
		print_entry(&entries[i]);
	return nr == capacity ? NULL : "the number of its entries contradicts its size";
}

const char *dump_record(const struct flowtap_record *record, size_t size)
{
	uint32_t type = record->type;

	printf("  %s size=%zu", name_of(record_names, type), size);
	print_misc(record->misc);
	if (type >= sizeof(layouts) / sizeof(layouts[0]) || !layouts[type].fields) {
		printf(" type=%u\n", type);
		return NULL;
	}
	if (size < layouts[type].size) {
		putchar('\n');
		return "it is shorter than its type";
	}
	for (const struct field *field = layouts[type].fields; field->name; field++)
		print_field(field, (const uint8_t *)record);
	putchar('\n');
	return type == FLOWTAP_RECORD_SAMPLE ? print_entries(record, size) : NULL;
}
