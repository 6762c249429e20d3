// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any bytes as an STF that is copied record by record, plain and compressed: the copy is whole, so
 * that a copy of it is the same, and has as many instructions as the reader finds in it; with a
 * chunk of a .zstf or its index damaged, too.
 */
#include <flowtap/learned.h>
#include <flowtap/stf.h>

#include "stfcheck/sample.h"
#include "support/madestf.h"

#include <errno.h>

static uint64_t instructions_in(int fd)
{
	struct flowtap_read read = { .learned = flowtap_learned_new(1U << 20) };
	struct flowtap_learned *learned = read.learned;

	lseek(fd, 0, SEEK_SET);
	if (!learned || flowtap_stf_read(&read, fd))
		abort();
	flowtap_learned_free(learned);
	return read.instructions;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct flowtap_stf_copy copy, again;
	int fd = memfd_create("stf", MFD_CLOEXEC), status, other;
	struct output plain, packed, back;

	if (write(fd, data, size) != (ssize_t)size)
		abort();
	plain = copy_of(fd, 0, &copy, &status);
	packed = copy_of(fd, 1 + size % 7, &again, &other);
	close(fd);
	if (status != other || (status && status != -EBADMSG && status != -ENODATA &&
				status != -EPROTONOSUPPORT))
		abort();
	if (!status) {
		if (copy.instructions != again.instructions || !copy.instructions ||
		    copy.instructions != instructions_in(plain.fd))
			abort();
		back = copy_of(packed.fd, 0, &again, &status);
		if (status || again.damaged || again.instructions != copy.instructions ||
		    output_differs(&plain, back.bytes, back.size) != -1)
			abort();
		output_free(&back);
	}
	output_free(&plain);
	output_free(&packed);
	return 0;
}

static size_t make_seed(uint8_t *buffer, size_t capacity, unsigned int n)
{
	const struct flowtap_zstf_options zstf = { .markers = 20, .level = 1 };
	struct output output = made_stf(n, n & 1, 30, &zstf);
	size_t size = output.size < capacity ? output.size : capacity;

	memcpy(buffer, output.bytes, size);
	output_free(&output);
	return size;
}

size_t flowtap_fuzz_seed(uint8_t *buffer, size_t capacity, unsigned int n)
{
	static const struct {
		const uint8_t *bytes;
		size_t size;
	} seeds[] = {
		{ sample_all, sizeof(sample_all) },
		{ sample_user, sizeof(sample_user) },
		{ sample_isas, sizeof(sample_isas) },
	};
	static uint8_t made[8][8192];
	static size_t sizes[8];
	size_t size;

	if (n >= 8)
		return 0;
	if (n >= 3 && !sizes[n])
		sizes[n] = make_seed(made[n], sizeof(made[n]), n);
	size = n < 3 ? seeds[n].size : sizes[n];
	memcpy(buffer, n < 3 ? seeds[n].bytes : made[n], size < capacity ? size : capacity);
	return size < capacity ? size : capacity;
}
