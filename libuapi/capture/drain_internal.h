/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What the parts of the drain share: drain.c (streams), drain_block.c, drain_aux.c,
 * drain_snapshot.c, drain_wait.c, drain_uring.c.
 */
#ifndef FLOWTAP_LIBUAPI_CAPTURE_DRAIN_INTERNAL_H
#define FLOWTAP_LIBUAPI_CAPTURE_DRAIN_INTERNAL_H

#include <errno.h>
#include <flowtap/drain.h>
#include <liburing.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/uio.h>

#define DRAIN_FLIGHTS 8		/* blocks of one stream on their way */
/* RING: header, payload to the end of the ring and from its start. AUX: header, payload, zeros. */
#define DRAIN_PIECES 3
#define DRAIN_AUX_MAX (FLOWTAP_ARCHIVE_BLOCK_MAX - 4096U)	/* bytes of an AUX area in a block */

/* What a block has that is not in a ring. */
struct drain_head {
	struct flowtap_archive_block_header header;
	uint64_t offset;	/* an AUX block's */
	uint8_t zeros[8];
};

/* A block on its way. */
struct drain_flight {
	uint64_t end;		/* the tails when it is there */
	uint64_t aux_end;
	bool pending;		/* it is not there yet */
	uint64_t begin;		/* in the archive */
	uint64_t copied;	/* into the archive, up to there; 0: it was not */
	unsigned int n;		/* pieces; those before `next` are in the file */
	unsigned int next;
	uint64_t offset;	/* in the file, of the next piece's first byte that is not there */
	struct iovec pieces[DRAIN_PIECES];
	int buffers[DRAIN_PIECES]; /* that they are in; -1: not registered */
};

struct drain_stream {
	int number;		/* -1: a free slot */
	uint32_t cpu;
	struct flowtap_reader *reader;
	int buffer;		/* registered; -1 none */
	int aux_buffer;
	int error;
	bool blocked;		/* something waits, but there are enough flights */
	uint64_t sent;		/* up to here blocks are made */
	uint64_t since, most;	/* of a snapshot */
	uint64_t aux_head;	/* as it was loaded last */
	uint64_t aux_sent;	/* up to here blocks are made */
	uint64_t aux_end;	/* up to here the records before `sent` name */
	unsigned int first;	/* of the flights, the oldest */
	unsigned int n;
	struct drain_flight flights[DRAIN_FLIGHTS];
};

struct drain_watch {
	int stream;		/* its slot; -1: only an fd */
	unsigned int generation; /* distinguishes events of who had the number before */
	unsigned int seen;	/* poll's events, not reported yet */
	bool used;
	bool armed;
	bool dead;		/* hung up */
};

struct flowtap_drain {
	struct flowtap_archive_writer *writer;
	int failed;
	unsigned int streams;	/* slots */
	struct drain_stream *stream;
	struct drain_head *heads;	/* of each flight of each stream */
	int watches;		/* numbers given */
	struct drain_watch *watch;
	struct pollfd *poll;	/* the same numbers */
	unsigned int happened;	/* events since wait began */
	bool uring;		/* the following are there */
	bool table;		/* of registered buffers, see drain_uring.c */
	int heads_buffer;	/* -1: not registered */
	unsigned int in_flight;	/* blocks that the kernel has, or will have at the next submit */
	bool looking;		/* at completions */
	struct io_uring ring;
};

/* The kernel had no memory for it, or too much to report: it is otherwise a moment later. */
static inline bool drain_passes(int err)
{
	return err == -EAGAIN || err == -EBUSY || err == -ENOMEM;
}

/*
 * drain.c: what befell a block. The pieces before `piece` are in the file; result: further bytes,
 * or -errno.
 */
void drain_written(struct flowtap_drain *drain, unsigned int stream, unsigned int flight,
		   unsigned int piece, int result);
/* Nothing more can be written to this archive. */
void drain_fail(struct flowtap_drain *drain, int error);
/* NULL: no such number, or no stream's. */
struct drain_stream *drain_stream_of(const struct flowtap_drain *drain, int number);

/* drain_block.c: whether the slot has a stream that is read as it goes. */
bool drain_takes(const struct drain_stream *stream);
/*
 * Sends a block of what waits, if it is `little` or else if it is much; or a `rest`, whatever it
 * is. *moved grows by its bytes. True: there is a rest.
 */
bool drain_take_block(struct flowtap_drain *drain, struct drain_stream *stream, bool little,
		      bool rest, uint64_t *moved);
/* Whether a stream has enough for a block, or could not be taken when it should have been. */
bool drain_ready(struct flowtap_drain *drain);
/* Whole records of at most `most` bytes: 1 if there were more, else 0. -EPROTO: they are none. */
int drain_cut(struct flowtap_buffer part[2], size_t most);
/* `size` bytes are left. */
void drain_shorten(struct flowtap_buffer part[2], size_t size);
/* Of records, in bytes. */
size_t drain_block_size(const struct drain_stream *stream);

/* What the first AUX records of a block name: at most a block's bytes, but always one record's. */
struct drain_named {
	uint64_t begin;		/* of the bytes, as aux_head counts; end: none */
	uint64_t end;
	size_t records;		/* bytes of the block up to the next such record, or all */
};

/*
 * drain_aux.c: base: up to where the records before name bytes. 0; -EPROTO: it is no whole record,
 * or its bytes are not between that and head; head is before base.
 */
int drain_aux_named(const struct flowtap_reader *reader, const struct flowtap_buffer part[2],
		    uint64_t base, uint64_t head, struct drain_named *named);
/* Where the bytes from `begin` on are, and how many of them can be one block's. */
uint64_t drain_aux_piece(const struct flowtap_reader *reader, uint64_t begin, uint64_t end,
			 const void **bytes);

/* drain_wait.c */
void drain_saw(struct flowtap_drain *drain, int number, unsigned int events);

/* drain_uring.c. 0 or -errno. */
int drain_uring_open(struct flowtap_drain *drain, bool fixed);
void drain_uring_close(struct flowtap_drain *drain);
/* Sets the stream's buffers: their numbers or -1, not registered. */
void drain_uring_register(struct flowtap_drain *drain, unsigned int stream);
void drain_uring_unregister(struct flowtap_drain *drain, unsigned int stream);
void drain_uring_remove(struct flowtap_drain *drain, int number);
/* Queues what is left of a block. */
int drain_uring_write(struct flowtap_drain *drain, unsigned int stream, unsigned int flight);
/*
 * Submits, waits for at least one completion (deadline in ns, -1 none), and looks at all. 1; -ETIME;
 * -errno, where drain_passes without having waited.
 */
int drain_uring_turn(struct flowtap_drain *drain, int64_t deadline);

#endif /* FLOWTAP_LIBUAPI_CAPTURE_DRAIN_INTERNAL_H */
