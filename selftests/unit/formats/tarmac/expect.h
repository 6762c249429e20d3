/* SPDX-License-Identifier: GPL-2.0-only */
/* What the readers of Tarmac and QEMU4V should make of some lines: a flow, and problems. */
#ifndef FLOWTAP_SELFTESTS_UNIT_FORMATS_TARMAC_EXPECT_H
#define FLOWTAP_SELFTESTS_UNIT_FORMATS_TARMAC_EXPECT_H

#include "support/kselftest_harness.h"
#include "support/read_text.h"

#define HEADER "Tarmac Text Rev 3t\n"
#define EL1 "context A64 EL1 nonsecure 64\n"

static inline void expect(struct __test_metadata *_metadata, text_reader reader, const char *input,
			  const char *flow, const char *problems)
{
	struct text_read text;

	text_read_bytes(&text, reader, input, strlen(input));
	EXPECT_EQ(0, text.status);
	EXPECT_STREQ(flow, (const char *)text.output.bytes) {
		TH_LOG("of %s", input);
	}
	EXPECT_STREQ(problems, text.problems) {
		TH_LOG("of %s", input);
	}
	text_read_done(&text);
}

#define EXPECT_TARMAC(input, flow) expect(_metadata, flowtap_tarmac_read, input, flow, "")
#define EXPECT_QEMU4V(input, flow) expect(_metadata, flowtap_qemu4v_read, input, flow, "")

#endif /* FLOWTAP_SELFTESTS_UNIT_FORMATS_TARMAC_EXPECT_H */
