// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that each golden file (selftests/corpus/ete, golden.h) is decoded as it says: every table
 * of K10.5.8, what no public trace has, and ETMv4. Packets, elements and flow.
 */
#include <flowtap/arm.h>
#include <flowtap/text.h>

#include "support/golden.h"
#include "support/sink.h"

#include <dirent.h>
#include <stdarg.h>

#include "support/kselftest_harness.h"

#define FILES_MIN 57

struct lines {
	char line[512][160];
	size_t n;
};

static void __attribute__((format(printf, 2, 3))) add(struct lines *lines, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	if (lines->n < 512)
		vsnprintf(lines->line[lines->n++], sizeof(lines->line[0]), format, arguments);
	va_end(arguments);
}

/* --- The elements of a packet, as K10.5.2 emits them. --- */

static void add_context(struct lines *lines, const struct flowtap_ete_packet *packet)
{
	const struct flowtap_ete_context *context = &packet->context;

	if (context->vmid)
		add(lines, "context(0x%X, 0x%X)", context->contextid, context->vmid);
	else if (context->contextid)
		add(lines, "context(0x%X)", context->contextid);
	else
		add(lines, "context()");
}

static void add_address(struct lines *lines, const struct flowtap_ete_packet *packet)
{
	add(lines, "address(0x%llx)", (unsigned long long)packet->address.address);
}

/* Of an M profile by its number. */
static void add_exception(struct lines *lines, const struct flowtap_ete_packet *packet,
			  bool m_profile)
{
	static const char *const names[32] = {
		[0] = "PE reset", [2] = "call", [12] = "data fault", [14] = "IRQ", [15] = "FIQ",
	};
	const char *name = names[packet->exception_type & 31];

	if (packet->exception_e == 2) {
		if (packet->has_context)
			add_context(lines, packet);
		add_address(lines, packet);
	}
	if (m_profile)
		add(lines, "exception(%u, 0x%llX)", packet->exception_type,
		    (unsigned long long)packet->address.address);
	else if (packet->exception_type == FLOWTAP_ETE_TRANSACTION_FAILURE)
		add(lines, "transaction_failure()");
	else if (packet->address_unknown)
		add(lines, "exception(%s, unknown)", name ? name : "?");
	else
		add(lines, "exception(%s, 0x%llX)", name ? name : "?",
		    (unsigned long long)packet->address.address);
}

static void add_trace_info(struct lines *lines, const struct flowtap_ete_packet *packet)
{
	if (packet->spec)
		add(lines, "trace_info(depth %u)", packet->spec);
	else if (packet->cc_enabled)
		add(lines, "trace_info(threshold %u)", packet->cc_threshold);
	else
		add(lines, "trace_info()");
}

static void add_time(struct lines *lines, const struct flowtap_ete_packet *packet)
{
	if (packet->has_cycles)
		add(lines, "timestamp(0x%llx, %llu)", (unsigned long long)packet->timestamp,
		    (unsigned long long)packet->cycles);
	else
		add(lines, "timestamp(0x%llx)", (unsigned long long)packet->timestamp);
}

static void add_element(struct lines *lines, const struct flowtap_ete_packet *packet,
			bool m_profile)
{
	switch (packet->type) {
	case FLOWTAP_ETE_DISCARD:
		add(lines, "discard()");
		break;
	case FLOWTAP_ETE_OVERFLOW:
		add(lines, "discard()");
		add(lines, "overflow()");
		break;
	case FLOWTAP_ETE_TRACE_INFO:
		add_trace_info(lines, packet);
		break;
	case FLOWTAP_ETE_TIMESTAMP:
		add_time(lines, packet);
		break;
	case FLOWTAP_ETE_TIMESTAMP_MARKER:
		add(lines, "marker()");
		break;
	case FLOWTAP_ETE_TRACE_ON:
		add(lines, "trace_on()");
		break;
	case FLOWTAP_ETE_EXCEPTION:
		add_exception(lines, packet, m_profile);
		break;
	case FLOWTAP_ETE_EXCEPTION_RETURN:
		add(lines, "exception_return()");
		break;
	case FLOWTAP_ETE_FUNCTION_RETURN:
		add(lines, "function_return()");
		break;
	case FLOWTAP_ETE_INSTRUMENTATION:
		add(lines, "instrumentation(EL%u, 0x%llx)", packet->instrumentation_el,
		    (unsigned long long)packet->instrumentation);
		break;
	case FLOWTAP_ETE_TRANSACTION_START:
		add(lines, "transaction_start()");
		break;
	case FLOWTAP_ETE_TRANSACTION_COMMIT:
		add(lines, "transaction_commit()");
		break;
	case FLOWTAP_ETE_CYCLE_COUNT_1:
	case FLOWTAP_ETE_CYCLE_COUNT_2:
	case FLOWTAP_ETE_CYCLE_COUNT_3:
		if (packet->has_cycles)
			add(lines, "cycle_count(%llu)", (unsigned long long)packet->cycles);
		else
			add(lines, "cycle_count(unknown)");
		break;
	case FLOWTAP_ETE_EVENT:
		for (int i = 0; i < 4; i++)
			if (packet->events & 1 << i)
				add(lines, "event(%d)", i);
		break;
	case FLOWTAP_ETE_CONTEXT:
	case FLOWTAP_ETE_ADDRESS_CONTEXT:
		add_context(lines, packet);
		if (packet->type == FLOWTAP_ETE_ADDRESS_CONTEXT)
			add_address(lines, packet);
		break;
	case FLOWTAP_ETE_TARGET_EXACT:
	case FLOWTAP_ETE_TARGET_SHORT:
	case FLOWTAP_ETE_TARGET_LONG:
		add_address(lines, packet);
		break;
	case FLOWTAP_ETE_Q:
		if (packet->q_count)
			add(lines, "q(%u)", packet->q_count);
		else
			add(lines, "q()");
		if (packet->has_address)
			add_address(lines, packet);
		break;
	case FLOWTAP_ETE_SOURCE_EXACT:
	case FLOWTAP_ETE_SOURCE_SHORT:
	case FLOWTAP_ETE_SOURCE_LONG:
		add(lines, "source_address(0x%llx)", (unsigned long long)packet->address.address);
		break;
	default:
		break;
	}
}

static void add_elements(struct lines *lines, const struct flowtap_ete_packet *packet,
			 bool m_profile)
{
	if (packet->commit)
		add(lines, "commit(%u)", packet->commit);
	for (unsigned int i = 0; i < packet->atom_count; i++)
		add(lines, "atom(%c)", packet->atoms >> i & 1 ? 'E' : 'N');
	if (packet->cancel)
		add(lines, "cancel(%u)", packet->cancel);
	if (packet->mispredict)
		add(lines, "mispredict()");
	add_element(lines, packet, m_profile);
}

/* --- What each test does with each file. --- */

struct __test_metadata;
typedef void (*check_file)(struct __test_metadata *_metadata, struct golden *golden);

static int is_golden(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > 7 && !strcmp(entry->d_name + length - 7, ".golden");
}

static void for_each(struct __test_metadata *_metadata, check_file check)
{
	struct dirent **names;
	int n = scandir(GOLDEN_DIRECTORY, &names, is_golden, alphasort);

	ASSERT_GE(n, FILES_MIN);
	for (int i = 0; i < n; i++) {
		struct golden *golden = golden_load(names[i]->d_name);

		ASSERT_NE(NULL, golden);
		EXPECT_STREQ("", golden->error)
			TH_LOG("%s", golden->name);
		if (!*golden->error)
			check(_metadata, golden);
		free(golden);
		free(names[i]);
	}
	free(names);
}

/* Of a gap only what is expected counts: `gap overflow` is also `gap overflow address=1000`. */
static bool same(const char *want, const char *got)
{
	size_t length = strlen(want);

	if (!strncmp(want, "gap ", 4) && !strncmp(want, got, length))
		return !got[length] || got[length] == ' ';
	return !strcmp(want, got);
}

#define COMPARE(golden, what, want, n_want, got) do {						\
	size_t i_ = 0, n_ = (n_want);								\
												\
	while (i_ < n_ && i_ < (got)->n && same((want)[i_], (got)->line[i_]))			\
		i_++;										\
	EXPECT_STREQ(i_ < n_ ? (want)[i_] : "(the end)",					\
		     i_ < (got)->n ? (got)->line[i_] : "(the end)")				\
		TH_LOG("%s: %s, line %zu", (golden)->name, what, i_ + 1);			\
	if (i_ < n_ || i_ < (got)->n)								\
		for (size_t l_ = 0; l_ < (got)->n; l_++)					\
			TH_LOG("\t%s", (got)->line[l_]);					\
} while (0)

static void check_packets(struct __test_metadata *_metadata, struct golden *golden)
{
	struct flowtap_ete_parser parser;
	struct flowtap_ete_packet packet;
	struct lines *elements = calloc(1, sizeof(*elements));
	size_t at = 0, used;

	flowtap_ete_parser_init(&parser, &golden->config);
	for (size_t i = 0; i < golden->n_packets && at < golden->size; i++) {
		const struct golden_packet *want = &golden->packets[i];

		/* What follows an unsynced region is not its affair. */
		used = flowtap_ete_parse(&parser, golden->stream + at, golden->size - at, &packet);
		EXPECT_STREQ(want->name, flowtap_ete_packet_name(packet.type))
			TH_LOG("%s: packet %zu", golden->name, i + 1);
		EXPECT_EQ(want->size, used)
			TH_LOG("%s: packet %zu, %s", golden->name, i + 1, want->name);
		if (want->size != used)
			break;
		at += used;
		add_elements(elements, &packet, golden->config.m_profile);
	}
	EXPECT_EQ(golden->size, at)
		TH_LOG("%s", golden->name);
	COMPARE(golden, "elements", golden->elements, golden->n_elements, elements);
	free(elements);
}

static void read_lines(struct lines *lines, char *text)
{
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		add(lines, "%s", line);
}

/* piece: so many bytes are given at once; 0: all. */
static int decode(struct golden *golden, size_t piece, struct lines *flow)
{
	struct flowtap_ete_images images = { .find = golden_find, .argument = golden };
	struct flowtap_blocks *blocks;
	struct output output = output_new();
	struct flowtap_text *text;
	struct flowtap_ete *ete;
	int status;

	blocks = flowtap_blocks_new(flowtap_ete_wfx_is_p0(&golden->config) ?
				    flowtap_arm_block_wfx : flowtap_arm_block, 0);
	if (flowtap_text_new(output.fd, blocks, &text))
		return -1;
	status = flowtap_ete_new(&golden->config, &golden->options, &images, blocks,
				 flowtap_text_sink(text), &ete);
	if (status)
		return status;
	if (!piece)
		piece = golden->size;
	for (size_t at = 0; at < golden->size && !status; at += piece)
		status = flowtap_ete_decode(ete, golden->stream + at,
					    piece < golden->size - at ? piece : golden->size - at);
	if (!status)
		status = flowtap_ete_finish(ete);
	if (!status)
		status = flowtap_text_finish(text);
	flowtap_ete_free(ete);
	flowtap_text_free(text);
	flowtap_blocks_free(blocks);
	output_read(&output);
	read_lines(flow, (char *)output.bytes);
	output_free(&output);
	return status;
}

static void check_flow(struct __test_metadata *_metadata, struct golden *golden)
{
	struct lines *flow = calloc(1, sizeof(*flow));

	EXPECT_EQ(0, decode(golden, 0, flow))
		TH_LOG("%s", golden->name);
	if (golden->has_flow)
		COMPARE(golden, "flow", golden->flow, golden->n_flow, flow);
	free(flow);
}

static void check_pieces(struct __test_metadata *_metadata, struct golden *golden)
{
	static const size_t pieces[] = { 1, 2, 3, 7 };
	struct lines *whole = calloc(1, sizeof(*whole));

	EXPECT_EQ(0, decode(golden, 0, whole));
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		struct lines *flow = calloc(1, sizeof(*flow));

		EXPECT_EQ(0, decode(golden, pieces[i], flow));
		COMPARE(golden, "flow in pieces", whole->line, whole->n, flow);
		free(flow);
	}
	free(whole);
}

TEST(the_packets_and_elements_of_each_golden_file_are_found)
{
	for_each(_metadata, check_packets);
}

TEST(each_golden_file_becomes_its_flow)
{
	for_each(_metadata, check_flow);
}

TEST(a_stream_in_pieces_of_any_size_becomes_the_same_flow)
{
	for_each(_metadata, check_pieces);
}

TEST_HARNESS_MAIN
