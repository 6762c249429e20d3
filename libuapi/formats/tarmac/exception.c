// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Exceptions as lines of Tarmac have them: EXC, asynchronous events, Fast Models' E. */
#include "formats/tarmac/line.h"

#include <string.h>

/* Number 3, as traps are; but of an instruction that is UNDEFINED, such as HVC in User mode. */
#define UNDEFINED	-2

struct name {
	const char *begin;
	int number;
	bool asynchronous;
};

/* Types of Exception packets (ETE, D4.5.6); what Synchronous is, the vector does not say. */
static const struct name names[] = {
	{ "Synchronous", -1, false }, { "IRQ", 14, true }, { "FIQ", 15, true },
	{ "SError", 4, true }, { "Reset", 0, true },
	{ "Undefined Instruction", UNDEFINED, false },
	{ "System Call", 2, false }, { "Prefetch Abort", 11, false }, { "Data Abort", 12, false },
	{ "Hypervisor Trap", 3, false }, { "Debug Halt", 1, true },
	{ "System Error", 4, true }, { "Virtual IRQ", 14, true }, { "Virtual FIQ", 15, true },
	{ "Virtual System Error", 4, true }, { "External Debug Event", 1, true },
	/* ThumbEE */
	{ "Array Bound", -1, false }, { "Null Pointer", -1, false },
};

/* The M profile's, of which flowtap writes the last two. */
static const struct name m_names[] = {
	{ "SVCall", 2, false }, { "NMI", -1, true }, { "PendSV", -1, true },
	{ "SysTick", -1, true }, { "External Interrupt", 14, true }, { "HardFault", -1, false },
	{ "MemManage", -1, false }, { "BusFault", -1, false }, { "UsageFault", -1, false },
	{ "SecureFault", -1, false }, { "Debug Monitor", -1, false },
	{ "Lazy FP push", -1, true }, { "Lockup", -1, true },
};

static void set(struct tarmac_exception *exception, int number, bool asynchronous)
{
	exception->undefined = number == UNDEFINED;
	exception->number = number == UNDEFINED ? 3 : number;
	exception->asynchronous = asynchronous;
}

/* ` (14)` at the end, where flowtap wrote the line. */
static void parse_exact(struct tarmac_scan scan, struct tarmac_exception *exception)
{
	bool minus;
	uint64_t number;

	scan.at = memrchr(scan.at, '(', scan.end - scan.at);
	if (!scan.at)
		return;
	scan.at++;
	minus = *scan.at == '-';
	scan.at += minus;
	if (!scan_decimal(&scan, &number) || number > INT32_MAX || *scan.at != ')' ||
	    scan.at + 1 != scan.end)
		return;
	exception->exact = true;
	exception->number = minus ? -(int)number : (int)number;
}

/* ` at 00001000`, likewise. */
static void parse_address(struct tarmac_scan scan, struct tarmac_exception *exception)
{
	uint64_t address;
	unsigned int digits;

	scan.at = memmem(scan.at, scan.end - scan.at, " at ", 4);
	if (!scan.at)
		return;
	scan.at += 4;
	digits = scan_hex(&scan, &address);
	if (!digits || digits > 16 || (scan.at < scan.end && *scan.at != ' '))
		return;
	exception->has_address = true;
	exception->address = address;
}

static const struct name *find(const struct name *list, size_t n, struct tarmac_scan scan)
{
	for (size_t i = 0; i < n; i++)
		if (word_begins(scan.at, scan.end - scan.at, list[i].begin))
			return &list[i];
	return NULL;
}

/* [0x280], a vector, or [15], as exceptions of the M profile are numbered: *decimal. */
static bool pass_vector(struct tarmac_scan *scan, bool *decimal)
{
	const char *end;

	*decimal = false;
	if (*scan->at != '[')
		return true;
	end = memchr(scan->at, ']', scan->end - scan->at);
	if (!end)
		return false;
	*decimal = scan->at[1] >= '1' && scan->at[1] <= '9';
	scan->at = end + 1;
	tarmac_blanks(scan);
	return true;
}

bool tarmac_exception(struct tarmac_scan scan, struct tarmac_exception *exception)
{
	const struct name *name;
	bool decimal;

	memset(exception, 0, sizeof(*exception));
	tarmac_blanks(&scan);
	if (!pass_vector(&scan, &decimal))
		return false;
	name = find(names, sizeof(names) / sizeof(names[0]), scan);
	if (!name)
		name = find(m_names, sizeof(m_names) / sizeof(m_names[0]), scan);
	if (!name)
		return false;
	set(exception, name->number, name->asynchronous);
	parse_exact(scan, exception);
	parse_address(scan, exception);
	exception->m_profile = decimal && exception->exact;
	return true;
}

enum part { WHOLE, BEGIN, END };

static const struct {
	const char *name;
	enum part part;
	int number;
	bool asynchronous;
} core_events[] = {
	{ "_SYNC", END, -1, false }, { "_IRQ", END, 14, true }, { "_FIQ", END, 15, true },
	{ "_ABORT", END, 4, true }, { "CoreEvent_Reset", WHOLE, 0, true },
	{ "CoreEvent_UndefinedInstr", WHOLE, UNDEFINED, false },
	{ "CoreEvent_SWI", WHOLE, 2, false },
	{ "CoreEvent_PrefetchAbort", WHOLE, 11, false },
	{ "CoreEvent_DataAbort", WHOLE, 12, false },
	{ "CoreEvent_ImpDataAbort", WHOLE, 4, true },
	{ "CoreEvent_IRQ", WHOLE, 14, true }, { "CoreEvent_FIQ", WHOLE, 15, true },
	/* M-profile: CoreEvent_EXT_INT3 */
	{ "CoreEvent_RESET", WHOLE, 0, true }, { "CoreEvent_EXT_INT", BEGIN, 14, true },
};

/* Of the M profile, without `_`: models have SYSTICK, HARD_FAULT, HardFault, SVC_S. */
static const struct name m_events[] = {
	{ "SVC", 2, false }, { "NMI", -1, true }, { "PENDSV", -1, true }, { "SYSTICK", -1, true },
	{ "HARDFAULT", -1, false }, { "MEMMANAGE", -1, false }, { "BUSFAULT", -1, false },
	{ "USAGEFAULT", -1, false }, { "SECUREFAULT", -1, false }, { "DEBUGMON", -1, false },
};

static bool spells(const char *word, size_t size, const char *name)
{
	for (; *name; word++, size--) {
		if (!size)
			return false;
		if (*word == '_')
			continue;
		if ((*word & ~0x20) != *name)
			return false;
		name++;
	}
	return true;
}

/* After CoreEvent_. */
static const struct name *find_m_event(const char *word, size_t size)
{
	for (size_t i = 0; i < sizeof(m_events) / sizeof(m_events[0]); i++)
		if (spells(word, size, m_events[i].begin))
			return &m_events[i];
	return NULL;
}

static bool is_core_event(const char *word, size_t size, const char *name, enum part part)
{
	size_t length = strlen(name);

	switch (part) {
	case BEGIN:
		return word_begins(word, size, name);
	case END:
		return size >= length && !memcmp(word + size - length, name, length);
	default:
		return word_is(word, size, name);
	}
}

bool tarmac_core_event(struct tarmac_scan scan, struct tarmac_exception *exception)
{
	const struct name *name;
	const char *word;
	size_t size;

	memset(exception, 0, sizeof(*exception));
	tarmac_blanks(&scan);
	exception->has_address = scan_hex(&scan, &exception->address) <= 16;
	scan_physical(&scan);
	do
		size = tarmac_word(&scan, &word);
	while (size && !word_begins(word, size, "CoreEvent_"));
	for (size_t i = 0; i < sizeof(core_events) / sizeof(core_events[0]) && size; i++) {
		if (!is_core_event(word, size, core_events[i].name, core_events[i].part))
			continue;
		set(exception, core_events[i].number, core_events[i].asynchronous);
		parse_exact(scan, exception);
		return true;
	}
	name = size ? find_m_event(word + 10, size - 10) : NULL;
	if (name)
		set(exception, name->number, name->asynchronous);
	return name;
}
