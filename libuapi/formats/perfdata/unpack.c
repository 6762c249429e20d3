// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * perf.data: what perf record -z packed. The COMPRESSED records of a file are one zstd stream, of
 * records without a regard to where each of them ends.
 */
#include "formats/perfdata/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

/* Records of a side band are much alike, but not more than that. */
#define RATIO_MAX 4096
#define RATIO_FROM (1U << 24)
#define PIECE (1U << 17)
#define CAPACITY (PIECE + UINT16_MAX + 1)

struct perfdata_unpack {
	ZSTD_DStream *stream;
	uint64_t in, out;
	size_t size;
	bool broken;			/* nothing after it can be unpacked */
	const char *reason;		/* why */
	uint8_t bytes[CAPACITY];	/* unpacked, from the begin of a record on */
};

struct perfdata_unpack *flowtap_perfdata_unpack_new(void)
{
	struct perfdata_unpack *unpack = calloc(1, sizeof(*unpack));

	if (unpack)
		unpack->stream = ZSTD_createDStream();
	if (unpack && unpack->stream)
		return unpack;
	flowtap_perfdata_unpack_free(unpack);
	return NULL;
}

void flowtap_perfdata_unpack_free(struct perfdata_unpack *unpack)
{
	if (!unpack)
		return;
	ZSTD_freeDStream(unpack->stream);
	free(unpack);
}

static int refuse(struct perfdata_unpack *unpack, const char *reason)
{
	unpack->broken = true;
	unpack->reason = reason;
	return -EBADMSG;
}

/* The packed bytes of the record: all after the header, or as many as it says. */
static int packed_bytes(struct perfdata_unpack *unpack,
			const struct flowtap_perfdata_record *record, ZSTD_inBuffer *in)
{
	size_t head = 8, size = record->size - head;

	if (record->type == PERFDATA_COMPRESSED2) {
		head = 16;
		if (record->size < head || perfdata_u64(record->bytes + 8) > record->size - head)
			return refuse(unpack, "a packed record that contradicts itself");
		size = (size_t)perfdata_u64(record->bytes + 8);
	}
	*in = (ZSTD_inBuffer){ .src = record->bytes + head, .size = size };
	return 0;
}

/* Some more of them, after what is there. */
static int unpack_some(struct perfdata_unpack *unpack, ZSTD_inBuffer *in)
{
	ZSTD_outBuffer out = {
		.dst = unpack->bytes,
		.size = sizeof(unpack->bytes),
		.pos = unpack->size,
	};
	size_t before = in->pos;

	if (ZSTD_isError(ZSTD_decompressStream(unpack->stream, &out, in)))
		return refuse(unpack, "packed records that zstd cannot unpack");
	unpack->in += in->pos - before;
	unpack->out += out.pos - unpack->size;
	if (out.pos == unpack->size && in->pos == before && in->pos < in->size)
		return refuse(unpack, "packed records that zstd cannot unpack");
	unpack->size = out.pos;
	if (unpack->out > RATIO_FROM && unpack->out / RATIO_MAX > unpack->in)
		return refuse(unpack, "packed records that unpack to more than 4096 times their size");
	return 0;
}

/* Gives out the records that are whole. */
static int each_record(struct perfdata_unpack *unpack, perfdata_unpacked each, void *argument)
{
	struct perf_event_header header;
	size_t at = 0;
	int err = 0;

	while (!err && unpack->size - at >= sizeof(header)) {
		memcpy(&header, unpack->bytes + at, sizeof(header));
		if (header.size < sizeof(header))
			return refuse(unpack, "a record of no size among packed ones");
		if (header.size > unpack->size - at)
			break;
		err = each(argument, unpack->bytes + at, header.size);
		at += header.size;
	}
	unpack->size -= at;
	memmove(unpack->bytes, unpack->bytes + at, unpack->size);
	return err;
}

int flowtap_perfdata_unpack(struct perfdata_unpack *unpack,
			    const struct flowtap_perfdata_record *record, perfdata_unpacked each,
			    void *argument, const char **reason)
{
	ZSTD_inBuffer in;
	bool full = false;
	int err;

	*reason = NULL;
	if (unpack->broken)
		return 0;
	err = packed_bytes(unpack, record, &in);
	/* zstd may keep some back where there was no space for it. */
	while (!err && (in.pos < in.size || full)) {
		full = false;
		err = unpack_some(unpack, &in);
		full = unpack->size == sizeof(unpack->bytes);
		if (!err)
			err = each_record(unpack, each, argument);
	}
	if (!unpack->broken)
		return err;
	*reason = unpack->reason;
	return 0;
}

bool flowtap_perfdata_unpack_waits(const struct perfdata_unpack *unpack)
{
	return !unpack->broken && unpack->size;
}
