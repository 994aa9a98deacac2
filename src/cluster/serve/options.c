/*
 * Checks the options of a node. Chooses the address and the name that it gives to other nodes.
 */
#include <stdio.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../base/utf8.h"
#include "../ownership/balance.h"
#include "../postgres/names.h"
#include "base.h"

enum { NAME_BYTES_MAX = 40 }; /* the name of a life has this, and 17 bytes more */

static bool refuse(struct elapse__cluster *cluster, const char *what, const char *why)
{
    elapse__logger(elapse__cluster_logger(cluster), ELAPSE__LOGGER_ERROR, ELAPSE__EVENT_OPTION,
                   "%s: %s", what, why);
    return false;
}

static bool has_control_character(const char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            return true;
    return false;
}

/* A name that is cut, or that the database refuses, would make two nodes one, or no node. */
static bool check_name(struct elapse__cluster *cluster, const char *name)
{
    char option[2 * ELAPSE__NODE_NAME_BYTES];
    size_t length = strlen(name);

    (void)snprintf(option, sizeof option, "--node '%.*s%s'", NAME_BYTES_MAX, name,
                   length > NAME_BYTES_MAX ? "..." : "");
    if (length == 0 || length > NAME_BYTES_MAX)
        return refuse(cluster, option, "a name has 1 to 40 bytes");
    if (has_control_character(name))
        return refuse(cluster, option, "a name has no control characters");
    return elapse__utf8_is(name, length) || refuse(cluster, option, "a name is text in UTF-8");
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
    if (options->node != NULL && !check_name(cluster, options->node))
        return false;
    if (options->zone != NULL &&
        (options->zone[0] == '\0' || strlen(options->zone) >= ELAPSE__BALANCE_ZONE_BYTES))
        return refuse(cluster, "--zone", "a zone has 1 to 31 bytes");
    if (options->zone != NULL && !elapse__utf8_is(options->zone, strlen(options->zone)))
        return refuse(cluster, "--zone", "a zone is text in UTF-8");
    if (options->idle_ns > 0)
        return refuse(cluster, "--idle", "a node of a cluster does not have it");
    return true;
}

/* Returns whether other nodes can use this listener. It must be a TCP address, and neither HTTP nor
 * a wildcard. */
static bool is_reachable(const struct elapse__listener *listener, bool tls, const char *text)
{
    return !listener->is_http && listener->tls == tls &&
           !elapse__os_address_is_path(&listener->address) && strncmp(text, "0.0.0.0:", 8) != 0 &&
           strncmp(text, "[::]:", 5) != 0;
}

static bool begins_with(const char *text, const char *begin)
{
    return strncmp(text, begin, strlen(begin)) == 0;
}

static const char *without_tls(const char *address)
{
    return begins_with(address, "tls:") ? address + strlen("tls:") : address;
}

/* Warns if other machines cannot reach the address, or if passwords travel in plain text. */
static void warn(struct elapse__cluster *cluster)
{
    const char *address = without_tls(cluster->address);

    if (begins_with(address, "127.") || begins_with(address, "[::1]:") ||
        begins_with(address, "localhost:"))
        elapse__logger(elapse__cluster_logger(cluster), ELAPSE__LOGGER_WARNING,
                       ELAPSE__EVENT_CLUSTER,
                       "no other machine can reach this node at %s: if there are nodes on others, "
                       "give --advertise",
                       address);
    if (address != cluster->address)
        return;
    if (cluster->service.loop.tokens.count > 0 || cluster->service.loop.node_tokens.count > 0)
        elapse__logger(
            elapse__cluster_logger(cluster), ELAPSE__LOGGER_NOTICE, ELAPSE__EVENT_CLUSTER,
            "nodes send the first password%s to each other in plain text, to the address "
            "that the database has",
            cluster->service.loop.node_tokens.count > 0 ? " of --node-password" : "");
}

static bool take_given(struct elapse__cluster *cluster, const char *given)
{
    struct elapse__loop_listen where;
    const char *fault = elapse__loop_parse_listen(given, NULL, &where);

    if (fault != NULL || where.is_path || where.host[0] == '\0')
        return refuse(cluster, "--advertise",
                      fault != NULL ? fault : "it is not HOST:PORT, or tls:HOST:PORT");
    if (where.tls && cluster->service.loop.trust == NULL)
        return refuse(cluster, "--advertise", "an address with tls: needs --node-ca");
    if (strlen(given) >= sizeof cluster->address)
        return refuse(cluster, "--advertise", "it is too long");
    if (!elapse__utf8_is(given, strlen(given)))
        return refuse(cluster, "--advertise", "an address is text in UTF-8");
    if (has_control_character(given))
        return refuse(cluster, "--advertise", "an address has no control characters");
    (void)snprintf(cluster->address, sizeof cluster->address, "%s", given);
    return true;
}

/* Takes the first address that this node listens at, with or without TLS, and that other nodes can
 * use. Passes over loopback unless `may_be_local`. */
static void take_first(struct elapse__cluster *cluster, bool tls, bool may_be_local)
{
    const struct elapse__loop *front = &cluster->service.loop;

    for (size_t i = 0; i < front->listener_count && cluster->address[0] == '\0'; i++) {
        struct elapse__os_address_text text =
            elapse__os_address_text(&front->listeners[i]->address);
        if (is_reachable(front->listeners[i], tls, text.text) &&
            (may_be_local || !elapse__os_address_is_local(&front->listeners[i]->address)))
            (void)snprintf(cluster->address, sizeof cluster->address, "%s%s", tls ? "tls:" : "",
                           text.text);
    }
}

/* Without TLS between nodes, takes the first address. With it, an address without TLS still comes
 * first, because a node that is changed to TLS has both for a while. But loopback without TLS is
 * for programs of this machine, and comes last. */
static void take_any(struct elapse__cluster *cluster)
{
    if (cluster->service.loop.trust == NULL) {
        take_first(cluster, false, true);
        return;
    }
    take_first(cluster, false, false);
    take_first(cluster, true, true);
    take_first(cluster, false, true);
}

/* Takes the name that was given, or what is before the first character of the address for which
 * there is no room. */
static void choose_name(struct elapse__cluster *cluster)
{
    const char *given = elapse__cluster_options(cluster)->node;
    const char *name = given != NULL ? given : without_tls(cluster->address);
    const size_t whole = strlen(name);
    size_t length = 0, size;

    while (length < whole && (size = elapse__utf8_size(name + length, whole - length)) > 0 &&
           length + size <= NAME_BYTES_MAX)
        length += size;
    ELAPSE__ASSERT(length > 0 && (given == NULL || length == whole));
    (void)snprintf(cluster->name, sizeof cluster->name, "%.*s", (int)length, name);
    if (length < whole)
        elapse__logger(elapse__cluster_logger(cluster), ELAPSE__LOGGER_NOTICE,
                       ELAPSE__EVENT_CLUSTER,
                       "the name of this node is %s, the beginning of its address: if another one "
                       "begins so, too, give each a name by --node",
                       cluster->name);
}

bool elapse__cluster_choose_address(struct elapse__cluster *cluster)
{
    const struct elapse__loop *front = &cluster->service.loop;
    const char *given = front->options->advertise;

    ELAPSE__ASSERT_THAT(front->listener_count, >, 0);
    ELAPSE__ASSERT_THAT(cluster->address[0], ==, '\0');
    if (given != NULL && !take_given(cluster, given))
        return false;
    if (given == NULL)
        take_any(cluster);
    if (cluster->address[0] == '\0')
        return refuse(cluster, "--advertise",
                      "it is needed: this node listens at no TCP address that other nodes can use; "
                      "one with tls: needs --node-ca");
    choose_name(cluster);
    warn(cluster);
    return true;
}
