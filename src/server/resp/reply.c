/*
 * Writes replies in RESP, and the words and errors in them.
 */
#include <string.h>

#include "reply.h"

void elapse__resp_add_bytes(struct elapse__resp_line *line, const void *bytes, size_t size)
{
    ELAPSE__ASSERT_THAT(line->size, <, sizeof line->text);
    size_t room = sizeof line->text - 1 - line->size;
    size_t some = size < room ? size : room;

    if (some > 0)
        memcpy(line->text + line->size, bytes, some);
    line->size += some;
    ELAPSE__ASSERT_THAT(line->size, <, sizeof line->text);
    line->text[line->size] = '\0';
}

void elapse__resp_add(struct elapse__resp_line *line, const char *text)
{
    elapse__resp_add_bytes(line, text, strlen(text));
}

void elapse__resp_add_number(struct elapse__resp_line *line, uint64_t number)
{
    char digits[ELAPSE__DECIMAL_BYTES];

    elapse__resp_add_bytes(line, digits, elapse__decimal_write(digits, number));
}

void elapse__resp_add_small(struct elapse__resp_line *line, const char *word)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";

    for (; *word != '\0'; word++) {
        bool capital = *word >= 'A' && *word <= 'Z';
        elapse__resp_add_bytes(line, capital ? &letters[*word - 'A'] : word, 1);
    }
}

struct elapse__wire_resp_writer elapse__resp_begin(struct elapse__connection *connection,
                                                   bool resp3, size_t size)
{
    ELAPSE__ASSERT_THAT(size, >, 0);
    char *bytes = elapse__reply_begin(connection, size);
    return (struct elapse__wire_resp_writer){
        .bytes = (unsigned char *)bytes, .capacity = bytes == NULL ? 0 : size, .resp3 = resp3};
}

void elapse__resp_end(struct elapse__connection *connection,
                      const struct elapse__wire_resp_writer *writer)
{
    ELAPSE__ASSERT_THAT(writer->size, <=, writer->capacity);
    ELAPSE__ASSERT(!writer->too_small || writer->bytes == NULL);
    if (writer->bytes != NULL)
        elapse__reply_end(connection, writer->size);
}

void elapse__resp_reply_word(const struct elapse__resp_call *call, const char *word)
{
    struct elapse__wire_resp_writer writer = elapse__resp_begin(
        call->connection, call->session->resp3, strlen(word) + ELAPSE__WIRE_RESP_FRAME_MAX);
    elapse__wire_resp_write_word(&writer, word);
    elapse__resp_end(call->connection, &writer);
}

static struct elapse__wire_resp_writer begin_frame(const struct elapse__resp_call *call)
{
    return elapse__resp_begin(call->connection, call->session->resp3, ELAPSE__WIRE_RESP_FRAME_MAX);
}

void elapse__resp_reply_integer(const struct elapse__resp_call *call, uint64_t value)
{
    struct elapse__wire_resp_writer writer = begin_frame(call);
    elapse__resp_write_number(&writer, value);
    elapse__resp_end(call->connection, &writer);
}

void elapse__resp_reply_bytes(const struct elapse__resp_call *call, const void *bytes, size_t size)
{
    struct elapse__wire_resp_writer writer = elapse__resp_begin(
        call->connection, call->session->resp3, size + ELAPSE__WIRE_RESP_FRAME_MAX);
    elapse__wire_resp_write_bytes(&writer, bytes, size);
    elapse__resp_end(call->connection, &writer);
}

void elapse__resp_reply_null(const struct elapse__resp_call *call)
{
    struct elapse__wire_resp_writer writer = begin_frame(call);
    elapse__wire_resp_write_null(&writer);
    elapse__resp_end(call->connection, &writer);
}

void elapse__resp_reply_no_array(const struct elapse__resp_call *call)
{
    struct elapse__wire_resp_writer writer = begin_frame(call);
    elapse__wire_resp_write_no_array(&writer);
    elapse__resp_end(call->connection, &writer);
}

void elapse__resp_reply_array(const struct elapse__resp_call *call, size_t count)
{
    struct elapse__wire_resp_writer writer = begin_frame(call);
    elapse__wire_resp_write_array(&writer, count);
    elapse__resp_end(call->connection, &writer);
}

void elapse__resp_reply_map(const struct elapse__resp_call *call, size_t pairs)
{
    struct elapse__wire_resp_writer writer = begin_frame(call);
    elapse__wire_resp_write_map(&writer, pairs);
    elapse__resp_end(call->connection, &writer);
}

void elapse__resp_begin_items(struct elapse__connection *connection, uint64_t context)
{
    if ((context & ELAPSE__RESP_CONTEXT_FIRST) == 0)
        return;
    struct elapse__wire_resp_writer writer =
        elapse__resp_begin(connection, false, (size_t)3 * ELAPSE__WIRE_RESP_FRAME_MAX);

    elapse__wire_resp_write_array(&writer, 2);
    elapse__wire_resp_write_integer(&writer,
                                    (int64_t)(context >> ELAPSE__RESP_CONTEXT_CURSOR_SHIFT));
    elapse__wire_resp_write_array(&writer,
                                  (context >> ELAPSE__RESP_CONTEXT_COUNT_SHIFT) & UINT16_MAX);
    elapse__resp_end(connection, &writer);
}

enum elapse__session_step
elapse__resp_reply_error(struct elapse__connection *connection, const char *text,
                         const struct elapse__wire_resp_argument *argument)
{
    enum { ARGUMENT_MAX = 64 };
    static const char question = '?';
    struct elapse__resp_line line = {.size = 0};

    ELAPSE__ASSERT(text[0] >= 'A' && text[0] <= 'Z' && strchr(text, ' ') != NULL);
    elapse__resp_add(&line, text);
    if (argument != NULL) {
        uint32_t shown = argument->size < ARGUMENT_MAX ? argument->size : ARGUMENT_MAX;
        elapse__resp_add(&line, " '");
        for (uint32_t i = 0; i < shown; i++)
            elapse__resp_add_bytes(
                &line, argument->bytes[i] == 0 ? (const void *)&question : &argument->bytes[i], 1);
        elapse__resp_add(&line, shown < argument->size ? "...'" : "'");
    }
    struct elapse__wire_resp_writer writer =
        elapse__resp_begin(connection, false, line.size + ELAPSE__WIRE_RESP_FRAME_MAX);
    elapse__wire_resp_write_error(&writer, line.text);
    elapse__resp_end(connection, &writer);
    return ELAPSE__STEP_RAN;
}

/* The words of the results that are no errors. */
static const char *const words[] = {
    [ELAPSE__QUEUE_OK] = "ok",
    [ELAPSE__QUEUE_SCHEDULED] = "scheduled",
    [ELAPSE__QUEUE_REPLACED] = "replaced",
    [ELAPSE__QUEUE_KEPT] = "kept",
    [ELAPSE__QUEUE_KNOWN] = "known",
    [ELAPSE__QUEUE_WAS_BURIED] = "buried",
    [ELAPSE__QUEUE_REMOVED] = "removed",
    [ELAPSE__QUEUE_RUNNING] = "running",
    [ELAPSE__QUEUE_RESCHEDULED] = "rescheduled",
    [ELAPSE__QUEUE_CANCELLED] = "cancelled",
    [ELAPSE__QUEUE_GONE] = "gone",
};

void elapse__resp_reply_job(const struct elapse__resp_call *call,
                            const struct elapse__queue_answer *answer)
{
    struct elapse__wire_resp_writer writer = elapse__resp_begin(
        call->connection, call->session->resp3, (size_t)4 * ELAPSE__WIRE_RESP_FRAME_MAX);

    ELAPSE__ASSERT_THAT(answer->result, <, sizeof words / sizeof *words);
    ELAPSE__ASSERT_THAT(answer->id, >, 0);
    elapse__wire_resp_write_array(&writer, 2);
    elapse__wire_resp_write_integer(&writer, (int64_t)answer->id);
    elapse__wire_resp_write_word(&writer, words[answer->result]);
    elapse__resp_end(call->connection, &writer);
}

static void reply_key_taken(const struct elapse__resp_call *call, uint64_t id)
{
    struct elapse__resp_line line = {.size = 0};

    ELAPSE__ASSERT_THAT(id, >, 0);
    elapse__resp_add(&line, "BUSYKEY ");
    elapse__resp_add_number(&line, id);
    elapse__resp_add(&line, " has this key");
    (void)elapse__resp_reply_error(call->connection, line.text, NULL);
}

static void reply_fault(const struct elapse__resp_call *call, const char *fault)
{
    struct elapse__resp_line line = {.size = 0};

    elapse__resp_add(&line, "ERR ");
    elapse__resp_add(&line, fault);
    (void)elapse__resp_reply_error(call->connection, line.text, NULL);
}

void elapse__resp_reply_result(const struct elapse__resp_call *call,
                               const struct elapse__queue_answer *answer)
{
    static const char *const errors[] = {
        [ELAPSE__QUEUE_NO_MEMORY] = "OOM there is no memory",
        [ELAPSE__QUEUE_LIMIT] = "LIMIT there are as many jobs or tubes as there may be",
        [ELAPSE__QUEUE_GROUPS_FULL] = "LIMIT there are as many groups as there may be",
        [ELAPSE__QUEUE_TOKENS_FULL] =
            "LIMIT there are as many tokens as there may be; try again later",
        [ELAPSE__QUEUE_REFUSED] = "DISKFULL the disk is full, and nothing has changed",
    };

    if (answer->result < sizeof words / sizeof *words)
        elapse__resp_reply_word(call, words[answer->result]);
    else if (answer->result == ELAPSE__QUEUE_KEY_TAKEN)
        reply_key_taken(call, answer->id);
    else if (answer->result == ELAPSE__QUEUE_ARGUMENT)
        reply_fault(call, answer->fault == NULL ? "an argument is wrong" : answer->fault);
    else {
        ELAPSE__ASSERT_THAT(answer->result, <, sizeof errors / sizeof *errors);
        (void)elapse__resp_reply_error(call->connection, errors[answer->result], NULL);
    }
}

const char *elapse__resp_state_name(enum elapse__queue_state state)
{
    static const char *const names[] = {
        [ELAPSE__QUEUE_FREE] = "any",      [ELAPSE__QUEUE_DELAYED] = "delayed",
        [ELAPSE__QUEUE_READY] = "ready",   [ELAPSE__QUEUE_RESERVED] = "reserved",
        [ELAPSE__QUEUE_BURIED] = "buried", [ELAPSE__QUEUE_SHADOW] = "cancelled",
    };
    ELAPSE__ASSERT_THAT(state, <, sizeof names / sizeof *names);
    return names[state];
}

void elapse__resp_write_number(struct elapse__wire_resp_writer *writer, uint64_t value)
{
    elapse__wire_resp_write_integer(writer, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

void elapse__resp_write_instant(struct elapse__wire_resp_writer *writer, int64_t at_ms)
{
    if (at_ms == 0)
        elapse__wire_resp_write_null(writer);
    else
        elapse__wire_resp_write_integer(writer, at_ms);
}

void elapse__resp_write_name(struct elapse__wire_resp_writer *writer,
                             struct elapse__queue_text text)
{
    if (text.size == 0)
        elapse__wire_resp_write_null(writer);
    else
        elapse__wire_resp_write_bytes(writer, text.bytes, text.size);
}

void elapse__resp_write_lease(struct elapse__wire_resp_writer *writer,
                              struct elapse__queue_lease lease)
{
    if (lease.number == 0) {
        elapse__wire_resp_write_null(writer);
        return;
    }
    char text[2 * ELAPSE__DECIMAL_BYTES + 1];
    size_t size = elapse__decimal_write(text, lease.life);

    text[size++] = '-';
    size += elapse__decimal_write(text + size, lease.number);
    elapse__wire_resp_write_bytes(writer, text, size);
}

static struct elapse__queue_answer do_change(struct elapse__queue *queue,
                                             struct elapse__queue_now now, const void *arguments)
{
    return elapse__queue_change(queue, now, arguments);
}

bool elapse__resp_is_only_checked(const struct elapse__resp_call *call)
{
    return call->pass != NULL && call->pass->kind == ELAPSE__RESP_COUNTS;
}

bool elapse__resp_make(const struct elapse__resp_call *call,
                       const struct elapse__queue_change *change,
                       struct elapse__queue_answer *answer)
{
    struct elapse__resp_pass *pass = call->pass;

    if (pass == NULL)
        return elapse__session_run(call->connection, do_change, change, answer);
    uint32_t place = pass->count++;
    ELAPSE__ASSERT(pass->kind == ELAPSE__RESP_COUNTS || place < ELAPSE__QUEUE_CHANGES_MAX);
    if (pass->kind == ELAPSE__RESP_COUNTS)
        pass->bytes += elapse__queue_change_bytes(change);
    else if (pass->kind == ELAPSE__RESP_COLLECTS)
        pass->changes[place] = *change;
    else
        *answer = pass->answers[place];
    return pass->kind == ELAPSE__RESP_REPLIES;
}

enum elapse__session_step elapse__resp_run_one(const struct elapse__resp_call *call,
                                               const struct elapse__queue_change *change)
{
    struct elapse__queue_answer answer;

    if (!elapse__resp_make(call, change, &answer))
        return ELAPSE__STEP_LATER;
    elapse__session_count(call->connection, (enum elapse__server_verb)call->command->verb);
    elapse__resp_reply_result(call, &answer);
    return ELAPSE__STEP_RAN;
}

enum elapse__session_step elapse__resp_run_part(const struct elapse__resp_call *call,
                                                uint32_t parts,
                                                const struct elapse__queue_change *change,
                                                bool *goes_on)
{
    struct elapse__resp_session *session = call->session;
    struct elapse__queue_answer answer;

    ELAPSE__ASSERT_THAT(session->done, <, parts);
    ELAPSE__ASSERT_THAT(parts, <, call->count);
    *goes_on = false;
    if (!elapse__resp_make(call, change, &answer)) {
        if (call->pass != NULL)
            *goes_on = ++session->done < parts;
        return ELAPSE__STEP_LATER;
    }
    elapse__session_count(call->connection, (enum elapse__server_verb)call->command->verb);
    if (session->done == 0)
        elapse__resp_reply_array(call, parts);
    else
        elapse__session_spend(call->connection, 1);
    elapse__resp_reply_result(call, &answer);
    session->done++;
    ELAPSE__ASSERT_THAT(session->done, <=, parts);
    if (session->done == parts)
        return ELAPSE__STEP_RAN;
    *goes_on = call->pass != NULL || session->done % ELAPSE__RESP_PARTS_A_STEP != 0;
    return ELAPSE__STEP_MORE;
}
