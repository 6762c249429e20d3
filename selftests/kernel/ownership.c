// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that the module takes CTR only where nobody else has it, notices who takes it later, leaves
 * siselect and everything else as it found it, and survives an idle state that loses the registers.
 * riscv64 with CTR only.
 */
#include "stream.h"
#include "support/kselftest_harness.h"
#include "task.h"

#ifdef __riscv

#include "loop.h"
#include "other_driver.h"

#define CONTROL_U 1
#define CONTROL_S 2
#define CPU1 "/sys/devices/system/cpu/cpu1/online"
/* What other_driver.ko leaves in the entries when it loses them. */
#define SCRAMBLED(address) ((((address) >> 16) & 0xffff) == 0x5afe)

FIXTURE(owner)
{
	int cpus;
};

FIXTURE_SETUP(owner)
{
	int error;

	if (!getenv("FLOWTAP_MODULE") || geteuid())
		SKIP(return, "FLOWTAP_MODULE is not set, or not root");
	/* Before flowtap: whatever happens to a CPU that comes online has happened then. */
	if (!access(DEVICE, F_OK))
		ASSERT_EQ(0, unload());
	error = other_driver_load();
	if (error) {
		load("soft=1");
		SKIP(return, "no other_driver.ko, or no CTR here: %s", strerror(-error));
	}
	self->cpus = cpus_online();
}

FIXTURE_TEARDOWN(owner)
{
	int cpu;

	for (cpu = 0; cpu < self->cpus && access(DEVICE, F_OK); cpu++) {
		other_driver("own %d 0", cpu);
		other_driver("guests %d 0", cpu);
	}
	other_driver_unload();
	/* As it was for the others. */
	if (access(DEVICE, F_OK))
		load("soft=1");
}

/* A word in what the kernel said since `position` of the log. */
static bool log_says(int kmsg, const char *words)
{
	char line[2048];
	bool found = false;
	ssize_t got;

	while ((got = read(kmsg, line, sizeof(line) - 1)) > 0 || errno == EPIPE) {
		line[got > 0 ? got : 0] = 0;
		found |= !!strstr(line, words);
	}
	return found;
}

static int log_end(void)
{
	int kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	lseek(kmsg, 0, SEEK_END);
	return kmsg;
}

TEST_F(owner, who_has_it_keeps_it_unless_we_are_told_to_take_it)
{
	struct flowtap_query query;
	struct csrs csrs;
	int cpu, kmsg, fd;

	for (cpu = 0; cpu < self->cpus; cpu++)
		ASSERT_EQ(0, other_driver("own %d %#x", cpu, CONTROL_U));
	kmsg = log_end();
	EXPECT_EQ(-EBUSY, load(""));
	EXPECT_TRUE(log_says(kmsg, "takeover=1"));
	/* Not touched: it is his. */
	for (cpu = 0; cpu < self->cpus; cpu++) {
		ASSERT_EQ(0, other_driver_look(cpu, &csrs));
		EXPECT_EQ(CONTROL_U, csrs.control);
	}
	ASSERT_EQ(0, load("takeover=1"));
	fd = open_device();
	for (cpu = 0; cpu < self->cpus; cpu++) {
		query = (struct flowtap_query){ .cpu = cpu };
		ASSERT_EQ(0, command(fd, FLOWTAP_IOC_QUERY, &query));
		EXPECT_EQ(FLOWTAP_SOURCE_CTR, query.source);
		ASSERT_EQ(0, other_driver_look(cpu, &csrs));
		EXPECT_EQ(0, csrs.control);
	}
	close(fd);
	close(kmsg);
	EXPECT_EQ(0, unload());
}

/* What runs in a guest would be recorded by it, among our entries. */
TEST_F(owner, so_does_who_records_guests)
{
	struct flowtap_query query = { 0 };
	int kmsg, fd;

	if (other_driver("guests 0 %#x", CONTROL_U))
		SKIP(return, "no H");
	kmsg = log_end();
	load("");
	EXPECT_TRUE(log_says(kmsg, "vsctrctl 0x1"));
	fd = open_device();
	if (fd >= 0) {
		ASSERT_EQ(0, command(fd, FLOWTAP_IOC_QUERY, &query));
		EXPECT_EQ(FLOWTAP_REASON_OWNED, query.reason);
		close(fd);
		EXPECT_EQ(0, unload());
	}
	ASSERT_EQ(0, load("takeover=1"));
	EXPECT_EQ(0, unload());
	/* It is at 0 by now: there is nobody whom it could be taken from. */
	ASSERT_EQ(0, load(""));
	fd = open_device();
	query = (struct flowtap_query){ 0 };
	ASSERT_EQ(0, command(fd, FLOWTAP_IOC_QUERY, &query));
	EXPECT_EQ(FLOWTAP_SOURCE_CTR, query.source);
	close(fd);
	close(kmsg);
	EXPECT_EQ(0, unload());
}

TEST_F(owner, one_cpu_of_another_is_not_used_the_rest_is)
{
	struct flowtap_configure configure = plain(FLOWTAP_SOURCE_CTR, 0);
	struct flowtap_query query = { 0 };
	struct stream stream;
	struct csrs csrs;
	int fd;

	if (self->cpus < 2)
		SKIP(return, "one CPU");
	ASSERT_EQ(0, other_driver("own 0 %#x", CONTROL_U));
	ASSERT_EQ(0, load(""));
	fd = open_device();
	ASSERT_EQ(0, command(fd, FLOWTAP_IOC_QUERY, &query));
	EXPECT_EQ(FLOWTAP_SOURCE_NONE, query.source);
	EXPECT_EQ(FLOWTAP_REASON_OWNED, query.reason);
	EXPECT_EQ(-EBUSY, stream_open(&stream, &configure));
	configure.cpu = 1;
	EXPECT_EQ(0, stream_open(&stream, &configure));
	stream_close(&stream);
	close(fd);
	EXPECT_EQ(0, unload());
	ASSERT_EQ(0, other_driver_look(0, &csrs));
	EXPECT_EQ(CONTROL_U, csrs.control);
}

/*
 * Somebody takes it while we record, the kernel too. What is there then is his: it is dropped, that
 * is told, and what comes next is ours.
 */
TEST_F(owner, who_takes_it_while_we_record_is_in_no_sample)
{
	struct flowtap_configure configure = plain(FLOWTAP_SOURCE_CTR, 0);
	unsigned int round, told;
	struct stream stream;
	struct csrs csrs;

	ASSERT_EQ(0, load(""));
	ASSERT_EQ(0, pin(0, 0));
	configure.ctr.depth = 256;
	ASSERT_EQ(0, trace(&stream, &configure, getpid()));
	for (round = 0; round < 10; round++) {
		ASSERT_EQ(0, other_driver("own 0 %#x", CONTROL_U | CONTROL_S));
		ASSERT_LE(0, snapshot(&stream));
		for (told = 0; stream_next(&stream) == 1;) {
			if (stream.record.header.type == FLOWTAP_RECORD_GAP)
				told += stream.record.gap.cause == FLOWTAP_CAUSE_HARDWARE;
			else if (stream.record.header.type == FLOWTAP_RECORD_SAMPLE)
				EXPECT_EQ(-1, bad_entry(&stream));
		}
		EXPECT_EQ(1, told);
		ASSERT_EQ(0, other_driver_look(0, &csrs));
		EXPECT_EQ(CONTROL_U, csrs.control & (CONTROL_U | CONTROL_S));
	}
	EXPECT_EQ(10, stats(&stream).losses[FLOWTAP_CAUSE_HARDWARE]);
	stream_close(&stream);
	EXPECT_EQ(0, unload());
}

/* A stream that holds the CPU, with something recorded. */
static int hold(struct stream *stream, const struct flowtap_configure *configure, pid_t pid)
{
	int error = trace(stream, configure, pid);

	if (error)
		return error;
	return stream_next_sample(stream, 10000) == 1 ? 0 : -ETIME;
}

/* Somebody else may be on the CPU whenever we look. */
static bool recording_comes(unsigned int cpu)
{
	uint64_t until = now_ns() + 10000 * MS;
	struct csrs csrs;

	while (now_ns() < until)
		if (!other_driver_look(cpu, &csrs) && csrs.control)
			return true;
	return false;
}

TEST_F(owner, nothing_is_left_behind)
{
	struct flowtap_configure configure = sampling(plain(FLOWTAP_SOURCE_CTR, 0), 100000);
	unsigned long depths[2];
	struct stream stream;
	struct loop loop;
	struct csrs csrs;
	int cpu;

	unthrottle();
	for (cpu = 0; cpu < self->cpus && cpu < 2; cpu++) {
		ASSERT_EQ(0, other_driver_look(cpu, &csrs));
		depths[cpu] = csrs.depth;
		ASSERT_EQ(0, load(""));
		loop = start_loop(cpu, 0x10000000);
		configure.cpu = cpu;
		/* Not the depth that it will be left with. */
		configure.ctr.depth = depths[cpu] == 2 ? 16 : 64;
		ASSERT_EQ(0, hold(&stream, &configure, loop.pid));
		if (self->cpus > 1) {
			ASSERT_EQ(0, pin(0, !cpu));
			ASSERT_TRUE(recording_comes(cpu));
		}
		stream_close(&stream);
		ASSERT_EQ(0, other_driver_look(cpu, &csrs));
		EXPECT_EQ(0, csrs.control);
		EXPECT_EQ(0, csrs.valid);
		EXPECT_EQ(0, unload());
		ASSERT_EQ(0, other_driver_look(cpu, &csrs));
		EXPECT_EQ(0, csrs.control);
		EXPECT_EQ(0, csrs.valid);
		EXPECT_EQ(0, csrs.status >> 31 & 1);
		EXPECT_EQ(depths[cpu], csrs.depth);
		end_loop(&loop);
	}
}

/* kexec starts the next kernel without a reset, and tasks run until then. */
TEST_F(owner, a_reboot_leaves_nothing_on)
{
	struct flowtap_configure configure = sampling(plain(FLOWTAP_SOURCE_CTR, 0), 100000);
	struct stream stream;
	struct csrs csrs;

	unthrottle();
	ASSERT_EQ(0, load(""));
	ASSERT_EQ(0, pin(0, 0));
	/* Whoever looks here is who is recorded. */
	ASSERT_EQ(0, hold(&stream, &configure, getpid()));
	ASSERT_EQ(0, other_driver_look(0, &csrs));
	EXPECT_EQ(CONTROL_U, csrs.control & CONTROL_U);
	EXPECT_EQ(0, other_driver("reboot"));
	/* Off, and switches do not change that. */
	for (int round = 0; round < 3; round++) {
		ASSERT_EQ(0, other_driver_look(0, &csrs));
		EXPECT_EQ(0, csrs.control);
		EXPECT_EQ(0, csrs.valid);
		sleep_ms(10);
	}
	EXPECT_FALSE(source_there(FLOWTAP_SOURCE_CTR));
	stream_close(&stream);
	EXPECT_EQ(0, unload());
}

TEST_F(owner, a_cpu_that_goes_leaves_nothing_on)
{
	struct flowtap_configure configure = sampling(plain(FLOWTAP_SOURCE_CTR, 1), 100000);
	struct stream stream;
	struct loop loop;
	struct csrs csrs;

	if (self->cpus < 2 || access(CPU1, W_OK))
		SKIP(return, "no CPU that can go");
	unthrottle();
	ASSERT_EQ(0, load(""));
	loop = start_loop(1, 0x10000000);
	ASSERT_EQ(0, hold(&stream, &configure, loop.pid));
	ASSERT_EQ(0, write_file(CPU1, "0"));
	/* Its registers may keep their contents while it is away: it goes and comes without us. */
	stream_close(&stream);
	ASSERT_EQ(0, unload());
	ASSERT_EQ(0, write_file(CPU1, "1"));
	ASSERT_EQ(0, other_driver_look(1, &csrs));
	EXPECT_EQ(0, csrs.control);
	EXPECT_EQ(0, csrs.valid);
	end_loop(&loop);
}

TEST_F(owner, a_cpu_that_comes_back_with_anything_in_its_registers_is_still_ours)
{
	struct flowtap_configure configure = sampling(plain(FLOWTAP_SOURCE_CTR, 1), 100000);
	struct stream stream;
	struct loop loop;
	struct csrs csrs;

	if (self->cpus < 2 || access(CPU1, W_OK))
		SKIP(return, "no CPU that can go");
	unthrottle();
	ASSERT_EQ(0, load(""));
	ASSERT_EQ(0, other_driver("online 1"));
	ASSERT_EQ(0, write_file(CPU1, "0"));
	ASSERT_EQ(0, write_file(CPU1, "1"));
	ASSERT_EQ(0, other_driver("online 0"));
	ASSERT_EQ(0, other_driver_look(1, &csrs));
	EXPECT_EQ(0, csrs.control);
	EXPECT_EQ(0, csrs.valid);
	loop = start_loop(1, 0x10000000);
	EXPECT_EQ(0, hold(&stream, &configure, loop.pid));
	EXPECT_TRUE(inside(&stream, loop.code));
	stream_close(&stream);
	end_loop(&loop);
	EXPECT_EQ(0, unload());
}

/* What there is to be interrupted by: samples at any moment, in either mode, and switches. */
static int disturb(struct stream *stream, pid_t pid)
{
	struct flowtap_configure configure = sampling(plain(FLOWTAP_SOURCE_CTR, 0), 20000);

	configure.ring_pages = 1024;
	configure.triggers |= FLOWTAP_TRIGGER_SWITCH;
	return trace(stream, &configure, pid);
}

TEST_F(owner, siselect_is_as_it_was_whenever_we_were_there)
{
	struct stream stream;
	struct loop loop;
	pid_t asker = 0;
	unsigned int round;

	unthrottle();
	ASSERT_EQ(0, load(""));
	/* Somebody to be switched to and from. */
	loop = start_loop(0, 0x10000000);
	ASSERT_EQ(0, disturb(&stream, getpid()));
	ASSERT_EQ(1, add_task(&stream, loop.pid, 0));
	ASSERT_EQ(0, pin(0, 0));
	if (self->cpus > 1) {
		asker = fork_pinned(1);
		if (!asker)
			for (;;)
				snapshot(&stream);
	}
	for (round = 0; round < 20; round++)
		EXPECT_EQ(0, other_driver("select 1000"));
	if (asker)
		end(asker);
	/* We were there. */
	EXPECT_LT(10, stats(&stream).switches);
	EXPECT_LT(10, stats(&stream).samples);
	if (asker)
		EXPECT_LT(100, stats(&stream).triggers);
	stream_close(&stream);
	end_loop(&loop);
	EXPECT_EQ(0, unload());
}

/*
 * Whoever wakes finds anything in the registers. What a task had recorded before was saved in
 * time: none of what is found is told, nothing else is lost, and recording goes on.
 */
TEST_F_TIMEOUT(owner, an_idle_state_may_lose_the_registers, 600)
{
	struct flowtap_configure configure = sampling(plain(FLOWTAP_SOURCE_CTR, 0), 100000);
	const struct flowtap_record_sample *sample;
	unsigned int i, samples = 0, full = 0, frozen = 0, wrong = 0, losses = 0, round;
	const struct flowtap_entry *entry;
	struct stream stream;
	struct loop loop;

	unthrottle();
	ASSERT_EQ(0, load(""));
	loop = start_loop(0, 0x10000000);
	configure.ring_pages = 4096;
	configure.ctr.depth = 256;
	/* With samples at switches, and with histories that are kept over them. */
	for (round = 0; round < 2; round++) {
		uint64_t sequence = 0;

		configure.triggers |= round ? FLOWTAP_TRIGGER_SWITCH : 0;
		ASSERT_EQ(0, hold(&stream, &configure, loop.pid));
		sample = &stream.record.sample;
		entry = entries_of(&stream);
		ASSERT_EQ(0, other_driver("idle 0 100 10000000 %u", round + 7));
		ASSERT_EQ(0, disable(&stream));
		while (stream_next(&stream) == 1) {
			if (sample->header.type != FLOWTAP_RECORD_SAMPLE)
				continue;
			samples++;
			losses |= sample->loss;
			full += sample->nr == sample->depth;
			frozen += sample->loss >> FLOWTAP_CAUSE_FROZEN & 1;
			if (sequence)
				EXPECT_EQ(!sample->loss, sample->sequence == sequence + 1);
			sequence = sample->sequence;
			for (i = 0; i < sample->nr; i++)
				wrong += SCRAMBLED(entry[i].source) || SCRAMBLED(entry[i].target);
			wrong += !inside(&stream, loop.code) || bad_entry(&stream) != -1;
			wrong += sample->depth != 256 || sample->control != (1 | 1 << 8 | 1 << 12);
		}
		/* A loop fills the buffer, a fast machine the ring; and that is all. */
		EXPECT_EQ(0, losses & ~(1U << FLOWTAP_CAUSE_WRAPPED | 1U << FLOWTAP_CAUSE_OFFLINE |
					1U << FLOWTAP_CAUSE_FROZEN | 1U << FLOWTAP_CAUSE_RING_FULL));
		EXPECT_EQ(0, wrong);
		EXPECT_LT(50, full);
		/* An overflow froze recording, and its interrupt waited after the idle state's. */
		EXPECT_GT(20, frozen);
		/* It goes on. */
		ASSERT_EQ(0, enable(&stream));
		for (i = 0; i < 20; i++) {
			ASSERT_EQ(1, stream_next_sample(&stream, 10000));
			EXPECT_EQ(-1, bad_entry(&stream));
			EXPECT_TRUE(inside(&stream, loop.code));
		}
		stream_close(&stream);
	}
	end_loop(&loop);
	EXPECT_EQ(0, unload());
}

/* Also with nobody traced the registers are as they were when the CPU is back. */
TEST_F(owner, what_idle_states_leave_in_the_registers_is_not_left_there)
{
	struct csrs csrs;

	ASSERT_EQ(0, load(""));
	ASSERT_EQ(0, other_driver("idle 0 20 1000000 1"));
	ASSERT_EQ(0, other_driver_look(0, &csrs));
	EXPECT_EQ(0, csrs.control);
	EXPECT_EQ(0, csrs.valid);
	EXPECT_EQ(0, unload());
}

#else

TEST(ctr_is_riscv)
{
	SKIP(return, "CTR is RISC-V's");
}

#endif

TEST_HARNESS_MAIN
