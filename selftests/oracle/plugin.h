/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of the oracle plugin share. */
#ifndef FLOWTAP_SELFTESTS_ORACLE_PLUGIN_H
#define FLOWTAP_SELFTESTS_ORACLE_PLUGIN_H

#include <stdatomic.h>
#include <stdio.h>

#include "log.h"
#include "qemu_plugin.h"

#define HARTS 16

/* A piece. */
struct code {
	uint64_t address;
	uint32_t id;
	uint32_t n;
};

/* What each hart has in the scoreboard, or in `scores`. */
enum {
	COUNT_KERNEL,
	COUNT_MODULE,
	COUNT_MACHINE,
	COUNTS,
	RUN = COUNTS,		/* instructions of the run that goes on */
	KERNEL,			/* the kernel is recorded */
	USER,			/* user mode is logged: enum user */
	SCORES
};

enum user { USER_SKIPPED, USER_LOGGED, USER_UNKNOWN };

struct hart {
	FILE *file;
	const struct code *code;	/* the run that goes on: */
	uint64_t pc;			/* where it began */
	uint64_t times;			/* it was executed whole before */
	bool started;
	bool in_kernel;			/* or user mode has not been told */
	uint64_t control;		/* sctrctl */
	bool frozen;			/* sctrstatus.FROZEN */
	uint64_t stamp;			/* the last one */
	uint64_t task;			/* the last one told */
	uint64_t satp;
	uint64_t counts[COUNTS];	/* as last written */
	void *cpu;			/* QEMU's */
	uint64_t scores[SCORES];	/* where the harts take turns */
	GByteArray *bytes;
	struct qemu_plugin_register *x[32], *pc_register;
	struct qemu_plugin_register *sscratch, *sstatus, *scause, *mcause;
};

extern struct hart harts[HARTS];
extern const char *prefix;		/* of the log's files */
extern struct qemu_plugin_scoreboard *score;
extern atomic_bool armed;		/* the log has begun */

/*
 * The harts execute in one thread (icount). QEMU then takes the hart that translated a block for
 * the one that executes it: neither a callback's number nor inline code is of use.
 */
extern bool turns;

uint64_t score_of(const struct hart *hart, int which);
void set_score(struct hart *hart, int which, uint64_t value);
uint64_t read_register(struct hart *hart, struct qemu_plugin_register *handle);

/* A new file of the log; ends QEMU where that cannot be. */
FILE *create(const char *suffix, const char *magic);
void put(struct hart *hart, uint64_t number);
/* The beginning of all events but runs. */
void put_event(struct hart *hart, enum oracle_kind kind);
void put_counts(struct hart *hart);
void put_run(struct hart *hart);
void put_write(struct hart *hart, uint16_t csr, uint64_t keep, uint64_t set);
/* The field `task`, out of a register. */
void put_task(struct hart *hart, struct qemu_plugin_register *from);
/* Ends the run before an event; false before the log begins. */
bool event(struct hart *hart);

#endif /* FLOWTAP_SELFTESTS_ORACLE_PLUGIN_H */
