// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Programs the trace unit and the trace buffer by the sequences of DDI 0487 K10.5.7 and K10.5.10,
 * and collects what was stored at each stop.
 */
#include "trace.h"

#define POLLS 100000
#define CHUNKS 8192
#define STRAY 64U

enum what { CHUNK_NEW, CHUNK_LOST, CHUNK_CONTINUED };

struct chunk {
	u64 offset, length, address;
	enum what what;
};

/* Of a CPU. */
struct trace {
	const struct trace_setup *setup;
	bool running;
	u64 base, limit;
	u64 from;		/* where the buffer was enabled: what comes first is here */
	enum what next;		/* piece */
	u64 filter;		/* TRFCR while it runs */
	u64 used;		/* bytes in COLLECTED */
	u64 regs[TRACE_REGISTERS];
	u32 chunks_n;
	struct chunk chunks[CHUNKS];
};

struct trace_totals trace_totals[CPUS];
static unsigned int keeps_status;
static bool tsb_twice;
static struct trace traces[CPUS];

/* Twice where an erratum (2054223, 2067961) wants it, tsb=2. */
static inline void tsb_csync(void)
{
	__asm__ volatile("tsb csync" : : : "memory");
	if (tsb_twice)
		__asm__ volatile("tsb csync" : : : "memory");
}

static inline void dsb_nsh(void)
{
	__asm__ volatile("dsb nsh" : : : "memory");
}

void trace_set(struct trace_setup *setup, enum trace_register which, u64 value)
{
	for (unsigned int i = 0; i < setup->nvalues; i++)
		if (setup->values[i].which == which) {
			setup->values[i].value = value;
			return;
		}
	if (setup->nvalues == TRACE_VALUES)
		panic("more than %d registers in a scenario", TRACE_VALUES);
	setup->values[setup->nvalues++] = (struct trace_value){ which, value };
}

/* Table K10-3, with all exception levels. */
void trace_setup_defaults(struct trace_setup *setup)
{
	memset(setup, 0, sizeof(*setup));
	setup->filter = FILTER_E0 | FILTER_E1 | FILTER_TS;
	setup->size = 0x40000;
	setup->mode = LIMIT_FILL | LIMIT_IGNORE;
	trace_set(setup, trcconfigr, 1);
	trace_set(setup, trcsyncpr, 12);
	trace_set(setup, trctraceidr, 0x10);
	trace_set(setup, trcvictlr, VIEW_ALL);
}

bool trace_probe(void)
{
	u64 dfr = READ(id_aa64dfr0_el1);
	bool has = (dfr >> 4 & 15) == 1 && (dfr >> 40 & 15) >= 1 && (dfr >> 44 & 15) >= 1;
	u64 idr;

	print("id_aa64dfr0 %lx: %s\n", dfr, has ? "ETE, TRF and TRBE" : "no ETE with TRF and TRBE");
	if (!has)
		return false;
	WRITE(oslar_el1, 0);
	isb();
	idr = READ(trbidr_el1);
	print("trcdevarch %lx trbidr %lx\n", READ(trcdevarch), idr);
	for (int i = 0; i <= 13; i++)
		print("trcidr%d %lx\n", i, trace_read(trcidr0 + i));
	if (READ(trcdevarch) >> 21 != 0x47700000 >> 21 || (READ(trcdevarch) & 0xffff) != 0x5a13)
		panic("TRCDEVARCH is not an ETE's");
	return true;
}

static void poll(u64 mask, u64 value, const char *what)
{
	for (int i = 0; i < POLLS; i++) {
		isb();
		if ((READ(trcstatr) & mask) == value)
			return;
	}
	panic("cpu %u: the trace unit does not become %s", this_cpu()->index, what);
}

u64 trace_base(const struct trace_setup *setup)
{
	u64 cpu = this_cpu()->index;

	if (setup->mode & LIMIT_NVM)
		return TRACE_MEMORY + cpu * TRACE_ROOM;
	return (setup->low ? TRACE_LOW : TRACE_WINDOW) + cpu * TRACE_WINDOW_CPU;
}

static u64 value_of(const struct trace_setup *setup, enum trace_register which)
{
	for (unsigned int i = 0; i < setup->nvalues; i++)
		if (setup->values[i].which == which)
			return setup->values[i].value;
	return 0;
}

/* The state that the unit leaves when it is disabled: given anew before each enabling (SLMPNV). */
static void program_state(const struct trace_setup *setup)
{
	trace_write(trcvictlr, value_of(setup, trcvictlr));
	trace_write(trcrsr, setup->ta ? 1 << 12 : 0);
	if (trace_has(trcseqstr))
		trace_write(trcseqstr, value_of(setup, trcseqstr));
	for (enum trace_register which = trccntvr0; which <= trccntvr3; which++)
		if (trace_has(which))
			trace_write(which, value_of(setup, which));
	for (enum trace_register which = trcsscsr0; which <= trcsscsr7; which++)
		if (trace_has(which))
			trace_write(which, value_of(setup, which));
}

static void program_unit(struct trace *trace)
{
	const struct trace_setup *setup = trace->setup;

	WRITE(trcprgctlr, 0);
	poll(1, 1, "idle");
	for (enum trace_register which = 0; which < TRACE_WRITABLES; which++)
		if (trace_has(which))
			trace_write(which, 0);
	for (unsigned int i = 0; i < setup->nvalues; i++) {
		if (!trace_has(setup->values[i].which))
			panic("%s is not implemented", trace_register_names[setup->values[i].which]);
		trace_write(setup->values[i].which, setup->values[i].value);
	}
	program_state(setup);
	isb();
	for (enum trace_register which = 0; which < TRACE_REGISTERS; which++)
		if (trace_has(which))
			trace->regs[which] = trace_read(which);
	for (unsigned int i = 0; i < setup->nvalues; i++) {
		enum trace_register which = setup->values[i].which;

		if (trace->regs[which] != setup->values[i].value && which != trcsscsr0)
			print("%s was written as %lx and reads as %lx\n", trace_register_names[which],
			      setup->values[i].value, trace->regs[which]);
	}
}

static void enable_unit(void)
{
	isb();
	WRITE(trcprgctlr, 1);
	poll(1, 0, "enabled");
}

static void disable_unit(void)
{
	WRITE(trcprgctlr, 0);
	poll(3, 3, "idle and stable");
}

/* The memory of an address of the buffer: its pages may have been taken away. */
static u8 *memory_of(const struct trace *trace, unsigned int cpu, u64 address)
{
	if (trace->setup->mode & LIMIT_NVM)
		return at(address);
	return at(TRACE_MEMORY + cpu * TRACE_ROOM + (address & (TRACE_WINDOW_CPU - 1)));
}

/* After the limit nothing may be written: a pattern is there. */
static void after_limit(const struct trace *trace, unsigned int cpu, bool set)
{
	u8 *bytes = memory_of(trace, cpu, trace->limit);

	if (trace->setup->size + STRAY > TRACE_ROOM)
		return;
	for (unsigned int i = 0; i < STRAY; i++) {
		if (!set && bytes[i] != 0xa5)
			trace_totals[cpu].strayed++;
		bytes[i] = 0xa5;
	}
}

/* Disabled before; trace is prohibited. */
static void enable_buffer(struct trace *trace, u64 from, u64 status)
{
	trace->from = from;
	WRITE(trbsr_el1, status);
	WRITE(trbbaser_el1, trace->base);
	WRITE(trbptr_el1, from);
	WRITE(trbtrg_el1, trace->setup->trigger);
	WRITE(trbmar_el1, 0xff);
	isb();
	WRITE(trblimitr_el1, trace->limit | trace->setup->mode | LIMIT_E);
	isb();
}

static void collect(struct trace *trace, unsigned int cpu, u64 from, u64 to)
{
	struct chunk *chunk = &trace->chunks[trace->chunks_n];
	u64 n = to - from;

	if (to <= from)
		return;
	if (trace->chunks_n == CHUNKS || trace->used + n > COLLECT_ROOM)
		panic("cpu %u: no room for more trace", cpu);
	memcpy(at(COLLECTED + cpu * COLLECT_ROOM + trace->used), memory_of(trace, cpu, from), n);
	*chunk = (struct chunk){ trace->used, n, from, trace->next };
	trace->next = CHUNK_CONTINUED;
	trace->chunks_n++;
	trace->used += n;
	trace_totals[cpu].bytes += n;
}

/* What lies between where the buffer was enabled and the write pointer. Drained and disabled. */
static void take(struct trace *trace, unsigned int cpu, u64 status, u64 pointer)
{
	bool wrapped = status & STATUS_WRAP;
	u64 mode = trace->setup->mode & (3 << 1);

	after_limit(trace, cpu, false);
	trace_totals[cpu].drains++;
	trace_totals[cpu].wrapped += wrapped;
	if (pointer < trace->base || pointer > trace->limit)
		panic("TRBPTR %lx is not in %lx to %lx", pointer, trace->base, trace->limit);
	if (status & STATUS_EA) {
		/* Which writes failed, nobody knows. */
		trace_totals[cpu].dropped += pointer - trace->from;
	} else if (!wrapped) {
		collect(trace, cpu, trace->from, pointer);
	} else if (mode == LIMIT_FILL) {
		if (pointer != trace->base)
			panic("full, and TRBPTR is %lx, not the base", pointer);
		collect(trace, cpu, trace->from, trace->limit);
	} else if (mode == LIMIT_WRAP && pointer <= trace->from) {
		collect(trace, cpu, trace->from, trace->limit);
		collect(trace, cpu, trace->base, pointer);
	} else {
		/* Circular: how often, nobody knows. */
		trace->next = CHUNK_LOST;
		collect(trace, cpu, pointer, trace->limit);
		collect(trace, cpu, trace->base, pointer);
	}
	if (status & (STATUS_S | STATUS_EA))
		trace->next = CHUNK_LOST;
}

void trace_start(const struct trace_setup *setup)
{
	unsigned int cpu = this_cpu()->index;
	struct trace *trace = &traces[cpu];
	u64 daif = irq_save();

	trace->setup = setup;
	trace->base = trace_base(setup);
	trace->limit = trace->base + (setup->limit ?: setup->size);
	trace->filter = setup->filter;
	trace->next = CHUNK_NEW;
	trace_totals[cpu].starts++;
	tsb_twice = option_number("tsb", 1) == 2;
	after_limit(trace, cpu, true);
	WRITE(oslar_el1, 0);
	WRITE(trfcr_el1, 0);
	isb();
	program_unit(trace);
	enable_buffer(trace, trace->base + setup->start, setup->triggered ? STATUS_TRG : 0);
	enable_unit();
	gic_enable(cpu, PPI_TRACE, !setup->keep_masked);
	trace->running = true;
	WRITE(trfcr_el1, trace->filter);
	isb();
	irq_restore(daif);
}

/* Prohibits trace and lets all of it reach memory. */
static void drain(void)
{
	WRITE(trfcr_el1, 0);
	isb();
	tsb_csync();
	dsb_nsh();
}

static u64 disable_buffer(u64 *status)
{
	WRITE(trblimitr_el1, READ(trblimitr_el1) & ~LIMIT_E);
	isb();
	*status = READ(trbsr_el1);
	return READ(trbptr_el1);
}

void trace_stop(void)
{
	unsigned int cpu = this_cpu()->index;
	struct trace *trace = &traces[cpu];
	u64 daif = irq_save();
	u64 status, pointer;

	if (trace->running) {
		WRITE(trfcr_el1, 0);
		isb();
		tsb_csync();
		disable_unit();
		dsb_nsh();
		pointer = disable_buffer(&status);
		take(trace, cpu, status, pointer);
		WRITE(trbsr_el1, 0);
		isb();
		trace->running = false;
	}
	gic_enable(cpu, PPI_TRACE, false);
	irq_restore(daif);
}

void trace_pause(void)
{
	drain();
}

void trace_resume(void)
{
	struct trace *trace = &traces[this_cpu()->index];

	if (trace->running)
		WRITE(trfcr_el1, trace->filter);
	isb();
}

/* What the buffer's event was. False: tracing ends. */
static bool judge(struct trace *trace, unsigned int cpu, u64 status, u64 pointer)
{
	struct trace_totals *totals = &trace_totals[cpu];

	totals->full += (status & STATUS_S) && (status & STATUS_WRAP);
	totals->triggered += !!(status & STATUS_TRG);
	if (!STATUS_EC(status) && !(status & STATUS_EA))
		return true;
	totals->faults += !!STATUS_EC(status);
	totals->aborts += !!(status & STATUS_EA);
	totals->first_fault = totals->first_fault ?: status;
	return trace->setup->fault && trace->setup->fault(cpu, status, pointer);
}

static void serve(struct trace *trace, unsigned int cpu)
{
	u64 status, pointer, from;

	if (trace->setup->restart)
		disable_unit();
	pointer = disable_buffer(&status);
	take(trace, cpu, status, pointer);
	if (!judge(trace, cpu, status, pointer)) {
		if (!trace->setup->restart)
			disable_unit();
		WRITE(trbsr_el1, 0);
		isb();
		trace->running = false;
		return;
	}
	/* Full or wrapped: from the base; else after what is there. */
	from = status & STATUS_WRAP || pointer == trace->limit ? trace->base : pointer;
	if ((trace->setup->mode & (3 << 1)) == LIMIT_WRAP)
		from = trace->base + trace->setup->start;
	enable_buffer(trace, from, trace->setup->triggered ? STATUS_TRG : 0);
	if (trace->setup->restart) {
		trace->next = CHUNK_NEW;
		program_state(trace->setup);
		enable_unit();
	}
	WRITE(trfcr_el1, trace->filter);
	isb();
}

void trace_keep_status(unsigned int times)
{
	keeps_status = times;
}

void trace_interrupt(void)
{
	unsigned int cpu = this_cpu()->index;
	struct trace *trace = &traces[cpu];

	trace_totals[cpu].interrupts++;
	if (keeps_status) {
		/* A level comes again at once: nobody else gets to do it. */
		if (!--keeps_status)
			gic_enable(cpu, PPI_TRACE, false);
		return;
	}
	drain();
	isb();
	if (!trace->running || !(READ(trbsr_el1) & STATUS_IRQ)) {
		trace_totals[cpu].spurious++;
		trace_resume();
		return;
	}
	serve(trace, cpu);
}

void trace_poll(void)
{
	u64 daif = irq_save();
	struct trace *trace = &traces[this_cpu()->index];

	if (trace->running) {
		drain();
		isb();
		serve(trace, this_cpu()->index);
	}
	irq_restore(daif);
}

static void write_regs(struct trace *trace, const char *path)
{
	static char text[16384];
	size_t n = 0;

	for (enum trace_register which = 0; which < TRACE_REGISTERS; which++) {
		char upper[24];
		size_t i;

		if (!trace->regs[which] && which != trcconfigr && which < trcidr0)
			continue;
		for (i = 0; trace_register_names[which][i]; i++) {
			char c = trace_register_names[which][i];

			upper[i] = c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c;
		}
		upper[i] = 0;
		n += format(text + n, sizeof(text) - n, "%s=0x%lx\n", upper, trace->regs[which]);
	}
	semihost_write_file(path, text, n);
}

static void write_chunks(struct trace *trace, const char *path)
{
	static const char *const words[] = { "new", "lost", "continued" };
	static char text[CHUNKS * 64];
	size_t n = 0;

	for (u32 i = 0; i < trace->chunks_n; i++) {
		struct chunk *chunk = &trace->chunks[i];

		n += format(text + n, sizeof(text) - n, "%lx %lx %lx %s\n", chunk->offset,
			    chunk->length, chunk->address, words[chunk->what]);
	}
	semihost_write_file(path, text, n);
}

void trace_write_files(const char *prefix)
{
	char path[256];

	for (unsigned int cpu = 0; cpu < CPUS; cpu++) {
		if (!trace_totals[cpu].starts)
			continue;
		format(path, sizeof(path), "%s.%u.trace", prefix, cpu);
		semihost_write_file(path, at(COLLECTED + cpu * COLLECT_ROOM), traces[cpu].used);
		format(path, sizeof(path), "%s.%u.regs", prefix, cpu);
		write_regs(&traces[cpu], path);
		format(path, sizeof(path), "%s.%u.chunks", prefix, cpu);
		write_chunks(&traces[cpu], path);
	}
}
