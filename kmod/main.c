// SPDX-License-Identifier: GPL-2.0-only
/*
 * Initialises the parts of the module in the order in which they need each other, and cleans up
 * in reverse. hooks_init only looks for tracepoints: what was hooked since is unhooked before the
 * sources that it calls.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/rcupdate.h>

#include "bpf.h"
#include "holder_cpu.h"
#include "device.h"
#include "hooks.h"
#include "source.h"
#include "stream.h"

static int __init flowtap_init(void)
{
	int error;

	/* Hooks run with preemption off, where locks of that kernel sleep. */
	if (IS_ENABLED(CONFIG_PREEMPT_RT)) {
		pr_err("does not work with PREEMPT_RT\n");
		return -EOPNOTSUPP;
	}
	error = hooks_init();
	if (error)
		return error;
	error = holder_init();
	if (error)
		return error;
	error = source_init(&holder_source_user);
	if (error)
		goto err_holder;
	error = bpf_init();
	if (error)
		goto err_source;
	error = stream_init();
	if (error)
		goto err_source;
	error = device_init();
	if (error)
		goto err_stream;
	return 0;

err_stream:
	stream_exit();
err_source:
	source_exit();
err_holder:
	holder_exit();
	return error;
}

static void __exit flowtap_exit(void)
{
	device_exit();
	stream_exit();
	hooks_exit();
	source_exit();
	holder_exit();
	rcu_barrier();
}

module_init(flowtap_init);
module_exit(flowtap_exit);
MODULE_DESCRIPTION("Control flow traces: RISC-V CTR and Arm ETE through a character device");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1");
