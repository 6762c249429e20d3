// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* perf.data: the file's head, the attributes of its events, its feature sections. */
#include "formats/perfdata/internal.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "PERFILE2"
#define MAGIC_SWAPPED "2ELIFREP"
#define MAGIC_1 "PERFFILE"
#define PIPE_HEADER 16
#define ATTRS_MAX 4096
#define IDS_MAX (1U << 20)
#define STRING_MAX (1U << 16)
#define COMMAND_MAX 4096	/* arguments */
#define BUILD_IDS_MAX (1U << 20)
#define ATTR_FIRST 64		/* PERF_ATTR_SIZE_VER0 */

struct section {
	uint64_t offset;
	uint64_t size;
};

struct file_header {
	char magic[8];
	uint64_t size;
	uint64_t attr_size;
	struct section attrs;
	struct section data;
	struct section event_types;
	uint64_t features[PERFDATA_FEATURES / 64];
};

bool flowtap_perfdata_is(const void *bytes, size_t size)
{
	return size >= 8 && (!memcmp(bytes, MAGIC, 8) || !memcmp(bytes, MAGIC_SWAPPED, 8) ||
			     !memcmp(bytes, MAGIC_1, 8));
}

int flowtap_perfdata_add_attr(struct flowtap_perfdata *perfdata, const uint8_t *bytes, size_t size)
{
	struct perf_event_attr attr = { 0 };
	struct perfdata_attr kept;

	if (size < ATTR_FIRST || perfdata->attrs.n == ATTRS_MAX)
		return -EINVAL;
	memcpy(&attr, bytes, size < sizeof(attr) ? size : sizeof(attr));
	kept = (struct perfdata_attr) {
		.sample_type = attr.sample_type,
		.sample_id_all = attr.sample_id_all,
	};
	if (perfdata->attrs.n && (perfdata->attrs.list[0].sample_type != kept.sample_type ||
				  perfdata->attrs.list[0].sample_id_all != kept.sample_id_all))
		perfdata->mixed = true;
	perfdata->on_exec |= attr.enable_on_exec;
	perfdata->info.clocked |= attr.use_clockid;
	perfdata->has_times |= attr.sample_type & PERF_SAMPLE_TIME;
	return PERFDATA_ADD(&perfdata->attrs, kept);
}

int flowtap_perfdata_add_id(struct flowtap_perfdata *perfdata, uint64_t id)
{
	struct perfdata_id one = { .id = id, .attr = (uint32_t)perfdata->attrs.n - 1 };

	/* Those that come again count as well: attributes may share their ids. */
	if (perfdata->ids_read == IDS_MAX)
		return -EINVAL;
	perfdata->ids_read++;
	if (flowtap_perfdata_attr(perfdata, id))
		return 0;
	if (PERFDATA_ADD(&perfdata->ids, one))
		return -ENOMEM;
	return flowtap_hash_table_add(&perfdata->by_id, flowtap_hash_words(&id, 1),
				      (uint32_t)perfdata->ids.n - 1);
}

const struct perfdata_attr *flowtap_perfdata_attr(const struct flowtap_perfdata *perfdata,
						  uint64_t id)
{
	struct flowtap_hash_table_walk walk = flowtap_hash_table_walk(&perfdata->by_id,
								      flowtap_hash_words(&id, 1));
	uint32_t index;

	while (flowtap_hash_table_next(&walk, &index))
		if (perfdata->ids.list[index].id == id)
			return &perfdata->attrs.list[perfdata->ids.list[index].attr];
	return NULL;
}

static bool inside(const struct flowtap_perfdata *perfdata, const struct section *section)
{
	return section->offset <= perfdata->file_size &&
	       section->size <= perfdata->file_size - section->offset;
}

static int read_ids(struct flowtap_perfdata *perfdata, const struct section *section)
{
	uint64_t ids[64];

	if (!inside(perfdata, section) || section->size / 8 > IDS_MAX) {
		flowtap_perfdata_damaged(perfdata, section->offset, "ids outside of the file");
		return 0;
	}
	for (uint64_t at = 0, size; at + 8 <= section->size; at += size) {
		int err;

		size = section->size - at < sizeof(ids) ? (section->size - at) & ~7ULL :
							  sizeof(ids);
		err = flowtap_perfdata_pread(perfdata, section->offset + at, ids, size);
		for (size_t i = 0; !err && i < size / 8; i++)
			err = flowtap_perfdata_add_id(perfdata, ids[i]);
		if (err)
			return err;
	}
	return 0;
}

/* Each is a perf_event_attr, then where its ids are. */
static int read_attrs(struct flowtap_perfdata *perfdata, const struct file_header *header)
{
	uint64_t stride = header->attr_size;
	uint8_t bytes[1024];
	struct section ids;
	int err = 0;

	if (stride < ATTR_FIRST + sizeof(ids) || stride > sizeof(bytes) || stride % 8 ||
	    !inside(perfdata, &header->attrs)) {
		perfdata->reason = "its attributes are not where it says";
		return -EBADMSG;
	}
	for (uint64_t at = 0; !err && at + stride <= header->attrs.size; at += stride) {
		err = flowtap_perfdata_pread(perfdata, header->attrs.offset + at, bytes, stride);
		if (!err)
			err = flowtap_perfdata_add_attr(perfdata, bytes, stride - sizeof(ids));
		memcpy(&ids, bytes + stride - sizeof(ids), sizeof(ids));
		if (!err)
			err = read_ids(perfdata, &ids);
	}
	if (err == -EINVAL)
		flowtap_perfdata_damaged(perfdata, header->attrs.offset,
					 "too many attributes or ids");
	return err == -EINVAL ? 0 : err;
}

/* struct perf_header_string: its length, then text that may end earlier. */
static int parse_string(char **to, const uint8_t *bytes, size_t size)
{
	size_t length;

	if (size < 4 || *to)
		return 0;
	length = perfdata_u32(bytes);
	if (length > size - 4)
		length = size - 4;
	*to = strndup((const char *)bytes + 4, length);
	return *to ? 0 : -ENOMEM;
}

/* perf_header_string_list: the arguments, joined by spaces. */
static int parse_command(char **to, const uint8_t *bytes, size_t size)
{
	size_t used = 0, at = 4;
	uint32_t n;
	char *text;

	if (size < 4 || *to)
		return 0;
	n = perfdata_u32(bytes);
	text = malloc(size + 1);
	if (!text)
		return -ENOMEM;
	for (uint32_t i = 0; i < n && i < COMMAND_MAX && size - at >= 4; i++) {
		size_t length = perfdata_u32(bytes + at), text_size;

		at += 4;
		length = length < size - at ? length : size - at;
		text_size = strnlen((const char *)bytes + at, length);
		if (used)
			text[used++] = ' ';
		memcpy(text + used, bytes + at, text_size);
		used += text_size;
		at += length;
	}
	text[used] = 0;
	*to = text;
	return 0;
}

/* perf before 5.11 pads it with zeros: a UUID or MD5 has 16 bytes, lld's "fast" 8. */
static uint8_t padded_size(const uint8_t *bytes)
{
	static const uint8_t zeros[12];

	if (!memcmp(bytes + 8, zeros, 12))
		return 8;
	return memcmp(bytes + 16, zeros, 4) ? FLOWTAP_BUILD_ID_MAX : 16;
}

static struct flowtap_build_id build_id_of(const uint8_t *bytes, uint16_t misc)
{
	struct flowtap_build_id id = { .size = FLOWTAP_BUILD_ID_MAX };

	if (!(misc & PERFDATA_MISC_BUILD_ID_SIZE))
		id.size = padded_size(bytes);
	else if (bytes[20] <= FLOWTAP_BUILD_ID_MAX)
		id.size = bytes[20];
	memcpy(id.bytes, bytes, id.size);
	return id;
}

static uint64_t hash_path(const char *path)
{
	return flowtap_hash(0, path, strlen(path));
}

int flowtap_perfdata_add_build_id(struct flowtap_perfdata *perfdata, const uint8_t *bytes,
				  size_t size)
{
	/* Header, pid, 24 bytes of build-id, path. */
	const char *path = (const char *)bytes + 36;
	struct perfdata_build_id kept = { 0 }, *known;
	uint16_t misc, mode;

	if (size <= 36 || !memchr(path, 0, size - 36))
		return -EINVAL;
	memcpy(&misc, bytes + 4, sizeof(misc));
	mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;
	kept.id = build_id_of(bytes + 12, misc);
	if (!kept.id.size || mode == PERF_RECORD_MISC_GUEST_KERNEL ||
	    mode == PERF_RECORD_MISC_GUEST_USER)
		return 0;
	if (mode == PERF_RECORD_MISC_KERNEL && !strncmp(path, "[kernel", 7))
		perfdata->kernel_id = kept.id;
	known = flowtap_perfdata_build_id(perfdata, path);
	if (known) {
		known->ambiguous |= known->id.size != kept.id.size ||
				    memcmp(known->id.bytes, kept.id.bytes, kept.id.size);
		return 0;
	}
	if (perfdata->build_ids.n == BUILD_IDS_MAX)
		return -EINVAL;
	kept.path = strdup(path);
	if (!kept.path)
		return -ENOMEM;
	if (PERFDATA_ADD(&perfdata->build_ids, kept)) {
		free(kept.path);
		return -ENOMEM;
	}
	return flowtap_hash_table_add(&perfdata->by_path, hash_path(path),
				      (uint32_t)perfdata->build_ids.n - 1);
}

struct perfdata_build_id *flowtap_perfdata_build_id(const struct flowtap_perfdata *perfdata,
						    const char *path)
{
	struct flowtap_hash_table_walk walk = flowtap_hash_table_walk(&perfdata->by_path,
								      hash_path(path));
	uint32_t index;

	while (flowtap_hash_table_next(&walk, &index))
		if (!strcmp(perfdata->build_ids.list[index].path, path))
			return &perfdata->build_ids.list[index];
	return NULL;
}

static int read_build_ids(struct flowtap_perfdata *perfdata, const struct section *section)
{
	uint8_t bytes[36 + PATH_MAX + 64];
	bool reported = false;

	for (uint64_t at = 0; section->size - at >= 8;) {
		struct perf_event_header header;
		int err = flowtap_perfdata_pread(perfdata, section->offset + at, &header,
						 sizeof(header));

		if (err)
			return err;
		if (header.size < sizeof(header) || header.size > section->size - at) {
			flowtap_perfdata_damaged(perfdata, section->offset + at,
						 "a build-id that does not end where it says");
			return 0;
		}
		err = -EINVAL;
		if (header.size <= sizeof(bytes))
			err = flowtap_perfdata_pread(perfdata, section->offset + at, bytes,
						     header.size);
		if (!err)
			err = flowtap_perfdata_add_build_id(perfdata, bytes, header.size);
		if (err && err != -EINVAL)
			return err;
		if (err && !reported)
			flowtap_perfdata_damaged(perfdata, section->offset + at,
						 "build-ids that cannot be used, of this one on: "
						 "files are taken by their names alone");
		reported |= err;
		at += header.size;
	}
	return 0;
}

int flowtap_perfdata_feature(struct flowtap_perfdata *perfdata, unsigned int feature,
			     const uint8_t *bytes, size_t size)
{
	switch (feature) {
	case PERFDATA_FEATURE_HOSTNAME:
		return parse_string(&perfdata->strings[0], bytes, size);
	case PERFDATA_FEATURE_OSRELEASE:
		return parse_string(&perfdata->strings[1], bytes, size);
	case PERFDATA_FEATURE_ARCH:
		return parse_string(&perfdata->strings[2], bytes, size);
	case PERFDATA_FEATURE_VERSION:
		return parse_string(&perfdata->strings[3], bytes, size);
	case PERFDATA_FEATURE_COMMAND:
		return parse_command(&perfdata->strings[4], bytes, size);
	}
	return 0;
}

static int read_feature(struct flowtap_perfdata *perfdata, unsigned int feature,
			const struct section *section)
{
	uint8_t *bytes;
	int err;

	/* Of one that nobody reads it says that the file was cut off. */
	if (!inside(perfdata, section)) {
		flowtap_perfdata_damaged(perfdata, section->offset,
					 "a feature section outside of the file");
		return 0;
	}
	if (feature < PERFDATA_FEATURE_BUILD_ID ||
	    (feature > PERFDATA_FEATURE_ARCH && feature != PERFDATA_FEATURE_COMMAND))
		return 0;
	if (feature == PERFDATA_FEATURE_BUILD_ID)
		return read_build_ids(perfdata, section);
	if (section->size > STRING_MAX)
		return 0;
	bytes = malloc(section->size + 1);
	if (!bytes)
		return -ENOMEM;
	err = flowtap_perfdata_pread(perfdata, section->offset, bytes, section->size);
	if (!err)
		err = flowtap_perfdata_feature(perfdata, feature, bytes, section->size);
	free(bytes);
	return err;
}

/*
 * The version of a directory: 0 where all records are in this file (PERF_DIR_SINGLE_FILE). perf
 * refuses --threads for AUX areas, since it has it (5.17).
 */
static int read_directory(struct flowtap_perfdata *perfdata, const struct section *section)
{
	uint64_t version = 1;
	int err;

	if (!inside(perfdata, section)) {
		perfdata->incomplete = true;
		flowtap_perfdata_damaged(perfdata, section->offset,
					 "a feature section outside of the file");
		return 0;
	}
	err = section->size < sizeof(version) ? 0 :
	      flowtap_perfdata_pread(perfdata, section->offset, &version, sizeof(version));
	if (err)
		return err;
	if (!version)
		return 0;
	perfdata->incomplete = true;
	flowtap_perfdata_damaged(perfdata, section->offset,
				 "perf record --threads: the records in data.0, data.1 ... beside it "
				 "are not read: record without --threads");
	return 0;
}

/* Their positions are after the records, in the order of their numbers. */
static int read_features(struct flowtap_perfdata *perfdata, const struct file_header *header,
			 uint64_t at)
{
	struct section section;
	int err = 0;

	for (unsigned int i = 0; !err && i < PERFDATA_FEATURES; i++) {
		if (!(header->features[i / 64] >> i % 64 & 1))
			continue;
		err = flowtap_perfdata_pread(perfdata, at, &section, sizeof(section));
		if (!err && i == PERFDATA_FEATURE_DIR_FORMAT)
			err = read_directory(perfdata, &section);
		else if (!err)
			err = read_feature(perfdata, i, &section);
		at += sizeof(section);
	}
	if (err != -ENODATA)
		return err;
	flowtap_perfdata_damaged(perfdata, at, "the file ends before its feature sections");
	return 0;
}

static void clamp_data(struct flowtap_perfdata *perfdata, const struct section *data)
{
	perfdata->data = data->offset;
	/* Of either, records of rings that were to be written are missing at the end. */
	perfdata->incomplete = !data->size || !inside(perfdata, data);
	if (!data->size) {
		/* It is written when perf record ends. */
		flowtap_perfdata_damaged(perfdata, data->offset,
					 "perf record was cut off: no size of the records");
		perfdata->data_end = perfdata->file_size;
	} else if (!inside(perfdata, data)) {
		flowtap_perfdata_damaged(perfdata, perfdata->file_size,
					 "the file ends before its records do");
		perfdata->data_end = perfdata->file_size;
	} else {
		perfdata->data_end = data->offset + data->size;
	}
}

static int refuse(struct flowtap_perfdata *perfdata, int err, const char *reason)
{
	perfdata->reason = reason;
	return err;
}

int flowtap_perfdata_header(struct flowtap_perfdata *perfdata)
{
	struct file_header header = { .size = 0 };
	size_t size = perfdata->file_size < sizeof(header) ? perfdata->file_size : sizeof(header);
	int err = flowtap_perfdata_pread(perfdata, 0, &header, size);

	if (err)
		return err;
	if (size >= 8 && !memcmp(header.magic, MAGIC_SWAPPED, 8))
		return refuse(perfdata, -EPROTONOSUPPORT, "it is from a big-endian machine");
	if (size >= 8 && !memcmp(header.magic, MAGIC_1, 8))
		return refuse(perfdata, -EPROTONOSUPPORT, "it is from perf before Linux 3.1");
	if (size < PIPE_HEADER || memcmp(header.magic, MAGIC, 8))
		return refuse(perfdata, -EBADMSG, "it does not begin as a perf.data does");
	if (header.size == PIPE_HEADER) {
		perfdata->info.pipe = true;
		perfdata->data = PIPE_HEADER;
		perfdata->data_end = perfdata->file_size;
		return 0;
	}
	if (size < sizeof(header) || header.size != sizeof(header))
		return refuse(perfdata, -EBADMSG, "its header has a size that none has");
	if (header.data.offset > perfdata->file_size)
		return refuse(perfdata, -EBADMSG, "its records are outside of the file");
	clamp_data(perfdata, &header.data);
	err = read_attrs(perfdata, &header);
	if (!err && header.data.size && inside(perfdata, &header.data))
		err = read_features(perfdata, &header, perfdata->data_end);
	if (err == -ENODATA)
		return refuse(perfdata, -EBADMSG, "the file ends within its header");
	return err;
}
