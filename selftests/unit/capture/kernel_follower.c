// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows when the kernel's text is looked at while it is recorded, with a kernel of the test's own.
 */
#include <errno.h>
#include <flowtap/kernel.h>
#include <stdlib.h>
#include <time.h>

#include "support/kselftest_harness.h"

/* In place of libuapi/capture/kernel_capture.c. */
struct flowtap_kernel {
	int look_error;
	unsigned int looks;		/* atomic */
	unsigned int blocks;		/* to be written of a look */
	unsigned int written;
	unsigned int asked;
	bool moved;
};

static struct flowtap_kernel text;
static int open_error;
static unsigned int freed;

int flowtap_kernel_open(struct flowtap_kernel **kernel)
{
	*kernel = open_error ? NULL : &text;
	return open_error;
}

int flowtap_kernel_look(struct flowtap_kernel *kernel)
{
	__atomic_add_fetch(&kernel->looks, 1, __ATOMIC_RELAXED);
	if (!kernel->look_error)
		kernel->blocks = 2;
	return kernel->look_error;
}

int flowtap_kernel_write(struct flowtap_kernel *kernel, struct flowtap_archive_writer *writer)
{
	if (!kernel->blocks)
		return 0;
	kernel->written++;
	return --kernel->blocks ? 1 : 0;
}

bool flowtap_kernel_moved(struct flowtap_kernel *kernel)
{
	kernel->asked++;
	return kernel->moved;
}

void flowtap_kernel_figures(const struct flowtap_kernel *kernel, struct flowtap_kernel_figures *figures)
{
}

void flowtap_kernel_free(struct flowtap_kernel *kernel)
{
	freed += kernel != NULL;
}

static unsigned int drained;
static int drain_error;

/* In place of libuapi/capture/sideband.c. */
int flowtap_sideband_drain(struct flowtap_sideband *sideband)
{
	drained++;
	return drain_error;
}

FIXTURE(follower)
{
	struct flowtap_kernel_follower follower;
};

FIXTURE_SETUP(follower)
{
	text = (struct flowtap_kernel){ 0 };
	open_error = 0;
	freed = drained = 0;
	drain_error = 0;
}

FIXTURE_TEARDOWN(follower)
{
	flowtap_kernel_follower_free(&self->follower);
}

/* Drains until this many blocks are written, for up to 5 s. */
static bool drain_until(struct flowtap_kernel_follower *follower, unsigned int blocks)
{
	const struct timespec moment = { .tv_nsec = 1000000 };

	for (int i = 0; i < 5000 && text.written < blocks; i++) {
		if (flowtap_kernel_follower_drain(follower, NULL))
			return false;
		nanosleep(&moment, NULL);
	}
	return text.written == blocks;
}

TEST_F(follower, nothing_is_done_unless_it_was_started)
{
	int unread = 1;

	flowtap_kernel_follower_enabled(&self->follower);
	EXPECT_EQ(flowtap_kernel_follower_write(&self->follower, NULL, NULL), 0);
	EXPECT_EQ(flowtap_kernel_follower_drain(&self->follower, NULL), 0);
	EXPECT_EQ(flowtap_kernel_follower_finish(&self->follower, NULL, &unread), 0);
	EXPECT_EQ(unread, 0);
	EXPECT_EQ(text.looks, 0);
}

TEST_F(follower, nor_after_a_start_that_failed)
{
	open_error = -EPERM;
	EXPECT_EQ(flowtap_kernel_follower_start(&self->follower), -EPERM);
	EXPECT_EQ(freed, 0);
	open_error = 0;
	text.look_error = -EIO;
	EXPECT_EQ(flowtap_kernel_follower_start(&self->follower), -EIO);
	EXPECT_EQ(freed, 1);
	EXPECT_EQ(flowtap_kernel_follower_drain(&self->follower, NULL), 0);
	EXPECT_EQ(text.asked, 0);
}

TEST_F(follower, the_side_band_is_drained_between_blocks_of_the_first_look)
{
	ASSERT_EQ(flowtap_kernel_follower_start(&self->follower), 0);
	text.blocks = 3;
	EXPECT_EQ(flowtap_kernel_follower_write(&self->follower, NULL, NULL), 0);
	EXPECT_EQ(text.written, 3);
	EXPECT_EQ(drained, 2);
	text.blocks = 3;
	drain_error = -EIO;
	EXPECT_EQ(flowtap_kernel_follower_write(&self->follower, NULL, NULL), -EIO);
	EXPECT_EQ(text.written, 4);
}

TEST_F(follower, looks_again_once_recording_is_enabled)
{
	ASSERT_EQ(flowtap_kernel_follower_start(&self->follower), 0);
	EXPECT_EQ(text.looks, 1);
	text.blocks = 0;
	flowtap_kernel_follower_enabled(&self->follower);
	EXPECT_TRUE(drain_until(&self->follower, 2));
	EXPECT_EQ(text.looks, 2);
}

TEST_F(follower, looks_where_modules_have_moved_and_asks_seldom)
{
	ASSERT_EQ(flowtap_kernel_follower_start(&self->follower), 0);
	text.blocks = 0;
	for (int i = 0; i < 100; i++)
		EXPECT_EQ(flowtap_kernel_follower_drain(&self->follower, NULL), 0);
	/* Once, and at most once more in each 100 ms. */
	EXPECT_GE(text.asked, 1);
	EXPECT_LT(text.asked, 100);
	EXPECT_EQ(text.looks, 1);
	text.moved = true;
	EXPECT_TRUE(drain_until(&self->follower, 2));
	EXPECT_EQ(text.looks, 2);
}

TEST_F(follower, a_look_that_failed_is_as_none_but_for_memory)
{
	const struct timespec moment = { .tv_nsec = 1000000 };
	int error = 0;

	ASSERT_EQ(flowtap_kernel_follower_start(&self->follower), 0);
	text.blocks = 0;
	text.look_error = -EIO;
	flowtap_kernel_follower_enabled(&self->follower);
	EXPECT_EQ(flowtap_kernel_follower_drain(&self->follower, NULL), 0);
	while (self->follower.looking) {
		EXPECT_EQ(flowtap_kernel_follower_drain(&self->follower, NULL), 0);
		nanosleep(&moment, NULL);
	}
	EXPECT_EQ(text.written, 0);
	text.look_error = -ENOMEM;
	flowtap_kernel_follower_enabled(&self->follower);
	for (int i = 0; i < 5000 && !error; i++) {
		error = flowtap_kernel_follower_drain(&self->follower, NULL);
		nanosleep(&moment, NULL);
	}
	EXPECT_EQ(error, -ENOMEM);
}

TEST_F(follower, the_last_look_is_written_after_one_that_is_being_made)
{
	int unread;

	ASSERT_EQ(flowtap_kernel_follower_start(&self->follower), 0);
	text.blocks = 0;
	flowtap_kernel_follower_enabled(&self->follower);
	EXPECT_EQ(flowtap_kernel_follower_drain(&self->follower, NULL), 0);
	EXPECT_EQ(flowtap_kernel_follower_finish(&self->follower, NULL, &unread), 0);
	EXPECT_EQ(unread, 0);
	EXPECT_EQ(text.looks, 3);
	EXPECT_EQ(text.written, 4);
}

TEST_F(follower, a_last_look_that_cannot_read_is_told)
{
	int unread = 0;

	ASSERT_EQ(flowtap_kernel_follower_start(&self->follower), 0);
	text.look_error = -EIO;
	EXPECT_EQ(flowtap_kernel_follower_finish(&self->follower, NULL, &unread), 0);
	EXPECT_EQ(unread, -EIO);
	text.look_error = -ENOMEM;
	EXPECT_EQ(flowtap_kernel_follower_finish(&self->follower, NULL, &unread), -ENOMEM);
	EXPECT_EQ(unread, 0);
}

TEST_HARNESS_MAIN
