/*
 * Writes the state of a cluster, for people and as JSON.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../base/assert.h"
#include "../common/duration.h"
#include "../common/text.h"
#include "cluster.h"

#define NS_PER_MS UINT64_C(1000000)

enum { WARNINGS_MAX = 2 };

/* ---- warnings ---- */

struct warnings {
    const char *texts[WARNINGS_MAX];
    size_t count;
    char clock[ELAPSE__NODE_ADDRESS_BYTES + 96];
};

/* Returns whether commits wait for a standby. A standby counts as one if this user may not see its
 * kind (its `sync` is empty). */
static bool has_synchronous(const struct elapse__status *status)
{
    for (size_t i = 0; i < status->standby_count; i++) {
        const char *sync = status->standbys[i].sync;
        if (sync[0] == '\0' || strcmp(sync, "sync") == 0 || strcmp(sync, "quorum") == 0)
            return true;
    }
    return false;
}

static void find_warnings(const struct elapse__status *status, struct warnings *warnings)
{
    warnings->count = 0;
    if (status->names[0] == '\0')
        warnings->texts[warnings->count++] = "synchronous_standby_names is empty: no commit waits "
                                             "for a standby, and no node answers "
                                             "unless it has --single-copy";
    else if (!has_synchronous(status))
        warnings->texts[warnings->count++] =
            "no synchronous standby is connected: each commit waits for one";
    if (status->clock_node[0] != '\0') {
        (void)snprintf(warnings->clock, sizeof warnings->clock,
                       "the wall clock of the node at %s is %" PRId64 " ms %s the database's",
                       status->clock_node,
                       status->clock_ahead_ms < 0 ? -status->clock_ahead_ms
                                                  : status->clock_ahead_ms,
                       status->clock_ahead_ms < 0 ? "behind" : "ahead of");
        warnings->texts[warnings->count++] = warnings->clock;
    }
    ELAPSE__ASSERT_THAT(warnings->count, <=, (size_t)WARNINGS_MAX);
}

static bool has_tags(const struct elapse__status *status)
{
    return status->queue.hash_tags == ELAPSE__SCHEMA_TAGS_ON;
}

/* ---- for people ---- */

/* Adds a text of unknown origin, made harmless for a terminal. */
static void add_word(struct elapse__buffer *text, const char *word)
{
    const char *shown = word[0] == '\0' ? "-" : word;

    buffer_add_masked(text, shown, strlen(shown));
}

/* Adds at least one blank, up to a column of the line that begins at `line`. */
static void pad(struct elapse__buffer *text, size_t line, size_t column)
{
    ELAPSE__ASSERT_THAT(line, <=, elapse__buffer_size(text));
    do
        buffer_add_text(text, " ");
    while (elapse__buffer_size(text) - line < column);
}

static void add_partition(struct elapse__buffer *text, uint32_t number,
                          const struct elapse__status_partition *partition,
                          const struct cluster_watched *watched)
{
    enum { EPOCH = 11, GROUP = 19, TAIL = 32, SEEN = 45, ADDRESS = 58, OWNER = 82 };
    size_t line = elapse__buffer_size(text);
    uint64_t unchanged_ns = watched->unchanged_ns / NS_PER_MS * NS_PER_MS;

    ELAPSE__ASSERT_THAT(partition->tail, <=, partition->last_group + 1);
    buffer_add_format(text, "%" PRIu32, number);
    pad(text, line, EPOCH);
    buffer_add_format(text, "%" PRIu64, partition->epoch);
    pad(text, line, GROUP);
    buffer_add_format(text, "%" PRIu64, partition->last_group);
    pad(text, line, TAIL);
    buffer_add_format(text, "%" PRIu64, partition->tail);
    pad(text, line, SEEN);
    if (partition->owner[0] == '\0')
        buffer_add_text(text, "no owner");
    else
        buffer_add_format(text, "%s%s", watched->has_changed ? "" : "> ",
                          duration_format(unchanged_ns).text);
    pad(text, line, ADDRESS);
    add_word(text, partition->address);
    pad(text, line, OWNER);
    add_word(text, partition->owner);
    buffer_add_text(text, "\n");
}

static void add_words(struct elapse__buffer *text, uint32_t number, const char *what,
                      const char *words)
{
    if (words[0] == '\0')
        return;
    buffer_add_format(text, "\npartition %" PRIu32 " %s: ", number, what);
    add_word(text, words);
    buffer_add_text(text, "\n");
}

/* Adds lines about groups that the database lost of a partition. The columns of the table do not
 * show this. */
static void add_loss(struct elapse__buffer *text, uint32_t number,
                     const struct elapse__status_partition *partition)
{
    add_words(text, number, "is stopped, because groups are lost", partition->stopped);
    add_words(text, number, "went on without groups that are lost", partition->missed);
}

static void add_standby(struct elapse__buffer *text, const struct elapse__status_standby *standby)
{
    buffer_add_text(text, "standby ");
    add_word(text, standby->name);
    if (standby->address[0] != '\0') {
        buffer_add_text(text, " at ");
        add_word(text, standby->address);
    }
    if (standby->sync[0] == '\0') {
        buffer_add_text(text, ": its state is for roles that have pg_monitor\n");
        return;
    }
    buffer_add_format(text, ": %s, %s", standby->sync, standby->state);
    if (standby->behind >= 0)
        buffer_add_format(text, ", %s bytes behind",
                          group_digits((unsigned long long)standby->behind).text);
    buffer_add_text(text, "\n");
}

void cluster_add_text(struct elapse__buffer *text, const char *queue,
                      const struct elapse__status *status, const struct cluster_watched *watched)
{
    struct warnings warnings;

    find_warnings(status, &warnings);
    buffer_add_format(text, "queue %s: %" PRIu32 " partition%s, lease %s, hash tags %s\n", queue,
                      status->queue.partitions, status->queue.partitions == 1 ? "" : "s",
                      duration_format(status->queue.lease_ms * NS_PER_MS).text,
                      has_tags(status) ? "on" : "off");
    buffer_add_text(text, "database at ");
    add_word(text, status->server);
    buffer_add_format(text,
                      ", timeline %" PRIu32 "\nsynchronous_standby_names: ", status->timeline);
    add_word(text, status->names);
    buffer_add_text(text, "\n");
    for (size_t i = 0; i < status->standby_count; i++)
        add_standby(text, &status->standbys[i]);
    for (size_t i = 0; i < warnings.count; i++) {
        buffer_add_text(text, "warning: ");
        add_word(text, warnings.texts[i]);
        buffer_add_text(text, "\n");
    }
    buffer_add_text(text,
                    "\nPARTITION  EPOCH   LAST GROUP   TAIL         LAST BEAT    ADDRESS      "
                    "           OWNER\n");
    for (uint32_t partition = 0; partition < status->queue.partitions; partition++)
        add_partition(text, partition, &status->partitions[partition], &watched[partition]);
    for (uint32_t partition = 0; partition < status->queue.partitions; partition++)
        add_loss(text, partition, &status->partitions[partition]);
}

/* ---- as JSON ---- */

static void add_member(struct elapse__json *json, const char *name, const char *value)
{
    elapse__json_bytes_member(json, name, value, strlen(value));
}

static void add_json_partition(struct elapse__json *json, uint32_t number,
                               const struct elapse__status_partition *partition,
                               const struct cluster_watched *watched)
{
    elapse__json_open(json, '{');
    elapse__json_unsigned_member(json, "partition", number);
    elapse__json_boolean_member(json, "alive", cluster_watch_lives(watched, partition));
    add_member(json, "owner", partition->owner);
    add_member(json, "address", partition->address);
    add_member(json, "stopped", partition->stopped);
    add_member(json, "missed", partition->missed);
    elapse__json_unsigned_member(json, "epoch", partition->epoch);
    elapse__json_unsigned_member(json, "last_group", partition->last_group);
    elapse__json_unsigned_member(json, "tail", partition->tail);
    elapse__json_unsigned_member(json, "unchanged_ms", watched->unchanged_ns / NS_PER_MS);
    elapse__json_close(json, '}');
}

static void add_json_standby(struct elapse__json *json,
                             const struct elapse__status_standby *standby)
{
    elapse__json_open(json, '{');
    add_member(json, "name", standby->name);
    add_member(json, "address", standby->address);
    add_member(json, "state", standby->state);
    add_member(json, "sync", standby->sync);
    elapse__json_name(json, "behind_bytes");
    if (standby->behind < 0)
        elapse__json_null(json);
    else
        elapse__json_signed(json, standby->behind);
    elapse__json_close(json, '}');
}

/* Adds the name of a member and the beginning of its array. */
static void open_array(struct elapse__json *json, const char *name)
{
    elapse__json_name(json, name);
    elapse__json_open(json, '[');
}

void cluster_add_json(struct elapse__json *json, const char *queue,
                      const struct elapse__status *status, const struct cluster_watched *watched)
{
    struct warnings warnings;

    find_warnings(status, &warnings);
    elapse__json_open(json, '{');
    add_member(json, "queue", queue);
    elapse__json_unsigned_member(json, "lease_ms", status->queue.lease_ms);
    elapse__json_boolean_member(json, "hash_tags", has_tags(status));
    elapse__json_unsigned_member(json, "timeline", status->timeline);
    add_member(json, "server", status->server);
    add_member(json, "synchronous_standby_names", status->names);
    open_array(json, "partitions");
    for (uint32_t partition = 0; partition < status->queue.partitions; partition++)
        add_json_partition(json, partition, &status->partitions[partition], &watched[partition]);
    elapse__json_close(json, ']');
    open_array(json, "standbys");
    for (size_t i = 0; i < status->standby_count; i++)
        add_json_standby(json, &status->standbys[i]);
    elapse__json_close(json, ']');
    open_array(json, "warnings");
    for (size_t i = 0; i < warnings.count; i++)
        elapse__json_text(json, warnings.texts[i]);
    elapse__json_close(json, ']');
    elapse__json_close(json, '}');
}
