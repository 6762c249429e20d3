// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* What the CTR decoder gives to its sink. */
#include "ctr/emit.h"
#include <stdarg.h>
#include <stdio.h>

int flowtap_ctr_gap(struct ctr_emit *emit, const struct flowtap_gap *gap)
{
	struct flowtap_element element = { .kind = FLOWTAP_ELEMENT_GAP, .gap = *gap };

	emit->counts.gaps[gap->reason]++;
	return emit->sink->element(emit->sink, &element);
}

int flowtap_ctr_bad_record(struct ctr_emit *emit, uint64_t time, const char *format, ...)
{
	char detail[160];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(detail, sizeof(detail), format, arguments);
	va_end(arguments);
	emit->counts.bad_records++;
	return flowtap_ctr_gap(emit, &(struct flowtap_gap){
		.reason = FLOWTAP_GAP_BAD_RECORD,
		.until = time,
		.size = UINT64_MAX,
		.detail = detail,
	});
}

int flowtap_ctr_enter(struct ctr_emit *emit, uint32_t pid, uint32_t tid, uint32_t cpu,
		      enum flowtap_privilege mode)
{
	struct flowtap_element element = { .kind = FLOWTAP_ELEMENT_CONTEXT };

	if (emit->has_context && emit->context.pid == pid && emit->context.tid == tid &&
	    emit->context.cpu == cpu && emit->context.mode == mode)
		return 0;
	emit->has_context = true;
	emit->context = (struct flowtap_context){
		.pid = pid,
		.tid = tid,
		.cpu = cpu,
		.isa = FLOWTAP_ISA_RV64,
		.mode = mode,
		.security = FLOWTAP_NONSECURE,
		.width = 64,
	};
	element.context = emit->context;
	return emit->sink->element(emit->sink, &element);
}
