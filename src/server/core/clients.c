/*
 * Tells the protocols what is known of each connection.
 */
#include "connection.h"

void elapse__session_each_client(const struct elapse__connection *connection,
                                 void (*call)(void *argument,
                                              const struct elapse__client_facts *facts),
                                 void *argument)
{
    const struct elapse__server *server = connection->server;
    const struct elapse__ring_node *node = server->open.next;

    for (; node != &server->open; node = node->next) {
        const struct elapse__connection *one =
            (const struct elapse__connection *)(const void *)node;
        struct elapse__client_facts facts = {.number = one->number, .name = one->leases.name};
        ELAPSE__ASSERT_THAT(one->number, >, 0U);
        if (server->options.address != NULL)
            server->options.address(one->facts.shell, facts.address);
        call(argument, &facts);
    }
}
