/*
 * The core of the server. For each connection, the core takes bytes, and has bytes to send. The
 * core is pure: it has no socket, thread, clock or file. The shell (src/server/loop) has the
 * sockets, and calls the core under the store's lock. The gate of a reply is the position of the
 * journal that must be durable before the reply may leave.
 *
 *      bytes --> received --> input --> protocol --run--> engine (queue + journal)
 *                                          |
 *                             replies, in order, behind their gates
 *                                          |
 *      bytes <-- output <-- durable ones <-- held replies and hand-outs
 *
 * The life of a command. Each of the four columns below the first line is a reason to wait. A
 * connection that waits delays no other connection:
 *
 *      in the input --> runs --> its reply is held --> may leave --> sent
 *        ^  ^  ^         |          gate: durable       output
 *        |  |  |         +-- goes on in the next turn: the command does much, or there are many
 *        |  |  +------------ runs again later: the journal is full
 *        |  +--------------- waits behind a reserve that waits for a job
 *        +------------------ waits until the client reads what it was sent
 *
 * The life of a hand-out, which is a reply that has jobs (session.h has the functions):
 *
 *      WAITING --a job is ready--> HANDED --durable, first in line--> READING --> formatted, its
 *         |  ^                       |                                   |        lease begins
 *         |  +-----------------------+-----------------------------------+
 *         |                the job was cancelled meanwhile, or is damaged
 *         +--> its time is over: "nothing"
 *
 * Promises. No byte leaves before all that it tells is durable (Q4 of docs/promises.md). Replies
 * leave in the order of the commands. If a connection closes before the reply of a hand-out was
 * wholly sent, the hand-out is undone, or ends with the connection, as the protocol says. A round
 * is all calls up to the end of a turn. The calls of a round work about a millisecond together, and
 * later turns do the rest.
 *
 * The shell's loop:
 *
 *      lock the store; read both clocks: `now`
 *      for each socket with bytes:     elapse__connection_received, at most ..._room bytes
 *      for each closed socket:         elapse__connection_closed
 *      for each reading that is done:  elapse__server_reading_done
 *      more = elapse__server_turn
 *      while (elapse__server_attention):  write ..._output, say ..._sent; look at ..._room and
 *                                         ..._wants_end
 *      while (elapse__server_reading):    pass it to the reader thread
 *      unlock; wait for sockets, the store's news, or elapse__server_next_ms; not if `more`
 *
 * Every function requires that the store's lock is held, so that one thread calls at a time. Every
 * function requires that `now` was read under that lock, so that time does not go back between
 * calls.
 */
#ifndef ELAPSE__CORE_H
#define ELAPSE__CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../base/buffer.h"
#include "../../base/histogram.h"
#include "../../base/history.h"
#include "../../engine/engine.h"
#include "admit.h"

struct elapse__server;
struct elapse__connection;
struct elapse__protocol; /* session.h */

/* ---- options ---- */

enum {
    ELAPSE__SERVER_BODY_BYTES = 65535,     /* the default of body_bytes_max */
    ELAPSE__SERVER_CONNECTIONS = 100000,   /* the default of connections_max */
    ELAPSE__SERVER_INPUT_BYTES = 1 << 18,  /* the default of input_bytes_max */
    ELAPSE__SERVER_OUTPUT_BYTES = 1 << 20, /* the default of output_bytes_max */
    ELAPSE__SERVER_KEPT_BYTES = 64 << 20   /* the default of kept_bytes_max */
};

enum { ELAPSE__SERVER_ADDRESS_BYTES = 64 };

struct elapse__server_options {
    struct elapse__engine *engine; /* an engine whose life has begun */

    /* The protocols that the server speaks; NULL: the server does not speak this protocol. A
     * connection whose first byte is '*' speaks `resp`. Any other connection speaks
     * `beanstalkd`. */
    const struct elapse__protocol *beanstalkd;
    const struct elapse__protocol *resp;

    /* The passwords that AUTH compares with; their texts must stay valid. Without passwords
     * everybody may do everything. With passwords, a connection may speak beanstalkd's protocol
     * only if its facts allow it. */
    struct elapse__keys keys;
    /* If there are users, a connection of beanstalkd's protocol has the rights of this user; NULL:
     * those of the user `default`. */
    const char *beanstalkd_user;
    /* A router in front of this core checks who may connect and what commands by name may do. So no
     * password is needed here. A connection of a node says for which user a command by id is. */
    bool is_behind_router;

    /* Stores the address of a client as text, up to the size of `text`. `shell` is the shell's
     * object for the connection. NULL: a job shows who holds it only if the client has a name. */
    void (*address)(void *shell, char text[ELAPSE__SERVER_ADDRESS_BYTES]);

    /* Moves the clock of the shell forward, for tests. The calls that follow have the new time.
     * Returns false, and moves nothing, if that is too far. NULL: the clock is the clock of the
     * machine. */
    bool (*advance_clock)(uint64_t advance_ms);

    /* What HISTORY tells; the shell adds to it. NULL: nothing is known. */
    const struct elapse__history *history;

    /* Limits. 0 stands for the default that is named above; if none is named, 0 means that there is
     * no limit. */
    uint32_t body_bytes_max;  /* the longest body of a job; not above the queue's own limit */
    uint32_t connections_max; /* elapse__connection_new refuses more connections */
    uint32_t input_bytes_max; /* bytes of one connection that wait to be run, without the body of
                                 one command */
    /* While a connection has this many bytes of replies that are held, or that the client has not
     * read, none of its commands runs. A reply that has no bytes yet counts with the size of its
     * memory. */
    uint32_t output_bytes_max;
    uint64_t kept_bytes_max; /* bytes of the commands of transactions that are not ended, of all
                                connections together */
    /* A connection ends for which nothing came or was sent for this time, and that neither owns a
     * lease nor waits: for a job, for an answer, or for its turn. A client that does not read does
     * not wait. */
    uint32_t idle_ms;
    /* A put whose token is known is run in spite of these limits, because it stores nothing. */
    uint64_t tube_jobs_max;    /* PUT is refused into a tube that has this many jobs, not counting
                                  shadows */
    uint64_t tube_bytes_max;   /* PUT is refused into a tube whose bodies have this many bytes */
    uint64_t memory_bytes_max; /* PUT is refused while elapse__server_set_memory says that the
                                  process has this much */

    /* What statistics tell. The texts stay valid. */
    const char *version; /* NULL: "" */
    const char *host;
    const char *os;
    const char *platform;
    const char *instance; /* a random name of this process */
    uint64_t process_id;
    uint64_t binlog_bytes_max; /* the size of a segment */
};

/* ---- life ---- */

/* Makes a server. Returns NULL if there is no memory. Cost: some 130 KiB. */
struct elapse__server *elapse__server_new(const struct elapse__server_options *options,
                                          struct elapse__queue_now now);

/* Releases the server and its connections when the process ends. Undoes nothing. Requires that the
 * shell uses no connection any more, and has no reading. */
void elapse__server_free(struct elapse__server *server);

/* Refuses puts from now on, until the server ends, unless their token is known. This is
 * beanstalkd's drain mode. */
void elapse__server_drain(struct elapse__server *server);

/* Runs no further command, and takes no further byte. Reserves that wait go on waiting. */
void elapse__server_stop(struct elapse__server *server);

/* Returns whether every reply that can leave was sent, and nothing of closed connections is left to
 * undo. Then connections may be closed. Requires that elapse__server_stop was called before, or
 * that there is no connection. */
bool elapse__server_is_quiet(const struct elapse__server *server);

/* Tells how much memory the process has, for memory_bytes_max. The shell calls this now and then.
 */
void elapse__server_set_memory(struct elapse__server *server, uint64_t bytes);

/* Tells how much processor time the process has used, for statistics. The shell calls this now and
 * then. */
void elapse__server_set_usage(struct elapse__server *server, uint64_t user_us, uint64_t system_us);

/* Counts a wrong password that the shell received from `place` (guesses.h). Returns how many
 * milliseconds the shell waits before it answers. */
uint64_t elapse__server_wrong_password(struct elapse__server *server, struct elapse__queue_now now,
                                       uint64_t place);

/* Returns the counts of wrong passwords of this server. */
struct elapse__guesses *elapse__server_guesses(struct elapse__server *server);

/* Returns the counts of connections that used the old name of an option. The links of other nodes
 * do not count here, because their routers count the clients. */
struct elapse__guesses *elapse__server_old_names(struct elapse__server *server);

/* Replaces the passwords of the options. The texts must stay valid until the next call. Requires
 * that the server had passwords, and that `count` is not 0. So a connection that has not given a
 * password stays without rights. */
void elapse__server_set_passwords(struct elapse__server *server,
                                  const struct elapse__queue_text *passwords, size_t count);

/* ---- connections ---- */

struct elapse__wire_resp_argument;

/* A connection with a source gets commands of RESP that were parsed elsewhere, and no bytes. */
struct elapse__command_source {
    /* Returns the arguments of the next command, and stores in `*count` how many they are; NULL if
     * there is no command now. */
    const struct elapse__wire_resp_argument *(*next)(struct elapse__command_source *source,
                                                     uint32_t *count);
    /* Tells that the command was begun. If `is_done` is false, `next` must return this command
     * again. */
    void (*ran)(struct elapse__command_source *source, bool is_done);
};

struct elapse__connection_facts {
    bool may_use_beanstalkd; /* the client came by loopback or by a unix socket; this matters only
                                if there are passwords */
    bool speaks_resp3;       /* the client is a node, which has greeted the shell */
    /* The client is a request of HTTP. A part of this process reads the replies: it takes the bytes
     * of an answer when it has all of them, and it ends the connection. So no answer waits until
     * bytes before it were sent, and `idle_ms` does not hold. */
    bool is_request;
    /* NULL: the connection gets bytes. The source must outlive the connection. */
    struct elapse__command_source *source;
    uint64_t place; /* the place of the client's address, for wrong passwords: guesses.h */
    void *shell;    /* the shell's own object; elapse__connection_shell returns it */
};

/* Returns a connection; NULL: there are connections_max connections, or there is no memory. */
struct elapse__connection *elapse__connection_new(struct elapse__server *server,
                                                  struct elapse__queue_now now,
                                                  const struct elapse__connection_facts *facts);

void *elapse__connection_shell(const struct elapse__connection *connection);

/* Returns how many bytes elapse__connection_received takes now. If this is 0, the shell reads
 * nothing until elapse__server_attention returns the connection. */
size_t elapse__connection_room(const struct elapse__connection *connection);

/* Takes bytes that came. Runs some of the commands in them, and copies the rest for later turns.
 * Requires that `size` is at most the room. */
void elapse__connection_received(struct elapse__connection *connection,
                                 struct elapse__queue_now now, const void *bytes, size_t size);

/* Takes the bytes of the buffer, as elapse__connection_received does, and empties the buffer. If
 * most of the bytes wait for later turns, takes the memory of the buffer with them, which saves a
 * copy. Then the buffer has other memory, or none. */
void elapse__connection_received_whole(struct elapse__connection *connection,
                                       struct elapse__queue_now now, struct elapse__buffer *bytes);

/* Notes that the source of the connection has commands, and runs some of them, as if their bytes
 * had come. Later turns run the rest. Requires that the connection has a source. */
void elapse__connection_commands(struct elapse__connection *connection,
                                 struct elapse__queue_now now);

/* Notes that the client sends nothing more, but may still read. The commands that have come are
 * run, and the connection ends when their replies were sent. A reserve that still waits then is
 * dropped, with the commands behind it. */
void elapse__connection_received_all(struct elapse__connection *connection,
                                     struct elapse__queue_now now);

/* Returns how many bytes may leave now, and stores in `*bytes` where they are. The bytes stay there
 * until the next call of any function. */
size_t elapse__connection_output(const struct elapse__connection *connection,
                                 const uint8_t **bytes);

/* Notes that the socket took the first `size` bytes of the output, after the last turn. */
void elapse__connection_sent(struct elapse__connection *connection, struct elapse__queue_now now,
                             size_t size);

/* Returns whether the connection has something to do as soon as its output was sent. Then the shell
 * must call elapse__connection_sent at once. Otherwise the shell may wait until it has another
 * reason to call the core. */
bool elapse__connection_awaits_sent(const struct elapse__connection *connection);

/* Returns whether the shell should close the socket, because everything was sent, and nothing more
 * will come; or because the connection has failed. A connection that has failed may have output:
 * the shell may send it, but must not wait until the socket takes it. When it has closed the
 * socket, the shell calls elapse__connection_closed. */
bool elapse__connection_wants_end(const struct elapse__connection *connection);

/* Notes that the socket is closed. The shell must not use the connection any more. Later turns undo
 * the hand-outs of the connection. */
void elapse__connection_closed(struct elapse__connection *connection, struct elapse__queue_now now);

/* ---- turns ---- */

/* Does the work of one turn: due jobs, reserves that wait, replies that became durable, commands
 * that wait to run, and closed connections. Returns whether there is more to do now. While the
 * journal is full, returns false, because the core can do more only after a commit. */
bool elapse__server_turn(struct elapse__server *server, struct elapse__queue_now now);

/* Returns when the next turn is needed, by the boot-time clock, if nothing happens before;
 * UINT64_MAX if no turn is needed. Due jobs are not counted: elapse__queue_next_due says when the
 * next job is due. */
uint64_t elapse__server_next_ms(const struct elapse__server *server);

/* Returns a connection whose output, room or end may have changed since this function returned it
 * last; NULL if there is no such connection. */
struct elapse__connection *elapse__server_attention(struct elapse__server *server);

/* A reading is the work to read a body that is not in the page cache. The shell performs it without
 * the lock by
 *      elapse__journal_read_perform(engine->journal, true, &reading->reading, 1)
 * and then gives the reading back. */
struct elapse__server_reading {
    struct elapse__ring_node ring_node; /* private */
    struct elapse__journal_reading reading;
    struct elapse__server_reply *reply; /* private */
    bool is_of_error; /* private: this reading is for the error of a job, not for a body */
};

/* Returns the next reading that the shell must perform; NULL if there is none. */
struct elapse__server_reading *elapse__server_reading(struct elapse__server *server);

/* Gives a reading back that the shell has performed. */
void elapse__server_reading_done(struct elapse__server *server, struct elapse__queue_now now,
                                 struct elapse__server_reading *reading);

/* ---- statistics ---- */

/* The commands of both protocols that are counted. */
enum elapse__server_verb {
    ELAPSE__VERB_PUT,
    ELAPSE__VERB_PEEK,
    ELAPSE__VERB_PEEK_READY,
    ELAPSE__VERB_PEEK_DELAYED,
    ELAPSE__VERB_PEEK_BURIED,
    ELAPSE__VERB_RESERVE,
    ELAPSE__VERB_RESERVE_WITH_TIMEOUT,
    ELAPSE__VERB_RESERVE_JOB,
    ELAPSE__VERB_DELETE,
    ELAPSE__VERB_RELEASE,
    ELAPSE__VERB_USE,
    ELAPSE__VERB_WATCH,
    ELAPSE__VERB_IGNORE,
    ELAPSE__VERB_BURY,
    ELAPSE__VERB_KICK,
    ELAPSE__VERB_KICK_JOB,
    ELAPSE__VERB_TOUCH,
    ELAPSE__VERB_STATS,
    ELAPSE__VERB_STATS_JOB,
    ELAPSE__VERB_STATS_TUBE,
    ELAPSE__VERB_LIST_TUBES,
    ELAPSE__VERB_LIST_TUBE_USED,
    ELAPSE__VERB_LIST_TUBES_WATCHED,
    ELAPSE__VERB_PAUSE_TUBE,
    ELAPSE__VERB_QUIT,
    ELAPSE__VERB_CANCEL, /* only RESP has this command and those below */
    ELAPSE__VERB_CANCEL_ID,
    ELAPSE__VERB_RESCHEDULE,
    ELAPSE__VERB_RESCHEDULE_ID,
    ELAPSE__VERB_ARRIVE,
    ELAPSE__VERB_ACK,
    ELAPSE__VERB_NACK,
    ELAPSE__VERB_EXTEND,
    ELAPSE__VERB_KICK_ID,
    ELAPSE__VERB_LOOK_UP,
    ELAPSE__VERB_LOOK_UP_ID,
    ELAPSE__VERB_LIST,
    ELAPSE__VERB_CANCEL_ALL,
    ELAPSE__VERB_OTHER,
    ELAPSE__VERBS,
};

struct elapse__server_statistics {
    uint64_t connections; /* connections that are open now */
    uint64_t producers;   /* open connections that have put a job */
    uint64_t workers;     /* open connections that have asked for a job */
    uint64_t waiting;     /* reserves that wait for a job */
    uint64_t total_connections;
    uint64_t uptime_ms;
    uint64_t commands[ELAPSE__VERBS];
    uint64_t refused; /* connections that were refused, because there were connections_max */
    uint64_t undone;  /* hand-outs whose reply could not be sent */
    uint64_t wrong_passwords;
    bool draining;
    uint64_t user_us, system_us; /* as elapse__server_set_usage said */
    struct elapse__queue_statistics jobs;
    struct elapse__journal_figures journal;
};

void elapse__server_statistics(const struct elapse__server *server, struct elapse__queue_now now,
                               struct elapse__server_statistics *statistics);

/* Returns whether an operator should look at a tube with these statistics: a job is buried, a ready
 * job has waited for long, a limit holds jobs back, or the tube is paused. */
enum { ELAPSE__SERVER_LONG_WAIT_MS = 10000 };
static inline bool elapse__server_is_in_trouble(const struct elapse__queue_statistics *tube)
{
    return tube->buried > 0 || tube->held > 0 || tube->pause_left_ms > 0 ||
           tube->overdue_ms >= ELAPSE__SERVER_LONG_WAIT_MS;
}

/* Returns how late jobs were handed out: milliseconds from the due time of a job to the reply that
 * has it. */
const struct elapse__histogram *elapse__server_lateness(const struct elapse__server *server);

/* Adds what this server has and has counted to a sample of the process. */
void elapse__server_sample(struct elapse__server *server, struct elapse__queue_now now,
                           struct elapse__history_sample *sample);

/* Checks the invariants of the core, for tests. Returns 0, or the number of the first invariant
 * that it finds broken. src/server/core/check.c lists the invariants. Cost: O(connections). */
unsigned elapse__server_check(const struct elapse__server *server);

#endif
