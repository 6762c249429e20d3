// SPDX-License-Identifier: GPL-2.0-only
/* Decodes the variable-length numbers of a mapped log, with every offset and count checked. */
#include "reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int map_file(const char *prefix, const char *suffix, const char *magic, void **bytes,
		    size_t *size)
{
	char path[4096];
	struct stat st;
	int fd, err = 0;

	if (snprintf(path, sizeof(path), "%s.%s", prefix, suffix) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (st.st_size < ORACLE_MAGIC_SIZE)
		err = -EBADMSG;
	if (!err) {
		*size = st.st_size;
		*bytes = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (*bytes == MAP_FAILED)
			err = -errno;
	}
	close(fd);
	if (!err && memcmp(*bytes, magic, ORACLE_MAGIC_SIZE)) {
		munmap(*bytes, *size);
		err = -EBADMSG;
	}
	return err;
}

static int index_code(struct oracle_code *code)
{
	const uint8_t *at = (const uint8_t *)code->bytes + ORACLE_MAGIC_SIZE;
	const uint8_t *end = (const uint8_t *)code->bytes + code->size;
	uint32_t capacity = 0;

	while (at < end) {
		struct oracle_piece piece;

		if (end - at < 12)
			return -EBADMSG;
		memcpy(&piece.address, at, 8);
		memcpy(&piece.n, at + 8, 4);
		at += 12;
		if ((size_t)(end - at) / 4 < piece.n)
			return -EBADMSG;
		piece.opcodes = (const uint32_t *)at;	/* the format keeps it aligned to 4 */
		at += 4 * (size_t)piece.n;
		if (code->n == capacity) {
			void *more;

			capacity = capacity ? 2 * capacity : 4096;
			more = reallocarray(code->pieces, capacity, sizeof(piece));
			if (!more)
				return -ENOMEM;
			code->pieces = more;
		}
		code->pieces[code->n++] = piece;
	}
	return 0;
}

int oracle_code_open(struct oracle_code *code, const char *prefix)
{
	int err;

	memset(code, 0, sizeof(*code));
	err = map_file(prefix, "code", ORACLE_CODE_MAGIC, &code->bytes, &code->size);
	if (err)
		return err;
	err = index_code(code);
	if (err)
		oracle_code_close(code);
	return err;
}

void oracle_code_close(struct oracle_code *code)
{
	free(code->pieces);
	munmap(code->bytes, code->size);
}

int oracle_hart_open(struct oracle_hart *hart, const struct oracle_code *code, const char *prefix,
		     unsigned int number)
{
	char suffix[16];

	memset(hart, 0, sizeof(*hart));
	hart->code = code;
	hart->offset = ORACLE_MAGIC_SIZE;
	snprintf(suffix, sizeof(suffix), "%u", number);
	return map_file(prefix, suffix, ORACLE_HART_MAGIC, (void **)&hart->bytes, &hart->size);
}

static int get(struct oracle_hart *hart, size_t *offset, uint64_t *number)
{
	*number = 0;
	for (unsigned int shift = 0; shift < 64; shift += 7) {
		uint8_t byte;

		if (*offset >= hart->size)
			return -EBADMSG;
		byte = hart->bytes[(*offset)++];
		*number |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return 0;
	}
	return -EBADMSG;
}

static int check_run(const struct oracle_code *code, const struct oracle_event *event)
{
	if (event->field[0] >= code->n || event->field[2] > code->pieces[event->field[0]].n)
		return -EBADMSG;
	return 0;
}

int oracle_hart_next(struct oracle_hart *hart, struct oracle_event *event)
{
	size_t offset = hart->offset;
	bool stamped;
	uint64_t more;
	int err;

	if (offset >= hart->size || hart->bytes[offset] >= ORACLE_KINDS)
		return -EBADMSG;
	event->kind = hart->bytes[offset++];
	if (event->kind == ORACLE_END)
		return 0;
	stamped = event->kind != ORACLE_RUN;
	event->stamp = hart->stamp;
	if (stamped) {
		err = get(hart, &offset, &more);
		if (err)
			return err;
		event->stamp += more;
	}
	for (int i = 0; i < oracle_fields[event->kind] - stamped; i++) {
		err = get(hart, &offset, &event->field[i]);
		if (err)
			return err;
	}
	if (event->kind == ORACLE_RUN) {
		err = check_run(hart->code, event);
		if (err)
			return err;
	}
	hart->offset = offset;
	hart->stamp = event->stamp;
	return 1;
}

void oracle_hart_close(struct oracle_hart *hart)
{
	munmap(hart->bytes, hart->size);
}
