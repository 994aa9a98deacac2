/*
 * Pull mode: what start and close have to do for it. The rest of it are functions of the
 * public header.
 */
#ifndef ELAPSE__PULL_H
#define ELAPSE__PULL_H

#include "scheduler.h"

bool elapse__pull_init(struct elapse_scheduler *scheduler);
void elapse__pull_free(struct elapse_scheduler *scheduler);

/* Makes the descriptor, and sets the alarms for the first time; the sleeper is open. */
bool elapse__pull_start(struct elapse_scheduler *scheduler);

/* Wakes all who wait in take, and waits until all that was taken is done. Nothing is scheduled any
 * more. */
void elapse__pull_end(struct elapse_scheduler *scheduler);

#endif
