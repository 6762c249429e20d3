/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The recorder's side of the kernel's text: it is read out of /proc/kcore at the start and again
 * later, and what is different goes into the archive (FLOWTAP_ARCHIVE_KERNEL and SYMBOLS).
 *
 *	flowtap_kernel_open(&kernel);
 *	flowtap_kernel_look(kernel);		everything; before recording is enabled
 *	while (flowtap_kernel_write(kernel, writer) > 0);
 *	...
 *	flowtap_kernel_look(kernel);		again: once recording runs (that itself patches the
 *	while (...);				kernel), when modules moved, when it has stopped
 *
 * A look takes some 10 ms for each 10 MB; it may be made in a thread of its own while nothing else
 * is called for this kernel. What is patched and patched back between two looks is not seen, nor
 * code that is of no module (BPF, out-of-line slots of probes), nor what ran when the kernel or a
 * module started and was freed.
 *
 * Memory: what text there is (Debian's kernel: 11 to 14 MB, and its modules), at most 512 MiB.
 */
#ifndef FLOWTAP_KERNEL_H
#define FLOWTAP_KERNEL_H

#include <flowtap/archive.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct flowtap_kernel;

/*
 * Reads kallsyms. 0; -EPERM, -EACCES: /proc/kcore or the addresses (kptr_restrict) are not for us;
 * -ENOENT: this kernel has no kcore, or no symbols; -ENOMEM; another -errno.
 */
int flowtap_kernel_open(struct flowtap_kernel **kernel);
/* 0; -ENOMEM; -errno of reading, nothing of this look counts then. */
int flowtap_kernel_look(struct flowtap_kernel *kernel);
/*
 * Some of what the last look found, a block of up to 1 MiB before it is compressed. 1: there is more;
 * 0: that was all; -ENOMEM; -errno of the archive. To be finished before the next look.
 */
int flowtap_kernel_write(struct flowtap_kernel *kernel, struct flowtap_archive_writer *writer);
/* Whether modules came or went since the last look began. Reads /proc/modules. */
bool flowtap_kernel_moved(struct flowtap_kernel *kernel);

struct flowtap_kernel_figures {
	uint64_t looks;
	uint64_t regions;	/* of text, that were seen */
	uint64_t bytes;		/* of text, that are held */
	uint64_t changed;	/* pages that a later look found to be different */
	uint64_t skipped;	/* bytes of text that there was no room for, or that cannot be read */
};

void flowtap_kernel_figures(const struct flowtap_kernel *kernel,
			    struct flowtap_kernel_figures *figures);
void flowtap_kernel_free(struct flowtap_kernel *kernel);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_KERNEL_H */
