/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A task is displaced where its stream would record it and another one holds the source. Samples are
 * told at once, by a GAP record; pieces when it is over, by whoever sees that first.
 */
#ifndef FLOWTAP_DISPLACE_H
#define FLOWTAP_DISPLACE_H

struct flowtap_member;
struct stream;

/* On the stream's CPU, interrupts off. Once, until the task has its next record. */
void displace(struct stream *stream, struct flowtap_member *member);
/* The same; the task may be displaced nowhere any more: a GAP record tells if it was. */
void displace_end(struct stream *stream, struct flowtap_member *member);
/* The same for all of the group, if somebody may have been. */
void displace_end_all(struct stream *stream);

#endif /* FLOWTAP_DISPLACE_H */
