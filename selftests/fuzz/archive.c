// SPDX-License-Identifier: GPL-2.0-only
/* Any bytes at all can be replayed as an archive, into a map that is then asked. */
#include <flowtap/archive.h>
#include <flowtap/replay.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "formats/archive/compression.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t flowtap_fuzz_seed(uint8_t *buffer, size_t capacity, unsigned int n);

static uint64_t touched;

static int on_block(struct flowtap_replay *replay, const struct flowtap_archive_block *block)
{
	(void)replay;
	for (size_t i = 0; i < block->size; i++)
		touched += ((const uint8_t *)block->payload)[i];
	return 0;
}

static void on_damage(struct flowtap_replay *replay, uint64_t offset, const char *reason,
		      uint64_t bytes)
{
	(void)replay;
	touched += offset + strlen(reason) + bytes;
}

/* Of whatever area: what is said to be there is, and nothing else. */
static void read_aux(struct flowtap_replay *replay, uint32_t cpu, uint64_t offset, uint64_t size)
{
	size_t capacity = size < 4096 ? size : 4096;
	uint8_t *bytes = malloc(capacity);
	uint64_t next = flowtap_replay_aux_next(replay, cpu, offset);
	long got = flowtap_replay_aux(replay, cpu, offset, bytes, capacity);

	if ((capacity && !bytes) || next < offset || got < 0 || got > (long)capacity)
		abort();
	if (capacity && (next == offset) != (got > 0) && offset != UINT64_MAX)
		abort();
	for (long i = 0; i < got; i++)
		touched += bytes[i];
	if (got && flowtap_replay_aux(replay, cpu, offset + (uint64_t)got - 1, bytes, 1) != 1)
		abort();
	free(bytes);
}

static int on_record(struct flowtap_replay *replay, uint32_t cpu,
		     const struct flowtap_record *record, size_t size)
{
	const struct flowtap_record_aux *aux = (const void *)record;
	struct flowtap_address_map *map = replay->argument;
	const uint64_t *words = (const void *)record;
	const struct flowtap_code *code;
	uint64_t offset;

	if (record->type == FLOWTAP_RECORD_AUX && size >= sizeof(*aux)) {
		read_aux(replay, cpu, aux->offset, aux->size);
		read_aux(replay, aux->cpu, aux->offset, aux->size);
	}
	for (size_t i = 1; i < size / 8; i++) {
		code = flowtap_address_map_find(map, cpu, words[1], words[i]);
		if (!code)
			continue;
		if (words[i] < code->start || words[i] >= code->end || words[1] < code->from ||
		    words[1] >= code->until || !code->bytes == !code->missing)
			abort();
		if (code->bytes)
			touched += code->bytes[0] + code->bytes[code->end - code->start - 1];
		if (flowtap_address_map_symbol(map, code, words[i], &offset))
			touched += offset;
	}
	return 0;
}

static void replay_bytes(int fd)
{
	struct flowtap_replay replay = {
		.block = on_block,
		.damage = on_damage,
		.record = on_record,
	};
	struct flowtap_address_map *map = flowtap_address_map_new("/proc/self/nowhere");

	replay.argument = map;
	lseek(fd, 0, SEEK_SET);
	flowtap_replay(&replay, fd, map);
	flowtap_address_map_free(map);
}

/* Makes the checksums of all blocks right, so that what is after them is reached. */
static void mend(uint8_t *data, size_t size)
{
	struct flowtap_archive_block_header header;
	struct flowtap_archive_header first = { .version = FLOWTAP_ARCHIVE_VERSION };
	size_t at = sizeof(first);

	if (size < at)
		return;
	memcpy(first.magic, FLOWTAP_ARCHIVE_MAGIC, sizeof(first.magic));
	first.crc = flowtap_crc32c(0, &first, 12);
	memcpy(data, &first, sizeof(first));
	while (size - at >= sizeof(header)) {
		memcpy(&header, data + at, sizeof(header));
		if (header.size > size - at - sizeof(header))
			header.size = (uint32_t)(size - at - sizeof(header));
		header.mark = FLOWTAP_ARCHIVE_MARK;
		header.crc = 0;
		header.crc = flowtap_crc32c(flowtap_crc32c(0, &header, sizeof(header)),
					    data + at + sizeof(header), header.size);
		memcpy(data + at, &header, sizeof(header));
		at += sizeof(header) + ((header.size + 7U) & ~7U);
		if (at > size)
			return;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	uint8_t *copy = malloc(size + 1);

	if (fd < 0 || !copy || write(fd, data, size) != (ssize_t)size)
		abort();
	replay_bytes(fd);
	memcpy(copy, data, size);
	mend(copy, size);
	if (pwrite(fd, copy, size, 0) != (ssize_t)size)
		abort();
	replay_bytes(fd);
	free(copy);
	close(fd);
	return 0;
}

/* Seeds: side band of a few processes, then records of two CPUs. */

static void put_mapping(struct flowtap_archive_writer *writer, uint32_t type, uint32_t pid,
			uint64_t time, uint64_t start, uint64_t size, const char *path)
{
	struct flowtap_archive_mapping mapping = {
		.time = time,
		.start = start,
		.size = size,
		.pid = pid,
		.executable = time % 3 != 2,
		.build_id_size = 20,
		.path_size = (uint32_t)strlen(path),
	};
	uint8_t rest[600] = { 0 };
	size_t n = mapping.path_size;

	memcpy(rest, path, n);
	if (type == FLOWTAP_ARCHIVE_BYTES)
		n = ((n + 8) & ~7UL) + size;
	flowtap_archive_write(writer, type, 0, time, &mapping, sizeof(mapping), rest, n);
}

static void put_task(struct flowtap_archive_writer *writer, uint32_t event, uint32_t parent,
		     uint32_t pid, uint64_t time)
{
	struct flowtap_archive_task task = {
		.time = time,
		.event = event,
		.pid = pid,
		.tid = pid,
		.parent_pid = parent,
		.parent_tid = parent,
		.comm_size = 4,
		.comm = "fuzz",
	};

	flowtap_archive_write(writer, FLOWTAP_ARCHIVE_TASK, 0, time, &task, sizeof(task), NULL, 0);
}

static void put_records(struct flowtap_archive_writer *writer, uint32_t cpu, uint64_t time)
{
	struct {
		struct flowtap_record_sample sample;
		struct flowtap_entry entry[3];
	} record = {
		.sample = {
			.header = { FLOWTAP_RECORD_SAMPLE, 0, sizeof(record) },
			.pid = cpu,
			.tid = cpu,
			.nr = 3,
		},
		.entry = { { 0x1001, 0x1100, 5 }, { 0x2001, 0xffffffff80000100, 5 },
			   { 0xffffffff80002001, 0xffffffff80002007, 5 } },
	};

	for (int i = 0; i < 3; i++) {
		record.sample.time = time + 10 * (uint64_t)i;
		record.sample.sequence = (uint64_t)i;
		flowtap_archive_write(writer, FLOWTAP_ARCHIVE_RING, cpu, time, &record,
				      sizeof(record), &record, sizeof(record));
	}
}

/*
 * Bytes of an area in two blocks, with a hole between them, and records of more and less than that.
 */
static void put_aux(struct flowtap_archive_writer *writer, uint32_t cpu, uint64_t time)
{
	struct flowtap_record_aux record = {
		.header = { FLOWTAP_RECORD_AUX, 0, sizeof(record) },
		.tid = 1,
		.cpu = cpu,
	};
	uint8_t bytes[64] = { 0x70 };

	for (uint64_t i = 0; i < 6; i++) {
		record.time = record.since = time + i;
		record.offset = 40 * (i % 4);
		record.size = 30;
		record.sequence = i;
		if (i % 2 == 0)
			flowtap_archive_write(writer, FLOWTAP_ARCHIVE_AUX, cpu, time, &record.offset,
					      sizeof(record.offset), bytes, 10 + 13 * i);
		flowtap_archive_write(writer, FLOWTAP_ARCHIVE_RING, cpu, time, &record,
				      sizeof(record), NULL, 0);
	}
}

/* What follows the structure of a block: name, 0, padding, `size` bytes that may be a frame. */
static void put_named(struct flowtap_archive_writer *writer, uint32_t type, const void *head,
		      size_t head_size, const char *name, const void *bytes, size_t size)
{
	uint8_t rest[4096] = { 0 };
	size_t n = (head_size + strlen(name) + 8) / 8 * 8 - head_size;

	memcpy(rest, name, strlen(name));
	memcpy(rest + n, bytes, size);
	flowtap_archive_write(writer, type, 0, 0, head, head_size, rest, n + size);
}

/* One look at two pages, packed. */
static void put_kernel(struct flowtap_archive_writer *writer, const char *name, uint64_t start,
		       uint64_t time, uint32_t flags, uint8_t fill)
{
	static uint8_t page[2 * FLOWTAP_KERNEL_PAGE];
	struct flowtap_payload_codec stored = { 0 };
	struct flowtap_archive_kernel kernel = {
		.time = time,
		.until = time + 2,
		.start = start,
		.size = sizeof(page),
		.part_size = flags & FLOWTAP_KERNEL_GONE ? 0 : sizeof(page),
		.name_size = (uint32_t)strlen(name),
		.flags = flags,
	};

	for (size_t i = 0; i < sizeof(page); i += 7)
		page[i] = fill;
	if (flowtap_payload_pack(&stored, page, sizeof(page)))
		abort();
	kernel.compression = stored.compression;
	kernel.stored_size = kernel.part_size ? stored.size : 0;
	put_named(writer, FLOWTAP_ARCHIVE_KERNEL, &kernel, sizeof(kernel), name, stored.bytes,
		  kernel.stored_size);
	free(stored.buffer);
}

static void put_kernels(struct flowtap_archive_writer *writer)
{
	static const char lines[] = "ffffffff80002000 T first\nffffffff80003000 t second\n"
				    "ffffffff80000100 t in_module\t[one]\n";
	struct {
		struct flowtap_archive_symbols head;
		char text[sizeof(lines)];
	} symbols = { .head = { .size = sizeof(lines) - 1 } };

	memcpy(symbols.text, lines, sizeof(lines));
	flowtap_archive_write(writer, FLOWTAP_ARCHIVE_SYMBOLS, 0, 0, &symbols,
			      sizeof(symbols.head) + sizeof(lines) - 1, NULL, 0);
	put_kernel(writer, "kernel", 0xffffffff80002000, 1, 0, 1);
	put_kernel(writer, "kernel", 0xffffffff80002000, 3, 0, 2);
	put_kernel(writer, "one", 0xffffffff80000000, 2, FLOWTAP_KERNEL_NEW, 3);
	put_kernel(writer, "one", 0xffffffff80000000, 5, FLOWTAP_KERNEL_GONE, 3);
	put_kernel(writer, "two", 0xffffffff80000000, 4, FLOWTAP_KERNEL_NEW, 4);
}

static void put_file(struct flowtap_archive_writer *writer)
{
	uint8_t content[128] = "\177ELF";
	struct flowtap_archive_file file = {
		.size = sizeof(content),
		.part_size = sizeof(content) / 2,
		.stored_size = sizeof(content) / 2,
		.path_size = 6,
	};

	put_named(writer, FLOWTAP_ARCHIVE_FILE, &file, sizeof(file), "/bin/a", content, 64);
	file.offset = file.part_size;
	put_named(writer, FLOWTAP_ARCHIVE_FILE, &file, sizeof(file), "/bin/a", content, 64);
}

size_t flowtap_fuzz_seed(uint8_t *buffer, size_t capacity, unsigned int n)
{
	struct flowtap_archive_writer *writer;
	int fd;
	ssize_t size;

	if (n >= 4)
		return 0;
	fd = memfd_create("seed", MFD_CLOEXEC);
	flowtap_archive_create(fd, &writer);
	put_mapping(writer, FLOWTAP_ARCHIVE_BYTES, 0, 0, 0, 64, "[vdso]");
	for (uint32_t pid = 1; pid <= 2 + n; pid++) {
		put_mapping(writer, FLOWTAP_ARCHIVE_MAPPING, pid, 0, 0x1000, 0x3000, "/bin/a");
		put_mapping(writer, FLOWTAP_ARCHIVE_MAPPING, pid, 3, 0x2000, 0x1000, "[vdso]");
		put_mapping(writer, FLOWTAP_ARCHIVE_BYTES, pid, 4, 0x3000, 0x180, "//anon");
		put_mapping(writer, FLOWTAP_ARCHIVE_MAPPING, pid, 5, 0x2800, 0x400, "");
		put_task(writer, FLOWTAP_TASK_FORK, pid, pid + 1, 6);
	}
	put_kernels(writer);
	put_file(writer);
	put_task(writer, FLOWTAP_TASK_EXEC, 0, 1, 12);
	put_task(writer, FLOWTAP_TASK_EXIT, 0, 2, 14);
	for (uint32_t cpu = 1; cpu <= 1 + n; cpu++)
		put_records(writer, cpu, 2 + cpu);
	for (uint32_t cpu = 1; cpu <= 1 + n; cpu++)
		put_aux(writer, cpu, 5);
	flowtap_archive_write(writer, FLOWTAP_ARCHIVE_END, 0, 0, NULL, 0, NULL, 0);
	flowtap_archive_flush(writer);
	flowtap_archive_writer_free(writer);
	size = pread(fd, buffer, capacity, 0);
	close(fd);
	return size > 0 ? (size_t)size : 0;
}
