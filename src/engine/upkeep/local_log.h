/*
 * Reads the groups of a replicated log from the directory of a node. Commands use it to give a
 * database back what it lost. src/engine/journal/log.h explains groups, their places and their
 * hashes.
 */
#ifndef ELAPSE__UPKEEP_LOCAL_LOG_H
#define ELAPSE__UPKEEP_LOCAL_LOG_H

#include "../store/remember.h"
#include "upkeep.h"

struct elapse__upkeep_local_group {
    uint64_t number;
    uint64_t hash, previous_hash;
    /* The bytes of the group in the log. NULL if the caller did not want them, or if the directory
     * does not have them any more. Only the first group may lack its bytes for the second
     * reason. */
    uint8_t *bytes;
    size_t size;
    bool has_records; /* the directory has records of the group */
};

struct elapse__upkeep_local_log {
    /* Returns the hash of a group. `previous` is the hash of the group before. */
    uint64_t (*next_hash)(uint64_t previous, const void *bytes, size_t size);
    uint64_t from; /* the caller does not want the bytes of groups with lower numbers */

    struct elapse__upkeep_local_group *groups; /* in the order of their numbers, without a gap */
    size_t count;
    size_t room;
    struct elapse__store_memory memory; /* store/remember.h; zeros: the node has no such file */
    int lock;                           /* the lock of the directory */
};

/* Reads the groups of a directory into `log`. Requires that its fields `next_hash` and `from` are
 * set. Holds the lock of the directory until elapse__upkeep_local_log_free. Checks that each group
 * has the hash of the group before it, and that the bytes of each group have the hash of the log.
 * Returns false and fills the fault if the directory has no queue, is in use, is damaged, or never
 * followed a log. A crash in the middle of the last group is no damage. If a whole file is missing
 * at the end, the fault names the file. Cost: reads the whole directory, and keeps the bytes that
 * the caller wants. */
bool elapse__upkeep_local_log_read(const char *directory, struct elapse__upkeep_local_log *log,
                                   struct elapse__upkeep_fault *fault);
void elapse__upkeep_local_log_free(struct elapse__upkeep_local_log *log);

#endif
