// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes perf.data files and the files of the machine they would be from: known executions of small
 * A64 programs, as a trace unit tells them (DDI 0487, K10.5.2), written here by hand. What was
 * executed stands in perfdata.test.
 *
 * usage: mkperf DIR
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/mkperf.h"
#include "support/perffile_pack.h"

#define KERNEL 0xffff800080010000ULL
#define MODULE 0xffff80007a000000ULL

/* --- Programs. --- */

static const uint32_t two[] = {
	0xd503201f,	/* 00 nop */
	0x14000003,	/* 04 b 10 */
	0xd503201f,	/* 08 nop */
	0xd503201f,	/* 0c nop */
	0xb4ffff80,	/* 10 cbz x0, 00 */
	0xd503201f,	/* 14 nop */
	0x14000000,	/* 18 b 18 */
};

static const uint32_t three[] = {
	0x52800060,	/* 00 mov w0, #3 */
	0xd503201f,	/* 04 nop */
	0xd503201f,	/* 08 nop */
	0x14000001,	/* 0c b 10 */
	0x17fffffc,	/* 10 b 00 */
};

static void program(const char *root, const char *path, uint8_t seed, const uint32_t *code,
		    size_t size)
{
	static uint8_t bytes[TINY_ROOM];
	uint16_t machine = EM_AARCH64;
	size_t n = tiny_make(bytes, seed);

	memcpy(bytes + offsetof(Elf64_Ehdr, e_machine), &machine, sizeof(machine));
	memset(bytes + TINY_CODE_OFFSET, 0, TINY_CODE_SIZE);
	memcpy(bytes + TINY_CODE_OFFSET, code, size);
	perffile_write_under(root, path, bytes, n);
}

/* --- Recordings. --- */

/* With `packed` as perf record -z does it. */
static void make_raw(const char *root, const char *name, int version, uint32_t configr,
		     uint8_t what, bool packed)
{
	struct perffile_unit cpu = ete_unit(0, configr, 0x10);
	struct stream stream[3];
	struct perffile file;
	uint64_t offset = 0;

	record(stream, what);
	perffile_board(&file, version, 1, &cpu);
	tasks(&file);
	collect(&file, &offset, 0, 5000, &stream[0], RAW);
	collect(&file, &offset, 0, 9000, &stream[1], RAW | TRUNCATED);
	collect(&file, &offset, 0, 10000, &stream[2], RAW);
	if (packed)
		perffile_pack(&file, false, 300);
	perffile_board_write(&file, root, name);
}

static void make_framed(const char *root, const char *name, int version)
{
	const struct perffile_unit cpus[2] = {
		ete_unit(0, CONFIGR_CID | CONFIGR_TS, 0),
		ete_unit(1, CONFIGR_CID | CONFIGR_TS, 0),
	};
	struct stream source[2];

	record_both(source);
	write_etr(root, name, version, cpus, source);
}

/* Two CPUs with an ETR each, which give out the same trace ID. */
static void make_sinks(const char *root)
{
	struct perffile_unit cpus[2] = {
		ete_unit(0, CONFIGR_CID | CONFIGR_TS, 0x80000010),
		ete_unit(1, CONFIGR_CID | CONFIGR_TS, 0x80000012),
	};
	const uint8_t id = 0x31;
	struct stream stream[2] = { 0 }, framed[2] = { 0 };
	struct perffile file;

	perffile_board(&file, 2, 2, cpus);
	tasks(&file);
	for (uint32_t cpu = 0; cpu < 2; cpu++) {
		uint64_t offset = 0;

		file.cpu = cpu;
		perffile_values(&file, 21, 0, 1, (uint64_t[]) { 1ULL << 56 | (cpu + 1) << 8 | id });
		run(&stream[cpu], 1000, cpu ? 200 : 100, "EE");
		framed[cpu].size = frames(framed[cpu].bytes, &(struct source) {
			stream[cpu].bytes, stream[cpu].size, id, 0,
		}, 1);
		collect(&file, &offset, cpu, 1100, &framed[cpu], 0);
	}
	perffile_board_write(&file, root, "sinks.data");
}

/* What CPU 1 told of itself was collected on CPU 0, of which nothing says at which sink it is. */
static void make_collector(const char *root)
{
	struct perffile_unit cpus[2] = {
		ete_unit(0, CONFIGR_CID | CONFIGR_TS, 0x80000010),
		ete_unit(1, CONFIGR_CID | CONFIGR_TS, 0x80000012),
	};
	struct stream stream = { 0 }, framed = { 0 };
	struct perffile file;
	uint64_t offset = 0;

	run(&stream, 1000, 200, "EE");
	framed.size = frames(framed.bytes, &(struct source) {
		stream.bytes, stream.size, 0x31, 0,
	}, 1);
	perffile_board(&file, 2, 2, cpus);
	tasks(&file);
	file.cpu = 1;
	perffile_values(&file, 21, 0, 1, (uint64_t[]) { 1ULL << 56 | 5 << 8 | 0x31 });
	collect(&file, &offset, 0, 1100, &framed, 0);
	perffile_board_write(&file, root, "collector.data");
}

/*
 * perf record --switch-events of one process, without its number in the trace, and with timestamps
 * that cannot be converted: the kernel says that it goes, then collects what it executed.
 */
static void make_switches(const char *root)
{
	struct perffile_unit cpu = ete_unit(0, 0, 0x10);
	struct stream stream = { 0 };
	struct perffile file;
	uint64_t offset = 0;

	cpu.ts_source = (uint64_t)-1;
	start(&stream);
	at(&stream, AT, 0, 0, 0, 0);
	atoms(&stream, "EEENE");
	perffile_board(&file, 2, 1, &cpu);
	tasks(&file);
	file.pid = file.tid = 200;
	file.time = 1010;
	perffile_values(&file, PERF_RECORD_SWITCH, 0, 0, NULL);
	file.time = 1030;
	perffile_values(&file, PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT, 0, NULL);
	collect(&file, &offset, 0, 1031, &stream, RAW);
	perffile_board_write(&file, root, "switches.data");
}

/* The first timestamp stands after what it is of; the region was collected after the exec. */
static void make_first(const char *root, const char *name, uint32_t configr)
{
	struct perffile_unit cpu = ete_unit(0, configr, 0x10);
	struct stream stream = { 0 };
	struct perffile file;
	uint64_t offset = 0;

	run(&stream, 0, 200, "EEENE");
	timestamp(&stream, 2000);
	perffile_board(&file, 2, 1, &cpu);
	tasks(&file);
	collect(&file, &offset, 0, 5000, &stream, RAW);
	perffile_board_write(&file, root, name);
}

/*
 * perf record of program two, which forked program three: what CPU 0 told comes first in the file,
 * though the program began on CPU 1. The child is where its parent was, up to its own exec.
 */
static void make_forked(const char *root)
{
	struct perffile_unit cpu = ete_unit(0, CONFIGR_CID | CONFIGR_TS, 0x10);
	struct stream stream = { 0 };
	struct perffile file;
	uint64_t offset = 0;

	run(&stream, 1400, 300, "EEENE");
	timestamp(&stream, 2000);
	perffile_board(&file, 2, 1, &cpu);
	perffile_on_exec(&file);
	file.time = 3000;
	perffile_comm(&file, 300, 300, true, "three");
	map(&file, 300, AT, 3, "/bin/three");
	collect(&file, &offset, 0, 5000, &stream, RAW);
	file.cpu = 1;
	file.time = 500;
	perffile_comm(&file, 200, 200, true, "two");
	map(&file, 200, AT, 2, "/bin/two");
	file.time = 1500;
	perffile_task(&file, PERF_RECORD_FORK, 0, 300, 200, 300, 200);
	perffile_board_write(&file, root, "forked.data");
}

/*
 * Thread 100 is a vCPU of KVM on a kernel at EL2: first its own EL0, then the guest's kernel and a
 * program of it at the same address, which an interrupt takes to EL2 and back.
 */
static void make_guest(const char *root)
{
	static const struct {
		uint64_t address;
		uint8_t level;
		uint32_t tid;
		const char *atoms;
	} runs[] = {
		{ AT, 0, 100, "EE" }, { KERNEL, 1, 100, "E" }, { AT, 0, 100, "EE" },
		{ KERNEL, 2, 100, "E" }, { AT, 0, 100, "EE" }, { AT, 0, 201, "EEENE" },
	};
	struct perffile_unit cpu = ete_unit(0, CONFIGR_VMID | CONFIGR_TS, 0x10);
	struct stream stream = { 0 };
	struct perffile file;
	uint64_t offset = 0;

	start(&stream);
	timestamp(&stream, 1000);
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		if (i)
			trace_on(&stream);
		at(&stream, runs[i].address, runs[i].level, VMID, runs[i].tid, 0);
		atoms(&stream, runs[i].atoms);
	}
	perffile_board(&file, 1, 1, &cpu);
	tasks(&file);
	collect(&file, &offset, 0, 1100, &stream, RAW);
	perffile_board_write(&file, root, "guest.data");
}

/*
 * An exec between two timestamps. The trace stops before the second one, without an exception that
 * tells when: as a filter does it.
 */
static void make_unsure(const char *root)
{
	struct perffile_unit cpu = ete_unit(0, CONFIGR_CID | CONFIGR_TS, 0x10);
	struct stream stream = { 0 };
	struct perffile file;
	uint64_t offset = 0;

	start(&stream);
	timestamp(&stream, 2000);
	trace_on(&stream);
	at(&stream, AT, 0, CONTEXTID, 0, 201);
	atoms(&stream, "EEENE");
	timestamp(&stream, 3500);
	trace_on(&stream);
	at(&stream, AT, 0, CONTEXTID, 0, 200);
	atoms(&stream, "EEE");
	perffile_board(&file, 2, 1, &cpu);
	tasks(&file);
	collect(&file, &offset, 0, 5000, &stream, RAW);
	perffile_board_write(&file, root, "unsure.data");
}

/* Code in the vdso, an image that no file was mapped from. */
static void make_vdso(const char *root)
{
	struct perffile_unit cpu = ete_unit(0, CONFIGR_CID, 0x10);
	struct stream stream = { 0 };
	struct perffile file;
	uint64_t offset = 0;
	uint8_t id[20];

	tiny_build_id(id, 9);
	program(root, "root/.build-id/ab/09090909090909090909090909090909090909", 9,
		crafted_program, sizeof(crafted_program));
	start(&stream);
	at(&stream, AT + TINY_CODE_OFFSET, 0, CONTEXTID, 0, 200);
	atoms(&stream, "EE");
	perffile_board(&file, 1, 1, &cpu);
	perffile_comm(&file, 200, 200, false, "two");
	perffile_mmap2(&file, 200, 200, AT, 2 * TEXT_SIZE, 0, PROT_READ | PROT_EXEC, id,
		       "[vdso]");
	collect(&file, &offset, 0, 5000, &stream, RAW);
	perffile_board_write(&file, root, "vdso.data");
}

/* The kernel's text, as perf has it. */
static void map_kernel(struct perffile *file)
{
	uint8_t id[24] = { 20 };

	tiny_build_id(id + 4, 7);
	perffile_begin(file, PERF_RECORD_MMAP2,
		       PERF_RECORD_MISC_KERNEL | PERF_RECORD_MISC_MMAP_BUILD_ID);
	perffile_u32(file, NONE);
	perffile_u32(file, 0);
	perffile_u64(file, KERNEL);
	perffile_u64(file, 0x1000);
	perffile_u64(file, KERNEL);
	perffile_put(file, id, sizeof(id));
	perffile_u32(file, PROT_READ | PROT_EXEC);
	perffile_u32(file, 0);
	perffile_text(file, "[kernel.kallsyms]first");
	perffile_end(file);
}

/*
 * Target Address with Context of A32 code at EL0. One with 32 bits would keep the others, which after
 * the kernel are not 0.
 */
static void at_narrow(struct stream *stream, uint32_t address, uint32_t contextid)
{
	byte(stream, 0x85);
	byte(stream, address >> 2 & 0x7f);
	byte(stream, address >> 9 & 0x7f);
	bytes_of(stream, address >> 16, 6);
	byte(stream, 0x20 | CONTEXTID);
	bytes_of(stream, contextid, 4);
}

/* A process of 32 bits: A32, of which a BLX calls T32, and a system call into a kernel of 64. */
static void make_narrow(const char *root)
{
	static const uint32_t code[] = {
		0xe3a00002,	/* 00 mov r0, #2 */
		0xfa000001,	/* 04 blx 10 */
		0xef000000,	/* 08 svc #0 */
		0xeafffffb,	/* 0c b 00 */
		0x47702001,	/* 10 movs r0, #1; bx lr */
	};
	static uint8_t bytes[TINY_CODE_OFFSET + sizeof(code)];
	struct {
		Elf32_Ehdr header;
		Elf32_Phdr segment[2];
		Elf32_Nhdr note;
		char name[4];
		uint8_t id[20];
	} elf = {
		.header = {
			.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_DYN, .e_machine = EM_ARM, .e_version = EV_CURRENT,
			.e_phoff = sizeof(Elf32_Ehdr), .e_ehsize = sizeof(Elf32_Ehdr),
			.e_phentsize = sizeof(Elf32_Phdr), .e_phnum = 2,
		},
		.segment = {
			{ .p_type = PT_LOAD, .p_offset = TINY_CODE_OFFSET,
			  .p_vaddr = TINY_CODE_OFFSET, .p_filesz = sizeof(code),
			  .p_memsz = sizeof(code), .p_flags = PF_R | PF_X },
			{ .p_type = PT_NOTE, .p_filesz = 36, .p_align = 4 },
		},
		.note = { 4, 20, NT_GNU_BUILD_ID },
		.name = "GNU",
	};
	struct perffile_unit cpu = ete_unit(0, CONFIGR_CID, 0x10);
	const uint32_t address = 0x10000;
	struct stream stream = { 0 };
	struct perffile file;
	uint64_t offset = 0;

	elf.segment[1].p_offset = offsetof(typeof(elf), note);
	tiny_build_id(elf.id, 5);
	memcpy(bytes, &elf, sizeof(elf));
	memcpy(bytes + TINY_CODE_OFFSET, code, sizeof(code));
	perffile_write_under(root, "root/bin/narrow", bytes, sizeof(bytes));
	start(&stream);
	at_narrow(&stream, address, 400);
	atoms(&stream, "EE");
	to(&stream, address + 0x08);
	/* Exception, a call, and its return address. */
	byte(&stream, 0x06);
	byte(&stream, 0x01 | 2 << 1);
	to(&stream, address + 0x0c);
	at(&stream, KERNEL + 0x08, 1, CONTEXTID, 0, 400);
	atoms(&stream, "E");
	at_narrow(&stream, address + 0x0c, 400);
	atoms(&stream, "EE");
	perffile_board(&file, 1, 1, &cpu);
	map_kernel(&file);
	perffile_comm(&file, 400, 400, false, "narrow");
	map(&file, 400, address, 5, "/bin/narrow");
	collect(&file, &offset, 0, 5000, &stream, RAW);
	perffile_board_write(&file, root, "narrow.data");
}

/* perf record --no-buildid-mmap -B: nothing says which /bin/one it was. */
static void make_unverified(const char *root)
{
	struct perffile_unit cpu = ete_unit(0, CONFIGR_CID, 0x10);
	struct stream stream = { 0 };
	struct perffile file;
	uint64_t offset = 0;

	start(&stream);
	at(&stream, AT, 0, CONTEXTID, 0, 100);
	run_one(&stream);
	perffile_board(&file, 1, 1, &cpu);
	perffile_comm(&file, 100, 100, false, "one");
	perffile_mmap2(&file, 100, 100, AT, TEXT_SIZE, TINY_CODE_OFFSET, PROT_READ | PROT_EXEC,
		       NULL, "/bin/one");
	collect(&file, &offset, 0, 5000, &stream, RAW);
	perffile_board_write(&file, root, "unverified.data");
}

/* perf record --per-thread: no contexts, no time, one buffer of the thread, two CPUs. */
static void make_thread(const char *root)
{
	struct perffile_unit cpus[2] = { ete_unit(0, 0, 0x10), ete_unit(1, 0, 0x12) };
	struct stream stream[2] = { 0 };
	struct perffile file;
	uint64_t offset = 0;

	for (int i = 0; i < 2; i++) {
		start(&stream[i]);
		at(&stream[i], AT, 0, 0, 0, 0);
		atoms(&stream[i], i ? "EEE" : "EEENE");
	}
	perffile_board(&file, 2, 2, cpus);
	tasks(&file);
	file.pid = 200;
	file.tid = 201;
	for (int i = 0; i < 2; i++) {
		file.cpu = i;
		/* Before and after the exec. */
		file.time = i ? 4000 : 2500;
		perffile_aux(&file, offset, stream[i].size, RAW);
		perffile_auxtrace(&file, offset, 0, 201, NONE, stream[i].bytes,
				  (stream[i].size + 7) & ~7UL);
		offset += stream[i].size;
	}
	perffile_board_write(&file, root, "thread.data");
}

/* perf record --per-thread of before 6.3: no record says on which CPU it was. */
static void make_placeless(const char *root)
{
	const uint64_t type = PERFFILE_ANY & ~(uint64_t)PERF_SAMPLE_CPU;
	struct perffile_unit cpus[2] = { ete_unit(4, 0, 0x10), ete_unit(5, 0, 0x12) };
	struct stream stream = { 0 };
	struct perffile file;

	start(&stream);
	at(&stream, AT, 0, 0, 0, 0);
	atoms(&stream, "EEENE");
	perffile_start(&file, false, type | PERF_SAMPLE_IP, type);
	perffile_info(&file, 1, false, 2, cpus);
	perffile_values(&file, 79, 0, 3, (uint64_t[]) { 0, 1, 0 });
	tasks(&file);
	file.pid = 200;
	file.tid = 201;
	file.time = 2500;
	perffile_aux(&file, 0, stream.size, RAW);
	perffile_auxtrace(&file, 0, 0, 201, NONE, stream.bytes, (stream.size + 7) & ~7UL);
	perffile_board_write(&file, root, "placeless.data");
}

/* perf record --per-thread without -T; remapped: another file comes to the same address. */
static void make_untimed(const char *root, bool remapped)
{
	const uint64_t type = PERFFILE_ANY & ~(uint64_t)PERF_SAMPLE_TIME;
	struct perffile_unit cpu = ete_unit(0, 0, 0x10);
	struct stream stream = { 0 };
	struct perffile file;

	start(&stream);
	at(&stream, AT, 0, 0, 0, 0);
	atoms(&stream, "EEENE");
	perffile_start(&file, false, type | PERF_SAMPLE_IP, type);
	perffile_info(&file, 2, false, 1, &cpu);
	file.pid = file.tid = 200;
	perffile_comm(&file, 200, 200, true, "two");
	map(&file, 200, AT, 2, "/bin/two");
	perffile_aux(&file, 0, stream.size, RAW);
	if (remapped)
		map(&file, 200, AT, 3, "/bin/three");
	perffile_auxtrace(&file, 0, 0, 200, NONE, stream.bytes, (stream.size + 7) & ~7UL);
	perffile_board_write(&file, root, remapped ? "remapped.data" : "untimed.data");
}

/* As perf record --kcore copies it, twice the same: here the b is an instruction later. */
static void make_kcore(const char *root)
{
	static const uint32_t code[] = {
		0xd503201f, 0xd503201f, 0x14000002, 0, 0xd503201f, 0x14000000,
	};
	const Elf64_Phdr segment = {
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_W | PF_X,
		.p_offset = 0x1000,
		.p_vaddr = KERNEL,
		.p_filesz = sizeof(code),
		.p_memsz = sizeof(code),
	};
	const Elf64_Ehdr header = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_CORE,
		.e_machine = EM_AARCH64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(header),
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(segment),
		.e_phnum = 2,
	};
	static uint8_t bytes[0x1000 + sizeof(code)];

	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + sizeof(header), &segment, sizeof(segment));
	memcpy(bytes + sizeof(header) + sizeof(segment), &segment, sizeof(segment));
	memcpy(bytes + 0x1000, code, sizeof(code));
	perffile_write_under(root, "kcore_dir/kcore", bytes, sizeof(bytes));
}

/*
 * The kernel, 16 bytes into its text, from user code and back. Of one at EL2 perf before 5.12 asked
 * for CONTEXTIDR_EL1, which it leaves 0: who ran the switches say.
 */
static void make_kernel(const char *root, const char *name, uint8_t level, bool module)
{
	static const uint32_t code[] = {
		0xd503201f,	/* 00 nop */
		0x14000003,	/* 04 b 10 */
		0xd69f03e0,	/* 08 eret */
		0,
		0xd503201f,	/* 10 nop */
		0x14000000,	/* 14 b 14 */
	};
	struct perffile_unit cpu = ete_unit(0, CONFIGR_CID | CONFIGR_TS, 0x10);
	struct stream stream = { 0 };
	uint32_t contextid = level == 1 ? 200 : 0;
	struct perffile file;
	uint64_t offset = 0;

	program(root, "root/boot/vmlinux-6.12.1-board", 7, code, sizeof(code));
	start(&stream);
	timestamp(&stream, 1000);
	at(&stream, AT + 0x10, 0, CONTEXTID, 0, contextid);
	atoms(&stream, "N");
	trace_on(&stream);
	at(&stream, KERNEL, level, CONTEXTID, 0, contextid);
	atoms(&stream, "EE");
	if (module) {
		trace_on(&stream);
		at(&stream, MODULE, level, CONTEXTID, 0, contextid);
		atoms(&stream, "E");
	}
	perffile_board(&file, 2, 1, &cpu);
	tasks(&file);
	file.time = 500;
	perffile_values(&file, PERF_RECORD_SWITCH_CPU_WIDE, PERF_RECORD_MISC_SWITCH_OUT, 1,
			(uint64_t[]) { 200ULL << 32 | 200 });
	file.event = 1;
	map_kernel(&file);
	collect(&file, &offset, 0, 5000, &stream, RAW);
	perffile_board_write(&file, root, name);
}

int main(int argc, char **argv)
{
	const char *root = argv[1];

	if (argc != 2) {
		fprintf(stderr, "usage: mkperf DIR\n");
		return 2;
	}
	program(root, "root/bin/one", 1, crafted_program,
		sizeof(crafted_program));
	program(root, "root/bin/two", 2, two, sizeof(two));
	program(root, "root/bin/three", 3, three, sizeof(three));
	make_raw(root, "trbe.data", 2, CONFIGR_CID | CONFIGR_TS, CONTEXTID, false);
	make_raw(root, "packed.data", 2, CONFIGR_CID | CONFIGR_TS, CONTEXTID, true);
	make_raw(root, "vhe.data", 1, CONFIGR_VMID | CONFIGR_TS, VMID, false);
	make_framed(root, "etr1.data", 1);
	make_framed(root, "etr2.data", 2);
	make_sinks(root);
	make_collector(root);
	make_first(root, "first.data", CONFIGR_CID | CONFIGR_TS);
	make_first(root, "untold.data", CONFIGR_CID);
	make_forked(root);
	make_switches(root);
	make_unsure(root);
	make_thread(root);
	make_placeless(root);
	make_untimed(root, false);
	make_untimed(root, true);
	make_guest(root);
	make_vdso(root);
	make_narrow(root);
	make_unverified(root);
	make_kernel(root, "kernel.data", 1, false);
	make_kernel(root, "el2.data", 2, false);
	make_kernel(root, "module.data", 1, true);
	make_kcore(root);
	return 0;
}
