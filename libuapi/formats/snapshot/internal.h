/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the .ini files of a snapshot say, before anything is made of it. */
#ifndef FLOWTAP_LIBUAPI_FORMATS_SNAPSHOT_INTERNAL_H
#define FLOWTAP_LIBUAPI_FORMATS_SNAPSHOT_INTERNAL_H

#include <flowtap/snapshot.h>

#define FLOWTAP_SNAPSHOT_PARTS 1024	/* devices, buffers, sources */
#define FLOWTAP_SNAPSHOT_DUMPS 65536

enum snapshot_register {
	REGISTER_CONFIGR,
	REGISTER_TRACEIDR,
	REGISTER_DEVARCH,
	REGISTER_IDR0,
	REGISTER_IDR1,
	REGISTER_IDR2,
	REGISTER_IDR8,
	REGISTERS
};

extern const char *const flowtap_snapshot_registers[REGISTERS];

struct snapshot_dump {
	const char *section;
	const char *file;
	bool has_address;
	const char *bad;	/* a value that is none, or NULL */
	uint64_t address;
	uint64_t length;
	uint64_t offset;
	uint8_t spaces;
};

/* Strings: "" where the file says nothing. */
struct snapshot_device {
	const char *file;
	const char *name;
	const char *class;
	const char *type;
	uint64_t registers[REGISTERS];
	bool has[REGISTERS];
	const char *bad;	/* a register whose value is none, or NULL */
	size_t first_dump;
	size_t n_dumps;
	uint32_t number;	/* of a processor */
};

struct snapshot_section {	/* of trace.ini */
	const char *name;	/* of the section */
	const char *buffer;
	const char *file;
	const char *format;
};

struct snapshot_pair {
	const char *key;
	const char *value;
};

struct snapshot_pairs {
	struct snapshot_pair *list;
	size_t n;
};

struct flowtap_snapshot {
	struct flowtap_snapshot_options options;
	int directory;
	char **texts;		/* of the files: all strings are in them */
	size_t n_texts;
	size_t text_bytes;
	/* From the files. */
	const char *metadata;
	struct snapshot_pairs device_files;
	struct snapshot_device *devices;
	size_t n_devices;
	struct snapshot_dump *dumps;
	size_t n_dumps;
	char *buffer_list;
	struct snapshot_section *sections;
	size_t n_sections;
	struct snapshot_pairs source_buffers;
	struct snapshot_pairs core_sources;
	/* What was made of it. */
	struct flowtap_snapshot_buffer *buffers;
	size_t n_buffers;
	struct flowtap_snapshot_source *sources;
	size_t n_sources;
	const struct snapshot_device **cores;	/* of each source its processor, or NULL */
	uint64_t compared;	/* names, for devices that were looked for: tests bound it */
};

void flowtap_snapshot_add_note(const struct flowtap_snapshot *snapshot, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Reads all .ini files. Errors as flowtap_snapshot_open, with a note of why. */
int flowtap_snapshot_read(struct flowtap_snapshot *snapshot);

#endif /* FLOWTAP_LIBUAPI_FORMATS_SNAPSHOT_INTERNAL_H */
