// SPDX-License-Identifier: GPL-2.0-only
/* Compares credentials as ptrace and perf do: to trace a task, and to hide it after an exec. */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/rcupdate.h>
#include <linux/user_namespace.h>

#include "compat.h"
#include "rights.h"

/* CAP_SYS_PTRACE over the task's own credentials. */
static bool may_override(struct task_struct *task)
{
	struct user_namespace *namespace;
	bool allowed;

	rcu_read_lock();
	namespace = get_user_ns(__task_cred(task)->user_ns);
	rcu_read_unlock();
	allowed = ns_capable(namespace, CAP_SYS_PTRACE);
	put_user_ns(namespace);
	return allowed;
}

/*
 * As ptrace asks, but every id must be equal and there is no way for a security module to be
 * heard: those functions are not exported.
 */
bool rights_over(struct task_struct *task)
{
	const struct cred *mine = current_cred(), *theirs;
	struct user_namespace *namespace;
	bool same, allowed;

	rcu_read_lock();
	theirs = __task_cred(task);
	same = uid_eq(mine->euid, theirs->uid) && uid_eq(mine->euid, theirs->euid) &&
	       uid_eq(mine->euid, theirs->suid) && gid_eq(mine->egid, theirs->gid) &&
	       gid_eq(mine->egid, theirs->egid) && gid_eq(mine->egid, theirs->sgid) &&
	       mine->user_ns == theirs->user_ns &&
	       cap_issubset(theirs->cap_permitted, mine->cap_permitted);
	rcu_read_unlock();

	/* As ptrace: who is not dumpable asks for the capability where the program was read. */
	allowed = flowtap_dumpable(task, &namespace) && same;
	if (!allowed && namespace)
		allowed = ns_capable(namespace, CAP_SYS_PTRACE) && may_override(task);
	put_user_ns(namespace);
	return allowed;
}

/* As perf asks: not only a set-uid program, also one that its user may execute but not read. */
bool rights_conceal(struct task_struct *task, bool secure)
{
	struct user_namespace *namespace;
	bool dumpable = flowtap_dumpable(task, &namespace);

	put_user_ns(namespace);
	return secure || !dumpable;
}
