// SPDX-License-Identifier: GPL-2.0-only
/*
 * Computes sctrctl's bits from sets of transfer types and back, by a table of the two (Smctr
 * 2.1).
 */
#include "common/filter.h"

#include <flowtap/riscv.h>
#include <linux/flowtap.h>
#include <stddef.h>
#include <string.h>

#define TYPE(name) (1U << FLOWTAP_TRANSFER_##name)
#define TRAPS (TYPE(EXCEPTION) | TYPE(INTERRUPT) | TYPE(TRAP_RETURN))
#define JUMPS (TYPE(INDIRECT_JUMP) | TYPE(DIRECT_JUMP) | TYPE(INDIRECT_LINK) | TYPE(DIRECT_LINK))
#define CALLS (TYPE(INDIRECT_CALL) | TYPE(DIRECT_CALL))
#define ALL                                                                                        \
	(TRAPS | TYPE(NOT_TAKEN) | TYPE(TAKEN) | CALLS | JUMPS | TYPE(SWAP) | TYPE(RETURN))

static const struct {
	enum flowtap_transfer_type type;
	uint64_t bit;
} filters[] = {
	{ FLOWTAP_TRANSFER_EXCEPTION, FLOWTAP_SCTRCTL_EXCINH },
	{ FLOWTAP_TRANSFER_INTERRUPT, FLOWTAP_SCTRCTL_INTRINH },
	{ FLOWTAP_TRANSFER_TRAP_RETURN, FLOWTAP_SCTRCTL_TRETINH },
	{ FLOWTAP_TRANSFER_NOT_TAKEN, FLOWTAP_SCTRCTL_NTBREN },
	{ FLOWTAP_TRANSFER_TAKEN, FLOWTAP_SCTRCTL_TKBRINH },
	{ FLOWTAP_TRANSFER_INDIRECT_CALL, FLOWTAP_SCTRCTL_INDCALLINH },
	{ FLOWTAP_TRANSFER_DIRECT_CALL, FLOWTAP_SCTRCTL_DIRCALLINH },
	{ FLOWTAP_TRANSFER_INDIRECT_JUMP, FLOWTAP_SCTRCTL_INDJMPINH },
	{ FLOWTAP_TRANSFER_DIRECT_JUMP, FLOWTAP_SCTRCTL_DIRJMPINH },
	{ FLOWTAP_TRANSFER_SWAP, FLOWTAP_SCTRCTL_CORSWAPINH },
	{ FLOWTAP_TRANSFER_RETURN, FLOWTAP_SCTRCTL_RETINH },
	{ FLOWTAP_TRANSFER_INDIRECT_LINK, FLOWTAP_SCTRCTL_INDLJMPINH },
	{ FLOWTAP_TRANSFER_DIRECT_LINK, FLOWTAP_SCTRCTL_DIRLJMPINH },
};

#define N_FILTERS (sizeof(filters) / sizeof(filters[0]))

/* Words beside the types' own names. */
static const struct {
	const char *name;
	uint32_t types;
	const char *help;
} words[] = {
	{ "all", ALL, "every type, also not-taken branches" },
	{ "call", CALLS, "direct_call, indirect_call" },
	{ "return", TYPE(RETURN), "function_return" },
	{ "swap", TYPE(SWAP), "co_routine_swap" },
	{ "jump", JUMPS, "direct_jump, indirect_jump, other_direct_jump, other_indirect_jump" },
	{ "branch", TYPE(TAKEN) | TYPE(NOT_TAKEN), "taken_branch, not_taken_branch" },
	{ "taken", TYPE(TAKEN), "taken_branch" },
	{ "not_taken", TYPE(NOT_TAKEN), "not_taken_branch" },
	{ "trap", TRAPS, "exception, interrupt, trap_return" },
};

static const size_t n_words = sizeof(words) / sizeof(words[0]);

uint32_t filter_default(void)
{
	return ALL & ~TYPE(NOT_TAKEN);
}

/* "direct-call" is "direct_call". */
static bool spelled(const char *name, const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (!name[i] || (text[i] == '-' ? '_' : text[i]) != name[i])
			return false;
	return !name[size];
}

/* 0: none is called so. */
static uint32_t find(const char *text, size_t size)
{
	for (size_t i = 0; i < n_words; i++)
		if (spelled(words[i].name, text, size))
			return words[i].types;
	for (size_t i = 0; i < N_FILTERS; i++)
		if (spelled(flowtap_transfer_name(filters[i].type), text, size))
			return 1U << filters[i].type;
	return 0;
}

bool filter_parse(const char *text, uint32_t *out, char *unknown)
{
	uint32_t types = text[0] == '^' || text[0] == '-' ? filter_default() : 0;

	unknown[0] = 0;
	for (const char *at = text; *at;) {
		bool without = *at == '^' || *at == '-';
		size_t size = strcspn(at += without, ",");
		uint32_t named = find(at, size);

		if (!named) {
			snprintf(unknown, 32, "%.*s", size ? (int)(size < 31 ? size : 31) : 1,
				 size ? at : ",");
			return false;
		}
		types = without ? types & ~named : types | named;
		at += size;
		at += *at == ',';
	}
	*out = types;
	return types;
}

uint64_t filter_control(uint32_t types)
{
	uint64_t control = 0;

	for (size_t i = 0; i < N_FILTERS; i++) {
		bool wanted = types & 1U << filters[i].type;

		if (wanted == (filters[i].type == FLOWTAP_TRANSFER_NOT_TAKEN))
			control |= filters[i].bit;
	}
	return control;
}

uint32_t filter_types(uint64_t control)
{
	uint32_t types = 0;

	for (size_t i = 0; i < N_FILTERS; i++)
		if (control & filters[i].bit)
			types |= 1U << filters[i].type;
	return types;
}

bool filter_keeps_blocks(uint32_t types)
{
	const uint32_t needed = CALLS | JUMPS | TYPE(TAKEN) | TYPE(SWAP) | TYPE(RETURN);

	return (types & needed) == needed;
}

bool filter_splits_traps(uint32_t types)
{
	return !(types & TYPE(EXCEPTION)) != !(types & TYPE(INTERRUPT));
}

bool filter_has_traps(uint32_t types)
{
	return types & (TYPE(EXCEPTION) | TYPE(INTERRUPT));
}

void filter_print(FILE *file, uint32_t types)
{
	const char *before = "";

	for (size_t i = 0; i < N_FILTERS; i++) {
		if (!(types & 1U << filters[i].type))
			continue;
		fputs(before, file);
		fputs(flowtap_transfer_name(filters[i].type), file);
		before = ", ";
	}
}

void filter_help(FILE *file)
{
	for (size_t i = 0; i < n_words; i++)
		fprintf(file, "        %-10s %s\n", words[i].name, words[i].help);
}
