// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that ETE's trace survives an idle state that loses the registers and a CPU that comes
 * online with anything in them, that a reboot leaves nothing on, and that a gap names whoever disturbs
 * the hardware (module/other_driver_ete.c).
 */
#include "other_driver.h"
#include "support/kselftest_harness.h"
#include "worker.h"

#define CPU1 "/sys/devices/system/cpu/cpu1/online"

FIXTURE(other_driver)
{
	struct flowtap_configure configure;
	struct aux aux;
	struct worker worker;
	unsigned int cpu;
};

FIXTURE_SETUP(other_driver)
{
	int error;

	self->aux.stream.fd = -1;
	self->worker.pid = -1;
	/* Before flowtap: whatever happens to a CPU that comes online has happened then. */
	if (!access(DEVICE, F_OK))
		ASSERT_EQ(0, unload());
	error = other_driver_load();
	ASSERT_EQ(0, load(""));
	if (error)
		SKIP(return, "no other_driver.ko, or no trace buffer here: %s", strerror(-error));
	self->cpu = cpus_online() > 1;
	self->configure = tracing(self->cpu, 512);
	pin(0, 0);
}

FIXTURE_TEARDOWN(other_driver)
{
	aux_close(&self->aux);
	if (self->worker.pid > 0)
		end_worker(&self->worker);
	other_driver_unload();
}

static bool whole(struct aux *aux)
{
	aux_take(aux);
	return !aux->wrong && aux->records;
}

/* The worker is in its turn, from before the first to after the last. */
TEST_F(other_driver, an_idle_state_may_lose_the_registers)
{
	unsigned int n, tries;
	char byte = 0;

	self->worker = start_worker(self->cpu, 300000);
	for (n = 0; n < 4; n++) {
		if (n & 1)
			self->configure.modes |= FLOWTAP_MODE_KERNEL;
		else
			self->configure.modes &= ~FLOWTAP_MODE_KERNEL;
		if (n & 2)
			self->configure.flags |= FLOWTAP_CPU_WIDE;
		ASSERT_EQ(0, n & 2 ? aux_open(&self->aux, &self->configure) ?:
			     enable(&self->aux.stream) :
			     trace(&self->aux, &self->configure, self->worker.pid));
		/* The worker may have ended its turn before the CPU idles. */
		for (tries = 0; tries < 20 && self->aux.records <= 10; tries++) {
			ASSERT_EQ(1, write(self->worker.go, &byte, 1));
			ASSERT_EQ(0, other_driver("idle %u 25 500000 %u", self->cpu, n + 1));
			aux_take(&self->aux);
			ASSERT_EQ(1, read(self->worker.done, &byte, 1));
			aux_take(&self->aux);
		}
		ASSERT_EQ(0, disable(&self->aux.stream));
		EXPECT_TRUE(whole(&self->aux)) TH_LOG("%u: %s", n, self->aux.wrong);
		EXPECT_LT(10, self->aux.records);
		/*
		 * Nothing of a task is missing, for it has left before; of the CPU the way to
		 * sleep and back is, which the next record tells.
		 */
		EXPECT_EQ(n == 3 ? 1U << FLOWTAP_CAUSE_OFFLINE : 0, self->aux.losses)
			TH_LOG("%u: losses %#x", n, self->aux.losses);
		EXPECT_EQ(0, all_gaps(&self->aux)) TH_LOG("%u", n);
		aux_close(&self->aux);
	}
}

TEST_F(other_driver, a_cpu_may_come_online_with_anything_in_its_registers)
{
	if (cpus_online() < 2 || write_file(CPU1, "1"))
		SKIP(return, "no CPU here can go");
	ASSERT_EQ(0, write_file(CPU1, "0"));
	ASSERT_EQ(0, other_driver("online 1"));
	ASSERT_EQ(0, write_file(CPU1, "1"));
	ASSERT_EQ(0, other_driver("online 0"));
	self->worker = start_worker(1, 1000);
	ASSERT_EQ(0, trace(&self->aux, &self->configure, self->worker.pid));
	ASSERT_TRUE(turn(&self->worker));
	ASSERT_EQ(0, disable(&self->aux.stream));
	EXPECT_TRUE(whole(&self->aux)) TH_LOG("%s", self->aux.wrong);
	EXPECT_TRUE(nothing_lost(&self->aux));
}

struct state {
	unsigned long trfcr;
	unsigned long unit;		/* TRCPRGCTLR */
	unsigned long buffer;		/* TRBLIMITR */
	unsigned long claims;
};

/* What CPU 0's registers hold now: 0 or -errno. */
static int look(struct state *state)
{
	char text[ANSWER_SIZE];
	int error = other_driver_ask(0, text);

	if (!error && sscanf(text, "%li %li %li %li", (long *)&state->trfcr, (long *)&state->unit,
			     (long *)&state->buffer, (long *)&state->claims) != 4)
		error = -EPROTO;
	return error;
}

/* kexec starts the next kernel without a reset, and tasks run until then. */
TEST_F(other_driver, a_reboot_leaves_unit_and_buffer_off)
{
	struct state before, state;
	int round;

	/* As it is without us. */
	ASSERT_EQ(0, unload());
	ASSERT_EQ(0, look(&before));
	EXPECT_EQ(0, before.claims);
	ASSERT_EQ(0, load(""));
	/* Whoever looks here is who is traced. */
	self->configure.cpu = 0;
	ASSERT_EQ(0, trace(&self->aux, &self->configure, getpid()));
	ASSERT_EQ(0, look(&state));
	EXPECT_EQ(1, state.unit & 1);
	EXPECT_EQ(1, state.buffer & 1);
	EXPECT_NE(0, state.claims);
	EXPECT_EQ(0, other_driver("reboot"));
	/* Off, and switches do not change that. */
	for (round = 0; round < 3; round++) {
		ASSERT_EQ(0, look(&state));
		EXPECT_EQ(0, state.unit & 1);
		EXPECT_EQ(0, state.buffer & 1);
		EXPECT_EQ(0, state.claims);
		EXPECT_EQ(before.trfcr, state.trfcr);
		sleep_ms(10);
	}
	EXPECT_FALSE(source_there(FLOWTAP_SOURCE_ETE));
	aux_take(&self->aux);
	EXPECT_EQ(NULL, self->aux.wrong) TH_LOG("%s", self->aux.wrong);
	aux_close(&self->aux);
	EXPECT_EQ(0, unload());
}

static void begin_long_turns(FIXTURE_DATA(other_driver) *self)
{
	self->worker = start_worker(self->cpu, 1500000);
	self->configure.aux_pages = 4096;
	if (trace(&self->aux, &self->configure, self->worker.pid))
		abort();
}

/* The other driver does that to the worker's CPU once its turn is traced. */
static bool within_a_turn(FIXTURE_DATA(other_driver) *self, const char *what)
{
	unsigned int before = self->aux.records;
	char byte = 0;

	return write(self->worker.go, &byte, 1) == 1 &&
	       WAIT_FOR((aux_take(&self->aux), self->aux.records > before)) &&
	       !other_driver("%s %u", what, self->cpu) && read(self->worker.done, &byte, 1) == 1;
}

/* What comes until the next piece is lost, which is told with its cause; then all is as before. */
TEST_F(other_driver, who_disturbs_the_hardware_is_told)
{
	unsigned int n, collisions = 0;

	begin_long_turns(self);
	/* A worker that is not on its CPU just then, or has ended its turn, is not disturbed. */
	for (n = 0; n < 20 && !self->aux.gaps[FLOWTAP_CAUSE_HARDWARE]; n++) {
		ASSERT_TRUE(within_a_turn(self, "disturb"));
		/* At the end of its turn: it is told with the next one's first piece. */
		ASSERT_TRUE(turn(&self->worker));
		aux_take(&self->aux);
	}
	ASSERT_EQ(0, disable(&self->aux.stream));
	EXPECT_TRUE(whole(&self->aux)) TH_LOG("%s", self->aux.wrong);
	for (n = 0; n < self->aux.records && n < AUX_SEEN; n++)
		collisions += !!(self->aux.seen[n].flags & FLOWTAP_AUX_COLLISION);
	EXPECT_GE(1, collisions);
	EXPECT_EQ(1, self->aux.gaps[FLOWTAP_CAUSE_HARDWARE]);
	EXPECT_EQ(1, all_gaps(&self->aux));
	EXPECT_EQ(1U << FLOWTAP_CAUSE_HARDWARE, self->aux.losses);
	/* It went on. */
	ASSERT_GE(AUX_SEEN, self->aux.records);
	EXPECT_EQ(0, self->aux.seen[self->aux.records - 1].flags & FLOWTAP_AUX_COLLISION);
}

/* What is recorded meanwhile is lost, which is told; what the other one has enabled stays so. */
TEST_F(other_driver, who_takes_the_buffer_keeps_it)
{
	unsigned int n, before;

	begin_long_turns(self);
	for (n = 0; n < 20 && !self->aux.gaps[FLOWTAP_CAUSE_HARDWARE]; n++) {
		ASSERT_TRUE(within_a_turn(self, "take"));
		ASSERT_TRUE(turn(&self->worker));
		ASSERT_EQ(0, other_driver("release %u", self->cpu));
		ASSERT_TRUE(turn(&self->worker));
		aux_take(&self->aux);
	}
	before = self->aux.records;
	ASSERT_TRUE(turn(&self->worker));
	ASSERT_EQ(0, disable(&self->aux.stream));
	EXPECT_TRUE(whole(&self->aux)) TH_LOG("%s", self->aux.wrong);
	EXPECT_NE(0, self->aux.gaps[FLOWTAP_CAUSE_HARDWARE]);
	EXPECT_EQ(self->aux.gaps[FLOWTAP_CAUSE_HARDWARE], all_gaps(&self->aux));
	EXPECT_LT(before, self->aux.records);
}

TEST_HARNESS_MAIN
