// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Keeps the symbol tables of up to FLOWTAP_SYMBOLS_FILES ELF files and asks one after the other. */
#include <flowtap/symbol.h>

#include "code/elf_file.h"

#include <errno.h>
#include <stdlib.h>

struct flowtap_symbol_files {
	size_t n;
	struct symbol_file {
		struct flowtap_symbols *symbols;
		uint64_t bias;
	} file[FLOWTAP_SYMBOLS_FILES];
};

struct flowtap_symbol_files *flowtap_symbol_files_new(void)
{
	return calloc(1, sizeof(struct flowtap_symbol_files));
}

void flowtap_symbol_files_free(struct flowtap_symbol_files *files)
{
	if (!files)
		return;
	for (size_t i = 0; i < files->n; i++)
		flowtap_symbols_free(files->file[i].symbols);
	free(files);
}

int flowtap_symbol_files_add(struct flowtap_symbol_files *files, int fd, uint64_t bias)
{
	struct symbol_file file = { .bias = bias };
	struct flowtap_elf *elf;
	int error;

	if (files->n == FLOWTAP_SYMBOLS_FILES)
		return -E2BIG;
	error = flowtap_elf_open(fd, &elf);
	if (error)
		return error;
	error = flowtap_elf_is_relocatable(elf) ? -EOPNOTSUPP :
						  flowtap_elf_symbols(elf, false, &file.symbols);
	if (error == -ENOENT)
		error = flowtap_elf_symbols(elf, true, &file.symbols);
	flowtap_elf_close(elf);
	if (!error)
		files->file[files->n++] = file;
	return error;
}

const char *flowtap_symbol_files_find(void *argument, uint64_t address, uint64_t *offset)
{
	const struct flowtap_symbol_files *files = argument;

	for (size_t i = 0; i < files->n; i++) {
		const struct symbol_file *file = &files->file[i];
		const char *name = flowtap_symbols_find(file->symbols, address - file->bias, offset);

		if (name)
			return name;
	}
	return NULL;
}
