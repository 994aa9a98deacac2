/*
 * Answers lines of the input. The main thread writes the answers. It never waits for a slow reader
 * of the output, because it would not see a signal during the wait. Instead it stops reading lines
 * (life.c).
 *
 * The scheduler does not list its tasks. So with --answers every timer is in a list of the run,
 * which a lock guards, from its line to its end.
 */
#include "answer.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../common/message.h"
#include "../common/timestamp.h"

void run_answer_cancel(struct run *run, const struct run_line *line, enum elapse_cancel answer)
{
    static const char *const names[] = {
        [ELAPSE_CANCEL_REMOVED] = "removed",
        [ELAPSE_CANCEL_RUNNING] = "running",
        [ELAPSE_CANCEL_GONE] = "gone",
    };
    struct elapse__json *json = run_writer_begin_now(&run->writer);

    ELAPSE__ASSERT((size_t)answer < sizeof names / sizeof names[0]);
    elapse__json_name(json, "cancel");
    elapse__json_string(json, line->key, line->key_bytes);
    elapse__json_text_member(json, "answer", names[answer]);
    run_writer_end(&run->writer);
}

void run_report_line(struct run *run, uint64_t line_number, const char *text)
{
    ELAPSE__ASSERT(text[0] != '\0');
    if (!run->options->answers) {
        print_error("%s: line %" PRIu64 ": %s", run->input_name, line_number, text);
        return;
    }
    struct elapse__json *json = run_writer_begin_now(&run->writer);
    elapse__json_unsigned_member(json, "line", line_number);
    elapse__json_text_member(json, "error", text);
    run_writer_end(&run->writer);
}

/* ---- the list ---- */

struct entry {
    struct elapse_handle handle;
    bool is_running;
    uint64_t due_unix_ns;
    size_t number; /* the place in the list of the run, in which the newest timer comes first */
    char *key;
    size_t key_bytes;
};

static int compare(uint64_t left, uint64_t right)
{
    return (left > right) - (left < right);
}

/* Sorts entries by their task, and entries of one task from the newest line to the oldest. */
static int compare_tasks(const void *left, const void *right)
{
    const struct entry *a = left;
    const struct entry *b = right;
    int by_index = compare(a->handle.index, b->handle.index);

    return by_index != 0 ? by_index : compare(a->number, b->number);
}

/* Sorts entries by their time, and entries of one time from the oldest line to the newest. */
static int compare_times(const void *left, const void *right)
{
    const struct entry *a = left;
    const struct entry *b = right;
    int by_time = compare(a->due_unix_ns, b->due_unix_ns);

    return by_time != 0 ? by_time : compare(b->number, a->number);
}

/* Finds the task of this timer's key. Returns false if there is no such task. */
static bool find_task(struct run *run, const struct run_timer *timer, struct entry *entry)
{
    struct elapse_found found;
    enum elapse_task_state state =
        elapse_task_look_up_key(run->scheduler, timer->text, timer->key_bytes, &found);

    if (state == ELAPSE_TASK_GONE)
        return false;
    entry->handle = found.handle;
    entry->is_running = state == ELAPSE_TASK_RUNNING;
    uint64_t deadline_ns = found.deadline_ns;
    if (timer->passed_unix_ns > 0)
        deadline_ns = timer->passed_unix_ns;
    entry->due_unix_ns = timer->by_wall_clock ? deadline_ns : deadline_ns + run->unix_offset_ns;
    return true;
}

/*
 * Returns the tasks of the timers in the list, with copies of their keys. While the action of a
 * timer runs, another timer with its key may be pending. Then both timers lead to the same task,
 * and the older timer is left out.
 */
static struct entry *take_entries(struct run *run, size_t *count)
{
    size_t found = 0;

    elapse__os_monitor_enter(run->timers_lock);
    struct entry *entries = allocate((run->timer_count + 1) * sizeof *entries);
    for (const struct run_timer *timer = run->timers; timer != NULL; timer = timer->next) {
        struct entry *entry = &entries[found];
        ELAPSE__ASSERT(found < run->timer_count);
        if (!find_task(run, timer, entry))
            continue;
        entry->number = found++;
        entry->key_bytes = timer->key_bytes;
        entry->key = allocate(timer->key_bytes);
        memcpy(entry->key, timer->text, timer->key_bytes);
    }
    elapse__os_monitor_leave(run->timers_lock);
    qsort(entries, found, sizeof *entries, compare_tasks);
    *count = 0;
    for (size_t i = 0; i < found; i++) {
        if (*count > 0 && entries[i].handle.index == entries[*count - 1].handle.index)
            free(entries[i].key);
        else
            entries[(*count)++] = entries[i];
    }
    qsort(entries, *count, sizeof *entries, compare_times);
    return entries;
}

void run_answer_entry(struct run *run, const struct run_list_entry *entry)
{
    struct elapse__json *json = run_writer_begin_now(&run->writer);

    ELAPSE__ASSERT(entry->key_bytes >= 1);
    elapse__json_name(json, "list");
    elapse__json_string(json, entry->key, entry->key_bytes);
    elapse__json_text_member(json, "state", entry->is_running ? "running" : "pending");
    timestamp_add_member(json, "due", entry->due_unix_ns);
    run_writer_end(&run->writer);
}

void run_answer_listed(struct run *run, size_t count)
{
    struct elapse__json *json = run_writer_begin_now(&run->writer);

    elapse__json_unsigned_member(json, "listed", count);
    run_writer_end(&run->writer);
}

void run_answer_list(struct run *run)
{
    size_t count;
    struct entry *entries = take_entries(run, &count);

    ELAPSE__ASSERT(run->options->answers);
    for (size_t i = 0; i < count; i++) {
        run_answer_entry(run, &(struct run_list_entry){
                                  .key = entries[i].key,
                                  .key_bytes = entries[i].key_bytes,
                                  .due_unix_ns = entries[i].due_unix_ns,
                                  .is_running = entries[i].is_running,
                              });
        free(entries[i].key);
    }
    free(entries);
    run_answer_listed(run, count);
}
