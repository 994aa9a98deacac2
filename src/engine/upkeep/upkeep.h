/*
 * Upkeep of a directory that has a durable queue. These functions do the work of the program's
 * commands check, export, import and backup.
 *
 *      check    reads all records, and finds the damage (journal/examine.h)
 *      repair   does what check does, and loads each whole record into a new directory
 *      export   opens the queue without a life: nothing is handed out, no record is written
 *      import   loads each job as one record, in a group of its own
 *      backup   copies the files (journal/backup.h); takes no lock
 *
 * Check, repair, export and import take the lock of the directory, and refuse a directory that
 * another process has locked. Texts are English sentences without a full stop.
 */
#ifndef ELAPSE__UPKEEP_H
#define ELAPSE__UPKEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../queue/fields.h"
#include "../../queue/settings.h"

struct elapse__upkeep_fault {
    char text[768];
    bool is_in_use; /* another process has the queue open */
};

/* Called for each line of a report as soon as the line is known. */
typedef void elapse__upkeep_tell(void *context, const char *text);

/* ---- check and repair ---- */

struct elapse__upkeep_report {
    uint64_t damages;
    uint64_t lost_jobs; /* jobs whose body is damaged, now or when cleaning copied it */
    uint64_t lost_bytes;
    uint64_t jobs; /* jobs that are whole */
    uint64_t records;
};

static inline bool elapse__upkeep_is_whole(const struct elapse__upkeep_report *report)
{
    return report->damages == 0 && report->lost_jobs == 0;
}

/*
 * Examines a queue. Reports each damage, by file and offset, and each job whose body is lost. If
 * there is damage and `repaired` is not NULL, writes everything that is whole into a new directory
 * with the name `repaired`. Requires that this directory does not exist. The examined directory
 * does not change. Returns false and fills the fault if the examination or the repair failed.
 */
bool elapse__upkeep_check(const char *directory, const char *repaired, elapse__upkeep_tell *tell,
                          void *context, struct elapse__upkeep_report *report,
                          struct elapse__upkeep_fault *fault);

/* ---- export and import ---- */

struct elapse__upkeep_data;

/* Opens a queue to read its jobs or to add jobs. If there is no queue and `create` is true, makes
 * one with segments of this size. On failure fills the fault and returns NULL. */
struct elapse__upkeep_data *elapse__upkeep_open(const char *directory, bool create,
                                                uint32_t segment_bytes,
                                                struct elapse__upkeep_fault *fault);

/* Makes all added jobs durable, and closes the queue. Ignores NULL. */
bool elapse__upkeep_close(struct elapse__upkeep_data *data, struct elapse__upkeep_fault *fault);

/* A job in its present state. */
struct elapse__upkeep_job {
    struct elapse__queue_fields fields;
    struct elapse__queue_text body, headers;
    struct elapse__queue_text error; /* what a worker reported; `fields` has the time */
    bool is_damaged;                 /* the record cannot be read; `fields` has only the id */
};

/* Calls each(context, job) for every job, by increasing ids, until each() returns false. Shows a
 * reserved job as delayed, because its lease is not valid elsewhere. After this call no job can be
 * added. */
bool elapse__upkeep_each(struct elapse__upkeep_data *data,
                         bool (*each)(void *context, const struct elapse__upkeep_job *job),
                         void *context, struct elapse__upkeep_fault *fault);

/* The settings of a tube. */
struct elapse__upkeep_tube {
    struct elapse__queue_text name;
    struct elapse__queue_settings settings;
};

/* Calls each(context, tube) for every tube that has settings, until each() returns false. After
 * this call nothing can be added. */
bool elapse__upkeep_each_tube(struct elapse__upkeep_data *data,
                              bool (*each)(void *context, const struct elapse__upkeep_tube *tube),
                              void *context, struct elapse__upkeep_fault *fault);

enum elapse__upkeep_added {
    ELAPSE__UPKEEP_ADDED,
    ELAPSE__UPKEEP_REFUSED, /* the job is wrong, and nothing has changed */
    ELAPSE__UPKEEP_FAILED,  /* the disk has failed, or there is no memory */
};

/* Adds a job. The job keeps its id if that id is greater than all ids that the queue has given. If
 * not, or if the id is 0, the job gets a new id, which is stored. */
enum elapse__upkeep_added elapse__upkeep_add(struct elapse__upkeep_data *data,
                                             struct elapse__upkeep_job *job,
                                             struct elapse__upkeep_fault *fault);

/* Adds the settings of a tube. They replace the settings that the tube had. */
enum elapse__upkeep_added elapse__upkeep_add_tube(struct elapse__upkeep_data *data,
                                                  const struct elapse__upkeep_tube *tube,
                                                  struct elapse__upkeep_fault *fault);

/* ---- backup ---- */

struct elapse__upkeep_backup {
    uint64_t segments;
    uint64_t linked;
    uint64_t copied_bytes;
};

bool elapse__upkeep_backup(const char *directory, const char *target,
                           struct elapse__upkeep_backup *backup,
                           struct elapse__upkeep_fault *fault);

#endif
