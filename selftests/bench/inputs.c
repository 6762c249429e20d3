// SPDX-License-Identifier: GPL-2.0-only
/* What it costs to write an archive, to replay it, and to ask the map which code an address is. */
#include <flowtap/replay.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/crc32c.h"

#define CPUS 4
#define ENTRIES 256
#define SAMPLES 100000
#define MAPPINGS 200		/* of each of PROCESSES */
#define PROCESSES 50
#define BLOCK (256U << 10)

struct sample {
	struct flowtap_record_sample header;
	struct flowtap_entry entry[ENTRIES];
};

static double cpu_seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static uint64_t sum;

static void measure_crc(const char *name,
			uint32_t (*crc)(uint32_t crc, const void *bytes, size_t size))
{
	size_t size = 1U << 20;
	uint8_t *bytes = malloc(size);
	double start;

	if (!bytes)
		exit(1);
	memset(bytes, 0x5a, size);
	start = cpu_seconds();
	for (int i = 0; i < 200; i++)
		sum += crc(0, bytes, size);
	printf("crc32c %-10s %8.2f GB/s\n", name,
	       200 * (double)size / (cpu_seconds() - start) / 1e9);
	free(bytes);
}

static void write_sideband(struct flowtap_archive_writer *writer)
{
	for (uint32_t i = 0; i < MAPPINGS * PROCESSES; i++) {
		struct flowtap_archive_mapping mapping = {
			.start = 0x1000000ULL * (1 + i % MAPPINGS),
			.size = 0x800000,
			.pid = 1 + i / MAPPINGS,
			.executable = 1,
			.path_size = 6,
		};

		flowtap_archive_write(writer, FLOWTAP_ARCHIVE_MAPPING, 0, 0, &mapping,
				      sizeof(mapping), "//anon", 6);
	}
}

/* Each CPU's samples in blocks of its own, as a recorder drains rings. */
static double write_archive(int fd)
{
	static struct sample block[CPUS][BLOCK / sizeof(struct sample)];
	struct flowtap_archive_writer *writer;
	size_t n[CPUS] = { 0 };
	double start = cpu_seconds();

	if (flowtap_archive_create(fd, &writer))
		exit(1);
	write_sideband(writer);
	for (uint64_t i = 0; i < SAMPLES; i++) {
		uint32_t cpu = (uint32_t)(i * 2654435761U >> 7) % CPUS;
		struct sample *sample = &block[cpu][n[cpu]++];

		sample->header = (struct flowtap_record_sample) {
			.header = { FLOWTAP_RECORD_SAMPLE, 0, sizeof(*sample) },
			.time = i,
			.sequence = i,
			.pid = 1,
			.tid = 1,
			.nr = ENTRIES,
		};
		if (n[cpu] < BLOCK / sizeof(*sample))
			continue;
		if (flowtap_archive_write(writer, FLOWTAP_ARCHIVE_RING, cpu, i, block[cpu],
					  sizeof(block[cpu]), NULL, 0))
			exit(1);
		n[cpu] = 0;
	}
	if (flowtap_archive_flush(writer))
		exit(1);
	printf("write      %8.2f GB/s of CPU time\n",
	       (double)flowtap_archive_size(writer) / (cpu_seconds() - start) / 1e9);
	start = (double)flowtap_archive_size(writer);
	flowtap_archive_writer_free(writer);
	return start;
}

static int count(struct flowtap_replay *replay, uint32_t cpu, const struct flowtap_record *record,
		 size_t size)
{
	(void)replay;
	sum += cpu + record->type + size;
	return 0;
}

static void measure_find(struct flowtap_address_map *map)
{
	const int finds = 2000000;
	double start = cpu_seconds();
	uint32_t random = 1;

	for (int i = 0; i < finds; i++) {
		uint64_t address;

		random = random * 1664525U + 1013904223U;
		address = 0x1000000ULL * (1 + (random >> 8) % MAPPINGS) + 0x1234;
		sum += flowtap_address_map_find(map, 1 + (random >> 20) % PROCESSES, 5, address)
			       ->key;
	}
	printf("find       %8.1f ns (%d mappings in each of %d processes, at random)\n",
	       (cpu_seconds() - start) / finds * 1e9, MAPPINGS, PROCESSES);
}

int main(void)
{
	struct flowtap_address_map *map = flowtap_address_map_new("/proc/self/nowhere");
	struct flowtap_replay replay = { .record = count };
	int fd = memfd_create("bench", MFD_CLOEXEC);
	double start, size;

	if (fd < 0 || !map)
		return 1;
	measure_crc("machine", flowtap_crc32c);
	measure_crc("table", flowtap_crc32c_table);
	size = write_archive(fd);
	lseek(fd, 0, SEEK_SET);
	start = cpu_seconds();
	if (flowtap_replay(&replay, fd, map) || replay.counts.damages)
		return 1;
	start = cpu_seconds() - start;
	printf("replay     %8.2f GB/s, %.1f M records/s of %d entries\n", size / start / 1e9,
	       (double)replay.counts.records / start / 1e6, ENTRIES);
	measure_find(map);
	flowtap_address_map_free(map);
	return sum == 0;
}
