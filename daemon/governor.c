// SPDX-License-Identifier: GPL-2.0-only
/* Computes the share of time to record from CPU time and losses measured since the last step. */
#include "governor.h"

#define MILLION 1000000ULL

void governor_init(struct governor *governor, uint32_t cpu_budget, uint32_t loss_budget,
		   uint32_t least)
{
	*governor = (struct governor){ .share = GOVERNOR_WHOLE };
	governor_change(governor, cpu_budget, loss_budget, least);
}

void governor_change(struct governor *governor, uint32_t cpu_budget, uint32_t loss_budget,
		     uint32_t least)
{
	governor->cpu_budget = cpu_budget;
	governor->loss_budget = loss_budget;
	governor->least = least < 1 ? 1 : least > GOVERNOR_WHOLE ? GOVERNOR_WHOLE : least;
	if (governor->share < governor->least)
		governor->share = governor->least;
}

/* part of whole in millionths; what does not fit is as much as fits. */
static uint32_t millionths(uint64_t part, uint64_t whole)
{
	while (part > UINT64_MAX / MILLION) {
		part >>= 1;
		whole >>= 1;
	}
	if (!whole)
		return part ? UINT32_MAX : 0;
	part = part * MILLION / whole;
	return part > UINT32_MAX ? UINT32_MAX : (uint32_t)part;
}

/* Of a loss whose size nobody knows: above any budget, and far enough to halve the share. */
static uint32_t loss_of(const struct governor *governor, const struct governor_measure *measure)
{
	uint64_t all = measure->recorded > UINT64_MAX - measure->lost ?
		       UINT64_MAX : measure->recorded + measure->lost;
	uint32_t loss = millionths(measure->lost, all);

	if (measure->losses && loss <= governor->loss_budget)
		loss = governor->loss_budget < UINT32_MAX / 2 ? 2 * governor->loss_budget + 1 :
								UINT32_MAX;
	return loss;
}

/* The share falls as far as the budget was exceeded, but to the half at most. */
static void lower(struct governor *governor, uint32_t measured, uint32_t budget)
{
	uint64_t share = (uint64_t)governor->share * budget / measured;

	if (share < governor->share / 2)
		share = governor->share / 2;
	governor->share = share < governor->least ? governor->least : (uint32_t)share;
}

/* value * millionths, without overflow. */
static uint64_t part_of(uint64_t value, uint32_t share)
{
	return value / MILLION * share + value % MILLION * share / MILLION;
}

static void count_debt(struct governor *governor, const struct governor_measure *measure)
{
	const uint64_t most = part_of(GOVERNOR_DEBT * 1000000000ULL, governor->cpu_budget);
	const uint64_t may = part_of(measure->elapsed, governor->cpu_budget);
	uint64_t debt;

	if (__builtin_add_overflow(governor->debt, measure->cpu, &debt))
		debt = UINT64_MAX;
	debt = debt > may ? debt - may : 0;
	governor->debt = debt < most ? debt : most;
}

enum governor_cause governor_step(struct governor *governor,
				  const struct governor_measure *measure)
{
	const uint32_t before = governor->share;
	enum governor_cause cause = GOVERNOR_STAYS;
	uint64_t share;

	if (!measure->elapsed)
		return GOVERNOR_STAYS;
	governor->cpu = millionths(measure->cpu, measure->elapsed);
	governor->loss = loss_of(governor, measure);
	count_debt(governor, measure);
	if (governor->loss > governor->loss_budget) {
		cause = GOVERNOR_LOSS;
		lower(governor, governor->loss, governor->loss_budget);
	} else if (governor->cpu > governor->cpu_budget) {
		cause = GOVERNOR_CPU;
		lower(governor, governor->cpu, governor->cpu_budget);
	}
	if (cause || (uint64_t)governor->cpu * 5 > (uint64_t)governor->cpu_budget * 4) {
		governor->calm = 0;
	} else if (++governor->calm >= GOVERNOR_CALM && !governor->debt &&
		   governor->share < GOVERNOR_WHOLE) {
		cause = GOVERNOR_CALMED;
		share = (uint64_t)governor->share + governor->share / 10 + 1;
		governor->share = share > GOVERNOR_WHOLE ? GOVERNOR_WHOLE : (uint32_t)share;
	}
	return governor->share == before ? GOVERNOR_STAYS : cause;
}

const char *governor_cause_name(enum governor_cause cause)
{
	static const char *const names[GOVERNOR_CAUSES] = { "", "cpu", "loss", "calm" };

	return cause < GOVERNOR_CAUSES ? names[cause] : "";
}

uint64_t governor_period(const struct governor *governor, uint64_t period)
{
	const uint64_t share = governor->share;

	if (period / share > UINT64_MAX / GOVERNOR_WHOLE - 1)
		return UINT64_MAX;
	return period / share * GOVERNOR_WHOLE + period % share * GOVERNOR_WHOLE / share;
}

uint32_t governor_duty(const struct governor *governor, uint64_t on, uint64_t period)
{
	period = governor_period(governor, period);
	return on >= period ? GOVERNOR_WHOLE : (uint32_t)(on * GOVERNOR_WHOLE / period);
}
