/*
 * Reads, on a thread, bodies that are not in the page cache, so that the loop never waits for the
 * disk. Each core has a reader. All readers of a process share one thread.
 *
 *      loop --give--> [to read] --thread--> [read, of its reader] --take--> loop
 *                                   \--> descriptor of the reader becomes readable
 */
#ifndef ELAPSE__LOOP_BODY_READER_H
#define ELAPSE__LOOP_BODY_READER_H

#include "../core/core.h"

struct elapse__body_thread;
struct elapse__body_reader;

/* Starts the thread. Returns NULL if the system refuses the thread. */
struct elapse__body_thread *elapse__body_thread_start(void);

/* Ends the thread. Requires that its readers are closed. */
void elapse__body_thread_stop(struct elapse__body_thread *thread);

/* Makes a reader of this journal. Returns NULL if there is no memory, or no descriptor. */
struct elapse__body_reader *elapse__body_reader_open(struct elapse__body_thread *thread,
                                                     const struct elapse__journal *journal);

/* Drops the readings that have not begun: elapse__body_reader_take returns them as done, although
 * they were not performed. So a core that hands out nothing any more does not wait for the readings
 * of other cores. */
void elapse__body_reader_withdraw(struct elapse__body_reader *reader);

/* Withdraws the readings that have not begun, waits for the one that has, and releases the reader.
 * Readings that were not taken are lost. */
void elapse__body_reader_close(struct elapse__body_reader *reader);

/* Returns a descriptor that is readable from the end of a reading until elapse__body_reader_quiet.
 */
int elapse__body_reader_descriptor(const struct elapse__body_reader *reader);
void elapse__body_reader_quiet(const struct elapse__body_reader *reader);

/* Gives a reading to the thread. Returns false if there is no memory: nothing has changed. */
bool elapse__body_reader_give(struct elapse__body_reader *reader,
                              struct elapse__server_reading *reading);

/* Returns a reading that is done, or NULL. */
struct elapse__server_reading *elapse__body_reader_take(struct elapse__body_reader *reader);

/* Returns how many readings were given and not taken. Requires the thread of the loop. */
size_t elapse__body_reader_count(const struct elapse__body_reader *reader);

#endif
