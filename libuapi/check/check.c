// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Chooses the check by the file's first bytes, and counts and reports the problems that it finds.
 */
#include "check/internal.h"

#include <errno.h>
#include <flowtap/archive.h>
#include <flowtap/qemu4v.h>
#include <flowtap/stf.h>
#include <flowtap/tarmac.h>
#include <flowtap/zstf.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROGRESS_BYTES (1U << 20)

void flowtap_check_report(struct flowtap_check *check, uint64_t offset, bool unpacked,
			  const char *format, ...)
{
	char reason[192];
	va_list arguments;

	check->problems++;
	if (!check->problem)
		return;
	va_start(arguments, format);
	vsnprintf(reason, sizeof(reason), format, arguments);
	va_end(arguments);
	check->problem(check, &(struct flowtap_check_problem){
		.offset = offset, .unpacked = unpacked, .reason = reason,
	});
}

void flowtap_check_remark(struct flowtap_check *check, uint64_t offset, bool unpacked,
			  const char *reason)
{
	check->remarks++;
	if (check->remark)
		check->remark(check, &(struct flowtap_check_problem){
			.offset = offset, .unpacked = unpacked, .reason = reason,
		});
}

void flowtap_check_progress(struct flowtap_check *check, uint64_t before, uint64_t done)
{
	if (check->progress && before / PROGRESS_BYTES != done / PROGRESS_BYTES)
		check->progress(check, done, check->size);
}

static const struct {
	const char *magic;
	size_t size;
	enum flowtap_check_format format;
	int (*run)(struct flowtap_check *check, int fd);
} formats[] = {
	{ FLOWTAP_ARCHIVE_MAGIC, 8, FLOWTAP_CHECK_ARCHIVE, flowtap_check_archive },
	{ "\1STF", 4, FLOWTAP_CHECK_STF, flowtap_check_stf },
	{ FLOWTAP_ZSTF_MAGIC, 4, FLOWTAP_CHECK_ZSTF, flowtap_check_zstf },
};

static void reset(struct flowtap_check *check)
{
	*check = (struct flowtap_check){
		.problem = check->problem,
		.remark = check->remark,
		.progress = check->progress,
		.argument = check->argument,
	};
}

static int run(struct flowtap_check *check, int fd)
{
	char magic[4096] = "";
	struct stat stat;
	ssize_t n;

	if (fstat(fd, &stat))
		return -errno;
	check->size = (uint64_t)stat.st_size;
	n = pread(fd, magic, sizeof(magic), 0);
	if (n < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (n < (ssize_t)formats[i].size ||
		    memcmp(magic, formats[i].magic, formats[i].size))
			continue;
		check->format = formats[i].format;
		return formats[i].run(check, fd);
	}
	if (flowtap_tarmac_is(magic, (size_t)n)) {
		check->format = FLOWTAP_CHECK_TARMAC;
		return flowtap_check_tarmac(check, fd);
	}
	if (flowtap_qemu4v_is(magic, (size_t)n)) {
		check->format = FLOWTAP_CHECK_QEMU4V;
		return flowtap_check_qemu4v(check, fd);
	}
	/* Packed. */
	if (flowtap_stf_is(magic, (size_t)n)) {
		check->format = FLOWTAP_CHECK_STF;
		return flowtap_check_stf(check, fd);
	}
	return -EBADMSG;
}

int flowtap_check_file(struct flowtap_check *check, int fd)
{
	int saved = errno, error;

	reset(check);
	error = run(check, fd);
	errno = saved;
	return error;
}
