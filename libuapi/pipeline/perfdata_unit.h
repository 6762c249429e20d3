/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* perf.data: one trace unit's decoder, and what all of them share. */
#ifndef FLOWTAP_LIBUAPI_PIPELINE_PERFDATA_UNIT_H
#define FLOWTAP_LIBUAPI_PIPELINE_PERFDATA_UNIT_H

#include "formats/perfdata/internal.h"

#include <flowtap/frame.h>

#include "ete/span.h"
#include "ete/unit_blocks.h"

#define PERFDATA_VCPUS 64

struct perfdata_unit {
	struct flowtap_perfdata_decoder *decoder;
	const struct flowtap_perfdata_cpu *cpu;
	struct flowtap_ete *ete;	/* from the first bytes on */
	uint32_t tid;			/* of the range, where it is one thread's */
	uint32_t ran;			/* when the range was collected */
	bool cpu_known;			/* the range is this CPU's for sure */
	bool timed;			/* its timestamps can be converted */
	bool opening;			/* the decoder has had no bytes of the range */
	struct ete_ahead *ahead;
	struct ete_span span;
};

/* What a pass over the frames of a range has seen, whosever they are. */
struct perfdata_seen {
	uint64_t ids[2];		/* a bit of each trace ID */
	uint64_t other;			/* bytes of IDs of which there is no unit */
	bool known;			/* there are IDs of which there is one */
	struct flowtap_gap gap;		/* the first loss, and how many bytes all of them have: */
	uint64_t lost;
};

struct flowtap_perfdata_decoder {
	const struct flowtap_perfdata *perfdata;
	struct flowtap_perfdata_options options;
	struct perfdata_unit *units;
	struct flowtap_perfdata_counts *counts;
	size_t n;
	uint8_t *piece;
	/* What a pass over the frames of one range is for. */
	struct flowtap_frames *frames;
	struct perfdata_unit *unit;		/* NULL: which IDs there are */
	uint8_t wanted;			/* its trace ID */
	struct perfdata_seen seen;		/* of the range */
	struct perfdata_unit *by_id[128];	/* of those in seen.ids: whose it is, NULL: nobody's */
	struct perfdata_seen *surveyed;	/* of each range; NULL: survey was not called */
	uint64_t bad_frames;		/* of all ranges so far */
	bool barrier;			/* frames begin with one: what was before is lost */
	bool surveying;		/* bytes are only counted */
	/* Threads that run a guest, those that were found last; 0: none. */
	uint32_t vcpus[PERFDATA_VCPUS];
	unsigned int oldest_vcpu;
	/* The range, and how many there are with those that continue it; the flags of all. */
	const struct flowtap_perfdata_range *range;
	size_t parts;
	uint32_t flags;
};

/*
 * The losses that flags of AUX records (FLOWTAP_PERFDATA_) tell of, in the order in which they are
 * reported: up to 2. Returns how many.
 */
size_t flowtap_perfdata_losses(uint32_t flags, struct flowtap_gap losses[2]);

/* Makes its decoder. 0; -EINVAL: nothing can be made of its trace; -ENOMEM. */
int flowtap_perfdata_unit_prepare(struct perfdata_unit *unit);
/* Of a range: begin, bytes, losses within, end. Each 0 or what flowtap_ete_decode returns. */
int flowtap_perfdata_unit_begin(struct perfdata_unit *unit,
				const struct flowtap_perfdata_range *range);
int flowtap_perfdata_unit_feed(struct perfdata_unit *unit, const uint8_t *bytes, size_t size);
int flowtap_perfdata_unit_add_gap(struct perfdata_unit *unit, enum flowtap_gap_reason reason,
				  uint64_t size, const char *detail);
int flowtap_perfdata_unit_end(struct perfdata_unit *unit);

#endif /* FLOWTAP_LIBUAPI_PIPELINE_PERFDATA_UNIT_H */
