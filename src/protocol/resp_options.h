/*
 * Reads words and options among the arguments of a command of RESP. An option is a word with one or
 * more values after it. The partition that runs a command and the router in front of it both read
 * options by these functions, and so in the same way.
 */
#ifndef ELAPSE__WIRE_RESP_OPTIONS_H
#define ELAPSE__WIRE_RESP_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "put_options.h"
#include "resp_parse.h"

struct elapse__wire_resp_option {
    const char *name; /* the name in capitals: one word, or two words with a space between them */
    uint8_t values;   /* how many arguments follow the name */
};

enum { ELAPSE__WIRE_RESP_OPTIONS_MAX = 24 };

/* The options of PUT; enum elapse__put_option has their places. */
extern const struct elapse__wire_resp_option
    elapse__wire_resp_put_options[ELAPSE__PUT_OPTION_COUNT];

/* Returns whether an argument is this word, whatever the case of its letters. `word` is in
 * capitals. */
bool elapse__wire_resp_is(struct elapse__wire_resp_argument argument, const char *word);

/* A connection ends after this many wrong passwords. */
enum { ELAPSE__WIRE_GUESSES_MAX = 5 };

/* Counts the pairs of a job and its lease that stand after the name of a command. Options may
 * follow the pairs. The pairs end where the place of an id has an argument that does not begin with
 * a digit. The first two arguments after the name are always a pair. Returns how many pairs there
 * are, or 0 if the last id has no lease. Requires at least one argument, which is the name. */
uint32_t elapse__wire_resp_count_pairs(const struct elapse__wire_resp_argument *arguments,
                                       uint32_t count);

/* Returns how many tubes a RESERVE names. The tubes end where the options begin. The first argument
 * is always a tube, even if it has the name of an option. Requires at least two arguments. */
uint32_t elapse__wire_resp_count_tubes(const struct elapse__wire_resp_argument *arguments,
                                       uint32_t count);

/* What is wrong with the options of a command. */
struct elapse__wire_resp_fault {
    uint32_t place;   /* the number of the argument that is wrong */
    const char *text; /* a phrase that ends before the argument */
};

/* Finds options in the arguments from number `first` on. Stores for each option the place of its
 * first value; 0: it was not given. An option that may be given twice has two rows, one behind the
 * other. If an argument is no option, fills `fault` unless it is NULL,
 * and returns false. Requires that `option_count` is at most ELAPSE__WIRE_RESP_OPTIONS_MAX. */
bool elapse__wire_resp_find_options(const struct elapse__wire_resp_argument *arguments,
                                    uint32_t count, uint32_t first,
                                    const struct elapse__wire_resp_option *options,
                                    uint32_t option_count, uint32_t *places,
                                    struct elapse__wire_resp_fault *fault);

#endif
