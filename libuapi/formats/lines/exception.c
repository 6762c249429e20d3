// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Exceptions as lines: where they went by what the trace says, the number (the type of an Exception
 * packet) and the levels before and after it; and by the handler's address, as vectors have fixed
 * offsets from a base that is a multiple of them. What is not known is not written.
 */
#include "formats/lines/internal.h"

/* The types of Exception packets of ETE that matter here. */
enum {
	TYPE_RESET = 0,
	TYPE_HALT = 1,
	TYPE_CALL = 2,
	TYPE_TRAP = 3,
	TYPE_SYSTEM_ERROR = 4,
	TYPE_INST_DEBUG = 6,
	TYPE_DATA_DEBUG = 7,
	TYPE_ALIGNMENT = 10,
	TYPE_INST_FAULT = 11,
	TYPE_DATA_FAULT = 12,
	TYPE_IRQ = 14,
	TYPE_FIQ = 15,
};

enum kind { SYNC, IRQ, FIQ, ERROR };

/* Tarmac 2.3.3: the vector of AArch64 is 0x200 * group + 0x80 * kind. */
static const char *const groups[] = {
	" Current EL with SP_EL0", " Current EL with SP_ELx",
	" Lower EL using AArch64", " Lower EL using AArch32",
};
static const char *const kinds[] = { "Synchronous", "IRQ/vIRQ", "FIQ/vFIQ", "SError/vSError" };
static const char *const asynchronous[] = { "", "IRQ", "FIQ", "System Error" };

/* Those of Fast Models are 0x80 + 4 * group + kind. */
static const char *const group_events[] = {
	"CoreEvent_CURRENT_SP0_", "CoreEvent_CURRENT_SPx_", "CoreEvent_LOWER_64_",
	"CoreEvent_LOWER_32_",
};
static const char *const kind_events[] = { "SYNC", "IRQ", "FIQ", "ABORT" };

/* AArch32, by a quarter of the vector; event: its number of Fast Models, 0 there is none. */
static const struct {
	const char *name;
	const char *event_name;
	uint8_t event;
} narrow[] = {
	{ "Reset", "CoreEvent_Reset", 1 },
	{ "Undefined Instruction", "CoreEvent_UndefinedInstr", 2 },
	{ "System Call", "CoreEvent_SWI", 3 },
	{ "Prefetch Abort", "CoreEvent_PrefetchAbort", 4 },
	{ "Data Abort", "CoreEvent_DataAbort", 5 },
	{ "Hypervisor Trap", NULL, 0 },
	{ "IRQ Interrupt", "CoreEvent_IRQ", 7 },
	{ "FIQ Interrupt", "CoreEvent_FIQ", 8 },
};

/*
 * The M profile's, by the exception's number (Tarmac 2.3.3), which the types of Exception packets are
 * up to IRQ7; then those that are no exceptions, and SecureFault, by names that the trace unit has.
 */
static const struct {
	const char *name;
	enum kind kind;
} m_exceptions[] = {
	[1] = { "Reset", SYNC }, [2] = { "NMI", IRQ }, [3] = { "HardFault", SYNC },
	[4] = { "MemManage", SYNC }, [5] = { "BusFault", SYNC }, [6] = { "UsageFault", SYNC },
	[7] = { "SecureFault", SYNC }, [11] = { "SVCall", SYNC },
	[12] = { "Debug Monitor", SYNC }, [14] = { "PendSV", IRQ }, [15] = { "SysTick", IRQ },
	[16 ... 23] = { "External Interrupt", IRQ }, [24] = { "Debug Halt Mode Entry", SYNC },
	[25] = { "Lazy FP push", SYNC }, [26] = { "Lockup", SYNC },
};
#define M_EXCEPTIONS ((int)(sizeof(m_exceptions) / sizeof(m_exceptions[0])))

enum { M_RESET = 1, M_HALT = 24, M_IRQ8 = 0x208, M_IRQ8_NUMBER = 24 };

#define NOWHERE	-1

/* What is known of one exception. */
struct known {
	enum kind kind;
	int number;		/* of Arm's; NOWHERE for RISC-V's */
	int group;		/* AArch64, or NOWHERE */
	int vector;		/* AArch32: index into narrow, or NOWHERE */
	const char *m_name;	/* the M profile's, or NULL; its number: */
	unsigned int m_number;
};

static enum kind kind_of(const struct flowtap_exception *exception, bool arm)
{
	if (!arm)
		return exception->interrupt ? IRQ : SYNC;
	switch (exception->number) {
	case TYPE_IRQ:
		return IRQ;
	case TYPE_FIQ:
		return FIQ;
	case TYPE_SYSTEM_ERROR:
		return ERROR;
	default:
		return exception->interrupt ? IRQ : SYNC;
	}
}

static int group_of(const struct lines_exception *from, const struct flowtap_context *to,
		    enum kind kind, bool known, uint64_t target)
{
	uint64_t vector = target >> 7 & 15;
	bool at_vector = known && isa_is_arm(to->isa) && !(target & 0x7f) && (vector & 3) == kind;

	if (!from->placed)
		return at_vector ? (int)(vector >> 2) : NOWHERE;
	if (!from->moved && !known && (from->from.mode || !isa_is_wide(from->from.isa)))
		return NOWHERE;
	/* EL0 handles nothing itself. */
	if (to->mode > from->from.mode || !from->from.mode) {
		if (at_vector && vector >= 8)
			return vector >> 2;
		return isa_is_wide(from->from.isa) ? 2 : 3;
	}
	if (to->mode < from->from.mode)
		return NOWHERE;
	return at_vector && vector < 8 ? vector >> 2 : 1;
}

static int vector_of(const struct lines_exception *from, const struct flowtap_context *to,
		     enum kind kind, bool known, uint64_t target)
{
	uint64_t vector = target >> 2 & 7;

	if (kind == IRQ || kind == FIQ)
		return kind == IRQ ? 6 : 7;
	if (known && !(target & 3) && vector && vector < 6)
		return vector;
	if (!from->moved || to->mode == FLOWTAP_PRIVILEGE_H)
		return from->moved ? 5 : NOWHERE;
	switch (from->exception.number) {
	case TYPE_CALL:
		return 2;
	case TYPE_INST_DEBUG:
	case TYPE_INST_FAULT:
		return 3;
	case TYPE_SYSTEM_ERROR:
	case TYPE_DATA_DEBUG:
	case TYPE_ALIGNMENT:
	case TYPE_DATA_FAULT:
		return 4;
	default:
		return 1;
	}
}

/*
 * Nothing but the type says which it is; below 0 it was not recorded. A reset and the last three
 * are of no instruction.
 */
static struct known find_m(int type)
{
	struct known found = {
		.kind = SYNC,
		.number = type == M_RESET ? TYPE_RESET : type >= M_HALT ? TYPE_HALT : NOWHERE,
		.group = NOWHERE,
		.vector = NOWHERE,
		.m_name = type < 0 ? NULL : "Synchronous",
		.m_number = type,
	};

	if (type >= M_IRQ8) {
		found.kind = IRQ;
		found.m_name = "External Interrupt";
		found.m_number = type - M_IRQ8 + M_IRQ8_NUMBER;
	} else if (type >= 0 && type < M_EXCEPTIONS && m_exceptions[type].name) {
		found.kind = m_exceptions[type].kind;
		found.m_name = m_exceptions[type].name;
	}
	return found;
}

static struct known find(const struct lines *lines, unsigned int isa, bool known, uint64_t target)
{
	const struct lines_exception *from = &lines->exception;
	bool arm = isa_is_arm(from->from.isa);
	struct flowtap_context to = lines->context;
	struct known found = {
		.kind = kind_of(&from->exception, arm),
		.number = arm ? from->exception.number : NOWHERE,
		.group = NOWHERE,
		.vector = NOWHERE,
	};

	if (from->exception.m_profile)
		return find_m(from->exception.number);
	to.isa = known || from->moved ? isa : from->from.isa;
	if (found.number == TYPE_RESET)
		found.vector = 0;
	if (found.number == TYPE_RESET || found.number == TYPE_HALT)
		return found;
	if (isa_is_wide(to.isa))
		found.group = group_of(from, &to, found.kind, known, target);
	else if (known || from->moved)
		found.vector = vector_of(from, &to, found.kind, known, target);
	return found;
}

/*
 * The number that a reader takes an exception for which has none of its own. What a line of dashes
 * says is in columns only.
 */
static int implied(const struct lines *lines, const struct known *found)
{
	const struct lines_exception *from = &lines->exception;
	static const int numbers[] = {
		[IRQ] = TYPE_IRQ, [FIQ] = TYPE_FIQ, [ERROR] = TYPE_SYSTEM_ERROR,
	};

	/* Of the M profile the number is written in any case: what a reader takes is A's. */
	if (!isa_is_arm(from->from.isa) || from->exception.m_profile)
		return NOWHERE;
	if (found->kind != SYNC)
		return numbers[found->kind];
	if (found->number == TYPE_HALT || found->number == TYPE_RESET)
		return found->number;
	if (from->own)
		return TYPE_CALL;
	return lines->form.columns ? TYPE_INST_FAULT : NOWHERE;
}

/* " (12)": the flow's number, where it is not what the line says anyhow. */
static void write_number(const struct lines *lines, struct flowtap_line *line,
			 const struct known *found)
{
	const struct lines_exception *from = &lines->exception;
	int number = from->exception.number;

	if (number == implied(lines, found))
		return;
	flowtap_line_string(line, number < 0 ? " (-" : " (");
	flowtap_line_decimal(line, number < 0 ? -(uint64_t)number : (uint64_t)number);
	flowtap_line_string(line, ")");
}

/* " at 0000000000210808". */
static void write_address(struct flowtap_line *line, const struct lines_exception *from)
{
	flowtap_line_string(line, " at ");
	flowtap_lines_address(line, from->from.isa, from->exception.address);
}

/* "[0x280] IRQ/vIRQ Current EL with SP_ELx", or as much as is known. */
static void write_words(struct flowtap_line *line, const struct known *found)
{
	if (found->m_name) {
		flowtap_line_string(line, "[");
		flowtap_line_decimal(line, found->m_number);
		flowtap_line_string(line, "] ");
		flowtap_line_string(line, found->m_name);
	} else if (found->number == TYPE_HALT) {
		flowtap_line_string(line, "Debug Halt Mode Entry");
	} else if (found->vector != NOWHERE) {
		flowtap_line_string(line, "[0x");
		flowtap_lines_hex(line, 2, 4 * found->vector);
		flowtap_line_string(line, "] ");
		flowtap_line_string(line, narrow[found->vector].name);
	} else if (found->group != NOWHERE) {
		flowtap_line_string(line, "[0x");
		flowtap_lines_hex(line, 3, 0x200 * found->group + 0x80 * found->kind);
		flowtap_line_string(line, "] ");
		flowtap_line_string(line, kinds[found->kind]);
		flowtap_line_string(line, groups[found->group]);
	} else {
		flowtap_line_string(line, kinds[found->kind]);
	}
}

/* Fast Models: E <value> <number> <name>. Without a number it is an event of our own. */
static void write_event(struct lines *lines, const struct known *found)
{
	const struct lines_exception *from = &lines->exception;
	bool wide = found->group != NOWHERE;
	unsigned int number = 0;
	char text[LINES_MAX + 1];
	struct flowtap_line line;

	if (wide)
		number = 0x80 + 4 * found->group + found->kind;
	else if (found->vector != NOWHERE)
		number = narrow[found->vector].event;
	flowtap_lines_begin(lines, &line, text, !from->own);
	flowtap_line_string(&line, "E ");
	if (!number) {
		flowtap_line_string(&line, "DebugEvent_Exception ");
		write_words(&line, found);
		write_address(&line, from);
	} else {
		flowtap_lines_address(&line, from->from.isa, from->exception.address);
		flowtap_line_string(&line, " ");
		flowtap_lines_hex(&line, 8, number);
		flowtap_line_string(&line, " ");
		flowtap_line_string(&line, wide ? group_events[found->group] :
						  narrow[found->vector].event_name);
		flowtap_line_string(&line, wide ? kind_events[found->kind] : "");
	}
	write_number(lines, &line, found);
	flowtap_lines_end(lines, &line, text);
}

/* The instruction that did not complete, of which no opcode is known here. */
static void write_faulting(struct lines *lines, struct flowtap_line *line)
{
	const struct lines_exception *from = &lines->exception;

	flowtap_line_string(line, "ES  (");
	flowtap_lines_address(line, from->from.isa, from->exception.address);
	flowtap_line_string(line, ":--------) ");
	flowtap_lines_letter(line, lines->form.letters[from->from.isa]);
	flowtap_line_string(line, " ");
	lines->form.mode(line, &from->from, from->from.isa);
	flowtap_line_string(line, ":");
}

/*
 * An exception belongs to the instruction that took it, if that was written; one that an
 * instruction did not get over has a line of its own, and so has one that comes from outside. It
 * came where the lines before it lead to; where they do not say that, this one does.
 */
static void write_columns(struct lines *lines, const struct known *found)
{
	const struct lines_exception *from = &lines->exception;
	uint64_t limit = isa_is_wide(from->from.isa) ? UINT64_MAX : UINT32_MAX;
	bool faults = !from->own && found->kind == SYNC && found->number != TYPE_HALT &&
		      found->number != TYPE_RESET && from->exception.address - 1 < limit;
	bool apart = lines->form.strict && found->kind != SYNC;
	char text[LINES_MAX + 1];
	struct flowtap_line line;

	flowtap_lines_begin(lines, &line, text, !from->own);
	if (found->number == TYPE_RESET && !found->m_name) {
		flowtap_line_string(&line, from->own ? "EXC Reset" : "ES  Reset");
		if (from->unwritten)
			write_address(&line, from);
		flowtap_lines_end(lines, &line, text);
		return;
	}
	if (faults || apart) {
		if (faults)
			write_faulting(lines, &line);
		else
			flowtap_line_string(&line, "ES  ");
		if (!faults)
			flowtap_line_string(&line, asynchronous[found->kind]);
		flowtap_lines_end(lines, &line, text);
		flowtap_lines_begin(lines, &line, text, false);
	} else if (!from->own) {
		flowtap_line_string(&line, "ES  ");
	}
	flowtap_line_string(&line, "EXC ");
	write_words(&line, found);
	if (from->unwritten && !faults)
		write_address(&line, from);
	write_number(lines, &line, found);
	flowtap_lines_end(lines, &line, text);
}

void flowtap_lines_write_exception(struct lines *lines, unsigned int isa, bool known,
				   uint64_t target)
{
	struct lines_exception *from = &lines->exception;
	struct known found;

	/* Before all else, as a reset: it is of what comes after it. */
	if (!from->placed && lines->knows_isa)
		from->from.isa = isa;
	else if (!from->placed && !lines->form.riscv)
		from->from.isa = FLOWTAP_ISA_A64;
	found = find(lines, isa, known, target);
	lines->pending &= ~LINES_EXCEPTION;
	if (!lines->form.events) {
		lines->counts.unsaid++;
		return;
	}
	if (!lines->form.columns) {
		write_event(lines, &found);
		return;
	}
	write_columns(lines, &found);
	if (known)
		flowtap_lines_write_branch(lines, isa, target);
}
