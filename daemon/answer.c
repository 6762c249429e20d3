// SPDX-License-Identifier: GPL-2.0-only
/*
 * Answers requests of clients: commands of the control socket as JSON, and GET of the metrics
 * with as much of HTTP as that takes (RFC 9110, 9112).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../tools/common/json.h"
#include "../tools/common/names.h"
#include "../tools/common/tool.h"
#include "run.h"

/* --- The control socket: a line is a command, the answer is JSON. --- */

size_t answer_line(const char *text, size_t size)
{
	const char *end = memchr(text, '\n', size);

	return end ? (size_t)(end - text) : 0;
}

/* An object of the causes whose figure is not 0. */
static void write_causes(struct json *json, const char *key,
			 const uint64_t figures[FLOWTAP_CAUSE_MAX])
{
	json_open(json, key, '{');
	for (uint32_t cause = 0; cause < FLOWTAP_CAUSE_MAX; cause++)
		if (figures[cause])
			json_number(json, cause_name(cause), figures[cause]);
	json_close(json, '}');
}

static void write_cpu(struct json *json, const struct metrics_cpu *cpu)
{
	uint64_t lost = 0, gaps = 0;

	for (size_t cause = 0; cause < FLOWTAP_CAUSE_MAX; cause++) {
		lost += cpu->lost_bytes[cause];
		gaps += cpu->losses[cause];
	}
	json_open(json, NULL, '{');
	json_number(json, "cpu", cpu->cpu);
	json_number(json, "bytes", cpu->bytes);
	json_number(json, "records", cpu->records);
	json_number(json, "lost_bytes", lost);
	json_number(json, "gap_count", gaps);
	json_number(json, "ring_bytes", cpu->ring_size);
	json_number(json, "high_water_bytes", cpu->ring_high);
	write_causes(json, "gaps", cpu->losses);
	write_causes(json, "gap_bytes", cpu->lost_bytes);
	json_close(json, '}');
}

static void write_share(struct json *json, const char *key, uint64_t millionths)
{
	json_real(json, key, (double)millionths / GOVERNOR_WHOLE);
}

static void write_segments(struct json *json, const struct metrics *figures)
{
	json_number(json, "segments", figures->segments);
	json_number(json, "segments_deleted", figures->segments_deleted);
	json_number(json, "segments_bytes", figures->segments_bytes);
	json_number(json, "snapshots", figures->snapshots);
	json_number(json, "decode_waiting", figures->decode_waiting);
	json_seconds(json, "decode_lag_seconds", figures->decode_lag);
	json_number(json, "sideband_lost", figures->sideband_lost);
}

static void write_lease(struct json *json, const struct run *run)
{
	if (run->state != RUN_LENT || !run->lease.pid)
		return;
	json_number(json, "lent_pid", (uint64_t)run->lease.pid);
	json_number(json, "lent_uid", run->lease.uid);
	json_seconds(json, "lent_seconds", number_now() - run->lease.since);
}

static void write_choice(struct json *json, const struct run *run)
{
	struct choice_figures figures;

	choice_measure(run->choice, &figures);
	json_string(json, "tasks", choice_method_name(figures.method));
	if (figures.method == CHOICE_NONE)
		return;
	json_string(json, "tasks_why", figures.why);
	json_string(json, "tasks_lacking", choice_method_lacks(figures.method));
	json_number(json, "tasks_missed", figures.missed);
	json_number(json, "tasks_stopped", figures.stops);
}

static void write_status(struct json *json, struct run *run)
{
	static const uint64_t modes[] = {
		FLOWTAP_MODE_USER, FLOWTAP_MODE_KERNEL, FLOWTAP_MODE_USER | FLOWTAP_MODE_KERNEL,
	};
	const struct metrics *figures = &run->figures;

	run_measure(run);
	json_string(json, "state", run_state_name(run->state));
	write_lease(json, run);
	json_string(json, "version", FLOWTAP_VERSION);
	json_number(json, "pid", (uint64_t)getpid());
	json_string(json, "source", figures->source);
	json_bits(json, "modes", mode_bits, modes[run->conf.modes]);
	write_choice(json, run);
	json_string(json, "configuration", run->path);
	json_string(json, "directory", run->conf.directory);
	json_string(json, "segment", store_current(run->store));
	json_number(json, "segment_bytes", collect_size(&run->collect));
	write_share(json, "share", figures->share);
	write_share(json, "duty", figures->duty);
	write_share(json, "own_cpu", run->governor.cpu);
	write_share(json, "cpu_budget", run->governor.cpu_budget);
	write_share(json, "loss", run->governor.loss);
	write_share(json, "loss_budget", run->governor.loss_budget);
	json_number(json, "resident_bytes", figures->resident);
	json_number(json, "memory_budget_bytes", run->conf.memory);
	json_seconds(json, "seconds", number_now() - run->started);
	write_segments(json, figures);
}

static void write_stats(struct json *json, struct run *run)
{
	const struct metrics *figures = &run->figures;

	run_measure(run);
	write_segments(json, figures);
	json_number(json, "packed", figures->packed);
	json_number(json, "decoded", figures->decoded);
	json_number(json, "decode_failed", figures->decode_failed);
	json_number(json, "decode_skipped", figures->decode_skipped);
	json_number(json, "images_saved", figures->images_saved);
	json_number(json, "images_missing", figures->images_missing);
	json_number(json, "images_bytes", figures->images_bytes);
	json_open(json, "cpus", '[');
	for (size_t i = 0; i < figures->n_cpus; i++)
		write_cpu(json, &figures->cpus[i]);
	json_close(json, ']');
}

static void write_segment(struct json *json, struct run *run)
{
	json_string(json, "segment", store_current(run->store));
}

static void write_state(struct json *json, struct run *run)
{
	json_string(json, "state", run_state_name(run->state));
}

static void write_configuration(struct json *json, struct run *run)
{
	json_string(json, "configuration", run->path);
}

/* Why something is not done. */
struct command_error {
	const char *error;
	const char *fix;
};

static const struct command_error is_lent = {
	"the hardware is lent",
	"it is taken back when that recording ends; `status` says whose it is",
};

static const struct command_error *ask_rotate(struct run *run, const struct server_peer *peer)
{
	(void)peer;
	if (run->state == RUN_LENT)
		return &is_lent;
	run->rotate = true;
	return NULL;
}

static const struct command_error *ask_start(struct run *run, const struct server_peer *peer)
{
	(void)peer;
	if (run->state == RUN_LENT)
		return &is_lent;
	if (run->state == RUN_STOPPED)
		run->state = run->full_since ? RUN_FULL : RUN_RECORDING;
	/* As if it had become full so much later. */
	if (run->full_stopped)
		run->full_since += number_now() - run->full_stopped;
	run->full_stopped = 0;
	return NULL;
}

static const struct command_error *ask_stop(struct run *run, const struct server_peer *peer)
{
	(void)peer;
	if (run->state == RUN_LENT)
		run->lease.before = RUN_STOPPED;
	else
		run->state = RUN_STOPPED;
	if (run->full_since && !run->full_stopped)
		run->full_stopped = number_now();
	return NULL;
}

static const struct command_error *ask_reload(struct run *run, const struct server_peer *peer)
{
	(void)peer;
	run->reload = true;
	return NULL;
}

static const struct command_error *ask_snapshot(struct run *run, const struct server_peer *peer)
{
	static const struct command_error keeps_nothing = {
		"rings do not overwrite, everything is in the segments already",
		"for snapshots: overwrite = yes in [record] of flowtapd.conf, and start it again",
	};
	static const struct command_error not_recording = {
		"nothing is being recorded", "`status` says why; `start` lets it record again",
	};
	static const struct command_error failed = {
		"the segment cannot be written", "its log says why",
	};
	const struct flowtap_archive_trigger trigger = {
		.time = number_now(), .cause = FLOWTAP_ARCHIVE_CAUSE_ASKED,
	};
	int error = run_trigger(run, &trigger, "command");

	(void)peer;
	return !error ? NULL : error == -EINVAL ? &keeps_nothing :
	       error == -EAGAIN ? &not_recording : &failed;
}

static const struct command_error *ask_borrow(struct run *run, const struct server_peer *peer)
{
	static const struct command_error unseen = {
		"flowtapd cannot see your process: it is in another PID namespace",
		"record where flowtapd runs: in the same container, or in none",
	};
	int error = lend(run, peer);

	return !error ? NULL : error == -ESRCH ? &unseen : &is_lent;
}

static const struct {
	const char *name;
	bool owner;		/* the owner alone may: it changes what is recorded */
	bool keeps_open;	/* it holds for as long as the connection */
	const struct command_error *(*ask)(struct run *run, const struct server_peer *peer);
	void (*put)(struct json *json, struct run *run);
} commands[] = {
	{"status", false, false, NULL, write_status},
	{"stats", false, false, NULL, write_stats},
	{"rotate", true, false, ask_rotate, write_segment},
	{"snapshot", true, false, ask_snapshot, write_segment},
	{"start", true, false, ask_start, write_state},
	{"stop", true, false, ask_stop, write_state},
	{"reload", true, false, ask_reload, write_configuration},
	{"borrow", true, true, ask_borrow, write_state},
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static const struct command_error *check_privilege(const struct server_peer *peer, bool owner)
{
	static const struct command_error owners = { "permission denied", "ask as root" };
	static const struct command_error members = {
		"permission denied", "ask as root, or as a member of the group of flowtapd.conf",
	};

	if (owner)
		return peer->owner ? NULL : &owners;
	return peer->member ? NULL : &members;
}

bool answer_control(void *argument, const struct server_peer *peer, char *request, FILE *reply)
{
	static const struct command_error unknown = {
		"no such command",
		"status, stats, rotate, snapshot, start, stop, reload, borrow are there",
	};
	struct json json = { .file = reply, .flat = true };
	const struct command_error *command_error = &unknown;
	struct run *run = argument;
	size_t i = 0;

	while (i < COMMANDS && strcmp(request, commands[i].name))
		i++;
	if (i < COMMANDS)
		command_error = check_privilege(peer, commands[i].owner);
	if (!command_error && commands[i].ask)
		command_error = commands[i].ask(run, peer);
	json_open(&json, NULL, '{');
	json_bool(&json, "ok", !command_error);
	if (command_error) {
		json_string(&json, "error", command_error->error);
		json_string(&json, "fix", command_error->fix);
	} else {
		commands[i].put(&json, run);
	}
	json_close(&json, '}');
	return !command_error && commands[i].keeps_open;
}

void answer_closed(void *argument, const struct server_peer *peer)
{
	lend_returned(argument, peer);
}

/* --- Metrics: as much of HTTP as it takes (RFC 9110, 9112). --- */

size_t answer_http(const char *text, size_t size)
{
	const char *end = memmem(text, size, "\r\n\r\n", 4);

	return end ? (size_t)(end - text) : 0;
}

static void write_http(FILE *reply, const char *status, const char *type, const char *body,
		       size_t size, bool head)
{
	fprintf(reply, "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
		"Connection: close\r\n\r\n", status, type, size);
	if (!head)
		fwrite(body, 1, size, reply);
}

void answer_free(struct answer_page *page)
{
	free(page->text);
	*page = (struct answer_page){ .text = NULL };
}

/*
 * Anybody may ask, as often as he likes: the figures are taken once a second, and when a segment has
 * ended, so that they agree with what is there. False: no memory.
 */
static bool make_page(struct run *run)
{
	struct answer_page *page = &run->page;
	FILE *file;

	if (page->text && page->second == run->second && page->state == run->state &&
	    page->segments == run->figures.segments)
		return true;
	answer_free(page);
	file = open_memstream(&page->text, &page->size);
	if (!file)
		return false;
	run_measure(run);
	metrics_write(file, &run->figures);
	page->second = run->second;
	page->state = run->state;
	page->segments = run->figures.segments;
	if (!fclose(file))
		return true;
	answer_free(page);
	return false;
}

bool answer_metrics(void *argument, const struct server_peer *peer, char *request, FILE *reply)
{
	static const char none[] = "/metrics is here\n", other[] = "GET and HEAD only\n",
			  memory[] = "no memory\n";
	struct run *run = argument;
	char *target, *rest = request;
	const char *method = strsep(&rest, " ");
	bool head = !strcmp(method, "HEAD");

	(void)peer;
	target = rest ? strsep(&rest, " \r") : "";
	if (!head && strcmp(method, "GET")) {
		write_http(reply, "405 Method Not Allowed", "text/plain", other, sizeof(other) - 1,
			   false);
		return false;
	}
	if (strcmp(target, "/metrics"))
		write_http(reply, "404 Not Found", "text/plain", none, sizeof(none) - 1, head);
	else if (make_page(run))
		write_http(reply, "200 OK", METRICS_TYPE, run->page.text, run->page.size, head);
	else
		write_http(reply, "503 Service Unavailable", "text/plain", memory,
			   sizeof(memory) - 1, head);
	return false;
}
