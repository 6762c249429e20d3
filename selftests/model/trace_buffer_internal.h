/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the trace buffer share: fields of its registers, and each other's functions. */
#ifndef FLOWTAP_SELFTESTS_MODEL_TRACE_BUFFER_INTERNAL_H
#define FLOWTAP_SELFTESTS_MODEL_TRACE_BUFFER_INTERNAL_H

#include "pe.h"
#include "sysreg.h"

#define LIMITR_LIMIT	(~0xfffULL)
#define LIMITR_NVM	(1U << 5)
#define LIMITR_TM	(3U << 3)
#define LIMITR_TM_STOP	(0U << 3)
#define LIMITR_TM_IRQ	(1U << 3)
#define LIMITR_FM	(3U << 1)
#define LIMITR_FM_FILL	(0U << 1)
#define LIMITR_FM_WRAP	(1U << 1)
#define LIMITR_E	1U

#define SR_EC		(0x3fU << 26)
#define SR_IRQ		(1U << 22)
#define SR_TRG		(1U << 21)
#define SR_WRAP		(1U << 20)
#define SR_EA		(1U << 18)
#define SR_S		(1U << 17)
#define SR_MSS		0xffffU
#define SR_BSC_FILLED	1U
#define SR_BSC_TRIGGER	2U

#define PMU_TRB_WRAP	0x400c
#define PMU_TRB_TRIG	0x400e

#define CACHE_LINE	64
#define HELD_MAX	4096
#define N_WRITES	16
#define WRITE_MAX	2048	/* a multiple of each alignment */

/* Bytes on their way to memory. */
struct trace_buffer_write {
	uint64_t address;
	uint64_t physical;
	uint32_t n;
	bool wrong;			/* by an erratum: lost, whatever memory gets */
	uint8_t bytes[WRITE_MAX];
};

static inline uint64_t effective(const struct trace_buffer *buffer, unsigned int which)
{
	return buffer->registers[which].effective;
}

static inline struct adversary *adversary_of(struct trace_buffer *buffer)
{
	return &buffer->pe->adversary;
}

/* trace_buffer.c: the hardware changes TRBSR; the interrupt follows TRBSR.IRQ. */
void trace_buffer_status(struct trace_buffer *buffer, uint64_t clear, uint64_t set);
void trace_buffer_interrupt(struct trace_buffer *buffer);
/* TRBSR, TRBPTR and TRBLIMITR into the log. */
void trace_buffer_log(struct trace_buffer *buffer);

/* trace_buffer_store.c: of the bytes held, what is a multiple of TRBIDR.Align gets addresses. */
void trace_buffer_drain(struct trace_buffer *buffer);
/* The rest is filled up with Ignore packets first. */
void trace_buffer_drain_all(struct trace_buffer *buffer);
/* Writes that have addresses go to memory. */
void trace_buffer_complete(struct trace_buffer *buffer);
/* The next n bytes of the stream do not come to memory. */
void trace_buffer_lose(struct trace_buffer *buffer, uint64_t n, enum log_loss reason);
/* All that is held is lost. */
void trace_buffer_drop(struct trace_buffer *buffer, enum log_loss reason);
/* That, and all that has an address already; nothing is written. */
void trace_buffer_abandon(struct trace_buffer *buffer);
void trace_buffer_stop(struct trace_buffer *buffer, uint32_t bsc);
/* Where a byte goes. False: a fault, that TRBSR has. */
bool trace_buffer_locate(struct trace_buffer *buffer, uint64_t address, uint64_t *physical,
			 uint64_t *contiguous);
/* Bytes to memory, past the log and the counts. */
bool trace_buffer_memory(struct trace_buffer *buffer, uint64_t physical, const void *bytes,
			 size_t n);

/* trace_buffer_check.c: an access is about to be done. */
void trace_buffer_check_write(struct trace_buffer *buffer, unsigned int which, uint64_t value);
void trace_buffer_check_read(struct trace_buffer *buffer, unsigned int which);
/* E is 1, or was at the last context synchronization event: the buffer may be in use. */
bool trace_buffer_in_use(const struct trace_buffer *buffer);

/* trace_buffer_errata.c */
int trace_buffer_errata_of(uint64_t midr);
/* One of them made a difference just now. */
void trace_buffer_errata_shows(struct trace_buffer *buffer, enum trace_buffer_erratum erratum);
/* PTR reached the limit. */
void trace_buffer_errata_wrapped(struct trace_buffer *buffer, bool fill);
/* E was set or cleared, in effect or not. */
void trace_buffer_errata_enabled(struct trace_buffer *buffer, bool enabled);
/* Trace is allowed, or is not any more; exception: by an exception or ERET. */
void trace_buffer_errata_allowed(struct trace_buffer *buffer, bool allowed, bool exception);
/* Takes bytes that go where they should not; how many. */
size_t trace_buffer_errata_stray(struct trace_buffer *buffer, const uint8_t *bytes, size_t n);
/* Whether these bytes come to memory as others. Changes them. */
bool trace_buffer_errata_corrupt(struct trace_buffer *buffer, uint8_t *bytes, size_t n);

#endif
