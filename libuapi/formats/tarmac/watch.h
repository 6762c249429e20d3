/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Reading Tarmac and QEMU4V while somebody looks at each line, too. */
#ifndef FLOWTAP_LIBUAPI_FORMATS_TARMAC_WATCH_H
#define FLOWTAP_LIBUAPI_FORMATS_TARMAC_WATCH_H

#include <flowtap/read.h>

#include "base/line_reader.h"
#include "formats/tarmac/line.h"

struct tarmac_watch {
	/*
	 * Before what the line says is emitted. scan: after the event's word. insn: of a line of
	 * an instruction that is one; else NULL.
	 */
	void (*line)(struct tarmac_watch *watch, const struct flowtap_line_reader *rows,
		     const struct tarmac_head *head, const struct tarmac_scan *scan,
		     const struct tarmac_instruction *insn);
};

/* As flowtap_tarmac_read, flowtap_qemu4v_read. watch: NULL: nobody does. */
int flowtap_tarmac_watch(struct flowtap_read *read, int fd, bool qemu4v,
			 struct tarmac_watch *watch);

#endif /* FLOWTAP_LIBUAPI_FORMATS_TARMAC_WATCH_H */
