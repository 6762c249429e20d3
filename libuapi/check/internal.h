/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the parts of the check share. */
#ifndef FLOWTAP_LIBUAPI_CHECK_INTERNAL_H
#define FLOWTAP_LIBUAPI_CHECK_INTERNAL_H

#include <flowtap/check.h>
#include <stddef.h>

/* Counts a problem and hands it on. */
void flowtap_check_report(struct flowtap_check *check, uint64_t offset, bool unpacked,
			  const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Counts a remark and hands it on. */
void flowtap_check_remark(struct flowtap_check *check, uint64_t offset, bool unpacked,
			  const char *reason);
/* Calls progress now and then. */
void flowtap_check_progress(struct flowtap_check *check, uint64_t before, uint64_t done);

/* As flowtap_check_file, of a file that begins like one. */
int flowtap_check_archive(struct flowtap_check *check, int fd);
int flowtap_check_stf(struct flowtap_check *check, int fd);
int flowtap_check_zstf(struct flowtap_check *check, int fd);
int flowtap_check_tarmac(struct flowtap_check *check, int fd);
int flowtap_check_qemu4v(struct flowtap_check *check, int fd);

struct flowtap_stf_rules;

/* NULL: no memory. unpacked: the offsets are not the file's. */
struct flowtap_stf_rules *flowtap_stf_rules_new(struct flowtap_check *check, bool unpacked);
/*
 * Takes the next bytes of a trace, in pieces of at least 128 KiB but for the last; returns how
 * many: what is left has to come again with more after it. After a record that cannot be passed
 * over, all.
 */
size_t flowtap_stf_rules_feed(struct flowtap_stf_rules *rules, const uint8_t *bytes, size_t size,
			      bool last);
/* Whether a record could not be passed over. */
bool flowtap_stf_rules_lost(const struct flowtap_stf_rules *rules);
/* Whether what was fed ends with an opcode's record; and the PC after it. */
bool flowtap_stf_rules_at_opcode(const struct flowtap_stf_rules *rules, uint64_t *pc);
/* Goes on at the beginning of an instruction's records: at `offset` of the trace, at `pc`. */
void flowtap_stf_rules_resume(struct flowtap_stf_rules *rules, uint64_t offset, uint64_t pc);
/* False if there is no way to go on: the header was not read. */
bool flowtap_stf_rules_in_body(const struct flowtap_stf_rules *rules);
/* The trace is over. */
void flowtap_stf_rules_end(struct flowtap_stf_rules *rules);
/*
 * Makes the remarks of a trace without a problem, after its end: what stf_check and stf_recompress
 * do not take.
 */
void flowtap_stf_rules_remark(const struct flowtap_stf_rules *rules);
void flowtap_stf_rules_free(struct flowtap_stf_rules *rules);

#endif /* FLOWTAP_LIBUAPI_CHECK_INTERNAL_H */
