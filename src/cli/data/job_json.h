/*
 * Writes a job of a durable queue as one line of JSON. Reads such a line, or a line with the
 * settings of a tube.
 *
 * A text that is not UTF-8 is written as base64, in a member whose name ends with _base64. Fields
 * that are zero or empty, or that have their default, are left out. So the lines of most jobs are
 * short.
 */
#ifndef ELAPSE_CLI_DATA_JOB_JSON_H
#define ELAPSE_CLI_DATA_JOB_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "../../base/json_writer.h"
#include "../../engine/upkeep/upkeep.h"

/* Writes a job as an object. */
void job_json_write(struct elapse__json *json, const struct elapse__upkeep_job *job);

/* A line that was read: a job, or the settings of a tube. The texts point into `memory`. */
struct job_json {
    bool is_tube;
    struct elapse__upkeep_tube tube;
    struct elapse__upkeep_job job;
    void *memory;
};

/* Reads a line without its end. If the line is wrong, returns false, and writes into `fault`
 * why. */
bool job_json_read(struct job_json *line, const char *text, size_t length, char *fault,
                   size_t fault_bytes);

/* Frees what belongs to a line. */
void job_json_free(struct job_json *line);

#endif
