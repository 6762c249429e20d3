// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* perf.data: what AUXTRACE_INFO and AUX_OUTPUT_HW_ID say of the trace units (perf's cs-etm.h). */
#include "formats/perfdata/internal.h"

#include <errno.h>
#include <string.h>

#define MAGIC_ETMV3 0x3030303030303030ULL
#define MAGIC_ETMV4 0x4040404040404040ULL
#define MAGIC_ETE 0x5050505050505050ULL
#define VERSION_MAX 2
#define CPUS_MAX 65536
#define HW_IDS_MAX 4096
/* Trace IDs 0x01 to 0x6f are trace sources' (IHI 0029, D4.2.4). */
#define TRACE_ID_MAX 0x6f
/* TRCTRACEIDR of metadata version 2: HW_ID records have the ID, and it is this where none do. */
#define TRACE_ID_UNUSED 0x80000000U

/* Before version 1 a block has no count of its parameters. */
#define PARAMETERS_ETMV3_0 4
#define PARAMETERS_ETMV4_0 7

/* The parameters of an ETMv4 block; an ETE's has TRCDEVARCH before the last. */
enum {
	PARAMETER_CONFIGR,
	PARAMETER_TRACEIDR,
	PARAMETER_IDR0,
	PARAMETER_IDR1,
	PARAMETER_IDR2,
	PARAMETER_IDR8,
	PARAMETER_AUTHSTATUS,
	PARAMETER_DEVARCH,
};

/* Words of one block: at what is left of them. */
struct block {
	const uint8_t *at;
	size_t words;
	uint64_t version;
};

static uint64_t word(const struct block *block, size_t i)
{
	return perfdata_u64(block->at + 8 * i);
}

static uint8_t trace_id_of(uint64_t traceidr)
{
	uint8_t id = traceidr & 0x7f;

	return id <= TRACE_ID_MAX ? id : 0;
}

static int parse_unit(struct flowtap_perfdata *perfdata, const struct block *block, bool ete,
		      size_t parameters, const uint8_t *at)
{
	size_t source = ete ? PARAMETER_DEVARCH + 1 : PARAMETER_DEVARCH;
	uint64_t value[PARAMETER_DEVARCH + 2] = { 0 };
	uint32_t cpu = (uint32_t)word(block, 1);
	struct flowtap_perfdata_cpu unit;

	for (size_t i = 0; i < parameters && i <= source; i++)
		value[i] = perfdata_u64(at + 8 * i);
	if (flowtap_perfdata_find_cpu(perfdata, cpu))
		return -EINVAL;
	unit = (struct flowtap_perfdata_cpu) {
		.cpu = cpu,
		.ete = ete,
		.trace_id = trace_id_of(value[PARAMETER_TRACEIDR]),
		.config = {
			.configr = (uint32_t)value[PARAMETER_CONFIGR],
			.traceidr = (uint32_t)value[PARAMETER_TRACEIDR],
			.devarch = ete ? (uint32_t)value[PARAMETER_DEVARCH] :
					 FLOWTAP_ETM4_DEVARCH,
			.idr0 = (uint32_t)value[PARAMETER_IDR0],
			.idr1 = (uint32_t)value[PARAMETER_IDR1],
			.idr2 = (uint32_t)value[PARAMETER_IDR2],
			.idr8 = (uint32_t)value[PARAMETER_IDR8],
		},
		.authstatus = (uint32_t)value[PARAMETER_AUTHSTATUS],
		.ts_source = parameters > source ? (int64_t)value[source] : -1,
	};
	return PERFDATA_ADD(&perfdata->cpus, unit);
}

/* One block: magic, CPU, from version 1 on how many parameters, then those. */
static int parse_block(struct flowtap_perfdata *perfdata, struct block *block)
{
	size_t common = block->version ? 3 : 2, parameters;
	uint64_t magic;

	if (block->words < common)
		return -EINVAL;
	magic = word(block, 0);
	if (block->version)
		parameters = word(block, 2) < block->words ? (size_t)word(block, 2) : block->words;
	else if (magic == MAGIC_ETMV4)
		parameters = PARAMETERS_ETMV4_0;
	else
		parameters = PARAMETERS_ETMV3_0;
	if ((magic != MAGIC_ETE && magic != MAGIC_ETMV4 && magic != MAGIC_ETMV3) ||
	    parameters > block->words - common || word(block, 1) >= CPUS_MAX)
		return -EINVAL;
	/* What has no TRCIDR8 cannot be decoded; an ETMv3 or PTM not at all. */
	if (magic != MAGIC_ETMV3 && parameters > PARAMETER_IDR8) {
		int err = parse_unit(perfdata, block, magic == MAGIC_ETE, parameters,
				     block->at + 8 * common);

		if (err)
			return err;
	}
	perfdata->info.n_etmv3 += magic == MAGIC_ETMV3;
	block->at += 8 * (common + parameters);
	block->words -= common + parameters;
	return 0;
}

int flowtap_perfdata_metadata(struct flowtap_perfdata *perfdata, const uint8_t *bytes, size_t size)
{
	struct block block = { .at = bytes + 24, .words = size / 8 };
	uint32_t n;
	int err = 0;

	if (block.words < 3 || perfdata->has_trace)
		return -EINVAL;
	block.words -= 3;
	block.version = perfdata_u64(bytes);
	perfdata->newer = block.version > VERSION_MAX;
	if (perfdata->newer)
		return 0;
	perfdata->has_trace = true;
	perfdata->info.metadata = (uint32_t)block.version;
	perfdata->info.pmu_type = perfdata_u32(bytes + 12);
	perfdata->info.snapshot = perfdata_u64(bytes + 16);
	n = perfdata_u32(bytes + 8);
	for (uint32_t i = 0; !err && i < n; i++)
		err = parse_block(perfdata, &block);
	return err;
}

static const struct perfdata_hw_id *hw_id_of(const struct flowtap_perfdata *perfdata, uint32_t cpu)
{
	const uint64_t key = cpu;
	struct flowtap_hash_table_walk walk = flowtap_hash_table_walk(&perfdata->hw_by_cpu,
								      flowtap_hash_words(&key, 1));
	uint32_t index;

	while (flowtap_hash_table_next(&walk, &index))
		if (perfdata->hw_ids.list[index].cpu == cpu)
			return &perfdata->hw_ids.list[index];
	return NULL;
}

/* CS_AUX_HW_ID_ of coresight-pmu.h: ID [7:0], from version 0.1 on sink [39:8], versions [63:56]. */
int flowtap_perfdata_hw_id(struct flowtap_perfdata *perfdata, uint64_t hw_id, uint32_t cpu)
{
	const uint64_t key = cpu;
	struct perfdata_hw_id id = {
		.cpu = cpu,
		.trace_id = trace_id_of(hw_id & 0xff),
		.sink = hw_id >> 56 & 0xf ? (uint32_t)(hw_id >> 8) : 0,
	};

	if (hw_id >> 60 || (hw_id & 0x80))
		return -EINVAL;
	/* perf before 6.3 with --per-thread: its metadata has the IDs. */
	if (cpu == FLOWTAP_PERFDATA_NONE || hw_id_of(perfdata, cpu))
		return 0;
	if (perfdata->hw_ids.n == HW_IDS_MAX)
		return -EINVAL;
	if (PERFDATA_ADD(&perfdata->hw_ids, id))
		return -ENOMEM;
	return flowtap_hash_table_add(&perfdata->hw_by_cpu, flowtap_hash_words(&key, 1),
				      (uint32_t)perfdata->hw_ids.n - 1);
}

void flowtap_perfdata_assign(struct flowtap_perfdata *perfdata)
{
	for (size_t i = 0; perfdata->hw_ids.n && i < perfdata->cpus.n; i++) {
		struct flowtap_perfdata_cpu *unit = &perfdata->cpus.list[i];
		const struct perfdata_hw_id *id = hw_id_of(perfdata, unit->cpu);

		if (id) {
			unit->trace_id = id->trace_id;
			unit->sink = id->sink;
		} else if (unit->config.traceidr & TRACE_ID_UNUSED) {
			unit->trace_id = 0;
		}
	}
}

const struct flowtap_perfdata_cpu *
flowtap_perfdata_find_cpu(const struct flowtap_perfdata *perfdata, uint32_t cpu)
{
	/* They nearly always are in the order of their numbers. */
	if (cpu < perfdata->cpus.n && perfdata->cpus.list[cpu].cpu == cpu)
		return &perfdata->cpus.list[cpu];
	for (size_t i = 0; i < perfdata->cpus.n; i++)
		if (perfdata->cpus.list[i].cpu == cpu)
			return &perfdata->cpus.list[i];
	return NULL;
}

/*
 * The same ID may be another CPU's at another sink: the collector's is the one that counts. Where a
 * sink is not known, a unit is taken if no other one has the ID.
 */
const struct flowtap_perfdata_cpu *
flowtap_perfdata_by_trace_id(const struct flowtap_perfdata *perfdata, uint32_t collector,
			     uint8_t trace_id)
{
	const struct flowtap_perfdata_cpu *by = flowtap_perfdata_find_cpu(perfdata, collector);
	const struct flowtap_perfdata_cpu *likely = NULL;
	uint32_t sink = by ? by->sink : 0;
	bool several = false;

	for (size_t i = 0; trace_id && i < perfdata->cpus.n; i++) {
		const struct flowtap_perfdata_cpu *unit = &perfdata->cpus.list[i];

		if (unit->trace_id != trace_id)
			continue;
		if (sink && unit->sink == sink)
			return unit;
		if (sink && unit->sink)
			continue;
		several |= likely != NULL;
		likely = unit;
	}
	return several ? NULL : likely;
}
