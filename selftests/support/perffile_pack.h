/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The records of a perf.data that is being made, packed as perf record -z does it: one zstd stream,
 * flushed now and then, in COMPRESSED records that end anywhere; perf's own records stay as they are.
 */
#ifndef FLOWTAP_SELFTESTS_SUPPORT_PERFFILE_PACK_H
#define FLOWTAP_SELFTESTS_SUPPORT_PERFFILE_PACK_H

#include <zstd.h>

#include "support/perffile.h"

#define PERFFILE_COMPRESSED 81
#define PERFFILE_COMPRESSED2 83

struct perffile_packer {
	ZSTD_CStream *stream;
	bool second;		/* COMPRESSED2, with padding */
	size_t piece;		/* packed bytes in one record at most */
};

/* Packed bytes, in records. */
static inline void perffile_packed(struct perffile *file, const struct perffile_packer *packer,
				   const uint8_t *bytes, size_t size)
{
	static const uint8_t padding[8];

	for (size_t at = 0, n; at < size; at += n) {
		n = packer->piece < size - at ? packer->piece : size - at;
		perffile_begin(file, packer->second ? PERFFILE_COMPRESSED2 : PERFFILE_COMPRESSED, 0);
		if (packer->second)
			perffile_u64(file, n);
		perffile_put(file, bytes + at, n);
		if (packer->second)
			perffile_put(file, padding, -n & 7);
		perffile_end(file);
	}
}

/* Some records, of which the last may end in a later call. */
static inline void perffile_pack_some(struct perffile *file, const struct perffile_packer *packer,
				      const uint8_t *bytes, size_t size)
{
	uint8_t *packed = malloc(2 * size + 1024);
	ZSTD_inBuffer in = { .src = bytes, .size = size };
	ZSTD_outBuffer out = { .dst = packed, .size = 2 * size + 1024 };

	if (!packed || ZSTD_compressStream2(packer->stream, &out, &in, ZSTD_e_flush))
		abort();
	perffile_packed(file, packer, packed, out.pos);
	free(packed);
}

/* Before perffile_finish. */
static inline void perffile_pack(struct perffile *file, bool second, size_t piece)
{
	struct perffile_packer packer = { ZSTD_createCStream(), second, piece };
	size_t size = file->size - file->data, run = 0;
	uint8_t *bytes = malloc(size);
	struct perf_event_header header;
	uint64_t trace;

	memcpy(bytes, file->bytes + file->data, size);
	file->size = file->data;
	for (size_t at = 0, whole; at < size; at += whole) {
		memcpy(&header, bytes + at, sizeof(header));
		whole = header.size;
		if (header.type < 64)
			continue;
		/* It is flushed within a record as well, as a ring buffer's end is. */
		if (at - run > 20)
			perffile_pack_some(file, &packer, bytes + run, 13);
		if (at - run > 20)
			run += 13;
		perffile_pack_some(file, &packer, bytes + run, at - run);
		if (header.type == 71) {
			memcpy(&trace, bytes + at + 8, sizeof(trace));
			whole += trace;
		}
		perffile_put(file, bytes + at, whole);
		run = at + whole;
	}
	perffile_pack_some(file, &packer, bytes + run, size - run);
	ZSTD_freeCStream(packer.stream);
	free(bytes);
}

#endif /* FLOWTAP_SELFTESTS_SUPPORT_PERFFILE_PACK_H */
