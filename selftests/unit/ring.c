// SPDX-License-Identifier: GPL-2.0-only
/* Shows that the ring's reader takes every record once and whole, whatever wraps where. */
#include <errno.h>
#include <flowtap/ring.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kselftest_harness.h"

#define PAGE 4096
#define DATA 4096

/* A ring as the kernel would make it: the control page, then data. */
struct made {
	struct flowtap_ring *ring;
	uint8_t *data;
	size_t size;
};

static struct made make(void)
{
	struct made made;

	made.ring = mmap(NULL, PAGE + DATA, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
			 0);
	made.ring->abi = FLOWTAP_ABI;
	made.ring->data_offset = PAGE;
	made.ring->data_size = DATA;
	made.data = (uint8_t *)made.ring + PAGE;
	made.size = PAGE + DATA;
	return made;
}

static void put(struct made *made, uint64_t at, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		made->data[(at + i) % DATA] = ((const uint8_t *)bytes)[i];
}

/* Record n has a size and contents of its own. */
static size_t size_of(uint64_t n)
{
	return 16 + 8 * (n * 7 % 40);
}

static size_t record(uint64_t n, uint64_t words[64])
{
	struct flowtap_record header = { (uint32_t)(n % 9), (uint16_t)n, (uint16_t)size_of(n) };

	memcpy(words, &header, sizeof(header));
	for (size_t i = 1; i < size_of(n) / 8; i++)
		words[i] = n * 1000 + i;
	return size_of(n);
}

static bool is_record(const struct flowtap_record *got, uint64_t n)
{
	uint64_t words[64];
	size_t size = record(n, words);

	return got->size == size && !memcmp(got, words, size);
}

/* The kernel's half: publishes records in order, and waits while there is no room. */
static void produce(struct made *made, uint64_t count)
{
	uint64_t head = 0, words[64];

	for (uint64_t n = 0; n < count; n++) {
		size_t size = record(n, words);

		while (head + size > DATA +
		       __atomic_load_n(&made->ring->data_tail, __ATOMIC_ACQUIRE))
			sched_yield();
		put(made, head, words, size);
		head += size;
		__atomic_store_n(&made->ring->data_head, head, __ATOMIC_RELEASE);
	}
}

#define COUNT 100000

static void *producer(void *argument)
{
	produce(argument, COUNT);
	return NULL;
}

TEST(every_record_comes_once_and_whole)
{
	struct made made = make();
	struct flowtap_reader reader;
	void *copy = malloc(FLOWTAP_RECORD_MAX);
	uint64_t next = 0, wrapped = 0;
	pthread_t thread;

	ASSERT_NE(copy, NULL);
	ASSERT_EQ(flowtap_reader_attach(&reader, made.ring, made.size), 0);
	ASSERT_EQ(pthread_create(&thread, NULL, producer, &made), 0);
	while (next < COUNT) {
		struct flowtap_stretch part[2];
		const struct flowtap_record *got;
		size_t offset = 0;
		uint64_t head;

		ASSERT_EQ(flowtap_reader_peek(&reader, part, &head), 0);
		if (!part[0].size)
			sched_yield();
		while (!flowtap_record_in(part, offset, copy, &got)) {
			ASSERT_TRUE(is_record(got, next));
			wrapped += got == copy;
			offset += got->size;
			next++;
		}
		ASSERT_EQ(offset, part[0].size + part[1].size);
		flowtap_reader_advance(&reader, head);
	}
	pthread_join(thread, NULL);
	EXPECT_GT(wrapped, 1000);
	EXPECT_EQ(made.ring->data_head, made.ring->data_tail);
	free(copy);
	munmap(made.ring, made.size);
}

TEST(record_at_every_place_of_the_ring)
{
	struct made made = make();
	struct flowtap_reader reader;
	uint64_t words[64], copy[64];

	ASSERT_EQ(flowtap_reader_attach(&reader, made.ring, made.size), 0);
	for (uint64_t at = 0; at < 2 * DATA; at += 8) {
		struct flowtap_stretch part[2];
		const struct flowtap_record *got;
		size_t size = record(at, words);
		uint64_t head;

		made.ring->data_tail = at + (UINT64_MAX & ~(uint64_t)(DATA - 1));
		made.ring->data_head = made.ring->data_tail + size;
		put(&made, at, words, size);
		ASSERT_EQ(flowtap_reader_peek(&reader, part, &head), 0);
		ASSERT_EQ(head, made.ring->data_head);
		ASSERT_EQ(part[0].size + part[1].size, size);
		ASSERT_EQ(part[1].size != 0, at % DATA + size > DATA);
		ASSERT_EQ(flowtap_record_in(part, 0, copy, &got), 0);
		ASSERT_TRUE(is_record(got, at));
		ASSERT_EQ(flowtap_record_in(part, size, copy, &got), -ENODATA);
	}
	munmap(made.ring, made.size);
}

TEST(positions_out_of_range_are_refused)
{
	static const struct {
		uint64_t head;
		uint64_t tail;
		int result;
	} table[] = {
		{ 0, 0, 0 },		{ DATA, 0, 0 },		{ DATA + 8, 0, -EPROTO },
		{ 0, 8, -EPROTO },	{ 4, 0, -EPROTO },	{ 16, 12, -EPROTO },
		{ 8, -DATA + 8, 0 },	{ 1ULL << 63, 0, -EPROTO }, { UINT64_MAX, 0, -EPROTO },
	};
	struct made made = make();
	struct flowtap_stretch part[2];
	struct flowtap_reader reader;
	uint64_t head;

	ASSERT_EQ(flowtap_reader_attach(&reader, made.ring, made.size), 0);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		made.ring->data_head = table[i].head;
		made.ring->data_tail = table[i].tail;
		ASSERT_EQ(flowtap_reader_peek(&reader, part, &head), table[i].result);
	}
	munmap(made.ring, made.size);
}

TEST(control_page_that_contradicts_the_mapping_is_refused)
{
	struct made made = make();
	struct flowtap_ring good = *made.ring;
	struct flowtap_reader reader;

#define REFUSED(field, value, result)						\
	do {									\
		*made.ring = good;						\
		made.ring->field = (value);					\
		EXPECT_EQ(flowtap_reader_attach(&reader, made.ring, made.size), result); \
	} while (0)
	REFUSED(abi, FLOWTAP_ABI + 1, -EPROTO);
	REFUSED(data_offset, 0, -EPROTO);
	REFUSED(data_offset, PAGE + 4, -EPROTO);
	REFUSED(data_offset, PAGE + 8, -EPROTO);
	REFUSED(data_offset, PAGE + DATA + 8, -EPROTO);
	REFUSED(data_offset, UINT64_MAX - 7, -EPROTO);
	REFUSED(data_size, 0, -EPROTO);
	REFUSED(data_size, 4, -EPROTO);
	REFUSED(data_size, DATA - 8, -EPROTO);
	REFUSED(data_size, 2 * DATA, -EPROTO);
	REFUSED(data_size, 1ULL << 63, -EPROTO);
	REFUSED(flags, FLOWTAP_OVERWRITE, -EOPNOTSUPP);
	REFUSED(cpu, 7, 0);
	EXPECT_EQ(flowtap_reader_attach(&reader, made.ring, 100), -EPROTO);
	munmap(made.ring, made.size);
}

TEST(mapping_of_a_file)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct flowtap_ring ring = {
		.abi = FLOWTAP_ABI,
		.data_offset = page,
		.data_size = 2 * page,
	};
	int fd = memfd_create("ring", MFD_CLOEXEC);
	struct flowtap_reader reader;

	ASSERT_EQ(ftruncate(fd, (off_t)(3 * page)), 0);
	ASSERT_EQ(pwrite(fd, &ring, sizeof(ring), 0), (ssize_t)sizeof(ring));
	ASSERT_EQ(flowtap_reader_map(&reader, fd, 2), 0);
	EXPECT_EQ(reader.size, 2 * page);
	flowtap_reader_unmap(&reader);
	EXPECT_EQ(flowtap_reader_map(&reader, fd, 1), -EPROTO);
	EXPECT_EQ(flowtap_reader_map(&reader, fd, 0), -EINVAL);
	EXPECT_EQ(flowtap_reader_map(&reader, fd, SIZE_MAX), -EINVAL);
	errno = 77;
	EXPECT_EQ(flowtap_reader_map(&reader, -1, 2), -EBADF);
	EXPECT_EQ(errno, 77);
}

TEST(records_that_are_not_whole_are_refused)
{
	uint64_t words[8] = { 0 };
	struct flowtap_record *header = (void *)words;
	const struct flowtap_record *got;

	header->size = 16;
	EXPECT_EQ(flowtap_record_at(words, 16, 0, &got), 0);
	EXPECT_EQ(flowtap_record_at(words, 16, 16, &got), -ENODATA);
	EXPECT_EQ(flowtap_record_at(words, 0, 0, &got), -ENODATA);
	EXPECT_EQ(flowtap_record_at(words, 8, 0, &got), -EBADMSG);
	EXPECT_EQ(flowtap_record_at(words, 7, 0, &got), -EBADMSG);
	EXPECT_EQ(flowtap_record_at(words, 64, 4, &got), -EBADMSG);
	EXPECT_EQ(flowtap_record_at(words, 64, 72, &got), -EBADMSG);
	for (uint16_t size = 0; size < 64; size++) {
		header->size = size;
		EXPECT_EQ(flowtap_record_at(words, 64, 0, &got),
			  size >= 8 && size % 8 == 0 ? 0 : -EBADMSG);
	}
	header->size = 72;
	EXPECT_EQ(flowtap_record_at(words, 64, 0, &got), -EBADMSG);
}

TEST_HARNESS_MAIN
