/*
 * What the commands share that reply with pages: [cursor, [item, ...]]. And how a job is written.
 */
#ifndef ELAPSE__RESP_PAGING_H
#define ELAPSE__RESP_PAGING_H

#include "resp.h"

enum {
    ELAPSE__RESP_JOB_BYTES = 1600
}; /* room for a job, with the longest tube, reason and holder */

/* Keeps room for the head of a page. The head is written last, when the cursor is known. Returns
 * false if there is no memory. */
bool elapse__resp_begin_page(const struct elapse__resp_call *call);

/* Writes the head, and moves the items up to it. */
void elapse__resp_end_page(const struct elapse__resp_call *call, uint32_t cursor, uint32_t items);

/* Reads the options CURSOR and COUNT, whose values are in these places; 0: not given. No cursor
 * that a page has returned is greater than the number of jobs that there may be. If one is wrong,
 * replies with an error and returns false. */
bool elapse__resp_read_page(const struct elapse__resp_call *call, uint32_t cursor_place,
                            uint32_t count_place, uint32_t *cursor, uint32_t *count);

/* Write a job that LIST shows without its texts: as a part of a map of elapse__resp_job_pairs and
 * more pairs, and as a map of its own. */
extern const uint32_t elapse__resp_job_pairs;
void elapse__resp_write_job(struct elapse__wire_resp_writer *writer,
                            const struct elapse__queue_view *from);
void elapse__resp_reply_view(const struct elapse__resp_call *call,
                             const struct elapse__queue_view *view);

#endif
