/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A group: streams that share a set of tasks, whom they trace, or with FLOWTAP_EXCLUDE do not. Owned by
 * none of them: it goes with the last.
 */
#ifndef FLOWTAP_GROUP_H
#define FLOWTAP_GROUP_H

#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/workqueue.h>
#include <linux/flowtap.h>

#include "set.h"

struct group {
	refcount_t references;
	struct list_head link;		/* in the list of all, RCU */
	struct mutex lock;		/* adding, removing, enabling; the lists of streams and events */
	struct list_head streams;	/* changed under lock, RCU */
	struct flowtap_set set;
	struct list_head events;	/* struct flowtap_event, under lock */
	struct work_struct work;	/* requests; events are made and released */
	struct list_head requests;	/* under set.lock, see request.h */
	u32 n_requests;
	u64 key;			/* by which BPF programs name it; 0: nobody has asked */
	u32 disables;			/* how often a stream was disabled */
	bool pieces;			/* its source has a collector */
	bool displacements;		/* somebody may have a displaced_since */
	bool privileged;		/* may follow set-uid programs */
	bool exec_pending;		/* the next exec enables it */
	struct flowtap_configure configure;	/* the leader's: event, period, modes, flags */
	struct rcu_head rcu;
};

/* Those in the set are the ones who are not recorded. */
static inline bool group_excludes(const struct group *group)
{
	return group->configure.flags & FLOWTAP_EXCLUDE;
}

/* Tasks of the set have events of their own. */
static inline bool group_counts(const struct group *group)
{
	return group->configure.triggers & FLOWTAP_TRIGGER_OVERFLOW && !group_excludes(group);
}

/* Whoever was in the set has ended, or was removed: nothing more will come. */
static inline bool group_ended(const struct group *group)
{
	if (group->configure.flags & (FLOWTAP_ENDLESS | FLOWTAP_CPU_WIDE))
		return false;
	return READ_ONCE(group->set.any) && !READ_ONCE(group->set.count);
}

/* A stream of it is open; under lock. */
bool group_is_open(const struct group *group);
/* One that is open is enabled; under lock. */
bool group_is_enabled(const struct group *group);

#endif /* FLOWTAP_GROUP_H */
