/* SPDX-License-Identifier: GPL-2.0-only */
/* The first difference of two traces, with what is around it, as people and programs read it. */
#ifndef FLOWTAP_TOOLS_DIFF_DIFFERENCE_H
#define FLOWTAP_TOOLS_DIFF_DIFFERENCE_H

#include "diff/steps.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DIFFERENCE_CONTEXT_MAX 100000U
/* An IT block that began before what is shown has to be known. */
#define DIFFERENCE_MORE 4U

struct flowtap_disasm;

struct difference {
	const struct tracefile *files;	/* two */
	size_t context;			/* steps shown before and after */
	bool quiet;
	bool json;
	bool found;
	bool unknown;			/* it could not be compared whole */
	uint64_t same;			/* instructions that are the same */
	struct step *before;		/* ring of the last ones that are */
	uint64_t n_before;		/* ever */
	struct step *after[2];		/* from the difference on: of A, of B */
	size_t n[2];			/* 0: that one has ended */
	bool ended[2];			/* within what is shown */
	struct flowtap_disasm *disasm;
};

/* Makes space. 0, or an exit status after a complaint. */
int difference_init(struct difference *difference, enum flowtap_disasm_backend disassembler);
void difference_free(struct difference *difference);
/* A step that is the same in both. */
void difference_before(struct difference *difference, const struct step *step);
/* One that is not, or follows it; NULL: that file has ended. */
void difference_add(struct difference *difference, int file, const struct step *step);
/* To standard output. */
void difference_print(const struct difference *difference);
void difference_json(const struct difference *difference);

#endif /* FLOWTAP_TOOLS_DIFF_DIFFERENCE_H */
