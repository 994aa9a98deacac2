/*
 * The benchmark of the durable queue: what its files share.
 */
#ifndef BENCH_QUEUE_BENCH_H
#define BENCH_QUEUE_BENCH_H

#include <elapse/queue.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BODY_BYTES = 100,
    GROUP = 1000,             /* jobs that are committed together, unless a workload says more */
    COMMIT_RECORD_BYTES = 40, /* what the journal adds to each group */
    SEGMENT_BYTES = 64 << 20,
    PATH_BYTES = 4096,
};

#define TUBE "orders"

struct settings {
    uint64_t jobs;
    uint64_t boundary_jobs; /* of the workload boundary, which needs no disk */
    unsigned repetitions;
    bool without_sqlite;
    const char *directory; /* where the files go; each run makes one of its own in it */
};

/* ---- workloads; each adds its figures to the table ---- */

void bench_put(const struct settings *settings);
void bench_cancel(const struct settings *settings);
void bench_reschedule(const struct settings *settings);
void bench_work(const struct settings *settings);
void bench_recovery(const struct settings *settings);
void bench_memory(const struct settings *settings);
void bench_churn(const struct settings *settings);
void bench_boundary(const struct settings *settings);

/* ---- the table (table.c) ---- */

/* Adds a sample. `floor` is the figure of the contender "floor" in the same workload that it is
 * divided by; NULL: none. The texts must last. */
void table_add(const char *workload, const char *contender, const char *figure, double value,
               const char *unit, const char *floor);

void table_print(void);

/* Prints the goals, and whether the figures reach them. */
void table_print_goals(void);

/* Returns false, with a message on stderr, if the file cannot be written. */
bool table_write_csv(const char *path);

/* ---- floors (floor.c) ---- */

/* Writes and syncs so many records of this size, in groups, from one thread, into a file that was
 * written before. Returns records per second. */
double floor_write(const char *directory, uint64_t records, size_t record_bytes, unsigned group);

/* Returns the seconds that it takes to read all files below a directory. */
double floor_read(const char *directory);

/* ---- SQLite (sqlite.c; absent.c says that it is not installed) ---- */

void sqlite_put(const struct settings *settings, unsigned group, const char *figure,
                const char *floor);
void sqlite_cancel(const struct settings *settings, const char *floor);
void sqlite_reschedule(const struct settings *settings, const char *floor);
void sqlite_work(const struct settings *settings);

/* ---- tools (tools.c) ---- */

/* Ends the program with a message unless `holds`: the figures would mean nothing. */
void require(bool holds, const char *what);

/* Makes a new directory, and stores its path. */
void place_make(const struct settings *settings, char path[PATH_BYTES]);

/* Removes a directory and what is in it. */
void place_remove(const char *path);

/* Opens each file below a directory to read, calls `use`, and closes it. Returns false as soon as
 * one of these fails. */
bool place_each_file(const char *path, bool (*use)(int file));

/* Takes the files below a directory out of the page cache. */
void place_forget(const char *path);

/* What the C library has handed out, and what of the process is in memory, in bytes. */
struct memory {
    double allocated, resident;
};

struct memory memory_now(void);

/* Opens a queue, and waits until its spare files are there. */
struct elapse_queue *queue_open(const char *path);
void queue_close(struct elapse_queue *queue);

/* The job number `number`: its body, and its key if `with_key`. Valid until the next call of the
 * same thread. */
struct elapse_put job_numbered(uint64_t number, bool with_key, uint64_t delay_ms);

/* Puts `count` jobs, from the number `from` on, in groups of 1000, and commits them. */
void queue_fill(struct elapse_queue *queue, uint64_t from, uint64_t count, bool with_key,
                uint64_t delay_ms);

void commit(struct elapse_queue *queue, uint64_t position);

/* Returns how many bytes a put, and a cancel, of a job with or without a key take in the journal.
 */
size_t put_record_bytes(struct elapse_queue *queue, bool with_key);
size_t cancel_record_bytes(struct elapse_queue *queue, bool with_key);

/* Stores the numbers 0 .. count - 1 in random order; the caller frees them. */
uint32_t *numbers_shuffled(uint64_t count);

#endif
