// SPDX-License-Identifier: GPL-2.0-only
/* Parses KEY=VALUE by a table of the registers' names and their positions in the configuration. */
#include "common/raw_options.h"

#include "common/tool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct {
	const char *key;
	size_t offset;
} registers[] = {
	{ "configr", offsetof(struct flowtap_ete_config, configr) },
	{ "traceidr", offsetof(struct flowtap_ete_config, traceidr) },
	{ "devarch", offsetof(struct flowtap_ete_config, devarch) },
	{ "idr0", offsetof(struct flowtap_ete_config, idr0) },
	{ "idr1", offsetof(struct flowtap_ete_config, idr1) },
	{ "idr2", offsetof(struct flowtap_ete_config, idr2) },
	{ "idr8", offsetof(struct flowtap_ete_config, idr8) },
};

static uint32_t *find(const char *key, size_t length, struct flowtap_ete_config *config)
{
	if (length > 3 && !strncasecmp(key, "trc", 3)) {
		key += 3;
		length -= 3;
	}
	for (size_t i = 0; i < sizeof(registers) / sizeof(registers[0]); i++)
		if (strlen(registers[i].key) == length &&
		    !strncasecmp(registers[i].key, key, length))
			return (uint32_t *)((char *)config + registers[i].offset);
	return NULL;
}

static int refuse(const char *text, size_t length, const char *why)
{
	complain("--config %.*s: %s", (int)(length < 60 ? length : 60), text, why);
	advise("KEY=VALUE[,...] with values decimal or 0x and the keys %s; profile=m: of an M profile",
	       ETE_CONFIG_KEYS);
	return -EINVAL;
}

/* What no register says: the profile of the processor, a, r or m. */
static int set_profile(const char *text, size_t length, const char *value,
		       struct flowtap_ete_config *config)
{
	if (text + length != value + 1 || !strchr("armARM", *value))
		return refuse(text, length, "a profile is a, r or m");
	config->m_profile = *value == 'm' || *value == 'M';
	return 0;
}

static int set(const char *text, size_t length, struct flowtap_ete_config *config)
{
	const char *equals = memchr(text, '=', length);
	char number[32];
	uint32_t *field;
	uint64_t value;
	size_t digits;

	if (!equals)
		return refuse(text, length, "has no '='");
	if (equals - text == 7 && !strncasecmp(text, "profile", 7))
		return set_profile(text, length, equals + 1, config);
	field = find(text, (size_t)(equals - text), config);
	if (!field)
		return refuse(text, (size_t)(equals - text), "no such register");
	digits = length - (size_t)(equals + 1 - text);
	if (digits >= sizeof(number))
		return refuse(text, length, "no number of 32 bits");
	memcpy(number, equals + 1, digits);
	number[digits] = 0;
	if (!number_parse(number, 0, UINT32_MAX, &value))
		return refuse(text, length, "no number of 32 bits");
	*field = (uint32_t)value;
	return 0;
}

int ete_config_parse(const char *text, struct flowtap_ete_config *config)
{
	int error;

	do {
		size_t length = strcspn(text, ",");

		error = set(text, length, config);
		if (error)
			return error;
		text += length;
	} while (*text++);
	return 0;
}

const char *option_framed(const struct command_option *option, const char *text)
{
	struct framing *framing = option->into;

	if (text && strcmp(text, "dstream"))
		return "dstream";
	framing->framed = true;
	framing->dstream |= text != NULL;
	return NULL;
}

void complain_no_source(const char *name, uint8_t id, const uint64_t ids[FLOWTAP_FRAME_LAST + 1])
{
	char list[256] = "";
	size_t used = 0;

	for (unsigned int i = FLOWTAP_FRAME_FIRST; i <= FLOWTAP_FRAME_LAST; i++)
		if (ids[i] && used < sizeof(list) - 40)
			used += (size_t)snprintf(list + used, sizeof(list) - used,
						 "%s0x%x (%" PRIu64 " byte%s)", used ? ", " : "", i,
						 ids[i], plural(ids[i]));
	complain("'%s' has nothing of trace ID 0x%x", name, id);
	if (used)
		advise("it has %s", list);
	else
		advise("no frame in it has a trace ID: are these CoreSight's frames?");
}

bool cpu_is_asked_for(const char *asked, const char *name, const char *unit, uint32_t number)
{
	uint64_t value;

	if (!asked || !strcasecmp(asked, name) || (unit && !strcasecmp(asked, unit)))
		return true;
	return number_parse(asked, 0, UINT32_MAX, &value) && value == number;
}
