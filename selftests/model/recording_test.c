// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The comparison of recordings notices: what is recorded of four tasks on two CPUs, with losses, is
 * equal to its log, and each of many changes to the flow or to the records is a difference.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recording.h"
#include "recording_scene.h"

static char directory[] = "/tmp/recording_test.XXXXXX";
static char prefix[64];
static struct history histories[2];

static struct scene scene;

/* --- Changes to `scene`: false where there is nothing to change. --- */

static unsigned int find_nth(const char *begin, unsigned int nth)
{
	for (unsigned int i = 0; i < scene.n; i++)
		if (!strncmp(scene.lines[i], begin, strlen(begin)) && !nth--)
			return i;
	return SCENE_LINES;
}

static bool cut(unsigned int at, unsigned int n)
{
	if (at >= scene.n)
		return false;
	memmove(scene.lines[at], scene.lines[at + n], sizeof(scene.lines[0]) * (scene.n - at - n));
	scene.n -= n;
	return true;
}

static bool insert(unsigned int at, const char *line)
{
	char copy[sizeof(scene.lines[0])];

	if (at >= scene.n || scene.n == SCENE_LINES)
		return false;
	snprintf(copy, sizeof(copy), "%s", line);
	memmove(scene.lines[at + 1], scene.lines[at], sizeof(scene.lines[0]) * (scene.n - at));
	memcpy(scene.lines[at], copy, sizeof(copy));
	scene.n++;
	return true;
}

static struct flowtap_record_gap *nth_gap(unsigned int nth)
{
	for (unsigned int i = 0; i < scene.nrecords; i++)
		if (scene.records[i].header.type == FLOWTAP_RECORD_GAP && !nth--)
			return &scene.records[i].gap;
	return NULL;
}

/* The flow says of the gap what its record says. */
static bool retell(unsigned int nth)
{
	const struct flowtap_record_gap *gap = nth_gap(nth);
	char reason[32];

	/* The gap lines that have an interval are in the order of the records. */
	for (unsigned int i = 0; gap && i < scene.n; i++) {
		if (!strstr(scene.lines[i], "since=") || nth--)
			continue;
		sscanf(scene.lines[i], "gap %31s", reason);
		snprintf(scene.lines[i], sizeof(scene.lines[i]), "gap %s since=" SCENE_TIME
			 " until=" SCENE_TIME " size=%s",
			 gap->cause == FLOWTAP_CAUSE_OFFLINE ? "offline" : reason,
			 SCENE_SECONDS(gap->since), SCENE_SECONDS(gap->time),
			 gap->size == FLOWTAP_UNKNOWN ? "unknown" : "5");
		return true;
	}
	return false;
}

static bool without_range(unsigned int nth)
{
	return cut(find_nth("range", nth), 1);
}

static bool twice_range(unsigned int nth)
{
	unsigned int at = find_nth("range", nth);

	return at < scene.n && insert(at, scene.lines[at]);
}

static bool other_range(unsigned int nth)
{
	unsigned int at = find_nth("range", nth);

	if (at >= scene.n)
		return false;
	/* The address is shifted by one instruction, in both. */
	uint64_t start = strtoull(scene.lines[at] + 6, NULL, 16) + 4;

	snprintf(scene.lines[at], sizeof(scene.lines[at]), "range %" PRIx64 " %" PRIx64 " %d A64 E",
		 start, start + 4 * SCENE_BLOCK, SCENE_BLOCK);
	return true;
}

static bool other_way(unsigned int nth)
{
	unsigned int at = find_nth("range", nth);
	char *last;

	if (at >= scene.n)
		return false;
	last = strrchr(scene.lines[at], ' ') + 1;
	*last = *last == 'E' ? 'N' : 'E';
	return true;
}

static bool without_exception(unsigned int nth)
{
	/* The third and the seventh are at a loss, and may be part of it. */
	return nth != 2 && nth != 6 && cut(find_nth("exception", nth), 1);
}

static bool other_time(unsigned int nth)
{
	/* Of a piece, in seconds, or the trace's own. */
	unsigned int at = find_nth("time", nth);
	char *last;

	if (at >= scene.n)
		return false;
	if (!strncmp(scene.lines[at], "time ", 5)) {
		last = scene.lines[at] + strlen(scene.lines[at]) - 1;
		*last = '0' + (*last - '0' + 3) % 10;
		return true;
	}
	snprintf(scene.lines[at], sizeof(scene.lines[at]), "timestamp %012" PRIx64,
		 (uint64_t)strtoull(scene.lines[at] + 10, NULL, 16) + 3);
	return true;
}

/* All of a piece, and its gap stays where it is. */
static bool without_piece(unsigned int nth)
{
	unsigned int at = find_nth("session", nth), end = at;

	while (end < scene.n && strncmp(scene.lines[end], "exception", 9))
		end++;
	return end < scene.n && cut(at, end + 1 - at);
}

static bool other_task(unsigned int nth)
{
	unsigned int at = find_nth("context", nth);
	char *tid;

	if (at >= scene.n)
		return false;
	tid = strstr(scene.lines[at], "tid=") + 4;
	tid[1] = tid[1] == '0' ? '1' : '0';
	return true;
}

static bool other_cpu(unsigned int nth)
{
	unsigned int at = find_nth("context", nth);
	char *cpu;

	if (at >= scene.n)
		return false;
	cpu = strstr(scene.lines[at], "cpu=") + 4;
	*cpu = *cpu == '0' ? '1' : '0';
	return true;
}

static bool swapped_pieces(unsigned int nth)
{
	unsigned int at = find_nth("session", nth), next = find_nth("session", nth + 1);
	unsigned int end = find_nth("session", nth + 2), n;
	static char lines[SCENE_LINES][160];
	bool same;

	if (end >= scene.n)
		end = scene.n;
	if (next >= scene.n)
		return false;
	/* Pieces of different tasks on different CPUs may come in any order. */
	same = !strcmp(strstr(scene.lines[at + 2], "cpu="), strstr(scene.lines[next + 2], "cpu=")) ||
	       !strncmp(strstr(scene.lines[at + 2], "tid="), strstr(scene.lines[next + 2], "tid="), 6);
	n = next - at;
	memcpy(lines, scene.lines[at], sizeof(lines[0]) * n);
	memmove(scene.lines[at], scene.lines[next], sizeof(lines[0]) * (end - next));
	memcpy(scene.lines[at + end - next], lines, sizeof(lines[0]) * n);
	return same;
}

static uint32_t swapped(uint32_t tid)
{
	return tid == 10 || tid == 11 ? tid ^ 1 : tid;
}

static bool swapped_tasks(unsigned int nth)
{
	/* The contexts, the records and the events: all agree but the log. */
	for (unsigned int i = 0; i < scene.n; i++) {
		char *tid = strstr(scene.lines[i], "tid=");

		if (tid && tid[4] == '1' && (tid[5] == '0' || tid[5] == '1'))
			tid[5] = tid[5] == '0' ? '1' : '0';
	}
	for (unsigned int i = 0; i < scene.nforks; i++) {
		scene.forks[i].tid = swapped(scene.forks[i].tid);
		scene.forks[i].parent_tid = swapped(scene.forks[i].parent_tid);
	}
	for (unsigned int i = 0; i < scene.nrecords; i++) {
		if (scene.records[i].header.type == FLOWTAP_RECORD_AUX)
			scene.records[i].aux.tid = swapped(scene.records[i].aux.tid);
		if (scene.records[i].header.type == FLOWTAP_RECORD_GAP)
			scene.records[i].gap.tid = swapped(scene.records[i].gap.tid);
	}
	return !nth;
}

/* Neither the flow nor the records have anything of it. */
static void remove_task(uint32_t tid)
{
	unsigned int kept = 0;
	uint32_t owner = 0;

	for (unsigned int i = 0; i < scene.n; i++) {
		const bool session = !strcmp(scene.lines[i], "session");
		const char *at = strstr(scene.lines[session ? i + 2 : i], "tid=");

		if (at)
			owner = strtoul(at + 4, NULL, 10);
		if (owner != tid)
			memmove(scene.lines[kept++], scene.lines[i], sizeof(scene.lines[0]));
	}
	scene.n = kept;
	for (unsigned int i = 0; i < scene.nrecords; i++) {
		union record *record = &scene.records[i];

		if ((record->header.type == FLOWTAP_RECORD_AUX && record->aux.tid == tid) ||
		    (record->header.type == FLOWTAP_RECORD_GAP && record->gap.tid == tid))
			record->header.type = FLOWTAP_RECORD_SWITCH;
	}
}

static bool without_task(unsigned int nth)
{
	/* One after the other, then both: 13 is known by 12, of which there is nothing then. */
	if (nth != 1)
		remove_task(SCENE_CHILD);
	if (nth != 0)
		remove_task(SCENE_THREAD);
	return nth < 3;
}

static bool without_thread(unsigned int nth)
{
	scene.inherit = false;
	remove_task(SCENE_THREAD);
	return !nth;
}

static bool without_gap_line(unsigned int nth)
{
	return cut(find_nth("gap", nth), 1) && !(nth == 0 || nth == 1);
}

/* As it would be of a thread that was reaped: its process has a number still. */
static bool nobodys_gap(unsigned int nth)
{
	for (unsigned int r = 0; r < scene.nrecords; r++) {
		union record *record = &scene.records[r];

		if (record->header.type != FLOWTAP_RECORD_GAP || nth--)
			continue;
		record->gap.pid = record->gap.tid;
		record->gap.tid = 0;
		return true;
	}
	return false;
}

static bool without_gap(unsigned int nth)
{
	for (unsigned int i = 0, seen = 0, gaps = 0; i < scene.n; i++) {
		if (!strstr(scene.lines[i], "since=") || seen++ != nth)
			continue;
		cut(i, 1);
		for (unsigned int r = 0; r < scene.nrecords; r++)
			if (scene.records[r].header.type == FLOWTAP_RECORD_GAP && gaps++ == nth)
				scene.records[r].header.type = FLOWTAP_RECORD_SWITCH;
		return true;
	}
	return false;
}

static bool twice_gap_line(unsigned int nth)
{
	unsigned int at = find_nth("gap", nth);

	return at < scene.n && insert(at, scene.lines[at]);
}

static bool twice_gap(unsigned int nth)
{
	struct flowtap_record_gap *gap = nth_gap(nth);

	for (unsigned int i = 0, seen = 0; gap && i < scene.n; i++) {
		if (!strstr(scene.lines[i], "since=") || seen++ != nth)
			continue;
		scene.records[scene.nrecords++].gap = *gap;
		return insert(i, scene.lines[i]);
	}
	return false;
}

static bool late_gap(unsigned int nth)
{
	struct flowtap_record_gap *gap = nth_gap(nth);

	if (!gap)
		return false;
	gap->since = gap->time - 1;
	return retell(nth);
}

static bool short_gap(unsigned int nth)
{
	struct flowtap_record_gap *gap = nth_gap(nth);

	if (!gap)
		return false;
	gap->time = gap->since + 1;
	return retell(nth);
}

static bool wrong_cause_line(unsigned int nth)
{
	unsigned int at = find_nth("gap hardware", nth);

	if (at >= scene.n)
		return false;
	memcpy(scene.lines[at] + 4, "displace", 8);
	return true;
}

static bool wrong_size_line(unsigned int nth)
{
	unsigned int at = find_nth("gap hardware", nth);
	char *size = at < scene.n ? strstr(scene.lines[at], "size=unknown") : NULL;

	if (!size)
		return false;
	memcpy(size, "size=6      ", 12);
	return true;
}

/* The trace buffer lost 6. */
static bool wrong_size(unsigned int nth)
{
	struct flowtap_record_gap *gap = nth_gap(nth);

	if (!gap || gap->cause != FLOWTAP_CAUSE_HARDWARE)
		return false;
	gap->size = 5;
	return retell(nth);
}

static bool wrong_cause(unsigned int nth)
{
	struct flowtap_record_gap *gap = nth_gap(nth);

	if (!gap || gap->cause != FLOWTAP_CAUSE_HARDWARE)
		return false;
	gap->cause = FLOWTAP_CAUSE_OFFLINE;
	return retell(nth);
}

/* Of the piece before it, where nothing was lost. */
static bool add_gap(unsigned int nth, uint32_t cause, const char *reason)
{
	struct flowtap_record_aux *aux = NULL;
	struct flowtap_record_gap *gap;
	unsigned int at = find_nth("session", nth + 1), seen = 0;
	char line[160];

	for (unsigned int i = 0; i < scene.nrecords; i++)
		if (scene.records[i].header.type == FLOWTAP_RECORD_AUX && seen++ == nth)
			aux = &scene.records[i].aux;
	if (!aux || aux->flags || at >= scene.n || !strncmp(scene.lines[at - 1], "gap", 3))
		return false;
	gap = &scene.records[scene.nrecords++].gap;
	*gap = (struct flowtap_record_gap){
		.header = { .type = FLOWTAP_RECORD_GAP, .size = sizeof(*gap) }, .time = aux->time,
		.since = aux->since, .cpu = aux->cpu, .pid = aux->pid, .tid = aux->tid,
		.cause = cause,
	};
	snprintf(line, sizeof(line), "gap %s since=" SCENE_TIME " until=" SCENE_TIME, reason,
		 SCENE_SECONDS(gap->since), SCENE_SECONDS(gap->time));
	return insert(at, line);
}

static bool gap_without_loss(unsigned int nth)
{
	return nth & 1 ? add_gap(nth / 2, FLOWTAP_CAUSE_RING_FULL, "ring_full") :
			 add_gap(nth / 2, FLOWTAP_CAUSE_HARDWARE, "hardware");
}

static const struct {
	const char *name;
	bool (*make)(unsigned int nth);
} changes[] = {
	{ "an instruction is missing", without_range },
	{ "an instruction is there twice", twice_range },
	{ "another instruction", other_range },
	{ "a branch goes the other way", other_way },
	{ "an exception is missing", without_exception },
	{ "another time", other_time },
	{ "a whole piece is missing", without_piece },
	{ "a piece is another task's", other_task },
	{ "a piece is another CPU's", other_cpu },
	{ "pieces are not in the order of time", swapped_pieces },
	{ "two tasks are taken for each other everywhere", swapped_tasks },
	{ "nobody tells of a task that a traced one forked", without_task },
	{ "nobody tells of a thread, where processes are not followed", without_thread },
	{ "a gap is not in the flow", without_gap_line },
	{ "nobody tells of a loss", without_gap },
	{ "a gap is of a process and of none of its threads", nobodys_gap },
	{ "a gap is in the flow twice", twice_gap_line },
	{ "a loss is told twice", twice_gap },
	{ "a gap begins too late", late_gap },
	{ "a gap ends too early", short_gap },
	{ "a gap has another cause in the flow", wrong_cause_line },
	{ "a gap has a cause that it cannot have", wrong_cause },
	{ "a gap has another size in the flow", wrong_size_line },
	{ "a gap has less bytes than were lost", wrong_size },
	{ "a gap without a loss", gap_without_loss },
};

/* --- Comparing. --- */

static bool compare(char message[400], uint64_t counts[3])
{
	static struct recording recording;
	static char text[sizeof(scene.lines)];
	size_t size = 0;
	bool failed;
	FILE *flow;

	memset(&recording, 0, sizeof(recording));
	for (unsigned int i = 0; i < scene.n; i++)
		size += snprintf(text + size, sizeof(text) - size, "%s\n", scene.lines[i]);
	flow = fmemopen(text, size, "r");
	recording.frequency = 1000000000;
	recording.modes = FLOWTAP_MODE_USER;
	recording.inherit = scene.inherit;
	for (int cpu = 0; cpu < 2; cpu++) {
		recording.histories[cpu] = &histories[cpu];
		recording.covered[cpu] = calloc(histories[cpu].n + 1, 1);
	}
	for (unsigned int i = 0; i < scene.nrecords; i++) {
		const union record *record = &scene.records[i];

		recording_take(&recording, record->header.type == FLOWTAP_RECORD_AUX ?
			       record->aux.cpu : record->gap.cpu, &record->header,
			       record->header.size);
	}
	for (unsigned int i = 0; i < scene.nforks; i++)
		recording_take_task(&recording, &scene.forks[i]);
	recording_complete(&recording);
	recording_flow(&recording, flow);
	fclose(flow);
	if (!recording.failed)
		recording_losses(&recording);
	failed = recording.failed;
	snprintf(message, 400, "%.399s", recording.message);
	counts[0] = recording.decoded;
	counts[1] = recording.missing;
	counts[2] = recording.losses;
	recording_free(&recording);
	return !failed;
}

static void equal(unsigned int number, const char *name, uint64_t decoded, uint64_t missing,
		  uint64_t losses)
{
	uint64_t counts[3];
	char message[400];
	bool fine = compare(message, counts) && counts[0] == decoded && counts[1] == missing &&
		    counts[2] == losses;

	printf("%sok %u - %s\n# %s; %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", fine ? "" : "not ",
	       number, name, message, counts[0], counts[1], counts[2]);
}

static void read_histories(void)
{
	for (unsigned int cpu = 0; cpu < 2; cpu++) {
		if (history_read(&histories[cpu], prefix, cpu, NULL)) {
			printf("Bail out! %s\n", histories[cpu].error);
			exit(1);
		}
	}
}

static void free_histories(void)
{
	for (unsigned int cpu = 0; cpu < 2; cpu++) {
		history_free(&histories[cpu]);
		log_unmap(&histories[cpu].code_file);
		log_unmap(&histories[cpu].pe_file);
	}
}

/* Each that is made is noticed, by what says `told`. */
static void noticed(unsigned int number, const char *name, bool (*make)(unsigned int nth),
		    const char *told)
{
	unsigned int made = 0, found = 0;
	uint64_t counts[3];
	char message[400];

	for (unsigned int nth = 0; nth < SCENE_LINES; nth++) {
		scene = oracle;
		if (!make(nth))
			continue;
		made++;
		if (!compare(message, counts) && strstr(message, told))
			found++;
		else
			printf("# not noticed: number %u (%s)\n", nth, message);
	}
	printf("%sok %u - noticed, %u times: %s\n", made && found == made ? "" : "not ", number, made,
	       name);
}

static bool without_overflow(unsigned int nth)
{
	return cut(find_nth("gap overflow", nth), 1);
}

static bool unchanged(unsigned int nth)
{
	return !nth;
}

static void compare_overflows(unsigned int number)
{
	scene_make_overflows(prefix, 1);
	read_histories();
	scene = oracle;
	/* 4 blocks, then 4, 2, 0, 0 and 4 each time; 0, 2, 4, 4 and 14 each time are lost. */
	equal(number, "what waits for a Commit is gone with an overflow", 26 * SCENE_BLOCK,
	      66 * SCENE_BLOCK, 0);
	noticed(number + 1, "an overflow is not in the flow", without_overflow, "");
	free_histories();
	scene_make_overflows(prefix, 2);
	read_histories();
	noticed(number + 2, "more is lost than can have waited", unchanged, " in 0 gaps");
	free_histories();
}

static void clean(void)
{
	static const char *const suffixes[] = { "0", "1", "code", "report" };
	char path[80];

	for (unsigned int i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		snprintf(path, sizeof(path), "%s.%s", prefix, suffixes[i]);
		unlink(path);
	}
	rmdir(directory);
}

int main(void)
{
	const unsigned int n = sizeof(changes) / sizeof(changes[0]);

	if (!mkdtemp(directory))
		return 1;
	snprintf(prefix, sizeof(prefix), "%s/log", directory);
	scene_make(prefix);
	read_histories();
	printf("1..%u\n", n + 5);
	scene = oracle;
	/* 4 + 5 + 6 + 7 + 3 + 8 + 5 + 6 blocks; 6 + 5 and three times 99 instructions are lost. */
	equal(1, "what was recorded is what was executed", 44 * SCENE_BLOCK,
	      11 * SCENE_BLOCK + 3 * 99, 2);
	scene = oracle;
	scene.inherit = false;
	remove_task(SCENE_CHILD);
	remove_task(SCENE_THREAD);
	equal(2, "processes that are not followed are nobody's loss", 44 * SCENE_BLOCK,
	      11 * SCENE_BLOCK + 99, 2);
	/* Another rule might notice it, too. */
	for (unsigned int i = 0; i < n; i++)
		noticed(i + 3, changes[i].name, changes[i].make,
			changes[i].make == nobodys_gap ? "is of none of its threads" : "");
	free_histories();
	compare_overflows(n + 3);
	clean();
	return 0;
}
