/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* ctrdata (Smctr 3.3): its fields as the ABI has them, and which of its bits a CPU has. */
#ifndef FLOWTAP_LIBUAPI_CTR_DATA_H
#define FLOWTAP_LIBUAPI_CTR_DATA_H

#include <flowtap/ctr.h>

#include "base/cpus.h"

#define CTR_DATA_TYPE		0xfU
#define CTR_DATA_CCV		(1U << 15)
#define CTR_DATA_CC_SHIFT	16

struct ctr_data_bits {
	uint64_t absent[FLOWTAP_CPUS_MAX];	/* those that the CPU does not have; 0: it has all */
};

/* Of CPUs from FLOWTAP_CPUS_MAX on nothing is kept. */
static inline void ctr_set_data_bits(struct ctr_data_bits *bits, uint32_t cpu, uint64_t supported)
{
	if (cpu < FLOWTAP_CPUS_MAX)
		bits->absent[cpu] = ~supported;
}

/* The bits that the CPU has; all where that is not known. */
static inline uint64_t ctr_data_bits(const struct ctr_data_bits *bits, uint32_t cpu)
{
	return cpu < FLOWTAP_CPUS_MAX ? ~bits->absent[cpu] : UINT64_MAX;
}

#endif /* FLOWTAP_LIBUAPI_CTR_DATA_H */
