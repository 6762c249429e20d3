/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The index of the segments' folder: a line of text for each, the oldest first. It is for people;
 * nothing depends on it, and it is made anew where it is gone. Written as a whole under another
 * name, then renamed.
 */
#ifndef FLOWTAP_DAEMON_INDEX_H
#define FLOWTAP_DAEMON_INDEX_H

#include <stddef.h>
#include <stdint.h>

struct store_facts;
struct index_line;

struct index {
	int directory;			/* borrowed */
	struct index_line *lines;	/* one without a name was removed */
	size_t n;
	size_t gone;			/* so many at the beginning were */
	struct index_line *read;	/* what the file had, by name */
	size_t n_read;
	int error;
};

/* Reads what there is; nothing is no error, nor is nonsense. 0; -ENOMEM. */
int index_open(struct index *index, int directory);
/*
 * A segment that is there: its line of the file, or one that says no more than its name. 0;
 * -ENOMEM.
 */
int index_keep(struct index *index, const char *name);
/* A segment that was finished now, of so many bytes; the file is written. */
void index_add(struct index *index, const char *name, uint64_t bytes,
	       const struct store_facts *facts);
/* It was packed, to so many bytes; the file is written. */
void index_packed(struct index *index, const char *name, uint64_t bytes);
/* It is no more; the file is not written. */
void index_remove(struct index *index, const char *name);
void index_write(struct index *index);
/* -errno of the last writing, which is forgotten; 0. */
int index_error(struct index *index);
void index_close(struct index *index);

#endif /* FLOWTAP_DAEMON_INDEX_H */
