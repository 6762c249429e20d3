// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Computes CRC-32C with the machine's instructions where it has them (SSE4.2, Armv8 CRC32), else
 * eight bytes at a time by tables.
 */
#include "base/crc32c.h"

#include <pthread.h>
#include <string.h>

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

#define POLYNOMIAL 0x82f63b78U	/* 0x1edc6f41 with the bits in the order they are sent */

/* table[n][b]: byte b followed by n zero bytes, so that eight bytes are taken at a time. */
static uint32_t table[8][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

typedef uint32_t (*update_function)(uint32_t crc, const uint8_t *bytes, size_t size);
static update_function update;

static inline uint64_t load64(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static uint32_t update_byte(uint32_t crc, uint8_t byte)
{
	return crc >> 8 ^ table[0][(crc ^ byte) & 0xff];
}

static uint32_t update_table(uint32_t crc, const uint8_t *bytes, size_t size)
{
	/* Where nobody knows that it is aligned a RISC-V compiler loads each byte of a word. */
	for (; size && (uintptr_t)bytes % 8; bytes++, size--)
		crc = update_byte(crc, *bytes);
	for (; size >= 8; bytes += 8, size -= 8) {
		uint64_t word = load64(__builtin_assume_aligned(bytes, 8)) ^ crc;

		crc = table[7][word & 0xff] ^ table[6][word >> 8 & 0xff] ^
		      table[5][word >> 16 & 0xff] ^ table[4][word >> 24 & 0xff] ^
		      table[3][word >> 32 & 0xff] ^ table[2][word >> 40 & 0xff] ^
		      table[1][word >> 48 & 0xff] ^ table[0][word >> 56];
	}
	for (; size; bytes++, size--)
		crc = update_byte(crc, *bytes);
	return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2")))
static uint32_t update_machine(uint32_t crc, const uint8_t *bytes, size_t size)
{
	uint64_t wide = crc;

	for (; size >= 8; bytes += 8, size -= 8)
		wide = __builtin_ia32_crc32di(wide, load64(bytes));
	crc = (uint32_t)wide;
	for (; size; bytes++, size--)
		crc = __builtin_ia32_crc32qi(crc, *bytes);
	return crc;
}

static int machine_has_it(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("sse4.2");
}
#elif defined(__aarch64__)
__attribute__((target("+crc")))
static uint32_t update_machine(uint32_t crc, const uint8_t *bytes, size_t size)
{
	for (; size >= 8; bytes += 8, size -= 8)
		crc = __builtin_aarch64_crc32cx(crc, load64(bytes));
	for (; size; bytes++, size--)
		crc = __builtin_aarch64_crc32cb(crc, *bytes);
	return crc;
}

static int machine_has_it(void)
{
	return (getauxval(AT_HWCAP) & (1UL << 7)) != 0;	/* HWCAP_CRC32 */
}
#else
#define update_machine update_table

static int machine_has_it(void)
{
	return 0;
}
#endif

static void init(void)
{
	for (uint32_t b = 0; b < 256; b++) {
		uint32_t crc = b;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
		table[0][b] = crc;
	}
	for (int n = 1; n < 8; n++)
		for (int b = 0; b < 256; b++)
			table[n][b] = table[n - 1][b] >> 8 ^ table[0][table[n - 1][b] & 0xff];
	update = machine_has_it() ? update_machine : update_table;
}

uint32_t flowtap_crc32c(uint32_t crc, const void *bytes, size_t size)
{
	pthread_once(&once, init);
	return ~update(~crc, bytes, size);
}

uint32_t flowtap_crc32c_table(uint32_t crc, const void *bytes, size_t size)
{
	pthread_once(&once, init);
	return ~update_table(~crc, bytes, size);
}
