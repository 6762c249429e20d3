// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that who may not ask is refused and changes nothing, that what may be asked is answered
 * with JSON that is whole, and that metrics are to be had by as much of HTTP as there is, and no
 * more.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../tools/common/json_reader.h"
#include "../../tools/common/tool.h"
#include "run.h"
#include "support/kselftest_harness.h"

static unsigned int measured, lent;
static unsigned int triggered;
static int lend_error, trigger_error;
static const struct server_peer *returned;

/* Instead of those that need a machine with the module. */
void run_measure(struct run *run)
{
	(void)run;
	measured++;
}

const char *run_state_name(enum run_state state)
{
	static const char *const names[] = { "recording", "stopped", "full", "lent" };

	return names[state];
}

int lend(struct run *run, const struct server_peer *peer)
{
	lent++;
	if (!lend_error) {
		run->state = RUN_LENT;
		run->lease = (struct lease){ .pid = peer->pid, .before = RUN_RECORDING, .since = 1 };
	}
	return lend_error;
}

int run_trigger(struct run *run, const struct flowtap_archive_trigger *trigger, const char *text)
{
	(void)run;
	triggered += trigger->cause == FLOWTAP_ARCHIVE_CAUSE_ASKED && !strcmp(text, "command");
	return trigger_error;
}

void lend_returned(struct run *run, const struct server_peer *peer)
{
	(void)run;
	returned = peer;
}

static const struct server_peer owner = { .known = true, .owner = true, .member = true, .pid = 5 };
static const struct server_peer member = { .known = true, .member = true, .pid = 6 };
static const struct server_peer other = { .known = true, .pid = 7 };

FIXTURE(answer)
{
	char directory[64];
	struct run run;
	struct metrics_cpu cpus[2];
	char *text;			/* of the last answer */
	size_t size;
	struct json_value json;
	bool stays;
};

FIXTURE_SETUP(answer)
{
	const struct store_limits limits = { .quota = 0 };
	struct store_left left;

	memset(self, 0, sizeof(*self));
	strcpy(self->directory, "/tmp/flowtap-answer-XXXXXX");
	ASSERT_TRUE(mkdtemp(self->directory));
	ASSERT_EQ(0, conf_default(&self->run.conf));
	ASSERT_EQ(0, store_open(self->directory, &limits, &left, &self->run.store));
	self->run.path = "/etc/\"odd\"\n.conf";
	self->run.figures = (struct metrics){
		.version = "1", .source = "ctr", .cpus = self->cpus, .n_cpus = 2, .segments = 3,
		.share = 500000, .duty = 2500,
	};
	self->cpus[0] = (struct metrics_cpu){ .cpu = 0, .bytes = 1000, .records = 10 };
	self->cpus[1] = (struct metrics_cpu){ .cpu = 4, .bytes = 2000, .records = 20, .ring_size = 8192,
						.ring_high = 4096 };
	self->cpus[1].losses[FLOWTAP_CAUSE_RING_FULL] = 2;
	self->cpus[1].lost_bytes[FLOWTAP_CAUSE_RING_FULL] = 300;
	self->cpus[1].losses[FLOWTAP_CAUSE_OFFLINE] = 1;
	self->cpus[1].lost_bytes[FLOWTAP_CAUSE_HARDWARE] = 50;
	measured = lent = 0;
	lend_error = trigger_error = 0;
	triggered = 0;
	returned = NULL;
}

FIXTURE_TEARDOWN(answer)
{
	char command[128];

	free(self->text);
	answer_free(&self->run.page);
	store_close(self->run.store);
	conf_free(&self->run.conf);
	snprintf(command, sizeof(command), "rm -r %s", self->directory);
	EXPECT_EQ(0, system(command));
}

static void ask(FIXTURE_DATA(answer) *self, const struct server_peer *peer, const char *request,
		bool (*answer)(void *, const struct server_peer *, char *, FILE *))
{
	char copy[SERVER_REQUEST + 1];
	FILE *file;

	free(self->text);
	self->text = NULL;
	file = open_memstream(&self->text, &self->size);
	snprintf(copy, sizeof(copy), "%s", request);
	self->stays = answer(&self->run, peer, copy, file);
	fclose(file);
}

/* Whether it is one line of JSON, and says so: ok or not. */
static bool control(FIXTURE_DATA(answer) *self, const struct server_peer *peer, const char *request)
{
	struct json_value ok;

	ask(self, peer, request, answer_control);
	if (!json_reader_open(self->text, self->size, &self->json) ||
	    strchr(self->text, '\n') != self->text + self->size - 1)
		abort();
	ok = json_member(self->json, "ok");
	if (!json_is_true(ok) &&
	    (!json_member(self->json, "error").size || !json_member(self->json, "fix").size))
		abort();
	return json_is_true(ok);
}

static bool says(FIXTURE_DATA(answer) *self, const char *key, const char *wanted)
{
	char text[256];

	return json_is_string(json_member(self->json, key), text, sizeof(text)) &&
	       !strcmp(text, wanted);
}

static uint64_t count(struct json_value object, const char *key)
{
	uint64_t value = UINT64_MAX;

	json_is_count(json_member(object, key), &value);
	return value;
}

TEST_F(answer, who_may_not_ask_changes_nothing)
{
	static const char *const owners[] = { "rotate", "start", "stop", "reload", "snapshot",
					      "borrow" };
	static const char *const members[] = { "status", "stats" };

	self->run.state = RUN_STOPPED;
	for (size_t i = 0; i < sizeof(owners) / sizeof(owners[0]); i++) {
		EXPECT_FALSE(control(self, &member, owners[i]));
		EXPECT_TRUE(says(self, "error", "permission denied"));
		EXPECT_FALSE(self->stays);
		EXPECT_FALSE(control(self, &other, owners[i]));
	}
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		EXPECT_FALSE(control(self, &other, members[i]));
		EXPECT_TRUE(says(self, "error", "permission denied"));
	}
	EXPECT_EQ(0, measured + lent + triggered);
	EXPECT_EQ(RUN_STOPPED, self->run.state);
	EXPECT_FALSE(self->run.rotate || self->run.reload);
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		EXPECT_TRUE(control(self, &member, members[i]));
		EXPECT_TRUE(control(self, &owner, members[i]));
	}
}

TEST_F(answer, what_it_does_not_know_it_refuses)
{
	static const char *const words[] = {
		"", " ", "Status", "status ", "status x", "nothing", "\"", "\033[31m", "rotate\r",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		EXPECT_FALSE(control(self, &owner, words[i]));
		EXPECT_TRUE(says(self, "error", "no such command"));
	}
	EXPECT_FALSE(self->run.rotate);
}

TEST_F(answer, status_has_what_holds)
{
	const struct json_value none = { .text = NULL };
	char mode[16];
	double number;

	ASSERT_TRUE(control(self, &member, "status"));
	EXPECT_EQ(1, measured);
	EXPECT_TRUE(says(self, "state", "recording"));
	EXPECT_TRUE(says(self, "configuration", "/etc/\"odd\"\n.conf"));
	EXPECT_TRUE(says(self, "source", "ctr"));
	EXPECT_TRUE(json_is_string(json_next(json_member(self->json, "modes"), none), mode,
				   sizeof(mode)) && !strcmp(mode, "user"));
	EXPECT_EQ(3, count(self->json, "segments"));
	EXPECT_EQ(getpid(), count(self->json, "pid"));
	EXPECT_TRUE(json_is_number(json_member(self->json, "share"), &number) && number == 0.5);
	EXPECT_TRUE(json_is_number(json_member(self->json, "duty"), &number) && number == 0.0025);
	EXPECT_EQ(0, json_member(self->json, "lent_pid").size);
}

/* Each by its own name. */
TEST_F(answer, figures_are_not_mixed_up)
{
	static const struct {
		const char *command, *key;
		size_t at;
	} counts[] = {
#define COUNT(command, key) { command, #key, offsetof(struct metrics, key) }
		COUNT("status", segments), COUNT("status", segments_deleted),
		COUNT("status", segments_bytes), COUNT("status", snapshots),
		COUNT("status", decode_waiting), COUNT("status", sideband_lost),
		COUNT("stats", segments), COUNT("stats", segments_deleted),
		COUNT("stats", segments_bytes), COUNT("stats", snapshots),
		COUNT("stats", decode_waiting), COUNT("stats", sideband_lost),
		COUNT("stats", packed), COUNT("stats", decoded), COUNT("stats", decode_failed),
		COUNT("stats", decode_skipped), COUNT("stats", images_saved),
		COUNT("stats", images_missing), COUNT("stats", images_bytes),
	};
	static const struct {
		const char *key;
		double value;
	} reals[] = {
		{ "own_cpu", 0.01 }, { "cpu_budget", 0.02 }, { "loss", 0.03 }, { "loss_budget", 0.04 },
		{ "decode_lag_seconds", 1.5 },
	};
	double number;

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		uint64_t *figure = (uint64_t *)((char *)&self->run.figures + counts[i].at);

		ASSERT_TRUE(control(self, &member, counts[i].command));
		EXPECT_EQ(*figure, count(self->json, counts[i].key))
			TH_LOG("%s", counts[i].key);
		*figure = 1000000 + i;
		ASSERT_TRUE(control(self, &member, counts[i].command));
		EXPECT_EQ(1000000 + i, count(self->json, counts[i].key))
			TH_LOG("%s", counts[i].key);
	}
	self->run.governor = (struct governor){ .cpu = 10000, .cpu_budget = 20000, .loss = 30000,
						.loss_budget = 40000 };
	self->run.figures.decode_lag = 1500000000;
	ASSERT_TRUE(control(self, &member, "status"));
	for (size_t i = 0; i < ARRAY_SIZE(reals); i++) {
		EXPECT_TRUE(json_is_number(json_member(self->json, reals[i].key), &number) &&
			    number == reals[i].value)
			TH_LOG("%s", reals[i].key);
	}
}

TEST_F(answer, stats_have_every_cpu_and_what_it_lost)
{
	struct json_value cpus, cpu = { 0 }, gaps, bytes;

	ASSERT_TRUE(control(self, &member, "stats"));
	cpus = json_member(self->json, "cpus");
	cpu = json_next(cpus, cpu);
	EXPECT_EQ(0, count(cpu, "cpu"));
	EXPECT_EQ(10, count(cpu, "records"));
	EXPECT_EQ(2, json_member(cpu, "gaps").size);
	EXPECT_EQ(2, json_member(cpu, "gap_bytes").size);
	cpu = json_next(cpus, cpu);
	EXPECT_EQ(4, count(cpu, "cpu"));
	EXPECT_EQ(3, count(cpu, "gap_count"));
	EXPECT_EQ(350, count(cpu, "lost_bytes"));
	EXPECT_EQ(2000, count(cpu, "bytes"));
	EXPECT_EQ(8192, count(cpu, "ring_bytes"));
	EXPECT_EQ(4096, count(cpu, "high_water_bytes"));
	gaps = json_member(cpu, "gaps");
	bytes = json_member(cpu, "gap_bytes");
	EXPECT_EQ(2, count(gaps, "ring_full"));
	EXPECT_EQ(300, count(bytes, "ring_full"));
	EXPECT_EQ(1, count(gaps, "offline"));
	EXPECT_EQ(0, json_member(bytes, "offline").size);
	EXPECT_EQ(0, json_member(gaps, "hardware").size);
	EXPECT_EQ(50, count(bytes, "hardware"));
	EXPECT_EQ(0, json_next(cpus, cpu).size);
}

TEST_F(answer, what_the_owner_wants_is_done)
{
	EXPECT_TRUE(control(self, &owner, "stop"));
	EXPECT_TRUE(says(self, "state", "stopped"));
	EXPECT_EQ(RUN_STOPPED, self->run.state);
	EXPECT_TRUE(control(self, &owner, "start"));
	EXPECT_TRUE(says(self, "state", "recording"));
	EXPECT_EQ(RUN_RECORDING, self->run.state);
	EXPECT_FALSE(self->run.rotate || self->run.reload);
	EXPECT_TRUE(control(self, &owner, "rotate"));
	EXPECT_TRUE(self->run.rotate);
	EXPECT_TRUE(control(self, &owner, "reload"));
	EXPECT_TRUE(self->run.reload);
	/* Room does not come by asking for it. */
	self->run.state = RUN_FULL;
	EXPECT_TRUE(control(self, &owner, "start"));
	EXPECT_TRUE(says(self, "state", "full"));
}

/* Nobody waits for room meanwhile, nor is there more of it for that. */
TEST_F(answer, what_is_stopped_is_not_full_for_longer)
{
	const uint64_t now = number_now(), second = 1000000000;

	self->run.state = RUN_FULL;
	self->run.full_since = now - 7 * second;
	EXPECT_TRUE(control(self, &owner, "stop"));
	EXPECT_TRUE(says(self, "state", "stopped"));
	EXPECT_LE(now, self->run.full_stopped);
	/* As if that had been then; and only the first time counts. */
	self->run.full_stopped = now - 4 * second;
	EXPECT_TRUE(control(self, &owner, "stop"));
	EXPECT_EQ(now - 4 * second, self->run.full_stopped);
	EXPECT_TRUE(control(self, &owner, "start"));
	EXPECT_TRUE(says(self, "state", "full"));
	EXPECT_EQ(0, self->run.full_stopped);
	EXPECT_LE(now - 3 * second, self->run.full_since);
}

TEST_F(answer, a_snapshot_is_asked_for_or_refused)
{
	static const struct {
		int error;
		const char *wanted;
	} cases[] = {
		{ -EINVAL, "rings do not overwrite, everything is in the segments already" },
		{ -EAGAIN, "nothing is being recorded" },
		{ -EIO, "the segment cannot be written" },
	};

	EXPECT_TRUE(control(self, &owner, "snapshot"));
	EXPECT_EQ(1, triggered);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		trigger_error = cases[i].error;
		EXPECT_FALSE(control(self, &owner, "snapshot"));
		EXPECT_TRUE(says(self, "error", cases[i].wanted));
	}
}

TEST_F(answer, who_borrows_stays_and_nobody_else_does_meanwhile)
{
	EXPECT_TRUE(control(self, &owner, "borrow"));
	EXPECT_TRUE(self->stays);
	EXPECT_TRUE(says(self, "state", "lent"));
	EXPECT_TRUE(control(self, &owner, "status"));
	EXPECT_FALSE(self->stays);
	EXPECT_EQ(5, count(self->json, "lent_pid"));
	EXPECT_FALSE(control(self, &owner, "start"));
	EXPECT_FALSE(control(self, &owner, "rotate"));
	EXPECT_FALSE(self->run.rotate);
	/* It is stopped when it comes back. */
	EXPECT_TRUE(control(self, &owner, "stop"));
	EXPECT_EQ(RUN_LENT, self->run.state);
	EXPECT_EQ(RUN_STOPPED, self->run.lease.before);
	lend_error = -EBUSY;
	EXPECT_FALSE(control(self, &owner, "borrow"));
	EXPECT_FALSE(self->stays);
	EXPECT_TRUE(says(self, "error", "the hardware is lent"));
	lend_error = -ESRCH;
	EXPECT_FALSE(control(self, &owner, "borrow"));
	EXPECT_FALSE(self->stays);
	EXPECT_TRUE(says(self, "error", "flowtapd cannot see your process: it is in another PID "
			 "namespace"));
	answer_closed(&self->run, &owner);
	EXPECT_EQ(&owner, returned);
}

TEST_F(answer, a_request_is_whole_at_its_line_end)
{
	char text[SERVER_REQUEST];

	memset(text, 'x', sizeof(text));
	EXPECT_EQ(0, answer_line("", 0));
	EXPECT_EQ(0, answer_line("status", 6));
	EXPECT_EQ(6, answer_line("status\nstop\n", 12));
	EXPECT_EQ(0, answer_line(text, sizeof(text)));
	EXPECT_EQ(0, answer_http("GET / HTTP/1.1\r\n", 16));
	EXPECT_EQ(0, answer_http("GET / HTTP/1.1\r\n\r", 17));
	EXPECT_EQ(14, answer_http("GET / HTTP/1.1\r\n\r\nmore", 22));
	EXPECT_EQ(0, answer_http(text, sizeof(text)));
}

static bool begins(FIXTURE_DATA(answer) *self, const char *text)
{
	return self->text && !strncmp(self->text, text, strlen(text));
}

/* What Content-Length says, and what came. */
static bool has_length(FIXTURE_DATA(answer) *self, bool body)
{
	const char *length = strstr(self->text, "Content-Length: ");
	const char *end = strstr(self->text, "\r\n\r\n");

	return length && end && length < end &&
	       (body ? strtoul(length + 16, NULL, 10) : 0) ==
	       (size_t)(self->text + self->size - (end + 4));
}

TEST_F(answer, metrics_are_read_by_http)
{
	ask(self, &other, "GET /metrics HTTP/1.1\r\nHost: here", answer_metrics);
	EXPECT_TRUE(begins(self, "HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text;"));
	EXPECT_TRUE(has_length(self, true));
	EXPECT_STREQ("# EOF\n", self->text + self->size - 6);
	EXPECT_TRUE(strstr(self->text, "flowtap_records_total{cpu=\"4\"} 20\n"));
	EXPECT_FALSE(self->stays);
	ask(self, &other, "HEAD /metrics HTTP/1.1", answer_metrics);
	EXPECT_TRUE(begins(self, "HTTP/1.1 200 OK\r\n"));
	EXPECT_TRUE(has_length(self, false));
}

/* So that nobody takes of the budget by asking. */
TEST_F(answer, figures_are_taken_once_a_second_however_often_somebody_asks)
{
	self->run.second = 1000;
	for (int i = 0; i < 10; i++) {
		ask(self, &other, "GET /metrics HTTP/1.1", answer_metrics);
		EXPECT_TRUE(begins(self, "HTTP/1.1 200 OK\r\n"));
		EXPECT_TRUE(has_length(self, true));
		self->cpus[1].records++;
	}
	EXPECT_EQ(1, measured);
	EXPECT_TRUE(strstr(self->text, "flowtap_records_total{cpu=\"4\"} 20\n"));
	self->run.second = 2000;
	ask(self, &other, "GET /metrics HTTP/1.1", answer_metrics);
	EXPECT_EQ(2, measured);
	EXPECT_TRUE(strstr(self->text, "flowtap_records_total{cpu=\"4\"} 30\n"));
	/* They agree with the segments that are there, and with what is done. */
	self->run.figures.segments++;
	ask(self, &other, "GET /metrics HTTP/1.1", answer_metrics);
	EXPECT_EQ(3, measured);
	self->run.state = RUN_STOPPED;
	ask(self, &other, "GET /metrics HTTP/1.1", answer_metrics);
	EXPECT_EQ(4, measured);
}

TEST_F(answer, nothing_else_is_there)
{
	static const char *const none[] = {
		"GET / HTTP/1.1", "GET /metrics/ HTTP/1.1", "GET /metrics?x HTTP/1.1", "GET", "GET ",
		"GET  /metrics HTTP/1.1", "GET ../etc/passwd HTTP/1.0",
	};
	static const char *const methods[] = {
		"POST /metrics HTTP/1.1", "get /metrics HTTP/1.1", "", " ", "DELETE /", "\r", "GETX /metrics",
	};

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		ask(self, &owner, none[i], answer_metrics);
		EXPECT_TRUE(begins(self, "HTTP/1.1 404 "))
			TH_LOG("%s", none[i]);
		EXPECT_TRUE(has_length(self, true));
	}
	ask(self, &owner, "HEAD / HTTP/1.1", answer_metrics);
	EXPECT_TRUE(begins(self, "HTTP/1.1 404 ") && has_length(self, false));
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		ask(self, &owner, methods[i], answer_metrics);
		EXPECT_TRUE(begins(self, "HTTP/1.1 405 "))
			TH_LOG("%s", methods[i]);
		EXPECT_TRUE(has_length(self, true));
	}
	EXPECT_EQ(0, measured);
}

TEST_HARNESS_MAIN
