// SPDX-License-Identifier: GPL-2.0-only
/* Shows that a replay gives each record in order of time, with all code known, despite damage. */
#include <errno.h>
#include <fcntl.h>
#include <flowtap/replay.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cpus.h"
#include "support/kselftest_harness.h"

#define MANY 20000

/* What the callbacks saw. */
struct seen {
	struct flowtap_address_map *map;
	size_t n;
	struct {
		uint64_t time;
		uint64_t sequence;
		uint32_t tid;
		uint32_t cpu;
		size_t size;
	} record[MANY];
	size_t blocks;
	uint32_t types[64];
	size_t blocks_before_records;
	size_t damages;
	uint64_t damage_offset;
	char reason[128];
	size_t stop_after;	/* records; 0: never */
};

static int on_block(struct flowtap_replay *replay, const struct flowtap_archive_block *block)
{
	struct seen *seen = replay->argument;

	if (seen->blocks < 64)
		seen->types[seen->blocks] = block->type;
	seen->blocks++;
	if (!seen->n)
		seen->blocks_before_records++;
	return 0;
}

static void on_damage(struct flowtap_replay *replay, uint64_t offset, const char *reason,
		      uint64_t bytes)
{
	struct seen *seen = replay->argument;

	(void)bytes;
	seen->damages++;
	seen->damage_offset = offset;
	snprintf(seen->reason, sizeof(seen->reason), "%s", reason);
}

static int on_record(struct flowtap_replay *replay, uint32_t cpu,
		     const struct flowtap_record *record, size_t size)
{
	struct seen *seen = replay->argument;
	const struct flowtap_record_sample *sample = (const void *)record;

	if (seen->n == MANY)
		abort();
	seen->record[seen->n].time = sample->time;
	seen->record[seen->n].cpu = cpu;
	seen->record[seen->n].size = size;
	if (record->type == FLOWTAP_RECORD_SAMPLE && size >= sizeof(*sample)) {
		seen->record[seen->n].sequence = sample->sequence;
		seen->record[seen->n].tid = sample->tid;
	}
	seen->n++;
	return seen->n == seen->stop_after ? -ECANCELED : 0;
}

FIXTURE(replay)
{
	int fd;
	struct flowtap_archive_writer *writer;
	struct flowtap_replay replay;
	struct seen *seen;
};

FIXTURE_SETUP(replay)
{
	self->fd = memfd_create("replay", MFD_CLOEXEC);
	ASSERT_EQ(flowtap_archive_create(self->fd, &self->writer), 0);
	self->seen = calloc(1, sizeof(*self->seen));
	ASSERT_NE(self->seen, NULL);
	self->seen->map = flowtap_address_map_new(NULL);
	self->replay = (struct flowtap_replay) {
		.block = on_block,
		.damage = on_damage,
		.record = on_record,
		.argument = self->seen,
	};
}

FIXTURE_TEARDOWN(replay)
{
	flowtap_archive_writer_free(self->writer);
	flowtap_address_map_free(self->seen->map);
	free(self->seen);
	close(self->fd);
}

#define RUN() (flowtap_archive_flush(self->writer), lseek(self->fd, 0, SEEK_SET), \
	       flowtap_replay(&self->replay, self->fd, self->seen->map))

/* A sample without entries but `extra` bytes for its size. Returns its size. */
static size_t sample(void *bytes, uint64_t time, uint32_t tid, uint64_t sequence, size_t extra)
{
	struct flowtap_record_sample sample = {
		.header = { FLOWTAP_RECORD_SAMPLE, 0, (uint16_t)(sizeof(sample) + extra) },
		.time = time,
		.tid = tid,
		.pid = tid,
		.sequence = sequence,
	};

	memset(bytes, 0, sizeof(sample) + extra);
	memcpy(bytes, &sample, sizeof(sample));
	return sizeof(sample) + extra;
}

static void put_sample(struct flowtap_archive_writer *writer, uint32_t cpu, uint64_t time,
		       uint32_t tid, uint64_t sequence)
{
	uint64_t bytes[32];
	size_t size = sample(bytes, time, tid, sequence, 0);

	flowtap_archive_write(writer, FLOWTAP_ARCHIVE_RING, cpu, time, bytes, size, NULL, 0);
}

static void put_mapping(struct flowtap_archive_writer *writer, uint32_t pid, uint64_t time,
			uint64_t start, const char *path)
{
	struct flowtap_archive_mapping mapping = {
		.time = time,
		.start = start,
		.size = 0x1000,
		.pid = pid,
		.executable = 1,
		.path_size = (uint32_t)strlen(path),
	};

	flowtap_archive_write(writer, FLOWTAP_ARCHIVE_MAPPING, 0, time, &mapping, sizeof(mapping),
			      path, mapping.path_size);
}

static void put_task(struct flowtap_archive_writer *writer, uint32_t event, uint32_t parent,
		     uint32_t pid, uint64_t time)
{
	struct flowtap_archive_task task = {
		.time = time,
		.event = event,
		.pid = pid,
		.parent_pid = parent,
	};

	flowtap_archive_write(writer, FLOWTAP_ARCHIVE_TASK, 0, time, &task, sizeof(task), NULL, 0);
}

static uint32_t random_state = 1;

static uint32_t below(uint32_t limit)
{
	random_state = random_state * 1664525U + 1013904223U;
	return (random_state >> 8) % limit;
}

TEST_F(replay, tasks_that_move_between_cpus_keep_their_order)
{
	enum { CPUS = 5, TASKS = 12, SAMPLES = 6000, BLOCK = 100000 };
	static uint8_t blocks[CPUS][BLOCK];
	size_t used[CPUS] = { 0 };
	uint64_t sequence[TASKS] = { 0 }, next[TASKS] = { 0 };

	for (uint64_t i = 0; i < SAMPLES; i++) {
		uint32_t cpu = below(CPUS), tid = below(TASKS);

		/* Times are often equal: the clock of an emulated machine may stand still. */
		used[cpu] += sample(blocks[cpu] + used[cpu], i / 3, tid + 1, sequence[tid]++,
				    8 * below(400));
		if (used[cpu] > BLOCK - 4000 || below(40) == 0) {
			flowtap_archive_write(self->writer, FLOWTAP_ARCHIVE_RING, cpu, i,
					      blocks[cpu], used[cpu], NULL, 0);
			used[cpu] = 0;
		}
	}
	for (uint32_t cpu = 0; cpu < CPUS; cpu++)
		flowtap_archive_write(self->writer, FLOWTAP_ARCHIVE_RING, cpu, 0, blocks[cpu],
				      used[cpu], NULL, 0);
	ASSERT_EQ(RUN(), 0);
	ASSERT_EQ(self->seen->n, SAMPLES);
	for (size_t i = 0; i < SAMPLES; i++) {
		ASSERT_EQ(self->seen->record[i].time, i / 3);
		ASSERT_EQ(self->seen->record[i].sequence,
			  next[self->seen->record[i].tid - 1]++);
	}
	EXPECT_EQ(self->replay.counts.records, SAMPLES);
	EXPECT_EQ(self->replay.counts.first_time, 0);
	EXPECT_EQ(self->replay.counts.last_time, (SAMPLES - 1) / 3);
	EXPECT_FALSE(self->replay.counts.finalised);
}

TEST_F(replay, greatest_records)
{
	uint8_t *bytes = malloc(70000);

	for (uint64_t i = 0; i < 20; i++) {
		size_t size = sample(bytes, i, 1, i, 65528 - sizeof(struct flowtap_record_sample));

		flowtap_archive_write(self->writer, FLOWTAP_ARCHIVE_RING, 0, i, bytes, size, NULL,
				      0);
		put_sample(self->writer, 0, i, 1, i);
	}
	free(bytes);
	ASSERT_EQ(RUN(), 0);
	ASSERT_EQ(self->seen->n, 40);
	for (size_t i = 0; i < 40; i += 2)
		ASSERT_EQ(self->seen->record[i].size, 65528);
}

TEST_F(replay, code_is_known_before_the_first_record)
{
	const struct flowtap_code *code;

	put_sample(self->writer, 0, 5, 1, 0);
	/* Another CPU's side band, told late: the mapping comes after the fork that copies it. */
	put_task(self->writer, FLOWTAP_TASK_FORK, 1, 2, 20);
	put_task(self->writer, FLOWTAP_TASK_EXIT, 0, 1, 40);
	put_mapping(self->writer, 1, 10, 0x5000, "//late");
	put_mapping(self->writer, 2, 30, 0x7000, "//after");
	put_task(self->writer, FLOWTAP_TASK_EXEC, 0, 2, 25);
	put_sample(self->writer, 0, 50, 1, 1);
	flowtap_archive_write(self->writer, FLOWTAP_ARCHIVE_LOST, 0, 0, &(uint64_t) { 7 }, 8, NULL,
			      0);
	flowtap_archive_write(self->writer, 77, 0, 0, "later", 5, NULL, 0);
	flowtap_archive_write(self->writer, FLOWTAP_ARCHIVE_END, 0, 0, NULL, 0, NULL, 0);
	ASSERT_EQ(RUN(), 0);
	EXPECT_EQ(self->seen->blocks, 8);
	EXPECT_EQ(self->seen->blocks_before_records, 8);
	EXPECT_EQ(self->seen->types[0], FLOWTAP_ARCHIVE_TASK);
	EXPECT_EQ(self->seen->types[6], 77);
	EXPECT_EQ(self->replay.counts.mappings, 2);
	EXPECT_EQ(self->replay.counts.sideband_lost, 7);
	EXPECT_TRUE(self->replay.counts.finalised);
	EXPECT_EQ(self->seen->damages, 0);
	code = flowtap_address_map_find(self->seen->map, 2, 22, 0x5001);
	ASSERT_NE(code, NULL);
	EXPECT_STREQ(code->path, "//late");
	EXPECT_EQ(flowtap_address_map_find(self->seen->map, 2, 26, 0x5001), NULL);
	EXPECT_EQ(flowtap_address_map_find(self->seen->map, 2, 26, 0x7001), NULL);
	EXPECT_NE(flowtap_address_map_find(self->seen->map, 2, 30, 0x7001), NULL);
	/* Another thread of the process may go on after its first one's end. */
	EXPECT_NE(flowtap_address_map_find(self->seen->map, 1, 45, 0x5001), NULL);
}

TEST_F(replay, bytes_reach_the_map)
{
	struct {
		struct flowtap_archive_mapping mapping;
		char path[8];
		uint8_t code[64];
	} block = {
		.mapping = { .size = 64, .executable = 1, .path_size = 6 },
		.path = "[vdso]",
		.code = { 0x13 },
	};
	const struct flowtap_code *code;

	put_mapping(self->writer, 1, 3, 0x5000, "[vdso]");
	flowtap_archive_write(self->writer, FLOWTAP_ARCHIVE_BYTES, 0, 0, &block, sizeof(block),
			      NULL, 0);
	block.mapping.pid = 9;
	block.mapping.start = 0x9000;
	block.code[0] = 0x17;
	flowtap_archive_write(self->writer, FLOWTAP_ARCHIVE_BYTES, 0, 0, &block, sizeof(block),
			      NULL, 0);
	ASSERT_EQ(RUN(), 0);
	EXPECT_EQ(self->seen->damages, 0);
	code = flowtap_address_map_find(self->seen->map, 1, 3, 0x5000);
	ASSERT_NE(code, NULL);
	ASSERT_NE(code->bytes, NULL);
	EXPECT_EQ(code->bytes[0], 0x13);
	code = flowtap_address_map_find(self->seen->map, 9, 3, 0x9000);
	ASSERT_NE(code, NULL);
	ASSERT_NE(code->bytes, NULL);
	EXPECT_EQ(code->bytes[0], 0x17);
	EXPECT_EQ(code->end, 0x9040);
}

TEST_F(replay, damage_is_told_and_passed_over)
{
	uint64_t bytes[32];
	size_t size, second;
	off_t at;

	put_sample(self->writer, 0, 1, 1, 0);
	flowtap_archive_flush(self->writer);
	at = lseek(self->fd, 0, SEEK_CUR);
	put_sample(self->writer, 0, 2, 1, 1);
	put_sample(self->writer, 0, 3, 1, 2);
	/* A block with a right checksum whose second record is nonsense. */
	size = sample(bytes, 4, 1, 3, 0);
	second = size / 8;
	bytes[second] = 0x0004000000000001;
	bytes[second + 1] = 5;
	flowtap_archive_write(self->writer, FLOWTAP_ARCHIVE_RING, 0, 0, bytes, size + 16, NULL, 0);
	put_sample(self->writer, 0, 6, 1, 4);
	/* A mapping whose path is longer than the block. */
	bytes[0] = bytes[1] = 0;
	flowtap_archive_write(self->writer, FLOWTAP_ARCHIVE_MAPPING, 0, 0, bytes, 32, NULL, 0);
	flowtap_archive_flush(self->writer);
	ASSERT_EQ(pwrite(self->fd, "x", 1, at + 40), 1);
	ASSERT_EQ(RUN(), 0);
	EXPECT_EQ(self->seen->n, 4);
	EXPECT_EQ(self->seen->record[3].time, 6);
	EXPECT_EQ(self->seen->damages, 3);
	EXPECT_EQ(self->replay.counts.damages, 3);
	EXPECT_EQ(self->replay.counts.bad_bytes,
		  24 + sizeof(struct flowtap_record_sample) + 16 + 32);
	EXPECT_STREQ(self->seen->reason, "a record of an impossible size");
}

TEST_F(replay, damage_of_the_side_band_is_told_where_its_block_is)
{
	struct flowtap_archive_mapping mapping = { .path_size = 1 };
	off_t at;

	put_sample(self->writer, 0, 1, 1, 0);
	flowtap_archive_flush(self->writer);
	at = lseek(self->fd, 0, SEEK_CUR);
	flowtap_archive_write(self->writer, FLOWTAP_ARCHIVE_MAPPING, 0, 0, &mapping,
			      sizeof(mapping), NULL, 0);
	ASSERT_EQ(RUN(), 0);
	EXPECT_EQ(self->seen->damages, 1);
	EXPECT_STREQ(self->seen->reason, "a block of the side band that contradicts itself");
	EXPECT_EQ(self->seen->damage_offset, (uint64_t)at);
}

TEST_F(replay, truncated_at_every_byte)
{
	uint64_t most = 0;
	off_t size;

	for (uint64_t i = 0; i < 4; i++) {
		put_mapping(self->writer, 1, i, 0x1000 * i, "//x");
		put_sample(self->writer, (uint32_t)i % 2, i, 1, i);
	}
	flowtap_archive_flush(self->writer);
	size = lseek(self->fd, 0, SEEK_CUR);
	while (size-- > 16) {
		ASSERT_EQ(ftruncate(self->fd, size), 0);
		self->seen->n = 0;
		lseek(self->fd, 0, SEEK_SET);
		ASSERT_EQ(flowtap_replay(&self->replay, self->fd, NULL), 0);
		ASSERT_LE(self->seen->n, 4);
		for (size_t i = 0; i < self->seen->n; i++)
			ASSERT_EQ(self->seen->record[i].time, i);
		if (self->seen->n > most)
			most = self->seen->n;
	}
	EXPECT_EQ(most, 3);
	EXPECT_EQ(self->seen->n, 0);
}

TEST_F(replay, archive_within_a_file)
{
	int other = memfd_create("within", MFD_CLOEXEC);
	uint8_t bytes[4096];
	ssize_t size;

	put_mapping(self->writer, 1, 1, 0x1000, "//x");
	put_sample(self->writer, 0, 2, 1, 0);
	flowtap_archive_flush(self->writer);
	size = pread(self->fd, bytes, sizeof(bytes), 0);
	ASSERT_EQ(write(other, "something else", 14), 14);
	ASSERT_EQ(write(other, bytes, (size_t)size), size);
	lseek(other, 14, SEEK_SET);
	ASSERT_EQ(flowtap_replay(&self->replay, other, self->seen->map), 0);
	EXPECT_EQ(self->seen->damages, 0);
	EXPECT_EQ(self->seen->n, 1);
	EXPECT_NE(flowtap_address_map_find(self->seen->map, 1, 2, 0x1000), NULL);
	close(other);
}

static void *feed(void *argument)
{
	const int *ends = argument;
	uint8_t bytes[1000];
	ssize_t size;

	lseek(ends[0], 0, SEEK_SET);
	while ((size = read(ends[0], bytes, sizeof(bytes))) > 0)
		if (write(ends[1], bytes, (size_t)size) != size)
			break;
	close(ends[1]);
	return NULL;
}

TEST_F(replay, out_of_a_pipe)
{
	pthread_t thread;
	int ends[2], job[2];

	for (uint64_t i = 0; i < 5000; i++)
		put_sample(self->writer, (uint32_t)(i % 3), i, 1, i);
	put_mapping(self->writer, 1, 1, 0x1000, "//x");
	flowtap_archive_flush(self->writer);
	ASSERT_EQ(pipe(ends), 0);
	job[0] = self->fd;
	job[1] = ends[1];
	ASSERT_EQ(pthread_create(&thread, NULL, feed, job), 0);
	errno = 55;
	ASSERT_EQ(flowtap_replay(&self->replay, ends[0], self->seen->map), 0);
	EXPECT_EQ(errno, 55);
	pthread_join(thread, NULL);
	ASSERT_EQ(self->seen->n, 5000);
	for (size_t i = 0; i < 5000; i++)
		ASSERT_EQ(self->seen->record[i].time, i);
	EXPECT_NE(flowtap_address_map_find(self->seen->map, 1, 2, 0x1000), NULL);
	close(ends[0]);
}

TEST_F(replay, callback_stops_it)
{
	for (uint64_t i = 0; i < 10; i++)
		put_sample(self->writer, 0, i, 1, i);
	self->seen->stop_after = 4;
	EXPECT_EQ(RUN(), -ECANCELED);
	EXPECT_EQ(self->seen->n, 4);
	EXPECT_EQ(self->replay.counts.records, 4);
}

TEST_F(replay, no_archive_is_told)
{
	int empty = memfd_create("empty", MFD_CLOEXEC);

	EXPECT_EQ(flowtap_replay(&self->replay, empty, NULL), -EBADMSG);
	EXPECT_EQ(flowtap_replay(&self->replay, -1, NULL), -EBADF);
	close(empty);
}

TEST_F(replay, more_cpus_than_there_can_be)
{
	for (uint32_t cpu = 0; cpu < FLOWTAP_CPUS_MAX + 4; cpu++)
		put_sample(self->writer, cpu * 1000003, cpu, 1, cpu);
	ASSERT_EQ(RUN(), 0);
	EXPECT_EQ(self->seen->n, FLOWTAP_CPUS_MAX);
	EXPECT_EQ(self->seen->damages, 4);
}

TEST_HARNESS_MAIN
