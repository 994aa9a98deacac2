/*
 * Reads the arguments of commands.
 */
#ifndef ELAPSE__RESP_OPTIONS_H
#define ELAPSE__RESP_OPTIONS_H

#include "resp.h"

struct elapse__queue_text elapse__resp_text(struct elapse__wire_resp_argument argument);

/* Each function below reads the argument with the number `place`. If the argument is wrong, the
 * function replies with an error and returns false. */
bool elapse__resp_read_number(const struct elapse__resp_call *call, uint32_t place,
                              uint64_t greatest, uint64_t *number);
/* Reads the id of a job. The user of the call may lack the right of the command for the tube of the
 * job. Then the function stores an id that no job has, so the command answers as if the job did not
 * exist. */
bool elapse__resp_read_id(const struct elapse__resp_call *call, uint32_t place, uint64_t *id);
bool elapse__resp_read_moment(const struct elapse__resp_call *call, uint32_t place, int64_t *at_ms);
/* Reads a duration, and rounds it up to whole milliseconds, the unit of the queue. */
bool elapse__resp_read_duration(const struct elapse__resp_call *call, uint32_t place,
                                uint64_t *duration_ms);
/* Reads the id of a job from the argument `place`, and its lease from the argument `place + 1`. */
bool elapse__resp_read_holder(const struct elapse__resp_call *call, uint32_t place,
                              struct elapse__queue_holder *holder);

/* Finds the options in the arguments from `first` on. Stores for each option the place of its first
 * value, or 0 if it was not given. If an argument is no option, replies with an error and returns
 * false. */
bool elapse__resp_find_options(const struct elapse__resp_call *call, uint32_t first,
                               const struct elapse__wire_resp_option *options,
                               uint32_t option_count, uint32_t *places);

/* Reads IN or AT and its value. The argument `first` is the word IN or AT. */
bool elapse__resp_read_time(const struct elapse__resp_call *call, uint32_t first,
                            struct elapse__queue_time *time);

/* Reads the options STATE and TAG of a filter. `state` and `tag` are the places of their values; 0:
 * the option was not given. */
bool elapse__resp_read_filter(const struct elapse__resp_call *call, uint32_t state, uint32_t tag,
                              struct elapse__queue_filter *filter);

#endif
