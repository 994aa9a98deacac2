/*
 * A small protocol that only tests use. With it they test the core without the real protocols. A
 * command is a line, and so is a reply.
 *
 *      p TUBE BODY        put, due at once            +ID
 *      d MS TUBE BODY     put, due later              +ID
 *      r MS COUNT TUBE..  reserve, wait for MS        =ID BODY for each job; -timeout
 *      R MS TUBE..        the same, with deadlines    also -soon
 *      i ID               reserve by id               =ID BODY; -gone
 *      l ID               look                        ~ID BODY; -gone
 *      x ID               delete                      +deleted; -gone
 *      z                  nothing                     -error
 *      s N                goes on for N steps         +slices
 *      b SIZE             big reply                   SIZE times '.'
 *      n SIZE             and then SIZE bytes         +needed
 *      N SIZE             the same, without telling
 *      q                  quit                        +bye
 *      * and nothing                                  +star
 */
#ifndef ELAPSE_TESTS_SERVER_LINES_H
#define ELAPSE_TESTS_SERVER_LINES_H

#include "core/session.h"

/* With lines_owned, leases end with their connection; with lines_free, they do not. */
extern const struct elapse__protocol lines_owned;
extern const struct elapse__protocol lines_free;

/* How many commands of all connections have run. A command counts again each time that the core
 * runs it again. */
extern unsigned lines_run;

#endif
