// SPDX-License-Identifier: GPL-2.0-only
/*
 * The drain under load: many streams, and what it copies. memcpy is ours here and counts: what the
 * library moves in pieces whose size it does not know beforehand goes through it.
 */
#define RINGS 64

#include "unit/capture/drain_fixture.h"

#define MUCH (96U << 10)		/* more than any block that is copied */

static _Thread_local bool counting;
static _Thread_local uint64_t copied;
/* Or the compiler makes a memcpy of it. */
static void *(*volatile move)(void *to, const void *from, size_t size) = memmove;

void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
	if (counting)
		copied += size;
	return move(to, from, size);
}

/* Takes what waits, and counts what is copied meanwhile. */
static int take_all(struct flowtap_drain *drain)
{
	int err;

	copied = 0;
	counting = true;
	err = flowtap_drain_flush(drain);
	counting = false;
	return err;
}

/* Of a ring's content: at least so many bytes. */
static void produce_bytes(struct made *made, uint64_t bytes)
{
	uint64_t until = made->ring->data_head + bytes;

	while (made->ring->data_head < until)
		produce(made, 1);
}

TEST_F(drain, what_is_much_is_written_from_where_it_is)
{
	uint64_t bytes = 0, most = 0, n;
	struct reading reading;

	OPEN_METHOD(1, 1U << 20);
	/* So that it goes around the ring's end, too. */
	for (int round = 0; round < 40; round++) {
		n = self->made[0].ring->data_head;
		produce_bytes(&self->made[0], MUCH);
		ASSERT_EQ(take_all(self->drain), 0);
		bytes += self->made[0].ring->data_head - n;
		most = copied > most ? copied : most;
	}
	ASSERT_LT(3U << 20, bytes);
	/* Headers. */
	EXPECT_GT(512, most);
	reading = read_archive(self->fd, 0);
	EXPECT_ALL(reading, 1, self->made[0].written);
}

/* And that is seen. */
TEST_F(drain, what_is_little_is_copied)
{
	uint64_t bytes = 0;

	OPEN_METHOD(8, 1U << 16);
	for (int i = 0; i < 8; i++) {
		produce(&self->made[i], 5);
		bytes += self->made[i].ring->data_head;
	}
	ASSERT_EQ(take_all(self->drain), 0);
	EXPECT_LE(bytes, copied);
	EXPECT_GT(bytes + 8 * 128, copied);
}

TEST_F(drain, one_thread_takes_sixty_four_streams)
{
	struct reading reading;

	OPEN_METHOD(RINGS, 1U << 15);
	ASSERT_EQ(run(self->drain, self->made, RINGS, 1500), 0);
	reading = read_archive(self->fd, 0);
	EXPECT_ALL(reading, RINGS, 1500);
}

TEST_HARNESS_MAIN
