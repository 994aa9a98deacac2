#include "row.h"

#include <string.h>

#include "../../base/assert.h"
#include "../../protocol/put_options.h"

static bool is(struct elapse__queue_text text, const char *word)
{
    return text.size == strlen(word) && memcmp(text.bytes, word, text.size) == 0;
}

/* Returns the place of a word in `words`, or `count` if the word is not there. */
static unsigned find(struct elapse__queue_text text, const char *const *words, unsigned count)
{
    unsigned i = 0;
    while (i < count && !is(text, words[i]))
        i++;
    return i;
}

/* Returns whether the body of a put begins with the number of arrivals that the job waits for. */
static bool has_await(const struct elapse__inbox_row *row)
{
    return is(row->what, "put+await");
}

/* Returns whether the length of headers stands before the body of a put. */
static bool has_headers(const struct elapse__inbox_row *row)
{
    return is(row->what, "put+headers") || has_await(row);
}

static const char *read_what(const struct elapse__inbox_row *row,
                             struct elapse__inbox_command *command)
{
    static const char *const words[] = {
        [ELAPSE__INBOX_PUT] = "put",
        [ELAPSE__INBOX_CANCEL] = "cancel",
        [ELAPSE__INBOX_RESCHEDULE] = "reschedule",
        [ELAPSE__INBOX_ARRIVE] = "arrive",
    };
    enum { WORDS = sizeof words / sizeof *words };
    unsigned what = has_headers(row) ? ELAPSE__INBOX_PUT : find(row->what, words, WORDS);
    if (what == WORDS)
        return "this version knows no such call";
    command->what = (enum elapse__inbox_what)what;
    return NULL;
}

/* Returns how much is left of the delay of a row that was made `age_ms` ago. The age is negative if
 * somebody set the clock of the database back meanwhile. */
static uint64_t rest_ms(const struct elapse__inbox_row *row)
{
    ELAPSE__ASSERT_THAT(row->due_ms, >=, 0);
    int64_t age_ms = row->age_ms > 0 ? row->age_ms : 0;
    return row->due_ms > age_ms ? (uint64_t)(row->due_ms - age_ms) : 0;
}

static const char *read_due(const struct elapse__inbox_row *row, enum elapse__queue_when *when)
{
    static const char *const words[] = {
        [ELAPSE__QUEUE_IN] = "in",
        [ELAPSE__QUEUE_AT] = "at",
        [ELAPSE__QUEUE_EVERY] = "every",
        [ELAPSE__QUEUE_CRON] = "cron",
    };
    enum { WORDS = sizeof words / sizeof *words };
    unsigned word = find(row->due, words, WORDS);
    if (has_await(row) && row->due.size == 0)
        word = ELAPSE__QUEUE_NO_TIME;
    else if (word == WORDS)
        return "this version knows no such kind of time";
    *when = (enum elapse__queue_when)word;
    if (row->due_ms < 0)
        return "a time or a duration is below 0";
    return NULL;
}

static const char *read_if_key(const struct elapse__inbox_row *row, struct elapse__queue_put *put)
{
    static const char *const words[] = {
#define WORD(NAME, word) [ELAPSE__QUEUE_##NAME] = (word),
        ELAPSE__IF_KEY_WORDS(WORD)
#undef WORD
    };
    enum { WORDS = sizeof words / sizeof *words };
    unsigned word = find(row->if_key, words, WORDS);
    if (word == WORDS)
        return "this version knows no such mode of ifkey";
    put->if_key = (enum elapse__queue_if_key)word;
    return NULL;
}

static bool has_negative(const struct elapse__inbox_row *row)
{
    return row->max_ms < 0 || row->priority < 0 || row->ttr_ms < 0 || row->expire_ms < 0 ||
           row->retry < 0 || row->backoff_min_ms < 0 || row->backoff_max_ms < 0;
}

static const char *read_numbers(const struct elapse__inbox_row *row, struct elapse__queue_put *put)
{
    if (has_negative(row))
        return "a number is below 0";
    if (row->priority > UINT32_MAX || row->retry > UINT32_MAX)
        return "priority and retry are at most 4294967295";
    put->debounce_max_ms = (uint64_t)row->max_ms;
    put->priority = (uint32_t)row->priority;
    put->ttr_ms = (uint64_t)row->ttr_ms;
    put->expire_ms = (uint64_t)row->expire_ms;
    put->retry = (uint32_t)row->retry;
    put->backoff_min_ms = (uint64_t)row->backoff_min_ms;
    put->backoff_max_ms = (uint64_t)row->backoff_max_ms;
    return NULL;
}

/* Takes `size` bytes off the beginning of a text that has so many. */
static struct elapse__queue_text take(struct elapse__queue_text *text, size_t size)
{
    struct elapse__queue_text taken = {text->bytes, size};
    ELAPSE__ASSERT_THAT(size, <=, text->size);
    text->bytes = (const uint8_t *)text->bytes + size;
    text->size -= size;
    return taken;
}

/* Takes a number of some bytes, the greatest first, off the beginning of a text. */
static uint64_t take_number(struct elapse__queue_text *text, size_t size)
{
    const uint8_t *bytes = take(text, size).bytes;
    uint64_t number = 0;
    for (size_t i = 0; i < size; i++)
        number = number << 8 | bytes[i];
    return number;
}

/* Reads the body, and what stands before it: the number of arrivals, and the headers behind their
 * length. */
static const char *read_body(const struct elapse__inbox_row *row, struct elapse__queue_put *put)
{
    enum { AWAIT_BYTES = 8, LENGTH_BYTES = 4 };

    put->body = row->body;
    if (!has_headers(row))
        return NULL;
    if (has_await(row)) {
        uint64_t await = put->body.size < AWAIT_BYTES ? 0 : take_number(&put->body, AWAIT_BYTES);
        if (await == 0 || await > UINT32_MAX)
            return "await is 1 to 4294967295";
        put->await = (uint32_t)await;
    }
    if (put->body.size < LENGTH_BYTES)
        return "the length of its headers is missing";
    uint64_t size = take_number(&put->body, LENGTH_BYTES);
    if ((size == 0 && !has_await(row)) || size > put->body.size)
        return "its headers are not whole";
    put->headers = take(&put->body, (size_t)size);
    return NULL;
}

static const char *read_put(const struct elapse__inbox_row *row, struct elapse__queue_put *put)
{
    const char *fault = read_due(row, &put->when);
    if (fault == NULL)
        fault = read_if_key(row, put);
    if (fault == NULL)
        fault = read_numbers(row, put);
    if (fault == NULL)
        fault = read_body(row, put);
    if (fault != NULL)
        return fault;
    put->tag = row->tag;
    put->token = row->token;
    put->cron = row->cron;
    put->zone = row->zone;
    put->delay_ms = put->when == ELAPSE__QUEUE_IN ? rest_ms(row) : 0;
    put->at_ms = put->when == ELAPSE__QUEUE_AT ? row->due_ms : 0;
    put->period_ms = put->when == ELAPSE__QUEUE_EVERY ? (uint64_t)row->due_ms : 0;
    return NULL;
}

static const char *read_time(const struct elapse__inbox_row *row, struct elapse__queue_time *time)
{
    const char *fault = read_due(row, &time->when);
    if (fault != NULL)
        return fault;
    time->delay_ms = time->when == ELAPSE__QUEUE_IN ? rest_ms(row) : 0;
    time->at_ms = time->when == ELAPSE__QUEUE_AT ? row->due_ms : 0;
    return NULL;
}

static const char *read_arrival(const struct elapse__inbox_row *row,
                                struct elapse__queue_arrival *arrival)
{
    if (row->due_ms < 1 || row->due_ms > UINT32_MAX)
        return "the count is 1 to 4294967295";
    *arrival = (struct elapse__queue_arrival){
        .tube = row->tube, .key = row->key, .count = (uint32_t)row->due_ms, .token = row->token};
    return NULL;
}

const char *elapse__inbox_read(const struct elapse__inbox_row *row,
                               struct elapse__inbox_command *command)
{
    *command = (struct elapse__inbox_command){.what = ELAPSE__INBOX_PUT};
    command->put.tube = row->tube;
    command->put.key = row->key;
    const char *fault = read_what(row, command);
    if (fault != NULL)
        return fault;
    switch (command->what) {
    case ELAPSE__INBOX_PUT:
        return read_put(row, &command->put);
    case ELAPSE__INBOX_CANCEL:
        return NULL;
    case ELAPSE__INBOX_RESCHEDULE:
        return read_time(row, &command->time);
    case ELAPSE__INBOX_ARRIVE:
        return read_arrival(row, &command->arrival);
    }
    return "this version knows no such call";
}

struct elapse__queue_answer elapse__inbox_run(struct elapse__queue *queue,
                                              struct elapse__queue_now now, const void *command)
{
    const struct elapse__inbox_command *call = command;
    switch (call->what) {
    case ELAPSE__INBOX_PUT:
        return elapse__queue_put(queue, now, &call->put);
    case ELAPSE__INBOX_CANCEL:
        return elapse__queue_cancel_key(queue, now, call->put.tube, call->put.key);
    case ELAPSE__INBOX_ARRIVE:
        return elapse__queue_arrive(queue, now, &call->arrival);
    case ELAPSE__INBOX_RESCHEDULE:
        break;
    }
    ELAPSE__ASSERT_THAT(call->what, ==, ELAPSE__INBOX_RESCHEDULE);
    return elapse__queue_reschedule_key(queue, now, call->put.tube, call->put.key, call->time);
}
