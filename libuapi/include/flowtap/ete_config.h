/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What an analyzer has to know of a trace unit, an ETE (DDI 0487, K10.5.1.3) or an ETMv4 (IHI 0064):
 * registers, as they were set.
 */
#ifndef FLOWTAP_ETE_CONFIG_H
#define FLOWTAP_ETE_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* TRCDEVARCH of an ETMv4 of which it is not known. */
#define FLOWTAP_ETM4_DEVARCH 0x47704a13U

struct flowtap_ete_config {
	uint32_t configr;	/* TRCCONFIGR */
	uint32_t traceidr;	/* TRCTRACEIDR */
	uint32_t devarch;	/* TRCDEVARCH; 0 not known: ETE 1.3 */
	uint32_t idr0;		/* TRCIDR0: COMMOPT, COMMTRANS, QSUPP, TSSIZE ... */
	uint32_t idr1;		/* TRCIDR1: of an ETMv4 its version, TRCARCHMAJ and TRCARCHMIN */
	uint32_t idr2;		/* TRCIDR2: VMIDSIZE, CIDSIZE, WFXMODE */
	uint32_t idr8;		/* TRCIDR8: MAXSPEC */
	bool m_profile;		/* an ETMv4 of an Armv7-M or Armv8-M processor */
};

/* Whether the trace unit is an ETMv4: TRCDEVARCH.ARCHID says so. */
static inline bool flowtap_ete_is_etm4(const struct flowtap_ete_config *config)
{
	return (config->devarch & 0xffff) == (FLOWTAP_ETM4_DEVARCH & 0xffff);
}

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_ETE_CONFIG_H */
