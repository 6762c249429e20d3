// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Reads a file or pipe through one buffer, and inflates gzip members one after the other with
 * zlib.
 */
#include "base/file_input.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define PACKED_CAPACITY (256U << 10)

struct flowtap_file_input {
	int fd;
	bool gzip;
	bool inside;		/* a gzip member */
	const char *reason;	/* of the last error */
	uint64_t reason_offset;
	uint64_t done;
	uint64_t size;
	z_stream stream;
	size_t begin;		/* what was read and not handed on */
	size_t end;
	uint8_t bytes[PACKED_CAPACITY];
};

static ssize_t read_some(struct flowtap_file_input *in, void *bytes, size_t capacity)
{
	ssize_t n;

	do
		n = read(in->fd, bytes, capacity);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	in->done += (uint64_t)n;
	return n;
}

/*
 * At least `least` bytes, or what there is. Bytes, or -errno of read. What is there already is not
 * moved: members may be of some 20 bytes each.
 */
static ssize_t fill(struct flowtap_file_input *in, size_t least)
{
	if (in->end - in->begin >= least)
		return (ssize_t)(in->end - in->begin);
	memmove(in->bytes, in->bytes + in->begin, in->end - in->begin);
	in->end -= in->begin;
	in->begin = 0;
	while (in->end < least) {
		ssize_t n = read_some(in, in->bytes + in->end, sizeof(in->bytes) - in->end);

		if (n < 0)
			return n;
		if (!n)
			break;
		in->end += (size_t)n;
	}
	return (ssize_t)in->end;
}

static bool is_gzip(const struct flowtap_file_input *in)
{
	const uint8_t *at = in->bytes + in->begin;

	return in->end - in->begin >= 3 && at[0] == 0x1f && at[1] == 0x8b && at[2] == Z_DEFLATED;
}

int flowtap_file_input_new(int fd, struct flowtap_file_input **made)
{
	struct flowtap_file_input *in = calloc(1, sizeof(*in));
	struct stat status;
	ssize_t n;

	if (!in)
		return -ENOMEM;
	in->fd = fd;
	if (!fstat(fd, &status) && S_ISREG(status.st_mode))
		in->size = (uint64_t)status.st_size;
	n = fill(in, FLOWTAP_IN_FIRST);
	if (n >= 0 && is_gzip(in)) {
		in->gzip = in->inside = true;
		if (inflateInit2(&in->stream, 16 + MAX_WBITS) != Z_OK)
			n = -ENOMEM;
	}
	if (n < 0) {
		free(in);
		return (int)n;
	}
	*made = in;
	return 0;
}

void flowtap_file_input_free(struct flowtap_file_input *in)
{
	if (in && in->gzip)
		inflateEnd(&in->stream);
	free(in);
}

size_t flowtap_file_input_first(const struct flowtap_file_input *in, const uint8_t **bytes)
{
	*bytes = in->bytes + in->begin;
	return in->end - in->begin;
}

bool flowtap_file_input_packed(const struct flowtap_file_input *in)
{
	return in->gzip;
}

uint64_t flowtap_file_input_done(const struct flowtap_file_input *in)
{
	return in->done;
}

uint64_t flowtap_file_input_size(const struct flowtap_file_input *in)
{
	return in->size;
}

const char *flowtap_file_input_problem(const struct flowtap_file_input *in, uint64_t *offset)
{
	*offset = in->reason_offset;
	return in->reason;
}

static int bad(struct flowtap_file_input *in, int error, const char *reason)
{
	in->reason = reason;
	in->reason_offset = in->done - (in->end - in->begin);
	return error;
}

static ssize_t read_plain(struct flowtap_file_input *in, void *bytes, size_t capacity)
{
	size_t n = in->end - in->begin;

	if (!n)
		return read_some(in, bytes, capacity);
	if (n > capacity)
		n = capacity;
	memcpy(bytes, in->bytes + in->begin, n);
	in->begin += n;
	return (ssize_t)n;
}

/* After the last member there may be zeros, as tapes have them. */
static int only_zeros(struct flowtap_file_input *in)
{
	ssize_t n;

	do {
		for (; in->begin < in->end; in->begin++)
			if (in->bytes[in->begin])
				return bad(in, -EBADMSG, "no gzip stream goes on here");
		n = fill(in, 1);
	} while (n > 0);
	return (int)n;
}

/* After a member: another one, or nothing. 1: it goes on. */
static int next_member(struct flowtap_file_input *in)
{
	ssize_t n = fill(in, 3);

	if (n < 0)
		return (int)n;
	if (!is_gzip(in))
		return only_zeros(in);
	in->inside = true;
	return inflateReset(&in->stream) == Z_OK ? 1 : bad(in, -EBADMSG, "zlib gives up");
}

static ssize_t unpack(struct flowtap_file_input *in, uint8_t *bytes, size_t capacity)
{
	int status;

	in->stream.next_in = in->bytes + in->begin;
	in->stream.avail_in = (uInt)(in->end - in->begin);
	in->stream.next_out = bytes;
	in->stream.avail_out = capacity > 1U << 30 ? 1U << 30 : (uInt)capacity;
	status = inflate(&in->stream, Z_NO_FLUSH);
	in->begin = in->end - in->stream.avail_in;
	if (status == Z_STREAM_END)
		in->inside = false;
	else if (status == Z_MEM_ERROR)
		return -ENOMEM;
	else if (status != Z_OK && status != Z_BUF_ERROR)
		return in->stream.next_out > bytes ? in->stream.next_out - bytes :
		       bad(in, -EBADMSG, in->stream.msg ? in->stream.msg : "damaged gzip data");
	return in->stream.next_out - bytes;
}

ssize_t flowtap_file_input_read(struct flowtap_file_input *in, void *bytes, size_t capacity)
{
	ssize_t n;

	if (!in->gzip)
		return read_plain(in, bytes, capacity);
	for (;;) {
		if (!in->inside) {
			int status = next_member(in);

			if (status <= 0)
				return status;
		}
		if (in->begin == in->end) {
			n = fill(in, 1);
			if (n <= 0)
				return n ? n :
				       bad(in, -ENODATA, "the file ends within its gzip stream");
		}
		n = unpack(in, bytes, capacity);
		if (n)
			return n;
	}
}

size_t flowtap_file_input_begin(const void *begin, size_t size, char *text, size_t capacity)
{
	z_stream stream = {
		.next_in = (uint8_t *)begin, .avail_in = (uInt)size,
		.next_out = (uint8_t *)text, .avail_out = (uInt)capacity,
	};

	if (size < 3 || memcmp(begin, "\x1f\x8b\x08", 3)) {
		if (size > capacity)
			size = capacity;
		memcpy(text, begin, size);
		return size;
	}
	if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK)
		return 0;
	/* What came out before an error, or before the begin ends, is right. */
	inflate(&stream, Z_SYNC_FLUSH);
	inflateEnd(&stream);
	return capacity - stream.avail_out;
}
