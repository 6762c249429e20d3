// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* What a roster has, into an archive and to whoever wants to know. */
#include "capture/roster_internal.h"

#include <search.h>
#include <string.h>

/* --- Into an archive. --- */

struct writing {
	struct flowtap_archive_writer *writer;
	int error;
};

static int write_mapping(const struct roster_mapping *mapping,
			 struct flowtap_archive_writer *writer)
{
	const struct flowtap_archive_mapping *head = &mapping->head;
	const struct roster_origin *origin = mapping->origin;
	const size_t front_size = roster_code_at(head);
	uint8_t front[sizeof(*head) + ROSTER_PATH_BYTES + 8] = { 0 };

	memcpy(front, head, sizeof(*head));
	memcpy(front + sizeof(*head), origin->bytes, origin->path_size);
	if (!origin->size)
		return flowtap_archive_write(writer, FLOWTAP_ARCHIVE_MAPPING, 0, 0, front,
					     sizeof(*head) + origin->path_size, NULL, 0);
	return flowtap_archive_write(writer, FLOWTAP_ARCHIVE_BYTES, 0, 0, front, front_size,
				     origin->bytes + origin->path_size + head->file_offset,
				     head->size);
}

static int write_process(const struct roster_process *process,
			 struct flowtap_archive_writer *writer)
{
	int error = 0;

	for (size_t i = 0; i < process->n_threads && !error; i++) {
		const struct roster_thread *thread = &process->threads[i];
		struct flowtap_archive_task task = {
			.event = FLOWTAP_TASK_COMM,
			.pid = process->pid,
			.tid = thread->tid,
			.parent_pid = process->parent,
			.comm_size = thread->comm_size,
		};

		memcpy(task.comm, thread->comm, sizeof(task.comm));
		error = flowtap_archive_write(writer, FLOWTAP_ARCHIVE_TASK, 0, 0, &task,
					      sizeof(task), NULL, 0);
	}
	for (size_t i = 0; i < process->n_mappings && !error; i++)
		error = write_mapping(&process->mappings[i], writer);
	return error;
}

static void visit(const void *node, VISIT which, void *argument)
{
	const struct roster_process *const *process = node;
	struct writing *writing = argument;

	if ((which == postorder || which == leaf) && !writing->error)
		writing->error = write_process(*process, writing->writer);
}

static int write_entries(const struct roster_event *entries, size_t n,
			 struct flowtap_archive_writer *writer)
{
	int error = 0;

	for (size_t i = 0; i < n && !error; i++)
		error = flowtap_archive_write(writer, entries[i].type, entries[i].cpu,
					      entries[i].time, entries[i].payload, entries[i].size,
					      NULL, 0);
	return error;
}

int flowtap_roster_write(const struct flowtap_roster *roster,
			 struct flowtap_archive_writer *writer)
{
	struct writing writing = { .writer = writer };

	writing.error = write_entries(roster->shared, roster->n_shared, writer);
	twalk_r(roster->processes, visit, &writing);
	if (!writing.error)
		writing.error = write_entries(roster->log, roster->n_log, writer);
	if (!writing.error && roster->dropped)
		writing.error = flowtap_archive_write(writer, FLOWTAP_ARCHIVE_LOST, 0, 0,
						      &roster->dropped, sizeof(roster->dropped),
						      NULL, 0);
	return writing.error;
}

/* --- To whoever wants to know. --- */

struct mapping_report {
	int (*mapped)(void *argument, const struct flowtap_mapping *mapping);
	void *argument;
	int error;
};

/* The head was looked at when it came into the roster. */
static void report_mapping(struct mapping_report *report,
			   const struct flowtap_archive_mapping *head, const void *path)
{
	char text[ROSTER_PATH_BYTES + 1];
	struct flowtap_mapping mapping = {
		.time = head->time,
		.start = head->start,
		.size = head->size,
		.file_offset = head->file_offset,
		.pid = head->pid,
		.executable = head->executable,
		.path = text,
	};

	if (head->build_id_size <= FLOWTAP_BUILD_ID_MAX) {
		mapping.build_id_size = (uint8_t)head->build_id_size;
		memcpy(mapping.build_id, head->build_id, head->build_id_size);
	}
	memcpy(text, path, head->path_size);
	text[head->path_size] = 0;
	report->error = report->mapped(report->argument, &mapping);
}

static void report_process(const void *node, VISIT which, void *argument)
{
	const struct roster_process *const *process = node;
	struct mapping_report *report = argument;

	if (which != postorder && which != leaf)
		return;
	for (size_t i = 0; i < (*process)->n_mappings && !report->error; i++) {
		const struct roster_mapping *mapping = &(*process)->mappings[i];

		if (!mapping->origin->size)
			report_mapping(report, &mapping->head, mapping->origin->bytes);
	}
}

int flowtap_roster_mappings(const struct flowtap_roster *roster,
			    int (*mapped)(void *argument, const struct flowtap_mapping *mapping),
			    void *argument)
{
	struct mapping_report mapping_report = { .mapped = mapped, .argument = argument };

	twalk_r(roster->processes, report_process, &mapping_report);
	for (size_t i = 0; i < roster->n_log && !mapping_report.error; i++) {
		const struct roster_event *entry = &roster->log[i];
		struct flowtap_archive_mapping head;

		if (entry->type == FLOWTAP_ARCHIVE_MAPPING && flowtap_roster_is_whole(entry, &head))
			report_mapping(&mapping_report, &head, entry->payload + sizeof(head));
	}
	return mapping_report.error;
}
