/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A sink that prints the flow as lines of text, one per element.
 *
 * Numbers are hexadecimal without 0x unless marked (d); times are seconds of CLOCK_MONOTONIC_RAW
 * with nine digits after the point, S.NNNNNNNNN; what is in [] is left out where it is not
 * known.
 *
 *	session						a capture session begins
 *	context ISA EL SECURITY WIDTH(d) [vmid=V] [contextid=C] [pid=P(d)] [tid=T(d)] [cpu=N(d)] [mode=M]
 *							ISA: RV64 A64 A32 T32; EL: EL0 to EL3;
 *							SECURITY: nonsecure secure realm root;
 *							RISC-V always has cpu= and mode=U|S|H|M
 *	range START END N(d) ISA E|N			N instructions from START up to END were
 *							executed; N: the last one is a conditional
 *							branch that was not taken, else E
 *	exception NUMBER(d) RETURN [interrupt] [target=T] NUMBER -1: not recorded; RETURN 0:
 *							in a mode that is not recorded, or there is
 *							none; T: the handler, where the flow goes on.
 *							NUMBER is of another table where the trace is
 *							of Arm's M profile (ete_packet.h); no line says
 *							that it is, whoever reads it has to know
 *	eret						the last instruction was an exception return
 *							(of A64, or an ETMv4 said so: AArch32's are
 *							told by their range)
 *	gap REASON [since=S] [until=S] [size=N(d)|unknown] [address=A] [detail=TEXT]
 *							TEXT goes on to the end of the line
 *	time S
 *	timestamp T [cycles N(d)]			the trace's own ticks, 12 digits or more
 *	cycles N(d) [at_least]				at_least: the counter was saturated; 0 also
 *							where the trace says that it is not known
 *	mispredicted					the last range's transfer was
 *	transfer SOURCE TARGET TYPE [mispredicted]	TYPE: flowtap_transfer_name
 *	callstack A B C ...				the innermost first
 *
 * and of Arm's trace:
 *
 *	trace_on					not continuous: begin, filter or overflow
 *	no_image ADDRESS				a gap: there is no code
 *	marker						the next timestamp is of here
 *	q_range START NEXT N(d)				N instructions from START, by an unknown
 *							path, then NEXT; 0: not known
 *	transaction start|commit|fail
 *	event N(d)					ETEEvents: bit i of N is number i
 *	ite EL VALUE					written by the program itself
 */
#ifndef FLOWTAP_TEXT_H
#define FLOWTAP_TEXT_H

#include <flowtap/flow.h>

#ifdef __cplusplus
extern "C" {
#endif

struct flowtap_blocks;
struct flowtap_text;

/*
 * Writes to fd (borrowed, not seeked), buffered. blocks: where blocks come from, charged for
 * what is kept with them; may be NULL. 0 and *text; -ENOMEM.
 */
int flowtap_text_new(int fd, struct flowtap_blocks *blocks, struct flowtap_text **text);
/*
 * Owned by text. Its calls return 0; -ENOMEM; -errno of write, and then always that. Lines are
 * cut, with "..." at the end, beyond 8192 bytes.
 */
struct flowtap_sink *flowtap_text_sink(struct flowtap_text *text);
/* Writes what is buffered. 0, or the first -errno of write. */
int flowtap_text_finish(struct flowtap_text *text);
/* Does not write. */
void flowtap_text_free(struct flowtap_text *text);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_TEXT_H */
