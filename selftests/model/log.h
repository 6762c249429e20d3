/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The execution log: what each PE executed while its trace unit was enabled, and what happened to
 * its trace. The ground truth that a decoded trace is held against; it is written from what QEMU
 * tells and knows nothing of packets.
 *
 *	PREFIX.code	8 bytes LOG_CODE_MAGIC, then for each piece of code: u64 address where it was
 *			translated, u32 number of instructions, u32 opcodes; the first is piece 1
 *	PREFIX.N	PE N: 8 bytes LOG_PE_MAGIC, then events
 *	PREFIX.report	text, at the end: one "NAME VALUE" a line (violations, what the adversary
 *			did, totals); its last line is "end"
 *
 * An event is a byte, its kind, then its fields: ULEB128 numbers (low 7 bits first, at most 10
 * bytes). Little endian else. What a field "zigzag" says is n >= 0 ? 2n : -2n - 1.
 *
 * Blocks repeat, so the file has a table of LOG_SLOTS blocks. A byte from 0x80 on, and the byte
 * after it, are the number (15 bits, high ones first) of the slot that holds the block that was
 * executed. After each block its slot is noted in the slot of the block before, as its successor;
 * LOG_REPEAT says that each of the next blocks was the noted successor of the one before.
 *
 * While the trace unit is disabled (LOG_TRACING, and at the begin) no blocks, exceptions and
 * returns are in the file, whether the model tells them or not.
 */
#ifndef FLOWTAP_SELFTESTS_MODEL_LOG_H
#define FLOWTAP_SELFTESTS_MODEL_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct pe;
struct pe_block;
struct pe_exception;

#define LOG_CODE_MAGIC	"FTMCODE2"
#define LOG_PE_MAGIC	"FTMPE002"
#define LOG_SLOTS	8192

/*
 * X(kind, name, fields). The first three have a form of their own:
 *
 * BLOCK: n instructions from instruction `first` of piece `code` on were executed; pc is zigzag,
 * the distance from where the block before would have gone on (0 at first). flags: bits 2:0 enum
 * pe_branch, 3 taken, 4 link, 5 eret; after it, only where it was taken, where execution went on,
 * as zigzag distance from the end of the block. The block goes into the slot.
 *
 * REPEAT: as above.
 *
 * STORED: so many bytes went to memory from this (virtual) address on; the bytes follow. Told in
 * the order of the unit's stream, of which it is the next that LOG_LOST does not say to be lost.
 */
#define LOG_TABLE(X) \
	X(BLOCK, "block", "slot code first n pc flags") \
	X(REPEAT, "repeat", "times") \
	X(STORED, "stored", "bytes address") \
	/* enum pe_exception_kind, ESR, preferred return address, where it went, to which EL */ \
	X(EXCEPTION, "exception", "kind syndrome return handler el") \
	/* ERET to this exception level; its block came before */ \
	X(RETURN, "return", "el") \
	/* CONTEXTIDR_EL1, CONTEXTIDR_EL2, in effect from here on */ \
	X(CONTEXT, "context", "el1 el2") \
	/* SYSREG(), took effect here. The read-only TRCIDR0, 1, 2, 8 and TRCDEVARCH come once, */ \
	/* before the first LOG_TRACING, and again where they change. */ \
	X(REGISTER, "register", "register value") \
	/* What the trace unit does from here on: enum log_tracing; the exception levels that may */ \
	/* be traced, as bits; and the exception level that the PE is at. While it says LOG_TRACED */ \
	/* every instruction at an allowed level is to be traced, unless LOG_FILTER says 0. */ \
	X(TRACING, "tracing", "what els el") \
	/* ViewInst became active (1) or inactive, by address, context, event; 1 at LOG_TRACING */ \
	X(FILTER, "filter", "active") \
	/* An A-sync begins at this offset of the unit's stream */ \
	X(SYNC, "sync", "offset") \
	/* Bytes of the unit's stream from this offset on that never come to memory; enum log_loss */ \
	X(LOST, "lost", "bytes offset reason") \
	/* TRBSR, TRBPTR, TRBLIMITR as the buffer changed them by itself */ \
	X(BUFFER, "buffer", "status pointer limit") \
	/* As the packet says it */ \
	X(TIMESTAMP, "timestamp", "counter") \
	/* As the packet says it, plus 1; 0 for unknown */ \
	X(CYCLES, "cycles", "count") \
	X(EVENT, "event", "mask") \
	/* An overflow packet: what no P0 element covered is lost */ \
	X(OVERFLOW, "overflow", "") \
	X(VIOLATION, "violation", "violation pc") \
	/* The generic counter, after each LOG_TRACING and LOG_LOST; with pe_config.times only */ \
	X(TIME, "time", "counter") \
	/* EL0 was left (the exception comes next): whose it was, by the CONTEXTIDR of the host's */ \
	/* exception level; the counter when it was entered and now; how many instructions were */ \
	/* executed there while none was to be traced. With pe_config.times only. */ \
	X(STAY, "stay", "task entered left untraced") \
	/* The PE was reset */ \
	X(RESET, "reset", "") \
	/* Nothing is missing */ \
	X(END, "end", "")

enum log_kind {
	LOG_NONE,
#define X(kind, name, fields) LOG_##kind,
	LOG_TABLE(X)
#undef X
	LOG_KINDS
};

enum log_tracing { LOG_DISABLED, LOG_TRACED, LOG_PROHIBITED };
enum log_loss { LOG_LOSS_DISABLED, LOG_LOSS_STOPPED, LOG_LOSS_FAULT, LOG_LOSS_WITHHELD,
		LOG_LOSS_ERRATUM };

struct log_set;			/* the files of all PEs */
struct log_state;

struct log {
	struct log_set *set;	/* NULL: nothing is logged */
	struct log_state *state;
};

/*
 * prefix: copied. NULL and errno where a file cannot be made. Files of the same name are replaced.
 */
struct log_set *log_open(const char *prefix);
/* Writes what is left and the report's end, after all log_finish; 0 or a negative errno: the first
 * of any write of any of the files that failed. set may be NULL. */
int log_close(struct log_set *set);
/* "NAME VALUE" for the report; from any thread. */
void log_report(struct log_set *set, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A piece of code; from any thread. Opcodes are copied. Returns its number, from 1; set NULL: 0. */
uint32_t log_code(struct log_set *set, uint64_t address, const uint32_t *opcodes, uint32_t n);

/* 0 or a negative errno. set NULL: everything told to this log is dropped. */
int log_init(struct log *log, struct log_set *set, unsigned int pe);
/* Ends the PE's file with LOG_END and closes it. */
void log_finish(struct log *log);

void log_block(struct log *log, const struct pe_block *block);
void log_exception(struct log *log, const struct pe_exception *exception);
void log_stored(struct log *log, const void *bytes, size_t n, uint64_t address);
/* Any other kind: its fields in order, as many as LOG_TABLE says; else log_close is -EINVAL. */
void log_event(struct log *log, enum log_kind kind, unsigned int nfields, const uint64_t *fields);
#define LOG(log, kind, ...) \
	log_event(log, kind, sizeof((uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t), \
		  (uint64_t[]){ __VA_ARGS__ })

#endif
