/*
 * The verbs of the protocol that are commands without a file of their own: a row for each. One
 * piece of code, verb_command.c, makes a request of a row and a command line, and prints the reply.
 */
#ifndef ELAPSE_CLI_CLIENT_VERBS_H
#define ELAPSE_CLI_CLIENT_VERBS_H

#include <stdbool.h>

#include "../common/options.h"

enum { VERB_OPTIONS_MAX = 4 };

/* What the server replies. */
enum verb_reply {
    VERB_WORDS, /* a word for each part of the command; or a map, to a question */
    VERB_COUNT, /* a number */
    VERB_LEFT,  /* a number: how many arrivals are missing; or a word */
    VERB_JOBS,  /* jobs that were handed out */
};

/* What an argument is: how it is checked, and what it is called if it is missing. */
enum verb_argument {
    VERB_NOTHING,
    VERB_TUBE,
    VERB_KEY,
    VERB_ID,
    VERB_LEASE,
    VERB_COUNT_OF_JOBS,
    VERB_COUNT_OF_ARRIVALS,
    VERB_DURATION,
    VERB_WORD, /* handed on to the server, which checks it */
};

enum { VERB_ARGUMENTS_MAX = 2 };

/* An option that becomes an option of the protocol: its word, and the value behind it. */
struct verb_option {
    const char *name;  /* NULL ends the options */
    const char *value; /* what the help calls it; NULL: a flag */
    const char *word;
    const char *help;
    bool is_duration;
};

struct verb {
    const char *name; /* of the command */
    struct command_help help;

    const char *word;   /* of the protocol */
    const char *behind; /* a word behind the arguments; NULL: none */
    enum verb_argument first[VERB_ARGUMENTS_MAX];
    enum verb_argument
        repeated[VERB_ARGUMENTS_MAX]; /* what may stand behind, any number of times */
    enum verb_argument optional;      /* what may stand behind once; only without `repeated` */

    /* With --id: one request for each argument. NULL: there is no --id. */
    const char *word_by_id;
    bool has_all;    /* --all stands for the last argument: as many as there are buried jobs */
    bool hands_on;   /* options that are not the client's become words for the server */
    bool may_cancel; /* `cancelled` is a success: the work was over anyway */

    enum verb_reply reply;
    const char *counted; /* what VERB_COUNT counts: "kicked" */
    struct verb_option options[VERB_OPTIONS_MAX];
};

/* Returns the verb with this name of a command; NULL if there is none. */
const struct verb *verb_find(const char *name);

#endif
