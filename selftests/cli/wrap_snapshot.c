// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes a snapshot of make_stream as if perf had recorded it: raw.data and framed.data, and the
 * program below root/.
 *
 * usage: wrap_snapshot SNAPSHOT DIR
 */
#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/crafted.h"
#include "support/perffile_board.h"

#define NONE UINT32_MAX
#define RAW 0x100ULL
#define AT 0x400000ULL			/* where the program is mapped */
#define HEADER 4096UL			/* of the file, before what is mapped */
#define USER_SIZE (4UL << 20)

struct wrapped {
	const char *snapshot;
	struct perffile_unit cpu;
	uint8_t *user;			/* from AT on, after the header */
	uint8_t *trace;
	size_t size;
};

static size_t read_file(const char *directory, const char *name, uint8_t *to, size_t capacity)
{
	char path[4096];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_RDONLY);
	n = fd < 0 ? -1 : read(fd, to, capacity);
	if (n < 0) {
		perror(path);
		exit(1);
	}
	close(fd);
	return (size_t)n;
}

/* The registers of ETE_0.ini, the dumps of cpu_0.ini: KEY=VALUE lines. */
static void take_line(struct wrapped *wrapped, const char *line, char file[64])
{
	const struct {
		const char *key;
		uint64_t *to;
	} registers[] = {
		{ "TRCCONFIGR=", &wrapped->cpu.configr },
		{ "TRCTRACEIDR=", &wrapped->cpu.traceidr },
		{ "TRCDEVARCH=", &wrapped->cpu.devarch }, { "TRCIDR0=", &wrapped->cpu.idr0 },
		{ "TRCIDR1=", &wrapped->cpu.idr1 }, { "TRCIDR2=", &wrapped->cpu.idr2 },
		{ "TRCIDR8=", &wrapped->cpu.idr8 },
	};
	uint64_t address;

	for (size_t i = 0; i < sizeof(registers) / sizeof(registers[0]); i++)
		if (!strncmp(line, registers[i].key, strlen(registers[i].key)))
			*registers[i].to = strtoull(line + strlen(registers[i].key), NULL, 0);
	if (sscanf(line, "file=%63s", file) == 1 || strncmp(line, "address=", 8))
		return;
	address = strtoull(line + 8, NULL, 0);
	if (address >= AT && address - AT < USER_SIZE)
		read_file(wrapped->snapshot, file, wrapped->user + HEADER + (address - AT),
			  USER_SIZE - (address - AT));
}

static void take_ini(struct wrapped *wrapped, const char *name)
{
	char path[4096], line[256], file[64] = "";
	FILE *ini;

	snprintf(path, sizeof(path), "%s/%s", wrapped->snapshot, name);
	ini = fopen(path, "r");
	if (!ini) {
		perror(path);
		exit(1);
	}
	while (fgets(line, sizeof(line), ini))
		take_line(wrapped, line, file);
	fclose(ini);
}

/* A thread's buffer: one AUX record, of which the bytes are in many AUXTRACE records. */
static void write_wrapped(const struct wrapped *wrapped, const char *root, const char *name,
			  int metadata, bool framed)
{
	uint8_t *bytes = malloc(2 * wrapped->size + 16);
	struct source source = { wrapped->trace, wrapped->size,
				 (uint8_t)wrapped->cpu.traceidr, 0 };
	struct perffile file;
	size_t size = framed ? frames(bytes, &source, 1) : wrapped->size;

	if (!framed)
		memcpy(bytes, wrapped->trace, size);
	perffile_board(&file, metadata, 1, &wrapped->cpu);
	perffile_mmap2(&file, 300, 300, AT, USER_SIZE, HEADER, PROT_READ | PROT_EXEC, NULL,
		       "/bin/program");
	file.time = 1000;
	file.tid = 300;
	perffile_aux(&file, 0, size, framed ? 0 : RAW);
	for (size_t at = 0, part = 1; at < size; at += part) {
		part = (part * 7 % 5000 + 1) * 8;
		part = part < size - at ? part : size - at;
		perffile_auxtrace(&file, at, 0, 300, NONE, bytes + at, part);
	}
	perffile_board_write(&file, root, name);
	free(bytes);
}

static void wrap(const char *snapshot, const char *root)
{
	struct wrapped wrapped = {
		.snapshot = snapshot,
		.cpu = { .ts_source = (uint64_t)-1 },
		.user = calloc(1, HEADER + USER_SIZE),
		.trace = malloc(64UL << 20),
	};
	const Elf64_Ehdr header = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_EXEC, .e_machine = EM_AARCH64, .e_version = EV_CURRENT,
		.e_ehsize = sizeof(header),
	};
	bool etm4;

	memcpy(wrapped.user, &header, sizeof(header));
	take_ini(&wrapped, "ETE_0.ini");
	take_ini(&wrapped, "cpu_0.ini");
	etm4 = (wrapped.cpu.devarch & 0xffff) == 0x4a13;
	wrapped.cpu.magic = etm4 ? PERFFILE_ETMV4 : PERFFILE_ETE;
	wrapped.size = read_file(snapshot, "session1.bin", wrapped.trace, 64UL << 20);
	perffile_write_under(root, "root/bin/program", wrapped.user, HEADER + USER_SIZE);
	/* What is described by metadata of version 0 is an ETMv4. */
	write_wrapped(&wrapped, root, "raw.data", etm4 ? 0 : 1, false);
	write_wrapped(&wrapped, root, "framed.data", etm4 ? 2 : 1, true);
	free(wrapped.user);
	free(wrapped.trace);
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: wrap_snapshot SNAPSHOT DIR\n");
		return 2;
	}
	wrap(argv[1], argv[2]);
	return 0;
}
