/* SPDX-License-Identifier: GPL-2.0-only */
/* OpenCSD, set up for one stream of an ETE or ETMv4: what their decoder is measured against. */
#ifndef FLOWTAP_SELFTESTS_BENCH_OPENCSD_H
#define FLOWTAP_SELFTESTS_BENCH_OPENCSD_H

#include <flowtap/ete.h>
#include <opencsd/c_api/opencsd_c_api.h>

struct reference {
	dcd_tree_handle_t tree;
	unsigned char id;
	uint64_t index;
	uint64_t instructions;
};

static inline ocsd_datapath_resp_t reference_element(const void *context,
						     const ocsd_trc_index_t index,
						     const uint8_t id,
						     const ocsd_generic_trace_elem *element)
{
	struct reference *reference = (struct reference *)context;

	(void)index;
	(void)id;
	if (element->elem_type == OCSD_GEN_TRC_ELEM_INSTR_RANGE)
		reference->instructions += element->num_instr_range;
	return OCSD_RESP_CONT;
}

/* packets: no more than the packet processor. */
static inline ocsd_err_t reference_decoder(struct reference *reference,
					   const struct flowtap_ete_config *config, bool packets)
{
	const int flags = packets ? OCSD_CREATE_FLG_PACKET_PROC : OCSD_CREATE_FLG_FULL_DECODER;
	const ocsd_ete_cfg ete = {
		.reg_idr0 = config->idr0, .reg_idr1 = config->idr1, .reg_idr2 = config->idr2,
		.reg_idr8 = config->idr8, .reg_devarch = config->devarch,
		.reg_configr = config->configr, .reg_traceidr = config->traceidr,
		.arch_ver = ARCH_AA64, .core_prof = profile_CortexA,
	};
	const ocsd_etmv4_cfg etm4 = {
		.reg_idr0 = config->idr0, .reg_idr1 = config->idr1, .reg_idr2 = config->idr2,
		.reg_idr8 = config->idr8, .reg_configr = config->configr,
		.reg_traceidr = config->traceidr, .arch_ver = ARCH_V8,
		.core_prof = profile_CortexA,
	};

	if (flowtap_ete_is_etm4(config))
		return ocsd_dt_create_decoder(reference->tree, OCSD_BUILTIN_DCD_ETMV4I, flags, &etm4,
					      &reference->id);
	return ocsd_dt_create_decoder(reference->tree, OCSD_BUILTIN_DCD_ETE, flags, &ete,
				      &reference->id);
}

/* 0 or -1. */
static inline int reference_new(struct reference *reference,
				const struct flowtap_ete_config *config, bool packets)
{
	*reference = (struct reference) { 0 };
	ocsd_def_errlog_init(OCSD_ERR_SEV_NONE, 0);
	reference->tree = ocsd_create_dcd_tree(OCSD_TRC_SRC_SINGLE, 0);
	if (!reference->tree || reference_decoder(reference, config, packets))
		return -1;
	/*
	 * Its C interface has no callback for ETE packets (OCSD_ERR_NO_PROTOCOL). It takes them
	 * apart nevertheless, and counts them; so does an ETMv4's without one.
	 */
	if (packets)
		return 0;
	return ocsd_dt_set_gen_elem_outfn(reference->tree, reference_element, reference) ? -1 : 0;
}

static inline int reference_memory(struct reference *reference, uint64_t address,
				   const uint8_t *bytes, size_t size)
{
	return ocsd_dt_add_buffer_mem_acc(reference->tree, address, OCSD_MEM_SPACE_ANY, bytes,
					  (uint32_t)size) ? -1 : 0;
}

/* The next bytes. 0; -1: it has given up. */
static inline int reference_decode(struct reference *reference, const uint8_t *bytes, size_t size)
{
	ocsd_datapath_resp_t response;
	uint32_t used = 0;

	while (size) {
		response = ocsd_dt_process_data(reference->tree, OCSD_OP_DATA, reference->index,
						(uint32_t)size, bytes, &used);
		reference->index += used;
		bytes += used;
		size -= used;
		if (OCSD_DATA_RESP_IS_FATAL(response))
			return -1;
		if (OCSD_DATA_RESP_IS_WAIT(response))
			ocsd_dt_process_data(reference->tree, OCSD_OP_FLUSH, 0, 0, NULL, NULL);
	}
	return 0;
}

static inline void reference_free(struct reference *reference)
{
	if (reference->tree)
		ocsd_destroy_dcd_tree(reference->tree);
	reference->tree = 0;
}

#endif /* FLOWTAP_SELFTESTS_BENCH_OPENCSD_H */
