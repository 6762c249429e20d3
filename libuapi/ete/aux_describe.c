// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* What a CPU's trace unit is, and how it was set up. */
#include <errno.h>
#include <string.h>

#include "ete/aux_internal.h"

bool flowtap_aux_wfx(const struct flowtap_query *query)
{
	return flowtap_ete_wfx_is_p0(&(struct flowtap_ete_config){ .idr2 = query->ete.trcidr[2] });
}

/* 0 and *unit, which is NULL where its decoder exists already: nothing changes then. */
static int describe(struct flowtap_aux *aux, uint32_t cpu, uint32_t source, struct aux_unit **unit)
{
	if (cpu >= FLOWTAP_AUX_CPUS || source != FLOWTAP_SOURCE_ETE)
		return -EINVAL;
	*unit = aux_unit_of(aux, cpu);
	if (!*unit)
		return -ENOMEM;
	if ((*unit)->ete)
		*unit = NULL;
	return 0;
}

/* -EINVAL: no decoder can be made of what is known. */
static int prepare(struct aux_unit *unit)
{
	return unit->has_query && unit->has_configure ? aux_unit_prepare(unit) : 0;
}

int flowtap_aux_query(struct flowtap_aux *aux, uint32_t cpu, const void *bytes, size_t size)
{
	struct flowtap_query query = { .cpu = cpu };
	struct aux_unit *unit;
	int err;

	memcpy(&query, bytes, size < sizeof(query) ? size : sizeof(query));
	err = describe(aux, cpu, query.source, &unit);
	if (err || !unit)
		return err;
	unit->caps = query.ete;
	unit->config.idr0 = unit->caps.trcidr[0];
	unit->config.idr1 = unit->caps.trcidr[1];
	unit->config.idr2 = unit->caps.trcidr[2];
	unit->config.idr8 = unit->caps.trcidr[8];
	unit->config.devarch = unit->caps.trcdevarch;
	unit->clock.frequency = unit->caps.counter_frequency;
	unit->has_query = true;
	return prepare(unit);
}

int flowtap_aux_configure(struct flowtap_aux *aux, uint32_t cpu, const void *bytes, size_t size)
{
	struct flowtap_configure configure = { .cpu = cpu };
	struct aux_unit *unit;
	int err;

	memcpy(&configure, bytes, size < sizeof(configure) ? size : sizeof(configure));
	err = describe(aux, cpu, configure.source, &unit);
	if (err || !unit)
		return err;
	unit->modes = configure.modes;
	unit->overwrite = configure.flags & FLOWTAP_OVERWRITE;
	unit->config.configr = (uint32_t)configure.ete.config | AUX_CONFIGR_RES1;
	unit->config.traceidr = AUX_TRACE_ID;
	unit->has_configure = true;
	return prepare(unit);
}
