// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that public traces become what the reference decoder made of them, line for line, and one
 * of them what the machine's own log says, instruction for instruction.
 */
#include <errno.h>
#include <fcntl.h>
#include <flowtap/arm.h>
#include <flowtap/ete.h>
#include <flowtap/snapshot.h>
#include <flowtap/text.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/kselftest_harness.h"

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

	struct stat stat = { 0 };

	snprintf(path, sizeof(path), CORPUS "/%s", variant->name);
	if (access(path, R_OK))
		SKIP(return, "no %s", path);
	strcat(path, "/bindir_64/VAL_NON_DET_CODE_exec");
	if (!lstat(path, &stat) && !stat.st_size)
		SKIP(return, "%s is damaged: empty", path);
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

/* --- The machine's own log. --- */

struct insn {
	uint64_t address;
	uint32_t opcode;
};

struct insns {
	struct insn *list;
	size_t n;
	size_t capacity;
};

static void add(struct insns *insns, uint64_t address, uint32_t opcode)
{
	if (insns->n == insns->capacity) {
		insns->capacity = insns->capacity ? 2 * insns->capacity : 1024;
		insns->list = realloc(insns->list, insns->capacity * sizeof(*insns->list));
		if (!insns->list)
			abort();
	}
	insns->list[insns->n++] = (struct insn){ address, opcode };
}

/* Instructions, and where the trace begins anew in them. */
struct segments {
	struct flowtap_sink sink;
	struct insns insns;
	size_t starts[16];
	size_t n;
};

static int segment_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
			 uint64_t target)
{
	struct segments *segments = (struct segments *)sink;
	uint32_t opcode;

	(void)taken;
	(void)target;
	for (uint32_t at = 0; at < block->size; at += 4) {
		memcpy(&opcode, block->bytes + at, sizeof(opcode));
		add(&segments->insns, block->address + at, opcode);
	}
	return 0;
}

static int segment_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	struct segments *segments = (struct segments *)sink;

	if (element->kind == FLOWTAP_ELEMENT_GAP)
		return -EINVAL;
	if (element->kind == FLOWTAP_ELEMENT_TRACE_ON && segments->n < 16)
		segments->starts[segments->n++] = segments->insns.n;
	return 0;
}

/* What the first processor executed: N clk cpu0 IT (N) ADDRESS[:PHYSICAL] OPCODE ... */
static struct insns read_tarmac(const char *path)
{
	struct insns insns = { 0 };
	char command[300], line[400];
	uint64_t address;
	uint32_t opcode;
	FILE *file;

	snprintf(command, sizeof(command), "gzip -dc %s", path);
	file = popen(command, "r");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%*u clk cpu0 I%*[TS] (%*u) %" SCNx64 "%*[^ ] %" SCNx32, &address,
			   &opcode) == 2 ||
		    sscanf(line, "%*u clk cpu0 I%*[TS] (%*u) %" SCNx64 " %" SCNx32, &address,
			   &opcode) == 2)
			add(&insns, address, opcode);
	}
	if (file)
		pclose(file);
	return insns;
}

/* Where `n` instructions stand in the log without one between them, from `from` on; or its end. */
static size_t find(const struct insns *log, size_t from, const struct insn *wanted, size_t n)
{
	size_t k;

	for (; from + n <= log->n; from++) {
		for (k = 0; k < n; k++) {
			if (log->list[from + k].address != wanted[k].address ||
			    log->list[from + k].opcode != wanted[k].opcode)
				break;
		}
		if (k == n)
			return from;
	}
	return log->n;
}

TEST(each_instruction_is_what_the_machine_logged)
{
	static const size_t lengths[] = { 4437, 82, 627 };
	struct segments segments = { .sink = { segment_block, segment_element } };
	const struct flowtap_snapshot_source *sources;
	struct flowtap_snapshot *snapshot;
	struct insns log;
	size_t n, at = 0, length;

	if (access(CORPUS "/002-ack_test_scr", R_OK))
		SKIP(return, "no " CORPUS);
	ASSERT_EQ(0, flowtap_snapshot_open(CORPUS "/002-ack_test_scr", NULL, &snapshot));
	sources = flowtap_snapshot_sources(snapshot, &n);
	ASSERT_EQ(1, n);
	ASSERT_EQ(0, decode(snapshot, sources, 0, &segments.sink));
	flowtap_snapshot_close(snapshot);
	log = read_tarmac(CORPUS "/002-ack_test_scr/test_TARMAC.gz");
	ASSERT_LT(20000, log.n);
	ASSERT_EQ(3, segments.n);
	segments.starts[3] = segments.insns.n;
	for (size_t i = 0; i < segments.n; i++) {
		length = segments.starts[i + 1] - segments.starts[i];
		EXPECT_EQ(lengths[i], length);
		at = find(&log, at, segments.insns.list + segments.starts[i], length);
		ASSERT_GT(log.n, at)
			TH_LOG("segment %zu is not in the log", i);
		at += length;
	}
	free(log.list);
	free(segments.insns.list);
}

TEST_HARNESS_MAIN
