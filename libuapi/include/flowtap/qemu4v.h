/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * QEMU4V: a sink that writes its trace of executed instructions, as its only known producer
 * (MicroTESK) spells it:
 *
 *	1 clk 0 IT (1) 0000000080000000 450d A svc_ns : li a0,3
 *	2 clk 0 IT (2) 0000000080000002 006000ef A svc_ns : jal 80000008
 *	2 clk R ra 0000000080000006
 *
 * There are records of instructions, and of the link register where a call writes it. What else
 * registers and memory hold no control flow contains: there are no memory records. Where the flow
 * is not continuous, the number of an instruction is one higher than it would be; why, and
 * exceptions, have no record. flowtap-qemu4v(5) has it all.
 */
#ifndef FLOWTAP_QEMU4V_H
#define FLOWTAP_QEMU4V_H

#include <flowtap/lines.h>

#ifdef __cplusplus
extern "C" {
#endif

struct flowtap_qemu4v_options {
	struct flowtap_lines_options lines;
	/*
	 * usr, svc and mon by U and EL0, S, H, EL1 and EL2, M and EL3; s in Secure state and in
	 * Root, ns elsewhere. Else it is svc_ns, whoever executes.
	 */
	bool modes;
	/*
	 * `cpu0` for 0, in all lines, and the ISA of A64 is O: so it is Tarmac as Arm's models
	 * write it, which other tools read. Gaps and exceptions then have their E lines.
	 */
	bool cpu_names;
};

struct flowtap_qemu4v;

/*
 * Writes to fd (borrowed, not seeked), buffered. options->lines.blocks is borrowed, as is
 * lines.argument. 0 and *qemu4v; -EINVAL: time out of range; -ENOMEM.
 */
int flowtap_qemu4v_new(int fd, const struct flowtap_qemu4v_options *options,
		       struct flowtap_qemu4v **qemu4v);

/* Owned by qemu4v. Its calls return what those of flowtap_tarmac_sink do, but -EOPNOTSUPP. */
struct flowtap_sink *flowtap_qemu4v_sink(struct flowtap_qemu4v *qemu4v);

/* Owned by qemu4v, current. */
const struct flowtap_lines_counts *flowtap_qemu4v_counts(const struct flowtap_qemu4v *qemu4v);
/* As flowtap_tarmac_finish. */
int flowtap_qemu4v_finish(struct flowtap_qemu4v *qemu4v);
/* Does not write. */
void flowtap_qemu4v_free(struct flowtap_qemu4v *qemu4v);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_QEMU4V_H */
