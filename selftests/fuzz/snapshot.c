// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any text at all can stand in the .ini files of a snapshot directory: it is refused, or its
 * sources and memory can be used.
 *
 * Input: snapshot.ini, trace.ini, cpu_0.ini, ETE_0.ini, the buffer and the dump, each ended by a
 * form feed.
 */
#include <fcntl.h>
#include <flowtap/snapshot.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t flowtap_fuzz_seed(uint8_t *buffer, size_t capacity, unsigned int n);

static const char *const files[] = {
	"snapshot.ini", "trace.ini", "cpu_0.ini", "ETE_0.ini", "buffer.bin", "dump.bin",
};

static char directory[64];
static uint64_t touched;

static void check(bool condition)
{
	if (!condition)
		abort();
}

static void leave(void)
{
	char path[128];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, files[i]);
		unlink(path);
	}
	rmdir(directory);
}

static void set_up(void)
{
	if (*directory)
		return;
	strcpy(directory, "/tmp/fuzz-snapshot-XXXXXX");
	check(mkdtemp(directory) != NULL);
	atexit(leave);
}

static void put(const char *name, const uint8_t *bytes, size_t size)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	check(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
	close(fd);
}

static void note(void *argument, const char *text)
{
	(void)argument;
	touched += strlen(text);
}

static void use(const struct flowtap_snapshot *snapshot,
		const struct flowtap_snapshot_source *source)
{
	static const uint64_t addresses[] = { 0, 0x1000, 0x1004, 0xffffffff80000000, UINT64_MAX };
	struct flowtap_memory *memory;
	const struct flowtap_code *code;
	int fd = flowtap_snapshot_open_buffer(snapshot, source->buffer);

	touched += strlen(source->name) + strlen(source->type) + strlen(source->core) +
		   strlen(source->core_type);
	if (fd >= 0)
		close(fd);
	if (flowtap_snapshot_memory(snapshot, source, &memory))
		return;
	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		for (uint8_t mode = 0; mode < 16; mode++) {
			struct flowtap_context context = {
				.isa = FLOWTAP_ISA_A64, .mode = mode & 3, .security = mode >> 2,
			};

			code = flowtap_memory_find(memory, &context, addresses[i]);
			if (!code)
				continue;
			check(addresses[i] >= code->start && addresses[i] < code->end);
			check(code->bytes || code->missing);
			if (code->bytes)
				touched += code->bytes[0] + code->bytes[code->end - code->start - 1];
		}
	}
	flowtap_memory_free(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct flowtap_snapshot_options options = { .note = note };
	const struct flowtap_snapshot_source *sources;
	struct flowtap_snapshot *snapshot;
	size_t n;

	set_up();
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		const uint8_t *end = memchr(data, '\f', size);
		size_t length = end ? (size_t)(end - data) : size;

		put(files[i], data, length);
		data += length + !!end;
		size -= length + !!end;
	}
	if (flowtap_snapshot_open(directory, &options, &snapshot))
		return 0;
	sources = flowtap_snapshot_sources(snapshot, &n);
	check(n > 0);
	for (size_t i = 0; i < n; i++)
		use(snapshot, &sources[i]);
	flowtap_snapshot_close(snapshot);
	return 0;
}

size_t flowtap_fuzz_seed(uint8_t *buffer, size_t capacity, unsigned int n)
{
	static const struct {
		const char *format, *core, *type, *devarch;
	} seeds[] = {
		{ "source_data", "Cortex-A53", "ETE", "TRCDEVARCH=0x47705a13\n" },
		{ "coresight", "Cortex-A53", "ETE", "TRCDEVARCH=0x47705a13\n" },
		{ "dstream_coresight", "Cortex-A53", "ETE", "TRCDEVARCH=0x47705a13\n" },
		{ "source_data", "Cortex-M55", "ETM4.5", "" },
		{ "coresight", "Cortex-A53", "ETM4", "TRCDEVARCH=0x47724a13\nTRCIDR1=0x4100f424\n" },
	};
	int size;

	if (n >= sizeof(seeds) / sizeof(seeds[0]))
		return 0;
	size = snprintf((char *)buffer, capacity,
			"[snapshot]\nversion=1.0\n[device_list]\ndevice0=cpu_0.ini\n"
			"device1=ETE_0.ini\n[trace]\nmetadata=trace.ini\n\f"
			"# the trace\n[trace_buffers]\nbuffers=buffer0,\n[buffer0]\nname=ETB_0\n"
			"file=buffer.bin\nformat=%s\n[source_buffers]\nETE_0=ETB_0\n"
			"[core_trace_sources]\ncpu_0=ETE_0\n\f"
			"[device]\nname=cpu_0\nclass=core\ntype=%s\n[regs]\r\n"
			"PC(size:64)=0x1000\n[dump1]\nfile=dump.bin\naddress=0x1000\nlength=8\n"
			"offset=0x4\n[dump2]\nfile=dump.bin\naddress=0xffffffff80000000\nspace=EL1N\n\f"
			"[device]\nname=ETE_0\nclass=trace_source\ntype=%s\n[regs]\n"
			"TRCCONFIGR(0x4)=0x%x\nTRCTRACEIDR=0x1%u\n%s"
			"TRCIDR0=0x2801cea1\nTRCIDR2=0xd0001088\nTRCIDR8=0x0\n\f"
			"trace\f0123456789abcdef", seeds[n].format, seeds[n].core, seeds[n].type,
			n << 6, n, seeds[n].devarch);
	return size > 0 && (size_t)size < capacity ? (size_t)size : 0;
}
