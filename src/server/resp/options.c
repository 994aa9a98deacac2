/*
 * Reads numbers, ids, times, durations and options from arguments.
 */
#include <string.h>

#include "../../protocol/duration.h"
#include "options.h"
#include "reply.h"
#include "rights.h"

#define NO_JOB ((uint64_t)ELAPSE__QUEUE_ID_MAX + 1)

struct elapse__queue_text elapse__resp_text(struct elapse__wire_resp_argument argument)
{
    return (struct elapse__queue_text){.bytes = argument.bytes, .size = argument.size};
}

static bool refuse(const struct elapse__resp_call *call, uint32_t place, const char *text)
{
    (void)elapse__resp_reply_error(call->connection, text,
                                   place < call->count ? &call->arguments[place] : NULL);
    return false;
}

bool elapse__resp_read_number(const struct elapse__resp_call *call, uint32_t place,
                              uint64_t greatest, uint64_t *number)
{
    struct elapse__wire_resp_argument argument = call->arguments[place];

    ELAPSE__ASSERT_THAT(place, <, call->count);
    if (elapse__decimal_read(argument.bytes, argument.size, greatest, number))
        return true;
    return refuse(call, place, "ERR not a number, or out of range:");
}

bool elapse__resp_read_id(const struct elapse__resp_call *call, uint32_t place, uint64_t *id)
{
    struct elapse__wire_resp_argument argument = call->arguments[place];

    ELAPSE__ASSERT_THAT(place, <, call->count);
    if (!elapse__decimal_read(argument.bytes, argument.size, ELAPSE__QUEUE_ID_MAX, id) || *id == 0)
        return refuse(call, place, "ERR not the id of a job:");
    if (call->user != NULL && !elapse__resp_may_see(call, *id))
        *id = NO_JOB;
    return true;
}

bool elapse__resp_read_moment(const struct elapse__resp_call *call, uint32_t place, int64_t *at_ms)
{
    uint64_t number = 0;

    if (!elapse__resp_read_number(call, place, (uint64_t)ELAPSE__QUEUE_WALL_MS_MAX, &number))
        return false;
    ELAPSE__ASSERT_THAT(number, <=, (uint64_t)ELAPSE__QUEUE_WALL_MS_MAX);
    *at_ms = (int64_t)number;
    return true;
}

static bool refuse_duration(const struct elapse__resp_call *call, uint32_t place, const char *fault)
{
    struct elapse__resp_line line = {.size = 0};

    elapse__resp_add(&line, "ERR ");
    elapse__resp_add(&line, fault);
    elapse__resp_add(&line, ":");
    return refuse(call, place, line.text);
}

bool elapse__resp_read_duration(const struct elapse__resp_call *call, uint32_t place,
                                uint64_t *duration_ms)
{
    enum { NS_PER_MS = 1000000 };
    struct elapse__wire_resp_argument argument = call->arguments[place];
    uint64_t duration_ns = 0;

    ELAPSE__ASSERT_THAT(place, <, call->count);
    const char *fault =
        elapse__duration_parse((const char *)argument.bytes, argument.size, &duration_ns);
    if (fault == NULL) {
        *duration_ms = duration_ns / NS_PER_MS + (duration_ns % NS_PER_MS > 0);
        if (*duration_ms <= (uint64_t)ELAPSE__QUEUE_DELAY_MS_MAX)
            return true;
        fault = "the duration is longer than 292 years";
    }
    return refuse_duration(call, place, fault);
}

/* Reads a lease, which is written as "<life>-<number>". Returns false if the argument is no lease.
 */
static bool read_lease(struct elapse__wire_resp_argument argument,
                       struct elapse__queue_lease *lease)
{
    uint64_t life = 0;
    const unsigned char *dash = memchr(argument.bytes, '-', argument.size);

    if (dash == NULL)
        return false;
    size_t before = (size_t)(dash - argument.bytes);
    if (!elapse__decimal_read(argument.bytes, before, UINT32_MAX, &life) ||
        !elapse__decimal_read(dash + 1, argument.size - before - 1, UINT64_MAX, &lease->number))
        return false;
    lease->life = (uint32_t)life;
    return true;
}

bool elapse__resp_read_holder(const struct elapse__resp_call *call, uint32_t place,
                              struct elapse__queue_holder *holder)
{
    ELAPSE__ASSERT_THAT(place, >, 0);
    *holder = (struct elapse__queue_holder){.id = 0};
    if (!elapse__resp_read_id(call, place, &holder->id))
        return false;
    ELAPSE__ASSERT_THAT(place + 1, <, call->count);
    if (read_lease(call->arguments[place + 1], &holder->lease))
        return true;
    return refuse(call, place + 1, "ERR not a lease:");
}

static bool refuse_option(const struct elapse__resp_call *call,
                          const struct elapse__wire_resp_fault *fault)
{
    struct elapse__resp_line line = {.size = 0};

    elapse__resp_add(&line, "ERR syntax error: ");
    elapse__resp_add(&line, fault->text);
    return refuse(call, fault->place, line.text);
}

bool elapse__resp_find_options(const struct elapse__resp_call *call, uint32_t first,
                               const struct elapse__wire_resp_option *options,
                               uint32_t option_count, uint32_t *places)
{
    struct elapse__wire_resp_fault fault;

    return elapse__wire_resp_find_options(call->arguments, call->count, first, options,
                                          option_count, places, &fault) ||
           refuse_option(call, &fault);
}

bool elapse__resp_read_time(const struct elapse__resp_call *call, uint32_t first,
                            struct elapse__queue_time *time)
{
    ELAPSE__ASSERT_THAT(first + 1, <, call->count);
    *time = (struct elapse__queue_time){.when = ELAPSE__QUEUE_IN};
    if (elapse__wire_resp_is(call->arguments[first], "IN"))
        return elapse__resp_read_duration(call, first + 1, &time->delay_ms);
    if (!elapse__wire_resp_is(call->arguments[first], "AT"))
        return refuse(call, first, "ERR syntax error: IN or AT is expected, not");
    time->when = ELAPSE__QUEUE_AT;
    return elapse__resp_read_moment(call, first + 1, &time->at_ms);
}

bool elapse__resp_read_filter(const struct elapse__resp_call *call, uint32_t state, uint32_t tag,
                              struct elapse__queue_filter *filter)
{
    static const struct {
        const char *name;
        enum elapse__queue_state state;
    } states[] = {
        {"DELAYED", ELAPSE__QUEUE_DELAYED},
        {"READY", ELAPSE__QUEUE_READY},
        {"RESERVED", ELAPSE__QUEUE_RESERVED},
        {"BURIED", ELAPSE__QUEUE_BURIED},
    };
    enum { STATES = sizeof states / sizeof *states };

    ELAPSE__ASSERT_THAT(state, <, call->count);
    ELAPSE__ASSERT_THAT(tag, <, call->count);
    *filter = (struct elapse__queue_filter){.tube = elapse__resp_text(call->arguments[1]),
                                            .state = ELAPSE__QUEUE_FREE};
    if (filter->tube.size == 0 || filter->tube.size > ELAPSE__QUEUE_TUBE_BYTES_MAX)
        return refuse(call, 1, "ERR the name of a tube has 1 to 200 bytes:");
    if (state != 0) {
        uint32_t i = 0;
        while (i < STATES && !elapse__wire_resp_is(call->arguments[state], states[i].name))
            i++;
        if (i == STATES)
            return refuse(call, state, "ERR a state is delayed, ready, reserved or buried, not");
        filter->state = states[i].state;
    }
    if (tag != 0) {
        filter->tag = elapse__resp_text(call->arguments[tag]);
        if (filter->tag.size == 0 || filter->tag.size > ELAPSE__QUEUE_KEY_BYTES_MAX)
            return refuse(call, tag, "ERR a tag has 1 to 250 bytes:");
    }
    return true;
}
