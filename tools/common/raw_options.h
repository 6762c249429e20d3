/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * --config KEY=VALUE[,...]: the registers of a trace unit whose bytes come without them; --cpu,
 * where there are several.
 */
#ifndef FLOWTAP_TOOLS_COMMON_RAW_OPTIONS_H
#define FLOWTAP_TOOLS_COMMON_RAW_OPTIONS_H

#include "common/parse_options.h"

#include <flowtap/ete.h>
#include <flowtap/frame.h>

/* For help texts. */
#define ETE_CONFIG_KEYS "configr, traceidr, devarch, idr0, idr1, idr2, idr8"

/*
 * Keys in any case, with or without TRC before them; values of 32 bits, decimal or 0x. Sets what is
 * given and leaves the rest of *config. profile=m, a or r is no register: whose the trace unit is.
 * 0; -EINVAL, after having said on stderr what is wrong.
 */
int ete_config_parse(const char *text, struct flowtap_ete_config *config);

/* How raw bytes lie in their file. */
struct framing {
	bool framed;			/* in CoreSight's frames */
	bool dstream;			/* in a DSTREAM probe's blocks as well */
};

/* Rows of a table of options: --framed[=dstream] and --dstream, into a struct framing. */
#define OPTIONS_FRAMING(framing, ...) \
	OPTION(0, "framed", optional_argument, option_framed, framing, __VA_ARGS__), \
	OPTION_FLAG(0, "dstream", &(framing)->dstream, __VA_ARGS__)
const char *option_framed(const struct command_option *option, const char *text);

/* Frames have nothing of this trace ID: says so, and which there are; ids: bytes of each source. */
void complain_no_source(const char *name, uint8_t id, const uint64_t ids[FLOWTAP_FRAME_LAST + 1]);

/*
 * Whether --cpu asks for the CPU of that name or number, or with a trace unit of that name (unit;
 * may be NULL), in any case; asked: NULL: for each.
 */
bool cpu_is_asked_for(const char *asked, const char *name, const char *unit, uint32_t number);

/* A row of a table of options: which trace ID, into an int. */
#define OPTION_TRACE_ID(id, ...) \
	OPTION_NUMBER(0, "id", id, FLOWTAP_FRAME_FIRST, FLOWTAP_FRAME_LAST, \
		      "a trace ID from 0x1 to 0x6f", __VA_ARGS__)

#endif /* FLOWTAP_TOOLS_COMMON_RAW_OPTIONS_H */
