// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows where a damaged stream is better gone on with: at the next Alignment Sync, as the decoder
 * does, or at the next byte that may be a header, with all that the parser knows and without an
 * address, as OpenCSD's packet lister does. Streams of known truth are damaged in one place; for
 * both ways it is counted how many instructions are lost and how many come out that were not
 * executed.
 *
 * The next header loses less, and what it makes of bytes that begin within a packet was never
 * executed. From the packet on that cannot be there the decoder says nothing that is not true: that
 * is why it waits. What was said before, as damaged bytes are often packets as well, is the same in
 * both ways.
 *
 * Without speculation: what waits for a Commit is lost in either way.
 *
 * FLOWTAP_SEED=N: the seed; FLOWTAP_RUNS=N: streams of each kind; FLOWTAP_KIND=N, FLOWTAP_ONLY=N:
 * only these.
 */
#include <flowtap/ete_packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoded.h"
#include "kinds.h"
#include "scenario.h"

#define RUNS	60
#define MADE	128	/* bytes; an Alignment Sync, a Trace Info and three addresses have fewer */

struct trace {
	struct encoder encoder;
	struct program *program;
	struct oracle oracle;
	struct flowtap_ete_config config;
	struct rng rng;
};

/* Instructions. */
struct outcome {
	uint64_t lost;
	uint64_t wrong;
};

static struct {
	uint64_t executed;
	uint64_t streams;
	uint64_t detected;	/* streams whose damage made a packet that cannot be there */
	struct outcome sync, header;
} totals;

static void trace_new(struct trace *trace, uint64_t seed, unsigned int has)
{
	struct scenario scenario;
	struct execute execute;

	memset(trace, 0, sizeof(*trace));
	trace->rng.state = seed * 7919;
	scenario_random(&scenario, seed, has);
	scenario.encoder.sync_delay = false;
	scenario.encoder.sync = 50 + rng_below(&trace->rng, 150);
	scenario.execute.instructions = 3000;
	oracle_init(&trace->oracle);
	trace->program = program_new(&scenario.program, seed);
	encoder_init(&trace->encoder, &scenario.encoder, seed, &trace->oracle);
	execute_run(&execute, &scenario.execute, trace->program, &trace->encoder, seed);
	encoder_config(&scenario.encoder, &trace->config);
}

static void trace_free(struct trace *trace)
{
	encoder_free(&trace->encoder);
	program_free(trace->program);
	oracle_free(&trace->oracle);
}

static void damage(struct trace *trace)
{
	size_t size = trace->encoder.size, at = 13 + rng_below(&trace->rng, size - 16);
	unsigned int n = 1 + rng_below(&trace->rng, 3);
	bool flips = rng_one_in(&trace->rng, 2);

	while (n--) {
		trace->encoder.bytes[at] = flips ? trace->encoder.bytes[at] ^
						   1 << rng_below(&trace->rng, 8) :
						   rng_next(&trace->rng);
		at++;
	}
}

/* --- The next header: what the parser knows is told anew, and nothing is said of the address. --- */

static size_t put_address(uint8_t *bytes, uint64_t entry, const struct flowtap_ete_parser *with)
{
	const bool is1 = entry & 1;
	size_t n = 0;

	bytes[n++] = (with ? 0x85 : 0x9d) + is1;
	bytes[n++] = entry >> (is1 ? 1 : 2) & 0x7f;
	bytes[n++] = is1 ? entry >> 8 : entry >> 9 & 0x7f;
	for (unsigned int shift = 16; shift < 64; shift += 8)
		bytes[n++] = entry >> shift;
	return n;
}

static size_t put_id(uint8_t *bytes, uint32_t value, unsigned int size)
{
	for (unsigned int i = 0; i < size; i++)
		bytes[i] = value >> 8 * i;
	return size;
}

/* ContextBytes() (K10.5.2.14.9). */
static size_t put_context(uint8_t *bytes, const struct flowtap_ete_parser *parser)
{
	static const uint8_t security[] = {
		[FLOWTAP_SECURE] = 0, [FLOWTAP_NONSECURE] = 0x20,
		[FLOWTAP_ROOT] = 0x08, [FLOWTAP_REALM] = 0x28,
	};
	const struct flowtap_ete_context *context = &parser->context;
	size_t n = 1;

	bytes[0] = context->exception_level | context->sixty_four_bit << 4 |
		   security[context->security] | (parser->vmid_size ? 0x40 : 0) |
		   (parser->contextid_size ? 0x80 : 0);
	n += put_id(bytes + n, context->vmid, parser->vmid_size);
	return n + put_id(bytes + n, context->contextid, parser->contextid_size);
}

static size_t put_begin(uint8_t *bytes, const struct flowtap_ete_parser *parser,
			const struct flowtap_ete_packet *info)
{
	size_t n = 11;

	memset(bytes, 0, n);
	bytes[n++] = 0x80;
	bytes[n++] = 0x01;		/* Trace Info: INFO, CYCT */
	bytes[n++] = 0x09;
	bytes[n++] = info->cc_enabled;
	for (uint32_t left = info->cc_threshold; ; left >>= 7) {
		bytes[n++] = (left & 0x7f) | (left >> 7 ? 0x80 : 0);
		if (!(left >> 7))
			break;
	}
	n += put_address(bytes + n, parser->history[2], NULL);
	n += put_address(bytes + n, parser->history[1], NULL);
	n += put_address(bytes + n, parser->history[0], parser);
	n += put_context(bytes + n, parser);
	bytes[n++] = 0x04;		/* Trace On: where it is now nobody knows */
	return n;
}

static int go_on(struct trace *trace, struct decoded *decoded,
		 const struct flowtap_ete_parser *parser, const struct flowtap_ete_packet *info)
{
	const struct flowtap_gap gap = { .reason = FLOWTAP_GAP_BAD_PACKET, .size = 1 };
	uint8_t made[MADE];
	int err = flowtap_ete_gap(decoded->ete, &gap);

	return err ? err : decoded_feed(decoded, made, put_begin(made, parser, info), &trace->rng);
}

static int feed_by_headers(struct trace *trace, struct decoded *decoded)
{
	const uint8_t *bytes = trace->encoder.bytes;
	size_t size = trace->encoder.size, fed = 0, used;
	struct flowtap_ete_packet packet, info;
	struct flowtap_ete_parser parser, before;
	bool informed = false;
	int err = 0;

	flowtap_ete_parser_init(&parser, &trace->config);
	for (size_t at = 0; at < size && !err; at += used) {
		before = parser;
		used = flowtap_ete_parse(&parser, bytes + at, size - at, &packet);
		if (!used)
			break;
		if (packet.type == FLOWTAP_ETE_TRACE_INFO) {
			info = packet;
			informed = true;
		}
		if (packet.type == FLOWTAP_ETE_DISCARD || packet.type == FLOWTAP_ETE_OVERFLOW)
			informed = false;
		/* Zeros that are left are an Alignment Sync's: it is what comes next. */
		if (packet.type == FLOWTAP_ETE_RESERVED && informed && !parser.zeros) {
			err = decoded_feed(decoded, bytes + fed, at - fed, &trace->rng);
			err = err ? err : go_on(trace, decoded, &before, &info);
			parser = before;
			fed = at + used;
		} else if (packet.type == FLOWTAP_ETE_RESERVED) {
			informed = false;
		}
	}
	return err ? err : decoded_feed(decoded, bytes + fed, size - fed, &trace->rng);
}

/* --- What became of it. --- */

/* The instructions alone, in their order; freed by the caller. */
static struct oracle_step *instructions(const struct oracle *oracle, size_t from, size_t *n)
{
	struct oracle_step *list = malloc((oracle->n + 1) * sizeof(*list));

	if (!list)
		abort();
	*n = 0;
	for (size_t i = from; i < oracle->n; i++)
		if (oracle->steps[i].kind == ORACLE_INSN)
			list[(*n)++] = oracle->steps[i];
	return list;
}

static bool equal(const struct oracle_step *truth, const struct oracle_step *got)
{
	return truth->address == got->address && truth->isa == got->isa &&
	       truth->size == got->size && (!truth->branch || truth->taken == got->taken);
}

/* How many, at most, are in both in the same order. */
static size_t common(const struct oracle_step *truth, size_t n, const struct oracle_step *got,
		     size_t m)
{
	uint16_t *row = calloc(m + 1, sizeof(*row));
	size_t most;

	if (!row)
		abort();
	for (size_t i = 0; i < n; i++) {
		uint16_t diagonal = 0;

		for (size_t j = 0; j < m; j++) {
			uint16_t above = row[j + 1];

			if (equal(&truth[i], &got[j]))
				row[j + 1] = diagonal + 1;
			else if (row[j] > above)
				row[j + 1] = row[j];
			diagonal = above;
		}
	}
	most = row[m];
	free(row);
	return most;
}

static void count(const struct trace *trace, const struct decoded *decoded, struct outcome *outcome)
{
	size_t n, m, begin = 0, both;
	struct oracle_step *truth = instructions(&trace->oracle, 0, &n);
	struct oracle_step *got = instructions(&decoded->oracle, 0, &m);

	while (begin < n && begin < m && equal(&truth[begin], &got[begin]))
		begin++;
	while (n > begin && m > begin && equal(&truth[n - 1], &got[m - 1])) {
		n--;
		m--;
	}
	both = common(truth + begin, n - begin, got + begin, m - begin);
	outcome->lost += n - begin - both;
	outcome->wrong += m - begin - both;
	free(truth);
	free(got);
}

/* Where it was seen that a packet cannot be there, SIZE_MAX: nowhere. */
static size_t find_damage(const struct decoded *decoded)
{
	for (size_t i = 0; i < decoded->oracle.n; i++)
		if (decoded->oracle.steps[i].kind == ORACLE_GAP &&
		    decoded->oracle.steps[i].value == FLOWTAP_GAP_BAD_PACKET)
			return i;
	return SIZE_MAX;
}

/* Instructions from `at` on which are not the truth's end. */
static size_t wrong_after(const struct trace *trace, const struct decoded *decoded, size_t at)
{
	size_t n, m;
	struct oracle_step *truth = instructions(&trace->oracle, 0, &n);
	struct oracle_step *got = instructions(&decoded->oracle, at, &m);

	while (n && m && equal(&truth[n - 1], &got[m - 1])) {
		n--;
		m--;
	}
	free(truth);
	free(got);
	return m;
}

static bool decode(struct trace *trace, bool headers, struct decoded *decoded)
{
	int err;

	if (decoded_new(decoded, &trace->config, NULL, trace->program, 0))
		abort();
	if (headers)
		err = feed_by_headers(trace, decoded);
	else
		err = decoded_feed(decoded, trace->encoder.bytes, trace->encoder.size, &trace->rng);
	err = err ? err : flowtap_ete_finish(decoded->ete);
	if (err)
		printf("# decoding: %d\n", err);
	return !err;
}

static bool compare(struct trace *trace)
{
	struct decoded sync, header;
	size_t damaged, wrong = 0;
	bool good = decode(trace, false, &sync);

	good &= decode(trace, true, &header);
	totals.executed += trace->oracle.n;
	totals.streams++;
	count(trace, &sync, &totals.sync);
	count(trace, &header, &totals.header);
	damaged = find_damage(&sync);
	totals.detected += damaged != SIZE_MAX;
	if (damaged != SIZE_MAX)
		wrong = wrong_after(trace, &sync, damaged);
	if (wrong)
		printf("# %zu instructions after the damage were not executed\n", wrong);
	decoded_free(&sync);
	decoded_free(&header);
	return good && !wrong;
}

#define FLOW	(SCENARIO_EXCEPTIONS | SCENARIO_STACK | SCENARIO_AARCH32 | SCENARIO_FILTER | \
		 SCENARIO_TIMES | SCENARIO_SYNCS)

static const struct {
	const char *name;
	unsigned int has;
} kinds[] = {
	{ "plain flow: nothing wrong comes out once damage is seen", SCENARIO_STACK | SCENARIO_SYNCS },
	{ "ETE: nothing wrong comes out once damage is seen", FLOW | SCENARIO_SOURCE },
	{ "ETMv4: nothing wrong comes out once damage is seen", FLOW | SCENARIO_ETM4 },
};
#define KINDS	(sizeof(kinds) / sizeof(kinds[0]))

static bool run(unsigned int kind, uint64_t seed)
{
	struct trace trace;
	bool good;

	trace_new(&trace, seed, kinds[kind].has);
	damage(&trace);
	good = compare(&trace);
	trace_free(&trace);
	return good;
}

static const char *name_of(unsigned int kind)
{
	/* Why it is decided so; the last one is about all. */
	return kind < KINDS ? kinds[kind].name :
			      "the next header loses less, and says more that is wrong";
}

static bool run_or_judge(unsigned int kind, uint64_t seed)
{
	const struct outcome *sync = &totals.sync, *header = &totals.header;
	static bool said;

	if (kind < KINDS)
		return run(kind, seed);
	if (!said)
		printf("# %llu steps in %llu streams, the damage of %llu was seen\n"
		       "# next Alignment Sync: %llu instructions lost, %llu wrong\n"
		       "# next header: %llu instructions lost, %llu wrong\n",
		       (unsigned long long)totals.executed, (unsigned long long)totals.streams,
		       (unsigned long long)totals.detected,
		       (unsigned long long)sync->lost, (unsigned long long)sync->wrong,
		       (unsigned long long)header->lost, (unsigned long long)header->wrong);
	said = true;
	/* With a few streams only, as FLOWTAP_ONLY has them, chance would decide. */
	return totals.streams < KINDS * RUNS ||
	       (totals.detected > totals.streams / 4 && header->lost < sync->lost &&
		header->wrong > sync->wrong);
}

int main(void)
{
	return kinds_run(&(struct kinds){ KINDS + 1, RUNS, name_of, run_or_judge });
}
