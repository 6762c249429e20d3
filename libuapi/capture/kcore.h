/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The kernel's memory as /proc/kcore shows it, an ELF core file whose segments are by address. */
#ifndef FLOWTAP_LIBUAPI_CAPTURE_KCORE_H
#define FLOWTAP_LIBUAPI_CAPTURE_KCORE_H

#include <stddef.h>
#include <stdint.h>

struct flowtap_kcore;

/*
 * The table of segments is read now and is another after memory was plugged in or out: open it anew
 * for each look. 0; -EACCES, -EPERM (CAP_SYS_RAWIO, lockdown); -ENOENT: this kernel has none;
 * -ENOEXEC; -ENOMEM.
 */
int flowtap_kcore_open(struct flowtap_kcore **kcore);
/* 0; -ENOENT: no segment covers all of it; -errno of read; -EIO: it ends before. */
int flowtap_kcore_read(const struct flowtap_kcore *kcore, uint64_t address, void *bytes,
		       size_t size);
void flowtap_kcore_close(struct flowtap_kcore *kcore);

#endif /* FLOWTAP_LIBUAPI_CAPTURE_KCORE_H */
