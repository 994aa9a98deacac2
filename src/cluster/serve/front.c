/*
 * Passes bytes between the sockets of clients and the router. The peers of clients belong to the
 * front: a loop that has no core.
 */
#include "../../base/assert.h"
#include "links.h"

static struct elapse__cluster *cluster_of(struct elapse__loop *front)
{
    return front->context;
}

static struct elapse__router_client *client_of(const struct elapse__peer *peer)
{
    return peer->user;
}

/* Copies three facts about a client from the router: what to send, how many bytes it takes, and
 * whether its connection should end. */
static void look(struct elapse__peer *peer)
{
    const struct elapse__router_client *client = client_of(peer);

    peer->output_bytes = elapse__router_client_output(client, &peer->output);
    peer->room = elapse__router_client_room(client);
    peer->wants_end = elapse__router_client_wants_end(client);
}

void elapse__front_welcome(struct elapse__loop *loop, struct elapse__peer *peer)
{
    struct elapse__cluster *cluster = cluster_of(loop);

    ELAPSE__ASSERT(peer->connection == NULL && peer->user == NULL);
    peer->user =
        elapse__router_client_new(cluster->router, elapse__runner_now_ms(), peer->is_local, peer);
    if (peer->user == NULL) {
        elapse__logger(elapse__cluster_logger(cluster), ELAPSE__LOGGER_WARNING,
                       ELAPSE__EVENT_REFUSED,
                       "a connection was refused: there are too many, or there is no memory");
        elapse__peer_free(peer);
        return;
    }
    look(peer);
    elapse__peer_watch(peer);
    /* The socket may have the first bytes already. */
    elapse__peer_enter(peer, ELAPSE__PEER_READY);
}

/* ---- receiving ---- */

static void receive(struct elapse__cluster *cluster, struct elapse__peer *peer)
{
    size_t got = elapse__cluster_receive(cluster, peer, peer->room);
    uint64_t now_ms = elapse__runner_now_ms();

    ELAPSE__ASSERT_THAT(got, <=, peer->room);
    if (got > 0)
        elapse__router_client_received(client_of(peer), now_ms, cluster->batch, got);
    if (peer->has_ended && !peer->is_end_known) {
        peer->is_end_known = true;
        elapse__router_client_received_all(client_of(peer), now_ms);
    }
    elapse__peer_enter(peer, ELAPSE__PEER_ATTENDED);
    peer->room = elapse__router_client_room(client_of(peer));
    elapse__peer_watch(peer);
}

void elapse__front_receive(struct elapse__cluster *cluster)
{
    struct elapse__ring_node *ring = &cluster->service.loop.peers.rings[ELAPSE__PEER_READY];
    struct elapse__ring_node ready;

    elapse__ring_init(&ready);
    if (!elapse__ring_empty(ring))
        elapse__ring_take_all(&ready, ring);
    while (!elapse__ring_empty(&ready)) {
        struct elapse__peer *peer = elapse__peer_first(&ready);
        elapse__peer_leave(peer, ELAPSE__PEER_READY);
        if (peer->user != NULL && (peer->room > 0 || peer->has_ended))
            receive(cluster, peer);
    }
}

/* ---- sending ---- */

/* Called when a client has turned out to be another node that asks for a core of this node. Moves
 * the connection from the router to that core. If there is no such core any more, or if its
 * partition moves to another node, closes the connection. */
static void give(struct elapse__cluster *cluster, struct elapse__peer *peer,
                 const struct elapse__router_given *given)
{
    ELAPSE__ASSERT_THAT(given->partition, <, cluster->partition_count);
    struct elapse__loop *core = cluster->partitions[given->partition].core;
    const struct elapse__connection_facts facts = {
        .may_use_beanstalkd = true, .speaks_resp3 = !given->is_pipe, .shell = peer};

    ELAPSE__ASSERT(peer->connection == NULL);
    elapse__router_client_closed(client_of(peer), elapse__runner_now_ms());
    peer->user = NULL;
    bool moves = cluster->partitions[given->partition].moving != ELAPSE__CLUSTER_STAYS;
    if (core == NULL || core->is_broken || moves || peer->has_ended) {
        elapse__peer_free(peer);
        return;
    }
    peer->is_link = !given->is_pipe;
    peer->is_for_client = given->is_pipe;
    elapse__peer_move(peer, &core->peers);
    elapse__loop_connect(core, peer, &facts);
}

/* Sends as much of the router's output for a client as the socket takes. Tells the router how much
 * was sent. */
static void send_output(struct elapse__peer *peer)
{
    struct elapse__router_client *client = client_of(peer);

    do {
        if (peer->sent_bytes > 0)
            elapse__router_client_sent(client, elapse__runner_now_ms(), peer->sent_bytes);
        peer->sent_bytes = 0;
        look(peer);
        if (peer->output_bytes > 0 && !peer->is_blocked && !peer->places[ELAPSE__PEER_ENDING].is_in)
            elapse__peer_send(peer);
    } while (peer->sent_bytes > 0);
}

static void attend(struct elapse__cluster *cluster, struct elapse__peer *peer)
{
    struct elapse__router_given given;

    ELAPSE__ASSERT(peer->places[ELAPSE__PEER_ATTENDED].is_in);
    elapse__peer_leave(peer, ELAPSE__PEER_ATTENDED);
    send_output(peer);
    if (elapse__router_client_given(client_of(peer), &given)) {
        give(cluster, peer, &given);
        return;
    }
    peer->output = NULL;
    if (peer->wants_end && peer->output_bytes == 0)
        elapse__peer_enter(peer, ELAPSE__PEER_ENDING);
    elapse__peer_watch(peer);
}

static bool end_clients(struct elapse__cluster *cluster)
{
    struct elapse__ring_node *ring = &cluster->service.loop.peers.rings[ELAPSE__PEER_ENDING];
    bool has_ended = false;

    while (!elapse__ring_empty(ring)) {
        struct elapse__peer *peer = elapse__peer_first(ring);
        if (peer->sent_bytes > 0)
            elapse__router_client_sent(client_of(peer), elapse__runner_now_ms(), peer->sent_bytes);
        elapse__router_client_closed(client_of(peer), elapse__runner_now_ms());
        peer->user = NULL;
        elapse__peer_free(peer);
        has_ended = true;
    }
    return has_ended;
}

bool elapse__front_send(struct elapse__cluster *cluster)
{
    struct elapse__ring_node *ring = &cluster->service.loop.peers.rings[ELAPSE__PEER_ATTENDED];
    struct elapse__router_client *client;
    bool has_news = !elapse__ring_empty(ring);

    while ((client = elapse__router_client_attention(cluster->router)) != NULL) {
        elapse__peer_enter(elapse__router_client_shell(client), ELAPSE__PEER_ATTENDED);
        has_news = true;
    }
    while (!elapse__ring_empty(ring))
        attend(cluster, elapse__peer_first(ring));
    return end_clients(cluster) || has_news;
}
