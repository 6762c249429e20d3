/* SPDX-License-Identifier: GPL-2.0-only */
/* Rings as the kernel would make them, and what it does with them. */
#ifndef FLOWTAP_SELFTESTS_SUPPORT_MADE_RING_H
#define FLOWTAP_SELFTESTS_SUPPORT_MADE_RING_H

#include <flowtap/ring.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef RINGS
#define RINGS 8
#endif
#define MADE_PAGE 4096

struct made {
	struct flowtap_ring *ring;	/* the control page, then data */
	uint8_t *data;
	size_t size;			/* of data */
	int fd;				/* stands for the stream's: readable when it would be */
	struct flowtap_reader reader;
	int number;			/* of a drain */
	uint64_t written;		/* records so far */
	uint64_t count;			/* what producer shall add */
	bool stop;
};

static inline bool make(struct made *made, size_t size)
{
	memset(made, 0, sizeof(*made));
	made->ring = mmap(NULL, MADE_PAGE + size, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (made->ring == MAP_FAILED)
		return false;
	made->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	made->size = size;
	made->data = (uint8_t *)made->ring + MADE_PAGE;
	made->ring->abi = FLOWTAP_ABI;
	made->ring->data_offset = MADE_PAGE;
	made->ring->data_size = size;
	return made->fd >= 0 &&
	       !flowtap_reader_attach(&made->reader, made->ring, MADE_PAGE + size);
}

static inline void unmake(struct made *made)
{
	munmap(made->ring, MADE_PAGE + made->size);
	close(made->fd);
	made->ring = NULL;
}

/* Record n has a size and contents of its own. */
static inline size_t size_of(uint64_t n)
{
	return 16 + 8 * (n * 7 % 40);
}

static inline uint64_t bytes_of(uint64_t first, uint64_t end)
{
	uint64_t bytes = 0;

	while (first < end)
		bytes += size_of(first++);
	return bytes;
}

static inline size_t record(uint64_t n, uint64_t words[64])
{
	struct flowtap_record header = { (uint32_t)(n % 9), (uint16_t)n, (uint16_t)size_of(n) };

	memcpy(words, &header, sizeof(header));
	for (size_t i = 1; i < size_of(n) / 8; i++)
		words[i] = n * 1000 + i;
	return size_of(n);
}

static inline bool is_record(const struct flowtap_record *got, uint64_t n)
{
	uint64_t words[64];
	size_t size = record(n, words);

	return got->size == size && !memcmp(got, words, size);
}

static inline void put(struct made *made, uint64_t at, const void *bytes, size_t size)
{
	size_t offset = at & (made->size - 1), first = made->size - offset;

	if (first > size)
		first = size;
	memcpy(made->data + offset, bytes, first);
	memcpy(made->data, (const uint8_t *)bytes + first, size - first);
}

static inline void kick(struct made *made)
{
	uint64_t one = 1;

	(void)!write(made->fd, &one, sizeof(one));
}

/*
 * Publishes the next records in order; waits while there is no room, and wakes the reader when a
 * quarter is full and whenever it waits.
 */
static inline void produce(struct made *made, uint64_t count)
{
	uint64_t head = made->ring->data_head, told = head, words[64];

	while (count-- && !__atomic_load_n(&made->stop, __ATOMIC_RELAXED)) {
		size_t size = record(made->written++, words);

		while (head + size > made->size + __atomic_load_n(&made->ring->data_tail,
								  __ATOMIC_ACQUIRE)) {
			if (told != head)
				kick(made);
			told = head;
			if (__atomic_load_n(&made->stop, __ATOMIC_RELAXED))
				return;
			sched_yield();
		}
		put(made, head, words, size);
		head += size;
		__atomic_store_n(&made->ring->data_head, head, __ATOMIC_RELEASE);
		if (head - told >= made->size / 4) {
			kick(made);
			told = head;
		}
	}
}

static inline void *producer(void *argument)
{
	struct made *made = argument;

	produce(made, made->count);
	kick(made);
	return NULL;
}

#endif /* FLOWTAP_SELFTESTS_SUPPORT_MADE_RING_H */
