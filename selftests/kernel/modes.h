/* SPDX-License-Identifier: GPL-2.0-only */
/* A stream of CTR, and what a program whose transfers are known has left in its samples. */
#ifndef FLOWTAP_SELFTESTS_KERNEL_MODES_H
#define FLOWTAP_SELFTESTS_KERNEL_MODES_H

#include "insn_programs.h"
#include "stream.h"
#include "support/kselftest_harness.h"
#include "task.h"

FIXTURE(modes)
{
	struct flowtap_query query;
	struct flowtap_configure configure;
	struct stream stream;
};

FIXTURE_SETUP(modes)
{
	self->stream.fd = -1;
	unthrottle();
	if (!query_source(FLOWTAP_SOURCE_CTR, &self->query))
		SKIP(return, "no CTR here");
	ASSERT_EQ(0, pin(0, 0));
	self->configure = plain(FLOWTAP_SOURCE_CTR, 0);
	self->configure.ring_pages = 256;
	self->configure.ctr.depth = 256;
}

FIXTURE_TEARDOWN(modes)
{
	stream_close(&self->stream);
}

/*
 * What `action` did, in the last sample of two: 1, or an error. Nothing is read in between, for a
 * reader has transfers as well. *sequence: the first sample's.
 */
static int bracket(struct stream *stream, struct stream *after, void (*action)(void),
		   uint64_t *sequence)
{
	if (snapshot(stream) < 0)
		return -EPROTO;
	action();
	if (snapshot(after) < 0)
		return -EPROTO;
	do {
		if (stream_next_sample(stream, 0) != 1)
			return -ENODATA;
	} while (stream->record.sample.trigger != FLOWTAP_TRIGGER_SNAPSHOT ||
		 stream->record.sample.tid != getpid());
	*sequence = stream->record.sample.sequence;
	return stream_next_sample(after, 0) == 1 ? 1 : -ENODATA;
}

/* The count is what insn_program() does under these filters, so many times; says what is not. */
static bool insn_program_is(const unsigned int *count, uint64_t control, unsigned int times)
{
	unsigned int i, expected[16];
	bool same = true;

	memcpy(expected, insn_program_has, sizeof(expected));
	expected[TYPE_NOT_TAKEN] = 0;
	for (i = 0; i < FILTERS; i++)
		if (control & filters[i].bit)
			expected[filters[i].type] = filters[i].enables ? 1 : 0;
	for (i = 0; i < 16; i++) {
		/* An interrupt may come at any time. */
		if (i == TYPE_INTERRUPT || count[i] == times * expected[i])
			continue;
		if (same)
			printf("# control %#llx:", (unsigned long long)control);
		printf(" %u, not %u, of type %u;", count[i], times * expected[i], i);
		same = false;
	}
	if (!same)
		printf("\n");
	return same;
}

#endif /* FLOWTAP_SELFTESTS_KERNEL_MODES_H */
