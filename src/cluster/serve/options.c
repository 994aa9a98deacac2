/*
 * Checks the options of a node. Chooses the address and the name that it gives to other nodes.
 */
#include <stdio.h>
#include <string.h>

#include "../../base/assert.h"
#include "../postgres/names.h"
#include "base.h"

static bool refuse(struct elapse__cluster *cluster, const char *what, const char *why)
{
    elapse__logger(elapse__cluster_logger(cluster), ELAPSE__LOGGER_ERROR, ELAPSE__EVENT_OPTION,
                   "%s: %s", what, why);
    return false;
}

bool elapse__cluster_check_options(struct elapse__cluster *cluster)
{
    const struct elapse__loop_options *options = elapse__cluster_options(cluster);

    ELAPSE__ASSERT_THAT(cluster->hosts.count, ==, 0);
    if (!elapse__database_queue_name_is_valid(options->queue))
        return refuse(cluster, "--queue",
                      "a name has letters a to z, digits and _, 32 at most, "
                      "and begins with a letter");
    for (size_t i = 0; i < options->cluster_count; i++) {
        const char *why = elapse__hosts_add(&cluster->hosts, options->clusters[i]);
        if (why != NULL)
            return refuse(cluster, "--cluster", why);
    }
    if (options->durability == ELAPSE__LOOP_MEMORY)
        return refuse(cluster, "--durability memory",
                      "a node of a cluster needs a directory, for what it must not forget");
    if (options->users != NULL && options->node_password == NULL)
        return refuse(cluster, "--users",
                      "a node needs --node-password with it: nodes greet each other with that "
                      "password, and the users of --users are no nodes");
    if (options->node_password != NULL && options->auth == NULL && options->users == NULL)
        return refuse(
            cluster, "--node-password",
            "without --auth or --users nobody needs a password, and nodes do not, either");
    if (options->idle_ns > 0)
        return refuse(cluster, "--idle", "a node of a cluster does not have it");
    return true;
}

/* Returns whether other nodes can use this listener. It must be a TCP address without TLS, and
 * neither HTTP nor a wildcard. */
static bool is_reachable(const struct elapse__listener *listener, const char *text)
{
    return !listener->is_http && !listener->tls &&
           !elapse__os_address_is_path(&listener->address) && strncmp(text, "0.0.0.0:", 8) != 0 &&
           strncmp(text, "[::]:", 5) != 0;
}

static bool begins_with(const char *text, const char *begin)
{
    return strncmp(text, begin, strlen(begin)) == 0;
}

/* Warns if other machines cannot reach the address, or if passwords travel in plain text. */
static void warn(struct elapse__cluster *cluster)
{
    const char *address = cluster->address;

    if (begins_with(address, "127.") || begins_with(address, "[::1]:") ||
        begins_with(address, "localhost:"))
        elapse__logger(elapse__cluster_logger(cluster), ELAPSE__LOGGER_WARNING,
                       ELAPSE__EVENT_CLUSTER,
                       "no other machine can reach this node at %s: if there are nodes on others, "
                       "give --advertise",
                       address);
    if (cluster->service.loop.tokens.count > 0 || cluster->service.loop.node_tokens.count > 0)
        elapse__logger(
            elapse__cluster_logger(cluster), ELAPSE__LOGGER_NOTICE, ELAPSE__EVENT_CLUSTER,
            "nodes send the first password%s to each other in plain text, to the address "
            "that the database has",
            cluster->service.loop.node_tokens.count > 0 ? " of --node-password" : "");
}

bool elapse__cluster_choose_address(struct elapse__cluster *cluster)
{
    const struct elapse__loop *front = &cluster->service.loop;
    const char *given = front->options->advertise;
    struct elapse__loop_listen where;

    ELAPSE__ASSERT_THAT(front->listener_count, >, 0);
    ELAPSE__ASSERT_THAT(cluster->address[0], ==, '\0');
    if (given != NULL) {
        const char *fault = elapse__loop_parse_listen(given, NULL, &where);
        if (fault != NULL || where.tls || where.is_path || where.host[0] == '\0')
            return refuse(cluster, "--advertise",
                          fault != NULL ? fault : "it is not HOST:PORT without tls:");
        if (strlen(given) >= sizeof cluster->address)
            return refuse(cluster, "--advertise", "it is too long");
        (void)snprintf(cluster->address, sizeof cluster->address, "%s", given);
    }
    for (size_t i = 0; i < front->listener_count && cluster->address[0] == '\0'; i++) {
        struct elapse__os_address_text text =
            elapse__os_address_text(&front->listeners[i]->address);
        if (is_reachable(front->listeners[i], text.text))
            (void)snprintf(cluster->address, sizeof cluster->address, "%s", text.text);
    }
    if (cluster->address[0] == '\0')
        return refuse(cluster, "--advertise",
                      "it is needed: this node listens at no TCP address, without tls:, that other "
                      "nodes can use");
    (void)snprintf(cluster->name, sizeof cluster->name, "%.40s",
                   front->options->node != NULL ? front->options->node : cluster->address);
    warn(cluster);
    return true;
}
