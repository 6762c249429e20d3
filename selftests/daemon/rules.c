// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows whom [tasks] of flowtapd.conf chooses, that its patterns are fnmatch(3)'s, and that what
 * /proc says of a process is read whatever it calls itself.
 */
#include "rules.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/kselftest_harness.h"

#define MOUNT "/sys/fs/cgroup"

static bool matches(const char *text, const char *comm)
{
	static struct choice_pattern pattern;
	char name[CHOICE_COMM] = { 0 };

	rules_compile_pattern(text, &pattern);
	memcpy(name, comm, strlen(comm));
	return choice_matches(&pattern, name);
}

TEST(patterns_are_those_of_fnmatch)
{
	static const char *const patterns[] = {
		"", "*", "?", "**", "a", "cc*", "*-not", "chosen-*", "[a-c]x", "[!a-c]x", "[^a]", "[]]",
		"[]", "[", "[a", "a[b", "[]a]*", "[[:digit:]]*", "[[:alpha:]", "\\*", "a\\", "\\[a]",
		"[\\]]", "[a\\]b]", "*a*b*c*", "??*", "[[.a.]]", "[[=a=]]x", "[!]]", "[a-]", "0123456789abcde",
		"0123456789abcdef", "0123456789abcde*", "*0123456789abcdef", ".*", "/*", "kworker/*", "\xff*",
	};
	static const char *const names[] = {
		"", "a", "b", "ax", "dx", "]", "[", "[a", "a[b", "5x", "5", "*", "\\", "a\\", "[a]", "abc",
		"xaybzc", "cc1plus", "chosen-a", "chosen-not", "0123456789abcde", ".x", "/x", "kworker/0:1",
		"\xff\xfe", "-", "a-", "[]", "]a", "]]",
	};

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
			EXPECT_EQ(!fnmatch(patterns[i], names[k], 0), matches(patterns[i], names[k]))
				TH_LOG("pattern %s name %s", patterns[i], names[k]);
		}
	}
}

static void make_text(char *text, size_t most, const char *letters)
{
	size_t n = (size_t)rand() % most;

	for (size_t i = 0; i < n; i++)
		text[i] = letters[(size_t)rand() % strlen(letters)];
	text[n] = 0;
}

TEST(so_are_random_ones)
{
	char pattern[24], name[CHOICE_COMM];
	unsigned int found = 0;

	srand(1);
	for (int i = 0; i < 300000; i++) {
		make_text(pattern, sizeof(pattern), i % 3 ? "ab*?" : "ab*?[]!^-\\:");
		make_text(name, sizeof(name), i % 3 ? "ab" : "ab]-[\\");
		found += !fnmatch(pattern, name, 0);
		ASSERT_EQ(!fnmatch(pattern, name, 0), matches(pattern, name))
			TH_LOG("pattern %s name %s", pattern, name);
	}
	EXPECT_GT(found, 10000);
}

/* --- Who. --- */

FIXTURE(rules)
{
	struct conf conf;
	struct choice_rules *rules;
};

FIXTURE_SETUP(rules)
{
	self->rules = calloc(1, sizeof(*self->rules));
	ASSERT_EQ(0, conf_default(&self->conf));
}

FIXTURE_TEARDOWN(rules)
{
	conf_free(&self->conf);
	free(self->rules);
}

static void add(struct conf_list *list, const char *item)
{
	list->items = realloc(list->items, (list->n + 1) * sizeof(*list->items));
	list->items[list->n++] = strdup(item);
}

static bool wanted(struct _test_data_rules *self, const char *comm, const char *cgroup, uint32_t flags)
{
	static struct rules_process process;

	strcpy(process.comm, comm);
	strcpy(process.cgroup, cgroup);
	rules_compile(&self->conf, self->rules);
	return rules_want(&self->conf, self->rules, MOUNT, &process, flags);
}

TEST_F(rules, where_nobody_is_named_all_are_recorded_but_the_daemon)
{
	EXPECT_FALSE(rules_any(&self->conf));
	EXPECT_TRUE(rules_wide(&self->conf));
	EXPECT_TRUE(wanted(self, "sh", "/", 0));
	EXPECT_TRUE(wanted(self, "", "", 0));
	EXPECT_FALSE(wanted(self, "sh", "/", CHOICE_OWN));
}

TEST_F(rules, who_is_left_out_is_and_all_others_are_not)
{
	add(&self->conf.not_commands, "sh");
	add(&self->conf.not_cgroups, "user.slice");
	EXPECT_TRUE(rules_any(&self->conf));
	EXPECT_TRUE(rules_wide(&self->conf));
	EXPECT_FALSE(wanted(self, "sh", "/", 0));
	EXPECT_TRUE(wanted(self, "bash", "/", 0));
	EXPECT_FALSE(wanted(self, "bash", "/user.slice", 0));
	EXPECT_FALSE(wanted(self, "bash", "/user.slice/a/b", 0));
	EXPECT_TRUE(wanted(self, "bash", "/user.slice2", 0));
	EXPECT_TRUE(wanted(self, "bash", "/system.slice/user.slice", 0));
}

TEST_F(rules, each_way_of_being_named_is_enough_and_being_left_out_goes_before)
{
	add(&self->conf.commands, "cc*");
	add(&self->conf.commands, "ld");
	add(&self->conf.cgroups, MOUNT "/build/");
	add(&self->conf.pids, "7");
	add(&self->conf.not_commands, "*-wrapper");
	add(&self->conf.not_cgroups, "/build/not");
	EXPECT_FALSE(rules_wide(&self->conf));
	EXPECT_TRUE(wanted(self, "cc1", "/", 0));
	EXPECT_TRUE(wanted(self, "ld", "/", 0));
	EXPECT_FALSE(wanted(self, "sh", "/", 0));
	EXPECT_TRUE(wanted(self, "sh", "/build", 0));
	EXPECT_TRUE(wanted(self, "sh", "/build/job", 0));
	EXPECT_TRUE(wanted(self, "sh", "/", CHOICE_WANTED));
	EXPECT_FALSE(wanted(self, "cc-wrapper", "/build", CHOICE_WANTED));
	EXPECT_FALSE(wanted(self, "cc1", "/build/not", CHOICE_WANTED));
	EXPECT_FALSE(wanted(self, "cc1", "/build", CHOICE_OWN));
	EXPECT_FALSE(wanted(self, "sh", "", 0));
	EXPECT_EQ(CHOICE_WANTED | CHOICE_UNWANTED, rules_cgroup(&self->conf, MOUNT, "/build/not/x"));
}

TEST_F(rules, the_root_cgroup_is_everybody)
{
	add(&self->conf.cgroups, "/");
	EXPECT_TRUE(wanted(self, "sh", "/", 0));
	EXPECT_TRUE(wanted(self, "sh", "/a/b", 0));
	EXPECT_FALSE(wanted(self, "sh", "", 0));
}

TEST(a_path_is_as_the_kernel_names_it)
{
	static const char *const cases[][2] = {
		{ "a", "/a" }, { "/a", "/a" }, { "//a/b//", "/a/b" }, { "", "/" }, { "/", "/" },
		{ MOUNT, "/" }, { MOUNT "/", "/" }, { MOUNT "/a", "/a" }, { MOUNT "2/a", MOUNT "2/a" },
	};
	char path[CHOICE_PATH];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rules_path(cases[i][0], MOUNT, path);
		EXPECT_STREQ(cases[i][1], path);
	}
	rules_path(MOUNT "/a", NULL, path);
	EXPECT_STREQ(MOUNT "/a", path);
}

/* --- /proc. --- */

#define REST " S 12 7 7 0 -1 %u 100 0 0 0 1 2 0 0 20 0 1 0 98765 1000 20\n"

TEST(a_process_is_read_whatever_its_name)
{
	static const char *const names[] = { "sh", "a b", ") S 1", "(", "))", "", "x) R 3 (y", "\n" };
	static struct rules_process process;
	char stat[512], after[256];

	snprintf(after, sizeof(after), REST, 0x400100U);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(stat, sizeof(stat), "4711 (%s)%s", names[i], after);
		ASSERT_TRUE(rules_parse(stat, "1:name=x:/no\n0::/a b/c\n", &process));
		EXPECT_EQ(4711, process.pid);
		EXPECT_EQ(12, process.parent);
		EXPECT_EQ(98765, process.started);
		EXPECT_FALSE(process.kernel);
		EXPECT_STREQ(names[i], process.comm);
		EXPECT_STREQ("/a b/c", process.cgroup);
	}
	snprintf(stat, sizeof(stat), "2 (kworker/u8:1-events_unbound)" REST, 0x208040U);
	ASSERT_TRUE(rules_parse(stat, "", &process));
	EXPECT_TRUE(process.kernel);
	EXPECT_STREQ("kworker/u8:1-ev", process.comm);
	EXPECT_STREQ("", process.cgroup);
	EXPECT_FALSE(rules_parse("", "", &process));
	EXPECT_FALSE(rules_parse("1 (x", "", &process));
	EXPECT_FALSE(rules_parse(")1(", "", &process));
	EXPECT_FALSE(rules_parse("1 (x) S 2 3", "", &process));
}

TEST(we_are_there_and_who_is_not_is_not)
{
	static struct rules_process process;

	ASSERT_TRUE(rules_look((uint32_t)getpid(), &process));
	EXPECT_EQ((uint32_t)getppid(), process.parent);
	EXPECT_STREQ("rules", process.comm);
	EXPECT_FALSE(rules_look(0x7ffffff0, &process));
}

TEST_HARNESS_MAIN
