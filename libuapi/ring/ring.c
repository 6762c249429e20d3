// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Maps a ring and its AUX area, checks the header, and pairs loads and stores of head and tail
 * with the kernel's barriers.
 */
#include <flowtap/ring.h>

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Static_assert(sizeof(struct flowtap_record) == 8, "layout");
_Static_assert(offsetof(struct flowtap_ring, data_head) == 128, "layout");
_Static_assert(offsetof(struct flowtap_ring, data_tail) == 256, "layout");

int flowtap_reader_attach(struct flowtap_reader *reader, void *mapping, size_t mapped)
{
	struct flowtap_ring *ring = mapping;
	uint64_t offset, size;

	if (mapped < sizeof(*ring))
		return -EPROTO;
	offset = ring->data_offset;
	size = ring->data_size;
	if (ring->abi != FLOWTAP_ABI || offset < sizeof(*ring) || offset % 8 || offset > mapped)
		return -EPROTO;
	if (size < 8 || size & (size - 1) || size > mapped - offset)
		return -EPROTO;
	reader->ring = ring;
	reader->mapped = mapped;
	reader->data = (const uint8_t *)mapping + offset;
	reader->size = size;
	reader->overwrite = ring->flags & FLOWTAP_OVERWRITE;
	reader->aux = NULL;
	reader->aux_size = 0;
	return 0;
}

int flowtap_reader_map(struct flowtap_reader *reader, int fd, size_t data_pages, uint32_t flags)
{
	bool overwrite = flags & FLOWTAP_OVERWRITE;
	int protection = overwrite ? PROT_READ : PROT_READ | PROT_WRITE;
	size_t page = (size_t)sysconf(_SC_PAGESIZE), mapped;
	int saved = errno, err;
	void *mapping;

	if (!data_pages || data_pages > SIZE_MAX / page - 1)
		return -EINVAL;
	mapped = (data_pages + 1) * page;
	mapping = mmap(NULL, mapped, protection, MAP_SHARED, fd, 0);
	err = mapping == MAP_FAILED ? -errno : 0;
	errno = saved;
	if (err)
		return err;
	err = flowtap_reader_attach(reader, mapping, mapped);
	if (!err && (reader->size != data_pages * page || reader->overwrite != overwrite))
		err = -EPROTO;
	if (err)
		munmap(mapping, mapped);
	return err;
}

int flowtap_reader_map_aux(struct flowtap_reader *reader, int fd, size_t aux_pages)
{
	int protection = reader->overwrite ? PROT_READ : PROT_READ | PROT_WRITE;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t offset = reader->ring->aux_offset, size = reader->ring->aux_size;
	int saved = errno, err = 0;
	void *mapping;

	if (!aux_pages || aux_pages > SIZE_MAX / page)
		return -EINVAL;
	if (size != aux_pages * page || size & (size - 1) || offset % page ||
	    offset < reader->mapped || offset > INT64_MAX - size)
		return -EPROTO;
	mapping = mmap(NULL, size, protection, MAP_SHARED, fd, (off_t)offset);
	if (mapping == MAP_FAILED)
		err = -errno;
	errno = saved;
	if (err)
		return err;
	reader->aux = mapping;
	reader->aux_size = size;
	return 0;
}

void flowtap_reader_unmap(struct flowtap_reader *reader)
{
	if (reader->aux)
		munmap((void *)reader->aux, reader->aux_size);
	munmap(reader->ring, reader->mapped);
	memset(reader, 0, sizeof(*reader));
}

int flowtap_reader_peek_from(const struct flowtap_reader *reader, uint64_t from,
			     struct flowtap_buffer part[2], uint64_t *out)
{
	/* Pairs with the writer's release: the records before head are whole. */
	uint64_t head = __atomic_load_n(&reader->ring->data_head, __ATOMIC_ACQUIRE);
	uint64_t ready = head - from, begin = from & (reader->size - 1);
	uint64_t first = reader->size - begin;

	if (reader->overwrite)
		return -EOPNOTSUPP;
	if (ready > reader->size || head % 8 || from % 8)
		return -EPROTO;
	if (first > ready)
		first = ready;
	part[0].bytes = reader->data + begin;
	part[0].size = first;
	part[1].bytes = reader->data;
	part[1].size = ready - first;
	*out = head;
	return 0;
}

int flowtap_reader_peek(const struct flowtap_reader *reader, struct flowtap_buffer part[2],
			uint64_t *head)
{
	/* Only this reader writes it. */
	uint64_t tail = __atomic_load_n(&reader->ring->data_tail, __ATOMIC_RELAXED);

	return flowtap_reader_peek_from(reader, tail, part, head);
}

void flowtap_reader_advance(struct flowtap_reader *reader, uint64_t tail)
{
	/* Pairs with the writer's acquire: what was read is not overwritten before it was read. */
	__atomic_store_n(&reader->ring->data_tail, tail, __ATOMIC_RELEASE);
}

int flowtap_reader_aux_head(const struct flowtap_reader *reader, uint64_t *head)
{
	uint64_t tail = __atomic_load_n(&reader->ring->aux_tail, __ATOMIC_RELAXED);

	/* Pairs with the writer's release: the bytes before head are there. */
	*head = __atomic_load_n(&reader->ring->aux_head, __ATOMIC_ACQUIRE);
	return !reader->overwrite && *head - tail > reader->aux_size ? -EPROTO : 0;
}

void flowtap_reader_advance_aux(struct flowtap_reader *reader, uint64_t tail)
{
	/* As flowtap_reader_advance: here the writer is the hardware, which the kernel starts. */
	__atomic_store_n(&reader->ring->aux_tail, tail, __ATOMIC_RELEASE);
}

/* How often the whole ring may be overwritten under the copy's hands. */
#define TRIES 16

/* Copies [from, head) as it is: some of it may be overwritten meanwhile. */
static void copy_out(const struct flowtap_reader *reader, uint64_t from, uint64_t head,
		     uint8_t *buffer)
{
	uint64_t begin = from & (reader->size - 1), first = reader->size - begin;
	uint64_t size = head - from;

	if (first > size)
		first = size;
	memcpy(buffer, reader->data + begin, first);
	memcpy(buffer + first, reader->data, size - first);
}

/* Once: 0 and where the copy begins in *left; -EAGAIN where nothing of it was left; -EPROTO. */
static int try_copy(const struct flowtap_reader *reader, uint8_t *buffer,
		    struct flowtap_buffer *records, uint64_t *end, uint64_t *left)
{
	struct flowtap_ring *ring = reader->ring;
	uint64_t head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE);
	uint64_t oldest = __atomic_load_n(&ring->data_oldest, __ATOMIC_RELAXED), later;

	if (head % 8 || oldest % 8)
		return -EPROTO;
	/* The kernel may have gone a long way since head was loaded. */
	if ((int64_t)(oldest - head) > 0)
		return -EAGAIN;
	if (head - oldest > reader->size)
		return -EPROTO;
	copy_out(reader, oldest, head, buffer);
	/* The copy before data_oldest: pairs with the writer's barrier between it and the data. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	later = __atomic_load_n(&ring->data_oldest, __ATOMIC_RELAXED);
	if ((int64_t)(later - oldest) < 0 || later % 8)
		return -EPROTO;
	if ((int64_t)(later - head) > 0)
		return -EAGAIN;
	*left = later;
	records->bytes = buffer + (later - oldest);
	records->size = head - later;
	*end = head;
	return 0;
}

int flowtap_reader_copy(const struct flowtap_reader *reader, void *buffer,
			struct flowtap_buffer *records, uint64_t *head, uint64_t *dropped)
{
	uint64_t oldest, left;
	int err = -EAGAIN;

	if (!reader->overwrite)
		return -EOPNOTSUPP;
	oldest = __atomic_load_n(&reader->ring->data_oldest, __ATOMIC_RELAXED);
	left = oldest;
	for (int i = 0; i < TRIES && err == -EAGAIN; i++)
		err = try_copy(reader, buffer, records, head, &left);
	/* Also what went between two tries. */
	*dropped = left - oldest;
	return err;
}

static bool sized(const struct flowtap_record *record, size_t left)
{
	return record->size >= sizeof(*record) && record->size % 8 == 0 && record->size <= left;
}

int flowtap_record_at(const void *buffer, size_t size, size_t offset,
		      const struct flowtap_record **out)
{
	const struct flowtap_record *record;

	if (offset == size)
		return -ENODATA;
	if (offset > size || offset % 8 || size - offset < sizeof(*record))
		return -EBADMSG;
	record = (const void *)((const uint8_t *)buffer + offset);
	if (!sized(record, size - offset))
		return -EBADMSG;
	*out = record;
	return 0;
}

int flowtap_record_in(const struct flowtap_buffer part[2], size_t offset, void *copy,
		      const struct flowtap_record **out)
{
	const struct flowtap_record *record;
	size_t left, whole;

	if (offset >= part[0].size)
		return flowtap_record_at(part[1].bytes, part[1].size, offset - part[0].size, out);
	left = part[0].size - offset;
	if (offset % 8 || left < sizeof(*record))
		return -EBADMSG;
	record = (const void *)((const uint8_t *)part[0].bytes + offset);
	whole = record->size;
	if (whole <= left)
		return flowtap_record_at(part[0].bytes, part[0].size, offset, out);
	if (!sized(record, left + part[1].size))
		return -EBADMSG;
	memcpy(copy, record, left);
	memcpy((uint8_t *)copy + left, part[1].bytes, whole - left);
	*out = copy;
	return 0;
}
