/*
 * The codes of errors (SQLSTATE) that this room tells apart.
 */
#ifndef ELAPSE__CLUSTER_POSTGRES_CODES_H
#define ELAPSE__CLUSTER_POSTGRES_CODES_H

#include <libpq-fe.h>
#include <stdbool.h>

#define ELAPSE__CODE_LOCKED      "55P03" /* lock_not_available */
#define ELAPSE__CODE_NO_TABLE    "42P01" /* undefined_table */
#define ELAPSE__CODE_NO_SCHEMA   "3F000" /* invalid_schema_name */
#define ELAPSE__CODE_NO_FUNCTION "42883" /* undefined_function */
#define ELAPSE__CODE_NO_COLUMN   "42703" /* undefined_column */
#define ELAPSE__CODE_NO_RIGHT    "42501" /* insufficient_privilege */
#define ELAPSE__CODE_MOVED       "EL001" /* sql/inbox.sql: rows of the inbox are not there */

/* Returns whether this result is an error with this code. NULL is no error. */
bool elapse__database_has_code(const PGresult *result, const char *code);

#endif
