/* SPDX-License-Identifier: GPL-2.0-only */
/* Instruction sets, as the commands that read traces name and measure them. */
#ifndef FLOWTAP_TOOLS_COMMON_ISA_H
#define FLOWTAP_TOOLS_COMMON_ISA_H

#include <flowtap/flow.h>
#include <stddef.h>
#include <stdint.h>

#define ISAS 4
#define ISA_MODES 4

/* "RV64", "A64", "A32", "T32". */
const char *isa_name(enum flowtap_isa isa);
/* "U" ... "M", of Arm's "EL0" to "EL3". mode: below ISA_MODES. */
const char *isa_mode_name(enum flowtap_isa isa, unsigned int mode);
/* "nonsecure", "secure", "realm", "root": enum flowtap_security. */
const char *isa_security_name(unsigned int security);
/* Bytes of the instruction at `bytes`, of which `available` are there: 2 or 4, 0 none. */
size_t isa_length(enum flowtap_isa isa, const uint8_t *bytes, size_t available);
/* The encoding as the manuals write it: of wide T32 instructions the first halfword is above. */
uint32_t isa_opcode(enum flowtap_isa isa, const uint8_t *bytes, size_t size);
/*
 * T32: ITSTATE after this instruction, when it was `it` before; elsewhere 0. For disassembly.
 */
uint8_t isa_it_after(enum flowtap_isa isa, uint8_t it, uint64_t address, const uint8_t *bytes,
		      size_t size);

#endif /* FLOWTAP_TOOLS_COMMON_ISA_H */
