// SPDX-License-Identifier: GPL-2.0-only
/*
 * Opens the input of a command: what comes by a pipe, and the archive in a packed one, as a
 * temporary file in which the command can seek.
 */
#include "common/input_file.h"

#include "common/progress.h"
#include "common/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <flowtap/input.h>
#include <flowtap/packed.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNPACK_LIMIT "FLOWTAP_UNPACK_LIMIT"

static struct flowtap_unpacked result;

const struct flowtap_unpacked *input_unpacked(void)
{
	return &result;
}

static const struct {
	const char *begin;
	const char *text;
	bool gzip;
} packings[] = {
	{ "\x28\xb5\x2f\xfd", "packed by zstd, and no archive is in it: unpack it (zstd -d)", false },
	{ "\x1f\x8b\x08", "packed by gzip, and no trace is in it: unpack it (gzip -d)", true },
	{ "\xfd" "7zXZ", "packed by xz: unpack it (xz -d)", false },
	{ "BZh", "packed by bzip2: unpack it (bzip2 -d)", false },
	{ "\x04\x22\x4d\x18", "packed by lz4: unpack it (lz4 -d)", false },
	{ "PK\3\4", "packed by zip: unpack it (unzip)", false },
	{ "7z\xbc\xaf\x27\x1c", "packed by 7z: unpack it (7z x)", false },
};

const char *input_packing(int fd, bool gzip)
{
	char begin[8] = { 0 };
	ssize_t n = pread(fd, begin, sizeof(begin), 0);

	for (size_t i = 0; i < sizeof(packings) / sizeof(packings[0]); i++) {
		size_t size = strlen(packings[i].begin);

		if (n >= (ssize_t)size && !memcmp(begin, packings[i].begin, size) &&
		    (gzip || !packings[i].gzip))
			return packings[i].text;
	}
	return NULL;
}

const char *input_name(const char *path)
{
	return strcmp(path, "-") ? path : "standard input";
}

off_t input_size(int fd)
{
	struct stat stat_of;

	return fstat(fd, &stat_of) || !S_ISREG(stat_of.st_mode) ? 0 : stat_of.st_size;
}

static void show_progress(struct flowtap_input_copy *copy)
{
	progress_show(copy->argument, copy->bytes, 0, "bytes");
}

/* The fd or -errno. */
static int keep(int pipe, bool quiet)
{
	struct progress progress = { .doing = quiet ? NULL : "reading" };
	struct flowtap_input_copy copy = { .progress = show_progress, .argument = &progress };
	int fd = flowtap_input_keep(pipe, &copy);

	progress_end(&progress);
	if (fd < 0 || !copy.failed)
		return fd;
	close(fd);
	return copy.failed;
}

static void keep_problem(const char *path, int error)
{
	if (error == -EBADMSG) {
		complain("'%s' begins with %u zeros: it is nothing that flowtap reads",
			 input_name(path), FLOWTAP_INPUT_LOOK);
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
	complain(UNPACK_LIMIT "='%s' is no size: it is bytes, or with K, M or G, as 64G", text);
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
		advise("there are more damages, and what is after them was left out");
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
	uint64_t limit;
	int fd, error;

	if (!flowtap_packed_is(packed))
		return packed;
	error = unpack_limit(&limit);
	fd = error ? error : flowtap_input_temporary();
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

/* Commands that read a snapshot look for it before they open a file. */
static int not_a_file(const char *path)
{
	char ini[PATH_MAX];

	complain("'%s' is a directory", input_name(path));
	if (snprintf(ini, sizeof(ini), "%s/snapshot.ini", path) < (int)sizeof(ini) &&
	    !access(ini, F_OK))
		advise("it is an Arm snapshot, which flowtap decode and flowtap dump --packets read");
	else
		advise("name a file in it: of what flowtapd collects those that end in .ftap or .ftap.zst");
	return -EISDIR;
}

int input_open(const char *path, bool quiet)
{
	struct stat stat_of;
	int fd, kept;

	result = (struct flowtap_unpacked){ 0 };
	if (flowtap_input_is_perf_directory(path)) {
		fd = flowtap_input_open_perf(path);
		errno = fd < 0 ? -fd : 0;
	} else if (strcmp(path, "-")) {
		fd = open(path, O_RDONLY | O_CLOEXEC);
	} else {
		fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	}
	if (fd < 0 || fstat(fd, &stat_of)) {
		fd = -errno;
		complain("cannot open '%s': %s", input_name(path), strerror(-fd));
		if (fd == -EACCES)
			advise("recordings and traces are for their owner alone: he or root can chmod it");
		return fd;
	}
	if (S_ISDIR(stat_of.st_mode)) {
		close(fd);
		return not_a_file(path);
	}
	if (S_ISREG(stat_of.st_mode))
		return unpacked(path, fd);
	kept = keep(fd, quiet);
	if (kept < 0)
		keep_problem(path, kept);
	close(fd);
	return kept < 0 ? kept : unpacked(path, kept);
}
