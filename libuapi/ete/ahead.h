/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Bytes of a trace unit on their way to its decoder, and which timestamps they have: so that it is
 * known when something was executed, between the timestamp before and the one after it.
 */
#ifndef FLOWTAP_LIBUAPI_ETE_AHEAD_H
#define FLOWTAP_LIBUAPI_ETE_AHEAD_H

#include <flowtap/ete_packet.h>

/* As many bytes wait, and half of them at least. */
#define ETE_AHEAD (32U << 10)

/*
 * How often, so far, others may have changed a process's code. Of one thread alone that is where it
 * called the kernel, and where it is not known that it went on where an exception had stopped it.
 */
struct ete_breaks {
	uint64_t all;		/* exceptions and Trace On */
	uint64_t calls;		/* of these, calls and what may be more than that */
	bool stopped;		/* by an exception that was no call, and nothing since */
	uint64_t address;	/* where it has to resume */
};

struct ete_stamp {
	uint64_t ticks;
	/*
	 * When it came the trace had not stopped, or an exception had said so: else (the unit was
	 * filtered or turned off) there may be one more break before it than are counted.
	 */
	bool sure;
	/* It, or one of the same ticks after it, is of the place of a marker, somewhere before. */
	bool marked;
	uint64_t all;		/* breaks before it, since the begin */
	uint64_t calls;
};

/* An exception of this type and return address; a Trace On; execution resumes at the address. */
void flowtap_ete_break_exception(struct ete_breaks *breaks, unsigned int type, bool known,
				      uint64_t address);
void flowtap_ete_break_trace_on(struct ete_breaks *breaks);
void flowtap_ete_break_end(struct ete_breaks *breaks, uint64_t address);

struct ete_ahead {
	struct flowtap_ete_parser parser;
	size_t size;		/* bytes that wait */
	size_t parsed;		/* of them */
	struct ete_breaks breaks;
	bool informed;		/* there was a Trace Info: before it timestamps lack their upper bits */
	bool marker;		/* of the timestamp to come */
	bool left;		/* an exception came last, nothing was executed since */
	size_t first;		/* stamps [first, n) are there, each of other ticks than the next */
	size_t n;
	size_t unsure;		/* those from here on are not known to be sure yet */
	uint8_t bytes[ETE_AHEAD];
	struct ete_stamp stamps[ETE_AHEAD];
};

/* Nothing waits. */
void flowtap_ete_ahead_begin(struct ete_ahead *ahead,
				  const struct flowtap_ete_config *config);
/* As many of the bytes as there is space for: how many. */
size_t flowtap_ete_ahead_add(struct ete_ahead *ahead, const uint8_t *bytes, size_t size);
/* The first n of those that wait are with the decoder. */
void flowtap_ete_ahead_drop(struct ete_ahead *ahead, size_t n);
/* The decoder has come to this timestamp: those before it are dropped. */
void flowtap_ete_ahead_advance(struct ete_ahead *ahead, uint64_t ticks);
/* The first one after `ticks`, or the first at all; NULL: none is seen yet. */
const struct ete_stamp *flowtap_ete_ahead_next(const struct ete_ahead *ahead,
							 const uint64_t *ticks);
/* This timestamp, which was reached; NULL: it is not among those that are known. */
const struct ete_stamp *flowtap_ete_ahead_at(const struct ete_ahead *ahead,
						       uint64_t ticks);

#endif /* FLOWTAP_LIBUAPI_ETE_AHEAD_H */
