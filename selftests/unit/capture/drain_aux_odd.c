// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that no AUX record makes the drain read what is not there, and what comes of areas that
 * overwrite, or that are not mapped.
 */
#include <sys/prctl.h>
#include <sys/resource.h>

#include "unit/capture/drain_aux_fixture.h"

TEST_F(aux, records_that_name_what_is_not_there_stop_their_ring)
{
	static const struct {
		uint64_t offset;	/* from 1000 on there are 2000 bytes */
		uint64_t size;
		uint16_t record;
		int result;
	} table[] = {
		{ 1000, 2000, 80, 0 },
		{ 1000, 0, 80, 0 },
		{ 3000, 0, 80, 0 },
		{ 999, 1, 80, -EPROTO },	/* another's */
		{ 0, 3000, 80, -EPROTO },
		{ 1000, 2001, 80, -EPROTO },
		{ 3001, 0, 80, -EPROTO },
		{ 2999, 2, 80, -EPROTO },
		{ 1000, UINT64_MAX, 80, -EPROTO },
		{ 1000, -(uint64_t)1000, 80, -EPROTO },
		{ UINT64_MAX, 2, 80, -EPROTO },
		{ UINT64_MAX - 4096, 5096, 80, -EPROTO },
		{ 1ULL << 63, 1ULL << 63, 80, -EPROTO },
		{ 1000, 2000, 72, -EPROTO },
		{ 1000, 2000, 8, -EPROTO },
		{ 1000, 2000, 0, -EPROTO },
		{ 1000, 2000, 84, -EPROTO },
		{ 1000, 2000, 88, -EPROTO },
	};

	OPEN_METHOD(4096, 8192);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct flowtap_ring *ring = self->made[0].made.ring;
		struct flowtap_record_aux record = {
			.header = { FLOWTAP_RECORD_AUX, 0, table[i].record },
			.offset = table[i].offset,
			.size = table[i].size,
		};

		ASSERT_EQ(flowtap_drain_remove(self->drain, self->number[0]), 0);
		ring->data_head = ring->data_tail = 0;
		ring->aux_tail = 1000;
		ring->aux_head = 3000;
		self->number[0] = flowtap_drain_add(self->drain, self->made[0].made.fd,
						    &self->made[0].made.reader, 0);
		ASSERT_GE(self->number[0], 0);
		aux_put(&self->made[0], &record, sizeof(record));
		ASSERT_EQ(flowtap_drain_flush(self->drain), 0);
		EXPECT_EQ(flowtap_drain_error(self->drain, self->number[0]), table[i].result)
			TH_LOG("line %zu", i);
		EXPECT_EQ(ring->data_tail, table[i].result ? 0 : 80);
		EXPECT_EQ(ring->aux_tail, table[i].result ? 1000 : table[i].offset + table[i].size);
		aux_add(&self->made[1], 0, 10);
		ASSERT_EQ(flowtap_drain_flush(self->drain), 0);
		EXPECT_EQ(flowtap_drain_error(self->drain, self->number[1]), 0);
	}
	READ();
	EXPECT_WHOLE(1);
	EXPECT_EQ(self->reading.cpu[0]->blocks, 1);
}

TEST_F(aux, a_range_round_the_areas_end_stops_its_ring)
{
	OPEN_METHOD(4096, 8192);
	aux_add(&self->made[0], 0, 8000);
	ASSERT_EQ(flowtap_drain_flush(self->drain), 0);
	aux_add(&self->made[0], 0, 193);
	ASSERT_EQ(flowtap_drain_flush(self->drain), 0);
	EXPECT_EQ(flowtap_drain_error(self->drain, self->number[0]), -EPROTO);
	EXPECT_EQ(self->made[0].made.ring->aux_tail, 8000);
}

TEST_F(aux, heads_that_make_no_sense_stop_their_ring)
{
	static const uint64_t heads[] = { 99, 101 + 8192, UINT64_MAX, 1ULL << 63 };

	OPEN_METHOD(4096, 8192);
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		struct flowtap_ring *ring = self->made[0].made.ring;

		ASSERT_EQ(flowtap_drain_remove(self->drain, self->number[0]), 0);
		ring->data_head = ring->data_tail = 0;
		ring->aux_tail = ring->aux_head = 100;
		self->number[0] = flowtap_drain_add(self->drain, self->made[0].made.fd,
						    &self->made[0].made.reader, 0);
		aux_add(&self->made[0], 0, 10);
		ring->aux_head = heads[i];
		ASSERT_EQ(flowtap_drain_flush(self->drain), 0);
		EXPECT_EQ(flowtap_drain_error(self->drain, self->number[0]), -EPROTO);
		EXPECT_EQ(ring->aux_tail, 100);
	}
}

/* As for most users, who may lock so much memory: the ring has room in it, the area not. */
TEST_F(aux, an_area_that_may_not_be_locked_is_written_as_it_is_mapped)
{
	struct rlimit limit = { 65536, 65536 };
	uid_t user = 10000 + (uid_t)getpid() % 50000;

	if (geteuid())
		SKIP(return, "only root can become a user of its own");
	ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
	ASSERT_EQ(setresuid(user, user, user), 0);
	/* The leak checker looks into us. */
	ASSERT_EQ(prctl(PR_SET_DUMPABLE, 1), 0);
	OPEN(4096, MEGA);
	EXPECT_EQ(flowtap_drain_method(self->drain), unregistered(variant->method));
	for (int i = 0; i < 5; i++) {
		aux_add(&self->made[0], 0, 100001);
		ASSERT_EQ(flowtap_drain_flush(self->drain), 0);
	}
	READ();
	EXPECT_WHOLE(0);
}

TEST_F(aux, without_its_area_mapped_a_ring_is_drained_alone)
{
	OPEN_METHOD(4096, 8192);
	ASSERT_EQ(flowtap_drain_remove(self->drain, self->number[0]), 0);
	self->made[0].made.reader.aux = NULL;
	self->made[0].made.ring->aux_tail = 5;
	ASSERT_GE(flowtap_drain_add(self->drain, self->made[0].made.fd,
				    &self->made[0].made.reader, 0), 0);
	aux_add(&self->made[0], 5, 10);
	ASSERT_EQ(flowtap_drain_flush(self->drain), 0);
	READ();
	EXPECT_EQ(self->reading.cpu[0]->records, 1);
	EXPECT_EQ(self->reading.cpu[0]->missing, 10);
	EXPECT_EQ(self->made[0].made.ring->aux_tail, 5);
}

/* A stream that overwrites, the records not. */
static int remake(struct flowtap_drain *drain, struct made_aux *aux, int number)
{
	flowtap_drain_remove(drain, number);
	aux->made.ring->flags = FLOWTAP_OVERWRITE;
	aux->made.reader.overwrite = true;
	return flowtap_drain_add(drain, aux->made.fd, &aux->made.reader, 0);
}

TEST_F(aux, of_a_flight_recorder_come_the_bytes_that_are_left)
{
	uint64_t moved, dropped, sum = 0;

	OPEN_METHOD(4096, 8192);
	self->number[0] = remake(self->drain, &self->made[0], self->number[0]);
	ASSERT_GE(self->number[0], 0);
	/* In the first round all is there. */
	for (int i = 0; i < 4; i++)
		aux_add(&self->made[0], 0, 1000);
	ASSERT_EQ(flowtap_drain_snapshot(self->drain, self->number[0], &moved, &dropped), 0);
	EXPECT_EQ(moved, 4000 + 4 * 80);
	ASSERT_EQ(flowtap_archive_flush(self->writer), 0);
	READ();
	EXPECT_EQ(self->reading.cpu[0]->records, 4);
	EXPECT_EQ(self->reading.cpu[0]->missing, 0);

	/* Then the last 8192 bytes are: [5808, 14000). A region goes round the end. */
	for (int i = 0; i < 10; i++)
		aux_add(&self->made[0], 0, 1000);
	ASSERT_EQ(flowtap_drain_snapshot(self->drain, self->number[0], &moved, &dropped), 0);
	EXPECT_EQ(moved, 8192 + 10 * 80);
	ASSERT_EQ(flowtap_archive_flush(self->writer), 0);
	READ();
	EXPECT_EQ(self->reading.cpu[0]->records, 14);
	EXPECT_EQ(self->reading.cpu[0]->skipped, 0);
	EXPECT_EQ(self->reading.cpu[0]->missing, 5808 - 4000);
	EXPECT_EQ(self->reading.cpu[0]->wrong, 0);

	/* One record that filled all of it, and one after it. */
	aux_add(&self->made[0], 0, 8192);
	aux_add(&self->made[0], 0, 1);
	ASSERT_EQ(flowtap_drain_snapshot(self->drain, self->number[0], &moved, &dropped), 0);
	EXPECT_EQ(moved, 8192 + 2 * 80);
	ASSERT_EQ(flowtap_drain_snapshot(self->drain, self->number[0], &moved, &dropped), 0);
	EXPECT_EQ(moved, 0);
	ASSERT_EQ(flowtap_archive_flush(self->writer), 0);
	READ();
	EXPECT_EQ(self->reading.cpu[0]->records, 16);
	EXPECT_EQ(self->reading.cpu[0]->missing, 5808 - 4000 + 1);
	EXPECT_EQ(self->reading.cpu[0]->wrong, 0);
	for (size_t i = 0; i < self->reading.cpu[0]->n; i++)
		sum += self->reading.cpu[0]->pieces[i].size;
	EXPECT_EQ(sum, 4000 + 8192 + 8192);
	EXPECT_EQ(self->made[0].made.ring->aux_tail, 0);
}

TEST_F(aux, a_flight_recorder_that_contradicts_itself_is_refused)
{
	uint64_t moved, dropped;

	OPEN_METHOD(4096, 8192);
	self->number[0] = remake(self->drain, &self->made[0], self->number[0]);
	aux_add(&self->made[0], 0, 1000);
	self->made[0].made.ring->aux_head = 999;
	EXPECT_EQ(flowtap_drain_snapshot(self->drain, self->number[0], &moved, &dropped), -EPROTO);
	self->made[0].made.ring->aux_head = 1000;
	EXPECT_EQ(flowtap_drain_snapshot(self->drain, self->number[0], &moved, &dropped), 0);
	EXPECT_EQ(moved, 1080);
	/* Another record of the same bytes. */
	self->made[0].made.ring->aux_head = 0;
	aux_add(&self->made[0], 0, 1000);
	EXPECT_EQ(flowtap_drain_snapshot(self->drain, self->number[0], &moved, &dropped), -EPROTO);
}

/* No records begin there: nothing is taken, and nothing for ever. */
TEST_F(aux, a_flight_recorder_with_an_odd_tail_is_refused)
{
	uint64_t moved, dropped;

	OPEN_METHOD(4096, 8192);
	aux_add(&self->made[0], 0, 1000);
	self->made[0].made.ring->data_tail = self->made[0].made.ring->data_head - 7;
	self->number[0] = remake(self->drain, &self->made[0], self->number[0]);
	EXPECT_EQ(flowtap_drain_snapshot(self->drain, self->number[0], &moved, &dropped), -EPROTO);
	EXPECT_EQ(moved, 0);
}

/* A record, and no bytes. */
static void say(struct made_aux *aux, uint64_t size)
{
	struct flowtap_record_aux record = {
		.header = { FLOWTAP_RECORD_AUX, 0, sizeof(record) },
		.offset = aux->made.ring->aux_head,
		.size = size,
	};

	aux->made.ring->aux_head += size;
	aux_put(aux, &record, sizeof(record));
}

/* A record may say that it has more bytes than there ever were. */
TEST_F(aux, a_flight_recorder_never_gives_more_than_its_area_holds)
{
	static const uint64_t sizes[] = { 8192, 8193, 1ULL << 32, (1ULL << 63) - 1 };
	struct flowtap_ring *ring;
	uint64_t moved, dropped;

	OPEN_METHOD(4096, 8192);
	self->number[0] = remake(self->drain, &self->made[0], self->number[0]);
	ring = self->made[0].made.ring;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		say(&self->made[0], sizes[i]);
		ASSERT_EQ(flowtap_drain_snapshot(self->drain, self->number[0], &moved, &dropped), 0);
		EXPECT_EQ(moved, 8192 + 80);
	}
	/* Of the first of many nothing is left. */
	for (int i = 0; i < 20; i++)
		say(&self->made[0], 1000);
	ASSERT_EQ(flowtap_drain_snapshot(self->drain, self->number[0], &moved, &dropped), 0);
	EXPECT_EQ(moved, 8192 + 20 * 80);
	/* Nor what the head has gone behind. */
	say(&self->made[0], 10);
	ring->aux_head -= 11;
	EXPECT_EQ(flowtap_drain_snapshot(self->drain, self->number[0], &moved, &dropped), -EPROTO);
	EXPECT_EQ(moved, 0);
}

TEST_HARNESS_MAIN
