/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Objects: where mapped bytes come from. A file, found by its path and build-id at the first look,
 * or bytes that were recorded.
 */
#ifndef FLOWTAP_OBJECT_H
#define FLOWTAP_OBJECT_H

#include <stdint.h>

#include "code/elf_file.h"

#define FLOWTAP_OBJECT_NONE UINT32_MAX

struct flowtap_objects;

/* sysroot as in image.h. NULL: no memory. */
struct flowtap_objects *flowtap_objects_new(const char *sysroot);
/* As flowtap_map_images. */
int flowtap_objects_images(struct flowtap_objects *objects, const char *directory);
void flowtap_objects_free(struct flowtap_objects *objects);

/* The object's index. Looks at no file. 0 or -ENOMEM. */
int flowtap_objects_file(struct flowtap_objects *objects, const char *path,
			 const struct flowtap_build_id *id, uint32_t *index);
/* For bytes, which are copied; same path and content are one object. 0, -ENOMEM, -EFBIG. */
int flowtap_objects_bytes(struct flowtap_objects *objects, const char *path, const void *bytes,
			  uint64_t size, uint32_t *index);
/* From now on the file object of this path, without a build-id, has these bytes. As above. */
int flowtap_objects_share(struct flowtap_objects *objects, const char *path, const void *bytes,
			  uint64_t size);

/*
 * A part of a bundled file: copied. Parts come in order; a file is used once the last has come. 0;
 * -EINVAL: it is not the next part; -ENOMEM; -EFBIG.
 */
int flowtap_objects_bundle(struct flowtap_objects *objects, const struct flowtap_bundled *part,
			   const void *bytes);

/*
 * Bytes [offset, offset + size) of an object. *bytes, of which *available are there (0: none,
 * *bytes is NULL and *missing says why). Owned by objects and valid as long as they are.
 */
void flowtap_object_read(struct flowtap_objects *objects, uint32_t index, uint64_t offset,
			 uint64_t size, const uint8_t **bytes, uint64_t *available,
			 const char **missing);

const char *flowtap_object_path(const struct flowtap_objects *objects, uint32_t index);
/* The function at a file offset, and *offset from its start; NULL. Owned by objects. */
const char *flowtap_object_symbol(struct flowtap_objects *objects, uint32_t index,
				  uint64_t file_offset, uint64_t *offset);

#endif /* FLOWTAP_OBJECT_H */
