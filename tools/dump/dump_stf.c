// SPDX-License-Identifier: GPL-2.0-only
/* The records of an STF, one a line, and where chunks of a .zstf begin. */
#include "common/tool.h"
#include "dump/dump.h"
#include "dump/dump_stf_record.h"

#include <errno.h>
#include <flowtap/zstf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WINDOW		(128U << 10)	/* more than any record takes, but for texts */
#define RAW		64U		/* bytes of a record that are shown */
#define VLEN_MAX	65536U		/* bits (V extension 2) */

/* A .zstf, one chunk after the other. */
struct packed {
	const char *path;
	struct dump_progress *progress;
	struct flowtap_zstf_reader *reader;
	uint64_t begin;		/* of the chunk, in the uncompressed trace */
	uint64_t passed;	/* of the uncompressed trace, so far */
	bool begun;		/* a chunk, of which nothing was printed yet: */
	struct flowtap_zstf_chunk chunk;
	bool damaged;		/* a complaint said so */
	char problem[192];
};

struct trace {
	int fd;
	struct packed *packed;	/* NULL: fd is not compressed */
	struct dump_progress *progress;
	uint8_t *bytes;		/* WINDOW; those in [at, end) are not printed yet */
	size_t at, end;
	uint64_t offset;	/* of bytes[at] */
	uint64_t record;	/* of the record that is being read */
	struct flowtap_stf_sizes sizes;
	bool pc_known;		/* pc: of the next instruction */
	uint64_t pc;
	bool target_known;	/* where the one after it begins */
	uint64_t target;
	const char *problem;
};

static const char truncated[] = "the file ends within this record";

static ssize_t read_packed(struct packed *packed, void *bytes, size_t size);

static ssize_t read_plain(int fd, void *bytes, size_t size)
{
	ssize_t n;

	do
		n = read(fd, bytes, size);
	while (n < 0 && errno == EINTR);
	return n;
}

/* More bytes after those that are there, of no more than one chunk. False: no, or a problem. */
static bool more(struct trace *trace)
{
	ssize_t n;

	memmove(trace->bytes, trace->bytes + trace->at, trace->end - trace->at);
	trace->end -= trace->at;
	trace->at = 0;
	if (trace->packed)
		n = read_packed(trace->packed, trace->bytes + trace->end, WINDOW - trace->end);
	else
		n = read_plain(trace->fd, trace->bytes + trace->end, WINDOW - trace->end);
	if (n < 0)
		trace->problem = trace->packed ? trace->packed->problem : strerror(errno);
	else
		trace->end += (size_t)n;
	return n > 0;
}

/* What of the file was printed: of a .zstf, whole chunks. */
static void show_progress(struct trace *trace)
{
	const struct packed *packed = trace->packed;

	dump_progress_show(trace->progress, packed ? packed->chunk.offset : trace->offset);
}

static void pass(struct trace *trace, size_t size)
{
	trace->at += size;
	trace->offset += size;
}

/* As flowtap_stf_record_parse; -ENODATA: a text that is longer, or the file ends. */
static int get_record(struct trace *trace, struct flowtap_stf_record *record, size_t *size)
{
	int error;

	do
		error = flowtap_stf_record_parse(trace->bytes + trace->at, trace->end - trace->at,
						 &trace->sizes, record, size);
	while (error == -ENODATA && trace->end - trace->at < WINDOW && more(trace));
	return error;
}

/* What of a text had no space in the window: `left` bytes, and the quote. */
static bool print_rest(struct trace *trace, uint64_t left)
{
	while (left) {
		size_t n = trace->end - trace->at;

		if (!n && !more(trace))
			return false;
		n = trace->end - trace->at;
		n = n < left ? n : (size_t)left;
		print_plain(stdout, (const char *)trace->bytes + trace->at, n);
		pass(trace, n);
		left -= n;
	}
	putchar('"');
	return true;
}

/* What a record means to those after it. */
static void follow(struct trace *trace, const struct flowtap_stf_record *record)
{
	uint64_t value = record->field[0];

	flowtap_stf_record_follow(&trace->sizes, record);
	switch (record->descriptor) {
	case 0x09:
		trace->pc = value;
		trace->pc_known = true;
		trace->target_known = false;
		break;
	case 0x0a:
		if (!value || value > VLEN_MAX)
			trace->problem = "no vector register is that long";
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
		trace->pc += record->descriptor == 0xf0 ? 4 : 2;
		if (trace->target_known)
			trace->pc = trace->target;
		trace->target_known = false;
		break;
	}
}

static void print_raw(const uint8_t *raw, uint64_t size)
{
	printf("             ");
	for (uint64_t i = 0; i < size && i < RAW; i++)
		printf(" %02x", raw[i]);
	printf(size > RAW ? " ...\n" : "\n");
}

static const char *unknown(uint8_t descriptor)
{
	switch (descriptor) {
	case 0x00:
		return "descriptor 0 is reserved for errors";
	case 0xfa:
		return "a transaction of a protocol or channel that is not known: nothing says how "
		       "long it is";
	case 0xff:
		return "descriptor 255 (RESERVE_END) is none that readers accept";
	default:
		return "no record has this descriptor";
	}
}

/* What is no record, or not all of one. */
static void print_wrong(struct trace *trace, int error)
{
	uint8_t descriptor = trace->bytes[trace->at];

	if (error == -ENODATA) {
		printf("0x%08" PRIx64 " %s", trace->record, flowtap_stf_record_name(descriptor));
		if (!trace->problem)
			trace->problem = truncated;
		return;
	}
	printf("0x%08" PRIx64 " descriptor 0x%02x\n", trace->record, descriptor);
	trace->problem = error ? unknown(descriptor) : "an STF trace begins with IDENTIFIER";
}

static void print_record(struct trace *trace, const struct flowtap_stf_record *record, size_t size)
{
	size_t there = size < trace->end - trace->at ? size : trace->end - trace->at;

	printf("0x%08" PRIx64 " ", trace->record);
	trace->problem = stf_record_print(record, &trace->sizes, record->size + (size - there));
	if (!trace->problem)
		follow(trace, record);
	pass(trace, there);
	if (!trace->problem && there < size && !print_rest(trace, size - there) &&
	    !trace->problem)
		trace->problem = truncated;
}

/* The chunk that the next record begins, if it does. */
static void print_chunk(struct trace *trace)
{
	struct packed *packed = trace->packed;

	if (!packed || !packed->begun || trace->offset != packed->begin)
		return;
	packed->begun = false;
	printf("chunk %" PRIu64 " at 0x%" PRIx64, packed->chunk.number, packed->chunk.offset);
	if (packed->chunk.found)
		puts(" (not in the index)");
	else
		printf(" start_pc=0x%" PRIx64 " (%" PRIu64 " byte%s)\n", packed->chunk.start_pc,
		       packed->chunk.bytes, plural(packed->chunk.bytes));
}

/* One line. False: there is no more, or trace->problem. */
static bool print_next(struct trace *trace, bool hex)
{
	struct flowtap_stf_record record;
	uint8_t raw[RAW];
	size_t size, there;
	int error;

	trace->record = trace->offset;
	show_progress(trace);
	if (trace->at == trace->end && !more(trace))
		return false;
	print_chunk(trace);
	error = get_record(trace, &record, &size);
	there = trace->end - trace->at;
	memcpy(raw, trace->bytes + trace->at, there < RAW ? there : RAW);
	if ((error && (error != -ENODATA || there < WINDOW)) ||
	    (!trace->record && trace->bytes[trace->at] != 1)) {
		print_wrong(trace, error);
		return false;
	}
	print_record(trace, &record, size);
	if (trace->problem)
		return false;
	printf(" (%zu byte%s)\n", size, plural(size));
	if (hex)
		print_raw(raw, size);
	return true;
}

static int dump(struct trace *trace, const char *path, bool hex)
{
	trace->bytes = malloc(WINDOW);
	if (!trace->bytes) {
		complain("no memory");
		return STATUS_ERROR;
	}
	while (!ferror(stdout) && print_next(trace, hex))
		;
	free(trace->bytes);
	dump_progress_end(trace->progress);
	if (!trace->problem)
		return STATUS_OK;
	putchar('\n');
	complain("'%s': offset %" PRIu64 ": %s", path, trace->record, trace->problem);
	return STATUS_DAMAGED;
}

int dump_stf(int fd, const char *path, bool hex, struct dump_progress *progress)
{
	struct trace trace = { .fd = fd, .progress = progress };

	return dump(&trace, path, hex);
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

/* What is wrong with the index: it is read on without it, if that is possible. */
static bool without_index(struct packed *packed)
{
	uint64_t offset;
	const char *reason = flowtap_zstf_problem(packed->reader, &offset);
	bool can = !flowtap_zstf_scan(packed->reader);

	dump_progress_hide(packed->progress);
	complain("'%s': offset %" PRIu64 ": %s%s", packed->path, offset, reason,
		 can ? "; what it has is read without its index" : "");
	packed->damaged = true;
	return can;
}

/* 1; 0: no more; or -errno. */
static int next_chunk(struct packed *packed)
{
	int got = flowtap_zstf_next(packed->reader, &packed->chunk);

	if (got == -EBADMSG && without_index(packed))
		got = flowtap_zstf_next(packed->reader, &packed->chunk);
	packed->begun = got == 1;
	packed->begin = packed->passed;
	return got;
}

static ssize_t read_packed(struct packed *packed, void *bytes, size_t size)
{
	long n;
	int got;

	for (;;) {
		n = flowtap_zstf_read(packed->reader, bytes, size);
		if (n < 0)
			return fail(packed, (int)n);
		packed->passed += (uint64_t)n;
		if (n)
			return n;
		got = next_chunk(packed);
		if (got <= 0)
			return got ? fail(packed, got) : 0;
	}
}

/* At the end: what a writer left that was interrupted. */
static void report_rest(struct packed *packed)
{
	const struct flowtap_zstf_info *info = flowtap_zstf_info(packed->reader);
	uint64_t found;

	if (!info->slack && (!info->found || !info->chunks))
		return;
	found = info->chunks ? info->found : 0;
	complain("'%s': %" PRIu64 " chunk%s that the index does not have and %" PRIu64
		 " byte%s of no chunk: the writer was interrupted", packed->path, found,
		 plural(found), info->slack, plural(info->slack));
	packed->damaged = true;
}

static int dump_chunks(struct packed *packed, bool hex)
{
	struct trace trace = { .packed = packed, .progress = packed->progress };
	int status = dump(&trace, packed->path, hex);

	if (!status)
		report_rest(packed);
	return status ? status : packed->damaged ? STATUS_DAMAGED : STATUS_OK;
}

int dump_zstf(int fd, const char *path, bool hex, struct dump_progress *progress)
{
	struct packed packed = { .path = path, .progress = progress };
	int error = flowtap_zstf_open(fd, &packed.reader), status = STATUS_ERROR;

	if (!error || (error == -EBADMSG && without_index(&packed)))
		status = dump_chunks(&packed, hex);
	else if (error == -EBADMSG)
		status = STATUS_DAMAGED;
	else
		complain("'%s': %s", path, strerror(-error));
	flowtap_zstf_close(packed.reader);
	return status;
}
