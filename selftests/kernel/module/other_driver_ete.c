// SPDX-License-Identifier: GPL-2.0-only
/*
 * A CPU's trace unit and trace buffer (arm64).
 *
 *	disturb CPU		disables both by the book, whoever uses them
 */
#include <linux/kernel.h>
#include <linux/smp.h>
#include <asm/barrier.h>
#include <asm/cpufeature.h>	/* tsb_csync() */
#include <asm/sysreg.h>

#include "ete_registers.h"
#include "other_driver_machine.h"
#include "trbe_registers.h"

#define POLLS	10000

static void write_unit(struct rnd_state *random)
{
	write_sysreg_s(CONFIGR_RES1 | CONFIGR_RS, TRC(TRCCONFIGR));
	write_sysreg_s(1 + prandom_u32_state(random) % 0x6f, TRC(TRCTRACEIDR));
	write_sysreg_s(8 + prandom_u32_state(random) % 12, TRC(TRCSYNCPR));
	/* Nothing would be traced. */
	write_sysreg_s(0, TRC(TRCVICTLR));
	write_sysreg_s(0, TRC(TRCRSR));
	write_sysreg_s(CLAIM_SELF, TRC(TRCCLAIMCLR));
	isb();
	write_sysreg_s(1, OSLAR);
}

/* What is UNKNOWN or 0 after a cold reset (DDI 0487): the interrupt's cause as well. */
void other_driver_scramble(struct rnd_state *random)
{
	write_sysreg_s(0, TRFCR);
	isb();
	write_unit(random);
	write_sysreg_s((u64)prandom_u32_state(random) << 12, TRBBASER);
	write_sysreg_s((u64)prandom_u32_state(random) << 12, TRBPTR);
	write_sysreg_s(prandom_u32_state(random), TRBTRG);
	write_sysreg_s(prandom_u32_state(random) & (SR_IRQ | SR_TRG), TRBSR);
	isb();
}

bool other_driver_machine_here(void)
{
	u64 features = read_sysreg(id_aa64dfr0_el1);

	return features >> ID_AA64DFR0_EL1_TraceBuffer_SHIFT & 15;
}

/* K10.5.7.1.2, K10.5.10: trace prohibited, drained, the unit off, the buffer off. */
static void turn_off(void *unused)
{
	u32 polls;

	write_sysreg_s(0, TRFCR);
	isb();
	tsb_csync();
	write_sysreg_s(0, TRC(TRCPRGCTLR));
	for (polls = 0; polls < POLLS; polls++) {
		isb();
		if (read_sysreg_s(TRC(TRCSTATR)) & STATR_IDLE)
			break;
	}
	write_sysreg_s(0, TRBLIMITR);
	dsb(nsh);
	isb();
}

static int disturb(const char *words, char *answer, size_t size)
{
	unsigned int cpu;
	int error = kstrtouint(words, 0, &cpu);

	return error ?: smp_call_function_single(cpu, turn_off, NULL, 1);
}

const struct other_driver_command other_driver_machine_commands[] = {
	{ "disturb ", disturb },
	{ NULL },
};
