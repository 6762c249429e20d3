/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Backing files: where mapped bytes come from. One of this machine, found by its path and build-id
 * at the first look, or bytes that were recorded.
 */
#ifndef FLOWTAP_LIBUAPI_CODE_BACKING_FILE_H
#define FLOWTAP_LIBUAPI_CODE_BACKING_FILE_H

#include <stdint.h>

#include "code/elf_file.h"

#define FLOWTAP_BACKING_FILE_NONE UINT32_MAX

struct flowtap_backing_files;

/* sysroot as in address_map.h. NULL: no memory. */
struct flowtap_backing_files *flowtap_backing_files_new(const char *sysroot);
/* As flowtap_address_map_images. */
int flowtap_backing_files_images(struct flowtap_backing_files *files, const char *directory);
/* As flowtap_address_map_set_machine and flowtap_address_map_unverified. */
void flowtap_backing_files_set_machine(struct flowtap_backing_files *files,
				       enum flowtap_machine machine);
void flowtap_backing_files_add_unverified(struct flowtap_backing_files *files);
uint64_t flowtap_backing_files_unverified(const struct flowtap_backing_files *files);
/* Bytes that are held of files, with what was recorded. */
uint64_t flowtap_backing_files_held(const struct flowtap_backing_files *files);
void flowtap_backing_files_free(struct flowtap_backing_files *files);

/* The file's index. Looks at no file. 0 or -ENOMEM. */
int flowtap_backing_files_add_file(struct flowtap_backing_files *files, const char *path,
				   const struct flowtap_build_id *id, uint32_t *index);
/* For bytes, which are copied; same path and content are one file. 0, -ENOMEM, -EFBIG. */
int flowtap_backing_files_add_bytes(struct flowtap_backing_files *files, const char *path,
				    const void *bytes, uint64_t size, uint32_t *index);
/* From now on the file of this path, without a build-id, has these bytes. As above. */
int flowtap_backing_files_share(struct flowtap_backing_files *files, const char *path,
				const void *bytes, uint64_t size);

/*
 * A part of a bundled file: copied. Parts come in order; a file is used once the last has come. 0;
 * -EINVAL: it is not the next part; -ENOMEM; -EFBIG.
 */
int flowtap_backing_files_bundle(struct flowtap_backing_files *files,
				 const struct flowtap_bundled *part, const void *bytes);

/*
 * Bytes [offset, offset + size) of a file. *bytes, of which *available are there (0: none,
 * *bytes is NULL and *missing says why). Owned by files and valid as long as they are.
 */
void flowtap_backing_file_read(struct flowtap_backing_files *files, uint32_t index, uint64_t offset,
			       uint64_t size, const uint8_t **bytes, uint64_t *available,
			       const char **missing);

const char *flowtap_backing_file_path(const struct flowtap_backing_files *files, uint32_t index);
/* The function at a file offset, and *offset from its start; NULL. Owned by files. */
const char *flowtap_backing_file_symbol(struct flowtap_backing_files *files, uint32_t index,
					uint64_t file_offset, uint64_t *offset);

#endif /* FLOWTAP_LIBUAPI_CODE_BACKING_FILE_H */
