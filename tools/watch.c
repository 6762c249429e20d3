// SPDX-License-Identifier: GPL-2.0-only
#include "watch.h"

#include "tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define TICK_MS 200

enum { SIGNALS, TIMER, WORKLOAD, FIXED };

void watch_block(struct watch *watch)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, &watch->mask);
}

static int open_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
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

int watch_open(struct watch *watch, struct streams *streams, struct flowtap_sideband *sideband,
	       int pidfd, uint64_t duration)
{
	int sides = flowtap_sideband_fds(sideband, NULL, 0);
	size_t n = streams->n + (size_t)sides + FIXED;
	int *side_fds = calloc((size_t)sides + 1, sizeof(*side_fds));

	watch->fds = calloc(n, sizeof(*watch->fds));
	if (!watch->fds || !side_fds) {
		free(side_fds);
		complain("no memory");
		return -ENOMEM;
	}
	flowtap_sideband_fds(sideband, side_fds, sides);
	for (size_t i = 0; i < n; i++)
		watch->fds[i].events = POLLIN;
	for (size_t i = 0; i < streams->n; i++)
		watch->fds[i].fd = streams->all[i].fd;
	for (int i = 0; i < sides; i++)
		watch->fds[streams->n + (size_t)i].fd = side_fds[i];
	free(side_fds);
	watch->streams = streams;
	watch->n = n;
	watch->fixed = n - FIXED;
	watch->fds[watch->fixed + SIGNALS].fd = open_signals();
	watch->fds[watch->fixed + TIMER].fd = open_timer(duration);
	watch->fds[watch->fixed + WORKLOAD].fd = pidfd;
	if (watch->fds[watch->fixed + SIGNALS].fd < 0 || watch->fds[watch->fixed + TIMER].fd < 0) {
		complain("cannot watch signals and time: %s", strerror(errno));
		return -EMFILE;
	}
	return 0;
}

/* Those that hung up would make every poll return at once. */
static void drop_ended(struct watch *watch)
{
	for (nfds_t i = 0; i < watch->fixed; i++) {
		if (!(watch->fds[i].revents & (POLLHUP | POLLERR | POLLNVAL)))
			continue;
		if (i < watch->streams->n)
			watch->streams->all[i].ended = true;
		watch->fds[i].fd = -1;
	}
}

static bool all_ended(const struct watch *watch)
{
	for (size_t i = 0; i < watch->streams->n; i++)
		if (!watch->streams->all[i].ended)
			return false;
	return true;
}

bool watch_wait(struct watch *watch, bool tick)
{
	const struct pollfd *fixed = &watch->fds[watch->fixed];

	if (poll(watch->fds, watch->n, tick ? TICK_MS : -1) <= 0)
		return false;
	drop_ended(watch);
	watch->elapsed = fixed[TIMER].revents;
	return fixed[SIGNALS].revents || watch->elapsed || fixed[WORKLOAD].revents ||
	       all_ended(watch);
}

void watch_release(struct watch *watch)
{
	struct signalfd_siginfo info;

	while (read(watch->fds[watch->fixed + SIGNALS].fd, &info, sizeof(info)) > 0)
		;
	sigprocmask(SIG_SETMASK, &watch->mask, NULL);
}

void watch_close(struct watch *watch)
{
	if (watch->fds && watch->n) {
		close(watch->fds[watch->fixed + SIGNALS].fd);
		close(watch->fds[watch->fixed + TIMER].fd);
	}
	free(watch->fds);
	watch->fds = NULL;
	watch->n = 0;
}
