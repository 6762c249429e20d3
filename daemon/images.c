// SPDX-License-Identifier: GPL-2.0-only
/* Which files there are, are wanted, and are not any more; images_save.c copies them. */
#include "images.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "log.h"

#define PART ".part"
#define SHOWN 20		/* events of files that are missing; more are counted */
#define ANSWERS 16		/* at once */

enum state { NEW, ASKED, SAVED, MISSING };

struct image {
	uint8_t id_size;
	uint8_t id[FLOWTAP_BUILD_ID_MAX];
	enum state state;
	bool reported;			/* that it was MISSING */
	uint32_t pid;
	char *path;			/* while it is NEW */
	uint64_t bytes;
	uint64_t last;			/* segment that may name it */
	struct image *next;		/* that is NEW */
};

struct images {
	struct images_saver saver;
	int requests, answers;		/* our ends; reads and writes do not block */
	pthread_t thread;
	bool running;
	uint64_t segment;
	uint64_t oldest;
	void *all;			/* tree by build-id (tsearch) */
	uint64_t n;
	struct image *first, **end;	/* those that are NEW */
	uint64_t shown;
	struct images_figures figures;
	struct image *going;		/* while the tree is walked */
};

static int by_id(const void *one, const void *other)
{
	const struct image *a = one, *b = other;

	if (a->id_size != b->id_size)
		return a->id_size < b->id_size ? -1 : 1;
	return memcmp(a->id, b->id, a->id_size);
}

static struct image *find(const struct images *images, const uint8_t *id, uint8_t size)
{
	struct image key = { .id_size = size }, **found;

	memcpy(key.id, id, size);
	found = tfind(&key, &images->all, by_id);
	return found ? *found : NULL;
}

/* NULL: no memory, or there are too many. */
static struct image *add(struct images *images, const uint8_t *id, uint8_t size)
{
	struct image *image = images->n < IMAGES_MAX ? calloc(1, sizeof(*image)) : NULL;

	if (!image)
		return NULL;
	image->id_size = size;
	memcpy(image->id, id, size);
	if (!tsearch(image, &images->all, by_id)) {
		free(image);
		return NULL;
	}
	images->n++;
	return image;
}

static void miss(struct images *images, struct image *image, const char *why)
{
	struct log_line line;

	if (image->reported)
		return;
	image->reported = true;
	images->figures.missing++;
	if (images->shown == SHOWN)
		return;
	images->shown++;
	log_begin(&line, LEVEL_WARNING, "image-missing");
	log_text(&line, "why", why);
	log_text(&line, "further", images->shown == SHOWN ? "counted" : NULL);
	log_end(&line);
}

/* --- What there is. --- */

static unsigned int digit(char c)
{
	return c >= '0' && c <= '9' ? (unsigned int)(c - '0') :
	       c >= 'a' && c <= 'f' ? (unsigned int)(c - 'a') + 10 : 16;
}

/* Two digits a byte, as images_path makes them: how many; 0: it is none. */
static uint8_t parse_id(const char *folder, const char *name, uint8_t id[FLOWTAP_BUILD_ID_MAX])
{
	char text[2 * FLOWTAP_BUILD_ID_MAX + 1];
	size_t n = strlen(folder) + strlen(name);

	if (strlen(folder) != 2 || n % 2 || n < 4 || n >= sizeof(text))
		return 0;
	memcpy(text, folder, 2);
	memcpy(text + 2, name, n - 2);
	for (size_t i = 0; i < n; i++)
		if (digit(text[i]) > 15)
			return 0;
	for (size_t i = 0; i < n; i += 2)
		id[i / 2] = (uint8_t)(16 * digit(text[i]) + digit(text[i + 1]));
	return (uint8_t)(n / 2);
}

static void look_at(struct images *images, int fd, const char *folder, const char *name)
{
	uint8_t id[FLOWTAP_BUILD_ID_MAX], size = parse_id(folder, name, id);
	const size_t n = strlen(name), part = strlen(PART);
	struct image *image;
	struct stat stat;

	if (!size) {
		if (n > part && !strcmp(name + n - part, PART))
			unlinkat(fd, name, 0);
		return;
	}
	if (fstatat(fd, name, &stat, AT_SYMLINK_NOFOLLOW) || !S_ISREG(stat.st_mode))
		return;
	image = add(images, id, size);
	if (!image)
		return;
	image->state = SAVED;
	image->last = images->segment;
	image->bytes = (uint64_t)stat.st_blocks * 512;
	images->figures.files++;
	__atomic_add_fetch(&images->saver.held, image->bytes, __ATOMIC_RELAXED);
}

/* NULL: there is none. */
static DIR *open_folder(int directory, const char *name)
{
	int fd = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !folder)
		close(fd);
	return folder;
}

static void scan(struct images *images)
{
	DIR *top = open_folder(images->saver.directory, IMAGES), *folder;
	const struct dirent *entry, *inner;

	while (top && (entry = readdir(top))) {
		if (strlen(entry->d_name) != 2 || digit(entry->d_name[0]) > 15 ||
		    digit(entry->d_name[1]) > 15)
			continue;
		folder = open_folder(dirfd(top), entry->d_name);
		while (folder && (inner = readdir(folder)))
			look_at(images, dirfd(folder), entry->d_name, inner->d_name);
		if (folder)
			closedir(folder);
	}
	if (top)
		closedir(top);
}

static int open_pipes(struct images *images)
{
	int requests[2], answers[2];

	if (pipe2(requests, O_CLOEXEC))
		return -errno;
	images->saver.requests = requests[0];
	images->requests = requests[1];
	if (pipe2(answers, O_CLOEXEC))
		return -errno;
	images->answers = answers[0];
	images->saver.answers = answers[1];
	/* More than fits waits for the next step. */
	fcntl(images->requests, F_SETPIPE_SZ, 1 << 20);
	if (fcntl(images->requests, F_SETFL, O_NONBLOCK) ||
	    fcntl(images->answers, F_SETFL, O_NONBLOCK))
		return -errno;
	return 0;
}

void images_limit(struct images *images, uint64_t most, uint64_t free)
{
	__atomic_store_n(&images->saver.most, most, __ATOMIC_RELAXED);
	__atomic_store_n(&images->saver.free, free, __ATOMIC_RELAXED);
}

int images_open(const char *directory, uint64_t most, uint64_t free, uint64_t segment,
		struct images **result)
{
	struct images *images = calloc(1, sizeof(*images));
	int error;

	if (!images)
		return -ENOMEM;
	images_limit(images, most, free);
	images->segment = images->oldest = segment;
	images->end = &images->first;
	images->requests = images->answers = images->saver.requests = images->saver.answers = -1;
	images->saver.directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	error = images->saver.directory < 0 ? -errno : open_pipes(images);
	if (error) {
		images_close(images);
		return error;
	}
	scan(images);
	*result = images;
	return 0;
}

void images_segment(struct images *images, uint64_t number)
{
	images->segment = number;
}

/* --- What is wanted. --- */

static void want(struct images *images, struct image *image, const struct flowtap_mapping *mapping)
{
	image->path = strdup(mapping->path);
	image->state = image->path ? NEW : MISSING;
	image->pid = mapping->pid;
	image->next = NULL;
	if (!image->path) {
		images->figures.missing++;
		return;
	}
	*images->end = image;
	images->end = &image->next;
	images->figures.waiting++;
}

int images_mapped(void *argument, const struct flowtap_mapping *mapping)
{
	struct images *images = argument;
	const uint8_t size = mapping->build_id_size;
	struct image *image;

	if (!mapping->executable || size < 2 || size > FLOWTAP_BUILD_ID_MAX ||
	    mapping->path[0] != '/' || mapping->path[1] == '/' ||
	    strlen(mapping->path) >= IMAGES_PATH)
		return 0;
	image = find(images, mapping->build_id, size);
	if (!image) {
		image = add(images, mapping->build_id, size);
		if (image)
			want(images, image, mapping);
		else
			images->figures.missing++;
	} else if (image->state == MISSING && image->last != images->segment) {
		want(images, image, mapping);
	}
	if (image)
		image->last = images->segment;
	return 0;
}

/* The first that waits. False: the pipe is full, or there is none. */
static bool ask(struct images *images)
{
	struct image *image = images->first;
	struct images_request request;

	if (!image)
		return false;
	request = (struct images_request){ .pid = image->pid, .id_size = image->id_size };
	memcpy(request.id, image->id, sizeof(request.id));
	strcpy(request.path, image->path);
	/* At most PIPE_BUF bytes are written as a whole or not at all. */
	if (write(images->requests, &request, sizeof(request)) != (ssize_t)sizeof(request))
		return false;
	image->state = ASKED;
	images->first = image->next;
	if (!images->first)
		images->end = &images->first;
	free(image->path);
	image->path = NULL;
	return true;
}

static void take(struct images *images, const struct images_answer *answer)
{
	struct image *image = find(images, answer->id, answer->id_size);

	images->figures.waiting--;
	if (*answer->why) {
		image->state = MISSING;
		miss(images, image, answer->why);
		return;
	}
	image->state = SAVED;
	image->bytes = answer->bytes;
	images->figures.files++;
	images->figures.saved++;
}

/* --- What is not any more. --- */

static void choose(const void *node, VISIT which, void *argument)
{
	struct image *image = *(struct image *const *)node;
	struct images *images = argument;

	if ((which != postorder && which != leaf) || image->last >= images->oldest ||
	    image->state == NEW || image->state == ASKED)
		return;
	image->next = images->going;
	images->going = image;
}

static void delete_old(struct images *images)
{
	struct image *image;
	char path[64];

	images->going = NULL;
	twalk_r(images->all, choose, images);
	while ((image = images->going)) {
		images->going = image->next;
		if (image->state == SAVED) {
			images_path(path, image->id, image->id_size);
			unlinkat(images->saver.directory, path, 0);
			images->figures.files--;
			__atomic_sub_fetch(&images->saver.held, image->bytes, __ATOMIC_RELAXED);
		}
		tdelete(image, &images->all, by_id);
		images->n--;
		free(image);
	}
}

/* --- --- */

/* One that cannot be begun is tried again. */
static bool begin(struct images *images)
{
	images->running = images->running ||
			  !pthread_create(&images->thread, NULL, images_serve, &images->saver);
	return images->running;
}

void images_step(struct images *images, uint64_t oldest)
{
	struct images_answer answers[ANSWERS];
	ssize_t n;

	if (images->first && begin(images))
		while (ask(images))
			;
	while ((n = read(images->answers, answers, sizeof(answers))) > 0)
		for (size_t i = 0; i < (size_t)n / sizeof(answers[0]); i++)
			take(images, &answers[i]);
	if (oldest > images->oldest) {
		images->oldest = oldest;
		delete_old(images);
	}
}

void images_measure(const struct images *images, struct images_figures *figures)
{
	struct timespec time;
	clockid_t clock;

	*figures = images->figures;
	figures->bytes = __atomic_load_n(&images->saver.held, __ATOMIC_RELAXED);
	if (images->running && !pthread_getcpuclockid(images->thread, &clock) &&
	    !clock_gettime(clock, &time))
		figures->cpu = (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void free_image(void *node)
{
	struct image *image = node;

	free(image->path);
	free(image);
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void images_close(struct images *images)
{
	if (!images)
		return;
	__atomic_store_n(&images->saver.over, true, __ATOMIC_RELEASE);
	close_fd(images->requests);
	/* Nobody hears it any more, and it does not wait for that. */
	close_fd(images->answers);
	if (images->running)
		pthread_join(images->thread, NULL);
	close_fd(images->saver.requests);
	close_fd(images->saver.answers);
	close_fd(images->saver.directory);
	tdestroy(images->all, free_image);
	free(images);
}
