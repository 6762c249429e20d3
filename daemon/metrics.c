// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prints the metrics from tables of families, each with its unit, type and position in the
 * counters.
 */
#include "metrics.h"

#include <errno.h>
#include <flowtap/flow.h>
#include <inttypes.h>

#define GIGA 1000000000ULL

enum type { COUNTER, GAUGE };

/* Of all CPUs together. */
struct family {
	const char *name;
	const char *unit;		/* the name's end as well; NULL none */
	const char *help;
	enum type type;
	uint64_t scale;			/* the value is in 1/scale of the unit */
	size_t offset;			/* in struct metrics, or in struct metrics_cpu */
};

#define OF(member) offsetof(struct metrics, member)
#define OF_CPU(member) offsetof(struct metrics_cpu, member)

static const struct family families[] = {
	{ "flowtap_share_ratio", "ratio", "What is recorded of what is configured.", GAUGE,
	  GOVERNOR_WHOLE, OF(share) },
	{ "flowtap_duty_ratio", "ratio", "The part of the time that is recorded.", GAUGE, GOVERNOR_WHOLE,
	  OF(duty) },
	{ "flowtap_own_cpu_seconds", "seconds", "CPU time that recording took of flowtapd.", COUNTER,
	  GIGA, OF(own_cpu) },
	{ "flowtap_after_cpu_seconds", "seconds",
	  "CPU time, at idle priority, for packing, decoding, mending, images.", COUNTER, GIGA,
	  OF(after_cpu) },
	{ "flowtap_resident_bytes", "bytes", "Memory that flowtapd has, without the rings.", GAUGE, 1,
	  OF(resident) },
	{ "flowtap_full_seconds", "seconds", "Time in which no segment could be written.", COUNTER, GIGA,
	  OF(full) },
	{ "flowtap_disk_slow_seconds", "seconds",
	  "Time that the disk kept flowtapd waiting, a second and more at once.", COUNTER, GIGA,
	  OF(disk_slow) },
	{ "flowtap_segments", NULL, "Segments finished.", COUNTER, 1, OF(segments) },
	{ "flowtap_segments_unfinished", NULL,
	  "Segments that ended, and that the disk has not taken yet.", GAUGE, 1,
	  OF(segments_unfinished) },
	{ "flowtap_segments_deleted", NULL, "Segments deleted to make room.", COUNTER, 1,
	  OF(segments_deleted) },
	{ "flowtap_segments_bytes", "bytes", "What all segments take on the disk.", GAUGE, 1,
	  OF(segments_bytes) },
	{ "flowtap_snapshots", NULL, "Snapshots saved.", COUNTER, 1, OF(snapshots) },
	{ "flowtap_packed", NULL, "Segments packed.", COUNTER, 1, OF(packed) },
	{ "flowtap_decoded", NULL, "Segments decoded.", COUNTER, 1, OF(decoded) },
	{ "flowtap_decode_failed", NULL, "Segments of which not all, or nothing, could be decoded.",
	  COUNTER, 1, OF(decode_failed) },
	{ "flowtap_decode_skipped", NULL, "Segments not decoded, as that could not keep up.", COUNTER, 1,
	  OF(decode_skipped) },
	{ "flowtap_decode_waiting", NULL, "Segments that wait to be decoded.", GAUGE, 1,
	  OF(decode_waiting) },
	{ "flowtap_decode_lag_seconds", "seconds", "Age of the oldest segment that waits.", GAUGE,
	  GIGA, OF(decode_lag) },
	{ "flowtap_images_saved", NULL, "Files saved by their build-id.", COUNTER, 1,
	  OF(images_saved) },
	{ "flowtap_images_missing", NULL, "Files that could not be saved.", COUNTER, 1,
	  OF(images_missing) },
	{ "flowtap_images_waiting", NULL, "Files that wait to be saved.", GAUGE, 1, OF(images_waiting) },
	{ "flowtap_images_bytes", "bytes", "What saved files take on the disk.", GAUGE, 1,
	  OF(images_bytes) },
	{ "flowtap_sideband_lost", NULL, "Mappings and tasks that are not known.", COUNTER, 1,
	  OF(sideband_lost) },
};

static const struct family cpu_families[] = {
	{ "flowtap_recorded_bytes", "bytes", "Records and trace in segments.", COUNTER, 1,
	  OF_CPU(bytes) },
	{ "flowtap_records", NULL, "Records in segments.", COUNTER, 1, OF_CPU(records) },
	{ "flowtap_ring_size_bytes", "bytes", "Room of the ring.", GAUGE, 1, OF_CPU(ring_size) },
	{ "flowtap_ring_high_bytes", "bytes", "Most that waited in the ring at once.", GAUGE, 1,
	  OF_CPU(ring_high) },
};

/* By CPU and cause; `offset` is of an array. */
static const struct family loss_families[] = {
	{ "flowtap_lost_bytes", "bytes", "What is missing, as far as its size is known.", COUNTER, 1,
	  OF_CPU(lost_bytes) },
	{ "flowtap_losses", NULL, "How often something is missing.", COUNTER, 1, OF_CPU(losses) },
};

#define N(array) (sizeof(array) / sizeof((array)[0]))

static void describe(FILE *file, const struct family *family)
{
	fprintf(file, "# TYPE %s %s\n", family->name, family->type == COUNTER ? "counter" : "gauge");
	if (family->unit)
		fprintf(file, "# UNIT %s %s\n", family->name, family->unit);
	fprintf(file, "# HELP %s %s\n", family->name, family->help);
}

static void put(FILE *file, const struct family *family, const char *labels, uint64_t value)
{
	fprintf(file, "%s%s%s ", family->name, family->type == COUNTER ? "_total" : "", labels);
	if (family->scale == 1)
		fprintf(file, "%" PRIu64 "\n", value);
	else
		fprintf(file, "%" PRIu64 ".%0*" PRIu64 "\n", value / family->scale,
			family->scale == GIGA ? 9 : 6, value % family->scale);
}

static uint64_t value_of(const void *base, const struct family *family)
{
	return *(const uint64_t *)((const char *)base + family->offset);
}

/* In label values a backslash, a quote and a line end are escaped. */
static void write_escaped(FILE *file, const char *text)
{
	for (; *text; text++) {
		if (*text == '\n')
			fputs("\\n", file);
		else if (*text == '\\' || *text == '"')
			fprintf(file, "\\%c", *text);
		else
			fputc(*text, file);
	}
}

static void write_info(FILE *file, const struct metrics *metrics)
{
	fputs("# TYPE flowtap_build info\n# HELP flowtap_build What runs, and what it records from.\n"
	      "flowtap_build_info{version=\"", file);
	write_escaped(file, metrics->version);
	fputs("\",source=\"", file);
	write_escaped(file, metrics->source);
	fputs("\"} 1\n", file);
}

static void write_moves(FILE *file, const struct metrics *metrics)
{
	static const struct family family = {
		"flowtap_governor_moves", NULL, "How often the governor changed the share, and why.",
		COUNTER, 1, 0,
	};
	char labels[64];

	describe(file, &family);
	for (unsigned int cause = GOVERNOR_STAYS + 1; cause < GOVERNOR_CAUSES; cause++) {
		snprintf(labels, sizeof(labels), "{cause=\"%s\"}", governor_cause_name(cause));
		put(file, &family, labels, metrics->moves[cause]);
	}
}

static void write_losses(FILE *file, const struct metrics *metrics, const struct family *family)
{
	char labels[96];

	describe(file, family);
	for (size_t i = 0; i < metrics->n_cpus; i++) {
		const struct metrics_cpu *cpu = &metrics->cpus[i];
		const uint64_t *values = (const uint64_t *)((const char *)cpu + family->offset);

		/* One that never was is not there: but a loss that was is there for ever. */
		for (unsigned int cause = 0; cause < FLOWTAP_CAUSE_MAX; cause++) {
			if (!cpu->losses[cause] && !cpu->lost_bytes[cause])
				continue;
			snprintf(labels, sizeof(labels), "{cpu=\"%u\",cause=\"%s\"}", cpu->cpu,
				 flowtap_gap_name(cause));
			put(file, family, labels, values[cause]);
		}
	}
}

int metrics_write(FILE *file, const struct metrics *metrics)
{
	char labels[32];

	write_info(file, metrics);
	for (size_t i = 0; i < N(families); i++) {
		describe(file, &families[i]);
		put(file, &families[i], "", value_of(metrics, &families[i]));
	}
	write_moves(file, metrics);
	for (size_t i = 0; i < N(cpu_families); i++) {
		describe(file, &cpu_families[i]);
		for (size_t k = 0; k < metrics->n_cpus; k++) {
			snprintf(labels, sizeof(labels), "{cpu=\"%u\"}", metrics->cpus[k].cpu);
			put(file, &cpu_families[i], labels,
			    value_of(&metrics->cpus[k], &cpu_families[i]));
		}
	}
	for (size_t i = 0; i < N(loss_families); i++)
		write_losses(file, metrics, &loss_families[i]);
	fputs("# EOF\n", file);
	return ferror(file) ? -EIO : 0;
}
