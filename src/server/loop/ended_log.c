#include "ended_log.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../base/json_writer.h"
#include "../../engine/store/store.h"
#include "../../os/os.h"
#include "../../os/program.h"
#include "../../queue/ended.h"

enum {
    WAITING_MAX = 10000, /* how many jobs may wait to be written; more jobs are dropped */
    BATCH = 64,          /* how many jobs are read while the lock is held once */
    TUBE_BYTES = 200,
    PATIENCE_MS = 10000, /* the loop does not wait for a write that lasts longer */
};

#define FILE_BYTES_MAX (UINT64_C(64) << 20)

/* A job whose line is not written yet. */
struct item {
    struct item *next;
    struct elapse__ended_source *source;
    struct elapse__queue_ended ended; /* without the name of the tube */
    struct elapse__journal_reading reading;
    struct elapse__engine_job texts;
    uint8_t tube_size;
    char tube[TUBE_BYTES];
};

/* A line of items. The oldest item comes first. */
struct line {
    struct item *first;
    struct item **end;
};

struct elapse__ended_log {
    atomic_uint waiting; /* how many items the thread has not taken */
    atomic_uint_least64_t dropped;
    struct elapse__os_monitor *monitor; /* its lock guards the next five members */
    struct line to_write;
    uint64_t taken_ms; /* when the thread took the items that it has; 0: it has none */
    uint64_t written;
    int error; /* the error number of the last write */
    bool ends;
    struct elapse__os_background *thread;
    const char *path;
    uint64_t bytes_max;
    int file; /* the descriptor; below 0: the file is not open; only the thread uses it and the
                 members below */
    uint64_t bytes; /* how many bytes the file has */
    bool is_torn;   /* the last write has failed, perhaps in the middle of a line */
};

struct elapse__ended_source {
    struct elapse__ended_log *log;
    struct elapse_queue *store;
    struct line noted;     /* the lock of the store guards this line */
    struct line collected; /* only the loop uses this line */
    uint32_t count; /* items in the thread's line, or with the thread; the monitor's lock guards
                       this count */
};

/* ---- from the queue to the thread ---- */

static void line_init(struct line *line)
{
    *line = (struct line){.end = &line->first};
}

/* Moves the items of the line `from` behind those of the line `to`. */
static void line_move(struct line *from, struct line *to)
{
    if (from->first == NULL)
        return;
    *to->end = from->first;
    to->end = from->end;
    line_init(from);
}

/* The queue calls this in the middle of a command, while the store's lock is held. */
static void note(void *context, const struct elapse__queue_ended *ended)
{
    struct elapse__ended_source *source = context;
    struct elapse__ended_log *log = source->log;
    struct item *item = atomic_load(&log->waiting) < WAITING_MAX ? malloc(sizeof *item) : NULL;

    if (item == NULL) {
        atomic_fetch_add(&log->dropped, 1);
        return;
    }
    *item = (struct item){.source = source, .ended = *ended};
    ELAPSE__ASSERT_THAT(ended->tube.size, <=, (size_t)TUBE_BYTES);
    memcpy(item->tube, ended->tube.bytes, ended->tube.size);
    item->tube_size = (uint8_t)ended->tube.size;
    elapse__journal_read_begin(source->store->engine.journal, ended->position, ended->body_size,
                               &item->reading);
    *source->noted.end = item;
    source->noted.end = &item->next;
    atomic_fetch_add(&log->waiting, 1);
}

void elapse__ended_source_collect(struct elapse__ended_source *source)
{
    line_move(&source->noted, &source->collected);
}

/* Takes the items of a source out of the line. Returns them. */
static struct item *withdraw(struct elapse__ended_source *source)
{
    struct elapse__ended_log *log = source->log;
    struct item **link = &log->to_write.first;
    struct item *withdrawn = NULL;

    while (*link != NULL) {
        struct item *item = *link;
        if (item->source != source) {
            link = &item->next;
            continue;
        }
        *link = item->next;
        item->next = withdrawn;
        withdrawn = item;
        atomic_fetch_sub(&log->waiting, 1);
        atomic_fetch_add(&log->dropped, 1);
        source->count--;
    }
    log->to_write.end = link;
    return withdrawn;
}

/* Ends the readings of items that were not performed, and releases the items. */
static void drop(struct elapse_queue *store, struct item *items)
{
    if (items == NULL)
        return;
    elapse__store_arrive(store);
    while (items != NULL) {
        struct item *item = items;
        items = item->next;
        if (item->reading.bytes == NULL)
            item->reading.error = EAGAIN; /* the reading was not performed */
        (void)elapse__engine_texts(&store->engine, &item->reading, &item->texts);
        free(item->texts.memory);
        free(item);
    }
    elapse__store_depart(store);
}

static bool is_stuck(const struct elapse__ended_log *log)
{
    return log->taken_ms != 0 && elapse__store_now().boot_ms - log->taken_ms > PATIENCE_MS;
}

void elapse__ended_source_pass(struct elapse__ended_source *source)
{
    struct elapse__ended_log *log = source->log;
    struct item *withdrawn = NULL;

    if (source->collected.first == NULL && atomic_load(&log->waiting) == 0)
        return;
    elapse__os_monitor_enter(log->monitor);
    for (const struct item *item = source->collected.first; item != NULL; item = item->next)
        source->count++;
    if (log->to_write.first == NULL)
        elapse__os_monitor_wake_all(log->monitor);
    line_move(&source->collected, &log->to_write);
    /* A record that the thread must read keeps its segment from being cleaned. That must not last
     * for long. */
    if (is_stuck(log))
        withdrawn = withdraw(source);
    elapse__os_monitor_leave(log->monitor);
    drop(source->store, withdrawn);
}

/* ---- lines ---- */

static void add_moment(struct elapse__json *json, const char *name, bool is_known, int64_t ms)
{
    elapse__json_name(json, name);
    if (is_known)
        elapse__json_signed(json, ms);
    else
        elapse__json_null(json);
}

static void add_line(struct elapse__json *json, const struct item *item)
{
    static const char *const outcomes[] = {
        [ELAPSE__OUTCOME_DONE] = "done",           [ELAPSE__OUTCOME_FAILED] = "failed",
        [ELAPSE__OUTCOME_CANCELLED] = "cancelled", [ELAPSE__OUTCOME_REPLACED] = "replaced",
        [ELAPSE__OUTCOME_EXPIRED] = "expired",     [ELAPSE__OUTCOME_DROPPED] = "dropped",
    };
    const struct elapse__queue_ended *ended = &item->ended;

    json->needs_comma = false;
    elapse__json_open(json, '{');
    elapse__json_unsigned_member(json, "id", ended->id);
    elapse__json_bytes_member(json, "tube", item->tube, item->tube_size);
    if (item->texts.key.size > 0)
        elapse__json_bytes_member(json, "key", item->texts.key.bytes, item->texts.key.size);
    if (item->texts.tag.size > 0)
        elapse__json_bytes_member(json, "tag", item->texts.tag.bytes, item->texts.tag.size);
    elapse__json_text_member(json, "outcome", outcomes[ended->outcome]);
    elapse__json_unsigned_member(json, "attempts", ended->attempts);
    elapse__json_boolean_member(json, "recurring", ended->recurring);
    add_moment(json, "due_ms", true, ended->due_ms);
    add_moment(json, "handed_out_ms", ended->was_begun, ended->begun_ms);
    add_moment(json, "ended_ms", true, ended->ended_ms);
    elapse__json_close(json, '}');
    elapse__json_raw(json, "\n");
}

/* ---- the file ---- */

static int open_file(struct elapse__ended_log *log)
{
    struct elapse__os_status status;
    int error = elapse__os_open_to_append(log->path, &log->file);

    if (error != 0) {
        log->file = -1;
        return error;
    }
    error = elapse__os_status_of_file(log->file, &status);
    log->bytes = error == 0 ? status.bytes : 0;
    return error;
}

/* Renames the file, and begins another file. If the file cannot be renamed, it stays in use and
 * grows. Returns 0, or an error number if no file is open now. */
static int rotate(struct elapse__ended_log *log)
{
    size_t size = strlen(log->path) + sizeof ".1";
    char *name = malloc(size);

    (void)elapse__os_close(log->file);
    log->file = -1;
    if (name != NULL) {
        (void)snprintf(name, size, "%s.1", log->path);
        (void)elapse__os_rename(log->path, name);
        free(name);
    }
    return open_file(log);
}

/* Writes some lines. Returns 0 or an error number. */
static int write_lines(struct elapse__ended_log *log, const struct elapse__buffer *text)
{
    size_t size = elapse__buffer_size(text);
    int error = 0;

    if (log->file < 0)
        error = open_file(log);
    if (error == 0 && log->bytes > 0 && log->bytes + size > log->bytes_max)
        error = rotate(log);
    /* A write that failed may have left a part of a line. This part must not become the beginning
     * of the next line. */
    if (error == 0 && log->is_torn)
        error = elapse__os_write_all(log->file, "\n", 1);
    if (error != 0)
        return error;
    error = elapse__os_write_all(log->file, elapse__buffer_first(text), size);
    log->is_torn = error != 0;
    log->bytes += size;
    return error;
}

/* ---- the thread ---- */

/* Takes the next items of one source out of the line. Returns how many items it has taken; 0 if the
 * log ends. */
static uint32_t take(struct elapse__ended_log *log, struct item *items[BATCH])
{
    struct line *line = &log->to_write;
    uint32_t count = 0;

    while (line->first == NULL && !log->ends)
        elapse__os_monitor_wait(log->monitor);
    while (count < BATCH && line->first != NULL &&
           (count == 0 || line->first->source == items[0]->source)) {
        items[count++] = line->first;
        line->first = line->first->next;
    }
    if (line->first == NULL)
        line_init(line);
    atomic_fetch_sub(&log->waiting, count);
    log->taken_ms = count == 0 ? 0 : elapse__store_now().boot_ms;
    return count;
}

/* Reads keys and tags. If a record cannot be read, its line has no key and no tag. */
static void read_texts(struct item *const *items, uint32_t count)
{
    struct elapse_queue *store = items[0]->source->store;

    for (uint32_t i = 0; i < count; i++)
        elapse__journal_read_perform(store->engine.journal, true, &items[i]->reading, 1);
    elapse__store_arrive(store);
    for (uint32_t i = 0; i < count; i++)
        (void)elapse__engine_texts(&store->engine, &items[i]->reading, &items[i]->texts);
    elapse__store_depart(store);
}

static void finish(struct elapse__ended_log *log, struct item **items, uint32_t count, int error)
{
    log->taken_ms = 0;
    log->error = error;
    if (error == 0)
        log->written += count;
    else
        atomic_fetch_add(&log->dropped, count);
    ELAPSE__ASSERT_THAT(items[0]->source->count, >=, count);
    items[0]->source->count -= count;
    elapse__os_monitor_wake_all(log->monitor); /* wakes a source that closes */
}

static void write_all(void *argument)
{
    struct elapse__ended_log *log = argument;
    struct elapse__json json = {.failed = false};
    struct item *items[BATCH];
    uint32_t count;

    elapse__os_thread_name("elapse-ended");
    elapse__os_monitor_enter(log->monitor);
    while ((count = take(log, items)) > 0) {
        elapse__os_monitor_leave(log->monitor);
        read_texts(items, count);
        for (uint32_t i = 0; i < count; i++)
            add_line(&json, items[i]);
        int error = json.failed ? ENOMEM : write_lines(log, &json.text);
        json.failed = false;
        elapse__buffer_clear(&json.text);
        elapse__os_monitor_enter(log->monitor);
        finish(log, items, count, error);
        for (uint32_t i = 0; i < count; i++) {
            free(items[i]->texts.memory);
            free(items[i]);
        }
    }
    elapse__os_monitor_leave(log->monitor);
    elapse__json_free(&json);
}

/* ---- life ---- */

static bool start(struct elapse__ended_log *log, int *error)
{
    *error = open_file(log);
    if (*error == 0)
        *error = elapse__os_monitor_new(&log->monitor);
    if (*error != 0)
        return false;
    *error = elapse__os_background_start(&log->thread, write_all, log);
    if (*error != 0)
        elapse__os_monitor_free(log->monitor);
    return *error == 0;
}

static void free_log(struct elapse__ended_log *log)
{
    if (log->file >= 0)
        (void)elapse__os_close(log->file);
    free(log);
}

struct elapse__ended_log *elapse__ended_log_open(const char *path, uint64_t bytes_max, int *error)
{
    struct elapse__ended_log *log = calloc(1, sizeof *log);

    *error = ENOMEM;
    if (log == NULL)
        return NULL;
    log->file = -1;
    line_init(&log->to_write);
    log->bytes_max = bytes_max == 0 ? FILE_BYTES_MAX : bytes_max;
    log->path = path;
    if (start(log, error))
        return log;
    free_log(log);
    return NULL;
}

void elapse__ended_log_close(struct elapse__ended_log *log)
{
    elapse__os_monitor_enter(log->monitor);
    log->ends = true;
    elapse__os_monitor_wake_all(log->monitor);
    elapse__os_monitor_leave(log->monitor);
    elapse__os_background_join(log->thread);
    elapse__os_monitor_free(log->monitor);
    free_log(log);
}

void elapse__ended_log_figures(struct elapse__ended_log *log, struct elapse__ended_figures *figures)
{
    elapse__os_monitor_enter(log->monitor);
    *figures = (struct elapse__ended_figures){
        .written = log->written, .dropped = atomic_load(&log->dropped), .error = log->error};
    elapse__os_monitor_leave(log->monitor);
}

/* ---- sources ---- */

struct elapse__ended_source *elapse__ended_source_open(struct elapse__ended_log *log,
                                                       struct elapse_queue *store)
{
    struct elapse__ended_source *source = calloc(1, sizeof *source);

    if (source == NULL)
        return NULL;
    *source = (struct elapse__ended_source){.log = log, .store = store};
    line_init(&source->noted);
    line_init(&source->collected);
    elapse__queue_on_end(store->engine.jobs, note, source);
    return source;
}

void elapse__ended_source_close(struct elapse__ended_source *source, bool is_patient)
{
    struct elapse__ended_log *log = source->log;
    struct elapse_queue *store = source->store;
    struct item *withdrawn = NULL;

    elapse__store_arrive(store);
    elapse__queue_on_end(store->engine.jobs, NULL, NULL);
    elapse__ended_source_collect(source);
    elapse__store_depart(store);
    elapse__ended_source_pass(source);
    elapse__os_monitor_enter(log->monitor);
    if (!is_patient)
        withdrawn = withdraw(source);
    while (source->count > 0)
        elapse__os_monitor_wait(log->monitor);
    elapse__os_monitor_leave(log->monitor);
    drop(store, withdrawn);
    free(source);
}
