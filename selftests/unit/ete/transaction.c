// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows what becomes of committed elements in a transaction: they wait for its end, come out when
 * it commits, and are dropped but for what survives when it fails.
 */
#include "part_fixture.h"

FIXTURE(transaction)
{
	struct flowtap_ete_options options;
	struct part part;
};

FIXTURE_SETUP(transaction)
{
}

FIXTURE_TEARDOWN(transaction)
{
	part_end(&self->part);
}

static int process(struct part *part, struct ete_entry entry)
{
	return flowtap_ete_process_committed(part->ete, &entry, ETE_FOLLOW_END);
}

/* Where the analysis knows its address: the first instruction. */
static struct ete_transaction *begin(FIXTURE_DATA(transaction) *self)
{
	const struct flowtap_ete_config config = { 0 };

	part_begin(&self->part, &config, &self->options);
	if (process(&self->part, context_of_a64()) || process(&self->part, address_of(CODE)))
		abort();
	return &self->part.ete->transaction;
}

#define PROCESS(entry) EXPECT_EQ(0, process(&self->part, entry))

TEST_F(transaction, what_is_committed_waits_for_the_transaction)
{
	const struct ete_transaction *transaction = begin(self);

	EXPECT_FALSE(ete_in_transaction(transaction));
	PROCESS(entry_of(ETE_TRANSACTION_START));
	EXPECT_TRUE(ete_in_transaction(transaction));
	EXPECT_FALSE(ete_transaction_waits(transaction));
	PROCESS(atoms_of(0, 2));
	PROCESS(event_of(1));
	EXPECT_TRUE(ete_transaction_waits(transaction));
	EXPECT_STREQ(A64 "transaction start\n", part_flow(&self->part));
}

TEST_F(transaction, what_waits_comes_out_in_order_when_it_commits)
{
	const struct ete_transaction *transaction = begin(self);

	PROCESS(entry_of(ETE_TRANSACTION_START));
	PROCESS(atoms_of(0, 1));
	PROCESS(event_of(1));
	PROCESS(atoms_of(1, 1));
	PROCESS(entry_of(ETE_TRANSACTION_COMMIT));
	EXPECT_FALSE(ete_in_transaction(transaction));
	EXPECT_FALSE(ete_transaction_waits(transaction));
	EXPECT_STREQ(A64 "transaction start\nrange 1000 1004 1 A64 N\nevent 1\n"
		     "range 1004 1008 1 A64 E\ntransaction commit\n", part_flow(&self->part));
	EXPECT_EQ(0, self->part.ete->counts.failed);
}

TEST_F(transaction, when_it_fails_only_what_survives_comes_out)
{
	const struct ete_transaction *transaction = begin(self);

	PROCESS(entry_of(ETE_TRANSACTION_START));
	PROCESS(atoms_of(1, 1));
	PROCESS(event_of(1));
	PROCESS(address_of(CODE + 8));
	PROCESS(atoms_of(0, 2));
	PROCESS(entry_of(ETE_TRANSACTION_FAIL));
	EXPECT_FALSE(ete_in_transaction(transaction));
	EXPECT_EQ(3, self->part.ete->counts.failed);
	/* The PE is where the transaction began (RKPKFL). */
	PROCESS(atoms_of(0, 1));
	EXPECT_STREQ(A64 "transaction start\nevent 1\ntransaction fail\n"
		     "range 1000 1004 1 A64 N\n", part_flow(&self->part));
}

TEST_F(transaction, where_its_address_was_not_known_it_is_not_known_again_when_it_fails)
{
	begin(self);
	flowtap_ete_set_unknown_address(&self->part.ete->position, ETE_ADDRESS_MISSING,
					"nobody knows");
	PROCESS(entry_of(ETE_TRANSACTION_START));
	PROCESS(address_of(CODE));
	PROCESS(entry_of(ETE_TRANSACTION_FAIL));
	PROCESS(atoms_of(0, 1));
	EXPECT_STREQ(A64 "transaction start\ntransaction fail\n"
		     "gap no_address detail=nobody knows\n", part_flow(&self->part));
}

TEST_F(transaction, a_second_start_and_an_end_without_a_start_are_nothing)
{
	begin(self);
	PROCESS(entry_of(ETE_TRANSACTION_COMMIT));
	PROCESS(entry_of(ETE_TRANSACTION_FAIL));
	PROCESS(entry_of(ETE_TRANSACTION_START));
	PROCESS(atoms_of(0, 1));
	PROCESS(entry_of(ETE_TRANSACTION_START));
	PROCESS(entry_of(ETE_TRANSACTION_COMMIT));
	EXPECT_STREQ(A64 "transaction start\nrange 1000 1004 1 A64 N\ntransaction commit\n",
		     part_flow(&self->part));
}

TEST_F(transaction, one_that_is_too_long_is_a_gap_and_the_next_one_is_not)
{
	self->options.transaction_capacity = 300;
	begin(self);
	PROCESS(entry_of(ETE_TRANSACTION_START));
	for (int i = 0; i < 302; i++)
		PROCESS(atoms_of(0, 1));
	PROCESS(event_of(2));
	PROCESS(entry_of(ETE_TRANSACTION_COMMIT));
	PROCESS(address_of(CODE));
	PROCESS(entry_of(ETE_TRANSACTION_START));
	PROCESS(atoms_of(0, 1));
	PROCESS(entry_of(ETE_TRANSACTION_COMMIT));
	EXPECT_STREQ(A64 "transaction start\n"
		     "gap unresolved detail=a transaction of more than 300 elements\n"
		     "event 2\ntransaction commit\n"
		     "transaction start\nrange 1000 1004 1 A64 N\ntransaction commit\n",
		     part_flow(&self->part));
}

TEST_F(transaction, nothing_waits_where_failed_ones_are_kept)
{
	const struct ete_transaction *transaction;

	self->options.keep_failed_transactions = true;
	transaction = begin(self);
	PROCESS(entry_of(ETE_TRANSACTION_START));
	PROCESS(atoms_of(0, 1));
	EXPECT_FALSE(ete_transaction_waits(transaction));
	PROCESS(entry_of(ETE_TRANSACTION_FAIL));
	EXPECT_STREQ(A64 "transaction start\nrange 1000 1004 1 A64 N\ntransaction fail\n",
		     part_flow(&self->part));
}

TEST_F(transaction, why_its_address_was_not_known_is_known_again_when_it_fails)
{
	self->options.keep_failed_transactions = true;
	begin(self);
	flowtap_ete_set_unknown_address(&self->part.ete->position, ETE_ADDRESS_MISSING,
					"nobody knows");
	PROCESS(entry_of(ETE_TRANSACTION_START));
	PROCESS(atoms_of(0, 1));
	PROCESS(entry_of(ETE_TRANSACTION_FAIL));
	PROCESS(atoms_of(0, 1));
	EXPECT_STREQ(A64 "transaction start\ngap no_address detail=nobody knows\ntransaction fail\n"
		     "gap no_address detail=nobody knows\n", part_flow(&self->part));
}

TEST_F(transaction, one_that_is_dropped_is_counted_and_says_nothing)
{
	struct ete_transaction *transaction = begin(self);

	PROCESS(entry_of(ETE_TRANSACTION_START));
	ete_set_decoded_in_transaction(transaction, true);
	EXPECT_TRUE(ete_decoded_in_transaction(transaction));
	PROCESS(atoms_of(0, 7));
	flowtap_ete_transaction_drop(self->part.ete);
	EXPECT_FALSE(ete_in_transaction(transaction));
	EXPECT_FALSE(ete_decoded_in_transaction(transaction));
	EXPECT_EQ(7, self->part.ete->counts.failed);
	EXPECT_STREQ(A64 "transaction start\n", part_flow(&self->part));
}

TEST_HARNESS_MAIN
