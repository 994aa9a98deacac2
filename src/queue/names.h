/*
 * The names of those who hold leases, which jobs show while they are reserved.
 */
#ifndef ELAPSE__QUEUE_NAMES_H
#define ELAPSE__QUEUE_NAMES_H

#include "queue.h"

enum { ELAPSE__QUEUE_NAME_BYTES_MAX = 100 };

/* Returns a number for the name of somebody who reserves jobs, of which up to
 * ELAPSE__QUEUE_NAME_BYTES_MAX bytes are kept; 0 for an empty name, and without memory. The caller
 * gives the number back by elapse__queue_name_drop. Leases that were handed out under the name keep
 * it. */
uint32_t elapse__queue_name_get(struct elapse__queue *queue, struct elapse__queue_text text);
void elapse__queue_name_drop(struct elapse__queue *queue, uint32_t number);

/* Returns who holds this lease of a job; an empty text: nobody does, or it is not known. Valid
 * until the next call that changes something. */
struct elapse__queue_text elapse__queue_name_of(const struct elapse__queue *queue, uint64_t id,
                                                struct elapse__queue_lease lease);

#endif
