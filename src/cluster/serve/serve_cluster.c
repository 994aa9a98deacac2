/*
 * Starts a node, serves until it is asked to stop, and hands its partitions over.
 *
 *      read files, listen --> read the queue's facts in the database --> open the stores
 *      --> start the runners --> serve until SIGTERM or SIGINT --> hand over
 *
 * The node hands over in four steps. It takes no connection and no byte of a client any more. It
 * tells the other nodes to send no more. For a while it answers what was sent before. Then it hands
 * each partition over, and answers nothing any more.
 */
#include "serve_cluster.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <elapse/version.h>

#include "../../base/assert.h"
#include "../../engine/store/remember.h"
#include "../../server/http/http.h"
#include "../../server/serve/listeners.h"
#include "copies.h"
#include "turn.h"

#define NS_PER_MS UINT64_C(1000000)
#define FLUSH_NS  (500 * NS_PER_MS) /* how long replies may take to leave when the node stops */
#define TICK_NS   (10 * NS_PER_MS)
/* Longer than a runner takes to hand over. */
#define HAND_OVER_NS ((ELAPSE__RUNNER_HAND_OVER_MS + 5000) * NS_PER_MS)

/* ---- start ---- */

/* Opens the store of a partition of which this node is to have a copy. */
static void open_wanted(void *context, uint32_t number)
{
    struct elapse__cluster *cluster = context;

    if (cluster->partitions[number].copy == ELAPSE__CLUSTER_HAS_COPY)
        elapse__cluster_partition_open(cluster, number);
}

static void open_all(void *context, uint32_t number)
{
    struct elapse__cluster *cluster = context;

    (void)number;
    elapse__cluster_each(cluster->partition_count, open_wanted, cluster);
}

/* Called when the opening of the partition's store has ended. Returns whether the node can begin:
 * there is a store, or the partition's files are at fault, and the node goes on without them. */
static bool look_at_store(struct elapse__cluster_partition *partition)
{
    bool is_out = partition->out != NULL;

    ELAPSE__ASSERT(!is_out || partition->store == NULL);
    if (partition->copy == ELAPSE__CLUSTER_HAS_NO_COPY)
        return true;
    partition->seen_out = partition->out;
    if (is_out)
        partition->figures.partition.role = ELAPSE__ROLE_STOPPED;
    if (partition->monitor.made > 0)
        elapse__cluster_partition_log(partition);
    return partition->store != NULL || is_out;
}

/* Returns whether the partition has files of a copy that have to be compared with the log, or files
 * that cannot be read. If an earlier life has compared them and left them, notes that. */
static bool has_to_compare(struct elapse__cluster_partition *partition)
{
    struct elapse__store_memory memory;

    if (elapse__store_recall(&elapse__files_linux, partition->directory, &memory) != 0)
        return true;
    if (memory.seen_epoch == 0)
        return false;
    int error = elapse__store_recall_left(&elapse__files_linux, partition->directory,
                                          &partition->left, &partition->is_left);
    return error != 0 || !partition->is_left;
}

/* Opens the stores of the partitions of which this node is to have a copy, or has files that no
 * life has compared with the log since they changed. Such files may be the only ones that know of a
 * group that the database has lost; so the node compares them before it leaves them alone
 * (copies.c). Returns false if the node cannot begin, or if no partition is left. */
static bool open_stores(struct elapse__cluster *cluster)
{
    ELAPSE__ASSERT(cluster->partitions == NULL && cluster->partition_count == 0);
    cluster->partitions = calloc(cluster->queue.partitions, sizeof *cluster->partitions);
    if (cluster->partitions == NULL)
        return false;
    cluster->partition_count = cluster->queue.partitions;
    bool can_begin = true, is_any_open = false;
    for (uint32_t i = 0; i < cluster->partition_count; i++) {
        can_begin = elapse__cluster_partition_make(cluster, i) && can_begin;
        cluster->partitions[i].is_guest = !cluster->nodes.wants[i]; /* it reads the log first */
        if (can_begin && !cluster->nodes.wants[i] && !has_to_compare(&cluster->partitions[i]))
            cluster->partitions[i].copy = ELAPSE__CLUSTER_HAS_NO_COPY;
    }
    if (can_begin) {
        elapse__cluster_find_aside(cluster);
        elapse__cluster_begin(cluster, open_all, cluster);
    }
    for (uint32_t i = 0; i < cluster->partition_count; i++) {
        struct elapse__cluster_partition *partition = &cluster->partitions[i];
        can_begin = look_at_store(partition) && can_begin;
        is_any_open = is_any_open || partition->store != NULL ||
                      partition->copy == ELAPSE__CLUSTER_HAS_NO_COPY;
    }
    return can_begin && is_any_open;
}

static bool admit(void *context, struct elapse__wire_resp_argument name,
                  struct elapse__wire_resp_argument password, struct elapse__identity *identity)
{
    const struct elapse__cluster *cluster = context;
    const struct elapse__keys keys = elapse__loop_keys(&cluster->service.loop);

    return elapse__admit(&keys, name, password, identity);
}

static uint64_t wrong_password(void *context, void *shell)
{
    const struct elapse__cluster *cluster = context;
    const struct elapse__peer *peer = shell;

    return cluster->shown.wrong_password(cluster->shown.context, peer->place);
}

static void note_old_name(void *context, void *shell)
{
    struct elapse__cluster *cluster = context;
    const struct elapse__peer *peer = shell;

    (void)elapse__guesses_note(&cluster->old_names, peer->place, elapse__runner_now_ms());
}

/* Returns the password with which this node greets other nodes: the first one of --node-password,
 * or of --auth without that option. The passwords may change while the node runs. */
static const void *link_password(void *context, size_t *size)
{
    const struct elapse__cluster *cluster = context;
    const struct elapse__loop *front = &cluster->service.loop;
    const struct elapse__tokens *tokens =
        front->node_tokens.count > 0 ? &front->node_tokens : &front->tokens;

    ELAPSE__ASSERT(tokens->count == 0 || tokens->texts[0].size > 0);
    *size = tokens->count == 0 ? 0 : tokens->texts[0].size;
    return tokens->count == 0 ? NULL : tokens->texts[0].bytes;
}

static bool make_router(struct elapse__cluster *cluster)
{
    const struct elapse__loop_options *options = elapse__cluster_options(cluster);
    const struct elapse__keys keys = elapse__loop_keys(&cluster->service.loop);
    const struct elapse__router_options router = {
        .partitions = cluster->queue.partitions,
        .hash_tags = cluster->queue.hash_tags == ELAPSE__SCHEMA_TAGS_ON,
        .queue = options->queue,
        .admit = elapse__keys_are_needed(&keys) ? admit : NULL,
        .users = keys.users,
        .has_node_password = options->node_password != NULL,
        .no_beanstalkd = !elapse__loop_speaks_beanstalkd(options),
        .wrong_password = wrong_password,
        .old_name = note_old_name,
        .address = elapse__peer_address,
        .context = cluster,
        .history = &cluster->service.history,
        .link_password = link_password,
        .argument_bytes_max = (uint32_t)options->body_bytes_max,
        .clients_max = (uint32_t)options->connections_max,
        .output_bytes_max = (uint32_t)options->output_bytes_max,
    };

    ELAPSE__ASSERT(cluster->router == NULL);
    cluster->router = elapse__router_new(&router, elapse__runner_now_ms());
    return cluster->router != NULL;
}

/* Ends the node if a partition was marked of which it has no copy: no runner here sees that mark,
 * and what this node acknowledged would be missing on the right server. */
static void look_for_mark(struct elapse__cluster *cluster)
{
    if (cluster->marked == 0 || cluster->search_until_ms != 0)
        return;
    elapse__logger(elapse__cluster_logger(cluster), ELAPSE__LOGGER_ERROR, ELAPSE__EVENT_CLUSTER,
                   "partition %" PRIu32 ", of which this node has no copy, cannot go on: %s",
                   cluster->marked - 1, elapse__cluster_stop(ELAPSE__STOP_MARKED));
    elapse__cluster_search(cluster);
}

static void look_at_partitions(struct elapse__cluster *cluster)
{
    for (uint32_t i = 0; i < cluster->partition_count; i++) {
        elapse__cluster_partition_look(&cluster->partitions[i]);
        elapse__cluster_note_confirmed(&cluster->partitions[i]);
    }
    elapse__cluster_errand_inbox_look(cluster);
    elapse__cluster_errand_nodes_look(cluster);
    look_for_mark(cluster);
    elapse__cluster_witnesses_look(cluster);
    elapse__cluster_moves_look(cluster);
    elapse__cluster_copies_look(cluster);
}

static void on_event(evutil_socket_t file, short what, void *argument)
{
    (void)what;
    (void)elapse__os_event_reset((int)file);
    look_at_partitions(argument);
}

/* Called once a second. Looks for complaints about the database, which come without an event. */
static void on_second(evutil_socket_t file, short what, void *argument)
{
    struct elapse__cluster *cluster = argument;

    (void)file;
    (void)what;
    look_at_partitions(cluster);
    elapse__service_say_guesses(elapse__cluster_logger(cluster), &cluster->guesses);
    elapse__service_say_old_names(elapse__cluster_logger(cluster), &cluster->old_names);
    elapse__cluster_count_files(argument);
}

/* Wakes the loop, and does nothing else. The turn that follows looks at the time. */
static void on_alarm(evutil_socket_t file, short what, void *argument)
{
    (void)file;
    (void)what;
    (void)argument;
}

static void with_cores(struct elapse__service *service,
                       void (*call)(struct elapse__loop *loop, void *argument), void *argument)
{
    struct elapse__cluster *cluster = (struct elapse__cluster *)(void *)service;

    for (uint32_t i = 0; i < cluster->partition_count; i++)
        if (cluster->partitions[i].core != NULL)
            elapse__loop_with_core(cluster->partitions[i].core, call, argument);
}

static bool make_events(struct elapse__cluster *cluster)
{
    const struct timeval second = {.tv_sec = 1};
    struct elapse__loop *front = &cluster->service.loop;

    ELAPSE__ASSERT(cluster->links.base == NULL && cluster->batch == NULL);
    cluster->links.logger = front->peers.logger;
    cluster->links.base = front->peers.base;
    cluster->links.files = front->peers.files;
    cluster->links.outer = &front->peers;
    for (unsigned i = 0; i < ELAPSE__PEER_RINGS; i++)
        elapse__ring_init(&cluster->links.rings[i]);
    cluster->batch = malloc(ELAPSE__BATCH_PEER_BYTES);
    cluster->alarm = evtimer_new(front->peers.base, on_alarm, cluster);
    if (cluster->batch == NULL || cluster->alarm == NULL)
        return false;
    cluster->on_event =
        event_new(front->peers.base, cluster->event, EV_READ | EV_PERSIST, on_event, cluster);
    cluster->on_second = event_new(front->peers.base, -1, EV_PERSIST, on_second, cluster);
    return cluster->on_event != NULL && event_add(cluster->on_event, NULL) == 0 &&
           cluster->on_second != NULL && event_add(cluster->on_second, &second) == 0;
}

static bool open_http(struct elapse__loop *front)
{
    if (elapse__service_wants_http(front))
        front->http = elapse__http_open(front);
    return front->http != NULL || !elapse__service_wants_http(front);
}

static bool start(struct elapse__cluster *cluster)
{
    struct elapse__service *service = &cluster->service;

    ELAPSE__ASSERT_THAT(cluster->partition_count, ==, cluster->queue.partitions);
    service->loop.context = cluster;
    service->loop.welcome = elapse__front_welcome;
    service->with_cores = with_cores;
    elapse__service_know_machine(service);
    elapse__cluster_show(cluster);
    elapse__cluster_count_files(cluster);
    service->loop.body_thread = elapse__body_thread_start();
    if (service->loop.body_thread == NULL || !make_router(cluster) || !make_events(cluster) ||
        !open_http(&service->loop) || !elapse__service_start_events(service) ||
        !elapse__listeners_start(&service->loop) ||
        !elapse__cluster_errand_start(&cluster->addresses, elapse__addresses_errand, cluster) ||
        !elapse__cluster_errand_start(&cluster->inbox, elapse__cluster_errand_inbox, cluster) ||
        !elapse__cluster_witnesses_make(cluster) ||
        !elapse__cluster_errand_start(&cluster->witnesses.errand, elapse__cluster_errand_witnesses,
                                      cluster) ||
        !elapse__cluster_errand_start(&cluster->nodes.errand, elapse__cluster_errand_nodes,
                                      cluster))
        return false;
    for (uint32_t i = 0; i < cluster->partition_count; i++)
        if (cluster->partitions[i].store != NULL &&
            !elapse__cluster_partition_start(&cluster->partitions[i]))
            return false;
    return true;
}

/* ---- serve and stop ---- */

/* Waits for events and does turns. Returns when `ends` returns true, when the node has failed, or
 * at `until_ns` by the monotonic clock. */
static void serve_until(struct elapse__cluster *cluster, bool (*ends)(struct elapse__cluster *),
                        uint64_t until_ns)
{
    struct event_base *base = cluster->service.loop.peers.base;
    bool more = true;

    ELAPSE__ASSERT_NO_LOCK_HELD();
    while (!cluster->has_failed && !ends(cluster) && elapse__os_monotonic_ns() < until_ns) {
        (void)event_base_loop(base, EVLOOP_ONCE | (more ? EVLOOP_NONBLOCK : 0));
        more = elapse__cluster_turn(cluster);
    }
}

static bool is_asked_to_stop(struct elapse__cluster *cluster)
{
    return cluster->service.loop.peers.is_stopping;
}

/* Returns the timeline on which groups of a partition are lost, or 0 if no loss was found. */
static uint32_t timeline_of_loss(const struct elapse__runner_figures *figures)
{
    enum elapse__partition_stop stop = figures->partition.stop;
    bool is_loss = stop == ELAPSE__STOP_LOST_GROUPS || stop == ELAPSE__STOP_MARKED;

    return is_loss ? figures->partition.timeline : 0;
}

/* Returns whether all partitions have looked at the database that lacks groups of one partition,
 * and have written their marks. That database may lack groups of other partitions, too. Perhaps
 * only this node knows of them, and can mark those partitions. */
static bool have_looked(struct elapse__cluster *cluster)
{
    uint32_t lossy = 0, seen = UINT32_MAX;

    ELAPSE__ASSERT_THAT(cluster->search_until_ms, >, 0);
    for (uint32_t i = 0; i < cluster->partition_count; i++) {
        struct elapse__cluster_partition *partition = &cluster->partitions[i];
        struct elapse__runner_figures figures;
        /* The witness may know of lost groups of a partition of which this node has no copy. */
        if (partition->copy != ELAPSE__CLUSTER_HAS_COPY)
            return false;
        if (partition->runner == NULL)
            continue;
        elapse__runner_figures(partition->runner, &figures);
        elapse__lock(&partition->monitor.lock);
        bool has_ended = partition->has_ended;
        elapse__unlock(&partition->monitor.lock);
        if (timeline_of_loss(&figures) > lossy)
            lossy = timeline_of_loss(&figures);
        if (!has_ended && figures.partition.stop != ELAPSE__STOP_NONE)
            return false;
        if (!has_ended && figures.partition.timeline < seen)
            seen = figures.partition.timeline;
    }
    return seen > 0 && seen >= lossy;
}

static bool has_to_end(struct elapse__cluster *cluster)
{
    if (is_asked_to_stop(cluster) || cluster->search_until_ms == 0)
        return is_asked_to_stop(cluster);
    return elapse__runner_now_ms() >= cluster->search_until_ms || have_looked(cluster);
}

/* Asks all who use the cores of this node to leave. Returns whether two things are done: they have
 * left with their answers, and clients of this node have got their answers from other nodes. */
static bool have_left(struct elapse__cluster *cluster)
{
    bool have_left = true;

    ELAPSE__ASSERT(cluster->cores_close);
    for (uint32_t i = 0; i < cluster->partition_count; i++)
        if (cluster->partitions[i].core != NULL && !cluster->partitions[i].core->is_broken)
            have_left &= elapse__links_leave(&cluster->partitions[i]);
    return have_left && elapse__router_is_idle(cluster->router);
}

static void stop_core(struct elapse__loop *loop, void *argument)
{
    (void)argument;
    ELAPSE__ASSERT_LOCK_HELD(&loop->store->lock);
    loop->peers.is_stopping = true;
    elapse__server_stop(loop->server);
}

static void look_if_quiet(struct elapse__loop *loop, void *argument)
{
    if (!loop->is_broken && !elapse__server_is_quiet(loop->server))
        *(bool *)argument = false;
}

static bool is_quiet(struct elapse__cluster *cluster)
{
    bool quiet = true;

    with_cores(&cluster->service, look_if_quiet, &quiet);
    return quiet;
}

static bool have_ended(struct elapse__cluster *cluster)
{
    bool all = true;

    ELAPSE__ASSERT(atomic_load(&cluster->is_stopping));
    for (uint32_t i = 0; i < cluster->partition_count; i++) {
        struct elapse__cluster_partition *partition = &cluster->partitions[i];
        elapse__lock(&partition->monitor.lock);
        all = all && (partition->has_ended || partition->runner == NULL);
        elapse__unlock(&partition->monitor.lock);
    }
    return all;
}

/* Hands all partitions over at the same time, because each hand-over may take a while. */
static void hand_over(struct elapse__cluster *cluster)
{
    ELAPSE__ASSERT(atomic_load(&cluster->is_stopping));
    for (uint32_t i = 0; i < cluster->partition_count; i++)
        if (cluster->partitions[i].runner != NULL)
            elapse__runner_hand_over(cluster->partitions[i].runner);
}

/* Logs each partition that the database still gives to this node, and returns how many there
 * are. */
static unsigned count_kept(struct elapse__cluster *cluster)
{
    unsigned count = 0;

    ELAPSE__ASSERT(atomic_load(&cluster->is_stopping));
    for (uint32_t i = 0; i < cluster->partition_count; i++) {
        struct elapse__cluster_partition *partition = &cluster->partitions[i];
        struct elapse__runner_figures figures = {.has_released = true};
        if (partition->runner != NULL)
            elapse__runner_figures(partition->runner, &figures);
        if (figures.has_released || strcmp(figures.partition.owner, partition->me) != 0)
            continue;
        count++;
        elapse__logger(elapse__cluster_logger(cluster), ELAPSE__LOGGER_WARNING,
                       ELAPSE__EVENT_CLUSTER,
                       "partition %" PRIu32 " was not handed over, because the database has not "
                       "confirmed it in time: another node takes over when the lease has ended",
                       partition->number);
    }
    return count;
}

static void stop_serving(struct elapse__cluster *cluster)
{
    struct elapse__service *service = &cluster->service;

    ELAPSE__ASSERT(!cluster->cores_close && !atomic_load(&cluster->is_stopping));
    elapse__service_tick(service, TICK_NS);
    elapse__os_notify("STOPPING=1");
    elapse__logger(elapse__cluster_logger(cluster), ELAPSE__LOGGER_NOTICE, ELAPSE__EVENT_STOPPING,
                   "no connection is taken any more");
    elapse__listeners_close(&service->loop);
    cluster->cores_close = true;
    look_at_partitions(cluster);
    serve_until(cluster, have_left, elapse__os_monotonic_ns() + FLUSH_NS);
    with_cores(service, stop_core, NULL);
    serve_until(cluster, is_quiet, elapse__os_monotonic_ns() + FLUSH_NS);
    atomic_store(&cluster->is_stopping, true);
    hand_over(cluster);
    serve_until(cluster, have_ended, elapse__os_monotonic_ns() + HAND_OVER_NS);
}

/* ---- the end ---- */

static void free_peers(struct elapse__peers *peers)
{
    struct elapse__peer *peer;

    if (peers->base == NULL)
        return;
    while ((peer = elapse__peer_first(&peers->rings[ELAPSE__PEER_ALL])) != NULL)
        elapse__peer_free(peer);
    ELAPSE__ASSERT(elapse__ring_empty(&peers->rings[ELAPSE__PEER_ALL]));
}

/* Closes the links to other nodes. The links to cores were closed together with the cores. */
static void free_links(struct elapse__cluster *cluster)
{
    struct elapse__ring_node *ring = &cluster->links.rings[ELAPSE__PEER_ALL];

    if (cluster->links.base == NULL)
        return;
    for (struct elapse__ring_node *i = ring->next; i != ring; i = i->next) {
        struct elapse__peer *peer = elapse__peer_at(i);
        elapse__peer_enter(peer, ELAPSE__PEER_ENDING);
    }
    (void)elapse__links_send(cluster);
    ELAPSE__ASSERT(elapse__ring_empty(&cluster->links.rings[ELAPSE__PEER_ALL]));
}

static void free_event(struct event *event)
{
    if (event != NULL)
        event_free(event);
}

/* Frees everything but what the errands use. Returns false if not everything became durable. */
static bool release(struct elapse__cluster *cluster)
{
    bool is_durable = true;

    atomic_store(&cluster->is_stopping, true);
    elapse__listeners_close(&cluster->service.loop);
    elapse__http_close(cluster->service.loop.http);
    cluster->service.loop.http = NULL;
    for (uint32_t i = 0; i < cluster->partition_count; i++)
        if (cluster->partitions[i].runner != NULL)
            elapse__cluster_partition_release(&cluster->partitions[i]);
    hand_over(cluster);
    for (uint32_t i = 0; i < cluster->partition_count; i++)
        elapse__cluster_partition_end(&cluster->partitions[i]);
    /* This may wait for the opening of a copy. So it comes when other nodes own the partitions. */
    elapse__cluster_copies_end(cluster);
    elapse__cluster_note_continued(cluster);
    if (cluster->service.loop.body_thread != NULL)
        elapse__body_thread_stop(cluster->service.loop.body_thread);
    elapse__cluster_each(cluster->partition_count, elapse__cluster_partition_close, cluster);
    for (uint32_t i = 0; i < cluster->partition_count; i++)
        is_durable = elapse__cluster_partition_free(&cluster->partitions[i]) && is_durable;
    if (cluster->router != NULL)
        free_links(cluster);
    free_peers(&cluster->service.loop.peers);
    elapse__router_free(cluster->router);
    free_event(cluster->on_event);
    free_event(cluster->on_second);
    free_event(cluster->alarm);
    free(cluster->batch);
    elapse__service_close(&cluster->service);
    return is_durable;
}

static enum elapse__serve_end run(struct elapse__cluster *cluster)
{
    struct elapse__logger *logger = elapse__cluster_logger(cluster);

    elapse__logger(logger, ELAPSE__LOGGER_NOTICE, ELAPSE__EVENT_READY,
                   "elapse %s, process %" PRIu64 ", node %s of queue %s at %s, %" PRIu32
                   " partitions, lease %" PRIu32 " ms",
                   elapse_version(), elapse__os_process_id(), cluster->name,
                   elapse__cluster_options(cluster)->queue, cluster->address,
                   cluster->queue.partitions, cluster->queue.lease_ms);
    elapse__os_notify("READY=1");
    serve_until(cluster, has_to_end, UINT64_MAX);
    bool has_failed = cluster->has_failed || cluster->search_until_ms != 0;
    if (!has_failed)
        stop_serving(cluster);
    unsigned kept = has_failed ? 0 : count_kept(cluster);
    if (!release(cluster) || has_failed) {
        elapse__logger(logger, ELAPSE__LOGGER_ERROR, ELAPSE__EVENT_STOPPED,
                       "the node could not go on");
        return ELAPSE__SERVE_FAILED;
    }
    if (kept > 0)
        elapse__logger(logger, ELAPSE__LOGGER_WARNING, ELAPSE__EVENT_STOPPED,
                       "the node has ended, and keeps %u partitions until their lease ends", kept);
    else
        elapse__logger(logger, ELAPSE__LOGGER_NOTICE, ELAPSE__EVENT_STOPPED,
                       "the node has handed over");
    return ELAPSE__SERVE_STOPPED;
}

static enum elapse__serve_end serve(struct elapse__cluster *cluster)
{
    struct elapse__service *service = &cluster->service;

    if (!elapse__cluster_check_options(cluster) || !elapse__service_read_files(service) ||
        !elapse__listeners_open(&service->loop) || !elapse__service_become_user(service) ||
        !elapse__service_open_ended(service) || !elapse__cluster_choose_address(cluster)) {
        (void)release(cluster);
        return ELAPSE__SERVE_REFUSED;
    }
    if (!elapse__cluster_read_queue(cluster)) { /* also which copies this node is to have */
        (void)release(cluster);
        return ELAPSE__SERVE_STOPPED;
    }
    if (!open_stores(cluster)) {
        (void)release(cluster);
        return cluster->is_refused ? ELAPSE__SERVE_REFUSED : ELAPSE__SERVE_FAILED;
    }
    service->loop.peers.base = event_base_new();
    if (service->loop.peers.base == NULL || !start(cluster)) {
        elapse__logger(elapse__cluster_logger(cluster), ELAPSE__LOGGER_ERROR,
                       ELAPSE__EVENT_STARTING, "the system refuses memory, threads or descriptors");
        (void)release(cluster);
        return ELAPSE__SERVE_FAILED;
    }
    return run(cluster);
}

/* Ends the errands. If an errand still waits for the database or for a name server, the process
 * ends without waiting. */
static void end_errands(struct elapse__cluster *cluster, enum elapse__serve_end end)
{
    bool has_ended = elapse__cluster_errand_stop(&cluster->inbox);

    has_ended = elapse__cluster_errand_stop(&cluster->nodes.errand) && has_ended;
    has_ended = elapse__cluster_errand_stop(&cluster->witnesses.errand) && has_ended;
    if (!elapse__cluster_errand_stop(&cluster->addresses) || !has_ended)
        elapse__os_end_process(end == ELAPSE__SERVE_STOPPED ? 0 : 1);
}

enum elapse__serve_end elapse__cluster_serve(const struct elapse__loop_options *options)
{
    struct elapse__cluster *cluster = calloc(1, sizeof *cluster);
    enum elapse__serve_end end = ELAPSE__SERVE_FAILED;

    ELAPSE__ASSERT_THAT(options->cluster_count, >, 0);
    if (cluster == NULL)
        return end;
    if (elapse__os_event_open(&cluster->event) == 0) {
        if (elapse__service_open(&cluster->service, options))
            end = serve(cluster);
        end_errands(cluster, end);
        free(cluster->partitions);
        elapse__cluster_nodes_free(cluster);
        elapse__cluster_witnesses_free(cluster);
        elapse__hosts_free(&cluster->hosts);
        (void)elapse__os_close(cluster->event);
    }
    free(cluster);
    return end;
}
