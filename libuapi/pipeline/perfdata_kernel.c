// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* perf.data: the kernel's text from its vmlinux, moved to where it ran, or from perf's kcore. */
#include "formats/perfdata/internal.h"

#include <errno.h>
#include <flowtap/archive.h>
#include <flowtap/input.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/read_at.h"
#include "code/elf_file.h"
#include "code/locate.h"

#define TEXT_MAX (256ULL << 20)
#define PART (1U << 20)		/* a multiple of FLOWTAP_KERNEL_PAGE */

/* Where distributions and builds have it; %s is the release. */
static const char *const patterns[] = {
	"/boot/vmlinux-%s",
	"/usr/lib/debug/boot/vmlinux-%s",
	"/usr/lib/debug/lib/modules/%s/vmlinux",
	"/lib/modules/%s/build/vmlinux",
	"/lib/modules/%s/vmlinux",
	"/boot/vmlinux",
	"/vmlinux",
};

/* The fd or -errno: -ESTALE where any was another kernel's. */
static int locate(const struct flowtap_perfdata *perfdata, const char *sysroot)
{
	char path[PATH_MAX], why[FLOWTAP_WHY];
	int fd = -ENOENT;

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		int found;

		/* A release cannot lead elsewhere; without one names that need it say nothing. */
		if (strstr(patterns[i], "%s") &&
		    (!*perfdata->info.release || strchr(perfdata->info.release, '/')))
			continue;
		if (snprintf(path, sizeof(path), patterns[i], perfdata->info.release) >=
		    (int)sizeof(path))
			continue;
		found = flowtap_locate_code(sysroot, NULL, path, &perfdata->kernel_id,
					    FLOWTAP_MACHINE_ARM, why);
		if (found >= 0)
			return found;
		if (found == -ESTALE)
			fd = -ESTALE;
	}
	return fd;
}

/* *any: some of it is in the map. */
static int add_segment(struct flowtap_address_map *map, int fd, const GElf_Phdr *segment,
		       uint64_t move, bool *any)
{
	struct flowtap_kernel_text text = {
		.start = segment->p_vaddr + move,
		.size = segment->p_filesz,
		.name = "kernel",
	};
	uint8_t *bytes = malloc(PART);
	int err = bytes ? 0 : -ENOMEM;

	while (!err && text.offset < text.size) {
		text.part_size = text.size - text.offset < PART ? text.size - text.offset : PART;
		if (flowtap_read_all_at(fd, bytes, text.part_size, segment->p_offset + text.offset,
					-ENOEXEC))
			err = -ENOEXEC;
		if (!err)
			err = flowtap_address_map_add_kernel(map, &text, bytes);
		*any |= !err;
		text.offset += text.part_size;
	}
	free(bytes);
	return err;
}

static int add_text(const struct flowtap_perfdata *perfdata, struct flowtap_address_map *map,
		    int fd, Elf *elf)
{
	uint64_t address;
	GElf_Phdr segment;
	size_t n = 0;
	bool any = false;
	int err = 0;

	if (flowtap_elf_symbol_address(elf, perfdata->kernel_symbol, &address) ||
	    elf_getphdrnum(elf, &n))
		err = -ENOEXEC;
	for (size_t i = 0; !err && i < n && i < INT_MAX; i++) {
		if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_LOAD ||
		    !(segment.p_flags & PF_X) || !segment.p_filesz || segment.p_filesz > TEXT_MAX ||
		    segment.p_offset > INT64_MAX - TEXT_MAX)
			continue;
		err = add_segment(map, fd, &segment, perfdata->kernel_symbol_at - address, &any);
	}
	if (err == -EINVAL || (!err && !any))
		return -ENOEXEC;
	return err;
}

/* Segments of the kernel's half of the addresses that are not the one before once more. */
static int add_memory(struct flowtap_address_map *map, int fd, Elf *elf, bool *any)
{
	GElf_Phdr segment, last = { 0 };
	GElf_Ehdr header;
	size_t n = 0;
	int err = 0;

	if (!gelf_getehdr(elf, &header) || header.e_type != ET_CORE ||
	    header.e_machine != EM_AARCH64 || elf_getphdrnum(elf, &n))
		return -EUCLEAN;
	for (size_t i = 0; !err && i < n && i < INT_MAX; i++) {
		if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_LOAD ||
		    !(segment.p_vaddr >> 63) || !segment.p_filesz || segment.p_filesz > TEXT_MAX ||
		    segment.p_offset > INT64_MAX - TEXT_MAX ||
		    !memcmp(&segment, &last, sizeof(segment)))
			continue;
		err = add_segment(map, fd, &segment, 0, any);
		last = segment;
	}
	if (err == -ENOEXEC)
		return -EBADMSG;
	return err == -EINVAL || (!err && !*any) ? -EUCLEAN : err;
}

static int fill_kcore(struct flowtap_address_map *map, int fd, bool *any)
{
	int saved = errno, err = -EUCLEAN;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = flowtap_elf_is_extended(fd) ? NULL : elf_begin(fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF)
		err = add_memory(map, fd, elf, any);
	elf_end(elf);
	errno = saved;
	return err;
}

static int fill_kernel(const struct flowtap_perfdata *perfdata, const char *sysroot,
		       struct flowtap_address_map *map)
{
	int saved = errno, fd, err = -ENOEXEC;
	Elf *elf;

	if (!perfdata->kernel_symbol_at)
		return -ENODATA;
	fd = locate(perfdata, sysroot);
	errno = saved;
	if (fd < 0)
		return fd;
	elf_version(EV_CURRENT);
	elf = flowtap_elf_is_extended(fd) ? NULL : elf_begin(fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF)
		err = add_text(perfdata, map, fd, elf);
	elf_end(elf);
	close(fd);
	errno = saved;
	if (!err && !perfdata->kernel_id.size)
		flowtap_address_map_add_unverified(map);
	return err;
}

static const char *explain(int err)
{
	switch (err) {
	case 0:
		return NULL;
	case -ENOENT:
		return "no vmlinux under the sysroot, nor was the code recorded: perf record --kcore";
	case -ESTALE:
		return "the vmlinux there is another kernel's (build-id)";
	case -ENODATA:
		return "the recording does not say where it was";
	case -EUCLEAN:
		return "kcore_dir/kcore is no core file of an arm64 kernel";
	case -EBADMSG:
		return "kcore_dir/kcore ends before the memory that it has";
	case -ENOEXEC:
		return "the vmlinux there has no symbol table or no code";
	default:
		return strerrordesc_np(-err);
	}
}

/* A kcore that gives nothing is the reason where there is no vmlinux either. */
static int load_kernel(const struct flowtap_perfdata *perfdata, const char *path,
		       const char *sysroot, struct flowtap_address_map *map)
{
	int kcore = flowtap_input_open_kcore(path), vmlinux, err;
	bool any = false;

	if (kcore < 0)
		return fill_kernel(perfdata, sysroot, map);
	err = fill_kcore(map, kcore, &any);
	close(kcore);
	if (!err || any || err == -ENOMEM)
		return err;
	vmlinux = fill_kernel(perfdata, sysroot, map);
	return !vmlinux || vmlinux == -ENOMEM ? vmlinux : err;
}

int flowtap_perfdata_load(const struct flowtap_perfdata *perfdata, const char *path,
			  const char *sysroot, struct flowtap_address_map *map,
			  const char **kernel)
{
	int err = flowtap_perfdata_fill(perfdata, map);

	*kernel = NULL;
	flowtap_address_map_set_machine(map, FLOWTAP_MACHINE_ARM);
	if (err)
		return err;
	err = load_kernel(perfdata, path, sysroot, map);
	*kernel = explain(err);
	return err == -ENOMEM ? err : 0;
}
