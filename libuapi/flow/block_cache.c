// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The block cache. Blocks lie in slabs and never move; an open-addressed table of at most half
 * load finds them. Blocks go only all at once (trim), so there are no deletions.
 */
#include <errno.h>
#include <flowtap/block.h>
#include <stdlib.h>

#define DEFAULT_LIMIT	(256U << 20)
#define SLAB_BLOCKS	64
#define FIRST_SLOTS	1024

/* What a decoder touches of a block lies in one line of the CPU's cache. */
struct slab_entry {
	_Alignas(64) struct flowtap_block block;
};

struct slab {
	struct slab *next;
	unsigned int used;
	struct slab_entry entries[SLAB_BLOCKS];
};

_Static_assert(offsetof(struct flowtap_block, stop) <= 64, "a line of the cache");
_Static_assert(sizeof(struct flowtap_block) <= 192, "and what sinks do, in the two after it");

struct slot {
	uint64_t hash;
	struct flowtap_block *block;
};

/* What remains of evicted blocks. */
struct count {
	uint64_t address;
	uint64_t executed;
	uint32_t key;
	uint32_t instructions;
};

struct counts {
	struct count *list;	/* in the order of their first eviction */
	uint32_t *slots;	/* index into list plus 1, 0 free; twice list's capacity */
	uint32_t n;
	uint32_t capacity;	/* a power of two, or 0 */
	uint64_t others;	/* instructions that found no space */
};

struct flowtap_blocks {
	flowtap_block_decode decode;
	size_t limit;
	size_t charged;		/* renderings, and what else lives as long as blocks */
	size_t slab_bytes;
	struct slab *first;	/* in the order of their making */
	struct slab *last;
	struct slot *slots;
	size_t mask;		/* slots - 1 */
	size_t n;
	struct counts evicted;
	struct flowtap_blocks *other;	/* of another decode; NULL: none was asked for */
};

static uint64_t mix(uint64_t value)
{
	value ^= value >> 32;
	value *= 0xd6e8feb86659fd93;
	value ^= value >> 32;
	value *= 0xd6e8feb86659fd93;
	return value ^ value >> 32;
}

/* Where: one ISA's code at an address. */
static uint64_t hash_of(uint32_t key, unsigned int isa, uint64_t address, uint64_t stop)
{
	return mix(address + 0x9e3779b97f4a7c15 * (key + ((uint64_t)isa << 32)) +
		   0xc2b2ae3d27d4eb4f * stop);
}

struct flowtap_blocks *flowtap_blocks_new(flowtap_block_decode decode, size_t limit)
{
	struct flowtap_blocks *blocks = calloc(1, sizeof(*blocks));

	if (!blocks)
		return NULL;
	blocks->decode = decode;
	blocks->limit = limit ? limit : DEFAULT_LIMIT;
	blocks->mask = FIRST_SLOTS - 1;
	blocks->slots = calloc(FIRST_SLOTS, sizeof(*blocks->slots));
	if (!blocks->slots) {
		free(blocks);
		return NULL;
	}
	return blocks;
}

struct flowtap_blocks *flowtap_blocks_of(struct flowtap_blocks *blocks, flowtap_block_decode decode,
					 size_t limit)
{
	while (blocks->decode != decode) {
		if (!blocks->other)
			blocks->other = flowtap_blocks_new(decode, limit);
		if (!blocks->other)
			return NULL;
		blocks = blocks->other;
	}
	return blocks;
}

static void free_slabs(struct flowtap_blocks *blocks)
{
	struct slab *slab, *next;

	for (slab = blocks->first; slab; slab = next) {
		next = slab->next;
		for (unsigned int i = 0; i < slab->used; i++) {
			for (int r = 0; r < FLOWTAP_RENDERINGS; r++)
				free(slab->entries[i].block.render[r].bytes);
		}
		free(slab);
	}
	blocks->first = NULL;
	blocks->last = NULL;
	blocks->slab_bytes = 0;
	blocks->charged = 0;
	blocks->n = 0;
}

void flowtap_blocks_free(struct flowtap_blocks *blocks)
{
	if (!blocks)
		return;
	flowtap_blocks_free(blocks->other);
	free_slabs(blocks);
	free(blocks->slots);
	free(blocks->evicted.list);
	free(blocks->evicted.slots);
	free(blocks);
}

static uint32_t *count_slot(struct counts *counts, uint32_t key, uint64_t address,
			    uint32_t instructions)
{
	uint32_t mask = 2 * counts->capacity - 1;
	uint32_t i = hash_of(key, 0, address, instructions) & mask;
	const struct count *count;

	for (; counts->slots[i]; i = (i + 1) & mask) {
		count = &counts->list[counts->slots[i] - 1];
		if (count->address == address && count->key == key &&
		    count->instructions == instructions)
			break;
	}
	return &counts->slots[i];
}

static size_t count_bytes(size_t capacity)
{
	return capacity * (sizeof(struct count) + 2 * sizeof(uint32_t));
}

/* False where memory or the limit for evicted counts ends. */
static bool grow_counts(struct counts *counts, size_t limit)
{
	size_t capacity = counts->capacity ? 2 * (size_t)counts->capacity : 64;
	struct count *list;
	uint32_t *slots;

	if (count_bytes(capacity) > limit / 2 || capacity > 1U << 30)
		return false;
	slots = calloc(2 * capacity, sizeof(*slots));
	if (!slots)
		return false;
	list = realloc(counts->list, capacity * sizeof(*list));
	if (!list) {
		free(slots);
		return false;
	}
	free(counts->slots);
	counts->list = list;
	counts->slots = slots;
	counts->capacity = capacity;
	for (uint32_t i = 0; i < counts->n; i++)
		*count_slot(counts, list[i].key, list[i].address, list[i].instructions) = i + 1;
	return true;
}

static void keep_count(struct counts *counts, size_t limit, const struct flowtap_block *block)
{
	uint32_t *slot = NULL;

	if (counts->capacity)
		slot = count_slot(counts, block->key, block->address, block->instructions);
	if (slot && *slot) {
		counts->list[*slot - 1].executed += block->executed;
		return;
	}
	if (counts->n == counts->capacity) {
		if (!grow_counts(counts, limit)) {
			counts->others += block->executed * block->instructions;
			return;
		}
		slot = count_slot(counts, block->key, block->address, block->instructions);
	}
	counts->list[counts->n] = (struct count){
		.address = block->address,
		.executed = block->executed,
		.key = block->key,
		.instructions = block->instructions,
	};
	*slot = ++counts->n;
}

bool flowtap_blocks_trim(struct flowtap_blocks *blocks)
{
	size_t slot_bytes = (blocks->mask + 1) * sizeof(struct slot);
	struct slot *slots;

	if (blocks->slab_bytes + blocks->charged + slot_bytes +
			    count_bytes(blocks->evicted.capacity) <
		    blocks->limit ||
	    !blocks->n)
		return false;
	for (struct slab *slab = blocks->first; slab; slab = slab->next) {
		for (unsigned int i = 0; i < slab->used; i++) {
			if (slab->entries[i].block.executed)
				keep_count(&blocks->evicted, blocks->limit,
					   &slab->entries[i].block);
		}
	}
	free_slabs(blocks);
	slots = calloc(FIRST_SLOTS, sizeof(*slots));
	if (slots) {
		free(blocks->slots);
		blocks->slots = slots;
		blocks->mask = FIRST_SLOTS - 1;
		return true;
	}
	for (size_t i = 0; i <= blocks->mask; i++)
		blocks->slots[i] = (struct slot){ 0 };
	return true;
}

/* The slot that holds the block, or the free one where it belongs. */
static inline struct slot *find(const struct flowtap_blocks *blocks, uint32_t key,
				unsigned int isa, uint64_t address, uint64_t stop)
{
	uint64_t hash = hash_of(key, isa, address, stop);
	struct slot *slot;

	for (size_t i = hash & blocks->mask;; i = (i + 1) & blocks->mask) {
		slot = &blocks->slots[i];
		if (!slot->block ||
		    (slot->hash == hash && slot->block->address == address &&
		     slot->block->key == key && slot->block->isa == isa &&
		     slot->block->stop == stop))
			return slot;
	}
}

static int grow(struct flowtap_blocks *blocks)
{
	size_t old = blocks->mask + 1;
	struct slot *slots, *from = blocks->slots;
	size_t mask = 2 * old - 1;

	slots = calloc(2 * old, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (size_t n = 0; n < old; n++) {
		size_t i = from[n].hash & mask;

		if (!from[n].block)
			continue;
		while (slots[i].block)
			i = (i + 1) & mask;
		slots[i] = from[n];
	}
	free(from);
	blocks->slots = slots;
	blocks->mask = mask;
	return 0;
}

static struct flowtap_block *new_block(struct flowtap_blocks *blocks)
{
	struct slab *slab = blocks->last;

	if (!slab || slab->used == SLAB_BLOCKS) {
		slab = aligned_alloc(_Alignof(struct slab), sizeof(*slab));
		if (!slab)
			return NULL;
		slab->next = NULL;
		slab->used = 0;
		if (blocks->last)
			blocks->last->next = slab;
		else
			blocks->first = slab;
		blocks->last = slab;
		blocks->slab_bytes += sizeof(*slab);
	}
	return &slab->entries[slab->used++].block;
}

static int insert(struct flowtap_blocks *blocks, const struct flowtap_block *made,
		  struct flowtap_block **block)
{
	struct slot *slot;

	if (2 * (blocks->n + 1) > blocks->mask + 1 && grow(blocks))
		return -ENOMEM;
	slot = find(blocks, made->key, made->isa, made->address, made->stop);
	if (!slot->block) {
		slot->block = new_block(blocks);
		if (!slot->block)
			return -ENOMEM;
		*slot->block = *made;
		slot->hash = hash_of(made->key, made->isa, made->address, made->stop);
		blocks->n++;
	}
	*block = slot->block;
	return 0;
}

static int make(struct flowtap_blocks *blocks, const struct flowtap_code *code,
		enum flowtap_isa isa, uint64_t address, uint64_t stop, struct flowtap_block **block)
{
	const uint8_t *bytes = code->bytes + (address - code->start);
	struct flowtap_block made = {
		.address = address,
		.stop = stop,
		.bytes = bytes,
		.key = code->key,
		.isa = isa,
		.target_isa = isa,
	};
	int status = blocks->decode(&made, bytes, code->end - address);

	if (status)
		return status;
	if (made.end || address + made.size != stop)
		made.stop = 0;
	return insert(blocks, &made, block);
}

int flowtap_blocks_get(struct flowtap_blocks *blocks, const struct flowtap_code *code,
		       enum flowtap_isa isa, uint64_t address, uint64_t stop,
		       struct flowtap_block **block)
{
	uint64_t capacity;
	struct slot *slot;

	if (address < code->start || address >= code->end || !code->bytes ||
	    (stop && stop <= address))
		return -EINVAL;
	capacity = code->end - address;
	if (stop && stop - address < capacity)
		capacity = stop - address;
	slot = find(blocks, code->key, isa, address, 0);
	if ((!slot->block || slot->block->size > capacity) && stop)
		slot = find(blocks, code->key, isa, address, stop);
	if (slot->block && slot->block->size <= capacity) {
		*block = slot->block;
		return 0;
	}
	return make(blocks, code, isa, address, stop, block);
}

int flowtap_blocks_next(struct flowtap_blocks *blocks, const struct flowtap_code *code,
			struct flowtap_block *block, uint64_t stop, struct flowtap_block **next)
{
	struct flowtap_block *known = block->next;
	int status;

	if (known && known->key == code->key && known->size <= code->end - known->address &&
	    (!stop || known->size <= stop - known->address)) {
		*next = known;
		return 0;
	}
	status = flowtap_blocks_get(blocks, code, block->isa, block->address + block->size, stop,
				    next);
	if (!status && !(*next)->stop && (*next)->key == block->key)
		block->next = *next;
	return status;
}

int flowtap_blocks_taken(struct flowtap_blocks *blocks, const struct flowtap_code *code,
			 struct flowtap_block *block, struct flowtap_block **taken)
{
	struct flowtap_block *known = block->taken;
	int status;

	if (known && known->key == code->key && known->size <= code->end - known->address) {
		*taken = known;
		return 0;
	}
	status = flowtap_blocks_get(blocks, code, block->target_isa, block->target, 0, taken);
	if (!status && !(*taken)->stop && (*taken)->key == block->key)
		block->taken = *taken;
	return status;
}

void flowtap_blocks_charge(struct flowtap_blocks *blocks, size_t size)
{
	blocks->charged += size;
}

static void visit_evicted(const struct counts *counts,
			  void (*visit)(const struct flowtap_block *block, void *argument),
			  void *argument)
{
	for (uint32_t i = 0; i < counts->n; i++) {
		struct flowtap_block block = {
			.address = counts->list[i].address,
			.executed = counts->list[i].executed,
			.key = counts->list[i].key,
			.instructions = counts->list[i].instructions,
		};

		visit(&block, argument);
	}
	if (counts->others) {
		struct flowtap_block block = {
			.executed = counts->others,
			.key = UINT32_MAX,
			.instructions = 1,
		};

		visit(&block, argument);
	}
}

void flowtap_blocks_visit(struct flowtap_blocks *blocks,
			  void (*visit)(const struct flowtap_block *block, void *argument),
			  void *argument)
{
	for (; blocks; blocks = blocks->other) {
		for (struct slab *slab = blocks->first; slab; slab = slab->next) {
			for (unsigned int i = 0; i < slab->used; i++) {
				if (slab->entries[i].block.executed)
					visit(&slab->entries[i].block, argument);
			}
		}
		visit_evicted(&blocks->evicted, visit, argument);
	}
}
