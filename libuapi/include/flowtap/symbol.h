/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The functions of ELF files that were loaded at known addresses: for traces that say nothing of
 * where their code is from. What a recording knows of its own files flowtap_address_map_symbol
 * (address_map.h) says.
 */
#ifndef FLOWTAP_SYMBOL_H
#define FLOWTAP_SYMBOL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FLOWTAP_SYMBOLS_FILES 256

struct flowtap_symbol_files;

/* NULL: no memory. */
struct flowtap_symbol_files *flowtap_symbol_files_new(void);
void flowtap_symbol_files_free(struct flowtap_symbol_files *files);

/*
 * The functions of .symtab, or else of .dynsym, each at its address plus `bias` (modulo 2^64). fd
 * is read, and not kept; tables of more than 512 MiB are not taken. 0; -ENOEXEC: no whole ELF file;
 * -EOPNOTSUPP: one that is yet to be linked (ET_REL: .o, .ko), whose functions have no addresses;
 * -ENOENT: it has no functions; -E2BIG: more than FLOWTAP_SYMBOLS_FILES; -ENOMEM.
 */
int flowtap_symbol_files_add(struct flowtap_symbol_files *files, int fd, uint64_t bias);

/*
 * The function at `address`, of the file that was added first, and *offset from its start; NULL.
 * argument: a struct flowtap_symbol_files, which owns the name (flowtap_disasm_options.symbol).
 */
const char *flowtap_symbol_files_find(void *argument, uint64_t address, uint64_t *offset);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_SYMBOL_H */
