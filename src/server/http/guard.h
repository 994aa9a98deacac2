/*
 * Checks the headers of a request of HTTP. A browser on this machine runs pages of any server. Such
 * a page must not reach this server by giving it the name of the page's own server (DNS rebinding).
 * It must not make the browser send changes either.
 */
#ifndef ELAPSE__HTTP_GUARD_H
#define ELAPSE__HTTP_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/* Returns whether the value of the header Host names this server: an address in digits,
 * "localhost", or one of `names`, with or without a port. Returns false for NULL. */
bool elapse__http_host_is_own(const char *host, const char *const *names, size_t count);

/* Returns whether the request comes from a page of this server, or from no page. Either the header
 * Origin has the host and port of the header Host, or it is missing (NULL). */
bool elapse__http_origin_is_own(const char *origin, const char *host);

/* Returns whether the value of the header Content-Type is application/json, with or without
 * parameters. Returns false for NULL. */
bool elapse__http_is_json(const char *content_type);

/* Returns the token in the value of the header Authorization. Returns NULL if the header is
 * missing, has another scheme than Bearer, or has no token. */
const char *elapse__http_bearer(const char *authorization);

#endif
