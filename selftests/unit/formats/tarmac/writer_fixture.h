/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A Tarmac writer with some blocks that are fed to it by number, the files that it is held to, and a
 * fixture of each dialect.
 */
#ifndef FLOWTAP_SELFTESTS_UNIT_FORMATS_TARMAC_WRITER_FIXTURE_H
#define FLOWTAP_SELFTESTS_UNIT_FORMATS_TARMAC_WRITER_FIXTURE_H

#include <flowtap/arm.h>
#include <flowtap/learned.h>
#include <flowtap/read.h>
#include <flowtap/tarmac.h>

#include "stfcheck/sample.h"
#include "support/sink.h"
#include "support/ttu.h"

#include <errno.h>
#include <fcntl.h>

#include "support/kselftest_harness.h"

#define CODE(...) .bytes = (const uint8_t[]){ __VA_ARGS__ }
#define NOP	U32(0xd503201f)
#define KERNEL	0xffff000000080000
#define VECTOR	0xffff000000010280

enum { MOVE, CALL, CALLR, JUMP, RETURN, CBZ, SVC, IRQ, ERET, A32_CALL, A32_BACK, A32_IF, A32_BLX,
       T32_CODE, T32_CALL, T32_CBZ, T32_SVC, RV_CALL, RV_T0, RV_ECALL, RV_RET, BLOCKS };

static const struct flowtap_block templates[BLOCKS] = {
	[MOVE] = { .address = 0x210800, .size = 4, .instructions = 1, .isa = FLOWTAP_ISA_A64,
		   CODE(U32(0xd2800060)) },
	[CALL] = { .address = 0x210804, .size = 8, .instructions = 2, .last = 4, .link = true,
		   .isa = FLOWTAP_ISA_A64, CODE(NOP, U32(0x94000006)), .end = FLOWTAP_ARM_CALL,
		   .direct = true, .target = 0x210820, .target_isa = FLOWTAP_ISA_A64 },
	[CALLR] = { .address = 0x210820, .size = 4, .instructions = 1, .link = true,
		    .isa = FLOWTAP_ISA_A64, CODE(U32(0xd63f0000)),
		    .end = FLOWTAP_ARM_INDIRECT_CALL },
	[JUMP] = { .address = 0x210824, .size = 4, .instructions = 1, .isa = FLOWTAP_ISA_A64,
		   CODE(U32(0xd61f0000)), .end = FLOWTAP_ARM_INDIRECT },
	[RETURN] = { .address = 0x210830, .size = 4, .instructions = 1, .isa = FLOWTAP_ISA_A64,
		     CODE(U32(0xd65f03c0)), .end = FLOWTAP_ARM_RETURN },
	[CBZ] = { .address = 0x210840, .size = 4, .instructions = 1, .isa = FLOWTAP_ISA_A64,
		  CODE(U32(0xb4000060)), .end = FLOWTAP_ARM_BRANCH, .direct = true,
		  .conditional = true, .target = 0x21084c, .target_isa = FLOWTAP_ISA_A64 },
	[SVC] = { .address = 0x21080c, .size = 8, .instructions = 2, .last = 4,
		  .isa = FLOWTAP_ISA_A64, CODE(NOP, U32(0xd4000001)) },
	[IRQ] = { .address = VECTOR, .size = 4, .instructions = 1, .isa = FLOWTAP_ISA_A64,
		  CODE(NOP) },
	[ERET] = { .address = VECTOR + 4, .size = 4, .instructions = 1, .isa = FLOWTAP_ISA_A64,
		   CODE(U32(0xd69f03e0)), .end = FLOWTAP_ARM_EXCEPTION_RETURN },
	[A32_CALL] = { .address = 0x8000, .size = 4, .instructions = 1, .link = true,
		       .isa = FLOWTAP_ISA_A32, CODE(U32(0xeb000000)), .end = FLOWTAP_ARM_CALL,
		       .direct = true, .target = 0x8008, .target_isa = FLOWTAP_ISA_A32 },
	[A32_BACK] = { .address = 0x8008, .size = 4, .instructions = 1, .isa = FLOWTAP_ISA_A32,
		       CODE(U32(0xe12fff1e)), .end = FLOWTAP_ARM_RETURN },
	[A32_IF] = { .address = 0x8004, .size = 4, .instructions = 1, .isa = FLOWTAP_ISA_A32,
		     CODE(U32(0x1a000792)), .end = FLOWTAP_ARM_BRANCH, .direct = true,
		     .conditional = true, .target = 0x9e54, .target_isa = FLOWTAP_ISA_A32 },
	[A32_BLX] = { .address = 0x8008, .size = 4, .instructions = 1, .link = true,
		      .isa = FLOWTAP_ISA_A32, CODE(U32(0xfa000000)), .end = FLOWTAP_ARM_CALL,
		      .direct = true, .target = 0x8010, .target_isa = FLOWTAP_ISA_T32 },
	/* nop.w, nop, bx lr: the halfwords as they stand in memory. */
	[T32_CODE] = { .address = 0x8010, .size = 8, .instructions = 3, .last = 6,
		       .isa = FLOWTAP_ISA_T32, .end = FLOWTAP_ARM_RETURN,
		       CODE(U16(0xf3af), U16(0x8000), U16(0xbf00), U16(0x4770)) },
	[T32_CALL] = { .address = 0x8018, .size = 2, .instructions = 1, .link = true,
		       .isa = FLOWTAP_ISA_T32, .end = FLOWTAP_ARM_INDIRECT_CALL,
		       CODE(U16(0x4780)) },
	[T32_CBZ] = { .address = 0x801a, .size = 2, .instructions = 1, .isa = FLOWTAP_ISA_T32,
		      CODE(U16(0xb108)), .end = FLOWTAP_ARM_BRANCH, .direct = true,
		      .conditional = true, .target = 0x8020, .target_isa = FLOWTAP_ISA_T32 },
	[T32_SVC] = { .address = 0x801c, .size = 2, .instructions = 1, .isa = FLOWTAP_ISA_T32,
		      CODE(U16(0xdf00)) },
	[RV_CALL] = { .address = 0x80000000, .size = 6, .instructions = 2, .last = 2,
		      CODE(U16(0x450d), U32(0x006000ef)), .direct = true, .target = 0x80000008,
		      .end = FLOWTAP_TRANSFER_DIRECT_CALL },
	[RV_T0] = { .address = 0x80000008, .size = 4, .instructions = 1, CODE(U32(0x000302e7)),
		    .end = FLOWTAP_TRANSFER_INDIRECT_CALL },
	[RV_ECALL] = { .address = 0x80000010, .size = 4, .instructions = 1, CODE(U32(0x73)),
		       .end = FLOWTAP_TRANSFER_EXCEPTION },
	[RV_RET] = { .address = 0x80000020, .size = 2, .instructions = 1, CODE(U16(0x8082)),
		     .end = FLOWTAP_TRANSFER_RETURN },
};

struct run {
	struct flowtap_block blocks[BLOCKS];
	struct output output;
	struct flowtap_tarmac *tarmac;
	struct flowtap_sink *sink;
	bool rows;
	bool spelled;
	int worst;		/* the first error of the sink */
};

static inline size_t named(void *argument, enum flowtap_isa isa, uint8_t it, uint64_t address,
			   const uint8_t *bytes, size_t size, char *text, size_t capacity)
{
	(void)isa, (void)it, (void)address, (void)bytes, (void)size;
	return (size_t)snprintf(text, capacity, "%s", (const char *)argument);
}

static inline struct run run_new(const struct flowtap_tarmac_options *options)
{
	struct run run = {
		.output = output_new(),
		.rows = options->dialect == FLOWTAP_TARMAC_FVP,
		.spelled = options->dialect == FLOWTAP_TARMAC_STRICT,
	};

	memcpy(run.blocks, templates, sizeof(templates));
	run.worst = flowtap_tarmac_new(run.output.fd, options, &run.tarmac);
	if (!run.worst)
		run.sink = flowtap_tarmac_sink(run.tarmac);
	return run;
}

static inline void run_free(struct run *run)
{
	flowtap_tarmac_free(run->tarmac);
	blocks_unrender(run->blocks, BLOCKS);
	output_free(&run->output);
}

static inline void keep(struct run *run, int error)
{
	run->worst = run->worst ? run->worst : error;
}

static inline void block(struct run *run, int n, bool taken, uint64_t target)
{
	keep(run, sink_block(run->sink, &run->blocks[n], taken, target));
}

#define ELEMENT(run, ...) \
	keep(run, sink_element((run)->sink, (struct flowtap_element){ .kind = __VA_ARGS__ }))
#define CONTEXT(run, which, level, ...) \
	ELEMENT(run, FLOWTAP_ELEMENT_CONTEXT, .context = { .isa = FLOWTAP_ISA_ ## which, \
		.mode = level, .width = FLOWTAP_ISA_ ## which == FLOWTAP_ISA_A64 ? 64 : 32, \
		__VA_ARGS__ })
#define EXCEPTION(run, type, pc, ...) \
	ELEMENT(run, FLOWTAP_ELEMENT_EXCEPTION, .exception = { .number = type, .address = pc, \
		__VA_ARGS__ })

#define HEADER "Tarmac Text Rev 3t\n"
#define GOLDEN "selftests/corpus/lines/"

/* The file as a string, to be freed. */
static inline char *golden(const char *name)
{
	char path[200], *text = calloc(1, 65536);
	int fd;

	snprintf(path, sizeof(path), GOLDEN "%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (!text || fd < 0 || read(fd, text, 65535) < 0)
		strcpy(text, "no such file");
	close(fd);
	return text;
}

/* What was written is what the file holds, and readers take it. */
#define EXPECT_GOLDEN(run, name) do {								\
	struct ttu ttu = { .rows = (run)->rows, .spelled = (run)->spelled };			\
	char *want = golden(name);								\
												\
	EXPECT_EQ(0, (run)->worst);								\
	EXPECT_EQ(0, flowtap_tarmac_finish((run)->tarmac));					\
	output_read(&(run)->output);								\
	EXPECT_STREQ(want, (const char *)(run)->output.bytes)					\
		TH_LOG("%s%s:\n%s", GOLDEN, name, (const char *)(run)->output.bytes);		\
	EXPECT_TRUE(ttu_check(&ttu, (const char *)(run)->output.bytes, (run)->output.size));	\
	EXPECT_EQ(flowtap_tarmac_counts((run)->tarmac)->instructions, ttu.instructions);	\
	EXPECT_EQ(flowtap_tarmac_counts((run)->tarmac)->bytes, (run)->output.size);		\
	free(want);										\
} while (0)

FIXTURE(dialect)
{
	struct flowtap_tarmac_options options;
	const char *name;
};

FIXTURE_VARIANT(dialect)
{
	enum flowtap_tarmac_dialect dialect;
};

FIXTURE_VARIANT_ADD(dialect, es) { .dialect = FLOWTAP_TARMAC_ES };
FIXTURE_VARIANT_ADD(dialect, fvp) { .dialect = FLOWTAP_TARMAC_FVP };
FIXTURE_VARIANT_ADD(dialect, strict) { .dialect = FLOWTAP_TARMAC_STRICT };

FIXTURE_SETUP(dialect)
{
	self->options.dialect = variant->dialect;
	self->name = flowtap_tarmac_dialect_name(variant->dialect);
}

FIXTURE_TEARDOWN(dialect)
{
}

#endif /* FLOWTAP_SELFTESTS_UNIT_FORMATS_TARMAC_WRITER_FIXTURE_H */
