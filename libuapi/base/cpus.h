/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* How many CPUs there can be. */
#ifndef FLOWTAP_LIBUAPI_BASE_CPUS_H
#define FLOWTAP_LIBUAPI_BASE_CPUS_H

/* No kernel is built for more (NR_CPUS of x86; arm64 4096, riscv 512): what says so is damaged. */
#define FLOWTAP_CPUS_MAX 8192

#endif /* FLOWTAP_LIBUAPI_BASE_CPUS_H */
