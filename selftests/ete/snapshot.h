/* SPDX-License-Identifier: GPL-2.0-only */
/* Writes a stream and its program as an Arm snapshot directory, for decoders that read these. */
#ifndef FLOWTAP_SELFTESTS_ETE_SNAPSHOT_H
#define FLOWTAP_SELFTESTS_ETE_SNAPSHOT_H

#include "encoder.h"
#include "program.h"

/* Of user group 0 and the kernel; the directory is made. 0 or -errno. */
int snapshot_write(const char *directory, const struct encoder *encoder,
		   const struct program *program);

#endif
