// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Reads build-id, segments and symbols; the symbols become one table sorted by address, one for
 * each address.
 */
#include "code/elf_file.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "code/label.h"

#define NOTES_MAX (64U << 10)		/* bytes of one segment or section of notes */
#define ALL_NOTES_MAX (1U << 20)		/* of all of a file */
#define TABLE_MAX (512U << 20)		/* bytes of a symbol or string table */

struct flowtap_elf {
	Elf *elf;
};

static int from_handle(Elf *handle, struct flowtap_elf **out)
{
	struct flowtap_elf *elf;

	if (!handle)
		return -ENOEXEC;
	if (elf_kind(handle) != ELF_K_ELF) {
		elf_end(handle);
		return -ENOEXEC;
	}
	elf = malloc(sizeof(*elf));
	if (!elf) {
		elf_end(handle);
		return -ENOMEM;
	}
	elf->elf = handle;
	*out = elf;
	return 0;
}

/*
 * A number of sections or segments that does not fit the header's 16 bits is in section 0, and
 * libelf allocates what it says: of a sparse file more than there is memory. No file that is
 * executed has so many. Of both classes and both byte orders the values looked for are the same.
 */
static bool is_extended(const void *bytes, size_t size)
{
	Elf32_Ehdr narrow;
	Elf64_Ehdr wide;

	if (size >= sizeof(wide) && ((const uint8_t *)bytes)[EI_CLASS] == ELFCLASS64) {
		memcpy(&wide, bytes, sizeof(wide));
		return wide.e_phnum == PN_XNUM || (!wide.e_shnum && wide.e_shoff);
	}
	if (size < sizeof(narrow))
		return false;
	memcpy(&narrow, bytes, sizeof(narrow));
	return narrow.e_phnum == PN_XNUM || (!narrow.e_shnum && narrow.e_shoff);
}

bool flowtap_elf_is_extended(int fd)
{
	uint8_t bytes[sizeof(Elf64_Ehdr)];
	ssize_t n = pread(fd, bytes, sizeof(bytes), 0);

	return n > 0 && is_extended(bytes, (size_t)n);
}

int flowtap_elf_open(int fd, struct flowtap_elf **elf)
{
	elf_version(EV_CURRENT);
	if (flowtap_elf_is_extended(fd))
		return -ENOEXEC;
	return from_handle(elf_begin(fd, ELF_C_READ, NULL), elf);
}

int flowtap_elf_open_memory(const void *bytes, size_t size, struct flowtap_elf **elf)
{
	elf_version(EV_CURRENT);
	if (is_extended(bytes, size))
		return -ENOEXEC;
	/* libelf takes no const, but writes only where elf_update asks it to. */
	return from_handle(elf_memory((char *)(uintptr_t)bytes, size), elf);
}

void flowtap_elf_close(struct flowtap_elf *elf)
{
	if (!elf)
		return;
	elf_end(elf->elf);
	free(elf);
}

uint16_t flowtap_elf_machine(struct flowtap_elf *elf)
{
	GElf_Ehdr header;

	return gelf_getehdr(elf->elf, &header) ? header.e_machine : EM_NONE;
}

bool flowtap_elf_is_relocatable(struct flowtap_elf *elf)
{
	GElf_Ehdr header;

	return gelf_getehdr(elf->elf, &header) && header.e_type == ET_REL;
}

static bool find_build_id(Elf_Data *data, struct flowtap_build_id *id)
{
	size_t offset = 0, name, description;
	GElf_Nhdr note;

	if (!data || !data->d_buf)
		return false;
	while ((offset = gelf_getnote(data, offset, &note, &name, &description)) > 0) {
		const char *bytes = data->d_buf;

		if (name > data->d_size || note.n_namesz > data->d_size - name ||
		    description > data->d_size || note.n_descsz > data->d_size - description)
			return false;
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof(ELF_NOTE_GNU) ||
		    memcmp(bytes + name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)))
			continue;
		if (!note.n_descsz || note.n_descsz > sizeof(id->bytes))
			continue;
		id->size = (uint8_t)note.n_descsz;
		memcpy(id->bytes, bytes + description, note.n_descsz);
		return true;
	}
	return false;
}

/* libelf keeps what it read: not more than `left` of one file. */
static Elf_Data *notes_at(Elf *elf, uint64_t offset, uint64_t size, uint64_t align, uint64_t *left)
{
	if (size > NOTES_MAX || size > *left || offset > INT64_MAX)
		return NULL;
	*left -= size;
	return elf_getdata_rawchunk(elf, (int64_t)offset, size,
				    align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
}

struct flowtap_build_id flowtap_elf_build_id(struct flowtap_elf *elf)
{
	struct flowtap_build_id id = { 0 };
	Elf_Scn *section = NULL;
	GElf_Phdr segment;
	GElf_Shdr header;
	uint64_t left = ALL_NOTES_MAX;
	size_t n = 0;

	if (elf_getphdrnum(elf->elf, &n))
		n = 0;
	for (size_t i = 0; i < n && i < INT32_MAX; i++) {
		if (!gelf_getphdr(elf->elf, (int)i, &segment))
			break;
		if (segment.p_type == PT_NOTE &&
		    find_build_id(notes_at(elf->elf, segment.p_offset, segment.p_filesz,
					   segment.p_align, &left), &id))
			return id;
	}
	while ((section = elf_nextscn(elf->elf, section))) {
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_NOTE &&
		    find_build_id(notes_at(elf->elf, header.sh_offset, header.sh_size,
					   header.sh_addralign, &left), &id))
			return id;
	}
	return id;
}

size_t flowtap_elf_segments(struct flowtap_elf *elf, struct flowtap_segment *segments,
			    size_t capacity)
{
	size_t n = 0, stored = 0;
	GElf_Phdr segment;

	if (elf_getphdrnum(elf->elf, &n))
		n = 0;
	for (size_t i = 0; i < n && i < INT32_MAX && stored < capacity; i++) {
		if (!gelf_getphdr(elf->elf, (int)i, &segment))
			break;
		if (segment.p_type == PT_LOAD)
			segments[stored++] = (struct flowtap_segment) {
				.offset = segment.p_offset,
				.size = segment.p_filesz,
				.address = segment.p_vaddr,
			};
	}
	return stored;
}

/* Symbols. */

struct symbol {
	uint64_t start;
	uint64_t end;
	uint32_t name;
	uint32_t rank;		/* which of several at one address is shown: the lowest */
};

struct flowtap_symbols {
	char *names;
	size_t n;
	struct symbol table[];
};

static int order(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* Where the section that holds the symbol ends, if it holds code; 0 otherwise. */
static uint64_t code_end(Elf *elf, const GElf_Sym *symbol)
{
	GElf_Shdr header;

	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= SHN_LORESERVE)
		return 0;
	if (!gelf_getshdr(elf_getscn(elf, symbol->st_shndx), &header) ||
	    !(header.sh_flags & SHF_EXECINSTR) || symbol->st_value < header.sh_addr ||
	    symbol->st_value - header.sh_addr >= header.sh_size ||
	    header.sh_size > UINT64_MAX - header.sh_addr)
		return 0;
	return header.sh_addr + header.sh_size;
}

/* Bit 0 of a function's address in a 32-bit Arm file says that it is T32 (AAELF32, Symbol Values). */
static uint64_t first_byte(Elf *elf, const GElf_Sym *symbol)
{
	GElf_Ehdr header;

	if (GELF_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_value & 1 &&
	    gelf_getehdr(elf, &header) && header.e_machine == EM_ARM)
		return symbol->st_value - 1;
	return symbol->st_value;
}

static bool read_symbol(Elf *elf, const GElf_Sym *from, const char *names, size_t names_size,
			struct symbol *to)
{
	unsigned int type = GELF_ST_TYPE(from->st_info), bind = GELF_ST_BIND(from->st_info);
	uint64_t end;

	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return false;
	if (from->st_name >= names_size || is_label(names + from->st_name))
		return false;
	end = code_end(elf, from);
	if (!end)
		return false;
	to->start = first_byte(elf, from);
	to->name = from->st_name;
	/* Without a size it goes up to the next one: set when all are known. */
	to->end = from->st_size ? to->start + from->st_size : end;
	if (to->end < to->start || to->end > end)
		to->end = end;
	to->rank = (type == STT_NOTYPE) << 3 | !from->st_size << 2 |
		   (bind == STB_GLOBAL ? 0 : bind == STB_WEAK ? 1 : 2);
	return true;
}

static bool sized(const struct symbol *symbol)
{
	return !(symbol->rank & 1U << 2);
}

/* One symbol for each address, and ends for those that have no size. */
static size_t set_ends(struct symbol *table, size_t n)
{
	size_t kept = 0;

	qsort(table, n, sizeof(*table), order);
	for (size_t i = 0; i < n; i++) {
		if (kept && table[kept - 1].start == table[i].start)
			continue;
		if (kept && !sized(&table[kept - 1]) && table[i].start < table[kept - 1].end)
			table[kept - 1].end = table[i].start;
		table[kept++] = table[i];
	}
	return kept;
}

static Elf_Scn *find_table(Elf *elf, uint32_t type, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, header) && header->sh_type == type)
			return section;
	return NULL;
}

/* The contents of a section that is not greater than we want to hold. */
static Elf_Data *contents(Elf_Scn *section)
{
	GElf_Shdr header;
	Elf_Data *data;

	if (!section || !gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS ||
	    header.sh_flags & SHF_COMPRESSED || header.sh_size > TABLE_MAX)
		return NULL;
	data = elf_getdata(section, NULL);
	return data && data->d_buf && data->d_size ? data : NULL;
}

/* The first table of this type, and its symbols' names; NULL: there are none that can be held. */
static Elf_Data *table_of(Elf *elf, uint32_t type, Elf_Data **names)
{
	GElf_Shdr header;
	Elf_Data *table = contents(find_table(elf, type, &header));

	*names = table && table->d_type == ELF_T_SYM ? contents(elf_getscn(elf, header.sh_link)) :
						       NULL;
	return *names ? table : NULL;
}

int flowtap_elf_symbols(struct flowtap_elf *elf, bool dynamic, struct flowtap_symbols **out)
{
	struct flowtap_symbols *symbols;
	Elf_Data *table, *names;
	GElf_Sym symbol;
	size_t entry, n;

	table = table_of(elf->elf, dynamic ? SHT_DYNSYM : SHT_SYMTAB, &names);
	if (!table)
		return -ENOENT;
	entry = gelf_fsize(elf->elf, ELF_T_SYM, 1, EV_CURRENT);
	if (!entry)
		return -ENOENT;
	n = table->d_size / entry;
	symbols = malloc(sizeof(*symbols) + n * sizeof(symbols->table[0]));
	if (!symbols)
		return -ENOMEM;
	symbols->n = 0;
	symbols->names = malloc(names->d_size + 1);
	if (!symbols->names) {
		free(symbols);
		return -ENOMEM;
	}
	memcpy(symbols->names, names->d_buf, names->d_size);
	symbols->names[names->d_size] = 0;
	for (size_t i = 0; i < n && i < INT32_MAX; i++)
		if (gelf_getsym(table, (int)i, &symbol) &&
		    read_symbol(elf->elf, &symbol, symbols->names, names->d_size,
				&symbols->table[symbols->n]))
			symbols->n++;
	symbols->n = set_ends(symbols->table, symbols->n);
	if (!symbols->n) {
		flowtap_symbols_free(symbols);
		return -ENOENT;
	}
	*out = symbols;
	return 0;
}

int flowtap_elf_symbol_address(Elf *elf, const char *name, uint64_t *address)
{
	const size_t size = strlen(name) + 1;
	Elf_Data *table, *names;
	GElf_Sym symbol;

	table = table_of(elf, SHT_SYMTAB, &names);
	for (int i = 0; table && i < INT32_MAX && gelf_getsym(table, i, &symbol); i++) {
		if (size > names->d_size || symbol.st_name > names->d_size - size ||
		    memcmp((const char *)names->d_buf + symbol.st_name, name, size))
			continue;
		*address = symbol.st_value;
		return 0;
	}
	return -ENOENT;
}

void flowtap_symbols_free(struct flowtap_symbols *symbols)
{
	if (!symbols)
		return;
	free(symbols->names);
	free(symbols);
}

/* A function can lie within another (an entry in hand-written code): look a few back. */
#define NESTED 8

const char *flowtap_symbols_find(const struct flowtap_symbols *symbols, uint64_t address,
				 uint64_t *offset)
{
	size_t low = 0, high = symbols->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols->table[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t back = 0; low && back < NESTED; low--, back++) {
		const struct symbol *symbol = &symbols->table[low - 1];

		if (address < symbol->end) {
			*offset = address - symbol->start;
			return symbols->names + symbol->name;
		}
	}
	return NULL;
}
