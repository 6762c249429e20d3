// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copies a pipe or a packed archive to a temporary file without a name, so that commands can seek
 * in their input.
 */
#include "common/input_file.h"

#include "common/progress.h"
#include "common/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <flowtap/input.h>
#include <flowtap/packed.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNPACK_LIMIT "FLOWTAP_UNPACK_LIMIT"

const char *input_name(const char *path)
{
	return strcmp(path, "-") ? path : "standard input";
}

off_t input_size(int fd)
{
	struct stat stat_of;

	return fstat(fd, &stat_of) || !S_ISREG(stat_of.st_mode) ? 0 : stat_of.st_size;
}

#define FIRST_LOOK (1U << 16)

/* As much as there is, up to `size`. How much or -errno. */
static ssize_t read_some(int fd, void *buffer, size_t size)
{
	size_t done = 0;
	ssize_t n = 1;

	while (done < size && n) {
		n = read(fd, (char *)buffer + done, size - done);
		if (n < 0 && errno != EINTR)
			return -errno;
		done += n < 0 ? 0 : (size_t)n;
	}
	return (ssize_t)done;
}

static int write_all(int fd, const char *buffer, size_t size)
{
	ssize_t n;

	for (; size; buffer += n, size -= (size_t)n) {
		n = write(fd, buffer, size);
		if (n < 0 && errno != EINTR)
			return -errno;
		n = n < 0 ? 0 : n;
	}
	return 0;
}

static bool is_zero(const char *bytes, size_t size)
{
	return !bytes[0] && !memcmp(bytes, bytes + 1, size - 1);
}

/*
 * -EBADMSG: it begins with zeros as no file does that can be read here, -ENODEV: it is a device that goes
 * on. Neither may have an end.
 */
static int copy(int from, int to, bool device, struct progress *progress)
{
	static char buffer[FIRST_LOOK];
	uint64_t done = 0;
	ssize_t n;
	int error;

	while ((n = read_some(from, buffer, sizeof(buffer))) > 0) {
		if (!done && n == sizeof(buffer) && is_zero(buffer, sizeof(buffer)))
			return -EBADMSG;
		if (device && n == sizeof(buffer))
			return -ENODEV;
		error = write_all(to, buffer, (size_t)n);
		if (error)
			return error;
		done += (uint64_t)n;
		progress_show(progress, done, 0, "bytes");
	}
	if (n < 0)
		return (int)n;
	return lseek(to, 0, SEEK_SET) < 0 ? -errno : 0;
}

/* A file without a name. The fd or -errno. */
static int temporary(void)
{
	const char *directory = getenv("TMPDIR");
	int fd;

	directory = directory && *directory ? directory : "/var/tmp";
	fd = open(directory, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	if (fd < 0)
		fd = open("/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

static int keep(int pipe, bool device, bool quiet)
{
	struct progress progress = { .doing = quiet ? NULL : "reading" };
	int fd = temporary(), error;

	if (fd < 0)
		return fd;
	error = copy(pipe, fd, device, &progress);
	progress_end(&progress);
	if (error) {
		close(fd);
		return error;
	}
	return fd;
}

static void keep_problem(const char *path, int error)
{
	if (error == -EBADMSG) {
		complain("'%s' begins with %u zeros: it is nothing that flowtap reads",
			 input_name(path), FIRST_LOOK);
		return;
	}
	if (error == -ENODEV) {
		complain("'%s' is a device: what is read is a file, or comes by a pipe",
			 input_name(path));
		return;
	}
	complain("cannot keep what comes from '%s': %s", input_name(path), strerror(-error));
	if (error == -ENOSPC)
		advise("set TMPDIR to a directory with more room");
}

/* --- Packed archives. --- */

static int unpack_limit(uint64_t *limit)
{
	const char *text = getenv(UNPACK_LIMIT);

	*limit = FLOWTAP_PACKED_LIMIT;
	if (!text || !*text || number_parse_size(text, limit))
		return 0;
	complain(UNPACK_LIMIT "='%s' is not a size as 64G", text);
	return -EINVAL;
}

static void report_unpacked(const char *path, const struct flowtap_unpacked *unpacked)
{
	char bytes[32], zeros[32];

	if (!unpacked->damages)
		return;
	complain("'%s': offset %" PRIu64 ": %s", input_name(path), unpacked->offset,
		 unpacked->reason);
	if (unpacked->damages > FLOWTAP_PACKED_DAMAGES)
		advise("there are more damages, and what is behind them was left out");
	else if (unpacked->damages > 1)
		advise("there are %" PRIu64 " damages", unpacked->damages);
	advise("%s bytes came out of it, %s of them zeros in place of what is missing",
	       number_group(unpacked->bytes, bytes), number_group(unpacked->zeros, zeros));
}

static int unpack_problem(const char *path, int error, uint64_t limit)
{
	char size[32];

	switch (-error) {
	case EFBIG:
		complain("'%s' has more than %s bytes in it", input_name(path),
			 number_group(limit, size));
		advise("set " UNPACK_LIMIT "=SIZE (as 64G) if there is room for them in $TMPDIR");
		break;
	case EOVERFLOW:
		complain("'%s' was packed with a window of more than %u MiB", input_name(path),
			 FLOWTAP_PACKED_WINDOW >> 20);
		advise("unpack it first: zstd --long=31 -d");
		break;
	case ENOMEM:
		complain("no memory");
		break;
	default:
		complain("cannot unpack '%s': %s", input_name(path), strerror(-error));
		if (error == -ENOSPC)
			advise("set TMPDIR to a directory with more room");
	}
	return error;
}

/* The archive that is in the file, as a temporary file, or the file itself. It is taken over. */
static int unpacked(const char *path, int packed)
{
	struct flowtap_unpacked result;
	uint64_t limit;
	int fd, error;

	if (!flowtap_packed_is(packed))
		return packed;
	error = unpack_limit(&limit);
	fd = error ? error : temporary();
	if (!error) {
		error = fd < 0 ? fd : flowtap_unpack(packed, fd, limit, &result);
		if (error)
			unpack_problem(path, error, limit);
		else
			report_unpacked(path, &result);
	}
	if (error && fd >= 0)
		close(fd);
	close(packed);
	return error ? error : fd;
}

int input_open(const char *path, bool quiet)
{
	struct stat stat_of;
	int fd, kept;

	if (flowtap_input_is_perf_directory(path))
		fd = flowtap_input_open_perf(path);
	else if (strcmp(path, "-"))
		fd = open(path, O_RDONLY | O_CLOEXEC);
	else
		fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	if (fd < 0 || fstat(fd, &stat_of)) {
		complain("cannot open '%s': %s", input_name(path), strerror(errno));
		return -errno;
	}
	if (S_ISDIR(stat_of.st_mode)) {
		complain("'%s' is a directory", path);
		close(fd);
		return -EISDIR;
	}
	if (S_ISREG(stat_of.st_mode))
		return unpacked(path, fd);
	kept = keep(fd, S_ISCHR(stat_of.st_mode), quiet);
	if (kept < 0)
		keep_problem(path, kept);
	close(fd);
	return kept < 0 ? kept : unpacked(path, kept);
}
