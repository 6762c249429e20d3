/* SPDX-License-Identifier: GPL-2.0-only */
/* What a command says where the kernel's text cannot be followed (flowtap/kernel.h). */
#ifndef FLOWTAP_TOOLS_RECORDING_KERNEL_RECORDER_H
#define FLOWTAP_TOOLS_RECORDING_KERNEL_RECORDER_H

#include <flowtap/kernel.h>

/*
 * The first look, before recording is enabled. Where the kernel denies it a message names the
 * consequence, and recording continues without. 0 or -ENOMEM.
 */
int kernel_start(struct flowtap_kernel_follower *kernel);
/*
 * The last one. Where it fails a message says what is not known. 0 or -errno of archive or memory.
 */
int kernel_finish(struct flowtap_kernel_follower *kernel, struct flowtap_archive_writer *writer);

#endif /* FLOWTAP_TOOLS_RECORDING_KERNEL_RECORDER_H */
