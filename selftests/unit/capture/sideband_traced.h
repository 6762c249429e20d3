/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The traced side of sideband.c: with ROLE in its environment the program maps copies of a library,
 * and reports an address of each with what stands there.
 */
#ifndef FLOWTAP_SELFTESTS_UNIT_CAPTURE_SIDEBAND_TRACED_H
#define FLOWTAP_SELFTESTS_UNIT_CAPTURE_SIDEBAND_TRACED_H

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROBE 32		/* bytes of code that are compared */
/* Where its orders come from, and its reports go to. */
#define ORDERS 100
#define REPORTS 101

/* What the traced process says about one place. */
struct report {
	uint32_t pid;
	uint32_t parent;
	uint64_t address;
	uint64_t time;
	char what[16];
	uint8_t bytes[PROBE];
};

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC_RAW, &time);
	return (uint64_t)time.tv_sec * 1000000000ULL + (uint64_t)time.tv_nsec;
}

static void tell(const char *what, const void *address)
{
	struct report report = {
		.pid = (uint32_t)getpid(),
		.parent = (uint32_t)getppid(),
		.address = (uintptr_t)address,
		.time = now(),
	};

	snprintf(report.what, sizeof(report.what), "%s", what);
	memcpy(report.bytes, address, PROBE);
	if (write(REPORTS, &report, sizeof(report)) != sizeof(report))
		_exit(3);
}

/* Waits until the tracer has looked. */
static void wait_order(void)
{
	char order;

	if (read(ORDERS, &order, 1) != 1)
		_exit(4);
}

static void *load(void *argument)
{
	char path[128];
	void *library, *symbol;

	snprintf(path, sizeof(path), "%s/%s.so", getenv("COPIES"), (const char *)argument);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	symbol = library ? dlsym(library, "elf_begin") : NULL;
	if (!symbol)
		_exit(5);
	tell(argument, symbol);
	return library;
}

/* In another thread. */
static void load_aside(const char *name)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, load, (void *)(uintptr_t)name) ||
	    pthread_join(thread, NULL))
		_exit(6);
}

/* What a JIT compiler leaves. */
static void make_code(void)
{
	uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);

	for (int i = 0; i < 4096; i++)
		page[i] = (uint8_t)(i * 5 + 1);
	mprotect(page, 4096, PROT_READ | PROT_EXEC);
	tell("jit", page + 64);
}

static void load_and_delete(const char *name)
{
	char path[128];

	load((void *)(uintptr_t)name);
	snprintf(path, sizeof(path), "%s/%s.so", getenv("COPIES"), name);
	unlink(path);
}

static void become(const char *role)
{
	setenv("ROLE", role, 1);
	execl("/proc/self/exe", role, NULL);
	_exit(7);
}

static void run_child(void)
{
	pid_t pid;

	tell("vdso", (const void *)(getauxval(AT_SYSINFO_EHDR) + 64));
	tell("main", dlsym(RTLD_DEFAULT, "elf_end"));
	wait_order();
	load_aside("thread");
	wait_order();
	pid = fork();
	if (pid == 0) {
		load((void *)(uintptr_t)"forked");
		wait_order();
		become("grandchild");
	}
	waitpid(pid, NULL, 0);
	load((void *)(uintptr_t)"last");
	wait_order();
}

__attribute__((constructor))
static void play_role(void)
{
	const char *role = getenv("ROLE");

	if (!role)
		return;
	if (!strcmp(role, "child")) {
		run_child();
	} else if (!strcmp(role, "grandchild")) {
		load((void *)(uintptr_t)"executed");
		wait_order();
	} else {
		load((void *)(uintptr_t)"before");
		load_and_delete("deleted");
		make_code();
		wait_order();
		run_child();
	}
	_exit(0);
}

#endif /* FLOWTAP_SELFTESTS_UNIT_CAPTURE_SIDEBAND_TRACED_H */
