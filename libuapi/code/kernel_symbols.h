/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The kernel's functions, out of lines of kallsyms. */
#ifndef FLOWTAP_LIBUAPI_CODE_KERNEL_SYMBOLS_H
#define FLOWTAP_LIBUAPI_CODE_KERNEL_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flowtap_kernel_symbols;

struct flowtap_kernel_symbols *flowtap_kernel_symbols_new(void);
void flowtap_kernel_symbols_free(struct flowtap_kernel_symbols *symbols);
/*
 * Whole lines, in any order; those that are not of text are passed over. 0, -ENOMEM, -EFBIG (more
 * than 128 MiB of lines).
 */
int flowtap_kernel_symbols_add(struct flowtap_kernel_symbols *symbols, const char *text,
			       size_t size);
/*
 * What begins at `address` or is the last before it, in `module` ("kernel" for none): its name, or
 * NULL; and *start, where it begins, *end, where the next one does (UINT64_MAX: none).
 */
const char *flowtap_kernel_symbols_find(struct flowtap_kernel_symbols *symbols, const char *module,
					uint64_t address, uint64_t *start, uint64_t *end);

#endif /* FLOWTAP_LIBUAPI_CODE_KERNEL_SYMBOLS_H */
