// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that an input is known by what it is, that each kind is decoded by one call, and that what
 * is wrong with it is told. Recordings and perf.data are decoded in cli/example as well.
 */
#include "unit/pipeline/made_recording.h"
#include "unit/pipeline/made_snapshot.h"

#include <flowtap/input.h>
#include <flowtap/packed.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Unless 0 an error of reading is where a pipe ends: pipes have none of their own. */
static int broken;

ssize_t read(int fd, void *bytes, size_t size)
{
	ssize_t n = syscall(SYS_read, fd, bytes, size);
	struct stat status;

	if (n || !broken || fstat(fd, &status) || !S_ISFIFO(status.st_mode))
		return n;
	errno = broken;
	return -1;
}

FIXTURE(input)
{
	struct flow flow;
	char directory[32];
	char path[64];			/* of a file in it */
	int at;				/* the directory */
	struct flowtap_input input;
	char notes[1024];
	int refuse;			/* what images returns */
};

static void on_note(struct flowtap_input *input, const char *text)
{
	FIXTURE_DATA(input) *self = input->argument;
	size_t used = strlen(self->notes);

	snprintf(self->notes + used, sizeof(self->notes) - used, "%s\n", text);
}

static int on_images(struct flowtap_input *input, struct flowtap_memory *memory)
{
	FIXTURE_DATA(input) *self = input->argument;
	char path[64];
	const struct flowtap_memory_file file = { .directory = -1, .path = path, .address = CODE };

	snprintf(path, sizeof(path), "%s/code_0", self->directory);
	return self->refuse ? self->refuse : flowtap_memory_add(memory, &file);
}

FIXTURE_SETUP(input)
{
	flow_open(&self->flow, NULL);
	strcpy(self->directory, "/tmp/input.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->directory));
	self->at = open(self->directory, O_RDONLY | O_DIRECTORY);
	made_devices(self->at);
	snprintf(self->path, sizeof(self->path), "%s/file", self->directory);
	self->notes[0] = 0;
	self->refuse = 0;
	self->input = (struct flowtap_input){
		.path = self->path,
		.sysroot = "/nowhere",
		.sink = flowtap_text_sink(self->flow.text),
		.note = on_note,
		.argument = self,
	};
}

FIXTURE_TEARDOWN(input)
{
	char command[64];

	flow_close(&self->flow);
	close(self->at);
	snprintf(command, sizeof(command), "rm -rf %s", self->directory);
	if (system(command))
		abort();
}

static int run(FIXTURE_DATA(input) *self)
{
	int error = flowtap_input(&self->input);

	flow_lines(&self->flow);
	return error;
}

/* Of an ETE, as the file. */
static void make_archive(FIXTURE_DATA(input) *self)
{
	int fd = open(self->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct flowtap_archive_writer *writer;
	struct stream stream = rounds("EE");

	if (fd < 0 || flowtap_archive_create(fd, &writer))
		abort();
	put_cpu(writer, FLOWTAP_SOURCE_ETE);
	put_code(writer, two, sizeof(two));
	put_aux(writer, &stream);
	put_block(writer, FLOWTAP_ARCHIVE_END, NULL, 0);
	if (flowtap_archive_flush(writer))
		abort();
	flowtap_archive_writer_free(writer);
	close(fd);
}

TEST_F(input, a_recording_is_decoded)
{
	make_archive(self);
	EXPECT_EQ(0, run(self));
	EXPECT_EQ(FLOWTAP_INPUT_ARCHIVE, self->input.kind);
	EXPECT_NE(NULL, strstr(self->flow.lines, TWO TWO));
	EXPECT_EQ(4, self->input.instructions);
	EXPECT_EQ(2, self->input.blocks);
	EXPECT_EQ(1, self->input.gaps[FLOWTAP_GAP_START]);
	EXPECT_EQ(0, self->input.damages);
	EXPECT_STREQ("", self->notes);
}

TEST_F(input, a_packed_one_as_well)
{
	int from, to;

	make_archive(self);
	from = open(self->path, O_RDONLY | O_CLOEXEC);
	to = openat(self->at, "packed", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	ASSERT_EQ(0, flowtap_pack(from, to));
	close(from);
	close(to);
	ASSERT_EQ(0, renameat(self->at, "packed", self->at, "file"));
	EXPECT_EQ(0, run(self));
	EXPECT_EQ(FLOWTAP_INPUT_ARCHIVE, self->input.kind);
	EXPECT_EQ(4, self->input.instructions);
}

TEST_F(input, damage_is_told_and_no_error)
{
	struct stat status;

	make_archive(self);
	ASSERT_EQ(0, stat(self->path, &status));
	ASSERT_EQ(0, truncate(self->path, status.st_size - 4));
	EXPECT_EQ(0, run(self));
	EXPECT_EQ(1, self->input.damages);
	EXPECT_EQ(4, self->input.instructions);
	EXPECT_NE(NULL, strstr(self->notes, "the recording was not finalised"));
	EXPECT_EQ(0, strncmp("offset ", self->notes, 7));
}

TEST_F(input, a_snapshot_has_one_cpu_after_the_other)
{
	char path[64];

	made_raw(self->at);
	snprintf(path, sizeof(path), "%s/snapshot.ini", self->directory);
	for (int i = 0; i < 2; i++) {
		self->input.path = i ? path : self->directory;
		EXPECT_EQ(0, run(self));
		EXPECT_EQ(FLOWTAP_INPUT_SNAPSHOT, self->input.kind);
		EXPECT_STREQ("session\ntrace_on\ncontext A64 EL0 nonsecure 64 cpu=0\n" TWO
			     "session\ntrace_on\ncontext A64 EL0 nonsecure 64 cpu=0\n" TWO TWO
			     "session\ntrace_on\ncontext A64 EL0 nonsecure 64 cpu=1\n" THREE,
			     self->flow.lines);
		EXPECT_EQ(9, self->input.instructions);
	}
}

TEST_F(input, a_snapshot_without_a_buffer_says_which)
{
	made_raw(self->at);
	if (unlinkat(self->at, "b.bin", 0))
		abort();
	self->input.path = self->directory;
	EXPECT_EQ(-ENOENT, run(self));
	EXPECT_STREQ("ETE_0 of b.bin: No such file or directory\n", self->notes);
	EXPECT_EQ(2, self->input.instructions);
}

TEST_F(input, a_snapshot_without_a_source_says_which)
{
	made_framed(self->at, "coresight");
	put_text(self->at, "ete_1.ini", UNIT("1", "0x33"));
	self->input.path = self->directory;
	EXPECT_EQ(0, run(self));
	EXPECT_STREQ("its frames have nothing of trace ID 0x33\n", self->notes);
	EXPECT_EQ(4, self->input.instructions);
}

TEST_F(input, raw_bytes_need_a_configuration)
{
	struct stream stream = rounds("EE");

	put(self->at, "file", stream.bytes, stream.size);
	EXPECT_EQ(-ENOEXEC, run(self));
	EXPECT_EQ(FLOWTAP_INPUT_RAW, self->input.kind);
	self->input.config = &config;
	EXPECT_EQ(0, run(self));
	EXPECT_STREQ("session\ntrace_on\n" USER "no_image 1000\n", self->flow.lines);
	self->input.images = on_images;
	EXPECT_EQ(0, run(self));
	EXPECT_STREQ("session\ntrace_on\n" USER TWO TWO, self->flow.lines);
	EXPECT_EQ(0, self->input.damages);
	self->refuse = -EDOM;
	EXPECT_EQ(-EDOM, run(self));
}

TEST_F(input, raw_bytes_may_be_framed)
{
	static const char wanted[] = "session\ntrace_on\n" USER TWO TWO "gap bad_packet ";
	struct stream one = rounds("EE"), other = rounds("E");
	uint8_t bytes[16384];
	size_t size = frame_both(bytes, &one, 0x10, &other, 0x11);

	memset(bytes + size, 0xff, 16);
	put(self->at, "file", bytes, size + 16);
	self->input.config = &config;
	self->input.framed = true;
	self->input.images = on_images;
	EXPECT_EQ(0, run(self));
	EXPECT_EQ(0, strncmp(wanted, self->flow.lines, sizeof(wanted) - 1));
	EXPECT_EQ(1, self->input.damages);
	EXPECT_EQ(1, self->input.gaps[FLOWTAP_GAP_BAD_PACKET]);
}

/* By a pipe, and with its configuration. */
static int run_piped(FIXTURE_DATA(input) *self, const struct stream *stream)
{
	int pipes[2], error;

	if (pipe(pipes) || write(pipes[1], stream->bytes, stream->size) != (ssize_t)stream->size)
		abort();
	close(pipes[1]);
	snprintf(self->path, sizeof(self->path), "/proc/self/fd/%d", pipes[0]);
	self->input.config = &config;
	self->input.images = on_images;
	error = run(self);
	close(pipes[0]);
	return error;
}

TEST_F(input, a_pipe_is_read_as_a_file)
{
	struct stream stream = rounds("EE");

	EXPECT_EQ(0, run_piped(self, &stream));
	EXPECT_EQ(4, self->input.instructions);
	EXPECT_EQ(0, self->input.damages);
	EXPECT_STREQ("", self->notes);
}

TEST_F(input, an_error_of_reading_a_pipe_is_told_and_what_came_is_decoded)
{
	struct stream stream = rounds("EE");
	char wanted[64];

	broken = EIO;
	EXPECT_EQ(0, run_piped(self, &stream));
	EXPECT_EQ(4, self->input.instructions);
	EXPECT_EQ(1, self->input.damages);
	snprintf(wanted, sizeof(wanted), "offset %zu: Input/output error\n", stream.size);
	EXPECT_STREQ(wanted, self->notes);
}

TEST_F(input, what_cannot_be_opened_is_an_error)
{
	errno = EDOM;
	EXPECT_EQ(-ENOENT, run(self));
	self->input.path = "/dev/urandom";
	EXPECT_EQ(-ENODEV, run(self));
	self->input.path = self->directory;
	EXPECT_NE(0, run(self));
	EXPECT_NE(NULL, strstr(self->notes, "trace.ini: "));
	EXPECT_EQ(EDOM, errno);
}

static int refuse_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
			uint64_t target)
{
	return -ENOSPC;
}

static int take_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	return 0;
}

TEST_F(input, what_the_sink_returns_comes_back)
{
	struct flowtap_sink sink = { refuse_block, take_element };

	make_archive(self);
	self->input.sink = &sink;
	EXPECT_EQ(-ENOSPC, run(self));
}

TEST_F(input, files_are_known_by_their_first_bytes)
{
	static const struct {
		const char *bytes;
		enum flowtap_input_kind kind;
	} table[] = {
		{ FLOWTAP_ARCHIVE_MAGIC "rest", FLOWTAP_INPUT_ARCHIVE },
		{ "PERFILE2rest", FLOWTAP_INPUT_PERFDATA },
		{ "PERFILE", FLOWTAP_INPUT_RAW },
		{ "", FLOWTAP_INPUT_RAW },
		{ "other bytes", FLOWTAP_INPUT_RAW },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		int fd = file_of(table[i].bytes, strlen(table[i].bytes));

		EXPECT_EQ(table[i].kind, flowtap_input_look(fd));
		close(fd);
	}
}

TEST_F(input, perfs_directory_is_no_snapshot)
{
	char *directory = flowtap_input_snapshot(self->directory), path[64];
	int fd;

	EXPECT_STREQ(self->directory, directory);
	free(directory);
	EXPECT_EQ(-ENOENT, flowtap_input_open_kcore(self->directory));
	put_text(self->at, "data", "PERFILE2");
	EXPECT_TRUE(flowtap_input_is_perf_directory(self->directory));
	EXPECT_EQ(NULL, flowtap_input_snapshot(self->directory));
	if (mkdirat(self->at, "kcore_dir", 0700))
		abort();
	put_text(self->at, "kcore_dir/kcore", "core");
	snprintf(path, sizeof(path), "%s/data", self->directory);
	fd = flowtap_input_open_kcore(path);
	EXPECT_LE(0, fd);
	close(fd);
	self->input.path = self->directory;
	EXPECT_EQ(-EBADMSG, run(self));
	EXPECT_EQ(FLOWTAP_INPUT_PERFDATA, self->input.kind);
	EXPECT_STRNE("", self->notes);
}

TEST_HARNESS_MAIN
