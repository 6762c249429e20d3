// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that the functions of ELF files are found where the files were loaded, that what is none is
 * refused, and that whatever is in the file a name of it ends as a name in the text of a branch.
 */
#include <flowtap/disasm.h>
#include <flowtap/symbol.h>

#include "support/tinyelf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/kselftest_harness.h"

FIXTURE(files)
{
	struct flowtap_symbol_files *files;
	uint8_t elf[TINY_ROOM];
	size_t size;
};

FIXTURE_SETUP(files)
{
	self->files = flowtap_symbol_files_new();
	ASSERT_NE(NULL, self->files);
	self->size = tiny_make(self->elf, 1);
}

FIXTURE_TEARDOWN(files)
{
	flowtap_symbol_files_free(self->files);
}

static int add(struct flowtap_symbol_files *files, const void *bytes, size_t size, uint64_t bias)
{
	int fd = memfd_create("elf", MFD_CLOEXEC), error;

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	error = flowtap_symbol_files_add(files, fd, bias);
	close(fd);
	return error;
}

/* "name+0x4", or "nothing". */
static const char *at(struct flowtap_symbol_files *files, uint64_t address, char text[100])
{
	uint64_t offset = UINT64_MAX;
	const char *name = flowtap_symbol_files_find(files, address, &offset);

	if (name)
		snprintf(text, 100, "%s+0x%llx", name, (unsigned long long)offset);
	return name ? text : "nothing";
}

TEST_F(files, are_where_they_were_loaded)
{
	const uint64_t base = 0x7f0000000000, code = base + TINY_CODE_ADDRESS;
	char text[100];

	EXPECT_STREQ("nothing", at(self->files, code, text));
	ASSERT_EQ(0, add(self->files, self->elf, self->size, base));
	EXPECT_STREQ("first+0x0", at(self->files, code, text));
	EXPECT_STREQ("nested+0x4", at(self->files, code + 0x44, text));
	EXPECT_STREQ("first+0x60", at(self->files, code + 0x60, text));
	EXPECT_STREQ("alias+0x7f", at(self->files, code + 0x37f, text));
	EXPECT_STREQ("nothing", at(self->files, code + 0x380, text));
	EXPECT_STREQ("nothing", at(self->files, code - 1, text));
	EXPECT_STREQ("nothing", at(self->files, TINY_CODE_ADDRESS, text));
	EXPECT_STREQ("nothing", at(self->files, 0, text));
	EXPECT_STREQ("nothing", at(self->files, UINT64_MAX, text));
}

TEST_F(files, the_first_one_counts_and_a_bias_may_wrap)
{
	char text[100];

	ASSERT_EQ(0, add(self->files, self->elf, self->size, 0));
	memcpy(((struct tiny *)self->elf)->names + 1, "other", 6);
	ASSERT_EQ(0, add(self->files, self->elf, self->size, 0));
	ASSERT_EQ(0, add(self->files, self->elf, self->size, -(uint64_t)0x10000));
	EXPECT_STREQ("first+0x8", at(self->files, TINY_CODE_ADDRESS + 8, text));
	EXPECT_STREQ("other+0x8", at(self->files, TINY_CODE_ADDRESS + 8 - 0x10000, text));
}

TEST_F(files, of_a_stripped_one_the_dynamic_symbols_count)
{
	struct tiny *tiny = (struct tiny *)self->elf;
	char text[100];

	tiny->section[3].sh_type = SHT_DYNSYM;
	ASSERT_EQ(0, add(self->files, self->elf, self->size, 0));
	EXPECT_STREQ("first+0x8", at(self->files, TINY_CODE_ADDRESS + 8, text));
}

TEST_F(files, what_is_none_is_refused)
{
	struct tiny *tiny = (struct tiny *)self->elf;

	EXPECT_EQ(-ENOEXEC, add(self->files, "", 0, 0));
	EXPECT_EQ(-ENOEXEC, add(self->files, "no ELF file", 11, 0));
	EXPECT_EQ(-ENOEXEC, add(self->files, self->elf, 40, 0));
	tiny->section[3].sh_type = SHT_PROGBITS;
	EXPECT_EQ(-ENOENT, add(self->files, self->elf, self->size, 0));
	/* Tables that claim to be greater than the file, or than anything. */
	tiny_make(self->elf, 1);
	tiny->section[3].sh_size = UINT64_MAX / 2;
	EXPECT_EQ(-ENOENT, add(self->files, self->elf, self->size, 0));
	tiny_make(self->elf, 1);
	tiny->section[4].sh_size = 1ULL << 40;
	EXPECT_EQ(-ENOENT, add(self->files, self->elf, self->size, 0));
}

/* Of a .o and a .ko each section begins at 0: what is found there would be any function of them. */
TEST_F(files, one_that_is_yet_to_be_linked_has_no_addresses)
{
	struct tiny *tiny = (struct tiny *)self->elf;

	tiny->header.e_type = ET_REL;
	EXPECT_EQ(-EOPNOTSUPP, add(self->files, self->elf, self->size, 0x10000));
	tiny->header.e_type = ET_EXEC;
	EXPECT_EQ(0, add(self->files, self->elf, self->size, 0x10000));
}

TEST_F(files, there_is_an_end_to_them)
{
	for (int i = 0; i < FLOWTAP_SYMBOLS_FILES; i++)
		ASSERT_EQ(0, add(self->files, self->elf, self->size, 0));
	EXPECT_EQ(-E2BIG, add(self->files, self->elf, self->size, 0));
}

/* Whatever stands in a file: one line, which does not begin otherwise than the mnemonic does. */
TEST_F(files, a_name_is_a_name_in_the_text_of_a_branch)
{
	struct flowtap_disasm_options options = {
		.backend = FLOWTAP_DISASM_LLVM, .symbol = flowtap_symbol_files_find,
		.argument = self->files,
	};
	const uint8_t call[] = { 0x01, 0x00, 0x00, 0x94 };	/* bl .+4 */
	struct flowtap_disasm *disasm;
	char text[FLOWTAP_DISASM_CAPACITY];

	memcpy(((struct tiny *)self->elf)->names + 1, "f\n;\xff\t", 5);
	ASSERT_EQ(0, add(self->files, self->elf, self->size, 0));
	if (flowtap_disasm_new(&options, &disasm))
		SKIP(return, "%s", flowtap_disasm_missing(options.backend));
	flowtap_disasm_text(disasm, FLOWTAP_ISA_A64, 0, TINY_CODE_ADDRESS + 4, call, 4, text,
			    sizeof(text));
	EXPECT_STREQ("BL       11008 ; f?;??+0x8", text);
	flowtap_disasm_free(disasm);
	options.style = FLOWTAP_DISASM_PLAIN;
	ASSERT_EQ(0, flowtap_disasm_new(&options, &disasm));
	flowtap_disasm_text(disasm, FLOWTAP_ISA_A64, 0, TINY_CODE_ADDRESS + 4, call, 4, text,
			    sizeof(text));
	EXPECT_STREQ("bl 11008 <f?;??+0x8>", text);
	flowtap_disasm_free(disasm);
}

TEST_HARNESS_MAIN
