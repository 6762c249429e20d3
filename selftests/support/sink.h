/* SPDX-License-Identifier: GPL-2.0-only */
/* What tests of sinks share: a file to write to, and calls of a sink. */
#ifndef FLOWTAP_SELFTESTS_SUPPORT_SINK_H
#define FLOWTAP_SELFTESTS_SUPPORT_SINK_H

#include <flowtap/block.h>
#include <flowtap/flow.h>
#include <flowtap/riscv.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct output {
	int fd;
	uint8_t *bytes;
	size_t size;
};

static inline struct output output_new(void)
{
	return (struct output){ .fd = memfd_create("output", MFD_CLOEXEC) };
}

/* What was written so far; in memory of exactly that size, so that a byte read beyond is found. */
static inline void output_read(struct output *output)
{
	struct stat stat = { 0 };

	fstat(output->fd, &stat);
	free(output->bytes);
	output->size = stat.st_size;
	output->bytes = malloc(output->size + 1);
	if (pread(output->fd, output->bytes, output->size, 0) != (ssize_t)output->size)
		abort();
	output->bytes[output->size] = '\0';
}

static inline void output_free(struct output *output)
{
	close(output->fd);
	free(output->bytes);
}

/* The first byte that differs, or -1. */
static inline long output_differs(const struct output *output, const void *want, size_t size)
{
	size_t common = output->size < size ? output->size : size;

	for (size_t i = 0; i < common; i++) {
		if (output->bytes[i] != ((const uint8_t *)want)[i])
			return i;
	}
	return output->size == size ? -1 : (long)common;
}

static inline int sink_block(struct flowtap_sink *sink, const struct flowtap_block *block,
			     bool taken, uint64_t target)
{
	return sink->block(sink, block, taken, target);
}

static inline int sink_element(struct flowtap_sink *sink, struct flowtap_element element)
{
	return sink->element(sink, &element);
}

static inline int sink_context(struct flowtap_sink *sink, uint32_t pid, uint32_t tid, uint32_t cpu,
			       uint8_t mode)
{
	return sink_element(sink, (struct flowtap_element){
		.kind = FLOWTAP_ELEMENT_CONTEXT,
		.context = { .pid = pid, .tid = tid, .cpu = cpu, .mode = mode, .width = 64 },
	});
}

static inline int sink_gap(struct flowtap_sink *sink, enum flowtap_gap_reason reason)
{
	return sink_element(sink, (struct flowtap_element){
		.kind = FLOWTAP_ELEMENT_GAP,
		.gap = { .reason = reason },
	});
}

static inline int sink_exception(struct flowtap_sink *sink, int number, uint64_t address)
{
	return sink_element(sink, (struct flowtap_element){
		.kind = FLOWTAP_ELEMENT_EXCEPTION,
		.exception = { .number = number, .address = address },
	});
}

/* Two sinks after one. */
struct sink_pair {
	struct flowtap_sink sink;
	struct flowtap_sink *first, *second;
};

static inline int sink_pair_block(struct flowtap_sink *sink, const struct flowtap_block *block,
				  bool taken, uint64_t target)
{
	struct sink_pair *pair = (struct sink_pair *)sink;
	int error = pair->first->block(pair->first, block, taken, target);

	return error ? error : pair->second->block(pair->second, block, taken, target);
}

static inline int sink_pair_element(struct flowtap_sink *sink,
				    const struct flowtap_element *element)
{
	struct sink_pair *pair = (struct sink_pair *)sink;
	int error = pair->first->element(pair->first, element);

	return error ? error : pair->second->element(pair->second, element);
}

static inline struct sink_pair sink_pair_of(struct flowtap_sink *first, struct flowtap_sink *second)
{
	return (struct sink_pair){ { sink_pair_block, sink_pair_element }, first, second };
}

static inline void blocks_unrender(struct flowtap_block *blocks, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		for (int r = 0; r < FLOWTAP_RENDERINGS; r++)
			free(blocks[i].render[r].bytes);
	}
}

#endif /* FLOWTAP_SELFTESTS_SUPPORT_SINK_H */
