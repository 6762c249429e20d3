// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that the Tarmac writer never writes what real readers reject, what it refuses, and what it
 * writes of what is at the edge: before the first instruction, too long, shared with others.
 */
#include "writer_fixture.h"

/*
 * --- What readers reject (facts of running them), one by one: the checker would find it, and ...
 * ---
 */

#define ES "1 clk ES  (0000000000000000:d503201f) O el1h_ns: NOP\n"

/* Whether the checker takes a trace of these lines in columns after the header. */
static bool takes(const char *lines)
{
	struct ttu ttu = { 0 };
	char text[1024];
	int size = snprintf(text, sizeof(text), HEADER "%s", lines);

	return ttu_check(&ttu, text, (size_t)size);
}

static bool takes_rows(const char *lines)
{
	struct ttu ttu = { .rows = true };

	return ttu_check(&ttu, lines, strlen(lines));
}

TEST(the_checker_finds_what_readers_reject)
{
	static const char *const bad[] = {
		"1 s ES  (0000000000000000:d503201f) O el1h_ns: NOP\n",
		"1 ms ES  (0000000000000000:d503201f) O el1h_ns: NOP\n",
		"1 fs ES  (0000000000000000:d503201f) O el1h_ns: NOP\n",
		"1 us ES  (0000000000000000:d503201f) O el1h_ns: NOP\n",
		"-----------     ES  (0000000000000000:d503201f) O el1h_ns: NOP\n",
		"1 clk ES  IRQ\n",
		"1 clk ES  System Error (Abort)\n",
		"1 clk IT (0000000000000000:d503201f) O el1h_ns: NOP\n",
		"1 clk ES  (00000000:e320f000) E svc_ns: NOP\n",
		"1 clk ES  (0000000000000000:d503201f) X el1h_ns: NOP\n",
		ES "                    LA 0000000000000000 00000000 00000000 00000000 00000000\n",
		ES "                    ST 0000000000000000 000000\n",
		"1 clk ES  (0000000000000000:d503201f) O el1h_ns: {pc}\n",
		"1 clk ES  (0000000000000000:d503201f) O el1h_ns: ; nop\n",
		"1 clk ES  (0000000000000000:d503201f) O el1h_ns: ?\n",
		"1 clk ES  (0000000000000000:d503201f) O el1h_ns: \"nop\"\n",
		"1 clk ES  (0000000000000000:d503201f) O el1h_ns: *nop\n",
		"1 clk ES  (0000000000000000:d503201f) O el1h_ns:\n",
		"// a comment\n", "; a comment\n", "* a comment\n", "\n", ES "\n",
		"1 clk ES  (00000000:e320f000) A hyp ns: NOP\n",
		ES "                    R X30 1\n",
		ES ES,
		"1 clk ES  (0000000000000000:d503201f) O el1h_ns: NOP",
		"1 clk ES  (000000000000000:d503201f) O el1h_ns: NOP\n",
	};

	EXPECT_TRUE(takes(ES));
	EXPECT_TRUE(takes("1 clk ES  EXC [0x280] IRQ/vIRQ Current EL with SP_ELx\n"));
	EXPECT_TRUE(takes(ES "2 clk E DebugEvent_TraceGap overflow\n"));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		EXPECT_FALSE(takes(bad[i]))
			TH_LOG("%s", bad[i]);
	}
	EXPECT_TRUE(takes_rows("1 clk IT (1) 0000000000000000 d503201f O EL1h_n : NOP\n"));
	EXPECT_FALSE(takes_rows(HEADER "1 clk IT (1) 0000000000000000 d503201f O EL1h_n : NOP\n"));
	EXPECT_FALSE(takes_rows("1 clk IT (1) 0000000000000000 d503201f O EL1h_n NOP\n"));
	EXPECT_FALSE(takes_rows("1 clk IT (1) 00000000 d503201f O EL1h_n : NOP\n"));
}

/* One block, disassembled as `text`; the end of its line, to be freed. */
static char *disassembled(const char *text, enum flowtap_tarmac_dialect dialect)
{
	const struct flowtap_tarmac_options options = {
		.dialect = dialect,
		.lines = { .disassemble = named, .argument = (void *)(uintptr_t)text },
	};
	struct run run = run_new(&options);
	struct ttu ttu = { .rows = run.rows };
	char *end;

	CONTEXT(&run, A64, 1);
	block(&run, MOVE, false, 0x210804);
	flowtap_tarmac_finish(run.tarmac);
	output_read(&run.output);
	end = strdup("not taken");
	if (!run.worst && ttu_check(&ttu, (char *)run.output.bytes, run.output.size)) {
		free(end);
		end = strdup(strstr((char *)run.output.bytes, run.rows ? " : " : ":   "));
	}
	run_free(&run);
	return end;
}

TEST_F(dialect, a_disassembly_begins_as_readers_take_it_and_is_one_line)
{
	static const struct {
		const char *text;
		const char *want;	/* NULL: the opcode */
	} texts[] = {
		{ "MOV      x0, #0x3", "MOV      x0, #0x3\n" }, { ".inst 0x0", ".inst 0x0\n" },
		{ "<unknown>", "<unknown>\n" }, { "9", "9\n" }, { "a  \t", "a\n" },
		{ "BL 21081c\nBL 210820", "BL 21081c\n" }, { "a\tb\x01\xe4", "a b??\n" },
		{ "{pc}+8", NULL }, { "; x", NULL }, { "? x", NULL }, { "\"x\"", NULL },
		{ "*x", NULL }, { "", NULL }, { " x", NULL }, { "\n", NULL }, { "\xe4", NULL },
		{ "// x", NULL },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char *end = disassembled(texts[i].text, variant->dialect);
		const char *want = texts[i].want ? texts[i].want : ".inst 0xd2800060\n";

		EXPECT_STREQ(want, end + strspn(end, ": ")) TH_LOG("%s", texts[i].text);
		free(end);
	}
}

TEST_F(dialect, a_long_disassembly_is_cut)
{
	char text[251], *end;

	memset(text, 'x', sizeof(text) - 1);
	text[250] = '\0';
	end = disassembled(text, variant->dialect);
	EXPECT_EQ(121, strlen(end + strspn(end, ": ")));
	free(end);
}

/* A detail of a gap may be any text: it never begins a line, and ends within what gem5 reads. */
TEST_F(dialect, no_line_is_longer_than_readers_take)
{
	struct run run = run_new(&self->options);
	struct ttu ttu = { .rows = run.rows };
	static char detail[8000];

	memset(detail, 'x', sizeof(detail) - 1);
	CONTEXT(&run, A64, 1);
	block(&run, MOVE, false, 0x210804);
	ELEMENT(&run, FLOWTAP_ELEMENT_GAP, .gap = {
		.reason = FLOWTAP_GAP_NO_CODE, .detail = detail });
	block(&run, MOVE, false, 0x210804);
	EXPECT_EQ(0, run.worst);
	EXPECT_EQ(0, flowtap_tarmac_finish(run.tarmac));
	output_read(&run.output);
	EXPECT_TRUE(ttu_check(&ttu, (char *)run.output.bytes, run.output.size));
	EXPECT_EQ(1, ttu.gaps);
	EXPECT_NE(NULL, strstr((char *)run.output.bytes, "xxx...\n"));
	run_free(&run);
}

/* --- What is refused. --- */

TEST(what_cannot_be_is_refused_and_nothing_of_it_written)
{
	const struct flowtap_tarmac_options options = { 0 };
	struct run run = run_new(&options);
	struct flowtap_block *bad = run.blocks;

	CONTEXT(&run, A64, 1);
	block(&run, MOVE, false, 0x210804);
	EXPECT_EQ(0, run.worst);
	EXPECT_EQ(-EOPNOTSUPP, sink_block(run.sink, &bad[RV_CALL], true, 0x80000008));
	EXPECT_EQ(-EOPNOTSUPP, sink_context(run.sink, 1, 1, 0, 0));
	bad[CALL].address = 0x210806;
	EXPECT_EQ(-EINVAL, sink_block(run.sink, &bad[CALL], true, 0x210820));
	bad[T32_CODE].address = 0x8011;
	EXPECT_EQ(-EINVAL, sink_block(run.sink, &bad[T32_CODE], true, 0x8018));
	bad[A32_CALL].address = 0xfffffffffffffffc;
	EXPECT_EQ(-EINVAL, sink_block(run.sink, &bad[A32_CALL], true, 0x8008));
	bad[A32_BLX].address = 1ULL << 32;
	EXPECT_EQ(-EINVAL, sink_block(run.sink, &bad[A32_BLX], true, 0x8010));
	EXPECT_EQ(-EINVAL, sink_block(run.sink, &bad[A32_BACK], true, 1ULL << 32));
	bad[SVC].instructions = 3;
	EXPECT_EQ(-EINVAL, sink_block(run.sink, &bad[SVC], false, 0x210814));
	bad[IRQ].isa = 77;
	EXPECT_EQ(-EINVAL, sink_block(run.sink, &bad[IRQ], false, 0x210814));
	block(&run, MOVE, false, 0x210804);
	EXPECT_EQ(0, flowtap_tarmac_finish(run.tarmac));
	output_read(&run.output);
	EXPECT_STREQ(HEADER
		"          1 clk ES  (0000000000210800:d2800060) O el1h_ns:        .inst 0xd2800060\n"
		"          2 clk E DebugEvent_TraceGap unexplained\n"
		"          3 clk ES  (0000000000210800:d2800060) O el1h_ns:        .inst 0xd2800060\n",
		(char *)run.output.bytes);
	EXPECT_EQ(1, flowtap_tarmac_counts(run.tarmac)->breaks);
	run_free(&run);
}

/* Nothing told yet whose it is: it is of what comes after it. */
TEST(an_exception_before_all_else)
{
	static const struct {
		int number;
		const char *line;
	} table[] = {
		{ 0, "          1 clk ES  Reset at 0000000000001000\n" },
		{ 14, "          1 clk ES  EXC IRQ/vIRQ at 0000000000001000\n" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct flowtap_tarmac_options options = { 0 };
		struct run run = run_new(&options);
		char want[400];

		EXCEPTION(&run, table[i].number, 0x1000);
		CONTEXT(&run, A64, 3);
		block(&run, MOVE, false, 0x210804);
		EXPECT_EQ(0, run.worst);
		EXPECT_EQ(0, flowtap_tarmac_finish(run.tarmac));
		output_read(&run.output);
		snprintf(want, sizeof(want), HEADER "%s"
			 "                    BR (0000000000210800) O\n"
			 "          2 clk ES  (0000000000210800:d2800060) O el3h_ns:        "
			 ".inst 0xd2800060\n", table[i].line);
		EXPECT_STREQ(want, (char *)run.output.bytes);
		run_free(&run);
	}
}

/* A file may say of the M profile's that no number was recorded: none is made of that. */
TEST(an_exception_of_the_m_profile_without_a_number)
{
	const struct flowtap_tarmac_options options = { 0 };
	struct run run = run_new(&options);

	CONTEXT(&run, T32, 0);
	block(&run, T32_CBZ, false, 0x8020);
	EXCEPTION(&run, -1, 0x801c, .m_profile = true);
	block(&run, T32_CODE, true, 0x801c);
	EXPECT_EQ(0, run.worst);
	EXPECT_EQ(0, flowtap_tarmac_finish(run.tarmac));
	output_read(&run.output);
	EXPECT_EQ(NULL, strstr((char *)run.output.bytes, "External Interrupt"));
	EXPECT_NE(NULL, strstr((char *)run.output.bytes, "EXC Synchronous\n"))
		TH_LOG("%s", (char *)run.output.bytes);
	run_free(&run);
}

/* As of a file in which it shows only then that it is of several: the first one had no name. */
TEST(another_cpu_explains_that_the_flow_goes_on_elsewhere)
{
	const struct flowtap_tarmac_options options = { 0 };
	struct run run = run_new(&options);

	CONTEXT(&run, A64, 1);
	block(&run, MOVE, false, 0x210804);
	CONTEXT(&run, A64, 1, .cpu = 1, .has_cpu = true);
	block(&run, CBZ, false, 0x210844);
	CONTEXT(&run, A64, 1, .cpu = 0, .has_cpu = true);
	block(&run, MOVE, false, 0x210804);
	EXPECT_EQ(0, run.worst);
	EXPECT_EQ(0, flowtap_tarmac_finish(run.tarmac));
	output_read(&run.output);
	EXPECT_STREQ(HEADER
		"          1 clk ES  (0000000000210800:d2800060) O el1h_ns:        .inst 0xd2800060\n"
		"                    E DebugEvent_TraceNote context A64 EL1 nonsecure 64 cpu=1\n"
		"          2 clk ES  (0000000000210840:b4000060) O el1h_ns:        .inst 0xb4000060\n"
		"                    E DebugEvent_TraceNote context A64 EL1 nonsecure 64 cpu=0\n"
		"          3 clk ES  (0000000000210800:d2800060) O el1h_ns:        .inst 0xd2800060\n",
		(char *)run.output.bytes);
	EXPECT_EQ(0, flowtap_tarmac_counts(run.tarmac)->breaks);
	run_free(&run);
}

TEST(options_out_of_range_are_refused)
{
	struct flowtap_tarmac_options options = { .dialect = FLOWTAP_TARMAC_DIALECTS };
	struct flowtap_tarmac *tarmac;

	EXPECT_EQ(-EINVAL, flowtap_tarmac_new(1, &options, &tarmac));
	options.dialect = FLOWTAP_TARMAC_FVP;
	options.lines.time = FLOWTAP_LINES_TIMES;
	EXPECT_EQ(-EINVAL, flowtap_tarmac_new(1, &options, &tarmac));
	EXPECT_EQ(NULL, tarmac);
	EXPECT_EQ(NULL, flowtap_tarmac_dialect_name(FLOWTAP_TARMAC_DIALECTS));
}

TEST_F(dialect, a_trace_without_an_instruction_is_none)
{
	struct run run = run_new(&self->options);

	EXPECT_EQ(-ENODATA, flowtap_tarmac_finish(run.tarmac));
	run_free(&run);
}

TEST_F(dialect, an_error_of_write_stays)
{
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC), error = 0;
	struct flowtap_block block = templates[IRQ];
	struct flowtap_tarmac *tarmac;
	struct flowtap_sink *sink;

	ASSERT_EQ(0, flowtap_tarmac_new(fd, &self->options, &tarmac));
	sink = flowtap_tarmac_sink(tarmac);
	for (int i = 0; i < 50000 && !error; i++)
		error = sink_block(sink, &block, true, VECTOR);
	EXPECT_EQ(-ENOSPC, error);
	EXPECT_EQ(-ENOSPC, sink_block(sink, &block, true, VECTOR));
	EXPECT_EQ(-ENOSPC, sink_gap(sink, FLOWTAP_GAP_START));
	EXPECT_EQ(-ENOSPC, flowtap_tarmac_finish(tarmac));
	flowtap_tarmac_free(tarmac);
	blocks_unrender(&block, 1);
	close(fd);
}

/* The same code under other modes, and by sinks of other dialects, is rendered as each wants it. */
TEST(code_that_is_shared_is_written_as_each_has_it)
{
	const struct flowtap_tarmac_options es = { 0 }, fvp = { .dialect = FLOWTAP_TARMAC_FVP };
	struct run run = run_new(&es), other = run_new(&fvp);

	for (int i = 0; i < 3; i++) {
		CONTEXT(&run, A64, i);
		CONTEXT(&other, A64, i);
		block(&run, MOVE, false, 0x210804);
		keep(&other, sink_block(other.sink, &run.blocks[MOVE], false, 0x210804));
		ELEMENT(&run, FLOWTAP_ELEMENT_TRACE_ON);
		ELEMENT(&other, FLOWTAP_ELEMENT_TRACE_ON);
	}
	EXPECT_GOLDEN(&run, "shared.es");
	EXPECT_GOLDEN(&other, "shared.fvp");
	run_free(&run);
	run_free(&other);
}

/* Longer than what is kept, and than the output's buffer. */
TEST_F(dialect, a_block_of_any_size_is_written_whole)
{
	enum { N = 40000 };
	uint8_t *code = malloc(4 * N);
	struct flowtap_block block = {
		.address = 0x1000, .size = 4 * N, .instructions = N, .last = 4 * N - 4,
		.isa = FLOWTAP_ISA_A64, .bytes = code, .end = FLOWTAP_ARM_CALL, .link = true,
		.direct = true, .target = 0x1000, .target_isa = FLOWTAP_ISA_A64,
	};
	struct run run = run_new(&self->options);
	struct ttu ttu = { .rows = run.rows };

	for (int i = 0; i < N; i++)
		memcpy(code + 4 * i, (const uint8_t[]){ NOP }, 4);
	CONTEXT(&run, A64, 1);
	EXPECT_EQ(0, sink_block(run.sink, &block, true, 0x1000));
	EXPECT_EQ(0, sink_block(run.sink, &block, true, 0x1000));
	EXPECT_EQ(NULL, block.render[0].bytes);
	EXPECT_EQ(0, flowtap_tarmac_finish(run.tarmac));
	output_read(&run.output);
	EXPECT_TRUE(ttu_check(&ttu, (char *)run.output.bytes, run.output.size));
	EXPECT_EQ(2 * N, ttu.instructions);
	EXPECT_EQ(2, ttu.registers);
	EXPECT_EQ(0x1000 + 4 * N, ttu.link);
	EXPECT_EQ(2 * N, ttu.time);
	run_free(&run);
	free(code);
}

TEST_HARNESS_MAIN
