// SPDX-License-Identifier: GPL-2.0-only
/* flowtap dump of a perf.data: what it was recorded with, its records, its ranges of trace. */
#include "dump/dump.h"

#include "common/tool.h"

#include <errno.h>
#include <flowtap/perfdata.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <string.h>

/* perf's own records. */
enum {
	AUXTRACE = 71,
	TIME_CONV = 79,
};

struct dump {
	const char *path;
	struct dump_progress *progress;
	uint64_t damages;
};

static uint32_t u32(const struct flowtap_perfdata_record *record, size_t at)
{
	uint32_t value = 0;

	if (at + sizeof(value) <= record->size)
		memcpy(&value, record->bytes + at, sizeof(value));
	return value;
}

static uint64_t u64(const struct flowtap_perfdata_record *record, size_t at)
{
	uint64_t value = 0;

	if (at + sizeof(value) <= record->size)
		memcpy(&value, record->bytes + at, sizeof(value));
	return value;
}

static void print_text(const struct flowtap_perfdata_record *record, size_t at)
{
	const char *text = (const char *)record->bytes + at;

	putchar(' ');
	if (at < record->size)
		print_plain(stdout, text, strnlen(text, record->size - at));
}

static void print_mapping(const struct flowtap_perfdata_record *record)
{
	bool second = record->type == PERF_RECORD_MMAP2;

	printf(" pid=%" PRIu32 " tid=%" PRIu32 " start=0x%" PRIx64 " size=0x%" PRIx64
	       " offset=0x%" PRIx64, u32(record, 8), u32(record, 12), u64(record, 16),
	       u64(record, 24), u64(record, 32));
	if (second)
		printf(" protection=0x%" PRIx32, u32(record, 64));
	if (second && record->misc & PERF_RECORD_MISC_MMAP_BUILD_ID && record->size >= 64) {
		printf(" build_id=");
		for (size_t i = 0; i < record->bytes[40] && i < FLOWTAP_BUILD_ID_MAX; i++)
			printf("%02x", record->bytes[44 + i]);
	}
	print_text(record, second ? 72 : 40);
}

static void print_flags(uint64_t flags)
{
	static const struct {
		uint32_t bit;
		const char *name;
	} names[] = {
		{ FLOWTAP_PERFDATA_TRUNCATED, "truncated" },
		{ FLOWTAP_PERFDATA_OVERWRITE, "overwrite" },
		{ FLOWTAP_PERFDATA_PARTIAL, "partial" },
		{ FLOWTAP_PERFDATA_COLLISION, "collision" },
		{ FLOWTAP_PERFDATA_RAW, "raw" },
	};

	printf(" flags=0x%" PRIx64, flags);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (flags & names[i].bit)
			printf(",%s", names[i].name);
}

static void print_fields(const struct flowtap_perfdata_record *record)
{
	switch (record->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		print_mapping(record);
		break;
	case PERF_RECORD_COMM:
		printf(" pid=%" PRIu32 " tid=%" PRIu32 "%s", u32(record, 8), u32(record, 12),
		       record->misc & PERF_RECORD_MISC_COMM_EXEC ? " exec" : "");
		print_text(record, 16);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		printf(" pid=%" PRIu32 " tid=%" PRIu32 " parent=%" PRIu32, u32(record, 8),
		       u32(record, 16), u32(record, 12));
		break;
	case PERF_RECORD_LOST:
		printf(" records=%" PRIu64, u64(record, 16));
		break;
	case PERF_RECORD_AUX:
		printf(" offset=0x%" PRIx64 " size=%" PRIu64, u64(record, 8), u64(record, 16));
		print_flags(u64(record, 24));
		break;
	case PERF_RECORD_ITRACE_START:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		printf(" pid=%" PRIu32 " tid=%" PRIu32 "%s", u32(record, 8), u32(record, 12),
		       record->misc & PERF_RECORD_MISC_SWITCH_OUT ? " out" : "");
		break;
	case PERF_RECORD_AUX_OUTPUT_HW_ID:
		printf(" hw_id=0x%" PRIx64, u64(record, 8));
		break;
	case AUXTRACE:
		printf(" offset=0x%" PRIx64 " size=%" PRIu64 " buffer_cpu=%" PRId32
		       " buffer_tid=%" PRId32, u64(record, 16), record->payload,
		       (int32_t)u32(record, 40), (int32_t)u32(record, 36));
		break;
	case TIME_CONV:
		printf(" shift=%" PRIu64 " mult=%" PRIu64 " zero=%" PRIu64, u64(record, 8),
		       u64(record, 16), u64(record, 24));
		break;
	}
}

static int print_record(void *argument, const struct flowtap_perfdata_record *record)
{
	const char *name = flowtap_perfdata_record_name(record->type);
	const struct dump *dump = argument;

	dump_progress_show(dump->progress, record->offset);
	printf("0x%08" PRIx64 " ", record->offset);
	if (name)
		fputs(name, stdout);
	else
		printf("type_%" PRIu32, record->type);
	if (record->time)
		dump_time("time", record->time);
	if (record->cpu != FLOWTAP_PERFDATA_NONE)
		printf(" on_cpu=%" PRIu32, record->cpu);
	print_fields(record);
	putchar('\n');
	return ferror(stdout) ? -EIO : 0;
}

static void print_line(const char *name, const char *text)
{
	if (!*text)
		return;
	printf("%s ", name);
	print_plain(stdout, text, strlen(text));
	putchar('\n');
}

static void print_info(const struct flowtap_perfdata_info *info)
{
	print_line("host", info->hostname);
	print_line("release", info->release);
	print_line("arch", info->arch);
	print_line("perf", info->version);
	print_line("command", info->command);
	printf("metadata version=%" PRIu32 " pmu_type=%" PRIu32 "%s%s\n", info->metadata,
	       info->pmu_type, info->snapshot ? " snapshot" : "", info->pipe ? " pipe" : "");
	for (size_t i = 0; i < info->n_cpus; i++) {
		const struct flowtap_perfdata_cpu *cpu = &info->cpus[i];
		const struct flowtap_ete_config *config = &cpu->config;

		printf("cpu %" PRIu32 " %s trace_id=0x%x configr=0x%x traceidr=0x%x devarch=0x%x "
		       "idr0=0x%x idr1=0x%x idr2=0x%x idr8=0x%x authstatus=0x%x ts_source=%" PRId64
		       "\n", cpu->cpu, cpu->ete ? "ETE" : "ETMv4", cpu->trace_id, config->configr,
		       config->traceidr, config->devarch, config->idr0, config->idr1, config->idr2,
		       config->idr8, cpu->authstatus, cpu->ts_source);
	}
}

static void print_ranges(const struct flowtap_perfdata *perfdata)
{
	const struct flowtap_perfdata_range *list;
	size_t n;

	list = flowtap_perfdata_ranges(perfdata, &n);
	for (size_t i = 0; i < n; i++) {
		printf("region at 0x%" PRIx64 " size=%" PRIu64, list[i].offset, list[i].size);
		if (list[i].time)
			dump_time("time", list[i].time);
		if (list[i].cpu != FLOWTAP_PERFDATA_NONE)
			printf(" cpu=%" PRIu32, list[i].cpu);
		if (list[i].tid != FLOWTAP_PERFDATA_NONE)
			printf(" tid=%" PRIu32, list[i].tid);
		if (list[i].missing)
			printf(" missing=%" PRIu64, list[i].missing);
		if (list[i].unnamed)
			printf(" unnamed=%" PRIu64, list[i].unnamed);
		print_flags(list[i].flags);
		puts(list[i].continues ? " continues" : "");
	}
}

static void on_damage(void *argument, uint64_t offset, const char *reason)
{
	struct dump *dump = argument;

	dump->damages++;
	dump_progress_hide(dump->progress);
	complain("'%s': offset %" PRIu64 ": %s", dump->path, offset, reason);
}

int dump_perfdata(int fd, const char *path, bool contents, struct dump_progress *progress)
{
	struct dump dump = { .path = path, .progress = progress };
	struct flowtap_perfdata *perfdata;
	const char *reason = NULL;
	int error = flowtap_perfdata_open(fd, on_damage, &dump, &perfdata, &reason);

	if (error) {
		complain("'%s': %s", path, reason ? reason : strerror(-error));
		return STATUS_ERROR;
	}
	print_info(flowtap_perfdata_info(perfdata));
	if (contents)
		error = flowtap_perfdata_walk(perfdata, print_record, &dump);
	dump_progress_end(progress);
	print_ranges(perfdata);
	flowtap_perfdata_close(perfdata);
	/* That of standard output is told at the end. */
	if (error && !ferror(stdout))
		complain("'%s': %s", path, strerror(-error));
	return error ? STATUS_ERROR : dump.damages ? STATUS_DAMAGED : STATUS_OK;
}
