/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A decoder whose parts are called one by one, on a little program, and the flow that comes out.
 *
 *	0x1000	b.eq 0x1100
 *	0x1004	b.eq 0x1100
 *	0x1008	b.eq 0x1100
 *	0x100c	b 0x1000
 *	0x1100	ret
 *	0x1104	nop, and no code after it
 */
#ifndef FLOWTAP_SELFTESTS_UNIT_ETE_PART_FIXTURE_H
#define FLOWTAP_SELFTESTS_UNIT_ETE_PART_FIXTURE_H

#include <errno.h>
#include <flowtap/arm.h>
#include <flowtap/text.h>

#include "ete/internal.h"

#include "support/sink.h"

#include "support/kselftest_harness.h"

#define CODE 0x1000
#define CODE_END 0x1108

#define A64 "context A64 EL1 nonsecure 64\n"

struct part {
	uint32_t words[(CODE_END - CODE) / 4];
	struct flowtap_code code;
	unsigned int looked_up;		/* how often code was asked for */
	struct flowtap_blocks *blocks;
	struct output output;
	struct flowtap_text *text;
	struct flowtap_ete *ete;
};

static inline const struct flowtap_code *part_find(void *argument,
						   const struct flowtap_context *context,
						   uint64_t address)
{
	struct part *part = argument;

	(void)context;
	part->looked_up++;
	return address >= part->code.start && address < part->code.end ? &part->code : NULL;
}

static inline void part_begin(struct part *part, const struct flowtap_ete_config *config,
			      const struct flowtap_ete_options *options)
{
	const struct flowtap_ete_images images = { .find = part_find, .argument = part };

	for (size_t i = 0; i < sizeof(part->words) / sizeof(part->words[0]); i++)
		part->words[i] = 0xd503201f;
	for (int i = 0; i < 3; i++)
		part->words[i] = 0x54000000 | (0x100 / 4 - i) << 5;
	part->words[3] = 0x14000000 | ((-0xc / 4) & 0x3ffffff);
	part->words[0x40] = 0xd65f03c0;
	part->code = (struct flowtap_code){
		.start = CODE,
		.end = CODE_END,
		.bytes = (const uint8_t *)part->words,
		.key = 1,
	};
	part->blocks = flowtap_blocks_new(flowtap_arm_block, 0);
	part->output = output_new();
	if (flowtap_text_new(part->output.fd, part->blocks, &part->text) ||
	    flowtap_ete_new(config, options, &images, part->blocks, flowtap_text_sink(part->text),
			    &part->ete))
		abort();
}

static inline void part_end(struct part *part)
{
	flowtap_ete_free(part->ete);
	flowtap_text_free(part->text);
	flowtap_blocks_free(part->blocks);
	output_free(&part->output);
}

static inline const char *part_flow(struct part *part)
{
	if (flowtap_text_finish(part->text))
		abort();
	output_read(&part->output);
	return (const char *)part->output.bytes;
}

/* --- Elements. --- */

static inline struct ete_entry entry_of(enum ete_kind kind)
{
	return (struct ete_entry){ .kind = kind };
}

static inline struct ete_entry address_of(uint64_t address)
{
	return (struct ete_entry){ .kind = ETE_ADDRESS, .value = address };
}

/* EL1, A64. */
static inline struct ete_entry context_of_a64(void)
{
	return (struct ete_entry){
		.kind = ETE_CONTEXT,
		.context.packet = {
			.exception_level = 1,
			.security = FLOWTAP_NONSECURE,
			.sixty_four_bit = true,
		},
	};
}

static inline struct ete_entry atoms_of(uint32_t taken, uint8_t count)
{
	return (struct ete_entry){ .kind = ETE_ATOMS, .count = count, .atoms = { taken, taken } };
}

static inline struct ete_entry event_of(uint8_t number)
{
	return (struct ete_entry){ .kind = ETE_EVENT, .number = number };
}

#endif /* FLOWTAP_SELFTESTS_UNIT_ETE_PART_FIXTURE_H */
