// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes the looks at the kernel's text in a thread, and writes what a look found at the first
 * drain after it.
 */
#include "record/kernel_recorder.h"

#include "common/tool.h"

#include <errno.h>
#include <string.h>

#define POLL_NS 100000000ULL		/* between two questions for new modules */

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

int kernel_start(struct kernel *kernel)
{
	int error = flowtap_kernel_open(&kernel->text);

	if (!error)
		error = flowtap_kernel_look(kernel->text);
	if (!error)
		return 0;
	kernel_free(kernel);
	if (error == -ENOMEM)
		return error;
	report_problem(error);
	return 0;
}

int kernel_write(struct kernel *kernel, struct flowtap_archive_writer *writer)
{
	return kernel->text ? flowtap_kernel_write(kernel->text, writer) : 0;
}

static int write_all(struct kernel *kernel, struct flowtap_archive_writer *writer)
{
	int result;

	do {
		result = flowtap_kernel_write(kernel->text, writer);
	} while (result > 0);
	return result;
}

void kernel_enabled(struct kernel *kernel)
{
	kernel->due = true;
}

static void *look(void *argument)
{
	struct kernel *kernel = argument;

	kernel->result = flowtap_kernel_look(kernel->text);
	__atomic_store_n(&kernel->done, true, __ATOMIC_RELEASE);
	return NULL;
}

/* Without a thread the last look knows less exactly when things changed. */
static void begin(struct kernel *kernel)
{
	kernel->due = false;
	kernel->done = false;
	kernel->looking = !pthread_create(&kernel->thread, NULL, look, kernel);
}

/* A look that failed is as none: the next one has it all. */
static int end(struct kernel *kernel, struct flowtap_archive_writer *writer)
{
	pthread_join(kernel->thread, NULL);
	kernel->looking = false;
	if (kernel->result)
		return kernel->result == -ENOMEM ? -ENOMEM : 0;
	return write_all(kernel, writer);
}

int kernel_drain(struct kernel *kernel, struct flowtap_archive_writer *writer)
{
	uint64_t now;

	if (!kernel->text)
		return 0;
	if (kernel->looking)
		return __atomic_load_n(&kernel->done, __ATOMIC_ACQUIRE) ? end(kernel, writer) : 0;
	now = number_now();
	if (!kernel->due && now - kernel->polled >= POLL_NS) {
		kernel->polled = now;
		kernel->due = flowtap_kernel_moved(kernel->text);
	}
	if (kernel->due)
		begin(kernel);
	return 0;
}

int kernel_finish(struct kernel *kernel, struct flowtap_archive_writer *writer)
{
	int error = 0;

	if (!kernel->text)
		return 0;
	if (kernel->looking)
		error = end(kernel, writer);
	if (error)
		return error;
	error = flowtap_kernel_look(kernel->text);
	if (!error)
		return write_all(kernel, writer);
	if (error == -ENOMEM)
		return error;
	complain("the kernel's code could not be read again at the end: %s", strerror(-error));
	advise("what was patched while it was recorded is not known");
	return 0;
}

void kernel_free(struct kernel *kernel)
{
	if (kernel->looking)
		pthread_join(kernel->thread, NULL);
	kernel->looking = false;
	flowtap_kernel_free(kernel->text);
	kernel->text = NULL;
}
