/*
 * Writes a job of a durable queue as one line of JSON, and reads such a line, or one of a tube.
 *
 * A text that is not UTF-8 is written as base64, as a member whose name ends with _base64. Fields
 * that are zero or empty, or have their default, are left out, so most jobs are short lines.
 */
#ifndef ELAPSE_CLI_DATA_JOB_JSON_H
#define ELAPSE_CLI_DATA_JOB_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "../../base/json_writer.h"
#include "../../engine/upkeep/upkeep.h"

/* Writes a job as an object. */
void job_json_write(struct elapse__json *json, const struct elapse__upkeep_job *job);

/* A line that was read: a job, or the settings of a tube. Their texts point into `memory`. */
struct job_json {
    bool is_tube;
    struct elapse__upkeep_tube tube;
    struct elapse__upkeep_job job;
    void *memory;
};

/* Reads a line, without its end. Returns false if the line is bad; then `fault` says why. */
bool job_json_read(struct job_json *line, const char *text, size_t length, char *fault,
                   size_t fault_bytes);

/* Releases what belongs to a line. */
void job_json_free(struct job_json *line);

#endif
