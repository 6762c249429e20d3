/* SPDX-License-Identifier: GPL-2.0-only */
/* A test's own folder, and what goes with it. */
#ifndef FLOWTAP_SELFTESTS_DAEMON_FOLDER_H
#define FLOWTAP_SELFTESTS_DAEMON_FOLDER_H

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* Removes all that is in it. */
static inline void folder_empty(const char *path)
{
	DIR *folder = opendir(path);
	const struct dirent *entry;
	char inner[512];

	if (!folder)
		return;
	while ((entry = readdir(folder))) {
		if (!unlinkat(dirfd(folder), entry->d_name, 0) || entry->d_name[0] == '.')
			continue;
		snprintf(inner, sizeof(inner), "%.200s/%.255s", path, entry->d_name);
		folder_empty(inner);
		unlinkat(dirfd(folder), entry->d_name, AT_REMOVEDIR);
	}
	closedir(folder);
}

/* It and all that is in it. */
static inline void folder_remove(const char *path)
{
	folder_empty(path);
	rmdir(path);
}

#endif /* FLOWTAP_SELFTESTS_DAEMON_FOLDER_H */
