// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows how the AUX area fills and is emptied (arm64 with ETE and TRBE, or on the model of both):
 * when its reader is told, that what did not fit is a gap, that no tail can make the hardware write
 * elsewhere, and that a flight recorder keeps the newest.
 */
#include "ete.h"
#include "worker.h"

TEST_F(ete, the_area_is_mapped_as_configured)
{
	uint64_t i;
	void *map;

	ASSERT_EQ(0, aux_open(&self->aux, &self->configure));
	EXPECT_EQ(64 * 4096, self->aux.stream.ring->aux_size);
	EXPECT_EQ(17 * 4096, self->aux.stream.ring->aux_offset);
	for (i = 0; i < self->aux.size; i++)
		if (self->aux.area[i])
			break;
	EXPECT_EQ(self->aux.size, i);
#define MAP(length, protection, flags, offset)					\
	(map = mmap(NULL, length, protection, flags, self->aux.stream.fd, offset), \
	 map == MAP_FAILED ? errno : 0)
	EXPECT_EQ(EINVAL, MAP(63 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, 17 * 4096));
	EXPECT_EQ(EINVAL, MAP(64 * 4096, PROT_READ, MAP_SHARED, 17 * 4096));
	EXPECT_EQ(EINVAL, MAP(64 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, 17 * 4096));
	EXPECT_EQ(EPERM, MAP(64 * 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED, 17 * 4096));
	EXPECT_EQ(EINVAL, MAP(64 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, 18 * 4096));
	EXPECT_EQ(EINVAL, MAP(65 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, 17 * 4096));
#undef MAP
	/* Nor is there a way to what is after it. */
	EXPECT_EQ(MAP_FAILED, mremap(self->aux.area, self->aux.size, self->aux.size + 2 * 4096,
				     MREMAP_MAYMOVE));
	/* The mapping outlives the stream. */
	close(self->aux.stream.fd);
	self->aux.stream.fd = -1;
	self->aux.area[self->aux.size - 1] = 1;
	EXPECT_EQ(0, self->aux.area[0]);
}

/* Interrupts come, and with a reader that keeps up nothing is lost to a full ring. */
TEST_F(ete, a_small_area_is_filled_again_and_again)
{
	struct worker worker = start_worker(cpus_online() > 1 ? 1 : 0, 200000);
	static const char turns[256];
	uint32_t n;

	self->configure = tracing(cpus_online() > 1 ? 1 : 0, 2);
	pin(0, 0);
	ASSERT_EQ(0, trace(&self->aux, &self->configure, worker.pid));
	/* Work enough for a reader that is slow. */
	ASSERT_EQ(sizeof(turns), write(worker.go, turns, sizeof(turns)));
	for (n = 0; n < 2000 && self->aux.bytes < 60000 && !self->aux.wrong; n++) {
		aux_take(&self->aux);
		sleep_ms(1);
	}
	EXPECT_EQ(NULL, self->aux.wrong) TH_LOG("%s", self->aux.wrong);
	EXPECT_LT(8192, self->aux.bytes);
	EXPECT_NE(0, stats(&self->aux.stream).interrupts);
	end(worker.pid);
	/* What was told as lost has broken the sequence (aux.h looks), and nothing else has. */
	if (!all_gaps(&self->aux))
		EXPECT_EQ(0, self->aux.losses);
	TH_LOG("%u records, %u continued, %u truncated, %u gaps, %llu interrupts",
	       self->aux.records, self->aux.continued, self->aux.truncated, all_gaps(&self->aux),
	       (unsigned long long)stats(&self->aux.stream).interrupts);
}

TEST_F(ete, a_full_ring_is_told)
{
	struct worker worker = start_worker(0, 100000);
	static uint8_t full[8192];

	self->configure = tracing(0, 2);
	ASSERT_EQ(0, trace(&self->aux, &self->configure, worker.pid));
	self->aux.keep = true;
	ASSERT_TRUE(turn(&worker));
	aux_take(&self->aux);
	EXPECT_EQ(NULL, self->aux.wrong) TH_LOG("%s", self->aux.wrong);
	EXPECT_GE(8192, self->aux.bytes);
	/*
	 * Of two pages at least one; an erratum may want its beginning. Where another task came in
	 * between, what is left of the area may be too small to go on in.
	 */
	EXPECT_LE(self->aux.records == 1 ? 4096 - 256 : 1, self->aux.bytes);
	EXPECT_TRUE(poll_now(&self->aux.stream) & POLLIN);
	/* Where it is full nothing comes, whatever the task does. */
	memcpy(full, self->aux.area, sizeof(full));
	ASSERT_TRUE(turn(&worker));
	EXPECT_EQ(0, memcmp(full, self->aux.area, sizeof(full)));
	/* All is taken: it goes on, and says what was missing since when. */
	self->aux.keep = false;
	__atomic_store_n(&self->aux.stream.ring->aux_tail, self->aux.taken, __ATOMIC_RELEASE);
	ASSERT_TRUE(turn(&worker));
	disable(&self->aux.stream);
	aux_take(&self->aux);
	end_worker(&worker);
	EXPECT_EQ(NULL, self->aux.wrong) TH_LOG("%s", self->aux.wrong);
	EXPECT_NE(0, self->aux.gaps[FLOWTAP_CAUSE_RING_FULL]);
	EXPECT_TRUE(self->aux.losses & 1 << FLOWTAP_CAUSE_RING_FULL);
}

TEST_F(ete, a_hostile_tail_is_a_full_ring)
{
	static const uint64_t tails[] = { 1, 8192, 8193, -8192ULL, -8193ULL, 1ULL << 63 };
	struct worker worker = start_worker(0, 3000);
	unsigned int i;
	uint64_t head;

	self->configure = tracing(0, 2);
	ASSERT_TRUE(turn(&worker));
	/* What goes into the area is decided when it comes onto its CPU. */
	ASSERT_TRUE(WAIT_FOR(state_of(worker.pid) == 'S'));
	ASSERT_EQ(0, trace(&self->aux, &self->configure, worker.pid));
	for (i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		ASSERT_TRUE(WAIT_FOR(state_of(worker.pid) == 'S'));
		head = self->aux.stream.ring->aux_head;
		self->aux.stream.ring->aux_tail = head + tails[i];
		ASSERT_TRUE(turn(&worker));
		/* 8192 after is a full area, 1 ahead and the others make no sense. */
		EXPECT_EQ(head, self->aux.stream.ring->aux_head) TH_LOG("tail %#llx",
									  (unsigned long long)tails[i]);
	}
	ASSERT_TRUE(WAIT_FOR(state_of(worker.pid) == 'S'));
	self->aux.stream.ring->aux_tail = self->aux.stream.ring->aux_head;
	ASSERT_TRUE(turn(&worker));
	disable(&self->aux.stream);
	EXPECT_LT(head, self->aux.stream.ring->aux_head);
	end_worker(&worker);
}

TEST_F(ete, a_flush_brings_what_waits_below_the_watermark)
{
	pid_t pid = spinner(cpus_online() > 1 ? 1 : 0);

	self->configure = tracing(cpus_online() > 1 ? 1 : 0, 4096);
	self->configure.flush_ms = 10;
	pin(0, 0);
	ASSERT_EQ(0, trace(&self->aux, &self->configure, pid));
	EXPECT_TRUE(WAIT_FOR((aux_take(&self->aux), self->aux.records > 3)));
	EXPECT_EQ(NULL, self->aux.wrong) TH_LOG("%s", self->aux.wrong);
	end(pid);
}

/* The next AUX record of a flight recorder's ring that nobody writes to, from *offset on. */
static bool next_aux(const struct flowtap_ring *ring, uint64_t *offset,
		     struct flowtap_record_aux *aux)
{
	const char *data = (const char *)ring + ring->data_offset;
	const struct flowtap_record *record;

	for (; *offset < ring->data_head; *offset += record->size) {
		record = (const void *)(data + *offset % ring->data_size);
		if (record->size < sizeof(*record))
			return false;
		if (record->type != FLOWTAP_RECORD_AUX)
			continue;
		/* It may go on at the ring's begin. */
		for (unsigned int i = 0; i < sizeof(*aux); i++)
			((char *)aux)[i] = data[(*offset + i) % ring->data_size];
		*offset += record->size;
		return true;
	}
	return false;
}

/* Records of a piece that went round. */
static unsigned int laps(const struct flowtap_ring *ring)
{
	uint64_t offset = ring->data_oldest;
	struct flowtap_record_aux record;
	unsigned int n = 0;

	while (next_aux(ring, &offset, &record))
		n += !!(record.flags & FLOWTAP_AUX_OVERWRITE);
	return n;
}

/* After a piece that may have gone round more than once nothing older is within the area. */
static bool believes_what_is_gone(const struct flowtap_ring *ring)
{
	uint64_t offset = ring->data_oldest, end = 0;
	struct flowtap_record_aux record;

	while (next_aux(ring, &offset, &record)) {
		if (end && record.flags & FLOWTAP_AUX_OVERWRITE &&
		    record.offset + record.size < end + ring->aux_size)
			return true;
		end = record.offset + record.size;
	}
	return false;
}

TEST_F(ete, the_flight_recorder_keeps_the_newest)
{
	struct worker worker = start_worker(0, 200000);
	struct flowtap_ring *ring;
	unsigned int went_round;
	uint64_t head;

	self->configure = tracing(0, 2);
	self->configure.flags |= FLOWTAP_OVERWRITE;
	memset(&self->aux, 0, sizeof(self->aux));
	self->aux.stream.fd = open_device();
	ASSERT_EQ(0, command(self->aux.stream.fd, FLOWTAP_IOC_CONFIGURE, &self->configure));
	ring = mmap(NULL, 17 * 4096, PROT_READ, MAP_SHARED, self->aux.stream.fd, 0);
	ASSERT_NE(MAP_FAILED, ring);
	self->aux.stream.ring = ring;
	self->aux.stream.length = 17 * 4096;
	EXPECT_EQ(-EINVAL, aux_map(&self->aux, PROT_READ | PROT_WRITE));
	ASSERT_EQ(0, aux_map(&self->aux, PROT_READ));
	ASSERT_LT(0, add_task(&self->aux.stream, worker.pid, 0));
	ASSERT_EQ(0, enable(&self->aux.stream));
	for (unsigned int i = 0; i < 8; i++)
		ASSERT_TRUE(turn(&worker));
	disable(&self->aux.stream);
	end_worker(&worker);
	went_round = laps(ring);
	EXPECT_NE(0, went_round + stats(&self->aux.stream).losses[FLOWTAP_CAUSE_HARDWARE]);
	EXPECT_FALSE(believes_what_is_gone(ring));
	head = ring->aux_head;
	/* It went round, and nothing was called lost. */
	EXPECT_LT(8192, head);
	EXPECT_EQ(0, stats(&self->aux.stream).losses[FLOWTAP_CAUSE_RING_FULL]);
	/* A buffer that would lose bytes as it goes round stops each time, and says so. */
	if (!getenv("FLOWTAP_ADVERSE") && went_round)
		EXPECT_EQ(0, stats(&self->aux.stream).losses[FLOWTAP_CAUSE_HARDWARE]);
}

TEST_HARNESS_MAIN
