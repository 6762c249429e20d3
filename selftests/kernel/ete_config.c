// SPDX-License-Identifier: GPL-2.0-only
/*
 * Traces a small known program with each item of ETE's configuration, and leaves what came and how
 * it was configured in FLOWTAP_DUMP/NAME, for the host to decode (arm64 on the model;
 * selftests/vm/ete_config.test, selftests/model/configured.c).
 */
#include <sys/stat.h>

#include "support/kselftest_harness.h"
#include "worker.h"

/* TRCCONFIGR. */
#define BB	FLOWTAP_TRCCONFIGR_BB
#define CCI	FLOWTAP_TRCCONFIGR_CCI
#define CID	FLOWTAP_TRCCONFIGR_CID
#define VMID	FLOWTAP_TRCCONFIGR_VMID
#define TS	FLOWTAP_TRCCONFIGR_TS
#define RS	FLOWTAP_TRCCONFIGR_RS
#define VMIDOPT	FLOWTAP_TRCCONFIGR_VMIDOPT

/* --- The program: functions in sections of their own, whose ends the linker knows. --- */

#define STEP(name, number)							\
extern const char __start_in_##name[], __stop_in_##name[];				\
static __attribute__((noinline, section("in_" #name))) uint64_t name(uint64_t value)	\
{										\
	uint64_t i;								\
										\
	for (i = value & 3; i; i--)						\
		asm volatile("" : "+r" (value));				\
	return value * 6364136223846793005UL + (number);			\
}
STEP(step_one, 1)
STEP(step_two, 3)
STEP(step_three, 5)
STEP(step_four, 7)

/* Calls that return one after the other. */
static __attribute__((noinline)) uint64_t deep(uint64_t n)
{
	asm volatile("" : "+r" (n));
	return n ? deep(n - 1) + n : 1;
}

static __attribute__((noinline)) unsigned long program(unsigned long steps)
{
	static uint64_t (*const all[])(uint64_t) = { step_one, step_two, step_three, step_four };
	uint64_t value = 1;

	while (steps--) {
		value = all[value >> 62](value);
		if (!(steps & 15))
			value += deep(value >> 60);
	}
	return value;
}

static const struct {
	const char *start, *stop;
} ranges[] = {
	{ __start_in_step_one, __stop_in_step_one }, { __start_in_step_two, __stop_in_step_two },
	{ __start_in_step_three, __stop_in_step_three }, { __start_in_step_four, __stop_in_step_four },
};

/* --- What the host is told: lines of a word and numbers. --- */

static FILE *facts;		/* NULL: nobody asked */

#define NUMBER(n) ((unsigned long long)(n))

static void open_facts(const char *name)
{
	const char *dump = getenv("FLOWTAP_DUMP_CONFIG");
	char path[256];

	facts = NULL;
	if (!dump)
		return;
	snprintf(path, sizeof(path), "%s/%s", dump, name);
	mkdir(path, 0755);
	/* Where aux.h leaves the bytes. */
	setenv("FLOWTAP_DUMP", path, 1);
	snprintf(path, sizeof(path), "%s/%s/facts", dump, name);
	facts = fopen(path, "w");
	if (!facts)
		abort();
}

static void tell_configuration(const struct flowtap_query *query,
			       const struct flowtap_configure *configure, pid_t pid)
{
	const struct flowtap_ete_configure *ete = &configure->ete;
	uint32_t i;

	if (!facts)
		return;
	for (i = 0; i < 14; i++)
		fprintf(facts, "trcidr %u %u\n", i, query->ete.trcidr[i]);
	fprintf(facts, "trcdevarch %u\nfrequency %llu\nlevel %u\n", query->ete.trcdevarch,
		NUMBER(query->ete.counter_frequency), query->ete.exception_level);
	fprintf(facts, "config %llu\nsync %u\nthreshold %u\nmodes %u\ntid %d\n", NUMBER(ete->config),
		ete->sync_period, ete->cycle_threshold, configure->modes, pid);
	fprintf(facts, "strobe %llu %llu\n", NUMBER(ete->strobe_on_ns), NUMBER(ete->strobe_off_ns));
	for (i = 0; i < ete->address_ranges; i++)
		fprintf(facts, "range %llu %llu\n", NUMBER(ete->address_start[i]),
			NUMBER(ete->address_end[i]));
}

static void tell_record(const struct stream *stream)
{
	const struct flowtap_record_aux *aux = (const void *)stream->record.bytes;
	const struct flowtap_record_clock *clock = (const void *)stream->record.bytes;
	const struct flowtap_record_gap *gap = &stream->record.gap;

	if (!facts)
		return;
	switch (stream->record.header.type) {
	case FLOWTAP_RECORD_AUX:
		fprintf(facts, "aux %llu %llu %llu %llu %u %u %u\n", NUMBER(aux->since),
			NUMBER(aux->time), NUMBER(aux->counter), NUMBER(aux->size), aux->flags,
			aux->loss, aux->tid);
		break;
	case FLOWTAP_RECORD_CLOCK:
		fprintf(facts, "clock %llu %llu\n", NUMBER(clock->time), NUMBER(clock->counter));
		break;
	case FLOWTAP_RECORD_GAP:
		fprintf(facts, "gap %u %llu %llu\n", gap->cause, NUMBER(gap->since),
			NUMBER(gap->time));
		break;
	default:
		break;
	}
}

/* --- The items. --- */

FIXTURE(ete_config)
{
	struct flowtap_query query;
	struct flowtap_configure configure;
	struct aux aux;
};

FIXTURE_SETUP(ete_config)
{
	self->aux.stream.fd = -1;
	if (!query_source(FLOWTAP_SOURCE_ETE, &self->query))
		SKIP(return, "no ETE here");
	self->configure = tracing(0, 512);
}

FIXTURE_TEARDOWN(ete_config)
{
	aux_close(&self->aux);
}

/* A worker's turn as configured, all of it in the area. NULL, or what is wrong. */
static const char *trace_turn(struct aux *aux, const struct flowtap_query *query,
			      const struct flowtap_configure *configure, const char *name,
			      unsigned long steps)
{
	struct worker worker = start_worker_on(configure->cpu, program, steps);
	const char *wrong = NULL;

	open_facts(name);
	tell_configuration(query, configure, worker.pid);
	if (aux_open(aux, configure))
		wrong = "configure";
	else if (add_task(&aux->stream, worker.pid, 0) != 1 || enable(&aux->stream))
		wrong = "enable";
	aux->tid = worker.pid;
	aux->each = tell_record;
	if (!wrong && !turn(&worker))
		wrong = "the worker";
	if (!wrong) {
		disable(&aux->stream);
		aux_take(aux);
		wrong = aux->wrong ?: aux->others ? "others" : all_gaps(aux) ? "gaps" :
			aux->records ? NULL : "nothing came";
	}
	end_worker(&worker);
	aux_close(aux);
	if (facts)
		fclose(facts);
	return wrong;
}

/* A new stream with what `change` makes of the configuration. */
#define TRACE(name, steps, change) do {						\
	const char *wrong_;							\
										\
	self->configure = tracing(0, 512);					\
	change;									\
	wrong_ = trace_turn(&self->aux, &self->query, &self->configure, name, steps);	\
	EXPECT_EQ(NULL, wrong_) TH_LOG("%s: %s", name, wrong_);			\
} while (0)

#define SETTABLE(bits) (!((bits) & ~self->query.ete.settable))
#define CONFIG self->configure.ete.config

#define STEPS 5000

TEST_F(ete_config, nothing)
{
	TRACE("nothing", STEPS, (void)0);
}

/* Each bit that there is by itself, all but it, and all. */
TEST_F(ete_config, bits)
{
	const uint64_t all = self->query.ete.settable;
	uint64_t bit;
	char name[32];

	for (bit = 1; bit; bit <<= 1) {
		if (!(all & bit))
			continue;
		snprintf(name, sizeof(name), "only_%llx", NUMBER(bit));
		TRACE(name, STEPS, CONFIG = bit);
		snprintf(name, sizeof(name), "not_%llx", NUMBER(bit));
		TRACE(name, STEPS, CONFIG = all & ~bit);
	}
	TRACE("all", STEPS, CONFIG = all);
	EXPECT_TRUE(SETTABLE(BB | CCI | TS | RS | CID));
	if (SETTABLE(VMID | VMIDOPT))
		TRACE("contexts", STEPS, CONFIG = CID | VMID | VMIDOPT);
}

TEST_F(ete_config, cycle_threshold)
{
	static const uint32_t thresholds[] = { 1, 4, 17, 1000, 0xfff };
	unsigned int i;
	char name[32];

	for (i = 0; i < sizeof(thresholds) / sizeof(thresholds[0]); i++) {
		snprintf(name, sizeof(name), "threshold_%u", thresholds[i]);
		TRACE(name, STEPS, (CONFIG = CCI,
				    self->configure.ete.cycle_threshold = thresholds[i]));
	}
}

/* So much work that there are a few of them. */
TEST_F(ete_config, sync_period)
{
	uint32_t period;
	char name[32];

	for (period = 8; period <= 20; period = period == 16 ? 20 : period + 1) {
		snprintf(name, sizeof(name), "sync_%u", period);
		TRACE(name, STEPS + (1UL << period) * 2 / 3, (self->configure.aux_pages = 4096,
						      self->configure.ete.sync_period = period));
	}
}

TEST_F(ete_config, address_ranges)
{
	struct flowtap_ete_configure *ete = &self->configure.ete;
	uint32_t most = self->query.ete.address_ranges, i;
	char name[32];

	if (!most)
		SKIP(return, "no address comparators here");
	for (; most; most--) {
		snprintf(name, sizeof(name), "ranges_%u", most);
		TRACE(name, STEPS, {
			CONFIG = self->query.ete.settable & (TS | RS);
			ete->address_ranges = most;
			for (i = 0; i < most; i++) {
				ete->address_start[i] = (uint64_t)ranges[i].start;
				ete->address_end[i] = (uint64_t)ranges[i].stop;
			}
		});
	}
	EXPECT_EQ(4, self->query.ete.address_ranges);
}

TEST_F(ete_config, kernel)
{
	TRACE("kernel", STEPS, (self->configure.modes |= FLOWTAP_MODE_KERNEL,
				CONFIG = self->query.ete.settable & ~BB));
}

/* Alone on its CPU for 60 periods, while this one sleeps. */
TEST_F(ete_config, strobe)
{
	const unsigned int cpu = cpus_online() - 1;
	pid_t pid = spinner(cpu);

	self->configure = tracing(cpu, 4096);
	self->configure.flush_ms = ~0U;
	self->configure.ete.config = self->query.ete.settable & (TS | RS);
	self->configure.ete.strobe_on_ns = 2 * MS;
	self->configure.ete.strobe_off_ns = 6 * MS;
	open_facts("strobe");
	tell_configuration(&self->query, &self->configure, pid);
	ASSERT_EQ(0, aux_open(&self->aux, &self->configure));
	self->aux.tid = pid;
	self->aux.each = tell_record;
	ASSERT_EQ(1, add_task(&self->aux.stream, pid, 0));
	ASSERT_EQ(0, enable(&self->aux.stream));
	sleep_ms(60 * 8);
	disable(&self->aux.stream);
	aux_take(&self->aux);
	end(pid);
	if (facts)
		fclose(facts);
	EXPECT_EQ(NULL, self->aux.wrong) TH_LOG("%s", self->aux.wrong);
	EXPECT_EQ(0, all_gaps(&self->aux));
	EXPECT_LE(50, self->aux.records);
	EXPECT_EQ(1U << FLOWTAP_CAUSE_STROBE, self->aux.losses);
}

TEST_HARNESS_MAIN
