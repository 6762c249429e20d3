/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the parts of the drain share: drain.c (streams and blocks), drain_wait.c, drain_uring.c. */
#ifndef FLOWTAP_DRAIN_INTERNAL_H
#define FLOWTAP_DRAIN_INTERNAL_H

#include <flowtap/drain.h>
#include <liburing.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/uio.h>

#define DRAIN_FLIGHTS 8		/* blocks of one stream on their way */
#define DRAIN_PIECES 3		/* header, and payload to the end of the ring and from its start */

/* A block on its way. */
struct drain_flight {
	uint64_t end;		/* the tail when it is there */
	bool pending;		/* it is not there yet */
	uint64_t copied;	/* into the archive, up to there; 0: it was not */
	unsigned int n;		/* pieces; those before `next` are in the file */
	unsigned int next;
	uint64_t offset;	/* in the file, of the next piece's first byte that is not there */
	struct iovec pieces[DRAIN_PIECES];
};

struct drain_stream {
	int number;		/* -1: a free slot */
	uint32_t cpu;
	struct flowtap_reader *reader;
	int buffer;		/* registered; -1 none */
	int error;
	bool blocked;		/* something waits, but there are enough flights */
	uint64_t sent;		/* up to here blocks are made */
	unsigned int first;	/* of the flights, the oldest */
	unsigned int n;
	struct drain_flight flights[DRAIN_FLIGHTS];
};

struct drain_watch {
	int stream;		/* its slot; -1: only an fd */
	unsigned int generation; /* tells an event of who had the number before */
	unsigned int seen;	/* poll's events, not told yet */
	bool used;
	bool armed;
	bool dead;		/* hung up */
};

struct flowtap_drain {
	struct flowtap_archive_writer *writer;
	int failed;
	unsigned int streams;	/* slots */
	struct drain_stream *stream;
	struct flowtap_archive_block_header *headers;	/* of each flight of each stream */
	int watches;		/* numbers given */
	int room;
	struct drain_watch *watch;
	struct pollfd *poll;	/* the same numbers */
	unsigned int happened;	/* events since wait began */
	bool uring;		/* the following are there */
	bool table;		/* of registered buffers: slot n is stream n's, the last the headers' */
	bool headers_fixed;
	unsigned int in_flight;	/* blocks that the kernel has, or will have at the next submit */
	struct io_uring ring;
};

/*
 * drain.c: what befell a block. The pieces before `piece` are in the file; result: further bytes,
 * or -errno.
 */
void drain_written(struct flowtap_drain *drain, unsigned int stream, unsigned int flight,
		   unsigned int piece, int result);
/* Nothing more can be written to this archive. */
void drain_fail(struct flowtap_drain *drain, int error);
/* Whether a stream has enough for a block, or could not be taken when it should have been. */
bool drain_ready(struct flowtap_drain *drain);

/* drain_wait.c */
void drain_saw(struct flowtap_drain *drain, int number, unsigned int events);

/* drain_uring.c. 0 or -errno. */
int drain_uring_open(struct flowtap_drain *drain, bool fixed);
void drain_uring_close(struct flowtap_drain *drain);
/* The buffer's number or -1: not registered. */
int drain_uring_register(struct flowtap_drain *drain, unsigned int stream);
void drain_uring_unregister(struct flowtap_drain *drain, unsigned int stream);
void drain_uring_forget(struct flowtap_drain *drain, int number);
/* Queues what is left of a block. */
int drain_uring_write(struct flowtap_drain *drain, unsigned int stream, unsigned int flight);
/* Submits, waits for at least one completion (deadline in ns, -1 none), and looks at all. */
int drain_uring_turn(struct flowtap_drain *drain, int64_t deadline);

#endif /* FLOWTAP_DRAIN_INTERNAL_H */
