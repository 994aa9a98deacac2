/*
 * The jobs that a statement of PostgreSQL changes, as arrays: one for each column.
 */
#ifndef ELAPSE_BENCH_SERVER_POSTGRES_JOBS_H
#define ELAPSE_BENCH_SERVER_POSTGRES_JOBS_H

#include <stdint.h>

#include "postgres_link.h"

struct jobs {
    struct array due, body, key, id;
};

void jobs_begin(struct jobs *jobs);
void jobs_free(struct jobs *jobs);

/* A due time and a body. */
void jobs_add(struct jobs *jobs, int64_t due_ms);
void jobs_add_due(struct jobs *jobs, int64_t due_ms);
void jobs_add_key(struct jobs *jobs, uint64_t number);
void jobs_add_id(struct jobs *jobs, uint64_t id);

/* Append the statement, for which the arrays it needs have to have the same length. */
void jobs_put(const struct jobs *jobs, struct link *link);
void jobs_put_with_key(const struct jobs *jobs, struct link *link);
void jobs_delete(const struct jobs *jobs, struct link *link);
void jobs_cancel(const struct jobs *jobs, struct link *link);
void jobs_reschedule(const struct jobs *jobs, struct link *link);

#endif
