#include "loop.h"
#include "ended_log.h"

#include <inttypes.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../os/program.h"

enum {
    /* How many rounds elapse__loop_turn does before libevent looks at other events. */
    ROUNDS_MAX = 4,
    ROOM_LOOK_MS = 10, /* after this time the core looks again whether the journal has room */
};

/* ---- without the lock: receiving ---- */

static bool has_commands(const struct elapse__peer *peer)
{
    return peer->pipe != NULL && peer->pipe->has_commands;
}

/* Asserts that the pieces lie one behind the other, and that they fill the batch. */
static void check_batch(const struct elapse__loop *loop)
{
    size_t sum = 0;

    ELAPSE__ASSERT_THAT(loop->piece_count, <=, ELAPSE__BATCH_PIECES);
    for (size_t i = 0; i < loop->piece_count; i++) {
        ELAPSE__ASSERT_THAT(loop->pieces[i].offset, ==, sum);
        ELAPSE__ASSERT(loop->pieces[i].size > 0 || loop->pieces[i].peer->has_ended ||
                       has_commands(loop->pieces[i].peer));
        sum += loop->pieces[i].size;
    }
    ELAPSE__ASSERT_THAT(sum, ==, elapse__buffer_size(&loop->batch));
    ELAPSE__ASSERT_THAT(sum, <=, ELAPSE__BATCH_BYTES);
    (void)sum; /* only assertions use it */
}

/* Returns how many bytes of one peer the batch takes. If more peers are ready, the batch takes
 * fewer bytes of each. */
static size_t peer_share(const struct elapse__ring_node *ring)
{
    size_t ready = 1;

    for (const struct elapse__ring_node *i = ring->next;
         i != ring->previous && ready < ELAPSE__BATCH_BYTES / ELAPSE__BATCH_PEER_LEAST; i = i->next)
        ready++;
    size_t share = ELAPSE__BATCH_BYTES / ready;
    return ready > 1 && share > ELAPSE__BATCH_PEER_BYTES ? ELAPSE__BATCH_PEER_BYTES : share;
}

/* Fills the batch from the peers that are ready, in their order. If there is no memory for a batch,
 * the peers stay ready. */
static void receive(struct elapse__loop *loop)
{
    struct elapse__ring_node *ring = &loop->peers.rings[ELAPSE__PEER_READY];
    struct elapse__buffer *batch = &loop->batch;
    struct elapse__peer *last = NULL;
    size_t most = peer_share(ring);

    ELAPSE__ASSERT_THAT(loop->piece_count, ==, 0);
    ELAPSE__ASSERT_THAT(batch->end, ==, 0);
    if (!elapse__ring_empty(ring) && elapse__buffer_reserve(batch, ELAPSE__BATCH_BYTES))
        last = elapse__peer_at(ring->previous);
    while (last != NULL && batch->end < ELAPSE__BATCH_BYTES &&
           loop->piece_count < ELAPSE__BATCH_PIECES) {
        struct elapse__peer *peer = elapse__peer_first(ring);
        size_t room = ELAPSE__BATCH_BYTES - batch->end;
        bool is_last = peer == last;
        /* The peer goes to the end of the ring, so that each peer is served once. */
        elapse__peer_leave(peer, ELAPSE__PEER_READY);
        if (peer->room > 0 && !peer->has_ended && !loop->peers.is_stopping) {
            elapse__peer_enter(peer, ELAPSE__PEER_READY);
            room = room < most ? room : most;
            room = room < peer->room ? room : peer->room;
            size_t got = elapse__peer_receive(peer, batch->bytes + batch->end, room);
            ELAPSE__ASSERT_THAT(got, <=, room);
            if (got > 0 || peer->has_ended || has_commands(peer))
                loop->pieces[loop->piece_count++] =
                    (struct elapse__loop_piece){.peer = peer, .offset = batch->end, .size = got};
            batch->end += got;
        }
        elapse__peer_watch(peer);
        if (is_last)
            break;
    }
    check_batch(loop);
}

/* ---- under the lock ---- */

/* Asks the core for the output of a peer, for its room, and whether the peer should end. */
static void look(struct elapse__peer *peer)
{
    peer->output_bytes = elapse__connection_output(peer->connection, &peer->output);
    peer->room = elapse__connection_room(peer->connection);
    peer->wants_end = elapse__connection_wants_end(peer->connection);
    peer->awaits_sent = elapse__connection_awaits_sent(peer->connection);
    ELAPSE__ASSERT(elapse__connection_shell(peer->connection) == peer);
    ELAPSE__ASSERT_THAT(peer->sent_bytes, ==, 0);
}

static void say_sent(struct elapse__loop *loop, struct elapse__queue_now now)
{
    struct elapse__ring_node *ring = &loop->peers.rings[ELAPSE__PEER_ATTENDED];
    struct elapse__ring_node *next;

    for (struct elapse__ring_node *i = ring->next; i != ring; i = next) {
        struct elapse__peer *peer = elapse__peer_at(i);
        next = i->next;
        ELAPSE__ASSERT_THAT(peer->sent_bytes, <=, peer->output_bytes);
        if (peer->sent_bytes == 0)
            continue;
        if (peer->connection != NULL)
            elapse__connection_sent(peer->connection, now, peer->sent_bytes);
        peer->sent_bytes = 0;
        /* The new output of the peer comes after the output of the other peers. */
        elapse__peer_leave(peer, ELAPSE__PEER_ATTENDED);
    }
}

static void say_commands(struct elapse__peer *peer, struct elapse__queue_now now)
{
    peer->pipe->has_commands = false;
    elapse__connection_commands(peer->connection, now);
}

static void say_piece(struct elapse__loop *loop, const struct elapse__loop_piece *piece,
                      struct elapse__queue_now now)
{
    struct elapse__peer *peer = piece->peer;

    if (peer->connection == NULL)
        return;
    if (piece->size > 0 && piece->size == elapse__buffer_size(&loop->batch))
        elapse__connection_received_whole(peer->connection, now, &loop->batch);
    else if (piece->size > 0)
        elapse__connection_received(peer->connection, now, loop->batch.bytes + piece->offset,
                                    piece->size);
    else if (has_commands(peer))
        say_commands(peer, now);
    if (peer->has_ended && !peer->is_end_known) {
        ELAPSE__ASSERT(!peer->places[ELAPSE__PEER_READY].is_in);
        peer->is_end_known = true;
        elapse__connection_received_all(peer->connection, now);
    }
    elapse__peer_enter(peer, ELAPSE__PEER_ATTENDED);
}

/* Gives the pieces to the core. Short pieces come first, so that a client with one command does not
 * wait for clients with thousands of commands. */
static void say_received(struct elapse__loop *loop, struct elapse__queue_now now)
{
    for (unsigned is_long = 0; is_long < 2; is_long++)
        for (size_t i = 0; i < loop->piece_count; i++)
            if ((loop->pieces[i].size > ELAPSE__BATCH_SHORT_BYTES) == is_long)
                say_piece(loop, &loop->pieces[i], now);
    loop->piece_count = 0;
    elapse__buffer_clear(&loop->batch);
}

static void say_closed(struct elapse__loop *loop, struct elapse__queue_now now)
{
    struct elapse__ring_node *ring = &loop->peers.rings[ELAPSE__PEER_ENDING];

    for (struct elapse__ring_node *i = ring->next; i != ring; i = i->next) {
        struct elapse__peer *peer = elapse__peer_at(i);
        elapse__peer_leave(peer, ELAPSE__PEER_ATTENDED);
        if (peer->connection != NULL)
            elapse__connection_closed(peer->connection, now);
        peer->connection = NULL;
    }
}

static void say_read(struct elapse__loop *loop, struct elapse__queue_now now)
{
    struct elapse__server_reading *reading;

    while ((reading = elapse__body_reader_take(loop->reader)) != NULL)
        elapse__server_reading_done(loop->server, now, reading);
}

static void collect(struct elapse__loop *loop)
{
    struct elapse__connection *connection;
    struct elapse__ring_node *ring = &loop->peers.rings[ELAPSE__PEER_ATTENDED];

    while ((connection = elapse__server_attention(loop->server)) != NULL)
        elapse__peer_enter(elapse__connection_shell(connection), ELAPSE__PEER_ATTENDED);
    for (struct elapse__ring_node *i = ring->next; i != ring; i = i->next)
        look(elapse__peer_at(i));
}

/* Passes readings from the core to the reader. If the reader has no memory for a reading, the loop
 * performs the reading itself. Then the other peers wait, but no reading is lost. */
static void pass_readings(struct elapse__loop *loop, struct elapse__queue_now now)
{
    struct elapse__server_reading *reading;

    while ((reading = elapse__server_reading(loop->server)) != NULL) {
        if (elapse__body_reader_give(loop->reader, reading))
            continue;
        elapse__journal_read_perform(loop->store->engine.journal, true, &reading->reading, 1);
        elapse__server_reading_done(loop->server, now, reading);
    }
}

/* Logs which reads of the journal have failed since the last call. */
static void tell_troubles(struct elapse__loop *loop, const struct elapse__journal_troubles *now)
{
    struct elapse__logger *logger = &loop->peers.logger;
    const struct elapse__journal_troubles *before = &loop->troubles;

    if (now->damaged_bodies.count > before->damaged_bodies.count)
        elapse__logger(logger, ELAPSE__LOGGER_ERROR, ELAPSE__EVENT_DISK,
                       "journal/%" PRIu64 ".log: at offset %" PRIu64
                       ": a body is damaged, and its job is buried; this disk is not to be trusted",
                       now->damaged_bodies.segment, now->damaged_bodies.offset);
    /* A place of the journal that has failed before is not logged again, because it would use up
     * the lines that the log takes in a minute. */
    if (now->failed_reads.count > before->failed_reads.count &&
        (now->unread_places == 0 || now->unread_places > before->unread_places))
        elapse__logger(logger, ELAPSE__LOGGER_WARNING, ELAPSE__EVENT_DISK,
                       "journal/%" PRIu64 ".log: at offset %" PRIu64
                       ": the disk cannot read; no job is lost, and what waits is tried again",
                       now->failed_reads.segment, now->failed_reads.offset);
    if (now->unread_places == 0 && before->unread_places > 0)
        elapse__logger(logger, ELAPSE__LOGGER_NOTICE, ELAPSE__EVENT_DISK,
                       "the disk can read again all that it could not read");
    loop->troubles = *now;
}

/* Tells the store which of its alarms went off. The core's turn then handles the jobs that are
 * due. */
static void say_due(struct elapse__loop *loop)
{
    for (unsigned i = 0; i < ELAPSE__STORE_ALARM_END; i++)
        if (loop->is_due[i])
            elapse__store_due_begin(loop->store, (enum elapse__store_alarm)i);
    memset(loop->is_due, 0, sizeof loop->is_due);
}

/* Takes the lock, tells the core what has happened, lets it do a turn, and releases the lock.
 * Returns whether there is more to do. */
static bool talk(struct elapse__loop *loop)
{
    struct elapse_queue *store = loop->store;
    struct elapse__journal_troubles troubles;

    ELAPSE__ASSERT(!loop->is_broken);
    if (elapse__store_enter(store) != ELAPSE_OK) {
        loop->is_broken = true;
        return false;
    }
    struct elapse__queue_now now = elapse__store_now();
    say_due(loop);
    say_sent(loop, now);
    say_received(loop, now);
    say_closed(loop, now);
    say_read(loop, now);
    bool more = elapse__server_turn(loop->server, now);
    pass_readings(loop, now);
    collect(loop);
    loop->next_ms = elapse__server_next_ms(loop->server);
    loop->readied = elapse__queue_readied(store->engine.jobs);
    /* An operation of the journal that makes nothing durable may give it room. The store does not
     * wake the loop after such an operation, so the loop looks again soon. */
    if ((elapse__journal_is_full(store->engine.journal) ||
         elapse__engine_lacks_room(&store->engine)) &&
        loop->next_ms > now.boot_ms + ROOM_LOOK_MS)
        loop->next_ms = now.boot_ms + ROOM_LOOK_MS;
    elapse__journal_troubles(store->engine.journal, &troubles);
    if (loop->ended != NULL)
        elapse__ended_source_collect(loop->ended);
    elapse__store_leave_as_owner(store);
    if (loop->ended != NULL)
        elapse__ended_source_pass(loop->ended);
    tell_troubles(loop, &troubles);
    return more;
}

/* ---- without the lock: sending ---- */

/* Returns whether the core must know now what was sent, or there is more to send. Otherwise the
 * peer stays in the ring `attended`, and the next turn tells the core. For a pipe the core must
 * know at once, because the owner of the pipe may end it. */
static bool is_news(const struct elapse__peer *peer)
{
    return peer->awaits_sent || peer->pipe != NULL ||
           (peer->sent_bytes < peer->output_bytes && !peer->is_blocked);
}

/* Sends the output of a peer, or closes the peer. When the bytes of this turn are used up, a peer
 * with much to send keeps its place in the ring, and waits for the next turn. Returns whether the
 * core must be told something, or bytes are left to send. */
static bool send_one(struct elapse__peer *peer, size_t *budget)
{
    ELAPSE__ASSERT(peer->connection != NULL && peer->sent_bytes == 0);
    if (peer->output_bytes > 0 && !peer->is_blocked) {
        if (*budget == 0 && peer->output_bytes > ELAPSE__SEND_SHORT_BYTES)
            return true;
        elapse__peer_send(peer);
        *budget -= peer->sent_bytes < *budget ? peer->sent_bytes : *budget;
    }
    /* A connection that has failed wants to end although it has output. What the socket does not
     * take now is given up, because the client may never read it. */
    if (peer->wants_end && peer->sent_bytes == 0 && (peer->output_bytes == 0 || peer->is_blocked))
        elapse__peer_enter(peer, ELAPSE__PEER_ENDING);
    peer->output = NULL;
    elapse__peer_watch(peer);
    if (peer->sent_bytes > 0)
        return is_news(peer);
    elapse__peer_leave(peer, ELAPSE__PEER_ATTENDED);
    return false;
}

/* Sends the output of all peers, up to the budget, and closes the peers that have ended. Returns
 * whether the core must be told something, or bytes are left to send. */
static bool send_all(struct elapse__loop *loop, size_t *budget)
{
    struct elapse__ring_node *ring = &loop->peers.rings[ELAPSE__PEER_ATTENDED];
    struct elapse__ring_node *next;
    bool has_news = false;

    loop->is_held =
        loop->may_answer != NULL && !elapse__ring_empty(ring) && !loop->may_answer(loop);
    if (loop->is_held)
        return !elapse__ring_empty(&loop->peers.rings[ELAPSE__PEER_ENDING]);
    for (struct elapse__ring_node *i = ring->next; i != ring; i = next) {
        next = i->next;
        has_news |= send_one(elapse__peer_at(i), budget);
    }
    return has_news || !elapse__ring_empty(&loop->peers.rings[ELAPSE__PEER_ENDING]);
}

/* Releases peers that the core does not know any more. */
static void release_ended(struct elapse__loop *loop)
{
    struct elapse__ring_node *ring = &loop->peers.rings[ELAPSE__PEER_ENDING];
    struct elapse__ring_node *next;

    for (struct elapse__ring_node *i = ring->next; i != ring; i = next) {
        struct elapse__peer *peer = elapse__peer_at(i);
        next = i->next;
        if (peer->connection != NULL)
            continue;
        ELAPSE__ASSERT(!peer->places[ELAPSE__PEER_ATTENDED].is_in);
        elapse__logger(&loop->peers.logger, ELAPSE__LOGGER_DEBUG, ELAPSE__EVENT_CLOSED,
                       "a connection has ended");
        elapse__peer_free(peer);
    }
}

/* Sets the alarm to an earlier time if the core needs a turn before the alarm. Never sets the alarm
 * to a later time: if it goes off too early, the turn that follows sets it again. */
static void set_alarm(struct elapse__loop *loop)
{
    if (loop->next_ms >= loop->alarm_ms)
        return;
    loop->alarm_ms = loop->next_ms;
    (void)elapse__os->alarm_set(&loop->alarm, loop->next_ms * ELAPSE__STORE_NS_PER_MS);
}

bool elapse__loop_turn(struct elapse__loop *loop)
{
    bool more;
    bool has_news = false;
    size_t budget = ELAPSE__SEND_BYTES;

    receive(loop);
    for (unsigned i = 0; i < ROUNDS_MAX; i++) {
        more = talk(loop);
        if (loop->is_broken)
            return false;
        release_ended(loop);
        has_news = send_all(loop, &budget);
        if (!has_news || budget == 0)
            break;
    }
    set_alarm(loop);
    ELAPSE__ASSERT_THAT(loop->alarm_ms, <=, loop->next_ms);
    ELAPSE__ASSERT_THAT(loop->piece_count, ==, 0);
    return more || has_news || !elapse__ring_empty(&loop->peers.rings[ELAPSE__PEER_READY]);
}

/* ---- new connections ---- */

void elapse__loop_welcome(struct elapse__loop *loop, struct elapse__peer *peer)
{
    /* The pipes of a cluster's links are connected without a welcome, so this one is a request's.
     */
    struct elapse__connection_facts facts = {.may_use_beanstalkd = peer->is_local,
                                             .is_request = peer->pipe != NULL,
                                             .place = peer->place,
                                             .shell = peer};

    if (loop->welcome != NULL) {
        loop->welcome(loop, peer);
        return;
    }
    elapse__loop_connect(loop, peer, &facts);
}

void elapse__loop_connect(struct elapse__loop *loop, struct elapse__peer *peer,
                          const struct elapse__connection_facts *facts)
{
    ELAPSE__ASSERT(facts->shell == peer);
    ELAPSE__ASSERT(peer->connection == NULL);
    ELAPSE__ASSERT(peer->peers == &loop->peers);
    elapse__store_arrive(loop->store);
    peer->connection = elapse__connection_new(loop->server, elapse__store_now(), facts);
    if (peer->connection != NULL)
        look(peer);
    elapse__store_depart(loop->store);
    if (peer->connection == NULL) {
        elapse__logger(&loop->peers.logger, ELAPSE__LOGGER_WARNING, ELAPSE__EVENT_REFUSED,
                       "a connection was refused: there are too many, or there is no memory");
        elapse__peer_free(peer);
        return;
    }
    elapse__peer_watch(peer);
    /* The socket may have the first bytes already. */
    elapse__peer_enter(peer, ELAPSE__PEER_READY);
}

static void say_end(struct elapse__loop *loop, void *argument)
{
    struct elapse__peer *peer = argument;

    (void)loop;
    if (peer->connection != NULL)
        elapse__connection_received_all(peer->connection, elapse__store_now());
}

void elapse__loop_end_input(struct elapse__loop *loop, struct elapse__peer *peer)
{
    ELAPSE__ASSERT(peer->peers == &loop->peers);
    if (peer->is_end_known)
        return;
    peer->has_ended = true;
    peer->is_end_known = true;
    elapse__peer_leave(peer, ELAPSE__PEER_READY);
    elapse__loop_with_core(loop, say_end, peer);
    elapse__peer_enter(peer, ELAPSE__PEER_ATTENDED);
    elapse__peer_watch(peer);
}

struct elapse__keys elapse__loop_keys(const struct elapse__loop *loop)
{
    return (struct elapse__keys){
        .passwords = loop->tokens.texts,
        .password_count = loop->tokens.count,
        .node_passwords = loop->node_tokens.texts,
        .node_password_count = loop->node_tokens.count,
        .users = loop->options->users == NULL ? NULL : &loop->users_file.users,
    };
}

void elapse__loop_with_core(struct elapse__loop *loop,
                            void (*call)(struct elapse__loop *loop, void *argument), void *argument)
{
    ELAPSE__ASSERT(loop->store != NULL || loop->server == NULL);
    if (loop->store != NULL)
        elapse__store_arrive(loop->store);
    call(loop, argument);
    if (loop->store != NULL)
        elapse__store_depart(loop->store);
}

/* ---- what wakes the loop ---- */

/* Wakes the loop. With EV_ET each news wakes it once, and nothing has to be read: a system call
 * less for each put of a lonely client. */
static void on_news(evutil_socket_t descriptor, short what, void *argument)
{
    struct elapse__loop *loop = argument;

    (void)descriptor;
    if ((what & EV_ET) == 0)
        elapse_queue_quiet(loop->store);
}

static void on_due(struct elapse__loop *loop, enum elapse__store_alarm alarm)
{
    elapse__store_due_quiet(loop->store, alarm);
    loop->is_due[alarm] = true;
}

static void on_due_by_boot(evutil_socket_t descriptor, short what, void *argument)
{
    (void)descriptor;
    (void)what;
    on_due(argument, ELAPSE__STORE_ALARM_BOOT);
}

static void on_due_by_wall(evutil_socket_t descriptor, short what, void *argument)
{
    (void)descriptor;
    (void)what;
    on_due(argument, ELAPSE__STORE_ALARM_WALL);
}

static void on_alarm(evutil_socket_t descriptor, short what, void *argument)
{
    struct elapse__loop *loop = argument;

    (void)descriptor;
    (void)what;
    ELAPSE__ASSERT_THAT(loop->alarm_ms, !=, UINT64_MAX);
    elapse__os->alarm_reset(&loop->alarm);
    loop->alarm_ms = UINT64_MAX;
}

/* Wakes the loop. The turn that follows takes the readings. */
static void on_read(evutil_socket_t descriptor, short what, void *argument)
{
    struct elapse__loop *loop = argument;

    (void)descriptor;
    (void)what;
    elapse__body_reader_quiet(loop->reader);
}

bool elapse__loop_open(struct elapse__loop *loop)
{
    bool has_edges = (event_base_get_features(loop->peers.base) & EV_FEATURE_ET) != 0;
    const struct {
        event_callback_fn call;
        int descriptor;
        short edge;
    } watched[] = {
        {on_news, elapse_queue_descriptor(loop->store), has_edges ? EV_ET : 0},
        {on_read, elapse__body_reader_descriptor(loop->reader), 0},
        {on_alarm, loop->alarm.descriptor, 0},
        {on_due_by_boot, elapse__store_due(loop->store, ELAPSE__STORE_ALARM_BOOT), 0},
        {on_due_by_wall, elapse__store_due(loop->store, ELAPSE__STORE_ALARM_WALL), 0},
    };

    ELAPSE__ASSERT(loop->batch.bytes == NULL);
    ELAPSE__ASSERT(elapse__ring_empty(&loop->peers.rings[ELAPSE__PEER_ALL]));
    loop->alarm_ms = UINT64_MAX;
    loop->next_ms = UINT64_MAX;
    if (!elapse__buffer_reserve(&loop->batch, ELAPSE__BATCH_BYTES))
        return false;
    for (size_t i = 0; i < sizeof watched / sizeof watched[0]; i++) {
        if (watched[i].descriptor == ELAPSE__OS_NO_DESCRIPTOR)
            continue;
        loop->watched[i] = elapse__loop_event(loop->peers.base, watched[i].descriptor,
                                              (short)(EV_READ | EV_PERSIST | watched[i].edge), NULL,
                                              watched[i].call, loop);
        if (loop->watched[i] == NULL)
            return false;
    }
    return true;
}

void elapse__loop_close(struct elapse__loop *loop)
{
    struct elapse__peer *peer;

    while ((peer = elapse__peer_first(&loop->peers.rings[ELAPSE__PEER_ALL])) != NULL) {
        peer->connection = NULL;
        elapse__peer_free(peer);
    }
    for (unsigned i = 0; i < ELAPSE__PEER_RINGS; i++)
        ELAPSE__ASSERT(elapse__ring_empty(&loop->peers.rings[i]));
    ELAPSE__ASSERT_THAT(loop->peers.count, ==, 0);
    for (size_t i = 0; i < sizeof loop->watched / sizeof loop->watched[0]; i++)
        elapse__loop_event_free(loop->watched[i]);
    elapse__buffer_free(&loop->batch);
}
