/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A group: streams that share a set of tasks, whom they trace, or with FLOWTAP_EXCLUDE do not.
 * Owned by none of them: it goes with the last.
 */
#ifndef FLOWTAP_KMOD_GROUP_H
#define FLOWTAP_KMOD_GROUP_H

#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/workqueue.h>
#include <linux/flowtap.h>

#include "set.h"

/**
 * struct group - streams and their set
 */
struct group {
	/** @references: of streams. */
	refcount_t references;
	/** @link: in the list of all groups, RCU. */
	struct list_head link;
	/** @lock: adding, removing, enabling; the lists of streams and events. */
	struct mutex lock;
	/** @streams: changed under @lock, RCU. */
	struct list_head streams;
	/** @set: the tasks. */
	struct flowtap_set set;
	/** @events: struct flowtap_event, under @lock. */
	struct list_head events;
	/** @work: serves @requests; events are made and released. */
	struct work_struct work;
	/** @requests: under set.lock, see request.h. */
	struct list_head requests;
	/** @n_requests: how many they are. */
	u32 n_requests;
	/** @key: by which BPF programs name it; 0: nobody has asked. */
	u64 key;
	/** @disables: how often a stream was disabled. */
	u32 disables;
	/** @pieces: its source has a collector. */
	bool pieces;
	/** @displacements: somebody may have a displaced_since. */
	bool displacements;
	/** @privileged: it may follow set-uid programs. */
	bool privileged;
	/** @exec_pending: the next exec enables it. */
	bool exec_pending;
	/** @configure: the leader's: event, period, modes, flags. */
	struct flowtap_configure configure;
	/** @rcu: it is freed after a grace period. */
	struct rcu_head rcu;
};

/**
 * group_excludes() - whether the members of the set are the ones who are not recorded
 * @group: a group.
 *
 * Context: any.
 * Return: they are.
 */
static inline bool group_excludes(const struct group *group)
{
	return group->configure.flags & FLOWTAP_EXCLUDE;
}

/**
 * group_counts() - whether tasks of the set have events of their own
 * @group: a group.
 *
 * Context: any.
 * Return: they have.
 */
static inline bool group_counts(const struct group *group)
{
	return group->configure.triggers & FLOWTAP_TRIGGER_OVERFLOW && !group_excludes(group);
}

/**
 * group_ended() - whether all members have ended or were removed: nothing more will come
 * @group: a group.
 *
 * Context: any.
 * Return: there has been a member and there is none; false with FLOWTAP_ENDLESS and CPU-wide.
 */
static inline bool group_ended(const struct group *group)
{
	if (group->configure.flags & (FLOWTAP_ENDLESS | FLOWTAP_CPU_WIDE))
		return false;
	return READ_ONCE(group->set.any) && !READ_ONCE(group->set.count);
}

/**
 * group_is_open() - whether a stream of the group is open
 * @group: a group.
 *
 * Context: group->lock.
 * Return: one is.
 */
bool group_is_open(const struct group *group);

/**
 * group_is_enabled() - whether an open stream of the group is enabled
 * @group: a group.
 *
 * Context: group->lock.
 * Return: one is.
 */
bool group_is_enabled(const struct group *group);

#endif /* FLOWTAP_KMOD_GROUP_H */
