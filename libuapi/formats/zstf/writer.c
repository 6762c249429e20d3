// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The writer of .zstf. Buffers go from the output to a thread, which compresses them, keeps whole
 * chunks until there are enough of them and commits them to the file.
 *
 * A commit never makes a readable file unreadable: the index that is where the chunks will go is
 * first copied after the offset where the new one will end, and the head points there until all
 * is written.
 */
#include "formats/zstf/writer.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/vector.h"
#include "base/write_all.h"

#define BUFFERS 3U		/* on their way to the thread, which is the slower one */
#define INDEX_OFFSET_AT 12	/* in the head */

struct piece {
	uint8_t *bytes;		/* of flowtap_write_buffer_bytes; NULL: nothing but the cut */
	size_t size;
	bool apart;		/* a block ends after it */
	bool cut;		/* a chunk ends after it ... */
	uint64_t start_pc;	/* ... and the next one begins here */
};

struct flowtap_zstf {
	struct flowtap_write_buffer *out;
	uint64_t markers;
	bool finished;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;		/* the queue, either way */
	/* Under the lock. */
	struct piece queue[BUFFERS];
	unsigned int first, n;
	uint8_t *spare[BUFFERS];	/* buffers to write into */
	unsigned int spares;
	bool over;			/* no more pieces */
	bool abandoned;			/* what is not written will not be */
	int error;			/* the thread's */
	/* The thread's own. */
	int fd;
	ZSTD_CCtx *context;
	uint8_t *packed;		/* chunks that are not in the file yet, the last grows */
	size_t packed_size, packed_capacity;
	uint64_t end;			/* of the chunks in the file */
	uint64_t *index;		/* as in the file: n, then the entries of whole chunks */
	size_t chunks, index_capacity;
	size_t committed;		/* chunks in the file */
	uint64_t start_pc;		/* of the growing chunk, and ... */
	uint64_t bytes;			/* ... its uncompressed bytes, ... */
	size_t begin;			/* ... and where it begins in `packed` */
};

static int point_head(struct flowtap_zstf *zstf, uint64_t offset)
{
	offset = htole64(offset);
	return flowtap_write_all_at(zstf->fd, &offset, sizeof(offset), INDEX_OFFSET_AT);
}

static size_t index_size(size_t chunks)
{
	return sizeof(uint64_t) + chunks * FLOWTAP_ZSTF_ENTRY;
}

/* The index of the first `chunks` chunks. */
static int write_index(struct flowtap_zstf *zstf, size_t chunks, uint64_t offset)
{
	zstf->index[0] = htole64(chunks);
	return flowtap_write_all_at(zstf->fd, zstf->index, index_size(chunks), offset);
}

/* All whole chunks into the file. */
static int commit(struct flowtap_zstf *zstf)
{
	uint64_t end = zstf->end + zstf->begin;
	uint64_t size = end + index_size(zstf->chunks);
	int error = 0;

	if (zstf->committed == zstf->chunks)
		return 0;
	if (zstf->committed) {
		error = write_index(zstf, zstf->committed, size);
		if (!error)
			error = point_head(zstf, size);
	}
	if (!error)
		error = flowtap_write_all_at(zstf->fd, zstf->packed, zstf->begin, zstf->end);
	if (!error)
		error = write_index(zstf, zstf->chunks, end);
	if (!error)
		error = point_head(zstf, end);
	if (!error && ftruncate(zstf->fd, (off_t)size))
		error = -errno;
	if (error)
		return error;
	zstf->end = end;
	zstf->committed = zstf->chunks;
	zstf->packed_size -= zstf->begin;
	memmove(zstf->packed, zstf->packed + zstf->begin, zstf->packed_size);
	zstf->begin = 0;
	return 0;
}

static int reserve_capacity(struct flowtap_zstf *zstf, size_t more)
{
	return FLOWTAP_RESERVE(zstf->packed, zstf->packed_capacity, zstf->packed_size + more,
			       1U << 20);
}

static int compress(struct flowtap_zstf *zstf, const uint8_t *bytes, size_t size,
		    ZSTD_EndDirective directive)
{
	ZSTD_inBuffer in = { .src = bytes, .size = size };
	size_t left;

	do {
		ZSTD_outBuffer out;
		int error = reserve_capacity(zstf, ZSTD_CStreamOutSize());

		if (error)
			return error;
		out = (ZSTD_outBuffer){ .dst = zstf->packed, .size = zstf->packed_capacity,
					.pos = zstf->packed_size };
		left = ZSTD_compressStream2(zstf->context, &out, &in, directive);
		zstf->packed_size = out.pos;
		/* It compresses whatever it is given, but for want of memory. */
		if (ZSTD_isError(left))
			return -ENOMEM;
	} while (directive == ZSTD_e_continue ? in.pos < in.size : left);
	return 0;
}

static int add_entry(struct flowtap_zstf *zstf)
{
	uint64_t *entry;

	if (FLOWTAP_RESERVE(zstf->index, zstf->index_capacity, index_size(zstf->chunks + 1),
			    2 * index_size(1)))
		return -ENOMEM;
	entry = zstf->index + 1 + 3 * zstf->chunks++;
	entry[0] = htole64(zstf->end + zstf->begin);
	entry[1] = htole64(zstf->start_pc);
	entry[2] = htole64(zstf->bytes);
	return 0;
}

static int end_chunk(struct flowtap_zstf *zstf, uint64_t start_pc)
{
	int error = compress(zstf, NULL, 0, ZSTD_e_end);

	if (!error)
		error = add_entry(zstf);
	zstf->begin = zstf->packed_size;
	zstf->start_pc = start_pc;
	zstf->bytes = 0;
	/* The index is written anew each time: beyond some size this has to be seldom. */
	if (!error && zstf->chunks - zstf->committed > zstf->chunks / 1024)
		error = commit(zstf);
	return error;
}

static int take(struct flowtap_zstf *zstf, const struct piece *piece)
{
	int error = 0;

	if (piece->size || piece->apart)
		error = compress(zstf, piece->bytes, piece->size,
				 piece->apart ? ZSTD_e_flush : ZSTD_e_continue);
	zstf->bytes += piece->size;
	return !error && piece->cut ? end_chunk(zstf, piece->start_pc) : error;
}

/* The next piece, or false at the end. */
static bool next_piece(struct flowtap_zstf *zstf, struct piece *piece)
{
	bool more;

	pthread_mutex_lock(&zstf->lock);
	while (!zstf->n && !zstf->over)
		pthread_cond_wait(&zstf->changed, &zstf->lock);
	more = zstf->n && !zstf->abandoned;
	if (more) {
		*piece = zstf->queue[zstf->first];
		zstf->first = (zstf->first + 1) % BUFFERS;
		zstf->n--;
	}
	pthread_mutex_unlock(&zstf->lock);
	return more;
}

static void done_with(struct flowtap_zstf *zstf, uint8_t *bytes, int error)
{
	pthread_mutex_lock(&zstf->lock);
	if (bytes)
		zstf->spare[zstf->spares++] = bytes;
	zstf->error = error;
	pthread_cond_signal(&zstf->changed);
	pthread_mutex_unlock(&zstf->lock);
}

static void *run(void *argument)
{
	struct flowtap_zstf *zstf = argument;
	struct piece piece;
	int error = 0;

	while (next_piece(zstf, &piece)) {
		/* After an error whoever waits for a buffer must still get one. */
		if (!error)
			error = take(zstf, &piece);
		done_with(zstf, piece.bytes, error);
	}
	if (!error && !zstf->abandoned && zstf->bytes)
		error = end_chunk(zstf, 0);
	if (!error && !zstf->abandoned)
		error = commit(zstf);
	done_with(zstf, NULL, error);
	return NULL;
}

/* Waits for space. The buffer to go on with, NULL if the piece has none; 0 or -errno. */
static int send(struct flowtap_zstf *zstf, const struct piece *piece, uint8_t **buffer)
{
	int error;

	pthread_mutex_lock(&zstf->lock);
	while (zstf->n == BUFFERS || (piece->bytes && !zstf->spares))
		pthread_cond_wait(&zstf->changed, &zstf->lock);
	error = zstf->error;
	if (!error) {
		zstf->queue[(zstf->first + zstf->n++) % BUFFERS] = *piece;
		*buffer = piece->bytes ? zstf->spare[--zstf->spares] : NULL;
		pthread_cond_signal(&zstf->changed);
	}
	pthread_mutex_unlock(&zstf->lock);
	return error;
}

/* Hands on `size` bytes of the output's own buffer: the piece says what ends after them. */
static int hand_on(struct flowtap_zstf *zstf, size_t size, struct piece piece)
{
	uint8_t *buffer;
	int error;

	piece.bytes = size ? zstf->out->bytes : NULL;
	piece.size = size;
	error = zstf->finished ? -EPIPE : send(zstf, &piece, &buffer);

	if (!error && size)
		zstf->out->bytes = buffer;
	return error;
}

static int drain(struct flowtap_write_buffer *out, const uint8_t *bytes, size_t size)
{
	struct flowtap_zstf *zstf = out->argument;
	int error = 0;

	if (bytes == out->bytes)
		return size ? hand_on(zstf, size, (struct piece){ .cut = false }) : 0;
	for (size_t at = 0, n; at < size && !error; at += n) {
		n = size - at < FLOWTAP_WRITE_BUFFER_CAPACITY ? size - at :
								FLOWTAP_WRITE_BUFFER_CAPACITY;
		memcpy(out->bytes, bytes + at, n);
		error = hand_on(zstf, n, (struct piece){ .cut = false });
	}
	return error;
}

static void hand_on_all(struct flowtap_zstf *zstf, struct piece piece)
{
	struct flowtap_write_buffer *out = zstf->out;
	size_t fill = out->fill;

	out->fill = 0;
	if (!out->error)
		out->error = hand_on(zstf, fill, piece);
	if (!out->error)
		out->written += fill;
}

void flowtap_zstf_cut(struct flowtap_zstf *zstf, uint64_t start_pc)
{
	hand_on_all(zstf, (struct piece){ .cut = true, .start_pc = start_pc });
}

void flowtap_zstf_set_apart(struct flowtap_zstf *zstf)
{
	hand_on_all(zstf, (struct piece){ .apart = true });
}

uint64_t flowtap_zstf_markers(const struct flowtap_zstf *zstf)
{
	return zstf->markers;
}

/* An empty file that is no .zstf yet: it has no index. */
static int begin_file(struct flowtap_zstf *zstf)
{
	uint8_t head[FLOWTAP_ZSTF_HEAD] = FLOWTAP_ZSTF_MAGIC;
	uint64_t markers = htole64(zstf->markers);
	struct stat stat;
	int flags = fcntl(zstf->fd, F_GETFL);

	if (fstat(zstf->fd, &stat) || flags < 0)
		return -errno;
	if (!S_ISREG(stat.st_mode))
		return -ESPIPE;
	if (flags & O_APPEND)
		return -EINVAL;
	if (ftruncate(zstf->fd, 0))
		return -errno;
	memcpy(head + 4, &markers, sizeof(markers));
	zstf->end = sizeof(head);
	return flowtap_write_all_at(zstf->fd, head, sizeof(head), 0);
}

static int begin_compression(struct flowtap_zstf *zstf, int level)
{
	zstf->context = ZSTD_createCCtx();
	if (!zstf->context)
		return -ENOMEM;
	if (ZSTD_isError(ZSTD_CCtx_setParameter(zstf->context, ZSTD_c_compressionLevel, level)) ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(zstf->context, ZSTD_c_checksumFlag, 1)))
		return -EINVAL;
	for (; zstf->spares < BUFFERS; zstf->spares++) {
		zstf->spare[zstf->spares] = flowtap_write_buffer_bytes();
		if (!zstf->spare[zstf->spares])
			return -ENOMEM;
	}
	return 0;
}

/* Signals are for the caller's threads. */
static int begin_thread(struct flowtap_zstf *zstf)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&zstf->thread, NULL, run, zstf);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -error;
}

static void free_all(struct flowtap_zstf *zstf)
{
	while (zstf->n--)
		free(zstf->queue[zstf->first++ % BUFFERS].bytes);
	while (zstf->spares--)
		free(zstf->spare[zstf->spares]);
	ZSTD_freeCCtx(zstf->context);
	pthread_mutex_destroy(&zstf->lock);
	pthread_cond_destroy(&zstf->changed);
	free(zstf->packed);
	free(zstf->index);
	free(zstf);
}

int flowtap_zstf_new(struct flowtap_write_buffer *out, const struct flowtap_zstf_options *options,
		     struct flowtap_zstf **zstf)
{
	int level = options->level ? options->level : FLOWTAP_ZSTF_LEVEL;
	int saved = errno, error;
	struct flowtap_zstf *new;

	if (options->markers > FLOWTAP_ZSTF_MARKERS_MAX || level < 1 ||
	    level > FLOWTAP_ZSTF_LEVEL_MAX)
		return -EINVAL;
	new = calloc(1, sizeof(*new));
	if (!new)
		return -ENOMEM;
	new->out = out;
	new->fd = out->fd;
	new->markers = options->markers ? options->markers : FLOWTAP_ZSTF_MARKERS;
	pthread_mutex_init(&new->lock, NULL);
	pthread_cond_init(&new->changed, NULL);
	error = begin_file(new);
	if (!error)
		error = begin_compression(new, level);
	if (!error)
		error = begin_thread(new);
	errno = saved;
	if (error) {
		free_all(new);
		return error;
	}
	out->drain = drain;
	out->argument = new;
	*zstf = new;
	return 0;
}

static void end_thread(struct flowtap_zstf *zstf, bool abandon)
{
	pthread_mutex_lock(&zstf->lock);
	zstf->over = true;
	zstf->abandoned = abandon;
	pthread_cond_signal(&zstf->changed);
	pthread_mutex_unlock(&zstf->lock);
	pthread_join(zstf->thread, NULL);
	zstf->finished = true;
}

int flowtap_zstf_finish(struct flowtap_zstf *zstf)
{
	int error = zstf->out->error;

	if (!error && !zstf->finished)
		error = flowtap_write_buffer_flush(zstf->out);
	if (!zstf->finished)
		end_thread(zstf, error);
	if (!zstf->out->error)
		zstf->out->error = zstf->error;
	return zstf->out->error;
}

void flowtap_zstf_free(struct flowtap_zstf *zstf)
{
	if (!zstf)
		return;
	if (!zstf->finished)
		end_thread(zstf, true);
	free_all(zstf);
}
