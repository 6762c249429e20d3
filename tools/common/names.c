// SPDX-License-Identifier: GPL-2.0-only
/* Tables of the names of sources, modes, causes, triggers, flags and registers' bits. */
#include "common/names.h"

#include <flowtap/archive.h>
#include <flowtap/flow.h>
#include <inttypes.h>
#include <linux/flowtap.h>
#include <linux/perf_event.h>

const struct name source_names[] = {
	{ FLOWTAP_SOURCE_NONE, "none" },
	{ FLOWTAP_SOURCE_SOFT, "soft" },
	{ FLOWTAP_SOURCE_CTR, "ctr" },
	{ FLOWTAP_SOURCE_ETE, "ete" },
	{ 0, NULL }
};

const struct name reason_names[] = {
	{ FLOWTAP_REASON_NONE, "none" },
	{ FLOWTAP_REASON_ABSENT, "absent" },
	{ FLOWTAP_REASON_OWNED, "owned" },
	{ FLOWTAP_REASON_OFFLINE, "offline" },
	{ FLOWTAP_REASON_UNUSABLE, "unusable" },
	{ 0, NULL }
};

const struct name mode_bits[] = {
	{ FLOWTAP_MODE_USER, "user" },
	{ FLOWTAP_MODE_KERNEL, "kernel" },
	{ 0, NULL }
};

const struct name flag_bits[] = {
	{ FLOWTAP_GROUP, "group" },
	{ FLOWTAP_INHERIT, "inherit" },
	{ FLOWTAP_ENABLE_ON_EXEC, "enable_on_exec" },
	{ FLOWTAP_OVERWRITE, "overwrite" },
	{ FLOWTAP_CPU_WIDE, "cpu_wide" },
	{ FLOWTAP_EXCLUDE_GUEST, "exclude_guest" },
	{ FLOWTAP_ENDLESS, "endless" },
	{ FLOWTAP_EXCLUDE, "exclude" },
	{ 0, NULL }
};

const struct name trigger_bits[] = {
	{ FLOWTAP_TRIGGER_SNAPSHOT, "snapshot" },
	{ FLOWTAP_TRIGGER_OVERFLOW, "overflow" },
	{ FLOWTAP_TRIGGER_TIMER, "timer" },
	{ FLOWTAP_TRIGGER_SWITCH, "switch" },
	{ 0, NULL }
};

#define SCTRCTL(name) { FLOWTAP_SCTRCTL_##name, #name }

const struct name control_bits[] = {
	SCTRCTL(U),
	SCTRCTL(S),
	SCTRCTL(RASEMU),
	SCTRCTL(STE),
	SCTRCTL(BPFRZ),
	SCTRCTL(LCOFIFRZ),
	SCTRCTL(EXCINH),
	SCTRCTL(INTRINH),
	SCTRCTL(TRETINH),
	SCTRCTL(NTBREN),
	SCTRCTL(TKBRINH),
	SCTRCTL(INDCALLINH),
	SCTRCTL(DIRCALLINH),
	SCTRCTL(INDJMPINH),
	SCTRCTL(DIRJMPINH),
	SCTRCTL(CORSWAPINH),
	SCTRCTL(RETINH),
	SCTRCTL(INDLJMPINH),
	SCTRCTL(DIRLJMPINH),
	{ 0, NULL }
};

const struct name data_bits[] = {
	{ 0xfULL << 0, "TYPE" },
	{ 1ULL << 15, "CCV" },
	{ 0xfffULL << 16, "CCM" },
	{ 0xfULL << 28, "CCE" },
	{ 0, NULL }
};

const struct name target_bits[] = {
	{ 1ULL << 0, "MISP" },
	{ 0, NULL }
};

#define TRCCONFIGR(name) { FLOWTAP_TRCCONFIGR_##name, #name }

const struct name config_bits[] = {
	TRCCONFIGR(BB),
	TRCCONFIGR(CCI),
	TRCCONFIGR(CID),
	TRCCONFIGR(VMID),
	TRCCONFIGR(TS),
	TRCCONFIGR(RS),
	TRCCONFIGR(VMIDOPT),
	{ 0, NULL }
};

const struct name block_names[] = {
	{ FLOWTAP_ARCHIVE_INFO, "info" },
	{ FLOWTAP_ARCHIVE_QUERY, "query" },
	{ FLOWTAP_ARCHIVE_CONFIGURE, "configure" },
	{ FLOWTAP_ARCHIVE_RING, "ring" },
	{ FLOWTAP_ARCHIVE_AUX, "aux" },
	{ FLOWTAP_ARCHIVE_MAPPING, "mapping" },
	{ FLOWTAP_ARCHIVE_TASK, "task" },
	{ FLOWTAP_ARCHIVE_BYTES, "bytes" },
	{ FLOWTAP_ARCHIVE_LOST, "lost" },
	{ FLOWTAP_ARCHIVE_STATS, "stats" },
	{ FLOWTAP_ARCHIVE_END, "end" },
	{ FLOWTAP_ARCHIVE_KERNEL, "kernel" },
	{ FLOWTAP_ARCHIVE_SYMBOLS, "symbols" },
	{ FLOWTAP_ARCHIVE_FILE, "file" },
	{ FLOWTAP_ARCHIVE_BEGUN, "begun" },
	{ FLOWTAP_ARCHIVE_TRIGGER, "trigger" },
	{ 0, NULL }
};

const struct name trigger_cause_names[] = {
	{ FLOWTAP_ARCHIVE_CAUSE_ASKED, "asked" },
	{ FLOWTAP_ARCHIVE_CAUSE_CRASH, "crash" },
	{ FLOWTAP_ARCHIVE_CAUSE_UPROBE, "uprobe" },
	{ FLOWTAP_ARCHIVE_CAUSE_TRACEPOINT, "tracepoint" },
	{ FLOWTAP_ARCHIVE_CAUSE_LATENCY, "latency" },
	{ 0, NULL }
};

const struct name record_names[] = {
	{ FLOWTAP_RECORD_SAMPLE, "SAMPLE" },
	{ FLOWTAP_RECORD_GAP, "GAP" },
	{ FLOWTAP_RECORD_LOST, "LOST" },
	{ FLOWTAP_RECORD_SWITCH, "SWITCH" },
	{ FLOWTAP_RECORD_CLOCK, "CLOCK" },
	{ FLOWTAP_RECORD_AUX, "AUX" },
	{ FLOWTAP_RECORD_ITRACE_START, "ITRACE_START" },
	{ 0, NULL }
};

const struct name compression_names[] = {
	{ FLOWTAP_COMPRESSION_NONE, "plain" },
	{ FLOWTAP_COMPRESSION_ZSTD, "zstd" },
	{ 0, NULL }
};

const struct name kernel_bits[] = {
	{ FLOWTAP_KERNEL_NEW, "new" },
	{ FLOWTAP_KERNEL_GONE, "gone" },
	{ 0, NULL }
};

const struct name task_names[] = {
	{ FLOWTAP_TASK_FORK, "fork" },
	{ FLOWTAP_TASK_EXEC, "exec" },
	{ FLOWTAP_TASK_COMM, "comm" },
	{ FLOWTAP_TASK_EXIT, "exit" },
	{ 0, NULL }
};

const struct name event_type_names[] = {
	{ PERF_TYPE_HARDWARE, "hardware" },
	{ PERF_TYPE_SOFTWARE, "software" },
	{ PERF_TYPE_HW_CACHE, "cache" },
	{ PERF_TYPE_RAW, "raw" },
	{ 0, NULL }
};

/* The reasons of gaps begin with the causes (flowtap/flow.h). */
static const char *const meanings[FLOWTAP_GAP_REASONS] = {
	[FLOWTAP_CAUSE_START] = "nothing was recorded before",
	[FLOWTAP_CAUSE_WRAPPED] = "the hardware buffer was full, older transfers went",
	[FLOWTAP_CAUSE_SWITCH] = "dropped when the task left the CPU",
	[FLOWTAP_CAUSE_FROZEN] = "another's overflow or breakpoint froze the recording",
	[FLOWTAP_CAUSE_DISPLACED] = "another stream held the hardware",
	[FLOWTAP_CAUSE_RING_FULL] = "the reader was too slow for the ring",
	[FLOWTAP_CAUSE_DISABLED] = "recording was off in between",
	[FLOWTAP_CAUSE_NO_STREAM] = "ran on a CPU that is not recorded",
	[FLOWTAP_CAUSE_THROTTLED] = "the kernel stopped the event for a while",
	[FLOWTAP_CAUSE_OFFLINE] = "the CPU went offline or lost its state",
	[FLOWTAP_CAUSE_SKID] = "the trigger came late, outside the recorded modes",
	[FLOWTAP_CAUSE_EXEC] = "a set-uid program was executed and is not recorded",
	[FLOWTAP_CAUSE_HARDWARE] = "the hardware reported a loss",
	[FLOWTAP_CAUSE_MEMORY] = "a new task could not be followed for lack of memory",
	[FLOWTAP_GAP_STROBE] = "the strobe rested, as was asked for",
	[FLOWTAP_GAP_EXCLUDED] = "an excluded task ran, as was asked for",
	[FLOWTAP_GAP_TRAP] = "after a trap: where the program went on is not recorded",
	[FLOWTAP_GAP_NO_IMAGE] = "no code is known at that address",
	[FLOWTAP_GAP_NO_CODE] =
		"the file with the code is missing, other than recorded, or too short",
	[FLOWTAP_GAP_IMPOSSIBLE] = "the code there cannot have done what was recorded",
	[FLOWTAP_GAP_BAD_RECORD] = "a record is damaged",
	[FLOWTAP_GAP_FILTERED] = "transfers were left out on purpose: no blocks possible",
	[FLOWTAP_GAP_RECORDER] = "flowtap's own code in the kernel is not recorded",
	[FLOWTAP_GAP_GUEST] = "a virtual machine ran, which is not recorded",
	[FLOWTAP_GAP_USER] = "user mode ran, and only the kernel was recorded",
	[FLOWTAP_GAP_OVERFLOW] = "the trace unit's own buffer overflowed",
	[FLOWTAP_GAP_UNSYNCED] = "bytes before a point where decoding can begin",
	[FLOWTAP_GAP_BAD_PACKET] = "a packet that is not in the specification, or cannot be there",
	[FLOWTAP_GAP_NO_ADDRESS] = "the target of an indirect branch, or of a BF, is not in the trace",
	[FLOWTAP_GAP_UNRESOLVED] = "speculation or a transaction of which the end is missing",
	[FLOWTAP_GAP_TRUNCATED] = "the trace buffer was full or ends within a packet or frame",
};

const char *name_of(const struct name *table, uint64_t value)
{
	for (; table->name; table++)
		if (table->value == value)
			return table->name;
	return "reserved";
}

void print_bits(FILE *file, const struct name *table, uint64_t bits, const char *separator)
{
	const char *before = "";

	if (!bits) {
		fputs("none", file);
		return;
	}
	for (; table->name; table++) {
		if (!(bits & table->value))
			continue;
		fprintf(file, "%s%s", before, table->name);
		before = separator;
		bits &= ~table->value;
	}
	if (bits)
		fprintf(file, "%s0x%" PRIx64, before, bits);
}

void json_bits(struct json *json, const char *key, const struct name *table, uint64_t bits)
{
	json_open(json, key, '[');
	for (; table->name; table++) {
		if (bits & table->value)
			json_string(json, NULL, table->name);
		bits &= ~table->value;
	}
	if (bits)
		json_hex(json, NULL, bits);
	json_close(json, ']');
}

const char *cause_name(uint32_t cause)
{
	return cause < FLOWTAP_CAUSE_MAX ? flowtap_gap_name((enum flowtap_gap_reason)cause)
					 : "reserved";
}

const char *cause_meaning(uint32_t cause)
{
	return cause < FLOWTAP_GAP_REASONS ? meanings[cause] : "unknown to this version";
}
