/*
 * Decides which files this node gives up.
 */
#include "giving.h"

#include <inttypes.h>
#include <stdlib.h>

#include "../../base/assert.h"
#include "../ownership/give_up.h"
#include "../postgres/nodes.h"

enum { AGAIN_LEASES = 10 }; /* after a write that was not confirmed */

#define NS_PER_MS UINT64_C(1000000)

/* The files of a partition: those that were left, or those that were set aside. */
struct slot {
    struct elapse__cluster_files there; /* as the loop has told */
    struct elapse__give_up files;
    bool is_given_up;
    bool stays;                       /* the answer does not pass */
    enum elapse__give_up_answer said; /* the last answer that the log has */
};

struct elapse__giving {
    struct elapse__cluster *cluster;
    struct slot *slots; /* ELAPSE__CLUSTER_FILES for each partition */
    size_t count;
    uint64_t next_ms; /* nothing is confirmed before */
};

struct elapse__giving *elapse__giving_new(struct elapse__cluster *cluster)
{
    struct elapse__giving *giving = calloc(1, sizeof *giving);

    if (giving == NULL)
        return NULL;
    giving->cluster = cluster;
    giving->count = (size_t)cluster->queue.partitions * ELAPSE__CLUSTER_FILES;
    giving->slots = calloc(giving->count, sizeof *giving->slots);
    if (giving->slots != NULL)
        return giving;
    free(giving);
    return NULL;
}

void elapse__giving_free(struct elapse__giving *giving)
{
    if (giving != NULL)
        free(giving->slots);
    free(giving);
}

void elapse__giving_note_files(struct elapse__giving *giving)
{
    ELAPSE__ASSERT_LOCK_HELD(&giving->cluster->nodes.errand.monitor.lock);
    for (size_t i = 0; i < giving->count; i++) {
        const struct elapse__cluster_files *now = &giving->cluster->nodes.files[i];
        struct slot *slot = &giving->slots[i];
        if (!elapse__cluster_are_same_files(now, &slot->there)) /* other ones */
            *slot = (struct slot){.is_given_up = false};
        slot->there = *now;
    }
}

void elapse__giving_connect(struct elapse__giving *giving)
{
    for (size_t i = 0; i < giving->count; i++)
        elapse__give_up_connect(&giving->slots[i].files);
}

/* ---- comparing ---- */

static bool take(struct slot *slot, uint32_t partition, bool is_aside,
                 const struct elapse__balance_view *view, struct elapse__nodes_session *session,
                 uint64_t now_ms, struct elapse__schema_why *why)
{
    uint64_t group, hash = 0;
    bool has_group;

    if (!slot->there.has_files) {
        slot->files.has_files = false;
        return true;
    }
    if (!slot->files.has_files)
        elapse__give_up_begin(&slot->files, &slot->there.end, is_aside, now_ms);
    elapse__give_up_take(&slot->files, view, &view->partitions[partition].row, now_ms);
    if (slot->files.is_unknown || !elapse__watch_doubts(&slot->files.end, &group))
        return true;
    if (!elapse__nodes_read_hash(session, partition, group, &has_group, &hash, why))
        return false;
    elapse__give_up_prove(&slot->files, has_group, hash);
    return true;
}

bool elapse__giving_take(struct elapse__giving *giving, const struct elapse__balance_view *view,
                         struct elapse__nodes_session *session, uint64_t now_ms,
                         struct elapse__schema_why *why)
{
    ELAPSE__ASSERT_THAT((size_t)view->partition_count * ELAPSE__CLUSTER_FILES, ==, giving->count);
    for (size_t i = 0; i < giving->count; i++)
        if (!take(&giving->slots[i], (uint32_t)(i / ELAPSE__CLUSTER_FILES),
                  i % ELAPSE__CLUSTER_FILES == ELAPSE__CLUSTER_FILES_ASIDE, view, session, now_ms,
                  why))
            return false;
    return true;
}

/* ---- deciding ---- */

/* Returns whether files stay for a reason that does not pass. A node that uses the wrong database
 * can be given the right one again, so the system counts only for what was set aside before. */
static bool does_last(const struct slot *slot, enum elapse__give_up_answer answer)
{
    return answer == ELAPSE__GIVE_UP_OTHER_LOG || answer == ELAPSE__GIVE_UP_UNKNOWN ||
           (answer == ELAPSE__GIVE_UP_OTHER_SYSTEM && slot->files.is_aside);
}

/* Leaves a line for the log if files stay for a reason that does not pass. */
static void say_why(struct elapse__giving *giving, struct slot *slot, uint32_t partition,
                    enum elapse__give_up_answer answer)
{
    if (!slot->stays || answer == slot->said)
        return;
    slot->said = answer;
    elapse__cluster_partition_say(
        &giving->cluster->partitions[partition], ELAPSE__LOGGER_WARNING,
        "partition %" PRIu32
        ": the files of this node's copy%s stay, although it has left them: %s",
        partition, slot->files.is_aside ? " that were set aside" : "",
        elapse__give_up_words(answer));
}

/* Returns whether there are files to give up, if the view is confirmed. */
static bool choose(struct elapse__giving *giving, const struct elapse__balance_view *view,
                   const char *name, const bool *told, bool is_calm, uint64_t now_ms)
{
    const struct elapse__loop_options *serve = elapse__cluster_options(giving->cluster);
    const int me = elapse__balance_find(view, name);
    const struct elapse__give_up_options options = {
        .followers = (uint32_t)serve->followers,
        .keep_ms = serve->keep_left_ns / NS_PER_MS,
        .is_calm = is_calm,
    };
    bool has_any = false;

    for (size_t i = 0; i < giving->count; i++) {
        struct slot *slot = &giving->slots[i];
        uint32_t partition = (uint32_t)(i / ELAPSE__CLUSTER_FILES);
        enum elapse__give_up_answer answer =
            elapse__give_up_ask(&slot->files, view, partition, me, &options, now_ms);
        slot->stays = does_last(slot, answer);
        say_why(giving, slot, partition, answer);
        bool is_told = slot->files.is_aside || (told != NULL && !told[partition]); /* G6 */
        slot->is_given_up = answer == ELAPSE__GIVE_UP_YES && is_told;
        has_any = has_any || slot->is_given_up;
    }
    return has_any;
}

static void give_up_nothing(struct elapse__giving *giving)
{
    for (size_t i = 0; i < giving->count; i++)
        giving->slots[i].is_given_up = false;
}

bool elapse__giving_decide(struct elapse__giving *giving, const struct elapse__balance_view *view,
                           const char *name, const bool *told, bool is_calm,
                           struct elapse__nodes_session *session, uint64_t now_ms,
                           struct elapse__schema_why *why)
{
    bool is_confirmed = false;

    if (!choose(giving, view, name, told, is_calm, now_ms))
        return true;
    bool is_done = true;
    if (now_ms >= giving->next_ms) /* G7 */
        is_done = elapse__nodes_confirm(session, name,
                                        elapse__cluster_options(giving->cluster)->single_copy,
                                        &is_confirmed, why);
    if (is_confirmed)
        return true;
    give_up_nothing(giving);
    if (now_ms >= giving->next_ms)
        giving->next_ms = now_ms + (uint64_t)AGAIN_LEASES * giving->cluster->queue.lease_ms;
    return is_done;
}

/* ---- telling the loop ---- */

bool elapse__giving_publish(struct elapse__giving *giving)
{
    struct elapse__cluster_nodes *nodes = &giving->cluster->nodes;
    bool has_any = false;

    ELAPSE__ASSERT_LOCK_HELD(&nodes->errand.monitor.lock);
    for (size_t i = 0; i < giving->count; i++) {
        const struct slot *slot = &giving->slots[i];
        nodes->seen_files[i] = (struct elapse__cluster_seen_files){
            .files = slot->there,
            .is_given_up = slot->is_given_up,
            .stays = slot->stays,
            .is_continued = elapse__give_up_is_continued(&slot->files),
            .continued = slot->files.end.witness,
        };
        has_any = has_any || slot->is_given_up;
    }
    return has_any;
}

void elapse__giving_publish_nothing(struct elapse__giving *giving)
{
    struct elapse__cluster_nodes *nodes = &giving->cluster->nodes;

    ELAPSE__ASSERT_LOCK_HELD(&nodes->errand.monitor.lock);
    for (size_t i = 0; i < giving->count; i++) {
        giving->slots[i].is_given_up = giving->slots[i].stays = false;
        nodes->seen_files[i].is_given_up = nodes->seen_files[i].stays = false;
    }
}
