#include "process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/queue/fields.h"

enum { SEGMENT_BITS = 14, FOUND_MAX = 512, ATTEMPTS = 5, PAGE_BITS = 12 };

struct process process;
struct process_totals *process_totals;

static uint64_t random_below(uint64_t limit)
{
    return sim_disk_random() % limit;
}

struct elapse__queue_now process_now(void)
{
    return (struct elapse__queue_now){
        .boot_ms = (uint64_t)(model.t - process.booted_at),
        .wall_ms = model_wall(),
    };
}

/* ---- a sink that passes every call on to the journal's sink, and counts failed begins ---- */

static struct elapse__record_sink *journal_sink(void)
{
    return elapse__journal_sink(process.engine.journal);
}

static int counter_begin(struct elapse__record_sink *sink, uint64_t bytes,
                         enum elapse__record_purpose purpose)
{
    (void)sink;
    int error = journal_sink()->begin(journal_sink(), bytes, purpose);
    process.refusals += error != 0;
    return error;
}

static uint64_t counter_append(struct elapse__record_sink *sink,
                               const struct elapse__record *record)
{
    (void)sink;
    return journal_sink()->append(journal_sink(), record);
}

static uint64_t counter_end(struct elapse__record_sink *sink)
{
    (void)sink;
    return journal_sink()->end(journal_sink());
}

static void counter_live(struct elapse__record_sink *sink, uint64_t position, int64_t change)
{
    (void)sink;
    journal_sink()->live(journal_sink(), position, change);
}

/* ---- files whose reads fail with EIO until `unreadable_until`, of any page or of one ---- */

static struct elapse__files files;

static int read_at(int file, uint64_t offset, void *bytes, size_t count, size_t *done)
{
    uint64_t page = process.unreadable_page;
    bool is_there =
        page == 0 || (offset >> PAGE_BITS <= page && page <= (offset + count - 1) >> PAGE_BITS);
    int error = model.t < process.unreadable_until && is_there
                    ? EIO
                    : sim_disk_files.read_at(file, offset, bytes, count, done);
    if (error != 0)
        process.read_in_vain_at = model.t;
    return error;
}

bool process_has_read_in_vain(void)
{
    struct elapse__journal_figures figures;
    elapse__journal_figures(process.engine.journal, &figures);
    return figures.failed_reads > 0;
}

/* ---- steps ---- */

bool process_step(enum elapse__journal_lane lane)
{
    struct elapse__journal *journal = process.engine.journal;
    struct elapse__operation *operation = &process.operations[lane];
    switch (process.steps[lane]) {
    case STEP_IDLE:
        if (!elapse__journal_next_operation(journal, lane, operation))
            return false;
        process.steps[lane] = STEP_ASKED;
        return true;
    case STEP_ASKED:
        elapse__operation_perform(journal, operation);
        process.steps[lane] = STEP_PERFORMED;
        return true;
    default: /* STEP_PERFORMED */
        process.steps[lane] = STEP_IDLE;
        elapse__journal_completed(journal, lane, operation);
        return true;
    }
}

void process_tick(void)
{
    elapse__journal_tick(process.engine.journal, process_now().boot_ms);
}

bool process_ended(void)
{
    return elapse__journal_error(process.engine.journal) != 0 || sim_disk_is_dead();
}

bool process_is_failing(void)
{
    for (unsigned lane = 0; lane < ELAPSE__JOURNAL_LANES; lane++)
        if (process.steps[lane] == STEP_PERFORMED && process.operations[lane].error != 0)
            return true;
    return false;
}

void process_kill(void)
{
    if (!process.is_open)
        return;
    struct elapse__journal_figures figures;
    elapse__journal_figures(process.engine.journal, &figures);
    process_totals->groups += figures.groups;
    for (int lane = 0; lane < ELAPSE__JOURNAL_LANES; lane++) {
        struct elapse__operation *operation = &process.operations[lane];
        if (process.steps[lane] == STEP_PERFORMED && operation->error == 0 &&
            operation->kind == ELAPSE__OPERATION_CREATE)
            sim_disk_files.close(operation->file);
        operation->error = EIO;
        if (process.steps[lane] != STEP_IDLE)
            elapse__journal_completed(process.engine.journal, (enum elapse__journal_lane)lane,
                                      operation);
        process.steps[lane] = STEP_IDLE;
    }
    elapse__engine_free(&process.engine);
    process.is_open = false;
}

void process_set_faults(bool crash, bool syncs, bool calls)
{
    sim_disk_set_faults(&(struct sim_disk_faults){
        .capacity = process.capacity,
        .short_write_in = 9,
        .crash_after_calls = crash ? 1 + random_below(300) : 0,
        .failed_sync_in = syncs ? 40 : 0,
        .failed_call_in = calls ? 200 : 0,
    });
}

/* ---- opening ---- */

static bool find_no_zone(void *context, const char *name, const struct elapse_time_zone **zone)
{
    (void)context, (void)name, (void)zone;
    return false;
}

static enum elapse_error try_to_open(struct elapse__journal_refusal *refusal)
{
    struct elapse__queue_options jobs = {
        .secret = {sim_disk_random(), sim_disk_random()},
        .seed = sim_disk_random(),
        .body_bytes_max = MODEL_BODY_MAX,
        .find_zone = find_no_zone,
    };
    static const size_t pages[] = {0, 0, 512, ELAPSE__FILE_PAGE_MAX};
    files = sim_disk_files;
    files.read_at = read_at;
    files.page_bytes = pages[jobs.seed % 4];
    struct elapse__journal_options journal = {
        .files = &files,
        .path = "data",
        .segment_bits = SEGMENT_BITS,
        .interval_ms = process.interval_ms,
        .identity = {.bytes = {7, 7, 7}},
    };
    refusal->fault = ELAPSE__FAULT_NONE;
    process_totals->opens++;
    if (!elapse__engine_make_jobs(&process.engine, process_now, &jobs))
        abort();
    if (!elapse__engine_open_journal(&process.engine, &journal, refusal)) {
        elapse__engine_free(&process.engine);
        return ELAPSE_ERROR_SYSTEM;
    }
    enum elapse_error error = elapse__engine_begin_life(&process.engine);
    if (error != ELAPSE_OK) {
        elapse__engine_free(&process.engine);
        return error;
    }
    process.is_open = true;
    return ELAPSE_OK;
}

/* Reads the body of one job that look() found in the queue. Stores the body, or that it cannot be
 * read. */
static void read_found(struct model_found *found, void **memory)
{
    struct elapse__record record;
    int error =
        elapse__journal_read(process.engine.journal, found->view.position, true, &record, memory);
    struct elapse__queue_fields fields;
    if (error == 0 && !elapse__queue_fields_decode(&fields, &record))
        model_violate("a record of a job cannot be understood");
    else if (error == 0)
        found->headers = elapse__queue_headers_of(&record, &fields);
    if (error == 0 && record.body_size - found->headers.size != found->view.body_size)
        model_violate("a body has another size");
    /* Opening the journal may clean a segment. It then copies the jobs that are left there. If it
     * cannot read the body of a job, it copies the job without the body, and sets this flag. */
    if (error == 0 && (record.flags & ELAPSE__RECORD_BODY_LOST) != 0)
        error = EBADMSG;
    found->is_damaged = error != 0;
    if (error == 0)
        found->body = record.body;
    if (error != 0 && !(process.is_damaged && error == EBADMSG))
        model_violate("the body of job %llu cannot be read: %s", (unsigned long long)found->view.id,
                      strerror(error));
}

/* Reads the error of a job, which lies in `*memory`. */
static void read_error(struct model_found *found, void **memory)
{
    struct elapse__record record;
    uint64_t position = found->view.told.position;
    *memory = NULL;
    found->error_is_lost = process.is_damaged && position == 0;
    if (position == 0)
        return;
    int error = elapse__journal_read(process.engine.journal, position, true, &record, memory);
    found->error_is_lost = error == EBADMSG && process.is_damaged;
    if (error == 0)
        found->error = (struct elapse__queue_text){record.body, record.body_size};
    else if (!found->error_is_lost)
        model_violate("the error of job %llu cannot be read: %s",
                      (unsigned long long)found->view.id, strerror(error));
}

/* Reads all jobs of the queue after a start, and compares them with the model. `least` is that of
 * process_open. */
static void look(uint64_t least)
{
    static struct model_found found[FOUND_MAX];
    static struct elapse__queue_view views[FOUND_MAX];
    static void *memory[FOUND_MAX], *errors[FOUND_MAX];
    struct elapse__queue_filter all = {.state = ELAPSE__QUEUE_FREE};
    uint32_t cursor = 0;
    uint32_t count = elapse__queue_list(process.engine.jobs, process_now(), &all, &cursor,
                                        UINT32_MAX, views, FOUND_MAX);
    if (cursor != 0)
        abort(); /* more jobs than any run makes */
    for (uint32_t i = 0; i < count; i++) {
        found[i] = (struct model_found){.view = views[i]};
        memory[i] = NULL;
        read_found(&found[i], &memory[i]);
        read_error(&found[i], &errors[i]);
    }
    uint32_t jobs = count;
    /* The list leaves out jobs that were cancelled, and keep a place under a limit. */
    for (unsigned i = 0; i < model.job_count; i++) {
        struct elapse__queue_view view;
        if (elapse__queue_look_up_id(process.engine.jobs, process_now(), model_at(i)->id, &view) !=
            ELAPSE__QUEUE_RUNNING)
            continue;
        if (count == FOUND_MAX)
            abort();
        found[count++] = (struct model_found){.view = view};
    }
    unsigned broken = elapse__queue_check(process.engine.jobs);
    if (broken != 0)
        model_violate("invariant %u of the queue is broken after a start", broken);
    if (process.engine.life <= process.greatest_life)
        model_violate("life %u is not the first of its number", process.engine.life);
    process.greatest_life = process.engine.life;
    if (model.violation[0] == '\0')
        model_recover(process.engine.jobs, process_now(), least, found, count);
    for (uint32_t i = 0; i < jobs; i++) {
        free(memory[i]);
        free(errors[i]);
    }
}

static void keep_name(void *context, const char *name)
{
    (void)snprintf(context, ELAPSE__FILE_NAME_BYTES, "%s", name);
}

bool process_remove_backups(void)
{
    for (bool removed_any = false;; removed_any = true) {
        char name[ELAPSE__FILE_NAME_BYTES] = "";
        sim_disk_names("backup", keep_name, name);
        if (name[0] == '\0')
            return removed_any;
        (void)sim_disk_remove("backup", name);
    }
}

/* Judges a failed attempt to open. Returns true if the failure is to be expected, and the caller is
 * to try again. Returns false if the journal was damaged and is refused, or after a violation. */
static bool judge_failure(const struct elapse__journal_refusal *refusal, enum elapse_error error,
                          bool faulty)
{
    if (process.is_damaged && refusal->fault > ELAPSE__FAULT_LOCKED)
        return false;
    if (refusal->fault > ELAPSE__FAULT_CALL)
        return model_violate("open refuses %s at %llu (fault %d) after an ordinary crash",
                             refusal->file, (unsigned long long)refusal->offset,
                             (int)refusal->fault);
    /* Each start takes a new segment. The segments that cleaning has emptied give no room back on a
     * full disk while a backup holds their files. The operator removes the backup, and tries again.
     */
    if (error == ELAPSE_ERROR_DISK_FULL && process.capacity > 0 && process_remove_backups())
        return true;
    if (!faulty)
        return model_violate("open fails (%d, %s %d) though no call fails", (int)error,
                             refusal->file, refusal->error);
    return true;
}

bool process_open(uint64_t least, bool faults)
{
    struct elapse__journal_refusal refusal;
    process.unreadable_until = 0;
    for (unsigned attempt = 0;; attempt++) {
        bool crash = faults && attempt < ATTEMPTS && random_below(2) == 0;
        bool syncs = faults && attempt < ATTEMPTS && random_below(4) == 0;
        process_set_faults(crash, syncs, false);
        enum elapse_error error = try_to_open(&refusal);
        if (error == ELAPSE_OK && !sim_disk_is_dead())
            break;
        if (error == ELAPSE_OK)
            process_kill();
        else if (!judge_failure(&refusal, error, crash || syncs))
            return false;
        process_totals->in_recovery++;
        if (!sim_disk_is_dead() && random_below(2) == 0) {
            sim_disk_end_process();
            continue;
        }
        sim_disk_lose_power();
        process.booted_at = model.t;
        if (process.interval_ms > 0)
            least = 0;
    }
    process_set_faults(false, false, false);
    look(least);
    process.counter = (struct elapse__record_sink){
        .begin = counter_begin, .append = counter_append, .end = counter_end, .live = counter_live};
    process.engine.below = &process.counter;
    return model.violation[0] == '\0';
}
