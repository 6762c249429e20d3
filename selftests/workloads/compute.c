// SPDX-License-Identifier: GPL-2.0-only
/* Computation: sorts numbers in two ways and compares; packs text and unpacks it again. */
#include "workload.h"

#define COUNT 1024
#define TEXT 16384
#define WINDOW 1024

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void sift(uint64_t *heap, size_t at, size_t n)
{
	for (size_t child; (child = 2 * at + 1) < n; at = child) {
		uint64_t value = heap[at];

		if (child + 1 < n && heap[child + 1] > heap[child])
			child++;
		if (heap[child] <= value)
			return;
		heap[at] = heap[child];
		heap[child] = value;
	}
}

static void heap_sort(uint64_t *numbers, size_t n)
{
	for (size_t i = n / 2; i--;)
		sift(numbers, i, n);
	while (n-- > 1) {
		uint64_t value = numbers[0];

		numbers[0] = numbers[n];
		numbers[n] = value;
		sift(numbers, 0, n);
	}
}

static int sort_round(uint64_t *state)
{
	static uint64_t a[COUNT], b[COUNT];

	for (int i = 0; i < COUNT; i++)
		a[i] = b[i] = mix(state);
	qsort(a, COUNT, sizeof(a[0]), by_value);
	heap_sort(b, COUNT);
	return !memcmp(a, b, sizeof(a));
}

/* LZ77 in bytes: 0, literal; or length 3..255, distance low, distance high. */
static size_t pack(const uint8_t *in, size_t n, uint8_t *out)
{
	static int16_t last[4096];
	size_t to = 0;

	memset(last, -1, sizeof(last));
	for (size_t i = 0; i < n;) {
		size_t hash = i + 3 > n ? 0 : (in[i] * 33 * 33 + in[i + 1] * 33 + in[i + 2]) % 4096;
		int from = last[hash];
		size_t length = 0;

		last[hash] = i;
		if (from >= 0 && i - from <= WINDOW)
			while (length < 255 && i + length < n &&
			       in[from + length] == in[i + length])
				length++;
		if (length < 3) {
			out[to++] = 0;
			out[to++] = in[i++];
			continue;
		}
		out[to++] = length;
		out[to++] = i - from;
		out[to++] = (i - from) >> 8;
		i += length;
	}
	return to;
}

static size_t unpack(const uint8_t *in, size_t n, uint8_t *out)
{
	size_t to = 0;

	for (size_t i = 0; i < n;) {
		if (!in[i]) {
			out[to++] = in[i + 1];
			i += 2;
			continue;
		}
		for (unsigned int k = in[i], distance = in[i + 1] | in[i + 2] << 8; k--; to++)
			out[to] = out[to - distance];
		i += 3;
	}
	return to;
}

static int pack_round(uint64_t *state, uint64_t *sum)
{
	static const char *const words[] = {
		"control ", "transfer ", "record ", "the ", "of ", "a ", "branch ", "taken, ",
	};
	static uint8_t text[TEXT + 16], packed[2 * TEXT + 32], again[TEXT + 16];
	size_t n = 0, size;

	while (n < TEXT) {
		const char *word = words[mix(state) & 7];

		memcpy(text + n, word, strlen(word));
		n += strlen(word);
	}
	size = pack(text, n, packed);
	*sum = *sum * 31 + size;
	return unpack(packed, size, again) == n && !memcmp(text, again, n);
}

int main(int argc, char **argv)
{
	unsigned long amount = begin(argc, argv, 10);
	uint64_t state = 1, sum = 0;
	int right = 1;

	for (unsigned long i = 0; i < amount && right; i++)
		right = sort_round(&state) && pack_round(&state, &sum);
	return end("compute", right, sum);
}
