// SPDX-License-Identifier: GPL-2.0-only
/* Checks STF files and says what is in them. */
#include "stfcheck.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
	"usage: stfcheck [-s] [-i] [-r] FILE...\n"
	"  -s  also check what only flowtap's writer promises\n"
	"  -i  print each instruction: pc opcode size next|- pid tid cpu mode [forced] [trapped]\n"
	"      [A64|A32|T32]\n"
	"  -r  print each record: offset name, and the text of comments\n"
	"Exit status: 0 all files are right, 1 one breaks a rule or is cut off, 2 cannot read\n";

static int print_insn(void *argument, const struct stfcheck_insn *insn)
{
	(void)argument;
	printf("%" PRIx64 " %0*x %u ", insn->pc, insn->size * 2, insn->opcode, insn->size);
	if (insn->taken || insn->target)
		printf("%" PRIx64, insn->target);
	else
		putchar('-');
	printf(" %u %u %u %c%s%s%s\n", insn->pid, insn->tid, insn->hw,
	       insn->mode < 4 ? "USHM"[insn->mode] : '?', insn->forced ? " forced" : "",
	       insn->trapped ? " trapped" : "",
	       insn->arm == 64 ? " A64" : insn->arm == 32 ? " A32" : insn->arm ? " T32" : "");
	return 0;
}

static void print_record(void *argument, uint64_t offset, uint8_t descriptor,
			 const uint8_t *payload, size_t size)
{
	(void)argument;
	printf("%08" PRIx64 " %s", offset, stfcheck_name(descriptor));
	if (!strcmp(stfcheck_name(descriptor), "COMMENT")) {
		putchar(' ');
		fwrite(payload + 4, 1, size - 4, stdout);
	}
	putchar('\n');
}

static void print_summary(const char *path, const struct stfcheck *check)
{
	const struct stfcheck_counts *counts = &check->counts;

	printf("%s: version %u.%u, ISA %u, IEM %u, features %#" PRIx64 "\n", path,
	       check->version[0], check->version[1], check->isa, check->iem, check->features);
	printf("instructions %" PRIu64 " (U %" PRIu64 ", S %" PRIu64 ", H %" PRIu64 ", M %" PRIu64
	       ")\ntaken %" PRIu64 ", not taken %" PRIu64 ", FORCE_PC %" PRIu64 ", exceptions %"
	       PRIu64 ", interrupts %" PRIu64 ", mode changes %" PRIu64 "\n",
	       counts->instructions, counts->modes[0], counts->modes[1], counts->modes[2],
	       counts->modes[3], counts->taken, counts->not_taken, counts->forced, counts->traps,
	       counts->interrupts, counts->mode_changes);
	printf("records:");
	for (int i = 0; i < 256; i++) {
		if (counts->records[i])
			printf(" %s %" PRIu64, stfcheck_name(i), counts->records[i]);
	}
	putchar('\n');
}

static int check_file(const char *path, struct stfcheck *check)
{
	struct stfcheck_file file = { .bytes = NULL };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int error = fd < 0 ? -errno : stfcheck_open(fd, &file);

	if (fd >= 0)
		close(fd);
	if (error) {
		fprintf(stderr, "stfcheck: %s: %s %s\n", path, strerror(-error), file.reason);
		return 2;
	}
	/* Records are told of in a run of their own. */
	error = check->record ? stfcheck_run(check, file.bytes, file.size) : 0;
	if (!error)
		error = stfcheck_run_file(check, &file);
	stfcheck_close(&file);
	print_summary(path, check);
	if (file.chunks)
		printf("chunks %" PRIu64 " of %" PRIu64 " instructions, %" PRIu64
		       " bytes left over\n", file.chunks, file.markers, file.slack);
	if (!error)
		return 0;
	printf("%s: offset %" PRIu64 ", instruction %" PRIu64 ": %s%s\n", path, check->offset,
	       check->counts.instructions, check->reason, file.reason);
	return 1;
}

int main(int argc, char **argv)
{
	struct stfcheck check = { 0 };
	int option, worst = 0;

	while ((option = getopt(argc, argv, "sirh")) != -1) {
		if (option == 's')
			check.strict = true;
		else if (option == 'i')
			check.insn = print_insn;
		else if (option == 'r')
			check.record = print_record;
		else
			return fputs(usage, option == 'h' ? stdout : stderr), option == 'h' ? 0 : 2;
	}
	if (optind == argc)
		return fputs(usage, stderr), 2;
	for (; optind < argc; optind++) {
		int status = check_file(argv[optind], &check);

		worst = status > worst ? status : worst;
	}
	return worst;
}
