// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that by every method of the drain the bytes of AUX areas come into the archive before the
 * records that name them, that a tail never passes what is not in the file, and that an archive
 * that was not finished has the bytes of all records that are in it.
 */
#include <pthread.h>
#include <sys/wait.h>

#include "unit/capture/drain_aux_fixture.h"

/* Drains until both producers have added `count` records. */
static int run(struct flowtap_drain *drain, struct made_aux *made, uint64_t count)
{
	uint64_t moved, ticks;
	pthread_t threads[STREAMS];
	bool all = false;
	int err = 0;

	for (int i = 0; i < STREAMS; i++) {
		made[i].count = count;
		pthread_create(&threads[i], NULL, aux_producer, &made[i]);
	}
	while (err >= 0 && !all) {
		err = flowtap_drain_wait(drain, 1000);
		all = true;
		for (int i = 0; i < STREAMS; i++)
			(void)!read(made[i].made.fd, &ticks, sizeof(ticks));
		if (err >= 0)
			err = flowtap_drain_collect(drain, &moved);
		for (int i = 0; i < STREAMS; i++)
			all &= __atomic_load_n(&made[i].made.ring->data_head, __ATOMIC_ACQUIRE) >=
			       count * sizeof(struct flowtap_record_aux) +
				       (count + 4) / 5 * sizeof(struct flowtap_record_clock);
	}
	for (int i = 0; i < STREAMS; i++) {
		if (err < 0)
			__atomic_store_n(&made[i].made.stop, true, __ATOMIC_RELAXED);
		pthread_join(threads[i], NULL);
	}
	return err < 0 ? err : flowtap_drain_flush(drain);
}

TEST_F(aux, every_byte_comes_before_the_record_that_names_it)
{
	OPEN_METHOD(4096, 64 * KILO);
	ASSERT_EQ(run(self->drain, self->made, 3000), 0);
	READ();
	for (int i = 0; i < STREAMS; i++) {
		EXPECT_WHOLE(i);
		/* Many times round. */
		EXPECT_LT(20 * 64 * KILO, self->reading.cpu[i]->bytes);
	}
	EXPECT_EQ(lseek(self->fd, 0, SEEK_END), flowtap_archive_size(self->writer));
}

TEST_F(aux, records_whose_bytes_follow_each_other_are_one_block)
{
	OPEN_METHOD(64 * KILO, MEGA);
	for (int i = 0; i < 100; i++)
		aux_add(&self->made[0], i % 2 ? 8000 : 0, 1 + i);
	ASSERT_EQ(flowtap_drain_flush(self->drain), 0);
	aux_add(&self->made[0], 8193, 5);
	aux_add(&self->made[0], 8193, 5);
	ASSERT_EQ(flowtap_drain_flush(self->drain), 0);
	READ();
	EXPECT_WHOLE(0);
	EXPECT_EQ(self->reading.cpu[0]->rings, 2 + 2);
	EXPECT_EQ(self->reading.cpu[0]->blocks, 2 + 2);
	EXPECT_EQ(self->reading.cpu[0]->pads, 49 * 8000);
}

TEST_F(aux, of_a_full_area_a_quarter_is_a_block)
{
	OPEN_METHOD(64 * KILO, MEGA);
	for (int i = 0; i < 256; i++)
		aux_add(&self->made[0], 0, 4096);
	ASSERT_EQ(flowtap_drain_flush(self->drain), 0);
	READ();
	EXPECT_WHOLE(0);
	EXPECT_EQ(self->reading.cpu[0]->rings, 4);
	EXPECT_EQ(self->reading.cpu[0]->blocks, 4);
}

TEST_F(aux, what_goes_on_at_the_areas_beginning_is_two_blocks)
{
	OPEN_METHOD(64 * KILO, 64 * KILO);
	aux_add(&self->made[0], 0, 60000);
	ASSERT_EQ(flowtap_drain_flush(self->drain), 0);
	aux_add(&self->made[0], 0, 5536);
	aux_add(&self->made[0], 0, 3000);
	ASSERT_EQ(flowtap_drain_flush(self->drain), 0);
	READ();
	EXPECT_WHOLE(0);
	EXPECT_EQ(self->reading.cpu[0]->blocks, 3);
	EXPECT_EQ(self->reading.cpu[0]->rings, 2);
}

/* More blocks than can be on their way, and what is left of them is little. */
TEST_F(aux, all_that_waits_is_taken_however_many_blocks_it_is)
{
	OPEN_METHOD(4096, 4096);
	/* Two of them are more than a quarter of the area: each has blocks of its own. */
	for (unsigned int i = 0; i < 6; i++)
		aux_add(&self->made[0], 0, 600);
	ASSERT_EQ(flowtap_drain_flush(self->drain), 0);
	READ();
	EXPECT_WHOLE(0);
}

TEST_F(aux, a_record_may_be_longer_than_a_block)
{
	OPEN_METHOD(64 * KILO, 64 * MEGA);
	aux_add(&self->made[0], 0, 5);
	aux_add(&self->made[0], 3, 40 * MEGA + 1);
	aux_add(&self->made[0], 0, 5);
	ASSERT_EQ(flowtap_drain_flush(self->drain), 0);
	READ();
	EXPECT_WHOLE(0);
	EXPECT_EQ(self->reading.cpu[0]->blocks, 1 + 3 + 1);
}

/* Each size of a block's padding, copied and written from the area. */
TEST_F(aux, sizes_of_all_kinds)
{
	OPEN_METHOD(64 * KILO, MEGA);
	for (uint64_t size = 1; size < 20; size++) {
		aux_add(&self->made[0], size % 3, size);
		ASSERT_EQ(flowtap_drain_flush(self->drain), 0);
		aux_add(&self->made[1], size % 5, 9000 + size);
		ASSERT_EQ(flowtap_drain_flush(self->drain), 0);
	}
	READ();
	EXPECT_WHOLE(0);
	EXPECT_WHOLE(1);
}

TEST_F(aux, a_tail_waits_until_both_are_in_the_file)
{
	const struct flowtap_ring *ring;
	uint64_t moved;

	OPEN_METHOD(64 * KILO, MEGA);
	ring = self->made[0].made.ring;
	aux_add(&self->made[0], 0, 100000);
	ASSERT_EQ(flowtap_drain_collect(self->drain, &moved), 0);
	EXPECT_EQ(moved, 100000 + sizeof(struct flowtap_record_aux));
	/* What goes by io_uring has not been handed over yet. */
	EXPECT_EQ(ring->aux_tail, variant->method == FLOWTAP_DRAIN_POLL ? 100000 : 0);
	EXPECT_EQ(ring->data_tail, variant->method == FLOWTAP_DRAIN_POLL ? 80 : 0);
	ASSERT_EQ(flowtap_drain_flush(self->drain), 0);
	EXPECT_EQ(ring->aux_tail, 100000);
	EXPECT_EQ(ring->data_tail, 80);
	READ();
	EXPECT_WHOLE(0);
}

static void fill_up(int fd, struct flowtap_archive_writer *writer)
{
	int full = open("/dev/full", O_RDWR);

	flowtap_archive_flush(writer);
	dup2(full, fd);
	close(full);
}

TEST_F(aux, what_one_archive_did_not_take_goes_into_the_next)
{
	int fd = memfd_create("next", MFD_CLOEXEC);
	struct flowtap_archive_writer *next;

	OPEN_METHOD(64 * KILO, MEGA);
	fill_up(self->fd, self->writer);
	aux_add(&self->made[0], 0, 10);
	aux_add(&self->made[1], 0, 100000);
	EXPECT_EQ(flowtap_drain_flush(self->drain), -ENOSPC);
	for (int i = 0; i < STREAMS; i++) {
		EXPECT_EQ(self->made[i].made.ring->aux_tail, 0);
		EXPECT_EQ(self->made[i].made.ring->data_tail, 0);
	}
	ASSERT_EQ(flowtap_archive_create(fd, &next), 0);
	ASSERT_EQ(flowtap_drain_switch(self->drain, next), 0);
	aux_add(&self->made[1], 0, 7);
	ASSERT_EQ(flowtap_drain_flush(self->drain), 0);
	dup2(fd, self->fd);
	READ();
	EXPECT_WHOLE(0);
	EXPECT_WHOLE(1);
	flowtap_archive_writer_free(next);
	close(fd);
}

TEST_F(aux, archives_take_turns)
{
	struct flowtap_archive_writer *next;
	int fd;

	OPEN_METHOD(64 * KILO, 64 * KILO);
	for (int i = 0; i < 5; i++) {
		uint64_t before = self->made[0].records;

		ASSERT_EQ(aux_produce(&self->made[0], 9), true);
		ASSERT_EQ(flowtap_drain_flush(self->drain), 0);
		READ();
		EXPECT_EQ(self->reading.damages, 0);
		EXPECT_EQ(self->reading.cpu[0]->records, self->made[0].records - before);
		EXPECT_EQ(self->reading.cpu[0]->missing, 0);
		EXPECT_EQ(self->reading.cpu[0]->wrong, 0);
		fd = memfd_create("next", MFD_CLOEXEC);
		ASSERT_EQ(flowtap_archive_create(fd, &next), 0);
		ASSERT_EQ(flowtap_drain_switch(self->drain, next), 0);
		flowtap_archive_writer_free(self->writer);
		close(self->fd);
		self->writer = next;
		self->fd = fd;
	}
}

TEST_F(aux, a_filled_area_needs_no_wakeup)
{
	uint64_t moved;

	OPEN_METHOD(64 * KILO, MEGA);
	aux_add(&self->made[0], 0, MEGA / 4 - 1);
	EXPECT_EQ(flowtap_drain_wait(self->drain, 0), 0);
	aux_add(&self->made[0], 0, 1);
	EXPECT_EQ(flowtap_drain_wait(self->drain, 10000), 1);
	ASSERT_EQ(flowtap_drain_collect(self->drain, &moved), 0);
	ASSERT_EQ(flowtap_drain_flush(self->drain), 0);
	/* Bytes without a record are nothing that could be taken. */
	self->made[0].made.ring->aux_head += MEGA / 2;
	EXPECT_EQ(flowtap_drain_wait(self->drain, 20), 0);
}

TEST_F(aux, into_a_pipe)
{
	int ends[2];

	ASSERT_EQ(pipe(ends), 0);
	ASSERT_EQ(fcntl(ends[1], F_SETPIPE_SZ, MEGA), MEGA);
	ASSERT_EQ(dup2(ends[1], self->fd), self->fd);
	close(ends[1]);
	OPEN(4096, 64 * KILO);
	EXPECT_EQ(flowtap_drain_method(self->drain), FLOWTAP_DRAIN_POLL);
	ASSERT_EQ(run(self->drain, self->made, 200), 0);
	dup2(ends[0], self->fd);
	close(ends[0]);
	READ();
	EXPECT_WHOLE(0);
	EXPECT_WHOLE(1);
}

/* Wherever it is: with what it was about to write, or with what the kernel has. */
TEST_F(aux, who_is_killed_leaves_an_archive_that_can_be_read)
{
	for (unsigned int round = 0; round < 24; round++) {
		uint64_t moved;
		pid_t child;
		int status;

		ASSERT_EQ(ftruncate(self->fd, 0), 0);
		lseek(self->fd, 0, SEEK_SET);
		child = fork();
		if (!child) {
			OPEN_METHOD(4096, 64 * KILO);
			for (unsigned int i = 0; i < 1 + round / 3; i++) {
				ASSERT_TRUE(aux_produce(&self->made[0], 8));
				if (i == round / 3 && round % 3 == 0)
					kill(getpid(), SIGKILL);
				ASSERT_EQ(flowtap_drain_collect(self->drain, &moved), 0);
				if (i == round / 3 && round % 3 == 1)
					kill(getpid(), SIGKILL);
				ASSERT_EQ(flowtap_drain_flush(self->drain), 0);
			}
			kill(getpid(), SIGKILL);
		}
		ASSERT_EQ(waitpid(child, &status, 0), child);
		if (!WIFSIGNALED(status))
			SKIP(return, "%s cannot be had here",
			     flowtap_drain_method_name(variant->method));
		/* Killed before its first flush it may have written nothing. */
		if (round < 2 && lseek(self->fd, 0, SEEK_END) == 0)
			continue;
		READ();
		EXPECT_EQ(self->reading.damages, 0) TH_LOG("round %u", round);
		EXPECT_EQ(self->reading.cpu[0]->missing, 0);
		EXPECT_EQ(self->reading.cpu[0]->wrong, 0);
		EXPECT_LE(round / 3 * 8, self->reading.cpu[0]->records);
		if (round % 3 == 2)
			EXPECT_EQ(self->reading.cpu[0]->records, (round / 3 + 1) * 8);
	}
}

/* The file ends anywhere: each record that is there has its bytes. */
TEST_F(aux, of_an_archive_that_is_cut_every_record_has_its_bytes)
{
	off_t end;

	OPEN_METHOD(4096, 8192);
	for (int i = 0; i < 6; i++) {
		ASSERT_TRUE(aux_produce(&self->made[0], 3));
		ASSERT_EQ(flowtap_drain_flush(self->drain), 0);
	}
	end = lseek(self->fd, 0, SEEK_END);
	for (off_t at = end; at >= 16; at -= 7) {
		ASSERT_EQ(ftruncate(self->fd, at), 0);
		READ();
		ASSERT_EQ(self->reading.cpu[0]->missing, 0) TH_LOG("%ld of %ld", at, end);
		ASSERT_EQ(self->reading.cpu[0]->wrong, 0);
		ASSERT_LE(self->reading.damages, 1);
	}
}

TEST_HARNESS_MAIN
