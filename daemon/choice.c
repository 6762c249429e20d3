// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keeps a table of processes by pid, compares it with each look at /proc, and adds a process's
 * threads to the set, or removes them, where it differs or a BPF program asks for it.
 */
#include "choice.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../tools/common/grow.h"
#include "../tools/common/tool.h"
#include "programs.h"
#include "rules.h"

#define PAUSE_NS 100000000ULL		/* from one look at /proc to the next, at least */
#define PAUSE_MAX_NS 10000000000ULL
#define SHARE 4				/* of the CPU budget, for looking, at the most: one part in so many */
#define AGAIN 3				/* how often one that executes meanwhile is looked at */

/* Somebody who was there at the last look. Sorted by pid. */
struct row {
	uint32_t pid;
	uint32_t flags;			/* CHOICE_WANTED, CHOICE_OWN, CHOICE_IN_SET */
	uint64_t started;
};

struct rows {
	struct row *all;
	size_t n;
};

struct choice {
	const struct conf *conf;
	bool wide;
	enum choice_method method;
	const char *why, *fix;
	char *mount;			/* of cgroup2; NULL: nowhere */
	struct choice_rules *rules;
	struct programs *programs;	/* NULL: CHOICE_NONE, CHOICE_POLL */
	struct streams *streams;	/* NULL between choice_end and choice_begin */
	struct rows rows;
	uint64_t *started;		/* of each of conf->pids; 0: it was not there */
	uint64_t next;			/* look, with CHOICE_POLL */
	uint64_t missed;
};

static const struct {
	const char *name;
	const char *lacks;
} methods[] = {
	[CHOICE_NONE] = { "none", NULL },
	[CHOICE_KERNEL] = { "kernel", NULL },
	[CHOICE_STOP] = { "stop", "chosen programs are stopped for a moment when they begin, which their "
			  "parents are told; who moves into a cgroup is recorded a moment later" },
	[CHOICE_POLL] = { "poll", "the first moments of each chosen program, all of those that end within "
			  "them; and for a moment what is no longer chosen is recorded" },
};

const char *choice_method_name(enum choice_method method)
{
	return methods[method].name;
}

const char *choice_method_lacks(enum choice_method method)
{
	return methods[method].lacks;
}

/* --- One process. --- */

static int change_task(struct streams *streams, pid_t pid, bool add)
{
	return add ? flowtap_session_add_task(&streams->session, pid, 0) :
		     flowtap_session_remove_task(&streams->session, pid, 0);
}

/* Whether it was there, and its threads are in the set, or not, as is asked for. */
static bool change(struct choice *choice, uint32_t pid, bool add)
{
	int error = choice->streams ? change_task(choice->streams, (pid_t)pid, add) : 0;

	/* ESRCH: it has ended, or was not there. EINVAL: it is of the kernel. */
	if (error && error != -ESRCH && error != -EINVAL)
		choice->missed++;
	return !error;
}

static uint32_t configured_pid(const struct choice *choice, size_t i)
{
	return (uint32_t)strtoul(choice->conf->pids.items[i], NULL, 10);
}

/* Of another process that has the number later there is no `started` here. */
static bool is_configured(const struct choice *choice, const struct rules_process *process)
{
	for (size_t i = 0; i < choice->conf->pids.n; i++)
		if (configured_pid(choice, i) == process->pid &&
		    choice->started[i] == process->started)
			return true;
	return false;
}

static struct row *find(struct rows *rows, uint32_t pid)
{
	size_t first = 0, last = rows->n;

	while (first < last) {
		size_t middle = first + (last - first) / 2;

		if (rows->all[middle].pid == pid)
			return &rows->all[middle];
		if (rows->all[middle].pid < pid)
			first = middle + 1;
		else
			last = middle;
	}
	return NULL;
}

/* CHOICE_WANTED and CHOICE_OWN: configured, or forked by such a one. */
static uint32_t flags_of(struct choice *choice, const struct rules_process *process)
{
	const struct row *own = find(&choice->rows, process->pid);
	const struct row *parent = find(&choice->rows, process->parent);

	if (process->pid == (uint32_t)getpid())
		return CHOICE_OWN;
	if (choice->programs)
		return programs_marked(choice->programs, process->pid) & (CHOICE_OWN | CHOICE_WANTED);
	if (is_configured(choice, process))
		return CHOICE_WANTED;
	if (own && own->started == process->started)
		return own->flags & (CHOICE_OWN | CHOICE_WANTED);
	return parent ? parent->flags & (CHOICE_OWN | CHOICE_WANTED) : 0;
}

static bool is_in_set(struct choice *choice, const struct rules_process *process, uint32_t flags)
{
	return rules_want(choice->conf, choice->rules, choice->mount, process, flags) != choice->wide;
}

static void mark(struct choice *choice, uint32_t pid, bool in_set)
{
	const uint32_t flags = programs_marked(choice->programs, pid) & (CHOICE_OWN | CHOICE_WANTED);

	programs_mark(choice->programs, pid, flags | (in_set ? CHOICE_IN_SET : 0));
}

/*
 * It may execute something else, or move, between the look and the change: then what the programs
 * did about it has been undone, and is done again.
 */
static void apply_choice(struct choice *choice, struct rules_process *process, bool known,
			 bool in_set)
{
	uint32_t flags = flags_of(choice, process);
	bool add = is_in_set(choice, process, flags);

	if (!known || add != in_set)
		change(choice, process->pid, add);
	for (int i = 0; i < AGAIN && choice->programs; i++) {
		if (!rules_look(process->pid, process) || is_in_set(choice, process, flags) == add)
			break;
		add = !add;
		change(choice, process->pid, add);
	}
	if (choice->method == CHOICE_STOP)
		mark(choice, process->pid, add);
}

/* A program in the kernel asks. Who is not stopped for it may be another one by now. */
static void handle_event(void *argument, const struct choice_event *event)
{
	static struct rules_process process;
	struct choice *choice = argument;

	if (event->stopped) {
		change(choice, event->pid, event->add);
		mark(choice, event->pid, event->add);
		kill((pid_t)event->pid, SIGCONT);
	} else if (rules_look(event->pid, &process)) {
		apply_choice(choice, &process, false, false);
	}
}

/* --- All of them. --- */

static bool keep(struct rows *rows, const struct row *row)
{
	if (GROW_BY_ONE(rows->all, rows->n))
		return false;
	rows->all[rows->n++] = *row;
	return true;
}

static int compare(const void *a, const void *b)
{
	const struct row *first = a, *second = b;

	return first->pid < second->pid ? -1 : first->pid > second->pid;
}

static void look_at(struct choice *choice, uint32_t pid, bool fresh, struct rows *rows)
{
	static struct rules_process process;
	const struct row *before;
	struct row row;
	bool known;

	if (!rules_look(pid, &process) || process.kernel)
		return;
	before = find(&choice->rows, pid);
	known = !choice->programs && before && before->started == process.started;
	row = (struct row){ .pid = pid, .flags = flags_of(choice, &process),
			    .started = process.started };
	if (is_in_set(choice, &process, row.flags))
		row.flags |= CHOICE_IN_SET;
	/* A new set is empty. */
	apply_choice(choice, &process, known || fresh,
		     !fresh && known && before->flags & CHOICE_IN_SET);
	if (!choice->programs && !keep(rows, &row))
		choice->missed++;
}

/* fresh: nobody is in the set yet. */
static int look(struct choice *choice, bool fresh)
{
	DIR *directory = opendir("/proc");
	struct rows rows = { 0 };
	struct dirent *file;

	if (!directory)
		return -errno;
	while ((file = readdir(directory)))
		if (isdigit((unsigned char)file->d_name[0]))
			look_at(choice, (uint32_t)strtoul(file->d_name, NULL, 10), fresh, &rows);
	closedir(directory);
	if (rows.n)
		qsort(rows.all, rows.n, sizeof(*rows.all), compare);
	free(choice->rows.all);
	choice->rows = rows;
	return 0;
}

/* --- The programs. --- */

static const char *why_not(int error, bool kfuncs, const char **fix)
{
	FILE *file = fopen("/proc/sys/net/core/bpf_jit_enable", "re");
	int jit = file ? fgetc(file) : '1';

	if (file)
		fclose(file);
	*fix = NULL;
	if (access("/sys/kernel/btf/vmlinux", F_OK)) {
		*fix = "a kernel with CONFIG_DEBUG_INFO_BTF";
		return "the kernel has no BTF";
	}
	if (error == -EPERM || error == -EACCES) {
		*fix = "CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN when it starts, as in flowtapd.service";
		return "BPF programs cannot be loaded";
	}
	if (jit == '0') {
		*fix = "sysctl net.core.bpf_jit_enable=1";
		return "the kernel does not compile BPF programs";
	}
	if (kfuncs && access("/sys/kernel/btf/flowtap", F_OK)) {
		*fix = "pahole, and vmlinux among the kernel's headers, when the module is built";
		return "the module has no BTF";
	}
	if (kfuncs && error == -EINVAL) {
		*fix = "the kernel's own compiler and pahole when the module is built";
		return "the types in the module's BTF are not the kernel's";
	}
	return "the kernel refuses the BPF programs";
}

static void find_method(struct choice *choice, enum choice_method first)
{
	int error;

	for (choice->method = first; choice->method < CHOICE_POLL; choice->method++) {
		const bool kfuncs = choice->method == CHOICE_KERNEL;

		error = programs_open(kfuncs, choice->wide, handle_event, choice,
				      &choice->programs);
		if (!error)
			return;
		choice->why = why_not(error, kfuncs, &choice->fix);
	}
}

/* The mode that FLOWTAP_CHOICE names. False: there is none of that name. */
static bool first_method(struct choice *choice, enum choice_method *method)
{
	const char *wanted = getenv("FLOWTAP_CHOICE");

	*method = CHOICE_KERNEL;
	if (!wanted)
		return true;
	while (*method <= CHOICE_POLL && strcmp(wanted, methods[*method].name))
		++*method;
	if (*method != CHOICE_KERNEL)
		choice->why = "FLOWTAP_CHOICE says so";
	return *method <= CHOICE_POLL;
}

/* Which processes are meant: those that have the numbers now. */
static void find_configured(struct choice *choice)
{
	static struct rules_process process;

	for (size_t i = 0; i < choice->conf->pids.n; i++)
		if (rules_look(configured_pid(choice, i), &process))
			choice->started[i] = process.started;
}

int choice_open(const struct conf *conf, struct choice **result)
{
	struct choice *choice = calloc(1, sizeof(*choice));
	enum choice_method first;

	if (!choice)
		return -ENOMEM;
	choice->conf = conf;
	choice->wide = rules_wide(conf);
	choice->rules = calloc(1, sizeof(*choice->rules));
	choice->started = calloc(conf->pids.n + 1, sizeof(*choice->started));
	if (!choice->rules || !choice->started || !first_method(choice, &first)) {
		int error = choice->rules && choice->started ? -EINVAL : -ENOMEM;

		choice_close(choice);
		return error;
	}
	choice->mount = flowtap_cgroup_mount();
	rules_compile(conf, choice->rules);
	find_configured(choice);
	*result = choice;
	if (!rules_any(conf))
		choice->why = NULL;
	else
		find_method(choice, first);
	return 0;
}

static int get_key(const struct choice *choice, uint64_t *key)
{
	*key = 1;
	return choice->method != CHOICE_KERNEL ? 0 :
	       flowtap_session_key(&choice->streams->session, key);
}

/* First what is new is chosen by the programs, then who is there already. */
static int begin_programs(struct choice *choice)
{
	static struct rules_process process;
	const struct conf *conf = choice->conf;
	uint64_t key;
	int error = get_key(choice, &key);

	if (!error)
		error = programs_configure(choice->programs, conf, choice->rules, choice->mount);
	if (!error)
		error = programs_mark(choice->programs, (uint32_t)getpid(), CHOICE_OWN);
	for (size_t i = 0; i < conf->pids.n && !error; i++)
		if (rules_look(configured_pid(choice, i), &process) &&
		    is_configured(choice, &process))
			error = programs_mark(choice->programs, process.pid, CHOICE_WANTED);
	if (!error)
		programs_key(choice->programs, key);
	return error;
}

int choice_begin(struct choice *choice, struct streams *streams)
{
	int error = 0;

	choice->streams = streams;
	choice->next = 0;
	if (choice->wide)
		error = change_task(streams, getpid(), true);
	if (!error && choice->programs)
		error = begin_programs(choice);
	if (!error && choice->method != CHOICE_NONE)
		error = look(choice, true);
	if (!error)
		return 0;
	complain("cannot choose whom to record: %s", strerror(-error));
	choice_end(choice);
	return error;
}

void choice_end(struct choice *choice)
{
	if (!choice || !choice->streams)
		return;
	if (choice->programs)
		programs_end(choice->programs);
	choice->streams = NULL;
}

void choice_change(struct choice *choice)
{
	rules_compile(choice->conf, choice->rules);
	if (!choice->streams || choice->method == CHOICE_NONE)
		return;
	if (choice->programs) {
		programs_key(choice->programs, 0);
		if (begin_programs(choice))
			choice->missed++;
	}
	if (look(choice, false))
		choice->missed++;
}

int choice_fd(const struct choice *choice)
{
	return choice && choice->method == CHOICE_STOP ? programs_fd(choice->programs) : -1;
}

/* Until the next look, after one that took so long: longer where that would be above the budget. */
static uint64_t pause_after(const struct choice *choice, uint64_t took)
{
	const uint64_t most = PAUSE_MAX_NS / 1000000 * choice->conf->cpu / SHARE;
	uint64_t pause;

	if (took >= most)
		return PAUSE_MAX_NS;
	pause = took * SHARE * 1000000 / choice->conf->cpu;
	return pause > PAUSE_NS ? pause : PAUSE_NS;
}

void choice_serve(struct choice *choice, uint64_t now)
{
	uint64_t after;

	if (!choice || !choice->streams)
		return;
	if (choice->programs)
		programs_serve(choice->programs);
	if (choice->method != CHOICE_POLL || now < choice->next)
		return;
	if (look(choice, false))
		choice->missed++;
	after = number_now();
	choice->next = after + pause_after(choice, after - now);
}

void choice_measure(const struct choice *choice, struct choice_figures *figures)
{
	*figures = (struct choice_figures){ 0 };
	if (!choice)
		return;
	figures->method = choice->method;
	figures->why = choice->why;
	figures->fix = choice->fix;
	figures->missed = choice->missed;
	if (!choice->programs)
		return;
	figures->missed += programs_missed(choice->programs);
	figures->stops = programs_stops(choice->programs);
}

void choice_close(struct choice *choice)
{
	if (!choice)
		return;
	choice_end(choice);
	programs_close(choice->programs);
	free(choice->rows.all);
	free(choice->rules);
	free(choice->started);
	free(choice->mount);
	free(choice);
}
