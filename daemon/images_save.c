// SPDX-License-Identifier: GPL-2.0-only
/* Copies files to where they are found by their build-id; in a thread of its own. */
#include "images.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ioprio.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COPY (256U << 10)

_Static_assert(sizeof(struct images_request) <= 4096, "a pipe takes it as a whole");

void images_path(char path[64], const uint8_t *id, size_t size)
{
	int n = snprintf(path, 64, IMAGES "/");

	for (size_t i = 0; i < size && i < FLOWTAP_BUILD_ID_MAX; i++)
		n += snprintf(path + n, 64 - (size_t)n, i == 1 ? "/%02x" : "%02x", id[i]);
}

static void __attribute__((format(printf, 2, 3)))
miss(struct images_answer *answer, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(answer->why, sizeof(answer->why), format, list);
	va_end(list);
}

/* So many bytes, or all there are: its owner may let it grow for as long as it is copied. */
static bool copy(const struct images_saver *saver, int from, int to, uint64_t size)
{
	static char buffer[COPY];
	ssize_t n, one;

	for (; size; size -= (uint64_t)n) {
		n = read(from, buffer, size < sizeof(buffer) ? size : sizeof(buffer));
		if (n < 0 && errno == EINTR) {
			n = 0;
			continue;
		}
		if (!n)
			break;
		if (n < 0 || __atomic_load_n(&saver->over, __ATOMIC_ACQUIRE))
			return false;
		for (ssize_t done = 0; done < n; done += one) {
			one = write(to, buffer + done, (size_t)(n - done));
			if (one < 0)
				return false;
		}
	}
	return true;
}

static bool same(const struct stat *a, const struct stat *b)
{
	return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static struct flowtap_mapping mapping_of(const struct images_request *request)
{
	struct flowtap_mapping mapping = {
		.pid = request->pid,
		.path = request->path,
		.build_id_size = request->id_size,
	};

	memcpy(mapping.build_id, request->id, sizeof(mapping.build_id));
	return mapping;
}

/* Whether so many bytes more may be there. */
static bool has_space(const struct images_saver *saver, uint64_t size)
{
	const uint64_t most = __atomic_load_n(&saver->most, __ATOMIC_RELAXED);
	const uint64_t left = __atomic_load_n(&saver->free, __ATOMIC_RELAXED);
	const uint64_t held = __atomic_load_n(&saver->held, __ATOMIC_RELAXED);
	struct statvfs disk;
	uint64_t available;

	if (most && (held > most || size > most - held))
		return false;
	if (fstatvfs(saver->directory, &disk))
		return true;
	available = (uint64_t)disk.f_bavail * disk.f_frsize;
	return available >= size && available - size >= left;
}

/*
 * All of it, as it is now, in `to`; it is the file that was wanted, and did not change meanwhile.
 */
static bool copy_whole(const struct images_saver *saver, int from, int to,
		       const struct images_request *request, struct images_answer *answer)
{
	const struct flowtap_mapping mapping = mapping_of(request);
	struct stat before, after, copied;

	if (fstat(from, &before)) {
		miss(answer, "%.180s: %s", request->path, strerror(errno));
	} else if ((uint64_t)before.st_size > FLOWTAP_BUNDLE_FILE_MAX) {
		miss(answer, "%.180s has more than %llu bytes", request->path,
		     FLOWTAP_BUNDLE_FILE_MAX);
	} else if (!has_space(saver, (uint64_t)before.st_size)) {
		miss(answer, "%.180s: there is no room for its %lld bytes", request->path,
		     (long long)before.st_size);
	} else if (!copy(saver, from, to, (uint64_t)before.st_size) || fsync(to)) {
		miss(answer, "%.180s: %s", request->path, strerror(errno));
	} else if (fstat(from, &after) || fstat(to, &copied) || !same(&before, &after) ||
		   copied.st_size != before.st_size || !flowtap_mapping_is(&mapping, to)) {
		miss(answer, "%.180s changed while it was copied", request->path);
	} else {
		answer->bytes = (uint64_t)copied.st_blocks * 512;
		return true;
	}
	return false;
}

static int sync_directory(int directory, const char *path)
{
	int fd = openat(directory, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int error = fd < 0 || fsync(fd) ? -errno : 0;

	if (fd >= 0)
		close(fd);
	return error;
}

static void save_from(struct images_saver *saver, int from, const struct images_request *request,
		      struct images_answer *answer)
{
	const int directory = saver->directory;
	char path[64], part[80], folder[64];
	int to;

	images_path(path, request->id, request->id_size);
	snprintf(part, sizeof(part), "%s.part", path);
	snprintf(folder, sizeof(folder), "%.*s", (int)sizeof(IMAGES) + 2, path);
	mkdirat(directory, IMAGES, 0750);
	mkdirat(directory, folder, 0750);
	unlinkat(directory, part, 0);
	to = openat(directory, part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
	if (to < 0) {
		miss(answer, "%.180s: cannot write its copy: %s", request->path, strerror(errno));
		return;
	}
	if (copy_whole(saver, from, to, request, answer) &&
	    (renameat(directory, part, directory, path) || sync_directory(directory, folder)))
		miss(answer, "%.180s: cannot write its copy: %s", request->path, strerror(errno));
	close(to);
	if (*answer->why)
		unlinkat(directory, part, 0);
	else
		__atomic_add_fetch(&saver->held, answer->bytes, __ATOMIC_RELAXED);
}

void images_save(struct images_saver *saver, const struct images_request *request,
		 struct images_answer *answer)
{
	const struct flowtap_mapping mapping = mapping_of(request);
	char why[FLOWTAP_WHY];
	int from = flowtap_mapping_open(&mapping, why);

	*answer = (struct images_answer){ .id_size = request->id_size };
	memcpy(answer->id, request->id, sizeof(answer->id));
	if (from < 0) {
		miss(answer, "%.250s", why);
		return;
	}
	save_from(saver, from, request, answer);
	close(from);
}

/* False: there are no more. */
static bool read_request(int fd, struct images_request *request)
{
	size_t done = 0;

	while (done < sizeof(*request)) {
		ssize_t n = read(fd, (char *)request + done, sizeof(*request) - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

void *images_serve(void *argument)
{
	const struct sched_param none = { 0 };
	struct images_saver *saver = argument;
	struct images_answer answer;
	struct images_request request;
	sigset_t all;

	/* Signals are for others; a pipe that nobody reads is an error of write. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	/* Of this thread alone. */
	sched_setscheduler(0, SCHED_IDLE, &none);
	syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0));
	while (!__atomic_load_n(&saver->over, __ATOMIC_ACQUIRE) &&
	       read_request(saver->requests, &request)) {
		images_save(saver, &request, &answer);
		if (write(saver->answers, &answer, sizeof(answer)) != (ssize_t)sizeof(answer))
			break;
	}
	return NULL;
}
