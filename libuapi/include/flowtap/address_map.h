/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Images: which bytes were at this address, in this process, at this time.
 *
 * Fed from the side band in the order of time (a mapping that comes late with an older time is
 * sorted in). Address spaces are by process (pid, that is the thread group). A code mapping holds
 * its file's bytes from file_offset on, zeros from the file's end to the end of that page (4096).
 * What a process changed in its copy (text relocations, breakpoints) is not known.
 *
 * The kernel's text is one for all processes; addresses with the sign bit set are its own. What two
 * looks of the recorder at it found to be the same is taken for known in between; what they found
 * to be different (static keys, alternatives, probes, modules) is missing from the one look to the
 * other, byte for byte, and the rest of the text goes on. A module is known from the look on that
 * found it first, and to the last one that found it.
 *
 * Code is copied out of the files at the first look, as a file can shrink under a mapping: at most
 * 512 MiB of a file and 4 GiB in all; more is missing with that reason. Nothing is sized by what an
 * archive or a file claims.
 */
#ifndef FLOWTAP_ADDRESS_MAP_H
#define FLOWTAP_ADDRESS_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FLOWTAP_BUILD_ID_MAX 20
#define FLOWTAP_KERNEL_PAGE	4096U		/* looks at the kernel's text compare such pieces */
#define FLOWTAP_BUNDLE_FILE_MAX	(512ULL << 20)	/* bytes of one file that came with a recording */
#define FLOWTAP_WHY 512			/* bytes of a line that says why, with its 0 */

/* A region of code at one address during one time. Owned by the map; the pointer stays valid. */
struct flowtap_code {
	uint64_t start;		/* addresses [start, end) */
	uint64_t end;
	uint64_t from;		/* times [from, until), as far as was known when it was asked for */
	uint64_t until;
	const uint8_t *bytes;	/* of `start`; NULL: not available, see `missing` */
	uint64_t file_offset;	/* of `start` */
	const char *path;	/* as the kernel gave it, "[vdso]" ... */
	const char *missing;	/* one line for people: why there are no bytes */
	uint32_t key;		/* the same where the same bytes are at the same addresses */
	uint32_t file;		/* index for flowtap_address_map_symbol; UINT32_MAX none */
};

struct flowtap_mapping {
	uint64_t time;		/* 0: since ever */
	uint64_t start;
	uint64_t size;
	uint64_t file_offset;
	uint32_t pid;
	bool executable;	/* one that is not only ends what was there */
	uint8_t build_id_size;	/* 0 unknown */
	uint8_t build_id[FLOWTAP_BUILD_ID_MAX];
	const char *path;
};

/* Whether fd is an ELF file with the mapping's build-id. It is read, and stays as it is. */
bool flowtap_mapping_is(const struct flowtap_mapping *mapping, int fd);

struct flowtap_address_map;

/* Whose code it is. */
enum flowtap_machine {
	FLOWTAP_MACHINE_ANY,
	FLOWTAP_MACHINE_RISCV,
	FLOWTAP_MACHINE_ARM,	/* of 64 or 32 bits */
};

/*
 * sysroot: where files are looked for: SYSROOT/PATH, then SYSROOT/usr/lib/debug/.build-id/xx/yyy,
 * SYSROOT/.build-id/xx/yyy (code there, symbols there or in xx/yyy.debug), which in perf's cache are
 * directories (code in elf or vdso, symbols there or in debug); NULL: /. Links are
 * followed as if SYSROOT were the root, where the kernel can do that (openat2). A file whose
 * build-id differs from the recorded one is not used: flowtap_code.missing says so. Where none was
 * recorded an ELF file of the map's machine is used, and counted as not verified. One that was
 * deleted ("PATH (deleted)") is looked for under its old name and used only if its build-id is the
 * recorded one. What is no file ("[vdso]") is looked for by its build-id. NULL: no memory.
 */
struct flowtap_address_map *flowtap_address_map_new(const char *sysroot);
void flowtap_address_map_free(struct flowtap_address_map *map);
/*
 * A directory where files were saved by their build-id, DIRECTORY/xx/yyy: what is not found in the
 * sysroot is looked for there. Copied; another one replaces it. To be called before anything is
 * asked for. 0 or -ENOMEM.
 */
int flowtap_address_map_images(struct flowtap_address_map *map, const char *directory);

/* ANY at first. To be called before anything is asked for. */
void flowtap_address_map_set_machine(struct flowtap_address_map *map, enum flowtap_machine machine);
/* Files, so far, whose code is used though nothing says that it is what was mapped. */
uint64_t flowtap_address_map_unverified(const struct flowtap_address_map *map);
/* One more, that whoever fills the map looked for: a kernel's. */
void flowtap_address_map_add_unverified(struct flowtap_address_map *map);
/* Bytes of code that were read so far. */
uint64_t flowtap_address_map_held(const struct flowtap_address_map *map);

/*
 * 0, -EINVAL (empty or wrapping range, a build-id longer than there is space), -ENOMEM. Path and
 * build-id are copied. A mapping ends what was in its range before. Of more than 131072 executable
 * pieces that a process has at once the later ones are not known.
 */
int flowtap_address_map_add(struct flowtap_address_map *map, const struct flowtap_mapping *mapping);
/*
 * Bytes that no file has (vdso, JIT): copied, mapping->size of them. Same path and content share a
 * key where they are at the same addresses. As above; -EFBIG beyond the limits.
 */
int flowtap_address_map_add_bytes(struct flowtap_address_map *map,
				  const struct flowtap_mapping *mapping, const void *bytes);
/*
 * The bytes, from file offset 0, of whatever is mapped by this path without a file of its own in
 * any process: the vdso. Copied. 0, -EINVAL (empty), -EFBIG, -ENOMEM.
 */
int flowtap_address_map_add_shared(struct flowtap_address_map *map, const char *path,
				   const void *bytes, size_t size);
/* A part of what one look found: struct flowtap_archive_kernel says it all. */
struct flowtap_kernel_text {
	uint64_t time;
	uint64_t until;
	uint64_t start;
	uint64_t size;
	uint64_t offset;
	uint64_t part_size;
	bool fresh;		/* FLOWTAP_KERNEL_NEW */
	bool gone;		/* FLOWTAP_KERNEL_GONE */
	const char *name;	/* "kernel", or the module's */
};

/*
 * Looks come in the order of time. part_size bytes are copied. 0; -EINVAL: it contradicts itself or
 * what came before; -EFBIG beyond the limits (1 GiB, 256 MiB of one region, 4096 regions, 64 changes
 * of one); -ENOMEM.
 */
int flowtap_address_map_add_kernel(struct flowtap_address_map *map,
				   const struct flowtap_kernel_text *text, const void *bytes);
/* Lines as in struct flowtap_archive_symbols. 0, -EFBIG (128 MiB in all), -ENOMEM. */
int flowtap_address_map_add_symbols(struct flowtap_address_map *map, const char *text, size_t size);
/* A part of a file that the archive brings: struct flowtap_archive_file says it all. */
struct flowtap_bundled {
	const char *path;
	uint64_t size;		/* of the whole file */
	uint64_t offset;
	uint64_t part_size;
	uint8_t build_id_size;	/* 0 unknown */
	uint8_t build_id[FLOWTAP_BUILD_ID_MAX];
};

/*
 * Such a file is taken before what the sysroot has: for mappings with its build-id, which must also
 * be what it says itself; one without a build-id for mappings of its path without one. Parts come
 * in order and are copied; until the last one came the file does not count. To be called before the
 * file is asked for. 0; -EINVAL: it is not the next part; -EFBIG (512 MiB of one, 4 GiB of all);
 * -ENOMEM.
 */
int flowtap_address_map_add_file(struct flowtap_address_map *map,
				 const struct flowtap_bundled *part, const void *bytes);
/*
 * A new process: at first it has a copy of what the parent had at that time, late mappings of the
 * parent included. More than 256 forks, one from the other without an exec, and it has nothing at
 * first. Nothing happens if parent == child (a thread). 0 or -ENOMEM.
 */
int flowtap_address_map_fork(struct flowtap_address_map *map, uint32_t parent, uint32_t child,
			     uint64_t time);
/*
 * The process had that thread at that time, which may be long after the thread began only where its
 * begin was reported as well. Nothing happens if it is the first one (pid == tid). 0 or -ENOMEM.
 */
int flowtap_address_map_thread(struct flowtap_address_map *map, uint32_t pid, uint32_t tid,
			       uint64_t time);
/* Whether a process that is known had, up to that time, no other thread than its first. */
bool flowtap_address_map_single(struct flowtap_address_map *map, uint32_t pid, uint64_t until);
/* Not all that happened to processes is reported. */
void flowtap_address_map_set_lossy(struct flowtap_address_map *map);
bool flowtap_address_map_is_lossy(const struct flowtap_address_map *map);
/* From now on nothing is mapped. 0 or -ENOMEM. */
int flowtap_address_map_exec(struct flowtap_address_map *map, uint32_t pid, uint64_t time);
/* The process has ended with its last thread. If it comes twice the later time counts. 0. */
int flowtap_address_map_exit(struct flowtap_address_map *map, uint32_t pid, uint64_t time);

/*
 * The code at address in pid (any, for the kernel's addresses) at time, or NULL where nothing
 * executable is known to be mapped (or memory ran out).
 * Files are opened at the first look. Hot callers keep the answer and ask again only when address
 * or time leave its ranges or the pid changes.
 */
const struct flowtap_code *flowtap_address_map_find(struct flowtap_address_map *map, uint32_t pid,
						    uint64_t time, uint64_t address);
/*
 * When something executable is mapped next at `address` in pid, after `time`; UINT64_MAX: never, or
 * not in the next 64 programs that the process becomes. For who knows only that it was later.
 */
uint64_t flowtap_address_map_next(struct flowtap_address_map *map, uint32_t pid, uint64_t time,
				  uint64_t address);

/*
 * Whether anything can have been mapped in pid, or it was forked or executed, after `from` and up
 * to `to`: true also where that would take long to say.
 */
bool flowtap_address_map_changes(struct flowtap_address_map *map, uint32_t pid, uint64_t from,
				 uint64_t to);
/*
 * When the process, as it is at `time`, was forked or became the program that it is, no later than
 * `time`. 0: before anything is known of it.
 */
uint64_t flowtap_address_map_began(struct flowtap_address_map *map, uint32_t pid, uint64_t time);
/* When the process executes its next program, after `time`; UINT64_MAX: never. */
uint64_t flowtap_address_map_next_exec(struct flowtap_address_map *map, uint32_t pid,
				       uint64_t time);

/*
 * The function that `address` (in `code`) belongs to, from .symtab or else .dynsym, or what
 * flowtap_address_map_add_symbols gave; *offset from its start. NULL if none is known. Owned by the
 * map.
 */
const char *flowtap_address_map_symbol(struct flowtap_address_map *map,
				       const struct flowtap_code *code, uint64_t address,
				       uint64_t *offset);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_ADDRESS_MAP_H */
