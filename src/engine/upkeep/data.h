/*
 * Opens a queue for upkeep. The engine joins the queue and the journal, as in a store, but
 * everything runs on one thread.
 */
#ifndef ELAPSE__UPKEEP_DATA_H
#define ELAPSE__UPKEEP_DATA_H

#include "../engine.h"
#include "../journal/examine.h"
#include "upkeep.h"

struct elapse__upkeep_data {
    struct elapse__engine engine;
    const char *directory;
    bool has_added;
};

/* Stores what went wrong. The text begins with "directory: ". Returns false. */
bool elapse__upkeep_fail(struct elapse__upkeep_fault *fault, const char *directory,
                         const char *text);

/* Stores why the journal refused. Returns false. */
bool elapse__upkeep_refuse(struct elapse__upkeep_fault *fault, const char *directory,
                           const struct elapse__journal_refusal *refusal);

/* Writes what kind of damage a finding is, and where it lies. */
void elapse__upkeep_describe(const char *directory, const struct elapse__finding *finding,
                             char *text, size_t size);

/* Opens the queue so that records can be loaded. `last_id` is the greatest id that a job may have
 * had. */
struct elapse__upkeep_data *elapse__data_open(const char *directory, uint32_t segment_bytes,
                                              uint64_t last_id, struct elapse__upkeep_fault *fault);

/* Loads a record. Waits for the disk if the journal is full. Returns 0, EBADMSG if the record makes
 * no sense, or another error number. */
int elapse__data_load(struct elapse__upkeep_data *data, const struct elapse__record *record);

/* Takes the lock of a directory that exists. Stores the file of the lock, which the caller
 * closes. */
bool elapse__data_lock(const char *directory, int *lock, struct elapse__upkeep_fault *fault);

#endif
