/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What was mapped executable, each file once, by its build-id, beside the segments:
 * images/xx/yyyy, where xx are the first two hexadecimal digits. So a segment can be decoded
 * elsewhere, or after the files were replaced: flowtap decode looks there by itself.
 *
 * A thread that takes what CPU and disk time others leave copies them as soon as it comes to that,
 * from the process' own root or else from here. What has another build-id by then, was changed
 * while it was copied, or is not there any more, is not saved: an event and a count say so, and a
 * later segment tries again. Files without a build-id are not saved.
 *
 * They count by themselves, not in the quota of segments. A file stays as long as there is a
 * segment that may name it. What an earlier daemon saved may be named by each segment that it left.
 */
#ifndef FLOWTAP_DAEMON_IMAGES_H
#define FLOWTAP_DAEMON_IMAGES_H

#include <flowtap/bundle.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IMAGES "images"
#define IMAGES_MAX 65536		/* files; more are not saved */
#define IMAGES_PATH 4032		/* bytes of a path, with its 0 */
#define IMAGES_WHY 256

/* To the thread, and back: each goes through a pipe as a whole. */
struct images_request {
	uint32_t pid;
	uint8_t id_size;
	uint8_t id[FLOWTAP_BUILD_ID_MAX];
	char path[IMAGES_PATH];
};

struct images_answer {
	uint64_t bytes;			/* on the disk */
	uint8_t id_size;
	uint8_t id[FLOWTAP_BUILD_ID_MAX];
	char why[IMAGES_WHY];		/* it was not saved, or "" */
};

struct images_figures {
	uint64_t files;			/* that are there */
	uint64_t bytes;			/* of them, on the disk */
	uint64_t saved;			/* since the start */
	uint64_t missing;		/* files that could not be saved when they were first wanted */
	uint64_t waiting;
	uint64_t cpu;			/* ns of the thread */
};

struct images;

/*
 * Finds what there is in DIRECTORY/images, and removes what is half done. segment: the number of
 * the newest segment that is there. most: bytes that all files may take, 0: any; free: that others
 * are to find free on that disk. 0 and *images; -errno of the directory; -ENOMEM.
 */
int images_open(const char *directory, uint64_t most, uint64_t free, uint64_t segment,
		struct images **images);
void images_limit(struct images *images, uint64_t most, uint64_t free);
/* From now on it is this segment that names what is mapped. */
void images_segment(struct images *images, uint64_t number);
/*
 * For flowtap_sideband_options.mapped: opens and waits for nothing. 0; what cannot be kept for lack
 * of memory counts as missing.
 */
int images_mapped(void *images, const struct flowtap_mapping *mapping);
/*
 * Asks the thread and hears it; deletes what only segments before number `oldest` named. To be
 * called about once a second; the first time begins the thread, with the capabilities of that time.
 */
void images_step(struct images *images, uint64_t oldest);
void images_measure(const struct images *images, struct images_figures *figures);
/* What waits is not saved. */
void images_close(struct images *images);

/* --- The thread's side: images_save.c. --- */

struct images_saver {
	int directory;			/* a descriptor of the segments' folder */
	int requests, answers;		/* ends of pipes: reads and writes block */
	/* Each of these is atomic. */
	bool over;			/* it is to end, in the midst of a file */
	uint64_t held;			/* bytes on the disk of all files */
	uint64_t most;			/* that they may take; 0: any */
	uint64_t free;			/* bytes that others are to find free on that disk */
};

/* pthread_create's; takes a struct images_saver, and ends with it or with the requests. */
void *images_serve(void *saver);
/* Saves one file. */
void images_save(struct images_saver *saver, const struct images_request *request,
		 struct images_answer *answer);
/* images/xx/yyyy */
void images_path(char path[64], const uint8_t *id, size_t size);

#endif /* FLOWTAP_DAEMON_IMAGES_H */
