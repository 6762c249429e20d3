/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Where the kernel says that its text and that of its modules is, and what it calls it. */
#ifndef FLOWTAP_LIBUAPI_CAPTURE_KERNEL_RANGES_H
#define FLOWTAP_LIBUAPI_CAPTURE_KERNEL_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FLOWTAP_MODULE_NAME 64

/* Text of the kernel or of one module; [start, end). */
struct flowtap_kernel_range {
	char name[FLOWTAP_MODULE_NAME];
	uint64_t start;
	uint64_t end;
};

/*
 * The modules that are loaded whole (/proc/modules, /sys/module/NAME/sections), without the code of
 * their start, which is gone. *ranges is malloc'ed. 0; -EPERM: addresses are hidden; -errno.
 */
int flowtap_kernel_modules(struct flowtap_kernel_range **ranges, size_t *n);
/* A number that is another once a module was loaded or unloaded. 0 or -errno. */
int flowtap_kernel_modules_state(uint64_t *state);

/*
 * Reads kallsyms. *text: the lines of text symbols for which wanted says yes (NULL: all), which is
 * given "" or the module's name; malloc'ed. kernel: unless NULL, _stext and _etext. 0; -EPERM:
 * addresses are hidden; -errno.
 */
int flowtap_kernel_symbol_lines(bool (*wanted)(const char *module, const void *argument),
				const void *argument, struct flowtap_kernel_range *kernel,
				char **text, size_t *size);

#endif /* FLOWTAP_LIBUAPI_CAPTURE_KERNEL_RANGES_H */
