// SPDX-License-Identifier: GPL-2.0-only
/* Numbers as people type and read them. */
#include "common/tool.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bool number_parse(const char *text, uint64_t least, uint64_t most, uint64_t *value)
{
	unsigned long long number;
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	char *end;

	/* strtoull takes signs and blanks; a number here begins with a digit. */
	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	number = strtoull(text, &end, hex ? 16 : 10);
	if (errno || *end || number < least || number > most)
		return false;
	*value = number;
	return true;
}

bool number_parse_seconds(const char *text, uint64_t *nanoseconds)
{
	double seconds;
	char *end;

	if ((text[0] < '0' || text[0] > '9') && text[0] != '.')
		return false;
	seconds = strtod(text, &end);
	/* A year is more than anybody means, and less than the clock holds. */
	if (*end || !isfinite(seconds) || seconds <= 0 || seconds > 366 * 86400.0)
		return false;
	*nanoseconds = (uint64_t)(seconds * 1e9);
	return *nanoseconds > 0;
}

bool number_parse_size(const char *text, uint64_t *value)
{
	static const char units[] = "KMG";
	char digits[24];
	size_t size = strlen(text), shift = 0;
	const char *unit = size ? strchr(units, text[size - 1]) : NULL;

	if (unit && *unit) {
		shift = 10 * (size_t)(unit - units + 1);
		size--;
	}
	if (!size || size >= sizeof(digits))
		return false;
	memcpy(digits, text, size);
	digits[size] = 0;
	if (!number_parse(digits, 1, UINT64_MAX >> shift, value))
		return false;
	*value <<= shift;
	return true;
}

const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

const char *number_group(uint64_t value, char *buffer)
{
	char digits[24];
	int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);
	char *out = buffer;

	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			*out++ = ',';
		*out++ = digits[i];
	}
	*out = 0;
	return buffer;
}

const char *number_bytes(uint64_t bytes, char *buffer)
{
	static const char *const units[] = { "bytes", "kB", "MB", "GB", "TB" };
	double value = (double)bytes;
	size_t unit = 0;

	/* As it is rounded. */
	while (value >= (unit ? 999.95 : 1000) && unit + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1000;
		unit++;
	}
	if (bytes == 1)
		return strcpy(buffer, "1 byte");
	snprintf(buffer, 32, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
	return buffer;
}

const char *number_time(uint64_t nanoseconds, char *buffer)
{
	/* As it is rounded. */
	bool long_one = nanoseconds >= 999950000;

	snprintf(buffer, 32, long_one ? "%.1f s" : "%.1f ms",
		 (double)nanoseconds / (long_one ? 1e9 : 1e6));
	return buffer;
}

static uint64_t time_of(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t number_now(void)
{
	return time_of(CLOCK_MONOTONIC_RAW);
}

/* How long ago, by the one clock, is as long ago by the other. */
uint64_t number_raw(uint64_t monotonic)
{
	const uint64_t now = time_of(CLOCK_MONOTONIC), raw = number_now();
	const uint64_t ago = now > monotonic ? now - monotonic : 0;

	return raw > ago ? raw - ago : 0;
}
