/*
 * Decides when a node gives up the files of a copy that it has left, by the rules G1 to G8 of
 * give_up.h.
 */
#include "give_up.h"

#include "../../base/assert.h"
#include "replicas.h"

enum { LEFT_PART = 6 }; /* G8 */

void elapse__give_up_begin(struct elapse__give_up *files,
                           const struct elapse__partition_witness *end, bool is_aside,
                           uint64_t now_ms)
{
    *files = (struct elapse__give_up){
        .has_files = true,
        .is_aside = is_aside,
        .since_ms = now_ms,
        .end = {.witness = *end},
    };
}

void elapse__give_up_connect(struct elapse__give_up *files)
{
    elapse__watch_connect(&files->end);
}

void elapse__give_up_take(struct elapse__give_up *files, const struct elapse__balance_view *view,
                          const struct elapse__balance_row *row, uint64_t now_ms)
{
    ELAPSE__ASSERT(files->has_files);
    if (!files->is_unknown)
        elapse__watch_take(&files->end, view, row, now_ms);
}

void elapse__give_up_prove(struct elapse__give_up *files, bool has_group, uint64_t hash_of_previous)
{
    ELAPSE__ASSERT(files->has_files && !files->is_unknown);
    files->is_unknown = !has_group;
    elapse__watch_prove(&files->end, has_group, hash_of_previous);
}

/* Counts the nodes that the list names, and that are ready (G2). */
static uint32_t count_ready(const struct elapse__balance_view *view, uint32_t partition)
{
    const struct elapse__balance_partition *row = &view->partitions[partition];
    uint32_t ready = 0;

    ELAPSE__ASSERT_THAT(row->replica_count, <=, ELAPSE__BALANCE_REPLICAS_MAX);
    for (uint32_t i = 0; i < row->replica_count; i++)
        ready += elapse__balance_is_ready(view, partition, row->replicas[i]);
    return ready;
}

/* Returns whether the files are of another database, as after elapse cluster accept-database, so
 * that they are never compared (elapse__watch_trusts). */
static bool are_of_other_system(const struct elapse__give_up *files,
                                const struct elapse__balance_view *view)
{
    const struct elapse__partition_witness *end = &files->end.witness;

    return end->place.group > 0 && end->system_identifier != view->system_identifier;
}

/* Returns whether the files are continued (G4), or why they are not. */
static enum elapse__give_up_answer compare(const struct elapse__give_up *files)
{
    if (files->end.is_lost)
        return ELAPSE__GIVE_UP_OTHER_LOG;
    if (files->is_unknown)
        return ELAPSE__GIVE_UP_UNKNOWN;
    return files->end.has_row && files->end.has_met_witness ? ELAPSE__GIVE_UP_YES
                                                            : ELAPSE__GIVE_UP_NOT_COMPARED;
}

bool elapse__give_up_is_continued(const struct elapse__give_up *files)
{
    return files->has_files && compare(files) == ELAPSE__GIVE_UP_YES;
}

enum elapse__give_up_answer elapse__give_up_ask(const struct elapse__give_up *files,
                                                const struct elapse__balance_view *view,
                                                uint32_t partition, int me,
                                                const struct elapse__give_up_options *options,
                                                uint64_t now_ms)
{
    ELAPSE__ASSERT_THAT(partition, <, view->partition_count);
    ELAPSE__ASSERT(me < (int)view->node_count);
    const struct elapse__balance_partition *row = &view->partitions[partition];

    if (!files->has_files)
        return ELAPSE__GIVE_UP_NO_FILES;
    if (options->followers == 0 || !view->has_lists || me < 0 || row->replica_count == 0 ||
        (!files->is_aside && elapse__replicas_wants(view, partition, me)))
        return ELAPSE__GIVE_UP_NAMED;
    if (!options->is_calm || view->is_paused)
        return ELAPSE__GIVE_UP_NOT_CALM;
    if (row->is_stopped || row->has_missed)
        return ELAPSE__GIVE_UP_MARKED;
    if (!elapse__balance_is_ready(view, partition, row->owner))
        return ELAPSE__GIVE_UP_NO_OWNER;
    if (count_ready(view, partition) < options->followers + 1)
        return ELAPSE__GIVE_UP_FEW_COPIES;
    if (are_of_other_system(files, view))
        return ELAPSE__GIVE_UP_OTHER_SYSTEM;
    enum elapse__give_up_answer answer = compare(files);
    if (answer != ELAPSE__GIVE_UP_YES)
        return answer;
    ELAPSE__ASSERT_THAT(now_ms, >=, files->since_ms);
    uint64_t wait_ms = files->is_aside ? options->keep_ms : options->keep_ms / LEFT_PART;
    return now_ms - files->since_ms < wait_ms ? ELAPSE__GIVE_UP_EARLY : ELAPSE__GIVE_UP_YES;
}

const char *elapse__give_up_words(enum elapse__give_up_answer answer)
{
    static const char *const words[] = {
#define ELAPSE__GIVE_UP_ANSWER(name, words) [ELAPSE__GIVE_UP_##name] = (words),
        ELAPSE__GIVE_UP_ANSWERS(ELAPSE__GIVE_UP_ANSWER)
#undef ELAPSE__GIVE_UP_ANSWER
    };

    ELAPSE__ASSERT_THAT((size_t)answer, <, sizeof words / sizeof words[0]);
    return words[answer];
}
