// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Tries the recorded path and the .build-id directories below the system root, then the directory
 * of saved images, and compares build-ids.
 */
#include "code/locate.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/regular.h"

#define HEX (2 * FLOWTAP_BUILD_ID_MAX + 1)

static void hex(const struct flowtap_build_id *id, char text[HEX])
{
	text[0] = 0;
	for (int i = 0; i < id->size; i++)
		snprintf(text + 2 * i, 3, "%02x", id->bytes[i]);
}

static bool climbs(const char *path)
{
	for (const char *dots = strstr(path, "/.."); dots; dots = strstr(dots + 3, "/.."))
		if (!dots[3] || dots[3] == '/')
			return true;
	return false;
}

/* path begins with '/'. Links do not lead out of root where the kernel has openat2. */
static int open_below(int root, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(flags | O_CLOEXEC),
		.resolve = RESOLVE_IN_ROOT,
	};
	int fd, tries = 0;

	do {
		fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	} while (fd < 0 && (errno == EINTR || (errno == EAGAIN && ++tries < 16)));
	if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
		return fd >= 0 ? fd : -errno;
	if (climbs(path))
		return -ENOENT;
	fd = openat(root, path + strspn(path, "/"), flags | O_CLOEXEC);
	return fd >= 0 ? fd : -errno;
}

/* Of who can change the path, and has no /proc, there is no protection. */
static int open_without_proc(int root, const char *path)
{
	struct stat status;
	int fd = open_below(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);

	if (fd >= 0 && (fstat(fd, &status) || !S_ISREG(status.st_mode))) {
		close(fd);
		return -ENOEXEC;
	}
	return fd;
}

static int open_regular(int root, const char *path)
{
	int fd = open_below(root, path, O_PATH);

	if (fd < 0)
		return fd;
	fd = flowtap_open_regular(fd);
	return fd == -ENOENT ? open_without_proc(root, path) : fd;
}

/* What a file says that it is. */
struct identity {
	struct flowtap_build_id id;
	uint16_t machine;		/* EM_NONE: it is no ELF file */
};

static struct identity identify(int fd)
{
	struct identity identity = { .machine = EM_NONE };
	struct flowtap_elf *elf;

	if (flowtap_elf_open(fd, &elf))
		return identity;
	identity.id = flowtap_elf_build_id(elf);
	identity.machine = flowtap_elf_machine(elf);
	flowtap_elf_close(elf);
	return identity;
}

static bool is_of(uint16_t found, enum flowtap_machine machine)
{
	switch (machine) {
	case FLOWTAP_MACHINE_RISCV:
		return found == EM_RISCV;
	case FLOWTAP_MACHINE_ARM:
		return found == EM_AARCH64 || found == EM_ARM;
	default:
		return found != EM_NONE;
	}
}

static bool is_same(const struct flowtap_build_id *a, const struct flowtap_build_id *b)
{
	return a->size == b->size && !memcmp(a->bytes, b->bytes, a->size);
}

/* What it has, and what was recorded. */
static void explain(const char *path, const struct identity *found,
		    const struct flowtap_build_id *id, char why[FLOWTAP_WHY])
{
	char has[HEX], wants[HEX];

	hex(&found->id, has);
	hex(id, wants);
	if (id->size)
		snprintf(why, FLOWTAP_WHY, "%.300s has %s%s, the recorded build-id is %s", path,
			 found->id.size ? "build-id " : "no build-id", has, wants);
	else
		snprintf(why, FLOWTAP_WHY, "%.300s is %s, and no build-id was recorded", path,
			 found->machine ? "of another machine" : "no ELF file");
}

/*
 * path with this build-id, or, where there is none, of that machine. The fd, or -errno and why.
 */
static int try(int root, const char *path, const struct flowtap_build_id *id,
	       enum flowtap_machine machine, char why[FLOWTAP_WHY])
{
	return flowtap_locate_check(open_regular(root, path), path, id, machine, why);
}

int flowtap_locate_check(int fd, const char *path, const struct flowtap_build_id *id,
			 enum flowtap_machine machine, char why[FLOWTAP_WHY])
{
	struct identity found;

	if (fd < 0) {
		snprintf(why, FLOWTAP_WHY, "%.300s: %s", path,
			 fd == -ENOEXEC ? "not a regular file" : strerrordesc_np(-fd));
		return fd;
	}
	found = identify(fd);
	if (id->size ? is_same(&found.id, id) : is_of(found.machine, machine))
		return fd;
	close(fd);
	explain(path, &found, id, why);
	return -ESTALE;
}

static int try_in(int root, const char *directory, const struct flowtap_build_id *id,
		  const char *suffix)
{
	char path[96], text[HEX], why[FLOWTAP_WHY];

	if (id->size < 2)
		return -ENOENT;
	hex(id, text);
	snprintf(path, sizeof(path), "%s/%.2s/%s%s", directory, text, text + 2, suffix);
	return try(root, path, id, FLOWTAP_MACHINE_ANY, why);
}

/* In the directories of files by build-id. */
static int try_by_id(int root, const struct flowtap_build_id *id, const char *suffix)
{
	int fd = try_in(root, "/usr/lib/debug/.build-id", id, suffix);

	return fd >= 0 ? fd : try_in(root, "/.build-id", id, suffix);
}

/* The same for code: the file itself, or a directory of perf's cache, which perf archive packs. */
static int try_code_by_id(int root, const struct flowtap_build_id *id)
{
	static const char *const suffixes[] = { "", "/elf", "/vdso" };
	int fd = -ENOENT;

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]) && fd < 0; i++)
		fd = try_by_id(root, id, suffixes[i]);
	return fd;
}

static int open_root(const char *sysroot)
{
	int root = open(sysroot ? sysroot : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return root < 0 ? -errno : root;
}

bool flowtap_locate_deleted(const char *path, char stripped[PATH_MAX])
{
	static const char mark[] = " (deleted)";
	size_t size = strlen(path);

	if (size < sizeof(mark) || size >= PATH_MAX ||
	    strcmp(path + size - (sizeof(mark) - 1), mark))
		return false;
	size -= sizeof(mark) - 1;
	memcpy(stripped, path, size);
	stripped[size] = 0;
	return true;
}

static int locate(int root, const char *path, const struct flowtap_build_id *id,
		  enum flowtap_machine machine, char why[FLOWTAP_WHY])
{
	char stripped[PATH_MAX];
	int fd, by_id;

	/* "[vdso]", "//anon", "": a copy of it may be there by its build-id. */
	if (path[0] != '/' || path[1] == '/') {
		snprintf(why, FLOWTAP_WHY, "%.300s: not a file, and its bytes were not recorded",
			 path[0] ? path : "anonymous memory");
		return try_code_by_id(root, id);
	}
	fd = try(root, path, id, machine, why);
	if (fd == -ENOENT && flowtap_locate_deleted(path, stripped)) {
		if (id->size)
			fd = try(root, stripped, id, machine, why);
		else
			snprintf(why, FLOWTAP_WHY, "%.300s, and it had no build-id", path);
	}
	if (fd >= 0)
		return fd;
	by_id = try_code_by_id(root, id);
	return by_id >= 0 ? by_id : fd;
}

/* Where they were saved by build-id. */
static int try_images(const char *images, const struct flowtap_build_id *id)
{
	int root = open_root(images), fd = root;

	if (root >= 0) {
		fd = try_in(root, "", id, "");
		close(root);
	}
	return fd;
}

int flowtap_locate_code(const char *sysroot, const char *images, const char *path,
			const struct flowtap_build_id *id, enum flowtap_machine machine,
			char why[FLOWTAP_WHY])
{
	int saved = errno, root, fd, saved_image;

	root = open_root(sysroot);
	if (root < 0) {
		snprintf(why, FLOWTAP_WHY, "%.300s: %s", sysroot ? sysroot : "/",
			 strerrordesc_np(-root));
		errno = saved;
		return root;
	}
	fd = locate(root, path, id, machine, why);
	close(root);
	if (fd < 0 && images) {
		saved_image = try_images(images, id);
		fd = saved_image >= 0 ? saved_image : fd;
	}
	errno = saved;
	return fd;
}

static struct flowtap_build_id recorded(const struct flowtap_mapping *mapping)
{
	struct flowtap_build_id id = { .size = mapping->build_id_size };

	memcpy(id.bytes, mapping->build_id, sizeof(id.bytes));
	return id;
}

bool flowtap_mapping_is(const struct flowtap_mapping *mapping, int fd)
{
	const struct flowtap_build_id wanted = recorded(mapping);
	int saved = errno;
	const struct flowtap_build_id found = identify(fd).id;

	errno = saved;
	return found.size && is_same(&found, &wanted);
}

int flowtap_locate_in(int root, const char *path)
{
	int saved = errno, fd = -ENAMETOOLONG;
	char rooted[PATH_MAX];

	if (snprintf(rooted, sizeof(rooted), "/%s", path) < (int)sizeof(rooted))
		fd = open_regular(root, rooted);
	errno = saved;
	return fd;
}

int flowtap_locate_debug(const char *sysroot, const struct flowtap_build_id *id)
{
	int saved = errno, root = open_root(sysroot), fd = root;

	if (root >= 0) {
		fd = try_by_id(root, id, ".debug");
		fd = fd < 0 ? try_by_id(root, id, "/debug") : fd;
		close(root);
	}
	errno = saved;
	return fd;
}
