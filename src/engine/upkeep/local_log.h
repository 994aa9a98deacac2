/*
 * The groups of a replicated log, as the directory of a node has them: for commands that give a
 * database back what it lost. journal/log.h says what a group, its place and its hash are.
 */
#ifndef ELAPSE__UPKEEP_LOCAL_LOG_H
#define ELAPSE__UPKEEP_LOCAL_LOG_H

#include "../store/remember.h"
#include "upkeep.h"

struct elapse__upkeep_local_group {
    uint64_t number;
    uint64_t hash, previous_hash;
    /* As they lie in the log. NULL: they were not wanted; or they are not here any more, which only
     * the first group may be. */
    uint8_t *bytes;
    size_t size;
    bool has_records; /* here */
};

struct elapse__upkeep_local_log {
    /* Returns the hash of a group, behind the group with the hash `previous`. */
    uint64_t (*next_hash)(uint64_t previous, const void *bytes, size_t size);
    uint64_t from; /* the bytes of groups with lower numbers are not wanted */

    struct elapse__upkeep_local_group *groups; /* one behind the other, without a gap */
    size_t count;
    size_t room;
    struct elapse__store_memory memory; /* what the node must not forget; zeros: it has no file */
    int lock;                           /* of the directory */
};

/* Reads the groups of a directory whose fields `next_hash` and `from` are set, and takes its lock,
 * until it is freed. Each group names the hash of the one before it, and each that has bytes was
 * found to have the hash that it had in the log. Returns false, with words: the directory
 * has no queue, is in use, is damaged, or never followed a log. A crash in the middle of the last
 * group is no damage; where a whole file is missing at the end, the words name it. Cost: all of the
 * directory is read, and the bytes that are wanted are kept. */
bool elapse__upkeep_local_log_read(const char *directory, struct elapse__upkeep_local_log *log,
                                   struct elapse__upkeep_fault *fault);
void elapse__upkeep_local_log_free(struct elapse__upkeep_local_log *log);

#endif
