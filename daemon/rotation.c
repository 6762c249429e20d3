// SPDX-License-Identifier: GPL-2.0-only
/* Ends a segment for a trigger or a request at once, else by its size and its age. */
#include "rotation.h"

#include <stddef.h>

/*
 * What each segment begins with may be more than it is to have. Segments that end for it at once
 * would have nothing else, and the quota would delete all that was recorded for them.
 */
static bool is_full(const struct rotation *rotation)
{
	const uint64_t grown = rotation->size > rotation->first ? rotation->size - rotation->first : 0;

	return rotation->size >= rotation->size_limit && grown >= rotation->size_limit / 4;
}

const char *rotation_due(const struct rotation *rotation)
{
	if (rotation->save)
		return "trigger";
	if (rotation->asked)
		return "asked";
	if (is_full(rotation))
		return "size";
	return rotation->age >= rotation->age_limit ? "time" : NULL;
}
