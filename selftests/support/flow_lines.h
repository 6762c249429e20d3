/* SPDX-License-Identifier: GPL-2.0-only */
/* A flow as lines of text, which tests read as they come. */
#ifndef FLOWTAP_SELFTESTS_SUPPORT_FLOW_LINES_H
#define FLOWTAP_SELFTESTS_SUPPORT_FLOW_LINES_H

#include <flowtap/text.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct flow {
	int fd;
	struct flowtap_text *text;	/* whose sink takes it */
	char lines[16384];
};

/* blocks: as flowtap_text_new. */
static inline void flow_open(struct flow *flow, struct flowtap_blocks *blocks)
{
	flow->fd = memfd_create("flow", MFD_CLOEXEC);
	if (flow->fd < 0 || flowtap_text_new(flow->fd, blocks, &flow->text))
		abort();
}

static inline void flow_close(struct flow *flow)
{
	flowtap_text_free(flow->text);
	close(flow->fd);
}

/* What came since it was last called. */
static inline const char *flow_lines(struct flow *flow)
{
	ssize_t n;

	if (flowtap_text_finish(flow->text))
		abort();
	n = pread(flow->fd, flow->lines, sizeof(flow->lines) - 1, 0);
	if (n < 0 || ftruncate(flow->fd, 0) || lseek(flow->fd, 0, SEEK_SET))
		abort();
	flow->lines[n] = 0;
	return flow->lines;
}

#endif /* FLOWTAP_SELFTESTS_SUPPORT_FLOW_LINES_H */
