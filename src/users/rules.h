/*
 * The list of the rights that commands need. For each command it says which right the command
 * needs, and for which tubes. No user may run a command that is not in this list. Tests go through
 * the tables of commands of RESP and of the router, and fail if a command is not in this list.
 */
#ifndef ELAPSE__USERS_RULES_H
#define ELAPSE__USERS_RULES_H

#include "../protocol/resp_parse.h"

/* What a user may do. A right holds only for the tubes that the user has. */
enum elapse__right {
    ELAPSE__RIGHT_NONE = 0,       /* the command needs a password, and no right */
    ELAPSE__RIGHT_PUT = 1 << 0,   /* put jobs, and change them by their keys */
    ELAPSE__RIGHT_WORK = 1 << 1,  /* take jobs, and end them */
    ELAPSE__RIGHT_LOOK = 1 << 2,  /* see jobs and figures */
    ELAPSE__RIGHT_ADMIN = 1 << 3, /* change whole tubes, and jobs by their ids */
    ELAPSE__RIGHT_NODE = 1 << 4,  /* be a node of the cluster, which may do everything */
};

/* The scope of a command: for which tubes it needs its right. */
enum elapse__scope {
    ELAPSE__SCOPE_NONE,        /* no tube */
    ELAPSE__SCOPE_TUBE,        /* the tube that the first argument names */
    ELAPSE__SCOPE_TUBES,       /* the tubes before the options of RESERVE */
    ELAPSE__SCOPE_TUBE_OR_ALL, /* the tube that is named; all tubes if none is named */
    ELAPSE__SCOPE_ALL,         /* all tubes */
    /* The tubes of the jobs whose ids are named. If the user lacks the right for the tube of a job,
     * the answer is as if the job did not exist. */
    ELAPSE__SCOPE_ID,
};

/* X(COMMAND, RIGHT, SCOPE) */
#define ELAPSE__RULES(X)        \
    X(PUT, PUT, TUBE)           \
    X(CANCEL, PUT, TUBE)        \
    X(RESCHEDULE, PUT, TUBE)    \
    X(ARRIVE, PUT, TUBE)        \
    X(RESERVE, WORK, TUBES)     \
    X(ACK, WORK, ID)            \
    X(NACK, WORK, ID)           \
    X(EXTEND, WORK, ID)         \
    X(BURY, WORK, ID)           \
    X(LEASED, WORK, ID)         \
    X(LOOKUP, LOOK, TUBE)       \
    X(LOOKUPID, LOOK, ID)       \
    X(LIST, LOOK, TUBE)         \
    X(FIND, LOOK, ALL)          \
    X(RECURRING, LOOK, ALL)     \
    X(HISTORY, LOOK, ALL)       \
    X(GROUPS, LOOK, TUBE)       \
    X(TUBES, LOOK, ALL)         \
    X(STATS, LOOK, TUBE_OR_ALL) \
    X(INFO, LOOK, ALL)          \
    X(CANCELALL, ADMIN, TUBE)   \
    X(KICK, ADMIN, TUBE)        \
    X(PAUSE, ADMIN, TUBE)       \
    X(CANCELID, ADMIN, ID)      \
    X(RESCHEDULEID, ADMIN, ID)  \
    X(KICKID, ADMIN, ID)        \
    X(LIMIT, ADMIN, TUBE)       \
    X(CLOCK, ADMIN, ALL)        \
    X(NODE, NODE, NONE)

/* X(COMMAND): commands that concern the connection alone need a password, and no right. */
#define ELAPSE__FREE_COMMANDS(X) \
    X(PING)                      \
    X(ECHO)                      \
    X(AUTH)                      \
    X(QUIT)                      \
    X(HELLO)                     \
    X(RESET)                     \
    X(SELECT)                    \
    X(CLIENT)                    \
    X(WHOAMI)                    \
    X(CONFIG)                    \
    X(COMMAND)                   \
    X(MULTI)                     \
    X(EXEC)                      \
    X(DISCARD)                   \
    X(WATCH)

struct elapse__rule {
    char name[16]; /* the name of the command, in capitals */
    enum elapse__right right;
    enum elapse__scope scope;
};

/* Returns the rule of the command with this name, whatever the case of the letters. Returns NULL if
 * there is no such command. */
const struct elapse__rule *elapse__rule_of(struct elapse__wire_resp_argument name);

#endif
