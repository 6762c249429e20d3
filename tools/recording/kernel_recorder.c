// SPDX-License-Identifier: GPL-2.0-only
/* Follows the kernel's text, and complains where it cannot be read. */
#include "recording/kernel_recorder.h"

#include "common/tool.h"

#include <errno.h>
#include <string.h>

static void report_problem(int error)
{
	complain("the kernel's code cannot be read: %s",
		 error == -EPERM || error == -EACCES ?
			 "/proc/kcore or the addresses in /proc/kallsyms are not for us" :
			 strerror(-error));
	switch (-error) {
	case EPERM:
	case EACCES:
		advise("run as root, with kernel.kptr_restrict at 0 or 1 and without lockdown");
		break;
	case ENOENT:
		advise("it takes a kernel with CONFIG_PROC_KCORE and CONFIG_KALLSYMS");
		break;
	}
	advise("what the kernel did is recorded, but its instructions cannot be reconstructed: "
	       "decode will have gaps no_image there");
}

int kernel_start(struct flowtap_kernel_follower *kernel)
{
	int error = flowtap_kernel_follower_start(kernel);

	if (!error || error == -ENOMEM)
		return error;
	report_problem(error);
	return 0;
}

int kernel_finish(struct flowtap_kernel_follower *kernel, struct flowtap_archive_writer *writer)
{
	int unread, error = flowtap_kernel_follower_finish(kernel, writer, &unread);

	if (error || !unread)
		return error;
	complain("the kernel's code could not be read again at the end: %s", strerror(-unread));
	advise("what was patched while it was recorded is not known");
	return 0;
}
