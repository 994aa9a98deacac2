/*
 * The native protocol: the commands of docs/protocol.md, in RESP.
 *
 *      bytes --> resp_parse --> arguments --> resp_commands: which command --> its function
 *                                                                                   |
 *      bytes <-- resp_write <----------- replies (resp_reply) <---------------------+
 *
 *   resp.c           a connection: parsing, who may do what, which function
 *   resp_commands.c  the table of commands: everything that is known about each
 *   resp_reply.c     replies: words, errors, frames
 *   resp_options.c   reading numbers, times, durations and options out of arguments
 *   resp_put.c       PUT
 *   resp_change.c    commands that change jobs by name
 *   resp_work.c      commands of workers
 *   resp_look.c      commands that change nothing
 *   resp_client.c    what clients expect of a server of this protocol
 *   resp_describe.c  COMMAND: the table in RESP
 *
 * A command that has many parts (keys, jobs, slices of a long pass) keeps in its session how many
 * are done, because it may be called again with the same arguments. All arguments are checked
 * before the first part is done.
 */
#ifndef ELAPSE__RESP_H
#define ELAPSE__RESP_H

#include "../../base/assert.h"
#include "../../base/decimal.h"
#include "../../protocol/resp_options.h"
#include "../../protocol/resp_parse.h"
#include "../../protocol/resp_write.h"
#include "../core/session.h"

enum {
    /* Tube names, keys and cron expressions are arguments too, however short bodies must be. */
    ELAPSE__RESP_ARGUMENT_BYTES_MIN = 4096,
    ELAPSE__RESP_COUNT_MAX = 1000, /* of COUNT, wherever it stands */
    ELAPSE__RESP_LIST_COUNT = 100, /* the default of COUNT of LIST */
    ELAPSE__RESP_CLIENT_NAME_MAX = 64,
    ELAPSE__RESP_PARTS_A_STEP = 128, /* keys, ids or leases that one step works on */
    ELAPSE__RESP_ERROR_MAX = 480,    /* room for any error */
};

/* A connection's own state. */
struct elapse__resp_session {
    struct elapse__wire_resp_parser parser;
    bool resp3; /* it has said HELLO 3 */
    bool known; /* it has said AUTH, or nobody has to */
    /* The command that was begun and comes again; all 0 between commands. */
    uint32_t done;                   /* parts */
    uint32_t cursor;                 /* of a pass */
    uint64_t counts[2];              /* found by the pass */
    struct elapse__queue_kick *kick; /* a KICK under way */
    uint8_t name_size;
    char name[ELAPSE__RESP_CLIENT_NAME_MAX]; /* CLIENT SETNAME */
};

/* A command that runs. */
struct elapse__resp_call {
    struct elapse__connection *connection;
    struct elapse__resp_session *session;
    const struct elapse__resp_command *command;
    const struct elapse__wire_resp_argument *arguments; /* the first one is the command's name */
    uint32_t count;
};

typedef enum elapse__session_step elapse__resp_function(const struct elapse__resp_call *call);

/* ---- the table (resp_commands.c) ---- */

enum elapse__resp_flag {
    ELAPSE__RESP_WRITES = 1 << 0,
    ELAPSE__RESP_READS = 1 << 1,
    ELAPSE__RESP_BLOCKS = 1 << 2,
    ELAPSE__RESP_FAST = 1 << 3,
    ELAPSE__RESP_NO_AUTH = 1 << 4, /* may be said before AUTH */
};

struct elapse__resp_command {
    char name[16]; /* in capitals, and zeros */
    elapse__resp_function *run;
    int arity; /* arguments with the name; negative: so many or more */
    uint8_t flags;
    uint8_t verb;        /* enum elapse__server_verb */
    const char *group;   /* jobs, workers, look, connection, server */
    const char *syntax;  /* of the arguments */
    const char *summary; /* one sentence, without a full stop */
};

/* Returns the command of this name, in capitals or not; NULL: there is none. */
const struct elapse__resp_command *elapse__resp_find(struct elapse__wire_resp_argument name);

/* Returns command number `place`, from 0; NULL at the end. */
const struct elapse__resp_command *elapse__resp_command_at(unsigned place);

elapse__resp_function elapse__resp_put;
elapse__resp_function elapse__resp_cancel;
elapse__resp_function elapse__resp_cancel_id;
elapse__resp_function elapse__resp_cancel_all;
elapse__resp_function elapse__resp_reschedule;
elapse__resp_function elapse__resp_reschedule_id;
elapse__resp_function elapse__resp_kick;
elapse__resp_function elapse__resp_kick_id;
elapse__resp_function elapse__resp_pause;
elapse__resp_function elapse__resp_reserve;
elapse__resp_function elapse__resp_ack;
elapse__resp_function elapse__resp_nack;
elapse__resp_function elapse__resp_extend;
elapse__resp_function elapse__resp_bury;
elapse__resp_function elapse__resp_look_up;
elapse__resp_function elapse__resp_look_up_id;
elapse__resp_function elapse__resp_list;
elapse__resp_function elapse__resp_stats;
elapse__resp_function elapse__resp_tubes;
elapse__resp_function elapse__resp_ping;
elapse__resp_function elapse__resp_echo;
elapse__resp_function elapse__resp_hello;
elapse__resp_function elapse__resp_auth;
elapse__resp_function elapse__resp_select;
elapse__resp_function elapse__resp_client;
elapse__resp_function elapse__resp_config;
elapse__resp_function elapse__resp_info;
elapse__resp_function elapse__resp_quit;
elapse__resp_function elapse__resp_reset;
elapse__resp_function elapse__resp_command;

/* ---- the session (resp.c) ---- */

/* Nothing of a command is under way any more. */
void elapse__resp_forget(struct elapse__resp_session *session);

/* One part of a command that has `parts` of them: runs it, and appends its word to the array that
 * is the reply. Returns RAN after the last part, LATER, or MORE: then its caller returns that, or
 * goes on with the next part if `*goes_on`. */
enum elapse__session_step elapse__resp_run_part(const struct elapse__resp_call *call,
                                                uint32_t parts, elapse__engine_command *command,
                                                const void *arguments, bool *goes_on);

/* ---- arguments (resp_options.c) ---- */

struct elapse__queue_text elapse__resp_text(struct elapse__wire_resp_argument argument);

/* Each of these reads argument number `place`. Otherwise replies with an error and returns false.
 */
bool elapse__resp_read_number(const struct elapse__resp_call *call, uint32_t place,
                              uint64_t greatest, uint64_t *number);
bool elapse__resp_read_id(const struct elapse__resp_call *call, uint32_t place, uint64_t *id);
bool elapse__resp_read_moment(const struct elapse__resp_call *call, uint32_t place, int64_t *at_ms);
/* Rounds up to whole milliseconds, as the queue asks for. */
bool elapse__resp_read_duration(const struct elapse__resp_call *call, uint32_t place,
                                uint64_t *duration_ms);
/* Job and lease are arguments `place` and `place + 1`. */
bool elapse__resp_read_holder(const struct elapse__resp_call *call, uint32_t place,
                              struct elapse__queue_holder *holder);

/* Finds the options from argument `first` on. Stores for each where its first value stands, 0 if it
 * is not there. Otherwise replies with an error and returns false. */
bool elapse__resp_find_options(const struct elapse__resp_call *call, uint32_t first,
                               const struct elapse__wire_resp_option *options,
                               uint32_t option_count, uint32_t *places);

/* Reads IN or AT: exactly one of two. */
bool elapse__resp_read_time(const struct elapse__resp_call *call, uint32_t first,
                            struct elapse__queue_time *time);

/* Reads the options STATE and TAG of a filter; places 0: not there. */
bool elapse__resp_read_filter(const struct elapse__resp_call *call, uint32_t state, uint32_t tag,
                              struct elapse__queue_filter *filter);

/* ---- replies (resp_reply.c) ---- */

/* A text that is put together; bytes that do not fit are left out. Zeros are an empty one. */
struct elapse__resp_line {
    char text[ELAPSE__RESP_ERROR_MAX + 1]; /* always ends with a terminator */
    size_t size;
};
void elapse__resp_add_bytes(struct elapse__resp_line *line, const void *bytes, size_t size);
void elapse__resp_add(struct elapse__resp_line *line, const char *text);
void elapse__resp_add_number(struct elapse__resp_line *line, uint64_t number);
/* In small letters. */
void elapse__resp_add_small(struct elapse__resp_line *line, const char *word);

/* Returns a writer with room for `size` bytes, in the version of the session, for a reply or a part
 * of one. Without memory it writes nowhere, and the connection ends. */
struct elapse__wire_resp_writer elapse__resp_begin(struct elapse__connection *connection,
                                                   bool resp3, size_t size);
/* Appends what was written. */
void elapse__resp_end(struct elapse__connection *connection,
                      const struct elapse__wire_resp_writer *writer);

void elapse__resp_reply_word(const struct elapse__resp_call *call, const char *word);
void elapse__resp_reply_integer(const struct elapse__resp_call *call, uint64_t value);
void elapse__resp_reply_bytes(const struct elapse__resp_call *call, const void *bytes, size_t size);
void elapse__resp_reply_null(const struct elapse__resp_call *call);
void elapse__resp_reply_array(const struct elapse__resp_call *call, size_t count);
void elapse__resp_reply_map(const struct elapse__resp_call *call, size_t pairs);

/* Replies with an error: code, text, and as much of an argument as fits, in quotation marks; NULL:
 * none. Returns ELAPSE__STEP_RAN, so that callers can return the result. */
enum elapse__session_step
elapse__resp_reply_error(struct elapse__connection *connection, const char *text,
                         const struct elapse__wire_resp_argument *argument);

/* Replies with the word of a result, or with its error. */
void elapse__resp_reply_result(const struct elapse__resp_call *call,
                               const struct elapse__queue_answer *answer);

/* Replies with the id of a job and the word of a result that is no error. */
void elapse__resp_reply_job(const struct elapse__resp_call *call,
                            const struct elapse__queue_answer *answer);

/* The name of a state, as in replies and options. */
const char *elapse__resp_state_name(enum elapse__queue_state state);

/* ---- what `context` says to the functions that format ---- */

enum {
    ELAPSE__RESP_CONTEXT_RESP3 = 1 << 0, /* the version when the command ran */
    ELAPSE__RESP_CONTEXT_LOOK = 1 << 1,  /* LOOKUP; otherwise RESERVE */
};

void elapse__resp_handed_out(struct elapse__connection *connection, uint64_t context,
                             const struct elapse__server_job *jobs, uint32_t count);
void elapse__resp_nothing(struct elapse__connection *connection, uint64_t context,
                          enum elapse__server_nothing why);
void elapse__resp_looked(struct elapse__connection *connection, uint64_t context,
                         const struct elapse__queue_view *view,
                         const struct elapse__engine_job *texts);

#endif
