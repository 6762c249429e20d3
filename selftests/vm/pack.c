// SPDX-License-Identifier: GPL-2.0-only
/*
 * The program that `make run` traces: packs and unpacks files with zlib, again and again until it
 * is stopped, and compares. Its data are real ones: whatever files the guest has.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static void die(const char *path, const char *what)
{
	fprintf(stderr, "pack: %s: %s\n", path, what);
	exit(1);
}

static unsigned char *read_file(const char *path, uLong *size)
{
	FILE *file = fopen(path, "rb");
	unsigned char *bytes;
	long end;

	if (!file || fseek(file, 0, SEEK_END) || (end = ftell(file)) <= 0)
		die(path, "cannot be read");
	rewind(file);
	bytes = malloc((size_t)end);
	if (!bytes || fread(bytes, 1, (size_t)end, file) != (size_t)end)
		die(path, "cannot be read");
	fclose(file);
	*size = (uLong)end;
	return bytes;
}

static void check(const char *path, int level)
{
	uLong size, packed_size, unpacked_size;
	unsigned char *bytes = read_file(path, &size), *packed, *unpacked;

	packed_size = compressBound(size);
	packed = malloc(packed_size);
	unpacked = malloc(size);
	if (!packed || !unpacked)
		die(path, "no memory");
	if (compress2(packed, &packed_size, bytes, size, level) != Z_OK)
		die(path, "cannot be packed");
	unpacked_size = size;
	if (uncompress(unpacked, &unpacked_size, packed, packed_size) != Z_OK ||
	    unpacked_size != size || memcmp(bytes, unpacked, size) ||
	    crc32(0, bytes, (uInt)size) != crc32(0, unpacked, (uInt)size))
		die(path, "comes out other than it went in");
	free(bytes);
	free(packed);
	free(unpacked);
}

int main(int argc, char **argv)
{
	for (unsigned int round = 0; argc > 1; round++)
		for (int i = 1; i < argc; i++)
			check(argv[i], 1 + (int)(round % 9));
	die("usage", "pack FILE...");
}
