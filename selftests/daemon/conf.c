// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that each key of flowtapd.conf takes what it is to take, that what is wrong is told with
 * its line and a way out, and that what is printed is read back as it was.
 */
#include "conf.h"

#define TEN "0123456789"
#define FIFTY TEN TEN TEN TEN TEN
#define LONG FIFTY FIFTY FIFTY FIFTY FIFTY "0123"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/kselftest_harness.h"

FIXTURE(conf)
{
	struct conf conf;
	char *error;
	int result;
};

FIXTURE_SETUP(conf)
{
	memset(&self->conf, 0, sizeof(self->conf));
	self->error = NULL;
}

FIXTURE_TEARDOWN(conf)
{
	free(self->error);
	conf_free(&self->conf);
}

static void load(FIXTURE_DATA(conf) *self, const char *text, size_t size)
{
	int fd = memfd_create("conf", 0);
	char path[64];

	conf_free(&self->conf);
	free(self->error);
	self->error = NULL;
	if (fd < 0 || write(fd, text, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	self->result = conf_load(path, &self->conf, &self->error);
	close(fd);
}

static void load_text(FIXTURE_DATA(conf) *self, const char *text)
{
	load(self, text, strlen(text));
}

static size_t print(const struct conf *conf, char *text, size_t capacity)
{
	int fd = memfd_create("printed", 0);
	ssize_t n;

	if (fd < 0 || conf_print(conf, fd))
		abort();
	n = pread(fd, text, capacity - 1, 0);
	close(fd);
	text[n] = 0;
	return (size_t)n;
}

TEST_F(conf, an_empty_file_gives_what_is_documented)
{
	load_text(self, "# nothing\n\n");
	ASSERT_EQ(0, self->result);
	EXPECT_EQ(CONF_SOURCE_AUTO, self->conf.source);
	EXPECT_EQ(CONF_MODES_USER, self->conf.modes);
	EXPECT_EQ(10000, self->conf.cpu);
	EXPECT_EQ(1000, self->conf.loss);
	EXPECT_EQ(64 << 20, self->conf.memory);
	EXPECT_EQ(600000000000ULL, self->conf.time);
	EXPECT_STREQ("/var/lib/flowtap", self->conf.directory);
	EXPECT_EQ(0, self->conf.commands.n);
}

TEST_F(conf, each_kind_of_value_is_taken)
{
	load_text(self, "[record]\nsource = ete\nmodes = user,kernel\non_time = 2.5ms\n"
		  "on_period=1 s\n ring_size = 1M # of each\noverwrite = yes\n"
		  "strobe_on = 100us\nstrobe_off = 60s\n"
		  "[tasks]\ncommand = make, cc*\ncommand = ld\npid = 1, 4000000\n"
		  "exclude_cgroup = \"/system.slice\"\n"
		  "[budget]\ncpu = 0.5%\nloss=0%\n[segments]\nsize=1.5M\nquota=3G\ntime=1h\n"
		  "directory = /srv/traces with blanks\n[decode]\nformat = zstf\n");
	ASSERT_EQ(0, self->result) TH_LOG("%s", self->error);
	EXPECT_EQ(CONF_SOURCE_ETE, self->conf.source);
	EXPECT_EQ(CONF_MODES_BOTH, self->conf.modes);
	EXPECT_EQ(2500000, self->conf.on_time);
	EXPECT_EQ(1000000000, self->conf.on_period);
	EXPECT_EQ(1 << 20, self->conf.ring_size);
	EXPECT_EQ(100000, self->conf.strobe_on);
	EXPECT_EQ(60000000000ULL, self->conf.strobe_off);
	EXPECT_TRUE(self->conf.overwrite);
	ASSERT_EQ(3, self->conf.commands.n);
	EXPECT_STREQ("cc*", self->conf.commands.items[1]);
	EXPECT_STREQ("ld", self->conf.commands.items[2]);
	ASSERT_EQ(2, self->conf.pids.n);
	EXPECT_STREQ("4000000", self->conf.pids.items[1]);
	ASSERT_EQ(1, self->conf.not_cgroups.n);
	EXPECT_STREQ("/system.slice", self->conf.not_cgroups.items[0]);
	EXPECT_EQ(5000, self->conf.cpu);
	EXPECT_EQ(0, self->conf.loss);
	EXPECT_EQ(3 << 19, self->conf.size);
	EXPECT_EQ(3ULL << 30, self->conf.quota);
	EXPECT_EQ(3600000000000ULL, self->conf.time);
	EXPECT_STREQ("/srv/traces with blanks", self->conf.directory);
	EXPECT_EQ(CONF_FORMAT_ZSTF, self->conf.format);
}

/* Its part of a day, times a million, does not fit 64 bits. */
TEST_F(conf, a_part_of_a_day_is_what_it_says)
{
	load_text(self, "[segments]\ntime = 0.500000d\n");
	ASSERT_EQ(0, self->result) TH_LOG("%s", self->error);
	EXPECT_EQ(12 * 3600000000000ULL, self->conf.time);
}

TEST_F(conf, what_is_wrong_is_told_with_its_line_and_a_way_out)
{
	static const struct {
		const char *text;
		const char *told;
	} cases[] = {
		{ "[recor]\n", ":1: there is no section [recor]: record, tasks" },
		{ "\n[record]\nperiods = 1\n", ":3: there is no key periods" },
		{ "[record]\nquota = 1G\n", ":2: quota stands in section [segments], not in [record]" },
		{ "quota = 1G\n", ":1: quota stands in section [segments], not in []" },
		{ "[record]\nsource = arm\n", ":2: source = arm: it is one of auto | ctr | ete | soft" },
		{ "[record]\noverwrite = 1\n", "it is one of no | yes" },
		{ "[record]\nperiod = 1.5\n", "it is a number from 1000 to 4294967295" },
		{ "[record]\nperiod = -1\n", "period = -1: it is a number" },
		{ "[segments]\nsize = 1\n", "it is a size (bytes, or with k, M, G, T) from 1M to 1T" },
		{ "[segments]\nsize = 64 M B\n", "it is a size" },
		{ "[segments]\nsize = 99999999999999999999\n", "it is a size" },
		{ "[segments]\nsize = 18446744073709551615T\n", "it is a size" },
		{ "[segments]\ntime = 10\n", "it is a time (with ns, us, ms, s, min, h, d) from 1s" },
		{ "[budget]\ncpu = 1\n", "it is a share (with %) from 0.0100% to 100%" },
		{ "[budget]\ncpu = 101%\n", "it is a share" },
		{ "[budget]\ncpu = .5%\n", "it is a share" },
		{ "[segments]\ndirectory = here\n", "it is a path that begins with /" },
		{ "[tasks]\npid = 1, sh\n", ":2: pid = sh: it is the number of a process" },
		{ "[tasks]\npid = 0\n", "it is the number of a process" },
		{ "[tasks]\ncgroup = /" LONG "\n", "it is a path of up to 254 bytes" },
		{ "[tasks]\nexclude_cgroup = " LONG "x\n", "it is a path of up to 254 bytes" },
		{ "[snapshot]\nuprobe = x:main\n", ":2: uprobe = x:main: it is /FILE:FUNCTION" },
		{ "[snapshot]\nlatency = /x:f\n", "latency = /x:f: it is /FILE:FUNCTION and a time" },
		{ "[snapshot]\ntracepoint = sched:x\n", "it is the name of a tracepoint, without its" },
		{ "[record]\nsource\n", ":2: 'source' is neither [section] nor key = value" },
		{ "[record]\non_time = 2s\n", ": [record] on_time is longer than on_period: lower it" },
		{ "[record]\nstrobe_on = 1ms\n", ": [record] strobe_on and strobe_off are both at least" },
		{ "[record]\nstrobe_on = 1ms\nstrobe_off = 99us\n", ": [record] strobe_on and strobe_off" },
		{ "[record]\nstrobe_off = 61s\n", ":2: strobe_off = 61s" },
		{ "[record]\nring_size = 3M\n", ": [record] ring_size and aux_size are powers of two" },
		{ "[record]\naux_size = 24k\n", ": [record] ring_size and aux_size are powers of two" },
		{ "[record]\nring_size = 32M\n", "it is a size (bytes, or with k, M, G, T) from 4k to 16M" },
		{ "[segments]\nquota = 32M\n", "quota is less than two segments of that size: raise" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		load_text(self, cases[i].text);
		EXPECT_EQ(-EINVAL, self->result);
		ASSERT_TRUE(self->error);
		EXPECT_TRUE(strstr(self->error, cases[i].told))
			TH_LOG("%zu: \"%s\"", i, self->error);
		EXPECT_EQ(NULL, self->conf.directory);
	}
}

TEST_F(conf, what_is_too_much_is_refused)
{
	char *text = malloc(2 << 20);
	size_t n = sprintf(text, "[tasks]\n");

	ASSERT_TRUE(text);
	for (int i = 0; i <= CONF_LIST_MAX; i++)
		n += sprintf(text + n, "command = c%d\n", i);
	load(self, text, n);
	EXPECT_EQ(-E2BIG, self->result);
	memset(text, '#', 2 << 20);
	load(self, text, 2 << 20);
	EXPECT_EQ(-E2BIG, self->result);
	EXPECT_TRUE(strstr(self->error, "longer than 1048576 bytes"));
	n = sprintf(text, "[segments]\ndirectory = /");
	memset(text + n, 'x', 5000);
	load(self, text, n + 5000);
	EXPECT_EQ(-E2BIG, self->result);
	free(text);
}

TEST_F(conf, functions_are_taken_apart)
{
	static const struct {
		const char *item;
		bool timed;
		const char *path, *name;	/* NULL: it is none */
		uint64_t limit;
	} cases[] = {
		{ "/bin/x:main", false, "/bin/x", "main", 0 },
		{ "/bin/a:b c:f.part.0", false, "/bin/a:b c", "f.part.0", 0 },
		{ "/bin/x:main 5ms", true, "/bin/x", "main", 5000000 },
		{ "/bin/x:main   1.5us", true, "/bin/x", "main", 1500 },
		{ "/bin/x:main 5ms", false, "/bin/x", "main 5ms", 0 },
		{ "/bin/x:main", true, NULL, NULL, 0 },
		{ "/bin/x:main 5", true, NULL, NULL, 0 },
		{ "/bin/x:main 0ms", true, NULL, NULL, 0 },
		{ "/bin/x: 5ms", true, NULL, NULL, 0 },
		{ " 5ms", true, NULL, NULL, 0 },
		{ "bin/x:main", false, NULL, NULL, 0 },
		{ "/bin/x", false, NULL, NULL, 0 },
		{ "/bin/x:", false, NULL, NULL, 0 },
		{ "", false, NULL, NULL, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct conf_function function;

		EXPECT_EQ(!!cases[i].path, conf_function(cases[i].item, cases[i].timed, &function))
			TH_LOG("%s", cases[i].item);
		if (!cases[i].path)
			continue;
		EXPECT_STREQ(cases[i].path, function.path);
		EXPECT_STREQ(cases[i].name, function.name);
		EXPECT_EQ(cases[i].limit, function.limit);
	}
}

TEST_F(conf, a_file_that_cannot_be_read_says_why)
{
	self->result = conf_load("/nonexistent/flowtapd.conf", &self->conf, &self->error);
	EXPECT_EQ(-ENOENT, self->result);
	EXPECT_STREQ("/nonexistent/flowtapd.conf: No such file or directory", self->error);
	free(self->error);
	self->result = conf_load("/", &self->conf, &self->error);
	EXPECT_EQ(-EISDIR, self->result);
}

TEST_F(conf, what_a_reload_leaves_as_it_was_is_named)
{
	static const struct {
		const char *text, *unapplied;
	} cases[] = {
		{ "", "" },
		{ "[budget]\ncpu = 7%\n[tasks]\ncommand = a\n[segments]\ncompress = no\n", "" },
		{ "[segments]\nimages = no\n", "[segments] images" },
		{ "[record]\nsource = ete\nring_size = 1M\non_time = 2ms\n[tasks]\npid = 7\n"
		  "[control]\ngroup = perf\n",
		  "[record] source, ring_size, [tasks] pid, [control] group" },
	};
	char text[CONF_UNAPPLIED];
	struct conf holds;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		load_text(self, cases[i].text);
		ASSERT_EQ(0, self->result) TH_LOG("%s", self->error);
		ASSERT_EQ(0, conf_default(&holds));
		conf_unapplied(&holds, &self->conf, text);
		EXPECT_STREQ(cases[i].unapplied, text);
		conf_unapplied(&self->conf, &self->conf, text);
		EXPECT_STREQ("", text);
		conf_free(&holds);
	}
}

TEST_F(conf, what_is_printed_is_read_back)
{
	char first[8192], second[8192];
	size_t n;

	load_text(self, "[record]\non_time = 2.5ms\nperiod=12345\n[tasks]\ncommand = a b, c\npid=7\n"
		  "[budget]\ncpu = 0.0123%\nloss = 0%\n[segments]\nsize = 1048577\nquota=0\n"
		  "directory = \"/a b\"\n[control]\nmetrics =\n");
	ASSERT_EQ(0, self->result) TH_LOG("%s", self->error);
	EXPECT_STREQ("", self->conf.metrics);
	n = print(&self->conf, first, sizeof(first));
	load(self, first, n);
	ASSERT_EQ(0, self->result) TH_LOG("%s", self->error);
	print(&self->conf, second, sizeof(second));
	EXPECT_STREQ(first, second);
	EXPECT_EQ(123, self->conf.cpu);
	EXPECT_EQ(1048577, self->conf.size);
}

/* Any change of a byte is read, or refused with a line. */
TEST_F(conf, random_files_do_no_harm)
{
	static char text[8192], changed[8192];
	struct conf initial;
	size_t n;

	ASSERT_EQ(0, conf_default(&initial));
	n = print(&initial, text, sizeof(text));
	conf_free(&initial);
	srand(1);
	for (int i = 0; i < 20000; i++) {
		memcpy(changed, text, n);
		for (int k = rand() % 4; k >= 0; k--)
			changed[(size_t)rand() % n] = (char)(rand() % 3 ? 32 + rand() % 95 : rand());
		load(self, changed, n);
		ASSERT_EQ(self->result != 0, self->error && strchr(self->error, ':'));
	}
}

TEST_HARNESS_MAIN
