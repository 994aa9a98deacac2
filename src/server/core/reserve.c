/*
 * Makes the replies of reserves and looks, whose bytes do not exist yet. Takes jobs for a reserve,
 * or lets it wait until there is a job.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../queue/names.h"
#include "marks.h"
#include "reserve.h"
#include "tubes.h"

enum {
    TAKEN_AT_ONCE = 64, /* jobs that one call of the queue takes */
    /* To find a tube by its name costs as much as this many looks at a tube. */
    LOOKS_OF_FINDING = 16,
    LOOKS_A_UNIT = 256,
    LOOKS_MAX = 1 << 17 /* one reserve may cost this many looks, about half a millisecond */
};

/* ---- memory ---- */

/* Returns how much memory a reply without bytes takes. This memory counts as output, because
 * otherwise a client that does not read could have any number of such replies. */
static size_t memory_of(const struct elapse__server_reply *reply)
{
    size_t bytes = sizeof *reply;

    if (reply->waiters != reply->own_waiters)
        bytes += reply->waiter_count * sizeof *reply->waiters;
    if (reply->hands != &reply->own_hand)
        bytes += reply->hand_room * sizeof *reply->hands;
    return bytes;
}

static struct elapse__server_reply *take_reply(struct elapse__connection *connection,
                                               enum elapse__reply_kind kind, uint64_t context)
{
    struct elapse__server *server = connection->server;
    struct elapse__server_reply *reply = server->free_replies;

    if (reply != NULL) {
        server->free_replies = reply->next_free;
        server->free_reply_count--;
    } else {
        reply = malloc(sizeof *reply);
    }
    if (reply == NULL)
        return NULL;
    *reply = (struct elapse__server_reply){
        .connection = connection,
        .kind = kind,
        .context = context,
        .hand_room = 1,
    };
    reply->waiters = reply->own_waiters;
    reply->hands = &reply->own_hand;
    connection->reply_bytes += memory_of(reply);
    connection->named += kind == ELAPSE__REPLY_RESERVE_ID;
    return reply;
}

void elapse__reply_give(struct elapse__server_reply *reply)
{
    struct elapse__server *server = reply->connection->server;

    ELAPSE__ASSERT(!elapse_timer_pending(&reply->alarm.timer));
    ELAPSE__ASSERT_THAT(reply->unread, ==, 0);
    for (uint32_t i = 0; i < reply->waiter_count; i++)
        elapse__server_tube_give(server, reply->waiters[i].tube);
    elapse__queue_name_drop(server->engine->jobs, reply->holder);
    ELAPSE__ASSERT_THAT(memory_of(reply), <=, reply->connection->reply_bytes);
    reply->connection->reply_bytes -= memory_of(reply);
    reply->connection->named -= reply->kind == ELAPSE__REPLY_RESERVE_ID;
    if (reply->waiters != reply->own_waiters)
        free(reply->waiters);
    if (reply->hands != &reply->own_hand)
        free(reply->hands);
    if (server->free_reply_count == ELAPSE__FREE_REPLIES) {
        free(reply);
        return;
    }
    reply->next_free = server->free_replies;
    server->free_replies = reply;
    server->free_reply_count++;
}

static bool make_waiters(struct elapse__server_reply *reply,
                         const struct elapse__session_reserve *request)
{
    if (request->tube_count > ELAPSE__OWN_WAITERS) {
        struct elapse__waiter *waiters = calloc(request->tube_count, sizeof *waiters);
        if (waiters == NULL)
            return false;
        reply->waiters = waiters;
        reply->connection->reply_bytes += request->tube_count * sizeof *waiters;
    }
    for (uint32_t i = 0; i < request->tube_count; i++) {
        struct elapse__server_tube *tube = request->tubes[i];
        tube->references++;
        reply->waiters[i] = (struct elapse__waiter){.tube = tube, .reply = reply};
    }
    reply->waiter_count = request->tube_count;
    return true;
}

/* Makes room for `more` further hands. Returns false if there is no memory. */
static bool grow_hands(struct elapse__server_reply *reply, uint32_t more)
{
    uint32_t room = reply->hand_room;

    while (room - reply->hand_count < more)
        room *= 2;
    if (room == reply->hand_room)
        return true;
    /* NOLINTNEXTLINE(clang-analyzer-optin.portability.UnixAPI): the room begins above 0 */
    struct elapse__hand *hands = malloc(room * sizeof *hands);
    if (hands == NULL)
        return false;
    for (uint32_t i = 0; i < reply->hand_count; i++)
        hands[i] = reply->hands[i];
    reply->connection->reply_bytes += room * sizeof *hands;
    if (reply->hands != &reply->own_hand) {
        reply->connection->reply_bytes -= reply->hand_room * sizeof *hands;
        free(reply->hands);
    }
    ELAPSE__ASSERT_THAT(room - reply->hand_count, >=, more);
    reply->hands = hands;
    reply->hand_room = room;
    return true;
}

/* ---- taking jobs ---- */

static void count_worker(struct elapse__connection *connection)
{
    if (connection->is_worker)
        return;
    connection->is_worker = true;
    connection->server->figures.workers++;
    ELAPSE__ASSERT_THAT(connection->server->figures.workers, <=,
                        connection->server->figures.connections);
}

/* Makes sure that a client which reserves has a name. A client that has given no name gets its
 * address as its name. */
static void name_client(struct elapse__connection *connection)
{
    const struct elapse__server_options *options = &connection->server->options;
    char text[ELAPSE__SERVER_ADDRESS_BYTES] = "";

    if (connection->leases.name != 0 || options->address == NULL)
        return;
    options->address(connection->facts.shell, text);
    elapse__session_set_name(connection, (struct elapse__queue_text){text, strlen(text)});
}

static void add_hand(struct elapse__server_reply *reply, const struct elapse__queue_handed *handed)
{
    ELAPSE__ASSERT_THAT(reply->hand_count, <, reply->hand_room);
    struct elapse__hand *hand = &reply->hands[reply->hand_count++];
    *hand = (struct elapse__hand){.job.handed = *handed, .state = ELAPSE__HAND_TAKEN};
    hand->job.handed.tube = (struct elapse__queue_text){NULL, 0};
}

void elapse__reply_set_nothing(struct elapse__server_reply *reply, enum elapse__server_nothing why)
{
    ELAPSE__ASSERT_THAT(reply->hand_count, ==, 0);
    elapse__reply_stop_waiting(reply);
    reply->state = ELAPSE__REPLY_NOTHING;
    reply->why = why;
    reply->gate = reply->connection->server->engine->last_position;
}

/* Returns how many looks at tubes a call of the queue has cost. The call finds each tube by its
 * name, and compares all tubes for each job. */
static uint64_t looks_of(const struct elapse__queue_reserve *reserve, uint32_t taken)
{
    return (uint64_t)reserve->tube_count * (LOOKS_OF_FINDING + taken);
}

/* Takes up to `reserve->count` jobs. Returns OK, and stores in `*taken` how many it has taken; or
 * returns an error. */
static enum elapse__queue_result take_some(struct elapse__server_reply *reply,
                                           const struct elapse__queue_reserve *reserve,
                                           uint32_t *taken)
{
    struct elapse__engine *engine = reply->connection->server->engine;
    struct elapse__queue_handed handed[TAKEN_AT_ONCE];
    enum elapse__queue_result result;
    uint64_t before = engine->last_position;
    uint64_t gate;

    ELAPSE__ASSERT_THAT(reserve->count, <=, TAKEN_AT_ONCE);
    *taken = 0;
    if (!elapse__engine_take_many(engine, reserve, handed, taken, &result, &gate))
        return result;
    if (!grow_hands(reply, *taken)) {
        for (; *taken > 0; --*taken)
            elapse__engine_take_back(engine, &handed[*taken - 1]);
        return ELAPSE__QUEUE_NO_MEMORY;
    }
    /* The reply waits until all records are durable, except those of its own leases. */
    if (reply->hand_count == 0 || gate != before)
        reply->gate = gate;
    for (uint32_t i = 0; i < *taken; i++)
        add_hand(reply, &handed[i]);
    return ELAPSE__QUEUE_OK;
}

/* Returns how many jobs to take next, if each body could have the greatest length. */
static uint32_t count_to_take(const struct elapse__server_reply *reply, uint64_t body_bytes)
{
    const struct elapse__server_options *options = &reply->connection->server->options;
    uint32_t wanted = reply->wanted - reply->hand_count;
    uint32_t fits = (uint32_t)((options->output_bytes_max - body_bytes) / options->body_bytes_max);

    fits = fits < 1 ? 1 : fits < TAKEN_AT_ONCE ? fits : TAKEN_AT_ONCE;
    return wanted < fits ? wanted : fits;
}

/* Takes as many jobs as are wanted and ready, up to the work that one command may do. */
static enum elapse__queue_result take_jobs(struct elapse__server_reply *reply,
                                           struct elapse__queue_reserve *reserve)
{
    struct elapse__server *server = reply->connection->server;
    enum elapse__queue_result result = ELAPSE__QUEUE_OK;
    uint64_t body_bytes = 0, looks = 0;
    uint32_t taken;

    while (reply->hand_count < reply->wanted && body_bytes < server->options.output_bytes_max &&
           looks < LOOKS_MAX) {
        if (reply->hand_count > 0 && elapse__server_journal_is_full(server))
            break;
        reserve->count = count_to_take(reply, body_bytes);
        result = take_some(reply, reserve, &taken);
        for (uint32_t i = 0; i < taken; i++)
            body_bytes += reply->hands[reply->hand_count - 1 - i].job.handed.body_size;
        looks += looks_of(reserve, taken);
        if (taken < reserve->count)
            break;
    }
    /* The cost of the first hand-out was counted before. */
    if (reply->hand_count > 1)
        (void)elapse__server_spend(server, (reply->hand_count - 1) * ELAPSE__COST_HAND_OUT);
    (void)elapse__server_spend(server, (uint32_t)(looks / LOOKS_A_UNIT));
    return reply->hand_count > 0 ? ELAPSE__QUEUE_OK : result;
}

bool elapse__reply_try(struct elapse__server_reply *reply, bool *again)
{
    struct elapse__connection *connection = reply->connection;
    struct elapse__engine *engine = connection->server->engine;
    struct elapse__queue_text names[ELAPSE__QUEUE_RESERVE_MAX];
    bool was_waiting = reply->state == ELAPSE__REPLY_WAITING;

    ELAPSE__ASSERT_THAT(reply->kind, ==, ELAPSE__REPLY_RESERVE);
    ELAPSE__ASSERT_THAT(reply->hand_count, ==, 0);
    for (uint32_t i = 0; i < reply->waiter_count; i++)
        names[i] = elapse__server_tube_name(reply->waiters[i].tube);
    struct elapse__queue_reserve reserve = {
        .tubes = names,
        .tube_count = reply->waiter_count,
        .count = 1,
        .connection = elapse__session_leases(connection),
        .name = reply->holder != 0 ? reply->holder : connection->leases.name,
    };
    enum elapse__queue_result result = take_jobs(reply, &reserve);
    *again = result == ELAPSE__QUEUE_OK && reply->hand_count == 0 && engine->refused == EAGAIN;
    if (result != ELAPSE__QUEUE_OK) {
        elapse__reply_set_nothing(reply, result == ELAPSE__QUEUE_NO_MEMORY
                                             ? ELAPSE__NOTHING_NO_MEMORY
                                             : ELAPSE__NOTHING_ERROR);
        return true;
    }
    if (reply->hand_count == 0)
        return false;
    if (was_waiting) {
        uint64_t gate = reply->gate;
        elapse__reply_stop_waiting(reply);
        reply->gate = gate;
    }
    ELAPSE__ASSERT_THAT(reply->hand_count, <=, reply->wanted);
    reply->state = ELAPSE__REPLY_READY;
    return true;
}

/* ---- waiting ---- */

/* Returns when a waiting reserve must tell that a lease ends soon; UINT64_MAX if it need not. */
static uint64_t deadline_soon_ms(const struct elapse__server_reply *reply)
{
    const struct elapse__connection *connection = reply->connection;

    if (!reply->tell_deadline)
        return UINT64_MAX;
    uint64_t end_ms = elapse__queue_connection_soonest(
        connection->server->engine->jobs, &connection->leases, ELAPSE__LEASES_EXAMINED);
    if (end_ms == UINT64_MAX || end_ms < ELAPSE__DEADLINE_SOON_MS)
        return end_ms == UINT64_MAX ? UINT64_MAX : 0;
    return end_ms - ELAPSE__DEADLINE_SOON_MS;
}

/* Sets the timer of a reply that waits. */
static void arm(struct elapse__server_reply *reply)
{
    struct elapse__server *server = reply->connection->server;
    uint64_t soon_ms = deadline_soon_ms(reply);
    uint64_t end_ms = soon_ms < reply->until_ms ? soon_ms : reply->until_ms;

    if (end_ms == UINT64_MAX)
        (void)elapse_wheel_stop(&server->wheel, &reply->alarm.timer);
    else
        elapse_wheel_start(&server->wheel, &reply->alarm.timer, end_ms);
}

/* Returns whether a job of the reserve's tubes is ready, but is not taken because the disk cannot
 * read. */
static bool is_held_back(const struct elapse__server_reply *reply)
{
    const struct elapse__engine *engine = reply->connection->server->engine;
    bool is_ready = false;

    if (!elapse__engine_rests(engine))
        return false;
    for (uint32_t i = 0; i < reply->waiter_count && !is_ready; i++) {
        struct elapse__queue_text name = elapse__server_tube_name(reply->waiters[i].tube);
        struct elapse__queue_reserve reserve = {.tubes = &name, .tube_count = 1};
        is_ready = elapse__queue_has_ready(engine->jobs, &reserve);
    }
    return is_ready;
}

/* Requires that the time of a reserve is over. If there is a job that the disk cannot read,
 * prolongs the time once, and returns true. Otherwise returns false. Then the reply tells that
 * there is no job or, if a job could not be read, that there is an error. */
static bool has_more_time(struct elapse__server_reply *reply)
{
    uint64_t now_ms = reply->connection->server->now.boot_ms;
    bool is_error = reply->read_failed || is_held_back(reply);

    if (is_error && !reply->was_patient) {
        reply->was_patient = true;
        reply->until_ms = now_ms + ELAPSE__ENGINE_READ_PATIENCE_MS;
        return true;
    }
    elapse__reply_set_nothing(reply, is_error ? ELAPSE__NOTHING_ERROR : ELAPSE__NOTHING_TIMED_OUT);
    return false;
}

/* Lets the reply wait because no job can be handed out. If it may not wait, makes the reply tell
 * this. */
static void wait_or_end(struct elapse__server_reply *reply, bool in_front)
{
    uint64_t now_ms = reply->connection->server->now.boot_ms;

    if (deadline_soon_ms(reply) <= now_ms) {
        elapse__reply_set_nothing(reply, ELAPSE__NOTHING_DEADLINE_SOON);
    } else if (reply->until_ms > now_ms || has_more_time(reply)) {
        elapse__reply_wait(reply, in_front);
        arm(reply);
    }
}

void elapse__reply_time(struct elapse__server_reply *reply)
{
    struct elapse__connection *connection = reply->connection;
    uint64_t now_ms = connection->server->now.boot_ms;

    ELAPSE__ASSERT_THAT(reply->state, ==, ELAPSE__REPLY_WAITING);
    if (deadline_soon_ms(reply) <= now_ms)
        elapse__reply_set_nothing(reply, ELAPSE__NOTHING_DEADLINE_SOON);
    else if (reply->until_ms > now_ms || has_more_time(reply))
        arm(reply);
    elapse__ring_join_once(&connection->server->work, &connection->work);
}

void elapse__reply_look_at_deadlines(struct elapse__connection *connection)
{
    if (connection->waiting == 0)
        return;
    for (uint32_t i = 0; i < connection->marks.count; i++) {
        struct elapse__server_reply *reply = elapse__reply_marks_at(connection, i)->reply;
        if (reply != NULL && reply->state == ELAPSE__REPLY_WAITING && reply->tell_deadline)
            arm(reply);
    }
}

void elapse__reply_try_again(struct elapse__server_reply *reply)
{
    bool again;

    reply->hand_count = 0;
    if (!elapse__reply_try(reply, &again))
        wait_or_end(reply, true);
}

/* ---- what the protocols ask for ---- */

static uint64_t until_ms(const struct elapse__server *server, uint64_t wait_ms)
{
    uint64_t now_ms = server->now.boot_ms;
    if (wait_ms == 0)
        return now_ms;
    /* `now_ms` was rounded down. Without the added 1, the wait could be a millisecond too short. */
    return wait_ms < ELAPSE_TIME_MAX - now_ms ? now_ms + wait_ms + 1 : UINT64_MAX;
}

bool elapse__session_reserve(struct elapse__connection *connection,
                             const struct elapse__session_reserve *request)
{
    struct elapse__server *server = connection->server;
    bool again = false;

    ELAPSE__ASSERT_THAT(request->tube_count, >, 0);
    ELAPSE__ASSERT_THAT(request->tube_count, <=, ELAPSE__QUEUE_RESERVE_MAX);
    ELAPSE__ASSERT_THAT(request->count, >, 0);
    ELAPSE__ASSERT_THAT(request->count, <=, ELAPSE__QUEUE_RESERVE_MAX);
    count_worker(connection);
    struct elapse__server_reply *reply =
        take_reply(connection, ELAPSE__REPLY_RESERVE, request->context);
    if (reply == NULL || !make_waiters(reply, request)) {
        if (reply != NULL)
            elapse__reply_give(reply);
        elapse__connection_fail(connection);
        return true;
    }
    if (request->holder.size == 0)
        name_client(connection);
    else
        reply->holder = elapse__queue_name_get(server->engine->jobs, request->holder);
    reply->wanted = request->count;
    reply->tell_deadline = request->tell_deadline;
    reply->shows_errors = request->shows_errors;
    reply->until_ms = until_ms(server, request->wait_ms);
    reply->state = ELAPSE__REPLY_NOTHING;
    if (!elapse__reply_marks_add_reply(connection, reply)) {
        elapse__reply_give(reply);
        elapse__connection_fail(connection);
        return true;
    }
    (void)elapse__server_spend(server, ELAPSE__COST_HAND_OUT);
    if (elapse__reply_try(reply, &again))
        return true;
    if (again) {
        elapse__reply_marks_drop_last(connection);
        elapse__reply_give(reply);
        return false;
    }
    wait_or_end(reply, false);
    return true;
}

bool elapse__session_reserve_id(struct elapse__connection *connection, uint64_t id,
                                uint64_t context, enum elapse__queue_result *result)
{
    struct elapse__server *server = connection->server;
    struct elapse__queue_handed handed;
    uint64_t gate;

    *result = ELAPSE__QUEUE_NO_MEMORY;
    struct elapse__server_reply *reply = take_reply(connection, ELAPSE__REPLY_RESERVE_ID, context);
    if (reply == NULL)
        return true;
    if (!elapse__reply_marks_add_reply(connection, reply)) {
        elapse__reply_give(reply);
        return true;
    }
    (void)elapse__server_spend(server, ELAPSE__COST_HAND_OUT);
    name_client(connection);
    if (elapse__engine_take_id(server->engine, id, elapse__session_leases(connection), &handed,
                               result, &gate)) {
        count_worker(connection);
        add_hand(reply, &handed);
        reply->state = ELAPSE__REPLY_READY;
        reply->gate = gate;
        return true;
    }
    elapse__reply_marks_drop_last(connection);
    elapse__reply_give(reply);
    return *result != ELAPSE__QUEUE_REFUSED || server->engine->refused != EAGAIN;
}

bool elapse__session_look(struct elapse__connection *connection,
                          const struct elapse__queue_view *view, uint64_t context)
{
    struct elapse__server *server = connection->server;
    struct elapse__server_reply *reply = take_reply(connection, ELAPSE__REPLY_LOOK, context);

    if (reply == NULL)
        return false;
    if (!elapse__reply_marks_add_reply(connection, reply)) {
        elapse__reply_give(reply);
        return false;
    }
    (void)elapse__server_spend(server, ELAPSE__COST_HAND_OUT);
    reply->view = *view;
    reply->view.tube = (struct elapse__queue_text){NULL, 0};
    reply->gate = server->engine->last_position;
    /* The journal keeps the segment until the reading has ended. The job itself may end before. */
    add_hand(reply, &(struct elapse__queue_handed){.id = view->id, .body_size = view->body_size});
    elapse__journal_read_begin(server->engine->journal, view->position, view->body_size,
                               &reply->hands[0].reading.reading);
    reply->hands[0].state = ELAPSE__HAND_BEGUN;
    reply->hands[0].told = view->told;
    reply->shows_errors = true;
    reply->state = ELAPSE__REPLY_READY;
    return true;
}

void elapse__session_look_at_item(struct elapse__connection *connection,
                                  const struct elapse__queue_view *view, uint64_t context)
{
    if (!elapse__session_look(connection, view, context))
        elapse__connection_fail(connection);
}
