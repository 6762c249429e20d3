// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Parses lines of kallsyms, and sorts the functions by address for look-up. */
#include "code/kernel_symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "code/label.h"

#define TEXT_MAX (128U << 20)
#define OTHERS_MAX 256	/* of other modules that lie between: one was there before the other */

struct symbol {
	uint64_t address;
	uint32_t name;		/* offset in text */
	uint32_t module;	/* the same; 0 none */
};

struct flowtap_kernel_symbols {
	char *text;
	size_t size;
	size_t text_capacity;
	struct symbol *table;
	size_t n;
	bool sorted;
};

struct flowtap_kernel_symbols *flowtap_kernel_symbols_new(void)
{
	return calloc(1, sizeof(struct flowtap_kernel_symbols));
}

void flowtap_kernel_symbols_free(struct flowtap_kernel_symbols *symbols)
{
	if (!symbols)
		return;
	free(symbols->text);
	free(symbols->table);
	free(symbols);
}

static int append_text(struct flowtap_kernel_symbols *symbols, const char *text, size_t size)
{
	/* Offset 0 is kept for "none", and a 0 ends what is there. */
	if (size > TEXT_MAX - 2 - symbols->size)
		return -EFBIG;
	if (FLOWTAP_RESERVE(symbols->text, symbols->text_capacity, symbols->size + size + 2,
			    1U << 20))
		return -ENOMEM;
	if (!symbols->size)
		symbols->text[symbols->size++] = 0;
	memcpy(symbols->text + symbols->size, text, size);
	symbols->size += size;
	symbols->text[symbols->size] = 0;
	return 0;
}

/* One line, without its end. False: it is of no use. */
static bool parse(char *line, const char *text, struct symbol *symbol)
{
	char *at, *name, *module;

	symbol->address = strtoull(line, &at, 16);
	if (at == line || at[0] != ' ' || !at[1] || !strchr("tTwW", at[1]) || at[2] != ' ')
		return false;
	name = at + 3;
	at = name + strcspn(name, " \t");
	module = at + strspn(at, " \t");
	symbol->module = 0;
	if (module[0] == '[') {
		module[strcspn(module, "]")] = 0;
		symbol->module = (uint32_t)(module + 1 - text);
	}
	*at = 0;
	symbol->name = (uint32_t)(name - text);
	return !is_label(name) && symbol->address >> 63;
}

int flowtap_kernel_symbols_add(struct flowtap_kernel_symbols *symbols, const char *text,
			       size_t size)
{
	size_t from = symbols->size ? symbols->size : 1;
	int err = append_text(symbols, text, size);
	char *end;

	if (err)
		return err;
	for (char *line = symbols->text + from; *line; line = end) {
		struct symbol symbol;

		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = 0;
		if (!parse(line, symbols->text, &symbol))
			continue;
		if (FLOWTAP_GROW(symbols->table, symbols->n))
			return -ENOMEM;
		symbols->table[symbols->n++] = symbol;
	}
	symbols->sorted = false;
	return 0;
}

static int order(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static bool is_of(const struct flowtap_kernel_symbols *symbols, const struct symbol *symbol,
		  const char *module)
{
	return !strcmp(symbol->module ? symbols->text + symbol->module : "kernel", module);
}

const char *flowtap_kernel_symbols_find(struct flowtap_kernel_symbols *symbols, const char *module,
					uint64_t address, uint64_t *start, uint64_t *end)
{
	const struct symbol *table = symbols->table, *found = NULL;
	size_t low = 0, high = symbols->n;

	*start = 0;
	*end = UINT64_MAX;
	if (!symbols->sorted && symbols->n)
		qsort(symbols->table, symbols->n, sizeof(table[0]), order);
	symbols->sorted = true;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low; i < symbols->n && i - low < OTHERS_MAX; i++) {
		if (is_of(symbols, &table[i], module)) {
			*end = table[i].address;
			break;
		}
	}
	/* Of several at one address the first that was added. */
	for (size_t i = low; i && low - i < OTHERS_MAX; i--) {
		if (found && table[i - 1].address != found->address)
			break;
		if (is_of(symbols, &table[i - 1], module))
			found = &table[i - 1];
	}
	if (!found)
		return NULL;
	*start = found->address;
	return symbols->text + found->name;
}
