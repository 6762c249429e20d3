/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The driver of ETE and TRBE on the model of a PE: kmod/ete.c, trbe.c and their arithmetic are
 * compiled into the program, each of whose tests begins with one CPU and its device tree.
 */
#ifndef FLOWTAP_SELFTESTS_UNIT_KMOD_ETE_DRIVER_H
#define FLOWTAP_SELFTESTS_UNIT_KMOD_ETE_DRIVER_H

#include "support/kselftest_harness.h"

#include "pe.h"

#include "../../../kmod/ete.c"
#include "../../../kmod/ete_config.c"
#include "../../../kmod/trbe.c"
#include "../../../kmod/trbe_usable.c"
#undef SR_IRQ
#undef SR_TRG
#include "../../../kmod/trbe_window.c"

#define PAGES 16
#define SELF 2ULL		/* TRCCLAIM, bit 1: a driver on the PE itself */
#define ENABLED 1ULL		/* TRBLIMITR_EL1.E */
#define FEATURES (1ULL << 4 | 1ULL << 40 | 1ULL << 44)

static _Alignas(PAGE_SIZE) u8 area[(PAGES + 2) * PAGE_SIZE];

FIXTURE(ete)
{
	struct device_node cpu, unit, buffer;
	struct flowtap_configure configure;
	struct flowtap_recording recording;
	struct flowtap_aux aux;
};

FIXTURE_SETUP(ete)
{
	pe = (struct pe){
		.features = FEATURES, .devarch = 0x47705a13, .trbidr = 6, .trfcr = 0x43,
		.trcidr = {
			[0] = 1 << 5 | 1 << 7 | 1 << 9 | 8 << 24, [2] = 4 << 5 | 4 << 10 | 1 << 29,
			[3] = 4 | 0x7f << 16, [4] = 4 | 7 << 16 | 1 << 20 | 1 << 24 | 1 << 28,
			[5] = 4U << 25 | 2 << 28,
		},
		.idle = true, .flushed = true,
	};
	host = (struct host){ .units = &self->unit, .buffers = &self->buffer };
	host.pid_ns = &host.first_pid_ns;
	self->cpu = (struct device_node){ .id = 0 };
	self->unit = (struct device_node){ .cpu = &self->cpu };
	self->buffer = (struct device_node){ .irq = 21, .cpus = 1 };
	memset(&etes, 0, sizeof(etes));
	memset(&trbes, 0, sizeof(trbes));
	said[0] = 0;
	irq_regs = NULL;
	self->configure = (struct flowtap_configure){
		.source = FLOWTAP_SOURCE_ETE, .modes = FLOWTAP_MODE_USER,
	};
	self->aux = (struct flowtap_aux){
		.bytes = area, .size = PAGES * PAGE_SIZE, .watermark = PAGE_SIZE,
	};
	memset(&self->recording, 0, sizeof(self->recording));
	ete_init();
	EXPECT_EQ(1, host.warns);
}

FIXTURE_TEARDOWN(ete)
{
	ete_exit();
	EXPECT_EQ(host.requested, host.freed);
	EXPECT_EQ(0, host.warns | self->cpu.references);
	EXPECT_EQ(0, pe.wrong | host.wrong) TH_LOG("%s", pe.did);
}

/* Nothing has been done yet. */
static inline void forget(void)
{
	pe.did[0] = 0;
	pe.polls = 0;
	pe.meddled = 0;
}

/* A recording, on a CPU that is online. */
static inline int begin(struct flowtap_recording *recording, struct flowtap_aux *aux,
			const struct flowtap_configure *configure)
{
	static u64 ids;
	int error = -ENODEV;

	*recording = (struct flowtap_recording){
		.id = ++ids,
		.modes = configure->modes,
		.aux = aux,
	};
	if (ete_online() == FLOWTAP_REASON_NONE)
		error = ete_configure(recording, configure);
	forget();
	return error;
}

static inline struct flowtap_collected end(struct flowtap_recording *recording, bool stop)
{
	struct flowtap_collected collected = { 0 };

	ete_close(recording, stop, &collected);
	return collected;
}

#endif /* FLOWTAP_SELFTESTS_UNIT_KMOD_ETE_DRIVER_H */
