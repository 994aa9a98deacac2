/*
 * elapse backup: copies a directory that may be in use.
 */
#include <inttypes.h>

#include "../../base/assert.h"
#include "../../engine/upkeep/upkeep.h"
#include "../common/command.h"
#include "../common/options.h"
#include "../common/output.h"

static const struct command_help help = {
    .usage = "Usage: elapse backup DIRECTORY TARGET\n",
    .purpose = "Makes TARGET a copy of the directory of a durable queue, which may be in use\n"
               "meanwhile. On one file system most of the files are hard links and cost no room;\n"
               "on another they are copied. TARGET must not exist, or be empty. It is there when\n"
               "it is complete and on the disk, and not before. It opens as any other directory.\n",
    .example = "Example:\n"
               "  elapse backup orders-data backups/monday\n",
};

enum exit_status backup_command(int argc, char **argv)
{
    struct command_line line = {.help = &help};
    struct elapse__upkeep_backup backup;
    struct elapse__upkeep_fault fault;
    enum exit_status status;

    if (!options_read(&line, argc, argv, &status))
        return status;
    if (line.argument_count != 2)
        return usage_error("give a directory and a target");
    if (!elapse__upkeep_backup(line.arguments[0], line.arguments[1], &backup, &fault))
        return error_of(STATUS_FAILED, "%s", fault.text);
    ELAPSE__ASSERT_THAT(backup.linked, <=, backup.segments);
    output_add_format("%" PRIu64 " files, of which %" PRIu64 " are linked; %" PRIu64
                      " bytes copied\n",
                      backup.segments, backup.linked, backup.copied_bytes);
    return output_finish();
}
