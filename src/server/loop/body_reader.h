/*
 * The reader: a thread that reads bodies which are not in the page cache, so that the loop never
 * waits for the disk.
 *
 *      loop --give--> [to read] --thread--> [read] --take--> loop
 *                                   \--> descriptor becomes readable
 */
#ifndef ELAPSE__LOOP_BODY_READER_H
#define ELAPSE__LOOP_BODY_READER_H

#include "../core/core.h"

struct elapse__body_reader;

/* Starts the thread. Returns NULL if the system refuses the thread. */
struct elapse__body_reader *elapse__body_reader_start(const struct elapse__journal *journal);

/* Performs the readings that were given, ends the thread and releases the reader. Readings that
 * were not taken are lost. */
void elapse__body_reader_stop(struct elapse__body_reader *reader);

/* Returns a descriptor that is readable from the end of a reading until elapse__body_reader_quiet.
 */
int elapse__body_reader_descriptor(const struct elapse__body_reader *reader);
void elapse__body_reader_quiet(const struct elapse__body_reader *reader);

/* Returns false if there is no memory: nothing has changed. */
bool elapse__body_reader_give(struct elapse__body_reader *reader,
                              struct elapse__server_reading *reading);

/* Returns a reading that is done, or NULL. */
struct elapse__server_reading *elapse__body_reader_take(struct elapse__body_reader *reader);

/* Returns how many readings were given and not taken. Requires the thread of the loop. */
size_t elapse__body_reader_count(const struct elapse__body_reader *reader);

#endif
