/* SPDX-License-Identifier: GPL-2.0-only */
/* Timers of one CPU. */
#ifndef FLOWTAP_KMOD_TIMER_H
#define FLOWTAP_KMOD_TIMER_H

#include <linux/hrtimer.h>
#include <linux/timekeeping.h>

/**
 * timer_start_in() - start a timer on this CPU
 * @timer: of CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_HARD.
 * @ns: from now on.
 *
 * Works while time is suspended, where a timer relative to now would ask for it.
 *
 * Context: interrupts off.
 */
static inline void timer_start_in(struct hrtimer *timer, u64 ns)
{
	hrtimer_start(timer, ns_to_ktime(ktime_get_mono_fast_ns() + ns),
		      HRTIMER_MODE_ABS_PINNED_HARD);
}

#endif /* FLOWTAP_KMOD_TIMER_H */
