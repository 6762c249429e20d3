// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lowers its own priority, drops what is the parent's, and packs or mends a segment, or decodes it
 * with another process.
 */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <flowtap/packed.h>
#include <limits.h>
#include <linux/ioprio.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../tools/common/tool.h"
#include "decoded.h"
#include "log.h"
#include "store_internal.h"

/* For flowtap decode: what it holds of decoded code. The rest of what it needs is little. */
#define BLOCK_MEMORY "32M"
#define MESSAGES_MAX (1U << 20)

/* --- What it is. --- */

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	/* Where it cannot be said nothing is lost but manners. */
	if (fd >= 0 && write(fd, text, strlen(text)) < 0)
		errno = 0;
	if (fd >= 0)
		close(fd);
}

/* False: the parent is gone already. */
static bool set_up_process(pid_t parent)
{
	const struct sched_param none = { 0 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		return false;
	close_range(3, ~0U, 0);
	sched_setscheduler(0, SCHED_IDLE, &none);
	setpriority(PRIO_PROCESS, 0, 19);
	syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0));
	write_file("/proc/self/oom_score_adj", "1000");
	signal(SIGXFSZ, SIG_IGN);
	return true;
}

static int problem(const char *what, const char *name, int error)
{
	complain("cannot %s '%s': %s", what, name, strerror(-error));
	return CHILD_FAILED;
}

/* --- Packing. --- */

static int pack(int directory, const char *name)
{
	char part[STORE_NAME];
	int from = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), to, error;

	if (from < 0)
		return problem("read", name, -errno);
	store_with(part, name, STORE_PACKED_PART);
	unlinkat(directory, part, 0);
	to = openat(directory, part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
	error = to < 0 ? -errno : flowtap_pack(from, to);
	if (!error && fsync(to))
		error = -errno;
	if (to >= 0 && close(to) && !error)
		error = -errno;
	close(from);
	return error ? problem("write", part, error) : 0;
}

/* --- Mending. --- */

static int mend(int directory, const char *name)
{
	char part[STORE_NAME];
	uint64_t cut = 0;
	int fd, error;

	store_with(part, name, STORE_PART);
	fd = openat(directory, part, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	error = fd < 0 ? -errno : store_mend_left(fd, &cut);
	if (fd >= 0)
		close(fd);
	return error < 0 ? problem("finish", part, error) : error ? CHILD_EMPTY : 0;
}

/* --- Decoding. --- */

struct decoding {
	int directory;
	const char *path;		/* of it */
	const char *segment;
	const char *format;
	char name[STORE_NAME];
	int to;				/* where it goes */
};

/* The raw one, or the packed one; of both the raw one. */
static void input_of(const struct decoding *decoding, char path[PATH_MAX])
{
	struct stat stat;
	bool raw = !fstatat(decoding->directory, decoding->segment, &stat, AT_SYMLINK_NOFOLLOW);

	snprintf(path, PATH_MAX, "%s/%s%s", decoding->path, decoding->segment,
		 raw ? "" : STORE_PACKED);
}

/* "flowtap" where this program is, if it is there. */
static bool beside(char path[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 16);
	char *slash;

	if (n <= 0)
		return false;
	path[n] = 0;
	slash = strrchr(path, '/');
	if (!slash)
		return false;
	strcpy(slash + 1, "flowtap");
	return !access(path, X_OK);
}

/* Tarmac has no code of RISC-V, only as if it were A64. Segments are of this machine. */
static char *as_a64(const char *format)
{
#ifdef __riscv
	return strcmp(format, "tarmac") ? NULL : "--rv64";
#else
	(void)format;
	return NULL;
#endif
}

/* In the new process. Returns where there is no such program. */
static void execute(const struct decoding *decoding)
{
	char input[PATH_MAX], output[PATH_MAX], program[PATH_MAX];
	int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int out = openat(decoding->to, "summary.json", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
	int err = openat(decoding->to, "messages", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
	char *const words[] = {
		"flowtap", "decode", input, "--to", (char *)decoding->format, "--split", "process", "-o",
		output, "--json", "--block-memory", BLOCK_MEMORY, as_a64(decoding->format), NULL,
	};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (in < 0 || out < 0 || err < 0)
		_exit(CHILD_FAILED);
	input_of(decoding, input);
	snprintf(output, sizeof(output), "%.3000s/" DECODED "/%s.part/trace.%s", decoding->path,
		 decoding->name, decoding->format);
	/* A packed one is unpacked there: its disk has space for segments. */
	setenv("TMPDIR", decoding->path, 1);
	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	if (beside(program))
		execv(program, words);
	execvp(words[0], words);
}

/* Its exit status, as that of a shell where it was a signal; and for people. */
static int run(const struct decoding *decoding, char text[32])
{
	int status = 0;
	pid_t child = fork();

	if (!child) {
		execute(decoding);
		_exit(CHILD_NO_DECODER);
	}
	if (child < 0)
		return CHILD_FAILED;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return CHILD_FAILED;
	if (WIFEXITED(status)) {
		snprintf(text, 32, "%d", WEXITSTATUS(status));
		return WEXITSTATUS(status);
	}
	if (child_was_asked(status))
		return CHILD_FAILED;
	snprintf(text, 32, "signal %d", WTERMSIG(status));
	return CHILD_KILLED;
}

static unsigned int count_lines(int directory, const char *name)
{
	int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	static char text[MESSAGES_MAX];
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text));
	unsigned int lines = 0;

	for (ssize_t i = 0; i < n; i++)
		lines += text[i] == '\n';
	if (fd >= 0)
		close(fd);
	return lines;
}

static int decode(struct decoding *decoding)
{
	uint64_t began = number_now();
	char status_text[32] = "", text[256];
	int status, error;

	store_decoded_name(decoding->name, decoding->segment);
	decoding->to = decoded_begin(decoding->directory, decoding->name);
	if (decoding->to < 0)
		return problem("decode to", decoding->name, decoding->to);
	status = run(decoding, status_text);
	if (status == CHILD_FAILED || status == CHILD_NO_DECODER)
		return status;
	snprintf(text, sizeof(text), "format=%s\nstatus=%s\nseconds=%.1f\nmessages=%u\n",
		 decoding->format, status_text, (double)(number_now() - began) / 1e9,
		 count_lines(decoding->to, "messages"));
	decoded_drop_parts(decoding->directory, decoding->name);
	error = decoded_write(decoding->directory, decoding->name, DECODED_RESULT, text);
	if (!error)
		error = decoded_sync(decoding->directory, decoding->name);
	return error ? problem("decode to", decoding->name, error) : status;
}

int child_main(int argc, char **argv)
{
	uint64_t parent, number;
	int directory;

	if (argc < 5 || argc > 6 || !number_parse(argv[1], 1, INT_MAX, &parent) ||
	    !store_is_name(argv[4], "", &number))
		return STATUS_USAGE;
	if (!set_up_process((pid_t)parent))
		return CHILD_FAILED;
	/* They are among the parent's. */
	log_open(STDERR_FILENO);
	log_take_messages(true);
	directory = open(argv[3], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0)
		return problem("open", argv[3], -errno);
	if (!strcmp(argv[2], "pack") && argc == 5)
		return pack(directory, argv[4]);
	if (!strcmp(argv[2], "mend") && argc == 5)
		return mend(directory, argv[4]);
	if (!strcmp(argv[2], "decode") && argc == 6) {
		struct decoding decoding = {
			.directory = directory,
			.path = argv[3],
			.segment = argv[4],
			.format = argv[5],
		};

		return decode(&decoding);
	}
	return STATUS_USAGE;
}
