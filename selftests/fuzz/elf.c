// SPDX-License-Identifier: GPL-2.0-only
/* Any bytes at all can be taken for an ELF file: build-id, segments, symbols, code. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "code/elf_file.h"
#include "support/tinyelf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t flowtap_fuzz_seed(uint8_t *buffer, size_t capacity, unsigned int n);

static uint64_t touched;

static void use_symbols(struct flowtap_elf *elf, bool dynamic)
{
	struct flowtap_symbols *symbols;

	if (flowtap_elf_symbols(elf, dynamic, &symbols))
		return;
	for (uint64_t address = 0; address < 0x500; address += 0x10) {
		uint64_t offset = UINT64_MAX;
		const char *name;

		name = flowtap_symbols_find(symbols, TINY_CODE_ADDRESS + address, &offset);
		if (name)
			touched += strlen(name) + offset;
	}
	flowtap_symbols_free(symbols);
}

static void use(struct flowtap_elf *elf)
{
	struct flowtap_build_id id = flowtap_elf_build_id(elf);
	struct flowtap_segment segments[4];

	if (id.size > sizeof(id.bytes))
		abort();
	for (int i = 0; i < id.size; i++)
		touched += id.bytes[i];
	if (flowtap_elf_segments(elf, segments, 4) > 4)
		abort();
	use_symbols(elf, false);
	use_symbols(elf, true);
	flowtap_elf_close(elf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	uint8_t *copy = malloc(size ? size : 1);
	struct flowtap_elf *elf;

	if (fd < 0 || !copy || write(fd, data, size) != (ssize_t)size)
		abort();
	if (!flowtap_elf_open(fd, &elf))
		use(elf);
	memcpy(copy, data, size);
	if (!flowtap_elf_open_memory(copy, size, &elf))
		use(elf);
	free(copy);
	close(fd);
	return 0;
}

size_t flowtap_fuzz_seed(uint8_t *buffer, size_t capacity, unsigned int n)
{
	size_t size;

	if (n >= 3 || capacity < TINY_ROOM)
		return 0;
	size = tiny_make(buffer, (uint8_t)n);
	/* Most of it is code, which the parser does not look at: mutations shall hit the rest. */
	if (n == 1)
		size = sizeof(struct tiny);
	if (n == 2) {
		((struct tiny *)buffer)->section[3].sh_type = SHT_DYNSYM;
		((struct tiny *)buffer)->header.e_phnum = 0;
	}
	return size;
}
