// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The rules that the readers of STF enforce (flowtap-stf(5)), record by record. */
#include "base/file_input.h"
#include "check/internal.h"
#include "check/stf_opcode.h"
#include "formats/stf/layout.h"
#include "formats/stf/records.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD		64U		/* of a payload this much is looked at */
#define CAPACITY		(256U << 10)
#define MODE_UNKNOWN	0xff

/* What was read since the last opcode. */
struct group {
	uint8_t last;		/* descriptor of the last record that has an order */
	uint8_t mode;		/* by MODE_CHANGE */
	bool any;		/* a record that needs an opcode after it */
	bool event, trap, forces, target, event_target;
	bool after;		/* comments are of what comes after the opcode */
	uint64_t force_pc, target_pc, event_pc;
};

struct flowtap_stf_rules {
	struct flowtap_check *check;
	bool unpacked;
	uint64_t offset;		/* of the next record or of what is skipped */
	uint64_t record;		/* of the record that is looked at */
	uint64_t skip;			/* bytes of a record that are still to come */
	bool lost;
	bool body;
	bool at_opcode;
	uint8_t last;			/* descriptor of the last record */
	const char *unknown_pc;		/* after this nothing says where the next instruction is */
	struct stf_widths widths;
	unsigned int seen[256];		/* 0, 1, many */
	struct stf_encoding encoding;
	uint64_t features;
	uint64_t features_offset;
	uint8_t mode;
	uint64_t pc;
	struct group group;
};

#define SAY(rules, ...) \
	flowtap_check_report((rules)->check, (rules)->record, (rules)->unpacked, __VA_ARGS__)

struct flowtap_stf_rules *flowtap_stf_rules_new(struct flowtap_check *check, bool unpacked)
{
	struct flowtap_stf_rules *rules = calloc(1, sizeof(*rules));

	if (!rules)
		return NULL;
	rules->check = check;
	rules->unpacked = unpacked;
	rules->widths.event_id = 4;
	rules->mode = rules->group.mode = MODE_UNKNOWN;
	return rules;
}

void flowtap_stf_rules_free(struct flowtap_stf_rules *rules)
{
	free(rules);
}

static void check_even(struct flowtap_stf_rules *rules, const char *name, uint64_t pc)
{
	if (rules->encoding.isa == ISA_RISCV && pc & 1)
		SAY(rules, "%s 0x%" PRIx64 " is odd", name, pc);
}

static void check_iem(struct flowtap_stf_rules *rules, unsigned int iem)
{
	rules->encoding.iem = (uint16_t)iem;
	if (!rules->seen[STF_ISA])
		SAY(rules, "INST_IEM before ISA");
	else if (rules->encoding.isa == ISA_RISCV ? iem != 1 && iem != 2 : iem != 0 && iem != 2)
		SAY(rules, "INST_IEM %u is none of ISA %u", iem, rules->encoding.isa);
}

static void check_isa(struct flowtap_stf_rules *rules, unsigned int isa)
{
	rules->encoding.isa = (uint16_t)isa;
	if (!isa || isa > 4)
		SAY(rules, "ISA %u", isa);
	/* What came before it could not be judged yet. */
	if (rules->group.forces)
		check_even(rules, "FORCE_PC", rules->group.force_pc);
}

static void check_vlen(struct flowtap_stf_rules *rules, uint64_t vlen)
{
	if (vlen < 64 || vlen > STF_VLEN_MAX)
		SAY(rules, "vector registers of %" PRIu64 " bits", vlen);
	else
		rules->widths.vlen = (uint32_t)vlen;
}

static void end_header(struct flowtap_stf_rules *rules)
{
	static const uint8_t needed[] = { STF_ISA, STF_INST_IEM, STF_TRACE_INFO,
					  STF_TRACE_INFO_FEATURE, STF_FORCE_PC };

	for (size_t i = 0; i < sizeof(needed); i++)
		if (!rules->seen[needed[i]])
			SAY(rules, "the header has no %s", stf_name(needed[i]));
	if (rules->encoding.isa == ISA_RISCV &&
	    (rules->encoding.iem == IEM_RV64) != !!(rules->features & FEATURE_RV64))
		SAY(rules, "feature RV64 contradicts INST_IEM %u", rules->encoding.iem);
	rules->body = true;
	rules->pc = rules->group.force_pc;
	rules->group = (struct group){ .mode = MODE_UNKNOWN };
}

static void check_header(struct flowtap_stf_rules *rules, uint8_t descriptor,
			 const uint8_t *payload)
{
	if (rules->seen[descriptor] > 1 && descriptor != STF_TRACE_INFO &&
	    descriptor != STF_CLOCK_ID)
		SAY(rules, "a second %s", stf_name(descriptor));
	switch (descriptor) {
	case STF_IDENTIFIER:
		/* A plain file is known by it; a .zstf is by what it is packed in. */
		if (memcmp(payload, "STF", 3))
			SAY(rules, "the identifier is not STF");
		break;
	case STF_VERSION:
		if (stf_number(payload, 4) != 1 || stf_number(payload + 4, 4) < 2)
			SAY(rules, "version %" PRIu64 ".%" PRIu64 ", readers take 1.2 and above",
			    stf_number(payload, 4), stf_number(payload + 4, 4));
		break;
	case STF_ISA:
		check_isa(rules, (unsigned int)stf_number(payload, 2));
		break;
	case STF_INST_IEM:
		check_iem(rules, (unsigned int)stf_number(payload, 2));
		break;
	case STF_PROTOCOL_ID:
		rules->widths.protocol = payload[0];
		break;
	case STF_TRACE_INFO:
		if (!payload[0])
			SAY(rules, "generator 0");
		break;
	case STF_TRACE_INFO_FEATURE:
		rules->features = stf_number(payload, 8);
		rules->features_offset = rules->record;
		rules->widths.event_id = rules->features & FEATURE_EVENT64 ? 8 : 4;
		break;
	case STF_VLEN_CONFIG:
		check_vlen(rules, stf_number(payload, 4));
		break;
	case STF_END_HEADER:
		end_header(rules);
		break;
	}
}

/* Which of Arm's encodings it is has no record: in our traces a comment says it (flowtap/stf.h). */
static void check_comment(struct flowtap_stf_rules *rules, const uint8_t *payload)
{
	static const char *const lines[] = {
		[FLOWTAP_ISA_A64] = "context A64 ",
		[FLOWTAP_ISA_A32] = "context A32 ",
		[FLOWTAP_ISA_T32] = "context T32 ",
	};
	const size_t length = strlen(lines[FLOWTAP_ISA_A64]);
	const uint64_t size = stf_number(payload, 4);

	if (size == sizeof(COMMENT_AFTER) - 1 && !memcmp(payload + 4, COMMENT_AFTER, size))
		rules->group.after = true;
	if (rules->group.after || size < length)
		return;
	for (unsigned int isa = FLOWTAP_ISA_A64; isa <= FLOWTAP_ISA_T32; isa++)
		if (!memcmp(payload + 4, lines[isa], length))
			rules->encoding.arm = (enum flowtap_isa)isa;
}

static void check_any(struct flowtap_stf_rules *rules, uint8_t descriptor, const uint8_t *payload)
{
	if (descriptor == STF_COMMENT) {
		check_comment(rules, payload);
		return;
	}
	rules->group.any = true;
	if (descriptor != STF_FORCE_PC)
		return;
	if (!rules->body && rules->seen[descriptor] > 1)
		SAY(rules, "a second FORCE_PC in the header");
	rules->group.forces = true;
	rules->group.force_pc = stf_number(payload, 8);
	check_even(rules, "FORCE_PC", rules->group.force_pc);
}

/* Pairs repeat: several accesses with their data, a trap and then its change of mode. */
static bool in_order(uint8_t last, uint8_t next)
{
	return next >= last || (last == STF_INST_MEM_CONTENT && next == STF_INST_MEM_ACCESS) ||
	       (last == STF_BUS_MASTER_CONTENT && next == STF_BUS_MASTER_ACCESS) ||
	       (last == STF_EVENT_PC_TARGET && next == STF_EVENT);
}

static void check_event(struct flowtap_stf_rules *rules, const uint8_t *payload)
{
	unsigned int width = rules->widths.event_id, fields = payload[width];
	uint64_t id = stf_number(payload, width), top = 1ULL << (8 * width - 1);

	rules->group.event = true;
	if (!(id & top >> 1)) {
		rules->group.trap = true;
		/* Causes are small; where they are not, the ids have another width. */
		if ((id & ~top) >> 16)
			SAY(rules, "EVENT 0x%" PRIx64 " is no cause; EVENT64 is %s in the features",
			    id, width == 8 ? "set" : "clear");
		return;
	}
	if (id != top >> 1)
		SAY(rules, "EVENT 0x%" PRIx64 " is unknown; EVENT64 is %s in the features", id,
		    width == 8 ? "set" : "clear");
	else if (fields != 1 || stf_number(payload + width + 1, 8) > 3)
		SAY(rules, "a change of mode with %u fields, or to an unknown mode", fields);
	else
		rules->group.mode = payload[width + 1];
}

static void check_target(struct flowtap_stf_rules *rules, const char *name, bool *have,
			 uint64_t *pc, const uint8_t *payload)
{
	if (*have)
		SAY(rules, "a second %s for one instruction", name);
	*have = true;
	*pc = stf_number(payload, 8);
	check_even(rules, name, *pc);
}

static void check_group(struct flowtap_stf_rules *rules, uint8_t descriptor, const uint8_t *payload)
{
	struct group *group = &rules->group;
	uint8_t last = group->last;

	if (!in_order(last, descriptor))
		SAY(rules, "%s after %s", stf_name(descriptor), stf_name(last));
	group->last = descriptor;
	group->any = true;
	switch (descriptor) {
	case STF_INST_PC_TARGET:
		check_target(rules, "INST_PC_TARGET", &group->target, &group->target_pc, payload);
		break;
	case STF_INST_REG:
		if ((payload[2] & 0xf) == 3 && !rules->widths.vlen)
			SAY(rules, "a vector register without VLEN_CONFIG in the header");
		break;
	case STF_INST_MEM_CONTENT:
		if (last != STF_INST_MEM_ACCESS && last != STF_INST_MEM_CONTENT)
			SAY(rules, "INST_MEM_CONTENT without INST_MEM_ACCESS");
		break;
	case STF_BUS_MASTER_CONTENT:
		if (last != STF_BUS_MASTER_ACCESS && last != STF_BUS_MASTER_CONTENT)
			SAY(rules, "BUS_MASTER_CONTENT without BUS_MASTER_ACCESS");
		break;
	case STF_EVENT:
		check_event(rules, payload);
		break;
	case STF_EVENT_PC_TARGET:
		if (!group->event)
			SAY(rules, "EVENT_PC_TARGET without EVENT");
		check_target(rules, "EVENT_PC_TARGET", &group->event_target, &group->event_pc,
			     payload);
		break;
	}
}

static void check_opcode(struct flowtap_stf_rules *rules, uint64_t pc, const uint8_t *opcode,
			 size_t size)
{
	const struct stf_encoding *encoding = &rules->encoding;

	if (!flowtap_stf_right_length(encoding, opcode, size))
		SAY(rules, "opcode 0x%0*" PRIx64 " is not one of %zu bytes", (int)(2 * size),
		    stf_number(opcode, (unsigned int)size), size);
	else if (encoding->isa == ISA_RISCV && !rules->group.trap && size == 2 && !opcode[0] &&
		 !opcode[1])
		SAY(rules, "opcode 0, which is illegal, and no trap");
	else if (encoding->isa == ISA_ARM && encoding->arm != FLOWTAP_ISA_RV64 &&
		 pc & (encoding->arm == FLOWTAP_ISA_T32 ? 1 : 3))
		SAY(rules, "PC 0x%" PRIx64 " is not aligned", pc);
}

/* Where it goes by its opcode against where its records say. */
static void check_transfer(struct flowtap_stf_rules *rules, const struct stf_ability *can)
{
	const struct group *group = &rules->group;

	if (group->target && !can->branches)
		SAY(rules, "INST_PC_TARGET of an instruction that cannot branch");
	else if (group->target && can->direct && group->target_pc != can->target)
		SAY(rules, "INST_PC_TARGET 0x%" PRIx64 ", but the opcode goes to 0x%" PRIx64,
		    group->target_pc, can->target);
	else if (!group->target && !group->trap && can->must)
		SAY(rules, "a jump without INST_PC_TARGET");
}

/*
 * The first instruction may be in any mode, and so may be one at a forced PC, or where the mode
 * before is not known, but RISC-V's user mode.
 */
static void check_mode(struct flowtap_stf_rules *rules, bool xret)
{
	const struct group *group = &rules->group;
	bool riscv = rules->encoding.isa == ISA_RISCV;

	if (group->mode == MODE_UNKNOWN || xret || !rules->check->instructions)
		return;
	/* stf_check rejects it even beside a FORCE_PC, or if it is user mode already. */
	if (!(riscv && !group->mode) &&
	    (group->mode == rules->mode || rules->mode == MODE_UNKNOWN || group->forces))
		return;
	if (!group->mode)
		SAY(rules, "a switch to user mode that is no xRET");
	else if (!group->trap)
		SAY(rules, "a switch to mode %u without a trap or xRET", group->mode);
}

static void end_group(struct flowtap_stf_rules *rules, const uint8_t *opcode, size_t size)
{
	struct group *group = &rules->group;
	uint64_t pc = group->forces ? group->force_pc : rules->pc;
	struct stf_ability can = flowtap_stf_ability(&rules->encoding, pc, opcode, size);

	check_opcode(rules, pc, opcode, size);
	if (rules->unknown_pc && !group->forces)
		SAY(rules, "no FORCE_PC after %s without a target", rules->unknown_pc);
	if (can.known)
		check_transfer(rules, &can);
	check_mode(rules, !can.known || can.returns);
	if (group->mode != MODE_UNKNOWN)
		rules->mode = group->mode;
	rules->unknown_pc = NULL;
	if (group->trap && !group->event_target && !group->target)
		rules->unknown_pc = "a trap";
	else if (can.nowhere && !group->target && !group->trap)
		rules->unknown_pc = rules->encoding.isa == ISA_RISCV ? "an xRET" : "a branch";
	rules->pc = pc + size;
	if (group->target || group->event_target)
		rules->pc = group->event_target ? group->event_pc : group->target_pc;
	*group = (struct group){ .mode = MODE_UNKNOWN };
	rules->check->instructions++;
	rules->at_opcode = true;
}

/* What cannot be measured, or makes no sense where it is. */
static const char *hopeless(const struct flowtap_stf_rules *rules, uint8_t descriptor)
{
	enum stf_position position = stf_position(descriptor);

	if (descriptor == 0xff)
		return "RESERVE_END, which no reader accepts";
	if (position == STF_POSITION_NONE)
		return "no record has this descriptor";
	if (!rules->seen[STF_IDENTIFIER] && descriptor != STF_IDENTIFIER)
		return "the trace does not begin with IDENTIFIER";
	if (rules->body && descriptor == STF_IDENTIFIER)
		return STF_ANOTHER ": each has to be a file";
	return NULL;
}

static void check_record(struct flowtap_stf_rules *rules, uint8_t descriptor,
			 const uint8_t *payload)
{
	enum stf_position position = stf_position(descriptor);

	rules->check->records++;
	rules->at_opcode = false;
	rules->last = descriptor;
	if (rules->seen[descriptor] < 2)
		rules->seen[descriptor]++;
	if (descriptor > STF_VERSION && !rules->seen[STF_VERSION] && rules->check->records == 2)
		SAY(rules, "%s where VERSION has to be", stf_name(descriptor));
	if (position == STF_POSITION_HEADER && rules->body)
		SAY(rules, "%s after the header", stf_name(descriptor));
	else if (position > STF_POSITION_ANY && !rules->body)
		SAY(rules, "%s in the header", stf_name(descriptor));
	else if (position == STF_POSITION_HEADER)
		check_header(rules, descriptor, payload);
	else if (position == STF_POSITION_ANY)
		check_any(rules, descriptor, payload);
	else if (position == STF_POSITION_GROUP)
		check_group(rules, descriptor, payload);
	else if (position == STF_POSITION_OPCODE)
		end_group(rules, payload, descriptor == STF_INST_32 ? 4 : 2);
}

static void give_up(struct flowtap_stf_rules *rules, uint8_t descriptor, const char *why)
{
	SAY(rules, "descriptor 0x%02x: %s; what is after it was not checked", descriptor, why);
	rules->lost = true;
}

/* One record. False: more bytes are needed, or there is no way on. */
static bool step(struct flowtap_stf_rules *rules, const uint8_t *bytes, size_t size, bool last)
{
	const char *why = hopeless(rules, bytes[0]);
	uint64_t payload;

	rules->record = rules->offset;
	if (why) {
		give_up(rules, bytes[0], why);
		return false;
	}
	payload = stf_payload(&rules->widths, bytes[0], bytes + 1, size - 1);
	if (payload == STF_PAYLOAD_UNKNOWN) {
		give_up(rules, bytes[0],
			"a transaction of a protocol or channel that is not known");
		return false;
	}
	if (payload == UINT64_MAX || (payload < HEAD ? payload : HEAD) > size - 1) {
		if (last) {
			SAY(rules, "the trace ends within this %s", stf_name(bytes[0]));
			rules->lost = true;
		}
		return false;
	}
	check_record(rules, bytes[0], bytes + 1);
	rules->skip = 1 + payload;
	return true;
}

size_t flowtap_stf_rules_feed(struct flowtap_stf_rules *rules, const uint8_t *bytes, size_t size,
			      bool last)
{
	size_t at = 0;

	for (;;) {
		size_t n = rules->skip < size - at ? (size_t)rules->skip : size - at;

		rules->skip -= n;
		rules->offset += n;
		at += n;
		if (rules->lost)
			return size;
		if (at == size || !step(rules, bytes + at, size - at, last))
			break;
	}
	if (last && rules->skip) {
		SAY(rules, "the trace ends within this record");
		rules->lost = true;
	}
	return rules->lost ? size : at;
}

bool flowtap_stf_rules_lost(const struct flowtap_stf_rules *rules)
{
	return rules->lost;
}

bool flowtap_stf_rules_at_opcode(const struct flowtap_stf_rules *rules, uint64_t *pc)
{
	*pc = rules->pc;
	return rules->at_opcode && !rules->skip;
}

void flowtap_stf_rules_resume(struct flowtap_stf_rules *rules, uint64_t offset, uint64_t pc)
{
	rules->offset = offset;
	rules->pc = pc;
	rules->skip = 0;
	rules->lost = rules->at_opcode = false;
	rules->unknown_pc = NULL;
	/* What is missing may have said another one of each. */
	rules->encoding.arm = FLOWTAP_ISA_RV64;
	rules->mode = MODE_UNKNOWN;
	rules->group = (struct group){ .mode = MODE_UNKNOWN };
}

bool flowtap_stf_rules_in_body(const struct flowtap_stf_rules *rules)
{
	return rules->body;
}

void flowtap_stf_rules_end(struct flowtap_stf_rules *rules)
{
	rules->record = rules->offset;
	if (rules->lost)
		return;
	if (!rules->body)
		SAY(rules, "the trace ends within its header");
	else if (rules->group.any || rules->group.after)
		SAY(rules, "the trace ends within the records of an instruction");
}

void flowtap_stf_rules_remark(const struct flowtap_stf_rules *rules)
{
	static const struct {
		uint64_t feature;
		const char *absent, *unannounced;
	} announced[] = {
		{ FEATURE_PHYSICAL_ADDRESS,
		  "feature PHYSICAL_ADDRESS, but no PAGE_TABLE_WALK record: stf_check rejects it",
		  "PAGE_TABLE_WALK records without feature PHYSICAL_ADDRESS: stf_check rejects it" },
		{ FEATURE_PTE,
		  "feature PTE, but no PAGE_TABLE_WALK record: stf_check rejects it",
		  "PAGE_TABLE_WALK records without feature PTE: stf_check rejects it" },
	};
	const bool walks = rules->seen[STF_PAGE_TABLE_WALK];
	char reason[96];

	if (rules->check->problems)
		return;
	for (size_t i = 0; i < sizeof(announced) / sizeof(announced[0]); i++)
		if (!(rules->features & announced[i].feature) == walks)
			flowtap_check_remark(rules->check, rules->features_offset, rules->unpacked,
					     walks ? announced[i].unannounced :
						     announced[i].absent);
	if (rules->check->instructions && !rules->at_opcode) {
		snprintf(reason, sizeof(reason),
			 "the trace ends with a %s: stf_recompress leaves out its last chunk",
			 stf_name(rules->last));
		flowtap_check_remark(rules->check, rules->record, rules->unpacked, reason);
	}
}

/* The next bytes, unpacked: how many; -EBADMSG: none can be, which was reported; -errno. */
static ssize_t read_on(struct flowtap_check *check, struct flowtap_file_input *in, uint8_t *bytes,
		       size_t capacity)
{
	uint64_t done = flowtap_file_input_done(in), offset;
	ssize_t n = flowtap_file_input_read(in, bytes, capacity);
	const char *reason;

	flowtap_check_progress(check, done, flowtap_file_input_done(in));
	if (n != -EBADMSG && n != -ENODATA)
		return n;
	reason = flowtap_file_input_problem(in, &offset);
	flowtap_check_report(check, offset, false, "%s; what would follow was not checked", reason);
	return -EBADMSG;
}

static int check_bytes(struct flowtap_check *check, struct flowtap_file_input *in,
		       struct flowtap_stf_rules *rules, uint8_t *buffer)
{
	const uint8_t *first;
	size_t fill = 0, taken = flowtap_file_input_first(in, &first);
	ssize_t n = 1;

	if (taken && *first == 0xfd) {
		flowtap_check_report(check, 0, false,
				     "it is packed by xz, which cannot be read: "
				     "unpack it (xz -d)");
		return 0;
	}

	while (n && !flowtap_stf_rules_lost(rules)) {
		n = read_on(check, in, buffer + fill, CAPACITY - fill);
		if (n < 0)
			return n == -EBADMSG ? 0 : (int)n;
		fill += (size_t)n;
		taken = flowtap_stf_rules_feed(rules, buffer, fill, !n);
		fill -= taken;
		memmove(buffer, buffer + taken, fill);
	}
	flowtap_stf_rules_end(rules);
	flowtap_stf_rules_remark(rules);
	return 0;
}

int flowtap_check_stf(struct flowtap_check *check, int fd)
{
	struct flowtap_stf_rules *rules;
	uint8_t *buffer = malloc(CAPACITY);
	struct flowtap_file_input *in = NULL;
	int error = flowtap_file_input_new(fd, &in);

	rules = flowtap_stf_rules_new(check, !error && flowtap_file_input_packed(in));
	if (!error)
		error = rules && buffer ? check_bytes(check, in, rules, buffer) : -ENOMEM;
	flowtap_stf_rules_free(rules);
	flowtap_file_input_free(in);
	free(buffer);
	return error;
}
