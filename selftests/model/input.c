// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads what software collected of a PE's trace. */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <flowtap/perfdata.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int no_memory(struct input *input)
{
	snprintf(input->error, sizeof(input->error), "no memory");
	return -ENOMEM;
}

int input_add(struct input *input, const uint8_t *bytes, size_t n, bool lossy)
{
	if (input->n == input->capacity) {
		size_t capacity = input->capacity ? 2 * input->capacity : 64;
		struct align_piece *more = realloc(input->pieces, capacity * sizeof(*more));

		if (!more)
			return no_memory(input);
		input->pieces = more;
		input->capacity = capacity;
	}
	input->pieces[input->n++] = (struct align_piece){ bytes, n, lossy };
	input->bytes += n;
	input->lossy += lossy;
	return 0;
}

static int add_file(struct input *input, const char *path, struct log_bytes *file)
{
	struct log_bytes *more = realloc(input->files, (input->nfiles + 1) * sizeof(*more));
	int err;

	if (!more)
		return no_memory(input);
	input->files = more;
	err = log_map(path, file);
	if (err)
		snprintf(input->error, sizeof(input->error), "%.200s: %s", path, strerror(-err));
	else
		input->files[input->nfiles++] = *file;
	return err;
}

static int divide(struct input *input, const struct log_bytes *file, const char *chunks)
{
	unsigned long long offset, length, at = 0;
	char line[256];
	int err = 0;
	FILE *text = fopen(chunks, "re");

	if (!text) {
		err = -errno;
		snprintf(input->error, sizeof(input->error), "%.200s: %s", chunks, strerror(errno));
		return err;
	}
	while (!err && fgets(line, sizeof(line), text)) {
		if (sscanf(line, "%llx %llx", &offset, &length) != 2 || offset != at ||
		    length > file->size - at) {
			snprintf(input->error, sizeof(input->error), "%.150s: not as the dump: %.60s",
				 chunks, line);
			err = -EBADMSG;
		} else if (length) {
			err = input_add(input, file->bytes + at, length, strstr(line, "lost") != NULL);
		}
		at += length;
	}
	fclose(text);
	if (!err && at != file->size) {
		snprintf(input->error, sizeof(input->error), "%.150s: the dump is longer", chunks);
		err = -EBADMSG;
	}
	return err;
}

int input_raw(struct input *input, const char *path, const char *chunks)
{
	struct log_bytes file;
	int err = add_file(input, path, &file);

	if (err || !file.size)
		return err;
	return chunks ? divide(input, &file, chunks) : input_add(input, file.bytes, file.size, false);
}

static void perf_path(const char *path, char inside[4096])
{
	struct stat stat_;

	if (!stat(path, &stat_) && S_ISDIR(stat_.st_mode))
		snprintf(inside, 4096, "%s/data", path);
	else
		snprintf(inside, 4096, "%s", path);
}

bool input_is_perf(const char *path)
{
	char inside[4096];
	uint8_t bytes[8];
	ssize_t n;
	int fd;

	perf_path(path, inside);
	fd = open(inside, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, bytes, sizeof(bytes));
	close(fd);
	return n == sizeof(bytes) && flowtap_perfdata_is(bytes, sizeof(bytes));
}

static bool is_lossy(const struct flowtap_perfdata_range *range)
{
	return range->missing || range->unnamed || range->flags &
	       (FLOWTAP_PERFDATA_TRUNCATED | FLOWTAP_PERFDATA_PARTIAL |
		FLOWTAP_PERFDATA_COLLISION | FLOWTAP_PERFDATA_OVERWRITE);
}

static int add_range(struct input *input, const struct flowtap_perfdata *perf,
		     const struct flowtap_perfdata_range *range)
{
	void **more = realloc(input->copies, (input->ncopies + 1) * sizeof(*more));
	uint8_t *bytes;
	size_t got;
	int err;

	if (!more)
		return no_memory(input);
	input->copies = more;
	bytes = malloc(range->size);
	if (!bytes)
		return no_memory(input);
	input->copies[input->ncopies++] = bytes;
	err = flowtap_perfdata_read(perf, range, 0, bytes, range->size, &got);
	if (err || !got)
		return err;
	return input_add(input, bytes, got, is_lossy(range));
}

int input_perf(struct input *input, const char *path, unsigned int cpu)
{
	const struct flowtap_perfdata_range *ranges;
	struct flowtap_perfdata *perf;
	const char *reason;
	char inside[4096];
	struct stat stat;
	size_t n;
	int fd, err;

	perf_path(path, inside);
	fd = open(inside, O_RDONLY | O_CLOEXEC);
	err = fd < 0 || fstat(fd, &stat) ? -errno : flowtap_perfdata_open(fd, NULL, NULL, &perf,
									  &reason);
	if (err) {
		snprintf(input->error, sizeof(input->error), "%.150s: %.90s", path,
			 fd < 0 ? strerror(-err) : reason);
		if (fd >= 0)
			close(fd);
		return err;
	}
	ranges = flowtap_perfdata_ranges(perf, &n);
	for (size_t i = 0; i < n && !err; i++) {
		if (ranges[i].cpu != cpu)
			continue;
		if (!ranges[i].size) {
			if (is_lossy(&ranges[i]))
				err = input_add(input, NULL, 0, true);
			continue;
		}
		if (!(ranges[i].flags & FLOWTAP_PERFDATA_RAW) ||
		    ranges[i].size > (uint64_t)stat.st_size) {
			snprintf(input->error, sizeof(input->error),
				 "%.150s: region %zu is framed, not a trace buffer's", path, i);
			err = -EPROTONOSUPPORT;
			break;
		}
		err = add_range(input, perf, &ranges[i]);
	}
	flowtap_perfdata_close(perf);
	close(fd);
	return err;
}

void input_free(struct input *input)
{
	for (size_t i = 0; i < input->nfiles; i++)
		log_unmap(&input->files[i]);
	for (size_t i = 0; i < input->ncopies; i++)
		free(input->copies[i]);
	free(input->pieces);
	free(input->files);
	free(input->copies);
	memset(input, 0, sizeof(*input));
}

int input_config(const char *path, struct flowtap_ete_config *config, char error[256])
{
	static const struct {
		const char *name;
		size_t at;
	} names[] = {
		{ "TRCCONFIGR", offsetof(struct flowtap_ete_config, configr) },
		{ "TRCTRACEIDR", offsetof(struct flowtap_ete_config, traceidr) },
		{ "TRCDEVARCH", offsetof(struct flowtap_ete_config, devarch) },
		{ "TRCIDR0", offsetof(struct flowtap_ete_config, idr0) },
		{ "TRCIDR1", offsetof(struct flowtap_ete_config, idr1) },
		{ "TRCIDR2", offsetof(struct flowtap_ete_config, idr2) },
		{ "TRCIDR8", offsetof(struct flowtap_ete_config, idr8) },
	};
	unsigned int found = 0;
	char line[256], *value, *end;
	FILE *text = fopen(path, "re");

	memset(config, 0, sizeof(*config));
	if (!text) {
		snprintf(error, 256, "%.200s: %s", path, strerror(errno));
		return -errno;
	}
	while (fgets(line, sizeof(line), text)) {
		value = line + strcspn(line, "= \t\n");
		if (!*value)
			continue;
		*value++ = 0;
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			if (strcmp(line, names[i].name))
				continue;
			*(uint32_t *)((char *)config + names[i].at) = strtoul(value, &end, 0);
			if (end != value)
				found |= 1U << i;
		}
	}
	fclose(text);
	if (found == (1U << sizeof(names) / sizeof(names[0])) - 1)
		return 0;
	snprintf(error, 256, "%.150s: it does not have all of TRCCONFIGR, TRCTRACEIDR, TRCDEVARCH, "
		 "TRCIDR0, 1, 2, 8", path);
	return -EBADMSG;
}
