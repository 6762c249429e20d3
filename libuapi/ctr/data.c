// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The cycle count in ctrdata (Smctr 6.3). */
#include "ctr/data.h"

uint64_t flowtap_ctr_cycles(uint64_t data)
{
	uint64_t mantissa = data >> CTR_DATA_CC_SHIFT & 0xfff;
	unsigned int exponent = data >> (CTR_DATA_CC_SHIFT + 12) & 0xf;

	return exponent ? (0x1000 + mantissa) << (exponent - 1) : mantissa;
}

bool flowtap_ctr_cycles_saturated(uint64_t data, uint64_t supported)
{
	uint64_t bits = supported & 0xffffULL << CTR_DATA_CC_SHIFT;

	return bits && (data & bits) == bits;
}
