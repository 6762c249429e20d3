/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FLOWTAP_TIMER_H
#define FLOWTAP_TIMER_H

#include <linux/hrtimer.h>
#include <linux/timekeeping.h>

/*
 * On this CPU, in `ns`. Also while time is suspended: what is relative to now would ask for it.
 */
static inline void timer_start_in(struct hrtimer *timer, u64 ns)
{
	hrtimer_start(timer, ns_to_ktime(ktime_get_mono_fast_ns() + ns),
		      HRTIMER_MODE_ABS_PINNED_HARD);
}

#endif /* FLOWTAP_TIMER_H */
