/*
 * The lowest layer of the router: commands, their arguments and their replies.
 */
#ifndef ELAPSE__ROUTER_COMMAND_H
#define ELAPSE__ROUTER_COMMAND_H

#include <string.h>

#include "types.h"

/* ---- command.c ---- */

/* Appends a new command to those of a client. Returns NULL if there is no memory. Then the client
 * has failed. */
struct elapse__router_command *elapse__router_command_new(struct elapse__router_client *client,
                                                          enum elapse__router_command_kind kind,
                                                          size_t charge);

/* Notes that the reply of the command is complete. The reply leaves after those of the commands
 * before it. Frees the command if it has no client. Requires that all fragments of the command have
 * ended. */
void elapse__router_command_done(struct elapse__router_command *command);

/* elapse__router_fragment_free frees a fragment and the commands in front of it.
 * elapse__router_fragments_free frees all fragments from `first` on. */
void elapse__router_fragment_free(struct elapse__router_fragment *fragment);
void elapse__router_fragments_free(struct elapse__router_fragment *first);

/* Frees a command. */
void elapse__router_command_free(struct elapse__router_command *command);

/* Ends the client. The client gets no further byte. */
void elapse__router_client_fail(struct elapse__router_client *client);

/* If the shell has to look at the client, puts the client among those that
 * elapse__router_client_attention returns. */
void elapse__router_client_arrange(struct elapse__router_client *client);

/* Returns whether the replies of the client, unread and expected, take too many bytes. */
bool elapse__router_client_is_choked(const struct elapse__router_client *client);

/* Ends the waiting of a RESERVE. Does nothing if the RESERVE does not wait. */
void elapse__router_reserve_stop(struct elapse__router *router,
                                 struct elapse__router_reserve *reserve);

/* Returns whether the command is a RESERVE that may wait for a job. */
bool elapse__router_reserve_waits(const struct elapse__router_command *command);

/* ---- reply.c ---- */

/* Returns a writer with room for `size` bytes at the end of the reply. If there is no memory, the
 * client fails, and the writer has no room. */
struct elapse__wire_resp_writer elapse__router_reply_room(struct elapse__router_command *command,
                                                          size_t size);

/* Adds what the writer has written to the reply. */
void elapse__router_reply_written(struct elapse__router_command *command,
                                  const struct elapse__wire_resp_writer *writer);

/* These functions append a word, a number, or the head of an array. */
void elapse__router_reply_word(struct elapse__router_command *command, const char *word);
void elapse__router_reply_integer(struct elapse__router_command *command, uint64_t value);
void elapse__router_reply_array(struct elapse__router_command *command, size_t count);

/* Appends an error. */
void elapse__router_reply_fail(struct elapse__router_command *command, const char *error);

/* Keeps the first error of a partition in the command, so that the reply can have it. */
void elapse__router_keep_error(struct elapse__router_command *command,
                               const struct elapse__wire_resp_item *error);

/* Replies with an error to bytes that are no valid command. */
void elapse__router_client_refuse(struct elapse__router_client *client, const char *error);

/* Appends a value from a partition, in the version of RESP that the client speaks. */
void elapse__router_reply_value(struct elapse__router_command *command, const unsigned char *value,
                                size_t size);

/* ---- arguments that the router writes itself ---- */

/* Returns an argument that consists of these bytes. The bytes are not copied. */
static inline struct elapse__wire_resp_argument elapse__router_argument(const void *bytes,
                                                                        size_t size)
{
    ELAPSE__ASSERT_THAT(size, <=, UINT32_MAX);
    return (struct elapse__wire_resp_argument){.bytes = bytes, .size = (uint32_t)size};
}

/* Returns an argument that consists of a text. */
static inline struct elapse__wire_resp_argument elapse__router_argument_text(const char *text)
{
    return elapse__router_argument(text, strlen(text));
}

/* Returns whether the bytes are those of a text. */
static inline bool elapse__router_is_text(const void *bytes, size_t size, const char *text)
{
    return strlen(text) == size && memcmp(bytes, text, size) == 0;
}

#endif
