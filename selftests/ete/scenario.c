// SPDX-License-Identifier: GPL-2.0-only
/* Which programs, executions and trace units there are: a plain one, and random ones. */
#include "scenario.h"

#include <string.h>

void scenario_plain(struct scenario *scenario)
{
	memset(scenario, 0, sizeof(*scenario));
	scenario->program = (struct program_options){ .plain = true, .functions = 400,
						      .spaces = 1 };
	scenario->encoder = (struct encoder_options){ .return_stack = 15, .sync = 4096,
						      .shortest = true, .commopt = true };
}

static uint32_t rate(struct rng *rng, uint32_t most)
{
	return rng_one_in(rng, 3) ? 0 : 1 + most / 4 + rng_below(rng, most);
}

static void random_speculation(struct scenario *s, struct rng *rng)
{
	static const uint16_t depths[] = { 1, 2, 3, 5, 8, 16, 31, 64, 200 };

	s->encoder.maxspec = depths[rng_below(rng, sizeof(depths) / sizeof(depths[0]))];
	s->encoder.commopt = rng_one_in(rng, 4);
	s->execute.wrong = 3 + rng_below(rng, 30);
	s->execute.flip = rate(rng, 20);
}

static void random_times(struct scenario *s, struct rng *rng)
{
	s->execute.event = rate(rng, 500);
	s->execute.timestamp = rate(rng, 500);
	s->execute.marker = rate(rng, 500);
	s->encoder.timestamps = rng_one_in(rng, 2);
	s->encoder.cycles = rng_one_in(rng, 2);
	s->encoder.threshold = rng_one_in(rng, 2) ? rng_below(rng, 20) : rng_below(rng, 200);
}

void scenario_etm4(struct scenario *s, uint64_t seed, unsigned int minor)
{
	static const uint8_t sizes[] = { 1, 2, 4 };

	s->encoder.etm4 = 0x40 + minor;
	/* More than 8 bits came with VMIDOPT. */
	s->encoder.vmid_size = minor ? sizes[seed % sizeof(sizes)] : 1;
	s->encoder.commtrans = false;
	s->encoder.source = false;
	s->execute.ite = 0;
	s->execute.rme = false;
	s->execute.fail = 0;
	s->program.transactions = false;
	if (minor < 3) {
		s->encoder.ignore = 0;
		s->encoder.wfx = false;
	}
	if (minor < 6)
		s->execute.marker = 0;
}

void scenario_m(struct scenario *s)
{
	s->encoder.m_profile = true;
	s->encoder.vmid_size = 0;
	s->encoder.vmid = false;
	s->encoder.contextid = false;
	s->encoder.q = false;
	s->program.m_profile = true;
	s->program.aarch32 = true;
	s->program.kernel32 = true;
	s->program.spaces = 1;
	s->execute.q = 0;
	s->execute.modify = false;
	s->execute.lazy_push = 2 * s->execute.exception;
	s->execute.lockup = 4 * s->execute.exception;
}

void scenario_random(struct scenario *scenario, uint64_t seed, unsigned int has)
{
	struct rng rng = { seed * 0x9e3779b97f4a7c15ULL };
	struct scenario *s = scenario;

	memset(s, 0, sizeof(*s));
	s->encoder.commtrans = rng_one_in(&rng, 2);
	s->encoder.commopt = rng_one_in(&rng, 2);
	s->encoder.broadcast = rng_one_in(&rng, 8);
	s->encoder.wfx = rng_one_in(&rng, 2);
	s->encoder.shortest = rng_one_in(&rng, 3);
	s->encoder.vmid = rng_one_in(&rng, 2);
	s->encoder.contextid = rng_one_in(&rng, 2);
	s->encoder.ignore = rate(&rng, 100);
	if (has & SCENARIO_STACK)
		s->encoder.return_stack = rng_one_in(&rng, 3) ? 0 : rng_one_in(&rng, 2) ? 15 :
					  1 + rng_below(&rng, 15);
	if (has & SCENARIO_SPECULATION && !rng_one_in(&rng, 3))
		random_speculation(s, &rng);
	if (has & SCENARIO_SOURCE)
		s->encoder.source = rng_one_in(&rng, 3);
	if (has & SCENARIO_SYNCS) {
		s->encoder.sync = 20 + rng_below(&rng, rng_one_in(&rng, 2) ? 200 : 4000);
		s->encoder.sync_delay = rng_one_in(&rng, 2);
	}
	if (has & SCENARIO_Q) {
		s->encoder.q = rng_one_in(&rng, 3);
		s->execute.q = 100;
	}
	if (has & SCENARIO_TIMES)
		random_times(s, &rng);
	if (has & SCENARIO_ITE)
		s->execute.ite = rate(&rng, 1000);
	if (has & SCENARIO_EXCEPTIONS)
		s->execute.exception = 20 + rng_below(&rng, 500);
	if (has & SCENARIO_RESET)
		s->execute.reset = rate(&rng, 3000);
	if (has & SCENARIO_FILTER)
		s->execute.filter = rate(&rng, 1000);
	if (has & SCENARIO_LOSSES) {
		s->execute.overflow = rate(&rng, 2000);
		s->execute.discard = rate(&rng, 2000);
	}
	s->execute.rme = rng_one_in(&rng, 2);
	s->program.functions = 8 + rng_below(&rng, 40);
	s->program.spaces = 1;
	if (has & SCENARIO_AARCH32 && rng_one_in(&rng, 2)) {
		s->program.aarch32 = true;
		s->program.kernel32 = rng_one_in(&rng, 2);
	}
	/* Calls deeper than the return stack, all the way down and up. */
	s->program.chain = rng_one_in(&rng, 5);
	if (has & SCENARIO_TRANSACTIONS && rng_one_in(&rng, 2)) {
		s->program.transactions = true;
		s->execute.fail = rate(&rng, 100);
	}
	if (has & SCENARIO_SPACES && s->execute.exception) {
		s->program.spaces = s->encoder.contextid ? 2 : 1;
		s->execute.modify = rng_one_in(&rng, 2) && s->encoder.timestamps;
		if (s->execute.modify)
			s->program.spaces = 3;
	}
	if (has & SCENARIO_ETM4)
		scenario_etm4(s, seed / 7, seed % 7);
	if (has & SCENARIO_M)
		scenario_m(s);
}
