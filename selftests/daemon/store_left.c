// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that whatever a killed daemon left is finished up to its last whole block, at each byte it
 * may have been cut at, and that what is none of that stays as it is.
 */
#include "store_fixture.h"

TEST_F(store, what_was_left_is_finished_at_each_byte_it_may_be_cut_at)
{
	const size_t header = sizeof(struct flowtap_archive_header);
	static uint8_t bytes[8192];
	char path[256], name[64];
	size_t size;
	FILE *file;

	ASSERT_LE(0, store_begin(self->store, TIME));
	snprintf(path, sizeof(path), "%s/%s.part", self->directory, store_current(self->store));
	snprintf(name, sizeof(name), "%s", store_current(self->store));
	file = fopen(path, "w");
	ASSERT_EQ(0, write_blocks(fileno(file), BLOCKS));
	fclose(file);
	file = fopen(path, "r");
	size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	ASSERT_EQ(header + BLOCKS * BLOCK, size);
	for (size_t cut = 0; cut <= size; cut++) {
		const int whole = cut < header ? 0 : (int)((cut - header) / BLOCK);

		store_close(self->store);
		self->store = NULL;
		folder_empty(self->directory);
		snprintf(path, sizeof(path), "%s.part", name);
		put_file(self, path, bytes, cut);
		ASSERT_EQ(0, store_open(self->directory, &any, &self->left, &self->store));
		ASSERT_EQ(whole > 0, self->left.finished);
		ASSERT_EQ(whole == 0, self->left.bad);
		ASSERT_FALSE(exists(self, path));
		if (whole) {
			ASSERT_EQ(whole, count_blocks(self, name));
			ASSERT_EQ((cut - header) % BLOCK, self->left.cut);
			ASSERT_TRUE(strstr(index_text(self), "left behind"));
		}
	}
}

/* The next one begins at a multiple of 8: what is in between is part of the last one. */
TEST_F(store, a_last_block_of_an_odd_size_is_whole)
{
	static const uint8_t payload[13] = { 1, 2, 3 };
	struct flowtap_archive_writer *writer;
	int fd = store_begin(self->store, TIME);
	struct stat before, after;
	char path[256];

	ASSERT_EQ(0, flowtap_archive_create(fd, &writer));
	ASSERT_EQ(0, flowtap_archive_write(writer, FLOWTAP_ARCHIVE_INFO, 0, 0, payload,
					   sizeof(payload), NULL, 0));
	ASSERT_EQ(0, flowtap_archive_flush(writer));
	flowtap_archive_writer_free(writer);
	ASSERT_EQ(0, fstat(fd, &before));
	ASSERT_EQ(16 + 24 + 16, before.st_size);
	ASSERT_EQ(0, reopen(self, &any));
	EXPECT_EQ(1, self->left.finished);
	EXPECT_EQ(0, self->left.cut);
	snprintf(path, sizeof(path), "%s/" FIRST ".ftap", self->directory);
	ASSERT_EQ(0, stat(path, &after));
	EXPECT_EQ(before.st_size, after.st_size);
}

TEST_F(store, damage_before_the_last_whole_block_stays)
{
	uint8_t damage = 0xff;
	char path[256];
	int fd = store_begin(self->store, TIME);

	ASSERT_EQ(0, write_blocks(fd, BLOCKS));
	ASSERT_EQ(1, pwrite(fd, &damage, 1, 16 + BLOCK + 100));
	snprintf(path, sizeof(path), "%s/%s", self->directory, store_current(self->store));
	ASSERT_EQ(0, reopen(self, &any));
	EXPECT_EQ(1, self->left.finished);
	EXPECT_EQ(0, self->left.cut);
	EXPECT_EQ(0, access(path, F_OK));
}

TEST_F(store, links_and_pipes_are_not_followed)
{
	char path[256];

	static uint8_t bytes[16 + BLOCK + 100];
	struct stat stat_of;
	int fd;

	/* An archive that wants to be mended. */
	put_file(self, "victim", "", 0);
	snprintf(path, sizeof(path), "%s/victim", self->directory);
	fd = open(path, O_RDWR);
	ASSERT_EQ(0, write_blocks(fd, BLOCKS));
	ASSERT_EQ(sizeof(bytes), pread(fd, bytes, sizeof(bytes), 0));
	close(fd);
	put_file(self, "victim", bytes, sizeof(bytes));
	snprintf(path, sizeof(path), "%s/0000000009-20261122T120000Z.ftap.part", self->directory);
	ASSERT_EQ(0, symlink("victim", path));
	snprintf(path, sizeof(path), "%s/0000000008-20261122T120000Z.ftap.part", self->directory);
	ASSERT_EQ(0, mkfifo(path, 0600));
	snprintf(path, sizeof(path), "%s/0000000007-20261122T120000Z.ftap", self->directory);
	ASSERT_EQ(0, symlink("victim", path));
	ASSERT_EQ(0, reopen(self, &any));
	snprintf(path, sizeof(path), "%s/victim", self->directory);
	ASSERT_EQ(0, stat(path, &stat_of));
	EXPECT_EQ(sizeof(bytes), stat_of.st_size);
	EXPECT_EQ(2, self->left.bad + self->left.failed);
	EXPECT_EQ(0, store_bytes(self->store));
	ASSERT_EQ(0, add_segment(self->store, "size"));
	EXPECT_TRUE(exists(self, "0000000010-20261122T120000Z.ftap"));
}

TEST_HARNESS_MAIN
