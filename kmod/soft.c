// SPDX-License-Identifier: GPL-2.0-only
/*
 * Made-up transfers, so that the core can be tested on any machine. The k-th drain of a stream
 * (from 0) gives k % (depth + 1) entries. Transfer n (from 0) of a stream goes from 0x10000 + 8n
 * to 0x10004 + 8n and has type n % 16, a valid cycle count of n % 4096. A full buffer has lost as
 * many again: n jumps by depth ahead of it.
 */
#include <linux/bits.h>

#include "source.h"

static u32 soft_online(void)
{
	return FLOWTAP_REASON_NONE;
}

static void soft_offline(void)
{
}

static void soft_query(u32 cpu, struct flowtap_query *query)
{
	query->ctr.depths = GENMASK(4, 0);
	query->ctr.depth_max = FLOWTAP_DEPTH_MAX;
	query->ctr.data = GENMASK(31, 15) | GENMASK(3, 0);
}

static int soft_configure(struct flowtap_recording *recording,
			  const struct flowtap_configure *configure)
{
	u32 depth = configure->ctr.depth ?: FLOWTAP_DEPTH_MAX;

	if (configure->ctr.flags & ~(FLOWTAP_CTR_NO_TRAPS | FLOWTAP_CTR_SHALLOW))
		return -EINVAL;
	if (configure->ctr.control || configure->ctr.flags)
		return -EOPNOTSUPP;
	if (depth < 16 || depth > FLOWTAP_DEPTH_MAX || !is_power_of_2(depth))
		return -EINVAL;
	recording->depth = depth;
	return 0;
}

static void soft_nothing(struct flowtap_recording *recording)
{
}

static void soft_start(struct flowtap_recording *recording, const struct flowtap_entry *entries,
		       u32 nr)
{
}

static bool soft_stop(struct flowtap_recording *recording)
{
	return true;
}

static bool soft_pause(struct flowtap_recording *recording)
{
	return false;
}

static u32 there_are(const struct flowtap_recording *recording)
{
	return recording->drained % (recording->depth + 1);
}

static u32 soft_count(struct flowtap_recording *recording)
{
	return there_are(recording);
}

static void soft_drain(struct flowtap_recording *recording, struct flowtap_entry *entries, int nr)
{
	u32 there = there_are(recording), i;

	recording->drained++;
	if (there == recording->depth)
		recording->produced += recording->depth;
	recording->produced += there - nr;
	for (i = 0; i < nr; i++) {
		u64 n = recording->produced++;

		entries[i].source = (0x10000 + 8 * n) | 1;
		entries[i].target = 0x10004 + 8 * n;
		entries[i].data = (n % 4096) << 16 | BIT(15) | n % 16;
	}
}

const struct flowtap_source soft_source = {
	.name = "soft",
	.id = FLOWTAP_SOURCE_SOFT,
	.modes = FLOWTAP_MODE_USER | FLOWTAP_MODE_KERNEL,
	.triggers = FLOWTAP_TRIGGER_SNAPSHOT | FLOWTAP_TRIGGER_OVERFLOW | FLOWTAP_TRIGGER_TIMER |
		    FLOWTAP_TRIGGER_SWITCH,
	.online = soft_online,
	.offline = soft_offline,
	.recover = soft_offline,
	.query = soft_query,
	.configure = soft_configure,
	.start = soft_start,
	.stop = soft_stop,
	.pause = soft_pause,
	.resume = soft_nothing,
	.count = soft_count,
	.drain = soft_drain,
};
