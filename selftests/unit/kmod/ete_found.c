// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows on a model of the registers which trace units and buffers the driver finds and uses, which
 * it leaves untouched, and what it makes of the buffer's interrupt.
 */
#include "ete_driver.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

TEST_F(ete, a_cpu_without_all_of_it_is_not_used)
{
	static const u64 missing[] = { 15ULL << 4, 15ULL << 40, 15ULL << 44 };
	unsigned int i;

	for (i = 0; i < COUNT(missing); i++) {
		pe.features = FEATURES & ~missing[i];
		EXPECT_EQ(FLOWTAP_REASON_ABSENT, ete_online());
	}
	EXPECT_EQ(0, host.enabled);
	pe.features = FEATURES;
	/* ETMv4, by system registers; any revision of ETE. */
	pe.devarch = 0x47704a13;
	EXPECT_EQ(FLOWTAP_REASON_ABSENT, ete_online());
	EXPECT_EQ(host.enabled, host.disabled);
	EXPECT_EQ(0, pe.claims);
	pe.devarch = 0x47735a13;
	EXPECT_EQ(FLOWTAP_REASON_NONE, ete_online());
	ete_offline();
	etes.described = false;
	forget();
	EXPECT_EQ(FLOWTAP_REASON_ABSENT, ete_online());
	EXPECT_STREQ("", pe.did);
}

TEST_F(ete, a_query_says_what_the_registers_do)
{
	struct flowtap_query query;
	unsigned int i, el2;

	for (i = 0; i < COUNT(pe.trcidr); i++)
		pe.trcidr[i] ^= i << 8;
	pe.authstatus = 0xcc;
	for (el2 = 0; el2 < 2; el2++) {
		pe.el2 = el2;
		/* NUMACPAIRS: the ABI has four ranges. */
		pe.trcidr[4] = (pe.trcidr[4] & ~15) | (el2 ? 8 : 3);
		memset(&query, 0xff, sizeof(query));
		memset(&etes.caps, 0xff, sizeof(etes.caps));
		ASSERT_EQ(FLOWTAP_REASON_NONE, ete_online());
		ete_query(0, &query);
		EXPECT_EQ(0, memcmp(pe.trcidr, query.ete.trcidr, sizeof(pe.trcidr)));
		EXPECT_EQ(0x47705a13, query.ete.trcdevarch);
		EXPECT_EQ(0xcc, query.ete.trcauthstatus);
		EXPECT_EQ(6, query.ete.trbidr);
		EXPECT_EQ(62500000, query.ete.counter_frequency);
		EXPECT_EQ(ete_config_settable(pe.trcidr), query.ete.settable);
		EXPECT_EQ(el2 ? 4 : 3, query.ete.address_ranges);
		EXPECT_EQ(el2 ? 2 : 1, query.ete.exception_level);
		ete_offline();
	}
}

TEST_F(ete, the_device_tree_says_whose_a_unit_is)
{
	unsigned int how;

	for (how = 0; how < 3; how++) {
		ete_exit();
		etes.described = false;
		self->unit.unavailable = how == 1;
		self->unit.cpu = how == 2 ? NULL : &self->cpu;
		ete_init();
		EXPECT_EQ(how == 0, etes.described);
	}
}

/* No machine here boots by ACPI and has a trace buffer: this is all that shows it. */
TEST_F(ete, by_acpi_all_cpus_have_what_there_is)
{
	struct device buffer = { .irq = 21 };
	unsigned int how;

	host.acpi = true;
	for (how = 0; how < 3; how++) {
		ete_exit();
		etes.described = false;
		host.acpi_units = how != 1;
		host.acpi_buffer = how != 2 ? &buffer : NULL;
		/* Of such a machine the device tree says nothing. */
		host.units = host.buffers = NULL;
		host.enabled = host.disabled = 0;
		ete_init();
		EXPECT_EQ(how ? FLOWTAP_REASON_ABSENT : FLOWTAP_REASON_NONE, ete_online());
		EXPECT_EQ(!how, host.enabled);
		EXPECT_EQ(0, buffer.references);
		if (!how)
			ete_offline();
	}
}

TEST_F(ete, a_locked_unit_is_unlocked)
{
	pe.locked = 1;
	EXPECT_EQ(FLOWTAP_REASON_NONE, ete_online());
	EXPECT_EQ(0, pe.locked | pe.wrong);
	ete_offline();
}

TEST_F(ete, contexts_are_for_who_counts_processes_as_the_kernel_does)
{
	struct pid_namespace own;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		self->configure.ete.config = i ? FLOWTAP_TRCCONFIGR_VMID : FLOWTAP_TRCCONFIGR_CID;
		host.pid_ns = &host.first_pid_ns;
		EXPECT_EQ(0, begin(&self->recording, &self->aux, &self->configure));
		host.pid_ns = &own;
		EXPECT_EQ(-EACCES, begin(&self->recording, &self->aux, &self->configure));
	}
	self->configure.ete.config = FLOWTAP_TRCCONFIGR_TS;
	EXPECT_EQ(0, begin(&self->recording, &self->aux, &self->configure));
	self->configure.ctr.depth = 16;
	EXPECT_EQ(-EINVAL, begin(&self->recording, &self->aux, &self->configure));
}

/* --- The buffer's interrupt. --- */

TEST_F(ete, a_buffer_is_used_with_its_interrupt_only)
{
	static const struct {
		int irq, error;
		unsigned long cpus;
		u32 reason;
		const char *text;
	} kinds[] = {
		{ 21, 0, 1, FLOWTAP_REASON_NONE, "" },
		{ 21, -EBUSY, 1, FLOWTAP_REASON_OWNED, "rmmod coresight_trbe" },
		{ 21, -EINVAL, 1, FLOWTAP_REASON_UNUSABLE, "error -22" },
		{ 0, 0, 1, FLOWTAP_REASON_ABSENT, "names an interrupt" },
		/* That of other kinds of CPUs. */
		{ 21, 0, 2, FLOWTAP_REASON_ABSENT, "names an interrupt" },
	};
	unsigned int i;

	for (i = 0; i < COUNT(kinds); i++) {
		ete_exit();
		host.enabled = host.disabled = 0;
		host.request_error = kinds[i].error;
		host.request_error_cpus = 3;
		self->buffer.irq = kinds[i].irq;
		self->buffer.cpus = kinds[i].cpus;
		said[0] = 0;
		ete_init();
		EXPECT_EQ(kinds[i].reason, ete_online());
		EXPECT_NE(NULL, strstr(said, kinds[i].text)) TH_LOG("%s", said);
		EXPECT_EQ(i == 0, host.enabled);
		if (i == 0)
			ete_offline();
		EXPECT_EQ(0, pe.claims & SELF);
	}
}

/* Its content is UNKNOWN after a reset: an interrupt that nobody waits for would come at once. */
TEST_F(ete, a_buffer_is_without_a_status_before_its_interrupt_is_enabled)
{
	pe.status = 1 << 22 | 1 << 17;
	forget();
	EXPECT_EQ(FLOWTAP_REASON_NONE, ete_online());
	EXPECT_EQ(1, host.enabled);
	EXPECT_EQ(0, pe.status);
	EXPECT_STREQ(" status isb claim isb trfcr=20 isb", pe.did);
	ete_offline();
}

/* One number, of which each kind has a part: another's is no reason to do without, ours is. */
TEST_F(ete, kinds_of_cpus_may_share_the_number_of_an_interrupt)
{
	struct device_node other = { .irq = 21, .cpus = 2, .next = &self->buffer };
	unsigned int whose;

	host.buffers = &other;
	host.request_error = -EBUSY;
	for (whose = 1; whose <= 2; whose++) {
		ete_exit();
		host.request_error_cpus = whose;
		ete_init();
		EXPECT_EQ(whose == 1 ? FLOWTAP_REASON_OWNED : FLOWTAP_REASON_NONE, ete_online());
		EXPECT_EQ(whose - 1, host.enabled);
	}
	ete_offline();
}

TEST_F(ete, a_buffer_that_cannot_be_used_is_not_touched)
{
	static const char *const texts[] = { "TRBIDR_EL1.P", "KPTI", "KVM", "TRBLIMITR_EL1.E" };
	unsigned int i;

	for (i = 0; i < COUNT(texts); i++) {
		pe.trbidr = 6 | (i == 0 ? 1 << 4 : 0);
		host.kpti = i == 1;
		host.kvm_faults = i == 2;
		pe.limitr = i == 3;
		forget();
		EXPECT_EQ(i == 3 ? FLOWTAP_REASON_OWNED : FLOWTAP_REASON_UNUSABLE, ete_online());
		EXPECT_NE(NULL, strstr(said, texts[i])) TH_LOG("%s", said);
		EXPECT_STREQ("", pe.did);
		EXPECT_EQ(0, host.enabled);
	}
}

TEST_F(ete, an_interrupt_without_an_owner_does_not_come_for_ever)
{
	struct flowtap_recording *recording = &self->recording;

	ASSERT_EQ(0, begin(recording, &self->aux, &self->configure));
	/* Whoever had it has cleared the cause. */
	EXPECT_EQ(IRQ_HANDLED, interrupt(21, NULL));
	EXPECT_EQ(0, host.full);
	EXPECT_STREQ("", pe.did);
	pe.status = 1 << 22;
	interrupt(21, NULL);
	EXPECT_EQ(1, host.full);
	EXPECT_STREQ(" status isb", pe.did);
	EXPECT_EQ(0, pe.status);
	/* Of a buffer that somebody has enabled it is his to clear. */
	pe.status = 1 << 22;
	pe.limitr = 0x7000 | ENABLED;
	pe.anothers = true;
	interrupt(21, NULL);
	EXPECT_EQ(1 << 22, pe.status);
	EXPECT_EQ(0, pe.meddled);
	pe.anothers = false;
	pe.limitr = 0;
}

TEST_HARNESS_MAIN
