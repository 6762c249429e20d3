/* SPDX-License-Identifier: GPL-2.0-only */
/* A stream of ETE, for tests of programs that are about its bytes and about its area. */
#ifndef FLOWTAP_SELFTESTS_KERNEL_ETE_H
#define FLOWTAP_SELFTESTS_KERNEL_ETE_H

#include "support/kselftest_harness.h"

#include "aux.h"

FIXTURE(ete)
{
	struct flowtap_query query;
	struct flowtap_configure configure;
	struct aux aux;
};

FIXTURE_SETUP(ete)
{
	self->aux.stream.fd = -1;
	if (!query_source(FLOWTAP_SOURCE_ETE, &self->query))
		SKIP(return, "no ETE here");
	self->configure = tracing(0, 64);
}

FIXTURE_TEARDOWN(ete)
{
	aux_close(&self->aux);
}

#endif /* FLOWTAP_SELFTESTS_KERNEL_ETE_H */
