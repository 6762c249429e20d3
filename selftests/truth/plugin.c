// SPDX-License-Identifier: GPL-2.0-only
/*
 * A QEMU plugin that writes the truth log (log.h) of a riscv64 Linux guest:
 *
 *	-plugin file=truth.so,out=PREFIX
 *
 * Each hart has its own file and its own state, so harts need no lock; only the table of code is
 * shared. Instructions are told before they execute.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "qemu_plugin.h"

#define EXPORT __attribute__((visibility("default")))
#define HARTS 16
#define SSTATUS_SPP (1ULL << 8)

EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;
EXPORT int qemu_plugin_install(uint64_t id, const struct qemu_info *info, int argc, char **argv);

struct code;

/* What an instruction's callback is given. */
struct insn {
	struct code *code;
	uint32_t index;
};

struct code {
	uint64_t address;
	uint32_t id;
	uint32_t n;
	struct insn insns[];
};

/* A CSR instruction of the kernel (Zicsr) on one of the registers we follow. */
struct access {
	uint16_t csr;
	uint8_t op;		/* funct3 */
	uint8_t rd;
	uint8_t rs1;		/* register or immediate */
};

enum { COUNT_KERNEL, COUNT_MODULE, COUNT_MACHINE, COUNTS };

struct hart {
	FILE *file;
	const struct code *code;	/* the run that goes on: */
	uint64_t pc;			/* where it began */
	uint32_t n;
	uint64_t times;			/* it was executed whole before */
	bool started;
	bool in_kernel;			/* since the last event */
	uint64_t control;		/* sctrctl */
	uint64_t satp;
	uint64_t counts[COUNTS];	/* as last written */
	GByteArray *bytes;
	struct qemu_plugin_register *x[32], *pc_register;
	struct qemu_plugin_register *sscratch, *sstatus, *scause, *mcause;
};

static struct hart harts[HARTS];
static const char *prefix;
static struct qemu_plugin_scoreboard *score;
static atomic_bool armed;

static pthread_mutex_t code_lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *code_file;
static uint32_t code_next;

static struct qemu_plugin_u64 counter(int which)
{
	return (struct qemu_plugin_u64){ score, which * sizeof(uint64_t) };
}

static FILE *create(const char *suffix, const char *magic)
{
	char *path = g_strdup_printf("%s.%s", prefix, suffix);
	FILE *file = fopen(path, "wb");

	if (!file) {
		fprintf(stderr, "truth: %s: %s\n", path, strerror(errno));
		exit(1);
	}
	setvbuf(file, NULL, _IOFBF, 1 << 20);
	fwrite(magic, 1, TRUTH_MAGIC_SIZE, file);
	g_free(path);
	return file;
}

static void put(struct hart *hart, uint64_t number)
{
	while (number >= 0x80) {
		putc_unlocked(0x80 | (number & 0x7f), hart->file);
		number >>= 7;
	}
	putc_unlocked(number, hart->file);
}

static void put_counts(struct hart *hart)
{
	for (int i = 0; i < COUNTS; i++) {
		uint64_t now = qemu_plugin_u64_get(counter(i), hart - harts);

		put(hart, now - hart->counts[i]);
		hart->counts[i] = now;
	}
}

static void put_times(struct hart *hart, uint32_t n, uint64_t times)
{
	putc_unlocked(TRUTH_RUN, hart->file);
	put(hart, hart->code->id);
	put(hart, truth_zigzag(hart->pc - hart->code->address));
	put(hart, n);
	put(hart, times);
}

static void put_run(struct hart *hart)
{
	if (!hart->code)
		return;
	if (hart->times)
		put_times(hart, hart->code->n, hart->times);
	put_times(hart, hart->n, 1);
	hart->code = NULL;
}

static void put_write(struct hart *hart, uint16_t csr, uint64_t keep, uint64_t set)
{
	putc_unlocked(TRUTH_WRITE, hart->file);
	put(hart, csr);
	put(hart, keep);
	put(hart, set);
}

/* Ends the run before an event; false before the log begins. */
static bool event(struct hart *hart)
{
	if (!atomic_load_explicit(&armed, memory_order_relaxed))
		return false;
	if (!hart->started) {
		hart->started = true;
		for (int i = 0; i < COUNTS; i++)
			hart->counts[i] = qemu_plugin_u64_get(counter(i), hart - harts);
		put_write(hart, TRUTH_SATP, 0, hart->satp);
	}
	put_run(hart);
	return true;
}

static uint64_t read_register(struct hart *hart, struct qemu_plugin_register *handle)
{
	uint64_t value = 0;

	g_byte_array_set_size(hart->bytes, 0);
	if (handle && qemu_plugin_read_register(handle, hart->bytes))
		memcpy(&value, hart->bytes->data, MIN(hart->bytes->len, sizeof(value)));
	return value;
}

/*
 * Before the first instruction of a piece. The pc is right there and only there: further on
 * QEMU keeps it as a distance. Where the piece was translated says nothing about where it runs.
 */
static void on_first(unsigned int vcpu, void *data)
{
	struct hart *hart = &harts[vcpu];
	const struct insn *insn = data;
	uint64_t pc;

	if (!atomic_load_explicit(&armed, memory_order_relaxed))
		return;
	pc = read_register(hart, hart->pc_register);
	if (hart->code == insn->code && hart->n == insn->code->n && hart->pc == pc) {
		hart->times++;
		hart->n = 1;
		return;
	}
	event(hart);
	if (hart->in_kernel) {
		hart->in_kernel = false;
		putc_unlocked(TRUTH_RETURN, hart->file);
		put_counts(hart);
	}
	hart->code = insn->code;
	hart->pc = pc;
	hart->n = 1;
	hart->times = 0;
}

/* Before each other one. Nothing goes on: the log began in the middle of this piece. */
static void on_next(unsigned int vcpu, void *data)
{
	struct hart *hart = &harts[vcpu];
	const struct insn *insn = data;

	if (hart->code == insn->code && hart->n == insn->index) {
		hart->n++;
	} else if (hart->code) {
		fprintf(stderr, "truth: code was entered in the middle\n");
		exit(1);
	}
}

/* Whether a trap was out of user mode. sstatus.SPP says so for those into the kernel. */
static bool from_user(struct hart *hart, uint64_t from, uint64_t to)
{
	bool user;

	if (truth_is_firmware(to))
		return truth_is_user(from);
	user = !(read_register(hart, hart->sstatus) & SSTATUS_SPP);
	if (!user && truth_is_user(from)) {
		fprintf(stderr, "truth: the kernel executed a user address, %" PRIx64 "\n", from);
		exit(1);
	}
	return user;
}

static void on_trap(unsigned int vcpu, int type, uint64_t from, uint64_t to, void *data)
{
	struct hart *hart = &harts[vcpu];
	bool interrupt = type == QEMU_PLUGIN_INTERRUPT, user;
	uint64_t cause;

	(void)data;
	if (!atomic_load_explicit(&armed, memory_order_relaxed) || type == QEMU_PLUGIN_HOSTCALL)
		return;
	cause = read_register(hart, truth_is_firmware(to) ? hart->mcause : hart->scause);
	cause &= ~(1ULL << 63);
	user = from_user(hart, from, to);
	if (!user && !(interrupt && cause == TRUTH_CAUSE_LCOFI))
		return;
	event(hart);
	putc_unlocked(TRUTH_TRAP, hart->file);
	put(hart, (interrupt ? TRUTH_TRAP_INTERRUPT : 0) | (user ? TRUTH_TRAP_USER : 0));
	put(hart, from);
	put(hart, to);
	put(hart, cause);
	put(hart, read_register(hart, hart->sscratch));
	hart->in_kernel = true;
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
	if (access->csr == TRUTH_SATP)
		hart->satp = (hart->satp & keep) | set;
	if (access->csr == TRUTH_SCTRCTL) {
		hart->control = (hart->control & keep) | set;
		if (hart->control)
			atomic_store(&armed, true);
	}
	if (event(hart))
		put_write(hart, access->csr, keep, set);
}

static void on_access(unsigned int vcpu, void *data)
{
	struct hart *hart = &harts[vcpu];
	const struct access *access = data;

	if (access->rd && (access->csr == TRUTH_SCTRSTATUS || access->csr == TRUTH_SIREG) &&
	    event(hart)) {
		putc_unlocked(TRUTH_READ, hart->file);
		put(hart, access->csr);
		put_counts(hart);
	}
	if ((access->op & 3) == 1 || access->rs1)
		on_write(hart, access);
}

static void on_clear(unsigned int vcpu, void *data)
{
	struct hart *hart = &harts[vcpu];

	(void)data;
	if (!event(hart))
		return;
	putc_unlocked(TRUTH_CLEAR, hart->file);
	put_counts(hart);
}

static uint32_t opcode_of(const struct qemu_plugin_insn *insn)
{
	uint32_t opcode = 0;

	qemu_plugin_insn_data(insn, &opcode, sizeof(opcode));
	return opcode;
}

static void translate_user(struct qemu_plugin_tb *tb, uint64_t address, size_t n)
{
	struct code *code = g_malloc(sizeof(*code) + n * sizeof(code->insns[0]));
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
	for (uint32_t i = 0; i < n; i++) {
		code->insns[i] = (struct insn){ code, i };
		qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_tb_get_insn(tb, i),
						       i ? on_next : on_first,
						       i ? QEMU_PLUGIN_NO_REGS : QEMU_PLUGIN_R_REGS,
						       &code->insns[i]);
	}
}

static bool is_followed(unsigned int csr)
{
	switch (csr) {
	case TRUTH_SCTRCTL:
	case TRUTH_SCTRSTATUS:
	case TRUTH_SISELECT:
	case TRUTH_SIREG:
	case TRUTH_SCTRDEPTH:
	case TRUTH_SATP:
		return true;
	}
	return false;
}

static void translate_kernel(struct qemu_plugin_tb *tb, uint64_t address, size_t n)
{
	/* Modules live in the 2 GiB that end where the kernel image does (riscv's vm-layout). */
	bool module = address >= 0xffffffff00000000 && address < 0xffffffff80000000;

	qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, QEMU_PLUGIN_INLINE_ADD,
							  counter(COUNT_KERNEL), n);
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint32_t opcode = opcode_of(insn);

		if (module)
			qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn,
				QEMU_PLUGIN_INLINE_ADD, counter(COUNT_MODULE), 1);
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
	if (truth_is_kernel(address))
		translate_kernel(tb, address, n);
	else if (truth_is_firmware(address))
		qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, QEMU_PLUGIN_INLINE_ADD,
								  counter(COUNT_MACHINE), n);
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
	hart->file = create(suffix, TRUTH_HART_MAGIC);
	hart->bytes = g_byte_array_new();
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
		putc_unlocked(TRUTH_END, harts[i].file);
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
	code_file = create("code", TRUTH_CODE_MAGIC);
	score = qemu_plugin_scoreboard_new(COUNTS * sizeof(uint64_t));
	qemu_plugin_register_vcpu_init_cb(id, on_vcpu, NULL);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate, NULL);
	qemu_plugin_register_vcpu_discon_cb(id, QEMU_PLUGIN_DISCONTINUITIES, on_trap, NULL);
	qemu_plugin_register_atexit_cb(id, on_exit_, NULL);
	return 0;
}
