/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Which symbols name nothing that a person wrote. */
#ifndef FLOWTAP_LIBUAPI_CODE_LABEL_H
#define FLOWTAP_LIBUAPI_CODE_LABEL_H

#include <stdbool.h>

/* Assemblers' local labels, and the RISC-V and Arm marks of what is code ($x, $xrv64gc, $d). */
static inline bool is_label(const char *name)
{
	return !name[0] || name[0] == '$' || (name[0] == '.' && name[1] == 'L');
}

#endif /* FLOWTAP_LIBUAPI_CODE_LABEL_H */
