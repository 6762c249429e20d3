/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers of 64 bits in a file that a test makes. */
#ifndef FLOWTAP_SELFTESTS_SUPPORT_WORDS_H
#define FLOWTAP_SELFTESTS_SUPPORT_WORDS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline void put_words(uint8_t *to, const uint64_t *words, size_t n)
{
	memcpy(to, words, n * sizeof(*words));
}

#endif /* FLOWTAP_SELFTESTS_SUPPORT_WORDS_H */
