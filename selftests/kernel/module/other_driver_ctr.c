// SPDX-License-Identifier: GPL-2.0-only
/*
 * A CPU's CTR (riscv64). Only `look` has an answer.
 *
 *	own CPU VALUE		writes sctrctl
 *	guests CPU VALUE	writes vsctrctl; ENODEV without H
 *	look CPU		"SCTRCTL SCTRDEPTH SCTRSTATUS VALID-ENTRIES"
 *	select COUNT		as often as that sets siselect in the caller's context, lets 10 us
 *				go by and looks; EIO where it has become another value
 */
#include <linux/delay.h>
#include <linux/kernel.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/smp.h>

#include "ctr_csr.h"
#include "other_driver_machine.h"

#define COUNT_MAX	1000000
#define DEPTH_MAX	256

struct csrs {
	unsigned long control;
	unsigned long depth;
	unsigned long status;
	unsigned int valid;
};

static void read_csrs(void *argument)
{
	struct csrs *csrs = argument;
	unsigned long select = csr_read(SISELECT), depth;
	unsigned int i;

	csrs->control = csr_read(SCTRCTL);
	csrs->depth = depth = csr_read(SCTRDEPTH);
	csrs->status = csr_read(SCTRSTATUS);
	csrs->valid = 0;
	for (i = 0; i < 16U << depth; i++) {
		csr_write(SISELECT, CTR_SELECT(i));
		csrs->valid += csr_read(SIREG) & CTRSOURCE_V;
	}
	csr_write(SISELECT, select);
}

static int look(const char *words, char *answer, size_t size)
{
	struct csrs csrs;
	unsigned int cpu;
	int error = kstrtouint(words, 0, &cpu);

	if (!error)
		error = smp_call_function_single(cpu, read_csrs, &csrs, 1);
	if (!error)
		scnprintf(answer, size, "%#lx %#lx %#lx %u\n", csrs.control, csrs.depth,
			  csrs.status, csrs.valid);
	return error;
}

static void write_control(void *value)
{
	csr_write(SCTRCTL, *(unsigned long *)value);
}

static int own(const char *words, char *answer, size_t size)
{
	unsigned long value;
	unsigned int cpu;

	if (sscanf(words, "%u %li", &cpu, &value) != 2)
		return -EINVAL;
	return smp_call_function_single(cpu, write_control, &value, 1);
}

static void write_guests(void *value)
{
	unsigned long *wanted = value, before;

	if (csr_read_guarded(VSCTRCTL, &before))
		csr_write(VSCTRCTL, *wanted);
	else
		*wanted = ~0UL;
}

static int guests(const char *words, char *answer, size_t size)
{
	unsigned long value;
	unsigned int cpu;
	int error;

	if (sscanf(words, "%u %li", &cpu, &value) != 2)
		return -EINVAL;
	error = smp_call_function_single(cpu, write_guests, &value, 1);
	return error ?: value == ~0UL ? -ENODEV : 0;
}

/* The caller may be traced: whatever interrupts him here must leave siselect alone. */
static int select(const char *words, char *answer, size_t size)
{
	unsigned int count, i;
	int error = kstrtouint(words, 0, &count);

	if (error)
		return error;
	if (count > COUNT_MAX)
		return -ERANGE;
	for (i = 0; i < count && !error; i++) {
		unsigned long before, mark, after;

		migrate_disable();
		before = csr_read(SISELECT);
		csr_write(SISELECT, CTR_SELECT(i % DEPTH_MAX));
		mark = csr_read(SISELECT);
		udelay(10);
		after = csr_read(SISELECT);
		csr_write(SISELECT, before);
		migrate_enable();
		if (after != mark) {
			pr_err("other_driver: siselect was %#lx, now it is %#lx\n", mark, after);
			error = -EIO;
		}
		cond_resched();
	}
	return error;
}

/*
 * The registers come back with anything in them. No mode is enabled for longer than this: what is
 * written here must not be mistaken for something that was recorded.
 */
void other_driver_scramble(struct rnd_state *random)
{
	unsigned long select = csr_read(SISELECT);
	unsigned int i;

	csr_write(SCTRCTL, 0);
	csr_write(SCTRDEPTH, prandom_u32_state(random) % 5);
	for (i = 0; i < DEPTH_MAX; i++) {
		csr_write(SISELECT, CTR_SELECT(i));
		csr_write(SIREG, 0x5afe0000UL + 16 * i + prandom_u32_state(random) % 2);
		csr_write(SIREG2, 0xffffffff5afe0000UL + 16 * i);
		csr_write(SIREG3, prandom_u32_state(random));
	}
	csr_write(SISELECT, select);
	csr_write(SCTRSTATUS, prandom_u32_state(random));
	csr_write(SCTRCTL, (prandom_u32_state(random) & CTRCTL_STANDARD & ~CTRCTL_S) | CTRCTL_U);
}

bool other_driver_machine_here(void)
{
	unsigned long control;

	return csr_read_guarded(SCTRCTL, &control);
}

const struct other_driver_command other_driver_machine_commands[] = {
	{ "own ", own },
	{ "guests ", guests },
	{ "look ", look },
	{ "select ", select },
	{ NULL },
};
