// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any bytes behind a first line of Tarmac or QEMU4V into the check, the first byte says which: each
 * problem has a reason, a line and an offset within the file; the reader counts as many lines and
 * instructions, and finds no problem that the check has not; packed by gzip the same bytes have the
 * same problems.
 */
#include <flowtap/check.h>
#include <flowtap/learned.h>
#include <flowtap/qemu4v.h>
#include <flowtap/read.h>
#include <flowtap/tarmac.h>

#include "gzip.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t flowtap_fuzz_seed(uint8_t *buffer, size_t capacity, unsigned int n);

static const struct format {
	enum flowtap_check_format format;
	const char *first;
	int (*read)(struct flowtap_read *read, int fd);
} tarmac = { FLOWTAP_CHECK_TARMAC, "Tarmac Text Rev 3t\n", flowtap_tarmac_read },
  qemu4v = { FLOWTAP_CHECK_QEMU4V, "1 clk 0 IT (1) 0000000080000000 450d A svc_ns : li a0,3\n",
	     flowtap_qemu4v_read };

static const char *const seeds[] = {
	"T          1 clk ES  (0000000000210800:d2800060) O el1h_ns:        MOV      x0, #0x3\n"
	"                    R X0 0000000000000003\n                    R X30 210808\n"
	"          2 clk ES  (0000000000210804:94000006) O el1h_ns:        BL       21081c\n"
	"                    BR (000000000021081c) O\n"
	"          3 clk ES  EXC [0x280] IRQ/vIRQ Current EL with SP_ELx (14)\n"
	"                    LD 00000040  ........ ........ ........ 00001c98  S:0000000040/20 SO\n"
	"          2 clk ES  (0000000000210200:d69f03e0) O el1h_ns:        ERET\n"
	"          6 clk E DebugEvent_TraceGap wrapped since=0.000000001 size=unknown detail=x\n",
	"T1 clk cpu0 IT (1) 00008000 f04f0001 T svc_s : MOV      r0,#1\n"
	"2 clk cpu0 IT (2) 00009000 bf00 T svc_s : { NOP\n"
	"     1715 ns IT (00000000:e59ff038) A hyp ns:    LDR      pc,{pc}+0x40 ; 0x40\n"
	"3 s ES (0000000000000000:d503201f) O EL1h_n : NOP\n; a comment\n\n"
	"4 clk ES IRQ\n15 clk cpu0 MR8 10310040:000010310040 00000000_163a0bd0\n"
	"                    ST 00000040  01020304\nTarmac Text Rev 3t\n",
	"Q2 clk 0 IT (2) 0000000080000002 006000ef A svc_ns : jal 80000008\n"
	"2 clk R ra 0000000080000006\n3 clk 0 IT (3) 0000000080000008 1141 A usr_ns : add sp,sp,-16\n"
	"10 clk MR8 00103fc4 0010400000000000\n5 clk 1 IS (3) 000000008000000c c501 A mon_s : beqz\n",
	("Q1 clk 0 IT (9) 00000004 3c080001 A svc : lui t0,0x1\n"
	 "0 clk 0 IT (2) 00000008 eafffffe A usr : b 8\n3 clk 300 IT (4) 00000008 bf00 T usr : nop"),
};

/* What the check said of a file. */
struct said {
	uint64_t problems;
	uint64_t hash;
	uint64_t size, lines;		/* of the text */
	bool packed;
};

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void add(struct said *said, uint64_t value)
{
	said->hash = (said->hash + value + 1) * 0x9e3779b97f4a7c15;
}

static void look(struct flowtap_check *check, const struct flowtap_check_problem *problem)
{
	struct said *said = check->argument;

	require(problem->reason[0] && problem->unpacked == said->packed);
	require(problem->offset <= said->size && problem->line <= said->lines);
	require(++said->problems == check->problems);
	add(said, problem->offset ^ problem->line << 32);
	for (const char *at = problem->reason; *at; at++)
		add(said, (uint64_t)*at);
}

static void check_file(const struct format *format, int fd, struct flowtap_check *check,
		       struct said *said)
{
	struct flowtap_learned *learned = flowtap_learned_new(1 << 20);
	struct flowtap_read read = { .sink = flowtap_sink_nowhere(), .learned = learned };

	*check = (struct flowtap_check){ .problem = look, .argument = said };
	require(learned && !flowtap_check_file(check, fd) && check->format == format->format);
	require(said->problems == check->problems && !check->remarks);
	lseek(fd, 0, SEEK_SET);
	require(!format->read(&read, fd) && read.instructions == check->instructions &&
		read.records == check->records && read.problems <= check->problems);
	flowtap_learned_free(learned);
}

static void put(int fd, const uint8_t *bytes, size_t size)
{
	require(fd >= 0 && !ftruncate(fd, 0) && pwrite(fd, bytes, size, 0) == (ssize_t)size);
	lseek(fd, 0, SEEK_SET);
}

static void check_text(const struct format *format, const uint8_t *text, size_t size)
{
	static int fd = -1;
	struct said plain = { .size = size, .lines = 1 }, packed;
	struct flowtap_check check, other;
	uint8_t *bytes;
	size_t n;

	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	for (size_t i = 0; i < size; i++)
		plain.lines += text[i] == '\n';
	packed = plain;
	packed.packed = true;
	put(fd, text, size);
	check_file(format, fd, &check, &plain);
	/* Now and then: it takes its time. */
	if (plain.hash % 8)
		return;
	bytes = fuzz_gzip(text, size, &n);
	put(fd, bytes, n);
	free(bytes);
	check_file(format, fd, &other, &packed);
	require(plain.hash == packed.hash && check.instructions == other.instructions &&
		check.records == other.records);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct format *format = size && data[0] == 'Q' ? &qemu4v : &tarmac;
	const size_t first = strlen(format->first), rest = size ? size - 1 : 0;
	uint8_t *text = malloc(first + rest);

	require(text);
	memcpy(text, format->first, first);
	if (rest)
		memcpy(text + first, data + 1, rest);
	check_text(format, text, first + rest);
	free(text);
	return 0;
}

size_t flowtap_fuzz_seed(uint8_t *buffer, size_t capacity, unsigned int n)
{
	size_t size;

	if (n >= sizeof(seeds) / sizeof(seeds[0]))
		return 0;
	size = strlen(seeds[n]);
	memcpy(buffer, seeds[n], size < capacity ? size : capacity);
	return size < capacity ? size : capacity;
}
