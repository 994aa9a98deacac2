/*
 * The log of jobs that have ended. It has a line of JSON for each job, in a file that is rotated by
 * its size.
 *
 *      queue --noted--> source --passed by the loop--> thread --> key and tag are read --> file
 *
 * Each core has a source. One thread of the process writes for all sources. The loop never waits: a
 * line that the thread cannot write soon enough is dropped and counted. Nothing else depends on
 * this file. A crash may lose the last lines. After a crash, a job may exist again although a line
 * tells that it has ended.
 */
#ifndef ELAPSE__LOOP_ENDED_LOG_H
#define ELAPSE__LOOP_ENDED_LOG_H

#include <stdbool.h>
#include <stdint.h>

struct elapse_queue;
struct elapse__ended_log;
struct elapse__ended_source;

/* Opens the file, to append lines to it, and starts the thread. Before the file gets more than
 * `bytes_max` bytes (0: 64 MiB), it is renamed: ".1" is appended to its name, and an older file of
 * that name is replaced. `path` must stay valid. After an error returns NULL, and stores an error
 * number. */
struct elapse__ended_log *elapse__ended_log_open(const char *path, uint64_t bytes_max, int *error);

/* Writes the lines that are left, and releases the log. Requires that all its sources are
 * closed. */
void elapse__ended_log_close(struct elapse__ended_log *log);

struct elapse__ended_figures {
    uint64_t written; /* lines that were written */
    uint64_t dropped; /* lines that could not be written, or not soon enough */
    int error;        /* the error number of the last write; 0: it worked */
};

void elapse__ended_log_figures(struct elapse__ended_log *log,
                               struct elapse__ended_figures *figures);

/* Makes a source, which notes the jobs of this store that end from now on. Requires the lock of the
 * store. Returns NULL if there is no memory. */
struct elapse__ended_source *elapse__ended_source_open(struct elapse__ended_log *log,
                                                       struct elapse_queue *store);

/* Collects the jobs that were noted since the last call. Requires the lock of the store. */
void elapse__ended_source_collect(struct elapse__ended_source *source);

/* Passes the jobs that were collected to the thread. If a write of the thread has lasted for more
 * than 10 s, drops the jobs that wait, because their records keep segments of the journal from
 * being cleaned. Requires that no lock is held. */
void elapse__ended_source_pass(struct elapse__ended_source *source);

/* Ends a source, which notes no more jobs. If `is_patient` is true, waits until all lines are
 * written; otherwise drops the jobs that the thread has not taken. Then releases the source.
 * Requires that the lock of the store is not held. */
void elapse__ended_source_close(struct elapse__ended_source *source, bool is_patient);

#endif
