/*
 * Simulates a partition. It does what commands say, and remembers which client sent them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

static void answer(struct wire *wire, const char *text)
{
    (void)elapse__buffer_append(&wire->to_router, text, strlen(text));
}

static void answer_number(struct wire *wire, char mark, uint64_t number)
{
    char text[32];

    (void)snprintf(text, sizeof text, "%c%llu\r\n", mark, (unsigned long long)number);
    answer(wire, text);
}

static void answer_bytes(struct wire *wire, const void *bytes, size_t size)
{
    answer_number(wire, '$', size);
    (void)elapse__buffer_append(&wire->to_router, bytes, size);
    answer(wire, "\r\n");
}

static bool is(struct elapse__wire_resp_argument argument, const char *word)
{
    return argument.size == strlen(word) && memcmp(argument.bytes, word, argument.size) == 0;
}

/* Returns the number in an argument behind its first letter. */
static uint64_t number_in(struct elapse__wire_resp_argument argument, size_t from)
{
    char text[32] = "";
    size_t size = argument.size < from ? 0 : argument.size - from;

    if (size >= sizeof text)
        size = sizeof text - 1;
    memcpy(text, argument.bytes + from, size);
    return strtoull(text, NULL, 10);
}

/* A command is done: item `item` of it, or in this partition. */
static void note(struct wire *wire, uint64_t number, uint32_t item)
{
    struct command *command = command_of(number);
    uint32_t who = (uint32_t)((number - 1) / COMMANDS_MAX);
    uint32_t place = (uint32_t)((number - 1) % COMMANDS_MAX) + 1;
    uint32_t *last = &world.partition[wire->partition].last_done[who];

    if (command->done[item] > 0)
        violated("a command is done twice", number, item * 100 + command->verb);
    command->done[item]++;
    if (place < *last)
        command->came_late = true;
    else
        *last = place;
}

/* ids are ((number * 8 + item) * 1024) * partitions + partition, far above those of jobs. */
static void note_id(struct wire *wire, uint64_t id)
{
    if (id % world.partitions != wire->partition)
        violated("an id came to another partition", id, wire->partition);
    uint64_t code = id / world.partitions / 1024;
    note(wire, code / 8, (uint32_t)(code % 8));
}

static void do_put(struct wire *wire, const struct elapse__wire_resp_argument *arguments,
                   uint32_t count)
{
    struct partition *partition = &world.partition[wire->partition];
    uint64_t number = number_in(arguments[2], 1);

    for (uint32_t i = 0; i < partition->job_count; i++) {
        if (count == 5 && is(arguments[3], "TOKEN") && partition->jobs[i].number == number) {
            answer(wire, "*2\r\n");
            answer_number(wire, ':', partition->jobs[i].id);
            answer(wire, "+known\r\n");
            return;
        }
    }
    note(wire, number, 0);
    if (!may_have(wire->partition, (uint32_t)(arguments[1].bytes[0] - 'a')))
        violated("a put to a tube with braces came to another partition", number, wire->partition);
    if (partition->job_count == JOBS_MAX)
        violated("too many jobs", 0, 0);
    struct job *job = &partition->jobs[partition->job_count++];
    *job = (struct job){.id = partition->next_id,
                        .number = number,
                        .tube = (uint32_t)(arguments[1].bytes[0] - 'a')};
    partition->next_id += world.partitions;
    answer(wire, "*2\r\n");
    answer_number(wire, ':', job->id);
    answer(wire, "+scheduled\r\n");
}

static void do_reserve(struct wire *wire, const struct elapse__wire_resp_argument *arguments,
                       uint32_t count)
{
    struct partition *partition = &world.partition[wire->partition];
    uint32_t tube = (uint32_t)(arguments[1].bytes[0] - 'a');
    uint64_t most = 1;
    uint32_t found[8];
    uint32_t found_count = 0;

    if (!may_have(wire->partition, tube))
        violated("a partition is asked for jobs that it cannot have", wire->partition, tube);
    partition->asked[tube] = ++world.asked;
    for (uint32_t i = 1; i < count; i++) {
        if (is(arguments[i], "WAIT"))
            violated("a partition is asked to wait", 0, 0);
        if (is(arguments[i], "COUNT"))
            most = number_in(arguments[i + 1], 0);
    }
    for (uint32_t i = 0; i < partition->job_count && found_count < most; i++) {
        const struct job *job = &partition->jobs[i];
        if (job->state == JOB_READY && job->tube == tube)
            found[found_count++] = i;
    }
    answer_number(wire, '*', found_count);
    for (uint32_t i = 0; i < found_count; i++) {
        struct job *job = &partition->jobs[found[i]];
        char lease[32];
        job->state = JOB_RESERVED;
        job->lease = ++partition->next_lease;
        job->was_received = false;
        int size = snprintf(lease, sizeof lease, "1-%llu", (unsigned long long)job->lease);
        answer(wire, "*8\r\n");
        answer_number(wire, ':', job->id);
        answer_bytes(wire, lease, (size_t)size);
        answer_bytes(wire, "a", 1);
        answer(wire, "_\r\n");
        answer_bytes(wire, "body\r\n+x", 8);
        answer(wire, ":1\r\n:1\r\n:0\r\n");
    }
}

/* The router gives a job back. */
static void do_nack(struct wire *wire, const struct elapse__wire_resp_argument *arguments,
                    uint32_t count)
{
    struct partition *partition = &world.partition[wire->partition];

    if (count != 5 || !is(arguments[3], "IN") || !is(arguments[4], "0s"))
        violated("a NACK that is none of the router's", count, 0);
    for (uint32_t i = 0; i < partition->job_count; i++) {
        struct job *job = &partition->jobs[i];
        if (job->id == number_in(arguments[1], 0) && job->state == JOB_RESERVED &&
            job->lease == number_in(arguments[2], 2)) {
            if (job->was_received)
                violated("a job that was received is given back", job->id, 0);
            job->state = JOB_READY;
            answer(wire, "+ok\r\n");
            return;
        }
    }
    answer(wire, "+gone\r\n");
}

/* Cursors of a partition: 0, then 7, then the end. */
static void do_list(struct wire *wire, const struct elapse__wire_resp_argument *arguments,
                    uint32_t count)
{
    uint64_t cursor = 0;

    for (uint32_t i = 2; i + 1 < count; i++) {
        if (is(arguments[i], "CURSOR"))
            cursor = number_in(arguments[i + 1], 0);
    }
    answer(wire, "*2\r\n");
    answer_number(wire, ':', cursor == 0 ? 7 : 0);
    answer(wire, "*1\r\n%1\r\n");
    answer_bytes(wire, arguments[1].bytes, arguments[1].size);
    answer_number(wire, ':', wire->partition);
}

static void do_items(struct wire *wire, const struct elapse__wire_resp_argument *arguments,
                     uint32_t count)
{
    bool is_extend = is(arguments[0], "EXTEND");
    bool has_leases = is_extend || is(arguments[0], "ACK");
    bool is_cancel = is(arguments[0], "CANCEL");
    uint32_t each = has_leases ? 2 : 1;
    uint32_t first = is_cancel ? 2 : 1;

    if (!is_extend || count > first + each)
        answer_number(wire, '*', (count - first) / each);
    for (uint32_t i = first; i < count; i += each) {
        if (!is_cancel) {
            note_id(wire, number_in(arguments[i], 0));
        } else {
            uint64_t code = number_in(arguments[i], 1);
            note(wire, code / 8, (uint32_t)(code % 8));
        }
        answer(wire, has_leases ? "+ok\r\n" : "+removed\r\n");
    }
}

/* Between MULTI and EXEC, and these. Now and then a lease has ended, and EXEC does nothing. */
static void do_transaction(struct wire *wire, const struct elapse__wire_resp_argument *arguments)
{
    if (is(arguments[0], "MULTI")) {
        if (wire->is_multi)
            violated("MULTI in a transaction", wire->partition, wire->queued_count);
        wire->is_multi = true;
        wire->queued_count = 0;
        answer(wire, "+OK\r\n");
        return;
    }
    if (!wire->is_multi)
        violated("EXEC without MULTI", wire->partition, 0);
    if (is(arguments[0], "KICKID")) {
        wire->queued[wire->queued_count++] = number_in(arguments[1], 0);
        answer(wire, "+QUEUED\r\n");
        return;
    }
    if (!is(arguments[0], "EXEC"))
        violated("a command of others is in a transaction", wire->partition, wire->queued_count);
    wire->is_multi = false;
    if (choose(8) == 0) {
        answer(wire, "_\r\n");
        return;
    }
    answer_number(wire, '*', wire->queued_count);
    for (uint32_t i = 0; i < wire->queued_count; i++) {
        note_id(wire, wire->queued[i]);
        answer(wire, "+ok\r\n");
    }
}

/* Commands for all partitions: what they add up to is known. */
static void do_all(struct wire *wire, const struct elapse__wire_resp_argument *arguments)
{
    uint64_t number = number_in(arguments[1], 1);

    if (is(arguments[0], "STATS")) {
        answer(wire, "%3\r\n$5\r\nready\r\n:1\r\n$6\r\nuptime\r\n");
        answer_number(wire, ':', 5 + wire->partition);
        answer(wire, "$8\r\ndraining\r\n");
        answer(wire, wire->partition == 0 ? "#t\r\n" : "#f\r\n");
        return;
    }
    note(wire, number, wire->partition);
    if (is(arguments[0], "PAUSE"))
        answer(wire, wire->partition == 0 ? "+ok\r\n" : "+gone\r\n");
    else if (is(arguments[0], "KICK"))
        answer(wire, is(arguments[2], "0") ? ":0\r\n" : ":1\r\n");
    else
        answer(wire, "%2\r\n$7\r\nremoved\r\n:1\r\n$7\r\nrunning\r\n:2\r\n");
}

static void greet(struct wire *wire, const struct elapse__wire_resp_argument *arguments)
{
    if (is(arguments[0], "HELLO")) {
        answer(wire, "%1\r\n$5\r\nproto\r\n:3\r\n");
    } else if (wire->epoch != world.partition[wire->partition].epoch) {
        answer(wire, "-NOTOWNER another node\r\n");
    } else {
        answer(wire, "+OK\r\n");
        wire->is_open = true;
    }
}

void model_do(struct wire *wire, const struct elapse__wire_resp_argument *arguments, uint32_t count)
{
    if (is(arguments[0], "HELLO") || is(arguments[0], "NODE")) {
        greet(wire, arguments);
        return;
    }
    if (wire->epoch != world.partition[wire->partition].epoch) {
        answer(wire, "-NOTOWNER another node\r\n");
        return;
    }
    if (wire->is_multi || is(arguments[0], "MULTI") || is(arguments[0], "EXEC")) {
        do_transaction(wire, arguments);
    } else if (is(arguments[0], "PUT")) {
        do_put(wire, arguments, count);
    } else if (is(arguments[0], "RESERVE")) {
        do_reserve(wire, arguments, count);
    } else if (is(arguments[0], "NACK")) {
        do_nack(wire, arguments, count);
    } else if (is(arguments[0], "LIST")) {
        do_list(wire, arguments, count);
    } else if (is(arguments[0], "CANCELID") || is(arguments[0], "CANCEL") ||
               is(arguments[0], "ACK") || is(arguments[0], "EXTEND")) {
        do_items(wire, arguments, count);
    } else if (is(arguments[0], "KICKID")) {
        if (!is(arguments[1], "x")) {
            note_id(wire, number_in(arguments[1], 0));
            answer(wire, "+ok\r\n");
        } else {
            answer(wire, "-ERR not the id of a job: 'x'\r\n");
        }
    } else if (is(arguments[0], "RESCHEDULE")) {
        uint64_t code = number_in(arguments[2], 1);
        note(wire, code / 8, (uint32_t)(code % 8));
        answer(wire, "+rescheduled\r\n");
    } else if (is(arguments[0], "LOOKUPID") || is(arguments[0], "lookup")) {
        struct elapse__wire_resp_argument last = arguments[count - 1];
        answer(wire, "%2\r\n$4\r\nname\r\n");
        answer_bytes(wire, last.bytes, last.size);
        answer(wire, "$3\r\ntag\r\n_\r\n");
    } else {
        do_all(wire, arguments);
    }
}
