// SPDX-License-Identifier: GPL-2.0-or-later
/* Translation tables of 48 bits, any granule; DDI 0487 D8. */
#include "bare.h"

#define VALID		1UL
#define TABLE		2UL		/* and of a page */
#define ATTRIBUTE(n)	((u64)(n) << 2)
#define AP_EL0		(1UL << 6)
#define AP_READ_ONLY	(1UL << 7)
#define SHARED		(3UL << 8)
#define AF		(1UL << 10)
#define NG		(1UL << 11)
#define PXN		(1UL << 53)
#define UXN		(1UL << 54)
#define APTABLE_READ_ONLY (1UL << 62)
#define S2_MEMORY	(0xfUL << 2)
#define S2_READ		(1UL << 6)
#define S2_WRITE	(1UL << 7)
#define ADDRESS		0x0000fffffffff000UL

static u64 next_table;

void mmu_boot(void)
{
	next_table = TABLES;
}

static u64 bias(void)
{
	return READ(sctlr_el1) & 1 ? KERNEL : 0;
}

/*
 * The MMU of this CPU is on: tables are reached in the kernel half. At EL2 without VHE it is off.
 */
static u64 *reach(u64 address)
{
	bool hyper = (READ(CurrentEL) >> 2 & 3) == 2 && boot.mode == MODE_NVHE;

	return (u64 *)(address + (hyper ? 0 : bias()));
}

u64 *mmu_new_root(void)
{
	u64 size = 1UL << boot.granule, table = next_table;

	if (table + size > TABLES + TABLES_SIZE)
		panic("no room for translation tables");
	next_table += size;
	memset(reach(table), 0, size);
	return (u64 *)table;
}

u64 *mmu_root(u64 virtual)
{
	return (u64 *)((virtual >> 63 ? READ(ttbr1_el1) : READ(ttbr0_el1)) & ADDRESS);
}

static u64 attributes(enum access access)
{
	u64 memory = VALID | SHARED;

	switch (access) {
	case ACCESS_KERNEL: return memory | AF | UXN;
	case ACCESS_DEVICE: return VALID | AF | ATTRIBUTE(1) | UXN | PXN;
	case ACCESS_DATA: return memory | AF | NG | AP_EL0 | UXN | PXN;
	case ACCESS_CODE: return memory | AF | NG | AP_EL0 | AP_READ_ONLY;
	case ACCESS_READ_ONLY: return memory | AF | AP_READ_ONLY | UXN | PXN;
	case ACCESS_NO_FLAG: return memory | UXN | PXN;
	case ACCESS_STAGE2: return memory | AF | S2_MEMORY | S2_READ | S2_WRITE;
	case ACCESS_STAGE2_READ_ONLY: return memory | AF | S2_MEMORY | S2_READ;
	case ACCESS_STAGE2_DEVICE: return VALID | AF | S2_READ | S2_WRITE | 1UL << 2;
	case ACCESS_NONE: break;
	}
	return 0;
}

/* Where blocks are: 4K levels 1, 2; 16K and 64K level 2. */
static bool may_block(unsigned int shift)
{
	switch (boot.granule) {
	case 12: return shift == 30 || shift == 21;
	case 14: return shift == 25;
	default: return shift == 29;
	}
}

/* The descriptor of `virtual` at the level that maps 1 << *shift bytes, tables made on the way. */
static u64 *walk(u64 *root, u64 virtual, unsigned int shift, bool *conflict)
{
	unsigned int bits = boot.granule - 3, level = boot.granule;
	u64 *table = reach((u64)root), *entry;

	*conflict = false;
	while (level + bits < 48)
		level += bits;
	for (;; level -= bits) {
		unsigned int width = level + bits > 48 ? 48 - level : bits;

		entry = table + (virtual >> level & ((1UL << width) - 1));
		if (level == shift)
			return entry;
		if (!(*entry & VALID))
			*entry = (u64)mmu_new_root() | VALID | TABLE;
		if (!(*entry & TABLE)) {
			*conflict = true;
			return entry;
		}
		table = reach(*entry & ADDRESS & ~((1UL << boot.granule) - 1));
	}
}

void mmu_map(u64 *root, u64 virtual, u64 physical, u64 size, enum access access, bool pages)
{
	unsigned int bits = boot.granule - 3;
	bool conflict;

	while (size) {
		unsigned int shift = boot.granule;
		u64 *entry;

		for (unsigned int s = shift + bits; s < 48 && !pages; s += bits)
			if (may_block(s) && !((virtual | physical) & ((1UL << s) - 1)) &&
			    size >= 1UL << s)
				shift = s;
		entry = walk(root, virtual, shift, &conflict);
		if (conflict)
			panic("%lx is in a block already", virtual);
		*entry = access == ACCESS_NONE ? 0 : physical | attributes(access);
		if (access != ACCESS_NONE && shift == boot.granule)
			*entry |= TABLE;
		virtual += 1UL << shift;
		physical += 1UL << shift;
		size -= size < 1UL << shift ? size : 1UL << shift;
	}
}

static void forget(void)
{
	__asm__ volatile("dsb ish; tlbi vmalle1is; dsb ish; isb" : : : "memory");
}

void mmu_change(u64 virtual, u64 physical, u64 size, enum access access)
{
	mmu_map(mmu_root(virtual), virtual, 0, size, ACCESS_NONE, true);
	forget();
	if (access == ACCESS_NONE)
		return;
	mmu_map(mmu_root(virtual), virtual, physical, size, access, true);
	forget();
}

void mmu_table_read_only(u64 virtual, bool on)
{
	unsigned int bits = boot.granule - 3;
	bool conflict;
	u64 *entry = walk(mmu_root(virtual), virtual, boot.granule + bits, &conflict);

	if (conflict || !(*entry & TABLE))
		panic("%lx is in no table", virtual);
	*entry = on ? *entry | APTABLE_READ_ONLY : *entry & ~APTABLE_READ_ONLY;
	forget();
}

static u64 *stage2;

static void map_stage2(u64 physical, u64 size, enum access access, bool pages)
{
	mmu_map(stage2, physical, physical, size, access, pages);
}

void mmu_start_stage2(void)
{
	/* 39 bits: begins at level 1, which is what entry 0 of level 0 has. */
	u64 vtcr = 25 | 1 << 6 | 1 << 8 | 1 << 10 | 3 << 12 | 2 << 16 | 1UL << 31;
	u64 hcr;

	if (boot.mode != MODE_NVHE || boot.granule != 12)
		panic("stage 2 is for el=nvhe granule=4");
	stage2 = mmu_new_root();
	map_stage2(0x08000000, 0x02000000, ACCESS_STAGE2_DEVICE, false);
	map_stage2(RAM, TRACE_MEMORY - RAM, ACCESS_STAGE2, false);
	map_stage2(TRACE_MEMORY, TRACE_ROOM * CPUS, ACCESS_STAGE2, true);
	map_stage2(COLLECTED, RAM + RAM_SIZE - COLLECTED, ACCESS_STAGE2, false);
	hypercall(HYPER_VTCR, vtcr);
	hypercall(HYPER_VTTBR, reach((u64)stage2)[0] & ADDRESS);
	hcr = hypercall(HYPER_HCR, 1UL << 31 | 3UL << 40 | 1);
	if (hcr & 1)
		panic("stage 2 was on");
	forget();
}

void mmu_change_stage2(u64 physical, u64 size, enum access access)
{
	if (!stage2)
		panic("no stage 2 (stage2=1)");
	map_stage2(physical, size, access, true);
	/* At EL1 this is for stage 1 only: the hypervisor does both. */
	hypercall(HYPER_FORGET, 0);
}
