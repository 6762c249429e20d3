// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The comparator notices: logs and traces of the whole model without QEMU are equal, and each of
 * many small changes to what the log says, to the trace or to what was collected is a difference;
 * what is missing in what was collected is one, except beside a piece that is said to be lossy.
 * Logs that are damaged at random are refused or compared, nothing else.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "changes.h"
#include "decoders.h"
#include "judge_internal.h"
#include "simulation.h"

#define SIMULATIONS	8
#define TRIES	6	/* of each change in each simulation, at different places */
#define DAMAGES	25	/* of each file of each simulation */

static char directory[] = "/tmp/compare_test.XXXXXX";
static char prefix[64];

/* --- Worlds in which nothing is lost but by what a test takes away. --- */

static struct simulation *make(unsigned int number)
{
	struct simulation_options options;
	struct simulation *sim;

	simulation_choose(&options, number);
	options.unit.maxspec = 0;
	options.unit.commopt = true;
	options.adversary.what = number & 1 ? 0 : ADVERSARY(DELAY) | ADVERSARY(WITHHOLD) |
						   ADVERSARY(SPURIOUS);
	if (number % 5 == 4)
		options.adversary.what |= ADVERSARY(OVERFLOW);
	options.adversary.rate = number % 5 == 4 ? 300 : 0;
	options.mode = 0;
	options.watermark = number % 3 == 2 ? 4096 : 0;
	options.stop = false;
	options.pages = number % 5 == 3 ? 2 : 16;
	options.sessions = 2;
	options.instructions = 3000;
	options.filter = number % 4 == 3;
	options.levels = number % 3 ? 3 : 2;
	options.configr |= 1 << 6 | 1 << 11 | (number & 1) << 4;
	sim = simulation_new(&options, number, prefix);
	simulation_run(sim);
	if (simulation_end(sim)) {
		printf("Bail out! the log cannot be written\n");
		exit(1);
	}
	return sim;
}

static const struct decoder *const decoders[] = { &decoder_flowtap, &decoder_opencsd };

static struct judge judge;

/* Whether a decoder finds no difference. */
static bool equal(const struct subject *subject, unsigned int which, bool print, uint8_t *covered)
{
	struct alignment alignment;
	bool fine = false;

	if (align(&alignment, &subject->history, subject->pieces, subject->npieces)) {
		if (print)
			printf("# %s\n", alignment.error);
	} else {
		fine = !alignment.missing &&
		       !decode(decoders[which], &subject->history, &alignment, false, &judge,
			       covered) && !judge.failed;
		if (judge.failed && print)
			judge_print(&judge, stdout);
	}
	align_free(&alignment);
	return fine;
}

struct change_counts {
	unsigned int made;
	unsigned int noticed;
};

static struct change_counts tallies[CHANGES];

static void try_change(const struct subject *of, size_t which, unsigned int number)
{
	struct history_stored *stored = NULL;
	struct subject subject = subject_borrow(of);

	subject.rng.state = of->rng.state + 1000 * which + number;
	if (!(changes[which].whole && of->lossy) && changes[which].make(&subject)) {
		if (changes[which].stored)
			stored = subject_take_stored(&subject);
		tallies[which].made++;
		if (!equal(&subject, number & 1, false, NULL))
			tallies[which].noticed++;
		else
			printf("# world %llu, number %u: not noticed: %s (%s)\n",
			       (unsigned long long)of->sim->options.adversary.seed, number,
			       changes[which].name, decoders[number & 1]->name);
	}
	change_undo();
	free(stored);
	subject_give_back(&subject);
}

/* --- Files that are damaged at random. --- */

static unsigned int refused;

static void damage(const struct subject *subject, bool code)
{
	const struct log_bytes *of = code ? &subject->history.code_file : &subject->history.pe_file;
	struct subject other = *subject;
	uint8_t *bytes;

	other.rng.state += code;
	for (unsigned int i = 0; i < DAMAGES; i++) {
		struct log_bytes file = { NULL, of->size };

		bytes = malloc(of->size + 1);
		if (!bytes)
			abort();
		memcpy(bytes, of->bytes, of->size);
		for (unsigned int n = 1 + rng_below(&other.rng, 3); n; n--)
			bytes[rng_below(&other.rng, of->size)] = rng_next(&other.rng);
		if (rng_one_in(&other.rng, 8))
			file.size = rng_below(&other.rng, of->size);
		file.bytes = bytes;
		if (history_take(&other.history, code ? file : subject->history.code_file,
				 code ? subject->history.pe_file : file, NULL))
			refused++;
		else
			equal(&other, i & 1, false, NULL);
		history_free(&other.history);
		free(bytes);
	}
}

/* --- Pieces of what was collected that are not there. --- */

#define PART	100	/* bytes */

static unsigned int excused_worlds;
static bool excuses_fine = true;

/* All that was collected in parts; the last may be short. */
static struct align_piece *divide(const struct subject *subject, size_t *n)
{
	struct align_piece *parts = NULL;

	*n = 0;
	for (size_t i = 0; i < subject->npieces; i++) {
		const struct align_piece *piece = &subject->pieces[i];
		size_t size;

		parts = realloc(parts, (*n + piece->n / PART + 1) * sizeof(*parts));
		if (!parts)
			abort();
		for (size_t at = 0; at < piece->n; at += size) {
			size = piece->n - at < PART ? piece->n - at : PART;
			parts[(*n)++] = (struct align_piece){ piece->bytes + at, size, false };
		}
	}
	return parts;
}

/* Of which so many stored bytes are missing with no excuse; and what the decoder is told. */
static bool excused(const struct subject *subject, const struct align_piece *parts, size_t n,
		    uint64_t missing, uint64_t unexcused)
{
	struct alignment alignment;
	bool fine;

	fine = !align(&alignment, &subject->history, parts, n) && alignment.missing == missing &&
	       alignment.unexcused == unexcused &&
	       !decode(&decoder_flowtap, &subject->history, &alignment, false, &judge, NULL) &&
	       judge.failed == (unexcused > 0);
	if (!fine)
		printf("# world %llu: %llu bytes missing, %llu unexcused, %s; not %llu, %llu\n",
		       LLU(subject->sim->options.adversary.seed), LLU(alignment.missing),
		       LLU(alignment.unexcused), judge.failed ? judge.message : "equal",
		       LLU(missing), LLU(unexcused));
	align_free(&alignment);
	return fine;
}

/* Two parts are missing: a part beside one of them that is lossy is no excuse for the other. */
static bool check_excuses(const struct subject *subject)
{
	size_t n, a, b, left;
	struct align_piece *parts = divide(subject, &n);
	uint64_t first, second;
	bool fine = true;

	a = n / 3;
	b = 2 * n / 3;
	if (n > 9 && !subject->lossy) {
		first = parts[a].n;
		second = parts[b].n;
		memmove(&parts[b], &parts[b + 1], (n - b - 1) * sizeof(*parts));
		memmove(&parts[a], &parts[a + 1], (n - a - 2) * sizeof(*parts));
		left = n - 2;
		fine &= excused(subject, parts, left, first + second, first + second);
		parts[a - 1].lossy = true;
		fine &= excused(subject, parts, left, first + second, second);
		parts[b - 1].lossy = true;	/* the one after */
		fine &= excused(subject, parts, left, first + second, 0);
		excused_worlds++;
	}
	free(parts);
	return fine;
}

static bool check_simulation(unsigned int number)
{
	struct subject subject = { .sim = make(number), .rng = { number } };
	bool fine = true;

	if (history_read(&subject.history, prefix, 0, NULL)) {
		printf("# world %u: %s\n", number, subject.history.error);
		return false;
	}
	subject.covered = calloc(subject.history.n + 1, 1);
	subject.pieces = subject.sim->collected;
	subject.npieces = subject.sim->ncollected;
	for (unsigned int i = 0; i < 2; i++)
		fine &= equal(&subject, i, true, i ? NULL : subject.covered);
	subject.skipped = judge.counts.skipped;
	subject.lossy = judge.counts.gaps;
	excuses_fine &= check_excuses(&subject);
	fine &= subject.npieces && memchr(subject.covered, 1, subject.history.n);
	for (size_t i = 0; fine && i < CHANGES; i++)
		for (unsigned int n = 0; n < TRIES; n++)
			try_change(&subject, i, n);
	damage(&subject, false);
	damage(&subject, true);
	free(subject.covered);
	history_free(&subject.history);
	log_unmap(&subject.history.code_file);
	log_unmap(&subject.history.pe_file);
	simulation_free(subject.sim);
	return fine;
}

static void clean(void)
{
	static const char *const suffixes[] = { "code", "report", "0" };
	char path[80];

	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s.%s", prefix, suffixes[i]);
		unlink(path);
	}
	rmdir(directory);
}

static bool say(unsigned int number, bool fine, const char *what)
{
	printf("%sok %u %s\n", fine ? "" : "not ", number, what);
	return fine;
}

int main(void)
{
	unsigned int made = 0, noticed = 0;
	char what[200];
	bool fine = true, all;

	if (!mkdtemp(directory))
		return 2;
	snprintf(prefix, sizeof(prefix), "%s/log", directory);
	history_limit = 1 << 18;
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n1..%d\n", CHANGES + 3);
	for (unsigned int i = 1; i <= SIMULATIONS; i++)
		fine &= check_simulation(i);
	clean();
	all = say(1, fine, "what was not changed is equal, by both decoders");
	for (size_t i = 0; i < CHANGES; i++) {
		snprintf(what, sizeof(what), "noticed: %s, %u of %u", changes[i].name,
			 tallies[i].noticed, tallies[i].made);
		all &= say(i + 2, tallies[i].made && tallies[i].noticed == tallies[i].made, what);
		made += tallies[i].made;
		noticed += tallies[i].noticed;
	}
	snprintf(what, sizeof(what), "of %u logs damaged at random %u are refused",
		 2 * SIMULATIONS * DAMAGES, refused);
	all &= say(CHANGES + 2, refused > 0, what);
	all &= say(CHANGES + 3, excused_worlds && excuses_fine,
		   "a lossy piece excuses what is missing beside it, and nothing else");
	printf("# %u changes, %u noticed\n", made, noticed);
	return !all;
}
