// SPDX-License-Identifier: GPL-2.0-only
/*
 * A table of options by name, each with a function that parses its argument and its part of the
 * help text.
 */
#include "common/ete_options.h"

#include "common/tool.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AUX_BYTES	(4U << 20)
#define AUX_PAGES_MAX	65536U

/* Bits that are on by default, where the trace unit has them. */
#define DEFAULTS	(FLOWTAP_TRCCONFIGR_TS | FLOWTAP_TRCCONFIGR_RS)

static const char *set(const struct command_option *option, const char *text)
{
	struct ete_request *request = option->into;

	(void)text;
	request->on |= option->bits;
	request->off &= ~option->bits;
	return NULL;
}

static const char *clear(const struct command_option *option, const char *text)
{
	struct ete_request *request = option->into;

	(void)text;
	request->off |= option->bits;
	request->on &= ~option->bits;
	return NULL;
}

static const char *parse_context(const struct command_option *option, const char *text)
{
	struct ete_request *request = option->into;

	(void)text;
	request->context = true;
	return NULL;
}

static const char *parse_cycles(const struct command_option *option, const char *text)
{
	struct ete_request *request = option->into;
	uint64_t value = 0;

	if (text && !number_parse(text, 1, 0xfff, &value))
		return "a threshold of cycles, 1 to 4095";
	request->ete.cycle_threshold = (uint32_t)value;
	return set(option, text);
}

static const char *parse_sync(const struct command_option *option, const char *text)
{
	struct ete_request *request = option->into;
	uint64_t value;

	if (!number_parse(text, 8, 20, &value))
		return "the logarithm of a number of bytes, 8 to 20 (12: every 4096 bytes)";
	request->ete.sync_period = (uint32_t)value;
	return NULL;
}

/* START-END or START+SIZE, END being the first address after it. */
static const char *parse_address(const struct command_option *option, const char *text)
{
	static const char wanted[] = "a range of addresses, START-END or START+SIZE (0x...)";
	struct ete_request *request = option->into;
	const char *middle = text + strcspn(text, "-+");
	size_t length = (size_t)(middle - text);
	uint64_t start, end;
	char first[24];

	if (!*middle || length >= sizeof(first))
		return wanted;
	memcpy(first, text, length);
	first[length] = 0;
	if (!number_parse(first, 0, UINT64_MAX, &start) ||
	    !number_parse(middle + 1, 1, UINT64_MAX, &end))
		return wanted;
	if (*middle == '+' && __builtin_add_overflow(start, end, &end))
		return wanted;
	if (end <= start)
		return wanted;
	if (request->ete.address_ranges == 4)
		return "one of at most 4 ranges";
	request->ete.address_start[request->ete.address_ranges] = start;
	request->ete.address_end[request->ete.address_ranges++] = end;
	return NULL;
}

/* A number followed by us, ms or s. */
static bool parse_time(const char *text, size_t length, __u64 *nanoseconds)
{
	static const struct {
		const char *name;
		double nanoseconds;
	} units[] = { { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
	char copy[32], *unit;
	double number;

	if (!length || length >= sizeof(copy) || text[0] < '0' || text[0] > '9')
		return false;
	memcpy(copy, text, length);
	copy[length] = 0;
	/* Decimal only: strtod takes more. */
	if (strspn(copy, "0123456789.") == length || strpbrk(copy, "xXeEpP"))
		return false;
	number = strtod(copy, &unit);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(unit, units[i].name))
			continue;
		number *= units[i].nanoseconds;
		if (number < (double)STROBE_NS_MIN || number > (double)STROBE_NS_MAX)
			return false;
		*nanoseconds = (__u64)number;
		return true;
	}
	return false;
}

static const char *parse_strobe(const struct command_option *option, const char *text)
{
	struct ete_request *request = option->into;
	const char *slash = strchr(text, '/');

	if (!slash ||
	    !parse_time(text, (size_t)(slash - text), &request->ete.strobe_on_ns) ||
	    !parse_time(slash + 1, strlen(slash + 1), &request->ete.strobe_off_ns))
		return "ON/OFF, times of 100us to 60s each, with us, ms or s (1ms/9ms)";
	return NULL;
}

/* Pages, or bytes if K or M follows. */
static const char *parse_aux(const struct command_option *option, const char *text)
{
	static const char wanted[] =
		"a power of two of pages, 2 to 65536, or a size in K or M that is one";
	struct ete_request *request = option->into;
	size_t length = strlen(text);
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), value, unit = 0;
	char digits[24];

	if (!length || length >= sizeof(digits))
		return wanted;
	memcpy(digits, text, length + 1);
	if (strchr("KkMm", digits[length - 1])) {
		unit = digits[length - 1] == 'K' || digits[length - 1] == 'k' ? 1U << 10 : 1U << 20;
		digits[length - 1] = 0;
	}
	if (!number_parse(digits, 1, 1U << 24, &value))
		return wanted;
	if (unit) {
		if (value * unit % page)
			return wanted;
		value = value * unit / page;
	}
	if (value < 2 || value > AUX_PAGES_MAX || value & (value - 1))
		return wanted;
	request->aux_pages = (uint32_t)value;
	request->aux_given = true;
	return NULL;
}

static const struct {
	struct command_option option;	/* without what is each request's */
	const char *help;		/* NULL: not listed, it is the default */
} table[] = {
	{OPTION(0, "timestamps", no_argument, set, NULL, .bits = FLOWTAP_TRCCONFIGR_TS), NULL},
	{OPTION(0, "no-timestamps", no_argument, clear, NULL, .bits = FLOWTAP_TRCCONFIGR_TS),
	 "      --no-timestamps  no timestamps in the trace (they are on)\n"},
	{OPTION(0, "cycles", optional_argument, parse_cycles, NULL, .bits = FLOWTAP_TRCCONFIGR_CCI),
	 "      --cycles[=N]     counts of cycles, each of N or more (256)\n"},
	{OPTION(0, "branch-broadcast", no_argument, set, NULL, .bits = FLOWTAP_TRCCONFIGR_BB),
	 "      --branch-broadcast  the target of each taken branch\n"},
	{OPTION(0, "return-stack", no_argument, set, NULL, .bits = FLOWTAP_TRCCONFIGR_RS), NULL},
	{OPTION(0, "no-return-stack", no_argument, clear, NULL, .bits = FLOWTAP_TRCCONFIGR_RS),
	 "      --no-return-stack   the target of each return (else not of those that go where "
	 "they\n"
	 "                       were called from)\n"},
	{OPTION(0, "context", no_argument, parse_context, NULL),
	 "      --context        the context identifier, which has the PID as the kernel sees "
	 "it\n"},
	{OPTION(0, "vmid", no_argument, set, NULL, .bits = FLOWTAP_TRCCONFIGR_VMID),
	 "      --vmid           the virtual machine's identifier\n"},
	{OPTION(0, "sync-period", required_argument, parse_sync, NULL),
	 "      --sync-period N  a point where decoding can begin every 2^N bytes, 8 to 20 (12)\n"},
	{OPTION(0, "address", required_argument, parse_address, NULL),
	 "      --address RANGE  only these addresses: START-END (END is the first one after) or\n"
	 "                       START+SIZE; up to 4 times\n"},
	{OPTION(0, "strobe", required_argument, parse_strobe, NULL),
	 "      --strobe ON/OFF  trace for ON, rest for OFF, and so on (1ms/9ms)\n"},
	{OPTION(0, "aux-pages", required_argument, parse_aux, NULL),
	 "      --aux-pages N    pages of each CPU's AUX area, or its size (512K, 16M); a power "
	 "of\n"
	 "                       two (4M, or as much as may be locked)\n"},
};

#define ROWS (sizeof(table) / sizeof(table[0]))

void ete_options_init(struct ete_request *request)
{
	uint32_t pages = AUX_BYTES / (uint32_t)sysconf(_SC_PAGESIZE);

	*request = (struct ete_request){ .aux_pages = pages < 2 ? 2 : pages };
}

const struct command_option *ete_options(struct ete_request *request)
{
	/* The last one stays zeros. */
	static struct command_option rows[ROWS + 1];

	for (size_t i = 0; i < ROWS; i++) {
		rows[i] = table[i].option;
		rows[i].into = request;
		rows[i].first = &request->given;
	}
	return rows;
}

void ete_options_help(FILE *file)
{
	for (size_t i = 0; i < ROWS; i++)
		if (table[i].help)
			fputs(table[i].help, file);
}

bool ete_options_fit(const struct ete_request *request, uint64_t settable, uint32_t exception_level,
		     struct flowtap_configure *configure)
{
	struct flowtap_ete_configure *ete = &configure->ete;

	*ete = request->ete;
	ete->config = (DEFAULTS & settable & ~request->off) | request->on;
	configure->aux_pages = request->aux_pages;
	if (!request->context)
		return true;
	ete->config |= exception_level == 2 ?
		FLOWTAP_TRCCONFIGR_VMID | FLOWTAP_TRCCONFIGR_VMIDOPT : FLOWTAP_TRCCONFIGR_CID;
	return exception_level != 2 || !(request->on & FLOWTAP_TRCCONFIGR_VMID);
}

const char *ete_options_lack(enum flowtap_session_lack lack, uint64_t bits)
{
	static const struct {
		uint64_t bits;
		const char *clause;
	} lacks[] = {
		{ FLOWTAP_TRCCONFIGR_BB, "its trace unit cannot broadcast branches (--branch-broadcast)" },
		{ FLOWTAP_TRCCONFIGR_CCI, "its trace unit cannot count cycles (--cycles)" },
		{ FLOWTAP_TRCCONFIGR_CID, "its trace unit has no context identifiers (--context)" },
		{ FLOWTAP_TRCCONFIGR_VMIDOPT,
		  "its trace unit has no virtual context identifiers (--context)" },
		{ FLOWTAP_TRCCONFIGR_VMID,
		  "its trace unit has no virtual machine identifiers (--vmid)" },
		{ FLOWTAP_TRCCONFIGR_TS, "its trace unit has no timestamps (--timestamps)" },
		{ FLOWTAP_TRCCONFIGR_RS, "its trace unit has no return stack (--return-stack)" },
	};

	if (lack == FLOWTAP_SESSION_LACK_RANGES)
		return bits ? "its trace unit has fewer ranges of addresses (--address)" :
			      "its trace unit has no ranges of addresses (--address)";
	if (lack == FLOWTAP_SESSION_LACK_CYCLES)
		return "its trace unit cannot count so few cycles (--cycles; `flowtap list` has "
		       "the least)";
	for (size_t i = 0; i < sizeof(lacks) / sizeof(lacks[0]); i++)
		if (bits & lacks[i].bits)
			return lacks[i].clause;
	return "its trace unit cannot do what is asked for";
}
