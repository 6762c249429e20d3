/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Tarmac: a sink that writes it (Arm's text of what a processor executed, ARM-EPM-041435 1.0),
 * spelled as its real readers accept it. flowtap-tarmac(5) has it all.
 */
#ifndef FLOWTAP_TARMAC_H
#define FLOWTAP_TARMAC_H

#include <flowtap/lines.h>

#ifdef __cplusplus
extern "C" {
#endif

enum flowtap_tarmac_dialect {
	/*
	 * `          1 clk ES  (0000000000210800:d2800060) O el1h_ns:        MOV      x0, #0x3`,
	 * below it register updates and branches without a time of their own.
	 */
	FLOWTAP_TARMAC_ES,
	/*
	 * As Arm's models write it, without a header: `1 clk IT (1) 0000000000210800 d2800060 O
	 * EL1h_n : MOV      x0, #0x3`; each line has a time.
	 */
	FLOWTAP_TARMAC_FVP,
	/* ES as the specification spells asynchronous events and Secure state; few readers know. */
	FLOWTAP_TARMAC_STRICT,
	FLOWTAP_TARMAC_DIALECTS
};

struct flowtap_tarmac_options {
	struct flowtap_lines_options lines;
	enum flowtap_tarmac_dialect dialect;
	/*
	 * RV64 as if it were A64 (ISA O, ra is X30, U S H M are EL0 to EL3); else it is refused.
	 * Where a gap comes before the first context, or block, the trace is said to be of RV64:
	 * not to be set where it is known that it is not.
	 */
	bool riscv;
};

struct flowtap_tarmac;

/* "es", "fvp", "strict". Static; NULL: none of them. */
const char *flowtap_tarmac_dialect_name(enum flowtap_tarmac_dialect dialect);

/*
 * Writes to fd (borrowed, not seeked), buffered. Nothing is written before the first line.
 * options->lines.blocks is borrowed, as is lines.argument. 0 and *tarmac; -EINVAL: dialect or time
 * out of range; -ENOMEM.
 */
int flowtap_tarmac_new(int fd, const struct flowtap_tarmac_options *options,
		       struct flowtap_tarmac **tarmac);

/*
 * Owned by tarmac. Its calls return 0;
 * -errno of write, and then always that;
 * -EOPNOTSUPP: a context or a block of RISC-V's, and options->riscv was not set;
 * -EINVAL: an address where no instruction can be (odd; of A64 and A32 no multiple of 4; of A32 and
 *  T32 beyond 32 bits), a mode that is none, or a block whose bytes are not the instructions it
 *  claims: nothing of it was written, and the sink may be used further;
 * -ENOMEM, likewise.
 */
struct flowtap_sink *flowtap_tarmac_sink(struct flowtap_tarmac *tarmac);

/* Owned by tarmac, current. */
const struct flowtap_lines_counts *flowtap_tarmac_counts(const struct flowtap_tarmac *tarmac);
/*
 * Writes what is buffered. 0; -errno of write; -ENODATA: there was no instruction. The sink may be
 * used further.
 */
int flowtap_tarmac_finish(struct flowtap_tarmac *tarmac);
/* Does not write. */
void flowtap_tarmac_free(struct flowtap_tarmac *tarmac);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_TARMAC_H */
