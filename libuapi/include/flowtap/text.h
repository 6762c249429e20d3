/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A sink that prints the flow as lines of text, one per element (README, The flow as text). */
#ifndef FLOWTAP_TEXT_H
#define FLOWTAP_TEXT_H

#include <flowtap/flow.h>

struct flowtap_blocks;
struct flowtap_text;

/* Writes to fd (borrowed), buffered. 0 and *text; -ENOMEM. blocks as in flowtap_stf_options. */
int flowtap_text_new(int fd, struct flowtap_blocks *blocks, struct flowtap_text **text);
struct flowtap_sink *flowtap_text_sink(struct flowtap_text *text);
int flowtap_text_finish(struct flowtap_text *text);
void flowtap_text_free(struct flowtap_text *text);

#endif /* FLOWTAP_TEXT_H */
