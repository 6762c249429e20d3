// SPDX-License-Identifier: GPL-2.0-only
/*
 * Words what the session gives as a cause: the option that was refused, by tables of capability
 * bits, and a fix.
 */
#include "recording/explain_error.h"

#include "common/device_report.h"
#include "common/names.h"
#include "common/user_privileges.h"
#include "common/tool.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

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

/* Smctr 2.1: all but U, S, M, STE and MTE is optional. */
static const struct lack controls[] = {
	{ FLOWTAP_SCTRCTL_RASEMU, "it has no return-address stack emulation (RASEMU)" },
	{ FLOWTAP_SCTRCTL_BPFRZ, "breakpoints cannot freeze it (BPFRZ)" },
	{ FLOWTAP_SCTRCTL_NTBREN, "it cannot record not-taken branches (NTBREN)" },
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
	uint64_t bits;
	const enum flowtap_session_lack lack = flowtap_session_lack(query, configure, &bits);

	switch (lack) {
	case FLOWTAP_SESSION_LACK_NONE:
		return NULL;
	case FLOWTAP_SESSION_LACK_MODE:
		return clause(modes, bits);
	case FLOWTAP_SESSION_LACK_FLAG:
		return clause(flags, bits);
	case FLOWTAP_SESSION_LACK_TRIGGER:
		return clause(triggers, bits);
	case FLOWTAP_SESSION_LACK_CONTROL:
		return clause(controls, bits);
	case FLOWTAP_SESSION_LACK_DEPTH:
		return "it has no such depth";
	default:
		return ete_options_lack(lack, bits);
	}
}

const char *skip_name(const struct flowtap_session *session, size_t cpu)
{
	switch (session->skips[cpu]) {
	case FLOWTAP_SESSION_NOT_ASKED:
		return "not_asked_for";
	case FLOWTAP_SESSION_NO_SOURCE:
		return name_of(reason_names, session->queries[cpu].reason);
	case FLOWTAP_SESSION_OTHER_SOURCE:
		return "other_source";
	case FLOWTAP_SESSION_UNABLE:
		return "unsupported";
	case FLOWTAP_SESSION_WENT_OFFLINE:
		return "offline";
	default:
		return NULL;
	}
}

const char *explain_skip(const struct flowtap_session *session, size_t cpu)
{
	switch (session->skips[cpu]) {
	case FLOWTAP_SESSION_NOT_ASKED:
		return "not asked for";
	case FLOWTAP_SESSION_NO_SOURCE:
		return device_reason(&session->queries[cpu]);
	case FLOWTAP_SESSION_OTHER_SOURCE:
		return "it has another source (--source)";
	case FLOWTAP_SESSION_UNABLE:
		return explain_unsupported(&session->queries[cpu], &session->request);
	case FLOWTAP_SESSION_WENT_OFFLINE:
		return "it went offline";
	default:
		return NULL;
	}
}

const char *explain_polling(int error)
{
	switch (-error) {
	case 0:
		return "/proc is polled";
	case EACCES:
		return "perf_event_paranoid denies side-band events";
	case EPERM:
		return "perf_event_paranoid or perf_event_mlock_kb denies side-band events";
	case EMFILE:
	case ENFILE:
		return "there are too few file descriptors for side-band events (ulimit -n)";
	default:
		return "the kernel has no side-band events here";
	}
}

static void no_device(const struct flowtap_session_problem *problem)
{
	char fix[256];

	complain("%s", device_open_problem(problem->error, fix, sizeof(fix)));
	advise("%s", fix);
}

static void no_source(const struct flowtap_query *first, uint32_t want)
{
	if (want) {
		complain("no CPU of this machine has the source %s", name_of(source_names, want));
		if (want == FLOWTAP_SOURCE_SOFT)
			advise("the module has it only if it was loaded with soft=1");
		else
			advise("`flowtap list` shows what there is");
		return;
	}
	complain("no CPU of this machine has a source of control flow: %s", device_reason(first));
	if (first->sources & 1U << FLOWTAP_SOURCE_SOFT)
		advise("--source soft records synthetic transfers, for tests");
	advise("`flowtap doctor` says what is missing and how to get it");
}

void explain_query_problem(const struct flowtap_session_problem *problem, uint32_t want)
{
	if (problem->cause == FLOWTAP_SESSION_NO_SOURCES)
		no_source(&problem->query, want);
	else
		no_device(problem);
}

static void held(const struct flowtap_session_problem *problem)
{
	char name[64], buffer[64];
	const char *holder = device_holder(&problem->query, name);
	const char *unit = holder ? device_daemon(&problem->query, buffer) : NULL;

	if (unit) {
		complain("CPU %u: flowtapd (PID %u%s%s) records all that runs on it", problem->cpu,
			 problem->query.holder_pid, *unit ? ", " : "", unit);
		advise("--borrow: it lets go for as long as this recording takes, and goes on then; or "
		       "end it (%s%s), or leave the CPU out with -C", *unit ? "systemctl stop " :
		       "kill it", unit);
		return;
	}
	complain("CPU %u: %s records all that runs on it", problem->cpu,
		 holder ? holder : "someone else");
	advise("end that recording first, or leave the CPU out with -C; a command or processes (-p) "
	       "can be recorded beside it, with gaps");
}

static void denied(const struct flowtap_session_problem *problem)
{
	char fix[256];
	const char *why = user_privileges_problem(&problem->configure, fix, sizeof(fix));

	complain("CPU %u: %s", problem->cpu, why ? why : "the kernel does not let you record that");
	if (why)
		advise("%s", fix);
}

/* Of a ring, or of a ring and an AUX area. */
static void no_memory(const struct flowtap_session_problem *problem)
{
	const bool locked = problem->cause == FLOWTAP_SESSION_LOCKED_MEMORY;
	const uint32_t pages = problem->configure.ring_pages;
	const bool traces = problem->configure.source == FLOWTAP_SOURCE_ETE;
	const char *option = traces ? "--aux-pages" : "--ring-pages";
	char aux[48] = "";

	if (traces)
		snprintf(aux, sizeof(aux), " and an AUX area of %u", problem->configure.aux_pages);
	if (locked) {
		complain("CPU %u: a ring of %u page%s%s may not be locked into memory", problem->cpu,
			 pages, plural(pages), aux);
		advise("take a smaller %s, raise `ulimit -l`, or the module's mlock_kb", option);
	} else {
		complain("CPU %u: no memory for a ring of %u page%s%s", problem->cpu, pages,
			 plural(pages), aux);
		advise("take a smaller %s", option);
	}
}

static void small_ring(const struct flowtap_session_problem *problem)
{
	const struct flowtap_configure *configure = &problem->configure;

	complain("CPU %u: the stream is refused: is a ring of %u page%s too small for samples of %u "
		 "transfers?", problem->cpu, configure->ring_pages, plural(configure->ring_pages),
		 configure->ctr.depth ? configure->ctr.depth : problem->query.ctr.depth_max);
	advise("take a greater --ring-pages or a smaller --depth");
}

/* What CONFIGURE refused, or the mapping. */
static void explain_stream_problem(const struct flowtap_session_problem *problem, const char *event)
{
	const uint32_t cpu = problem->cpu;

	switch (problem->cause) {
	case FLOWTAP_SESSION_RING_SMALL:
		small_ring(problem);
		break;
	case FLOWTAP_SESSION_HELD:
		held(problem);
		break;
	case FLOWTAP_SESSION_DENIED:
		denied(problem);
		break;
	case FLOWTAP_SESSION_DENIED_CONTEXT:
		complain("CPU %u: --context and --vmid name tasks as the whole machine sees them",
			 cpu);
		advise("run it in the initial PID namespace, or leave them out: records have the "
		       "PIDs");
		break;
	case FLOWTAP_SESSION_LOCKED_MEMORY:
	case FLOWTAP_SESSION_KERNEL_MEMORY:
		no_memory(problem);
		break;
	case FLOWTAP_SESSION_NO_EVENT:
		complain("CPU %u: the event %s does not exist here", cpu, event ? event : "timer");
		advise("`flowtap list` shows which do; -e cpu-clock needs no hardware");
		break;
	case FLOWTAP_SESSION_REFUSED:
		complain("CPU %u: the trace unit refuses that: %s", cpu, strerror(-problem->error));
		advise("`flowtap list` shows what it can do; are module and command of one version?");
		break;
	case FLOWTAP_SESSION_MAP:
		complain("CPU %u: cannot map the ring: %s", cpu, strerror(-problem->error));
		advise("is there memory (ulimit -v)? are module and command of one version?");
		break;
	default:
		if (problem->error == -EMFILE) {
			complain("CPU %u: you have as many streams on it, or sets of tasks, as the "
				 "module gives one user", cpu);
			advise("end another recording of yours first; `flowtap list` shows who records");
			break;
		}
		complain("CPU %u: cannot configure a stream: %s", cpu, strerror(-problem->error));
		advise("`flowtap list` shows what the source can do");
	}
}

void explain_open_problem(const struct streams *streams,
			  const struct flowtap_session_problem *problem)
{
	switch (problem->cause) {
	case FLOWTAP_SESSION_NO_MEMORY:
		complain("no memory");
		break;
	case FLOWTAP_SESSION_DEVICE:
		no_device(problem);
		break;
	case FLOWTAP_SESSION_NONE_ABLE:
		complain("CPU %u cannot be recorded: %s", problem->cpu,
			 explain_skip(&streams->session, problem->cpu));
		advise("`flowtap list` shows what each CPU can do");
		break;
	case FLOWTAP_SESSION_NO_SUCH_CPU:
		complain("this machine has no such CPU: they are 0 to %zu", streams->session.cpus - 1);
		break;
	default:
		explain_stream_problem(problem, streams->event);
	}
}

void explain_switch_error(enum flowtap_session_cause cause, int error)
{
	if (cause == FLOWTAP_SESSION_ENABLE)
		complain("cannot start recording: %s", strerror(-error));
	else if (cause == FLOWTAP_SESSION_DISABLE)
		complain("cannot stop recording: %s", strerror(-error));
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
		complain("process %d has more tasks than the module follows for one recording "
			 "(32768) or user (131072)", pid);
		advise("end another recording of yours; whoever may record whole CPUs can do so (-a)");
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
