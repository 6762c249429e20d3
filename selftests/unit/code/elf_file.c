// SPDX-License-Identifier: GPL-2.0-only
/* Shows that a file cannot say how much memory libelf takes for it. */
#include "code/elf_file.h"

#include "support/tinyelf.h"

#include <elf.h>
#include <errno.h>
#include <libelf.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/kselftest_harness.h"

#define SPARSE (200UL << 20)

FIXTURE(elf)
{
	uint8_t bytes[TINY_ROOM];
	size_t size;
	Elf64_Ehdr *header;
	int fd;
	struct flowtap_elf *elf;
};

FIXTURE_SETUP(elf)
{
	self->size = tiny_make(self->bytes, 1);
	self->header = (void *)self->bytes;
	self->fd = -1;
	self->elf = NULL;
}

FIXTURE_TEARDOWN(elf)
{
	flowtap_elf_close(self->elf);
	close(self->fd);
}

/* As a file of which most was never written. */
static int open_sparse(FIXTURE_DATA(elf) *self)
{
	flowtap_elf_close(self->elf);
	self->elf = NULL;
	close(self->fd);
	self->fd = memfd_create("elf", MFD_CLOEXEC);
	if (self->fd < 0 || write(self->fd, self->bytes, self->size) != (ssize_t)self->size ||
	    ftruncate(self->fd, SPARSE))
		abort();
	return flowtap_elf_open(self->fd, &self->elf);
}

TEST_F(elf, is_read_as_a_file_and_in_memory)
{
	struct flowtap_elf *other;

	ASSERT_EQ(0, open_sparse(self));
	ASSERT_EQ(0, flowtap_elf_open_memory(self->bytes, self->size, &other));
	flowtap_elf_close(other);
}

TEST_F(elf, does_not_say_in_section_0_how_many_sections_it_has)
{
	Elf64_Shdr *section = (void *)(self->bytes + self->header->e_shoff);

	self->header->e_shnum = 0;
	section->sh_size = (SPARSE - self->header->e_shoff) / sizeof(*section);
	EXPECT_EQ(-ENOEXEC, open_sparse(self));
	EXPECT_EQ(-ENOEXEC, flowtap_elf_open_memory(self->bytes, self->size, &self->elf));
}

TEST_F(elf, does_not_say_there_how_many_segments_it_has)
{
	Elf64_Shdr *section = (void *)(self->bytes + self->header->e_shoff);

	self->header->e_phnum = PN_XNUM;
	section->sh_info = (SPARSE - self->header->e_phoff) / sizeof(Elf64_Phdr);
	EXPECT_EQ(-ENOEXEC, open_sparse(self));
	EXPECT_EQ(-ENOEXEC, flowtap_elf_open_memory(self->bytes, self->size, &self->elf));
}

TEST_F(elf, nor_does_one_of_32_bits)
{
	Elf32_Ehdr *narrow = (void *)self->bytes;

	memset(narrow, 0, sizeof(*narrow));
	memcpy(narrow->e_ident, ELFMAG, SELFMAG);
	narrow->e_ident[EI_CLASS] = ELFCLASS32;
	narrow->e_ident[EI_DATA] = ELFDATA2MSB;
	narrow->e_ident[EI_VERSION] = EV_CURRENT;
	narrow->e_shoff = 0x40000000;
	EXPECT_EQ(-ENOEXEC, open_sparse(self));
	narrow->e_shoff = 0;
	EXPECT_EQ(0, open_sparse(self));
}

/* Notes of 64 KiB before the one that has it: 1 MiB of them is looked at. */
TEST_F(elf, has_its_build_id_in_its_first_notes)
{
	const size_t at = 0x1800;
	Elf64_Phdr *segment = (void *)(self->bytes + at);
	size_t found[2];

	self->size = sizeof(self->bytes);
	self->header->e_shoff = self->header->e_shnum = self->header->e_shstrndx = 0;
	self->header->e_phoff = at;
	for (size_t more = 0; more < 2; more++) {
		const size_t before = 15 + more;

		for (size_t i = 0; i < before; i++)
			segment[i] = (Elf64_Phdr){
				.p_type = PT_NOTE, .p_align = 4, .p_filesz = 64 << 10,
				.p_offset = (i + 1) << 20,
			};
		segment[before] = (Elf64_Phdr){
			.p_type = PT_NOTE, .p_align = 4,
			.p_filesz = sizeof(((struct tiny *)0)->note),
			.p_offset = offsetof(struct tiny, note),
		};
		self->header->e_phnum = (Elf64_Half)(before + 1);
		ASSERT_EQ(0, open_sparse(self));
		found[more] = flowtap_elf_build_id(self->elf).size;
	}
	EXPECT_EQ(20, found[0]);
	EXPECT_EQ(0, found[1]);
}

/* In a file of this size. */
static int symbol_address(FIXTURE_DATA(elf) *self, off_t size, const char *name, uint64_t *address)
{
	Elf *elf;
	int err;

	if (open_sparse(self) || ftruncate(self->fd, size))
		abort();
	elf = elf_begin(self->fd, ELF_C_READ, NULL);
	err = flowtap_elf_symbol_address(elf, name, address);
	elf_end(elf);
	return err;
}

TEST_F(elf, gives_the_address_of_a_symbol)
{
	struct tiny *tiny = (void *)self->bytes;
	uint64_t address = 0;

	EXPECT_EQ(0, symbol_address(self, SPARSE, "first", &address));
	EXPECT_EQ(TINY_CODE_ADDRESS, address);
	EXPECT_EQ(0, symbol_address(self, SPARSE, "alias", &address));
	EXPECT_EQ(TINY_CODE_ADDRESS + 0x300, address);
	EXPECT_EQ(-ENOENT, symbol_address(self, SPARSE, "alia", &address));
	/* Without the byte that ends it. */
	tiny->section[4].sh_size = tiny->symbols[7].st_name + 5;
	EXPECT_EQ(-ENOENT, symbol_address(self, SPARSE, "alias", &address));
}

TEST_F(elf, has_its_symbols_in_the_first_table)
{
	struct tiny *tiny = (void *)self->bytes;
	uint64_t address;

	tiny->section[6] = tiny->section[3];
	tiny->section[3].sh_size = sizeof(tiny->symbols[0]);
	self->header->e_shnum = 7;
	EXPECT_EQ(-ENOENT, symbol_address(self, SPARSE, "first", &address));
}

TEST_F(elf, of_a_table_that_is_too_large_nothing_is_read)
{
	const uint64_t n = (512UL << 20) / sizeof(Elf64_Sym) + 1;
	struct tiny *tiny = (void *)self->bytes;
	uint64_t address;

	tiny->section[3].sh_size = n * sizeof(tiny->symbols[0]);
	EXPECT_EQ(-ENOENT, symbol_address(self, 600L << 20, "first", &address));
}

TEST_HARNESS_MAIN
