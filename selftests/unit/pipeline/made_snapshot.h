/* SPDX-License-Identifier: GPL-2.0-only */
/* Snapshot directories made by hand: two processors whose code differs at one address. */
#ifndef FLOWTAP_SELFTESTS_UNIT_PIPELINE_MADE_SNAPSHOT_H
#define FLOWTAP_SELFTESTS_UNIT_PIPELINE_MADE_SNAPSHOT_H

#include "unit/pipeline/trace_session_fixture.h"

#define TOP "[snapshot]\nversion=1.0\n[device_list]\ndevice0=cpu_0.ini\ndevice1=ete_0.ini\n" \
	"device2=cpu_1.ini\ndevice3=ete_1.ini\n[trace]\nmetadata=trace.ini\n"
#define CORE(n) "[device]\nname=cpu_" n "\nclass=core\ntype=Cortex-A53\n[dump1]\nfile=code_" n \
	"\naddress=0x1000\n"
#define UNIT(n, id) "[device]\nname=ETE_" n "\nclass=trace_source\ntype=ETE\n[regs]\nTRCCONFIGR=1\n" \
	"TRCTRACEIDR=" id "\nTRCDEVARCH=0x47705a13\nTRCIDR0=0x28000ea1\nTRCIDR2=0x40001088\nTRCIDR8=0\n"
#define OWNERS "[core_trace_sources]\ncpu_0=ETE_0\ncpu_1=ETE_1\n"
#define THREE "range 1000 100c 3 A64 E\n"

/* nop; nop; b -8 */
static const uint32_t __attribute__((unused)) three[] = { 0xd503201f, 0xd503201f, 0x17fffffe };

static inline void put(int directory, const char *name, const void *bytes, size_t size)
{
	int fd = openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	close(fd);
}

static inline void put_text(int directory, const char *name, const char *text)
{
	put(directory, name, text, strlen(text));
}

/* Everything but buffers and trace.ini. */
static inline void made_devices(int directory)
{
	put_text(directory, "snapshot.ini", TOP);
	put_text(directory, "cpu_0.ini", CORE("0"));
	put_text(directory, "cpu_1.ini", CORE("1"));
	put_text(directory, "ete_0.ini", UNIT("0", "0x10"));
	put_text(directory, "ete_1.ini", UNIT("1", "0x11"));
	put(directory, "code_0", two, sizeof(two));
	put(directory, "code_1", three, sizeof(three));
}

/* One buffer of frames, of a format. */
static inline void made_framed(int directory, const char *format)
{
	struct stream one = rounds("EE"), other = rounds("E");
	uint8_t bytes[16384], blocks[16384];
	char buffers[512];
	size_t size = frame_both(bytes, &one, 0x10, &other, 0x11);

	if (strcmp(format, "dstream_coresight"))
		put(directory, "both.bin", bytes, size);
	else
		put(directory, "both.bin", blocks, add_footers(blocks, bytes, size));
	snprintf(buffers, sizeof(buffers), "[trace_buffers]\nbuffers=b\n[b]\nname=ETB\nfile=both.bin\n"
		 "format=%s\n[source_buffers]\nETE_0=ETB\nETE_1=ETB\n" OWNERS, format);
	put_text(directory, "trace.ini", buffers);
}

/* A buffer for each of ETE_0, ETE_0 and ETE_1. */
static inline void made_raw(int directory)
{
	struct stream first = rounds("E"), second = rounds("EE");

	put(directory, "a.bin", first.bytes, first.size);
	put(directory, "b.bin", second.bytes, second.size);
	put_text(directory, "trace.ini",
		 "[trace_buffers]\nbuffers=a,b,c\n[a]\nname=A\nfile=a.bin\nformat=source_data\n"
		 "[b]\nname=B\nfile=b.bin\nformat=source_data\n"
		 "[c]\nname=C\nfile=a.bin\nformat=source_data\n"
		 "[source_buffers]\nETE_0=A,B\nETE_1=C\n" OWNERS);
}

#endif /* FLOWTAP_SELFTESTS_UNIT_PIPELINE_MADE_SNAPSHOT_H */
