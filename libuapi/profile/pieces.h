/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The lengths of pieces of a flow, counted in logarithmic steps. */
#ifndef FLOWTAP_LIBUAPI_PROFILE_PIECES_H
#define FLOWTAP_LIBUAPI_PROFILE_PIECES_H

#include <flowtap/profile.h>

/* A gap, or the end: the current one is whole. */
void flowtap_pieces_end(struct flowtap_profile_pieces *pieces);
void flowtap_pieces_free(struct flowtap_profile_pieces *pieces);

#endif /* FLOWTAP_LIBUAPI_PROFILE_PIECES_H */
