/*
 * Finds out whether a client is another node that asks for a partition which this node owns.
 */
#include <string.h>

#include "../../base/decimal.h"
#include "kinds.h"

static bool is_text(struct elapse__wire_resp_argument argument, const char *text)
{
    return elapse__router_is_text(argument.bytes, argument.size, text);
}

static void give(struct elapse__router_command *command, uint32_t partition, bool is_pipe)
{
    ELAPSE__ASSERT(!command->client->is_given);
    ELAPSE__ASSERT_THAT(command->client->router->partitions[partition].place, ==,
                        ELAPSE__ROUTER_HERE);
    command->client->is_given = true;
    command->client->given =
        (struct elapse__router_given){.partition = partition, .is_pipe = is_pipe};
    elapse__router_reply_word(command, "OK");
}

/* Takes the commands NODE HELLO 2 queue partition and NODE PIPE 1 queue partition. A node of
 * version 1 says HELLO 1, and sends fewer kinds of commands. */
void elapse__router_local_node(struct elapse__router_command *command,
                               const struct elapse__wire_resp_argument *arguments, uint32_t count)
{
    const struct elapse__router *router = command->client->router;
    bool is_pipe = count == 5 && is_text(arguments[1], "PIPE");
    bool is_hello = count == 5 && is_text(arguments[1], "HELLO");
    uint64_t partition = 0;

    if ((!is_pipe && !is_hello) ||
        !(is_text(arguments[2], "1") || (is_hello && is_text(arguments[2], "2"))))
        elapse__router_reply_fail(command,
                                  "ERR NODE is what nodes of versions 1 and 2 say to each other");
    else if (!is_text(arguments[3], router->options.queue) ||
             !elapse__decimal_read(arguments[4].bytes, arguments[4].size,
                                   router->options.partitions - 1, &partition) ||
             (is_pipe && router->options.partitions > 1))
        elapse__router_reply_fail(command, "ERR this node has another queue, or other partitions");
    else if (router->partitions[partition].place != ELAPSE__ROUTER_HERE)
        elapse__router_reply_fail(command, "NOTOWNER this node does not own the partition");
    else
        give(command, (uint32_t)partition, is_pipe);
}

bool elapse__router_client_given(const struct elapse__router_client *client,
                                 struct elapse__router_given *given)
{
    *given = client->given;
    return client->is_given && !client->dead && elapse__ring_empty(&client->commands) &&
           elapse__buffer_size(&client->out) == 0;
}
