/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Single records of STF, each that there is, to and from bytes. What they
 * mean for each other is not looked at here: flowtap/stf.h reads and writes whole traces,
 * flowtap/check.h has the rules.
 */
#ifndef FLOWTAP_STF_RECORD_H
#define FLOWTAP_STF_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FLOWTAP_STF_FIELDS 6U

/*
 * `field` in the order of the record (STF 1.3, "Specification of Records"), `bytes` what is
 * after them, in the order of the file:
 *
 *	01 IDENTIFIER		-; bytes: "STF"
 *	02 VERSION		major, minor
 *	03 COMMENT		-; bytes: the text
 *	04 ISA			isa
 *	05 INST_IEM		encoding
 *	06 TRACE_INFO		generator, major, minor, minor minor; bytes: the text
 *	07 TRACE_INFO_FEATURE	bits
 *	08 PROCESS_ID_EXT	hardware thread, pid, tid
 *	09 FORCE_PC		pc
 *	0a VLEN_CONFIG		bits of a vector register
 *	0b PROTOCOL_ID		protocol
 *	0c CLOCK_ID		clock; bytes: its name
 *	0d ISA_EXTENDED		-; bytes: the text
 *	13 END_HEADER		-
 *	1f INST_PC_TARGET	pc
 *	28 INST_REG		register, operand << 4 | type; bytes: 8, a vector register's more
 *	29 INST_READY_REG	register
 *	32 PAGE_TABLE_WALK	va, index, page size; bytes: 16 for each entry (pa, pte)
 *	3c INST_MEM_ACCESS	va, size, attributes, type
 *	3d INST_MEM_CONTENT	data
 *	3e BUS_MASTER_ACCESS	address, size, initiator, its index, attributes, type
 *	3f BUS_MASTER_CONTENT	data
 *	64 EVENT		id; bytes: 8 for each field
 *	65 EVENT_PC_TARGET	pc
 *	e6 MICROOP		size, opcode
 *	f0 INST_32		opcode
 *	f1 INST_16		opcode
 *	fa TRANSACTION		transaction, cycles since the one before, clock; bytes: the protocol's
 *	fb DEPENDENCY		transaction, cycles since the one before, clock
 *
 * The one protocol is TileLink (1). Its bytes, as stf_lib writes them: u8 channel (1 A to 5 E); of
 * A to D u8 code, u8 param, u8 size, u64 source, u16 n and n bytes of data; of A to C u64 address;
 * of A and B u16 n and n bits of a mask; of D and E u64 sink.
 */
struct flowtap_stf_record {
	uint8_t descriptor;
	uint64_t field[FLOWTAP_STF_FIELDS];
	const uint8_t *bytes;		/* borrowed: of what was read, or to be written */
	size_t size;			/* of bytes */
};

/* What the header says of the sizes of records. */
struct flowtap_stf_sizes {
	uint32_t event_id;	/* bytes of an EVENT's id: 8 if TRACE_INFO_FEATURE has bit 19, else 4 */
	uint32_t vlen;		/* of VLEN_CONFIG; 0: there was none */
	uint8_t protocol;	/* of PROTOCOL_ID; 0: there was none */
	bool body;		/* END_HEADER has come: no record changes them any more */
};

/*
 * Writes it to `to`. 0, and *size: its bytes; -ENOSPC: there is no space for *size bytes;
 * -EINVAL: there is no such record, or none of this size; -ERANGE: a field has no space for its
 * value. Nothing is written then.
 */
int flowtap_stf_record_write(uint8_t *to, size_t capacity, const struct flowtap_stf_sizes *sizes,
			     const struct flowtap_stf_record *record, size_t *size);
/*
 * Takes one that begins at `bytes`. 0, and *size: its bytes; -ENODATA: `available` ones are not all
 * of it, *size are, or if that is 0 more are needed to know; -EBADMSG: no record has this
 * descriptor, or it is a TRANSACTION of which the protocol or the channel is not known. Without the
 * bytes after its fields a record is taken as well, with -ENODATA; of them there are then those
 * that are available. But for COMMENT and ISA_EXTENDED none is longer than 75 KiB.
 */
int flowtap_stf_record_parse(const uint8_t *bytes, size_t available,
			     const struct flowtap_stf_sizes *sizes,
			     struct flowtap_stf_record *record, size_t *size);
/* To be called with each record that was read or written: up to END_HEADER it may say of sizes. */
void flowtap_stf_record_follow(struct flowtap_stf_sizes *sizes,
			       const struct flowtap_stf_record *record);
/* "INST_PC_TARGET" ...; NULL: no such record. */
const char *flowtap_stf_record_name(uint8_t descriptor);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_STF_RECORD_H */
