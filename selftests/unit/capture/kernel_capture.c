// SPDX-License-Identifier: GPL-2.0-only
/* Shows what is made of looks at a kernel's text, with a kernel of the test's own. */
#include <errno.h>
#include <flowtap/kernel.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/kcore.h"
#include "capture/kernel_ranges.h"
#include "support/kselftest_harness.h"
#include "support/replayed.h"

#define PAGE FLOWTAP_KERNEL_PAGE
#define TEXT 0xffffffff81000000ULL
#define MODULE 0xffffffffc0000000ULL
#define MODULES 2

static struct flowtap_kernel_range ranges[MODULES];
static size_t n_ranges;
static uint8_t memory[8 * PAGE];	/* from MODULE on */

/* In place of libuapi/capture/kcore.c. */
int flowtap_kcore_open(struct flowtap_kcore **kcore)
{
	*kcore = NULL;
	return 0;
}

int flowtap_kcore_read(const struct flowtap_kcore *kcore, uint64_t address, void *bytes,
		       size_t size)
{
	if (address < MODULE)
		memset(bytes, 0, size);
	else if (address - MODULE + size > sizeof(memory))
		return -ENOENT;
	else
		memcpy(bytes, memory + (address - MODULE), size);
	return 0;
}

void flowtap_kcore_close(struct flowtap_kcore *kcore)
{
}

/* In place of libuapi/capture/kernel_ranges.c. */
int flowtap_kernel_modules(struct flowtap_kernel_range **out, size_t *n)
{
	*out = malloc(sizeof(ranges));
	memcpy(*out, ranges, sizeof(ranges));
	*n = n_ranges;
	return 0;
}

int flowtap_kernel_modules_state(uint64_t *state)
{
	*state = 0;
	return 0;
}

int flowtap_kernel_symbol_lines(bool (*wanted)(const char *module, const void *argument),
				const void *argument, struct flowtap_kernel_range *kernel,
				char **text, size_t *size)
{
	if (kernel) {
		kernel->start = TEXT;
		kernel->end = TEXT + PAGE;
	}
	*text = NULL;
	*size = 0;
	return 0;
}

FIXTURE(capture)
{
	int archive;
	struct flowtap_archive_writer *writer;
	struct flowtap_kernel *kernel;
	struct flowtap_address_map *map;
	uint64_t times[16];		/* when the looks at the module were */
	size_t looks;
};

FIXTURE_SETUP(capture)
{
	memset(memory, 1, sizeof(memory));
	n_ranges = 1;
	ranges[0] = (struct flowtap_kernel_range){
		.start = MODULE, .end = MODULE + 3 * PAGE, .name = "one",
	};
	ranges[1] = (struct flowtap_kernel_range){
		.start = MODULE + 2 * PAGE, .end = MODULE + 4 * PAGE, .name = "two",
	};
	self->archive = memfd_create("archive", MFD_CLOEXEC);
	ASSERT_EQ(flowtap_archive_create(self->archive, &self->writer), 0);
	ASSERT_EQ(flowtap_kernel_open(&self->kernel), 0);
	self->map = flowtap_address_map_new(NULL);
}

FIXTURE_TEARDOWN(capture)
{
	flowtap_kernel_free(self->kernel);
	flowtap_archive_writer_free(self->writer);
	flowtap_address_map_free(self->map);
	close(self->archive);
}

static void look(FIXTURE_DATA(capture) *self)
{
	int result = flowtap_kernel_look(self->kernel);

	while (!result && (result = flowtap_kernel_write(self->kernel, self->writer)) > 0)
		result = 0;
	if (result)
		abort();
}

static int on_block(struct flowtap_replay *replay, const struct flowtap_archive_block *block)
{
	FIXTURE_DATA(capture) *self = replay->argument;
	const struct flowtap_archive_kernel *kernel = block->payload;

	if (block->type == FLOWTAP_ARCHIVE_KERNEL && kernel->start == MODULE &&
	    self->looks < ARRAY_SIZE(self->times))
		self->times[self->looks++] = kernel->time;
	return 0;
}

static void replay(FIXTURE_DATA(capture) *self)
{
	replay_archive(self->writer, self->archive, self->map, on_block, self);
}

/* The byte at this place of the module's memory at that time. -1: it is not known. */
static int byte_at(FIXTURE_DATA(capture) *self, uint64_t time, size_t at)
{
	const struct flowtap_code *code =
		flowtap_address_map_find(self->map, 1, time, MODULE + at);

	return code && code->bytes ? code->bytes[MODULE + at - code->start] : -1;
}

TEST_F(capture, a_module_is_the_same_where_its_range_ends_elsewhere)
{
	struct flowtap_kernel_figures figures;

	look(self);
	n_ranges = 2;			/* another takes what was its last page */
	ranges[0].end = MODULE + 2 * PAGE;
	memory[PAGE] = 2;
	memory[2 * PAGE] = 3;
	look(self);
	n_ranges = 1;			/* and is gone */
	ranges[0].end = MODULE + 4 * PAGE;
	look(self);
	flowtap_kernel_figures(self->kernel, &figures);
	EXPECT_EQ(figures.regions, 3);
	EXPECT_EQ(figures.bytes, 4 * PAGE);
	replay(self);
	ASSERT_EQ(self->looks, 3);
	for (size_t i = 0; i < self->looks; i++)
		EXPECT_EQ(byte_at(self, self->times[i], 0), 1);
	/* What was changed in its own text is found. */
	EXPECT_EQ(byte_at(self, self->times[0] - 1, PAGE), 1);
	EXPECT_EQ(byte_at(self, self->times[0] + 1, PAGE), -1);
	EXPECT_EQ(byte_at(self, self->times[2], PAGE), 2);
}

TEST_F(capture, a_module_with_another_name_or_place_is_another)
{
	look(self);
	ranges[0].name[0] = 'O';
	look(self);
	ranges[0].start += PAGE;
	look(self);
	replay(self);
	ASSERT_EQ(self->looks, 4);	/* there, gone and there, gone */
	EXPECT_EQ(byte_at(self, self->times[0] - 1, 0), 1);
	EXPECT_EQ(byte_at(self, self->times[1] + 1, 0), -1);
}

TEST_HARNESS_MAIN
