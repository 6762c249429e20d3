// SPDX-License-Identifier: GPL-2.0-only
/* The rules of the header. */
#include "state.h"

#include <string.h>

static int check_version(struct state *state, const uint8_t *payload)
{
	struct stfcheck *check = state->check;

	check->version[0] = get(payload, 4);
	check->version[1] = get(payload + 4, 4);
	if (check->version[0] != 1 || check->version[1] < 2)
		return bad(state, "version %u.%u", check->version[0], check->version[1]);
	if (check->strict && check->version[1] != 5)
		return bad(state, "version %u.%u, ours is 1.5", check->version[0],
			   check->version[1]);
	return 0;
}

static int check_isa(struct state *state, const uint8_t *payload)
{
	state->check->isa = get(payload, 2);
	if (state->check->isa != ISA_RISCV && state->check->isa != ISA_ARM)
		return bad(state, "ISA %u", state->check->isa);
	return 0;
}

static int check_iem(struct state *state, const uint8_t *payload)
{
	unsigned int iem = get(payload, 2);

	if (!seen(state, RECORD_ISA))
		return bad(state, "INST_IEM before ISA");
	if (riscv(state) ? iem != 1 && iem != 2 : iem != 0 && iem != 2)
		return bad(state, "INST_IEM %u for ISA %u", iem, state->check->isa);
	if (state->check->strict && iem != (riscv(state) ? 2 : 0))
		return bad(state, "INST_IEM %u is none of ours", iem);
	state->check->iem = iem;
	return 0;
}

static int check_features(struct state *state, const uint8_t *payload)
{
	uint64_t features = get(payload, 8);

	state->check->features = features;
	state->widths.event_id = features & FEATURE_EVENT64 ? 8 : 4;
	if (state->check->strict && features & FEATURE_PHYS)
		return bad(state, "feature PHYSICAL_ADDRESS");
	return 0;
}

static int check_vlen(struct state *state, const uint8_t *payload)
{
	state->widths.vlen = get(payload, 4);
	if (state->widths.vlen < 64)
		return bad(state, "vector length %u", state->widths.vlen);
	return 0;
}

static int end_header(struct state *state)
{
	static const uint8_t needed[] = { RECORD_ISA, RECORD_IEM, RECORD_TRACE_INFO,
					  RECORD_FEATURE, RECORD_FORCE_PC };
	struct stfcheck *check = state->check;

	for (size_t i = 0; i < sizeof(needed); i++) {
		if (!seen(state, needed[i]))
			return bad(state, "header without %s", stfcheck_name(needed[i]));
	}
	if (check->strict && (!seen(state, RECORD_COMMENT) || !seen(state, RECORD_PROCESS)))
		return bad(state, "header without COMMENT or PROCESS_ID_EXT");
	if (riscv(state) && (check->iem == 2) != !!(check->features & FEATURE_RV64))
		return bad(state, "feature RV64 contradicts INST_IEM");
	state->body = true;
	state->pc = state->group.force_pc;
	state->group = (struct group){ .mode = MODE_UNKNOWN };
	return 0;
}

/* Those that are assigned, and 0xff, which every reader takes. */
static bool is_generator(uint8_t generator)
{
	return (generator >= 1 && generator <= 14) || generator == 0x40 || generator == 0xff;
}

/* Ascending, but for TRACE_INFO, of which there may be many; in ours nothing else. */
int check_header(struct state *state, uint8_t descriptor, const uint8_t *payload)
{
	bool repeats = descriptor == RECORD_TRACE_INFO || descriptor == RECORD_CLOCK;

	if (seen(state, descriptor) > 1 && !repeats)
		return bad(state, "a second %s", stfcheck_name(descriptor));
	if (state->check->strict && descriptor < state->header_last)
		return bad(state, "%s after %s", stfcheck_name(descriptor),
			   stfcheck_name(state->header_last));
	state->header_last = descriptor;
	switch (descriptor) {
	case RECORD_IDENTIFIER:
		return memcmp(payload, "STF", 3) ? bad(state, "no STF") : 0;
	case RECORD_VERSION:
		return check_version(state, payload);
	case RECORD_ISA:
		return check_isa(state, payload);
	case RECORD_IEM:
		return check_iem(state, payload);
	case RECORD_TRACE_INFO:
		if (!payload[0] || (state->check->strict && !is_generator(payload[0])))
			return bad(state, "generator %u", payload[0]);
		return 0;
	case RECORD_FEATURE:
		return check_features(state, payload);
	case RECORD_VLEN:
		return check_vlen(state, payload);
	case RECORD_PROTOCOL:
		state->widths.protocol = payload[0];
		return 0;
	case RECORD_END_HEADER:
		return end_header(state);
	default:
		return 0;
	}
}
