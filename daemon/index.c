// SPDX-License-Identifier: GPL-2.0-only
/*
 * Holds the lines of the index in memory. A line more goes to the end of the file, one that is no more
 * is overwritten where it is; with too many of those the file is written anew under another name,
 * then renamed.
 */
#include "index.h"

#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../tools/common/grow.h"

#define FILE_NAME "index"
#define NEW_NAME "index.new"
#define LINE 256
#define TEXT 200
#define DEAD 64			/* lines of none, beyond as many as there are others */

struct index_line {
	uint64_t at;			/* bytes before it in the file; what was read: lines */
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
	line = &(*lines)[*n];
	line->at = (*n)++;
	snprintf(line->name, sizeof(line->name), "%s", name);
	snprintf(line->text, sizeof(line->text), "%s", text);
	return 0;
}

static int by_name(const void *one, const void *other)
{
	return strcmp(((const struct index_line *)one)->name,
		      ((const struct index_line *)other)->name);
}

static int by_name_and_place(const void *one, const void *other)
{
	const struct index_line *a = one, *b = other;
	const int order = by_name(a, b);

	return order ? order : (a->at > b->at) - (a->at < b->at);
}

/* Of several the last one, which was written last. */
static struct index_line *find(struct index_line *lines, size_t n, const char *name)
{
	struct index_line key = { 0 }, *found;

	snprintf(key.name, sizeof(key.name), "%s", name);
	found = n ? bsearch(&key, lines, n, sizeof(*lines), by_name) : NULL;
	while (found && found + 1 < lines + n && !by_name(found, found + 1))
		found++;
	return found;
}

int index_open(struct index *index, int directory)
{
	int fd = openat(directory, FILE_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	char line[LINE], *tab, *end;
	int error = 0;

	*index = (struct index){ .directory = directory };
	if (!file && fd >= 0)
		close(fd);
	while (file && !error && index->n_read < STORE_SEGMENTS_MAX &&
	       fgets(line, sizeof(line), file)) {
		/* One without an end was being written when the power went. */
		end = strchr(line, '\n');
		tab = strchr(line, '\t');
		if (line[0] == '#' || !end || !tab || tab - line >= STORE_NAME)
			continue;
		*end = *tab = 0;
		error = add_line(&index->read, &index->n_read, line, tab + 1);
	}
	if (file)
		fclose(file);
	if (index->n_read)
		qsort(index->read, index->n_read, sizeof(index->read[0]),
		      by_name_and_place);
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

/* --- The file. --- */

static void forget_file(struct index *index)
{
	index->there = false;
	syncer_drop(&index->sync);
}

/* Whether this is the file as it was written last: people may have moved or changed it. */
static bool is_ours(const struct index *index, const struct stat *file)
{
	return index->there && file->st_dev == index->device && file->st_ino == index->inode &&
	       (uint64_t)file->st_size == index->size;
}

/* For writing, or -1. Nothing keeps it open: else the folder could not be made read-only. */
static int open_file(const struct index *index)
{
	int fd = openat(index->directory, FILE_NAME, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat file;

	if (fd < 0 || (!fstat(fd, &file) && is_ours(index, &file)))
		return fd;
	close(fd);
	return -1;
}

static bool write_at(int fd, uint64_t at, const char *text, size_t n)
{
	return lseek(fd, (off_t)at, SEEK_SET) == (off_t)at && write(fd, text, n) == (ssize_t)n;
}

static size_t size_of(const struct index_line *line)
{
	return strlen(line->name) + strlen(line->text) + 2;
}

/*
 * What was written comes to the disk, or is coming to it; what the one before that is not done with
 * comes with the next one. 0; -errno: of either.
 */
static int sync_file(struct index *index, int fd)
{
	int error = index->sync ? syncer_ask(&index->sync) : 0;

	if (!error)
		error = syncer_begin(index->syncer, fd, &index->sync);
	return error == -EINPROGRESS ? 0 : error;
}

/* Behind all others. Whether it is there: else the file is to be written anew. */
static bool append(struct index *index, struct index_line *line)
{
	char text[STORE_NAME + TEXT + 2];
	const size_t n = size_of(line);
	int fd = open_file(index);
	bool done;

	if (fd < 0)
		return false;
	snprintf(text, sizeof(text), "%s\t%s\n", line->name, line->text);
	done = write_at(fd, index->size, text, n) && !sync_file(index, fd);
	close(fd);
	if (!done) {
		forget_file(index);
		return false;
	}
	line->at = index->size;
	index->size += n;
	return true;
}

/* The line at this place holds no more. Where that does not come to the disk it does no harm. */
static void strike(struct index *index, uint64_t at, size_t n)
{
	char marks[STORE_NAME + TEXT + 2];
	int fd = open_file(index);

	memset(marks, '#', sizeof(marks));
	index->dead++;
	if (fd < 0)
		return;
	if (!write_at(fd, at, marks, n - 1))
		forget_file(index);
	close(fd);
}

void index_settle(struct index *index)
{
	struct stat file;

	if (fstatat(index->directory, FILE_NAME, &file, AT_SYMLINK_NOFOLLOW) ||
	    !is_ours(index, &file) || index->dead > index->n - index->removed + DEAD)
		index_write(index);
}

/* --- --- */

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
	else if (!append(index, &index->lines[index->n - 1]))
		index_write(index);
}

/* The fourth column after the name. */
static void put_packed(struct index_line *line, uint64_t bytes)
{
	char *text = line->text, *from = text, *to, new[TEXT];

	for (int column = 0; column < 3 && from; column++) {
		from = strchr(from, '\t');
		from = from ? from + 1 : NULL;
	}
	to = from ? strchr(from, '\t') : NULL;
	if (!to)
		return;
	snprintf(new, sizeof(new), "%.*s%" PRIu64 "%s", (int)(from - text), text, bytes, to);
	strcpy(text, new);
}

/* The file always has a line: the new one is there before the old one goes. */
void index_packed(struct index *index, const char *name, uint64_t bytes)
{
	for (size_t i = index->n; i-- > index->gone;) {
		struct index_line *line = &index->lines[i];
		const uint64_t at = line->at;
		const size_t n = size_of(line);

		if (strcmp(line->name, name))
			continue;
		put_packed(line, bytes);
		if (append(index, line))
			strike(index, at, n);
		break;
	}
	index_settle(index);
}

/* Many may go at once, the oldest first: what is left is moved together when it is written. */
void index_remove(struct index *index, const char *name)
{
	for (size_t i = index->gone; i < index->n; i++) {
		if (strcmp(index->lines[i].name, name))
			continue;
		strike(index, index->lines[i].at, size_of(&index->lines[i]));
		index->lines[i].name[0] = 0;
		index->removed++;
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
	index->gone = index->removed = 0;
}

/* And where they are in it, and which file it is. 0 or -errno. */
static int write_lines(struct index *index, FILE *file)
{
	struct stat status;

	index->size = sizeof(heading) - 1;
	fputs(heading, file);
	for (size_t i = 0; i < index->n; i++) {
		struct index_line *line = &index->lines[i];

		line->at = index->size;
		index->size += size_of(line);
		fprintf(file, "%s\t%s\n", line->name, line->text);
	}
	if (fflush(file) || fstat(fileno(file), &status))
		return -errno;
	index->device = status.st_dev;
	index->inode = status.st_ino;
	index->there = true;
	return 0;
}

void index_write(struct index *index)
{
	int fd = openat(index->directory, NEW_NAME,
			O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0640);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	int error;

	if (!file)
		index->error = -errno;
	drop_removed(index);
	forget_file(index);
	index->dead = 0;
	if (!file) {
		if (fd >= 0)
			close(fd);
		return;
	}
	error = write_lines(index, file);
	if (!error)
		error = sync_file(index, fileno(file));
	if (fclose(file) && !error)
		error = -errno;
	if (!error && renameat(index->directory, NEW_NAME, index->directory, FILE_NAME))
		error = -errno;
	if (error) {
		index->error = error;
		forget_file(index);
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
	forget_file(index);
	*index = (struct index){ .directory = -1 };
}
