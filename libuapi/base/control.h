/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Characters in UTF-8 that do something to a line or to a terminal instead of standing there. */
#ifndef FLOWTAP_LIBUAPI_BASE_CONTROL_H
#define FLOWTAP_LIBUAPI_BASE_CONTROL_H

#include <stddef.h>

/* How many bytes of the text are one: C0, DEL, or C1, which has two; 0: it begins with another. */
static inline size_t flowtap_control_size(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	if (!at[0])
		return 0;
	if (at[0] < ' ' || at[0] == 0x7f)
		return 1;
	return at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0 ? 2 : 0;
}

#endif /* FLOWTAP_LIBUAPI_BASE_CONTROL_H */
