/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes a small RISC-V ELF file: code, a build-id, a symbol table. */
#ifndef FLOWTAP_SELFTESTS_SUPPORT_TINYELF_H
#define FLOWTAP_SELFTESTS_SUPPORT_TINYELF_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TINY_CODE_OFFSET 0x1000U
#define TINY_CODE_SIZE 0x400U
#define TINY_CODE_ADDRESS 0x11000U	/* of the first code byte, in the file's own addresses */
#define TINY_ROOM 0x2000U

struct tiny {
	Elf64_Ehdr header;
	Elf64_Phdr segment[3];
	struct {
		Elf64_Nhdr header;
		char name[4];
		uint8_t id[20];
	} note;
	Elf64_Sym symbols[8];
	char names[96];
	char sections[64];
	Elf64_Shdr section[7];
};

/* Functions of the code: name, where in it, size, type. */
static const struct {
	const char *name;
	uint32_t at;
	uint32_t size;
	unsigned char info;
} tiny_functions[] = {
	{ "first", 0, 0x100, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC) },
	{ "nested", 0x40, 0x20, ELF64_ST_INFO(STB_LOCAL, STT_FUNC) },
	{ "sizeless", 0x200, 0, ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE) },
	{ "$xrv64gc", 0x210, 0, ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE) },
	{ ".L1", 0x220, 0, ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE) },
	{ "last", 0x300, 0x80, ELF64_ST_INFO(STB_WEAK, STT_FUNC) },
	{ "alias", 0x300, 0x80, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC) },
};

static size_t tiny_name(char *names, size_t *used, const char *name)
{
	size_t at = *used;

	strcpy(names + at, name);
	*used += strlen(name) + 1;
	return at;
}

static void tiny_sections(struct tiny *tiny)
{
	static const struct {
		const char *name;
		Elf64_Shdr header;
	} table[] = {
		{ "", { 0 } },
		{ ".text", { .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
			     .sh_addr = TINY_CODE_ADDRESS, .sh_offset = TINY_CODE_OFFSET,
			     .sh_size = TINY_CODE_SIZE, .sh_addralign = 4 } },
		{ ".note.gnu.build-id", { .sh_type = SHT_NOTE, .sh_flags = SHF_ALLOC,
			     .sh_offset = offsetof(struct tiny, note),
			     .sh_size = sizeof(tiny->note),
			     .sh_addralign = 4 } },
		{ ".symtab", { .sh_type = SHT_SYMTAB, .sh_offset = offsetof(struct tiny, symbols),
			       .sh_size = sizeof(tiny->symbols), .sh_link = 4, .sh_info = 1,
			       .sh_addralign = 8, .sh_entsize = sizeof(Elf64_Sym) } },
		{ ".strtab", { .sh_type = SHT_STRTAB, .sh_offset = offsetof(struct tiny, names),
			       .sh_size = sizeof(tiny->names), .sh_addralign = 1 } },
		{ ".shstrtab", { .sh_type = SHT_STRTAB,
				 .sh_offset = offsetof(struct tiny, sections),
				 .sh_size = sizeof(tiny->sections), .sh_addralign = 1 } },
	};
	size_t used = 0;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		tiny->section[i] = table[i].header;
		tiny->section[i].sh_name = tiny_name(tiny->sections, &used, table[i].name);
	}
	tiny->header.e_shoff = offsetof(struct tiny, section);
	tiny->header.e_shentsize = sizeof(Elf64_Shdr);
	tiny->header.e_shnum = sizeof(table) / sizeof(table[0]);
	tiny->header.e_shstrndx = 5;
}

static void tiny_symbols(struct tiny *tiny)
{
	size_t used = 1;

	for (size_t i = 0; i < sizeof(tiny_functions) / sizeof(tiny_functions[0]); i++) {
		tiny->symbols[i + 1] = (Elf64_Sym) {
			.st_name = tiny_name(tiny->names, &used, tiny_functions[i].name),
			.st_info = tiny_functions[i].info,
			.st_shndx = 1,
			.st_value = TINY_CODE_ADDRESS + tiny_functions[i].at,
			.st_size = tiny_functions[i].size,
		};
	}
}

/* Code byte i of a file made with `seed`. */
static uint8_t tiny_code(uint8_t seed, size_t i)
{
	return (uint8_t)(seed + i * 7 + (i >> 8));
}

/* The build-id of a file made with `seed`. */
static void tiny_build_id(uint8_t id[20], uint8_t seed)
{
	memset(id, seed, 20);
	id[0] = 0xab;
}

/* Fills at least TINY_CODE_OFFSET + TINY_CODE_SIZE bytes; returns how many. */
static __attribute__((unused)) size_t tiny_make(uint8_t *bytes, uint8_t seed)
{
	struct tiny tiny = {
		.header = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				     EV_CURRENT },
			.e_type = ET_DYN,
			.e_machine = EM_RISCV,
			.e_version = EV_CURRENT,
			.e_ehsize = sizeof(Elf64_Ehdr),
			.e_phoff = offsetof(struct tiny, segment),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 3,
		},
		.segment = {
			{ .p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = sizeof(tiny),
			  .p_memsz = sizeof(tiny), .p_align = 0x1000 },
			{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = TINY_CODE_OFFSET,
			  .p_vaddr = TINY_CODE_ADDRESS, .p_filesz = TINY_CODE_SIZE,
			  .p_memsz = TINY_CODE_SIZE, .p_align = 0x1000 },
			{ .p_type = PT_NOTE, .p_flags = PF_R,
			  .p_offset = offsetof(struct tiny, note), .p_filesz = sizeof(tiny.note),
			  .p_align = 4 },
		},
		.note = {
			.header = { .n_namesz = 4, .n_descsz = 20, .n_type = NT_GNU_BUILD_ID },
			.name = ELF_NOTE_GNU,
		},
	};

	tiny_build_id(tiny.note.id, seed);
	tiny_symbols(&tiny);
	tiny_sections(&tiny);
	_Static_assert(sizeof(tiny) <= TINY_CODE_OFFSET, "room");
	memset(bytes, 0, TINY_CODE_OFFSET);
	memcpy(bytes, &tiny, sizeof(tiny));
	for (size_t i = 0; i < TINY_CODE_SIZE; i++)
		bytes[TINY_CODE_OFFSET + i] = tiny_code(seed, i);
	return TINY_CODE_OFFSET + TINY_CODE_SIZE;
}

#endif /* FLOWTAP_SELFTESTS_SUPPORT_TINYELF_H */
