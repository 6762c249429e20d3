// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that public traces become what the reference decoder made of them, line for line, and one
 * of them what the machine's own log says, instruction for instruction.
 */
#include <errno.h>
#include <fcntl.h>
#include <flowtap/arm.h>
#include <flowtap/snapshot.h>
#include <flowtap/text.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kselftest_harness.h"

#define CORPUS "../shared/corpus/ete"

struct bytes {
	uint8_t *at;
	size_t size;
};

static struct bytes read_fd(int fd)
{
	struct bytes bytes = { 0 };
	struct stat stat = { 0 };

	if (fd < 0 || fstat(fd, &stat))
		return bytes;
	bytes.at = malloc(stat.st_size + 1);
	bytes.size = pread(fd, bytes.at, stat.st_size, 0);
	bytes.at[bytes.size] = '\0';
	return bytes;
}

static struct bytes read_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct bytes bytes = read_fd(fd);

	if (fd >= 0)
		close(fd);
	return bytes;
}

/* One session: the bytes in pieces of `piece`, 0 all at once. */
static int decode(const struct flowtap_snapshot *snapshot,
		  const struct flowtap_snapshot_source *source, size_t piece,
		  struct flowtap_sink *sink)
{
	int fd = flowtap_snapshot_open_buffer(snapshot, source->buffer);
	struct bytes trace = read_fd(fd);
	struct flowtap_ete_images images = { .find = flowtap_memory_find };
	struct flowtap_blocks *blocks;
	struct flowtap_memory *memory;
	struct flowtap_ete *ete;
	int status;

	close(fd);
	status = flowtap_snapshot_memory(snapshot, source, &memory);
	if (status)
		return status;
	images.argument = memory;
	blocks = flowtap_blocks_new(flowtap_ete_wfx_is_p0(&source->config) ? flowtap_arm_block_wfx :
				    flowtap_arm_block, 0);
	status = flowtap_ete_new(&source->config, NULL, &images, blocks, sink, &ete);
	if (!status)
		status = flowtap_ete_session(ete);
	for (size_t at = 0; !status && at < trace.size; at += piece) {
		if (!piece || piece > trace.size - at)
			piece = trace.size - at;
		status = flowtap_ete_decode(ete, trace.at + at, piece);
	}
	if (!status)
		status = flowtap_ete_finish(ete);
	flowtap_ete_free(ete);
	flowtap_blocks_free(blocks);
	flowtap_memory_free(memory);
	free(trace.at);
	return status;
}

/* The flow of all sessions as text. */
static struct bytes flow(const char *directory, size_t piece, int *status)
{
	int fd = memfd_create("flow", MFD_CLOEXEC);
	const struct flowtap_snapshot_source *sources;
	struct flowtap_snapshot *snapshot;
	struct flowtap_text *text;
	struct bytes bytes;
	size_t n;

	*status = flowtap_snapshot_open(directory, NULL, &snapshot);
	if (*status)
		return (struct bytes){ 0 };
	sources = flowtap_snapshot_sources(snapshot, &n);
	flowtap_text_new(fd, NULL, &text);
	for (size_t i = 0; i < n && !*status; i++)
		*status = decode(snapshot, &sources[i], piece, flowtap_text_sink(text));
	flowtap_text_finish(text);
	flowtap_text_free(text);
	flowtap_snapshot_close(snapshot);
	bytes = read_fd(fd);
	close(fd);
	return bytes;
}

/* Prints where two texts part. */
static bool same(const char *expected, const char *seen)
{
	size_t i = 0, line = 1, from = 0;

	while (expected[i] && expected[i] == seen[i]) {
		if (expected[i++] == '\n') {
			line++;
			from = i;
		}
	}
	if (expected[i] == seen[i])
		return true;
	printf("# line %zu, expected: %.*s\n# seen: %.*s\n", line,
	       (int)strcspn(expected + from, "\n"), expected + from,
	       (int)strcspn(seen + from, "\n"), seen + from);
	return false;
}

FIXTURE(corpus)
{
};

FIXTURE_VARIANT(corpus)
{
	const char *name;
};

FIXTURE_SETUP(corpus)
{
	char path[256];

	snprintf(path, sizeof(path), CORPUS "/%s", variant->name);
	if (access(path, R_OK))
		SKIP(return, "no %s", path);
}

FIXTURE_TEARDOWN(corpus)
{
}

#define SNAPSHOT(which, directory)					\
	FIXTURE_VARIANT_ADD(corpus, which) { .name = directory }

SNAPSHOT(ack, "001-ack_test");
SNAPSHOT(source_address, "002-ack_test_scr");
SNAPSHOT(bc, "ete-bc-instr");
SNAPSHOT(wide_addresses, "ete_mem");
SNAPSHOT(speculation, "ete_spec_1");
SNAPSHOT(event, "event_test");
SNAPSHOT(cycles, "maxspec0_commopt1");
SNAPSHOT(q, "q_elem");
SNAPSHOT(source_address_and_cycles, "src_addr");
SNAPSHOT(transaction, "tme_simple");
SNAPSHOT(vmid, "trace_file_vmid");
SNAPSHOT(marker, "ts_marker");

TEST_F(corpus, equals_the_reference)
{
	static const size_t pieces[] = { 0, 1, 7, 64 };
	struct bytes expected, seen;
	char path[256];
	int status;

	snprintf(path, sizeof(path), CORPUS "/%s/expected.txt", variant->name);
	expected = read_file(path);
	ASSERT_NE(NULL, expected.at);
	snprintf(path, sizeof(path), CORPUS "/%s", variant->name);
	for (unsigned int i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
		seen = flow(path, pieces[i], &status);
		ASSERT_EQ(0, status);
		EXPECT_TRUE(same((const char *)expected.at, (const char *)seen.at));
		free(seen.at);
	}
	free(expected.at);
}

TEST_HARNESS_MAIN
