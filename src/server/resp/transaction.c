#include "transaction.h"

#include <stdlib.h>

#include "../../base/buffer.h"
#include "commands.h"
#include "options.h"
#include "reply.h"
#include "rights.h"

struct elapse__resp_transaction {
    struct elapse__buffer bytes; /* for each command: a struct kept_command, and the arguments */
    uint32_t count;              /* how many commands are kept */
    uint32_t parts;              /* the number of changes and of commands that change nothing */
    uint64_t record_bytes;       /* the most bytes that the records of all changes take */
    const char *spoiled;         /* why EXEC will do nothing; NULL: EXEC will do all commands */
};

struct kept_command {
    const struct elapse__resp_command *command;
    uint32_t count; /* how many arguments follow: for each its size in four bytes, and its bytes */
};

/* Reads the commands of a transaction, one after another. */
struct reader {
    const uint8_t *next;
    uint32_t left; /* commands */
    struct elapse__wire_resp_argument arguments[ELAPSE__WIRE_RESP_ARGUMENTS_MAX];
};

/* ---- life ---- */

#define EXECABORT "EXECABORT Transaction discarded because of previous errors."

/* The transaction of every connection whose MULTI was refused. Clients send the commands after
 * MULTI without waiting for its reply, and none of these commands may run by itself. */
static struct elapse__resp_transaction refused = {.spoiled = EXECABORT};

void elapse__resp_transaction_end(struct elapse__connection *connection)
{
    struct elapse__resp_session *session = elapse__session(connection);

    if (session->transaction == NULL)
        return;
    if (session->transaction != &refused) {
        elapse__session_keep_nothing(connection);
        elapse__buffer_free(&session->transaction->bytes);
        free(session->transaction);
    }
    session->transaction = NULL;
}

/* Spoils the transaction. Its commands are forgotten at once. The client learns from EXEC that
 * nothing was done. */
static void spoil(struct elapse__connection *connection, const char *why)
{
    const struct elapse__resp_session *session = elapse__session(connection);
    struct elapse__resp_transaction *transaction = session->transaction;

    if (transaction == NULL || transaction->spoiled != NULL)
        return;
    transaction->spoiled = why;
    elapse__session_keep_nothing(connection);
    elapse__buffer_free(&transaction->bytes);
}

void elapse__resp_spoil(struct elapse__connection *connection)
{
    spoil(connection, EXECABORT);
}

void elapse__resp_kept_too_long(struct elapse__connection *connection)
{
    spoil(connection, "EXECABORT Transaction discarded: nothing came for 60 s.");
}

/* Replies with an error and spoils the transaction. */
static enum elapse__session_step refuse(const struct elapse__resp_call *call, const char *text,
                                        const struct elapse__wire_resp_argument *argument)
{
    elapse__resp_spoil(call->connection);
    return elapse__resp_reply_error(call->connection, text, argument);
}

/* Begins a transaction that will do nothing, and replies with the error. */
static enum elapse__session_step refuse_multi(const struct elapse__resp_call *call,
                                              const char *text)
{
    elapse__resp_transaction_end(call->connection);
    call->session->transaction = &refused;
    return elapse__resp_reply_error(call->connection, text, NULL);
}

enum elapse__session_step elapse__resp_multi(const struct elapse__resp_call *call)
{
    if (call->session->transaction != NULL)
        return refuse(call, "ERR MULTI calls can not be nested", NULL);
    call->session->transaction = calloc(1, sizeof *call->session->transaction);
    if (call->session->transaction == NULL)
        return refuse_multi(call, "OOM there is no memory");
    if (!elapse__session_keep(call->connection, sizeof *call->session->transaction))
        return refuse_multi(call, "OOM too many transactions are open; try again later");
    elapse__resp_reply_word(call, "OK");
    return ELAPSE__STEP_RAN;
}

enum elapse__session_step elapse__resp_discard(const struct elapse__resp_call *call)
{
    if (call->session->transaction == NULL)
        return elapse__resp_reply_error(call->connection, "ERR DISCARD without MULTI", NULL);
    elapse__resp_transaction_end(call->connection);
    elapse__resp_reply_word(call, "OK");
    return ELAPSE__STEP_RAN;
}

enum elapse__session_step elapse__resp_watch(const struct elapse__resp_call *call)
{
    return refuse(call,
                  "ERR there is nothing to WATCH: guard a transaction with LEASED id lease, behind "
                  "MULTI",
                  NULL);
}

/* ---- between MULTI and EXEC ---- */

/* Runs the function of a command as a pass. Returns whether the function has gone to its end.
 * Otherwise the function has replied with an error. */
static bool passes(const struct elapse__resp_call *call)
{
    enum elapse__session_step wanted =
        call->pass->kind == ELAPSE__RESP_REPLIES ? ELAPSE__STEP_RAN : ELAPSE__STEP_LATER;
    ELAPSE__ASSERT_THAT(call->session->done, ==, 0);
    enum elapse__session_step step = call->command->run(call);

    call->session->done = 0;
    return step == wanted;
}

static bool changes_jobs(const struct elapse__resp_command *command)
{
    return (command->flags & ELAPSE__RESP_WRITES) != 0;
}

static size_t kept_size(const struct elapse__resp_call *call)
{
    size_t size = sizeof(struct kept_command);

    for (uint32_t i = 0; i < call->count; i++)
        size += sizeof(uint32_t) + call->arguments[i].size;
    return size;
}

/* Keeps a copy of the arguments. Returns false if there is no memory. */
static bool keep(const struct elapse__resp_call *call)
{
    const struct kept_command kept = {.command = call->command, .count = call->count};
    struct elapse__buffer *bytes = &call->session->transaction->bytes;
    size_t size = kept_size(call);

    if (!elapse__session_keep(call->connection, size) || !elapse__buffer_reserve(bytes, size))
        return false;
    (void)elapse__buffer_append(bytes, &kept, sizeof kept);
    for (uint32_t i = 0; i < call->count; i++) {
        uint32_t length = call->arguments[i].size;
        (void)elapse__buffer_append(bytes, &length, sizeof length);
        (void)elapse__buffer_append(bytes, call->arguments[i].bytes, length);
    }
    return true;
}

/* Counts the changes of the command. If the command is wrong, or the transaction becomes too long,
 * replies with the error and returns false. */
static bool fits(const struct elapse__resp_call *call)
{
    struct elapse__resp_transaction *transaction = call->session->transaction;
    const struct elapse__resp_pass *pass = call->pass;

    if (!passes(call)) {
        elapse__resp_spoil(call->connection);
        return false;
    }
    transaction->parts += pass->count > 0 ? pass->count : 1;
    transaction->record_bytes += pass->bytes;
    if (transaction->parts > ELAPSE__QUEUE_CHANGES_MAX) {
        (void)refuse(call,
                     "ERR a transaction has at most 1000 commands; each key, id or lease of "
                     "a command counts as one",
                     NULL);
        return false;
    }
    /* ECHO and other commands have no record, but their arguments are kept. */
    uint64_t bytes_max = elapse__session_transaction_bytes_max(call->connection);
    if (transaction->record_bytes > bytes_max ||
        elapse__buffer_size(&transaction->bytes) + kept_size(call) > bytes_max) {
        (void)refuse(call, "ERR the transaction is too long; docs/protocol.md has the limit", NULL);
        return false;
    }
    return true;
}

enum elapse__session_step elapse__resp_queue(const struct elapse__resp_call *call)
{
    struct elapse__resp_transaction *transaction = call->session->transaction;
    struct elapse__resp_pass pass = {.kind = ELAPSE__RESP_COUNTS};
    struct elapse__resp_call counted = *call;

    ELAPSE__ASSERT(transaction != NULL);
    counted.pass = &pass;
    if ((call->command->flags & ELAPSE__RESP_QUEUES) == 0)
        return refuse(call,
                      "ERR send it outside of the transaction (in redis-py: "
                      "pipeline(transaction=False)), not between MULTI and EXEC:",
                      &call->arguments[0]);
    if (transaction->spoiled == NULL) {
        if (!fits(&counted))
            return ELAPSE__STEP_RAN;
        if (!keep(call))
            return refuse(call, "OOM too many transactions are open; try again later", NULL);
        transaction->count++;
        ELAPSE__ASSERT_THAT(transaction->count, <=, transaction->parts);
    }
    elapse__resp_reply_word(call, "QUEUED");
    return ELAPSE__STEP_RAN;
}

/* ---- EXEC ---- */

/* Reads the next command into `call`. Returns false after the last command. */
static bool read_command(struct reader *reader, struct elapse__resp_call *call)
{
    struct kept_command kept;

    if (reader->left == 0)
        return false;
    reader->left--;
    memcpy(&kept, reader->next, sizeof kept);
    reader->next += sizeof kept;
    ELAPSE__ASSERT_THAT(kept.count, >, 0);
    ELAPSE__ASSERT_THAT(kept.count, <=, (uint32_t)ELAPSE__WIRE_RESP_ARGUMENTS_MAX);
    for (uint32_t i = 0; i < kept.count; i++) {
        uint32_t size;
        memcpy(&size, reader->next, sizeof size);
        reader->arguments[i] =
            (struct elapse__wire_resp_argument){.bytes = reader->next + sizeof size, .size = size};
        reader->next += sizeof size + size;
    }
    call->command = kept.command;
    call->arguments = reader->arguments;
    call->count = kept.count;
    return true;
}

static struct elapse__resp_call begin_pass(const struct elapse__resp_call *exec,
                                           struct reader *reader, struct elapse__resp_pass *pass)
{
    ELAPSE__ASSERT(exec->session->transaction->spoiled == NULL); /* its bytes would be freed */
    reader->next = elapse__buffer_first(&exec->session->transaction->bytes);
    reader->left = exec->session->transaction->count;
    pass->count = 0;
    struct elapse__resp_call call = *exec;
    call.pass = pass;
    return call;
}

/* Collects the changes of all commands. If a command may not run now, replies with the error and
 * returns false. */
static bool collect(const struct elapse__resp_call *exec, struct reader *reader,
                    struct elapse__resp_pass *pass)
{
    struct elapse__resp_call call = begin_pass(exec, reader, pass);

    pass->kind = ELAPSE__RESP_COLLECTS;
    while (read_command(reader, &call)) {
        if (!elapse__resp_is_allowed(&call))
            return false;
        if (changes_jobs(call.command) && !passes(&call))
            return false;
    }
    ELAPSE__ASSERT_THAT(pass->count, <=, exec->session->transaction->parts);
    return true;
}

/* Replies with an array of the replies to all commands. */
static void reply_all(const struct elapse__resp_call *exec, struct reader *reader,
                      struct elapse__resp_pass *pass)
{
    struct elapse__resp_call call = begin_pass(exec, reader, pass);

    pass->kind = ELAPSE__RESP_REPLIES;
    elapse__resp_reply_array(exec, exec->session->transaction->count);
    while (read_command(reader, &call)) {
        bool has_replied = passes(&call);
        ELAPSE__ASSERT(has_replied);
        (void)has_replied;
        elapse__session_spend(exec->connection, 1);
    }
}

struct transaction_arguments {
    const struct elapse__queue_change *changes;
    uint32_t count;
    struct elapse__queue_answer *answers;
};

static struct elapse__queue_answer do_transact(struct elapse__queue *queue,
                                               struct elapse__queue_now now, const void *arguments)
{
    const struct transaction_arguments *with = arguments;
    return elapse__queue_transact(queue, now, with->changes, with->count, with->answers);
}

/* Makes the changes, and replies. Returns false if the journal takes nothing now. */
static bool make_all(const struct elapse__resp_call *exec, struct reader *reader,
                     struct elapse__resp_pass *pass, struct elapse__queue_answer *answers)
{
    struct elapse__queue_answer answer = {.result = ELAPSE__QUEUE_OK};

    if (!collect(exec, reader, pass))
        return true;
    const struct transaction_arguments arguments = {pass->changes, pass->count, answers};
    if (pass->count > 0 && !elapse__session_run(exec->connection, do_transact, &arguments, &answer))
        return false;
    pass->answers = answers;
    if (answer.result == ELAPSE__QUEUE_OK)
        reply_all(exec, reader, pass);
    else if (answer.result == ELAPSE__QUEUE_GONE)
        elapse__resp_reply_no_array(exec);
    else
        elapse__resp_reply_result(exec, &answer);
    /* Each pass goes over the same changes. */
    ELAPSE__ASSERT(answer.result != ELAPSE__QUEUE_OK || pass->count == arguments.count);
    return true;
}

/* Runs a transaction that is not spoiled. Returns false if the journal takes nothing now. */
static bool execute(const struct elapse__resp_call *exec)
{
    uint32_t parts = exec->session->transaction->parts;
    struct elapse__resp_pass pass = {.count = 0};
    struct elapse__queue_answer *answers = calloc((size_t)parts + 1, sizeof *answers);
    struct reader *reader = malloc(sizeof *reader);
    bool is_done = true;

    pass.changes = calloc((size_t)parts + 1, sizeof *pass.changes);
    if (answers != NULL && pass.changes != NULL && reader != NULL)
        is_done = make_all(exec, reader, &pass, answers);
    else
        (void)elapse__resp_reply_error(exec->connection, "OOM there is no memory", NULL);
    free(pass.changes);
    free(answers);
    free(reader);
    return is_done;
}

enum elapse__session_step elapse__resp_exec(const struct elapse__resp_call *call)
{
    const struct elapse__resp_transaction *transaction = call->session->transaction;

    if (transaction == NULL)
        return elapse__resp_reply_error(call->connection, "ERR EXEC without MULTI", NULL);
    if (transaction->spoiled != NULL)
        (void)elapse__resp_reply_error(call->connection, transaction->spoiled, NULL);
    else if (!execute(call))
        return ELAPSE__STEP_LATER;
    elapse__resp_transaction_end(call->connection);
    return ELAPSE__STEP_RAN;
}
