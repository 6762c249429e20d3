/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Files that came with an archive. */
#ifndef FLOWTAP_LIBUAPI_CODE_BUNDLED_FILES_H
#define FLOWTAP_LIBUAPI_CODE_BUNDLED_FILES_H

#include <flowtap/address_map.h>
#include <stdint.h>

#include "code/elf_file.h"

struct flowtap_bundled_files;

struct flowtap_bundled_files *flowtap_bundled_new(void);
void flowtap_bundled_free(struct flowtap_bundled_files *files);
/* As flowtap_address_map_add_file; takes no more than `capacity` bytes and adds what it takes to
 * *held. */
int flowtap_bundled_add(struct flowtap_bundled_files *files, const struct flowtap_bundled *part,
			const void *bytes, uint64_t capacity, uint64_t *held);
/*
 * The contents of a whole one, with zeros to the end of the page as a mapping shows them: *size
 * counts those. NULL: there is none. Owned by files.
 */
uint8_t *flowtap_bundled_find(const struct flowtap_bundled_files *files, const char *path,
			      const struct flowtap_build_id *id, uint64_t *size);

#endif /* FLOWTAP_LIBUAPI_CODE_BUNDLED_FILES_H */
