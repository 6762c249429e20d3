/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A whole machine without QEMU: one PE of the model that executes a random program by chance, with
 * a driver that traces it as Linux does; what the driver collected is held against the log.
 */
#ifndef FLOWTAP_SELFTESTS_MODEL_SIMULATION_H
#define FLOWTAP_SELFTESTS_MODEL_SIMULATION_H

#include "align.h"
#include "ete/program.h"
#include "pe.h"

#define SIMULATION_CALLS	32
#define SIMULATION_NESTED	8

/* What a seed decides. */
struct simulation_options {
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
	bool stop;			/* ... and stop there, else it is only an interrupt */
	unsigned int pages;
	unsigned int latency;		/* the interrupt is taken after about so many blocks */
	unsigned int sessions;
	uint64_t instructions;		/* of each session */
};

struct simulation {
	struct simulation_options options;
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
	uint32_t calls[SIMULATION_CALLS];
	unsigned int ncalls;
	struct {
		uint32_t at;
		uint8_t el;
	} saved[SIMULATION_NESTED];
	unsigned int nsaved;
	uint64_t executed;
	uint32_t contextid;
	/* The driver. */
	uint64_t driver_pc;
	bool collecting;		/* a session is on */
	bool deferred;			/* interrupts are masked: in the driver */
	uint64_t pointer;		/* where the driver has begun to collect */
	uint64_t truncated;		/* times that the buffer was full */
	uint64_t stopped;		/* ... that a trigger stopped it */
	uint64_t triggered;		/* ... that one was the interrupt's only reason */
	uint64_t faults;
	uint64_t discarded;		/* buffers, for an external abort */
	uint64_t spurious;
	uint64_t interrupts;
	struct align_piece *collected;
	size_t ncollected;
};

void simulation_choose(struct simulation_options *options, uint64_t seed);
/* prefix: of the log. */
struct simulation *simulation_new(const struct simulation_options *options, uint64_t seed,
				  const char *prefix);
/* All sessions. */
void simulation_run(struct simulation *sim);
/* The PE and the log end; what it collected stays until simulation_free. 0 or -errno of the log. */
int simulation_end(struct simulation *sim);
void simulation_free(struct simulation *sim);

/* simulation_driver.c */
/* Called at EL1 (EL2), after an exception; simulation_return ends it. */
void simulation_start(struct simulation *sim);
void simulation_stop(struct simulation *sim);
void simulation_interrupt(struct simulation *sim);
/* What stands at a virtual address of the buffer. */
uint8_t *simulation_memory(struct simulation *sim, uint64_t address);
/* Page tables, the registers that translation needs, and the OS lock off. */
void simulation_boot(struct simulation *sim);
/* An exception from where the PE is, to the driver; and the way back. */
void simulation_enter(struct simulation *sim, enum pe_exception_kind kind, uint32_t syndrome);
void simulation_return(struct simulation *sim);
unsigned int simulation_kernel_el(const struct simulation *sim);
/* The instruction that the driver is at is executed. */
void simulation_instruction(struct simulation *sim, uint32_t opcode, enum pe_branch branch);

#endif
