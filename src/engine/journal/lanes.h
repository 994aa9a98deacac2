/*
 * The operations of the two lanes. A work of several operations has three functions: `start` begins
 * it, and returns whether there is something to do; `next` stores its next operation; `completed`
 * takes the result.
 */
#ifndef ELAPSE__JOURNAL_LANES_H
#define ELAPSE__JOURNAL_LANES_H

#include "group.h"

/* ---- commit.c, background.c: the lanes ---- */

/* Store the next operation of a lane. Return false if there is none. */
bool elapse__commit_next(struct elapse__journal *journal, struct elapse__operation *operation);
bool elapse__background_next(struct elapse__journal *journal, struct elapse__operation *operation);

/* Take the result of an operation. */
void elapse__commit_completed(struct elapse__journal *journal,
                              const struct elapse__operation *operation);
void elapse__background_completed(struct elapse__journal *journal,
                                  const struct elapse__operation *operation);

/* ---- works of the commit lane ---- */

/* rotate.c: begins the next segment. Requires that all that was written is durable. */
bool elapse__rotate_start(struct elapse__journal *journal);
void elapse__rotate_next(struct elapse__journal *journal, struct elapse__operation *operation);
void elapse__rotate_completed(struct elapse__journal *journal,
                              const struct elapse__operation *operation);

/* replica.c: returns whether this group goes to the log first. */
bool elapse__journal_log_wants(const struct elapse__journal *journal,
                               const struct elapse__group *group);

/* replica.c: begins to submit the group in flight. */
void elapse__journal_log_start(struct elapse__journal *journal);

/* replica.c: submits that group. The caller need not hold the lock. */
void elapse__journal_log_perform(struct elapse__journal *journal,
                                 struct elapse__operation *operation);
void elapse__journal_log_completed(struct elapse__journal *journal,
                                   const struct elapse__operation *operation);

/* replica.c: tells the log which of its groups are needed no more. */
void elapse__journal_log_trim(struct elapse__journal *journal);

/* ---- works of the other lane; spare.c is one, too ---- */

/* retire.c: makes a file that fell below the tail a spare, or unlinks it. */
bool elapse__retire_start(struct elapse__journal *journal);
void elapse__retire_next(struct elapse__journal *journal, struct elapse__operation *operation);
void elapse__retire_completed(struct elapse__journal *journal,
                              const struct elapse__operation *operation);

/* clean.c: goes on until something has to be read or written first. */
void elapse__clean_step(struct elapse__journal *journal);

/* clean.c: lets a tail that could not be read be read again, if its time has come. */
void elapse__clean_retry(struct elapse__journal *journal);

/* clean.c: reads a piece of the tail. */
bool elapse__clean_start(struct elapse__journal *journal);
void elapse__clean_next(struct elapse__journal *journal, struct elapse__operation *operation);
void elapse__clean_completed(struct elapse__journal *journal,
                             const struct elapse__operation *operation);

#endif
