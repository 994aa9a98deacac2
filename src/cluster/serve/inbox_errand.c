/*
 * Asks the database for the facts of the queue when the node starts. Has the main function of a
 * thread that asks later whether there is an inbox.
 *
 * The inbox may be installed at any time. A database that was restored or promoted may have lost
 * the inbox, or the entry of the queue in it. So the thread asks again and again. It asks a server
 * that takes writes, because the answer of a standby may be old.
 */
#include <stdio.h>
#include <string.h>

#include "../../base/assert.h"
#include "base.h"

enum { LOOKS_A_ROUND = 9 }; /* looks for signals between two rounds; each look takes 100 ms */

#define NS_PER_S    UINT64_C(1000000000)
#define SOON_NS     (2 * NS_PER_S)  /* the pause if no server that takes writes has answered */
#define NO_INBOX_NS (10 * NS_PER_S) /* the pause if there is no inbox */
#define INBOX_NS    (60 * NS_PER_S)

/* ---- the queue ---- */

/* Logs why a host does not help. Does nothing if the last line for this host had the same
 * reason. */
static void tell(struct elapse__cluster *cluster, unsigned host,
                 const struct elapse__schema_why *why, struct elapse__schema_why *told)
{
    if (strcmp(why->text, told->text) != 0)
        elapse__logger(elapse__cluster_logger(cluster), ELAPSE__LOGGER_WARNING,
                       ELAPSE__EVENT_CLUSTER, "waiting for the database: server %u of %u: %s",
                       host + 1, cluster->hosts.count, why->text);
    *told = *why;
}

/* A question to one server of the database, and the answer. */
struct question {
    struct elapse__cluster *cluster;
    unsigned host;
    struct elapse__schema_why why;
    bool is_answered;
};

static void ask(void *context, uint32_t number)
{
    struct question *question = context;
    struct elapse__cluster *cluster = question->cluster;

    (void)number;
    question->is_answered = elapse__schema_read(cluster->hosts.texts[question->host],
                                                elapse__cluster_options(cluster)->queue,
                                                &cluster->queue, &question->why) &&
                            elapse__cluster_read_lists(cluster, question->host, &question->why);
}

bool elapse__cluster_read_queue(struct elapse__cluster *cluster)
{
    struct elapse__schema_why told[ELAPSE__HOSTS_MAX];
    char status[ELAPSE__SCHEMA_WHY_BYTES + 64];

    ELAPSE__ASSERT_THAT(cluster->hosts.count, >, 0);
    ELAPSE__ASSERT_THAT(cluster->partition_count, ==, 0);
    memset(told, 0, sizeof told);
    for (;;) {
        for (unsigned i = 0; i < cluster->hosts.count; i++) {
            struct question question = {.cluster = cluster, .host = i};
            elapse__cluster_begin(cluster, ask, &question);
            if (question.is_answered)
                return true;
            tell(cluster, i, &question.why, &told[i]);
            (void)snprintf(status, sizeof status, "STATUS=waiting for the database: %s",
                           question.why.text);
            elapse__os_notify(status);
            if (elapse__service_is_asked_to_end(&cluster->service))
                return false;
        }
        for (unsigned i = 0; i < LOOKS_A_ROUND; i++)
            if (elapse__service_is_asked_to_end(&cluster->service))
                return false;
    }
}

/* ---- the inbox ---- */

enum found { FOUND_NOTHING, FOUND_NONE, FOUND_INBOX, FOUND_CLOSED };

static enum found look(struct elapse__cluster *cluster, struct elapse__schema_why *why)
{
    const struct elapse__loop_options *options = elapse__cluster_options(cluster);
    const uint32_t body_bytes_max = options->body_bytes_max > 0
                                        ? (uint32_t)options->body_bytes_max
                                        : (uint32_t)ELAPSE__SERVER_BODY_BYTES;

    ELAPSE__ASSERT_NO_LOCK_HELD();
    ELAPSE__ASSERT_THAT(body_bytes_max, >, 0);
    for (unsigned i = 0; i < cluster->hosts.count && !atomic_load(&cluster->is_stopping); i++) {
        bool has_inbox = false;
        bool is_open = elapse__schema_open_inbox(cluster->hosts.texts[i], options->queue,
                                                 &cluster->queue, body_bytes_max, &has_inbox, why);
        if (is_open)
            return has_inbox ? FOUND_INBOX : FOUND_NONE;
        if (has_inbox)
            return FOUND_CLOSED;
    }
    return FOUND_NOTHING;
}

/* Notes whether there is an inbox. Leaves a line for the log if it differs from the last line. */
static void note(struct elapse__cluster *cluster, enum found found,
                 const struct elapse__schema_why *why)
{
    const enum elapse__logger_level level =
        found == FOUND_CLOSED ? ELAPSE__LOGGER_WARNING : ELAPSE__LOGGER_NOTICE;
    struct elapse__cluster_errand *errand = &cluster->inbox;
    char text[sizeof errand->notice.text];

    ELAPSE__ASSERT_THAT(found, !=, FOUND_NOTHING);
    if (found == FOUND_CLOSED) {
        (void)snprintf(text, sizeof text, "the queue could not be entered into the inbox: %s",
                       why->text);
    } else {
        (void)snprintf(text, sizeof text, "%s",
                       found == FOUND_INBOX ? "the database has an inbox: its rows become jobs"
                                            : "the database has no inbox");
    }
    atomic_store(&cluster->has_inbox, found != FOUND_NONE); /* the notice has partitions poll */
    elapse__lock(&errand->monitor.lock);
    if (strcmp(text, errand->notice.text) != 0)
        elapse__cluster_errand_note(cluster, errand, level, text);
    elapse__unlock(&errand->monitor.lock);
}

static uint64_t pause_ns(enum found found)
{
    switch (found) {
    case FOUND_INBOX:
        return INBOX_NS;
    case FOUND_NOTHING:
        return SOON_NS;
    default:
        return NO_INBOX_NS;
    }
}

void *elapse__cluster_errand_inbox(void *argument)
{
    struct elapse__cluster *cluster = argument;
    struct elapse__cluster_errand *errand = &cluster->inbox;

    elapse__os_thread_name("elapse-inbox");
    elapse__lock(&errand->monitor.lock);
    ELAPSE__ASSERT_LOCK_HELD(&errand->monitor.lock);
    while (!errand->stops) {
        struct elapse__schema_why why = {.text = ""};
        elapse__unlock(&errand->monitor.lock);
        enum found found = look(cluster, &why);
        if (found != FOUND_NOTHING)
            note(cluster, found, &why);
        uint64_t again_ns = elapse__os_monotonic_ns() + pause_ns(found);
        elapse__lock(&errand->monitor.lock);
        elapse__cluster_errand_rest(errand, again_ns);
    }
    elapse__cluster_errand_end(errand);
    elapse__unlock(&errand->monitor.lock);
    return NULL;
}

void elapse__cluster_errand_inbox_look(struct elapse__cluster *cluster)
{
    if (!cluster->inbox.is_running || !elapse__cluster_errand_log(cluster, &cluster->inbox))
        return;
    for (uint32_t i = 0; i < cluster->partition_count; i++)
        if (cluster->partitions[i].runner != NULL)
            elapse__runner_wake(cluster->partitions[i].runner);
}
