/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Lines of Tarmac and QEMU4V, taken apart: ES of the specification (ARM-EPM-041435), IT and IS of
 * Arm's models, gem5, RTL simulators and QEMU4V. Nothing here remembers anything from line to line.
 */
#ifndef FLOWTAP_LIBUAPI_FORMATS_TARMAC_LINE_H
#define FLOWTAP_LIBUAPI_FORMATS_TARMAC_LINE_H

#include "formats/tarmac/scan.h"

enum tarmac_event {
	TARMAC_INSTRUCTION,	/* IT, IF, ES ( */
	TARMAC_SKIPPED,		/* IS */
	TARMAC_OTHER_STEP,	/* ES: EXC, or an asynchronous event */
	TARMAC_EXCEPTION,	/* EXC */
	TARMAC_EVENT,		/* E */
	TARMAC_BRANCH,		/* BR */
	TARMAC_REGISTER,
	TARMAC_MEMORY,
	TARMAC_MEMORY_ROW,	/* LD, ST: other rows may follow */
	TARMAC_PAGE_TABLE,
	TARMAC_ELSE,
	TARMAC_COMMENT,
	TARMAC_HEADER,
	TARMAC_BLANK,
	TARMAC_UNKNOWN,
};

struct tarmac_head {
	enum tarmac_event event;
	bool timed;
	bool counts;		/* cycles, ticks: no unit of time */
	bool old_unit;		/* a unit that not all readers know */
	bool fraction;		/* it has a point: time is in units of the last digit */
	uint64_t time;
	uint64_t nanoseconds;
	bool has_cpu;
	bool cpu_named;		/* cpu0, not 0 */
	uint32_t cpu;		/* of a name the number at its end */
	const char *cpu_name;	/* all of it (cluster1.cpu0), not terminated; NULL: it is cpuN, or N */
	size_t cpu_name_size;
	bool indented;
	bool es;		/* of the specification's form: ES */
};

/* Takes what is before the event, and its word. */
void tarmac_head(struct tarmac_scan *scan, struct tarmac_head *head);

struct tarmac_instruction {
	uint64_t address;
	uint32_t opcode;
	uint8_t address_digits;
	uint8_t digits;		/* of the opcode: 4, 8; 0: none is there (dashes) */
	char letter;		/* of the instruction set: A, T, O ... */
	bool debug;		/* executed in Debug state: no address */
	bool skipped;		/* CCFAIL */
	bool has_id;
	bool spec;		/* IT (address:opcode), of the specification's example */
	bool plain;		/* IT ADDRESS OPCODE TEXT: without instruction set and mode, T32 */
	uint64_t id;
	const char *mode;	/* the word: el1h_ns, svc; not terminated */
	size_t mode_size;
	bool mode_words;	/* it is of two words */
	const char *text;	/* disassembly, up to the end */
};

/* After the event's word. NULL, or what is wrong with it. */
const char *tarmac_instruction(struct tarmac_scan scan, bool es, struct tarmac_instruction *insn);

/* FLOWTAP_MODE_*, FLOWTAP_SECURE ... of the word; false: it is none. bare: without _s or _ns. */
bool tarmac_mode(const char *word, size_t size, uint8_t *mode, uint8_t *security, bool *bare);

struct tarmac_exception {
	int number;		/* of ETE; -1 the line does not say */
	bool exact;		/* ` (NUMBER)` at the end: flowtap's own addition */
	bool asynchronous;
	bool undefined;		/* the instruction is: it was not executed, even if it is a call */
	bool has_address;
	bool m_profile;		/* the number is exact, and the M profile's */
	uint64_t address;
};

/* After EXC, or the words of an asynchronous event after ES. False: it is none that is known. */
bool tarmac_exception(struct tarmac_scan scan, struct tarmac_exception *exception);
/* After E, up to CoreEvent_. False: it is no exception. */
bool tarmac_core_event(struct tarmac_scan scan, struct tarmac_exception *exception);

/* After BR. NULL, or what is wrong with it. */
const char *tarmac_branch(struct tarmac_scan scan, uint64_t *target);

#endif /* FLOWTAP_LIBUAPI_FORMATS_TARMAC_LINE_H */
