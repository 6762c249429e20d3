// SPDX-License-Identifier: GPL-2.0-only
/* Shows when the first exec in a perf.data file is the one that its trace begins with. */
#include "formats/perfdata/internal.h"
#include "unit/formats/perfdata/fixture.h"

/* Where what perf ran began before this file does its first exec here is no begin of the trace. */
TEST(a_later_file_does_not_begin_with_its_first_exec)
{
	static const struct {
		uint64_t before;	/* when something was collected; 0: nothing */
		uint64_t offset;	/* of the first bytes of each buffer */
		uint64_t flags;
		uint32_t missing;	/* a record that says that others are */
		bool begins;
	} kinds[] = {
		{ 0, 0, RAW, 0, true },
		{ 500, 0, RAW, 0, false },
		{ 0, 0x40000, RAW, 0, false },
		/* All of a snapshot is late. */
		{ 0, 0x40000, RAW | FLOWTAP_PERFDATA_OVERWRITE, 0, true },
		{ 0, 0, RAW, PERF_RECORD_LOST, false },
		{ 0, 0, RAW, PERF_RECORD_LOST_SAMPLES, false },
	};
	const uint8_t trace[64] = { 0 };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct perffile file;
		struct opened opened;

		perffile_start(&file, false, PERFFILE_ANY, PERFFILE_ANY);
		perffile_on_exec(&file);
		perffile_info(&file, 1, false, 3, units);
		if (kinds[i].before) {
			file.time = kinds[i].before;
			perffile_aux(&file, 0, 0, kinds[i].flags);
		}
		file.time = 1000;
		perffile_comm(&file, 200, 200, true, "made");
		if (kinds[i].missing)
			perffile_values(&file, kinds[i].missing, 0, 2, (uint64_t[]) { 3, 4 });
		file.time = 2000;
		perffile_aux(&file, kinds[i].offset, sizeof(trace), kinds[i].flags);
		/* A CPU on which nothing had run; of the other one bytes that follow. */
		perffile_auxtrace(&file, 0, 1, NONE, 5, trace, sizeof(trace));
		perffile_auxtrace(&file, kinds[i].offset, 0, NONE, 0, trace, 32);
		perffile_auxtrace(&file, kinds[i].offset + 32, 0, NONE, 0, trace, 32);
		finish(&file, &opened);
		ASSERT_EQ(0, opened.err);
		EXPECT_EQ(1000, opened.perfdata->first_exec);
		EXPECT_EQ(kinds[i].begins, opened.perfdata->on_exec);
		done(&opened);
	}
}

TEST_HARNESS_MAIN
