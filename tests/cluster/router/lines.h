/*
 * Makes commands as lines of words. Some are well formed, and some are not.
 */
#ifndef ELAPSE_TESTS_ROUTER_LINES_H
#define ELAPSE_TESTS_ROUTER_LINES_H

#include "random.h"

enum { WORDS_MAX = 200 };

/* Makes a command for the tubes t and u. */
void make_line(struct random_source *random, char line[WORDS_MAX]);

/* Does the same with a command that may stand in a transaction. */
void make_queued_line(struct random_source *random, char line[WORDS_MAX]);

#endif
