#include "settings.h"

#include <stdio.h>
#include <string.h>

#include "../../base/assert.h"

enum { PORT_MAX = 65535 };

static const char *read_port(const char *text, struct elapse__loop_listen *listen)
{
    unsigned port = 0;

    for (const char *digit = text; *digit != '\0'; digit++) {
        if (*digit < '0' || *digit > '9')
            return "the port is not a number";
        port = port * 10 + (unsigned)(*digit - '0');
        if (port > PORT_MAX)
            return "the port is above 65535";
    }
    if (*text == '\0')
        return "the port is missing";
    (void)snprintf(listen->port, sizeof listen->port, "%u", port);
    return NULL;
}

static const char *copy_host(const char *text, size_t length, struct elapse__loop_listen *listen)
{
    ELAPSE__ASSERT(memchr(text, '\0', length) == NULL);
    if (length >= sizeof listen->host)
        return "it is too long";
    memcpy(listen->host, text, length);
    listen->host[length] = '\0';
    return NULL;
}

const char *elapse__loop_parse_listen(const char *text, const char *port,
                                      struct elapse__loop_listen *listen)
{
    *listen = (struct elapse__loop_listen){.tls = strncmp(text, "tls:", 4) == 0};
    text += listen->tls ? 4 : 0;
    if (!listen->tls && strncmp(text, "unix:", 5) == 0) {
        listen->is_path = true;
        return text[5] == '\0' ? "the path is missing"
                               : copy_host(text + 5, strlen(text + 5), listen);
    }
    if (strstr(text, "://") != NULL)
        return "there is no http:// or the like in front of this address: it is HOST:PORT";
    if (*text != '\0' && text[strspn(text, "0123456789")] == '\0')
        return "this is a port alone; with its host it is 127.0.0.1:PORT, for this machine";
    const char *end = strrchr(text, ':');
    const char *host = text;
    if (*text == '[') {
        host = text + 1;
        const char *bracket = strchr(text, ']');
        if (bracket == NULL || (bracket[1] != ':' && bracket[1] != '\0'))
            return "a ']' and a ':' are missing";
        end = bracket[1] == ':' ? bracket + 1 : NULL;
        const char *fault = copy_host(host, (size_t)(bracket - host), listen);
        if (fault != NULL)
            return fault;
    } else if (end != NULL && strchr(text, ':') != end) {
        return "an address with more than one ':' is written [ADDRESS]:PORT";
    } else {
        const char *fault =
            copy_host(host, end == NULL ? strlen(host) : (size_t)(end - host), listen);
        if (fault != NULL)
            return fault;
    }
    if (end == NULL && port == NULL)
        return "the port is missing";
    return read_port(end == NULL ? port : end + 1, listen);
}

bool elapse__loop_speaks_beanstalkd(const struct elapse__loop_options *options)
{
    return !options->no_beanstalkd && (options->users == NULL || options->beanstalkd_user != NULL);
}
