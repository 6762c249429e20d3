// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which code stood where: pages made of what was executed. Each user address space (by the context
 * IDs that are traced) has its own; a page in which other code was executed than before gets a new
 * version, which holds from the entry to the exception level on: between two of them no other
 * process comes, but where the trace names none several of them share a version, as long as they
 * agree. Above EL0 there is one space, whose code other CPUs patch at any time. There each word for
 * itself has a version, the one of its next execution: what a decoder keeps ends before a word that
 * changes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "history.h"

#define PAGE		4096
#define WORDS		(PAGE / 4)
#define BUCKETS		(1U << 16)
#define NO_VERSION	UINT32_MAX

struct version {
	struct flowtap_code code;	/* bytes: `words` */
	uint64_t page;
	uint64_t space;			/* of EL0, both context IDs; of higher levels 0 */
	bool user;
	bool current;
	uint32_t chain;			/* the one before it in the bucket */
	size_t last;			/* item in which it was executed at last */
	size_t before;			/* the same, up to the last entry before that */
	uint32_t born, entry;		/* the entries it was made in, and executed in at last */
	uint64_t touched[WORDS / 64];	/* since that entry */
	uint32_t words[WORDS];
	uint64_t known[WORDS / 64];
	size_t *executed;		/* above EL0: the item in which each word was at last, + 1 */
	struct flowtap_code *parts;	/* by address, of a page that has several versions above EL0 */
	unsigned int nparts;
};

struct history_code {
	struct version **versions;
	size_t n;
	uint32_t buckets[BUCKETS];
	uint32_t entry;			/* how many exception levels were entered */
	/* For each block the version that it was last found to agree with; whole in one page. */
	uint32_t *agrees;
	size_t nagrees;
	struct version **sorted;	/* by page, once all was added */
	uint64_t keys;			/* how many code objects have one */
};

struct history_code *history_code_new(void)
{
	struct history_code *code = calloc(1, sizeof(*code));

	if (code)
		memset(code->buckets, 0xff, sizeof(code->buckets));
	return code;
}

void history_code_free(struct history_code *code)
{
	if (!code)
		return;
	for (size_t i = 0; i < code->n; i++) {
		free(code->versions[i]->executed);
		free(code->versions[i]->parts);
		free(code->versions[i]);
	}
	free(code->versions);
	free(code->sorted);
	free(code->agrees);
	free(code);
}

/* TRCCONFIGR.CID, VMID: an address space that the trace does not name is all the same. */
static uint64_t space_of(bool user, const struct history_state *state, uint32_t configr)
{
	uint64_t space = 0;

	if (user && configr >> 6 & 1)
		space = state->contextidr_el1;
	if (user && configr >> 7 & 1)
		space |= (uint64_t)state->contextidr_el2 << 32;
	return space;
}

static uint32_t *bucket(struct history_code *code, bool user, uint64_t space, uint64_t page)
{
	uint64_t hash = (page / PAGE + (space << 1 | user) * 0x9e3779b97f4a7c15ULL) *
			0xd6e8feb86659fd93ULL;

	return &code->buckets[(hash >> 40) & (BUCKETS - 1)];
}

static bool is(const struct version *version, bool user, uint64_t space, uint64_t page)
{
	return version->page == page && version->space == space && version->user == user;
}

/* The version that holds now; a new one if there is none. */
static struct version *current(struct history_code *code, bool user, uint64_t space, uint64_t page,
			       bool fresh, uint32_t *number)
{
	uint32_t *head = bucket(code, user, space, page);
	struct version *version;

	for (uint32_t i = *head; i != NO_VERSION; i = code->versions[i]->chain) {
		version = code->versions[i];
		if (!version->current || !is(version, user, space, page))
			continue;
		*number = i;
		if (!fresh)
			return version;
		version->current = false;
		break;
	}
	if (code->n == NO_VERSION)
		return NULL;
	if (!(code->n & (code->n - 1))) {
		struct version **more = realloc(code->versions,
						(code->n ? 2 * code->n : 1) * sizeof(*more));

		if (!more)
			return NULL;
		code->versions = more;
	}
	version = calloc(1, sizeof(*version));
	if (version && !user)
		version->executed = calloc(WORDS, sizeof(*version->executed));
	if (!version || (!user && !version->executed)) {
		free(version);
		return NULL;
	}
	version->code = (struct flowtap_code){
		.start = page, .end = page + PAGE, .until = UINT64_MAX, .path = "log",
		.bytes = (const uint8_t *)version->words, .key = code->keys++, .file = UINT32_MAX,
	};
	version->page = page;
	version->space = space;
	version->user = user;
	version->born = version->entry = code->entry;
	version->current = true;
	version->chain = *head;
	*number = *head = code->n;
	code->versions[code->n++] = version;
	return version;
}

static bool agrees(const struct version *version, unsigned int at, const uint32_t *opcodes,
		   uint32_t n)
{
	for (uint32_t i = 0; i < n; i++, at++)
		if (version->known[at / 64] >> at % 64 & 1 && version->words[at] != opcodes[i])
			return false;
	return true;
}

/* n words were executed. */
static void touch(const struct history_code *code, struct version *version, unsigned int at,
		  uint32_t n, size_t item)
{
	if (version->entry != code->entry) {
		version->entry = code->entry;
		version->before = version->last;
		memset(version->touched, 0, sizeof(version->touched));
	}
	for (uint32_t i = 0; i < n; i++) {
		version->touched[(at + i) / 64] |= 1ULL << (at + i) % 64;
		if (version->executed)
			version->executed[at + i] = item + 1;
	}
	version->last = item;
}

/*
 * What was executed since the last entry to EL0 was the new version's, though the old one had
 * agreed; unless the code changed just now. Above EL0 there is one space: its code is what it was
 * until a module or a patch replaced it, which can be within an entry.
 */
static void move(const struct history_code *code, struct version *old, struct version *version,
		 unsigned int at, const uint32_t *opcodes, uint32_t n)
{
	if (!old->user || old->born == code->entry || old->entry != code->entry)
		return;
	for (uint32_t i = 0; i < n; i++, at++)
		if (old->touched[at / 64] >> at % 64 & 1 && old->words[at] != opcodes[i])
			return;
	for (at = 0; at < WORDS; at++)
		if (old->touched[at / 64] >> at % 64 & 1)
			version->words[at] = old->words[at];
	memcpy(version->known, old->touched, sizeof(version->known));
	memcpy(version->touched, old->touched, sizeof(version->touched));
	old->last = old->before;
}

static int add_part(struct history_code *code, bool user, uint64_t space, uint64_t address,
		    const uint32_t *opcodes, uint32_t n, size_t item, uint32_t *number)
{
	unsigned int at = address % PAGE / 4;
	struct version *version, *old;

	version = old = current(code, user, space, address - address % PAGE, false, number);
	if (version && !agrees(version, at, opcodes, n)) {
		version = current(code, user, space, address - address % PAGE, true, number);
		if (version)
			move(code, old, version, at, opcodes, n);
	}
	if (!version)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		version->words[at + i] = opcodes[i];
		version->known[(at + i) / 64] |= 1ULL << (at + i) % 64;
	}
	touch(code, version, at, n, item);
	return 0;
}

void history_code_enter(struct history_code *code)
{
	code->entry++;
}

static int room_for(struct history_code *code, uint32_t index)
{
	size_t n = code->nagrees ? code->nagrees : 1024;
	uint32_t *more;

	if (index < code->nagrees)
		return 0;
	while (n <= index)
		n *= 2;
	more = realloc(code->agrees, n * sizeof(*more));
	if (!more)
		return -ENOMEM;
	memset(more + code->nagrees, 0xff, (n - code->nagrees) * sizeof(*more));
	code->agrees = more;
	code->nagrees = n;
	return 0;
}

int history_code_add(struct history_code *code, uint32_t index, const struct log_block *block,
		     const struct history_state *state, uint32_t configr, size_t item)
{
	bool user = state->el == 0;
	uint64_t space = space_of(user, state, configr), address = block->address;
	uint32_t done = 0, number = NO_VERSION;
	int err = room_for(code, index);

	if (err)
		return err;
	number = code->agrees[index];
	if (number != NO_VERSION && code->versions[number]->current &&
	    is(code->versions[number], user, space, address - address % PAGE)) {
		touch(code, code->versions[number], address % PAGE / 4, block->n, item);
		return 0;
	}
	while (done < block->n) {
		uint32_t part = (PAGE - address % PAGE) / 4;

		if (part > block->n - done)
			part = block->n - done;
		err = add_part(code, user, space, address, block->opcodes + done, part, item,
			       &number);
		if (err)
			return err;
		code->agrees[index] = part == block->n ? number : NO_VERSION;
		done += part;
		address += 4 * (uint64_t)part;
	}
	return 0;
}

static int by_page(const void *a, const void *b)
{
	const struct version *x = *(struct version *const *)a, *y = *(struct version *const *)b;

	if (x->user != y->user)
		return x->user - y->user;
	return (x->page > y->page) - (x->page < y->page);
}

static bool known(const struct version *version, unsigned int at)
{
	return version->known[at / 64] >> at % 64 & 1;
}

/* What versions do not know they have from the first that does. */
static void fill(struct version **versions, size_t n)
{
	for (unsigned int at = 0; at < WORDS && n > 1; at++) {
		size_t from = 0;

		while (from < n && !known(versions[from], at))
			from++;
		for (size_t i = 0; i < n && from < n; i++)
			if (!known(versions[i], at))
				versions[i]->words[at] = versions[from]->words[at];
	}
}

static bool same_in_all(struct version **versions, size_t n, unsigned int at)
{
	for (size_t i = 1; i < n; i++)
		if (versions[i]->words[at] != versions[0]->words[at])
			return false;
	return true;
}

/*
 * Each word that is not the same in all versions is a part, and so is what is between two of them.
 */
static int split(struct history_code *code, struct version **versions, size_t n)
{
	uint16_t ends[WORDS];
	unsigned int nparts = 0;

	for (unsigned int at = 0; at < WORDS; at++)
		if (!same_in_all(versions, n, at) || at + 1 == WORDS ||
		    !same_in_all(versions, n, at + 1))
			ends[nparts++] = at + 1;
	for (size_t i = 0; i < n; i++) {
		struct version *version = versions[i];
		unsigned int start = 0;

		version->parts = calloc(nparts, sizeof(*version->parts));
		if (!version->parts)
			return -ENOMEM;
		version->nparts = nparts;
		for (unsigned int j = 0; j < nparts; start = ends[j++]) {
			version->parts[j] = version->code;
			version->parts[j].start = version->page + 4 * start;
			version->parts[j].end = version->page + 4 * ends[j];
			version->parts[j].bytes = (const uint8_t *)(version->words + start);
			version->parts[j].key = code->keys++;
		}
	}
	return 0;
}

int history_code_finish(struct history_code *code)
{
	struct version **sorted = malloc((code->n + 1) * sizeof(*sorted));
	int err = 0;

	if (!sorted)
		return -ENOMEM;
	if (code->n) {
		memcpy(sorted, code->versions, code->n * sizeof(*sorted));
		qsort(sorted, code->n, sizeof(*sorted), by_page);
	}
	code->sorted = sorted;
	for (size_t first = 0, end; first < code->n && !err; first = end) {
		for (end = first + 1; end < code->n && !by_page(&sorted[first], &sorted[end]); end++)
			;
		fill(sorted + first, end - first);
		if (!sorted[first]->user && end - first > 1)
			err = split(code, sorted + first, end - first);
	}
	return err;
}

/*
 * Nothing was executed in this page of the address space: the code of another one, for a decoder
 * may be ahead of what names the space. The first that is executed from here on, else the last.
 */
static const struct version *find_anywhere(const struct history_code *code, bool user, size_t item,
					   uint64_t page)
{
	struct version key = { .user = user, .page = page }, *at = &key;
	const struct version *found = NULL;
	size_t low = 0, high = code->n;

	while (code->sorted && low < high) {
		size_t middle = low + (high - low) / 2;

		if (by_page(&code->sorted[middle], &at) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; code->sorted && low < code->n && !by_page(&code->sorted[low], &at); low++) {
		const struct version *version = code->sorted[low];

		if (!found || (version->last >= item ? found->last < item ||
			       version->last < found->last : version->last > found->last))
			found = version;
	}
	return found;
}

static const struct flowtap_code *part(const struct version *version, uint64_t address)
{
	unsigned int low = 0, high = version->nparts;

	if (!version->parts)
		return &version->code;
	while (high - low > 1) {
		unsigned int middle = low + (high - low) / 2;

		if (version->parts[middle].start <= address)
			low = middle;
		else
			high = middle;
	}
	return &version->parts[low];
}

/*
 * Whether the version, which is older than what was found, has the code: it is executed from here
 * on. If none is, it is the newest that knows the word.
 */
static bool has_code(const struct version *version, const struct version *found, size_t item,
		     unsigned int at)
{
	if (!found)
		return true;
	if (version->user)
		return version->last >= item;
	return version->executed[at] > item || (known(version, at) && !known(found, at));
}

/* The newest come first. */
static const struct version *find_version(const struct history_code *code, bool user, uint64_t space,
					  size_t item, uint64_t address)
{
	uint64_t page = address - address % PAGE;
	uint32_t i = *bucket((struct history_code *)code, user, space, page);
	const struct version *version, *found = NULL;
	unsigned int at = address % PAGE / 4;

	for (; i != NO_VERSION; i = version->chain) {
		version = code->versions[i];
		if (is(version, user, space, page) && has_code(version, found, item, at))
			found = version;
	}
	return found ? found : find_anywhere(code, user, item, page);
}

const struct flowtap_code *history_code_find(const struct history_code *code, bool user,
					     const struct history_state *state, uint32_t configr,
					     size_t item, uint64_t address)
{
	const struct version *found = find_version(code, user, space_of(user, state, configr), item,
						   address);

	return found ? part(found, address) : NULL;
}
