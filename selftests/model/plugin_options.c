// SPDX-License-Identifier: GPL-2.0-or-later
/* The plugin's options: words NAME=VALUE, as QEMU's -plugin takes them, separated by commas. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

/* Numbers with a range; what they are is where their fields are declared. */
static const struct number {
	const char *name;
	size_t offset;
	size_t size;
	uint64_t least;
	uint64_t most;
	const char *text;
} numbers[] = {
#define UNIT(name, field, least, most, text) { name, \
	offsetof(struct plugin_options, unit.field), \
	sizeof(((struct plugin_options *)0)->unit.field), least, most, text }
#define BUFFER(name, field, least, most, text) { name, \
	offsetof(struct plugin_options, buffer.field), \
	sizeof(((struct plugin_options *)0)->buffer.field), least, most, text }
	{ "seed", offsetof(struct plugin_options, adversary.seed), 8, 0, UINT64_MAX,
	  "of what the adversary and the choice of packets do" },
	{ "rate", offsetof(struct plugin_options, adversary.rate), 4, 0, UINT32_MAX,
	  "the adversary takes one chance in so many; 0: what each of its words has by itself" },
	{ "reseed", offsetof(struct plugin_options, adversary.reseed), 4, 0, UINT32_MAX,
	  "after so many enablings of a trace unit its next seed, told in the report; 0: never" },
	{ "times", offsetof(struct plugin_options, times), 1, 0, 1,
	  "the log has times, and what was executed at EL0 without being traced" },
	UNIT("pairs", address_pairs, 0, 8, "address comparator pairs"),
	UNIT("cid", context_comparators, 0, 8, "Context ID comparators"),
	UNIT("vmid", vmid_comparators, 0, 8, "VMID comparators"),
	UNIT("pc", pe_inputs, 0, 8, "PE comparator inputs, of which none ever fires"),
	UNIT("resources", resource_pairs, 1, 16, "resource selector pairs"),
	UNIT("shots", single_shots, 0, 8, "single-shot comparator controls"),
	UNIT("counters", counters, 0, 4, "counters"),
	UNIT("sequencer", sequencer_states, 0, 4, "sequencer states: 0 or 4"),
	UNIT("events", events, 1, 4, "ETEEvents"),
	UNIT("maxspec", maxspec, 0, 255, "speculation depth, in P0 elements"),
	UNIT("commopt", commopt, 0, 1, "cycle count packets imply commits"),
	UNIT("bb", broadcast, 0, 1, "branch broadcast"),
	UNIT("cci", cycles, 0, 1, "cycle counting"),
	UNIT("retstack", return_stack, 0, 15, "depth of the return stack"),
	UNIT("wfx", wfx, 0, 1, "WFI and WFE are P0 instructions"),
	UNIT("revision", revision, 0, 3, "of ETE: 1.0 to 1.3"),
	UNIT("stall", stall, 0, 1, "TRCSTALLCTLR is there"),
	UNIT("stuck", stuck, 0, UINT32_MAX,
	     "from so many disablings of a trace unit on it never becomes idle; 0: it does"),
	BUFFER("align", align, 0, 11, "TRBIDR_EL1.Align: log2 of bytes"),
	BUFFER("programmable", programmable, 0, 1, "0: a higher exception level owns the buffer"),
	BUFFER("flag", flag_update, 0, 1, "the trace buffer manages access flags and dirty state"),
	BUFFER("ea", external_abort, 0, 1, "TRBIDR_EL1.EA: 0 TRBSR_EL1.EA tells, 1 ignored"),
	BUFFER("trbe", version, 1, 2, "ID_AA64DFR0_EL1.TraceBuffer: 2 is FEAT_TRBEv1p1"),
};

#define N_NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

/* little endian */
static uint64_t get(const struct plugin_options *options, const struct number *number)
{
	uint64_t value = 0;

	memcpy(&value, (const char *)options + number->offset, number->size);
	return value;
}

static void help(const struct plugin_options *options)
{
	printf("flowtap-model: Arm's ETE and TRBE for the virt machine of qemu-system-aarch64\n\n"
	       "-plugin flowtap-model.so,NAME=VALUE,...\n\n"
	       "  out=PREFIX        logs what is executed: PREFIX.code, PREFIX.0 ..., PREFIX.report\n"
	       "  adversary=WORDS   none (default), all, or words with + between:\n");
	for (unsigned int i = 0; i < ADVERSARY_BITS; i++)
		printf("                      %s\n", adversary_word(i));
	printf("  errata=WORDS      auto (default: the CPU's, by MIDR), none, or words with +:\n");
	for (unsigned int i = 0; i < ERRATA; i++)
		printf("                      %s\n", trace_buffer_erratum_word(i));
	printf("  midr=NUMBER       MIDR_EL1 as the guest reads it\n");
	for (size_t i = 0; i < N_NUMBERS; i++)
		printf("  %-17s %s (%" PRIu64 ")\n", numbers[i].name, numbers[i].text,
		       get(options, &numbers[i]));
}

static bool parse_number(const char *name, const char *text, uint64_t least, uint64_t most,
			 uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 0);
	if (*text >= '0' && *text <= '9' && !*end && !errno && *value >= least && *value <= most)
		return true;
	/* QEMU turns a word without a value into NAME=on, and takes some words for switches. */
	if (least == 0 && most == 1 && (!strcmp(text, "on") || !strcmp(text, "off"))) {
		*value = !strcmp(text, "on");
		return true;
	}
	fprintf(stderr, PLUGIN_NAME ": %s=%s: a number from %" PRIu64 " to %" PRIu64 " is wanted\n",
		name, text, least, most);
	return false;
}

static bool parse_errata(const char *text, int *bits)
{
	char *copy, *rest, *word;
	bool known = true;

	*bits = !strcmp(text, "auto") ? -1 : 0;
	if (!strcmp(text, "auto") || !strcmp(text, "none"))
		return true;
	copy = rest = g_strdup(text);
	while (known && (word = strsep(&rest, "+"))) {
		known = false;
		for (unsigned int i = 0; i < ERRATA; i++) {
			if (strcmp(word, trace_buffer_erratum_word(i)))
				continue;
			*bits |= 1 << i;
			known = true;
		}
	}
	g_free(copy);
	return known;
}

static const struct number *find_number(const char *word, size_t length)
{
	for (size_t i = 0; i < N_NUMBERS; i++) {
		if (strlen(numbers[i].name) == length && !strncmp(numbers[i].name, word, length))
			return &numbers[i];
	}
	return NULL;
}

static bool parse(struct plugin_options *options, const char *word)
{
	const char *value = strchr(word, '=');
	const size_t length = value ? (size_t)(value - word) : strlen(word);
	const struct number *number = find_number(word, length);
	uint64_t parsed;

	value = value ? value + 1 : "";
	if (number) {
		if (!parse_number(number->name, value, number->least, number->most, &parsed))
			return false;
		memcpy((char *)options + number->offset, &parsed, number->size);
		return true;
	}
	if (g_str_has_prefix(word, "out=") && g_str_has_suffix(word, "/")) {
		fprintf(stderr, PLUGIN_NAME ": %s: a prefix of file names is wanted, not a "
			"directory: %slog\n", word, word);
		return false;
	}
	if (g_str_has_prefix(word, "out=") && *value) {
		g_free(options->out);
		options->out = g_strdup(value);
		return true;
	}
	if (g_str_has_prefix(word, "midr=")) {
		options->midr_given = true;
		return parse_number("midr", value, 0, UINT32_MAX, &options->midr);
	}
	if (g_str_has_prefix(word, "adversary=")) {
		if (adversary_parse(value, &options->adversary.what))
			return true;
	} else if (g_str_has_prefix(word, "errata=")) {
		if (parse_errata(value, &options->buffer.errata))
			return true;
	}
	fprintf(stderr, PLUGIN_NAME ": \"%s\" is not an option or has not a value of it; the "
		"option help lists them\n", word);
	return false;
}

bool plugin_options_parse(struct plugin_options *options, int argc, char **argv)
{
	options->unit = trace_unit_defaults;
	options->buffer = trace_buffer_defaults;
	for (int i = 0; i < argc; i++) {
		if (!strcmp(argv[i], "help") || g_str_has_prefix(argv[i], "help=")) {
			help(options);
			exit(0);
		}
	}
	for (int i = 0; i < argc; i++) {
		if (!parse(options, argv[i]))
			return false;
	}
	if (options->unit.sequencer_states != 0 && options->unit.sequencer_states != 4) {
		fprintf(stderr, PLUGIN_NAME ": sequencer=%u: 0 or 4 is wanted\n",
			options->unit.sequencer_states);
		return false;
	}
	return true;
}
