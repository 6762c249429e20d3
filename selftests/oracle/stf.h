/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether an STF file has just the instructions of a flow: by the reader that checks STF. */
#ifndef FLOWTAP_SELFTESTS_ORACLE_STF_H
#define FLOWTAP_SELFTESTS_ORACLE_STF_H

#include "flow.h"

/*
 * 0 and *instructions; -EBADMSG: it breaks a rule of the format or differs, `why` says where
 * (size bytes); -errno of reading it.
 */
int stf_compare(const char *path, const struct flow *flow, uint64_t *instructions, char *why,
		size_t size);

#endif /* FLOWTAP_SELFTESTS_ORACLE_STF_H */
