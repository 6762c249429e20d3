/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Contexts: who executes, and how. The flow (flow.h) has them; memory depends on them. */
#ifndef FLOWTAP_CONTEXT_H
#define FLOWTAP_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum flowtap_isa {
	FLOWTAP_ISA_RV64,
	FLOWTAP_ISA_A64,
	FLOWTAP_ISA_A32,
	FLOWTAP_ISA_T32,
};

/*
 * RISC-V privilege modes and Arm exception levels share one field: U/EL0 0, S/EL1 1, H/EL2 2, M/EL3
 * 3.
 */
enum flowtap_privilege {
	FLOWTAP_PRIVILEGE_U,
	FLOWTAP_PRIVILEGE_S,
	FLOWTAP_PRIVILEGE_H,
	FLOWTAP_PRIVILEGE_M,
};

enum flowtap_security {
	FLOWTAP_NONSECURE,
	FLOWTAP_SECURE,
	FLOWTAP_REALM,
	FLOWTAP_ROOT,
};

struct flowtap_context {
	uint32_t pid;		/* 0 unknown */
	uint32_t tid;
	uint32_t cpu;
	uint8_t isa;		/* enum flowtap_isa */
	uint8_t mode;		/* enum flowtap_privilege */
	uint8_t security;	/* enum flowtap_security */
	uint8_t width;		/* 32 or 64 */
	bool has_vmid;
	bool has_contextid;
	bool has_cpu;		/* Arm: several CPUs are in one flow, and this is `cpu` */
	uint32_t vmid;
	uint64_t contextid;
};

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_CONTEXT_H */
