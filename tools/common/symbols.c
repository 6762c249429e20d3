// SPDX-License-Identifier: GPL-2.0-only
/* Asks the files of --symbols first, then the symbols of the recording. */
#include "common/symbols.h"

#include "common/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int add(struct symbols *symbols, const char *path, uint64_t offset)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), error;

	if (fd < 0)
		return -errno;
	if (!symbols->files)
		symbols->files = flowtap_symbol_files_new();
	error = symbols->files ? flowtap_symbol_files_add(symbols->files, fd, offset) : -ENOMEM;
	close(fd);
	return error;
}

const char *option_symbols(const struct command_option *option, const char *file)
{
	struct symbols_request *request = option->into;

	if (request->n == SYMBOLS_FILES)
		return "one of at most 64 files";
	request->files[request->n++] = file;
	return NULL;
}

static int open_one(struct symbols *symbols, const char *command, const char *argument)
{
	char *path = strdup(argument), *at = path ? strrchr(path, '@') : NULL;
	uint64_t offset = 0;
	int error;

	if (at && at != path && number_parse(at + 1, 0, UINT64_MAX, &offset))
		*at = 0;
	if (path && !*path) {
		free(path);
		return misused(command, "'%s' is not FILE[@OFFSET]", argument);
	}
	error = path ? add(symbols, path, offset) : -ENOMEM;
	if (error)
		complain("--symbols '%s': %s", path ? path : argument,
			 error == -ENOEXEC ? "is no ELF file" :
			 error == -EOPNOTSUPP ?
				"is yet to be linked (.o, .ko): its functions have no addresses" :
			 error == -ENOENT && access(path, F_OK) == 0 ?
				"has no symbols of functions: name the file with its debug information" :
			 error == -E2BIG ? "is one file too many" : strerror(-error));
	free(path);
	return error ? STATUS_ERROR : 0;
}

int symbols_open(struct symbols *symbols, const struct symbols_request *request,
		 const char *command)
{
	int status = 0;

	*symbols = (struct symbols){ .off = request->none };
	for (unsigned int i = 0; i < request->n && !status; i++)
		status = open_one(symbols, command, request->files[i]);
	return status;
}

const char *symbols_find(void *argument, uint64_t address, uint64_t *offset)
{
	const struct symbols *symbols = argument;
	const char *name = NULL;

	if (symbols->off)
		return NULL;
	if (symbols->files)
		name = flowtap_symbol_files_find(symbols->files, address, offset);
	if (!name && symbols->profile)
		name = flowtap_profile_symbol(symbols->profile, address, offset);
	return name;
}

const char *symbols_object(void *argument, uint64_t address)
{
	const struct symbols *symbols = argument;
	const struct flowtap_profile *profile = symbols->profile;
	const struct flowtap_code *code = NULL;

	if (profile)
		code = flowtap_address_map_find(profile->map, profile->pid, profile->time, address);
	return code ? code->path : NULL;
}

void symbols_free(struct symbols *symbols)
{
	flowtap_symbol_files_free(symbols->files);
	symbols->files = NULL;
}
