/*
 * Declares the functions of the core that a protocol may call (the session), and the functions of a
 * protocol that the core calls (`struct elapse__protocol`). src/server/beanstalkd and
 * src/server/resp implement one protocol each. The pure functions of src/protocol parse commands
 * and write replies for them.
 *
 * A command looks like this:
 *
 *      static enum elapse__session_step run_ack(connection, ...)
 *      {
 *          struct elapse__queue_answer answer;
 *          if (!elapse__session_run(connection, do_ack, &arguments, &answer))
 *              return ELAPSE__STEP_LATER;               nothing happened; run again later
 *          elapse__reply_text(connection, answer.result == ELAPSE__QUEUE_OK ? "+OK\r\n" : ...);
 *          return ELAPSE__STEP_RAN;
 *      }
 *
 * The core gives each reply its gate: the position of the journal that must be durable before the
 * reply leaves. So the protocols know nothing of durability. The reply of a reserve, or of a look
 * at a body, may be formatted later, by the protocol's function `handed_out`, `nothing` or
 * `looked`. Such a reply keeps its place among the replies.
 */
#ifndef ELAPSE__CORE_SESSION_H
#define ELAPSE__CORE_SESSION_H

#include "core.h"

/* ---- what a protocol is ---- */

enum elapse__session_step {
    /* What a protocol has done with the bytes of a command. After MORE, LATER and BEHIND the core
     * runs the command again, with the same bytes. */
    ELAPSE__STEP_NEED,   /* the bytes are no whole command; none of them was used */
    ELAPSE__STEP_RAN,    /* the command was done; it had `*used` bytes, at least 1 */
    ELAPSE__STEP_MORE,   /* a part of the command was done */
    ELAPSE__STEP_LATER,  /* nothing was done: the journal takes nothing now */
    ELAPSE__STEP_BEHIND, /* nothing was done: elapse__session_is_named must become false before */
    ELAPSE__STEP_END, /* the command was done, and no further command is taken: the connection ends
                         when all replies were sent */
};

/* What a protocol needs of a job that is handed out, to format the reply. */
struct elapse__server_job {
    struct elapse__queue_handed handed; /* without the tube, which is in `texts` */
    struct elapse__engine_job texts;    /* tube, key, tag, body, error */
};

/* Why a reserve has no job. */
enum elapse__server_nothing {
    ELAPSE__NOTHING_TIMED_OUT,
    ELAPSE__NOTHING_DEADLINE_SOON, /* a lease of the connection ends within a second */
    ELAPSE__NOTHING_NO_MEMORY,
    ELAPSE__NOTHING_GONE,  /* after reserve_id or look: the job has ended or was buried meanwhile */
    ELAPSE__NOTHING_ERROR, /* the disk cannot read the body of the job, or of any job that could be
                              handed out */
    ELAPSE__NOTHING_DAMAGED, /* after look: the body is damaged */
};

struct elapse__protocol {
    const char *name;
    size_t session_bytes; /* the size of the protocol's own state for a connection, which begins as
                             zeros */

    /* True: leases belong to the connection that took them, and end with the connection. False:
     * leases last until their ttr, but a hand-out whose reply was not wholly sent is undone. */
    bool leases_end_with_connection;

    /* Begins the session of a connection that speaks this protocol. Returns false if there is no
     * memory; the core then ends the connection. */
    bool (*begin)(struct elapse__connection *connection);
    /* Releases what the session has. It may use the queue only to give tubes back. It is called,
     * too, if `begin` returned false. */
    void (*end)(struct elapse__connection *connection);

    /* Takes one command from `bytes`, and runs it. `size` is at least 1. */
    enum elapse__session_step (*run)(struct elapse__connection *connection, const uint8_t *bytes,
                                     size_t size, size_t *used);

    /* Called when nothing has come from the client for ELAPSE__KEPT_MS, and its session keeps
     * something. It is not called while the client waits for the server. The function must call
     * elapse__session_keep_nothing. NULL: the protocol keeps nothing. */
    void (*kept_too_long)(struct elapse__connection *connection);

    /* Runs a command that was parsed elsewhere. Never returns NEED. NULL: the protocol takes no
     * such commands. */
    enum elapse__session_step (*command)(struct elapse__connection *connection,
                                         const struct elapse__wire_resp_argument *arguments,
                                         uint32_t count);

    /* These three functions format the reply of a reserve or a look. `context` is what the request
     * gave. They may call only functions with elapse__reply_ in their name. */
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

/* Returns the protocol's own state for the connection, which has session_bytes bytes. */
void *elapse__session(const struct elapse__connection *connection);
struct elapse__server *elapse__session_server(const struct elapse__connection *connection);
/* Returns the number of the connection; connections are numbered from 1. */
uint64_t elapse__session_number(const struct elapse__connection *connection);

/* These two functions return `speaks_resp3` of the connection's facts, and the options of the
 * server. */
bool elapse__session_speaks_resp3(const struct elapse__connection *connection);
const struct elapse__server_options *
elapse__session_options(const struct elapse__connection *connection);
/* Returns the queue, for commands that change nothing durable: looks, lists, statistics, pauses. */
struct elapse__queue *elapse__session_queue(const struct elapse__connection *connection);
/* Returns the time that the shell gave to this call of the core. */
struct elapse__queue_now elapse__session_now(const struct elapse__connection *connection);
/* Returns whether a job, a lease, a pause or a waiting reserve is due by that time, and was not
 * handled yet. The next turn handles at least some of them. */
bool elapse__session_has_due(const struct elapse__connection *connection);
/* Returns the owner of the leases of this connection, for commands such as delete and release; NULL
 * if the protocol's leases do not end with the connection. */
struct elapse__queue_connection *elapse__session_leases(struct elapse__connection *connection);

/* Notes that the running command has a wrong password. Its reply, and all other replies that were
 * not sent yet, wait for a while (guesses.h). Meanwhile no further command runs, and nothing is
 * read. The connection ends if it has given too many wrong passwords. */
void elapse__session_wrong_password(struct elapse__connection *connection);

/* Gives the client a name, by which jobs show who holds them. If the name is empty, the address of
 * the client takes its place when the client reserves. */
void elapse__session_set_name(struct elapse__connection *connection,
                              struct elapse__queue_text name);

/* What is known of an open connection. */
struct elapse__client_facts {
    uint64_t number;
    uint32_t name; /* the number of the name by which jobs show who holds them; 0: the client has no
                      name yet */
    char address[ELAPSE__SERVER_ADDRESS_BYTES];
};

/* Calls `call` for each connection that is open. Cost: O(connections). */
void elapse__session_each_client(const struct elapse__connection *connection,
                                 void (*call)(void *argument,
                                              const struct elapse__client_facts *facts),
                                 void *argument);

/* Notes, for the log, that a client uses the old name of an option. The protocol calls this once
 * for a connection. */
void elapse__session_old_name(struct elapse__connection *connection);

/* Counts `bytes` further bytes that the session keeps, of a transaction that its client has begun
 * and not ended. Begins to wait for the client anew. Returns false, and counts nothing, if all
 * sessions together would keep more than `kept_bytes_max`. */
enum { ELAPSE__KEPT_MS = 60000 };
bool elapse__session_keep(struct elapse__connection *connection, size_t bytes);

/* Returns how many bytes the records of a transaction may take at most. */
uint64_t elapse__session_transaction_bytes_max(const struct elapse__connection *connection);

/* Notes that the session keeps nothing any more. */
void elapse__session_keep_nothing(struct elapse__connection *connection);

/* Counts a command. */
void elapse__session_count(struct elapse__connection *connection, enum elapse__server_verb verb);

/* Takes the cost of `commands` further commands from the budget (inner.h). A command that does much
 * work calls this, so that other connections have their turn sooner. */
void elapse__session_spend(struct elapse__connection *connection, uint32_t commands);

/* Runs a command of the queue. Returns false if the journal takes nothing now; the caller must then
 * return ELAPSE__STEP_LATER. The caller must not use the position in the answer. */
bool elapse__session_run(struct elapse__connection *connection, elapse__engine_command *command,
                         const void *arguments, struct elapse__queue_answer *answer);

/* Tells that the command needs at least `size` bytes. The caller then returns ELAPSE__STEP_NEED.
 * `run` is not called again before `size` bytes have come, and the connection's room grows to
 * `size`. If `size` is above body_bytes_max + 1 MiB, the connection ends. */
void elapse__session_need(struct elapse__connection *connection, size_t size);

/* The puts into one tube that come before a put in the same transaction. */
struct elapse__server_puts {
    uint64_t jobs;
    uint64_t bytes; /* the bytes of their bodies */
};

/* Returns whether a put may be run after the puts `before`, or why not. A put whose token is known
 * may be run without room: it stores nothing, and its client has to learn that it arrived. Only a
 * body that is too long is refused then. Counts the connection as a producer. */
enum elapse__server_refusal {
    ELAPSE__MAY_PUT,
    ELAPSE__PUT_DRAINING,
    ELAPSE__PUT_TOO_BIG,
    ELAPSE__PUT_NO_MEMORY,
    ELAPSE__PUT_TUBE_FULL,
};
enum elapse__server_refusal elapse__session_may_put(struct elapse__connection *connection,
                                                    const struct elapse__queue_put *put,
                                                    struct elapse__server_puts before);

/* ---- replies ---- */

/* The functions of this section append to the reply of the command that runs, or to the reply that
 * is being formatted. If there is no memory, the connection ends. */

void elapse__reply_bytes(struct elapse__connection *connection, const void *bytes, size_t size);
void elapse__reply_text(struct elapse__connection *connection, const char *text);

/* elapse__reply_begin returns room for `size` bytes at the end of the reply; NULL if there is no
 * memory. Requires that `size` is at least 1. elapse__reply_end appends the first `size` bytes that
 * were written there. */
char *elapse__reply_begin(struct elapse__connection *connection, size_t size);
void elapse__reply_end(struct elapse__connection *connection, size_t size);

/* These functions work on the reply of the running command, with what its earlier steps have
 * appended. elapse__reply_size returns how many bytes the reply has. elapse__reply_cut cuts the
 * reply to `size` bytes. elapse__reply_at returns the bytes of the reply, which are valid until the
 * next append. The caller may overwrite these bytes, for example by a length that is known only at
 * the end. */
size_t elapse__reply_size(const struct elapse__connection *connection);
void elapse__reply_cut(struct elapse__connection *connection, size_t size);
char *elapse__reply_at(struct elapse__connection *connection);

/* ---- tubes that connections know ---- */

/* A tube of the queue that connections have references to. As long as there is a reference, the
 * tube exists even if it has no jobs, and keeps its statistics. */
struct elapse__server_tube;

struct elapse__server_tube_figures {
    uint32_t using; /* how many connections use the tube: elapse__server_tube_use counts them */
    /* How many connections watch the tube: elapse__server_tube_watch counts them. */
    uint32_t watching;
    uint32_t waiting; /* how many reserves wait for this tube, perhaps beside other tubes */
};

/* Returns the tube of this name, with a reference. Makes the tube if it does not exist. Returns
 * NULL after an error; `*result` is then ARGUMENT, NO_MEMORY or LIMIT. */
struct elapse__server_tube *elapse__server_tube_get(struct elapse__server *server,
                                                    struct elapse__queue_text name,
                                                    enum elapse__queue_result *result);
/* Does the same, also if there are as many tubes as there may be. */
struct elapse__server_tube *elapse__server_tube_get_always(struct elapse__server *server,
                                                           struct elapse__queue_text name,
                                                           enum elapse__queue_result *result);
/* Gives a reference back. */
void elapse__server_tube_give(struct elapse__server *server, struct elapse__server_tube *tube);
/* Returns the name of a tube, which is valid as long as the tube. */
struct elapse__queue_text elapse__server_tube_name(const struct elapse__server_tube *tube);
/* These two functions count the connections that use a tube, and those that watch it, for the
 * statistics of beanstalkd. `change` is +1 or -1. */
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
    uint32_t count;   /* at most this many jobs, 1 to ELAPSE__QUEUE_RESERVE_MAX; the reply has those
                         that are ready, up to output_bytes_max of bodies */
    uint64_t wait_ms; /* how long to wait for a job; 0: not at all; ELAPSE__SERVER_FOREVER: without
                         end */
    /* Who holds the jobs, in place of the client; empty: the client holds them. */
    struct elapse__queue_text holder;
    bool shows_errors;  /* also read the error of each job */
    bool tell_deadline; /* end the wait with DEADLINE_SOON if a lease of the connection ends soon */
    uint64_t context;   /* the function that formats the reply gets this */
};

/* Reserves jobs. `handed_out` or `nothing` formats the reply, now or later. Until then the
 * connection's next commands run, unless the reserve has to wait for a job. Counts the connection
 * as a worker. If this returns true, the caller must return ELAPSE__STEP_RAN, and must append
 * nothing to the reply before or after. Returns false if the journal takes nothing now; the caller
 * must then return ELAPSE__STEP_LATER. */
bool elapse__session_reserve(struct elapse__connection *connection,
                             const struct elapse__session_reserve *request);

/* Reserves one job by its id, whatever its state. `handed_out` formats the reply, with one job. If
 * the job cannot be handed out, `*result` is GONE, RUNNING, or an error, and the caller must write
 * the reply. Returns false as elapse__session_reserve does. */
bool elapse__session_reserve_id(struct elapse__connection *connection, uint64_t id,
                                uint64_t context, enum elapse__queue_result *result);

/* Returns whether a reply of reserve_id has no bytes yet. A command that ends a job by its id has
 * to wait for that reply: it may name the same job, and would end the job before it is handed
 * out. */
bool elapse__session_is_named(const struct elapse__connection *connection);

/* Reads the texts of a job that a look-up has found. `looked` formats the reply, or `nothing` with
 * GONE, ERROR or DAMAGED. The caller must append nothing to the reply, as for a reserve. Returns
 * false if there is no memory; the caller must then write the reply. */
bool elapse__session_look(struct elapse__connection *connection,
                          const struct elapse__queue_view *view, uint64_t context);

/* Does the same for one item of a reply that has several items. `looked` or `nothing` formats each
 * item, in the order of the calls. If there is no memory, the connection ends. */
void elapse__session_look_at_item(struct elapse__connection *connection,
                                  const struct elapse__queue_view *view, uint64_t context);

#endif
