// SPDX-License-Identifier: GPL-2.0-only
/* Shows that what keeps the segments' folder from being used is followed by what to do about it. */
#include "run.h"

#include <errno.h>
#include <string.h>

#include "support/kselftest_harness.h"
#include "logged.h"

TEST(each_reason_has_its_advice)
{
	static const struct {
		int error;
		const char *user, *advice;
	} cases[] = {
		{ -ENOENT, "", "make it, or name another directory in '/etc/conf'" },
		{ -EACCES, "", "it must be the user's: chown -R USER: '/segments'" },
		{ -EACCES, "flowtap", "it must be the user's: chown -R flowtap: '/segments'" },
		{ -E2BIG, "", "move or delete the oldest, so that no more than 1000000 are left, or name "
			      "another directory in '/etc/conf'" },
		{ -EROFS, "", "mount it to be written, or name another directory in '/etc/conf'" },
		{ -ENOSPC, "", "make room there, or lower free or raise quota in '/etc/conf'" },
		{ -EDQUOT, "flowtap", "raise the quota that its file system gives flowtap, or lower quota in "
				      "'/etc/conf'" },
		{ -EIO, "", NULL },
	};
	static char directory[] = "/segments";
	static struct run run = { .path = "/etc/conf", .conf.directory = directory };
	struct logged logged;
	char wanted[256];

	logged_open(&logged);
	log_take_messages(true);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		snprintf(run.privileges.user, sizeof(run.privileges.user), "%s", cases[i].user);
		wanted[0] = 0;
		if (cases[i].advice)
			snprintf(wanted, sizeof(wanted), "level=notice event=advice text=\"%s\"\n",
				 cases[i].advice);
		run_advise_folder(&run, cases[i].error);
		EXPECT_STREQ(wanted, logged_since(&logged));
	}
	log_take_messages(false);
	logged_close(&logged);
}

TEST_HARNESS_MAIN
