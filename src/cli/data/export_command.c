/*
 * elapse export: writes all jobs of a queue as lines of JSON.
 */
#include <inttypes.h>

#include "../../base/assert.h"
#include "../../engine/upkeep/upkeep.h"
#include "../common/command.h"
#include "../common/options.h"
#include "../common/output.h"
#include "job_json.h"
#include "tube_json.h"

static const struct command_help help = {
    .usage = "Usage: elapse export DIRECTORY\n",
    .purpose = "Prints every job in the directory of a durable queue as one line of JSON, by\n"
               "increasing ids, with its options and its body, and before them one line for\n"
               "the settings of each tube that has some. Texts that are not UTF-8 are base64.\n"
               "No process may have the directory open. 'elapse import' reads it.\n",
    .example = "Example:\n"
               "  elapse export orders-data | grep '\"key\":\"4711\"'\n",
};

struct exporting {
    uint64_t last_id; /* the id of the last job; jobs come in the order of their ids */
    uint64_t damaged;
};

static bool print_job(void *context, const struct elapse__upkeep_job *job)
{
    struct exporting *exporting = context;

    ELAPSE__ASSERT_THAT(job->fields.id, >, exporting->last_id);
    exporting->last_id = job->fields.id;
    if (job->is_damaged) {
        print_error("job %" PRIu64 ": its body is damaged", job->fields.id);
        exporting->damaged++;
        return true;
    }
    job_json_write(output_begin_json(), job);
    output_end_json();
    return !output_failed();
}

static bool print_tube(void *context, const struct elapse__upkeep_tube *tube)
{
    (void)context;
    tube_json_write(output_begin_json(), tube);
    output_end_json();
    return !output_failed();
}

enum exit_status export_command(int argc, char **argv)
{
    struct command_line line = {.help = &help};
    struct exporting exporting = {.damaged = 0};
    struct elapse__upkeep_fault fault;
    enum exit_status status;

    if (!options_read(&line, argc, argv, &status))
        return status;
    if (line.argument_count != 1)
        return usage_error("give one directory");
    struct elapse__upkeep_data *data =
        elapse__upkeep_open(line.arguments[0], false, 1U << 26, &fault);
    bool is_done = data != NULL && elapse__upkeep_each_tube(data, print_tube, NULL, &fault) &&
                   elapse__upkeep_each(data, print_job, &exporting, &fault);
    if (!is_done)
        print_error("%s%s", fault.text,
                    data == NULL && fault.is_in_use
                        ? "; 'elapse backup' copies it meanwhile, and the copy can be exported"
                        : "");
    status = output_finish();
    if (data == NULL)
        return STATUS_USAGE;
    is_done = elapse__upkeep_close(data, &fault) && is_done;
    return !is_done || exporting.damaged > 0 ? STATUS_FAILED : status;
}
