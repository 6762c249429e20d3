/* SPDX-License-Identifier: GPL-2.0-only */
/* A record of STF (flowtap/stf_record.h) as text. */
#ifndef FLOWTAP_TOOLS_DUMP_DUMP_STF_RECORD_H
#define FLOWTAP_TOOLS_DUMP_DUMP_STF_RECORD_H

#include <flowtap/stf_record.h>

/*
 * Prints its name and its fields, without the end of the line. text_size: how long its text is, of
 * which record->bytes may be only the beginning; the closing quote is then left to who prints the
 * rest. NULL, or what is wrong with it; where it cannot be printed nothing but its name is.
 */
const char *stf_record_print(const struct flowtap_stf_record *record,
			     const struct flowtap_stf_sizes *sizes, uint64_t text_size);

#endif /* FLOWTAP_TOOLS_DUMP_DUMP_STF_RECORD_H */
