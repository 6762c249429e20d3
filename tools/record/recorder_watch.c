// SPDX-License-Identifier: GPL-2.0-only
/* Adds a signalfd, a timerfd and the side band's descriptors to what the drain waits for. */
#include "record/recorder_watch.h"

#include "common/tool.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define TICK_MS 200

void watch_block(struct watch *watch, bool usr2)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	if (usr2)
		sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, &watch->mask);
}

/* Of those that are blocked: SIGUSR2 may not be, and is no signal of ours then. */
static int open_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR2 };
	struct sigaction action;
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		/* nohup and `command &` have them ignored: they stay so. */
		if (!sigaction(numbers[i], NULL, &action) && action.sa_handler != SIG_IGN)
			sigaddset(&set, numbers[i]);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int open_timer(uint64_t duration)
{
	struct itimerspec when = {
		.it_value = { .tv_sec = (time_t)(duration / 1000000000),
			      .tv_nsec = (long)(duration % 1000000000) },
	};
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd >= 0)
		timerfd_settime(fd, 0, &when, NULL);
	return fd;
}

/* Its number in the drain, or -errno. */
static int add(const struct watch *watch, int fd)
{
	return flowtap_drain_watch(watch->streams->session.drain, fd, POLLIN);
}

int watch_open(struct watch *watch, struct streams *streams, struct flowtap_sideband *sideband,
	       int pidfd, uint64_t duration)
{
	int error;

	watch->streams = streams;
	watch->signals = open_signals();
	watch->timer = open_timer(duration);
	watch->open = true;
	if (watch->signals < 0 || watch->timer < 0) {
		complain("cannot watch signals and time: %s", strerror(errno));
		return -EMFILE;
	}
	error = flowtap_session_watch_sideband(&streams->session, sideband);
	watch->signals_number = add(watch, watch->signals);
	watch->timer_number = add(watch, watch->timer);
	watch->workload_number = pidfd < 0 ? -1 : add(watch, pidfd);
	if (error || watch->signals_number < 0 || watch->timer_number < 0 ||
	    (pidfd >= 0 && watch->workload_number < 0)) {
		complain("no memory");
		return -ENOMEM;
	}
	return 0;
}

/* True: one that ends the recording came. */
static bool handle_signals(struct watch *watch)
{
	struct signalfd_siginfo info;
	bool over = false;

	while (read(watch->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGUSR2)
			watch->asked = true;
		else
			over = true;
	}
	return over;
}

bool watch_wait(struct watch *watch, bool tick)
{
	struct flowtap_drain *drain = watch->streams->session.drain;
	bool ended, streams_ended;

	if (flowtap_drain_wait(drain, tick ? TICK_MS : -1) <= 0)
		return false;
	/* Reports each once. */
	ended = flowtap_drain_events(drain, watch->workload_number);
	streams_ended = flowtap_session_ended(&watch->streams->session);
	if (flowtap_drain_events(drain, watch->timer_number))
		watch->elapsed = ended = true;
	ended |= handle_signals(watch);
	watch->abandoned = streams_ended && !ended;
	return streams_ended || ended;
}

void watch_release(struct watch *watch)
{
	struct signalfd_siginfo info;
	sigset_t mask, now;

	while (read(watch->signals, &info, sizeof(info)) > 0)
		;
	mask = watch->mask;
	if (sigprocmask(SIG_BLOCK, NULL, &now) == 0 && sigismember(&now, SIGUSR2) == 1)
		sigaddset(&mask, SIGUSR2);
	sigprocmask(SIG_SETMASK, &mask, NULL);
}

void watch_close(struct watch *watch)
{
	if (!watch->open)
		return;
	if (watch->signals >= 0)
		close(watch->signals);
	if (watch->timer >= 0)
		close(watch->timer);
	watch->open = false;
}
