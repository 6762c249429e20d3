// SPDX-License-Identifier: GPL-2.0-only
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
