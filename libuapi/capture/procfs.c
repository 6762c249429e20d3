// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Parses the text of /proc and /sys, and reads build-ids of mapped files, by PROCMAP_QUERY where
 * the kernel has it.
 */
#include "capture/procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/hash_table.h"
#include "base/read_at.h"
#include "base/regular.h"
#include "capture/mounts.h"

#define CPUS_MAX 65536

int flowtap_proc_online(uint32_t **out, size_t *n)
{
	FILE *file = fopen("/sys/devices/system/cpu/online", "re");
	uint32_t *cpus = NULL, first, last;
	int err = file ? 0 : -errno;

	/* "0-3,5": ranges and single numbers */
	for (*n = 0; !err && fscanf(file, "%u", &first) == 1;) {
		uint32_t *more;
		int next = fgetc(file);

		last = first;
		if (next == '-' && fscanf(file, "%u", &last) == 1)
			next = fgetc(file);
		if (last < first || last >= CPUS_MAX)
			err = -EPROTO;
		more = err ? NULL : realloc(cpus, (*n + last - first + 1) * sizeof(cpus[0]));
		if (more)
			cpus = more;
		else if (!err)
			err = -ENOMEM;
		while (!err && first <= last)
			cpus[(*n)++] = first++;
		if (next != ',')
			break;
	}
	if (file)
		fclose(file);
	if (err)
		free(cpus);
	else
		*out = cpus;
	return err;
}

/* Calls visit for each number that is a name in the directory. */
static int each_number(const char *path, flowtap_proc_visit visit, void *argument)
{
	DIR *directory = opendir(path);
	struct dirent *entry;
	int result = 0;

	if (!directory)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!result && (entry = readdir(directory))) {
		char *end;
		unsigned long id = strtoul(entry->d_name, &end, 10);

		if (!*end && id && id <= UINT32_MAX)
			result = visit(argument, (uint32_t)id);
	}
	closedir(directory);
	return result;
}

int flowtap_proc_each_process(flowtap_proc_visit visit, void *argument)
{
	return each_number("/proc", visit, argument);
}

int flowtap_proc_each_thread(uint32_t pid, flowtap_proc_visit visit, void *argument)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	return each_number(path, visit, argument);
}

struct children {
	uint32_t pid;
	flowtap_proc_visit visit;
	void *argument;
};

static int each_child_of_thread(void *argument, uint32_t tid)
{
	struct children *children = argument;
	char path[64];
	uint32_t child;
	int result = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/children", children->pid, tid);
	file = fopen(path, "re");
	if (!file) {
		/* The thread is gone, or the list is not there at all. */
		snprintf(path, sizeof(path), "/proc/%u/task/%u/stat", children->pid, tid);
		return errno == ENOENT && !access(path, F_OK) ? -ENOENT : 0;
	}
	while (!result && fscanf(file, "%u", &child) == 1)
		result = children->visit(children->argument, child);
	fclose(file);
	return result;
}

int flowtap_proc_each_child(uint32_t pid, flowtap_proc_visit visit, void *argument)
{
	struct children children = { pid, visit, argument };
	int result = flowtap_proc_each_thread(pid, each_child_of_thread, &children);

	return result == -ESRCH ? 0 : result;
}

bool flowtap_proc_status(uint32_t pid, uint32_t tid, struct flowtap_proc_status *status)
{
	char path[64], text[1024], *open_mark, *close_mark;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/stat", pid, tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = 0;
	/* The name is in brackets and can hold brackets itself. */
	open_mark = strchr(text, '(');
	close_mark = strrchr(text, ')');
	if (!open_mark || !close_mark || close_mark < open_mark)
		return false;
	*close_mark = 0;
	snprintf(status->comm, sizeof(status->comm), "%.15s", open_mark + 1);
	return sscanf(close_mark + 1, " %*c %u %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d"
		      " %*d %*d %*d %*d %" SCNu64, &status->parent, &status->started) == 2;
}

uint64_t flowtap_proc_program(uint32_t pid)
{
	struct statx status;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO, &status))
		return 0;
	return flowtap_hash_words((uint64_t[]) { status.stx_dev_major, status.stx_dev_minor,
						 status.stx_ino }, 3);
}

/* The kernel writes a line feed in a path as \012. */
static void unescape(char *path)
{
	char *to = path;

	for (const char *from = path; *from; to++) {
		bool escaped = !strncmp(from, "\\012", 4);

		*to = escaped ? '\n' : *from;
		from += escaped ? 4 : 1;
	}
	*to = 0;
}

/* One line of maps. False: it is not of an executable mapping. */
static bool parse(char *line, struct flowtap_proc_mapping *mapping)
{
	char rights[5];
	int path = 0;

	line[strcspn(line, "\n")] = 0;
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
		   &mapping->start, &mapping->end, rights, &mapping->file_offset,
		   &mapping->file.major, &mapping->file.minor, &mapping->file.inode,
		   &path) < 7 || rights[2] != 'x' || mapping->end <= mapping->start)
		return false;
	mapping->writable = rights[1] == 'w';
	mapping->shared = rights[3] == 's';
	mapping->path = path && line[path] ? line + path : "//anon";
	if (path)
		unescape(line + path);
	if (mapping->path[0] != '/' || mapping->path[1] == '/')
		mapping->file_offset = 0;
	return true;
}

int flowtap_proc_each_mapping(uint32_t pid, void *argument,
			      int (*visit)(void *argument,
					   const struct flowtap_proc_mapping *mapping))
{
	struct flowtap_proc_mapping mapping;
	char name[64], *line = NULL;
	size_t capacity = 0;
	int result = 0;
	FILE *maps;

	snprintf(name, sizeof(name), "/proc/%u/maps", pid);
	maps = fopen(name, "re");
	if (!maps)
		return errno == ENOENT ? -ESRCH : -errno;
	mapping.maps = fileno(maps);
	while (!result && getline(&line, &capacity, maps) > 0)
		if (parse(line, &mapping))
			result = visit(argument, &mapping);
	free(line);
	fclose(maps);
	return result;
}

bool flowtap_proc_is_nameless(const char *path)
{
	static const char mark[] = " (deleted)";
	size_t size = strlen(path);

	if (path[0] == '[')
		return !strncmp(path, "[anon", 5);
	return path[0] != '/' || path[1] == '/' || !strncmp(path, "/memfd:", 7) ||
	       !strncmp(path, "/SYSV", 5) || !strncmp(path, "/dev/zero", 9) ||
	       (size > sizeof(mark) && !strcmp(path + size - (sizeof(mark) - 1), mark));
}

/* path_fd: of a file whose file system answers, or negative; taken. */
static struct flowtap_build_id id_of(int path_fd)
{
	int fd = path_fd < 0 ? path_fd : flowtap_open_regular(path_fd);
	struct flowtap_build_id id = { 0 };
	struct flowtap_elf *elf;

	if (fd < 0)
		return id;
	if (!flowtap_elf_open(fd, &elf)) {
		id = flowtap_elf_build_id(elf);
		flowtap_elf_close(elf);
	}
	close(fd);
	return id;
}

/*
 * The path of a file below the folder, and which it is; -1. Whoever mapped it may have a file system
 * of his own on the way by now: none is asked, neither for names nor for what the file is.
 */
static int look_up(const char *folder, const char *path, struct flowtap_proc_file *file)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_CACHED | RESOLVE_IN_ROOT,
	};
	int root = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC), fd;
	struct statx status;

	if (root < 0)
		return -1;
	fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	close(root);
	if (fd < 0)
		return -1;
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &status)) {
		close(fd);
		return -1;
	}
	*file = (struct flowtap_proc_file){
		status.stx_dev_major, status.stx_dev_minor, status.stx_ino,
	};
	return fd;
}

/* The same if it is this one. */
static int find_file(const char *folder, const char *path, const struct flowtap_proc_file *file)
{
	struct flowtap_proc_file found;
	int fd = look_up(folder, path, &found);

	if (fd < 0 || (found.major == file->major && found.minor == file->minor &&
		       found.inode == file->inode))
		return fd;
	close(fd);
	return -1;
}

bool flowtap_proc_file_at(uint32_t pid, const char *path, struct flowtap_proc_file *file)
{
	char root[64];
	int fd;

	snprintf(root, sizeof(root), "/proc/%u/root", pid);
	fd = look_up(root, path, file);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

struct flowtap_build_id flowtap_proc_build_id_of(uint32_t pid, const char *path,
						 const struct flowtap_proc_file *file,
						 struct flowtap_mounts *mounts)
{
	struct flowtap_build_id id = { 0 };
	char root[64];

	if (path[0] != '/' || path[1] == '/' || !file->inode ||
	    !flowtap_mounts_answer(mounts, file->major, file->minor))
		return id;
	/* Paths are the process's own: it may live in another root. */
	snprintf(root, sizeof(root), "/proc/%u/root", pid);
	id = id_of(find_file(root, path, file));
	return id.size ? id : id_of(find_file("/", path, file));
}

#ifndef PROCMAP_QUERY
/* Headers older than the running kernel may be: as in linux/fs.h of 6.11. */
#define PROCMAP_QUERY _IOWR('f', 17, struct procmap_query)

struct procmap_query {
	uint64_t size;
	uint64_t query_flags;
	uint64_t query_addr;
	uint64_t vma_start;
	uint64_t vma_end;
	uint64_t vma_flags;
	uint64_t vma_page_size;
	uint64_t vma_offset;
	uint64_t inode;
	uint32_t dev_major;
	uint32_t dev_minor;
	uint32_t vma_name_size;
	uint32_t build_id_size;
	uint64_t vma_name_addr;
	uint64_t build_id_addr;
};
#endif

/* Since Linux 6.11 the kernel has the build-id itself, also of files that we may not open. */
static struct flowtap_build_id ask_kernel(const struct flowtap_proc_mapping *mapping)
{
	struct flowtap_build_id id = { 0 };
	struct procmap_query query = {
		.size = sizeof(query),
		.query_addr = mapping->start,
		.build_id_size = sizeof(id.bytes),
		.build_id_addr = (uintptr_t)id.bytes,
	};

	if (!ioctl(mapping->maps, PROCMAP_QUERY, &query) &&
	    query.build_id_size <= sizeof(id.bytes))
		id.size = (uint8_t)query.build_id_size;
	return id;
}

struct flowtap_build_id flowtap_proc_build_id(uint32_t pid,
					      const struct flowtap_proc_mapping *mapping,
					      struct flowtap_mounts *mounts)
{
	const struct flowtap_proc_file *file = &mapping->file;
	struct flowtap_build_id id = { 0 };
	char name[128];

	if (mapping->path[0] != '/' || !file->inode ||
	    !flowtap_mounts_answer(mounts, file->major, file->minor))
		return id;
	id = ask_kernel(mapping);
	if (id.size)
		return id;
	snprintf(name, sizeof(name), "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, pid,
		 mapping->start, mapping->end);
	id = id_of(open(name, O_PATH | O_CLOEXEC));
	return id.size ? id : flowtap_proc_build_id_of(pid, mapping->path, file, mounts);
}

int flowtap_proc_memory(uint32_t pid, uint64_t address, void *bytes, size_t size)
{
	char name[64];
	int fd, err;

	snprintf(name, sizeof(name), "/proc/%u/mem", pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = flowtap_read_all_at(fd, bytes, size, address, -EIO);
	close(fd);
	return err;
}
