/*
 * What a protocol sees of the core, and the core of a protocol. src/server/beanstalkd and
 * src/server/resp implement one `struct elapse__protocol` each. The pure functions of src/protocol
 * take bytes apart and put them together.
 *
 * A command looks like this:
 *
 *      static enum elapse__session_step run_ack(connection, ...)
 *      {
 *          struct elapse__queue_answer answer;
 *          if (!elapse__session_run(connection, do_ack, &arguments, &answer))
 *              return ELAPSE__STEP_LATER;               nothing happened; it comes again
 *          elapse__reply_text(connection, answer.result == ELAPSE__QUEUE_OK ? "+OK\r\n" : ...);
 *          return ELAPSE__STEP_RAN;
 *      }
 *
 * The core puts a gate behind the reply of each step that RAN: the protocols know nothing of
 * durability. Replies of reserves and of looks at bodies come later, in their place, by the
 * protocol's functions `handed_out`, `nothing` and `looked`.
 */
#ifndef ELAPSE__CORE_SESSION_H
#define ELAPSE__CORE_SESSION_H

#include "core.h"

/* ---- what a protocol is ---- */

enum elapse__session_step {
    ELAPSE__STEP_NEED,   /* no whole command is there. Nothing was used. */
    ELAPSE__STEP_RAN,    /* `*used` bytes are done with, at least 1 */
    ELAPSE__STEP_MORE,   /* a part of the command was done; it comes again, with the same bytes */
    ELAPSE__STEP_LATER,  /* the journal takes nothing now; it comes again, with the same bytes */
    ELAPSE__STEP_BEHIND, /* it waits for elapse__session_is_named to become false; it comes again,
                            with the same bytes */
    ELAPSE__STEP_END,    /* as RAN, and no further command is taken: the connection ends when all
                            replies were sent */
};

/* A job that is handed out, as it is formatted. */
struct elapse__server_job {
    struct elapse__queue_handed handed; /* without its tube */
    struct elapse__engine_job texts;    /* tube, key, tag, body */
};

/* Why a reserve has no job. */
enum elapse__server_nothing {
    ELAPSE__NOTHING_TIMED_OUT,
    ELAPSE__NOTHING_DEADLINE_SOON, /* a lease of the connection ends within a second */
    ELAPSE__NOTHING_NO_MEMORY,
    ELAPSE__NOTHING_GONE,    /* reserve_id, look: the job has gone, or was buried, meanwhile */
    ELAPSE__NOTHING_ERROR,   /* the disk cannot read the body, or one that would be handed out */
    ELAPSE__NOTHING_DAMAGED, /* look: the body is damaged */
};

struct elapse__protocol {
    const char *name;
    size_t session_bytes; /* of a connection's own state; begins as zeros */

    /* Leases belong to the connection that took them, and end with the connection. If this is
     * false, leases last until their ttr, but a hand-out whose reply was not wholly sent is undone.
     */
    bool leases_end_with_connection;

    /* A connection speaks this protocol from now on. Returns false if there is no memory: it ends.
     */
    bool (*begin)(struct elapse__connection *connection);
    /* Releases what the session has. The queue may be used no more than to give tubes back. Also
     * called if `begin` returned false. */
    void (*end)(struct elapse__connection *connection);

    /* Takes one command from `bytes`, of which there is at least one, and runs it. */
    enum elapse__session_step (*run)(struct elapse__connection *connection, const uint8_t *bytes,
                                     size_t size, size_t *used);

    /* Runs a command that was parsed elsewhere; never NEED. NULL: the protocol has none. */
    enum elapse__session_step (*command)(struct elapse__connection *connection,
                                         const struct elapse__wire_resp_argument *arguments,
                                         uint32_t count);

    /* Format the reply of a reserve or a look. `context` is that of the request. Only reply_*
     * functions may be called. */
    void (*handed_out)(struct elapse__connection *connection, uint64_t context,
                       const struct elapse__server_job *jobs, uint32_t count);
    void (*nothing)(struct elapse__connection *connection, uint64_t context,
                    enum elapse__server_nothing why);
    void (*looked)(struct elapse__connection *connection, uint64_t context,
                   const struct elapse__queue_view *view, const struct elapse__engine_job *texts);
};

/* The two protocols of the program. */
extern const struct elapse__protocol elapse__beanstalkd;
extern const struct elapse__protocol elapse__resp;

/* ---- the session ---- */

/* Returns the connection's own state: session_bytes bytes. */
void *elapse__session(const struct elapse__connection *connection);
struct elapse__server *elapse__session_server(const struct elapse__connection *connection);
/* Returns the number of the connection; connections are numbered from 1. */
uint64_t elapse__session_number(const struct elapse__connection *connection);

/* Returns what the facts of the connection say. */
bool elapse__session_speaks_resp3(const struct elapse__connection *connection);
const struct elapse__server_options *
elapse__session_options(const struct elapse__connection *connection);
/* The queue, for what changes nothing durable: looks, lists, statistics, pauses. */
struct elapse__queue *elapse__session_queue(const struct elapse__connection *connection);
/* The time of this call of the core. */
struct elapse__queue_now elapse__session_now(const struct elapse__connection *connection);
/* The owner of the leases of this connection: for delete, release and the like. NULL if the
 * protocol's leases do not end with the connection. */
struct elapse__queue_connection *elapse__session_leases(struct elapse__connection *connection);

/* Notes that the running command has a wrong password. Its reply, and all that are left, wait for a
 * while: guesses.h. Meanwhile no further command runs and nothing is read. The connection ends if
 * it has guessed too often. */
void elapse__session_wrong_password(struct elapse__connection *connection);

/* Counts a command. */
void elapse__session_count(struct elapse__connection *connection, enum elapse__server_verb verb);

/* Counts the running command as so many commands more, so that other connections come the sooner.
 */
void elapse__session_spend(struct elapse__connection *connection, uint32_t commands);

/* Runs a command of the queue. Returns false if the journal takes nothing now: return
 * ELAPSE__STEP_LATER. The answer's position means nothing here. */
bool elapse__session_run(struct elapse__connection *connection, elapse__engine_command *command,
                         const void *arguments, struct elapse__queue_answer *answer);

/* With ELAPSE__STEP_NEED: do not ask again before `size` bytes are there, counted from the first of
 * `bytes`. The room grows so far. At most body_bytes_max + 1 MiB; more ends the connection. */
void elapse__session_need(struct elapse__connection *connection, size_t size);

/* Returns whether a put may be run, or why not. Counts the connection as a producer. */
enum elapse__server_refusal {
    ELAPSE__MAY_PUT,
    ELAPSE__PUT_DRAINING,
    ELAPSE__PUT_TOO_BIG,
    ELAPSE__PUT_NO_MEMORY,
    ELAPSE__PUT_TUBE_FULL,
};
enum elapse__server_refusal elapse__session_may_put(struct elapse__connection *connection,
                                                    struct elapse__queue_text tube,
                                                    size_t body_bytes);

/* ---- replies ---- */

/* All functions here append to the reply of the command that runs, or that is formatted. If there
 * is no memory, the connection ends. */

void elapse__reply_bytes(struct elapse__connection *connection, const void *bytes, size_t size);
void elapse__reply_text(struct elapse__connection *connection, const char *text);

/* Returns room for `size` bytes, at least 1, at the end of the reply; NULL: no memory. The bytes
 * that were written there are appended by elapse__reply_end. */
char *elapse__reply_begin(struct elapse__connection *connection, size_t size);
void elapse__reply_end(struct elapse__connection *connection, size_t size);

/* The reply of the running command alone, as far as it was appended, also by its earlier steps:
 * counts its bytes; cuts it to `size` bytes; returns its bytes, until the next append (they may be
 * overwritten: a length that is known at the end). */
size_t elapse__reply_size(const struct elapse__connection *connection);
void elapse__reply_cut(struct elapse__connection *connection, size_t size);
char *elapse__reply_at(struct elapse__connection *connection);

/* ---- tubes that connections know ---- */

/* A tube of the queue, held for as long as somebody has a reference: it exists although it has no
 * jobs, and keeps its statistics. */
struct elapse__server_tube;

struct elapse__server_tube_figures {
    uint32_t using;    /* connections, as elapse__server_tube_use counts them */
    uint32_t watching; /* as elapse__server_tube_watch does */
    uint32_t waiting;  /* reserves that wait for this tube, among others */
};

/* Returns the tube of this name, with a reference; makes it if it does not exist. NULL: `*result`
 * is ARGUMENT, NO_MEMORY or LIMIT. */
struct elapse__server_tube *elapse__server_tube_get(struct elapse__server *server,
                                                    struct elapse__queue_text name,
                                                    enum elapse__queue_result *result);
/* Gives a reference back. */
void elapse__server_tube_give(struct elapse__server *server, struct elapse__server_tube *tube);
/* Returns the name of a tube, which is valid as long as the tube. */
struct elapse__queue_text elapse__server_tube_name(const struct elapse__server_tube *tube);
/* Count the connections that use a tube, or watch it, for the statistics of beanstalkd. `change` is
 * +1 or -1. */
void elapse__server_tube_use(struct elapse__server_tube *tube, int change);
void elapse__server_tube_watch(struct elapse__server_tube *tube, int change);
/* Returns the figures of a tube; all are 0 for a tube that no connection knows. */
struct elapse__server_tube_figures elapse__server_tube_figures(const struct elapse__server *server,
                                                               struct elapse__queue_text name);

/* ---- reserve and look ---- */

#define ELAPSE__SERVER_FOREVER UINT64_MAX

struct elapse__session_reserve {
    struct elapse__server_tube *const *tubes; /* the reserve has references of its own */
    uint32_t tube_count;                      /* 1 to ELAPSE__QUEUE_RESERVE_MAX */
    uint32_t count;     /* 1 to ELAPSE__QUEUE_RESERVE_MAX; fewer may come: those ready, and up
                           to output_bytes_max of bodies */
    uint64_t wait_ms;   /* 0: do not wait; ELAPSE__SERVER_FOREVER */
    bool tell_deadline; /* DEADLINE_SOON instead of waiting, or while waiting */
    uint64_t context;   /* for the functions that format */
};

/* Reserves jobs: the reply comes by handed_out or nothing, now or later. Commands behind it run
 * unless it has to wait. Return ELAPSE__STEP_RAN after it; nothing may be appended to the reply
 * before or after. Counts the connection as a worker. Returns false if the journal takes nothing
 * now: ELAPSE__STEP_LATER. */
bool elapse__session_reserve(struct elapse__connection *connection,
                             const struct elapse__session_reserve *request);

/* Reserves one job by its id, whatever its state: the reply comes by handed_out with one job. If
 * there is no such job to hand out, `*result` is GONE, RUNNING, or an error, and the caller
 * replies. Returns false as elapse__session_reserve does. */
bool elapse__session_reserve_id(struct elapse__connection *connection, uint64_t id,
                                uint64_t context, enum elapse__queue_result *result);

/* Returns whether a reply of reserve_id is still to come: a command that ends a job by its id may
 * mean that one, and would take it away before it is handed out. */
bool elapse__session_is_named(const struct elapse__connection *connection);

/* Reads the texts of a job that a look-up has found: `looked` formats the reply, or `nothing` with
 * ERROR or DAMAGED. As for reserve, nothing else is appended to the reply. Returns false if there
 * is no memory; the caller replies. */
bool elapse__session_look(struct elapse__connection *connection,
                          const struct elapse__queue_view *view, uint64_t context);

#endif
