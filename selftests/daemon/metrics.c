// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that what flowtapd counts comes out as OpenMetrics text: a checker made from the
 * specification (OpenMetrics 1.0.0) reads each line, and finds what is broken in it.
 */
#include "metrics.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "support/kselftest_harness.h"

#define SAMPLES 200

static char text[65536];

/* --- The checker. --- */

struct family {
	char name[128];
	char type[128];
	char unit[136];
};

static bool name_char(char c, bool first)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':' ||
	       (!first && c >= '0' && c <= '9');
}

static const char *past_name(const char *at)
{
	const char *from = at;

	while (name_char(*at, at == from))
		at++;
	return at > from ? at : NULL;
}

/* {name="value",...} */
static const char *past_labels(const char *at)
{
	do {
		at = past_name(at + 1);
		if (!at || at[0] != '=' || at[1] != '"')
			return NULL;
		for (at += 2; *at && *at != '"' && *at != '\n'; at++)
			if (*at == '\\' && !strchr("n\\\"", *++at))
				return NULL;
		if (*at++ != '"')
			return NULL;
	} while (*at == ',');
	return *at == '}' ? at + 1 : NULL;
}

static bool ends_with(const char *name, size_t size, const char *end)
{
	return size > strlen(end) && !strncmp(name + size - strlen(end), end, strlen(end));
}

static const char *check_sample(const char *line, const struct family *family)
{
	const char *at = past_name(line);
	const char *suffix = !strcmp(family->type, "counter") ? "_total" :
			     !strcmp(family->type, "info") ? "_info" : "";
	char want[160], *end;

	if (!at)
		return "no name";
	snprintf(want, sizeof(want), "%s%s", family->name, suffix);
	if ((size_t)(at - line) != strlen(want) || strncmp(line, want, strlen(want)))
		return "not of the family before it";
	if (*at == '{' && !(at = past_labels(at)))
		return "labels";
	if (*at != ' ')
		return "no value";
	if (strtod(at + 1, &end) < 0 || end == at + 1 || *end)
		return "no value";
	return NULL;
}

static const char *check_comment(const char *line, struct family *family)
{
	char word[8], name[128], rest[128];

	if (sscanf(line, "# %7s %127s %127[^\n]", word, name, rest) != 3)
		return "a comment";
	if (!strcmp(word, "TYPE")) {
		memset(family, 0, sizeof(*family));
		snprintf(family->name, sizeof(family->name), "%s", name);
		snprintf(family->type, sizeof(family->type), "%s", rest);
		return strcmp(rest, "counter") && strcmp(rest, "gauge") && strcmp(rest, "info") ?
		       "an unknown type" : NULL;
	}
	if (strcmp(name, family->name))
		return "of another family";
	if (!strcmp(word, "UNIT")) {
		snprintf(family->unit, sizeof(family->unit), "_%s", rest);
		return ends_with(name, strlen(name), family->unit) ? NULL : "the name lacks the unit";
	}
	return strcmp(word, "HELP") ? "an unknown comment" : NULL;
}

/* NULL: it is what it is to be. */
static const char *check(const char *from)
{
	static char copy[sizeof(text)], seen[SAMPLES][160];
	struct family family = { 0 };
	const char *wrong = NULL;
	size_t n = 0;
	bool over = false;
	char *rest = copy, *line;

	snprintf(copy, sizeof(copy), "%s", from);
	if (!*copy || copy[strlen(copy) - 1] != '\n')
		return "no line end";
	while (!wrong && (line = strsep(&rest, "\n")) && (rest || *line)) {
		if (over)
			return "something after the end";
		over = !strcmp(line, "# EOF");
		if (over)
			continue;
		wrong = *line == '#' ? check_comment(line, &family) : check_sample(line, &family);
		if (wrong || n == SAMPLES)
			return wrong ? wrong : "too many for this test";
		/* A family, or a sample with its labels, comes once. */
		snprintf(seen[n], sizeof(seen[n]), "%.*s",
			 (int)(*line == '#' ? strlen(line) : strrchr(line, ' ') - line), line);
		for (size_t i = 0; i < n; i++)
			if (!strcmp(seen[i], seen[n]))
				return "it comes twice";
		n++;
	}
	return wrong ? wrong : over ? NULL : "no end";
}

/* --- What is written. --- */

static const struct metrics *some(void)
{
	static struct metrics_cpu cpus[2];
	static struct metrics metrics;

	cpus[0] = (struct metrics_cpu){ .bytes = 1234567890123, .records = 42, .ring_size = 524288,
					.ring_high = 1000 };
	cpus[1] = (struct metrics_cpu){ .cpu = 3, .bytes = 1 };
	cpus[1].losses[FLOWTAP_CAUSE_RING_FULL] = 5;
	cpus[1].lost_bytes[FLOWTAP_CAUSE_RING_FULL] = 640;
	cpus[1].losses[FLOWTAP_CAUSE_HARDWARE] = 1;
	metrics = (struct metrics){
		.version = "0.1", .source = "ete", .cpus = cpus, .n_cpus = 2, .share = 250000, .duty = 2500,
		.own_cpu = 1500000001, .resident = 1 << 20, .segments = 7, .snapshots = 2,
	};
	metrics.moves[GOVERNOR_CPU] = 3;
	return &metrics;
}

static void write_metrics(const struct metrics *metrics)
{
	FILE *file = fmemopen(text, sizeof(text), "w");

	if (!file || metrics_write(file, metrics))
		abort();
	fclose(file);
}

static bool has(const char *line)
{
	const char *at = strstr(text, line);

	return at && (at == text || at[-1] == '\n') && at[strlen(line)] == '\n';
}

TEST(it_is_openmetrics)
{
	const char *wrong;

	write_metrics(some());
	wrong = check(text);
	EXPECT_EQ(NULL, wrong) TH_LOG("%s", wrong);
}

TEST(each_figure_is_what_was_counted)
{
	write_metrics(some());
	EXPECT_TRUE(has("flowtap_build_info{version=\"0.1\",source=\"ete\"} 1"));
	EXPECT_TRUE(has("flowtap_share_ratio 0.250000"));
	EXPECT_TRUE(has("flowtap_duty_ratio 0.002500"));
	EXPECT_TRUE(has("flowtap_own_cpu_seconds_total 1.500000001"));
	EXPECT_TRUE(has("flowtap_resident_bytes 1048576"));
	EXPECT_TRUE(has("flowtap_segments_total 7"));
	EXPECT_TRUE(has("flowtap_snapshots_total 2"));
	EXPECT_TRUE(has("flowtap_governor_moves_total{cause=\"cpu\"} 3"));
	EXPECT_TRUE(has("flowtap_governor_moves_total{cause=\"loss\"} 0"));
	EXPECT_TRUE(has("flowtap_recorded_bytes_total{cpu=\"0\"} 1234567890123"));
	EXPECT_TRUE(has("flowtap_records_total{cpu=\"0\"} 42"));
	EXPECT_TRUE(has("flowtap_ring_high_bytes{cpu=\"0\"} 1000"));
	EXPECT_TRUE(has("flowtap_recorded_bytes_total{cpu=\"3\"} 1"));
	EXPECT_TRUE(has("flowtap_lost_bytes_total{cpu=\"3\",cause=\"ring_full\"} 640"));
	EXPECT_TRUE(has("flowtap_losses_total{cpu=\"3\",cause=\"ring_full\"} 5"));
	EXPECT_TRUE(has("flowtap_losses_total{cpu=\"3\",cause=\"hardware\"} 1"));
	EXPECT_FALSE(strstr(text, "cause=\"wrapped\""));
}

TEST(names_from_elsewhere_are_escaped)
{
	struct metrics metrics = *some();
	const char *wrong;

	metrics.version = "a\"b\\c\nd";
	write_metrics(&metrics);
	EXPECT_TRUE(strstr(text, "version=\"a\\\"b\\\\c\\nd\""));
	wrong = check(text);
	EXPECT_EQ(NULL, wrong) TH_LOG("%s", wrong);
}

TEST(a_file_that_takes_nothing_is_told)
{
	FILE *file = fopen("/dev/full", "w");

	ASSERT_TRUE(file);
	setvbuf(file, NULL, _IONBF, 0);
	EXPECT_NE(0, metrics_write(file, some()));
	fclose(file);
}

/* The checker finds what is broken: else the first test shows nothing. */
TEST(the_checker_finds_what_is_broken)
{
	static const struct {
		const char *what;
		const char *with;
	} changes[] = {
		{ "# EOF\n", "" },
		{ "# EOF\n", "# EOF\n\n" },
		{ "_segments_total 7", "_segments 7" },
		{ "counter\n", "count\n" },
		{ "{cpu=\"3\"} 1\n", "{cpu=\"0\"} 1\n" },
		{ "{cpu=\"0\"} 42", "{cpu=0} 42" },
		{ "{cpu=\"0\"} 42", "{cpu=\"0\"}" },
		{ "{cpu=\"0\"} 42", "{cpu=\"0\",} 42" },
		{ "{cpu=\"0\"} 42", "{cpu=\"\\0\"} 42" },
		{ "UNIT flowtap_resident_bytes bytes", "UNIT flowtap_resident_bytes seconds" },
		{ "HELP flowtap_snapshots ", "HELP flowtap_other " },
		{ "flowtap_snapshots_total 2", "flowtap_snapshots_total two" },
		{ "flowtap_snapshots_total 2", "flowtap_snapshots_total 2\nflowtap_share_ratio 1" },
	};
	static char whole[sizeof(text)];

	write_metrics(some());
	strcpy(whole, text);
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		const char *at = strstr(whole, changes[i].what);

		ASSERT_TRUE(at) TH_LOG("%zu", i);
		snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - whole), whole, changes[i].with,
			 at + strlen(changes[i].what));
		EXPECT_NE(NULL, check(text)) TH_LOG("%zu: %s", i, changes[i].with);
	}
}

TEST_HARNESS_MAIN
