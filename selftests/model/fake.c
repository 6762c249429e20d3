// SPDX-License-Identifier: GPL-2.0-or-later
/* The machine, trace unit and log of the trace buffer's tests. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "fake.h"

#define PE_TABLES	(PTE_VALID | PTE_TABLE)

struct log_set {
	struct fake *fake;
};

struct log_state {
	struct fake *fake;
};

struct trace_unit_state {
	struct fake *fake;
};

static uint8_t *memory(struct fake *fake, uint64_t physical, size_t n)
{
	if (fake->gone)
		abort();
	if (physical < FAKE_RAM || physical - FAKE_RAM > FAKE_RAM_SIZE - n)
		return NULL;
	return fake->ram + (physical - FAKE_RAM);
}

static bool machine_read(void *opaque, unsigned int cpu, uint64_t physical, void *bytes, size_t n)
{
	uint8_t *at = memory(opaque, physical, n);

	if (at)
		memcpy(bytes, at, n);
	return at;
}

static bool machine_write(void *opaque, unsigned int cpu, uint64_t physical, const void *bytes,
			  size_t n)
{
	uint8_t *at = memory(opaque, physical, n);

	if (at)
		memcpy(at, bytes, n);
	return at;
}

static uint64_t machine_sysreg(void *opaque, unsigned int cpu, enum machine_register which)
{
	return ((struct fake *)opaque)->sysregs[which];
}

static void machine_interrupt(void *opaque, unsigned int cpu, bool level)
{
	struct fake *fake = opaque;

	fake->raised += level && !fake->level;
	fake->level = level;
}

static uint64_t machine_counter(void *opaque, unsigned int cpu)
{
	return 0;
}

struct fake *fake_new(const struct trace_buffer_options *buffer,
		      const struct adversary_options *adversary, const struct pe_config *config)
{
	struct fake *fake = calloc(1, sizeof(*fake));
	struct pe_config made = config ? *config : (struct pe_config){ 0 };

	fake->machine = (struct machine){ fake, machine_read, machine_write, machine_sysreg,
					  machine_interrupt, machine_counter };
	/* Zero pages that nobody touches cost nothing. */
	fake->ram = mmap(NULL, FAKE_RAM_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	if (fake->ram == MAP_FAILED)
		abort();
	fake->stream = malloc(FAKE_STREAM);
	fake->next_page = FAKE_RAM;
	fake->log = calloc(1, sizeof(*fake->log));
	fake->log->fake = fake;
	fake->rng.state = adversary ? adversary->seed : 1;
	made.buffer = buffer;
	made.adversary = adversary;
	if (pe_init(&fake->pe, &made, &fake->machine, fake->log))
		abort();
	return fake;
}

void fake_free(struct fake *fake)
{
	fake->gone = true;
	pe_free(&fake->pe);
	munmap(fake->ram, FAKE_RAM_SIZE);
	free(fake->stream);
	free(fake->log);
	free(fake);
}

/* --- The log --- */

int log_init(struct log *log, struct log_set *set, unsigned int pe)
{
	log->set = NULL;
	log->state = malloc(sizeof(*log->state));
	log->state->fake = set->fake;
	return 0;
}

void log_finish(struct log *log)
{
	free(log->state);
	log->state = NULL;
}

void log_report(struct log_set *set, const char *format, ...)
{
}

void log_block(struct log *log, const struct pe_block *block)
{
}

void log_exception(struct log *log, const struct pe_exception *exception)
{
}

/* What the buffer adds at TSB CSYNC are Ignore packets. */
static void catch_up(struct fake *fake)
{
	while (fake->n < fake->pe.buffer.accepted && fake->n < FAKE_STREAM)
		fake->stream[fake->n++] = 0x70;
}

void log_stored(struct log *log, const void *bytes, size_t n, uint64_t address)
{
	struct fake *fake = log->state->fake;

	catch_up(fake);
	if (fake->told + n > fake->n)
		fake->disorder = true;
	else if (memcmp(fake->stream + fake->told, bytes, n))
		fake->wrong += n;
	fake->told += n;
}

void log_event(struct log *log, enum log_kind kind, unsigned int nfields, const uint64_t *fields)
{
	struct fake *fake = log->state->fake;

	if (kind == LOG_REGISTER)
		memcpy(fake->logged, fields, sizeof(fake->logged));
	if (kind != LOG_LOST)
		return;
	catch_up(fake);
	fake->last = (struct lost){ fields[0], fields[1], fields[2] };
	fake->losses[fields[2] & 7] += fields[0];
	if (nfields != 3 || fields[1] != fake->told || fake->told + fields[0] > fake->n)
		fake->disorder = true;
	fake->told += fields[0];
}

/* --- The trace unit: TRFCR takes effect with a CSE, TRCPRGCTLR.EN with one or at once --- */

int trace_unit_init(struct trace_unit *unit, struct pe *pe,
		    const struct trace_unit_options *options)
{
	unit->pe = pe;
	unit->state = malloc(sizeof(*unit->state));
	unit->state->fake = pe->machine->opaque;
	return 0;
}

void trace_unit_free(struct trace_unit *unit)
{
	free(unit->state);
}

void trace_unit_refresh(struct trace_unit *unit)
{
	const struct fake *fake = unit->state->fake;

	for (unsigned int el = 0; el < 4; el++)
		unit->traces[el] = fake->enabled && fake->trfcr & (el ? 2 : 1) &&
				   !trace_buffer_prohibits(&unit->pe->buffer, el);
}

void trace_unit_reset(struct trace_unit *unit)
{
	struct fake *fake = unit->state->fake;

	fake->enabled = fake->enabling = false;
	fake->trfcr = fake->trfcr_written = 0;
	fake->nunit = 0;
	trace_unit_refresh(unit);
}

bool trace_unit_owns(uint32_t reg)
{
	return reg == TRCPRGCTLR;
}

bool trace_unit_read(struct trace_unit *unit, uint32_t reg, uint64_t *value)
{
	const struct fake *fake = unit->state->fake;

	*value = reg == TRCPRGCTLR ? fake->enabling : fake->trfcr_written;
	return true;
}

bool trace_unit_write(struct trace_unit *unit, uint32_t reg, uint64_t value)
{
	struct fake *fake = unit->state->fake;

	if (reg == TRCPRGCTLR)
		fake->enabling = value & 1;
	else
		fake->trfcr_written = value;
	if (reg == TRCPRGCTLR && fake->prompt) {
		fake->enabled = fake->enabling;
		trace_unit_refresh(unit);
	}
	return true;
}

void trace_unit_context(struct trace_unit *unit, uint32_t el1, uint32_t el2)
{
}

static void send(struct fake *fake, unsigned int n)
{
	catch_up(fake);
	for (unsigned int i = 0; i < n && fake->n + i < FAKE_STREAM; i++)
		fake->stream[fake->n + i] = fake->unit[i];
	fake->n += n;
	trace_buffer_accept(&fake->pe.buffer, fake->unit, n);
	fake->nunit -= n;
	memmove(fake->unit, fake->unit + n, fake->nunit);
}

void trace_unit_synchronize(struct trace_unit *unit)
{
	struct fake *fake = unit->state->fake;

	if (fake->enabled != fake->enabling && fake->greeting) {
		memset(fake->unit, 0x5a, fake->greeting);
		send(fake, fake->nunit = fake->greeting);
	}
	fake->enabled = fake->enabling;
	fake->trfcr = fake->trfcr_written;
	trace_unit_refresh(unit);
}

void trace_unit_block(struct trace_unit *unit, const struct pe_block *block)
{
	struct fake *fake = unit->state->fake;

	for (uint32_t i = 0; i < block->n; i++) {
		fake->unit[fake->nunit++] = rng_next(&fake->rng);
		if (fake->nunit == sizeof(fake->unit))
			send(fake, 1 + rng_below(&fake->rng, fake->nunit));
	}
}

void trace_unit_exception(struct trace_unit *unit, const struct pe_exception *exception)
{
}

void trace_unit_flush(struct trace_unit *unit)
{
	send(unit->state->fake, unit->state->fake->nunit);
}

bool trace_unit_holds(const struct trace_unit *unit)
{
	return unit->state->fake->nunit;
}

bool trace_unit_enabled(const struct trace_unit *unit)
{
	return unit->state->fake->enabled;
}

void trace_unit_external(struct trace_unit *unit, uint16_t event)
{
	struct fake *fake = unit->state->fake;

	fake->wraps += event == 0x400c;
	fake->triggers += event == 0x400e;
}

void trace_unit_overflow(struct trace_unit *unit)
{
}

/* --- Memory --- */

uint64_t fake_alloc(struct fake *fake, uint64_t size)
{
	uint64_t at = (fake->next_page + size - 1) & -size;

	if (!memory(fake, at, size))
		abort();
	fake->next_page = at + size;
	return at;
}

void fake_store(struct fake *fake, uint64_t physical, uint64_t value)
{
	memcpy(memory(fake, physical, 8), &value, 8);
}

uint64_t fake_load(struct fake *fake, uint64_t physical)
{
	uint64_t value;

	memcpy(&value, memory(fake, physical, 8), 8);
	return value;
}

uint64_t fake_entry(struct fake *fake, uint64_t root, unsigned int granule, int first, int last,
		    unsigned int bits, uint64_t address)
{
	uint64_t table = root;

	for (int level = first;; level++) {
		unsigned int shift = granule + (3 - level) * (granule - 3);
		unsigned int width = level == first ? bits - shift : granule - 3;
		uint64_t entry = table + 8 * (address >> shift & ((1ULL << width) - 1));

		if (level == last)
			return entry;
		if (!fake_load(fake, entry))
			fake_store(fake, entry, fake_alloc(fake, 1U << granule) | PE_TABLES);
		table = fake_load(fake, entry) & 0xffffffffffffULL & -(1ULL << granule);
	}
}

void fake_paging(struct fake *fake)
{
	fake->sysregs[MACHINE_SCTLR_EL1] = 1;
	/* T0SZ, T1SZ 16; TG1 4 KB; IPS 48 bits */
	fake->sysregs[MACHINE_TCR_EL1] = 16 | 16ULL << 16 | 2ULL << 30 | 5ULL << 32;
	fake->sysregs[MACHINE_TTBR0_EL1] = fake_alloc(fake, 4096);
	fake->sysregs[MACHINE_TTBR1_EL1] = fake_alloc(fake, 4096);
}

static uint64_t page_entry(struct fake *fake, uint64_t address)
{
	return fake_entry(fake, fake->sysregs[MACHINE_TTBR1_EL1], 12, 0, 3, 48, address);
}

void fake_map(struct fake *fake, uint64_t address, unsigned int pages)
{
	for (unsigned int i = 0; i < pages; i++) {
		fake_alloc(fake, 4096);
		fake_store(fake, page_entry(fake, address + 4096 * i),
			   fake_alloc(fake, 4096) | PE_TABLES | PTE_AF);
	}
}

uint8_t *fake_at(struct fake *fake, uint64_t address)
{
	return memory(fake, (fake_load(fake, page_entry(fake, address)) & 0xfffffffff000ULL) |
		      (address & 4095), 1);
}

/* --- Instructions --- */

void msr(struct fake *fake, uint32_t reg, uint64_t value)
{
	fake->pe.pc += 4;
	pe_write(&fake->pe, reg, fake->pe.pc, value);
}

uint64_t mrs(struct fake *fake, uint32_t reg)
{
	uint64_t value = 0;

	pe_read(&fake->pe, reg, fake->pe.pc + 4, &value);
	return value;
}

void isb(struct fake *fake)
{
	pe_isb(&fake->pe, fake->pe.pc + 4);
}

void dsb(struct fake *fake)
{
	pe_dsb(&fake->pe, fake->pe.pc + 4);
}

void tsb(struct fake *fake)
{
	pe_tsb_csync(&fake->pe, fake->pe.pc + 4);
}

void work(struct fake *fake, unsigned int n)
{
	struct pe_block block = { .address = fake->pe.pc, .n = n };

	if (n && pe_wants(&fake->pe, fake->pe.el))
		pe_block(&fake->pe, &block);
}

void feed(struct fake *fake, unsigned int n)
{
	while (n) {
		unsigned int piece = n < sizeof(fake->unit) ? n : sizeof(fake->unit);

		for (unsigned int i = 0; i < piece; i++)
			fake->unit[i] = rng_next(&fake->rng);
		fake->nunit = piece;
		send(fake, piece);
		n -= piece;
	}
}

void buffer_on(struct fake *fake, uint64_t base, uint64_t pointer, uint64_t limitr)
{
	msr(fake, SYSREG_TRBSR_EL1, 0);
	msr(fake, SYSREG_TRBBASER_EL1, base);
	msr(fake, SYSREG_TRBPTR_EL1, pointer);
	isb(fake);
	msr(fake, SYSREG_TRBLIMITR_EL1, limitr | 1);
	isb(fake);
}

void buffer_off(struct fake *fake)
{
	tsb(fake);
	dsb(fake);
	msr(fake, SYSREG_TRBLIMITR_EL1, mrs(fake, SYSREG_TRBLIMITR_EL1) & ~1ULL);
	isb(fake);
}

void unit_on(struct fake *fake)
{
	msr(fake, SYSREG_TRFCR_EL1, 3);
	isb(fake);
	msr(fake, TRCPRGCTLR, 1);
	isb(fake);
}

void prohibit(struct fake *fake)
{
	msr(fake, SYSREG_TRFCR_EL1, 0);
	isb(fake);
}

void unit_off(struct fake *fake)
{
	prohibit(fake);
	tsb(fake);
	msr(fake, TRCPRGCTLR, 0);
	isb(fake);
}

bool fake_consistent(struct fake *fake)
{
	const struct trace_buffer *buffer = &fake->pe.buffer;

	catch_up(fake);
	return !fake->disorder && !fake->wrong && fake->n == buffer->accepted &&
	       buffer->accepted ==
		       buffer->stored + buffer->lost + buffer->nheld + buffer->npending &&
	       fake->told == buffer->stored + buffer->lost;
}

uint64_t fake_violations(const struct fake *fake)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < VIOLATIONS; i++)
		n += fake->pe.adversary.violations[i];
	return n;
}
