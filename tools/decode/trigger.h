/* SPDX-License-Identifier: GPL-2.0-only */
/* What had the ring's contents saved: the triggers in an archive. */
#ifndef FLOWTAP_TOOLS_DECODE_TRIGGER_H
#define FLOWTAP_TOOLS_DECODE_TRIGGER_H

#include <flowtap/archive.h>
#include <stdio.h>

#include "common/json.h"

#define TRIGGERS_SHOWN 16	/* the first ones; all of them are counted */

struct triggers {
	uint64_t n;
	struct {
		struct flowtap_archive_trigger is;
		char text[128];
	} first[TRIGGERS_SHOWN];
};

/* A block of type FLOWTAP_ARCHIVE_TRIGGER; one that is too short is none. */
void triggers_take(struct triggers *triggers, const struct flowtap_archive_block *block);
/* Lines of a summary; nothing where there is none. */
void triggers_print(FILE *file, const struct triggers *triggers);
/* "triggers": [ ... ] */
void triggers_json(struct json *json, const struct triggers *triggers);

#endif /* FLOWTAP_TOOLS_DECODE_TRIGGER_H */
