/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Reader of a stream's ring (linux/flowtap.h, The ring). A ring is either taken from (peek, then
 * advance), or with FLOWTAP_OVERWRITE copied out of while the kernel writes on (copy).
 */
#ifndef FLOWTAP_RING_H
#define FLOWTAP_RING_H

#include <linux/flowtap.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct flowtap_reader {
	struct flowtap_ring *ring;	/* the mapping; read-only if overwrite */
	size_t mapped;			/* bytes */
	const uint8_t *data;
	uint64_t size;			/* of data, a power of two */
	bool overwrite;
	const uint8_t *aux;		/* the AUX area, NULL: none */
	uint64_t aux_size;		/* a power of two, 0: none */
};

/* Contiguous bytes of the data area: a ring's readable part is at most two of them. */
struct flowtap_buffer {
	const void *bytes;
	size_t size;
};

/*
 * Maps the ring of a configured stream; data_pages and flags as in CONFIGURE: with
 * FLOWTAP_OVERWRITE read-only. 0; -errno of mmap (-EINVAL also where the stream's mode is the
 * other one); -EPROTO where the control page contradicts the mapping.
 */
int flowtap_reader_map(struct flowtap_reader *reader, int fd, size_t data_pages, uint32_t flags);
/*
 * Maps the AUX area that the ring's control page describes; aux_pages as in CONFIGURE. Unmapped
 * with the ring. 0; -errno of mmap; -EINVAL: no pages; -EPROTO where the page contradicts
 * aux_pages.
 */
int flowtap_reader_map_aux(struct flowtap_reader *reader, int fd, size_t aux_pages);
void flowtap_reader_unmap(struct flowtap_reader *reader);
/*
 * The same over `mapped` bytes that are there already, borrowed: the control page, then data.
 * 0, -EPROTO.
 */
int flowtap_reader_attach(struct flowtap_reader *reader, void *ring, size_t mapped);

/*
 * What can be read now: whole records, in at most two buffers (the second one's size is 0
 * where the first does not reach the end of the data area), and *head to hand to
 * flowtap_reader_advance when they are taken. A record can begin in the first and end in the
 * second. Load-acquires data_head. -EPROTO when head or tail is out of range (nothing is taken);
 * -EOPNOTSUPP for a ring that overwrites.
 */
int flowtap_reader_peek(const struct flowtap_reader *reader, struct flowtap_buffer part[2],
			uint64_t *head);
/*
 * The same for whoever has taken up to `from` already (a head of before) and not given it back
 * yet: what lies beyond. -EPROTO also where data_head has fallen behind `from`.
 */
int flowtap_reader_peek_from(const struct flowtap_reader *reader, uint64_t from,
			     struct flowtap_buffer part[2], uint64_t *head);
/* Store-releases data_tail: everything before `tail` may be overwritten. */
void flowtap_reader_advance(struct flowtap_reader *reader, uint64_t tail);

/*
 * Up to where there are bytes in the AUX area: load it after the head of the records (peek). Byte n
 * is aux[n & (aux_size - 1)]. Load-acquires aux_head. 0; -EPROTO: more than the area can hold.
 */
int flowtap_reader_aux_head(const struct flowtap_reader *reader, uint64_t *head);
/* Store-releases aux_tail: the hardware may overwrite everything before `tail`. */
void flowtap_reader_advance_aux(struct flowtap_reader *reader, uint64_t tail);

/*
 * Copies the newest whole records of a ring that overwrites, while the kernel may go on writing
 * it. buffer: reader->size bytes. *records lies in it; *head is where they end, as the ring counts
 * its bytes; *dropped is how many bytes the kernel overwrote while they were copied: those are not
 * in *records. 0; -EPROTO where data_head and data_oldest contradict each other; -EAGAIN where
 * data_oldest was ahead of data_head each time it was tried: the kernel overwrote the whole ring
 * meanwhile, or there is no sense in it; -EOPNOTSUPP for a ring that does not overwrite.
 */
int flowtap_reader_copy(const struct flowtap_reader *reader, void *buffer,
			struct flowtap_buffer *records, uint64_t *head, uint64_t *dropped);

/*
 * The record at `offset` of a buffer of `size` bytes, aligned to 8. 0 and *record; -ENODATA at
 * the end; -EBADMSG where no whole, aligned record begins there. Only size is checked, not what
 * a type needs.
 */
int flowtap_record_at(const void *buffer, size_t size, size_t offset,
		      const struct flowtap_record **record);

#define FLOWTAP_RECORD_MAX 65536U	/* no record is that long */

/*
 * The record at `offset` of the two buffers together. One that crosses from the first to the
 * second is copied to `copy`, FLOWTAP_RECORD_MAX bytes aligned to 8. Results of flowtap_record_at.
 */
int flowtap_record_in(const struct flowtap_buffer part[2], size_t offset, void *copy,
		      const struct flowtap_record **record);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_RING_H */
