// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that by every method of the drain what waits in rings comes into the archive, what it waits
 * for, and which method is taken where one cannot be had.
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "unit/capture/drain_fixture.h"

TEST_F(drain, others_write_to_the_archive_at_the_same_time)
{
	char text[3000] = "key=value\n";
	struct reading reading;

	OPEN_METHOD(1, 65536);
	for (int i = 0; i < 50; i++) {
		ASSERT_EQ(flowtap_archive_write(self->writer, FLOWTAP_ARCHIVE_INFO, 0, 0, text,
						sizeof(text) - i, NULL, 0), 0);
		ASSERT_EQ(run(self->drain, self->made, 1, 300), 0);
	}
	ASSERT_EQ(flowtap_archive_write(self->writer, FLOWTAP_ARCHIVE_END, 0, 0, NULL, 0, NULL, 0),
		  0);
	ASSERT_EQ(flowtap_archive_flush(self->writer), 0);
	reading = read_archive(self->fd, 0);
	EXPECT_ALL(reading, 1, 50 * 300);
	EXPECT_TRUE(reading.ended);
}

/* A hole in the file, as after a crash: found, measured, and passed over. */
TEST_F(drain, a_hostile_ring_stops_and_the_others_go_on)
{
	static const int64_t heads[] = { -8, 4, 65544, INT64_MAX, INT64_MIN };
	struct reading reading;
	uint64_t tail, moved;

	OPEN_METHOD(2, 65536);
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		ASSERT_EQ(flowtap_drain_remove(self->drain, self->number[0]), 0);
		self->made[0].ring->data_head = tail = self->made[0].ring->data_tail;
		self->number[0] = flowtap_drain_add(self->drain, self->made[0].fd,
						    &self->made[0].reader, 0);
		ASSERT_GE(self->number[0], 0);
		self->made[0].ring->data_head += (uint64_t)heads[i];
		produce(&self->made[1], 200);
		ASSERT_EQ(flowtap_drain_collect(self->drain, &moved), 0);
		ASSERT_EQ(flowtap_drain_flush(self->drain), 0);
		EXPECT_EQ(flowtap_drain_error(self->drain, self->number[0]), -EPROTO);
		EXPECT_EQ(flowtap_drain_error(self->drain, self->number[1]), 0);
		EXPECT_EQ(self->made[0].ring->data_tail, tail);
	}
	reading = read_archive(self->fd, 0);
	EXPECT_EQ(reading.damages, 0);
	EXPECT_EQ(reading.cpu[0].blocks, 0);
	EXPECT_EQ(reading.cpu[1].records, 5 * 200);
}

TEST_F(drain, a_great_ring_is_several_blocks)
{
	uint64_t count = 270000;
	struct reading reading;

	OPEN_METHOD(1, 64U << 20);
	produce(&self->made[0], count);
	ASSERT_LT(2 * FLOWTAP_ARCHIVE_BLOCK_MAX, self->made[0].ring->data_head);
	ASSERT_EQ(flowtap_drain_flush(self->drain), 0);
	reading = read_archive(self->fd, 0);
	EXPECT_ALL(reading, 1, count);
	EXPECT_LE(3, reading.cpu[0].blocks);
}

TEST_F(drain, of_a_full_ring_a_quarter_is_a_block)
{
	struct reading reading;

	OPEN_METHOD(1, 1U << 20);
	produce(&self->made[0], 6000);
	ASSERT_LT((1U << 20) - 40000, self->made[0].ring->data_head);
	ASSERT_EQ(flowtap_drain_flush(self->drain), 0);
	reading = read_archive(self->fd, 0);
	EXPECT_ALL(reading, 1, 6000);
	EXPECT_LE(4, reading.cpu[0].blocks);
}

TEST_F(drain, records_of_no_size_stop_a_great_ring)
{
	uint64_t moved;

	OPEN_METHOD(1, 64U << 20);
	self->made[0].ring->data_head = 20U << 20;
	ASSERT_EQ(flowtap_drain_collect(self->drain, &moved), 0);
	EXPECT_EQ(moved, 0);
	EXPECT_EQ(flowtap_drain_error(self->drain, self->number[0]), -EPROTO);
}

TEST_F(drain, waits_for_streams_others_and_time)
{
	int other = eventfd(0, EFD_NONBLOCK), ends[2], number, pipe_number;
	uint64_t one = 1, ticks;

	OPEN_METHOD(1, 65536);
	ASSERT_EQ(pipe(ends), 0);
	number = flowtap_drain_watch(self->drain, other, POLLIN);
	pipe_number = flowtap_drain_watch(self->drain, ends[0], POLLIN);
	EXPECT_EQ(flowtap_drain_wait(self->drain, 0), 0);
	EXPECT_EQ(flowtap_drain_wait(self->drain, 30), 0);
	for (int i = 0; i < 20; i++) {
		ASSERT_EQ(write(other, &one, sizeof(one)), 8);
		ASSERT_EQ(flowtap_drain_wait(self->drain, 10000), 1);
		EXPECT_EQ(flowtap_drain_events(self->drain, number), POLLIN);
		EXPECT_EQ(flowtap_drain_events(self->drain, number), 0);
		EXPECT_EQ(flowtap_drain_events(self->drain, self->number[0]), 0);
		ASSERT_EQ(read(other, &ticks, sizeof(ticks)), 8);
		EXPECT_EQ(flowtap_drain_wait(self->drain, 0), 0);
	}
	kick(&self->made[0]);
	ASSERT_EQ(flowtap_drain_wait(self->drain, 10000), 1);
	EXPECT_EQ(flowtap_drain_events(self->drain, self->number[0]), POLLIN);
	ASSERT_EQ(read(self->made[0].fd, &ticks, sizeof(ticks)), 8);

	/* It ends: this is told once. */
	close(ends[1]);
	ASSERT_EQ(flowtap_drain_wait(self->drain, 10000), 1);
	EXPECT_EQ(flowtap_drain_events(self->drain, pipe_number), POLLHUP);
	EXPECT_EQ(flowtap_drain_wait(self->drain, 20), 0);

	/* Forgotten: it may be closed, and its number is another's. */
	ASSERT_EQ(flowtap_drain_remove(self->drain, number), 0);
	ASSERT_EQ(write(other, &one, sizeof(one)), 8);
	EXPECT_EQ(flowtap_drain_wait(self->drain, 20), 0);
	close(other);
	EXPECT_EQ(flowtap_drain_remove(self->drain, number), -EINVAL);
	EXPECT_EQ(flowtap_drain_watch(self->drain, ends[0], POLLIN), number);
	ASSERT_EQ(flowtap_drain_wait(self->drain, 10000), 1);
	EXPECT_EQ(flowtap_drain_events(self->drain, number), POLLHUP);
	close(ends[0]);
}

TEST_F(drain, data_that_comes_while_writes_are_on_their_way_need_no_wakeup)
{
	uint64_t moved;

	OPEN_METHOD(1, 65536);
	produce(&self->made[0], 200);
	ASSERT_EQ(flowtap_drain_collect(self->drain, &moved), 0);
	/* The kernel tells of the watermark once, and this one was told before. */
	produce(&self->made[0], 100);
	EXPECT_EQ(flowtap_drain_wait(self->drain, 10000), 1);
}

static void on_alarm(int number)
{
}

TEST_F(drain, a_signal_ends_the_wait)
{
	struct itimerval soon = { .it_value.tv_usec = 20000, .it_interval.tv_usec = 20000 };
	struct sigaction action = { .sa_handler = on_alarm };

	OPEN_METHOD(1, 65536);
	sigaction(SIGALRM, &action, NULL);
	/* Again and again: the first one may come before the wait. Nothing else ends it. */
	setitimer(ITIMER_REAL, &soon, NULL);
	EXPECT_EQ(flowtap_drain_wait(self->drain, -1), 0);
}

TEST_F(drain, a_flight_recorder_is_written_when_asked_for)
{
	struct flowtap_buffer records;
	struct reading reading;
	uint64_t moved, dropped, head;
	uint8_t *buffer = malloc(65536);

	OPEN_METHOD(1, 65536);
	ASSERT_EQ(flowtap_drain_remove(self->drain, self->number[0]), 0);
	produce(&self->made[0], 300);
	self->made[0].ring->flags = FLOWTAP_OVERWRITE;
	self->made[0].reader.overwrite = true;
	self->number[0] = flowtap_drain_add(self->drain, self->made[0].fd, &self->made[0].reader, 0);
	ASSERT_EQ(flowtap_drain_flush(self->drain), 0);
	EXPECT_EQ(read_archive(self->fd, 0).cpu[0].blocks, 0);
	ASSERT_EQ(flowtap_drain_snapshot(self->drain, self->number[0], &moved, &dropped), 0);
	EXPECT_EQ(moved, self->made[0].ring->data_head);
	EXPECT_EQ(dropped, 0);
	ASSERT_EQ(flowtap_archive_flush(self->writer), 0);
	reading = read_archive(self->fd, 0);
	EXPECT_EQ(reading.cpu[0].records, 300);
	EXPECT_FALSE(reading.cpu[0].wrong);
	EXPECT_EQ(flowtap_reader_copy(&self->made[0].reader, buffer, &records, &head, &dropped), 0);
	EXPECT_EQ(self->made[0].ring->data_tail, 0);
	/* Each record once. */
	ASSERT_EQ(flowtap_drain_snapshot(self->drain, self->number[0], &moved, &dropped), 0);
	EXPECT_EQ(moved, 0);
	produce(&self->made[0], 20);
	ASSERT_EQ(flowtap_drain_snapshot(self->drain, self->number[0], &moved, &dropped), 0);
	EXPECT_EQ(moved, self->made[0].ring->data_head - head);
	ASSERT_EQ(flowtap_archive_flush(self->writer), 0);
	reading = read_archive(self->fd, 0);
	EXPECT_EQ(reading.cpu[0].records, 320);
	EXPECT_FALSE(reading.cpu[0].wrong);
	free(buffer);
}

TEST_F(drain, a_snapshot_leaves_out_what_is_too_old_or_too_much)
{
	const struct flowtap_record_sample *sample;
	struct flowtap_buffer records;
	uint64_t moved, dropped, head, left = 0, since = 0;
	uint8_t *buffer = malloc(65536);
	unsigned int n = 0;

	OPEN_METHOD(1, 65536);
	ASSERT_EQ(flowtap_drain_remove(self->drain, self->number[0]), 0);
	produce(&self->made[0], 300);
	self->made[0].ring->flags = FLOWTAP_OVERWRITE;
	self->made[0].reader.overwrite = true;
	self->number[0] = flowtap_drain_add(self->drain, self->made[0].fd, &self->made[0].reader, 0);
	ASSERT_EQ(flowtap_reader_copy(&self->made[0].reader, buffer, &records, &head, &dropped), 0);
	for (size_t at = 0; at < records.size; at += sample->header.size, n++) {
		sample = (const void *)((const uint8_t *)records.bytes + at);
		if (n == 100) {
			since = sample->time;
			left = records.size - at;
		}
	}
	ASSERT_EQ(n, 300);
	ASSERT_NE(since, 0);
	EXPECT_EQ(flowtap_drain_limit(self->drain, 77, 0, 0), -EINVAL);
	ASSERT_EQ(flowtap_drain_limit(self->drain, self->number[0], since, UINT64_MAX), 0);
	ASSERT_EQ(flowtap_drain_snapshot(self->drain, self->number[0], &moved, &dropped), 0);
	EXPECT_EQ(moved, left);
	/* Another archive has none of them yet; and not more than so much is wanted. */
	ASSERT_EQ(flowtap_drain_switch(self->drain, self->writer), 0);
	ASSERT_EQ(flowtap_drain_limit(self->drain, self->number[0], 0, left - 1), 0);
	ASSERT_EQ(flowtap_drain_snapshot(self->drain, self->number[0], &moved, &dropped), 0);
	EXPECT_LT(moved, left);
	EXPECT_LT(left - 1024, moved);
	ASSERT_EQ(flowtap_drain_switch(self->drain, self->writer), 0);
	ASSERT_EQ(flowtap_drain_limit(self->drain, self->number[0], UINT64_MAX, UINT64_MAX), 0);
	ASSERT_EQ(flowtap_drain_snapshot(self->drain, self->number[0], &moved, &dropped), 0);
	EXPECT_EQ(moved, 0);
	free(buffer);
}

/*
 * As for most users: what is locked beyond RLIMIT_MEMLOCK is refused. A user of our own, because
 * the memory of io_uring counts for all that a user has, and for a moment after its end: numbered
 * like a pipe of ours, as process ids may be those of others in another namespace.
 */
static int give_up_locking(rlim_t locked)
{
	struct rlimit limit = { locked, locked };
	struct stat status;
	uid_t user;
	int ends[2];

	if (pipe(ends) || fstat(ends[0], &status))
		return -errno;
	close(ends[0]);
	close(ends[1]);
	user = 10000 + (uid_t)status.st_ino % 50000;
	if (setrlimit(RLIMIT_MEMLOCK, &limit) || setresuid(user, user, user))
		return -errno;
	/* The leak checker looks into us. */
	return prctl(PR_SET_DUMPABLE, 1) ? -errno : 0;
}

TEST_F(drain, where_memory_may_not_be_locked_it_is_not_registered)
{
	struct reading reading;

	if (geteuid())
		SKIP(return, "only root can become a user of its own");
	ASSERT_EQ(give_up_locking(32768), 0);
	OPEN(2, 65536, variant->method);
	EXPECT_EQ(flowtap_drain_method(self->drain), unregistered(variant->method));
	ASSERT_EQ(run(self->drain, self->made, 2, 5000), 0);
	reading = read_archive(self->fd, 0);
	EXPECT_ALL(reading, 2, 5000);
}

TEST_F(drain, some_rings_may_be_registered_and_others_not)
{
	struct reading reading;

	if (geteuid())
		SKIP(return, "only root can become a user of its own");
	ASSERT_EQ(give_up_locking(65536 + 32768), 0);
	OPEN(2, 65536, variant->method);
	EXPECT_EQ(flowtap_drain_method(self->drain), unregistered(variant->method));
	ASSERT_EQ(run(self->drain, self->made, 2, 5000), 0);
	reading = read_archive(self->fd, 0);
	EXPECT_ALL(reading, 2, 5000);
}

/* The call gives this error from now on. */
static int forbid(int number, int error)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned int)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) ? -errno : 0;
}

TEST_F(drain, without_io_uring_it_polls)
{
	static const int errors[] = { ENOSYS, EPERM, ENOMEM };
	struct reading reading;

	ASSERT_EQ(forbid(SYS_io_uring_setup, errors[variant->method]), 0);
	OPEN(2, 65536, variant->method);
	EXPECT_EQ(flowtap_drain_method(self->drain), FLOWTAP_DRAIN_POLL);
	ASSERT_EQ(run(self->drain, self->made, 2, 5000), 0);
	reading = read_archive(self->fd, 0);
	EXPECT_ALL(reading, 2, 5000);
}

TEST_F(drain, without_registration_it_writes_from_the_mapping)
{
	struct reading reading;

	ASSERT_EQ(forbid(SYS_io_uring_register, EPERM), 0);
	OPEN(2, 65536, variant->method);
	EXPECT_EQ(flowtap_drain_method(self->drain), unregistered(variant->method));
	ASSERT_EQ(run(self->drain, self->made, 2, 5000), 0);
	reading = read_archive(self->fd, 0);
	EXPECT_ALL(reading, 2, 5000);
}

TEST_F(drain, into_a_pipe_it_polls)
{
	struct reading reading;
	int ends[2];

	ASSERT_EQ(pipe(ends), 0);
	ASSERT_EQ(fcntl(ends[1], F_SETPIPE_SZ, 1 << 20), 1 << 20);
	ASSERT_EQ(dup2(ends[1], self->fd), self->fd);
	close(ends[1]);
	OPEN(2, 65536, variant->method);
	EXPECT_EQ(flowtap_drain_method(self->drain), FLOWTAP_DRAIN_POLL);
	ASSERT_EQ(run(self->drain, self->made, 2, 2000), 0);
	close(self->fd);
	reading = read_archive(ends[0], 0);
	EXPECT_ALL(reading, 2, 2000);
	close(ends[0]);
}

TEST_F(drain, after_what_is_appended_to)
{
	struct reading reading;

	ASSERT_EQ(write(self->fd, "before", 6), 6);
	ASSERT_EQ(fcntl(self->fd, F_SETFL, O_APPEND), 0);
	/* Where it stands is not where it will be written. */
	lseek(self->fd, 0, SEEK_SET);
	OPEN(2, 65536, variant->method);
	EXPECT_EQ(flowtap_drain_method(self->drain), FLOWTAP_DRAIN_POLL);
	ASSERT_EQ(run(self->drain, self->made, 2, 2000), 0);
	reading = read_archive(self->fd, 6);
	EXPECT_ALL(reading, 2, 2000);
}

TEST_F(drain, after_what_is_in_the_file_and_before_what_will_be)
{
	struct reading reading;
	char text[6];

	ASSERT_EQ(write(self->fd, "before", 6), 6);
	OPEN_METHOD(2, 65536);
	ASSERT_EQ(run(self->drain, self->made, 2, 2000), 0);
	ASSERT_EQ(write(self->fd, "after", 6), 6);
	ASSERT_EQ(pread(self->fd, text, 6, 6 + (off_t)flowtap_archive_size(self->writer)), 6);
	EXPECT_EQ(memcmp(text, "after", 6), 0);
	reading = read_archive(self->fd, 6);
	EXPECT_EQ(reading.bad_bytes, 6);
	EXPECT_EQ(reading.cpu[0].records, 2000);
	EXPECT_EQ(reading.cpu[1].records, 2000);
}

TEST_F(drain, odd_options_are_refused)
{
	struct flowtap_drain_options options = { variant->method, 0 };

	OPEN(1, 65536, variant->method);
	EXPECT_EQ(flowtap_drain_add(self->drain, self->made[0].fd, &self->made[0].reader, 1),
		  -ENOSPC);
	EXPECT_EQ(flowtap_drain_remove(self->drain, -1), -EINVAL);
	EXPECT_EQ(flowtap_drain_remove(self->drain, 1000), -EINVAL);
	EXPECT_EQ(flowtap_drain_events(self->drain, 1000), 0);
	EXPECT_EQ(flowtap_drain_error(self->drain, 1000), 0);
	flowtap_drain_close(self->drain);
	self->drain = NULL;
	EXPECT_EQ(flowtap_drain_open(&options, self->writer, &self->drain), -EINVAL);
	options.streams = 1U << 20;
	EXPECT_EQ(flowtap_drain_open(&options, self->writer, &self->drain), -EINVAL);
	options = (struct flowtap_drain_options){ FLOWTAP_DRAIN_METHODS, 1 };
	EXPECT_EQ(flowtap_drain_open(&options, self->writer, &self->drain), -EINVAL);
	EXPECT_EQ(flowtap_drain_method_name(FLOWTAP_DRAIN_METHODS), NULL);
}

TEST_HARNESS_MAIN
