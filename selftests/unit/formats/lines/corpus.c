// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that samples which real readers take without complaint are what the writers of Tarmac and
 * QEMU4V make of the same program, line for line, but for what no flow knows: registers other than
 * a call's return address, and memory. And that a decoded trace reads like the log of the machine
 * that made it.
 */
#include <flowtap/arm.h>
#include <flowtap/ete.h>
#include <flowtap/qemu4v.h>
#include <flowtap/riscv.h>
#include <flowtap/snapshot.h>
#include <flowtap/tarmac.h>

#include "support/corpus.h"
#include "support/sink.h"
#include "support/ttu.h"

#include <fcntl.h>
#include <inttypes.h>

#include "support/kselftest_harness.h"

#define SAMPLES "../shared/corpus/tarmac/"
#define CAPACITY	4096	/* bytes of code a sample may span */
#define STEPS	512

/* One thing that a sample says happened. */
struct step {
	enum { INSTRUCTION, GAP, EXCEPTION_OWN, EXCEPTION_IRQ, EXCEPTION_FETCH } kind;
	uint64_t address;
	uint64_t target;	/* of its BR line */
	uint8_t size;
};

struct sample {
	char *text;
	uint64_t base;
	uint8_t code[CAPACITY];
	char disassembly[CAPACITY / 2][48];
	struct step steps[STEPS];
	size_t n;
	enum flowtap_isa isa;
};

static char *read_sample(const char *name)
{
	char path[200];
	FILE *file;
	char *text = calloc(1, 65536);

	snprintf(path, sizeof(path), SAMPLES "%s", name);
	file = fopen(path, "r");
	if (!file || !text || !fread(text, 1, 65535, file))
		abort();
	fclose(file);
	return text;
}

static void add_step(struct sample *sample, int kind, uint64_t address, size_t size)
{
	if (sample->n == STEPS)
		abort();
	sample->steps[sample->n++] = (struct step){
		.kind = kind, .address = address, .size = size,
	};
}

static void add_instruction(struct sample *sample, uint64_t address, const char *opcode,
			    const char *text)
{
	uint32_t word = strtoul(opcode, NULL, 16);
	size_t size = strlen(opcode) / 2, at;

	if (!sample->base)
		sample->base = address & ~(uint64_t)0xfff;
	at = address - sample->base;
	if (at > CAPACITY - 4)
		abort();
	if (sample->isa == FLOWTAP_ISA_T32 && size == 4)
		word = word >> 16 | word << 16;
	memcpy(sample->code + at, &word, size);
	snprintf(sample->disassembly[at / 2], sizeof(sample->disassembly[0]), "%s", text);
	add_step(sample, INSTRUCTION, address, size);
}

/* The first character of what is at the line's end, after the colon and spaces. */
static const char *text_of(const char *line)
{
	const char *colon = strrchr(line, ':');

	colon = strstr(line, "ns:") ? strstr(line, "ns:") + 2 : colon;
	return colon + 1 + strspn(colon + 1, " ");
}

static void read_line(struct sample *sample, const char *line)
{
	char opcode[16] = "", text[64] = "";
	uint64_t address;

	if (sscanf(line, " BR (%" SCNx64 ")", &address) == 1) {
		sample->steps[sample->n - 1].target = address;
	} else if (strstr(line, "TraceGap")) {
		add_step(sample, GAP, 0, 0);
	} else if (strstr(line, "ES  EXC")) {
		add_step(sample, EXCEPTION_IRQ, 0, 0);
	} else if (sscanf(line, "%*u clk ES (%" SCNx64 ":%8[0-9a-f])", &address, opcode) == 2) {
		snprintf(text, sizeof(text), "%s", text_of(line));
		add_instruction(sample, address, opcode, text);
	} else if (sscanf(line, "%*u clk ES (%" SCNx64 ":----", &address) == 1) {
		add_step(sample, EXCEPTION_FETCH, address, 0);
	} else if ((strstr(line, " EXC [") || strstr(line, "CoreEvent_")) &&
		   sample->steps[sample->n - 1].kind == INSTRUCTION) {
		const struct step *last = &sample->steps[sample->n - 1];

		add_step(sample, EXCEPTION_OWN, last->address + last->size, 0);
	} else if (sscanf(line, "%*u clk IT (%*u) %" SCNx64 " %8[0-9a-f]", &address, opcode) == 2 ||
		   sscanf(line, "%*u clk 0 IT (%*u) %" SCNx64 " %8[0-9a-f]", &address,
			  opcode) == 2) {
		snprintf(text, sizeof(text), "%s", strstr(line, " : ") + 3);
		add_instruction(sample, address, opcode, text);
	}
}

static struct sample *read_steps(const char *name, enum flowtap_isa isa)
{
	struct sample *sample = calloc(1, sizeof(*sample));
	char *copy, *save, *line;

	sample->isa = isa;
	sample->text = read_sample(name);
	copy = strdup(sample->text);
	for (line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		read_line(sample, line);
	free(copy);
	return sample;
}

static size_t say(void *argument, enum flowtap_isa isa, uint8_t it, uint64_t address,
		  const uint8_t *bytes, size_t size, char *text, size_t capacity)
{
	const struct sample *sample = argument;

	(void)isa, (void)it, (void)bytes, (void)size;
	return snprintf(text, capacity, "%s", sample->disassembly[(address - sample->base) / 2]);
}

static int put_exception(struct flowtap_sink *sink, const struct step *step, uint64_t pc)
{
	static const int numbers[] = { [EXCEPTION_OWN] = 2, [EXCEPTION_IRQ] = 14,
				       [EXCEPTION_FETCH] = 11 };

	return sink_exception(sink, numbers[step->kind], step->address ? step->address : pc);
}

/* How many instructions follow each other from `from` on. */
static size_t straight(const struct sample *sample, size_t from)
{
	size_t n = 1;

	while (from + n < sample->n && sample->steps[from + n].kind == INSTRUCTION &&
	       sample->steps[from + n].address == sample->steps[from + n - 1].address +
						  sample->steps[from + n - 1].size)
		n++;
	return n;
}

/* What the sample says happened, as a flow. */
static int play(const struct sample *sample, uint8_t mode, uint8_t security,
		struct flowtap_sink *sink)
{
	struct flowtap_code code = {
		.start = sample->base, .end = sample->base + CAPACITY, .bytes = sample->code,
		.until = UINT64_MAX, .key = 1,
	};
	struct flowtap_blocks *blocks = flowtap_blocks_new(sample->isa == FLOWTAP_ISA_RV64 ?
					flowtap_riscv_block : flowtap_arm_block, 0);
	const struct flowtap_context context = {
		.isa = sample->isa, .mode = mode, .security = security,
	};
	int error = sink_element(sink, (struct flowtap_element){
		.kind = FLOWTAP_ELEMENT_CONTEXT, .context = context });
	struct flowtap_block *block;
	uint64_t pc = 0;

	for (size_t i = 0; i < sample->n && !error; ) {
		const struct step *step = &sample->steps[i], *end, *next;

		if (step->kind != INSTRUCTION) {
			error = step->kind == GAP ? sink_gap(sink, FLOWTAP_GAP_OVERFLOW) :
						    put_exception(sink, step, pc);
			i++;
			continue;
		}
		end = step + straight(sample, i) - 1;
		error = flowtap_blocks_get(blocks, &code, sample->isa, step->address,
					   end->address + end->size, &block);
		if (error)
			break;
		i += block->instructions;
		step += block->instructions - 1;
		pc = block->address + block->size;
		next = &sample->steps[i];
		if (i < sample->n && next->kind == INSTRUCTION && next->address != pc)
			error = sink_block(sink, block, true, next->address);
		else if (step->target && i < sample->n && step->target != pc)
			error = sink_block(sink, block, true, step->target);
		else
			error = sink_block(sink, block, false, pc);
		pc = step->target ? step->target : pc;
	}
	/* Blocks live as long as what was rendered is needed: until here. */
	flowtap_blocks_free(blocks);
	return error;
}

/* Whether a flow can know that: registers only of calls, no memory. `before`: the line before. */
static bool can_know(const char *line, const char *before, bool sp)
{
	static const char *const calls[] = { "BL ", "BLR ", "jal ", NULL };

	if (strstr(line, " LD 0") || strstr(line, " ST 0"))
		return false;
	if (!strstr(line, " R "))
		return true;
	if (strstr(line, " SP_EL1 ") || strstr(line, " R sp "))
		return sp;
	if (!strstr(line, " X30 ") && !strstr(line, " LR ") && !strstr(line, " R ra "))
		return false;
	for (size_t i = 0; calls[i]; i++) {
		if (strstr(before, calls[i]))
			return true;
	}
	return false;
}

/* The sample without what no flow knows. Of the models' E line the address is another one. */
static char *knowable(const char *text, bool sp)
{
	char *copy = strdup(text), *out = calloc(1, strlen(text) + 2), *save, *line;
	char insn[200] = "";

	for (line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (strstr(line, " ES  (") || strstr(line, " IT ("))
			snprintf(insn, sizeof(insn), "%s", line);
		if (!can_know(line, insn, sp))
			continue;
		if (strstr(line, "CoreEvent_"))
			memset(strstr(line, " E ") + 3, 'x', 16);
		strcat(strcat(out, line), "\n");
	}
	free(copy);
	return out;
}

FIXTURE(sample)
{
	struct output output;
	struct sample *sample;
};

FIXTURE_VARIANT(sample)
{
	const char *name;
	enum flowtap_isa isa;
	uint8_t mode;
	uint8_t security;
	enum flowtap_tarmac_dialect dialect;
	bool qemu4v;
	bool sp;
};

FIXTURE_SETUP(sample)
{
	char path[200];

	snprintf(path, sizeof(path), SAMPLES "%s", variant->name);
	if (access(path, R_OK))
		SKIP(return, "no %s", path);
	self->output = output_new();
	self->sample = read_steps(variant->name, variant->isa);
}

FIXTURE_TEARDOWN(sample)
{
	if (!self->sample)
		return;
	output_free(&self->output);
	free(self->sample->text);
	free(self->sample);
}

FIXTURE_VARIANT_ADD(sample, a32) { .name = "a32.tarmac", .isa = FLOWTAP_ISA_A32, .mode = 1,
	.security = FLOWTAP_SECURE, .dialect = FLOWTAP_TARMAC_STRICT };
FIXTURE_VARIANT_ADD(sample, t32) { .name = "t32.tarmac", .isa = FLOWTAP_ISA_T32, .mode = 1,
	.security = FLOWTAP_SECURE };
FIXTURE_VARIANT_ADD(sample, events) { .name = "a64_es_events.tarmac", .isa = FLOWTAP_ISA_A64,
	.mode = 1 };
FIXTURE_VARIANT_ADD(sample, full) { .name = "a64_es_full.tarmac", .isa = FLOWTAP_ISA_A64,
	.mode = 1 };
FIXTURE_VARIANT_ADD(sample, recommended) { .name = "a64_es_recommended.tarmac",
	.isa = FLOWTAP_ISA_A64, .mode = 1, .sp = true };
FIXTURE_VARIANT_ADD(sample, model) { .name = "a64_it_recommended.tarmac", .isa = FLOWTAP_ISA_A64,
	.mode = 1, .dialect = FLOWTAP_TARMAC_FVP, .sp = true };
FIXTURE_VARIANT_ADD(sample, qemu4v) { .name = "qemu4v_rv64.log", .isa = FLOWTAP_ISA_RV64,
	.mode = 1, .qemu4v = true, .sp = true };

static int write_tarmac(const struct flowtap_lines_options *lines,
			enum flowtap_tarmac_dialect dialect, const struct sample *sample,
			uint8_t mode, uint8_t security, int fd)
{
	const struct flowtap_tarmac_options options = { .lines = *lines, .dialect = dialect };
	struct flowtap_tarmac *tarmac;
	int error = flowtap_tarmac_new(fd, &options, &tarmac);

	if (!error)
		error = play(sample, mode, security, flowtap_tarmac_sink(tarmac));
	if (!error)
		error = flowtap_tarmac_finish(tarmac);
	flowtap_tarmac_free(tarmac);
	return error;
}

static int write_qemu4v(const struct flowtap_lines_options *lines, const struct sample *sample,
			uint8_t mode, int fd)
{
	const struct flowtap_qemu4v_options options = { .lines = *lines };
	struct flowtap_qemu4v *qemu4v;
	int error = flowtap_qemu4v_new(fd, &options, &qemu4v);

	if (!error)
		error = play(sample, mode, 0, flowtap_qemu4v_sink(qemu4v));
	if (!error)
		error = flowtap_qemu4v_finish(qemu4v);
	flowtap_qemu4v_free(qemu4v);
	return error;
}

TEST_F(sample, is_what_the_writer_makes_of_its_program)
{
	struct flowtap_lines_options lines = {
		.disassemble = say, .argument = self->sample, .synthetic_sp = variant->sp,
	};
	char *want = knowable(self->sample->text, variant->sp), *seen;
	const char *remark = " (SP is synthetic)";

	ASSERT_LT(2, self->sample->n);
	ASSERT_EQ(0, variant->qemu4v ?
		  write_qemu4v(&lines, self->sample, variant->mode, self->output.fd) :
		  write_tarmac(&lines, variant->dialect, self->sample, variant->mode,
			       variant->security, self->output.fd));
	output_read(&self->output);
	/* That the stack pointer is invented no sample says. */
	seen = (char *)self->output.bytes;
	if (strstr(seen, remark))
		memmove(strstr(seen, remark), strstr(seen, remark) + strlen(remark),
			strlen(strstr(seen, remark) + strlen(remark)) + 1);
	if (!strncmp(seen, "0 clk E DebugEvent_SyntheticSP\n", 31))
		memmove(seen, seen + 31, strlen(seen + 31) + 1);
	seen = knowable(seen, variant->sp);
	EXPECT_STREQ(want, seen);
	free(want);
	free(seen);
}

/* Nothing was left out of these: they are equal byte for byte. */
TEST(three_samples_are_equal_to_the_last_byte)
{
	static const struct {
		const char *name;
		enum flowtap_isa isa;
		uint8_t security;
		enum flowtap_tarmac_dialect dialect;
	} samples[] = {
		{ "a64_es_events.tarmac", FLOWTAP_ISA_A64, FLOWTAP_NONSECURE, FLOWTAP_TARMAC_ES },
		{ "t32.tarmac", FLOWTAP_ISA_T32, FLOWTAP_SECURE, FLOWTAP_TARMAC_ES },
		{ "a32.tarmac", FLOWTAP_ISA_A32, FLOWTAP_SECURE, FLOWTAP_TARMAC_STRICT },
	};

	if (access(SAMPLES, R_OK))
		SKIP(return, "no " SAMPLES);
	for (size_t i = 0; i < 3; i++) {
		struct sample *sample = read_steps(samples[i].name, samples[i].isa);
		const struct flowtap_lines_options lines = {
			.disassemble = say, .argument = sample,
		};
		struct output output = output_new();
		struct ttu ttu = { 0 };

		ASSERT_EQ(0, write_tarmac(&lines, samples[i].dialect, sample, 1,
					  samples[i].security, output.fd));
		output_read(&output);
		EXPECT_STREQ(sample->text, (char *)output.bytes);
		EXPECT_TRUE(ttu_check(&ttu, (char *)output.bytes, output.size));
		output_free(&output);
		free(sample->text);
		free(sample);
	}
}

/* --- The log of a model of Arm's, and the trace that it made at the same time. --- */

#define MODEL CORPUS_DIRECTORY "/002-ack_test_scr"
#define LOG_LINES 30000

/* A line without its numbers and its text: what was executed, how, or left in X30. */
struct fact {
	char text[80];
};

/* From a line of a model's log, of ours too: false if it says nothing that a flow knows. */
static bool fact_of(const char *line, struct fact *fact, bool called)
{
	char word[8], address[40], opcode[16], isa[4], mode[16], value[40];

	if (sscanf(line, "%*u clk cpu0 %7s (%*u) %39s %15s %3s %15s :", word, address, opcode, isa,
		   mode) == 5 ||
	    sscanf(line, "%*u clk %7s (%*u) %39s %15s %3s %15s :", word, address, opcode, isa,
		   mode) == 5) {
		address[strcspn(address, ":")] = '\0';
		snprintf(fact->text, sizeof(fact->text), "%s %" PRIx64 " %s %s %s", word,
			 (uint64_t)strtoull(address, NULL, 16), opcode, isa, mode);
		return true;
	}
	if (called && (sscanf(line, "%*u clk cpu0 R X30 %39s", value) == 1 ||
		       sscanf(line, "%*u clk R X30 %39s", value) == 1)) {
		snprintf(fact->text, sizeof(fact->text), "R X30 %" PRIx64,
			 (uint64_t)strtoull(value, NULL, 16));
		return true;
	}
	return false;
}

static size_t read_facts(FILE *file, struct fact *facts, size_t capacity)
{
	char line[512];
	bool called = false;
	size_t n = 0;

	while (n < capacity && fgets(line, sizeof(line), file)) {
		if (!fact_of(line, &facts[n], called))
			continue;
		/* BL and BLR. */
		if (strstr(line, " I"))
			called = strstr(line, " 97f") || strstr(line, " 940") ||
				 strstr(line, " d63f");
		n++;
	}
	return n;
}

/* A call whose R X30 the model wrote late, or not at all. */
static bool is_link(const struct fact *fact)
{
	return fact->text[0] == 'R';
}

TEST(a_decoded_trace_reads_like_the_log_of_the_model_that_made_it)
{
	const struct flowtap_tarmac_options options = {
		.dialect = FLOWTAP_TARMAC_FVP, .lines = { .untaken_skipped = true },
	};
	struct fact *log, *ours;
	struct output output = output_new();
	struct flowtap_tarmac *tarmac;
	struct flowtap_blocks *blocks;
	struct flowtap_ete_images images = { .find = flowtap_memory_find };
	struct flowtap_ete *ete;
	struct corpus corpus;
	size_t n, m, at = 0, links = 0, instructions = 0, skipped = 0;
	FILE *file;

	if (access(MODEL, R_OK))
		SKIP(return, "no " MODEL);
	ASSERT_EQ(0, corpus_load(&corpus, MODEL, 0));
	images.argument = corpus.memory;
	blocks = corpus_blocks(&corpus);
	ASSERT_EQ(0, flowtap_tarmac_new(output.fd, &options, &tarmac));
	ASSERT_EQ(0, flowtap_ete_new(&corpus.config, NULL, &images, blocks,
				     flowtap_tarmac_sink(tarmac), &ete));
	ASSERT_EQ(0, flowtap_ete_session(ete));
	ASSERT_EQ(0, flowtap_ete_decode(ete, corpus.bytes, corpus.size));
	ASSERT_EQ(0, flowtap_ete_finish(ete));
	ASSERT_EQ(0, flowtap_tarmac_finish(tarmac));
	EXPECT_EQ(5146, flowtap_tarmac_counts(tarmac)->instructions);
	log = calloc(2 * LOG_LINES, sizeof(*log));
	ours = calloc(2 * LOG_LINES, sizeof(*ours));
	file = popen("gzip -dc " MODEL "/test_TARMAC.gz", "r");
	n = read_facts(file, log, 2 * LOG_LINES);
	pclose(file);
	lseek(output.fd, 0, SEEK_SET);
	file = fdopen(dup(output.fd), "r");
	m = read_facts(file, ours, 2 * LOG_LINES);
	fclose(file);
	ASSERT_LT(20000, n);
	/* In three pieces: whatever the log has between them was not traced. */
	for (size_t i = 0; i < m; i++) {
		if (is_link(&ours[i])) {
			/* The model has it after the call, if it logged it before another thing. */
			links++;
			if (at < n && is_link(&log[at]))
				EXPECT_STREQ(log[at++].text, ours[i].text);
			continue;
		}
		while (at < n && is_link(&log[at]))
			at++;
		while (at < n && strcmp(log[at].text, ours[i].text))
			at++;
		ASSERT_GT(n, at)
			TH_LOG("instruction %zu is not in the log: %s", instructions, ours[i].text);
		instructions++;
		skipped += !strncmp(ours[i].text, "IS", 2);
		at++;
	}
	EXPECT_EQ(5146, instructions);
	EXPECT_LT(100, skipped);
	EXPECT_LT(50, links);
	flowtap_ete_free(ete);
	flowtap_tarmac_free(tarmac);
	flowtap_blocks_free(blocks);
	corpus_free(&corpus);
	output_free(&output);
	free(log);
	free(ours);
}

TEST_HARNESS_MAIN
