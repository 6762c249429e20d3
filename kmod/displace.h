/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A task is displaced where its stream would record it and another one holds the source. For
 * samples a GAP record says so at once; for pieces one does when it is over, written by whoever
 * sees that first.
 */
#ifndef FLOWTAP_KMOD_DISPLACE_H
#define FLOWTAP_KMOD_DISPLACE_H

struct flowtap_member;
struct flowtap_stream;

/**
 * displace() - record that a stream does not record a task that runs
 * @stream: enabled, of this CPU; another one holds the source.
 * @member: the task's, in the stream's set.
 *
 * Only the first call counts until the task has its next record.
 *
 * Context: the stream's CPU, interrupts off.
 */
void displace(struct flowtap_stream *stream, struct flowtap_member *member);

/**
 * displace_end() - write the GAP record of a displaced task, if it is one
 * @stream: writes the record.
 * @member: the task's. It is displaced nowhere any more.
 *
 * Context: the stream's CPU, interrupts off.
 */
void displace_end(struct flowtap_stream *stream, struct flowtap_member *member);

/**
 * displace_end_all() - the same for all of the set, if any of them may be displaced
 * @stream: writes the records.
 *
 * Context: the stream's CPU, or any while that one is offline; interrupts off.
 */
void displace_end_all(struct flowtap_stream *stream);

#endif /* FLOWTAP_KMOD_DISPLACE_H */
