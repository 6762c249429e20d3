// SPDX-License-Identifier: GPL-2.0-only
/* Loads choice_kernel.bpf.c, fills its maps with the rules, and receives its events. */
#include "programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <limits.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "daemon/choice_kernel.skel.h"
#include "rules.h"

struct programs {
	struct choice_kernel *kernel;
	struct ring_buffer *events;
	void (*event)(void *argument, const struct choice_event *event);
	void *argument;
};

static int take(void *argument, void *data, size_t size)
{
	const struct programs *programs = argument;

	if (size >= sizeof(struct choice_event))
		programs->event(programs->argument, data);
	return 0;
}

static int load(struct programs *programs, bool kfuncs, bool wide)
{
	struct choice_kernel *kernel = choice_kernel__open();
	int error;

	if (!kernel)
		return -errno;
	programs->kernel = kernel;
	kernel->rodata->kfuncs = kfuncs;
	kernel->rodata->wide = wide;
	error = choice_kernel__load(kernel);
	if (!error)
		error = choice_kernel__attach(kernel);
	if (error)
		return error;
	programs->events = ring_buffer__new(bpf_map__fd(kernel->maps.events), take, programs, NULL);
	return programs->events ? 0 : -errno;
}

int programs_open(bool kfuncs, bool wide,
		  void (*event)(void *argument, const struct choice_event *event), void *argument,
		  struct programs **result)
{
	struct programs *programs = calloc(1, sizeof(*programs));
	int error;

	if (!programs)
		return -ENOMEM;
	programs->event = event;
	programs->argument = argument;
	/* The attempt may fail; who tries reports the reason. */
	libbpf_set_print(NULL);
	error = load(programs, kfuncs, wide);
	if (error)
		programs_close(programs);
	else
		*result = programs;
	return error;
}

/* Everything that a map has; keys of at most this size. */
static void empty(int map)
{
	char key[CHOICE_PATH];

	while (!bpf_map_get_next_key(map, NULL, key))
		if (bpf_map_delete_elem(map, key))
			return;
}

static int add_flags(int map, const void *key, uint32_t flags)
{
	uint32_t before = 0;

	bpf_map_lookup_elem(map, key, &before);
	flags |= before;
	return bpf_map_update_elem(map, key, &flags, BPF_ANY);
}

/* By its path, for when it comes; and by its number, if it is there. */
static int set_cgroups(struct programs *programs, const struct conf_list *list, const char *mount,
		       uint32_t flags)
{
	const int paths = bpf_map__fd(programs->kernel->maps.paths);
	const int cgroups = bpf_map__fd(programs->kernel->maps.cgroups);
	int error = 0;

	for (size_t i = 0; i < list->n && !error; i++) {
		char path[CHOICE_PATH] = { 0 }, file[PATH_MAX];
		struct stat status;
		uint64_t id;

		rules_path(list->items[i], mount, path);
		/* After the text there may be what it was before it was cut. */
		memset(path + strlen(path), 0, sizeof(path) - strlen(path));
		error = add_flags(paths, path, flags);
		snprintf(file, sizeof(file), "%s%s", mount ? mount : "", path);
		if (error || !mount || stat(file, &status))
			continue;
		id = status.st_ino;
		error = add_flags(cgroups, &id, flags);
	}
	return error;
}

int programs_configure(struct programs *programs, const struct conf *conf,
		       const struct choice_rules *rules, const char *mount)
{
	int error;

	empty(bpf_map__fd(programs->kernel->maps.paths));
	empty(bpf_map__fd(programs->kernel->maps.cgroups));
	programs->kernel->bss->rules = *rules;
	error = set_cgroups(programs, &conf->cgroups, mount, CHOICE_WANTED);
	return error ? error : set_cgroups(programs, &conf->not_cgroups, mount, CHOICE_UNWANTED);
}

int programs_mark(struct programs *programs, uint32_t pid, uint32_t flags)
{
	const int map = bpf_map__fd(programs->kernel->maps.processes);

	if (flags)
		return bpf_map_update_elem(map, &pid, &flags, BPF_ANY);
	bpf_map_delete_elem(map, &pid);
	return 0;
}

uint32_t programs_marked(const struct programs *programs, uint32_t pid)
{
	uint32_t flags = 0;

	bpf_map_lookup_elem(bpf_map__fd(programs->kernel->maps.processes), &pid, &flags);
	return flags;
}

void programs_key(struct programs *programs, uint64_t key)
{
	__atomic_store_n(&programs->kernel->bss->key, key, __ATOMIC_RELEASE);
}

int programs_fd(const struct programs *programs)
{
	return ring_buffer__epoll_fd(programs->events);
}

void programs_serve(struct programs *programs)
{
	ring_buffer__consume(programs->events);
}

void programs_end(struct programs *programs)
{
	const struct timespec grace = { .tv_nsec = 100000000 };

	programs_key(programs, 0);
	/* Who has read the key before is in an RCU section, which this waits for. */
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		nanosleep(&grace, NULL);
	programs_serve(programs);
}

uint64_t programs_missed(const struct programs *programs)
{
	return __atomic_load_n(&programs->kernel->bss->missed, __ATOMIC_RELAXED);
}

uint64_t programs_stops(const struct programs *programs)
{
	return __atomic_load_n(&programs->kernel->bss->stops, __ATOMIC_RELAXED);
}

void programs_close(struct programs *programs)
{
	if (!programs)
		return;
	if (programs->kernel)
		choice_kernel__detach(programs->kernel);
	if (programs->events)
		ring_buffer__consume(programs->events);
	ring_buffer__free(programs->events);
	choice_kernel__destroy(programs->kernel);
	free(programs);
}
