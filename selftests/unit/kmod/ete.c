// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows on a model of the registers in which order the driver enables and disables a trace unit and
 * its buffer, and what it does where emulators have nobody: another driver that takes the hardware
 * at any moment, and a unit that is slow or never answers.
 */
#include "ete_driver.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define EXTERNAL 1ULL		/* TRCCLAIM, bit 0: a debugger */
#define PROHIBITED 0x20ULL	/* TRFCR: TS alone */

/* What is told of an opening up to the buffer, of the buffer, and of the unit. */
#define CLAIMED " claim isb trfcr=20 isb poll"
#define PROGRAMMED CLAIMED " program state"
#define BUFFER_ON " status base pointer trigger isb buffer=1 isb"
#define UNIT_ON " isb unit=1 poll"
#define PROHIBIT " trfcr=20 isb tsb"
#define UNIT_OFF " unit=0 poll"
#define BUFFER_OFF " buffer=0 dsb isb pointer? status isb"

/* --- The order of K10.5.7.1 and K10.5.10. --- */

TEST_F(ete, a_unit_is_enabled_after_its_buffer_and_disabled_before_it)
{
	struct flowtap_recording *recording = &self->recording;
	struct flowtap_collected collected;
	unsigned int set;

	for (set = 0; set < 4; set++) {
		const bool kernel = set & 1;

		pe.el2 = set >> 1;
		self->configure.modes = FLOWTAP_MODE_USER | (kernel ? FLOWTAP_MODE_KERNEL : 0);
		ASSERT_EQ(0, begin(recording, &self->aux, &self->configure));
		ASSERT_EQ(0, ete_open(recording, false));
		EXPECT_STREQ(PROGRAMMED BUFFER_ON UNIT_ON, pe.did);
		EXPECT_EQ(PROHIBITED, pe.trfcr);
		EXPECT_EQ(1, host.told_kvm);
		forget();
		ete_resume(recording);
		EXPECT_STREQ(kernel ? " trfcr=23 isb" : " trfcr=21", pe.did);
		pe_runs(1000);
		forget();
		collected = end(recording, true);
		EXPECT_STREQ(PROHIBIT UNIT_OFF BUFFER_OFF, pe.did);
		EXPECT_EQ(1000, collected.size);
		EXPECT_FALSE(collected.collision || collected.fault || collected.full);
		EXPECT_EQ(0, host.told_kvm | host.busy | host.stopped);
		ete_offline();
	}
}

/* What a switch of tasks does not need: the unit goes on, and its registers are as they were. */
TEST_F(ete, a_unit_stays_enabled_while_its_buffer_is_emptied)
{
	struct flowtap_recording *recording = &self->recording;
	unsigned int round;

	ASSERT_EQ(0, begin(recording, &self->aux, &self->configure));
	ASSERT_EQ(0, ete_open(recording, false));
	for (round = 0; round < 3; round++) {
		ete_resume(recording);
		pe_runs(64);
		forget();
		EXPECT_EQ(64, end(recording, false).size);
		EXPECT_STREQ(PROHIBIT BUFFER_OFF, pe.did);
		EXPECT_EQ(1, pe.prgctlr);
		/* The core's switch hook: it is neither its buffer nor anybody's trace. */
		forget();
		EXPECT_FALSE(ete_pause(recording));
		ete_resume(recording);
		EXPECT_STREQ("", pe.did);
		ASSERT_EQ(0, ete_open(recording, false));
		EXPECT_STREQ(BUFFER_ON, pe.did);
	}
	end(recording, false);
	forget();
	ete_reset(recording);
	EXPECT_STREQ(UNIT_OFF, pe.did);
	forget();
	ete_reset(recording);
	EXPECT_STREQ("", pe.did);
}

TEST_F(ete, errata_have_their_second_barriers)
{
	struct flowtap_recording *recording = &self->recording;
	unsigned int how;

	/* Told by the kernel; of a kernel that does not know them by the number of the CPU. */
	for (how = 0; how < 2; how++) {
		host.capabilities = how ? 0 :
			1 << ARM64_WORKAROUND_2064142 | 1 << ARM64_WORKAROUND_2038923;
		host.midr = how ? 0x410fd462 : 0;
		ASSERT_EQ(0, begin(recording, &self->aux, &self->configure));
		ASSERT_EQ(0, ete_open(recording, false));
		EXPECT_STREQ(PROGRAMMED BUFFER_ON " isb" UNIT_ON, pe.did);
		ete_resume(recording);
		forget();
		end(recording, true);
		EXPECT_STREQ(PROHIBIT UNIT_OFF " buffer=0 tsb dsb dsb isb pointer? status isb",
			     pe.did);
		ete_offline();
	}
}

/* A recording's registers are written once, its unit's own state before each enabling. */
TEST_F(ete, a_unit_is_programmed_when_it_has_another_recording)
{
	struct flowtap_recording *recording = &self->recording, other;

	ASSERT_EQ(0, begin(recording, &self->aux, &self->configure));
	other = *recording;
	other.id = ~recording->id;
	ASSERT_EQ(0, ete_open(recording, false));
	end(recording, true);
	forget();
	ASSERT_EQ(0, ete_open(recording, false));
	EXPECT_STREQ(CLAIMED " state" BUFFER_ON UNIT_ON, pe.did);
	end(recording, true);
	forget();
	ASSERT_EQ(0, ete_open(&other, false));
	EXPECT_STREQ(PROGRAMMED BUFFER_ON UNIT_ON, pe.did);
	end(&other, true);
	/* It was off meanwhile. */
	ete_recover();
	forget();
	ASSERT_EQ(0, ete_open(&other, false));
	EXPECT_STREQ(PROGRAMMED BUFFER_ON UNIT_ON, pe.did);
	end(&other, true);
	/* And so was the CPU. */
	ete_offline();
	ASSERT_EQ(FLOWTAP_REASON_NONE, ete_online());
	forget();
	ASSERT_EQ(0, ete_open(&other, false));
	EXPECT_STREQ(PROGRAMMED BUFFER_ON UNIT_ON, pe.did);
	end(&other, true);
}

/* --- The buffer's registers, and what is made of them. --- */

TEST_F(ete, a_buffer_has_the_window_and_the_mode_that_is_wanted)
{
	static const struct {
		char *watermark;
		bool overwrite, spare;
		u64 base, limit, mode, trigger;	/* mode: FM 2:1, TM 4:3 */
	} kinds[] = {
		/* Fill, the counter interrupts; fill, the limit does; circular, nothing does. */
		{ "trigger", false, false, 0, PAGES, 1 << 3, PAGE_SIZE },
		{ "limit", false, false, 0, 1, 3 << 3, 0 },
		{ "trigger", true, false, 0, PAGES, 3 << 3 | 3 << 1, 0 },
		{ "trigger", false, true, PAGES, PAGES + 1, 3 << 3 | 3 << 1, 0 },
	};
	struct flowtap_recording *recording = &self->recording;
	unsigned int i;

	ASSERT_EQ(0, begin(recording, &self->aux, &self->configure));
	for (i = 0; i < COUNT(kinds); i++) {
		watermark = kinds[i].watermark;
		self->aux.overwrite = kinds[i].overwrite;
		forget();
		ASSERT_EQ(0, ete_open(recording, kinds[i].spare));
		EXPECT_EQ((u64)area + kinds[i].base * PAGE_SIZE, pe.base);
		EXPECT_EQ(pe.base, pe.pointer);
		EXPECT_EQ((u64)area + kinds[i].limit * PAGE_SIZE + (kinds[i].mode | ENABLED),
			  pe.limitr);
		EXPECT_EQ(kinds[i].trigger, pe.trigger);
		/* TRG: the counter counts. */
		EXPECT_EQ(kinds[i].trigger ? 1 << 21 : 0, pe.status);
		end(recording, true);
	}
	watermark = "trigger";
}

/* Up to where the pointer may be; of a flight recorder that went round it may be newer bytes. */
TEST_F(ete, what_is_skipped_is_filled_where_bytes_came_after_it)
{
	struct flowtap_recording *recording = &self->recording;
	struct flowtap_collected collected;
	unsigned int how;

	ASSERT_EQ(0, begin(recording, &self->aux, &self->configure));
	self->aux.head = self->aux.tail = 10;
	for (how = 0; how < 3; how++) {
		memset(area, 0x55, sizeof(area));
		self->aux.overwrite = how == 2;
		forget();
		ASSERT_EQ(0, ete_open(recording, false));
		EXPECT_EQ((u64)area + 64, pe.pointer);
		ete_resume(recording);
		if (how == 1)
			pe_runs(100);
		if (how == 2)
			pe.status |= 1 << 20;
		collected = end(recording, true);
		EXPECT_EQ(54, collected.skipped);
		EXPECT_EQ(how == 2, collected.wrapped);
		EXPECT_EQ(how == 0 ? 0 : how == 1 ? 100 : self->aux.size, collected.size);
		EXPECT_EQ(0x55, area[9]);
		EXPECT_EQ(how == 1 ? 0x70 : 0x55, area[10]);
		EXPECT_EQ(how == 1 ? 0x70 : 0x55, area[63]);
		EXPECT_EQ(0x55, area[64]);
	}
}

/* To the area's end and from its beginning on: 256 bytes at the base are the erratum's. */
TEST_F(ete, what_is_skipped_may_go_round_the_end)
{
	struct flowtap_recording *recording = &self->recording;
	const u64 end_of_area = PAGES * PAGE_SIZE;

	host.capabilities = 1 << ARM64_WORKAROUND_TRBE_OVERWRITE_FILL_MODE;
	ASSERT_EQ(0, begin(recording, &self->aux, &self->configure));
	self->aux.head = self->aux.tail = 3 * end_of_area - 512;
	memset(area, 0x55, sizeof(area));
	ASSERT_EQ(0, ete_open(recording, false));
	EXPECT_EQ((u64)area + 256, pe.pointer);
	ete_resume(recording);
	pe_runs(100);
	EXPECT_EQ(512 + 256, end(recording, true).skipped);
	EXPECT_EQ(0x55, area[end_of_area - 513]);
	EXPECT_EQ(0x70, area[end_of_area - 512]);
	EXPECT_EQ(0x70, area[end_of_area - 1]);
	EXPECT_EQ(0x55, area[end_of_area]);
	EXPECT_EQ(0x70, area[0]);
	EXPECT_EQ(0x70, area[255]);
	EXPECT_EQ(0x55, area[256]);
}

TEST_F(ete, how_a_buffer_ended_is_told)
{
	static const struct {
		u64 status, pointer, size;
		bool full, fault;
	} ends[] = {
		{ 1 << 21, 100, 100, false, false },
		/* The counter; full (WRAP, S, BSC 1); a fault in stage 1; an External abort. */
		{ 1 << 22 | 1 << 21, 100, 100, false, false },
		{ 1 << 22 | 1 << 20 | 1 << 17 | 1, 0, PAGES * PAGE_SIZE, true, false },
		{ 0x24ULL << 26 | 1 << 22 | 1 << 17, 100, 100, false, true },
		{ 1 << 22 | 1 << 18 | 1 << 17, 100, 0, false, true },
	};
	struct flowtap_recording *recording = &self->recording;
	struct flowtap_collected collected;
	unsigned int i, stopped = 0;

	ASSERT_EQ(0, begin(recording, &self->aux, &self->configure));
	for (i = 0; i < COUNT(ends); i++) {
		forget();
		ASSERT_EQ(0, ete_open(recording, false));
		pe.status = ends[i].status;
		pe.pointer = pe.base + ends[i].pointer;
		collected = end(recording, true);
		EXPECT_EQ(ends[i].size, collected.size);
		EXPECT_EQ(ends[i].full, collected.full);
		EXPECT_EQ(ends[i].fault, collected.fault);
		EXPECT_FALSE(collected.collision || collected.wrapped);
		/* Only what stopped by itself is worth a warning; the interrupt's cause goes. */
		stopped += ends[i].fault;
		EXPECT_EQ(stopped, host.stopped);
		EXPECT_EQ(0, pe.status);
	}
}

/* --- Whose it is. --- */

TEST_F(ete, a_unit_with_an_owner_is_not_used)
{
	struct flowtap_recording *recording = &self->recording;
	unsigned int who;

	ASSERT_EQ(0, begin(recording, &self->aux, &self->configure));
	for (who = 0; who < 2; who++) {
		/* A debugger's claim; a driver that does without, and traces. */
		pe.claims = who ? SELF : SELF | EXTERNAL;
		pe.prgctlr = who;
		pe.trfcr = 0x43;
		pe.anothers = true;
		forget();
		EXPECT_EQ(-EBUSY, ete_open(recording, false));
		ete_pause(recording);
		ete_resume(recording);
		EXPECT_STREQ("", pe.did);
		EXPECT_EQ(0, pe.meddled | host.told_kvm);
	}
	pe.anothers = false;
	pe.prgctlr = 0;
	/* Gone: who has taken the claim away may have written any of the registers. */
	pe.claims = 0;
	ASSERT_EQ(0, ete_open(recording, false));
	EXPECT_STREQ(PROGRAMMED BUFFER_ON UNIT_ON, pe.did);
	end(recording, true);
	pe.claims = 0;
	forget();
	ASSERT_EQ(0, ete_open(recording, false));
	EXPECT_STREQ(PROGRAMMED BUFFER_ON UNIT_ON, pe.did);
	end(recording, true);
}

/* Both have looked, and nobody had it. */
TEST_F(ete, an_owner_who_claims_at_the_same_time_has_it)
{
	struct flowtap_recording *recording = &self->recording;

	ASSERT_EQ(0, begin(recording, &self->aux, &self->configure));
	pe.claims_of_another = EXTERNAL;
	EXPECT_EQ(-EBUSY, ete_open(recording, false));
	EXPECT_STREQ(" claim isb unclaim", pe.did);
	EXPECT_EQ(EXTERNAL, pe.claims);
	EXPECT_EQ(0, pe.limitr | pe.prgctlr | host.told_kvm);
	/* The claim may have been in vain before: nothing is left of it. */
	ete_offline();
	forget();
	EXPECT_EQ(FLOWTAP_REASON_OWNED, ete_online());
	EXPECT_NE(NULL, strstr(said, "rmmod coresight_etm4x"));
	EXPECT_EQ(EXTERNAL, pe.claims);
	EXPECT_EQ(host.enabled, host.disabled);
}

TEST_F(ete, a_buffer_with_an_owner_is_not_used)
{
	struct flowtap_recording *recording = &self->recording;
	const u64 limitr = 0x7000 | ENABLED;

	ASSERT_EQ(0, begin(recording, &self->aux, &self->configure));
	pe.limitr = limitr;
	pe.pointer = 0x1234;
	EXPECT_EQ(-EBUSY, ete_open(recording, false));
	EXPECT_EQ(limitr, pe.limitr);
	EXPECT_EQ(0x1234, pe.pointer);
	EXPECT_EQ(0, pe.prgctlr | host.told_kvm);
	/* What is open is the buffer. */
	forget();
	ete_resume(recording);
	EXPECT_STREQ("", pe.did);
	pe.limitr = 0;
	ASSERT_EQ(0, ete_open(recording, false));
	end(recording, true);
}

TEST_F(ete, who_has_disabled_the_unit_has_what_came_since)
{
	struct flowtap_recording *recording = &self->recording;
	struct flowtap_collected collected;

	ASSERT_EQ(0, begin(recording, &self->aux, &self->configure));
	ASSERT_EQ(0, ete_open(recording, false));
	ete_resume(recording);
	pe_runs(640);
	pe.prgctlr = 0;
	collected = end(recording, true);
	EXPECT_TRUE(collected.collision);
	EXPECT_TRUE(collected.fault);
	EXPECT_EQ(640, collected.size);
	forget();
	ASSERT_EQ(0, ete_open(recording, false));
	EXPECT_STREQ(PROGRAMMED BUFFER_ON UNIT_ON, pe.did);
	EXPECT_FALSE(end(recording, true).collision);
}

/* A buffer that another has enabled meanwhile goes on; nothing in the area is taken for trace. */
TEST_F(ete, a_buffer_that_another_has_taken_is_his)
{
	struct flowtap_recording *recording = &self->recording;
	struct flowtap_collected collected;
	unsigned int how;
	u64 limitr;

	ASSERT_EQ(0, begin(recording, &self->aux, &self->configure));
	for (how = 0; how < 3; how++) {
		memset(area, 0x55, sizeof(area));
		ASSERT_EQ(0, ete_open(recording, false));
		ete_resume(recording);
		pe_runs(128);
		/* He uses it; has used it and gone; and even put back the limit as it was. */
		limitr = how == 0 ? 0x7000 | ENABLED : how == 1 ? 0 : pe.limitr;
		pe.limitr = limitr;
		pe.base = how == 0 ? 0x4000 : (u64)area + 3 * PAGE_SIZE;
		pe.pointer = pe.base + 64;
		forget();
		collected = end(recording, true);
		EXPECT_TRUE(collected.collision && collected.fault);
		EXPECT_EQ(0, collected.size);
		EXPECT_EQ(0x55, area[0]);
		EXPECT_EQ(0, host.told_kvm);
		EXPECT_EQ(how == 0 ? limitr : 0, pe.limitr);
		/* His pointer is where he has it. */
		EXPECT_STREQ(how == 0 ? PROHIBIT UNIT_OFF : PROHIBIT UNIT_OFF BUFFER_OFF, pe.did);
		EXPECT_EQ(how == 0 ? -EBUSY : 0, ete_open(recording, false));
		if (how != 0)
			end(recording, true);
		pe.limitr = 0;
	}
}

TEST_F(ete, another_s_trace_is_left_alone_when_a_cpu_goes_and_comes)
{
	struct flowtap_recording *recording = &self->recording;
	unsigned int state;

	for (state = 0; state < 2; state++) {
		ASSERT_EQ(0, begin(recording, &self->aux, &self->configure));
		ASSERT_EQ(0, ete_open(recording, false));
		end(recording, true);
		pe.prgctlr = 1;
		pe.trfcr = 0x43;
		pe.limitr = 0x7000 | ENABLED;
		pe.status = 1 << 22;
		pe.anothers = true;
		forget();
		if (state)
			ete_recover();
		ete_offline();
		EXPECT_STREQ("", pe.did);
		EXPECT_EQ(0, pe.meddled);
		EXPECT_EQ(SELF, pe.claims);
		EXPECT_EQ(host.enabled, host.disabled);
		pe.anothers = false;
		pe.prgctlr = pe.limitr = pe.status = 0;
	}
}

TEST_F(ete, a_cpu_is_left_as_it_was_found)
{
	struct flowtap_recording *recording = &self->recording;

	ASSERT_EQ(0, begin(recording, &self->aux, &self->configure));
	EXPECT_EQ(SELF, pe.claims);
	EXPECT_EQ(PROHIBITED, pe.trfcr);
	ASSERT_EQ(0, ete_open(recording, false));
	end(recording, false);
	/* Whoever has not reset it. */
	forget();
	ete_offline();
	EXPECT_STREQ(" trfcr=20 isb" UNIT_OFF " unclaim trfcr=43 isb", pe.did);
	EXPECT_EQ(0, pe.claims | pe.prgctlr);
	EXPECT_EQ(1, host.enabled);
	EXPECT_EQ(1, host.disabled);
	ete_offline();
	EXPECT_EQ(1, host.disabled);
}

/* After a state in which it lost its registers: the lock is on, the status has any value. */
TEST_F(ete, a_cpu_that_lost_its_registers_is_made_well)
{
	struct flowtap_recording *recording = &self->recording;

	ASSERT_EQ(0, begin(recording, &self->aux, &self->configure));
	pe.locked = 1;
	pe.claims = 0;
	pe.status = 1 << 22;
	pe.trfcr = 3;
	ete_recover();
	EXPECT_STREQ(" lock=0 isb trfcr=20 isb status isb", pe.did);
	EXPECT_EQ(0, pe.status | pe.locked);
	forget();
	ASSERT_EQ(0, ete_open(recording, false));
	EXPECT_STREQ(PROGRAMMED BUFFER_ON UNIT_ON, pe.did);
	end(recording, true);
}

/* --- A unit that does not answer. --- */

TEST_F(ete, a_slow_unit_is_waited_for)
{
	struct flowtap_recording *recording = &self->recording;

	pe.slow = 9999;
	ASSERT_EQ(0, begin(recording, &self->aux, &self->configure));
	EXPECT_EQ(0, ete_open(recording, false));
	/* One to see that it is idle, the rest until it is not. */
	EXPECT_EQ(1 + 10000, pe.polls);
	forget();
	EXPECT_FALSE(end(recording, true).fault);
	EXPECT_EQ(10000, pe.polls);
	EXPECT_EQ(0, host.busy);
}

/* Interrupts are off while it is waited for: 10000 polls once, from then on a few at a switch. */
TEST_F(ete, a_stuck_unit_is_waited_for_once)
{
	struct flowtap_recording *recording = &self->recording;
	unsigned int round, n;

	for (round = 0; round < 2; round++) {
		ASSERT_EQ(0, begin(recording, &self->aux, &self->configure));
		ASSERT_EQ(0, ete_open(recording, false));
		pe.slow = PE_NEVER;
		forget();
		end(recording, true);
		EXPECT_EQ(10000, pe.polls);
		EXPECT_EQ(round + 1, host.busy);
		for (n = 0; n < 3; n++) {
			forget();
			EXPECT_EQ(-EIO, ete_open(recording, false));
			EXPECT_EQ(32, pe.polls);
			EXPECT_STREQ(CLAIMED, pe.did);
			EXPECT_EQ(0, pe.limitr | host.told_kvm);
		}
		/* It answers again; that of a CPU that has been offline is given its time again. */
		pe.waits = pe.slow = 0;
		EXPECT_EQ(0, ete_open(recording, false));
		end(recording, true);
		ete_offline();
	}
}

/* All is undone that was done before. */
TEST_F(ete, a_unit_that_does_not_start_is_disabled_again)
{
	struct flowtap_recording *recording = &self->recording;

	pe.slow = PE_NEVER;
	ASSERT_EQ(0, begin(recording, &self->aux, &self->configure));
	EXPECT_EQ(-EIO, ete_open(recording, false));
	EXPECT_EQ(1 + 10000 + 1, pe.polls);
	EXPECT_STREQ(PROGRAMMED BUFFER_ON UNIT_ON UNIT_OFF BUFFER_OFF, pe.did);
	EXPECT_EQ(0, pe.limitr | pe.prgctlr | host.told_kvm);
	EXPECT_EQ(PROHIBITED, pe.trfcr);
	forget();
	ete_resume(recording);
	EXPECT_STREQ("", pe.did);
	/* What its registers are is not known either. */
	pe.waits = pe.slow = 0;
	ASSERT_EQ(0, ete_open(recording, false));
	EXPECT_STREQ(PROGRAMMED BUFFER_ON UNIT_ON, pe.did);
	end(recording, true);
}

TEST_F(ete, without_room_nothing_is_enabled)
{
	struct flowtap_recording *recording = &self->recording;

	ASSERT_EQ(0, begin(recording, &self->aux, &self->configure));
	self->aux.head = self->aux.size;
	EXPECT_EQ(-ENOSPC, ete_open(recording, false));
	EXPECT_STREQ(PROGRAMMED, pe.did);
	EXPECT_EQ(0, pe.limitr | pe.prgctlr | host.told_kvm);
	forget();
	ete_resume(recording);
	EXPECT_STREQ("", pe.did);
	/* Where nothing is kept there is room: after the area. */
	ASSERT_EQ(0, ete_open(recording, true));
	EXPECT_EQ((u64)area + self->aux.size, pe.base);
	EXPECT_EQ(pe.base + PAGE_SIZE, pe.limitr & ~0xfffULL);
	ete_resume(recording);
	pe_runs(100);
	EXPECT_EQ(100, end(recording, false).size);
	/* The unit is on: no room closes nothing but the buffer. */
	forget();
	EXPECT_EQ(-ENOSPC, ete_open(recording, false));
	EXPECT_STREQ("", pe.did);
	self->aux.tail = self->aux.head;
	ASSERT_EQ(0, ete_open(recording, false));
	EXPECT_STREQ(BUFFER_ON, pe.did);
	end(recording, true);
}

TEST_HARNESS_MAIN
