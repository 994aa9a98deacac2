#include "backup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "recover.h"
#include "transfer.h"

enum { BACKUP_ATTEMPTS = 1000, BACKUP_PATH_BYTES = 4096 };

static const char mark_name[] = "backup";

struct backup_run {
    const struct elapse__files *files;
    struct elapse__backup *backup;
    struct elapse__recovery recovery; /* what recovery finds in the source */
    struct elapse__journal journal;   /* only the fields that recovery uses */
    int above;                        /* the directory that has the target */
    int target;                       /* the directory `journal` of the unfinished backup */
    char partial_path[BACKUP_PATH_BYTES];
    char partial_journal[BACKUP_PATH_BYTES];
    const char *partial_name; /* its name in `above` */
    char final_name[BACKUP_PATH_BYTES];
};

bool elapse__backup_is_marked(const struct elapse__journal *journal)
{
    int file;
    int error = journal->files->open(journal->directory, mark_name, ELAPSE__FILE_READ, &file);
    if (error == 0)
        journal->files->close(file);
    return error == 0;
}

int elapse__backup_unmark(struct elapse__journal *journal)
{
    int error = journal->files->unlink(journal->directory, mark_name);
    return error == 0 ? journal->files->sync_directory(journal->directory) : error;
}

/* ---- paths ---- */

/* Opens the directory that has the target, and stores the paths of the unfinished backup. */
static int open_above(struct backup_run *run, const char *target)
{
    char above[BACKUP_PATH_BYTES];
    size_t length = strlen(target);
    while (length > 1 && target[length - 1] == '/')
        length--;
    int partial =
        snprintf(run->partial_path, sizeof run->partial_path, "%.*s.partial", (int)length, target);
    int inner = snprintf(run->partial_journal, sizeof run->partial_journal, "%s/journal",
                         run->partial_path);
    if (length == 0 || partial < 0 || inner < 0 || (size_t)inner >= sizeof run->partial_journal)
        return length == 0 ? ENOENT : ENAMETOOLONG;
    const char *slash = strrchr(run->partial_path, '/');
    size_t cut = slash == NULL ? 0 : (size_t)(slash - run->partial_path);
    (void)snprintf(above, sizeof above, "%.*s", (int)(cut > 0 ? cut : 1),
                   slash == NULL ? "." : run->partial_path);
    run->partial_name = slash == NULL ? run->partial_path : slash + 1;
    return run->files->open_directory(above, &run->above);
}

static int count_name(void *context, const char *name)
{
    (void)name;
    ++*(unsigned *)context;
    return 0;
}

/* Refuses a target that is not empty. */
static int check_target(const struct backup_run *run, const char *target)
{
    int directory;
    unsigned names = 0;
    int error = run->files->open_directory(target, &directory);
    if (error == ENOENT)
        return 0;
    if (error != 0)
        return error;
    error = run->files->list(directory, count_name, &names);
    run->files->close(directory);
    return error != 0 ? error : names > 0 ? EEXIST : 0;
}

/* Removes one file of the unfinished backup. */
static int remove_name(void *context, const char *name)
{
    const struct backup_run *run = context;
    return run->files->unlink(run->target, name);
}

/* Makes the directory of the unfinished backup. Removes what an earlier unfinished backup left
 * there. */
static int open_target(struct backup_run *run)
{
    int error = run->files->make_directory(run->partial_path);
    if (error == 0)
        error = run->files->make_directory(run->partial_journal);
    if (error == 0)
        error = run->files->open_directory(run->partial_journal, &run->target);
    return error == 0 ? run->files->list(run->target, remove_name, run) : error;
}

/* ---- files ---- */

static int write_file(const struct backup_run *run, const char *name, const uint8_t *bytes,
                      uint64_t count)
{
    int file;
    int error = run->files->open(run->target, name, ELAPSE__FILE_CREATE, &file);
    if (error != 0)
        return error;
    error = elapse__write_all(run->files, file, 0, bytes, (size_t)count);
    if (error == 0)
        error = run->files->sync(file);
    run->files->close(file);
    return error;
}

/* Copies a sealed segment. The journal may use the file again during the copy. So the caller must
 * check afterwards that the tail has not moved. */
static int copy_segment(struct backup_run *run, const char *name)
{
    uint64_t size = elapse__segment_bytes(&run->journal);
    uint8_t *bytes = malloc((size_t)size);
    int file;
    if (bytes == NULL)
        return ENOMEM;
    int error = run->files->open(run->journal.directory, name, ELAPSE__FILE_READ, &file);
    if (error == 0) {
        error = elapse__read_all(run->files, file, 0, bytes, (size_t)size);
        run->files->close(file);
    }
    if (error == 0)
        error = write_file(run, name, bytes, size);
    if (error == 0)
        run->backup->copied_bytes += size;
    free(bytes);
    return error;
}

static int take_segment(struct backup_run *run, uint64_t number)
{
    char name[ELAPSE__FILE_NAME_BYTES];
    elapse__name_segment(name, number);
    int error = run->files->link(run->journal.directory, name, run->target, name);
    if (error == 0)
        run->backup->linked++;
    if (error == EXDEV || error == EPERM || error == EMLINK || error == EOPNOTSUPP)
        error = copy_segment(run, name);
    return error;
}

static int take_head(struct backup_run *run)
{
    struct elapse__recovery *recovery = &run->recovery;
    uint64_t size = elapse__segment_bytes(&run->journal);
    char name[ELAPSE__FILE_NAME_BYTES];
    ELAPSE__ASSERT_THAT(recovery->top.end, <=, size);
    elapse__name_segment(name, recovery->head);
    memset(recovery->bytes + recovery->top.end, 0, (size_t)(size - recovery->top.end));
    run->backup->copied_bytes += recovery->top.end;
    return write_file(run, name, recovery->bytes, size);
}

/* Returns 0 if the tail has not moved since it was found, or an error number. When the tail moves,
 * the file of the old tail loses its name. */
static int check_tail(const struct backup_run *run)
{
    char name[ELAPSE__FILE_NAME_BYTES];
    int file;
    elapse__name_segment(name, run->recovery.tail);
    int error = run->files->open(run->journal.directory, name, ELAPSE__FILE_READ, &file);
    if (error == 0)
        run->files->close(file);
    return error;
}

/* ---- one attempt ---- */

/* Finds head, tail and end as open does. Writes nothing. */
static bool survey_source(struct backup_run *run)
{
    struct elapse__recovery *recovery = &run->recovery;
    recovery->segments.count = recovery->spares.count = recovery->unfinished.count = 0;
    recovery->has_before = false;
    elapse__segments_forget(recovery); /* the files have changed since the last attempt */
    if (!elapse__directory_read(recovery))
        return false;
    if (recovery->segments.count == 0)
        return elapse__refuse(recovery, ELAPSE__FAULT_MISSING_SEGMENT, 1, 0);
    if (!elapse__recovery_learn_shape(recovery))
        return false;
    return elapse__recovery_find_head(recovery);
}

static bool attempt(struct backup_run *run)
{
    struct elapse__recovery *recovery = &run->recovery;
    *run->backup = (struct elapse__backup){.segments = 0};
    if (!survey_source(run))
        return false;
    int error = run->files->list(run->target, remove_name, run);
    if (error == 0)
        error = write_file(run, mark_name, (const uint8_t *)"", 0);
    for (uint64_t number = recovery->tail; number < recovery->head && error == 0; number++)
        error = take_segment(run, number);
    if (error == 0)
        error = take_head(run);
    if (error == 0)
        error = check_tail(run);
    if (error == 0)
        error = run->files->sync_directory(run->target);
    run->backup->segments = recovery->head - recovery->tail + 1;
    return error == 0 || elapse__refuse_call(recovery, error, "journal");
}

/* Returns whether another attempt may succeed. The journal may be written while it is read. What
 * looked like damage, or like a missing file, may look right the next time. */
static bool is_worth_another(const struct elapse__journal_refusal *refusal)
{
    return refusal->fault == ELAPSE__FAULT_CALL
               ? refusal->error == ENOENT || refusal->error == EBADMSG
               : refusal->fault != ELAPSE__FAULT_VERSION;
}

static int finish(struct backup_run *run)
{
    int directory;
    int error = run->files->open_directory(run->partial_path, &directory);
    if (error == 0) {
        error = run->files->sync_directory(directory);
        run->files->close(directory);
    }
    if (error == 0)
        error = run->files->rename(run->above, run->partial_name, run->final_name);
    return error == 0 ? run->files->sync_directory(run->above) : error;
}

static bool make_backup(struct backup_run *run, const char *path, const char *target)
{
    char inner[BACKUP_PATH_BYTES];
    int length = snprintf(inner, sizeof inner, "%s/journal", path);
    int error = length < 0 || (size_t)length >= sizeof inner
                    ? ENAMETOOLONG
                    : run->files->open_directory(inner, &run->journal.directory);
    if (error != 0)
        return elapse__refuse_call(&run->recovery, error, "journal");
    error = open_above(run, target);
    if (error == 0)
        error = check_target(run, target);
    if (error == 0)
        error = open_target(run);
    if (error != 0)
        return elapse__refuse_call(&run->recovery, error, "");
    size_t name_bytes = strlen(run->partial_name) - strlen(".partial");
    (void)snprintf(run->final_name, sizeof run->final_name, "%.*s", (int)name_bytes,
                   run->partial_name);
    bool is_made = false;
    for (unsigned i = 0; i < BACKUP_ATTEMPTS && !is_made; i++) {
        is_made = attempt(run);
        if (!is_made && !is_worth_another(run->recovery.refusal))
            break;
    }
    if (!is_made)
        return false;
    error = finish(run);
    return error == 0 || elapse__refuse_call(&run->recovery, error, "");
}

bool elapse__journal_backup(const struct elapse__files *files, const char *path, const char *target,
                            struct elapse__backup *backup, struct elapse__journal_refusal *refusal)
{
    struct backup_run *run = calloc(1, sizeof *run);
    *refusal = (struct elapse__journal_refusal){.fault = ELAPSE__FAULT_CALL, .error = ENOMEM};
    if (run == NULL)
        return false;
    *refusal = (struct elapse__journal_refusal){.fault = ELAPSE__FAULT_NONE};
    run->files = run->journal.files = files;
    run->backup = backup;
    run->above = run->target = run->journal.directory = ELAPSE__NO_FILE;
    run->recovery.journal = &run->journal;
    run->recovery.refusal = refusal;
    bool is_made = make_backup(run, path, target);
    const int open[] = {run->above, run->target, run->journal.directory};
    for (size_t i = 0; i < sizeof open / sizeof open[0]; i++) {
        if (open[i] != ELAPSE__NO_FILE)
            files->close(open[i]);
    }
    elapse__segments_forget(&run->recovery);
    free(run->recovery.segments.values);
    free(run->recovery.spares.values);
    free(run->recovery.unfinished.values);
    free(run);
    return is_made;
}
