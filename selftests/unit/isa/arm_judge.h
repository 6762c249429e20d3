/* SPDX-License-Identifier: GPL-2.0-only */
/* What GNU objdump says of an Arm instruction: from its text to a class and a target. */
#ifndef FLOWTAP_SELFTESTS_UNIT_ISA_ARM_JUDGE_H
#define FLOWTAP_SELFTESTS_UNIT_ISA_ARM_JUDGE_H

#include <flowtap/arm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct judged {
	uint64_t address;
	unsigned int length;
	unsigned int class;
	bool direct;
	bool conditional;
	bool undefined;
	bool unpredictable;
	uint64_t target;
	bool switches;		/* between A32 and T32 */
	char text[96];
};

enum judge_how {
	HOW_OTHER,
	HOW_DIRECT,
	HOW_MAY,		/* direct and conditional by itself */
	HOW_LE,			/* where it counts, lr is its first operand */
	HOW_INDIRECT,
	HOW_BEHIND,
	HOW_REGISTER,		/* bx, bxj: a return where the register is lr */
	HOW_EITHER,		/* blx: of a label or a register */
	HOW_LDR,
	HOW_LDM,
	HOW_POP,
	HOW_DATA,		/* data processing */
	HOW_DATA_FLAGS,
	HOW_MCR,
};

struct judge_name {
	const char *name;
	unsigned int class;
	enum judge_how how;
};

static const struct judge_name names64[] = {
	{ "b", FLOWTAP_ARM_BRANCH, HOW_DIRECT }, { "bl", FLOWTAP_ARM_CALL, HOW_DIRECT },
	{ "cbz", FLOWTAP_ARM_BRANCH, HOW_MAY }, { "cbnz", FLOWTAP_ARM_BRANCH, HOW_MAY },
	{ "tbz", FLOWTAP_ARM_BRANCH, HOW_MAY }, { "tbnz", FLOWTAP_ARM_BRANCH, HOW_MAY },
	{ "br", FLOWTAP_ARM_INDIRECT, HOW_INDIRECT },
	{ "braa", FLOWTAP_ARM_INDIRECT, HOW_INDIRECT },
	{ "brab", FLOWTAP_ARM_INDIRECT, HOW_INDIRECT },
	{ "braaz", FLOWTAP_ARM_INDIRECT, HOW_INDIRECT },
	{ "brabz", FLOWTAP_ARM_INDIRECT, HOW_INDIRECT },
	{ "blr", FLOWTAP_ARM_INDIRECT_CALL, HOW_INDIRECT },
	{ "blraa", FLOWTAP_ARM_INDIRECT_CALL, HOW_INDIRECT },
	{ "blrab", FLOWTAP_ARM_INDIRECT_CALL, HOW_INDIRECT },
	{ "blraaz", FLOWTAP_ARM_INDIRECT_CALL, HOW_INDIRECT },
	{ "blrabz", FLOWTAP_ARM_INDIRECT_CALL, HOW_INDIRECT },
	{ "ret", FLOWTAP_ARM_RETURN, HOW_INDIRECT }, { "retaa", FLOWTAP_ARM_RETURN, HOW_INDIRECT },
	{ "retab", FLOWTAP_ARM_RETURN, HOW_INDIRECT },
	{ "retaasppc", FLOWTAP_ARM_RETURN, HOW_INDIRECT },
	{ "retabsppc", FLOWTAP_ARM_RETURN, HOW_INDIRECT },
	{ "retaasppcr", FLOWTAP_ARM_RETURN, HOW_INDIRECT },
	{ "retabsppcr", FLOWTAP_ARM_RETURN, HOW_INDIRECT },
	{ "eret", FLOWTAP_ARM_EXCEPTION_RETURN, HOW_INDIRECT },
	{ "eretaa", FLOWTAP_ARM_EXCEPTION_RETURN, HOW_INDIRECT },
	{ "eretab", FLOWTAP_ARM_EXCEPTION_RETURN, HOW_INDIRECT },
	{ "texit", FLOWTAP_ARM_EXCEPTION_RETURN, HOW_INDIRECT },
	{ "isb", FLOWTAP_ARM_ISB, HOW_BEHIND },
	{ "wfe", FLOWTAP_ARM_WFX, HOW_BEHIND }, { "wfi", FLOWTAP_ARM_WFX, HOW_BEHIND },
	{ "wfet", FLOWTAP_ARM_WFX, HOW_BEHIND }, { "wfit", FLOWTAP_ARM_WFX, HOW_BEHIND },
	{ "tstart", FLOWTAP_ARM_TSTART, HOW_BEHIND },
};

static const struct judge_name names32[] = {
	{ "b", FLOWTAP_ARM_BRANCH, HOW_DIRECT }, { "bl", FLOWTAP_ARM_CALL, HOW_DIRECT },
	{ "blx", FLOWTAP_ARM_CALL, HOW_EITHER },
	{ "bx", FLOWTAP_ARM_INDIRECT, HOW_REGISTER },
	{ "bxj", FLOWTAP_ARM_INDIRECT, HOW_REGISTER },
	{ "cbz", FLOWTAP_ARM_BRANCH, HOW_MAY }, { "cbnz", FLOWTAP_ARM_BRANCH, HOW_MAY },
	{ "wls", FLOWTAP_ARM_BRANCH, HOW_MAY }, { "wlstp", FLOWTAP_ARM_BRANCH, HOW_MAY },
	{ "le", FLOWTAP_ARM_BRANCH, HOW_LE }, { "letp", FLOWTAP_ARM_BRANCH, HOW_MAY },
	{ "tbb", FLOWTAP_ARM_INDIRECT, HOW_INDIRECT },
	{ "tbh", FLOWTAP_ARM_INDIRECT, HOW_INDIRECT },
	{ "eret", FLOWTAP_ARM_EXCEPTION_RETURN, HOW_INDIRECT },
	{ "rfeia", FLOWTAP_ARM_EXCEPTION_RETURN, HOW_INDIRECT },
	{ "rfeib", FLOWTAP_ARM_EXCEPTION_RETURN, HOW_INDIRECT },
	{ "rfeda", FLOWTAP_ARM_EXCEPTION_RETURN, HOW_INDIRECT },
	{ "rfedb", FLOWTAP_ARM_EXCEPTION_RETURN, HOW_INDIRECT },
	{ "isb", FLOWTAP_ARM_ISB, HOW_BEHIND },
	{ "wfe", FLOWTAP_ARM_WFX, HOW_BEHIND }, { "wfi", FLOWTAP_ARM_WFX, HOW_BEHIND },
	{ "ldr", FLOWTAP_ARM_INDIRECT, HOW_LDR },
	{ "pop", FLOWTAP_ARM_RETURN, HOW_POP },
	{ "ldm", FLOWTAP_ARM_INDIRECT, HOW_LDM }, { "ldmia", FLOWTAP_ARM_INDIRECT, HOW_LDM },
	{ "ldmfd", FLOWTAP_ARM_INDIRECT, HOW_LDM }, { "ldmda", FLOWTAP_ARM_INDIRECT, HOW_LDM },
	{ "ldmdb", FLOWTAP_ARM_INDIRECT, HOW_LDM }, { "ldmib", FLOWTAP_ARM_INDIRECT, HOW_LDM },
	{ "mcr", FLOWTAP_ARM_ISB, HOW_MCR },
#define DATA(name) { name, FLOWTAP_ARM_INDIRECT, HOW_DATA }, \
		   { name "s", FLOWTAP_ARM_EXCEPTION_RETURN, HOW_DATA_FLAGS }
	DATA("and"), DATA("eor"), DATA("sub"), DATA("rsb"), DATA("add"), DATA("adc"), DATA("sbc"),
	DATA("rsc"), DATA("orr"), DATA("mov"), DATA("bic"), DATA("mvn"), DATA("lsl"), DATA("lsr"),
	DATA("asr"), DATA("ror"), DATA("rrx"),
#undef DATA
};

/* Of A32 and T32: "" is none. */
static bool judge_condition(const char *text)
{
	static const char *const conditions[] = {
		"eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le",
	};

	for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++)
		if (!strcmp(text, conditions[i]))
			return true;
	return false;
}

static void judge_direct(struct judged *judged, const char *operands)
{
	const char *last = strrchr(operands, ',');

	last = last ? last + 1 : operands;
	judged->direct = true;
	judged->target = strtoull(last, NULL, 16);
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static void judge_memory(struct judged *judged, const char *name, enum judge_how how,
			 const char *operands)
{
	if (how == HOW_LDR) {
		if (!begins(operands, "pc, "))
			judged->class = FLOWTAP_ARM_OTHER;
		else if (begins(operands, "pc, [sp], #") && !begins(operands, "pc, [sp], #-"))
			judged->class = FLOWTAP_ARM_RETURN;
		return;
	}
	/* "POP {PC}" of four bytes has the comment "(ldr pc, [sp], #4)". */
	if (!strstr(operands, "pc}"))
		judged->class = FLOWTAP_ARM_OTHER;
	else if (strchr(operands, '^'))
		judged->class = FLOWTAP_ARM_EXCEPTION_RETURN;
	else if (begins(operands, "sp!") &&
		 (!strcmp(name, "ldmfd") || !strcmp(name, "ldmia") || !strcmp(name, "ldm")))
		judged->class = FLOWTAP_ARM_RETURN;
}

static void judge_name(struct judged *judged, const struct judge_name *name, const char *operands)
{
	judged->class = name->class;
	switch (name->how) {
	case HOW_MAY:
		judged->conditional = true;
		judge_direct(judged, operands);
		break;
	case HOW_LE:
		judged->conditional = begins(operands, "lr");
		judge_direct(judged, operands);
		break;
	case HOW_DIRECT:
		judge_direct(judged, operands);
		break;
	case HOW_EITHER:
		judged->switches = begins(operands, "0x");
		if (judged->switches)
			judge_direct(judged, operands);
		else
			judged->class = FLOWTAP_ARM_INDIRECT_CALL;
		break;
	case HOW_BEHIND:
		judged->direct = true;
		judged->target = judged->address + judged->length;
		break;
	case HOW_REGISTER:
		if (!strcmp(operands, "lr"))
			judged->class = FLOWTAP_ARM_RETURN;
		break;
	case HOW_LDR:
	case HOW_LDM:
	case HOW_POP:
		judge_memory(judged, name->name, name->how, operands);
		break;
	case HOW_DATA:
	case HOW_DATA_FLAGS:
		if (!begins(operands, "pc, "))
			judged->class = FLOWTAP_ARM_OTHER;
		else if (!strcmp(name->name, "mov") && !strcmp(operands, "pc, lr"))
			judged->class = FLOWTAP_ARM_RETURN;
		break;
	case HOW_MCR:
		if (!begins(operands, "15, 0, ") || !strstr(operands, ", cr7, cr5, {4}")) {
			judged->class = FLOWTAP_ARM_OTHER;
			break;
		}
		judged->direct = true;
		judged->target = (uint32_t)(judged->address + judged->length);
		break;
	case HOW_INDIRECT:
	case HOW_OTHER:
		break;
	}
}

static void judge_a64(struct judged *judged, const char *mnemonic, const char *operands)
{
	static const struct judge_name cond = { "b.", FLOWTAP_ARM_BRANCH, HOW_MAY };
	const char *condition = strchr(mnemonic, '.');

	judged->undefined = begins(mnemonic, ".inst");
	if (begins(mnemonic, "b.") || begins(mnemonic, "bc.")) {
		judge_name(judged, &cond, operands);
		judged->conditional = strcmp(condition, ".al") && strcmp(condition, ".nv");
		return;
	}
	for (size_t i = 0; i < sizeof(names64) / sizeof(names64[0]); i++)
		if (!strcmp(mnemonic, names64[i].name))
			judge_name(judged, &names64[i], operands);
}

/* NAME, NAMEcc, each with .n or .w after. */
static void judge_32(struct judged *judged, char *mnemonic, const char *operands)
{
	size_t length;

	mnemonic[strcspn(mnemonic, ".")] = '\0';
	for (size_t i = 0; i < sizeof(names32) / sizeof(names32[0]); i++) {
		length = strlen(names32[i].name);
		if (strncmp(mnemonic, names32[i].name, length))
			continue;
		if (mnemonic[length] && !judge_condition(mnemonic + length))
			continue;
		judge_name(judged, &names32[i], operands);
		judged->conditional |= mnemonic[length];
	}
	if (judged->class == FLOWTAP_ARM_OTHER)
		judged->conditional = false;
}

/* Hexadecimal digits up to the tab. */
static unsigned int judge_length(const char *opcode)
{
	unsigned int digits = 0;

	for (; *opcode && *opcode != '\t'; opcode++)
		digits += *opcode != ' ';
	return digits / 2;
}

/* "  address:<tab>opcode<tab>mnemonic<tab>operands<tab>comment"; false: no such line. */
static bool judge(enum flowtap_isa isa, char *line, struct judged *judged)
{
	char *opcode = strchr(line, '\t'), *mnemonic, *operands, *comment;

	memset(judged, 0, sizeof(*judged));
	if (!opcode || opcode == line || opcode[-1] != ':')
		return false;
	judged->address = strtoull(line, NULL, 16);
	judged->length = judge_length(++opcode);
	mnemonic = strchr(opcode, '\t');
	if (!mnemonic)
		return false;
	line[strcspn(line, "\n")] = '\0';
	snprintf(judged->text, sizeof(judged->text), "%s", opcode);
	judged->undefined = strstr(mnemonic, "<UNDEFINED>") || strstr(mnemonic, "<undefined>");
	judged->unpredictable = strstr(mnemonic, "<UNPREDICTABLE>");
	comment = strpbrk(mnemonic, "@;");
	if (comment)
		*comment = '\0';
	comment = strstr(mnemonic, "//");
	if (comment)
		*comment = '\0';
	for (size_t n = strlen(mnemonic); n && (mnemonic[n - 1] == '\t' || mnemonic[n - 1] == ' '); n--)
		mnemonic[n - 1] = '\0';
	mnemonic += *mnemonic == '\t';
	operands = strchr(mnemonic, '\t');
	if (operands)
		*operands++ = '\0';
	if (isa == FLOWTAP_ISA_A64)
		judge_a64(judged, mnemonic, operands ? operands : "");
	else if (!judged->undefined)
		judge_32(judged, mnemonic, operands ? operands : "");
	return true;
}

#endif /* FLOWTAP_SELFTESTS_UNIT_ISA_ARM_JUDGE_H */
