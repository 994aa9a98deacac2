/*
 * Reads the groups of a replicated log from the directory of a node, for commands that give a
 * database back what it lost. journal/log.h says what a group, its place and its hash are.
 */
#ifndef ELAPSE__UPKEEP_LOCAL_LOG_H
#define ELAPSE__UPKEEP_LOCAL_LOG_H

#include "../store/remember.h"
#include "upkeep.h"

struct elapse__upkeep_local_group {
    uint64_t number;
    uint64_t hash, previous_hash;
    /* The group's bytes in the log. NULL: they were not wanted, or the directory does not have them
     * any more. Only the first group may lack its bytes for the second reason. */
    uint8_t *bytes;
    size_t size;
    bool has_records; /* the directory has records of the group */
};

struct elapse__upkeep_local_log {
    /* Returns the hash of a group that follows the group with the hash `previous`. */
    uint64_t (*next_hash)(uint64_t previous, const void *bytes, size_t size);
    uint64_t from; /* the bytes of groups with lower numbers are not wanted */

    struct elapse__upkeep_local_group *groups; /* in order of their numbers, without a gap */
    size_t count;
    size_t room;
    struct elapse__store_memory memory; /* store/remember.h; zeros: the node has no such file */
    int lock;                           /* of the directory */
};

/* Reads the groups of a directory into `log`, whose fields `next_hash` and `from` are set. Takes
 * the lock of the directory until elapse__upkeep_local_log_free. Checks that each group names the
 * hash of the group before it, and that the bytes of each group have the hash that the log gave it.
 * Returns false and fills the fault if the directory has no queue, is in use, is damaged, or never
 * followed a log. A crash in the middle of the last group is no damage. If a whole file is missing
 * at the end, the fault names it. Cost: reads all of the directory, and keeps the bytes that are
 * wanted. */
bool elapse__upkeep_local_log_read(const char *directory, struct elapse__upkeep_local_log *log,
                                   struct elapse__upkeep_fault *fault);
void elapse__upkeep_local_log_free(struct elapse__upkeep_local_log *log);

#endif
