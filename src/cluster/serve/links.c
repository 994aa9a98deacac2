/*
 * Opens and closes the links of the router, and passes commands and bytes on them. A link to a core
 * of this process hands over parsed commands. A link to another node sends bytes through a socket.
 *
 * The core is the pure state machine of a partition (src/server/core). To the core, a link looks
 * like a peer whose bytes are in memory: struct elapse__loop_pipe.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "links.h"

static struct elapse__cluster_link *own_of(const struct elapse__router_link *link)
{
    return elapse__router_link_shell(link);
}

/* ---- trouble ---- */

/* Logs why no link to the owner of a partition works. Does nothing if the last line had the same
 * reason. */
static void log_trouble(struct elapse__cluster_partition *partition)
{
    const char *why = elapse__router_trouble(partition->cluster->router, partition->number);
    char line[ELAPSE__CLUSTER_PARTITION_TROUBLE_BYTES] = "";

    if (why[0] != '\0')
        (void)snprintf(line, sizeof line, "no link to its owner at %s: %s",
                       partition->figures.partition.address, why);
    if (strcmp(line, partition->trouble) == 0)
        return;
    memcpy(partition->trouble, line, sizeof line);
    if (line[0] != '\0')
        elapse__logger(elapse__cluster_logger(partition->cluster), ELAPSE__LOGGER_WARNING,
                       ELAPSE__EVENT_CLUSTER, "partition %" PRIu32 ": %s", partition->number, line);
}

/* ---- opening ---- */

static struct elapse__cluster_link *new_link(struct elapse__cluster_partition *partition,
                                             struct elapse__router_link *link)
{
    struct elapse__cluster_link *own = calloc(1, sizeof *own);

    if (own == NULL)
        return NULL;
    own->link = link;
    own->partition = partition;
    elapse__router_link_set_shell(link, own);
    return own;
}

/* Tells the router that the link is closed, and which error closed it, if any. Frees the link. */
static void close_link(struct elapse__cluster_link *own)
{
    if (own->dirty.next != NULL)
        (void)elapse__ring_remove(&own->dirty);
    if (own->distrust != NULL)
        elapse__router_link_failed(own->link, elapse__runner_now_ms(), own->distrust);
    else if (own->error != 0)
        elapse__router_link_failed(own->link, elapse__runner_now_ms(),
                                   elapse__os_error_text(own->error));
    else
        elapse__router_link_closed(own->link, elapse__runner_now_ms());
    log_trouble(own->partition);
    free(own);
}

static struct elapse__cluster_link *link_of_pipe(struct elapse__loop_pipe *pipe)
{
    return (struct elapse__cluster_link *)(void *)((unsigned char *)pipe -
                                                   offsetof(struct elapse__cluster_link, pipe));
}

/* Tells the router how many of its bytes the core has received since the previous call. */
static void note_taken(struct elapse__cluster_link *own)
{
    size_t sent = own->given - own->pipe.input_bytes;

    own->given = own->pipe.input_bytes;
    if (sent > 0)
        elapse__router_link_sent(own->link, elapse__runner_now_ms(), sent);
}

static size_t on_output(struct elapse__loop_pipe *pipe, const uint8_t *bytes, size_t size)
{
    struct elapse__cluster_link *own = link_of_pipe(pipe);

    note_taken(own);
    size_t room = elapse__router_link_room(own->link);
    if (size > room)
        size = room;
    if (size > 0)
        elapse__router_link_received(own->link, elapse__runner_now_ms(), bytes, size);
    return size;
}

static const struct elapse__wire_resp_argument *next_command(struct elapse__loop_pipe *pipe,
                                                             uint32_t *count)
{
    return elapse__router_link_command(link_of_pipe(pipe)->link, count);
}

static void on_ran(struct elapse__loop_pipe *pipe, bool is_done)
{
    elapse__router_link_ran(link_of_pipe(pipe)->link, is_done);
}

/* Called when the core has ended the connection, or when the core is freed. */
static void on_ended(struct elapse__loop_pipe *pipe)
{
    struct elapse__cluster_link *own = link_of_pipe(pipe);

    note_taken(own);
    own->has_ended = true;
    if (!own->is_opening)
        close_link(own);
}

static bool open_here(struct elapse__cluster_partition *partition, struct elapse__router_link *link)
{
    struct elapse__cluster_link *own = NULL;

    if (partition->core == NULL || partition->core->is_broken ||
        (own = new_link(partition, link)) == NULL)
        return false;
    own->pipe.next = next_command;
    own->pipe.ran = on_ran;
    own->pipe.output = on_output;
    own->pipe.ended = on_ended;
    struct elapse__peer *peer = elapse__peer_new_pipe(&partition->core->peers, &own->pipe);
    if (peer == NULL) {
        free(own);
        return false;
    }
    bool is_for_one_client = elapse__router_link_is_pipe(link);
    peer->is_for_client = is_for_one_client;
    const struct elapse__connection_facts facts = {.may_use_beanstalkd = true,
                                                   .speaks_resp3 = !is_for_one_client,
                                                   .source =
                                                       is_for_one_client ? NULL : &peer->source,
                                                   .shell = peer};
    own->is_opening = true;
    /* elapse__loop_connect may already end the connection. Then on_ended is called. */
    elapse__loop_connect(partition->core, peer, &facts);
    own->is_opening = false;
    if (own->has_ended) {
        free(own);
        return false;
    }
    elapse__router_link_opened(link, elapse__runner_now_ms(), true);
    return true;
}

/* Begins to connect to the owner of a partition, and stores whose certificate it has. If that is
 * not possible now, returns false and stores the reason in words. The reason is NULL while the name
 * of the owner's host is looked up. */
static bool connect_to(struct elapse__cluster_partition *partition,
                       const struct elapse__router_link *link, int *socket,
                       char host[ELAPSE__LOOP_HOST_BYTES], const char **why)
{
    const struct elapse__peers *front = &partition->cluster->service.loop.peers;
    struct elapse__os_address address;

    /* Each client that speaks beanstalkd's protocol has a link of its own. The number of these
     * links is limited here. All other links use descriptors that are kept back for each
     * partition. */
    if (elapse__router_link_is_pipe(link) && front->count >= elapse__peers_most(front)) {
        *why = "there are too many connections";
        return false;
    }
    if (!elapse__addresses_find(partition, &address, host, why))
        return false;
    int error = elapse__os_connect_to(&address, socket);
    if (error == 0)
        return true;
    elapse__addresses_failed(partition);
    *why = elapse__os_error_text(error);
    return false;
}

static bool open_there(struct elapse__cluster *cluster, struct elapse__cluster_partition *partition,
                       struct elapse__router_link *link, const char **why)
{
    char host[ELAPSE__LOOP_HOST_BYTES];
    int socket;

    if (!connect_to(partition, link, &socket, host, why))
        return false;
    *why = "out of memory";
    struct elapse__peer *peer = elapse__peer_new(&cluster->links, socket, false, NULL);
    if (peer == NULL)
        return false;
    struct elapse__cluster_link *own = new_link(partition, link);
    if (own == NULL) {
        elapse__peer_free(peer);
        return false;
    }
    own->peer = peer;
    memcpy(own->host, host, sizeof own->host);
    peer->user = own;
    peer->is_connecting = true;
    peer->is_blocked = true; /* blocked until the other node accepts or refuses */
    elapse__peer_watch(peer);
    return true;
}

void elapse__links_open(struct elapse__cluster *cluster)
{
    struct elapse__router_link *link;

    while ((link = elapse__router_link_wanted(cluster->router, elapse__runner_now_ms())) != NULL) {
        struct elapse__cluster_partition *partition =
            &cluster->partitions[elapse__router_link_partition(link)];
        const char *why = NULL;
        if (partition->core != NULL ? open_here(partition, link)
                                    : open_there(cluster, partition, link, &why))
            continue;
        if (why != NULL)
            elapse__router_link_failed(link, elapse__runner_now_ms(), why);
        else
            elapse__router_link_closed(link, elapse__runner_now_ms());
        log_trouble(partition);
    }
}

/* ---- to other nodes ---- */

/* Gives up a link to a node that was reached, and cannot be spoken to. */
static void give_up(struct elapse__peer *peer, int error)
{
    struct elapse__cluster_link *own = peer->user;

    own->error = error;
    if (peer->tls != NULL)
        own->distrust = elapse__tls_distrust(peer->tls);
    if (own->distrust == NULL && error == EPROTO)
        own->distrust = "it does not speak TLS as this node does";
    elapse__addresses_failed(own->partition);
    elapse__peer_enter(peer, ELAPSE__PEER_ENDING);
}

/* Goes on with the handshake of TLS. Afterwards the link is open. The router gives the link up if
 * that takes too long, as it does with every link that is being opened. */
static void shake(struct elapse__peer *peer)
{
    struct elapse__cluster_link *own = peer->user;

    ELAPSE__ASSERT(own->is_shaking && peer->tls != NULL && !peer->is_connecting);
    int error = elapse__tls_shake(peer->tls);
    peer->is_blocked = error == EAGAIN && elapse__tls_wants_to_write(peer->tls);
    if (error == EAGAIN)
        return;
    own->is_shaking = false;
    if (error != 0) {
        give_up(peer, error);
        return;
    }
    ELAPSE__ASSERT(elapse__tls_distrust(peer->tls) == NULL);
    elapse__router_link_opened(own->link, elapse__runner_now_ms(), false);
}

static void begin_to_shake(struct elapse__peer *peer)
{
    struct elapse__cluster_link *own = peer->user;
    struct elapse__tls_keys *trust = own->partition->cluster->service.loop.trust;

    ELAPSE__ASSERT(trust != NULL && peer->tls == NULL);
    peer->tls = elapse__tls_connect(trust, peer->socket, own->host);
    if (peer->tls == NULL) {
        give_up(peer, ENOMEM);
        return;
    }
    own->is_shaking = true;
    shake(peer);
}

static void receive(struct elapse__cluster *cluster, struct elapse__peer *peer)
{
    struct elapse__cluster_link *own = peer->user;
    size_t got = elapse__cluster_receive(cluster, peer, elapse__router_link_room(own->link));

    if (got > 0)
        elapse__router_link_received(own->link, elapse__runner_now_ms(), cluster->batch, got);
    peer->room = elapse__router_link_room(own->link);
    if (peer->has_ended)
        elapse__peer_enter(peer, ELAPSE__PEER_ENDING);
    elapse__peer_watch(peer);
}

void elapse__links_receive(struct elapse__cluster *cluster)
{
    struct elapse__ring_node ready;

    elapse__ring_init(&ready);
    if (!elapse__ring_empty(&cluster->links.rings[ELAPSE__PEER_READY]))
        elapse__ring_take_all(&ready, &cluster->links.rings[ELAPSE__PEER_READY]);
    while (!elapse__ring_empty(&ready)) {
        struct elapse__peer *peer = elapse__peer_first(&ready);
        const struct elapse__cluster_link *own = peer->user;
        elapse__peer_leave(peer, ELAPSE__PEER_READY);
        if (peer->has_ended || peer->places[ELAPSE__PEER_ENDING].is_in)
            continue;
        if (!own->is_shaking) {
            receive(cluster, peer);
            continue;
        }
        shake(peer);
        elapse__peer_enter(peer, ELAPSE__PEER_ATTENDED);
    }
}

/* Called when the attempt to connect has succeeded or failed. */
static void connected(struct elapse__peer *peer)
{
    struct elapse__cluster_link *own = peer->user;

    peer->is_connecting = false;
    own->error = elapse__os_connect_error(peer->socket);
    if (own->error != 0)
        give_up(peer, own->error);
    else if (own->host[0] != '\0')
        begin_to_shake(peer);
    else
        elapse__router_link_opened(own->link, elapse__runner_now_ms(), false);
}

/* Sends as much of the router's output for a link as the socket takes. */
static void send_output(struct elapse__peer *peer)
{
    const struct elapse__cluster_link *own = peer->user;

    do {
        if (peer->sent_bytes > 0)
            elapse__router_link_sent(own->link, elapse__runner_now_ms(), peer->sent_bytes);
        peer->sent_bytes = 0;
        peer->output_bytes = elapse__router_link_output(own->link, &peer->output);
        if (peer->output_bytes > 0 && !peer->is_blocked && !peer->has_ended)
            elapse__peer_send(peer);
    } while (peer->sent_bytes > 0);
    peer->output = NULL;
}

static void attend_there(struct elapse__peer *peer)
{
    const struct elapse__cluster_link *own = peer->user;

    elapse__peer_leave(peer, ELAPSE__PEER_ATTENDED);
    if (peer->is_connecting && !peer->is_blocked)
        connected(peer);
    if (elapse__router_link_wants_end(own->link))
        elapse__peer_enter(peer, ELAPSE__PEER_ENDING);
    if (!own->is_shaking)
        send_output(peer);
    if (peer->is_connecting)
        peer->room = 0;
    else
        peer->room = own->is_shaking ? 1 : elapse__router_link_room(own->link);
    elapse__peer_watch(peer);
}

static bool end_links(struct elapse__cluster *cluster)
{
    struct elapse__ring_node *ring = &cluster->links.rings[ELAPSE__PEER_ENDING];
    bool has_ended = false;

    while (!elapse__ring_empty(ring)) {
        struct elapse__peer *peer = elapse__peer_first(ring);
        const struct elapse__cluster_link *own = peer->user;
        if (peer->is_connecting)
            elapse__addresses_failed(own->partition);
        /* The owner has closed the link, because it has handed the partition over or is dead. So
         * the runner must read the row of the partition. */
        if (own->partition->runner != NULL)
            elapse__runner_news(own->partition->runner);
        close_link(peer->user);
        elapse__peer_free(peer);
        has_ended = true;
    }
    return has_ended;
}

/* ---- to cores of this node ---- */

/* Called when the router has something for the core, when it has room for answers again, or when it
 * does not need the link any more. */
static void attend_here(struct elapse__cluster_link *own)
{
    const uint8_t *bytes;
    uint32_t count;

    if (elapse__router_link_wants_end(own->link)) {
        /* The router has received `sent_bytes` of the core's output. The core may not know that
         * yet, so they are counted as sent here. */
        elapse__loop_pipe_end(&own->pipe, own->pipe.peer->sent_bytes);
        close_link(own);
        return;
    }
    elapse__peer_enter(own->pipe.peer, ELAPSE__PEER_ATTENDED);
    own->pipe.has_commands = elapse__router_link_command(own->link, &count) != NULL;
    elapse__peer_watch(own->pipe.peer);
    if (elapse__router_link_output(own->link, &bytes) > 0 && own->dirty.next == NULL &&
        !own->pipe.peer->has_ended)
        elapse__ring_append(&own->partition->dirty, &own->dirty);
}

bool elapse__links_send(struct elapse__cluster *cluster)
{
    struct elapse__ring_node *ring = &cluster->links.rings[ELAPSE__PEER_ATTENDED];
    struct elapse__router_link *link;
    bool has_news = !elapse__ring_empty(ring);

    while ((link = elapse__router_link_attention(cluster->router)) != NULL) {
        struct elapse__cluster_link *own = own_of(link);
        has_news = true;
        if (own->peer != NULL)
            elapse__peer_enter(own->peer, ELAPSE__PEER_ATTENDED);
        else
            attend_here(own);
    }
    while (!elapse__ring_empty(ring))
        attend_there(elapse__peer_first(ring));
    return end_links(cluster) || has_news;
}

/* Shows the core the bytes that the router has for it, without a copy. The core receives them at
 * the beginning of its turn. */
static void offer(struct elapse__cluster_link *own)
{
    const uint8_t *bytes;

    own->given = elapse__router_link_output(own->link, &bytes);
    own->pipe.input = bytes;
    own->pipe.input_bytes = own->given;
    if (own->given > 0)
        elapse__peer_enter(own->pipe.peer, ELAPSE__PEER_READY);
}

/* Tells the router what the core has received, and ends the offer. Returns whether the router still
 * has bytes that the core may take. The caller offers those in the next turn. */
static bool take_back(struct elapse__cluster_link *own)
{
    const uint8_t *bytes;

    note_taken(own);
    own->given = own->pipe.input_bytes = 0;
    own->pipe.input = NULL;
    return !own->pipe.peer->has_ended && elapse__router_link_output(own->link, &bytes) > 0;
}

/* ---- from other nodes to cores of this node ---- */

/* Whether a push message may be sent to a peer now: only between two replies. */
struct boundary {
    const struct elapse__peer *peer;
    bool is_there; /* the socket has taken all of the core's output for the peer */
};

static void look_for_boundary(struct elapse__loop *loop, void *argument)
{
    struct boundary *boundary = argument;
    const uint8_t *bytes;

    (void)loop;
    boundary->is_there =
        boundary->peer->connection != NULL &&
        elapse__connection_output(boundary->peer->connection, &bytes) == boundary->peer->sent_bytes;
}

/* Sends a push message. A session of TLS that has only a part of a message must send the rest
 * before anything else. So a message is given to a session only if its socket has room for all of
 * it. Returns EAGAIN if nothing was sent. */
static int send_message(struct elapse__peer *peer, const char *message, size_t size, size_t *sent)
{
    struct elapse__os_watch watch = {.file = peer->socket, .for_room = true};

    if (peer->tls == NULL)
        return elapse__os_send(peer->socket, message, size, sent);
    (void)elapse__os_wait(&watch, 1, 0);
    if (!watch.ready)
        return EAGAIN;
    int error = elapse__tls_send(peer->tls, message, size, sent);
    return error == EAGAIN ? EPIPE : error;
}

/* Sends a push message between two replies. Returns false if that is not possible now, because a
 * reply was sent only in part, or because the socket takes nothing. */
static bool push(struct elapse__loop *core, struct elapse__peer *peer, const char *message)
{
    struct boundary boundary = {.peer = peer};
    size_t size = strlen(message);
    size_t sent = 0;

    elapse__loop_with_core(core, look_for_boundary, &boundary);
    if (!boundary.is_there || peer->is_blocked || peer->has_ended)
        return false;
    int error = send_message(peer, message, size, &sent);
    if ((error == 0 && sent != size) || (error == EPIPE && peer->tls != NULL))
        elapse__peer_enter(peer, ELAPSE__PEER_ENDING);
    return error == 0;
}

/* A node that does not get the message asks by itself a little later. */
void elapse__links_push_ready(struct elapse__cluster_partition *partition)
{
    struct elapse__ring_node *ring = &partition->core->peers.rings[ELAPSE__PEER_ALL];

    for (struct elapse__ring_node *i = ring->next; i != ring; i = i->next) {
        struct elapse__peer *peer = elapse__peer_at(i);
        if (peer->is_link)
            (void)push(partition->core, peer, ">1\r\n+ready\r\n");
    }
}

static void look_if_quiet(struct elapse__loop *core, void *argument)
{
    *(bool *)argument = elapse__server_is_quiet(core->server);
}

bool elapse__links_leave(struct elapse__cluster_partition *partition)
{
    struct elapse__ring_node *ring = &partition->core->peers.rings[ELAPSE__PEER_ALL];
    bool is_quiet = false;

    for (struct elapse__ring_node *i = ring->next; i != ring; i = i->next) {
        struct elapse__peer *peer = elapse__peer_at(i);
        if (peer->is_for_client)
            elapse__loop_end_input(partition->core, peer);
        else if (peer->is_link && push(partition->core, peer, ">1\r\n+leaving\r\n"))
            peer->is_link = false;
    }
    if (elapse__ring_empty(ring))
        elapse__loop_with_core(partition->core, look_if_quiet, &is_quiet);
    return is_quiet;
}

/* Returns whether the core has answers for a client that the client does not take. Answers that
 * wait for the disk or the database are not such answers: they are not in the output, or the loop
 * holds the output back. A socket that takes nothing is blocked; a pipe that takes nothing keeps
 * output after each turn. */
static bool reads_nothing(const struct elapse__loop *core, const struct elapse__peer *peer)
{
    return peer->pipe == NULL ? peer->is_blocked
                              : !core->is_held && peer->output_bytes > peer->sent_bytes;
}

void elapse__links_cut_clients(struct elapse__cluster_partition *partition)
{
    struct elapse__ring_node *ring = &partition->core->peers.rings[ELAPSE__PEER_ALL];

    for (struct elapse__ring_node *i = ring->next; i != ring; i = i->next) {
        struct elapse__peer *peer = elapse__peer_at(i);
        if (peer->is_for_client && reads_nothing(partition->core, peer))
            elapse__peer_enter(peer, ELAPSE__PEER_ENDING);
    }
}

/* ---- a turn ---- */

bool elapse__links_turn(struct elapse__cluster_partition *partition)
{
    struct elapse__ring_node *next;

    for (struct elapse__ring_node *i = partition->dirty.next; i != &partition->dirty; i = i->next)
        offer((struct elapse__cluster_link *)(void *)i);
    bool more = elapse__loop_turn(partition->core);
    /* A link that ended during the turn has left the ring. */
    for (struct elapse__ring_node *i = partition->dirty.next; i != &partition->dirty; i = next) {
        next = i->next;
        if (take_back((struct elapse__cluster_link *)(void *)i))
            continue;
        (void)elapse__ring_remove(i);
        i->next = NULL;
    }
    return more;
}
