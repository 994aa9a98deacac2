/*
 * Checks and repairs. Check reads the journal once, and reports what it finds. Repair reads the
 * journal again, and loads all whole records into a new directory. So the damaged directory does
 * not change, even if the repair is interrupted.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "salvage.h"

struct check_run {
    const char *directory;
    const char *repaired;
    elapse__upkeep_tell *tell;
    void *context;
    struct elapse__salvage salvage;
    struct elapse__upkeep_report *report;
    struct elapse__upkeep_fault *fault;
};

/* ---- words ---- */

static void tell_lost(const struct check_run *run)
{
    char text[768];
    for (size_t i = 0; i < run->salvage.lost_count; i++) {
        const struct elapse__lost_job *job = &run->salvage.lost[i];
        (void)snprintf(text, sizeof text, "lost: job %" PRIu64 " of tube '%s'%s%s%s", job->id,
                       job->tube, job->key[0] != '\0' ? ", key '" : "", job->key,
                       job->key[0] != '\0' ? "'" : "");
        run->tell(run->context, text);
    }
}

/* ---- the two passes ---- */

static int take_finding(void *context, const struct elapse__finding *finding)
{
    struct check_run *run = context;
    char text[4096 + 256];
    elapse__upkeep_describe(run->directory, finding, text, sizeof text);
    run->tell(run->context, text);
    return finding->damage == ELAPSE__DAMAGE_BODY
               ? elapse__salvage_damaged(&run->salvage, finding->record)
               : 0;
}

static int take_finding_again(void *context, const struct elapse__finding *finding)
{
    struct check_run *run = context;
    return finding->damage == ELAPSE__DAMAGE_BODY
               ? elapse__salvage_damaged(&run->salvage, finding->record)
               : 0;
}

static int take_record(void *context, uint64_t position, const struct elapse__record *record)
{
    struct check_run *run = context;
    (void)position;
    /* Cleaning has copied the job without its body, which was damaged. */
    if (record->type == ELAPSE__RECORD_PUT && (record->flags & ELAPSE__RECORD_BODY_LOST) != 0)
        return elapse__salvage_damaged(&run->salvage, record);
    return elapse__salvage_record(&run->salvage, record);
}

static bool examine(struct check_run *run, struct elapse__examination *examination)
{
    struct elapse__journal_refusal refusal;
    *examination = (struct elapse__examination){
        .files = &elapse__files_linux,
        .path = run->directory,
        .context = run,
        .finding = run->salvage.data == NULL ? take_finding : take_finding_again,
        .record = take_record,
    };
    return elapse__journal_examine(examination, &refusal) ||
           elapse__upkeep_refuse(run->fault, run->directory, &refusal);
}

/* Returns whether the name of the new directory is free. */
static bool name_is_free(const struct check_run *run)
{
    int directory;
    int error = elapse__files_linux.open_directory(run->repaired, &directory);
    if (error == ENOENT)
        return true;
    if (error == 0)
        elapse__files_linux.close(directory);
    return elapse__upkeep_fail(run->fault, run->repaired, strerror(EEXIST));
}

/* Returns the greatest id that may have been given. Each unknown id may have had a record in the
 * bytes that are lost. */
static uint64_t last_id_of(const struct check_run *run,
                           const struct elapse__examination *examination)
{
    uint64_t id = run->salvage.greatest_id;
    if (examination->next_id > 0 && examination->next_id - 1 > id)
        id = examination->next_id - 1;
    id += examination->lost_bytes / ELAPSE__RECORD_HEADER_BYTES;
    ELAPSE__ASSERT_THAT(id, >=, run->salvage.greatest_id);
    return id < ELAPSE__QUEUE_ID_MAX ? id : ELAPSE__QUEUE_ID_MAX;
}

static bool repair(struct check_run *run, const struct elapse__examination *first)
{
    struct elapse__examination second;
    ELAPSE__ASSERT(run->salvage.data == NULL && run->repaired != NULL);
    ELAPSE__ASSERT(first->findings > 0 || run->salvage.lost_count > 0);
    struct elapse__upkeep_data *data = elapse__data_open(
        run->repaired, UINT32_C(1) << first->segment_bits, last_id_of(run, first), run->fault);
    if (data == NULL)
        return false;
    free(run->salvage.lost);
    run->salvage = (struct elapse__salvage){.data = data};
    bool is_whole = examine(run, &second);
    /* The directory is locked, so nothing has changed between the two passes. But a disk may be
     * able to read at one time what it cannot read at another. */
    ELAPSE__ASSERT(!is_whole || second.findings == first->findings ||
                   first->unread + second.unread > 0);
    int error = is_whole ? elapse__salvage_life(&run->salvage, first->lost_bytes) : 0;
    if (error != 0)
        (void)elapse__upkeep_fail(run->fault, run->repaired, strerror(error));
    run->report->jobs = elapse__queue_jobs(data->engine.jobs);
    return elapse__upkeep_close(data, run->fault) && is_whole && error == 0;
}

static bool check(struct check_run *run)
{
    struct elapse__examination examination;
    if (run->repaired != NULL && !name_is_free(run))
        return false;
    if (!examine(run, &examination))
        return false;
    tell_lost(run);
    run->report->damages = examination.findings;
    run->report->lost_bytes = examination.lost_bytes;
    run->report->records = examination.records;
    run->report->lost_jobs = run->salvage.lost_count;
    bool can_repair = examination.segment_bits != 0;
    if (elapse__upkeep_is_whole(run->report) || run->repaired == NULL)
        return true;
    if (examination.is_placed)
        return elapse__upkeep_fail(run->fault, run->directory,
                                   "this is a node's copy of a replicated queue: remove it, and "
                                   "the node reads it again");
    return can_repair ? repair(run, &examination)
                      : elapse__upkeep_fail(run->fault, run->directory, "nothing can be saved");
}

bool elapse__upkeep_check(const char *directory, const char *repaired, elapse__upkeep_tell *tell,
                          void *context, struct elapse__upkeep_report *report,
                          struct elapse__upkeep_fault *fault)
{
    struct check_run run = {
        .directory = directory,
        .repaired = repaired,
        .tell = tell,
        .context = context,
        .report = report,
        .fault = fault,
    };
    int lock;
    *report = (struct elapse__upkeep_report){.damages = 0};
    if (!elapse__data_lock(directory, &lock, fault))
        return false;
    bool is_done = check(&run);
    free(run.salvage.lost);
    elapse__files_linux.close(lock);
    return is_done;
}
