/*
 * Loads whole records into a new directory, and finds which jobs are lost.
 */
#ifndef ELAPSE__UPKEEP_SALVAGE_H
#define ELAPSE__UPKEEP_SALVAGE_H

#include "../journal/examine.h"
#include "data.h"

/* A job whose newest record has a damaged body. */
struct elapse__lost_job {
    uint64_t id;
    char tube[ELAPSE__QUEUE_TUBE_BYTES_MAX + 1];
    char key[ELAPSE__QUEUE_KEY_BYTES_MAX + 1]; /* "": the job has no key */
};

/* What the records so far say about the jobs. */
struct elapse__salvage {
    struct elapse__upkeep_data *data; /* NULL: nothing is written */
    struct elapse__lost_job *lost;
    size_t lost_count, lost_capacity;
    uint64_t greatest_id;
    uint32_t greatest_life;
};

/* Takes a whole record. Skips a record that makes no sense. Returns 0 or an error number. */
int elapse__salvage_record(struct elapse__salvage *salvage, const struct elapse__record *record);

/* Takes a record whose body is damaged. */
int elapse__salvage_damaged(struct elapse__salvage *salvage, const struct elapse__record *record);

/* Writes the number of a life that no earlier life can have had. This is true even if all lost
 * bytes were records of lives. */
int elapse__salvage_life(struct elapse__salvage *salvage, uint64_t lost_bytes);

#endif
