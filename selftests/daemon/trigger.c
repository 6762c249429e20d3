// SPDX-License-Identifier: GPL-2.0-only
/* Shows what a summary has of triggers, whatever they say of themselves. */
#include "../../tools/decode/trigger.h"

#include <stdlib.h>
#include <string.h>

#include "support/kselftest_harness.h"

/* A block in memory of just its size, with as much text as there is of what is said. */
static void take(struct triggers *triggers, size_t text, uint32_t said)
{
	const struct flowtap_archive_trigger head = {
		.time = 1500000000, .cause = FLOWTAP_ARCHIVE_CAUSE_ASKED, .text_size = said,
	};
	struct flowtap_archive_block block = { .size = sizeof(head) + text };
	char *payload = malloc(block.size);

	memcpy(payload, &head, sizeof(head));
	memset(payload + sizeof(head), 'x', text);
	block.payload = payload;
	triggers_take(triggers, &block);
	free(payload);
}

static char *print(const struct triggers *triggers)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	triggers_print(file, triggers);
	fclose(file);
	return text;
}

TEST(a_text_is_as_long_as_it_is_or_as_there_is_room)
{
	static const size_t sizes[] = { 0, 1, 126, 127, 128, 129, 1000 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (int said = 0; said < 4; said++) {
			const uint32_t sayings[] = { 0, 5, (uint32_t)sizes[i], UINT32_MAX };
			struct triggers triggers = { .n = 0 };
			size_t wanted = sayings[said] < sizes[i] ? sayings[said] : sizes[i];

			wanted = wanted < 127 ? wanted : 127;
			take(&triggers, sizes[i], sayings[said]);
			EXPECT_EQ(1, triggers.n);
			EXPECT_EQ(wanted, strlen(triggers.first[0].text));
		}
	}
}

TEST(a_block_that_is_too_short_is_none)
{
	static const char payload[sizeof(struct flowtap_archive_trigger)];
	struct flowtap_archive_block block = { .payload = payload };
	struct triggers triggers = { .n = 0 };

	for (block.size = 0; block.size < sizeof(payload); block.size++)
		triggers_take(&triggers, &block);
	EXPECT_EQ(0, triggers.n);
	triggers_take(&triggers, &block);
	EXPECT_EQ(1, triggers.n);
}

TEST(the_first_ones_are_shown_and_all_are_counted)
{
	struct triggers triggers = { .n = 0 };

	for (unsigned int n = 0; n < 20; n++) {
		char *text = print(&triggers), more[32];
		unsigned int lines = 0;

		for (const char *at = text; (at = strchr(at, '\n')); at++)
			lines++;
		EXPECT_EQ(n <= TRIGGERS_SHOWN ? n : TRIGGERS_SHOWN + 1, lines);
		snprintf(more, sizeof(more), "    and %u more\n", n - TRIGGERS_SHOWN);
		EXPECT_EQ(n > TRIGGERS_SHOWN, strstr(text, "more") && strstr(text, more));
		free(text);
		take(&triggers, 3, 3);
	}
}

TEST_HARNESS_MAIN
