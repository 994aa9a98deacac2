/*
 * A table of commands that each send one verb of the protocol and have no file of their own.
 * verb_command.c makes a request from a row and a command line, and prints the reply.
 */
#ifndef ELAPSE_CLI_CLIENT_VERBS_H
#define ELAPSE_CLI_CLIENT_VERBS_H

#include <stdbool.h>

#include "../common/options.h"

enum { VERB_OPTIONS_MAX = 4 };

/* The kinds of reply. */
enum verb_reply {
    VERB_WORDS, /* a word for each part of the command; or a map, for a question */
    VERB_COUNT, /* a number */
    VERB_LEFT,  /* how many arrivals are missing; or a word */
    VERB_JOBS,  /* jobs that are handed out */
};

/* The kinds of argument. The kind says how an argument is checked, and what it is called when it is
 * missing. */
enum verb_argument {
    VERB_NOTHING,
    VERB_TUBE,
    VERB_KEY,
    VERB_ID,
    VERB_LEASE,
    VERB_COUNT_OF_JOBS,
    VERB_COUNT_OF_ARRIVALS,
    VERB_DURATION,
    VERB_WORD, /* passed on to the server, which checks it */
};

enum { VERB_ARGUMENTS_MAX = 2 };

/* An option that becomes an option of the protocol: its word and the value after it. */
struct verb_option {
    const char *name;  /* NULL: the end of the options */
    const char *value; /* the name of the value in the help; NULL: a flag */
    const char *word;
    const char *help;
    bool is_duration;
};

struct verb {
    const char *name; /* the name of the command */
    struct command_help help;

    const char *word;   /* the word of the protocol */
    const char *behind; /* a word after the arguments; NULL: none */
    enum verb_argument first[VERB_ARGUMENTS_MAX];
    enum verb_argument
        repeated[VERB_ARGUMENTS_MAX]; /* arguments that may follow any number of times */
    enum verb_argument optional;      /* what may follow once; only without `repeated` */

    /* With --id: the word of the protocol for one job. Each argument is one request. NULL: there is
     * no --id. */
    const char *word_by_id;
    bool has_all;    /* --all stands for the last argument: as many as there are buried jobs */
    bool hands_on;   /* options of the command that the client does not know go to the server */
    bool may_cancel; /* `cancelled` is a success, because the work was over anyway */

    enum verb_reply reply;
    const char *counted; /* what the number of VERB_COUNT counts, such as "kicked" */
    struct verb_option options[VERB_OPTIONS_MAX];
};

/* Returns the verb with this name of a command, or NULL if there is none. */
const struct verb *verb_find(const char *name);

#endif
