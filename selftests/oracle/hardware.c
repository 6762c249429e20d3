// SPDX-License-Identifier: GPL-2.0-only
/*
 * A model of one hart's CTR buffer: which transfers qualify (Smctr tables 7 and 8), and what
 * writes to its registers change.
 */
#include "hardware.h"

#include <string.h>

#include "opcode.h"

#define CONTROL_NTBREN (1ULL << 36)
#define STATUS_WRPTR 0xffULL
#define SELECT_FIRST 0x200
#define SOURCE_V 1ULL

static bool is_trap(unsigned int type)
{
	return type == TYPE_EXCEPTION || type == TYPE_INTERRUPT;
}

static bool is_call(unsigned int type)
{
	return type == TYPE_INDIRECT_CALL || type == TYPE_DIRECT_CALL;
}

/* sctrctl's inhibit bits stand at 32 + type; of not-taken branches it is an enable bit. */
static bool inhibited(uint64_t control, unsigned int type)
{
	if (type == TYPE_NOT_TAKEN)
		return !(control & CONTROL_NTBREN);
	return control >> (32 + type) & 1;
}

/* Table 7, table 8. *external: a trap out of what is recorded, which STE governs. */
static bool crosses(uint64_t control, struct transfer *transfer, bool *external)
{
	bool from = ctr_enabled(control, transfer->from);
	bool to = ctr_enabled(control, transfer->to);

	*external = false;
	if (from && to)
		return true;
	if (is_trap(transfer->type)) {
		if (from) {
			*external = true;
			transfer->target = 0;
			/* mctrctl.MTE is clear: S mode cannot set it. */
			return transfer->to == PRIVILEGE_S && control & ORACLE_CONTROL_STE;
		}
		transfer->source = 0;
		return to;
	}
	transfer->target = 0;
	return from;
}

bool ctr_qualifies(uint64_t control, struct transfer *transfer)
{
	bool external;

	if (!crosses(control, transfer, &external))
		return false;
	if (control & ORACLE_CONTROL_RASEMU)
		return is_call(transfer->type) || transfer->type == TYPE_SWAP ||
		       transfer->type == TYPE_RETURN;
	return external || !inhibited(control, transfer->type);
}

static struct entry *move(struct ctr *ctr, int by)
{
	unsigned int mask = ctr_depth(ctr) - 1;
	uint64_t at = ctr->status & mask, to = (at + by) & mask;

	ctr->status = (ctr->status & ~STATUS_WRPTR) | to;
	return &ctr->entries[by < 0 ? to : at];
}

bool ctr_record(struct ctr *ctr, const struct transfer *transfer, const struct origin *origin)
{
	struct transfer as = *transfer;

	if (ctr_frozen(ctr) || !ctr_qualifies(ctr->control, &as))
		return false;
	if (ctr->control & ORACLE_CONTROL_RASEMU) {
		if (as.type == TYPE_RETURN) {
			move(ctr, -1)->valid = false;
			return false;
		}
		if (as.type == TYPE_SWAP)
			move(ctr, -1);
	}
	*move(ctr, 1) = (struct entry){
		.source = as.source,
		.target = as.target,
		.data = as.type,
		.valid = true,
		.origin = *origin,
	};
	return true;
}

struct entry *ctr_entry(struct ctr *ctr, uint64_t logical)
{
	unsigned int depth = ctr_depth(ctr);

	if (logical >= depth)
		return NULL;
	return &ctr->entries[(ctr->status - logical - 1) & (depth - 1)];
}

struct entry *ctr_selected(struct ctr *ctr)
{
	return ctr_entry(ctr, ctr->select - SELECT_FIRST);
}

static void write_entry(struct ctr *ctr, uint64_t csr, uint64_t keep, uint64_t set)
{
	struct entry *entry = ctr_selected(ctr);
	uint64_t source;

	if (!entry)
		return;
	entry->written = true;
	switch (csr) {
	case ORACLE_SIREG:
		source = ((entry->source | entry->valid) & keep) | set;
		entry->source = source & ~SOURCE_V;
		entry->valid = source & SOURCE_V;
		break;
	case ORACLE_SIREG2:
		entry->target = ((entry->target & keep) | set) & ~1ULL;
		break;
	case ORACLE_SIREG3:
		entry->data = ((entry->data & keep) | set) & 15;
		break;
	}
}

void ctr_write(struct ctr *ctr, uint64_t csr, uint64_t keep, uint64_t set)
{
	switch (csr) {
	case ORACLE_SCTRCTL:
		ctr->control = (ctr->control & keep) | set;
		break;
	case ORACLE_SCTRSTATUS:
		ctr->status = (ctr->status & keep) | set;
		ctr->status &= ORACLE_STATUS_FROZEN | (ctr_depth(ctr) - 1);
		break;
	case ORACLE_SCTRDEPTH:
		ctr->depth = (ctr->depth & keep) | set;
		ctr->status &= ORACLE_STATUS_FROZEN | (ctr_depth(ctr) - 1);
		break;
	case ORACLE_SISELECT:
		ctr->select = (ctr->select & keep) | set;
		break;
	default:
		write_entry(ctr, csr, keep, set);
	}
}

void ctr_clear(struct ctr *ctr)
{
	memset(ctr->entries, 0, sizeof(ctr->entries));
}
