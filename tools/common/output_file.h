/* SPDX-License-Identifier: GPL-2.0-only */
/* The file a command writes: nothing of the user's is lost, nothing half done has its name. */
#ifndef FLOWTAP_TOOLS_COMMON_OUTPUT_FILE_H
#define FLOWTAP_TOOLS_COMMON_OUTPUT_FILE_H

#include <stdbool.h>

#define OUTPUT_PARTS_MAX 4096

struct output {
	const char *path;	/* borrowed; "-": standard output */
	char *target;		/* what `path` is a link to; NULL: it is none */
	char *part;		/* written under this name until output_commit; NULL: its own */
	char *old;		/* what was there before has this name now */
	int fd;
	bool fresh;		/* nothing was there, and nothing is to be replaced */
	bool created;		/* a regular file that we made */
	bool keeps;		/* output_keep */
};

/* "-" where `path` leads to our standard output by a link (/dev/stdout), else `path`. */
const char *output_path(const char *path);
/*
 * Whether several files can be made beside `path`, whose names have more in them. 0 or -EINVAL after
 * a complaint: a device or a pipe is there.
 */
int output_check_beside(const char *path);

/*
 * Each returns 0 or -errno, after a complaint.
 *
 * Opens at the final name, for what is of use after a crash as well. An archive that is there
 * becomes PATH.old; anything else is refused unless `force`, and what another process writes always
 * (-EWOULDBLOCK). Devices and pipes are written to, a link is written through.
 */
int output_open_archive(struct output *output, const char *path, bool force);
/*
 * Opens PATH.part; SIGINT, SIGTERM, SIGHUP and SIGPIPE remove it from now on. OUTPUT_PARTS_MAX at a time:
 * more would stay. -EWOULDBLOCK: another process writes it. What is at PATH is refused
 * (-EEXIST) unless it is empty, or `force`; what is at PATH.part likewise. Of a link it is the
 * file that it leads to. Like an archive the file is its owner's alone.
 */
int output_open_part(struct output *output, const char *path, bool force);
/*
 * What there is of a part can be read, though it is not whole: from now on signals leave it under
 * its name, as does a full disk, unless it has a head only.
 */
void output_keep(struct output *output);
/* Closes, and gives a part its name. 0 or -errno: then an archive stays, other files as below. */
int output_commit(struct output *output);
/*
 * Closes and removes what was made; what was there before comes back. error: why; if it is one of
 * a full disk a part that can be read stays, and a message says so. 0: none.
 */
void output_discard(struct output *output, int error);

#endif /* FLOWTAP_TOOLS_COMMON_OUTPUT_FILE_H */
