/* SPDX-License-Identifier: GPL-2.0-only */
/* How many files may be open: a recording has one for each CPU, and more for each thread. */
#ifndef FLOWTAP_TOOLS_RECORDING_DESCRIPTORS_H
#define FLOWTAP_TOOLS_RECORDING_DESCRIPTORS_H

/* As many as the hard limit lets us. */
void descriptors_raise(void);
/* As it was: what we execute may still use select. */
void descriptors_restore(void);

#endif /* FLOWTAP_TOOLS_RECORDING_DESCRIPTORS_H */
