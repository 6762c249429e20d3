/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's lists, as far as files of kmod/ use them that are compiled into programs here. */
#ifndef FLOWTAP_SELFTESTS_UNIT_KMOD_LIST_H
#define FLOWTAP_SELFTESTS_UNIT_KMOD_LIST_H

#include <stddef.h>

struct list_head {
	struct list_head *next, *prev;
};

#define container_of(pointer, type, member) ((type *)((char *)(pointer) - offsetof(type, member)))
#define list_entry(pointer, type, member) container_of(pointer, type, member)

#define list_for_each_entry(entry, head, member)						\
	for (entry = container_of((head)->next, __typeof__(*entry), member);			\
	     &entry->member != (head);								\
	     entry = container_of(entry->member.next, __typeof__(*entry), member))

#define list_for_each_entry_continue_rcu(entry, head, member)					\
	for (entry = container_of(entry->member.next, __typeof__(*entry), member);		\
	     &entry->member != (head);								\
	     entry = container_of(entry->member.next, __typeof__(*entry), member))

static inline void list_init(struct list_head *head)
{
	head->next = head->prev = head;
}

static inline void list_add_tail(struct list_head *entry, struct list_head *head)
{
	*entry = (struct list_head){ .next = head, .prev = head->prev };
	entry->prev->next = entry;
	head->prev = entry;
}

/* Who is at the entry goes on from there. */
static inline void list_del_rcu(struct list_head *entry)
{
	entry->prev->next = entry->next;
	entry->next->prev = entry->prev;
	entry->prev = NULL;
}

#endif /* FLOWTAP_SELFTESTS_UNIT_KMOD_LIST_H */
