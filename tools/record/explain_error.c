// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finds the option that was refused by tables of capability bits and errors, and prints it with a
 * fix.
 */
#include "record/explain_error.h"

#include "common/device.h"
#include "common/user_privileges.h"
#include "common/tool.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>

/* TRCCONFIGR */
#define CONFIGR_CID (1ULL << 6)
#define CONFIGR_VMID (1ULL << 7)

struct lack {
	uint64_t bits;
	const char *clause;
};

static const struct lack modes[] = {
	{ FLOWTAP_MODE_USER, "it cannot record user mode" },
	{ FLOWTAP_MODE_KERNEL, "it cannot record kernel mode" },
	{ 0, NULL }
};

static const struct lack flags[] = {
	{ FLOWTAP_CPU_WIDE, "it records tasks only, not all that runs on it" },
	{ FLOWTAP_OVERWRITE, "its ring cannot overwrite" },
	{ 0, NULL }
};

static const struct lack triggers[] = {
	{ FLOWTAP_TRIGGER_OVERFLOW, "no event can trigger samples (-F takes a timer)" },
	{ FLOWTAP_TRIGGER_TIMER, "no timer can trigger samples (-e takes an event)" },
	{ FLOWTAP_TRIGGER_SWITCH, "no task switch can trigger samples" },
	{ 0, NULL }
};

/* sctrctl (Smctr 2.1): all but U, S, M, STE and MTE is optional. */
static const struct lack controls[] = {
	{ 1ULL << 7, "it has no return-address stack emulation (RASEMU)" },
	{ 1ULL << 11, "breakpoints cannot freeze it (BPFRZ)" },
	{ 1ULL << 36, "it cannot record not-taken branches (NTBREN)" },
	{ ~0ULL, "it cannot leave these types of transfers out" },
	{ 0, NULL }
};

static const char *clause(const struct lack *table, uint64_t lacking)
{
	for (; table->clause; table++)
		if (table->bits & lacking)
			return table->clause;
	return NULL;
}

const char *explain_unsupported(const struct flowtap_query *query,
				const struct flowtap_configure *configure)
{
	uint32_t depth = configure->ctr.depth;
	uint32_t known = query->triggers | FLOWTAP_TRIGGER_SNAPSHOT;
	const char *found = clause(modes, configure->modes & ~query->modes);

	found = found ? found : clause(flags, configure->flags & ~query->flags);
	found = found ? found : clause(triggers, configure->triggers & ~known);
	found = found ? found : clause(controls, configure->ctr.control & ~query->ctr.settable);
	if (!found && depth && query->ctr.depths && !(query->ctr.depths & depth / 16))
		return "it has no such depth";
	if (!found && query->source == FLOWTAP_SOURCE_ETE)
		found = ete_options_unable(&query->ete, &configure->ete);
	return found;
}

static void held(const struct stream *stream)
{
	struct flowtap_query query = { .cpu = stream->configure.cpu };
	const char *holder = NULL, *unit;
	char name[64], buffer[64];

	if (!ioctl(stream->fd, FLOWTAP_IOC_QUERY, &query))
		holder = device_holder(&query, name);
	unit = holder ? device_daemon(&query, buffer) : NULL;
	if (unit) {
		complain("CPU %u: flowtapd (PID %u%s%s) records all that runs on it",
			 stream->configure.cpu, query.holder_pid, *unit ? ", " : "", unit);
		advise("--borrow: it lets go for as long as this recording takes, and goes on then; or "
		       "end it (%s%s), or leave the CPU out with -C", *unit ? "systemctl stop " :
		       "kill it", unit);
		return;
	}
	complain("CPU %u: %s records all that runs on it", stream->configure.cpu,
		 holder ? holder : "someone else");
	advise("end that recording first, or leave the CPU out with -C; a command or processes (-p) "
	       "can be recorded beside it, with gaps");
}

static void denied(const struct stream *stream)
{
	char fix[256];
	const char *problem = user_privileges_problem(&stream->configure, fix, sizeof(fix));

	complain("CPU %u: %s", stream->configure.cpu,
		 problem ? problem : "the kernel does not let you record that");
	if (problem)
		advise("%s", fix);
}

/* What a trace unit's stream is refused for. False: as any other's. */
static bool refuse_trace(const struct flowtap_configure *configure, int error)
{
	const uint32_t cpu = configure->cpu;

	switch (-error) {
	case EPERM:
		complain("CPU %u: a ring of %u page%s and an AUX area of %u may not be locked into "
			 "memory", cpu, configure->ring_pages, plural(configure->ring_pages),
			 configure->aux_pages);
		advise("take a smaller --aux-pages, raise `ulimit -l`, or the module's mlock_kb");
		return true;
	case ENOMEM:
		complain("CPU %u: no memory for a ring of %u page%s and an AUX area of %u", cpu,
			 configure->ring_pages, plural(configure->ring_pages), configure->aux_pages);
		advise("take a smaller --aux-pages");
		return true;
	case EACCES:
		if (!(configure->ete.config & (CONFIGR_CID | CONFIGR_VMID)) ||
		    configure->flags & FLOWTAP_CPU_WIDE || configure->modes & FLOWTAP_MODE_KERNEL)
			return false;
		complain("CPU %u: --context and --vmid name tasks as the whole machine sees them",
			 cpu);
		advise("run it in the initial PID namespace, or leave them out: records have the "
		       "PIDs");
		return true;
	case EINVAL:
	case ENODEV:
	case EOPNOTSUPP:
		complain("CPU %u: the trace unit refuses that: %s", cpu, strerror(-error));
		advise("`flowtap list` shows what it can do; are module and command of one version?");
		return true;
	default:
		return false;
	}
}

void explain_configure_error(const struct stream *stream, const char *event, int error)
{
	const struct flowtap_configure *configure = &stream->configure;
	const uint32_t cpu = configure->cpu, pages = configure->ring_pages;

	if (configure->source == FLOWTAP_SOURCE_ETE && refuse_trace(configure, error))
		return;
	switch (-error) {
	case EINVAL:
		complain("CPU %u: the stream is refused: is a ring of %u page%s too small for "
			 "samples of %u transfers?", cpu, pages, plural(pages),
			 configure->ctr.depth ? configure->ctr.depth : stream->query.ctr.depth_max);
		advise("take a greater --ring-pages or a smaller --depth");
		break;
	case EBUSY:
		held(stream);
		break;
	case EACCES:
		denied(stream);
		break;
	case EPERM:
		complain("CPU %u: a ring of %u page%s may not be locked into memory", cpu, pages,
			 plural(pages));
		advise("take a smaller --ring-pages, raise `ulimit -l`, or the module's mlock_kb");
		break;
	case ENOMEM:
		complain("CPU %u: no memory for a ring of %u page%s", cpu, pages, plural(pages));
		advise("take a smaller --ring-pages");
		break;
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
		complain("CPU %u: the event %s does not exist here", cpu, event ? event : "timer");
		advise("`flowtap list` shows which do; -e cpu-clock needs no hardware");
		break;
	default:
		complain("CPU %u: cannot configure a stream: %s", cpu, strerror(-error));
		advise("`flowtap list` shows what the source can do");
	}
}

void explain_task_error(pid_t pid, const char *event, int error)
{
	switch (-error) {
	case ESRCH:
		complain("there is no process %d", pid);
		break;
	case EPERM:
	case EACCES:
		complain("you may not trace process %d", pid);
		advise("it must be yours in all its user and group ids, and dumpable (not "
		       "set-uid); root may trace any");
		break;
	case EINVAL:
		complain("process %d belongs to the kernel: it has no user mode of its own", pid);
		advise("-a --kernel records it");
		break;
	case ENOSPC:
		complain("process %d would be one task more than the module follows", pid);
		break;
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
		complain("the event %s cannot be counted for a process here", event);
		advise("`flowtap list` shows which events can; -e cpu-clock needs no hardware");
		break;
	case EBUSY:
		complain("all counters for the event %s are taken", event);
		advise("end the other user (perf?), or take another event with -e");
		break;
	default:
		complain("cannot trace process %d: %s", pid, strerror(-error));
	}
}
