#include "inbox.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"

enum state {
    STATE_OFF,
    STATE_RESTING,
    STATE_ASKED,
    STATE_HOLDING,
};

/*
 * Rows that were run stay here until they leave the inbox. They lie in the places from `first` to
 * `end`:
 *
 *      0 ... first ... attached ... end ... ELAPSE__INBOX_ROWS_MAX gone  | in a group  | in none  |
 */
struct elapse__inbox {
    elapse__inbox_run_function *run;
    void *context;
    enum state state;
    size_t first, attached, end;
    int64_t ids[ELAPSE__INBOX_ROWS_MAX];
    uint64_t gates[ELAPSE__INBOX_ROWS_MAX];
    const char *reasons[ELAPSE__INBOX_ROWS_MAX];
    char texts[ELAPSE__INBOX_ROWS_MAX][ELAPSE__INBOX_REASON_BYTES];

    uint64_t serial; /* the serial number of the last poll */
    bool relief;     /* the last poll, or the next one while RESTING, is for relief (plan_next) */
    uint64_t asked_ms;
    uint64_t next_ms;
    uint64_t rest_ms;     /* no poll before, whatever the database tells */
    bool is_told;         /* the database has told something since it was asked */
    bool tells;           /* the database has told something since this node owns the partition */
    uint64_t row_ms;      /* when the last row came */
    uint64_t interval_ms; /* the pause between polls while no rows come */
    uint64_t retry_ms;    /* the pause after the next failed poll */
    enum elapse__inbox_wait waits;
    int64_t waits_for;
    uint64_t polls, told, moved, refused;
};

struct elapse__inbox *elapse__inbox_new(elapse__inbox_run_function *run, void *context)
{
    struct elapse__inbox *inbox = calloc(1, sizeof *inbox);
    if (inbox == NULL)
        return NULL;
    inbox->run = run;
    inbox->context = context;
    return inbox;
}

void elapse__inbox_free(struct elapse__inbox *inbox)
{
    free(inbox);
}

/* ---- the partition ---- */

static void forget_rows(struct elapse__inbox *inbox)
{
    inbox->first = inbox->attached = inbox->end = 0;
}

void elapse__inbox_own(struct elapse__inbox *inbox, uint64_t now_ms)
{
    ELAPSE__ASSERT_THAT(inbox->state, ==, STATE_OFF);
    ELAPSE__ASSERT_THAT(inbox->end, ==, 0);
    inbox->state = STATE_RESTING;
    inbox->relief = inbox->is_told = inbox->tells = false;
    inbox->next_ms = inbox->rest_ms = inbox->row_ms = now_ms;
    inbox->interval_ms = ELAPSE__INBOX_BUSY_MS;
    inbox->retry_ms = ELAPSE__INBOX_RETRY_MS;
    inbox->waits = ELAPSE__INBOX_WAITS_NOT;
    inbox->waits_for = 0;
    ELAPSE__ASSERT_THAT(elapse__inbox_check(inbox), ==, 0);
}

void elapse__inbox_disown(struct elapse__inbox *inbox)
{
    inbox->state = STATE_OFF;
    forget_rows(inbox);
    ELAPSE__ASSERT_THAT(elapse__inbox_check(inbox), ==, 0);
}

/* ---- when to poll ---- */

bool elapse__inbox_ask(struct elapse__inbox *inbox, uint64_t now_ms,
                       struct elapse__inbox_poll *poll)
{
    if (inbox->state != STATE_RESTING || now_ms < inbox->next_ms)
        return false;
    ELAPSE__ASSERT_THAT(inbox->end, ==, 0); /* I2 */
    ELAPSE__ASSERT_THAT(now_ms, >=, inbox->asked_ms);
    inbox->state = STATE_ASKED;
    inbox->is_told = false;
    inbox->asked_ms = now_ms;
    inbox->serial++;
    inbox->polls++;
    *poll = (struct elapse__inbox_poll){.serial = inbox->serial,
                                        .rows_max = ELAPSE__INBOX_ROWS_MAX,
                                        .bytes_max = ELAPSE__INBOX_BYTES_MAX,
                                        .relief = inbox->relief};
    return true;
}

uint64_t elapse__inbox_next_ms(const struct elapse__inbox *inbox)
{
    return inbox->state == STATE_RESTING ? inbox->next_ms : UINT64_MAX;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t greatest(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Plans the next poll after a failed poll, or after a poll whose rows have to wait. */
static void poll_again_later(struct elapse__inbox *inbox, uint64_t now_ms)
{
    ELAPSE__ASSERT(inbox->retry_ms > 0 && inbox->retry_ms <= ELAPSE__INBOX_RETRY_MS_MAX);
    inbox->next_ms = now_ms + inbox->retry_ms;
    inbox->retry_ms = least(2 * inbox->retry_ms, ELAPSE__INBOX_RETRY_MS_MAX);
}

/* Returns the pause after a poll without rows. */
static uint64_t empty_pause_ms(struct elapse__inbox *inbox, uint64_t now_ms)
{
    ELAPSE__ASSERT_THAT(now_ms, >=, inbox->row_ms);
    uint64_t quiet_ms = now_ms - inbox->row_ms;
    bool sleeps = inbox->tells && quiet_ms >= ELAPSE__INBOX_AWAKE_MS;
    inbox->interval_ms =
        least(2 * inbox->interval_ms, sleeps ? ELAPSE__INBOX_TOLD_MS : ELAPSE__INBOX_QUIET_MS);
    if (!inbox->tells && quiet_ms >= ELAPSE__INBOX_IDLE_AFTER_MS)
        return ELAPSE__INBOX_IDLE_MS;
    return inbox->interval_ms;
}

/* Plans the next poll for the end of the database's rest, unless it is earlier anyway. */
static void poll_soon(struct elapse__inbox *inbox, uint64_t now_ms)
{
    inbox->next_ms = least(inbox->next_ms, greatest(inbox->rest_ms, now_ms));
    inbox->interval_ms = ELAPSE__INBOX_BUSY_MS;
}

void elapse__inbox_told(struct elapse__inbox *inbox, uint64_t now_ms)
{
    if (inbox->state == STATE_OFF)
        return;
    ELAPSE__ASSERT_THAT(now_ms, >=, inbox->asked_ms);
    inbox->told++;
    inbox->tells = inbox->is_told = true;
    /* The pause grows while polls fail, and while rows have to wait. */
    bool is_backing_off = inbox->waits != ELAPSE__INBOX_WAITS_NOT || inbox->relief ||
                          inbox->retry_ms > ELAPSE__INBOX_RETRY_MS;
    if (inbox->state != STATE_ASKED && !is_backing_off)
        poll_soon(inbox, now_ms);
}

/* Stores the pause after a poll of which all rows were run. */
static void poll_as_usual(struct elapse__inbox *inbox, uint64_t now_ms, size_t count, bool is_full)
{
    uint64_t pause_ms = ELAPSE__INBOX_BUSY_MS;
    inbox->retry_ms = ELAPSE__INBOX_RETRY_MS;
    if (count == 0) {
        pause_ms = empty_pause_ms(inbox, now_ms);
    } else {
        inbox->interval_ms = ELAPSE__INBOX_BUSY_MS;
        inbox->row_ms = now_ms;
    }
    uint64_t took_ms = now_ms - inbox->asked_ms;
    inbox->rest_ms =
        now_ms + greatest(ELAPSE__INBOX_BUSY_MS, least(4 * took_ms, ELAPSE__INBOX_RETRY_MS_MAX));
    inbox->next_ms = is_full ? now_ms : greatest(now_ms + pause_ms, inbox->rest_ms);
    if (inbox->is_told)
        poll_soon(inbox, now_ms);
}

/* Returns whether the queue takes no jobs but takes other commands, such as cancels. */
static bool is_full_up(enum elapse__inbox_wait waits)
{
    return waits == ELAPSE__INBOX_WAITS_DISK || waits == ELAPSE__INBOX_WAITS_LIMIT ||
           waits == ELAPSE__INBOX_WAITS_MEMORY;
}

/* Plans the next poll. While the queue takes no jobs, two kinds of polls alternate. One kind is for
 * relief: it runs rows that make room in the queue, such as cancels. The other kind tries the
 * waiting job again. */
static void plan_next(struct elapse__inbox *inbox, uint64_t now_ms, size_t count, bool is_full)
{
    bool was_relief = inbox->relief;
    inbox->relief = !was_relief && is_full_up(inbox->waits);
    if (inbox->relief)
        inbox->next_ms = now_ms;
    else if (inbox->waits == ELAPSE__INBOX_WAITS_JOURNAL)
        inbox->next_ms = now_ms + ELAPSE__INBOX_BUSY_MS;
    else if (was_relief || inbox->waits != ELAPSE__INBOX_WAITS_NOT)
        poll_again_later(inbox, now_ms);
    else
        poll_as_usual(inbox, now_ms, count, is_full);
}

void elapse__inbox_failed(struct elapse__inbox *inbox, uint64_t now_ms, uint64_t serial)
{
    if (inbox->state != STATE_ASKED || serial != inbox->serial)
        return;
    inbox->state = STATE_RESTING;
    inbox->waits = ELAPSE__INBOX_WAITS_POLL;
    inbox->waits_for = 0;
    poll_again_later(inbox, now_ms);
}

/* ---- rows ---- */

static enum elapse__inbox_wait wait_of(const struct elapse__queue_answer *answer)
{
    switch (answer->result) {
    case ELAPSE__QUEUE_ARGUMENT:
        /* The database takes such a row only when the queue's level was raised. The node reads the
         * level when it starts, so it runs the row after its restart. */
        return answer->fault == elapse__queue_upgrade_first ? ELAPSE__INBOX_WAITS_UPGRADE
                                                            : ELAPSE__INBOX_WAITS_NOT;
    case ELAPSE__QUEUE_NO_MEMORY:
        return ELAPSE__INBOX_WAITS_MEMORY;
    case ELAPSE__QUEUE_LIMIT:
    case ELAPSE__QUEUE_GROUPS_FULL:
    case ELAPSE__QUEUE_TOKENS_FULL:
        return ELAPSE__INBOX_WAITS_LIMIT;
    case ELAPSE__QUEUE_REFUSED:
        return ELAPSE__INBOX_WAITS_DISK;
    default:
        return ELAPSE__INBOX_WAITS_NOT;
    }
}

/* Keeps a row that was run until it leaves with a group. The reason of a refused row is in the
 * row's text. */
static void hold(struct elapse__inbox *inbox, int64_t id, uint64_t gate, bool is_refused)
{
    size_t place = inbox->end++;
    ELAPSE__ASSERT_THAT(place, <, ELAPSE__INBOX_ROWS_MAX);
    ELAPSE__ASSERT(place == 0 || id > inbox->ids[place - 1]); /* I5 */
    inbox->ids[place] = id;
    inbox->gates[place] = place > 0 ? greatest(gate, inbox->gates[place - 1]) : gate;
    inbox->reasons[place] = is_refused ? inbox->texts[place] : NULL;
    inbox->refused += is_refused;
}

/* Keeps a row that is refused, and stores the reason: the error in the form of RESP. */
static void refuse(struct elapse__inbox *inbox, int64_t id,
                   const struct elapse__queue_answer *answer)
{
    char *text = inbox->texts[inbox->end];
    ELAPSE__ASSERT(answer->result == ELAPSE__QUEUE_KEY_TAKEN || answer->fault != NULL);
    if (answer->result == ELAPSE__QUEUE_KEY_TAKEN)
        (void)snprintf(text, ELAPSE__INBOX_REASON_BYTES, "BUSYKEY %" PRIu64 " has this key",
                       answer->id);
    else
        (void)snprintf(text, ELAPSE__INBOX_REASON_BYTES, "ERR %s", answer->fault);
    hold(inbox, id, answer->position, true);
}

/* Runs a row. Returns false if the row has to wait. */
static bool run_row(struct elapse__inbox *inbox, const struct elapse__inbox_row *row)
{
    struct elapse__inbox_command command;
    struct elapse__queue_answer answer = {.result = ELAPSE__QUEUE_ARGUMENT};
    ELAPSE__ASSERT_THAT(inbox->waits, ==, ELAPSE__INBOX_WAITS_NOT); /* I5 */

    answer.fault = elapse__inbox_read(row, &command);
    if (answer.fault != NULL) {
        refuse(inbox, row->id, &answer);
        return true;
    }
    if (!inbox->run(inbox->context, &command, &answer)) {
        inbox->waits = ELAPSE__INBOX_WAITS_JOURNAL;
        return false;
    }
    inbox->waits = wait_of(&answer);
    if (inbox->waits != ELAPSE__INBOX_WAITS_NOT)
        return false;
    if (answer.result == ELAPSE__QUEUE_KEY_TAKEN || answer.result == ELAPSE__QUEUE_ARGUMENT)
        refuse(inbox, row->id, &answer);
    else
        hold(inbox, row->id, answer.position, false);
    return true;
}

/* Runs rows in their order. Stops at a row that has to wait. */
static void run_rows(struct elapse__inbox *inbox, const struct elapse__inbox_row *rows,
                     size_t count)
{
    inbox->waits = ELAPSE__INBOX_WAITS_NOT;
    inbox->waits_for = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_in_order = i == 0 || rows[i].id > rows[i - 1].id;
        if (!is_in_order)
            inbox->waits = ELAPSE__INBOX_WAITS_POLL;
        if (!is_in_order || !run_row(inbox, &rows[i])) {
            inbox->waits_for = rows[i].id;
            return;
        }
    }
}

static bool comes_full(const struct elapse__inbox_row *rows, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += rows[i].body.size;
    return count == ELAPSE__INBOX_ROWS_MAX || bytes >= ELAPSE__INBOX_BYTES_MAX;
}

void elapse__inbox_came(struct elapse__inbox *inbox, uint64_t now_ms, uint64_t serial,
                        const struct elapse__inbox_row *rows, size_t count)
{
    if (inbox->state != STATE_ASKED || serial != inbox->serial)
        return;
    ELAPSE__ASSERT_THAT(count, <=, ELAPSE__INBOX_ROWS_MAX);
    ELAPSE__ASSERT_THAT(now_ms, >=, inbox->asked_ms);
    forget_rows(inbox);
    run_rows(inbox, rows, count);
    plan_next(inbox, now_ms, count, comes_full(rows, count));
    inbox->state = inbox->end > 0 ? STATE_HOLDING : STATE_RESTING;
    ELAPSE__ASSERT_THAT(elapse__inbox_check(inbox), ==, 0);
}

/* ---- groups ---- */

bool elapse__inbox_holds(const struct elapse__inbox *inbox)
{
    return inbox->attached < inbox->end;
}

struct elapse__inbox_list elapse__inbox_attach(struct elapse__inbox *inbox, uint64_t end)
{
    ELAPSE__ASSERT_THAT(inbox->attached, ==, inbox->first);
    while (inbox->attached < inbox->end && inbox->gates[inbox->attached] <= end)
        inbox->attached++;
    ELAPSE__ASSERT_THAT(elapse__inbox_check(inbox), ==, 0);
    return (struct elapse__inbox_list){.ids = inbox->ids + inbox->first,
                                       .reasons = inbox->reasons + inbox->first,
                                       .count = inbox->attached - inbox->first};
}

void elapse__inbox_confirmed(struct elapse__inbox *inbox, uint64_t now_ms)
{
    inbox->moved += inbox->attached - inbox->first;
    inbox->first = inbox->attached;
    if (inbox->state == STATE_HOLDING && inbox->first == inbox->end) {
        forget_rows(inbox);
        inbox->state = STATE_RESTING;
        inbox->next_ms = greatest(inbox->next_ms, now_ms);
    }
    ELAPSE__ASSERT_THAT(elapse__inbox_check(inbox), ==, 0);
}

/* ---- what tests and operators ask ---- */

void elapse__inbox_figures(const struct elapse__inbox *inbox, struct elapse__inbox_figures *figures)
{
    *figures = (struct elapse__inbox_figures){.polls = inbox->polls,
                                              .told = inbox->told,
                                              .moved = inbox->moved,
                                              .refused = inbox->refused,
                                              .waits = inbox->waits,
                                              .waits_for = inbox->waits_for};
}

unsigned elapse__inbox_check(const struct elapse__inbox *inbox)
{
    /* 1: the places are in their order */
    if (inbox->first > inbox->attached || inbox->attached > inbox->end ||
        inbox->end > ELAPSE__INBOX_ROWS_MAX)
        return 1;
    /* 2: the state is HOLDING if and only if there are rows */
    if ((inbox->state == STATE_HOLDING) != (inbox->first < inbox->end))
        return 2;
    /* 3: ids increase, and gates do not decrease */
    for (size_t i = 1; i < inbox->end; i++)
        if (inbox->ids[i] <= inbox->ids[i - 1] || inbox->gates[i] < inbox->gates[i - 1])
            return 3;
    /* 4: the waits are within their limits */
    if (inbox->state != STATE_OFF && (inbox->interval_ms > ELAPSE__INBOX_TOLD_MS ||
                                      inbox->retry_ms > ELAPSE__INBOX_RETRY_MS_MAX))
        return 4;
    /* 5: when the last row has gone, all rows are forgotten */
    if (inbox->state != STATE_HOLDING && inbox->end > 0)
        return 5;
    return 0;
}
