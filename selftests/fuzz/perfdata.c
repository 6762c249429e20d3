// SPDX-License-Identifier: GPL-2.0-only
/* Any bytes at all can be opened as a perf.data, walked, and decoded. */
#include <flowtap/arm.h>
#include <flowtap/perfdata.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/crafted.h"
#include "support/perffile.h"
#include "support/perffile_pack.h"

#define AT 0x400000ULL

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t flowtap_fuzz_seed(uint8_t *buffer, size_t capacity, unsigned int n);

static uint64_t touched;
static uint64_t flow;		/* what was decoded, in a word */

static int on_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
		    uint64_t target)
{
	(void)sink;
	touched += block->bytes[block->size - 1] + taken + target;
	flow = (flow + block->address + taken) * 0x9e3779b97f4a7c15;
	return 0;
}

static int on_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	(void)sink;
	flow = (flow + (uint64_t)element->kind + 1) * 0x9e3779b97f4a7c15;
	if (element->kind == FLOWTAP_ELEMENT_GAP && element->gap.detail)
		touched += strlen(element->gap.detail);
	return 0;
}

static void on_damage(void *argument, uint64_t offset, const char *reason)
{
	(void)argument;
	touched += offset + strlen(reason);
}

static int on_record(void *argument, const struct flowtap_perfdata_record *record)
{
	(void)argument;
	for (size_t i = 0; i < record->size; i++)
		touched += record->bytes[i];
	if (flowtap_perfdata_record_name(record->type))
		touched++;
	return 0;
}

static void decode(const struct flowtap_perfdata *perfdata, struct flowtap_address_map *map)
{
	struct flowtap_sink sink = { .block = on_block, .element = on_element };
	struct flowtap_perfdata_options options = {
		.map = map,
		.sink = &sink,
		.blocks = flowtap_blocks_new(flowtap_arm_block, 1 << 20),
		.cpu = FLOWTAP_PERFDATA_NONE,
	};
	struct flowtap_perfdata_decoder *alone, *survey, *decoder;
	uint64_t before;
	int result;

	if (flowtap_perfdata_decoder_new(perfdata, &options, &survey) ||
	    flowtap_perfdata_decoder_new(perfdata, &options, &alone))
		abort();
	flow = 0;
	result = flowtap_perfdata_decode(alone);
	before = flow;
	flow = 0;
	if (!flowtap_perfdata_survey(survey))
		options.survey = survey;
	if (flowtap_perfdata_decoder_new(perfdata, &options, &decoder))
		abort();
	/* The same, whoever looked for what frames have. */
	if (flowtap_perfdata_decode(decoder) != result || flow != before ||
	    flowtap_perfdata_bad_frames(decoder) != flowtap_perfdata_bad_frames(alone))
		abort();
	flowtap_perfdata_decoder_free(decoder);
	flowtap_perfdata_decoder_free(alone);
	flowtap_perfdata_decoder_free(survey);
	flowtap_blocks_free(options.blocks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* nop, b 10, nop, nop, cbz x0 00, ret: of whatever is called [vdso]. */
	static const uint32_t code[] = {
		0xd503201f, 0x14000003, 0xd503201f, 0xd503201f, 0xb4ffff80, 0xd65f03c0,
	};
	const struct flowtap_perfdata_range *ranges;
	struct flowtap_perfdata *perfdata;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct flowtap_address_map *map = flowtap_address_map_new("/proc/self/nowhere");
	const char *reason = NULL, *kernel;
	size_t n;

	if (fd < 0 || !map || write(fd, data, size) != (ssize_t)size)
		abort();
	if (flowtap_address_map_add_shared(map, "[vdso]", code, sizeof(code)))
		abort();
	if (flowtap_perfdata_open(fd, on_damage, NULL, &perfdata, &reason)) {
		touched += strlen(reason);
	} else {
		ranges = flowtap_perfdata_ranges(perfdata, &n);
		/* All that a range has is in the file. */
		for (size_t i = 0; i < n; i++)
			if (ranges[i].size && (ranges[i].offset > size ||
					       ranges[i].size > size - ranges[i].offset))
				abort();
		flowtap_perfdata_walk(perfdata, on_record, NULL);
		flowtap_perfdata_load(perfdata, "/proc/self/nowhere", "/proc/self/nowhere", map,
				      &kernel);
		decode(perfdata, map);
	}
	flowtap_perfdata_close(perfdata);
	flowtap_address_map_free(map);
	close(fd);
	return 0;
}

/* Seeds: a raw buffer, frames of two CPUs, a thread's buffer by a pipe. */
size_t flowtap_fuzz_seed(uint8_t *buffer, size_t capacity, unsigned int n)
{
	/* As the first ones: 3 packed, 4 of an ETMv4. */
	const unsigned int kind = n % 3;
	struct perffile_unit units[2] = {
		{ .magic = PERFFILE_ETE, .configr = 0x841, .traceidr = 0x10, .idr0 = 0x28000ea1,
		  .idr1 = 0x4100fff3, .idr2 = 0x20001088, .devarch = 0x47705a13, .ts_source = 1 },
	};
	struct stream stream = { .size = 0 }, framed = { .size = 0 };
	const struct stream *trace = kind == 1 ? &framed : &stream;
	uint32_t cpu = kind == 2 ? FLOWTAP_PERFDATA_NONE : 0;
	struct perffile file;
	size_t size;

	if (n >= 5)
		return 0;
	if (kind == 1 && n > 3)
		units[0].magic = PERFFILE_ETMV4;
	units[1] = units[0];
	units[1].cpu = 1;
	units[1].traceidr = 0x12;
	start(&stream);
	timestamp(&stream, 1000);
	at(&stream, AT, 0, kind == 2 ? 0 : CONTEXTID, 0, 11);
	atoms(&stream, "EEEENE");
	to(&stream, AT);
	atoms(&stream, "E");
	framed.size = frames(framed.bytes, (struct source[]) {
		{ stream.bytes, stream.size, 0x10, 0 }, { stream.bytes, stream.size, 0x12, 0 },
	}, 2);
	perffile_start(&file, kind == 2, PERFFILE_ANY | PERF_SAMPLE_IP, PERFFILE_ANY);
	perffile_info(&file, kind == 0 ? 2 : 1, false, 2, units);
	perffile_values(&file, 79, 0, 3, (uint64_t[]) { 0, 1, 0 });
	perffile_values(&file, 21, 0, 1, (uint64_t[]) { 0x10 });
	file.tid = 11;
	perffile_comm(&file, 10, 11, false, "fuzz");
	perffile_mmap2(&file, 10, 11, AT, 0x1000, 0, PROT_EXEC, NULL, "[vdso]");
	file.time = 500;
	perffile_task(&file, PERF_RECORD_FORK, 0, 12, 10, 12, 11);
	perffile_values(&file, PERF_RECORD_SWITCH_CPU_WIDE, PERF_RECORD_MISC_SWITCH_OUT, 1,
			(uint64_t[]) { 11ULL << 32 | 10 });
	for (int i = 0; i < 2; i++) {
		file.time = 5000 + i;
		perffile_aux(&file, i * trace->size, trace->size, kind == 1 ? i : 0x100 + i);
		perffile_auxtrace(&file, i * trace->size, 0, kind == 2 ? 11 : ~0U, cpu, trace->bytes,
				  trace->size);
	}
	perffile_comm(&file, 10, 11, true, "exec");
	perffile_string(&file, 4, "6.12.1");
	if (n == 3)
		perffile_pack(&file, false, 50);
	perffile_finish(&file);
	size = file.size;
	if (size > capacity)
		abort();
	memcpy(buffer, file.bytes, size);
	free(file.bytes);
	return size;
}
