// SPDX-License-Identifier: GPL-2.0-only
/* Looks through a group's streams: whether one of them is open, or enabled. */
#include "stream.h"

bool group_is_open(const struct group *group)
{
	const struct stream *stream;

	list_for_each_entry(stream, &group->streams, group_link)
		if (!stream->closing)
			return true;
	return false;
}

bool group_is_enabled(const struct group *group)
{
	const struct stream *stream;

	list_for_each_entry(stream, &group->streams, group_link)
		if (READ_ONCE(stream->enabled) && !stream->closing)
			return true;
	return false;
}
