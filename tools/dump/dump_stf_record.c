// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the fields of STF records are called, and how they are printed; their sizes the library
 * knows.
 */
#include "dump/dump_stf_record.h"

#include "common/tool.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum form {
	HEX,
	DECIMAL,
	OPCODE,			/* hexadecimal, with all digits of its record */
	EVENT_ID,
	OPERAND,		/* of a register, and its type */
};

/* What follows the fields. */
enum tail {
	NOTHING,
	MAGIC,			/* the three bytes "STF" */
	TEXT,
	WORDS,			/* u64 each */
	PAIRS,			/* two u64 each */
	VALUE,			/* a register's: u64 each */
	MESSAGE,		/* of a TileLink channel */
};

struct field {
	const char *name;
	enum form form;
};

struct layout {
	struct field fields[FLOWTAP_STF_FIELDS];	/* in the order of the record */
	const char *tail_name;
	enum tail tail;
};

#define ADDRESS(name) { .fields = { { name, HEX } } }

static const struct layout layouts[256] = {
	[0x01] = { .tail_name = "magic", .tail = MAGIC },
	[0x02] = { .fields = { { "major", DECIMAL }, { "minor", DECIMAL } } },
	[0x03] = { .tail_name = "text", .tail = TEXT },
	[0x04] = { .fields = { { "isa", DECIMAL } } },
	[0x05] = { .fields = { { "iem", DECIMAL } } },
	[0x06] = { { { "generator", HEX }, { "major", DECIMAL }, { "minor", DECIMAL },
		     { "minor_minor", DECIMAL } }, "text", TEXT },
	[0x07] = { .fields = { { "features", HEX } } },
	[0x08] = { .fields = { { "hw_tid", DECIMAL }, { "pid", DECIMAL }, { "tid", DECIMAL } } },
	[0x09] = ADDRESS("pc"),
	[0x0a] = { .fields = { { "vlen", DECIMAL } } },
	[0x0b] = { .fields = { { "protocol", DECIMAL } } },
	[0x0c] = { { { "clock", DECIMAL } }, "name", TEXT },
	[0x0d] = { .tail_name = "text", .tail = TEXT },
	[0x1f] = ADDRESS("target"),
	[0x28] = { { { "register", DECIMAL }, { "value", OPERAND } }, "", VALUE },
	[0x29] = { .fields = { { "register", DECIMAL } } },
	[0x32] = { { { "va", HEX }, { "index", DECIMAL }, { "page", DECIMAL } }, "ptes", PAIRS },
	[0x3c] = { .fields = { { "va", HEX }, { "size", DECIMAL }, { "attributes", HEX },
			       { "type", DECIMAL } } },
	[0x3d] = { .fields = { { "data", HEX } } },
	[0x3e] = { .fields = { { "va", HEX }, { "size", DECIMAL }, { "initiator", DECIMAL },
			       { "index", DECIMAL }, { "attributes", HEX }, { "type", DECIMAL } } },
	[0x3f] = { .fields = { { "data", HEX } } },
	[0x64] = { { { "id", EVENT_ID } }, "fields", WORDS },
	[0x65] = ADDRESS("target"),
	[0xe6] = { .fields = { { "size", DECIMAL }, { "microop", HEX } } },
	[0xf0] = { .fields = { { "opcode", OPCODE } } },
	[0xf1] = { .fields = { { "opcode", OPCODE } } },
	[0xfa] = { { { "id", DECIMAL }, { "cycles", DECIMAL }, { "clock", DECIMAL } }, "channel",
		   MESSAGE },
	[0xfb] = { .fields = { { "id", DECIMAL }, { "cycles", DECIMAL }, { "clock", DECIMAL } } },
};

static uint64_t number(const uint8_t *bytes, unsigned int size)
{
	uint64_t value = 0;

	while (size--)
		value = value << 8 | bytes[size];
	return value;
}

static void print_event(uint64_t id, unsigned int size)
{
	unsigned int top = size * 8 - 1;

	printf("0x%" PRIx64, id);
	if (id >> (top - 1) == 1)
		printf(" (mode change)");
	else if (id >> top)
		printf(" (interrupt %" PRIu64 ")", id ^ (uint64_t)1 << top);
	else
		printf(" (exception %" PRIu64 ")", id);
}

static void print_operand(uint64_t meta)
{
	static const char *const operands[] = { "reserved", "state", "source", "destination" };
	static const char *const types[] = { "reserved", "integer", "float", "vector", "csr" };

	printf("%s %s", operands[meta >> 4 & 3], (meta & 0xf) < 5 ? types[meta & 0xf] : "reserved");
}

static void print_field(const struct field *field, uint64_t value, uint8_t descriptor,
			const struct flowtap_stf_sizes *sizes)
{
	printf(" %s=", field->name);
	switch (field->form) {
	case HEX:
		printf("0x%" PRIx64, value);
		break;
	case DECIMAL:
		printf("%" PRIu64, value);
		break;
	case OPCODE:
		printf("0x%0*" PRIx64, descriptor == 0xf0 ? 8 : 4, value);
		break;
	case EVENT_ID:
		print_event(value, sizes->event_id == 8 ? 8 : 4);
		break;
	case OPERAND:
		print_operand(value);
		break;
	}
}

static void print_words(const uint8_t *bytes, size_t size, unsigned int each)
{
	putchar('[');
	for (size_t i = 0; i < size / 8; i++)
		printf("%s0x%" PRIx64, i ? i % each ? ":" : " " : "", number(bytes + 8 * i, 8));
	putchar(']');
}

static void print_value(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size / 8; i++)
		printf(" 0x%" PRIx64, number(bytes + 8 * i, 8));
}

/* A number at *bytes, which moves past it. */
static uint64_t take(const uint8_t **bytes, unsigned int size)
{
	*bytes += size;
	return number(*bytes - size, size);
}

static void print_bytes(const char *name, const uint8_t **bytes, unsigned int bits)
{
	uint64_t n = take(bytes, 2);

	printf(" %s=(%" PRIu64 ") ", name, n);
	for (uint64_t i = (n * bits + 7) / 8; i; i--)
		printf("%02" PRIx64, take(bytes, 1));
}

/* As stf_record.h has them; the library has seen that all of it is there. */
static void print_message(const uint8_t *bytes)
{
	uint8_t channel = (uint8_t)take(&bytes, 1);

	putchar('A' + channel - 1);
	if (channel < 5) {
		printf(" code=0x%" PRIx64, take(&bytes, 1));
		printf(" param=0x%" PRIx64, take(&bytes, 1));
		printf(" size=%" PRIu64, take(&bytes, 1));
		printf(" source=0x%" PRIx64, take(&bytes, 8));
		print_bytes("data", &bytes, 8);
	}
	if (channel < 4)
		printf(" address=0x%" PRIx64, take(&bytes, 8));
	else
		printf(" sink=0x%" PRIx64, take(&bytes, 8));
	if (channel < 3)
		print_bytes("mask", &bytes, 1);
}

static void print_tail(const struct layout *layout, const struct flowtap_stf_record *record,
		       uint64_t text_size)
{
	if (layout->tail != NOTHING && layout->tail != VALUE)
		printf(" %s=", layout->tail_name);
	switch (layout->tail) {
	case NOTHING:
		break;
	case MAGIC:
		printf("STF");
		break;
	case TEXT:
		printf("(%" PRIu64 ") \"", text_size);
		print_plain(stdout, (const char *)record->bytes, record->size);
		if (record->size == text_size)
			putchar('"');
		break;
	case WORDS:
		print_words(record->bytes, record->size, 1);
		break;
	case PAIRS:
		print_words(record->bytes, record->size, 2);
		break;
	case VALUE:
		print_value(record->bytes, record->size);
		break;
	case MESSAGE:
		print_message(record->bytes);
		break;
	}
}

const char *stf_record_print(const struct flowtap_stf_record *record,
			     const struct flowtap_stf_sizes *sizes, uint64_t text_size)
{
	const struct layout *layout = &layouts[record->descriptor];

	printf("%s", flowtap_stf_record_name(record->descriptor));
	if (layout->tail == MAGIC && memcmp(record->bytes, "STF", 3))
		return "the identifier is not STF";
	if (layout->tail == VALUE && (record->field[1] & 0xf) == 3 && !sizes->vlen)
		return "a vector register without VLEN_CONFIG before it";
	for (unsigned int i = 0; i < FLOWTAP_STF_FIELDS && layout->fields[i].name; i++)
		print_field(&layout->fields[i], record->field[i], record->descriptor, sizes);
	print_tail(layout, record, text_size);
	return NULL;
}
