// SPDX-License-Identifier: GPL-2.0-only
/* Any bytes into the STF checker: it reads nothing beyond them, and says why it refuses. */
#include "stfcheck/sample.h"
#include "stfcheck/stfcheck.h"

#include <stdlib.h>
#include <string.h>

static int count_insn(void *argument, const struct stfcheck_insn *insn)
{
	uint64_t *n = argument;

	if (insn->index != (*n)++ || (insn->size != 2 && insn->size != 4))
		abort();
	return 0;
}

static void check_record(void *argument, uint64_t offset, uint8_t descriptor,
			 const uint8_t *payload, size_t size)
{
	volatile uint8_t last;

	(void)argument;
	(void)offset;
	if (!stfcheck_name(descriptor))
		abort();
	if (size)
		last = payload[size - 1];
	(void)last;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size + !size);	/* of exactly that size */

	memcpy(copy, data, size);
	for (int strict = 0; strict < 2; strict++) {
		uint64_t n = 0;
		struct stfcheck check = { .strict = strict, .insn = count_insn,
					  .record = check_record, .argument = &n };
		int error = stfcheck_run(&check, copy, size);

		if ((error != 0) != (check.reason[0] != '\0') || check.offset > size ||
		    n != check.counts.instructions)
			abort();
	}
	free(copy);
	return 0;
}

size_t flowtap_fuzz_seed(uint8_t *buffer, size_t capacity, unsigned int n)
{
	if (n >= SAMPLES || capacity < samples[n].size)
		return 0;
	memcpy(buffer, samples[n].bytes, samples[n].size);
	return samples[n].size;
}
