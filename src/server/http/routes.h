/*
 * Finds the operation of a path and a method.
 */
#ifndef ELAPSE__HTTP_ROUTES_H
#define ELAPSE__HTTP_ROUTES_H

#include <stdbool.h>
#include <stddef.h>

enum elapse__http_method {
    ELAPSE__HTTP_GET,
    ELAPSE__HTTP_HEAD, /* like GET, but without a body */
    ELAPSE__HTTP_POST,
    ELAPSE__HTTP_OTHER,
};

enum elapse__http_operation {
    /* Operations that the shell answers itself. */
    ELAPSE__HTTP_PAGE,
    ELAPSE__HTTP_HEALTH, /* the answer itself says that the loop turns */
    ELAPSE__HTTP_READY,
    ELAPSE__HTTP_METRICS,
    ELAPSE__HTTP_EVENTS,
    ELAPSE__HTTP_OPENAPI,
    ELAPSE__HTTP_FORECAST,
    /* Operations that become a command of RESP. */
    ELAPSE__HTTP_PUT,
    ELAPSE__HTTP_CANCEL,
    ELAPSE__HTTP_RESCHEDULE,
    ELAPSE__HTTP_ARRIVE,
    ELAPSE__HTTP_RESERVE,
    ELAPSE__HTTP_ACK,
    ELAPSE__HTTP_NACK,
    ELAPSE__HTTP_EXTEND,
    ELAPSE__HTTP_BURY,
    ELAPSE__HTTP_KICK,
    ELAPSE__HTTP_CANCEL_ALL,
    ELAPSE__HTTP_LIMIT,
    ELAPSE__HTTP_PAUSE,
    ELAPSE__HTTP_LEASED, /* only within a transaction, because it has no path */
    ELAPSE__HTTP_TRANSACTION,
    ELAPSE__HTTP_LOOK_UP,
    ELAPSE__HTTP_LOOK_UP_ID,
    ELAPSE__HTTP_LIST,
    ELAPSE__HTTP_FIND,
    ELAPSE__HTTP_RECURRING,
    ELAPSE__HTTP_HISTORY,
    ELAPSE__HTTP_WHOAMI,
    ELAPSE__HTTP_CLIENTS,
    ELAPSE__HTTP_TUBES,
    ELAPSE__HTTP_TUBE,
    ELAPSE__HTTP_GROUPS,
    ELAPSE__HTTP_LIMIT_OF,
    ELAPSE__HTTP_STATS,
    ELAPSE__HTTP_OPERATIONS,
};

struct elapse__http_route {
    int status; /* 200, 404 or 405 */
    enum elapse__http_operation operation;
    bool is_open;      /* the operation needs no password */
    const char *allow; /* the methods of the path, for 405 */
    const char *name;  /* the part of the path that the '*' stands for, not decoded */
    size_t name_size;
};

/* Returns the route of a path. */
struct elapse__http_route elapse__http_find_route(enum elapse__http_method method,
                                                  const char *path);

#endif
