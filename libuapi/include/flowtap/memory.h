/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Memory images: which code was where, as it is in dumps and ELF files that were put aside beside
 * a trace. For traces of which nobody recorded who mapped what when; address_map.h is for those.
 *
 * What was added first is found first where two of them overlap; what is adjacent is one region of
 * code. Bytes are copied out of the files when code is first asked for, as a file can shrink under
 * a mapping: at most 512 MiB of one region (a longer one is several) and 4 GiB in all. Nothing is
 * sized by what a file claims: of images that are longer than 512 MiB at most 2 TiB are there.
 */
#ifndef FLOWTAP_MEMORY_H
#define FLOWTAP_MEMORY_H

#include <flowtap/context.h>
#include <flowtap/address_map.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Memory spaces: exception level and security state; EL0 has the memory of EL1. */
enum flowtap_memory_space {
	FLOWTAP_SPACE_EL1S = 1 << 0,
	FLOWTAP_SPACE_EL1N = 1 << 1,
	FLOWTAP_SPACE_EL2N = 1 << 2,
	FLOWTAP_SPACE_EL3 = 1 << 3,	/* whatever its security state is called */
	FLOWTAP_SPACE_EL2S = 1 << 4,
	FLOWTAP_SPACE_EL1R = 1 << 5,
	FLOWTAP_SPACE_EL2R = 1 << 6,
	FLOWTAP_SPACE_ROOT = 1 << 7,	/* EL3 where it is Root */
};

/* In which contexts an image is there. All zeros: in any. */
struct flowtap_memory_filter {
	uint8_t spaces;		/* of FLOWTAP_SPACE_, 0 all of them */
	bool has_contextid;	/* only where the trace has it, and it is this */
	bool has_vmid;
	uint32_t vmid;
	uint64_t contextid;
};

struct flowtap_memory_file {
	int directory;		/* path and links in it stay in there; -1: anywhere */
	const char *path;
	uint64_t address;	/* of the first byte. An ELF file: added to its own addresses */
	uint64_t offset;	/* where in the file that is; of no meaning for an ELF file */
	uint64_t size;		/* 0: up to its end; likewise */
	struct flowtap_memory_filter filter;
};

struct flowtap_memory;

/* NULL: no memory. */
struct flowtap_memory *flowtap_memory_new(void);
/* Code that was found is gone with it. */
void flowtap_memory_free(struct flowtap_memory *memory);

/*
 * The spaces of a name as snapshots have it, in any case: EL1S EL1N EL1R EL2S EL2N EL2R EL3 ROOT,
 * S N R (all of that state), ANY, and the older EL2 H (EL2N), P NP (EL1N), SP (EL1S). 0: none.
 */
uint8_t flowtap_memory_space(const char *name);

/*
 * A dump: the file's bytes as they were in memory. file is copied, its directory duplicated. To be
 * called before code is first asked for. 0; 1: as 0, but the file ends before size does, and the
 * rest is not there; -errno of opening it; -ENOEXEC: it is no regular file;
 * -ERANGE: no byte of it is in the file, or it goes beyond the end of memory; -E2BIG: more than
 * 65536 images, or more than 64 distinct filters; -EBUSY: code was asked for; -ENOMEM. After an
 * error nothing was added.
 */
int flowtap_memory_add(struct flowtap_memory *memory, const struct flowtap_memory_file *file);
/*
 * An ELF file: the bytes of each PT_LOAD at its address plus file->address. Returns as above;
 * -EBADMSG: it is no ELF file; -ENOTSUP: it is one of another machine than AArch64 and Arm;
 * -ENODATA: it has nothing to load.
 */
int flowtap_memory_add_elf(struct flowtap_memory *memory, const struct flowtap_memory_file *file);

/*
 * The code at `address` in that context, NULL where there is none or memory ran out: as
 * flowtap_ete_images.find wants it, argument is a struct flowtap_memory. start and end are those
 * of the whole region, from and until of all times. Valid until flowtap_memory_free.
 */
const struct flowtap_code *flowtap_memory_find(void *argument,
					       const struct flowtap_context *context,
					       uint64_t address);

/*
 * The keys of this memory's code begin at `first`, 0 if it is not said; before code is first asked
 * for. Memories whose code goes to one block cache (block.h) need keys of their own each.
 */
void flowtap_memory_set_first_key(struct flowtap_memory *memory, uint32_t first);
/* The first key that is not used yet. */
uint32_t flowtap_memory_next_key(const struct flowtap_memory *memory);

/* How many images there are, and how many bytes of them were read so far. */
size_t flowtap_memory_images(const struct flowtap_memory *memory);
uint64_t flowtap_memory_held(const struct flowtap_memory *memory);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_MEMORY_H */
