// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Archives: each block by itself first, in the order of the file, and what its CPU's ring counts
 * up to; then the samples of each task in their order.
 */
#include "check/internal.h"
#include "check/ring_records.h"
#include "formats/archive/merge.h"
#include "pipeline/archive_code.h"

#include <errno.h>
#include <flowtap/archive.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct archive {
	struct flowtap_check *check;
	struct flowtap_check_records records;
	struct flowtap_merge *merge;
	struct flowtap_address_map *map;	/* of code that the archive brings */
	struct flowtap_payload_codec stored;
	uint64_t end;		/* offset of the END block, 0 none */
};

#define SAY(archive, offset, ...) flowtap_check_report((archive)->check, offset, false, __VA_ARGS__)

/* Bytes that a name and what follows it need: the name ends with a 0 and is padded. */
static uint64_t after_name(size_t head, uint32_t name)
{
	return (head + (uint64_t)name + 8) & ~7ULL;
}

static void check_mapping(struct archive *archive, const struct flowtap_archive_block *block)
{
	struct flowtap_archive_mapping mapping;
	uint64_t code;

	memcpy(&mapping, block->payload, sizeof(mapping));
	code = after_name(sizeof(mapping), mapping.path_size);
	if (mapping.path_size > block->size - sizeof(mapping))
		SAY(archive, block->offset, "a mapping whose path does not fit into its block");
	else if (mapping.build_id_size > 20)
		SAY(archive, block->offset, "a build-id of %u bytes", mapping.build_id_size);
	else if (mapping.start + mapping.size < mapping.start)
		SAY(archive, block->offset, "a mapping beyond the end of memory");
	else if (block->type == FLOWTAP_ARCHIVE_BYTES &&
		 (code > block->size || block->size - code != mapping.size))
		SAY(archive, block->offset, "code of %" PRIu64 " bytes that are not all there",
		    mapping.size);
}

static void check_task(struct archive *archive, const struct flowtap_archive_block *block)
{
	struct flowtap_archive_task task;

	memcpy(&task, block->payload, sizeof(task));
	if (task.event < FLOWTAP_TASK_FORK || task.event > FLOWTAP_TASK_EXIT)
		SAY(archive, block->offset, "task event %u is unknown", task.event);
	else if (task.comm_size > sizeof(task.comm))
		SAY(archive, block->offset, "a name of %u bytes", task.comm_size);
}

static void check_trigger(struct archive *archive, const struct flowtap_archive_block *block)
{
	struct flowtap_archive_trigger trigger;

	memcpy(&trigger, block->payload, sizeof(trigger));
	if (trigger.cause < FLOWTAP_ARCHIVE_CAUSE_ASKED ||
	    trigger.cause > FLOWTAP_ARCHIVE_CAUSE_LATENCY)
		SAY(archive, block->offset, "cause %u of a trigger is unknown", trigger.cause);
	if (trigger.text_size != block->size - sizeof(trigger))
		SAY(archive, block->offset, "a text of %u bytes in %zu", trigger.text_size,
		    block->size - sizeof(trigger));
	/* One that is older than all records is none: rings go on while it is taken. */
	if (trigger.time > block->time)
		SAY(archive, block->offset, "a trigger that happened after it was written");
}

/* As a decoder takes it: frames are unpacked, and looks and parts must go with those before. */
static void check_code(struct archive *archive, const struct flowtap_archive_block *block)
{
	int error = flowtap_replay_code(archive->map, block->type, block->payload,
					(uint32_t)block->size, &archive->stored);

	if (error == -EFBIG)
		SAY(archive, block->offset, "more code than a decoder can hold");
	else if (error == -ENOMEM)
		SAY(archive, block->offset, "there is no memory to look into it");
	else if (error)
		SAY(archive, block->offset, "its name, its bytes or what they are part of "
		    "contradict each other or a block before");
}

static const struct {
	uint32_t type;
	uint32_t least;		/* bytes of payload */
	void (*check)(struct archive *archive, const struct flowtap_archive_block *block);
} types[] = {
	{ FLOWTAP_ARCHIVE_MAPPING, sizeof(struct flowtap_archive_mapping), check_mapping },
	{ FLOWTAP_ARCHIVE_TASK, sizeof(struct flowtap_archive_task), check_task },
	{ FLOWTAP_ARCHIVE_BYTES, sizeof(struct flowtap_archive_mapping), check_mapping },
	{ FLOWTAP_ARCHIVE_LOST, 8, NULL },
	{ FLOWTAP_ARCHIVE_TRIGGER, sizeof(struct flowtap_archive_trigger), check_trigger },
	{ FLOWTAP_ARCHIVE_KERNEL, sizeof(struct flowtap_archive_kernel), check_code },
	{ FLOWTAP_ARCHIVE_SYMBOLS, sizeof(struct flowtap_archive_symbols), check_code },
	{ FLOWTAP_ARCHIVE_FILE, sizeof(struct flowtap_archive_file), check_code },
};

static int check_ring(struct archive *archive, const struct flowtap_archive_block *block)
{
	uint64_t offset = block->offset + sizeof(struct flowtap_archive_block_header);
	int error = flowtap_merge_add(archive->merge, block->cpu, offset, (uint32_t)block->size);

	if (error == -E2BIG) {
		SAY(archive, block->offset, "records of more CPUs than there can be");
		return 0;
	}
	return error ? error : flowtap_check_stream(&archive->records, block);
}

static int check_block(struct archive *archive, const struct flowtap_archive_block *block)
{
	archive->check->blocks++;
	if (archive->end)
		SAY(archive, block->offset, "a block after the END of the recording");
	switch (block->type) {
	case FLOWTAP_ARCHIVE_RING:
		return check_ring(archive, block);
	case FLOWTAP_ARCHIVE_AUX:
	case FLOWTAP_ARCHIVE_CONFIGURE:
	case FLOWTAP_ARCHIVE_STATS:
	case FLOWTAP_ARCHIVE_BEGUN:
		return flowtap_check_stream(&archive->records, block);
	case FLOWTAP_ARCHIVE_END:
		archive->end = block->offset;
		return 0;
	}
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (types[i].type != block->type)
			continue;
		if (block->size < types[i].least)
			SAY(archive, block->offset,
			    "a block of type %u with %zu bytes, it needs %u", block->type,
			    block->size, types[i].least);
		else if (types[i].check)
			types[i].check(archive, block);
	}
	return 0;
}

/* Blocks as they come. 0, or what ends the check. */
static int check_blocks(struct archive *archive, struct flowtap_archive_reader *reader)
{
	const struct flowtap_archive_damage *damage;
	struct flowtap_archive_block block;
	uint64_t done = 0;
	int got, error;

	while ((got = flowtap_archive_next(reader, &block))) {
		if (got == -ENOMEM)
			return got;
		if (got < 0) {
			damage = flowtap_archive_damage(reader);
			archive->records.damaged = true;
			SAY(archive, damage->offset, "%s (%" PRIu64 " bytes)", damage->reason,
			    damage->bytes);
			if (got != -EBADMSG && got != -ENODATA)
				return got;
			continue;
		}
		error = check_block(archive, &block);
		if (error)
			return error;
		flowtap_check_progress(archive->check, done, block.offset + block.size);
		done = block.offset + block.size;
	}
	if (!archive->end)
		SAY(archive, archive->check->size,
		    "there is no END: the recording was cut off, or the recorder was killed");
	return 0;
}

/* Records in the order of their times. What cannot be read was reported before. */
static int check_sequences(struct archive *archive)
{
	struct flowtap_merge_result result;
	int got, error;

	while ((got = flowtap_merge_next(archive->merge, &result))) {
		if (got == -EBADMSG)
			continue;
		error = got < 0 ? got : flowtap_check_sequence(&archive->records, &result);
		if (error)
			return error;
	}
	return 0;
}

static int run(struct archive *archive, struct flowtap_archive_reader *reader)
{
	int error = check_blocks(archive, reader);

	if (error)
		return error;
	/* Counts of the end say nothing of a part. */
	if (archive->end && !archive->records.damaged)
		flowtap_check_counts(&archive->records);
	return check_sequences(archive);
}

int flowtap_check_archive(struct flowtap_check *check, int fd)
{
	struct archive archive = { .check = check, .records = { .check = check } };
	struct flowtap_archive_reader *reader = NULL;
	int error = flowtap_archive_open(fd, &reader);

	if (error)
		return error;
	archive.merge = flowtap_merge_new(fd);
	archive.map = flowtap_address_map_new(NULL);
	error = archive.merge && archive.map ? run(&archive, reader) : -ENOMEM;
	flowtap_check_records_free(&archive.records);
	flowtap_merge_free(archive.merge);
	flowtap_address_map_free(archive.map);
	free(archive.stored.buffer);
	flowtap_archive_reader_free(reader);
	return error;
}
