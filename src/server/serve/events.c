/*
 * Handles what happens while the server serves: signals, and work that recurs.
 */
#include "service.h"

#include <inttypes.h>

#include "../../base/assert.h"
#include "../../base/history.h"
#include "../../engine/store/now.h"
#include "../../os/sockets.h"
#include "../core/session.h"
#include "../loop/ended_log.h"
#include "../loop/tls.h"

#define NS_PER_MS     UINT64_C(1000000)
#define USAGE_CHECK_S 1

/* ---- signals ---- */

static void refuse_puts(struct elapse__loop *loop, void *argument)
{
    (void)argument;
    elapse__server_drain(loop->server);
}

/* A file that was read again, and takes the place of the one before. */
struct reloaded {
    struct elapse__tokens *place; /* or `users` */
    struct elapse__tokens tokens;
    struct elapse__users_file users;
};

/* Replaces passwords under the lock. The passwords before are in `argument` afterwards. */
static void use_tokens(struct elapse__loop *loop, void *argument)
{
    struct reloaded *reloaded = argument;
    struct elapse__tokens before = *reloaded->place;

    ELAPSE__ASSERT_THAT(reloaded->tokens.count, >, 0);
    if (loop->server != NULL && reloaded->place == &loop->tokens)
        elapse__server_set_passwords(loop->server, reloaded->tokens.texts, reloaded->tokens.count);
    *reloaded->place = reloaded->tokens;
    reloaded->tokens = before;
}

/* Replaces the table of users in its place, where the cores look. All cores run on this thread. */
static void use_users(struct elapse__loop *loop, void *argument)
{
    struct reloaded *reloaded = argument;
    struct elapse__users_file before = loop->users_file;

    ELAPSE__ASSERT_THAT(before.users.serial, <, reloaded->users.users.serial);
    loop->users_file = reloaded->users;
    reloaded->users = before;
}

static void say_unchanged(struct elapse__loop *loop, const char *what, const char *fault)
{
    elapse__logger(&loop->peers.logger, ELAPSE__LOGGER_ERROR, ELAPSE__EVENT_RELOADED,
                   "the %s stay as they are: %s", what, fault);
}

static void reload_tokens(struct elapse__loop *loop, const char *path, struct elapse__tokens *place,
                          const char *what)
{
    struct reloaded reloaded = {.place = place};
    char fault[ELAPSE__TOKENS_FAULT_BYTES];

    if (!elapse__tokens_read(path, &reloaded.tokens, fault)) {
        say_unchanged(loop, what, fault);
        return;
    }
    elapse__loop_with_core(loop, use_tokens, &reloaded);
    elapse__tokens_free(&reloaded.tokens);
    elapse__logger(&loop->peers.logger, ELAPSE__LOGGER_NOTICE, ELAPSE__EVENT_RELOADED, "%zu %s",
                   place->count, what);
}

static void reload_users(struct elapse__loop *loop)
{
    struct reloaded reloaded = {.place = NULL};
    char fault[ELAPSE__TOKENS_FAULT_BYTES];

    if (!elapse__users_file_read(loop->options->users, loop->users_file.users.serial + 1,
                                 &reloaded.users, fault)) {
        say_unchanged(loop, "users", fault);
        return;
    }
    elapse__loop_with_core(loop, use_users, &reloaded);
    elapse__users_file_free(&reloaded.users);
    elapse__logger(&loop->peers.logger, ELAPSE__LOGGER_NOTICE, ELAPSE__EVENT_RELOADED, "%zu users",
                   loop->users_file.users.count);
}

static void reload_keys(struct elapse__loop *loop)
{
    char fault[ELAPSE__TLS_FAULT_BYTES];
    struct elapse__tls_keys *keys =
        elapse__tls_keys_read(loop->options->tls_certificate, loop->options->tls_key, fault);

    if (keys == NULL) {
        elapse__logger(&loop->peers.logger, ELAPSE__LOGGER_ERROR, ELAPSE__EVENT_RELOADED,
                       "the certificate stays as it is: %s", fault);
        return;
    }
    elapse__tls_keys_free(loop->keys);
    loop->keys = keys;
    elapse__logger(&loop->peers.logger, ELAPSE__LOGGER_NOTICE, ELAPSE__EVENT_RELOADED,
                   "the certificate");
}

static void reload_trust(struct elapse__loop *loop)
{
    char fault[ELAPSE__TLS_FAULT_BYTES];
    struct elapse__tls_keys *trust =
        elapse__tls_trust_read(loop->options->node_ca, NULL, NULL, fault);

    if (trust == NULL) {
        elapse__logger(&loop->peers.logger, ELAPSE__LOGGER_ERROR, ELAPSE__EVENT_RELOADED,
                       "the certificates of --node-ca stay as they are: %s", fault);
        return;
    }
    elapse__tls_keys_free(loop->trust);
    loop->trust = trust;
    elapse__logger(&loop->peers.logger, ELAPSE__LOGGER_NOTICE, ELAPSE__EVENT_RELOADED,
                   "the certificates of --node-ca");
}

static void with_cores(struct elapse__service *service,
                       void (*call)(struct elapse__loop *loop, void *argument), void *argument)
{
    if (service->with_cores != NULL)
        service->with_cores(service, call, argument);
    else
        elapse__loop_with_core(&service->loop, call, argument);
}

static void take_signal(struct elapse__service *service, enum elapse__os_signal signal)
{
    struct elapse__loop *loop = &service->loop;

    ELAPSE__ASSERT(signal != ELAPSE__OS_NO_SIGNAL);
    switch (signal) {
    case ELAPSE__OS_HANG_UP:
        elapse__os_notify("RELOADING=1");
        if (loop->options->auth != NULL)
            reload_tokens(loop, loop->options->auth, &loop->tokens, "passwords");
        if (loop->options->node_password != NULL)
            reload_tokens(loop, loop->options->node_password, &loop->node_tokens,
                          "passwords of nodes");
        if (loop->options->users != NULL)
            reload_users(loop);
        if (loop->options->tls_certificate != NULL)
            reload_keys(loop);
        if (loop->options->node_ca != NULL)
            reload_trust(loop);
        elapse__os_notify("READY=1");
        break;
    case ELAPSE__OS_USER:
        loop->is_draining = true;
        with_cores(service, refuse_puts, NULL);
        elapse__logger(&loop->peers.logger, ELAPSE__LOGGER_NOTICE, ELAPSE__EVENT_REFUSING_PUTS,
                       "no jobs are taken any more");
        break;
    default:
        loop->peers.is_stopping = true;
        break;
    }
}

static void on_signal(evutil_socket_t file, short what, void *argument)
{
    struct elapse__service *service = argument;
    enum elapse__os_signal signal;

    (void)file;
    (void)what;
    while ((signal = elapse__os_signals_take(&service->signals)) != ELAPSE__OS_NO_SIGNAL)
        take_signal(service, signal);
}

/* ---- what recurs ---- */

static void tell_watchdog(struct elapse__service *service)
{
    (void)service;
    elapse__os_notify("WATCHDOG=1");
}

void elapse__service_count_files(struct elapse__loop *loop, void *argument)
{
    struct elapse__journal_figures figures;

    (void)argument;
    elapse__journal_figures(loop->store->engine.journal, &figures);
    ELAPSE__ASSERT_THAT(figures.tail, <=, figures.head + 1);
    /* The files of a queue in memory have no descriptors. */
    loop->peers.segments =
        loop->options->durability == ELAPSE__LOOP_MEMORY ? 0 : figures.head - figures.tail + 1;
}

/* Returns the bytes of a queue's files in memory. The system does not count them as memory of the
 * process. */
static uint64_t bytes_of_memory_files(const struct elapse__loop *loop)
{
    struct elapse__journal_figures figures;

    if (loop->options->durability != ELAPSE__LOOP_MEMORY)
        return 0;
    elapse__journal_figures(loop->store->engine.journal, &figures);
    return figures.log_bytes + figures.spare_bytes;
}

void elapse__service_say_guesses(struct elapse__logger *logger, struct elapse__guesses *guesses)
{
    uint64_t place;
    uint32_t count;

    while (elapse__guesses_take(guesses, &place, &count))
        elapse__logger(logger, ELAPSE__LOGGER_WARNING, ELAPSE__EVENT_PASSWORD,
                       "%" PRIu32 " wrong passwords from %s", count,
                       elapse__os_place_text(place).text);
}

void elapse__service_say_old_names(struct elapse__logger *logger, struct elapse__guesses *names)
{
    uint64_t place;
    uint32_t count;

    while (elapse__guesses_take(names, &place, &count))
        elapse__logger(logger, ELAPSE__LOGGER_WARNING, ELAPSE__EVENT_OLD_NAME,
                       "%" PRIu32 " connections from %s put with RETRY: its name is ATTEMPTS, and "
                       "the next minor version knows RETRY no more",
                       count, elapse__os_place_text(place).text);
}

static void say_usage(struct elapse__loop *loop, void *argument)
{
    uint64_t user_us;
    uint64_t system_us;

    elapse__os_processor_time(&user_us, &system_us);
    elapse__server_set_usage(loop->server, user_us, system_us);
    elapse__server_set_memory(loop->server,
                              elapse__os_memory_bytes() + bytes_of_memory_files(loop));
    elapse__service_say_guesses(&loop->peers.logger, elapse__server_guesses(loop->server));
    elapse__service_say_old_names(&loop->peers.logger, elapse__server_old_names(loop->server));
    elapse__service_count_files(loop, argument);
}

static void say_dropped(struct elapse__service *service)
{
    struct elapse__loop *loop = &service->loop;
    struct elapse__ended_figures figures;

    if (loop->ended_log == NULL)
        return;
    elapse__ended_log_figures(loop->ended_log, &figures);
    if (figures.dropped > service->ended_dropped)
        elapse__logger(&loop->peers.logger, ELAPSE__LOGGER_WARNING, ELAPSE__EVENT_ENDED,
                       "%s: %" PRIu64 " lines were dropped: %s", loop->options->ended,
                       figures.dropped - service->ended_dropped,
                       figures.error != 0 ? elapse__os_error_text(figures.error)
                                          : "jobs end faster than the lines are written");
    service->ended_dropped = figures.dropped;
}

static void add_to_sample(struct elapse__loop *loop, void *argument)
{
    elapse__server_sample(loop->server, elapse__store_now(), argument);
}

/* Takes a sample of all cores when a minute is over. */
static void keep_history(struct elapse__service *service)
{
    struct elapse__queue_now now = elapse__store_now();
    struct elapse__history_sample sample = {.put = 0};

    if (!elapse__history_is_due(&service->history, now.boot_ms))
        return;
    with_cores(service, add_to_sample, &sample);
    elapse__history_add(&service->history, &sample, now.wall_ms, now.boot_ms);
}

static void check_usage(struct elapse__service *service)
{
    say_dropped(service);
    with_cores(service, say_usage, NULL);
    keep_history(service);
}

static void set_next(const struct elapse__recurring *recurring)
{
    uint64_t now_ns = elapse__os->clock_ns(ELAPSE__OS_MONOTONIC);

    ELAPSE__ASSERT_THAT(recurring->interval_ns, >, 0);
    (void)elapse__os->alarm_set(&recurring->alarm, now_ns + recurring->interval_ns);
}

static void on_recurring(evutil_socket_t file, short what, void *argument)
{
    const struct elapse__recurring *recurring = argument;

    (void)file;
    (void)what;
    elapse__os->alarm_reset(&recurring->alarm);
    set_next(recurring);
    recurring->call(recurring->service);
}

/* Makes what `begin` needs. Returns false if the system refuses. */
static bool make(struct elapse__service *service, struct elapse__recurring *recurring,
                 void (*call)(struct elapse__service *service))
{
    ELAPSE__ASSERT(recurring->event == NULL);
    *recurring = (struct elapse__recurring){.call = call, .service = service};
    if (elapse__os->alarm_open(&recurring->alarm, ELAPSE__OS_MONOTONIC) != 0)
        return false;
    recurring->event = elapse__loop_event(service->loop.peers.base, recurring->alarm.descriptor,
                                          EV_READ | EV_PERSIST, NULL, on_recurring, recurring);
    if (recurring->event == NULL)
        elapse__os->alarm_close(&recurring->alarm);
    return recurring->event != NULL;
}

/* Does the work at this interval from now on. */
static void begin(struct elapse__recurring *recurring, uint64_t interval_ns)
{
    ELAPSE__ASSERT(recurring->event != NULL);
    recurring->interval_ns = interval_ns;
    set_next(recurring);
}

static void end(struct elapse__recurring *recurring)
{
    if (recurring->event == NULL)
        return;
    elapse__loop_event_free(recurring->event);
    elapse__os->alarm_close(&recurring->alarm);
    recurring->event = NULL;
}

/* The loop looks at the time after each round, so waking it is enough. */
static void look_at_time(struct elapse__service *service)
{
    (void)service;
}

void elapse__service_tick(struct elapse__service *service, uint64_t interval_ns)
{
    begin(&service->tick, interval_ns);
}

void elapse__service_end_events(struct elapse__service *service)
{
    elapse__loop_event_free(service->on_signal);
    end(&service->watchdog);
    end(&service->usage_check);
    end(&service->tick);
}

bool elapse__service_start_events(struct elapse__service *service)
{
    uint64_t watchdog_ns = elapse__os_watchdog_ns();

    ELAPSE__ASSERT(service->on_signal == NULL && service->usage_check.event == NULL);
    service->on_signal = elapse__loop_event(service->loop.peers.base, service->signals.file,
                                            EV_READ | EV_PERSIST, NULL, on_signal, service);
    if (service->on_signal == NULL)
        return false;
    if (!make(service, &service->usage_check, check_usage) ||
        !make(service, &service->tick, look_at_time) ||
        (watchdog_ns > 0 && !make(service, &service->watchdog, tell_watchdog)))
        return false;
    begin(&service->usage_check, USAGE_CHECK_S * 1000 * NS_PER_MS);
    if (watchdog_ns > 0)
        begin(&service->watchdog, watchdog_ns / 2);
    return true;
}
