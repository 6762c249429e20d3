// SPDX-License-Identifier: GPL-2.0-only
/* Shows that the ring's reader takes every record once and whole, whatever wraps where. */
#include <errno.h>
#include <fcntl.h>
#include <flowtap/ring.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/kselftest_harness.h"
#include "support/made_ring.h"

#define PAGE MADE_PAGE
#define DATA 4096

static struct made make_one(void)
{
	struct made made;

	if (!make(&made, DATA))
		abort();
	return made;
}

#define COUNT 100000

TEST(every_record_comes_once_and_whole)
{
	struct made made = make_one();
	struct flowtap_reader reader;
	void *copy = malloc(FLOWTAP_RECORD_MAX);
	uint64_t next = 0, wrapped = 0;
	pthread_t thread;

	ASSERT_NE(copy, NULL);
	ASSERT_EQ(flowtap_reader_attach(&reader, made.ring, PAGE + DATA), 0);
	made.count = COUNT;
	ASSERT_EQ(pthread_create(&thread, NULL, producer, &made), 0);
	while (next < COUNT) {
		struct flowtap_buffer part[2];
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
	unmake(&made);
}

TEST(record_at_every_place_of_the_ring)
{
	struct made made = make_one();
	struct flowtap_reader reader;
	uint64_t words[64], copy[64];

	ASSERT_EQ(flowtap_reader_attach(&reader, made.ring, PAGE + DATA), 0);
	for (uint64_t at = 0; at < 2 * DATA; at += 8) {
		struct flowtap_buffer part[2];
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
	unmake(&made);
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
	struct made made = make_one();
	struct flowtap_buffer part[2];
	struct flowtap_reader reader;
	uint64_t head;

	ASSERT_EQ(flowtap_reader_attach(&reader, made.ring, PAGE + DATA), 0);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		made.ring->data_head = table[i].head;
		made.ring->data_tail = table[i].tail;
		ASSERT_EQ(flowtap_reader_peek(&reader, part, &head), table[i].result);
	}
	unmake(&made);
}

TEST(control_page_that_contradicts_the_mapping_is_refused)
{
	struct made made = make_one();
	struct flowtap_ring good = *made.ring;
	struct flowtap_reader reader;

#define REFUSED(field, value, result)						\
	do {									\
		*made.ring = good;						\
		made.ring->field = (value);					\
		EXPECT_EQ(flowtap_reader_attach(&reader, made.ring, PAGE + DATA), result); \
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
	REFUSED(flags, FLOWTAP_OVERWRITE, 0);
	REFUSED(cpu, 7, 0);
	EXPECT_EQ(flowtap_reader_attach(&reader, made.ring, 100), -EPROTO);
	unmake(&made);
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
	ASSERT_EQ(flowtap_reader_map(&reader, fd, 2, 0), 0);
	EXPECT_EQ(reader.size, 2 * page);
	flowtap_reader_advance(&reader, 8);
	flowtap_reader_unmap(&reader);
	/* The mode that was asked for is the ring's. */
	EXPECT_EQ(flowtap_reader_map(&reader, fd, 2, FLOWTAP_OVERWRITE), -EPROTO);
	EXPECT_EQ(flowtap_reader_map(&reader, fd, 1, 0), -EPROTO);
	EXPECT_EQ(flowtap_reader_map(&reader, fd, 0, 0), -EINVAL);
	EXPECT_EQ(flowtap_reader_map(&reader, fd, SIZE_MAX, 0), -EINVAL);
	errno = 77;
	EXPECT_EQ(flowtap_reader_map(&reader, -1, 2, 0), -EBADF);
	EXPECT_EQ(errno, 77);
}

TEST(mapping_of_an_aux_area)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct flowtap_ring ring = {
		.abi = FLOWTAP_ABI,
		.data_offset = page,
		.data_size = page,
		.aux_offset = 2 * page,
		.aux_size = 4 * page,
	}, good = ring;
	int fd = memfd_create("ring", MFD_CLOEXEC);
	struct flowtap_reader reader;
	uint64_t head;

	ASSERT_EQ(ftruncate(fd, (off_t)(6 * page)), 0);
	ASSERT_EQ(pwrite(fd, &ring, sizeof(ring), 0), (ssize_t)sizeof(ring));
	ASSERT_EQ(pwrite(fd, "first", 5, (off_t)(2 * page)), 5);
	ASSERT_EQ(pwrite(fd, "last", 4, (off_t)(6 * page - 4)), 4);
	ASSERT_EQ(flowtap_reader_map(&reader, fd, 1, 0), 0);
	EXPECT_EQ(reader.aux, NULL);
	EXPECT_EQ(flowtap_reader_map_aux(&reader, fd, 0), -EINVAL);
	EXPECT_EQ(flowtap_reader_map_aux(&reader, fd, SIZE_MAX), -EINVAL);
	EXPECT_EQ(flowtap_reader_map_aux(&reader, fd, 2), -EPROTO);
	EXPECT_EQ(flowtap_reader_map_aux(&reader, -1, 4), -EBADF);
#define AUX_REFUSED(field, value)							\
	do {										\
		*reader.ring = good;							\
		reader.ring->field = (value);						\
		EXPECT_EQ(flowtap_reader_map_aux(&reader, fd, 4), -EPROTO);		\
	} while (0)
	AUX_REFUSED(aux_offset, 0);
	AUX_REFUSED(aux_offset, page);
	AUX_REFUSED(aux_offset, 2 * page + 8);
	AUX_REFUSED(aux_offset, 1ULL << 63);
	AUX_REFUSED(aux_offset, INT64_MAX - page + 1);
	AUX_REFUSED(aux_offset, -page);
	AUX_REFUSED(aux_size, 0);
	AUX_REFUSED(aux_size, 8 * page);
	AUX_REFUSED(aux_size, 4 * page + 8);
	reader.ring->aux_size = 3 * page;
	EXPECT_EQ(flowtap_reader_map_aux(&reader, fd, 3), -EPROTO);
	EXPECT_EQ(reader.aux, NULL);

	*reader.ring = good;
	ASSERT_EQ(flowtap_reader_map_aux(&reader, fd, 4), 0);
	EXPECT_EQ(reader.aux_size, 4 * page);
	EXPECT_EQ(memcmp(reader.aux, "first", 5), 0);
	EXPECT_EQ(memcmp(reader.aux + 4 * page - 4, "last", 4), 0);
	reader.ring->aux_head = 4 * page + 10;
	flowtap_reader_advance_aux(&reader, 10);
	EXPECT_EQ(reader.ring->aux_tail, 10);
	EXPECT_EQ(flowtap_reader_aux_head(&reader, &head), 0);
	EXPECT_EQ(head, 4 * page + 10);
	flowtap_reader_advance_aux(&reader, 9);
	EXPECT_EQ(flowtap_reader_aux_head(&reader, &head), -EPROTO);
	flowtap_reader_advance_aux(&reader, 4 * page + 11);
	EXPECT_EQ(flowtap_reader_aux_head(&reader, &head), -EPROTO);
	flowtap_reader_unmap(&reader);
	EXPECT_EQ(reader.aux, NULL);
	close(fd);
}

TEST(overwrite_ring_is_mapped_read_only)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct flowtap_ring ring = {
		.abi = FLOWTAP_ABI,
		.flags = FLOWTAP_OVERWRITE,
		.data_offset = page,
		.data_size = page,
		.aux_offset = 2 * page,
		.aux_size = 2 * page,
	};
	int fd = memfd_create("ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct flowtap_buffer part[2];
	struct flowtap_reader reader;
	uint64_t head;

	ASSERT_EQ(ftruncate(fd, (off_t)(4 * page)), 0);
	ASSERT_EQ(pwrite(fd, &ring, sizeof(ring), 0), (ssize_t)sizeof(ring));
	/* Nothing but a mapping that cannot be written is possible now. */
	ASSERT_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
	EXPECT_EQ(flowtap_reader_map(&reader, fd, 1, 0), -EPERM);
	ASSERT_EQ(flowtap_reader_map(&reader, fd, 1, FLOWTAP_OVERWRITE), 0);
	EXPECT_TRUE(reader.overwrite);
	EXPECT_EQ(flowtap_reader_peek(&reader, part, &head), -EOPNOTSUPP);
	EXPECT_EQ(flowtap_reader_map_aux(&reader, fd, 2), 0);
	flowtap_reader_unmap(&reader);
}

/* The kernel's half of a ring that overwrites: it never waits. */
struct recorder {
	struct made made;
	uint64_t written;		/* records; atomic */
	uint64_t oldest;		/* that is not overwritten */
	bool stop;
};

/* The next record, over the oldest ones. */
static void overwrite(struct recorder *recorder)
{
	struct flowtap_ring *ring = recorder->made.ring;
	uint64_t words[64], head = ring->data_head, oldest = ring->data_oldest;
	size_t size = record(recorder->written, words);

	while (head + size - oldest > recorder->made.size)
		oldest += size_of(recorder->oldest++);
	__atomic_store_n(&ring->data_oldest, oldest, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	put(&recorder->made, head, words, size);
	__atomic_store_n(&ring->data_head, head + size, __ATOMIC_RELEASE);
	__atomic_store_n(&recorder->written, recorder->written + 1, __ATOMIC_RELEASE);
}

static void *overwriter(void *argument)
{
	struct recorder *recorder = argument;

	while (!__atomic_load_n(&recorder->stop, __ATOMIC_RELAXED)) {
		overwrite(recorder);
		/* Bursts, so that copies are made in peace as well. */
		if (recorder->written % 5000 == 0)
			sched_yield();
	}
	return NULL;
}

/* Records of a copy, each whole and the one after its predecessor; the last one's number, or -1. */
static int64_t judge(const struct flowtap_buffer *records, uint64_t *count)
{
	const struct flowtap_record *got;
	int64_t last = -1;
	size_t offset = 0;
	uint64_t n;

	for (*count = 0; offset < records->size; offset += got->size, ++*count) {
		if (flowtap_record_at(records->bytes, records->size, offset, &got))
			return -1;
		memcpy(&n, got + 1, sizeof(n));
		n /= 1000;
		if (!is_record(got, n) || (*count && n != (uint64_t)last + 1))
			return -1;
		last = (int64_t)n;
	}
	return last;
}

TEST(copies_of_an_overwritten_ring_have_whole_records_only)
{
	struct recorder recorder = { .made = make_one() };
	uint64_t count, dropped, head, before;
	struct flowtap_buffer records;
	struct flowtap_reader reader;
	pthread_t thread;
	uint8_t *buffer = malloc(DATA);
	int64_t last = -1;

	recorder.made.ring->flags = FLOWTAP_OVERWRITE;
	ASSERT_EQ(flowtap_reader_attach(&reader, recorder.made.ring, PAGE + DATA), 0);
	ASSERT_EQ(pthread_create(&thread, NULL, overwriter, &recorder), 0);
	while (__atomic_load_n(&recorder.written, __ATOMIC_ACQUIRE) < 100)
		sched_yield();
	for (int i = 0; i < 20000; i++) {
		int err;

		before = __atomic_load_n(&recorder.written, __ATOMIC_ACQUIRE);
		err = flowtap_reader_copy(&reader, buffer, &records, &head, &dropped);
		if (err == -EAGAIN)
			continue;
		ASSERT_EQ(err, 0);
		/* Who is kept from the CPU in the middle of it may find all of it overwritten. */
		if (!records.size)
			continue;
		last = judge(&records, &count);
		ASSERT_LE((int64_t)before - 1, last);
	}
	__atomic_store_n(&recorder.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	/* And at rest: up to the last one, and the ring is full of them. */
	ASSERT_EQ(flowtap_reader_copy(&reader, buffer, &records, &head, &dropped), 0);
	EXPECT_EQ(dropped, 0);
	EXPECT_EQ(judge(&records, &count) + 1, recorder.written);
	EXPECT_GT(records.size, DATA - 2 * 336);
	free(buffer);
	unmake(&recorder.made);
}

#define PAGES 4

/* What is written when a copy comes to a page. */
static struct {
	struct recorder recorder;
	uint8_t *page;			/* as its reader has it */
	unsigned int records;
	bool all;			/* up to where nothing of it is left */
	unsigned int times;
	bool thread;			/* and a thread writes on from then on */
	bool on;			/* it does; atomic */
	bool busy;			/* or has not seen that it does not; atomic */
} meanwhile;

static void *write_on(void *argument)
{
	bool on;

	while (!__atomic_load_n(&meanwhile.recorder.stop, __ATOMIC_SEQ_CST)) {
		__atomic_store_n(&meanwhile.busy, true, __ATOMIC_SEQ_CST);
		on = __atomic_load_n(&meanwhile.on, __ATOMIC_SEQ_CST);
		if (on)
			overwrite(&meanwhile.recorder);
		__atomic_store_n(&meanwhile.busy, false, __ATOMIC_SEQ_CST);
		if (!on)
			sched_yield();
	}
	return NULL;
}

static void stop_writing(void)
{
	__atomic_store_n(&meanwhile.on, false, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&meanwhile.busy, __ATOMIC_SEQ_CST))
		sched_yield();
}

static void write_meanwhile(int signal, siginfo_t *info, void *context)
{
	const struct flowtap_ring *ring = meanwhile.recorder.made.ring;
	uint8_t *at = info->si_addr;
	uint64_t head = ring->data_head, written;

	if (!meanwhile.page || at < meanwhile.page || at >= meanwhile.page + PAGE)
		abort();
	for (unsigned int i = 0; i < meanwhile.records; i++)
		overwrite(&meanwhile.recorder);
	while (meanwhile.all && ring->data_oldest < head)
		overwrite(&meanwhile.recorder);
	meanwhile.times++;
	written = meanwhile.recorder.written;
	__atomic_store_n(&meanwhile.on, meanwhile.thread, __ATOMIC_SEQ_CST);
	while (meanwhile.thread &&
	       __atomic_load_n(&meanwhile.recorder.written, __ATOMIC_ACQUIRE) == written)
		sched_yield();
	if (mprotect(meanwhile.page, PAGE, PROT_READ))
		abort();
}

/* A ring that its reader has mapped at another place, read-only. */
static void *make_meanwhile(void)
{
	const size_t size = PAGE + PAGES * PAGE;
	struct sigaction action = { .sa_sigaction = write_meanwhile, .sa_flags = SA_SIGINFO };
	struct recorder *recorder = &meanwhile.recorder;
	int fd = memfd_create("ring", MFD_CLOEXEC);
	void *mapping;

	memset(&meanwhile, 0, sizeof(meanwhile));
	if (!make(&recorder->made, PAGES * PAGE) || ftruncate(fd, (off_t)size) ||
	    pwrite(fd, recorder->made.ring, PAGE, 0) != PAGE ||
	    mmap(recorder->made.ring, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
	    MAP_FAILED)
		abort();
	recorder->made.ring->flags = FLOWTAP_OVERWRITE;
	mapping = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (mapping == MAP_FAILED || sigaction(SIGSEGV, &action, NULL))
		abort();
	return mapping;
}

/* However many records are written while it is anywhere in the ring. */
TEST(a_copy_that_is_overtaken_has_what_is_left)
{
	const struct flowtap_ring *ring;
	uint64_t count, dropped, head;
	struct flowtap_buffer records;
	uint8_t *mapping = make_meanwhile(), *buffer = malloc(PAGES * PAGE);
	struct flowtap_reader reader;
	unsigned int none = 0, again = 0;

	ring = meanwhile.recorder.made.ring;
	ASSERT_EQ(flowtap_reader_attach(&reader, mapping, PAGE + PAGES * PAGE), 0);
	for (unsigned int i = 0; i < 2000; i++) {
		uint64_t written, head_before, oldest_before;

		/* Never the same place; the ring is full. */
		for (int n = i ? 1 : 300; n; n--)
			overwrite(&meanwhile.recorder);
		written = meanwhile.recorder.written;
		head_before = ring->data_head;
		oldest_before = ring->data_oldest;
		meanwhile.page = mapping + PAGE + i % PAGES * PAGE;
		meanwhile.records = i * 7 % 90;
		meanwhile.all = i % 3 == 0;
		meanwhile.times = 0;
		ASSERT_EQ(mprotect(meanwhile.page, PAGE, PROT_NONE), 0);
		ASSERT_EQ(flowtap_reader_copy(&reader, buffer, &records, &head, &dropped), 0);
		ASSERT_EQ(meanwhile.times, 1);
		ASSERT_EQ(dropped, ring->data_oldest - oldest_before);
		if (ring->data_oldest > head_before) {
			/* Nothing of it was left: another one, in peace. */
			ASSERT_EQ(head, ring->data_head);
			ASSERT_EQ(records.size, ring->data_head - ring->data_oldest);
			written = meanwhile.recorder.written;
			again++;
		} else {
			ASSERT_EQ(head, head_before);
			ASSERT_EQ(records.size, head_before - ring->data_oldest);
		}
		if (records.size)
			ASSERT_EQ(judge(&records, &count), (int64_t)written - 1);
		none += !records.size;
	}
	EXPECT_LT(0, none);
	EXPECT_LT(0, again);
	signal(SIGSEGV, SIG_DFL);
	munmap(mapping, PAGE + PAGES * PAGE);
	free(buffer);
	unmake(&meanwhile.recorder.made);
}

/* Where a copy is tried again, what was written between the tries counts. */
TEST(what_is_overwritten_between_two_tries_is_dropped)
{
	const struct flowtap_ring *ring;
	struct flowtap_buffer records;
	uint8_t *mapping = make_meanwhile(), *buffer = malloc(PAGES * PAGE);
	struct flowtap_reader reader;
	unsigned int copies = 0;
	pthread_t thread;

	ring = meanwhile.recorder.made.ring;
	meanwhile.page = mapping + PAGE;
	meanwhile.all = true;
	meanwhile.thread = true;
	ASSERT_EQ(flowtap_reader_attach(&reader, mapping, PAGE + PAGES * PAGE), 0);
	ASSERT_EQ(pthread_create(&thread, NULL, write_on, NULL), 0);
	for (unsigned int i = 0; i < 300; i++) {
		uint64_t head, dropped, oldest;
		int err;

		for (int n = i ? 1 : 300; n; n--)
			overwrite(&meanwhile.recorder);
		oldest = ring->data_oldest;
		ASSERT_EQ(mprotect(meanwhile.page, PAGE, PROT_NONE), 0);
		err = flowtap_reader_copy(&reader, buffer, &records, &head, &dropped);
		stop_writing();
		if (err == -EAGAIN)
			continue;
		ASSERT_EQ(err, 0);
		ASSERT_EQ(head - records.size - oldest, dropped);
		copies++;
	}
	EXPECT_LT(0, copies);
	__atomic_store_n(&meanwhile.recorder.stop, true, __ATOMIC_SEQ_CST);
	pthread_join(thread, NULL);
	signal(SIGSEGV, SIG_DFL);
	munmap(mapping, PAGE + PAGES * PAGE);
	free(buffer);
	unmake(&meanwhile.recorder.made);
}

TEST(overwritten_ring_that_contradicts_itself_is_refused)
{
	static const struct {
		uint64_t head;
		uint64_t oldest;
		int result;
	} table[] = {
		{ 0, 0, 0 },			{ DATA, 0, 0 },
		{ DATA + 8, 8, 0 },		{ DATA + 8, 0, -EPROTO },
		{ 1ULL << 62, 0, -EPROTO },	{ 12, 8, -EPROTO },
		{ 16, 4, -EPROTO },		{ 0, 8, -EAGAIN },
		{ 0, 1ULL << 62, -EAGAIN },	{ 8, -(uint64_t)DATA + 8, 0 },
		{ 16, -(uint64_t)DATA + 8, -EPROTO },
	};
	struct made made = make_one();
	struct flowtap_buffer records;
	struct flowtap_reader reader;
	uint8_t *buffer = malloc(DATA);
	uint64_t head, dropped;

	made.ring->flags = FLOWTAP_OVERWRITE;
	ASSERT_EQ(flowtap_reader_attach(&reader, made.ring, PAGE + DATA), 0);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		made.ring->data_head = table[i].head;
		made.ring->data_oldest = table[i].oldest;
		ASSERT_EQ(flowtap_reader_copy(&reader, buffer, &records, &head, &dropped),
			  table[i].result) TH_LOG("line %zu", i);
		if (!table[i].result)
			EXPECT_EQ(records.size, table[i].head - table[i].oldest);
		if (!table[i].result)
			EXPECT_EQ(head, table[i].head);
	}
	made.ring->flags = 0;
	ASSERT_EQ(flowtap_reader_attach(&reader, made.ring, PAGE + DATA), 0);
	EXPECT_EQ(flowtap_reader_copy(&reader, buffer, &records, &head, &dropped), -EOPNOTSUPP);
	free(buffer);
	unmake(&made);
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
