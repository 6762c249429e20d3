// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Shows that the trace buffer's addresses are translated as the guest's tables say: each granule,
 * size, level of block and page, each regime, stage 2; and each fault with the code of its level.
 */
#include "fake.h"
#include "support/kselftest_harness.h"

/* For what may take longer than the harness gives a test. */
FIXTURE(slow) { int none; };
FIXTURE_SETUP(slow) {}
FIXTURE_TEARDOWN(slow) {}

#define E2H		(1ULL << 34)
#define VM		1ULL
#define TCR_DS		(1ULL << 59)
#define TCR_HA		(1ULL << 39)
#define TCR_HD		(1ULL << 40)
#define TCR_TBI1	(1ULL << 38)
#define S2_READ		(1ULL << 6)
#define S2_WRITE	(1ULL << 7)
#define STAGE1		(0x24ULL << 26)
#define STAGE2		(0x25ULL << 26)

/* The first level by T1SZ, from these on (DDI 0487 D8.2, tables of each granule). */
static const struct shape {
	unsigned int granule, tg1;
	struct { unsigned int tsz; int level; } first[5];
	int blocks;			/* the first level that may have one; with DS one less */
} shapes[] = {
	{ 12, 2, { { 12, -1 }, { 16, 0 }, { 25, 1 }, { 34, 2 }, { 43, 3 } }, 1 },
	{ 14, 1, { { 12, 0 }, { 17, 1 }, { 28, 2 }, { 39, 3 }, { 64, 0 } }, 2 },
	{ 16, 3, { { 12, 1 }, { 22, 2 }, { 35, 3 }, { 64, 0 } }, 2 },
};

static int first_level(const struct shape *shape, unsigned int tsz)
{
	unsigned int i = 0;

	while (i < 4 && shape->first[i + 1].tsz <= tsz)
		i++;
	return shape->first[i].level;
}

/* A mapping of one address: where its entries are. */
struct mapped {
	struct fake *fake;
	const struct shape *shape;
	uint64_t address;
	uint64_t root;
	unsigned int tsz;
	int first, leaf;
	bool ds;
	unsigned int shift;		/* of the leaf */
};

static uint64_t entry(const struct mapped *map, int level)
{
	return fake_entry(map->fake, map->root, map->shape->granule, map->first, level,
			  64 - map->tsz, map->address);
}

static uint64_t descriptor(const struct mapped *map, uint64_t physical)
{
	uint64_t value = physical & 0xffffffffffff;

	if (map->ds)
		value = (physical & 0x3ffffffffffff) | (physical >> 50 & 3) << 8;
	else if (map->shape->granule == 16)
		value |= (physical >> 48 & 15) << 12;
	return value | PTE_VALID | (map->leaf == 3 ? PTE_TABLE : 0) | PTE_AF;
}

static uint64_t physical_of(const struct mapped *map)
{
	const uint64_t space = map->ds || map->shape->granule == 16 ? 1ULL << 51 : 1ULL << 47;

	return space | (0x123456789abcdULL & (space - 1) & -(1ULL << map->shift));
}

static struct mapped make(struct fake *fake, const struct shape *shape, unsigned int tsz, int leaf)
{
	struct mapped map = { fake, shape, .tsz = tsz, .leaf = leaf };

	map.ds = tsz < 16 && shape->granule != 16;
	map.first = first_level(shape, tsz);
	map.shift = shape->granule + (3 - leaf) * (shape->granule - 3);
	map.address = ~0ULL << (64 - tsz) | (0x5a5a5a5a5a5a5a5aULL & ((1ULL << (64 - tsz)) - 1));
	map.root = fake_alloc(fake, 1U << shape->granule);
	fake->sysregs[MACHINE_SCTLR_EL1] = 1;
	fake->sysregs[MACHINE_TCR_EL1] = 16 | (uint64_t)tsz << 16 | (uint64_t)shape->tg1 << 30 |
		(map.ds || shape->granule == 16 ? 6ULL : 5ULL) << 32 | (map.ds ? TCR_DS : 0);
	fake->sysregs[MACHINE_TTBR1_EL1] = map.root;
	fake_store(fake, entry(&map, leaf), descriptor(&map, physical_of(&map)));
	return map;
}

static uint64_t go(const struct mapped *map, uint64_t *physical, uint64_t *contiguous)
{
	*physical = *contiguous = 0;
	return translate(&map->fake->pe, map->address, false, physical, contiguous);
}

static bool arrives(const struct mapped *map)
{
	const uint64_t offset = map->address & ((1ULL << map->shift) - 1);
	uint64_t physical, contiguous;

	return !go(map, &physical, &contiguous) && physical == physical_of(map) + offset &&
	       contiguous == (1ULL << map->shift) - offset;
}

static uint64_t result(const struct mapped *map)
{
	uint64_t physical, contiguous;

	return go(map, &physical, &contiguous);
}

/* Another value in place for one translation. */
static uint64_t with(const struct mapped *map, int level, uint64_t value)
{
	const uint64_t at = entry(map, level), old = fake_load(map->fake, at);
	uint64_t failed;

	fake_store(map->fake, at, value);
	failed = result(map);
	fake_store(map->fake, at, old);
	return failed;
}

static uint64_t code(unsigned int fsc, unsigned int minus_1, int level)
{
	return STAGE1 | (level < 0 ? minus_1 : fsc + level);
}

/* Faults at each level of one mapping; how many are wrong. */
static unsigned int faults(const struct mapped *map)
{
	const uint64_t last = fake_load(map->fake, entry(map, map->leaf));
	uint64_t *tcr = &map->fake->sysregs[MACHINE_TCR_EL1];
	const uint64_t old_tcr = *tcr;
	unsigned int wrong = 0;

	for (int level = map->first; level <= map->leaf; level++) {
		wrong += with(map, level, 0) != code(4, 0x2b, level);
		wrong += with(map, level, ~1ULL) != code(4, 0x2b, level);
		if (level == map->leaf)
			break;
		/* The next table is where no memory is. */
		wrong += with(map, level, 0x1000000000 | 3) != code(0x14, 0x13, level + 1);
	}
	/* Output addresses of 32 bits, and one that has more. */
	*tcr &= ~(7ULL << 32);
	wrong += result(map) != code(0, 0x29, map->leaf);
	for (int level = map->first; level < map->leaf; level++)
		wrong += with(map, level, 1ULL << 40 | 3) != code(0, 0x29, level);
	*tcr = old_tcr;
	wrong += with(map, map->leaf, last & ~PTE_AF) != code(8, 0, map->leaf);
	wrong += with(map, map->leaf, last | PTE_RO) != code(0xc, 0, map->leaf);
	wrong += with(map, map->leaf, last | PTE_RO | PTE_DBM) != code(0xc, 0, map->leaf);
	if (map->leaf == 3)	/* a block of the last level */
		wrong += with(map, 3, last & ~PTE_TABLE) != code(4, 0, 3);
	/* Hardware management of both. */
	map->fake->pe.buffer.options.flag_update = true;
	*tcr |= TCR_HA;
	wrong += with(map, map->leaf, last & ~PTE_AF) != 0;
	wrong += with(map, map->leaf, last | PTE_RO | PTE_DBM) != code(0xc, 0, map->leaf);
	*tcr |= TCR_HD;
	wrong += with(map, map->leaf, last | PTE_RO | PTE_DBM) != 0;
	wrong += with(map, map->leaf, last | PTE_RO) != code(0xc, 0, map->leaf);
	map->fake->pe.buffer.options.flag_update = false;
	*tcr = old_tcr;
	/* APTable: read-only below, unless TCR.HPD1. */
	for (int level = map->first; level < map->leaf; level++) {
		uint64_t table = fake_load(map->fake, entry(map, level));

		wrong += with(map, level, table | 1ULL << 62) != code(0xc, 0, map->leaf);
		*tcr = old_tcr | 1ULL << 42;
		wrong += with(map, level, table | 1ULL << 62) != 0;
		*tcr = old_tcr;
	}
	return wrong;
}

/* Bits of an address that are not of the table. */
static unsigned int outside(const struct mapped *map)
{
	struct mapped other = *map;
	unsigned int wrong = 0;

	for (unsigned int bit = 64 - map->tsz; bit < 55; bit++) {
		other.address = map->address ^ 1ULL << bit;
		wrong += result(&other) != code(4, 0, 0);
	}
	other.address = map->address ^ 3ULL << 60;
	wrong += result(&other) != code(4, 0, 0);
	map->fake->sysregs[MACHINE_TCR_EL1] |= TCR_TBI1;
	wrong += !arrives(&other);
	map->fake->sysregs[MACHINE_TCR_EL1] |= 1 << 23;		/* EPD1 */
	wrong += result(map) != code(4, 0, 0);
	return wrong;
}

TEST_F_TIMEOUT(slow, stage_1_of_every_granule_size_and_level, 1500)
{
	for (unsigned int i = 0; i < 3; i++) {
		const struct shape *shape = &shapes[i];

		for (unsigned int tsz = 12; tsz <= (i == 2 ? 47 : 48); tsz++) {
			int block = shape->blocks - (tsz < 16);
			int first = first_level(shape, tsz);

			for (int leaf = first > block ? first : block; leaf <= 3; leaf++) {
				struct fake *fake = fake_new(NULL, NULL, NULL);
				struct mapped map = make(fake, shape, tsz, leaf);

				ASSERT_TRUE(arrives(&map))
					TH_LOG("shape %u tsz %u leaf %d", i, tsz, leaf);
				ASSERT_EQ(faults(&map), 0)
					TH_LOG("shape %u tsz %u leaf %d", i, tsz, leaf);
				ASSERT_EQ(outside(&map), 0)
					TH_LOG("shape %u tsz %u leaf %d", i, tsz, leaf);
				fake_free(fake);
			}
		}
	}
}

/* A block where the level has none. */
TEST(no_block_at_level_0)
{
	struct fake *fake = fake_new(NULL, NULL, NULL);
	struct mapped map = make(fake, &shapes[0], 16, 3);

	EXPECT_EQ(with(&map, 0, PTE_VALID | PTE_AF), STAGE1 | 4);
	fake_free(fake);
	fake = fake_new(NULL, NULL, NULL);
	map = make(fake, &shapes[1], 17, 3);
	EXPECT_EQ(with(&map, 1, PTE_VALID | PTE_AF), STAGE1 | 5);
	fake_free(fake);
}

TEST(sizes_that_there_are_not)
{
	struct fake *fake = fake_new(NULL, NULL, NULL);
	struct mapped map = make(fake, &shapes[0], 16, 3);
	const uint64_t tcr = fake->sysregs[MACHINE_TCR_EL1] & ~(63ULL << 16);

	for (unsigned int tsz = 0; tsz < 64; tsz++) {
		if (tsz >= 16 && tsz <= 48)
			continue;
		fake->sysregs[MACHINE_TCR_EL1] = tcr | (uint64_t)tsz << 16;
		EXPECT_EQ(result(&map), STAGE1 | 4);
	}
	/* TG1 0 is reserved */
	fake->sysregs[MACHINE_TCR_EL1] = (tcr | 16 << 16) & ~(3ULL << 30);
	EXPECT_EQ(result(&map), STAGE1 | 4);
	fake_free(fake);
}

TEST(big_endian_tables)
{
	struct fake *fake = fake_new(NULL, NULL, NULL);
	struct mapped map = make(fake, &shapes[0], 16, 3);

	for (uint64_t at = FAKE_RAM; at < fake->next_page; at += 8)
		fake_store(fake, at, __builtin_bswap64(fake_load(fake, at)));
	EXPECT_FALSE(arrives(&map));
	fake->sysregs[MACHINE_SCTLR_EL1] |= 1 << 25;
	EXPECT_TRUE(arrives(&map));
	fake_free(fake);
}

TEST(translation_off)
{
	struct fake *fake = fake_new(NULL, NULL, NULL);
	uint64_t physical, contiguous;

	EXPECT_EQ(translate(&fake->pe, 0x12345678, false, &physical, &contiguous), 0);
	EXPECT_EQ(physical, 0x12345678);
	EXPECT_EQ(contiguous, 0x988);
	EXPECT_EQ(translate(&fake->pe, 1ULL << 52, false, &physical, &contiguous), STAGE1);
	fake_paging(fake);
	EXPECT_EQ(translate(&fake->pe, 0x12345678, true, &physical, &contiguous), 0);
	EXPECT_EQ(physical, 0x12345678);
	fake_free(fake);
}

/* --- Regimes --- */

static const struct pe_config with_el2 = { .el2 = true };

TEST(lower_half)
{
	struct fake *fake = fake_new(NULL, NULL, NULL);
	uint64_t physical, contiguous;

	fake_paging(fake);
	fake_store(fake, fake_entry(fake, fake->sysregs[MACHINE_TTBR0_EL1], 12, 0, 2, 48,
				    0x80200000),
		   0x7fe00000 | PTE_VALID | PTE_AF);
	EXPECT_EQ(translate(&fake->pe, 0x80212340, false, &physical, &contiguous), 0);
	EXPECT_EQ(physical, 0x7fe12340);
	EXPECT_EQ(contiguous, 0x200000 - 0x12340);
	EXPECT_EQ(translate(&fake->pe, 0x80400000, false, &physical, &contiguous), STAGE1 | 6);
	EXPECT_EQ(translate(&fake->pe, 0xffff000080200000, false, &physical, &contiguous),
		  STAGE1 | 4);
	fake_free(fake);
}

/* MDCR_EL2.E2TB 0: EL2 owns the buffer, with two halves (E2H) or one. */
TEST(owned_by_el2)
{
	struct fake *fake = fake_new(NULL, NULL, &with_el2);
	uint64_t physical, contiguous, page;

	fake_paging(fake);
	fake_map(fake, FAKE_BUFFER, 1);
	page = FAKE_RAM + (fake_at(fake, FAKE_BUFFER) - fake->ram);
	fake->sysregs[MACHINE_HCR_EL2] = E2H;
	fake->sysregs[MACHINE_SCTLR_EL2] = fake->sysregs[MACHINE_SCTLR_EL1];
	fake->sysregs[MACHINE_TCR_EL2] = fake->sysregs[MACHINE_TCR_EL1];
	fake->sysregs[MACHINE_TTBR0_EL2] = fake->sysregs[MACHINE_TTBR0_EL1];
	fake->sysregs[MACHINE_TTBR1_EL2] = fake->sysregs[MACHINE_TTBR1_EL1];
	fake->sysregs[MACHINE_TTBR1_EL1] = 0;
	EXPECT_EQ(translate(&fake->pe, FAKE_BUFFER, false, &physical, &contiguous), 0);
	EXPECT_EQ(physical, page);
	fake->pe.mdcr_el2 = 3 << 24;
	EXPECT_NE(translate(&fake->pe, FAKE_BUFFER, false, &physical, &contiguous), 0);
	fake->pe.mdcr_el2 = 0;
	/* EL2 without E2H: one table, TCR_EL2's other format; 48 bits of input and output. */
	fake->sysregs[MACHINE_HCR_EL2] = 0;
	fake->sysregs[MACHINE_TCR_EL2] = 16 | 5 << 16;
	fake_store(fake, fake_entry(fake, fake->sysregs[MACHINE_TTBR0_EL2], 12, 0, 3, 48,
				    0x800010003000), 0x40007000 | 3 | PTE_AF);
	EXPECT_EQ(translate(&fake->pe, 0x800010003018, false, &physical, &contiguous), 0);
	EXPECT_EQ(physical, 0x40007018);
	EXPECT_EQ(translate(&fake->pe, FAKE_BUFFER, false, &physical, &contiguous), STAGE1 | 4);
	fake_free(fake);
}

/* EL2 without E2H: TCR_EL2 has HA, HD, HPD and the size of addresses elsewhere. */
TEST(flags_and_sizes_of_el2)
{
	struct fake *fake = fake_new(NULL, NULL, &with_el2);
	const uint64_t root = fake_alloc(fake, 4096), address = 0x800010003018;
	const uint64_t page = fake_entry(fake, root, 12, 0, 3, 48, address);
	const uint64_t table = fake_entry(fake, root, 12, 0, 2, 48, address);
	uint64_t *tcr = &fake->sysregs[MACHINE_TCR_EL2];
	uint64_t physical, contiguous;

	fake->sysregs[MACHINE_SCTLR_EL2] = 1;
	fake->sysregs[MACHINE_TTBR0_EL2] = root;
	*tcr = 16 | 5 << 16;
	fake->pe.buffer.options.flag_update = true;
	fake_store(fake, page, 0x40007000 | 3);
	EXPECT_EQ(translate(&fake->pe, address, false, &physical, &contiguous), STAGE1 | 0xb);
	*tcr |= 1 << 21;
	EXPECT_EQ(translate(&fake->pe, address, false, &physical, &contiguous), 0);
	EXPECT_EQ(physical, 0x40007018);
	fake_store(fake, page, 0x40007000 | 3 | PTE_AF | PTE_RO | PTE_DBM);
	EXPECT_EQ(translate(&fake->pe, address, false, &physical, &contiguous), STAGE1 | 0xf);
	*tcr |= 1 << 22;
	EXPECT_EQ(translate(&fake->pe, address, false, &physical, &contiguous), 0);
	fake_store(fake, page, 0x40007000 | 3 | PTE_AF);
	fake_store(fake, table, fake_load(fake, table) | 1ULL << 62);
	EXPECT_EQ(translate(&fake->pe, address, false, &physical, &contiguous), STAGE1 | 0xf);
	*tcr |= 1 << 24;
	EXPECT_EQ(translate(&fake->pe, address, false, &physical, &contiguous), 0);
	/* 52 bits are none without the descriptors for them: TTBR[5:2] is no address. */
	*tcr = 16 | 6 << 16 | 1 << 24;
	fake->sysregs[MACHINE_TTBR0_EL2] = root | 4;
	EXPECT_EQ(translate(&fake->pe, address, false, &physical, &contiguous), 0);
	/* The first table is where no address of 32 bits reaches. */
	*tcr = 16;
	fake->sysregs[MACHINE_TTBR0_EL2] = 1ULL << 40;
	EXPECT_EQ(translate(&fake->pe, address, false, &physical, &contiguous), STAGE1);
	fake_free(fake);
}

/* --- Stage 2: identity but for what is tried --- */

struct second {
	struct fake *fake;
	unsigned int granule, tsz;
	int first;
	uint64_t root;
};

static struct second second_stage(unsigned int granule, unsigned int tsz, int first)
{
	static const uint64_t tg0[] = { [12] = 0, [14] = 2, [16] = 1 };
	struct fake *fake = fake_new(NULL, NULL, &with_el2);
	struct second s = { fake, granule, tsz, first, 0 };
	const uint64_t sl0 = granule == 12 ? (first == 3 ? 3 : 2 - first) : 3 - first;

	fake->pe.mdcr_el2 = 3 << 24;
	fake_paging(fake);
	/* The tables, and far from them the page. */
	fake_map(fake, FAKE_BUFFER + 4096, 1);
	fake_alloc(fake, 1U << 16);
	fake_map(fake, FAKE_BUFFER, 1);
	/* Up to 16 tables side by side. */
	s.root = fake_alloc(fake, 16U << granule);
	fake->sysregs[MACHINE_HCR_EL2] = VM;
	fake->sysregs[MACHINE_VTCR_EL2] = tsz | sl0 << 6 | tg0[granule] << 14 | 5 << 16;
	fake->sysregs[MACHINE_VTTBR_EL2] = s.root | 7ULL << 48;
	for (uint64_t at = FAKE_RAM; at < FAKE_RAM + FAKE_RAM_SIZE; at += 1ULL << granule)
		fake_store(fake, fake_entry(fake, s.root, granule, first, 3, 64 - tsz, at),
			   at | 3 | PTE_AF | S2_READ | S2_WRITE);
	return s;
}

static uint64_t *page_of(struct second *s, uint64_t ipa)
{
	return (uint64_t *)(s->fake->ram + fake_entry(s->fake, s->root, s->granule, s->first, 3,
						      64 - s->tsz, ipa) - FAKE_RAM);
}

TEST(stage_2)
{
	static const struct { unsigned int granule, tsz; int first; } forms[] = {
		{ 12, 24, 0 }, { 12, 25, 1 }, { 12, 22, 1 }, { 12, 30, 1 }, { 12, 31, 2 },
		{ 12, 33, 2 }, { 14, 24, 1 }, { 14, 26, 2 }, { 16, 24, 2 }, { 16, 31, 2 },
	};

	for (unsigned int i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct second s = second_stage(forms[i].granule, forms[i].tsz, forms[i].first);
		struct fake *fake = s.fake;
		const uint64_t ipa = FAKE_RAM + (fake_at(fake, FAKE_BUFFER) - fake->ram);
		const uint64_t root = fake->sysregs[MACHINE_TTBR1_EL1];
		uint64_t physical, contiguous, *page = page_of(&s, ipa), old = *page;

		/* The buffer's page is elsewhere. */
		*page = (old & 0xfff) | 0x123450000000ULL;
		EXPECT_EQ(translate(&fake->pe, FAKE_BUFFER + 0x10, false, &physical, &contiguous),
			  0);
		EXPECT_EQ(physical, 0x123450000010 + (ipa & ((1U << s.granule) - 1)));
		EXPECT_EQ(contiguous, 0xff0);
		*page = old & ~S2_WRITE;
		EXPECT_EQ(translate(&fake->pe, FAKE_BUFFER, false, &physical, &contiguous),
			  STAGE2 | 0xf);
		*page = old & ~PTE_AF;
		EXPECT_EQ(translate(&fake->pe, FAKE_BUFFER, false, &physical, &contiguous),
			  STAGE2 | 0xb);
		*page = 0;
		EXPECT_EQ(translate(&fake->pe, FAKE_BUFFER, false, &physical, &contiguous),
			  STAGE2 | 7);
		EXPECT_EQ(translate(&fake->pe, ipa, true, &physical, &contiguous), STAGE2 | 7);
		*page = old;
		/* A table of stage 1 that stage 2 does not have. */
		page = page_of(&s, root);
		old = *page;
		*page = 0;
		EXPECT_EQ(translate(&fake->pe, FAKE_BUFFER, false, &physical, &contiguous),
			  STAGE2 | 7);
		/* ... or may only write; that it may only be read does not matter. */
		*page = old & ~S2_READ;
		EXPECT_EQ(translate(&fake->pe, FAKE_BUFFER, false, &physical, &contiguous),
			  STAGE2 | 0xf);
		*page = old & ~S2_WRITE;
		EXPECT_EQ(translate(&fake->pe, FAKE_BUFFER, false, &physical, &contiguous), 0);
		*page = old;
		/* An address beyond what it covers; output addresses of 32 bits. */
		EXPECT_EQ(translate(&fake->pe, 1ULL << (64 - s.tsz), true, &physical, &contiguous),
			  STAGE2 | 4);
		fake->sysregs[MACHINE_VTCR_EL2] &= ~(7ULL << 16);
		page = page_of(&s, ipa);
		*page |= 1ULL << 40;
		EXPECT_EQ(translate(&fake->pe, ipa, true, &physical, &contiguous), STAGE2 | 3);
		/* EL2 has no second stage. */
		fake->pe.mdcr_el2 = 0;
		EXPECT_EQ(translate(&fake->pe, ipa, true, &physical, &contiguous), 0);
		fake_free(fake);
	}
}

/* VTCR_EL2.HA and HD, where the buffer manages both; tables as SCTLR_EL2.EE says. */
TEST(flags_and_endianness_of_stage_2)
{
	struct second s = second_stage(12, 25, 1);
	struct fake *fake = s.fake;
	const uint64_t ipa = FAKE_RAM + (fake_at(fake, FAKE_BUFFER) - fake->ram);
	uint64_t *vtcr = &fake->sysregs[MACHINE_VTCR_EL2], *page = page_of(&s, ipa), old = *page;
	uint64_t physical, contiguous;

	fake->pe.buffer.options.flag_update = true;
	*page = old & ~PTE_AF;
	EXPECT_EQ(translate(&fake->pe, ipa, true, &physical, &contiguous), STAGE2 | 0xb);
	*vtcr |= 1 << 21;
	EXPECT_EQ(translate(&fake->pe, ipa, true, &physical, &contiguous), 0);
	*page = (old & ~S2_WRITE) | PTE_DBM;
	EXPECT_EQ(translate(&fake->pe, ipa, true, &physical, &contiguous), STAGE2 | 0xf);
	*vtcr |= 1 << 22;
	EXPECT_EQ(translate(&fake->pe, ipa, true, &physical, &contiguous), 0);
	*page = old & ~S2_WRITE;
	EXPECT_EQ(translate(&fake->pe, ipa, true, &physical, &contiguous), STAGE2 | 0xf);
	*page = old & ~PTE_AF;
	fake->pe.buffer.options.flag_update = false;
	EXPECT_EQ(translate(&fake->pe, ipa, true, &physical, &contiguous), STAGE2 | 0xb);
	*page = old;
	for (uint64_t at = s.root; at < fake->next_page; at += 8)
		fake_store(fake, at, __builtin_bswap64(fake_load(fake, at)));
	EXPECT_NE(translate(&fake->pe, ipa, true, &physical, &contiguous), 0);
	fake->sysregs[MACHINE_SCTLR_EL2] |= 1 << 25;
	EXPECT_EQ(translate(&fake->pe, ipa, true, &physical, &contiguous), 0);
	EXPECT_EQ(physical, ipa);
	fake_free(fake);
}

/* A block of stage 1 over pages of stage 2 reaches as far as the page. */
TEST(block_over_pages)
{
	struct second s = second_stage(12, 25, 1);
	struct fake *fake = s.fake;
	uint64_t physical, contiguous;

	fake_store(fake, fake_entry(fake, fake->sysregs[MACHINE_TTBR0_EL1], 12, 0, 2, 48,
				    0x80200000),
		   (FAKE_RAM + 0x200000) | PTE_VALID | PTE_AF);
	*page_of(&s, FAKE_RAM + 0x201000) ^= 0x555000000;
	EXPECT_EQ(translate(&fake->pe, 0x80200080, false, &physical, &contiguous), 0);
	EXPECT_EQ(physical, FAKE_RAM + 0x200080);
	EXPECT_EQ(contiguous, 0xf80);
	EXPECT_EQ(translate(&fake->pe, 0x80201000, false, &physical, &contiguous), 0);
	EXPECT_EQ(physical, (FAKE_RAM + 0x201000) ^ 0x555000000);
	fake_free(fake);
}

/* Registers of no meaning end, without a read out of bounds of the host. */
TEST_F_TIMEOUT(slow, nonsense, 1500)
{
	struct rng rng = { 1 };

	for (unsigned int i = 0; i < 20000; i++) {
		static struct fake *fake;
		uint64_t physical, contiguous = 0;

		if (!fake)
			fake = fake_new(NULL, NULL, &with_el2);
		if (i % 64 == 0) {
			for (uint64_t at = FAKE_RAM; at < FAKE_RAM + 0x10000; at += 8)
				fake_store(fake, at, (rng_next(&rng) & ~0xffffffff0000ULL) |
					   FAKE_RAM | (rng_next(&rng) & 0xf003));
		}
		for (unsigned int r = 0; r < MACHINE_REGISTERS; r++)
			fake->sysregs[r] = rng_next(&rng) & (i % 2 ? ~0ULL : 0xffff) &
					   (i % 3 ? rng_next(&rng) : ~0ULL);
		fake->sysregs[MACHINE_TTBR0_EL1] = fake->sysregs[MACHINE_VTTBR_EL2] = FAKE_RAM;
		fake->pe.mdcr_el2 = rng_next(&rng);
		fake->pe.buffer.options.flag_update = rng_next(&rng) & 1;
		if (!translate(&fake->pe, rng_next(&rng) >> rng_below(&rng, 40), i % 5 == 0,
			       &physical, &contiguous))
			ASSERT_NE(contiguous, 0);
	}
}

TEST_HARNESS_MAIN
