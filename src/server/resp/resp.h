/*
 * The native protocol: the commands of docs/protocol.md, in RESP. This header has its types.
 *
 *      bytes --> resp_parse --> arguments --> commands.c: which command --> its function
 *                                                                              |
 *      bytes <-- resp_write <--------- replies (reply.c) <---------------------+
 *
 * Each file calls only files below it:
 *
 *   session.c   a connection: parsing, who it is, which function
 *   transaction.c  (transaction.h) MULTI, EXEC and what is between
 *   commands.c  (commands.h) the table of commands, and COMMAND, which tells it
 *   put.c       PUT
 *   change.c    commands that change jobs by name
 *   work.c      commands of workers
 *   look.c      LOOKUP, LOOKUPID and STATS
 *   list.c      LIST, RECURRING and FIND
 *   tubes.c     TUBES and GROUPS
 *   client.c    what clients expect of a server of this protocol
 *   paging.c    (paging.h) pages of jobs and tubes
 *   client_list.c  CLIENT LIST
 *   options.c   (options.h) reads numbers, ids, times, durations and options out of arguments
 *   rights.c    (rights.h) what a user may do
 *   reply.c     (reply.h) replies: words, errors, frames, values
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
#include "../../queue/transact.h"
#include "../core/session.h"

enum {
    /* An argument may always have this many bytes, even if bodies must be shorter, so that tube
     * names, keys and cron expressions fit. */
    ELAPSE__RESP_ARGUMENT_BYTES_MIN = 4096,
    ELAPSE__RESP_COUNT_MAX = 1000, /* the greatest COUNT of any command */
    ELAPSE__RESP_LIST_COUNT = 100, /* the default of COUNT of LIST */
    ELAPSE__RESP_CLIENT_NAME_MAX = 64,
    ELAPSE__RESP_PARTS_A_STEP = 128, /* keys, ids or leases that one step works on */
    ELAPSE__RESP_ERROR_MAX = 480,    /* room for any error */
};

/* A connection's own state. */
struct elapse__resp_session {
    struct elapse__wire_resp_parser parser;
    bool resp3;                  /* the client has said HELLO 3 */
    bool known;                  /* the client has said AUTH, or nobody has to */
    struct elapse__identity who; /* with `known`: who the client is */
    bool said_retry; /* the client has used the old name of ATTEMPTS, and the log knows */
    /* The command that was begun and comes again; all 0 between commands. */
    uint32_t done;                          /* parts of the command that are done */
    uint32_t cursor;                        /* of a pass over the jobs */
    uint64_t counts[2];                     /* jobs that the pass has found */
    struct elapse__queue_kick *kick;        /* a KICK under way */
    struct elapse__queue_first *first;      /* a LIST with SOONEST under way */
    struct elapse__queue_holding *holdings; /* a CLIENT LIST under way */
    uint32_t holding_count;
    struct elapse__resp_transaction *transaction; /* between MULTI and EXEC; otherwise NULL */
    uint8_t name_size;
    char name[ELAPSE__RESP_CLIENT_NAME_MAX]; /* CLIENT SETNAME */
};

/* A pass over the commands of a transaction. The function of a command does not change the queue
 * then: the first passes stop it at the point where it would, and the last one gives it the answers
 * of changes that were made. */
struct elapse__resp_pass {
    enum {
        ELAPSE__RESP_COUNTS,   /* how many changes a command has, and how many bytes they take */
        ELAPSE__RESP_COLLECTS, /* the changes */
        ELAPSE__RESP_REPLIES,  /* with the answers */
    } kind;
    uint32_t count; /* changes up to now */
    uint64_t bytes; /* COUNTS: of their records, at most */
    struct elapse__queue_change *changes;
    const struct elapse__queue_answer *answers;
};

/* A command that runs. */
struct elapse__resp_call {
    struct elapse__connection *connection;
    struct elapse__resp_session *session;
    const struct elapse__resp_command *command;
    const struct elapse__user *user;                    /* NULL: may do everything */
    const struct elapse__wire_resp_argument *arguments; /* the first one is the command's name */
    uint32_t count;
    struct elapse__resp_pass *pass; /* NULL: it runs */
};

typedef enum elapse__session_step elapse__resp_function(const struct elapse__resp_call *call);

/* ---- the table of commands ---- */

enum elapse__resp_flag {
    ELAPSE__RESP_WRITES = 1 << 0,
    ELAPSE__RESP_READS = 1 << 1,
    ELAPSE__RESP_BLOCKS = 1 << 2,
    ELAPSE__RESP_FAST = 1 << 3,
    ELAPSE__RESP_NO_AUTH = 1 << 4,  /* may be said before AUTH */
    ELAPSE__RESP_QUEUES = 1 << 5,   /* between MULTI and EXEC it waits for EXEC */
    ELAPSE__RESP_CONTROLS = 1 << 6, /* between MULTI and EXEC it runs at once */
};

struct elapse__resp_command {
    char name[16]; /* in capitals, and zeros */
    elapse__resp_function *run;
    int arity; /* number of arguments, with the name; negative: at least -arity */
    uint8_t flags;
    uint8_t verb;        /* enum elapse__server_verb, for the statistics */
    const char *group;   /* jobs, workers, look, connection, server */
    const char *syntax;  /* of the arguments */
    const char *summary; /* one sentence, without a full stop */
};

/* ---- what `context` says to the functions that format ---- */

enum {
    ELAPSE__RESP_CONTEXT_RESP3 = 1 << 0,   /* the version when the command ran */
    ELAPSE__RESP_CONTEXT_LOOK = 1 << 1,    /* LOOKUP; otherwise RESERVE */
    ELAPSE__RESP_CONTEXT_DETAILS = 1 << 2, /* RESERVE with DETAILS */
    ELAPSE__RESP_CONTEXT_ITEM = 1 << 3,    /* with LOOK: one job of LIST with KEYS */
    /* With ITEM: the job is the first one of the list, and the head of the list comes before it. */
    ELAPSE__RESP_CONTEXT_FIRST = 1 << 4,
    /* With ITEM: how many bytes of the body LIST shows, of 11 bits; 0: no BODY. */
    ELAPSE__RESP_CONTEXT_BODY_SHIFT = 5,
    ELAPSE__RESP_BODY_MASK = (1 << 11) - 1,
    ELAPSE__RESP_BODY_MAX = 1024,
    /* Where the head is, with FIRST: the number of items, of 16 bits, and the cursor, of 32. */
    ELAPSE__RESP_CONTEXT_COUNT_SHIFT = 16,
    ELAPSE__RESP_CONTEXT_CURSOR_SHIFT = 32,
};

#endif
