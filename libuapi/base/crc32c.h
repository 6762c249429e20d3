/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* CRC-32C (Castagnoli, RFC 3720 B.4). */
#ifndef FLOWTAP_LIBUAPI_BASE_CRC32C_H
#define FLOWTAP_LIBUAPI_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* crc: 0, or what the bytes before gave. By the machine's own instruction where it has one. */
uint32_t flowtap_crc32c(uint32_t crc, const void *bytes, size_t size);
/* The same by table, on any machine: what the other is tested against. */
uint32_t flowtap_crc32c_table(uint32_t crc, const void *bytes, size_t size);

#endif /* FLOWTAP_LIBUAPI_BASE_CRC32C_H */
