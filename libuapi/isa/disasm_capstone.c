// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * capstone by its C interface (capstone/capstone.h), loaded at run time. Before version 5 it does
 * not know RISC-V well enough to be of use. Version 6 changed struct cs_insn: which one it is, an
 * instruction that is known beforehand says.
 */
#include "isa/disasm_internal.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ISAS (FLOWTAP_ISA_T32 + 1)

/* enum cs_arch, enum cs_mode */
enum { ARCH_ARM = 0, ARCH_ARM64 = 1, ARCH_RISCV = 15 };
enum { MODE_THUMB = 1 << 4, MODE_V8 = 1 << 6, MODE_RISCV64 = 1 << 1, MODE_RISCVC = 1 << 2 };

struct insn5 {
	unsigned int id;
	uint64_t address;
	uint16_t size;
	uint8_t bytes[24];
	char mnemonic[32];
	char operands[160];
	void *detail;
};

struct insn6 {
	unsigned int id;
	uint64_t alias;
	uint64_t address;
	uint16_t size;
	uint8_t bytes[24];
	char mnemonic[32];
	char operands[160];
	bool is_alias;
	bool alias_details;
	void *detail;
};

static const struct layout {
	size_t insn, size, mnemonic, operands;
} layouts[] = {
	{ sizeof(struct insn5), offsetof(struct insn5, size), offsetof(struct insn5, mnemonic),
	  offsetof(struct insn5, operands) },
	{ sizeof(struct insn6), offsetof(struct insn6, size), offsetof(struct insn6, mnemonic),
	  offsetof(struct insn6, operands) },
};

static struct {
	pthread_once_t once;
	const struct layout *layout;	/* NULL: it is not there */
	int version[2];
	int (*open)(int arch, int mode, size_t *handle);
	int (*close)(size_t *handle);
	size_t (*disassemble)(size_t handle, const uint8_t *code, size_t size, uint64_t address,
			      size_t count, void **insns);
	void (*free)(void *insns, size_t count);
} capstone = { .once = PTHREAD_ONCE_INIT };

struct self {
	bool opened[ISAS];
	size_t handle[ISAS];
};

static const struct {
	int arch, mode;
} machines[ISAS] = {
	[FLOWTAP_ISA_RV64] = { ARCH_RISCV, MODE_RISCV64 | MODE_RISCVC },
	[FLOWTAP_ISA_A64] = { ARCH_ARM64, 0 },
	[FLOWTAP_ISA_A32] = { ARCH_ARM, MODE_V8 },
	[FLOWTAP_ISA_T32] = { ARCH_ARM, MODE_V8 | MODE_THUMB },
};

static const char *const names[] = { "libcapstone.so.6", "libcapstone.so.5", "libcapstone.so" };

static const struct layout *probe(void)
{
	static const uint8_t nop[4] = { 0x1f, 0x20, 0x03, 0xd5 };
	const struct layout *found = NULL;
	size_t handle, n;
	void *insns;

	if (capstone.open(ARCH_ARM64, 0, &handle))
		return NULL;
	n = capstone.disassemble(handle, nop, sizeof(nop), 0, 1, &insns);
	/* Both are larger than where the other has its mnemonic. */
	for (size_t i = 0; n && i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (!memcmp((char *)insns + layouts[i].mnemonic, "nop", 4))
			found = &layouts[i];
	if (n)
		capstone.free(insns, n);
	capstone.close(&handle);
	return found;
}

static bool load(const char *name)
{
	unsigned int (*version)(int *major, int *minor);
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return false;
	*(void **)&version = dlsym(library, "cs_version");
	*(void **)&capstone.open = dlsym(library, "cs_open");
	*(void **)&capstone.close = dlsym(library, "cs_close");
	*(void **)&capstone.disassemble = dlsym(library, "cs_disasm");
	*(void **)&capstone.free = dlsym(library, "cs_free");
	if (version && capstone.open && capstone.close && capstone.disassemble && capstone.free) {
		version(&capstone.version[0], &capstone.version[1]);
		if (capstone.version[0] >= 5)
			capstone.layout = probe();
	}
	if (!capstone.layout)
		dlclose(library);
	return capstone.layout;
}

static void load_once(void)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (load(names[i]))
			return;
}

static int open_capstone(void **self, char *version, size_t capacity)
{
	pthread_once(&capstone.once, load_once);
	if (!capstone.layout)
		return -ENOPKG;
	*self = calloc(1, sizeof(struct self));
	if (!*self)
		return -ENOMEM;
	snprintf(version, capacity, "capstone %d.%d", capstone.version[0], capstone.version[1]);
	return 0;
}

static void close_capstone(void *argument)
{
	struct self *self = argument;

	for (int isa = 0; isa < ISAS; isa++)
		if (self->opened[isa])
			capstone.close(&self->handle[isa]);
	free(self);
}

static bool text_capstone(void *argument, enum flowtap_isa isa, uint8_t it, uint64_t address,
			  const uint8_t *bytes, size_t size, char raw[DISASM_RAW])
{
	bool block = isa == FLOWTAP_ISA_T32 && it & 0xf;
	struct disasm_text text = { .at = raw, .capacity = DISASM_RAW };
	struct self *self = argument;
	size_t n, lead = block ? 2 : 0;
	uint8_t code[6];
	const char *insn;
	void *insns;
	bool known;

	if (!self->opened[isa] && capstone.open(machines[isa].arch, machines[isa].mode,
						&self->handle[isa]))
		return false;
	self->opened[isa] = true;
	if (lead + size > sizeof(code))
		return false;
	/* An IT block of this instruction alone. */
	code[0] = 0x08 | (it >> 4 == 0xf ? 0xe : it >> 4) << 4;
	code[1] = 0xbf;
	memcpy(code + lead, bytes, size);
	n = capstone.disassemble(self->handle[isa], code, lead + size, address - lead, 1 + block,
				 &insns);
	if (!n)
		return false;
	insn = (const char *)insns + (block ? capstone.layout->insn : 0);
	known = n == 1U + block && *(const uint16_t *)(insn + capstone.layout->size) == size;
	if (known) {
		raw[0] = '\0';
		flowtap_disasm_append(&text, "%.31s\t%.159s", insn + capstone.layout->mnemonic,
				      insn + capstone.layout->operands);
	}
	capstone.free(insns, n);
	return known;
}

const struct disasm_library flowtap_disasm_capstone = {
	.missing = "capstone's library, version 5 or later, was not found (libcapstone.so.5): install "
		   "libcapstone5 (Debian 13), capstone (others), or take another disassembler",
	.open = open_capstone,
	.close = close_capstone,
	.text = text_capstone,
};
