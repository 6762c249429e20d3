// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Shows that a trace is as it was configured: decodes what selftests/kernel/ete_config left packet
 * by packet and holds each item of the configuration against it, both ways (what was asked for is
 * there, what was not is not), and against the model's log. Prints TAP without numbers.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <flowtap/arm.h>
#include <flowtap/ete_packet.h>
#include <linux/flowtap.h>

#include "configured.h"

static const char usage[] =
	"Usage: configured PREFIX DIR...\n"
	"DIR is what selftests/kernel/ete_config left of one configuration: `facts`, N.trace, N.chunks;\n"
	"all of a CPU, in the order in which they were traced.\n"
	"PREFIX is that of the model's log. Exit status: 0 all is as configured, 1 not, 2 no input.\n";

/* TRCCONFIGR. */
#define BB	(1ULL << 3)
#define CCI	(1ULL << 4)
#define CID	(1ULL << 6)
#define VMID	(1ULL << 7)
#define TS	(1ULL << 11)
#define RS	(1ULL << 12)
#define VMIDOPT	(1ULL << 15)

static bool failed;

static void __attribute__((format(printf, 3, 4))) say(const struct facts *facts, bool fine,
						       const char *format, ...)
{
	va_list arguments;

	printf("%sok - %s: ", fine ? "" : "not ", facts->name);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
	failed |= !fine;
}

/* --- One trace, packet by packet. --- */

struct seen {
	uint64_t packets;
	uint64_t instructions;
	uint64_t outside;		/* of the ranges */
	uint64_t timestamps;
	uint64_t untimely;		/* not within its record */
	uint64_t cycle_counts;
	uint64_t cycles;
	uint64_t low;			/* cycle counts below the threshold */
	uint64_t infos;
	uint64_t wrong_infos;		/* Trace Info that does not say CCI or its threshold */
	uint64_t taken_direct;
	uint64_t bare;			/* E atoms that no address follows */
	uint64_t returns;
	uint64_t contexts;
	uint64_t wrong_contexts;	/* Context ID, VMID, exception level */
	uint64_t sessions;
	uint64_t syncs;			/* that are not the first of a session */
	uint64_t wrong_syncs;
	uint64_t nearest, farthest;	/* bytes between them */
	uint64_t gaps;
	uint64_t bad;
};

struct decoding {
	struct flowtap_sink sink;
	const struct facts *facts;
	const struct code *code;
	struct seen seen;
	struct flowtap_ete_parser parser;
	struct flowtap_ete *ete;
	struct flowtap_ete_packet packet;
	uint64_t session_at;		/* offset in the trace */
	uint64_t sync_at;		/* likewise; UINT64_MAX none in this session */
	bool taken;			/* the newest P0 element is an E atom, and no address came */
	char why[200];			/* the first gap */
	char why_context[100];
};

static bool is_address(const struct flowtap_ete_packet *packet)
{
	return packet->has_address;
}

static bool inside(const struct facts *facts, uint64_t address)
{
	unsigned int i;

	for (i = 0; i < facts->ranges; i++)
		if (address >= facts->start[i] && address < facts->end[i])
			return true;
	return !facts->ranges;
}

static int take_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
		      uint64_t target)
{
	struct decoding *decoding = (struct decoding *)sink;
	struct seen *seen = &decoding->seen;
	uint32_t i;

	seen->instructions += block->instructions;
	for (i = 0; i < block->size; i += 4)
		seen->outside += !inside(decoding->facts, block->address + i);
	seen->taken_direct += block->direct && taken;
	seen->returns += block->end == FLOWTAP_ARM_RETURN;
	return 0;
}

static int take_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	struct decoding *decoding = (struct decoding *)sink;

	if (element->kind != FLOWTAP_ELEMENT_GAP)
		return 0;
	if (!decoding->seen.gaps++)
		snprintf(decoding->why, sizeof(decoding->why), "%s at 0x%" PRIx64 " %s",
			 flowtap_gap_name(element->gap.reason), element->gap.address,
			 element->gap.detail ? element->gap.detail : "");
	return 0;
}

static const struct flowtap_code *find(void *argument, const struct flowtap_context *context,
				       uint64_t address)
{
	return code_find(argument, address);
}

/* The counter at that time, by the record's pair; the generic counter's rate is constant. */
static double counter_at(const struct facts *facts, const struct record *record, uint64_t time)
{
	return (double)record->counter -
	       (double)(record->time - time) * (double)facts->frequency / 1e9;
}

static void see_context(struct decoding *decoding)
{
	const struct flowtap_ete_packet *packet = &decoding->packet;
	const struct facts *facts = decoding->facts;
	const bool user = !packet->context.exception_level;
	bool wrong = false;

	decoding->seen.contexts++;
	if (user ? !(facts->modes & FLOWTAP_MODE_USER) :
		   !(facts->modes & FLOWTAP_MODE_KERNEL) ||
		   packet->context.exception_level != facts->level)
		wrong = true;
	if (packet->context_updated &&
	    ((packet->has_contextid && !(facts->config & CID)) ||
	     (packet->has_vmid && !(facts->config & VMID))))
		wrong = true;
	/*
	 * Linux keeps the thread's number in the register of the level it runs at. The kernel's way
	 * to the thread is traced from where the scheduler has chosen it: there it is still
	 * another's.
	 */
	if (user && facts->config & CID && facts->level == 1 && packet->context.contextid != facts->tid)
		wrong = true;
	if (user && facts->config & VMIDOPT && facts->config & VMID && facts->level == 2 &&
	    packet->context.vmid != facts->tid)
		wrong = true;
	if (wrong && !decoding->seen.wrong_contexts++)
		snprintf(decoding->why_context, sizeof(decoding->why_context), "EL%u, Context ID %u, VMID %u, thread %u",
			 packet->context.exception_level, packet->context.contextid,
			 packet->context.vmid, facts->tid);
}

/* Every period of bytes, as soon as it can be: some packets later at most. */
#define SYNC_SLACK 128

static void see_sync(struct decoding *decoding, uint64_t at)
{
	struct seen *seen = &decoding->seen;
	const uint64_t period = 1ULL << (decoding->facts->sync ?: 12);
	uint64_t distance = at - decoding->sync_at;

	if (decoding->sync_at != UINT64_MAX) {
		seen->wrong_syncs += distance < period || distance > period + SYNC_SLACK;
		seen->nearest = seen->syncs && seen->nearest < distance ? seen->nearest : distance;
		seen->farthest = seen->farthest > distance ? seen->farthest : distance;
		seen->syncs++;
	}
	decoding->sync_at = at;
}

/* The bytes at the end are less than a period. */
static void see_session_end(struct decoding *decoding, uint64_t at)
{
	const uint64_t period = 1ULL << (decoding->facts->sync ?: 12);

	if (decoding->sync_at != UINT64_MAX && at - decoding->sync_at > period + SYNC_SLACK)
		decoding->seen.wrong_syncs++;
	decoding->sync_at = UINT64_MAX;
	decoding->taken = false;
}

static void see_atoms(struct decoding *decoding)
{
	const struct flowtap_ete_packet *packet = &decoding->packet;
	unsigned int i;

	for (i = 0; i < packet->atom_count; i++) {
		decoding->seen.bare += decoding->taken;
		decoding->taken = packet->atoms >> i & 1;
	}
}

static void see(struct decoding *decoding, const struct record *record, uint64_t at)
{
	const struct flowtap_ete_packet *packet = &decoding->packet;
	const struct facts *facts = decoding->facts;
	struct seen *seen = &decoding->seen;

	seen->packets++;
	if (is_address(packet))
		decoding->taken = false;
	see_atoms(decoding);
	if (packet->has_context)
		see_context(decoding);
	switch (packet->type) {
	case FLOWTAP_ETE_ALIGNMENT_SYNC:
		see_sync(decoding, at);
		break;
	case FLOWTAP_ETE_TRACE_INFO:
		seen->infos++;
		seen->wrong_infos += packet->cc_enabled != !!(facts->config & CCI) ||
				     (packet->cc_enabled && packet->cc_threshold != facts->threshold);
		break;
	case FLOWTAP_ETE_TIMESTAMP:
		seen->timestamps++;
		/* Two ticks and a millionth: what the clock's own arithmetic rounds. */
		if (packet->timestamp > record->counter ||
		    (double)packet->timestamp + 2 + (double)(record->time - record->since) / 1e6 <
		    counter_at(facts, record, record->since))
			seen->untimely++;
		break;
	case FLOWTAP_ETE_CYCLE_COUNT_1:
	case FLOWTAP_ETE_CYCLE_COUNT_2:
	case FLOWTAP_ETE_CYCLE_COUNT_3:
		seen->cycle_counts++;
		seen->cycles += packet->has_cycles ? packet->cycles : 0;
		seen->low += packet->has_cycles && packet->cycles < facts->threshold;
		break;
	case FLOWTAP_ETE_RESERVED:
	case FLOWTAP_ETE_NOT_SYNCED:
	case FLOWTAP_ETE_DISCARD:
	case FLOWTAP_ETE_OVERFLOW:
		seen->bad++;
		break;
	default:
		break;
	}
}

/* Which record has this byte of the dump. */
static const struct record *record_at(const struct facts *facts, size_t *record, uint64_t at)
{
	while (at >= facts->records[*record].offset + facts->records[*record].size)
		++*record;
	return &facts->records[*record];
}

/* The bytes of records that continue each other. */
static void decode_session(struct decoding *decoding, size_t first, const uint8_t *bytes,
			   uint64_t at, uint64_t end)
{
	struct flowtap_ete_config config = facts_config(decoding->facts);
	size_t used;

	flowtap_ete_parser_init(&decoding->parser, &config);
	flowtap_ete_session(decoding->ete);
	decoding->seen.sessions++;
	decoding->sync_at = UINT64_MAX;
	while (at < end) {
		const struct record *record = record_at(decoding->facts, &first, at);

		used = flowtap_ete_parse(&decoding->parser, bytes + at, end - at, &decoding->packet);
		if (!used) {
			decoding->seen.bad++;
			break;
		}
		flowtap_ete_decode(decoding->ete, bytes + at, used);
		see(decoding, record, at);
		at += used;
	}
	see_session_end(decoding, at);
}

static int decode(struct decoding *decoding, const struct facts *facts, const struct code *code)
{
	const struct flowtap_ete_config config = facts_config(facts);
	const struct flowtap_ete_images images = { .find = find, .argument = (void *)code };
	struct flowtap_blocks *blocks;
	size_t i, next;

	*decoding = (struct decoding){ .sink = { take_block, take_element }, .facts = facts };
	blocks = flowtap_blocks_new(flowtap_ete_wfx_is_p0(&config) ? flowtap_arm_block_wfx :
				    flowtap_arm_block, 0);
	if (!blocks || flowtap_ete_new(&config, NULL, &images, blocks, &decoding->sink,
				       &decoding->ete))
		return -EINVAL;
	for (i = 0; i < facts->n; i = next) {
		for (next = i + 1; next < facts->n; next++)
			if (!(facts->records[next].flags & FLOWTAP_AUX_CONTINUES))
				break;
		decode_session(decoding, i, facts->trace.bytes, facts->records[i].offset,
			       facts->records[next - 1].offset + facts->records[next - 1].size);
	}
	flowtap_ete_finish(decoding->ete);
	flowtap_ete_free(decoding->ete);
	flowtap_blocks_free(blocks);
	return 0;
}

/* --- Judgement. --- */

static void judge_cycles(const struct facts *facts, const struct seen *seen)
{
	const uint64_t rest = seen->sessions * (facts->threshold + 64);

	say(facts, !seen->wrong_infos && seen->infos, "each Trace Info says %s",
	    facts->config & CCI ? "cycle counts and their threshold" : "no cycle counts");
	if (!(facts->config & CCI)) {
		say(facts, !seen->cycle_counts, "no cycle counts");
		return;
	}
	say(facts, seen->cycle_counts > 10 && !seen->low,
	    "%" PRIu64 " cycle counts, none below the threshold of %u", seen->cycle_counts,
	    facts->threshold);
	/* The model's instruction takes 1 cycle, a block up to 4 more. */
	if (!(facts->modes & FLOWTAP_MODE_KERNEL))
		say(facts, seen->cycles <= 5 * seen->instructions &&
			   seen->cycles + rest >= seen->instructions,
		    "%" PRIu64 " cycles for %" PRIu64 " instructions", seen->cycles,
		    seen->instructions);
}

static void judge_branches(const struct facts *facts, const struct seen *seen)
{
	const bool all = facts->config & BB;
	/* Of a direct branch no address is needed. */
	const uint64_t inferred = seen->bare > seen->taken_direct ?
				  seen->bare - seen->taken_direct : 0;

	if (all)
		say(facts, !seen->bare && seen->taken_direct > 100,
		    "an address for each taken branch, %" PRIu64 " direct ones, too",
		    seen->taken_direct);
	else
		say(facts, seen->bare > 100, "taken direct branches have no address");
	if (!facts->returned)
		return;
	if (facts->config & RS && !all)
		say(facts, 2 * inferred > seen->returns && inferred > 100,
		    "%" PRIu64 " of %" PRIu64 " returns by the return stack", inferred,
		    seen->returns);
	else
		say(facts, !inferred && seen->returns > 100,
		    "%" PRIu64 " returns, %" PRIu64 " without their address", seen->returns,
		    inferred);
}

static void judge_contexts(const struct facts *facts, const struct seen *seen,
			   const char *why)
{
	char what[100] = "neither Context ID nor VMID";

	if (facts->config & (CID | VMID))
		snprintf(what, sizeof(what), "%s%s%s",
			 facts->config & CID ? facts->level == 1 ? "the thread's Context ID" :
			 "CONTEXTIDR_EL1" : "", (facts->config & (CID | VMID)) == (CID | VMID) ?
			 " and " : "", !(facts->config & VMID) ? "" : facts->config & VMIDOPT &&
			 facts->level == 2 ? "the thread's CONTEXTIDR_EL2" : "a VMID");
	say(facts, seen->contexts && !seen->wrong_contexts,
	    "%" PRIu64 " contexts with %s, of the exception levels asked for%s%s", seen->contexts, what,
	    *why ? "; not: " : "", why);
}

/* All that the thread executed while the trace unit was enabled, and nothing outside. */
static void judge_instructions(const struct facts *facts, const struct seen *seen,
			       const struct log_counts *log)
{
	if (facts->ranges)
		say(facts, !seen->outside && log->outside > 1000,
		    "nothing of %" PRIu64 " instructions outside of the %u ranges", log->outside,
		    facts->ranges);
	say(facts, seen->instructions == log->inside && seen->instructions > 1000,
	    "%" PRIu64 " instructions, %" PRIu64 " in the log", seen->instructions, log->inside);
}

static void judge_syncs(const struct facts *facts, const struct seen *seen)
{
	const uint64_t period = 1ULL << (facts->sync ?: 12);
	const bool wanted = facts->size / 2 > period;

	if (wanted && seen->sessions < 4)
		say(facts, !seen->wrong_syncs && seen->syncs, "%" PRIu64 " A-syncs %" PRIu64 " to %"
		    PRIu64 " bytes apart for %" PRIu64, seen->syncs, seen->nearest, seen->farthest,
		    period);
	else
		say(facts, !seen->wrong_syncs, "A-syncs as configured");
}

static void judge_strobe(const struct facts *facts)
{
	const double want = (double)facts->strobe_on / (double)(facts->strobe_on + facts->strobe_off);
	const struct record *records = facts->records;
	uint64_t on = 0, longest = 0;
	double share;
	size_t i;

	if (facts->n < 10) {
		say(facts, false, "only %zu records", facts->n);
		return;
	}
	/* From the second record, whose begin is a strobe's, to the last one's begin. */
	for (i = 1; i < facts->n - 1; i++) {
		on += records[i].time - records[i].since;
		if (records[i].time - records[i].since > longest)
			longest = records[i].time - records[i].since;
	}
	share = (double)on / (double)(records[facts->n - 1].since - records[1].since);
	/* Begin and end come late by what the timer's interrupt takes; other tasks may run. */
	say(facts, share > 0.95 * want && share < 1.05 * want,
	    "%.2f%% of the time of %zu periods is traced, %.2f%% asked for", 100 * share,
	    facts->n - 2, 100 * want);
	say(facts, longest < facts->strobe_on + facts->strobe_on / 10,
	    "none longer than its on time (%" PRIu64 " of %" PRIu64 " ns)", longest,
	    facts->strobe_on);
	for (i = 1; i < facts->n; i++)
		if (records[i].loss & ~(1U << FLOWTAP_CAUSE_STROBE))
			break;
	say(facts, i == facts->n && !facts->gaps, "no loss but the strobe's own, no GAP record");
}

static void judge(const struct facts *facts, const struct decoding *decoding,
		  const struct log_counts *log)
{
	const struct seen *seen = &decoding->seen;
	const bool user = facts->modes == FLOWTAP_MODE_USER;

	say(facts, facts->programmed == (facts->config | 1), "TRCCONFIGR is as asked for");
	say(facts, !seen->bad, "%" PRIu64 " packets, all of them good", seen->packets);
	if (facts->config & TS)
		say(facts, seen->timestamps && !seen->untimely,
		    "%" PRIu64 " timestamps, each within the clock pair of its record",
		    seen->timestamps);
	else
		say(facts, !seen->timestamps, "no timestamps");
	judge_cycles(facts, seen);
	judge_contexts(facts, seen, decoding->why_context);
	judge_syncs(facts, seen);
	if (facts->strobe_on)
		judge_strobe(facts);
	if (!user)
		return;
	say(facts, !seen->gaps, "decodes without a gap%s%s", *decoding->why ? ": " : "",
	    decoding->why);
	judge_instructions(facts, seen, log);
	if (!facts->strobe_on)
		judge_branches(facts, seen);
}

int main(int argc, char **argv)
{
	static struct decoding decoding;
	int i;

	if (argc < 3) {
		fputs(usage, stderr);
		return 2;
	}
	for (i = 2; i < argc; i++) {
		struct log_counts log;
		struct facts facts;
		struct code code;

		int error = facts_read(&facts, argv[i]);

		facts.number = i - 1;
		if (error || log_count(&log, &code, argv[1], &facts)) {
			fprintf(stderr, "configured: %s: %s\n", argv[i], facts.error);
			return 2;
		}
		if (decode(&decoding, &facts, &code))
			say(&facts, false, "a trace unit that libflowtap can decode");
		else
			judge(&facts, &decoding, &log);
		facts_free(&facts);
		code_free(&code);
	}
	return failed;
}
