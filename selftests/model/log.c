// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes the execution log. One thread per PE; the code and the report have a lock. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "pe.h"

#define BUFFER_SIZE	(1 << 20)
/* Kind and fields at most: what has to be free in the buffer before an event is written. */
#define EVENT_ROOM	128
#define NO_SLOT		UINT32_MAX

/* How many fields each kind has. */
static const char *const fields_of[LOG_KINDS] = {
#define X(kind, name, fields) [LOG_##kind] = fields,
	LOG_TABLE(X)
#undef X
};

struct out {
	int fd;
	int error;		/* errno of the first write that failed; nothing is written then */
	size_t used;
	uint8_t *bytes;
};

struct log_set {
	char *prefix;
	pthread_mutex_t lock;
	struct out code;
	struct out report;
	uint32_t pieces;
	int error;
};

struct slot {
	struct pe_block block;
	uint32_t next;
};

struct log_state {
	struct out out;
	struct log_set *set;
	uint64_t pc;		/* where the last block went on */
	uint32_t last;
	uint64_t run;		/* of successors, not yet written */
	bool disabled;
	bool wrong;		/* an event was told with other fields than it has */
	uint8_t nfields[LOG_KINDS];
	struct slot slots[LOG_SLOTS];
};

static void flush(struct out *out)
{
	size_t done = 0;

	while (done < out->used && !out->error) {
		ssize_t n = write(out->fd, out->bytes + done, out->used - done);

		if (n > 0)
			done += n;
		else if (n == 0 || errno != EINTR)
			out->error = n == 0 ? EIO : errno;
	}
	out->used = 0;
}

static inline void reserve(struct out *out, size_t n)
{
	if (BUFFER_SIZE - out->used < n)
		flush(out);
}

static void put_bytes(struct out *out, const void *bytes, size_t n)
{
	const uint8_t *from = bytes;

	while (n) {
		size_t part = n < BUFFER_SIZE ? n : BUFFER_SIZE;

		reserve(out, part);
		memcpy(out->bytes + out->used, from, part);
		out->used += part;
		from += part;
		n -= part;
	}
}

static inline void put_byte(struct out *out, uint8_t byte)
{
	out->bytes[out->used++] = byte;
}

static inline void put(struct out *out, uint64_t n)
{
	for (; n > 0x7f; n >>= 7)
		put_byte(out, n | 0x80);
	put_byte(out, n);
}

static inline uint64_t zigzag(uint64_t distance)
{
	return distance << 1 ^ (uint64_t)((int64_t)distance >> 63);
}

static int out_open(struct out *out, const char *prefix, const char *suffix)
{
	char *name;

	*out = (struct out){ .fd = -1, .bytes = malloc(BUFFER_SIZE) };
	if (!out->bytes || asprintf(&name, "%s.%s", prefix, suffix) < 0) {
		free(out->bytes);
		return -ENOMEM;
	}
	out->fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	free(name);
	if (out->fd < 0) {
		int error = errno;

		free(out->bytes);
		return -error;
	}
	return 0;
}

/* Returns errno of the first write that failed. */
static int out_close(struct out *out)
{
	flush(out);
	if (close(out->fd) && !out->error)
		out->error = errno;
	free(out->bytes);
	return out->error;
}

struct log_set *log_open(const char *prefix)
{
	struct log_set *set = calloc(1, sizeof(*set));
	int error = -ENOMEM;

	if (!set)
		goto err;
	set->prefix = strdup(prefix);
	if (!set->prefix)
		goto err_free_set;
	error = out_open(&set->code, prefix, "code");
	if (error)
		goto err_free_prefix;
	error = out_open(&set->report, prefix, "report");
	if (error)
		goto err_close_code;
	pthread_mutex_init(&set->lock, NULL);
	put_bytes(&set->code, LOG_CODE_MAGIC, 8);
	return set;

err_close_code:
	out_close(&set->code);
err_free_prefix:
	free(set->prefix);
err_free_set:
	free(set);
err:
	errno = -error;
	return NULL;
}

int log_close(struct log_set *set)
{
	int code, report, error;

	if (!set)
		return 0;
	put_bytes(&set->report, "end\n", 4);
	code = out_close(&set->code);
	report = out_close(&set->report);
	error = set->error ? set->error : code ? code : report;
	pthread_mutex_destroy(&set->lock);
	free(set->prefix);
	free(set);
	return -error;
}

void log_report(struct log_set *set, const char *format, ...)
{
	char line[512];
	va_list ap;
	int n;

	if (!set)
		return;
	va_start(ap, format);
	n = vsnprintf(line, sizeof(line) - 1, format, ap);
	va_end(ap);
	if (n < 0)
		return;
	if (n > (int)sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	pthread_mutex_lock(&set->lock);
	put_bytes(&set->report, line, n);
	pthread_mutex_unlock(&set->lock);
}

uint32_t log_code(struct log_set *set, uint64_t address, const uint32_t *opcodes, uint32_t n)
{
	uint32_t number;

	if (!set)
		return 0;
	pthread_mutex_lock(&set->lock);
	put_bytes(&set->code, &address, sizeof(address));
	put_bytes(&set->code, &n, sizeof(n));
	put_bytes(&set->code, opcodes, (size_t)n * sizeof(*opcodes));
	number = ++set->pieces;
	pthread_mutex_unlock(&set->lock);
	return number;
}

int log_init(struct log *log, struct log_set *set, unsigned int pe)
{
	struct log_state *state;
	char suffix[12];
	int error;

	*log = (struct log){ .set = set };
	if (!set)
		return 0;
	state = calloc(1, sizeof(*state));
	if (!state)
		return -ENOMEM;
	snprintf(suffix, sizeof(suffix), "%u", pe);
	error = out_open(&state->out, set->prefix, suffix);
	if (error) {
		free(state);
		return error;
	}
	state->set = set;
	state->last = NO_SLOT;
	state->disabled = true;
	for (uint32_t i = 0; i < LOG_SLOTS; i++)
		state->slots[i].next = NO_SLOT;
	for (unsigned int kind = 1; kind < LOG_KINDS; kind++)
		for (const char *at = fields_of[kind]; *at; at++)
			state->nfields[kind] += at == fields_of[kind] || *at == ' ';
	put_bytes(&state->out, LOG_PE_MAGIC, 8);
	log->state = state;
	return 0;
}

static void put_run(struct log_state *state)
{
	if (!state->run)
		return;
	put_byte(&state->out, LOG_REPEAT);
	put(&state->out, state->run);
	state->run = 0;
}

/* An event begins: what is before it is written, and there is room. */
static void begin(struct log_state *state, enum log_kind kind)
{
	reserve(&state->out, EVENT_ROOM);
	put_run(state);
	put_byte(&state->out, kind);
}

void log_finish(struct log *log)
{
	struct log_state *state = log->state;
	int error;

	if (!state)
		return;
	begin(state, LOG_END);
	error = out_close(&state->out);
	if (!error && state->wrong)
		error = EINVAL;
	if (error) {
		pthread_mutex_lock(&state->set->lock);
		state->set->error = error;
		pthread_mutex_unlock(&state->set->lock);
	}
	free(state);
	log->state = NULL;
}

static inline bool same(const struct pe_block *a, const struct pe_block *b)
{
	return a->address == b->address && a->n == b->n && a->branch == b->branch &&
	       a->taken == b->taken && a->link == b->link && a->eret == b->eret &&
	       a->code == b->code && a->first == b->first && (!a->taken || a->next == b->next);
}

static uint32_t slot_of(const struct pe_block *block)
{
	uint64_t hash = block->address * 0x9e3779b97f4a7c15ULL + block->n;

	if (block->taken)
		hash = (hash ^ block->next) * 0xd6e8feb86659fd93ULL;
	return (hash ^ hash >> 31) >> 7 & (LOG_SLOTS - 1);
}

static void put_block(struct log_state *state, const struct pe_block *block, uint32_t slot)
{
	struct out *out = &state->out;
	uint64_t end = block->address + 4 * (uint64_t)block->n;

	put_byte(out, LOG_BLOCK);
	put(out, slot);
	put(out, block->code);
	put(out, block->first);
	put(out, block->n);
	put(out, zigzag(block->address - state->pc));
	put(out, block->branch | block->taken << 3 | block->link << 4 | block->eret << 5);
	if (block->taken)
		put(out, zigzag(block->next - end));
	state->slots[slot].block = *block;
}

void log_block(struct log *log, const struct pe_block *block)
{
	struct log_state *state = log->state;
	uint32_t slot;

	if (!state || state->disabled)
		return;
	slot = state->last != NO_SLOT ? state->slots[state->last].next : NO_SLOT;
	if (slot != NO_SLOT && same(&state->slots[slot].block, block)) {
		state->run++;
	} else {
		reserve(&state->out, EVENT_ROOM);
		put_run(state);
		slot = slot_of(block);
		if (state->slots[slot].block.n && same(&state->slots[slot].block, block)) {
			put_byte(&state->out, 0x80 | slot >> 8);
			put_byte(&state->out, slot);
		} else {
			put_block(state, block, slot);
		}
		if (state->last != NO_SLOT)
			state->slots[state->last].next = slot;
	}
	state->last = slot;
	state->pc = block->taken ? block->next : block->address + 4 * (uint64_t)block->n;
}

void log_exception(struct log *log, const struct pe_exception *exception)
{
	LOG(log, LOG_EXCEPTION, exception->kind, exception->syndrome, exception->return_address,
	    exception->handler, exception->el);
}

void log_stored(struct log *log, const void *bytes, size_t n, uint64_t address)
{
	struct log_state *state = log->state;

	if (!state)
		return;
	begin(state, LOG_STORED);
	put(&state->out, n);
	put(&state->out, address);
	put_bytes(&state->out, bytes, n);
}

void log_event(struct log *log, enum log_kind kind, unsigned int nfields, const uint64_t *fields)
{
	struct log_state *state = log->state;

	if (!state || (state->disabled && (kind == LOG_EXCEPTION || kind == LOG_RETURN)))
		return;
	if (kind == LOG_TRACING)
		state->disabled = fields[0] == LOG_DISABLED;
	begin(state, kind);
	/* A caller that has too few or too many makes no file that cannot be read, but is told. */
	if (nfields != state->nfields[kind])
		state->wrong = true;
	for (unsigned int i = 0; i < state->nfields[kind]; i++)
		put(&state->out, i < nfields ? fields[i] : 0);
}
