// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that damage to a stream of an ETE or ETMv4 stays where it is: whatever happens to some bytes, what was
 * executed before the last alignment synchronisation before them, and from the next one after them
 * on, comes out as if nothing had happened.
 *
 * A stream is decoded several times in a row, each beginning with its Alignment Sync; one of them
 * is damaged. FLOWTAP_SEED and ETE_CORRUPT_ROUNDS set what is tried.
 */

#include "support/corpus.h"
#include "support/golden.h"

#include <dirent.h>
#include <unistd.h>

#include "support/kselftest_harness.h"
#include "support/random.h"
#include "support/seed.h"

#define COPIES 4
#define DAMAGED 1
#define ROUNDS 40
#define STREAMS 128
/* Blocks that a byte may stand for: 24 atoms at most, and what an exception walks over. */
#define WORK 4096

struct step {
	uint64_t address;
	uint64_t more;		/* of a block: its end, and the last bit whether it was taken */
	uint64_t kind;		/* 0: a block, else 1 + enum flowtap_element_kind */
};

struct recorder {
	struct flowtap_sink sink;
	struct step *steps;
	size_t n;
	size_t capacity;
	uint64_t gaps;
};

struct stream {
	char name[300];
	struct flowtap_ete_config config;
	const uint8_t *bytes;
	size_t size;
	struct flowtap_ete_images images;
	struct corpus *corpus;
	struct golden *golden;
};

static uint64_t state;

static size_t below(size_t limit)
{
	return limit ? random_next(&state) % limit : 0;
}

static void record(struct recorder *recorder, struct step step)
{
	if (recorder->n == recorder->capacity) {
		recorder->capacity = recorder->capacity ? 2 * recorder->capacity : 1024;
		recorder->steps = realloc(recorder->steps, recorder->capacity * sizeof(step));
		if (!recorder->steps)
			abort();
	}
	recorder->steps[recorder->n++] = step;
}

static int record_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
			uint64_t target)
{
	struct step step = { block->address, (block->address + block->size) << 1 | taken, 0 };

	(void)target;
	record((struct recorder *)sink, step);
	return 0;
}

static int record_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	struct step step = { 0, 0, 1 + element->kind };

	switch (element->kind) {
	case FLOWTAP_ELEMENT_EXCEPTION:
		step.address = element->exception.address;
		step.more = (uint64_t)element->exception.number;
		break;
	case FLOWTAP_ELEMENT_Q:
		step.address = element->q.start;
		step.more = element->q.instructions;
		break;
	case FLOWTAP_ELEMENT_EXCEPTION_RETURN:
	case FLOWTAP_ELEMENT_TRACE_ON:
		break;
	case FLOWTAP_ELEMENT_GAP:
		((struct recorder *)sink)->gaps++;
		return 0;
	default:
		return 0;
	}
	record((struct recorder *)sink, step);
	return 0;
}

/* --- Streams: the public corpus where it is there, and the golden files. --- */

static struct stream streams[STREAMS];
static size_t n_streams;

/* The first of its bytes that an Alignment Sync begins at: a circular buffer begins anywhere. */
static size_t first_sync(const struct corpus *corpus)
{
	size_t zeros = 0;

	for (size_t i = 0; i < corpus->size; i++) {
		if (zeros >= 11 && corpus->bytes[i] == 0x80)
			return i - 11;
		zeros = corpus->bytes[i] ? 0 : zeros + 1;
	}
	return corpus->size;
}

static void add_corpus(const char *directory, const char *name)
{
	struct stream *stream;
	char path[256];
	size_t from;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	for (size_t i = 0; n_streams < STREAMS; i++) {
		struct corpus *corpus = malloc(sizeof(*corpus));

		if (corpus_load(corpus, path, i)) {
			free(corpus);
			return;
		}
		from = first_sync(corpus);
		if (from == corpus->size) {
			corpus_free(corpus);
			free(corpus);
			continue;
		}
		stream = &streams[n_streams++];
		memcpy(stream->name, corpus->name, sizeof(stream->name));
		stream->config = corpus->config;
		stream->bytes = corpus->bytes + from;
		stream->size = corpus->size - from;
		stream->images.find = flowtap_memory_find;
		stream->images.argument = corpus->memory;
		stream->corpus = corpus;
	}
}

/* Those that begin with an Alignment Sync. */
static void add_golden(const char *name)
{
	struct golden *golden = golden_load(name);
	struct stream *stream = &streams[n_streams];

	if (!golden || *golden->error || golden->stream[0] || n_streams == STREAMS) {
		free(golden);
		return;
	}
	n_streams++;
	snprintf(stream->name, sizeof(stream->name), "%s", name);
	stream->config = golden->config;
	stream->bytes = golden->stream;
	stream->size = golden->size;
	stream->images.find = golden_find;
	stream->images.argument = golden;
	stream->golden = golden;
}

static void add_goldens(void)
{
	DIR *directory = opendir(GOLDEN_DIRECTORY);
	struct dirent *entry;

	while (directory && (entry = readdir(directory)))
		if (strstr(entry->d_name, ".golden"))
			add_golden(entry->d_name);
	if (directory)
		closedir(directory);
}

static void free_streams(void)
{
	for (size_t i = 0; i < n_streams; i++) {
		if (streams[i].corpus)
			corpus_free(streams[i].corpus);
		free(streams[i].corpus);
		free(streams[i].golden);
	}
	memset(streams, 0, sizeof(streams));
	n_streams = 0;
}

/* --- Decoding. --- */

/* COPIES times, one of them the other bytes; marks: how many steps there were before each. */
static int decode(const struct stream *stream, struct flowtap_blocks *blocks, const uint8_t *damaged,
		  size_t size, struct recorder *recorder, size_t *marks)
{
	struct flowtap_ete *ete;
	int status;

	*recorder = (struct recorder) { .sink = { record_block, record_element } };
	status = flowtap_ete_new(&stream->config, NULL, &stream->images, blocks, &recorder->sink,
				 &ete);
	for (int i = 0; i < COPIES && !status; i++) {
		if (marks)
			marks[i] = recorder->n;
		if (damaged && i == DAMAGED)
			status = flowtap_ete_decode(ete, damaged, size);
		else
			status = flowtap_ete_decode(ete, stream->bytes, stream->size);
	}
	if (!status)
		status = flowtap_ete_finish(ete);
	flowtap_ete_free(ete);
	return status;
}

/* How many of the last steps are the same. */
static size_t same_end(const struct recorder *a, const struct recorder *b)
{
	size_t n = 0;

	while (n < a->n && n < b->n &&
	       !memcmp(&a->steps[a->n - 1 - n], &b->steps[b->n - 1 - n], sizeof(struct step)))
		n++;
	return n;
}

static size_t same_begin(const struct recorder *a, const struct recorder *b)
{
	size_t n = 0;

	while (n < a->n && n < b->n && !memcmp(&a->steps[n], &b->steps[n], sizeof(struct step)))
		n++;
	return n;
}

/* --- Damage. Each returns the new size; there is room for 64 bytes more. --- */

static size_t flip(uint8_t *bytes, size_t size)
{
	for (size_t n = 1 + below(3); n; n--)
		bytes[below(size)] ^= 1U << below(8);
	return size;
}

static size_t overwrite(uint8_t *bytes, size_t size)
{
	size_t at = below(size), n = 1 + below(32);

	for (; n && at < size; n--)
		bytes[at++] = below(3) ? random_next(&state) : 0;
	return size;
}

static size_t cut(uint8_t *bytes, size_t size)
{
	size_t at = below(size), n = 1 + below(below(4) ? 16 : size);

	if (n > size - at)
		n = size - at;
	memmove(bytes + at, bytes + at + n, size - at - n);
	return size - n;
}

static size_t insert(uint8_t *bytes, size_t size)
{
	size_t at = below(size + 1), n = 1 + below(64);

	memmove(bytes + at + n, bytes + at, size - at);
	for (size_t i = 0; i < n; i++)
		bytes[at + i] = below(4) ? random_next(&state) : 0;
	return size + n;
}

FIXTURE(damage)
{
	unsigned long rounds;
};

FIXTURE_VARIANT(damage)
{
	const char *corpus;
	const char *const *names;
	size_t n;
	bool goldens;
};

FIXTURE_VARIANT_ADD(damage, ete)
{
	.corpus = CORPUS_DIRECTORY,
	.names = corpus_names,
	.n = CORPUS_NAMES,
	.goldens = true,
};

static const char *const etm4_names[] = {
	"a55-test-tpiu", "a57_single_step", "armv8_1m_branches", "init-short-addr",
	"juno-ret-stck", "juno-uname-001",
};

FIXTURE_VARIANT_ADD(damage, etm4)
{
	.corpus = "../shared/corpus/etm4",
	.names = etm4_names,
	.n = sizeof(etm4_names) / sizeof(etm4_names[0]),
};

FIXTURE_SETUP(damage)
{
	const char *rounds = getenv("ETE_CORRUPT_ROUNDS");

	if (!variant->goldens && access(variant->corpus, R_OK))
		SKIP(return, "no %s", variant->corpus);
	state = test_seed * 2654435761U | 1;
	for (size_t i = 0; i < variant->n; i++)
		add_corpus(variant->corpus, variant->names[i]);
	if (variant->goldens)
		add_goldens();
	self->rounds = rounds ? strtoul(rounds, NULL, 0) : ROUNDS;
	ASSERT_GT(n_streams, 0);
}

FIXTURE_TEARDOWN(damage)
{
	free_streams();
}

struct counts {
	unsigned long rounds;
	unsigned long gaps;
};

static void try_stream(struct __test_metadata *_metadata, const struct stream *stream,
		       size_t (*damage)(uint8_t *bytes, size_t size), unsigned long rounds,
		       struct counts *counts)
{
	struct flowtap_blocks *blocks = flowtap_blocks_new(
		flowtap_ete_wfx_is_p0(&stream->config) ? flowtap_arm_block_wfx : flowtap_arm_block,
		0);
	uint8_t *bytes = malloc(stream->size + 64);
	struct recorder clean, damaged;
	size_t marks[COPIES], size, after;

	ASSERT_EQ(0, decode(stream, blocks, NULL, 0, &clean, marks));
	/* The last P0 element of one may come out with what follows it. */
	after = clean.n - marks[DAMAGED + 1];
	if (clean.n % COPIES)
		after -= after > 0;
	else
		after = clean.n / COPIES * (COPIES - DAMAGED - 1);
	for (unsigned long i = 0; i < rounds; i++) {
		memcpy(bytes, stream->bytes, stream->size);
		size = damage(bytes, stream->size);
		ASSERT_EQ(0, decode(stream, blocks, bytes, size, &damaged, NULL))
			TH_LOG("%s: seed %llu", stream->name, (unsigned long long)test_seed);
		EXPECT_GE(same_begin(&clean, &damaged), marks[DAMAGED])
			TH_LOG("%s: seed %llu: changed before the damage", stream->name,
			       (unsigned long long)test_seed);
		EXPECT_GE(same_end(&clean, &damaged), after)
			TH_LOG("%s: seed %llu: changed after the damage", stream->name,
			       (unsigned long long)test_seed);
		EXPECT_LE(damaged.n, clean.n + size * WORK);
		counts->rounds++;
		counts->gaps += damaged.gaps > clean.gaps;
		free(damaged.steps);
	}
	free(clean.steps);
	free(bytes);
	flowtap_blocks_free(blocks);
}

static void try_all(struct __test_metadata *_metadata, unsigned long rounds,
		    size_t (*damage)(uint8_t *bytes, size_t size))
{
	struct counts counts = { 0 };

	for (size_t i = 0; i < n_streams; i++)
		try_stream(_metadata, &streams[i], damage, rounds, &counts);
	TH_LOG("seed %llu: %zu streams, %lu times damaged, %lu with a gap",
	       (unsigned long long)test_seed, n_streams, counts.rounds, counts.gaps);
}

TEST_F_TIMEOUT(damage, flipped_bits_change_nothing_outside, 600)
{
	try_all(_metadata, self->rounds, flip);
}

TEST_F_TIMEOUT(damage, overwritten_bytes_change_nothing_outside, 600)
{
	try_all(_metadata, self->rounds, overwrite);
}

TEST_F_TIMEOUT(damage, missing_bytes_change_nothing_outside, 600)
{
	try_all(_metadata, self->rounds, cut);
}

TEST_F_TIMEOUT(damage, bytes_too_many_change_nothing_outside, 600)
{
	try_all(_metadata, self->rounds, insert);
}

TEST_HARNESS_MAIN
