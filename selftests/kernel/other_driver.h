/* SPDX-License-Identifier: GPL-2.0-only */
/* Loads modules, and commands module/other_driver_main.c. FLOWTAP_MODULE names flowtap.ko. */
#ifndef FLOWTAP_SELFTESTS_KERNEL_OTHER_DRIVER_H
#define FLOWTAP_SELFTESTS_KERNEL_OTHER_DRIVER_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OTHER_DRIVER "/dev/other_driver"

/* 0 or -errno of finit_module. */
static inline int load_file(const char *path, const char *parameters)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), error = 0;

	if (fd < 0)
		return -errno;
	if (syscall(SYS_finit_module, fd, parameters, 0))
		error = -errno;
	close(fd);
	return error;
}

static inline int load(const char *parameters)
{
	return load_file(getenv("FLOWTAP_MODULE") ?: "", parameters);
}

/* 0 or -errno of delete_module. */
static inline int unload(void)
{
	return syscall(SYS_delete_module, "flowtap", O_NONBLOCK) ? -errno : 0;
}

/* other_driver.ko lies beside flowtap.ko. 0 also where it has been loaded already. */
static inline int other_driver_load(void)
{
	char path[256];
	const char *module = getenv("FLOWTAP_MODULE") ?: "";
	int length = strrchr(module, '/') ? strrchr(module, '/') + 1 - module : 0, error;

	snprintf(path, sizeof(path), "%.*sother_driver.ko", length, module);
	error = load_file(path, "");
	return error == -EEXIST ? 0 : error;
}

static inline void other_driver_unload(void)
{
	syscall(SYS_delete_module, "other_driver", O_NONBLOCK);
}

/* A command: 0 or -errno. */
__attribute__((format(printf, 1, 2)))
static inline int other_driver(const char *format, ...)
{
	char text[96];
	int fd = open(OTHER_DRIVER, O_RDWR | O_CLOEXEC), error = 0;
	va_list words;

	if (fd < 0)
		return -errno;
	va_start(words, format);
	vsnprintf(text, sizeof(text), format, words);
	va_end(words);
	if (write(fd, text, strlen(text)) < 0)
		error = -errno;
	close(fd);
	return error;
}

#define ANSWER_SIZE 96

/* `look`, and its answer, a line: 0 or -errno. */
static inline int other_driver_ask(unsigned int cpu, char answer[ANSWER_SIZE])
{
	int fd = open(OTHER_DRIVER, O_RDWR | O_CLOEXEC), error = 0;

	if (fd < 0)
		return -errno;
	memset(answer, 0, ANSWER_SIZE);
	snprintf(answer, ANSWER_SIZE, "look %u", cpu);
	if (write(fd, answer, strlen(answer)) < 0 || read(fd, answer, ANSWER_SIZE - 1) < 0)
		error = -errno;
	close(fd);
	return error;
}

struct csrs {
	unsigned long control;
	unsigned long depth;
	unsigned long status;
	unsigned int valid;
};

/* What a CPU's CTR registers hold now: 0 or -errno. */
static inline int other_driver_look(unsigned int cpu, struct csrs *csrs)
{
	char text[ANSWER_SIZE];
	int error = other_driver_ask(cpu, text);

	if (!error && sscanf(text, "%li %li %li %u", (long *)&csrs->control, (long *)&csrs->depth,
			     (long *)&csrs->status, &csrs->valid) != 4)
		error = -EPROTO;
	return error;
}

#endif /* FLOWTAP_SELFTESTS_KERNEL_OTHER_DRIVER_H */
