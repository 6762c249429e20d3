// SPDX-License-Identifier: GPL-2.0-only
/*
 * What decoding ETE and ETMv4 costs, side by side with OpenCSD on the same streams: packets only, all of it
 * to a sink that does nothing, and to an STF. CPU time of this process, the fastest round of
 * several that take turns and the one in the middle; machine instructions as callgrind counts them.
 *
 *	ete [SNAPSHOT ...]		snapshot directories; none: those of the public corpus, and the
 *					long ones that the encoder made beside this program, ete.d and
 *					etm4.d
 *	ete --count ours|theirs SNAPSHOT	one pass after one that warms up, for callgrind
 *	ete --memory SNAPSHOT		1 GB, for the peak of memory
 */
#include <flowtap/ete_packet.h>
#include <flowtap/stf.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "opencsd.h"
#include "support/corpus.h"

#define ROUNDS 5
#define ROUND_SECONDS 0.25
#define RANGES 4096
#define COUNT_BYTES 50000	/* at most, of a stream under callgrind */
#define MEMORY_BYTES (1000UL * 1000 * 1000)

struct null_sink {
	struct flowtap_sink sink;
	uint64_t blocks;
	uint64_t elements;
};

/* A stream, and the code that it came by when it was first decoded. */
struct stream {
	struct corpus corpus;
	const struct flowtap_code *code[RANGES];
	size_t n_code;
};

struct ours {
	struct flowtap_blocks *blocks;
	struct flowtap_ete *ete;
	struct flowtap_stf *stf;
	struct null_sink null;
	int fd;
};

/* How long a pass over the stream takes, per round. */
struct measure {
	const char *name;
	void *state;
	int (*pass)(void *state, struct stream *stream);
	unsigned int passes;
	double seconds[ROUNDS];
};

static double cpu_seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void die(const char *what)
{
	fprintf(stderr, "ete: %s\n", what);
	exit(1);
}

static int null_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
		      uint64_t target)
{
	struct null_sink *null = (struct null_sink *)sink;

	(void)block;
	(void)taken;
	(void)target;
	null->blocks++;
	return 0;
}

static int null_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	struct null_sink *null = (struct null_sink *)sink;

	(void)element;
	null->elements++;
	return 0;
}

static const struct flowtap_code *find(void *argument, const struct flowtap_context *context,
				       uint64_t address)
{
	struct stream *stream = argument;
	const struct flowtap_code *code;
	size_t i = 0;

	code = flowtap_memory_find(stream->corpus.memory, context, address);
	while (code && i < stream->n_code && stream->code[i]->start != code->start)
		i++;
	if (code && code->bytes && i == stream->n_code && i < RANGES)
		stream->code[stream->n_code++] = code;
	return code;
}

static void ours_new(struct ours *ours, struct stream *stream, bool stf)
{
	struct flowtap_ete_images images = {
		.find = flowtap_memory_find, .argument = stream->corpus.memory,
	};
	struct flowtap_sink *sink = &ours->null.sink;

	*ours = (struct ours) { .fd = -1 };
	ours->null.sink = (struct flowtap_sink) { null_block, null_element };
	ours->blocks = corpus_blocks(&stream->corpus);
	if (stf) {
		struct flowtap_stf_options options = { .blocks = ours->blocks };

		ours->fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
		if (flowtap_stf_new(ours->fd, &options, &ours->stf))
			die("no STF");
		sink = flowtap_stf_sink(ours->stf);
	}
	if (flowtap_ete_new(&stream->corpus.config, NULL, &images, ours->blocks, sink, &ours->ete))
		die("no decoder");
}

/* Decodes once, to learn which code there is. */
static void learn(struct stream *stream)
{
	struct flowtap_ete_images images = { .find = find, .argument = stream };
	struct null_sink null = { .sink = { null_block, null_element } };
	struct flowtap_blocks *blocks = corpus_blocks(&stream->corpus);
	struct flowtap_ete *ete;

	if (flowtap_ete_new(&stream->corpus.config, NULL, &images, blocks, &null.sink, &ete) ||
	    flowtap_ete_decode(ete, stream->corpus.bytes, stream->corpus.size))
		die("decode");
	flowtap_ete_free(ete);
	flowtap_blocks_free(blocks);
}

static void ours_free(struct ours *ours)
{
	flowtap_ete_free(ours->ete);
	if (ours->stf)
		flowtap_stf_free(ours->stf);
	flowtap_blocks_free(ours->blocks);
	if (ours->fd >= 0)
		close(ours->fd);
}

/* --- A pass of each kind. Not inlined: callgrind counts what is inside. --- */

static __attribute__((noinline)) int pass_ours(void *state, struct stream *stream)
{
	struct ours *ours = state;

	return flowtap_ete_decode(ours->ete, stream->corpus.bytes, stream->corpus.size);
}

static __attribute__((noinline)) int pass_theirs(void *state, struct stream *stream)
{
	return reference_decode(state, stream->corpus.bytes, stream->corpus.size);
}

static __attribute__((noinline)) int pass_packets(void *state, struct stream *stream)
{
	const uint8_t *bytes = stream->corpus.bytes;
	struct flowtap_ete_parser parser;
	struct flowtap_ete_packet packet;
	size_t size = stream->corpus.size, used;
	uint64_t *packets = state;

	flowtap_ete_parser_init(&parser, &stream->corpus.config);
	while (size) {
		used = flowtap_ete_parse(&parser, bytes, size, &packet);
		if (!used)
			break;
		bytes += used;
		size -= used;
		++*packets;
	}
	return 0;
}

/* --- Rounds. --- */

static int ascending(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double run(struct measure *measure, struct stream *stream)
{
	double start = cpu_seconds();

	for (unsigned int i = 0; i < measure->passes; i++)
		if (measure->pass(measure->state, stream))
			die(measure->name);
	return (cpu_seconds() - start) / measure->passes;
}

/* How many passes a round has, so that it is long enough to be measured. */
static void warm_up(struct measure *measure, struct stream *stream)
{
	double seconds;

	measure->passes = 1;
	run(measure, stream);
	while ((seconds = run(measure, stream) * measure->passes) < ROUND_SECONDS / 4)
		measure->passes *= 2;
	measure->passes = (unsigned int)(measure->passes * ROUND_SECONDS / seconds) + 1;
}

static void run_rounds(struct measure *measures, size_t n, struct stream *stream)
{
	for (size_t i = 0; i < n; i++)
		warm_up(&measures[i], stream);
	for (int round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < n; i++)
			measures[i].seconds[round] = run(&measures[i], stream);
	for (size_t i = 0; i < n; i++)
		qsort(measures[i].seconds, ROUNDS, sizeof(double), ascending);
}

/* Each by what it did itself in a pass. Where that differs they cannot be compared. */
static void print(const struct measure *ours, const struct measure *theirs, uint64_t our_amount,
		  uint64_t their_amount, const char *unit)
{
	double amount = (double)our_amount / 1e6;

	printf("  %-14s ours %9.1f (%9.1f) %s   OpenCSD ", ours->name, amount / ours->seconds[0],
	       amount / ours->seconds[ROUNDS / 2], unit);
	if (our_amount != their_amount)
		printf("not the same work: %llu of %llu\n", (unsigned long long)their_amount,
		       (unsigned long long)our_amount);
	else
		printf("%7.1f (%7.1f)   %5.1f times\n", amount / theirs->seconds[0],
		       amount / theirs->seconds[ROUNDS / 2],
		       theirs->seconds[ROUNDS / 2] / ours->seconds[ROUNDS / 2]);
}

/* Instructions of one more pass: the first one began without a position. */
static uint64_t count_ours(struct ours *ours, struct stream *stream)
{
	uint64_t before = flowtap_ete_counts(ours->ete)->instructions;

	pass_ours(ours, stream);
	return flowtap_ete_counts(ours->ete)->instructions - before;
}

static uint64_t count_theirs(struct reference *theirs, struct stream *stream)
{
	uint64_t before = theirs->instructions;

	pass_theirs(theirs, stream);
	return theirs->instructions - before;
}

/*
 * Machine instructions for each decoded one of one pass, after one that warms up; 0: valgrind is
 * not there.
 */
static double count(const char *which, const char *directory)
{
	char command[1024], line[512], path[256] = "";
	double machine = 0, instructions = 0;
	FILE *pipe;

	if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
		return 0;
	snprintf(command, sizeof(command),
		 "valgrind --tool=callgrind --callgrind-out-file=/dev/null --collect-atstart=no "
		 "--toggle-collect=pass_%s '%s' --count %s '%s' 2>&1", which, path, which, directory);
	pipe = popen(command, "r");
	while (pipe && fgets(line, sizeof(line), pipe)) {
		if (strstr(line, "Collected : "))
			machine = strtod(strstr(line, "Collected : ") + 12, NULL);
		if (strstr(line, "decoded "))
			instructions = strtod(strstr(line, "decoded ") + 8, NULL);
	}
	if (pipe)
		pclose(pipe);
	return instructions > 0 ? machine / instructions : 0;
}

static void set_up(struct stream *stream, struct ours *ours, bool stf, struct reference *theirs)
{
	ours_new(ours, stream, stf);
	if (flowtap_ete_decode(ours->ete, stream->corpus.bytes, stream->corpus.size))
		die("decode");
	if (!theirs)
		return;
	learn(stream);
	if (reference_new(theirs, &stream->corpus.config, false))
		die("OpenCSD has no decoder");
	for (size_t i = 0; i < stream->n_code; i++)
		reference_memory(theirs, stream->code[i]->start, stream->code[i]->bytes,
				 stream->code[i]->end - stream->code[i]->start);
}

static int load(struct stream *stream, const char *directory)
{
	memset(stream, 0, sizeof(*stream));
	return corpus_load(&stream->corpus, directory, 0);
}

static void bench(const char *directory)
{
	static struct stream stream;
	struct reference theirs, their_packets;
	struct ours ours, stf;
	uint64_t packets = 0, instructions, decoded;
	double our_count, their_count;

	if (load(&stream, directory)) {
		printf("%s: not there\n", directory);
		return;
	}
	set_up(&stream, &ours, false, &theirs);
	set_up(&stream, &stf, true, NULL);
	if (reference_new(&their_packets, &stream.corpus.config, true))
		die("OpenCSD has no packet processor");
	struct measure measures[] = {
		{ .name = "packets only", .state = &packets, .pass = pass_packets },
		{ .name = "OpenCSD", .state = &their_packets, .pass = pass_theirs },
		{ .name = "full decode", .state = &ours, .pass = pass_ours },
		{ .name = "OpenCSD", .state = &theirs, .pass = pass_theirs },
		{ .name = "to .stf", .state = &stf, .pass = pass_ours },
	};

	run_rounds(measures, sizeof(measures) / sizeof(measures[0]), &stream);
	instructions = count_ours(&ours, &stream);
	decoded = count_theirs(&theirs, &stream);
	printf("%s: %zu bytes, %llu instructions\n", stream.corpus.name, stream.corpus.size,
	       (unsigned long long)instructions);
	print(&measures[0], &measures[1], stream.corpus.size, stream.corpus.size, "MB/s");
	if (instructions) {
		print(&measures[2], &measures[3], instructions, decoded, "M instructions/s");
		print(&measures[4], &measures[3], instructions, decoded, "M instructions/s");
		our_count = count("ours", directory);
		their_count = count("theirs", directory);
		printf("  machine instructions for each: ours %.2f, OpenCSD %.1f\n",
		       our_count, their_count);
	}
	reference_free(&theirs);
	reference_free(&their_packets);
	ours_free(&ours);
	ours_free(&stf);
	corpus_free(&stream.corpus);
}

static int count_passes(const char *which, const char *directory)
{
	static struct stream stream;
	struct reference theirs;
	struct ours ours;

	if (load(&stream, directory))
		return 1;
	if (stream.corpus.size > COUNT_BYTES)
		stream.corpus.size = COUNT_BYTES;
	set_up(&stream, &ours, false, &theirs);
	if (!strcmp(which, "theirs")) {
		reference_decode(&theirs, stream.corpus.bytes, stream.corpus.size);
		printf("decoded %llu\n", (unsigned long long)count_theirs(&theirs, &stream));
	} else {
		printf("decoded %llu\n", (unsigned long long)count_ours(&ours, &stream));
	}
	return 0;
}

/* 1 GB, the same stream again and again. */
static int peak(const char *directory)
{
	static struct stream stream;
	struct rusage before, after;
	struct ours ours;
	uint64_t bytes = 0;

	if (load(&stream, directory))
		return 1;
	ours_new(&ours, &stream, false);
	getrusage(RUSAGE_SELF, &before);
	for (; bytes < MEMORY_BYTES; bytes += stream.corpus.size)
		if (pass_ours(&ours, &stream))
			return 1;
	getrusage(RUSAGE_SELF, &after);
	printf("%s, again and again, %.1f GB: memory %.1f MB before, %.1f MB at most\n",
	       stream.corpus.name, (double)bytes / 1e9, (double)before.ru_maxrss / 1e3,
	       (double)after.ru_maxrss / 1e3);
	return 0;
}

static void in_child(int (*work)(const char *directory), const char *directory)
{
	pid_t child;

	fflush(stdout);
	child = fork();
	if (!child) {
		work(directory);
		fflush(stdout);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
	static const char *const names[] = {
		"001-ack_test", "002-ack_test_scr", "trace_file_vmid", "src_addr",
	};
	static const char *const mades[] = { "etm4.d", "ete.d" };
	char path[512], made[400] = "", *end;

	if (argc == 4 && !strcmp(argv[1], "--count"))
		return count_passes(argv[2], argv[3]);
	if (argc == 3 && !strcmp(argv[1], "--memory"))
		return peak(argv[2]);
	setlinebuf(stdout);
	printf("OpenCSD %s; per CPU second, the best of %d rounds that take turns (the middle one)\n",
	       ocsd_get_version_str(), ROUNDS);
	for (int i = 1; i < argc; i++)
		bench(argv[i]);
	for (size_t i = 0; argc == 1 && i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), CORPUS_DIRECTORY "/%s", names[i]);
		bench(path);
	}
	if (argc == 1 && readlink("/proc/self/exe", made, sizeof(made) - 8) > 0) {
		end = strrchr(made, '/') + 1;
		for (size_t i = 0; i < sizeof(mades) / sizeof(mades[0]); i++) {
			strcpy(end, mades[i]);
			bench(made);
		}
	}
	snprintf(path, sizeof(path), CORPUS_DIRECTORY "/%s", names[0]);
	in_child(peak, argc > 1 ? argv[argc - 1] : access(path, R_OK) ? made : path);
	return 0;
}
