/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The index of the segments' folder: a line of text for each, the oldest first, but that one that is
 * packed comes behind those that were finished before that. It is for people; nothing depends on it,
 * and it is made anew where it is gone. What changes is added at the end of the file; a line that holds
 * no more is overwritten with '#'. The file is written as a whole under another name, then
 * renamed, at the start (then all are in order), and when it has more such lines than others, and 64:
 * what a segment costs does not grow with the number of them. A last line that a machine without power
 * has left half written is none: its segment has one that says no more than its name.
 */
#ifndef FLOWTAP_DAEMON_INDEX_H
#define FLOWTAP_DAEMON_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "syncer.h"

struct store_facts;
struct index_line;

struct index {
	int directory;			/* borrowed */
	bool there;			/* the file; else it is to be written as a whole */
	dev_t device;			/* which one it is */
	ino_t inode;
	uint64_t size;			/* of it, bytes */
	size_t dead;			/* lines in it that hold no more */
	struct index_line *lines;	/* one without a name was removed */
	size_t n;
	size_t gone;			/* so many at the beginning were */
	size_t removed;			/* and all of them */
	struct index_line *read;	/* what the file had, by name */
	size_t n_read;
	int error;
	struct syncer *syncer;		/* borrowed; NULL: what is written is waited for */
	struct sync *sync;		/* the last one, or NULL */
};

/* Reads what there is; nothing is no error, nor is nonsense. 0; -ENOMEM. */
int index_open(struct index *index, int directory);
/*
 * A segment that is there: its line of the file, or one that says no more than its name. 0;
 * -ENOMEM.
 */
int index_keep(struct index *index, const char *name);
/* A segment that was finished now, of so many bytes; its line is on the disk, or about to be. */
void index_add(struct index *index, const char *name, uint64_t bytes,
	       const struct store_facts *facts);
/* It was packed, to so many bytes; its line as well. */
void index_packed(struct index *index, const char *name, uint64_t bytes);
/* It is no more: its line is overwritten, and an index_settle is to follow. */
void index_remove(struct index *index, const char *name);
/* The file is written as a whole where it is not as it was left, or has too many lines of none. */
void index_settle(struct index *index);
/* The file is written as a whole. */
void index_write(struct index *index);
/* -errno of the last writing, which is forgotten; 0. */
int index_error(struct index *index);
void index_close(struct index *index);

#endif /* FLOWTAP_DAEMON_INDEX_H */
