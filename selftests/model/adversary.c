// SPDX-License-Identifier: GPL-2.0-or-later
/* Chance by seed, and the reports of what software must not do. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "pe.h"

/* So many violations of a kind are told by each PE; all are counted. */
#define TOLD	3

static const struct word {
	const char *word;
	const char *text;
} what_words[] = {
#define X(name, word, text) { word, text },
	ADVERSARY_TABLE(X)
#undef X
}, violation_words[] = {
#define X(name, word, text) { word, text },
	VIOLATION_TABLE(X)
#undef X
};

/* PEs differ, and what one draws does not depend on the others. */
static void sow(struct adversary *adversary)
{
	adversary->rng.state = adversary->seed ^
			       (adversary->pe->config.index + 1) * 0xd1342543de82ef95ULL;
	adversary->rng.state = rng_next(&adversary->rng);
}

void adversary_init(struct adversary *adversary, struct pe *pe,
		    const struct adversary_options *options)
{
	memset(adversary, 0, sizeof(*adversary));
	adversary->pe = pe;
	if (options)
		adversary->options = *options;
	adversary->seed = adversary->options.seed;
	sow(adversary);
}

static uint64_t sum(const uint64_t *counts, unsigned int n)
{
	uint64_t all = 0;

	while (n)
		all += counts[--n];
	return all;
}

void adversary_report_seed(struct adversary *adversary)
{
	const uint64_t done = sum(adversary->counts, ADVERSARY_BITS);
	const uint64_t violated = sum(adversary->violations, VIOLATIONS);
	struct pe *pe = adversary->pe;

	if (!adversary->options.reseed || !adversary->enables || !pe->log.set)
		return;
	log_report(pe->log.set, "cpu%u.seed.%" PRIu64 ".done %" PRIu64, pe->config.index,
		   adversary->seed, done - adversary->done);
	log_report(pe->log.set, "cpu%u.seed.%" PRIu64 ".violations %" PRIu64, pe->config.index,
		   adversary->seed, violated - adversary->violated);
	adversary->done = done;
	adversary->violated = violated;
}

uint64_t adversary_enabled(struct adversary *adversary)
{
	if (adversary->options.reseed && adversary->enables == adversary->options.reseed) {
		adversary_report_seed(adversary);
		adversary->seed++;
		adversary->enables = 0;
		sow(adversary);
	}
	return ((adversary->seed + adversary->pe->config.index) << 20) + adversary->enables++;
}

bool adversary_has(const struct adversary *adversary, enum adversary_what what)
{
	return adversary->options.what >> what & 1;
}

bool adversary_does(struct adversary *adversary, enum adversary_what what, uint32_t in)
{
	if (!adversary_has(adversary, what))
		return false;
	if (!rng_one_in(&adversary->rng, adversary->options.rate ? adversary->options.rate : in))
		return false;
	adversary->counts[what]++;
	return true;
}

void violate(struct pe *pe, enum violation what, const char *format, ...)
{
	char details[200];
	va_list arguments;

	if (pe->adversary.violations[what]++ < TOLD) {
		va_start(arguments, format);
		vsnprintf(details, sizeof(details), format, arguments);
		va_end(arguments);
		/* One call: lines of several PEs do not mix. */
		fprintf(stderr, "model: cpu %u: violation %s: %s: %s (pc 0x%" PRIx64
			", seed %" PRIu64 ")\n", pe->config.index, violation_word(what),
			violation_text(what), details, pe->pc, pe->adversary.seed);
	}
	LOG(&pe->log, LOG_VIOLATION, what, pe->pc);
}

const char *adversary_word(enum adversary_what what)
{
	return what < ADVERSARY_BITS ? what_words[what].word : "?";
}

const char *violation_word(enum violation what)
{
	return what < VIOLATIONS ? violation_words[what].word : "?";
}

const char *violation_text(enum violation what)
{
	return what < VIOLATIONS ? violation_words[what].text : "?";
}

static bool find_word(const char *text, size_t n, uint32_t *what)
{
	for (unsigned int i = 0; i < ADVERSARY_BITS; i++) {
		if (strlen(what_words[i].word) == n && !memcmp(what_words[i].word, text, n)) {
			*what |= 1U << i;
			return true;
		}
	}
	return false;
}

bool adversary_parse(const char *text, uint32_t *what)
{
	uint32_t found = 0;

	if (!strcmp(text, "all")) {
		*what = (1U << ADVERSARY_BITS) - 1;
		return true;
	}
	if (!strcmp(text, "none")) {
		*what = 0;
		return true;
	}
	for (;;) {
		const size_t n = strcspn(text, "+");

		if (!find_word(text, n, &found))
			return false;
		if (!text[n])
			break;
		text += n + 1;
	}
	*what = found;
	return true;
}
