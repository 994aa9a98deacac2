/*
 * A connection that speaks beanstalkd's protocol. Each file has some of the commands:
 *
 *      session.c   bytes -> one command -> its function; hand-outs and looks -> bytes
 *      jobs.c      put delete release bury touch kick reserve peek
 *      tubes.c     use watch ignore pause-tube list-...
 *      stats.c     stats stats-job stats-tube
 *
 * The function of a command replies, or returns LATER or MORE. After these it is called again with
 * the same command. The session keeps how far a long command has come.
 */
#ifndef ELAPSE__BEANSTALKD_SESSION_H
#define ELAPSE__BEANSTALKD_SESSION_H

#include "../../protocol/beanstalkd.h"
#include "../core/session.h"

/* The context of a reserve or a look. It says which reply has to be written. */
enum beanstalkd_context {
    BEANSTALKD_RESERVED, /* reserve, reserve-with-timeout, reserve-job */
    BEANSTALKD_FOUND,    /* peek, peek-... */
    BEANSTALKD_STATS_JOB,
};

/* The session. Only these files use its fields. */
struct beanstalkd_session {
    struct elapse__wire_beanstalkd_parser parser;
    struct elapse__server_tube *home;     /* "default", with a reference, so that it exists */
    struct elapse__server_tube *used;     /* with a reference, like each watched tube */
    struct elapse__server_tube **watched; /* in the order of list-tubes-watched */
    uint32_t watched_count;
    uint32_t watched_room;

    const struct elapse__user *user; /* the user of --beanstalkd-user, in the table of users */
    uint64_t users_serial;           /* the serial number of that table; 0: not looked up yet */

    /* A command has begun and not finished. */
    bool goes_on;
    uint32_t cursor;                      /* for list-tubes */
    struct elapse__queue_kick *kick;      /* for kick; NULL: none */
    struct elapse__queue_soonest soonest; /* for peek-delayed */
};

/* A session watches at most as many tubes as one reserve can have. */
enum { BEANSTALKD_WATCHED_MAX = ELAPSE__QUEUE_RESERVE_MAX };

typedef enum elapse__session_step
beanstalkd_function(struct elapse__connection *connection,
                    const struct elapse__wire_beanstalkd_command *command);

static inline struct beanstalkd_session *
elapse__beanstalkd_session(const struct elapse__connection *connection)
{
    return elapse__session(connection);
}

/* Replies with one of the fixed lines. Returns RAN. */
static inline enum elapse__session_step
elapse__beanstalkd_say(struct elapse__connection *connection,
                       enum elapse__wire_beanstalkd_reply reply)
{
    struct elapse__wire_beanstalkd_text text = elapse__wire_beanstalkd_reply(reply);
    elapse__reply_bytes(connection, text.bytes, text.size);
    return ELAPSE__STEP_RAN;
}

/* Replies to a command of the queue with `good`, or with the reason why the command was not
 * done. */
enum elapse__session_step elapse__beanstalkd_say_of(struct elapse__connection *connection,
                                                    enum elapse__queue_result result,
                                                    enum elapse__wire_beanstalkd_reply good);

beanstalkd_function elapse__beanstalkd_put;
beanstalkd_function elapse__beanstalkd_change; /* delete release bury touch kick-job */
beanstalkd_function elapse__beanstalkd_kick;
/* Frees the kick that is under way, if there is one. */
void elapse__beanstalkd_end_kick(struct elapse__connection *connection);
beanstalkd_function elapse__beanstalkd_reserve;
beanstalkd_function elapse__beanstalkd_reserve_job;
beanstalkd_function elapse__beanstalkd_peek;
beanstalkd_function elapse__beanstalkd_peek_tube; /* peek-ready peek-buried */
beanstalkd_function elapse__beanstalkd_peek_delayed;

beanstalkd_function elapse__beanstalkd_use;
beanstalkd_function elapse__beanstalkd_watch;
beanstalkd_function elapse__beanstalkd_ignore;
beanstalkd_function elapse__beanstalkd_pause_tube;
beanstalkd_function elapse__beanstalkd_list_tubes;
beanstalkd_function elapse__beanstalkd_list_tube_used;
beanstalkd_function elapse__beanstalkd_list_tubes_watched;
/* Uses and watches the tube "default". Returns false if there is no memory. */
bool elapse__beanstalkd_tubes_begin(struct elapse__connection *connection);
void elapse__beanstalkd_tubes_end(struct elapse__connection *connection);

beanstalkd_function elapse__beanstalkd_stats;
beanstalkd_function elapse__beanstalkd_stats_job;
beanstalkd_function elapse__beanstalkd_stats_tube;
/* Formats the reply of stats-job. */
void elapse__beanstalkd_looked_at_job(struct elapse__connection *connection,
                                      const struct elapse__queue_view *view,
                                      const struct elapse__engine_job *texts);

#endif
