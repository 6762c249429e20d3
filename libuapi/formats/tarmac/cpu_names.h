/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The numbers of CPUs that a trace names by where they are, such as cluster1.cpu0. */
#ifndef FLOWTAP_LIBUAPI_FORMATS_TARMAC_CPU_NAMES_H
#define FLOWTAP_LIBUAPI_FORMATS_TARMAC_CPU_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TARMAC_CPU_NAMES 256U
#define TARMAC_CPU_NAME_SIZE 64U

struct tarmac_cpu_names {
	unsigned int n;
	unsigned int last;		/* the one that was asked for last */
	bool taken[TARMAC_CPU_NAMES];	/* by number */
	struct tarmac_cpu_name {
		uint8_t size;
		uint8_t number;
		char text[TARMAC_CPU_NAME_SIZE];
	} names[TARMAC_CPU_NAMES];
};

/*
 * The number of the CPU of this name, below TARMAC_CPU_NAMES, the same each time: `wanted` where no
 * other name has it, else the lowest one that is free. -EINVAL: a name that is too long, or more
 * names than there are numbers.
 */
int tarmac_cpu_number(struct tarmac_cpu_names *names, const char *name, size_t size, uint32_t wanted);

#endif /* FLOWTAP_LIBUAPI_FORMATS_TARMAC_CPU_NAMES_H */
