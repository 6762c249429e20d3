// SPDX-License-Identifier: GPL-2.0-only
/*
 * Libraries come and go: two different ones are loaded, used and unloaded in turn, so that they
 * land on the same addresses.
 */
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>

#include "workload.h"

static void *last;
static unsigned long again;

static int use(const char *directory, const char *name, uint64_t *sum)
{
	uint64_t (*work)(uint64_t, uint64_t);
	char path[PATH_MAX + 32];
	void *library;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 0;
	}
	work = (uint64_t (*)(uint64_t, uint64_t))dlsym(library, "library_work");
	again += (void *)work == last;
	last = (void *)work;
	for (int i = 0; i < 5; i++)
		*sum = work(*sum, 200);
	return !dlclose(library);
}

int main(int argc, char **argv)
{
	unsigned long amount = begin(argc, argv, 20);
	uint64_t sum = 1;
	char path[PATH_MAX];
	int right = 1;

	strncpy(path, argv[0], sizeof(path) - 1);
	path[sizeof(path) - 1] = 0;
	dirname(path);
	for (unsigned long i = 0; i < amount && right; i++)
		right = use(path, "library_a.so", &sum) && use(path, "library_b.so", &sum);
	/* The point of it: they did land on each other. */
	return end("dlopen", right && again, sum);
}
