/*
 * Decides whether a database may be trusted with an acknowledgement, from what its session says.
 * The functions are pure.
 */
#ifndef ELAPSE__OWNERSHIP_TRUST_H
#define ELAPSE__OWNERSHIP_TRUST_H

#include <stdbool.h>

#include "statements.h"

/* Why this node does not use a database, or does not believe its answer. Metrics and `elapse
 * cluster status` show it. */
enum elapse__complaint {
    ELAPSE__COMPLAINT_NONE,
    ELAPSE__COMPLAINT_UNREACHABLE, /* there is no connection, or it was lost */
    ELAPSE__COMPLAINT_POOLER,      /* a pooler is between this node and the server */
    ELAPSE__COMPLAINT_LATE,        /* a statement got no answer in time */
    ELAPSE__COMPLAINT_ERROR,       /* the database answered with an error */
    ELAPSE__COMPLAINT_NOTICE,      /* the database answered with a notice */
    ELAPSE__COMPLAINT_LOCKED,      /* another session blocks the row */
    ELAPSE__COMPLAINT_INBOX, /* the database has lost rows of the inbox that were read before */
    ELAPSE__COMPLAINT_NO_STANDBY,     /* synchronous_standby_names is empty */
    ELAPSE__COMPLAINT_COMMIT_IS_WEAK, /* synchronous_commit does not wait for a standby's disk */
    ELAPSE__COMPLAINT_RELOADED,       /* the settings were loaded again during the commit */
    ELAPSE__COMPLAINT_IN_RECOVERY,    /* the server is a standby itself */
    ELAPSE__COMPLAINT_OLD_TIMELINE,   /* a primary whose timeline is lower than one seen before */
    ELAPSE__COMPLAINT_OTHER_SYSTEM,   /* another database than the one that was used before */
};

/* Returns what is wrong with the settings. `single_copy` says that the operator accepts a database
 * without standbys. */
enum elapse__complaint elapse__trust_settings(const struct elapse__partition_settings *settings,
                                              bool single_copy);

/* Returns why a commit between these two looks at the settings may have ended without a standby. */
enum elapse__complaint elapse__trust_commit(const struct elapse__partition_settings *before,
                                            const struct elapse__partition_settings *after,
                                            bool single_copy);

/* Returns why this node must not use a database. Compares the session with the system and the
 * highest timeline that were seen before. System 0 means that no database was seen before. */
enum elapse__complaint elapse__trust_session(const struct elapse__partition_session *session,
                                             uint64_t system_identifier, uint32_t timeline);

#endif
