// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * struct machine on QEMU. Registers and memory by the plugin interface; the interrupt's line, the
 * virtual clock and machine reset by functions of QEMU that its executable exports: no header of
 * QEMU's is used, so each is declared here as QEMU 11.1 has it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

#define TRBE_INTID	21		/* its INTID: PPI 5 of the device tree */
/* GPIO inputs of the GICv3 that are PPIs follow those of the SPIs; `virt` has 256 of these. */
#define GIC_SPIS	256
#define GIC_INTERNAL	32
#define CLOCK_VIRTUAL	1

typedef void *qemu_irq;
void *object_resolve_path_type(const char *path, const char *type, bool *ambiguous);
uint64_t object_property_get_uint(void *object, const char *name, void **error);
qemu_irq qdev_get_gpio_in(void *device, int n);
void qemu_set_irq(qemu_irq irq, int level);
void *qemu_get_cpu(int index);
int64_t qemu_clock_get_ns(int type);
/* Weak, so that QEMU for another architecture loads the plugin, which says what it is for. */
unsigned int gt_cntfrq_period_ns(void *cpu) __attribute__((weak));
void qemu_register_reset(void (*function)(void *data), void *data);
/* The last argument is a union of an int, a pointer and the like, passed as one word. */
void async_run_on_cpu(void *cpu, void (*function)(void *cpu, uintptr_t data), uintptr_t data);

extern __thread void *current_cpu;

static void *gic;

static const struct {
	const char *name;
	unsigned int which;
	bool needed;		/* else 0 where it is not there */
} names[] = {
	{ "SCTLR_EL1", MACHINE_SCTLR_EL1, true },
	{ "TCR_EL1", MACHINE_TCR_EL1, true },
	{ "TTBR0_EL1", MACHINE_TTBR0_EL1, true },
	{ "TTBR1_EL1", MACHINE_TTBR1_EL1, true },
	{ "HCR_EL2", MACHINE_HCR_EL2, false },
	{ "SCTLR_EL2", MACHINE_SCTLR_EL2, false },
	{ "TCR_EL2", MACHINE_TCR_EL2, false },
	{ "TTBR0_EL2", MACHINE_TTBR0_EL2, false },
	{ "TTBR1_EL2", MACHINE_TTBR1_EL2, false },
	{ "VTCR_EL2", MACHINE_VTCR_EL2, false },
	{ "VTTBR_EL2", MACHINE_VTTBR_EL2, false },
	{ "pc", VCPU_PC, true },
	{ "cpsr", VCPU_CPSR, true },
	{ "ESR_EL1", VCPU_ESR_EL1, true },
	{ "ESR_EL2", VCPU_ESR_EL2, false },
	{ "ESR_EL3", VCPU_ESR_EL3, false },
	{ "SPSR_EL1", VCPU_SPSR_EL1, true },
	{ "SPSR_EL2", VCPU_SPSR_EL2, false },
	{ "SPSR_EL3", VCPU_SPSR_EL3, false },
	{ "ELR_EL1", VCPU_ELR_EL1, true },
	{ "ELR_EL2", VCPU_ELR_EL2, false },
	{ "ELR_EL3", VCPU_ELR_EL3, false },
	{ "ID_AA64DFR0_EL1", VCPU_ID_AA64DFR0_EL1, true },
};

#define N_NAMES (sizeof(names) / sizeof(names[0]))

static void found(struct vcpu *vcpu, const struct qemu_plugin_reg *reg)
{
	unsigned int n;
	char end;

	if (sscanf(reg->name, "x%u%c", &n, &end) == 1 && n < 31)
		vcpu->registers[VCPU_X0 + n] = reg->handle;
	for (size_t i = 0; i < N_NAMES; i++) {
		if (!strcmp(reg->name, names[i].name))
			vcpu->registers[names[i].which] = reg->handle;
	}
}

bool machine_find_registers(struct vcpu *vcpu)
{
	GArray *registers = qemu_plugin_get_registers();
	const char *missing = NULL;

	vcpu->cpu = qemu_get_cpu(vcpu->index);
	for (guint i = 0; i < registers->len; i++)
		found(vcpu, &g_array_index(registers, struct qemu_plugin_reg, i));
	g_array_free(registers, TRUE);
	for (size_t i = 0; i < N_NAMES; i++) {
		if (names[i].needed && !vcpu->registers[names[i].which])
			missing = names[i].name;
	}
	for (unsigned int n = 0; n < 31; n++) {
		if (!vcpu->registers[VCPU_X0 + n])
			missing = "x0 to x30";
	}
	if (missing)
		fprintf(stderr, PLUGIN_NAME ": QEMU does not name the register %s of CPU %u: "
			"the model needs an AArch64 CPU, e.g. -cpu max\n", missing, vcpu->index);
	return !missing;
}

bool machine_find_gic(void)
{
	gic = object_resolve_path_type("", "arm-gicv3-common", NULL);
	if (!gic)
		fprintf(stderr, PLUGIN_NAME ": the machine has no GICv3, which the trace buffer's "
			"interrupt (INTID %d) needs: use -M virt,gic-version=3\n", TRBE_INTID);
	return gic;
}

struct vcpu *machine_current(void)
{
	static __thread struct vcpu *last;

	if (last && last->cpu == current_cpu)
		return last;
	for (unsigned int i = 0; i < PLUGIN_CPUS; i++) {
		struct vcpu *vcpu = vcpu_of(i);

		if (vcpu && vcpu->cpu == current_cpu)
			return last = vcpu;
	}
	return NULL;
}

bool machine_has(const struct vcpu *vcpu, unsigned int which)
{
	return vcpu->registers[which];
}

uint64_t machine_register(struct vcpu *vcpu, unsigned int which)
{
	uint64_t value = 0;

	if (!vcpu->registers[which])
		return 0;
	g_byte_array_set_size(vcpu->bytes, 0);
	if (!qemu_plugin_read_register(vcpu->registers[which], vcpu->bytes)) {
		fprintf(stderr, PLUGIN_NAME ": a register could not be read\n");
		abort();
	}
	memcpy(&value, vcpu->bytes->data, MIN(vcpu->bytes->len, sizeof(value)));
	return value;
}

void machine_set_x(struct vcpu *vcpu, unsigned int n, uint64_t value)
{
	g_byte_array_set_size(vcpu->bytes, 0);
	g_byte_array_append(vcpu->bytes, (const uint8_t *)&value, sizeof(value));
	if (!qemu_plugin_write_register(vcpu->registers[VCPU_X0 + n], vcpu->bytes)) {
		fprintf(stderr, PLUGIN_NAME ": a register could not be written\n");
		abort();
	}
}

uint64_t machine_midr(const struct vcpu *vcpu)
{
	return object_property_get_uint(vcpu->cpu, "midr", NULL);
}

uint64_t machine_frequency(struct vcpu *vcpu)
{
	/* CNTFRQ_EL0 has no value before the first reset. */
	uint64_t frequency = object_property_get_uint(vcpu->cpu, "cntfrq", NULL);

	return frequency && frequency <= 1000000000 ? frequency : 1000000000;
}

void machine_on_reset(void (*restart)(void *data))
{
	qemu_register_reset(restart, NULL);
}

static bool read_memory(void *opaque, unsigned int cpu, uint64_t physical, void *bytes, size_t n)
{
	GByteArray *array = vcpu_of(cpu)->bytes;

	(void)opaque;
	g_byte_array_set_size(array, 0);
	if (qemu_plugin_read_memory_hwaddr(physical, array, n) || array->len < n)
		return false;
	memcpy(bytes, array->data, n);
	return true;
}

static bool write_memory(void *opaque, unsigned int cpu, uint64_t physical, const void *bytes,
			 size_t n)
{
	GByteArray *array = vcpu_of(cpu)->bytes;

	(void)opaque;
	g_byte_array_set_size(array, 0);
	g_byte_array_append(array, bytes, n);
	return !qemu_plugin_write_memory_hwaddr(physical, array);
}

static uint64_t read_sysreg(void *opaque, unsigned int cpu, enum machine_register which)
{
	struct vcpu *vcpu = vcpu_of(cpu);

	(void)opaque;
	return which == MACHINE_MIDR_EL1 ? machine_midr(vcpu) : machine_register(vcpu, which);
}

/* In the vCPU's thread, between blocks, under the big lock. */
static void set_line(void *cpu, uintptr_t data)
{
	const int input = GIC_SPIS + GIC_INTERNAL * (data >> 1) + TRBE_INTID;

	(void)cpu;
	qemu_set_irq(qdev_get_gpio_in(gic, input), data & 1);
}

/*
 * Not at once: with icount QEMU takes no interrupt from inside a block. The block in hand is the
 * last that executes before.
 */
static void set_interrupt(void *opaque, unsigned int cpu, bool level)
{
	(void)opaque;
	async_run_on_cpu(vcpu_of(cpu)->cpu, set_line, (uintptr_t)cpu << 1 | level);
}

/*
 * With icount QEMU does not let a vCPU read the clock inside a block. To no vCPU it tells the time
 * when it last brought the clock up to date, as it does whenever the guest reads the counter: never
 * before what the guest has read, nor after what it will read.
 */
static uint64_t counter(void *opaque, unsigned int cpu)
{
	void *current = current_cpu;
	uint64_t ns;

	(void)opaque;
	current_cpu = NULL;
	ns = qemu_clock_get_ns(CLOCK_VIRTUAL);
	current_cpu = current;
	return ns / gt_cntfrq_period_ns(vcpu_of(cpu)->cpu);
}

const struct machine plugin_machine = {
	.read = read_memory,
	.write = write_memory,
	.sysreg = read_sysreg,
	.interrupt = set_interrupt,
	.counter = counter,
};
