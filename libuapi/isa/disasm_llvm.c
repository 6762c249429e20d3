// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * LLVM's disassembler by its C interface (llvm-c/Disassembler.h, llvm-c/Target.h), loaded at run
 * time and never unloaded: it does not expect that.
 */
#include "isa/disasm_internal.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OLDEST 14
#define NEWEST 40
#define ISAS (FLOWTAP_ISA_T32 + 1)

static struct {
	pthread_once_t once;
	unsigned int version[3];	/* 0: it is not there */
	bool target[ISAS];
	void *(*create)(const char *triple, const char *cpu, const char *features, void *info,
			int tag, void *operand_info, void *symbol_lookup);
	size_t (*disassemble)(void *context, uint8_t *bytes, uint64_t size, uint64_t pc,
			      char *text, size_t capacity);
	void (*dispose)(void *context);
} llvm = { .once = PTHREAD_ONCE_INIT };

struct self {
	void *context[ISAS];
};

/*
 * Each name that a version does not know it complains of on stderr, so that we ask for what it is
 * known to know. Left out is what means something else than RV64GC: Zcmp and Zcmt take the place
 * of Zcd, Zfinx that of F; MVE of M-profile that of the coprocessors.
 */
static const struct {
	enum flowtap_isa isa;
	unsigned int from, before;	/* versions; 0: all later ones */
	const char *features;
} features[] = {
	{ FLOWTAP_ISA_A64, 14, 15, "+v8.7a,+v9.2a,+sve2,+sme,+crypto,+mte,+ls64,+brbe" },
	{ FLOWTAP_ISA_A64, 15, 0, "+all" },
	{ FLOWTAP_ISA_A32, 14, 0, "+v8.6a,+neon,+fp-armv8,+crypto,+crc,+fullfp16,+fp16fml,+dotprod,"
				  "+ras,+sb,+i8mm,+bf16,+virtualization,+trustzone,+hwdiv,"
				  "+hwdiv-arm,+mp,+dsp" },
	{ FLOWTAP_ISA_RV64, 14, 0, "+m,+a,+f,+d,+c,+v,+zba,+zbb,+zbc,+zbs,+zbkb,+zbkc,+zbkx,+zfh,"
				   "+zfhmin,+zknd,+zkne,+zknh,+zksed,+zksh,+zkr" },
	{ FLOWTAP_ISA_RV64, 15, 0, "+zicbom,+zicbop,+zicboz,+zihintpause,+zmmul" },
	{ FLOWTAP_ISA_RV64, 19, 0, "+h,+zicond,+zfa,+zfbfmin,+zvfbfmin,+zvfbfwma,+zvfh,+zvbb,"
				   "+zvbc,+zvkg,+zvkned,+zvknhb,+zvksed,+zvksh,+zcb,+zcmop,"
				   "+zimop,+zawrs,+zihintntl,+svinval,+zabha,+zama16b" },
};

static const char *const triples[ISAS] = {
	[FLOWTAP_ISA_RV64] = "riscv64",
	[FLOWTAP_ISA_A64] = "aarch64",
	[FLOWTAP_ISA_A32] = "armv8a",
	[FLOWTAP_ISA_T32] = "thumbv8a",
};

static const char *const targets[ISAS] = {
	[FLOWTAP_ISA_RV64] = "RISCV",
	[FLOWTAP_ISA_A64] = "AArch64",
	[FLOWTAP_ISA_A32] = "ARM",
	[FLOWTAP_ISA_T32] = "ARM",
};

/* How distributions name the file of a version. */
static const char *const names[] = { "libLLVM.so.%u.1", "libLLVM-%u.so.1", "libLLVM-%u.so" };

static void *load(unsigned int *version)
{
	char name[40];
	void *library;

	for (unsigned int v = NEWEST; v >= OLDEST; v--) {
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			snprintf(name, sizeof(name), names[i], v);
			library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
			if (library) {
				*version = v;
				return library;
			}
		}
	}
	return NULL;
}

static bool initialize(void *library, const char *target)
{
	static const char *const parts[] = { "TargetInfo", "TargetMC", "Disassembler" };
	void (*function[3])(void);
	char name[64];

	for (int i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "LLVMInitialize%s%s", target, parts[i]);
		*(void **)&function[i] = dlsym(library, name);
		if (!function[i])
			return false;
	}
	for (int i = 0; i < 3; i++)
		function[i]();
	return true;
}

static void load_once(void)
{
	void (*version)(unsigned int *major, unsigned int *minor, unsigned int *patch);
	unsigned int major, named = 0;
	void *library = load(&named);

	if (!library)
		return;
	*(void **)&llvm.create = dlsym(library, "LLVMCreateDisasmCPUFeatures");
	*(void **)&llvm.disassemble = dlsym(library, "LLVMDisasmInstruction");
	*(void **)&llvm.dispose = dlsym(library, "LLVMDisasmDispose");
	if (!llvm.create || !llvm.disassemble || !llvm.dispose)
		return;
	for (int isa = 0; isa < ISAS; isa++)
		llvm.target[isa] = initialize(library, targets[isa]);
	/* From 16 on it says it itself. */
	*(void **)&version = dlsym(library, "LLVMGetVersion");
	if (version)
		version(&major, &llvm.version[1], &llvm.version[2]);
	else
		major = named;
	llvm.version[0] = major;
}

static int open_llvm(void **self, char *version, size_t capacity)
{
	pthread_once(&llvm.once, load_once);
	if (llvm.version[0] < OLDEST)
		return -ENOPKG;
	*self = calloc(1, sizeof(struct self));
	if (!*self)
		return -ENOMEM;
	snprintf(version, capacity, "LLVM %u.%u.%u", llvm.version[0], llvm.version[1],
		 llvm.version[2]);
	return 0;
}

static void close_llvm(void *argument)
{
	struct self *self = argument;

	for (int isa = 0; isa < ISAS; isa++)
		if (self->context[isa])
			llvm.dispose(self->context[isa]);
	free(self);
}

static void *context_of(struct self *self, enum flowtap_isa isa)
{
	enum flowtap_isa same = isa == FLOWTAP_ISA_T32 ? FLOWTAP_ISA_A32 : isa;
	char list[512] = "";
	struct disasm_text text = { .at = list, .capacity = sizeof(list) };

	if (self->context[isa] || !llvm.target[isa])
		return self->context[isa];
	for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++)
		if (features[i].isa == same && llvm.version[0] >= features[i].from &&
		    (!features[i].before || llvm.version[0] < features[i].before))
			flowtap_disasm_append(&text, "%s%s", text.length ? "," : "",
					      features[i].features);
	self->context[isa] = llvm.create(triples[isa], "", list, NULL, 0, NULL, NULL);
	return self->context[isa];
}

static void feed(void *context, uint16_t opcode)
{
	uint8_t bytes[2] = { opcode & 0xff, opcode >> 8 };
	char text[DISASM_RAW];

	llvm.disassemble(context, bytes, sizeof(bytes), 0, text, sizeof(text));
}

/*
 * LLVM remembers an IT block from call to call. We give it the one that the instruction is in, and
 * lead it out again: after four NOPs there is none.
 */
static bool text_llvm(void *argument, enum flowtap_isa isa, uint8_t it, uint64_t address,
		      const uint8_t *bytes, size_t size, char raw[DISASM_RAW])
{
	void *context = context_of(argument, isa);
	bool block = isa == FLOWTAP_ISA_T32 && it & 0xf;
	uint8_t copy[4];
	size_t length;

	if (!context || size > sizeof(copy))
		return false;
	memcpy(copy, bytes, size);
	if (block)
		feed(context, 0xbf08 | (it >> 4 == 0xf ? 0xe : it >> 4) << 4);
	raw[0] = '\0';
	length = llvm.disassemble(context, copy, size, address, raw, DISASM_RAW);
	if (isa == FLOWTAP_ISA_T32 && (block || (size == 2 && bytes[1] == 0xbf)))
		for (int i = 0; i < 4; i++)
			feed(context, 0xbf00);
	return length == size;
}

const struct disasm_library flowtap_disasm_llvm = {
	.missing = "LLVM's library, version 14 or later, was not found (libLLVM.so.19.1, "
		   "libLLVM-14.so.1 ...): install libllvm19 (Debian), llvm-libs (others), or take "
		   "another disassembler",
	.open = open_llvm,
	.close = close_llvm,
	.text = text_llvm,
};
