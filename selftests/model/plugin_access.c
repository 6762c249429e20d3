// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Instructions that the model takes part in. QEMU calls before each of them executes: MRS and MSR
 * of registers that it does not have are done here and stepped over; of others that the model has
 * to know the effect is told when the next thing shows that they were executed.
 */
#include "plugin.h"
#include "sysreg.h"

#define HCR_TGE		(1ULL << 27)
#define HCR_E2H		(1ULL << 34)
#define SPSR_AARCH32	(1U << 4)

static uint64_t pc_of(struct vcpu *vcpu, const struct point *point)
{
	return vcpu_pc(vcpu, point->code->offset + 4 * (uint64_t)point->index);
}

static void barrier(struct vcpu *vcpu, const struct point *point)
{
	const uint64_t pc = pc_of(vcpu, point);

	/* They cannot fail. */
	vcpu_executed(vcpu, point->code, point->index + 1);
	switch (point->insn.kind) {
	case INSN_ISB:
		pe_isb(&vcpu->pe, pc);
		break;
	case INSN_DSB:
		pe_dsb(&vcpu->pe, pc);
		break;
	case INSN_TSB_CSYNC:
		pe_tsb_csync(&vcpu->pe, pc);
		break;
	}
	vcpu_go_on(vcpu, point->code, point->index + 1, pc + 4);
}

static void eret(struct vcpu *vcpu, const struct point *point)
{
	const unsigned int el = point->code->el;

	vcpu->eret.due = true;
	vcpu->eret.pc = pc_of(vcpu, point);
	vcpu->eret.aarch32 = el && machine_register(vcpu, VCPU_SPSR_EL1 + el - 1) & SPSR_AARCH32;
	vcpu_update(vcpu);
}

static void call(struct vcpu *vcpu, const struct point *point)
{
	vcpu->call_due = true;
	vcpu->call_pc = pc_of(vcpu, point);
	vcpu->function = machine_register(vcpu, VCPU_X0);
}

static void hlt(struct vcpu *vcpu, const struct point *point)
{
	vcpu_executed(vcpu, point->code, point->index);
}

/* The instruction was executed by us. Does not return. */
static void step_over(struct vcpu *vcpu, const struct point *point, uint64_t pc)
{
	vcpu_executed(vcpu, point->code, point->index + 1);
	vcpu->code = NULL;
	vcpu_update(vcpu);
	vcpu_leave(vcpu);
	qemu_plugin_set_pc(pc + 4);
}

static void mrs(struct vcpu *vcpu, const struct point *point)
{
	const uint64_t pc = pc_of(vcpu, point);
	uint64_t value = 0;

	vcpu_executed(vcpu, point->code, point->index);
	if (point->insn.reg == SYSREG_ID_AA64DFR0_EL1)
		value = machine_register(vcpu, VCPU_ID_AA64DFR0_EL1);
	else if (point->insn.reg == SYSREG_MIDR_EL1)
		value = machine_midr(vcpu);
	if (!pe_read(&vcpu->pe, point->insn.reg, pc, &value))
		return;
	if (point->insn.rt != 31)
		machine_set_x(vcpu, point->insn.rt, value);
	step_over(vcpu, point, pc);
}

static void msr(struct vcpu *vcpu, const struct point *point)
{
	const uint64_t pc = pc_of(vcpu, point);
	uint64_t value = 0;

	if (point->insn.rt != 31)
		value = machine_register(vcpu, VCPU_X0 + point->insn.rt);
	vcpu_executed(vcpu, point->code, point->index);
	if (pe_replaces(point->insn.reg)) {
		if (pe_write(&vcpu->pe, point->insn.reg, pc, value))
			step_over(vcpu, point, pc);
		return;
	}
	vcpu->write.due = true;
	vcpu->write.reg = point->insn.reg;
	vcpu->write.value = value;
	vcpu->write.pc = pc;
	vcpu_update(vcpu);
}

#define CALLBACK(name) \
	void access_on_##name(unsigned int index, void *point) \
	{ \
		struct vcpu *vcpu = vcpu_enter(index); \
		\
		if (!vcpu) \
			return; \
		name(vcpu, point); \
		vcpu_leave(vcpu); \
	}

CALLBACK(barrier)
CALLBACK(eret)
CALLBACK(call)
CALLBACK(hlt)
CALLBACK(mrs)
CALLBACK(msr)

void access_written(struct vcpu *vcpu)
{
	struct pe *pe = &vcpu->pe;
	uint64_t hcr;

	vcpu->write.due = false;
	pe_write(pe, vcpu->write.reg, vcpu->write.pc, vcpu->write.value);
	switch (vcpu->write.reg) {
	case SYSREG_OSLAR_EL1:
		pe_state(pe, pe->e2h, pe->tge, vcpu->write.value & 1);
		break;
	case SYSREG_HCR_EL2:
		hcr = machine_register(vcpu, MACHINE_HCR_EL2);
		pe_state(pe, hcr & HCR_E2H, hcr & HCR_TGE, pe->oslock);
		break;
	}
}
