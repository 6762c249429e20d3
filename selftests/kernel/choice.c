// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that BPF programs choose tasks at exec, at fork and when they move between cgroups, from their
 * first instruction on; and what such programs, and who asks for a key, cannot do.
 */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <pthread.h>
#include <sys/mount.h>

#include "capability.h"
#include "excluded.h"
#include "other_driver.h"
#include "traced.h"
#include "selftests/kernel/choice.skel.h"

#define CGROUPS "/tmp/choice-cgroups"
#define CHOSEN "/tmp/chosen"
#define OTHER "/tmp/other"
#define MANY 12

/* Also of who is there for a moment only. */
static void want_switches(struct flowtap_configure *configure)
{
	configure->triggers |= FLOWTAP_TRIGGER_SWITCH;
	configure->flags |= FLOWTAP_ENDLESS;
}

static int get_key(const struct stream *stream, uint64_t *key)
{
	struct flowtap_key request = { 0 };
	int error = command(stream->fd, FLOWTAP_IOC_KEY, &request);

	*key = request.key;
	return error;
}

/* A child that executes this program under another name, after the parent has said so. */
static pid_t executes(const char *path, const char *role, int go)
{
	pid_t pid = fork_pinned(0);
	char byte;

	if (pid)
		return pid;
	if (go >= 0 && read(go, &byte, 1) != 1)
		_exit(1);
	execl(path, path, role, NULL);
	_exit(2);
}

/* Samples, or GAP records where there was no room for one, of this thread. */
static int told_of(struct stream *stream, const pid_t *tids, int n, int *others)
{
	bool found[MANY] = { false };
	int count = 0;

	*others = 0;
	while (stream_next(stream) == 1) {
		uint32_t tid = stream->record.header.type == FLOWTAP_RECORD_SAMPLE ?
				       stream->record.sample.tid : stream->record.gap.tid;
		int i = 0;

		if (stream->record.header.type != FLOWTAP_RECORD_SAMPLE &&
		    stream->record.header.type != FLOWTAP_RECORD_GAP)
			continue;
		while (i < n && (uint32_t)tids[i] != tid)
			i++;
		if (i == n)
			++*others;
		else if (!found[i] && stream->record.header.type == FLOWTAP_RECORD_SAMPLE)
			found[i] = count++ >= 0;
	}
	return count;
}

/* --- Keys. --- */

TEST_F(tasks, a_set_has_one_key_that_is_for_who_may_trace_everybody)
{
	uint64_t keys[3] = { 0 };
	struct stream member, other, mine;
	struct flowtap_key bad = { .flags = 1 };

	if (access("/sys/kernel/btf/vmlinux", F_OK))
		SKIP(return, "this kernel has no BTF");
	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	ASSERT_EQ(0, get_key(&self->stream, &keys[0]));
	EXPECT_NE(0, keys[0]);
	EXPECT_EQ(0, get_key(&self->stream, &keys[1]));
	EXPECT_EQ(keys[0], keys[1]);
	ASSERT_EQ(0, stream_open(&other, &self->configure));
	ASSERT_EQ(0, get_key(&other, &keys[2]));
	EXPECT_NE(keys[0], keys[2]);
	if (cpus_online() > 1) {
		struct flowtap_configure configure = self->configure;

		configure.cpu = 1;
		configure.flags |= FLOWTAP_GROUP;
		configure.group_fd = self->stream.fd;
		ASSERT_EQ(0, stream_open(&member, &configure));
		EXPECT_EQ(0, get_key(&member, &keys[1]));
		EXPECT_EQ(keys[0], keys[1]);
		stream_close(&member);
	}
	EXPECT_EQ(-EINVAL, command(self->stream.fd, FLOWTAP_IOC_KEY, &bad));
	bad = (struct flowtap_key){ .key = 1 };
	EXPECT_EQ(-EINVAL, command(self->stream.fd, FLOWTAP_IOC_KEY, &bad));
	bad = (struct flowtap_key){ .reserved = 1 };
	EXPECT_EQ(-EINVAL, command(self->stream.fd, FLOWTAP_IOC_KEY, &bad));
	mine.fd = open_device();
	EXPECT_EQ(-EINVAL, get_key(&mine, &keys[1]));
	close(mine.fd);
	/* Whose is another's; and of a set that was made without the right. */
	drop(CAP_SYS_PTRACE);
	EXPECT_EQ(-EPERM, get_key(&self->stream, &keys[1]));
	EXPECT_EQ(0, keys[1]);
	ASSERT_EQ(0, stream_open(&mine, &self->configure));
	EXPECT_EQ(-EPERM, get_key(&mine, &keys[1]));
	stream_close(&mine);
	stream_close(&other);
}

/* --- Programs. --- */

/* Loaded and attached, with the key of self->stream; NULL: complained about. */
static struct choice *programs(const struct stream *stream)
{
	struct choice *choice;
	uint64_t key;

	write_file("/proc/sys/net/core/bpf_jit_enable", "1");
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	if (get_key(stream, &key))
		return NULL;
	choice = choice__open_and_load();
	if (!choice)
		return NULL;
	choice->bss->key = key;
	if (!choice__attach(choice))
		return choice;
	choice__destroy(choice);
	return NULL;
}

/* The module's pahole or compiler made types that the kernel does not take for its own. */
static bool is_stranger(void)
{
	struct btf *kernel = btf__load_vmlinux_btf();
	struct btf *module = kernel ? btf__load_module_btf("flowtap", kernel) : NULL;
	bool found = false;

	for (uint32_t id = kernel ? btf__type_cnt(kernel) : 0;
	     module && id < btf__type_cnt(module); id++) {
		const struct btf_type *type = btf__type_by_id(module, id);

		found |= btf_is_struct(type) &&
			 !strcmp("task_struct", btf__name_by_offset(module, type->name_off));
	}
	btf__free(module);
	btf__free(kernel);
	return found;
}

#define NEEDS_BTF()								\
	do {									\
		if (access("/sys/kernel/btf/vmlinux", F_OK))			\
			SKIP(return, "this kernel has no BTF");			\
		if (is_stranger())						\
			SKIP(return, "the module's BTF has a task_struct of its own"); \
	} while (0)

TEST_F(tasks, each_program_that_is_chosen_at_its_exec_is_there_and_no_other)
{
	struct choice *choice;
	pid_t pids[MANY];
	int others, i;

	NEEDS_BTF();
	ASSERT_EQ(0, copy_self(CHOSEN, 0755));
	ASSERT_EQ(0, copy_self(OTHER, 0755));
	want_switches(&self->configure);
	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	choice = programs(&self->stream);
	ASSERT_NE(NULL, choice);
	strcpy(choice->bss->wanted, "chosen");
	ASSERT_EQ(0, enable(&self->stream));
	for (i = 0; i < MANY; i++) {
		pid_t other = executes(OTHER, ROLE_EXIT, -1);

		pids[i] = executes(CHOSEN, ROLE_EXIT, -1);
		waitpid(other, NULL, 0);
		waitpid(pids[i], NULL, 0);
	}
	EXPECT_EQ(MANY, choice->bss->execs);
	EXPECT_EQ(0, choice->bss->result);
	EXPECT_TRUE(WAIT_FOR(stats(&self->stream).tasks == 0));
	disable(&self->stream);
	EXPECT_EQ(MANY, told_of(&self->stream, pids, MANY, &others));
	EXPECT_EQ(0, others);
	choice__destroy(choice);
}

TEST_F(tasks, who_executes_what_is_not_chosen_goes_from_there_on)
{
	int go[2] = { -1, -1 }, others;
	struct choice *choice;
	pid_t pid;

	NEEDS_BTF();
	ASSERT_EQ(0, pipe(go));
	ASSERT_EQ(0, copy_self(OTHER, 0755));
	want_switches(&self->configure);
	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	choice = programs(&self->stream);
	ASSERT_NE(NULL, choice);
	strcpy(choice->bss->unwanted, "other");
	pid = executes(OTHER, ROLE_SPIN, go[0]);
	ASSERT_EQ(1, add_task(&self->stream, pid, 0));
	ASSERT_EQ(0, enable(&self->stream));
	ASSERT_EQ(1, write(go[1], "", 1));
	EXPECT_TRUE(WAIT_FOR(choice->bss->execs == 1));
	EXPECT_TRUE(WAIT_FOR(stats(&self->stream).tasks == 0));
	EXPECT_EQ(1, told_of(&self->stream, &pid, 1, &others));
	sleep_ms(100);
	EXPECT_EQ(0, told_of(&self->stream, &pid, 1, &others));
	/* Once more, where it is not there. */
	EXPECT_EQ(0, choice->bss->result);
	end(pid);
	choice__destroy(choice);
}

TEST_F(tasks, a_cpu_wide_stream_leaves_out_what_is_chosen_at_its_exec)
{
	struct choice *choice;
	pid_t pids[MANY];
	int others, i;

	NEEDS_BTF();
	ASSERT_EQ(0, copy_self(CHOSEN, 0755));
	ASSERT_EQ(0, open_wide(&self->stream, &self->configure, FLOWTAP_INHERIT));
	choice = programs(&self->stream);
	ASSERT_NE(NULL, choice);
	strcpy(choice->bss->wanted, "chosen");
	ASSERT_EQ(0, enable(&self->stream));
	for (i = 0; i < 8; i++)
		pids[i] = executes(CHOSEN, ROLE_SPIN, -1);
	EXPECT_TRUE(WAIT_FOR(choice->bss->execs == 8));
	EXPECT_EQ(8, stats(&self->stream).tasks);
	/* What they did before is told; nothing comes after that. */
	told_of(&self->stream, pids, 8, &others);
	sleep_ms(300);
	EXPECT_EQ(0, told_of(&self->stream, pids, 8, &others));
	EXPECT_GT(others, 0);
	for (i = 0; i < 8; i++)
		end(pids[i]);
	EXPECT_TRUE(WAIT_FOR(stats(&self->stream).tasks == 0));
	choice__destroy(choice);
}

TEST_F(tasks, children_that_are_chosen_at_their_fork_are_there)
{
	struct choice *choice;
	pid_t pids[MANY];
	int others, i;

	NEEDS_BTF();
	want_switches(&self->configure);
	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	choice = programs(&self->stream);
	ASSERT_NE(NULL, choice);
	choice->bss->forks_of = getpid();
	ASSERT_EQ(0, enable(&self->stream));
	for (i = 0; i < MANY; i++) {
		pids[i] = fork_pinned(0);
		if (!pids[i])
			_exit(0);
		waitpid(pids[i], NULL, 0);
	}
	choice->bss->forks_of = 0;
	EXPECT_EQ(MANY, choice->bss->forks);
	EXPECT_EQ(0, choice->bss->result);
	EXPECT_TRUE(WAIT_FOR(stats(&self->stream).tasks == 0));
	EXPECT_EQ(MANY, told_of(&self->stream, pids, MANY, &others));
	EXPECT_EQ(0, others);
	choice__destroy(choice);
}

static void *spin_thread(void *unused)
{
	spin();
	return NULL;
}

static int cgroups_begin(void)
{
	mkdir(CGROUPS, 0755);
	if (mount("none", CGROUPS, "cgroup2", 0, NULL))
		return -errno;
	mkdir(CGROUPS "/in", 0755);
	return 0;
}

static void cgroups_end(void)
{
	rmdir(CGROUPS "/in");
	umount2(CGROUPS, MNT_DETACH);
}

static int move(pid_t pid, const char *cgroup)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", pid);
	return write_file(cgroup, text);
}

TEST_F(tasks, a_process_that_moves_into_a_cgroup_comes_with_its_threads_and_goes)
{
	struct choice *choice;
	pthread_t thread;
	pid_t pid;

	NEEDS_BTF();
	ASSERT_EQ(0, cgroups_begin());
	pid = fork_pinned(0);
	if (!pid) {
		for (int i = 0; i < 3; i++)
			pthread_create(&thread, NULL, spin_thread, NULL);
		spin();
	}
	self->configure.flags |= FLOWTAP_ENDLESS;
	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	choice = programs(&self->stream);
	ASSERT_NE(NULL, choice);
	choice->bss->attach_adds = true;
	choice->bss->attached = pid;
	ASSERT_EQ(0, enable(&self->stream));
	ASSERT_EQ(0, move(pid, CGROUPS "/in/cgroup.procs"));
	EXPECT_TRUE(WAIT_FOR(stats(&self->stream).tasks == 4));
	EXPECT_TRUE(sample_comes(&self->stream, pid));
	choice->bss->attach_adds = false;
	ASSERT_EQ(0, move(pid, CGROUPS "/cgroup.procs"));
	EXPECT_TRUE(WAIT_FOR(stats(&self->stream).tasks == 0));
	EXPECT_EQ(2, choice->bss->attaches);
	EXPECT_EQ(0, choice->bss->result);
	while (stream_next(&self->stream) == 1)
		;
	sleep_ms(100);
	EXPECT_EQ(0, samples_of(&self->stream, pid));
	/* One that moves itself, where interrupts are off. */
	choice->bss->attach_adds = true;
	choice->bss->attached = getpid();
	ASSERT_EQ(0, move(getpid(), CGROUPS "/in/cgroup.procs"));
	EXPECT_TRUE(WAIT_FOR(stats(&self->stream).tasks == 1));
	/* Whatever is asked for at once, the last word holds. */
	choice->bss->attached = pid;
	for (int i = 0; i < 100; i++) {
		choice->bss->attach_adds = i % 2;
		ASSERT_EQ(0, move(pid, i % 2 ? CGROUPS "/in/cgroup.procs" :
					       CGROUPS "/cgroup.procs"));
	}
	EXPECT_TRUE(WAIT_FOR(stats(&self->stream).tasks == 5));
	ASSERT_EQ(0, move(getpid(), CGROUPS "/cgroup.procs"));
	choice__destroy(choice);
	end(pid);
	cgroups_end();
}

/* A GAP record of the thread for want of memory waits. */
static bool memory_gap(struct stream *stream, pid_t tid)
{
	bool found = false;

	while (stream_next(stream) == 1)
		found |= stream->record.header.type == FLOWTAP_RECORD_GAP &&
			 stream->record.gap.cause == FLOWTAP_CAUSE_MEMORY &&
			 stream->record.gap.tid == (uint32_t)tid;
	return found;
}

/* The program has its answer by then: the worker's failure is in the records. */
TEST_F(tasks, who_cannot_be_added_by_the_worker_is_told)
{
	pid_t pid = spinner(0);
	struct choice *choice;
	bool told = false;

	NEEDS_BTF();
	ASSERT_EQ(0, cgroups_begin());
	/* PERF_TYPE_SOFTWARE: no task can have an event that there is not. */
	self->configure.flags |= FLOWTAP_ENDLESS;
	self->configure.triggers |= FLOWTAP_TRIGGER_OVERFLOW;
	self->configure.event_type = 1;
	self->configure.event_config = 1 << 20;
	self->configure.period = 1000000;
	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	EXPECT_EQ(-ENOENT, add_task(&self->stream, pid, 0));
	choice = programs(&self->stream);
	ASSERT_NE(NULL, choice);
	choice->bss->attach_adds = true;
	choice->bss->attached = pid;
	ASSERT_EQ(0, enable(&self->stream));
	ASSERT_EQ(0, move(pid, CGROUPS "/in/cgroup.procs"));
	EXPECT_EQ(1, choice->bss->attaches);
	EXPECT_EQ(0, choice->bss->result);
	EXPECT_TRUE(WAIT_FOR(told || (told = memory_gap(&self->stream, pid))));
	EXPECT_EQ(1, stats(&self->stream).losses[FLOWTAP_CAUSE_MEMORY]);
	EXPECT_EQ(0, stats(&self->stream).tasks);
	choice__destroy(choice);
	end(pid);
	cgroups_end();
}

/* Who executes a program comes when he has; where that takes long it is told, and nobody waits. */
TEST_F(tasks, the_worker_does_not_wait_for_an_exec)
{
	struct choice *choice;
	bool told = false;
	int go[2], error;
	char byte;
	pid_t pid;

	NEEDS_BTF();
	error = other_driver_load();
	if (error)
		SKIP(return, "no other_driver.ko, or nothing here that it plays: %s", strerror(-error));
	ASSERT_EQ(0, cgroups_begin());
	ASSERT_EQ(0, pipe(go));
	pid = fork_pinned(0);
	if (!pid) {
		for (;;)
			if (other_driver("program 1") || write(go[1], "", 1) != 1 ||
			    kill(getpid(), SIGSTOP))
				_exit(1);
	}
	ASSERT_EQ(1, read(go[0], &byte, 1));
	self->configure.flags |= FLOWTAP_ENDLESS;
	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	choice = programs(&self->stream);
	ASSERT_NE(NULL, choice);
	choice->bss->attach_adds = true;
	choice->bss->attached = pid;
	ASSERT_EQ(0, enable(&self->stream));
	ASSERT_EQ(0, move(pid, CGROUPS "/in/cgroup.procs"));
	sleep_ms(100);
	EXPECT_EQ(0, disable(&self->stream));
	EXPECT_EQ(0, enable(&self->stream));
	EXPECT_EQ(0, stats(&self->stream).tasks);
	ASSERT_EQ(0, other_driver("program 0"));
	EXPECT_TRUE(WAIT_FOR(stats(&self->stream).tasks == 1));
	EXPECT_FALSE(memory_gap(&self->stream, pid));
	/* What is asked for last holds for what waits. */
	choice->bss->attach_adds = false;
	ASSERT_EQ(0, move(pid, CGROUPS "/cgroup.procs"));
	EXPECT_TRUE(WAIT_FOR(stats(&self->stream).tasks == 0));
	kill(pid, SIGCONT);
	ASSERT_EQ(1, read(go[0], &byte, 1));
	for (int i = 0; i < 2; i++) {
		choice->bss->attach_adds = !i;
		ASSERT_EQ(0, move(pid, i ? CGROUPS "/cgroup.procs" : CGROUPS "/in/cgroup.procs"));
		sleep_ms(50);
	}
	ASSERT_EQ(0, other_driver("program 0"));
	sleep_ms(200);
	EXPECT_EQ(0, stats(&self->stream).tasks);
	/* Longer than that is waited for. */
	kill(pid, SIGCONT);
	ASSERT_EQ(1, read(go[0], &byte, 1));
	choice->bss->attach_adds = true;
	ASSERT_EQ(0, move(pid, CGROUPS "/in/cgroup.procs"));
	EXPECT_TRUE(WAIT_FOR(told || (told = memory_gap(&self->stream, pid))));
	EXPECT_EQ(0, stats(&self->stream).tasks);
	EXPECT_EQ(0, other_driver("program 0"));
	choice__destroy(choice);
	end(pid);
	close(go[0]);
	close(go[1]);
	cgroups_end();
	other_driver_unload();
}

TEST_F(tasks, a_program_does_nothing_with_a_key_that_is_none)
{
	struct choice *choice;
	uint64_t key;
	pid_t pid;

	NEEDS_BTF();
	ASSERT_EQ(0, copy_self(CHOSEN, 0755));
	self->configure.flags |= FLOWTAP_ENDLESS;
	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	choice = programs(&self->stream);
	ASSERT_NE(NULL, choice);
	strcpy(choice->bss->wanted, "chosen");
	key = choice->bss->key;
	for (int i = 0; i < 3; i++) {
		/* Sets without a key have none that could be named. */
		choice->bss->key = i == 0 ? 0 : i == 1 ? 1 : key ^ 1ULL << 63;
		choice->bss->result = 1;
		pid = executes(CHOSEN, ROLE_EXIT, -1);
		waitpid(pid, NULL, 0);
		EXPECT_EQ(-ESRCH, choice->bss->result);
	}
	EXPECT_EQ(0, stats(&self->stream).tasks);
	/* A stream that is closed takes its key along. */
	choice->bss->key = key;
	stream_close(&self->stream);
	pid = executes(CHOSEN, ROLE_EXIT, -1);
	waitpid(pid, NULL, 0);
	EXPECT_EQ(-ESRCH, choice->bss->result);
	EXPECT_EQ(4, choice->bss->execs);
	choice__destroy(choice);
}

TEST_F(tasks, programs_come_and_go_while_streams_do)
{
	struct choice *choice;
	pid_t pids[8];

	NEEDS_BTF();
	ASSERT_EQ(0, copy_self(CHOSEN, 0755));
	want_switches(&self->configure);
	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	choice = programs(&self->stream);
	ASSERT_NE(NULL, choice);
	strcpy(choice->bss->wanted, "chosen");
	for (int round = 0; round < 5; round++) {
		ASSERT_EQ(0, enable(&self->stream));
		for (int i = 0; i < 8; i++)
			pids[i] = executes(CHOSEN, i % 2 ? ROLE_EXIT : ROLE_SPIN, -1);
		for (int i = 1; i < 8; i += 2)
			waitpid(pids[i], NULL, 0);
		/* In the midst of it. */
		stream_close(&self->stream);
		for (int i = 0; i < 8; i += 2)
			end(pids[i]);
		ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
		ASSERT_EQ(0, get_key(&self->stream, (uint64_t *)&choice->bss->key));
	}
	choice__destroy(choice);
}

static int quiet(enum libbpf_print_level level, const char *format, va_list arguments)
{
	return 0;
}

TEST_F(tasks, programs_at_other_places_are_refused)
{
	static const char *const places[] = { "on_switch", "on_exit", "on_wakeup" };

	NEEDS_BTF();
	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	write_file("/proc/sys/net/core/bpf_jit_enable", "1");
	libbpf_set_print(quiet);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct choice *choice = choice__open();
		struct bpf_program *program;

		ASSERT_NE(NULL, choice);
		/* Alone: the others can be loaded. */
		bpf_object__for_each_program(program, choice->obj)
			bpf_program__set_autoload(program,
						  !strcmp(bpf_program__name(program), places[i]));
		EXPECT_NE(0, choice__load(choice))
			TH_LOG("%s", places[i]);
		choice__destroy(choice);
	}
	libbpf_set_print(NULL);
}

TEST_HARNESS_MAIN
