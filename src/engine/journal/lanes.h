/*
 * The operations of the two lanes. Some work needs several operations. Such work has three
 * functions: `start` begins it, and returns whether there is something to do. `next` stores its
 * next operation. `completed` takes the result.
 */
#ifndef ELAPSE__JOURNAL_LANES_H
#define ELAPSE__JOURNAL_LANES_H

#include "group.h"

/* ---- commit.c, background.c: the lanes ---- */

/* These functions store the next operation of a lane. They return false if there is none. */
bool elapse__commit_next(struct elapse__journal *journal, struct elapse__operation *operation);
bool elapse__background_next(struct elapse__journal *journal, struct elapse__operation *operation);

/* These functions take the result of an operation. */
void elapse__commit_completed(struct elapse__journal *journal,
                              const struct elapse__operation *operation);
void elapse__background_completed(struct elapse__journal *journal,
                                  const struct elapse__operation *operation);

/* ---- work of the commit lane ---- */

/* rotate.c: begins the next segment. Requires that everything that was written is durable. */
bool elapse__rotate_start(struct elapse__journal *journal);
void elapse__rotate_next(struct elapse__journal *journal, struct elapse__operation *operation);
void elapse__rotate_completed(struct elapse__journal *journal,
                              const struct elapse__operation *operation);

/* replica.c: returns whether this group has to go to the log first. */
bool elapse__journal_log_wants(const struct elapse__journal *journal,
                               const struct elapse__group *group);

/* replica.c: begins to submit the group in flight. */
void elapse__journal_log_start(struct elapse__journal *journal);

/* replica.c: submits the group in flight. The caller need not hold the lock. */
void elapse__journal_log_perform(struct elapse__journal *journal,
                                 struct elapse__operation *operation);
void elapse__journal_log_completed(struct elapse__journal *journal,
                                   const struct elapse__operation *operation);

/* replica.c: tells the log which of its groups are needed no more. */
void elapse__journal_log_trim(struct elapse__journal *journal);

/* ---- work of the other lane; that of spare.c belongs here, too ---- */

/* retire.c: makes a spare of a file that fell below the tail, or unlinks the file. */
bool elapse__retire_start(struct elapse__journal *journal);
void elapse__retire_next(struct elapse__journal *journal, struct elapse__operation *operation);
void elapse__retire_completed(struct elapse__journal *journal,
                              const struct elapse__operation *operation);

/* clean.c: cleans until something has to be read or written first. */
void elapse__clean_step(struct elapse__journal *journal);

/* clean.c: allows another reading of a tail that could not be read, if its time has come. */
void elapse__clean_retry(struct elapse__journal *journal);

/* clean.c: reads a piece of the tail. */
bool elapse__clean_start(struct elapse__journal *journal);
void elapse__clean_next(struct elapse__journal *journal, struct elapse__operation *operation);
void elapse__clean_completed(struct elapse__journal *journal,
                             const struct elapse__operation *operation);

#endif
