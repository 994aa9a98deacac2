#include "hints.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../os/program.h"

enum { TEXT_BYTES = 16384 };

struct text {
    char bytes[TEXT_BYTES];
    size_t length;
    bool is_full; /* some of the text is missing, so nobody should see the text */
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...)
{
    va_list arguments;
    size_t room = TEXT_BYTES - text->length;

    ELAPSE__ASSERT_THAT(text->length, <, TEXT_BYTES);
    va_start(arguments, format);
    int size = vsnprintf(text->bytes + text->length, room, format, arguments);
    va_end(arguments);
    if (size < 0 || (size_t)size >= room)
        text->is_full = true;
    else
        text->length += (size_t)size;
}

/* Returns the first address for commands, or for HTTP, that needs no TLS; NULL if there is none. */
static const struct elapse__os_address *plain_address(const struct elapse__loop *loop, bool is_http)
{
    for (size_t i = 0; i < loop->listener_count; i++) {
        const struct elapse__listener *listener = loop->listeners[i];
        ELAPSE__ASSERT_THAT(listener->address.size, >, 0);
        if (listener->is_http == is_http && !listener->tls)
            return &listener->address;
    }
    return NULL;
}

/* Adds redis-cli with the options that lead it to this address. */
static void add_redis_client(struct text *text, const struct elapse__os_address *address)
{
    static const char unix_prefix[] = "unix:";
    struct elapse__os_address_text words = elapse__os_address_text(address);
    const char *port = strrchr(words.text, ':');

    if (elapse__os_address_is_path(address)) {
        add(text, "    redis-cli -s %s ", words.text + strlen(unix_prefix));
        return;
    }
    ELAPSE__ASSERT(port != NULL && port > words.text);
    int host_length = (int)(port - words.text);
    bool has_brackets = words.text[0] == '[';
    const char *host = words.text + (has_brackets ? 1 : 0);
    add(text, "    redis-cli -h %.*s -p %s ", has_brackets ? host_length - 2 : host_length, host,
        port + 1);
}

void elapse__hints_write(const struct elapse__loop *loop)
{
    const struct elapse__loop_options *options = loop->options;
    const struct elapse__os_address *address = plain_address(loop, false);
    const struct elapse__os_address *page = plain_address(loop, true);
    struct text text = {.length = 0};

    ELAPSE__ASSERT_THAT(loop->listener_count, >, 0);
    if (!options->hints || options->auth != NULL || options->users != NULL || address == NULL)
        return;
    add(&text, "\nFrom another terminal:\n\n");
    if (options->client != NULL) {
        struct elapse__os_address_text server = elapse__os_address_text(address);
        add(&text, "    %s put tea \"water boils\" --in 5s --server %s\n", options->client,
            server.text);
        add(&text, "    %s work tea --server %s --exec sh -c 'cat; echo'\n\n", options->client,
            server.text);
    }
    add_redis_client(&text, address);
    add(&text, "PUT tea \"water boils\" IN 5s\n");
    add_redis_client(&text, address);
    add(&text, "RESERVE tea WAIT 10s\n\n");
    if (page != NULL && !elapse__os_address_is_path(page))
        add(&text, "In a browser: http://%s/\n", elapse__os_address_text(page).text);
    if (options->durability == ELAPSE__LOOP_MEMORY)
        add(&text, "Ctrl-C ends the server, and its jobs.\n\n");
    else
        add(&text, "Ctrl-C ends the server. Its jobs stay in %s.\n\n", options->directory);
    if (!text.is_full)
        (void)elapse__os_write_all(ELAPSE__OS_ERRORS, text.bytes, text.length);
}
