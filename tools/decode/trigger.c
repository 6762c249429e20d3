// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keeps the first triggers of an archive, counts the others, and prints them as lines and as
 * JSON.
 */
#include "decode/trigger.h"

#include <inttypes.h>
#include <string.h>

#include "common/names.h"
#include "common/tool.h"

void triggers_take(struct triggers *triggers, const struct flowtap_archive_block *block)
{
	const uint64_t at = triggers->n;
	struct flowtap_archive_trigger trigger;
	size_t size;

	if (block->size < sizeof(trigger))
		return;
	triggers->n++;
	if (at >= TRIGGERS_SHOWN)
		return;
	memcpy(&trigger, block->payload, sizeof(trigger));
	size = block->size - sizeof(trigger);
	size = trigger.text_size < size ? trigger.text_size : size;
	if (size >= sizeof(triggers->first[at].text))
		size = sizeof(triggers->first[at].text) - 1;
	triggers->first[at].is = trigger;
	memcpy(triggers->first[at].text, (const char *)block->payload + sizeof(trigger), size);
	triggers->first[at].text[size] = 0;
}

static size_t shown(const struct triggers *triggers)
{
	return triggers->n < TRIGGERS_SHOWN ? (size_t)triggers->n : TRIGGERS_SHOWN;
}

void triggers_print(FILE *file, const struct triggers *triggers)
{
	for (size_t i = 0; i < shown(triggers); i++) {
		const struct flowtap_archive_trigger *is = &triggers->first[i].is;
		const char *text = triggers->first[i].text;

		fprintf(file, "  trigger       at %" PRIu64 ".%09" PRIu64 ": %s", is->time / 1000000000,
			is->time % 1000000000, name_of(trigger_cause_names, is->cause));
		if (is->pid)
			fprintf(file, " of process %u", is->pid);
		if (is->address)
			fprintf(file, " at 0x%" PRIx64, is->address);
		if (*text)
			fputs(", ", file);
		print_plain(file, text, strlen(text));
		fputc('\n', file);
	}
	if (triggers->n > TRIGGERS_SHOWN)
		fprintf(file, "    and %" PRIu64 " more\n", triggers->n - TRIGGERS_SHOWN);
}

void triggers_json(struct json *json, const struct triggers *triggers)
{
	json_number(json, "trigger_count", triggers->n);
	json_open(json, "triggers", '[');
	for (size_t i = 0; i < shown(triggers); i++) {
		const struct flowtap_archive_trigger *is = &triggers->first[i].is;

		json_open(json, NULL, '{');
		json_number(json, "time_ns", is->time);
		json_string(json, "cause", name_of(trigger_cause_names, is->cause));
		json_number(json, "pid", is->pid);
		json_number(json, "tid", is->tid);
		if (is->address)
			json_hex(json, "address", is->address);
		json_string(json, "text", triggers->first[i].text);
		json_close(json, '}');
	}
	json_close(json, ']');
}
