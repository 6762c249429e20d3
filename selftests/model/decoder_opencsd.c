// SPDX-License-Identifier: GPL-2.0-or-later
/* OpenCSD's decoder tells the judge. */
#include <errno.h>
#include <opencsd/c_api/opencsd_c_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoders.h"

struct state {
	struct judge *judge;
	dcd_tree_handle_t tree;
	unsigned char id;
	uint64_t index;
	/* The last page that was asked for: the same answer while the judge stands there. */
	const struct flowtap_code *code;
	size_t item;
	bool code_user;
	bool user;		/* the context that it said last is of EL0 */
};

static const char *const unsynced[] = {
	"unknown", "begin", "reset", "overflow", "discard", "bad packet", "bad image", "end of trace",
};

static void take_range(struct judge *judge, const ocsd_generic_trace_elem *element)
{
	uint64_t n = (element->en_addr - element->st_addr) / 4;
	bool branch = element->last_i_type == OCSD_INSTR_BR ||
		      element->last_i_type == OCSD_INSTR_BR_INDIRECT;

	if (element->isa != ocsd_isa_aarch64 || n != element->num_instr_range || !n)
		judge_gap(judge, "a range that is not of A64");
	else
		judge_instructions(judge, element->st_addr, n, branch && element->last_instr_exec ?
				   JUDGE_TAKEN : JUDGE_NOT_TAKEN, 0);
}

static void take_context(struct judge *judge, const ocsd_pe_context *context)
{
	judge_context(judge, &(struct judge_context){
		.el = context->exception_level > 0 ? context->exception_level : 0,
		.nonsecure = context->security_level == ocsd_sec_nonsecure,
		.aarch64 = context->bits64, .has_contextid = context->ctxt_id_valid,
		.has_vmid = context->vmid_valid, .contextid = context->context_id,
		.vmid = context->vmid,
	});
}

static void take_unsynced(struct judge *judge, unsigned int why)
{
	switch (why) {
	case UNSYNC_INIT_DECODER:
	case UNSYNC_RESET_DECODER:
	case UNSYNC_EOT:
		break;
	case UNSYNC_OVERFLOW:
		judge_overflow(judge);
		break;
	default:
		judge_gap(judge, why < sizeof(unsynced) / sizeof(unsynced[0]) ? unsynced[why] : "?");
	}
}

static ocsd_datapath_resp_t take(const void *context, const ocsd_trc_index_t index,
				 const uint8_t id, const ocsd_generic_trace_elem *element)
{
	struct state *state = (struct state *)context;
	struct judge *judge = state->judge;

	(void)index;
	(void)id;
	switch (element->elem_type) {
	case OCSD_GEN_TRC_ELEM_INSTR_RANGE:
		take_range(judge, element);
		break;
	case OCSD_GEN_TRC_ELEM_PE_CONTEXT:
		state->user = element->context.exception_level <= 0;
		take_context(judge, &element->context);
		break;
	case OCSD_GEN_TRC_ELEM_EXCEPTION:
		judge_exception(judge, element->exception_number, element->en_addr);
		break;
	case OCSD_GEN_TRC_ELEM_EXCEPTION_RET:
		judge_return(judge);
		break;
	case OCSD_GEN_TRC_ELEM_TRACE_ON:
		judge_trace_on(judge);
		break;
	case OCSD_GEN_TRC_ELEM_TIMESTAMP:
		judge_side(judge, JUDGE_TIMESTAMP, element->timestamp);
		break;
	case OCSD_GEN_TRC_ELEM_CYCLE_COUNT:
		/* It says 0 where the packet says that the count is not known; no count is 0. */
		judge_side(judge, JUDGE_CYCLES,
			   element->cycle_count ? element->cycle_count + 1ULL : 0);
		break;
	case OCSD_GEN_TRC_ELEM_EVENT:
		judge_side(judge, JUDGE_EVENT, element->trace_event.ev_number);
		break;
	case OCSD_GEN_TRC_ELEM_NO_SYNC:
		take_unsynced(judge, element->unsync_eot_info);
		break;
	case OCSD_GEN_TRC_ELEM_ADDR_NACC:
		judge_gap(judge, "no code at the address");
		break;
	case OCSD_GEN_TRC_ELEM_ADDR_UNKNOWN:
		judge_no_address(judge, "no address");
		break;
	case OCSD_GEN_TRC_ELEM_I_RANGE_NOPATH:
	case OCSD_GEN_TRC_ELEM_MEMTRANS:
	case OCSD_GEN_TRC_ELEM_INSTRUMENTATION:
		judge_gap(judge, "an element that this trace unit does not make");
		break;
	default:
		break;
	}
	return OCSD_RESP_CONT;
}

static uint32_t read_code(const void *context, const ocsd_vaddr_t address,
			  const ocsd_mem_space_acc_t space, const uint32_t size, uint8_t *bytes)
{
	struct state *state = (struct state *)context;
	uint64_t left;

	(void)space;	/* has no EL0 */
	if (!state->code || state->item != state->judge->place.item ||
	    state->code_user != state->user || address < state->code->start ||
	    address >= state->code->end) {
		state->code = judge_find(state->judge, state->user, address);
		state->item = state->judge->place.item;
		state->code_user = state->user;
	}
	if (!state->code)
		return 0;
	left = state->code->end - address;
	if (left > size)
		left = size;
	memcpy(bytes, state->code->bytes + (address - state->code->start), left);
	return left;
}

static void *new(struct judge *judge, const struct flowtap_ete_config *config)
{
	const ocsd_ete_cfg ete = {
		.reg_idr0 = config->idr0, .reg_idr1 = config->idr1, .reg_idr2 = config->idr2,
		.reg_idr8 = config->idr8, .reg_devarch = config->devarch,
		.reg_configr = config->configr, .reg_traceidr = config->traceidr,
		.arch_ver = ARCH_AA64, .core_prof = profile_CortexA,
	};
	struct state *state = calloc(1, sizeof(*state));

	if (!state)
		return NULL;
	state->judge = judge;
	ocsd_def_errlog_init(OCSD_ERR_SEV_NONE, 0);
	state->tree = ocsd_create_dcd_tree(OCSD_TRC_SRC_SINGLE, 0);
	if (!state->tree ||
	    ocsd_dt_create_decoder(state->tree, OCSD_BUILTIN_DCD_ETE, OCSD_CREATE_FLG_FULL_DECODER,
				   &ete, &state->id) ||
	    ocsd_dt_set_gen_elem_outfn(state->tree, take, state) ||
	    ocsd_dt_add_callback_mem_acc(state->tree, 0, UINT64_MAX, OCSD_MEM_SPACE_ANY, read_code,
					 state)) {
		if (state->tree)
			ocsd_destroy_dcd_tree(state->tree);
		free(state);
		return NULL;
	}
	/* Code differs by process and in time. */
	ocsd_dt_set_mem_acc_cacheing(state->tree, 0, 0, 0);
	return state;
}

static int feed(void *opaque, const uint8_t *bytes, size_t n)
{
	struct state *state = opaque;

	while (n && !state->judge->failed) {
		ocsd_datapath_resp_t response;
		uint32_t used = 0, part = n < 1 << 20 ? n : 1 << 20;

		response = ocsd_dt_process_data(state->tree, OCSD_OP_DATA, state->index, part, bytes,
						&used);
		state->index += used;
		bytes += used;
		n -= used;
		if (OCSD_DATA_RESP_IS_FATAL(response)) {
			char what[80];

			snprintf(what, sizeof(what), "OpenCSD's response is %d", response);
			judge_gap(state->judge, what);
			return state->judge->failed ? 0 : -EIO;
		}
		if (OCSD_DATA_RESP_IS_WAIT(response))
			ocsd_dt_process_data(state->tree, OCSD_OP_FLUSH, 0, 0, NULL, NULL);
	}
	return 0;
}

static int lose(void *opaque)
{
	struct state *state = opaque;

	if (state->judge->failed)
		return 0;
	/* What it still holds comes out at the end of a trace only. */
	ocsd_dt_process_data(state->tree, OCSD_OP_EOT, 0, 0, NULL, NULL);
	ocsd_dt_process_data(state->tree, OCSD_OP_RESET, 0, 0, NULL, NULL);
	return 0;
}

static int finish(void *opaque)
{
	struct state *state = opaque;

	if (!state->judge->failed)
		ocsd_dt_process_data(state->tree, OCSD_OP_EOT, 0, 0, NULL, NULL);
	return 0;
}

static void release(void *opaque)
{
	struct state *state = opaque;

	ocsd_destroy_dcd_tree(state->tree);
	free(state);
}

static const char *version(void)
{
	return ocsd_get_version_str();
}

const struct decoder decoder_opencsd = {
	.name = "opencsd", .version = version, .new = new, .feed = feed, .lose = lose,
	.finish = finish, .free = release,
};
