// SPDX-License-Identifier: GPL-2.0-only
/*
 * Code that changes under the same addresses within a few transfers: two libraries are mapped in
 * turn over each other, and a few instructions of each are executed.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "workload.h"

struct library {
	int fd;
	size_t size;
	size_t offset;			/* of library_work in the file */
};

static int find(struct library *library, const char *directory, const char *name)
{
	char path[PATH_MAX + 32];
	struct stat st;
	Dl_info info;
	void *handle, *work;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	work = handle ? dlsym(handle, "library_work") : NULL;
	library->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (!work || !dladdr(work, &info) || library->fd < 0 || fstat(library->fd, &st))
		return 0;
	/* The first segment, which has the code, begins at the file's first byte. */
	library->offset = (char *)work - (char *)info.dli_fbase;
	library->size = (st.st_size + 4095) & ~4095UL;
	return !dlclose(handle);
}

static uint64_t use(const struct library *library, char *at, uint64_t x)
{
	uint64_t (*work)(uint64_t, uint64_t) =
		(uint64_t (*)(uint64_t, uint64_t))(at + library->offset);

	mmap(at, library->size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, library->fd, 0);
	return work(x, 4);
}

/* The same without libraries. */
static uint64_t expect(int which, uint64_t x)
{
	for (uint64_t i = 1; i < 4; i++) {
		if (which)
			x = (x & 1 ? x * 3 + i : x >> 1) + 12345;
		else
			x = (x % 5 == 2 ? x ^ i : x + x / 7) + 12345;
	}
	return x;
}

int main(int argc, char **argv)
{
	unsigned long amount = begin(argc, argv, 1000);
	struct library libraries[2];
	uint64_t sum = 1, want = 1;
	char path[PATH_MAX], *at;
	int right;

	strncpy(path, argv[0], sizeof(path) - 1);
	path[sizeof(path) - 1] = 0;
	dirname(path);
	right = find(&libraries[0], path, "library_a.so") &&
		find(&libraries[1], path, "library_b.so");
	at = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (unsigned long i = 0; i < amount && right; i++) {
		sum = use(&libraries[i & 1], at, sum);
		want = expect(i & 1, want);
		right = sum == want;
	}
	return end("remap", right, sum);
}
