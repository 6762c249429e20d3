// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Gives CPUs that have names numbers: cluster0.cpu1 and cluster1.cpu1 are two, and a flow holds
 * numbers only.
 */
#include "formats/tarmac/cpu_names.h"

#include <errno.h>
#include <string.h>

static bool is(const struct tarmac_cpu_name *known, const char *name, size_t size)
{
	return known->size == size && !memcmp(known->text, name, size);
}

static int add_name(struct tarmac_cpu_names *names, const char *name, size_t size, uint32_t wanted)
{
	struct tarmac_cpu_name *added = &names->names[names->n];
	uint32_t number = wanted;

	if (names->n == TARMAC_CPU_NAMES || size > TARMAC_CPU_NAME_SIZE)
		return -EINVAL;
	if (number >= TARMAC_CPU_NAMES || names->taken[number])
		for (number = 0; names->taken[number]; number++)
			;
	names->taken[number] = true;
	added->number = (uint8_t)number;
	added->size = (uint8_t)size;
	memcpy(added->text, name, size);
	names->last = names->n++;
	return (int)number;
}

int tarmac_cpu_number(struct tarmac_cpu_names *names, const char *name, size_t size, uint32_t wanted)
{
	/* Nearly always it is the one of the line before. */
	if (names->n && is(&names->names[names->last], name, size))
		return names->names[names->last].number;
	for (unsigned int i = 0; i < names->n; i++) {
		if (is(&names->names[i], name, size)) {
			names->last = i;
			return names->names[i].number;
		}
	}
	return add_name(names, name, size, wanted);
}
