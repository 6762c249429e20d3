/* SPDX-License-Identifier: GPL-2.0-only */
/* The bytes of one trace unit out of a snapshot directory, whole, with the memory beside them. */
#ifndef FLOWTAP_SELFTESTS_SUPPORT_CORPUS_H
#define FLOWTAP_SELFTESTS_SUPPORT_CORPUS_H

#include <flowtap/arm.h>
#include <flowtap/ete.h>
#include <flowtap/snapshot.h>
#include <flowtap/trace_session.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Those of the public corpus, found from the checkout's top. */
#define CORPUS_DIRECTORY "../shared/corpus/ete"

static const char *const corpus_names[] __attribute__((unused)) = {
	"001-ack_test", "002-ack_test_scr", "ete-bc-instr", "ete_mem", "ete_spec_1", "event_test",
	"maxspec0_commopt1", "q_elem", "src_addr", "tme_simple", "trace_file_vmid", "ts_marker",
};

#define CORPUS_NAMES (sizeof(corpus_names) / sizeof(corpus_names[0]))

struct corpus {
	char name[300];
	struct flowtap_ete_config config;
	struct flowtap_memory *memory;
	uint8_t *bytes;
	size_t size;
};

static inline void corpus_free(struct corpus *corpus)
{
	flowtap_memory_free(corpus->memory);
	free(corpus->bytes);
	memset(corpus, 0, sizeof(*corpus));
}

static inline int corpus_append(struct flowtap_trace_feed *feed, const uint8_t *bytes, size_t size)
{
	struct corpus *corpus = feed->argument;

	memcpy(corpus->bytes + corpus->size, bytes, size);
	corpus->size += size;
	return 0;
}

static inline int corpus_lost(struct flowtap_trace_feed *feed, const struct flowtap_gap *gap)
{
	(void)feed;
	(void)gap;
	return 0;
}

static inline int corpus_read(struct corpus *corpus, const struct flowtap_snapshot *snapshot,
			      const struct flowtap_snapshot_source *source)
{
	struct flowtap_trace_feed feed = {
		.fd = flowtap_snapshot_open_buffer(snapshot, source->buffer),
		.framed = source->buffer->format != FLOWTAP_SNAPSHOT_RAW,
		.dstream = source->buffer->format == FLOWTAP_SNAPSHOT_DSTREAM,
		.id = (uint8_t)(source->config.traceidr & 0x7f),
		.bytes = corpus_append,
		.lost = corpus_lost,
		.argument = corpus,
	};
	off_t size = feed.fd < 0 ? -1 : lseek(feed.fd, 0, SEEK_END);
	int status = -1;

	corpus->bytes = size < 0 ? NULL : malloc((size_t)size + 1);
	if (corpus->bytes)
		status = flowtap_trace_feed(&feed);
	if (feed.fd >= 0)
		close(feed.fd);
	return status;
}

/* The source of that number: 0; 1 there is none; below 0 it cannot be read. */
static inline int corpus_load(struct corpus *corpus, const char *directory, size_t number)
{
	const struct flowtap_snapshot_source *sources;
	struct flowtap_snapshot *snapshot;
	const char *slash = strrchr(directory, '/');
	size_t n;
	int status = flowtap_snapshot_open(directory, NULL, &snapshot);

	memset(corpus, 0, sizeof(*corpus));
	if (status)
		return status;
	sources = flowtap_snapshot_sources(snapshot, &n);
	if (number >= n) {
		flowtap_snapshot_close(snapshot);
		return 1;
	}
	snprintf(corpus->name, sizeof(corpus->name), "%.255s", slash ? slash + 1 : directory);
	corpus->config = sources[number].config;
	status = flowtap_snapshot_memory(snapshot, &sources[number], &corpus->memory);
	if (!status)
		status = corpus_read(corpus, snapshot, &sources[number]);
	flowtap_snapshot_close(snapshot);
	if (status)
		corpus_free(corpus);
	return status < 0 ? status : -!!status;
}

/* The block cache that a decoder of this trace unit needs. */
static inline struct flowtap_blocks *corpus_blocks(const struct corpus *corpus)
{
	return flowtap_blocks_new(flowtap_ete_wfx_is_p0(&corpus->config) ? flowtap_arm_block_wfx :
				  flowtap_arm_block, 0);
}

#endif /* FLOWTAP_SELFTESTS_SUPPORT_CORPUS_H */
