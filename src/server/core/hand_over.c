/*
 * Completes replies that have jobs: reads the bodies, begins the leases, and formats the reply. A
 * hand is one job of a reply.
 *
 *      TAKEN --durable--> BEGUN --in memory, or in the page cache--> READ --> formatted
 *                          |                                          ^
 *                          +------> WITH_SHELL: read from the disk ---+
 */
#include <errno.h>
#include <stdlib.h>

#include "hand_over.h"
#include "marks.h"
#include "reserve.h"
#include "tubes.h"

/* ---- reading ---- */

enum { BATCH_HANDS = 64 }; /* bodies that are read together */

/* Hands of one reply, in their order. Jobs that were put one after the other lie side by side in
 * their segment, and one system call reads their bodies. */
struct batch {
    uint32_t count;
    struct elapse__hand *hands[BATCH_HANDS];
    struct elapse__journal_reading readings[BATCH_HANDS];
};

static void give_reading(struct elapse__server_reply *reply, struct elapse__server_reading *reading)
{
    ELAPSE__ASSERT(!elapse__ring_has_node(&reading->ring_node));
    reading->reading.error = EAGAIN;
    reading->reply = reply;
    reply->unread++;
    elapse__ring_append(&reply->connection->server->readings, &reading->ring_node);
}

static void give_to_shell(struct elapse__server_reply *reply, struct elapse__hand *hand)
{
    hand->state = ELAPSE__HAND_WITH_SHELL;
    give_reading(reply, &hand->reading);
}

/* Begins to read the error of a job, if the job has one. If there is no memory, the reply leaves
 * the error out. */
static void begin_error(struct elapse__server_reply *reply, struct elapse__hand *hand)
{
    struct elapse__engine *engine = reply->connection->server->engine;

    if (!reply->shows_errors)
        return;
    if (reply->kind != ELAPSE__REPLY_LOOK)
        hand->told = elapse__queue_told(engine->jobs, hand->job.handed.id);
    if (hand->told.position == 0)
        return;
    struct elapse__server_reading *reading = calloc(1, sizeof *reading);
    hand->of_error = reading;
    if (reading == NULL)
        return;
    reading->is_of_error = true;
    (void)elapse__engine_error_begin(engine, &hand->told, &reading->reading);
    elapse__journal_read_perform(engine->journal, false, &reading->reading, 1);
    if (reading->reading.error == EAGAIN)
        give_reading(reply, reading);
}

/* Ends the reading of an error. Adds the error to the texts of the job. */
static void end_error(struct elapse__engine *engine, struct elapse__hand *hand)
{
    elapse__engine_error_end(engine, &hand->told,
                             hand->of_error == NULL ? NULL : &hand->of_error->reading,
                             &hand->job.texts);
    free(hand->of_error);
    hand->of_error = NULL;
}

/* Reads the bodies that are in memory or in the page cache. The shell gets the readings that have
 * to wait for the disk. */
static void read_batch(struct elapse__server_reply *reply, struct batch *batch)
{
    const struct elapse__journal *journal = reply->connection->server->engine->journal;

    elapse__journal_read_perform(journal, false, batch->readings, batch->count);
    for (uint32_t i = 0; i < batch->count; i++) {
        struct elapse__hand *hand = batch->hands[i];
        hand->reading.reading = batch->readings[i];
        if (batch->readings[i].error == EAGAIN)
            give_to_shell(reply, hand);
    }
    batch->count = 0;
}

static void add_to_batch(struct elapse__server_reply *reply, struct elapse__hand *hand,
                         struct batch *batch)
{
    hand->state = ELAPSE__HAND_READ;
    if (hand->reading.reading.file == ELAPSE__NO_FILE)
        return;
    if (hand->job.handed.body_size > ELAPSE__INLINE_READ_BYTES) {
        give_to_shell(reply, hand);
        return;
    }
    batch->hands[batch->count] = hand;
    batch->readings[batch->count++] = hand->reading.reading;
    if (batch->count == BATCH_HANDS)
        read_batch(reply, batch);
}

/* Begins the readings of a reply, as far as the budget goes. When all have begun, the reply is in
 * the state READING. */
static void begin_readings(struct elapse__server_reply *reply)
{
    struct elapse__server *server = reply->connection->server;
    struct elapse__engine *engine = server->engine;
    struct batch batch;
    uint32_t i;

    ELAPSE__ASSERT_THAT(reply->state, ==, ELAPSE__REPLY_READY);
    ELAPSE__ASSERT_THAT(reply->gate, <=, server->durable);
    batch.count = 0;
    for (i = 0; i < reply->hand_count; i++) {
        struct elapse__hand *hand = &reply->hands[i];
        if (hand->state != ELAPSE__HAND_TAKEN && hand->state != ELAPSE__HAND_BEGUN)
            continue;
        if (server->budget == 0)
            break;
        uint32_t body_units = hand->job.handed.body_size / ELAPSE__UNIT_BYTES;
        (void)elapse__server_spend(server, ELAPSE__COST_HAND_OUT + body_units);
        if (hand->state == ELAPSE__HAND_TAKEN)
            hand->state = elapse__engine_hand_over_begin(engine, &hand->job.handed,
                                                         &hand->reading.reading) == 0
                              ? ELAPSE__HAND_BEGUN
                              : ELAPSE__HAND_GONE;
        if (hand->state == ELAPSE__HAND_BEGUN) {
            begin_error(reply, hand);
            add_to_batch(reply, hand, &batch);
        }
    }
    if (batch.count > 0)
        read_batch(reply, &batch);
    if (i == reply->hand_count)
        reply->state = ELAPSE__REPLY_READING;
}

struct elapse__server_reading *elapse__server_reading(struct elapse__server *server)
{
    if (elapse__ring_empty(&server->readings))
        return NULL;
    struct elapse__ring_node *link = server->readings.next;
    elapse__ring_leave(link);
    return (struct elapse__server_reading *)(void *)link;
}

/* ---- formatting ---- */

static const struct elapse__protocol *begin_formatting(struct elapse__connection *connection)
{
    ELAPSE__ASSERT(connection->writing == &connection->held);
    ELAPSE__ASSERT(!connection->closed);
    connection->writing = &connection->out;
    return connection->protocol;
}

static void end_formatting(struct elapse__server_reply *reply)
{
    reply->connection->writing = &reply->connection->held;
    elapse__reply_give(reply);
}

static void format_nothing(struct elapse__server_reply *reply)
{
    struct elapse__connection *connection = reply->connection;

    begin_formatting(connection)->nothing(connection, reply->context, reply->why);
    end_formatting(reply);
}

static void free_texts(struct elapse__hand *hand)
{
    free(hand->job.texts.memory);
    free(hand->job.texts.error_memory);
    hand->job.texts.memory = hand->job.texts.error_memory = NULL;
}

/* ---- looks ---- */

static bool finish_look(struct elapse__server_reply *reply)
{
    struct elapse__connection *connection = reply->connection;
    struct elapse__hand *hand = &reply->hands[0];
    ELAPSE__ASSERT_THAT(reply->hand_count, ==, 1);
    ELAPSE__ASSERT_THAT(hand->state, ==, ELAPSE__HAND_READ);
    int error =
        elapse__engine_texts(connection->server->engine, &hand->reading.reading, &hand->job.texts);

    end_error(connection->server->engine, hand);
    if (error != 0) {
        free_texts(hand);
        reply->why = error == ENOMEM                       ? ELAPSE__NOTHING_NO_MEMORY
                     : error == EBADMSG || error == ENOENT ? ELAPSE__NOTHING_DAMAGED
                                                           : ELAPSE__NOTHING_ERROR;
        format_nothing(reply);
        return true;
    }
    reply->view.tube = hand->job.texts.tube;
    begin_formatting(connection)
        ->looked(connection, reply->context, &reply->view, &hand->job.texts);
    free_texts(hand);
    end_formatting(reply);
    return true;
}

/* ---- hand-outs ---- */

/* Begins the leases of all hands that were read. Hands whose job is gone leave the list. Returns
 * the error of the last hand that failed, or 0. */
static int begin_leases(struct elapse__server_reply *reply)
{
    struct elapse__engine *engine = reply->connection->server->engine;
    uint32_t kept = 0;
    int failed = 0;

    for (uint32_t i = 0; i < reply->hand_count; i++) {
        struct elapse__hand *hand = &reply->hands[i];
        int error = ENOENT;
        ELAPSE__ASSERT(hand->state == ELAPSE__HAND_READ || hand->state == ELAPSE__HAND_GONE);
        if (hand->state == ELAPSE__HAND_READ)
            error = elapse__engine_hand_over_end(engine, &hand->job.handed, &hand->reading.reading,
                                                 &hand->job.texts);
        end_error(engine, hand);
        if (error == 0)
            reply->hands[kept++] = *hand;
        else
            free_texts(hand);
        if (error != 0 && error != ENOENT)
            failed = error;
    }
    reply->hand_count = kept;
    return failed;
}

static void count_lateness(struct elapse__server *server, const struct elapse__queue_handed *handed)
{
    int64_t late_ms = server->now.wall_ms - handed->due_ms;

    elapse__histogram_add(&server->lateness, late_ms > 0 ? (uint64_t)late_ms : 0);
}

/* Formats a reply with at least one job. */
static void format_jobs(struct elapse__server_reply *reply)
{
    struct elapse__connection *connection = reply->connection;
    const struct elapse__protocol *protocol = begin_formatting(connection);
    struct elapse__server_job one;
    struct elapse__server_job *jobs = &one;

    if (reply->hand_count > 1)
        jobs = malloc(reply->hand_count * sizeof *jobs);
    for (uint32_t i = 0; i < reply->hand_count && jobs != NULL; i++) {
        jobs[i] = reply->hands[i].job;
        jobs[i].handed.tube = jobs[i].texts.tube;
    }
    if (jobs != NULL)
        protocol->handed_out(connection, reply->context, jobs, reply->hand_count);
    else
        elapse__connection_fail(connection);
    for (uint32_t i = 0; i < reply->hand_count; i++) {
        count_lateness(connection->server, &reply->hands[i].job.handed);
        if (!protocol->leases_end_with_connection &&
            !elapse__leavings_add(connection, &reply->hands[i].job.handed))
            elapse__connection_fail(connection);
        free_texts(&reply->hands[i]);
    }
    if (jobs != &one)
        free(jobs);
    end_formatting(reply);
    elapse__reply_look_at_deadlines(connection);
}

/* Begins the leases, and formats the reply. Requires that all hands were read. Returns true if the
 * reply was formatted. */
static bool finish_hand_out(struct elapse__server_reply *reply)
{
    int failed = begin_leases(reply);

    if (reply->hand_count > 0) {
        format_jobs(reply);
        return true;
    }
    bool is_by_id = reply->kind == ELAPSE__REPLY_RESERVE_ID;
    reply->read_failed |= failed == EIO;
    /* The reserve tries again, because other jobs may be readable and the disk may recover soon. */
    if (!is_by_id && (failed == 0 || failed == EIO))
        elapse__reply_try_again(reply);
    else
        elapse__reply_set_nothing(reply, failed == 0        ? ELAPSE__NOTHING_GONE
                                         : failed == ENOMEM ? ELAPSE__NOTHING_NO_MEMORY
                                                            : ELAPSE__NOTHING_ERROR);
    return false;
}

bool elapse__reply_advance(struct elapse__server_reply *reply)
{
    struct elapse__server *server = reply->connection->server;

    for (;;) {
        switch (reply->state) {
        case ELAPSE__REPLY_WAITING:
            return false;
        case ELAPSE__REPLY_NOTHING:
            if (reply->gate > server->durable)
                return false;
            format_nothing(reply);
            return true;
        case ELAPSE__REPLY_READY:
            if (reply->gate > server->durable)
                return false;
            begin_readings(reply);
            break;
        case ELAPSE__REPLY_READING:
            if (reply->unread > 0)
                return false;
            if (reply->kind == ELAPSE__REPLY_LOOK)
                return finish_look(reply);
            if (finish_hand_out(reply))
                return true;
            break;
        }
        if (server->budget == 0)
            return false;
    }
}

/* ---- the end of a connection ---- */

/* Ends the reading of a hand, if it has begun. */
static void end_reading(struct elapse__engine *engine, struct elapse__hand *hand)
{
    end_error(engine, hand);
    free_texts(hand);
    if (hand->state != ELAPSE__HAND_BEGUN && hand->state != ELAPSE__HAND_READ)
        return;
    /* The reading has begun, but was not performed. */
    if (hand->state == ELAPSE__HAND_BEGUN && hand->reading.reading.error == 0 &&
        hand->reading.reading.bytes == NULL)
        hand->reading.reading.error = EAGAIN;
    if (elapse__engine_texts(engine, &hand->reading.reading, &hand->job.texts) == 0)
        free_texts(hand);
    hand->state = ELAPSE__HAND_TAKEN;
}

bool elapse__reply_undo(struct elapse__server_reply *reply)
{
    struct elapse__connection *connection = reply->connection;
    struct elapse__server *server = connection->server;

    if (reply->unread > 0)
        return false;
    elapse__reply_stop_waiting(reply);
    for (; reply->hand_count > 0; reply->hand_count--) {
        struct elapse__hand *hand = &reply->hands[reply->hand_count - 1];
        end_reading(server->engine, hand);
        if (reply->kind == ELAPSE__REPLY_LOOK || hand->state == ELAPSE__HAND_GONE)
            continue;
        if (server->budget == 0 || elapse__server_journal_is_full(server))
            return false;
        elapse__engine_take_back(server->engine, &hand->job.handed);
        server->figures.undone++;
        (void)elapse__server_spend(server, 1);
    }
    elapse__reply_give(reply);
    return true;
}

void elapse__reply_drop(struct elapse__server_reply *reply)
{
    ELAPSE__ASSERT_THAT(reply->unread, ==, 0);
    elapse__reply_stop_waiting(reply);
    for (uint32_t i = 0; i < reply->hand_count; i++)
        end_reading(reply->connection->server->engine, &reply->hands[i]);
    reply->hand_count = 0;
    elapse__reply_give(reply);
}
