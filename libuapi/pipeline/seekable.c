// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Copies what comes by a pipe to a temporary file without a name. */
#include "pipeline/seekable.h"

#include <errno.h>
#include <fcntl.h>
#include <flowtap/input.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/write_all.h"

int flowtap_input_temporary(void)
{
	const char *const directories[] = { secure_getenv("TMPDIR"), "/var/tmp", "/tmp" };
	int fd = -ENOENT;

	for (size_t i = 0; i < 3 && fd < 0; i++) {
		char name[PATH_MAX];

		if (!directories[i] || !*directories[i] ||
		    strlen(directories[i]) > sizeof(name) - 32)
			continue;
		strcpy(name, directories[i]);
		fd = open(name, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		if (fd < 0) {
			strcat(name, "/flowtap-XXXXXX");
			fd = mkostemp(name, O_CLOEXEC);
			if (fd >= 0)
				unlink(name);
		}
		if (fd < 0)
			fd = -errno;
	}
	return fd;
}

/* As much as there is, up to `size`: fewer where the pipe ends, or with *failed. */
static size_t read_some(int fd, uint8_t *buffer, size_t size, int *failed)
{
	size_t done = 0;
	ssize_t n = 1;

	while (done < size && n && !*failed) {
		n = read(fd, buffer + done, size - done);
		if (n > 0)
			done += (size_t)n;
		else if (n < 0 && errno != EINTR)
			*failed = -errno;
	}
	return done;
}

static bool is_zero(const uint8_t *bytes, size_t size)
{
	return !bytes[0] && !memcmp(bytes, bytes + 1, size - 1);
}

static bool is_device(int fd)
{
	struct stat status;

	return !fstat(fd, &status) && (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode));
}

static int copy(int from, int to, struct flowtap_input_copy *copy, uint8_t *buffer)
{
	bool device = is_device(from);
	int err = 0;
	size_t n;

	do {
		n = read_some(from, buffer, FLOWTAP_INPUT_LOOK, &copy->failed);
		/* Neither may have an end. */
		if (!copy->bytes && n == FLOWTAP_INPUT_LOOK && is_zero(buffer, n))
			err = -EBADMSG;
		else if (device && n == FLOWTAP_INPUT_LOOK)
			err = -ENODEV;
		else
			err = flowtap_write_all(to, buffer, n);
		copy->bytes += n;
		if (!err && copy->progress)
			copy->progress(copy);
	} while (!err && n == FLOWTAP_INPUT_LOOK);
	return !err && lseek(to, 0, SEEK_SET) < 0 ? -errno : err;
}

int flowtap_input_keep(int fd, struct flowtap_input_copy *what)
{
	int saved = errno, to = flowtap_input_temporary(), err = to < 0 ? to : 0;
	uint8_t *buffer = malloc(FLOWTAP_INPUT_LOOK);

	what->bytes = 0;
	what->failed = 0;
	if (!err)
		err = buffer ? copy(fd, to, what, buffer) : -ENOMEM;
	if (err && to >= 0)
		close(to);
	free(buffer);
	errno = saved;
	return err ? err : to;
}

int flowtap_seekable(int fd, uint64_t *base)
{
	struct flowtap_input_copy what = { .progress = NULL };
	struct stat status;
	off_t at;

	if (fstat(fd, &status))
		return -errno;
	at = S_ISREG(status.st_mode) ? lseek(fd, 0, SEEK_CUR) : -1;
	*base = at < 0 ? 0 : (uint64_t)at;
	/* An error is where the archive ends: what came before it is good. */
	return at < 0 ? flowtap_input_keep(fd, &what) : fd;
}
