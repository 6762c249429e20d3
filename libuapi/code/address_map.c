// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The map: processes, each with its address spaces one after the other (fork, exec, exit begin and
 * end them; address_space.c), and files, where bytes come from (backing_file.c).
 */
#include <flowtap/address_map.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_table.h"
#include "base/vector.h"
#include "code/address_space.h"
#include "code/code_index.h"
#include "code/kernel_text.h"
#include "code/backing_file.h"

/*
 * Pieces of all spaces together, about 400 MB; beyond that they are made anew when asked for. Where
 * spaces drive out one another in turns the limit grows, to about 1.3 GB.
 */
#define PIECES_MAX (4U << 20)
#define PIECES_TOP (16U << 20)
#define EXECS_MAX 64		/* of a process, looked ahead */
#define FORKS_MAX 256		/* one from the other without an exec, that inherit */
/* The kernel's texts, in the numbers of files. */
#define KERNEL_FILES 0x80000000U

struct process {
	uint32_t pid;
	struct flowtap_address_space **spaces;	/* by `from` */
	size_t n;
	uint64_t threads;		/* since when it may have several; UINT64_MAX: never */
};

struct flowtap_address_map {
	struct flowtap_backing_files *files;
	struct flowtap_kernel_texts *kernel;
	struct flowtap_kernel_symbols *symbols;
	struct process *processes;
	uint32_t n_processes;
	struct flowtap_hash_table by_pid;
	uint32_t last;			/* the process that was asked for last */
	uint64_t latest;		/* time of what was added */
	uint64_t generation;		/* counts what came late: copies are then stale */
	size_t n_pieces;
	size_t more;			/* pieces beyond PIECES_MAX that may be kept */
	bool lossy;			/* not all that happened was reported */
	struct flowtap_code_index code_index;
};

struct flowtap_address_map *flowtap_address_map_new(const char *sysroot)
{
	struct flowtap_address_map *map = calloc(1, sizeof(*map));

	if (!map)
		return NULL;
	map->files = flowtap_backing_files_new(sysroot);
	map->symbols = flowtap_kernel_symbols_new();
	map->kernel = flowtap_kernel_texts_new(map->symbols, 0);
	if (!map->files || !map->symbols || !map->kernel) {
		flowtap_address_map_free(map);
		return NULL;
	}
	return map;
}

int flowtap_address_map_images(struct flowtap_address_map *map, const char *directory)
{
	return flowtap_backing_files_images(map->files, directory);
}

void flowtap_address_map_set_machine(struct flowtap_address_map *map, enum flowtap_machine machine)
{
	flowtap_backing_files_set_machine(map->files, machine);
}

void flowtap_address_map_add_unverified(struct flowtap_address_map *map)
{
	flowtap_backing_files_add_unverified(map->files);
}

uint64_t flowtap_address_map_unverified(const struct flowtap_address_map *map)
{
	return flowtap_backing_files_unverified(map->files);
}

uint64_t flowtap_address_map_held(const struct flowtap_address_map *map)
{
	return flowtap_backing_files_held(map->files);
}

void flowtap_address_map_free(struct flowtap_address_map *map)
{
	if (!map)
		return;
	for (uint32_t i = 0; i < map->n_processes; i++) {
		for (size_t s = 0; s < map->processes[i].n; s++)
			flowtap_address_space_free(map->processes[i].spaces[s]);
		free(map->processes[i].spaces);
	}
	free(map->processes);
	flowtap_hash_table_free(&map->by_pid);
	flowtap_code_index_free(&map->code_index);
	flowtap_backing_files_free(map->files);
	flowtap_kernel_texts_free(map->kernel);
	flowtap_kernel_symbols_free(map->symbols);
	free(map);
}

static struct process *find_process(struct flowtap_address_map *map, uint32_t pid)
{
	struct flowtap_hash_table_walk walk;
	uint32_t index;

	if (map->last < map->n_processes && map->processes[map->last].pid == pid)
		return &map->processes[map->last];
	walk = flowtap_hash_table_walk(&map->by_pid, flowtap_hash_words(&(uint64_t) { pid }, 1));
	while (flowtap_hash_table_next(&walk, &index)) {
		if (map->processes[index].pid == pid) {
			map->last = index;
			return &map->processes[index];
		}
	}
	return NULL;
}

static struct process *get_process(struct flowtap_address_map *map, uint32_t pid)
{
	struct process *process = find_process(map, pid);

	if (process)
		return process;
	if (FLOWTAP_GROW(map->processes, map->n_processes) ||
	    flowtap_hash_table_add(&map->by_pid, flowtap_hash_words(&(uint64_t) { pid }, 1),
				   map->n_processes))
		return NULL;
	process = &map->processes[map->n_processes++];
	*process = (struct process) { .pid = pid, .threads = UINT64_MAX };
	return process;
}

/* How many of the spaces began at `time` or before: the last of them is the one at that time. */
static size_t spaces_until(const struct process *process, uint64_t time)
{
	size_t low = 0, high = process->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (process->spaces[middle]->from <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct flowtap_address_space *find_space(struct flowtap_address_map *map, uint32_t pid,
						uint64_t time)
{
	struct process *process = find_process(map, pid);
	size_t n = process ? spaces_until(process, time) : 0;

	return n ? process->spaces[n - 1] : NULL;
}

static void drop(struct flowtap_address_map *map, struct flowtap_address_space *space)
{
	map->n_pieces -= space->n_pieces;
	flowtap_address_space_drop(space);
}

static void added(struct flowtap_address_map *map, uint64_t time)
{
	if (time < map->latest)
		map->generation++;
	else
		map->latest = time;
}

/* A new space of the process from `time` on. The one before it ends. NULL: no memory. */
static struct flowtap_address_space *begin_space(struct flowtap_address_map *map, uint32_t pid,
						 uint64_t time)
{
	struct process *process = get_process(map, pid);
	struct flowtap_address_space *space = calloc(1, sizeof(*space));
	size_t at;

	if (!process || !space ||
	    FLOWTAP_GROW(process->spaces, process->n))
		goto err_free;
	space->pid = pid;
	space->from = time;
	space->until = UINT64_MAX;
	space->exit = UINT64_MAX;
	at = spaces_until(process, time);
	if (at < process->n)
		space->until = process->spaces[at]->from;
	if (at) {
		struct flowtap_address_space *before = process->spaces[at - 1];

		drop(map, before);
		if (flowtap_address_space_split(before, space))
			goto err_free;
		if (before->until > time)
			before->until = time;
	}
	memmove(&process->spaces[at + 1], &process->spaces[at],
		(process->n - at) * sizeof(process->spaces[0]));
	process->spaces[at] = space;
	process->n++;
	return space;

err_free:
	flowtap_address_space_free(space);
	return NULL;
}

static int check(const struct flowtap_mapping *mapping)
{
	if (!mapping->size || mapping->size > UINT64_MAX - mapping->start ||
	    mapping->size > UINT64_MAX - mapping->file_offset ||
	    mapping->build_id_size > FLOWTAP_BUILD_ID_MAX)
		return -EINVAL;
	return 0;
}

static int add(struct flowtap_address_map *map, const struct flowtap_mapping *mapping,
	       uint64_t offset, uint32_t file)
{
	struct flowtap_address_map_event event = {
		.time = mapping->time,
		.start = mapping->start,
		.end = mapping->start + mapping->size,
		.offset = offset,
		.file = file,
		.executable = mapping->executable,
	};
	struct flowtap_address_space *space = find_space(map, mapping->pid, mapping->time);

	if (!space)
		space = begin_space(map, mapping->pid, 0);
	if (!space)
		return -ENOMEM;
	drop(map, space);
	added(map, mapping->time);
	return flowtap_address_space_add(space, &event);
}

int flowtap_address_map_add(struct flowtap_address_map *map, const struct flowtap_mapping *mapping)
{
	struct flowtap_build_id id = { .size = mapping->build_id_size };
	uint32_t file = FLOWTAP_BACKING_FILE_NONE;
	int err = check(mapping);

	if (!err && mapping->executable) {
		memcpy(id.bytes, mapping->build_id, id.size);
		err = flowtap_backing_files_add_file(map->files, mapping->path ? mapping->path : "",
						     &id, &file);
	}
	return err ? err : add(map, mapping, mapping->file_offset, file);
}

int flowtap_address_map_add_bytes(struct flowtap_address_map *map,
				  const struct flowtap_mapping *mapping, const void *bytes)
{
	uint32_t file = FLOWTAP_BACKING_FILE_NONE;
	int err = check(mapping);

	if (!err && mapping->executable)
		err = flowtap_backing_files_add_bytes(map->files,
						      mapping->path ? mapping->path : "", bytes,
						      mapping->size, &file);
	return err ? err : add(map, mapping, 0, file);
}

int flowtap_address_map_add_shared(struct flowtap_address_map *map, const char *path,
				   const void *bytes, size_t size)
{
	if (!size)
		return -EINVAL;
	/* Answers that were made without the bytes are stale. */
	map->generation++;
	return flowtap_backing_files_share(map->files, path, bytes, size);
}

int flowtap_address_map_add_kernel(struct flowtap_address_map *map,
				   const struct flowtap_kernel_text *text, const void *bytes)
{
	return flowtap_kernel_texts_add(map->kernel, text, bytes);
}

int flowtap_address_map_add_symbols(struct flowtap_address_map *map, const char *text, size_t size)
{
	flowtap_kernel_texts_renew(map->kernel);
	return flowtap_kernel_symbols_add(map->symbols, text, size);
}

int flowtap_address_map_add_file(struct flowtap_address_map *map,
				 const struct flowtap_bundled *part, const void *bytes)
{
	return flowtap_backing_files_bundle(map->files, part, bytes);
}

int flowtap_address_map_fork(struct flowtap_address_map *map, uint32_t parent, uint32_t child,
			     uint64_t time)
{
	struct flowtap_address_space *space;

	if (parent == child)
		return 0;
	space = begin_space(map, child, time);
	if (!space)
		return -ENOMEM;
	space->forked = true;
	space->parent = parent;
	added(map, time);
	return 0;
}

int flowtap_address_map_exec(struct flowtap_address_map *map, uint32_t pid, uint64_t time)
{
	if (!begin_space(map, pid, time))
		return -ENOMEM;
	added(map, time);
	return 0;
}

int flowtap_address_map_exit(struct flowtap_address_map *map, uint32_t pid, uint64_t time)
{
	struct flowtap_address_space *space = find_space(map, pid, time);

	if (!space || (space->exit != UINT64_MAX && space->exit > time))
		return 0;
	space->exit = time;
	map->generation++;
	return 0;
}

int flowtap_address_map_thread(struct flowtap_address_map *map, uint32_t pid, uint32_t tid,
			       uint64_t time)
{
	struct process *process;

	if (pid == tid)
		return 0;
	process = get_process(map, pid);
	if (!process)
		return -ENOMEM;
	if (time < process->threads)
		process->threads = time;
	return 0;
}

bool flowtap_address_map_single(struct flowtap_address_map *map, uint32_t pid, uint64_t until)
{
	const struct process *process = find_process(map, pid);

	return process && !map->lossy && process->threads > until;
}

void flowtap_address_map_set_lossy(struct flowtap_address_map *map)
{
	map->lossy = true;
}

bool flowtap_address_map_is_lossy(const struct flowtap_address_map *map)
{
	return map->lossy;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t end_of(const struct flowtap_address_space *space)
{
	return earlier(space->until, space->exit);
}

static bool ready(const struct flowtap_address_map *map, const struct flowtap_address_space *space)
{
	return space->built && space->generation == map->generation;
}

/* Keeps the memory that pieces take within its limit. */
static void evict(struct flowtap_address_map *map, const struct flowtap_address_space *keep)
{
	if (map->n_pieces <= PIECES_MAX + map->more)
		return;
	for (uint32_t i = 0; i < map->n_processes; i++) {
		for (size_t s = 0; s < map->processes[i].n; s++) {
			struct flowtap_address_space *space = map->processes[i].spaces[s];

			if (space == keep)
				continue;
			space->evicted |= space->built;
			drop(map, space);
		}
	}
}

/* One that was evicted is built again: more pieces are kept. */
static void raise_limit(struct flowtap_address_map *map, struct flowtap_address_space *space)
{
	if (!space->evicted)
		return;
	space->evicted = false;
	map->more += space->n_pieces / 4;
	if (map->more > PIECES_TOP - PIECES_MAX)
		map->more = PIECES_TOP - PIECES_MAX;
}

static int build_one(struct flowtap_address_map *map, struct flowtap_address_space *space,
		     const struct flowtap_address_space *parent)
{
	drop(map, space);
	if (flowtap_address_space_build(space, parent))
		return -ENOMEM;
	space->generation = map->generation;
	map->n_pieces += space->n_pieces;
	raise_limit(map, space);
	evict(map, space);
	return 0;
}

/* What it was forked from, or NULL. */
static struct flowtap_address_space *parent_of(struct flowtap_address_map *map,
					       const struct flowtap_address_space *space)
{
	return space->forked ? find_space(map, space->parent, space->from) : NULL;
}

/* Nonsense in an archive can make two processes each other's parents: that has no end either. */
static bool is_deep(struct flowtap_address_map *map, const struct flowtap_address_space *space)
{
	size_t n = 0;

	while (space && n <= FORKS_MAX) {
		space = parent_of(map, space);
		n++;
	}
	return space;
}

/*
 * Builds a space, and before it those it was forked from. One that lies too deep inherits nothing:
 * each of them is a copy, and there may be 100000 of a thousand mappings. 0 or -ENOMEM.
 */
static int build(struct flowtap_address_map *map, struct flowtap_address_space *space)
{
	struct flowtap_address_space *chain[FORKS_MAX + 1], *parent = NULL;
	size_t n = 0;
	int err = 0;

	if (is_deep(map, space))
		return build_one(map, space, NULL);
	for (; space && !ready(map, space); space = parent_of(map, space))
		chain[n++] = space;
	for (parent = space; n && !err; parent = space) {
		space = chain[--n];
		err = build_one(map, space, parent);
	}
	return err;
}

/* The part of a piece around address for which there are bytes, or for which there are none. */
static struct flowtap_code *code_of(struct flowtap_address_map *map,
				    const struct flowtap_address_space *space,
				    const struct flowtap_piece *piece, uint64_t address)
{
	struct flowtap_code code = {
		.start = piece->start,
		.end = piece->end,
		.from = piece->from,
		.until = earlier(piece->until, end_of(space)),
		.file_offset = piece->offset,
		.path = flowtap_backing_file_path(map->files, piece->file),
		.file = piece->file,
	};
	uint64_t available;

	flowtap_backing_file_read(map->files, piece->file, code.file_offset, code.end - code.start,
				  &code.bytes, &available, &code.missing);
	if (available && address - code.start >= available) {
		code.start += available;
		code.file_offset += available;
		flowtap_backing_file_read(map->files, piece->file, code.file_offset,
					  code.end - code.start, &code.bytes, &available,
					  &code.missing);
	}
	if (available)
		code.end = code.start + available;
	if (flowtap_code_index_key(&map->code_index, piece->file, code.start - code.file_offset,
				   code.end, &code.key))
		return NULL;
	return flowtap_code_index_intern(&map->code_index, &code);
}

static const struct flowtap_code *find_kernel(struct flowtap_address_map *map, uint64_t time,
					      uint64_t address)
{
	struct flowtap_code code;

	if (flowtap_kernel_texts_find(map->kernel, time, address, &code))
		return NULL;
	code.file |= KERNEL_FILES;
	if (flowtap_code_index_key(&map->code_index, code.file, code.start - code.file_offset,
				   code.end, &code.key))
		return NULL;
	return flowtap_code_index_intern(&map->code_index, &code);
}

const struct flowtap_code *flowtap_address_map_find(struct flowtap_address_map *map, uint32_t pid,
						    uint64_t time, uint64_t address)
{
	struct flowtap_address_space *space;
	struct flowtap_piece *piece;

	if (address >> 63)
		return find_kernel(map, time, address);
	space = find_space(map, pid, time);
	if (!space || time >= end_of(space))
		return NULL;
	if (!ready(map, space) && build(map, space))
		return NULL;
	piece = flowtap_address_space_find(space, time, address);
	if (!piece)
		return NULL;
	if (!piece->code || address < piece->code->start || address >= piece->code->end)
		piece->code = code_of(map, space, piece, address);
	return piece->code;
}

uint64_t flowtap_address_map_next(struct flowtap_address_map *map, uint32_t pid, uint64_t time,
				  uint64_t address)
{
	struct process *process = find_process(map, pid);
	size_t at = process ? spaces_until(process, time) : 0;
	uint64_t next = UINT64_MAX;

	if (!process)
		return next;
	at -= at > 0;
	for (size_t last = at + EXECS_MAX; next == UINT64_MAX && at < process->n && at < last; at++) {
		struct flowtap_address_space *space = process->spaces[at];

		if (!ready(map, space) && build(map, space))
			break;
		/* What a process has from its begin on is of that time at the latest. */
		next = flowtap_address_space_find(space, space->from,
						  address) && space->from > time ?
		       space->from : flowtap_address_space_next(space, time, address);
		if (next >= end_of(space))
			next = UINT64_MAX;
	}
	return next;
}

bool flowtap_address_map_changes(struct flowtap_address_map *map, uint32_t pid, uint64_t from,
				 uint64_t to)
{
	const struct process *process = find_process(map, pid);
	size_t at = process ? spaces_until(process, from) : 0;

	at -= at > 0;
	for (; process && at < process->n && process->spaces[at]->from <= to; at++)
		if (process->spaces[at]->from > from ||
		    flowtap_address_space_changes(process->spaces[at], from, to))
			return true;
	return false;
}

uint64_t flowtap_address_map_next_exec(struct flowtap_address_map *map, uint32_t pid, uint64_t time)
{
	const struct process *process = find_process(map, pid);
	size_t at = process ? spaces_until(process, time) : 0;

	while (process && at < process->n && process->spaces[at]->forked)
		at++;
	return process && at < process->n ? process->spaces[at]->from : UINT64_MAX;
}

uint64_t flowtap_address_map_began(struct flowtap_address_map *map, uint32_t pid, uint64_t time)
{
	const struct flowtap_address_space *space = find_space(map, pid, time);

	return space ? space->from : 0;
}

static const char *kernel_symbol(struct flowtap_address_map *map, const struct flowtap_code *code,
				 uint64_t address, uint64_t *offset)
{
	/* "[name]" */
	char *module = strndup(code->path + 1, strlen(code->path) - 2);
	const char *name = NULL;
	uint64_t start, end;

	if (module)
		name = flowtap_kernel_symbols_find(map->symbols, module, address, &start, &end);
	free(module);
	if (name)
		*offset = address - start;
	return name;
}

const char *flowtap_address_map_symbol(struct flowtap_address_map *map,
				       const struct flowtap_code *code, uint64_t address,
				       uint64_t *offset)
{
	if (code->file == UINT32_MAX || address < code->start || address >= code->end)
		return NULL;
	if (code->file & KERNEL_FILES)
		return kernel_symbol(map, code, address, offset);
	return flowtap_backing_file_symbol(map->files, code->file,
					   code->file_offset + (address - code->start), offset);
}
