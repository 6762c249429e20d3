// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Reads the program headers of /proc/kcore, and memory by the segment that covers its address. */
#include "capture/kcore.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/read_at.h"

#define DATA (__BYTE_ORDER == __LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB)

struct flowtap_kcore {
	int fd;
	Elf64_Phdr *segments;
	uint32_t n;
};

static int read_segments(struct flowtap_kcore *kcore)
{
	Elf64_Ehdr header;
	int err = flowtap_read_all_at(kcore->fd, &header, sizeof(header), 0, -EIO);

	if (err)
		return err;
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_ident[EI_DATA] != DATA || header.e_type != ET_CORE ||
	    header.e_phentsize != sizeof(Elf64_Phdr) || !header.e_phnum ||
	    header.e_phoff > INT64_MAX)
		return -ENOEXEC;
	kcore->n = header.e_phnum;
	kcore->segments = malloc(kcore->n * sizeof(kcore->segments[0]));
	if (!kcore->segments)
		return -ENOMEM;
	return flowtap_read_all_at(kcore->fd, kcore->segments, kcore->n * sizeof(kcore->segments[0]),
				   header.e_phoff, -EIO);
}

int flowtap_kcore_open(struct flowtap_kcore **out)
{
	struct flowtap_kcore *kcore = calloc(1, sizeof(*kcore));
	int saved = errno, err;

	if (!kcore)
		return -ENOMEM;
	kcore->fd = open("/proc/kcore", O_RDONLY | O_CLOEXEC);
	err = kcore->fd < 0 ? -errno : read_segments(kcore);
	errno = saved;
	if (err) {
		flowtap_kcore_close(kcore);
		return err;
	}
	*out = kcore;
	return 0;
}

static bool covers(const Elf64_Phdr *segment, uint64_t address, size_t size)
{
	return segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
	       address - segment->p_vaddr < segment->p_filesz &&
	       size <= segment->p_filesz - (address - segment->p_vaddr);
}

int flowtap_kcore_read(const struct flowtap_kcore *kcore, uint64_t address, void *bytes,
		       size_t size)
{
	int err = -ENOENT;

	for (uint32_t i = 0; i < kcore->n && err == -ENOENT; i++) {
		const Elf64_Phdr *segment = &kcore->segments[i];
		uint64_t offset = segment->p_offset + (address - segment->p_vaddr);

		/* Some segments (riscv's vmalloc) lie beyond what pread can be asked for. */
		if (covers(segment, address, size) && offset <= INT64_MAX - size)
			err = flowtap_read_all_at(kcore->fd, bytes, size, offset, -EIO);
	}
	return err;
}

void flowtap_kcore_close(struct flowtap_kcore *kcore)
{
	if (!kcore)
		return;
	if (kcore->fd >= 0)
		close(kcore->fd);
	free(kcore->segments);
	free(kcore);
}
