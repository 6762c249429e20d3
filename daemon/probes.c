// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loads probes_kernel.bpf.c, attaches it to the configured functions and tracepoints, and receives their
 * events.
 */
#include "probes.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <flowtap/archive.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/probes_kernel.skel.h"

struct item {
	const char *text;		/* as it was written; the conf's */
	uint32_t cause;
	struct bpf_link *links[2];
};

struct probes {
	struct probes_kernel *kernel;
	struct ring_buffer *events;
	struct item items[PROBE_MAX];
	uint32_t n;
	uint64_t missed;		/* that an event reported */
	void (*event)(void *argument, const struct probe_event *event, uint32_t cause,
		      const char *text);
	void *argument;
};

static int take(void *argument, void *data, size_t size)
{
	const struct probes *probes = argument;
	const struct probe_event *event = data;
	char text[CONF_TEXT_MAX + 64];
	const struct item *item;

	if (size < sizeof(*event) || event->number >= probes->n)
		return 0;
	item = &probes->items[event->number];
	if (item->cause == FLOWTAP_ARCHIVE_CAUSE_LATENCY)
		snprintf(text, sizeof(text), "%s took=%llu.%03llu ms", item->text,
			 (unsigned long long)(event->took / 1000000),
			 (unsigned long long)(event->took / 1000 % 1000));
	else
		snprintf(text, sizeof(text), "%s", item->text);
	probes->event(probes->argument, event, item->cause, text);
	return 0;
}

/* --- Attaching. --- */

static int attach_function(const struct bpf_program *program, const struct conf_function *function,
			   uint32_t number, bool at_return, struct bpf_link **link)
{
	LIBBPF_OPTS(bpf_uprobe_opts, options, .func_name = function->name, .bpf_cookie = number,
		    .retprobe = at_return);

	*link = bpf_program__attach_uprobe_opts(program, -1, function->path, 0, &options);
	return *link ? 0 : -errno;
}

static int attach(struct probes *probes, struct item *item, uint32_t number)
{
	LIBBPF_OPTS(bpf_raw_tracepoint_opts, options, .cookie = number);
	struct probes_kernel *kernel = probes->kernel;
	struct conf_function function;
	int error;

	if (item->cause == FLOWTAP_ARCHIVE_CAUSE_TRACEPOINT) {
		item->links[0] = bpf_program__attach_raw_tracepoint_opts(kernel->progs.on_tracepoint,
									 item->text, &options);
		return item->links[0] ? 0 : -errno;
	}
	if (!conf_function(item->text, item->cause == FLOWTAP_ARCHIVE_CAUSE_LATENCY, &function))
		return -EINVAL;
	if (item->cause == FLOWTAP_ARCHIVE_CAUSE_UPROBE)
		return attach_function(kernel->progs.on_function, &function, number, false,
				       &item->links[0]);
	error = attach_function(kernel->progs.on_call, &function, number, false, &item->links[0]);
	return error ? error : attach_function(kernel->progs.on_return, &function, number, true,
					       &item->links[1]);
}

static void detach(struct item *item)
{
	bpf_link__destroy(item->links[0]);
	bpf_link__destroy(item->links[1]);
	item->links[0] = item->links[1] = NULL;
}

static void add(struct probes *probes, const struct conf_list *list, uint32_t cause)
{
	for (size_t i = 0; i < list->n && probes->n < PROBE_MAX; i++)
		probes->items[probes->n++] = (struct item){ .text = list->items[i], .cause = cause };
}

/* What the programs know is known before they are loaded. */
static int load(struct probes *probes, const struct conf *conf)
{
	struct conf_function function;
	int error;

	probes->kernel = probes_kernel__open();
	if (!probes->kernel)
		return -errno;
	probes->kernel->rodata->pause = conf->pause;
	for (uint32_t i = 0; i < probes->n; i++)
		if (probes->items[i].cause == FLOWTAP_ARCHIVE_CAUSE_LATENCY &&
		    conf_function(probes->items[i].text, true, &function))
			probes->kernel->rodata->limits[i] = function.limit;
	error = probes_kernel__load(probes->kernel);
	if (error)
		return error;
	probes->events = ring_buffer__new(bpf_map__fd(probes->kernel->maps.events), take, probes, NULL);
	return probes->events ? 0 : -errno;
}

int probes_open(const struct conf *conf,
		void (*failed)(void *argument, const char *item, int error), void *argument,
		struct probes **result)
{
	struct probes *probes;
	uint32_t attached = 0;
	int error;

	*result = NULL;
	if (!conf_probes(conf))
		return 0;
	probes = calloc(1, sizeof(*probes));
	if (!probes)
		return -ENOMEM;
	add(probes, &conf->uprobes, FLOWTAP_ARCHIVE_CAUSE_UPROBE);
	add(probes, &conf->tracepoints, FLOWTAP_ARCHIVE_CAUSE_TRACEPOINT);
	add(probes, &conf->latencies, FLOWTAP_ARCHIVE_CAUSE_LATENCY);
	/* Whoever opens them reports what does not work. */
	libbpf_set_print(NULL);
	error = load(probes, conf);
	for (uint32_t i = 0; i < probes->n && !error; i++) {
		int failure = attach(probes, &probes->items[i], i);

		attached += !failure;
		if (failure) {
			detach(&probes->items[i]);
			failed(argument, probes->items[i].text, failure);
		}
	}
	if (error || !attached)
		probes_close(probes);
	else
		*result = probes;
	return error;
}

int probes_fd(const struct probes *probes)
{
	return ring_buffer__epoll_fd(probes->events);
}

uint64_t probes_serve(struct probes *probes,
		      void (*event)(void *argument, const struct probe_event *event,
				    uint32_t cause, const char *text), void *argument)
{
	const uint64_t before = probes->missed;

	probes->event = event;
	probes->argument = argument;
	ring_buffer__consume(probes->events);
	probes->missed = __atomic_load_n(&probes->kernel->bss->missed, __ATOMIC_RELAXED);
	return probes->missed - before;
}

void probes_close(struct probes *probes)
{
	if (!probes)
		return;
	for (uint32_t i = 0; i < probes->n; i++)
		detach(&probes->items[i]);
	ring_buffer__free(probes->events);
	probes_kernel__destroy(probes->kernel);
	free(probes);
}
