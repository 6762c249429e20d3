// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* One sample: what it can become, and what lies before it. Its entries are in entry.c. */
#include "ctr/internal.h"
#include <inttypes.h>
#include <stdio.h>

/* A control without any mode is of a source that has none, which makes up user programs. */
static unsigned int modes_of(uint64_t control)
{
	unsigned int modes = (control & FLOWTAP_SCTRCTL_U ? 1U << FLOWTAP_PRIVILEGE_U : 0) |
			     (control & FLOWTAP_SCTRCTL_S ? 1U << FLOWTAP_PRIVILEGE_S : 0);

	return modes ? modes : 1U << FLOWTAP_PRIVILEGE_U;
}

/*
 * What a sample can become. This is the one place where that is decided, by the sctrctl it was
 * recorded with.
 *
 * RASEMU keeps calls that have not returned, which is a call stack. With an inhibited transfer
 * type a straight line may have a hole that looks possible; EXCINH, INTRINH and TRETINH are no
 * such bits as long as only U is recorded, since every trap is then external and ignores them
 * (Smctr 6.1.2). Custom bits may alter anything (7). Without STE, and S, there may be a trap
 * anywhere, and with it a redirection (a signal) that lies in line with what was interrupted, so
 * straight lines prove nothing; with BPFRZ the same is true of breakpoints, which are not recorded
 * (6.5).
 */
static enum ctr_mode mode_of(uint64_t control, const char **why)
{
	if (control & FLOWTAP_SCTRCTL_RASEMU)
		return CTR_MODE_CALLSTACK;
	if (control & FLOWTAP_SCTRCTL_M) {
		*why = "recorded in M mode as well";
		return CTR_MODE_TRANSFERS;
	}
	if (control & (FLOWTAP_SCTRCTL_TKBRINH | CTR_JUMPINH) ||
	    (control & FLOWTAP_SCTRCTL_S && control & CTR_TRAPINH)) {
		*why = "transfer types were inhibited";
		return CTR_MODE_TRANSFERS;
	}
	if (control & CTR_CUSTOM) {
		*why = "a custom extension was enabled";
		return CTR_MODE_TRANSFERS;
	}
	if (!(control & (FLOWTAP_SCTRCTL_STE | FLOWTAP_SCTRCTL_S)) ||
	    control & FLOWTAP_SCTRCTL_BPFRZ)
		return CTR_MODE_SOURCES;
	return CTR_MODE_BLOCKS;
}

/* Hardware need not report types, and then the trap of an instruction looks like its jump. */
static bool traps_unknown(const struct flowtap_record_sample *sample)
{
	const struct flowtap_entry *entries = (const struct flowtap_entry *)(sample + 1);

	if (!(sample->control & FLOWTAP_SCTRCTL_S))
		return false;
	for (uint32_t i = 0; i < sample->nr; i++) {
		if (!(entries[i].data & CTR_DATA_TYPE))
			return true;
	}
	return false;
}

/*
 * The mode that the sample begins in. That of a task that was seen before changes after the gap,
 * so that nobody takes it for the doing of the sample before.
 */
static enum flowtap_privilege first_mode(const struct flowtap_ctr *ctr,
				    const struct flowtap_record_sample *sample)
{
	const struct flowtap_entry *entries = (const struct flowtap_entry *)(sample + 1);
	const struct flowtap_context *context = &ctr->emit.context;
	unsigned int modes = modes_of(sample->control);

	if (modes == 1U << FLOWTAP_PRIVILEGE_U)
		return FLOWTAP_PRIVILEGE_U;
	if (modes == 1U << FLOWTAP_PRIVILEGE_S)
		return FLOWTAP_PRIVILEGE_S;
	if (ctr->emit.has_context && context->pid == sample->pid && context->tid == sample->tid)
		return context->mode;
	if (!sample->nr || entries[0].source <= 1)
		return FLOWTAP_PRIVILEGE_S;
	return flowtap_path_mode(entries[0].source);
}

static int decode_callstack(struct flowtap_ctr *ctr, const struct flowtap_record_sample *sample)
{
	const struct flowtap_entry *entries = (const struct flowtap_entry *)(sample + 1);
	uint64_t frames[256 + 1];
	size_t n = 0;

	if (sample->header.misc & (FLOWTAP_MISC_USER | FLOWTAP_MISC_KERNEL))
		frames[n++] = sample->ip;
	for (uint32_t i = sample->nr; i--;) {
		ctr->emit.counts.transfers[entries[i].data & CTR_DATA_TYPE]++;
		if (entries[i].source & 1)
			frames[n++] = entries[i].source & ~1ULL;
	}
	return flowtap_ctr_send(&ctr->emit, &(struct flowtap_element){
		.kind = FLOWTAP_ELEMENT_CALLSTACK,
		.callstack = { .frames = frames, .n = n },
	});
}

/* "also wrapped, ring_full" for the causes but the lowest; "" for none. */
static void name_others(uint32_t causes, char *text, size_t capacity)
{
	const char *before = "also ";
	size_t n = 0;

	*text = '\0';
	for (causes &= causes - 1; causes && n < capacity; causes &= causes - 1) {
		n += snprintf(text + n, capacity - n, "%s%s", before,
			      flowtap_gap_name(FLOWTAP_GAP_START + __builtin_ctz(causes)));
		before = ", ";
	}
}

/*
 * What lies before the sample: the reason, and a detail for people or "". In any case it is not
 * known where it begins: the trigger of the sample before was a trap itself, or, where the kernel
 * is recorded, what followed was the recorder's own code. A call stack has nothing to do with the
 * one before.
 */
static enum flowtap_gap_reason reason_before(enum ctr_mode mode,
					     const struct flowtap_record_sample *sample,
					     const struct ctr_task *before, bool seen, char *detail,
					     size_t capacity)
{
	uint32_t causes = sample->loss & ((1U << FLOWTAP_CAUSE_MAX) - 1);

	name_others(causes, detail, capacity);
	if (causes)
		return FLOWTAP_GAP_START + __builtin_ctz(causes);
	if (sample->loss) {
		snprintf(detail, capacity, "cause 0x%x is not known here", sample->loss);
		return FLOWTAP_GAP_HARDWARE;
	}
	if (sample->nr == sample->depth)
		return FLOWTAP_GAP_WRAPPED;
	if (!seen) {
		snprintf(detail, capacity, "the sample before is not here");
		return FLOWTAP_GAP_START;
	}
	if (before->sequence + 1 == sample->sequence && mode == CTR_MODE_CALLSTACK) {
		snprintf(detail, capacity, "only calls that have not returned were recorded");
		return FLOWTAP_GAP_FILTERED;
	}
	if (before->sequence + 1 == sample->sequence)
		return sample->control & FLOWTAP_SCTRCTL_S ? FLOWTAP_GAP_RECORDER :
							     FLOWTAP_GAP_TRAP;
	snprintf(detail, capacity, "sequence %" PRIu64 " follows %" PRIu64,
		 (uint64_t)sample->sequence, before->sequence);
	return sample->sequence > before->sequence ? FLOWTAP_GAP_RING_FULL : FLOWTAP_GAP_BAD_RECORD;
}

/* The head of a sample: who, when, and what lies before. *since: the sample before. */
static int begin(struct flowtap_ctr *ctr, const struct flowtap_record_sample *sample,
		 uint64_t *since)
{
	bool cpu_wide = sample->header.misc & FLOWTAP_MISC_CPU_WIDE;
	const struct ctr_task now = {
		.key = cpu_wide ? CTR_TASK_CPU | sample->cpu : sample->tid,
		.sequence = sample->sequence,
		.time = sample->time,
	};
	enum flowtap_gap_reason reason;
	struct ctr_task before;
	char detail[160];
	int status;
	bool seen;

	seen = flowtap_ctr_tasks_follow(&ctr->tasks, &now, &before);
	*since = before.time <= sample->time ? before.time : 0;
	status = flowtap_ctr_enter(&ctr->emit, sample->pid, sample->tid, sample->cpu,
				   first_mode(ctr, sample));
	if (status >= 0)
		status = flowtap_ctr_send(&ctr->emit, &(struct flowtap_element){
			.kind = FLOWTAP_ELEMENT_TIME,
			.time = sample->time,
		});
	if (status < 0)
		return status;
	reason = reason_before(ctr->mode, sample, &before, seen, detail, sizeof(detail));
	return flowtap_ctr_gap(&ctr->emit, &(struct flowtap_gap){
		.reason = reason,
		.since = before.time,
		.until = sample->time,
		.size = UINT64_MAX,
		.detail = *detail ? detail : NULL,
	});
}

int flowtap_ctr_sample(struct flowtap_ctr *ctr, const struct flowtap_record_sample *sample)
{
	const struct flowtap_entry *entries = (const struct flowtap_entry *)(sample + 1);
	const char *why = NULL;
	uint64_t since;
	int status;

	ctr->mode = mode_of(sample->control, &why);
	if (ctr->mode < CTR_MODE_TRANSFERS && traps_unknown(sample)) {
		ctr->mode = CTR_MODE_TRANSFERS;
		why = "the hardware does not tell traps from jumps";
	}
	ctr->emit.counts.samples++;
	ctr->emit.counts.entries += sample->nr;
	status = begin(ctr, sample, &since);
	if (status >= 0 && ctr->mode == CTR_MODE_CALLSTACK)
		return decode_callstack(ctr, sample);
	if (status >= 0 && ctr->mode == CTR_MODE_TRANSFERS)
		status = flowtap_ctr_gap(&ctr->emit, &(struct flowtap_gap){
			.reason = FLOWTAP_GAP_FILTERED,
			.size = UINT64_MAX,
			.detail = why,
		});
	flowtap_path_begin(&ctr->path, sample->pid, sample->time, since, modes_of(sample->control),
			   sample->control & FLOWTAP_SCTRCTL_NTBREN);
	if (status >= 0)
		status = flowtap_ctr_entries(ctr, entries, sample->nr);
	return status < 0 ? status : flowtap_ctr_tail(ctr, sample);
}
