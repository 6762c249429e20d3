// SPDX-License-Identifier: GPL-2.0-or-later
/* The bench of a trace unit: its machine, its buffer, its log. */
#include "unit_rig.h"

#include <stdlib.h>

#include "support/ete_packet.h"

static struct rig *rig_of(struct pe *pe)
{
	return (struct rig *)((char *)pe - offsetof(struct rig, pe));
}

static uint64_t read_counter(void *opaque, unsigned int cpu)
{
	return ((struct rig *)opaque)->counter;
}

/* --- What the trace unit calls, for which there is no more after it here. --- */

void trace_buffer_accept(struct trace_buffer *buffer, const void *bytes, size_t n)
{
	struct rig *rig = rig_of(buffer->pe);

	rig->bytes = realloc(rig->bytes, rig->nbytes + n);
	if (!rig->bytes)
		abort();
	memcpy(rig->bytes + rig->nbytes, bytes, n);
	rig->nbytes += n;
	buffer->accepted += n;
}

void trace_buffer_discard(struct trace_buffer *buffer, size_t n)
{
	rig_of(buffer->pe)->discarded += n;
	buffer->accepted += n;
}

void trace_buffer_trigger(struct trace_buffer *buffer)
{
	struct rig *rig = rig_of(buffer->pe);

	rig->triggers++;
	rig->triggered = rig->nbytes;
}

bool trace_buffer_prohibits(const struct trace_buffer *buffer, unsigned int el)
{
	return rig_of(buffer->pe)->prohibited >> el & 1;
}

static void __attribute__((format(printf, 2, 3))) add(struct rig *rig, const char *format, ...)
{
	va_list arguments;
	char line[200];
	int n;

	va_start(arguments, format);
	n = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	rig->log = realloc(rig->log, rig->nlog + n + 1);
	if (!rig->log)
		abort();
	memcpy(rig->log + rig->nlog, line, n + 1);
	rig->nlog += n;
}

static struct rig *rig_of_log(struct log *log)
{
	return rig_of((struct pe *)((char *)log - offsetof(struct pe, log)));
}

void log_block(struct log *log, const struct pe_block *block)
{
	add(rig_of_log(log), "block %llx %u\n", (unsigned long long)block->address, block->n);
}

void pe_tell_time(struct pe *pe)
{
	(void)pe;
}

void log_report(struct log_set *set, const char *format, ...)
{
	(void)set;
	(void)format;
}

void log_event(struct log *log, enum log_kind kind, unsigned int nfields, const uint64_t *fields)
{
	static const char *const names[] = {
#define X(kind, name, fields) [LOG_##kind] = name,
		LOG_TABLE(X)
#undef X
	};
	struct rig *rig = rig_of_log(log);

	add(rig, "%s", names[kind]);
	for (unsigned int i = 0; i < nfields; i++)
		add(rig, " %llx", (unsigned long long)fields[i]);
	add(rig, "\n");
}

/* --- */

void rig_init(struct rig *rig, const struct trace_unit_options *options, bool el2, uint32_t what,
	      uint64_t seed)
{
	memset(rig, 0, sizeof(*rig));
	rig->options = options ? *options : trace_unit_defaults;
	rig->adversary = (struct adversary_options){ .seed = seed, .what = what };
	rig->machine = (struct machine){ .opaque = rig, .counter = read_counter };
	rig->pe.config = (struct pe_config){ .el2 = el2, .midr = 0x410fd490, .frequency = 1000000000,
					     .unit = &rig->options };
	rig->pe.machine = &rig->machine;
	rig->pe.buffer.pe = &rig->pe;
	rig->pe.el = 1;
	rig->counter = 0x1000;
	rig->at = 0x400000;
	adversary_init(&rig->pe.adversary, &rig->pe, &rig->adversary);
	if (trace_unit_init(&rig->pe.unit, &rig->pe, &rig->options))
		abort();
	trace_unit_reset(&rig->pe.unit);
}

void rig_free(struct rig *rig)
{
	trace_unit_free(&rig->pe.unit);
	free(rig->bytes);
	free(rig->log);
}

bool rig_write(struct rig *rig, uint32_t offset, uint64_t value)
{
	return trace_unit_write(&rig->pe.unit, SYSREG_TRACE(offset), value);
}

bool rig_read(struct rig *rig, uint32_t offset, uint64_t *value)
{
	return trace_unit_read(&rig->pe.unit, SYSREG_TRACE(offset), value);
}

uint64_t rig_get(struct rig *rig, uint32_t offset)
{
	uint64_t value = 0xdeaddeaddeadULL;

	rig_read(rig, offset, &value);
	return value;
}

void rig_trfcr(struct rig *rig, uint64_t el1, uint64_t el2)
{
	trace_unit_write(&rig->pe.unit, SYSREG_TRFCR_EL1, el1);
	trace_unit_write(&rig->pe.unit, SYSREG_TRFCR_EL2, el2);
}

void rig_isb(struct rig *rig)
{
	trace_unit_synchronize(&rig->pe.unit);
	trace_unit_refresh(&rig->pe.unit);
}

void rig_program(struct rig *rig, uint64_t configr)
{
	static const uint16_t zero[] = { 0x018, 0x020, 0x024, 0x028, 0x02c, 0x030, 0x03c, 0x084,
					 0x088, 0x100, 0x104, 0x108, 0x118, 0x11c };

	for (unsigned int i = 0; i < sizeof(zero) / sizeof(zero[0]); i++)
		rig_write(rig, zero[i], 0);
	for (unsigned int i = 0; i < 4; i++) {
		rig_write(rig, 0x150 + 4 * i, 0);
		rig_write(rig, 0x160 + 4 * i, 0);
		rig_write(rig, 0x120 + 4 * i, 0);
	}
	for (unsigned int i = 0; i < 8; i++) {
		rig_write(rig, 0x280 + 4 * i, 0);
		rig_write(rig, 0x2a0 + 4 * i, 0);
	}
	for (unsigned int i = 2; i < 32; i++)
		rig_write(rig, 0x200 + 4 * i, 0);
	rig_write(rig, 0x010, configr);
	rig->configr = configr;
	rig_write(rig, 0x034, 0);
	rig_write(rig, 0x038, 16);
	rig_write(rig, 0x040, 1);
	rig_write(rig, 0x080, 0x201);
}

void rig_enable(struct rig *rig)
{
	rig_isb(rig);
	rig_write(rig, 0x004, 1);
	rig_trfcr(rig, 0x23, 0x2b);
	rig_isb(rig);
}

void rig_disable(struct rig *rig)
{
	rig_write(rig, 0x004, 0);
	rig_isb(rig);
}

static void run(struct rig *rig, const struct pe_block *block)
{
	struct pe_block whole = *block;

	whole.address = rig->at;
	rig->at = whole.taken ? whole.next : rig->at + 4 * (uint64_t)whole.n;
	/* As pe_block does. */
	if (rig->pe.unit.traces[rig->pe.el])
		trace_unit_block(&rig->pe.unit, &whole);
}

void rig_run(struct rig *rig, unsigned int n)
{
	run(rig, &(struct pe_block){ .n = n });
}

void rig_branch(struct rig *rig, unsigned int n, bool taken, uint64_t to)
{
	run(rig, &(struct pe_block){ .n = n, .branch = PE_DIRECT, .conditional = true,
				     .taken = taken, .next = to });
}

void rig_call(struct rig *rig, unsigned int n, uint64_t to)
{
	run(rig, &(struct pe_block){ .n = n, .branch = PE_DIRECT, .taken = true, .link = true,
				     .next = to });
}

void rig_indirect(struct rig *rig, unsigned int n, uint64_t to)
{
	run(rig, &(struct pe_block){ .n = n, .branch = PE_INDIRECT, .taken = true, .next = to });
}

void rig_other(struct rig *rig, unsigned int n, enum pe_branch branch)
{
	run(rig, &(struct pe_block){ .n = n, .branch = branch });
	if (branch == PE_ISB)
		rig_isb(rig);
}

static void enter(struct rig *rig, unsigned int el)
{
	rig->pe.el = el;
	rig_isb(rig);
}

void rig_eret(struct rig *rig, unsigned int n, uint64_t to, unsigned int el)
{
	run(rig, &(struct pe_block){ .n = n, .branch = PE_INDIRECT, .taken = true, .eret = true,
				     .next = to });
	enter(rig, el);
}

void rig_exception(struct rig *rig, enum pe_exception_kind kind, uint32_t syndrome,
		   uint64_t handler, unsigned int el)
{
	struct pe_exception exception = { .return_address = rig->at, .handler = handler,
					  .syndrome = syndrome, .kind = kind, .el = el };

	if (trace_unit_enabled(&rig->pe.unit))
		trace_unit_exception(&rig->pe.unit, &exception);
	rig->at = handler;
	enter(rig, el);
}

void rig_comparator(struct rig *rig, unsigned int n, uint64_t address, uint64_t attributes)
{
	rig_write(rig, 0x400 + 8 * n, address);
	rig_write(rig, 0x480 + 8 * n, attributes);
}

void rig_walk(struct rig *rig, uint64_t to)
{
	rig->at = 0x400000;
	while (rig->at < to)
		rig_branch(rig, 4, false, 0);
}

static struct flowtap_ete_config config_of(struct rig *rig)
{
	return (struct flowtap_ete_config){
		.configr = rig->configr, .devarch = rig_get(rig, 0xfbc),
		.idr0 = rig_get(rig, 0x1e0), .idr1 = rig_get(rig, 0x1e4),
		.idr2 = rig_get(rig, 0x1e8), .idr8 = rig_get(rig, 0x180),
	};
}

/* Lines that begin so are left out. */
static bool uninteresting(const char *line)
{
	return strstr(line, " Alignment Sync\n") || strstr(line, " Trace Info ");
}

static char *without_sizes(const char *text)
{
	char *to = calloc(1, text ? strlen(text) + 1 : 1), *end = to;

	while (text && *text) {
		const char *next = strchr(text, '\n') + 1;
		char line[400];

		snprintf(line, sizeof(line), "%.*s", (int)(next - text), text);
		text = next;
		if (!uninteresting(line)) {
			strcpy(end, strchr(line, ' ') + 1);
			end += strlen(end);
		}
	}
	return to;
}

/* Everything is parsed anew each time: what a packet says depends on those before. */
char *rig_packets(struct rig *rig)
{
	struct flowtap_ete_config config;
	struct flowtap_ete_parser parser;
	struct packet_text out = { .text = NULL };
	size_t at = 0, before;
	char *text;

	trace_unit_flush(&rig->pe.unit);
	memset(&config, 0, sizeof(config));
	config = config_of(rig);
	flowtap_ete_parser_init(&parser, &config);
	if (!packet_text_parse(&out, &parser, rig->bytes, rig->read, &at))
		abort();
	before = out.size;
	if (!packet_text_parse(&out, &parser, rig->bytes, rig->nbytes, &at))
		abort();
	packet_text_parts(&out);
	if (at != rig->nbytes)
		packet_text_add(&out, "0 incomplete\n");
	rig->read = rig->nbytes;
	text = without_sizes(out.text ? out.text + before : "");
	free(out.text);
	return text;
}

char *rig_resolved(struct rig *rig)
{
	struct flowtap_ete_config config = config_of(rig);
	struct flowtap_ete_parser parser;
	struct flowtap_ete_packet packet;
	size_t at = 0, n = 0, used;
	char *to;

	trace_unit_flush(&rig->pe.unit);
	to = malloc(32 * rig->nbytes + 1);
	if (!to)
		abort();
	flowtap_ete_parser_init(&parser, &config);
	for (; at < rig->nbytes; at += used) {
		used = flowtap_ete_parse(&parser, rig->bytes + at, rig->nbytes - at, &packet);
		if (!used || packet.type == FLOWTAP_ETE_RESERVED)
			abort();
		for (unsigned int i = 0; i < packet.atom_count; i++)
			to[n++] = packet.atoms >> i & 1 ? 'E' : 'N';
		if (packet.type == FLOWTAP_ETE_EXCEPTION)
			to[n++] = 'X';
		if (packet.cancel > n)
			abort();
		n -= packet.cancel;
		if (packet.mispredict)
			to[n - 1] ^= 'E' ^ 'N';
	}
	to[n] = '\0';
	return to;
}

static bool has_word(const char *words, const char *line)
{
	size_t n = strcspn(line, " \n");

	for (const char *at = words; (at = strstr(at, line[0] ? (char[]){ line[0], 0 } : ""));) {
		if ((at == words || at[-1] == '|') && !strncmp(at, line, n) &&
		    (at[n] == '|' || !at[n]))
			return true;
		at++;
	}
	return false;
}

char *rig_log(struct rig *rig, const char *words)
{
	char *to = calloc(1, rig->nlog + 1), *end = to;

	for (char *line = rig->log; line && *line;) {
		char *next = strchr(line, '\n') + 1;

		if (has_word(words, line)) {
			memcpy(end, line, next - line);
			end += next - line;
		}
		line = next;
	}
	rig->nlog = 0;
	if (rig->log)
		rig->log[0] = '\0';
	return to;
}

uint64_t rig_violations(struct rig *rig, enum violation which)
{
	uint64_t n = rig->pe.adversary.violations[which];

	rig->pe.adversary.violations[which] = 0;
	return n;
}
