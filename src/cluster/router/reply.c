/*
 * Appends to the reply of a command, in the version of RESP that the client speaks.
 */
#include <string.h>

#include "command.h"

struct elapse__wire_resp_writer elapse__router_reply_room(struct elapse__router_command *command,
                                                          size_t size)
{
    struct elapse__wire_resp_writer writer = {.resp3 = command->resp3};

    ELAPSE__ASSERT(!command->done);
    if (elapse__buffer_reserve(&command->reply, size)) {
        writer.bytes = command->reply.bytes + command->reply.end;
        writer.capacity = size;
    } else if (command->client != NULL) {
        elapse__router_client_fail(command->client);
    }
    return writer;
}

void elapse__router_reply_written(struct elapse__router_command *command,
                                  const struct elapse__wire_resp_writer *writer)
{
    ELAPSE__ASSERT(!writer->too_small || writer->bytes == NULL);
    ELAPSE__ASSERT_THAT(writer->size, <=, writer->capacity);
    if (writer->bytes != NULL)
        command->reply.end += writer->size;
}

void elapse__router_reply_word(struct elapse__router_command *command, const char *word)
{
    struct elapse__wire_resp_writer writer =
        elapse__router_reply_room(command, strlen(word) + ELAPSE__WIRE_RESP_FRAME_MAX);

    elapse__wire_resp_write_word(&writer, word);
    elapse__router_reply_written(command, &writer);
}

void elapse__router_reply_integer(struct elapse__router_command *command, uint64_t value)
{
    struct elapse__wire_resp_writer writer =
        elapse__router_reply_room(command, ELAPSE__WIRE_RESP_FRAME_MAX);

    elapse__wire_resp_write_integer(&writer, value > INT64_MAX ? INT64_MAX : (int64_t)value);
    elapse__router_reply_written(command, &writer);
}

void elapse__router_reply_array(struct elapse__router_command *command, size_t count)
{
    struct elapse__wire_resp_writer writer =
        elapse__router_reply_room(command, ELAPSE__WIRE_RESP_FRAME_MAX);

    elapse__wire_resp_write_array(&writer, count);
    elapse__router_reply_written(command, &writer);
}

void elapse__router_reply_fail(struct elapse__router_command *command, const char *error)
{
    struct elapse__wire_resp_writer writer =
        elapse__router_reply_room(command, strlen(error) + ELAPSE__WIRE_RESP_FRAME_MAX);

    ELAPSE__ASSERT_THAT(strlen(error), <, ELAPSE__REFUSAL_BYTES);
    elapse__wire_resp_write_error(&writer, error);
    elapse__router_reply_written(command, &writer);
}

void elapse__router_keep_error(struct elapse__router_command *command,
                               const struct elapse__wire_resp_item *error)
{
    size_t size = error->size;

    if (command->error[0] != '\0')
        return;
    if (size > sizeof command->error - 1)
        size = sizeof command->error - 1;
    memcpy(command->error, error->bytes, size);
    command->error[size] = '\0';
}

void elapse__router_client_refuse(struct elapse__router_client *client, const char *error)
{
    struct elapse__router_command *command =
        elapse__router_command_new(client, ELAPSE__ROUTER_COMMAND_ONE, ELAPSE__ROUTER_ERROR_MAX);

    if (command == NULL)
        return;
    elapse__router_reply_fail(command, error);
    elapse__router_command_done(command);
}

void elapse__router_reply_value(struct elapse__router_command *command, const unsigned char *value,
                                size_t size)
{
    struct elapse__wire_resp_writer writer =
        elapse__router_reply_room(command, elapse__wire_resp_converted_max(size));

    ELAPSE__ASSERT_THAT(size, >, 2);
    ELAPSE__ASSERT_THAT(value[size - 1], ==, '\n');
    /* A partition answers in RESP3. A client of RESP2 needs another form. */
    if (writer.bytes != NULL && !writer.resp3)
        elapse__wire_resp_convert(&writer, value, size);
    if (writer.bytes != NULL && writer.resp3) {
        memcpy(writer.bytes, value, size);
        writer.size = size;
    }
    elapse__router_reply_written(command, &writer);
}
