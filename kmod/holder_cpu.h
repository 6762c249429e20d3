/* SPDX-License-Identifier: GPL-2.0-only */
/* The list of streams of each CPU, and what becomes of their recording where a CPU comes or goes. */
#ifndef FLOWTAP_KMOD_HOLDER_CPU_H
#define FLOWTAP_KMOD_HOLDER_CPU_H

#include <linux/types.h>

struct flowtap_query;
struct flowtap_source_user;
struct flowtap_stream;

/* What happens to a CPU, for source_init(). */
extern const struct flowtap_source_user holder_source_user;

/**
 * holder_init() - allocate what each CPU needs
 *
 * Context: the module's load, before source_init(); may sleep.
 * Return: 0 or -ENOMEM.
 */
int holder_init(void);

/**
 * holder_exit() - free what each CPU needed
 *
 * Context: the module's unload, after source_exit(); may sleep.
 */
void holder_exit(void);

/**
 * holder_attach() - put a stream into its CPU's list
 * @stream: not enabled.
 *
 * Context: may sleep.
 * Return: 0; -EBUSY: a second CPU-wide stream.
 */
int holder_attach(struct flowtap_stream *stream);

/**
 * holder_detach() - take a stream out of its CPU's list
 * @stream: attached.
 *
 * The CPU does not find the stream any more, also if somebody enables it. Who was about to give it
 * the source may do so yet: holder_release() now, and once more after a grace period.
 *
 * Context: may sleep.
 */
void holder_detach(struct flowtap_stream *stream);

/**
 * holder_query() - name the stream that holds a CPU's source, for QUERY
 * @cpu: any that is possible.
 * @query: gets its owner's pid in the caller's namespace and its name; neither where the pid is not
 *	visible there.
 *
 * Context: process context.
 */
void holder_query(u32 cpu, struct flowtap_query *query);

/**
 * holder_onlines() - how often a CPU has come online
 * @cpu: any that is possible.
 *
 * Context: any.
 * Return: 0 where it has not since the module was loaded; low-power states do not count.
 */
u64 holder_onlines(u32 cpu);

#endif /* FLOWTAP_KMOD_HOLDER_CPU_H */
