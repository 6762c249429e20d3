// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
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
	if (ring->flags & FLOWTAP_OVERWRITE)
		return -EOPNOTSUPP;
	reader->ring = ring;
	reader->mapped = mapped;
	reader->data = (const uint8_t *)mapping + offset;
	reader->size = size;
	return 0;
}

int flowtap_reader_map(struct flowtap_reader *reader, int fd, size_t data_pages)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), mapped;
	int saved = errno, err;
	void *mapping;

	if (!data_pages || data_pages > SIZE_MAX / page - 1)
		return -EINVAL;
	mapped = (data_pages + 1) * page;
	mapping = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	err = mapping == MAP_FAILED ? -errno : 0;
	errno = saved;
	if (err)
		return err;
	err = flowtap_reader_attach(reader, mapping, mapped);
	if (!err && reader->size != data_pages * page)
		err = -EPROTO;
	if (err)
		munmap(mapping, mapped);
	return err;
}

void flowtap_reader_unmap(struct flowtap_reader *reader)
{
	munmap(reader->ring, reader->mapped);
	memset(reader, 0, sizeof(*reader));
}

int flowtap_reader_peek(const struct flowtap_reader *reader, struct flowtap_stretch part[2],
			uint64_t *out)
{
	/* Pairs with the writer's release: the records before head are whole. */
	uint64_t head = __atomic_load_n(&reader->ring->data_head, __ATOMIC_ACQUIRE);
	/* Only this reader writes it. */
	uint64_t tail = __atomic_load_n(&reader->ring->data_tail, __ATOMIC_RELAXED);
	uint64_t ready = head - tail, begin = tail & (reader->size - 1);
	uint64_t first = reader->size - begin;

	if (ready > reader->size || head % 8 || tail % 8)
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

void flowtap_reader_advance(struct flowtap_reader *reader, uint64_t tail)
{
	/* Pairs with the writer's acquire: what was read is not overwritten before it was read. */
	__atomic_store_n(&reader->ring->data_tail, tail, __ATOMIC_RELEASE);
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

int flowtap_record_in(const struct flowtap_stretch part[2], size_t offset, void *copy,
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
