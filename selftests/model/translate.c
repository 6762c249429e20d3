// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Translation of the trace buffer's addresses by the guest's own tables (VMSAv8-64, DDI 0487 D8):
 * stage 1 of the EL1&0, EL2&0 or EL2 regime, stage 2 of EL1&0. Tables are read from the machine's
 * memory, little or big endian. Nothing is cached here.
 *
 * Not modelled: permission indirection and overlays (TCR2.PIE), the 128-bit descriptors of
 * FEAT_D128, granule protection, memory types, the update of the access flag and the dirty state in
 * memory (where the hardware would do it, the write is allowed).
 */
#include "trace_buffer_internal.h"

#define HCR_VM		(1ULL << 0)
#define HCR_E2H		(1ULL << 34)
#define SCTLR_M		(1ULL << 0)
#define SCTLR_EE	(1ULL << 25)

#define EC_STAGE1	(0x24ULL << 26)
#define EC_STAGE2	(0x25ULL << 26)

#define FSC_ADDRESS_SIZE	0x00
#define FSC_TRANSLATION		0x04
#define FSC_ACCESS_FLAG		0x08
#define FSC_PERMISSION		0x0c
#define FSC_EXTERNAL_WALK	0x14	/* on a table walk */
/* FEAT_LPA2: level -1 has codes of its own. */
#define FSC_ADDRESS_SIZE_M1	0x29
#define FSC_TRANSLATION_M1	0x2b
#define FSC_EXTERNAL_WALK_M1	0x13

#define DESC_VALID	(1ULL << 0)
#define DESC_TABLE	(1ULL << 1)	/* at the last level: a page */
#define DESC_AF		(1ULL << 10)
#define DESC_AP2	(1ULL << 7)	/* stage 1: read-only */
#define DESC_S2AP_R	(1ULL << 6)	/* stage 2: readable */
#define DESC_S2AP_W	(1ULL << 7)	/* ... writable */
#define DESC_DBM	(1ULL << 51)
#define DESC_APTABLE_RO	(1ULL << 62)

/* One stage of a translation: where it begins and what it allows. */
struct walk {
	struct pe *pe;
	uint64_t ec;
	uint64_t ttbr;
	unsigned int tsz;
	unsigned int granule;		/* log2 of bytes: 12, 14, 16 */
	unsigned int output;		/* bits of output addresses */
	int level;			/* the first one; -1 with FEAT_LPA2 */
	bool ds;			/* FEAT_LPA2's descriptors */
	bool big_endian;
	bool ha, hd;			/* hardware manages the access flag, the dirty state */
	bool hierarchical;		/* APTable counts */
	bool second;			/* it is stage 2 */
	bool reads;			/* ... of a table's address, which is only read */
	bool nested;			/* table addresses are intermediate physical */
};

/* write: of trace; else a descriptor of stage 1 is read. */
static uint64_t stage2(struct pe *pe, uint64_t ipa, bool write, uint64_t *physical,
		       uint64_t *contiguous);

static uint64_t sysreg(const struct pe *pe, enum machine_register which)
{
	return pe->machine->sysreg(pe->machine->opaque, pe->config.index, which);
}

static uint64_t mask(unsigned int bits)
{
	return bits >= 64 ? ~0ULL : (1ULL << bits) - 1;
}

static uint64_t fault(const struct walk *walk, unsigned int fsc, int level)
{
	if (level < 0) {
		fsc = fsc == FSC_ADDRESS_SIZE ? FSC_ADDRESS_SIZE_M1 :
		      fsc == FSC_EXTERNAL_WALK ? FSC_EXTERNAL_WALK_M1 : FSC_TRANSLATION_M1;
		level = 0;
	}
	return walk->ec | fsc | (unsigned int)level;
}

/* TCR.PS, IPS, VTCR.PS: bits of physical addresses; 52 need the descriptors for them. */
static unsigned int output_size(unsigned int ps, bool ds, unsigned int granule)
{
	static const uint8_t sizes[8] = { 32, 36, 40, 42, 44, 48, 52, 52 };

	return sizes[ps] > 48 && !ds && granule != 16 ? 48 : sizes[ps];
}

/* The output address of a descriptor, all bits that it may have. */
static uint64_t descriptor_address(const struct walk *walk, uint64_t descriptor)
{
	uint64_t address = descriptor & mask(walk->ds ? 50 : 48) & ~mask(walk->granule);

	if (walk->ds)
		address |= (descriptor >> 8 & 3) << 50;
	else if (walk->granule == 16)
		address |= (descriptor >> 12 & 15) << 48;
	return address;
}

/* A descriptor from memory; tables of a guest are at intermediate physical addresses. */
static uint64_t fetch(const struct walk *walk, uint64_t address, int level, uint64_t *descriptor)
{
	const struct pe *pe = walk->pe;
	uint64_t contiguous, failed;
	uint8_t bytes[8];

	if (walk->nested) {
		failed = stage2(walk->pe, address, false, &address, &contiguous);
		if (failed)
			return failed;
	}
	if (!pe->machine->read(pe->machine->opaque, pe->config.index, address, bytes, 8))
		return fault(walk, FSC_EXTERNAL_WALK, level);
	*descriptor = 0;
	for (unsigned int i = 0; i < 8; i++)
		*descriptor |= (uint64_t)bytes[walk->big_endian ? 7 - i : i] << 8 * i;
	return 0;
}

/* Whether a block (or page) may be at this level. */
static bool is_leaf(const struct walk *walk, uint64_t descriptor, int level, bool *valid)
{
	*valid = true;
	if (level == 3) {
		*valid = descriptor & DESC_TABLE;
		return true;
	}
	if (descriptor & DESC_TABLE)
		return false;
	switch (walk->granule) {
	case 12:
		*valid = level == 2 || level == 1 || (level == 0 && walk->ds);
		break;
	case 14:
		*valid = level == 2 || (level == 1 && walk->ds);
		break;
	default:
		*valid = level == 2 || level == 1;	/* 1: FEAT_LPA */
		break;
	}
	return true;
}

static uint64_t check_leaf(const struct walk *walk, uint64_t descriptor, int level, bool read_only)
{
	bool writable;

	if (!(descriptor & DESC_AF) && !walk->ha)
		return fault(walk, FSC_ACCESS_FLAG, level);
	if (walk->reads)
		return descriptor & DESC_S2AP_R ? 0 : fault(walk, FSC_PERMISSION, level);
	if (walk->second)
		writable = descriptor & DESC_S2AP_W;
	else
		writable = !(descriptor & DESC_AP2);
	/* Clean, and the hardware would make it dirty. */
	if (walk->hd && descriptor & DESC_DBM)
		writable = true;
	return writable && !read_only ? 0 : fault(walk, FSC_PERMISSION, level);
}

/* The bits of the input address below which a level's descriptors reach. */
static unsigned int shift_of(const struct walk *walk, int level)
{
	return walk->granule + (3 - level) * (walk->granule - 3);
}

static uint64_t run(const struct walk *walk, uint64_t input, uint64_t *physical,
		    uint64_t *contiguous)
{
	const unsigned int top = 64 - walk->tsz;
	uint64_t table = walk->ttbr;
	bool read_only = false;
	uint64_t descriptor, failed, index;

	for (int level = walk->level; level <= 3; level++) {
		const unsigned int shift = shift_of(walk, level);
		const unsigned int above = level == walk->level ? top : shift + walk->granule - 3;
		bool valid;

		index = (input & mask(above)) >> shift;
		failed = fetch(walk, table + 8 * index, level, &descriptor);
		if (failed)
			return failed;
		if (!(descriptor & DESC_VALID))
			return fault(walk, FSC_TRANSLATION, level);
		if (!is_leaf(walk, descriptor, level, &valid)) {
			table = descriptor_address(walk, descriptor);
			if (table & ~mask(walk->output))
				return fault(walk, FSC_ADDRESS_SIZE, level);
			read_only |= walk->hierarchical && descriptor & DESC_APTABLE_RO;
			continue;
		}
		if (!valid)
			return fault(walk, FSC_TRANSLATION, level);
		*physical = descriptor_address(walk, descriptor) & ~mask(shift);
		if (*physical & ~mask(walk->output))
			return fault(walk, FSC_ADDRESS_SIZE, level);
		failed = check_leaf(walk, descriptor, level, read_only);
		if (failed)
			return failed;
		*physical |= input & mask(shift);
		*contiguous = (1ULL << shift) - (input & mask(shift));
		return 0;
	}
	return fault(walk, FSC_TRANSLATION, 3);	/* not reached: level 3 has no tables */
}

/* The first table of a walk: its level by the size of the input, its address of the TTBR. */
static void begin(struct walk *walk)
{
	const unsigned int stride = walk->granule - 3;
	const unsigned int top = 64 - walk->tsz;
	unsigned int levels = (top - walk->granule + stride - 1) / stride;

	if (!levels)
		levels = 1;
	walk->level = 4 - (int)levels;
}

/* Bits 51:48 of the table's address are in TTBR[5:2] where addresses have 52 bits. */
static void set_table(struct walk *walk, uint64_t ttbr)
{
	const unsigned int index_bits = 64 - walk->tsz - shift_of(walk, walk->level);
	const unsigned int low = index_bits + 3;
	uint64_t table = ttbr & mask(48) & ~1ULL;

	if (walk->output > 48) {
		table = (table & ~mask(6)) | (ttbr >> 2 & 15) << 48;
		walk->ttbr = table & ~mask(low < 6 ? 6 : low);
	} else {
		walk->ttbr = table & ~mask(low);
	}
}

static uint64_t stage2(struct pe *pe, uint64_t ipa, bool write, uint64_t *physical,
		       uint64_t *contiguous)
{
	static const uint8_t granules[4] = { 12, 16, 14, 0 };
	const uint64_t vtcr = sysreg(pe, MACHINE_VTCR_EL2);
	const unsigned int sl0 = vtcr >> 6 & 3;
	const bool flags = pe->buffer.options.flag_update;
	struct walk walk = {
		.pe = pe,
		.ec = EC_STAGE2,
		.tsz = vtcr & 63,
		.granule = granules[vtcr >> 14 & 3],
		.ds = vtcr >> 32 & 1,
		.big_endian = sysreg(pe, MACHINE_SCTLR_EL2) & SCTLR_EE,
		.ha = flags && vtcr >> 21 & 1,
		.hd = flags && (vtcr >> 21 & 3) == 3,
		.second = true,
		.reads = !write,
	};

	if (!walk.granule || walk.tsz > 48 || walk.tsz < 12)
		return fault(&walk, FSC_TRANSLATION, 0);
	walk.ds &= walk.granule != 16;
	walk.output = output_size(vtcr >> 16 & 7, walk.ds, walk.granule);
	/* SL0 and SL2, with the code for level 3 of the 4 KB granule. */
	if (walk.granule == 12)
		walk.level = vtcr >> 33 & 1 && walk.ds ? -1 : sl0 == 3 ? 3 : 2 - (int)sl0;
	else
		walk.level = 3 - (int)sl0;
	/* The first level may have up to 16 concatenated tables, not more; and has to reach far
	 * enough. */
	if (64 - walk.tsz > shift_of(&walk, walk.level) + walk.granule - 3 + 4 ||
	    64 - walk.tsz <= shift_of(&walk, walk.level) || ipa & ~mask(64 - walk.tsz))
		return fault(&walk, FSC_TRANSLATION, 0);
	set_table(&walk, sysreg(pe, MACHINE_VTTBR_EL2));
	return run(&walk, ipa, physical, contiguous);
}

/* Stage 1 of a regime with TCR_EL1's format: EL1&0, EL2&0. */
static bool two_halves(struct walk *walk, uint64_t tcr, bool upper)
{
	static const uint8_t granules0[4] = { 12, 16, 14, 0 }, granules1[4] = { 0, 14, 12, 16 };
	const bool flags = walk->pe->buffer.options.flag_update;

	if (tcr >> (upper ? 23 : 7) & 1)		/* EPD1, EPD0 */
		return false;
	walk->tsz = tcr >> (upper ? 16 : 0) & 63;
	walk->granule = upper ? granules1[tcr >> 30 & 3] : granules0[tcr >> 14 & 3];
	walk->ds = tcr >> 59 & 1 && walk->granule != 16;
	walk->output = output_size(tcr >> 32 & 7, walk->ds, walk->granule);
	walk->ha = flags && tcr >> 39 & 1;
	walk->hd = flags && (tcr >> 39 & 3) == 3;
	walk->hierarchical = !(tcr >> (upper ? 42 : 41) & 1);	/* HPD1, HPD0 */
	return true;
}

/* ... with TCR_EL2's of its own: EL2. */
static bool one_half(struct walk *walk, uint64_t tcr)
{
	static const uint8_t granules[4] = { 12, 16, 14, 0 };
	const bool flags = walk->pe->buffer.options.flag_update;

	walk->tsz = tcr & 63;
	walk->granule = granules[tcr >> 14 & 3];
	walk->ds = tcr >> 32 & 1 && walk->granule != 16;
	walk->output = output_size(tcr >> 16 & 7, walk->ds, walk->granule);
	walk->ha = flags && tcr >> 21 & 1;
	walk->hd = flags && (tcr >> 21 & 3) == 3;
	walk->hierarchical = !(tcr >> 24 & 1);
	return true;
}

/* The address without its tag, sign-extended as the half has it; false: not canonical. */
static bool canonical(uint64_t *address, bool tbi, bool upper, unsigned int tsz)
{
	const uint64_t high = ~mask(64 - tsz);

	if (tbi)
		*address = upper ? *address | 0xffULL << 56 : *address & mask(56);
	return (*address & high) == (upper ? high : 0);
}

/* Translation of a virtual address by stage 1: an intermediate physical address comes out. */
static uint64_t stage1(struct pe *pe, uint64_t address, bool nested, uint64_t *output,
		       uint64_t *contiguous)
{
	const bool el2 = trace_buffer_owning_el(&pe->buffer) == 2;
	const bool e2h = el2 && sysreg(pe, MACHINE_HCR_EL2) & HCR_E2H;
	const uint64_t sctlr = sysreg(pe, el2 ? MACHINE_SCTLR_EL2 : MACHINE_SCTLR_EL1);
	const uint64_t tcr = sysreg(pe, el2 ? MACHINE_TCR_EL2 : MACHINE_TCR_EL1);
	const bool halves = !el2 || e2h;
	const bool upper = halves && address >> 55 & 1;
	struct walk walk = {
		.pe = pe,
		.ec = EC_STAGE1,
		.big_endian = sctlr & SCTLR_EE,
		.nested = nested,
	};
	bool tbi;

	if (!(sctlr & SCTLR_M)) {
		*output = address;
		*contiguous = 4096 - (address & 4095);
		return address & ~mask(52) ? fault(&walk, FSC_ADDRESS_SIZE, 0) : 0;
	}
	tbi = halves ? tcr >> (upper ? 38 : 37) & 1 : tcr >> 20 & 1;
	if (!(halves ? two_halves(&walk, tcr, upper) : one_half(&walk, tcr)) || !walk.granule)
		return fault(&walk, FSC_TRANSLATION, 0);
	/* 48 is the largest T0SZ there is (47 for 64 KB, FEAT_TTST); below 16: 52-bit addresses. */
	if (walk.tsz > (walk.granule == 16 ? 47U : 48U) || walk.tsz < 12 ||
	    (walk.tsz < 16 && walk.granule != 16 && !walk.ds) ||
	    !canonical(&address, tbi, upper, walk.tsz))
		return fault(&walk, FSC_TRANSLATION, 0);
	begin(&walk);
	set_table(&walk, sysreg(pe, el2 ? (upper ? MACHINE_TTBR1_EL2 : MACHINE_TTBR0_EL2) :
				    (upper ? MACHINE_TTBR1_EL1 : MACHINE_TTBR0_EL1)));
	if (walk.ttbr & ~mask(walk.output))
		return fault(&walk, FSC_ADDRESS_SIZE, 0);
	return run(&walk, address, output, contiguous);
}

uint64_t translate(struct pe *pe, uint64_t address, bool nvm, uint64_t *physical,
		   uint64_t *contiguous)
{
	const bool nested = pe->config.el2 && trace_buffer_owning_el(&pe->buffer) == 1 &&
			    sysreg(pe, MACHINE_HCR_EL2) & HCR_VM;
	uint64_t reach = ~0ULL, failed;

	if (nvm) {
		*contiguous = 4096 - (address & 4095);
		*physical = address;
	} else {
		failed = stage1(pe, address, nested, physical, contiguous);
		if (failed)
			return failed;
	}
	if (!nested)
		return 0;
	failed = stage2(pe, *physical, true, physical, &reach);
	if (reach < *contiguous)
		*contiguous = reach;
	return failed;
}
