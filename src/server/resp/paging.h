/*
 * Writes pages, which are replies of the form [cursor, [item, ...]], and the jobs in them.
 */
#ifndef ELAPSE__RESP_PAGING_H
#define ELAPSE__RESP_PAGING_H

#include "resp.h"

enum {
    ELAPSE__RESP_JOB_BYTES = 1600
}; /* room for a job with the longest names of its tube and its holder, and the longest reason */

/* Reserves room for the head of a page. The head is written last, when the cursor is known. Returns
 * false if there is no memory. */
bool elapse__resp_begin_page(const struct elapse__resp_call *call);

/* Writes the head of the page, and moves the items so that they follow the head. */
void elapse__resp_end_page(const struct elapse__resp_call *call, uint32_t cursor, uint32_t items);

/* Reads the options CURSOR and COUNT, whose values are in these places; 0: the option was not
 * given. A page never returns a cursor that is greater than the number of jobs that there may be.
 * If a value is wrong, replies with an error and returns false. */
bool elapse__resp_read_page(const struct elapse__resp_call *call, uint32_t cursor_place,
                            uint32_t count_place, uint32_t *cursor, uint32_t *count);

/* These functions write a job that LIST shows without its texts. The first writes
 * elapse__resp_job_pairs pairs of a map, which may have more pairs. The second writes a whole map.
 */
extern const uint32_t elapse__resp_job_pairs;
void elapse__resp_write_job(struct elapse__wire_resp_writer *writer,
                            const struct elapse__queue_view *from);
void elapse__resp_reply_view(const struct elapse__resp_call *call,
                             const struct elapse__queue_view *view);

#endif
