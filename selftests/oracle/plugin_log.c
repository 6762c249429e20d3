// SPDX-License-Identifier: GPL-2.0-only
/* How the oracle plugin writes its log. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

static atomic_uint_least64_t stamps;

uint64_t score_of(const struct hart *hart, int which)
{
	if (turns)
		return hart->scores[which];
	return qemu_plugin_u64_get((struct qemu_plugin_u64){ score, which * sizeof(uint64_t) },
				   hart - harts);
}

void set_score(struct hart *hart, int which, uint64_t value)
{
	hart->scores[which] = value;
	/* Whether they take turns is known when the second one is there. */
	if (!turns)
		qemu_plugin_u64_set((struct qemu_plugin_u64){ score, which * sizeof(uint64_t) },
				    hart - harts, value);
}

FILE *create(const char *suffix, const char *magic)
{
	char *path = g_strdup_printf("%s.%s", prefix, suffix);
	FILE *file = fopen(path, "wb");

	if (!file) {
		fprintf(stderr, "truth: %s: %s\n", path, strerror(errno));
		exit(1);
	}
	setvbuf(file, NULL, _IOFBF, 1 << 20);
	fwrite(magic, 1, ORACLE_MAGIC_SIZE, file);
	g_free(path);
	return file;
}

void put(struct hart *hart, uint64_t number)
{
	while (number >= 0x80) {
		putc_unlocked(0x80 | (number & 0x7f), hart->file);
		number >>= 7;
	}
	putc_unlocked(number, hart->file);
}

/* The beginning of all events but runs. */
void put_event(struct hart *hart, enum oracle_kind kind)
{
	uint64_t stamp = atomic_fetch_add_explicit(&stamps, 1, memory_order_acq_rel);

	putc_unlocked(kind, hart->file);
	put(hart, stamp - hart->stamp);
	hart->stamp = stamp;
}

void put_counts(struct hart *hart)
{
	for (int i = 0; i < COUNTS; i++) {
		uint64_t now = score_of(hart, i);

		put(hart, now - hart->counts[i]);
		hart->counts[i] = now;
	}
}

static void put_times(struct hart *hart, uint32_t n, uint64_t times)
{
	putc_unlocked(ORACLE_RUN, hart->file);
	put(hart, hart->code->id);
	put(hart, oracle_zigzag(hart->pc - hart->code->address));
	put(hart, n);
	put(hart, times);
}

void put_run(struct hart *hart)
{
	if (!hart->code)
		return;
	if (hart->times)
		put_times(hart, hart->code->n, hart->times);
	put_times(hart, score_of(hart, RUN), 1);
	hart->code = NULL;
}

void put_write(struct hart *hart, uint16_t csr, uint64_t keep, uint64_t set)
{
	put_event(hart, ORACLE_WRITE);
	put(hart, csr);
	put(hart, keep);
	put(hart, set);
}

/* Ends the run before an event; false before the log begins. */
bool event(struct hart *hart)
{
	if (!atomic_load_explicit(&armed, memory_order_relaxed))
		return false;
	if (!hart->started) {
		hart->started = true;
		for (int i = 0; i < COUNTS; i++)
			hart->counts[i] = score_of(hart, i);
		put_write(hart, ORACLE_SATP, 0, hart->satp);
	}
	put_run(hart);
	return true;
}

uint64_t read_register(struct hart *hart, struct qemu_plugin_register *handle)
{
	uint64_t value = 0;

	g_byte_array_set_size(hart->bytes, 0);
	if (handle && qemu_plugin_read_register(handle, hart->bytes))
		memcpy(&value, hart->bytes->data, MIN(hart->bytes->len, sizeof(value)));
	return value;
}

void put_task(struct hart *hart, struct qemu_plugin_register *from)
{
	hart->task = read_register(hart, from);
	put(hart, hart->task);
}
