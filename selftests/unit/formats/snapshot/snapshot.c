// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that a snapshot is read however its files are spelled, that what belongs together is found,
 * and that whatever is wrong in it is told and leads nowhere else.
 */
#include <flowtap/snapshot.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/snapshot/internal.h"

#include "support/kselftest_harness.h"

#define TOP "[snapshot]\nversion=1.0\n[device_list]\ndevice0=cpu.ini\ndevice1=ete.ini\n" \
	"[trace]\nmetadata=trace.ini\n"
#define TRACE "[trace_buffers]\nbuffers=b\n[b]\nname=ETB\nfile=b.bin\nformat=source_data\n" \
	"[source_buffers]\nETE_0=ETB\n[core_trace_sources]\ncpu_0=ETE_0\n"
#define ETE "[device]\nname=ETE_0\nclass=trace_source\ntype=ETE\n[regs]\nTRCCONFIGR=0x1\n" \
	"TRCTRACEIDR=0x2\nTRCDEVARCH=0x47705a13\nTRCIDR0=0x28000ea1\nTRCIDR1=0x4100fff0\n" \
	"TRCIDR2=0xc0001088\nTRCIDR8=5\n"
#define CPU "[device]\nname=cpu_0\nclass=core\ntype=Cortex-A53\n[dump1]\nfile=code\n" \
	"address=0x1000\n"

FIXTURE(snapshot)
{
	char path[32];
	int directory;
	struct flowtap_snapshot *snapshot;
	const struct flowtap_snapshot_source *sources;
	size_t n;
	char notes[4096];
};

static void put_bytes(FIXTURE_DATA(snapshot) *self, const char *name, const void *bytes,
		      size_t size)
{
	int fd = openat(self->directory, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	close(fd);
}

static void put(FIXTURE_DATA(snapshot) *self, const char *name, const char *text)
{
	put_bytes(self, name, text, strlen(text));
}

static void note(void *argument, const char *text)
{
	FIXTURE_DATA(snapshot) *self = argument;
	size_t used = strlen(self->notes);

	snprintf(self->notes + used, sizeof(self->notes) - used, "%s\n", text);
}

FIXTURE_SETUP(snapshot)
{
	strcpy(self->path, "/tmp/snapshot.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->path));
	self->directory = open(self->path, O_RDONLY | O_DIRECTORY);
	self->notes[0] = 0;
	self->snapshot = NULL;
	put(self, "snapshot.ini", TOP);
	put(self, "trace.ini", TRACE);
	put(self, "ete.ini", ETE);
	put(self, "cpu.ini", CPU);
	put(self, "b.bin", "trace");
	put(self, "code", "0123456789abcdef");
}

FIXTURE_TEARDOWN(snapshot)
{
	char command[64];

	flowtap_snapshot_close(self->snapshot);
	close(self->directory);
	snprintf(command, sizeof(command), "rm -rf %s", self->path);
	if (system(command))
		abort();
}

static int read_it(FIXTURE_DATA(snapshot) *self)
{
	const struct flowtap_snapshot_options options = { .note = note, .argument = self };
	int error;

	flowtap_snapshot_close(self->snapshot);
	self->notes[0] = 0;
	self->n = 0;
	error = flowtap_snapshot_open(self->path, &options, &self->snapshot);
	if (!error)
		self->sources = flowtap_snapshot_sources(self->snapshot, &self->n);
	return error;
}

static bool told(const FIXTURE_DATA(snapshot) *self, const char *what)
{
	if (strstr(self->notes, what))
		return true;
	printf("# told: %s# not: %s\n", self->notes, what);
	return false;
}

/* The byte that a source's processor has at an address, -1 none. */
static int byte_at(FIXTURE_DATA(snapshot) *self, size_t source, uint8_t mode, uint64_t address)
{
	const struct flowtap_context context = { .mode = mode };
	const struct flowtap_code *code;
	struct flowtap_memory *memory;
	int byte;

	if (flowtap_snapshot_memory(self->snapshot, &self->sources[source], &memory))
		abort();
	code = flowtap_memory_find(memory, &context, address);
	byte = code ? code->bytes[address - code->start] : -1;
	flowtap_memory_free(memory);
	return byte;
}

TEST_F(snapshot, what_belongs_together_is_found)
{
	const struct flowtap_snapshot_source *source;
	char bytes[8] = "";
	int fd;

	ASSERT_EQ(0, read_it(self));
	ASSERT_STREQ("", self->notes);
	ASSERT_EQ(1, self->n);
	source = self->sources;
	ASSERT_STREQ("ETE_0", source->name);
	ASSERT_STREQ("ETE", source->type);
	ASSERT_STREQ("cpu_0", source->core);
	ASSERT_STREQ("Cortex-A53", source->core_type);
	ASSERT_EQ(0, source->core_number);
	ASSERT_STREQ("ETB", source->buffer->name);
	ASSERT_EQ(FLOWTAP_SNAPSHOT_RAW, source->buffer->format);
	ASSERT_EQ(0x1, source->config.configr);
	ASSERT_EQ(0x2, source->config.traceidr);
	ASSERT_EQ(0x47705a13, source->config.devarch);
	ASSERT_EQ(0x28000ea1, source->config.idr0);
	ASSERT_EQ(0x4100fff0, source->config.idr1);
	ASSERT_EQ(0xc0001088, source->config.idr2);
	ASSERT_EQ(5, source->config.idr8);
	fd = flowtap_snapshot_open_buffer(self->snapshot, source->buffer);
	ASSERT_EQ(5, read(fd, bytes, sizeof(bytes)));
	ASSERT_STREQ("trace", bytes);
	close(fd);
	ASSERT_EQ('3', byte_at(self, 0, 1, 0x1003));
	ASSERT_EQ(-1, byte_at(self, 0, 1, 0x1010));
}

TEST_F(snapshot, spelling_does_not_matter)
{
	put(self, "snapshot.ini",
	    "\xef\xbb\xbf; a comment\r\n# another\r\n\r\n [ Device_List ] \r\n"
	    "\tdevice0 = cpu.ini ; after a value\r\nDEVICE1=\"ete.ini\"\r\n"
	    "[TRACE]\r\nMetaData= trace.ini\r\n[else]\r\nwhatever\r\n=\r\n");
	put(self, "trace.ini",
	    "[Trace_Buffers]\nBUFFERS= b , , b2,\n[b]\nFile=b.bin\nFORMAT=Source_Data\nname=ETB\n"
	    "[SOURCE_BUFFERS]\nETE_0 = other, ETB ,\n[Core_Trace_Sources]\ncpu_0=ETE_0");
	put(self, "ete.ini",
	    "[DEVICE]\nNAME='ETE_0'\nClass=trace_source\nTYPE=ete.v1\n[REGS]\n"
	    "trcconfigr(0x10)=1\nTrcTraceIDR (id) = 0x2\nTRCIDR0(size:64)=0x028000EA1\n"
	    "TRCIDR2(0x1E8)(size:32)='0xc0001088'\nTRCOSLSR=what\n");
	put(self, "cpu.ini",
	    "[device]\nname=cpu_0\nclass=Core\ntype=x\n[Dump_of_code]\nADDRESS=4096\nfile='code'\n"
	    "Length=010\n offset =0x2 \nspace=\"el1n\"\n[symbols]\nnothing of use\n");
	ASSERT_EQ(0, read_it(self));
	ASSERT_TRUE(told(self, "no section [b2]"));
	ASSERT_EQ(1, self->n);
	ASSERT_EQ(1, self->sources->config.configr);
	ASSERT_EQ(2, self->sources->config.traceidr);
	ASSERT_EQ(0x28000ea1, self->sources->config.idr0);
	ASSERT_EQ(0xc0001088, self->sources->config.idr2);
	ASSERT_EQ(0, self->sources->config.devarch);
	/* 010 is octal, as the reference decoder reads it: bytes 2 to 9. */
	ASSERT_EQ('2', byte_at(self, 0, 1, 0x1000));
	ASSERT_EQ('9', byte_at(self, 0, 0, 0x1007));
	ASSERT_EQ(-1, byte_at(self, 0, 1, 0x1008));
	ASSERT_EQ(-1, byte_at(self, 0, 3, 0x1000));
}

/* A section that the damaged line would begin is not the one before it. */
TEST_F(snapshot, a_section_whose_first_line_is_damaged_changes_no_other)
{
	static const char text[] =
		"[trace_buffers]\nbuffers=a\n[a]\nname=b\nfile=b.bin\nformat=source_data\n"
		"[other]\0\nname=c\nfile=c.bin\nformat=coresight\n"
		"[source_buffers]\nETE_0=b\n[core_trace_sources]\ncpu_0=ETE_0\n";

	put_bytes(self, "trace.ini", text, sizeof(text) - 1);
	ASSERT_EQ(0, read_it(self));
	ASSERT_EQ(1, self->n);
	EXPECT_STREQ("b", self->sources[0].buffer->name);
	EXPECT_EQ(FLOWTAP_SNAPSHOT_RAW, self->sources[0].buffer->format);
}

#define ETM4 "[device]\nname=ETE_0\nclass=trace_source\ntype=ETM4\n[regs]\nTRCCONFIGR=1\n" \
	"TRCTRACEIDR=2\nTRCIDR0=0x28000ea1\nTRCIDR2=0x4\n"

TEST_F(snapshot, which_processors_are_of_the_m_profile)
{
	static const struct {
		const char *type;
		bool m_profile;
	} cores[] = {
		{ "Cortex-M7", true }, { "cortex-m55", true }, { "STAR-MC1", true },
		{ "ARMv6-M", true }, { "ARMv7-M", true }, { "ARMv8-M", true },
		{ "ARMv8.1-M", true }, { "Cortex-A53", false }, { "Cortex-R52", false },
		{ "ARMv8-A", false }, { "ARM-AA64", false }, { "Neoverse-N1", false },
	};
	char cpu[200];

	put(self, "ete.ini", ETM4);
	for (size_t i = 0; i < sizeof(cores) / sizeof(cores[0]); i++) {
		snprintf(cpu, sizeof(cpu), "[device]\nname=cpu_0\nclass=core\ntype=%s\n"
			 "[dump1]\nfile=code\naddress=0x1000\n", cores[i].type);
		put(self, "cpu.ini", cpu);
		ASSERT_EQ(0, read_it(self));
		ASSERT_EQ(1, self->n);
		EXPECT_EQ(cores[i].m_profile, self->sources->config.m_profile)
			TH_LOG("%s", cores[i].type);
	}
}

#define ETE_OF(name, id) "[device]\nname=" name "\nclass=trace_source\ntype=ETE\n[regs]\n" \
	"TRCCONFIGR=1\nTRCTRACEIDR=" id "\nTRCIDR0=0x28000ea1\nTRCIDR2=0xc0001088\n"

TEST_F(snapshot, several_cpus_and_sessions)
{
	static const char *const want[] = {
		/* buffer, source, core: buffers in the order of their sections, cores grouped */
		"second ETE_a big_4", "first ETE_c big_4", "second ETE_b LITTLE",
	};
	static const uint32_t ids[] = { 0x10, 0x12, 0x11 };

	put(self, "snapshot.ini",
	    "[device_list]\na=2\nb=1\nc=3\nd=4\ne=5\nf=6\n[trace]\nmetadata=t\n");
	put(self, "1", "[device]\nname=LITTLE\nclass=core\ntype=A\n"
		       "[dump]\nfile=code\naddress=0x2000\n"
		       "[dump]\nfile=code\naddress=0x8000\n");
	put(self, "2", "[device]\nname=big_4\nclass=core\ntype=B\n"
		       "[dump]\nfile=b.bin\naddress=0x2000\n");
	put(self, "3", ETE_OF("ETE_a", "0x10"));
	put(self, "4", ETE_OF("ETE_b", "0x11"));
	put(self, "5", ETE_OF("ETE_c", "0x12"));
	put(self, "6", "[device]\nname=STM\nclass=trace_source\ntype=STM\n[regs]\nSTMTCSR=1\n");
	put(self, "t", "[trace_buffers]\nbuffers=one,two\n"
		       "[two]\nname=second\nfile=2.bin\nformat=coresight\n"
		       "[one]\nname=first\nfile=1.bin\nformat=dstream_coresight\n"
		       "[three]\nname=not listed\nfile=3.bin\nformat=coresight\n"
		       "[source_buffers]\nETE_a=second\nSTM=second\nETE_b=second\n"
		       "ETE_c=first, not listed\n"
		       "[core_trace_sources]\nbig_4=ETE_a\nLITTLE=ETE_b\nbig_4=ETE_c\n");
	ASSERT_EQ(0, read_it(self));
	ASSERT_TRUE(told(self, "'STM' is of type 'STM', no ETE"));
	ASSERT_EQ(3, self->n);
	for (size_t i = 0; i < 3; i++) {
		const struct flowtap_snapshot_source *source = &self->sources[i];
		char text[64];

		snprintf(text, sizeof(text), "%s %s %s", source->buffer->name, source->name,
			 source->core);
		ASSERT_STREQ(want[i], text);
		ASSERT_EQ(i == 1 ? FLOWTAP_SNAPSHOT_DSTREAM : FLOWTAP_SNAPSHOT_FRAMES,
			  source->buffer->format);
		ASSERT_EQ(ids[i], source->config.traceidr);
	}
	/* From its name, or its place among the processors. */
	ASSERT_EQ(4, self->sources[0].core_number);
	ASSERT_EQ(1, self->sources[2].core_number);
	/* Its own memory, then that of the others in the buffer. */
	ASSERT_EQ('t', byte_at(self, 0, 1, 0x2000));
	ASSERT_EQ('5', byte_at(self, 0, 1, 0x2005));
	ASSERT_EQ('0', byte_at(self, 0, 1, 0x8000));
	ASSERT_EQ('t', byte_at(self, 1, 1, 0x2000));
	ASSERT_EQ(-1, byte_at(self, 1, 1, 0x8000));
	ASSERT_EQ('0', byte_at(self, 2, 1, 0x2000));
}

TEST_F(snapshot, two_processors_are_two_whatever_their_names_end_with)
{
	put(self, "snapshot.ini", "[device_list]\na=1\nb=2\nc=3\nd=4\n[trace]\nmetadata=t\n");
	put(self, "1", "[device]\nname=Cortex-A53_0\nclass=core\ntype=A\n");
	put(self, "2", "[device]\nname=Cortex-A72_0\nclass=core\ntype=B\n");
	put(self, "3", ETE_OF("ETE_a", "0x10"));
	put(self, "4", ETE_OF("ETE_b", "0x11"));
	put(self, "t", "[trace_buffers]\nbuffers=one\n"
		       "[one]\nname=first\nfile=1.bin\nformat=coresight\n"
		       "[source_buffers]\nETE_a=first\nETE_b=first\n"
		       "[core_trace_sources]\nCortex-A53_0=ETE_a\nCortex-A72_0=ETE_b\n");
	ASSERT_EQ(0, read_it(self));
	ASSERT_EQ(2, self->n);
	EXPECT_EQ(0, self->sources[0].core_number);
	EXPECT_EQ(1, self->sources[1].core_number);
}

/* Two trace units of one CPU beside another: its memory is there once. */
TEST_F(snapshot, memory_of_others_is_taken_once)
{
	struct flowtap_memory *memory;

	put(self, "snapshot.ini", "[device_list]\na=cpu.ini\nb=ete.ini\nc=2\nd=3\ne=4\n"
				  "[trace]\nmetadata=trace.ini\n");
	put(self, "2", "[device]\nname=cpu_1\nclass=core\n[dump]\nfile=code\naddress=0\n");
	put(self, "3", ETE_OF("ETE_1", "0x11"));
	put(self, "4", ETE_OF("ETE_2", "0x12"));
	put(self, "trace.ini", "[trace_buffers]\nbuffers=b\n[b]\nfile=b.bin\nformat=coresight\n"
			       "[source_buffers]\nETE_0=b\nETE_1=b\nETE_2=b\n"
			       "[core_trace_sources]\ncpu_0=ETE_0\ncpu_1=ETE_1\ncpu_1=ETE_2\n");
	ASSERT_EQ(0, read_it(self));
	ASSERT_EQ(3, self->n);
	ASSERT_EQ(0, flowtap_snapshot_memory(self->snapshot, self->sources, &memory));
	ASSERT_EQ(2, flowtap_memory_images(memory));
	flowtap_memory_free(memory);
}

TEST_F(snapshot, a_cpu_that_nobody_named)
{
	put(self, "trace.ini",
	    "[trace_buffers]\nbuffers=b\n[b]\nfile=b.bin\n[source_buffers]\nETE_0=b\n");
	ASSERT_EQ(0, read_it(self));
	ASSERT_EQ(1, self->n);
	ASSERT_STREQ("ETE_0", self->sources->core);
	ASSERT_STREQ("b", self->sources->buffer->name);
	/* Without a format it is in frames, as the reference decoder takes it. */
	ASSERT_EQ(FLOWTAP_SNAPSHOT_FRAMES, self->sources->buffer->format);
	ASSERT_EQ(-1, byte_at(self, 0, 1, 0x1000));
}

TEST_F(snapshot, bytes_without_frames_are_of_one_trace_unit)
{
	put(self, "snapshot.ini", "[device_list]\na=cpu.ini\nb=ete.ini\nc=other.ini\n"
				  "[trace]\nmetadata=trace.ini\n");
	put(self, "other.ini", "[device]\nname=ETE_1\ntype=ETE\n[regs]\nTRCCONFIGR=1\n"
			       "TRCTRACEIDR=3\nTRCIDR0=1\nTRCIDR2=2\n");
	put(self, "trace.ini", "[trace_buffers]\nbuffers=b\n[b]\nname=ETB\nfile=b.bin\n"
			       "format=source_data\n[source_buffers]\nETE_0=ETB\nETE_1=ETB\n");
	ASSERT_EQ(0, read_it(self));
	ASSERT_EQ(1, self->n);
	ASSERT_STREQ("ETE_0", self->sources->name);
	ASSERT_TRUE(told(self, "trace.ini: no frames: no 'ETE_1' in it"));
}

/* Whose bytes they are nobody knows: they are not those of both. Without frames there is no ID. */
TEST_F(snapshot, of_two_with_one_trace_id_in_the_same_frames_one_is_taken)
{
	put(self, "snapshot.ini", "[device_list]\na=1\nb=2\nc=3\nd=4\n[trace]\nmetadata=t\n");
	put(self, "1", ETE_OF("ETE_a", "0x10"));
	put(self, "2", ETE_OF("ETE_b", "0x11"));
	put(self, "3", ETE_OF("ETE_c", "0x10"));
	put(self, "4", ETE_OF("ETE_d", "0x10"));
	put(self, "t", "[trace_buffers]\nbuffers=one,two,raw\n"
		       "[one]\nfile=1.bin\nformat=coresight\n[two]\nfile=2.bin\nformat=coresight\n"
		       "[raw]\nfile=3.bin\nformat=source_data\n"
		       "[source_buffers]\nETE_a=one\nETE_b=one\nETE_c=one,two\nETE_a=one\n"
		       "ETE_d=raw\n");
	ASSERT_EQ(0, read_it(self));
	ASSERT_EQ(4, self->n);
	ASSERT_STREQ("ETE_a", self->sources[0].name);
	ASSERT_STREQ("ETE_b", self->sources[1].name);
	ASSERT_STREQ("ETE_c", self->sources[2].name);
	ASSERT_STREQ("two", self->sources[2].buffer->name);
	ASSERT_STREQ("ETE_d", self->sources[3].name);
	ASSERT_TRUE(told(self, "3: 'ETE_c' has the trace ID 0x10 of 'ETE_a' in the same buffer: "
			       "left out\n"));
	ASSERT_TRUE(told(self, "1: 'ETE_a' has the trace ID 0x10 of 'ETE_a'"));
	/* These are in no frame. */
	put(self, "1", ETE_OF("ETE_a", "0"));
	put(self, "3", ETE_OF("ETE_c", "0"));
	ASSERT_EQ(0, read_it(self));
	ASSERT_EQ(6, self->n);
}

/* As without its 0x: the reference decoder takes what stands before the letter. */
TEST_F(snapshot, half_a_number_is_none)
{
	put(self, "ete.ini", ETE "TRCIDR2=00001088c\n");
	ASSERT_EQ(-ENODATA, read_it(self));
	ASSERT_TRUE(told(self, "TRCIDR2 is no number of 32 bits"));
}

TEST_F(snapshot, dumps_that_cannot_be_used_are_told)
{
	put(self, "cpu.ini", "[device]\nname=cpu_0\nclass=core\n"
			     "[dump1]\nfile=gone\naddress=0x1000\n"
			     "[dump2]\nfile=code\n"
			     "[dump3]\naddress=0\n"
			     "[dump4]\nfile=code\naddress=here\n"
			     "[dump5]\nfile=code\naddress=0x99999999999999999\n"
			     "[dump6]\nfile=code\naddress=0\noffset=16\n"
			     "[dump7]\nfile=code\naddress=0xffffffffffffffff\n"
			     "[dump8]\nfile=/etc/passwd\naddress=0x1000\n"
			     "[dump9]\nfile=../../../../../../etc/passwd\naddress=0x1000\n"
			     "[dump10]\nfile=.\naddress=0x1000\n"
			     "[dump11]\nfile=code\naddress=-1\n"
			     "[dump12]\nfile=code\naddress=0x7000\nlength=0xffffffffffffffff\n"
			     "[dump13]\nfile=code\naddress=0x9000\nspace=nowhere\n");
	ASSERT_EQ(0, read_it(self));
	ASSERT_EQ(-1, byte_at(self, 0, 1, 0x1000));
	ASSERT_TRUE(told(self, "[dump1] gone: No such file"));
	ASSERT_TRUE(told(self, "[dump2] code: has no file or no address"));
	ASSERT_TRUE(told(self, "[dump3] : has no file or no address"));
	ASSERT_TRUE(told(self, "[dump4] code: has a value that is no number"));
	ASSERT_TRUE(told(self, "[dump5] code: has a value that is no number"));
	ASSERT_TRUE(told(self, "[dump6] code: has nothing at that offset"));
	ASSERT_TRUE(told(self, "[dump7] code: has nothing at that offset"));
	ASSERT_TRUE(told(self, "[dump8] /etc/passwd: No such file"));
	ASSERT_TRUE(told(self, "etc/passwd: No such file"));
	ASSERT_TRUE(told(self, "[dump10] .: is no regular file"));
	ASSERT_TRUE(told(self, "[dump11] code: has a value that is no number"));
	ASSERT_TRUE(told(self, "[dump12] code: is shorter than length says"));
	ASSERT_EQ('f', byte_at(self, 0, 1, 0x700f));
	ASSERT_EQ(-1, byte_at(self, 0, 1, 0x7010));
	ASSERT_EQ('0', byte_at(self, 0, 3, 0x9000));
}

TEST_F(snapshot, without_trcidr8_nothing_is_speculative_which_is_told)
{
	put(self, "ete.ini", "[device]\nname=ETE_0\nclass=trace_source\ntype=ETE\n[regs]\n"
	    "TRCCONFIGR=0x1\nTRCTRACEIDR=0x2\nTRCIDR0=0x28000ea1\nTRCIDR2=0xc0001088\n");
	ASSERT_EQ(0, read_it(self));
	EXPECT_TRUE(told(self, "ete.ini: [regs] has no TRCIDR8"));
	ASSERT_EQ(1, self->n);
	EXPECT_EQ(0, self->sources->config.idr8);
}

TEST_F(snapshot, what_is_missing_is_named)
{
	static const struct {
		const char *file;
		const char *text;	/* NULL: it is not there */
		int error;
		const char *told;
	} cases[] = {
		{ "snapshot.ini", NULL, -ENOENT, "snapshot.ini: No such file" },
		{ "snapshot.ini", "", -EINVAL, "[device_list] names no device" },
		{ "snapshot.ini", "[device_list]\na=cpu.ini\nb", -EINVAL,
		  "snapshot.ini: line 3: 'b'" },
		{ "snapshot.ini", "[device_list]\na=cpu.ini\n", -EINVAL, "no metadata" },
		{ "trace.ini", NULL, -ENOENT, "trace.ini: No such file" },
		{ "trace.ini", "[trace_buffers]\nbuff", -EINVAL, "trace.ini: line 2: 'buff'" },
		{ "trace.ini", "", -ENODATA, "no trace of an ETE" },
		{ "trace.ini", "[trace_buffers]\nbuffers=b\n", -ENODATA, "no section [b]" },
		{ "trace.ini", "[trace_buffers]\nbuffers=b\n[b]\nname=x\n", -ENODATA,
		  "has no file=" },
		{ "trace.ini", "[trace_buffers]\nbuffers=b\n[b]\nfile=x\n", -ENODATA,
		  "nothing in 'b' can be decoded" },
		{ "trace.ini", "[trace_buffers]\nbuffers=b\n[b]\nfile=x\n[source_buffers]\nX=b\n",
		  -ENODATA, "there is no device 'X'" },
		{ "ete.ini", NULL, -ENODATA, "ete.ini: No such file" },
		{ "ete.ini", "[device]\nname=ETE_0\nclass=trace_source\ntype=ETM3\n", -ENODATA,
		  "is of type 'ETM3', no ETE or ETM4" },
		{ "ete.ini", "[device]\nname=ETE_0\ntype=ETE\n[regs]\nTRCCONFIGR=1\n", -ENODATA,
		  "ete.ini: [regs] has no TRCTRACEIDR" },
		{ "ete.ini", "[device]\nname=ETE_0\ntype=ETE\n[regs]\nTRCCONFIGR=one\n", -ENODATA,
		  "TRCCONFIGR is no number of 32 bits" },
		{ "ete.ini", "[device]\nname=ETE_0\ntype=ETE\n[regs]\nTRCIDR0=0x100000000\n",
		  -ENODATA, "TRCIDR0 is no number of 32 bits" },
		{ "ete.ini", "[device]\nname=ETE_0\ntype=ETE\n[regs]\nTRCCONF", -EINVAL,
		  "ete.ini: line 5: 'TRCCONF'" },
	};
	static const struct {
		const char *file;
		const char *text;
	} good[] = {
		{ "snapshot.ini", TOP }, { "trace.ini", TRACE }, { "ete.ini", ETE },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (size_t j = 0; j < 3; j++)
			put(self, good[j].file, good[j].text);
		if (cases[i].text)
			put(self, cases[i].file, cases[i].text);
		else
			unlinkat(self->directory, cases[i].file, 0);
		EXPECT_EQ(cases[i].error, read_it(self))
			printf("# case %zu\n", i);
		EXPECT_TRUE(told(self, cases[i].told));
	}
}

/* Whatever is in its way: the others are read. */
TEST_F(snapshot, a_device_that_cannot_be_had_is_told)
{
	char name[5000], text[6000];

	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	ASSERT_EQ(0, symlinkat("loop.ini", self->directory, "loop.ini"));
	snprintf(text, sizeof(text), "[device_list]\na=loop.ini\nb=code/x.ini\nc=%s\nd=ete.ini\n"
		 "e=cpu.ini\n[trace]\nmetadata=trace.ini\n", name);
	put(self, "snapshot.ini", text);
	ASSERT_EQ(0, read_it(self));
	ASSERT_EQ(1, self->n);
	ASSERT_TRUE(told(self, "loop.ini: Too many levels"));
	ASSERT_TRUE(told(self, "code/x.ini: Not a directory"));
	ASSERT_EQ('0', byte_at(self, 0, 1, 0x1000));
}

TEST_F(snapshot, what_is_utf16_is_named)
{
	put_bytes(self, "trace.ini", "\xff\xfe[\0t\0", 6);
	ASSERT_EQ(-EINVAL, read_it(self));
	ASSERT_STREQ("trace.ini: it is UTF-16: save it as UTF-8\n", self->notes);
	put_bytes(self, "trace.ini", "\xfe\xff\0[\0t", 6);
	ASSERT_EQ(-EINVAL, read_it(self));
	ASSERT_STREQ("trace.ini: it is UTF-16: save it as UTF-8\n", self->notes);
}

TEST_F(snapshot, no_directory)
{
	const struct flowtap_snapshot_options options = { .note = note, .argument = self };
	struct flowtap_snapshot *snapshot;

	ASSERT_EQ(-ENOENT, flowtap_snapshot_open("/tmp/not there", &options, &snapshot));
	ASSERT_EQ(NULL, snapshot);
	ASSERT_EQ(-ENOTDIR, flowtap_snapshot_open("/etc/passwd", NULL, &snapshot));
}

TEST_F(snapshot, files_do_not_lead_out_of_it)
{
	put(self, "snapshot.ini", "[device_list]\na=/etc/passwd\nb=cpu.ini\nc=ete.ini\n"
				  "d=../../etc/group\n[trace]\nmetadata=trace.ini\n");
	put(self, "trace.ini", "[trace_buffers]\nbuffers=b\n[b]\nname=ETB\nfile=../../etc/passwd\n"
			       "format=source_data\n[source_buffers]\nETE_0=ETB\n");
	ASSERT_EQ(0, read_it(self));
	ASSERT_TRUE(told(self, "/etc/passwd: No such file"));
	ASSERT_TRUE(told(self, "../../etc/group: No such file"));
	ASSERT_EQ(-ENOENT, flowtap_snapshot_open_buffer(self->snapshot, self->sources->buffer));
	/* A link is followed if it stays inside, a pipe is not waited for. */
	ASSERT_EQ(0, unlinkat(self->directory, "b.bin", 0));
	ASSERT_EQ(0, symlinkat("/etc/passwd", self->directory, "b.bin"));
	put(self, "trace.ini", TRACE);
	ASSERT_EQ(0, read_it(self));
	ASSERT_EQ(-ENOENT, flowtap_snapshot_open_buffer(self->snapshot, self->sources->buffer));
	ASSERT_EQ(0, unlinkat(self->directory, "b.bin", 0));
	ASSERT_EQ(0, symlinkat("/code", self->directory, "b.bin"));
	ASSERT_LE(0, close(flowtap_snapshot_open_buffer(self->snapshot, self->sources->buffer)));
	ASSERT_EQ(0, unlinkat(self->directory, "trace.ini", 0));
	ASSERT_EQ(0, mkfifoat(self->directory, "trace.ini", 0600));
	ASSERT_EQ(-ENOEXEC, read_it(self));
	ASSERT_TRUE(told(self, "trace.ini: not a regular file"));
}

TEST_F(snapshot, limits)
{
	char *text = malloc(24 << 20), *at = text;
	int fd;

	/* A file of 1 GiB. */
	fd = openat(self->directory, "trace.ini", O_WRONLY | O_TRUNC);
	ASSERT_EQ(0, ftruncate(fd, 1 << 30));
	close(fd);
	ASSERT_EQ(-EFBIG, read_it(self));
	put(self, "trace.ini", TRACE);
	/* Devices without end, of which most are not there; a list that names itself. */
	at += sprintf(at, "[device_list]\n");
	for (int i = 0; i < 5000; i++)
		at += sprintf(at, "d%d=snapshot.ini\n", i);
	put(self, "snapshot.ini", text);
	ASSERT_EQ(-E2BIG, read_it(self));
	ASSERT_TRUE(told(self, "too many device_list"));
	put(self, "snapshot.ini", "[device_list]\na=snapshot.ini\nb=trace.ini\nc=ete.ini\n"
				  "d=cpu.ini\ne=ete.ini\n[trace]\nmetadata=trace.ini\n");
	ASSERT_EQ(0, read_it(self));
	ASSERT_EQ(1, self->n);
	at = text;
	for (int i = 0; i < 70000; i++)
		at += sprintf(at, "[dump%d]\nfile=code\naddress=%d\n", i, i * 32);
	put(self, "cpu.ini", text);
	ASSERT_EQ(-E2BIG, read_it(self));
	ASSERT_TRUE(told(self, "too many dumps"));
	put(self, "cpu.ini", CPU);
	at = text + sprintf(text, "[trace_buffers]\nbuffers=");
	for (int i = 0; i < 2000; i++)
		at += sprintf(at, "b,");
	sprintf(at, "\n[b]\nfile=b.bin\n");
	put(self, "trace.ini", text);
	ASSERT_EQ(-E2BIG, read_it(self));
	ASSERT_TRUE(told(self, "too many buffers"));
	/* As long as it may be, with as much to look for as there can be in it. */
	at = text + sprintf(text, "[trace_buffers]\nbuffers=");
	for (int i = 0; i < 1000; i++)
		at += sprintf(at, "b%d,", i);
	for (int i = 0; i < 1000; i++)
		at += sprintf(at, "\n[b%d]\nfile=b.bin\nformat=coresight\nname=b", i);
	at += sprintf(at, "\n[source_buffers]\nETE_0=b");
	memset(at, ',', (1 << 20) - (at - text));
	strcpy(text + (1 << 20) - 3, ",b");
	put(self, "trace.ini", text);
	ASSERT_EQ(0, read_it(self));
	ASSERT_EQ(1000, self->n);
	put(self, "trace.ini", TRACE);
	/* As many dumps as there may be. */
	at = text + sprintf(text, "%s", CPU);
	for (int i = 1; i < 65536; i++)
		at += sprintf(at, "[dump%d]\nfile=code\naddress=0x%x\n", i, 0x10000 + i * 16);
	put(self, "cpu.ini", text);
	ASSERT_EQ(0, read_it(self));
	ASSERT_EQ('0', byte_at(self, 0, 1, 0x10000 + 65535 * 16));
	free(text);
}

#define MANY 300		/* devices, buffers and sources */
#define LONG_NAME 300

/*
 * A snapshot whose names differ at their ends only, and with many of all: what is looked for is
 * looked for once, and not for each of the others.
 */
TEST_F(snapshot, looking_for_names_is_not_multiplied)
{
	char *text = malloc(4 << 20), *at = text, *name = malloc(LONG_NAME + 1);
	struct flowtap_memory *memory;

	memset(name, 'x', LONG_NAME);
	name[LONG_NAME] = 0;
	at += sprintf(at, "[device_list]\n");
	for (int i = 0; i < MANY; i++)
		at += sprintf(at, "d%d=d%d.ini\n", i, i);
	sprintf(at, "[trace]\nmetadata=trace.ini\n");
	put(self, "snapshot.ini", text);
	for (int i = 0; i < MANY; i++) {
		char file[32];

		snprintf(file, sizeof(file), "d%d.ini", i);
		/* 0 is no trace ID: the frames have no source that two of them could share. */
		sprintf(text, "[device]\nname=%s%d\nclass=trace_source\ntype=ETE\n[regs]\n"
			"TRCCONFIGR=1\nTRCTRACEIDR=0\nTRCIDR0=1\nTRCIDR2=0\nTRCIDR8=0\n", name, i);
		put(self, file, text);
	}
	at = text + sprintf(text, "[trace_buffers]\nbuffers=");
	for (int i = 0; i < MANY; i++)
		at += sprintf(at, "b%d,", i);
	for (int i = 0; i < MANY; i++)
		at += sprintf(at, "\n[b%d]\nfile=b.bin", i);
	at += sprintf(at, "\n[source_buffers]\n");
	for (int i = 0; i < MANY; i++)
		at += sprintf(at, "%s%d=b0\n", name, i);
	put(self, "trace.ini", text);
	ASSERT_EQ(0, read_it(self));
	ASSERT_EQ(MANY, self->n);
	/* Of each device: for its pair, and for the processor of its source twice. */
	EXPECT_GE(3 * MANY * MANY, self->snapshot->compared);
	for (int i = 0; i < MANY; i++) {
		ASSERT_EQ(0, flowtap_snapshot_memory(self->snapshot, &self->sources[i], &memory));
		flowtap_memory_free(memory);
	}
	free(text);
	free(name);
}

/* Every cut and every byte changed of every file. */
TEST_F(snapshot, nothing_in_it_is_believed)
{
	static const struct {
		const char *file;
		const char *text;
	} files[] = {
		{ "snapshot.ini", TOP }, { "trace.ini", TRACE }, { "ete.ini", ETE },
		{ "cpu.ini", CPU },
	};
	static const char odd[] = "\0[]=#;,\n\r(/.0";

	for (size_t i = 0; i < 4; i++) {
		char text[1024];
		size_t size = strlen(files[i].text);

		for (size_t at = 0; at < size; at++) {
			for (size_t j = 0; j <= sizeof(odd) - 1; j++) {
				struct flowtap_memory *memory;

				memcpy(text, files[i].text, size);
				text[at] = odd[j < sizeof(odd) - 1 ? j : 0];
				put_bytes(self, files[i].file, text,
					  j < sizeof(odd) - 1 ? size : at);
				if (read_it(self)) {
					ASSERT_NE('\0', self->notes[0]);
					continue;
				}
				ASSERT_EQ(0, flowtap_snapshot_memory(self->snapshot, self->sources,
								     &memory));
				flowtap_memory_free(memory);
			}
		}
		put(self, files[i].file, files[i].text);
	}
}

TEST_HARNESS_MAIN
