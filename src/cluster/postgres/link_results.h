/*
 * Declares the functions that read the results of a statement, for the other files of a link.
 */
#ifndef ELAPSE__CLUSTER_POSTGRES_LINK_RESULTS_H
#define ELAPSE__CLUSTER_POSTGRES_LINK_RESULTS_H

#include "link_core.h"

/* Keeps the first line of a message. */
void elapse__database_link_note(struct elapse__database_link *link, const char *message);

/* Reads a field. Returns false if the field is NULL or no bigint. */
bool elapse__database_link_take_number(const PGresult *rows, int row, int column, uint64_t *number);

/* Stores what the results of the statement say. Requires that all transactions of the statement
 * have ended. */
void elapse__database_link_read_results(struct elapse__database_link *link,
                                        struct elapse__statement_result *result);

#endif
