// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that what a process and its descendants map (at start, by dlopen, in threads, after fork
 * and exec) is in the archive with the right build-ids and bytes: by events of perf, and by /proc
 * alone.
 *
 * The traced process is this program again (ROLE in its environment). It maps copies of a library
 * and reports an address of each with what stands there; the archive is then replayed and asked.
 */
#include <errno.h>
#include <fcntl.h>
#include <flowtap/replay.h>
#include <limits.h>
#include <poll.h>

#include "unit/capture/sideband_fixture.h"

/* Whether the archive has this text. */
static bool has(FIXTURE_DATA(sideband) *self, const char *text)
{
	size_t size;
	bool found;
	void *bytes;

	if (flowtap_archive_flush(self->writer))
		abort();
	size = flowtap_archive_size(self->writer);
	bytes = mmap(NULL, size, PROT_READ, MAP_SHARED, self->archive, 0);
	if (bytes == MAP_FAILED)
		abort();
	found = memmem(bytes, size, text, strlen(text));
	munmap(bytes, size);
	return found;
}

/* Polling looks when it thinks fit: waits until what was reported last has been seen. */
static bool drain(FIXTURE_DATA(sideband) *self)
{
	const char *what = self->report[self->n - 1].what;
	char text[PATH_MAX] = { 0 };

	if (strcmp(what, "main"))
		snprintf(text, sizeof(text), "%s/%s.so", self->directory, what);
	else if (readlink("/proc/self/exe", text, sizeof(text) - 1) < 0)
		return false;
	while (!flowtap_sideband_drain(self->sideband)) {
		if (has(self, text))
			return true;
		sched_yield();
	}
	return false;
}

/* Takes n reports, looks at the side band, and lets the child go on. */
static bool step(FIXTURE_DATA(sideband) *self, size_t n)
{
	while (n--) {
		struct pollfd wait = { .fd = self->reports, .events = POLLIN };

		if (poll(&wait, 1, -1) != 1 ||
		    read(self->reports, &self->report[self->n], sizeof(struct report)) !=
		    sizeof(struct report))
			return false;
		self->n++;
	}
	return drain(self) && write(self->orders, "", 1) == 1;
}

static const struct report *report_of(const FIXTURE_DATA(sideband) *self, const char *what)
{
	for (size_t i = 0; i < self->n; i++)
		if (!strcmp(self->report[i].what, what))
			return &self->report[i];
	return NULL;
}

/* What the archive says, besides the map. */
struct told {
	FIXTURE_DATA(sideband) *self;
	unsigned int with_id;		/* a bit for each copy mapped with the right build-id */
	unsigned int mapped;
	unsigned int mappings;
	unsigned int forks;
	unsigned int execs;
	unsigned int threads;
	unsigned int exits;
	unsigned int damages;
};

static void take_mapping(struct told *told, const struct flowtap_archive_block *block)
{
	const struct flowtap_archive_mapping *mapping = block->payload;
	const char *path = (const char *)(mapping + 1);

	for (size_t i = 0; i < COPIES; i++) {
		char name[128];

		snprintf(name, sizeof(name), "%s/%s.so", told->self->directory, copies[i]);
		if (mapping->path_size < strlen(name) || strncmp(path, name, strlen(name)))
			continue;
		told->mapped |= 1U << i;
		if (mapping->build_id_size == told->self->id.size &&
		    !memcmp(mapping->build_id, told->self->id.bytes, told->self->id.size))
			told->with_id |= 1U << i;
	}
}

static void take_task(struct told *told, const struct flowtap_archive_task *task)
{
	const struct report *forked = report_of(told->self, "forked");
	uint32_t child = (uint32_t)told->self->child;

	switch (task->event) {
	case FLOWTAP_TASK_FORK:
		if (task->pid == child && task->parent_pid == child)
			told->threads++;
		if (forked && task->pid == forked->pid && task->parent_pid == child)
			told->forks++;
		break;
	case FLOWTAP_TASK_EXEC:
		told->execs += forked && task->pid == forked->pid;
		break;
	case FLOWTAP_TASK_EXIT:
		told->exits += forked && task->pid == forked->pid;
		break;
	}
}

static int on_block(struct flowtap_replay *replay, const struct flowtap_archive_block *block)
{
	struct told *told = replay->argument;

	if (block->type == FLOWTAP_ARCHIVE_MAPPING) {
		take_mapping(told, block);
		told->mappings++;
	}
	if (block->type == FLOWTAP_ARCHIVE_TASK)
		take_task(told, block->payload);
	return 0;
}

static void on_damage(struct flowtap_replay *replay, uint64_t offset, const char *reason,
		      uint64_t bytes)
{
	(void)offset;
	(void)reason;
	(void)bytes;
	((struct told *)replay->argument)->damages++;
}

static int on_record(struct flowtap_replay *replay, uint32_t cpu,
		     const struct flowtap_record *record, size_t size)
{
	(void)replay;
	(void)cpu;
	(void)record;
	(void)size;
	return 0;
}

static struct told replay(FIXTURE_DATA(sideband) *self)
{
	struct told told = { .self = self };
	struct flowtap_replay replay = {
		.block = on_block,
		.damage = on_damage,
		.record = on_record,
		.argument = &told,
	};

	if (flowtap_archive_flush(self->writer))
		abort();
	lseek(self->archive, 0, SEEK_SET);
	if (flowtap_replay(&replay, self->archive, self->map))
		abort();
	return told;
}

/* Whether the map has at the reported place and time the bytes that stood there. */
static bool is_known(FIXTURE_DATA(sideband) *self, const char *what)
{
	const struct report *report = report_of(self, what);
	const struct flowtap_code *code;

	if (!report)
		return false;
	code = flowtap_address_map_find(self->map, report->pid, report->time, report->address);
	if (!code || !code->bytes) {
		fprintf(stderr, "# %s: %s\n", what, code ? code->missing : "not mapped");
		return false;
	}
	return code->end - report->address >= PROBE &&
	       !memcmp(code->bytes + (report->address - code->start), report->bytes, PROBE);
}

/* The function there has the name that dlsym found it by. */
static const char *symbol_of(FIXTURE_DATA(sideband) *self, const char *what, uint64_t *offset)
{
	const struct report *report = report_of(self, what);
	const struct flowtap_code *code;

	code = flowtap_address_map_find(self->map, report->pid, report->time, report->address);
	return code ? flowtap_address_map_symbol(self->map, code, report->address, offset) : NULL;
}

static int on_mapped(void *argument, const struct flowtap_mapping *mapping)
{
	FIXTURE_DATA(sideband) *self = argument;

	if (mapping->build_id_size > FLOWTAP_BUILD_ID_MAX || !mapping->path)
		return -EINVAL;
	self->mapped++;
	return 0;
}

#define OPEN(stopped_)								\
	do {									\
		struct flowtap_sideband_options options = {			\
			.pids = &self->child,					\
			.n_pids = 1,						\
			.inherit = true,					\
			.stopped = stopped_,					\
			.poll = variant->poll,					\
			.mapped = on_mapped,					\
			.argument = self,					\
		};								\
		ASSERT_EQ(flowtap_sideband_open(&options, &self->sideband), 0); \
		if (!variant->poll && flowtap_sideband_polled(self->sideband))	\
			SKIP(return, "perf events are not allowed here");	\
		ASSERT_EQ(flowtap_sideband_polled(self->sideband), variant->poll); \
		ASSERT_EQ(flowtap_sideband_start(self->sideband, self->writer), 0);		\
	} while (0)

/* From the fork on, through all that run_child does. */
#define FOLLOW(first)								\
	do {									\
		ASSERT_TRUE(step(self, first));	/* vdso, main, and what was before */ \
		ASSERT_TRUE(step(self, 1));	/* thread */			\
		ASSERT_TRUE(step(self, 1));	/* forked */			\
		ASSERT_TRUE(step(self, 1));	/* executed */			\
		ASSERT_TRUE(step(self, 1));	/* last */			\
		waitpid(self->child, NULL, 0);					\
		ASSERT_EQ(flowtap_sideband_drain(self->sideband), 0);		\
	} while (0)

/* Only a kernel since 6.11, or rights over files, tell the build-id of one that was deleted. */
#define DELETED (1U << 5)

#define CHECK(mask)								\
	do {									\
		told = replay(self);						\
		self->child = 0;						\
		EXPECT_EQ(told.damages, 0);					\
		EXPECT_EQ(told.mapped, mask);					\
		EXPECT_EQ(told.mappings, self->mapped);				\
		EXPECT_EQ(told.with_id | DELETED, mask | DELETED);		\
		/* To polling the fork looks like one as well. */		\
		EXPECT_GE(told.execs, 1);					\
		EXPECT_LE(told.execs, 1 + variant->poll);			\
		EXPECT_EQ(told.forks, !variant->poll);				\
		EXPECT_EQ(told.exits, !variant->poll);				\
		if (!variant->poll)						\
			EXPECT_GE(told.threads, 1);				\
		EXPECT_TRUE(is_known(self, "vdso"));				\
		EXPECT_TRUE(is_known(self, "main"));				\
		EXPECT_TRUE(is_known(self, "thread"));				\
		EXPECT_TRUE(is_known(self, "forked"));				\
		EXPECT_TRUE(is_known(self, "executed"));			\
		EXPECT_TRUE(is_known(self, "last"));				\
		ASSERT_NE(symbol_of(self, "last", &offset), NULL);		\
		EXPECT_STREQ(symbol_of(self, "last", &offset), "elf_begin");	\
		EXPECT_EQ(offset, 0);						\
		EXPECT_EQ(flowtap_sideband_lost(self->sideband), 0);		\
	} while (0)

TEST_F(sideband, child_from_its_exec_on)
{
	struct told told;
	uint64_t offset;

	self->child = start("child", self->directory, &self->orders, &self->reports);
	OPEN(true);
	ASSERT_EQ(write(self->orders, "", 1), 1);
	FOLLOW(2);
	CHECK(0xf);
}

TEST_F(sideband, process_that_runs_already)
{
	struct told told;
	uint64_t offset;

	self->child = start("attached", self->directory, &self->orders, &self->reports);
	ASSERT_EQ(write(self->orders, "", 1), 1);
	/* before, deleted, jit; it then waits for its order. */
	for (int i = 0; i < 3; i++)
		ASSERT_EQ(read(self->reports, &self->report[self->n++], sizeof(struct report)),
			  (ssize_t)sizeof(struct report));
	OPEN(false);
	ASSERT_EQ(write(self->orders, "", 1), 1);
	FOLLOW(2);
	CHECK(0x3f);
	EXPECT_TRUE(is_known(self, "before"));
	EXPECT_TRUE(is_known(self, "jit"));
	EXPECT_TRUE(is_known(self, "deleted"));
}

TEST_F(sideband, all_processes)
{
	struct flowtap_sideband_options options = { .poll = variant->poll };
	struct told told;

	self->child = start("attached", self->directory, &self->orders, &self->reports);
	ASSERT_EQ(write(self->orders, "", 1), 1);
	for (int i = 0; i < 3; i++)
		ASSERT_EQ(read(self->reports, &self->report[self->n++], sizeof(struct report)),
			  (ssize_t)sizeof(struct report));
	ASSERT_EQ(flowtap_sideband_open(&options, &self->sideband), 0);
	if (!variant->poll && flowtap_sideband_polled(self->sideband))
		SKIP(return, "perf events of all processes are not allowed here");
	ASSERT_EQ(flowtap_sideband_start(self->sideband, self->writer), 0);
	ASSERT_EQ(write(self->orders, "", 1), 1);
	FOLLOW(2);
	told = replay(self);
	self->child = 0;
	EXPECT_EQ(told.damages, 0);
	EXPECT_EQ(told.with_id | DELETED, 0x3f);
	EXPECT_TRUE(is_known(self, "before"));
	EXPECT_TRUE(is_known(self, "executed"));
	EXPECT_TRUE(is_known(self, "last"));
}

/* Another archive, from now on. */
static int begin_another(FIXTURE_DATA(sideband) *self)
{
	int archive = memfd_create("another", MFD_CLOEXEC), error;
	struct flowtap_archive_writer *writer;

	error = flowtap_archive_create(archive, &writer);
	if (!error)
		error = flowtap_sideband_switch(self->sideband, writer);
	if (error)
		return error;
	flowtap_archive_writer_free(self->writer);
	close(self->archive);
	self->writer = writer;
	self->archive = archive;
	return 0;
}

/* The second has all that the first had of who is there still; then what comes. */
TEST_F(sideband, another_archive_begins_in_the_middle)
{
	struct flowtap_sideband_options options = {
		.pids = &self->child, .n_pids = 1, .inherit = true, .poll = variant->poll,
		.keep = 16 << 20,
	};
	struct told told;
	uint64_t begun;

	self->child = start("attached", self->directory, &self->orders, &self->reports);
	ASSERT_EQ(write(self->orders, "", 1), 1);
	for (int i = 0; i < 3; i++)
		ASSERT_EQ(read(self->reports, &self->report[self->n++], sizeof(struct report)),
			  (ssize_t)sizeof(struct report));
	ASSERT_EQ(flowtap_sideband_open(&options, &self->sideband), 0);
	/* It is read once. */
	options.pids = NULL;
	if (!variant->poll && flowtap_sideband_polled(self->sideband))
		SKIP(return, "perf events are not allowed here");
	ASSERT_EQ(flowtap_sideband_start(self->sideband, self->writer), 0);
	ASSERT_EQ(write(self->orders, "", 1), 1);
	ASSERT_TRUE(step(self, 2));
	begun = now();
	ASSERT_EQ(flowtap_sideband_drain(self->sideband), 0);
	flowtap_sideband_advance(self->sideband, begun);
	ASSERT_EQ(begin_another(self), 0);
	/* In the log of the third, then. */
	ASSERT_TRUE(step(self, 1));
	ASSERT_EQ(begin_another(self), 0);
	ASSERT_TRUE(step(self, 1));
	ASSERT_TRUE(step(self, 1));
	ASSERT_TRUE(step(self, 1));
	waitpid(self->child, NULL, 0);
	ASSERT_EQ(flowtap_sideband_drain(self->sideband), 0);
	told = replay(self);
	self->child = 0;
	EXPECT_EQ(told.damages, 0);
	/* Of the deleted one only the bytes that replaced it, not what was mapped at first. */
	EXPECT_EQ(told.mapped | DELETED, 0x3f);
	EXPECT_EQ(told.with_id | DELETED, 0x3f);
	EXPECT_TRUE(is_known(self, "before"));
	EXPECT_TRUE(is_known(self, "jit"));
	EXPECT_TRUE(is_known(self, "deleted"));
	EXPECT_TRUE(is_known(self, "vdso"));
	EXPECT_TRUE(is_known(self, "main"));
	EXPECT_TRUE(is_known(self, "thread"));
	EXPECT_TRUE(is_known(self, "forked"));
	EXPECT_TRUE(is_known(self, "executed"));
	EXPECT_TRUE(is_known(self, "last"));
}

TEST_F(sideband, without_keep_there_is_no_other_archive)
{
	struct flowtap_sideband_options options = { .poll = true };

	ASSERT_EQ(flowtap_sideband_open(&options, &self->sideband), 0);
	EXPECT_EQ(flowtap_sideband_switch(self->sideband, self->writer), -EINVAL);
}

TEST(process_that_is_not_there)
{
	const pid_t nobody = 1 << 30;
	struct flowtap_sideband_options options = { .pids = &nobody, .n_pids = 1 };
	struct flowtap_sideband *sideband;
	int err;

	errno = 44;
	err = flowtap_sideband_open(&options, &sideband);
	EXPECT_EQ(errno, 44);
	EXPECT_EQ(err, -ESRCH);
	if (!err)
		flowtap_sideband_free(sideband);
}

TEST_HARNESS_MAIN
