/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The model as a plugin of qemu-system-aarch64. What QEMU tells of a vCPU becomes what pe.h wants
 * to know: runs of instructions that were executed for sure, exceptions, register accesses.
 *
 * QEMU executes translation blocks: straight runs of code at one exception level. A callback at
 * the begin of each, only where the PE wants to know, is all that the model costs the translated
 * code. How much of a block was executed, and where to, what comes next says (plugin_vcpu.c).
 */
#ifndef FLOWTAP_SELFTESTS_MODEL_PLUGIN_H
#define FLOWTAP_SELFTESTS_MODEL_PLUGIN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "oracle/qemu_plugin.h"
#include "pe.h"

#define PLUGIN_CPUS	512
#define PLUGIN_NAME	"flowtap-model"

/* Code that is not modelled (AArch32, firmware) is told to the PE as EL3, which is never traced. */
#define EL_UNTRACED	3

/* --- plugin_code.c: what instructions are. --- */

enum insn_kind {
	INSN_OTHER,
	/* P0: what a block of pe.h ends with. */
	INSN_DIRECT,
	INSN_INDIRECT,
	INSN_ISB,
	INSN_WFX,
	/* What has to be told when it is executed. */
	INSN_DSB,
	INSN_TSB_CSYNC,
	INSN_MRS,
	INSN_MSR,
	INSN_CALL,	/* HVC, SMC */
	INSN_HLT,	/* may be semihosting that ends QEMU */
};

struct insn {
	uint8_t kind;		/* enum insn_kind */
	bool conditional;
	bool link;
	bool eret;
	int32_t distance;	/* INSN_DIRECT: from here to the target, in bytes */
	uint16_t reg;		/* INSN_MRS, INSN_MSR: SYSREG() */
	uint8_t rt;		/* 31: xzr */
};

void insn_classify(uint32_t opcode, struct insn *insn);
/* Whether a conditional INSN_DIRECT is taken. nzcv: PSTATE's bits 31:28; value: of its operands. */
bool insn_taken(uint32_t opcode, unsigned int nzcv, uint64_t rt, uint64_t rm);
static inline bool insn_is_p0(const struct insn *insn)
{
	return insn->kind >= INSN_DIRECT && insn->kind <= INSN_WFX;
}

/* An instruction that has a callback of its own. */
struct point {
	const struct code *code;
	uint32_t index;
	uint32_t opcode;
	struct insn insn;
};

/* A piece of code that QEMU has translated. Lives as long as the plugin. */
struct code {
	uint32_t id;		/* the log's */
	uint32_t n;
	uint16_t offset;	/* of its first instruction in a 4K page; never reaches beyond it */
	uint8_t el;
	bool inner;		/* a P0 instruction is not the last */
	bool watched_end;	/* that the last instruction was begun is recorded */
	struct insn last;
	struct point *points;	/* by index: NULL terminated by n_points */
	uint32_t n_points;
	struct code *next;	/* with the same hash */
	uint64_t address;	/* where it was when it was translated first */
	uint32_t opcodes[];
};

/* The one code with these properties; makes it where it is new. From any thread. */
const struct code *code_get(struct log_set *log, uint64_t address, unsigned int el,
			    const uint32_t *opcodes, uint32_t n);

/* --- plugin_options.c --- */

struct plugin_options {
	char *out;		/* prefix of the log's files; NULL: no log */
	uint8_t times;		/* pe_config.times */
	bool midr_given;
	uint64_t midr;
	struct adversary_options adversary;
	struct trace_unit_options unit;
	struct trace_buffer_options buffer;
};

/* Words NAME=VALUE. False: one is wrong (told on standard error), or help was asked for. */
bool plugin_options_parse(struct plugin_options *options, int argc, char **argv);

/* --- plugin_machine.c: registers, memory, interrupt and clock of QEMU. --- */

enum vcpu_register {
	/* MACHINE_REGISTERS of machine.h come first. */
	VCPU_PC = MACHINE_REGISTERS,
	VCPU_CPSR,
	VCPU_ESR_EL1,
	VCPU_ESR_EL2,
	VCPU_ESR_EL3,
	VCPU_SPSR_EL1,
	VCPU_SPSR_EL2,
	VCPU_SPSR_EL3,
	VCPU_ELR_EL1,
	VCPU_ELR_EL2,
	VCPU_ELR_EL3,
	VCPU_ID_AA64DFR0_EL1,
	VCPU_X0,
	VCPU_REGISTERS = VCPU_X0 + 31
};

struct vcpu;
extern const struct machine plugin_machine;

/* The vCPU whose thread this is, NULL: it is not known yet. */
struct vcpu *machine_current(void);

/* Finds the registers of the vCPU in hand. False: one that must be there is not (told). */
bool machine_find_registers(struct vcpu *vcpu);
/* Finds the interrupt controller; tells what is missing. */
bool machine_find_gic(void);
uint64_t machine_register(struct vcpu *vcpu, unsigned int which);
/* n: 0 to 30. */
void machine_set_x(struct vcpu *vcpu, unsigned int n, uint64_t value);
bool machine_has(const struct vcpu *vcpu, unsigned int which);
uint64_t machine_midr(const struct vcpu *vcpu);
uint64_t machine_frequency(struct vcpu *vcpu);
/* restart is called with all vCPUs at rest when the machine is reset. */
void machine_on_reset(void (*restart)(void *data));

/* --- plugin_vcpu.c: what a vCPU executed. --- */

/* In the scoreboard: what translated code looks at and writes. */
struct score {
	uint64_t wants[4];	/* by exception level: call at the begin of a block */
	uint64_t reached;	/* the block in hand has begun its last instruction */
};

/* An instruction whose effect is told after it, if it was not left by an exception. */
struct aftermath {
	bool due;
	bool aarch32;		/* ERET to AArch32 */
	uint32_t reg;
	uint64_t value;
	uint64_t pc;
};

struct vcpu {
	struct pe pe;
	unsigned int index;
	atomic_bool busy;	/* between vcpu_enter and vcpu_leave */
	bool begun;		/* it has executed an instruction since it was switched on */
	bool was_on;		/* ... since the plugin was loaded */
	/* The block in hand: instructions from `first` on are not told yet. */
	const struct code *code;	/* NULL: none */
	uint64_t pc;			/* of its instruction 0 */
	uint32_t first;
	bool aarch32;		/* it executes AArch32 code */
	bool taken;		/* of a conditional branch to the next instruction */
	struct aftermath write;
	struct aftermath eret;
	bool call_due;		/* HVC or SMC: */
	uint64_t call_pc;
	uint32_t function;	/* w0 there */
	uint32_t ticks;
	uint64_t blocks;
	uint64_t errors;	/* blocks that ended in a way that is not understood */
	void *cpu;		/* QEMU's */
	struct score score;	/* where the vCPUs take turns */
	GByteArray *bytes;
	struct qemu_plugin_register *registers[VCPU_REGISTERS];
};

/* It executes AArch32 code, which is not followed. */
bool vcpu_is_aarch32(const struct vcpu *vcpu);
struct vcpu *vcpu_of(unsigned int index);
/*
 * Around all that a callback does. A guest may end QEMU by semihosting, in the thread of one vCPU
 * while others run on: NULL, the plugin is at its end and takes no more.
 */
struct vcpu *vcpu_enter(unsigned int index);
void vcpu_leave(struct vcpu *vcpu);
struct score *vcpu_score(const struct vcpu *vcpu);
/* The scoreboard is told what the PE wants. After everything that may change it. */
void vcpu_update(struct vcpu *vcpu);
/* It is switched off, or reset: its next instruction is its first. */
void vcpu_stop(struct vcpu *vcpu);
/* The pc of an instruction at this offset of its page, in whose block the vCPU is. */
uint64_t vcpu_pc(struct vcpu *vcpu, uint64_t offset);
/* The instruction at index is being executed: all before it in the block in hand was. */
void vcpu_executed(struct vcpu *vcpu, const struct code *code, uint32_t index);
/* The same, and what was told to the PE may have changed what it wants. pc: of that instruction. */
void vcpu_go_on(struct vcpu *vcpu, const struct code *code, uint32_t index, uint64_t pc);

/* Callbacks. Data: struct code. */
void vcpu_on_block(unsigned int index, void *code);
/* The same and the inline store, where the condition and the store are not translated code. */
void vcpu_on_any_block(unsigned int index, void *code);
void vcpu_on_last(unsigned int index, void *code);
/* Data: struct point. */
void vcpu_on_condition(unsigned int index, void *point);
void vcpu_on_discontinuity(unsigned int index, int type, uint64_t from, uint64_t to, void *data);
void vcpu_on_idle(unsigned int index, void *data);

/* --- plugin_access.c: instructions with a callback. Data: struct point. --- */

void access_on_barrier(unsigned int index, void *point);
void access_on_eret(unsigned int index, void *point);
void access_on_call(unsigned int index, void *point);
void access_on_hlt(unsigned int index, void *point);
void access_on_mrs(unsigned int index, void *point);
void access_on_msr(unsigned int index, void *point);
/* A write that QEMU has executed by now. */
void access_written(struct vcpu *vcpu);

#endif
