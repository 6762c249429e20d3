/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files are brought to the disk by a thread, one after the other: who asks for that waits a tenth of a
 * second, in which most disks take a segment, and else asks again later. Rings are emptied meanwhile.
 */
#ifndef FLOWTAP_DAEMON_SYNCER_H
#define FLOWTAP_DAEMON_SYNCER_H

#include <stdbool.h>
#include <stdint.h>

struct syncer;
struct sync;

/* 0 and *syncer, whose thread begins with the first file; -ENOMEM. */
int syncer_new(struct syncer **syncer);
/*
 * Asks for the file to be on the disk as it is now; fd may be closed afterwards. Waits for it where
 * nothing else is pending. 0: it is there; -errno: it is not; -EINPROGRESS: that is not known yet, and
 * *sync is to be asked, which else is NULL. Where there is no thread (syncer NULL, or one that cannot
 * be begun) it waits as long as the disk takes.
 */
int syncer_begin(struct syncer *syncer, int fd, struct sync **sync);
/* What has become of it, without waiting: as above. Not of NULL. */
int syncer_ask(struct sync **sync);
/* Whether syncer_ask would answer anything but -EINPROGRESS. Not of NULL. */
bool syncer_knows(const struct sync *sync);
/* Nobody asks any more; nothing where it is NULL, which it is afterwards. */
void syncer_drop(struct sync **sync);
/* Waits until nothing is pending, up to so many ms. Whether nothing is. */
bool syncer_wait(struct syncer *syncer, unsigned int ms);
/*
 * After each sync was asked to its end, or dropped. NULL: nothing. A thread that the disk holds is not
 * waited for: it ends with the process.
 */
void syncer_free(struct syncer *syncer);

#endif /* FLOWTAP_DAEMON_SYNCER_H */
