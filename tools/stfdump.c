// SPDX-License-Identifier: GPL-2.0-only
/*
 * STF records as text, from a table of what each one holds (STF 1.3 and what its readers accept,
 * README, Formats). All numbers are little-endian.
 */
#include "dump.h"
#include "names.h"
#include "tool.h"

#include <errno.h>
#include <flowtap/zstf.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum kind {
	NOTHING,
	U8,
	U16,
	U32,
	U64,
	DECIMAL = 0x10,		/* with one of those above; else hexadecimal */
	OPCODE = 0x20,		/* the same, with all of its digits */
	MAGIC = 0x40,		/* the three bytes "STF" */
	TEXT16,			/* u16 length, bytes */
	TEXT32,
	EVENT,			/* u32 id, u64 if the features say EVENT64 */
	WORDS,			/* u8 count, u64 each */
	ENTRIES,		/* u8 count, two u64 each */
	REGISTER,		/* u8 kind, then 8 bytes, or as many as a vector register has */
};

struct field {
	const char *name;
	uint8_t kind;
};

struct layout {
	uint8_t descriptor;
	const char *name;
	struct field fields[7];
};

#define ADDRESS(name) { { name, U64 } }

static const struct layout layouts[] = {
	{ 0x01, "IDENTIFIER", { { "magic", MAGIC } } },
	{ 0x02, "VERSION", { { "major", U32 | DECIMAL }, { "minor", U32 | DECIMAL } } },
	{ 0x03, "COMMENT", { { "text", TEXT32 } } },
	{ 0x04, "ISA", { { "isa", U16 | DECIMAL } } },
	{ 0x05, "INST_IEM", { { "iem", U16 | DECIMAL } } },
	{ 0x06, "TRACE_INFO",
	  { { "generator", U8 }, { "major", U8 | DECIMAL }, { "minor", U8 | DECIMAL },
	    { "minor_minor", U8 | DECIMAL }, { "text", TEXT16 } } },
	{ 0x07, "TRACE_INFO_FEATURE", { { "features", U64 } } },
	{ 0x08, "PROCESS_ID_EXT",
	  { { "hw_tid", U32 | DECIMAL }, { "pid", U32 | DECIMAL }, { "tid", U32 | DECIMAL } } },
	{ 0x09, "FORCE_PC", ADDRESS("pc") },
	{ 0x0a, "VLEN_CONFIG", { { "vlen", U32 | DECIMAL } } },
	{ 0x0d, "ISA_EXTENDED", { { "text", TEXT32 } } },
	{ 0x13, "END_HEADER", { { NULL, NOTHING } } },
	{ 0x1f, "INST_PC_TARGET", ADDRESS("target") },
	{ 0x28, "INST_REG", { { "register", U16 | DECIMAL }, { "value", REGISTER } } },
	{ 0x29, "INST_READY_REG", { { "register", U16 | DECIMAL } } },
	{ 0x32, "PAGE_TABLE_WALK",
	  { { "va", U64 }, { "index", U64 | DECIMAL }, { "page", U32 | DECIMAL },
	    { "ptes", ENTRIES } } },
	{ 0x3c, "INST_MEM_ACCESS",
	  { { "va", U64 }, { "size", U16 | DECIMAL }, { "attributes", U16 },
	    { "type", U8 | DECIMAL } } },
	{ 0x3d, "INST_MEM_CONTENT", { { "data", U64 } } },
	{ 0x3e, "BUS_MASTER_ACCESS",
	  { { "va", U64 }, { "size", U16 | DECIMAL }, { "initiator", U8 | DECIMAL },
	    { "index", U8 | DECIMAL }, { "attributes", U32 }, { "type", U8 | DECIMAL } } },
	{ 0x3f, "BUS_MASTER_CONTENT", { { "data", U64 } } },
	{ 0x64, "EVENT", { { "id", EVENT }, { "fields", WORDS } } },
	{ 0x65, "EVENT_PC_TARGET", ADDRESS("target") },
	{ 0xe6, "MICROOP", { { "size", U8 | DECIMAL }, { "microop", U32 } } },
	{ 0xf0, "INST_32", { { "opcode", U32 | OPCODE } } },
	{ 0xf1, "INST_16", { { "opcode", U16 | OPCODE } } },
};

#define FEATURE_EVENT64 (1ULL << 19)
#define VLEN_MAX 65536U		/* bits (V extension 2) */

struct trace {
	FILE *file;
	uint64_t offset;	/* of the next byte */
	uint64_t record;	/* of the record that is being read */
	uint8_t raw[64];	/* its first bytes */
	bool event64;
	uint32_t vlen;
	bool pc_known;		/* pc: of the next instruction */
	uint64_t pc;
	bool target_known;	/* where it goes on after that one */
	uint64_t target;
	uint64_t last;		/* value of the field that was read last */
	const char *problem;
	struct packed *packed;	/* NULL: what is read is not compressed */
};

/* A .zstf behind a FILE, one chunk behind the other. */
struct packed {
	struct flowtap_zstf_reader *reader;
	uint64_t end;		/* of the chunk, in the uncompressed trace */
	bool begun;		/* a chunk, of which nothing was printed yet: */
	struct flowtap_zstf_chunk chunk;
	char problem[192];
};

static const char truncated[] = "the file ends within this record";

/* n bytes, at most 8. */
static bool take(struct trace *trace, unsigned int n, uint64_t *value)
{
	*value = 0;
	for (unsigned int i = 0; i < n; i++) {
		int byte = getc(trace->file);

		if (byte == EOF) {
			trace->problem = !ferror(trace->file) ? truncated :
					 trace->packed ? trace->packed->problem : strerror(errno);
			return false;
		}
		if (trace->offset - trace->record < sizeof(trace->raw))
			trace->raw[trace->offset - trace->record] = (uint8_t)byte;
		trace->offset++;
		*value |= (uint64_t)byte << 8 * i;
	}
	trace->last = *value;
	return true;
}

static bool print_text(struct trace *trace, unsigned int length_size)
{
	uint64_t size, byte;

	if (!take(trace, length_size, &size))
		return false;
	printf("(%" PRIu64 ") \"", size);
	while (size) {
		char piece[512];
		size_t n = size < sizeof(piece) ? (size_t)size : sizeof(piece);

		for (size_t i = 0; i < n; i++) {
			if (!take(trace, 1, &byte)) {
				print_plain(stdout, piece, i);
				return false;
			}
			piece[i] = (char)byte;
		}
		print_plain(stdout, piece, n);
		size -= n;
	}
	putchar('"');
	return true;
}

static bool print_words(struct trace *trace, unsigned int each)
{
	uint64_t n, value;

	if (!take(trace, 1, &n))
		return false;
	putchar('[');
	for (uint64_t i = 0; i < n * each; i++) {
		if (!take(trace, 8, &value))
			return false;
		printf("%s0x%" PRIx64, i ? i % each ? ":" : " " : "", value);
	}
	putchar(']');
	return true;
}

static bool print_event(struct trace *trace)
{
	unsigned int size = trace->event64 ? 8 : 4;
	unsigned int top = size * 8 - 1;
	uint64_t id;

	if (!take(trace, size, &id))
		return false;
	printf("0x%" PRIx64, id);
	if (id >> (top - 1) == 1)
		printf(" (mode change)");
	else if (id >> top)
		printf(" (interrupt %" PRIu64 ")", id ^ (uint64_t)1 << top);
	else
		printf(" (exception %" PRIu64 ")", id);
	return true;
}

static bool print_register(struct trace *trace)
{
	static const char *const operands[] = { "reserved", "state", "source", "destination" };
	static const char *const types[] = { "reserved", "integer", "float", "vector", "csr" };
	uint64_t meta, value;
	unsigned int words = 1;

	if (!take(trace, 1, &meta))
		return false;
	printf("%s %s", operands[meta >> 4 & 3], (meta & 0xf) < 5 ? types[meta & 0xf] : "reserved");
	if ((meta & 0xf) == 3) {
		if (!trace->vlen) {
			trace->problem = "a vector register without VLEN_CONFIG before it";
			return false;
		}
		words = (trace->vlen + 63) / 64;
	}
	for (unsigned int i = 0; i < words; i++) {
		if (!take(trace, 8, &value))
			return false;
		printf(" 0x%" PRIx64, value);
	}
	return true;
}

static bool print_field(struct trace *trace, const struct field *field)
{
	static const uint8_t sizes[] = { [U8] = 1, [U16] = 2, [U32] = 4, [U64] = 8 };
	uint64_t value;

	printf(" %s=", field->name);
	switch (field->kind) {
	case MAGIC:
		if (!take(trace, 3, &value))
			return false;
		if (value != ('S' | 'T' << 8 | 'F' << 16)) {
			trace->problem = "the identifier is not STF";
			return false;
		}
		printf("STF");
		return true;
	case TEXT16:
		return print_text(trace, 2);
	case TEXT32:
		return print_text(trace, 4);
	case EVENT:
		return print_event(trace);
	case WORDS:
		return print_words(trace, 1);
	case ENTRIES:
		return print_words(trace, 2);
	case REGISTER:
		return print_register(trace);
	default:
		if (!take(trace, sizes[field->kind & 0xf], &value))
			return false;
		if (field->kind & OPCODE)
			printf("0x%0*" PRIx64, 2 * sizes[field->kind & 0xf], value);
		else
			printf(field->kind & DECIMAL ? "%" PRIu64 : "0x%" PRIx64, value);
		return true;
	}
}

/* What a record means to those after it. */
static bool follow(struct trace *trace, uint8_t descriptor)
{
	uint64_t value = trace->last;

	switch (descriptor) {
	case 0x07:
		trace->event64 = value & FEATURE_EVENT64;
		break;
	case 0x09:
		trace->pc = value;
		trace->pc_known = true;
		trace->target_known = false;
		break;
	case 0x0a:
		if (!value || value > VLEN_MAX) {
			trace->problem = "no vector register is that long";
			return false;
		}
		trace->vlen = (uint32_t)value;
		break;
	case 0x1f:
	case 0x65:
		trace->target = value;
		trace->target_known = true;
		break;
	case 0xf0:
	case 0xf1:
		if (trace->pc_known)
			printf(" pc=0x%" PRIx64, trace->pc);
		trace->pc += descriptor == 0xf0 ? 4 : 2;
		if (trace->target_known)
			trace->pc = trace->target;
		trace->target_known = false;
		break;
	}
	return true;
}

static const struct layout *layout_of(uint8_t descriptor)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i].descriptor == descriptor)
			return &layouts[i];
	return NULL;
}

static void print_raw(const struct trace *trace)
{
	uint64_t size = trace->offset - trace->record;

	printf("             ");
	for (uint64_t i = 0; i < size && i < sizeof(trace->raw); i++)
		printf(" %02x", trace->raw[i]);
	printf(size > sizeof(trace->raw) ? " ...\n" : "\n");
}

static const char *unknown(uint8_t descriptor)
{
	switch (descriptor) {
	case 0x00:
		return "descriptor 0 is reserved for errors";
	case 0x0b:
	case 0x0c:
	case 0xfa:
	case 0xfb:
		return "records of transaction traces cannot be read";
	case 0xff:
		return "descriptor 255 (RESERVE_END) is none that readers accept";
	default:
		return "no record has this descriptor";
	}
}

/* 1: one was printed; 0: the end; -1: trace->problem. */
static int print_record(struct trace *trace)
{
	const struct layout *layout;
	uint64_t descriptor;

	trace->record = trace->offset;
	if (!take(trace, 1, &descriptor)) {
		if (trace->problem != truncated)
			return -1;
		trace->problem = NULL;
		return 0;
	}
	layout = layout_of((uint8_t)descriptor);
	if (!layout || (!trace->record && descriptor != 1)) {
		trace->problem = layout ? "an STF trace begins with IDENTIFIER" :
					  unknown((uint8_t)descriptor);
		printf("0x%08" PRIx64 " descriptor 0x%02" PRIx64 "\n", trace->record, descriptor);
		return -1;
	}
	printf("0x%08" PRIx64 " %s", trace->record, layout->name);
	for (const struct field *field = layout->fields; field->name; field++)
		if (!print_field(trace, field))
			return -1;
	return follow(trace, (uint8_t)descriptor) ? 1 : -1;
}

/* The chunk that the next record begins, if it does. A FILE reads ahead by no more than a chunk. */
static void print_chunk(struct trace *trace)
{
	struct packed *packed = trace->packed;
	int byte;

	if (!packed)
		return;
	byte = getc(trace->file);
	if (byte != EOF)
		ungetc(byte, trace->file);
	if (!packed->begun || trace->offset != packed->end - packed->chunk.bytes)
		return;
	packed->begun = false;
	printf("chunk %" PRIu64 " at 0x%" PRIx64 " start_pc=0x%" PRIx64 " (%" PRIu64 " bytes)\n",
	       packed->chunk.number, packed->chunk.offset, packed->chunk.start_pc,
	       packed->chunk.bytes);
}

static int dump(struct trace *trace, const char *path, bool hex)
{
	int result;

	for (;;) {
		print_chunk(trace);
		result = print_record(trace);
		if (result <= 0)
			break;
		printf(" (%" PRIu64 " bytes)\n", trace->offset - trace->record);
		if (hex)
			print_raw(trace);
	}
	fclose(trace->file);
	if (!result)
		return STATUS_OK;
	putchar('\n');
	complain("'%s': offset %" PRIu64 ": %s", path, trace->record, trace->problem);
	return STATUS_DAMAGED;
}

int dump_stf(int fd, const char *path, bool hex)
{
	struct trace trace = { .file = fdopen(dup(fd), "rb") };

	if (trace.file)
		return dump(&trace, path, hex);
	complain("'%s': %s", path, strerror(errno));
	return STATUS_ERROR;
}

static ssize_t fail(struct packed *packed, int error)
{
	uint64_t offset;
	const char *reason = flowtap_zstf_problem(packed->reader, &offset);

	if (error == -EBADMSG)
		snprintf(packed->problem, sizeof(packed->problem), "%s (offset %" PRIu64
			 " of the file)", reason, offset);
	else
		snprintf(packed->problem, sizeof(packed->problem), "%s", strerror(-error));
	errno = -error;
	return -1;
}

static ssize_t read_packed(void *cookie, char *bytes, size_t size)
{
	struct packed *packed = cookie;
	long n;
	int got;

	for (;;) {
		n = flowtap_zstf_read(packed->reader, bytes, size);
		if (n < 0)
			return fail(packed, (int)n);
		if (n)
			return n;
		got = flowtap_zstf_next(packed->reader, &packed->chunk);
		if (got <= 0)
			return got ? fail(packed, got) : 0;
		packed->begun = true;
		packed->end += packed->chunk.bytes;
	}
}

int dump_zstf(int fd, const char *path, bool hex)
{
	const cookie_io_functions_t functions = { .read = read_packed };
	struct packed packed = { .end = 0 };
	struct trace trace = { .packed = &packed };
	int error = flowtap_zstf_open(fd, &packed.reader), status = STATUS_ERROR;
	uint64_t offset;
	const char *reason;

	if (!error) {
		trace.file = fopencookie(&packed, "r", functions);
		if (trace.file)
			status = dump(&trace, path, hex);
		else
			complain("'%s': %s", path, strerror(errno));
	} else if (error == -EBADMSG) {
		reason = flowtap_zstf_problem(packed.reader, &offset);
		complain("'%s': offset %" PRIu64 ": %s", path, offset, reason);
		status = STATUS_DAMAGED;
	} else {
		complain("'%s': %s", path, strerror(-error));
	}
	flowtap_zstf_close(packed.reader);
	return status;
}
