// SPDX-License-Identifier: GPL-2.0-only
/*
 * Opens an archive under its name, after an older one is moved to OUT.old, and any other file as
 * a locked OUT.part that is renamed when it is complete.
 */
#include "common/output_file.h"

#include "common/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <flowtap/archive.h>
#include <flowtap/zstf.h>
#include <libgen.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* For the signal handler: what to remove, and what of it stays because it can be read. */
static struct {
	const char *volatile path;	/* NULL: a free slot */
	volatile sig_atomic_t keeps;
} unfinished[OUTPUT_PARTS_MAX];

/* Whether it has more than the head that is written first; async-signal-safe. */
static bool has_contents(const char *part)
{
	struct stat stat_of;

	return !stat(part, &stat_of) && stat_of.st_size > FLOWTAP_ZSTF_HEAD;
}

static void remove_unfinished(int number)
{
	static const char kept_text[] =
		"\nflowtap: interrupted: what was written so far stays under the name OUT.part\n";
	ssize_t written = 0;

	for (size_t i = 0; i < OUTPUT_PARTS_MAX; i++) {
		const char *path = unfinished[i].path;

		if (!path)
			continue;
		if (!unfinished[i].keeps || !has_contents(path))
			unlink(path);
		else if (!written)
			written = write(STDERR_FILENO, kept_text, sizeof(kept_text) - 1);
	}
	signal(number, SIG_DFL);
	raise(number);
}

/* In the slot of one that is gone; NULL: a free one. */
static void report_unfinished(const char *before, const char *path)
{
	for (size_t i = 0; i < OUTPUT_PARTS_MAX; i++) {
		if (unfinished[i].path != before)
			continue;
		/* What is no longer reported was kept up to now. */
		if (path)
			unfinished[i].keeps = false;
		unfinished[i].path = path;
		return;
	}
}

static void report_kept(const char *part)
{
	for (size_t i = 0; i < OUTPUT_PARTS_MAX; i++)
		if (unfinished[i].path == part)
			unfinished[i].keeps = true;
}

static int problem(const char *what, const char *path, int error)
{
	complain("cannot %s '%s': %s", what, path, strerror(-error));
	return error;
}

const char *output_path(const char *path)
{
	struct stat link, there, standard;

	if (lstat(path, &link) || !S_ISLNK(link.st_mode) || stat(path, &there) ||
	    fstat(STDOUT_FILENO, &standard))
		return path;
	return there.st_dev == standard.st_dev && there.st_ino == standard.st_ino ? "-" : path;
}

int output_check_beside(const char *path)
{
	struct stat there;

	if (stat(path, &there) || S_ISREG(there.st_mode) || S_ISDIR(there.st_mode))
		return 0;
	complain("several files are to be written, and '%s' is a device or a pipe", path);
	advise("name a file with -o, of which theirs are made");
	return -EINVAL;
}

/* Of a file that cannot be made, and what mends it where that is the directory. */
static int not_made(const char *path, int error)
{
	char *copy = strdup(path);
	const char *directory = copy ? dirname(copy) : "";

	problem("write", path, error);
	if (error == -ENOENT && access(directory, F_OK))
		advise("there is no directory '%s': mkdir -p makes it", directory);
	else if (error == -EISDIR)
		advise("name a file in it");
	else if (error == -ENOTDIR)
		advise("not all of '%s' are directories: choose another name", directory);
	else if (access(directory, W_OK))
		advise("'%s' is not to be written to: choose a name in a directory that is yours",
		       directory);
	else if (error == -ENAMETOOLONG)
		advise("choose a shorter name");
	/* /proc and /sys have no files but their own, whoever asks. */
	else if (error == -ENOENT || error == -EACCES || error == -EPERM || error == -EOPNOTSUPP)
		advise("no file can be made in '%s': choose a name in another directory",
		       directory);
	free(copy);
	return error;
}

/* Whether the file is still what has this name: who wrote it may have given it another one. */
static bool has_name(int fd, const char *path)
{
	struct stat open, named;

	return !fstat(fd, &open) && !lstat(path, &named) && open.st_dev == named.st_dev &&
	       open.st_ino == named.st_ino;
}

/*
 * Until fd is closed nobody else has this file. 0, or -EWOULDBLOCK: another process has it, or gave
 * it another name meanwhile. A file system without locks has none.
 */
static int lock(int fd, const char *path)
{
	if ((flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) || !has_name(fd, path))
		return -EWOULDBLOCK;
	return 0;
}

static int busy(const char *path)
{
	complain("another flowtap writes '%s' at the moment", path);
	advise("wait for it, or choose another name for this one");
	return -EWOULDBLOCK;
}

static int use_stdout(struct output *output)
{
	if (isatty(STDOUT_FILENO)) {
		complain("this is not for a terminal");
		advise("pipe it on or name a file with -o");
		return -EINVAL;
	}
	output->fd = STDOUT_FILENO;
	return 0;
}

/* Whether the file is empty or begins as an archive does. */
static bool replaceable(const char *path)
{
	uint8_t magic[sizeof(FLOWTAP_ARCHIVE_MAGIC) - 1];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, magic, sizeof(magic));
	close(fd);
	return !n || (n == (ssize_t)sizeof(magic) &&
		      !memcmp(magic, FLOWTAP_ARCHIVE_MAGIC, sizeof(magic)));
}

/* A link is written through: names are made of where it leads. 0 or -errno. */
static int follow(struct output *output)
{
	struct stat stat_of;

	if (output->target || lstat(output->path, &stat_of) || !S_ISLNK(stat_of.st_mode))
		return 0;
	output->target = realpath(output->path, NULL);
	return output->target ? 0 : -errno;
}

static void free_names(struct output *output)
{
	free(output->part);
	free(output->old);
	free(output->target);
	output->part = output->old = output->target = NULL;
}

static const char *file_of(const struct output *output)
{
	return output->target ?: output->path;
}

/* Under a lock, so that what is moved is what nobody writes. */
static int rename_old(const struct output *output)
{
	const char *path = file_of(output);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int error = fd < 0 ? 0 : lock(fd, path);

	if (error)
		busy(output->path);
	else if (rename(path, output->old))
		error = problem("rename", output->path, -errno);
	if (fd >= 0)
		close(fd);
	return error;
}

static int move_away(struct output *output, const struct stat *there, bool force)
{
	int error;

	if (!force && !replaceable(output->path)) {
		complain("'%s' exists and is no flowtap archive", output->path);
		advise("choose another name with -o, or --force to replace it");
		return -EEXIST;
	}
	if (!there->st_size)
		return 0;
	if (asprintf(&output->old, "%s.old", file_of(output)) < 0) {
		output->old = NULL;
		return problem("rename", output->path, -ENOMEM);
	}
	error = rename_old(output);
	if (error) {
		free(output->old);
		output->old = NULL;
	}
	return error;
}

static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };

/* -errno where it cannot be opened. */
static int open_archive(const char *path, bool pipe)
{
	sigset_t set, before;
	int fd;

	sigemptyset(&set);
	/* Until somebody reads it: who has blocked signals can be ended meanwhile. */
	for (size_t i = 0; pipe && i < sizeof(ends) / sizeof(ends[0]); i++)
		sigaddset(&set, ends[i]);
	sigprocmask(SIG_UNBLOCK, &set, &before);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		fd = -errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	return fd;
}

/* Of a regular file. What another process began to write meanwhile is left as it is. */
static int use_archive(struct output *output)
{
	/* A link may have led to nothing before. */
	int error = follow(output);

	if (!error)
		error = lock(output->fd, file_of(output));
	if (!error && ftruncate(output->fd, 0))
		error = -errno;
	return error;
}

int output_open_archive(struct output *output, const char *path, bool force)
{
	bool there, regular = true;
	struct stat stat_of;
	int error;

	*output = (struct output){ .path = path, .fd = -1 };
	if (!strcmp(path, "-"))
		return use_stdout(output);
	there = !stat(path, &stat_of);
	if (there)
		regular = S_ISREG(stat_of.st_mode);
	if (there && regular) {
		error = follow(output);
		error = error ? problem("write", path, error) :
				move_away(output, &stat_of, force);
		if (error) {
			free_names(output);
			return error;
		}
	}
	output->fd = open_archive(file_of(output), there && S_ISFIFO(stat_of.st_mode));
	error = output->fd < 0 ? output->fd : regular ? use_archive(output) : 0;
	if (error) {
		if (error == -EWOULDBLOCK)
			busy(path);
		else
			not_made(path, error);
		output_discard(output, error);
		return error;
	}
	output->created = regular;
	return 0;
}

static void watch_signals(const char *path)
{
	report_unfinished(NULL, path);
	/* A limit of the size of files is an error of write, with a message. */
	signal(SIGXFSZ, SIG_IGN);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		/* nohup and `command &` have them ignored: leave that. */
		if (signal(ends[i], remove_unfinished) == SIG_IGN)
			signal(ends[i], SIG_IGN);
	}
}

static bool is_regular(int fd)
{
	struct stat stat;

	return !fstat(fd, &stat) && S_ISREG(stat.st_mode);
}

/* Nobody else can read or change it, now or by another name. */
static bool is_private(int fd)
{
	struct stat stat;

	return !fstat(fd, &stat) && stat.st_uid == geteuid() && stat.st_nlink == 1 &&
	       !(stat.st_mode & (S_IRWXG | S_IRWXO));
}

/* What has this name and a lock of ours: empty. The fd is closed unless it is returned. */
static int use_part(int fd, const char *part, bool force)
{
	int error = -EAGAIN;
	struct stat stat;

	if (!has_name(fd, part))
		goto err_close;
	if (!force && !fstat(fd, &stat) && stat.st_size) {
		error = -EEXIST;
	} else if (is_private(fd)) {
		if (!ftruncate(fd, 0))
			return fd;
		error = -errno;
	} else if (unlink(part)) {
		error = -errno;
	}

err_close:
	close(fd);
	return error;
}

/*
 * One writer at a time, which a lock shows that the kernel takes away with it: a part without one
 * was left by somebody who was killed, or put there by somebody else. It is begun anew, or goes,
 * where it is empty, or `force`. The fd, -EWOULDBLOCK: another one writes it, -EEXIST, -ENOEXEC: it
 * is no regular file, or another error.
 */
static int open_locked(const char *part, bool force)
{
	int fd = -EAGAIN;

	for (int tries = 0; fd == -EAGAIN && tries < 100; tries++) {
		/* A FIFO without a reader would not return, and no signal ends it here. */
		fd = open(part, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
		if (fd < 0)
			return errno == ENXIO ? -ENOEXEC : -errno;
		if (!is_regular(fd)) {
			close(fd);
			return -ENOEXEC;
		}
		/* A file system without locks is used as it is. */
		if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
			close(fd);
			return -EWOULDBLOCK;
		}
		fd = use_part(fd, part, force);
	}
	return fd;
}

/* No signal can come between what it makes and the record that it is to be removed. */
static int open_registered(const char *part, bool force)
{
	sigset_t mask, before;
	int fd;

	sigemptyset(&mask);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigaddset(&mask, ends[i]);
	sigprocmask(SIG_BLOCK, &mask, &before);
	fd = open_locked(part, force);
	if (fd >= 0)
		watch_signals(part);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return fd;
}

static void part_problem(const struct output *output, int error)
{
	switch (-error) {
	case EWOULDBLOCK:
		busy(output->path);
		break;
	case EEXIST:
		complain("'%s' exists: an interrupted run left it, or it is somebody else's",
			 output->part);
		advise("rename or remove it (a trace is read as far as it goes), or --force to "
		       "replace it");
		break;
	case ENOEXEC:
		complain("'%s' is no regular file, and the output is written under that name first",
			 output->part);
		advise("rename or remove it, or choose another name for the output");
		break;
	default:
		not_made(output->part, error);
	}
}

int output_open_part(struct output *output, const char *path, bool force)
{
	struct stat stat_of;
	int error = 0;
	bool there;

	*output = (struct output){ .path = path, .fd = -1 };
	if (!strcmp(path, "-")) {
		output->fd = STDOUT_FILENO;
		return 0;
	}
	there = !stat(path, &stat_of);
	if (there && !S_ISREG(stat_of.st_mode)) {
		output->fd = open(path, O_WRONLY | O_CLOEXEC);
		return output->fd < 0 ? not_made(path, -errno) : 0;
	}
	if (there && stat_of.st_size && !force) {
		complain("'%s' exists", path);
		advise("choose another name for the output, or --force to replace it");
		return -EEXIST;
	}
	if (!there && !force && !lstat(path, &stat_of)) {
		complain("'%s' is a link to a file that is not there", path);
		advise("choose another name for the output, or --force to replace the link");
		return -EEXIST;
	}
	output->fresh = !there && !force;
	if (there)
		error = follow(output);
	if (!error && asprintf(&output->part, "%s.part", file_of(output)) < 0) {
		output->part = NULL;
		error = -ENOMEM;
	}
	if (error) {
		free_names(output);
		return problem("write", path, error);
	}
	error = open_registered(output->part, force);
	if (error < 0) {
		part_problem(output, error);
		free_names(output);
		return error;
	}
	output->fd = error;
	output->created = true;
	return 0;
}

void output_keep(struct output *output)
{
	if (!output->part || output->keeps)
		return;
	report_kept(output->part);
	output->keeps = true;
}

static void clear_output(struct output *output)
{
	if (output->part)
		report_unfinished(output->part, NULL);
	output->keeps = false;
	free_names(output);
	output->fd = -1;
}

/* Those that a full disk and the like bring; what was written before is good. */
static bool is_full(int error)
{
	return error == -ENOSPC || error == -EDQUOT || error == -EFBIG || error == -EIO;
}

static void keep_or_remove(struct output *output, int error)
{
	const char *path = output->part ?: file_of(output);

	if (!output->created)
		return;
	if (output->keeps && is_full(error) && has_contents(path))
		advise("what was written until then stays as '%s'", path);
	else if (has_name(output->fd, path))
		unlink(path);
}

/* keep: what may have come there meanwhile stays. */
static int rename_to(const char *from, const char *path, bool keep)
{
	if (!renameat2(AT_FDCWD, from, AT_FDCWD, path, keep ? RENAME_NOREPLACE : 0))
		return 0;
	/* A file system, or a kernel, that does not know. */
	if ((errno == EINVAL || errno == ENOSYS) && !rename(from, path))
		return 0;
	return -errno;
}

int output_commit(struct output *output)
{
	int error = 0;

	if (output->fd < 0)
		return 0;
	/* Pipes and devices have nothing to sync; close reports their errors. */
	if (output->created && fsync(output->fd))
		error = -errno;
	if (!output->created && output->fd != STDOUT_FILENO && close(output->fd))
		error = -errno;
	if (!error && output->part)
		error = rename_to(output->part, file_of(output), output->fresh);
	if (error) {
		problem("write", output->path, error);
		advise_write(error);
	}
	/* The work of hours is not thrown away for a name that somebody took meanwhile. */
	if (error == -EEXIST)
		advise("what was written is '%s'", output->part);
	/* An archive is good as far as it goes. */
	else if (error && !output->part)
		advise("what was written until then stays in '%s'", file_of(output));
	else if (error)
		keep_or_remove(output, error);
	/* Its lock goes with it: the part must have got its name. */
	if (output->created)
		close(output->fd);
	clear_output(output);
	return error;
}

void output_discard(struct output *output, int error)
{
	keep_or_remove(output, error);
	if (output->fd >= 0 && output->fd != STDOUT_FILENO)
		close(output->fd);
	error = output->old ? rename_to(output->old, file_of(output), true) : 0;
	if (error)
		problem("rename", output->old, error);
	clear_output(output);
}
