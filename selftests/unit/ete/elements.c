// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows which elements packets become, and in which order: by packets that the test fills in, and
 * the queue that they wait in.
 */
#include "part_fixture.h"

#define MAXSPEC 16

FIXTURE(elements)
{
	struct flowtap_ete_config config;
	struct part part;
};

FIXTURE_SETUP(elements)
{
	self->config.idr8 = MAXSPEC;
}

FIXTURE_TEARDOWN(elements)
{
	part_end(&self->part);
}

#define ELEMENT(...) do {								\
	const struct flowtap_ete_packet packet_ = { __VA_ARGS__ };			\
	if (!self->part.ete)								\
		part_begin(&self->part, &self->config, NULL);				\
	EXPECT_EQ(0, flowtap_ete_element(self->part.ete, &packet_));			\
} while (0)

static const struct ete_entry *queued(FIXTURE_DATA(elements) *self, size_t i)
{
	static const struct ete_entry none;
	const struct ete_queue *queue = &self->part.ete->speculation.queue;

	return i < queue->n ? ete_at(queue, i) : &none;
}

#define EXPECT_QUEUED(want) EXPECT_EQ(want, self->part.ete->speculation.queue.n)

TEST_F(elements, a_target_address_with_context_is_the_address_first)
{
	ELEMENT(.type = FLOWTAP_ETE_ADDRESS_CONTEXT, .has_address = true, .has_context = true,
		.address = { 0x1234, 1 }, .context.exception_level = 2);
	EXPECT_QUEUED(2);
	EXPECT_EQ(ETE_ADDRESS, queued(self, 0)->kind);
	EXPECT_EQ(0x1234, queued(self, 0)->value);
	EXPECT_EQ(1, queued(self, 0)->sub_isa);
	EXPECT_EQ(ETE_CONTEXT, queued(self, 1)->kind);
	EXPECT_EQ(2, queued(self, 1)->context.packet.exception_level);
	EXPECT_TRUE(queued(self, 1)->repeated);
}

/* K10.5.2.14.10 */
TEST_F(elements, a_context_has_the_identifiers_that_came_since_the_trace_info)
{
	ELEMENT(.type = FLOWTAP_ETE_CONTEXT, .has_context = true, .has_vmid = true);
	ELEMENT(.type = FLOWTAP_ETE_CONTEXT, .has_context = true, .has_contextid = true);
	ELEMENT(.type = FLOWTAP_ETE_TRACE_INFO);
	ELEMENT(.type = FLOWTAP_ETE_CONTEXT, .has_context = true);
	EXPECT_QUEUED(4);
	EXPECT_TRUE(queued(self, 0)->context.has_vmid);
	EXPECT_FALSE(queued(self, 0)->context.has_contextid);
	EXPECT_TRUE(queued(self, 1)->context.has_vmid);
	EXPECT_TRUE(queued(self, 1)->context.has_contextid);
	EXPECT_EQ(ETE_TRACE_INFO, queued(self, 2)->kind);
	EXPECT_FALSE(queued(self, 3)->context.has_vmid);
	EXPECT_FALSE(queued(self, 3)->context.has_contextid);
}

/* K10.5.2.13.2 */
TEST_F(elements, the_address_of_an_exception_is_a_target_where_e_says_so)
{
	ELEMENT(.type = FLOWTAP_ETE_EXCEPTION, .exception_type = 14, .exception_e = 1,
		.has_address = true, .address.address = 0x1000);
	EXPECT_QUEUED(1);
	ELEMENT(.type = FLOWTAP_ETE_EXCEPTION, .exception_type = 14, .exception_e = 2,
		.has_address = true, .address.address = 0x1004);
	EXPECT_QUEUED(3);
	EXPECT_EQ(ETE_EXCEPTION, queued(self, 0)->kind);
	EXPECT_TRUE(queued(self, 0)->known);
	EXPECT_EQ(14, queued(self, 0)->number);
	EXPECT_EQ(ETE_ADDRESS, queued(self, 1)->kind);
	EXPECT_EQ(ETE_EXCEPTION, queued(self, 2)->kind);
	EXPECT_EQ(0x1004, queued(self, 2)->value);
}

TEST_F(elements, a_failed_transaction_is_no_exception)
{
	ELEMENT(.type = FLOWTAP_ETE_TRANSACTION_START);
	EXPECT_TRUE(ete_decoded_in_transaction(&self->part.ete->transaction));
	ELEMENT(.type = FLOWTAP_ETE_EXCEPTION,
		.exception_type = FLOWTAP_ETE_TRANSACTION_FAILURE, .exception_e = 1,
		.address_unknown = true);
	EXPECT_FALSE(ete_decoded_in_transaction(&self->part.ete->transaction));
	EXPECT_QUEUED(2);
	EXPECT_EQ(ETE_TRANSACTION_FAIL, queued(self, 1)->kind);
	EXPECT_FALSE(ete_is_p0(queued(self, 1)));
}

TEST_F(elements, a_transaction_start_counts_where_commtrans_is_0)
{
	ELEMENT(.type = FLOWTAP_ETE_TRANSACTION_START);
	EXPECT_TRUE(ete_is_p0(queued(self, 0)));
}

TEST_F(elements, a_transaction_start_does_not_count_where_commtrans_is_1)
{
	self->config.idr0 = 1U << 30;
	ELEMENT(.type = FLOWTAP_ETE_TRANSACTION_START);
	EXPECT_FALSE(ete_is_p0(queued(self, 0)));
}

TEST_F(elements, of_one_packet_atoms_are_cancelled_before_one_is_turned_round)
{
	ELEMENT(.type = FLOWTAP_ETE_ATOM_3, .atoms = 5, .atom_count = 3);
	ELEMENT(.type = FLOWTAP_ETE_CANCEL_2, .atoms = 1, .atom_count = 1, .cancel = 2,
		.mispredict = true);
	EXPECT_QUEUED(1);
	EXPECT_EQ(2, queued(self, 0)->count);
	/* E N, of which the N was turned round */
	EXPECT_EQ(3, queued(self, 0)->atoms.taken);
	EXPECT_EQ(1, queued(self, 0)->atoms.initial);
	EXPECT_EQ(4, self->part.ete->counts.atoms);
}

TEST_F(elements, the_first_trace_info_says_what_waits_and_so_does_one_after_a_loss)
{
	ELEMENT(.type = FLOWTAP_ETE_TRACE_INFO, .spec = 3);
	EXPECT_EQ(3, self->part.ete->speculation.unseen);
	/* A later one contradicts. */
	ELEMENT(.type = FLOWTAP_ETE_TRACE_INFO, .spec = 2);
	EXPECT_EQ(1, self->part.ete->counts.gaps[FLOWTAP_GAP_UNRESOLVED]);
	ete_restart_elements(&self->part.ete->elements);
	ELEMENT(.type = FLOWTAP_ETE_TRACE_INFO, .spec = 1);
	EXPECT_EQ(1, self->part.ete->speculation.unseen);
	EXPECT_EQ(1, self->part.ete->counts.gaps[FLOWTAP_GAP_UNRESOLVED]);
}

TEST_F(elements, cycles_and_timestamps_say_whether_they_count)
{
	ELEMENT(.type = FLOWTAP_ETE_TIMESTAMP, .timestamp = 77, .has_cycles = true, .cycles = 5);
	ELEMENT(.type = FLOWTAP_ETE_CYCLE_COUNT_1, .cycles = 9);
	ELEMENT(.type = FLOWTAP_ETE_EVENT, .events = 6);
	EXPECT_QUEUED(3);
	EXPECT_EQ(ETE_TIMESTAMP, queued(self, 0)->kind);
	EXPECT_EQ(77, queued(self, 0)->value);
	EXPECT_EQ(5, queued(self, 0)->cycles);
	EXPECT_TRUE(queued(self, 0)->known);
	EXPECT_EQ(ETE_CYCLES, queued(self, 1)->kind);
	EXPECT_FALSE(queued(self, 1)->known);
	EXPECT_EQ(0, queued(self, 1)->value);
	EXPECT_EQ(ETE_EVENT, queued(self, 2)->kind);
	EXPECT_EQ(6, queued(self, 2)->number);
}

TEST_HARNESS_MAIN
