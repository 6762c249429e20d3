// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows what becomes of elements that wait for a Commit: committed they come out in the order of
 * the trace, cancelled the youngest go, and no more wait than the trace unit can have.
 */
#include "part_fixture.h"

#include "support/random.h"

#define MAXSPEC 4

FIXTURE(speculation)
{
	struct part part;
	struct flowtap_ete *ete;
	struct ete_speculation *speculation;
};

FIXTURE_SETUP(speculation)
{
	const struct flowtap_ete_config config = { .idr8 = MAXSPEC };

	part_begin(&self->part, &config, NULL);
	self->ete = self->part.ete;
	self->speculation = &self->ete->speculation;
}

FIXTURE_TEARDOWN(speculation)
{
	part_end(&self->part);
}

static int push(struct flowtap_ete *ete, struct ete_entry entry)
{
	return flowtap_ete_push(ete, &entry);
}

#define PUSH(entry) EXPECT_EQ(0, push(self->ete, entry))
#define ATOMS(taken, count) EXPECT_EQ(0, flowtap_ete_push_atoms(self->ete, taken, count))
#define COMMIT(n) EXPECT_EQ(0, flowtap_ete_commit(self->ete, n))
#define CANCEL(n) EXPECT_EQ(0, flowtap_ete_cancel(self->ete, n))
#define MISPREDICT() EXPECT_EQ(0, flowtap_ete_mispredict(self->ete))
/* What is committed comes out whole. */
#define RESOLVED(want) do {							\
	EXPECT_EQ(0, flowtap_ete_release_resolved(self->ete));			\
	EXPECT_STREQ(want, part_flow(&self->part));				\
} while (0)

static void start(struct flowtap_ete *ete)
{
	if (push(ete, context_of_a64()) || push(ete, address_of(CODE)))
		abort();
}

TEST_F(speculation, nothing_comes_out_before_its_commit)
{
	start(self->ete);
	ATOMS(0, 2);
	EXPECT_TRUE(ete_speculates(self->speculation));
	EXPECT_TRUE(ete_queue_waits(self->speculation));
	EXPECT_EQ(2, ete_speculation_waiting(self->speculation));
	EXPECT_EQ(ETE_CONTEXT, ete_queue_front(self->speculation)->kind);
	/* What waits for no Commit comes. */
	RESOLVED(A64);
	EXPECT_EQ(ETE_ATOMS, ete_queue_front(self->speculation)->kind);
}

TEST_F(speculation, a_commit_takes_the_oldest_from_within_a_run_of_atoms)
{
	start(self->ete);
	ATOMS(0, 2);
	ATOMS(1, 1);
	PUSH(event_of(1));
	COMMIT(2);
	EXPECT_EQ(1, ete_speculation_waiting(self->speculation));
	RESOLVED(A64 "range 1000 1004 1 A64 N\nrange 1004 1008 1 A64 N\n");
	COMMIT(1);
	EXPECT_EQ(0, ete_speculation_waiting(self->speculation));
	RESOLVED(A64 "range 1000 1004 1 A64 N\nrange 1004 1008 1 A64 N\nrange 1008 100c 1 A64 E\n"
		 "event 1\n");
	EXPECT_FALSE(ete_queue_waits(self->speculation));
	EXPECT_EQ(NULL, ete_queue_front(self->speculation));
}

TEST_F(speculation, the_last_committed_atom_is_held)
{
	start(self->ete);
	ATOMS(0, 2);
	COMMIT(2);
	EXPECT_STREQ(A64 "range 1000 1004 1 A64 N\n", part_flow(&self->part));
}

TEST_F(speculation, a_cancel_takes_the_youngest_and_leaves_what_survives)
{
	start(self->ete);
	ATOMS(0, 1);
	ATOMS(1, 1);
	PUSH(event_of(1));
	PUSH(address_of(CODE + 8));
	ATOMS(0, 1);
	CANCEL(2);
	EXPECT_EQ(1, ete_speculation_waiting(self->speculation));
	EXPECT_EQ(2, self->ete->counts.cancelled);
	ATOMS(0, 1);
	COMMIT(2);
	RESOLVED(A64 "range 1000 1004 1 A64 N\nevent 1\nrange 1004 1008 1 A64 N\n");
}

TEST_F(speculation, a_cancelled_transaction_start_is_none)
{
	start(self->ete);
	ATOMS(0, 1);
	/* TRCIDR0.COMMTRANS 0: a P0 element */
	PUSH(((struct ete_entry){ .kind = ETE_TRANSACTION_START, .count = 1 }));
	ete_set_decoded_in_transaction(&self->ete->transaction, true);
	CANCEL(1);
	EXPECT_FALSE(ete_decoded_in_transaction(&self->ete->transaction));
	COMMIT(1);
	RESOLVED(A64 "range 1000 1004 1 A64 N\n");
}

TEST_F(speculation, above_maxspec_the_oldest_are_committed_by_themselves)
{
	start(self->ete);
	ATOMS(0, 3);
	ATOMS(1, 1);
	EXPECT_EQ(0, ete_speculation_above(self->speculation));
	PUSH(address_of(CODE));
	ATOMS(0, 3);
	EXPECT_EQ(3, ete_speculation_above(self->speculation));
	COMMIT(ete_speculation_above(self->speculation));
	EXPECT_EQ(MAXSPEC, ete_speculation_waiting(self->speculation));
	RESOLVED(A64 "range 1000 1004 1 A64 N\nrange 1004 1008 1 A64 N\n"
		 "range 1008 100c 1 A64 N\n");
}

TEST_F(speculation, those_before_the_trace_info_are_committed_first_and_cancelled_last)
{
	ete_set_unseen(self->speculation, 2);
	start(self->ete);
	ATOMS(0, 2);
	COMMIT(1);
	EXPECT_EQ(2, ete_speculation_waiting(self->speculation));
	COMMIT(2);
	EXPECT_EQ(1, ete_speculation_waiting(self->speculation));
	ete_set_unseen(self->speculation, 1);
	CANCEL(2);
	EXPECT_EQ(0, ete_speculation_waiting(self->speculation));
	EXPECT_EQ(1, self->ete->counts.cancelled);
	RESOLVED(A64 "range 1000 1004 1 A64 N\n");
}

TEST_F(speculation, a_commit_of_more_than_there_are_is_a_gap_after_the_last)
{
	start(self->ete);
	ATOMS(0, 1);
	COMMIT(2);
	RESOLVED(A64 "range 1000 1004 1 A64 N\ngap impossible detail=a Commit element of more P0 "
		 "elements than there are\n");
}

TEST_F(speculation, a_cancel_of_more_than_there_are_is_a_gap)
{
	start(self->ete);
	ATOMS(0, 1);
	PUSH(event_of(2));
	CANCEL(2);
	EXPECT_FALSE(ete_queue_waits(self->speculation));
	EXPECT_EQ(1, self->ete->counts.cancelled);
	RESOLVED("event 2\ngap impossible detail=a Cancel element of more P0 elements than there "
		 "are\n");
}

TEST_F(speculation, a_mispredict_turns_the_youngest_atom_round_and_drops_its_target)
{
	start(self->ete);
	ATOMS(2, 2);
	PUSH(address_of(0x1100));
	PUSH(event_of(1));
	MISPREDICT();
	MISPREDICT();
	MISPREDICT();
	COMMIT(2);
	/* The one that is held, too. */
	MISPREDICT();
	RESOLVED(A64 "range 1000 1004 1 A64 N\nrange 1004 1008 1 A64 E\nevent 1\n");
}

TEST_F(speculation, a_mispredict_of_no_atom_is_a_gap_but_for_one_before_the_trace_info)
{
	MISPREDICT();
	EXPECT_EQ(0, self->ete->counts.gaps[FLOWTAP_GAP_IMPOSSIBLE]);
	start(self->ete);
	ATOMS(0, 1);
	COMMIT(1);
	EXPECT_EQ(0, flowtap_ete_release_resolved(self->ete));
	MISPREDICT();
	RESOLVED(A64 "range 1000 1004 1 A64 N\ngap impossible detail=a Mispredict element without "
		 "an atom before it\n");
}

TEST_F(speculation, a_trace_info_that_has_fewer_waiting_loses_the_oldest)
{
	start(self->ete);
	ATOMS(0, 3);
	EXPECT_EQ(0, flowtap_ete_set_depth(self->ete, 3));
	EXPECT_EQ(3, ete_speculation_waiting(self->speculation));
	EXPECT_EQ(0, flowtap_ete_set_depth(self->ete, 1));
	EXPECT_EQ(1, ete_speculation_waiting(self->speculation));
	EXPECT_EQ(2, self->ete->counts.cancelled);
	EXPECT_EQ(1, self->ete->counts.gaps[FLOWTAP_GAP_UNRESOLVED]);
}

/* What comes after it is not in the context of before. */
TEST_F(speculation, a_context_among_what_is_lost_is_lost_for_good)
{
	start(self->ete);
	ATOMS(0, 1);
	COMMIT(1);
	ATOMS(0, 1);
	EXPECT_EQ(0, push(self->ete, context_of_a64()));
	ATOMS(0, 1);
	EXPECT_EQ(0, flowtap_ete_set_depth(self->ete, 2));
	EXPECT_EQ(ETE_CONTEXT_KNOWN, self->ete->position.context);
	EXPECT_EQ(0, flowtap_ete_set_depth(self->ete, 0));
	EXPECT_EQ(ETE_CONTEXT_UNKNOWN, self->ete->position.context);
}

TEST_F(speculation, when_all_is_cancelled_what_survives_and_what_is_committed_comes_out)
{
	start(self->ete);
	ATOMS(0, 3);
	COMMIT(1);
	PUSH(event_of(3));
	EXPECT_EQ(0, flowtap_ete_cancel_all(self->ete));
	EXPECT_FALSE(ete_queue_waits(self->speculation));
	EXPECT_EQ(2, self->ete->counts.cancelled);
	EXPECT_STREQ(A64 "range 1000 1004 1 A64 N\nevent 3\n", part_flow(&self->part));
}

TEST_F(speculation, what_follows_is_an_address_a_p0_element_or_the_end)
{
	const struct ete_entry list[] = { event_of(1), address_of(0x1100), entry_of(ETE_TRACE_ON) };
	struct ete_follow follow;

	follow = flowtap_ete_follow(self->ete, list, 1, ETE_FOLLOW_P0);
	EXPECT_EQ(ETE_FOLLOW_P0, follow.kind);
	follow = flowtap_ete_follow(self->ete, list, 3, ETE_FOLLOW_P0);
	EXPECT_EQ(ETE_FOLLOW_ADDRESS, follow.kind);
	EXPECT_EQ(0x1100, follow.address);
	follow = flowtap_ete_follow(self->ete, list + 2, 1, ETE_FOLLOW_P0);
	EXPECT_EQ(ETE_FOLLOW_END, follow.kind);
	ATOMS(1, 1);
	follow = flowtap_ete_follow(self->ete, list, 1, ETE_FOLLOW_END);
	EXPECT_EQ(ETE_FOLLOW_P0, follow.kind);
}

TEST_F(speculation, the_queue_keeps_its_order_as_it_grows_round_its_end)
{
	start(self->ete);
	EXPECT_EQ(0, flowtap_ete_release_resolved(self->ete));
	for (int i = 0; i < 40; i++)
		PUSH(event_of(1));
	EXPECT_EQ(0, flowtap_ete_release_resolved(self->ete));
	ATOMS(1, 1);
	for (int i = 0; i < 300; i++)
		PUSH(event_of(i % 16));
	EXPECT_EQ(301, self->speculation->queue.n);
	for (size_t i = 1; i < 301; i++)
		EXPECT_EQ((i - 1) % 16, ete_at(&self->speculation->queue, i)->number);
}

/* Before the harness has no patience any more: each of them looked at all that waits. */
TEST_F(speculation, what_was_searched_is_not_searched_again)
{
	ete_set_unseen(self->speculation, 4000000);
	for (unsigned int i = 0; i < 8000; i++)
		PUSH(event_of(1));
	for (unsigned int i = 0; i < 2000000; i++)
		CANCEL(1);
	EXPECT_EQ(2000000, self->speculation->unseen);
	for (unsigned int i = 0; i < 1000000; i++) {
		PUSH(address_of(CODE));
		MISPREDICT();
	}
	for (unsigned int i = 0; i < 1000000; i++) {
		ATOMS(1, 1);
		CANCEL(2);
	}
	EXPECT_EQ(1000000, self->speculation->unseen);
	for (unsigned int i = 0; i < 1000000; i++) {
		PUSH(((struct ete_entry){ .kind = ETE_TRANSACTION_START, .count = 1 }));
		CANCEL(1);
	}
	EXPECT_EQ(8000, self->speculation->queue.n);
}

/* --- Against a list in which all is searched. --- */

struct list {
	struct ete_entry entries[4096];
	size_t n;
};

static void list_add(struct list *list, struct ete_entry entry)
{
	list->entries[list->n++] = entry;
}

static void list_remove(struct list *list, size_t i)
{
	memmove(&list->entries[i], &list->entries[i + 1], (--list->n - i) * sizeof(list->entries[0]));
}

/* Atoms stand one by one here. */
static void list_cancel(struct list *list, unsigned int n)
{
	for (size_t i = list->n; n && i--;) {
		n -= list->entries[i].count;
		if (!flowtap_ete_survives_cancel(&list->entries[i]))
			list_remove(list, i);
	}
}

static void list_mispredict(struct list *list)
{
	for (size_t i = list->n; i--;) {
		if (list->entries[i].kind == ETE_ATOMS) {
			list->entries[i].atoms.taken ^= 1;
			return;
		}
		if (list->entries[i].kind == ETE_ADDRESS)
			list_remove(list, i);
	}
}

static bool list_is(const struct list *list, const struct ete_queue *queue)
{
	size_t at = 0;

	for (size_t i = 0; i < queue->n; i++) {
		const struct ete_entry *entry = ete_at(queue, i);

		for (unsigned int k = 0; k < entry->count || (!k && !entry->count); k++) {
			if (entry->kind == ETE_NONE)
				break;
			if (at == list->n || list->entries[at].kind != entry->kind ||
			    (entry->kind == ETE_EVENT && list->entries[at].number != entry->number) ||
			    (entry->kind == ETE_ATOMS &&
			     list->entries[at].atoms.taken != (entry->atoms.taken >> k & 1)))
				return false;
			at++;
		}
	}
	return at == list->n;
}

TEST_F(speculation, what_waits_is_as_if_all_were_searched_each_time)
{
	static struct list list;
	uint64_t state = 88172645463325252ULL;

	/* None is committed by itself. */
	self->speculation->max = 100000;
	for (unsigned int round = 0; round < 20; round++) {
		list.n = 0;
		for (unsigned int i = 0; i < 3000; i++) {
			unsigned int draw = random_next(&state) >> 20 & 15;
			unsigned int most = state >> 30 & (round % 4 ? 1 : 31);

			if (draw < 6) {
				PUSH(event_of(i & 0xff));
				list_add(&list, event_of(i & 0xff));
			} else if (draw < 8) {
				PUSH(address_of(CODE));
				list_add(&list, address_of(CODE));
			} else if (draw < 12) {
				ATOMS(draw & 1, 1);
				list_add(&list, (struct ete_entry){
					.kind = ETE_ATOMS, .count = 1, .atoms = { draw & 1, draw & 1 },
				});
			} else if (draw < 13) {
				MISPREDICT();
				list_mispredict(&list);
			} else {
				most = most < self->speculation->waiting ? most :
				       (unsigned int)self->speculation->waiting;
				CANCEL(most);
				list_cancel(&list, most);
			}
			ASSERT_TRUE(list_is(&list, &self->speculation->queue)) TH_LOG("round %u, %u", round, i);
		}
		EXPECT_EQ(0, flowtap_ete_cancel_all(self->ete));
		part_flow(&self->part);
	}
}

TEST_HARNESS_MAIN
