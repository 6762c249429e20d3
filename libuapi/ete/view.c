// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The code that a context sees, as far as it was asked for. */
#include "ete/view.h"

#include <string.h>

static void begin(struct ete_views *views, struct ete_view *view)
{
	*view = (struct ete_view){ .context = views->context, .epoch = ++views->epochs };
	views->current = view;
}

void flowtap_ete_views_invalidate(struct ete_views *views)
{
	for (int i = 0; i < ETE_VIEWS; i++)
		views->list[i].epoch = 0;
	begin(views, &views->list[0]);
}

void flowtap_ete_views_invalidate_blocks(struct ete_views *views)
{
	memset(views->jumps, 0, sizeof(views->jumps));
}

/* Whether the same code can be expected: nothing but the ISA differs. */
static bool same(const struct flowtap_context *a, const struct flowtap_context *b)
{
	return a->mode == b->mode && a->security == b->security && a->width == b->width &&
	       a->pid == b->pid && a->tid == b->tid && a->cpu == b->cpu &&
	       a->has_vmid == b->has_vmid && a->vmid == b->vmid &&
	       a->has_contextid == b->has_contextid && a->contextid == b->contextid;
}

void flowtap_ete_views_select(struct ete_views *views, const struct flowtap_context *context)
{
	views->context = *context;
	for (int i = 0; i < ETE_VIEWS; i++) {
		if (views->list[i].epoch && same(&views->list[i].context, context)) {
			views->current = &views->list[i];
			return;
		}
	}
	begin(views, &views->list[views->oldest]);
	views->oldest = (views->oldest + 1) % ETE_VIEWS;
}
