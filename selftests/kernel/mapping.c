// SPDX-License-Identifier: GPL-2.0-only
/* Shows which mappings of the ring there are, how long they last, and that pages can be pinned. */
#include <sys/uio.h>

#include "stream.h"
#include "support/kselftest_harness.h"
#include "task.h"

FIXTURE(mapping)
{
	struct stream stream;
	long page;
	size_t length;
};

FIXTURE_SETUP(mapping)
{
	struct flowtap_configure configure = ticking(0, 1000000);

	if (!source_there(FLOWTAP_SOURCE_SOFT))
		SKIP(return, "the soft source is not there: load the module with soft=1");
	self->page = sysconf(_SC_PAGESIZE);
	self->length = 17 * self->page;
	ASSERT_EQ(0, stream_open(&self->stream, &configure));
}

FIXTURE_TEARDOWN(mapping)
{
	stream_close(&self->stream);
}

/* errno of mmap, 0 if it goes. */
static int try_map(int fd, size_t length, int protection, int flags, off_t offset)
{
	void *map = mmap(NULL, length, protection, flags, fd, offset);

	if (map == MAP_FAILED)
		return errno;
	munmap(map, length);
	return 0;
}

TEST_F(mapping, only_the_whole_ring_writable_and_shared)
{
	const int rw = PROT_READ | PROT_WRITE;
	int fd = self->stream.fd;
	size_t length = self->length;

	EXPECT_EQ(EINVAL, try_map(fd, length - self->page, rw, MAP_SHARED, 0));
	EXPECT_EQ(EINVAL, try_map(fd, length + self->page, rw, MAP_SHARED, 0));
	EXPECT_EQ(EINVAL, try_map(fd, self->page, rw, MAP_SHARED, 0));
	EXPECT_EQ(EINVAL, try_map(fd, length, rw, MAP_SHARED, self->page));
	EXPECT_EQ(EINVAL, try_map(fd, length, rw, MAP_SHARED, 1LL << 40));
	EXPECT_EQ(EINVAL, try_map(fd, length, rw, MAP_PRIVATE, 0));
	EXPECT_EQ(EINVAL, try_map(fd, length, PROT_READ, MAP_SHARED, 0));
	EXPECT_EQ(EINVAL, try_map(fd, length, PROT_NONE, MAP_SHARED, 0));
	EXPECT_EQ(EPERM, try_map(fd, length, rw | PROT_EXEC, MAP_SHARED, 0));
	EXPECT_EQ(0, try_map(fd, length, rw, MAP_SHARED, 0));
}

TEST_F(mapping, it_cannot_become_executable_or_larger)
{
	EXPECT_EQ(-1, mprotect(self->stream.ring, self->length, PROT_READ | PROT_EXEC));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(MAP_FAILED, mremap(self->stream.ring, self->length, 2 * self->length,
				     MREMAP_MAYMOVE));
	EXPECT_EQ(0, mprotect(self->stream.ring, self->length, PROT_READ));
	EXPECT_EQ(0, mprotect(self->stream.ring, self->length, PROT_READ | PROT_WRITE));
}

TEST_F(mapping, a_child_does_not_inherit_it)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		/* mincore says ENOMEM where nothing is mapped. */
		unsigned char there[17];

		_exit(mincore(self->stream.ring, self->length, there) < 0 && errno == ENOMEM ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
}

TEST_F(mapping, two_mappings_are_one_ring)
{
	struct flowtap_ring *second = mmap(NULL, self->length, PROT_READ | PROT_WRITE, MAP_SHARED,
					   self->stream.fd, 0);

	ASSERT_NE(MAP_FAILED, second);
	self->stream.ring->data_tail = 4711;
	EXPECT_EQ(4711, second->data_tail);
	munmap(second, self->length);
	EXPECT_EQ(4711, self->stream.ring->data_tail);
}

TEST_F(mapping, it_lives_on_and_is_written_after_close)
{
	pid_t task = spinner(0);
	uint64_t head;

	ASSERT_EQ(1, add_task(&self->stream, task, 0));
	ASSERT_EQ(0, enable(&self->stream));
	ASSERT_EQ(1, stream_next_sample(&self->stream, 5000));
	close(self->stream.fd);
	self->stream.fd = -1;
	head = self->stream.ring->data_head;
	ASSERT_EQ(1, stream_next_sample(&self->stream, 5000));
	sleep_ms(50);
	EXPECT_LT(head, self->stream.ring->data_head);
	end(task);
}

/* The ring has something in it, and nobody writes it any more. */
static bool fill(struct stream *stream)
{
	pid_t task = spinner(0);
	bool filled = add_task(stream, task, 0) == 1 && !enable(stream) &&
		      poll_for(stream, 10000) & POLLIN && !disable(stream);

	end(task);
	return filled;
}

TEST_F(mapping, its_pages_can_be_written_to_files_and_pipes)
{
	uint64_t size = self->stream.ring->data_size;
	struct iovec part = { .iov_base = self->stream.data, .iov_len = 4 * self->page };
	uint8_t *copy = malloc(size);
	int file = open("/tmp/ring", O_RDWR | O_CREAT | O_TRUNC, 0600), ends[2];

	ASSERT_TRUE(fill(&self->stream));
	ASSERT_LE(0, file);
	EXPECT_EQ(size, write(file, self->stream.data, size));
	EXPECT_EQ(size, pread(file, copy, size, 0));
	EXPECT_EQ(0, memcmp(copy, self->stream.data, size));

	/* vmsplice takes the pages themselves: get_user_pages. */
	ASSERT_EQ(0, pipe(ends));
	EXPECT_EQ(part.iov_len, vmsplice(ends[1], &part, 1, 0));
	memset(copy, 0, size);
	EXPECT_EQ(part.iov_len, read(ends[0], copy, part.iov_len));
	EXPECT_EQ(0, memcmp(copy, self->stream.data, part.iov_len));

	close(ends[0]);
	close(ends[1]);
	close(file);
	unlink("/tmp/ring");
	free(copy);
}

TEST_F(mapping, pinned_pages_outlive_ring_and_stream)
{
	uint8_t *copy = malloc(self->page), *before = malloc(self->page);
	struct iovec part = { .iov_base = self->stream.data, .iov_len = self->page };
	int ends[2];

	ASSERT_TRUE(fill(&self->stream));
	memcpy(before, self->stream.data, self->page);
	ASSERT_EQ(0, pipe(ends));
	ASSERT_EQ(self->page, vmsplice(ends[1], &part, 1, 0));
	stream_close(&self->stream);
	sleep_ms(50);
	EXPECT_EQ(self->page, read(ends[0], copy, self->page));
	EXPECT_EQ(0, memcmp(copy, before, self->page));
	close(ends[0]);
	close(ends[1]);
	free(copy);
	free(before);
}

TEST_F(mapping, another_process_can_read_it_by_its_address)
{
	uint64_t head = 0;
	struct iovec local = { &head, 8 };
	pid_t pid;
	int status;

	ASSERT_TRUE(fill(&self->stream));
	pid = fork();
	if (!pid) {
		struct iovec remote = { &self->stream.ring->data_head, 8 };

		_exit(process_vm_readv(getppid(), &local, 1, &remote, 1, 0) == 8 && head ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
}

TEST_HARNESS_MAIN
