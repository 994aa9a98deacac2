/*
 * Starts the server, serves until it is asked to stop, and stops it.
 *
 *      read files, listen --> become the user --> open the store --> start the core
 *      --> serve until SIGTERM or SIGINT --> stop
 *
 * To stop, the server takes no connection and no byte any more. What ran becomes durable, and for a
 * while its replies are sent. Leases that end with their connection end. Everything is made
 * durable.
 */
#include "serve.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <elapse/version.h>

#include "../../base/assert.h"
#include "../../os/test_clock.h"
#include "../core/session.h"
#include "../http/http.h"
#include "../loop/ended_log.h"
#include "hints.h"
#include "listeners.h"
#include "service.h"

#define NS_PER_MS      UINT64_C(1000000)
#define FLUSH_NS       (500 * NS_PER_MS) /* how long replies may take to leave when the server stops */
#define END_NS         (700 * NS_PER_MS) /* how long the ends of connections may take after that */
#define TICK_NS        (10 * NS_PER_MS)
#define CLOCK_CHECK_NS (100 * NS_PER_MS)
#define DAY_MS         INT64_C(86400000)

#define TAKEN_SIGNALS                                                              \
    (ELAPSE__OS_BIT(ELAPSE__OS_TERMINATE) | ELAPSE__OS_BIT(ELAPSE__OS_INTERRUPT) | \
     ELAPSE__OS_BIT(ELAPSE__OS_HANG_UP) | ELAPSE__OS_BIT(ELAPSE__OS_USER))

static struct elapse__logger *logger_of(struct elapse__service *service)
{
    return &service->loop.peers.logger;
}

/* ---- the wall clock at the start ---- */

bool elapse__service_is_asked_to_end(struct elapse__service *service)
{
    struct elapse__os_watch watch = {.file = service->signals.file, .for_data = true};
    enum elapse__os_signal signal;

    (void)elapse__os_wait(&watch, 1, CLOCK_CHECK_NS);
    while ((signal = elapse__os_signals_take(&service->signals)) != ELAPSE__OS_NO_SIGNAL)
        if (signal == ELAPSE__OS_TERMINATE || signal == ELAPSE__OS_INTERRUPT)
            return true;
    return false;
}

/* Waits while the wall clock is before the last time that this queue wrote: such a clock is wrong,
 * and a delay would be waited for twice. A clock that is far ahead may be wrong too, but nobody can
 * tell. Returns false if a signal asks to end. */
static bool may_begin(void *context, int64_t header_wall_ms)
{
    struct elapse__service *service = context;
    int64_t now_ms = (int64_t)(elapse__os_wall_clock_ns() / NS_PER_MS);

    if (header_wall_ms > 0 && now_ms - header_wall_ms > DAY_MS)
        elapse__logger(logger_of(service), ELAPSE__LOGGER_WARNING, ELAPSE__EVENT_CLOCK,
                       "the wall clock is %" PRId64 " hours after the last start or file of this "
                       "queue; if it is wrong, jobs become due too early",
                       (now_ms - header_wall_ms) / (DAY_MS / 24));
    while (now_ms < header_wall_ms) {
        if (!service->has_waited_for_clock)
            elapse__logger(logger_of(service), ELAPSE__LOGGER_WARNING, ELAPSE__EVENT_CLOCK,
                           "the wall clock is %" PRId64 " seconds before the last time that this "
                           "queue wrote; waiting until it is right",
                           (header_wall_ms - now_ms) / 1000 + 1);
        service->has_waited_for_clock = true;
        elapse__os_notify("STATUS=waiting until the wall clock is right");
        if (elapse__service_is_asked_to_end(service))
            return false;
        now_ms = (int64_t)(elapse__os_wall_clock_ns() / NS_PER_MS);
    }
    return true;
}

/* ---- start ---- */

/* Puts the option that names a file in front of what is wrong with the file. Returns false. */
static bool blame(char fault[ELAPSE__TOKENS_FAULT_BYTES], const char *option)
{
    char text[ELAPSE__TOKENS_FAULT_BYTES];

    memcpy(text, fault, sizeof text);
    (void)snprintf(fault, ELAPSE__TOKENS_FAULT_BYTES, "%s: %.*s", option,
                   (int)(ELAPSE__TOKENS_FAULT_BYTES - 20), text);
    return false;
}

/* Reads the files of passwords and of users. */
static bool read_keys(struct elapse__loop *loop, char fault[ELAPSE__TOKENS_FAULT_BYTES])
{
    const struct elapse__loop_options *options = loop->options;
    const char *name = options->beanstalkd_user;

    if (options->auth != NULL && !elapse__tokens_read(options->auth, &loop->tokens, fault))
        return blame(fault, "--auth");
    if (options->node_password != NULL &&
        !elapse__tokens_read(options->node_password, &loop->node_tokens, fault))
        return blame(fault, "--node-password");
    if (options->users == NULL)
        return true;
    if (!elapse__users_file_read(options->users, 1, &loop->users_file, fault))
        return blame(fault, "--users");
    if (name == NULL || strcmp(name, "default") == 0 ||
        elapse__users_named(&loop->users_file.users, name, strlen(name)) != NULL)
        return true;
    (void)snprintf(fault, ELAPSE__TOKENS_FAULT_BYTES,
                   "--beanstalkd-user %.40s: %.120s has no such "
                   "user",
                   name, options->users);
    return false;
}

static bool read_certificate(struct elapse__loop *loop, char fault[ELAPSE__TLS_FAULT_BYTES])
{
    const struct elapse__loop_options *options = loop->options;

    ELAPSE__ASSERT((options->tls_certificate == NULL) == (options->tls_key == NULL));
    if (options->tls_certificate == NULL)
        return true;
    loop->keys = elapse__tls_keys_read(options->tls_certificate, options->tls_key, fault);
    return loop->keys != NULL;
}

static bool read_trust(struct elapse__loop *loop, char fault[ELAPSE__TLS_FAULT_BYTES])
{
    ELAPSE__ASSERT(loop->trust == NULL);
    if (loop->options->node_ca == NULL)
        return true;
    loop->trust = elapse__tls_trust_read(loop->options->node_ca, NULL, NULL, fault);
    return loop->trust != NULL;
}

bool elapse__service_read_files(struct elapse__service *service)
{
    struct elapse__loop *loop = &service->loop;
    char fault[ELAPSE__TLS_FAULT_BYTES];

    _Static_assert((int)ELAPSE__TOKENS_FAULT_BYTES <= (int)ELAPSE__TLS_FAULT_BYTES,
                   "any fault fits");
    ELAPSE__ASSERT(loop->keys == NULL && loop->tokens.count == 0);
    if (read_keys(loop, fault) && read_certificate(loop, fault) && read_trust(loop, fault))
        return true;
    elapse__logger(&loop->peers.logger, ELAPSE__LOGGER_ERROR, ELAPSE__EVENT_OPTION, "%s", fault);
    return false;
}

bool elapse__service_become_user(struct elapse__service *service)
{
    const char *user = service->loop.options->user;
    int error = user == NULL ? 0 : elapse__os_become_user(user);

    if (error != 0)
        elapse__logger(logger_of(service), ELAPSE__LOGGER_ERROR, ELAPSE__EVENT_OPTION,
                       "user %s: %s", user, elapse__os_error_text(error));
    return error == 0;
}

bool elapse__service_open_ended(struct elapse__service *service)
{
    struct elapse__loop *loop = &service->loop;
    const struct elapse__loop_options *options = loop->options;
    int error = 0;

    if (options->ended == NULL)
        return true;
    loop->ended_log = elapse__ended_log_open(options->ended, options->ended_bytes_max, &error);
    if (loop->ended_log == NULL)
        elapse__logger(logger_of(service), ELAPSE__LOGGER_ERROR, ELAPSE__EVENT_OPTION,
                       "--ended %s: %s", options->ended, elapse__os_error_text(error));
    return loop->ended_log != NULL;
}

bool elapse__service_wants_http(const struct elapse__loop *loop)
{
    for (size_t i = 0; i < loop->listener_count; i++)
        if (loop->listeners[i]->is_http)
            return true;
    return false;
}

struct elapse_queue_options
elapse__service_queue_options(const struct elapse__loop_options *options)
{
    struct elapse_queue_options queue;

    elapse_queue_options_init(&queue);
    if (options->durability == ELAPSE__LOOP_INTERVAL) {
        queue.durability = ELAPSE_DURABILITY_INTERVAL;
        queue.interval_ms = (uint32_t)options->interval_ms;
    } else if (options->durability == ELAPSE__LOOP_MEMORY) {
        queue.durability = ELAPSE_DURABILITY_MEMORY;
    }
    ELAPSE__ASSERT_THAT(options->segment_bits, <, 32);
    ELAPSE__ASSERT_THAT(options->interval_ms, <=, UINT32_MAX);
    queue.segment_bytes = UINT32_C(1) << options->segment_bits;
    if (options->body_bytes_max > 0)
        queue.body_bytes_max = (uint32_t)options->body_bytes_max;
    if (options->jobs_max > 0)
        queue.jobs_max = (uint32_t)options->jobs_max;
    if (options->tubes_max > 0)
        queue.tubes_max = (uint32_t)options->tubes_max;
    if (options->groups_max > 0)
        queue.groups_max = (uint32_t)options->groups_max;
    return queue;
}

static enum elapse_error open_store(struct elapse__service *service)
{
    const struct elapse__loop_options *options = service->loop.options;
    const struct elapse__store_wishes wishes = {
        .context = service,
        .may_begin = may_begin,
        .turns_itself = true,
        .foresees = elapse__service_wants_http(&service->loop),
    };
    const struct elapse_queue_options queue = elapse__service_queue_options(options);
    struct elapse_queue_fault fault;

    ELAPSE__ASSERT(service->loop.store == NULL && service->loop.peers.base == NULL);
    enum elapse_error error =
        elapse__store_open(options->directory, &queue, &wishes, &service->loop.store, &fault);
    if (error != ELAPSE_OK && error != ELAPSE_ERROR_CLOSED)
        elapse__logger(logger_of(service), ELAPSE__LOGGER_ERROR, ELAPSE__EVENT_STORE, "%s",
                       fault.text);
    return error;
}

void elapse__service_know_machine(struct elapse__service *service)
{
    uint64_t number = 0;

    (void)elapse__os->random_bytes(&number, sizeof number);
    (void)snprintf(service->instance, sizeof service->instance, "%016" PRIx64, number);
    elapse__os_host_name(service->host, sizeof service->host);
    elapse__os_kernel(service->kernel, sizeof service->kernel);
    elapse__os_platform(service->platform, sizeof service->platform);
}

bool elapse__service_make_core(struct elapse__service *service, struct elapse__loop *loop)
{
    const struct elapse__loop_options *options = loop->options;

    ELAPSE__ASSERT(loop->server == NULL && loop->store != NULL);
    ELAPSE__ASSERT_THAT(strlen(service->instance), ==, sizeof service->instance - 1);
    ELAPSE__ASSERT(options->auth != NULL || loop->tokens.count == 0);
    bool is_default =
        options->beanstalkd_user != NULL && strcmp(options->beanstalkd_user, "default") == 0;
    const struct elapse__keys keys = elapse__loop_keys(&service->loop);
    bool is_behind_router = loop != &service->loop;
    struct elapse__server_options core = {
        .engine = &loop->store->engine,
        .beanstalkd = elapse__loop_speaks_beanstalkd(options) ? &elapse__beanstalkd : NULL,
        .beanstalkd_user = is_default ? NULL : options->beanstalkd_user,
        .resp = &elapse__resp,
        .address = elapse__peer_address,
        .advance_clock = options->test_clock ? elapse__test_clock_advance : NULL,
        .keys = is_behind_router ? (struct elapse__keys){.users = keys.users} : keys,
        .is_behind_router = is_behind_router,
        .history = is_behind_router ? NULL : &service->history,
        .body_bytes_max = (uint32_t)options->body_bytes_max,
        .connections_max = (uint32_t)options->connections_max,
        .output_bytes_max = (uint32_t)options->output_bytes_max,
        .idle_ms = (uint32_t)(options->idle_ns / NS_PER_MS),
        .tube_jobs_max = options->tube_jobs_max,
        .tube_bytes_max = options->tube_bytes_max,
        .memory_bytes_max = options->memory_bytes_max,
        .version = elapse_version(),
        .host = service->host,
        .os = service->kernel,
        .platform = service->platform,
        .instance = service->instance,
        .process_id = elapse__os_process_id(),
        .binlog_bytes_max = UINT64_C(1) << options->segment_bits,
    };
    elapse__store_arrive(loop->store);
    loop->server = elapse__server_new(&core, elapse__store_now());
    if (loop->server != NULL && service->loop.is_draining)
        elapse__server_drain(loop->server);
    struct elapse__ended_log *log = service->loop.ended_log;
    if (loop->server != NULL && log != NULL)
        loop->ended = elapse__ended_source_open(log, loop->store);
    elapse__store_depart(loop->store);
    return loop->server != NULL && (log == NULL || loop->ended != NULL);
}

/* Starts everything that needs the open store. */
static bool start(struct elapse__service *service)
{
    struct elapse__loop *loop = &service->loop;

    ELAPSE__ASSERT_THAT(loop->listener_count, >, 0);
    ELAPSE__ASSERT(loop->http == NULL && loop->reader == NULL);
    loop->alarm.descriptor = ELAPSE__OS_NO_DESCRIPTOR;
    elapse__service_know_machine(service);
    if (!elapse__service_make_core(service, loop))
        return false;
    elapse__loop_with_core(loop, elapse__service_count_files, NULL);
    if (elapse__service_wants_http(loop) && (loop->http = elapse__http_open(loop)) == NULL)
        return false;
    loop->body_thread = elapse__body_thread_start();
    if (loop->body_thread == NULL)
        return false;
    loop->reader = elapse__body_reader_open(loop->body_thread, loop->store->engine.journal);
    if (loop->reader == NULL || elapse__os->alarm_open(&loop->alarm, ELAPSE__OS_BOOTTIME) != 0)
        return false;
    return elapse__loop_open(loop) && elapse__service_start_events(service) &&
           elapse__listeners_start(loop);
}

/* ---- serve and stop ---- */

/* Waits for events, and does turns, until `ends` returns true, the store is broken, or `until_ns`
 * by the monotonic clock has come. */
static void serve_until(struct elapse__loop *loop, bool (*ends)(struct elapse__loop *loop),
                        uint64_t until_ns)
{
    bool more = true;

    /* A server that stops also does the rest of its last turn, which closes connections. */
    while (!loop->is_broken && (!ends(loop) || (more && until_ns != UINT64_MAX)) &&
           (until_ns == UINT64_MAX || elapse__os_monotonic_ns() < until_ns)) {
        (void)event_base_loop(loop->peers.base, EVLOOP_ONCE | (more ? EVLOOP_NONBLOCK : 0));
        more = elapse__loop_turn(loop);
    }
}

static bool is_asked_to_stop(struct elapse__loop *loop)
{
    return loop->peers.is_stopping;
}

static void look_if_quiet(struct elapse__loop *loop, void *argument)
{
    *(bool *)argument = elapse__server_is_quiet(loop->server);
}

static bool is_quiet(struct elapse__loop *loop)
{
    bool quiet = false;

    elapse__loop_with_core(loop, look_if_quiet, &quiet);
    return quiet;
}

static bool has_no_peer(struct elapse__loop *loop)
{
    return elapse__ring_empty(&loop->peers.rings[ELAPSE__PEER_ALL]) &&
           elapse__body_reader_count(loop->reader) == 0 && elapse__http_is_idle(loop->http);
}

static void stop_core(struct elapse__loop *loop, void *argument)
{
    (void)argument;
    elapse__server_stop(loop->server);
}

static void stop_serving(struct elapse__service *service)
{
    struct elapse__loop *loop = &service->loop;
    uint64_t now_ns = elapse__os_monotonic_ns();

    ELAPSE__ASSERT(loop->peers.is_stopping && !loop->is_broken);
    elapse__service_tick(service, TICK_NS);
    elapse__os_notify("STOPPING=1");
    elapse__logger(&loop->peers.logger, ELAPSE__LOGGER_NOTICE, ELAPSE__EVENT_STOPPING,
                   "no connection is taken any more");
    elapse__listeners_close(loop);
    ELAPSE__ASSERT_THAT(loop->listener_count, ==, 0);
    elapse__loop_with_core(loop, stop_core, NULL);
    serve_until(loop, is_quiet, now_ns + FLUSH_NS);
    struct elapse__ring_node *ring = &loop->peers.rings[ELAPSE__PEER_ALL];
    for (struct elapse__ring_node *i = ring->next; i != ring; i = i->next)
        elapse__peer_enter(elapse__peer_at(i), ELAPSE__PEER_ENDING);
    serve_until(loop, has_no_peer, now_ns + END_NS);
}

/* ---- the end ---- */

void elapse__service_close(struct elapse__service *service)
{
    struct elapse__loop *loop = &service->loop;

    if (loop->ended_log != NULL)
        elapse__ended_log_close(loop->ended_log);
    elapse__service_end_events(service);
    if (loop->peers.base != NULL)
        event_base_free(loop->peers.base);
    elapse__tls_keys_free(loop->keys);
    elapse__tls_keys_free(loop->trust);
    elapse__tokens_free(&loop->tokens);
    elapse__tokens_free(&loop->node_tokens);
    elapse__users_file_free(&loop->users_file);
    elapse__os_signals_close(&service->signals);
}

/* Frees the core, which ends the leases that are left. Requires that the store's threads still
 * work. */
static void free_core(struct elapse__loop *loop, void *argument)
{
    (void)argument;
    elapse__server_free(loop->server);
    loop->server = NULL;
}

/* Releases everything. Returns false if not everything became durable. */
static bool release(struct elapse__service *service)
{
    struct elapse__loop *loop = &service->loop;

    elapse__listeners_close(loop);
    if (loop->server != NULL) {
        if (loop->reader != NULL)
            elapse__body_reader_close(loop->reader);
        if (loop->body_thread != NULL)
            elapse__body_thread_stop(loop->body_thread);
        elapse__loop_close(loop);
        elapse__http_close(loop->http);
        if (loop->ended != NULL)
            elapse__ended_source_close(loop->ended, true);
        elapse__loop_with_core(loop, free_core, NULL);
        if (loop->alarm.descriptor != ELAPSE__OS_NO_DESCRIPTOR)
            elapse__os->alarm_close(&loop->alarm);
    }
    ELAPSE__ASSERT_THAT(loop->peers.count, ==, 0);
    ELAPSE__ASSERT(loop->server == NULL && loop->accept_again == NULL);
    bool is_durable = elapse_queue_close(loop->store) == ELAPSE_OK;
    elapse__service_close(service);
    return is_durable;
}

/* Ends after the disk has refused bytes. Nothing is acknowledged any more. The next start reads
 * what the disk has. */
static enum elapse__serve_end end_broken(struct elapse__service *service)
{
    struct elapse__loop *loop = &service->loop;

    elapse__store_arrive(loop->store);
    int error = elapse__journal_error(loop->store->engine.journal);
    ELAPSE__ASSERT(loop->is_broken);
    elapse__store_depart(loop->store);
    elapse__logger(
        &loop->peers.logger, ELAPSE__LOGGER_ERROR, ELAPSE__EVENT_STORE,
        "%s: writing or syncing failed: %s; the server ends, because nobody knows what the "
        "disk has",
        loop->options->directory, elapse__os_error_text(error));
    (void)release(service);
    return ELAPSE__SERVE_FAILED;
}

static enum elapse__serve_end run(struct elapse__service *service)
{
    struct elapse__loop *loop = &service->loop;

    ELAPSE__ASSERT((loop->http != NULL) == elapse__service_wants_http(loop));
    ELAPSE__ASSERT(loop->accept_again != NULL && service->on_signal != NULL);
    elapse__logger(&loop->peers.logger, ELAPSE__LOGGER_NOTICE, ELAPSE__EVENT_READY,
                   "elapse %s, process %" PRIu64, elapse_version(), elapse__os_process_id());
    elapse__hints_write(loop);
    elapse__os_notify("READY=1");
    serve_until(loop, is_asked_to_stop, UINT64_MAX);
    if (!loop->is_broken)
        stop_serving(service);
    if (loop->is_broken)
        return end_broken(service);
    struct elapse__logger logger = loop->peers.logger;
    if (!release(service)) {
        elapse__logger(&logger, ELAPSE__LOGGER_ERROR, ELAPSE__EVENT_STORE,
                       "not everything became durable: writing or syncing failed");
        return ELAPSE__SERVE_FAILED;
    }
    elapse__logger(&logger, ELAPSE__LOGGER_NOTICE, ELAPSE__EVENT_STOPPED, "everything is durable");
    return ELAPSE__SERVE_STOPPED;
}

static enum elapse__serve_end serve(struct elapse__service *service)
{
    struct elapse__loop *loop = &service->loop;

    if (!elapse__service_read_files(service) || !elapse__listeners_open(loop) ||
        !elapse__service_become_user(service) || !elapse__service_open_ended(service)) {
        (void)release(service);
        return ELAPSE__SERVE_REFUSED;
    }
    enum elapse_error error = open_store(service);
    if (error != ELAPSE_OK) {
        (void)release(service);
        return error == ELAPSE_ERROR_CLOSED   ? ELAPSE__SERVE_STOPPED
               : error == ELAPSE_ERROR_IN_USE ? ELAPSE__SERVE_REFUSED
                                              : ELAPSE__SERVE_FAILED;
    }
    loop->peers.base = elapse__loop_event_base();
    if (loop->peers.base == NULL || !start(service)) {
        elapse__logger(&loop->peers.logger, ELAPSE__LOGGER_ERROR, ELAPSE__EVENT_STARTING,
                       "the system refuses memory, threads or descriptors");
        (void)release(service);
        return ELAPSE__SERVE_FAILED;
    }
    return run(service);
}

bool elapse__service_open(struct elapse__service *service,
                          const struct elapse__loop_options *options)
{
    struct elapse__peers *peers = &service->loop.peers;

    ELAPSE__ASSERT(service->loop.options == NULL);
    service->loop.options = options;
    for (unsigned i = 0; i < ELAPSE__PEER_RINGS; i++)
        elapse__ring_init(&peers->rings[i]);
    peers->logger = (struct elapse__logger){
        .json = options->log_json,
        .most = options->verbose ? ELAPSE__LOGGER_DEBUG : ELAPSE__LOGGER_NOTICE,
    };
    (void)elapse__os_broken_pipe_ends(false);
    peers->files = elapse__os_raise_file_limit();
    ELAPSE__ASSERT_THAT(peers->files, >, 0);
    int error = elapse__os_signals_open(&service->signals, TAKEN_SIGNALS);
    if (error != 0)
        elapse__logger(&peers->logger, ELAPSE__LOGGER_ERROR, ELAPSE__EVENT_STARTING, "signals: %s",
                       elapse__os_error_text(error));
    return error == 0;
}

enum elapse__serve_end elapse__serve(const struct elapse__loop_options *options)
{
    struct elapse__service *service = calloc(1, sizeof *service);
    enum elapse__serve_end end = ELAPSE__SERVE_FAILED;

    if (service == NULL)
        return ELAPSE__SERVE_FAILED;
    ELAPSE__ASSERT(!options->test_clock || options->durability == ELAPSE__LOOP_MEMORY);
    if (options->test_clock)
        elapse__test_clock_begin();
    if (elapse__service_open(service, options))
        end = serve(service);
    free(service);
    return end;
}
