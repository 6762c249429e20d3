/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* How long the records of STF are and where they may be, for readers. */
#ifndef FLOWTAP_LIBUAPI_FORMATS_STF_LAYOUT_H
#define FLOWTAP_LIBUAPI_FORMATS_STF_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

/* What gaps say where reading ends, or goes on with the next chunk. */
#define STF_NO_RECORD	"what stands here is no record"
#define STF_ANOTHER	"another trace begins here"

enum stf_position {
	STF_POSITION_NONE,	/* there is no such record */
	STF_POSITION_HEADER,
	STF_POSITION_ANY,	/* header and groups, in no order */
	STF_POSITION_GROUP,	/* among an instruction's records, ascending */
	STF_POSITION_OPCODE,	/* the last of them */
	STF_POSITION_TRANSACTION,	/* of traces that are no instruction traces */
};

#define STF_VLEN_MAX 65536U		/* bits (V extension 2) */

/* The length of a record's payload. */
enum stf_length {
	STF_LENGTH_FIXED,
	STF_LENGTH_COUNTED,	/* a number says how many pieces follow what is always there */
	STF_LENGTH_OWN,		/* a rule of this record alone */
};

/* One kind of record. */
struct stf_layout {
	const char *name;	/* NULL: there is no such record */
	uint8_t position;	/* enum stf_position */
	uint8_t length;		/* enum stf_length */
	uint8_t size;		/* bytes that are always there */
	/* COUNTED: the number is `width` bytes at `at`, a piece `unit` bytes. */
	uint8_t at;
	uint8_t width;
	uint8_t unit;
};

/* By descriptor. */
extern const struct stf_layout flowtap_stf_layouts[256];

/* NULL: no such record. */
static inline const char *stf_name(uint8_t descriptor)
{
	return flowtap_stf_layouts[descriptor].name;
}

static inline enum stf_position stf_position(uint8_t descriptor)
{
	return flowtap_stf_layouts[descriptor].position;
}

/* What the header says of the sizes of records. */
struct stf_widths {
	unsigned int event_id;	/* 4 or 8 bytes */
	uint32_t vlen;		/* bits of a vector register, 0 not said */
	uint8_t protocol;	/* of transactions, 0 not said */
};

/* Of unknown length: a TRANSACTION of a protocol, or of a channel of it, that is not known. */
#define STF_PAYLOAD_UNKNOWN (UINT64_MAX - 1)

/*
 * Bytes of payload; UINT64_MAX: more than `available` ones are needed to know: 32 always suffice,
 * but for a TRANSACTION, which is up to 75 KiB long, 66 KiB; STF_PAYLOAD_UNKNOWN. A vector register
 * without VLEN_CONFIG is as long as an integer one.
 */
uint64_t flowtap_stf_payload(const struct stf_widths *widths, uint8_t descriptor,
			     const uint8_t *payload, size_t available);

/* The same, at once where the length is fixed, as nearly all are. */
static inline uint64_t stf_payload(const struct stf_widths *widths, uint8_t descriptor,
				   const uint8_t *payload, size_t available)
{
	const struct stf_layout *layout = &flowtap_stf_layouts[descriptor];

	if (layout->length == STF_LENGTH_FIXED)
		return layout->size;
	return flowtap_stf_payload(widths, descriptor, payload, available);
}

/* What of a TRANSACTION its protocol defines: bytes of it, or as above. */
uint64_t flowtap_stf_protocol(unsigned int protocol, const uint8_t *data, size_t available);

/* Little-endian, n up to 8 bytes. */
static inline uint64_t stf_number(const uint8_t *bytes, unsigned int n)
{
	uint64_t value = 0;

	while (n--)
		value = value << 8 | bytes[n];
	return value;
}

#endif /* FLOWTAP_LIBUAPI_FORMATS_STF_LAYOUT_H */
