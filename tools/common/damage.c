// SPDX-License-Identifier: GPL-2.0-only
/* Complains of the first damages of an input. */
#include "common/damage.h"
#include "common/input_file.h"
#include "common/tool.h"

#include <inttypes.h>
#include <stdio.h>

#define DAMAGES_SHOWN 10

bool damage_is_shown(uint64_t nth)
{
	return nth <= DAMAGES_SHOWN;
}

void damage_complain(const char *input, const struct damage *damage)
{
	const char *unit = damage->line ? "line" : "offset";
	uint64_t position = damage->line ? damage->line : damage->offset;
	char bytes[40] = "";

	if (!damage_is_shown(damage->nth))
		return;
	if (damage->bytes)
		snprintf(bytes, sizeof(bytes), " (%" PRIu64 " byte%s)", damage->bytes,
			 plural(damage->bytes));
	complain("'%s': %s %" PRIu64 ": %s%s", input_name(input), unit, position, damage->reason,
		 bytes);
	if (damage->nth == DAMAGES_SHOWN)
		advise("and so on: further damage is only counted%s%s", damage->others ? "; " : "",
		       damage->others ? damage->others : "");
}
