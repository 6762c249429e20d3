// SPDX-License-Identifier: GPL-2.0-only
/* From the bytes of one trace unit, as they came out of TRBE or a CoreSight buffer, to a trace. */
#include "decode/trace.h"

#include "common/input_file.h"
#include "common/raw_options.h"
#include "common/tool.h"

#include <errno.h>
#include <linux/flowtap.h>
#include <stdio.h>

/* The trace unit's number in frames. */
static bool choose_id(const struct decode_options *options,
		      const struct flowtap_ete_config *config, uint8_t *id)
{
	*id = options->id >= 0 ? (uint8_t)options->id : config->traceidr & 0x7f;
	if (!options->framing.framed || (*id >= FLOWTAP_FRAME_FIRST && *id <= FLOWTAP_FRAME_LAST))
		return true;
	complain("which trace ID of the frames is it?");
	advise("--id N says it, or traceidr=N in --config");
	return false;
}

static bool parse_config(const struct decode_options *options, struct flowtap_ete_config *config)
{
	*config = (struct flowtap_ete_config){ .idr0 = 0 };
	if (ete_config_parse(options->config, config))
		return false;
	/* No ETE has a TRCIDR0 of 0; COMMOPT in it says what cycle count packets look like. */
	if (config->configr & FLOWTAP_TRCCONFIGR_CCI && !config->idr0) {
		complain("--config: cycle counts are on in configr, so idr0 is needed as well");
		advise("it is TRCIDR0 of the trace unit; on Linux it stands below "
		       "/sys/bus/event_source/devices/cs_etm/");
		return false;
	}
	return true;
}

static int decode(struct trace_decoding *decoding, struct flowtap_trace_session *session)
{
	struct trace_output output = { .file.fd = -1 };
	char comment[256];
	int error;

	snprintf(comment, sizeof(comment), "input=%.200s\n", decoding->options->input);
	if (!trace_add_cpu(decoding, "trace", 0))
		return trace_problem(decoding, "", -ENOMEM);
	error = trace_output_open(decoding, &output, "", &session->config, session->fd, comment);
	if (!error)
		error = trace_session_init(decoding, &output, &session->config, session);
	if (!error) {
		error = flowtap_trace_session(session);
		error = trace_session_done(decoding, &output, session,
					   input_name(decoding->options->input), false, error);
	}
	return trace_output_close(decoding, &output, error);
}

int trace_raw(const struct decode_options *options, int input)
{
	struct trace_decoding decoding;
	struct flowtap_trace_session session = {
		.fd = input,
		.framed = options->framing.framed,
		.dstream = options->framing.dstream,
	};
	int error, status = STATUS_ERROR;

	if (!parse_config(options, &session.config))
		return STATUS_USAGE;
	if (!choose_id(options, &session.config, &session.id))
		return STATUS_USAGE;
	if (!options->n_images) {
		complain("no code is known: a trace says only which way it went through it");
		advise("--memory FILE@ADDRESS or --elf FILE names it; flowtap dump --packets needs "
		       "none");
		return STATUS_USAGE;
	}
	trace_init(&decoding, options, "raw trace");
	decoding.expected = (uint64_t)input_size(input);
	session.memory = flowtap_memory_new();
	if (!session.memory) {
		trace_problem(&decoding, "", -ENOMEM);
	} else if (!trace_add_images(&decoding, session.memory)) {
		error = decode(&decoding, &session);
		decoding.code_bytes = flowtap_memory_held(session.memory);
		status = trace_finish(&decoding, error);
	}
	flowtap_memory_free(session.memory);
	trace_free(&decoding);
	return status;
}
