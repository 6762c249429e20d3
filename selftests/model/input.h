/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trace bytes of one PE, as software collected them: raw dumps and perf.data. */
#ifndef FLOWTAP_SELFTESTS_MODEL_INPUT_H
#define FLOWTAP_SELFTESTS_MODEL_INPUT_H

#include "align.h"

struct input {
	struct align_piece *pieces;
	size_t n;
	size_t capacity;
	uint64_t bytes;
	uint64_t lossy;		/* pieces of which software says that something is missing */
	struct log_bytes *files;	/* what pieces point into */
	size_t nfiles;
	void **copies;
	size_t ncopies;
	char error[256];
};

/* All 0 or a negative errno with a line in error; what came before stays. */
/* One piece; the bytes are borrowed. */
int input_add(struct input *input, const uint8_t *bytes, size_t n, bool lossy);
/* A raw dump. chunks: NULL, or a file of lines "OFFSET LENGTH ..." (hexadecimal) that divide it. */
int input_raw(struct input *input, const char *path, const char *chunks);
/* The trace of this CPU in a perf.data, or in the directory of perf record --kcore. */
int input_perf(struct input *input, const char *path, unsigned int cpu);
/* Whether the file is perf's; false for what cannot be read. */
bool input_is_perf(const char *path);
void input_free(struct input *input);

/* Registers by name ("TRCCONFIGR=0x1", one a line; others than a decoder needs are passed over). */
int input_config(const char *path, struct flowtap_ete_config *config, char error[256]);

#endif
