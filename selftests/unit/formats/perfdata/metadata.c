// SPDX-License-Identifier: GPL-2.0-only
/* Shows that trace units and their trace IDs are found as perf describes them. */
#include "formats/perfdata/internal.h"
#include "unit/formats/perfdata/fixture.h"

TEST(each_register_of_the_metadata_is_found)
{
	struct perffile file;
	struct opened opened;

	small(&file, false);
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	EXPECT_EQ(1, opened.info->metadata);
	EXPECT_EQ(10, opened.info->pmu_type);
	EXPECT_FALSE(opened.info->snapshot);
	ASSERT_EQ(3, opened.info->n_cpus);
	for (int i = 0; i < 3; i++) {
		const struct flowtap_perfdata_cpu *cpu = &opened.info->cpus[i];

		EXPECT_EQ(units[i].cpu, cpu->cpu);
		EXPECT_EQ(i < 2, cpu->ete);
		EXPECT_EQ(units[i].configr, cpu->config.configr);
		EXPECT_EQ(units[i].traceidr, cpu->trace_id);
		EXPECT_EQ(units[i].idr0, cpu->config.idr0);
		EXPECT_EQ(units[i].idr1, cpu->config.idr1);
		EXPECT_EQ(units[i].idr2, cpu->config.idr2);
		EXPECT_EQ(units[i].idr8, cpu->config.idr8);
		EXPECT_EQ(units[i].authstatus, cpu->authstatus);
		EXPECT_EQ(i < 2 ? units[i].devarch : FLOWTAP_ETM4_DEVARCH, cpu->config.devarch);
		EXPECT_EQ((int64_t)units[i].ts_source, cpu->ts_source);
	}
	EXPECT_EQ(0, opened.damages);
	done(&opened);
}

/* Its blocks have no count of their parameters, and no source of timestamps. */
TEST(metadata_0_is_of_etmv4)
{
	struct perffile_unit two[2] = { units[2], units[2] };
	struct perffile file;
	struct opened opened;

	two[0].cpu = 2;
	two[1].configr = 0x41;
	two[1].traceidr = 0x16;
	two[1].idr2 = 0x488;
	perffile_start(&file, false, PERFFILE_ANY, PERFFILE_ANY);
	perffile_info(&file, 0, false, 2, two);
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	EXPECT_EQ(0, opened.info->metadata);
	EXPECT_EQ(0, opened.info->n_etmv3);
	ASSERT_EQ(2, opened.info->n_cpus);
	for (int i = 0; i < 2; i++) {
		const struct flowtap_perfdata_cpu *cpu = &opened.info->cpus[i];

		EXPECT_EQ(two[i].cpu, cpu->cpu);
		EXPECT_FALSE(cpu->ete);
		EXPECT_EQ(two[i].configr, cpu->config.configr);
		EXPECT_EQ(two[i].traceidr, cpu->trace_id);
		EXPECT_EQ(two[i].idr0, cpu->config.idr0);
		EXPECT_EQ(two[i].idr1, cpu->config.idr1);
		EXPECT_EQ(two[i].idr2, cpu->config.idr2);
		EXPECT_EQ(two[i].idr8, cpu->config.idr8);
		EXPECT_EQ(two[i].authstatus, cpu->authstatus);
		EXPECT_EQ(FLOWTAP_ETM4_DEVARCH, cpu->config.devarch);
		EXPECT_EQ(-1, cpu->ts_source);
	}
	EXPECT_EQ(0, opened.damages);
	done(&opened);
}

TEST(trace_ids_of_metadata_2_come_with_records)
{
	struct perffile_unit two[3] = { units[0], units[1], units[2] };
	struct perffile file;
	struct opened opened;

	/* Legacy values with the flag that says that they are not used. */
	two[0].traceidr |= 0x80000000;
	two[1].traceidr |= 0x80000000;
	two[2].traceidr |= 0x80000000;
	perffile_start(&file, false, PERFFILE_ANY, PERFFILE_ANY);
	perffile_info(&file, 2, true, 3, two);
	file.cpu = 5;
	perffile_values(&file, 21, 0, 1, (uint64_t[]) { 0x01abcdef12345633ULL });
	file.cpu = 0;
	perffile_values(&file, 21, 0, 1, (uint64_t[]) { 0x2c });
	/* A version that means something else. */
	perffile_values(&file, 21, 0, 1, (uint64_t[]) { 0x1000000000000044ULL });
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	EXPECT_EQ(2, opened.info->metadata);
	EXPECT_TRUE(opened.info->snapshot);
	EXPECT_EQ(0x2c, opened.info->cpus[0].trace_id);
	EXPECT_EQ(0, opened.info->cpus[0].sink);
	EXPECT_EQ(0x33, opened.info->cpus[1].trace_id);
	EXPECT_EQ(0xef123456, opened.info->cpus[1].sink);
	EXPECT_EQ(0, opened.info->cpus[2].trace_id);
	EXPECT_EQ(1, opened.damages);
	done(&opened);
}

/* perf of 6.4 to 6.11 on a kernel that sends no such records. */
TEST(without_hw_id_records_trace_ids_are_those_of_the_metadata)
{
	struct perffile_unit two[3] = { units[0], units[1], units[2] };
	struct perffile file;
	struct opened opened;

	for (int i = 0; i < 3; i++)
		two[i].traceidr |= 0x80000000;
	perffile_start(&file, false, PERFFILE_ANY, PERFFILE_ANY);
	perffile_info(&file, 2, false, 3, two);
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(units[i].traceidr, opened.info->cpus[i].trace_id);
	EXPECT_EQ(0, opened.damages);
	done(&opened);
}

/* Before 6.3 it was made of the number of the CPU, of which there may be more than IDs. */
TEST(a_trace_id_that_two_cpus_have_is_neithers_unless_the_sink_tells)
{
	struct perffile_unit two[3] = { units[0], units[1], units[2] };
	struct perffile file;
	struct opened opened;

	two[1].traceidr = 0x10;
	perffile_start(&file, false, PERFFILE_ANY, PERFFILE_ANY);
	perffile_info(&file, 1, false, 3, two);
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	for (int i = 0; i < 3; i++) {
		const uint32_t collector = two[i].cpu;

		EXPECT_EQ(NULL, flowtap_perfdata_by_trace_id(opened.perfdata, collector, 0x10));
		EXPECT_EQ(&opened.info->cpus[2],
			  flowtap_perfdata_by_trace_id(opened.perfdata, collector, two[2].traceidr));
	}
	opened.perfdata->cpus.list[0].sink = 1;
	opened.perfdata->cpus.list[1].sink = 2;
	for (int i = 0; i < 2; i++)
		EXPECT_EQ(&opened.info->cpus[i],
			  flowtap_perfdata_by_trace_id(opened.perfdata, two[i].cpu, 0x10));
	done(&opened);
}

/* perf before 6.3 with --per-thread on a kernel that sends them. */
TEST(a_hw_id_record_of_no_cpu_says_nothing_and_is_no_damage)
{
	struct perffile file;
	struct opened opened;

	perffile_start(&file, false, PERFFILE_ANY & ~(uint64_t)PERF_SAMPLE_CPU, PERFFILE_ANY);
	perffile_info(&file, 1, false, 3, units);
	perffile_values(&file, 21, 0, 1, (uint64_t[]) { 0x2c });
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	EXPECT_EQ(0x10, opened.info->cpus[0].trace_id);
	EXPECT_EQ(0, opened.damages);
	done(&opened);
}

TEST(older_and_newer_trace_units_are_told_from_none)
{
	struct perffile_unit etmv3 = { .magic = 0x3030303030303030ULL };
	struct perffile file;
	struct opened opened;

	perffile_start(&file, false, PERFFILE_ANY, PERFFILE_ANY);
	perffile_info(&file, 1, false, 1, &etmv3);
	finish(&file, &opened);
	ASSERT_EQ(0, opened.err);
	EXPECT_EQ(0, opened.info->n_cpus);
	EXPECT_EQ(1, opened.info->n_etmv3);
	done(&opened);

	perffile_start(&file, false, PERFFILE_ANY, PERFFILE_ANY);
	perffile_info(&file, 3, false, 1, units);
	finish(&file, &opened);
	EXPECT_EQ(-EPROTONOSUPPORT, opened.err);
	ASSERT_NE(NULL, opened.reason);
	EXPECT_NE(NULL, strstr(opened.reason, "newer than version 2"));
	EXPECT_EQ(0, opened.damages);
	done(&opened);
}

TEST_HARNESS_MAIN
