/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ETE_PACKET_TABLE_H
#define ETE_PACKET_TABLE_H

#include <stdint.h>

/* enum flowtap_ete_packet_type of each header byte. */
extern const uint8_t ete_packet_types[256];

#endif /* ETE_PACKET_TABLE_H */
