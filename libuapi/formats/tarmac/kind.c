// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Parses the first lines of a file: their events give the format, their opcodes the instruction
 * set.
 */
#include "formats/tarmac/kind.h"

#include <flowtap/lines.h>

#include "base/file_input.h"

#include <string.h>

bool tarmac_is_riscv(const char *at, size_t size, bool qemu4v)
{
	const char *end = at + size, *newline;
	struct tarmac_instruction insn;
	struct tarmac_head head;
	unsigned int n = 0;

	for (; (newline = memchr(at, '\n', end - at)); at = newline + 1) {
		struct tarmac_scan scan = { at, newline };

		tarmac_head(&scan, &head);
		if ((head.event != TARMAC_INSTRUCTION && head.event != TARMAC_SKIPPED) ||
		    tarmac_instruction(scan, head.es, &insn) ||
		    !tarmac_is_wide(&insn, qemu4v) || !insn.digits)
			continue;
		if (insn.digits == 4)
			return true;
		if ((insn.opcode & 3) != 3 || (insn.opcode & 0x1c) == 0x1c)
			return false;
		n++;
	}
	return n >= (qemu4v ? 1 : 4);
}

/* 0: neither; 1: Tarmac; 2: QEMU4V. */
static int format_of(const char *begin, size_t size)
{
	char text[4097];
	const char *at = text, *newline;
	struct tarmac_head head;

	size = flowtap_file_input_begin(begin, size, text, sizeof(text) - 1);
	text[size] = '\n';
	for (; (newline = memchr(at, '\n', text + size + 1 - at)); at = newline + 1) {
		struct tarmac_scan scan = { at, newline };

		tarmac_head(&scan, &head);
		switch (head.event) {
		case TARMAC_INSTRUCTION:
		case TARMAC_SKIPPED:
			if (!head.timed && !head.indented)
				return 0;
			return head.has_cpu && !head.cpu_named ? 2 : 1;
		case TARMAC_HEADER:
			return !memcmp(scan.at - 6, "Tarmac", 6) && scan.end - scan.at > 5 &&
			       !memcmp(scan.at, " Text", 5);
		case TARMAC_UNKNOWN:
			return 0;
		default:
			break;
		}
		if (newline == text + size)
			break;
	}
	return 0;
}

bool flowtap_tarmac_is(const char *begin, size_t size)
{
	return format_of(begin, size) == 1;
}

bool flowtap_qemu4v_is(const char *begin, size_t size)
{
	return format_of(begin, size) == 2;
}
