/* SPDX-License-Identifier: GPL-2.0-only */
/* What can be known about this machine without the module. */
#ifndef FLOWTAP_TOOLS_DOCTOR_MACHINE_H
#define FLOWTAP_TOOLS_DOCTOR_MACHINE_H

#include "common/user_privileges.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/utsname.h>

struct machine {
	struct utsname name;
	char *config;			/* the kernel's configuration, NULL: not to be found */
	char *isa;			/* RISC-V extensions of the first CPU, "i m a ..."; NULL */
	uint32_t opensbi;		/* major << 16 | minor; 0 unknown */
	bool module_loaded;
	bool module_installed;		/* modprobe would find it */
	char module_version[32];	/* of the loaded one, "" unknown */
	struct user_privileges privileges;
	long uring_disabled;		/* kernel.io_uring_disabled, LONG_MIN: there is none */
};

void machine_read(struct machine *machine);
void machine_free(struct machine *machine);

/* 'y', 'm' or 'n' for CONFIG_NAME; 0 unknown. */
char machine_config(const struct machine *machine, const char *name);
bool machine_is_riscv(const struct machine *machine);
/* Whether the first CPU has the extension (lower case); false also where that is unknown. */
bool machine_has_extension(const struct machine *machine, const char *name);

#endif /* FLOWTAP_TOOLS_DOCTOR_MACHINE_H */
