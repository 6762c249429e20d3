/* SPDX-License-Identifier: GPL-2.0-only */
/* Fits the request to what the source can be configured for. */
#ifndef FLOWTAP_TOOLS_RECORDING_FIT_H
#define FLOWTAP_TOOLS_RECORDING_FIT_H

#include "recording/streams.h"

/*
 * streams->session.source and queries are known. Changes configure, the same for all streams, and
 * sets streams->event. 0; -EOPNOTSUPP or -EINVAL, complained about: an option of another kind of
 * source, or what no stream can be configured for.
 */
int fit_options(struct streams *streams, const struct record_options *options,
		struct flowtap_configure *configure);

#endif /* FLOWTAP_TOOLS_RECORDING_FIT_H */
