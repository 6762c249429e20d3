/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Numbers of a fixed width in hexadecimal, lower case. */
#ifndef FLOWTAP_LIBUAPI_BASE_HEXDIGITS_H
#define FLOWTAP_LIBUAPI_BASE_HEXDIGITS_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

/* Eight digits at once: a nibble in each byte, then 9 and below up to '0', others up to 'a'. */
static inline void flowtap_hex8(void *to, uint32_t value)
{
	uint64_t x = value;
	uint64_t above;

	x = (x | x << 16) & 0x0000ffff0000ffff;
	x = (x | x << 8) & 0x00ff00ff00ff00ff;
	x = (x | x << 4) & 0x0f0f0f0f0f0f0f0f;
	above = (x + 0x0606060606060606) >> 4 & 0x0101010101010101;
	x += 0x3030303030303030 + above * ('a' - '9' - 1);
	x = htobe64(x);
	memcpy(to, &x, sizeof(x));
}

static inline void flowtap_hex16(void *to, uint64_t value)
{
	flowtap_hex8(to, value >> 32);
	flowtap_hex8((char *)to + 8, (uint32_t)value);
}

#endif /* FLOWTAP_LIBUAPI_BASE_HEXDIGITS_H */
