/*
 * The log of jobs that have ended: a line of JSON for each, in a file that is rotated by its size.
 *
 *      queue --noted--> source --passed by the loop--> thread --> key and tag are read --> file
 *
 * Each core has a source. A thread of the process writes for all of them. The loop never waits:
 * what the thread cannot write soon enough is dropped and counted. Nothing else depends on this
 * file: a crash may lose the last lines, or have undone the end that a line tells.
 */
#ifndef ELAPSE__LOOP_ENDED_LOG_H
#define ELAPSE__LOOP_ENDED_LOG_H

#include <stdbool.h>
#include <stdint.h>

struct elapse_queue;
struct elapse__ended_log;
struct elapse__ended_source;

/* Opens the file, to which lines are appended, and starts the thread. When the file would have more
 * than `bytes_max` bytes (0: 64 MiB), it gets the name with ".1" behind it, which the file before
 * had. The path stays valid. Returns NULL, and stores an error number. */
struct elapse__ended_log *elapse__ended_log_open(const char *path, uint64_t bytes_max, int *error);

/* Writes what is left, and releases the log. Requires that its sources are closed. */
void elapse__ended_log_close(struct elapse__ended_log *log);

struct elapse__ended_figures {
    uint64_t written; /* lines */
    uint64_t dropped; /* lines that could not be written, or not soon enough */
    int error;        /* of the last write; 0: it worked */
};

void elapse__ended_log_figures(struct elapse__ended_log *log,
                               struct elapse__ended_figures *figures);

/* Notes jobs of this store from now on. Requires its lock. Returns NULL if there is no memory. */
struct elapse__ended_source *elapse__ended_source_open(struct elapse__ended_log *log,
                                                       struct elapse_queue *store);

/* Takes the jobs that were noted since the last call. Requires the store's lock. */
void elapse__ended_source_collect(struct elapse__ended_source *source);

/* Passes the jobs that were collected to the thread. If a write of the thread lasts for more than
 * 10 s, drops the jobs that wait: their records keep segments of the journal. Requires that no lock
 * is held.
 */
void elapse__ended_source_pass(struct elapse__ended_source *source);

/* Notes no more jobs. If `is_patient`, waits until all lines are written; otherwise drops those
 * that have not begun. Then releases the source. Requires that the lock of the store is not held.
 */
void elapse__ended_source_close(struct elapse__ended_source *source, bool is_patient);

#endif
