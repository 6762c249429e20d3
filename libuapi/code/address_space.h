/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * One address space over its time: what was mapped, in any order of arrival, and from that which
 * piece of which file was at an address at a time.
 *
 *	address ^      +-----------+---------+
 *	        |      |  libb     |  libb   |	a mapping made at t2 over a part of liba
 *	        |  +---+-----------+---+-----+	ends liba there: three pieces of liba
 *	        |  |  liba         |   liba
 *	        +--+---------------+---------> time
 *	           t1              t2
 */
#ifndef FLOWTAP_LIBUAPI_CODE_ADDRESS_SPACE_H
#define FLOWTAP_LIBUAPI_CODE_ADDRESS_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flowtap_code;

/*
 * Executable pieces that are mapped at once, about twice what Linux allows a process of all kinds
 * (vm.max_map_count) if nobody raised it. What comes beyond them ends what was in its range, and
 * nothing is known there from then on.
 */
#define FLOWTAP_ADDRESS_SPACE_LIVE (1U << 17)

/* One mapping as it was made: bytes of file from `offset` at [start, end). */
struct flowtap_address_map_event {
	uint64_t time;
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	uint32_t file;
	bool executable;	/* one that is not only ends what was there */
};

/* What was left of it from one change of its range to the next. No two pieces overlap. */
struct flowtap_piece {
	uint64_t start;
	uint64_t end;
	uint64_t from;
	uint64_t until;
	uint64_t offset;
	uint32_t file;
	struct flowtap_code *code;	/* the map's: the last answer made from it, or NULL */
	/* Over the piece and those below it in the search tree. */
	uint64_t max_end;
	uint64_t min_from;
	uint64_t max_until;
};

/* All zeros but pid and from is an empty one. */
struct flowtap_address_space {
	uint32_t pid;
	uint64_t from;			/* it exists during [from, until) */
	uint64_t until;
	uint64_t exit;			/* when the process ended, UINT64_MAX unknown */
	bool forked;			/* it began as a copy of what parent had at `from` */
	uint32_t parent;
	struct flowtap_address_map_event *events;
	size_t n_events;
	uint64_t latest;		/* time of an event */
	bool unsorted;
	/* Made from the events when they are first asked for. */
	bool built;
	bool evicted;			/* the map's mark: its pieces had to make space for others */
	uint64_t generation;		/* the map's, when it was built */
	struct flowtap_piece *pieces;	/* by start, then from */
	size_t n_pieces;
};

/* 0 or -ENOMEM. */
int flowtap_address_space_add(struct flowtap_address_space *space,
			      const struct flowtap_address_map_event *event);
/* Moves the events that are later than to->from. 0 or -ENOMEM (some may have been moved). */
int flowtap_address_space_split(struct flowtap_address_space *space,
				struct flowtap_address_space *to);
/* Makes the pieces. parent: a built one, or NULL. 0 or -ENOMEM. */
int flowtap_address_space_build(struct flowtap_address_space *space,
				const struct flowtap_address_space *parent);
/* Forgets the pieces. */
void flowtap_address_space_drop(struct flowtap_address_space *space);
/* The piece at this address and time of a built space, or NULL. */
struct flowtap_piece *flowtap_address_space_find(const struct flowtap_address_space *space,
						 uint64_t time, uint64_t address);
/*
 * Whether anything is mapped after `from` and up to `to`; true also where there is much to look at.
 */
bool flowtap_address_space_changes(const struct flowtap_address_space *space, uint64_t from,
				   uint64_t to);
/* When the next piece at this address begins, after `time`: of a built space; UINT64_MAX never. */
uint64_t flowtap_address_space_next(const struct flowtap_address_space *space, uint64_t time,
				    uint64_t address);
void flowtap_address_space_free(struct flowtap_address_space *space);

#endif /* FLOWTAP_LIBUAPI_CODE_ADDRESS_SPACE_H */
