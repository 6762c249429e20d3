/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * perf.data: what Linux perf recorded of Arm's trace units (the cs_etm PMU), with its side band.
 *
 * The file has a header ("PERFILE2"), the attributes of the events, records one after the other,
 * and feature sections; by a pipe it is records only. AUXTRACE records carry the bytes of the trace
 * buffers, AUX records say which of them were collected when, and with which losses. Formats as in
 * Linux's perf.data-file-format.txt, perf_event.h, coresight-pmu.h and perf's cs-etm.h.
 *
 * A file is read once when it is opened, and then where it is asked for: what is kept is some 40
 * bytes for each mapping, task and AUX record, of mappings that were packed (perf record -z) all,
 * never trace bytes. Of packed records no more is kept than 256 MiB and 16 times their packed size:
 * what comes after that is damage. Files of big-endian machines and of perf before 3.1 ("PERFFILE")
 * are refused.
 */
#ifndef FLOWTAP_PERFDATA_H
#define FLOWTAP_PERFDATA_H

#include <flowtap/ete_config.h>
#include <flowtap/address_map.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FLOWTAP_PERFDATA_NONE UINT32_MAX

/* One trace unit, as the AUXTRACE_INFO record describes it. */
struct flowtap_perfdata_cpu {
	uint32_t cpu;
	bool ete;		/* false: an ETMv4 */
	uint8_t trace_id;	/* CoreSight trace ID, 0: none is known */
	uint32_t sink;		/* of that trace ID; 0: any */
	struct flowtap_ete_config config;
	uint32_t authstatus;	/* TRCAUTHSTATUS */
	int64_t ts_source;	/* 1: timestamps are the virtual counter; -1 not known */
};

/* PERF_AUX_FLAG_ of perf_event.h. */
#define FLOWTAP_PERFDATA_TRUNCATED 0x01	/* there was no space for the end */
#define FLOWTAP_PERFDATA_OVERWRITE 0x02	/* a snapshot */
#define FLOWTAP_PERFDATA_PARTIAL 0x04	/* bytes are missing within */
#define FLOWTAP_PERFDATA_COLLISION 0x08	/* TRBE: the buffer became full, the end may be missing */
#define FLOWTAP_PERFDATA_RAW 0x100	/* one trace unit's bytes, not CoreSight frames */

/* What one AUX record describes, or a part of it; by time, each buffer's in its own order. */
struct flowtap_perfdata_range {
	uint64_t time;		/* when it was collected: its end; 0 unknown */
	uint64_t offset;	/* of its bytes in the file */
	uint64_t size;		/* 0: it only reports a loss */
	uint64_t missing;	/* bytes before it that are not in the file, or no whole frame */
	uint64_t unnamed;	/* others before it, of which no AUX record says what they are */
	uint32_t flags;		/* FLOWTAP_PERFDATA_ */
	uint32_t cpu;		/* that collected it; NONE unknown */
	uint32_t tid;		/* whose it is alone (perf record --per-thread); NONE: the CPU's */
	uint32_t ran;		/* the thread that ran when it was collected; NONE unknown */
	bool continues;		/* goes on where the one before it in its buffer ended */
};

/* A record. Valid during the call only. */
struct flowtap_perfdata_record {
	uint64_t offset;	/* in the file; packed: of the COMPRESSED record that it came out of */
	bool packed;
	uint32_t type;		/* PERF_RECORD_ */
	uint16_t misc;
	const uint8_t *bytes;	/* with its header, without the sample id after it */
	size_t size;
	uint64_t payload;	/* AUXTRACE: bytes that follow it */
	/* From the sample id. */
	uint64_t time;		/* perf's clock, nanoseconds; 0 unknown */
	uint32_t pid;		/* NONE unknown, each */
	uint32_t tid;
	uint32_t cpu;
};

/* Owned by the file; "" where the file does not say. */
struct flowtap_perfdata_info {
	const char *hostname;
	const char *release;	/* uname -r */
	const char *arch;	/* uname -m */
	const char *version;	/* of perf */
	const char *command;	/* perf's arguments, joined */
	bool pipe;
	bool snapshot;
	bool clocked;		/* perf record -k: its records' times are not the trace's clock */
	uint32_t pmu_type;
	uint32_t metadata;	/* version of AUXTRACE_INFO: 0, 1, 2 */
	size_t n_cpus;
	const struct flowtap_perfdata_cpu *cpus;
	size_t n_etmv3;		/* others, ETMv3 or PTM: they are not decoded */
	uint64_t records;
	uint64_t lost;		/* records that the kernel had to drop */
	uint64_t throttled;
	uint64_t aux_bytes;	/* in AUXTRACE records */
	uint64_t aux_missing;	/* sum of missing */
	uint64_t aux_unnamed;	/* sum of unnamed */
};

struct flowtap_perfdata;

/* Something is wrong at `offset`; what was good before is used. reason is one line. */
typedef void (*flowtap_perfdata_damage)(void *argument, uint64_t offset, const char *reason);

/* Whether the file is one of perf's: by its first 8 bytes, of which `size` are there. */
bool flowtap_perfdata_is(const void *bytes, size_t size);

/*
 * Reads a regular file (the descriptor is borrowed until close). 0; -EBADMSG: no perf.data, or
 * nothing of it can be used; -EPROTONOSUPPORT: a kind that is refused; -ENODATA: no trace of cs_etm
 * is in it; -ENOMEM; another -errno of pread. Where it is not 0, *reason (unless NULL) is a line
 * for people. Damage that leaves something is reported to `damage` (may be NULL).
 */
int flowtap_perfdata_open(int fd, flowtap_perfdata_damage damage, void *argument,
			  struct flowtap_perfdata **perfdata, const char **reason);
void flowtap_perfdata_close(struct flowtap_perfdata *perfdata);

/* What the file says of itself, and its ranges in the order in which they are decoded: until close. */
const struct flowtap_perfdata_info *flowtap_perfdata_info(const struct flowtap_perfdata *perfdata);
const struct flowtap_perfdata_range *
flowtap_perfdata_ranges(const struct flowtap_perfdata *perfdata, size_t *n);

/*
 * Calls visit for each record in the order of the file, for those in a COMPRESSED record after
 * that; not for those that are simpleperf's own (types from 32768 on).
 * What it returns other than 0 ends the walk and is returned; else 0 or -errno.
 */
typedef int (*flowtap_perfdata_visit)(void *argument,
				      const struct flowtap_perfdata_record *record);
int flowtap_perfdata_walk(const struct flowtap_perfdata *perfdata, flowtap_perfdata_visit visit,
			  void *argument);
/* "MMAP2", "AUXTRACE" ...; NULL where type is none that is known. */
const char *flowtap_perfdata_record_name(uint32_t type);

/*
 * Bytes [from, from + size) of a range; *got of them were read, fewer only where the range or
 * the file ends. 0 or -errno.
 */
int flowtap_perfdata_read(const struct flowtap_perfdata *perfdata,
			  const struct flowtap_perfdata_range *range, uint64_t from,
			  void *buffer, size_t size, size_t *got);

/*
 * The mappings, forks and execs go into the map, in the order of time. Synthesised ones are of time
 * 0. A mapping without a build-id has the one that the file's own list gives its path; where it
 * gives two, the mapping is code without bytes.
 * 0 or -ENOMEM, or what pread said.
 */
int flowtap_perfdata_fill(const struct flowtap_perfdata *perfdata, struct flowtap_address_map *map);
/*
 * All code that is known goes into the map: flowtap_perfdata_fill, then the kernel's. That is its
 * memory as perf record --kcore copied it when the recording began (kcore_dir/kcore beside the file
 * at `path`, or in it where it is a directory): text as it ran, patched, with that of modules.
 * Where that is not, or gives nothing, it is the text of its vmlinux, looked for in sysroot (NULL:
 * /) as boot/vmlinux-RELEASE, vmlinux, usr/lib/debug/boot/vmlinux-RELEASE and others
 * (pipeline/perfdata_kernel.c), moved to where the kernel ran: what the running kernel patched
 * (alternatives, static keys) is not known there, nor are modules.
 *
 * 0, -ENOMEM, or what pread said. *kernel: NULL, or why code of the kernel is not known, a line for
 * people.
 */
int flowtap_perfdata_load(const struct flowtap_perfdata *perfdata, const char *path,
			  const char *sysroot, struct flowtap_address_map *map,
			  const char **kernel);

/* The process of a thread at that time, 0 unknown. */
uint32_t flowtap_perfdata_pid(const struct flowtap_perfdata *perfdata, uint32_t tid, uint64_t time);
/* Which thread a CPU ran at that time by the switches that were recorded; NONE unknown. */
uint32_t flowtap_perfdata_ran(const struct flowtap_perfdata *perfdata, uint32_t cpu, uint64_t time);
/* Whether timestamps of the trace can be times of the records: not after perf record -k. */
bool flowtap_perfdata_has_time(const struct flowtap_perfdata *perfdata);
/* Ticks of the generic counter in perf's clock: false where the file says nothing of that. */
bool flowtap_perfdata_time(const struct flowtap_perfdata *perfdata, uint64_t ticks, uint64_t *time);

/* --- All of it together: from the file to a sink. --- */

struct flowtap_perfdata_decoder;
struct flowtap_blocks;
struct flowtap_ete_counts;
struct flowtap_ete_options;
struct flowtap_sink;

struct flowtap_perfdata_options {
	struct flowtap_address_map *map;	/* filled; borrowed, as all that follows */
	struct flowtap_sink *sink;	/* survey needs none, nor blocks */
	struct flowtap_blocks *blocks;	/* made with flowtap_arm_block or flowtap_arm_block_wfx */
	uint32_t cpu;			/* only this one's; NONE: all */
	/*
	 * May be NULL: one of the same perfdata, whose survey returned 0. What it has seen is not
	 * looked for anew: of who decodes one CPU after the other, and frames have those of all.
	 */
	const struct flowtap_perfdata_decoder *survey;
	const struct flowtap_ete_options *ete;	/* may be NULL */
	/* May be NULL: the time has reached this, in perf's clock. */
	void (*time)(void *argument, uint64_t time);
	void *argument;
};

/* Of one CPU. */
struct flowtap_perfdata_counts {
	uint32_t cpu;
	uint64_t ranges;
	uint64_t bytes;			/* of its trace, frames removed */
	uint64_t losses;		/* by survey: ranges of which the file tells that some is lost */
	const struct flowtap_ete_counts *ete;	/* NULL: nothing was decoded */
};

/* Whether WFE and WFI are P0 instructions for the first CPU: which blocks options.blocks makes. */
bool flowtap_perfdata_wfx(const struct flowtap_perfdata *perfdata);

/* 0; -ENOMEM. perfdata and what options has are borrowed until free. */
int flowtap_perfdata_decoder_new(const struct flowtap_perfdata *perfdata,
				 const struct flowtap_perfdata_options *options,
				 struct flowtap_perfdata_decoder **decoder);
/*
 * Only counts the bytes of each CPU's trace (options.cpu means nothing), taking frames apart where
 * that is needed: for who wants to know which CPUs have any. Keeps what is in each range, for
 * options.survey of other decoders. 0; -ENOMEM; -errno of pread.
 */
int flowtap_perfdata_survey(struct flowtap_perfdata_decoder *decoder);
/*
 * Decodes range after range. Each is a session of its own: the trace unit was stopped between
 * them (as perf itself does). What the AUX records say of losses becomes gaps: TRUNCATED, for
 * COLLISION as well; PARTIAL, bytes that are not in the file and those that no AUX record names,
 * RING_FULL (of a snapshot what is not in the file is WRAPPED: written over before it). Regions
 * that nothing can be made of (an unknown trace unit, one that flowtap_ete_unsupported refuses, a
 * trace ID that belongs to no CPU) are gaps NO_STREAM.
 *
 * Contexts get tid from CONTEXTIDR_EL2 (TRCCONFIGR.VMID with VMIDOPT: the kernel runs at EL2), else
 * from CONTEXTIDR_EL1, else from the buffer or from the switches, else it is the thread that ran when
 * the bytes were collected; pid from the side band. They have
 * no cpu where a thread's own bytes do not say where they were collected. Under CONTEXTIDR_EL2 EL1
 * is a guest's, of which no code is known; nor is any of EL0 of a thread that was seen at EL1
 * before: its own and the guest's cannot be told apart. Time is
 * that of the last timestamp where the counter is the virtual one and there is a TIME_CONV (before
 * the first one of a range: of that), else the end of the range.
 *
 * 0; what the sink returned below 0; -ENOMEM; another -errno of pread.
 */
int flowtap_perfdata_decode(struct flowtap_perfdata_decoder *decoder);
/* Current; *n of them, by CPU. */
const struct flowtap_perfdata_counts *
flowtap_perfdata_counts(struct flowtap_perfdata_decoder *decoder, size_t *n);
/*
 * CoreSight frames that are damaged, those in a row as one, in what was surveyed or decoded last.
 * They are no one CPU's, and options.cpu leaves none out: in the flow each is a gap BAD_PACKET of
 * every CPU that has bytes in the same range.
 */
uint64_t flowtap_perfdata_bad_frames(const struct flowtap_perfdata_decoder *decoder);
void flowtap_perfdata_decoder_free(struct flowtap_perfdata_decoder *decoder);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_PERFDATA_H */
