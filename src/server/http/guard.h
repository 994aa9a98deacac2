/*
 * What a request over HTTP has to fulfil before the server looks at its path. A browser on
 * this machine runs pages of anybody: such a page must not reach the server by a name of its own
 * (DNS rebinding), and must not make the browser send changes.
 */
#ifndef ELAPSE__HTTP_GUARD_H
#define ELAPSE__HTTP_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/* Returns whether the value of the header Host names this server: an address in digits,
 * "localhost", or one of these names, with or without a port. NULL is refused. */
bool elapse__http_host_is_own(const char *host, const char *const *names, size_t count);

/* Returns whether a page of this server has sent the request: NULL, or the same place as Host
 * names. */
bool elapse__http_origin_is_own(const char *origin, const char *host);

/* Returns whether the value of the header Content-Type is application/json, with or without
 * parameters. NULL is refused. */
bool elapse__http_is_json(const char *content_type);

/* Returns the token of an Authorization by the scheme Bearer; NULL: there is none. */
const char *elapse__http_bearer(const char *authorization);

#endif
