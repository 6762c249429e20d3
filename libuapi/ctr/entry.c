// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The entries of a sample, one after the other, to the flow.
 *
 * Nothing is said that the entries do not prove. An entry proves that its source executed (a
 * transfer) or was reached and did not complete (a trap), and that execution went on at its
 * target. What lies between a target and the next source is proven if the code allows a straight
 * line there, because any other path would have left an entry in between: this holds only where
 * every path is recorded (sample.c).
 *
 * User mode only: where execution went on after a trap is not recorded, as the kernel may have
 * sent the task elsewhere (a signal): what follows begins anew at the next source. With S mode,
 * traps have their handler as target and trap returns theirs, and the flow goes on in the other
 * mode (Smctr 6.1). Of a mode that is not recorded, the address is 0.
 */
#include "ctr/internal.h"
#include <inttypes.h>

#define TRIM_ENTRIES 4	/* a path makes CTR_PATH_LIMIT blocks of CTR_PATH_BYTES at most */
#define BOTH_MODES (1U << FLOWTAP_PRIVILEGE_U | 1U << FLOWTAP_PRIVILEGE_S)

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
	return flowtap_ctr_gap(&ctr->emit, &(struct flowtap_gap){
		.reason = ctr->owed,
		.size = UINT64_MAX,
		.detail = ctr->owed_detail,
	});
}

/* Why the path did not get there. */
static int send_failure(struct flowtap_ctr *ctr)
{
	return flowtap_ctr_gap(&ctr->emit, &(struct flowtap_gap){
		.reason = ctr->path.failure.reason,
		.size = UINT64_MAX,
		.address = ctr->path.failure.address,
		.detail = ctr->path.failure.detail,
	});
}

/* The path but for its last `keep` blocks, whose ends fell through. */
static int send_path(struct flowtap_ctr *ctr, size_t keep)
{
	struct flowtap_block *block;
	int status = 0;

	for (size_t i = 0; i + keep < ctr->path.n && status >= 0; i++) {
		block = ctr->path.steps[i];
		status = flowtap_ctr_send_block(&ctr->emit, block, false,
						block->address + block->size);
	}
	return status;
}

static int send_transfer(struct flowtap_ctr *ctr, const struct flowtap_transfer *transfer)
{
	return flowtap_ctr_send(&ctr->emit, &(struct flowtap_element){
		.kind = FLOWTAP_ELEMENT_TRANSFER,
		.transfer = *transfer,
	});
}

static int send_cycles(struct flowtap_ctr *ctr, uint64_t data)
{
	uint64_t supported = ctr_data_bits(&ctr->bits, ctr->emit.context.cpu);

	return flowtap_ctr_send(&ctr->emit, &(struct flowtap_element){
		.kind = FLOWTAP_ELEMENT_CYCLES,
		.cycles = {
			.count = flowtap_ctr_cycles(data),
			.at_least = flowtap_ctr_cycles_saturated(data, supported),
		},
	});
}

static int send_kind(struct flowtap_ctr *ctr, enum flowtap_element_kind kind)
{
	return flowtap_ctr_send(&ctr->emit, &(struct flowtap_element){ .kind = kind });
}

/* What is executed at `address` is, if both modes are recorded, executed in its mode. */
static int enter_mode_of(struct flowtap_ctr *ctr, uint64_t address)
{
	const struct flowtap_context *context = &ctr->emit.context;

	if (ctr->path.modes != BOTH_MODES)
		return 0;
	return flowtap_ctr_enter(&ctr->emit, context->pid, context->tid, context->cpu,
				 flowtap_path_mode(address));
}

/* The reason for what is missing while a mode ran that is not recorded. */
static enum flowtap_gap_reason elsewhere(const struct flowtap_ctr *ctr)
{
	return flowtap_ctr_records(ctr, FLOWTAP_PRIVILEGE_U) ? FLOWTAP_GAP_GUEST : FLOWTAP_GAP_USER;
}

/*
 * Whether execution came to `source` by a change of mode that has no entry. Firmware does that: an
 * exception that M mode takes and hands on to the kernel. `at` may lie in the other mode's
 * addresses itself, after a wild jump, but nothing can be executed there.
 */
static bool unseen(const struct flowtap_ctr *ctr, uint64_t source)
{
	return ctr->path.modes == BOTH_MODES && flowtap_path_mode(source) != ctr->emit.context.mode;
}

static int send_unseen(struct flowtap_ctr *ctr, uint64_t source)
{
	ctr->known = false;
	return flowtap_ctr_gap(&ctr->emit, &(struct flowtap_gap){
		.reason = FLOWTAP_GAP_TRAP,
		.size = UINT64_MAX,
		.address = ctr->at,
		.detail = flowtap_path_mode(source) == FLOWTAP_PRIVILEGE_S ?
			  "the way into the kernel was not recorded" :
			  "the way out of the kernel was not recorded",
	});
}

static inline void resume_at(struct flowtap_ctr *ctr, uint64_t before, uint64_t at)
{
	ctr->known = true;
	ctr->owes = false;
	ctr->at = at;
	ctr->before = before;
	if (ctr->mode != CTR_MODE_BLOCKS)
		owe(ctr, FLOWTAP_GAP_TRAP, "not all traps were recorded, there may be one here");
}

/* A target of 0: into a mode that is not recorded, until a trap leads out of it (table 7). */
static int end_trap_return(struct flowtap_ctr *ctr, const struct flowtap_transfer *transfer)
{
	int status = send_kind(ctr, FLOWTAP_ELEMENT_EXCEPTION_RETURN);

	if (status < 0)
		return status;
	if (transfer->target)
		return enter_mode_of(ctr, transfer->target);
	owe(ctr, elsewhere(ctr), NULL);
	return 0;
}

/* After a transfer that was proven, or that there is no reason to doubt. */
static inline int resume(struct flowtap_ctr *ctr, const struct flowtap_transfer *transfer)
{
	resume_at(ctr, transfer->source, transfer->target);
	return transfer->type == FLOWTAP_TRANSFER_TRAP_RETURN ? end_trap_return(ctr, transfer) : 0;
}

static inline int send_last(struct flowtap_ctr *ctr, const struct flowtap_transfer *transfer)
{
	struct flowtap_block *last = ctr->path.steps[ctr->path.n - 1];
	bool taken = transfer->type != FLOWTAP_TRANSFER_NOT_TAKEN;
	int status = flowtap_ctr_send_block(&ctr->emit, last, taken, transfer->target);

	ctr->sent = true;
	ctr->path.jump = last->direct ? last : NULL;
	return status < 0 ? status : resume(ctr, transfer);
}

/*
 * The transfer to which no path was proven: its own instruction was executed all the same if
 * the code has it. Where there is no code the record is believed; a record that contradicts the
 * code is not, so what follows begins anew. emitted: a gap already says what failed.
 */
static int decode_alone(struct flowtap_ctr *ctr, struct flowtap_transfer *transfer, bool emitted)
{
	int status = flowtap_path_single(&ctr->path, transfer), walked = status;

	ctr->known = false;
	if (walked == CTR_UNPROVEN)
		status = emitted ? 0 : send_failure(ctr);
	if (status < 0 ||
	    (walked == CTR_UNPROVEN && ctr->path.failure.reason == FLOWTAP_GAP_IMPOSSIBLE))
		return status;
	status = enter_mode_of(ctr, transfer->source);
	if (status < 0)
		return status;
	return walked ? resume(ctr, transfer) : send_last(ctr, transfer);
}

static int decode_transfer(struct flowtap_ctr *ctr, struct flowtap_transfer *transfer)
{
	bool emitted = ctr->known;
	int status;

	if (!ctr->known) {
		status = pay(ctr);
	} else if (unseen(ctr, transfer->source)) {
		status = send_unseen(ctr, transfer->source);
	} else {
		status = flowtap_path_transfer(&ctr->path, ctr->at, transfer);
		if (!status) {
			status = send_path(ctr, 1);
			return status < 0 ? status : send_last(ctr, transfer);
		}
		if (status > 0)
			status = send_failure(ctr);
	}
	return status < 0 ? status : decode_alone(ctr, transfer, emitted);
}

/* The path from the last transfer to a trap; *cause as flowtap_path_exception has it. */
static int decode_path_to_trap(struct flowtap_ctr *ctr, const struct flowtap_transfer *trap,
			       int *cause)
{
	struct ctr_path *path = &ctr->path;
	int status;

	if (trap->source != ctr->at && unseen(ctr, trap->source)) {
		status = send_unseen(ctr, trap->source);
		return status < 0 ? status : enter_mode_of(ctr, trap->source);
	}
	if (trap->type == FLOWTAP_TRANSFER_EXCEPTION)
		status = flowtap_path_exception(path, ctr->before, ctr->at, trap->source, cause);
	else
		status = flowtap_path_stop(path, ctr->at, trap->source);
	if (status < 0)
		return status;
	if (status)
		return send_failure(ctr);
	status = send_path(ctr, *cause < 0 ? 0 : 1);
	ctr->sent = *cause >= 0;
	if (status >= 0 && ctr->sent)
		status = flowtap_ctr_send_block(&ctr->emit, path->steps[path->n - 1], true, 0);
	return status;
}

/* The trap's source where nothing is known of the path to it. */
static int decode_arrival(struct flowtap_ctr *ctr, const struct flowtap_transfer *trap)
{
	int status = pay(ctr);

	return status < 0 ? status : enter_mode_of(ctr, trap->source);
}

/* Out of a mode that is not recorded. Who was known to be in one that is, was left unseen. */
static int decode_return(struct flowtap_ctr *ctr)
{
	if (ctr->known)
		owe(ctr, elsewhere(ctr), "the way there was not recorded");
	return pay(ctr);
}

/*
 * Where the trap led. User mode only: out of what is recorded, and back to anywhere. With S mode
 * a target of 0 is M mode's (MTE), which may return to anywhere as well; or, of an interrupt, the
 * module put the entry in when it found that an overflow of somebody else's counter had frozen
 * recording at its source, and what follows comes some time into that interrupt's handler. That
 * is lost to a freeze and not to the recorder, which only let recording go on.
 */
static int resume_after_trap(struct flowtap_ctr *ctr, const struct flowtap_transfer *trap)
{
	if (!flowtap_ctr_records(ctr, FLOWTAP_PRIVILEGE_S)) {
		owe(ctr, FLOWTAP_GAP_TRAP, NULL);
		return 0;
	}
	if (flowtap_path_mode(trap->target) == FLOWTAP_PRIVILEGE_S) {
		resume_at(ctr, 0, trap->target);
		return enter_mode_of(ctr, trap->target);
	}
	if (trap->target)
		owe(ctr, FLOWTAP_GAP_IMPOSSIBLE, "a trap into user mode");
	else if (trap->type == FLOWTAP_TRANSFER_INTERRUPT)
		owe(ctr, FLOWTAP_GAP_FROZEN, "the beginning of an interrupt was not recorded");
	else
		owe(ctr, FLOWTAP_GAP_TRAP, "M mode handled an exception");
	return 0;
}

static int decode_trap(struct flowtap_ctr *ctr, const struct flowtap_transfer *trap)
{
	int cause = -1, status;

	/* A call of a null pointer was at 0 itself when fetching from there failed. */
	if (!trap->source && flowtap_ctr_records(ctr, FLOWTAP_PRIVILEGE_S) &&
	    !(ctr->known && !ctr->at))
		status = decode_return(ctr);
	else if (ctr->known)
		status = decode_path_to_trap(ctr, trap, &cause);
	else
		status = decode_arrival(ctr, trap);
	if (status >= 0)
		status = flowtap_ctr_send(&ctr->emit, &(struct flowtap_element){
			.kind = FLOWTAP_ELEMENT_EXCEPTION,
			.exception = {
				.number = cause,
				.interrupt = trap->type == FLOWTAP_TRANSFER_INTERRUPT,
				.address = trap->source,
				/*
				 * No handler is in user mode: a gap says that the record is wrong.
				 */
				.target = flowtap_path_mode(trap->target) == FLOWTAP_PRIVILEGE_S ?
					  trap->target : 0,
			},
		});
	return status < 0 ? status : resume_after_trap(ctr, trap);
}

/*
 * Without types (user mode only) a target of 0 means a trap out of what is recorded. A call of a
 * null pointer looks the same and is then taken for one, which says less.
 */
static bool is_trap(const struct flowtap_transfer *transfer)
{
	if (!transfer->type)
		return !transfer->target;
	return transfer->type == FLOWTAP_TRANSFER_EXCEPTION ||
	       transfer->type == FLOWTAP_TRANSFER_INTERRUPT;
}

static inline int decode_entry(struct flowtap_ctr *ctr, const struct flowtap_entry *entry,
			       bool blocks)
{
	struct flowtap_transfer transfer = {
		.source = entry->source & ~1ULL,
		.target = entry->target & ~1ULL,
		.type = entry->data & CTR_DATA_TYPE,
		.mispredicted = entry->target & 1,
	};
	int status = 0;

	if (__builtin_expect(!(entry->source & 1) || transfer.type - 6U < 2, 0)) {
		ctr->known = false;
		ctr->owes = false;
		return flowtap_ctr_bad_record(&ctr->emit, ctr->path.time, entry->source & 1 ?
					      "an entry of a reserved type" :
					      "an entry that is not valid");
	}
	ctr->sent = false;
	if (!blocks)
		status = send_transfer(ctr, &transfer);
	if (status >= 0 && (blocks || ctr->mode != CTR_MODE_TRANSFERS))
		status = is_trap(&transfer) ? decode_trap(ctr, &transfer) :
					      decode_transfer(ctr, &transfer);
	ctr->emit.counts.transfers[transfer.type]++;
	/* It is said of the last block: not of another one's. */
	if (status >= 0 && transfer.mispredicted && blocks && ctr->sent)
		status = send_kind(ctr, FLOWTAP_ELEMENT_MISPREDICTED);
	if (status >= 0 && entry->data & CTR_DATA_CCV)
		status = send_cycles(ctr, entry->data);
	return status;
}

int flowtap_ctr_entries(struct flowtap_ctr *ctr, const struct flowtap_entry *entries, uint32_t nr)
{
	int status = 0;

	ctr->known = false;
	ctr->owes = false;
	for (uint32_t i = 0; i < nr && status >= 0; i++) {
		if (i % TRIM_ENTRIES == 0 && flowtap_blocks_trim(ctr->path.blocks))
			ctr->path.jump = NULL;
		status = decode_entry(ctr, &entries[i], ctr->mode == CTR_MODE_BLOCKS);
	}
	return status;
}

/*
 * The trap of an overflow is not recorded where it freezes the buffer (Smctr 6.5). Of user mode
 * only, any other trap is, and if the newest entry is none then recording had ended before. With
 * S mode any other is recorded too, and the end of the sample is somewhere in the module.
 */
int flowtap_ctr_tail(struct flowtap_ctr *ctr, const struct flowtap_record_sample *sample)
{
	uint16_t misc = sample->header.misc;
	int status;

	if (!(misc & FLOWTAP_MISC_USER && flowtap_ctr_records(ctr, FLOWTAP_PRIVILEGE_U)) &&
	    !(misc & FLOWTAP_MISC_KERNEL && flowtap_ctr_records(ctr, FLOWTAP_PRIVILEGE_S)))
		return 0;
	if (!sample->ip || !ctr->known)
		return 0;
	if (sample->ip & 1)
		return flowtap_ctr_bad_record(&ctr->emit, sample->time, "odd ip 0x%" PRIx64,
					      (uint64_t)sample->ip);
	if (!(sample->trigger & FLOWTAP_TRIGGER_OVERFLOW) ||
	    !(sample->control & FLOWTAP_SCTRCTL_LCOFIFRZ)) {
		if (flowtap_ctr_records(ctr, FLOWTAP_PRIVILEGE_S))
			return 0;
		return flowtap_ctr_gap(&ctr->emit, &(struct flowtap_gap){
			.reason = FLOWTAP_GAP_FROZEN,
			.until = sample->time,
			.size = UINT64_MAX,
			.address = ctr->at,
			.detail = "the trap into the kernel was not recorded",
		});
	}
	if (sample->ip != ctr->at && unseen(ctr, sample->ip))
		return send_unseen(ctr, sample->ip);
	status = flowtap_path_stop(&ctr->path, ctr->at, sample->ip);
	if (status < 0)
		return status;
	return status ? send_failure(ctr) : send_path(ctr, 0);
}
