/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What images and side band want from an ELF file, through libelf, with every value checked. */
#ifndef FLOWTAP_LIBUAPI_CODE_ELF_FILE_H
#define FLOWTAP_LIBUAPI_CODE_ELF_FILE_H

#include <flowtap/address_map.h>
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flowtap_elf;
struct flowtap_symbols;

struct flowtap_build_id {
	uint8_t size;		/* 0: there is none */
	uint8_t bytes[FLOWTAP_BUILD_ID_MAX];
};

/*
 * Reads by pread, so that a file that shrinks is an error and no SIGBUS. fd is borrowed until
 * close. 0 and *elf; -ENOEXEC: not a whole ELF file, or flowtap_elf_is_extended; -ENOMEM.
 */
int flowtap_elf_open(int fd, struct flowtap_elf **elf);
/* The same in memory, which is borrowed until close and not written. */
int flowtap_elf_open_memory(const void *bytes, size_t size, struct flowtap_elf **elf);
void flowtap_elf_close(struct flowtap_elf *elf);
/* Whether libelf's memory for it has no limit: section 0 says how many sections or segments it has. */
bool flowtap_elf_is_extended(int fd);

/* The GNU build-id, from program headers or else sections; of size 0 where none is found. */
struct flowtap_build_id flowtap_elf_build_id(struct flowtap_elf *elf);

/* The machine of its header: EM_. */
uint16_t flowtap_elf_machine(struct flowtap_elf *elf);

/* Whether it is yet to be linked (ET_REL: .o, .ko): its sections and symbols have no addresses. */
bool flowtap_elf_is_relocatable(struct flowtap_elf *elf);

/* What the file says where its bytes go: a PT_LOAD. */
struct flowtap_segment {
	uint64_t offset;
	uint64_t size;		/* bytes of the file */
	uint64_t address;
};

/* At most `capacity` of them; returns how many were stored. */
size_t flowtap_elf_segments(struct flowtap_elf *elf, struct flowtap_segment *segments,
			    size_t capacity);

/* Functions of .symtab, or of .dynsym. 0 and *symbols; -ENOENT: none; -ENOMEM. */
int flowtap_elf_symbols(struct flowtap_elf *elf, bool dynamic, struct flowtap_symbols **symbols);
void flowtap_symbols_free(struct flowtap_symbols *symbols);
/* The function at `address` (of the file), and *offset from its start; NULL. Owned by symbols. */
const char *flowtap_symbols_find(const struct flowtap_symbols *symbols, uint64_t address,
				 uint64_t *offset);

/*
 * The address that .symtab gives the first symbol of this name. elf: of a file that is not
 * flowtap_elf_is_extended. 0 and *address; -ENOENT: no such symbol, or no table that can be held.
 */
int flowtap_elf_symbol_address(Elf *elf, const char *name, uint64_t *address);

#endif /* FLOWTAP_LIBUAPI_CODE_ELF_FILE_H */
