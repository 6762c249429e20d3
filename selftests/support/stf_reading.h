/* SPDX-License-Identifier: GPL-2.0-only */
/* What reading an STF gives, as text and with its problems. */
#ifndef FLOWTAP_SELFTESTS_SUPPORT_STF_READING_H
#define FLOWTAP_SELFTESTS_SUPPORT_STF_READING_H

#include <flowtap/learned.h>
#include <flowtap/stf.h>
#include <zlib.h>

#include "support/madestf.h"

/* What reading a file gave. */
struct reading {
	struct flowtap_read read;
	int status;
	struct output text;
	char reasons[2048];
	uint64_t first_offset;
};

static inline void note_problem(struct flowtap_read *read, uint64_t offset, uint64_t line,
			 const char *reason)
{
	struct reading *reading = read->argument;
	size_t used = strlen(reading->reasons);

	if (read->problems == 1)
		reading->first_offset = offset;
	snprintf(reading->reasons + used, sizeof(reading->reasons) - used, "%llu: %s\n",
		 (unsigned long long)offset, reason);
	if (line)
		abort();
}

/* again: where it is written again, or NULL. */
static inline void read_part(struct reading *reading, int fd, struct flowtap_sink *again, uint64_t skip,
		      uint64_t count)
{
	struct flowtap_learned *learned = flowtap_learned_new(0);
	struct flowtap_text *text;
	struct sink_pair both;

	memset(reading, 0, sizeof(*reading));
	reading->text = output_new();
	if (!learned || flowtap_text_new(reading->text.fd, flowtap_learned_blocks(learned), &text))
		abort();
	both = sink_pair_of(flowtap_text_sink(text), again);
	reading->read = (struct flowtap_read){
		.sink = again ? &both.sink : flowtap_text_sink(text),
		.learned = learned,
		.problem = note_problem,
		.argument = reading,
		.skip = skip,
		.count = count,
	};
	lseek(fd, 0, SEEK_SET);
	reading->status = flowtap_stf_read(&reading->read, fd);
	if (flowtap_text_finish(text))
		abort();
	output_read(&reading->text);
	flowtap_text_free(text);
	flowtap_learned_free(learned);
}

static inline void read_file(struct reading *reading, int fd, struct flowtap_sink *again)
{
	read_part(reading, fd, again, 0, 0);
}

static inline void reading_free(struct reading *reading)
{
	output_free(&reading->text);
}

static inline void read_bytes(struct reading *reading, const void *bytes, size_t size)
{
	int fd = memfd_create("stf", MFD_CLOEXEC);

	if (write(fd, bytes, size) != (ssize_t)size)
		abort();
	read_file(reading, fd, NULL);
	close(fd);
}

/* gzip, in members of this size. */
static inline int gzip_pack(int fd, size_t piece)
{
	int packed = memfd_create("gz", MFD_CLOEXEC);
	struct output all = { .fd = fd };

	output_read(&all);
	for (size_t at = 0; at < all.size; at += piece) {
		size_t n = all.size - at < piece ? all.size - at : piece;
		uint8_t *out = malloc(n + 1024);
		z_stream stream = { .next_in = all.bytes + at, .avail_in = (uInt)n,
				    .next_out = out, .avail_out = (uInt)n + 1024 };

		if (deflateInit2(&stream, 1, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY) != Z_OK ||
		    deflate(&stream, Z_FINISH) != Z_STREAM_END ||
		    write(packed, out, stream.total_out) != (ssize_t)stream.total_out)
			abort();
		deflateEnd(&stream);
		free(out);
	}
	free(all.bytes);
	return packed;
}

#endif /* FLOWTAP_SELFTESTS_SUPPORT_STF_READING_H */
