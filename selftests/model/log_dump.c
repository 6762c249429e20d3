// SPDX-License-Identifier: GPL-2.0-or-later
/* Prints the execution log of one PE as text, one event a line. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log_read.h"
#include "pe.h"

static const char usage[] =
	"Usage: logdump [-b] [-i] [-s] PREFIX PE\n"
	"Prints the log that the model of ETE and TRBE wrote to PREFIX.PE, one event a line:\n"
	"its offset in the file, its kind, and its fields by name (log.h says what they are).\n"
	"  -b      leave blocks out: what is said of them is how many there were\n"
	"  -i      each instruction of a block, with its opcode\n"
	"  -s      instead: the trace bytes that were stored, to standard output as they are\n"
	"  --help  this text\n";

static const char *const branches[] = { "none", "direct", "indirect", "isb", "wfx" };

static void print_block(const struct log_item *item, bool each)
{
	const struct log_block *block = &item->block;

	printf("%zu block 0x%llx n=%u %s%s%s%s", item->offset, (unsigned long long)block->address,
	       block->n, branches[block->branch], block->taken ? " taken" : "",
	       block->link ? " link" : "", block->eret ? " eret" : "");
	if (block->taken)
		printf(" next=0x%llx", (unsigned long long)block->next);
	putchar('\n');
	for (uint32_t i = 0; each && i < block->n; i++)
		printf("\t0x%llx %08x\n", (unsigned long long)block->address + 4 * i,
		       block->opcodes[i]);
}

static void print_event(const struct log_item *item)
{
	const char *names = log_kind_fields(item->kind);

	printf("%zu %s", item->offset, log_kind_name(item->kind));
	for (unsigned int i = 0; i < item->nfields; i++) {
		int n = strcspn(names, " ");

		printf(" %.*s=0x%llx", n, names, (unsigned long long)item->fields[i]);
		names += n + (names[n] == ' ');
	}
	putchar('\n');
}

static bool bytes;		/* -s */

static int dump(const char *prefix, const char *pe, bool blocks, bool each)
{
	static struct log_reader reader;
	struct log_bytes code, events;
	uint64_t skipped = 0, instructions = 0, total = 0;
	struct log_pieces pieces;
	struct log_item item;
	char path[4096], error[160];
	int err;

	snprintf(path, sizeof(path), "%s.code", prefix);
	err = log_map(path, &code);
	if (!err) {
		snprintf(path, sizeof(path), "%s.%s", prefix, pe);
		err = log_map(path, &events);
	}
	if (err) {
		fprintf(stderr, "logdump: %s: %s\n", path, strerror(-err));
		return 2;
	}
	if (log_pieces_read(&pieces, code, error)) {
		fprintf(stderr, "logdump: %s\n", error);
		return 2;
	}
	err = log_reader_init(&reader, events, &pieces);
	while (!err && (err = log_read(&reader, &item)) == 1) {
		err = 0;
		if (bytes) {
			if (item.kind == LOG_STORED)
				fwrite(item.bytes, 1, item.fields[0], stdout);
			continue;
		}
		if (item.kind != LOG_BLOCK) {
			if (skipped)
				printf("\t%llu blocks, %llu instructions\n",
				       (unsigned long long)skipped,
				       (unsigned long long)instructions);
			skipped = instructions = 0;
			print_event(&item);
			continue;
		}
		total += item.block.n;
		if (blocks) {
			print_block(&item, each);
		} else {
			skipped++;
			instructions += item.block.n;
		}
	}
	if (skipped)
		printf("\t%llu blocks, %llu instructions\n", (unsigned long long)skipped,
		       (unsigned long long)instructions);
	if (!bytes)
		printf("%llu instructions in all\n", (unsigned long long)total);
	if (err)
		fprintf(stderr, "logdump: %s\n", reader.error);
	return err ? 1 : 0;
}

int main(int argc, char **argv)
{
	bool blocks = true, each = false;
	int i = 1;

	for (; i < argc && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "-b")) {
			blocks = false;
		} else if (!strcmp(argv[i], "-i")) {
			each = true;
		} else if (!strcmp(argv[i], "-s")) {
			bytes = true;
		} else if (!strcmp(argv[i], "--help")) {
			fputs(usage, stdout);
			return 0;
		} else {
			break;
		}
	}
	if (argc - i != 2) {
		fputs(usage, stderr);
		return 2;
	}
	return dump(argv[i], argv[i + 1], blocks, each);
}
