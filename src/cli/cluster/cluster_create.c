/*
 * elapse cluster create: makes the tables, and a queue in them. elapse cluster upgrade: raises the
 * level of a queue.
 */
#include <inttypes.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../cluster/postgres/names.h"
#include "../../os/os.h"
#include "../common/duration.h"
#include "../common/message.h"
#include "../common/output.h"
#include "cluster.h"

enum { NS_PER_MS = 1000000 };

/* Asks one server of PostgreSQL after the other, until one takes writes. */
static bool create(const struct cluster_options *options, struct elapse__schema_queue *queue,
                   struct elapse__schema_why *why)
{
    bool is_made = false;

    for (size_t i = 0; i < options->host_count && !is_made && !why->is_connected; i++)
        is_made = elapse__schema_create(options->hosts[i], options->queue, queue, why);
    return is_made;
}

/* A lease from this length on needs no warning, because a statement has half a lease
 * (src/cluster/ownership/state.h). */
#define LEASE_NS_SURE UINT64_C(2000000000)

enum exit_status cluster_create(const struct cluster_options *options)
{
    struct elapse__schema_queue queue = {
        .partitions = (uint32_t)options->partitions,
        .lease_ms = (uint32_t)(options->lease_ns / NS_PER_MS),
        .hash_tags = options->with_tags      ? ELAPSE__SCHEMA_TAGS_ON
                     : options->without_tags ? ELAPSE__SCHEMA_TAGS_OFF
                                             : ELAPSE__SCHEMA_TAGS_ANY,
    };
    struct elapse__schema_queue wanted;
    struct elapse__schema_why why = {.is_connected = false};

    ELAPSE__ASSERT_THAT(options->host_count, >, 0U);
    ELAPSE__ASSERT_THAT(options->partitions, >, 0U);
    ELAPSE__ASSERT_THAT(options->lease_ns % NS_PER_MS, ==, 0U);
    if (!elapse__database_queue_name_is_valid(options->queue))
        return usage_error("--queue: the name of a queue has letters a to z, digits and _, 32 at "
                           "most, and begins with a letter");
    if (elapse__os->random_bytes(queue.identity, sizeof queue.identity) != 0)
        return error_of(STATUS_FAILED, "the system has no random bytes yet");
    wanted = queue;
    if (!create(options, &queue, &why))
        return cluster_refused(&why);
    bool is_new = memcmp(queue.identity, wanted.identity, sizeof queue.identity) == 0;
    output_add_format("queue %s: %" PRIu32 " partition%s, lease %s, hash tags %s%s\n",
                      options->queue, queue.partitions, queue.partitions == 1 ? "" : "s",
                      duration_format(options->lease_ns).text,
                      queue.hash_tags == ELAPSE__SCHEMA_TAGS_ON ? "on" : "off",
                      is_new ? "" : "; it exists already");
    if (options->lease_ns < LEASE_NS_SURE)
        print_error("warning: a lease below 2s gives a statement less than a second, and a busy "
                    "database takes longer at times: the node then begins anew");
    return output_finish();
}

enum exit_status cluster_upgrade(const struct cluster_options *options)
{
    struct elapse__schema_why why = {.is_connected = false};
    uint32_t level = 0;
    bool is_done = false;

    ELAPSE__ASSERT_THAT(options->host_count, >, 0U);
    for (size_t i = 0; i < options->host_count && !is_done && !why.is_connected; i++)
        is_done = elapse__schema_upgrade(options->hosts[i], options->queue, &level, &why);
    if (!is_done)
        return cluster_refused(&why);
    output_add_format("queue %s has level %" PRIu32 ": restart its nodes, one after the other\n",
                      options->queue, level);
    return output_finish();
}
