// SPDX-License-Identifier: GPL-2.0-only
/*
 * A CPU's trace unit and trace buffer (arm64). Only `look` has an answer.
 *
 *	look CPU		"TRFCR TRCPRGCTLR TRBLIMITR TRCCLAIMCLR"; whoever uses the unit has
 *				unlocked it before
 *	disturb CPU		disables both by the book, whoever uses them
 *	take CPU		the same, and enables the buffer for itself
 *	release CPU		disables it; EIO if it was not left as it was
 */
#include <linux/kernel.h>
#include <linux/mm.h>
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

struct state {
	u64 trfcr;
	u64 unit;
	u64 buffer;
	u64 claims;
};

static void read_state(void *argument)
{
	*(struct state *)argument = (struct state){
		.trfcr = read_sysreg_s(TRFCR),
		.unit = read_sysreg_s(TRC(TRCPRGCTLR)),
		.buffer = read_sysreg_s(TRBLIMITR),
		.claims = read_sysreg_s(TRC(TRCCLAIMCLR)),
	};
}

static int look(const char *words, char *answer, size_t size)
{
	struct state state;
	unsigned int cpu;
	int error = kstrtouint(words, 0, &cpu);

	if (!error)
		error = smp_call_function_single(cpu, read_state, &state, 1);
	if (!error)
		scnprintf(answer, size, "%#llx %#llx %#llx %#llx\n", state.trfcr, state.unit,
			  state.buffer, state.claims);
	return error;
}

static int disturb(const char *words, char *answer, size_t size)
{
	unsigned int cpu;
	int error = kstrtouint(words, 0, &cpu);

	return error ?: smp_call_function_single(cpu, turn_off, NULL, 1);
}

/* One page: nothing is collected, as the trace unit is off. */
static unsigned long buffer;

static void enable_buffer(void *unused)
{
	turn_off(NULL);
	write_sysreg_s(0, TRBSR);
	write_sysreg_s(buffer, TRBBASER);
	write_sysreg_s(buffer, TRBPTR);
	write_sysreg_s(0, TRBTRG);
	isb();
	write_sysreg_s((buffer + PAGE_SIZE) | LIMITR_CIRCULAR | LIMITR_TRIGGER_IGNORE | LIMITR_E,
		       TRBLIMITR);
	isb();
}

static int take(const char *words, char *answer, size_t size)
{
	unsigned int cpu;
	int error = kstrtouint(words, 0, &cpu);

	if (error || buffer)
		return error ?: -EBUSY;
	buffer = get_zeroed_page(GFP_KERNEL);
	if (!buffer)
		return -ENOMEM;
	error = smp_call_function_single(cpu, enable_buffer, NULL, 1);
	if (error) {
		free_page(buffer);
		buffer = 0;
	}
	return error;
}

static void disable_buffer(void *kept)
{
	*(bool *)kept = read_sysreg_s(TRBLIMITR) & LIMITR_E &&
			read_sysreg_s(TRBBASER) == buffer;
	turn_off(NULL);
}

static int release(const char *words, char *answer, size_t size)
{
	bool kept = false;
	unsigned int cpu;
	int error = kstrtouint(words, 0, &cpu);

	if (error || !buffer)
		return error ?: -EINVAL;
	error = smp_call_function_single(cpu, disable_buffer, &kept, 1);
	if (error)
		return error;
	free_page(buffer);
	buffer = 0;
	return kept ? 0 : -EIO;
}

const struct other_driver_command other_driver_machine_commands[] = {
	{ "look ", look },
	{ "disturb ", disturb },
	{ "take ", take },
	{ "release ", release },
	{ NULL },
};
