// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * One sample: from its entries to the flow.
 *
 * Nothing is said that the entries do not prove. An entry proves that its source executed (a
 * transfer) or was reached and did not complete (a trap), and that execution went on at its
 * target. What lies between a target and the next source is proven if the code allows a straight
 * line there, because any other way would have left an entry in between: this holds only where
 * every way is recorded (way_of). Where execution went on after a trap is not recorded, as the
 * kernel may have sent the task elsewhere (a signal): what follows begins anew at the next source.
 */
#include <ctr_internal.h>
#include <inttypes.h>
#include <stdio.h>

enum way {
	WAY_BLOCKS,
	WAY_SOURCES,	/* the transfers, and the instruction of each, but nothing in between */
	WAY_TRANSFERS,	/* the transfers only */
	WAY_CALLSTACK,
};

/*
 * What a sample can become. This is the one place where that is decided, by the sctrctl it was
 * recorded with.
 *
 * RASEMU keeps calls that have not returned, which is a call stack. With an inhibited transfer
 * type a straight line may have a hole that looks possible; EXCINH, INTRINH and TRETINH are no
 * such bits as long as only U is recorded, since every trap is then external and ignores them
 * (Smctr 6.1.2). Custom bits may alter anything (7). Records of S and M mode want the kernel's
 * code. Without STE there may be a trap anywhere, and with it a redirection (a signal) that lies
 * in line with what was interrupted, so straight lines prove nothing; with BPFRZ the same is true
 * of breakpoints, which are not recorded (6.5).
 */
static enum way way_of(uint64_t control, const char **why)
{
	if (control & CTR_CONTROL_RASEMU)
		return WAY_CALLSTACK;
	if (control & (CTR_CONTROL_S | CTR_CONTROL_M)) {
		*why = "recorded in kernel mode as well";
		return WAY_TRANSFERS;
	}
	if (control & (CTR_CONTROL_TKBRINH | CTR_CONTROL_JUMPINH)) {
		*why = "transfer types were inhibited";
		return WAY_TRANSFERS;
	}
	if (control & CTR_CONTROL_CUSTOM) {
		*why = "a custom extension was enabled";
		return WAY_TRANSFERS;
	}
	if (!(control & CTR_CONTROL_STE) || control & CTR_CONTROL_BPFRZ)
		return WAY_SOURCES;
	return WAY_BLOCKS;
}

static int send(struct flowtap_ctr *ctr, const struct flowtap_element *element)
{
	return ctr->sink->element(ctr->sink, element);
}

static void owe(struct flowtap_ctr *ctr, enum flowtap_gap_reason reason, const char *detail)
{
	ctr->known = false;
	ctr->owes = true;
	ctr->owed = reason;
	ctr->owed_detail = detail;
}

static int pay(struct flowtap_ctr *ctr)
{
	if (!ctr->owes)
		return 0;
	ctr->owes = false;
	return flowtap_ctr_gap(ctr, &(struct flowtap_gap){
		.reason = ctr->owed,
		.size = UINT64_MAX,
		.detail = ctr->owed_detail,
	});
}

/* Why the walk did not get there. */
static int send_failure(struct flowtap_ctr *ctr)
{
	return flowtap_ctr_gap(ctr, &(struct flowtap_gap){
		.reason = ctr->walk.failure.reason,
		.size = UINT64_MAX,
		.address = ctr->walk.failure.address,
		.detail = ctr->walk.failure.detail,
	});
}

static inline int send_block(struct flowtap_ctr *ctr, struct flowtap_block *block, bool taken,
			     uint64_t target)
{
	block->executed++;
	ctr->counts.blocks++;
	ctr->counts.instructions += block->instructions;
	return ctr->sink->block(ctr->sink, block, taken, target);
}

/* The path but for its last `keep` blocks, whose ends fell through. */
static int send_path(struct flowtap_ctr *ctr, size_t keep)
{
	struct flowtap_block *block;
	int status = 0;

	for (size_t i = 0; i + keep < ctr->walk.n && status >= 0; i++) {
		block = ctr->walk.path[i];
		status = send_block(ctr, block, false, block->address + block->size);
	}
	return status;
}

static int send_transfer(struct flowtap_ctr *ctr, const struct flowtap_transfer *transfer)
{
	return send(ctr, &(struct flowtap_element){
		.kind = FLOWTAP_ELEMENT_TRANSFER,
		.transfer = *transfer,
	});
}

static int send_cycles(struct flowtap_ctr *ctr, uint32_t cpu, uint64_t data)
{
	uint64_t supported = cpu < CTR_CPUS ? ~ctr->absent[cpu] : UINT64_MAX;

	return send(ctr, &(struct flowtap_element){
		.kind = FLOWTAP_ELEMENT_CYCLES,
		.cycles = {
			.count = flowtap_ctr_cycles(data),
			.at_least = flowtap_ctr_cycles_saturated(data, supported),
		},
	});
}

/* After a transfer that was proven, or that there is no reason to doubt. */
static void go_on(struct flowtap_ctr *ctr, const struct flowtap_transfer *transfer)
{
	ctr->known = true;
	ctr->owes = false;
	ctr->at = transfer->target;
	ctr->before = transfer->source;
	if (!ctr->straight)
		owe(ctr, FLOWTAP_GAP_TRAP, "not all traps were recorded, there may be one here");
}

/*
 * The transfer whose way there was not proven: its own instruction was executed all the same if
 * the code has it. Where there is no code the record is believed; a record that contradicts the
 * code is not, so what follows begins anew. told: a gap says already what failed.
 */
static int decode_alone(struct flowtap_ctr *ctr, struct flowtap_transfer *transfer, bool told)
{
	int status = flowtap_walk_single(&ctr->walk, transfer);

	if (status < 0)
		return status;
	if (!status) {
		go_on(ctr, transfer);
		return send_block(ctr, ctr->walk.path[0],
				  transfer->type != FLOWTAP_TRANSFER_NOT_TAKEN, transfer->target);
	}
	if (ctr->walk.failure.reason == FLOWTAP_GAP_IMPOSSIBLE)
		ctr->known = false;
	else
		go_on(ctr, transfer);
	return told ? 0 : send_failure(ctr);
}

static int decode_transfer(struct flowtap_ctr *ctr, struct flowtap_transfer *transfer)
{
	bool told = false;
	int status;

	if (ctr->known) {
		status = flowtap_walk_transfer(&ctr->walk, ctr->at, transfer);
		if (status < 0)
			return status;
		if (!status) {
			go_on(ctr, transfer);
			status = send_path(ctr, 1);
			if (status < 0)
				return status;
			return send_block(ctr, ctr->walk.path[ctr->walk.n - 1],
					  transfer->type != FLOWTAP_TRANSFER_NOT_TAKEN,
					  transfer->target);
		}
		told = true;
		status = send_failure(ctr);
	} else {
		status = pay(ctr);
	}
	return status < 0 ? status : decode_alone(ctr, transfer, told);
}

/* The way from the last transfer up to a trap; *cause as flowtap_walk_exception has it. */
static int decode_way_to_trap(struct flowtap_ctr *ctr, const struct flowtap_transfer *trap,
			      int *cause)
{
	struct ctr_walk *walk = &ctr->walk;
	int status;

	if (trap->type == FLOWTAP_TRANSFER_EXCEPTION)
		status = flowtap_walk_exception(walk, ctr->before, ctr->at, trap->source, cause);
	else
		status = flowtap_walk_stop(walk, ctr->at, trap->source);
	if (status < 0)
		return status;
	if (status)
		return send_failure(ctr);
	status = send_path(ctr, *cause < 0 ? 0 : 1);
	if (status >= 0 && *cause >= 0)
		status = send_block(ctr, walk->path[walk->n - 1], true, 0);
	return status;
}

static int decode_trap(struct flowtap_ctr *ctr, const struct flowtap_transfer *trap)
{
	int cause = -1, status;

	if (ctr->known)
		status = decode_way_to_trap(ctr, trap, &cause);
	else
		status = pay(ctr);
	if (status < 0)
		return status;
	owe(ctr, FLOWTAP_GAP_TRAP, NULL);
	return send(ctr, &(struct flowtap_element){
		.kind = FLOWTAP_ELEMENT_EXCEPTION,
		.exception = {
			.number = cause,
			.interrupt = trap->type == FLOWTAP_TRANSFER_INTERRUPT,
			.address = trap->source,
			.target = trap->target,
		},
	});
}

/*
 * Without types a target of 0 means a trap out of what is recorded. A call of a null pointer looks
 * the same and is then taken for one, which says less.
 */
static bool is_trap(const struct flowtap_transfer *transfer)
{
	if (!transfer->type)
		return !transfer->target;
	return transfer->type == FLOWTAP_TRANSFER_EXCEPTION ||
	       transfer->type == FLOWTAP_TRANSFER_INTERRUPT;
}

static int decode_entry(struct flowtap_ctr *ctr, enum way way, uint32_t cpu,
			const struct flowtap_entry *entry)
{
	struct flowtap_transfer transfer = {
		.source = entry->source & ~1ULL,
		.target = entry->target & ~1ULL,
		.type = entry->data & CTR_DATA_TYPE,
		.mispredicted = entry->target & 1,
	};
	int status = 0;

	if (!(entry->source & 1) || transfer.type == 6 || transfer.type == 7) {
		ctr->known = false;
		ctr->owes = false;
		return flowtap_ctr_bad_record(ctr, ctr->walk.time, entry->source & 1 ?
					      "an entry of a reserved type" :
					      "an entry that is not valid");
	}
	if (way == WAY_SOURCES || way == WAY_TRANSFERS)
		status = send_transfer(ctr, &transfer);
	if (status >= 0 && way != WAY_TRANSFERS)
		status = is_trap(&transfer) ? decode_trap(ctr, &transfer) :
					      decode_transfer(ctr, &transfer);
	ctr->counts.transfers[transfer.type]++;
	if (status >= 0 && entry->data & CTR_DATA_CCV)
		status = send_cycles(ctr, cpu, entry->data);
	return status;
}

/*
 * From the newest transfer to where the trigger interrupted the task. The trap of an overflow is
 * not recorded where it freezes the buffer (Smctr 6.5); any other trap out of user mode is, and
 * if the newest entry is none then recording had ended before.
 */
static int decode_tail(struct flowtap_ctr *ctr, const struct flowtap_record_sample *sample)
{
	int status;

	if (!(sample->header.misc & FLOWTAP_MISC_USER) || !sample->ip || !ctr->known)
		return 0;
	if (sample->ip & 1)
		return flowtap_ctr_bad_record(ctr, sample->time, "odd ip 0x%" PRIx64,
					      (uint64_t)sample->ip);
	if (!(sample->trigger & FLOWTAP_TRIGGER_OVERFLOW) ||
	    !(sample->control & CTR_CONTROL_LCOFIFRZ))
		return flowtap_ctr_gap(ctr, &(struct flowtap_gap){
			.reason = FLOWTAP_GAP_FROZEN,
			.until = sample->time,
			.size = UINT64_MAX,
			.address = ctr->at,
			.detail = "the trap into the kernel was not recorded",
		});
	status = flowtap_walk_stop(&ctr->walk, ctr->at, sample->ip);
	if (status < 0)
		return status;
	return status ? send_failure(ctr) : send_path(ctr, 0);
}

static int decode_callstack(struct flowtap_ctr *ctr, const struct flowtap_record_sample *sample)
{
	const struct flowtap_entry *entries = (const struct flowtap_entry *)(sample + 1);
	uint64_t frames[256 + 1];
	size_t n = 0;

	if (sample->header.misc & FLOWTAP_MISC_USER && sample->ip)
		frames[n++] = sample->ip;
	for (uint32_t i = sample->nr; i--;) {
		ctr->counts.transfers[entries[i].data & CTR_DATA_TYPE]++;
		if (entries[i].source & 1)
			frames[n++] = entries[i].source & ~1ULL;
	}
	return send(ctr, &(struct flowtap_element){
		.kind = FLOWTAP_ELEMENT_CALLSTACK,
		.callstack = { .frames = frames, .n = n },
	});
}

/* "also wrapped, ring_full" for the causes but the lowest; "" for none. */
static void name_others(uint32_t causes, char *text, size_t room)
{
	const char *before = "also ";
	size_t n = 0;

	*text = '\0';
	for (causes &= causes - 1; causes && n < room; causes &= causes - 1) {
		n += snprintf(text + n, room - n, "%s%s", before,
			      flowtap_gap_name(FLOWTAP_GAP_START + __builtin_ctz(causes)));
		before = ", ";
	}
}

/*
 * What lies before the sample: the reason, and a detail for people or "". In any case it is not
 * known where it begins, as the trigger of the sample before was a trap itself.
 */
static enum flowtap_gap_reason reason_before(const struct flowtap_record_sample *sample,
					     const struct ctr_task *before, bool seen,
					     char *detail, size_t room)
{
	uint32_t causes = sample->loss & ((1U << FLOWTAP_CAUSE_MAX) - 1);

	name_others(causes, detail, room);
	if (causes)
		return FLOWTAP_GAP_START + __builtin_ctz(causes);
	if (sample->loss) {
		snprintf(detail, room, "cause 0x%x is not known here", sample->loss);
		return FLOWTAP_GAP_HARDWARE;
	}
	if (sample->nr == sample->depth)
		return FLOWTAP_GAP_WRAPPED;
	if (!seen) {
		snprintf(detail, room, "the task's sample before is not here");
		return FLOWTAP_GAP_START;
	}
	if (before->sequence + 1 == sample->sequence)
		return FLOWTAP_GAP_TRAP;
	snprintf(detail, room, "sequence %" PRIu64 " follows %" PRIu64, (uint64_t)sample->sequence,
		 before->sequence);
	return sample->sequence > before->sequence ? FLOWTAP_GAP_RING_FULL : FLOWTAP_GAP_BAD_RECORD;
}

/* The head of a sample: who, when, and what lies before. *since: the task's sample before. */
static int begin(struct flowtap_ctr *ctr, const struct flowtap_record_sample *sample,
		 uint64_t *since)
{
	const struct ctr_task now = { sample->tid, sample->sequence, sample->time };
	enum flowtap_gap_reason reason;
	struct ctr_task before;
	char detail[160];
	int status;
	bool seen;

	seen = flowtap_ctr_tasks_follow(&ctr->tasks, &now, &before);
	*since = before.time <= sample->time ? before.time : 0;
	status = flowtap_ctr_enter(ctr, sample->pid, sample->tid, sample->cpu);
	if (status >= 0)
		status = send(ctr, &(struct flowtap_element){
			.kind = FLOWTAP_ELEMENT_TIME,
			.time = sample->time,
		});
	if (status < 0)
		return status;
	reason = reason_before(sample, &before, seen, detail, sizeof(detail));
	return flowtap_ctr_gap(ctr, &(struct flowtap_gap){
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
	enum way way = way_of(sample->control, &why);
	uint64_t since;
	int status;

	ctr->counts.samples++;
	ctr->counts.entries += sample->nr;
	status = begin(ctr, sample, &since);
	if (status >= 0 && way == WAY_CALLSTACK)
		return decode_callstack(ctr, sample);
	if (status >= 0 && way == WAY_TRANSFERS)
		status = flowtap_ctr_gap(ctr, &(struct flowtap_gap){
			.reason = FLOWTAP_GAP_FILTERED,
			.size = UINT64_MAX,
			.detail = why,
		});
	ctr->known = false;
	ctr->owes = false;
	ctr->straight = way == WAY_BLOCKS;
	flowtap_walk_begin(&ctr->walk, sample->pid, sample->time, since,
			   sample->control & CTR_CONTROL_NTBREN);
	for (uint32_t i = 0; i < sample->nr && status >= 0; i++) {
		flowtap_blocks_trim(ctr->walk.blocks);
		status = decode_entry(ctr, way, sample->cpu, &entries[i]);
	}
	return status < 0 ? status : decode_tail(ctr, sample);
}
