/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A whole machine without QEMU: one PE of the model that executes a random program by chance, with
 * a driver that traces it as Linux does; what the driver collected is held against the log.
 */
#ifndef FLOWTAP_MODEL_WORLD_H
#define FLOWTAP_MODEL_WORLD_H

#include "align.h"
#include "ete/program.h"
#include "pe.h"

#define WORLD_CALLS	32
#define WORLD_NESTED	8

/* What a seed decides. */
struct world_options {
	struct trace_unit_options unit;
	struct trace_buffer_options buffer;
	struct adversary_options adversary;
	bool el2;
	bool host;			/* the driver and the kernel are at EL2 with E2H, TGE */
	uint32_t configr;
	uint32_t syncpr;
	uint32_t ccctlr;
	uint32_t levels;		/* bit 0: EL0 is traced, 1: the kernel is */
	bool by_victlr;			/* excluded there, not by TRFCR */
	bool filter;			/* an address range: included, else excluded */
	bool exclude;
	uint32_t mode;			/* TRBLIMITR.FM: 0 fill, 1 wrap, 3 circular */
	uint32_t watermark;		/* trigger after so many bytes; 0: none */
	unsigned int pages;
	unsigned int latency;		/* the interrupt is taken behind about so many blocks */
	unsigned int sessions;
	uint64_t instructions;		/* of each session */
};

struct world {
	struct world_options options;
	struct pe pe;
	struct machine machine;
	struct log_set *log;
	struct rng rng;
	uint8_t *ram;
	uint64_t sysregs[MACHINE_REGISTERS];
	bool level;
	uint64_t counter;
	struct program *program;
	uint32_t *pieces;		/* of each instruction: the log's piece, and which it is there */
	uint32_t *first;
	/* What is executed. */
	uint32_t at;
	uint32_t calls[WORLD_CALLS];
	unsigned int ncalls;
	struct {
		uint32_t at;
		uint8_t el;
	} saved[WORLD_NESTED];
	unsigned int nsaved;
	uint64_t executed;
	uint32_t contextid;
	/* The driver. */
	uint64_t driver_pc;
	bool collecting;		/* a session is on */
	bool deferred;			/* interrupts are masked: in the driver */
	uint64_t pointer;		/* where the driver has begun to collect */
	uint64_t truncated;		/* times that the buffer was full */
	uint64_t faults;
	uint64_t discarded;		/* buffers, for an external abort */
	uint64_t spurious;
	uint64_t interrupts;
	struct align_piece *collected;
	size_t ncollected;
};

void world_choose(struct world_options *options, uint64_t seed);
/* prefix: of the log. */
struct world *world_new(const struct world_options *options, uint64_t seed, const char *prefix);
/* All sessions. */
void world_run(struct world *world);
/* The PE and the log end; what was collected stays until world_free. 0 or -errno of the log. */
int world_end(struct world *world);
void world_free(struct world *world);

/* world_driver.c */
/* Called at EL1 (EL2), behind an exception; world_return ends it. */
void world_start(struct world *world);
void world_stop(struct world *world);
void world_interrupt(struct world *world);
/* What stands at a virtual address of the buffer. */
uint8_t *world_memory(struct world *world, uint64_t address);
/* Page tables, the registers that translation needs, and the OS lock off. */
void world_boot(struct world *world);
/* An exception from where the PE is, to the driver; and the way back. */
void world_enter(struct world *world, enum pe_exception_kind kind, uint32_t syndrome);
void world_return(struct world *world);
unsigned int world_kernel_el(const struct world *world);
/* The instruction that the driver is at is executed. */
void world_instruction(struct world *world, uint32_t opcode, enum pe_branch branch);

#endif
