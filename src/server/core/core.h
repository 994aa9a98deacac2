/*
 * The core of the server: for each connection it takes bytes, and has bytes to send. It is pure: no
 * socket, thread, clock or file. The shell (src/server/loop) has the sockets, and calls the core
 * under the store's lock. The gate of a reply is the position of the journal that must be durable
 * before the reply may leave.
 *
 *      bytes --> received --> input --> protocol --run--> engine (queue + journal)
 *                                          |
 *                             replies, in order, behind their gates
 *                                          |
 *      bytes <-- output <-- durable ones <-- held replies and hand-outs
 *
 * Life of a command. Each column is a reason to wait. A connection that waits delays no other:
 *
 *      in the input --> runs --> its reply is held --> may leave --> sent
 *        ^  ^  ^         |          gate: durable       output
 *        |  |  |         +-- goes on in the next turn (a long pass, or many commands)
 *        |  |  +------------ again later: the journal is full
 *        |  +--------------- behind a reserve that waits for a job
 *        +------------------ the client does not read what it was sent
 *
 * Life of a hand-out (session.h has the verbs):
 *
 *      WAITING --a job is ready--> HANDED --durable, first in line--> READING --> formatted, its
 *         |  ^                       |                                   |        lease begins
 *         |  +-----------------------+-----------------------------------+
 *         |                the job was cancelled meanwhile, or is damaged
 *         +--> its time is over: "nothing"
 *
 * Promises: no byte leaves before its causes are durable (Q4 of docs/promises.md). Replies leave in
 * the order of the commands. A hand-out whose reply was not wholly sent when the connection closed
 * is undone, or ends with its connection, as the protocol says. A round is all calls up to the end
 * of a turn. They work about a millisecond together, and later turns do the rest.
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
 * Every function requires that the store's lock is held, so one thread calls at a time. `now` was
 * read under that lock, so that it does not go back between calls.
 */
#ifndef ELAPSE__CORE_H
#define ELAPSE__CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../base/histogram.h"
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
    struct elapse__engine *engine; /* its life has begun */

    /* The protocols that the server speaks; NULL: the server does not speak this one. A connection
     * whose first byte is '*' speaks `resp`, each other one speaks `beanstalkd`. */
    const struct elapse__protocol *beanstalkd;
    const struct elapse__protocol *resp;

    /* The passwords of AUTH, whose texts stay valid. Without passwords everybody may do everything.
     * With passwords a connection speaks beanstalkd's protocol only if its facts allow it. */
    struct elapse__keys keys;
    /* With users, beanstalkd's protocol does what this user may do; NULL: what `default` may. */
    const char *beanstalkd_user;
    /* A router in front knows who may connect and what commands by name may do: no password is
     * needed here, and connections of nodes say for which user a command by id is. */
    bool is_behind_router;

    /* Stores the address of the client of this shell in words, up to the size of `text`. NULL: jobs
     * do not show who holds them, unless the client has a name. */
    void (*address)(void *shell, char text[ELAPSE__SERVER_ADDRESS_BYTES]);

    /* Moves the clock of the shell forward, for tests; the calls that follow have the new time.
     * Returns false, and moves nothing, if that is too far. NULL: the clock is the machine's. */
    bool (*advance_clock)(uint64_t advance_ms);

    /* Limits; 0 is the default, or no limit where none is named above. */
    uint32_t body_bytes_max;  /* of a job; not above the queue's own limit */
    uint32_t connections_max; /* elapse__connection_new refuses more */
    uint32_t input_bytes_max; /* of a connection that wait to be run, beside one command's body */
    /* While a connection has this many bytes of replies that are held, or that the client has not
     * read, none of its commands runs. A reply that has no bytes yet counts by its memory. */
    uint32_t output_bytes_max;
    uint64_t kept_bytes_max; /* of commands of transactions that are not ended, of all connections
                                together; the default is ELAPSE__SERVER_KEPT_BYTES */
    uint32_t idle_ms;        /* a connection without bytes, leases or a waiting reserve ends */
    uint64_t tube_jobs_max;  /* PUT into a tube with this many jobs, without shadows, is refused */
    uint64_t tube_bytes_max; /* PUT into a tube whose bodies have this many bytes is refused */
    uint64_t memory_bytes_max; /* PUT is refused while elapse__server_set_memory says this much */

    /* What statistics tell. The texts stay valid. */
    const char *version; /* NULL: "" */
    const char *host;
    const char *os;
    const char *platform;
    const char *instance; /* a random name of this process */
    uint64_t process_id;
    uint64_t binlog_bytes_max; /* of a segment */
};

/* ---- life ---- */

/* Makes a server. Returns NULL if there is no memory. Cost: some 130 KiB. */
struct elapse__server *elapse__server_new(const struct elapse__server_options *options,
                                          struct elapse__queue_now now);

/* Releases the server and its connections, because the process ends: nothing is undone. Requires
 * that the shell uses no connection any more, and has no reading. */
void elapse__server_free(struct elapse__server *server);

/* Refuses puts from now on, for the life of the server: beanstalkd's drain mode. */
void elapse__server_drain(struct elapse__server *server);

/* Runs no further command, and takes no further byte. Reserves that wait go on waiting. */
void elapse__server_stop(struct elapse__server *server);

/* Returns whether every reply that can leave was sent, so that connections may be closed. Requires
 * elapse__server_stop before. */
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

/* Returns the wrong passwords of this server. */
struct elapse__guesses *elapse__server_guesses(struct elapse__server *server);

/* Returns the connections of this server that used the old name of an option. Links of other nodes
 * are not among them: their routers know the clients. */
struct elapse__guesses *elapse__server_old_names(struct elapse__server *server);

/* Replaces the passwords of the options. The texts stay valid until the next call. Requires that
 * the server had passwords, and that `count` is not 0: so a connection that has not given a
 * password stays without rights. */
void elapse__server_set_passwords(struct elapse__server *server,
                                  const struct elapse__queue_text *passwords, size_t count);

/* ---- connections ---- */

struct elapse__wire_resp_argument;

/* Where a connection gets commands of RESP that were parsed elsewhere, in place of bytes. */
struct elapse__command_source {
    /* Returns the arguments of the next command, and stores how many; NULL: there is none now. */
    const struct elapse__wire_resp_argument *(*next)(struct elapse__command_source *source,
                                                     uint32_t *count);
    /* Tells that the command was begun. If it is not done, `next` has to return it again. */
    void (*ran)(struct elapse__command_source *source, bool is_done);
};

struct elapse__connection_facts {
    bool may_use_beanstalkd; /* the client came by loopback or a unix socket; matters with passwords
                                only */
    bool speaks_resp3;       /* the client is a node, which has greeted the shell */
    struct elapse__command_source *source; /* NULL: bytes come; outlives the connection */
    uint64_t place; /* of the client's address, for wrong passwords: guesses.h */
    void *shell;    /* the shell's own object; elapse__connection_shell returns it */
};

/* Returns a connection; NULL: there are connections_max connections, or there is no memory. */
struct elapse__connection *elapse__connection_new(struct elapse__server *server,
                                                  struct elapse__queue_now now,
                                                  const struct elapse__connection_facts *facts);

void *elapse__connection_shell(const struct elapse__connection *connection);

/* Returns how many bytes `received` takes now; 0: read nothing until the connection comes by
 * elapse__server_attention. */
size_t elapse__connection_room(const struct elapse__connection *connection);

/* Takes bytes that came: runs the commands in them, up to a slice, and copies the rest. Requires
 * that `size` is at most the room. */
void elapse__connection_received(struct elapse__connection *connection,
                                 struct elapse__queue_now now, const void *bytes, size_t size);

/* Notes that the source of the connection has commands, and runs a slice of them, as if their bytes
 * had come. Later turns run the rest. Requires a source. */
void elapse__connection_commands(struct elapse__connection *connection,
                                 struct elapse__queue_now now);

/* Notes that the client sends nothing more, but may read. The commands that are there are run, and
 * the connection ends when their replies were sent. A reserve that waits is dropped. */
void elapse__connection_received_all(struct elapse__connection *connection,
                                     struct elapse__queue_now now);

/* Returns how many bytes may leave now, and stores where they are. They stay there until the next
 * call of any function. */
size_t elapse__connection_output(const struct elapse__connection *connection,
                                 const uint8_t **bytes);

/* Notes that the socket took the first `size` bytes of the output, after the last turn. */
void elapse__connection_sent(struct elapse__connection *connection, struct elapse__queue_now now,
                             size_t size);

/* Returns whether the connection has something to do as soon as its output was sent: then the shell
 * says so at once. Otherwise the next call that the shell has to make anyway is early enough. */
bool elapse__connection_awaits_sent(const struct elapse__connection *connection);

/* Returns whether the shell should close the socket: everything was sent, and nothing more will
 * come. The shell then calls elapse__connection_closed. */
bool elapse__connection_wants_end(const struct elapse__connection *connection);

/* Notes that the socket is closed. The shell may not use the connection any more. Later turns undo
 * its hand-outs. */
void elapse__connection_closed(struct elapse__connection *connection, struct elapse__queue_now now);

/* ---- turns ---- */

/* Does what the time asks for, and what has become possible: due jobs, reserves that wait, replies
 * that became durable, commands that wait to run, closed connections. Returns whether there is more
 * to do now. Returns false also while the journal is full: then the store's news (a commit) come
 * before the core can do more. */
bool elapse__server_turn(struct elapse__server *server, struct elapse__queue_now now);

/* Returns when a turn is next needed, by the boot-time clock, unless something happens before;
 * UINT64_MAX: never. elapse__queue_next_due says when the next job is due. */
uint64_t elapse__server_next_ms(const struct elapse__server *server);

/* Returns a connection whose output, room or end may have changed since it was returned last; NULL:
 * none is left. */
struct elapse__connection *elapse__server_attention(struct elapse__server *server);

/* The reading of a body that is not in the page cache. The shell performs it without the lock,
 *      elapse__journal_read_perform(engine->journal, true, &reading->reading, 1)
 * and then gives it back. */
struct elapse__server_reading {
    struct elapse__ring_node ring_node; /* private */
    struct elapse__journal_reading reading;
    struct elapse__server_reply *reply; /* private */
    bool is_of_error;                   /* private: the reading of an error, not of a body */
};

/* Returns the next reading to perform, NULL if there is none. */
struct elapse__server_reading *elapse__server_reading(struct elapse__server *server);

/* Gives a reading back that the shell has performed. */
void elapse__server_reading_done(struct elapse__server *server, struct elapse__queue_now now,
                                 struct elapse__server_reading *reading);

/* ---- statistics ---- */

/* The commands that are counted, of both protocols. */
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
    ELAPSE__VERB_CANCEL, /* from here on RESP alone */
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
    uint64_t connections; /* open now */
    uint64_t producers;   /* open connections that have put a job */
    uint64_t workers;     /* open connections that have asked for a job */
    uint64_t waiting;     /* reserves that wait for a job */
    uint64_t total_connections;
    uint64_t uptime_ms;
    uint64_t commands[ELAPSE__VERBS];
    uint64_t refused; /* connections, because there were connections_max */
    uint64_t undone;  /* hand-outs whose reply could not be sent */
    uint64_t wrong_passwords;
    bool draining;
    uint64_t user_us, system_us; /* as elapse__server_set_usage said */
    struct elapse__queue_statistics jobs;
    struct elapse__journal_figures journal;
};

void elapse__server_statistics(const struct elapse__server *server, struct elapse__queue_now now,
                               struct elapse__server_statistics *statistics);

/* Returns whether somebody should look at a tube with these statistics: a job is buried, a ready
 * job has waited for long, a limit holds jobs back, or the tube is paused. */
enum { ELAPSE__SERVER_LONG_WAIT_MS = 10000 };
static inline bool elapse__server_is_in_trouble(const struct elapse__queue_statistics *tube)
{
    return tube->buried > 0 || tube->held > 0 || tube->pause_left_ms > 0 ||
           tube->overdue_ms >= ELAPSE__SERVER_LONG_WAIT_MS;
}

/* How late jobs were handed out: milliseconds from their due time to their reply. */
const struct elapse__histogram *elapse__server_lateness(const struct elapse__server *server);

/* Tests the invariants of the core; for tests. Returns 0, or the number of the first one found
 * broken, as numbered in src/server/core/check.c. Cost: O(connections). */
unsigned elapse__server_check(const struct elapse__server *server);

#endif
