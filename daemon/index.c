// SPDX-License-Identifier: GPL-2.0-only
/*
 * Holds the lines of the index in memory, and writes the file anew under another name, then
 * renames it.
 */
#include "index.h"

#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../tools/common/grow.h"

#define FILE_NAME "index"
#define NEW_NAME "index.new"
#define LINE 256
#define TEXT 200

struct index_line {
	char name[STORE_NAME];
	char text[TEXT];		/* the columns after it */
};

static const char heading[] =
	"# began\tended\tbytes\tpacked\trecords\tlost\twhy it ended, of each segment (flowtapd writes this; "
	"nothing reads it but people)\n";

static int add_line(struct index_line **lines, size_t *n, const char *name, const char *text)
{
	struct index_line *line;
	int error = GROW_BY_ONE(*lines, *n);

	if (error)
		return error;
	line = &(*lines)[(*n)++];
	snprintf(line->name, sizeof(line->name), "%s", name);
	snprintf(line->text, sizeof(line->text), "%s", text);
	return 0;
}

static int by_name(const void *one, const void *other)
{
	return strcmp(((const struct index_line *)one)->name,
		      ((const struct index_line *)other)->name);
}

static struct index_line *find(struct index_line *lines, size_t n, const char *name)
{
	struct index_line key = { 0 };

	snprintf(key.name, sizeof(key.name), "%s", name);
	return n ? bsearch(&key, lines, n, sizeof(*lines), by_name) : NULL;
}

int index_open(struct index *index, int directory)
{
	int fd = openat(directory, FILE_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	char line[LINE], *tab;
	int error = 0;

	*index = (struct index){ .directory = directory };
	if (!file && fd >= 0)
		close(fd);
	while (file && !error && index->n_read < STORE_SEGMENTS_MAX &&
	       fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = 0;
		tab = strchr(line, '\t');
		if (line[0] == '#' || !tab || tab - line >= STORE_NAME)
			continue;
		*tab = 0;
		error = add_line(&index->read, &index->n_read, line, tab + 1);
	}
	if (file)
		fclose(file);
	if (index->n_read)
		qsort(index->read, index->n_read, sizeof(index->read[0]), by_name);
	return error;
}

int index_keep(struct index *index, const char *name)
{
	const struct index_line *line = find(index->read, index->n_read, name);

	return add_line(&index->lines, &index->n, name,
			line ? line->text : "-\t-\t-\t-\t-\t-\tleft behind, whole up to its last block");
}

static void date(char text[32], uint64_t time)
{
	time_t seconds = (time_t)time;
	struct tm tm;

	snprintf(text, 32, "-");
	if (gmtime_r(&seconds, &tm))
		strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

void index_add(struct index *index, const char *name, uint64_t bytes,
	       const struct store_facts *facts)
{
	char text[TEXT], began[32], ended[32];

	date(began, facts->began);
	date(ended, facts->ended);
	snprintf(text, sizeof(text), "%s\t%s\t%" PRIu64 "\t-\t%" PRIu64 "\t%" PRIu64 "\t%.60s", began,
		 ended, bytes, facts->records, facts->lost, facts->why);
	if (add_line(&index->lines, &index->n, name, text))
		index->error = -ENOMEM;
	index_write(index);
}

/* The fourth column after the name. */
void index_packed(struct index *index, const char *name, uint64_t bytes)
{
	for (size_t i = 0; i < index->n; i++) {
		char *text = index->lines[i].text, *from = text, *to, new[TEXT];

		if (strcmp(index->lines[i].name, name))
			continue;
		for (int column = 0; column < 3 && from; column++) {
			from = strchr(from, '\t');
			from = from ? from + 1 : NULL;
		}
		to = from ? strchr(from, '\t') : NULL;
		if (to) {
			snprintf(new, sizeof(new), "%.*s%" PRIu64 "%s", (int)(from - text), text, bytes,
				 to);
			strcpy(text, new);
		}
		break;
	}
	index_write(index);
}

/* Many may go at once, the oldest first: what is left is moved together when it is written. */
void index_remove(struct index *index, const char *name)
{
	for (size_t i = index->gone; i < index->n; i++) {
		if (strcmp(index->lines[i].name, name))
			continue;
		index->lines[i].name[0] = 0;
		while (index->gone < index->n && !index->lines[index->gone].name[0])
			index->gone++;
		return;
	}
}

static void drop_removed(struct index *index)
{
	size_t kept = 0;

	for (size_t i = 0; i < index->n; i++) {
		if (!index->lines[i].name[0])
			continue;
		if (kept != i)
			index->lines[kept] = index->lines[i];
		kept++;
	}
	index->n = kept;
	index->gone = 0;
}

static int write_lines(const struct index *index, FILE *file)
{
	fputs(heading, file);
	for (size_t i = 0; i < index->n; i++)
		fprintf(file, "%s\t%s\n", index->lines[i].name, index->lines[i].text);
	return fflush(file) || fsync(fileno(file)) ? -errno : 0;
}

void index_write(struct index *index)
{
	int fd = openat(index->directory, NEW_NAME,
			O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0640);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	int error;

	drop_removed(index);
	if (!file) {
		index->error = -errno;
		if (fd >= 0)
			close(fd);
		return;
	}
	error = write_lines(index, file);
	if (fclose(file) && !error)
		error = -errno;
	if (!error && renameat(index->directory, NEW_NAME, index->directory, FILE_NAME))
		error = -errno;
	if (error) {
		index->error = error;
		unlinkat(index->directory, NEW_NAME, 0);
	}
}

int index_error(struct index *index)
{
	int error = index->error;

	index->error = 0;
	return error;
}

void index_close(struct index *index)
{
	free(index->lines);
	free(index->read);
	*index = (struct index){ .directory = -1 };
}
