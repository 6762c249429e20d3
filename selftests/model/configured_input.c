// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads the guest's lines of records and configuration, its code, and the model's log, from which
 * it counts what the trace should hold.
 */
#include "configured.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096ULL
#define RECORDS 100000

/* --- What the guest wrote. --- */

static int refuse(struct facts *facts, const char *what)
{
	snprintf(facts->error, sizeof(facts->error), "%s", what);
	return -EBADMSG;
}

static int take_record(struct facts *facts, const unsigned long long *n)
{
	struct record *record, *more;

	if (facts->n == RECORDS)
		return refuse(facts, "too many records");
	if (!(facts->n & (facts->n - 1))) {
		more = realloc(facts->records, (facts->n ? 2 * facts->n : 1) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		facts->records = more;
	}
	record = &facts->records[facts->n++];
	*record = (struct record){
		.since = n[0], .time = n[1], .counter = n[2], .size = n[3], .flags = n[4],
		.loss = n[5], .tid = n[6], .offset = facts->size,
	};
	facts->size += record->size;
	return 0;
}

static int take_line(struct facts *facts, const char *word, const unsigned long long *n, int count)
{
	static const struct {
		const char *word;
		int count;
	} words[] = {
		{ "trcidr", 2 }, { "trcdevarch", 1 }, { "frequency", 1 }, { "level", 1 },
		{ "config", 1 }, { "sync", 1 }, { "threshold", 1 }, { "modes", 1 }, { "tid", 1 },
		{ "strobe", 2 }, { "range", 2 }, { "aux", 7 }, { "clock", 2 }, { "gap", 3 },
	};
	unsigned int i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(words[i].word, word))
			break;
	if (i == sizeof(words) / sizeof(words[0]) || words[i].count != count)
		return refuse(facts, "a line of facts that nobody knows");
	switch (i) {
	case 0:
		if (n[0] < 14)
			facts->trcidr[n[0]] = n[1];
		return 0;
	case 1: facts->trcdevarch = n[0]; return 0;
	case 2: facts->frequency = n[0]; return 0;
	case 3: facts->level = n[0]; return 0;
	case 4: facts->config = n[0]; return 0;
	case 5: facts->sync = n[0]; return 0;
	case 6: facts->threshold = n[0]; return 0;
	case 7: facts->modes = n[0]; return 0;
	case 8: facts->tid = n[0]; return 0;
	case 9: facts->strobe_on = n[0]; facts->strobe_off = n[1]; return 0;
	case 10:
		if (facts->ranges == RANGES)
			return refuse(facts, "too many ranges");
		facts->start[facts->ranges] = n[0];
		facts->end[facts->ranges++] = n[1];
		return 0;
	case 11: return take_record(facts, n);
	case 13: facts->gaps++; return 0;
	default: return 0;
	}
}

static int read_lines(struct facts *facts, FILE *file)
{
	char line[256], word[32];
	unsigned long long n[7];
	int count, error = 0;

	while (!error && fgets(line, sizeof(line), file)) {
		count = sscanf(line, "%31s %llu %llu %llu %llu %llu %llu %llu", word, &n[0], &n[1],
			       &n[2], &n[3], &n[4], &n[5], &n[6]);
		error = count < 2 ? refuse(facts, "an empty line") :
				    take_line(facts, word, n, count - 1);
	}
	return error;
}

/* As the ABI says: 0 is 256, and no less than TRCIDR3.CCITMIN. */
static void complete(struct facts *facts)
{
	const uint32_t least = facts->trcidr[3] & 0xfff;

	if (!facts->threshold)
		facts->threshold = 256;
	if (facts->threshold < least)
		facts->threshold = least;
	facts->returned = !facts->ranges;
}

int facts_read(struct facts *facts, const char *directory)
{
	const char *end = directory + strlen(directory), *name;
	char path[4096];
	FILE *file;
	int error;

	memset(facts, 0, sizeof(*facts));
	while (end > directory && end[-1] == '/')
		end--;
	for (name = end; name > directory && name[-1] != '/';)
		name--;
	snprintf(facts->name, sizeof(facts->name), "%.*s", (int)(end - name), name);
	snprintf(path, sizeof(path), "%s/facts", directory);
	file = fopen(path, "r");
	if (!file)
		return refuse(facts, "no facts");
	error = read_lines(facts, file);
	fclose(file);
	for (facts->cpu = 0; !error && facts->cpu < 8; facts->cpu++) {
		snprintf(path, sizeof(path), "%s/%u.trace", directory, facts->cpu);
		if (!log_map(path, &facts->trace))
			break;
	}
	if (!error && (!facts->n || facts->trace.size != facts->size))
		error = refuse(facts, "the trace is not as long as its records");
	complete(facts);
	return error;
}

void facts_free(struct facts *facts)
{
	free(facts->records);
	log_unmap(&facts->trace);
}

struct flowtap_ete_config facts_config(const struct facts *facts)
{
	return (struct flowtap_ete_config){
		.configr = facts->config | 1, .devarch = facts->trcdevarch,
		.idr0 = facts->trcidr[0], .idr1 = facts->trcidr[1], .idr2 = facts->trcidr[2],
		.idr8 = facts->trcidr[8],
	};
}

/* --- Code. --- */

struct code_page {
	uint64_t address;
	struct flowtap_code code;
	uint32_t opcodes[PAGE / 4];
};

static int by_address(const void *a, const void *b)
{
	const struct code_page *one = a, *other = b;

	return one->address < other->address ? -1 : one->address > other->address;
}

static struct code_page *page_of(struct code *code, uint64_t address)
{
	struct code_page *more;
	size_t i;

	address &= ~(PAGE - 1);
	/* Pieces come page after page. */
	for (i = code->n; i--;)
		if (code->pages[i].address == address)
			return &code->pages[i];
	if (!(code->n & (code->n - 1))) {
		more = realloc(code->pages, (code->n ? 2 * code->n : 1) * sizeof(*more));
		if (!more)
			return NULL;
		code->pages = more;
	}
	code->pages[code->n] = (struct code_page){ .address = address };
	return &code->pages[code->n++];
}

static int add_block(struct code *code, const struct log_block *block)
{
	uint64_t address = block->address;
	struct code_page *page;
	uint32_t i;

	for (i = 0; i < block->n; i++, address += 4) {
		page = page_of(code, address);
		if (!page)
			return -ENOMEM;
		memcpy(&page->opcodes[address % PAGE / 4], &block->opcodes[i], 4);
	}
	return 0;
}

static void finish_code(struct code *code)
{
	size_t i;

	qsort(code->pages, code->n, sizeof(*code->pages), by_address);
	for (i = 0; i < code->n; i++)
		code->pages[i].code = (struct flowtap_code){
			.start = code->pages[i].address, .end = code->pages[i].address + PAGE,
			.until = UINT64_MAX, .bytes = (const uint8_t *)code->pages[i].opcodes,
			.key = i + 1, .file = UINT32_MAX,
		};
}

void code_free(struct code *code)
{
	free(code->pages);
}

const struct flowtap_code *code_find(const struct code *code, uint64_t address)
{
	const struct code_page key = { .address = address & ~(PAGE - 1) };
	const struct code_page *page = bsearch(&key, code->pages, code->n, sizeof(key), by_address);

	return page ? &page->code : NULL;
}

/* --- The log. --- */

#define TRCCONFIGR 0x8820	/* as log.h has it: SYSREG() */

static bool inside(const struct facts *facts, uint64_t address)
{
	unsigned int i;

	for (i = 0; i < facts->ranges; i++)
		if (address >= facts->start[i] && address < facts->end[i])
			return true;
	return !facts->ranges;
}

struct place {
	uint64_t streams;	/* that the trace unit was programmed for so far */
	unsigned int el;
	bool allowed;		/* the trace unit is enabled, and EL0 may be traced */
};

static void follow(struct place *place, struct facts *facts, const struct log_item *item)
{
	const uint64_t *fields = item->fields;

	switch (item->kind) {
	case LOG_EXCEPTION:
		place->el = fields[4];
		break;
	case LOG_RETURN:
		place->el = fields[0];
		break;
	case LOG_REGISTER:
		if (fields[0] != TRCCONFIGR)
			break;
		if (++place->streams == facts->number)
			facts->programmed = fields[1];
		break;
	case LOG_TRACING:
		place->allowed = fields[0] == LOG_TRACED && fields[1] & 1;
		place->el = fields[2];
		break;
	default:
		break;
	}
}

static void count_block(struct log_counts *counts, const struct facts *facts,
			const struct log_block *block)
{
	uint32_t i;

	for (i = 0; i < block->n; i++) {
		if (inside(facts, block->address + 4 * i))
			counts->inside++;
		else
			counts->outside++;
	}
}

int log_count(struct log_counts *counts, struct code *code, const char *prefix,
	      struct facts *facts)
{
	static struct log_reader reader;
	static bool added[LOG_SLOTS];
	struct log_bytes opcodes = { 0 }, events = { 0 };
	struct log_pieces pieces = { 0 };
	struct place place = { 0 };
	struct log_item item;
	char path[4096], error[160];
	int got;

	*counts = (struct log_counts){ 0 };
	memset(code, 0, sizeof(*code));
	memset(added, 0, sizeof(added));
	snprintf(path, sizeof(path), "%s.code", prefix);
	got = log_map(path, &opcodes);
	snprintf(path, sizeof(path), "%s.%u", prefix, facts->cpu);
	if (got || log_map(path, &events) || log_pieces_read(&pieces, opcodes, error) ||
	    log_reader_init(&reader, events, &pieces))
		return refuse(facts, "no log of this CPU");
	while (place.streams <= facts->number && (got = log_read(&reader, &item)) == 1) {
		if (item.kind != LOG_BLOCK) {
			follow(&place, facts, &item);
			continue;
		}
		if (item.fresh)
			added[item.slot] = false;
		if (place.el || !place.allowed || place.streams != facts->number)
			continue;
		if (!added[item.slot] && add_block(code, &item.block))
			return refuse(facts, "no memory");
		added[item.slot] = true;
		count_block(counts, facts, &item.block);
	}
	finish_code(code);
	log_pieces_free(&pieces);
	log_unmap(&opcodes);
	log_unmap(&events);
	return got < 0 ? refuse(facts, reader.error) : 0;
}
