#include "data.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <elapse/cron.h>

#include "../../base/assert.h"
#include "../../os/os.h"
#include "../store/now.h"
#include "../store/refusal.h"

#define NS_PER_MS UINT64_C(1000000)

bool elapse__upkeep_fail(struct elapse__upkeep_fault *fault, const char *directory,
                         const char *text)
{
    ELAPSE__ASSERT(text[0] != '\0');
    (void)snprintf(fault->text, sizeof fault->text, "%s: %s", directory, text);
    fault->is_in_use = false;
    return false;
}

bool elapse__upkeep_refuse(struct elapse__upkeep_fault *fault, const char *directory,
                           const struct elapse__journal_refusal *refusal)
{
    struct elapse_queue_fault words;
    ELAPSE__ASSERT_THAT(refusal->fault, !=, ELAPSE__FAULT_NONE);
    (void)elapse__store_refusal(refusal, directory, &words);
    (void)snprintf(fault->text, sizeof fault->text, "%s", words.text);
    fault->is_in_use = refusal->fault == ELAPSE__FAULT_LOCKED;
    return false;
}

void elapse__upkeep_describe(const char *directory, const struct elapse__finding *finding,
                             char *text, size_t size)
{
    uint64_t offset = finding->offset;
    int length = snprintf(text, size, "%s/journal/%s: ", directory, finding->file);
    if (length < 0 || (size_t)length >= size)
        return; /* the path fills the text */
    text += length;
    size -= (size_t)length;
    switch (finding->damage) {
    case ELAPSE__DAMAGE_HEADER:
        (void)snprintf(text, size, "at offset 0: the header is damaged");
        break;
    case ELAPSE__DAMAGE_FOREIGN:
        (void)snprintf(text, size,
                       "at offset 0: the file belongs to another queue, or to another place");
        break;
    case ELAPSE__DAMAGE_MISSING:
        (void)snprintf(text, size, "the file is missing");
        break;
    case ELAPSE__DAMAGE_BODY:
        (void)snprintf(text, size, "at offset %" PRIu64 ": the body is damaged", offset);
        break;
    case ELAPSE__DAMAGE_UNREAD:
        (void)snprintf(text, size, "at offset %" PRIu64 ": the disk cannot read", offset);
        break;
    default:
        ELAPSE__ASSERT(finding->damage == ELAPSE__DAMAGE_RECORDS);
        (void)snprintf(text, size,
                       "at offset %" PRIu64 ": up to %" PRIu64 " bytes of records are damaged",
                       offset, finding->bytes);
        break;
    }
}

/* ---- the lock ---- */

/* Reports which process uses the directory, as the file of the lock says. Returns false. */
static bool refuse_locked(struct elapse__upkeep_fault *fault, const char *directory, int lock)
{
    char text[32] = "", words[96];
    size_t done;
    if (elapse__files_linux.read_at(lock, 0, text, sizeof text - 1, &done) != 0)
        text[0] = '\0';
    text[strcspn(text, " \n")] = '\0';
    (void)snprintf(words, sizeof words, "process %s has opened this queue", text);
    (void)elapse__upkeep_fail(fault, directory,
                              text[0] == '\0' ? "another process has opened this queue" : words);
    fault->is_in_use = true;
    return false;
}

/* Opens the folder of the journal in a directory. Returns 0 or an error number. */
static int open_inner(const char *directory, int *opened)
{
    char inner[4096];
    int length = snprintf(inner, sizeof inner, "%s/journal", directory);
    return length < 0 || (size_t)length >= sizeof inner
               ? ENAMETOOLONG
               : elapse__files_linux.open_directory(inner, opened);
}

bool elapse__data_lock(const char *directory, int *lock, struct elapse__upkeep_fault *fault)
{
    const struct elapse__files *files = &elapse__files_linux;
    int opened;
    *lock = ELAPSE__NO_FILE;
    int error = files->open_directory(directory, &opened);
    if (error != 0)
        return elapse__upkeep_fail(fault, directory, strerror(error));
    int journal;
    error = open_inner(directory, &journal);
    if (error == 0) {
        files->close(journal);
        error = files->open(opened, "lock", ELAPSE__FILE_ENSURE, lock);
    } else if (error == ENOENT || error == ENOTDIR) {
        files->close(opened);
        return elapse__upkeep_fail(fault, directory, "this is no directory of a queue");
    }
    files->close(opened);
    if (error != 0) {
        *lock = ELAPSE__NO_FILE;
        return elapse__upkeep_fail(fault, directory, strerror(error));
    }
    error = files->lock(*lock);
    if (error == 0)
        return true;
    if (error == EWOULDBLOCK)
        (void)refuse_locked(fault, directory, *lock);
    else
        (void)elapse__upkeep_fail(fault, directory, strerror(error));
    files->close(*lock);
    *lock = ELAPSE__NO_FILE;
    return false;
}

/* ---- opening ---- */

static bool find_zone(void *context, const char *name, const struct elapse_time_zone **zone)
{
    (void)context;
    return elapse_time_zone_find(name, zone) == ELAPSE_OK;
}

static bool make_jobs(struct elapse__upkeep_data *data, uint64_t last_id,
                      struct elapse__upkeep_fault *fault)
{
    struct elapse__queue_options options = {.find_zone = find_zone};
    if (elapse__os->random_bytes(&options.secret, sizeof options.secret) != 0)
        return elapse__upkeep_fail(fault, data->directory, "the system has no random bytes yet");
    if (!elapse__engine_make_jobs(&data->engine, elapse__store_now, &options))
        return elapse__upkeep_fail(fault, data->directory, strerror(ENOMEM));
    elapse__queue_used_id(data->engine.jobs, last_id);
    ELAPSE__ASSERT_THAT(elapse__queue_last_id(data->engine.jobs), ==, last_id);
    data->engine.loading = true;
    return true;
}

static bool open_journal(struct elapse__upkeep_data *data, uint32_t segment_bytes,
                         struct elapse__upkeep_fault *fault)
{
    struct elapse__journal_refusal refusal;
    struct elapse__journal_options options = {.files = &elapse__files_linux,
                                              .path = data->directory};
    while (segment_bytes >> options.segment_bits > 1)
        options.segment_bits++;
    ELAPSE__ASSERT_THAT(UINT32_C(1) << options.segment_bits, ==, segment_bytes);
    if (elapse__os->random_bytes(&options.identity, sizeof options.identity) != 0)
        return elapse__upkeep_fail(fault, data->directory, "the system has no random bytes yet");
    return elapse__engine_open_journal(&data->engine, &options, &refusal) ||
           elapse__upkeep_refuse(fault, data->directory, &refusal);
}

struct elapse__upkeep_data *elapse__data_open(const char *directory, uint32_t segment_bytes,
                                              uint64_t last_id, struct elapse__upkeep_fault *fault)
{
    struct elapse__upkeep_data *data = calloc(1, sizeof *data);
    if (data == NULL) {
        (void)elapse__upkeep_fail(fault, directory, strerror(ENOMEM));
        return NULL;
    }
    data->directory = directory;
    if (make_jobs(data, last_id, fault) && open_journal(data, segment_bytes, fault))
        return data;
    elapse__engine_free(&data->engine);
    free(data);
    return NULL;
}

/* Returns whether the directory has a queue that no other process uses. */
static bool is_free(const char *directory, struct elapse__upkeep_fault *fault)
{
    int lock;
    if (!elapse__data_lock(directory, &lock, fault))
        return false;
    elapse__files_linux.close(lock);
    return true;
}

/* Returns whether the directory does not exist or has no queue. */
static bool is_new(const char *directory)
{
    int opened;
    int error = open_inner(directory, &opened);
    if (error == 0)
        elapse__files_linux.close(opened);
    return error == ENOENT;
}

struct elapse__upkeep_data *elapse__upkeep_open(const char *directory, bool create,
                                                uint32_t segment_bytes,
                                                struct elapse__upkeep_fault *fault)
{
    if (!(create && is_new(directory)) && !is_free(directory, fault))
        return NULL;
    return elapse__data_open(directory, segment_bytes, 0, fault);
}

/* ---- the disk ---- */

/* Performs one operation of each lane. Returns whether there was one. */
static bool perform(struct elapse__engine *engine)
{
    elapse__journal_tick(engine->journal, elapse__store_now().boot_ms);
    return elapse__journal_work(engine->journal);
}

int elapse__data_load(struct elapse__upkeep_data *data, const struct elapse__record *record)
{
    struct elapse__engine *engine = &data->engine;
    int error = 0;
    ELAPSE__ASSERT(engine->loading);
    data->has_added = true;
    do {
        while (elapse__journal_is_full(engine->journal) && perform(engine))
            continue;
        error = elapse__engine_load(engine, record);
    } while (error == EAGAIN && perform(engine));
    return error == EAGAIN ? ENOSPC : error;
}

bool elapse__upkeep_close(struct elapse__upkeep_data *data, struct elapse__upkeep_fault *fault)
{
    int error = 0;
    if (data == NULL)
        return true;
    struct elapse__journal *journal = data->engine.journal;
    if (data->has_added) {
        elapse__journal_stop(journal);
        while (!elapse__journal_is_quiet(journal) && elapse__journal_error(journal) == 0 &&
               perform(&data->engine))
            continue;
        error = elapse__journal_error(journal);
        ELAPSE__ASSERT(error != 0 || !elapse__journal_is_quiet(journal) ||
                       elapse__journal_durable(journal) >= data->engine.last_position);
        if (error == 0 && elapse__journal_durable(journal) < data->engine.last_position)
            error = ENOSPC;
    }
    const char *directory = data->directory;
    elapse__engine_free(&data->engine);
    free(data);
    return error == 0 || elapse__upkeep_fail(fault, directory, strerror(error));
}
