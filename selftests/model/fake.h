/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A machine for tests of the trace buffer: memory, page tables, a trace unit that makes bytes of no
 * meaning, and a log that is kept; with the steps software takes.
 */
#ifndef FLOWTAP_SELFTESTS_MODEL_FAKE_H
#define FLOWTAP_SELFTESTS_MODEL_FAKE_H

#include "model/pe.h"
#include "model/sysreg.h"

#define FAKE_RAM	0x40000000ULL
#define FAKE_RAM_SIZE	(8U << 20)
#define FAKE_STREAM	(1U << 20)
/* Where tests have the buffer: in the upper half. */
#define FAKE_BUFFER	0xffff800010000000ULL

#define TRCPRGCTLR	SYSREG_TRACE(0x4)
#define PTE_VALID	1ULL
#define PTE_TABLE	2ULL
#define PTE_AF		(1ULL << 10)
#define PTE_RO		(1ULL << 7)
#define PTE_DBM		(1ULL << 51)

struct lost {
	uint64_t bytes;
	uint64_t offset;
	uint64_t reason;
};

struct fake {
	struct pe pe;
	struct machine machine;
	struct rng rng;
	uint8_t *ram;
	uint64_t next_page;		/* of memory, physical */
	uint64_t sysregs[MACHINE_REGISTERS];
	bool gone;			/* nobody may use it any more */
	bool level;
	unsigned int raised;		/* how often the level went up */
	/* The unit. */
	bool enabled;
	bool enabling;
	uint64_t trfcr;
	uint64_t trfcr_written;
	uint8_t unit[512];
	unsigned int nunit;
	bool prompt;			/* TRCPRGCTLR.EN takes effect at once, not with a CSE */
	unsigned int greeting;		/* bytes it sends by itself when it is enabled, disabled */
	unsigned int wraps;
	unsigned int triggers;
	/* The stream as the buffer accepted it, and the log of it. */
	uint8_t *stream;
	uint64_t n;
	uint64_t told;			/* bytes that LOG_STORED and LOG_LOST had */
	bool disorder;			/* the log did not say the stream */
	uint64_t wrong;			/* bytes LOG_STORED had wrongly */
	uint64_t losses[8];		/* bytes by reason */
	struct lost last;
	uint64_t logged[2];		/* the last LOG_REGISTER: register, value */
	struct log_set *log;
};

/* Aborts the test where memory is short. options may be NULL: their defaults, no adversary. */
struct fake *fake_new(const struct trace_buffer_options *buffer,
		      const struct adversary_options *adversary, const struct pe_config *config);
void fake_free(struct fake *fake);

/* A zeroed piece of memory, aligned as its size, a power of 2. */
uint64_t fake_alloc(struct fake *fake, uint64_t size);
void fake_store(struct fake *fake, uint64_t physical, uint64_t value);
uint64_t fake_load(struct fake *fake, uint64_t physical);
/* The last level's entry, made with all tables above. granule: 12, 14, 16; first: its level. */
uint64_t fake_entry(struct fake *fake, uint64_t root, unsigned int granule, int first, int last,
		    unsigned int bits, uint64_t address);
/* EL1&0 with 4 KB pages and 48 bits; and the buffer's pages, of which no two are neighbours. */
void fake_paging(struct fake *fake);
void fake_map(struct fake *fake, uint64_t address, unsigned int pages);
/* The byte at a virtual address that fake_map mapped. */
uint8_t *fake_at(struct fake *fake, uint64_t address);

/* Instructions. */
void msr(struct fake *fake, uint32_t reg, uint64_t value);
uint64_t mrs(struct fake *fake, uint32_t reg);
void isb(struct fake *fake);
void dsb(struct fake *fake);
void tsb(struct fake *fake);
/* A block of n instructions: as many bytes of trace, where that is allowed. */
void work(struct fake *fake, unsigned int n);
/* Straight to the buffer. */
void feed(struct fake *fake, unsigned int n);

/* What software does: as coresight-trbe and K10.5.7.1 do it. */
void buffer_on(struct fake *fake, uint64_t base, uint64_t pointer, uint64_t limitr);
void buffer_off(struct fake *fake);
void unit_on(struct fake *fake);
void unit_off(struct fake *fake);
void prohibit(struct fake *fake);

/* All bytes are told in order, and none wrongly. */
bool fake_consistent(struct fake *fake);
uint64_t fake_violations(const struct fake *fake);

#endif
