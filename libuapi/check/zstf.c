// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Compressed traces: the chunks, and the rules of STF across them. */
#include "check/internal.h"

#include <errno.h>
#include <flowtap/zstf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CAPACITY (256U << 10)

struct zstf {
	struct flowtap_check *check;
	struct flowtap_zstf_reader *reader;
	struct flowtap_stf_rules *rules;
	uint64_t offset;	/* of the chunk in the whole trace */
	uint64_t instructions;	/* before it */
	struct flowtap_zstf_chunk chunk;
	bool whole;		/* it was read to its end */
	bool broken;		/* what is before it could not be read: it stands alone */
	uint8_t *buffer;
};

static int report_damage(struct zstf *zstf)
{
	uint64_t offset;
	const char *reason = flowtap_zstf_problem(zstf->reader, &offset);

	flowtap_check_report(zstf->check, offset, false, "%s", reason);
	return -EBADMSG;
}

/* The chunk's records. 0; -EBADMSG: it is damaged, as was reported; -errno. */
static int check_records(struct zstf *zstf)
{
	size_t fill = 0;
	long n = 1;

	while (n) {
		n = flowtap_zstf_read(zstf->reader, zstf->buffer + fill, CAPACITY - fill);
		if (n < 0)
			return n == -EBADMSG ? report_damage(zstf) : (int)n;
		fill += (size_t)n;
		if (!flowtap_stf_rules_lost(zstf->rules)) {
			size_t taken = flowtap_stf_rules_feed(zstf->rules, zstf->buffer, fill, !n);

			fill -= taken;
			memmove(zstf->buffer, zstf->buffer + taken, fill);
		} else {
			/* It is read to its end all the same: that is checked. */
			fill = 0;
		}
	}
	return flowtap_stf_rules_lost(zstf->rules) ? -EBADMSG : 0;
}

/*
 * The last chunk that was read: as many instructions as there should be, and an opcode at the end
 * if another chunk follows.
 */
static void check_length(struct zstf *zstf, bool followed)
{
	const struct flowtap_zstf_info *info = flowtap_zstf_info(zstf->reader);
	const struct flowtap_zstf_chunk *chunk = &zstf->chunk;
	uint64_t n = zstf->check->instructions - zstf->instructions, pc;

	if (!zstf->whole)
		return;
	if (followed ? n != info->markers : n > info->markers)
		flowtap_check_report(zstf->check, chunk->offset, false,
				     "chunk %" PRIu64 " has %" PRIu64 " instructions of %" PRIu64,
				     chunk->number, n, info->markers);
	if (followed && !flowtap_stf_rules_at_opcode(zstf->rules, &pc))
		flowtap_check_report(zstf->check, chunk->offset, false,
				     "chunk %" PRIu64 " does not end with an instruction",
				     chunk->number);
}

static void begin_chunk(struct zstf *zstf)
{
	const struct flowtap_zstf_info *info = flowtap_zstf_info(zstf->reader);
	const struct flowtap_zstf_chunk *chunk = &zstf->chunk;
	uint64_t pc;

	zstf->instructions = zstf->check->instructions;
	if (zstf->broken) {
		flowtap_stf_rules_resume(zstf->rules, zstf->offset, chunk->start_pc);
		zstf->broken = false;
	} else if (chunk->number && !chunk->found &&
		   flowtap_stf_rules_at_opcode(zstf->rules, &pc) && pc != chunk->start_pc) {
		flowtap_check_report(
			zstf->check,
			info->index_offset + 8 + chunk->number * FLOWTAP_ZSTF_ENTRY + 8, false,
			"chunk %" PRIu64 " is said to begin at PC 0x%" PRIx64
			", it begins at 0x%" PRIx64,
			chunk->number, chunk->start_pc, pc);
	}
}

/* 1; 0: no more; -EBADMSG: its entry is wrong, and without it nothing can be found; -errno. */
static int next_chunk(struct zstf *zstf)
{
	struct flowtap_zstf_chunk chunk;
	int got = flowtap_zstf_next(zstf->reader, &chunk), reported;

	if (got == -EBADMSG) {
		reported = report_damage(zstf);
		got = flowtap_zstf_scan(zstf->reader) ? reported :
						       flowtap_zstf_next(zstf->reader, &chunk);
	}
	if (got == 1 || got == -EBADMSG) {
		check_length(zstf, true);
		zstf->chunk = chunk;
		zstf->check->chunks++;
	}
	return got;
}

static int check_chunks(struct zstf *zstf)
{
	int got, error;

	while ((got = next_chunk(zstf))) {
		if (got < 0 && got != -EBADMSG)
			return got;
		error = got < 0 ? got : 0;
		if (!error) {
			begin_chunk(zstf);
			error = check_records(zstf);
		}
		if (error && error != -EBADMSG)
			return error;
		if (error && !flowtap_stf_rules_in_body(zstf->rules))
			return 0;
		zstf->whole = !error;
		zstf->broken = error;
		zstf->offset += zstf->chunk.bytes;
		flowtap_check_progress(zstf->check, zstf->chunk.offset, zstf->chunk.end);
	}
	check_length(zstf, false);
	if (!zstf->broken)
		flowtap_stf_rules_end(zstf->rules);
	return 0;
}

/* What a writer left that was interrupted. */
static void check_slack(struct zstf *zstf)
{
	const struct flowtap_zstf_info *info = flowtap_zstf_info(zstf->reader);

	if (info->chunks && info->found)
		flowtap_check_report(zstf->check, info->index_offset, false,
				     "the index does not have the last %" PRIu64
				     " chunks: the writer "
				     "was interrupted",
				     info->found);
	if (info->slack)
		flowtap_check_report(zstf->check, info->slack_offset, false,
				     "%" PRIu64 " bytes that no chunk has: the writer was "
				     "interrupted, the trace goes no further",
				     info->slack);
}

int flowtap_check_zstf(struct flowtap_check *check, int fd)
{
	struct zstf zstf = {
		.check = check,
		.rules = flowtap_stf_rules_new(check, true),
		.buffer = malloc(CAPACITY),
	};
	int error = zstf.rules && zstf.buffer ? flowtap_zstf_open(fd, &zstf.reader) : -ENOMEM;

	if (error == -EBADMSG) {
		report_damage(&zstf);
		/* Without its index, as far as it goes. */
		error = flowtap_zstf_scan(zstf.reader);
	}
	if (!error)
		error = check_chunks(&zstf);
	if (!error) {
		check_slack(&zstf);
		flowtap_stf_rules_remark(zstf.rules);
	} else if (error == -EBADMSG) {
		error = 0;
	}
	flowtap_zstf_close(zstf.reader);
	flowtap_stf_rules_free(zstf.rules);
	free(zstf.buffer);
	return error;
}
