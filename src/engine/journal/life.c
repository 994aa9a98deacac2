#include "journal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../os/os.h"
#include "lanes.h"
#include "recover.h"

enum { BLOCK_BYTES = ELAPSE__SEGMENT_HEADER_BYTES + ELAPSE__FILE_PAGE_MAX };

static struct elapse__journal *new_journal(const struct elapse__journal_options *options)
{
    struct elapse__journal *journal = calloc(1, sizeof *journal);
    uint8_t *block = malloc(BLOCK_BYTES);
    if (journal == NULL || block == NULL) {
        free(journal);
        free(block);
        return NULL;
    }
    elapse__sink_init(&journal->sink);
    journal->files = options->files;
    journal->memory = options->memory != NULL ? *options->memory : elapse__default_allocator();
    journal->owner = options->owner;
    journal->interval_ms = options->interval_ms;
    journal->log = options->log;
    journal->follows = options->log != NULL;
    journal->block = block;
    journal->directory = journal->lock = ELAPSE__NO_FILE;
    journal->taken.file = journal->making.file = ELAPSE__NO_FILE;
    return journal;
}

static void close_file(struct elapse__journal *journal, int file)
{
    if (file != ELAPSE__NO_FILE)
        journal->files->close(file);
}

void elapse__journal_free(struct elapse__journal *journal)
{
    if (journal == NULL)
        return;
    ELAPSE__ASSERT(!journal->commit_under_way && !journal->background_under_way);
    for (size_t i = 0; i < journal->segment_count; i++)
        close_file(journal, journal->segments[i].file);
    for (unsigned i = 0; i < journal->spare_count; i++)
        close_file(journal, journal->spares[i].file);
    close_file(journal, journal->taken.file);
    if (journal->background_state != ELAPSE__RETIRE_RENAME)
        close_file(journal, journal->making.file);
    close_file(journal, journal->directory);
    close_file(journal, journal->lock);
    elapse__groups_free(journal);
    free(journal->segments);
    free(journal->clean_bytes);
    free(journal->portable);
    free(journal->block);
    free(journal);
}

/* Returns the number of the process that has the lock, as the lock's file says, or 0 if the file
 * does not say it. */
static uint64_t holder_of(const struct elapse__journal *journal)
{
    char text[32] = "";
    size_t done;
    uint64_t number = 0;

    if (journal->files->read_at(journal->lock, 0, text, sizeof text - 1, &done) != 0)
        return 0;
    for (const char *digit = text; *digit >= '0' && *digit <= '9'; digit++) {
        if (number > UINT64_MAX / 10 - 1)
            return 0;
        number = number * 10 + (uint64_t)(*digit - '0');
    }
    return number;
}

/* Takes the lock of the directory, and writes the number of this process into the lock's file. */
static bool take_lock(struct elapse__recovery *recovery, const char *path)
{
    struct elapse__journal *journal = recovery->journal;
    char text[32];
    int directory;
    size_t done;
    int error = journal->files->open_directory(path, &directory);
    if (error != 0)
        return elapse__refuse_call(recovery, error, "");
    error = journal->files->open(directory, "lock", ELAPSE__FILE_ENSURE, &journal->lock);
    journal->files->close(directory);
    if (error != 0) {
        journal->lock = ELAPSE__NO_FILE;
        return elapse__refuse_call(recovery, error, "lock");
    }
    error = journal->files->lock(journal->lock);
    if (error == EWOULDBLOCK) {
        elapse__refuse_call(recovery, error, "lock");
        recovery->refusal->fault = ELAPSE__FAULT_LOCKED;
        recovery->refusal->found = holder_of(journal);
        return false;
    }
    if (error != 0)
        return elapse__refuse_call(recovery, error, "lock");
    int length = snprintf(text, sizeof text, "%-20" PRIu64 "\n", elapse__os_process_number());
    /* A full disk may refuse this write, because the number is needed only for a message. */
    (void)journal->files->write_at(journal->lock, 0, text, (size_t)length, &done);
    return true;
}

static bool open_directory(struct elapse__recovery *recovery, const char *path)
{
    struct elapse__journal *journal = recovery->journal;
    char inner[4096];
    int length = snprintf(inner, sizeof inner, "%s/journal", path);
    if (length < 0 || (size_t)length >= sizeof inner)
        return elapse__refuse_call(recovery, ENAMETOOLONG, "journal");
    int outer;
    int error = journal->files->make_directory(path);
    if (error != 0)
        return elapse__refuse_call(recovery, error, "");
    if (!take_lock(recovery, path))
        return false;
    error = journal->files->make_directory(inner);
    if (error == 0)
        error = journal->files->open_directory(inner, &journal->directory);
    if (error == 0)
        error = journal->files->open_directory(path, &outer);
    if (error == 0) {
        error = journal->files->sync_directory(outer);
        journal->files->close(outer);
    }
    return error == 0 || elapse__refuse_call(recovery, error, "journal");
}

/* Fills in the state of the core with what recovery has found. */
static void start_life(struct elapse__recovery *recovery)
{
    struct elapse__journal *journal = recovery->journal;
    journal->head = journal->clean_limit = recovery->head;
    journal->old_head = recovery->head_header.is_old ? recovery->head : 0;
    journal->place = elapse__position_at(journal, recovery->head, recovery->top.end);
    journal->written = journal->durable = journal->place;
    journal->tail = journal->committed_tail = journal->durable_tail = recovery->tail;
    ELAPSE__ASSERT_THAT(recovery->tail, <=, recovery->head);
    ELAPSE__ASSERT_THAT(recovery->durable, <=, journal->durable);
    journal->idle_commit_wanted = recovery->top.commits > 0 && recovery->top.last_has_records;
}

static bool recover(struct elapse__recovery *recovery,
                    const struct elapse__journal_options *options)
{
    if (!open_directory(recovery, options->path) || !elapse__directory_read(recovery))
        return false;
    bool is_new = recovery->segments.count == 0;
    if (is_new && !elapse__directory_create(recovery, options))
        return false;
    if (!elapse__recovery_learn_shape(recovery))
        return false;
    if (options->log != NULL && !recovery->journal->is_placed)
        return elapse__refuse(recovery, ELAPSE__FAULT_NO_PLACE,
                              recovery->segments.values[recovery->segments.count - 1], 0);
    if (!elapse__recovery_find_head(recovery) || !elapse__recovery_replay(recovery) ||
        !elapse__recovery_repair(recovery))
        return false;
    start_life(recovery);
    return elapse__recovery_tidy(recovery) && (is_new || elapse__recovery_choose_place(recovery));
}

struct elapse__journal *elapse__journal_open(const struct elapse__journal_options *options,
                                             struct elapse__journal_refusal *refusal)
{
    ELAPSE__ASSERT(options->segment_bits >= ELAPSE__SEGMENT_BITS_MIN &&
                   options->segment_bits <= ELAPSE__SEGMENT_BITS_MAX);
    struct elapse__recovery recovery = {
        .journal = new_journal(options), .refusal = refusal, .memory = options->memory};
    *refusal = (struct elapse__journal_refusal){.fault = ELAPSE__FAULT_NONE};
    if (options->reads_ahead)
        recovery.ahead = elapse__ahead_start(options->files, ELAPSE__WINDOW_BYTES);
    bool is_open = recovery.journal != NULL ? recover(&recovery, options)
                                            : elapse__refuse_call(&recovery, ENOMEM, "");
    elapse__ahead_end(recovery.ahead); /* before any file is closed */
    elapse__segments_forget(&recovery);
    free(recovery.segments.values);
    free(recovery.spares.values);
    free(recovery.unfinished.values);
    if (is_open) {
        elapse__journal_check(recovery.journal);
        return recovery.journal;
    }
    elapse__journal_free(recovery.journal);
    return NULL;
}

struct elapse__record_sink *elapse__journal_sink(struct elapse__journal *journal)
{
    return &journal->sink;
}

uint64_t elapse__journal_next_position(const struct elapse__journal *journal)
{
    ELAPSE__ASSERT(journal->begun);
    return journal->place;
}

static bool *under_way(struct elapse__journal *journal, enum elapse__journal_lane lane)
{
    return lane == ELAPSE__LANE_COMMIT ? &journal->commit_under_way
                                       : &journal->background_under_way;
}

/* Makes an operation that does nothing yet. Of its names only the first bytes are set: the lanes
 * ask five times for each put of a lonely client, and to clear both names takes 20 instructions
 * more. */
static void begin_operation(struct elapse__operation *operation)
{
    operation->kind = ELAPSE__OPERATION_WRITE;
    operation->file = ELAPSE__NO_FILE;
    operation->offset = 0;
    operation->bytes = NULL;
    operation->count = 0;
    operation->name[0] = '\0';
    operation->to[0] = '\0';
    operation->error = 0;
    operation->done = 0;
    operation->status = (struct elapse__file_status){.bytes = 0};
}

bool elapse__journal_next_operation(struct elapse__journal *journal, enum elapse__journal_lane lane,
                                    struct elapse__operation *operation)
{
    ELAPSE__ASSERT(!journal->begun);
    if (*under_way(journal, lane) || journal->error != 0 || elapse__journal_is_fenced(journal))
        return false;
    begin_operation(operation);
    journal->ends_spares = journal->stopping && elapse__journal_is_quiet(journal);
    bool found = lane == ELAPSE__LANE_COMMIT ? elapse__commit_next(journal, operation)
                                             : elapse__background_next(journal, operation);
    elapse__journal_check(journal);
    *under_way(journal, lane) = found;
    return found;
}

void elapse__journal_completed(struct elapse__journal *journal, enum elapse__journal_lane lane,
                               const struct elapse__operation *operation)
{
    ELAPSE__ASSERT(*under_way(journal, lane));
    *under_way(journal, lane) = false;
    if (lane == ELAPSE__LANE_COMMIT)
        elapse__commit_completed(journal, operation);
    else
        elapse__background_completed(journal, operation);
    elapse__journal_check(journal);
}

void elapse__journal_tick(struct elapse__journal *journal, uint64_t now_ms)
{
    ELAPSE__ASSERT_THAT(journal->now_ms, <=, now_ms);
    journal->now_ms = now_ms;
    elapse__clean_retry(journal);
    if (journal->error == 0 && !elapse__journal_is_fenced(journal))
        elapse__clean_step(journal);
}

void elapse__journal_set_interval(struct elapse__journal *journal, uint32_t interval_ms)
{
    ELAPSE__ASSERT_THAT(journal->written, ==, journal->durable);
    journal->interval_ms = interval_ms;
}

void elapse__journal_stop(struct elapse__journal *journal)
{
    journal->stopping = true;
}

uint64_t elapse__journal_durable(const struct elapse__journal *journal)
{
    return journal->interval_ms > 0 ? journal->written : journal->durable;
}

uint64_t elapse__journal_forming(const struct elapse__journal *journal)
{
    const struct elapse__group *group = journal->forming;

    return group == NULL || group->size == 0 ? UINT64_MAX : group->position;
}

/* The journal is full if one group is in flight and another is closed, or if cleaning has fallen
 * far behind. */
bool elapse__journal_is_full(const struct elapse__journal *journal)
{
    return journal->closed != NULL || (journal->clean_debt > elapse__segment_bytes(journal) &&
                                       elapse__clean_is_needed(journal));
}

bool elapse__journal_is_quiet(const struct elapse__journal *journal)
{
    return journal->commit_state == ELAPSE__COMMIT_IDLE && elapse__group_waiting(journal) == NULL &&
           journal->written == journal->durable && !journal->idle_commit_wanted &&
           journal->tail == journal->committed_tail && !journal->pushes;
}

uint32_t elapse__journal_patience_ms(const struct elapse__journal *journal)
{
    bool by_interval = journal->interval_ms > 0 && journal->interval_ms < ELAPSE__JOURNAL_IDLE_MS;
    return by_interval ? journal->interval_ms : ELAPSE__JOURNAL_IDLE_MS;
}

int elapse__journal_error(const struct elapse__journal *journal)
{
    return journal->error;
}

uint64_t elapse__journal_segment_of(const struct elapse__journal *journal, uint64_t position)
{
    return elapse__segment_of(journal, position);
}

uint64_t elapse__journal_segment_bytes(const struct elapse__journal *journal)
{
    return elapse__segment_bytes(journal);
}

bool elapse__journal_has_log(const struct elapse__journal *journal)
{
    return journal->is_placed;
}

void elapse__journal_figures(const struct elapse__journal *journal,
                             struct elapse__journal_figures *figures)
{
    uint64_t log_bytes = elapse__segments_bytes(journal);
    *figures = (struct elapse__journal_figures){
        .head = journal->head,
        .tail = journal->tail,
        .log_bytes = log_bytes,
        .live_bytes = journal->live_bytes < log_bytes ? journal->live_bytes : log_bytes,
        .spares = journal->spare_count,
        .spare_bytes = journal->spare_count * elapse__segment_bytes(journal),
        .groups = journal->groups,
        .cleaned_bytes = journal->cleaned_bytes,
        .damaged_bodies = journal->damaged_bodies,
        .failed_reads = journal->failed_reads,
        .unread_places = elapse__unread_places(journal),
        .disk_is_full = journal->disk_is_full,
        .is_pinned = journal->clean_pinned,
    };
}

bool elapse__journal_work(struct elapse__journal *journal)
{
    struct elapse__operation operation;
    bool worked = false;
    for (unsigned i = 0; i < ELAPSE__JOURNAL_LANES; i++) {
        enum elapse__journal_lane lane = (enum elapse__journal_lane)i;
        if (!elapse__journal_next_operation(journal, lane, &operation))
            continue;
        elapse__operation_perform(journal, &operation);
        elapse__journal_completed(journal, lane, &operation);
        worked = true;
    }
    return worked;
}
