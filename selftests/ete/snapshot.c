// SPDX-License-Identifier: GPL-2.0-only
/* Arm snapshot directories: snapshot.ini, trace.ini, one ini per device, the stream, the code. */
#include "snapshot.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

static FILE *create(const char *directory, const char *name)
{
	char path[4096];

	if (snprintf(path, sizeof(path), "%s/%s", directory, name) >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	return fopen(path, "wb");
}

static int finish(FILE *file)
{
	bool bad = ferror(file);

	return fclose(file) || bad ? -EIO : 0;
}

static int write_text(const char *directory, const char *name, const char *text)
{
	FILE *file = create(directory, name);

	if (!file)
		return -errno;
	fputs(text, file);
	return finish(file);
}

static int write_bytes(const char *directory, const char *name, const void *bytes, size_t size)
{
	FILE *file = create(directory, name);

	if (!file)
		return -errno;
	fwrite(bytes, 1, size, file);
	return finish(file);
}

static int write_unit(const char *directory, const struct encoder *encoder)
{
	struct flowtap_ete_config config;
	FILE *file = create(directory, "ETE_0.ini");

	if (!file)
		return -errno;
	encoder_config(&encoder->options, &config);
	fprintf(file, "[device]\nname=ETE_0\nclass=trace_source\ntype=%s\n\n[regs]\n"
		"TRCCONFIGR=0x%x\nTRCTRACEIDR=0x%x\nTRCDEVARCH=0x%x\nTRCIDR0=0x%x\nTRCIDR1=0x%x\n"
		"TRCIDR2=0x%x\nTRCIDR8=0x%x\n", encoder->options.etm4 ? "ETM4" : "ETE", config.configr, config.traceidr, config.devarch,
		config.idr0, config.idr1, config.idr2, config.idr8);
	return finish(file);
}

static bool dumped(const struct program_region *region)
{
	return region->group == 0 || region->group == PROGRAM_KERNEL;
}

/*
 * The regions from `first` on without a gap between them are one dump: its index after the last.
 * Decoders may read a whole word at a T32 instruction of two bytes: `pad` bytes follow.
 */
static uint32_t dump_end(const struct program *program, uint32_t first, unsigned int *pad)
{
	uint32_t i = first + 1;

	while (i < program->nregions && dumped(&program->regions[i]) &&
	       program->regions[i].code.start == program->regions[i - 1].code.end)
		i++;
	*pad = i < program->nregions && program->regions[i].code.start -
	       program->regions[i - 1].code.end < 2 ? 0 : 2;
	return i;
}

/* OpenCSD 1.5.5 has an Exception Return as a P0 element of Armv7-M only. */
static const char *core_type(const struct program *program)
{
	if (!program->options.m_profile)
		return "ARM-AA64";
	return program->options.classic ? "ARMv7-M" : "Cortex-M55";
}

static int write_core(const char *directory, const struct program *program)
{
	FILE *file = create(directory, "cpu_0.ini");
	uint32_t end;

	if (!file)
		return -errno;
	fprintf(file, "[device]\nname=cpu_0\nclass=core\ntype=%s\n\n[regs]\n"
		"PC(size:64)=0x0\nSP(size:64)=0\nSCTLR_EL1=0x0\nCPSR=0x0\n", core_type(program));
	for (uint32_t i = 0, n = 1; i < program->nregions; i = end) {
		const struct program_region *region = &program->regions[i];
		unsigned int pad;

		end = dump_end(program, i, &pad);
		if (dumped(region))
			fprintf(file, "\n[dump%u]\nfile=code_%u\naddress=0x%" PRIx64
				"\nlength=0x%" PRIx64 "\n", n++, i, region->code.start,
				program->regions[end - 1].code.end - region->code.start + pad);
	}
	return finish(file);
}

static int write_code(const char *directory, const struct program *program)
{
	uint32_t end;

	for (uint32_t i = 0; i < program->nregions; i = end) {
		unsigned int pad;
		char name[32];
		FILE *file;
		int err;

		end = dump_end(program, i, &pad);
		if (!dumped(&program->regions[i]))
			continue;
		snprintf(name, sizeof(name), "code_%u", i);
		file = create(directory, name);
		if (!file)
			return -errno;
		for (uint32_t j = i; j < end; j++)
			fwrite(program->regions[j].code.bytes, 1, program->regions[j].code.end -
			       program->regions[j].code.start, file);
		fwrite("\0", 1, pad, file);
		err = finish(file);
		if (err)
			return err;
	}
	return 0;
}

int snapshot_write(const char *directory, const struct encoder *encoder,
		   const struct program *program)
{
	int err = 0;

	if (mkdir(directory, 0777) && errno != EEXIST)
		return -errno;
	err = err ?: write_text(directory, "snapshot.ini",
				"[snapshot]\nversion=1.0\ndescription=made by make_stream\n\n"
				"[device_list]\ndevice0=cpu_0.ini\ndevice1=ETE_0.ini\n\n"
				"[trace]\nmetadata=trace.ini\n");
	err = err ?: write_text(directory, "trace.ini",
				"[trace_buffers]\nbuffers=buffer1\n\n"
				"[buffer1]\nname=ETB_1\nfile=session1.bin\nformat=source_data\n\n"
				"[source_buffers]\nETE_0=ETB_1\n\n"
				"[core_trace_sources]\ncpu_0=ETE_0\n");
	err = err ?: write_unit(directory, encoder);
	err = err ?: write_core(directory, program);
	err = err ?: write_code(directory, program);
	return err ?: write_bytes(directory, "session1.bin", encoder->bytes, encoder->size);
}
