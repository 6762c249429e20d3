/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Golden files of the decoder of ETE and ETMv4: program, stream, elements and flow, together for people to read.
 *
 *	# to the end of a line: for people, but for a line of the stream
 *	program A64|A32|T32
 *		ADDRESS[-LAST] OPCODE MNEMONIC		hexadecimal; LAST: the same in all of it
 *	config
 *		configr|devarch|idr0|idr1|idr2|idr8 VALUE	registers that are not 0
 *		profile m				an ETMv4's processor is of the M profile
 *	options
 *		keep_failed_transactions
 *	stream						one packet a line
 *		BYTES # NAME[; what is in it]
 *	elements					by the specification's names, stage 1 (K10.5.2)
 *	flow						flowtap/text.h; of a gap only what is given counts
 */
#ifndef FLOWTAP_SELFTESTS_SUPPORT_GOLDEN_H
#define FLOWTAP_SELFTESTS_SUPPORT_GOLDEN_H

#include <flowtap/ete_packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN_DIRECTORY "selftests/corpus/ete"
#define GOLDEN_STREAM 4096
#define GOLDEN_LINES 256
#define GOLDEN_REGIONS 64
#define GOLDEN_REGION 4096

struct golden_packet {
	char name[64];
	size_t offset;
	size_t size;
};

struct golden {
	char name[64];
	char error[128];	/* empty: the file is well formed */
	struct flowtap_ete_config config;
	struct flowtap_ete_options options;
	struct flowtap_code code[GOLDEN_REGIONS];
	uint8_t bytes[GOLDEN_REGIONS][GOLDEN_REGION];
	size_t regions;
	uint8_t stream[GOLDEN_STREAM];
	size_t size;
	struct golden_packet packets[GOLDEN_LINES];
	size_t n_packets;
	char elements[GOLDEN_LINES][96];
	size_t n_elements;
	char flow[GOLDEN_LINES][160];
	size_t n_flow;
	bool has_flow;
};

static inline void golden_fail(struct golden *golden, const char *line)
{
	if (!*golden->error)
		snprintf(golden->error, sizeof(golden->error), "not understood: %.100s", line);
}

/* The region that ends where address is, or a new one. */
static inline int golden_put(struct golden *golden, uint64_t address, const uint8_t *bytes,
			     size_t size)
{
	struct flowtap_code *code = NULL;

	for (size_t i = 0; i < golden->regions; i++)
		if (golden->code[i].end == address)
			code = &golden->code[i];
	if (!code) {
		if (golden->regions == GOLDEN_REGIONS)
			return -1;
		code = &golden->code[golden->regions];
		code->start = address;
		code->end = address;
		code->until = UINT64_MAX;
		code->bytes = golden->bytes[golden->regions];
		code->key = (uint32_t)++golden->regions;
		code->file = UINT32_MAX;
	}
	if (code->end - code->start + size > GOLDEN_REGION)
		return -1;
	memcpy((uint8_t *)code->bytes + (address - code->start), bytes, size);
	code->end += size;
	return 0;
}

/* "1000-10ff  d503201f  nop": 8 digits are a word, one or two groups of 4 are halfwords. */
static inline int golden_instruction(struct golden *golden, const char *line)
{
	char *end;
	uint64_t address = strtoull(line, &end, 16), last = address;
	char first[16], second[16];
	unsigned int word;
	uint8_t bytes[4];
	size_t size;

	if (*end == '-')
		last = strtoull(end + 1, &end, 16);
	if (sscanf(end, " %15s %15s", first, second) != 2)
		return -1;
	word = (unsigned int)strtoul(first, NULL, 16);
	size = strlen(first) / 2;
	if (size == 2 && strlen(second) == 4 && strspn(second, "0123456789abcdef") == 4 &&
	    word >= 0xe800) {
		word |= (unsigned int)strtoul(second, NULL, 16) << 16;
		size = 4;
	}
	if (size != 2 && size != 4)
		return -1;
	for (size_t i = 0; i < size; i++)
		bytes[i] = word >> (8 * i);
	do {
		if (golden_put(golden, address, bytes, size))
			return -1;
		address += size;
	} while (address < last);
	return 0;
}

static inline int golden_register(struct golden *golden, const char *line)
{
	static const struct {
		const char *name;
		size_t at;
	} registers[] = {
		{ "configr", offsetof(struct flowtap_ete_config, configr) },
		{ "devarch", offsetof(struct flowtap_ete_config, devarch) },
		{ "idr0", offsetof(struct flowtap_ete_config, idr0) },
		{ "idr1", offsetof(struct flowtap_ete_config, idr1) },
		{ "idr2", offsetof(struct flowtap_ete_config, idr2) },
		{ "idr8", offsetof(struct flowtap_ete_config, idr8) },
	};
	char name[16];
	int value;

	if (!strcmp(line, "profile m")) {
		golden->config.m_profile = true;
		return 0;
	}
	if (sscanf(line, "%15s %i", name, &value) != 2)
		return -1;
	for (size_t i = 0; i < sizeof(registers) / sizeof(registers[0]); i++) {
		if (strcmp(name, registers[i].name))
			continue;
		memcpy((char *)&golden->config + registers[i].at, &value, sizeof(value));
		return 0;
	}
	return -1;
}

static inline int golden_bytes(struct golden *golden, const char *line)
{
	struct golden_packet *packet = &golden->packets[golden->n_packets++];
	const char *comment = strstr(line, " # ");
	unsigned int byte;
	int used;

	if (!comment || golden->n_packets == GOLDEN_LINES ||
	    sscanf(comment, " # %63[^;\n]", packet->name) != 1)
		return -1;
	packet->offset = golden->size;
	for (; line < comment && sscanf(line, " %2x%n", &byte, &used) == 1; line += used) {
		if (golden->size == GOLDEN_STREAM)
			return -1;
		golden->stream[golden->size++] = byte;
	}
	packet->size = golden->size - packet->offset;
	return packet->size ? 0 : -1;
}

static inline int golden_line(struct golden *golden, const char *section, const char *line)
{
	if (!strncmp(section, "program", 7))
		return golden_instruction(golden, line);
	if (!strcmp(section, "config"))
		return golden_register(golden, line);
	if (!strcmp(section, "options")) {
		golden->options.keep_failed_transactions = !strcmp(line, "keep_failed_transactions");
		return golden->options.keep_failed_transactions ? 0 : -1;
	}
	if (!strcmp(section, "stream"))
		return golden_bytes(golden, line);
	if (!strcmp(section, "elements") && golden->n_elements < GOLDEN_LINES)
		return snprintf(golden->elements[golden->n_elements++], 96, "%s", line) > 95;
	if (!strcmp(section, "flow") && golden->n_flow < GOLDEN_LINES)
		return snprintf(golden->flow[golden->n_flow++], 160, "%s", line) > 159;
	return -1;
}

/* NULL: no file of that name. golden->error says what is wrong in it. To be freed. */
static inline struct golden *golden_load(const char *name)
{
	struct golden *golden = calloc(1, sizeof(*golden));
	char path[sizeof(GOLDEN_DIRECTORY) + 257], line[256], section[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), GOLDEN_DIRECTORY "/%s", name);
	file = fopen(path, "r");
	if (!file || !golden) {
		free(golden);
		return NULL;
	}
	snprintf(golden->name, sizeof(golden->name), "%.63s", name);
	golden->config.traceidr = 1;
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = 0;
		if (*line == '#' || !*line)
			continue;
		if (*line == '\t') {
			if (golden_line(golden, section, line + 1))
				golden_fail(golden, line + 1);
			continue;
		}
		snprintf(section, sizeof(section), "%.31s", line);
		golden->has_flow |= !strcmp(section, "flow");
	}
	fclose(file);
	return golden;
}

/* For struct flowtap_ete_images. */
static inline const struct flowtap_code *golden_find(void *argument,
						     const struct flowtap_context *context,
						     uint64_t address)
{
	struct golden *golden = argument;

	(void)context;
	for (size_t i = 0; i < golden->regions; i++)
		if (address >= golden->code[i].start && address < golden->code[i].end)
			return &golden->code[i];
	return NULL;
}

#endif /* FLOWTAP_SELFTESTS_SUPPORT_GOLDEN_H */
