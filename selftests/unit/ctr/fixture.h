/* SPDX-License-Identifier: GPL-2.0-only */
/* A CTR decoder on a little program, samples to feed it, and what it should say of them. */
#ifndef FLOWTAP_SELFTESTS_UNIT_CTR_FIXTURE_H
#define FLOWTAP_SELFTESTS_UNIT_CTR_FIXTURE_H

#include <flowtap/ctr.h>
#include <flowtap/riscv.h>

#include "support/kselftest_harness.h"

#include "support/flowlog.h"
#include "support/rv64.h"

/* sctrctl */
#define U	(1ULL << 0)
#define S	(1ULL << 1)
#define M	(1ULL << 2)
#define RASEMU	(1ULL << 7)
#define STE	(1ULL << 8)
#define BPFRZ	(1ULL << 11)
#define LCOFIFRZ (1ULL << 12)
#define NTBREN	(1ULL << 36)

/* ctrdata.TYPE */
enum type {
	EXC = 1, INT, XRET, NOT_TAKEN, TAKEN,
	ICALL = 8, DCALL, IJUMP, DJUMP, SWAP, RET, ILINK, DLINK
};

/*
 * main:	nop			0x10000
 *		beq a0, a1, join	0x10002
 *		nop			0x10006
 *		c.bnez s0, join		0x10008
 *		jal ra, function	0x1000a
 *		nop			0x1000e
 * join:	nop			0x10010
 *		ecall			0x10012
 *		nop			0x10016
 *		c.jr ra			0x10018
 * function:	nop			0x1001a
 *		nop			0x1001c (32 bits)
 *		ret (jalr x0, ra)	0x10020
 *		c.jr a0			0x10024
 *		ebreak (c.)		0x10026
 *		unknown			0x10028
 *		c.jr a0			0x1002a
 */
enum {
	MAIN = 0x10000, BEQ = 0x10002, AFTER_BEQ = 0x10006, BNEZ = 0x10008, CALL = 0x1000a,
	AFTER_CALL = 0x1000e, JOIN = 0x10010, ECALL = 0x10012, AFTER_ECALL = 0x10016,
	JR_RA = 0x10018, FUNCTION = 0x1001a, FUNCTION_2 = 0x1001c, RETURN = 0x10020,
	JR_A0 = 0x10024, EBREAK = 0x10026, UNKNOWN = 0x10028, LAST = 0x1002a,
};

static const uint32_t insns[] = {
	RV_C_NOP, 0 /* beq */, RV_C_NOP, 0 /* c.bnez */, 0 /* jal */, RV_C_NOP, RV_C_NOP, RV_ECALL,
	RV_C_NOP, 0x8082 /* c.jr ra */, RV_C_NOP, RV_NOP, 0x00008067 /* ret */,
	0x8502 /* c.jr a0 */, RV_C_EBREAK, 0x0000, 0x8502,
};

FIXTURE(ctr) {
	uint8_t bytes[128];
	struct flowtap_address_map *map;
	struct flowtap_blocks *blocks;
	struct flowtap_ctr *ctr;
	struct flowlog log;
	uint64_t sequence, time;
	struct {
		struct flowtap_record_sample head;
		struct flowtap_entry entries[256];
	} s;
};

static inline void map_bytes_of(struct flowtap_address_map *map, uint32_t pid, uint64_t time,
				uint64_t start, const char *path, const void *bytes, size_t size)
{
	struct flowtap_mapping mapping = {
		.time = time, .start = start, .size = size, .pid = pid, .executable = true,
		.path = path,
	};

	if (flowtap_address_map_add_bytes(map, &mapping, bytes))
		abort();
}

static inline void map_bytes(struct flowtap_address_map *map, uint64_t time, uint64_t start,
			     const char *path, const void *bytes, size_t size)
{
	map_bytes_of(map, 1, time, start, path, bytes, size);
}

static inline void map_kernel(struct flowtap_address_map *map, uint64_t start, const void *bytes,
			      size_t size)
{
	struct flowtap_kernel_text text = {
		.start = start, .size = size, .part_size = size, .name = "kernel",
	};

	if (flowtap_address_map_add_kernel(map, &text, bytes))
		abort();
}

FIXTURE_SETUP(ctr)
{
	struct rv_code code = { .bytes = self->bytes, .capacity = sizeof(self->bytes) };

	for (size_t i = 0; i < ARRAY_SIZE(insns); i++) {
		if (MAIN + code.size == BEQ)
			rv_put(&code, rv_b(RV_BEQ, 10, 11, JOIN - BEQ));
		else if (MAIN + code.size == BNEZ)
			rv_put(&code, rv_c_b(1, 8, JOIN - BNEZ));
		else if (MAIN + code.size == CALL)
			rv_put(&code, rv_jal(1, FUNCTION - CALL));
		else
			rv_put(&code, insns[i]);
	}
	ASSERT_EQ(MAIN + code.size, (size_t)LAST + 2);
	self->map = flowtap_address_map_new(NULL);
	map_bytes(self->map, 0, MAIN, "[text]", self->bytes, code.size);
	self->blocks = flowtap_blocks_new(flowtap_riscv_block, 0);
	flowlog_init(&self->log);
	self->ctr = flowtap_ctr_new(self->map, self->blocks, &self->log.sink);
	self->time = 1000;
}

FIXTURE_TEARDOWN(ctr)
{
	flowtap_ctr_free(self->ctr);
	flowtap_blocks_free(self->blocks);
	flowtap_address_map_free(self->map);
	free(self->log.items.list);
}

/* The next sample of task 2 of process 1, contiguous, by an overflow; entries follow. */
static inline struct flowtap_record_sample *begin(FIXTURE_DATA(ctr) *self)
{
	self->s.head = (struct flowtap_record_sample){
		.header = { .type = FLOWTAP_RECORD_SAMPLE },
		.time = self->time += 10,
		.sequence = ++self->sequence,
		.control = U | STE | LCOFIFRZ,
		.pid = 1,
		.tid = 2,
		.cpu = 3,
		.trigger = FLOWTAP_TRIGGER_OVERFLOW,
		.depth = 16,
	};
	return &self->s.head;
}

static inline struct flowtap_entry *entry(FIXTURE_DATA(ctr) *self, uint64_t source,
					  uint64_t target, unsigned int type)
{
	struct flowtap_entry *new = &self->s.entries[self->s.head.nr++];

	*new = (struct flowtap_entry){ source | 1, target, type };
	return new;
}

static inline void at_ip(FIXTURE_DATA(ctr) *self, uint64_t ip)
{
	self->s.head.header.misc = FLOWTAP_MISC_USER;
	self->s.head.ip = ip;
}

static inline int decode(FIXTURE_DATA(ctr) *self)
{
	struct flowtap_record *record = &self->s.head.header;

	record->size = sizeof(self->s.head) + self->s.head.nr * sizeof(self->s.entries[0]);
	self->log.items.n = 0;
	return flowtap_ctr_decode(self->ctr, record, record->size);
}

#define INSN(address)		{ ITEM_INSN, address, 0, 0 }
#define END(taken, target)	{ ITEM_END, taken, target, 0 }
#define GAP(reason)		{ ITEM_GAP, FLOWTAP_GAP_##reason, 0, 0 }
#define TRAPPED(at, number, target) { ITEM_EXCEPTION, at, (uint64_t)(number), target }
#define ERET			{ ITEM_ERET, 0, 0, 0 }
#define CONTEXT(mode)		{ ITEM_CONTEXT, 1, 2, 3 | (uint64_t)FLOWTAP_PRIVILEGE_##mode << 32 }
#define EXCEPTION(at, number)	{ ITEM_EXCEPTION, at, (uint64_t)(number), 0 }
#define INTERRUPT(at)		{ ITEM_EXCEPTION, at, (uint64_t)-1, 1 }
#define TRANSFER(from, to, t)	{ ITEM_TRANSFER, from, to, t }

/* What was said after the context and the time. */
#define EXPECT_FLOW(...) do {								\
	struct item expected_[] = { __VA_ARGS__ };					\
	EXPECT_EQ(decode(self), 0);							\
	EXPECT_TRUE(is_flow(&self->log.items, expected_, ARRAY_SIZE(expected_)));	\
} while (0)

static inline bool is_flow(const struct items *seen, struct item *list, size_t n)
{
	const struct items expected = { .list = list, .n = n };
	struct items rest = *seen;

	while (rest.n && (rest.list[0].kind == ITEM_CONTEXT || rest.list[0].kind == ITEM_TIME)) {
		rest.list++;
		rest.n--;
	}
	return same_items(&expected, &rest);
}

/* So that the next sample has a contiguous predecessor. */
static inline void first(FIXTURE_DATA(ctr) *self)
{
	begin(self)->loss = 1U << FLOWTAP_CAUSE_START;
	decode(self);
}

#endif /* FLOWTAP_SELFTESTS_UNIT_CTR_FIXTURE_H */
