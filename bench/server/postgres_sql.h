/*
 * The queue as a table of PostgreSQL, as people make it: a row for each job, an index on the due
 * time, FOR UPDATE SKIP LOCKED to hand out. A lease moves the due time on, so that a job whose
 * worker is gone is handed out again; the number of the attempt is the token of the lease. Changes
 * of many jobs are one statement, with arrays.
 */
#ifndef ELAPSE_BENCH_SERVER_POSTGRES_SQL_H
#define ELAPSE_BENCH_SERVER_POSTGRES_SQL_H

#include <stddef.h>
#include <stdint.h>

struct statement {
    const char *name, *text;
};

extern const struct statement statements[];
extern const size_t statement_count;

extern const char *const schema_text;

/* Writes the statement that hands out up to so many jobs. The number is part of the text, because
 * the planner does not know the value of a parameter. */
void write_hand_out(char *to, size_t room, uint64_t jobs);

#endif
