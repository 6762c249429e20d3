/* SPDX-License-Identifier: GPL-2.0-only */
/* Who does something at random for ever, until he is killed: those who are traced, and the rest. */
#ifndef FLOWTAP_SELFTESTS_KERNEL_THREADS_H
#define FLOWTAP_SELFTESTS_KERNEL_THREADS_H

#include <grp.h>
#include <liburing.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sys/resource.h>

#include "other_driver.h"
#include "stream.h"
#include "task.h"

#define USER 1000
#define SUID "/tmp/stress-suid"
#define CPU1 "/sys/devices/system/cpu/cpu1/online"
#define WORKERS 5
#define STREAMS 8

/* Shared by all. */
static volatile struct shared {
	/* Whom there is to be traced: pids of now, and of those who were. */
	pid_t targets[WORKERS];
	/* What really happened. */
	uint64_t streams;		/* configured */
	uint64_t added;			/* tasks */
	uint64_t bytes;			/* taken from their rings */
	uint64_t offline;		/* a CPU went */
	uint64_t lost;			/* a CPU lost its registers */
	uint64_t unloads;
	uint64_t writes;		/* by io_uring, from a ring */
} *shared;
static unsigned int seed;

static unsigned int dice(unsigned int sides)
{
	return rand_r(&seed) % sides;
}

static uint64_t any_u64(void)
{
	static const uint64_t odd[] = {
		0, 1, ~0ULL, 1ULL << 31, 1ULL << 32, 1ULL << 63, 0x7fffffff, 0xffffffff, 4096,
	};

	switch (dice(4)) {
	case 0:
		return odd[dice(sizeof(odd) / sizeof(odd[0]))];
	case 1:
		return 1ULL << dice(64);
	case 2:
		return dice(256);
	}
	return (uint64_t)rand_r(&seed) << 33 ^ (uint64_t)rand_r(&seed) << 11 ^ rand_r(&seed);
}

static void count(volatile uint64_t *counter, uint64_t more)
{
	__atomic_fetch_add(counter, more, __ATOMIC_RELAXED);
}

static pid_t target(void)
{
	return dice(50) ? shared->targets[dice(WORKERS)] : dice(2) ? getpid() : (pid_t)dice(1000);
}

static bool become(uid_t uid)
{
	return !setgroups(0, NULL) && !setresgid(uid, uid, uid) && !setresuid(uid, uid, uid) &&
	       !prctl(PR_SET_DUMPABLE, 1) && !prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* --- Those who are traced. --- */

static void *short_thread(void *unused)
{
	volatile unsigned int i;

	for (i = 0; i < 20000; i++)
		;
	return unused;
}

static void run_threads(void)
{
	pthread_t threads[3];
	unsigned int i, made = 0;

	for (i = 0; i < 3; i++)
		made += !pthread_create(&threads[made], NULL, short_thread, NULL);
	while (made--)
		pthread_join(threads[made], NULL);
}

static void fault_pages(void)
{
	uint8_t *pages = mmap(NULL, 64 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			      -1, 0);
	unsigned int i;

	if (pages == MAP_FAILED)
		return;
	for (i = 0; i < 64; i++)
		pages[i * 4096] = 1;
	munmap(pages, 64 * 4096);
}

static void one_life(void)
{
	char *const roles[] = { ROLE_EXIT, ROLE_SPIN };

	switch (dice(7)) {
	case 0:
		execl("/proc/self/exe", "executed", roles[dice(2)], NULL);
		_exit(1);
	case 1:
		if (become(USER))
			execl(SUID, SUID, roles[dice(2)], NULL);
		_exit(1);
	case 2:
		run_threads();
		break;
	case 3:
		if (!fork())
			short_thread(NULL);
		break;
	case 4:
		fault_pages();
		break;
	case 5:
		kill(getpid(), SIGKILL);
		break;
	default:
		usleep(dice(5000));
	}
	_exit(0);
}

/* Half of them root's, half the user's. Each child's pid soon belongs to another process. */
static void be_traced(unsigned int number)
{
	/* Others want to get on, too. */
	setpriority(PRIO_PROCESS, 0, 10);
	if (number % 2 && !become(USER))
		_exit(1);
	for (;;) {
		pid_t child = fork();

		if (!child) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			seed ^= getpid();
			one_life();
		}
		shared->targets[number] = dice(4) ? getpid() : child;
		if (dice(4) == 0)
			pin(dice(2) ? child : 0, dice(cpus_online()));
		run_threads();
		usleep(dice(3000));
		if (dice(2))
			kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
}

/* --- Those who trace. --- */

static void perhaps_event(struct flowtap_configure *configure)
{
	/* Instructions and cycles, or page faults and the like. */
	configure->triggers |= FLOWTAP_TRIGGER_OVERFLOW;
	configure->event_type = dice(4) ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE;
	configure->event_config = configure->event_type ? dice(10) : dice(2);
	/*
	 * In an emulator instructions are counted by its clock, in handlers as well, and perf on
	 * RISC-V stops nobody: with less a CPU would do nothing else.
	 */
	configure->period = 500000 + dice(4000000);
}

static struct flowtap_configure any_configure(const struct stream *leader)
{
	struct flowtap_configure configure = plain(1 + dice(2), dice(cpus_online()));
	uint64_t *word = (uint64_t *)&configure;

	configure.ring_pages = 2U << dice(6);
	configure.ctr.depth = dice(2) ? 0 : 16 << dice(5);
	configure.flags = dice(2) ? FLOWTAP_INHERIT : 0;
	configure.flags |= dice(4) ? 0 : FLOWTAP_ENABLE_ON_EXEC;
	configure.flags |= dice(8) ? 0 : FLOWTAP_EXCLUDE_GUEST;
	configure.modes = 1 + dice(3);
	configure.triggers = dice(2) ? FLOWTAP_TRIGGER_SWITCH : 0;
	if (dice(3) == 0)
		configure.flags |= FLOWTAP_OVERWRITE;
	if (dice(4) == 0)
		configure.flags = FLOWTAP_CPU_WIDE | (configure.flags & FLOWTAP_OVERWRITE) |
				  (dice(2) ? FLOWTAP_EXCLUDE | (dice(2) ? FLOWTAP_INHERIT : 0) : 0);
	else if (dice(4) == 0)
		configure.flags |= FLOWTAP_ENDLESS;
	if (dice(2))
		perhaps_event(&configure);
	if (dice(2)) {
		configure.triggers |= FLOWTAP_TRIGGER_TIMER;
		configure.timer_ns = 300000 + dice(5000000);
	}
	if (configure.source == FLOWTAP_SOURCE_CTR && dice(2))
		configure.ctr.control = ((uint64_t)rand_r(&seed) << 33 | 1 << 7 | 1 << 11) &
					0xff3e00000880ULL & any_u64();
	if (leader->fd >= 0 && dice(2)) {
		/* The leader's own wishes would be needed to be let in: try another CPU. */
		configure.flags |= FLOWTAP_GROUP;
		configure.group_fd = leader->fd;
	}
	if (dice(10) == 0)
		word[dice(sizeof(configure) / 8)] ^= any_u64();
	/* Memory is not what this is about. */
	if (configure.ring_pages > 256)
		configure.ring_pages = 256;
	return configure;
}

/* As the tool does it: a stream on each CPU with the same task. */
static void open_group(struct stream *streams)
{
	struct flowtap_configure configure = any_configure(&(struct stream){ .fd = -1 });
	unsigned int cpu;

	for (cpu = 0; cpu < cpus_online() && cpu < 2; cpu++) {
		stream_close(&streams[cpu]);
		configure.cpu = cpu;
		if (cpu && streams[0].fd >= 0) {
			configure.flags |= FLOWTAP_GROUP;
			configure.group_fd = streams[0].fd;
		}
		if (!stream_open(&streams[cpu], &configure))
			count(&shared->streams, 1);
	}
}

static void hostile_command(int fd)
{
	uint64_t words[64];
	unsigned int i, number = dice(10), size = dice(3) ? 8 * dice(64) : dice(16384);

	for (i = 0; i < 64; i++)
		words[i] = dice(3) ? 0 : any_u64();
	/* Not so great a ring that others find no memory. */
	words[3] &= 0xffffffffULL << 32 | 0xff;
	ioctl(fd, dice(8) ? _IOC(dice(4), FLOWTAP_IOC_MAGIC, number, size) : (uint32_t)any_u64(),
	      dice(8) ? (void *)words : (void *)any_u64());
}

static void hostile_ring(struct stream *stream)
{
	volatile uint64_t *page = (void *)stream->ring;

	if (!page || page == MAP_FAILED)
		return;
	/* A flight recorder's mapping is not to be written: the kernel kills whoever does. */
	if (mprotect((void *)page, 4096, PROT_READ | PROT_WRITE))
		return;
	if (dice(2))
		stream->ring->data_tail = dice(2) ? any_u64() :
					  stream->ring->data_head - 8 * dice(100000);
	else
		page[dice(512)] = any_u64();
}

static void change(struct stream *stream)
{
	struct flowtap_enable group = { .flags = FLOWTAP_ENABLE_GROUP };
	struct flowtap_query query = { .cpu = dice(4), .want = dice(4) };

	switch (dice(18)) {
	case 14 ... 17:
	case 0 ... 2:
		count(&shared->added, add_task(stream, target(), dice(2)) > 0);
		break;
	case 3:
		remove_task(stream, target(), dice(2));
		break;
	case 4 ... 5:
		command(stream->fd, dice(4) ? FLOWTAP_IOC_ENABLE : FLOWTAP_IOC_DISABLE, &group);
		break;
	case 6:
		enable(stream);
		break;
	case 7:
		disable(stream);
		break;
	case 8:
		snapshot(stream);
		break;
	case 9:
		hostile_command(stream->fd);
		break;
	case 10:
		hostile_ring(stream);
		break;
	case 11:
		if (!stream->ring)
			break;
		count(&shared->bytes,
		      (stream->ring->data_head - stream->ring->data_tail) % (1 << 20));
		__atomic_store_n(&stream->ring->data_tail, stream->ring->data_head, __ATOMIC_RELEASE);
		break;
	case 12:
		command(stream->fd, FLOWTAP_IOC_QUERY, &query);
		break;
	default:
		stats(stream);
		poll_now(stream);
	}
}

/* A writer is not let into a mapping that may not be written. */
static void open_any(struct stream *stream, const struct stream *leader)
{
	struct flowtap_configure configure = any_configure(leader);
	int protection = configure.flags & FLOWTAP_OVERWRITE ? PROT_READ : PROT_READ | PROT_WRITE;

	*stream = (struct stream){ .fd = open_device() };
	if (stream->fd < 0)
		return;
	if (!command(stream->fd, FLOWTAP_IOC_CONFIGURE, &configure))
		count(&shared->streams, 1);
	if (dice(10) == 0)
		return;
	stream->length = (configure.ring_pages + 1) * 4096;
	stream->ring = mmap(NULL, stream->length, dice(20) ? protection : (int)dice(8), MAP_SHARED,
			    stream->fd, 0);
	if (stream->ring == MAP_FAILED)
		stream->ring = NULL;
	if (stream->ring && protection == PROT_READ)
		mprotect(stream->ring, stream->length, PROT_READ | PROT_WRITE);
}

static void trace_at_random(void)
{
	static struct stream streams[STREAMS];
	unsigned int i;

	for (i = 0; i < STREAMS; i++)
		streams[i].fd = -1;
	for (;;) {
		struct stream *stream = &streams[dice(STREAMS)];

		if (stream->fd < 0) {
			if (dice(4))
				open_any(stream, &streams[dice(STREAMS)]);
			else
				open_group(&streams[2 * dice(STREAMS / 2)]);
			continue;
		}
		switch (dice(80)) {
		case 0:
			stream_close(stream);
			break;
		case 1:
			/* The mapping alone keeps it for a moment. */
			close(stream->fd);
			if (stream->ring)
				munmap(stream->ring, stream->length);
			*stream = (struct stream){ .fd = -1 };
			break;
		case 2:
			if (stream->ring)
				munmap(stream->ring, stream->length);
			stream->ring = NULL;
			break;
		case 3:
			/* A child has the descriptors and no mapping. */
			if (!fork()) {
				change(stream);
				_exit(0);
			}
			waitpid(-1, NULL, 0);
			break;
		default:
			change(stream);
		}
	}
}

static void trace_as_user(void)
{
	if (become(USER))
		trace_at_random();
	_exit(1);
}

static void trace_in_a_namespace(void)
{
	if (unshare(CLONE_NEWPID))
		_exit(1);
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		trace_at_random();
	}
	waitpid(-1, NULL, 0);
	_exit(0);
}

/* --- Others. --- */

/* Ring pages are registered and written from; the mapping goes, or we do, while they are. */
static void drain_by_io_uring(void)
{
	struct flowtap_configure configure;
	struct io_uring uring;
	struct stream stream;
	int file = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	struct iovec vector;
	unsigned int n;

	if (io_uring_queue_init(8, &uring, 0))
		_exit(4);
	for (;;) {
		/* One of them may not be there. */
		configure = plain(1 + dice(2), dice(cpus_online()));
		configure.triggers |= FLOWTAP_TRIGGER_TIMER | FLOWTAP_TRIGGER_SWITCH;
		configure.timer_ns = 500000;
		if (stream_open(&stream, &configure))
			continue;
		add_task(&stream, target(), 0);
		enable(&stream);
		vector = (struct iovec){ stream.ring, stream.length };
		if (io_uring_register_buffers(&uring, &vector, 1))
			_exit(1);
		for (n = dice(50); n; n--) {
			struct io_uring_sqe *sqe = io_uring_get_sqe(&uring);
			struct io_uring_cqe *cqe;

			if (!sqe)
				break;
			if (dice(2))
				io_uring_prep_write_fixed(sqe, file, vector.iov_base, vector.iov_len,
							  0, 0);
			else
				io_uring_prep_poll_add(sqe, stream.fd, POLLIN);
			io_uring_submit(&uring);
			while (!io_uring_peek_cqe(&uring, &cqe)) {
				count(&shared->writes, cqe->res == (int)vector.iov_len);
				io_uring_cqe_seen(&uring, cqe);
			}
		}
		switch (dice(3)) {
		case 0:
			_exit(0);
		case 1:
			stream_close(&stream);
			io_uring_unregister_buffers(&uring);
			break;
		default:
			io_uring_unregister_buffers(&uring);
			stream_close(&stream);
		}
	}
}

static void take_cpus_away(void)
{
	if (access(CPU1, W_OK))
		_exit(4);
	for (;;) {
		usleep(20000 + dice(1000000));
		count(&shared->offline, !write_file(CPU1, "0"));
		usleep(dice(100000));
		write_file(CPU1, "1");
	}
}

static void lose_registers(void)
{
	int error;

	for (;;) {
		unsigned int times = 1 + dice(50);

		error = other_driver("idle %u %u %u %u", dice(cpus_online()), times,
				     1000 + dice(2000000), dice(1 << 30));
		if (error == -ENOENT)
			_exit(4);
		count(&shared->lost, error ? 0 : times);
		usleep(dice(100000));
	}
}

static void count_as_perf_does(void)
{
	for (;;) {
		bool whole = dice(2);
		struct perf_event_attr attr = {
			.size = sizeof(attr),
			.type = dice(2),
			.config = dice(2),
			.sample_period = 500000 + dice(4000000),
			.exclude_kernel = dice(2),
			.inherit = dice(2),
		};
		int fd = syscall(SYS_perf_event_open, &attr, whole ? -1 : target(),
				 whole ? (int)dice(cpus_online()) : -1, -1, PERF_FLAG_FD_CLOEXEC);

		usleep(dice(50000));
		if (fd >= 0)
			close(fd);
	}
}

/*
 * The first stream and the last have the kernel's text patched, which takes its time: not always.
 */
static void stay_open(void)
{
	struct flowtap_configure configure = plain(FLOWTAP_SOURCE_SOFT, 0);
	struct stream stream;

	while (stream_open(&stream, &configure))
		usleep(10000);
	pause();
}

static void unload_at_random(void)
{
	for (;;) {
		if (!unload()) {
			count(&shared->unloads, 1);
			usleep(dice(2000));
			/* Left by the idle states of this moment. */
			other_driver("own 0 0");
			other_driver("own 1 0");
			load("soft=1");
			chmod(DEVICE, 0666);
		}
		usleep(dice(20000));
	}
}

static const struct thread_kind {
	void (*act)(void);
	unsigned int mean_life_ms;	/* until it is killed and another like it comes; 0: never */
} thread_kinds[] = {
	{ trace_at_random, 2000 }, { trace_at_random, 6000 }, { trace_as_user, 3000 },
	{ trace_in_a_namespace, 3000 }, { drain_by_io_uring, 1000 }, { take_cpus_away, 0 },
	{ lose_registers, 1000 }, { count_as_perf_does, 2000 }, { unload_at_random, 0 },
	{ stay_open, 20000 },
};

#define THREAD_KINDS (sizeof(thread_kinds) / sizeof(thread_kinds[0]))

#endif /* FLOWTAP_SELFTESTS_KERNEL_THREADS_H */
