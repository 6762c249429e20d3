// SPDX-License-Identifier: GPL-2.0-only
/*
 * A QEMU plugin that writes the oracle log (log.h) of a riscv64 Linux guest:
 *
 *	-plugin file=plugin.so,out=PREFIX
 *
 * Each hart has its own file and its own state, so harts need no lock; only the table of code and
 * the set of tasks are shared. Instructions are told before they execute.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

#define EXPORT __attribute__((visibility("default")))
#define SSTATUS_SPP (1ULL << 8)

EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;
EXPORT int qemu_plugin_install(uint64_t id, const struct qemu_info *info, int argc, char **argv);

/* A CSR instruction of the kernel (Zicsr) on one of the registers we follow. */
struct access {
	uint16_t csr;
	uint8_t op;		/* funct3 */
	uint8_t rd;
	uint8_t rs1;		/* register or immediate */
};

/* QEMU's own, which it exports like all of itself. */
extern __thread void *current_cpu;
void *qemu_get_cpu(int index);

struct hart harts[HARTS];
bool turns;
static pthread_t thread;		/* of hart 0 */
const char *prefix;
struct qemu_plugin_scoreboard *score;
atomic_bool armed;
static GHashTable *traced;		/* tasks that were ever recorded */
static pthread_mutex_t traced_lock = PTHREAD_MUTEX_INITIALIZER;

static pthread_mutex_t code_lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *code_file;
static uint32_t code_next;

static struct hart *hart_of(unsigned int vcpu)
{
	struct hart *hart = harts;

	if (!turns)
		return &harts[vcpu];
	while (hart->cpu != current_cpu)
		hart++;
	return hart;
}

static struct qemu_plugin_u64 scored(int which)
{
	return (struct qemu_plugin_u64){ score, which * sizeof(uint64_t) };
}

/* A piece begins at pc. How far it gets, inline code counts in the scoreboard. */
static void begin(struct hart *hart, const struct code *code, uint64_t pc)
{
	if (hart->code == code && hart->pc == pc && score_of(hart, RUN) == code->n) {
		hart->times++;
	} else {
		event(hart);
		hart->code = code;
		hart->pc = pc;
		hart->times = 0;
	}
	set_score(hart, RUN, 1);
}

/* Whether the task has been recorded, now or before. */
static bool is_traced(const struct hart *hart, uint64_t task)
{
	bool is;

	pthread_mutex_lock(&traced_lock);
	if (hart->control & (ORACLE_CONTROL_U | ORACLE_CONTROL_S))
		g_hash_table_add(traced, (void *)(uintptr_t)task);
	is = g_hash_table_contains(traced, (void *)(uintptr_t)task);
	pthread_mutex_unlock(&traced_lock);
	return is;
}

/* Its pointer will be another task's. */
static void forget(uint64_t task)
{
	pthread_mutex_lock(&traced_lock);
	g_hash_table_remove(traced, (void *)(uintptr_t)task);
	pthread_mutex_unlock(&traced_lock);
}

/*
 * Before the first instruction of a piece, where user mode is logged or that is not known yet.
 * The pc is right there and only there: further on QEMU keeps it as a distance. Where the piece
 * was translated says nothing about where it runs.
 */
static void on_user(unsigned int vcpu, void *data)
{
	struct hart *hart = hart_of(vcpu);

	if (!atomic_load_explicit(&armed, memory_order_relaxed) ||
	    score_of(hart, USER) == USER_SKIPPED)
		return;
	if (hart->in_kernel) {
		bool logs = is_traced(hart, read_register(hart, hart->sscratch));

		set_score(hart, USER, logs ? USER_LOGGED : USER_SKIPPED);
		if (!logs)
			return;
		event(hart);
		hart->in_kernel = false;
		put_event(hart, ORACLE_RETURN);
		put_task(hart, hart->sscratch);
		put_counts(hart);
	}
	begin(hart, data, read_register(hart, hart->pc_register));
}

/* The same in the kernel, where code has one address. Only while the kernel is recorded. */
static void on_kernel(unsigned int vcpu, void *data)
{
	struct hart *hart = hart_of(vcpu);
	const struct code *code = data;

	if (score_of(hart, KERNEL))
		begin(hart, code, code->address);
}

/* Whether a trap was out of user mode. sstatus.SPP says so for those into the kernel. */
static bool from_user(struct hart *hart, uint64_t from, uint64_t to)
{
	bool user;

	if (oracle_is_firmware(to))
		return oracle_is_user(from);
	user = !(read_register(hart, hart->sstatus) & SSTATUS_SPP);
	if (!user && oracle_is_user(from)) {
		fprintf(stderr, "truth: the kernel executed a user address, %" PRIx64 "\n", from);
		exit(1);
	}
	return user;
}

static void set_recorded(struct hart *hart)
{
	set_score(hart, KERNEL, hart->control & ORACLE_CONTROL_S && !hart->frozen);
}

/* a7 of a system call: exit or exit_group. */
static bool is_exit(struct hart *hart)
{
	uint64_t number = read_register(hart, hart->x[17]);

	return number == 93 || number == 94;
}

static void on_trap(unsigned int vcpu, int type, uint64_t from, uint64_t to, void *data)
{
	struct hart *hart = hart_of(vcpu);
	uint64_t cause, flags;
	bool freezes;

	(void)data;
	if (!atomic_load_explicit(&armed, memory_order_relaxed) || type == QEMU_PLUGIN_HOSTCALL)
		return;
	cause = read_register(hart, oracle_is_firmware(to) ? hart->mcause : hart->scause);
	cause &= ~(1ULL << 63);
	flags = (type == QEMU_PLUGIN_INTERRUPT ? ORACLE_TRAP_INTERRUPT : 0) |
		(from_user(hart, from, to) ? ORACLE_TRAP_USER : 0) |
		(oracle_is_firmware(to) ? ORACLE_TRAP_MACHINE : 0);
	if (flags == ORACLE_TRAP_USER && cause == ORACLE_CAUSE_ECALL && is_exit(hart))
		flags |= ORACLE_TRAP_EXIT;
	freezes = oracle_freezes(hart->control, flags, cause);
	if (flags & ORACLE_TRAP_USER) {
		uint64_t user = score_of(hart, USER);

		set_score(hart, USER, USER_UNKNOWN);
		/* Unknown: not even the first instruction could be fetched. */
		if (user == USER_SKIPPED || (user == USER_UNKNOWN &&
					     !is_traced(hart, read_register(hart, hart->sscratch))))
			return;
	} else if (!freezes && !score_of(hart, KERNEL)) {
		return;
	}
	event(hart);
	put_event(hart, ORACLE_TRAP);
	put(hart, flags);
	put(hart, from);
	put(hart, to);
	put(hart, cause);
	put_task(hart, flags & ORACLE_TRAP_USER ? hart->sscratch : hart->x[4]);
	if (flags & ORACLE_TRAP_EXIT)
		forget(hart->task);
	hart->in_kernel = true;
	if (freezes) {
		hart->frozen = true;
		set_recorded(hart);
	}
}

/* csrrw, csrrs, csrrc and their immediate forms: what the instruction writes. */
static void on_write(struct hart *hart, const struct access *access)
{
	uint64_t value = access->op & 4 ? access->rs1 : read_register(hart, hart->x[access->rs1]);
	uint64_t keep = ~0ULL, set = 0;

	switch (access->op & 3) {
	case 1:
		keep = 0;
		set = value;
		break;
	case 2:
		set = value;
		break;
	case 3:
		keep = ~value;
		break;
	}
	if (access->csr == ORACLE_SATP)
		hart->satp = (hart->satp & keep) | set;
	if (access->csr == ORACLE_SCTRCTL) {
		hart->control = (hart->control & keep) | set;
		if (hart->control)
			atomic_store(&armed, true);
	}
	if (access->csr == ORACLE_SCTRSTATUS)
		hart->frozen = (hart->frozen && keep & ORACLE_STATUS_FROZEN) ||
			       set & ORACLE_STATUS_FROZEN;
	set_recorded(hart);
	if (!event(hart))
		return;
	if (access->csr == ORACLE_SIREG) {
		put_event(hart, ORACLE_COUNTS);
		put_counts(hart);
	}
	put_write(hart, access->csr, keep, set);
}

static void on_access(unsigned int vcpu, void *data)
{
	struct hart *hart = hart_of(vcpu);
	const struct access *access = data;

	if (hart->task != read_register(hart, hart->x[4]) && event(hart)) {
		put_event(hart, ORACLE_TASK);
		put_task(hart, hart->x[4]);
	}
	if (access->rd && access->csr != ORACLE_SATP && access->csr != ORACLE_SISELECT &&
	    event(hart)) {
		put_event(hart, ORACLE_READ);
		put(hart, access->csr);
		put_counts(hart);
	}
	if ((access->op & 3) == 1 || access->rs1)
		on_write(hart, access);
}

static void on_clear(unsigned int vcpu, void *data)
{
	struct hart *hart = hart_of(vcpu);

	(void)data;
	if (!event(hart))
		return;
	put_event(hart, ORACLE_CLEAR);
	put_counts(hart);
}

static uint32_t opcode_of(const struct qemu_plugin_insn *insn)
{
	uint32_t opcode = 0;

	qemu_plugin_insn_data(insn, &opcode, sizeof(opcode));
	return opcode;
}

/* Where a conditional branch leads to itself says whether it was taken, but for one to the next. */
static bool is_branch_to_next(uint32_t opcode)
{
	if ((opcode & 0x7f) == 0x63)
		return (opcode & 0xfe000f80) == 0x00000200;		/* offset 4 */
	return ((opcode & 0xe003) == 0xc001 || (opcode & 0xe003) == 0xe001) &&
	       (opcode & 0x1c7c) == 0x0008;				/* offset 2 */
}

static bool takes(struct hart *hart, uint32_t opcode)
{
	bool short_one = (opcode & 3) != 3;
	unsigned int rs1 = short_one ? 8 + (opcode >> 7 & 7) : opcode >> 15 & 31;
	unsigned int rs2 = short_one ? 0 : opcode >> 20 & 31;
	uint64_t a = read_register(hart, hart->x[rs1]), b = read_register(hart, hart->x[rs2]);

	switch (short_one ? opcode >> 13 & 1 : opcode >> 12 & 7) {
	case 0:
		return a == b;
	case 1:
		return a != b;
	case 4:
		return (int64_t)a < (int64_t)b;
	case 5:
		return (int64_t)a >= (int64_t)b;
	case 6:
		return a < b;
	default:
		return a >= b;
	}
}

static void on_branch(unsigned int vcpu, void *data)
{
	struct hart *hart = hart_of(vcpu);

	if (!hart->code || !takes(hart, (uintptr_t)data))
		return;
	event(hart);
	put_event(hart, ORACLE_TAKEN);
}

static struct code *new_code(struct qemu_plugin_tb *tb, uint64_t address, size_t n)
{
	struct code *code = g_new(struct code, 1);
	uint32_t opcode, n32 = n;

	pthread_mutex_lock(&code_lock);
	code->address = address;
	code->id = code_next++;
	code->n = n;
	fwrite(&address, sizeof(address), 1, code_file);
	fwrite(&n32, sizeof(n32), 1, code_file);
	for (size_t i = 0; i < n; i++) {
		opcode = opcode_of(qemu_plugin_tb_get_insn(tb, i));
		fwrite(&opcode, sizeof(opcode), 1, code_file);
	}
	pthread_mutex_unlock(&code_lock);
	return code;
}

/* A score and a number in a callback's data. */
static void *packed(int which, uint64_t number)
{
	return (void *)(uintptr_t)((uint64_t)which << 32 | number);
}

static void on_store(unsigned int vcpu, void *data)
{
	hart_of(vcpu)->scores[(uintptr_t)data >> 32] = (uint32_t)(uintptr_t)data;
}

static void on_add(unsigned int vcpu, void *data)
{
	hart_of(vcpu)->scores[(uintptr_t)data >> 32] += (uint32_t)(uintptr_t)data;
}

/* A score of whoever executes the instruction becomes the number. */
static void store(struct qemu_plugin_insn *insn, int which, uint64_t number)
{
	if (turns)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_store, QEMU_PLUGIN_NO_REGS,
						       packed(which, number));
	else
		qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(
			insn, QEMU_PLUGIN_INLINE_STORE, scored(which), number);
}

/* A score of whoever executes the block grows by the number. */
static void add(struct qemu_plugin_tb *tb, int which, uint64_t number)
{
	if (turns)
		qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_tb_get_insn(tb, 0), on_add,
						       QEMU_PLUGIN_NO_REGS,
						       packed(which, number));
	else
		qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, QEMU_PLUGIN_INLINE_ADD,
								  scored(which), number);
}

/* Calls before the first instruction, unless the executing hart's score is the one given. */
static void on_piece(struct qemu_plugin_tb *tb, qemu_plugin_vcpu_cb callback, int flags, int which,
		     uint64_t unless, struct code *code)
{
	struct qemu_plugin_insn *first = qemu_plugin_tb_get_insn(tb, 0);

	if (turns)
		qemu_plugin_register_vcpu_insn_exec_cb(first, callback, flags, code);
	else
		qemu_plugin_register_vcpu_insn_exec_cond_cb(first, callback, flags,
							    QEMU_PLUGIN_COND_NOT_EQUAL,
							    scored(which), unless, code);
}

static void count_run(struct qemu_plugin_tb *tb, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint32_t opcode = opcode_of(insn);

		if (i)
			store(insn, RUN, i + 1);
		if (is_branch_to_next(opcode))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_branch, QEMU_PLUGIN_R_REGS,
							       (void *)(uintptr_t)opcode);
	}
}

static void translate_user(struct qemu_plugin_tb *tb, uint64_t address, size_t n)
{
	on_piece(tb, on_user, QEMU_PLUGIN_R_REGS, USER, USER_SKIPPED, new_code(tb, address, n));
	count_run(tb, n);
}

static bool is_followed(unsigned int csr)
{
	switch (csr) {
	case ORACLE_SCTRCTL:
	case ORACLE_SCTRSTATUS:
	case ORACLE_SISELECT:
	case ORACLE_SIREG:
	case ORACLE_SIREG2:
	case ORACLE_SIREG3:
	case ORACLE_SCTRDEPTH:
	case ORACLE_SATP:
		return true;
	}
	return false;
}

static void translate_kernel(struct qemu_plugin_tb *tb, uint64_t address, size_t n)
{
	/* Modules live in the 2 GiB that end where the kernel image does (riscv's vm-layout). */
	bool module = address >= 0xffffffff00000000 && address < 0xffffffff80000000;

	add(tb, COUNT_KERNEL, n);
	on_piece(tb, on_kernel, QEMU_PLUGIN_NO_REGS, KERNEL, 0, new_code(tb, address, n));
	count_run(tb, n);
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint32_t opcode = opcode_of(insn);

		if (module && turns)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_add, QEMU_PLUGIN_NO_REGS,
							       packed(COUNT_MODULE, 1));
		else if (module)
			qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn,
				QEMU_PLUGIN_INLINE_ADD, scored(COUNT_MODULE), 1);
		if (opcode == 0x10400073) {
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_clear, QEMU_PLUGIN_NO_REGS,
							       NULL);
		} else if ((opcode & 0x7f) == 0x73 && opcode >> 12 & 3 &&
			   is_followed(opcode >> 20)) {
			struct access *access = g_new(struct access, 1);

			access->csr = opcode >> 20;
			access->op = opcode >> 12 & 7;
			access->rd = opcode >> 7 & 31;
			access->rs1 = opcode >> 15 & 31;
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_access, QEMU_PLUGIN_R_REGS,
							       access);
		}
	}
}

static void on_translate(struct qemu_plugin_tb *tb, void *data)
{
	uint64_t address = qemu_plugin_tb_vaddr(tb);
	size_t n = qemu_plugin_tb_n_insns(tb);

	(void)data;
	if (oracle_is_kernel(address))
		translate_kernel(tb, address, n);
	else if (oracle_is_firmware(address))
		add(tb, COUNT_MACHINE, n);
	else
		translate_user(tb, address, n);
}

static void find_registers(struct hart *hart)
{
	static const char *const x[32] = {
		"zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "fp", "s1", "a0", "a1", "a2",
		"a3", "a4", "a5", "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10",
		"s11", "t3", "t4", "t5", "t6",
	};
	GArray *registers = qemu_plugin_get_registers();

	for (guint i = 0; i < registers->len; i++) {
		struct qemu_plugin_reg *reg = &g_array_index(registers, struct qemu_plugin_reg, i);

		for (int j = 1; j < 32; j++)
			if (!strcmp(reg->name, x[j]))
				hart->x[j] = reg->handle;
		if (!strcmp(reg->name, "pc"))
			hart->pc_register = reg->handle;
		else if (!strcmp(reg->name, "sscratch"))
			hart->sscratch = reg->handle;
		else if (!strcmp(reg->name, "sstatus"))
			hart->sstatus = reg->handle;
		else if (!strcmp(reg->name, "scause"))
			hart->scause = reg->handle;
		else if (!strcmp(reg->name, "mcause"))
			hart->mcause = reg->handle;
	}
	g_array_free(registers, TRUE);
	for (int j = 1; j < 32; j++) {
		if (!hart->x[j] || !hart->pc_register || !hart->sscratch || !hart->sstatus ||
		    !hart->scause || !hart->mcause) {
			fprintf(stderr, "truth: this QEMU does not name the registers we need\n");
			exit(1);
		}
	}
}

static void on_vcpu(unsigned int vcpu, void *data)
{
	struct hart *hart = &harts[vcpu];
	char suffix[16];

	(void)data;
	if (vcpu >= HARTS) {
		fprintf(stderr, "truth: more than %d harts\n", HARTS);
		exit(1);
	}
	snprintf(suffix, sizeof(suffix), "%u", vcpu);
	hart->file = create(suffix, ORACLE_HART_MAGIC);
	hart->bytes = g_byte_array_new();
	hart->in_kernel = true;
	hart->cpu = qemu_get_cpu((int)vcpu);
	if (!vcpu)
		thread = pthread_self();
	else
		turns |= pthread_equal(thread, pthread_self());
	set_score(hart, USER, USER_UNKNOWN);
	find_registers(hart);
}

static void finish(FILE *file)
{
	if (ferror(file) || fclose(file))
		fprintf(stderr, "truth: the log could not be written\n");
}

static void on_exit_(void *data)
{
	(void)data;
	for (int i = 0; i < HARTS; i++) {
		if (!harts[i].file)
			continue;
		put_run(&harts[i]);
		putc_unlocked(ORACLE_END, harts[i].file);
		finish(harts[i].file);
	}
	finish(code_file);
}

int qemu_plugin_install(uint64_t id, const struct qemu_info *info, int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		if (g_str_has_prefix(argv[i], "out="))
			prefix = argv[i] + strlen("out=");
	if (!prefix || strcmp(info->target_name, "riscv64") || !info->system_emulation) {
		fprintf(stderr, "truth: for qemu-system-riscv64, and needs out=PREFIX\n");
		return 1;
	}
	traced = g_hash_table_new(NULL, NULL);
	code_file = create("code", ORACLE_CODE_MAGIC);
	score = qemu_plugin_scoreboard_new(SCORES * sizeof(uint64_t));
	qemu_plugin_register_vcpu_init_cb(id, on_vcpu, NULL);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate, NULL);
	qemu_plugin_register_vcpu_discon_cb(id, QEMU_PLUGIN_DISCONTINUITIES, on_trap, NULL);
	qemu_plugin_register_atexit_cb(id, on_exit_, NULL);
	return 0;
}
