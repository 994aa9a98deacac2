/*
 * A body reader reads bodies that are not in the page cache. A thread does this, so that the loop
 * never waits for the disk. Each core has a reader. All readers of a process share one thread. A
 * reading (src/server/core/core.h) is the work to read one body.
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

/* Ends the thread. Requires that all its readers are closed. */
void elapse__body_thread_stop(struct elapse__body_thread *thread);

/* Makes a reader of this journal. Returns NULL if there is no memory, or the system has no
 * descriptor to give. */
struct elapse__body_reader *elapse__body_reader_open(struct elapse__body_thread *thread,
                                                     const struct elapse__journal *journal);

/* Drops the readings that the thread has not begun. elapse__body_reader_take returns them as done,
 * although they were not performed. So a core that hands out nothing any more does not wait for the
 * readings of other cores. */
void elapse__body_reader_withdraw(struct elapse__body_reader *reader);

/* Withdraws the readings that the thread has not begun. Waits until the reading that has begun is
 * done. Then releases the reader. Readings that were not taken are lost. */
void elapse__body_reader_close(struct elapse__body_reader *reader);

/* elapse__body_reader_descriptor returns a descriptor. It becomes readable when a reading is done,
 * and stays readable until elapse__body_reader_quiet is called. */
int elapse__body_reader_descriptor(const struct elapse__body_reader *reader);
void elapse__body_reader_quiet(const struct elapse__body_reader *reader);

/* Gives a reading to the thread. Returns false, and changes nothing, if there is no memory. */
bool elapse__body_reader_give(struct elapse__body_reader *reader,
                              struct elapse__server_reading *reading);

/* Returns a reading that is done; NULL if there is none. */
struct elapse__server_reading *elapse__body_reader_take(struct elapse__body_reader *reader);

/* Returns how many readings were given and not taken. Only the thread of the loop may call this. */
size_t elapse__body_reader_count(const struct elapse__body_reader *reader);

#endif
