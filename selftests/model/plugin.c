// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The plugin of qemu-system-aarch64 (11.1, plugin interface 7):
 *
 *	qemu-system-aarch64 -M virt,gic-version=3 -cpu max -dtb DTB ... \
 *		-plugin flowtap-model.so,out=PREFIX,adversary=all,seed=1
 *
 * DTB: selftests/model/devicetree makes it. Options: plugin_options.c, or the option help.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin.h"
#include "sysreg.h"

#define EXPORT __attribute__((visibility("default")))
#define BLOCK_MOST 512		/* instructions of a translation block of QEMU */

EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;
EXPORT int qemu_plugin_install(uint64_t id, const struct qemu_info *info, int argc, char **argv);

static struct vcpu *vcpus[PLUGIN_CPUS];
static struct qemu_plugin_scoreboard *scoreboard;
static struct plugin_options options;
static struct log_set *log_files;
static atomic_bool aarch32_seen;
static atomic_bool stopping;
/*
 * All vCPUs execute in one thread (icount, or thread=single). QEMU then takes the vCPU that a block
 * was translated by for the one that executes it: neither a callback's index nor a scoreboard is of
 * use, as the block may be another's.
 */
static bool turns;
static pthread_t thread;		/* of CPU 0 */

struct vcpu *vcpu_of(unsigned int index)
{
	return vcpus[index];
}

struct vcpu *vcpu_enter(unsigned int index)
{
	struct vcpu *vcpu = turns ? machine_current() : vcpus[index];

	if (!vcpu)
		return NULL;
	atomic_store(&vcpu->busy, true);
	if (!atomic_load(&stopping))
		return vcpu;
	vcpu_leave(vcpu);
	return NULL;
}

void vcpu_leave(struct vcpu *vcpu)
{
	atomic_store_explicit(&vcpu->busy, false, memory_order_release);
}

struct score *vcpu_score(const struct vcpu *vcpu)
{
	return turns ? (struct score *)&vcpu->score :
		       qemu_plugin_scoreboard_find(scoreboard, vcpu->index);
}

static struct qemu_plugin_u64 scored(size_t offset)
{
	return (struct qemu_plugin_u64){ scoreboard, offset };
}

static void register_point(struct qemu_plugin_tb *tb, struct point *point)
{
	struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, point->index);
	qemu_plugin_vcpu_cb callback = NULL;
	int flags = QEMU_PLUGIN_R_REGS;

	switch (point->insn.kind) {
	case INSN_ISB:
	case INSN_DSB:
	case INSN_TSB_CSYNC:
		callback = access_on_barrier;
		break;
	case INSN_CALL:
		callback = access_on_call;
		break;
	case INSN_HLT:
		callback = access_on_hlt;
		break;
	case INSN_INDIRECT:
		callback = access_on_eret;
		break;
	case INSN_DIRECT:
		if (turns) {
			callback = vcpu_on_condition;
			break;
		}
		qemu_plugin_register_vcpu_insn_exec_cond_cb(insn, vcpu_on_condition, flags,
			QEMU_PLUGIN_COND_NOT_EQUAL,
			scored(offsetof(struct score, wants[point->code->el])), 0, point);
		return;
	case INSN_MRS:
	case INSN_MSR:
		if (point->insn.reg == SYSREG_MIDR_EL1 && !options.midr_given)
			return;
		callback = point->insn.kind == INSN_MRS ? access_on_mrs : access_on_msr;
		if (pe_replaces(point->insn.reg))
			flags = QEMU_PLUGIN_RW_REGS_PC;
		break;
	}
	if (callback)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, callback, flags, point);
}

/* AArch32 code is not followed: the PE is told that it is where nothing is traced. */
static bool is_aarch32(const struct vcpu *vcpu)
{
	if (!vcpu_is_aarch32(vcpu))
		return false;
	if (!atomic_exchange(&aarch32_seen, true))
		fprintf(stderr, PLUGIN_NAME ": AArch32 code is executed: it is not modelled, and "
			"is not traced\n");
	return true;
}

/* An instruction's callbacks are called in the order in which they are registered. */
static void register_block(struct qemu_plugin_tb *tb, const struct code *code)
{
	struct qemu_plugin_insn *first = qemu_plugin_tb_get_insn(tb, 0);
	struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(tb, code->n - 1);

	if (turns) {
		qemu_plugin_register_vcpu_insn_exec_cb(first, vcpu_on_any_block, QEMU_PLUGIN_R_REGS,
						       (void *)code);
		if (code->watched_end)
			qemu_plugin_register_vcpu_insn_exec_cb(last, vcpu_on_last,
							       QEMU_PLUGIN_NO_REGS, NULL);
		return;
	}
	qemu_plugin_register_vcpu_insn_exec_cond_cb(first, vcpu_on_block, QEMU_PLUGIN_R_REGS,
		QEMU_PLUGIN_COND_NOT_EQUAL, scored(offsetof(struct score, wants[code->el])), 0,
		(void *)code);
	if (code->watched_end)
		qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(last, QEMU_PLUGIN_INLINE_STORE,
			scored(offsetof(struct score, reached)), 1);
}

static void on_translate(struct qemu_plugin_tb *tb, void *data)
{
	struct vcpu *vcpu = machine_current();
	const size_t n = qemu_plugin_tb_n_insns(tb);
	uint32_t opcodes[BLOCK_MOST];
	const struct code *code;
	unsigned int el;

	(void)data;
	if (!vcpu || is_aarch32(vcpu))
		return;
	if (n > BLOCK_MOST) {
		fprintf(stderr, PLUGIN_NAME ": QEMU translated a block of %zu instructions\n", n);
		abort();
	}
	for (size_t i = 0; i < n; i++)
		qemu_plugin_insn_data(qemu_plugin_tb_get_insn(tb, i), &opcodes[i], 4);
	el = machine_register(vcpu, VCPU_CPSR) >> 2 & 3;
	code = code_get(log_files, qemu_plugin_tb_vaddr(tb), el, opcodes, n);
	register_block(tb, code);
	for (uint32_t i = 0; i < code->n_points; i++)
		register_point(tb, &code->points[i]);
}

static void on_vcpu(unsigned int index, void *data)
{
	struct vcpu *vcpu = g_new0(struct vcpu, 1);
	struct pe_config config = {
		.index = index,
		.times = options.times,
		.adversary = &options.adversary,
		.unit = &options.unit,
		.buffer = &options.buffer,
	};
	int error;

	(void)data;
	if (index >= PLUGIN_CPUS) {
		fprintf(stderr, PLUGIN_NAME ": more than %d CPUs\n", PLUGIN_CPUS);
		exit(1);
	}
	vcpu->index = index;
	vcpu->bytes = g_byte_array_new();
	if (!machine_find_registers(vcpu))
		exit(1);
	if (!index)
		thread = pthread_self();
	else
		turns |= pthread_equal(thread, pthread_self());
	vcpus[index] = vcpu;
	config.el2 = machine_has(vcpu, MACHINE_HCR_EL2);
	config.midr = options.midr_given ? options.midr : machine_midr(vcpu);
	config.frequency = machine_frequency(vcpu);
	error = pe_init(&vcpu->pe, &config, &plugin_machine, log_files);
	if (error) {
		fprintf(stderr, PLUGIN_NAME ": CPU %u: %s\n", index, strerror(-error));
		exit(1);
	}
	vcpu_update(vcpu);
}

/* All vCPUs stand still; each begins anew with its next instruction. First when all is made. */
static void on_reset(void *data)
{
	(void)data;
	if (!machine_find_gic())
		exit(1);
	for (unsigned int i = 0; i < PLUGIN_CPUS; i++) {
		if (vcpus[i])
			vcpu_stop(vcpus[i]);
	}
}

static void report(const struct vcpu *vcpu, uint64_t *violations, uint64_t *errors)
{
	for (unsigned int i = 0; i < VIOLATIONS; i++)
		*violations += vcpu->pe.adversary.violations[i];
	*errors += vcpu->errors;
	if (log_files)
		log_report(log_files, "cpu%u.blocks %" PRIu64, vcpu->index, vcpu->blocks);
}

/* Whether no callback is being executed any more; one may hang after a lock that we hold. */
static bool stop(void)
{
	atomic_store(&stopping, true);
	for (unsigned int tries = 0; tries < 1000; tries++) {
		bool busy = false;

		for (unsigned int i = 0; i < PLUGIN_CPUS && vcpus[i]; i++)
			busy |= atomic_load(&vcpus[i]->busy);
		if (!busy)
			return true;
		g_usleep(1000);
	}
	return false;
}

static void on_exit_(void *data)
{
	uint64_t violations = 0, errors = 0;
	int error;

	(void)data;
	if (!stop()) {
		fprintf(stderr, PLUGIN_NAME ": errors: a CPU did not stop, the log is not "
			"complete\n");
		return;
	}
	for (unsigned int i = 0; i < PLUGIN_CPUS && vcpus[i]; i++) {
		report(vcpus[i], &violations, &errors);
		pe_free(&vcpus[i]->pe);
	}
	if (log_files) {
		log_report(log_files, "violations %" PRIu64, violations);
		log_report(log_files, "errors %" PRIu64, errors);
		log_report(log_files, "aarch32 %d", atomic_load(&aarch32_seen));
		error = log_close(log_files);
		if (error) {
			fprintf(stderr, PLUGIN_NAME ": the log %s could not be written: %s\n",
				options.out, strerror(-error));
			errors++;
		}
	}
	/* selftests/vm/boot looks for these. */
	if (violations)
		fprintf(stderr, PLUGIN_NAME ": violations: %" PRIu64 "\n", violations);
	if (errors)
		fprintf(stderr, PLUGIN_NAME ": errors: %" PRIu64 "\n", errors);
}

int qemu_plugin_install(uint64_t id, const struct qemu_info *info, int argc, char **argv)
{
	static bool installed;

	if (installed) {
		fprintf(stderr, PLUGIN_NAME ": -plugin is there twice: one is for all CPUs\n");
		return 1;
	}
	installed = true;
	if (!plugin_options_parse(&options, argc, argv))
		return 1;
	if (strcmp(info->target_name, "aarch64") || !info->system_emulation) {
		fprintf(stderr, PLUGIN_NAME ": for qemu-system-aarch64, not for qemu of %s\n",
			info->target_name);
		return 1;
	}
	if (options.out) {
		log_files = log_open(options.out);
		if (!log_files) {
			fprintf(stderr, PLUGIN_NAME ": out=%s: %s\n", options.out, strerror(errno));
			return 1;
		}
	}
	scoreboard = qemu_plugin_scoreboard_new(sizeof(struct score));
	qemu_plugin_register_vcpu_init_cb(id, on_vcpu, NULL);
	qemu_plugin_register_vcpu_idle_cb(id, vcpu_on_idle, NULL);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate, NULL);
	qemu_plugin_register_vcpu_discon_cb(id, QEMU_PLUGIN_DISCONTINUITIES, vcpu_on_discontinuity,
					    NULL);
	qemu_plugin_register_atexit_cb(id, on_exit_, NULL);
	machine_on_reset(on_reset);
	return 0;
}
