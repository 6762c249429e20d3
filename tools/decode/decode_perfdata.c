// SPDX-License-Identifier: GPL-2.0-only
/* flowtap decode of a perf.data: CPU after CPU, with the side band that perf recorded. */
#include "decode/decode_perfdata.h"

#include "common/damage.h"
#include "common/input_file.h"
#include "common/tool.h"
#include "decode/pick.h"
#include "decode/summary_lists.h"
#include "decode/trace.h"

#include <errno.h>
#include <flowtap/input.h>
#include <flowtap/perfdata.h>
#include <flowtap/profile.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MISSING_MAX 16

/* A page where nothing was mapped. */
struct missing_page {
	uint64_t page;
	uint32_t pid;
};

/* Between pick and profile: where nothing was known. */
struct watch {
	struct flowtap_sink sink;	/* first: the pick's */
	struct flowtap_profile profile;
	struct trace_decoding *decoding;
	const struct flowtap_perfdata_counts *counts;	/* of the CPU that is decoded */
	uint64_t reported;		/* of its bytes, as progress */
	struct missing_page pages[MISSING_MAX];
	size_t n_pages;
	bool kernel;			/* there was none of the kernel's code somewhere */
};

struct perf {
	struct trace_decoding decoding;	/* first */
	struct flowtap_perfdata *perfdata;
	struct flowtap_address_map *map;
	struct pick pick;		/* before the watch: what --tid leaves out */
	struct watch watch;
	struct flowtap_perfdata_decoder *survey;
	uint64_t *bytes;		/* of trace, by the number of the CPU in info */
	bool *lost;			/* so: some of it is not there */
	uint64_t damages;
	const char *kernel;		/* why there is no code of it or of its modules, or NULL */
};

static void on_damage(void *argument, uint64_t offset, const char *reason)
{
	struct perf *perf = argument;

	progress_hide(&perf->decoding.progress);
	damage_complain(perf->decoding.options->input, &(struct damage){
		.nth = ++perf->damages, .offset = offset, .reason = reason,
	});
}

/* --- The sink. --- */

static int watch_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
		       uint64_t target)
{
	struct watch *watch = (struct watch *)sink;

	return watch->profile.sink.block(&watch->profile.sink, block, taken, target);
}

/* Nothing was mapped there. */
static void add_missing_page(struct watch *watch, uint64_t page)
{
	uint32_t pid = page >> 63 ? 0 : watch->profile.pid;

	watch->kernel |= page >> 63;
	for (size_t i = 0; i < watch->n_pages; i++)
		if (watch->pages[i].page == page && watch->pages[i].pid == pid)
			return;
	if (watch->n_pages < MISSING_MAX)
		watch->pages[watch->n_pages++] = (struct missing_page){ page, pid };
}

static int watch_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	struct watch *watch = (struct watch *)sink;

	if (element->kind == FLOWTAP_ELEMENT_GAP && element->gap.reason == FLOWTAP_GAP_NO_IMAGE)
		add_missing_page(watch, element->gap.address & ~0xfffULL);
	return watch->profile.sink.element(&watch->profile.sink, element);
}

static void on_time(void *argument, uint64_t time)
{
	struct watch *watch = argument;

	watch->profile.time = time;
	if (watch->counts) {
		trace_progress(watch->decoding, watch->counts->bytes - watch->reported);
		watch->reported = watch->counts->bytes;
	}
}

/* --- One CPU. --- */

static int decode_with(struct perf *perf, struct trace_output *output,
		       const struct flowtap_perfdata_cpu *cpu)
{
	const struct decode_options *command = perf->decoding.options;
	const struct flowtap_ete_options ete = { .keep_failed_transactions = command->keep_failed };
	const struct flowtap_perfdata_options options = {
		.map = perf->map,
		.sink = &perf->pick.sink,
		.blocks = output->blocks,
		.cpu = cpu->cpu,
		.survey = perf->survey,
		.ete = &ete,
		.time = on_time,
		.argument = &perf->watch,
	};
	const struct flowtap_perfdata_counts *counts;
	struct flowtap_perfdata_decoder *decoder;
	uint64_t before = perf->watch.profile.instructions;
	size_t n;
	int error;

	perf->watch.profile.next = output->format.sink;
	if (command->format.symbols)
		command->format.symbols->profile = &perf->watch.profile;
	perf->watch.reported = 0;
	/* What comes before the first context is a loss, whosever. */
	pick_begin(&perf->pick, true);
	error = flowtap_perfdata_decoder_new(perf->perfdata, &options, &decoder);
	if (!error) {
		counts = flowtap_perfdata_counts(decoder, &n);
		for (size_t i = 0; i < n; i++)
			if (counts[i].cpu == cpu->cpu)
				perf->watch.counts = &counts[i];
		error = flowtap_perfdata_decode(decoder);
		perf->watch.counts = NULL;
	}
	if (error)
		trace_problem(&perf->decoding, output->path, error);
	if (!decoder)
		return error;
	counts = flowtap_perfdata_counts(decoder, &n);
	for (size_t i = 0; i < n; i++) {
		if (!counts[i].ete)
			continue;
		trace_add_counts(&perf->decoding, counts[i].ete);
		perf->decoding.sessions += counts[i].ranges;
	}
	perf->decoding.cpus[perf->decoding.n_cpus - 1].instructions =
		perf->watch.profile.instructions - before;
	flowtap_perfdata_decoder_free(decoder);
	return error;
}

static int decode_cpu(struct perf *perf, struct trace_output *output,
		      const struct flowtap_perfdata_cpu *cpu, int input)
{
	const struct flowtap_perfdata_info *info = flowtap_perfdata_info(perf->perfdata);
	char name[16], *comment;
	int error;

	snprintf(name, sizeof(name), "cpu%" PRIu32, cpu->cpu);
	if (asprintf(&comment,
		     "input=%s\nhost=%s\nrelease=%s\nperf=%s\ncommand=%s\ncpu=%" PRIu32 "\n",
		     perf->decoding.options->input, info->hostname, info->release, info->version,
		     info->command, cpu->cpu) < 0)
		return trace_problem(&perf->decoding, "", -ENOMEM);
	error = trace_add_cpu(&perf->decoding, name, cpu->cpu) ? 0 :
		trace_problem(&perf->decoding, "", -ENOMEM);
	if (!error)
		error = trace_output_open(&perf->decoding, output, name, &cpu->config, input,
					  comment);
	free(comment);
	if (!error)
		error = decode_with(perf, output, cpu);
	return error;
}

static bool is_decoded(const struct perf *perf, size_t i)
{
	const struct flowtap_perfdata_cpu *cpu = &flowtap_perfdata_info(perf->perfdata)->cpus[i];
	char name[16];

	snprintf(name, sizeof(name), "cpu%" PRIu32, cpu->cpu);
	return (perf->bytes[i] || perf->lost[i]) && trace_wants(&perf->decoding, name, cpu->cpu);
}

/* None, or not of the CPU that is asked for. */
static int no_trace(const struct perf *perf)
{
	const struct flowtap_perfdata_info *info = flowtap_perfdata_info(perf->perfdata);
	const struct decode_options *options = perf->decoding.options;
	struct pick_list cpus = { .n = 0 };

	if (!info->n_cpus && info->n_etmv3) {
		complain("'%s': its trace units are ETMv3 or PTM, which are not decoded",
			 input_name(options->input));
		advise("`perf script` decodes PTM, where it was built with OpenCSD");
		return -ENOENT;
	}
	for (size_t i = 0; i < info->n_cpus; i++)
		if (perf->bytes[i])
			pick_add(&cpus, info->cpus[i].cpu);
	if (!cpus.n && info->aux_bytes) {
		complain("'%s': it describes no trace unit that its trace is of",
			 input_name(options->input));
		advise("record anew with all CPUs online that are to be traced");
		return -ENOENT;
	}
	complain("'%s' has no trace%s%s", input_name(options->input),
		 options->cpu ? " of CPU " : "", options->cpu ? options->cpu : "");
	pick_advise(&cpus, "CPUs that it has");
	return -ENOENT;
}

/* The decoders named all that they decoded. */
static void count_picked(struct perf *perf)
{
	struct flowtap_ete_counts *counts = &perf->decoding.counts;
	const struct flowtap_profile *profile = &perf->watch.profile;

	counts->instructions = profile->instructions;
	counts->blocks = profile->blocks;
	memcpy(counts->gaps, profile->gaps, sizeof(counts->gaps));
}

static int decode_cpus(struct perf *perf, int input)
{
	const struct flowtap_perfdata_info *info = flowtap_perfdata_info(perf->perfdata);
	struct trace_output output = { .file.fd = -1 };
	bool standard = !strcmp(perf->decoding.options->output, "-"), without;
	uint64_t gaps[FLOWTAP_GAP_REASONS];
	size_t n = 0, made = 0, empty = 0;
	int error = 0;

	for (size_t i = 0; i < info->n_cpus; i++) {
		n += is_decoded(perf, i);
		perf->decoding.expected += is_decoded(perf, i) ? perf->bytes[i] : 0;
	}
	if (!n)
		return no_trace(perf);
	perf->decoding.several = n > 1;
	for (size_t i = 0; !error && i < info->n_cpus; i++) {
		if (!is_decoded(perf, i))
			continue;
		memcpy(gaps, perf->watch.profile.gaps, sizeof(gaps));
		error = decode_cpu(perf, &output, &info->cpus[i], input);
		/* A CPU on which the thread never ran has no output. */
		without = !error && !standard && pick_some(&perf->pick) && !perf->pick.here;
		if (!standard || error)
			error = trace_output_close(&perf->decoding, &output,
						   without ? -ENOENT : error);
		/* There may be code for what others executed. */
		if (!standard && perf->decoding.several && error == -ENODATA) {
			empty++;
			perf->decoding.undecoded += !!memcmp(gaps, perf->watch.profile.gaps,
							     sizeof(gaps));
			error = 0;
		} else if (without && error == -ENOENT) {
			error = 0;
		} else {
			made += !error;
		}
	}
	if (!error && empty && !made)
		error = -ENODATA;
	count_picked(perf);
	if (!error && pick_some(&perf->pick) && !perf->pick.found) {
		pick_nothing(&perf->pick, input_name(perf->decoding.options->input));
		error = -ENOENT;
	}
	return trace_output_close(&perf->decoding, &output, error);
}

/* --- What there is, and the code. --- */

/* Which CPUs have a trace, and how many frames are damaged: decoders of one CPU each see all. */
static int survey(struct perf *perf)
{
	const struct flowtap_perfdata_info *info = flowtap_perfdata_info(perf->perfdata);
	const struct flowtap_perfdata_options options = { .cpu = FLOWTAP_PERFDATA_NONE };
	const struct flowtap_perfdata_counts *counts;
	int error = flowtap_perfdata_decoder_new(perf->perfdata, &options, &perf->survey);
	size_t n;

	perf->bytes = calloc(info->n_cpus + 1, sizeof(perf->bytes[0]));
	perf->lost = calloc(info->n_cpus + 1, sizeof(perf->lost[0]));
	if (!error && (!perf->bytes || !perf->lost))
		error = -ENOMEM;
	if (!error)
		error = flowtap_perfdata_survey(perf->survey);
	if (!error) {
		perf->decoding.frame_damages = flowtap_perfdata_bad_frames(perf->survey);
		counts = flowtap_perfdata_counts(perf->survey, &n);
		for (size_t i = 0; i < n; i++)
			for (size_t c = 0; c < info->n_cpus; c++)
				if (info->cpus[c].cpu == counts[i].cpu) {
					perf->bytes[c] = counts[i].bytes;
					perf->lost[c] = counts[i].losses;
				}
	}
	return error;
}

/* Where the kernel's memory was not recorded there is vmlinux at most. */
static const char *only_vmlinux(const char *path)
{
	int kcore = flowtap_input_open_kcore(path);

	if (kcore < 0)
		return "vmlinux has none of modules and of what was made at run time: "
		       "perf record --kcore";
	close(kcore);
	return NULL;
}

/* A process is called as its first thread is. */
static int on_record(void *argument, const struct flowtap_perfdata_record *record)
{
	struct perf *perf = argument;
	uint32_t pid, tid;

	if (record->type != PERF_RECORD_COMM || record->size < 17)
		return 0;
	memcpy(&pid, record->bytes + 8, sizeof(pid));
	memcpy(&tid, record->bytes + 12, sizeof(tid));
	if (pid != tid)
		return 0;
	return flowtap_profile_set_name(&perf->watch.profile, pid, (const char *)record->bytes + 16,
					strnlen((const char *)record->bytes + 16, record->size - 16));
}

static int load(struct perf *perf, int input)
{
	const struct decode_options *options = perf->decoding.options;
	const char *reason = NULL;
	int error = flowtap_perfdata_open(input, on_damage, perf, &perf->perfdata, &reason);

	if (error) {
		complain("'%s': %s", input_name(options->input),
			 reason ? reason : strerror(-error));
		if (error == -EPROTONOSUPPORT || error == -ENODATA)
			advise("flowtap reads what perf record -e cs_etm// wrote on arm64");
		return error;
	}
	perf->map = flowtap_address_map_new(options->sysroot);
	error = perf->map ? flowtap_perfdata_load(perf->perfdata, options->input, options->sysroot,
						  perf->map, &perf->kernel) : -ENOMEM;
	if (perf->map)
		flowtap_profile_init(&perf->watch.profile, perf->map);
	if (!error && !perf->kernel)
		perf->kernel = only_vmlinux(options->input);
	if (!error)
		error = flowtap_perfdata_walk(perf->perfdata, on_record, perf);
	if (!error)
		error = survey(perf);
	return error ? trace_problem(&perf->decoding, "", error) : 0;
}

/* --- What the common summary does not say. --- */

static void print_info(FILE *file, const struct perf *perf)
{
	const struct flowtap_perfdata_info *info = flowtap_perfdata_info(perf->perfdata);
	char number[32], lost[32];

	if (*info->release) {
		fputs("  recorded on   ", file);
		print_plain(file, info->hostname, strlen(info->hostname));
		fputs(*info->hostname ? ", Linux " : "Linux ", file);
		print_plain(file, info->release, strlen(info->release));
		fputs(" ", file);
		print_plain(file, info->arch, strlen(info->arch));
		fputc('\n', file);
	}
	for (size_t i = 0; i < info->n_cpus; i++)
		if (perf->bytes[i])
			fprintf(file, "  CPU %-9" PRIu32 " %s of trace\n", info->cpus[i].cpu,
				number_bytes(perf->bytes[i], number));
	if (info->clocked)
		fputs("  timestamps    are of another clock than the records (perf record -k)\n",
		      file);
	if (info->aux_missing)
		fprintf(file, "  %s of trace are not in the file\n",
			number_bytes(info->aux_missing, number));
	if (info->aux_unnamed)
		fprintf(file, "  %s of trace are named by no AUX record: it was lost\n",
			number_bytes(info->aux_unnamed, number));
	if (info->lost || info->throttled)
		fprintf(file, "  %s record%s lost, %s time%s throttled\n",
			number_group(info->lost, number), info->lost == 1 ? " was" : "s were",
			number_group(info->throttled, lost), plural(info->throttled));
}

static void print_missing(FILE *file, const struct perf *perf)
{
	const struct watch *watch = &perf->watch;
	char number[32];

	for (size_t i = 0; i < watch->profile.n_missing; i++) {
		fputs("  no code of ", file);
		print_plain(file, watch->profile.missing[i].path,
			    strlen(watch->profile.missing[i].path));
		fputs(": ", file);
		print_plain(file, watch->profile.missing[i].reason,
			    strlen(watch->profile.missing[i].reason));
		fprintf(file, " (gaps: %s)\n",
			number_group(watch->profile.missing[i].gaps, number));
	}
	for (size_t i = 0; i < watch->n_pages; i++)
		fprintf(file, "  nothing known in the page at 0x%" PRIx64 " (pid %" PRIu32 ")\n",
			watch->pages[i].page, watch->pages[i].pid);
	if (perf->kernel && watch->kernel)
		fprintf(file, "  no code of the kernel: %s\n", perf->kernel);
	summary_print_unverified(file, &watch->profile);
	if (watch->profile.n_missing && !perf->decoding.options->sysroot)
		fputs("  --sysroot DIR names the recorded machine's files\n", file);
}

static void json_info(struct json *json, const struct perf *perf)
{
	const struct flowtap_perfdata_info *info = flowtap_perfdata_info(perf->perfdata);

	json_open(json, "recording", '{');
	if (*info->command)
		json_string(json, "command", info->command);
	if (*info->hostname)
		json_string(json, "host", info->hostname);
	if (*info->release)
		json_string(json, "kernel", info->release);
	if (*info->arch)
		json_string(json, "arch", info->arch);
	if (*info->version)
		json_string(json, "perf", info->version);
	json_number(json, "missing_bytes", info->aux_missing);
	json_number(json, "unnamed_bytes", info->aux_unnamed);
	json_number(json, "lost_records", info->lost);
	json_number(json, "throttled", info->throttled);
	json_number(json, "damages", perf->damages);
	json_close(json, '}');
}

static void json_pages(struct json *json, const struct watch *watch)
{
	json_open(json, "missing_pages", '[');
	for (size_t i = 0; i < watch->n_pages; i++) {
		json_open(json, NULL, '{');
		json_hex(json, "page", watch->pages[i].page);
		json_number(json, "pid", watch->pages[i].pid);
		json_close(json, '}');
	}
	json_close(json, ']');
}

/* The decoding is the first of what it is a part of. */
static void json_lists(struct json *json, const struct trace_decoding *decoding)
{
	const struct perf *perf = (const struct perf *)decoding;

	json_info(json, perf);
	summary_json_processes(json, &perf->watch.profile);
	summary_json_missing(json, &perf->watch.profile);
	json_pages(json, &perf->watch);
	if (perf->kernel && perf->watch.kernel)
		json_string(json, "missing_kernel", perf->kernel);
}

int perf_decode(const struct decode_options *options, int input)
{
	struct perf *perf = calloc(1, sizeof(*perf));
	int status = STATUS_ERROR;
	FILE *file = strcmp(options->output, "-") ? stdout : stderr;
	int error;

	if (!perf) {
		complain("no memory");
		return status;
	}
	trace_init(&perf->decoding, options, "perf.data");
	perf->decoding.json_lists = json_lists;
	perf->watch.sink = (struct flowtap_sink){ .block = watch_block, .element = watch_element };
	perf->watch.decoding = &perf->decoding;
	pick_init(&perf->pick, &perf->watch.sink, options->tid, NULL);
	perf->pick.marks_others = true;
	if (!load(perf, input)) {
		error = decode_cpus(perf, input);
		perf->decoding.code_bytes = flowtap_address_map_held(perf->map);
		status = trace_finish(&perf->decoding, error);
		/* With the head that trace_finish printed. */
		if ((!error || error == -ENODATA) && !options->quiet && !options->json) {
			print_info(file, perf);
			summary_print_processes(file, &perf->watch.profile);
			print_missing(file, perf);
		}
		if (status == STATUS_OK && perf->damages)
			status = STATUS_DAMAGED;
	}
	flowtap_profile_free(&perf->watch.profile);
	flowtap_address_map_free(perf->map);
	flowtap_perfdata_decoder_free(perf->survey);
	flowtap_perfdata_close(perf->perfdata);
	free(perf->bytes);
	free(perf->lost);
	trace_free(&perf->decoding);
	free(perf);
	return status;
}
