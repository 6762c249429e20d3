// SPDX-License-Identifier: GPL-2.0-or-later
/* What is executed: functions of user.S, random programs, at EL0 and EL1; or special.c. */
#include "work.h"

extern const char user_loop[], user_atoms[], user_conditions[], user_recurse[], user_indirect[],
	user_table[], user_pauth[], user_calls[], user_work[], user_touch[], user_straight[],
	user_wait[], user_self[], user_far[], user_places[];

static const struct {
	const char *name;
	const char *entry;
	u64 n;			/* its argument, if n= is not given */
	bool user_only;
	bool endless;		/* without interrupts */
} functions[] = {
	{ "loop", user_loop, 1000, false, false },
	{ "conditions", user_conditions, 0, false, false },
	{ "recurse", user_recurse, 60, false, false },
	{ "indirect", user_indirect, 40, false, false },
	{ "table", user_table, 1000, false, false },
	{ "pauth", user_pauth, 50, false, false },
	{ "calls", user_calls, 20, false, false },
	{ "straight", user_straight, 5, false, false },
	{ "wait", user_wait, 20, false, true },
	{ "self", user_self, 5, false, true },
	{ "far", user_far, 20, true, false },
	{ "places", user_places, 100, false, false },
	{ "touch", user_touch, USER_LAZY, true, false },
};

bool work_traces(void)
{
	return option_number("trace", 1);
}

static void at_user(unsigned int cpu, u64 entry, u64 argument)
{
	task_start(entry, true, argument, 0x200 + cpu * 16);
	task_run();
}

/* In place of a task: as the kernel sees the user half (if high, its own). */
static void at_kernel(u64 entry, u64 argument, bool high)
{
	u64 address = high ? entry - USER + (u64)user_load : entry;

	((u64 (*)(u64, u64))address)(argument, boot.granule);
}

static void somewhere(unsigned int cpu, const char *entry, u64 argument, bool user_only)
{
	bool all = option_is("where", "all");

	if (all || user_only || !option(boot.command, "where") || option_is("where", "user"))
		at_user(cpu, (u64)entry, argument);
	if ((all || option_is("where", "kernel")) && !user_only)
		at_kernel((u64)entry, argument, false);
	if ((all || option_is("where", "high")) && !user_only)
		at_kernel((u64)entry, argument, true);
}

/* By way of memory: the user half is too far away for an address relative to this code. */
static const char *const volatile atoms = user_atoms;

/* Regular patterns for each format of atoms, then irregular ones. */
static void work_atoms(unsigned int cpu)
{
	static const u64 regular[] = {
		0, ~0UL, 0xaaaaaaaaaaaaaaaa, 0x7777777777777777, 0xefbdefbdefbdefbd, 0x8888888888888888,
		0x0f0f0f0f0f0f0f0f, 0x00000000ffffffff, 0x1, 0x8000000000000000, 0xfffffffffffffffe,
		0x7fffffffffffffff, 0x6db6db6db6db6db6, 0x00ffff00fff00ff0, 0x7fffff,
	};
	u64 x = option_number("seed", 1);

	for (unsigned int i = 0; i < ARRAY_SIZE(regular); i++)
		somewhere(cpu, atoms, regular[i], false);
	for (u64 i = 0; i < option_number("n", 20); i++) {
		x = x * 6364136223846793005 + 1442695040888963407;
		somewhere(cpu, atoms, x ^ x >> 29, false);
	}
}

static void work_random(unsigned int cpu)
{
	u64 seed = option_number("seed", 1) + cpu, rounds = option_number("n", 3);
	u64 code = RANDOM_CODE + cpu * RANDOM_ROOM, user = USER_RANDOM + cpu * RANDOM_ROOM;
	bool told = option_number("trcconfigr", 0) & (CONFIG_CID | CONFIG_VMID);
	u32 first = 0x300 + cpu * 16;
	/*
	 * An ID of its own where it is traced: else decoders cannot know, and take it for a
	 * process.
	 */
	u32 second = told ? first + 1 : first;

	random_program(at(code), RANDOM_ROOM, seed, option_number("functions", 60));
	for (u64 i = 0; i < rounds; i++) {
		if (!option_is("where", "kernel")) {
			task_start(user, true, seed + i, first);
			task_start(user, true, seed + i + 100, second);
		}
		if (!option_is("where", "user"))
			task_start((u64)at(code), false, seed + i + 200, 0x302 + cpu * 16);
		task_run();
	}
}

void work_plain(const char *name, unsigned int cpu)
{
	if (!strcmp(name, "atoms")) {
		work_atoms(cpu);
		return;
	}
	if (!strcmp(name, "random")) {
		work_random(cpu);
		return;
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(functions); i++) {
		if (strcmp(name, functions[i].name) && strcmp(name, "all"))
			continue;
		if (functions[i].endless && !option_number("timer", 0))
			continue;
		somewhere(cpu, functions[i].entry,
			  strcmp(name, "all") ? option_number("n", functions[i].n) : functions[i].n,
			  functions[i].user_only);
	}
}

void work_inner(unsigned int cpu)
{
	char name[32];

	option_copy("inner", name, sizeof(name), "loop");
	work_plain(name, cpu);
}

static bool known(const char *name)
{
	if (!strcmp(name, "atoms") || !strcmp(name, "random") || !strcmp(name, "all"))
		return true;
	for (unsigned int i = 0; i < ARRAY_SIZE(functions); i++)
		if (!strcmp(name, functions[i].name))
			return true;
	return false;
}

void work_run(const struct trace_setup *setup, unsigned int cpu)
{
	char name[32];

	timer_start(option_number("timer", 0));
	option_copy("work", name, sizeof(name), "loop");
	for (const struct special *special = specials; special->name; special++)
		if (!strcmp(name, special->name)) {
			special->run(setup, cpu);
			return;
		}
	if (!known(name))
		panic("there is no work \"%s\"", name);
	if (work_traces())
		trace_start(setup);
	work_plain(name, cpu);
	if (work_traces())
		trace_stop();
}
