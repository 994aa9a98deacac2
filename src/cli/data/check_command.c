/*
 * elapse check: finds the damage in the directory of a queue. With --repair, saves everything that
 * is not damaged.
 */
#include <inttypes.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../engine/upkeep/upkeep.h"
#include "../common/buffer.h"
#include "../common/command.h"
#include "../common/options.h"
#include "../common/output.h"

static const struct command_help help = {
    .usage = "Usage: elapse check [--repair] DIRECTORY\n",
    .purpose = "Reads everything in the directory of a durable queue, and lists all damage,\n"
               "by file and offset. It changes nothing there. No process may have the directory\n"
               "open. The exit status is 0 if all is whole, and 1 if anything is damaged.\n",
    .example = "Example:\n"
               "  elapse check orders-data\n",
};

static void print_line(void *context, const char *text)
{
    (void)context;
    output_add_masked(text);
    output_add_text("\n");
}

/* Returns the name of the new directory: DIRECTORY.repaired. */
static const char *repaired_name(struct elapse__buffer *name, const char *directory)
{
    size_t length = strlen(directory);

    while (length > 1 && directory[length - 1] == '/')
        length--;
    buffer_add(name, directory, length);
    ELAPSE__ASSERT(length <= 1 || directory[length - 1] != '/');
    buffer_add_text(name, ".repaired");
    return buffer_string(name);
}

static void print_report(const struct elapse__upkeep_report *report, const char *repaired)
{
    if (elapse__upkeep_is_whole(report)) {
        output_add_format("all is whole: %" PRIu64 " records\n", report->records);
        return;
    }
    output_add_format("damages: %" PRIu64 "; jobs whose bodies are lost: %" PRIu64
                      "; bytes of records that are lost: up to %" PRIu64 "\n",
                      report->damages, report->lost_jobs, report->lost_bytes);
    if (report->lost_bytes > 0)
        output_add_text(
            "What lay in lost records is unknown. A job may be missing, or be as it was "
            "earlier; one that had ended may be there again.\n");
    if (repaired != NULL)
        output_add_format("%s has the %" PRIu64 " jobs that are whole\n", repaired, report->jobs);
}

enum exit_status check_command(int argc, char **argv)
{
    bool repair = false;
    const struct command_option options[] = {
        option_flag("repair", &repair,
                    "if anything is damaged, save all that is whole in a new directory, "
                    "DIRECTORY.repaired; the damaged one stays as it is"),
    };
    struct command_line line = COMMAND_LINE(help, options);
    struct elapse__upkeep_report report;
    struct elapse__upkeep_fault fault;
    struct elapse__buffer name = {.bytes = NULL};
    enum exit_status status;

    if (!options_read(&line, argc, argv, &status))
        return status;
    if (line.argument_count != 1)
        return usage_error("give one directory");
    const char *repaired = repair ? repaired_name(&name, line.arguments[0]) : NULL;
    bool is_done =
        elapse__upkeep_check(line.arguments[0], repaired, print_line, NULL, &report, &fault);
    if (is_done)
        print_report(&report, repaired);
    elapse__buffer_free(&name);
    status = output_finish();
    if (!is_done)
        return error_of(STATUS_USAGE, "%s", fault.text);
    return status == STATUS_OK && !elapse__upkeep_is_whole(&report) ? STATUS_FAILED : status;
}
