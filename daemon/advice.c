// SPDX-License-Identifier: GPL-2.0-only
/* What to do about the segments' folder, where that is known. */
#include "run.h"

#include <errno.h>

#include "../tools/common/tool.h"

void run_advise_folder(const struct run *run, int error)
{
	const char *user = run->privileges.user;

	if (error == -ENOENT)
		advise("make it, or name another directory in '%s'", run->path);
	else if (error == -EACCES)
		advise("it must be the user's: chown -R %s: '%s'", *user ? user : "USER",
		       run->conf.directory);
	else if (error == -E2BIG)
		advise("move or delete the oldest, so that no more than %d are left, or name another "
		       "directory in '%s'", STORE_SEGMENTS_MAX, run->path);
	else if (error == -EROFS)
		advise("mount it to be written, or name another directory in '%s'", run->path);
	else if (error == -ENOSPC)
		advise("make room there, or lower free or raise quota in '%s'", run->path);
	else if (error == -EDQUOT)
		advise("raise the quota that its file system gives %s, or lower quota in '%s'",
		       *user ? user : "its user", run->path);
}
