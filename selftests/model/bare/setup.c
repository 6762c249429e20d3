// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The trace as the command line wants it. Any register of the trace unit by its name,
 * trcNAME=VALUE; besides:
 *
 *	filter=N	TRFCR			size=N		bytes of the buffer
 *	fm=fill|wrap|circular			start=N		where in it writing begins
 *	tm=stop|irq|ignore			limit=N		bytes from the base to the limit
 *	trigger=N	TRBTRG			triggered=1	TRBSR.TRG is set at the start
 *	base=high|low	which half		nvm=1		physical addresses
 *	restart=1	the unit begins anew at each drain
 *	masked=1	no interrupts
 *	ta=1		TRCRSR.TA
 *	tsb=2		TSB CSYNC twice, for an erratum
 *	mend=1		faults do not end tracing
 *
 * A value is a number or a place of the code: a, a_end, b, b_end (user_places), user, user_end,
 * kernel, kernel_end; all but the last two may have a k before them: as the kernel half has it.
 */
#include "work.h"

extern const char user_place_a[], user_place_a_end[], user_place_b[], user_place_b_end[];
extern const char user_places[], vectors[], _start[], user_load[];

static const struct place {
	const char *name;
	const char *address;
} places[] = {
	{ "a", user_place_a }, { "a_end", user_place_a_end },
	{ "b", user_place_b }, { "b_end", user_place_b_end },
	{ "places", user_places },
	{ "user", user_begin }, { "user_end", user_end },
	{ "random", (char *)KERNEL + RANDOM_CODE }, { "random_end", (char *)KERNEL + RANDOM_CODE + 0x4000 },
	{ "user_random", (char *)USER_RANDOM }, { "user_random_end", (char *)USER_RANDOM + 0x4000 },
	{ "kernel", _start }, { "kernel_end", user_load }, { "vectors", vectors },
};

static u64 place(const char *key, const char *text)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(places); i++) {
		if (option_is(key, places[i].name))
			return (u64)places[i].address;
		if (text[0] == 'k' && option(boot.command, key) == text) {
			size_t n = strlen(places[i].name), j = 0;

			while (j < n && text[1 + j] == places[i].name[j])
				j++;
			if (j == n && (!text[1 + j] || text[1 + j] == ' '))
				return (u64)places[i].address - USER + (u64)user_load;
		}
	}
	return option_number(key, 0);
}

static u64 fill_mode(void)
{
	if (option_is("fm", "wrap"))
		return LIMIT_WRAP;
	return option_is("fm", "circular") ? LIMIT_CIRCULAR : LIMIT_FILL;
}

static u64 trigger_mode(void)
{
	if (option_is("tm", "stop"))
		return LIMIT_STOP;
	return option_is("tm", "irq") ? LIMIT_IRQ : LIMIT_IGNORE;
}

/* Faults of which nothing is to be seen in the tables. */
static bool go_on(unsigned int cpu, u64 status, u64 address)
{
	return trace_totals[cpu].faults + trace_totals[cpu].aborts < 1000;
}

void setup_from_options(struct trace_setup *setup)
{
	trace_setup_defaults(setup);
	for (enum trace_register which = 0; which < TRACE_WRITABLES; which++) {
		const char *text = option(boot.command, trace_register_names[which]);

		if (text)
			trace_set(setup, which, place(trace_register_names[which], text));
	}
	setup->filter = option_number("filter", setup->filter);
	setup->size = option_number("size", setup->size);
	setup->start = option_number("start", 0);
	setup->limit = option_number("limit", 0);
	setup->trigger = option_number("trigger", 0);
	setup->triggered = option_number("triggered", 0);
	setup->restart = option_number("restart", 0);
	setup->keep_masked = option_number("masked", 0);
	setup->ta = option_number("ta", 0);
	setup->low = option_is("base", "low");
	setup->mode = fill_mode() | trigger_mode();
	if (option_number("mend", 0))
		setup->fault = go_on;
	if (option_number("nvm", 0))
		setup->mode |= LIMIT_NVM;
}
