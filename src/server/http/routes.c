#include "routes.h"

#include <string.h>

#include "../../base/assert.h"

static const struct path {
    const char *path; /* a '*' stands for one or more characters other than '/' */
    enum elapse__http_operation operation;
    bool posts;
    bool is_open;
} paths[] = {
    {"/", ELAPSE__HTTP_PAGE, false, true},
    {"/livez", ELAPSE__HTTP_HEALTH, false, true},
    {"/healthz", ELAPSE__HTTP_HEALTH, false, true},
    {"/readyz", ELAPSE__HTTP_READY, false, true},
    {"/metrics", ELAPSE__HTTP_METRICS, false, false},
    {"/events", ELAPSE__HTTP_EVENTS, false, false},
    {"/api/v1/openapi.json", ELAPSE__HTTP_OPENAPI, false, false},
    {"/api/v1/forecast", ELAPSE__HTTP_FORECAST, false, false},
    {"/api/v1/put", ELAPSE__HTTP_PUT, true, false},
    {"/api/v1/cancel", ELAPSE__HTTP_CANCEL, true, false},
    {"/api/v1/reschedule", ELAPSE__HTTP_RESCHEDULE, true, false},
    {"/api/v1/arrive", ELAPSE__HTTP_ARRIVE, true, false},
    {"/api/v1/reserve", ELAPSE__HTTP_RESERVE, true, false},
    {"/api/v1/ack", ELAPSE__HTTP_ACK, true, false},
    {"/api/v1/nack", ELAPSE__HTTP_NACK, true, false},
    {"/api/v1/extend", ELAPSE__HTTP_EXTEND, true, false},
    {"/api/v1/bury", ELAPSE__HTTP_BURY, true, false},
    {"/api/v1/kick", ELAPSE__HTTP_KICK, true, false},
    {"/api/v1/cancel_all", ELAPSE__HTTP_CANCEL_ALL, true, false},
    {"/api/v1/pause", ELAPSE__HTTP_PAUSE, true, false},
    {"/api/v1/transaction", ELAPSE__HTTP_TRANSACTION, true, false},
    {"/api/v1/limit", ELAPSE__HTTP_LIMIT, true, false},
    {"/api/v1/jobs", ELAPSE__HTTP_LOOK_UP, false, false},
    {"/api/v1/jobs/*", ELAPSE__HTTP_LOOK_UP_ID, false, false},
    {"/api/v1/tubes", ELAPSE__HTTP_TUBES, false, false},
    {"/api/v1/tubes/*", ELAPSE__HTTP_TUBE, false, false},
    {"/api/v1/tubes/*/jobs", ELAPSE__HTTP_LIST, false, false},
    {"/api/v1/tubes/*/groups", ELAPSE__HTTP_GROUPS, false, false},
    {"/api/v1/tubes/*/limit", ELAPSE__HTTP_LIMIT_OF, false, false},
    {"/api/v1/clients", ELAPSE__HTTP_CLIENTS, false, false},
    {"/api/v1/find", ELAPSE__HTTP_FIND, false, false},
    {"/api/v1/recurring", ELAPSE__HTTP_RECURRING, false, false},
    {"/api/v1/history", ELAPSE__HTTP_HISTORY, false, false},
    {"/api/v1/whoami", ELAPSE__HTTP_WHOAMI, false, false},
    {"/api/v1/stats", ELAPSE__HTTP_STATS, false, false},
};

/* Returns whether the path matches the pattern, and notes what the '*' stands for. */
static bool fits(const char *pattern, const char *path, struct elapse__http_route *route)
{
    const char *star = strchr(pattern, '*');

    if (star == NULL)
        return strcmp(pattern, path) == 0;
    ELAPSE__ASSERT(strchr(star + 1, '*') == NULL);
    size_t before = (size_t)(star - pattern);
    if (strncmp(pattern, path, before) != 0)
        return false;
    route->name = path + before;
    route->name_size = strcspn(path + before, "/");
    return route->name_size > 0 && strcmp(route->name + route->name_size, star + 1) == 0;
}

struct elapse__http_route elapse__http_find_route(enum elapse__http_method method, const char *path)
{
    struct elapse__http_route route = {.status = 404};

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        if (!fits(paths[i].path, path, &route))
            continue;
        bool reads = method == ELAPSE__HTTP_GET || method == ELAPSE__HTTP_HEAD;
        route.status = (paths[i].posts ? method == ELAPSE__HTTP_POST : reads) ? 200 : 405;
        route.operation = paths[i].operation;
        route.is_open = paths[i].is_open;
        ELAPSE__ASSERT(!route.is_open || route.operation < ELAPSE__HTTP_PUT);
        ELAPSE__ASSERT((route.name_size > 0) == (strchr(paths[i].path, '*') != NULL));
        route.allow = paths[i].posts ? "POST" : "GET, HEAD";
        break;
    }
    return route;
}
