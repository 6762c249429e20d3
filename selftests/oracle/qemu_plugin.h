/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of QEMU's TCG plugin interface, version 7, that flowtap's plugins need. No package ships
 * the header; QEMU exports the functions to the plugins it loads.
 */
#ifndef FLOWTAP_SELFTESTS_ORACLE_QEMU_PLUGIN_H
#define FLOWTAP_SELFTESTS_ORACLE_QEMU_PLUGIN_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QEMU_PLUGIN_VERSION 7

struct qemu_info {
	const char *target_name;
	struct {
		int min;
		int cur;
	} version;
	bool system_emulation;
	struct {
		int smp_vcpus;
		int max_vcpus;
	} system;
};

/* Whether a callback of an instruction or a block looks at registers, changes them, or the pc. */
enum {
	QEMU_PLUGIN_NO_REGS,
	QEMU_PLUGIN_R_REGS,
	QEMU_PLUGIN_RW_REGS,
	QEMU_PLUGIN_RW_REGS_PC,
};

enum {
	QEMU_PLUGIN_INLINE_ADD,
	QEMU_PLUGIN_INLINE_STORE,
};

enum {
	QEMU_PLUGIN_COND_NOT_EQUAL = 3,
};

/* Kinds of discontinuity: a mask when registering, one of them in the callback. */
enum {
	QEMU_PLUGIN_INTERRUPT = 1 << 0,	/* from: the next instruction that would have executed */
	QEMU_PLUGIN_EXCEPTION = 1 << 1,	/* from: the instruction that caused it */
	QEMU_PLUGIN_HOSTCALL = 1 << 2,
	QEMU_PLUGIN_DISCONTINUITIES = -1,
};

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_register;
struct qemu_plugin_scoreboard;

/* A u64 in each vCPU's element of a scoreboard. */
struct qemu_plugin_u64 {
	struct qemu_plugin_scoreboard *score;
	size_t offset;
};

/* Element of the array that qemu_plugin_get_registers gives. */
struct qemu_plugin_reg {
	struct qemu_plugin_register *handle;
	const char *name;
	const char *feature;
	bool is_readonly;
};

typedef void (*qemu_plugin_exit_cb)(void *data);
typedef void (*qemu_plugin_vcpu_cb)(unsigned int vcpu, void *data);
typedef void (*qemu_plugin_trans_cb)(struct qemu_plugin_tb *tb, void *data);
typedef void (*qemu_plugin_discon_cb)(unsigned int vcpu, int type, uint64_t from, uint64_t to,
				      void *data);

void qemu_plugin_register_vcpu_init_cb(uint64_t id, qemu_plugin_vcpu_cb callback, void *data);
void qemu_plugin_register_vcpu_idle_cb(uint64_t id, qemu_plugin_vcpu_cb callback, void *data);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, qemu_plugin_trans_cb callback, void *data);
void qemu_plugin_register_vcpu_discon_cb(uint64_t id, int types, qemu_plugin_discon_cb callback,
					 void *data);
void qemu_plugin_register_atexit_cb(uint64_t id, qemu_plugin_exit_cb callback, void *data);

/* Called before the instruction executes. */
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    qemu_plugin_vcpu_cb callback, int flags, void *data);
/* The same, only where entry's value is not equal to immediate or the like. */
void qemu_plugin_register_vcpu_insn_exec_cond_cb(struct qemu_plugin_insn *insn,
						 qemu_plugin_vcpu_cb callback, int flags,
						 int condition, struct qemu_plugin_u64 entry,
						 uint64_t immediate, void *data);
void qemu_plugin_register_vcpu_tb_exec_cond_cb(struct qemu_plugin_tb *tb,
					       qemu_plugin_vcpu_cb callback, int flags,
					       int condition, struct qemu_plugin_u64 entry,
					       uint64_t immediate, void *data);
void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(struct qemu_plugin_insn *insn, int op,
							 struct qemu_plugin_u64 entry,
							 uint64_t immediate);
void qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(struct qemu_plugin_tb *tb, int op,
						       struct qemu_plugin_u64 entry,
						       uint64_t immediate);

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *bytes, size_t size);

/* From a vCPU's own callbacks; the caller frees the array. */
GArray *qemu_plugin_get_registers(void);
/* Appends the register's bytes. */
bool qemu_plugin_read_register(struct qemu_plugin_register *handle, GByteArray *bytes);
bool qemu_plugin_write_register(struct qemu_plugin_register *handle, GByteArray *bytes);
/* Execution goes on at pc. Does not return; only from callbacks with RW_REGS_PC. */
void qemu_plugin_set_pc(uint64_t pc);

/* Physical memory as the vCPU in hand sees it. 0: done. */
int qemu_plugin_read_memory_hwaddr(uint64_t address, GByteArray *bytes, size_t n);
int qemu_plugin_write_memory_hwaddr(uint64_t address, GByteArray *bytes);

struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t element_size);
void *qemu_plugin_scoreboard_find(struct qemu_plugin_scoreboard *score, unsigned int vcpu);
uint64_t qemu_plugin_u64_get(struct qemu_plugin_u64 entry, unsigned int vcpu);
void qemu_plugin_u64_set(struct qemu_plugin_u64 entry, unsigned int vcpu, uint64_t value);
void qemu_plugin_outs(const char *text);

#endif /* FLOWTAP_SELFTESTS_ORACLE_QEMU_PLUGIN_H */
