/*
 * Finds the network addresses of the owners of partitions. The loop must not wait for a name
 * server, so another thread looks names up. An address in digits is known at once. While no address
 * is known, the router's link cannot be opened. The router asks again a little later.
 */
#include <stdio.h>
#include <string.h>

#include "../../base/assert.h"
#include "base.h"

/* ---- on the thread of the loop ---- */

/* Returns whether this node sends nothing to other nodes without TLS: it can use TLS, and accepts
 * TCP connections of other nodes over TLS alone. While nodes are changed to TLS one by one, they do
 * both. A listener on loopback is for programs of this machine, unless its address is the one that
 * this node gives to the others. */
static bool needs_tls(const struct elapse__cluster *cluster)
{
    const struct elapse__loop *front = &cluster->service.loop;
    bool gives_plain = strncmp(cluster->address, "tls:", 4) != 0;

    ELAPSE__ASSERT_THAT(cluster->address[0], !=, '\0');
    for (size_t i = 0; i < front->listener_count; i++) {
        const struct elapse__listener *listener = front->listeners[i];
        if (listener->is_http || listener->tls || elapse__os_address_is_path(&listener->address))
            continue;
        if (gives_plain || !elapse__os_address_is_local(&listener->address))
            return false;
    }
    return front->trust != NULL;
}

/* Returns why this node cannot use an address, or NULL if it can. */
static const char *fault_of(const struct elapse__cluster *cluster, const char *address,
                            struct elapse__loop_listen *where)
{
    if (elapse__loop_parse_listen(address, NULL, where) != NULL || where->is_path ||
        where->host[0] == '\0')
        return "its address is not HOST:PORT";
    if (where->tls && cluster->service.loop.trust == NULL)
        return "its address has tls:, and this node has no --node-ca";
    if (!where->tls && needs_tls(cluster))
        return "its address has no tls:, and this node speaks TLS alone";
    return NULL;
}

/* Forgets the previous owner, and begins to look for the present one. The caller holds the lock. */
static void begin(struct elapse__cluster_partition *partition)
{
    struct elapse__cluster_way *way = &partition->way;
    const char *address = partition->figures.partition.address;
    struct elapse__loop_listen where;

    *way = (struct elapse__cluster_way){.count = 0};
    (void)snprintf(way->address, sizeof way->address, "%s", address);
    way->why = fault_of(partition->cluster, address, &where);
    if (way->why != NULL) {
        way->is_digits = true;
        return;
    }
    if (where.tls)
        (void)snprintf(way->host, sizeof way->host, "%s", where.host);
    way->is_digits =
        elapse__os_resolve_digits(where.host, where.port, way->found, &way->count) == NULL;
    if (!way->is_digits)
        way->count = 0;
    ELAPSE__ASSERT_THAT(way->count, <=, ELAPSE__OS_ADDRESSES_MAX);
}

bool elapse__addresses_find(struct elapse__cluster_partition *partition,
                            struct elapse__os_address *found, char host[ELAPSE__LOOP_HOST_BYTES],
                            const char **why)
{
    struct elapse__cluster_errand *errand = &partition->cluster->addresses;
    struct elapse__cluster_way *way = &partition->way;

    elapse__lock(&errand->monitor.lock);
    if (strcmp(way->address, partition->figures.partition.address) != 0)
        begin(partition);
    memcpy(host, way->host, sizeof way->host);
    bool is_known = way->count > 0;
    if (is_known)
        *found = way->found[way->turn % way->count];
    else if (!way->is_digits)
        way->is_wanted = true;
    *why = way->why;
    ELAPSE__ASSERT(!way->is_digits || !way->is_wanted);
    ELAPSE__ASSERT(is_known || *why != NULL || way->is_wanted);
    if (way->is_wanted)
        elapse__condition_broadcast(&errand->monitor.changed);
    elapse__unlock(&errand->monitor.lock);
    return is_known;
}

/* After the last address of a name has failed, the name is looked up again, because it may have
 * other addresses by now. */
void elapse__addresses_failed(struct elapse__cluster_partition *partition)
{
    struct elapse__cluster_errand *errand = &partition->cluster->addresses;
    struct elapse__cluster_way *way = &partition->way;

    elapse__lock(&errand->monitor.lock);
    way->turn++;
    if (!way->is_digits && (way->count == 0 || way->turn % way->count == 0))
        way->is_wanted = true;
    ELAPSE__ASSERT(!way->is_digits || !way->is_wanted);
    elapse__unlock(&errand->monitor.lock);
}

/* ---- on the thread that looks names up ---- */

/* Returns a partition whose owner's name has to be looked up, or NULL if there is none. The caller
 * holds the lock. */
static struct elapse__cluster_partition *find_wanted(struct elapse__cluster *cluster)
{
    ELAPSE__ASSERT_LOCK_HELD(&cluster->addresses.monitor.lock);
    for (uint32_t i = 0; i < cluster->partition_count; i++)
        if (cluster->partitions[i].way.is_wanted)
            return &cluster->partitions[i];
    return NULL;
}

/* Looks a name up. The caller holds the lock. This function releases it during the look-up. */
static void look_up(struct elapse__cluster_errand *errand, struct elapse__cluster_way *way)
{
    struct elapse__os_address found[ELAPSE__OS_ADDRESSES_MAX];
    struct elapse__loop_listen where;
    char address[ELAPSE__NODE_ADDRESS_BYTES];
    size_t count = 0;

    ELAPSE__ASSERT_LOCK_HELD(&errand->monitor.lock);
    ELAPSE__ASSERT(way->is_wanted && !way->is_digits);
    memcpy(address, way->address, sizeof address);
    way->is_wanted = false;
    elapse__unlock(&errand->monitor.lock);
    const char *why = elapse__loop_parse_listen(address, NULL, &where);
    if (why == NULL)
        why = elapse__os_resolve(where.host, where.port, found, &count);
    elapse__lock(&errand->monitor.lock);
    /* The partition may have another owner by now. */
    if (strcmp(address, way->address) != 0)
        return;
    way->why = why;
    if (why != NULL)
        return; /* the addresses that were found before may still be right */
    ELAPSE__ASSERT(count > 0 && count <= ELAPSE__OS_ADDRESSES_MAX);
    memcpy(way->found, found, count * sizeof found[0]);
    way->count = count;
}

void *elapse__addresses_errand(void *argument)
{
    struct elapse__cluster *cluster = argument;
    struct elapse__cluster_errand *errand = &cluster->addresses;

    elapse__os_thread_name("elapse-names");
    elapse__lock(&errand->monitor.lock);
    while (!errand->stops) {
        struct elapse__cluster_partition *partition = find_wanted(cluster);
        if (partition != NULL)
            look_up(errand, &partition->way);
        else
            elapse__condition_wait(&errand->monitor.changed, &errand->monitor.lock);
    }
    elapse__cluster_errand_end(errand);
    elapse__unlock(&errand->monitor.lock);
    return NULL;
}
