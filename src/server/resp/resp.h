/*
 * The types of the native protocol, which is the commands of docs/protocol.md in RESP.
 *
 *      bytes --> resp_parse --> arguments --> commands.c: which command --> its function
 *                                                                              |
 *      bytes <-- resp_write <--------- replies (reply.c) <---------------------+
 *
 * Each file calls only files below it:
 *
 *   session.c   the session of a connection: parses commands and calls their functions
 *   transaction.c  (transaction.h) MULTI, EXEC and the commands between them
 *   commands.c  (commands.h) the table of commands, and COMMAND, which shows the table
 *   put.c       PUT
 *   change.c    commands that change jobs by name
 *   work.c      the commands of workers
 *   look.c      LOOKUP, LOOKUPID, STATS and HISTORY
 *   list.c      LIST, RECURRING and FIND
 *   tubes.c     TUBES and GROUPS
 *   client.c    the commands that clients of Redis send when they connect
 *   paging.c    (paging.h) pages of jobs and tubes
 *   client_list.c  CLIENT LIST
 *   options.c   (options.h) reads numbers, ids, times, durations and options out of arguments
 *   rights.c    (rights.h) what a user may do
 *   reply.c     (reply.h) replies: words, errors, frames, values
 *
 * A command may have many parts: keys, jobs, or slices of a long pass. The session keeps how many
 * parts are done, because the function of the command may be called again with the same arguments.
 * All arguments are checked before the first part is done.
 */
#ifndef ELAPSE__RESP_H
#define ELAPSE__RESP_H

#include "../../base/assert.h"
#include "../../base/decimal.h"
#include "../../protocol/resp_options.h"
#include "../../protocol/resp_parse.h"
#include "../../protocol/resp_write.h"
#include "../../queue/transact.h"
#include "../core/session.h"

enum {
    /* An argument may always have this many bytes, even if bodies must be shorter, so that tube
     * names, keys and cron expressions fit. */
    ELAPSE__RESP_ARGUMENT_BYTES_MIN = 4096,
    ELAPSE__RESP_COUNT_MAX = 1000, /* the greatest COUNT of any command */
    ELAPSE__RESP_LIST_COUNT = 100, /* the default of COUNT of LIST */
    ELAPSE__RESP_CLIENT_NAME_MAX = 64,
    ELAPSE__RESP_PARTS_A_STEP = 128, /* how many keys, ids or leases one step works on */
    ELAPSE__RESP_ERROR_MAX = 480,    /* room for any error */
};

/* The state of a connection. */
struct elapse__resp_session {
    struct elapse__wire_resp_parser parser;
    bool resp3;                  /* the client has said HELLO 3 */
    bool known;                  /* the client has said AUTH, or no client has to */
    struct elapse__identity who; /* who the client is, if `known` is true */
    bool said_retry; /* the client has used the old name of ATTEMPTS, and the log knows */
    /* The state of a command that was begun and is not done. All of it is 0 between commands. */
    uint32_t done;                          /* how many parts of the command are done */
    uint32_t cursor;                        /* the cursor of a pass over the jobs */
    uint64_t counts[2];                     /* how many jobs the pass has found */
    struct elapse__queue_kick *kick;        /* a KICK under way */
    struct elapse__queue_first *first;      /* a LIST with SOONEST under way */
    struct elapse__queue_holding *holdings; /* a CLIENT LIST under way */
    uint32_t holding_count;
    struct elapse__resp_transaction *transaction; /* NULL except between MULTI and EXEC */
    uint8_t name_size;
    char name[ELAPSE__RESP_CLIENT_NAME_MAX]; /* the name that CLIENT SETNAME gave */
};

/* A pass over the commands of a transaction. During a pass the function of a command does not
 * change the queue. The first passes stop the function at the point where it would change the
 * queue. The last pass gives the function the answers of changes that were made. */
struct elapse__resp_pass {
    enum {
        ELAPSE__RESP_COUNTS,   /* counts the changes of a command, and the bytes of their records */
        ELAPSE__RESP_COLLECTS, /* collects the changes */
        ELAPSE__RESP_REPLIES,  /* replies with the answers */
    } kind;
    uint32_t count; /* the number of changes up to now */
    uint64_t bytes; /* COUNTS: the most bytes that their records take */
    struct elapse__queue_change *changes;
    const struct elapse__queue_answer *answers;
};

/* A command that runs. */
struct elapse__resp_call {
    struct elapse__connection *connection;
    struct elapse__resp_session *session;
    const struct elapse__resp_command *command;
    const struct elapse__user *user; /* NULL: the client may do everything */
    const struct elapse__wire_resp_argument
        *arguments; /* the first one is the name of the command */
    uint32_t count;
    struct elapse__resp_pass *pass; /* NULL: the command runs */
};

typedef enum elapse__session_step elapse__resp_function(const struct elapse__resp_call *call);

/* ---- the table of commands ---- */

enum elapse__resp_flag {
    ELAPSE__RESP_WRITES = 1 << 0,
    ELAPSE__RESP_READS = 1 << 1,
    ELAPSE__RESP_BLOCKS = 1 << 2,
    ELAPSE__RESP_FAST = 1 << 3,
    ELAPSE__RESP_NO_AUTH = 1 << 4,   /* a client may send the command before AUTH */
    ELAPSE__RESP_QUEUES = 1 << 5,    /* between MULTI and EXEC the command waits for EXEC */
    ELAPSE__RESP_CONTROLS = 1 << 6,  /* between MULTI and EXEC the command runs at once */
    ELAPSE__RESP_SINCE_0_3 = 1 << 7, /* the command came with 0.3; the others came with 0.2 */
};

struct elapse__resp_command {
    char name[16]; /* the name in capitals; the rest is zeros */
    elapse__resp_function *run;
    int arity; /* the number of arguments with the name; negative: at least -arity */
    uint8_t flags;
    uint8_t verb;        /* an enum elapse__server_verb, for the statistics */
    const char *group;   /* jobs, workers, look, connection, server */
    const char *syntax;  /* the syntax of the arguments */
    const char *summary; /* one sentence, without a full stop */
};

/* ---- what `context` says to the functions that format ---- */

enum {
    ELAPSE__RESP_CONTEXT_RESP3 = 1 << 0,   /* the client had said HELLO 3 when the command ran */
    ELAPSE__RESP_CONTEXT_LOOK = 1 << 1,    /* set: LOOKUP; not set: RESERVE */
    ELAPSE__RESP_CONTEXT_DETAILS = 1 << 2, /* RESERVE with DETAILS */
    ELAPSE__RESP_CONTEXT_ITEM = 1 << 3,    /* with LOOK: one job of LIST with KEYS */
    /* With ITEM: the job is the first one of the list. The head of the list comes before the job.
     */
    ELAPSE__RESP_CONTEXT_FIRST = 1 << 4,
    /* With ITEM: the place of a number of 11 bits. It says how many bytes of the body LIST shows;
     * 0: there is no BODY. */
    ELAPSE__RESP_CONTEXT_BODY_SHIFT = 5,
    ELAPSE__RESP_BODY_MASK = (1 << 11) - 1,
    ELAPSE__RESP_BODY_MAX = 1024,
    /* With FIRST: the place of the head of the list. The head is the number of items in 16 bits,
     * and the cursor in 32 bits. */
    ELAPSE__RESP_CONTEXT_COUNT_SHIFT = 16,
    ELAPSE__RESP_CONTEXT_CURSOR_SHIFT = 32,
};

#endif
