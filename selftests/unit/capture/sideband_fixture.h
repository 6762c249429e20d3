/* SPDX-License-Identifier: GPL-2.0-only */
/* The tracer's side of sideband.c: who is traced, and the archive that its side band goes into. */
#ifndef FLOWTAP_SELFTESTS_UNIT_CAPTURE_SIDEBAND_FIXTURE_H
#define FLOWTAP_SELFTESTS_UNIT_CAPTURE_SIDEBAND_FIXTURE_H

#include <elf.h>
#include <flowtap/address_map.h>
#include <flowtap/sideband.h>
#include <libelf.h>
#include <link.h>
#include <signal.h>

#include "code/elf_file.h"
#include "support/kselftest_harness.h"
#include "unit/capture/sideband_traced.h"

static const char *const copies[] = {
	"thread", "forked", "last", "executed", "before", "deleted",
};
#define COPIES (sizeof(copies) / sizeof(copies[0]))

FIXTURE(sideband)
{
	char directory[64];
	int orders;
	int reports;
	pid_t child;
	int archive;
	struct flowtap_archive_writer *writer;
	struct flowtap_sideband *sideband;
	struct report report[32];
	size_t n;
	unsigned int mapped;		/* mappings that we were told of */
	struct flowtap_address_map *map;
	struct flowtap_build_id id;	/* of the library that is copied */
};

FIXTURE_VARIANT(sideband)
{
	bool poll;
};

FIXTURE_VARIANT_ADD(sideband, events)
{
	.poll = false,
};

FIXTURE_VARIANT_ADD(sideband, polling)
{
	.poll = true,
};

/* Copies libelf, which this program is linked with, under other names: fresh files to be mapped. */
static bool copy_library(const char *directory)
{
	Dl_info info;
	char command[512];

	if (!dladdr(dlsym(RTLD_DEFAULT, "elf_begin"), &info))
		return false;
	for (size_t i = 0; i < COPIES; i++) {
		snprintf(command, sizeof(command), "cp %s %s/%s.so", info.dli_fname, directory,
			 copies[i]);
		if (system(command))
			return false;
	}
	return true;
}

/* The build-id of the loaded libelf, out of our own memory: by another way than the library's. */
static int find_id(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct flowtap_build_id *id = argument;

	(void)size;
	if (!strstr(info->dlpi_name, "libelf"))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const uint8_t *at = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
		const uint8_t *end = at + info->dlpi_phdr[i].p_memsz;

		while (info->dlpi_phdr[i].p_type == PT_NOTE && at < end) {
			const Elf64_Nhdr *note = (const void *)at;

			if (note->n_type == NT_GNU_BUILD_ID && note->n_descsz <= 20 &&
			    !memcmp(at + sizeof(*note), "GNU", 4)) {
				id->size = (uint8_t)note->n_descsz;
				memcpy(id->bytes, at + sizeof(*note) + 4, id->size);
				return 1;
			}
			at += sizeof(*note) + ((note->n_namesz + 3) & ~3U) +
			      ((note->n_descsz + 3) & ~3U);
		}
	}
	return 0;
}

/* The child waits on a pipe, then executes this program in its role. */
static pid_t start(const char *role, const char *directory, int *orders, int *reports)
{
	int to[2], from[2];
	pid_t pid;
	char order;

	if (pipe(to) || pipe(from))
		return -1;
	pid = fork();
	if (pid == 0) {
		dup2(to[0], ORDERS);
		dup2(from[1], REPORTS);
		for (int fd = 3; fd < ORDERS; fd++)
			close(fd);
		setenv("COPIES", directory, 1);
		if (read(ORDERS, &order, 1) != 1)
			_exit(2);
		become(role);
	}
	close(to[0]);
	close(from[1]);
	*orders = to[1];
	*reports = from[0];
	return pid;
}

FIXTURE_SETUP(sideband)
{
	strcpy(self->directory, "/tmp/flowtap-sideband-XXXXXX");
	ASSERT_NE(mkdtemp(self->directory), NULL);
	ASSERT_NE(dlsym(RTLD_DEFAULT, "elf_begin"), NULL);
	ASSERT_TRUE(copy_library(self->directory));
	dl_iterate_phdr(find_id, &self->id);
	ASSERT_GT(self->id.size, 0);
	self->archive = memfd_create("sideband", MFD_CLOEXEC);
	ASSERT_EQ(flowtap_archive_create(self->archive, &self->writer), 0);
	self->map = flowtap_address_map_new(NULL);
}

FIXTURE_TEARDOWN(sideband)
{
	char command[96];

	if (self->child > 0) {
		kill(self->child, SIGKILL);
		waitpid(self->child, NULL, 0);
	}
	flowtap_sideband_free(self->sideband);
	flowtap_archive_writer_free(self->writer);
	flowtap_address_map_free(self->map);
	snprintf(command, sizeof(command), "rm -rf %s", self->directory);
	if (system(command))
		abort();
}

#endif /* FLOWTAP_SELFTESTS_UNIT_CAPTURE_SIDEBAND_FIXTURE_H */
