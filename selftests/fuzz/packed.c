// SPDX-License-Identifier: GPL-2.0-only
/* Any bytes at all can be unpacked, into no more than was allowed, and what is told adds up. */
#include <flowtap/archive.h>
#include <flowtap/packed.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#define LIMIT (1U << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t flowtap_fuzz_seed(uint8_t *buffer, size_t capacity, unsigned int n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC), out = memfd_create("out", MFD_CLOEXEC);
	struct flowtap_unpacked told;
	struct stat stat;
	int result;

	if (fd < 0 || out < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	flowtap_packed_is(fd);
	result = flowtap_unpack(fd, out, LIMIT, &told);
	if (fstat(out, &stat) || told.bytes > LIMIT || (uint64_t)stat.st_size > told.bytes ||
	    told.zeros > told.bytes || told.damages > FLOWTAP_PACKED_DAMAGES + 1 ||
	    !told.damages != !told.reason || (told.reason && told.offset >= size))
		abort();
	if (!result && (uint64_t)stat.st_size != told.bytes)
		abort();
	/* Bytes without a frame are damage. */
	if (!result && size && !told.frames && !told.damages && told.bytes)
		abort();
	close(fd);
	close(out);
	return 0;
}

/* Small frames with all that a header may have, between them a skippable one. */
size_t flowtap_fuzz_seed(uint8_t *buffer, size_t capacity, unsigned int n)
{
	static const uint8_t skippable[] = { 0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 1, 2 };
	uint8_t bytes[3000] = FLOWTAP_ARCHIVE_MAGIC;
	ZSTD_CCtx *context;
	size_t size = 0;

	if (n >= 4)
		return 0;
	context = ZSTD_createCCtx();
	for (size_t i = 8; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * i >> n);
	for (unsigned int i = 0; i < 3; i++) {
		size_t got;

		ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, n & 1);
		ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, !(n & 2));
		got = ZSTD_compress2(context, buffer + size, capacity - size, bytes, sizeof(bytes));
		if (ZSTD_isError(got))
			abort();
		size += got;
		memcpy(buffer + size, skippable, sizeof(skippable));
		size += sizeof(skippable);
	}
	ZSTD_freeCCtx(context);
	return size;
}
