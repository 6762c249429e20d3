/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What an analyzer has to know of a trace unit (DDI 0487, K10.5.1.3): registers, as they were set.
 */
#ifndef FLOWTAP_ETE_CONFIG_H
#define FLOWTAP_ETE_CONFIG_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct flowtap_ete_config {
	uint32_t configr;	/* TRCCONFIGR */
	uint32_t traceidr;	/* TRCTRACEIDR */
	uint32_t devarch;	/* TRCDEVARCH; 0 not known: ETE 1.3 */
	uint32_t idr0;		/* TRCIDR0: COMMOPT, COMMTRANS, QSUPP, TSSIZE ... */
	uint32_t idr1;
	uint32_t idr2;		/* TRCIDR2: VMIDSIZE, CIDSIZE, WFXMODE */
	uint32_t idr8;		/* TRCIDR8: MAXSPEC */
};

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_ETE_CONFIG_H */
