/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * From the bytes of an Embedded Trace Extension to the flow (DDI 0487, K10.5), or from those of its
 * ancestor: an ETMv4 (IHI 0064), 4.0 to 4.6, of the A, R and M profiles. Of that, exception returns
 * are packets of their own; what it has besides (conditional instructions, data) is refused.
 *
 *	bytes -> packets (ete_packet.h) -> elements, speculation and transactions resolved
 *	      -> analysis against the code -> blocks and elements of the flow
 *
 * One decoder takes the bytes of one trace unit, in order, in pieces of any size.
 */
#ifndef FLOWTAP_ETE_H
#define FLOWTAP_ETE_H

#include <flowtap/block.h>
#include <flowtap/ete_config.h>
#include <flowtap/flow.h>
#include <flowtap/address_map.h>

#ifdef __cplusplus
extern "C" {
#endif

/* TRCIDR8.MAXSPEC at most: more is an error, as elements are kept until they are resolved. */
#define FLOWTAP_ETE_SPECULATION_MAX 4096

struct flowtap_ete_options {
	/*
	 * Instructions of failed transactions come out as well, with `transaction fail` after them.
	 */
	bool keep_failed_transactions;
	/* Elements that one transaction may have, 0: 1 Mi. More end it with a gap. */
	uint32_t transaction_capacity;
};

/*
 * Which code is there: asked where an address leaves what was found before in the same context (EL,
 * security state, width, VMID, Context ID, and what identify gave); all answers are forgotten at
 * each gap, where `time` is given at each timestamp, and where `left` is given whenever that is
 * called.
 */
struct flowtap_ete_images {
	/*
	 * The code at `address` in that context; NULL: none is known. May have no bytes, then
	 * `missing` says why. It stays valid while the decoder lives.
	 */
	const struct flowtap_code *(*find)(void *argument, const struct flowtap_context *context,
					   uint64_t address);
	/*
	 * May be NULL. The trace has reached this point of its time; called before the TIMESTAMP
	 * element.
	 */
	void (*time)(void *argument, const struct flowtap_timestamp *timestamp);
	/*
	 * May be NULL. Completes what the trace says about the context (pid, tid, cpu) before it
	 * goes to find and to the sink.
	 */
	void (*identify)(void *argument, struct flowtap_context *context);
	/*
	 * May be NULL. What was executed ended here with an exception, or goes on after a Trace On:
	 * others, the kernel for one, may have run meanwhile. Called before the element, which is
	 * the exception (address 0: not known) or, if NULL, the Trace On.
	 */
	void (*left)(void *argument, const struct flowtap_exception *exception);
	void *argument;
};

struct flowtap_ete_counts {
	uint64_t bytes;
	uint64_t packets;
	uint64_t atoms;
	uint64_t instructions;		/* sent to the sink in blocks */
	uint64_t blocks;
	uint64_t inferred;		/* instructions of Q elements */
	uint64_t cancelled;		/* P0 elements that were cancelled or discarded */
	uint64_t failed;		/* P0 elements of failed transactions, but for those that are kept */
	uint64_t unresolved;		/* P0 elements still speculative where a trace ended */
	uint64_t exceptions;
	uint64_t timestamps;
	uint64_t cycles;		/* the sum of all cycle counts */
	uint64_t syncs;			/* alignment synchronisations */
	uint64_t gaps[FLOWTAP_GAP_REASONS];
	uint64_t bad_packets;
};

struct flowtap_ete;

/*
 * config and options (NULL: none) are copied; images is copied, its argument, blocks (made with
 * flowtap_arm_block, or with flowtap_arm_block_wfx where flowtap_ete_wfx_is_p0) and sink are
 * borrowed until flowtap_ete_free. Memory: 64 KiB, up to 512 KiB for what waits for a Commit, 32
 * bytes per element of a transaction (a run of up to 32 atoms is one). 0 and *ete; -ENOMEM;
 * -EINVAL: as flowtap_ete_unsupported says.
 */
int flowtap_ete_new(const struct flowtap_ete_config *config,
		    const struct flowtap_ete_options *options,
		    const struct flowtap_ete_images *images, struct flowtap_blocks *blocks,
		    struct flowtap_sink *sink, struct flowtap_ete **ete);
void flowtap_ete_free(struct flowtap_ete *ete);

/*
 * Why a trace unit with these registers cannot be decoded: a line that names the register, and is
 * valid for ever; NULL: it can be. What is not decoded: other architectures; TRCIDR8.MAXSPEC above
 * FLOWTAP_ETE_SPECULATION_MAX; of an ETMv4 traced conditional instructions, loads and stores as P0
 * elements, and data trace; sizes of VMID and Context ID that the architecture has not.
 */
const char *flowtap_ete_unsupported(const struct flowtap_ete_config *config);
/* Whether WFE, WFI and theirs are P0 instructions (TRCIDR2.WFXMODE). */
bool flowtap_ete_wfx_is_p0(const struct flowtap_ete_config *config);

/*
 * A capture session begins: SESSION goes to the sink, nothing that was known goes on. What was not
 * resolved before is as at flowtap_ete_finish.
 */
int flowtap_ete_session(struct flowtap_ete *ete);

/*
 * The next bytes. 0; what the sink returned below 0, and then the decoder can only be freed;
 * -ENOMEM. What is wrong with the bytes is no error: it becomes a gap (BAD_PACKET with offset and
 * bytes in its detail, UNSYNCED ...) and decoding goes on at the next alignment synchronisation.
 *
 * What a trace becomes, in this order: `trace_on` and `context` as the trace says them; each atom's
 * blocks, of which the last ends with the P0 instruction; `exception` with the preferred return
 * address after the blocks up to it; `eret` after the block of an exception return (of an ETMv4,
 * where its packet says so); and so on
 * (flow.h). Every instruction in a block was executed: where that is not certain, a gap says why
 * and the flow goes on at the next address, with an empty return stack. A block's target is 0 where
 * an indirect branch was taken and the trace does not say where to.
 *
 * What K10.5 leaves open: more than 65536 instructions without a branch are a gap IMPOSSIBLE, so is
 * an A64 or A32 branch that cannot fall through and was not taken; more than 8192 elements besides
 * P0 elements that wait for one Commit are a gap BAD_PACKET.
 */
int flowtap_ete_decode(struct flowtap_ete *ete, const uint8_t *bytes, size_t size);

/*
 * Between the bytes before and those that follow, some are missing: the gap goes to the sink as it
 * is given, and decoding goes on at the next alignment synchronisation. Returns as decode.
 */
int flowtap_ete_gap(struct flowtap_ete *ete, const struct flowtap_gap *gap);

/*
 * All of the trace up to here was collected while tracing was prohibited (TSB CSYNC): the P0
 * element that was held back for a Mispredict element goes to the sink, and what find gave is
 * forgotten, so are all blocks: decoders that share a cache, which any of them may trim, take turns
 * where each is flushed or finished. Decoding goes on with the next bytes. Returns as decode.
 */
int flowtap_ete_flush(struct flowtap_ete *ete);

/*
 * The trace ends. P0 elements that are still speculative are counted as unresolved: the flow ends
 * before them, nothing in it is missing. A transaction that has not ended, of which instructions
 * were held back, becomes a gap UNRESOLVED, a packet that has not ended a gap TRUNCATED. Returns as
 * decode.
 */
int flowtap_ete_finish(struct flowtap_ete *ete);

/* Owned by ete, current. */
const struct flowtap_ete_counts *flowtap_ete_counts(const struct flowtap_ete *ete);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_ETE_H */
